"""Scores answers to UltraTool: one record and one answer in, one :class:`StepsScore` out; and aggregates them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from opencompass_tooleval.benchmarks.ultratool.data import (
    GoldStep,
    Record,
    Subset,
    find_subset,
    parse_payload,
    parse_record,
    read_rows,
    step_number,
)
from opencompass_tooleval.benchmarks.ultratool.judge import (
    HIGHEST,
    JUDGED_KINDS,
    LOWEST,
    NOTHING_TO_JUDGE,
    Judged,
    Scores,
    complete,
    created_tools,
    dimensions,
    items_to_judge,
    not_judged,
    parse_scores,
    score_judged,
)
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol, is_json, read, without_thoughts
from opencompass_tooleval.benchmarks.ultratool.score_steps import (
    ARGS_EXTRA,
    ARGS_HALLUCINATED,
    ARGS_MISSING,
    ARGS_NO_GOLD,
    ARGS_WRONG,
    STEP_MISSING,
    UNREADABLE,
    WRONG_FLAG,
    WRONG_TOOL,
    ArgumentScore,
    SampleResult,
    StepScore,
    StepsScore,
    error_type,
    item_of,
    other_steps,
)
from opencompass_tooleval.benchmarks.ultratool.tables import VERSION
from opencompass_tooleval.core.calls.answer import Answer, as_answer, why_unread
from opencompass_tooleval.core.calls.one_call import NOT_AN_OBJECT, UNKNOWN_TOOL
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate, over_steps
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import INFRA, OK
from opencompass_tooleval.core.text.jsonable import TOO_LONG, answer_digest, bounded_text
from opencompass_tooleval.core.text.reading import Parsed, unread
from opencompass_tooleval.judging.grading import GradedScorer, Item, ItemGrading, item_digests, matched_items
from opencompass_tooleval.judging.judgement import MISSING, UNJUDGED, Unjudged, Unread, by_record, read_judgement
from opencompass_tooleval.judging.judgement_files import read_judgements
from opencompass_tooleval.work_dir.recorded import read_recorded_row


def flag(item: Mapping[str, Any]) -> int | None:
    """Returns ``int(tool)``; None if ``tool`` is missing or not a number."""
    try:
        return int(item['tool'])
    # {"tool": 1e999} parses as inf, and int(inf) raises OverflowError.
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _score_flag(record: Record, step: GoldStep, items: Sequence[Any], protocol: Protocol) -> StepScore:
    """Scores the flag of a step, 0 or 1: awareness (UltraTool, sections 3.3 and 3.4).

    Official: the first readable item with its number counts. Strict: the first one, readable or not.
    """
    item, seen = item_of(items, step, protocol, lambda item: protocol.strict or flag(item) is not None)
    predicted = None if item is None else flag(item)
    gold = int(step.tool)
    if predicted == gold:
        return StepScore(step.number, {'local_accuracy': 1.0}, OK, predicted, gold)
    reason = WRONG_FLAG if predicted is not None else UNREADABLE if seen else STEP_MISSING
    return StepScore(step.number, {'local_accuracy': 0.0}, reason, predicted, gold, (reason,))


def wrong_name(record: Record, name: Any) -> str:
    """Returns the reason for a wrong name: another tool of the toolset, or an unknown tool."""
    return WRONG_TOOL if any(tool.name == name for tool in record.toolset) else UNKNOWN_TOOL


def _score_name(record: Record, step: GoldStep, items: Sequence[Any], protocol: Protocol) -> StepScore:
    """Scores the name of the tool of a step: selection (section 3.4)."""
    item, seen = item_of(items, step, protocol, lambda item: protocol.strict or 'tool' in item)
    predicted = None if item is None else item.get('tool')
    if isinstance(predicted, str):
        predicted = predicted.replace('\\_', '_')  # Markdown, which the published scorer also unescapes
    if predicted == step.tool:
        return StepScore(step.number, {'local_accuracy': 1.0}, OK, predicted, step.tool)
    reason = STEP_MISSING if not seen else UNREADABLE
    if isinstance(predicted, str):
        reason = wrong_name(record, predicted)
    return StepScore(step.number, {'local_accuracy': 0.0}, reason, predicted, step.tool, (reason,))


def similarity(predicted: Any, gold: Any) -> float:
    """Returns 1 - Levenshtein distance / longer length, of ``str()`` of both values.

    If the gold value is empty, returns 1 for an empty prediction, else 0.
    """
    if gold in ('', [], {}):
        return float(predicted in ('', [], {}))
    left, right = str(predicted), str(gold)
    return 1 - Levenshtein.distance(left, right) / max(len(left), len(right))


def _unescaped(value: Any) -> Any:
    """Replaces ``\\_``, Markdown's escaped underscore, by ``_`` in a text."""
    return value.replace('\\_', '_') if isinstance(value, str) else value


def _compared(param: Mapping[Any, Any], protocol: Protocol) -> Mapping[Any, Any]:
    """Returns the arguments as the published scorer compares them; of equal names, the first counts."""
    if protocol.strict:
        return param
    compared: dict[Any, Any] = {}
    for name, value in param.items():
        compared.setdefault(_unescaped(name), _unescaped(value))
    return compared


def _arguments(record: Record, step: GoldStep, param: Mapping[Any, Any]) -> Iterator[ArgumentScore]:
    gold = step.param or {}
    for name, value in gold.items():
        if name not in param:
            yield ArgumentScore(name, ARGS_MISSING, 0.0, None, value)
            continue
        alike = similarity(param[name], value)
        yield ArgumentScore(name, OK if alike == 1 else ARGS_WRONG, alike, param[name], value)
    documented = next((tool.properties for tool in record.toolset if tool.name == step.tool), None)
    for name, value in param.items():
        if name not in gold:
            extra = documented is None or name in documented
            yield ArgumentScore(str(name), ARGS_EXTRA if extra else ARGS_HALLUCINATED, None, value)


def _tool_codes(record: Record, step: GoldStep, item: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the code of a wrong tool, which is only counted: the question names the tool, so it costs no point."""
    tool = item.get('tool')
    return (wrong_name(record, tool),) if isinstance(tool, str) and tool != step.tool else ()


def _score_arguments(record: Record, step: GoldStep, items: Sequence[Any], protocol: Protocol) -> StepScore:
    """Scores the arguments of the call of a step: usage (section 3.4), the mean over its gold arguments.

    A step without gold arguments scores 0 in official scoring; in strict scoring 1 if the prediction has none too.
    """
    item, seen = item_of(items, step, protocol, lambda item: protocol.strict or 'param' in item)
    if item is None:
        reason = UNREADABLE if seen else STEP_MISSING
        return StepScore(step.number, {'local_levenshtein': 0.0}, reason, None, step.param, (reason,))
    param = item.get('param')
    codes = _tool_codes(record, step, item)
    if not isinstance(param, dict):
        return StepScore(
            step.number, {'local_levenshtein': 0.0}, NOT_AN_OBJECT, param, step.param, (*codes, NOT_AN_OBJECT)
        )
    arguments = tuple(_arguments(record, step, _compared(param, protocol)))
    codes += tuple(argument.reason for argument in arguments if argument.reason != OK)
    alike = [argument.value for argument in arguments if argument.value is not None]
    if not alike:
        value = float(protocol.strict and not param)
        reason = OK if value else ARGS_NO_GOLD
        return StepScore(step.number, {'local_levenshtein': value}, reason, param, step.param, codes, arguments)
    value = sum(alike) / len(alike)
    reason = next((argument.reason for argument in arguments if argument.reason != OK), OK) if value < 1 else OK
    return StepScore(step.number, {'local_levenshtein': value}, reason, param, step.param, codes, arguments)


_STEP_SCORERS: Mapping[str, Callable[[Record, GoldStep, Sequence[Any], Protocol], StepScore]] = {
    'awareness': _score_flag,
    'selection': _score_name,
    'usage': _score_arguments,
}


def _score_steps(record: Record, items: Sequence[Any], protocol: Protocol) -> SampleResult:
    """Scores the items of an answer, step by step. A step without a readable item is wrong."""
    steps = tuple(_STEP_SCORERS[record.subset.kind](record, step, items, protocol) for step in record.reference)
    (local,) = steps[0].values
    hits = tuple(float(step.values[local] or 0) for step in steps)
    return SampleResult({'global_accuracy': float(all(hits)), local: sum(hits) / len(hits)}, steps, {local: hits})


def _why_unread(answer: Any) -> str:
    """Returns why an answer or its text has nothing to parse; ``''`` if it has, and for a parsed list."""
    return why_unread(as_answer(answer)) if isinstance(answer, (Answer, str)) else ''


def read_answer(subset: Subset, answer: Any, protocol: Protocol) -> Parsed:
    """Parses an answer; never raises."""
    reason = _why_unread(answer)
    if reason.startswith(INFRA) or reason == TOO_LONG:
        return unread(reason)
    return read(answer, subset.reading, protocol)


def _gold(record: Record) -> Any:
    """Returns the gold plan, or number of a step -> its gold flag, name, arguments or tool."""
    if record.subset.kind == 'planning':
        return record.plan
    gold_of = {'awareness': lambda step: int(step.tool), 'usage': lambda step: step.param}
    return {step.number: gold_of.get(record.subset.kind, lambda step: step.tool)(step) for step in record.reference}


def score_answer(
    record: Record, answer: Any, protocol: Protocol, judgements: Sequence[Judged] | None = None
) -> StepsScore:
    """Scores one answer.

    Args:
        record: The record.
        answer: The answer's text, or a parsed list. An ``Answer`` with an ``infra:`` reason scores 0.
        protocol: The rules.
        judgements: For planning and tool creation: the judgements of this record; only those of this answer count
            (:func:`~opencompass_tooleval.judging.grading.matched_items`). None without a judge: the judged scores are
            then None.
    """
    parsed, kind = read_answer(record.subset, answer, protocol), record.subset.kind
    items = parsed.value if isinstance(parsed.value, list) else ()
    if kind not in JUDGED_KINDS:
        outcome = _score_steps(record, items, protocol)
    elif judgements is None:
        outcome = not_judged(record, parsed, protocol)
    else:
        judged = matched_items(items_to_judge(record, parsed, protocol), judgements)
        outcome = score_judged(record.subset, judged, protocol)
    shown = parsed.value
    if kind == 'creation' and parsed.ok:
        shown = created_tools(record, items, protocol)
    elif kind != 'planning' and parsed.ok:
        shown = {step.number: step.predicted for step in outcome.steps if step.predicted is not None}
    rates = {'json_rate': float(parsed.ok), 'json_rate_unrepaired': float(is_json(answer))}
    score = StepsScore(
        id=record.id,
        values={metric: {**outcome.values, **rates}[metric] for metric in record.subset.metrics},
        reason=OK if outcome.reason == OK else _why_unread(answer) or parsed.reason or outcome.reason,
        parsed=shown,
        parse_method=parsed.parse_method,
        gold=_gold(record),
        steps=outcome.steps,
        others=tuple(other_steps(record, items, protocol)),
        flat=outcome.flat,
        domain=record.domain,
    )
    return with_refusal(score, answer) if isinstance(answer, (Answer, str)) else score


def score_answers(records: Sequence[Record], answers: Sequence[Any], protocol: Protocol) -> list[StepsScore]:
    """Scores a subset without a judge: one score per record, in the same order (see :func:`score_answer`).

    Raises:
        ValueError: The numbers of records and answers differ.
    """
    if len(records) != len(answers):
        raise ValueError(f'{len(records)} records, but {len(answers)} answers')
    return [score_answer(record, answer, protocol) for record, answer in zip(records, answers, strict=True)]


def score_judgements(
    subset: Subset, judgements: Sequence[Judged], protocol: Protocol, records: Sequence[Record] | None = None
) -> list[StepsScore]:
    """Scores judgements without answers: the JSON rates are None.

    Args:
        subset: Planning or tool creation.
        judgements: The judgements, including ``missing`` ones.
        protocol: The rules.
        records: The records, if known: each is scored, in order, and an item without a judgement is ``unjudged``. By
            default the records that the judgements name.

    Raises:
        ValueError: A judgement is not for any of the records.
    """
    grouped = by_record(judgements, [one.id for one in (judgements if records is None else records)])
    record_of = {record.id: record for record in records or ()}
    scores = []
    for record_id, judged in grouped.items():
        record = record_of.get(record_id)
        outcome = score_judged(subset, complete(record, judged) if record else judged, protocol)
        scores.append(
            StepsScore(
                id=record_id,
                values={metric: outcome.values.get(metric) for metric in subset.metrics},
                reason=outcome.reason,
                parse_method='judgements',
                gold=_gold(record) if record else None,
                steps=outcome.steps,
                flat=outcome.flat,
                domain=record.domain if record else '',
            )
        )
    return scores


def aggregate_scores(scores: Sequence[StepsScore], metrics: Sequence[str]) -> Aggregate:
    """Aggregates scores; metrics over steps are flat means over all steps of all samples, as in the paper.

    Steps of one sample are correlated, so the error is that of a ratio of sums over samples.

    Raises:
        ValueError: No sample is given, or a sample lacks a metric.
    """
    flat = [metric for metric in metrics if any(metric in score.flat for score in scores)]
    return over_steps(
        aggregate(scores, metrics),
        flat,
        lambda metric: ((score.cluster, score.flat.get(metric, ())) for score in scores),
    )


def _ordered(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def breakdown(scores: Sequence[StepsScore], metrics: Sequence[str]) -> dict[str, Any]:
    """Returns a result's parts other than its metrics, as JSON values.

    Returns:
        ``steps`` (number of gold steps), ``domains`` (domain -> ``samples`` and each metric), ``codes`` (code ->
        number, over steps, arguments and superfluous items), ``error_types`` (the paper's five types -> number),
        ``parse_methods`` (parse method -> samples) and ``unjudged`` (number).
    """
    codes = Counter(code for score in scores for code in score.codes().elements())
    types = Counter(name for code in codes.elements() if (name := error_type(code)))
    by_domain: dict[str, list[StepsScore]] = {}
    for score in scores:
        by_domain.setdefault(score.domain or 'unknown', []).append(score)
    domains = {
        domain: {'samples': len(scores_of_domain), **aggregate_scores(scores_of_domain, metrics).metrics}
        for domain, scores_of_domain in sorted(by_domain.items())
    }
    return {
        'steps': sum(len(score.steps) for score in scores),
        'domains': {} if list(domains) == ['unknown'] else domains,
        'codes': _ordered(codes),
        'error_types': _ordered(types),
        'parse_methods': _ordered(Counter(score.parse_method for score in scores)),
        'unjudged': codes[UNJUDGED],
    }


def _read_scores(names: Sequence[str], row: Mapping[str, Any]) -> Scores | Unread:
    """Parses the judge's scores in one of our rows."""
    scores, why = row.get('scores'), row.get('why')
    if not isinstance(scores, dict) or any(
        isinstance(scores.get(name), bool) or not isinstance(scores.get(name), (int, float)) for name in names
    ):
        raise Fault(f"'scores' needs numbers for {', '.join(names)}")
    outside = next((name for name in names if not LOWEST <= scores[name] <= HIGHEST), None)
    if outside:
        return Unread(f'range:{outside}')
    reasons = {name: bounded_text(why[name]) for name in names if why.get(name)} if isinstance(why, dict) else {}
    return Scores({name: float(scores[name]) for name in names}, reasons)


def _content(steps: Any, reference: Any) -> str:
    """Returns text that identifies a record of tool creation; gold steps alone are not unique (39 pairs are equal)."""
    return json.dumps([steps, reference], sort_keys=True, ensure_ascii=False)


class _Published:
    """Parses the authors' rows of judgements, one after the other.

    They contain the judged row: ``{"data": ROW, "eval": [{"准确性分数": 8, ...}, ...]}`` for a plan,
    ``{"data": ROW, "step": STEP, "eval": [...]}`` for a created tool (``eval/tool_creation_eval.json``). ``ROW`` has
    record and answer as in the authors' files of answers; for a created tool also ``golden``, the gold steps.

    Args:
        grading: The answers to score, with their records if these are known.
    """

    def __init__(self, grading: ScoresGrading) -> None:
        self._grading, self._known = grading, bool(grading.records)
        self._by_id = {record.id: record for record in grading.records}
        self._by_content = {
            _content(record.raw.get('input'), record.raw.get('reference')): record.id for record in grading.records
        }
        self._digests: dict[tuple[str, str], dict[str, str]] = {}
        self._gold_steps: dict[str, list[str]] = {}

    def judged(self, number: str, row: Mapping[str, Any]) -> Judged:
        """Returns the judgement of a row.

        One published plan has 0 in six dimensions, outside the scale; Table 4 and official scoring count it.
        """
        data, step, record_id = row.get('data'), '', number
        if self._grading.subset.kind == 'creation':
            step = step_number(row.get('step')) or ''
            if not step or not isinstance(data, dict):
                raise Fault("the row of a created tool needs 'data' and the text of its 'step'")
            record_id = self._record_id(data)
        verdict = parse_scores(row['eval'], self._grading.subset.task, LOWEST if self._grading.rules.strict else 0)
        return Judged(record_id, step, answer_digest=self._digest(record_id, step, data)).with_verdict(verdict)

    def _record_id(self, data: Mapping[str, Any]) -> str:
        """Returns the record of a created tool, by its content; without known records, its index in the file."""
        row = read_recorded_row(data)
        raw = row.record if row and isinstance(row.record, dict) else {}
        reference = raw.get('reference', data.get('golden'))
        content = _content(raw.get('input'), reference)
        if self._known and content not in self._by_content:
            raise Fault('it judges a record that is not in the data')
        record_id = self._by_content.setdefault(content, str(len(self._by_content)))
        if record_id not in self._gold_steps:
            texts = [item.get('step') for item in reference or () if isinstance(item, dict)]
            self._gold_steps[record_id] = [step for text in texts if (step := step_number(text))]
        return record_id

    def _digest(self, record_id: str, step: str, data: Any) -> str:
        """Returns the digest of the judged answer, if the record is known and the row contains the answer."""
        row = read_recorded_row(data)
        record = self._by_id.get(record_id)
        if record is None and row is not None and self._grading.carried:
            with suppress(Fault):
                record = parse_record(record_id, row.record, self._grading.subset, 'zh')
                self._by_id[record_id] = record
        if row is None or record is None or not isinstance(row.answer, (str, list)):
            return ''
        key = record_id, str(row.answer)
        if key not in self._digests:
            items = self._grading.items_of(record, without_thoughts(row.answer))
            self._digests[key] = item_digests(items)
        return self._digests[key].get(step, answer_digest(None))

    def missing(self, judgements: Sequence[Judged]) -> Iterator[Judged]:
        """Yields gold steps without a row, for records in the file, since the authors judge every existing tool."""
        steps = {(judged.id, judged.step) for judged in judgements}
        for record_id, numbers in self._gold_steps.items():
            yield from (
                Judged(record_id, number, MISSING)
                for number in dict.fromkeys(numbers)
                if (record_id, number) not in steps
            )


@dataclass
class ScoresGrading(ItemGrading[Record, Scores, StepsScore]):
    """Grading of plans or created tools, with scores from a judge.

    Our files of judgements (:mod:`~opencompass_tooleval.judging.judgement_files`) have ``{"scores", "why"}`` for each
    judged item, and a line for every gold step without a created tool (``missing``), so that a file can be scored
    alone. Older lines lack ``why``. Several runs of a data set may share a file.

    Attributes:
        records: The records; empty if unknown. The authors' rows of created tools have no record number: their content
            identifies them, and without records they are numbered in order.
        answers: The answers.
        subset: Planning or tool creation.
        rules: Rules for parsing and scoring answers.
        carried: True to take missing records from the authors' rows, so that their judgements identify the judged
            answers.
    """

    subset: Subset
    rules: Protocol
    carried: bool = False

    def read(self, file: Path) -> list[Judged]:
        """Reads judgements, ours or the authors', from JSON lines.

        Raises:
            DataError: The file is missing or damaged, in another format, or judges an item twice.
        """
        published, names = _Published(self), dimensions(self.subset)

        def read_row(number: str, row: Mapping[str, Any]) -> Judged:
            if not row.keys() & {'scores', 'status', 'eval'}:
                raise Fault("the row has neither 'scores' nor 'eval'")
            if 'eval' in row:
                return published.judged(number, row)
            return read_judgement(number, row, partial(_read_scores, names))

        judgements = read_judgements(file, read_rows(file, ''), read_row)
        return [*judgements, *published.missing(judgements)]

    def members(self, found: Scores) -> dict[str, Any]:
        """Converts scores to members of a row."""
        return found.to_row()

    def items_of(self, record: Record, answer: Any) -> Iterator[Item[Scores]]:
        """Yields the plan in an answer, or the created tool for each gold step."""
        return items_to_judge(record, read_answer(self.subset, answer, self.rules), self.rules)

    def score_answer(self, record: Record, answer: Any, judgements: Sequence[Judged]) -> StepsScore:
        """Scores an answer."""
        return score_answer(record, answer, self.rules, judgements)

    def opinions(self, score: StepsScore) -> Iterator[Unjudged | None]:
        """Yields None for each judged plan or created tool, or why its judgement is missing."""
        for step in score.steps:
            if step.reason not in NOTHING_TO_JUDGE:
                where = f'record {score.id}' + (f', step {step.number}' if step.number else '')
                yield Unjudged(where, step.fault) if step.reason == UNJUDGED else None


class UltraToolScorer(GradedScorer):
    """Scores one task.

    Args:
        subset: Row of the table, such as ``tool_usage``.
        language: ``zh`` or ``en``.
        rules: The rules.
        prompt_style: The prompt style of the answers; None if unknown.
    """

    def __init__(self, subset: str, language: str, rules: Protocol, prompt_style: str | None) -> None:
        self.subset, self.language = find_subset(subset), language
        self.rules, self.prompt_style = rules, prompt_style
        self.is_graded = self.subset.kind in JUDGED_KINDS
        self._rebuilt = False
        self._golds: set[str] = set()

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {
            'benchmark': 'ultratool',
            'subset': self.subset.name,
            'language': self.language,
            'scoring': self.rules.scoring,
            'prompt_style': self.prompt_style,
            'list_choice': self.rules.list_choice,
            'rebuilt': self._rebuilt,
            'gold': ', '.join(sorted(self._golds)) or self.rules.gold,
            'version': VERSION,
        }

    @property
    def can_score_again(self) -> bool:
        """False for tasks that a judge grades."""
        return not self.is_graded

    def total(self, scores: Sequence[StepsScore]) -> Aggregate:
        """Aggregates samples; metrics over steps are means over all steps."""
        return aggregate_scores(scores, self.metrics)

    def breakdown(self, scores: Sequence[StepsScore]) -> dict[str, Any]:
        """Returns the result's parts other than its metrics."""
        return breakdown(scores, self.metrics)

    def read_record(self, payload: str) -> Record:
        """Parses a record from the data set's column ``record``."""
        return parse_payload(payload, self.subset.name)

    def query_of(self, record: Record) -> str:
        """Returns the row number of a record: row i has the same query in all tasks and both languages."""
        return f'ultratool/{record.id}'

    def score_records(self, records: Sequence[Record], answers: Sequence[Any]) -> Sequence[StepsScore]:
        """Scores answers against records; an answer may be a list that the authors' script parsed."""
        self._rebuilt = self._rebuilt or any(record.rebuilt for record in records)
        self._golds.update(record.gold for record in records)
        visible = list(map(without_thoughts, answers))
        if not self.is_graded:
            return score_answers(records, visible, self.rules)
        grading = ScoresGrading(records, visible, self.subset, self.rules)
        return self.graded(grading, f'{self.subset.task}-{self.language}')
