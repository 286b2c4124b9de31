"""Rules by which an answer is solved, and by which it passes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.opinion import coin
from opencompass_tooleval.agents.toolbench.solved import (
    deviation,
    judge_passed,
    judge_solved,
    passed,
    passes,
    points,
    rates,
    unasked,
)
from opencompass_tooleval.judging.judgement import Opinion, Unread
from tests.agents.judged_support import answer, call, finish, names, run, status


@pytest.mark.parametrize(
    ('judged', 'rule'),
    [
        (answer(nodes=[call()]), 'no_finish'),
        (answer(nodes=[]), 'no_finish'),
        (answer(nodes=[finish(), call()]), 'no_finish'),  # its last call is no Finish
        (answer(''), 'no_answer'),
        (JudgedAnswer('1', 'q', 'm', '{"return_type": "give_up_and_restart"}', [finish()]), 'gave_up'),
        (answer('I chose give_up_and_restart.'), 'gave_up'),  # as published: wherever it stands
        (answer('x' * 200_001), 'too_long'),
    ],
)
def test_unsolved_without_asking(judged: JudgedAnswer, rule: str) -> None:
    opinion, asked = run(judge_solved(judged), lambda item: status('Solved'))
    assert (opinion, asked) == (Opinion('Unsolved', rule), [])
    assert unasked(judged) == rule


def test_the_judge_is_asked_about_a_finish_with_an_empty_answer() -> None:
    passed = finish('')['message']['arguments']
    opinion, asked = run(judge_solved(JudgedAnswer('1', 'q', 'm', passed, [finish('')])), lambda _: status('Solved'))
    assert opinion.value == 'Solved' and [passed in item.prompt for item in asked] == [True]


def test_a_response_with_the_words_of_a_finish_counts_as_one() -> None:
    """As published: the evaluator looks for them in the last call as Python writes it."""
    quoting = call(response="{'name': 'Finish'}")
    assert unasked(JudgedAnswer('1', 'q', 'm', 'Delft.', [quoting])) == ''
    quoting = call(response='x "y" ' + "{'name': 'Finish'}")  # Python escapes the quotes of a text with both kinds
    assert unasked(JudgedAnswer('1', 'q', 'm', 'Delft.', [quoting])) == 'no_finish'


def test_a_sure_judge_is_asked_once() -> None:
    opinion, asked = run(judge_solved(answer(), 2), lambda item: status('Unsolved'))
    assert (opinion.value, opinion.decided_by, opinion.why) == ('Unsolved', 'check_answer_status', 'So it is.')
    assert [item.id for item in asked] == ['1/check_answer_status/2']
    assert 'In Delft.' not in asked[0].prompt  # the final answer alone


def test_an_unsure_one_sees_the_whole_run() -> None:
    opinion, asked = run(judge_solved(answer()), lambda item: status('Unsure' if 'check' in item.id else 'Solved'))
    assert (opinion.value, opinion.decided_by) == ('Solved', 'parse_answer_status')
    assert names(asked) == ['check_answer_status', 'parse_answer_status']
    assert 'In Delft.' in asked[1].prompt


def test_a_judge_that_cannot_take_the_whole_run_gets_it_shortened() -> None:
    long = answer(nodes=[call(response='In Delft. ' * 1_000), finish()])
    judging = judge_solved(long)
    next(judging)
    whole = judging.send(Opinion('Unsure'))
    short = judging.send(Unread('infra:truncated'))
    assert len(whole.prompt) - len(short.prompt) == 10_000 - 1_024 - len('...')
    assert (short.id, whole.id) == ('1/parse_answer_status/0',) * 2 and short.key != whole.key
    with pytest.raises(StopIteration) as end:
        judging.send(Unread('infra:truncated'))
    assert end.value.value == Opinion('', 'parse_answer_status', fault='infra:truncated')


@pytest.mark.parametrize('question', ['check_answer_status', 'parse_answer_status'])
def test_what_cannot_be_read_is_no_opinion(question: str) -> None:
    opinion, _ = run(judge_solved(answer()), lambda item: 'Hm.' if question in item.id else status('Unsure'))
    assert (opinion.value, opinion.fault, opinion.decided_by) == ('', 'unread', question)
    both, _ = run(judge_passed(answer()), lambda item: 'Hm.' if question in item.id else status('Unsure'))
    assert [one.fault for one in both] == ['unread', 'unread']


def task(value: str) -> str:
    return status(value).replace('answer_status', 'task_status')


def test_passing_an_unsolved_task_asks_whether_it_could_be() -> None:
    _, asked = run(judge_passed(answer()), lambda item: status('Solved'))
    assert names(asked) == ['check_answer_status']
    both, asked = run(judge_passed(answer()), lambda item: task('Unsure') if 'task' in item.id else status('Unsolved'))
    assert names(asked) == ['check_answer_status', 'check_task_solvable']
    assert [one.value for one in both] == ['Unsolved', 'Unsure']


def test_without_finish_nothing_passes_and_nothing_is_asked() -> None:
    both, asked = run(judge_passed(answer(nodes=[call()])), lambda item: task('Unsolvable'))
    assert (asked, passes(*(one.value for one in both))) == ([], False)
    both, asked = run(judge_passed(answer('')), lambda item: task('Unsolvable'))  # but an empty answer may
    assert (names(asked), passes(*(one.value for one in both))) == (['check_task_solvable'], True)


def test_the_table_of_passing() -> None:
    solved, solvable = ('Solved', 'Unsure', 'Unsolved'), ('Solvable', 'Unsure', 'Unsolvable')
    table = [[passes(one, two) for two in solvable] for one in solved]
    assert table == [[True, True, True], [None, None, True], [False, None, True]]


def opinions(*values: str) -> list[Opinion]:
    return [Opinion(value, fault='' if value else 'unread') for value in values]


def test_points_and_rates_against_numpy() -> None:
    worth = {'Solved': 1.0, 'Unsure': 0.5, 'Unsolved': 0.0}
    answers = [list(values) for values in itertools.product(worth, repeat=3)]
    table = np.array([[worth[value] for value in values] for values in answers])
    assert [points(opinions(*values)) for values in answers] == pytest.approx(table.mean(axis=1))
    by_judgement = rates([opinions(*values) for values in answers[3:]])
    assert by_judgement == pytest.approx(table[3:].mean(axis=0))
    assert deviation(by_judgement) == pytest.approx(np.std(table[3:].mean(axis=0)))
    assert points(opinions('Solved', '', 'Unsolved')) == 0.5
    assert (points(opinions('')), points([]), deviation([])) == (None, None, None)


def test_as_many_judgements_for_it_as_against_it_let_it_pass() -> None:
    yes, no, open_ = ('Solved', 'Solvable'), ('Unsolved', 'Solvable'), ('Unsure', 'Solvable')

    def vote(name: str, *pairs: tuple[str, str]) -> float | None:
        return passed(name, opinions(*(one for one, _ in pairs)), opinions(*(two for _, two in pairs)))

    assert (vote('a', yes, yes, no), vote('a', yes, no, no)) == (1, 0)
    assert vote('a', ('', ''), no) == 0
    assert vote('a', ('', '')) is None
    drawn = [vote(str(name), open_) for name in range(200)]
    assert {0.0, 1.0} == set(drawn) and drawn == [vote(str(name), open_) for name in range(200)]
    assert [vote(str(name), yes, no) for name in range(20)] == [1.0] * 20
    assert [vote(str(name), yes, no, no, yes) for name in range(20)] == [1.0] * 20
    assert [vote(str(name), no, open_) for name in range(20)] == [float(coin('pass', name, 1)) for name in range(20)]
