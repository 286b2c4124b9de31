"""Converts recorded conversations to agents' tasks, to recorded runs by model, and to recorded calls for a bank.

Nothing is made up: a conversation whose offered tools are unknown becomes a recorded run in a data set without the
metrics that need them, and no task for agents. A result that is not recorded is shown as :data:`NO_RESULT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opencompass_tooleval.agents.loops.steps import MAX_TEXT, bounded_value, shown_observation
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import USAGE
from opencompass_tooleval.core.calls.observation import EXACT, UNKNOWN_TOOL, WRONG_ARGUMENTS
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS, ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import NOT_FINISHED, AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.text.bounds import MAX_CHARS
from opencompass_tooleval.core.text.jsonable import answer_digest, bounded_text
from opencompass_tooleval.environments.bank import INPUT_ERROR, RecordedCall
from opencompass_tooleval.environments.environment import Environment, Session
from opencompass_tooleval.extras.traces.conversation import Conversation

SUBSET, OPEN_SUBSET = 'traces', 'traces_open'
"""Subsets of runs with known and with unknown offered tools."""

LOOP = 'recorded'
"""Name of the loop in a trajectory: the user's own."""

NO_RESULT = '[the trace has no result of this call]'
UNKNOWN_MODEL = 'unknown-model'
_MAX_MODEL = 60


@dataclass(frozen=True)
class RecordedRun:
    """A conversation as a run of a task.

    Attributes:
        task: The task; of a model's further runs of it with a number at the end of the id.
        model: Name of the model that file names can hold.
        conversation: The conversation.
    """

    task: Task
    model: str
    conversation: Conversation

    @property
    def is_repeat(self) -> bool:
        """True for a further run of the same task by the same model."""
        return self.task.id != task_id(self.task)


@dataclass
class RecordedSet:
    """A data set of recorded runs: every model has run every task.

    Attributes:
        name: Its name.
        tasks: Id -> task.
        runs: Model -> its runs, in the order of the tasks.
    """

    name: str
    tasks: dict[str, Task]
    runs: dict[str, list[RecordedRun]] = field(default_factory=dict)

    @property
    def subset(self) -> str:
        """Row of the table of subsets."""
        return next(iter(self.tasks.values())).subset


def task_id(task: Task) -> str:
    """Returns 12 hex digits that stand for request, system prompt and offered tools."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in task.tools]
    return answer_digest([task.subset, task.system, task.query, tools])[:12]


def recorded_runs(conversations: Iterable[Conversation]) -> list[RecordedRun]:
    """Returns each conversation as a run of a task."""
    runs, seen = [], Counter[tuple[str, str]]()
    names: dict[str, str] = {}  # name for files -> the model's: 'a/b' and 'a_b' are two models
    for conversation in conversations:
        tools, model = conversation.tools, model_name(conversation.model)
        if names.setdefault(model, conversation.model) != conversation.model:
            model = f'{model}-{answer_digest(conversation.model)[:6]}'
        subset = OPEN_SUBSET if tools is None else SUBSET
        query, system = (bounded_text(text, MAX_CHARS) for text in (conversation.query, conversation.system))
        task = Task('', subset, query, tools or (), system=system)
        name = task_id(task)
        seen[model, name] += 1
        count = seen[model, name]
        runs.append(RecordedRun(replace(task, id=f'{name}-{count}' if count > 1 else name), model, conversation))
    return runs


def model_name(name: str) -> str:
    """Returns a model's name for files: ``openai/gpt-4o`` -> ``openai_gpt-4o``."""
    kept = (char if char.isalnum() or char in '-_.+' else '_' for char in name.strip()[:_MAX_MODEL])
    return ''.join(kept).lstrip('.') or UNKNOWN_MODEL


def recorded_sets(runs: Sequence[RecordedRun]) -> list[RecordedSet]:
    """Groups runs to data sets: models that have run the same tasks share one."""
    of_model: dict[tuple[str, str], dict[str, RecordedRun]] = {}
    for run in runs:
        of_model.setdefault((run.task.subset, run.model), {})[run.task.id] = run
    sets: dict[tuple[str, frozenset[str]], RecordedSet] = {}
    for (subset, model), found in of_model.items():
        key = subset, frozenset(found)
        if key not in sets:
            number = sum(other == subset for other, _ in sets) + 1
            name = f'{subset}_{number}' if number > 1 else subset
            sets[key] = RecordedSet(name, {task: run.task for task, run in found.items()})
        sets[key].runs[model] = [found[task] for task in sets[key].tasks]
    return list(sets.values())


def prediction_row(run: RecordedRun, dataset: str) -> dict[str, Any]:
    """Returns a run as a row of ``predictions.jsonl``, as ``tooleval export`` writes it."""
    usage = run.conversation.usage
    return {
        'model': run.model,
        'dataset': dataset,
        'record_id': run.task.id,
        'prediction': trajectory_of(run).to_json(),
        'infra': None,
        'source': f'agents_{run.task.subset}',
        USAGE: usage.to_payload() if usage else None,
    }


def trajectory_of(run: RecordedRun) -> Trajectory:
    """Converts the answers to the request to a trajectory; calls are checked against the offered tools, if known."""
    conversation, known = run.conversation, run.conversation.tools is not None
    session = Environment().begin(run.task.id, run.task.schemas) if known else None
    steps = tuple(
        Step(
            bounded_text(step.text, MAX_TEXT),
            tuple(_answered(call, result, conversation, session) for call, result in step.calls),
            number - 1,
        )
        for number, step in enumerate(conversation.steps)
    )
    final = bounded_text(conversation.final_answer, MAX_TEXT)
    stopped = '' if final else NOT_FINISHED
    return Trajectory(LOOP, steps, final, stopped, tuple(range(len(steps))), settings={'answers': 'recorded traces'})


def _answered(call: ToolCall, result: str | None, conversation: Conversation, session: Session | None) -> AnsweredCall:
    text = NO_RESULT if result is None else result
    return AnsweredCall(
        bounded_text(call.name, MAX_NAME_CHARS),
        bounded_value(call.arguments),
        shown_observation(text, MAX_TEXT),
        EXACT,
        observation_chars=len(text),
        error=_error(call, result, conversation, session),
    )


def _error(call: ToolCall, result: str | None, conversation: Conversation, session: Session | None) -> str | None:
    """Returns the fault by the offered tools, else the record's error; None if only the result's text can tell."""
    fault = session.call(call.name, call.arguments).fault if session else ''
    if fault in (UNKNOWN_TOOL, WRONG_ARGUMENTS):
        return fault
    marked = conversation.errors
    return None if marked is None and result is not None else (marked or {}).get(call.id, '')


def bank_calls(runs: Iterable[RecordedRun], label: str) -> Iterator[RecordedCall]:
    """Yields the calls of all turns that have a result."""
    for run in runs:
        marked = run.conversation.errors or {}
        for step in run.conversation.all_steps:
            for call, result in step.calls:
                if result is not None:
                    error = marked.get(call.id, '')
                    error = INPUT_ERROR if error == WRONG_ARGUMENTS else error
                    yield RecordedCall(label, run.task.id, call.name, call.arguments, result, error)


def offered_tools(runs: Iterable[RecordedRun]) -> list[ToolSchema]:
    """Returns the offered tools of all tasks; of several with one name the last."""
    return list({tool.name: tool for run in runs for tool in run.task.tools}.values())
