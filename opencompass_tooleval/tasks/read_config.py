"""Reads a user's config as OpenCompass does; errors of mistyped imports have file, line and nearest name."""

from __future__ import annotations

import pkgutil
import traceback
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import mmengine.config
from mmengine.config import Config
from mmengine.config.lazy import LazyObject
from opencompass import registry

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.plugin import REGISTERED

_MMENGINE = str(Path(mmengine.config.__file__).parent)
_PARSES = '_parse_lazy_import'
"""mmengine's function that parses a file; its local variable ``filename`` has the path."""


_OF_A_RUN = ('models', 'datasets', 'model_dataset_combinations', 'infer', 'eval', 'summarizer')


def _is_of_a_run(name: str) -> bool:
    return name in _OF_A_RUN


def registered_objects() -> dict[str, dict[str, Any]]:
    """Returns the objects in OpenCompass's registries, by registry and name."""
    return {name: dict(getattr(registry, name).module_dict) for name in REGISTERED}


def read_config(file: Path, is_used: Callable[[str], bool] = _is_of_a_run) -> Config:
    """Reads a config, and imports the classes that it names.

    Args:
        file: The config.
        is_used: Returns True for the names of variables whose classes are imported; by default, those of a run.

    Raises:
        DataError: The config cannot be read; the message has the line of the fault, which may be in an imported config.
    """
    try:
        config = Config.fromfile(file, format_python_code=False)
        _import_classes([config[name] for name in config if is_used(name)])  # items() would import all
    except Exception as error:  # a config is a program, which may raise anything
        where, what = _explained(error) or (_line_of(error, file), f'{type(error).__name__}: {error}')
        raise DataError(where, f'the config cannot be read ({what})') from error
    return config


def _import_classes(values: Any) -> None:
    """Reads all values, since mmengine imports a class when its value is first read."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, (dict, list, tuple)):
            _import_classes(value)


def _frames(error: BaseException) -> Iterator[TracebackType]:
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _explained(error: Exception) -> tuple[str, str] | None:
    """Returns place and fault of an import whose name does not exist; None for another error.

    mmengine's messages lack the line (``KeyError: 'modles'``), but local variables of its functions have it.
    """
    for frame in reversed(list(_frames(error))):
        code, local = frame.tb_frame.f_code, frame.tb_frame.f_locals
        if not code.co_filename.startswith(_MMENGINE):
            continue
        if code.co_name == 'visit_ImportFrom' and isinstance(error, KeyError):
            read, module = local['self'], local['module']
            where = f'{read.filename}:{local["node"].lineno}'
            return where, _nearest(f'{module} has no', str(error.args[0]), map(str, read.base_dict[module]))
        if code.co_name == _PARSES and 'module_path' in local and 'transform' not in local:
            module, path = local['base_module'], Path(local['module_path'])
            names = (file.stem for file in path.parent.glob('*.py'))
            where = f'{local["filename"]}:{_line_of_module(local["filename"], module)}'
            return where, _nearest(f'{module.removesuffix(path.stem)} has no config', path.stem, names)
        if code.co_name == 'build' and isinstance(lazy := local.get('self'), LazyObject):
            return str(lazy.location).replace(', line ', ':'), _missing_class(str(lazy.module), lazy._imported, error)
    return None


def _nearest(what: str, name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1)
    return f'{what} {name}; did you mean {near[0]}?' if near else f'{what} {name}'


def _missing_class(module: str, name: str | None, error: Exception) -> str:
    """Returns why a class cannot be imported: its module or its name does not exist, or another error."""
    package, _, last = module.rpartition('.')
    try:
        names = [*vars(import_module(module)), *(known for rows in REGISTERED.values() for known in rows)]
    except ModuleNotFoundError as missing:
        if missing.name != module or not package:
            return str(error)
        there = (found.name for found in pkgutil.iter_modules(import_module(package).__path__))
        return _nearest(f'{package} has no module', last, there)
    except Exception:  # any module, which may raise anything
        return str(error)
    return _nearest(f'{module} has no', name, names) if name else str(error)


def _line_of_module(file: str, module: str) -> int:
    """Returns the number of the line on which a config imports another."""
    lines = Path(file).read_text(encoding='utf-8').splitlines()
    return next((number for number, line in enumerate(lines, 1) if f'from {module} import' in line), 1)


def _line_of(error: Exception, file: Path) -> str:
    """Returns file and number of the last line that was executed before an error."""
    if isinstance(error, SyntaxError) and error.lineno:
        local = [frame.tb_frame.f_locals for frame in _frames(error) if frame.tb_frame.f_code.co_name == _PARSES]
        return f'{local[-1]["filename"] if local else file}:{error.lineno}'
    ran = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f'{file}:{ran[-1].lineno}' if ran else str(file)
