"""Processor time of ``attribution=True``; part of ``benchmark.py``.

A server returns ids of tokens with each reply, 256 requests in flight, prompts of some 600 tokens and answers of some
60: one in two calls a tool, the others write a text although tools are offered, so that their prompts are read too. The
same rows are asked with and without attribution, in turns, by the inferencer that data sets have.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.core.calls.messages import Message, messages_text, read_messages
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.extras.attribution.causes import NONE
from opencompass_tooleval.extras.attribution.reading import attribution_of_row
from opencompass_tooleval.inferencers.inferencer import ToolEvalGenInferencer
from opencompass_tooleval.models.api.raw_text import CANARIES
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tools.benchmark_parts.benchmark_pipe import RowsDataset
from tools.make_tiny_model import make_tokenizer

PARTS = Path(__file__).resolve().parent
WIDTH, REQUESTS, ROUNDS = 256, 4096, 7
GOAL = 1.15
TEMPLATE = (
    '<|im_start|>system\n{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}<tool_call></tool_call>'
    '<|im_end|>\n'
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}"
    '{% for call in message.tool_calls or [] %}<tool_call>{{ call.function.name }} {{ call.function.arguments }}'
    '</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
)
SYSTEM = 'You plan journeys and answer in few words. ' * 4
QUESTIONS = ('call: how is the weather at the coast, and where can I stay?', 'write: who are you, and what can you do?')
TOOLS = ToolSet(
    [
        ToolSchema(
            f'find_{what}',
            f'Finds {what}s near a place, with opening hours, prices and the way there by train or bus.',
            {
                'type': 'object',
                'properties': {
                    'place': {'type': 'string', 'description': 'Name of a town or a quarter.'},
                    'days': {'type': 'integer', 'description': 'Days from today on.'},
                    'price': {'type': 'number', 'description': 'Maximum price in euros.'},
                },
                'required': ['place'],
            },
        )
        for what in ('hotel', 'museum')
    ]
)
CALL = {'place': 'a town at the coast', 'days': 3, 'price': 120.5}
TEXT = (
    'I am an assistant for journeys: I find hotels, museums, restaurants and harbours, and the way to each of them. '
    * 2
)


def rows() -> list[dict[str, str]]:
    """Rows of a data set."""
    return [
        {
            'record_id': f'r{number}',
            'messages': messages_text([Message('system', SYSTEM), Message('user', QUESTIONS[number % 2])]),
            'tools': TOOLS.to_text(),
            'record': '',
            'gold_answer': '',
            'source': 'attribution',
        }
        for number in range(REQUESTS)
    ]


def replies(tokenizer: Any) -> list[tuple[str, dict[str, Any]]]:
    """A text of each request, and its reply."""

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False).input_ids
        return found

    def reply(messages: Any, tools: Any, raw: str, message: dict[str, Any]) -> dict[str, Any]:
        prompt = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, tokenize=False)
        choice: dict[str, Any] = {
            'index': 0,
            'message': {'role': 'assistant', **message},
            'token_ids': ids(f'{raw}<|im_end|>'),
        }
        choice['finish_reason'] = 'tool_calls' if message.get('tool_calls') else 'stop'
        usage = {'prompt_tokens': len(ids(prompt)), 'completion_tokens': len(choice['token_ids'])}
        return {'model': 'tiny', 'choices': [choice], 'usage': usage, 'prompt_token_ids': ids(prompt)}

    arguments = json.dumps(CALL)
    function = {'name': 'find_hotel', 'arguments': arguments}
    called = {'content': None, 'tool_calls': [{'id': 'c1', 'type': 'function', 'function': function}]}
    raw = f'<tool_call>\n{{"name": "find_hotel", "arguments": {arguments}}}\n</tool_call>'
    entry = {'record_id': '', 'source': '', 'idx': 0, 'gold_answer': ''}
    first, second = (Conversation.of(read_messages(row['messages']), entry, TOOLS).as_request() for row in rows()[:2])
    return [
        ('kestrel', reply(*CANARIES[0], 'Yes.', {'content': 'Yes.'})),
        ('call:', reply(first, TOOLS.as_request(), raw, called)),
        ('write:', reply(second, TOOLS.as_request(), TEXT, {'content': TEXT})),
    ]


def seconds(url: str, folder: Path, is_on: bool) -> float:
    """Seconds of processor time of this process for one pass over the rows."""
    model = ToolEvalOpenAI(
        'tiny', key='none', openai_api_base=url, max_workers=WIDTH, tokenizer_path=str(folder), attribution=is_on
    )
    reader = {'input_columns': ['messages'], 'output_column': 'record'}
    retriever = ZeroRetriever(RowsDataset(reader_cfg=reader, abbr='attribution', rows=rows()))
    with tempfile.TemporaryDirectory() as out:
        inferencer = ToolEvalGenInferencer(model=model, max_out_len=512, batch_size=1, output_json_filepath=out)
        gc.collect()  # of the pass before
        started = time.process_time()
        inferencer.inference(retriever, None, ToolEvalConversationTemplate(), out, 'attribution.json')
        busy = time.process_time() - started
        written = json.loads(Path(out, 'attribution.json').read_text(encoding='utf-8'))
    found = map(attribution_of_row, written.values())
    causes = {one and one.cause for one in found}
    assert causes == ({NONE} if is_on else {None}), causes
    return busy


def measure() -> dict[str, Any]:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer = make_tokenizer()
        tokenizer.chat_template = TEMPLATE
        tokenizer.save_pretrained(folder)
        pairs = replies(tokenizer)
        (folder / 'replies.json').write_text(json.dumps(pairs), encoding='utf-8')
        command: list[str | Path] = [sys.executable, PARTS / 'ids_server.py', folder / 'replies.json']
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            seconds(url, folder, is_on=True)  # imports
            runs = [[seconds(url, folder, is_on) for is_on in (False, True)] for _ in range(ROUNDS)]
        finally:
            process.kill()
            process.wait()
    off, on = (1000 * statistics.median(run[place] for run in runs) / REQUESTS for place in (0, 1))
    ratio = statistics.median(run[1] / run[0] for run in runs)
    tokens = [reply['usage'] for _, reply in pairs[1:]]
    print(f'Attribution, {WIDTH} in flight, {tokens}: {off:.3f} ms of processor per call without, {on:.3f} with')
    print(f'  ratio {ratio:.3f} (goal: at most {GOAL}); {[round(run[1] / run[0], 3) for run in runs]}')
    return {'attribution': {'without': off, 'with': on, 'ratio': ratio}}
