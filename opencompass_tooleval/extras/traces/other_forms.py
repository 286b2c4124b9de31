"""Names the forms of other programs that are not read, with what would work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OTHERWISE = 'log the requests to the model as JSON lines of chats'
_SPANS = f"{_OTHERWISE}, or record OpenTelemetry's gen_ai.input.messages"

_OF_SPANS = (
    ('llm.input_messages.', 'OpenInference'),
    ('llm.output_messages.', 'OpenInference'),
    ('openinference.', 'OpenInference'),
    ('gen_ai.prompt.', 'OpenLLMetry (Traceloop)'),
    ('gen_ai.completion.', 'OpenLLMetry (Traceloop)'),
    ('llm.request.', 'OpenLLMetry (Traceloop)'),
    ('traceloop.', 'OpenLLMetry (Traceloop)'),
    ('langfuse.', 'Langfuse'),
    ('langsmith.', 'LangSmith'),
)
"""Beginning of an attribute of a span -> whose it is."""


def other_spans(attributes: Iterable[str]) -> str:
    """Returns why spans with such attributes are not read, with what would work; ``''`` for no known form.

    Args:
        attributes: Names of attributes.
    """
    for name in attributes:
        for beginning, program in _OF_SPANS:
            if name.startswith(beginning):
                return f'{name[:40]} is in the form of {program}, which is not read: {_SPANS}'
    return ''


def other_row(row: Mapping[str, Any]) -> str:
    """Returns why a row of another program is not read, with what would work; ``''`` for no known form."""
    program = _program_of(row)
    return f'it is in the form of {program}, which is not read: {_OTHERWISE}' if program else ''


def _program_of(row: Mapping[str, Any]) -> str:
    keys = set(row)
    if 'run_type' in keys or {'inputs', 'outputs'} <= keys:
        return 'LangSmith'
    if keys & {'observations', 'parentObservationId'} or {'traceId', 'input'} <= keys:
        return 'Langfuse'
    if any(
        name.startswith(('llm.', 'openinference.', 'attributes.llm.', 'attributes.openinference.')) for name in keys
    ):
        return 'OpenInference'
    if isinstance(row.get('contents'), list):
        return 'Gemini (contents)'
    return "Anthropic's Message Batches, whose results have no requests" if {'custom_id', 'result'} <= keys else ''
