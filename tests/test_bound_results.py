"""A result belongs to the predictions and the scoring that it was computed from, or it is computed again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from mmengine.config.lazy import LazyAttr, LazyObject

from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalEvaluator
from opencompass_tooleval.cli.main import main
from opencompass_tooleval.inferencers.result_origin import scoring_digest
from opencompass_tooleval.work_dir.stored import is_intact, origin_in, with_origin
from tests.forked import run_opencompass

long = partial(pytest.param, marks=pytest.mark.long)

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import OracleModel

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import (
        tooleval_teval_en_v2_datasets, tooleval_ultratool_zh_datasets,
    )
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

rows = [*tooleval_teval_en_v2_datasets, *tooleval_ultratool_zh_datasets]
datasets = [row for row in rows if row['abbr'] in NAMES]
models = [dict(type=OracleModel, abbr='m', noise=0.5, seed=SEED, batch_size=256, run_cfg=dict(num_gpus=0))]
MORE
"""
REVIEW, INSTRUCT = 'tooleval-teval-review_str_v2', 'tooleval-teval-instruct_v2'
PLANNING = 'tooleval-ultratool-planning_zh'
STRICT = "for row in datasets:\n    row['eval_cfg']['evaluator']['scoring'] = 'strict'"
JUDGE = """
for row in datasets:
    if 'judge_cfg' in row['eval_cfg']['evaluator']:
        row['eval_cfg']['evaluator']['judge_cfg']"""


class Run:
    """A run of the config in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def go(self, *options: str, seed: int = 0, more: str = '') -> CompletedProcess[str]:
        text = CONFIG.replace('NAMES', repr((REVIEW, INSTRUCT, PLANNING))).replace('SEED', str(seed))
        (self.folder / 'mine.py').write_text(text.replace('MORE', more))
        return run_opencompass('mine.py', '-w', 'out', *options, cwd=self.folder)

    @property
    def path(self) -> Path:
        (run,) = self.folder.glob('out/*')
        return run

    def file(self, part: str, name: str = REVIEW) -> Path:
        return self.path / part / 'm' / f'{name}.json'

    def result(self, name: str = REVIEW) -> Any:
        return json.loads(self.file('results', name).read_text(encoding='utf-8'))

    def scores(self) -> dict[str, Any]:
        return {name: self.bare(self.result(name)) for name in (REVIEW, INSTRUCT, PLANNING)}

    @staticmethod
    def bare(result: Any) -> Any:
        return {name: value for name, value in result.items() if isinstance(value, float)}

    def times(self) -> dict[str, int]:
        return {file.stem: file.stat().st_mtime_ns for file in self.path.glob('results/m/*.json')}


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """The same data sets, with other answers."""
    both = Run(tmp_path_factory.mktemp('first')), Run(tmp_path_factory.mktemp('second'))
    for seed, run in enumerate(both):
        done = run.go(seed=seed)
        assert done.returncode == 0, done.stdout + done.stderr
    assert both[0].scores() != both[1].scores()
    return both


@pytest.fixture
def copied(runs: tuple[Run, Run], tmp_path: Path) -> Run:
    shutil.copytree(runs[0].folder / 'out', tmp_path / 'out')
    return Run(tmp_path)


def test_a_finished_run_stays(copied: Run) -> None:
    before = copied.times()
    for options in (('-r',), ('-m', 'eval', '-r')):
        assert copied.go(*options).returncode == 0 and copied.times() == before
    origin = copied.result()['computed_from']
    assert {name: len(digest) for name, digest in origin.items()} == dict.fromkeys(
        ('predictions_sha256', 'scoring_sha256', 'content_sha256'), 64
    )


def test_answers_that_are_asked_again_are_scored_again(copied: Run, runs: tuple[Run, Run]) -> None:
    for name in (REVIEW, INSTRUCT, PLANNING):
        file = copied.file('predictions', name)
        file.unlink()
        shutil.rmtree(file.with_suffix('.answers'))
    assert copied.go('-r', seed=1).returncode == 0
    assert copied.scores() == runs[1].scores() and not list(copied.path.glob('results/m/*.outdated'))


def test_deleted_predictions_are_written_from_the_answers(copied: Run) -> None:
    """The server would answer differently now, and is not asked."""
    before, files = copied.scores(), [copied.file('predictions', name) for name in (REVIEW, INSTRUCT, PLANNING)]
    contents = [file.read_bytes() for file in files]
    files[0].unlink()
    files[1].write_bytes(b'')
    done = copied.go('-r')
    assert done.returncode == 0 and [file.read_bytes() for file in files] == contents and copied.scores() == before
    said = ' '.join(done.stdout.split())
    assert '2 missing or damaged predictions files are written from the stored answers. To ask' in said
    folders = [str(file.with_suffix('.answers').relative_to(copied.folder)) for file in files[:2]]
    assert any(folder in said for folder in folders)


def test_predictions_of_another_run_are_said_and_scored(
    copied: Run, runs: tuple[Run, Run], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (REVIEW, INSTRUCT, PLANNING):
        shutil.copy(runs[1].file('predictions', name), copied.file('predictions', name))
    for command in (['status', str(copied.path)], ['compare', str(copied.path), 'm', 'm']):
        monkeypatch.setattr('sys.argv', ['tooleval', *command])
        with pytest.raises(SystemExit):
            main()
        assert 'the predictions of the run are not those of its results' in capsys.readouterr().out
    assert copied.go('-r').returncode == 0 and copied.scores() == runs[1].scores()
    assert 'rescored' not in copied.result(), 'other answers, so that nobody knows what the scoring moved'


@pytest.mark.parametrize('options', [('-r',), long(('-m', 'eval', '-r'))])
def test_another_scoring_scores_again_and_says_what_it_moves(copied: Run, options: tuple[str, ...]) -> None:
    earlier, times = copied.result(INSTRUCT), copied.times()
    done = copied.go(*options, more=STRICT)
    assert done.returncode == 0
    now = copied.result(INSTRUCT)
    assert now['provenance']['scoring'] == 'strict' and len({*copied.times().items()} & {*times.items()}) == 0
    values = [{row['id']: row['values'] for row in one['details']} for one in (earlier, now)]
    for metric, moved in now.get('rescored', {}).get('metrics', {}).items():
        counted = [
            sum(
                sign * ((b[metric] or 0) - (a[metric] or 0)) > 1e-9
                for a, b in zip(*(v.values() for v in values), strict=True)
            )
            for sign in (1, -1)
        ]
        assert [moved['right_count'], moved['wrong_count']] == counted
        assert sum(counted)
        assert moved['before'] == earlier[metric] != now[metric]
        assert f'{metric} was {earlier[metric]:.2f} and is {now[metric]:.2f}' in done.stdout
    if earlier['json_args_em_metric'] != now['json_args_em_metric']:
        assert 'json_args_em_metric' in now['rescored']['metrics']
    after = copied.times()
    assert copied.go(*options, more=STRICT).returncode == 0 and copied.times() == after, 'it is the same scoring'


def test_a_changed_judge_judges_again(copied: Run) -> None:
    before = copied.times()
    assert copied.go('-r', more=f"{JUDGE}['batch_size'] = 3").returncode == 0
    assert copied.times() == before, 'the speed of a judge changes nothing'
    assert copied.go('-r', more=f"{JUDGE}['max_out_len'] = 999").returncode == 0
    after = copied.times()
    assert [name for name in after if after[name] != before[name]] == [PLANNING]


def test_a_result_without_its_predictions_stays_only_while_nothing_is_asked(copied: Run) -> None:
    copied.file('predictions').unlink()
    before = copied.times()
    done = copied.go('-m', 'eval', '-r')
    assert done.returncode == 0 and copied.times() == before
    assert f'1 results stay as they are ({REVIEW})' in done.stdout + done.stderr


def test_a_result_without_digests_stays_with_a_note(copied: Run) -> None:
    for name in (REVIEW, INSTRUCT, PLANNING):
        file = copied.file('results', name)
        lines = file.read_text(encoding='utf-8').splitlines(keepends=True)
        file.write_text(''.join(line for line in lines if not line.startswith('"computed_from"')), encoding='utf-8')
    before = copied.times()
    done = copied.go('-r')
    assert (
        done.returncode == 0 and copied.times() == before and '3 results stay as they are' in done.stdout + done.stderr
    )


def middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2 :][:9] = b'@' * 9
    content[len(content) // 2 : len(content) // 2 + 9] = b'@' * 9
    file.write_bytes(bytes(content))


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def no_text(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] = 0xFF
    file.write_bytes(bytes(content))


def doubled(file: Path) -> None:
    file.write_bytes(file.read_bytes() * 2)


def without_a_comma(file: Path) -> None:
    head, details, rows = file.read_text(encoding='utf-8').partition('"details"')
    file.write_text(head + details + rows.replace(',\n', '\n', 1), encoding='utf-8')


def folder_beside_a_folder(file: Path) -> None:
    folder(file)
    beside = file.with_name(f'{file.name}.damaged')
    beside.mkdir()
    (beside / 'a').touch()


DAMAGE = [middle, folder, *map(long, (pipe, loop, no_text, doubled, without_a_comma, folder_beside_a_folder))]


@pytest.mark.parametrize('damage', DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_result_is_computed_again(copied: Run, damage: Callable[[Path], None]) -> None:
    scores = copied.scores()
    damage(copied.file('results'))
    done = copied.go('-r')
    assert done.returncode == 0 and 'Traceback' not in done.stdout + done.stderr and copied.scores() == scores
    assert f'{REVIEW}.json is scored again, since it ' in done.stdout + done.stderr


@pytest.mark.long
def test_files_and_folders_in_place_of_each_other_are_set_aside(copied: Run) -> None:
    answers = copied.file('predictions').with_suffix('.answers')
    answers.rename(answers.with_name('elsewhere'))
    answers.write_text('')
    folder_beside_a_folder_of_outdated = copied.file('results').with_name(f'{REVIEW}.json.outdated')
    folder_beside_a_folder_of_outdated.mkdir()
    (folder_beside_a_folder_of_outdated / 'a').touch()
    copied.file('predictions').unlink()
    done = copied.go('-r')
    assert done.returncode == 0 and copied.file('results').exists() and answers.is_dir(), done.stdout
    assert copied.go('-r').returncode == 0


def test_what_decides_if_a_scoring_is_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Classes and functions count by module, but for those of this package; sets in any order; the encoder in force."""
    monkeypatch.delenv('TOOLEVAL_ENCODER', raising=False)

    def digest(post: Any, kind: Any = ToolEvalTEvalEvaluator) -> str:
        return scoring_digest({'abbr': 'm'}, {'eval_cfg': {'evaluator': {'type': kind}, 'pred_postprocessor': post}})

    assert digest({'type': 'mine.post'}) != digest({'type': 'other.post'})
    assert digest({'type': middle}) == digest({'type': f'{__name__}.middle'})
    name = 'opencompass_tooleval.benchmarks.teval.task.ToolEvalTEvalEvaluator'
    assert digest(None) == digest(None, name)
    assert digest({'type': name}) == digest({'type': name.replace('adapter', 'moved')})
    assert digest({'tags': {'a', 'b'}}) == digest({'tags': {'b', 'a'}}) == digest({'tags': ['a', 'b']})
    lazy = LazyAttr('post', LazyObject('mine'))
    assert digest({'type': lazy}) != digest({'type': None}) and digest({'kinds': [lazy]}) != digest({'kinds': []})
    before = digest(None)
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    assert digest(None) != before


def test_the_digests_of_a_result_are_found_behind_long_lines(tmp_path: Path) -> None:
    for content in ('{\n"a": 1.0,\n"b": "%s"\n}\n' % ('x' * (5 << 20)), '{\n"a": 1.0,\n"details": [\n1,\n2\n]\n}\n'):
        file = tmp_path / 'a.json'
        file.write_text(with_origin(content, {'scoring_sha256': 'a'}), encoding='utf-8')
        assert origin_in(file)['scoring_sha256'] == 'a' and is_intact(file)
        assert {**json.loads(file.read_bytes()), 'computed_from': 0} == {**json.loads(content), 'computed_from': 0}
        file.write_bytes(file.read_bytes().replace(b'1', b'3', 1))
        assert not is_intact(file)


@pytest.mark.parametrize('damage', [folder, *map(long, (pipe, no_text, doubled))], ids=lambda damage: damage.__name__)
def test_predictions_that_cannot_be_read_are_written_from_the_answers(
    copied: Run, damage: Callable[[Path], None]
) -> None:
    before, file = copied.scores(), copied.file('predictions')
    content = file.read_bytes()
    damage(file)
    done = copied.go('-r')
    assert done.returncode == 0 and 'Traceback' not in done.stdout + done.stderr, done.stdout
    assert file.read_bytes() == content and copied.scores() == before


@pytest.mark.parametrize('damage', [folder, *map(long, (pipe, no_text, doubled))], ids=lambda damage: damage.__name__)
def test_without_answers_they_cost_one_data_set_until_they_are_deleted(
    copied: Run, damage: Callable[[Path], None]
) -> None:
    file = copied.file('predictions')
    shutil.rmtree(file.with_suffix('.answers'))
    damage(file)
    done = copied.go('-r')
    assert done.returncode == 1 and 'Traceback' not in done.stdout
    (why,) = [line for line in done.stdout.splitlines() if line.startswith('  why:')]
    assert f'{REVIEW}.json: the predictions cannot be read' in why and 'delete the file' in done.stdout
    assert copied.bare(copied.result(INSTRUCT)) and not copied.file('results').exists()
    file.rmdir() if file.is_dir() else file.unlink()
    assert copied.go('-r').returncode == 0 and copied.file('results').exists()
