"""Decides whether the servers of a run lost more than a build allows. This module does not import OpenCompass.

A server's lost points are an exact difference for this run, since the same answers are scored twice. They need no test;
their interval shows what other records would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.attribution.causes import UNKNOWN
from opencompass_tooleval.extras.attribution.points import Faults, Loss, is_lost, read_faults
from opencompass_tooleval.extras.attribution.words import blame, faults_of
from opencompass_tooleval.extras.gate.gating import HELD, Judged, Rules
from opencompass_tooleval.extras.gate.junit import Case
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.results.result_row import Results, valid_result

LOST = 'lost'
HEADER = ('data set', 'model', 'score', 'served', 'as written', 'points lost', '')
NOTHING_TO_JUDGE = 2
_MOST = 16


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


def _summary(verdicts: Sequence[FaultVerdict]) -> str:
    lost = [one for one in verdicts if one.outcome == LOST]
    if not verdicts:
        return 'servers: nothing to judge; set attribution=True in the config of the model to store what it wrote'
    if not lost:
        count = len({(one.model, one.dataset) for one in verdicts})
        return f'servers: held: no result of {count} lost more than --max-drop points'
    more = f', and {len(lost) - 1} more' if len(lost) > 1 else ''
    return f'servers: lost: {lost[0].dataset} {lost[0].what}, {lost[0].model}: {lost[0].why}{more}'


def judge_servers(run: Results, model: str | None, rules: Rules) -> Judged:
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
    verdicts: list[FaultVerdict] = []
    findings = []
    pairs = [pair for pair in run.pairs() if model in (None, pair[0]) and fnmatchcase(pair[1], rules.datasets)]
    if not pairs:
        raise DataError(run.path, f'no result of {model or "any model"} on data sets {rules.datasets!r}')
    for name, dataset in pairs:
        faults = read_faults(valid_result(run, name, dataset) or {})
        unknown, samples = (faults.causes.get(UNKNOWN, 0), faults.samples) if faults else (1, 1)
        of_result = list(_verdicts(name, dataset, faults, rules)) if faults and unknown < samples else []
        verdicts += of_result
        if unknown == samples:
            why = 'not judged, since it is unknown what the model wrote'
        elif not of_result:
            why = 'not judged, since no score matches --metric'
        else:
            why = f'what the model wrote is unknown for {unknown} of {samples} answers' if unknown else ''
        findings += [found('result:not_judged', f'{dataset}, {name}', why)] if why else []
    verdicts.sort(key=lambda one: one.outcome != LOST)
    status = NOTHING_TO_JUDGE if not verdicts else int(verdicts[0].outcome == LOST)
    lines = [
        f'{LOST.upper() if one.outcome == LOST else one.outcome} {one.dataset}, {one.model}: {one.why}'
        for one in verdicts
    ][:_MOST]
    if len(verdicts) > _MOST:
        lines.append(f'and {len(verdicts) - _MOST} more, in --markdown, --junit and --json')
    cases = [
        Case(f'{one.dataset} {one.what}'.strip(), one.model, one.outcome == HELD, one.why, one.why) for one in verdicts
    ]
    rows = {'verdicts': list(map(asdict, verdicts)), 'findings': [one.row() for one in findings], 'status': status}
    table = [HEADER, *(one.cells() for one in verdicts)]
    return Judged('tooleval gate --serving', status, _summary(verdicts), lines, [table], findings, cases, rows)


def _verdicts(model: str, dataset: str, faults: Faults, rules: Rules) -> Iterator[FaultVerdict]:
    named = rules.chosen(faults.points, faults.main)
    for metric in [metric for metric in faults.points if metric in named]:
        loss = faults.points[metric]
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
