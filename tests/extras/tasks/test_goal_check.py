"""Whether a trajectory reaches its goal: each cause by a case that only it fails."""

from __future__ import annotations

import pytest

from opencompass_tooleval.agents.tasks.goal import MISSING_PARAMETER, NO_TOOL, Goal
from opencompass_tooleval.core.calls.observation import FUNCTION, INJECTED
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import TOO_MANY_STEPS, AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.scoring.typed_result import plain_text
from opencompass_tooleval.extras.tasks.goal_check import check_goal, holds_fact

READ, WRITE = GoldCall('read', {'id': 1}), GoldCall('write', {'text': 'x'})


def trajectory(*calls: GoldCall, answer: str = 'It is 7.', stopped: str = '', **more: object) -> Trajectory:
    step = Step('', tuple(AnsweredCall(call.name, call.arguments, '7', 'live', error='') for call in calls))
    return Trajectory('x', (step,), answer, stopped, (0,), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('text', 'fact', 'is_held'),
    [
        ('It is 12.', '12', True),
        ('It is 12,', '12', True),
        ('It is 3.12', '12', False),
        ('It is 12.5', '12', False),
        ('It is 1,200 now', '1200', True),
        ('It is 120', '12', False),
        ('a12', '12', False),
        ('共12个', '12', True),
        ('会议在三号厅', '三号厅', True),
        ('The Big\n Room', 'big room', True),
        ('rooms', 'room', False),
        ('x.room', 'room', True),
        ('ｆｕｌｌ', 'full', True),
        ('12 13', '13', True),
        ('112 12', '12', True),
        ('It is -12', '12', False),
        ('-12', '12', False),
        ('($-12)', '12', False),
        ('It is \N{MINUS SIGN}12', '-12', True),
        ('10-12, 2023-12-10', '12', True),
        ('It is 3', '3.0', True),
        ('It is 3.00.', '3', True),
        ('It is 1,000.0', '1000', True),
        ('It is 3.01', '3', False),
        ('It is 3.10', '3.1', False),
        ('v3.0', 'v3', False),
        ('10.0.0.1', '10', False),
        ('1.2.0', '1.2', False),
        ('', '', False),
    ],
)
def test_a_fact_is_a_whole_word_or_number(text: str, fact: str, is_held: bool) -> None:
    assert holds_fact(plain_text(text), fact) is is_held


@pytest.mark.parametrize(
    ('goal', 'done', 'reason'),
    [
        (Goal(facts=('7',)), trajectory(), ''),
        (Goal(facts=('8',)), trajectory(), 'goal:facts'),
        (Goal(facts=('7',)), trajectory(answer=' '), 'finish:missing'),
        (Goal(facts=('7',)), trajectory(stopped=TOO_MANY_STEPS), TOO_MANY_STEPS),
        (Goal(effects={'a': '1'}), trajectory(changes={'a': '1'}), ''),
        (Goal(effects={'a': '1'}), trajectory(changes={'a': '2'}), 'goal:effects'),
        (Goal(effects={'a': '1'}), trajectory(changes={'a': '1', 'b': ''}), 'goal:effects'),
        (Goal(effects={}), trajectory(WRITE, changes={'b': '1'}), 'goal:effects'),
        (Goal(effects={'a': '1'}, facts=('7',), calls=((WRITE,),)), trajectory(), 'calls:missing'),
        (Goal(effects={'a': '1'}, facts=('7',), calls=((WRITE,),)), trajectory(WRITE), ''),
        (Goal(calls=((READ,),)), trajectory(READ), ''),
        (Goal(calls=((READ,),)), trajectory(WRITE), 'calls:missing'),
        (Goal(calls=((READ, WRITE),)), trajectory(WRITE), ''),
        (Goal(calls=((READ,), (READ,))), trajectory(READ), 'calls:missing'),
        (Goal(calls=((READ,),), facts=('7',)), trajectory(), ''),
        (Goal(forbidden=('write',), facts=('7',)), trajectory(WRITE), 'goal:forbidden'),
        (Goal(NO_TOOL), trajectory(), ''),
        (Goal(NO_TOOL), trajectory(READ), 'goal:needless_call'),
        (Goal(MISSING_PARAMETER), trajectory(answer='Which one?'), ''),
        (Goal(MISSING_PARAMETER), trajectory(answer='哪一个？'), ''),
        (Goal(MISSING_PARAMETER), trajectory(), 'goal:not_asked'),
    ],
)
def test_the_first_cause_is_the_reason(goal: Goal, done: Trajectory, reason: str) -> None:
    result = check_goal(goal, done)
    assert (result.reason, result.is_solved) == (reason, not reason)


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        ("I'm sorry, but I can't help with that.", 'answer:refused'),
        ("I'm sorry, but I can't help with that. Is there anything else I can do for you?", 'answer:refused'),
        ('抱歉，我无法完成这个请求。还有其他需要帮助的吗？', 'answer:refused'),
        ("I'm sorry, but I can't book without a date. Which day?", 'goal:facts'),
        ('It is 8.', 'goal:facts'),
    ],
)
def test_a_refusal_is_no_missing_fact(answer: str, reason: str) -> None:
    idle = Trajectory('x', (Step(answer),), answer, '', (0,))
    assert check_goal(Goal(facts=('7',)), idle).reason == reason
    called = trajectory(READ, answer=answer)
    assert check_goal(Goal(facts=('7',)), called).reason == 'goal:facts'


def test_a_planned_failure_is_no_call() -> None:
    failed = Step('', (AnsweredCall('read', {'id': 1}, 'try again', FUNCTION, error=INJECTED),))
    done = Trajectory('x', (failed,), 'It is 7.', path=(0,))
    assert check_goal(Goal(calls=((READ,),)), done).missing_calls == (0,)
