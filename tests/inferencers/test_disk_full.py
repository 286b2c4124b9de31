"""A full disk is an error, and earlier writes are complete."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from opencompass_tooleval.work_dir.store import AnswerStore
from tests.forked import run_opencompass, run_python, run_tooleval

LIMITED = """
import resource, sys
from pathlib import Path
sys.dont_write_bytecode = True  # Python would write half a file, and could not read it the next time
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))  # a file that would grow beyond it cannot be written
folder = Path(sys.argv[1])
"""
ANSWERS = """
from opencompass_tooleval.work_dir.store import AnswerStore
store = AnswerStore(folder / 'd.answers', 'a.jsonl')
for number in range(100):
    store.append([{'record_id': 2 * number + more, 'prediction': 'x' * 200} for more in range(2)])
    print(number, flush=True)
"""


def test_answers_that_were_kept_are_whole(tmp_path: Path) -> None:
    done = run_python('-c', LIMITED + ANSWERS, tmp_path)
    assert done.returncode == 1 and f"File too large: '{tmp_path / 'd.answers' / 'a.jsonl'}'" in done.stderr
    kept = len(done.stdout.split())
    folder = tmp_path / 'd.answers'
    rows = [row for _, row in AnswerStore(folder).read()]
    assert 0 < 2 * kept <= len(rows) <= 2 * kept + 1
    assert [row['record_id'] for row in rows] == list(range(len(rows)))
    assert all(len(row['prediction']) == 200 for row in rows)
    AnswerStore(folder).append([{'record_id': 90, 'prediction': 'later'}])
    assert sorted(row['record_id'] for _, row in AnswerStore(folder).read()) == [*range(len(rows)), 90]


def test_a_result_is_whole_or_missing(tmp_path: Path) -> None:
    """The evaluation of a whole data set on a full disk: no result, so that a resumed run scores it again."""
    code = """
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
task = object.__new__(ToolEvalEvalTask)
task.work_dir, task.model_cfg = str(folder), dict(abbr='model', type='M')
for name, number in (('small', 2), ('large', 100)):
    task.dataset_cfg = dict(abbr=name, type='D')
    task._save_results({'right': 100.0, 'details': ['x' * 200] * number})
"""
    done = run_python('-c', LIMITED + code, tmp_path)
    assert done.returncode == 1 and 'File too large' in done.stderr
    (whole,) = (tmp_path / 'results' / 'model').iterdir()
    assert whole.name == 'small.json' and json.loads(whole.read_text())['right'] == 100.0


SWEEP = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer
    from opencompass_tooleval.configs.models.tooleval_oracle import models
datasets = [row for row in datasets if 'teval-review_str_v2' in row['abbr']]
"""


def test_status_says_how_a_run_goes_on_whose_config_was_not_written(tmp_path: Path) -> None:
    """OpenCompass dumps it before any code of this package is imported; half a file, or an empty one, stays."""
    (tmp_path / 'sweep.py').write_text(SWEEP)
    code = 'import sys, opencompass.cli.main as program\nsys.argv = ["opencompass", "sweep.py", "-w", "my runs"]\n'
    done = run_python('-c', LIMITED + code + 'program.main()', tmp_path, cwd=tmp_path)
    assert done.returncode == 1 and 'File too large' in done.stderr
    (config,) = tmp_path.glob('my runs/*/configs/*.py')
    run = config.parent.parent
    for text in (config.read_text(), ''):
        config.write_text(text)
        asked = run_tooleval('status', '.', cwd=run)
        assert asked.returncode == 1 and asked.stderr.count('\n') == 1 and 'cannot be read' in asked.stderr
        fix = asked.stderr.rpartition('Fix it with: ')[2].strip()
        assert fix == f"opencompass CONFIG -w '{run.parent}' -r {run.name}"
    program, *arguments = shlex.split(fix.replace('CONFIG', 'sweep.py'))
    assert program == 'opencompass' and run_opencompass(*arguments, cwd=tmp_path).returncode == 0
    assert [path.name for path in run.parent.iterdir()] == [run.name]
    assert run_tooleval('status', run).returncode == 0
