"""Judges that answer by a table, and answers to be judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judged_scores import Judged
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging
from opencompass_tooleval.judging.judgement import Judgement

Says = Callable[[JudgeItem], str]
"""What a judge replies to a question."""


def finish(final_answer: str = 'Delft.', return_type: str = 'give_answer') -> dict[str, Any]:
    arguments = json.dumps({'return_type': return_type, 'final_answer': final_answer})
    return {'role': 'tool', 'message': {'name': 'Finish', 'arguments': arguments, 'response': ''}}


def call(name: str = 'search', response: str = 'In Delft.') -> dict[str, Any]:
    return {'role': 'tool', 'message': {'name': name, 'arguments': '{}', 'response': response}}


def answer(final_answer: str = 'Delft.', query_id: str = '1', nodes: Sequence[Any] | None = None) -> JudgedAnswer:
    nodes = [call(), finish(final_answer)] if nodes is None else nodes
    told = json.dumps({'return_type': 'give_answer', 'final_answer': final_answer}) if final_answer else ''
    return JudgedAnswer(query_id, 'Where was Vermeer born?', 'react', told, nodes, [{'name': 'search'}])


def status(value: str) -> str:
    return json.dumps({'content': 'So it is.', 'answer_status': value})


def run(judging: Judging[Any], says: Says) -> tuple[Any, list[JudgeItem]]:
    """Carries judging out with a judge that is asked once; returns what it ends in and what it asked."""
    asked: list[JudgeItem] = []
    try:
        item = next(judging)
        while True:
            asked.append(item)
            assert item.read is not None
            item = judging.send(item.read(says(item)))
    except StopIteration as end:
        return end.value, asked


def names(asked: Sequence[JudgeItem]) -> list[str]:
    return [item.id.split('/')[-2] for item in asked]


def judge_answers(
    answers: Sequence[JudgedAnswer], judgements: Sequence[Judgement[Any]], kinds: Sequence[str]
) -> Sequence[Judged]:
    """The scores of answers from judgements, of which not too many may be missing."""
    grading = AgentGrading(answers, JudgeSettings(tuple(kinds)))
    return grading.check(grading.score(judgements))
