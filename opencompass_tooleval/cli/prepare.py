"""``tooleval prepare``: data to where OpenCompass looks, verified."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

from rich.console import Console
from rich.progress import track

from opencompass_tooleval.cli.teval_files import DATA_PATH
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.host.data_path import candidate_paths
from opencompass_tooleval.sweep.whole_file import whole_file
from opencompass_tooleval.teval.records import find_subset, load_samples, split_stem

TEVAL_REPO = 'lovesnowbest/T-Eval'


def _from_hub() -> Path:
    """Downloads T-Eval's files; what is there already is not fetched again."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(TEVAL_REPO, repo_type='dataset', allow_patterns=['*.json', '**/*.json']))
    except Exception as error:  # the hub has many ways to fail, and one cure
        raise OSError(
            f'cannot fetch {TEVAL_REPO} from Hugging Face ({type(error).__name__}: {error}). '
            'Download it elsewhere and run: tooleval prepare teval --from DIR'
        ) from error


def _teval_files(folder: Path) -> list[tuple[Path, str, str, str]]:
    """The files below ``folder`` that are T-Eval's, with subset, version and language."""
    found = []
    for file in sorted(folder.rglob('*.json')):
        try:
            found.append((file, *split_stem(file.stem)))
        except ValueError:
            continue
    return found


def _copy(file: Path, target: Path) -> None:
    """Copies so that the target is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as temporary:
        shutil.copyfile(file, temporary)


def prepare_teval(source: Path | None) -> int:
    """Verifies T-Eval's files and copies them to ``data/teval/{EN,ZH}`` below ``$COMPASS_DATA_CACHE``.

    A file that is in place already and equal is kept. A damaged one is named and left out.

    Args:
        source: A folder with the files, at any depth; None fetches them from Hugging Face.

    Returns:
        0, or 1 if a file is damaged or there is none.
    """
    console = Console()
    files = _teval_files(source or _from_hub())
    if not files:
        console.print(f'no T-Eval file, such as plan_json_v2.json, in {source or TEVAL_REPO}')
        return 1
    faults = 0
    for file, subset, version, language in track(
        files, description='T-Eval', console=Console(stderr=True), transient=True
    ):
        target = candidate_paths(f'{DATA_PATH}/{language}')[0] / file.name
        try:
            count = len(load_samples(file, subset, version))
        except DataError as error:
            faults += 1
            console.print(f'DAMAGED {error}', markup=False, soft_wrap=True)
            continue
        kept = target.is_file() and filecmp.cmp(file, target, shallow=False)
        if not kept:
            _copy(file, target)
        published = find_subset(subset).counts.get(version, count)
        note = '' if published == count else f'  (published: {published})'
        console.print(f'{"kept" if kept else "copied"} {target}: {count} records{note}', markup=False, soft_wrap=True)
    return 1 if faults else 0
