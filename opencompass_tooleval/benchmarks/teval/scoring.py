"""Scores answers to T-Eval: one record and one answer in, one :class:`SampleScore` out.

It works in three steps, to encode a subset in one batch: parse all answers, encode all compared texts, score. Native
calls (``instruct`` and ``reason_retrieve_understand_json``) are scored like written ones: name and arguments come from
the call, the thought is the text beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.benchmarks.teval.data import (
    FINISH,
    PARTS,
    CallGold,
    InstructGold,
    PlannedCall,
    Record,
    ReviewGold,
    find_subset,
    native_subset,
    parse_payload,
)
from opencompass_tooleval.benchmarks.teval.reading import Protocol, parse_dict, read_answer, read_native
from opencompass_tooleval.benchmarks.teval.tables import VERSION, VERSIONS
from opencompass_tooleval.core.calls.answer import Answer, why_unread
from opencompass_tooleval.core.calls.one_call import BREAKS_SCHEMA, METHOD, OneCall, one_call
from opencompass_tooleval.core.scoring.refusal import is_refusal, with_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Batchwise, ExactSimilarity, Scorer, Similarity
from opencompass_tooleval.core.text.fullwidth import read_either
from opencompass_tooleval.core.text.reading import Parsed, parse_literal
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, default_cache, locate_encoder

TIE = 1e-5
"""Weights closer than this count as equal: encoders round to about 1e-7."""


def best_matching(weights: NDArray[np.float64], threshold: float, order: int = 0) -> dict[int, int]:
    """Matches rows with columns so that the sum of weights is maximal.

    Args:
        weights: Shape ``(rows, columns)``, in 0-1.
        threshold: Only pairs with a higher weight may match.
        order: Chooses among equally good matchings. 0: that of networkx, for edges in T-Eval's order; 1: one whose
            columns increase with the rows as far as possible; -1: one whose columns do so least.

    Returns:
        Row -> column, with each column at most once.
    """
    rows, columns = np.nonzero(weights > threshold)
    # The sum of products of ranks is largest for sorted ranks (rearrangement inequality).
    nudge = order * TIE / max(1, weights.size)
    graph = nx.Graph()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        # Columns as text, since row 1 and column 1 would be the same node.
        graph.add_edge(row, str(column), weight=float(weights[row, column]) + nudge * row * column)
    # networkx returns (row, column) or (column, row).
    pairs = (sorted(pair, key=lambda node: isinstance(node, str)) for pair in nx.max_weight_matching(graph))
    return {row: int(column) for row, column in pairs}


def is_ambiguous(weights: NDArray[np.float64], threshold: float) -> bool:
    """Tests if the number of matched steps in order depends on rounding.

    This is the case if equally good matchings differ in order, for example if a plan repeats a step, or if sums of
    weights are equal (one API is called twice, and two gold steps have equal arguments). It is also the case if a
    weight equals the threshold.
    """
    if (np.abs(weights - threshold) < TIE).any():
        return True
    edges = weights > threshold
    if (edges.sum(axis=0) <= 1).all() and (edges.sum(axis=1) <= 1).all():
        return False
    runs = {longest_increasing_run(best_matching(weights, threshold, order)) for order in (1, -1)}
    return len(runs) > 1


def longest_increasing_run(matching: dict[int, int]) -> int:
    """Returns the length of the longest subsequence of matched rows with increasing columns; 0 without matches."""
    best: dict[int, int] = {}
    for row in sorted(matching):
        column = matching[row]
        best[column] = 1 + max((length for earlier, length in best.items() if earlier < column), default=0)
    return max(best.values(), default=0)


def f1(precision: float, recall: float) -> float:
    """Returns the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


V2_EPSILON = 1e-5
"""The authors add this to the number of gold arguments before they divide: a perfect answer scores at most 99.999."""

SAME = 1 - 1e-6
"""Minimum cosine of equal texts."""

NAME_WEIGHT = 0.75
ARGS_WEIGHT = 0.25

MAX_STEPS = 100
"""Maximum number of predicted steps to match; the longest gold plan has 20. Precision counts all steps."""

_DOTTED = re.compile(r'(?<!\w)\w+\.\w+')  # the official pattern, anchored: without the anchor it is quadratic
_AROUND_NAME = ' \t\r\n`\'"*.:'
_FORMAT_METRICS = ('json_format_metric', 'parse_rate')
"""Metrics that are 1 if the answer has exactly one call, of an offered tool, whose arguments are an object."""
_OF_TEXT = ('name:', 'args:', 'review:', 'thought:')
"""Areas of the reasons for answers that are parsed as plain text."""

Plan = tuple[PlannedCall, ...]
Values = dict[str, float | None]


def _same(predicted: Any, gold: Any, strict: bool) -> bool:
    """Tests equality; strict scoring distinguishes ``True`` from ``1``."""
    return bool(predicted == gold) and not (strict and isinstance(predicted, bool) != isinstance(gold, bool))


def score_instruct(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes the scores of format and arguments of one call, 0-1, and the reason (T-Eval, App. C.1).

    The metrics of the other format are None.
    """
    values: Values = dict.fromkeys(record.subset.metrics)
    form, exact = f'{record.format}_format_metric', f'{record.format}_args_em_metric'
    if not parsed.ok:
        return {**values, form: 0.0, exact: 0.0}, parsed.reason
    gold, call = cast(InstructGold, record.gold), parsed.value
    named = bool(call['action'] == gold.action)
    absent = [key for key in gold.args if key not in call['args']]
    # in official scoring a missing argument counts as an empty string, and equals an empty gold value
    equal = sum(
        _same(call['args'].get(key, None if protocol.strict else ''), value, protocol.strict)
        and not (protocol.strict and key in absent)
        for key, value in gold.args.items()
    )
    share = (named + equal) / (1 + len(gold.args))
    if share == 1:
        reason = OK
    elif not named:
        reason = 'name:wrong'
    else:
        reason = 'args:missing' if absent else 'args:wrong'
    return {**values, form: 1.0, exact: share}, reason


def show_instruct(record: Record, call: Any) -> tuple[Any, dict[str, Any]]:
    """Returns action and arguments, predicted and gold; the content of the thought is not scored."""
    gold = cast(InstructGold, record.gold)
    parts = ('action', 'args')
    return call and {part: call[part] for part in parts}, {part: getattr(gold, part) for part in parts}


def _ordered(plan: Plan) -> Plan:
    """Returns a plan sorted by id, without a final ``FinishAction``."""
    plan = tuple(sorted(plan, key=lambda step: step.id))
    return plan[:-1] if plan and plan[-1].name == FINISH else plan


def _sides(record: Record, parsed: Parsed) -> tuple[Plan, Plan, int]:
    """Returns the predicted steps to match, the gold steps, and the number of all predicted steps."""
    predicted, gold = _ordered(parsed.value), _ordered(cast(Plan, record.gold))
    return predicted[:MAX_STEPS], gold, len(predicted)


def plan_lists(record: Record, parsed: Parsed) -> tuple[list[str], list[str], list[str], list[str]] | None:
    """Returns predicted names, gold names, predicted args and gold args; None if there is nothing to match."""
    if not parsed.ok:
        return None
    predicted, gold, _ = _sides(record, parsed)
    if not predicted:
        return None
    names = [step.name for step in predicted], [step.name for step in gold]
    args = [step.args for step in predicted], [step.args for step in gold]
    return *names, *args


def _weights(strings: Sequence[list[str]], similarity: Similarity) -> NDArray[np.float64]:
    names, gold_names, args, gold_args = strings
    return NAME_WEIGHT * similarity.matrix(names, gold_names) + ARGS_WEIGHT * similarity.matrix(args, gold_args)


def is_tied(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> bool:
    """Tests if the result depends on rounding, so that :func:`score_plan` must compute like the reference.

    The official code encodes the names and the arguments of each plan as one batch each. The vectors of two equal steps
    then differ in their last bits, which decide the first match. Only the same batches reproduce this.
    """
    strings = None if protocol.strict else plan_lists(record, parsed)
    return strings is not None and is_ambiguous(_weights(strings, similarity), protocol.plan_threshold)


def _plan_reason(matched: int, in_order: int, predicted: int, gold: int) -> str:
    if in_order == predicted == gold:
        return OK
    if not matched:
        return 'plan:nothing_matched'
    if in_order < matched:
        return 'plan:wrong_order'
    if matched == predicted:
        return 'plan:missing_steps'
    return 'plan:extra_steps' if matched == gold else 'plan:wrong_steps'


def score_plan(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes precision, recall, F1 and parse rate of one plan, 0-1, and the reason (T-Eval, App. C.2).

    A plan with only ``FinishAction`` scores 0; the official code fails on it. If :func:`is_tied` is true,
    ``similarity`` must be a :class:`~opencompass_tooleval.core.scoring.scorer.Batchwise`.
    """
    if not parsed.ok:
        return {'precision': 0.0, 'recall': 0.0, 'f1_score': 0.0, 'parse_rate': 0.0}, parsed.reason
    strings = plan_lists(record, parsed)
    if strings is None:
        return {'precision': 0.0, 'recall': 0.0, 'f1_score': 0.0, 'parse_rate': 1.0}, 'plan:only_finish'
    _, gold, count = _sides(record, parsed)
    weights = _weights(strings, similarity)
    matching = best_matching(weights, protocol.plan_threshold, order=1 if protocol.strict else 0)
    in_order = longest_increasing_run(matching)
    correct = in_order if protocol.strict else max(in_order, 1)  # officially at least one step counts
    precision, recall = correct / count, correct / len(gold)
    values: Values = {'precision': precision, 'recall': recall, 'f1_score': f1(precision, recall), 'parse_rate': 1.0}
    return values, _plan_reason(len(matching), in_order, count, len(gold))


def show_plan(record: Record, plan: Any) -> tuple[Any, list[dict[str, str]]]:
    """Returns the scored steps in order, predicted and gold, without ids, which only give the order."""
    plans: tuple[Plan, Plan] = plan or (), cast(Plan, record.gold)
    shown, gold = ([{'name': step.name, 'args': step.args} for step in _ordered(steps)] for steps in plans)
    return shown if plan else None, gold


def _compared(record: Record, parsed: Parsed, protocol: Protocol) -> dict[str, tuple[str, str]]:
    """Returns the parts that are compared by embedding: part -> (predicted, gold)."""
    if not parsed.ok or record.subset.kind not in PARTS:
        return {}
    gold = cast(CallGold, record.gold)
    pairs = {
        'thought': (parsed.value.get('thought'), gold.thought),
        'args': (parsed.value.get('args'), gold.args),
    }
    parts = ('thought', 'args') if protocol.name == 'v1' else ('thought',)
    return {
        part: (str(pairs[part][0]), str(pairs[part][1]))
        for part in parts
        if part in parsed.value and not (protocol.strict and not str(pairs[part][0]).strip())
    }


def retrieved(text: str, name: str, strict: bool) -> bool:
    """Tests if an answer in plain text names the API.

    Official: ``name`` is in the text, and every other ``a.b`` and ``FinishAction`` in it equals ``name``. Strict: the
    text is only the name, at most with quotes, backticks or a full stop.
    """
    if strict:
        return text.strip(_AROUND_NAME) == name
    others = _DOTTED.findall(text) + ([FINISH] if FINISH in text else [])
    return name in text and all(other == name for other in others)


def _share(predicted: Mapping[Any, Any], gold: Mapping[str, Any], epsilon: float) -> float:
    """Returns the share of gold arguments that are present with an equal ``str()``."""
    if not gold:
        return float(not predicted)
    equal = sum(key in predicted and str(predicted[key]) == str(value) for key, value in gold.items())
    return equal / (len(gold) + epsilon)


def equal_args(predicted: Any, gold: Any, strict: bool) -> float:
    """Returns how far arguments are equal (protocol v2), 0-1.

    Args:
        predicted: A dict, or text for ``understand_str``.
        gold: A value of the same kind.
        strict: True to divide by the exact number of arguments, and to parse text as a dict if possible, so that
            ``{"a": 1}`` equals ``{'a': 1}``.
    """
    if isinstance(gold, dict):
        return _share(predicted, gold, 0.0 if strict else V2_EPSILON)
    if strict:
        asked, given = parse_literal(gold), read_either(predicted, parse_dict)
        if isinstance(asked.value, dict) and isinstance(given.value, dict):
            return _share(given.value, asked.value, 0.0)
    return float(predicted.strip("'").strip('"') == gold)


def _call_reason(record: Record, parsed: Parsed, values: Values) -> str:
    if values.get('name', 1) != 1:
        return 'name:wrong'
    args = values.get('args')
    if args is not None and args < SAME - V2_EPSILON:
        predicted, gold = parsed.value['args'], cast(CallGold, record.gold).args
        missing = isinstance(gold, dict) and isinstance(predicted, dict) and any(key not in predicted for key in gold)
        return 'args:missing' if missing else 'args:wrong'
    thought = values.get('thought')
    return 'thought:differs' if thought is not None and thought < SAME else OK


def score_call(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes the metrics of the next thought and call, 0-1, and the reason (T-Eval, App. C.3 to C.5).

    ``call`` answers in JSON with all three parts; ``reason``, ``retrieve`` and ``understand`` in plain text with one.
    """
    values: Values = dict.fromkeys(record.subset.metrics, 0.0)
    if not parsed.ok:
        return values, parsed.reason
    gold = cast(CallGold, record.gold)
    values['parse_rate'] = 1.0
    for part, (predicted, expected) in _compared(record, parsed, protocol).items():
        # In single precision, equal vectors may have a cosine of 1.0000001.
        values[part] = min(1.0, float(similarity.matrix([predicted], [expected])[0, 0]))
    if 'name' in parsed.value:
        name = parsed.value['name']
        right = name == gold.name if record.format == 'json' else retrieved(name, gold.name, protocol.strict)
        values['name'] = float(right)
    if 'args' in parsed.value and protocol.name == 'v2':
        values['args'] = equal_args(parsed.value['args'], gold.args, protocol.strict)
    return values, _call_reason(record, parsed, values)


def show_call(record: Record, call: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the parts that the subset requests, predicted and gold."""
    gold = cast(CallGold, record.gold)
    return call, {part: getattr(gold, part) for part in PARTS[record.subset.kind]}


def score_review(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Returns parse rate and correctness of the choice, 0-1, and the reason (T-Eval, App. C.6)."""
    if not parsed.ok:
        return {'parse_rate': 0.0, 'review_quality': 0.0}, parsed.reason
    right = parsed.value == cast(ReviewGold, record.gold).answer
    return {'parse_rate': 1.0, 'review_quality': float(right)}, OK if right else 'review:wrong'


def show_review(record: Record, choice: Any) -> tuple[Any, str]:
    """Returns the choice and the correct choice; the gold thought was not requested."""
    return choice, cast(ReviewGold, record.gold).answer


_SCORERS: dict[
    str,
    tuple[
        Callable[[Record, Parsed, Protocol, Similarity], tuple[Values, str]],
        Callable[[Record, Any], tuple[Any, Any]],
    ],
] = {
    **dict.fromkeys(PARTS, (score_call, show_call)),
    'instruct': (score_instruct, show_instruct),
    'plan': (score_plan, show_plan),
    'review': (score_review, show_review),
}
"""Kind of subset -> its scorer, and a function that returns the value parsed from an answer (or None), and the gold
answer in the same format."""


def compared_texts(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[str]:
    """Yields the texts of an answer and its gold that are compared by embedding."""
    is_plan = record.subset.kind == 'plan'
    for texts in (plan_lists(record, parsed) or ()) if is_plan else _compared(record, parsed, protocol).values():
        yield from texts


def _score(record: Record, why: str, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> SampleScore:
    score, show = _SCORERS[record.subset.kind]
    values, reason = score(record, parsed, protocol, similarity)
    values = {metric: values[metric] for metric in record.subset.metrics}
    shown, gold = show(record, parsed.value)
    return SampleScore(record.id, values, reason if reason == OK else why or reason, shown, parsed.parse_method, gold)


def score_answer(
    record: Record, answer: Answer, protocol: Protocol, similarity: Similarity | None = None
) -> SampleScore:
    """Scores one postprocessed answer (see :func:`score_answers`)."""
    return score_answers([record], [answer], protocol, similarity or ExactSimilarity())[0]


def score_answers(
    records: Sequence[Record],
    answers: Sequence[Answer],
    protocol: Protocol,
    similarity: Similarity | None = None,
    progress: Callable[[Sequence[Parsed]], Iterable[Parsed]] = iter,
) -> list[SampleScore]:
    """Scores a subset.

    Args:
        records: The records, all of one subset.
        answers: Their postprocessed answers, in the same order. An answer with the reason ``infra:...`` scores 0.
        protocol: The rules.
        similarity: Needed if ``protocol.needs_encoder(subset)``.
        progress: Wraps the loop over the samples, for a progress bar.

    Returns:
        One score per record, in the same order.

    Raises:
        ValueError: The numbers of records and answers differ, or the encoder is missing.
    """
    if len(records) != len(answers):
        raise ValueError(f'{len(records)} records, but {len(answers)} answers')
    readings = [read_answer(record, answer, protocol) for record, answer in zip(records, answers, strict=True)]
    scores = score_readings(records, [*map(why_unread, answers)], readings, protocol, similarity, progress)
    return [_with_refusal(score, answer) for score, answer in zip(scores, answers, strict=True)]


def _with_refusal(score: SampleScore, answer: Answer) -> SampleScore:
    """Gives an answer that declines the reason of a refusal, unless the gold thought itself declines.

    Subsets of plain text parse any text, so a refusal may have any reason of :data:`_OF_TEXT` there.
    """
    if score.parse_method != 'text':
        return with_refusal(score, answer)
    thought = score.gold.get('thought') if isinstance(score.gold, dict) else None
    return score if isinstance(thought, str) and is_refusal(thought) else with_refusal(score, answer, _OF_TEXT)


def score_readings(
    records: Sequence[Record],
    whys: Sequence[str],
    readings: Sequence[Parsed],
    protocol: Protocol,
    similarity: Similarity | None = None,
    progress: Callable[[Sequence[Parsed]], Iterable[Parsed]] = iter,
) -> list[SampleScore]:
    """Scores parsed answers, in the format of :func:`read_answer`.

    Args:
        records: The records, all of one subset.
        whys: For each answer, why it is unreadable; ``''`` if it is readable. An incorrect sample gets this reason.
        readings: The parsed value of each answer.
        protocol: The rules.
        similarity: Needed if ``protocol.needs_encoder(subset)``.
        progress: Wraps the loop over the samples, for a progress bar.
    """
    if similarity is None:
        subset = next((record.subset for record in records if protocol.needs_encoder(record.subset)), None)
        if subset is not None:
            raise ValueError(f'{subset.name} under protocol {protocol.name} needs a sentence encoder')
        similarity = ExactSimilarity()
    similarity.prepare(
        text
        for record, parsed in zip(records, readings, strict=True)
        for text in compared_texts(record, parsed, protocol)
    )
    tied = [
        record.subset.kind == 'plan' and is_tied(record, parsed, protocol, similarity)
        for record, parsed in zip(records, readings, strict=True)
    ]
    similarity.prepare_batches(
        strings
        for record, parsed, tie in zip(records, readings, tied, strict=True)
        if tie
        for strings in plan_lists(record, parsed) or ()
    )
    batchwise = Batchwise(similarity)
    return [
        _score(record, why, parsed, protocol, batchwise if tie else similarity)
        for record, why, parsed, tie in zip(records, whys, progress(readings), tied, strict=True)
    ]


def score_native_answers(
    records: Sequence[Record],
    answers: Sequence[Answer],
    protocol: Protocol,
    similarity: Similarity | None = None,
    progress: Callable[[Sequence[Parsed]], Iterable[Parsed]] = iter,
) -> list[SampleScore]:
    """Scores native calls.

    Args:
        records: The records, all of one subset.
        answers: Their answers with ``calls``, in the same order.
        protocol: The rules.
        similarity: The encoder, for :func:`~opencompass_tooleval.benchmarks.teval.scoring.score_answers`.
        progress: Wraps the loop over the samples, for a progress bar.

    Returns:
        One score per record, in the same order. If an answer has several calls, the first is scored; the format metric
        (``json_format_metric``, ``parse_rate``) is 1 only for exactly one call, of an offered tool, with an object.
    """
    ones = [one_call(answer.calls, record.schemas) for record, answer in zip(records, answers, strict=True)]
    readings = [read_native(record, answer, one) for record, answer, one in zip(records, answers, ones, strict=True)]
    scores = score_readings(records, [''] * len(records), readings, protocol, similarity, progress)
    return [
        with_refusal(_with_fault(score, one), answer) for score, one, answer in zip(scores, ones, answers, strict=True)
    ]


def _with_fault(score: SampleScore, one: OneCall) -> SampleScore:
    """Adds an error of the answer that the parts of its first call do not show."""
    if one.call is None or not one.reason:
        return score
    if one.reason == BREAKS_SCHEMA:  # some gold calls violate their schemas, so this alone costs no point
        return replace(score, reason=one.reason) if score.reason.startswith('args:') else score
    is_unread = not isinstance(one.call.arguments, dict)
    values = {
        metric: 0.0 if metric in _FORMAT_METRICS or (is_unread and metric == 'args') else value
        for metric, value in score.values.items()
    }
    return replace(score, values=values, reason=one.reason)


class TEvalScorer(Scorer):
    """Scores one subset.

    Args:
        subset: Name of the subset, such as ``plan_json``.
        version: Data version.
        language: ``EN`` or ``ZH``.
        protocol: ``v1`` or ``v2``; default: the data version's.
        scoring: ``official`` or ``strict`` (see docs/explanation/teval.md).
        encoder: ``offline``, a folder or a hub id; default ``$TOOLEVAL_ENCODER`` or the official encoder. It is located
            here, and loaded when it is used.

    Raises:
        EncoderMissingError: An encoder is needed but is not on this machine.
    """

    find_subset = staticmethod(find_subset)
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter
    """Wraps the loop over the samples, for a progress bar."""

    def __init__(
        self,
        subset: str,
        version: str,
        language: str,
        protocol: str | None = None,
        scoring: str = 'official',
        encoder: str | None = None,
    ) -> None:
        self.subset, self.data_version, self.language = self.find_subset(subset), version, language
        self.rules = Protocol(protocol or VERSIONS[version], scoring)
        needed = self.rules.needs_encoder(self.subset)
        self.encoder = locate_encoder(choose_encoder(encoder, language)) if needed else None

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {
            'benchmark': 'teval',
            'subset': self.subset.name,
            'language': self.language,
            'data_version': self.data_version,
            'protocol': self.rules.name,
            'scoring': self.rules.scoring,
            'encoder': self.encoder.name if self.encoder else None,
            'version': VERSION,
        }

    def read_record(self, payload: str) -> Any:
        """Parses a record from the data set's column ``record``."""
        return parse_payload(payload, self.subset.name)

    def query_of(self, record: Any) -> str:
        """Returns the query of a record, which its steps share."""
        query: str = record.query
        return query

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores answers against records."""
        return score_answers(records, answers, self.rules, self._similarity(), self.progress)

    def _similarity(self) -> Similarity | None:
        return shared_encoder(self.encoder, default_cache()) if self.encoder else None


class TEvalCallsScorer(TEvalScorer):
    """Scores native calls in a subset whose answers are calls."""

    find_subset = staticmethod(native_subset)

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {**super().provenance(), 'method': METHOD}

    def read_record(self, payload: str) -> Any:
        """Parses a record from the data set's column ``record``."""
        return parse_payload(payload, self.subset.name, native=True)

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores native calls against records."""
        return score_native_answers(records, answers, self.rules, self._similarity(), self.progress)
