"""Losses by servers: a table by data set and model, and parts of samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.core.calls.observed import Observed
from opencompass_tooleval.core.calls.trajectory import Step
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.extras.attribution.causes import CAUSES, NONE, SERVING, UNKNOWN
from opencompass_tooleval.extras.attribution.points import Faults, fault_of, read_faults
from opencompass_tooleval.extras.attribution.reading import attribution_of, attribution_of_row, observations_of
from opencompass_tooleval.report.figure import Table, shown
from opencompass_tooleval.report.names import cut, title_of
from opencompass_tooleval.report.reasons import fragment
from opencompass_tooleval.results.table import ModelResult

_FAULTS = tuple(cause for cause in CAUSES if cause != NONE)
_NAME = 200


def fault_tables(family: str, entries: Sequence[ModelResult]) -> Iterator[Table]:
    """Yields a table of lost points and of samples by cause, with links to the samples; nothing without
    attributions."""
    found = _attributed(sorted(entries, key=lambda entry: (entry.dataset, entry.model)))
    causes = [cause for cause in _FAULTS if any(faults.causes.get(cause) for _, faults in found)]
    rows, links = [], []
    for entry, faults in found:
        counts = tuple(str(faults.causes.get(cause) or '') for cause in causes)
        to_samples = tuple(
            '' if cause == UNKNOWN else fragment(entry.model, entry.dataset, cause=cause) for cause in causes
        )
        for metric, loss in faults.main.items() or (('', None),):
            scores = (shown(loss.served), shown(loss.written), str(loss)) if loss else ('', '', '')
            name = words_of_metric(metric).name if metric else ''
            rows.append((title_of(entry.dataset), entry.model, name, *scores, *counts, str(faults.samples)))
            links.append(('',) * 6 + (*to_samples, ''))
    if rows:
        names = (words_of_reason(cause).name for cause in causes)
        columns = ('data set', 'model', 'score', 'as served', 'as written', 'lost [95%]', *names, 'answers')
        title = 'Errors of servers: scores of the answers as served and as the model wrote them, and answers by cause'
        yield Table(f'serving-{family}', title, columns, tuple(rows), tuple(links))


def _attributed(entries: Sequence[ModelResult]) -> list[tuple[ModelResult, Faults]]:
    return [(entry, faults) for entry in entries if (faults := read_faults(entry.result))]


def cause_of(detail: Mapping[str, Any]) -> str:
    """Returns the cause of a sample's error; '' without one."""
    part = detail.get(SERVING)
    cause = part.get('cause') if isinstance(part, Mapping) else None
    return cause if cause in _FAULTS else ''


def shown_fault(detail: Mapping[str, Any], prediction: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Returns the error of a sample for a page: cause, note, raw text, and the values of the answer as written.

    Args:
        detail: The sample.
        prediction: Its prediction row with the complete raw text; empty if the file is missing.
        most: Maximum length of a text.
    """
    part = detail.get(SERVING)
    part = part if isinstance(part, Mapping) else {}
    values = part.get('written')
    stored = attribution_of_row(prediction) if part or prediction.get(SERVING) else None
    fault = fault_of(stored or attribution_of(Observed(earlier={**part, 'written': None})))
    found: dict[str, Any] = {name: cut(text, most) for name, text in fault.items()}
    if found and isinstance(values, Mapping):
        found['values'] = {str(name)[:_NAME]: value for name, value in values.items() if is_number(value)}
    return found


def members_of_sample(detail: Mapping[str, Any], prediction: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Returns a sample's additional member for the browser; empty without an error."""
    found = shown_fault(detail, prediction, most)
    return {SERVING: found} if found else {}


def members_of_steps(
    steps: Sequence[Step], prediction: Mapping[str, Any]
) -> Iterator[tuple[int, dict[str, dict[str, str]]]]:
    """Yields index and additional member of the steps in which the server made an error."""
    records = observations_of(prediction) or ()
    for place, step in enumerate(steps):
        if isinstance(step.observed, Mapping):
            found = attribution_of(Observed(earlier=step.observed))
        else:
            number = step.observed or 0
            found = attribution_of(records[number - 1]) if 0 < number <= len(records) else None
        if fault := fault_of(found):
            yield place, {SERVING: fault}
