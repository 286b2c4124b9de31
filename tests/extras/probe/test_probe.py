"""Findings of ``tooleval doctor --endpoint``: a good server, and each fault alone."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

import pytest

from opencompass_tooleval.extras.probe.probe import probe
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.probed import Probed
from tests.models.api.scripted_server import CONTEXT, KEY, Refused, Request, Script, call, serving

OK, UNKNOWN, FAULT = Level.OK, Level.UNKNOWN, Level.FAULT
ORDER = [
    'reachable',
    'key',
    'model',
    'answer',
    'thoughts',
    'usage',
    'max_tokens',
    'system role',
    'forced call',
    'tool calls',
    'several calls',
    'thoughts back',
    'role tool',
    'raw text',
    'prompt',
    'n',
    'context',
    'long prompt',
    'concurrency',
]


def look(script: Script, key: str = KEY, model: str = 'tiny', **settings: Any) -> list[Finding]:
    with serving(script) as url, closing(Endpoint(url, model, key)) as endpoint:
        return list(probe(endpoint, **settings))


def others(findings: list[Finding]) -> dict[str, Level]:
    """What is not ok."""
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
    assert found == set(ORDER) - {
        'forced call',
        'tool calls',
        'several calls',
        'role tool',
        'thoughts back',
        'raw text',
        'prompt',
    }
    assert not any('tools' in request for request in script.asked)


class NoParser(Script):
    """vLLM without --enable-auto-tool-choice, before it refused so."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        text = '\n'.join(
            f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}' for city in cities
        )
        return {'content': text}


class CallsAsFunctions(NoParser):
    """Llama's way to write calls, in text."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        return {'content': '{"name": "get_weather", "parameters": {"city": "Paris"}}'}


class RefusesAuto(Script):
    """vLLM today, without a parser."""

    def check(self, request: Request) -> None:
        super().check(request)
        if request.get('tools') and isinstance(request.get('tool_choice', 'auto'), str):
            raise Refused(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')


class RefusesTools(Script):
    """A server that knows nothing of tools."""

    def check(self, request: Request) -> None:
        super().check(request)
        if 'tools' in request:
            raise Refused(422, 'Unexpected keys in the request: tools')


class RefusesChoice(Script):
    """``transformers serve``: tools yes, tool_choice no."""

    def check(self, request: Request) -> None:
        super().check(request)
        if 'tool_choice' in request or 'parallel_tool_calls' in request:
            raise Refused(422, 'Unused fields in the request: tool_choice')


class IgnoresForce(Script):
    """llama.cpp: tool_choice is a word, 'auto' or 'required'; a named function is taken for 'auto'."""

    def message(self, request: Request) -> dict[str, Any]:
        if request.get('tools') and isinstance(request.get('tool_choice'), dict):
            return {'content': 'It is sunny.'}
        return super().message(request)


class NeverForced(Script):
    """tool_choice is not read: the model calls when it likes to."""

    def message(self, request: Request) -> dict[str, Any]:
        if request.get('tools') and request.get('tool_choice') not in ('auto', None):
            return {'content': 'It is sunny.'}
        return super().message(request)


class OnlyForced(Script):
    """A model that does not feel like calling."""

    def message(self, request: Request) -> dict[str, Any]:
        if request.get('tools') and request.get('tool_choice') == 'auto':
            return {'content': 'I would rather not.'}
        return super().message(request)


class DropsTools(Script):
    """A chat template without a place for tools."""

    def prompt(self, request: Request) -> str:
        return super().prompt({**request, 'tools': None})

    def called(self, cities: list[str]) -> dict[str, Any]:
        return {'content': 'I cannot know.'}


class NeverCalls(DropsTools):
    """No call at all, and nothing says why."""

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        return None


class BrokenArguments(Script):
    """Arguments that are no JSON."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        return {'content': None, 'tool_calls': [call('get_weather', '{"city": Paris}')]}


class ListArguments(Script):
    """Arguments that are no object."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        return {'content': None, 'tool_calls': [call('get_weather', '["Paris"]')]}


class OtherName(Script):
    """A call of another tool."""

    def called(self, cities: list[str]) -> dict[str, Any]:
        return {'content': None, 'tool_calls': [call('functions.get_weather', '{}')]}


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


class RefusesToolRole(Script):
    """A chat template that raises on role tool."""

    def check(self, request: Request) -> None:
        super().check(request)
        if any(message['role'] == 'tool' for message in request['messages']):
            raise Refused(400, 'Only user and assistant roles are supported!')


class DropsRounds(Script):
    """A chat template that leaves calls and results out."""

    def seen(self, request: Request) -> list[dict[str, Any]]:
        return [message for message in request['messages'] if message['role'] in ('system', 'user')]

    def message(self, request: Request) -> dict[str, Any]:
        if len(request['messages']) == 3:
            return {'content': 'I do not know.'}
        return super().message(request)


class DeafToResults(Script):
    """A model that says nothing of what it was told."""

    def message(self, request: Request) -> dict[str, Any]:
        if len(request['messages']) == 3:
            return {'content': 'I do not know.'}
        return super().message(request)


class RefusesSystem(Script):
    """Gemma's template."""

    def check(self, request: Request) -> None:
        super().check(request)
        if request['messages'][0]['role'] == 'system':
            raise Refused(400, 'System role not supported')


class DropsSystem(Script):
    """A template that knows user and assistant."""

    def seen(self, request: Request) -> list[dict[str, Any]]:
        return [message for message in request['messages'] if message['role'] != 'system']


class DeafToSystem(Script):
    """A model that heeds no system prompt."""

    def message(self, request: Request) -> dict[str, Any]:
        is_system = request['messages'][0]['role'] == 'system'
        return {'content': 'ready'} if is_system else super().message(request)


class Thinks(Script):
    """Thoughts apart from the answer."""

    field = 'reasoning_content'

    def message(self, request: Request) -> dict[str, Any]:
        return {**super().message(request), self.field: 'Let me see.'}


class ThinksToday(Thinks):
    """vLLM from 0.16 on."""

    field = 'reasoning'


class RequiresThoughts(Thinks):
    """DeepSeek's API."""

    def check(self, request: Request) -> None:
        super().check(request)
        if any(message.get('tool_calls') and not message.get(self.field) for message in request['messages']):
            raise Refused(400, 'The reasoning_content in the thinking mode must be passed back to the API.')


class RefusesThoughts(Thinks):
    """Groq's API, as reported."""

    def check(self, request: Request) -> None:
        super().check(request)
        if any(self.field in message for message in request['messages']):
            raise Refused(400, "property 'reasoning_content' is unsupported")


class DropsThoughts(Thinks):
    """A chat template that leaves them out."""

    def seen(self, request: Request) -> list[dict[str, Any]]:
        return [{name: message[name] for name in message if name != self.field} for message in request['messages']]


class ThinksInText(Script):
    """No reasoning parser; the chat template has opened the thoughts."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {**message, 'content': f'Let me see.</think>{message["content"] or ""}'}


class EndlessThoughts(Script):
    """A model that thinks until it is cut, with a reasoning parser."""

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': None, 'reasoning_content': 'hmm ' * 600}

    def finish(self, message: dict[str, Any], is_cut: bool) -> str:
        return 'length'


class EndlessThoughtsInText(Script):
    """The same without one."""

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': '<think>' + 'hmm ' * 600}


class SwallowsAnswers(Script):
    """A reasoning parser for a model that does not think: all it says counts as thoughts."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {**message, 'content': None, 'reasoning_content': message['content']}


class EmptyAnswers(Script):
    """Nothing, without a reason."""

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': ''}


class NoLimit(Script):
    """max_tokens is not kept to."""

    def cut(self, message: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        return message, False


class NoLimitUncounted(NoLimit):
    """The same, and nobody counts."""

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        return None


class SaysStop(Script):
    """``transformers serve``: an answer that was cut says 'stop'."""

    def finish(self, message: dict[str, Any], is_cut: bool) -> str:
        return 'stop'


class SaysStopWithoutSpaces(SaysStop):
    """The same of SmolLM2, whose every digit is a token: ``12345678``."""

    def cut(self, message: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        message, is_cut = super().cut(message, limit)
        return ({**message, 'content': message['content'].replace(' ', '')} if is_cut else message), is_cut


class NoUsage(Script):
    """Nobody counts."""

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        return {'prompt_tokens': True, 'completion_tokens': 'many'}


class LetsAllIn(Script):
    """A server without a key."""

    def admits(self, authorization: str) -> bool:
        return True


class OpenList(Script):
    """Many a server shows its models to anybody, and asks for a key where it costs something."""

    def admits(self, authorization: str) -> bool:
        return True

    def answer_to(self, authorization: str) -> bool:
        return super().admits(authorization)


class ListsOthers(Script):
    """The model is there, and not on the list."""

    def models(self) -> Any:
        return {'data': [{'id': f'other-{number}'} for number in range(20)]}


class ListsNonsense(Script):
    """A page that is no list."""

    def models(self) -> Any:
        return [['data']]


class NoList(Script):
    """No such page."""

    def models(self) -> Any:
        raise Refused(404, 'Not Found')


class SilentContext(Script):
    """The list says nothing of the context, a refusal does."""

    def models(self) -> Any:
        return {'data': [{'id': 'tiny'}]}


class ClampsLimits(SilentContext):
    """Any limit is taken."""

    def check(self, request: Request) -> None:
        super().check({**request, 'max_tokens': 1})


class MetaContext(Script):
    """llama.cpp."""

    def models(self) -> Any:
        return {'data': [{'id': 'tiny', 'max_model_len': None, 'meta': {'n_ctx': CONTEXT}}]}


class CutsPrompts(ClampsLimits):
    """Ollama: a prompt over the context loses its beginning."""

    def prompt_tokens(self, request: Request) -> int:
        return min(1024, super().prompt_tokens(request))

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {'content': 'There is none.'} if message['content'] == 'PELICAN' else message


class ForgetsBeginnings(Script):
    """A model that does not find the word."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {'content': 'There is none.'} if message['content'] == 'PELICAN' else message


class OneChoice(Script):
    """n is ignored."""

    def choices(self, request: Request) -> int:
        return 1


class RefusesChoices(Script):
    """n is refused."""

    def check(self, request: Request) -> None:
        super().check(request)
        if 'n' in request:
            raise Refused(422, 'Unused fields in the request: n')


class RateLimited(Script):
    """Few requests at once."""

    def check(self, request: Request) -> None:
        super().check(request)
        if len(self.asked) > 15:
            raise Refused(429, 'Too many requests')


class BreaksDown(Script):
    """Fails under load."""

    def check(self, request: Request) -> None:
        super().check(request)
        if 'Reply with the number' in request['messages'][0]['content'] and request['messages'][0]['content'][-1] > '5':
            raise Refused(500, 'CUDA out of memory')


class NoTemperature(Script):
    """A model that is not asked like others."""

    def check(self, request: Request) -> None:
        if 'temperature' in request:
            raise Refused(400, "Unsupported value: 'temperature' does not support 0 with this model")
        super().check(request)


class NewLimit(Script):
    """OpenAI's reasoning models."""

    def check(self, request: Request) -> None:
        if 'max_tokens' in request:
            raise Refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        request['max_tokens'] = request['max_completion_tokens']
        super().check(request)


CASES: list[tuple[type[Script], dict[str, Level], str]] = [
    (
        NoParser,
        {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT},
        'it comes as text, which does not count as a call: start vLLM with --enable-auto-tool-choice',
    ),
    (CallsAsFunctions, {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT}, 'it comes as text'),
    (
        RefusesAuto,
        {'tool calls': FAULT, 'several calls': UNKNOWN, 'role tool': FAULT},
        'tools are refused: status 400',
    ),
    (
        RefusesTools,
        {'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'role tool': FAULT},
        'tools are refused: status 422',
    ),
    (
        RefusesChoice,
        {'forced call': UNKNOWN, 'tool_choice': UNKNOWN, 'several calls': UNKNOWN},
        "'auto' is refused; leave out tool_choice",
    ),
    (IgnoresForce, {}, "returned with tool_choice='required'"),
    (NeverForced, {'forced call': UNKNOWN}, 'tool_choice is ignored'),
    (OnlyForced, {'tool calls': UNKNOWN, 'several calls': UNKNOWN}, 'the model chose not to call'),
    (
        DropsTools,
        {'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'prompt': FAULT},
        'the chat template leaves out the tools',
    ),
    (
        NeverCalls,
        {'usage': UNKNOWN, 'forced call': UNKNOWN, 'tool calls': FAULT, 'several calls': UNKNOWN, 'prompt': FAULT},
        'no call came, forced or not',
    ),
    (
        BrokenArguments,
        {'forced call': FAULT, 'tool calls': FAULT, 'several calls': FAULT},
        'arguments are not JSON',
    ),
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
    (
        CutsPrompts,
        {'context': UNKNOWN, 'long prompt': FAULT},
        'only 1024 of about 6000 tokens reach the model, without an error',
    ),
    (ForgetsBeginnings, {'long prompt': UNKNOWN}, 'does not show if the model saw the complete prompt'),
    (OneChoice, {}, 'ignored; not needed, since each trial is a separate request'),
    (RefusesChoices, {}, 'refused; not needed, since each trial is a separate request'),
    (RateLimited, {}, 'hit a rate limit'),
    (BreaksDown, {'concurrency': FAULT}, '4 of 16 concurrent requests fail (status 500'),
    (
        NoTemperature,
        {'settings': FAULT, 'n': OK},
        'the server refuses temperature: set openai_extra_kwargs=dict(temperature=None) in',
    ),
    (NewLimit, {'settings': FAULT}, 'the server refuses max_tokens'),
]


@pytest.mark.parametrize(('script', 'expected', 'says'), CASES, ids=[script.__name__ for script, _, _ in CASES])
def test_each_fault_alone(script: type[Script], expected: dict[str, Level], says: str) -> None:
    findings = look(script())
    assert others(findings) == {what: level for what, level in expected.items() if level is not OK}, findings
    assert any(says in finding.text for finding in findings)
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
def test_a_wrong_key_ends_it(key: str) -> None:
    script = Script()
    findings = look(script, key)
    assert [(finding.about, finding.level) for finding in findings] == [
        ('reachable', OK),
        ('key', FAULT),
        ('all else', UNKNOWN),
    ]
    assert '--key-env' in findings[1].text and script.asked == []


@pytest.mark.parametrize('key', ['', 'wrong-key'])
def test_a_wrong_key_ends_it_where_the_list_of_models_is_open(key: str) -> None:
    """The list says nothing of the key: a question does, and it is one."""
    script = OpenList()
    findings = look(script, key)
    assert [(finding.about, finding.level) for finding in findings] == [
        ('reachable', OK),
        ('key', FAULT),
        ('all else', UNKNOWN),
    ]
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
    assert findings[0].level is FAULT and '0 s are over' in findings[0].text and over.requests == 0


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
