"""A finding: a fault of a config or a machine, or a caveat of a result, and how screens and pages show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.findings.kinds import FIRST, KINDS, PUBLISHED, Kind, Level
from opencompass_tooleval.plugin import FINDINGS, load

BEFORE_FIX = '. Fix it with: '
_MOST_JOINED = 2


@dataclass(frozen=True)
class Finding:
    """A finding.

    Attributes:
        kind: Its id, a key of :data:`~opencompass_tooleval.findings.kinds.KINDS`.
        level: Its severity, from its kind; or :attr:`Level.OK` or :attr:`Level.UNKNOWN` as the outcome of a check.
        about: Its subject: a model, a data set, a part of a config, or of the machine; ``''`` if ``text`` names it.
        text: What was found.
        fix: A command or a change that fixes it, by default that of its kind; ``''`` if there is none, or ``text``
            contains it.
        concerns: The data sets that it affects; ``''`` if that is obvious.
    """

    kind: str
    level: Level
    about: str
    text: str
    fix: str = ''
    concerns: str = ''

    def __str__(self) -> str:
        """Returns subject, text and fix: ``m1: the key is not set. Fix it with: ...``."""
        return f'{self.about}: {self.told}' if self.about else self.told

    @property
    def told(self) -> str:
        """Text and fix, without the subject."""
        of_papers = 'not comparable with published scores: ' if self.kind.startswith(PUBLISHED) else ''
        return f'{of_papers}{self.text}{f"{BEFORE_FIX}{self.fix}" if self.fix else ""}'

    @property
    def line(self) -> str:
        """The line on a screen: ``NOTE d1: ...``."""
        return f'{self.level.value.upper()} {self}'

    @property
    def is_fault(self) -> bool:
        """True if it would stop a run, or fails a check."""
        return self.level is Level.FAULT

    @property
    def is_fine(self) -> bool:
        """True if a check found no fault."""
        return self.level is Level.OK

    def row(self) -> dict[str, str]:
        """Returns its members as JSON values."""
        return {**vars(self), 'level': self.level.value.lower()}


def found(kind: str, about: str, text: str, fix: str = '') -> Finding:
    """Returns a finding with the level of its kind, and with the fix of its kind if none is given."""
    of_kind = KINDS.get(kind) or kinds()[kind]
    return Finding(kind, of_kind.level, about, text, fix or of_kind.fix)


def fine(kind: str, about: str, text: str) -> Finding:
    """Returns the outcome of a check that found no fault."""
    return Finding(kind, Level.OK, about, text)


def unknown(kind: str, about: str, text: str) -> Finding:
    """Returns the outcome of a check that cannot decide."""
    return Finding(kind, Level.UNKNOWN, about, text)


@cache
def kinds() -> Mapping[str, Kind]:
    """Returns all kinds: of this package and its extras, by id and in the order of screens."""
    return {name: kind for table in FINDINGS for name, kind in load(table).items()}


def merged(findings: Iterable[Finding], most: int = 2) -> list[Finding]:
    """Joins findings that differ only in their subject, and sorts them in the order of the table of kinds.

    Args:
        findings: The findings.
        most: Number of subjects that a joined finding names; the others are counted.
    """
    abouts: dict[Finding, dict[str, None]] = {}
    for one in findings:
        abouts.setdefault(replace(one, about=''), {})[one.about] = None
    joined = [replace(one, about=first_of(list(filter(None, names)), most)) for one, names in abouts.items()]
    if len(joined) < 2:
        return joined  # without the kinds of extras, which a task need not load
    order = list(kinds())
    return sorted(joined, key=lambda one: (one.level is Level.NOTE and one.kind not in FIRST, order.index(one.kind)))


def shortened(findings: Iterable[Finding]) -> list[Finding]:
    """Joins notes of one kind into one note: ``8 of 163 records (d1); 9 of 12 records (d2); and 3 more``."""
    of_kind: dict[str, list[Finding]] = {}
    for one in findings:
        of_kind.setdefault(one.kind if one.level is Level.NOTE else str(one), []).append(one)
    return [those[0] if len(those) == 1 else _joined(those) for those in of_kind.values()]


def _joined(those: list[Finding]) -> Finding:
    parts = [f'{one.text} ({one.about})' if one.about else one.text for one in those]
    more = f'; and {len(parts) - _MOST_JOINED} more' if len(parts) > _MOST_JOINED else ''
    return replace(those[0], about='', text='; '.join(parts[:_MOST_JOINED]) + more)
