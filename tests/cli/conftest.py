"""The command, run in this process, away from the user's home."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import opencompass_tooleval
from opencompass_tooleval.benchmarks.teval.data import load_samples, split_stem
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.cli.main import main

DEMO = Path(opencompass_tooleval.__file__).resolve().parent / 'demo' / 'teval'


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, working directory, data cache and embedding cache, and a wide terminal."""
    for name in ('home', 'work'):
        (tmp_path / name).mkdir()
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'data-cache'))
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'cache'))
    monkeypatch.delenv('TOOLEVAL_ENCODER', raising=False)
    monkeypatch.setenv('COLUMNS', '400')
    monkeypatch.chdir(tmp_path / 'work')
    return tmp_path / 'home'


@pytest.fixture
def tooleval(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs ``tooleval`` with the given arguments."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr('sys.argv', ['tooleval', *map(str, arguments)])
        capsys.readouterr()
        before = dict(os.environ)  # a command sets variables for what it starts
        with pytest.raises(SystemExit) as caught:
            main()
        os.environ.clear()
        os.environ.update(before)
        code = caught.value.code
        return Outcome(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run


def demo_file(stem: str) -> Path:
    return DEMO / split_stem(stem)[2] / f'{stem}.json'


def gold_answers(stem: str) -> dict[str, str]:
    """What a perfect model says to the demo, by record."""
    samples = load_samples(demo_file(stem), split_stem(stem)[0])
    return {sample.record.id: gold_answer(sample.record) for sample in samples}


def write_json(path: Path, content: Any) -> Path:
    """Writes ``content`` and returns ``path``."""
    path.write_text(json.dumps(content), encoding='utf-8')
    return path


def read_lines(path: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]
