"""What answers cost: said by a server, counted for a local model, in predictions and in results with prices."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mmengine.config import Config, ConfigDict
from opencompass.models import HuggingFacewithChatTemplate, OpenAISDK

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.tool_calls import ToolCall, calls_text
from opencompass_tooleval.core.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.core.usage_summary import summary_of
from opencompass_tooleval.host import api_model
from opencompass_tooleval.host.api_model import ToolEvalOpenAI
from opencompass_tooleval.host.eval_task import ToolEvalEvalTask
from opencompass_tooleval.host.fixed_models import OracleModel
from opencompass_tooleval.host.infer_task import ToolEvalInferTask
from opencompass_tooleval.host.judging import judge_settings, settings_hash
from opencompass_tooleval.host.model_calls import ask, token_length
from opencompass_tooleval.host.model_config import build_model
from tests.conftest import ModelServer
from tests.host.test_wrappers import make_conversation

CONFIGS = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'configs'
PRICES = {'input': 2.0, 'output': 8.0}


def test_a_local_model_is_counted_with_its_tokenizer(tiny_model: Path) -> None:
    model = HuggingFacewithChatTemplate(str(tiny_model), max_seq_len=4096)
    prompt = make_conversation()
    (answer,) = ask(model, [prompt], 6)
    usage = answer.usage
    assert usage is not None and usage.counted and usage.seconds is None
    assert usage.prompt == token_length(model, prompt) > 20
    assert usage.completion == len(model.tokenizer.encode(str(answer), add_special_tokens=False)) > 0


def test_what_the_server_says_counts(tiny_server: ModelServer) -> None:
    ours = ToolEvalOpenAI(path='tiny', key='none', openai_api_base=tiny_server.url, max_seq_len=8192, retry=0)
    (answer,) = ask(ours, [make_conversation()], 6)
    assert answer.usage is not None and not answer.usage.counted
    assert answer.usage.prompt and answer.usage.completion and answer.usage.seconds is not None


def test_a_server_that_says_nothing_is_counted(tiny_server: ModelServer, tiny_model: Path) -> None:
    settings = {'openai_api_base': tiny_server.url, 'tokenizer_path': str(tiny_model), 'max_seq_len': 8192}
    sdk = OpenAISDK(path='tiny', key='none', retry=1, **settings)
    (answer,) = ask(sdk, [make_conversation()], 6)  # OpenCompass's own drops what the server says
    assert answer.usage is not None and answer.usage.counted and answer.usage.prompt
    partly = Answer('a b c', usage=Usage(prompt=5, seconds=0.1))
    own = ToolEvalOpenAI(path='m', key='none', openai_api_base=tiny_server.url, tokenizer_path=str(tiny_model))
    own.generate_from_template = lambda *arguments, **options: [partly, Answer('', 'infra:timeout')]
    answered, failed = ask(own, [make_conversation()] * 2, 6)
    assert answered.usage is not None and failed.usage is None
    tokens = len(own.tokenizer.encode('a b c', add_special_tokens=False))
    assert answered.usage == Usage(5, tokens, counted=True, seconds=0.1)


def test_answers_without_a_model_cost_nothing() -> None:
    (answer,) = ask(OracleModel(), [make_conversation()], 6)
    assert answer.usage is None


@pytest.mark.parametrize('settings', [{}, {'prices': PRICES}])
def test_prices_are_no_argument_of_a_class(settings: dict[str, Any]) -> None:
    assert isinstance(build_model(ConfigDict(type=OracleModel, abbr='m', **settings)), OracleModel)
    assert ToolEvalOpenAI(path='m', key='none', openai_api_base='http://127.0.0.1:9/v1', **settings).path == 'm'


def test_wrong_prices_are_said_when_a_model_is_built() -> None:
    for prices in ({'prompt': 1}, {'input': 1, 'output': 'a lot'}):
        with pytest.raises(ValueError, match='should be dict'):
            build_model(ConfigDict(type=OracleModel, prices=prices))
        with pytest.raises(ValueError, match='should be dict'):
            ToolEvalOpenAI(path='m', key='none', openai_api_base='http://127.0.0.1:9/v1', prices=prices)


def test_prices_are_no_other_judge() -> None:
    judge = {'type': 'x.ToolEvalOpenAI', 'path': 'gpt-4', 'temperature': 0}
    assert settings_hash(judge) == settings_hash({**judge, 'prices': PRICES})
    assert 'prices' not in judge_settings({**judge, 'prices': PRICES})


def demo(name: str, group: str, dataset: str) -> Any:
    """A shipped data set."""
    config = Config.fromfile(CONFIGS / 'datasets' / 'demo' / f'{name}.py', format_python_code=False)
    return next(row for row in config[group] if row['abbr'] == dataset)


def run(folder: Path, model: ConfigDict, datasets: list[Any]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Asks and scores; the result and the predictions of each data set."""
    task = ConfigDict(models=[model], datasets=[datasets], work_dir=str(folder))
    ToolEvalInferTask(task).run()
    ToolEvalEvalTask(task).run()
    read = []
    for dataset in datasets:
        texts = [
            (folder / part / model['abbr'] / f'{dataset["abbr"]}.json').read_text(encoding='utf-8')
            for part in ('results', 'predictions')
        ]
        read.append((json.loads(texts[0]), list(json.loads(texts[1]).values())))
    return read


def test_results_have_totals_and_cost(tiny_server: ModelServer, tmp_path: Path) -> None:
    datasets = [
        demo('tooleval_ultratool_demo_gen', 'tooleval_ultratool_en_datasets', 'tooleval-ultratool-tool_selection_en'),
        demo('tooleval_funcqa_demo_gen', 'tooleval_funcqa_datasets', 'tooleval-funcqa-one_hop-easytool'),
    ]
    model = ConfigDict(
        type=ToolEvalOpenAI, abbr='api', path='tiny', key='none', openai_api_base=tiny_server.url, retry=0,
        max_seq_len=8192, max_out_len=8, batch_size=4, prices=PRICES,
    )  # fmt: skip
    for dataset in datasets:
        dataset['infer_cfg']['inferencer']['max_out_len'] = 8
        dataset['reader_cfg']['test_range'] = '[:3]'
    for result, rows in run(tmp_path, model, datasets):
        usage = result['usage']
        assert usage['answers'] == {'all': len(rows), 'said': len(rows), 'counted': 0, 'unknown': 0}
        for name in ('prompt', 'completion'):
            values = [row['usage'][name] for row in rows]
            assert usage[name]['total'] == sum(values) > 0
            assert usage[name]['p50'] in values and usage[name]['p50'] <= usage[name]['p95'] <= max(values)
        expected = (usage['prompt']['total'] * 2 + usage['completion']['total'] * 8) / 1e6
        assert usage['cost']['total'] == pytest.approx(expected)
        assert usage['cost']['prices'] == PRICES
    rounds = [json.loads(row['prediction'])['rounds'] for row in rows]
    assert usage['tries'] == sum(map(len, rounds)) > len(rows)  # a dialogue's rounds count together


def test_a_local_model_has_counted_tokens_in_its_result(tiny_model: Path, tmp_path: Path) -> None:
    dataset = demo(
        'tooleval_ultratool_demo_gen', 'tooleval_ultratool_en_datasets', 'tooleval-ultratool-tool_selection_en'
    )
    dataset['infer_cfg']['inferencer']['max_out_len'] = 8
    model = ConfigDict(
        type=HuggingFacewithChatTemplate, abbr='hf', path=str(tiny_model), max_seq_len=8192, max_out_len=8,
        batch_size=4, prices={'input': 0, 'output': 1, 'cached': 0},
    )  # fmt: skip
    ((result, rows),) = run(tmp_path, model, [dataset])
    assert result['usage']['answers'] == {'all': len(rows), 'said': 0, 'counted': len(rows), 'unknown': 0}
    assert all(row['usage']['counted'] is True for row in rows)
    assert result['usage']['cost']['total'] == pytest.approx(result['usage']['completion']['total'] / 1e6)


def test_tries_of_what_failed_are_counted(canned_server: ModelServer) -> None:
    canned_server.reset('500@1-3')
    model = ToolEvalOpenAI(path='tiny', key='right', openai_api_base=canned_server.url, retry=2, backoff=0.01)
    (failed,) = ask(model, [make_conversation()], 6)
    assert (failed.reason, failed.usage) == ('infra:server', Usage(tries=3))
    assert summary_of([failed.usage]) == {
        'answers': {'all': 1, 'said': 0, 'counted': 0, 'unknown': 1},
        'tries': 3,
    }


def test_tools_and_calls_are_counted_where_the_server_says_nothing(tiny_model: Path) -> None:
    own = ToolEvalOpenAI(path='m', key='none', openai_api_base='http://127.0.0.1:1/v1', tokenizer_path=str(tiny_model))
    call = ToolCall('search', {'q': 'cats'})
    plain, offered = make_conversation(), make_conversation()
    offered.tools = ToolSet([ToolSchema('search', 'finds things', {'type': 'object', 'properties': {}})])
    own.generate_from_template = lambda *arguments, **options: [Answer('a'), Answer('a', calls=(call,))]
    without, with_tools = (answer.usage for answer in ask(own, [plain, offered], 6))
    assert without and with_tools and without.prompt and without.completion
    tools, calls = json.dumps(offered.tools.as_request()), 'a' + calls_text([call])
    assert with_tools.prompt == without.prompt + own.get_token_len(tools)
    assert with_tools.completion == len(own.tokenizer.encode(calls, add_special_tokens=False)) > without.completion


def test_seconds_are_those_of_the_exchange_without_the_wait_for_its_turn(
    canned_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def wait_for_a_turn() -> None:
        clock[0] += 1000

    model = ToolEvalOpenAI(path='tiny', key='right', openai_api_base=canned_server.url, max_seq_len=8192, retry=0)
    monkeypatch.setattr(model, 'acquire', wait_for_a_turn)
    monkeypatch.setattr(api_model, 'time', SimpleNamespace(monotonic=lambda: clock[0]))
    (answer,) = ask(model, [make_conversation()], 6)
    assert answer.usage is not None and answer.usage.seconds == 0.0
