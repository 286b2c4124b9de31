"""Tables on a terminal of 80 columns: nothing that is a number or a header is cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opencompass_tooleval.extras.plan.command import _print_jobs
from opencompass_tooleval.tasks.planned_jobs import ModelPlan, Plan
from tests.cli.conftest import Command

MODEL = 'qwen2.5-72b-instruct-hf'


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('COLUMNS', '80')


def test_status(tooleval: Command, tmp_path: Path) -> None:
    (tmp_path / 'configs').mkdir()
    (tmp_path / 'configs' / 'a.py').write_text(f"models = [dict(abbr='{MODEL}')]\ndatasets = [dict(abbr='d')]\n")
    done = tooleval('status', tmp_path)
    assert done.code == 0, done.err
    headers = {'done', 'answered', 'running', 'failed', 'waiting', 'samples/s', 'time', 'left'}
    assert headers <= set(done.out.split())
    assert all(len(line) <= 80 for line in done.out.splitlines() if str(tmp_path) not in line)


def test_plan(capsys: pytest.CaptureFixture[str]) -> None:
    model = ModelPlan(MODEL, 12, 8, 34, 21, 1234567, 987654321, 'tokenizer x', 35)
    by = 'data sets: 2 as long as those of m1, m2; 3 by max_out_len'
    priced = replace(model, model='priced', answer_tokens=54321, answers_by=by, bound='at most', cost=1234.5)
    _print_jobs(Plan([model, priced], 8, 'SlurmArrayRunner'))
    output = capsys.readouterr().out
    assert all(len(line) <= 80 for line in output.splitlines())
    words = output.split()
    first, second = (line.split() for line in output.splitlines()[1:3])
    assert first == ['inference', 'GPUs', 'data', 'prompt', 'evaluation']
    assert second == ['model', 'jobs', 'each', 'sets', 'done', 'samples', 'tokens', 'jobs']
    assert all(word in words for word in ('1,234,567', '987,654,321', '35'))
    assert 'priced: answers of at most 54,321 tokens, cost at most 1,234.50\n' in output
