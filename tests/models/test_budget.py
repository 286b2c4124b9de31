"""Requests that a budget pays for: what the server received, and what the ledger says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config, ConfigDict

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.prices import budget_of
from opencompass_tooleval.core.scoring.result import OVER_BUDGET
from opencompass_tooleval.inferencers.inferencer import InfraFailureError
from opencompass_tooleval.judging.judge import Judge
from opencompass_tooleval.judging.judge_item import JudgeItem, single
from opencompass_tooleval.judging.judgement import UnjudgedError
from opencompass_tooleval.models.budget import account_of_model
from opencompass_tooleval.models.local_chat import ToolEvalHFChat
from opencompass_tooleval.models.model_config import AuxiliaryModel
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.request_queue import open_queue
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from opencompass_tooleval.tasks.task import TaskFailedError
from opencompass_tooleval.work_dir.budget_file import Ledger, LedgerState, LockedTask, ledger_file, read_ledger
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.run_context import in_context
from tests.conftest import ModelServer, start_server
from tests.models.api.scripted_server import KEY, Request, Script, serving
from tests.models.test_openai_model import make_model
from tests.models.test_wrappers import make_conversation

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / 'opencompass_tooleval' / 'configs' / 'datasets' / 'demo'
PRICES = {'input': 1.0, 'output': 2.0}
MISSING = r'^6 of 10 judgements are missing \(infra:budget\)'


@pytest.fixture(scope='module')
def server_process() -> Iterator[ModelServer]:
    server = start_server('--script', f'{ROOT / "tests" / "budget_script.py"}:answer')
    yield server
    server.stop()


@pytest.fixture
def server(server_process: ModelServer) -> ModelServer:
    """The server whose answers are as expensive as they may be, with nothing asked yet."""
    server_process.settle()
    return server_process


@contextmanager
def task(run: Path, cfg: Mapping[str, Any]) -> Iterator[None]:
    """A task that works on a model with this config."""
    locked_task, budget = LockedTask(run, run / '.task.lock'), budget_of(cfg)
    with (
        exclusive(locked_task.lock),
        in_context(locked_task=locked_task, ledger=Ledger(locked_task, 'm', budget) if budget else None),
    ):
        yield


def state(run: Path, cfg: Mapping[str, Any], name: str = 'm', is_auxiliary: bool = False) -> LedgerState:
    budget = budget_of(cfg)
    assert budget
    return read_ledger(ledger_file(run, name, budget, is_auxiliary))


def ask(model: Any, count: int, max_out_len: int = 100) -> list[Answer]:
    """Asks questions of 100 bytes, in their order."""
    answers: dict[int, Answer] = {}
    with open_queue(model, max_out_len, 4, account=account_of_model()) as queue:
        for number in range(count):
            text = f'{number:03} ' + 'word ' * 19 + '.'
            queue.submit(number, make_conversation([{'role': 'user', 'content': text}]))
        while arrived := queue.results():
            answers.update(arrived)
    return [answers[number] for number in range(count)]


def tokens(server: ModelServer) -> int:
    counts = server.stats()['tokens']
    return int(counts.get('prompt', 0) + counts.get('completion', 0))


@pytest.mark.parametrize(
    ('budget', 'prices', 'most'),
    [({'tokens': 2110}, None, 10), ({'cost': 0.00311}, PRICES, 10), ({'cost': 1e-6}, PRICES, 0)],
)
def test_many_in_flight_stay_within_the_budget(
    server: ModelServer, tmp_path: Path, budget: dict[str, float], prices: Any, most: int
) -> None:
    """Each takes 200 tokens, and reserves 32 more; the next ones wait until these are free, in their order."""
    cfg = {'budget': budget, 'prices': prices}
    with task(tmp_path, cfg):
        answers = ask(make_model(server, max_workers=64), 100)
    assert [answer.reason for answer in answers] == [None] * most + [OVER_BUDGET] * (100 - most)
    assert server.stats()['requests'] == most and tokens(server) == most * 200
    spent = state(tmp_path, cfg)
    assert spent.spent == pytest.approx(most * (200 if prices is None else 300 / 1e6)) and not spent.in_flight


def test_a_usage_of_zero_does_not_make_a_budget_endless(tmp_path: Path) -> None:
    class CountsNothing(Script):
        def usage(self, request: Request, message: dict[str, Any]) -> Any:
            return {'prompt_tokens': 0, 'completion_tokens': 0}

    script, cfg = CountsNothing(), {'budget': {'tokens': 600}}
    with serving(script) as url, task(tmp_path, cfg):
        model = ToolEvalOpenAI(path='tiny', key=KEY, openai_api_base=url, max_workers=1, retry=0)
        answers = ask(model, 100, 10)
    assert {answer.reason for answer in answers} == {None, OVER_BUDGET}
    assert 0 < state(tmp_path, cfg).spent <= 600 and 2 < len(script.asked) < 50


@pytest.mark.parametrize(('fault', 'cost'), [
    pytest.param('500@1', 0, id='a refused request costs nothing'),
    pytest.param('slow@1=3600', 232, id='one that timed out may have cost all that it may'),
])  # fmt: skip
def test_failed_tries(server: ModelServer, tmp_path: Path, fault: str, cost: int) -> None:
    cfg = {'budget': {'tokens': 10_000}}
    server.reset(fault)
    timeout = 1 if cost else 60  # on a busy machine a right answer may take longer than 1 s, and is asked for again
    with task(tmp_path, cfg):
        (answer,) = ask(make_model(server, retry=9, timeout=timeout), 1)
    failed = server.stats()['requests'] - 1
    assert failed and answer.reason is None and state(tmp_path, cfg).spent == failed * cost + 200


def test_each_try_of_a_request_is_paid_for(server: ModelServer, tmp_path: Path) -> None:
    """An empty reply has a usage, and its next try is not sent if that would be too much."""
    server.reset('empty@all')
    with task(tmp_path, {'budget': {'tokens': 100_000}}):
        ask(make_model(server, retry=3), 1)
    per_try = tokens(server) // 4
    assert server.stats()['requests'] == 4 and per_try
    server.reset('empty@all')
    limit = per_try + 232
    with task(tmp_path / 'less', cfg := {'budget': {'tokens': limit}}):
        (answer,) = ask(make_model(server, retry=3), 1)
    assert answer.reason == OVER_BUDGET and answer.usage is not None
    assert answer.usage.requests == server.stats()['requests']
    assert state(tmp_path / 'less', cfg).spent == tokens(server) <= limit


def test_a_local_model_gets_batches_within_its_budget_of_tokens(tiny_model: Path, tmp_path: Path) -> None:
    model = ToolEvalHFChat(path=str(tiny_model), max_seq_len=4096)
    with task(tmp_path, cfg := {'budget': {'tokens': 600}}):
        answers = ask(model, 9, 8)
    asked = [answer for answer in answers if answer.reason is None]
    assert 4 < len(asked) < 9 and {answer.reason for answer in answers[len(asked) :]} == {OVER_BUDGET}
    spent = sum((answer.usage.prompt or 0) + (answer.usage.completion or 0) for answer in asked if answer.usage)
    assert state(tmp_path, cfg).spent == spent <= 600


def judge_cfg(server: ModelServer, **more: Any) -> dict[str, Any]:
    return {'type': ToolEvalOpenAI, 'abbr': 'gpt', 'path': 'tiny', 'key': 'none', 'openai_api_base': server.url,
            'max_out_len': 100, 'max_workers': 8, 'query_per_second': None, **more}  # fmt: skip


def judge(cfg: Mapping[str, Any], folder: Path, count: int = 10) -> int:
    """Judges; returns the number of verdicts."""
    items = {number: single(JudgeItem(str(number), f'{number:04}' * 25, len)) for number in range(count)}
    return len(Judge(cfg, folder, 'plans').converse(items))


@pytest.mark.parametrize('has_own', [True, False])
def test_a_judge_takes_from_its_own_budget_or_from_that_of_the_model(
    server: ModelServer, tmp_path: Path, has_own: bool
) -> None:
    """What it judged is kept, and a higher budget continues."""
    for limit, requests, judged in ((1000, 4, 4), (5000, 6, 10)):
        server.reset()
        own = {'budget': {'tokens': limit}} if has_own else {}
        model = {'budget': {'tokens': 10**6 if has_own else limit}}
        with task(tmp_path, model), nullcontext() if judged == 10 else pytest.raises(UnjudgedError, match=MISSING):
            assert judge(judge_cfg(server, **own), tmp_path) == 10
        assert server.stats()['requests'] == requests
        spent = state(tmp_path, own, 'gpt', is_auxiliary=True) if has_own else state(tmp_path, model)
        assert spent.spent == 200 * judged
        (name,) = spent.not_asked
        assert name.endswith('judgements of plans') and spent.not_asked[name] == [10 - judged, 10]
        assert not has_own or state(tmp_path, model).spent == 0


def test_a_judge_whose_cost_is_unknown_is_refused_where_it_would_count(server: ModelServer, tmp_path: Path) -> None:
    with task(tmp_path, {'budget': {'cost': 5}, 'prices': PRICES}):
        with pytest.raises(ValueError, match='gpt has no prices, and the budget of the model pays for it: add prices='):
            judge(judge_cfg(server), tmp_path)
        assert judge(judge_cfg(server, prices=PRICES), tmp_path, 1) == 1
    with pytest.raises(ValueError, match='gpt: a budget applies only to runs of opencompass; leave budget out'):
        AuxiliaryModel(judge_cfg(server, budget={'tokens': 5}))


def test_a_simulator_without_budget_leaves_tasks_unanswered(server: ModelServer, tmp_path: Path) -> None:
    """They are no zeros: the data set has no result, and is noted in the simulator's ledger."""
    config = Config.fromfile(DEMO / 'tooleval_demo_gen.py', format_python_code=False)
    (dataset,) = (row for row in config['tooleval_agent_datasets'] if row['abbr'] == 'tooleval-teval-agent-fc')
    simulating = judge_cfg(server, abbr='sim', budget={'tokens': 100})
    simulator = {'model': simulating, 'cache': str(tmp_path / 'cache.sqlite')}
    dataset['infer_cfg']['inferencer']['dialogues']['simulator'] = simulator
    model = start_server('--script', f'{ROOT / "tests" / "spending_script.py"}:model')
    try:
        asked = ConfigDict(judge_cfg(model, abbr='m', run_cfg={'num_gpus': 0}))
        with pytest.raises(TaskFailedError, match=rf'{InfraFailureError.__name__}: .*infra:simulator:budget'):
            ToolEvalInferTask(ConfigDict(models=[asked], datasets=[[dataset]], work_dir=str(tmp_path))).run()
    finally:
        model.stop()
    spent = state(tmp_path, simulating, 'sim', is_auxiliary=True)
    assert spent.spent == server.stats()['requests'] == 0
    assert list(spent.not_asked) == ['m x tooleval-teval-agent-fc'] and not list(tmp_path.glob('budgets/*.json'))
