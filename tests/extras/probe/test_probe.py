"""Findings of ``tooleval doctor --endpoint``: a good server, and each fault alone."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from typing import Any

import pytest

from opencompass_tooleval.extras.probe.probe import probe
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.models.api.endpoint import Endpoint, Probed
from opencompass_tooleval.models.api.wires import WIRES
from tests.models.api.scripted_server import CONTEXT, KEY, Refused, Request, Script, call, serving
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor, Vendor

OK, UNKNOWN, FAULT = Level.OK, Level.UNKNOWN, Level.FAULT
OF_CALLS = ['forced call', 'tool calls', 'several calls', 'thoughts back', 'role tool', 'raw text', 'prompt']
ORDER = [
    *('reachable', 'key', 'model', 'answer', 'thoughts', 'usage', 'max_tokens', 'system role', *OF_CALLS),
    *('n', 'context', 'long prompt', 'concurrency'),
]


def look(script: Script, key: str = KEY, model: str = 'tiny', **settings: Any) -> list[Finding]:
    with serving(script) as url, closing(Endpoint(url, model, key)) as endpoint:
        return list(probe(endpoint, **settings))


def others(findings: list[Finding]) -> dict[str, Level]:
    return {finding.about: finding.level for finding in findings if finding.level is not OK}


def test_a_good_server_is_ok_and_costs_little() -> None:
    script = Script()
    with serving(script) as url:
        endpoint = Endpoint(url + '/chat/completions', 'tiny', KEY)
        findings = list(probe(endpoint, long_prompt=0))
    assert [finding.about for finding in findings] == [what for what in ORDER if what != 'long prompt']
    assert others(findings) == {}
    assert all(finding.concerns for finding in findings)
    assert len(script.asked) == 10 + 16 and endpoint.requests == len(script.asked) + 3
    assert 0 < endpoint.prompt_tokens < 1000 and 0 < endpoint.completion_tokens < 100
    says = {finding.about: finding.text for finding in findings}
    assert says['key'] == 'accepted; a wrong key is refused'
    assert 'max_seq_len=8192' in says['context']


def test_function_calling_may_be_left_out() -> None:
    script = Script()
    found = {finding.about for finding in look(script, with_calls=False)}
    assert found == {*ORDER} - {*OF_CALLS}
    assert not any('tools' in request for request in script.asked)


def changed(base: type[Script] = Script, **members: Any) -> type[Script]:
    """A server some of whose methods are replaced, by a function or by what they return."""
    methods = {
        name: value if callable(value) else lambda self, *arguments, value=value: deepcopy(value)
        for name, value in members.items()
    }
    return type('Changed', (base,), methods)


def refuses(status: int, text: str, when: Callable[[Request], object], base: type[Script] = Script) -> type[Script]:

    def check(self: Script, request: Request) -> None:
        base.check(self, request)
        if when(request):
            raise Refused(status, text)

    return changed(base, check=check)


def says(content: str, when: Callable[[Request], object], base: type[Script] = Script) -> type[Script]:
    """A server that answers some requests with a text."""
    return changed(
        base, message=lambda self, request: {'content': content} if when(request) else base.message(self, request)
    )


def sees(part: Callable[[dict[str, Any]], dict[str, Any] | None], base: type[Script] = Script) -> type[Script]:
    """A server whose chat template leaves something out of messages, or leaves messages out."""
    return changed(base, seen=lambda self, request: [*filter(None, map(part, request['messages']))])


def thinks(field: str) -> type[Script]:
    """A server that returns thoughts apart from the answer."""
    return changed(message=lambda self, request: {**Script.message(self, request), field: 'Let me see.'})


def choice_of(request: Request) -> Any:
    return request.get('tool_choice') if request.get('tools') else ''


def is_first(role: str) -> Callable[[Request], bool]:
    return lambda request: request['messages'][0]['role'] == role


def has_results(request: Request) -> bool:
    return len(request['messages']) == 3


def as_text(self: Script, cities: list[str]) -> dict[str, Any]:
    written = [f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}' for city in cities]
    return {'content': '\n'.join(written)}


def as_objects(self: Script, cities: list[str]) -> dict[str, Any]:
    message = Script.called(self, cities)
    for one in message['tool_calls']:
        one['function']['arguments'] = json.loads(one['function']['arguments'])
    return message


def thoughts_in_text(self: Script, request: Request) -> dict[str, Any]:
    message = Script.message(self, request)
    return {**message, 'content': f'Let me see.</think>{message["content"] or ""}'}


def swallowed(self: Script, request: Request) -> dict[str, Any]:
    message = Script.message(self, request)
    return {**message, 'content': None, 'reasoning_content': message['content']}


def no_list(self: Script) -> Any:
    raise Refused(404, 'Not Found')


def any_limit(self: Script, request: Request) -> None:
    Script.check(self, {**request, 'max_tokens': 1})


def forgets(self: Script, request: Request) -> dict[str, Any]:
    message = Script.message(self, request)
    return {'content': 'There is none.'} if message['content'] == 'PELICAN' else message


def few_at_once(self: Script, request: Request) -> None:
    Script.check(self, request)
    if len(self.asked) > 15:
        raise Refused(429, 'Too many requests')


def new_limit(self: Script, request: Request) -> None:
    """As OpenAI's reasoning models."""
    if 'max_tokens' in request:
        raise Refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    request['max_tokens'] = request['max_completion_tokens']
    Script.check(self, request)


NoParser = changed(called=as_text)  # vLLM without --enable-auto-tool-choice, before it refused so
BrokenArguments = changed(called={'content': None, 'tool_calls': [call('get_weather', '{"city": Paris}')]})
OtherName = changed(called={'content': None, 'tool_calls': [call('functions.get_weather', '{}')]})
RefusesAuto = refuses(  # vLLM today, without a parser
    400,
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    lambda request: request.get('tools') and isinstance(request.get('tool_choice', 'auto'), str),
)
RefusesTools = refuses(422, 'Unexpected keys in the request: tools', lambda request: 'tools' in request)
RefusesChoice = refuses(  # transformers serve: tools yes, tool_choice no
    422,
    'Unused fields in the request: tool_choice',
    lambda request: {'tool_choice', 'parallel_tool_calls'} & request.keys(),
)
IgnoresForce = says('It is sunny.', lambda request: isinstance(choice_of(request), dict))
"""llama.cpp: tool_choice is a word, 'auto' or 'required'; a named function is taken for 'auto'."""
NeverForced = says('It is sunny.', lambda request: choice_of(request) not in ('', 'auto', None))
OnlyForced = says('I would rather not.', lambda request: choice_of(request) == 'auto')
DropsTools = changed(  # a chat template without a place for tools
    prompt=lambda self, request: Script.prompt(self, {**request, 'tools': None}), called={'content': 'I cannot know.'}
)
ObjectArguments = changed(called=as_objects)  # as Ollama once had them
OneCall = changed(called=lambda self, cities: Script.called(self, cities[:1]))
RefusesToolRole = refuses(
    400,
    'Only user and assistant roles are supported!',
    lambda request: any(message['role'] == 'tool' for message in request['messages']),
)
DeafToResults = says('I do not know.', has_results)
DropsRounds = sees(lambda message: message if message['role'] in ('system', 'user') else None, DeafToResults)
RefusesSystem = refuses(400, 'System role not supported', is_first('system'))  # Gemma's template
DropsSystem = sees(lambda message: message if message['role'] != 'system' else None)
DeafToSystem = says('ready', is_first('system'))
FIELD = 'reasoning_content'
Thinks, ThinksToday = thinks(FIELD), thinks('reasoning')  # vLLM from 0.16 on
RequiresThoughts = refuses(  # DeepSeek's API
    400,
    'The reasoning_content in the thinking mode must be passed back to the API.',
    lambda request: any(one.get('tool_calls') and not one.get(FIELD) for one in request['messages']),
    Thinks,
)
RefusesThoughts = refuses(  # Groq's API, as reported
    400,
    "property 'reasoning_content' is unsupported",
    lambda request: any(FIELD in message for message in request['messages']),
    Thinks,
)
DropsThoughts = sees(lambda message: {name: message[name] for name in message if name != FIELD}, Thinks)
ThinksInText = changed(message=thoughts_in_text)  # no reasoning parser; the chat template has opened the thoughts
EndlessThoughts = changed(message={'content': None, FIELD: 'hmm ' * 600}, finish='length')
SwallowsAnswers = changed(message=swallowed)  # a reasoning parser for a model that does not think
EmptyAnswers = changed(message={'content': ''})
NoLimit = changed(cut=lambda self, message, limit: (message, False))
SaysStop = changed(finish='stop')  # transformers serve: an answer that was cut says 'stop'
NoUsage = changed(usage={'prompt_tokens': True, 'completion_tokens': 'many'})
LetsAllIn = changed(admits=True)
OpenList = changed(LetsAllIn, answer_to=lambda self, authorization: Script.admits(self, authorization))
ListsOthers = changed(models={'data': [{'id': f'other-{number}'} for number in range(20)]})
NoList = changed(models=no_list)
SilentContext = changed(models={'data': [{'id': 'tiny'}]})  # a refusal says it
MetaContext = changed(models={'data': [{'id': 'tiny', 'max_model_len': None, 'meta': {'n_ctx': CONTEXT}}]})
ClampsLimits = changed(SilentContext, check=any_limit)
ForgetsBeginnings = changed(message=forgets)
CutsPrompts = changed(  # Ollama: a prompt over the context loses its beginning
    ClampsLimits, message=forgets, prompt_tokens=lambda self, request: min(1024, Script.prompt_tokens(self, request))
)
OneChoice = changed(choices=1)
RateLimited = changed(check=few_at_once)
BreaksDown = refuses(  # under load
    500,
    'CUDA out of memory',
    lambda request: re.search('Reply with the number.*[6-9]$', request['messages'][0]['content'], re.DOTALL),
)
NoTemperature = refuses(
    400, "Unsupported value: 'temperature' does not support 0 with this model", lambda request: 'temperature' in request
)
NewLimit = changed(check=new_limit)


CASES: list[tuple[type[Script], dict[str, Level], str]] = [
    (NoParser, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT},
     'it comes as text, which does not count as a call: start vLLM with --enable-auto-tool-choice'),
    (RefusesAuto, {'tool calls': FAULT, 'several calls': UNKNOWN, 'role tool': FAULT},
     'tools are refused: this model or server takes no tools: status 400'),
    (RefusesTools, {'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'role tool': FAULT},
     'tools are refused: status 422'),
    (RefusesChoice, {'forced call': UNKNOWN, 'tool_choice': UNKNOWN, 'several calls': UNKNOWN},
     "'auto' is refused; leave out tool_choice"),
    (IgnoresForce, {}, "returned with tool_choice='required'"),
    (NeverForced, {'forced call': UNKNOWN}, 'tool_choice is ignored'),
    (OnlyForced, {'tool calls': UNKNOWN, 'several calls': UNKNOWN}, 'the model chose not to call'),
    (DropsTools, {'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'prompt': FAULT},
     'the chat template leaves out the tools'),
    (BrokenArguments, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT}, 'arguments are not JSON'),
    (OtherName, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT}, 'which is not an offered tool'),
    (ObjectArguments, {}, ''),
    (OneCall, {'several calls': UNKNOWN}, 'only one for two cities'),
    (RefusesToolRole, {'role tool': FAULT}, 'refused: status 400: '),
    (DropsRounds, {'role tool': FAULT, 'prompt': FAULT}, 'the chat template leaves out calls and results'),
    (DeafToResults, {'role tool': UNKNOWN}, 'does not show if the model saw the result'),
    (RefusesSystem, {'system role': FAULT}, "set system_role='user'"),
    (DropsSystem, {'system role': FAULT, 'prompt': FAULT}, 'the chat template leaves it out'),
    (DeafToSystem, {'system role': UNKNOWN}, 'does not show if the model saw it'),
    (Thinks, {}, 'in reasoning_content, separate from the answer'),
    (Thinks, {}, 'reasoning_content accepted: the model sees them (4 tokens of the prompt)'),
    (RequiresThoughts, {}, 'reasoning_content required, and sent back'),
    (RefusesThoughts, {'thoughts back': UNKNOWN}, 'reasoning_content refused; left out'),
    (DropsThoughts, {'thoughts back': UNKNOWN}, 'reasoning_content accepted but dropped'),
    (ThinksToday, {}, 'in reasoning, separate from the answer'),
    (ThinksInText, {}, 'in tags that mark them as thoughts'),
    (NoLimit, {'max_tokens': FAULT}, '16 tokens were allowed, but 100 tokens came'),
    (SaysStop, {'max_tokens': UNKNOWN}, 'respected, but finish_reason is stop'),
    (NoUsage, {'usage': UNKNOWN}, 'tokens and cost are estimates'),
    (LetsAllIn, {}, 'the server accepts any key'),
    (ListsOthers, {'model': UNKNOWN}, 'tiny is not listed; the server lists other-0, other-1'),
    (NoList, {'model': UNKNOWN}, 'there is no list of models'),
    (SilentContext, {}, '8,192 tokens, the server refuses more'),
    (ClampsLimits, {'context': UNKNOWN}, 'the server does not report its context length'),
    (MetaContext, {}, '8,192 tokens, from the list of models'),
    (CutsPrompts, {'context': UNKNOWN, 'long prompt': FAULT},
     'only 1024 of about 6000 tokens reach the model, without an error'),
    (ForgetsBeginnings, {'long prompt': UNKNOWN}, 'does not show if the model saw the complete prompt'),
    (OneChoice, {}, 'ignored; not needed, since each trial is a separate request'),
    (RateLimited, {}, 'hit a rate limit'),
    (BreaksDown, {'concurrency': FAULT}, '4 of 16 concurrent requests fail (status 500'),
    (NoTemperature, {'settings': FAULT, 'n': OK},
     'the server refuses temperature: set openai_extra_kwargs=dict(temperature=None) in'),
    (NewLimit, {'settings': FAULT}, 'the server refuses max_tokens'),
]  # fmt: skip


@pytest.mark.parametrize(
    ('script', 'expected', 'message'), CASES, ids=[message or 'objects' for _, _, message in CASES]
)
def test_each_fault_alone(script: type[Script], expected: dict[str, Level], message: str) -> None:
    findings = look(script())
    assert others(findings) == {what: level for what, level in expected.items() if level is not OK}, findings
    assert any(message in finding.text for finding in findings)
    assert [finding.about for finding in findings if finding.about in ORDER] == ORDER


@pytest.mark.parametrize(
    ('script', 'what', 'says'),
    [
        (EndlessThoughts, 'thoughts', 'raise max_out_len of the data sets, or turn thoughts off'),
        (SwallowsAnswers, 'answer', 'Start the server without --reasoning-parser'),
        (EmptyAnswers, 'answer', 'empty, finish_reason stop'),
    ],
    ids=['thoughts', 'swallowed', 'empty'],
)
def test_answers_of_which_nothing_is_left(script: type[Script], what: str, says: str) -> None:
    faults = {finding.about: finding.text for finding in look(script()) if finding.level is FAULT}
    assert says in faults[what]


def test_a_name_says_nothing_about_settings_elsewhere_than_at_openais_address() -> None:
    def check(self: Script, request: Request) -> None:
        new_limit(self, {**request, 'model': 'tiny'})
        request['max_tokens'] = request['max_completion_tokens']

    listed = {'data': [{'id': 'gpt-5-tiny', 'max_model_len': CONTEXT}]}
    findings = look(changed(models=listed, check=check)(), model='gpt-5-tiny')
    assert others(findings) == {'settings': FAULT}
    (said,) = (finding.text for finding in findings if finding.level is FAULT)
    assert "refuses max_tokens: set token_limit_key='max_completion_tokens' in the config" in said
    for url, limit in (('https://api.openai.com', 'max_completion_tokens'), ('http://api.openai.com.x', 'max_tokens')):
        probed = Probed(Endpoint(f'{url}/v1', 'openai/o3-mini'))
        assert (probed.limit, 'temperature' in probed.settings) == (limit, limit == 'max_tokens')


@pytest.mark.parametrize('key', ['', 'wrong-key'])
@pytest.mark.parametrize('kind', [Script, OpenList])
def test_a_wrong_key_ends_it(key: str, kind: type[Script]) -> None:
    """An open list of models says nothing of the key: a question does, and it is one."""
    script = kind()
    findings = look(script, key)
    expected = [('reachable', OK), ('key', FAULT), ('all else', UNKNOWN)]
    assert [(finding.about, finding.level) for finding in findings] == expected
    assert '--key-env' in findings[1].text and script.asked == []


def test_a_busy_server_does_not_tell_whether_the_key_is_right() -> None:
    findings = look(refuses(503, 'loading', lambda request: True, LetsAllIn)())
    key = next(finding for finding in findings if finding.about == 'key')
    assert (key.level, key.text) == (
        UNKNOWN,
        'not checked: the list of models needs no key, and the server answered no question',
    )


def test_a_wrong_model_ends_it() -> None:
    findings = look(Script(), model='large')
    assert [finding.about for finding in findings] == ['reachable', 'key', 'model', 'answer', 'all else']
    assert findings[2].text == 'large is not listed; the server lists tiny'
    assert findings[3].level is FAULT and 'The model does not exist' in findings[3].text


def test_nobody_there_and_a_url_without_its_version() -> None:
    with serving(Script()) as url:
        without = list(probe(Endpoint(url.removesuffix('/v1'), 'tiny', KEY)))
        secret = list(probe(Endpoint(url.replace('//', '//user:secret-password@'), 'tiny', 'other-wrong-key')))
    assert without[0].level is FAULT and without[0].text.endswith('/v1 has one: use that URL')
    assert not any('secret-password' in finding.text for finding in secret)
    findings = list(probe(Endpoint(url, 'tiny')))
    assert [(finding.about, finding.level) for finding in findings] == [('reachable', FAULT), ('all else', UNKNOWN)]
    assert findings[0].text.startswith(f'{url}: ')


def test_time_is_bounded() -> None:
    def slow(self: Script, request: Request) -> Any:
        time.sleep(3)
        return Script.complete(self, request)

    with serving(changed(complete=slow)()) as url:
        findings = list(probe(Endpoint(url, 'tiny', KEY, timeout=0.5)))
        assert findings[-2].about == 'answer' and 'no whole answer within' in findings[-2].text
        over = Endpoint(url, 'tiny', KEY, seconds=0)
        findings = list(probe(over))
    assert findings[0].level is FAULT and 'the limit of 0 s is over' in findings[0].text and over.requests == 0


@pytest.mark.parametrize(
    'page',
    [b'', b'[]', b'null', b'{"choices": [{"message": {"tool_calls": [7, {"function": 3}], "content": 5}}]}'],
)
def test_nonsense_raises_nothing(page: bytes) -> None:
    assert FAULT in {finding.level for finding in look(changed(complete=page, models=page)())}


def test_findings_can_be_written() -> None:
    odd = changed(message={'content': 'ready \ud800\x1b[31m'})
    assert json.dumps([finding.text for finding in look(odd())])


class Counting:
    """Counts the characters of a request as tokens, so that parts that are left out show."""

    def page(self, request: Request, items: list[dict[str, Any]]) -> dict[str, Any]:
        page = super().page(request, items)  # type: ignore[misc]
        return {**page, 'usage': {**page['usage'], 'input_tokens': len(json.dumps(request))}}


class CountingResponses(Counting, ResponsesVendor): ...


class CountingMessages(Counting, MessagesVendor): ...


NO_MODEL = dict.fromkeys(('max_tokens', 'system role', 'role tool', 'long prompt'), UNKNOWN)
"""Checks of the content of an answer, which the server does not write."""


@pytest.mark.parametrize(
    ('kind', 'wire', 'expected', 'bound'),
    [
        (CountingResponses, 'responses', {'settings': FAULT}, 'accepted after other messages too'),
        (CountingMessages, 'messages', {'forced call': UNKNOWN}, 'refused after other messages'),
    ],
)
def test_other_formats(kind: type[Vendor], wire: str, expected: dict[str, Level], bound: str) -> None:
    script = kind()
    with serving(script) as url, closing(Endpoint(url, 'tiny', KEY, wire=WIRES[wire])) as endpoint:
        findings = list(probe(endpoint, at_once=4))
    assert others(findings) == {**NO_MODEL, **expected}
    texts = {finding.about: finding.text for finding in findings}
    assert texts['thoughts back'].startswith('thoughts accepted: the model sees them')
    assert texts['made-up calls'] == 'accepted without ids and thoughts of the server'
    assert texts['bound thoughts'].startswith(bound)
    assert texts['several calls'] == 'one answer has 2'


class NeedsItsIds(CountingResponses):
    def check(self, request: Request) -> None:
        super().check(request)
        if any(item.get('type') == 'function_call' and 'id' not in item for item in request['input']):
            raise Refused(400, 'the call is not one of the model', 'invalid_request_error')


def test_refused_histories_of_other_formats() -> None:
    with serving(NeedsItsIds()) as url, closing(Endpoint(url, 'tiny', KEY, wire=WIRES['responses'])) as endpoint:
        findings = {finding.about: finding for finding in probe(endpoint, at_once=1, long_prompt=0)}
    assert findings['made-up calls'].is_fault and 'not one of the model' in findings['made-up calls'].text
    assert findings['role tool'].level is UNKNOWN and findings['bound thoughts'].is_fine
