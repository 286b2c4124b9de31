"""Prompts that make instructions: Table 2 of the paper, and the three wordings of its Appendix C.

The paper shows the frame and the task, but not its demonstrations. Our demonstrations have the paper's formats (Table 2
and Tables 7 to 10), with tools that occur in no benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.text.jsonable import MAX_CHARS

PAPER = 'paper'

DESCRIPTION_TASKS = MappingProxyType({
    PAPER: 'Your task is to create a concise and effective tool usage description based on the tool documentation. You should ensure the description only contains the purposes of the tool without irrelevant information.',
    '1': "Your assignment involves developing a succinct and practical description on using a specific tool, as outlined in its documentation. This description should focus solely on the tool's functions, excluding any extraneous details.",
    '2': "Your assignment involves crafting a succinct and practical description of a tool, using its documentation as a reference. Focus on outlining the tool's functions, excluding any extraneous details.",
    '3': "Your assignment involves writing a succinct and clear description of a tool's usage, guided by its documentation. This description should exclusively focus on the tool's functions, omitting any extraneous details.",
})  # fmt: skip
"""Variant -> task of stage I: Table 2 (``paper``), and prompts 1 to 3 of Appendix C."""

GUIDELINE_TASKS = MappingProxyType({
    PAPER: """Your task is to create the scenario that will use the tool.
1. You are given a tool with its purpose and its parameters list. The scenario should adopt the parameters in the list.
2. If the parameters are null, you should set: {"Scenario": XX, "Parameters":{}}.""",
    '1': """Create a scenario that incorporates the use of a specified tool, ensuring it utilizes the provided parameters. Receive a description of a tool, including its purpose and a list of parameters. Design a scenario that effectively employs these parameters.
If both "required_parameters" and "optional_parameters" are absent, format your response as:
{"Scenario": XX, "Parameters": {}}.""",
    '2': """Your assignment involves developing a scenario that utilizes a specified tool. Here are the guidelines:
You will receive information about a tool, including its intended use and a list of parameters. Your scenario should incorporate these parameters.
In cases where both "required_parameters" and "optional_parameters" are absent, format your response as follows:
{"Scenario": XX, "Parameters": {}}.""",
    '3': """Your assignment involves crafting a scenario that utilizes a specific tool. Here's how to proceed:
First, familiarize yourself with the tool's intended use and its available parameters. Then, design a scenario that effectively incorporates these parameters.
In cases where both "required_parameters" and "optional_parameters" are absent, format your response as follows:
{"Scenario": XX, "Parameters": {}}.""",
})  # fmt: skip
"""Variant -> task of stage II."""

VARIANTS = tuple(DESCRIPTION_TASKS)

EXAMPLE_LABEL = 'Here is an example:'
DESCRIPTION_CUE = 'Tool usage description:'
GUIDELINE_CUE = "One scenario for '{function}' of '{tool}' is:"

DESCRIPTION_EXAMPLES = (
    (
        {
            'product_id': 'api_58c1e07b-2d4f-4a7e-9b60-d1f0a8e6c3b2',
            'tool_description': 'The BEST garden API on the market!! Questions? Write to us, we answer within 24 hours.',
            'home_url': 'https://garden-planner.example/api',
            'pricing': 'FREEMIUM',
            'tool_name': 'Garden Planner',
            'api_list': [
                {
                    'name': 'Plant Search',
                    'url': 'https://garden-planner.example/plants',
                    'description': 'Search plants by name. Needs v2 of the service; see https://garden-planner.example/docs for terms.',
                    'method': 'GET',
                    'required_parameters': [
                        {'name': 'name', 'type': 'STRING', 'description': 'Name of the plant, or a part of it', 'default': 'tomato'}
                    ],
                    'optional_parameters': [{'name': 'limit', 'type': 'NUMBER', 'description': '', 'default': ''}],
                },
                {
                    'name': 'frostDates',
                    'url': 'https://garden-planner.example/frost',
                    'description': 'the first and last day of frost of every region we cover',
                    'method': 'GET',
                    'required_parameters': [],
                    'optional_parameters': [],
                },
            ],
        },
        """'Garden Planner' is a tool that can search for plants and look up dates of frost.
This tool has 2 multiple built-in functions:
1. 'Plant Search' is to search for plants by their name.
2. 'frostDates' is to get the first and last day of frost of every region.""",
    ),
    (
        {
            'path': '/gardens/{garden_id}/plants',
            'method': 'GET',
            'operationId': 'GET_gardens-garden_id-plants',
            'summary': 'Get Plants',
            'description': 'Get the plants that grow in a garden. Added in version 2.',
            'parameters': [{'name': 'garden_id', 'in': 'path', 'required': True, 'schema': {'type': 'integer'}}],
            'responses': {'200': {'description': ''}, '401': {'description': 'Invalid API key.'}},
        },
        "'/gardens/{garden_id}/plants' is a tool that can get the plants that grow in a garden.",
    ),
)  # fmt: skip
"""Documentation and description of two tools: one with several functions, one with a single function."""

_PLANNER = "'Garden Planner' is a tool that can search for plants and look up dates of frost."
_EMPTY = '{"required_parameters": [], "optional_parameters": []}'

GUIDELINE_EXAMPLES = (
    (
        'Garden Planner',
        'Plant Search',
        f"{_PLANNER}\n'Plant Search' is to search for plants by their name.",
        '{"required_parameters": [{"name": "name", "type": "STRING", "description": "Name of the plant, or a part of it", "default": "tomato"}], "optional_parameters": [{"name": "limit", "type": "NUMBER"}]}',
        '{"Scenario": "if you want to search for at most 5 plants with \'tomato\' in their name", "Parameters": {"name": "tomato", "limit": 5}}',
    ),
    (
        'Garden Planner',
        'frostDates',
        f"{_PLANNER}\n'frostDates' is to get the first and last day of frost of every region.",
        _EMPTY,
        '{"Scenario": "if you want to know the days of frost of all regions", "Parameters": {}}',
    ),
)  # fmt: skip
"""Tool, function, purpose, parameters and answer: one function with parameters and one without."""

REST_EXAMPLES = (
    (
        '/gardens/{garden_id}/plants',
        'GET /gardens/{garden_id}/plants',
        "'/gardens/{garden_id}/plants' is a tool that can get the plants that grow in a garden.",
        '{"required_parameters": [{"name": "garden_id", "type": "integer"}], "optional_parameters": [{"name": "colour", "type": "string"}]}',
        '{"Scenario": "if you want to get the red plants of the garden with garden_id 456", "Parameters": {"input": "GET /gardens/456/plants?colour=red"}}',
    ),
    (
        '/plants/latest',
        'GET /plants/latest',
        "'/plants/latest' is a tool that can get the plant that was added last.",
        _EMPTY,
        '{"Scenario": "if you want to get the plant that was added last", "Parameters": {"input": "GET /plants/latest"}}',
    ),
)  # fmt: skip
"""The same for functions named by method and path (Table 9)."""

DESCRIPTION_FORM = 'Write the tool usage description only.'
GUIDELINE_FORM = 'Answer with one JSON object only: {"Scenario": XX, "Parameters": {XX: XX}}.'
AGAIN = 'This cannot be used. {faults} {form}'

_MOST_FAULTS = 1_000
"""Maximum length of the listed errors, which may name all functions of a tool."""


def _frame(task: str, examples: Sequence[str], asked: str) -> str:
    return '\n\n'.join((f'{task}\n{EXAMPLE_LABEL}', *examples, asked))


def _described(documentation: str, description: str) -> str:
    return f'{documentation}\n{DESCRIPTION_CUE}\n{description}'.rstrip()


def _exemplified(tool: str, function: str, purpose: str, parameters: str, answer: str) -> str:
    cue = GUIDELINE_CUE.format(function=function, tool=tool)
    return f'{purpose}\n{parameters}\n{cue}\n{answer}'.strip()


def description_prompt(variant: str, documentation: str, several: bool) -> tuple[Message, ...]:
    """Builds the prompt for a tool's description (Table 2, I).

    Args:
        variant: One of ``VARIANTS``.
        documentation: The documentation as in the source.
        several: True if the tool has several functions; selects the demonstration.
    """
    shown, description = DESCRIPTION_EXAMPLES[0 if several else 1]
    example = _described(json.dumps(shown), description)
    return (Message('user', _frame(DESCRIPTION_TASKS[variant], [example], _described(documentation, ''))),)


def guideline_prompt(
    variant: str, tool: str, function: str, purpose: str, parameters: str, rest: bool
) -> tuple[Message, ...]:
    """Builds the prompt for a scenario and its parameters (Table 2, II).

    Args:
        variant: One of ``VARIANTS``.
        tool: Name of the tool.
        function: Name of the function.
        purpose: The purpose of tool and function.
        parameters: The parameter list, as JSON.
        rest: True if the function is named by method and path; its example is a call such as ``GET /movie/456``.
    """
    examples = [_exemplified(*example) for example in (REST_EXAMPLES if rest else GUIDELINE_EXAMPLES)]
    asked = _exemplified(tool, function, purpose, parameters, '')
    return (Message('user', _frame(GUIDELINE_TASKS[variant], examples, asked)),)


def again_prompt(
    prompt: tuple[Message, ...], reply: str, faults: Sequence[str], form: str, most: int
) -> tuple[Message, ...]:
    """Builds the prompt that repeats a request and lists the errors of the reply; it shows only the last reply.

    Args:
        prompt: The first prompt.
        reply: The last reply.
        faults: The reply's errors, one sentence each.
        form: The expected form of a reply.
        most: Maximum length of the quoted reply.
    """
    listed = ' '.join(faults)[:_MOST_FAULTS]
    quoted = reply[:MAX_CHARS].strip()[:most] or '(no answer)'
    return (*prompt, Message('assistant', quoted), Message('user', AGAIN.format(faults=listed, form=form)))
