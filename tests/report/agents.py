"""Working directories of agents, with made-up trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.scoring.breakdown import breakdown
from opencompass_tooleval.agents.scoring.scoring import METRICS, score_trajectory
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.scoring.aggregate import aggregate
from tests.report.support import add, detail, result_of, write

DATASET = 'tooleval-teval-agent-react'
PROVENANCE = {'benchmark': 'agents', 'subset': 'teval', 'loop': 'react'}


def usage(prompt: int, completion: int, seconds: float) -> dict[str, Any]:
    return {'prompt': prompt, 'completion': completion, 'seconds': seconds, 'requests': 1}


def search(
    where: str, day: int = 1, source: str = 'exact', fault: str = '', whole: int = 0, error: str | None = None
) -> AnsweredCall:
    arguments = {'destination': where, 'date': f'2023-10-0{day}', 'passengers': {'adults': 2, 'children': []}}
    return AnsweredCall(
        'FlightBooking.search', arguments, f'{{"flights": ["{where} 7:40", 120]}}', source, fault, whole, error
    )


def chain(loop: str = 'react', last: str = 'Rome', settings: Mapping[str, Any] | None = None) -> Trajectory:
    """Five steps with an observation of every source, and a finish."""
    steps = (
        Step('I look for flights first.', (search('Rome'),), -1, usage=usage(812, 41, 1.24)),
        Step(
            '',
            (search('Oslo', source='other_task', error='unable'), search('Bern', 2, 'nearest', whole=5321)),
            0,
            usage=usage(1012, 60, 2.5),
        ),
        Step('Now the hotel.', (AnsweredCall('Hotel.book', {}, 'booked', 'simulated'),), 1),
        Step(
            'And mail.',
            (
                AnsweredCall('Email.send', 'to: x', 'sent', 'function'),
                AnsweredCall('Email.sned', {}, 'no such tool', 'error', 'unknown_tool'),
            ),
            2,
            'choose_tool',
            usage=usage(1500, 33, 0.9),
        ),
        Step('Done.', (AnsweredCall('Finish', {'answer': f'You fly to {last}.'}, ''),), 3),
    )
    return Trajectory(
        loop, steps, f'You fly to {last}.', '', (0, 1, 2, 3, 4), 2, {'simulator': 'a-simulator', **(settings or {})}
    )


def tree(stopped: str = '') -> Trajectory:
    """A depth-first search that went back twice: 0 - 1 - 2 (left), 0 - 3 (left) and 0 - 4 - 5."""
    steps = (
        Step('root', (search('Rome'),), -1),
        Step('first try', (search('Oslo'),), 0),
        Step('I give up', (), 1, reason=GAVE_UP),
        Step('second try', (search('Bern', source='error', fault='unanswered'),), 0, reason=GAVE_UP),
        Step('third try', (search('Graz'),), 0),
        Step('that is it', (), 4),
    )
    return Trajectory('dfsdt', steps, 'By Graz.', stopped, (0, 4, 5))


def add_agent(
    folder: Path, model: str, trajectories: Sequence[Trajectory | str], dataset: str = DATASET, **changes: Any
) -> None:
    """A result with predictions of an agent; a sample without a final answer is wrong."""
    right = [not isinstance(one, str) and bool(one.final_answer) for one in trajectories]
    wrong: dict[str, Any] = {'value': 0.0, 'reason': 'finish:missing'}
    details = [detail(f'query_{i}', **({} if is_right else wrong), **changes) for i, is_right in enumerate(right)]
    add(folder, model, dataset, result_of(details, provenance=PROVENANCE))
    tools = [{'type': 'function', 'function': {'name': 'FlightBooking.search', 'parameters': {'type': 'object'}}}]
    rows = {
        str(i): {
            'origin_prompt': [{'role': 'user', 'content': f'Book a flight for task {i} and a hotel.'}],
            'tools': tools,
            'prediction': one if isinstance(one, str) else one.to_json(),
            'record_id': f'query_{i}',
            'infra': None,
        }
        for i, one in enumerate(trajectories)
    }
    write(folder, 'predictions', model, dataset, rows)


def compared_run(folder: Path) -> Path:
    """Two agents with unlike banks, scored as our evaluator does."""
    for model, bank in (('one', 'old'), ('two', 'new')):
        trajectories = [chain(), tree('limit:calls'), tree()]
        scores = [score_trajectory(Task(f'query_{i}', 'teval', 'Go.', ()), one) for i, one in enumerate(trajectories)]
        total = aggregate(scores, METRICS)
        more = {'reasons': total.reasons, 'provenance': {**PROVENANCE, 'bank': bank}, 'breakdown': breakdown(scores)}
        details = [score.to_detail() for score in scores]
        add(folder, model, DATASET, {**total.metrics, 'samples': {'all': 3, 'infra': 0}, **more, 'details': details})
    return folder
