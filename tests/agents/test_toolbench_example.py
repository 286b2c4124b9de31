"""The published example of ToolBench's evaluator: its questions, judgements, and reproduced results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.toolbench.answers import load_answers
from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.agents.toolbench.judged_answer import (
    JudgedAnswer,
    load_judged_answers,
    of_trajectory,
    steps_text,
)
from opencompass_tooleval.agents.toolbench.judged_scores import Judged, breakdown
from opencompass_tooleval.agents.toolbench.solved import unasked
from opencompass_tooleval.judging.judge_item import JudgeItem
from opencompass_tooleval.judging.judgement import Judgement
from tests.agents.judged_support import judge_answers, run, status
from tests.instructions.shared_data import expected
from tests.official import Recorder

MODELS = ('virtual_chatgpt_cot', 'virtual_chatgpt_dfs')
REFERENCE, CANDIDATE = MODELS


def file(name: str) -> Path:
    return expected('toolbench/example') / name


def answers_file(model: str) -> Path:
    return file(f'model_predictions_converted__{model}__G1_instruction.json')


def answers(model: str) -> dict[str, JudgedAnswer]:
    return load_judged_answers(answers_file(model))


def published(model: str) -> list[Judgement[Any]]:
    return AgentGrading(()).read(file(f'pass_rate_results__{model}__G1_instruction_{model}.json'))


def preferences(candidate: str | None = None) -> list[Judgement[Any]]:
    compared = file(f'preference_results__G1_instruction_{REFERENCE}_{CANDIDATE}.json')
    return AgentGrading((), candidate=candidate).read(compared)


def mean(judged: Sequence[Judged], metric: str) -> float:
    values = [value for one in judged if (value := one.values[metric]) is not None]
    return 100 * sum(values) / len(judged)


@pytest.mark.official('ToolBench', 'answers as the judge was shown them')
@pytest.mark.parametrize('model', MODELS)
def test_the_judge_is_shown_what_it_was_shown(model: str, record_property: Recorder) -> None:
    raw = json.loads(answers_file(model).read_text(encoding='utf-8'))
    results = json.loads(file(f'pass_rate_results__{model}__G1_instruction_{model}.json').read_text(encoding='utf-8'))
    record_property('cases', len(raw))
    for query_id, answer in answers(model).items():
        assert answer.content == json.dumps(raw[query_id]['answer'])
        assert json.loads(answer.task) == {name: raw[query_id][name] for name in ('query', 'available_tools')}
        assert steps_text(answer) == (results[query_id]['answer_steps'], results[query_id]['final_step'])


@pytest.mark.parametrize('model', MODELS)
def test_runs_that_went_through_our_trajectories_are_shown_alike(model: str) -> None:
    direct = answers(model)
    for stored in load_answers(answers_file(model)):
        from_trajectory, from_answer = of_trajectory(stored.task, stored.trajectory), direct[stored.task.id]
        both = [(one.told, one.is_finished, unasked(one)) for one in (from_trajectory, from_answer)]
        assert both[0] == both[1]
        for left, right in zip(from_trajectory.nodes, from_answer.nodes, strict=True):
            assert left['role'] == right['role']
            if left['role'] == 'tool':
                assert left['message']['response'] == right['message']['response']


@pytest.mark.official('ToolBench', 'published solved rates and their deviations')
def test_the_published_solved_rates_come_out(record_property: Recorder) -> None:
    record_property('cases', 2 * len(MODELS))
    found = {}
    for model in MODELS:
        judged = judge_answers(list(answers(model).values()), published(model), ('solved',))
        solved = breakdown(judged)['solved']
        found[model] = (f'{mean(judged, "solved_rate"):.1f} {solved["standard_deviation"]:.1f}', solved['judgements'])
    assert found == {REFERENCE: ('66.7 0.0', 3), CANDIDATE: ('100.0 0.0', 3)}


@pytest.mark.official('ToolBench', 'published wins')
def test_the_published_preference_comes_out(record_property: Recorder) -> None:
    judged = judge_answers(list(answers(CANDIDATE).values()), preferences(), ('win',))
    won = {'win': 3, 'tie': 0, 'loss': 0, 'no_reference': 0, 'comparisons': 9, 'drawn_comparisons': 0}
    assert mean(judged, 'win_rate') == 100.0
    assert breakdown(judged)['win'] == {**won, 'decided_by': {'published': 9}}
    record_property('cases', 3)
    turned = judge_answers(list(answers(REFERENCE).values()), preferences(REFERENCE), ('win',))
    assert [breakdown(turned)['win'][name] for name in ('win', 'tie', 'loss')] == [0, 0, 3]
    counts = {one.id: [opinion.value for opinion in one.opinions['win']].count('candidate') for one in judged}
    assert counts == {'588': 3, '608': 3, '1073': 2}


def test_a_judge_that_says_the_same_gives_the_same() -> None:
    """Asked through our questions: one query is unsolved unasked, two of nine comparisons need no judge."""
    statuses = {model: {one.id: one.found['solved'] for one in published(model)} for model in MODELS}
    wins = {one.id: [opinion.value for opinion in one.found['win']] for one in preferences()}
    candidates, reference = answers(CANDIDATE), answers(REFERENCE)
    asked: list[JudgeItem] = []

    def says(item: JudgeItem) -> str:
        query_id, *_, number = item.id.split('/')
        if 'select_better_answer' in item.id:
            first = 'reference' if item.prompt.index('Answer_0') < item.prompt.index('Answer_1') else ''
            candidate_first = f'Answer_0:\n{candidates[query_id].compared.content}' in item.prompt
            assert first and candidate_first != (f'Answer_0:\n{reference[query_id].compared.content}' in item.prompt)
            return json.dumps({'index': int((wins[query_id][int(number)] == 'candidate') != candidate_first)})
        model = REFERENCE if '/reference/' in item.id else CANDIDATE
        return status(statuses[model][query_id][int(number)].value)

    settings = JudgeSettings(('solved', 'win'), judgements_per_answer=3, comparisons_per_answer=3)
    found: dict[Any, Any] = {}
    grading = AgentGrading(list(candidates.values()), settings, reference)
    for place, judging in grading.dialogues().items():
        found[place], questions = run(judging, says)
        asked += questions
    judgements = grading.collected(found)
    judged = grading.check(grading.score(judgements))
    assert (mean(judged, 'solved_rate'), mean(judged, 'win_rate')) == (100.0, 100.0)
    by = breakdown(judged)['win']['decided_by']
    assert by == {'select_better_answer': 6, 'only_solved': 3}
    assert not any('588/reference' in item.id for item in asked)  # it has no Finish
    assert [judgement.id for judgement in judgements] == ['588', '608', '1073']
