"""The judge's prompts, replies as judges write them, and their reasons up to the report; scores from judgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_tooleval.benchmarks.ultratool.data import Record, find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import (
    LABELS,
    Judged,
    Scores,
    created_tools,
    dimensions,
    items_to_judge,
    judge_prompt,
    parse_scores,
    prompt_hash,
)
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_steps import StepsScore
from opencompass_tooleval.benchmarks.ultratool.scoring import (
    ScoresGrading,
    aggregate_scores,
    read_answer,
    score_answer,
    score_judgements,
)
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.judging.judgement import UnjudgedError, Unread
from opencompass_tooleval.report.samples import _judgements, _of_answer, _row
from opencompass_tooleval.results.table import ModelResult
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.benchmarks.support import cases, digest, write_rows
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


def scores_in(value: Any, task: str) -> Scores:
    found = parse_scores(value, task)
    assert isinstance(found, Scores)
    return found


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
    judgement = scores_in(write(reply(task, language)), task)
    assert judgement.scores == dict.fromkeys(LABELS[task], 7.0)
    assert judgement.why == {key: f'why {key}' for key in LABELS[task]}


def test_reasons_that_break_json_are_read() -> None:
    text = json.dumps(reply(why='it says "now", twice'), ensure_ascii=False).replace('\\"', '"')
    judgement = scores_in(text, 'planning')
    assert (judgement.scores, judgement.why) == (SEVENS, dict.fromkeys(SEVENS, 'it says "now", twice'))


def test_whose_reason_is_not_known_is_nobodys() -> None:
    one = {key: said for item in reply() for key, said in item.items()}
    judgement = scores_in(json.dumps(one), 'planning')
    assert (judgement.scores, judgement.why) == (SEVENS, {})


@pytest.mark.parametrize('message', ['x' * 50_000, ['x' * 50_000], 10**2_000, '\ud83d', None, '', {'a': {'b': 1}}])
def test_reasons_are_bounded_text(message: Any) -> None:
    judgement = scores_in([{**item, 'Reasoning': message} for item in reply()], 'planning')
    assert judgement.scores == SEVENS
    for text in judgement.why.values():
        assert isinstance(text, str) and len(text) <= 4_000 and text.encode('utf-8')
    assert bool(judgement.why) == bool(message)


@pytest.mark.parametrize('score', ['7', '7/10', '7分', 7.0, ' 7 '])
def test_scores_as_judges_write_them(score: Any) -> None:
    assert scores_in(reply(language=0, score=score), 'planning').scores['overall'] == 7.0


@pytest.mark.parametrize('mark', ['{}: 7', '- **{}**: 7', '* {}：7/10', '{}: **7**', '## {}:\n\n  **7**'])
def test_lines_are_read(mark: str) -> None:
    text = 'As of [1], I say:\n' + '\n'.join(mark.format(label) for _, label in LABELS['planning'].values())
    assert scores_in(text, 'planning').scores == SEVENS
    text = json.dumps([{f'**{label.lower()}**': 7 for _, label in LABELS['planning'].values()}])
    assert scores_in(text, 'planning').scores == SEVENS


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
        assert isinstance(score, StepsScore)
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


CREATION = find_subset('tool_creation')
GRADING = ScoresGrading((), (), CREATION, Protocol())


def judged(step: str, score: float, record_id: str = '0') -> Judged:
    return Judged(record_id, step, 'judged', Scores(dict.fromkeys(dimensions(CREATION), score)))


def creation(record_id: str = '0') -> Record:
    steps = [{'step': '1.1 a', 'tool': {'name': 'a'}}, {'step': '1.2 b', 'tool': {'name': 'b'}}]
    return make_record('tool_creation', {'input': steps, 'reference': steps}, record_id)


def answer(*tools: Any) -> str:
    return json.dumps([{'step': f'1.{i} x', 'tool': tool} for i, tool in enumerate(tools, 1)])


BOTH = answer({'name': 'a'}, {'name': 'b'})


@pytest.mark.parametrize(
    ('text', 'judgements', 'official', 'strict', 'reason'),
    [
        (BOTH, [judged('1.1', 8), judged('1.2', 6)], 0.7, 0.7, 'judge:below_full'),
        (BOTH, [judged('1.1', 10), judged('1.2', 10)], 1.0, 1.0, 'ok'),
        (answer({'name': 'a'}), [judged('1.1', 8)], 0.8, 0.4, 'judge:below_full'),
        (answer({'name': 'a'}, {}), [judged('1.1', 8)], 0.8, 0.4, 'judge:below_full'),
        (answer('a', 'b'), [], 0.0, 0.0, 'tool:missing'),
        ('I cannot.', [], 0.0, 0.0, 'answer:refused'),
        (BOTH, [judged('1.1', 8)], 0.8, 0.8, 'judge:below_full'),
        (BOTH, [], None, None, 'judge:unjudged'),
        (answer({'name': 'a'}), [], None, 0.0, 'judge:unjudged'),
        (answer({'name': 'a'}, {'name': 'b'}, {'name': 'c'}), [judged('1.1', 8), judged('1.2', 8)], 0.8, 0.8, ''),
    ],
)
def test_created_tools(
    text: str, judgements: list[Judged], official: float | None, strict: float | None, reason: str
) -> None:
    for scoring, value in (('official', official), ('strict', strict)):
        score = score_answer(creation(), text, Protocol(scoring), judgements)
        assert [score.values[name] for name in dimensions(CREATION)] == [
            None if value is None else pytest.approx(value)
        ] * 6
        assert not reason or score.reason == reason


def test_the_mean_is_flat_over_judged_tools() -> None:
    records, answers = [creation('0'), creation('1'), creation('2')], [BOTH, answer({'name': 'a'}), 'none']
    judgements = [judged('1.1', 8), judged('1.2', 6), judged('1.1', 10, '1')]
    for scoring, count in (('official', 5), ('strict', 6)):
        scores = ScoresGrading(records, answers, CREATION, Protocol(scoring)).score(judgements)
        metrics = aggregate_scores(scores, CREATION.metrics).metrics
        assert metrics['overall'] == pytest.approx(100 * (0.8 + 0.6 + 1.0) / count)
        assert metrics['json_rate'] == pytest.approx(200 / 3)


def test_judgements_alone() -> None:
    rows = [judged('1.1', 8), *(Judged(*step, 'missing') for step in (('0', '1.2'), ('1', '1.1'), ('1', '1.2')))]
    records = [creation('0'), creation('1')]
    for known in ((), (records,)):
        total = aggregate_scores(score_judgements(CREATION, rows, Protocol(), *known), CREATION.metrics)
        assert total.metrics['overall'] == pytest.approx(100 * 0.8 / 3)
        assert total.metrics['json_rate'] is None
    with pytest.raises(ValueError, match="record '7'"):
        score_judgements(CREATION, [judged('1.1', 8, '7')], Protocol(), records)


def test_a_file_that_ends_early_is_no_zero() -> None:
    """What no row is of was not judged; that nothing was created is said by a row."""
    scores = score_judgements(CREATION, [judged('1.1', 8)], Protocol(), [creation('0'), creation('1')])
    assert [step.reason for score in scores for step in score.steps].count('judge:unjudged') == 3
    with pytest.raises(UnjudgedError, match='3 of 4 could not be judged'):
        GRADING.check(scores)


@pytest.mark.parametrize(
    ('items', 'official', 'strict'),
    [
        ([{'step': '1.1', 'tool': {'name': 'x'}}, {'step': '3', 'tool': {'name': 'y'}}], True, True),
        ([{'step': '1.1', 'tool': {}}, {'step': '1.1', 'tool': {'name': 'x'}}], False, True),
        ([{'step': '1.1'}, {'step': '1.1', 'tool': {'name': 'x'}}], True, True),
        ([{'step': '1.1', 'tool': 'x'}, {'step': '1.1', 'tool': {'name': 'x'}}], False, True),
        ([{'step': ' 1.1 a', 'tool': {'name': 'x'}}], False, True),
        ([{'step': '1.1\ta', 'tool': {'name': 'x'}}], False, True),
    ],
)
def test_which_tools_are_judged(items: list[Any], official: bool, strict: bool) -> None:
    for scoring, counts in (('official', official), ('strict', strict)):
        created = created_tools(creation(), items, Protocol(scoring))
        assert created == ({'1.1': {'name': 'x'}} if counts else {})


def test_files_of_judgements(tmp_path: Path) -> None:
    scores = dict.fromkeys(dimensions(CREATION), 8)
    rows: list[Any] = [
        {'id': '3', 'step': '1.1', 'status': 'judged', 'scores': scores, 'judge': 'any'},
        {'id': '3', 'step': '1.2', 'status': 'missing'},
        {'id': '4', 'step': '1.1', 'scores': {**scores, 'overall': 11}},
        {'id': '5', 'step': '1.1', 'scores': scores, 'why': 'a text, as older versions wrote it'},
    ]
    read = load_judgements(write_rows(tmp_path / 'judgements.jsonl', rows), CREATION, Protocol())
    assert [(item.id, item.step, item.status) for item in read] == [
        ('3', '1.1', 'judged'),
        ('3', '1.2', 'missing'),
        ('4', '1.1', 'unjudged'),
        ('5', '1.1', 'judged'),
    ]
    assert not read[3].found.why


def published(score: Any) -> dict[str, Any]:
    labels = ('准确性分数', '完整性分数', '可执行性分数', '语法健全性分数', '结构合理性分数', '高效性分数', '总分')
    return {'data': {}, 'eval': [{'打分理由': '', label: score} for label in labels]}


def test_the_zeros_of_the_published_judgements_count_officially_only(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'judgements.jsonl', [published(0), published('8')])
    assert [item.status for item in load_judgements(file, PLANNING, Protocol())] == ['judged', 'judged']
    assert [item.status for item in load_judgements(file, PLANNING, Protocol('strict'))] == ['unjudged', 'judged']


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'id': '0'}], "neither 'scores' nor 'eval'"),
        ([{'id': '0', 'scores': {'overall': 8}}], "'scores' needs numbers for accuracy"),
        ([{'id': '0', 'status': 'lost'}], "'status' is not one of"),
        ([{'id': '0', 'status': 'missing'}] * 2, 'it is judged twice'),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_judgements(write_rows(tmp_path / 'judgements.jsonl', rows), PLANNING, Protocol())


GOLD = {'name': 'query_rate', 'description': '查询汇率', 'required': True}
STEPS: list[dict[str, Any]] = [
    {'step': '1.1 Query the rate', 'tool': GOLD},
    {'step': '1.2 换算', 'tool': GOLD},
    {'step': '1.3', 'tool': GOLD},
]
CREATED = {'name': "rate's", 'arguments': {'x': None}}


def creation_record() -> Record:
    return make_record('tool_creation', {'input': STEPS, 'reference': STEPS})


def prompts(record: Record, answer: Any, scoring: str) -> list[str]:
    protocol = Protocol(scoring, 'span')
    asked = items_to_judge(record, read_answer(record.subset, answer, protocol), protocol)
    return [item.prompt for _, item in asked if item]


def test_created_tools_are_shown_to_the_judge() -> None:
    """Officially one word of the step, and tools as Python writes them; strictly the whole step, and JSON."""
    answer = str([{'step': step['step'], 'tool': CREATED} for step in STEPS])
    assert prompts(creation_record(), answer, 'official') == [
        judge_prompt('tool_creation', 'zh', question, str(GOLD), str(CREATED)) for question in ('Query', '换算', '')
    ]
    gold, tool = (json.dumps(value, ensure_ascii=False) for value in (GOLD, CREATED))
    assert prompts(creation_record(), answer, 'strict') == [
        judge_prompt('tool_creation', 'zh', step['step'], gold, tool) for step in STEPS
    ]


@pytest.mark.parametrize('scoring', ['official', 'strict'])
def test_tuples_are_shown_as_lists(scoring: str) -> None:
    """The published code writes created tools to JSON, and its judge sees what it reads there."""
    tuples, lists = ({'name': 'x', 'enum': kind(('a', 'b'))} for kind in (tuple, list))
    answers = [str([{'step': STEPS[0]['step'], 'tool': tool}]) for tool in (tuples, lists)]
    shown = [prompts(creation_record(), answer, scoring) for answer in answers]
    assert shown[0] == shown[1] != []


@pytest.mark.parametrize(('scoring', 'asked'), [('official', 1), ('strict', 2)])
def test_the_first_item_of_a_step_decides_officially(scoring: str, asked: int) -> None:
    steps = [('1.1 a', {}), ('1.1 a', {'name': 'x'}), ('1.2 b', None), ('1.2 b', {'name': 'y'})]
    items = [{'step': step} if tool is None else {'step': step, 'tool': tool} for step, tool in steps]
    assert len(prompts(creation_record(), json.dumps(items), scoring)) == asked


@pytest.mark.parametrize(
    ('answer', 'official', 'strict'),
    [
        ('Sure!\n\n1. a\n1.1 b\n\nGood luck!', '1. a\n1.1 b', '1. a\n1.1 b'),
        ('1. a<|im_end|>', '1. a', '1. a'),
        ('First a.\n\nThen b.', 'First a.', 'First a.\n\nThen b.'),
    ],
)
def test_plans_are_cut(answer: str, official: str, strict: str) -> None:
    record = make_record('planning', {'input': 'q', 'reference': '1. gold'})
    assert prompts(record, answer, 'official') == [judge_prompt('planning', 'zh', 'q', '1. gold', official)]
    assert prompts(record, answer, 'strict') == [judge_prompt('planning', 'zh', 'q', '1. gold', strict)]
