"""The sampling settings that rows have, and how a difference is told."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.core.scoring.sampling_settings import StoredAnswers, sampling_of, samplings


@pytest.mark.parametrize(('model', 'inferencer', 'settings'), [
    ({'path': 'gpt', 'key': 'sk-1', 'openai_api_base': 'http://a', 'max_out_len': 9, 'stream': True}, {}, {}),
    ({'path': 'gpt', 'temperature': 1e-6, 'gen_config': {'top_p': 0.9}}, {}, {}),
    ({'path': 'gpt', 'temperature': 0.6, 'gen_config': {'top_k': 1, 'top_p': 0.9}}, {}, {}),
    ({'path': 'gpt', 'generation_kwargs': {'do_sample': False, 'temperature': 0.6}}, {}, {}),
    ({'path': 'gpt'}, {'temperature': 0.7}, {'temperature': 0.7}),
    (
        {'path': 'gpt', 'openai_extra_kwargs': {'extra_body': {'top_k': 20, 'cache_salt': 'x'}, 'seed': 1}},
        {},
        {'seed': 1, 'top_k': 20},
    ),
    ({'path': 'gpt', 'extra_body': {'usage': {'include': True}, 'priority': 1, 'n': 1, 'use_cache': True}}, {}, {}),
    ({'path': 'gpt', 'repetition_penalty': 1.5}, {}, {'repetition_penalty': 1.5}),
    ({'path': 'gpt', 'thoughts': 'none', 'tool_choice': 'auto'}, {}, {'thoughts': 'none'}),
    (
        {
            'path': 'gpt', 'max_workers': 9, 'timeout': 5,
            'openai_extra_kwargs': {'verbosity': 'low', 'user': 'me', 'extra_headers': {'X-Auth': 'sk-0123456789'}},
            'extra_body': {
                'thinking_budget': 64, 'provider': {'order': ['a'], 'api_key': 'sk-0123456789'}, 'max_tokens': 5,
                'metadata': {'run': 1}, 'service_tier': 'flex', 'store': True, 'prompt_cache_key': 'k', 'stop': None,
            },
            'generation_kwargs': {'guided_decoding': 'x', 'max_new_tokens': 9},
        },
        {},
        {
            'verbosity': 'low', 'thinking_budget': 64, 'guided_decoding': 'x',
            'provider': {'api_key': '[key]', 'order': ['a']},
        },
    ),
])  # fmt: skip
def test_what_changes_answers(model: dict[str, Any], inferencer: dict[str, Any], settings: dict[str, Any]) -> None:
    assert sampling_of(model, inferencer) == {'path': 'gpt', **settings}


def test_what_is_stored_and_told_is_bounded() -> None:
    first, second = (
        sampling_of({'path': f'/home/me/{step}/hf', 'system_prompt': 'secret ' * 99 + step}, {}) for step in ('a', 'b')
    )
    assert 'home' not in str(first) and first['path'].startswith('hf #') and len(first['system_prompt']) < 40
    assert first['path'] != second['path'] and first['system_prompt'] != second['system_prompt']
    assert sampling_of({'path': '/home/me/a/hf/'}, {})['path'].startswith('hf #')
    stored = StoredAnswers.of({'path': 'm', 'temperature': 0.7}, {})
    assert stored.difference({'sampling': {'path': 'm'}}) == 'temperature not set, now 0.7'
    assert stored.difference({'sampling': stored.sampling}) == ''
    of_tomorrow = StoredAnswers.of({'path': 'm', 'extra_body': {'depth': 'deep'}}, {})
    assert of_tomorrow.difference({'sampling': {'path': 'm', 'verbosity': 'low'}}) == (
        'depth not set, now "deep", verbosity "low", now not set'
    )
    for unknown in ({}, {'sampling': None}, {'sampling': 'text'}):  # of earlier versions, or of somebody else
        assert stored.difference(unknown) == ''
    assert len(stored.difference({'sampling': {'path': 'x' * 10_000, 'more': ['y'] * 10_000}})) < 200
    with pytest.raises(ValueError, match="stored_answers is 'yes', and must be 'keep' or 'ask'"):
        StoredAnswers.of({'stored_answers': 'yes'}, {})
    rows: list[dict[str, Any]] = [{'sampling': {'seed': 1}}, {'sampling': {'seed': 1}}, {'sampling': {}}, {}]
    assert samplings(rows) == [{'seed': 1}, {}]
