"""Models for the check of a made set: one that knows the gold, one that solves a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.fixed_models import OracleModel


class PartlyKnowing(OracleModel):
    """Makes the gold calls in some runs; without tools it only knows what it was told.

    Args:
        path: A name.
        solves: Runs that it solves, such as ``t1#0``; ``t1`` for all of a task; None for all.
        knows: A text; without tools it knows the answers that hold it.
        unanswered: Runs in which it fails as a server does.
    """

    def __init__(
        self,
        path: str = 'partly',
        solves: Sequence[str] | None = None,
        knows: str = '-',
        unanswered: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(path, **kwargs)
        self._solves = solves
        self._knows = knows
        self._unanswered = unanswered

    def reply(self, prompt: Conversation) -> Answer:
        """Answers one conversation."""
        run = f'{prompt.record_id.partition("/")[0]}#'  # behind the slash is the round
        if any(run.startswith(f'{name}#') for name in self._unanswered):
            return Answer('', 'infra:timeout')
        if prompt.tools is None:
            return Answer(prompt.gold_answer if self._knows in prompt.gold_answer else 'I cannot know that.')
        if self._solves is None or any(run.startswith(f'{name}#') for name in self._solves):
            return super().reply(prompt)
        return Answer('I do not know.')
