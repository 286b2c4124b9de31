"""Right answers of many families: the reference reading returns what they mean, and of a cut one nothing else."""

from __future__ import annotations

import json
import random
import re

import pytest

from opencompass_tooleval.core.calls.written.formats import FORMATS, NONE
from opencompass_tooleval.core.calls.written.reading import Reading, read_reference
from tests.core.written_answers import FAMILIES, WrittenAnswer, generate

COUNTS = [pytest.param(16, id='few'), pytest.param(800, id='20,000', marks=pytest.mark.long)]


def reading_of(answer: WrittenAnswer, raw: str) -> Reading:
    return read_reference(raw, answer.format_name, answer.tools, answer.opened_thoughts)


def as_json(name: str, arguments: object) -> str:
    """A call with the types of its values: 1 and true are equal otherwise."""
    return json.dumps([name, arguments], sort_keys=True)


def test_the_families_are_those_of_the_formats() -> None:
    without = {'granite-20b-fc', 'internlm'}  # their JSON is between other marks only
    assert {family.format_name for family in FAMILIES.values()} == set(FORMATS) - {NONE} - without
    assert 800 * len(FAMILIES) >= 20_000


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('family', FAMILIES)
def test_a_right_answer_is_read_as_it_is_meant(family: str, count: int) -> None:
    for answer in generate(family, 0, count):
        reading = reading_of(answer, answer.raw)
        found = [as_json(call.name, call.arguments) for call in reading.calls]
        assert found == [as_json(*call) for call in answer.calls], answer.raw
        parts = (reading.thoughts.strip(), reading.content.strip(), reading.is_unfinished)
        assert parts == (answer.thoughts, answer.content, False), answer.raw


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('family', FAMILIES)
def test_a_cut_answer_has_no_other_calls(family: str, count: int) -> None:
    """A call whose end is missing is unreadable, unless its arguments are whole."""
    draw = random.Random(0)
    for answer in generate(family, 1, count):
        if re.search(r'think>|THINK]|\[TOOL_CALLS]', as_json('', answer.calls)):
            continue  # in the text of a call without its end, these may begin something else
        reading = reading_of(answer, answer.raw[: draw.randrange(len(answer.raw))])
        readable = [as_json(c.name, c.arguments) for c in reading.calls if not isinstance(c.arguments, str)]
        assert readable == [as_json(*call) for call in answer.calls[: len(readable)]], answer.raw
