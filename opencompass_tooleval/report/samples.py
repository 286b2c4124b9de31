"""Writes samples as script files of a hundred each, which the sample browser loads on demand.

``samples/index.js`` lists models and data sets. Per model and data set, ``pN/index.js`` has ids, values, reasons and
domains of all samples, and ``pN/M.js`` has the samples themselves. Most prompts are the same for all models. They are
stored per data set in ``dN/M.js``, where each distinct text appears once per hundred samples. A sample contains its
prompt only if it differs from the stored one.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import holds_dialogues
from opencompass_tooleval.catalogue.labels import FAULTS, SOURCES, words_of_reason
from opencompass_tooleval.catalogue.metrics import lower_is_better, words_of_metric
from opencompass_tooleval.core.calls.answer import CUT
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import with_runs
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens, spending_of
from opencompass_tooleval.core.statistics.paired import details_of
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.report.names import as_text, title_of
from opencompass_tooleval.report.provenance import Spent
from opencompass_tooleval.report.standing import Digest
from opencompass_tooleval.report.trajectories import (
    THOUGHT,
    judged_areas,
    matches_of,
    opinions_of,
    read_trajectory,
    reasons_in,
    said_in,
    shown_rounds,
    shown_trajectory,
)
from opencompass_tooleval.results.table import Material, Missing, ModelResult
from opencompass_tooleval.work_dir.data_files import MAX_RUN_BYTES, read_plain
from opencompass_tooleval.work_dir.progress import run_counter
from opencompass_tooleval.work_dir.prompt_tokens import Counter, prompt_tokens
from opencompass_tooleval.work_dir.work_dir import WorkDir


def to_script(call: str, *arguments: Any) -> str:
    """Formats ``call(...)`` with JSON arguments, in ASCII.

    Each argument is a string for ``JSON.parse``, since in an object literal the key ``__proto__`` sets the prototype.
    Non-ASCII characters (including U+2028, U+2029 and lone surrogates), ``<``, ``>`` and ``&`` are escaped, so that no
    text can end the script or begin a comment.

    Args:
        call: A function name of the report.
        arguments: JSON values; NaN and infinity become text.
    """
    return f'{call}({",".join(map(_parsed, arguments))});\n'


def _parsed(value: Any) -> str:
    return "JSON.parse('" + to_data(value).replace('\\', '\\\\').replace("'", "\\'") + "')"


def to_data(value: Any) -> str:
    """Returns JSON in ASCII without ``<``, ``>`` and ``&``, for a ``<script type="application/json">``.

    Args:
        value: JSON values; NaN and infinity become text.
    """
    try:
        text = json.dumps(value, separators=(',', ':'), allow_nan=False)
    except ValueError:  # results of other programs may contain NaN
        text = json.dumps(to_jsonable(value), separators=(',', ':'))
    for sign in '<>&':
        text = text.replace(sign, f'\\u{ord(sign):04x}')
    return text


SIZE = 100
EXCERPT = 90
"""Number of characters of a task or an answer in the list of samples."""
_SENTENCE_END = re.compile(r'[.!?:]\s+|[。！？：]\s*')
_OF_TRAJECTORY = {'final_answer', 'stopped', 'steps', 'omitted_observations', 'matches', 'tools'}
"""Keys of a detail that are hidden because the trajectory already shows them."""
_SHOWN = {'id', 'trial', 'values', 'reason', 'parsed', 'parse_method', 'gold', 'domain'}

_WHOLE = ('overall', 'solved', 'f1_score', 'local_accuracy', 'accuracy', 'error_free_rate')
"""Metrics that summarize a sample, the preferred first; more is better in all of them, also ``error_free_rate``."""
_BESIDE = {'solved': 'restraint'}
"""Metric of ``_WHOLE`` -> metric that summarizes the samples to which it does not apply."""

Message = tuple[str, str]


def messages_of(prompt: Any) -> tuple[Message, ...]:
    """Returns role and text of every turn of an OpenCompass prompt; tool calls become separate turns."""
    if prompt is None:
        return ()
    turns = prompt if isinstance(prompt, list) else [prompt]
    return tuple(message for turn in turns for message in _messages_of_turn(turn))


def _messages_of_turn(turn: Any) -> Iterator[Message]:
    if not isinstance(turn, dict):
        yield '', as_text(turn)
        return
    role, text = str(turn.get('role', '')), turn.get('prompt', turn.get('content', ''))
    calls = turn.get('tool_calls')
    if text or not calls:
        yield role, as_text(text)
    if calls:
        yield f'{role}, calls', as_text(calls)


def asked_of(prediction: Mapping[str, Any], detail: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
    """Returns the request that a prediction answers: the offered tools first, then its prompt.

    Args:
        prediction: The row of predictions.
        detail: The sample; for agents it has the tools, since not every loop passes them natively.
    """
    tools = prediction.get('tools') or (detail or {}).get('tools')
    offered = (('tools', as_text(tools)),) if tools else ()
    return (*offered, *messages_of(prediction.get('origin_prompt')))


def first_words(text: str) -> str:
    """Returns the beginning of a text, as one line of at most :data:`EXCERPT` characters."""
    words = ' '.join(text[: 4 * EXCERPT].split())
    return words if len(words) <= EXCERPT else f'{words[:EXCERPT]}…'


def tasks_of(asked: Sequence[Sequence[Message]]) -> list[str]:
    """Returns the first words of each sample's request, from the last message that differs between samples.

    The common beginning of these messages is left out, since instructions do not distinguish samples.
    """
    for back in range(1, 1 + max(map(len, asked), default=0)):
        texts = [messages[-back][1] if len(messages) >= back else '' for messages in asked]
        if len(set(texts)) > 1 or len(texts) == 1:
            first, last = min(texts), max(texts)
            same = next((i for i, signs in enumerate(zip(first, last, strict=False)) if len(set(signs)) > 1), 0)
            start = _beginning(first[:same])
            return [first_words(text[start : start + 4 * EXCERPT]) for text in texts]
    return [''] * len(asked)


def _beginning(same: str) -> int:
    """Returns the offset of the first word to show: the start of a sentence, line or word in the common beginning."""
    line = same.rfind('\n') + 1
    is_list = same.startswith(('[', '{'), line)  # '1. ' inside JSON does not end a sentence
    ends = [] if is_list else [match.end() for match in _SENTENCE_END.finditer(same, line)]
    if ends:
        return ends[-1]
    return line if len(same) - line <= EXCERPT // 3 else max(line, same.rfind(' ') + 1)


def index_of(details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns columns for the browser's filters: ``reason`` and ``domain`` are indices into ``reasons`` and
    ``domains``.

    By default, a sample's score is the mean of the metrics in ``main``. ``trials`` is present if the data set has
    several runs, ``causes`` if the functions of ``plugin.ADDED`` find any.
    """
    reasons = list(dict.fromkeys(str(detail.get('reason', '')) for detail in details))
    domains = list(dict.fromkeys(str(detail.get('domain', '')) for detail in details))
    at = {name: i for i, name in enumerate(reasons)}, {name: i for i, name in enumerate(domains)}
    metrics = list(dict.fromkeys(name for detail in details for name in detail['values']))
    trials = [trial if isinstance(trial := detail.get('trial'), int) else None for detail in details]
    return {
        'ids': [str(detail['id']) for detail in details],
        'reasons': reasons,
        'reason': [at[0][str(detail.get('reason', ''))] for detail in details],
        'domains': domains,
        'domain': [at[1][str(detail.get('domain', ''))] for detail in details],
        'metrics': metrics,
        'main': _main(metrics),
        'values': [[_rounded(detail['values'].get(name)) for detail in details] for name in metrics],
        **({'trials': trials} if None not in trials else {}),
        **({'causes': causes} if any(causes := [_cause_of(detail) for detail in details]) else {}),
    }


def _cause_of(detail: Mapping[str, Any]) -> str:
    return next(filter(None, (find(detail) for find in plugin.added('cause'))), '')


def _main(metrics: Sequence[str]) -> list[str]:
    """Selects the metrics of a sample's score: a summary metric, or all metrics except errors and formats."""
    first = next((name for name in _WHOLE if name in metrics), None)
    forms = ('parse_rate', 'json_rate', 'json_format', 'string_format')
    told = [name for name in metrics if 'error' not in name and not name.startswith(forms)]
    no_error = [name for name in told if not lower_is_better(name)]
    return no_error if first is None else [name for name in (first, _BESIDE.get(first, '')) if name in metrics]


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


def _keyed(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    """Yields rows with the key (record, number of earlier rows of it), since a data set may have several runs."""
    return with_runs(rows, lambda row: str(row.get(name)))


@dataclass
class _Prompts:
    """The prompts of the first model on a data set."""

    folder: str
    hashes: list[int] = field(default_factory=list)
    tokens: dict[tuple[str, int], int] = field(default_factory=dict)

    def remembering(self, counter: Counter) -> Counter:
        """Wraps a counter, so that it counts each distinct text only once for all models."""

        def count(texts: Sequence[str]) -> list[int]:
            keys = {text: (counter.name, hash(text)) for text in texts}
            new = [text for text, key in keys.items() if key not in self.tokens]
            self.tokens.update(zip((keys[text] for text in new), counter.count(new), strict=True))
            return [self.tokens[keys[text]] for text in texts]

        return Counter(counter.name, count)


def _chunk_of_prompts(prompts: Sequence[Sequence[Message]]) -> dict[str, Any]:
    texts: dict[str, int] = {}
    rows = [[[role, texts.setdefault(text, len(texts))] for role, text in messages] for messages in prompts]
    return {'texts': list(texts), 'rows': rows}


class SampleFiles:
    """Writes the files below ``folder``, data set by data set.

    Attributes:
        digest: The digest of all samples, for the first page.
        damaged: Results with unreadable predictions; their samples are shown without predictions.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digest = Digest()
        self.damaged: list[Missing] = []
        self._pairs: list[dict[str, Any]] = []
        self._reasons: dict[str, None] = {}
        self._metrics: dict[str, None] = {}
        self._prompts: dict[str, _Prompts] = {}
        self._counters: dict[tuple[WorkDir, str], Counter] = {}
        self._has_trajectories = False

    def write_all(self, material: Material) -> dict[tuple[str, str], Spent]:
        """Writes every result's samples.

        Returns:
            Model and data set -> usage, for results with samples.
        """
        spent = {}
        for dataset in material.datasets:
            self._prompts.clear()
            for number, entry in enumerate(material.scored):
                if entry.dataset == dataset:
                    cost = self._write(entry, number)
                    if cost is not None:
                        spent[entry.model, dataset] = cost
        words = {reason: words_of_reason(reason) for reason in self._reasons}
        metrics = {metric: words_of_metric(metric) for metric in self._metrics}
        manifest = {'size': SIZE, 'pairs': self._pairs, 'reasons': words, 'metrics': metrics}
        if self._has_trajectories:
            manifest['sources'] = SOURCES | FAULTS
        self._save('index.js', to_script('tooleval.manifest', manifest))
        return spent

    def _keep_words(self, trajectories: Sequence[Mapping[str, Any]]) -> None:
        """Collects the codes for which the browser needs words."""
        for trajectory in trajectories:
            self._reasons |= dict.fromkeys(reasons_in(trajectory))
            self._has_trajectories = True

    def _save(self, name: str, script: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script, encoding='ascii')

    def _write(self, entry: ModelResult, number: int) -> Spent | None:
        result = entry.whole() or {}
        details = details_of(result)
        if not details:
            return None
        predictions = dict(_keyed(self._predictions(entry), 'record_id'))
        keyed = list(_keyed(details, 'id'))
        asked = [asked_of(predictions.get(key, {}), detail) for key, detail in keyed]
        shared, unshared = self._share(entry.dataset, asked)
        judged = _judgements(entry)
        are_dialogues = holds_dialogues(entry.result)
        counter, is_known = self._counter(entry), spending_of(entry.part('usage')) is not None
        rows = []
        answer_tokens = calls = 0
        for i, (key, detail) in enumerate(keyed):
            row = _row(detail, predictions.get(key, {}), _of_answer(judged.get(key[0], []), detail), are_dialogues)
            if i in unshared:
                row['prompt'] = asked[i]
            rows.append(row)
            answers = _answers_in(row)
            answer_tokens += 0 if is_known or not answers else sum(counter.count(answers))
            calls += max(1, len(answers)) if key in predictions else 0  # 1 for a failed dialogue
        folder = f'p{number}'
        index = index_of(details)
        self.digest.add(entry.model, entry.dataset, result, index)
        excerpts = [first_words(row['trace']['answer'] if 'trace' in row else row['answer']) for row in rows]
        self._keep_words([row['trajectory'] for row in rows if 'trajectory' in row])
        listed = index | {'tasks': tasks_of(asked), 'answers': excerpts}
        self._save(f'{folder}/index.js', to_script('tooleval.index', folder, listed))
        for start in range(0, len(rows), SIZE):
            name = f'{folder}/{start // SIZE}'
            self._save(f'{name}.js', to_script('tooleval.chunk', name, rows[start : start + SIZE]))
        lost = round(sum(self.digest.lost[entry.model, entry.dataset].values()), 4)
        counts = {'samples': len(rows), 'lost': lost, 'title': title_of(entry.dataset)}
        self._reasons |= dict.fromkeys([*index['reasons'], *filter(None, index.get('causes', ()))])
        self._metrics |= dict.fromkeys(index['metrics'])
        pair = {'model': entry.model, 'dataset': entry.dataset, 'folder': folder, 'prompts': shared.folder}
        self._pairs.append({**pair, **counts})
        prompts = prompt_tokens(entry.result, predictions.values, lambda: shared.remembering(counter))
        return Spent(
            prompts if prompts.counted_by else PromptTokens(counted_by=counter.name),
            answer_tokens / len(rows) if predictions and not is_known else None,
            calls if predictions else None,
        )

    def _counter(self, entry: ModelResult) -> Counter:
        """Returns the token counter of the run's summary, for texts whose tokens are not in the result."""
        key = entry.run, entry.folder
        if key not in self._counters:
            self._counters[key] = run_counter(entry.run, entry.folder)
        return self._counters[key]

    def _predictions(self, entry: ModelResult) -> list[dict[str, Any]]:
        """Reads the rows; if a file is damaged, notes it and returns no rows, since the result is still valid."""
        try:
            rows = entry.run.prediction_rows(entry.folder, entry.dataset)
            if not all(isinstance(row, dict) for row in rows):
                file = entry.run.predictions(entry.folder, entry.dataset)
                raise DataError(file, 'a row of the predictions is not an object')
        except DataError as error:
            self.damaged.append(Missing(entry.model, entry.dataset, f'scored, but shown without answers: {error}'))
            return []
        return rows

    def _share(self, dataset: str, asked: Sequence[tuple[Message, ...]]) -> tuple[_Prompts, set[int]]:
        """Returns the stored prompts of the data set, and the indices of samples whose prompts differ."""
        hashes = [hash(messages) for messages in asked]
        shared = self._prompts.get(dataset)
        if shared is None:
            shared = self._prompts[dataset] = _Prompts(f'd{len(self._pairs)}', hashes)
            for start in range(0, len(asked), SIZE):
                name = f'{shared.folder}/{start // SIZE}'
                script = to_script('tooleval.chunk', name, _chunk_of_prompts(asked[start : start + SIZE]))
                self._save(f'{name}.js', script)
        return shared, {i for i, digest in enumerate(hashes) if i >= len(shared.hashes) or digest != shared.hashes[i]}


def _answers_in(row: Mapping[str, Any]) -> list[str]:
    """Returns the model's answers, without the requests of a dialogue."""
    if 'trajectory' in row:
        return said_in(row['trajectory'])
    return [answer for _, answer in row['trace']['rounds']] if 'trace' in row else [row['answer']]


def answer_text(prediction: Mapping[str, Any]) -> str:
    """Returns a prediction's text, followed by each native call with its arguments unchanged."""
    calls = prediction.get('calls')
    shown = [as_text(prediction.get('prediction', ''))]
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            passed = call.get('arguments')
            written = passed if isinstance(passed, str) else json.dumps(passed, ensure_ascii=False)
            shown.append(as_text(f'{call.get("name")}({written})'))
    return '\n'.join(filter(None, shown))


def _row(
    detail: Mapping[str, Any], prediction: Mapping[str, Any], judged: Sequence[Any], are_dialogues: bool
) -> dict[str, Any]:
    raw = prediction.get('prediction', '')
    row = {
        'answer': answer_text(prediction),
        'infra': prediction.get('infra'),
        'cut': prediction.get('finish_reason') == CUT,
        'parsed': detail.get('parsed'),
        'parse_method': detail.get('parse_method'),
        'gold': detail.get('gold'),
    }
    trajectory = read_trajectory(str(raw)) if are_dialogues else None  # from the raw text: ``answer`` may be cut
    if trajectory and (rounds := shown_rounds(trajectory)):
        row['trace'] = rounds
    elif trajectory:
        shown = shown_trajectory(trajectory, prediction)
        row |= {'trajectory': shown, 'answer': shown['answer']}
        row |= {'matches': matches_of(detail), 'judged': opinions_of(detail)}
    further: dict[str, Any] = {}
    for add in plugin.added('sample'):
        further |= add(detail, prediction, THOUGHT)
    row |= further
    hidden = {*_SHOWN, *further}
    hidden |= {*_OF_TRAJECTORY, *judged_areas(detail)} if 'trajectory' in row else set()
    more = {key: value for key, value in detail.items() if key not in hidden and value not in (None, [], {})}
    if prediction.get('calls'):
        more['calls'] = prediction['calls']
    if judged:
        more['judgements'] = list(judged)
    return {**row, 'more': more} if more else row


def _of_answer(judged: Sequence[Any], detail: Mapping[str, Any]) -> list[Any]:
    """Selects the judgements of a detail's answer, by digest; keeps rows of older versions, which have no digest."""
    steps = detail.get('steps')
    parts = [detail, *(steps if isinstance(steps, list) else ())]
    digests = [part.get('answer_digest') for part in parts if isinstance(part, dict)]
    return [row for row in judged if not row.get('answer_digest') or row['answer_digest'] in digests]


def _judgements(entry: ModelResult) -> dict[str, list[Any]]:
    """Returns record -> the judge's rows about it, from the file next to the result."""
    judgements: dict[str, list[Any]] = defaultdict(list)
    file = entry.run.path / 'results' / entry.folder / f'{entry.dataset}_judgements.jsonl'
    if file.is_file():
        for line in read_plain(file, MAX_RUN_BYTES).decode('utf-8', 'replace').splitlines():
            try:
                row = load_json(line, bounded=True)
            except ValueError:
                continue  # a killed run may leave a partial line; the result does not depend on it
            if isinstance(row, dict):
                judgements[str(row.get('id'))].append(row)
    return judgements
