"""Parts of a request that a prompt lacks."""

from __future__ import annotations

import json

import pytest

from opencompass_tooleval.core.calls.prompt_parts import GENERATION, RESULTS, lost_parts

TAIL = '<|im_start|>assistant\n'


@pytest.mark.parametrize('last', ['And now?', 'assistant', '', '{"a": "b\\nc"}'])
@pytest.mark.parametrize('more', ['', '<think>\n', '<think>\n\n</think>\n\n'])
def test_a_generation_prompt_is_at_the_end(last: str, more: str) -> None:
    turns = (('user', 'How?'), ('assistant', 'So.'), ('user', last))
    messages = [{'role': role, 'content': content} for role, content in turns]
    prompt = ''.join(f'<|im_start|>{role}\n{content}<|im_end|>\n' for role, content in turns)
    assert lost_parts(prompt + TAIL + more, messages, [], TAIL) == []
    assert lost_parts(prompt, messages, [], TAIL) == ([GENERATION] if last else [])


def test_a_text_may_be_escaped_as_in_json() -> None:
    messages = [{'role': 'tool', 'content': 'Zeile 1\n第二行 "x"'}]
    for is_ascii in (True, False):
        shown = json.dumps({'content': messages[0]['content']}, ensure_ascii=is_ascii)
        assert lost_parts(f'<tool>{shown}</tool>', messages, []) == []
    assert lost_parts('<tool></tool>', messages, []) == [RESULTS]
