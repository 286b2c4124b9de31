"""Reads answers with SGLang's front end (``llm-router-utils``) in a separate interpreter: JSON in and out."""

import json
import logging
import signal
import sys

from llm_router_utils.sglang.srt.entrypoints.openai.protocol import Tool
from llm_router_utils.sglang.srt.function_call.function_call_parser import FunctionCallParser
from llm_router_utils.sglang.srt.parser.reasoning_parser import ReasoningParser


class Vocabulary:
    """The tokens that detectors look up: those of Hunyuan have a suffix."""

    def __init__(self, tokens):
        self.tokens = tokens

    def get_vocab(self):
        return dict.fromkeys(self.tokens, 0)


def read(answer):
    """Returns thoughts, content and calls, as ``OpenAIServingChat`` splits an answer."""
    tools = [Tool.model_validate(tool) for tool in answer['tools']]
    tokenizer, thoughts, text = Vocabulary(answer['vocabulary']), None, answer['text']
    if answer['reasoning']:
        parser = ReasoningParser(
            answer['reasoning'],
            stream_reasoning=False,
            force_reasoning=answer['opened'],
            tokenizer=tokenizer,
            tool_call_parser_active=True,
        )
        thoughts, text = parser.parse_non_stream(text)
    parser = FunctionCallParser(tools, answer['calls'], tokenizer=tokenizer)
    calls = []
    if parser.has_tool_call(text or ''):
        text, calls = parser.parse_non_stream(text)
    return {
        'thoughts': thoughts or '',
        'content': text or '',
        'calls': [[call.name, json.loads(call.parameters)] for call in calls],
    }


def read_in_time(answer):
    """Returns no calls if the detector does not end, or raises an error."""
    signal.alarm(5)
    try:
        return read(answer)
    except Exception:
        return {'calls': None}
    finally:
        signal.alarm(0)


def stop(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, stop)
logging.disable()
json.dump([read_in_time(answer) for answer in json.load(sys.stdin)], sys.stdout)
