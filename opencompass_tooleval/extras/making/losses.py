"""Which tools were called where which were needed, the reason of each loss, and the halves of a set. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from opencompass_tooleval.agents.scoring.goal_check import made_calls
from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.core.text.jsonable import bounded_text, to_jsonable
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.extras.making.scoring import MadeScore

NONE = '(none)'
"""In place of a tool: none was needed, or none was called."""
UNKNOWN = '(unknown)'
"""In place of a called tool that was not offered."""

_MOST_CALLS = 10
_MOST_ARGUMENTS, _MOST_QUERY, _MOST_OBSERVATION = 300, 1_000, 300

Pair = tuple[str, str]
"""A needed tool, and the tool that was called for it; either may be ``NONE``."""


@dataclass(frozen=True)
class Run:
    """One run of a task.

    Attributes:
        made: The task.
        trial: Number of the run, from 0.
        score: Its score.
        pairs: Needed tools with called ones. Calls of a needed tool belong to it; what is left of both is paired in
            order.
    """

    made: MadeTask
    trial: int
    score: MadeScore
    pairs: tuple[Pair, ...]

    @property
    def is_solved(self) -> bool:
        """True if the goal was reached."""
        return self.score.result.is_solved

    @property
    def tools(self) -> frozenset[str]:
        """The tools that were needed, or called without need."""
        return frozenset(name for pair in self.pairs for name in pair)

    def to_row(self) -> dict[str, Any]:
        """Returns the JSON values of a loss."""
        result = self.score.result
        return {
            'task': self.made.task.id,
            'trial': self.trial,
            'reason': self.score.reason,
            'needed': [needed for needed, _ in self.pairs if needed != NONE],
            'called': [called for _, called in self.pairs if called != NONE],
            'missing_facts': list(result.missing_facts),
            'wrong_result': list(result.wrong_result),
            'wrong_effects': list(result.wrong_effects),
            'forbidden_calls': list(result.forbidden_calls),
        }

    def to_text(self) -> str:
        """Describes a loss to a model: the request, the calls that were right, the calls that were made, the reason."""
        trajectory, words = self.score.trajectory, words_of_reason(self.score.reason)
        gold = [_call(call['name'], call['arguments']) for call in self.score.gold or ()]
        made = [
            f'{_call(call.name, call.arguments)} -> {bounded_text(call.observation, _MOST_OBSERVATION)}'
            for call in (made_calls(trajectory) if trajectory else ())
        ]
        return (
            f'Request: {bounded_text(self.made.task.query, _MOST_QUERY)}\nRight calls: {_listed(gold)}\n'
            f'Calls of the agent: {_listed(made)}\nWhat went wrong: {words.name} ({words.sentence})'
        )


def _call(name: str, arguments: object) -> str:
    text = json.dumps(to_jsonable(arguments), ensure_ascii=False)
    return f'{bounded_text(name, 100)} {bounded_text(text, _MOST_ARGUMENTS)}'


def _listed(calls: Sequence[str]) -> str:
    more = [f'and {len(calls) - _MOST_CALLS} more'] if len(calls) > _MOST_CALLS else []
    return '; '.join([*calls[:_MOST_CALLS], *more]) or 'none'


def make_run(made: MadeTask, trial: int, score: MadeScore) -> Run:
    """Pairs the tools of a run that were needed with those that were called.

    Needed are the calls of the nearest solution that the goal allows. Planned failures do not count as calls.

    Args:
        made: The task.
        trial: Number of the run.
        score: Its score.
    """
    called = [
        call.name if call.name in made.task.schemas else UNKNOWN
        for call in (made_calls(score.trajectory) if score.trajectory else ())
    ]
    left = Counter(called)
    pairs: list[Pair] = []
    missing = []
    for name in (str(call['name']) for call in score.gold or ()):
        if left[name]:
            left[name] -= 1
            pairs.append((name, name))
        else:
            missing.append(name)
    extra = []
    for name in called:
        if left[name]:
            left[name] -= 1
            extra.append(name)
    return Run(made, trial, score, (*pairs, *zip_longest(missing, extra, fillvalue=NONE)))


def confusion(runs: Iterable[Run]) -> dict[str, dict[str, int]]:
    """Counts needed tools by the tools that were called for them.

    Returns:
        Needed tool -> called tool -> number of times; ``NONE`` as the first is a call that was not needed, as the
        second a needed call that was not made.
    """
    counts = Counter(pair for run in runs for pair in run.pairs)
    table: dict[str, dict[str, int]] = {}
    for (needed, called), count in sorted(counts.items(), key=lambda item: (item[0][0] == NONE, item[0])):
        table.setdefault(needed, {})[called] = count
    return table


def split_tasks(tasks: Sequence[MadeTask], seed: int) -> tuple[list[MadeTask], list[MadeTask]]:
    """Splits tasks into halves, stratified by the tools that they need; the same on every machine.

    The tasks of each combination of tools, and all tasks, are halved up to one. A draft makes one task, so that no two
    tasks come from one draft.

    Args:
        tasks: The tasks.
        seed: Seed of the split.

    Returns:
        The half that descriptions are made from, and the half that they are measured on; each in the set's order.
    """

    def drawn(*words: object) -> str:
        # Not hash() nor Random.shuffle: these depend on the process, or on Python's version.
        return hashlib.blake2b(json.dumps([seed, *words]).encode(), digest_size=16).hexdigest()

    def draw_order(made: MadeTask) -> tuple[str, ...]:
        tools = needed_tools(made)
        return drawn(tools[:1]), drawn(tools), drawn(tools, made.task.id)

    turn = int(drawn('turn'), 16) % 2
    first = {made.task.id for made in sorted(tasks, key=draw_order)[turn::2]}
    return [one for one in tasks if one.task.id in first], [one for one in tasks if one.task.id not in first]


def needed_tools(made: MadeTask) -> list[str]:
    """Returns the tools that a task needs; of one whose request lacks a value, the tool that it is about."""
    return sorted({call.name for call in made.task.gold or ()} or made.goal.forbidden)


def reasons_of(runs: Iterable[Run]) -> Mapping[str, int]:
    """Counts the losses by reason, the most frequent first."""
    return dict(Counter(run.score.reason for run in runs if not run.is_solved).most_common())
