"""Usage of an answer: tokens, seconds and requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

TOKENS = ('prompt', 'completion', 'reasoning', 'cached', 'cache_write')
DETAILS = ('reasoning', 'cached', 'cache_write')
"""Counts that some servers leave out if they are 0."""
NUMBERS = (*TOKENS, 'seconds', 'billed')
_MAX_NAME = 200
_MOST = 1e100


@dataclass(frozen=True)
class Usage:
    """Usage of one answer, or of all rounds of a dialogue, including failed requests.

    Attributes:
        prompt: Number of prompt tokens; None if unknown.
        completion: Number of answer tokens, including thoughts.
        reasoning: Number of thought tokens in ``completion``.
        cached: Number of prompt tokens from the server's cache.
        cache_write: Number of prompt tokens that the server wrote to its cache.
        counted: True if this package counted the tokens, not the server.
        seconds: Seconds from the first byte sent to the last received, of successful tries; None for batches.
        requests: Number of requests, including failed ones.
        first_prompt: Number of tokens in the first answered prompt, including tools.
        counter: The tokenizer or estimate that this package used; ``''`` if unknown, or if the server counted.
        incomplete: Names of numbers that some answers of the dialogue lack. Their sum is over the other answers.
        added: Number of tokens in ``completion`` that the server only counted in its total, as far as that is unclear.
        billed: Cost that the server reported, in its currency; None if it reported none.
    """

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    counted: bool = False
    seconds: float | None = None
    requests: int = 1
    first_prompt: int | None = None
    counter: str = ''
    incomplete: tuple[str, ...] = ()
    added: int | None = None
    billed: float | None = None

    @property
    def has_tokens(self) -> bool:
        """True if the tokens of prompt or answer are known."""
        return self.prompt is not None or self.completion is not None

    def is_whole(self, name: str) -> bool:
        """Tests if a number is known, for all rounds."""
        return getattr(self, name) is not None and name not in self.incomplete

    def to_payload(self) -> dict[str, Any]:
        """Returns the known numbers as JSON values."""
        payload = {name: value for name, value in vars(self).items() if value not in (None, '', ())}
        if not self.counted:
            del payload['counted']
        return payload


def read_usage(value: Any) -> Usage | None:
    """Reads the values of :meth:`Usage.to_payload`; returns None if they are invalid."""
    if not isinstance(value, Mapping):
        return None
    requests, counter, incomplete = value.get('requests', 1), value.get('counter'), value.get('incomplete')
    return Usage(
        **{name: whole_number(value.get(name)) for name in (*TOKENS, 'first_prompt', 'added')},
        **{name: finite(value.get(name)) for name in NUMBERS[len(TOKENS) :]},  # type: ignore[arg-type]
        counted=value.get('counted') is True,
        requests=whole_number(requests) or 1,
        counter=counter[:_MAX_NAME] if isinstance(counter, str) else '',
        incomplete=tuple(name for name in NUMBERS if isinstance(incomplete, (list, tuple)) and name in incomplete),
    )


def whole_number(value: Any) -> int | None:
    """Returns the value if it is a valid count, else None."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if is_count else None


def finite(value: Any) -> float | None:
    """Returns the value as a float if it is a number from 0 to 1e100, else None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= _MOST else None


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Adds the usage of the answers of a dialogue, in order; returns None if no answer has a usage.

    A number is the sum over the answers that have it. If an answer lacks it, ``incomplete`` names it: vLLM leaves out
    ``cached`` in a round without cached tokens. An answer without usage counts as one request.
    """
    rows = list(usages)
    if not any(rows):
        return None
    known = [usage or Usage() for usage in rows]
    values = {
        name: [value for usage in known if (value := getattr(usage, name)) is not None]
        for name in (*NUMBERS, 'requests', 'added')
    }
    lacking = (name for name in NUMBERS if values[name] and any(_is_short_of(usage, name) for usage in known))
    return Usage(
        **{name: sum(numbers) if numbers else None for name, numbers in values.items()},  # type: ignore[arg-type]
        counted=any(usage.counted for usage in known),
        first_prompt=known[0].first_prompt,
        counter=next((usage.counter for usage in known if usage.counter), ''),
        incomplete=tuple(lacking),
    )


def _is_short_of(usage: Usage, name: str) -> bool:
    """Tests if an answer lacks a number. Details are not expected if the tokens are unknown."""
    return not usage.is_whole(name) and (usage.has_tokens or name not in DETAILS)


def with_failed(usage: Usage | None, failed: Iterable[Usage | None]) -> Usage | None:
    """Adds the usage of failed or repeated requests to the usage of their answer.

    Adds the number of requests and known tokens, such as those of an empty reply. Unknown tokens count as 0, since
    servers do not charge for refused requests.

    Args:
        usage: Usage of the answer; None if there is none.
        failed: Usage of each failed request; None if it was not sent.
    """
    lost = [one for one in failed if one is not None]
    if not lost:
        return usage
    everything = [*([usage] if usage else []), *lost]
    values = {
        name: [value for one in everything if (value := getattr(one, name)) is not None]
        for name in (*TOKENS, 'requests', 'added', 'billed')
    }
    sums = {name: sum(numbers) if numbers else None for name, numbers in values.items()}
    return replace(usage or Usage(), **sums, counted=any(one.counted for one in everything))  # type: ignore[arg-type]
