"""Servers with the rules of OpenAI's Responses and Anthropic's Messages, which refuse what the vendors refuse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from tests.models.api.scripted_server import Refused, Request, Script

UNSUPPORTED = "Unsupported parameter: '{0}' is not supported with this model."
WITHOUT = "Item '{0}' of type 'function_call' was provided without its required 'reasoning' item: '{1}'."
NEEDS_OUTPUT = 'No tool output found for function call {0}.'
BOUND = (
    'messages.{0}.content.{1}: Invalid `signature` in `thinking` block. The block is bound to a different conversation'
)
NO_RESULT = 'messages.{0}: `tool_use` ids were found without `tool_result` blocks immediately after: {1}'
EXTRA = '{0}: Extra inputs are not permitted'
MEMBERS = {'model', 'max_tokens', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'stream', 'output_config'}
FORCED = 'tool_choice: type "tool" and "any" are not supported for this model.'


class Vendor(Script):
    """Calls the tool twice in one answer, then once, and then answers with the sum of the results.

    Attributes:
        ends: Members of the reply that replace those of a whole answer.
        refused: Why requests were refused.
    """

    def __init__(self, **ends: Any) -> None:
        super().__init__()
        self.ends = ends
        self.refused: list[str] = []
        self.rounds: list[list[dict[str, Any]]] = []

    def made(self, request: Request) -> list[dict[str, Any]]:
        """The items of the next answer."""
        raise NotImplementedError

    def page(self, request: Request, items: list[dict[str, Any]]) -> dict[str, Any]:
        """The whole reply."""
        raise NotImplementedError

    def events(self, page: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The reply as events."""
        raise NotImplementedError

    def complete(self, request: Request) -> Any:
        with self.lock:
            self.asked.append(request)
            try:
                self.check(request)
            except Exception as error:
                self.refused.append(repr(error))
                raise
            page = {**self.page(request, self.made(request)), **self.ends}
        if not request.get('stream'):
            return page
        lines = (f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in self.events(page))
        return f': begins\n\n{"".join(lines)}'.encode()


def refuse(status: int, message: str, code: str) -> None:
    raise Refused(status, message, code)


class ResponsesVendor(Vendor):
    """OpenAI's rules: flat tools, items unchanged, each call with its output, no temperature."""

    path = '/responses'

    def check(self, request: Request) -> None:
        for name in ('temperature', 'max_tokens', 'messages', 'stream_options', 'seed'):
            if name in request:
                refuse(
                    400, f"Unsupported parameter: '{name}' is not supported with this model.", 'unsupported_parameter'
                )
        assert request['store'] is False and request['include'] == ['reasoning.encrypted_content']
        assert all(
            tool['type'] == 'function' and tool['name'] and 'strict' in tool for tool in request.get('tools', ())
        )
        items = request['input']
        outputs = {item['call_id'] for item in items if item.get('type') == 'function_call_output'}
        sent = {item['id']: item for made in self.rounds for item in made}
        for place, item in enumerate(items):
            if item.get('type') == 'function_call' and item['call_id'] not in outputs:
                refuse(400, NEEDS_OUTPUT.format(item['call_id']), 'invalid_request_error')
            if 'id' in item and item != sent.get(item['id']):
                refuse(400, f"Item '{item['id']}' is not the one that was sent.", 'invalid_request_error')
            if item.get('type') == 'function_call' and 'id' in item:
                needed = f'rs_{item["id"].split("_")[1]}'
                if needed not in {earlier.get('id') for earlier in items[:place]}:
                    refuse(400, WITHOUT.format(item['id'], needed), 'invalid_request_error')

    def made(self, request: Request) -> list[dict[str, Any]]:
        number = len(self.rounds)
        thought = {'type': 'reasoning', 'id': f'rs_{number}', 'encrypted_content': f'secret {number}'}
        thought['summary'] = [{'type': 'summary_text', 'text': f'thought {number}'}]  # type: ignore[assignment]
        outputs = [item for item in request['input'] if item.get('type') == 'function_call_output']
        last = request['input'][-1]
        calls = 0 if not request.get('tools') else 2 if not outputs else int(last.get('output') != '1')
        text = f'Answer: {sum(number_in(item["output"]) for item in outputs)}' if not calls else 'I add.'
        phase = 'commentary' if calls else 'final_answer'
        content = [{'type': 'output_text', 'text': text, 'annotations': []}]
        message = {'type': 'message', 'id': f'msg_{number}', 'role': 'assistant', 'status': 'completed', 'phase': phase}
        items: list[dict[str, Any]] = [thought, {**message, 'content': content}]
        for place in range(calls):
            call_id, arguments = f'call_{number}_{place}', json.dumps({'a': 1 if number else 2})
            call = {'type': 'function_call', 'id': f'fc_{number}_{place}', 'call_id': call_id}
            items.append(
                {**call, 'name': request['tools'][0]['name'], 'arguments': f' {arguments}', 'status': 'completed'}
            )
        self.rounds.append(items)
        return items

    def page(self, request: Request, items: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {'input_tokens': 100, 'input_tokens_details': {'cached_tokens': 40, 'cache_write_tokens': 20}}
        usage |= {'output_tokens': 30, 'output_tokens_details': {'reasoning_tokens': 10}, 'total_tokens': 130}
        nulls = [{**item, 'namespace': None, **with_null(item)} for item in items]
        return {'object': 'response', 'status': 'completed', 'error': None, 'output': nulls, 'usage': usage}

    def events(self, page: dict[str, Any]) -> Iterator[dict[str, Any]]:
        begun = {**page, 'status': 'in_progress', 'output': [], 'usage': None}
        yield {'type': 'response.created', 'response': begun}
        yield {'type': 'keepalive', 'sequence_number': 1}
        for number, item in enumerate(page['output']):
            place = {'output_index': number, 'item_id': item['id'], 'content_index': 0}
            content = {'content': []} if item['type'] == 'message' else {}
            yield {'type': 'response.output_item.added', 'output_index': number, 'item': {**item, **content}}
            if item['type'] == 'message':
                part = {**item['content'][0], 'text': ''}
                yield {'type': 'response.content_part.added', **place, 'part': part}
                delta = {'delta': item['content'][0]['text'], 'logprobs': [], 'obfuscation': 'y'}
                yield {'type': 'response.output_text.delta', **place, **delta}
            yield {'type': 'response.output_item.done', 'output_index': number, 'item': item}
        yield {'type': f'response.{page["status"]}', 'response': page}


def number_in(text: str) -> int:
    """The number that a result is; 0 for one that is left out."""
    return int(text) if text.isdecimal() else 0


def with_null(item: dict[str, Any]) -> dict[str, Any]:
    """A null member in each part of the content, which requests must not have."""
    return {'content': [{**part, 'logprobs': None} for part in item['content']]} if 'content' in item else {}


def digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


class MessagesVendor(Vendor):
    """Anthropic's rules: results in the next message, thoughts bound to all before them, no temperature."""

    path = '/messages'

    def check(self, request: Request) -> None:
        _, headers = self.heads[-1]
        if headers.get('anthropic-version') != '2026-10-21':
            refuse(400, 'anthropic-version: header is required', 'invalid_request_error')
        for name in request.keys() - MEMBERS:
            refuse(400, EXTRA.format(name), 'invalid_request_error')
        assert request['max_tokens'] > 0 and request['thinking'] == {'type': 'adaptive', 'display': 'summarized'}
        for number, tool in enumerate(request.get('tools', ())):
            schema = tool['input_schema']
            if schema.get('type') != 'object' or {'oneOf', 'anyOf', 'allOf'} & schema.keys():
                refuse(400, f'tools.{number}.custom.input_schema: does not support oneOf', 'invalid_request_error')
        if request.get('tool_choice', {}).get('type') in ('any', 'tool'):
            refuse(400, FORCED, 'invalid_request_error')
        for number, message in enumerate(request['messages']):
            self.check_message(request, number, message)

    def check_message(self, request: Request, number: int, message: dict[str, Any]) -> None:
        content = message['content']
        blocks = content if isinstance(content, list) else [{'type': 'text', 'text': content}]
        if any(not block['text'].strip() for block in blocks if block['type'] == 'text'):
            refuse(400, 'messages: text content blocks must be non-empty', 'invalid_request_error')
        calls = [block['id'] for block in blocks if block['type'] == 'tool_use']
        rest = request['messages'][number + 1 :]
        following = rest[0]['content'] if rest and isinstance(rest[0]['content'], list) else []
        results = [block['tool_use_id'] for block in following if block['type'] == 'tool_result']
        if calls != results[: len(calls)]:
            refuse(400, NO_RESULT.format(number, ', '.join(calls)), 'invalid_request_error')
        for place, block in enumerate(blocks):
            if block['type'] == 'thinking':
                bound = digest(
                    request.get('system'), request.get('tools'), request['messages'][:number], blocks[:place]
                )
                if block['signature'] != bound:
                    refuse(400, BOUND.format(number, place), 'invalid_request_error')

    def made(self, request: Request) -> list[dict[str, Any]]:
        results = [
            number_in(block.get('content', ''))
            for message in request['messages']
            if isinstance(message['content'], list)
            for block in message['content']
            if block['type'] == 'tool_result'
        ]
        calls = 0 if not request.get('tools') else 2 if not results else int(results[-1] != 1)
        number = len(self.rounds)
        thought = {'type': 'thinking', 'thinking': f'thought {number}'}
        thought['signature'] = digest(request.get('system'), request.get('tools'), request['messages'], [])
        blocks: list[dict[str, Any]] = [thought, {'type': 'redacted_thinking', 'data': 'c2VjcmV0'}]
        blocks.append({'type': 'text', 'text': 'I add.' if calls else f'Answer: {sum(results)}'})
        for place in range(calls):
            use = {
                'type': 'tool_use',
                'id': f'toolu_{number}_{place}',
                'name': request['tools'][0]['name'],
                'caller': {'type': 'direct'},
            }
            blocks.append({**use, 'input': {'a': 1 if number else 2}})
        self.rounds.append(blocks)
        return blocks

    def page(self, request: Request, items: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {'input_tokens': 40, 'cache_read_input_tokens': 40, 'cache_creation_input_tokens': 20}
        usage |= {'output_tokens': 30}
        usage['output_tokens_details'] = {'thinking_tokens': 10}  # type: ignore[assignment]
        end = 'tool_use' if items[-1]['type'] == 'tool_use' else 'end_turn'
        return {'type': 'message', 'role': 'assistant', 'content': items, 'stop_reason': end, 'usage': usage}

    def events(self, page: dict[str, Any]) -> Iterator[dict[str, Any]]:
        usage = {**page['usage'], 'output_tokens': 1}
        yield {'type': 'message_start', 'message': {**page, 'content': [], 'stop_reason': None, 'usage': usage}}
        yield {'type': 'ping'}
        for number, block in enumerate(page['content']):
            pieces = {'text': 'text_delta', 'thinking': 'thinking_delta', 'signature': 'signature_delta'}
            start = {name: '' if name in pieces else value for name, value in block.items()}
            start = {**start, 'input': {}} if 'input' in block else start
            yield {'type': 'content_block_start', 'index': number, 'content_block': start}
            texts = [(kind, name, block[name]) for name, kind in pieces.items() if name in block]
            if 'input' in block:
                texts = [('input_json_delta', 'partial_json', json.dumps(block['input']))]
            for kind, name, text in texts:
                for part in (text,) if name == 'signature' else ('', text[:3], text[3:]):
                    yield {'type': 'content_block_delta', 'index': number, 'delta': {'type': kind, name: part}}
            yield {'type': 'content_block_stop', 'index': number}
        delta = {name: page[name] for name in ('stop_reason', 'stop_details') if name in page}
        yield {'type': 'message_delta', 'delta': delta, 'usage': {'output_tokens': page['usage']['output_tokens']}}
        yield {'type': 'message_stop'}
