"""Gets the raw text that a model generated, from a reply in which the server parsed it.

vLLM (from 0.10.2), SGLang (from 0.5.17) and LMDeploy return token ids, llama.cpp the text, and others at most
``logprobs``, whose ``bytes`` are exact. Since some servers refuse unknown members, each source is tried before it is
used. Imports no OpenCompass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.prompt_parts import has_text, lost_parts, without_blanks
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.reply import Reply

Decode = Callable[[Sequence[int]], str]
"""Converts token ids to text, including special tokens."""

IDS, VERBOSE, LOGPROBS = 'ids', 'verbose', 'logprobs'
"""Sources of raw text: token ids, llama.cpp's ``__verbose``, ``logprobs``."""

_TOKEN_ID = 'token_id:'
_MAX_TOKENS = 500_000
_MAX_PROMPT_CHARS = 2_000_000
"""Longer prompts are not searched."""
_UNAVAILABLE = ('infra:bad_request', 'infra:server', 'infra:bad_response', 'infra:empty')


@dataclass(frozen=True)
class RawSource:
    """A way to get raw text from a server.

    Attributes:
        name: :data:`IDS`, :data:`VERBOSE` or :data:`LOGPROBS`.
        members: Additional members of each request.
    """

    name: str
    members: Mapping[str, Any]

    def read(self, reply: Reply, decode: Decode | None) -> str:
        """Returns the raw text of a reply, with special tokens; '' if the reply has none.

        Args:
            reply: The reply.
            decode: Decodes token ids; None without a tokenizer.
        """
        text, choice = '', reply.choice
        if self.name == VERBOSE:
            text = _verbose(reply, 'content')
        elif self.name == IDS and decode:
            ids = answer_ids(reply)
            text = decode(ids) if ids else ''
        elif self.name == LOGPROBS:
            logprobs = choice.get('logprobs')
            tokens = logprobs.get('content') if isinstance(logprobs, Mapping) else None
            text = _text_of_tokens(tokens, decode) if isinstance(tokens, list) else ''
        return text

    def prompt(self, reply: Reply, decode: Decode | None, last: int = 0) -> str:
        """Returns the prompt that the server used, with special tokens; '' if the reply does not contain it.

        Args:
            reply: The reply.
            decode: Decodes token ids; None without a tokenizer.
            last: Number of tokens to decode from the end, if the server sends ids; 0 for all.
        """
        ids = prompt_ids(reply)[-last:] if decode else []
        text = _verbose(reply, 'prompt') if self.name == VERBOSE else decode(ids) if decode and _is_ids(ids) else ''
        return text if len(text) <= _MAX_PROMPT_CHARS else ''


_ANSWER_IDS = ('token_ids', 'response_token_ids', 'output_ids')
"""Members of a choice with token ids, for vLLM, SGLang and LMDeploy."""
_PROMPT_IDS = 'prompt_token_ids'

SOURCES = (
    RawSource(IDS, {'return_token_ids': True}),
    RawSource(VERBOSE, {'verbose': True}),
    RawSource(LOGPROBS, {'logprobs': True, 'return_tokens_as_token_ids': True}),
    RawSource(LOGPROBS, {'logprobs': True}),
)


def answer_ids(reply: Reply) -> list[int]:
    """Returns the token ids of an answer; empty if the reply has none."""
    return next(filter(None, (_ids(reply.choice.get(key)) for key in _ANSWER_IDS)), [])


def _verbose(reply: Reply, key: str) -> str:
    verbose = reply.body.get('__verbose')
    text = verbose.get(key) if isinstance(verbose, Mapping) else None
    return text if isinstance(text, str) else ''


def prompt_ids(reply: Reply) -> list[Any]:
    """Returns the token ids of the prompt as the server sent them, unchecked; empty if there are none."""
    places = (reply.body, reply.choice)
    return next((found for place in places if isinstance(found := place.get(_PROMPT_IDS), list) and found), [])


def _ids(value: Any) -> list[int]:
    return value if isinstance(value, list) and _is_ids(value) else []


def _is_ids(items: list[Any]) -> bool:
    """Tests if a list contains only token ids, and not too many. Uses no loop, since prompts have thousands."""
    return 0 < len(items) <= _MAX_TOKENS and set(map(type, items)) == {int} and min(items) >= 0 and max(items) < 1 << 31


def _text_of_tokens(tokens: Sequence[Any], decode: Decode | None) -> str:
    """Returns the text of the tokens in ``logprobs``, from their ids, else their bytes, else their texts."""
    rows = [token for token in tokens[:_MAX_TOKENS] if isinstance(token, Mapping)]
    ids = _ids([_id_of(row) for row in rows])
    if decode and ids:
        return decode(ids)
    if any(str(row.get('token')).startswith(_TOKEN_ID) for row in rows):
        return ''
    return b''.join(map(_bytes_of, rows)).decode('utf-8', 'replace')


def _id_of(row: Mapping[str, Any]) -> Any:
    """Returns the id of a token: llama.cpp's member ``id``, or the number in vLLM's text ``token_id:12``."""
    _, mark, number = str(row.get('token')).partition(_TOKEN_ID)
    return int(number) if mark and number.isdecimal() and len(number) < 10 else row.get('id')


def _bytes_of(row: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a token, or of its text if it has none. They may be a part of a character."""
    value, text = row.get('bytes'), row.get('token')
    if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
        return bytes(value)
    return text.encode('utf-8', 'replace') if isinstance(text, str) else b''


@dataclass(frozen=True)
class Found:
    """Result of a search for raw text.

    Attributes:
        source: How the server returns raw text; None if it does not.
        prompt: The server's prompt for the conversation of :data:`CANARIES`; '' if unknown.
        first: The first token id of this prompt; empty if unknown.
        lost: Parts of the conversation missing in the prompt, from :func:`~.prompt_parts.lost_parts`.
        has_unread_ids: True if the server returns token ids that cannot be decoded without a matching tokenizer.
    """

    source: RawSource | None = None
    prompt: str = ''
    first: tuple[Any, ...] = ()
    lost: tuple[str, ...] = ()
    has_unread_ids: bool = False


_WORDS = ('kestrel', 'marigold', 'obsidian', 'turquoise', 'vermilion')
_ID = 'call000b1'
CANARY_TOOLS: list[dict[str, Any]] = [
    {
        'type': 'function',
        'function': {
            'name': name,
            'description': description,
            'parameters': {'type': 'object', 'properties': {'ship': {'type': 'string'}}, 'required': ['ship']},
        },
    }
    for name, description in (
        ('find_harbour', 'Finds the harbour of a ship.'),
        ('name_captain', 'Names the captain of a ship.'),  # never called
    )
]
CANARY: list[dict[str, Any]] = [
    {'role': 'system', 'content': f'The word of the day is {_WORDS[0]}.'},
    {'role': 'user', 'content': f'Where is the ship {_WORDS[1]}?'},
    {
        'role': 'assistant',
        'content': None,
        'tool_calls': [
            {
                'id': _ID,
                'type': 'function',
                # The last word occurs nowhere else, so it shows if earlier calls are left out.
                'function': {'name': 'find_harbour', 'arguments': f'{{"ship": "{_WORDS[1]} {_WORDS[4]}"}}'},
            }
        ],
    },
    {'role': 'tool', 'tool_call_id': _ID, 'content': f'{{"harbour": "{_WORDS[2]}"}}'},
    {'role': 'assistant', 'content': f'In {_WORDS[2]}.'},
    {'role': 'user', 'content': f'And the ship {_WORDS[3]}?'},
]
"""A conversation with every part that a chat template may leave out."""

CANARIES: Sequence[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = (
    (CANARY, CANARY_TOOLS),
    (CANARY[1:], CANARY_TOOLS),
    (CANARY[-1:], CANARY_TOOLS),
    (CANARY[-1:], []),
)
"""Conversations with tools. If a server refuses one (for example, its system prompt), the next one is tried."""

Request = tuple[str, dict[str, Any]]
"""The path (from the root of the server if it begins with a slash) and the members of a request."""
Search = Generator[Request, 'Reply | Mapping[str, Any] | Failure', Found]


def search(decode: Decode | None, tail: str = '') -> Search:
    """Finds the first of :data:`SOURCES` that a server supports; yields requests, and receives their replies.

    Args:
        decode: Decodes token ids; None without a tokenizer.
        tail: End of the prompt that the model's own template renders; '' if unknown.
    """
    has_ids = False
    for messages, tools in CANARIES:
        offered: dict[str, Any] = {'messages': messages, **({'tools': tools} if tools else {})}
        is_refused, found, prompt, first = True, None, '', ()
        for source in SOURCES:
            reply = yield 'chat/completions', {**offered, **source.members}
            if isinstance(reply, Failure):
                if reply.reason not in _UNAVAILABLE or reply.ends:
                    raise reply
                continue
            is_refused = False
            assert isinstance(reply, Reply)
            has_ids = has_ids or (decode is None and bool(answer_ids(reply)))
            if source.read(reply, decode):
                found, prompt, first = source, source.prompt(reply, decode), tuple(prompt_ids(reply)[:1])
                break
        if not is_refused:
            prompt = prompt or (yield from _rendered(offered, decode))
            if decode and prompt and not has_text(without_blanks(prompt), messages[-1]['content']):
                return Found(has_unread_ids=True)  # the tokenizer belongs to another model
            lost = lost_parts(prompt, messages, tools, tail) if prompt else ()
            return Found(found, prompt, first, tuple(lost), has_ids)
    return Found()


def _rendered(offered: dict[str, Any], decode: Decode | None) -> Generator[Request, Any, str]:
    """Returns the prompt that the server renders for a conversation (llama.cpp, vLLM); '' if it offers no way."""
    page = yield '/apply-template', offered
    if isinstance(page, Mapping) and isinstance(page.get('prompt'), str):
        return str(page['prompt'])[:MAX_CHARS]
    page = yield '/tokenize', {**offered, 'add_generation_prompt': True}
    ids = _ids(page.get('tokens')) if isinstance(page, Mapping) else []
    return decode(ids) if ids and decode else ''
