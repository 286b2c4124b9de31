"""Gold: who has to agree in what, and what a query has to ask for and to forbid."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from opencompass_tooleval.agents.scoring.goal_check import check_goal
from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, MISSING_PARAMETER, NO_TOOL, ORDINARY, SIBLINGS, Goal
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.extras.making.agreement import Agreement, agree
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.made_task import Solution, SolvedCall
from opencompass_tooleval.extras.making.replies import Query, read_query, read_refined
from opencompass_tooleval.extras.making.wording import asks, with_line, without_line

QUERY = 'How many books of Butler are there?'
BOOKS = '[{"title": "Kindred", "shelf": "B12"}, {"title": "Dawn", "shelf": "B14"}]'
WORDY = 'There are 2 books: Kindred (B12), Dawn (B14).\nResult: 2'
OFFERED = (ToolSchema('find', 'Finds.', {}), ToolSchema('drop', 'Drops.', {}))


def draft(kind: str = ORDINARY, other: str = '') -> Draft:
    return Draft('d', kind, 'EN', ('find',), ('find', 'search', 'add', 'drop'), other=other)


def solved(
    answer: str, model: str = 'one', tools: Sequence[str] = ('find',), changes: dict[str, str] | None = None
) -> Solution:
    calls = tuple(SolvedCall(name, {}, BOOKS, source='live', error='') for name in tools)
    return Solution(model, calls, answer, changes if changes is not None else {})


def agreed(form: str, *solutions: Solution, query: str = QUERY, kind: str = ORDINARY, other: str = '') -> Agreement:
    models = {one.model for one in solutions}
    return agree(draft(kind, other), query, form, solutions, models, {'find', 'search'})


def reached(goal: Goal, answer: str, changes: dict[str, str] | None = None) -> bool:
    call = AnsweredCall('find', {}, BOOKS, 'live', error='')
    return check_goal(goal, Trajectory('x', (Step('', (call,)),), answer, '', (0,), changes=changes or {})).is_solved


def test_wordy_and_terse_answers_agree_in_the_result_and_nothing_else_is_asked_of_agents() -> None:
    found = agreed('number', solved(WORDY), solved('Result: 2.0'), solved('I see.\n**Result:** 2 books'))
    goal = found.goal
    assert goal and (goal.form, goal.result, goal.facts) == ('number', '2', ())
    assert reached(goal, 'There are two.\nResult: 2')
    assert not reached(goal, 'There are 7 books: Kindred (B12), Dawn (B14)\nResult: 7')
    assert not reached(goal, 'There are 7 books: Kindred (B12), Dawn (B14)')


def test_opposite_conclusions_on_the_same_items_do_not_agree() -> None:
    yes, no = (
        '{} is lent: Kindred (B12), Dawn (B14).\nResult: {}'.format(*words) for words in (('All', 2), ('None', 0))
    )
    found = agreed('number', solved(yes), solved(no))
    assert (found.goal, found.reason) == (None, 'agreement:result')


@pytest.mark.parametrize(
    ('results', 'reason'),
    [
        ('222 333', 'agreement:no_majority'),
        ('22 33', 'agreement:no_majority'),
        ('2 2', ''),
        ('223 242', ''),
        ('222 345', 'agreement:no_majority'),
        ('2222 345', 'agreement:one_model'),
        ('223 456', 'agreement:no_majority'),
        ('234 567', 'agreement:result'),
        ('22', ''),
        ('2', 'agreement:too_few'),
    ],
)
def test_gold_is_of_a_strict_majority_with_each_model_in_it(results: str, reason: str) -> None:
    solutions = [
        solved(f'Result: {result}', model)
        for model, of in zip(('one', 'other'), results.split(), strict=False)
        for result in of
    ]
    found = agreed('number', *solutions)
    assert found.reason == reason and (found.goal is None) is bool(reason)
    if found.goal:
        assert found.goal.result == '2' and {one.model for one in found.solutions} == {one.model for one in solutions}


def test_a_model_without_a_usable_solution_makes_no_gold_of_the_other() -> None:
    found = agree(draft(), QUERY, 'number', [solved('Result: 2')] * 3, ('one', 'other'))
    assert (found.goal, found.reason) == (None, 'agreement:one_model')


def test_attempts_that_do_not_fit_the_kind_count_against_the_majority() -> None:
    asking, calling = solved('Which author?', tools=()), solved('Done.')
    assert agreed('none', asking, asking, calling, kind=MISSING_PARAMETER).goal
    assert agreed('none', asking, asking, calling, calling, kind=MISSING_PARAMETER).reason == 'agreement:no_majority'


def test_a_request_that_writes_and_asks_is_checked_in_both() -> None:
    note = {'file notes': 'tax due'}
    both = solved('Noted.\nResult: 2', tools=('find', 'add'), changes=note)
    goal = agreed('number', both, both, query='Write down that the tax is due. How many books are there?').goal
    assert goal and reached(goal, 'Result: 2', note)
    assert not reached(goal, 'Noted.', note) and not reached(goal, 'Result: 2') and not reached(goal, 'Result: 3', note)
    silent = solved('Noted.', tools=('find', 'add'), changes=note)
    unchecked = agreed('none', silent, silent, query='Write down that the tax is due, and tell me what is there.')
    assert (unchecked.goal, unchecked.reason) == (None, 'agreement:nothing_to_check')
    wordy = solved('Noted. There are Kindred and Dawn.', tools=('find', 'add'), changes=note)
    told = agreed('none', wordy, wordy, query='Write down that the tax is due, and tell me what is there.').goal
    assert told and told.facts == ('Kindred', 'Dawn')
    assert agreed('none', wordy, wordy, query='Write down that the tax is due.').goal == told.__class__(
        **{**vars(told), 'facts': ()}
    )


@pytest.mark.parametrize(
    ('query', 'tools', 'changes', 'reason'),
    [
        # Nothing was staged: what the tool says of its success is no fact that an agent has to repeat.
        ('Take everything off the stage.', ('drop',), {}, 'agreement:nothing_to_check'),
        ('Take everything off the stage.', ('find', 'drop'), {}, 'agreement:nothing_to_check'),
        ('Take everything off the stage.', ('drop',), {'status': 'clean'}, ''),
        ('Take everything off the stage, and tell me which books are left.', ('find', 'drop'), {}, ''),
        ('All books of Butler, with a word on each.', ('find',), {}, ''),
    ],
)
def test_a_request_for_a_change_that_changes_nothing_makes_no_task(
    query: str, tools: Sequence[str], changes: dict[str, str], reason: str
) -> None:
    one = solved('Done. There are Kindred and Dawn.', tools=tools, changes=changes)
    needed = Draft('d', ORDINARY, 'EN', tuple(tools), ('find', 'drop'))
    assert agree(needed, query, 'none', [one, one], reading={'find'}).reason == reason


@pytest.mark.parametrize(
    ('kind', 'tools', 'reason'),
    [
        (SIBLINGS, ('search',), 'agreement:too_few'),
        (SIBLINGS, ('search', 'find'), ''),
        (ORDINARY, ('search',), 'agreement:other_tool'),
        (ORDINARY, ('find', 'search'), ''),
        (FORBIDDEN, ('find', 'drop'), 'agreement:too_few'),
        (FORBIDDEN, ('search',), 'agreement:other_tool'),
        (NO_TOOL, ('find',), 'agreement:too_few'),
    ],
)
def test_the_needed_tool_is_called_and_no_forbidden_one(kind: str, tools: Sequence[str], reason: str) -> None:
    one = solved('Result: 2', tools=tools)
    assert agreed('number', one, one, kind=kind, other='drop').reason == reason


def test_where_no_state_can_be_read_calls_stand_for_it() -> None:
    def sent(*tools: str) -> Solution:
        calls = tuple(SolvedCall(name, {}, BOOKS, source='exact', error='') for name in tools)
        return Solution('one', calls, 'Result: 2')

    assert agreed('number', sent('find', 'add'), sent('find')).reason == 'agreement:effects'
    assert agreed('number', sent('find', 'add'), sent('find', 'add')).reason == 'agreement:other_tool'
    goal = agreed('number', sent('find', 'search'), sent('find')).goal
    assert goal and goal.effects == {} and reached(goal, 'Result: 2')
    unread = agree(draft(), QUERY, 'number', [sent('find')] * 2).goal
    assert unread and unread.effects is None and reached(unread, 'Result: 2')
    other = Trajectory('x', (Step('', ()),), 'Result: 2', '', (0,))
    assert check_goal(unread, other).reason == 'calls:missing'


def test_a_result_that_the_query_gives_away_is_no_gold() -> None:
    one = solved('Result: Kindred')
    assert agreed('text', one, one, query='Is it Kindred or Dawn that stands first?').reason == 'agreement:given_away'
    assert agreed('text', one, one, query='Which book stands first?').goal


def written(**reply: object) -> str:
    return json.dumps(reply)


def fault_of(read: Query | list[object]) -> str:
    return '' if isinstance(read, Query) else read[0].code  # type: ignore[attr-defined]


def test_a_query_states_its_result_and_a_question_has_one() -> None:
    for reply, kind, fault in (
        (written(query=QUERY, result='Number'), ORDINARY, ''),
        (written(query=QUERY), ORDINARY, 'reply:no_form'),
        (written(query=QUERY, result='number | text'), ORDINARY, 'reply:no_form'),
        (written(query=QUERY, result='none'), ORDINARY, 'query:unchecked'),
        (written(query=QUERY, result='none'), NO_TOOL, 'query:unchecked'),
        (written(query='Lend it to Ann.', result='none'), ORDINARY, ''),
        (written(query='Which is it?'), MISSING_PARAMETER, ''),
    ):
        assert fault_of(read_query(reply, OFFERED, kind)) == fault, reply
    refined = read_refined(written(query=QUERY), OFFERED, ORDINARY, 'number')
    assert refined == Query(QUERY, 'number')


@pytest.mark.parametrize(
    ('query', 'cited', 'fault'),
    [
        ('Find Kindred, but do not remove anything.', 'do not remove anything', ''),
        ('Find Kindred. Leave the rest as it is.', 'Leave the rest as it is', ''),
        ('找到这本书，但不要删除。', '不要删除', ''),
        ('Find Kindred.', 'do not remove anything', 'query:no_ban'),
        ('Find Kindred.', 'Find Kindred', 'query:no_ban'),
        ('Find Kindred.', '', 'query:no_ban'),
        ('Find Kindred.', None, 'query:no_ban'),
    ],
)
def test_a_query_of_kind_forbidden_forbids_something(query: str, cited: str | None, fault: str) -> None:
    reply = written(query=query, result='text', forbids=cited)
    assert fault_of(read_refined(reply, OFFERED, FORBIDDEN, 'text')) == fault
    assert fault_of(read_refined(reply, OFFERED, ORDINARY, 'text')) == ''


def test_the_line_that_asks_for_the_result() -> None:
    for language, mark in (('EN', 'Result: '), ('ZH', '结果：')):
        line = with_line('Do it.', 'number', language)
        assert line.startswith('Do it.\n\n') and mark in line
        assert without_line(line, 'number', language) == 'Do it.'
    assert with_line('Do it.', 'none', 'EN') == 'Do it.' == without_line('Do it.', '', 'EN')
    for query in ('What is it?', 'Tell me what it is.', 'Show us the list', '请告诉我书名。'):
        assert asks(query), query
    for query in (
        'Write down that the tax is due.',
        '把书借给安。',
        'Put what Ann wants on the list, and in the report.',
    ):
        assert not asks(query), query


def test_goals_of_version_1_are_checked_as_before() -> None:
    no_tool = Goal(NO_TOOL, answer='It is five.')
    assert check_goal(no_tool, Trajectory('x', (Step(''),), 'I have done it.', '', (0,))).is_solved
    facts = Goal(facts=('Kindred',), answer='Kindred.')
    assert reached(facts, 'It is Kindred.\nResult: Dawn') and not reached(facts, 'Result: Dawn')
