"""The judge's prompt and replies, stored trajectories, and the success rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import FinalAnswer, load_final_answers, parse_final_answer
from opencompass_tooleval.benchmarks.toolbench.prompts import SUCCESS
from opencompass_tooleval.benchmarks.toolbench.scoring import (
    SuccessGrading,
    question_of,
)
from opencompass_tooleval.benchmarks.toolbench.task import (
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchSuccessEvaluator,
    ToolEvalToolBenchTrajectories,
)
from opencompass_tooleval.core.calls.answer import Answer, as_answer, clean
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.judging.judge_item import prompt_hash
from opencompass_tooleval.judging.judgement import Judgement, Opinion, Unread
from opencompass_tooleval.judging.yes_no import read_reply
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.support import write_rows
from tests.benchmarks.toolbench.support import DEMO
from tests.instructions.shared_data import DATA
from tests.judging.support import Script, Scripted, away, evaluate, scripted

__all__ = ['away', 'scripted']  # fixtures

PAPER = DATA.parent / 'papers' / 'easytool.md'


# The prompt


def test_the_prompt_is_the_papers_word_for_word() -> None:
    if not PAPER.is_file():
        pytest.skip('the paper is not in ../shared/papers beside the repository')
    printed = PAPER.read_text(encoding='utf-8').replace('```', '')
    assert ''.join(SUCCESS.split()) in ''.join(printed.split())


def test_what_is_filled_in_is_no_placeholder() -> None:
    prompt = question_of('1', 'What is {answer}?', '{question} %s {0} \\1').prompt
    assert prompt.endswith('question: What is {answer}?\nThis is the response: {question} %s {0} \\1\nOutput:')
    assert len(prompt_hash(SUCCESS)) == 12


# Replies


@pytest.mark.parametrize(
    ('reply', 'success', 'why'),
    [
        ('{"Reason": "It does.", "Choice": "Yes"}', True, 'It does.'),
        ("{'reason': 'x', 'choice': 'YES'}", True, 'x'),
        ('```json\n{"Reason": "x", "Choice": "no."}\n```', False, 'x'),
        ('Here you are: {"Reason": "x", "Choice": "Yes"} Bye.', True, 'x'),
        ('<think>{"Choice": "No"}</think>{"Reason": "x", "Choice": "Yes"}', True, 'x'),
        ('YES', True, ''),
        ('{"Reason": "It "is" done.", "Choice": "Yes"}', True, 'It "is" done.'),  # quotes that are not escaped
        ('{"Reason": "cut off, "Choice": "No"', False, 'cut off'),
        ('{"Reason": "The text says \\"Choice\\": \\"No\\".", "Choice": "Yes"}', True, 'The text says "Choice": "No".'),
    ],
)
def test_replies(reply: str, success: bool, why: str) -> None:
    assert read_reply(reply) == Opinion('yes' if success else 'no', 'success', why)


@pytest.mark.parametrize(
    'reply',
    [
        '',
        'I am not sure.',
        '{"Reason": "x", "Choice": "Maybe"}',
        '{"Reason": "x", "Choice": "Yes or No"}',
        '{"Reason": "broken " quotes, "Choice": "Yes"} {"Choice": "No"}',
        '<think>{"Choice": "Yes"}',
        'Yes, since the answer is no good',
    ],
)
def test_what_says_neither_is_never_a_no(reply: str) -> None:
    assert isinstance(read_reply(reply), Unread)


def test_hostile_replies() -> None:
    assert {type(read_reply(text)) for text in HOSTILE.values()} == {Unread}


# Trajectories


def test_every_shape_of_trajectories_is_read(tmp_path: Path) -> None:
    expected = [FinalAnswer('7', 'When?', 'Now.'), FinalAnswer('8', 'Where?', '')]
    asked = {'7': {'query': 'When?', 'final_answer': 'Now.'}, '8': {'query': 'Where?', 'final_answer': ''}}
    queries = {key: row['query'] for key, row in asked.items()}
    shapes: dict[str, Any] = {
        'list': [{'id': 7, **asked['7']}, {'id': 8, 'question': 'Where?', 'answer': ''}],
        'toolbench': {key: {'query': row['query'], 'answer': row} for key, row in asked.items()},
        'answer_generation': {key: {'answer_generation': row} for key, row in asked.items()},
        'opencompass': {
            key: {'prediction': row['final_answer'], 'record_id': key, 'infra': None} for key, row in asked.items()
        },
    }
    for name, content in shapes.items():
        file = tmp_path / f'{name}.json'
        file.write_text(json.dumps(content), encoding='utf-8')
        assert load_final_answers(file, queries) == expected, name
    lines = write_rows(tmp_path / 'lines.jsonl', shapes['list'])
    assert load_final_answers(lines) == expected
    one = write_rows(tmp_path / 'one.jsonl', shapes['list'][:1])
    assert load_final_answers(one) == expected[:1]
    assert [parse_final_answer(one.to_payload()) for one in expected] == expected


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'id': 1, 'answer': 'x'}], "record '1': the trajectory has no 'query'"),
        ([{'id': 1, 'query': 'q'}], "record '1': the trajectory has no text in 'final_answer'"),
        ([{'id': 1, 'query': 'q', 'answer': 'x', 'infra': 'late'}], "record '1': 'infra'"),
        ([{'id': 1, 'query': 'q', 'answer': 'x'}] * 2, "record '1': two trajectories"),
        ([3, 4], "record '0': the trajectory is not an object"),
        ([], 'contains no trajectories'),
    ],
)
def test_damaged_trajectories_are_named(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_final_answers(write_rows(tmp_path / 'f.jsonl', rows))
    assert 'f.jsonl' in str(caught.value)


# Judgements and scores


def said(record_id: str, success: bool, why: str = '', digest: str = '') -> Judgement[Opinion]:
    found = Opinion('yes' if success else 'no', 'success', why)
    return Judgement(record_id, found=found, answer_digest=digest)


def test_scores_and_their_reasons() -> None:
    one = FinalAnswer('1', 'q', 'a')

    def scored(answer: Answer | str, judgement: Judgement | None) -> tuple[float | None, str]:
        score = SuccessGrading([], []).score_answer(one, as_answer(answer), [judgement] if judgement else [])
        return score.values['success_rate'], score.reason

    yes, no = said('1', True, 'w'), said('1', False)
    assert scored('a', yes) == (1.0, 'ok')
    assert scored('a', no) == (0.0, 'judge:no')
    assert scored('a', Judgement('1', status='unjudged')) == (None, 'judge:unjudged')
    assert scored('a', None) == (None, 'judge:unjudged')
    assert scored(' ', None) == (0.0, 'answer:empty')
    assert scored('x' * 200_001, yes) == (0.0, 'answer:too_long')
    assert scored(Answer('', 'infra:timeout'), None) == (0.0, 'infra:timeout')
    assert scored(clean(Answer('<think>never ends')), None) == (0.0, 'answer:truncated_reasoning')
    detail = SuccessGrading([], []).score_answer(one, Answer('a'), [yes]).to_detail()
    assert (detail['parsed'], detail['gold'], detail['why']) == ('a', None, 'w')  # the request is no gold answer


def test_judgements_survive_a_file(tmp_path: Path) -> None:
    trajectories = [FinalAnswer(str(i), 'q', '' if i == 1 else 'a') for i in range(150)]
    answers = [Answer(one.answer) for one in trajectories]
    judgements = [said(str(i), i % 3 == 0, f'why {i}', answer_digest('a')) for i in range(2, 150)]
    grading = SuccessGrading(trajectories, answers)
    asked = [judgement for judgement, _ in grading.items]
    rows = grading.rows([asked[0].with_verdict(Unread('no_judgement')), asked[1], *judgements])
    loaded = SuccessGrading((), ()).read(write_rows(tmp_path / 'judgements.jsonl', rows))
    assert [judgement.status for judgement in loaded[:3]] == ['unjudged', 'missing', 'judged']
    assert loaded[2:] == judgements
    assert grading.check(grading.score(loaded)) == grading.score(judgements)


def test_reasons_are_bounded_text(tmp_path: Path) -> None:
    verdict = read_reply(json.dumps({'Reason': 'x' * 100_000, 'Choice': 'Yes'}))
    assert isinstance(verdict, Opinion) and len(verdict.why) == 4_000 and verdict.why.endswith('x…')
    reply = '{"Reason": {"tone": ["ok", 1]}, "Choice": "No"}'
    assert read_reply(reply) == Opinion('no', 'success', '{"tone": ["ok", 1]}')
    file = write_rows(
        tmp_path / 'own.jsonl', [{'id': '1', 'success': True}, {'id': '2', 'success': False, 'why': 'x' * 5_000}]
    )
    assert [len(judgement.found.why) for judgement in SuccessGrading((), ()).read(file)] == [0, 4_000]


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'id': '1', 'status': 'perhaps', 'success': True}], "'status'"),
        ([{'id': '1', 'success': 1}], "'success' must be"),
        ([{'id': '1', 'status': 'unjudged', 'success': True}], "'success' must be"),
        ([{'id': '1', 'success': True}] * 2, 'judged twice'),
    ],
)
def test_damaged_judgements_are_named(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"f.jsonl: record '1': .*{message}"):
        SuccessGrading((), ()).read(write_rows(tmp_path / 'f.jsonl', rows))


def test_judgements_may_be_replies_and_content_in_parts_is_its_text(tmp_path: Path) -> None:
    parts = [{'type': 'text', 'text': 'It is '}, {'type': 'text', 'text': '7.'}]
    file = write_rows(tmp_path / 'f.jsonl', [{'id': '1', 'query': 'q', 'final_answer': parts}])
    assert [trajectory.answer for trajectory in load_final_answers(file)] == ['It is 7.']
    rows = [{'id': '1', 'reply': '{"Reason": "r", "Choice": "Yes"}'}, {'id': '2', 'reply': 'hm'}]
    unread = Judgement('2', status='unjudged', fault='unread')
    assert SuccessGrading((), ()).read(write_rows(file, rows)) == [said('1', True, 'r'), unread]
    reply = [{'type': 'text', 'text': '{"Choice": '}, {'type': 'text', 'text': '"Yes"}'}]
    assert SuccessGrading((), ()).read(write_rows(file, [{'id': '1', 'reply': reply}])) == [said('1', True)]
    with pytest.raises(DataError, match=r"f.jsonl: record '1': .*part of type 'audio'"):
        SuccessGrading((), ()).read(write_rows(file, [{'id': '1', 'reply': [*reply, {'type': 'audio'}]}]))


def test_a_failure_that_is_stored_is_one(scripted: Script, tmp_path: Path) -> None:
    rows = [{'id': f'r{i}', 'query': 'q', 'final_answer': '' if i else 'a'} for i in range(2)]
    rows[1]['infra'] = 'infra:timeout'
    dataset = ToolEvalToolBenchTrajectories.load(str(write_rows(tmp_path / 'stored.jsonl', rows)))
    evaluator = ToolEvalToolBenchSuccessEvaluator(judge_cfg=scripted(lambda *_: '{"Reason": "r", "Choice": "Yes"}'))
    result = evaluate(evaluator, dataset, list(dataset['gold_answer']))
    assert result['reasons'] == {'ok': 1, 'infra:timeout': 1}
    assert result['samples'] == {'all': 2, 'infra': 1}
    assert Scripted.asked == ['r0']


def test_without_a_judge_it_says_what_to_set() -> None:
    with pytest.raises(ValueError, match=r'the success rate needs a judge: .*OC_JUDGE_MODEL'):
        ToolEvalToolBenchSuccessEvaluator()


def test_trajectories_without_requests_take_them_from_a_test_file(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'p.jsonl', [{'record_id': '201', 'prediction': 'At ten.'}])
    (row,) = ToolEvalToolBenchTrajectories.load(str(file), data=str(DEMO / 'G2_category.json'))
    assert 'skating in Leeds' in row['messages']


def test_calls_look_for_no_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', str(tmp_path / 'none'))
    assert len(ToolEvalToolBenchDataset.load(str(DEMO), 'calls_g2')) == 3
    with pytest.raises(ValueError, match='ToolEvalToolBenchTrajectories'):
        ToolEvalToolBenchDataset.load(str(DEMO), 'success')
