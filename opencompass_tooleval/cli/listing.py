"""``tooleval list``: prints the benchmarks and their data set configs, and looks for their files on this machine."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track
from rich.table import Table

from opencompass_tooleval.catalogue.benchmark import Benchmark, Content, DataFiles, all_benchmarks, find_benchmark
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import ENV, candidate_paths, found_nearby, package_path, searched_folders
from opencompass_tooleval.work_dir.printing import Screen


@dataclass(frozen=True)
class FilesOnDisk:
    """The result of looking for files that belong together, and of reading the existing ones.

    Attributes:
        files: Their description.
        content: Their content; None if they are missing or damaged.
        fault: The fault in them, or ''.
    """

    files: DataFiles
    content: Content | None = None
    fault: str = ''

    @property
    def absent(self) -> bool:
        """True if the files are missing without a fault."""
        return self.content is None and not self.fault


def find_file(path: str) -> Path | None:
    """Returns the first existing file for a path in the folders that OpenCompass searches; None if not found."""
    return next(filter(Path.is_file, candidate_paths(path)), None)


def read_files(files: DataFiles) -> FilesOnDisk:
    """Looks for files and reads them."""
    existing = {path: find_file(path) for path in (*files.paths, *files.optional)}
    missing = [path for path in files.paths if existing[path] is None]
    if missing == list(files.paths):
        return FilesOnDisk(files)
    if missing:
        return FilesOnDisk(files, fault=f'{missing[0]} is missing beside {files.paths[0]}')
    try:
        return FilesOnDisk(files, files.read(list(existing.values())))
    except DataError as error:
        return FilesOnDisk(files, fault=str(error))


def where_searched(benchmarks: Sequence[Benchmark]) -> str:
    """Names the folders where files are searched and, if no file is found, a nearby folder that has some."""
    listed = (path for benchmark in benchmarks for files in benchmark.data.files for path in files.paths)
    paths = [path for path in listed if package_path(path) is None]
    near = None if any(map(find_file, paths)) else found_nearby(paths)
    use = f'; there are files below {near}, used with: export {ENV}={shlex.quote(str(near))}' if near else ''
    return f'searched below {searched_folders()}{use}'


CONFIGS = Path(__file__).resolve().parent.parent / 'configs' / 'datasets'


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify='left', box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow='fold')
    return table


def dataset_configs(benchmark: Benchmark) -> dict[str, list[str]]:
    """Returns the names for ``opencompass --datasets``: FILE -> its variables; ``FILE/VARIABLE`` selects one."""
    patterns = (f'*/tooleval_{benchmark.name}*_gen.py', f'{benchmark.name}/*_gen.py')
    files = {file.stem: file for pattern in patterns for file in CONFIGS.glob(pattern)}
    return {name: variables_of(files[name]) for name in sorted(files)}


def run_name(name: str) -> str:
    """Returns the name for ``tooleval run`` of a config or of its variable: ``tooleval_teval_fc_gen``, ``teval-fc``."""
    return name.removeprefix('tooleval_').removesuffix('_gen').removesuffix('_datasets').replace('_', '-')


def variables_of(config: Path) -> list[str]:
    """Returns the names of the variables of a config that hold data sets."""
    nodes = (node for node in ast.parse(config.read_text(encoding='utf-8')).body if isinstance(node, ast.Assign))
    names = (target.id for node in nodes for target in node.targets if isinstance(target, ast.Name))
    return [name for name in names if name.endswith('_datasets')]


def _show_all(console: Screen) -> None:
    table = _table('', 'name', 'benchmark', 'paper', 'subsets', 'files on disk')
    for benchmark in all_benchmarks():
        there = sum(find_file(files.paths[0]) is not None for files in benchmark.data.files)
        subsets, files = str(len(benchmark.subsets)), f'{there} of {len(benchmark.data.files)}'
        table.add_row(benchmark.name, benchmark.title, benchmark.paper, subsets, files)
    console.print(table)
    console.print(f'\n{where_searched(list(all_benchmarks()))}', soft_wrap=True)
    console.print('\nfiles, counts, names of data sets: tooleval list NAME\nfiles come with: tooleval prepare NAME')


def _show(benchmark: Benchmark, console: Screen) -> None:
    table, faults = _table(f'{benchmark.title} ({benchmark.paper})', 'files', 'published', 'on disk'), []
    errors = Screen(stderr=True)
    for files in track(benchmark.data.files, benchmark.title, console=errors, transient=True):
        state = read_files(files)
        published = ', '.join(f'{count} {what}' for what, count in files.published.items())
        shown = 'damaged' if state.fault else '-' if state.absent else str(state.content)
        table.add_row(files.name, published or '-', shown)
        faults += [f'DAMAGED {state.fault}'] if state.fault else []
    console.print(table)
    for line in faults:
        console.print(line, soft_wrap=True)
    if configs := dataset_configs(benchmark):
        names = dict.fromkeys(run_name(name) for file in configs for name in (file, *configs[file]))
        console.print(f'\nnames for tooleval run, NAME or NAME/SUBSET:\n{", ".join(names)}')
        console.print(
            f'with the subsets {", ".join(benchmark.subsets)}\n\nnames for --datasets, FILE or FILE/VARIABLE,'
        )
        console.print('with --config-dir "$(tooleval config-dir)":')
        for name, variables in configs.items():
            lines = [f'  {name}', *(f'    /{variable}' for variable in variables if len(variables) > 1)]
            console.print('\n'.join(lines))
    console.print(f'\n{where_searched([benchmark])}', soft_wrap=True)
    console.print(f'files come with: {benchmark.prepare}')


def show_list(
    benchmark: Annotated[str | None, typer.Argument(help='Its files, counts and configs; without, all.')] = None,
) -> None:
    """Prints benchmarks, or one with its files.

    Raises:
        ValueError: The benchmark does not exist.
    """
    console = Screen()
    if benchmark is None:
        _show_all(console)
    else:
        _show(find_benchmark(benchmark), console)
