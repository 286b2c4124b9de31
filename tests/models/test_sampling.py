"""The temperature of a data set, in the words of each kind of model; and models that answer the same in every trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opencompass.models import VLLM, HuggingFacewithChatTemplate, OpenAISDK, TurboMindModelwithChatTemplate
from opencompass.models.vllm_with_tf_above_v4_33 import VLLMwithChatTemplate

from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.sampling import sampling_options, sampling_view
from opencompass_tooleval.tasks.infer_task import why_same_answers
from tests.conftest import ModelServer
from tests.models.test_wrappers import make_conversation

SAMPLED = {'temperature': 0.7}


def bare(kind: type, **settings: Any) -> Any:
    """A model of OpenCompass without its weights."""
    model = object.__new__(kind)
    vars(model).update(settings)
    return model


@pytest.mark.parametrize(('kind', 'greedy', 'sampled'), [
    (HuggingFacewithChatTemplate, {'do_sample': False}, {'do_sample': True, **SAMPLED}),
    (VLLMwithChatTemplate, {'temperature': 0}, SAMPLED),
    (VLLM, {'temperature': 0}, SAMPLED),
    (TurboMindModelwithChatTemplate, {'temperature': 0, 'do_sample': False}, {'do_sample': True, **SAMPLED}),
    (OpenAISDK, {'temperature': 0}, SAMPLED),
    (ToolEvalOpenAI, {'temperature': 0}, SAMPLED),
    (OracleModel, {'temperature': 0}, SAMPLED),
])  # fmt: skip
def test_each_model_is_told_in_its_words(kind: type, greedy: dict[str, Any], sampled: dict[str, Any]) -> None:
    model = bare(kind, generation_kwargs={}, temperature=None)
    assert sampling_options(model, None) == {}
    assert sampling_options(model, 0) == greedy
    assert sampling_options(model, 0.7) == sampled


@pytest.mark.parametrize('model', [
    bare(ToolEvalOpenAI, temperature=0.2),
    bare(HuggingFacewithChatTemplate, generation_kwargs={'do_sample': True, 'temperature': 0.2}),
])  # fmt: skip
def test_two_temperatures_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r'config sets temperature 0.2, the data set 0.7'):
        sampling_options(model, 0.7)
    assert sampling_options(model, 0.2)['temperature'] == 0.2


def test_openai_sdk_ignores_the_argument_and_is_asked_through_a_view(
    echo_server: ModelServer, tiny_model: Path
) -> None:
    settings = {'openai_api_base': echo_server.url, 'tokenizer_path': str(tiny_model), 'max_seq_len': 8192}
    sdk = OpenAISDK(path='tiny', key='none', retry=1, **settings)
    (answer,) = ask(sampling_view(sdk, 0.7), [make_conversation()], 6, sampling_options(sdk, 0.7))
    assert json.loads(answer.text)['temperature'] == 0.7 and sdk.temperature is None


class Deaf:
    def generate(self, inputs: list[str], max_out_len: int) -> list[str]:
        return inputs


def test_a_model_without_a_temperature() -> None:
    assert sampling_options(Deaf(), 0) == {}
    with pytest.raises(ValueError, match='Deaf takes no temperature'):
        sampling_options(Deaf(), 0.7)


GREEDY = 'it decodes greedily, since do_sample is not set'
COLD = 'it samples at temperature 0'
SEEDED = 'it samples with seed=7 each time'


def made(kind: type, **settings: Any) -> Any:
    return bare(kind, **{'path': 'm', 'temperature': None, 'generation_kwargs': {}, 'gen_config': {}, **settings})


@pytest.mark.parametrize(('model', 'unset', 'at_0', 'at_1'), [
    (made(ToolEvalOpenAI), COLD, COLD, ''),
    (made(ToolEvalOpenAI, temperature=0.7), '', COLD, ''),
    (made(ToolEvalOpenAI, openai_extra_kwargs={'temperature': 0.6}), '', '', ''),
    (made(ToolEvalOpenAI, path='o3-mini'), '', '', ''),
    (made(ToolEvalOpenAI, temperature=1, openai_extra_kwargs={'seed': 7}), SEEDED, SEEDED, SEEDED),
    (made(OpenAISDK), '', COLD, ''),
    (made(HuggingFacewithChatTemplate, generation_kwargs={'temperature': 0.7}), GREEDY, GREEDY, ''),
    (made(HuggingFacewithChatTemplate, generation_kwargs={'do_sample': True, 'temperature': 1}), '', GREEDY, ''),
    (made(VLLMwithChatTemplate), COLD, COLD, ''),
    (made(VLLMwithChatTemplate, generation_kwargs={'temperature': 1, 'seed': 7}), SEEDED, SEEDED, SEEDED),
    (made(VLLM), '', COLD, ''),
    (made(TurboMindModelwithChatTemplate), GREEDY, GREEDY, ''),
    (made(TurboMindModelwithChatTemplate, gen_config={'do_sample': True}), '', GREEDY, ''),
    (made(OracleModel), '', COLD, ''),
])  # fmt: skip
def test_which_models_answer_the_same(model: Any, unset: str, at_0: str, at_1: str) -> None:
    assert (why_same_answers(model), why_same_answers(model, 0), why_same_answers(model, 1.0)) == (unset, at_0, at_1)
