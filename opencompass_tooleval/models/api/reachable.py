"""Checks that the server is reachable, accepts the key, and serves the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.text.redaction import excerpt, redact
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.failure import PAGE, Failure
from opencompass_tooleval.models.api.probed import Probed, server_fault, server_fine, server_unknown

_MOST_NAMED = 8
_MOST_CHARS = 80
NO_ACCESS = (401, 403)
_BUSY = ('infra:rate_limit', 'infra:server', 'infra:timeout')
_NOT_IMPLEMENTED = 501
RIGHT_KEY = 'put the right one into $OPENAI_API_KEY, or name another with --key-env'
SET_KEY = 'put it into $OPENAI_API_KEY, or name another variable with --key-env'
_SILENT = ('(refused)', 'does not resolve', 'no connection in time')
"""Texts of failures that no other URL on the same host and port can fix."""
_ADVICE = {
    '(refused)': 'nothing listens there: start the server, or correct host and port',
    'WRONG_VERSION_NUMBER': 'the server does not speak TLS at this port: write http://',
}
"""Text of a failure -> its fix."""


def _models(page: Any) -> dict[str, Any]:
    """Returns the models that a page lists, by name."""
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
        is_lost = failure.no_connection or failure.reason == 'infra:timeout' or by_proxy
        is_silent = failure.reason == 'infra:timeout' or any(words in failure.words for words in _SILENT)
        right = '' if is_silent else _right_url(endpoint, failure.status is None)
        if right and not is_lost:
            yield server_fault('reachable', f'{endpoint.shown} has no API, {redact(right)} has one: use that URL')
            return
        if right or is_lost:
            fix = f'; {redact(right)} answers: use that URL' if right else _advice(failure)
            yield server_fault('reachable', f'{endpoint.shown}: {failure.words}{fix}')
            return
    yield server_fine('reachable', f'{endpoint.shown} answers')


def _advice(failure: Failure) -> str:
    return next((f'; {advice}' for words, advice in _ADVICE.items() if words in failure.words), '')


def _right_url(endpoint: Endpoint, with_schemes: bool) -> str:
    """Returns a URL on the same host and port that has an API, found by requests; '' if there is none.

    Args:
        endpoint: The server.
        with_schemes: True to try http instead of https, or the reverse, without the key. If the server then asks for
            a key, the URL is right.
    """
    scheme, _, rest = endpoint.url.partition('://')
    other = f'{"http" if scheme == "https" else "https"}://{rest}'
    tried: list[tuple[str, str | None]] = [(f'{endpoint.url}/v1', None)]
    tried += [(other, ''), (f'{other}/v1', '')] if with_schemes else []
    for url, key in tried:
        if url.endswith('/v1/v1'):
            continue
        try:
            if _models(endpoint.get('models', key=key, url=url)):
                return url
        except Failure as failure:
            if key == '' and failure.status in NO_ACCESS:
                return url
    return ''


def why_no_answer(probed: Probed, failure: Failure) -> str:
    """Returns why a question has no answer, with the fix; '' if another try may help.

    Args:
        probed: The server.
        failure: The failure of the question.
    """
    if failure.reason in _BUSY and failure.status != _NOT_IMPLEMENTED:
        return ''
    for finding in (*check_reachable(probed), *check_listed(probed)):
        if finding.is_fault or (finding.about == 'model' and probed.listed and not finding.is_fine):
            return finding.text
    if failure.words.startswith(PAGE):
        return f'{probed.endpoint.shown}: this address is no API, it answers with {failure.words}; correct the URL'
    fix = f'; {RIGHT_KEY if probed.endpoint.key else SET_KEY}' if failure.status in NO_ACCESS else ''
    return f'{probed.endpoint.shown}: {failure.words}{fix}'


def check_listed(probed: Probed) -> Iterator[Finding]:
    """Checks that ``/models`` lists the model. If not, only an answer can show that the model exists."""
    name, listed = probed.endpoint.model, probed.listed
    if listed is None:
        yield server_unknown('model', 'there is no list of models')
    elif name in listed:
        yield server_fine('model', f'{name} is listed')
    else:
        names = first_of([excerpt(text, _MOST_CHARS) for text in listed], _MOST_NAMED) or 'nothing'
        yield server_unknown('model', f'{name} is not listed; the server lists {names}')
