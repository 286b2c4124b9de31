"""What a judge sees of an agent's run, in the format of ToolBench's answers: of one of ours, or of a published one.

The calls and what they were told are shown, never where that came from. Every quirk of published files ends here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.finish import FINISH, told_user
from opencompass_tooleval.agents.scoring import AgentScore
from opencompass_tooleval.agents.steps import shown_observation
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.toolbench_answers import final_answer_of, method_of, run_messages, tools_of
from opencompass_tooleval.agents.trajectory import Trajectory
from opencompass_tooleval.benchmarks.toolbench.trajectories import Run, read_runs
from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.jsonable import answer_digest, bounded_text, clean_text, to_jsonable
from opencompass_tooleval.core.messages import TOOL
from opencompass_tooleval.core.result import INFRA

ASSISTANT = 'assistant'

CUT_RESPONSE = 1_024
"""Characters of each observation that are shown where the whole run is too long to be asked about, as in ToolBench."""

CUT_FINAL_ANSWER = 1_000
"""Characters of a final answer that are compared with another."""

MAX_METHOD = 200

_CALL = ('name', 'arguments', 'response')

Node = dict[str, Any]


@dataclass(frozen=True)
class JudgedAnswer:
    """A run as it is judged.

    Attributes:
        id: Query id.
        query: The request.
        method: How the run was made; None where that is not shown.
        final_answer: As ``Finish`` was given it: JSON text with ``return_type`` and ``final_answer``; ``''`` if none.
        nodes: Assistant's texts and calls in order, as ToolBench's ``role`` and ``message``.
        tools: What could be called, as JSON Schemas of functions.
        infra: Why there is no answer through no fault of the agent (``infra:...``), or ``''``.
    """

    id: str
    query: str
    method: str | None
    final_answer: str
    nodes: Sequence[Node]
    tools: Sequence[Any] = field(default=())
    infra: str = ''

    @property
    def is_finished(self) -> bool:
        """Whether its last call is ``Finish``."""
        last = next((node for node in reversed(self.nodes) if node['role'] == TOOL), None)
        return last is not None and last['message'].get('name') == FINISH.name

    @property
    def told(self) -> str:
        """What the user is told: the text in :attr:`final_answer`."""
        return told_user(self.final_answer)

    @property
    def digest(self) -> str:
        """Stands for what is judged, whatever the request."""
        return answer_digest(self._text)

    @property
    def content(self) -> str:
        """The whole run as JSON text, as the judge gets it."""
        text = self._text
        return bounded_text(self.shortened._text if len(text) > MAX_CHARS else text, MAX_CHARS)

    @property
    def compared(self) -> JudgedAnswer:
        """The run as all questions of a comparison show it: without its method, the final answer cut."""
        return replace(self, method=None, final_answer=self.final_answer[:CUT_FINAL_ANSWER])

    @property
    def shortened(self) -> JudgedAnswer:
        """The same with every text cut as ToolBench's agents cut observations, for a judge that cannot take more."""
        return replace(self, nodes=[_cut_node(node) for node in self.nodes])

    @property
    def task(self) -> str:
        """Request and tools as JSON text, as ``check_task_solvable`` gets them."""
        return bounded_text(json.dumps({'query': self.query, 'available_tools': list(self.tools)}), MAX_CHARS)

    def is_same(self, other: JudgedAnswer) -> bool:
        """Whether there is nothing to choose between two answers."""
        return self.final_answer == other.final_answer and list(self.nodes) == list(other.nodes)

    @property
    def _text(self) -> str:
        # Not as one value: each node lies within the one before it, and json ends at a depth of 1,000.
        shown = [
            {'role': 'system', 'message': ''},
            {'role': 'user', 'message': ''},
            *self.nodes,
        ]  # words left out there too
        head = {'method': self.method, 'total_steps': len(shown), 'final_answer': self.final_answer}
        if self.method is None:
            del head['method']
        details = ''.join(f'[{json.dumps(node)[:-1]}, "next": ' for node in shown) + '[]' + '}]' * len(shown)
        return f'{json.dumps(head)[:-1]}, "answer_details": {details}}}'


def _cut_node(node: Node) -> Node:
    message = node['message']
    if isinstance(message, str):
        return {**node, 'message': shown_observation(message, CUT_RESPONSE)}
    return {**node, 'message': {name: shown_observation(text, CUT_RESPONSE) for name, text in message.items()}}


def of_trajectory(task: Task, trajectory: Trajectory, infra: str = '') -> JudgedAnswer:
    """A run of ours, as :func:`~opencompass_tooleval.agents.toolbench_answers.to_toolbench` writes it.

    Args:
        task: What was to be done.
        trajectory: What was done.
        infra: As :attr:`JudgedAnswer.infra`.
    """
    return JudgedAnswer(
        task.id,
        task.query,
        bounded_text(method_of(trajectory), MAX_METHOD),
        clean_text(final_answer_of(trajectory)),
        [_shown(role, message) for role, message in run_messages(trajectory)],
        to_jsonable(tools_of(task)),
        infra,
    )


def of_run(run: Run) -> JudgedAnswer:
    """A run of a file of ToolBench's answers."""
    nodes = [_shown(node.role, node.message) for node in run.first_way if node.role in (TOOL, ASSISTANT)]
    return JudgedAnswer(
        run.id, run.query, run.method, clean_text(run.final_answer), nodes, to_jsonable(list(run.tools))
    )


def of_score(task: Task, score: AgentScore) -> JudgedAnswer:
    """The run that a score is of."""
    done = score.trajectory or Trajectory('')
    infra = next((why for why in (score.reason, done.stopped) if why.startswith(INFRA)), '')
    return of_trajectory(task, done, infra)


def digest_of(trajectory: Trajectory) -> str:
    """:attr:`JudgedAnswer.digest` of a run of ours."""
    return of_trajectory(Task('', '', '', ()), trajectory).digest


def _shown(role: str, message: Any) -> Node:
    if role == TOOL:
        return {'role': role, 'message': {name: _text_of(message.get(name)) for name in _CALL}}
    return {'role': role, 'message': _text_of(message)}


def _text_of(value: Any) -> str:
    if value is None:
        return ''
    return clean_text(value) if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)


def load_judged_answers(file: Path) -> dict[str, JudgedAnswer]:
    """Reads published answers, as :func:`~opencompass_tooleval.agents.toolbench_answers.load_answers`; by query id."""
    return {run.id: of_run(run) for run in read_runs(file)}


def steps_text(answer: JudgedAnswer) -> tuple[str, str]:
    """The calls of a run and the last of them, as ToolBench's results write them beside the judgements."""
    calls = [node['message'] for node in answer.nodes if node['role'] == TOOL]
    steps = '\n'.join(f'Step {number}: {call}' for number, call in enumerate(calls, 1))
    return steps, f'Final step: {calls[-1]}' if calls else ''
