"""Data sets of ``tooleval run``: finds those of a name in the shipped configs, and their files on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from opencompass_tooleval.catalogue.benchmark import all_benchmarks, find_benchmark
from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.cli.listing import CONFIGS, dataset_configs, run_name, variables_of, where_searched
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import candidate_paths
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.work_dir.data_files import command_to_generate

_DEMO = 'demo'
"""Name of the data sets of ``tooleval demo``, and folder of the configs of shipped records."""

_TEST_SET = '/test_set/'


@dataclass(frozen=True)
class Chosen:
    """Data sets that a name stands for.

    Attributes:
        module: The config that has them, as configs import it.
        variables: Its variables.
        rows: The rows of the variables.
        abbrs: Abbrs of the rows that are chosen; None for all.
    """

    module: str
    variables: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    abbrs: Sequence[str] | None = None

    @property
    def chosen_rows(self) -> list[Mapping[str, Any]]:
        """The rows that are chosen."""
        return [row for row in self.rows if self.abbrs is None or row['abbr'] in self.abbrs]


def config_values(config: Path) -> dict[str, Any]:
    """Reads a config without importing the classes that it names; they become their full names.

    Raises:
        DataError: It cannot be read.
    """
    from mmengine.config import Config

    try:
        values: dict[str, Any] = Config.fromfile(config, format_python_code=False).to_dict()
    except Exception as error:  # a config is a program: it may fail in any way
        raise DataError(config, f'the config cannot be read ({type(error).__name__}: {error})') from error
    return values


def _places() -> dict[str, tuple[Path, list[str]]]:
    """Returns name -> config and variables; that of a file has all of them."""
    files = {file: variables_of(file) for file in sorted(CONFIGS.glob('*/*_gen.py'))}
    places = {_DEMO: (CONFIGS.parent / 'eval_demo.py', ['datasets'])}
    places |= {run_name(file.stem): (file, variables) for file, variables in files.items()}
    for file, variables in files.items():
        if file.parent.name != _DEMO:  # their variables have the names of others
            places = {run_name(variable): (file, [variable]) for variable in variables} | places
    return places


def choose(names: Iterable[str]) -> list[Chosen]:
    """Finds the data sets of names: ``teval``, ``teval-en-v2``, ``ultratool/planning``, ``FILE/VARIABLE``.

    Raises:
        ValueError: There is no such data set, or two names have the same one.
    """
    places = _places()
    chosen = [_choose(name, places) for name in names]
    counts = Counter(row['abbr'] for one in chosen for row in one.chosen_rows)
    if twice := [abbr for abbr, count in counts.items() if count > 1]:
        raise ValueError(f'{twice[0]} is chosen twice; name each data set once')
    return chosen


def _choose(name: str, places: Mapping[str, tuple[Path, list[str]]]) -> Chosen:
    place, _, part = name.partition('/')
    if run_name(place) not in places:
        here = map(run_name, dataset_configs(find_benchmark(place))) if place in BENCHMARKS else places
        raise ValueError(f'no data sets {place!r}; there are {nearest_first(place, here)}. See: tooleval list NAME')
    file, variables = places[run_name(place)]
    variables = [part] if part in variables else variables
    values = config_values(file)
    rows = [row for variable in variables for row in values[variable]]
    module = '.'.join(('opencompass_tooleval.configs', *file.relative_to(CONFIGS.parent).with_suffix('').parts))
    if part in ('', *variables):
        return Chosen(module, variables, rows)
    abbrs = [row['abbr'] for row in rows if part in (row['name'], _subset(row['name']))]
    if not abbrs:
        subsets = dict.fromkeys(_subset(row['name']) for row in rows)
        raise ValueError(f'{place} has no subset {part!r}; it has {nearest_first(part, subsets)}')
    return Chosen(module, variables, rows, abbrs)


def _subset(name: str) -> str:
    """Returns the subset of a row: ``plan_json_v2_zh`` is ``plan_json``."""
    subsets = (subset for benchmark in all_benchmarks() for subset in benchmark.subsets)
    return max((subset for subset in subsets if f'{name}_'.startswith(f'{subset}_')), key=len, default=name)


# --- files ------------------------------------------------------------------------------------------------------------


def missing_files(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the files or folders that rows need and that are not on this machine -> the command that brings them."""
    missing: dict[str, str] = {}
    for row in rows:
        for place, command in _needed(row):
            if not any(path.exists() for path in candidate_paths(place)):
                missing[place] = command
    return missing


def check_files(missing: Mapping[str, str]) -> None:
    """Raises if files are missing.

    Raises:
        DataError: The message names the first, and the commands that bring all.
    """
    if missing:
        more = f' and {len(missing) - 1} more' if len(missing) > 1 else ''
        commands = ' && '.join(dict.fromkeys(missing.values()))
        what = f'not found{more}; {where_searched(list(all_benchmarks()))}'
        raise DataError(next(iter(missing)), what, fix=commands)


def _needed(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the paths that a row reads, below the data cache, and the command for each."""
    path, names = str(row['path']), [row['name'], f'{row["name"]} {row.get("language")}']
    dialogues = row['infer_cfg']['inferencer'].get('dialogues') or {}
    made = set(filter(None, (row.get('instructions'), dialogues.get('instructions'), dialogues.get('bank'))))
    documentation, command = path, ''
    for benchmark in all_benchmarks():
        for files in benchmark.data.files:
            places = [place for place in files.places if place == path or place.startswith(f'{path}/')]
            command = command or (benchmark.prepare if places else '')
            is_of_row = any(f'{files.name} '.startswith(f'{name} ') for name in names)
            if places and (is_of_row or PurePath(places[0]).stem == row['name']):
                documentation = path if _TEST_SET not in places[0] else places[0].partition(_TEST_SET)[0]
                yield from ((place, benchmark.prepare) for place in places)
            listed = made.intersection((*files.places, *files.optional))
            yield from ((place, benchmark.prepare) for place in listed)
            made -= listed
    yield path, command
    for place in made:
        source, folder = PurePath(path).parts[1], candidate_paths(documentation)[0]
        yield place, command_to_generate(source, folder, candidate_paths(place)[0])
