"""The temperature of a data set, in the words of each kind of model."""

from __future__ import annotations

from typing import Any

import pytest
from opencompass.models import VLLM, HuggingFacewithChatTemplate, OpenAISDK, TurboMindModelwithChatTemplate
from opencompass.models.vllm_with_tf_above_v4_33 import VLLMwithChatTemplate

from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.sampling import sampling_options

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


class Deaf:
    def generate(self, inputs: list[str], max_out_len: int) -> list[str]:
        return inputs


def test_a_model_without_a_temperature() -> None:
    assert sampling_options(Deaf(), 0) == {}
    with pytest.raises(ValueError, match='Deaf takes no temperature'):
        sampling_options(Deaf(), 0.7)
