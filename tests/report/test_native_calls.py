"""Native calls in the pages of samples: shown unchanged, also unreadable ones."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.report.samples import answer_text

CUT_CALL = {
    'name': 'MuseumGuide.list_open',
    'arguments': '{"city": "Ghent", "date": "2025-04-12", "limit": 3',
    'id': 'k',
}


@pytest.mark.parametrize(
    ('prediction', 'shown'),
    [
        # SmolLM2-135M-Instruct, cut at 48 tokens: the page was empty, with three arguments "lacking".
        (
            {'prediction': '', 'calls': [CUT_CALL], 'finish_reason': 'length'},
            'MuseumGuide.list_open({"city": "Ghent", "date": "2025-04-12", "limit": 3)',
        ),
        (
            {'prediction': 'I look.', 'calls': [{'name': 'add_', 'arguments': {'input': [17, 26]}}]},
            'I look.\nadd_({"input": [17, 26]})',
        ),
        ({'prediction': 'no call'}, 'no call'),
        ({'prediction': 'no list', 'calls': 'add_'}, 'no list'),
        ({'prediction': 'not one', 'calls': ['add_', None]}, 'not one'),
        ({}, ''),
    ],
)
def test_calls_are_shown_as_they_came(prediction: dict[str, Any], shown: str) -> None:
    assert answer_text(prediction) == shown
