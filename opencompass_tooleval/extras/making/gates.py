"""The gates of ``tooleval make check``: their thresholds, and those that need only the tasks. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

from opencompass_tooleval.core.calls.function_calling import call_fault
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.scoring.typed_result import plain_text
from opencompass_tooleval.core.scoring.usage_summary import numbers_of
from opencompass_tooleval.extras.making import scripted_agents
from opencompass_tooleval.extras.making.agreement import holds_result
from opencompass_tooleval.extras.making.facts import leaked_facts, leaked_names
from opencompass_tooleval.extras.making.made_task import MadeTask

DUPLICATE = 0.9
"""Cosine similarity of two queries from which on the later one is a near-duplicate."""

PASSED, FAILED, NOT_RUN, SHOWN = 'passed', 'FAILED', 'NOT RUN', 'shown'

VALID_CALLS = 'valid calls'
REPRODUCED = 'reproduced gold'
EMPTY_AGENT = 'empty agent'
ASKS_BACK = 'agent that asks back'
CALLS_EVERYTHING = 'agent that calls everything'
SCRIPTED = {
    EMPTY_AGENT: scripted_agents.SAYS_DONE,
    ASKS_BACK: scripted_agents.ASKS_BACK,
    CALLS_EVERYTHING: scripted_agents.CALLS_EVERYTHING,
}
"""Gate -> agent without a model."""
WITHOUT_TOOLS = 'agent without tools'
SOLVABLE = 'solvable'
NOT_TRIVIAL = 'not trivial'
TELLS_APART = 'strong minus weak'
NAMES = 'names in queries'
FACTS = 'facts in queries'
DUPLICATES = 'duplicates'
COVERAGE = 'tools needed'
AGREEMENT = 'makers agree'


class Threshold(NamedTuple):
    """The least value of a gate, or the greatest where ``is_most``, a sentence on why, and the value's unit."""

    limit: float
    is_most: bool
    why: str
    unit: str = '%'

    def __str__(self) -> str:
        return f'{"at most" if self.is_most else "at least"} {self.limit:g}{self.unit}'


THRESHOLDS = {
    VALID_CALLS: Threshold(100, False, "a gold call that breaks its tool's schema cannot be asked of a model"),
    REPRODUCED: Threshold(100, False, 'gold that flips between two fresh states scores chance'),
    EMPTY_AGENT: Threshold(5, True, 'a task that is solved without a call checks nothing'),
    ASKS_BACK: Threshold(5, True, 'a task that needs tools is not solved by a question'),
    CALLS_EVERYTHING: Threshold(5, True, 'a task that is solved by calling blindly checks nothing'),
    WITHOUT_TOOLS: Threshold(5, True, 'a task that a model solves from memory or by guessing does not need the tools'),
    SOLVABLE: Threshold(70, False, 'a task that a strong model never solves may be faulty'),
    NOT_TRIVIAL: Threshold(30, False, 'a task that a weak model always solves tells no models apart'),
    TELLS_APART: Threshold(
        0, False, 'the whole 95% interval has to lie above 0, else the set does not tell them apart', ' points'
    ),
    NAMES: Threshold(0, True, 'a query that names a tool or parameter tells the agent what to call', ' tasks'),
    FACTS: Threshold(
        0, True, 'a query that holds a fact of the answer, or its result, tells the agent what to answer', ' tasks'
    ),
    DUPLICATES: Threshold(
        0, True, f'queries that are alike (similarity {DUPLICATE:g} or more) count one task twice', ' tasks'
    ),
    COVERAGE: Threshold(50, False, 'tools that are offered and that no task needs are not measured'),
    AGREEMENT: Threshold(50, False, "gold that only one model's solutions agree in may be that model's habit"),
}
"""Gate -> threshold."""


@dataclass(frozen=True)
class Gate:
    """A gate, measured.

    Attributes:
        name: Its name.
        status: :data:`PASSED`, :data:`FAILED`, :data:`NOT_RUN`, or :data:`SHOWN` for a number without a threshold.
        shown: The value in words.
        why: Why there is the threshold, or why the gate could not run.
        value: What is compared with the threshold; None if there is nothing to compare.
        faults: Task -> what is wrong with it.
    """

    name: str
    status: str
    shown: str
    why: str = ''
    value: float | None = None
    faults: Mapping[str, str] | None = None

    @property
    def threshold(self) -> str:
        """The threshold in words; ``''`` for a number that is only shown."""
        if self.status == SHOWN:
            return ''
        threshold = THRESHOLDS[self.name]
        return f'above {threshold.limit:g}{threshold.unit}' if self.name == TELLS_APART else str(threshold)

    def to_row(self) -> dict[str, Any]:
        """Returns its JSON values; ``passed`` is None for a gate that did not run and a number without threshold."""
        passed = {PASSED: True, FAILED: False}.get(self.status)
        return {**asdict(self), 'faults': dict(self.faults or {}), 'threshold': self.threshold, 'passed': passed}


def measured(name: str, value: float, shown: str, faults: Mapping[str, str] | None = None) -> Gate:
    """Compares a value with its threshold; that of :data:`TELLS_APART` has to be above it."""
    limit, is_most, why, _ = THRESHOLDS[name]
    is_met = value <= limit if is_most else value > limit if name == TELLS_APART else value >= limit
    return Gate(name, PASSED if is_met else FAILED, shown, why, value, faults)


def share_text(count: int, size: int, what: str) -> str:
    """Returns a share in words: ``15 of 40 tasks (37.5%)``."""
    return f'{count} of {size} {what} ({100 * count / size:.3g}%)'


def share(name: str, ids: Sequence[str], faults: Mapping[str, str], what: str = 'tasks', more: str = '') -> Gate:
    """Measures the share of tasks, in percent, without a fault; where it has to be small, that with one.

    Args:
        name: The gate.
        ids: The tasks that it is about; without any it could not run.
        faults: Task -> what is wrong with it.
        what: What is counted.
        more: Words on the value.
    """
    if not ids:
        return not_run(name, 'no task is of a kind that this gate is about')
    count = len(faults) if THRESHOLDS[name].is_most else len(ids) - len(faults)
    return measured(name, 100 * count / len(ids), share_text(count, len(ids), what) + more, faults)


def not_run(name: str, why: str) -> Gate:
    """Makes a gate that could not run, which does not count as passed."""
    return Gate(name, NOT_RUN, '-', why)


def task_gates(tasks: Sequence[MadeTask], similarity: Similarity, makers: Sequence[str]) -> Iterator[Gate]:
    """Measures the gates that need no model and no tool.

    Args:
        tasks: The tasks.
        similarity: Of queries; texts are compared as they are where it is that of equal texts.
        makers: Names of the models that solved.
    """
    ids = [made.task.id for made in tasks]
    invalid = {made.task.id: fault for made in tasks if (fault := _invalid_call(made))}
    yield share(VALID_CALLS, ids, invalid)
    names = {made.task.id: leaked_names(made.task.query, made.task.tools) for made in tasks}
    facts = {made.task.id: given_away(made) for made in tasks}
    for name, found in ((NAMES, names), (FACTS, facts)):
        leaks = {task: ', '.join(leaked) for task, leaked in found.items() if leaked}
        yield measured(name, len(leaks), f'{len(leaks)} tasks', leaks)
    alike = near_duplicates([made.query for made in tasks], similarity)
    twins = {ids[index]: f'{ids[other]} ({value:.2f})' for index, (other, value) in alike.items()}
    yield measured(DUPLICATES, len(twins), f'{len(twins)} tasks, by the encoder {similarity.name}', twins)
    yield from _coverage(tasks)
    yield _agreement(tasks, makers)
    yield from _difficulty(tasks)
    reviewed = sum(made.is_reviewed for made in tasks)
    yield Gate('reviewed', SHOWN, f'{reviewed} of {len(tasks)} tasks', 'a person has accepted or edited them')


def given_away(made: MadeTask) -> tuple[str, ...]:
    """Returns the facts of a task that its query holds, and its result if the query holds that."""
    facts, goal = leaked_facts(made.query, made.goal.facts), made.goal
    return (*facts, goal.result) if goal.result and holds_result(made.query, goal.form, goal.result) else facts


def _invalid_call(made: MadeTask) -> str:
    schemas = made.task.schemas
    faults = (
        f'{call.name}: {fault}'
        for alternatives in made.goal.calls
        for call in alternatives
        if (fault := _fault(ToolCall(call.name, call.arguments), schemas))
    )
    return next(faults, '')


def _fault(call: ToolCall, schemas: Mapping[str, Mapping[str, Any]]) -> str:
    try:
        return call_fault(call, schemas)
    except Exception as error:  # jsonschema raises what it likes for a schema that is none
        return f'its schema cannot be used ({type(error).__name__})'


def near_duplicates(queries: Sequence[str], similarity: Similarity, known: int = 0) -> dict[int, tuple[int, float]]:
    """Finds the queries that are alike to an earlier one that is no near-duplicate itself.

    Args:
        queries: The queries.
        similarity: Of texts in plain form (:func:`~opencompass_tooleval.agents.scoring.goal_check.plain_text`).
        known: So many of the first ones are no near-duplicates.

    Returns:
        Place of a query -> place of the nearest earlier one, and their similarity.
    """
    texts = [plain_text(query) for query in queries]
    similarity.prepare(texts)
    matrix = similarity.matrix(texts, texts)
    twins: dict[int, tuple[int, float]] = {}
    for index in range(known, len(texts)):
        earlier = (other for other in range(index) if other not in twins)
        nearest = max(earlier, key=lambda other: matrix[index][other], default=None)
        if nearest is not None and matrix[index][nearest] >= DUPLICATE:
            twins[index] = nearest, float(matrix[index][nearest])
    return twins


def _coverage(tasks: Sequence[MadeTask]) -> Iterator[Gate]:
    offered = {tool.name for made in tasks for tool in made.task.tools}
    needed = [{call.name for alternatives in made.goal.calls for call in alternatives[:1]} for made in tasks]
    called = set().union(*needed) & offered
    if offered:
        shown = share_text(len(called), len(offered), 'tools')
        yield measured(COVERAGE, 100 * len(called) / len(offered), shown)
    else:
        yield not_run(COVERAGE, 'no tools')
    pairs = {pair for names in needed for pair in combinations(sorted(names), 2)}
    possible = len(offered) * (len(offered) - 1) // 2
    yield Gate('pairs of tools', SHOWN, f'{len(pairs)} of {possible} pairs', 'pairs that some task needs together')


def _agreement(tasks: Sequence[MadeTask], makers: Sequence[str]) -> Gate:
    if len(set(makers)) < 2:
        return not_run(AGREEMENT, 'one model solved the tasks; tooleval make --second names another')
    alone = {
        made.task.id: ', '.join(sorted({solution.model for solution in made.solutions})) or 'no solution is kept'
        for made in tasks
        if not set(makers) <= {solution.model for solution in made.solutions}
    }
    return share(AGREEMENT, [made.task.id for made in tasks], alone)


def _difficulty(tasks: Sequence[MadeTask]) -> Iterator[Gate]:
    """Distributions; they have no threshold, since what is hard is for models to say."""
    counts = Counter(made.goal.kind for made in tasks)
    yield Gate('kinds', SHOWN, ', '.join(f'{kind} {count}' for kind, count in sorted(counts.items())))
    for name, values in {
        'calls per task': [len(made.task.oracle_calls) for made in tasks],
        'tools offered': [len(made.task.tools) for made in tasks],
        'characters of queries': [len(made.task.query) for made in tasks],
    }.items():
        of = numbers_of(values)
        yield Gate(name, SHOWN, f'mean {of["mean"]:.1f}, median {of["p50"]:g}, 95% up to {of["p95"]:g}')
