"""Finds out what exists before queries are written: an agent calls the tools, and what it saw is called again.

Each session of the agent, and each call that is made again, starts from a fresh state, such as a copy of the fixture.
So an answer is kept only if it is one of the state that a task starts from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from opencompass_tooleval.agents.loops.carry_out import carry_out
from opencompass_tooleval.agents.loops.loops import Loop, make_loop
from opencompass_tooleval.agents.loops.steps import shown_observation
from opencompass_tooleval.agents.scoring.matching import call_key
from opencompass_tooleval.agents.scoring.waste import error_of
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import FUNCTION, LIVE, Observation
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.live_source import FATAL
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.dependencies import Dependency, find_dependencies
from opencompass_tooleval.extras.making.grounding import show_what_exists
from opencompass_tooleval.extras.making.made_task import SolvedCall
from opencompass_tooleval.extras.making.tool_source import ToolSource
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.work_dir.data_files import read_json
from opencompass_tooleval.work_dir.whole_file import write_json

MAX_SESSIONS = 8
"""Sessions of a round at most; of more tools some are drawn."""
TOOLS_PER_SESSION = 12
ROUNDS = 2
"""The second has the tools that no call of the first was answered by, and shows what the first has seen."""
CALLS_PER_TOOL = 4
MAX_SEEN = 5
"""Calls of a tool that are kept."""

_MAX_OBSERVATION = 2_000
_MAX_RECORDED = 20
"""Recorded calls of a tool that are drawn from."""
_MAX_PROCESSES = 8
_MOST_LISTED = 200

Run = Callable[[Mapping[str, Dialogue[Trajectory]]], Mapping[str, Outcome[Trajectory]]]
"""Runs dialogues with the model that explores."""


@dataclass(frozen=True)
class Explored:
    """Calls that an environment answers, and dependencies between its tools.

    Attributes:
        calls: Calls that it answers without an error in the state that a task starts from.
        dependencies: Which values that they return are arguments of others.
        failed: Session -> ``infra:...`` reason.
    """

    calls: tuple[SolvedCall, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    def summary(self, tools: Sequence[str]) -> dict[str, Any]:
        """Returns counts and dependencies, for the set's settings."""
        return {
            'calls': len(self.calls),
            'tools': len({call.name for call in self.calls} & set(tools)),
            'dependencies': sorted(map(str, self.dependencies))[:_MOST_LISTED],
        }


def explored_requests(tools: int, calls_per_tool: int) -> int:
    """Returns the most requests of the first round: one for each call, and one for the end of each session."""
    sessions = min(MAX_SESSIONS, -(-tools // TOOLS_PER_SESSION))
    return (min(tools, sessions * TOOLS_PER_SESSION) * calls_per_tool + sessions) if calls_per_tool else 0


class Exploration:
    """Explores the tools of a source.

    Args:
        source: The tools.
        loop: Name of the loop of the set; the agent has it if it is ``react``, else function calling.
        seed: Seed of what is drawn.
        calls_per_tool: Calls of the agent for each tool; 0 for no agent: only recorded calls are known then.
        run: Runs the agent's dialogues, with a journal.
    """

    def __init__(self, source: ToolSource, loop: str, seed: int, calls_per_tool: int, run: Run) -> None:
        self._source = source
        self._loop = 'react' if loop == 'react' else 'function_calling'
        self._seed = seed
        self._calls_per_tool = calls_per_tool
        self._run = run
        self._schemas = {tool.name: tool.schema for tool in source.tools.values()}

    def explore(self, folder: Path, settings: str) -> Explored:
        """Explores; reads what an earlier run of the same settings has found.

        Args:
            folder: Where it is kept.
            settings: Identifies the model.
        """
        asked = [settings, self._loop, self._seed, self._calls_per_tool, self._source.digest, self._source.resources]
        file = folder / f'explored-{answer_digest(asked)}.json'
        if file.is_file():
            calls = [SolvedCall(**row) for row in read_json(file)['calls']]
        else:
            calls, failed = self._look_around()
            if failed:
                return Explored(failed=failed)
            write_json(file, {'calls': list(map(asdict, calls))})
        return Explored(tuple(calls), find_dependencies(calls, self._schemas))

    def _look_around(self) -> tuple[list[SolvedCall], dict[str, str]]:
        seen, broken = self._recorded(), set[str]()
        for number in range(ROUNDS if self._calls_per_tool else 0):
            known = {call.name for call in seen} | broken
            left = [name for name in self._answerable() if name not in known]
            outcomes = self._run(dict(self._sessions(left, seen, number)))
            failed = {key: str(one.infra) for key, one in outcomes.items() if one.value is None}
            if failed:
                return [], failed
            calls = [call for one in outcomes.values() if one.value for call in one.value.calls]
            broken |= {call.name for call in calls if call.error in FATAL}
            good = [SolvedCall(c.name, c.arguments, c.observation, '', c.source) for c in calls if _is_good(c)]
            seen += self._at_the_start(_distinct(good))
        return seen, {}

    def _recorded(self) -> list[SolvedCall]:
        """Draws recorded calls of each tool."""
        bank, drawn = self._source.environment.bank, list[SolvedCall]()
        for name in self._schemas if bank else ():
            assert bank is not None
            calls = [
                SolvedCall(name, call.arguments, shown_observation(call.response, _MAX_OBSERVATION))
                for call in bank.examples(name, _MAX_RECORDED)
                if not call.error and isinstance(call.arguments, dict)
            ]
            drawn += Random(f'{self._seed} {name}').sample(calls, min(MAX_SEEN, len(calls)))
        return drawn

    def _answerable(self) -> list[str]:
        """Returns the tools that something answers for arguments that were not recorded."""
        environment = self._source.environment
        if self._source.live and not self._source.live.server.command:  # it is shared: there is no copy
            return [name for name, tool in self._source.tools.items() if tool.only_reads]
        if environment.live or environment.simulator:
            return list(self._schemas)
        functions = {name for tool in environment.stateful_tools() for name in tool.names}
        return [name for name in self._schemas if name in functions]

    def _sessions(
        self, names: Sequence[str], seen: Sequence[SolvedCall], number: int
    ) -> Iterator[tuple[str, Dialogue[Trajectory]]]:
        random = Random(f'{self._seed} {number}')
        drawn = random.sample(names, len(names))
        drawn.sort(key=lambda name: self._source.tools[name].domain)
        groups = [drawn[index : index + TOOLS_PER_SESSION] for index in range(0, len(drawn), TOOLS_PER_SESSION)]
        for index, group in enumerate(random.sample(groups, min(MAX_SESSIONS, len(groups)))):
            key = f'{number}.{index}'
            known = show_what_exists(seen, self._source.resources, group, f'{self._seed} {key}')
            query = prompts.EXPLORE.format(known=known or '(nothing)')
            documents = {name: self._source.tools[name].document for name in group}
            tools = tuple(self._schemas[name] for name in group)
            task = Task(f'explore {key}', 'explore', query, tools, documents=documents)
            yield task.id, carry_out(task, self._loop_of(len(group)), self._source.environment)

    def _loop_of(self, tools: int) -> Loop:
        calls = tools * self._calls_per_tool
        bounds = {'max_calls': calls} if self._loop == 'function_calling' else {}
        return make_loop(self._loop, max_steps=calls + 1, max_observation=_MAX_OBSERVATION, **bounds)

    def _at_the_start(self, calls: Sequence[SolvedCall]) -> list[SolvedCall]:
        """Keeps the calls that a fresh state answers; those of functions and servers are made again.

        An answer that differs, since the session had changed something before, is asked for a second time: where it
        differs again, it is volatile.
        """
        environment = self._source.environment
        made = {index: call for index, call in enumerate(calls) if call.source in (LIVE, FUNCTION)}
        first = _call_again(environment, made)
        second = _call_again(environment, {index: call for index, call in first.items() if call != calls[index]})
        kept = {index: call for index, call in first.items() if second.get(index, call) == call}
        return [kept.get(index, call) for index, call in enumerate(calls) if index in kept or index not in made]


def _is_good(call: Any) -> bool:
    return bool(call.source) and isinstance(call.arguments, dict) and not error_of(call)


def _distinct(calls: Sequence[SolvedCall]) -> list[SolvedCall]:
    """Returns the first calls of each tool, without repeated ones."""
    counts, distinct = Counter[str](), {call_key(call.name, call.arguments): call for call in reversed(calls)}
    kept = []
    for call in reversed(distinct.values()):
        counts[call.name] += 1
        if counts[call.name] <= MAX_SEEN:
            kept.append(call)
    return kept


def _call_again(environment: Environment, calls: Mapping[int, SolvedCall]) -> dict[int, SolvedCall]:
    """Makes each call alone, from a fresh state; leaves out those that are not answered."""

    def alone(index: int, call: SolvedCall) -> Dialogue[Observation]:
        yield from ()  # a dialogue that asks no model: the runner's threads make the calls
        session = environment.begin(f'explore again {index}')
        try:
            return session.call(call.name, call.arguments)
        finally:
            session.close()

    dialogues = {str(index): alone(index, call) for index, call in calls.items()}
    threads = min(environment.threads, _MAX_PROCESSES)
    outcomes = DialogueRunner(OracleModel(), None, 1, threads=threads).run(dialogues)
    observations = {index: outcomes[str(index)].value for index in calls}
    return {
        index: replace(calls[index], observation=shown_observation(one.text, _MAX_OBSERVATION))
        for index, one in observations.items()
        if one and one.source == calls[index].source and not one.error
    }
