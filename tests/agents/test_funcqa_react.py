"""FuncQA by ReAct: the demonstrations, and right and wrong trajectories."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa import prompts
from opencompass_tooleval.benchmarks.funcqa.data import TOOL_NAMES, Calculation, Record, call_tool, load_records
from opencompass_tooleval.benchmarks.funcqa.scoring import score_trajectory
from opencompass_tooleval.benchmarks.funcqa.tables import SUBSETS
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.agents.support import action, final
from tests.benchmarks.funcqa.support import begin, drive
from tests.instructions.shared_data import real
from tests.run_alone import run_alone

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from lagent.agents.react import ReActProtocol

RECORD = Record(
    id='0',
    subset='multi_hop',
    question='A shelf holds 12 rows of 15 books. How many books are left once a quarter of them is lent out?',
    answer=135,
    published=135,
    gold='official',
    steps=(Calculation('multiply_', (12, 15), 180), Calculation('multiply_', (180, 0.75), 135)),
)


def dialogue(record: Record = RECORD, **options: Any) -> Dialogue[Trajectory]:
    return begin('react', record, **options)


def demonstrations() -> list[list[str]]:
    """Of each example, what is said in turn: question, answer, response, answer, ..."""
    said: list[list[str]] = []
    for _, content in prompts.DEMONSTRATIONS:
        said += [[]] if content.startswith('Question: ') else []
        said[-1].append(content)
    return said


def test_four_demonstrations_show_five_calls_that_are_right() -> None:
    assert [role for role, _ in prompts.DEMONSTRATIONS] == ['user', 'assistant'] * 9
    calls = 0
    for example in demonstrations():
        trajectory = run_alone(dialogue(), example[1::2])
        assert [said.asked for said in trajectory.steps[1:]] == example[2::2]
        assert not any(item.error for item in trajectory.calls)
        assert trajectory.final_answer == f'Answer: {trajectory.calls[-1].observation}'
        calls += len(trajectory.calls)
    assert (len(demonstrations()), calls) == (4, 5)


def test_no_demonstration_is_a_question_of_the_benchmark() -> None:
    asked = {example[0].removeprefix('Question: ') for example in demonstrations()}
    for row in SUBSETS:
        records = load_records(real(f'funcqa/{row["file"]}'), str(row['name']))
        assert not asked & {record.question for record in records}


def test_prompts_are_in_the_format_of_lagent() -> None:
    protocol = ReActProtocol()
    written = '\n'.join(content for role, content in prompts.DEMONSTRATIONS if role == 'assistant')
    for part in (protocol.thought, protocol.action, protocol.action_input, protocol.finish):
        assert f'{part["begin"]} ' in written
    assert prompts.DEMONSTRATIONS[2][1] == f'{protocol.response["begin"]}43.2{protocol.response["end"]}'
    assert tuple(prompts.CALLING_FORMS) == TOOL_NAMES
    asked = next(dialogue()).messages
    assert all(form in asked[0].content for form in prompts.CALLING_FORMS.values())
    assert (asked[0].role, asked[-1].content) == ('system', f'Question: {RECORD.question}')
    assert '{' not in asked[0].content.replace('{"input": [', '').replace("{'name': '", '')


def test_a_trajectory_keeps_everything() -> None:
    multiplied = 'Action: multiply_\nAction Input: {"input": [%s]}'
    golds = [multiplied % '12, 15', multiplied % '180, 0.75', 'Final Answer: 135']
    assert drive(dialogue(), lambda turn: turn.gold).steps[2].text == golds[-1]
    trajectory = run_alone(dialogue(), golds)
    assert [(item.name, item.arguments, item.observation, item.error) for item in trajectory.calls] == [
        ('multiply_', {'input': [12, 15]}, '180', None),
        ('multiply_', {'input': [180, 0.75]}, '135', None),
    ]
    assert [said.text for said in trajectory.steps] == golds
    assert [said.asked for said in trajectory.steps[1:]] == ['Response:180\n', 'Response:135\n']
    assert (trajectory.loop, trajectory.final_answer, trajectory.stopped) == ('react', 'Answer: 135', '')
    assert trajectory.settings == {'max_steps': 20, 'rounded': True}
    assert parse_trajectory(trajectory.to_json()) == trajectory
    thirds = [action('divide_', '{"input": [1, 3]}'), final('0.33')]
    results = [run_alone(dialogue(rounded=value), thirds).calls[0].observation for value in (True, False)]
    assert results == ['0.33', str(1 / 3)]


WRONG = {
    'name': (action('product', '{"input": [12, 15]}'), 'name:unknown_tool', 'product', {'input': [12, 15]}),
    'text': (action('add_', 'twelve'), 'args:not_an_object', 'add_', 'twelve'),
    'no arguments': ('Action: add_', 'args:not_an_object', 'add_', ''),
    'parameter': (action('add_', '{"numbers": [1]}'), 'args:missing', 'add_', {'numbers': [1]}),
    'expression': (action('add_', '{"input": [9**9**9**9]}'), 'args:not_an_object', 'add_', '{"input": [9**9**9**9]}'),
}


@pytest.mark.parametrize('kind', WRONG)
def test_a_failed_call_is_counted_and_told_and_the_question_goes_on(kind: str) -> None:
    answer, error, name, parameters = WRONG[kind]
    asked = dialogue()
    next(asked)
    told, text = asked.send(as_answer(answer)).messages[-1].content, call_tool(name, parameters).text
    assert told == f'Response:{text}\n'
    with pytest.raises(StopIteration) as end:
        asked.send(as_answer(final('135')))
    (made,) = end.value.value.calls
    assert (made.name, made.arguments, made.observation, made.error) == (name, parameters, text, error)
    values = score_trajectory(RECORD, end.value.value).values
    by_name = error.startswith('name:')
    assert (values['accuracy'], values['tool_error_rate']) == (1.0, 1.0)
    assert (values['tool_name_error_rate'], values['parameter_error_rate']) == (float(by_name), float(not by_name))
