"""The real answers, damaged: no exception, in bounded time, and unchanged while they are readable."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.judge import Scores
from opencompass_tooleval.benchmarks.ultratool.protocol import LIST_CHOICES, SCORINGS, Protocol
from opencompass_tooleval.benchmarks.ultratool.records import Record
from opencompass_tooleval.benchmarks.ultratool.score_judged import Judged, dimensions
from opencompass_tooleval.benchmarks.ultratool.score_steps import StepsScore
from opencompass_tooleval.benchmarks.ultratool.scoring import score_answer
from tests.benchmarks.ultratool.support import published
from tests.growth import stopped

SOURCES = (
    ('gpt-3.5', 'tool_usage'),
    ('gpt-4', 'tool_usage'),
    ('gpt-3.5', 'tool_usage_awareness'),
    ('gpt-4', 'tool_usage_awareness'),
    ('gpt-3.5', 'tool_creation'),
)
FULL_WIDTH = {',': '，', ':': '：', '"': '”', '(': '（', ')': '）', '[': '【', ']': '】'}


def without(text: str, rng: Random, copies: int) -> str:
    """The text with so many copies of one of its brackets."""
    places = [i for i, char in enumerate(text) if char in '[]{}']
    place = rng.choice(places) if places else 0
    return text[:place] + text[place : place + 1] * copies + text[place + 1 :]


def full_width(text: str, rng: Random) -> str:
    mark = rng.choice(list(FULL_WIDTH))
    return text.replace(mark, FULL_WIDTH[mark])


Mutation = Callable[[str, Random], str]
BREAKING: tuple[Mutation, ...] = (
    lambda text, rng: text[: rng.randrange(len(text) + 1)],
    lambda text, rng: text[rng.randrange(len(text) + 1) :],
    lambda text, rng: text.translate({ord('"'): "'", ord("'"): '"'}),
    lambda text, rng: ''.join("'" if char == '"' and rng.random() < 0.2 else char for char in text),
    lambda text, rng: without(text, rng, 0),
    lambda text, rng: without(text, rng, 2),
    full_width,
    lambda text, rng: f'{text}\nOr, in other words:\n{text}',
    lambda text, rng: ''.join(char + '\n' if char in ',{[' and rng.random() < 0.3 else char for char in text),
)
HARMLESS: tuple[Callable[[str], str], ...] = (
    lambda text: text if '`' in text else f'```json\n{text}\n```',
    lambda text: text if '`' in text else f'```\n{text}\n```',
    lambda text: f"Sure! Here's the plan, step by step:\n\n{text}\n\nAnything else?",
    lambda text: f'\n\n  {text} \n',
    lambda text: f'输出：{text}',
)


def scored(record: Record, answer: str, protocol: Protocol) -> StepsScore:
    judgements = None
    if record.subset.kind == 'creation':
        scores = Scores(dict.fromkeys(dimensions(record.subset), 8.0))
        judgements = [Judged(record.id, step.number, 'judged', scores) for step in record.reference]
    return score_answer(record, answer, protocol, judgements)


def content(score: StepsScore) -> Any:
    return [step.values for step in score.steps]


def damage(count: int, seed: int) -> None:
    rng = Random(seed)
    rows = [row for model, task in SOURCES for row in published(model, task)]
    for _ in range(count):
        row = rng.choice(rows)
        record, answer = row.record, row.answer
        assert record is not None
        protocol = Protocol(rng.choice(SCORINGS), rng.choice(LIST_CHOICES))
        mutation = rng.choice(BREAKING)
        broken = mutation(answer, rng)
        if rng.random() < 0.3:
            broken = rng.choice(BREAKING)(broken, rng)
        with stopped():
            score = scored(record, broken, protocol)
        json.dumps(score.to_detail(), allow_nan=False)


def harmless(count: int, seed: int) -> None:
    rng = Random(seed)
    rows = [row for model, task in SOURCES for row in published(model, task)]
    for _ in range(count):
        row = rng.choice(rows)
        record, answer = row.record, row.answer
        assert record is not None
        protocol = Protocol(rng.choice(SCORINGS), rng.choice(LIST_CHOICES))
        for mutation in HARMLESS:
            mutated = mutation(answer)
            before, after = scored(record, answer, protocol), scored(record, mutated, protocol)
            assert content(after) == content(before), (protocol, mutated)


def test_damaged_answers() -> None:
    damage(300, 1)


@pytest.mark.long
def test_ten_thousand_damaged_answers() -> None:
    damage(10_000, 2)


def test_what_can_still_be_read_scores_the_same() -> None:
    harmless(80, 3)


@pytest.mark.long
def test_two_thousand_that_can_still_be_read() -> None:
    harmless(2_000, 4)


def valid_json(model: str, task: str) -> list[tuple[Record, str]]:
    """Answers that are JSON, without the values that official reading makes other ones of."""
    pairs = []
    for row in published(model, task):
        try:
            value = json.loads(row.answer)
        except ValueError:
            continue
        if row.record is not None and isinstance(value, list) and 'null' not in row.answer:
            pairs.append((row.record, row.answer))
    return pairs


@pytest.mark.parametrize('scoring', SCORINGS)
@pytest.mark.parametrize(('model', 'task'), [('gpt-4', 'tool_usage'), ('gpt-3.5', 'tool_usage_awareness')])
def test_python_for_json_scores_the_same(model: str, task: str, scoring: str) -> None:
    protocol = Protocol(scoring, 'span')
    for record, answer in valid_json(model, task)[:200]:
        assert content(scored(record, str(json.loads(answer)), protocol)) == content(scored(record, answer, protocol))


@pytest.mark.parametrize(('model', 'task'), [('gpt-4', 'tool_usage'), ('gpt-3.5', 'tool_usage_awareness')])
def test_the_last_of_two_lists_counts(model: str, task: str) -> None:
    for record, answer in valid_json(model, task)[:200]:
        value = json.loads(answer)
        first = json.dumps([{**item, 'tool': 'x', 'param': {}} for item in value])
        for scoring in SCORINGS:
            if scoring == 'official' and '[' in answer[1:]:
                continue  # official cuts a list inside a value out of its item
            protocol = Protocol(scoring, 'last')
            both = scored(record, f'{first}\nNo, better:\n{answer}', protocol)
            assert content(both) == content(scored(record, answer, protocol))


@pytest.mark.parametrize(('model', 'task'), [('gpt-4', 'tool_usage'), ('gpt-3.5', 'tool_usage_awareness')])
def test_strict_reading_fixes_the_last_bracket(model: str, task: str) -> None:
    strict = Protocol('strict')
    for record, answer in valid_json(model, task)[:200]:
        text = answer.strip()
        for broken in (text[:-1], text + ']', text.replace('", "', '"， "')):
            assert content(scored(record, broken, strict)) == content(scored(record, text, strict)), broken
