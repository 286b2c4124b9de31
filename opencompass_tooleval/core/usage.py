"""Usage of an answer: tokens, seconds and tries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

TOKENS = ('prompt', 'completion', 'reasoning', 'cached')
DETAILS = ('reasoning', 'cached')
"""Parts of the tokens, which some servers leave out where they are 0."""
NUMBERS = (*TOKENS, 'seconds')
_MAX_NAME = 200


@dataclass(frozen=True)
class Usage:
    """Of one answer, or of all rounds of a dialogue, and of the requests for it that failed.

    Attributes:
        prompt: Tokens of the prompts; None if unknown.
        completion: Tokens of the answers, thoughts included.
        reasoning: Those of them that are thoughts.
        cached: Tokens of the prompts that the server had cached.
        counted: Whether tokens were counted here, not reported by the server.
        seconds: From the first byte sent to the last received, of the tries that were answered; None for a batch.
        tries: Requests, the failed ones included.
        first_prompt: Tokens of the first prompt that was answered, with the tools that it offered.
        counter: What counted the tokens here; ``''`` if they were not, or nothing says it.
        incomplete: Names of numbers that some answers of the dialogue lack. The sum is over the others.
    """

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None
    counted: bool = False
    seconds: float | None = None
    tries: int = 1
    first_prompt: int | None = None
    counter: str = ''
    incomplete: tuple[str, ...] = ()

    @property
    def has_tokens(self) -> bool:
        """True if the tokens of prompt or answer are known."""
        return self.prompt is not None or self.completion is not None

    def is_whole(self, name: str) -> bool:
        """Tests if a number is known for all rounds."""
        return getattr(self, name) is not None and name not in self.incomplete

    def to_payload(self) -> dict[str, Any]:
        """Returns the known numbers as JSON values."""
        payload = {name: value for name, value in asdict(self).items() if value not in (None, '', ())}
        if not self.counted:
            del payload['counted']
        return payload


def read_usage(value: Any) -> Usage | None:
    """The inverse of :meth:`Usage.to_payload`; None where it says nothing that can be read."""
    if not isinstance(value, Mapping):
        return None
    seconds, tries, counter = value.get('seconds'), value.get('tries', 1), value.get('counter')
    incomplete = value.get('incomplete')
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    return Usage(
        **{name: whole_number(value.get(name)) for name in (*TOKENS, 'first_prompt')},
        counted=value.get('counted') is True,
        seconds=float(seconds) if is_number and 0 <= seconds < float('inf') else None,  # type: ignore[operator,arg-type]
        tries=whole_number(tries) or 1,
        counter=counter[:_MAX_NAME] if isinstance(counter, str) else '',
        incomplete=tuple(name for name in NUMBERS if isinstance(incomplete, (list, tuple)) and name in incomplete),
    )


def whole_number(value: Any) -> int | None:
    """A count as it should be; None for anything else."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if is_count else None


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """The usage of the answers of a dialogue together, in their order.

    A number is the sum over the answers that have it, and ``incomplete`` names it if another lacks it: vLLM leaves out
    ``cached`` in a round of which nothing was cached. None if no answer has a usage; one without was one request.
    """
    rows = list(usages)
    if not any(rows):
        return None
    known = [usage or Usage() for usage in rows]
    values = {
        name: [value for usage in known if (value := getattr(usage, name)) is not None] for name in (*NUMBERS, 'tries')
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
    """Tests if an answer lacks a number; a part of the tokens is not expected if the tokens are unknown."""
    return not usage.is_whole(name) and (usage.has_tokens or name not in DETAILS)


def with_failed(usage: Usage | None, failed: Iterable[Usage | None]) -> Usage | None:
    """The usage of an answer, and of requests for it that failed or were repeated.

    Their tries are added, and their tokens where they are known, such as those of an empty reply. Of requests of which
    nothing is known, tokens are taken to be none: servers charge nothing for a request that they refuse.

    Args:
        usage: Of the answer; None if there is none.
        failed: Of the requests; None for one that was not sent.
    """
    lost = [one for one in failed if one is not None]
    if not lost:
        return usage
    everything = [*([usage] if usage else []), *lost]
    values = {
        name: [value for one in everything if (value := getattr(one, name)) is not None] for name in (*TOKENS, 'tries')
    }
    sums = {name: sum(numbers) if numbers else None for name, numbers in values.items()}
    return replace(usage or Usage(), **sums, counted=any(one.counted for one in everything))  # type: ignore[arg-type]
