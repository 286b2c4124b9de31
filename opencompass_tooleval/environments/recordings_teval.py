"""Reads recorded calls from T-Eval's data files: the calls in ``review_str``, and the steps of dialogues in other
files.

A record's id is ``TASK_NUMBER`` (``query_85_0_3`` is the fourth step of ``query_85_0``). Records of ``review_str`` with
plain numbers as ids belong to no task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.teval.data import ReviewGold, Sample, load_samples, split_stem
from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, answer_digest
from opencompass_tooleval.core.text.reading import parse_enclosed, parse_literal
from opencompass_tooleval.environments.bank import INPUT_ERROR, RecordedCall

ERROR_OF_CHOICE = {'A': '', 'B': 'internal', 'C': INPUT_ERROR, 'D': 'irrelevant', 'E': 'unable'}
"""Gold choice of ``review_str`` -> error of the call."""

_NAME, _ARGS, _RESPONSE = '\nName:', '\nArgs:', '\nResponse:'


def is_teval(path: Path) -> bool:
    """Tests if a file is named like one of T-Eval's."""
    try:
        split_stem(path.stem)
    except ValueError:
        return False
    return path.suffix == '.json' and path.is_file()


def _task(record_id: str) -> tuple[str, int]:
    """Splits an id: ``query_85_0_3`` -> ``query_85_0`` and 3; ``126`` -> no task."""
    task, _, number = record_id.rpartition('_')
    return (task, int(number)) if number.isdecimal() and len(number) < 10 else ('', 0)


def _value(text: str) -> Any:
    """Parses arguments written as a Python literal or JSON; returns other text unchanged."""
    parsed = parse_literal(text.strip())
    return parsed.value if parsed.ok else text.strip()


def _shown_call(text: str) -> tuple[str, Any, str] | None:
    """Parses name, arguments and response from ``Name: ...``, ``Args: ...`` and a final ``Response: ...``."""
    rest = f'\n{text}'.partition(_NAME)[2] if len(text) <= 4 * MAX_CHARS else ''
    if not rest:
        return None
    name, _, rest = rest.partition(_ARGS)
    arguments, _, response = rest.partition(_RESPONSE)
    return name.strip(), _value(arguments), response.strip()


def _step(content: str) -> tuple[str, Any] | None:
    """Parses the call in a message of the model, written as JSON or as text."""
    step = parse_enclosed(content, '{', '}').value
    if isinstance(step, dict) and isinstance(step.get('name'), str):
        return step['name'], step.get('args')
    shown = _shown_call(content)
    return shown[:2] if shown else None


def _steps(messages: Sequence[Message]) -> Iterator[tuple[str, Any, str]]:
    """Yields the calls of a dialogue, each with the answer that follows."""
    for message, following in pairwise(messages):
        if message.role == 'assistant' and following.role in ('function', TOOL) and (step := _step(message.content)):
            yield (*step, following.content)


def _reviewed(samples: Sequence[Sample], label: str) -> Iterator[RecordedCall]:
    for sample in sorted(samples, key=lambda sample: _task(sample.record.id)):
        shown = _shown_call(sample.messages[-1].content)
        if shown and isinstance(sample.record.gold, ReviewGold):
            error = ERROR_OF_CHOICE[sample.record.gold.answer]
            yield RecordedCall(label, _task(sample.record.id)[0], *shown, error=error)


def _dialogues(samples: Sequence[Sample], label: str) -> Iterator[RecordedCall]:
    """Yields the steps of all dialogues, without steps that a later record of the same task repeats."""
    seen: set[str] = set()
    for sample in sorted(samples, key=lambda sample: _task(sample.record.id)):
        task = _task(sample.record.id)[0]
        path = answer_digest(['task', task] if task else ['record', sample.record.id])
        for name, arguments, response in _steps(sample.messages):
            path = answer_digest([path, name, arguments, response])
            if path not in seen:
                seen.add(path)
                yield RecordedCall(label, task, name, arguments, response, error_kind(response))


def read_teval(file: Path, label: str) -> Iterator[RecordedCall]:
    """Yields the recorded calls of a data file.

    Args:
        file: A file with its published name, such as ``review_str_v1.json``.
        label: Name of the file in the bank.

    Raises:
        DataError: The file is damaged.
    """
    subset, _, _ = split_stem(file.stem)
    samples = load_samples(file, subset)
    yield from _reviewed(samples, label) if subset.startswith('review') else _dialogues(samples, label)
