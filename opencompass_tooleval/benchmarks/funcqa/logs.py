"""The logs that EasyTool's published FuncQA runs left behind -> trajectories and labels.

A log is a JSON list (or JSON lines) with an object per question: ``question``, ``final_answer``, ``execute_log``
(``api_result_ls``: the calls per task; ``call_result_ls``: what came of them), ``answer_subtask``, ``answer_wrong``
(tries that were discarded), ``check_index`` and ``check``, a label. The runs write ``check`` as 0 everywhere; whoever
labels a log puts the ones in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.arithmetic import PARAMETER, call_tool
from opencompass_tooleval.benchmarks.funcqa.records import Record
from opencompass_tooleval.benchmarks.funcqa.trajectory import EASYTOOL, ToolCall, Trajectory
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.work_dir.data_files import read_json

_OLD_PARAMETER = 'args'
"""What the parameter is called in some calls of the published logs."""

_MARKS = {'question', 'final_answer', 'execute_log'}


@dataclass(frozen=True)
class LoggedQuestion:
    """One question of a log.

    Attributes:
        trajectory: Its calls, called again, and its final answer.
        label: Whether the authors call the answer right, 1 or 0; None in a log without labels.
        differing: Calls of tasks whose logged result is not what the tools give.
    """

    trajectory: Trajectory
    label: int | None
    differing: int

    @property
    def discarded(self) -> int:
        """Tries that gave nothing; the log does not say what was called, nor why it was discarded."""
        return sum(not task['done'] for task in self.trajectory.tasks)


@dataclass(frozen=True)
class Labels:
    """What the labels of a log say.

    Attributes:
        right: How many answers they call right.
        questions: Of how many.
        agreeing: For how many questions the rule of ``accuracy`` says the same.
    """

    right: int
    questions: int
    agreeing: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, with ``accuracy``, 0-100: the number that the paper reports."""
        accuracy = 100 * self.right / self.questions
        return {'right': self.right, 'questions': self.questions, 'accuracy': accuracy, 'agreeing': self.agreeing}


def load_log(file: Path, records: Sequence[Record]) -> list[LoggedQuestion] | None:
    """Reads a log, joined by question: published logs have another order than the data.

    Args:
        file: Any file of predictions.
        records: The questions.

    Returns:
        An entry per record, in the records' order; None if the file is no log.

    Raises:
        DataError: It is a log and damaged, or it answers other questions or one twice.
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
                raise Fault('its question is answered before')
            logged[question] = _read(entry, labelled)
    for record in records:
        if record.question.strip() not in logged:
            missing = len(records) - len(logged)
            raise DataError(file, f'the log lacks its question and {missing - 1} more', record.id)
    return [logged[record.question.strip()] for record in records]


def _entries(file: Path) -> list[Any] | None:
    """The entries; None if the file is no log, or cannot be read at all, which is for others to say."""
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
        raise Fault("'execute_log' is no object")
    calls: list[ToolCall] = []
    differing = 0
    for made, result in zip_longest(_list(log, 'api_result_ls'), _list(log, 'call_result_ls')):
        again = list(_calls(made))
        calls += again
        text = '\n\n'.join(call.result for call in again if call.result is not None)
        differing += bool(again) and text != result
    index = entry.get('check_index', 0)
    if not isinstance(index, int):
        raise Fault("'check_index' is no number")
    check = {1: 'yes', -1: 'no'}.get(index, '')
    tasks = (*_tasks(entry, 'answer_subtask', True), *_tasks(entry, 'answer_wrong', False))
    trajectory = Trajectory(EASYTOOL, tuple(calls), _text(entry, 'final_answer'), tasks=tasks, check=check)
    label = entry.get('check') if labelled else None
    if labelled and label not in (0, 1):
        raise Fault("its label 'check' is neither 0 nor 1")
    return LoggedQuestion(trajectory, label, differing)


def _calls(made: Any) -> Iterator[ToolCall]:
    """The calls of one task, called again; a task without a call has a text in their place."""
    for call in made if isinstance(made, list) else []:
        if not isinstance(call, dict):
            raise Fault('a call is no object')
        name, given = _text(call, 'api_name'), call.get('parameters')
        for parameters in given if isinstance(given, list) else [given]:
            yield ToolCall.of(name, parameters, call_tool(name, _renamed(parameters)))


def _renamed(parameters: Any) -> Any:
    if isinstance(parameters, dict) and PARAMETER not in parameters and _OLD_PARAMETER in parameters:
        return {PARAMETER: parameters[_OLD_PARAMETER]}
    return parameters


def _tasks(entry: Mapping[str, Any], key: str, done: bool) -> Iterator[dict[str, Any]]:
    for task in _list(entry, key):
        if not isinstance(task, dict):
            raise Fault(f'{key!r} holds what is no object')
        yield {'task': task.get('task'), 'answer': task.get('answer'), 'done': done, 'tries': 1}


def _text(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise Fault(f'{key!r} is no text')
    return value


def _list(entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise Fault(f'{key!r} is no list')
    return value


def count_labels(logged: Sequence[LoggedQuestion], right: Sequence[bool]) -> Labels | None:
    """What the labels say, and how often ``right``, in the same order, agrees; None without labels."""
    labels = [question.label for question in logged]
    if None in labels:
        return None
    agreeing = sum(bool(label) == verdict for label, verdict in zip(labels, right, strict=True))
    return Labels(sum(map(int, filter(None, labels))), len(labels), agreeing)
