"""UltraTool's files: finds, verifies and counts them.

The authors' layout is kept: ``{Chinese,English}-dataset/`` with ``test_set/`` and ``example/`` (one file per task) and
the annotated samples ``test.json`` and ``dev.json``, which give the domains and the built tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from opencompass_tooleval.benchmarks.ultratool.build_read import FIX_MISSING, TASKS, read_samples
from opencompass_tooleval.benchmarks.ultratool.prompts import build_prompt
from opencompass_tooleval.benchmarks.ultratool.records import FIX, FOLDERS, TABLE, data_file, find_subset, load_records
from opencompass_tooleval.catalogue.benchmark import BenchmarkFiles, ConfiguredDataset, Content, DataFiles
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.work_dir.data_files import read_plain

DATA_PATH = 'data/ultratool'
ANNOTATED = {'test.json': 1000, 'dev.json': 4824}
"""File of annotated samples -> number of samples in the paper (arXiv 2401.17167, section 4.1)."""


def _read_rows(subset: str, language: str, files: Sequence[Path]) -> Content:
    return Content({'rows': len(load_records(files[0], subset, language))})


def _read_example(language: str, files: Sequence[Path]) -> Content:
    (path,) = files
    try:
        example = load_json(read_plain(path), bounded=True)
        if not isinstance(example, dict):
            raise ValueError('it is not a JSON object')
        build_prompt(path.stem, language, example, example)
    except DataError:
        raise
    except ValueError as error:  # the base of JSON and UTF-8 errors
        raise DataError(path, f'the one-shot example is damaged ({error})', fix=FIX_MISSING) from error
    return Content({'example': 1})


def _read_annotated(files: Sequence[Path]) -> Content:
    skipped: list[DataError] | None = [] if files[0].name == 'dev.json' else None
    return Content({'rows': len(read_samples(files[0], skipped=skipped))})


def _files(language: str, folder: str) -> Iterator[DataFiles]:
    root = f'{DATA_PATH}/{folder}'
    for subset in TABLE:
        read, count = partial(_read_rows, subset.name, language), {'rows': subset.count}
        path = f'{root}/test_set/{subset.file}'
        yield DataFiles(
            f'{subset.name} {language}', (path,), read, count, needed=False, parts=3, is_prepared=subset.is_prepared
        )
    for task in TASKS:
        read, path = partial(_read_example, language), f'{root}/example/{task}.json'
        yield DataFiles(f'{task} {language} example', (path,), read, needed=False, parts=3)
    for name, number in ANNOTATED.items():
        exact = name != 'dev.json'  # the published file has unreadable rows
        path, published = f'{root}/{name}', {'rows': number}
        yield DataFiles(f'{name} {language}', (path,), _read_annotated, published, exact=exact, needed=False, parts=2)


def find_file(path: str, subset: str, language: str) -> Path:
    """Returns the file of a subset; a file that was built may be in another place than the published ones.

    Args:
        path: Folder with ``Chinese-dataset`` and ``English-dataset``, such as ``data/ultratool``.
        subset: Row of the table.
        language: ``zh`` or ``en``.

    Raises:
        DataError: The folder does not exist, or the file is one that ``tooleval prepare`` builds, and is missing.
    """
    for folder in candidate_paths(path):
        if (file := data_file(folder, subset, language)).is_file():
            return file
    root, row = resolve_data_path(path, FIX), find_subset(subset)
    if row.is_prepared and not row.official:
        raise DataError(root, 'the tasks that the authors did not publish are not built yet', fix=FIX)
    return data_file(root, subset, language)


def configured(
    subset: str, *, language: str | None = None, method: str | None = None, instructions: str | None = None
) -> ConfiguredDataset:
    """Returns the config of a subset; ``method`` is a prompt style.

    Raises:
        ValueError: The subset does not exist, or a prompt style is given with instructions.
    """
    if method and instructions:
        raise ValueError('UltraTool has no prompt style with instructions: leave out --method or --instructions')
    language = (language or 'zh').lower()
    file, name = 'ultratool/tooleval_ultratool', f'tooleval_ultratool_{language}'
    configs = [f'{file}{kind}_gen:{name}{kind}_datasets' for kind in ([f'_{method}'] if method else ['', '_built'])]
    if instructions:
        file = 'ultratool/tooleval_ultratool_easytool_gen'
        configs = [f'{file}:{name}{built}_easytool_datasets' for built in ('', '_built')]
    return ConfiguredDataset(configs, subset, data_file(Path(), subset, language))


FILES = BenchmarkFiles(
    files=tuple(files for language, folder in FOLDERS.items() for files in _files(language, folder)),
    origin="UltraTool's files are in its authors' GitHub repository, JoeYing1019/UltraTool; its folder "
    'predictions has answers of GPT-3.5 and GPT-4 with their judgements, which tooleval score ultratool reads.',
    clone=FIX_MISSING,
)
