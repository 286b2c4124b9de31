"""The judge's prompts, replies as judges write them, and the reasons in them up to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_tooleval.benchmarks.ultratool.data import find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import LABELS, judge_prompt, parse_scores, prompt_hash
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.judging.judgement import Unread
from opencompass_tooleval.report.samples import _judgements, _of_answer, _row
from opencompass_tooleval.results.table import ModelResult
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.benchmarks.support import cases, digest
from tests.benchmarks.ultratool.support import PREDICTIONS, SHARED, load_judgements, make_record, real
from tests.judging.support import Script, Scripted, away, scripted

__all__ = ['away', 'scripted']  # fixtures
PLANNING = find_subset('planning')
REASONS = (('打分理由', '打分理由'), ('Reasoning', 'Scoring Reason'))
SEVENS = dict.fromkeys(LABELS['planning'], 7.0)


def reply(task: str = 'planning', language: int = 1, score: Any = 7, why: str = '') -> list[dict[str, Any]]:
    """A judge's reply in the form that the prompt asks for; each reason says its dimension."""
    name = REASONS[language][task == 'tool_creation']
    return [{name: why or f'why {key}', labels[language]: score} for key, labels in LABELS[task].items()]


def lines(value: list[dict[str, Any]]) -> str:
    return '\n\n'.join(f'{key}: {said}' for item in value for key, said in item.items())


@pytest.mark.parametrize('task', LABELS)
@pytest.mark.parametrize('language', [0, 1], ids=['zh', 'en'])
@pytest.mark.parametrize(
    'write',
    [
        pytest.param(lambda value: value, id='a list'),
        pytest.param(lambda value: f'```json\n{json.dumps(value, ensure_ascii=False)}\n```', id='fence'),
        pytest.param(str, id='python'),
        pytest.param(lambda value: f'<think>8? no</think>Here: {json.dumps(value)} Done.', id='prose and thoughts'),
        pytest.param(lambda value: [dict(reversed(item.items())) for item in value], id='score first'),
        pytest.param(lambda value: json.dumps(value, ensure_ascii=False)[:-1] + ',', id='cut and a comma'),
        pytest.param(lines, id='lines'),
    ],
)
def test_a_reply_is_read(task: str, language: int, write: Any) -> None:
    judgement = parse_scores(write(reply(task, language)), task)
    assert judgement.scores == dict.fromkeys(LABELS[task], 7.0)
    assert judgement.why == {key: f'why {key}' for key in LABELS[task]}


def test_reasons_that_break_json_are_read() -> None:
    text = json.dumps(reply(why='it says "now", twice'), ensure_ascii=False).replace('\\"', '"')
    judgement = parse_scores(text, 'planning')
    assert (judgement.scores, judgement.why) == (SEVENS, dict.fromkeys(SEVENS, 'it says "now", twice'))


def test_whose_reason_is_not_known_is_nobodys() -> None:
    one = {key: said for item in reply() for key, said in item.items()}
    judgement = parse_scores(json.dumps(one), 'planning')
    assert (judgement.scores, judgement.why) == (SEVENS, {})


@pytest.mark.parametrize('message', ['x' * 50_000, ['x' * 50_000], 10**2_000, '\ud83d', None, '', {'a': {'b': 1}}])
def test_reasons_are_bounded_text(message: Any) -> None:
    judgement = parse_scores([{**item, 'Reasoning': message} for item in reply()], 'planning')
    assert judgement.scores == SEVENS
    for text in judgement.why.values():
        assert isinstance(text, str) and len(text) <= 4_000 and text.encode('utf-8')
    assert bool(judgement.why) == bool(message)


@pytest.mark.parametrize('score', ['7', '7/10', '7分', 7.0, ' 7 '])
def test_scores_as_judges_write_them(score: Any) -> None:
    assert parse_scores(reply(language=0, score=score), 'planning').scores['overall'] == 7.0


@pytest.mark.parametrize('mark', ['{}: 7', '- **{}**: 7', '* {}：7/10', '{}: **7**', '## {}:\n\n  **7**'])
def test_lines_are_read(mark: str) -> None:
    text = 'As of [1], I say:\n' + '\n'.join(mark.format(label) for _, label in LABELS['planning'].values())
    assert parse_scores(text, 'planning').scores == SEVENS
    text = json.dumps([{f'**{label.lower()}**': 7 for _, label in LABELS['planning'].values()}])
    assert parse_scores(text, 'planning').scores == SEVENS


@pytest.mark.parametrize(
    ('value', 'fault'),
    [
        ('', 'empty'),
        ('I cannot judge that.', 'refused'),
        ('no idea', 'unread'),
        (reply()[:-1], 'missing:overall'),
        (reply()[1:], 'missing:accuracy'),
        (reply(score=0), 'range:accuracy'),
        (reply(score=11), 'range:accuracy'),
        ('{"a": [ "Accuracy Score": 100', 'range:accuracy'),
        (reply(score='good'), 'missing:accuracy'),
        (reply(score=True), 'missing:accuracy'),
        (reply(score=None), 'missing:accuracy'),
        (', '.join(f'"{label}": 1-10' for _, label in LABELS['planning'].values()), 'unread'),
        (str(reply(score=1) + reply(score=8)), 'missing:accuracy'),
        ('[' * 100_000, 'unread'),
        (reply(score=' ' * 200_000), 'missing:accuracy'),
        (reply(score='1/' + ' ' * 200_000), 'missing:accuracy'),
        (reply(score='1' * 200_000), 'missing:accuracy'),
        (json.dumps(reply()) + ' ' * 200_000, 'too_long'),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_judgement_is_no_score(value: Any, fault: str) -> None:
    assert parse_scores(value, 'planning') == Unread(fault)


@settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists))
def test_no_reply_raises(value: Any) -> None:
    assert isinstance(parse_scores(value, 'tool_creation'), Unread)


@pytest.mark.parametrize('task', LABELS)
@pytest.mark.parametrize('language', ['zh', 'en'])
def test_prompt_is_the_published_one(task: str, language: str) -> None:
    """It fills nothing twice; the digest is of the published template, filled by ``str.format``."""
    parts = {'question': 'Q {answer}', 'reference': 'R {question}', 'answer': 'A {reference}'}
    prompt = judge_prompt(task, language, *parts.values())
    assert all(prompt.count(part) == 1 for part in parts.values())
    english = language == 'en'
    asked = [f'"{REASONS[english][task == "tool_creation"]}"', *(labels[english] for labels in LABELS[task].values())]
    assert all(name in prompt for name in asked)
    assert len(prompt_hash(task, language)) == 12
    assert digest(prompt) == cases('ultratool_prompts')[f'judge_{task}_{language}'][0]
    published = json.loads(real(SHARED / 'expected/ultratool/prompts/prompts.json').read_text(encoding='utf-8'))
    name = f'{"ch" if language == "zh" else "en"}_prompt_{"plan" if task == "planning" else "tool"}'
    assert prompt == published['judge'][name].format(**parts)


TOOL_STEP = [{'step': '1.1 one', 'tool': {'name': 't'}}]
JUDGED = [
    ('planning', {'input': 'request', 'reference': '1. gold'}, '1. go'),
    ('tool_creation', {'input': TOOL_STEP, 'reference': TOOL_STEP}, json.dumps(TOOL_STEP)),
]


@pytest.mark.parametrize(('task', 'raw', 'answer'), JUDGED, ids=['planning', 'tool_creation'])
def test_reasons_reach_details_rows_and_report(
    task: str, raw: dict[str, Any], answer: str, tmp_path: Path, scripted: Script
) -> None:
    cfg = scripted(lambda *_: json.dumps(reply(task)))
    reference = make_record(task, raw).to_payload()
    why = {key: f'why {key}' for key in LABELS[task]}
    for _ in range(2):  # the second judge reads what the first has kept
        evaluator = ToolEvalUltraToolEvaluator(task, 'en', judge_cfg=cfg)
        evaluator._out_dir = str(tmp_path / 'results' / 'model' / 'set')
        (score,) = evaluator.score_samples([reference], [as_answer(answer)])
        assert score.values['overall'] == 0.7
        detail = score.to_detail()
        assert detail['steps'][0]['why'] == why
        of_answer = _judgements(ModelResult('model', 'set', WorkDir(tmp_path), 'model', {}))['r']
        judgement = {'id': 'r', 'status': 'judged', 'scores': dict.fromkeys(LABELS[task], 7.0), 'why': why}
        judgement |= {'answer_digest': score.steps[0].answer_digest} | ({} if task == 'planning' else {'step': '1.1'})
        assert _row(detail, {}, of_answer, are_dialogues=False)['more']['judgements'] == [judgement]
        of_another_run = {'answer_digest': 'ab' * 16}
        assert _of_answer([of_another_run, {'id': 'r'}, *of_answer], detail) == [{'id': 'r'}, *of_answer]
        Path(f'{evaluator._out_dir}_judgements.jsonl').rename(tmp_path / 'kept.jsonl')
    assert len(Scripted.asked) == 1
    given = ToolEvalUltraToolEvaluator(task, 'en', judgements=str(tmp_path / 'kept.jsonl'))
    assert given.score_samples([reference], [as_answer(answer)]) == [score]


@pytest.mark.parametrize('model', ['gpt-3.5', 'gpt-4'])
def test_published_reasons_are_kept(model: str) -> None:
    file = real(PREDICTIONS / model / 'eval' / 'planning_eval.json')
    judgements = load_judgements(file, PLANNING, Protocol())
    rows = [json.loads(line)['eval'] for line in file.read_text(encoding='utf-8').splitlines()]
    for judged, said in zip(judgements, rows, strict=True):
        assert list(judged.found.why.values()) == [item['打分理由'].strip() for item in said]
