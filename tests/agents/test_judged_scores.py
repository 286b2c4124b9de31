"""Scores from judgements, missing judgements, and files of judgements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.agents.toolbench.judged_scores import breakdown, judge_answer, metrics_of
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.toolbench_judgements import judged_by_files, judged_lines
from opencompass_tooleval.judging.judgement import Judgement, Opinion, UnjudgedError
from tests.agents.judged_support import answer, call, judge_answers, run, status

HUNDRED = [answer(query_id=str(number)) for number in range(100)]
UNFINISHED = answer(query_id='2', nodes=[call()])


def judgement(query_id: str, *values: str, digest: str = '') -> Judgement:
    opinions = tuple(Opinion(value, fault='' if value else 'unread') for value in values)
    return Judgement(query_id, found={'solved': opinions}, answer_digest=digest)


def test_values_and_reasons() -> None:
    def judged(*values: str) -> tuple[float | None, str]:
        found = judge_answer(answer(), [judgement('1', *values)], ('solved',))
        return found.values['solved_rate'], found.reason

    assert judged('Solved', 'Solved') == (1.0, 'ok')
    assert judged('Solved', 'Unsure') == (0.75, 'judge:unsolved')
    assert judged('Unsolved', '') == (0.0, 'judge:unsolved')
    assert judged('', '') == (None, 'judge:unjudged')
    failed = judge_answer(replace(answer(), infra='infra:timeout'), [], ('solved', 'win', 'success', 'pass'))
    assert set(failed.values.values()) == {0.0}
    assert failed.reason == 'infra:timeout'


def test_the_reason_is_of_the_first_metric_that_is_not_full() -> None:
    opinions = {'solved': (Opinion('Solved'),), 'win': (Opinion('reference'),), 'success': (Opinion('no'),)}
    found = judge_answer(answer(), [Judgement('1', found=opinions)], ('solved', 'win', 'success'))
    lost = dict.fromkeys(('win_rate', 'win_rate_half_ties', 'tie_rate', 'success_rate'), 0.0)
    assert (found.values, found.reason) == ({'solved_rate': 1.0, **lost}, 'judge:not_better')


def test_what_needs_no_judge_needs_no_judgement() -> None:
    found = judge_answer(UNFINISHED, [], ('solved', 'pass', 'success'))
    assert found.values == {'solved_rate': 0.0, 'pass_rate': 0.0, 'success_rate': None}
    assert judge_answer(answer('', '3'), [], ('success',)).values == {'success_rate': 0.0}


def test_one_percent_unjudged_may_be_and_is_no_zero() -> None:
    answers = HUNDRED
    judgements = [judgement(str(number), 'Solved', '' if number == 7 else 'Unsolved') for number in range(100)]
    judged = judge_answers(answers, judgements, ('solved',))
    assert [one.values['solved_rate'] for one in judged] == [1.0 if number == 7 else 0.5 for number in range(100)]
    found = breakdown(judged)
    assert (found['unjudged'], found['unjudged_opinions']) == (0, 1), 'each answer has a judgement'
    assert found['solved']['rates'] == pytest.approx([100.0, 0.0])
    assert found['solved']['standard_deviation'] == pytest.approx(50.0)
    assert found['solved']['split_share'] == 0.99
    with pytest.raises(UnjudgedError, match='2 of 199 could not be judged, for example solved of task 6'):
        judge_answers(answers, [*judgements[:6], *judgements[7:]], ('solved',))


def test_answers_and_judgements_that_are_not_there_are_counted_apart() -> None:
    judgements = [judgement(str(number), *['Solved'] * 4) for number in range(100)]
    judgements[7], judgements[9] = judgement('7', *[''] * 4), judgement('9', 'Solved', '', '', '')
    judged = [judge_answer(one, [of_it], ('solved',)) for one, of_it in zip(HUNDRED, judgements, strict=True)]
    found = breakdown(judged)
    assert (found['unjudged'], found['unjudged_opinions']) == (1, 7)
    (line, *_) = judged_lines(breakdown(judged), 'j')
    assert line == 'judged by j; 7 judgements are missing, 1 answers not judged'


def test_what_is_drawn_is_counted() -> None:
    def passing(query_id: str, *pairs: tuple[str, str]) -> Judgement:
        solved, solvable = (tuple(Opinion(pair[place]) for pair in pairs) for place in (0, 1))
        return Judgement(query_id, found={'solved': solved, 'solvable': solvable})

    yes, no, unsure = ('Solved', 'Solvable'), ('Unsolved', 'Solvable'), ('Unsure', 'Solvable')
    judgements = [passing('1', yes, no, yes, no), passing('2', unsure, unsure, unsure), passing('3', yes, yes, yes, no)]
    judged = judge_answers([answer(query_id=query) for query in '123'], judgements, ('pass',))
    assert breakdown(judged)['pass'] == {'drawn_votes': 3, 'ties': 1}
    assert 'passed: 3 votes drawn, 1 answers with equal votes' in judged_lines(breakdown(judged), 'j')


def test_a_run_against_itself_wins_half_with_half_of_the_ties() -> None:
    answers = [answer(query_id=str(number)) for number in range(400)]
    references = {one.id: one for one in answers[:-10]}
    settings = JudgeSettings(('win',))
    asked = AgentGrading(answers, settings, references).dialogues()
    found = {place: run(judging, lambda item: status('Solved'))[0] for place, judging in asked.items()}
    judged = judge_answers(answers, AgentGrading(answers, references=references).collected(found), ('win',))
    rates = {name: 100 * sum(one.values[name] or 0 for one in judged[:-10]) / 390 for name in metrics_of(['win'])}
    assert 26 < rates['win_rate'] < 37 and rates['win_rate_half_ties'] == pytest.approx(50, abs=3)
    assert rates['win_rate_half_ties'] == pytest.approx(rates['win_rate'] + rates['tie_rate'] / 2)
    counted = breakdown(judged)['win']
    assert (counted['no_reference'], counted['comparisons'], counted['drawn_comparisons']) == (10, 390 * 4, 390 * 4)
    assert counted['decided_by'] == {'identical': 390 * 4}
    line = next(line for line in judged_lines(breakdown(judged), 'j') if line.startswith('against'))
    assert '10 of the wins because the reference has no answer; 1560 of 1560 comparisons drawn' in line


def test_a_file_without_a_single_judgement_is_no_score(tmp_path: Path) -> None:
    rows = [{'id': name, 'status': 'unjudged', 'fault': 'unread'} for name in '12']
    file = tmp_path / 'judgements.jsonl'
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    with pytest.raises(UnjudgedError, match=r'2 of 2 could not be judged, .*unreadable reply.*must judge exactly'):
        judged_by_files([answer(query_id=name) for name in '12'], file)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('kinds', ()),
        ('win_rule', 'x'),
        ('answer_order', 'x'),
        ('judgements_per_answer', 0),
        ('comparisons_per_answer', 1_001),
    ],
)
def test_settings_that_cannot_be(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        JudgeSettings(**{name: value})


OWN_ROW = {'id': '1', 'solved': [{'value': 'Solved'}]}


@pytest.mark.parametrize(
    ('content', 'fault'),
    [
        ([], 'no judgements'),
        ([{**OWN_ROW, 'solved': {}}], "'solved' is not a list"),
        ([{**OWN_ROW, 'solved': [{'value': 'candidate'}]}], "'value' is not one of Solved"),
        ([{**OWN_ROW, 'solved': [{'value': ''}]}], "'fault' does not say why"),
        ([{**OWN_ROW, 'solved': [{'value': 'Solved'}] * 1_001}], "'solved' is not a list"),
        ([OWN_ROW, OWN_ROW], "'1': it is judged twice"),
        ({'1': {'is_solved': {'x': 'AnswerStatus.Solved'}}}, 'a key that is not a number'),
        ({'1': {'is_solved': {'0': 'AnswerStatus.Done'}}}, "'is_solved' is not one of"),
        ({'1': {'a': 1, 'b': 10**9}}, 'does not have the counts of two models'),
    ],
)
def test_damaged_files_are_named(content: Any, fault: str, tmp_path: Path) -> None:
    file = tmp_path / 'f.json'
    file.write_text(json.dumps(content), encoding='utf-8')
    with pytest.raises(DataError, match=fault) as caught:
        AgentGrading(()).read(file)
    assert 'f.json' in str(caught.value)


def test_another_models_preferences_are_refused(tmp_path: Path) -> None:
    file = tmp_path / 'f.json'
    file.write_text(json.dumps({'1': {'a': 1, 'b': 2, 'round_0': 'complete'}}), encoding='utf-8')
    with pytest.raises(DataError, match='it compares a and b, not c'):
        AgentGrading((), candidate='c').read(file)
    (found,) = AgentGrading((), candidate='a').read(file)
    assert [opinion.value for opinion in found.found['win']] == ['candidate'] + ['reference'] * 2
