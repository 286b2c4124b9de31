"""sweep/prompt_tokens: tokens over predictions files, with a real tokenizer and by estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.sweep.prompt_tokens import ESTIMATE, choose_counter, count_prompts, estimate_tokens


def predictions(folder: Path, *prompts: Any, name: str = 'd.json') -> Path:
    rows = {str(i): {'origin_prompt': prompt, 'prediction': ''} for i, prompt in enumerate(prompts)}
    (folder / name).write_text(json.dumps(rows), encoding='utf-8')
    return folder / name


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        pytest.param('', 0, id='empty'),
        pytest.param('Use the tool_2, now!', 6, id='words and signs'),
        pytest.param('查询天气 abc', 5, id='Chinese characters'),
        pytest.param("{'a': 1}", 7, id='JSON'),
    ],
)
def test_estimate(text: str, expected: int) -> None:
    assert estimate_tokens([text]) == [expected]


def test_all_turns_count_in_every_shape_of_a_prompt(tmp_path: Path) -> None:
    shapes = (
        'one two three',
        [{'role': 'SYSTEM', 'prompt': 'one two', 'content': 'one two'}, {'role': 'HUMAN', 'prompt': 'three'}],
        [{'role': 'user', 'content': 'one two three'}],
        ['one two', 'three'],
    )
    counter = choose_counter([None])
    assert counter.name == ESTIMATE
    assert count_prompts([predictions(tmp_path, *shapes)], counter) == 3
    parts = [predictions(tmp_path, 'one', name='d_0.json'), predictions(tmp_path, 'one two three', name='d_1.json')]
    assert count_prompts(parts, counter) == 2


def test_files_without_prompts(tmp_path: Path) -> None:
    counter = choose_counter([])
    assert count_prompts([], counter) is None
    assert count_prompts([predictions(tmp_path, None, 7)], counter) is None


def test_a_shared_text_is_counted_once_and_counts_every_time(tmp_path: Path) -> None:
    seen: list[str] = []
    counter = choose_counter([])

    def count(texts: Any) -> list[int]:
        seen.extend(texts)
        return counter.count(texts)

    prompts = [
        [{'role': 'SYSTEM', 'prompt': 'long system'}, {'role': 'HUMAN', 'prompt': f'turn {i}'}] for i in range(600)
    ]
    assert count_prompts([predictions(tmp_path, *prompts)], type(counter)('x', count)) == 4
    assert len(seen) == len(set(seen)) == 601


def test_a_models_own_tokenizer(tiny_model: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    counter = choose_counter(['no/such-model', str(tiny_model)])
    assert counter.name == f'tokenizer {tiny_model.name}'
    texts = ['These APIs are at your disposal, one per line:', '你可以使用下列 API']
    own = AutoTokenizer.from_pretrained(tiny_model)
    expected = [len(own(text, add_special_tokens=False)['input_ids']) for text in texts]
    assert counter.count(texts) == expected
    assert count_prompts([predictions(tmp_path, *texts)], counter) == sum(expected) / 2


def test_tools_and_calls_are_counted_as_templates_write_them(tmp_path: Path) -> None:
    calls = [{'role': 'assistant', 'content': None, 'tool_calls': [{'arguments': '{"城市": "罗马"}'}]}]
    file = predictions(tmp_path, calls)
    rows = json.loads(file.read_text(encoding='utf-8'))
    rows['0']['tools'] = [{'description': '查询天气'}]
    file.write_text(json.dumps(rows), encoding='utf-8')
    texts = [
        json.dumps(calls[0]['tool_calls'], ensure_ascii=False),
        json.dumps(rows['0']['tools'][0], ensure_ascii=False),
    ]
    assert count_prompts([file], choose_counter([])) == sum(estimate_tokens(texts))
