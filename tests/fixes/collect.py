"""Collects the fixes in the code of the package, which is not imported, so that one without a test is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / 'opencompass_tooleval'
PLACES = {'DataError': 3, 'found': 3, 'Kind': 2, 'naming_record': 2, 'resolve_data_path': 1, 'read_list': 1}
"""Function with a fix among its arguments -> the position of the fix; its name is ``fix``."""
MARK = re.compile(r'(?:[Ff]ix|[Ff]etch|[Ii]nstall|[Ww]rite) it(?: again)? with: ')
NAMED = re.compile(r'_?(?:FIX|fix|OF_STATUS)(?:_|$)')
"""Names of variables with fixes."""
RETURN_FIXES = re.compile(r'(?:_first_step|resuming|free_space|dump_again|command_to_generate|fix_of|fix_of_bank)$')
"""Functions whose results are fixes."""
Names = dict[str, list[ast.expr]]
"""Name -> what a function, or a module, assigns to it."""


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding='utf-8'))


def _assigned(nodes: Sequence[ast.AST]) -> Names:
    """Returns what is assigned to names: by the nodes of a function, or the statements of a module."""
    names: Names = {}
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for one, value in pairs:
                if isinstance(one, ast.Name):
                    names.setdefault(one.id, []).append(value)
    return names


@cache
def _constants(file: Path) -> Names:
    """Returns the constants of a module, and those that it imports from others of the package."""
    names = _assigned(_tree(file).body)
    for node in _tree(file).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGE.name):
            module = PACKAGE.parent.joinpath(*str(node.module).split('.')).with_suffix('.py')
            for alias in node.names if module.is_file() else ():
                if alias.name.strip('_').isupper():
                    texts = _texts(ast.Name(alias.name), _constants(module))
                    names[alias.asname or alias.name] = list(map(ast.Constant, texts))
    return names


def _texts(node: ast.AST | None, *scopes: Names) -> Iterator[str]:
    """Yields the texts that an expression can have; ``{}`` stands for what a run fills in. Parameters have none."""
    if isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
    elif isinstance(node, ast.JoinedStr):
        yield ''.join(
            str(part.value) if isinstance(part, ast.Constant) else _hole(part, *scopes) for part in node.values
        )
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body, *scopes)
        yield from _texts(node.orelse, *scopes)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == 'format':
        yield from _texts(node.func.value, *scopes)
    elif isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'offered':
        yield from _texts(node.args[0], *scopes)
    elif isinstance(node, (ast.Dict, ast.BoolOp)):
        for value in node.values:
            yield from _texts(value, *scopes)
    elif isinstance(node, ast.Name):
        for value in next((names[node.id] for names in scopes if node.id in names), []):
            yield from _texts(value, *(scopes[1:] or scopes))


def _hole(part: ast.expr, *scopes: Names) -> str:
    """Returns the text of a constant in an f-string; ``{}`` for another value."""
    if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id.isupper():
        for text in _texts(part.value, scopes[-1]):
            return repr(text) if part.conversion == ord('r') else text
    return '{}'


def fixes_in(function: ast.AST, constants: Names) -> Iterator[str]:
    """Yields the fixes in a function, or in a module outside of functions."""
    nodes = list(ast.walk(function))
    scopes = (_assigned(nodes), constants)
    whole = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    documentation = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, 'id', '')
            given = [word.value for word in node.keywords if word.arg == 'fix']
            given += node.args[PLACES[name] :][:1] if name in PLACES else []
            for value in given:
                yield from _texts(value, *scopes)
        elif isinstance(node, (ast.Return, ast.Assign)):
            names = [getattr(function, 'name', '')] if isinstance(node, ast.Return) else _names(node.targets)
            pattern = RETURN_FIXES if isinstance(node, ast.Return) else NAMED
            yield from _texts(node.value, *scopes) if any(map(pattern.match, names)) else ()
        elif isinstance(node, (ast.JoinedStr, ast.Constant)) and node not in whole | documentation:
            for text in _texts(node, *scopes):
                yield from MARK.split(text)[1:]


def _names(targets: list[ast.expr]) -> list[str]:
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def fixes() -> frozenset[str]:
    """Returns all fixes."""
    found = set()
    for file in sorted(PACKAGE.rglob('*.py')):
        if 'configs' not in file.parts:
            functions = [node for node in ast.walk(_tree(file)) if isinstance(node, ast.FunctionDef)]
            for function in [*functions, _tree(file)]:
                found |= set(fixes_in(function, _constants(file)))
    return frozenset(MARK.split(text)[-1].lstrip(' .:;') for text in found if re.search('[a-z]', text))
