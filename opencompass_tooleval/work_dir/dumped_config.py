"""Reads the configs that OpenCompass writes into a run without executing them, since a run may come from anybody.

The text, which mmengine wrote, is converted to one literal: `NAME = VALUE` and ``dict(NAME=VALUE)`` become
``{'NAME': VALUE}`` (a name may be a Python keyword). :func:`ast.literal_eval` parses the literal. Classes of modules
that have moved since are named as they are now.
"""

from __future__ import annotations

import ast
import copy
import re
import shlex
from functools import lru_cache
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.reading import READ_ERRORS
from opencompass_tooleval.plugin import MOVED
from opencompass_tooleval.work_dir.data_files import open_plain

MAX_BYTES = 1 << 24
"""Maximum size of a config; a hundred datasets take some 300 kB."""
_MAX_TOKENS = 400_000
"""Maximum number of tokens, for which Python's parser needs 200 MB. A hundred datasets have 20,000."""
_MAX_DEPTH = 100
_SHOWN = 40

# No operators, prefixes or attributes: a long chain of them makes Python 3.10's parser crash.
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>'[^'\\\n]*(?:\\.[^'\\\n]*)*' | "[^"\\\n]*(?:\\.[^"\\\n]*)*")
  | (?P<value>-?(?:\d{1,4000}(?:\.\d*)?(?:[eE][-+]?\d+)? | (?:nan|inf)\b) | (?:True|False|None)\b)
  | (?P<name>[^\W\d]\w*)\s*=
  | (?P<dict>dict\s*\((?!\s*\{))
  | (?P<open>(?:(?:dict|set)\s*)?\( | [\[{])
  | (?P<close>[)\]}])
  | (?P<sign>[,:])
  | (?P<end>\Z)
  | (?P<other>.)
    )""",
    re.VERBOSE,
)
_CLASS = re.compile(r'(.opencompass_tooleval\.)([\w.]{1,200})(\.\w+.)')
"""Matches a quoted name of one of our classes."""
_CLOSING = {'(': (')', ')'), '[': (']', ']'), '{': ('}', '}')}
"""Opening bracket -> its closing bracket, and the text for that in the literal."""
_OF_DICT = (')', '}')
_ENDS = ('string', 'value', 'close')
"""Kinds of tokens that end a value. Another value may not follow directly, since Python could parse it as a call."""


def _literal(text: str) -> str:
    """Converts a config to one literal.

    Raises:
        ValueError: The config has unexpected syntax; the message names the line.
    """
    pieces, before = ['{'], 'close'
    expected: list[tuple[str, str]] = []
    for count, token in enumerate(_TOKEN.finditer(text)):
        kind = str(token.lastgroup)
        piece, top = token[kind], expected[-1] if expected else None
        is_refused = count > _MAX_TOKENS or len(expected) > _MAX_DEPTH or kind == 'other'
        if kind in ('string', 'value', 'dict', 'open'):
            is_refused |= (before in _ENDS and not before == kind == 'string') or before == 'dict'
        if kind == 'string' and (named := _CLASS.fullmatch(piece)):
            piece = f'{named[1]}{MOVED.get(named[2], named[2])}{named[3]}'
        elif kind == 'name':
            is_refused |= top not in (None, _OF_DICT)
            piece = f'{"" if expected or len(pieces) == 1 else ","}{piece!r}:'
        elif kind == 'dict':
            expected.append(_OF_DICT)
            piece = '{'
        elif kind == 'open':
            expected.append(_CLOSING[piece[-1]])
        elif kind == 'close':
            is_refused |= top is None or piece != top[0]
            piece = expected.pop()[1] if expected else ''
        elif kind == 'sign':
            is_refused |= top is None or (piece == ':' and top == _OF_DICT)
        if is_refused:
            start = token.start(kind)
            there = text[start : start + _SHOWN].partition('\n')[0]
            line = text.count('\n', 0, start) + 1
            raise ValueError(f'line {line}: NAME = VALUE of literals and dict(...) is expected, not {there!r}')
        pieces.append('\n' * token[0].count('\n') + piece)
        before = kind
    return ''.join([*pieces, '}'])


class _Plain(ast.NodeTransformer):
    """Replaces ``nan``, ``inf`` and ``dict({...})`` with nodes that :func:`ast.literal_eval` accepts."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ('nan', 'inf') else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_dict = isinstance(node.func, ast.Name) and node.func.id == 'dict'
        return node.args[0] if is_dict and len(node.args) == 1 and isinstance(node.args[0], ast.Dict) else node


@lru_cache(maxsize=2)  # a command reads the config of its run many times
def _values(text: str) -> dict[str, Any]:
    """Parses a config.

    Raises:
        ValueError: The config has unexpected syntax; the message names the line.
    """
    values: dict[str, Any] = ast.literal_eval(_Plain().visit(ast.parse(_literal(text), mode='eval')))
    return values


def dump_again(file: Path) -> str:
    """Returns the command that writes the config of a run again, as after a full disk; ``''`` for another file."""
    run = file.absolute().parent.parent
    return shlex.join(['opencompass', 'CONFIG', '-w', str(run.parent), '-r', run.name]) * (
        file.parent.name == 'configs'
    )


def read_dumped(file: Path) -> dict[str, Any]:
    """Reads a config that OpenCompass wrote: literals, and ``dict(...)`` with keywords. Executes nothing.

    Raises:
        DataError: The config is missing, or has unexpected syntax; the message names the line.
    """
    try:
        with open_plain(file, MAX_BYTES) as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f'it is longer than {MAX_BYTES} bytes')
        return copy.deepcopy(_values(content.decode('utf-8')))
    except (OSError, *READ_ERRORS) as error:
        raise DataError(
            file, f'the config cannot be read, and is not executed ({error})', fix=dump_again(file)
        ) from error
