"""The selection of a config is checked before it is partitioned: a typo never drops a data set silently."""

from __future__ import annotations

import shutil
from functools import partial
from io import StringIO
from logging import StreamHandler
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.utils import get_logger

from opencompass_tooleval.cli.main import main
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner, ToolEvalPartitioner
from opencompass_tooleval.tasks.planned_jobs import make_plan
from tests.conftest import ROOT
from tests.forked import run_opencompass, run_tooleval

CONFIGS = ROOT / 'opencompass_tooleval' / 'configs'


def partition(kind: Any, folder: Path, cfg: Any) -> Any:
    return kind(out_dir=str(folder))(Config({**cfg, 'work_dir': str(folder)}))


MODELS = [{'abbr': 'm', 'type': 'OracleModel', 'path': 'x'}]
ROWS = [{'abbr': name, 'type': 'x', 'reader_cfg': {}, 'infer_cfg': {}} for name in ('plan_json', 'plan_str', 'review')]


def test_replicas_have_all_data_sets_that_this_package_asks(tmp_path: Path) -> None:
    """``num_worker`` is the number of replicas; a config without either has none."""
    asked = {'inferencer': {'type': 'opencompass_tooleval.inferencers.ToolEvalGenInferencer'}}
    cfg = {'models': MODELS, 'datasets': [ROWS[0], *({**row, 'infer_cfg': asked} for row in ROWS[1:])]}
    for kind in (partial(ToolEvalPartitioner, replicas=3, n=1000), partial(ToolEvalNumWorkerPartitioner, num_worker=3)):
        tasks = partition(kind, tmp_path / 'predictions', cfg)
        names = [[row['abbr'] for row in task['datasets'][0]] for task in tasks]
        assert names == [['plan_json', 'plan_str', 'review'], *[['plan_str', 'review']] * 2]
        assert [(task['replica']['number'], task['replica']['of']) for task in tasks] == [(0, 3), (1, 3), (2, 3)]
        assert len({task['replica']['sweep'] for task in tasks}) == 1
    tasks = partition(ToolEvalPartitioner, tmp_path, {**cfg, 'dataset_abbrs': ['plan_*', 'review']})
    assert len(tasks) == 3 and not any('replica' in task for task in tasks)


def test_a_model_of_several_processes_has_no_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torchrun starts several for one replica; `tooleval plan` says so."""
    config = tmp_path / 'sweep.py'
    config.write_text(
        'from mmengine.config import read_base\n'
        'with read_base():\n'
        '    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer\n'
        '    from opencompass_tooleval.configs.models.tooleval_oracle import models\n'
        "models = [dict(models[0], run_cfg=dict(num_gpus=2, num_procs=2)), dict(models[0], abbr='other')]\n"
        "datasets, infer['partitioner']['replicas'] = datasets[:1], 3\n"
    )
    screen = StringIO()
    monkeypatch.setattr(get_logger(), 'handlers', [StreamHandler(screen)])
    plan = make_plan(config)
    assert [model.jobs for model in plan.models] == [1, 3]
    assert f'{plan.models[0].model}: its task has no replicas: num_procs=2 in its run_cfg' in screen.getvalue()
    assert 'other: its task has' not in screen.getvalue()


@pytest.mark.parametrize(('folder', 'replicas'), [('results', 2), ('predictions', 0), ('predictions', 2000)])
def test_replicas_out_of_place(tmp_path: Path, folder: str, replicas: int) -> None:
    with pytest.raises(ValueError, match=f'replicas={replicas}: a number from 1 to 1024, and for inference only'):
        ToolEvalPartitioner(str(tmp_path / folder), replicas=replicas)


@pytest.mark.parametrize('kind', [ToolEvalPartitioner, ToolEvalNumWorkerPartitioner])
@pytest.mark.parametrize(
    ('more', 'message'),
    [
        ({'models': []}, "'models' is empty: a filter may match nothing"),
        (
            {'datasets': [], 'rows': ROWS},
            "'datasets' is empty: a filter may match nothing. There are plan_json, plan_str, review",
        ),
        (
            {'datasets': ROWS[:1], 'rows': ROWS, 'dataset_abbrs': ['plan_json', 'plan_srt']},
            "dataset_abbrs names 'plan_srt', which matches no data set; there are plan_str, plan_json, review",
        ),
        ({'dataset_abbrs': ['pln*']}, "dataset_abbrs names 'pln*', which"),
    ],
    ids=['no model', 'no data set', 'a typo', 'a pattern'],
)
def test_what_is_not_there_is_refused(tmp_path: Path, kind: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(SystemExit) as caught:
        partition(kind, tmp_path, {'models': MODELS, 'datasets': ROWS, **more})
    assert message in str(caught.value)


MISTYPED = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows
    from opencompass_tooleval.configs.models.tooleval_oracle import models
    from opencompass_tooleval.configs.tooleval_local import eval, infer
dataset_abbrs = ['tooleval-teval-agent-fc', 'tooleval-toolbench_g3-agent-dsfdt']
datasets = [row for row in tooleval_agent_rows if row['abbr'] in dataset_abbrs]
"""


def test_a_sweep_and_its_plan_refuse_a_mistyped_abbr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'sweep.py'
    file.write_text(MISTYPED)
    message = 'there are tooleval-toolbench_g3-agent-dfsdt, '
    done = run_opencompass(file, cwd=tmp_path)
    assert done.returncode == 1 and message in done.stderr and not list(tmp_path.rglob('predictions'))
    monkeypatch.setattr('sys.argv', ['tooleval', 'plan', str(file)])
    with pytest.raises(SystemExit, match='1'):
        main()
    assert f'FAULT {file}: dataset_abbrs names' in (printed := capsys.readouterr().out) and message in printed


FILTERED = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer
    from opencompass_tooleval.configs.models.tooleval_oracle import models
{what} = [row for row in {what} if {abbr!r} in row['abbr']]
"""


@pytest.mark.parametrize(
    ('what', 'abbr', 'nearest'),
    [
        ('datasets', 'review_srt', 'tooleval-teval-review_str_v2'),
        pytest.param('models', 'oracel', 'oracle, oracle-noise-0.3', marks=pytest.mark.long),
    ],
)
def test_a_filter_that_matches_nothing_is_one_line_with_the_nearest_names(
    tmp_path: Path, what: str, abbr: str, nearest: str
) -> None:
    """Also where the filter keeps the name of the variable, so that the config itself has no other names."""
    (tmp_path / 'sweep.py').write_text(FILTERED.format(what=what, abbr=abbr))
    line = f'sweep.py: {what!r} is empty: a filter may match nothing. There are {nearest}'
    planned = run_tooleval('plan', 'sweep.py', cwd=tmp_path)
    assert planned.returncode == 1 and planned.stdout.startswith(f'FAULT {line}') and planned.stdout.count('\n') == 1
    done = run_opencompass('sweep.py', cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(f'tooleval: {line}')
    assert 'Traceback' not in done.stderr


@pytest.mark.long
def test_a_run_that_does_not_exist_is_not_continued(tmp_path: Path) -> None:
    """OpenCompass would make its folder and ask everything; nothing of it stays, so that it does not exist later."""
    text = FILTERED.format(what='datasets', abbr='teval-review_str_v2')
    (tmp_path / 'sweep.py').write_text(text.replace('datasets, eval', 'datasets, summarizer, eval'))
    go = partial(run_opencompass, 'sweep.py', '-w', 'my runs', cwd=tmp_path)
    done = go('-r', '20200101_000000')
    fix = "opencompass sweep.py -w 'my runs'"
    line = 'tooleval: my runs/20200101_000000: there is no such run to continue. Fix it with: '
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == line + fix
    assert list((tmp_path / 'my runs').iterdir()) == []
    assert go('-r').returncode == 0, 'the latest run, of which there is none'
    (run,) = (tmp_path / 'my runs').iterdir()
    done = go('-r', '20200101_000000')
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == f'{line}{fix} -r {run.name}'
    assert list((tmp_path / 'my runs').iterdir()) == [run]
    assert go('-r', run.name).returncode == 0


@pytest.mark.long
def test_a_part_of_a_run_is_continued(tmp_path: Path) -> None:
    text = FILTERED.format(what='datasets', abbr='teval-review_str_v2')
    (tmp_path / 'sweep.py').write_text(text.replace('datasets, eval', 'datasets, summarizer, eval'))
    go = partial(run_opencompass, 'sweep.py', '-w', 'my runs', cwd=tmp_path)
    assert go().returncode == 0 and go('-r').returncode == 0
    (run,) = (tmp_path / 'my runs').iterdir()
    for kept in ('predictions/oracle/tooleval-teval-review_str_v2.json', 'predictions', 'results'):
        copy = run.with_name(f'copy of {kept.replace("/", " ")}')
        copytree = shutil.copy if kept.endswith('json') else shutil.copytree
        (copy / kept).parent.mkdir(parents=True)
        copytree(run / kept, copy / kept)
        assert go('-r', copy.name).returncode == 0, kept
