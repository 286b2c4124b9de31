"""work_dir/dumped_config: configs of a run are read as OpenCompass writes them, and never executed."""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

import opencompass_tooleval
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.plugin import MOVED
from opencompass_tooleval.work_dir.dumped_config import MAX_BYTES, read_dumped
from opencompass_tooleval.work_dir.unanswered import retry_config
from tests.growth import in_linear_time

CONFIGS = Path(opencompass_tooleval.__file__).parent / 'configs'


def dumped(folder: Path, **values: Any) -> Path:
    """A config as OpenCompass dumps it."""
    file = folder / 'dumped.py'
    Config(values, format_python_code=False).dump(file)
    return file


@pytest.mark.parametrize('name', ['eval_demo', 'eval_leaderboard', 'eval_leaderboard_slurm'])
def test_dumps_of_ready_configs_are_read_as_they_would_be_executed(tmp_path: Path, name: str) -> None:
    """Types are in them, and functions, which OpenCompass writes as dotted names."""
    file = tmp_path / 'dumped.py'
    Config.fromfile(CONFIGS / f'{name}.py', format_python_code=False).dump(file)
    assert read_dumped(file) == Config.fromfile(file, format_python_code=False).to_dict()


VALUES = (
    -1, 0.5, -1e-05, 1e300, 10**40, True, None, '', [], (), {}, set(), {1, 2}, ('one',), [(), [[]], (1, (2,))],
    "it's", 'a "b" \'c\'', 'x\ny\t\\n\r\x00\u2028', '中文 🎉', '\ud800', 'x' * 200_000, "dict(a=1) # '", '{{ a }}',
    {'a-b': 1, 'c': {'d e': [{'f': 'g'}]}}, {1: 'a', None: 'b', (1, 2): 'c'}, [{'a': []}, {'a.b': ()}],
    {'class': 1},
)  # fmt: skip


def test_values_are_read_as_they_were(tmp_path: Path) -> None:
    for value in VALUES:
        values = {'value': value, 'more': {'value': value}}
        assert read_dumped(dumped(tmp_path, **values)) == values


def test_infinity_and_texts_beside_one_another(tmp_path: Path) -> None:
    read = read_dumped(dumped(tmp_path, values=[math.inf, -math.inf, math.nan], one=math.inf))
    assert read['values'][:2] == [math.inf, -math.inf] and math.isnan(read['values'][2]) and read['one'] == math.inf
    file = tmp_path / 'a.py'
    file.write_text('a = (\'x\'\n  "y")\nb = dict(c=(1), d=(1,),)')
    assert read_dumped(file) == {'a': 'xy', 'b': {'c': 1, 'd': (1,)}}


REFUSED = (
    '__import__("os").system("touch EVIL")', 'x = __import__("os").system("touch EVIL")', 'x = open("EVIL", "w")',
    'import os\nmodels = []', 'x = [y for y in ()]', 'x = f"{1}"', 'x = b"1"', 'x = lambda: 1', 'x = dict(**y)',
    'x = dict(1)', 'x = dict({1})', 'x = dict([(1, 2)])', 'x = dict', 'x = set([1])', 'x = 1 + 1', 'x = a.b',
    'x = [][0]', 'x = {[]: 1}', 'x = {1: 2, 3}', 'x = [a=1]', "x = dict('a': 1)", "x = dict(a=1, 'b': 2)",
    'x = 1, 2', "x = 1, 'y': 2", 'x = dict()()', 'x = 1-1', 'x = (1]', 'x = 1)', '1', 'x = y = 1', 'x.y = 1', 'x += 1',
    'x: int = 1', "x = <class 'a.B'>", 'x = (1', 'x = "a', "x = 'a\nb'", 'x = "\\x"', 'x = "\x00"',
    'x = ' + '9' * 5000, 'x', '\xff',
)  # fmt: skip


@pytest.mark.parametrize('text', REFUSED)
def test_anything_else_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / 'a.py'
    file.write_bytes(text.encode('latin-1'))
    with pytest.raises(DataError, match=r'a\.py: the config cannot be read, and is not executed \(') as caught:
        read_dumped(file)
    assert len(str(caught.value).replace(str(file), '')) < 200 and '\n' not in str(caught.value)
    assert list(tmp_path.iterdir()) == [file]


def test_chains_of_operators_end_soon(tmp_path: Path) -> None:
    """They kill the parser of Python 3.10; that other texts end, ``test_hostile_readers.py`` shows."""
    file = tmp_path / 'a.py'

    def refuse(text: str) -> None:
        file.write_text(f'x = {text}"')
        with pytest.raises(DataError):
            read_dumped(file)

    for unit in ('1+', '1-1', 'not ', 'lambda:', 'dict(a=', '{1:', '()'):
        in_linear_time(refuse, unit * (100_000 // len(unit)))


def test_what_is_too_long_or_missing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / 'a.py'
    with pytest.raises(DataError, match='No such file'):
        read_dumped(file)
    file.write_bytes(b' ' * (MAX_BYTES + 1))
    with pytest.raises(DataError, match='the file has more than 16777216 bytes'):
        read_dumped(file)


def test_the_config_of_a_retry_is_private_and_holds_only_literals(tmp_path: Path) -> None:
    """mmengine writes a key as it is, quotes and all."""
    file, written = tmp_path / 'a.py', tmp_path / 'again.py'
    inferencer = {'type': 'opencompass_tooleval.inferencers.inferencer.ToolEvalGenInferencer', 'max_infra_share': 0.1}
    dataset = {'abbr': 'd', 'infer_cfg': {'inferencer': inferencer}}
    models = [{'abbr': 'm', "x': __import__('os').system('touch EVIL'), 'y": 1}]
    file.write_text(f'_base_ = "/evil.py"\nmodels = {models!r}\ndatasets = {[dataset]!r}\nother = dict(a=1)\n')
    again = retry_config(file)
    assert again.pairs == {('m', 'd')}
    again.write(written)
    assert written.stat().st_mode & 0o777 == 0o600
    inferencer['max_infra_share'] = 1.0
    expected = {'models': models, 'datasets': [dataset], 'other': {'a': 1}}
    assert read_dumped(written) == Config.fromfile(written, format_python_code=False).to_dict() == expected


def test_the_config_of_another_version_is_named(tmp_path: Path) -> None:
    for name in ('agents.loops.funcqa.FuncQADialogues', 'models.ToolEvalOpenAI', 'agents.funcqa.FuncQADialogues'):
        dataset = {'abbr': 'd', 'infer_cfg': {'inferencer': {'dialogues': {'type': f'opencompass_tooleval.{name}'}}}}
        (tmp_path / 'a.py').write_text(f'models = [dict(abbr="m")]\ndatasets = {[dataset]!r}\n')
        if not name.startswith('agents.funcqa.'):
            assert retry_config(tmp_path / 'a.py').content['datasets'] == [dataset]
    with pytest.raises(DataError, match=r'a\.py: another version .* has no opencompass_tooleval\.agents\.funcqa\.'):
        retry_config(tmp_path / 'a.py')


def test_classes_of_moved_modules_are_named_as_they_are_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for old, new in MOVED.items():
        assert find_spec(f'opencompass_tooleval.{new}') is not None, new
        with pytest.raises(ModuleNotFoundError):
            import_module(f'opencompass_tooleval.{old}')
    monkeypatch.setitem(MOVED, 'models.former', 'models.now')
    former = 'opencompass_tooleval.models.former'
    values = {'type': f'{former}.A', 'other': [f'{former}.A.b', f'{former}s.A', f'{former}.A ', former]}
    expected = {**values, 'type': 'opencompass_tooleval.models.now.A'}
    assert read_dumped(dumped(tmp_path, **values)) == expected


def test_a_config_without_models_or_of_too_many_values_is_refused_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / 'a.py'
    numbers = 'models = 1\ndatasets = 2', 'models = [1]\ndatasets = []', 'models = [dict(abbr=1)]\ndatasets = []'
    for text in ('', 'models = []', *numbers):
        file.write_text(text)
        with pytest.raises(DataError, match='its models and datasets cannot be read'):
            retry_config(file)
    file.write_text('x = [' + '0,' * 200_001 + ']')
    with pytest.raises(DataError, match='line 1: NAME = VALUE'):
        read_dumped(file)
