"""Checks of results: caveats about their scores, and reasons why they are not comparable. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.benchmark import (
    OUR_PREFIX,
    all_benchmarks,
    are_agents,
    part_in_words,
    published_size,
    record_count,
)
from opencompass_tooleval.catalogue.comparable import deciding_settings
from opencompass_tooleval.catalogue.comparable import unlike as unlike_settings
from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.calls.answer import ENDINGS, ONLY_THOUGHTS
from opencompass_tooleval.core.calls.call_evidence import AS_TEXT, EVIDENCE, IN_TEXT, JSON, LESS_THOUGHT, TYPED
from opencompass_tooleval.core.calls.written.formats import FORMATS
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.core.scoring.result import EMPTY, many_failed
from opencompass_tooleval.core.statistics.sample import TWIN, WITHOUT_TWIN
from opencompass_tooleval.core.statistics.trials import trials_of_result
from opencompass_tooleval.embedding.locate import is_official
from opencompass_tooleval.findings.finding import Finding, found, merged
from opencompass_tooleval.findings.kinds import PARSER, PUBLISHED
from opencompass_tooleval.plugin import BENCHMARKS, RESULT_CHECKS, RUN_CHECKS, load
from opencompass_tooleval.work_dir.names import is_unfinished_of_opencompass, predictions_of, whole_name
from opencompass_tooleval.work_dir.progress import cut_datasets, dataset_abbr, pairs_in
from opencompass_tooleval.work_dir.stored import OTHER_ANSWERS

Results = Mapping[tuple[str, str], Mapping[str, Any]]
"""Model and data set -> result; its details are not needed."""

FEW = 100
"""If the published size of the data is unknown, fewer records than this are considered a part of it."""
_FEWEST_CALLS = 10
_SHARE_OF_LOST = 0.01
UNANSWERED_SHARE, CUT_SHARE = 0.1, 0.01
_SHARE_OF_OURS = 0.9
"""If the longest cut answer has fewer tokens than this share of our limit, the server cut at its own limit."""
_FIX_OF_SERVER = 'check its own limit, then run again with a higher max_out_len and -r'
_MOST_WORDS, _MOST_VALUE = 300, 80
_GPT_4 = re.compile(r'(.*/)?gpt-4(-turbo)?(-\d{4}(-\d\d-\d\d)?)?(-32k(-\d{4})?)?(-preview)?', re.IGNORECASE)
"""Names of GPT-4 and GPT-4 Turbo only, with or without a date or a provider before them."""
_NO_REFERENCE = 'no_reference'
"""Value of :data:`opencompass_tooleval.agents.toolbench.win.NO_REFERENCE`."""


def findings_of_run(
    results: Results, run: Path | None = None, config: Mapping[str, Any] = {}, more: Iterable[Finding] = ()
) -> list[Finding]:
    """Returns what is known about a run, in the order of screens; these only choose kinds and levels.

    Args:
        results: Its results.
        run: Its folder; None for results alone.
        config: Its config.
        more: Further findings.
    """
    found_here = [one for check in RESULT_CHECKS for one in load(check)(results)]
    if run:
        scored = {dataset for _, dataset in results}
        unscored = [row for row in config['datasets'] if dataset_abbr(row) not in scored]
        found_here += [one for check in RUN_CHECKS for one in load(check)(run, config)]
        found_here += parts_of_data({'datasets': unscored})
    return merged([*found_here, *more])


def of_comparisons(findings: Iterable[Finding]) -> list[Finding]:
    """Leaves out reasons why scores are not comparable with published ones: comparisons of models do not need them."""
    return [one for one in findings if not one.kind.startswith(PUBLISHED)]


def caveats_of(dataset: str, result: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the reasons why a score is not comparable with published ones; empty if it is comparable."""
    return tuple(one.text for one in published({('', dataset): result}))


def few(names: Iterable[str], most: int = 2) -> str:
    """Lists the first names, without the prefix of this package's data sets."""
    return first_of([name.removeprefix(OUR_PREFIX) for name in names], most)


def _part(result: Any, name: str) -> Mapping[str, Any]:
    """Returns the first object under a key of a result; {} if it has none, like results of other packages."""
    part = result.get(name) if isinstance(result, Mapping) else None
    return next((one for one in (part if isinstance(part, list) else [part]) if isinstance(one, Mapping)), {})


def _count(result: Any, part: str, name: str) -> int:
    count = _part(result, part).get(name)
    return count if type(count) is int and count > 0 else 0


def published(results: Results) -> Iterator[Finding]:
    """Yields the reasons why scores are not comparable with published ones."""
    for (_, dataset), result in results.items():
        for kind, text in _why_not_published(dataset, result, Provenance.of(result)):
            if text:
                yield found(f'{PUBLISHED}{kind}', few([dataset]), text)


def _why_not_published(dataset: str, result: Mapping[str, Any], about: Provenance) -> Iterator[tuple[str, str]]:
    """Yields kind and text of each reason; the text is ``''`` if the reason does not apply."""
    protocols = {name: expected for benchmark in all_benchmarks() for name, expected in benchmark.protocols.items()}
    is_other_protocol = about.data_version and about.protocol not in ('', protocols.get(about.data_version))
    yield 'rebuilt', 'data built by this package, not the official files' if about.rebuilt else ''
    yield 'protocol', f'protocol {about.protocol} on data {about.data_version}' if is_other_protocol else ''
    if kind := about.stored.get(TWIN):
        left_out, lacking = about.stored.get('left_out'), about.stored.get(WITHOUT_TWIN)
        parts = [f'twins of the published records ({kind})']
        parts += [f'records without one: {left_out}'] if left_out else []
        parts += [f'{lacking} of the sample have none'] if lacking else []
        yield 'twin', shorten('; '.join(parts), _MOST_WORDS)
    if about.encoder and about.language in ('EN', 'ZH') and not is_official(about.encoder, about.language):
        yield 'encoder', f'another sentence encoder: {about.encoder}'
    yield 'scoring', "scoring='strict', not the published scoring" if about.scoring == 'strict' else ''
    limit, of_paper = about.max_out_len, about.published_max_out_len
    if limit is not None and of_paper is not None and limit < of_paper:
        yield 'limit', f'answers of at most {limit} tokens; the published ones had {of_paper}'
    golds = {gold.strip() for gold in about.gold.split(',')} - {'', 'official'}
    if golds := golds - ({'plan'} if about.rebuilt else set()):  # data built here imply it
        yield 'gold', f'gold answers: {", ".join(sorted(golds))}, not the published ones'
    is_agent, judge = about.benchmark == 'agents', about.judge
    if judge and not about.judge_hash:  # a file of judgements; a judge model also has a digest of its settings
        yield 'judge', f'judgements from {judge}'
    elif judge and is_agent:
        yield 'judge', f'judged by {judge}; the papers used ChatGPT and GPT-4 of their time'
    elif judge and not _GPT_4.fullmatch(judge):
        yield 'judge', f'judged by {judge}; the paper used GPT-4'
    yield 'reference', _why_no_reference(result)
    yield 'environment', 'calls are answered from recordings; the papers used live tools' if is_agent else ''
    if is_agent and about.simulated_by:  # a separate text per simulator, so that differences are marked
        yield 'environment', f'responses that were not recorded are simulated by {about.simulated_by}'
    is_sample, part, count = about.data_version.endswith('subset'), part_in_words(dataset, result), record_count(result)
    yield 'sample', 'sampled subset of the data' if is_sample else ''
    yield 'part', f'records: {part}' if part else ''
    is_unknown = about.benchmark in BENCHMARKS and published_size(dataset, result) is None
    if is_unknown and count is not None and not part and not is_sample:
        yield 'size', f'fewer than {FEW} records' if count < FEW else 'the published number of records is unknown'


def _why_no_reference(result: Mapping[str, Any]) -> str:
    """Returns the share of tasks that count as won since the reference has no answer, in words; '' if there are none.

    With a few published answers as the reference, these are nearly all tasks.
    """
    won = _part(_part(result, 'breakdown'), 'judged').get('win')
    counts = won if isinstance(won, Mapping) else {}
    numbers = [counts.get(name) for name in (_NO_REFERENCE, 'win', 'tie', 'loss')]
    lacking, *tasks = [number if isinstance(number, (int, float)) else 0 for number in numbers]
    share = f'{lacking / sum(tasks):.0%}' if lacking > 0 and sum(tasks) > 0 else ''
    return f'{share} of the tasks count as won since the reference has no answer' if share else ''


def no_answers(results: Results) -> Iterator[Finding]:
    """Yields a finding per result with samples without an answer; a warning if they are many."""
    for (model, dataset), result in results.items():
        samples, endings = _part(result, 'samples'), _part(result, ENDINGS)
        if _count(result, 'samples', 'infra'):
            words = shorten(str(endings.get('server_words') or ''), _MOST_WORDS)
            quoted = f'. {endings.get("times")} of them: {words}' if words else ''
            empty = _count(result, 'reasons', EMPTY)
            counts = f'{samples["infra"]} of {samples.get("all", "?")} samples have'
            text = f'{counts} no answer, through no fault of the model; they count as wrong{quoted}'
            if empty:
                some = '' if empty == samples['infra'] else f'no answer, {empty} of them '
                end = 'The server may have lost it, or the model ended at once'
                text = f'{counts} {some}an empty answer and count as wrong. {end}{quoted}'
            kind = 'result:no_answer' if many_failed(samples) else 'result:unanswered'
            yield found(kind, f'{model} / {dataset}', text)


def other_answers(results: Results) -> Iterator[Finding]:
    """Yields a finding per model whose predictions are not those that its results were computed from."""
    models: dict[str, list[str]] = {}
    for (model, dataset), result in results.items():
        if result.get(OTHER_ANSWERS):
            models.setdefault(model, []).append(dataset)
    for model, names in models.items():
        text = f'the predictions of the run are not those of its results: {few(names)}'
        yield found('result:other_answers', model, text)


def scored_again(results: Results) -> Iterator[Finding]:
    """Yields a finding per result that another scoring of the same answers has moved."""
    for (model, dataset), result in results.items():
        metrics = _part(_part(result, 'rescored'), 'metrics')
        for metric in metrics:
            scores = _part(metrics, metric).get('before'), result.get(metric)
            before, after = (f'{score:.2f}' if isinstance(score, float) else '-' for score in scores)
            better, worse = (_count(metrics, metric, name) for name in ('right_count', 'wrong_count'))
            flips = f'{better} {"answer" if better == 1 else "answers"} became better, {worse} worse'
            text = f'scored again: {shorten(metric, 40)} was {before} and is {after}; {flips}'
            yield found('result:rescored', f'{model} / {dataset}', text)


def no_responses(results: Results) -> Iterator[Finding]:
    """Yields a finding per agent that got no recorded response to many of its calls."""
    for (model, dataset), result in results.items():
        if are_agents(Provenance.of(result).benchmark):
            breakdown = result.get('breakdown')
            trials = breakdown if isinstance(breakdown, list) else [breakdown]
            calls = sum(_count(trial, 'sources', name) for trial in trials for name in _part(trial, 'sources'))
            lacking = sum(_count(trial, 'errors', 'unanswered') for trial in trials)
            if lacking > UNANSWERED_SHARE * calls:
                text = f'{lacking} of {calls} calls had no recorded response'
                yield found('result:no_response', f'{model} / {dataset}', text)


def same_trials(results: Results) -> Iterator[Finding]:
    """Yields a finding per model whose trials are all the same."""
    same: dict[tuple[str, int], list[str]] = {}
    for (model, dataset), result in results.items():
        trials = trials_of_result(result)
        if trials and trials.all_the_same:
            same.setdefault((model, trials.trials), []).append(dataset)
    for (model, number), names in same.items():
        what = (
            f'all {number} trials of every record have the same answer (greedy, or a seed?), so that they say no more'
        )
        yield found('result:same_trials', model, f'{what} than one: {first_of(names)}')


def unlike(results: Results) -> Iterator[Finding]:
    """Yields reasons why results on the same data set are not comparable: settings that affect scores differ."""
    by_dataset: dict[str, dict[str, Mapping[str, Any]]] = {}
    for (model, dataset), result in results.items():
        if (
            not 0 < _count(result, 'samples', 'all') <= _count(result, 'samples', 'infra')
        ):  # else its settings are unknown
            by_dataset.setdefault(dataset, {})[model] = result
    for dataset, of_models in by_dataset.items():
        settings = {model: deciding_settings(result) for model, result in of_models.items()}
        same_records = len({record_count(result) for result in of_models.values()}) == 1
        for key, values in unlike_settings(settings, same_records):
            models: dict[str, list[str]] = {}
            for model, value in values.items():
                models.setdefault('none' if value is None else str(value), []).append(model)
            shown = '; '.join(f'{shorten(value, _MOST_VALUE)} ({first_of(who)})' for value, who in models.items())
            yield found(
                'result:differs', few([dataset]), f'not comparable, since {key.replace("_", " ")} differs: {shown}'
            )


def _servers_limit(result: Mapping[str, Any]) -> int:
    """Returns the number of tokens at which the server cut answers before our limit; 0 if it did not, or is unknown."""
    limit = Provenance.of(result).max_out_len or 0
    longest = _count(result, ENDINGS, 'cut_tokens')
    return longest if longest < _SHARE_OF_OURS * limit else 0


def cut_words(number: str, results: Collection[Mapping[str, Any]]) -> str:
    """Returns a sentence on the limit at which answers were cut: ours, or the server's own.

    Args:
        number: Their number.
        results: The results of their data sets: all cut at our limits, or all cut by the server.
    """
    limits = sorted({limit for result in results if (limit := Provenance.of(result).max_out_len)})
    lengths, longest = ' or '.join(f'{limit:,}' for limit in limits), max(map(_servers_limit, results))
    if longest:
        stopped = f'The server stopped them at about {longest:,} tokens'
        return f'{number} answers were cut. {stopped}, before your limit of {lengths}'
    return f'{number} answers were cut' + (f' at {lengths} tokens' if lengths else '')


def cut_answers(results: Results) -> Iterator[Finding]:
    """Yields a finding per model and limit that cut many answers, and one per such data set if its limits differ."""
    cut: dict[tuple[str, bool], dict[str, Mapping[str, Any]]] = {}
    samples_of = Counter[str]()
    limits: dict[str, dict[int, list[str]]] = {}
    for (model, dataset), result in results.items():
        limit, samples = Provenance.of(result).max_out_len, _count(result, 'samples', 'all')
        samples_of[model] += samples
        if limit is not None:
            limits.setdefault(dataset, {}).setdefault(limit, []).append(model)
        if _count(result, 'samples', 'cut') - _count(result, ENDINGS, 'full') > CUT_SHARE * samples:
            cut.setdefault((model, bool(_servers_limit(result))), {})[dataset] = result
    for (model, by_server), those in cut.items():
        count = sum(_count(result, 'samples', 'cut') - _count(result, ENDINGS, 'full') for result in those.values())
        words = cut_words(f'{count:,} of {samples_of[model]:,}', those.values())
        yield found('result:cut', model, f'{words} ({few(those)})', _FIX_OF_SERVER * by_server)
    for dataset in {dataset: None for those in cut.values() for dataset in those if len(limits.get(dataset, ())) > 1}:
        shown = '; '.join(f'{limit:,} ({first_of(models)})' for limit, models in sorted(limits[dataset].items()))
        yield found('result:limits', few([dataset]), f'models had different limits of tokens for an answer: {shown}')


def ends_of_answers(results: Results) -> Iterator[Finding]:
    """Yields a finding per model whose answers are mostly thoughts, and per unknown reason for ending an answer."""
    endings: Counter[str] = Counter()
    swallowed: dict[str, dict[str, int]] = {}
    for (model, dataset), result in results.items():
        of_result = _part(result, ENDINGS)
        endings.update({name: _count(of_result, 'unknown', name) for name in _part(of_result, 'unknown')})
        if 2 * (thoughts := _count(result, ENDINGS, 'only_thoughts')) > _count(result, 'samples', 'all'):
            swallowed.setdefault(model, {})[dataset] = thoughts
    for model, counts in swallowed.items():
        what = (
            f'{sum(counts.values()):,} answers are empty: all of their text is thoughts, although the model ended them'
        )
        yield found('result:only_thoughts', model, f'{what} ({few(counts)}). {ONLY_THOUGHTS}')
    for reason, count in endings.items():
        text = f'{count:,} answers ended for the reason {reason!r}, which is unknown: they count as whole answers'
        yield found('result:ending', '', text)


def _sums(results: Results, part: str, name: str) -> Iterator[tuple[str, int, str]]:
    """Yields each model with a count above 0, its sum over data sets, and the first data sets."""
    counts: dict[str, dict[str, int]] = {}
    for (model, dataset), result in results.items():
        if count := _count(result, part, name):
            counts.setdefault(model, {})[dataset] = count
    yield from ((model, sum(those.values()), few(those)) for model, those in counts.items())


def unclear_tokens(results: Results) -> Iterator[Finding]:
    """Yields a finding per model whose server counts tokens in its totals that it does not name."""
    for model, tokens, where in _sums(results, 'usage', 'added'):
        text = f'{tokens:,} tokens of answers are thoughts by the totals of the server, which does not say so ({where})'
        yield found('result:tokens', model, f'{text}; they count and cost as answers')


def full_contexts(results: Results) -> Iterator[Finding]:
    """Yields a finding per model whose server cuts prompts, or has no room for answers behind them."""
    for model, count, where in _sums(results, ENDINGS, 'full'):
        text = f"answers without room, since the prompt fills the server's context: {count:,} ({where})"
        yield found('result:full_context', model, text)
    for (model, dataset), result in results.items():
        if tokens := _count(result, ENDINGS, 'cut_prompts'):
            text = f'the server cuts long prompts at about {tokens:,} tokens, without an error ({few([dataset])})'
            yield found('result:cut_prompts', model, text)


def lost_calls(results: Results) -> Iterator[Finding]:
    """Yields a finding per model and format of calls in texts, and per model whose arguments are all texts."""
    for name in (*FORMATS, JSON):
        key = f'{IN_TEXT}{name}'  # fewer answers may quote a call
        clear = {
            at: one
            for at, one in results.items()
            if _count(one, EVIDENCE, key) >= _SHARE_OF_LOST * _count(one, 'samples', 'all')
        }
        for model, count, where in _sums(clear, EVIDENCE, key):
            text = f'calls are left in the text of answers, where they do not count: {count:,} as {name} ({where})'
            parser = PARSER if name == JSON else PARSER.replace('NAME', name, 1)
            yield found('result:calls_in_text', model, text, parser)
    for model, count, where in _sums(results, EVIDENCE, LESS_THOUGHT):
        text = (
            f'{count:,} requests were sent without earlier thoughts, which are bound to messages that the loop changed'
        )
        yield found('result:less_thought', model, f'{text} since ({where})')
    as_text = {model: count for model, count, _ in _sums(results, EVIDENCE, AS_TEXT)}
    for model, typed, where in _sums(results, EVIDENCE, TYPED):
        if typed >= _FEWEST_CALLS and as_text.get(model) == typed:
            text = f'all arguments of {typed:,} calls are texts, though the tools ask for other types ({where})'
            yield found('result:text_arguments', model, f"{text}: the server's parser loses types")


def left_out(run: Path, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a note if a run has predictions of models or data sets that a config lacks, such as renamed ones."""
    pairs = pairs_in(config, run)
    stored = [*run.glob('predictions/*/[!.]*.json'), *run.glob('predictions/*/[!.]*.answers')]
    files = [predictions_of(path) for path in stored if not is_unfinished_of_opencompass(path)]
    if others := sorted(
        {(file.parent.name, whole_name(file.stem, {name for _, name in pairs})) for file in files}.difference(pairs)
    ):
        which = first_of(list(map(' x '.join, others)), 3)
        yield found(
            'run:left_out',
            '',
            f'the run has predictions that its config does not name: {which}. If a name has changed, rename them in '
            f'{run / "predictions"}, too, and they are not asked again',
        )


def parts_of_data(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a note per part of the data that a config selects: a sample, or the first records."""
    named: dict[str, list[str]] = {}
    for dataset, part in cut_datasets(config).items():
        named.setdefault(part, []).append(dataset)
    for part, datasets in named.items():
        count = f'{len(datasets)} data set{"s" * (len(datasets) > 1)}'
        yield found('config:test_range', '', f'{part}: {count}: {first_of(datasets, 3)}')
