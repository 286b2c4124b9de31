"""The real answers, damaged: no exception, in bounded time, and unchanged while they are readable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import Record
from opencompass_tooleval.benchmarks.ultratool.judge import Judged, Scores, dimensions
from opencompass_tooleval.benchmarks.ultratool.reading import LIST_CHOICES, SCORINGS, Protocol
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


def drawn(count: int, seed: int) -> Iterator[tuple[Record, str, Protocol, Random]]:
    rng = Random(seed)
    rows = [row for model, task in SOURCES for row in published(model, task) if row.record]
    for _ in range(count):
        row = rng.choice(rows)
        assert row.record is not None
        yield row.record, row.answer, Protocol(rng.choice(SCORINGS), rng.choice(LIST_CHOICES)), rng


@pytest.mark.parametrize('count', [200, pytest.param(10_000, marks=pytest.mark.long)])
def test_damaged_answers(count: int) -> None:
    for record, answer, protocol, rng in drawn(count, 1):
        broken = rng.choice(BREAKING)(answer, rng)
        if rng.random() < 0.3:
            broken = rng.choice(BREAKING)(broken, rng)
        with stopped():
            score = scored(record, broken, protocol)
        json.dumps(score.to_detail(), allow_nan=False)


@pytest.mark.parametrize('count', [60, pytest.param(2_000, marks=pytest.mark.long)])
def test_what_can_still_be_read_scores_the_same(count: int) -> None:
    for record, answer, protocol, _ in drawn(count, 3):
        before = content(scored(record, answer, protocol))
        for mutation in HARMLESS:
            assert content(scored(record, mutation(answer), protocol)) == before, (protocol, mutation(answer))


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


@pytest.mark.parametrize(('model', 'task'), [('gpt-4', 'tool_usage'), ('gpt-3.5', 'tool_usage_awareness')])
def test_other_texts_of_one_answer_score_the_same(model: str, task: str) -> None:
    """Python for JSON, a worse list in front, and, strictly, a last bracket too few or too many."""
    strict = Protocol('strict')
    for record, answer in valid_json(model, task)[:120]:
        value = json.loads(answer)
        first = json.dumps([{**item, 'tool': 'x', 'param': {}} for item in value])
        for scoring in SCORINGS:
            span, last = Protocol(scoring, 'span'), Protocol(scoring, 'last')
            assert content(scored(record, str(value), span)) == content(scored(record, answer, span))
            if scoring == 'official' and '[' in answer[1:]:
                continue  # official cuts a list inside a value out of its item
            both = scored(record, f'{first}\nNo, better:\n{answer}', last)
            assert content(both) == content(scored(record, answer, last))
        text = answer.strip()
        for broken in (text[:-1], text + ']', text.replace('", "', '"， "')):
            assert content(scored(record, broken, strict)) == content(scored(record, text, strict)), broken
