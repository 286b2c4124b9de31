"""The evaluation of a sweep: one model over all eight T-Eval subsets, how it grows, and what a task costs to start.

Part of ``benchmark.py``. Everything runs in processes of its own, as a sweep does, so that times hold the start of
Python and the imports, and peaks of memory are those of one task:

* ours: ``python -m opencompass_tooleval.tasks.task_process eval`` on a config of the eight data sets, after a real
  inference by ``ReplayModel``; cold is an empty cache of embeddings, the second model finds the first one's there;
* built-in: OpenCompass's ``OpenICLEvalTask`` with its ``TEvalEvaluator`` on the same records and answers
  (``benchmark_builtin.py``), all eight in one process too. It is slow, so by default it gets every tenth record, and
  what grows with the records is multiplied. ``--full`` gives it all.

The records and answers are made up (``make_synthetic.py``). A third of the answers is damaged, differently for the two
models; the others are the gold, so that ours encodes their strings once and the built-in does twice.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.teval.data import TABLE
from opencompass_tooleval.embedding.locate import locate_encoder
from tools.synthetic_sweep import Cost, config_text, evaluate, make_records, run

PARTS = Path(__file__).resolve().parent
NOISE = ('--noise', str(1 / 3))
GROWTH = (0.01, 0.1)  # and 1
STARTS = 5
MEMORY_GOAL = 2048

BUILT_IN = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import ReplayModel

with read_base():
    from opencompass.configs.datasets.teval.teval_en_gen_1ac254 import teval_datasets

models = [dict(type=ReplayModel, abbr='{model}')]
datasets = [teval_datasets]
work_dir = '{folder}/built-in'
eval = dict(runner=dict(task=dict(dump_details=True)))
"""

START = """
import gc, json, sys, time
gc.disable()  # as task_process does
seconds, started = {}, time.perf_counter()

def lap(name):
    global started
    now = time.perf_counter()
    seconds[name], started = now - started, now

import opencompass.tasks, opencompass.datasets, opencompass.openicl.icl_evaluator
from mmengine.config import Config
lap('OpenCompass: import')
built_in = Config.fromfile(sys.argv[1])
lap('OpenCompass: its own config of eight data sets')
import opencompass_tooleval.tasks.eval_task, opencompass_tooleval.benchmarks.teval.task
lap('ours: import what T-Eval needs')
ours = Config.fromfile(sys.argv[2])
lap('ours: config of eight data sets')
opencompass_tooleval.tasks.eval_task.ToolEvalEvalTask(ours)
lap('ours: the task')
from opencompass_tooleval import plugin
for module in plugin.MODULES:
    plugin.load(module)
lap('ours, not counted: import everything else')
print(json.dumps(seconds))
gc.freeze()
"""


def thin(folder: Path, every: int, model: str) -> tuple[Path, int]:
    """Every ``every``-th record of ``folder`` with its answer, laid out for the built-in evaluators.

    Returns:
        The new folder, and how many records it has.
    """
    thinned, count = folder / 'thin', 0
    data, answers = thinned / 'data' / 'teval' / 'EN', thinned / 'built-in' / 'predictions' / model
    for made in (data, answers):
        made.mkdir(parents=True)
    for subset in TABLE:
        name = f'{subset.name}_v1'
        records = json.loads((folder / 'data' / 'teval' / 'EN' / f'{name}.json').read_text(encoding='utf-8'))
        kept = dict(list(records.items())[::every])
        lines = (folder / 'predictions' / model / f'{name}.jsonl').read_text(encoding='utf-8').splitlines()
        predictions = {row['id']: row['prediction'] for row in map(json.loads, lines)}
        rows = [
            {'origin_prompt': record['origin_prompt'], 'prediction': predictions[record_id]}
            for record_id, record in kept.items()
        ]
        (data / f'{name}.json').write_text(json.dumps(kept), encoding='utf-8')
        (answers / f'teval-{name}.json').write_text(json.dumps(dict(enumerate(rows))), encoding='utf-8')
        count += len(kept)
    return thinned, count


def built_in(folder: Path, every: int, records: int) -> tuple[Cost, Cost]:
    """What the built-in evaluators cost on a part of ``records``, and extrapolated to all of them."""
    thinned, count = thin(folder, every, 'model_00')
    config, log = thinned / 'config.py', thinned / 'eval.log'
    config.write_text(BUILT_IN.format(folder=thinned, model='model_00'), encoding='utf-8')
    cost = run([PARTS / 'benchmark_builtin.py', config, locate_encoder('offline').path], log, thinned)
    growing = json.loads(log.read_text(encoding='utf-8').splitlines()[-1])
    more = records / count - 1
    return cost, Cost(cost.wall + more * growing['wall'], cost.cpu + more * growing['cpu'], cost.peak)


def start_up(folder: Path) -> dict[str, float]:
    """Seconds of the parts of a task's start: the median of a few processes, with configs as a runner dumps them."""
    files = []
    texts = {'built-in': BUILT_IN.format(folder=folder, model='model_00'), 'ours': config_text(folder, ['model_00'])}
    for name, text in texts.items():
        written, dumped = folder / f'{name}_written.py', folder / f'{name}_dumped.py'
        written.write_text(text, encoding='utf-8')
        dump = 'import sys; from mmengine.config import Config; Config.fromfile(sys.argv[1]).dump(sys.argv[2])'
        run(['-c', dump, written, dumped], folder / 'dump.log', folder)
        files.append(dumped)
    laps = []
    log = folder / 'start.log'
    for _ in range(STARTS):
        bare = run(['-c', 'pass'], log, folder)
        whole = run(['-c', START, *files], log, folder)
        lap: dict[str, float] = json.loads(log.read_text(encoding='utf-8').splitlines()[-1])
        rest = whole.wall - bare.wall - sum(lap.values())
        laps.append({'Python': bare.wall, **lap, 'leaving': rest})
    return {name: statistics.median(lap[name] for lap in laps) for name in laps[0]}


def growth(costs: Sequence[tuple[int, Cost]]) -> list[dict[str, float]]:
    """Rows of records, and time and memory per record beyond those of the first, smallest run."""
    (few, least), *others = costs
    return [
        {
            'records': records,
            'seconds': cost.wall,
            'cpu_seconds': cost.cpu,
            'cpu_ms_per_record': 1000 * (cost.cpu - least.cpu) / (records - few),
            'peak_mib': cost.peak,
            'kib_per_record': 1024 * (cost.peak - least.peak) / (records - few),
        }
        for records, cost in others
        if records > few
    ]


def measure(scale: float, every: int) -> dict[str, Any]:
    """Measures and prints.

    Args:
        scale: Share of the published number of records.
        every: The built-in evaluators get every so many-th record.
    """
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch, str(number)) for number in range(len(GROWTH) + 2)]
        for folder in folders:
            folder.mkdir()

        result['start'] = start_up(folders[0])
        seconds = sum(value for name, value in result['start'].items() if name.startswith('ours:'))
        print(f'start of a task, median of {STARTS}, seconds:')
        for name, value in result['start'].items():
            print(f'  {name}: {value:.3f}')
        print(f'  ours in all: {seconds:.3f} (goal < 0.3)')

        records = make_records(folders[-1], scale, 2, *NOISE)
        cold, second = evaluate(folders[-1], 'model_00'), evaluate(folders[-1], 'model_01')
        part, whole = built_in(folders[-1], every, records)
        how = 'measured' if every == 1 else f'extrapolated linearly from every {every}th record: {part}'
        threads = os.environ.get('OMP_NUM_THREADS', 'default')
        print(f'eight T-Eval subsets, {records} records, {threads} threads, load average {os.getloadavg()[0]:.1f}:')
        print(f'  ours, cold: {cold} (goal < {MEMORY_GOAL} MiB)')
        print(f'  ours, a second model, a third of its answers new: {second}')
        print(f'  built-in: {whole} ({how})')
        for name, cost, goal in (('cold', cold, 5), ('a second model', second, 20)):
            ratio = whole.wall / cost.wall, whole.cpu / cost.cpu
            print(f'  {name}: built-in / ours: {ratio[0]:.1f} (goal >= {goal}), by CPU time {ratio[1]:.1f}')
            result[f'sweep, {name}: built-in / ours'] = ratio[0]
        result['sweep'] = {'records': records, 'cold': vars(cold), 'second': vars(second), 'built_in': vars(whole)}

        costs = []
        for folder, share in zip(folders, (0.0, *GROWTH), strict=False):
            costs.append((make_records(folder, share * scale, 1, *NOISE), evaluate(folder, 'model_00')))
        result['growth'] = growth([*costs, (records, cold)])
        print('growth, cold, beyond a run of one record per subset:')
        for row in result['growth']:
            print('  ' + ', '.join(f'{name} {value:.1f}' for name, value in row.items()))
    return result
