"""Scores paths: one record and one answer in, one :class:`PathScore` out (EasyTool, Sections 5.1 and 5.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from opencompass_tooleval.benchmarks.restbench.data import Inventory, Record, find_subset, normalise, parse_payload
from opencompass_tooleval.benchmarks.restbench.reading import ChosenPath, read_calls, read_choices, read_path
from opencompass_tooleval.benchmarks.restbench.tables import VERSION
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.one_call import UNKNOWN_TOOL, call_fault
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.core.text.reading import Parsed

_inventory = lru_cache(maxsize=8)(Inventory)


@dataclass(frozen=True)
class PathScore(SampleScore):
    """The score of one answer; ``parsed`` is the path as tool names; unknown steps stay as they are.

    Attributes:
        as_written: The steps as the answer writes them, one for each of ``parsed``.
        unknown: Steps that are not tools.
        rules: Corrections that were needed to parse the steps (:class:`~.data.PathStep`,
            :class:`~.reading.ChosenPath`), in order of first use.
    """

    as_written: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample."""
        more = {'as_written': list(self.as_written), 'unknown_tools': list(self.unknown), 'rules': list(self.rules)}
        return {**super().to_detail(), **to_jsonable(more)}


def is_subsequence(gold: Sequence[str], path: Sequence[str]) -> bool:
    """Tests if ``gold`` is a subsequence of ``path``."""
    rest = iter(path)
    return all(any(step == other for other in rest) for step in gold)


def score_answer(record: Record, answer: Any) -> PathScore:
    """Scores one answer.

    Args:
        record: The record.
        answer: The answer's text, or a parsed list. An ``Answer`` with an ``infra:`` reason scores 0.

    Returns:
        ``correct_path_rate``: 1 if the gold path is a subsequence of the answered path. ``tool_name_error_rate``: 1 if
        at least one step is not a tool (lower is better). An unreadable answer scores 0 in both. If the record has
        ``ids``, steps are numbers.
    """
    if record.ids:
        chosen = read_choices(answer, dict(zip(record.ids, record.tools, strict=True)))
        score = _path_score(record, chosen, chosen.path, chosen.path, chosen.unknown, chosen.rules)
    else:
        score = _score_path(record, read_path(answer))
    return with_refusal(score, answer) if isinstance(answer, (Answer, str)) else score


def _score_path(record: Record, read: Parsed) -> PathScore:
    """Scores a path of step texts."""
    texts: tuple[str, ...] = tuple(read.value or ())
    steps = [normalise(text) for text in texts]
    tools = [_inventory(record.tools).find(step) for step in steps]
    # A published gold step may not be a tool (see errata); then only an equal text is the same step.
    path = [text if text in record.path else tool or text for text, tool in zip(texts, tools, strict=True)]
    unknown = [text for text, tool in zip(texts, tools, strict=True) if tool is None]
    return _path_score(record, read, path, texts, unknown, [rule for step in steps for rule in step.rules])


def _path_score(
    record: Record,
    read: Parsed | ChosenPath,
    path: Sequence[str],
    as_written: tuple[str, ...],
    unknown: Sequence[str],
    rules: Sequence[str],
) -> PathScore:
    right = not read.reason and is_subsequence(record.path, path)
    reason = read.reason or (UNKNOWN_TOOL if unknown else '')
    return PathScore(
        id=record.id,
        values={'correct_path_rate': float(right), 'tool_name_error_rate': float(bool(unknown))},
        reason=reason or (OK if right else _path_reason(record, path)),
        parsed=None if read.reason else list(path),
        parse_method=read.parse_method,
        gold=list(record.path),
        as_written=as_written,
        unknown=tuple(unknown),
        rules=tuple(dict.fromkeys(rules)),
    )


def _path_reason(record: Record, path: Sequence[str]) -> str:
    if is_subsequence(record.repaired, path):
        return 'gold:erratum'
    return 'calls:missing' if Counter(record.path) - Counter(path) else 'calls:order'


def score_calls(record: Record, answer: Answer, tools: Sequence[ToolSchema]) -> PathScore:
    """Scores the path of an answer's native calls like a written path in :func:`score_answer`.

    Args:
        record: The record.
        answer: The answer with its calls; its text is ignored.
        tools: The offered tools.

    Returns:
        The score of the names alone. If the path is correct, the reason reports call arguments that are not JSON or
        violate the schema.
    """
    score = _score_path(record, read_calls(answer))
    if score.reason != OK:
        return with_refusal(score, answer)
    schemas = {tool.name: tool.parameters for tool in tools}
    # A published gold step may differ from the offered name in spaces; it is then not in the schemas.
    faults = (call_fault(call, schemas) for call in answer.calls if call.name in schemas)
    return replace(score, reason=next(filter(None, faults), OK))


def score_answers(
    records: Sequence[Record], answers: Sequence[Any], tools: Sequence[ToolSchema] | None = None
) -> list[PathScore]:
    """Scores a subset: one score per record, in the same order; native calls if ``tools`` were offered.

    Raises:
        ValueError: The numbers of records and answers differ.
    """
    if len(records) != len(answers):
        raise ValueError(f'{len(records)} records, but {len(answers)} answers')
    return [
        score_answer(record, answer) if tools is None else score_calls(record, answer, tools)
        for record, answer in zip(records, answers, strict=True)
    ]


def breakdown(scores: Sequence[PathScore]) -> dict[str, Any]:
    """Returns a result's parts other than its metrics, as JSON values.

    Returns:
        ``steps`` (number in all gold and in all answered paths), ``exact_paths`` (samples whose path equals the gold
        path), ``unknown_tools`` (steps that are not tools), ``parse_methods`` (parse method -> samples), ``rules``
        (correction -> samples), ``lengths`` (steps of the gold path -> ``samples`` and ``correct_path_rate``).
    """
    lengths: dict[str, dict[str, Any]] = {}
    for length in sorted({len(score.gold) for score in scores}):
        rates = [float(score.values['correct_path_rate'] or 0) for score in scores if len(score.gold) == length]
        lengths[str(length)] = {'samples': len(rates), 'correct_path_rate': 100 * sum(rates) / len(rates)}
    return {
        'steps': {'gold': sum(len(s.gold) for s in scores), 'answered': sum(len(s.as_written) for s in scores)},
        'exact_paths': sum(score.parsed == score.gold for score in scores),
        'unknown_tools': sum(len(score.unknown) for score in scores),
        'parse_methods': dict(Counter(score.parse_method for score in scores).most_common()),
        'rules': dict(Counter(rule for score in scores for rule in score.rules).most_common()),
        'lengths': lengths,
    }


class RestBenchScorer(Scorer):
    """Scores one service; the records contain the gold paths.

    Args:
        subset: ``tmdb`` or ``spotify``.
    """

    tools: Sequence[ToolSchema] | None = None
    """The offered tools; None if answers are texts."""

    def __init__(self, subset: str) -> None:
        self.subset = find_subset(subset)
        self._golds: set[str] = set()

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        gold = ', '.join(sorted(self._golds))
        return {'benchmark': 'restbench', 'subset': self.subset.name, 'gold': gold, 'version': VERSION}

    breakdown = staticmethod(breakdown)
    read_record = staticmethod(parse_payload)

    def score_records(self, records: Sequence[Record], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores answers against records."""
        self._golds.update(record.gold for record in records)
        return score_answers(records, answers, self.tools)


class RestBenchCallsScorer(RestBenchScorer):
    """Scores the native calls of one service."""

    tools: Sequence[ToolSchema] = ()
