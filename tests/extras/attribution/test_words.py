"""What servers lost is said on the last screen: once, and only where something was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.attribution.causes import ERROR, LIMIT, NONE, PARSER, REASONING, TEMPLATE, UNKNOWN
from opencompass_tooleval.extras.attribution.words import findings_of
from tests.summarizers.test_summarizer import TIME, Run, result

LOSS = {'served': 80.0, 'written': 83.4, 'lost': 3.4, 'low': 2.1, 'high': 4.9}


def served(causes: dict[str, int], lost: float = 0.0) -> dict[str, Any]:
    points = {'review_quality': {**LOSS, 'lost': lost}} if lost else {}
    return {'serving': {'causes': causes, 'points': points}}


def named(count: int) -> dict[str, Any]:
    names = {"the names of all calls begin with 'functions.'": count}
    return {'serving': {'causes': {NONE: 300}, 'points': {}, 'names': names}}


@pytest.mark.parametrize(
    ('results', 'notes'),
    [
        ({'a': {}}, []),
        ({'a': served({NONE: 300})}, []),
        ({'a': served({NONE: 299, LIMIT: 1})}, []),  # has a note of its own
        ({'a': served({NONE: 299, PARSER: 1}, -1.0)}, []),  # a lenient server did better
        (
            {
                'a': served({NONE: 288, PARSER: 12}, 3.4),
                'b': served({NONE: 280, PARSER: 12, REASONING: 8}, 9.0),
                'c': served({NONE: 259, TEMPLATE: 41}),
                'd': served({NONE: 299, ERROR: 1}),
                'e': served({NONE: 30, PARSER: 10}),
            },
            [
                "WARNING m: 9.0 points [2.1, 4.9] of review_quality in b were lost by the server's parser and the "
                "server's parsing of thoughts (20 of 300 answers); and points in 1 more data set",
                "WARNING m: 10 of 40 answers were changed by the server's parser, at an unknown cost: e",
                'WARNING m: 1 of 300 answers became an error of the server, which could not parse them '
                '(serving:error): d',
                'WARNING m: 41 of 300 prompts reached the model without its tools, or without another part '
                '(serving:template): c',
            ],
        ),
        (
            {'a': served({UNKNOWN: 300}), 'b': served({UNKNOWN: 300})},
            ['NOTE servers returned no raw text, or tokenizer_path is missing: lost points cannot be attributed (m)'],
        ),
        (
            {'a': named(270), 'b': named(290), 'c': named(20)},
            [
                "NOTE m: in 560 of 600 answers the names of all calls begin with 'functions.', unlike those of the "
                'offered tools; scores stay (a, b)'
            ],
        ),
        ({'a': served({NONE: 297, UNKNOWN: 3})}, []),
    ],
)
def test_notes(results: dict[str, Any], notes: list[str]) -> None:
    assert [one.line for one in findings_of({('m', name): one for name, one in results.items()})] == notes


def test_the_last_screen_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, models=('m1', 'm2'), datasets=('d1',)).fill()
    run.write('m2', 'd1', result(**served({NONE: 288, PARSER: 12}, 3.4)))
    run.summarizer().summarize(time_str=TIME)
    printed = capsys.readouterr().out
    warning = "WARNING m2: 3.4 points [2.1, 4.9] of review_quality in d1 were lost by the server's parser"
    assert printed.count(warning) == 1
    assert 'WARNING m1' not in printed
