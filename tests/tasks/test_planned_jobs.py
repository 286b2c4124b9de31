"""tasks/planned_jobs on data sets that are split over several jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.registry import PARTITIONERS
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.core.scoring.prices import Budget, Prices
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import summary_of
from opencompass_tooleval.extras.plan.command import show_plan
from opencompass_tooleval.models.model_calls import texts_of
from opencompass_tooleval.tasks.first_prompts import first_prompts
from opencompass_tooleval.tasks.planned_jobs import ModelPlan, make_plan
from opencompass_tooleval.work_dir.budget_file import ledger_file
from opencompass_tooleval.work_dir.prompt_tokens import estimate_tokens
from tests.conftest import ModelServer

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer

wanted = ['tooleval-teval-review_str_v2', 'tooleval-teval-retrieve_str_v2']
datasets = [row for row in datasets if row['abbr'] in wanted]
models = [dict(type=OracleModel, abbr='m', path='x', max_out_len=9, batch_size=2)]
infer['partitioner'] = dict(type=ToolEvalNumWorkerPartitioner, num_worker=2, min_task_size=1)
"""


RETRIEVE = "'tooleval-teval-retrieve_str_v2'"
COT = (RETRIEVE, "'tooleval-funcqa-one_hop-cot'")


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    """Writes the config with some words replaced."""
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / 'sweep.py').write_text(text)
    return folder / 'sweep.py'


def plan_of(folder: Path, *changes: tuple[str, str]) -> ModelPlan:
    (model,) = make_plan(write(folder, *changes), folder / 'run').models
    return model


def test_replicas_are_jobs_and_their_data_sets_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ('ToolEvalNumWorkerPartitioner', 'ToolEvalPartitioner')
    plans = [
        plan_of(tmp_path, own, ('num_worker=2, min_task_size=1', split)) for split in ('n=1000', 'n=1000, replicas=3')
    ]
    assert [plan.jobs for plan in plans] == [1, 3]
    assert replace(plans[1], jobs=1) == plans[0]
    show_plan(tmp_path / 'sweep.py')
    assert '3 replicas of each model share its data sets' in capsys.readouterr().out


def test_what_answers_will_cost(tmp_path: Path) -> None:
    """By the most that they may have; once a model has answered, by what its answers had; dialogues only then."""
    run, priced = tmp_path / 'run', ("path='x'", "path='x', prices=dict(input=2.0, output=8.0)")
    first = plan_of(tmp_path, COT, priced)
    reviews = 6
    most = 512 * reviews
    assert (first.answer_tokens, first.bound) == (most, 'about')
    assert (
        first.answers_by
        == '1 data set: answer tokens are at most the token limit; 1 data set of dialogues: not counted'
    )
    assert first.cost == pytest.approx((2 * first.prompt_tokens + 8 * most) / 1e6)
    (run / 'configs').mkdir(parents=True, exist_ok=True)
    for model, completion in (('slow', 300), ('quick', 100)):
        for dataset in ('tooleval-teval-review_str_v2', 'tooleval-funcqa-one_hop-cot'):
            file = run / 'results' / model / f'{dataset}.json'
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({'usage': summary_of([Usage(1000, completion), None])}))
    (run / 'results' / 'quick' / 'other.json').write_text('{')
    (run / 'results' / 'slow' / 'tooleval-teval-review_str_v2.json').write_text('{')
    later = plan_of(tmp_path, COT, priced)
    questions = later.samples - reviews
    assert later.answer_tokens == reviews * 100 + questions * 200 and later.bound == 'about'
    assert later.answers_by == '2 data sets: answers as long as those of quick, slow'
    assert (first.dialogues, later.dialogues) == (questions, 0)
    assert questions * 1000 < later.prompt_tokens < questions * 1000 + first.prompt_tokens
    assert later.cost == pytest.approx((2 * later.prompt_tokens + 8 * later.answer_tokens) / 1e6)


def test_a_plan_says_that_its_estimate_is_over_the_budget(tmp_path: Path) -> None:
    """Over what a resumed run has left of it."""
    limited = ("path='x'", "path='x', prices=dict(input=2e3, output=8e3), budget=dict(cost=500)")
    first = plan_of(tmp_path, limited)
    cost = first.cost or 0
    assert first.over_budget == ''
    file = ledger_file(tmp_path / 'run', 'm', Budget('cost', 500, Prices(2e3, 8e3)))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({'spent': 500 - cost / 2, 'in_flight': {}, 'not_asked': {}}))
    plan = plan_of(tmp_path, limited)
    assert plan.over_budget == f'may cost {cost:.2f}; the budget of 500.00 has {cost / 2:.2f} left'
    plan = plan_of(tmp_path, ("path='x'", "path='x', budget=dict(tokens=9)"))
    tokens = plan.prompt_tokens + plan.answer_tokens
    assert plan.over_budget == f'may cost {tokens:,} tokens; the budget of 9 tokens has 9 tokens left'


OPENAI = """
from opencompass_tooleval.models import ToolEvalOpenAI
models = [dict(type=ToolEvalOpenAI, abbr='m', path='o3', key='none', openai_api_base='https://api.openai.com/v1',
               max_out_len=9, batch_size=2, temperature=TEMPERATURE)]
for row in datasets:
    row['infer_cfg']['inferencer']['temperature'] = OF_DATASET
"""


@pytest.mark.parametrize(('temperature', 'of_dataset', 'is_fault', 'words'), [
    ('0', 'None', False, "m: temperature=0 is not sent, since OpenAI's reasoning models refuse it"),
    ('None', '0.7', True, "m: the data set's temperature 0.7 is not sent, since OpenAI's reasoning models refuse it"),
])  # fmt: skip
def test_a_temperature_that_is_not_sent_is_a_note_or_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], temperature: str, of_dataset: str, is_fault: bool, words: str
) -> None:
    added = OPENAI.replace('OF_DATASET', of_dataset).replace('TEMPERATURE', temperature)
    assert show_plan(write(tmp_path, ('infer[', f'{added}\ninfer['))) == is_fault
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(('NOTE', 'FAULT'))]
    (line,) = [line for line in lines if 'max_out_len=9' not in line]
    assert line.startswith(f'{"FAULT" if is_fault else "NOTE"} {words}')


AGENTS = """
from opencompass_tooleval.agents.judged_adapter import ToolEvalAgentJudgedEvaluator
from opencompass_tooleval.models import ToolEvalOpenAI
server = dict(type=ToolEvalOpenAI, path='tiny', key='none', openai_api_base='URL', retry=0, query_per_second=1000,
              max_seq_len=100000, max_out_len=64)
models = [dict(server, abbr='m')]
(agent,) = [row for row in datasets if 'agent' in row['abbr']]
agent['infer_cfg']['inferencer']['dialogues']['simulator'] = dict(model=dict(server, abbr='sim'))
agent['eval_cfg']['evaluator'] = dict(
    type=ToolEvalAgentJudgedEvaluator, name='toolbench_g1', judge_cfg=dict(server, abbr='gpt'))
"""


def test_what_an_agent_is_offered_is_counted_and_what_is_not_is_said(
    canned_server: ModelServer, tmp_path: Path
) -> None:
    """The plan's tokens are those of the first requests, as the result would count them."""
    wanted = (RETRIEVE, "'tooleval-toolbench_g1-agent-fc', 'tooleval-ultratool-planning_en'")
    plan = plan_of(tmp_path, wanted, ('infer[', AGENTS.replace('URL', canned_server.url) + 'infer['))
    assert plan.prompts_by == '3 data sets: prompt tokens are estimated from words, punctuation and Chinese characters'
    assert plan.not_counted == (
        'the later rounds of 7 dialogues',
        'the judge replayed-judge (1 data set)',
        'the judge gpt (1 data set)',
        'the simulator sim (1 data set)',
    )
    counted = 0
    for dataset in Config.fromfile(tmp_path / 'sweep.py', format_python_code=False)['datasets']:
        for _, prompt in first_prompts(dataset):
            assert prompt is not None
            counted += sum(estimate_tokens(texts_of(prompt)))
            assert (prompt.tools is not None) == ('agent' in dataset['abbr'])
    assert plan.prompt_tokens == counted


def test_a_data_set_is_done_when_all_parts_of_opencompass_own_partitioner_are(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    sizes = f"min_task_size=1, dataset_size_path='{tmp_path}/sizes.json')"
    changes = [
        ('opencompass_tooleval.partitioner import ToolEvalNum', 'opencompass.partitioners import Num'),
        ('ToolEvalNumWorkerPartitioner', 'NumWorkerPartitioner'),
        ('min_task_size=1)', sizes),
    ]
    first = plan_of(tmp_path, *changes)
    assert (first.jobs, first.datasets, first.done) == (2, 2, 0)

    cfg = Config.fromfile(tmp_path / 'sweep.py', format_python_code=False)
    cfg['work_dir'] = str(run)
    partitioner = PARTITIONERS.build({**cfg['infer']['partitioner'], 'out_dir': str(run / 'predictions')})
    rows = [row for task in partitioner(cfg) for part in task['datasets'] for row in part]
    parts = {row['abbr']: len(build_dataset_from_cfg(row).test) for row in rows}
    assert len(parts) == 4 and first.samples == sum(parts.values())
    seen = []
    for number, (abbr, size) in enumerate(sorted(parts.items())):
        file = run / 'predictions' / 'm' / f'{abbr}.json'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({str(index): {} for index in range(size)}))
        if number != 2:
            model = plan_of(tmp_path, *changes)
            seen.append((model.datasets, model.done))
    assert seen == [(2, 0), (1, 1), (0, 2)]
    assert (model.jobs, model.samples) == (0, 0)
