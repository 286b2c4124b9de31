"""Kinds of findings of the extras' commands."""

from __future__ import annotations

from opencompass_tooleval.findings.kinds import Kind, Level

KINDS = {
    'extra:task_fault': Kind(Level.FAULT, 'a task of a user is scored wrong: by its gold, or by its server'),
    'extra:task_note': Kind(Level.NOTE, 'a task of a user is unproven, or has the gold of another one'),
    'extra:recorded': Kind(Level.NOTE, 'recorded answers are a part, or are read in a way that a reader has to know'),
    'extra:unnamed': Kind(Level.NOTE, 'judgements do not name the answers that they are about'),
    'extra:export': Kind(Level.NOTE, 'a result is left out of an export, or in it without some of its parts'),
    'extra:tokens': Kind(Level.NOTE, 'tokens are estimated, since no tokenizer is named'),
    'extra:retrieval': Kind(Level.NOTE, 'scores of retrieval do not compare with those of the paper'),
    # A server, in addition to those of the first question.
    'server:key': Kind(Level.FAULT, 'the server refuses the key'),
    'server:thoughts': Kind(Level.FAULT, 'thoughts are not separate from the answer'),
    'server:usage': Kind(Level.UNKNOWN, 'tokens are not counted'),
    'server:max_tokens': Kind(Level.FAULT, 'the token limit is ignored, or finish_reason is wrong'),
    'server:system_role': Kind(Level.FAULT, 'a system prompt is refused, or does not reach the model'),
    'server:forced_call': Kind(Level.FAULT, 'a forced call is not returned as a call'),
    'server:tool_calls': Kind(Level.FAULT, 'native calls are not returned with name and arguments'),
    'server:tool_choice': Kind(Level.UNKNOWN, "`tool_choice='auto'` is refused"),
    'server:several_calls': Kind(Level.FAULT, 'one answer cannot have several calls'),
    'server:thoughts_back': Kind(Level.FAULT, 'calls are refused, with or without their thoughts'),
    'server:role_tool': Kind(Level.FAULT, 'results of calls are refused, or do not reach the model'),
    'server:made-up_calls': Kind(Level.FAULT, 'calls that the model never made are refused'),
    'server:bound_thoughts': Kind(Level.UNKNOWN, 'whether thoughts may follow other messages than before'),
    'server:raw_text': Kind(Level.UNKNOWN, 'the server does not return what the model wrote'),
    'server:prompt': Kind(Level.FAULT, 'the chat template leaves out parts of the prompt'),
    'server:n': Kind(Level.UNKNOWN, 'several answers to one request, which are not needed'),
    'server:context': Kind(Level.UNKNOWN, 'the server does not report its context length'),
    'server:long_prompt': Kind(Level.FAULT, 'a part of a long prompt does not reach the model'),
    'server:concurrency': Kind(Level.FAULT, 'answers to concurrent requests are mixed up or missing'),
    'server:all_else': Kind(Level.UNKNOWN, 'no further checks, since a basic check failed'),
}
"""Id -> the kind."""
