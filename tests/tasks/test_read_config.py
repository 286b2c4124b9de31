"""A mistyped import of a config is refused with file, line and nearest name, by every command that reads configs."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tasks.read_config import read_config
from tests.cli.conftest import Command, home, tooleval

__all__ = ['home', 'tooleval']

PACKAGE = 'opencompass_tooleval'
CONFIG = f"""
from mmengine.config import read_base
from {PACKAGE}.models import OracleModel

with read_base():
    from {PACKAGE}.configs.datasets.demo.tooleval_demo_gen import tooleval_ultratool_en_datasets
    from {PACKAGE}.configs.tooleval_local import eval, infer

datasets = [*tooleval_ultratool_en_datasets]
models = [dict(type=OracleModel, abbr='m', batch_size=8)]
"""


@pytest.mark.parametrize(
    ('right', 'wrong', 'line', 'message'),
    [
        ('OracleModel', 'OracelModel', 3, f'{PACKAGE}.models has no OracelModel; did you mean OracleModel?'),
        ('.models import', '.modles import', 3, f'{PACKAGE} has no module modles; did you mean models?'),
        ('eval, infer', 'evl, infer', 7, 'configs.tooleval_local has no evl; did you mean eval?'),
        ('tooleval_local', 'tooleval_locl', 7, 'has no config tooleval_locl; did you mean tooleval_local?'),
        ('[*tooleval_ultratool_en', '[*tooleval_ultratool_zh', 9, "NameError: name 'tooleval_ultratool_zh_data"),
        ('models = [', 'models = [[', 10, 'SyntaxError: '),
    ],
)
def test_the_line_is_said(tmp_path: Path, right: str, wrong: str, line: int, message: str) -> None:
    file = tmp_path / 'sweep.py'
    file.write_text(CONFIG.replace(right, wrong), encoding='utf-8')
    with pytest.raises(DataError) as caught:
        read_config(file)
    assert str(caught.value).startswith(f'{file}:{line}: the config cannot be read (') and message in str(caught.value)


def test_the_line_of_a_config_that_is_read_is_said_by_the_plan(tmp_path: Path, tooleval: Command) -> None:
    (tmp_path / 'base.py').write_text(CONFIG.replace('eval, infer', 'evl, infer'), encoding='utf-8')
    file = tmp_path / 'sweep.py'
    file.write_text('from mmengine.config import read_base\nwith read_base():\n    from .base import *\n')
    done = tooleval('plan', file)
    assert done.code == 1 and done.err.startswith(f'tooleval: {tmp_path}/base.py:7: ') and done.err.count('\n') == 1


def test_classes_of_unused_variables_are_not_imported(tmp_path: Path) -> None:
    file = tmp_path / 'sweep.py'
    file.write_text(CONFIG + 'from no_such_package import Model\nothers = [dict(type=Model)]\n', encoding='utf-8')
    assert len(read_config(file)['models']) == 1
