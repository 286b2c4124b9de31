"""What an answer cost: tokens, seconds and tries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

TOKENS = ('prompt', 'completion', 'reasoning', 'cached')


@dataclass(frozen=True)
class Usage:
    """Of one answer, or of all rounds of a dialogue.

    Attributes:
        prompt: Tokens of what was asked; None if nobody says.
        completion: Tokens of the answer, thoughts included.
        reasoning: Those of them that are thoughts.
        cached: Tokens of the prompt that the server had already.
        counted: Whether the tokens were counted here, not said by the server.
        seconds: From the first byte sent to the last received, of the try that was answered; None for a batch.
        tries: Requests, the failed ones among them.
    """

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None
    counted: bool = False
    seconds: float | None = None
    tries: int = 1

    def to_payload(self) -> dict[str, Any]:
        """What is known, as JSON values."""
        payload = {name: value for name, value in asdict(self).items() if value is not None}
        if not self.counted:
            del payload['counted']
        return payload


def read_usage(value: Any) -> Usage | None:
    """The inverse of :meth:`Usage.to_payload`; None where it says nothing that can be read."""
    if not isinstance(value, Mapping):
        return None
    seconds, tries = value.get('seconds'), value.get('tries', 1)
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    return Usage(
        **{name: whole_number(value.get(name)) for name in TOKENS},
        counted=value.get('counted') is True,
        seconds=float(seconds) if is_number and 0 <= seconds < float('inf') else None,  # type: ignore[operator,arg-type]
        tries=whole_number(tries) or 1,
    )


def whole_number(value: Any) -> int | None:
    """A count as it should be; None for anything else."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if is_count else None


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The usage of several answers together; a number that one of them does not say is not known.

    None if none of them says anything; one that says nothing was one request, of as many tokens as nobody knows.
    """
    rows = list(usages)
    if not any(rows):
        return None
    known = [usage or Usage() for usage in rows]

    def total(name: str) -> Any:
        values = [getattr(usage, name) for usage in known]
        return None if None in values else sum(values)

    return Usage(
        **{name: total(name) for name in (*TOKENS, 'seconds', 'tries')}, counted=any(usage.counted for usage in known)
    )
