"""Readers of answers read hundreds of damaged ones as they did.

``cases/reading_mutations.json`` holds of every reader how often each parse method and reason comes, and a digest of all
that was read; ``python -m tests.core.test_reading_mutations`` writes it anew, for a change that is meant.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa import reading as funcqa
from opencompass_tooleval.benchmarks.restbench.answers import read_path
from opencompass_tooleval.benchmarks.teval.answers import POSTPROCESSORS
from opencompass_tooleval.benchmarks.toolbench.answers import read_value
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.reading import is_json, read
from opencompass_tooleval.core.calls import literal_reply
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.core.text.reading import parse_enclosed, parse_literal
from opencompass_tooleval.extras.preparing import reply
from opencompass_tooleval.extras.preparing.validate import Flaw
from opencompass_tooleval.judging.judgement import Opinion
from opencompass_tooleval.judging.yes_no import read_reply

CASES = Path(__file__).parents[1] / 'cases'
GOLDEN = CASES / 'reading_mutations.json'
COUNT = 400
PIECES = (
    '[', ']', '{', '}', '"', "'", ',', ': ', '```json\n', '```', '\n\n', '<think>', '</think>', '［', '｛', '“', '：',
    '\\', 'None', 'true', 'null', '-> ', '1. ', 'Sure, here it is: ', '[1]', '{"a": 1}', '["GET /a"]', '\r\n', '\ufeff',
    'answer: 7', '(', 'set()', '1e400', '0x' + 'f' * 3000, '[' * 120, ' yes', '{"Scenario": "x", "Parameters": {}}',
)  # fmt: skip
BASES = (
    '["GET /search/movie", "GET /movie/{movie_id}"]',
    'First GET /search/person -> GET /person/{person_id}/movie_credits, then done.',
    '1. GET /search/tv\n2. `GET /tv/{tv_id}`\n- GET /tv/popular',
    "```python\n['GET /a', 'GET /b']\n```\nThat is all.",
    '[{"Task": "find it", "ID": 3}, {"Task": "then", "ID": [1, 2]}]\n\nBecause.',
    '{"tool": "T", "api": "A", "parameters": {"x": [1, 2.5, null, true]}}',
    'I think of [1, 2], but {"Choice": "Yes", "Reason": "it is done"} is better than [].',
    '{"Scenario": "One asks for \'x\'", "Parameters": {"city": "Rome", "days": 3}}',
    'A tool for weather. 1. \'today\' can say how it is. 2. "tomorrow": what it will be.',
    '[{"step": "1.1 a", "tool": "t", "param": {"x": "a.json", "y": {"z": [1]}}}]',
    '```json\n[{"step": "1.1 a", "tool": "0"}, {"step": "1.2 b", "tool": "1"}]\n```',
    '<think>[1]</think>{"thought": "so", "name": "Map.route", "args": {"place": "Rome"}}',
    '1. Go there\n1.1 and look\n\n2. Come back\n\nI hope this helps.',
    'The answer is 1,234.5e-3 or \\frac{3}{4}, that is 12%.',
    "{'name': 'ok', 'right': true}",
    '［｛“step”：“1.1 甲”，“tool”：“0”｝］',
    '',
)


def collected() -> list[str]:
    texts = dict.fromkeys(BASES)
    for name in ('restbench_scoring', 'teval_scoring', 'ultratool_reading', 'ultratool_scoring'):
        rows = json.loads((CASES / f'{name}.json').read_text(encoding='utf-8'))
        texts.update(dict.fromkeys(row['answer'] for row in rows if isinstance(row['answer'], str)))
    return list(texts)


@cache
def mutated() -> tuple[Answer, ...]:
    """Every answer as it is, then answers with up to five cuts, doublings and pieces put in; some failed, some long."""
    answers, draw = collected(), Random(13)
    made = [*map(Answer, answers), Answer('', 'infra:timeout'), Answer('', 'answer:truncated_reasoning')]
    made += [Answer('[' + '1,' * 100_001 + '1]'), Answer('0x' + 'f' * 3000)]
    for _ in range(COUNT):
        text = answers[draw.randrange(len(answers))]
        for _ in range(draw.randrange(1, 6)):
            start, kind = draw.randrange(len(text) + 1), draw.randrange(4)
            end = min(len(text), start + draw.randrange(12))
            piece = PIECES[draw.randrange(len(PIECES))]
            text = text[:start] + ('', text[start:end] * 2, piece, piece + text[start:end])[kind] + text[end:]
        made.append(Answer(text))
    return tuple(made)


def ultratool(scoring: str, reading: str, lists: str) -> Callable[[Answer], Any]:
    return partial(read, reading=reading, protocol=Protocol(scoring, lists))


def toolbench_judge(text: str) -> Any:
    said = read_reply(text)
    return f'Verdict(success={said.value == "yes"}, why={said.why!r})' if isinstance(said, Opinion) else said


def of_text(read: Callable[[str], Any]) -> Callable[[Answer], Any]:
    return lambda answer: read(answer.text)


READERS: dict[str, Callable[[Answer], Any]] = {
    'literal': of_text(parse_literal),
    'enclosed': of_text(partial(parse_enclosed, start='{', end='}')),
    'restbench': read_path,
    'easytool first block': partial(literal_reply.read_literal, cut=literal_reply.first_block),
    'easytool last block': partial(literal_reply.read_literal, cut=literal_reply.last_block),
    'easytool description': of_text(partial(reply.read_description, functions=['today', 'tomorrow'], tool='weather')),
    'easytool example': of_text(partial(reply.read_example, function='today')),
    'toolbench list': partial(read_value, accept=lambda value: isinstance(value, list), missing='parse:no_list'),
    'toolbench object': partial(read_value, accept=lambda value: isinstance(value, dict), missing='parse:no_object'),
    'toolbench judge': of_text(toolbench_judge),
    'funcqa number': of_text(funcqa.read_number),
    **{f'teval {name}': postprocess for name, postprocess in POSTPROCESSORS.items()},
    **{
        f'ultratool official {reading} {lists}': ultratool('official', reading, lists)
        for reading in ('items', 'names', 'calls', 'tools')
        for lists in ('last', 'span')
    },
    'ultratool official plan': ultratool('official', 'plan', 'last'),
    'ultratool strict plan': ultratool('strict', 'plan', 'last'),
    'ultratool strict': ultratool('strict', 'items', 'last'),
    'ultratool json': is_json,
}


def shown(read: Any) -> tuple[str, Any]:
    """What was read in a word or two (its parse method and reason), and all of it."""
    parse_method, reason = getattr(read, 'parse_method', ''), getattr(read, 'reason', '')
    if isinstance(read, list) and read and isinstance(read[0], Flaw):
        return ' '.join(fault.code for fault in read), None  # its words may change
    value = read.text if isinstance(read, Answer) else getattr(read, 'value', read)
    if parse_method == 'repaired':
        value = None  # which value it is depends on the release of json_repair
    return f'{parse_method} {reason or ""}'.strip(), in_order(value)


def in_order(value: Any) -> Any:
    """A value as JSON; a set, whose order is never the same, sorted."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return [in_order(item) for item in value]
    if isinstance(value, dict):
        return [[repr(key), in_order(item)] for key, item in value.items()]
    return str(value) if isinstance(value, str) else repr(to_jsonable(value) if isinstance(value, int) else value)


def outcome(name: str) -> dict[str, Any]:
    counts, digest = Counter[str](), hashlib.sha256()
    for answer in mutated():
        word, value = shown(READERS[name](answer))
        counts[word] += 1
        digest.update(json.dumps([word, value], sort_keys=True).encode())
    return {'counts': dict(sorted(counts.items())), 'digest': digest.hexdigest()}


@pytest.mark.parametrize('name', READERS)
def test_readers_read_as_they_did(name: str) -> None:
    assert outcome(name) == json.loads(GOLDEN.read_text(encoding='utf-8'))[name]


def test_mutations_reach_the_parse_methods() -> None:
    golden = json.loads(GOLDEN.read_text(encoding='utf-8'))
    assert set(golden) == set(READERS)
    words = {word for row in golden.values() for word in row['counts']}
    parse_methods = {'literal', 'json', 'quotes', 'fence', 'prose', 'arrows', 'lines', 'fullwidth', 'repaired', 'cut'}
    reasons = {'answer:empty', 'answer:too_long', 'answer:truncated_reasoning', 'infra:timeout', 'parse:too_deep'}
    reasons |= {'parse:huge_number', 'parse:no_brackets'}
    assert parse_methods | {f'none {reason}' for reason in reasons} <= words


if __name__ == '__main__':
    table = {name: outcome(name) for name in READERS}
    GOLDEN.write_text(json.dumps(table, indent=1, ensure_ascii=False) + '\n', encoding='utf-8')
