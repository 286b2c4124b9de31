"""Findings of ``tooleval doctor --endpoint``: a good server, and each fault alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from typing import Any

import pytest

from opencompass_tooleval.extras.probe.probe import probe
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.probed import Probed
from tests.models.api.scripted_server import CONTEXT, KEY, Refused, Request, Script, call, serving

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


def answers_with(base: type[Script] = Script, **values: Any) -> type[Script]:
    methods = {name: lambda self, *arguments, value=value: deepcopy(value) for name, value in values.items()}
    return type('Changed', (base,), methods)


def refuses(status: int, text: str, when: Callable[[Request], object], base: type[Script] = Script) -> type[Script]:

    def check(self: Script, request: Request) -> None:
        base.check(self, request)
        if when(request):
            raise Refused(status, text)

    return type('Refusing', (base,), {'check': check})


def says(content: str, when: Callable[[Request], object], base: type[Script] = Script) -> type[Script]:
    """A server that answers some requests with a text."""

    def message(self: Script, request: Request) -> dict[str, Any]:
        return {'content': content} if when(request) else base.message(self, request)

    return type('Saying', (base,), {'message': message})


def sees(part: Callable[[dict[str, Any]], dict[str, Any] | None], base: type[Script] = Script) -> type[Script]:
    """A server whose chat template leaves something out of messages, or leaves messages out."""
    return type('Seeing', (base,), {'seen': lambda self, request: [*filter(None, map(part, request['messages']))]})


def choice_of(request: Request) -> Any:
    return request.get('tool_choice') if request.get('tools') else ''


def is_first(role: str) -> Callable[[Request], bool]:
    return lambda request: request['messages'][0]['role'] == role


def has_results(request: Request) -> bool:
    return len(request['messages']) == 3


class NoParser(Script):
    """vLLM without --enable-auto-tool-choice, before it refused so."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        text = '\n'.join(
            f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}' for city in cities
        )
        return {'content': text}


CallsAsFunctions = answers_with(called={'content': '{"name": "get_weather", "parameters": {"city": "Paris"}}'})  # Llama
BrokenArguments = answers_with(called={'content': None, 'tool_calls': [call('get_weather', '{"city": Paris}')]})
ListArguments = answers_with(called={'content': None, 'tool_calls': [call('get_weather', '["Paris"]')]})
OtherName = answers_with(called={'content': None, 'tool_calls': [call('functions.get_weather', '{}')]})
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


class DropsTools(Script):
    """A chat template without a place for tools."""

    def prompt(self, request: Request) -> str:
        return super().prompt({**request, 'tools': None})

    def called(self, cities: list[str]) -> dict[str, Any]:
        return {'content': 'I cannot know.'}


NeverCalls = answers_with(DropsTools, usage=None)


class ObjectArguments(Script):
    """Arguments as an object instead of text, as Ollama once had them."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        calls: list[dict[str, Any]] = [call('get_weather', '', place) for place, _ in enumerate(cities)]
        for each in calls:
            each['function']['arguments'] = {'city': 'Paris'}
        return {'content': None, 'tool_calls': calls}


class OneCall(Script):
    """A model that calls one tool at a time."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        return super().called(cities[:1])


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


class Thinks(Script):
    """Thoughts apart from the answer."""

    field = 'reasoning_content'

    def message(self, request: Request) -> dict[str, Any]:
        return {**super().message(request), self.field: 'Let me see.'}


class ThinksToday(Thinks):
    """vLLM from 0.16 on."""

    field = 'reasoning'


RequiresThoughts = refuses(  # DeepSeek's API
    400,
    'The reasoning_content in the thinking mode must be passed back to the API.',
    lambda request: any(one.get('tool_calls') and not one.get(Thinks.field) for one in request['messages']),
    Thinks,
)
RefusesThoughts = refuses(  # Groq's API, as reported
    400,
    "property 'reasoning_content' is unsupported",
    lambda request: any(Thinks.field in message for message in request['messages']),
    Thinks,
)
DropsThoughts = sees(lambda message: {name: message[name] for name in message if name != Thinks.field}, Thinks)


class ThinksInText(Script):
    """No reasoning parser; the chat template has opened the thoughts."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {**message, 'content': f'Let me see.</think>{message["content"] or ""}'}


EndlessThoughts = answers_with(message={'content': None, 'reasoning_content': 'hmm ' * 600}, finish='length')
EndlessThoughtsInText = answers_with(message={'content': '<think>' + 'hmm ' * 600})
EmptyAnswers = answers_with(message={'content': ''})


class SwallowsAnswers(Script):
    """A reasoning parser for a model that does not think: all it says counts as thoughts."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {**message, 'content': None, 'reasoning_content': message['content']}


class NoLimit(Script):
    """max_tokens is not kept to."""

    def cut(self, message: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        return message, False


NoLimitUncounted = answers_with(NoLimit, usage=None)
SaysStop = answers_with(finish='stop')  # transformers serve: an answer that was cut says 'stop'


class SaysStopWithoutSpaces(SaysStop):  # type: ignore[misc, valid-type]
    """The same of SmolLM2, whose every digit is a token: ``12345678``."""

    def cut(self, message: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        message, is_cut = super().cut(message, limit)
        return ({**message, 'content': message['content'].replace(' ', '')} if is_cut else message), is_cut


NoUsage = answers_with(usage={'prompt_tokens': True, 'completion_tokens': 'many'})
LetsAllIn = answers_with(admits=True)


class OpenList(Script):
    """Many a server shows its models to anybody, and asks for a key where it costs something."""

    def admits(self, authorization: str) -> bool:
        return True

    def answer_to(self, authorization: str) -> bool:
        return super().admits(authorization)


ListsOthers = answers_with(models={'data': [{'id': f'other-{number}'} for number in range(20)]})
ListsNonsense = answers_with(models=[['data']])


class NoList(Script):
    """No such page."""

    def models(self) -> Any:
        raise Refused(404, 'Not Found')


SilentContext = answers_with(models={'data': [{'id': 'tiny'}]})  # a refusal says it
MetaContext = answers_with(models={'data': [{'id': 'tiny', 'max_model_len': None, 'meta': {'n_ctx': CONTEXT}}]})


class ClampsLimits(SilentContext):  # type: ignore[misc, valid-type]
    """Any limit is taken."""

    def check(self, request: Request) -> None:
        super().check({**request, 'max_tokens': 1})


class ForgetsBeginnings(Script):
    """A model that does not find the word."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {'content': 'There is none.'} if message['content'] == 'PELICAN' else message


class CutsPrompts(ForgetsBeginnings, ClampsLimits):
    """Ollama: a prompt over the context loses its beginning."""

    def prompt_tokens(self, request: Request) -> int:
        return min(1024, super().prompt_tokens(request))


OneChoice = answers_with(choices=1)
RefusesChoices = refuses(422, 'Unused fields in the request: n', lambda request: 'n' in request)


class RateLimited(Script):
    """Few requests at once."""

    def check(self, request: Request) -> None:
        super().check(request)
        if len(self.asked) > 15:
            raise Refused(429, 'Too many requests')


BreaksDown = refuses(  # under load
    500,
    'CUDA out of memory',
    lambda request: (
        'Reply with the number' in request['messages'][0]['content'] and request['messages'][0]['content'][-1] > '5'
    ),
)
NoTemperature = refuses(
    400, "Unsupported value: 'temperature' does not support 0 with this model", lambda request: 'temperature' in request
)


class NewLimit(Script):
    """OpenAI's reasoning models."""

    def check(self, request: Request) -> None:
        if 'max_tokens' in request:
            raise Refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        request['max_tokens'] = request['max_completion_tokens']
        super().check(request)


CASES: list[tuple[type[Script], dict[str, Level], str]] = [
    (NoParser, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT},
     'it comes as text, which does not count as a call: start vLLM with --enable-auto-tool-choice'),
    (CallsAsFunctions, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT}, 'it comes as text'),
    (RefusesAuto, {'tool calls': FAULT, 'several calls': UNKNOWN, 'role tool': FAULT},
     'tools are refused: status 400'),
    (RefusesTools, {'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'role tool': FAULT},
     'tools are refused: status 422'),
    (RefusesChoice, {'forced call': UNKNOWN, 'tool_choice': UNKNOWN, 'several calls': UNKNOWN},
     "'auto' is refused; leave out tool_choice"),
    (IgnoresForce, {}, "returned with tool_choice='required'"),
    (NeverForced, {'forced call': UNKNOWN}, 'tool_choice is ignored'),
    (OnlyForced, {'tool calls': UNKNOWN, 'several calls': UNKNOWN}, 'the model chose not to call'),
    (DropsTools, {'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'prompt': FAULT},
     'the chat template leaves out the tools'),
    (NeverCalls,
     {'usage': UNKNOWN, 'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'prompt': FAULT},
     'no call came, forced or not'),
    (BrokenArguments, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT}, 'arguments are not JSON'),
    (ListArguments, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT}, 'arguments are not an obj'),
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
    (NoLimit, {'max_tokens': FAULT}, '8 tokens were allowed, but 100 tokens came'),
    (NoLimitUncounted, {'usage': UNKNOWN, 'max_tokens': FAULT}, '8 tokens were allowed, but 100 words came'),
    (SaysStop, {'max_tokens': UNKNOWN}, 'respected, but finish_reason is stop'),
    (SaysStopWithoutSpaces, {'max_tokens': UNKNOWN}, 'respected, but finish_reason is stop'),
    (NoUsage, {'usage': UNKNOWN}, 'tokens and cost are estimates'),
    (LetsAllIn, {}, 'the server accepts any key'),
    (OpenList, {}, 'accepted; a wrong key is refused'),
    (ListsOthers, {'model': UNKNOWN}, 'tiny is not listed; the server lists other-0, other-1'),
    (ListsNonsense, {'model': UNKNOWN}, 'the server lists nothing'),
    (NoList, {'model': UNKNOWN}, 'there is no list of models'),
    (SilentContext, {}, '8,192 tokens, the server refuses more'),
    (ClampsLimits, {'context': UNKNOWN}, 'the server does not report its context length'),
    (MetaContext, {}, '8,192 tokens, from the list of models'),
    (CutsPrompts, {'context': UNKNOWN, 'long prompt': FAULT},
     'only 1024 of about 6000 tokens reach the model, without an error'),
    (ForgetsBeginnings, {'long prompt': UNKNOWN}, 'does not show if the model saw the complete prompt'),
    (OneChoice, {}, 'ignored; not needed, since each trial is a separate request'),
    (RefusesChoices, {}, 'refused; not needed, since each trial is a separate request'),
    (RateLimited, {}, 'hit a rate limit'),
    (BreaksDown, {'concurrency': FAULT}, '4 of 16 concurrent requests fail (status 500'),
    (NoTemperature, {'settings': FAULT, 'n': OK},
     'the server refuses temperature: set openai_extra_kwargs=dict(temperature=None) in'),
    (NewLimit, {'settings': FAULT}, 'the server refuses max_tokens'),
]  # fmt: skip


@pytest.mark.parametrize(('script', 'expected', 'said'), CASES, ids=[said or 'objects' for _, _, said in CASES])
def test_each_fault_alone(script: type[Script], expected: dict[str, Level], said: str) -> None:
    findings = look(script())
    assert others(findings) == {what: level for what, level in expected.items() if level is not OK}, findings
    assert any(said in finding.text for finding in findings)
    assert [finding.about for finding in findings if finding.about in ORDER] == ORDER


@pytest.mark.parametrize(
    ('script', 'what', 'says'),
    [
        (EndlessThoughts, 'thoughts', 'raise max_out_len of the data sets, or turn thoughts off'),
        (EndlessThoughtsInText, 'thoughts', 'they do not end within 512 tokens'),
        (SwallowsAnswers, 'answer', 'Start the server without --reasoning-parser'),
        (EmptyAnswers, 'answer', 'empty, finish_reason stop'),
    ],
    ids=['thoughts', 'thoughts in text', 'swallowed', 'empty'],
)
def test_answers_of_which_nothing_is_left(script: type[Script], what: str, says: str) -> None:
    faults = {finding.about: finding.text for finding in look(script()) if finding.level is FAULT}
    assert says in faults[what]


def test_a_name_says_nothing_about_settings_elsewhere_than_at_openais_address() -> None:
    class Named(NewLimit):
        def models(self) -> Any:
            return {'data': [{'id': 'gpt-5-tiny', 'max_model_len': CONTEXT}]}

        def check(self, request: Request) -> None:
            super().check({**request, 'model': 'tiny'} if request['model'] == 'gpt-5-tiny' else request)
            request['max_tokens'] = request['max_completion_tokens']

    findings = look(Named(), model='gpt-5-tiny')
    assert others(findings) == {'settings': FAULT}
    (says,) = (finding.text for finding in findings if finding.level is FAULT)
    assert "refuses max_tokens: set token_limit_key='max_completion_tokens' in the config" in says
    for url, limit in (
        ('https://api.openai.com/v1', 'max_completion_tokens'),
        ('http://api.openai.com.x/v1', 'max_tokens'),
    ):
        probed = Probed(Endpoint(url, 'openai/o3-mini'))
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
    class Busy(LetsAllIn):
        def check(self, request: Request) -> None:
            raise Refused(503, 'loading')

    key = next(finding for finding in look(Busy()) if finding.about == 'key')
    assert (key.level, key.text) == (UNKNOWN, 'neither the list of models nor a question shows if it is right')


def test_a_wrong_model_ends_it() -> None:
    findings = look(Script(), model='large')
    assert [finding.about for finding in findings] == ['reachable', 'key', 'model', 'answer', 'all else']
    assert findings[2].text == 'large is not listed; the server lists tiny'
    assert findings[3].level is FAULT and 'The model does not exist' in findings[3].text


def test_nobody_there() -> None:
    with serving(Script()) as url:
        pass
    findings = list(probe(Endpoint(url, 'tiny')))
    assert [(finding.about, finding.level) for finding in findings] == [('reachable', FAULT), ('all else', UNKNOWN)]
    assert findings[0].text.startswith(f'{url}: ')


def test_a_url_without_its_version() -> None:
    with serving(Script()) as url:
        findings = list(probe(Endpoint(url.removesuffix('/v1'), 'tiny', KEY)))
    assert findings[0].level is FAULT and findings[0].text.endswith('/v1 has one: use that URL')


def test_a_password_in_the_url_is_not_shown() -> None:
    with serving(Script()) as url:
        findings = list(probe(Endpoint(url.replace('//', '//user:secret-password@'), 'tiny', 'other-wrong-key')))
    assert not any('secret-password' in finding.text for finding in findings)


def test_time_is_bounded() -> None:
    class Slow(Script):
        def complete(self, request: Request) -> Any:
            time.sleep(3)
            return super().complete(request)

    script = Slow()
    with serving(script) as url:
        findings = list(probe(Endpoint(url, 'tiny', KEY, timeout=0.5)))
        assert findings[-2].about == 'answer' and 'no whole answer within' in findings[-2].text
        over = Endpoint(url, 'tiny', KEY, seconds=0)
        findings = list(probe(over))
    assert findings[0].level is FAULT and 'the limit of 0 s is over' in findings[0].text and over.requests == 0


@pytest.mark.parametrize(
    'page',
    [b'', b'[]', b'{', b'null', b'{"choices": [{"message": {"tool_calls": [7, {"function": 3}], "content": 5}}]}'],
)
def test_nonsense_raises_nothing(page: bytes) -> None:
    class Nonsense(Script):
        def complete(self, request: Request) -> Any:
            return page

        def models(self) -> Any:
            return page

    assert FAULT in {finding.level for finding in look(Nonsense())}


def test_findings_can_be_written() -> None:
    class Odd(Script):
        def message(self, request: Request) -> dict[str, Any]:
            return {'content': 'ready \ud800\x1b[31m'}

    assert json.dumps([finding.text for finding in look(Odd())])
