"""Times agents on a server against the best that can be, environment included; part of ``benchmark.py``.

553 tasks of 1 to 9 calls, 5 in the mean, and an answer in the end, 256 in flight, on a server whose latencies are
lognormal (median 500 ms), by the inferencer that data sets have: answers are stored, and trajectories are written. What
is called is looked up in a response bank of 100,000 calls. The best that can be is as in ``benchmark_pipe.py``: a queue
that costs nothing, of the same questions with the very same latencies, whose calls take no time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.agents.loops.loops import make_loop
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.observation import EXACT
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.inferencers.dialogue_inferencer import ToolEvalDialogueGenInferencer
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tools.benchmark_parts.benchmark_pipe import SEEDS, RowsDataset, ideal_seconds, median_of, server
from tools.benchmark_parts.latency_server import END, request_of, round_of
from tools.benchmark_parts.measure_bank import CALLS as BANK_CALLS
from tools.benchmark_parts.measure_bank import TASKS as BANK_TASKS
from tools.benchmark_parts.measure_bank import calls as bank_calls

TASKS = 553
CALLS = (1, 9)
LOOPS = ('function_calling', 'react')
GOAL = 1.15
GOAL_PROCESSOR = 3.0
"""Milliseconds per question, environment, store and trajectories included."""
IN_FLIGHT = 256
_PARAMETERS = {
    'type': 'object',
    'properties': {'query': {'type': 'string'}, 'page': {'type': 'integer'}},
    'required': ['query'],
}


class Agents:
    """A loop over the bank.

    Args:
        loop: Its name.
        bank: The bank's file.
    """

    def __init__(self, loop: str, bank: str) -> None:
        self._loop = make_loop(loop)
        self._environment = Environment(Bank(Path(bank)))

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        """Begins one dialogue; it ends in the trajectory's JSON."""
        task = parse_task(row['record'])
        trajectory = yield from self._loop.run(task, self._environment.begin(task.id, task.schemas))
        return trajectory.to_json()


def tasks_of(recorded: Mapping[str, list[RecordedCall]], seed: int) -> list[Task]:
    """Tasks whose calls are recorded, each for its own task."""
    rng = Random(seed)
    tasks = []
    for name in rng.sample(sorted(recorded), TASKS):
        chosen = rng.sample(recorded[name], rng.randint(*CALLS))
        gold = tuple(GoldCall(call.name, call.arguments) for call in chosen)
        query = request_of(f'{seed}/{name}', [{'name': call.name, 'arguments': call.arguments} for call in gold])
        tools = tuple(ToolSchema(tool, 'Searches.', _PARAMETERS) for tool in dict.fromkeys(call.name for call in gold))
        tasks.append(Task(name, 'benchmark', query, tools, gold))
    return tasks


def questions_of(tasks: list[Task]) -> list[list[str]]:
    """What each task asks the model, round by round: its calls, and the answer."""
    return [[round_of(task.query, number) for number in range(len(task.gold or ()) + 1)] for task in tasks]


def ask(model: Any, tasks: list[Task], loop: str, bank: Path) -> dict[str, float]:
    """Seconds, of the clock and of this process's processor time, for a data set of these tasks."""
    rows = [
        {
            'record_id': task.id,
            'messages': messages_text([Message('user', task.query)]),
            'record': task.to_payload(),
            'gold_answer': '',
            'source': 'agents',
        }
        for task in tasks
    ]
    reader = {'input_columns': ['messages'], 'output_column': 'record'}
    retriever = ZeroRetriever(RowsDataset(reader_cfg=reader, abbr='agents', rows=rows))
    with tempfile.TemporaryDirectory() as folder:
        inferencer = ToolEvalDialogueGenInferencer(
            model=model,
            max_out_len=512,
            batch_size=IN_FLIGHT,
            output_json_filepath=folder,
            dialogues={'type': Agents, 'loop': loop, 'bank': str(bank)},
        )
        started, busy = time.perf_counter(), time.process_time()
        answers = inferencer.inference(retriever, None, ToolEvalConversationTemplate(), folder, 'agents.json')
        seconds = {'wall': time.perf_counter() - started, 'processor': time.process_time() - busy}
    for task, trajectory in zip(tasks, map(parse_trajectory, answers), strict=True):
        assert trajectory.final_answer == END, trajectory
        assert [(call.name, call.source) for call in trajectory.calls] == [
            (call.name, EXACT) for call in task.gold or ()
        ]
    return seconds


def measure_seed(model: ToolEvalOpenAI, tasks: list[Task], loop: str, bank: Path) -> dict[str, float]:
    """Seconds of one set of tasks: the best that can be, and ours."""
    questions = questions_of(tasks)
    ideal, measured = ideal_seconds(questions, IN_FLIGHT), ask(model, tasks, loop, bank)
    asked = sum(map(len, questions))
    return {
        'questions': asked,
        'calls': asked - len(questions),
        'ideal': ideal,
        'ours': measured['wall'],
        'ours / ideal': measured['wall'] / ideal,
        'processor seconds per question': measured['processor'] / asked,
    }


def measure(seeds: int = SEEDS) -> dict[str, Any]:
    """Measures and prints."""
    figures: dict[str, Any] = {}
    with server() as url, tempfile.TemporaryDirectory() as folder:
        bank = Path(folder, 'bank')
        write_bank(bank_calls(), bank)
        recorded: dict[str, list[RecordedCall]] = {}
        for call in bank_calls():
            if int(call.task) < 2 * TASKS:
                recorded.setdefault(call.task, []).append(call)
        model = ToolEvalOpenAI(
            'agents',
            key='none',
            openai_api_base=url,
            max_workers=IN_FLIGHT,
            max_seq_len=100_000,
        )
        for loop in LOOPS:
            runs = [measure_seed(model, tasks_of(recorded, seed), loop, bank) for seed in range(seeds)]
            median = median_of(runs)
            busy = 1000 * median['processor seconds per question']
            print(
                f'Agents, {loop}, {TASKS} tasks, {median["calls"]:.0f} calls in {median["questions"]:.0f} questions, '
                f'{IN_FLIGHT} in flight, a bank of {BANK_CALLS} calls of {BANK_TASKS} tasks, median of {seeds} seeds: '
                f'{median["ours"]:.1f} s ({busy:.1f} ms of processor per question), at best {median["ideal"]:.1f} s'
            )
            for run in runs:
                print('  ' + ', '.join(f'{name} {value:.3f}' for name, value in run.items()))
            print(f'Agents, {loop}: ours / best: {median["ours / ideal"]:.3f} (goal <= {GOAL}; {GOAL_PROCESSOR} ms)')
            figures[loop] = {'runs': runs, 'median': median}
    return {'agents': figures}
