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


def test_estimate() -> None:
    assert estimate_tokens(['', 'Use the tool_2, now!', '查询天气 abc', "{'a': 1}"]) == [0, 6, 5, 7]


def test_all_turns_count_in_every_shape_of_a_prompt() -> None:
    shapes = (
        'one two three',
        [{'role': 'SYSTEM', 'prompt': 'one two', 'content': 'one two'}, {'role': 'HUMAN', 'prompt': 'three'}],
        [{'role': 'user', 'content': 'one two three'}],
        ['one two', 'three'],
    )
    counter = choose_counter([None])
    assert counter.name == ESTIMATE
    for prompts, mean in ((shapes, 3), (('one', 'one two three', None), 2), ((), None), ((None, 7), None)):
        assert count_prompts(predictions(*prompts), counter) == mean
    assert prompt_texts(None, [{'name': 'search'}]) == []


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


UNKNOWN_FIRST = [Usage(9, 1)]
COUNTED = [Usage(9, 1, first_prompt=9, counted=True, counter=ESTIMATE), Usage(3, 1, first_prompt=3)]


@pytest.mark.parametrize(
    ('usages', 'provenance', 'expected'),
    [
        (REPORTED_TWICE, OF_AGENTS, PromptTokens(20, 60, REPORTED)),
        ([], OF_AGENTS, PromptTokens()),
        ([], {'benchmark': 'teval'}, PromptTokens(2, 2, ESTIMATE)),
        (UNKNOWN_FIRST, {'benchmark': 'teval'}, PromptTokens(9, 9, REPORTED)),
        (UNKNOWN_FIRST, OF_AGENTS, PromptTokens(None, 9, REPORTED)),
        (COUNTED, {}, PromptTokens(6, 6, f'{REPORTED}, {ESTIMATE}')),
        *((usage, 'x', PromptTokens(2, 2, ESTIMATE)) for usage in (7, {'prompt': 5}, {'prompt': {'mean': -1}})),
    ],
)
def test_the_tokens_of_a_task(usages: Any, provenance: Any, expected: PromptTokens) -> None:
    """A usage that cannot be read is none."""
    result = {'usage': summary_of(usages) if isinstance(usages, list) else usages, 'provenance': provenance}
    assert prompt_tokens(result, lambda: ROWS, partial(choose_counter, [])) == expected


def test_what_counts_is_in_the_config_of_the_run(tiny_model: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    config = tmp_path / 'configs' / 'a.py'
    config.parent.mkdir()
    models = f"models = [dict(abbr='m', path='nobody/has-this'), dict(abbr='t', tokenizer_path={str(tiny_model)!r})]\n"
    config.write_text(models)
    work, name = WorkDir(tmp_path), f'tokenizer {tiny_model.name}'
    assert [run_counter(work, model).name for model in ('m', 't', 'other')] == [ESTIMATE, name, ESTIMATE]
    texts = ['These APIs are at your disposal, one per line:', '你可以使用下列 API'] * 300
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    expected = [len(tokenizer(text, add_special_tokens=False)['input_ids']) for text in texts]
    assert run_counter(work, 't').count(texts) == expected
    assert count_prompts(predictions(*texts), run_counter(work, 't')) == sum(expected) / len(texts)
    config.write_text(f'{models}summarizer = dict(tokenizer={str(tiny_model)!r})\n')
    assert [run_counter(work, model).name for model in ('m', 'other')] == [name, name]
    config.write_text('import os\n')
    assert run_counter(work, 't').name == ESTIMATE
