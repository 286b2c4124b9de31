"""Checks that recorded answers belong to the subset as which they are scored."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.work_dir.recorded import RecordedAnswers, load_recorded

logger = logging.getLogger(__name__)

_NO_PARSE_METHOD = 'none'
_SUFFIX = r'(?:_(?:v\d\w*|zh|en))*(?:-\w+)*'


def named_subsets(name: str, subsets: Collection[str]) -> set[str]:
    """Finds the subsets that a name contains; if subset names contain each other, only the longest.

    Args:
        name: Name of a file without extension, or of a data set, such as ``tooleval-teval-plan_str_v2``.
        subsets: All subsets. A single word, such as ``instruct``, counts only if the rest of the name is a version, a
            language or the like: ``qwen2.5-7b-instruct`` is a model.
    """
    lowered = name.lower()
    prefix = rf'(?:.*\btooleval-[a-z]+-|(?:{"|".join(map(re.escape, BENCHMARKS))})_)?'
    held = set()
    for subset in subsets:
        word = re.escape(subset)
        whole = re.fullmatch(f'{prefix}{word}{_SUFFIX}', lowered)
        # Not \b, which treats '_' as a letter, and so would miss plan_json in 'my_plan_json_v2'.
        within = '_' in subset and re.search(f'(?<![a-z0-9]){word}(?![a-z0-9])', lowered)
        carried_out = re.search(rf'(?<![a-z0-9])tooleval-{word}-agent(?![a-z0-9])', lowered)
        if whole or within or carried_out:
            held.add(subset)
    return {subset for subset in held if not any(subset != other and subset in other for other in held)}


def _stem(path: Path) -> str:
    return path.name.removesuffix('.gz').removesuffix('.json').removesuffix('.jsonl')


def check_name(
    path: Path, subset: str, subsets: Collection[str], also: str = '', recorded: RecordedAnswers | None = None
) -> bool:
    """Returns True if the file of the answers, or the data set named in it, is named after the subset.

    Args:
        path: File of the answers.
        subset: The subset as which they will be scored.
        subsets: All subsets of the benchmark.
        also: Another accepted name, such as the task of which a subset is a variant.
        recorded: The answers.

    Raises:
        DataError: The name is that of another subset.
    """
    questions = recorded.questions.values() if recorded else ()
    datasets = {question.source or question.dataset: 'by their data set' for question in questions}
    is_named = False
    for name, what in {**datasets, _stem(path): 'by the name of the file'}.items():
        held = named_subsets(name, subsets)
        if held and not held & {subset, also}:
            raise DataError(path, f'{what}, these are answers to {", ".join(sorted(held))}, not to {subset}')
        is_named = is_named or bool(held)
    return is_named


def load_answers(predictions: Path, subset: str, subsets: Collection[str], ids: Sequence[str]) -> dict[str, Answer]:
    """Reads recorded answers to a subset: record id -> answer, in the order of ``ids``.

    Args:
        predictions: File of the answers.
        subset: The subset as which they will be scored.
        subsets: All subsets of the benchmark.
        ids: The records, in the data's order.

    Raises:
        DataError: A record has no answer, an answer has no record, or the name is that of another subset.
    """
    recorded = load_recorded(predictions)
    answers = recorded.in_order(ids)
    check_name(predictions, subset, subsets, recorded=recorded)
    return answers


def check_prompts(
    recorded: RecordedAnswers, subset: str, messages: Mapping[str, Sequence[Message]], is_named: bool
) -> None:
    """Checks that answers with a recorded prompt belong to these prompts.

    Args:
        recorded: The answers.
        subset: The subset as which they will be scored.
        messages: Record id -> messages of its prompt, in the data's order.
        is_named: True if the answers are named after the subset; a difference is then only a warning.

    Raises:
        DataError: The answers belong to other prompts.
    """
    other = [
        record_id
        for position, (record_id, prompt) in enumerate(messages.items())
        if not recorded.question(record_id, position).fits(prompt)
    ]
    if not other:
        return
    summary = f'{len(other)} of {len(messages)} answers have other prompts than the data'
    if not is_named:
        fix = f'If only instructions or roles differ, name the file {subset}.json'
        raise DataError(recorded.path, f'{summary}: these are not answers to {subset}. {fix}', other[0])
    logger.warning('%s: %s (the first: %s): other instructions, or another version?', recorded.path, summary, other[0])


def warn_if_unread(scores: Sequence[SampleScore], path: Path, subset: str) -> None:
    """Warns if no answer could be parsed: the file may belong to another subset."""
    if scores and all(score.parse_method == _NO_PARSE_METHOD for score in scores):
        logger.warning('%s: no answer could be parsed: is this the right subset? It was scored as %s', path, subset)
