"""core/messages: roles, empty messages, neighbours."""

from __future__ import annotations

import pytest

from opencompass_tooleval.core.messages import Message, normalise


@pytest.mark.parametrize(
    ('messages', 'role_map', 'expected'),
    [
        pytest.param([('user', 'a')], {}, [('user', 'a')], id='alone'),
        pytest.param(
            [('system', 's'), ('user', 'a'), ('assistant', 'b'), ('user', 'c')],
            {},
            [('system', 's'), ('user', 'a'), ('assistant', 'b'), ('user', 'c')],
            id='unchanged',
        ),
        pytest.param([('user', 'a'), ('user', 'b')], {}, [('user', 'a\nb')], id='neighbours, one newline'),
        pytest.param([('user', 'a\n'), ('user', '\nb')], {}, [('user', 'a\n\n\nb')], id='nothing is stripped'),
        pytest.param(
            [('user', 'a'), ('function', 'b')], {'function': 'user'}, [('user', 'a\nb')], id='map, then merge'
        ),
        pytest.param([('system', 'a'), ('user', 'b')], {'system': 'user'}, [('user', 'a\nb')], id='system as user'),
        pytest.param([('user', 'a'), ('assistant', ''), ('user', 'b')], {}, [('user', 'a\nb')], id='drop, then merge'),
        pytest.param([('user', ' '), ('assistant', 'b')], {}, [('user', ' '), ('assistant', 'b')], id='a blank stays'),
    ],
)
def test_normalise(messages: list[tuple[str, str]], role_map: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert normalise([Message(*message) for message in messages], role_map) == [Message(*item) for item in expected]


def test_neighbours_stay_apart_where_they_shall() -> None:
    messages = [Message('system', 's'), Message('user', 'a'), Message('assistant', ''), Message('user', 'b')]
    assert normalise(messages, {'system': 'user'}, merge=False) == [Message('user', text) for text in 'sab']


@pytest.mark.parametrize(
    ('messages', 'says'),
    [
        pytest.param([('function', 'a')], r"^role 'function' is none of system, user, assistant$", id='unmapped role'),
        pytest.param([('tool', '')], r"^role 'tool' is none of", id='also where the message is empty'),
        pytest.param([('user', '')], r'^the conversation is empty$', id='only empty messages'),
        pytest.param([], r'^the conversation is empty$', id='no message'),
    ],
)
def test_errors(messages: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        normalise([Message(*message) for message in messages], {})
