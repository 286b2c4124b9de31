"""Modules that are loaded before tasks are forked; tests/tasks/test_tasks.py counts them in a sweep."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.tasks.preload import named_modules, preload


def test_a_module_that_ends_the_program_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'ends_the_program.py').write_text('import sys\nsys.exit(3)\n')
    monkeypatch.syspath_prepend(tmp_path)
    preload(['ends_the_program'])
    assert 'ends_the_program' not in sys.modules


def test_modules_of_classes_and_of_names_are_found_at_any_depth() -> None:
    task = {
        'models': [{'type': OracleModel}],
        'datasets': [[{'type': 'a.B', 'infer_cfg': {'inferencer': {'type': 'c.d.E'}}, 'abbr': 'type'}]],
        'other': {'type': 'Registered', 'deep': ({'type': 'f.G'}, {'type': 'MAJOR. minor thing'}, {'type': '.x'})},
    }
    assert named_modules(task) == ['a', 'c.d', 'f', 'opencompass_tooleval.models.fixed_models']
