"""What a look at a machine or a server finds: a line of ``tooleval doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How bad a finding is; only a fault makes the exit status 1."""

    OK = 'ok'
    NOTE = 'note'
    UNKNOWN = 'unknown'
    FAULT = 'FAULT'


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        level: How bad it is.
        what: What was looked at, in a word or two.
        says: What was seen, and for a fault what fixes it: a command behind ``with:``.
        concerns: The data sets for which it matters; '' where that goes without saying.
    """

    level: Level
    what: str
    says: str
    concerns: str = ''
