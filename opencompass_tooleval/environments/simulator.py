"""Simulates an API that has no recording, with a model: builds the request and parses the reply.

The published simulators get the requests that StableToolBench's server builds, and their replies are parsed as it does
(:mod:`~opencompass_tooleval.environments.stabletoolbench`). Our simulator gets the same parts as JSON. Responses are
stored by digest, so that a second run sends no request and gets the same responses. As a simulator, the oracle model
answers with an example built from the documented response.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, answer_digest, bounded_text, to_jsonable
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.environments import stabletoolbench
from opencompass_tooleval.environments.arguments import canonical_arguments
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.simulator_prompts import SYSTEM_PROMPTS
from opencompass_tooleval.environments.stabletoolbench import MAX_EXAMPLE_CHARS, MAX_EXAMPLES

MAX_REQUESTS = 3
"""Maximum number of requests until a reply can be parsed."""

_MAX_DOCUMENT_CHARS = 20_000
_MAX_INPUT_CHARS = 20_000
_LEAST_WORDS = 2
_SHOWN_DIGITS = 12

SIMULATOR = 'simulator'
"""Name of the model in a :class:`~opencompass_tooleval.core.calls.dialogue.ModelRequest` to the simulator."""


@dataclass(frozen=True)
class Form:
    """Formats of a simulator's requests and replies.

    Attributes:
        message: Documentation, examples, name and arguments -> the user message; None if no message can be built for
            the call.
        read: A reply -> the response in the format of ToolBench's server; None if it cannot be parsed.
        published: Name of a published form; ``''`` for ours.
        no_response: The response if no reply can be parsed; ``''`` for the tool's own error.
    """

    message: Callable[[Any, Sequence[RecordedCall], str, Any], str | None]
    read: Callable[[str], str | None]
    published: str = ''
    no_response: str = ''


@dataclass(frozen=True)
class Simulator:
    """A simulator model with its prompt and its stored responses.

    Attributes:
        model: Name of the model, for digests and results; a stored response is never used for another model.
        system: The system prompt: a name of
            :data:`~opencompass_tooleval.environments.simulator_prompts.SYSTEM_PROMPTS`, or the text. A published
            prompt is used with its published form, any other prompt with ours.
        cache: Digest -> response; :func:`~opencompass_tooleval.environments.simulator_store.open_simulator` opens a
            cache on disk.
    """

    model: str
    system: str = 'tooleval'
    cache: MutableMapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the prompt.

        Raises:
            ValueError: The text is one word, and no prompt has this name.
        """
        if self.system not in SYSTEM_PROMPTS and len(self.system.split()) < _LEAST_WORDS:
            raise ValueError(f'unknown simulator prompt {self.system!r}; choose one of {", ".join(SYSTEM_PROMPTS)}')

    @property
    def settings(self) -> dict[str, str]:
        """Settings for results: ``simulator`` (the model) and ``simulator_prompt`` (its name, or ``given DIGEST``)."""
        name = self.system if self.system in SYSTEM_PROMPTS else f'given {answer_digest(self.system)[:_SHOWN_DIGITS]}'
        return {'simulator': self.model, 'simulator_prompt': name}

    @property
    def prompt(self) -> str:
        """The text of the system prompt."""
        return SYSTEM_PROMPTS.get(self.system, self.system)

    @property
    def form(self) -> Form:
        """The form of the simulator's requests and replies."""
        return FORMS.get(self.system, TOOLEVAL_FORM)

    def simulate(
        self, name: str, arguments: Any, document: Any, examples: Sequence[RecordedCall] = ()
    ) -> Dialogue[str | None]:
        """Returns the response of an API, in a dialogue of up to three rounds; a stored response needs no round.

        Args:
            name: The API.
            arguments: Arguments of the call.
            document: Documentation of the API, as JSON values.
            examples: Recorded calls of the API; the first five are shown.

        Returns:
            The response in the format of ToolBench's server, ``{"error": ..., "response": ...}``. None if no reply can
            be parsed, or the request is too long for the simulator; this is not stored, and a later call tries again.
        """
        digest = self.digest(name, arguments, document, examples)
        message = self.form.message(document, examples, name, arguments)
        if message is None:
            return None
        messages = (Message('system', self.prompt), Message('user', message))
        for _ in range(MAX_REQUESTS):
            if cached := self.cache.get(digest):
                return cached
            reply = yield ModelRequest(messages, example_response(document), model=SIMULATOR, may_be_too_long=True)
            if reply.reason == TRUNCATED:
                return None
            response = self.form.read(reply.text)
            if response is not None:
                # Two tasks may send the same request at the same time; the first response is kept.
                return self.cache.setdefault(digest, response)
        return self.cache.get(digest)

    def digest(self, name: str, arguments: Any, document: Any, examples: Sequence[RecordedCall] = ()) -> str:
        """Returns 32 hex digits that identify the call, the API's documentation, the prompt, the form and the model."""
        canonical = canonical_arguments(arguments)
        passed = to_jsonable(arguments) if canonical is None else canonical
        shown = [_example(call) for call in examples[:MAX_EXAMPLES]]
        form = [self.form.published] if self.form.published else []
        return answer_digest([self.model, self.prompt, to_jsonable(document), shown, name, passed, *form])


def _example(call: RecordedCall) -> dict[str, Any]:
    return {'input': to_jsonable(call.arguments), 'output': call.response[:MAX_EXAMPLE_CHARS]}


def simulator_message(document: Any, examples: Sequence[RecordedCall], name: str, arguments: Any) -> str:
    """Builds the user message of our form.

    Args:
        document: The API's documentation.
        examples: Recorded calls of the API.
        name: The API.
        arguments: Arguments of the call.
    """
    shown = json.dumps([_example(call) for call in examples[:MAX_EXAMPLES]], ensure_ascii=False) if examples else ''
    passed = json.dumps({'api_name': name, 'tool_input': to_jsonable(arguments)}, ensure_ascii=False)
    return (
        f'API Documentation:{bounded_text(to_jsonable(document), _MAX_DOCUMENT_CHARS)}\n'
        f'API Examples:{shown[:MAX_EXAMPLE_CHARS]}\n'
        f'API Input:{bounded_text(passed, _MAX_INPUT_CHARS)}\n'
    )


def read_simulated(reply: str) -> str | None:
    """Parses a reply to our form to a response in the format of ToolBench's server; None if it is not such an object.

    Args:
        reply: The model's reply; thoughts and fences are removed.
    """
    value = parse_enclosed(strip_reasoning(reply).text, '{', '}').value
    if not isinstance(value, dict) or 'response' not in value:
        return None
    response = {'error': bounded_text(value.get('error'), MAX_CHARS // 4), 'response': to_jsonable(value['response'])}
    text = json.dumps(response, ensure_ascii=False)
    return text if len(text) <= MAX_CHARS else None


TOOLEVAL_FORM = Form(simulator_message, read_simulated)
_MIRRORAPI = Form(
    stabletoolbench.mirrorapi_message, stabletoolbench.read_mirrorapi, 'mirrorapi', stabletoolbench.NO_RESPONSE
)
FORMS = {
    'stabletoolbench': Form(
        stabletoolbench.simulator_message,
        stabletoolbench.read_simulated,
        'stabletoolbench',
        stabletoolbench.NO_RESPONSE,
    ),
    'mirrorapi': _MIRRORAPI,
    'mirrorapi_cot': _MIRRORAPI,
}
"""Published system prompt -> its form."""


_MAX_DEPTH = 5
_MAX_FIELDS = 50
_OF_TYPE: dict[str, Any] = {'integer': 1, 'number': 1.5, 'boolean': True, 'array': [], 'object': {}}


def example_response(document: Any) -> str:
    """Builds a response in the format of ToolBench's server, ``{"error": "", "response": ...}``.

    Args:
        document: Documentation of an API, as JSON values: UltraTool's ``results`` (a schema), T-Eval's ``return_data``
            (names) or ToolBench's ``template_response`` (an example); without these the response is empty.
    """
    return json.dumps({'error': '', 'response': _documented_example(document if isinstance(document, Mapping) else {})})


def _documented_example(document: Mapping[str, Any]) -> Any:
    returned = document.get('return_data')
    if isinstance(returned, list):
        names = [item.get('name') for item in returned[:_MAX_FIELDS] if isinstance(item, Mapping)]
        return {str(name): f'example of {name}' for name in names}
    if 'template_response' in document:
        return document['template_response']
    return _of_schema(document.get('results'), _MAX_DEPTH)


def _of_schema(schema: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or not depth:
        return {}
    properties = schema.get('properties')
    if isinstance(properties, Mapping):
        return {
            name: _of_schema(property_schema, depth - 1)
            for name, property_schema in list(properties.items())[:_MAX_FIELDS]
        }
    kind = schema.get('type')
    return _OF_TYPE.get(kind, 'example') if isinstance(kind, str) else 'example'
