"""Agents behind an OpenAI-compatible server, each with one way to behave, through the real ``opencompass``.

What each of them scores on the demo's four tasks, of 4, 3, 2 and 3 gold calls, follows from what it does.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

from opencompass_tooleval.agents.loops.steps import LEFT_OUT
from opencompass_tooleval.agents.scoring.scoring import METRICS, WASTE
from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.forked import run_opencompass
from tests.instructions.shared_data import DEMO
from tests.models.api.scripted_server import Refused, Request, Script, call, serving

TASKS = load_data(DEMO / 'agents' / 'teval' / 'EN' / 'plan_json_v1.json', 'teval').tasks
SIZES = [len(task.gold or ()) for task in TASKS]
STEPS = 20
NOWHERE = 'Nowhere.go'
TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in more."
MODELS = (
    *('right', 'lazy', 'looping', 'unknown_tools', 'broken_json', 'parallel'),
    *('endless', 'silent', 'thinking', 'narrow', 'no_room', 'down'),
)
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_agent_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_agent import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in tooleval_agent_datasets if row['abbr'] == 'tooleval-DATA-agent-fc']
for row in datasets:
    if SIMULATED:
        row['infer_cfg']['inferencer']['dialogues']['simulator'] = dict(
            model=dict(type=ToolEvalOpenAI, abbr='simulating', path='simulating', key='none', openai_api_base=URL,
                       max_seq_len=65536, max_out_len=64))
    row['n'] = TRIALS
    row['infer_cfg']['inferencer']['max_infra_share'] = 1.0
models = [
    dict(type=ToolEvalOpenAI, abbr=name, path=name, key='none', openai_api_base=URL, temperature=0.5, backoff=0.01,
         retry=0, max_workers=8, query_per_second=1000, batch_size=64, max_seq_len=65536, run_cfg=dict(num_gpus=0))
    for name in NAMES
]
"""


class Agents(Script):
    tasks = TASKS

    def models(self) -> Any:
        return {'object': 'list', 'data': [{'id': name, 'object': 'model'} for name in (*MODELS, 'wavering')]}

    def admits(self, authorization: str) -> bool:
        return True

    def check(self, request: Request) -> None:
        """Refuses what is too long: ``narrow`` has room for one observation, ``no_room`` for nothing."""
        whole = sum(m['role'] == 'tool' and m['content'] != LEFT_OUT for m in request['messages'])
        if request['model'] == 'no_room' or (request['model'] == 'narrow' and whole > 1):
            raise Refused(400, TOO_LONG)
        if request['model'] == 'down':
            raise Refused(500, 'out of order')

    def message(self, request: Request) -> dict[str, Any]:
        """What a model does after so many observations."""
        # What asks again for an empty answer stands below the request, in the same message.
        texts = [str(m['content']).partition('\n')[0] for m in request['messages'] if m['role'] == 'user']
        (task,) = (task for task in self.tasks if task.query in texts)
        made = sum(m['role'] == 'tool' for m in request['messages'])
        sent = {tool['function']['name'].replace('.', '_'): tool['function']['name'] for tool in request['tools']}
        gold = [(sent[right.name.replace('.', '_')], json.dumps(right.arguments)) for right in task.gold or ()]
        first, last, call = gold[0], gold[-1], gold[made] if made < len(gold) else None
        done = {'content': 'It is done.'}
        right = calling(call) if call else done
        after_one = calling(gold[made - 1]) if made and made <= len(gold) else done
        behaviours: dict[str, dict[str, Any]] = {
            'lazy': {'content': 'I believe that it is done.'},
            'looping': calling(last),
            'unknown_tools': after_one if made else calling((NOWHERE, '{}')),
            'broken_json': after_one if made else calling((first[0], '{"harbour": "Ost')),
            'parallel': done if made else calling(*gold),
            'endless': calling(call or (NOWHERE, json.dumps({'number': made}))),
            'silent': {'content': ''},
            'thinking': {'content': '<think>What now?'} if made else calling(first),
        }
        return behaviours.get(request['model'], right)


def calling(*calls: tuple[str, str]) -> dict[str, Any]:
    return {'content': None, 'tool_calls': [call(*made, place) for place, made in enumerate(calls)]}


def run(
    folder: Path, url: str, names: tuple[str, ...], trials: int = 1, data: str = 'teval', simulated: bool = False
) -> dict[str, dict[str, Any]]:
    """Runs models; returns their results."""
    values = {'URL': repr(url), 'NAMES': repr(names), 'TRIALS': str(trials), 'SIMULATED': str(simulated), 'DATA': data}
    text = CONFIG
    for name, value in values.items():
        text = text.replace(name, value)
    (folder / 'sweep.py').write_text(text, encoding='utf-8')
    done = run_opencompass(
        'sweep.py', '-w', 'out', '--debug', cwd=folder, env={**os.environ, 'TOOLEVAL_CACHE': str(folder / 'cache')}
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {file.parent.name: json.loads(file.read_text()) for file in folder.glob('out/*/results/*/*.json')}


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('behaviours')


@pytest.fixture(scope='module')
def results(folder: Path) -> Iterator[dict[str, dict[str, Any]]]:
    with serving(Agents()) as url:
        yield run(folder, url, MODELS)


def trajectories(folder: Path, model: str) -> list[Trajectory]:
    (file,) = folder.glob(f'out/*/predictions/{model}/*.json')
    return [parse_trajectory(row['prediction']) for row in json.loads(file.read_text()).values()]


def mean(values: list[Fraction]) -> float:
    """Of values per task, 0-100."""
    return float(100 * sum(values) / len(values))


def of_precision(calls: list[int]) -> dict[str, float]:
    """Metrics of agents that make all gold calls in order, and so many calls in all."""
    pairs = list(zip(SIZES, calls, strict=True))
    return {
        'call_precision': mean([Fraction(size, count) for size, count in pairs]),
        'call_f1': mean([Fraction(2 * size, size + count) for size, count in pairs]),
    }


def one_right_of(calls: list[int]) -> dict[str, float]:
    """Metrics of agents whose calls, so many, are all the same gold call, and that never finish."""
    recall = mean([Fraction(1, size) for size in SIZES])
    f1 = mean([Fraction(2, size + count) for size, count in zip(SIZES, calls, strict=True)])
    precision = mean([Fraction(1, count) for count in calls])
    good = {'call_recall': recall, 'call_precision': precision, 'call_f1': f1, 'call_order': recall}
    return {**NONE, **good, 'arguments': 100.0}


NONE = dict.fromkeys(METRICS, 0.0)
FULL = {**dict.fromkeys(METRICS, 100.0), **dict.fromkeys(WASTE, 0.0)}
ONE_MORE = [size + 1 for size in SIZES]
EXTRA = {**FULL, **of_precision(ONE_MORE), 'all_calls_right': 0.0}
SHARE_OF_ONE = mean([Fraction(1, count) for count in ONE_MORE])
EXPECTED: dict[str, tuple[dict[str, float | None], str]] = {
    'right': (FULL, 'ok'),
    'lazy': ({**NONE, 'finish_rate': 100.0}, 'calls:missing'),
    'looping': (
        {
            **one_right_of([STEPS] * len(SIZES)),
            'repeated_call_rate': 100 * (STEPS - 1) / STEPS,
            'repeated_after_error_rate': 100 * (STEPS - 1) / STEPS / len(TASKS),  # one last call has no recording
        },
        'loop',
    ),
    'unknown_tools': ({**EXTRA, 'unknown_tool_rate': SHARE_OF_ONE}, 'calls:extra'),
    'broken_json': ({**EXTRA, 'invalid_call_rate': SHARE_OF_ONE}, 'calls:extra'),
    'parallel': (FULL, 'ok'),
    'endless': (
        {
            **FULL,
            **of_precision([STEPS] * len(SIZES)),
            'finish_rate': 0.0,
            'all_calls_right': 0.0,
            'unknown_tool_rate': mean([Fraction(STEPS - size, STEPS) for size in SIZES]),
        },
        'limit:steps',
    ),
    'silent': (NONE, 'answer:empty'),
    'thinking': (one_right_of([1] * len(SIZES)), 'answer:truncated_reasoning'),
    'narrow': (FULL, 'ok'),
    'no_room': (NONE, 'limit:context'),
    'down': (NONE, 'infra:server'),
}


@pytest.mark.parametrize('model', MODELS)
def test_scores_and_reasons_are_exact(results: dict[str, dict[str, Any]], model: str) -> None:
    result = results[model]
    metrics, reason = EXPECTED[model]
    if model == 'down':
        assert {result[metric] for metric in WASTE} == {None}, 'not measured: 0 would be the best value'
        metrics = {metric: value for metric, value in metrics.items() if metric not in WASTE}
    assert {metric: result[metric] for metric in metrics} == pytest.approx(metrics)
    assert result['reasons'] == {reason: len(TASKS)}
    assert result['samples']['infra'] == (len(TASKS) if model == 'down' else 0)
    assert [detail['id'] for detail in result['details']] == [task.id for task in TASKS]


def test_what_was_done_is_what_each_of_them_does(folder: Path, results: dict[str, dict[str, Any]]) -> None:
    def calls(model: str) -> list[list[tuple[str, Any]]]:
        return [[(made.name, made.arguments) for made in done.calls] for done in trajectories(folder, model)]

    def gold(task: Task) -> list[tuple[str, Any]]:
        return [(gold_call.name, gold_call.arguments) for gold_call in task.gold or ()]

    assert calls('right') == calls('parallel') == calls('narrow') == [gold(task) for task in TASKS]
    assert [len(done.steps) for done in trajectories(folder, 'parallel')] == [2] * len(TASKS)
    assert [done.omitted_observations for done in trajectories(folder, 'narrow')] == [size - 1 for size in SIZES]
    omitted = {'observations': sum(SIZES) - 4, 'tasks': len(TASKS)}
    assert results['narrow']['breakdown']['omitted_observations'] == omitted
    assert results['no_room']['breakdown']['stopped'] == {'limit:context': len(TASKS)}
    assert results['endless']['breakdown']['steps'] == {'total': 80, 'mean': 20, 'p50': 20, 'p95': 20}
    assert [made[0] for made in calls('broken_json')] == [(gold(task)[0][0], '{"harbour": "Ost') for task in TASKS]
    shares = results['right']['breakdown']['shares']
    assert sum(shares.values()) == pytest.approx(1) and shares['error'] == 2 / sum(SIZES)
    assert results['right']['provenance']['loop'] == 'function_calling' and results['right']['provenance']['bank']


def test_trials_and_what_is_simulated(tmp_path: Path) -> None:
    """UltraTool's tools are recorded nowhere: every observation is a model's. One agent errs in its second trial."""

    class Simulating(Agents):
        tasks = load_data(DEMO / 'ultratool' / 'English-dataset' / 'test.json', 'ultratool_en').tasks
        begun: ClassVar[Counter[str]] = Counter()

        def message(self, request: Request) -> dict[str, Any]:
            if request['model'] == 'simulating':
                return {'content': json.dumps({'error': '', 'response': 'done'})}
            if request['model'] == 'wavering' and not any(m['role'] == 'tool' for m in request['messages']):
                query = str(request['messages'])
                self.begun[query] += 1
                if self.begun[query] == 2:
                    return {'content': 'I believe that it is done.'}
            return super().message(request)

    with serving(Simulating()) as url:
        results = run(tmp_path, url, ('right', 'lazy', 'wavering'), trials=2, data='ultratool_en', simulated=True)
    right, lazy = results['right'], results['lazy']
    calls = sum(len(task.gold or ()) for task in Simulating.tasks)
    assert (right['all_calls_right'], right['reasons']) == (100, {'ok': 2 * len(Simulating.tasks)})
    first, second = right['breakdown']
    assert first['simulated_by'] == second['simulated_by'] == {'simulating, prompt tooleval': calls}
    assert first['shares']['simulated'] == second['shares']['simulated'] == 1
    assert right['provenance']['simulated_by'] == 'simulating, prompt tooleval'
    assert 'simulated_by' not in lazy['provenance'] and lazy['provenance']['simulator'] == 'simulating'
    estimates = results['wavering']['trials']['metrics']
    assert estimates['finish_rate']['pass^2']['value'] == 100
    expected = {'avg@2': 50, 'pass@1': 50, 'pass@2': 100, 'pass^1': 50, 'pass^2': 0}
    assert {name: estimate['value'] for name, estimate in estimates['all_calls_right'].items()} == expected
    (notes,) = tmp_path.glob('out/*/summary/*_notes.txt')
    told = [line for line in notes.read_text().splitlines() if line.startswith(('NOTE', 'WARNING'))]
    assert told == [
        f'NOTE ultratool_en-agent-fc: not comparable with published scores: {why}'
        for why in (
            'records: 5 of 1,000, not a sample. Fix it with: run it without sample, limit and test_range',
            'calls are answered from recordings; the papers used live tools',
            'responses that were not recorded are simulated by simulating, prompt tooleval',
        )
    ]
