"""Checks that the server is reachable, accepts the key, and has the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.core.errors import Finding, Level, first_of
from opencompass_tooleval.core.text.redaction import excerpt
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.probed import QUESTION, Probed

_WRONG_KEY = 'tooleval-doctor-wrong-key'
_FEW_TOKENS = 8
_MOST_NAMED = 8
_MOST_CHARS = 80


def _models(page: Any) -> dict[str, Any]:
    """Returns the models of a page by name."""
    rows = page.get('data') if isinstance(page, Mapping) else None
    rows = rows if isinstance(rows, list) else []
    return {str(row['id']): row for row in rows if isinstance(row, Mapping) and isinstance(row.get('id'), str)}


def check_reachable(probed: Probed) -> Iterator[Finding]:
    """Checks that a server replies at the URL, with any content."""
    endpoint = probed.endpoint
    try:
        probed.listed = _models(endpoint.get('models'))
    except Failure as failure:
        by_proxy = failure.status is None and 'through the proxy' in failure.words
        if failure.no_connection or failure.reason == 'infra:timeout' or by_proxy:
            yield Finding(Level.FAULT, 'reachable', f'{endpoint.shown}: {failure.words}')
            return
        if _lacks_version(probed):
            says = f'{endpoint.shown} has no API, {endpoint.shown}/v1 has: give that URL'
            yield Finding(Level.FAULT, 'reachable', says)
            return
    yield Finding(Level.OK, 'reachable', f'{endpoint.shown} answers')


def _lacks_version(probed: Probed) -> bool:
    if probed.endpoint.url.endswith('/v1'):
        return False
    try:
        return bool(_models(probed.endpoint.get('models', url=f'{probed.endpoint.url}/v1')))
    except Failure:
        return False


def _accepts(probed: Probed, key: str | None) -> bool | None:
    """Tests if a key is accepted; None if unknown."""
    try:
        probed.endpoint.get('models', key=key)
    except Failure as failure:
        return False if failure.status in (401, 403) else None
    return True


def _answers(probed: Probed, key: str | None) -> bool | None:
    """Tests if a question with a key is accepted; None if unknown, such as for an unknown model."""
    (reply,) = probed.endpoint.ask_all([[QUESTION]], key=key, max_tokens=_FEW_TOKENS)
    if isinstance(reply, Failure):
        # A server that rejects the content has accepted the key; a busy one may not have read it.
        return {400: True, 422: True, 401: False, 403: False}.get(reply.status or 0)
    return True


def check_key(probed: Probed) -> Iterator[Finding]:
    """Checks that the key is accepted, and a wrong one refused; if the list of models is public, by a question."""
    accepted, wrong = _accepts(probed, None), None
    if accepted is not False:
        wrong = _accepts(probed, _WRONG_KEY)
    if accepted is not False and wrong is not False:
        accepted = _answers(probed, None)
        wrong = None if accepted is not True else _answers(probed, _WRONG_KEY)
    if accepted is False:
        which = 'the key is refused' if probed.endpoint.key else 'there is no key, and the server wants one'
        yield Finding(Level.FAULT, 'key', f'{which}: put it into $OPENAI_API_KEY, or name another with --key-env')
    elif wrong is None:
        yield Finding(Level.UNKNOWN, 'key', 'neither the list of models nor a question tells whether it is right')
    else:
        yield Finding(Level.OK, 'key', 'the server lets any key in' if wrong else 'accepted; a wrong one is refused')


def check_listed(probed: Probed) -> Iterator[Finding]:
    """Checks that ``/models`` has the model; if not, the answer shows if it exists."""
    name, listed = probed.endpoint.model, probed.listed
    if listed is None:
        yield Finding(Level.UNKNOWN, 'model', 'there is no list of models')
    elif name in listed:
        yield Finding(Level.OK, 'model', f'{name} is listed')
    else:
        names = first_of([excerpt(text, _MOST_CHARS) for text in listed], _MOST_NAMED) or 'nothing'
        yield Finding(Level.UNKNOWN, 'model', f'{name} is not listed; the server lists {names}')
