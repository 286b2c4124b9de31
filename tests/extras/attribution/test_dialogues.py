"""A dialogue whose server loses a call: its row has the record of every answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer, extras
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from opencompass_tooleval.extras.attribution.causes import NONE, PARSER
from opencompass_tooleval.extras.attribution.pages import members_of_steps
from opencompass_tooleval.extras.attribution.reading import attribution_of_all, attribution_of_row, observations_of
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.report.trajectories import shown_trajectory
from opencompass_tooleval.work_dir.store import AnswerStore
from tests.agents.support import PRODUCT, REST, TOOLS, session_of
from tests.extras.attribution.shapes import hermes
from tests.models.api.scripted_server import KEY, Request, Script, call, serving

WRITTEN = [(name, json.dumps(arguments)) for name, arguments in (PRODUCT, REST)]
LOST = WRITTEN[1]


class Losing(Script):
    """The server returns the model's second call as text."""

    def is_second(self, request: Request) -> bool:
        return bool(request.get('tools')) and sum(one['role'] == 'assistant' for one in request['messages']) == 1

    def message(self, request: Request) -> dict[str, Any]:
        if 'model:' not in str(request['messages']):
            return {'content': 'ready'}
        if self.is_second(request):
            return {'content': hermes(LOST)}
        step = sum(one['role'] == 'assistant' for one in request['messages'])
        calls = [call(*made) for made in WRITTEN[step : step + 1]]
        return {'content': None if calls else 'It is 258.', 'tool_calls': calls}

    def verbose(self, request: Request, message: dict[str, Any]) -> dict[str, Any]:
        calls = [(one['function']['name'], one['function']['arguments']) for one in message.get('tool_calls') or ()]
        raw = f'{message.get("content") or ""}{hermes(*calls) if calls else ""}<|im_end|>'
        return {'__verbose': {'prompt': self.prompt(request), 'content': raw}}


def row_of(script: Losing, folder: Path) -> dict[str, Any]:
    task = Task('right', 'http', 'right model: what is 12 * 25 - 42?', TOOLS)
    with serving(script) as url:
        model = ToolEvalOpenAI(
            'tiny', key=KEY, openai_api_base=url, retry=0, attribution=True, tool_parser='hermes', max_workers=1
        )
        dialogue = FunctionCalling(max_steps=8).run(task, session_of(task))
        outcome = DialogueRunner(model, AnswerStore(folder), 64).run({task.id: dialogue})[task.id]
    text = outcome.value.to_json() if isinstance(outcome.value, Trajectory) else ''
    row = {'prediction': text, **extras(Answer(text, outcome.infra, observed=tuple(outcome.observed)))}
    read: dict[str, Any] = json.loads(json.dumps(row))
    return read


def test_a_lost_call_is_found_in_its_step_and_tools_are_stored_once(tmp_path: Path) -> None:
    row = row_of(Losing(), tmp_path)
    attribution = attribution_of_row(row)
    assert attribution is not None and (attribution.cause, attribution.note) == (PARSER, 'of 1 calls 1 lost')
    assert attribution.raw == f'{hermes(LOST)}<|im_end|>'
    assert attribution.written is None, 'what follows would be different'
    trajectory = parse_trajectory(row['prediction'])
    assert [step.observed for step in trajectory.steps] == [1, 2]
    assert [place for place, _ in members_of_steps(trajectory.steps, row)] == [1]
    shown = shown_trajectory(trajectory, row)['steps']
    assert [step.get('serving', {}).get('cause') for step in shown] == [None, PARSER]
    first, second = row['observed']
    assert len(first['tools']) == len(TOOLS) and second['tools'] == 'same'
    records = observations_of(row)
    assert records is not None and records[0].tools == records[1].tools
    causes = [one.cause for record in records if (one := attribution_of_all([record]))]
    assert causes == [NONE, PARSER]
    (stored,) = tmp_path.glob('*.jsonl')
    assert 'tools' not in stored.read_text(encoding='utf-8')
