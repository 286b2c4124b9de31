"""Faults that servers had, as data: what a model wrote, and the message that its server made of it.

Shapes of issues of vLLM, SGLang, llama.cpp, Ollama, mlx-lm and LMDeploy; the texts are made up, in the formats that the
families' chat templates have.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.extras.attribution.causes import ERROR, LIMIT, NONE, PARSER, REASONING, TEMPLATE

PLACE = {'type': 'object', 'properties': {'lat': {'type': 'number'}, 'lon': {'type': 'number'}}}
WEATHER = {'city': {'type': 'string'}, 'days': {'type': 'integer'}, 'hourly': {'type': 'boolean'}}
HOTEL = {'place': {'$ref': '#/$defs/Place'}, 'price': {'type': 'number'}, 'number': {'type': 'string'}}
TOOLS = (
    ToolSchema('get_weather', 'The weather of a city.', {'type': 'object', 'properties': WEATHER}),
    ToolSchema(
        'find_hotel', 'Hotels near a place.', {'type': 'object', 'properties': HOTEL, '$defs': {'Place': PLACE}}
    ),
)
SYSTEM = 'You plan journeys. Today is the first of May, and the traveller lives in Copenhagen.'
QUESTION = 'How is the weather in Rome, and then in Paris? Find a hotel too.'
SHORT = (Message('system', SYSTEM), Message('user', QUESTION))
EARLIER = ToolCall('get_weather', {'city': 'Lisbon the "white"', 'days': 2}, 'call12345')
HISTORY = (
    *SHORT,
    Message('assistant', '', (EARLIER,)),
    Message('tool', '{"sky": "overcast", "degrees": 14}', call_id='call12345'),
    Message('user', 'And tomorrow?'),
)
LONG = (
    Message('system', SYSTEM),
    Message('user', ' '.join(f'Day {day}: I walk {day * 3 % 17} km along the coast.' for day in range(80))),
)
"""Half of its prompt is enough for a server that cuts the front."""

Calls = Sequence[tuple[str, str]]
"""Name and text of the arguments of each call."""


@dataclass(frozen=True)
class Shape:
    """A reply of a server."""

    name: str
    issue: str
    format_name: str
    raw: str
    cause: str
    note: str = ''
    content: str | None = None
    calls: Calls = ()
    thoughts: str = ''
    finish: str = ''
    status: int = 200
    error: str = ''
    messages: Sequence[Message] = SHORT
    tools: Sequence[ToolSchema] = TOOLS
    parallel: bool | None = None
    tool_choice: Any = 'auto'
    opened_thoughts: bool = False
    prompt: str = ''

    def message(self) -> dict[str, Any]:
        called = [
            {'id': f'call{place:05}', 'type': 'function', 'function': {'name': name, 'arguments': arguments}}
            for place, (name, arguments) in enumerate(self.calls)
        ]
        message: dict[str, Any] = {'role': 'assistant', 'content': self.content, 'tool_calls': called}
        return {**message, 'reasoning_content': self.thoughts} if self.thoughts else message

    @property
    def finish_reason(self) -> str:
        """The ``finish_reason`` of the reply."""
        return self.finish or ('tool_calls' if self.calls else 'stop')


def called(city: str, **more: Any) -> tuple[str, str]:
    """A call of the first tool, as a server returns it."""
    return 'get_weather', json.dumps({'city': city, **more})


ROME, PARIS = called('Rome'), called('Paris')
EMPTY = '{}'


def hermes(*calls: tuple[str, str]) -> str:
    return '\n'.join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>' for name, arguments in calls
    )


def llama(name: str, arguments: str) -> str:
    return f'{{"name": "{name}", "parameters": {arguments}}}'


def kimi(name: str, arguments: str, call_id: str = '') -> str:
    shown = call_id or f'functions.{name}:0'
    return f'<|tool_call_begin|>{shown}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>'


def coder(name: str, **arguments: str) -> str:
    written = ''.join(f'<parameter={key}>\n{value}\n</parameter>\n' for key, value in arguments.items())
    return f'<tool_call>\n<function={name}>\n{written}</function>\n</tool_call>'


def glm(name: str, **arguments: str) -> str:
    written = ''.join(f'<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n' for key, value in arguments.items())
    return f'<tool_call>{name}\n{written}</tool_call>'


END = '<|im_end|>'
THOUGHTS = 'The traveller wants the weather of Rome first.'
ANSWER = 'It is sunny in Rome, and it rains in Paris.'
TWO_IN_ONE = f'<tool_call>\n{{"name": "{ROME[0]}", "arguments": {ROME[1]}}}\n{{"name": "{PARIS[0]}", "arguments": {PARIS[1]}}}\n</tool_call>'  # noqa: E501
REQUIRED = f'[{llama(*ROME)}, {llama(*PARIS)}]'
ANALYSIS = f'<|channel|>analysis<|message|>{THOUGHTS}<|end|>'
LOST, BOTH_LOST, SECOND_LOST = 'of 1 calls 1 lost', 'of 2 calls 2 lost', 'of 2 calls 1 lost'
CHANGED = 'of 1 calls 1 changed'

FAULTS = (
    Shape('two objects in one tag', 'vllm 17790', 'hermes', TWO_IN_ONE + END, PARSER, BOTH_LOST, content=TWO_IN_ONE),
    Shape('special tokens are stripped before the parser', 'vllm 16190', 'mistral',
          f'[TOOL_CALLS][{{"name": "get_weather", "arguments": {ROME[1]}}}]</s>', PARSER, LOST,
          content=f'[{{"name": "get_weather", "arguments": {ROME[1]}}}]'),
    Shape('a semicolon loses the second call', 'vllm 49923', 'llama3_json',
          f'{llama(*ROME)}; {llama(*PARIS)}<|eot_id|>', PARSER, SECOND_LOST, calls=[ROME]),
    Shape('the second call is left in the text', 'llama.cpp 14101', 'hermes', hermes(ROME, PARIS) + END, PARSER,
          SECOND_LOST, content=hermes(PARIS), calls=[ROME]),
    Shape('two calls in one piece of a stream become one', 'vllm 53965', 'hermes', hermes(ROME, PARIS) + END, PARSER,
          'of 2 calls 1 lost, 1 changed', calls=[('get_weather', ROME[1] + PARIS[1])]),
    Shape('arguments are encoded twice', 'vllm 54964', 'hermes', hermes(ROME) + END, PARSER, CHANGED,
          calls=[('get_weather', json.dumps(ROME[1]))]),
    Shape('arguments are lost', 'vllm 54964', 'deepseek_v31',
          f'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ROME[1]}<｜tool▁call▁end｜>'
          '<｜tool▁calls▁end｜><｜end▁of▁sentence｜>', PARSER, CHANGED, calls=[('get_weather', EMPTY)]),
    Shape('an object of a referenced type becomes text', 'vllm 46924', 'qwen3_coder',
          coder('find_hotel', place='{"lat": 41.9, "lon": 12.5}') + END, PARSER, CHANGED,
          calls=[('find_hotel', json.dumps({'place': '{"lat": 41.9, "lon": 12.5}'}))]),
    Shape('a decimal for an integer empties the calls', 'mlx-lm 1417', 'glm45',
          glm('get_weather', city='Rome', days='230.0') + '<|observation|>', PARSER, LOST, content='',
          finish='tool_calls'),
    Shape('the first token is missing', 'vllm 48931', 'kimi_k2', f'{kimi(*ROME)}<|tool_calls_section_end|>{END}',
          PARSER, LOST, content=kimi(*ROME)),
    Shape('a parser of another format', 'vllm 46863', 'llama3_json', f'{llama(*ROME)}<|eot_id|>', PARSER, LOST,
          content=llama(*ROME)),
    Shape('a call is made up', '', 'hermes', f'{ANSWER}{END}', PARSER, 'of 0 calls 1 made up', content=ANSWER,
          calls=[called('Berlin')]),
    Shape('a parser for requests without tools', '', 'hermes', hermes(ROME) + END, PARSER, 'text was parsed as a call',
          calls=[ROME], tools=()),
    Shape('the answer is among the thoughts', 'vllm 19017', 'hermes', ANSWER + END, REASONING,
          'the answer is among the thoughts', thoughts=ANSWER),
    Shape('the call is among the thoughts', 'vllm 19017', 'hermes', hermes(ROME) + END, REASONING,
          'a call is among the thoughts', thoughts=hermes(ROME)),
    Shape('thoughts that the prompt opened are in the answer', 'vllm 22507', 'hermes',
          f'{THOUGHTS}\n</think>\n\n{ANSWER}{END}', REASONING, 'thoughts are in the answer',
          content=f'{THOUGHTS}\n\n{ANSWER}', opened_thoughts=True),
    Shape('the end of the thoughts is missed', 'vllm 22507', 'hermes', f'{THOUGHTS}\n</think>\n\n{hermes(ROME)}{END}',
          REASONING, 'a call is among the thoughts', thoughts=f'{THOUGHTS}\n\n\n{hermes(ROME)}',
          opened_thoughts=True),
    Shape('a call in the channel analysis', 'vllm 35907', 'openai',
          f'{ANALYSIS}<|start|>assistant<|channel|>analysis to=functions.get_weather code<|message|>{ROME[1]}<|call|>',
          PARSER, LOST, thoughts=THOUGHTS),
    Shape('a parse error', 'llama.cpp 27733', 'hermes', '', ERROR, 'Failed to parse input at pos 41', status=500,
          error='Failed to parse input at pos 41: <tool_call>'),
    Shape('a parse error as finish reason', 'lmdeploy 0.18', 'hermes', hermes(ROME) + END, ERROR,
          'the server could not parse the answer', content=hermes(ROME), finish='parse_error'),
    Shape('the template has no tools', 'llama.cpp 27129', 'hermes', ANSWER + END, TEMPLATE, 'the prompt lacks tools',
          content=ANSWER, prompt='tools'),
    Shape('the front of the prompt is cut', 'ollama 17427', 'hermes', ANSWER + END, TEMPLATE,
          'the prompt lacks system text, a part of the conversation', content=ANSWER, messages=LONG, tools=(),
          prompt='front'),
    Shape('earlier arguments are encoded twice', 'sglang 9009', 'hermes', hermes(PARIS) + END, TEMPLATE,
          'the prompt lacks earlier calls as objects (arguments are encoded twice)', calls=[PARIS], messages=HISTORY,
          prompt='objects'),
    Shape('earlier calls are left out', 'llama.cpp 27129', 'hermes', hermes(PARIS) + END, TEMPLATE,
          'the prompt lacks earlier calls', calls=[PARIS], messages=HISTORY, prompt='calls'),
    Shape("tools' results are left out", 'vllm 21727', 'hermes', hermes(PARIS) + END, TEMPLATE,
          "the prompt lacks tools' results", calls=[PARIS], messages=HISTORY, prompt='results'),
    Shape('an unofficial template without the system text', 'vllm 21727', 'hermes', hermes(ROME) + END, TEMPLATE,
          'the prompt lacks system text', calls=[ROME], prompt='system'),
    Shape('the generation prompt is lost', 'kimi-k2 on vllm', 'hermes', ANSWER + END, TEMPLATE,
          'the prompt lacks the generation prompt', content=ANSWER, messages=HISTORY, prompt='generation'),
    Shape('cut within a call', '', 'hermes', hermes(ROME)[:-25], LIMIT, 'the answer was cut',
          content=hermes(ROME)[:-25], finish='length'),
    Shape('cut within a call whose beginning is served', '', 'hermes', hermes(ROME)[:-18], LIMIT,
          'the answer was cut', calls=[('get_weather', '{"city":"Ro')], finish='length'),
    Shape('cut within thoughts', '', 'hermes', THOUGHTS, LIMIT, 'the answer was cut', thoughts=THOUGHTS,
          finish='length', opened_thoughts=True),
)  # fmt: skip
"""Each has another cause than ``serving:none``."""

RIGHT = (
    Shape('a call', '', 'hermes', hermes(ROME) + END, NONE, calls=[ROME]),
    Shape('several calls', '', 'hermes', hermes(ROME, PARIS) + END, NONE, calls=[ROME, PARIS], messages=HISTORY),
    Shape('an answer', '', 'hermes', ANSWER + END, NONE, content=ANSWER),
    Shape('an answer without tools', '', 'hermes', ANSWER + END, NONE, content=ANSWER, tools=()),
    Shape('thoughts and a call', '', 'hermes', f'<think>\n{THOUGHTS}\n</think>\n\n{hermes(ROME)}{END}', NONE,
          calls=[ROME], thoughts=THOUGHTS),
    Shape('thoughts that the prompt opened are left before their mark', 'vllm 22507', 'hermes',
          f'{THOUGHTS}\n</think>\n\n{ANSWER}{END}', NONE, content=f'{THOUGHTS}\n</think>\n\n{ANSWER}',
          opened_thoughts=True),
    Shape('a required call is plain JSON', '', 'hermes', REQUIRED + END, NONE, calls=[ROME, PARIS],
          tool_choice='required'),
    Shape('a required call of a model whose format is JSON', '', 'llama3_json', f'{REQUIRED}<|eot_id|>', NONE,
          calls=[ROME, PARIS], tool_choice='required'),
    Shape('a named call is its arguments', '', 'hermes', ROME[1] + END, NONE, calls=[ROME],
          tool_choice={'type': 'function', 'function': {'name': 'get_weather'}}),
    Shape('one call is allowed', '', 'hermes', hermes(ROME, PARIS) + END, NONE, calls=[ROME], parallel=False),
    Shape('calls are forbidden', '', 'hermes', hermes(ROME) + END, NONE, content=hermes(ROME), tool_choice='none'),
    Shape('the schema has the types', '', 'qwen3_coder',
          coder('get_weather', city='17', days='3', hourly='True') + END, NONE,
          calls=[called('17', days=3, hourly=True)]),
    Shape('blanks, order and escapes differ', '', 'hermes',
          hermes(('get_weather', '{"city": "Zürich", "days": 2.0}')) + END, NONE,
          calls=[('get_weather', '{"days":2,"city":"Z\\u00fcrich"}')]),
    Shape('a server repairs a call', '', 'hermes',
          f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Rome"}}\n</tool_call>{END}', NONE,
          calls=[ROME]),
    Shape('a server converts to the types of the schema', '', 'hermes', hermes(called('Rome', days='3')) + END, NONE,
          calls=[called('Rome', days=3)]),
    Shape('a call within thoughts is none', '', 'hermes',
          f'<think>\n{THOUGHTS} {hermes(ROME)}\n</think>\n\n{ANSWER}{END}', NONE, content=ANSWER,
          thoughts=f'{THOUGHTS} {hermes(ROME)}'),
    Shape('a call of a tool that was not offered is dropped', 'sglang drops them', 'hermes',
          hermes(('no_such_tool', EMPTY)) + END, NONE, content=''),
)  # fmt: skip
"""What servers do rightly, also if it looks wrong."""
