"""Findings about a machine or a server: the lines of ``tooleval doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """Severity of a finding; only a fault makes the exit status 1."""

    OK = 'ok'
    NOTE = 'note'
    UNKNOWN = 'unknown'
    FAULT = 'FAULT'


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        level: Its severity.
        what: The subject, in a word or two.
        says: The observation, and for a fault its fix: a command after ``with:``.
        concerns: The data sets that it affects; '' if that is obvious.
    """

    level: Level
    what: str
    says: str
    concerns: str = ''
