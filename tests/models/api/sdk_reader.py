"""Asks a server by the vendors' own clients and prints what they read; runs in an environment that has these clients.

Arguments: the base URL, the request format, the number of questions, and the JSON of a request whose question has no
number yet. Prints one JSON line for each question: the items of the whole reply, and those of the streamed one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

url, wire, count, body = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
KEY = 'right-key-of-the-test'


def read_responses(client: Any, request: dict[str, Any]) -> list[Any]:
    whole = client.responses.create(**request)
    with client.responses.stream(**request) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_response()
    return [whole.output, streamed.output]


def read_messages(client: Any, request: dict[str, Any]) -> list[Any]:
    whole = client.messages.create(**request)
    with client.messages.stream(**request) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_message()
    return [whole.content, streamed.content]


def check_type(request: dict[str, Any]) -> None:
    """Fails if the request has not the type that the client has for it."""
    from pydantic import TypeAdapter

    if wire == 'responses':
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

        adapter: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)
    else:
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

        adapter = TypeAdapter(MessageCreateParamsNonStreaming)
    adapter.dump_json(adapter.validate_python(request))  # validation alone is lazy


if wire == 'responses':
    from openai import OpenAI

    client, read = OpenAI(base_url=url, api_key=KEY, max_retries=0), read_responses
else:
    from anthropic import Anthropic

    headers = {'anthropic-version': '2026-10-21'}
    client = Anthropic(base_url=url.removesuffix('/v1'), auth_token=KEY, max_retries=0, default_headers=headers)
    read = read_messages
for name in sys.argv[5:]:
    with open(name) as sent:
        for line in sent:
            check_type(json.loads(line))
for number in range(count):
    member = 'input' if wire == 'responses' else 'messages'
    request = {**body, member: [{'role': 'user', 'content': f'seed {number}'}]}
    items = [[item.model_dump(exclude_none=True, exclude_unset=True) for item in one] for one in read(client, request)]
    print(json.dumps(items))
