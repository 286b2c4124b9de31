"""Preference of one of two answers, rule by rule and by brute force."""

from __future__ import annotations

import itertools
import json

import pytest

from opencompass_tooleval.agents.toolbench.judge_prompts import CHECK, PARSE, SELECT
from opencompass_tooleval.agents.toolbench.solved import judge_solved
from opencompass_tooleval.agents.toolbench.win import judge_round, judge_rounds, outcome, points, reference_first
from opencompass_tooleval.judging.judge_item import JudgeItem
from opencompass_tooleval.judging.judgement import Opinion
from tests.agents.judged_support import Says, answer, call, finish, names, run, status

CANDIDATE, REFERENCE = answer('Own: Delft.'), answer('Reference: Leiden.')


def judge(candidate: str, reference: str, index: str = '0', better: str = '') -> Says:
    """A judge with a status for each; of two answers it takes the one with a text, or a place."""

    def says(item: JudgeItem) -> str:
        if 'select_better_answer' not in item.id:
            return status(reference if 'Leiden' in item.prompt else candidate)
        first = item.prompt.index('Own:') < item.prompt.index('Reference:')
        return json.dumps({'index': {'candidate': int(not first), 'reference': int(first)}.get(better, int(index))})

    return says


STATUSES = ('Solved', 'Unsure', 'Unsolved')


@pytest.mark.parametrize(('candidate', 'reference'), [*itertools.product(STATUSES, repeat=2)])
def test_who_is_solved_alone_wins_unasked_then_who_is_unsure_alone(candidate: str, reference: str) -> None:
    opinion, asked = run(judge_round(CANDIDATE, REFERENCE), judge(candidate, reference, better='candidate'))
    assert ('select_better_answer' in names(asked)) == (candidate == reference)
    ranks = [STATUSES.index(candidate), STATUSES.index(reference)]
    wanted = 'candidate' if ranks[0] <= ranks[1] else 'reference'
    rule = 'select_better_answer' if candidate == reference else 'only_solved' if 0 in ranks else 'only_unsure'
    assert (opinion.value, opinion.decided_by) == (wanted, rule)


def labelled(candidate: str, reference: str, solvable: str = 'Solvable') -> Says:
    """A judge that is sure of the status of each answer, and prefers the reference."""

    def says(item: JudgeItem) -> str:
        if 'check_task_solvable' in item.id:
            return json.dumps({'task_status': solvable})
        return judge(candidate, reference, better='reference')(item)

    return says


@pytest.mark.parametrize(
    ('candidate', 'reference', 'solvable', 'value', 'rule'),
    [
        ('Solved', 'Unsolved', 'Solvable', 'candidate', 'only_passed'),
        ('Unsolved', 'Solved', 'Solvable', 'reference', 'only_passed'),
        ('Unsolved', 'Solved', 'Unsolvable', 'reference', 'only_solved'),  # both pass
        ('Solved', 'Solved', 'Solvable', 'reference', 'select_better_answer'),
        ('Unsolved', 'Unsolved', 'Solvable', 'reference', 'select_better_answer'),
    ],
)
def test_by_toolbench_who_passes_alone_wins_every_round_unasked(
    candidate: str, reference: str, solvable: str, value: str, rule: str
) -> None:
    opinions, asked = run(judge_rounds(CANDIDATE, REFERENCE, 3, times=2), labelled(candidate, reference, solvable))
    assert [(opinion.value, opinion.decided_by) for opinion in opinions] == [(value, rule)] * 3
    of_reference = [item.id for item in asked if item.id.startswith('1/reference/')]
    assert {'1/reference/check_answer_status/0', '1/reference/check_answer_status/1'} <= {*of_reference}
    assert names(asked).count('select_better_answer') == (3 if rule == 'select_better_answer' else 0)


def test_by_toolbench_an_unreadable_label_is_no_round_and_no_reference_loses() -> None:
    opinions, _ = run(judge_rounds(CANDIDATE, REFERENCE, 2), lambda item: '')
    assert [(opinion.value, opinion.fault) for opinion in opinions] == [('', 'empty')] * 2
    assert run(judge_rounds(CANDIDATE, None, 2), lambda item: '') == ([Opinion('candidate', 'no_reference')] * 2, [])
    assert run(judge_round(CANDIDATE, None), lambda item: '') == (Opinion('candidate', 'no_reference'), [])


def test_the_same_answers_are_drawn_and_not_asked_about() -> None:
    drawn = []
    for number in range(200):
        opinion, asked = run(judge_round(CANDIDATE, CANDIDATE, number), judge('Solved', 'Solved'))
        assert opinion.decided_by == 'identical' and 'select_better_answer' not in names(asked)
        drawn.append(opinion.value)
    assert 70 < drawn.count('candidate') < 130


def test_the_same_words_by_another_way_are_not_the_same() -> None:
    longer = answer('Own: Delft.', nodes=[call(), call(), finish('Own: Delft.')])
    says: Says = lambda item: '{"index": 1}' if 'select' in item.id else status('Solved')  # noqa: E731
    opinion, asked = run(judge_round(longer, CANDIDATE), says)
    assert opinion.decided_by == 'select_better_answer'
    assert '"total_steps": 5' in asked[-1].prompt and '"method"' not in asked[-1].prompt


def test_both_orders_come_in_turn_and_random_ones_differ() -> None:
    assert [reference_first('1', number, 'both', 0) for number in range(4)] == [True, False, True, False]
    drawn = [reference_first(str(query), 0, 'random', 0) for query in range(200)]
    assert 70 < sum(drawn) < 130
    assert drawn != [reference_first(str(query), 0, 'random', 1) for query in range(200)]


def test_a_round_uses_the_judgement_that_there_is() -> None:
    _, asked = run(judge_round(CANDIDATE, REFERENCE, number=5, times=4), judge('Solved', 'Solved'))
    statuses = ['1/reference/check_answer_status/1', '1/check_answer_status/1']
    assert [item.id for item in asked] == [*statuses, '1/select_better_answer/5']


@pytest.mark.parametrize('question', ['check_answer_status', 'select_better_answer'])
def test_what_cannot_be_read_is_no_round(question: str) -> None:
    good = judge('Solved', 'Solved')
    opinion, _ = run(judge_round(CANDIDATE, REFERENCE), lambda item: '' if question in item.id else good(item))
    assert (opinion.value, opinion.fault) == ('', 'empty')
    assert outcome([opinion]) == '' and set(points([opinion]).values()) == {None}
    assert points([opinion, Opinion('candidate')])['win_rate'] == 1.0


def test_final_answers_are_cut_and_methods_left_out_before_anything_is_asked() -> None:
    long = answer('Own: ' + 'x' * 3_000 + ' the end')
    _, asked = run(judge_round(long, REFERENCE), judge('Unsure', 'Unsure'))
    status_of, details_of = (next(i for i in asked if i.id == f'1/{q}/0') for q in ('check_answer_status', PARSE.name))
    assert f'\nAnswer:\n{long.final_answer[:1_000]}\n\nNow' in status_of.prompt
    for item in (details_of, asked[-1]):
        assert '"final_answer": ' + json.dumps(long.final_answer[:1_000]) + ',' in item.prompt
        assert '"method"' not in item.prompt and 'the end' in item.prompt  # as Finish was passed it
    assert names(asked) == [*[CHECK.name, PARSE.name] * 2, SELECT.name]
    _, alone = run(judge_solved(long), lambda item: status('Unsure'))
    assert '"method"' in alone[1].prompt and long.final_answer in alone[0].prompt  # by itself it is whole


def test_what_gives_up_behind_the_cut_is_judged() -> None:
    late = answer('Own: ' + 'x' * 2_000 + ' give_up_and_restart')
    assert run(judge_solved(late), judge('Solved', 'Solved'))[0].decided_by == 'gave_up'
    opinion, _ = run(judge_round(late, REFERENCE), judge('Solved', 'Unsolved'))
    assert (opinion.value, opinion.decided_by) == ('candidate', 'only_solved')
