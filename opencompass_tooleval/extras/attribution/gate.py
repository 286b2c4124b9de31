"""Decides whether the servers of a run lost more than a build allows. This module does not import OpenCompass.

A server's lost points are an exact difference for this run, since the same answers are scored twice. They need no test;
their interval shows what other records would give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.attribution.causes import UNKNOWN
from opencompass_tooleval.extras.attribution.points import Faults, Loss, is_lost, read_faults
from opencompass_tooleval.extras.attribution.words import blame, faults_of
from opencompass_tooleval.findings.finding import with_notes
from opencompass_tooleval.results.gating import HELD, Rules
from opencompass_tooleval.results.junit import Case, Suite
from opencompass_tooleval.results.result_row import Results, valid_result

LOST = 'lost'
HEADER = ('data set', 'model', 'score', 'served', 'as written', 'points lost', '')
NOTHING_TO_JUDGE = 2


@dataclass(frozen=True)
class FaultVerdict:
    """One score, or one error of a server.

    Attributes:
        model: The model.
        dataset: The data set.
        what: The score, or the cause; '' for a result without an error.
        outcome: :data:`LOST`, or ``held``.
        why: The outcome in words.
        loss: The loss of a score; None for errors that cannot be counted in points.
    """

    model: str
    dataset: str
    what: str
    outcome: str
    why: str
    loss: Loss | None = None

    def cells(self) -> tuple[str, ...]:
        """Returns a row of a table with :data:`HEADER`."""
        scores = ('', '') if self.loss is None else (f'{self.loss.served:.2f}', f'{self.loss.written:.2f}')
        return (self.dataset, self.model, self.what, *scores, self.why, self.outcome)


@dataclass
class FaultGate:
    """Result of a gate on what servers lost.

    Attributes:
        verdicts: The judged scores and errors, failures first.
        notes: Results, or parts of them, that could not be judged.
        status: 0 if nothing was lost, 1 if something was, 2 if no result has an attribution.
    """

    verdicts: list[FaultVerdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    status: int = 0

    def summary(self) -> str:
        """Returns the outcome in one line."""
        lost = [one for one in self.verdicts if one.outcome == LOST]
        if self.status == NOTHING_TO_JUDGE:
            return 'servers: nothing to judge; set attribution=True in the config of the model to store what it wrote'
        if not lost:
            count = len({(one.model, one.dataset) for one in self.verdicts})
            return f'servers: held: no result of {count} lost more than --max-drop points'
        more = f', and {len(lost) - 1} more' if len(lost) > 1 else ''
        return f'servers: lost: {lost[0].dataset} {lost[0].what}, {lost[0].model}: {lost[0].why}{more}'

    def lines(self, most: int) -> Iterator[str]:
        """Yields the lines for a screen, with at most this many verdicts and notes."""
        for one in self.verdicts[:most]:
            yield f'{one.outcome.upper() if one.outcome == LOST else one.outcome} {one.dataset}, {one.model}: {one.why}'
        if len(self.verdicts) > most:
            yield f'and {len(self.verdicts) - most} more, in --markdown, --junit and --json'
        yield from (one.line for one in with_notes((), self.notes[:most]))
        yield self.summary()

    def table(self) -> list[tuple[str, ...]]:
        """Returns the rows of a table, with the header first."""
        return [HEADER, *(one.cells() for one in self.verdicts)]

    def suite(self) -> Suite:
        """Returns a test case per score and error."""
        cases = [
            Case(f'{one.dataset} {one.what}'.strip(), one.model, one.outcome == HELD, one.why, one.why)
            for one in self.verdicts
        ]
        return Suite('tooleval gate --serving', cases, (('result', self.summary()),))


def judge_servers(run: Results, model: str | None, rules: Rules) -> FaultGate:
    """Judges the results of a run.

    For each data set the main metrics count, or the metrics that the rules name. A result fails if a score lost more
    than ``max_drop`` points, if answers that could not be scored again may have lost as many, or if the server returned
    errors for answers that it could not parse, or dropped parts of prompts.

    Args:
        run: The run.
        model: Only this model is judged; None for all models.
        rules: The settings: ``metrics``, ``datasets`` and ``max_drop``.

    Raises:
        DataError: The model and the data sets have no result, or a result is damaged.
    """
    gate = FaultGate()
    pairs = [pair for pair in run.pairs() if model in (None, pair[0]) and fnmatchcase(pair[1], rules.datasets)]
    if not pairs:
        raise DataError(run.path, f'no result of {model or "any model"} on data sets {rules.datasets!r}')
    for name, dataset in pairs:
        faults = read_faults(valid_result(run, name, dataset) or {})
        unknown, samples = (faults.causes.get(UNKNOWN, 0), faults.samples) if faults else (1, 1)
        if unknown == samples:
            gate.notes.append(f'{dataset}, {name}: not judged, since it is unknown what the model wrote')
        elif faults:
            verdicts = list(_verdicts(name, dataset, faults, rules))
            gate.verdicts += verdicts
            gate.notes += [] if verdicts else [f'{dataset}, {name}: not judged, since no score matches --metric']
            if unknown:
                gate.notes.append(
                    f'{dataset}, {name}: what the model wrote is unknown for {unknown} of {samples} answers'
                )
    gate.verdicts.sort(key=lambda one: one.outcome != LOST)
    gate.status = NOTHING_TO_JUDGE if not gate.verdicts else int(gate.verdicts[0].outcome == LOST)
    return gate


def _verdicts(model: str, dataset: str, faults: Faults, rules: Rules) -> Iterator[FaultVerdict]:
    named = {metric for metric in faults.points for pattern in rules.metrics if fnmatchcase(metric, pattern)}
    for metric, loss in faults.points.items():
        if metric not in (named if rules.metrics else faults.main):
            continue
        why = f'{loss} by {blame(faults)}' if loss.lost else str(loss)
        yield FaultVerdict(model, dataset, metric, LOST if is_lost(loss, rules.max_drop) else HELD, why, loss)
    changed, count = sum(faults.blamed.values()), faults.samples
    if changed and not faults.points:
        most = 100 * changed / count
        why = f'{changed} of {count} answers changed by {blame(faults)}: up to {most:.1f} points'
        yield FaultVerdict(model, dataset, 'answers', LOST if most > rules.max_drop else HELD, why)
    others = list(faults_of({dataset: faults}))
    yield from (FaultVerdict(model, dataset, cause, LOST, line) for cause, line in others)
    if not faults.points and not changed and not others:
        yield FaultVerdict(model, dataset, '', HELD, f'no error of the server in {count} answers')
