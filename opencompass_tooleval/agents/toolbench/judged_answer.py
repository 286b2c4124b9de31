"""An agent's run, ours or a published one, in the format of ToolBench's answers, as a judge sees it.

The judge sees calls and observations, but not the sources of observations. Only this module knows the quirks of
published files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops.finish import FINISH, told_user
from opencompass_tooleval.agents.loops.steps import shown_observation
from opencompass_tooleval.agents.scoring.scoring import AgentScore
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.answers import final_answer_of, method_of, run_messages, tools_of
from opencompass_tooleval.benchmarks.toolbench.data import Run, read_runs
from opencompass_tooleval.core.calls.messages import TOOL
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.scoring.result import INFRA
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, answer_digest, bounded_text, clean_text, to_jsonable

ASSISTANT = 'assistant'

CUT_RESPONSE = 1_024
"""Maximum length of each observation if the complete run is too long for the judge, as in ToolBench."""

CUT_FINAL_ANSWER = 1_000
"""Maximum length of a final answer in a comparison."""

MAX_METHOD = 200

_CALL = ('name', 'arguments', 'response')

_FINISHES = f"'name': '{FINISH.name}'"

Node = dict[str, Any]


@dataclass(frozen=True)
class JudgedAnswer:
    """A run as the judge sees it.

    Attributes:
        id: Query id.
        query: The request.
        method: The method of the run; None to hide it.
        final_answer: Arguments of ``Finish``: JSON text with ``return_type`` and ``final_answer``; ``''`` without a
            final answer.
        nodes: The assistant's texts and calls in order, as ToolBench's ``role`` and ``message``.
        tools: The offered tools, as JSON Schemas of functions.
        infra: Reason for a missing answer that the agent did not cause (``infra:...``), or ``''``.
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
        """True if the last call is ``Finish``, or, as published, if its ``str`` contains ``'name': 'Finish'``."""
        last = next((node for node in reversed(self.nodes) if node['role'] == TOOL), None)
        return last is not None and _FINISHES in str(last['message'])

    @property
    def told(self) -> str:
        """The answer to the user: the text within :attr:`final_answer`."""
        return told_user(self.final_answer)

    @property
    def digest(self) -> str:
        """Digest of the judged answer, independent of the request."""
        return answer_digest(self._text)

    @property
    def content(self) -> str:
        """The complete run as JSON text for the judge."""
        text = self._text
        return bounded_text(self.shortened._text if len(text) > MAX_CHARS else text, MAX_CHARS)

    @property
    def compared(self) -> JudgedAnswer:
        """The run as all questions of a comparison show it: without its method, with a cut final answer."""
        return replace(self, method=None, final_answer=self.final_answer[:CUT_FINAL_ANSWER])

    @property
    def shortened(self) -> JudgedAnswer:
        """The run with all texts cut as ToolBench's agents cut observations, for a judge with a short context."""
        return replace(self, nodes=[_cut_node(node) for node in self.nodes])

    @property
    def task(self) -> str:
        """Request and tools as JSON text, for ``check_task_solvable``."""
        return bounded_text(json.dumps({'query': self.query, 'available_tools': list(self.tools)}), MAX_CHARS)

    def is_same(self, other: JudgedAnswer) -> bool:
        """Tests if two answers look the same to a judge."""
        return self.final_answer == other.final_answer and list(self.nodes) == list(other.nodes)

    @property
    def _text(self) -> str:
        # Written node by node: each node is nested in the one before it, and json fails at a depth of 1,000.
        shown = [
            {'role': 'system', 'message': ''},
            {'role': 'user', 'message': ''},
            *self.nodes,
        ]  # ToolBench also leaves these texts out
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
    """Converts a trajectory with :func:`~opencompass_tooleval.agents.toolbench.answers.to_toolbench`.

    Args:
        task: The task.
        trajectory: The trajectory.
        infra: Value of :attr:`JudgedAnswer.infra`.
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
    """Converts a run of a file of ToolBench's answers."""
    nodes = [_shown(node.role, node.message) for node in run.first_way if node.role in (TOOL, ASSISTANT)]
    return JudgedAnswer(
        run.id, run.query, run.method, clean_text(run.final_answer), nodes, to_jsonable(list(run.tools))
    )


def of_score(task: Task, score: AgentScore) -> JudgedAnswer:
    """Returns the run of a score."""
    done = score.trajectory or Trajectory('')
    infra = next((why for why in (score.reason, done.stopped) if why.startswith(INFRA)), '')
    return of_trajectory(task, done, infra)


def _shown(role: str, message: Any) -> Node:
    if role == TOOL:
        return {'role': role, 'message': {name: _text_of(message.get(name)) for name in _CALL}}
    return {'role': role, 'message': _text_of(message)}


def _text_of(value: Any) -> str:
    if value is None:
        return ''
    return clean_text(value) if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)


def load_judged_answers(file: Path) -> dict[str, JudgedAnswer]:
    """Reads a file of published answers; returns query id -> answer."""
    return {run.id: of_run(run) for run in read_runs(file)}


def steps_text(answer: JudgedAnswer) -> tuple[str, str]:
    """Returns the calls of a run, and the last call, in the format of ToolBench's results."""
    calls = [node['message'] for node in answer.nodes if node['role'] == TOOL]
    steps = '\n'.join(f'Step {number}: {call}' for number, call in enumerate(calls, 1))
    return steps, f'Final step: {calls[-1]}' if calls else ''
