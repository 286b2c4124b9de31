"""Steps such as ``GET /movie/{movie_id}/keywords``: read, compared, and looked up among a service's tools.

Everything here takes time linear in the text, and reads no more than ``MAX_STEP_CHARS`` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opencompass_tooleval.tool_docs.rest import METHODS

MAX_STEP_CHARS = 2_000
"""A longer text names no tool."""

_MARKS = '`"\'*'
_STOPS = '.,;:'


@dataclass(frozen=True)
class Step:
    """A step as it was read.

    Attributes:
        method: In capitals; ``''`` if the text has none.
        path: Without query string and closing slash; ``''`` if the text has none.
        rules: What had to be done to read it: ``blank`` (blanks around it), ``marks`` (quotes, stars or a full stop
            around it), ``method_case`` (``get``), ``no_method``, ``words`` (more behind the path, such as ``to find the
            id``), ``query`` (a query string), ``slash`` (a closing slash); ``too_long``.
    """

    method: str
    path: str
    rules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``GET /movie/456``; without a method the path alone."""
        return f'{self.method} {self.path}' if self.method else self.path

    @property
    def segments(self) -> list[str]:
        """The parts between the slashes."""
        return self.path.split('/')


def is_placeholder(segment: str) -> bool:
    """Whether a segment of a path is ``{param}``."""
    return len(segment) > 2 and segment[0] == '{' and segment[-1] == '}'


def normalise(text: str) -> Step:
    """Reads a step, of a template or with ids in it. Case and spelling of the path stay."""
    if len(text) > MAX_STEP_CHARS:
        return Step('', '', ('too_long',))
    rules = []

    def note(rule: str, before: str, after: str) -> str:
        if before != after and rule not in rules:
            rules.append(rule)
        return after

    bare = note('blank', text, text.strip())
    bare = note('marks', bare, bare.strip(_MARKS).strip())
    first, *rest = bare.split(None, 2) or ['']
    method = first.rstrip(':').upper()
    if method.lower() in METHODS:
        note('method_case', first, method)
    else:
        method, rest = '', [first, *rest]
    path = rest[0] if rest else ''
    if not path.startswith('/'):
        return Step(method, '', tuple(rules))
    if not method:
        rules.append('no_method')
    if len(rest) > 1:
        rules.append('words')
    path = note('query', path, path.partition('?')[0].partition('#')[0])
    path = note('marks', path, path.rstrip(_MARKS + _STOPS))
    path = note('slash', path, path.rstrip('/') or '/')
    return Step(method, path, tuple(rules))


def _fits(template: list[str], segments: list[str]) -> bool:
    """Whether ids stand where the template has placeholders, and all else is the same."""
    return len(template) == len(segments) and all(
        expected == other or (is_placeholder(expected) and other != '')
        for expected, other in zip(template, segments, strict=True)
    )


def matches(template: str, concrete: str) -> bool:
    """Whether ``concrete`` is a call of ``template``.

    Args:
        template: ``GET /movie/{movie_id}/keywords``.
        concrete: ``GET /movie/456/keywords?page=2``. Whatever stands in a placeholder's place is taken for an id,
            another placeholder too; a literal part of the template must be there as it is. Where one of the two has no
            method (rule ``no_method``), any will do.
    """
    expected, other = normalise(template), normalise(concrete)
    if not expected.path or not other.path or (expected.method and other.method and expected.method != other.method):
        return False
    return _fits(expected.segments, other.segments)


class Inventory:
    """The tools of a service, by name.

    Args:
        names: Such as ``GET /movie/{movie_id}``, in the documentation's order.

    Raises:
        ValueError: A name is no method and path, or stands there twice.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._by_length: dict[int, list[tuple[Step, str]]] = {}
        self._known: set[str] = set()
        for name in self.names:
            step = normalise(name)
            if step.name != name or not step.method:
                raise ValueError(f'{name!r} is no method and path, such as GET /movie/{{movie_id}}')
            if name in self._known:
                raise ValueError(f'{name!r} stands there twice')
            self._known.add(name)
            self._by_length.setdefault(len(step.segments), []).append((step, name))

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def find(self, step: Step) -> str | None:
        """Which tool a step calls.

        Where several templates fit, the one with the earliest literal part wins: ``GET /movie/popular`` is the tool of
        that name and no call of ``GET /movie/{movie_id}``. A step without a method calls a tool only if no other
        method goes with that path.

        Returns:
            The tool's name, or None: a name that is not in the inventory (EasyTool, Section 5.1).
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
