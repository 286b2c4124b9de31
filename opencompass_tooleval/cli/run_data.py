"""Data sets of ``tooleval run``: finds those of a name in the shipped configs, and their files on this machine."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import all_benchmarks, find_benchmark
from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.cli.listing import CONFIGS, dataset_configs, run_name, variables_of
from opencompass_tooleval.core.errors import DataError

_DEMO = 'demo'
"""Folder of the configs of shipped records."""


@dataclass(frozen=True)
class Chosen:
    """Data sets that a name stands for.

    Attributes:
        module: The config that has them, as configs import it; ``''`` where they come from a file of the user.
        variables: Its variables.
        rows: The rows of the variables that are chosen.
        is_part: True if the variables have other rows too.
    """

    module: str
    variables: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    is_part: bool


def check_config(config: Path) -> None:
    """Checks that a config exists and can be parsed; OpenCompass, whose import takes seconds, need not be imported.

    Raises:
        DataError: The config is missing, or has a syntax error; the message has its line.
    """
    if not config.is_file():
        raise DataError(config, 'no such file')
    try:
        ast.parse(config.read_bytes() if config.suffix == '.py' else b'')
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two of deep nesting
        line = getattr(error, 'lineno', None)
        where = f'{config}:{line}' if line else config
        raise DataError(where, f'the config cannot be read ({type(error).__name__}: {error})') from error


def config_values(config: Path) -> dict[str, Any]:
    """Reads a config without importing the classes that it names; each class is given by its full name.

    Raises:
        DataError: The config cannot be read.
    """
    check_config(config)
    from mmengine.config import Config

    try:
        values: dict[str, Any] = Config.fromfile(config, format_python_code=False).to_dict()
    except Exception as error:  # a config is a program: it may fail in any way
        raise DataError(config, f'the config cannot be read ({type(error).__name__}: {error})') from error
    return values


def _datasets_by_name() -> dict[str, tuple[Path, list[str]]]:
    """Returns name -> config and variables: for each config and variable, and for each kind of shipped records."""
    by_name: dict[str, tuple[Path, list[str]]] = {}
    for file in sorted(CONFIGS.glob('*/*_gen.py')):
        variables = variables_of(file)
        if file.parent.name == _DEMO:  # tooleval_teval_zh_v2_datasets and its neighbours are teval-demo
            kinds = groupby(variables, key=lambda variable: variable.split('_')[1])
            by_name |= {f'{kind}-demo'.removeprefix('demo-'): (file, list(found)) for kind, found in kinds}
        else:
            alone = {run_name(variable): (file, [variable]) for variable in variables}
            by_name |= alone | {run_name(file.stem): (file, variables)}
    return by_name


def choose(names: Iterable[str]) -> list[Chosen]:
    """Finds data sets by names: ``teval``, ``teval-en-v2``, ``ultratool/planning``, ``FILE/VARIABLE``.

    Raises:
        ValueError: A name has no data set, or two names have a data set in common.
    """
    by_name = _datasets_by_name()
    chosen = [_choose(name, by_name) for name in names]
    counts = Counter(row['abbr'] for group in chosen for row in group.rows)
    if twice := [abbr for abbr, count in counts.items() if count > 1]:
        raise ValueError(f'{twice[0]} is chosen twice; name each data set once')
    return chosen


def _choose(name: str, by_name: Mapping[str, tuple[Path, list[str]]]) -> Chosen:
    if plugin.DATASETS and (rows := plugin.load(plugin.DATASETS)(name)) is not None:
        return Chosen('', (), rows, False)
    dataset_name, _, part = name.partition('/')
    if run_name(dataset_name) not in by_name:
        names = (
            map(run_name, dataset_configs(find_benchmark(dataset_name)))
            if dataset_name in plugin.BENCHMARKS
            else by_name
        )
        raise ValueError(
            f'no data sets {dataset_name!r}; there are {nearest_first(dataset_name, names)}. See: tooleval list'
        )
    file, variables = by_name[run_name(dataset_name)]
    values = config_values(file)
    variables = [variable for variable in variables if part in (variable, run_name(variable))] or variables
    rows = [row for variable in variables for row in values[variable]]
    is_part = bool(part) and part not in (variables[0], run_name(variables[0]))
    chosen = [row for row in rows if not is_part or part in (row['name'], _subset(row))]
    if not chosen:
        raise ValueError(f'{dataset_name} has no subset {part!r}; it has {nearest_first(part, map(_subset, rows))}')
    module = '.'.join(('opencompass_tooleval.configs', *file.relative_to(CONFIGS.parent).with_suffix('').parts))
    return Chosen(module, variables, chosen, is_part)


def _subset(row: Mapping[str, Any]) -> str:
    """Returns the subset of a row: ``plan_json`` for a row named ``plan_json_v2_zh``."""
    subsets = (subset for benchmark in all_benchmarks() for subset in benchmark.subsets)
    return max((name for name in subsets if f'{row["name"]}_'.startswith(f'{name}_')), key=len, default=row['name'])
