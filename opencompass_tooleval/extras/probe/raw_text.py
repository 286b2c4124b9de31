"""Checks if the server returns the raw text of an answer, and what its chat template leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probed import Probed, server_fault, server_fine, server_unknown
from opencompass_tooleval.models.api.raw_text import Found, Request, search

_TOKENS = 16


def check_raw_text(probed: Probed) -> Iterator[Finding]:
    """Checks if errors can be attributed, and if the prompt has all parts of a conversation."""
    found = _search(probed)
    what = 'raw text'
    if found.source:
        yield server_fine(what, f'returned by {found.source.name}: attribution=True finds errors of the parser')
    elif found.has_unread_ids:
        yield server_fine(what, 'token ids are returned: attribution=True with tokenizer_path decodes them')
    else:
        yield server_unknown(what, 'not returned: lost calls of the parser cannot be found')
    what = 'prompt'
    if found.lost:
        yield server_fault(what, f'the chat template of the server leaves out {", ".join(found.lost)}')
    elif found.prompt:
        yield server_fine(what, 'system text, tools, calls and results reach the model')
    else:
        yield server_unknown(what, 'the server does not return it')


def _search(probed: Probed) -> Found:
    searching = search(None)
    request = next(searching)
    while True:
        try:
            request = searching.send(_asked(probed, request))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def _asked(probed: Probed, request: Request) -> Any:
    path, members = request
    try:
        if path.startswith('/'):
            return probed.endpoint.post(path, members)
        messages, settings = members['messages'], {key: value for key, value in members.items() if key != 'messages'}
        return probed.ask(*messages, tokens=_TOKENS, **settings)
    except Failure as failure:
        return failure
