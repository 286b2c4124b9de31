"""Ids and times in texts are found; what differs otherwise is no field."""

from __future__ import annotations

import json

import pytest

from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.environments.tally import Tally
from opencompass_tooleval.extras.mcp_servers.volatile import difference_text, differing_fields


def ticket(number: str, time: object, title: str = 'lift') -> dict[str, object]:
    return {'id': number, 'title': title, 'opened': time, 'due': '2026-12-01'}


FIELDS = {
    'JSON': (
        json.dumps([ticket('7f3e9a21', '2026-11-24T12:00:01Z')]),
        json.dumps([ticket('8f3e9a21', '2026-11-24T12:00:03Z')]),
        ('[].id', '[].opened'),
    ),
    'lines of JSON': (
        json.dumps(ticket('a', 1732451000.5)) + '\n' + json.dumps(ticket('b', 1732451000.75)),
        json.dumps(ticket('a', 1732451001.5)) + '\n' + json.dumps(ticket('b', 1732451001.75)),
        ('[].opened',),
    ),
    'by id': (
        '{"8b7c1f2e-1111-4222-8333-123456789abc": {"title": "lift"}}',
        '{"9b7c1f2e-1111-4222-8333-123456789abc": {"title": "lift"}}',
        ('* (key)',),
    ),
    'words': ('Opened: 12:00:01\nDue: 2026-12-01', 'Opened: 12:00:02\nDue: 2026-12-01', ('Opened:[1]',)),
    'a sentence': ('opened tkt_7f3e9a21 at 12:00:01.', 'opened tkt_8f3e9a21 at 12:00:02.', ('opened[1]', 'opened[3]')),
    'nothing': ('the same', 'the same', ()),
}


@pytest.mark.parametrize('name', FIELDS)
def test_generated_values_are_fields(name: str) -> None:
    one, other, fields = FIELDS[name]
    assert differing_fields(one, other) == fields


@pytest.mark.parametrize(
    ('one', 'other', 'shown'),
    [
        ('opened ticket 12', 'opened ticket 13', "opened[2]: '12' and '13'"),
        ('[{"a": 1}]', '[{"a": 1}, {"a": 1}]', '\'[{"a": 1}]\' and \'[{"a": 1}, {"a": 1}]\''),
        ('1732451000123', '1732451000124', "text: '1732451000123' and '1732451000124'"),
        ('[{"id": "7f3e9a21"}]', '[{"id": "8f3e9a21"}]', "[].id: '7f3e9a21' and '8f3e9a21'"),
    ],
)
def test_counters_entries_and_what_is_only_generated_are_none(one: str, other: str, shown: str) -> None:
    assert differing_fields(one, other) is None
    assert difference_text(one, other) == shown


def test_a_long_text_is_compared_as_a_whole() -> None:
    one, other = (f'{"x" * (1 << 20)}12:00:0{second} a' for second in (1, 2))
    assert differing_fields(one, other) is None
    assert difference_text(one, other) == "'…xxx12:00:01 a' and '…xxx12:00:02 a'"


def test_a_tally_counts_failures_of_tools_and_not_of_their_callers() -> None:
    tally = Tally()
    for observation in (
        Observation('done', 'live', error=''),
        Observation('no such note', 'live', error='tool_error'),
        Observation('text is no number', 'live', error='wrong_arguments'),
        Observation('text is missing', 'error', 'wrong_arguments', 'refused'),
        Observation('not now', 'error', 'unanswered', 'refused'),
        Observation('no tool', 'error', 'unknown_tool'),
    ):
        tally.add('a', observation)
    counts = tally.tools['a']
    assert (counts.called, counts.failed) == (5, 2)
    assert counts.why == 'error 1x (no such note), refused 1x (not now)'
