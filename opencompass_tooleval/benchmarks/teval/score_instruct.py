"""Scores instruct: the model writes a given call in a given format (T-Eval, App. C.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import InstructGold, Record
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.text.reading import NO_BRACKETS, NOT_JSON, Parsed, parse_enclosed, parse_literal

Values = dict[str, float | None]


def _call(thought: Any, action: Any, args: Any) -> dict[str, Any]:
    return {'thought': thought, 'action': action, 'args': args if isinstance(args, dict) else {}}


def _read_json(text: str, keys: Mapping[str, str], protocol: Protocol) -> Parsed:
    parsed = protocol.parse(text, parse_enclosed)
    if parsed.reason == NOT_JSON and '{' not in text and '｛' not in text:
        return Parsed(None, 'none', NO_BRACKETS)
    if not parsed.ok:
        return parsed
    if not isinstance(parsed.value, dict):
        return Parsed(None, 'none', 'parse:not_a_dict')
    if any(keys[part] not in parsed.value for part in ('thought', 'action', 'args')):
        return Parsed(None, 'none', 'format:missing_key')
    return Parsed(_call(*(parsed.value[keys[part]] for part in ('thought', 'action', 'args'))), parsed.parse_method)


def split_by_marks(text: str, marks: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Splits ``text`` into thought, action and args at the six marks, in linear time.

    The result equals that of the greedy pattern ``thought_start(.*)thought_end action_start(.*)action_end
    args_start(.*)args_end`` over several lines: the first start, then each part as long as possible.

    Returns:
        The three parts, or None if the marks do not occur in this order.
    """
    opening = marks['thought_start']
    to_action = marks['thought_end'] + marks['action_start']
    to_args = marks['action_end'] + marks['args_start']
    start = text.find(opening)
    end = text.rfind(marks['args_end'])
    if start < 0 or end < 0:
        return None
    start += len(opening)
    args_at = text.rfind(to_args, start, end)
    action_at = text.rfind(to_action, start, args_at) if args_at >= 0 else -1
    if action_at < 0:
        return None
    return text[start:action_at], text[action_at + len(to_action) : args_at], text[args_at + len(to_args) : end]


def _read_string(text: str, marks: Mapping[str, str], protocol: Protocol) -> Parsed:
    parts = split_by_marks(text, marks)
    if parts is None:
        return Parsed(None, 'none', 'format:no_match')
    thought, action, args_text = parts
    args = protocol.parse(args_text.strip(), parse_literal)
    readable = args.ok and (
        protocol.strict or args.parse_method == 'literal'
    )  # official scoring loses all arguments if they contain JSON's true or null
    return Parsed(_call(thought, action.strip(), args.value if readable else {}), 'marks')


def read(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses a call; the value is a dict with thought, action and a dict args."""
    if record.format == 'json':
        return _read_json(text, record.template, protocol)
    return _read_string(text, record.template, protocol)


def texts(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[str]:
    """Yields nothing: no texts are compared by embedding."""
    return iter(())


def _same(predicted: Any, gold: Any, strict: bool) -> bool:
    """Tests equality; strict scoring distinguishes ``True`` from ``1``."""
    return bool(predicted == gold) and not (strict and isinstance(predicted, bool) != isinstance(gold, bool))


def score(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes the scores of format and arguments of one call, 0-1, and the reason; the other format's metrics are
    None."""
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


def show(record: Record, call: Any) -> tuple[Any, dict[str, Any]]:
    """Returns action and arguments, predicted and gold; the content of the thought is not scored."""
    gold = cast(InstructGold, record.gold)
    parts = ('action', 'args')
    return call and {part: call[part] for part in parts}, {part: getattr(gold, part) for part in parts}
