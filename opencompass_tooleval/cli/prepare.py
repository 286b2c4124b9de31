"""``tooleval prepare``: verifies a benchmark's files and copies them to where OpenCompass looks."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Annotated

import typer
from rich.progress import track

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import Benchmark, Content, DataFiles, all_benchmarks, find_benchmark
from opencompass_tooleval.cli.commands import Command, command_group
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import candidate_paths, needed_encoders
from opencompass_tooleval.embedding.locate import (
    EncoderFiles,
    EncoderMissingError,
    fetch_encoder,
    locate_encoder,
)
from opencompass_tooleval.work_dir.printing import Screen, say
from opencompass_tooleval.work_dir.whole_file import whole_file

SourceOption = Annotated[
    Path | None,
    typer.Option(
        '--from',
        help='A folder with the files, such as a clone of where they come from; without, that is printed or used.',
    ),
]

VersionOption = Annotated[str | None, typer.Option(help='Version of the data to download; by default v2.')]


def _in_source(source: Path | None) -> Callable[[DataFiles], dict[str, Path]]:
    """Returns a function that finds files below a folder: description -> path below the data cache -> file."""
    by_name: dict[str, list[Path]] = {}
    root = source and source.resolve()
    for path in sorted(root.rglob('*')) if root else ():
        if path.is_file():
            by_name.setdefault(path.name, []).append(path)

    def find(files: DataFiles) -> dict[str, Path]:
        by_path: dict[str, Path] = {}
        for data_path in (*files.paths, *files.optional):
            parts = PurePath(data_path).parts
            for path in by_name.get(parts[-1], ()):
                is_placed = not files.folders or path.parent.name in (parts[-2], *files.folders) or path.parent == root
                if is_placed and path.parts[-files.parts :] == parts[-files.parts :]:
                    by_path.setdefault(data_path, path)
        return by_path

    return find


def _verify(files: DataFiles, by_path: Mapping[str, Path], fix: str) -> Content:
    content = files.read([by_path.get(path) for path in (*files.paths, *files.optional)])
    difference = content.differences(files.published)
    if files.exact and difference:
        raise DataError(by_path[files.paths[0]], difference, fix=fix)
    return content


def _copy(path: Path, data_path: str) -> str:
    """Copies a file atomically; returns a line that says whether it was copied or kept."""
    target = candidate_paths(data_path)[0].absolute()
    if target.is_file() and filecmp.cmp(path, target, shallow=False):
        return f'kept {target}'
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as temporary:
        shutil.copyfile(path, temporary)
    return f'copied {target}'


def _bring(files: DataFiles, by_path: Mapping[str, Path], source: Path, fix: str) -> Iterator[str]:
    """Verifies and copies files that belong together; yields a line for each."""
    whose = f'{files.name}: ' if len(files.paths) > 1 else ''
    missing = [source / PurePath(path).name for path in files.paths if path not in by_path]
    for path in missing:
        yield f'DAMAGED {whose}{DataError(path, "the file is missing", fix=fix)}'
    if missing:
        return
    try:
        content = _verify(files, by_path, fix)
    except DataError as error:
        yield f'DAMAGED {whose}{error}'
        return
    published = ', '.join(map(str, files.published.values()))
    words = f'{content}  (published: {published})' if content.differences(files.published) else str(content)
    for data_path, path in by_path.items():
        done = _copy(path, data_path)
        yield done if whose else f'{done}: {words}'
    if whose:
        yield f'{whose}{words}'


def bring_encoders(names: Iterable[str], find: Callable[[str], EncoderFiles] = fetch_encoder) -> int:
    """Prints the folders of sentence encoders; returns 1 if one is missing, else 0.

    Args:
        names: Their names.
        find: Finds the files, and may fetch them.
    """
    status = 0
    for name in names:
        try:
            say(f'encoder {name}: {find(name).path}')
        except (EncoderMissingError, OSError) as error:
            status = 1
            say(f'MISSING {error}')
    return status


def prepare(benchmark: Benchmark, source: Path | None, version: str | None = None, with_encoders: bool = True) -> int:
    """Verifies a benchmark's files and copies them below ``$COMPASS_DATA_CACHE``.

    An equal file that is already in place is kept. A damaged file is reported and not copied. Lines at the end name
    the files of the same version and language that are still missing, and files with other counts than published.

    Args:
        benchmark: The benchmark.
        source: Folder with the files; None to download them.
        version: Version to download; None for the benchmark's default.
        with_encoders: True to fetch the sentence encoders that the downloaded files need; with ``source``, missing ones
            are only named.

    Returns:
        0, or 1 if a file is damaged or missing, no file is found, or an encoder cannot be fetched.

    Raises:
        OSError: Files cannot be fetched or written.
        ValueError: ``version`` and ``source`` are both given, or the version cannot be downloaded.
    """
    if version and source:
        raise ValueError('--version chooses what is downloaded: leave it out, or --from')

    is_download = source is None
    if source is None and benchmark.name in plugin.DOWNLOAD:
        source = plugin.load(plugin.DOWNLOAD[benchmark.name])(*filter(None, [version]))
        say(f'downloaded to {source}')
    sources = [(files, find(files)) for find in (_in_source(source),) for files in benchmark.data.files]
    build = plugin.load(plugin.BUILD[benchmark.name]) if benchmark.name in plugin.BUILD else int
    if source is None and build():
        return 0
    if source is None or not any(by_path for _, by_path in sources):
        if source is not None and not source.is_dir():
            say(f'{source} is not a folder')
        elif source is not None:
            example = PurePath(benchmark.data.files[0].paths[0]).name
            folders = benchmark.data.files[0].folders
            where = f', nor below it in a folder {" or ".join(folders)}' if folders else ''
            say(f'no {benchmark.title} file, such as {example}, in {source.resolve()}{where}')
        if benchmark.data.clone:
            folder = PurePath(benchmark.data.clone).name
            say(f'{benchmark.data.origin} Fetch and prepare them with:\n  {benchmark.data.clone}')
            say(f'  tooleval prepare {benchmark.name} --from {folder}')
        elif benchmark.data.origin:
            say(benchmark.data.origin)
        return 1
    prepared = [(files, by_path) for files, by_path in sources if files.needed or by_path]
    faults, different = 0, list[str]()
    for files, by_path in track(prepared, benchmark.title, console=Screen(stderr=True), transient=True):
        for line in _bring(files, by_path, source, benchmark.data.clone or benchmark.prepare):
            faults += line.startswith('DAMAGED')
            different += [files.name] if '  (published: ' in line else []
            say(line)
    if with_encoders:
        rows = ({'name': PurePath(path).stem, 'path': path} for _, by_path in sources for path in by_path)
        lacking = bring_encoders(needed_encoders(rows), fetch_encoder if is_download else locate_encoder)
        faults += lacking if is_download else 0
    kinds = {files.name.partition(' ')[2] for files, by_path in sources if by_path}
    absent = [
        files.name
        for files, by_path in sources
        if files.name.partition(' ')[2] in kinds
        and not (by_path or files.needed or candidate_paths(files.paths[0])[0].is_file())
    ]
    if absent:
        say(f'still missing, neither in {source} nor prepared before: {", ".join(absent)}')
    build()
    for line in benchmark.data.hints(candidate_paths('')[0]) if benchmark.data.hints else ():
        say(line)
    if different:
        say(f'not as published, so that scores do not compare with those of the paper: {", ".join(different)}')
    return 1 if faults else 0


def prepare_commands() -> typer.Typer:
    """Returns a group with one command per benchmark."""
    summaries = {
        benchmark.name: f'Bring {benchmark.title} to where OpenCompass looks, verified.'
        for benchmark in all_benchmarks()
    }

    def load(name: str) -> Command:
        def run(source: SourceOption = None) -> int:
            return prepare(find_benchmark(name), source)

        def run_version(source: SourceOption = None, version: VersionOption = None) -> int:
            return prepare(find_benchmark(name), source, version)

        return run_version if name in plugin.DOWNLOAD else run

    return command_group(summaries, load, add_completion=False)
