"""The dialogues that make an instruction, on scripted answers: faults, retries, splitting, hostile replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.extras.preparing.generate import (
    TOO_LONG_TO_ASK,
    TRIES,
    Options,
    assemble,
    describe,
    exemplify,
    merge,
)
from opencompass_tooleval.extras.preparing.prompts import VARIANTS
from opencompass_tooleval.extras.preparing.reply import Description, read_description, read_example
from opencompass_tooleval.extras.preparing.split import Limit, split
from opencompass_tooleval.extras.preparing.validate import Flaw
from opencompass_tooleval.tool_docs.instruction import Example, Parameter
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from tests.run_alone import run_alone


def function(name: str, description: str, *required: Parameter) -> FunctionDoc:
    raw = {'name': name, 'description': description, 'required_parameters': [one.name for one in required]}
    return FunctionDoc(name, description, required, (Parameter('note', 'STRING'),), raw)


def tool(*functions: FunctionDoc) -> ToolDoc:
    raw = {'tool_name': 'Shop', 'tool_description': 'A shop. Best prices!', 'api_list': [one.raw for one in functions]}
    return ToolDoc('Shop', 'A shop. Best prices!', functions, raw)


DETAILS = function('Details', 'Get a product. Only for members.', Parameter('id', 'NUMBER', 'Its id. See web.', '7'))
SEARCH = function('Search', 'Find products.', Parameter('query', 'STRING'))
SHOP = tool(DETAILS, SEARCH)
LISTED = "'Shop' can sell. This tool has 2 APIs: 1. 'Details' can get a product. 2. 'Search' is to find products."
DESCRIBED = Description(LISTED, "'Shop' can sell.", {'Details': 'Get a product.', 'Search': 'Find products.'})

RIGHT = '{"Scenario": "if you want product 7", "Parameters": {"id": 7}}'
WRONG = {
    'missing_parameter': '{"Scenario": "s", "Parameters": {"note": "x"}}',
    'unknown_parameter': '{"Scenario": "s", "Parameters": {"id": 7, "colour": "red"}}',
    'wrong_type': '{"Scenario": "s", "Parameters": {"id": "seven"}}',
    'not_json': 'I would ask for product 7.',
    'not_an_example': '{"Scenario": "s"}',
    'no_scenario': '{"Scenario": "", "Parameters": {"id": 7}}',
    'unknown_function': f"One scenario for 'Search' of 'Shop' is: {RIGHT}",
    'not_json_value': '{"Scenario": "s", "Parameters": {"id": NaN}}',
}


def asked(dialogue: Dialogue[Any], answers: Sequence[str]) -> tuple[Any, list[str]]:
    """What a dialogue ends in, and the last message of each question."""
    questions = []
    turn = next(dialogue)
    for answer in answers:
        questions.append(turn.messages[-1].content)
        try:
            turn = dialogue.send(as_answer(answer))
        except StopIteration as end:
            assert len(questions) == len(answers)
            return end.value, questions
    raise AssertionError('it asks for more')


def test_right_at_once() -> None:
    example, (question,) = asked(exemplify(SHOP, DETAILS, DESCRIBED, Options()), [RIGHT])
    assert example == Example('if you want product 7', {'id': 7})
    assert "'Shop' can sell.\n'Details' in 'Shop' is to get a product.\n{" in question
    assert '{"name": "id", "type": "NUMBER", "description": "Its id. See web.", "default": "7"}' in question
    assert question.endswith("One scenario for 'Details' of 'Shop' is:")
    assert "'Search'" not in question


@pytest.mark.parametrize('code', WRONG)
def test_a_fault_is_named_and_fixed_or_listed(code: str) -> None:
    example, (_, second) = asked(exemplify(SHOP, DETAILS, DESCRIBED, Options()), [WRONG[code], RIGHT])
    assert isinstance(example, Example)
    named = {'unknown_function': "'Search'", 'missing_parameter': "'id' is missing", 'wrong_type': "not 'seven'"}
    assert named.get(code, '') in second and second.startswith('This cannot be used. ') and len(second) < 300
    fault = run_alone(exemplify(SHOP, DETAILS, DESCRIBED, Options()), [WRONG[code]] * TRIES)
    assert isinstance(fault, Flaw) and fault.code == f'example:{code}'
    made = assemble(SHOP, DESCRIBED, {'Details': fault, 'Search': Example('s', {'query': 'x'})})
    assert [(one.function, one.fault.code) for one in made.listed] == [('Details', f'example:{code}')]
    assert [one.example is None for one in made.instruction.functions] == [True, False]


@pytest.mark.parametrize(
    'reply',
    [
        f'<think>{{"Scenario": "no", "Parameters": {{}}}}</think>{RIGHT}',
        f'Sure!\n```json\n{RIGHT}\n```\nAsk for more.',
        f"One scenario for 'Details' of 'Shop' is: {RIGHT}.",
        f'{{}} and then: {RIGHT} {{"Scenario": "another", "Parameters": {{}}}}',
        RIGHT.replace('"', "'"),
    ],
)
def test_replies_are_read(reply: str) -> None:
    assert read_example(reply, 'Details') == Example('if you want product 7', {'id': 7})
    for name in ("User's posts", 'GET /movie/{movie_id}', '"x"'):  # quotes and braces are no other function
        assert read_example(f"One scenario for '{name}' of 'T' is: {RIGHT}", name) == read_example(RIGHT, name)


@pytest.mark.parametrize('variant', VARIANTS)
def test_description(variant: str) -> None:
    read, (question,) = asked(describe(SHOP, Options(variant)), [f'<think>hm</think>\n{LISTED}\n'])
    assert read == DESCRIBED and '"tool_description": "A shop. Best prices!"' in question
    assert merge(SHOP, [read]) == DESCRIBED  # the model's own words
    made = assemble(SHOP, merge(SHOP, [read]), dict.fromkeys(('Details', 'Search'), Example('s', {})))
    first = made.instruction.functions[0]
    assert made.instruction.description == LISTED and first.description == 'Get a product.' and not made.listed
    assert [(one.name, one.type, one.description, one.default) for one in first.required] == [
        ('id', 'NUMBER', 'Its id.', '7')
    ]


@pytest.mark.parametrize(
    ('reply', 'purpose', 'functions'),
    [
        ('Sells.\nThis tool has 1 multiple built-in functions:\n1. Details is to get', 'Sells.', {'Details': 'Get'}),
        ('In v. 1. It has:\n1. **Details**: gets\n2. `Search` - b', 'In v. 1.', {'Details': 'Gets', 'Search': 'B'}),
        ('Sells. 1. good 2. cheap', 'Sells. 1. good 2. cheap', {}),
        ('1) Details can get x', '', {'Details': 'Get x'}),
        ('```\nSells.\n```', 'Sells.', {}),
        ('Tool usage description: Sells.', 'Sells.', {}),
        ("Sells. 1. 'Shop' is good. 2. 'Search' can find", 'Sells.', {'Search': 'Find'}),
    ],
)
def test_lists_are_read(reply: str, purpose: str, functions: dict[str, str]) -> None:
    read = read_description(reply, ['Details', 'Search'], 'Shop')
    assert isinstance(read, Description)
    assert (read.purpose, read.functions) == (purpose, functions)


def test_lines_that_a_model_left_out_come_from_the_documentation() -> None:
    left_out = read_description("'Shop' can sell. It has: 1. 'Search' can find all", ['Details', 'Search'])
    assert isinstance(left_out, Description)
    merged = merge(SHOP, [left_out])
    assert merged.text == "'Shop' can sell. This tool has 2 APIs: 1. 'Details': Get a product. 2. 'Search': Find all"
    assert merged.fault is None


@pytest.mark.parametrize(
    ('reply', 'code', 'message'),
    [
        ('<think>and so on', 'empty', 'empty'),
        ('x' * 10_000, 'too_long', 'longer than 2500'),
        ("Sells. 1. 'Details' can get. 2. 'Buy' can buy.", 'unknown_function', "'Buy'"),
        ('sorry {', 'refusal', 'a refusal or an apology, and no description of the tool. It has a brace'),
        ("'Shop' can sell. {", 'bracket', 'without its counterpart'),
        ('This tool can be used by you.', 'unrelated', 'no word of the documentation'),
    ],
)
def test_a_bad_description_is_asked_for_again_and_then_listed(reply: str, code: str, message: str) -> None:
    read, (_, second) = asked(describe(SHOP, Options()), [reply, LISTED])
    assert read == DESCRIBED and message in second
    read = run_alone(describe(SHOP, Options()), [reply] * TRIES)
    made = assemble(SHOP, merge(SHOP, [read]), dict.fromkeys(('Details', 'Search'), Example('s', {})))
    assert [(one.function, one.fault.code) for one in made.listed] == [('', f'description:{code}')]
    assert made.instruction.description == template_instruction(SHOP).description


MANY = tool(*(function(f'f{number}', f'Does {number}. {"More words. " * 40}') for number in range(12)))


def says(part: ToolDoc) -> str:
    names = [one.name for one in part.functions]
    listed = ' '.join(f"{number}. '{name}' can do {name}" for number, name in enumerate(names, start=1))
    return f"'Shop' can sell. This tool has {len(names)} APIs: {listed}" if len(names) > 1 else "'Shop' can do more."


def test_long_documentation_is_split_by_function_and_merged_in_order() -> None:
    limit = Limit(3_800, len)
    parts = split(MANY, limit, 'paper')
    assert 1 < len(parts) < 12
    assert [one.name for part in parts for one in part.functions] == [f'f{number}' for number in range(12)]
    options = Options(limit=limit)
    described = []
    for part in parts:
        turn = next(describe(part, options))
        assert limit.fits(turn.messages) and json.dumps(part.functions[0].raw) in turn.messages[0].content
        described.append(run_alone(describe(part, options), [says(part)]))
    merged = merge(MANY, described)
    lines = ' '.join(f"{number + 1}. 'f{number}': Do f{number}" for number in range(12))
    assert merged.text == f"'Shop' can sell. This tool has 12 APIs: {lines}" and merged.fault is None
    assert merged.purpose == "'Shop' can sell." and list(merged.functions) == [f'f{number}' for number in range(12)]
    assert split(MANY, Limit(), 'paper') == [MANY] == split(MANY, Limit(100_000, len), 'paper')


def test_one_function_that_is_too_long_is_shown_shorter() -> None:
    long = tool(function('f', 'Does f. ' + 'More words. ' * 1_000), SEARCH)
    limit = Limit(3_800, len)
    parts = split(long, limit, 'paper')
    assert [[one.name for one in part.functions] for part in parts] == [['f'], ['Search']]
    (message,) = next(describe(parts[0], Options(limit=limit))).messages
    assert limit.fits([message])
    assert 'Does f. More words.' in message.content and '"required_parameters"' in message.content


def test_what_cannot_be_asked_is_listed() -> None:
    options = Options(limit=Limit(500, len))
    (part, *_) = split(SHOP, options.limit, 'paper')
    assert run_alone(describe(part, options), []).fault == TOO_LONG_TO_ASK
    assert run_alone(exemplify(SHOP, DETAILS, DESCRIBED, options), []) == TOO_LONG_TO_ASK


HOSTILE = {
    'import': '{"Scenario": "s", "Parameters": {"id": __import__("os").system("exit 1")}}',
    'import in text': '{"Scenario": "s", "Parameters": {"id": "__import__(\'os\').system(\'exit 1\')"}}',
    'power': '{"Scenario": "s", "Parameters": {"id": 9**9**9**9}}',
    'huge number': '{"Scenario": "s", "Parameters": {"id": ' + '9' * 100_000 + '}}',
    'deep': '{"Scenario": "s", "Parameters": {"id": ' + '[' * 150 + ']' * 150 + '}}',
    'infinity': '{"Scenario": "s", "Parameters": {"id": 1e999}}',
    'surrogate': '{"Scenario": "\\ud800", "Parameters": {"id": "\\ud800"}}',
    'keys': '{"Scenario": "s", "Parameters": {7: 7, None: 1}}',
    'not objects': '{"Scenario": {"a": 1}, "Parameters": [1]}',
    'numbers': ' '.join(f'{number}. a' for number in range(1, 20_000)),
    'colons': 'a' * 2_400 + ': 1. Details',
    'ten megabytes': 'x' * 10_000_000,
}


@pytest.mark.parametrize('name', HOSTILE)
def test_hostile_replies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('os.system', lambda command: pytest.fail(f'it ran {command}'))
    fault = run_alone(exemplify(SHOP, DETAILS, DESCRIBED, Options()), [HOSTILE[name]] * TRIES)
    dialogue = describe(SHOP, Options())
    next(dialogue)
    with pytest.raises(StopIteration) as end:
        for _ in range(TRIES):
            dialogue.send(as_answer(HOSTILE[name]))
    made = assemble(SHOP, merge(SHOP, [end.value.value]), {'Details': fault, 'Search': fault})
    assert isinstance(fault, Flaw) and fault.code.startswith('example:')
    assert len(dump_instructions([made.instruction]).encode('utf-8')) < 10_000
    assert all(len(one.fault.message) < 500 for one in made.listed)
