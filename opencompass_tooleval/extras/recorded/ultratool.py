"""Reads recorded answers to UltraTool, and judgements of them, for ``tooleval score``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from opencompass_tooleval.benchmarks.ultratool.data import (
    FIX,
    TABLE,
    Record,
    Subset,
    find_subset,
    load_recorded_rows,
    load_records,
    read_rows,
)
from opencompass_tooleval.benchmarks.ultratool.judge import JUDGED_KINDS, Judged
from opencompass_tooleval.benchmarks.ultratool.prompts import INSTRUCTIONS, prompt_style_of
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import (
    ScoresGrading,
    UltraToolScorer,
    score_judgements,
)
from opencompass_tooleval.benchmarks.ultratool.tables import FOLDERS
from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.right_subset import check_name
from opencompass_tooleval.work_dir.data_files import open_plain
from opencompass_tooleval.work_dir.recorded import RecordedAnswers, load_recorded, read_recorded_row

_NAMES = [row.name for row in TABLE]
_SAMPLE = 4000
"""Number of characters used to detect the language of a file."""
_CHINESE = re.compile(r'[\u4e00-\u9fff]|\\u[4-9][0-9a-f]{3}')
_CHINESE_SHARE = 0.03
"""Minimum share of Chinese characters in a Chinese row; English rows have some too: ``D:/客户报告.txt``."""
_IN_WORDS = {'zh': 'Chinese', 'en': 'English'}


@dataclass(frozen=True)
class _Files:
    """Input files: answers, their records, and judgements."""

    predictions: Path | None
    data: Path | None
    judgements: Path | None


@dataclass(frozen=True)
class _Loaded:
    """Known records and answers, in the same order, and the formats in which answers were recorded."""

    records: list[Record] | None
    answers: list[Any] | None
    shapes: Sequence[str | None] = ()


def guess_language(file: Path, sample: str) -> str:
    """Guesses ``zh`` or ``en`` from the path (``Chinese-dataset``), else from a ``sample`` of the text."""
    named = (language for language, folder in FOLDERS.items() if folder in file.resolve().parts)
    return next(named, '') or _language_of(sample)


def _language_of(sample: str) -> str:
    return 'zh' if len(_CHINESE.findall(sample)) > _CHINESE_SHARE * len(sample) else 'en'


def _language(files: _Files, given: Literal['zh', 'en'] | None) -> str:
    """Returns the given language, or else that of the files' paths or texts.

    Raises:
        DataError: The text is in the other language, so steps and tools would be compared with those of other requests.
    """
    file = next((file for file in (files.data, files.predictions, files.judgements) if file and file.is_file()), None)
    if file is None:
        return given or 'zh'
    with open_plain(file, None) as stream:
        sample = stream.read(_SAMPLE).decode('utf-8', 'replace')
    language = _language_of(sample) if given else guess_language(file, sample)
    if given and language != given:
        what = f'the text is {_IN_WORDS[language]}, not {_IN_WORDS[given]}'
        raise DataError(file, f'{what}: set --language {language}, or leave it out')
    return language


def _is_authors(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        return read_recorded_row(next(read_rows(file))[1]) is not None
    except DataError:
        return False


def _same(records: Sequence[Record], carried: Sequence[Record | None], predictions: Path) -> None:
    """Checks by the texts of their steps that answers belong to the records of another file."""
    if len(records) != len(carried):
        raise DataError(predictions, f'it contains {len(carried)} answers for {len(records)} records')
    for record, carried_record in zip(records, carried, strict=True):
        texts = [step.text for step in record.steps] or record.question
        if carried_record is not None and texts != (
            [step.text for step in carried_record.steps] or carried_record.question
        ):
            raise DataError(predictions, 'the answer belongs to another record than the one in the data', record.id)


def _load_authors(predictions: Path, files: _Files, subset: Subset, language: str) -> _Loaded:
    check_name(predictions, subset.name, _NAMES, subset.task)
    rows = load_recorded_rows(predictions, subset.name, language)
    carried = [row.record for row in rows]
    if files.data is not None:
        records = load_records(files.data, subset.name, language)
        _same(records, carried, predictions)
    else:
        records = [record for record in carried if record is not None]
        if len(records) != len(rows):
            raise DataError(predictions, 'the answers come without their records: add --data FILE', fix=FIX)
    answers = [Answer(row.answer) if isinstance(row.answer, str) else row.answer for row in rows]
    return _Loaded(records, answers, [row.shape for row in rows])


def _check_task(recorded: RecordedAnswers, subset: Subset) -> None:
    """Checks that answers with recorded prompts do not belong to another task."""
    wordings = [(task, text) for tasks in INSTRUCTIONS.values() for task, text in tasks.items()]
    for record, question in recorded.questions.items():
        tasks = {task for task, text in wordings if text in question.prompt}
        if tasks and subset.task not in tasks:
            what = f'by its prompt this is an answer to {", ".join(sorted(tasks))}, not to {subset.name}'
            raise DataError(recorded.path, what, str(record))


def _load(files: _Files, subset: Subset, language: str) -> _Loaded:
    if files.predictions is not None and not files.predictions.exists():
        raise DataError(files.predictions, 'the file is missing')
    if files.predictions is not None and _is_authors(files.predictions):
        return _load_authors(files.predictions, files, subset, language)
    records = load_records(files.data, subset.name, language) if files.data is not None else None
    if files.predictions is None:
        return _Loaded(records, None)
    if records is None:
        raise DataError(files.predictions, 'the answers come without their records: add --data FILE', fix=FIX)
    recorded = load_recorded(files.predictions)
    answers = list(recorded.in_order([record.id for record in records]).values())
    check_name(files.predictions, subset.name, _NAMES, subset.task, recorded)
    _check_task(recorded, subset)
    return _Loaded(records, answers, [answer.recorded_shape for answer in answers])


def _check(files: _Files, subset: Subset, gold: str) -> None:
    judged = subset.kind in JUDGED_KINDS
    if judged and files.judgements is None and files.predictions is None:
        raise ValueError(f'{subset.name} needs answers or judgements: add --predictions or --judgements')
    if not judged and files.judgements is not None:
        raise ValueError(f'{subset.name} is scored without a judge: leave out --judgements')
    if not judged and files.predictions is None:
        raise ValueError(f'{subset.name} needs answers: add --predictions FILE')
    if gold != 'official' and files.data is None:
        raise ValueError(f'--gold {gold} needs records with that gold: add --data FILE')


class _JudgementsScorer(UltraToolScorer):
    """Scores judgements without answers: of all records if these are known, else of the judged records."""

    judged: Sequence[Judged] = ()
    records: Sequence[Record] | None = None

    def graded(self, grading: Any, source: str) -> Any:
        """Scores the judgements."""
        return grading.check(score_judgements(self.subset, self.judged, self.rules, self.records), self.fix)


def _check_gold(gold: str, loaded: _Loaded) -> None:
    """Checks that the records have the requested gold."""
    held = sorted({record.gold for record in loaded.records or ()}) or [gold]
    if gold != 'official' and held != [gold]:
        raise ValueError(f'--gold {gold} was given, but the records have {", ".join(held)} gold')


def check_single(judgements: Sequence[Judged], file: Path) -> None:
    """Checks that no item was judged in several answers, since without the answers it is unknown which one counts.

    Raises:
        DataError: An item was judged in several answers.
    """
    seen: set[tuple[str, str]] = set()
    for judged in judgements:
        if (judged.id, judged.step) in seen:
            what = 'the file judges several answers to this record (several runs), and it is unknown which one counts'
            raise DataError(file, what, judged.id)
        seen.add((judged.id, judged.step))


def read(
    subset: str,
    predictions: Path | None = None,
    *,
    data: Annotated[Path | None, "The records; the authors' files of answers also contain them."] = None,
    judgements: Annotated[
        Path | None, 'For planning and tool_creation: judgements; without them, answers are only parsed.'
    ] = None,
    language: Annotated[Literal['zh', 'en'] | None, 'Default: detected from path or text.'] = None,
    list_choice: Annotated[
        Literal['last', 'span'] | None,
        "Which list counts if an answer has several; default: span for the authors' GPT files, else last.",
    ] = None,
    scoring: Annotated[Literal['official', 'strict'], 'As published, or with its quirks fixed.'] = 'official',
    gold: Annotated[Literal['official', 'repaired'], 'Gold in the data.'] = 'official',
) -> RecordedRun:
    """Reads recorded answers or judgements of one subset, such as ``tool_usage``.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        UnjudgedError: More than 1% of the judgements are missing.
        ValueError: The options conflict with the task, or name something that does not exist.
    """
    row, files = find_subset(subset), _Files(predictions, data, judgements)
    _check(files, row, gold)
    in_language = _language(files, language)
    loaded = _load(files, row, in_language)
    _check_gold(gold, loaded)
    rules = Protocol(scoring, gold=gold)
    rules = replace(rules, list_choice=list_choice) if list_choice else rules.with_shapes(loaded.shapes)
    style = prompt_style_of(loaded.shapes, rules.list_choice)
    scorer = UltraToolScorer(subset, in_language, rules, style)
    scorer.is_graded = judgements is not None
    scorer.file, scorer.fix = judgements, f'{judgements} must judge exactly the answers in {predictions}'
    answers = {record.id: answer for record, answer in zip(loaded.records or (), loaded.answers or (), strict=False)}
    if loaded.answers is None and judgements is not None:
        alone = _JudgementsScorer(subset, in_language, rules, style)
        alone.records, alone.fix = loaded.records, f'Name the answers that {judgements} judged with --predictions FILE'
        alone.judged = ScoresGrading(loaded.records or [], [], row, rules).read(judgements)
        check_single(alone.judged, judgements)
        scorer, answers = alone, dict.fromkeys(one.id for one in loaded.records or alone.judged)
    rebuilt = any(record.rebuilt for record in loaded.records or ())
    is_judged, has_judge = row.kind in JUDGED_KINDS, judgements is not None
    notes = ['no judgements: the answers were only parsed. Add --judgements FILE'] if is_judged > has_judge else []
    notes += ['the records are rebuilt: not comparable with the paper'] if rebuilt else []
    names = ('language', 'scoring', 'prompt_style', 'list_choice', 'gold', 'rebuilt', 'version')
    return RecordedRun(
        scorer,
        loaded.records or [],
        answers,
        f'{subset} {in_language} {rules.scoring}',
        (*names, *(['judged'] if is_judged else [])),
        {'judged': has_judge} if is_judged else {},
        ('error_types', 'parse_methods'),
        notes=notes,
        expected=row.count,
    )
