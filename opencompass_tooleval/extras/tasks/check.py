"""``tooleval tasks check``: executes the gold of a task set, and agents that must fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencompass_tooleval.cli.options import TrustOption
from opencompass_tooleval.cli.output import trust_first
from opencompass_tooleval.work_dir.printing import say

if TYPE_CHECKING:
    from opencompass_tooleval.extras.tasks.live_checks import ResetChecks
    from opencompass_tooleval.extras.tasks.task_set import TaskSet


@dataclass
class Checked:
    """The result of a check.

    Attributes:
        faults: Task -> its faults.
        failures: Tool -> its failed calls, in words, with the last message of the tool or its server.
        scripted: Agent without a model -> ``solved`` and ``restraint``, 0-100; None if no task has these kinds.
    """

    faults: dict[str, list[str]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    scripted: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


def check_tasks(
    folder: Annotated[Path, typer.Argument(metavar='DIR', help='The folder of a task set.')],
    trust: TrustOption = False,
) -> int:
    """Checks a task set without a model.

    The gold calls are executed twice from a fresh state and must reach the goal, the server must reset, and agents that
    do nothing, ask back or call everything must not solve a task that needs tools.

    Returns:
        0; 1 if a task has a fault.

    Raises:
        DataError: The set is missing or damaged.
        UntrustedError: It starts a server, and this user has not trusted it.
        ServerError: The server cannot be started, or does not reset.
    """
    from opencompass_tooleval.extras.tasks.task_set import load_set

    tasks = load_set(folder)
    if tasks.starts_programs:
        trust_first(tasks.trustee, trust)
    found = check_set(tasks)
    for name, faults in found.faults.items():
        for fault in faults:
            say(f'FAULT {name}: {fault}')
    for tool, failures in found.failures.items():
        say(f'tool {tool}: {failures}')
    for agent, scores in found.scripted.items():
        shown = ', '.join(f'{name} {score:.2f}' for name, score in scores.items() if score is not None)
        say(f'an agent that {agent}: {shown}')
    say(f'{len(tasks.tasks)} tasks, {len(found.faults)} with a fault')
    return int(bool(found.faults))


def check_set(tasks: TaskSet) -> Checked:
    """Executes the gold of all tasks and the agents without a model.

    Raises:
        DataError: A value of its environment cannot be used.
        UntrustedError: It starts a server, and this user has not trusted it.
        ServerError: The server cannot be started, or does not reset.
    """
    from opencompass_tooleval.agents.adapter import AgentDialogues
    from opencompass_tooleval.agents.tasks.goal import RESTRAINT
    from opencompass_tooleval.core.errors import DataError
    from opencompass_tooleval.extras.tasks.execution import execute_gold
    from opencompass_tooleval.extras.tasks.scripted_agents import scripted_scores, solved_by
    from opencompass_tooleval.extras.tasks.task_set import SET_FILE

    here = {name: value for name, value in tasks.trusted_environment().items() if name != 'simulator'}
    found = Checked()
    with ExitStack() as stack:
        try:
            begin = stack.enter_context(closing(AgentDialogues(**here)))
        except DataError:
            raise
        except (TypeError, ValueError) as error:
            raise DataError(tasks.folder / SET_FILE, f'its environment cannot be used: {error}') from error
        resets = stack.enter_context(_reset_checks(here['live'])) if here.get('live') else None
        executed = execute_gold(tasks.tasks, begin.carry_out, begin.threads)
        found.failures = {
            name: f'{counts.failed} of {counts.called} calls of the gold failed: {counts.why}'
            for name, counts in begin.tally.tools.items()
            if counts.failed
        }
        if resets:
            resets.check(executed.runs)
        solved = solved_by(tasks.tasks, begin.carry_out, begin.threads)
    needing = {task.id for task in tasks.tasks if task.goal and task.goal.kind not in RESTRAINT}
    for task in tasks.tasks:
        free = [agent for agent, ids in solved.items() if task.id in ids and task.id in needing]
        faults = [executed.faults[task.id]] if task.id in executed.faults else []
        faults += [f'an agent that {" or ".join(free)} solves it'] if free else []
        if faults:
            found.faults[task.id] = faults
    found.scripted = scripted_scores(tasks.tasks, solved)
    return found


@contextmanager
def _reset_checks(settings: Mapping[str, Any]) -> Iterator[ResetChecks]:
    from opencompass_tooleval.extras.mcp_servers.open_live import open_environment
    from opencompass_tooleval.extras.tasks.live_checks import ResetChecks

    live, state = open_environment(settings)
    with live:
        yield ResetChecks(live, state.probes if state else ())
