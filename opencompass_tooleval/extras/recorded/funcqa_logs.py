"""Converts logs of EasyTool's published FuncQA runs to trajectories and labels.

A log is a JSON list (or JSON lines) with an object per question: ``question``, ``final_answer``, ``execute_log``
(``api_result_ls``: the calls per task; ``call_result_ls``: their results), ``answer_subtask``, ``answer_wrong``
(discarded tries), ``check_index`` and ``check``, a label. The runs write 0 as every ``check``; people who label a log
set the ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.data import PARAMETER, Record, call_tool
from opencompass_tooleval.benchmarks.funcqa.scoring import EASYTOOL
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.work_dir.data_files import read_json

_OLD_PARAMETER = 'args'
"""Name of the parameter in some calls of the published logs."""

_MARKS = {'question', 'final_answer', 'execute_log'}


@dataclass(frozen=True)
class LoggedQuestion:
    """One question of a log.

    Attributes:
        trajectory: The question's calls, computed again, and its final answer.
        label: The authors' label of the answer, 1 for correct or 0; None in a log without labels.
        differing: Number of calls whose logged result differs from the tools' result.
    """

    trajectory: Trajectory
    label: int | None
    differing: int

    @property
    def discarded(self) -> int:
        """Number of discarded tries; the log contains neither their calls nor the reasons."""
        return sum(not task['done'] for task in self.trajectory.tasks)


@dataclass(frozen=True)
class Labels:
    """The labels of a log.

    Attributes:
        right: Number of answers with the label 1.
        questions: Number of questions.
        agreeing: Number of questions for which ``accuracy`` equals the label.
    """

    right: int
    questions: int
    agreeing: int

    def to_dict(self) -> dict[str, Any]:
        """Converts to JSON values, with ``accuracy``, 0-100: the number that the paper reports."""
        accuracy = 100 * self.right / self.questions
        return {'right': self.right, 'questions': self.questions, 'accuracy': accuracy, 'agreeing': self.agreeing}


def load_log(file: Path, records: Sequence[Record]) -> list[LoggedQuestion] | None:
    """Reads a log and matches it with the records by question, since published logs have another order than the data.

    Args:
        file: Any file of predictions.
        records: The questions.

    Returns:
        An entry per record, in the records' order; None if the file is not a log.

    Raises:
        DataError: The log is damaged, or answers other questions, or answers a question twice.
    """
    entries = _entries(file)
    if entries is None:
        return None
    labelled = any(isinstance(entry, dict) and entry.get('check') for entry in entries)
    questions = {record.question.strip() for record in records}
    logged: dict[str, LoggedQuestion] = {}
    for number, entry in enumerate(entries):
        with naming_record(file, str(number)):
            question = _text(entry, 'question').strip()
            if question not in questions:
                raise Fault('its question is not in the data')
            if question in logged:
                raise Fault('its question was answered before')
            logged[question] = _read(entry, labelled)
    for record in records:
        if record.question.strip() not in logged:
            missing = len(records) - len(logged)
            raise DataError(file, f'the log lacks its question and {missing - 1} more', record.id)
    return [logged[record.question.strip()] for record in records]


def _entries(file: Path) -> list[Any] | None:
    """Returns the entries; None if the file is not a log, or is unreadable (other readers report that)."""
    try:
        value = read_json(file)
    except DataError:
        return None
    entries = [value] if isinstance(value, dict) else value
    is_log = isinstance(entries, list) and bool(entries) and isinstance(entries[0], dict) and set(entries[0]) >= _MARKS
    return entries if is_log else None


def _read(entry: Mapping[str, Any], labelled: bool) -> LoggedQuestion:
    log = entry.get('execute_log')
    if not isinstance(log, dict):
        raise Fault("'execute_log' is not an object")
    calls: list[AnsweredCall] = []
    differing = 0
    for made, result in zip_longest(_list(log, 'api_result_ls'), _list(log, 'call_result_ls')):
        again = list(_calls(made))
        calls += again
        text = '\n\n'.join(call.observation for call in again if not call.error)
        differing += bool(again) and text != result
    index = entry.get('check_index', 0)
    if not isinstance(index, int):
        raise Fault("'check_index' is not a number")
    check = {1: 'yes', -1: 'no'}.get(index, '')
    tasks = (*_tasks(entry, 'answer_subtask', True), *_tasks(entry, 'answer_wrong', False))
    steps = (Step('', tuple(calls)),)  # a log has no rounds
    trajectory = Trajectory(EASYTOOL, steps, _text(entry, 'final_answer'), path=(0,), tasks=tasks, check=check)
    label = entry.get('check') if labelled else None
    if labelled and label not in (0, 1):
        raise Fault("its label 'check' is neither 0 nor 1")
    return LoggedQuestion(trajectory, label, differing)


def _calls(made: Any) -> Iterator[AnsweredCall]:
    """Yields the calls of one task, computed again; a task without a call has text instead."""
    for call in made if isinstance(made, list) else []:
        if not isinstance(call, dict):
            raise Fault('a call is not an object')
        name, given = _text(call, 'api_name'), call.get('parameters')
        for parameters in given if isinstance(given, list) else [given]:
            yield AnsweredCall.of(name, parameters, call_tool(name, _renamed(parameters)))


def _renamed(parameters: Any) -> Any:
    if isinstance(parameters, dict) and PARAMETER not in parameters and _OLD_PARAMETER in parameters:
        return {PARAMETER: parameters[_OLD_PARAMETER]}
    return parameters


def _tasks(entry: Mapping[str, Any], key: str, done: bool) -> Iterator[dict[str, Any]]:
    for task in _list(entry, key):
        if not isinstance(task, dict):
            raise Fault(f'{key!r} contains a value that is not an object')
        yield {'task': task.get('task'), 'answer': task.get('answer'), 'done': done, 'tries': 1}


def _text(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise Fault(f'{key!r} is not a string')
    return value


def _list(entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise Fault(f'{key!r} is not a list')
    return value


def count_labels(logged: Sequence[LoggedQuestion], right: Sequence[bool]) -> Labels | None:
    """Counts the labels, and those that equal ``right`` (in the same order); None without labels."""
    labels = [question.label for question in logged]
    if None in labels:
        return None
    agreeing = sum(bool(label) == verdict for label, verdict in zip(labels, right, strict=True))
    return Labels(sum(map(int, filter(None, labels))), len(labels), agreeing)
