"""A judgement counts for the answer that it judged, and for no other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from opencompass_tooleval.benchmarks.ultratool.data import Record, find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import LABELS
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import ScoresGrading
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.catalogue.benchmark import find_benchmark
from opencompass_tooleval.core.calls.answer import as_answer, clean
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.score import score_recorded
from opencompass_tooleval.judging.grading import item_digests
from opencompass_tooleval.judging.judgement import UnjudgedError
from tests.benchmarks.support import write_rows
from tests.benchmarks.ultratool.support import PREDICTIONS, load_judgements, make_record, published, real
from tests.judging.support import evaluate as evaluate_rows

PLANNING, CREATION = find_subset('planning'), find_subset('tool_creation')
RULES = Protocol()
ULTRATOOL = find_benchmark('ultratool')


def scores(task: str, score: float) -> dict[str, float]:
    return dict.fromkeys(LABELS[task], score)


def eval_of(task: str, score: float) -> list[dict[str, Any]]:
    return [{'打分理由': 'w', labels[0]: score} for labels in LABELS[task].values()]


def plans(count: int) -> list[Record]:
    return [make_record('planning', {'input': f'q{i}', 'reference': '1. g'}, str(i)) for i in range(count)]


def evaluate(
    records: Sequence[Record],
    answers: Sequence[str],
    run: Path,
    model: str,
    more: Sequence[Mapping[str, Any]] = (),
    **evaluator: Any,
) -> dict[str, Any]:
    """What OpenCompass's task does, after a run that left these predictions."""
    subset = records[0].subset.name
    rows = {str(i): {'prediction': a, 'record_id': r.id} for i, (r, a) in enumerate(zip(records, answers, strict=True))}
    for row, fields in zip(rows.values(), more, strict=False):
        row |= fields
    file = run / 'predictions' / model / 'set.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows), encoding='utf-8')
    scorer = ToolEvalUltraToolEvaluator(subset, 'zh', **evaluator)
    scorer._out_dir = str(run / 'results' / model / 'set')
    dataset = Dataset.from_list([{'record_id': record.id, 'record': record.to_payload()} for record in records])
    return evaluate_rows(scorer, dataset, answers)


ANSWERS = ['1. a', '1. b']


def test_the_authors_rows_say_what_they_judged(tmp_path: Path) -> None:
    rows = [
        {'data': {'data': record.raw, 'init output': answer}, 'eval': eval_of('planning', 8)}
        for record, answer in zip(plans(2), ANSWERS, strict=True)
    ]
    file = write_rows(tmp_path / 'x.json', rows)
    result = evaluate(plans(2), ANSWERS, tmp_path, 'right', judgements=str(file))
    assert result['overall'] == pytest.approx(80.0)
    with pytest.raises(UnjudgedError, match=r'1 of 2 .* record 1 \(judgement of another answer\)') as caught:
        evaluate(plans(2), ['1. a', '1. c'], tmp_path, 'other', judgements=str(file))
    assert 'give each model its own file' in str(caught.value)


@pytest.mark.parametrize(('model', 'other', 'overall'), [('gpt-3.5', 'gpt-4', 69.50), ('gpt-4', 'gpt-3.5', 76.39)])
def test_published_judgements_are_of_their_model(model: str, other: str, overall: float, tmp_path: Path) -> None:
    """With the answers, alone, and with those of another model."""
    file, out = real(PREDICTIONS / model / 'eval' / 'planning_eval.json'), tmp_path / 'out.json'
    request: dict[str, Any] = {'benchmark': ULTRATOOL, 'subset': 'planning', 'judgements': file, 'json_out': str(out)}
    for more in ({'predictions': PREDICTIONS / model / 'planning.json'}, {}):
        score_recorded(**{**request, **more})
        said = json.loads(out.read_text(encoding='utf-8'))
        assert round(said['metrics']['overall'], 2) == overall
        assert (said['samples'], said['language']) == (1000, 'zh')
    with pytest.raises(UnjudgedError, match='of another answer'):
        score_recorded(**request, predictions=PREDICTIONS / other / 'planning.json')


@pytest.mark.parametrize('model', ['gpt-3.5', 'gpt-4'])
def test_no_published_plan_is_cut_to_nothing(model: str) -> None:
    """Seven of GPT-3.5's are refusals in one paragraph; the published judge saw them."""
    for row in published(model, 'planning'):
        assert row.record is not None
        grading = ScoresGrading([row.record], [], PLANNING, RULES)
        assert list(item_digests(grading.items_of(row.record, clean(as_answer(row.answer))))) == ['']


def creation_steps(record: int) -> list[dict[str, Any]]:
    return [{'step': f'1.{i} do {i}', 'tool': {'name': f't{record}{i}'}} for i in (1, 2)]


def creations(count: int) -> list[Record]:
    raws = [{'input': [{'step': f'1. all {i}'}], 'reference': creation_steps(i)} for i in range(count)]
    return [make_record('tool_creation', raw, str(i)) for i, raw in enumerate(raws)]


def creation_rows(records: Sequence[Record], answers: Sequence[str], shape: str = 'gpt') -> list[dict[str, Any]]:
    """``eval/tool_creation_eval.json``: one row per created tool, with the post-processed row in it."""
    rows = []
    for record, answer in zip(records, answers, strict=True):
        reference = record.raw['reference']
        data = {'golden': reference, 'pred': [], 'pred_need_eval': []}
        if shape == 'gpt':
            data |= {'data': record.raw, 'init output': answer}
        else:
            data |= {'question': record.raw, 'original ans': reference, 'total output': {'init output': [answer]}}
        made = [item['step'] for item in json.loads(answer)]
        rows += [
            {'data': data, 'step': step['step'], 'eval': eval_of('tool_creation', 4 + i)}
            for i, step in enumerate(reference)
            if step['step'] in made
        ]
    return rows


@pytest.mark.parametrize('shape', ['gpt', 'open'])
def test_the_authors_judgements_of_created_tools(shape: str, tmp_path: Path) -> None:
    records = creations(3)
    answers = [json.dumps(creation_steps(0)), '[]', json.dumps(creation_steps(2)[1:])]
    file = write_rows(tmp_path / 'tool_creation_eval.json', creation_rows(records, answers, shape))
    result = evaluate(records, answers, tmp_path, 'm', judgements=str(file))
    # flat over judged tools; of a sample with none, each gold step is 0
    assert result['overall'] == pytest.approx((40 + 50 + 0 + 0 + 50) / 5)
    assert [detail['reason'] for detail in result['details']][1] == 'tool:missing'
    with pytest.raises(UnjudgedError, match=r'1 of 3 .*record 0, step 1\.1 \(judgement of another answer\)'):
        others = [json.dumps([{'step': '1.1 do', 'tool': {'name': 'x'}}, *creation_steps(0)[1:]]), *answers[1:]]
        evaluate(records, others, tmp_path, 'n', judgements=str(file))


def test_created_tools_of_another_answer_may_be_the_same_tool(tmp_path: Path) -> None:
    """What was judged is a tool; the text around it does not matter."""
    records, answers = creations(1), [json.dumps(creation_steps(0))]
    file = write_rows(tmp_path / 'x.json', creation_rows(records, answers))
    again = [f'Here: {json.dumps(creation_steps(0)[::-1])}']
    assert evaluate(records, again, tmp_path, 'm', judgements=str(file))['overall'] == pytest.approx(45.0)


def test_judgements_of_created_tools_that_are_of_other_data(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'x.json', creation_rows(creations(1), [json.dumps(creation_steps(0))]))
    with pytest.raises(DataError, match="record '0': it judges a record that is not in the data"):
        load_judgements(file, CREATION, RULES, creations(5)[1:])
    for row in ({'eval': []}, {'eval': [], 'data': {}, 'step': ' '}, {'eval': [], 'data': 5, 'step': '1.1 x'}):
        with pytest.raises(DataError, match="needs 'data' and the text of its 'step'"):
            load_judgements(write_rows(tmp_path / 'y.json', [row]), CREATION, RULES)


def test_what_a_file_could_not_judge_keeps_its_reason(tmp_path: Path) -> None:
    rows = [{'id': '0', 'status': 'unjudged', 'fault': 'range:overall'}, {'id': '1', 'scores': scores('planning', 11)}]
    with pytest.raises(UnjudgedError, match=r'2 of 2 .*: 2 out of range'):
        evaluate(plans(2), ANSWERS, tmp_path, 'm', judgements=str(write_rows(tmp_path / 'x.jsonl', rows)))
    with pytest.raises(UnjudgedError, match='1 no judgement'):
        evaluate(plans(2), ANSWERS, tmp_path, 'm', judgements=str(write_rows(tmp_path / 'x.jsonl', rows[:1])))


def test_several_answers_judged_need_the_answers(tmp_path: Path) -> None:
    rows = [{'id': '0', 'scores': scores('planning', 5), 'answer_digest': digest * 16} for digest in ('ab', 'cd')]
    file = write_rows(tmp_path / 'x.jsonl', rows)
    with pytest.raises(DataError, match='judges several answers'):
        score_recorded(ULTRATOOL, 'planning', judgements=file)


TWO_LISTS = '[{"step": "1.1 b", "param": {"x": "1"}}] [{"step": "1.1 b", "tool": "t", "param": {"x": "12"}}]'


@pytest.mark.parametrize(
    ('shapes', 'setting', 'list_choice', 'style', 'value'),
    [
        (['gpt', 'gpt'], {}, 'span', 'gpt', 0.0),
        (['open', 'open'], {}, 'last', 'open', 100.0),
        (['gpt', 'open'], {}, 'last', None, 100.0),
        ([None, None], {}, 'last', 'open', 100.0),
        (['gpt', 'gpt'], {'list_choice': 'last'}, 'last', None, 100.0),
        ([None, None], {'list_choice': 'span'}, 'span', None, 0.0),
    ],
)
def test_the_shape_of_what_is_replayed_chooses_the_list(
    shapes: list[str | None], setting: dict[str, Any], list_choice: str, style: str | None, value: float, tmp_path: Path
) -> None:
    reference = [{'step': '1.1 b', 'tool': 't', 'param': {'x': '12'}}]
    toolset = [{'name': 't', 'arguments': {'properties': {'x': {}}}}]
    raw = {'question': 'q', 'input': reference, 'toolset': toolset, 'reference': reference}
    records = [make_record('tool_usage', raw, str(i)) for i in range(2)]
    rows = [{'recorded_shape': shape} for shape in shapes]
    result = evaluate(records, [TWO_LISTS] * 2, tmp_path, 'm', rows, **setting)
    provenance = result['provenance']
    shown = provenance['list_choice'], provenance['prompt_style'], result['local_levenshtein']
    assert shown == (list_choice, style, value)
