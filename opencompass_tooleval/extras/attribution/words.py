"""Describes what a server lost, for the last screen of a sweep, ``tooleval score`` and gates."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.core.statistics.paired import Result
from opencompass_tooleval.extras.attribution.causes import (
    COUNTED_IN_POINTS,
    ERROR,
    ORDER,
    PARSER,
    REASONING,
    TEMPLATE,
    UNKNOWN,
)
from opencompass_tooleval.extras.attribution.points import Faults, is_lost, read_faults
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.findings.kinds import Kind, Level
from opencompass_tooleval.findings.of_results import few

KINDS = {
    'result:served': Kind(Level.WARNING, 'the server lost points, calls or parts of prompts'),
    'result:names': Kind(Level.NOTE, 'the server adds text to the names of calls'),
    'result:not_judged': Kind(Level.NOTE, 'the gate cannot judge what the server lost of a result, or of a part of it'),
    'result:raw_text': Kind(Level.NOTE, 'the server does not return what the model wrote'),
}
"""Kinds of findings: id -> the kind."""
_UNKNOWN_SHARE = 0.1
"""Share of a model's answers without raw text above which a note appears; failed requests never have raw text."""

_BLAMED = {
    PARSER: "the server's parser",
    ORDER: "the server's order of calls",
    REASONING: "the server's parsing of thoughts",
}
_COUNTED = {
    ERROR: 'answers became an error of the server, which could not parse them',
    TEMPLATE: 'prompts reached the model without its tools, or without another part',
}
"""Cause -> words, for samples whose points cannot be counted. Cut answers have their own note."""


def lines_of(by_dataset: Mapping[str, Faults]) -> Iterator[str]:
    """Yields lines on what a server lost: the points of the worst data set, and counts of other errors.

    Args:
        by_dataset: Data set -> ``serving`` in a model's result.
    """
    lost = [
        (loss.lost, name, f'{loss} of {metric}')
        for name, faults in by_dataset.items()
        for metric, loss in faults.main.items()
        if is_lost(loss)
    ]
    if lost:
        _, name, points = max(lost)
        more = len({other for _, other, _ in lost}) - 1
        others = f'; and points in {more} more data set{"s" * (more > 1)}' if more else ''
        share = _share({name: by_dataset[name]}, COUNTED_IN_POINTS, 'answers')
        yield f'{points} in {_short(name)} were lost by {blame(by_dataset[name])} ({share}){others}'
    unscored = {name: one for name, one in by_dataset.items() if one.blamed and not one.points}
    if unscored:
        fault = ' and '.join(dict.fromkeys(map(blame, unscored.values())))
        share = _share(unscored, COUNTED_IN_POINTS, 'answers')
        yield f'{share} were changed by {fault}, at an unknown cost: {few(unscored)}'
    yield from (
        f'{line}: {few(name for name, one in by_dataset.items() if one.causes.get(cause))}'
        for cause, line in faults_of(by_dataset)
    )


def faults_of(by_dataset: Mapping[str, Faults]) -> Iterator[tuple[str, str]]:
    """Yields cause and words of the errors that cannot be counted in points, with the number of samples."""
    for cause, words in _COUNTED.items():
        if affected := {name: one for name, one in by_dataset.items() if one.causes.get(cause)}:
            yield cause, f'{_share(affected, (cause,), words)} ({cause})'


def _names_of(by_dataset: Mapping[str, Faults]) -> Iterator[str]:
    """Yields a line on the text that the names of calls begin or end with in most answers."""
    for text in dict.fromkeys(name for one in by_dataset.values() for name in one.names):
        affected = {name: one for name, one in by_dataset.items() if 2 * one.names.get(text, 0) > one.samples}
        count = sum(one.names[text] for one in affected.values())
        samples = sum(one.samples for one in affected.values())
        if affected:
            what = f'{text}, unlike those of the offered tools; scores stay ({few(affected)})'
            yield f'in {count:,} of {samples:,} answers {what}'


def blame(faults: Faults) -> str:
    """Returns what lost the points: the parser, the order of calls, the parsing of thoughts, or several of these."""
    return ' and '.join(_BLAMED[cause] for cause in faults.blamed)


def _share(by_dataset: Mapping[str, Faults], causes: Collection[str], words: str) -> str:
    count = sum(one.causes.get(cause, 0) for one in by_dataset.values() for cause in causes)
    return f'{count:,} of {sum(one.samples for one in by_dataset.values()):,} {words}'


def _short(name: str) -> str:
    return name.removeprefix(OUR_PREFIX)


def findings_of(results: Mapping[tuple[str, str], Result]) -> Iterator[Finding]:
    """Yields the findings on what servers lost; nothing without losses.

    Args:
        results: Model and data set -> result.
    """
    by_model: dict[str, dict[str, Faults]] = {}
    for (model, dataset), result in results.items():
        if faults := read_faults(result):
            by_model.setdefault(model, {})[dataset] = faults
    unknown = []
    for model, by_dataset in by_model.items():
        yield from (found('result:served', model, line) for line in lines_of(by_dataset))
        yield from (found('result:names', model, line) for line in _names_of(by_dataset))
        counts = [(one.causes.get(UNKNOWN, 0), one.samples) for one in by_dataset.values()]
        if sum(count for count, _ in counts) > _UNKNOWN_SHARE * sum(samples for _, samples in counts):
            unknown.append(model)
    if unknown:
        what = 'servers returned no raw text, or tokenizer_path is missing: lost points cannot be attributed'
        yield found('result:raw_text', '', f'{what} ({first_of(unknown, 2)})')
