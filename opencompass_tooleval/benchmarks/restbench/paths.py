"""Parses and compares steps such as ``GET /movie/{movie_id}/keywords``, and finds them among a service's tools.

All functions take time linear in the text, and read at most ``MAX_STEP_CHARS`` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opencompass_tooleval.tool_docs.tool_doc import HTTP_METHODS

MAX_STEP_CHARS = 2_000
"""Maximum number of characters of a tool's name."""

_MARKS = '`"\'*'
_STOPS = '.,;:'


@dataclass(frozen=True)
class PathStep:
    """A step parsed from text.

    Attributes:
        method: HTTP method in capitals; ``''`` if the text has none.
        path: Path without query string and closing slash; ``''`` if the text has none.
        rules: Corrections that were needed to parse it: ``blank`` (spaces around it), ``marks`` (quotes, stars or a
            full stop around it), ``method_case`` (``get``), ``no_method``, ``words`` (further text after the path, such
            as ``to find the id``), ``query`` (a query string), ``slash`` (a closing slash); ``too_long``.
    """

    method: str
    path: str
    rules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``GET /movie/456``; without a method only the path."""
        return f'{self.method} {self.path}' if self.method else self.path

    @property
    def segments(self) -> list[str]:
        """The parts between the slashes."""
        return self.path.split('/')


def is_placeholder(segment: str) -> bool:
    """Tests if a segment of a path is ``{param}``."""
    return len(segment) > 2 and segment[0] == '{' and segment[-1] == '}'


def normalise(text: str) -> PathStep:
    """Parses a step, a template or one with ids. The case and spelling of the path stay."""
    if len(text) > MAX_STEP_CHARS:
        return PathStep('', '', ('too_long',))
    rules = []

    def note(rule: str, before: str, after: str) -> str:
        if before != after and rule not in rules:
            rules.append(rule)
        return after

    bare = note('blank', text, text.strip())
    bare = note('marks', bare, bare.strip(_MARKS).strip())
    first, *rest = bare.split(None, 2) or ['']
    method = first.rstrip(':').upper()
    if method.lower() in HTTP_METHODS:
        note('method_case', first, method)
    else:
        method, rest = '', [first, *rest]
    path = rest[0] if rest else ''
    if not path.startswith('/'):
        return PathStep(method, '', tuple(rules))
    if not method:
        rules.append('no_method')
    if len(rest) > 1:
        rules.append('words')
    path = note('query', path, path.partition('?')[0].partition('#')[0])
    path = note('marks', path, path.rstrip(_MARKS + _STOPS))
    path = note('slash', path, path.rstrip('/') or '/')
    return PathStep(method, path, tuple(rules))


def _fits(template: list[str], segments: list[str]) -> bool:
    """Tests if the segments equal the template's, with any text in place of its placeholders."""
    return len(template) == len(segments) and all(
        expected == other or (is_placeholder(expected) and other != '')
        for expected, other in zip(template, segments, strict=True)
    )


def matches(template: str, concrete: str) -> bool:
    """Tests if ``concrete`` is a call of ``template``.

    Args:
        template: ``GET /movie/{movie_id}/keywords``.
        concrete: ``GET /movie/456/keywords?page=2``. Any text in place of a placeholder counts as an id, even another
            placeholder; other parts of the template must be equal. If one of the two has no method (rule
            ``no_method``), any method matches.
    """
    expected, other = normalise(template), normalise(concrete)
    if not expected.path or not other.path or (expected.method and other.method and expected.method != other.method):
        return False
    return _fits(expected.segments, other.segments)


class Inventory:
    """The tools of a service, by name.

    Args:
        names: Names such as ``GET /movie/{movie_id}``, in the documentation's order.

    Raises:
        ValueError: A name is not a method and a path, or occurs twice.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._by_length: dict[int, list[tuple[PathStep, str]]] = {}
        self._known: set[str] = set()
        for name in self.names:
            step = normalise(name)
            if step.name != name or not step.method:
                raise ValueError(f'{name!r} is not a method and path, such as GET /movie/{{movie_id}}')
            if name in self._known:
                raise ValueError(f'{name!r} occurs twice')
            self._known.add(name)
            self._by_length.setdefault(len(step.segments), []).append((step, name))

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def find(self, step: PathStep) -> str | None:
        """Finds the tool that a step calls.

        If several templates fit, the one with the earliest literal part has priority: ``GET /movie/popular`` is the
        tool with that name, not a call of ``GET /movie/{movie_id}``. A step without a method matches only if a single
        method is possible.

        Returns:
            The tool's name; None if the step is not in the inventory (EasyTool, Section 5.1).
        """
        if not step.path or step.name in self._known:
            return step.name or None
        segments = step.segments
        fitting: dict[tuple[bool, ...], list[str]] = {}
        for template, name in self._by_length.get(len(segments), ()):
            if (not step.method or step.method == template.method) and _fits(template.segments, segments):
                kinds = tuple(is_placeholder(segment) for segment in template.segments)
                fitting.setdefault(kinds, []).append(name)
        best = fitting[min(fitting)] if fitting else []
        return best[0] if len(best) == 1 else None
