"""What a judge sees of an agent's run, in ToolEval's format: of one of ours, or of a published one.

The calls and what they were told are shown, never where that came from. Every quirk of published files ends here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.finish import FINISH
from opencompass_tooleval.agents.scoring import AgentScore
from opencompass_tooleval.agents.steps import shown_observation
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.tooleval_format import to_tooleval
from opencompass_tooleval.agents.trajectory import Trajectory
from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.jsonable import bounded_text, clean_text, to_jsonable
from opencompass_tooleval.core.reading import parse_enclosed
from opencompass_tooleval.core.result import INFRA
from opencompass_tooleval.core.verdicts import answer_digest
from opencompass_tooleval.easytool.files import read_json

TOOL, ASSISTANT = 'tool', 'assistant'

CUT_RESPONSE = 1_024
"""Characters of each observation that are shown where the whole run is too long to be asked about, as in ToolBench."""

CUT_FINAL_ANSWER = 1_000
"""Characters of a final answer that are compared with another."""

MAX_NODES = 10_000

Node = dict[str, Any]


@dataclass(frozen=True)
class JudgedAnswer:
    """A run as it is judged.

    Attributes:
        id: Query id.
        query: The request.
        method: How the run was made.
        final_answer: As ``Finish`` was given it: JSON text with ``return_type`` and ``final_answer``; ``''`` if none.
        nodes: Assistant's texts and calls in order, as ToolEval's ``role`` and ``message``.
        tools: What could be called, as JSON Schemas of functions.
        infra: Why there is no answer through no fault of the agent (``infra:...``), or ``''``.
    """

    id: str
    query: str
    method: str
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
        parsed = parse_enclosed(self.final_answer, '{', '}').value
        text = parsed.get('final_answer') if isinstance(parsed, dict) else None
        return text if isinstance(text, str) else self.final_answer

    @property
    def digest(self) -> str:
        """Stands for what is judged, whatever the request."""
        return answer_digest(self._text(self.nodes, self.method, self.final_answer))

    @property
    def content(self) -> str:
        """The whole run as JSON text, as ``parse_answer_status`` gets it."""
        return self._bounded(self.method, self.final_answer)

    @property
    def compared(self) -> str:
        """The run as JSON text, as ``select_better_answer`` gets it: without its method, the final answer cut."""
        return self._bounded(None, self.final_answer[:CUT_FINAL_ANSWER])

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

    def _bounded(self, method: str | None, final_answer: str) -> str:
        text = self._text(self.nodes, method, final_answer)
        if len(text) > MAX_CHARS:
            text = self._text(self.shortened.nodes, method, final_answer)
        return bounded_text(text, MAX_CHARS)

    def _text(self, nodes: Sequence[Node], method: str | None, final_answer: str) -> str:
        # Not as one value: each node lies within the one before it, and json ends at a depth of 1,000.
        shown = [{'role': 'system', 'message': ''}, {'role': 'user', 'message': ''}, *nodes]  # words left out there too
        head = {'method': method, 'total_steps': len(shown), 'final_answer': final_answer}
        if method is None:
            del head['method']
        details = ''.join(f'[{json.dumps(node)[:-1]}, "next": ' for node in shown) + '[]' + '}]' * len(shown)
        return f'{json.dumps(head)[:-1]}, "answer_details": {details}}}'


def _cut_node(node: Node) -> Node:
    message = node['message']
    if isinstance(message, str):
        return {**node, 'message': shown_observation(message, CUT_RESPONSE)}
    return {**node, 'message': {name: shown_observation(text, CUT_RESPONSE) for name, text in message.items()}}


def of_trajectory(task: Task, trajectory: Trajectory, infra: str = '') -> JudgedAnswer:
    """A run of ours, as :func:`~opencompass_tooleval.agents.tooleval_format.to_tooleval` writes it.

    Args:
        task: What was to be done.
        trajectory: What was done.
        infra: As :attr:`JudgedAnswer.infra`.
    """
    answer = replace(read_answer(task.id, to_tooleval(task, trajectory)), infra=infra)
    # The arguments of a Finish that ends nothing are no answer.
    return answer if trajectory.final_answer else replace(answer, final_answer='')


def of_score(task: Task, score: AgentScore) -> JudgedAnswer:
    """The run that a score is of."""
    done = score.trajectory or Trajectory('')
    infra = next((why for why in (score.reason, done.stopped) if why.startswith(INFRA)), '')
    return of_trajectory(task, done, infra)


def digest_of(trajectory: Trajectory) -> str:
    """:attr:`JudgedAnswer.digest` of a run of ours."""
    return of_trajectory(Task('', '', '', ()), trajectory).digest


def _need(row: Any, key: str, kind: type) -> Any:
    if not isinstance(row, dict) or not isinstance(row.get(key), kind):
        raise Fault(f'{key!r} is missing or no {kind.__name__}')
    return row[key]


def _chain(details: Sequence[Any]) -> Iterator[Node]:
    """The nodes to the end; of several that follow one the first is taken, as ToolEval does."""
    below = details
    for _ in range(MAX_NODES):
        if not below:
            return
        node = below[0]
        role, message = _need(node, 'role', str), node.get('message')
        if role == TOOL:
            call = _need(node, 'message', dict)
            texts = {name: _text_of(call.get(name)) for name in ('name', 'arguments', 'response')}
            yield {'role': TOOL, 'message': texts}
        elif role == ASSISTANT:
            yield {'role': ASSISTANT, 'message': _text_of(message)}
        below = node.get('next', [])
        if not isinstance(below, list):
            raise Fault("'next' of a node is no list")
    raise Fault(f"'answer_details' has more than {MAX_NODES} nodes")


def _text_of(value: Any) -> str:
    if value is None:
        return ''
    return clean_text(value) if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)


def read_answer(query_id: str, row: Any) -> JudgedAnswer:
    """A run in ToolEval's format.

    Raises:
        Fault: It is none.
    """
    answer = _need(row, 'answer', dict)
    final_answer, tools = answer.get('final_answer', ''), row.get('available_tools', [])
    return JudgedAnswer(
        query_id,
        _need(row, 'query', str),
        bounded_text(answer.get('method'), 200),
        clean_text(final_answer) if isinstance(final_answer, str) else '',
        list(_chain(_need(answer, 'answer_details', list))),
        to_jsonable(tools) if isinstance(tools, list) else [],
    )


def load_judged_answers(file: Path) -> dict[str, JudgedAnswer]:
    """Reads published answers: an object by query id, as ToolEval's ``model_predictions_converted``; gzipped or not.

    Raises:
        DataError: It is missing or damaged, or is of another format; names the run.
    """
    rows = read_json(file)
    if not isinstance(rows, dict) or not rows:
        raise DataError(file, "the file is no object of runs by query id, as ToolEval's are")
    answers = {}
    for query_id, row in rows.items():
        with naming_record(file, query_id[:200]):
            answers[query_id] = read_answer(query_id, row)
    return answers


def steps_text(answer: JudgedAnswer) -> tuple[str, str]:
    """The calls of a run and the last of them, as ToolEval's results write them beside the judgements."""
    calls = [node['message'] for node in answer.nodes if node['role'] == TOOL]
    steps = '\n'.join(f'Step {number}: {call}' for number, call in enumerate(calls, 1))
    return steps, f'Final step: {calls[-1]}' if calls else ''
