"""models/literal_keys: keys in configs are warned of, once, and never shown."""

from __future__ import annotations

from typing import Any

import pytest
from opencompass.utils import get_logger

from opencompass_tooleval.models import preflight
from opencompass_tooleval.models.literal_keys import literal_keys

KEY = 'sk-abcdefgh'
OURS = 'opencompass_tooleval.models.openai_model.ToolEvalOpenAI'


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(preflight, '_told', set())
    monkeypatch.setattr(get_logger(), 'warning', said.append)
    return said


@pytest.mark.parametrize(('cfg', 'advice'), [
    (dict(type=OURS, key=KEY), '$OPENAI_API_KEY'),
    (dict(type='opencompass.models.OpenAISDK', key=['ENV', KEY]), '$OPENAI_API_KEY'),
    (dict(type='opencompass.models.ClaudeSDK', key=KEY), '$ANTHROPIC_API_KEY'),
    (dict(type='opencompass.models.GeminiSDK', key=KEY), '$GEMINI_API_KEY'),
    (dict(type='opencompass.models.ERNIEBot', key='ENV', secretkey=KEY), 'ERNIEBot reads no known variable'),
    (dict(type=OURS, openai_extra_kwargs=dict(extra_headers={'Authorization': f'Bearer {KEY}'})), '$OPENAI_API_KEY'),
    (dict(type=OURS, client=dict(default_headers={'X-Api-Key': KEY})), '$OPENAI_API_KEY'),
    (dict(key=KEY), 'reads no known variable'),
])  # fmt: skip
def test_a_key_is_warned_of_once(warnings: list[str], cfg: dict[str, Any], advice: str) -> None:
    preflight.tell(literal_keys({'models': [{**cfg, 'abbr': 'm'}, {**cfg, 'abbr': 'm'}]}))
    preflight.tell(literal_keys({'models': [{**cfg, 'abbr': 'm'}]}))
    (said,) = warnings
    assert said.startswith('model m: its key is in the config') and advice in said and KEY not in said


@pytest.mark.parametrize('key', ['ENV', 'EMPTY', '', None, ['ENV']])
def test_what_is_no_key_is_not(warnings: list[str], key: Any) -> None:
    hf = dict(type='opencompass.models.HuggingFace', path='x', tokenizer_kwargs=dict(pad_token='<pad>'))
    models = [dict(type=OURS, abbr='m', key=key, org='us', headers={'Accept': 'x'}), hf]
    preflight.tell(literal_keys({'models': models, 'datasets': [dict(abbr='d', reader_cfg=dict(key='answer'))]}))
    assert warnings == []


def test_judges_and_simulators_of_data_sets_have_keys_too(warnings: list[str]) -> None:
    model = dict(type=OURS, path='gpt', key=KEY)
    judged = dict(abbr='d', eval_cfg=dict(evaluator=dict(judge_cfg=model, judgements=None)))
    simulators = dict(model=model, cache='simulated.sqlite'), None
    agents = [dict(infer_cfg=dict(inferencer=dict(dialogues=dict(loop='react', simulator=one)))) for one in simulators]
    for datasets in ([judged, dict(judged, abbr='e')], agents):
        preflight.tell(literal_keys({'datasets': datasets}))
    assert [said.partition(': ')[0] for said in warnings] == ['judge gpt', 'simulator gpt']
    assert not any(KEY in said for said in warnings)
