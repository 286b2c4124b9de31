"""plan, status and retry on real runs: before, during, after a failure, and when all is done."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from opencompass_tooleval.cli import retry
from tests.cli.conftest import Command, Outcome
from tests.cli.test_compare import write as write_result
from tests.conftest import ModelServer, sweep_of
from tests.forked import run_opencompass, start_opencompass, start_python

WANTED = ('tooleval-teval-review_str_v2', 'tooleval-teval-retrieve_str_v2')
SHARE = """
for row in datasets:
    row['infer_cfg']['inferencer']['max_infra_share'] = SHARE
"""
SLOW = {'retry': 0, 'timeout': 20, 'max_workers': 1, 'batch_size': 2, 'max_out_len': 16}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_config(folder: Path, server: ModelServer, share: float = 1) -> None:
    config = sweep_of(*WANTED, more=SHARE.replace('SHARE', str(share)), **SLOW)
    (folder / 'mine.py').write_text(config.replace('URL', server.url))


def rows(done: Outcome) -> list[dict[str, Any]]:
    return list(json.loads(done.out))


@pytest.mark.long
def test_status_while_it_runs_and_after_a_kill(tooleval: Command, canned_server: ModelServer, folder: Path) -> None:
    write_config(folder, canned_server)
    canned_server.reset('slow@4-=3600', latency=1)  # the fourth answer does not come while this looks
    process = start_opencompass('mine.py', '-w', 'out', '--debug')
    try:
        until = time.monotonic() + 1500
        running: list[dict[str, Any]] = []
        while not running and time.monotonic() < until:
            time.sleep(0.3)
            if list(folder.glob('out/*/predictions/api/*.answers/*.jsonl')):
                running = [row for row in rows(tooleval('status', 'out', '--json', '-')) if row['rate']]
        assert running, 'no data set was seen running'
        (row,) = running
        assert row['state'] == 'running' and 0 < row['answered'] < row['samples']
        assert row['seconds_left'] == pytest.approx((row['samples'] - row['answered']) / row['rate'])
        assert 0.05 < row['rate'] <= 1.1
        refused = tooleval('retry', 'out')
        assert refused.code == 1 and '.sweep.lock is locked by process' in refused.err
        text = tooleval('status', 'out').out
        assert f'running  api x {row["dataset"]}: ' in text and 'samples/s' in text
    finally:
        process.kill()
        process.wait()
    states = {row['state'] for row in rows(tooleval('status', 'out', '--json', '-'))}
    assert 'running' not in states and 'waiting' in states


def test_retry_asks_only_what_has_no_answer_and_then_all_is_done(
    tooleval: Command, canned_server: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(folder, canned_server)
    plan = json.loads(tooleval('plan', 'mine.py', '--json', '-').out)
    (model,) = plan['models']
    assert plan['runner'] == 'ToolEvalLocalRunner' and plan['workers'] is None
    assert (model['model'], model['jobs'], model['gpus'], model['datasets'], model['done']) == ('api', 1, 0, 2, 0)
    assert model['samples'] > 4 and model['prompt_tokens'] > 50 * model['samples'] and model['evaluations'] == 1
    canned_server.reset('500@2-4')
    done = run_opencompass('mine.py', '-w', 'out', '--debug')
    assert done.returncode == 0, done.stdout + done.stderr
    first = {file.name: json.loads(file.read_text()) for file in folder.glob('out/*/results/api/*.json')}
    assert sum(result['samples']['infra'] for result in first.values()) == 3

    outcome = done.stdout + done.stderr
    assert outcome.count('model api: its key is in the config') == 1 and '$OPENAI_API_KEY' in outcome
    canned_server.reset()
    private = folder / 'private'
    private.mkdir()
    monkeypatch.setattr('tempfile.tempdir', str(private))
    assert 'would ask them again' in tooleval('retry', 'out', '--dry-run').out
    assert canned_server.stats()['requests'] == 0 and list(private.iterdir()) == []
    mine = os.environ['TOOLEVAL_CACHE']
    monkeypatch.setenv('TOOLEVAL_CACHE', f'{mine}-of-a-colleague')  # to whom this run is one of somebody else
    refused = tooleval('retry', 'out')
    assert (
        refused.code == 1 and '--trust' in refused.err and f'host: {urlsplit(canned_server.url).netloc}' in refused.err
    )
    assert canned_server.stats()['requests'] == 0 and list(private.iterdir()) == []
    monkeypatch.setenv('TOOLEVAL_CACHE', mine)
    monkeypatch.setattr(retry, 'run_program', lambda command, _: start_python(*command[1:]).wait())  # a fork
    again = tooleval('retry', 'out')
    assert again.code == 0, again.out + again.err
    assert list(private.iterdir()) == [] and not list(folder.rglob('retry.py'))
    assert canned_server.stats()['requests'] == 3
    second = {file.name: json.loads(file.read_text()) for file in folder.glob('out/*/results/api/*.json')}
    wanted = {name: (result['samples']['all'], 0) for name, result in first.items()}
    assert {name: (one['samples']['all'], one['samples']['infra']) for name, one in second.items()} == wanted
    assert tooleval('retry', 'out').out == 'every sample has an answer\n'
    (model,) = json.loads(tooleval('plan', 'mine.py', 'out', '--json', '-').out)['models']
    assert (model['jobs'], model['datasets'], model['done'], model['samples']) == (0, 0, 2, 0)
    status = tooleval('status', 'out', '--json', '-')
    assert status.code == 0
    assert {row['state'] for row in rows(status)} == {'done'} and all(row['samples'] for row in rows(status))


@pytest.mark.long
def test_retry_takes_what_fails_for_good(
    tooleval: Command, canned_server: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(folder, canned_server, share=0.005)
    canned_server.reset('500@1-1000')
    done = run_opencompass('mine.py', '-w', 'out', '--debug')
    assert done.returncode == 1 and 'max_infra_share allows 0.50%' in done.stdout + done.stderr
    assert not list(folder.glob('out/*/results/api/*.json'))

    monkeypatch.setattr(retry, 'run_program', lambda command, _: start_python(*command[1:]).wait())  # a fork
    again = tooleval('retry', 'out')
    assert again.code == 0 and again.out.count(': not finished\n') == 2
    results = [json.loads(file.read_text()) for file in folder.glob('out/*/results/api/*.json')]
    assert len(results) == 2
    for result in results:
        assert result['samples']['infra'] == result['samples']['all'] > 0


@pytest.mark.long
def test_predictions_that_the_config_does_not_name_are_told(
    tooleval: Command, canned_server: ModelServer, folder: Path
) -> None:
    """A model or a data set with another name is asked again; its predictions count if they are renamed, too."""
    write_config(folder, canned_server)
    assert run_opencompass('mine.py', '-w', 'out', '--debug').returncode == 0
    (run,) = Path('out').iterdir()
    assert 'does not name' not in tooleval('plan', 'mine.py', 'out').out + tooleval('status', 'out').out
    (run / 'predictions' / 'api' / 'tmp_x.json').write_text('{}')  # of OpenCompass's own inferencers
    with (folder / 'mine.py').open('a') as config:
        config.write("models[0]['abbr'] = 'named'\ndatasets[0]['abbr'] = 'too'\n")
    old = f'api x {WANTED[1]}, api x {WANTED[0]}'
    text = f'the run has predictions that its config does not name: {old}. If a name has changed, rename them in {run}'
    assert f'NOTE {text}/predictions' in tooleval('plan', 'mine.py', 'out').out
    canned_server.reset('500@1-1000')
    done = run_opencompass('mine.py', '-w', 'out', '-r', '--debug')
    assert f'OpenCompass - WARNING - {text}/predictions' in done.stdout + done.stderr
    assert f'NOTE {text}/predictions' in tooleval('status', 'out').out, 'a model that the config had is not forgotten'
    shutil.rmtree(run / 'predictions' / 'named')
    (run / 'predictions' / 'api').rename(run / 'predictions' / 'named')
    for ending in ('answers', 'json'):
        old_file = run / 'predictions' / 'named' / f'{WANTED[0]}.{ending}'
        old_file.rename(old_file.with_name(f'too.{ending}'))
    canned_server.reset()
    done = run_opencompass('mine.py', '-w', 'out', '-r', '--debug')
    assert done.returncode == 0 and canned_server.stats()['requests'] == 0
    assert 'does not name' not in done.stdout + done.stderr + tooleval('status', 'out').out


def test_what_failed_is_told_with_its_log(tooleval: Command, canned_server: ModelServer, folder: Path) -> None:
    write_config(folder, canned_server)
    with (folder / 'mine.py').open('a') as config:
        config.write("datasets = [dict(datasets[0], abbr='tooleval-broken', path='/no/such/folder')]\n")
    run_opencompass('mine.py', '-w', 'out')
    outcome = tooleval('status', 'out')
    lines = outcome.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith('FAILED'))
    failed, _, log = lines[at].partition(': see ')
    assert outcome.code == 1 and failed == 'FAILED api x tooleval-broken' and log.endswith('.out')
    assert lines[at + 1].startswith('  why:  ') and '/no/such/folder' in lines[at + 1] and Path(log).is_file()
    told = tooleval('retry', 'out')
    assert told.code == 1 and 'that could be asked for again; 1 of 1 results are missing:\n' in told.out


@pytest.mark.parametrize('command', ['status', 'retry', 'report', 'export'])
def test_looking_at_a_run_executes_nothing(tooleval: Command, tmp_path: Path, command: str) -> None:
    run = tmp_path / 'out' / '20260101_000000'
    (run / 'configs').mkdir(parents=True)
    (run / 'configs' / 'a.py').write_text(f'open({str(tmp_path / "executed")!r}, "w")\nmodels = []\ndatasets = []\n')
    (run / 'predictions' / 'm').mkdir(parents=True)
    (run / 'predictions' / 'm' / 'd.json').write_text('{"0": {"infra": "infra:timeout", "prediction": ""}}')
    done = tooleval(
        command, tmp_path / 'out', *(['--out', tmp_path / 'new'] if command in ('report', 'export') else [])
    )
    assert not (tmp_path / 'executed').exists()
    if command in ('status', 'retry'):
        assert done.code == 1 and 'a.py: the config cannot be read, and is not executed (line 1: ' in done.err
        assert done.err.count('\n') == 1
        done = tooleval(command, tmp_path)
        assert done.code == 1 and 'there is no run of OpenCompass here' in done.err
        done = tooleval(command, tmp_path / 'nothere')
        assert (done.code, done.err) == (1, f'tooleval: {tmp_path / "nothere"}: no such folder\n')


def test_a_part_of_the_records_is_said(tooleval: Command, canned_server: ModelServer, folder: Path) -> None:
    write_config(folder, canned_server)
    note = 'NOTE the first 2, not a sample: '
    assert note not in tooleval('plan', 'mine.py').out
    with (folder / 'mine.py').open('a') as config:
        config.write("for row in datasets:\n    row['reader_cfg']['test_range'] = '[:2]'\n")
    assert f'{note}2 data sets: {", ".join(WANTED)}' in ' '.join(tooleval('plan', 'mine.py').out.split())


def test_status_shows_the_findings_on_the_results_so_far_and_parts_of_the_records(tooleval: Command) -> None:
    run = Path('out', '20260101_000000')
    cut = {'accuracy': 50.0, 'samples': {'all': 100, 'infra': 3, 'cut': 9}, 'provenance': {'scoring': 'strict'}}
    write_result(run, 'm', 'a', {**cut, 'details': []})
    first = ', '.join(f"dict(abbr={name!r}, reader_cfg=dict(test_range='[:9]'))" for name in 'ab')
    sampled = "dict(abbr='c', reader_cfg=dict(), sample=dict(n=7)), dict(abbr='d', sample=5)"
    config = f"datasets=[{first}, {sampled}]\nmodels=[dict(abbr='m')]\n"
    (run / 'configs' / f'{run.name}.py').write_text(config)
    screen = tooleval('status', 'out').out.splitlines()
    assert any(line.startswith('WARNING m / a: 3 of 100 samples have no answer') for line in screen), screen
    assert any(line.startswith('WARNING m: 9 of 100 answers were cut') for line in screen)
    assert "NOTE a: not comparable with published scores: scoring='strict', not the published scoring" in screen
    part = 'NOTE the first 9, not a sample: 1 data set: b; a sample of 7: 1 data set: c'
    assert f'{part}. Fix it with: run it without sample, limit and test_range' in screen, 'of a, the result says it'
    told = json.loads(tooleval('status', 'out', '--json', '-').out)
    assert [row['state'] for row in told] == ['done', *['waiting'] * 3] and not any('result' in row for row in told)
