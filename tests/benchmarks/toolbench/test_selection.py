"""Candidate tools, and scores of choices."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import Choice, parse_choice
from opencompass_tooleval.benchmarks.toolbench.prompts import (
    PUBLISHED_SELECTION,
    PUBLISHED_SYSTEM,
    choose,
    make_choices,
    match_instructions,
    open_tools,
    published_selection,
    rank_others,
    selection_prompt,
)
from opencompass_tooleval.benchmarks.toolbench.scoring import (
    score_choice,
)
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.template import template_instruction
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.support import digest
from tests.benchmarks.toolbench.support import DEMO, Words, demo
from tests.instructions.shared_data import DATA, real

SIZES = (5, 10, 20, 50)


def choices(file: Path, size: int, seed: int = 0) -> list[Choice]:
    return make_choices(open_tools(file, 'G1'), size, seed, Words())


def test_those_most_like_the_request_come_first() -> None:
    tools = ['a', 'b', 'c', 'd']
    texts = ['red', 'red green', 'blue', 'red']
    assert rank_others(['red', 'blue sky'], ['b', 'a'], tools, texts, Words()) == [['a', 'd', 'c'], ['c', 'b', 'd']]


def test_sets_are_nested_and_the_same_each_time() -> None:
    file = real('toolbench/G1_instruction.json')
    by_size = {size: choices(file, size) for size in SIZES}
    assert all(len(made) == 163 for made in by_size.values())
    for smaller, larger in pairwise(SIZES):
        for few, many in zip(by_size[smaller], by_size[larger], strict=True):
            assert len(set(few.candidates)) == smaller
            assert set(few.candidates) < set(many.candidates)
            assert few.gold in few.candidates
    assert choices(file, 20) == by_size[20]
    other = choices(file, 20, seed=1)
    assert [sorted(choice.candidates) for choice in other] == [sorted(choice.candidates) for choice in by_size[20]]
    assert [choice.candidates for choice in other] != [choice.candidates for choice in by_size[20]]


def test_the_place_says_nothing_of_the_right_tool() -> None:
    others = [f'other {i}' for i in range(9)]
    places = [choose('gold', others, 5, f'0/{record}').index('gold') for record in range(1000)]
    assert all(150 < places.count(place) < 250 for place in range(5))


def test_too_few_tools() -> None:
    with pytest.raises(DataError, match=r'G1_instruction.json.*10 candidates need as many tools, but there are 7'):
        choices(DEMO / 'G1_instruction.json', 10)
    with pytest.raises(DataError, match='no request needs only a single tool'):
        make_choices(open_tools(DEMO / 'G2_category.json', 'G2'), 5, 0, Words())


def test_both_variants_ask_the_same_with_other_words() -> None:
    file, instructions = DEMO / 'G1_instruction.json', DEMO / 'instructions.json'
    documented, instructed = open_tools(file, 'G1'), open_tools(file, 'G1', instructions)
    assert make_choices(documented, 5, 0, Words()) == make_choices(instructed, 5, 0, Words())
    choice = choices(file, 5)[1]
    before, after = (
        selection_prompt(map(of.described, choice.candidates), choice.query) for of in (documented, instructed)
    )
    for prompt in (before, after):
        assert choice.query in prompt and '5 tools' in prompt
        assert all(f'{name}: ' in prompt or f'{name}\n' in prompt for name in choice.candidates)
    assert 'Rate limit' in before and 'Rate limit' not in after
    assert documented.provenance['tools'] == 'documentation'
    assert set(instructed.provenance) - set(documented.provenance) == {'instructions', 'instructions_sha256'}


def test_tools_without_instruction_are_listed(tmp_path: Path) -> None:
    entries = json.loads((DEMO / 'instructions.json').read_text(encoding='utf-8'))
    del entries[0]
    del entries[1]['tool_guidelines']['Convert']
    file = tmp_path / 'instructions.json'
    file.write_text(json.dumps(entries), encoding='utf-8')
    with pytest.raises(DataError, match=r'2 tools or APIs have no instruction: Harbour Tides, Coin Press: Conv.*FIX'):
        match_instructions(file, demo('G1').tools, 'FIX')


CHOICE = Choice('r', 'a request', 'Loaf Finder', ('Verse Box ', 'Loaf Finder', 'C++ Runner', '{"a": 1}', 'Coin  Press'))


@pytest.mark.parametrize(
    ('answer', 'parse_method'),
    [
        ('{"tool": "Loaf Finder"}', 'literal'),
        ("{'tool': 'Loaf Finder'}", 'literal'),
        ('{"tool": "Loaf Finder", "sure": true}', 'json'),
        ('[{"tool": " Loaf  Finder "}]', 'literal'),
        ('```json\n{"tool": "Loaf Finder"}\n```', 'fence'),
        ('Not {"tool": "Coin Press"}, but {"tool": "Loaf Finder"} since it bakes [sic].', 'prose'),
        ('**Loaf Finder**.', 'bare'),
        ('<think>{"tool": "Coin Press"}</think>{"tool": "Loaf Finder"}', 'literal'),
        ({'tool': 'Loaf Finder'}, 'value'),
    ],
)
def test_right(answer: Any, parse_method: str) -> None:
    score = score_choice(CHOICE, answer)
    assert score.values == {'accuracy': 1.0, 'tool_name_error_rate': 0.0}
    assert (score.reason, score.parse_method) == ('ok', parse_method)
    assert score.parsed == score.gold == 'Loaf Finder'


@pytest.mark.parametrize(
    ('answer', 'reason', 'unknown'),
    [
        ('{"tool": "Verse Box"}', 'name:wrong', 0.0),
        ('C++ Runner', 'name:wrong', 0.0),
        ('{"tool": "loaf finder"}', 'name:unknown_tool', 1.0),  # names are to be written exactly as they are shown
        ('{"tool": "Loaf Finder, Coin Press"}', 'name:unknown_tool', 1.0),
        ('["Loaf Finder", "Coin Press"]', 'parse:no_choice', 0.0),  # all of them is no choice
        ('I cannot help.', 'answer:refused', 0.0),
        ('{"tool": ""}', 'parse:no_choice', 0.0),
        ('', 'answer:empty', 0.0),
        ('<think>Loaf Finder', 'answer:truncated_reasoning', 0.0),
        (Answer('', 'infra:timeout'), 'infra:timeout', 0.0),
    ],
)
def test_wrong(answer: Any, reason: str, unknown: float) -> None:
    score = score_choice(CHOICE, answer)
    assert score.values == {'accuracy': 0.0, 'tool_name_error_rate': unknown}
    assert score.reason == reason


def test_the_oracle_is_always_right() -> None:
    made = choices(real('toolbench/G1_instruction.json'), 50)
    assert [parse_choice(choice.to_payload()) for choice in made] == made
    assert {score_choice(choice, choice.gold_answer).reason for choice in made} == {'ok'}


def test_hostile() -> None:
    for text in HOSTILE.values():
        score = score_choice(CHOICE, text)
        assert score.values['accuracy'] == 0.0
        assert score.reason.split(':')[0] in {'parse', 'answer', 'name'}
        for scored in (score, score_choice(numbered(), text)):
            json.dumps(scored.to_detail(), allow_nan=False).encode('utf-8')


def numbered(**changes: Any) -> Choice:
    return Choice(**{'id': 'r', 'query': 'q', 'gold': 'B', 'candidates': ('A', 'B'), 'ids': (7, 12), **changes})


@pytest.mark.parametrize(
    ('answer', 'reason', 'parsed'),
    [
        ('{"ID": 12}', 'ok', 'B'),
        ('I take the second.\n\n  {"ID": 12}\n', 'ok', 'B'),
        ('{"ID": 7}', 'name:wrong', 'A'),
        ('{"ID": 99}', 'name:unknown_tool', 'ID 99'),
        ('{"ID": [12]}', 'name:unknown_tool', 'ID [12]'),
        ('{"id": 12}', 'id:missing', None),
        ('{"ID": 12}\n\nThis is it.', 'parse:not_json', None),
        ('```\n{"ID": 12}\n```', 'parse:not_json', None),
        ('{"ID": null}', 'parse:not_a_literal', None),
        ('', 'answer:empty', None),
        (Answer('', 'infra:timeout'), 'infra:timeout', None),
    ],
)
def test_choices_by_number(answer: str, reason: str, parsed: str | None) -> None:
    score = score_choice(numbered(), answer)
    assert (score.reason, score.parsed) == (reason, parsed)
    assert score.values == {
        'accuracy': float(reason == 'ok'),
        'tool_name_error_rate': float(reason == 'name:unknown_tool'),
    }


def test_the_prompt_by_number_is_the_published_one() -> None:
    """The digest is that of ``toolbench.choose_tool`` in ``expected/easytool/prompts.json``, both its messages."""
    filled = PUBLISHED_SELECTION.format(tools='{Too_list}', query='{question}')
    assert digest(f'{PUBLISHED_SYSTEM}\n{filled}') == '417769c72e234b2d'
    expected = DATA.parent / 'expected' / 'easytool' / 'prompts.json'
    if expected.exists():
        for script in ('toolbench', 'toolbench_retrieve'):
            system, human = json.loads(expected.read_text(encoding='utf-8'))[script]['choose_tool']
            assert (system, human.replace('{{', '{').replace('}}', '}')) == (PUBLISHED_SYSTEM, filled)
    text = published_selection([(7, 'Sells {bread}.'), (12, 'Bakes.')], 'Who?')[1].content
    assert 'Tool List:\nID: 7\nSells {bread}.\nID: 12\nBakes.\n\nPlease note' in text


def test_numbers_are_those_of_the_instructions_or_of_the_file(tmp_path: Path) -> None:
    data = DEMO / 'G1_instruction.json'
    documented = open_tools(data, 'G1')
    choice = documented.numbered(make_choices(documented, 5, 0, Words())[0])
    places = {name: place for place, name in enumerate(documented.data.tools, start=1)}
    assert list(choice.ids) == [places[name] for name in choice.candidates]
    assert parse_choice(choice.to_payload()) == choice
    assert score_choice(choice, choice.gold_answer).reason == 'ok'
    tools = [replace(template_instruction(doc), id=100 + n) for n, doc in enumerate(documented.data.tools.values())]
    (tmp_path / 'tools.json').write_text(dump_instructions(tools), encoding='utf-8')
    instructed = open_tools(data, 'G1', tmp_path / 'tools.json')
    again = instructed.numbered(make_choices(instructed, 5, 0, Words())[0])
    assert list(again.ids) == [99 + place for place in choice.ids] and again.candidates == choice.candidates
    instruction = template_instruction(documented.data.tools[choice.gold])
    assert instructed.described_alone(choice.gold) == instruction.description
