"""A loop whose calls a live MCP server answers, with a process per dialogue."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.scoring.scoring import score_trajectory
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.environments.call_log import CallLog, read_call_log
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.error_texts import LIVE_ERRORS
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.server import parse_server
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel
from tests.extras.mcp_servers.servers import NOTES


def test_dialogues_with_live_tools(tmp_path: Path) -> None:
    fixture = tmp_path / 'notes'
    fixture.mkdir()
    log = CallLog(tmp_path / 'calls.jsonl')
    gold = (
        GoldCall('add_note', {'text': 'kept in /fixture'}),
        *(GoldCall(name, {}) for name in ('read_notes', 'fail', 'unannotated')),
    )
    with LiveTools(parse_server(NOTES), fixture, allow=['add_note'], ahead=1, log=log) as live:
        task = Task('q1', 'live', 'Keep a note.', live.tools, gold)
        sessions = [Environment(errors=LIVE_ERRORS, live=live).begin(f'q{n}', task.schemas) for n in range(3)]
        loop = FunctionCalling()
        dialogues = {session.task: loop.run(task, session) for session in sessions}
        outcomes = DialogueRunner(OracleModel(), None, 100, batch_size=3).run(dialogues)
        trials = [session._trial for session in sessions]
        pids = [trial.running.connection.state.pid for trial in trials if trial and trial.running]
        for session in sessions:
            session.close()
    assert len(set(pids)) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    for outcome in outcomes.values():
        assert outcome.value is not None
        trajectory = parse_trajectory(outcome.value.to_json())
        assert [(call.observation, call.source, call.error) for call in trajectory.calls] == [
            ('added', 'live', ''),
            ('kept in /fixture', 'live', ''),
            ('there is no such note', 'live', 'tool_error'),
            ('Unknown tool: unannotated', 'error', None),
        ]
    assert len([call for call in read_call_log(log.file, 'a') if call.task == 'q2']) == 3
    assert [*fixture.iterdir()] == []


def test_a_refusal_by_schema_is_an_invalid_call(tmp_path: Path) -> None:
    wrong = GoldCall('add_note', {}), GoldCall('add_note', {'text': 3})
    gold = (*wrong, GoldCall('fail', {}), GoldCall('add_note', {'text': 'kept'}), GoldCall('read_notes', {'more': 1}))
    with LiveTools(parse_server(NOTES), tmp_path, allow=['add_note'], ahead=1) as live:
        task = Task('q1', 'live', 'Keep a note.', live.tools, gold)
        session = Environment(errors=LIVE_ERRORS, live=live).begin('q1', task.schemas)
        dialogue = FunctionCalling().run(task, session)
        (outcome,) = DialogueRunner(OracleModel(), None, 100, batch_size=1).run({'q1': dialogue}).values()
        session.close()
    assert outcome.value is not None
    trajectory = parse_trajectory(outcome.value.to_json())
    assert [(call.source, call.error) for call in trajectory.calls] == [
        ('live', 'wrong_arguments'),
        ('live', 'wrong_arguments'),
        ('live', 'tool_error'),
        ('live', ''),
        ('live', ''),  # the server takes it
    ]
    assert score_trajectory(task, trajectory).values['invalid_call_rate'] == 2 / 5
