"""``tooleval score ultratool``: recorded answers and judgements to numbers, without OpenCompass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.cli.right_subset import check_name, warn_if_unread
from opencompass_tooleval.core.answer import clean
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.recorded_row import read_recorded_row
from opencompass_tooleval.sweep.judgement_files import judged_answers
from opencompass_tooleval.sweep.recorded import RecordedAnswers, load_recorded
from opencompass_tooleval.ultratool import VERSION
from opencompass_tooleval.ultratool.judgement_rows import check_single, is_silent, load_judgements, with_answers
from opencompass_tooleval.ultratool.prompts import INSTRUCTIONS
from opencompass_tooleval.ultratool.protocol import Protocol, preset_of
from opencompass_tooleval.ultratool.records import (
    CURE,
    TABLE,
    Record,
    Subset,
    find_subset,
    guess_language,
    load_recorded_rows,
    load_records,
    read_rows,
)
from opencompass_tooleval.ultratool.score_judged import JUDGED_KINDS, Judged, check_unjudged
from opencompass_tooleval.ultratool.score_steps import StepsScore
from opencompass_tooleval.ultratool.scoring import aggregate_scores, breakdown, score_answers, score_judgements

_NAMES = [row.name for row in TABLE]
_SAMPLE = 4000
"""So many characters tell the language of a file."""


@dataclass(frozen=True)
class UltraToolRequest:
    """What ``tooleval score ultratool`` was asked; the fields are its options.

    Attributes:
        task: Name of the subset, such as ``tool_usage`` or ``tool_selection_32``.
        predictions: The authors' file of answers, or any other recorded answers (these need ``data``).
        data: The records; the authors' files of answers hold them too.
        judgements: Planning and tool creation: what the judge said; without, the judged scores are None.
        language: ``zh`` or ``en``; by default what path or text say.
        lists: ``last`` or ``span``; by default ``span`` for files in the authors' GPT shape, else ``last``.
        scoring: ``official`` or ``strict``.
        gold: ``official`` or ``repaired``: which gold ``data`` holds.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per sample.
    """

    task: str
    predictions: Path | None = None
    data: Path | None = None
    judgements: Path | None = None
    language: str | None = None
    lists: str | None = None
    scoring: str = 'official'
    gold: str = 'official'
    json_out: str | None = None
    details: Path | None = None


@dataclass(frozen=True)
class _Loaded:
    """Records and answers as far as they are known, in the same order; and the shapes that answers were recorded in."""

    records: list[Record] | None
    answers: list[Any] | None
    shapes: Sequence[str | None] = ()


def _language(request: UltraToolRequest) -> str:
    if request.language:
        return request.language
    for file in (request.data, request.predictions, request.judgements):
        if file is not None and file.is_file():
            with file.open(encoding='utf-8', errors='replace') as stream:
                return guess_language(file, stream.read(_SAMPLE))
    return 'zh'


def _is_authors(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        return read_recorded_row(next(read_rows(file))[1]) is not None
    except DataError:
        return False


def _same(records: Sequence[Record], carried: Sequence[Record | None], predictions: Path) -> None:
    """Checks that answers belong to the records of another file, by the texts of their steps."""
    if len(records) != len(carried):
        raise DataError(predictions, f'it holds {len(carried)} answers for {len(records)} records')
    for record, own in zip(records, carried, strict=True):
        mine = [step.text for step in record.steps] or record.question
        if own is not None and mine != ([step.text for step in own.steps] or own.question):
            raise DataError(predictions, 'the answer belongs to another record than the data has there', record.id)


def _load_authors(predictions: Path, request: UltraToolRequest, subset: Subset, language: str) -> _Loaded:
    check_name(predictions, subset.name, _NAMES, subset.task)
    rows = load_recorded_rows(predictions, subset.name, language)
    carried = [row.record for row in rows]
    if request.data is not None:
        records = load_records(request.data, subset.name, language)
        _same(records, carried, predictions)
    else:
        records = [record for record in carried if record is not None]
        if len(records) != len(rows):
            raise DataError(predictions, 'the answers come without their records: say --data FILE', cure=CURE)
    return _Loaded(records, [clean(row.answer) for row in rows], [row.shape for row in rows])


def _check_task(recorded: RecordedAnswers, subset: Subset) -> None:
    """Checks that answers which say their prompt were not asked for another task."""
    wordings = [(task, text) for tasks in INSTRUCTIONS.values() for task, text in tasks.items()]
    for record, question in recorded.questions.items():
        tasks = {task for task, text in wordings if text in question.prompt}
        if tasks and subset.task not in tasks:
            what = f'by its prompt this is an answer to {", ".join(sorted(tasks))}, not to {subset.name}'
            raise DataError(recorded.path, what, str(record))


def _load(request: UltraToolRequest, subset: Subset, language: str) -> _Loaded:
    if request.predictions is not None and not request.predictions.exists():
        raise DataError(request.predictions, 'the file is missing')
    if request.predictions is not None and _is_authors(request.predictions):
        return _load_authors(request.predictions, request, subset, language)
    records = load_records(request.data, subset.name, language) if request.data is not None else None
    if request.predictions is None:
        return _Loaded(records, None)
    if records is None:
        raise DataError(request.predictions, 'the answers come without their records: say --data FILE', cure=CURE)
    recorded = load_recorded(request.predictions)
    recorded.check_complete([record.id for record in records])
    check_name(request.predictions, subset.name, _NAMES, subset.task, recorded)
    _check_task(recorded, subset)
    answers = [recorded.answer(record.id, position) for position, record in enumerate(records)]
    return _Loaded(records, list(map(clean, answers)), [answer.recorded_shape for answer in answers])


def _check(request: UltraToolRequest, subset: Subset) -> None:
    judged = subset.kind in JUDGED_KINDS
    if judged and request.judgements is None and request.predictions is None:
        raise ValueError(f'{subset.name} needs answers or what a judge said of them: say --predictions or --judgements')
    if not judged and request.judgements is not None:
        raise ValueError(f'{subset.name} is scored without a judge: leave --judgements out')
    if not judged and request.predictions is None:
        raise ValueError(f'{subset.name} needs answers: say --predictions FILE')
    if request.gold != 'official' and request.data is None:
        raise ValueError(f'--gold {request.gold} needs records with that gold: say --data FILE')


def _score(request: UltraToolRequest, subset: Subset, loaded: _Loaded, rules: Protocol) -> list[StepsScore]:
    judgements = None
    if request.judgements is not None:
        judgements = _judgements(request.judgements, subset, loaded, rules)
    if loaded.answers is None:
        scores = score_judgements(subset, judgements or [], rules, loaded.records)
        mend = f'Say with --predictions FILE which answers {request.judgements} judged'
    else:
        scores = score_answers(loaded.records or [], loaded.answers, rules, judgements)
        mend = f'{request.judgements} has to judge the very answers of {request.predictions}'
    check_unjudged([(score.id, step) for score in scores for step in score.steps], mend)
    return scores


def _judgements(file: Path, subset: Subset, loaded: _Loaded, rules: Protocol) -> list[Judged]:
    judgements = load_judgements(file, subset, rules, loaded.records)
    if loaded.answers is None:
        check_single(judgements, file)
    elif any(map(is_silent, judgements)):
        records = loaded.records or []
        answers = judged_answers(file, [record.id for record in records])
        judgements = with_answers(judgements, answers, records, rules)
    return judgements


def _gold(request: UltraToolRequest, loaded: _Loaded) -> str:
    """Which gold the records hold; that they are asked for is not enough."""
    held = sorted({record.gold for record in loaded.records or ()}) or [request.gold]
    if request.gold != 'official' and held != [request.gold]:
        raise ValueError(f'--gold {request.gold} was said, but the records hold {", ".join(held)} gold')
    return ', '.join(held)


def _print(result: dict[str, Any]) -> None:
    console = Console()
    shown = ' '.join(str(result[name]) for name in ('subset', 'language', 'scoring'))
    print_metrics(f'UltraTool {shown}, {result["samples"]} samples', result, console)
    for name in ('reasons', 'error_types', 'rungs'):
        console.print(counts_line(name, result[name]), markup=False)
    expected = find_subset(result['subset']).count
    if result['samples'] != expected:
        console.print(f'NOTE {result["samples"]} samples of {expected}: not comparable with the paper', markup=False)
    if result.get('judged') is False:
        console.print('NOTE nobody judged the answers: they were only read. Say --judgements FILE', markup=False)
    if result['rebuilt']:
        console.print('NOTE the records are rebuilt: not comparable with the paper', markup=False)


def score_ultratool(request: UltraToolRequest) -> None:
    """Scores recorded answers or judgements and prints or writes what was asked for.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        UnjudgedError: More than 1% could not be judged.
        ValueError: The options do not fit the task, or name what does not exist.
    """
    check_outputs(request.json_out, request.details)
    subset = find_subset(request.task)
    _check(request, subset)
    language = _language(request)
    loaded = _load(request, subset, language)
    rules = Protocol(request.scoring, gold=request.gold)
    rules = replace(rules, lists=request.lists) if request.lists else rules.with_shapes(loaded.shapes)
    scores = _score(request, subset, loaded, rules)
    if request.predictions is not None:
        warn_if_unread(scores, request.predictions, subset.name)
    total = aggregate_scores(scores, subset.metrics)
    result = {
        'benchmark': 'ultratool',
        'subset': subset.name,
        'language': language,
        'scoring': rules.scoring,
        'preset': preset_of(loaded.shapes, rules.lists),
        'lists': rules.lists,
        'gold': _gold(request, loaded),
        'rebuilt': any(record.rebuilt for record in loaded.records or ()),
        'version': VERSION,
        **({'judged': request.judgements is not None} if subset.kind in JUDGED_KINDS else {}),
        'samples': total.samples,
        'metrics': total.metrics,
        'standard_errors': total.standard_errors,
        'reasons': total.reasons,
        **breakdown(scores, subset.metrics),
    }
    write_outputs(result, scores, request.json_out, request.details)
    if request.json_out != STDOUT:
        _print(result)
