"""The judge's prompts, and replies as judges write them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.benchmarks.ultratool.judge import LABELS, judge_prompt, parse_scores, prompt_hash
from opencompass_tooleval.judging.judgement import Unread
from tests.benchmarks.ultratool.support import CASES, SHARED, real


def reply(task: str, language: int, score: Any = 7) -> list[dict[str, Any]]:
    return [{'Reasoning': 'because', labels[language]: score} for labels in LABELS[task].values()]


@pytest.mark.parametrize('task', LABELS)
@pytest.mark.parametrize('language', [0, 1], ids=['zh', 'en'])
@pytest.mark.parametrize(
    'write',
    [
        pytest.param(lambda value: value, id='a list'),
        pytest.param(json.dumps, id='json'),
        pytest.param(lambda value: f'```json\n{json.dumps(value, ensure_ascii=False)}\n```', id='fence'),
        pytest.param(str, id='python'),
        pytest.param(lambda value: f'<think>8? no</think>Here: {json.dumps(value)} Done.', id='prose and thoughts'),
        pytest.param(lambda value: json.dumps(value, ensure_ascii=False)[:-1] + ',', id='cut and a comma'),
        pytest.param(lambda value: json.dumps({k: v for item in value for k, v in item.items()}), id='one dict'),
    ],
)
def test_a_reply_is_read(task: str, language: int, write: Any) -> None:
    judgement = parse_scores(write(reply(task, language)), task)
    assert judgement.scores == dict.fromkeys(LABELS[task], 7.0)


def test_labels_in_another_case_and_with_marks_are_read() -> None:
    text = json.dumps([{f'**{label.lower()}**': 7 for _, label in LABELS['planning'].values()}])
    assert parse_scores(text, 'planning').scores == dict.fromkeys(LABELS['planning'], 7.0)


@pytest.mark.parametrize('score', ['7', '7/10', '7分', 7.0, ' 7 '])
def test_scores_as_judges_write_them(score: Any) -> None:
    assert parse_scores(reply('planning', 0, score), 'planning').scores['overall'] == 7.0


@pytest.mark.parametrize(
    ('value', 'fault'),
    [
        ('', 'empty'),
        ('I cannot judge that.', 'refused'),
        ('no idea', 'unread'),
        ([], 'unread'),
        (reply('planning', 0)[:-1], 'missing:overall'),
        (reply('planning', 0)[1:], 'missing:accuracy'),
        (reply('planning', 0, 0), 'range:accuracy'),
        (reply('planning', 0, 11), 'range:accuracy'),
        (reply('planning', 0, 'good'), 'missing:accuracy'),
        (reply('planning', 0, True), 'missing:accuracy'),
        (reply('planning', 0, None), 'missing:accuracy'),
        ('[' * 100_000, 'unread'),
        ('"' * 100_000, 'unread'),
    ],
    ids=str,
)
def test_what_is_no_judgement_is_no_score(value: Any, fault: str) -> None:
    assert parse_scores(value, 'planning') == Unread(fault)


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        ('{"a": [ "Accuracy Score": 100', 'range:accuracy'),
        (', '.join(f'"{label}": 1-10' for _, label in LABELS['planning'].values()), 'unread'),
        (str(reply('planning', 1, 1) + reply('planning', 1, 8)), 'missing:accuracy'),
    ],
    ids=['a hundred', 'the template echoed', 'two minds'],
)
def test_no_score_is_made_up(text: str, fault: str) -> None:
    assert parse_scores(text, 'planning') == Unread(fault)


@pytest.mark.parametrize('mark', ['{}: 7', '- **{}**: 7', '* {}：7/10', '{}: **7**'])
def test_lines_are_read(mark: str) -> None:
    text = 'As of [1], I say:\n' + '\n'.join(mark.format(label) for _, label in LABELS['planning'].values())
    assert parse_scores(text, 'planning').scores == dict.fromkeys(LABELS['planning'], 7.0)


def test_a_score_may_stand_on_the_next_line() -> None:
    text = '\n'.join(f'## {label}:\n\n  **7**' for _, label in LABELS['planning'].values())
    assert parse_scores(text, 'planning').scores == dict.fromkeys(LABELS['planning'], 7.0)


@pytest.mark.parametrize('score', [' ' * 200_000, '1' + ' ' * 200_000 + 'x', '1/' + ' ' * 200_000, '1' * 200_000])
def test_long_scores_are_no_scores(score: str) -> None:
    assert parse_scores(reply('planning', 1, score), 'planning') == Unread('missing:accuracy')


def test_a_reply_beyond_all_bounds_is_not_read() -> None:
    text = json.dumps(reply('planning', 1)) + ' ' * 200_000
    assert parse_scores(text, 'planning') == Unread('too_long')


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists))
def test_no_reply_raises(value: Any) -> None:
    assert isinstance(parse_scores(value, 'tool_creation'), Unread)


@pytest.mark.parametrize('task', LABELS)
@pytest.mark.parametrize('language', ['zh', 'en'])
def test_prompt_holds_everything_once_and_fills_nothing_twice(task: str, language: str) -> None:
    prompt = judge_prompt(task, language, 'Q {answer}', 'R {question}', 'A {reference}')
    for part in ('Q {answer}', 'R {question}', 'A {reference}'):
        assert prompt.count(part) == 1
    for labels in LABELS[task].values():
        assert labels[language == 'en'] in prompt
    assert len(prompt_hash(task, language)) == 12


@pytest.mark.parametrize('task', LABELS)
@pytest.mark.parametrize('language', ['zh', 'en'])
def test_prompt_is_the_published_one(task: str, language: str) -> None:
    """The digest is of the published template, filled by ``str.format``."""
    prompt = judge_prompt(task, language, 'Q {answer}', 'R {question}', 'A {reference}')
    digests = json.loads((CASES / 'ultratool_prompts.json').read_text(encoding='utf-8'))[f'judge_{task}_{language}']
    assert hashlib.sha256(prompt.encode('utf-8')).hexdigest()[:16] == digests[0]
    published = json.loads(real(SHARED / 'expected/ultratool/prompts/prompts.json').read_text(encoding='utf-8'))[
        'judge'
    ]
    template = published[f'{"ch" if language == "zh" else "en"}_prompt_{"plan" if task == "planning" else "tool"}']
    assert prompt == template.format(question='Q {answer}', reference='R {question}', answer='A {reference}')
