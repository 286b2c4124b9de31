"""The judge's reasons: from its reply into the details, the rows beside the result, and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.adapter import ToolEvalUltraToolEvaluator
from opencompass_tooleval.benchmarks.ultratool.judge import LABELS, judge_prompt, parse_scores
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.records import find_subset
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.report.samples import _judgements, _of_answer, _row
from opencompass_tooleval.results.table import ModelResult
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.benchmarks.ultratool.support import PREDICTIONS, load_judgements, make_record, real
from tests.judging.support import Script, Scripted, away, scripted

__all__ = ['away', 'scripted']  # fixtures
PLANNING = find_subset('planning')
REASONS = (('打分理由', '打分理由'), ('Reasoning', 'Scoring Reason'))


def reply(task: str, language: int = 1, first: str = '') -> list[dict[str, Any]]:
    """A judge's reply in the form that the prompt asks for; each reason says its dimension."""
    name = REASONS[language][task == 'tool_creation']
    return [{name: first or f'why {key}', labels[language]: 7} for key, labels in LABELS[task].items()]


def wanted(task: str) -> dict[str, str]:
    return {key: f'why {key}' for key in LABELS[task]}


@pytest.mark.parametrize('task', LABELS)
@pytest.mark.parametrize('language', [0, 1], ids=['zh', 'en'])
@pytest.mark.parametrize(
    'write',
    [
        pytest.param(lambda value: value, id='a list'),
        pytest.param(lambda value: f'```json\n{json.dumps(value, ensure_ascii=False)}\n```', id='fence'),
        pytest.param(lambda value: [dict(reversed(item.items())) for item in value], id='score first'),
        pytest.param(lambda value: json.dumps(value, ensure_ascii=False)[:-1] + ',', id='cut'),
        pytest.param(
            lambda value: '\n\n'.join(f'{key}: {said}' for item in value for key, said in item.items()), id='lines'
        ),
    ],
)
def test_reasons_are_read(task: str, language: int, write: Any) -> None:
    judgement = parse_scores(write(reply(task, language)), task)
    assert judgement.scores == dict.fromkeys(LABELS[task], 7.0)
    assert judgement.why == wanted(task)


def test_the_prompts_ask_for_reasons_by_these_names() -> None:
    for task, place in (('planning', 0), ('tool_creation', 1)):
        for language, names in zip(('zh', 'en'), REASONS, strict=True):
            assert f'"{names[place]}"' in judge_prompt(task, language, '', '', '')


def test_reasons_that_break_json_are_read() -> None:
    text = json.dumps(reply('planning', first='it says "now", twice'), ensure_ascii=False).replace('\\"', '"')
    judgement = parse_scores(text, 'planning')
    assert judgement.scores == dict.fromkeys(LABELS['planning'], 7.0)
    assert judgement.why == dict.fromkeys(LABELS['planning'], 'it says "now", twice')


def test_whose_reason_is_not_known_is_nobodys() -> None:
    one = {key: said for item in reply('planning') for key, said in item.items()}
    judgement = parse_scores(json.dumps(one), 'planning')
    assert (judgement.scores, judgement.why) == (dict.fromkeys(LABELS['planning'], 7.0), {})


@pytest.mark.parametrize('said', ['x' * 50_000, ['x' * 50_000], 10**2_000, '\ud83d', None, '', {'a': {'b': 1}}])
def test_reasons_are_bounded_text(said: Any) -> None:
    row = [{**item, 'Reasoning': said} for item in reply('planning')]
    judgement = parse_scores(row, 'planning')
    assert judgement.scores == dict.fromkeys(LABELS['planning'], 7.0)
    for text in judgement.why.values():
        assert isinstance(text, str) and len(text) <= 4_000 and text.encode('utf-8')
    assert bool(judgement.why) == bool(said)


PLAN = {'input': 'request', 'reference': '1. gold'}
TOOL_STEP = [{'step': '1.1 one', 'tool': {'name': 't'}}]
CASES = [
    ('planning', PLAN, '1. go'),
    ('tool_creation', {'input': TOOL_STEP, 'reference': TOOL_STEP}, json.dumps(TOOL_STEP)),
]


@pytest.mark.parametrize(('task', 'raw', 'answer'), CASES, ids=['planning', 'tool_creation'])
def test_they_reach_details_rows_and_report(
    task: str, raw: dict[str, Any], answer: str, tmp_path: Path, scripted: Script
) -> None:
    cfg = scripted(lambda *_: json.dumps(reply(task)))
    reference = make_record(task, raw).to_payload()
    for _ in range(2):  # the second judge reads what the first has kept
        evaluator = ToolEvalUltraToolEvaluator(task, 'en', judge_cfg=cfg)
        evaluator._out_dir = str(tmp_path / 'results' / 'model' / 'set')
        (score,) = evaluator.score_samples([reference], [as_answer(answer)])
        assert score.values['overall'] == 0.7
        detail = score.to_detail()
        assert detail['steps'][0]['why'] == wanted(task)
        entry = ModelResult('model', 'set', WorkDir(tmp_path), 'model', {})
        assert _row(detail, {}, _judgements(entry)['r'], are_dialogues=False)['more']['judgements'] == [
            {
                'id': 'r',
                **({} if task == 'planning' else {'step': '1.1'}),
                'status': 'judged',
                'scores': dict.fromkeys(LABELS[task], 7.0),
                'why': wanted(task),
                'answer_digest': score.steps[0].answer_digest,
            }
        ]
        of_answer, of_another_run = _judgements(entry)['r'], {'answer_digest': 'ab' * 16}
        assert _of_answer([of_another_run, {'id': 'r'}, *of_answer], detail) == [{'id': 'r'}, *of_answer]
        Path(f'{evaluator._out_dir}_judgements.jsonl').rename(tmp_path / 'kept.jsonl')
    assert len(Scripted.asked) == 1
    given = ToolEvalUltraToolEvaluator(task, 'en', judgements=str(tmp_path / 'kept.jsonl'))
    assert given.score_samples([reference], [as_answer(answer)]) == [score]


def test_rows_without_reasons_are_read_as_before(tmp_path: Path) -> None:
    file = tmp_path / 'old.jsonl'
    scores = dict.fromkeys(LABELS['planning'], 7)
    old = [{'id': '0', 'status': 'judged', 'scores': scores}, {'id': '1', 'scores': scores, 'why': 'a text'}]
    file.write_text(''.join(f'{json.dumps(row)}\n' for row in old), encoding='utf-8')
    assert [dict(judged.found.why) for judged in load_judgements(file, PLANNING, Protocol())] == [{}, {}]


@pytest.mark.parametrize('model', ['gpt-3.5', 'gpt-4'])
def test_published_reasons_are_kept(model: str) -> None:
    file = real(PREDICTIONS / model / 'eval' / 'planning_eval.json')
    judgements = load_judgements(file, PLANNING, Protocol())
    rows = [json.loads(line)['eval'] for line in file.read_text(encoding='utf-8').splitlines()]
    for judged, said in zip(judgements, rows, strict=True):
        assert list(judged.found.why.values()) == [item['打分理由'].strip() for item in said]
