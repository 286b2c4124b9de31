"""Checks that the models and datasets that a config selects exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.utils import dataset_abbr_from_cfg

from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.models.accelerator import run_options

SELECTION = 'dataset_abbrs'
"""Variable of a config with the abbrs of the selected datasets, or patterns (``*``). Each must match a dataset."""
_QUOTED = re.compile(r"""["']([^"'\n]{3,80})["']""")
_MOST_WORDS = 50


def selection_faults(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a fault if a config has no models or no datasets, and one per name or pattern that matches no dataset."""
    if not isinstance(config, Config):
        return  # the rows of tasks, of which there may be none
    file = getattr(run_options(), 'config', None) or getattr(config, 'filename', None)
    where = str(file or 'the config')
    for what in ('models', 'datasets'):
        if not config.get(what):
            names = _all_names(config, file, what)
            there = f'. There are {nearest_first("", names, most=5)}' if names else ''
            yield found('config:selection', where, f'{what!r} is empty: a filter may match nothing{there}')
    selected = list(map(dataset_abbr_from_cfg, config.get('datasets') or ()))
    for wanted in (config.get(SELECTION) or ()) if selected else ():
        if not any(fnmatchcase(abbr, wanted) for abbr in selected):
            there = nearest_first(wanted, [*_names(config, 'datasets'), *selected], most=5)
            text = f'{SELECTION} names {wanted!r}, which matches no data set; there are {there}'
            yield found('config:selection', where, text)


def _names(config: Mapping[str, Any], what: str) -> list[str]:
    """Returns the abbrs of all models or datasets in a config's variables, also of those that a filter excludes."""
    rows = [row for value in config.values() if isinstance(value, (list, tuple)) for row in value]
    rows = [row for row in rows if isinstance(row, Mapping) and 'abbr' in row and 'type' in row]
    return [str(row['abbr']) for row in rows if ('reader_cfg' in row) == (what == 'datasets')]


def _all_names(config: Mapping[str, Any], file: Any, what: str) -> Sequence[str]:
    """Returns the abbrs in a config, and in those that it imports: ``datasets`` may be filtered under its own name.

    Names that are similar to a text in the file, which may be that of the filter, come first.
    """
    names, words = _names(config, what), list[str]()
    with suppress(Exception):  # a config is a program; this only improves a message
        text = Path(file).read_text(encoding='utf-8')
        words = _QUOTED.findall(text)[-_MOST_WORDS:]
        blocks = [node for node in ast.parse(text).body if isinstance(node, ast.With)]
        for node in (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)):
            name = '.' * node.level + str(node.module)
            beside = Path(file).absolute().parents[max(node.level, 1) - 1] / f'{name.strip(".").replace(".", "/")}.py'
            base = str(beside) if node.level else getattr(find_spec(name), 'origin', '')
            names += _names(Config.fromfile(base, format_python_code=False), what)

    def likeness(name: str) -> float:
        parts = [name, *name.split('-')]
        return max((SequenceMatcher(None, part, word).ratio() for part in parts for word in words), default=0.0)

    return sorted(dict.fromkeys(names), key=likeness, reverse=True)
