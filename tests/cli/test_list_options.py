"""Options of several values take them in a row, and leave a required argument its word."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from opencompass_tooleval.cli.commands import ListOptionsCommand

GIVEN: dict[str, Any] = {}
app = typer.Typer()


@app.command(cls=ListOptionsCommand)
def command(
    work_dir: Path,
    more: Annotated[str | None, typer.Argument()] = None,
    models: Annotated[list[str] | None, typer.Option('--model', '-m')] = None,
    datasets: Annotated[list[str] | None, typer.Option('--dataset')] = None,
    out: Annotated[str, typer.Option('--out', '-o')] = '',
    prompts: Annotated[bool, typer.Option('--prompts')] = False,
) -> None:
    """Notes what it is given."""
    GIVEN.update(place=str(work_dir), more=more, models=models, datasets=datasets, out=out, prompts=prompts)


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('w --model a b --out o', {'models': ['a', 'b'], 'out': 'o'}),
        ('w -m a b --dataset c d', {'models': ['a', 'b'], 'datasets': ['c', 'd']}),
        ('w --model=a b', {'models': ['a', 'b']}),
        ('w --model a --model b', {'models': ['a', 'b']}),
        ('--model a b w', {'models': ['a', 'b']}),
        ('--out o --model a w --prompts', {'models': ['a'], 'out': 'o', 'prompts': True}),
        ('--prompts w --model a', {'models': ['a'], 'prompts': True}),
        ('--model a -- w', {'models': ['a']}),
        ('w x --model a b', {'models': ['a', 'b'], 'more': 'x'}),
        ('--model - w', {'models': ['-']}),
    ],
)
def test_values_in_a_row(line: str, expected: dict[str, Any]) -> None:
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == 0, done.output
    nothing = {'place': 'w', 'more': None, 'models': None, 'datasets': None, 'out': '', 'prompts': False}
    assert {**nothing, **expected} == GIVEN


@pytest.mark.parametrize('line', ['w --model', 'w --out', '--model a', 'w --modle a', 'w x y'])
def test_faults_stay_faults(line: str) -> None:
    assert CliRunner().invoke(app, line.split()).exit_code == 2
