"""Reads the cells of a workbook, which is a ZIP archive of XML files."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

_MAX_PART = 1 << 25
_MAX_CELLS = 200_000
_MAX_SHEETS = 1 << 26
"""Maximum size of all sheets, as XML."""
_MAIN = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
_RELATION = '{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id'


def read_sheets(path: Path) -> dict[str, list[dict[str, Any]]] | None:
    """Reads the cells of all sheets, without formats.

    Returns:
        Sheet -> its cells, each with ``cell`` and ``value`` or ``formula``. None if the file is not a workbook.

    Raises:
        ValueError: The workbook is too large, or defines entities.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            left = _MAX_SHEETS
            shared = [
                ''.join(text.text or '' for text in item.iter(f'{_MAIN}t'))
                for item in _part(archive, 'xl/sharedStrings.xml').iter(f'{_MAIN}si')
            ]
            files = {row.get('Id'): str(row.get('Target')) for row in _part(archive, 'xl/_rels/workbook.xml.rels')}
            found: dict[str, list[dict[str, Any]]] = {}
            sizes = {one.filename: one.file_size for one in archive.infolist()}
            for sheet in _part(archive, 'xl/workbook.xml').iter(f'{_MAIN}sheet'):
                file = files[sheet.get(_RELATION)].removeprefix('/xl/').lstrip('/')
                left -= sizes.get(f'xl/{file}', 0)  # a part that two sheets name counts twice
                if left < 0:
                    raise ValueError(f'the sheets of {path.name} have more than {_MAX_SHEETS >> 20} MB')
                cells = _part(archive, f'xl/{file}').iter(f'{_MAIN}c')
                found[str(sheet.get('name'))] = [item for cell in cells if (item := _cell(cell, shared))]
                if sum(map(len, found.values())) > _MAX_CELLS:
                    raise ValueError(f'the workbook {path.name} has more than {_MAX_CELLS:,} cells')
            return found
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ElementTree.ParseError,
        LookupError,
        NotImplementedError,
        RuntimeError,
    ):
        return None


def _part(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if name not in archive.namelist():
        return ElementTree.Element('none')
    with archive.open(name) as stream:
        content = stream.read(_MAX_PART + 1)
    # A document type could define entities that fill the memory. NUL bytes mean UTF-16, which would hide it.
    if len(content) > _MAX_PART or b'<!DOCTYPE' in content or b'\0' in content:
        raise ValueError('a part of the workbook is too large, or defines entities')
    return ElementTree.fromstring(content)


def _cell(cell: ElementTree.Element, shared: list[str]) -> dict[str, Any] | None:
    written, formula = cell.findtext(f'{_MAIN}v'), cell.findtext(f'{_MAIN}f')
    if formula is not None:  # its value is computed by the program that opens it
        return {'cell': cell.get('r'), 'formula': formula}
    if cell.get('t') == 'inlineStr':
        written = ''.join(text.text or '' for text in cell.iter(f'{_MAIN}t'))
    if not written:
        return None
    kind: str = cell.get('t', 'n')
    value: str | float = written
    with suppress(ValueError):  # a number cell may contain text
        value = shared[int(written)] if kind == 's' else float(written) if kind == 'n' else written
    return {'cell': cell.get('r'), 'value': value}
