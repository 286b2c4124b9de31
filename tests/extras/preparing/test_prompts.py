"""The prompts that make instructions: the paper's wording, and demonstrations that pass our own checks."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from opencompass_tooleval.extras.preparing.prompts import (
    DESCRIPTION_TASKS,
    GUIDELINE_EXAMPLES,
    GUIDELINE_TASKS,
    REST_EXAMPLES,
    VARIANTS,
    description_prompt,
    guideline_prompt,
)
from opencompass_tooleval.extras.preparing.reply import read_example
from opencompass_tooleval.extras.preparing.validate import check_example
from opencompass_tooleval.tool_docs.instruction import Parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from tests.instructions.shared_data import ROOT

PAPER = ROOT.parent / 'shared' / 'papers' / 'easytool.md'


def bare(text: str) -> str:
    return re.sub(r'[\s"]+', '', text)  # the paper lost line breaks, and a quotation mark in two of its prompts


@pytest.mark.skipif(not PAPER.is_file(), reason='the paper is not at ../shared/papers')
@pytest.mark.parametrize('variant', VARIANTS)
def test_wording_is_the_paper_s(variant: str) -> None:
    assert VARIANTS == ('paper', '1', '2', '3') == tuple(GUIDELINE_TASKS)
    text = PAPER.read_text(encoding='utf-8')
    listing = ''.join(text.partition('Listing 2:')[2].split('```')[1::2])  # a figure stands in the middle of prompt 2
    paper = bare(text if variant == 'paper' else listing)
    assert bare(DESCRIPTION_TASKS[variant]) in paper
    for line in GUIDELINE_TASKS[variant].split('\n'):
        assert bare(line) in paper


def test_description_prompt_in_whole() -> None:
    (message,) = description_prompt('paper', 'DOC', several=False)
    assert message.role == 'user'
    head, example, asked = message.content.split('\n\n')
    assert head.startswith('Your task is to create a concise') and head.endswith('\nHere is an example:')
    documentation, cue, description = example.split('\n')
    assert json.loads(documentation)['operationId'] and cue == 'Tool usage description:'
    assert description == "'/gardens/{garden_id}/plants' is a tool that can get the plants that grow in a garden."
    assert asked == 'DOC\nTool usage description:'
    (message,) = description_prompt('1', 'DOC', several=True)
    assert message.content.startswith('Your assignment involves developing')
    assert 'This tool has 2 multiple built-in functions:\n1. ' in message.content


def test_guideline_prompt_in_whole() -> None:
    (message,) = guideline_prompt('paper', 'T', 'F', "'T' can do.\n'F' is to do.", '{"required_parameters": []}', False)
    head, first, second, asked = message.content.split('\n\n')
    assert head.startswith('Your task is to create the scenario') and '"Parameters":{}}.\nHere is an example:' in head
    assert "One scenario for 'Plant Search' of 'Garden Planner' is:\n{" in first
    assert second.endswith('"Parameters": {}}')
    assert asked == "'T' can do.\n'F' is to do.\n{\"required_parameters\": []}\nOne scenario for 'F' of 'T' is:"
    (rest,) = guideline_prompt('3', '/x', 'GET /x', '', '', True)
    (other,) = guideline_prompt('3', '/x', 'x', '', '', False)
    assert '{"input": "GET /gardens/456/plants?colour=red"}' in rest.content and 'GET /gardens' not in other.content


@pytest.mark.parametrize('example', [*GUIDELINE_EXAMPLES, *REST_EXAMPLES], ids=lambda example: example[1])
def test_demonstrations_pass_the_check(example: tuple[str, str, str, str, str]) -> None:
    tool, name, _, parameters, answer = example
    listed: dict[str, list[dict[str, Any]]] = json.loads(parameters)
    groups: Any = (tuple(Parameter(p['name'], p['type']) for p in listed[key]) for key in listed)
    function = FunctionDoc(name, '', *groups)
    read = read_example(answer, name)
    assert not isinstance(read, list)
    assert check_example(ToolDoc(tool, '', (function,)), name, read) == []
