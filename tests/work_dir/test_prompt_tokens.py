"""work_dir/prompt_tokens: tokens of prompts, as servers report them, with a real tokenizer and by estimate."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import REPORTED, PromptTokens, summary_of
from opencompass_tooleval.work_dir.progress import run_counter
from opencompass_tooleval.work_dir.prompt_tokens import (
    ESTIMATE,
    choose_counter,
    count_prompts,
    estimate_tokens,
    prompt_texts,
    prompt_tokens,
)
from opencompass_tooleval.work_dir.work_dir import WorkDir


def predictions(*prompts: Any) -> list[dict[str, Any]]:
    return [{'origin_prompt': prompt, 'prediction': ''} for prompt in prompts]


@pytest.mark.parametrize(('text', 'expected'), [
    pytest.param('', 0, id='empty'),
    pytest.param('Use the tool_2, now!', 6, id='words and signs'),
    pytest.param('查询天气 abc', 5, id='Chinese characters'),
    pytest.param("{'a': 1}", 7, id='JSON'),
])  # fmt: skip
def test_estimate(text: str, expected: int) -> None:
    assert estimate_tokens([text]) == [expected]


def test_all_turns_count_in_every_shape_of_a_prompt() -> None:
    shapes = (
        'one two three',
        [{'role': 'SYSTEM', 'prompt': 'one two', 'content': 'one two'}, {'role': 'HUMAN', 'prompt': 'three'}],
        [{'role': 'user', 'content': 'one two three'}],
        ['one two', 'three'],
    )
    counter = choose_counter([None])
    assert counter.name == ESTIMATE
    assert count_prompts(predictions(*shapes), counter) == 3
    assert count_prompts(predictions('one', 'one two three', None), counter) == 2
    counter = choose_counter([])
    assert count_prompts([], counter) is None
    assert count_prompts(predictions(None, 7), counter) is None
    assert prompt_texts(None, [{'name': 'search'}]) == []


def test_a_shared_text_is_counted_once_and_counts_every_time() -> None:
    seen: list[str] = []
    counter = choose_counter([])

    def count(texts: Any) -> list[int]:
        seen.extend(texts)
        return counter.count(texts)

    prompts = [
        [{'role': 'SYSTEM', 'prompt': 'long system'}, {'role': 'HUMAN', 'prompt': f'turn {i}'}] for i in range(600)
    ]
    assert count_prompts(predictions(*prompts), type(counter)('x', count)) == 4
    assert len(seen) == len(set(seen)) == 601


def test_a_models_own_tokenizer(tiny_model: Path) -> None:
    from transformers import AutoTokenizer

    counter = choose_counter(['no/such-model', str(tiny_model)])
    assert counter.name == f'tokenizer {tiny_model.name}'
    texts = ['These APIs are at your disposal, one per line:', '你可以使用下列 API']
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    expected = [len(tokenizer(text, add_special_tokens=False)['input_ids']) for text in texts]
    assert counter.count(texts) == expected
    assert count_prompts(predictions(*texts), counter) == sum(expected) / 2


def test_tools_and_calls_are_counted_as_templates_write_them() -> None:
    calls = [{'role': 'assistant', 'content': None, 'tool_calls': [{'arguments': '{"城市": "罗马"}'}]}]
    tool = {'description': '查询天气'}
    (row,) = predictions(calls)
    texts = [json.dumps(part, ensure_ascii=False) for part in (calls[0]['tool_calls'], tool)]
    assert prompt_texts(calls, [tool]) == texts
    assert count_prompts([{**row, 'tools': [tool]}], choose_counter([])) == sum(estimate_tokens(texts))


ROWS = predictions('one two three', 'one')
OF_AGENTS = {'benchmark': 'agents', 'loop': 'react'}
REPORTED_TWICE = [Usage(90, 5, first_prompt=30), Usage(30, 5, first_prompt=10), None]


@pytest.mark.parametrize(('usages', 'provenance', 'expected'), [
    pytest.param(REPORTED_TWICE, OF_AGENTS, PromptTokens(20, 60, REPORTED), id='server'),
    pytest.param([], OF_AGENTS, PromptTokens(), id='agents without usage'),
    pytest.param([], {'benchmark': 'teval'}, PromptTokens(2, 2, ESTIMATE), id='no usage'),
    pytest.param([Usage(9, 1)], {'benchmark': 'teval'}, PromptTokens(9, 9, REPORTED), id='first prompt unknown'),
    pytest.param([Usage(9, 1)], OF_AGENTS, PromptTokens(None, 9, REPORTED), id='first prompt unknown, agents'),
    pytest.param([Usage(9, 1, first_prompt=9, counted=True, counter=ESTIMATE), Usage(3, 1, first_prompt=3)], {},
        PromptTokens(6, 6, f'{REPORTED}, {ESTIMATE}'), id='both'),
])  # fmt: skip
def test_the_tokens_of_a_task(usages: list[Usage | None], provenance: dict[str, str], expected: PromptTokens) -> None:
    result = {'usage': summary_of(usages), 'provenance': provenance}
    assert prompt_tokens(result, lambda: ROWS, partial(choose_counter, [])) == expected


@pytest.mark.parametrize('usage', [7, [], {'prompt': 5}, {'prompt': {'mean': 'x'}}, {'prompt': {'mean': -1}}])
def test_a_usage_that_cannot_be_read(usage: Any) -> None:
    result = {'usage': usage, 'provenance': 'x'}
    assert prompt_tokens(result, lambda: ROWS, partial(choose_counter, [])) == PromptTokens(2, 2, ESTIMATE)


def test_what_counts_is_in_the_config_of_the_run(tiny_model: Path, tmp_path: Path) -> None:
    config = tmp_path / 'configs' / 'a.py'
    config.parent.mkdir()
    models = f"models = [dict(abbr='m', path='nobody/has-this'), dict(abbr='t', tokenizer_path={str(tiny_model)!r})]\n"
    config.write_text(models)
    work = WorkDir(tmp_path)
    counter = f'tokenizer {tiny_model.name}'
    assert [run_counter(work, model).name for model in ('m', 't', 'other')] == [ESTIMATE, counter, ESTIMATE]
    config.write_text(f'{models}summarizer = dict(tokenizer={str(tiny_model)!r})\n')
    assert [run_counter(work, model).name for model in ('m', 'other')] == [counter, counter]
    config.write_text('import os\n')
    assert run_counter(work, 't').name == ESTIMATE
