"""models/same_answers: models that answer the same in every trial, each in its own words."""

from __future__ import annotations

from typing import Any

import pytest
from opencompass.models import VLLM, HuggingFacewithChatTemplate, OpenAISDK, TurboMindModelwithChatTemplate
from opencompass.models.vllm_with_tf_above_v4_33 import VLLMwithChatTemplate

from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.models.same_answers import why_same_answers
from tests.models.test_sampling import bare

GREEDY = 'it decodes greedily, since do_sample is not set'
COLD = 'it samples at temperature 0'


def made(kind: type, **settings: Any) -> Any:
    return bare(kind, **{'path': 'm', 'temperature': None, 'generation_kwargs': {}, 'gen_config': {}, **settings})


@pytest.mark.parametrize(('model', 'unset', 'at_0', 'at_1'), [
    (made(ToolEvalOpenAI), COLD, COLD, ''),
    (made(ToolEvalOpenAI, temperature=0.0), COLD, COLD, ''),
    (made(ToolEvalOpenAI, temperature=0.7), '', COLD, ''),
    (made(ToolEvalOpenAI, openai_extra_kwargs={'temperature': 0.6}), '', '', ''),
    (made(ToolEvalOpenAI, path='o3-mini'), '', '', ''),
    (made(OpenAISDK), '', COLD, ''),
    (made(HuggingFacewithChatTemplate), GREEDY, GREEDY, ''),
    (made(HuggingFacewithChatTemplate, generation_kwargs={'temperature': 0.7}), GREEDY, GREEDY, ''),
    (made(HuggingFacewithChatTemplate, generation_kwargs={'do_sample': True, 'temperature': 1}), '', GREEDY, ''),
    (made(VLLMwithChatTemplate), COLD, COLD, ''),
    (made(VLLMwithChatTemplate, generation_kwargs={'temperature': 0.7}), '', COLD, ''),
    (made(VLLM), '', COLD, ''),
    (made(TurboMindModelwithChatTemplate), GREEDY, GREEDY, ''),
    (made(TurboMindModelwithChatTemplate, gen_config={'do_sample': True}), '', GREEDY, ''),
    (made(OracleModel), '', COLD, ''),
])  # fmt: skip
def test_which_models_answer_the_same(model: Any, unset: str, at_0: str, at_1: str) -> None:
    assert (why_same_answers(model), why_same_answers(model, 0), why_same_answers(model, 1.0)) == (unset, at_0, at_1)


@pytest.mark.parametrize('model', [
    made(ToolEvalOpenAI, temperature=1, openai_extra_kwargs={'seed': 7}),
    made(VLLMwithChatTemplate, generation_kwargs={'temperature': 1, 'seed': 7}),
])  # fmt: skip
def test_a_seed_is_the_same_for_each(model: Any) -> None:
    assert why_same_answers(model, 1.0) == 'it samples with seed=7 each time'
