"""Reads recorded answers in the usual file formats. Imports no OpenCompass.

Rows of UltraTool's published answers contain the record and the answer. For GPT models: ``{"data": RECORD, "init
output": TEXT}``. For open models: ``{"question": RECORD, "original ans": GOLD, "total output": {"init prompt": TEXT,
"init output": [TEXT, ...]}}``, with one text per sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, with_extras
from opencompass_tooleval.core.calls.messages import Message, joined_text, messages_text, prompt_digest
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.json_object import load_object
from opencompass_tooleval.work_dir.data_files import MAX_RUN_BYTES, read_plain


@dataclass(frozen=True)
class RecordedQuestion:
    """The question of a recorded answer, as far as known.

    Attributes:
        source: Name of the dataset in this package's predictions files, such as ``plan_json_v2``, or ''.
        dataset: Abbr of the dataset in exported predictions, or ''.
        prompt: All texts of the prompt, or ''.
        asked: Digest of the prompt in this package's predictions files, or ''.
    """

    source: str = ''
    dataset: str = ''
    prompt: str = ''
    asked: str = ''

    def fits(self, messages: Sequence[Message]) -> bool:
        """Tests if these messages may be the recorded prompt, with any roles."""
        if self.prompt:
            return all(message.content in self.prompt for message in messages)
        return not self.asked or self.asked in _digests(messages)


def _digests(messages: Sequence[Message]) -> Iterator[str]:
    """Yields the digests of a prompt with these messages, one for each choice of roles."""
    text = messages_text(messages)
    for function_role, system_role in product(('user', 'system', 'assistant'), ('system', 'user', 'assistant')):
        yield prompt_digest(text, function_role, system_role)


def _texts(prompt: Any) -> Iterator[str]:
    if isinstance(prompt, str):
        try:
            parsed = json.loads(prompt) if prompt.lstrip().startswith('[') else None
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, list) and all(isinstance(item, dict) for item in parsed):
            yield from _texts(parsed)
        else:
            yield prompt
    elif isinstance(prompt, list):
        for item in prompt:
            text = item.get('prompt', item.get('content')) if isinstance(item, dict) else item
            if isinstance(text, str):
                yield text


def question_of(row: Any) -> RecordedQuestion:
    """Reads the question from a row of a predictions file or of the authors' results."""
    if not isinstance(row, Mapping):
        return RecordedQuestion()
    names = ('source', 'dataset', 'prompt_digest')
    source, dataset, asked = (row[name] if isinstance(row.get(name), str) else '' for name in names)
    prompt = row.get('origin_prompt', row.get('prompt') if dataset else None)  # an exported row has a dataset
    return RecordedQuestion(source, dataset, '\n'.join(_texts(prompt)), asked)


RECORDED_SHAPE = 'recorded_shape'
"""Column of a predictions file with the published format of a replayed answer."""

_TEXT_KEYS = ('prediction', 'answer', 'output', 'response')
_ID_KEYS = ('record_id', 'id')


@dataclass
class RecordedAnswers:
    """Recorded answers, by record id if the file has ids, else by position.

    Attributes:
        path: File or folder of the answers, for messages.
        by_id: Record id -> answer.
        by_position: Position in the dataset -> answer (for OpenCompass's own prediction files).
        questions: Record id or position -> the question recorded with the answer.
    """

    path: Path
    by_id: dict[str, Answer] = field(default_factory=dict)
    by_position: dict[int, Answer] = field(default_factory=dict)
    questions: dict[str | int, RecordedQuestion] = field(default_factory=dict)

    def question(self, record_id: str, position: int) -> RecordedQuestion:
        """Returns the question recorded with the answer to a record."""
        return self.questions.get(record_id if self.by_id else position, RecordedQuestion())

    def answer(self, record_id: str, position: int) -> Answer:
        """Returns the answer to a record.

        Raises:
            DataError: There is no answer. A missing answer never counts as an empty one.
        """
        if record_id in self.by_id:
            return self.by_id[record_id]
        if not self.by_id and position in self.by_position:
            return self.by_position[position]
        raise DataError(self.path, 'no answer is recorded for it', record=record_id)

    def in_order(self, record_ids: Sequence[str]) -> dict[str, Answer]:
        """Returns the answers by record id, after checking that exactly these records have answers.

        Raises:
            DataError: A record has no answer, or the file answers other records.
        """
        if not self.by_id and not self.by_position:
            raise DataError(self.path, 'it holds no answers')
        if not self.by_id and len(self.by_position) != len(record_ids):
            what = f'it holds {len(self.by_position)} answers by position for {len(record_ids)} records'
            raise DataError(self.path, what)
        unknown = sorted(set(self.by_id) - set(record_ids))
        if unknown and len(unknown) == len(self.by_id) and all(map(str.isdecimal, unknown)):
            lacking = next((number for number in range(len(record_ids)) if str(number) not in self.by_id), None)
            fault = 'these are in another order' if lacking is None else f'number {lacking} is missing'
            what = 'answers without record ids are numbered 0, 1, 2, ... in the order of the records'
            raise DataError(self.path, f'{what}; {fault}')
        if unknown:
            raise DataError(self.path, f'{len(unknown)} answers belong to no record of the data', record=unknown[0])
        missing = [record_id for record_id in record_ids if self.by_id and record_id not in self.by_id]
        if missing:
            raise DataError(self.path, f'no answer is recorded for it and {len(missing) - 1} more', record=missing[0])
        return {record_id: self.answer(record_id, position) for position, record_id in enumerate(record_ids)}


def _answer(path: Path, name: str, item: Any) -> Answer:
    """Reads a recorded answer. An answer that is already parsed becomes Python text, as in the authors' script."""
    infra = finish_reason = shape = None
    row = item if isinstance(item, dict) else {}
    if isinstance(item, dict):
        key = next((key for key in _TEXT_KEYS if key in item), None)
        published = read_recorded_row(item) if key is None else None
        if key is None and published is None:
            raise DataError(path, f'it has no {", ".join(_TEXT_KEYS)} or init output', record=name)
        infra, finish_reason = item.get('infra'), item.get('finish_reason')
        shape = published.shape if published else item.get(RECORDED_SHAPE)
        item = published.answer if published else item[str(key)]
    if item is None:
        raise DataError(path, 'its answer is null', record=name)
    if infra is not None and not isinstance(infra, str):
        raise DataError(path, "its 'infra' is neither text nor null", record=name)
    try:
        item = joined_text(item)
    except ValueError as error:
        raise DataError(path, str(error), record=name) from error
    finish_reason, shape = (text if isinstance(text, str) else None for text in (finish_reason, shape))
    try:
        return with_extras(Answer(str(item), infra, finish_reason, shape), row)
    except ValueError as error:
        raise DataError(path, str(error), record=name) from error


def _record_id(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    return next((str(item[key]) for key in _ID_KEYS if key in item), None)


_MORE_THAN_ONCE = (
    'it is answered more than once. Several trials (n in a config) are scored, and judged, in their run: '
    'opencompass CONFIG -w WORK_DIR -r TIME -m eval'
)


def _read_text(path: Path) -> str:
    try:
        return read_plain(path, MAX_RUN_BYTES).decode('utf-8')
    except DataError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(path, f'cannot be read as UTF-8 ({error})') from error


def _parse(path: Path, text: str, where: str = '') -> Any:
    try:
        value, repeated = load_object(text)
    except ValueError as error:
        raise DataError(path, f'{where}cannot be read as JSON ({error})') from error
    if repeated:
        raise DataError(path, 'it is answered more than once', record=repeated[0])
    return value


def _is_json_lines(text: str) -> bool:
    """Tests if each line is a separate object, as in UltraTool's files, whatever the file's extension."""
    # An object over several lines has only '{' on its first.
    first, newline, rest = text.partition('\n')
    return bool(newline and rest.strip()) and first.startswith('{') and first.rstrip().endswith('}')


def _by_position(recorded: RecordedAnswers, items: Sequence[Any]) -> RecordedAnswers:
    recorded.by_position = {i: _answer(recorded.path, str(i), item) for i, item in enumerate(items)}
    recorded.questions = {i: question_of(item) for i, item in enumerate(items)}
    return recorded


def _by_id(recorded: RecordedAnswers, items: Iterable[tuple[str | None, Any]]) -> RecordedAnswers:
    for record_id, item in items:
        if record_id is None:
            raise DataError(recorded.path, 'some answers name their record and some do not')
        if record_id in recorded.by_id:
            raise DataError(recorded.path, _MORE_THAN_ONCE, record=record_id)
        recorded.by_id[record_id] = _answer(recorded.path, record_id, item)
        recorded.questions[record_id] = question_of(item)
    return recorded


def _of_list(recorded: RecordedAnswers, items: Sequence[Any]) -> RecordedAnswers:
    ids = [_record_id(item) for item in items]
    return _by_id(recorded, zip(ids, items, strict=True)) if any(ids) else _by_position(recorded, items)


def _is_numbered(content: dict[str, Any]) -> bool:
    """Tests if the keys are positions, as in OpenCompass's files: 0, 1, 2, ... in this order.

    T-Eval's ids may be numbers too (``126``), but its result files contain the record with each answer.
    """
    in_order = all(key == str(position) for position, key in enumerate(content))
    return in_order and not any(isinstance(item, dict) and 'ground_truth' in item for item in content.values())


def _of_object(recorded: RecordedAnswers, content: dict[str, Any]) -> RecordedAnswers:
    if _is_numbered(content):
        return _of_list(recorded, list(content.values()))
    return _by_id(recorded, ((_record_id(item) or key, item) for key, item in content.items()))


def load_recorded(path: Path) -> RecordedAnswers:
    """Reads recorded answers.

    Args:
        path: One of these: T-Eval's result file (JSON, id -> record with ``prediction``), or its folder with one file
            per id; a predictions file of OpenCompass (JSON, ``"0"``, ``"1"``, ... -> row; by ``record_id`` if this
            package wrote it); JSON Lines with ``id`` or ``record_id`` and ``prediction``; UltraTool's files of answers
            (JSON Lines, :mod:`~opencompass_tooleval.work_dir.recorded`).

    Raises:
        DataError: The path is missing or cannot be read.
    """
    recorded = RecordedAnswers(path)
    if path.is_dir():
        files = sorted(path.glob('*.json'))
        if not files:
            raise DataError(path, 'the folder holds no .json files')
        return _by_id(recorded, ((file.stem, _parse(file, _read_text(file))) for file in files))
    if not path.is_file():
        raise DataError(path, 'the file is missing')
    text = _read_text(path)
    if path.suffix == '.jsonl' or _is_json_lines(text):
        # Not splitlines: it also splits at U+2028, which may occur within JSON.
        lines = enumerate(text.split('\n'), start=1)
        return _of_list(recorded, [_parse(path, line, f'line {i}: ') for i, line in lines if line.strip()])
    content = _parse(path, text)
    if isinstance(content, list):
        return _of_list(recorded, content)
    if not isinstance(content, dict):
        raise DataError(path, 'the file is neither an object nor a list')
    return _of_object(recorded, content)


GPT, OPEN = 'gpt', 'open'
_ANSWER, _OPEN_ANSWERS = 'init output', 'total output'


@dataclass(frozen=True)
class RecordedRow:
    """A row of published answers.

    Attributes:
        record: The record in the row; None if the row has none.
        answer: The answer: a text, or a parsed value; None if the row has none.
        shape: ``gpt`` or ``open``.
    """

    record: Any
    answer: Any
    shape: str


def read_recorded_row(row: Any) -> RecordedRow | None:
    """Reads a row of published answers; returns None for other formats."""
    if not isinstance(row, Mapping):
        return None
    if _OPEN_ANSWERS in row:
        output = row[_OPEN_ANSWERS]
        answer = output.get(_ANSWER) if isinstance(output, Mapping) else None
        return RecordedRow(row.get('question'), _first(answer), OPEN)
    if _ANSWER in row:
        return RecordedRow(row.get('data'), _first(row[_ANSWER]), GPT)
    return None


def _first(answer: Any) -> Any:
    """Returns the first text in a list of texts. A list of other values is an answer that is already parsed."""
    return answer[0] if isinstance(answer, list) and answer and isinstance(answer[0], str) else answer
