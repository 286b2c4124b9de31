"""T-Eval's files: finds, verifies and counts them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from opencompass_tooleval.benchmarks.teval.protocol import protocol_of_version
from opencompass_tooleval.benchmarks.teval.records import (
    SUFFIXES,
    TABLE,
    file_stem,
    find_subset,
    load_samples,
    native_subset,
    split_stem,
)
from opencompass_tooleval.benchmarks.teval.subsets import VERSIONS
from opencompass_tooleval.catalogue.benchmark import BenchmarkFiles, ConfiguredDataset, Content, DataFiles
from opencompass_tooleval.core.calls.one_call import METHOD
from opencompass_tooleval.core.errors import DataError

DATA_PATH = 'data/teval'
REPOSITORY = 'lovesnowbest/T-Eval'
REVISIONS = {'v2': 'main', 'v1': '03f691b72257bfc47578bdfe4b094e858279d22c'}
"""Data version -> revision of the repository; ``main`` lacks v1."""


def download(version: str = 'v2') -> Path:
    """Downloads T-Eval's files from Hugging Face; existing files are not downloaded again.

    Args:
        version: Data version.

    Raises:
        ValueError: The version does not exist.
        OSError: The download failed.
    """
    if version not in REVISIONS:
        raise ValueError(f'T-Eval has no version {version!r} to download, only {", ".join(REVISIONS)}')
    from huggingface_hub import snapshot_download

    patterns = [f'{folder}*_{version}*.json' for folder in ('', '**/')]
    try:
        return Path(
            snapshot_download(REPOSITORY, repo_type='dataset', revision=REVISIONS[version], allow_patterns=patterns)
        )
    except Exception as error:  # the hub raises many errors, all with the same fix
        raise OSError(
            f'cannot fetch {REPOSITORY} from Hugging Face ({type(error).__name__}: {error}). '
            'Download it elsewhere and run: tooleval prepare teval --from DIR'
        ) from error


def _read(subset: str, version: str, files: Sequence[Path]) -> Content:
    count, first = len(load_samples(files[0], subset)), find_subset(subset).counts['v1']
    return Content({'records': count}, [f'v1 has {first}'] if version == 'v2' and count != first else [])


def configured(
    subset: str,
    *,
    language: str | None = None,
    version: str | None = None,
    data: str | None = None,
    instructions: str | None = None,
    method: str | None = None,
) -> ConfiguredDataset:
    """Returns the config of a subset; the name of a data file gives version and language.

    Raises:
        DataError: According to its name, ``data`` belongs to another subset.
        ValueError: The subset, version, language or method does not exist.
    """
    if data and data.endswith('.json'):
        file_subset, file_version, file_language = split_stem(Path(data).stem)
        version, language = version or file_version, language or file_language
        if (file_subset, file_version, file_language) != (subset, version, language.upper()):
            raise DataError(data, f'according to its name this is {file_subset}, {file_version}, {file_language}')
    version, language = version or 'v2', (language or 'en').upper()
    stem = file_stem(subset, version, language)
    other_version = '' if version == 'v2' else f'_{version}'
    config = 'teval/tooleval_teval_easytool_gen' if instructions else f'teval/tooleval_teval{other_version}_gen'
    if method:
        if method != METHOD:
            raise ValueError(f'T-Eval only has the method {METHOD}, not {method!r}')
        if instructions:
            raise ValueError(f'{method} uses the documented tools: leave out --instructions')
        native_subset(subset)
        config = 'teval/tooleval_teval_fc_gen'
    settings = {'path': f'{DATA_PATH}/{language}', 'check_encoder': False}
    return ConfiguredDataset([config], stem, Path(f'{stem}.json'), settings=settings)


def _encoder(name: str) -> str:
    subset, version, language = split_stem(name)
    return language if protocol_of_version(version) in find_subset(subset).encoder else ''


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            f'{subset.name} {version} {language}',
            (f'{DATA_PATH}/{language}/{file_stem(subset.name, version, language)}.json',),
            partial(_read, subset.name, version),
            {'records': subset.counts[version]} if version in subset.counts else {},
            exact=False,
            needed=False,
        )
        for language in SUFFIXES
        for version in VERSIONS
        for subset in TABLE
    ),
    encoder=_encoder,
)
