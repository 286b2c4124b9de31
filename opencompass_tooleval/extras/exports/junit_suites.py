"""JUnit XML for CI servers: a suite per model and data set, and a test case per sample."""

from __future__ import annotations

from collections.abc import Iterator

from opencompass_tooleval.catalogue.labels import words_of_reason
from opencompass_tooleval.catalogue.metrics import main_metrics
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.extras.exports.evaluation import Evaluation, Sample
from opencompass_tooleval.extras.exports.published import as_settings, published
from opencompass_tooleval.extras.exports.settings import ExportSettings
from opencompass_tooleval.extras.gate.junit import Case, Suite, junit_xml
from opencompass_tooleval.results.table import Missing

_ANSWER = 2_000


def files_of(evaluation: Evaluation, settings: ExportSettings) -> Iterator[tuple[str, str]]:
    """Yields the file of a result. A sample passes if it has the best value of each main metric.

    An answer that is missing through no fault of the model is an error, not a failure.
    """
    scored = evaluation.scored
    cases = [_case(evaluation, sample) for sample in evaluation.samples]
    suite = Suite(_name(scored.folder, scored.dataset), cases, list(_properties(evaluation)))
    yield f'{scored.folder}/{scored.dataset}.xml', junit_xml([suite])


def failed(missing: Missing) -> Iterator[tuple[str, str]]:
    """Yields the file of a model and data set without a result: one error, with the reason."""
    suite = _name(missing.model, missing.dataset)
    case = Case('result', suite, False, published(bounded_text(f'no result: {missing.why}')), is_error=True)
    yield f'{missing.model}/{missing.dataset}.xml', junit_xml([Suite(suite, [case])])


def _name(model: str, dataset: str) -> str:
    return f'{model} x {dataset}'


def _properties(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yields the scores with their standard errors, 0-100, those over several trials, and the provenance."""
    for metric, estimator, score in evaluation.scores():
        yield f'{metric} {estimator}'.strip(), repr(score.value)
        yield f'{metric} {estimator} standard error'.replace('  ', ' '), repr(score.standard_error)
    yield from published(as_settings({**evaluation.remarks(), **evaluation.scored.provenance.stored})).items()


def _case(evaluation: Evaluation, sample: Sample) -> Case:
    main = [metric for metric in main_metrics(evaluation.metrics) if metric in sample.values]
    words, seconds = words_of_reason(sample.reason), sample.usage.seconds if sample.usage else None
    values = [f'{metric}: {value!r}' for metric, value in sample.values.items()]
    text = '\n'.join([*values, '', bounded_text(sample.answer, _ANSWER)])
    return Case(
        published(f'{sample.id} (trial {sample.run + 1})' if evaluation.trials > 1 else sample.id),
        _name(evaluation.scored.folder, evaluation.scored.dataset),
        all(map(sample.is_right, main)) if main else None,
        published(f'{sample.reason}: {words.sentence or words.name}'),
        published(text),
        seconds or 0.0,
        bool(sample.error),
    )
