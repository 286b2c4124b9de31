"""Arguments against a JSON Schema, which may be that of a server nobody trusts."""

from __future__ import annotations

import socket
import threading

import pytest

from opencompass_tooleval.core.calls.one_call import keeps_to


def test_a_reference_to_a_url_is_not_fetched() -> None:
    with socket.create_server(('127.0.0.1', 0)) as server:
        reached = threading.Event()

        def accept() -> None:
            try:
                server.accept()
                reached.set()
            except OSError:  # closed at the end
                return

        threading.Thread(target=accept, daemon=True).start()
        url = f'http://127.0.0.1:{server.getsockname()[1]}/schema.json'
        with pytest.raises(Exception, match='Unresolvable'):
            keeps_to({'a': 1}, {'properties': {'a': {'$ref': url}}})
        assert not reached.wait(0.2)


def test_a_reference_within_the_schema_is_followed() -> None:
    schema = {'properties': {'a': {'$ref': '#/$defs/A'}}, '$defs': {'A': {'type': 'integer'}}}
    assert keeps_to({'a': 1}, schema) and not keeps_to({'a': 'x'}, schema)
