"""Data files on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.benchmark import Content, DataFiles
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import candidate_paths


@dataclass(frozen=True)
class FilesOnDisk:
    """The result of looking for files that belong together, and of reading those that exist.

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


def find_file(place: str) -> Path | None:
    """Returns the first path of a file among the places where OpenCompass looks; None if it is in none."""
    return next(filter(Path.is_file, candidate_paths(place)), None)


def read_files(files: DataFiles) -> FilesOnDisk:
    """Looks for files and reads them."""
    paths = {place: find_file(place) for place in (*files.places, *files.optional)}
    missing = [place for place in files.places if paths[place] is None]
    if missing == list(files.places):
        return FilesOnDisk(files)
    if missing:
        return FilesOnDisk(files, fault=f'{missing[0]} is missing beside {files.places[0]}')
    try:
        return FilesOnDisk(files, files.read(list(paths.values())))
    except DataError as error:
        return FilesOnDisk(files, fault=str(error))
