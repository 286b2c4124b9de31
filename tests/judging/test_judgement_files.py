"""Files of judgements per model, and the answers that a file belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.toolbench.task import ToolEvalToolBenchSuccessEvaluator
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.judging.judgement import read_judgement
from opencompass_tooleval.judging.judgement_files import JudgementFiles, read_judgements
from opencompass_tooleval.models import preflight
from opencompass_tooleval.work_dir.work_dir import ResultPath


class Placed:
    """An evaluator whose result goes to a place."""

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            self._out_dir = str(path)


def result_path_of(run: Path, model: str) -> ResultPath:
    path = ResultPath.of(Placed(run / 'results' / model / 'plans_zh'))
    assert path is not None
    return path


def answered(run: Path, model: str, name: str = 'plans_zh.json', rows: Any = None) -> None:
    file = run / 'predictions' / model / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows or {}), encoding='utf-8')


def test_a_path_with_the_model_a_mapping_and_one_file(tmp_path: Path) -> None:
    file = tmp_path / 'gpt-4.jsonl'
    file.write_text('{}\n')
    template = JudgementFiles(str(tmp_path / '{model}.jsonl'))
    assert template.check('gpt-4') == JudgementFiles({'gpt-4': str(file)}).check('gpt-4') == file
    assert JudgementFiles(str(file)).check('any') == file
    with pytest.raises(DataError, match=r'other\.jsonl: the file of judgements for model other is missing'):
        template.check('other')
    with pytest.raises(ValueError, match='names no file for model other; it has gpt-4'):
        JudgementFiles({'gpt-4': str(file)}).check('other')
    with pytest.raises(ValueError, match='only work in a task of OpenCompass'):
        template.file_for(None)
    assert JudgementFiles(str(file)).file_for(None) == file
    assert template.name == str(tmp_path / '{model}.jsonl')


def test_a_file_that_does_not_say_what_it_judged_serves_one_model(tmp_path: Path) -> None:
    for model in ('a', 'b'):
        answered(tmp_path, model)
    one = JudgementFiles('judged.jsonl')
    with pytest.raises(ValueError, match=r'judged\.jsonl does not identify .* cannot serve a and b: .*\{model\}'):
        one.check_owner(result_path_of(tmp_path, 'a'))
    JudgementFiles('{model}.jsonl').check_owner(result_path_of(tmp_path, 'a'))
    JudgementFiles({'a': 'a.jsonl', 'b': 'b.jsonl'}).check_owner(result_path_of(tmp_path, 'a'))
    with pytest.raises(ValueError, match='cannot serve b and a'):
        JudgementFiles({'a': 'x.jsonl', 'b': 'x.jsonl'}).check_owner(result_path_of(tmp_path, 'b'))


@pytest.mark.parametrize(
    ('name', 'counts'),
    [
        ('plans_zh.json', True),
        ('plans_zh_0.json', True),
        ('plans_zh.answers', True),
        ('plans_zh_long.json', False),
        ('xplans_zh.json', False),
    ],
)
def test_models_that_answer_in_part_count_and_other_data_sets_do_not(tmp_path: Path, name: str, counts: bool) -> None:
    answered(tmp_path, 'a')
    answered(tmp_path, 'b', name)
    assert result_path_of(tmp_path, 'a').other_models() == ['b'] * counts
    assert result_path_of(tmp_path / 'none', 'a').other_models() == []
    assert ResultPath.of(Placed(None)) is ResultPath.of(Placed(Path('x'))) is None, 'outside a task there is no place'


@pytest.mark.parametrize(
    ('rows', 'fault'),
    [
        ([], 'f.jsonl: the file contains no judgements'),
        ([('0', 3)], "record '0': the judgement is not an object"),
        ([('0', {'id': 'a', 'step': '1.1'})] * 2, r"record 'a': it is judged twice \(step '1.1'\)"),
        ([('0', {'id': 'a', 'status': 'lost'})], "record 'a': 'status' is not one of judged"),
        ([('0', {'id': ['a']})], "'id' is not a string"),
    ],
)
def test_damaged_rows_are_named(rows: list[tuple[str, Any]], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read_judgements(Path('f.jsonl'), rows, lambda name, row: read_judgement(name, row, lambda _: 1))


def test_shapes_of_recorded_answers_are_read_from_the_predictions(tmp_path: Path) -> None:
    rows = {'0': {'prediction': 'x', 'recorded_shape': 'gpt'}, '1': {'prediction': 'y'}}
    answered(tmp_path, 'm', rows=rows)
    assert result_path_of(tmp_path, 'm').recorded_shapes() == ['gpt', None]
    assert result_path_of(tmp_path, 'none').recorded_shapes() == []


@pytest.mark.parametrize(
    'kind',
    [
        {'type': ToolEvalUltraToolEvaluator, 'name': 'planning', 'language': 'zh'},
        {'type': ToolEvalToolBenchSuccessEvaluator},
    ],
)
def test_what_a_task_will_miss_is_said_with_the_models_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: dict[str, Any]
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(preflight, '_told', set())
    monkeypatch.setattr(get_logger(), 'warning', warnings.append)
    there = tmp_path / 'a.jsonl'
    there.write_text('{}\n')
    settings: list[Any] = [str(tmp_path / '{model}.jsonl'), {'a': str(there)}, str(tmp_path / 'none.jsonl')]
    evaluators = [{'evaluator': {**kind, 'judgements': judgements}} for judgements in settings]
    rows = [{'abbr': f'd{place}', 'eval_cfg': cfg} for place, cfg in enumerate(evaluators)]
    for model in ('a', 'b'):
        preflight.tell(preflight.scoring_faults(preflight.Sweep(None, (), [({'abbr': model}, row) for row in rows])))
    assert len(warnings) == 4
    assert 'd2: scoring will fail' in warnings[0] and 'model a is missing' in warnings[0]
    assert 'd0: scoring will fail' in warnings[1] and 'b.jsonl' in warnings[1]
    assert 'd1: scoring will fail' in warnings[2] and 'no file for model b' in warnings[2]
