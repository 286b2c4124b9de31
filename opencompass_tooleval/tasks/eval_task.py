"""The evaluation task, which continues after a dataset fails; ``task_process`` runs it in OpenCompass's workers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from mmengine.fileio.handlers.json_handler import set_default
from opencompass.registry import ICL_PROMPT_TEMPLATES, TASKS
from opencompass.tasks import OpenICLEvalTask, openicl_eval
from opencompass.utils import get_infer_output_path, model_abbr_from_cfg

from opencompass_tooleval.catalogue.metrics import lower_is_better, main_metrics
from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.calls.answer import CALLS, CUT, ENDINGS, STOP, TRUNCATED_REASONING, USAGE, Answer, clean
from opencompass_tooleval.core.calls.call_evidence import EVIDENCE, call_evidence
from opencompass_tooleval.core.calls.sent import THOUGHTS, thoughts_of_rows
from opencompass_tooleval.core.calls.tool_calls import read_calls
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.scoring.prices import BUDGET, budget_of, read_prices
from opencompass_tooleval.core.scoring.sampling_settings import (
    MAX_OUT_LEN,
    PUBLISHED,
    SAMPLING,
    limit_of_rows,
    samplings,
)
from opencompass_tooleval.core.scoring.usage import read_usage, whole_number
from opencompass_tooleval.core.scoring.usage_summary import OTHERS, other_rows, summary_of
from opencompass_tooleval.core.statistics.intervals import NOISE
from opencompass_tooleval.core.statistics.paired import Result, metrics_of, values_of
from opencompass_tooleval.core.text.jsonable import texts_digest
from opencompass_tooleval.inferencers.result_origin import origin_of
from opencompass_tooleval.inferencers.resuming import prepare
from opencompass_tooleval.models.api.endings import is_unknown
from opencompass_tooleval.models.conversation import TOOLS, ToolEvalConversationTemplate
from opencompass_tooleval.models.literal_keys import other_models
from opencompass_tooleval.models.model_calls import SYSTEM_PROMPT
from opencompass_tooleval.models.model_config import PRICES
from opencompass_tooleval.models.settings import is_greedy
from opencompass_tooleval.results.sampled import INTERVALS, intervals_of_sample
from opencompass_tooleval.tasks.task import CommandOfTask, Failures
from opencompass_tooleval.work_dir.budget_file import Ledger, LockedTask
from opencompass_tooleval.work_dir.causes import most_said
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import lock_path, outdated_path
from opencompass_tooleval.work_dir.prompt_tokens import cut_prompts, reported_usage
from opencompass_tooleval.work_dir.run_context import in_context
from opencompass_tooleval.work_dir.shards import check_shards, read_predictions, shard_files
from opencompass_tooleval.work_dir.stored import ANSWERS, ORIGIN, SCORING, is_intact, select_rows, with_origin
from opencompass_tooleval.work_dir.whole_file import write_whole
from opencompass_tooleval.work_dir.work_dir import read_result

RESCORED = 'rescored'
"""Key in a result of :func:`rescored`."""
_MOST_NAMED = 100


def rescored(before: Path, result: Result, origin: Mapping[str, str]) -> dict[str, Any]:
    """Compares a result with the one that it replaces.

    Args:
        before: The file of the earlier result, which need not exist.
        result: The new result, with ``details``.
        origin: The digests of the new result.

    Returns:
        ``versions``: the VERSION of both; and for each main metric that moved its score ``before`` and the ids of the
        answers that became ``right`` and ``wrong``, that is, whose value became better or worse (at most 100 ids, with
        their number ``right_count`` and ``wrong_count``). Empty if nothing moved, or the answers are others. If the
        scoring is the same, what the earlier result says.
    """
    try:
        earlier = (read_result(before) or {}) if before.is_file() and is_intact(before) else {}
    except DataError:
        return {}
    earlier_origin = earlier.get(ORIGIN)
    if not isinstance(earlier_origin, Mapping) or earlier_origin.get(ANSWERS) != origin[ANSWERS]:
        return {}
    if earlier_origin.get(SCORING) == origin[SCORING]:
        kept = earlier.get(RESCORED)
        return dict(kept) if isinstance(kept, Mapping) else {}
    metrics = [metric for metric in main_metrics(metrics_of(result)) if metric in earlier]
    moved = {metric: of for metric in metrics if (of := _moved(earlier, result, metric))}
    versions = [Provenance.of(one).version for one in (earlier, result)]
    return {'versions': versions, 'metrics': moved} if moved else {}


def _moved(earlier: Result, result: Result, metric: str) -> dict[str, Any]:
    first, second = values_of(earlier, metric) or {}, values_of(result, metric) or {}
    sign = -1 if lower_is_better(metric) else 1
    gains = {name: sign * (second[name].value - first[name].value) for name in first if name in second}
    right, wrong = ([name for name, gain in gains.items() if side * gain > NOISE] for side in (1, -1))
    if earlier[metric] == result[metric] and not right and not wrong:
        return {}
    counts = {'right_count': len(right), 'wrong_count': len(wrong)}
    return {'before': earlier[metric], **counts, 'right': right[:_MOST_NAMED], 'wrong': wrong[:_MOST_NAMED]}


def to_json(result: Mapping[str, Any]) -> str:
    """Formats a result as JSON, with one line per key and per sample (indenting takes five times as long)."""
    write = partial(json.dumps, ensure_ascii=False, default=set_default)

    def lines(value: Any) -> str:
        return '[\n' + ',\n'.join(map(write, value)) + '\n]' if isinstance(value, list) else write(value)

    return '{\n' + ',\n'.join(f'{write(str(key))}: {lines(value)}' for key, value in result.items()) + '\n}\n'


def _endings(rows: Sequence[Mapping[str, Any]], details: Any, context: int | None, has_prompts: bool) -> dict[str, Any]:
    """Returns facts about answers for the last screen, without those that are zero.

    ``unknown``: unknown finish reasons and their counts; ``only_thoughts``: number of answers that the model ended,
    with thoughts but no text; ``server_words`` and ``times``: the most frequent error of missing answers, and its
    count; ``cut_tokens``: number of tokens in the longest cut answer, as counted by the server; ``full``: number of
    answers without room in the context (of ``context`` tokens, if known); ``cut_prompts``: number of tokens to which
    the server cut long prompts, if rows have whole prompts (``has_prompts``).
    """
    ends = (row.get('finish_reason') for row in rows)
    unknown = Counter(str(end) for end in ends if is_unknown(end))
    scored = details if isinstance(details, list) and len(details) == len(rows) else [{}] * len(rows)
    thoughts = sum(
        row.get('finish_reason') == STOP
        and (detail.get('reason') == TRUNCATED_REASONING or _has_only_thoughts(row.get('prediction')))
        for row, detail in zip(rows, scored, strict=True)  # a dialogue's prediction is its trajectory
    )
    words, times = most_said(rows)
    found = {'unknown': dict(unknown), 'only_thoughts': thoughts, 'server_words': words, 'times': times}
    found['cut_tokens'] = max(map(_cut_tokens, rows), default=0)
    found['full'] = sum(_has_no_room(row, context) for row in rows)
    found['cut_prompts'] = cut_prompts(rows) if has_prompts and not found['full'] else 0
    return {name: value for name, value in found.items() if value}


def _cut_tokens(row: Mapping[str, Any]) -> int:
    """Returns the number of tokens in a cut answer to one request; 0 for other answers, and if unknown."""
    usage = reported_usage(row) if row.get('finish_reason') == CUT else None
    return (usage and usage.completion) or 0


def _has_no_room(row: Mapping[str, Any], context: int | None) -> bool:
    """Tests if an answer was cut since its prompt fills the context."""
    usage = reported_usage(row) if row.get('finish_reason') == CUT else None
    return usage is not None and (usage.completion == 0 or bool(context and (usage.prompt or 0) >= context))


def _evidence(test_set: Any, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Returns the sums of what answers show about the server's parser of calls."""
    counts: Counter[str] = Counter()
    offered = test_set[TOOLS] if TOOLS in test_set.column_names else [None] * len(rows)
    for row, tools in zip(rows, offered, strict=True):
        stored = row.get(EVIDENCE)
        if isinstance(stored, Mapping):
            counts.update({str(name): number for name, number in stored.items() if whole_number(number)})
        elif tools is not None and not row.get('infra') and isinstance(row.get('prediction'), str):
            counts += call_evidence(row['prediction'], read_calls(row.get(CALLS)), ToolSet.of_text(tools))
    return dict(counts)


def _has_only_thoughts(text: Any) -> bool:
    return isinstance(text, str) and text.startswith('<think>') and clean(Answer(text)).reason == TRUNCATED_REASONING


@TASKS.register_module()
class ToolEvalEvalTask(CommandOfTask, OpenICLEvalTask):
    """OpenCompass's :class:`OpenICLEvalTask`, but it continues after a dataset fails, and then fails at the end.

    Results are written atomically, so that a killed evaluation can be resumed. Shards of a dataset must contain its
    records, each once and in order.
    """

    stage = 'eval'
    script = openicl_eval.__file__

    def run(self) -> None:
        """Evaluates all datasets.

        Raises:
            TaskFailedError: A dataset failed.
        """
        self._failures = Failures()
        for model, datasets in zip(self.model_cfgs, self.dataset_cfgs, strict=True):
            for dataset in datasets:  # a runner may have started the task without get_command
                prepare(self.stage, Path(self.work_dir), model, dataset)
        with in_context(engine_log=self.engine_log()):
            super().run()
        self._failures.check()

    def _file(self, folder: str) -> Path:
        return Path(get_infer_output_path(self.model_cfg, self.dataset_cfg, str(Path(self.work_dir, folder))))

    def _score(self) -> None:
        self._failures.attempt(self._score_within_budget, self.dataset_cfg)

    def _score_within_budget(self) -> None:
        """Scores answers; a judge is paid for by its own budget or the model's."""
        file, budget = self._file('predictions'), budget_of(self.model_cfg)
        locked_task = LockedTask(Path(self.work_dir), lock_path(file.with_stem(f'{file.stem}.eval')))
        ledger = Ledger(locked_task, model_abbr_from_cfg(self.model_cfg), budget) if budget else None
        has_own = any(isinstance(cfg, Mapping) and cfg.get(BUDGET) for _, cfg in other_models(self.dataset_cfg))
        with (
            exclusive(locked_task.lock) if budget or has_own else nullcontext(),
            in_context(locked_task=locked_task, ledger=ledger),
        ):
            super()._score()

    def _load_and_preprocess_test_data(self) -> Any:
        """Loads the dataset, and remembers its record ids."""
        test_set = super()._load_and_preprocess_test_data()
        self._record_ids = test_set['record_id'] if 'record_id' in test_set.column_names else None
        return test_set

    def _load_predictions(self) -> tuple[list[dict[str, Any]], list[Any] | None]:
        """Reads rows and answers as OpenCompass does, but without copying every prompt.

        Leaves out rows of records that the config does not select.
        """
        whole = self._file('predictions')
        files = [whole] if whole.exists() else shard_files(whole)
        if not files:
            raise FileNotFoundError(f'there are no predictions: neither {whole} nor shards of it')
        rows = [row for file in files for row in read_predictions(file)]
        if self._record_ids and files == [whole]:
            rows = select_rows(rows, self._record_ids)
        return rows, [row.get('prediction') for row in rows] if 'prediction' in rows[0] else None

    def _evaluate_predictions(self, pred_strs: Any, test_set: Any, pred_dicts: Any) -> Any:
        whole = self._file('predictions')
        if not whole.exists() and 'record_id' in test_set.column_names:
            check_shards(shard_files(whole), test_set['record_id'])
        asked = self._check_asked(test_set, pred_dicts)
        try:
            with in_context(postprocess=self._process_predictions):
                result = super()._evaluate_predictions(pred_strs, test_set, pred_dicts)
        except Fault as fault:
            raise DataError(whole, str(fault)) from fault
        if not asked and 'prompts_sha256' in result.get('provenance', {}):
            result['provenance']['prompts_sha256'] = None  # some rows lack their prompt's digest, such as imported ones
        finish_reasons = [row.get('finish_reason') for row in pred_dicts]
        if any(finish_reasons) and isinstance(result.get('samples'), dict):
            result['samples']['cut'] = finish_reasons.count(CUT)
            inferencer, context = self.dataset_cfg['infer_cfg']['inferencer'], self.model_cfg.get('max_seq_len')
            # The stored prompt of a dialogue lacks what its loop adds, and `mode` shortens prompts here.
            has_prompts = TOOLS in test_set.column_names or 'dialogues' not in inferencer
            has_prompts &= self.model_cfg.get('mode', 'none') == 'none'
            if endings := _endings(pred_dicts, result.get('details'), context, has_prompts):
                result[ENDINGS] = endings
            if evidence := _evidence(test_set, pred_dicts):
                result[EVIDENCE] = evidence
        if 'reasons' in result:  # from an evaluator of this package
            self._add_limits(result, pred_dicts)
            self._add_usage(result, pred_dicts)
            temperature = self.dataset_cfg['infer_cfg']['inferencer'].get('temperature')
            if intervals := intervals_of_sample(result, is_greedy(self.model_cfg, temperature)):
                result[INTERVALS] = intervals
                result['details'] = result.pop('details')  # stays last
        return result

    def _add_limits(self, result: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds token limits (the answers' and the benchmark's), sampling and use of thoughts to the provenance."""
        published = self.dataset_cfg['infer_cfg']['inferencer'].get(PUBLISHED)
        system_prompt = self.model_cfg.get(SYSTEM_PROMPT)
        limits = {
            MAX_OUT_LEN: limit_of_rows(rows),
            PUBLISHED: published,
            THOUGHTS: thoughts_of_rows(rows),
            SAMPLING: samplings(rows) or None,
            SYSTEM_PROMPT: texts_digest([str(system_prompt)]) if system_prompt else None,
            'wire': None if (wire := self.model_cfg.get('wire', 'chat')) == 'chat' else str(wire),
        }
        result['provenance'].update({name: limit for name, limit in limits.items() if limit is not None})

    def _add_usage(self, result: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds the usage of the answers, if their rows have it, and of a simulator and a judge."""
        usage = summary_of((read_usage(row.get(USAGE)) for row in rows), read_prices(self.model_cfg.get(PRICES))) or {}
        others = [*other_rows(rows), *result.get(USAGE, {}).get(OTHERS, ())]
        if usage or others:
            result[USAGE] = {**usage, **({OTHERS: others} if others else {})}
            if 'details' in result:
                result['details'] = result.pop('details')  # stays last

    def _check_asked(self, test_set: Any, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Returns True if all rows have the digest of their prompt.

        Raises:
            ValueError: The prompt of a row differs from the dataset's present prompt.
        """
        asked = [row.get('prompt_digest') for row in rows]
        template = ICL_PROMPT_TEMPLATES.build(self.dataset_cfg['infer_cfg']['prompt_template']) if any(asked) else None
        if not isinstance(template, ToolEvalConversationTemplate):
            return False
        pairs = enumerate(zip(asked, template.asked_of(test_set), strict=False))
        other = [str(rows[number].get('record_id')) for number, (was, now) in pairs if was not in (None, now)]
        if other:
            raise ValueError(
                f'{len(other)} predictions answer other prompts than the data set has now ({", ".join(other[:5])}): '
                'data, instructions or template have changed since. Restore them, or delete the predictions.'
            )
        return all(asked)

    def _save_results(self, result: Any) -> None:
        file = self._file('results')
        file.parent.mkdir(parents=True, exist_ok=True)
        predictions, before = self._file('predictions'), outdated_path(file)
        files = [predictions] if predictions.exists() else shard_files(predictions)
        origin = origin_of(files, self.model_cfg, self.dataset_cfg)
        if moved := rescored(before, result, origin):
            result = {**result, RESCORED: moved}
            result |= {'details': result.pop('details')} if 'details' in result else {}  # stays last
        write_whole(file, with_origin(to_json(result), origin))
        before.unlink(missing_ok=True)
