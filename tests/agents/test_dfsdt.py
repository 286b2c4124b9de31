"""ToolBench's search: its order, where it goes back, its requests, and that it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.answers import load_answers
from opencompass_tooleval.agents.toolbench.names import function_of
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from tests.agents.support import NUMBERS, PRODUCT, REST, TASK, calling, drive, finishing, session_of, talk
from tests.agents.test_toolbench_answers import RUNS
from tests.environments.test_playback import CALLS

SEARCH = DepthFirstSearch()
REACT = ToolBenchReAct()


GIVES_UP = calling(('Finish', {'return_type': 'give_up_and_restart'}))
CALL, THOUGHT, DONE = calling(PRODUCT), Answer('Hm.'), calling(finishing())
BOTH = calling(PRODUCT, text='Let me see.')
LETTERS = {'c': CALL, 't': THOUGHT, 'b': BOTH, 'g': GIVES_UP, 'f': DONE}


@pytest.mark.parametrize(
    ('script', 'parents', 'path', 'stopped'),
    [
        # Worked out by hand for a depth of 4: a call is 2 deep, a thought 1, a thought with a call 3.
        ('f', [-1], [0], ''),
        ('ccf', [-1, 0, 0], [0, 2], ''),  # 1 is at the limit: one back, to the second child of 0
        ('cccccc', [-1, 0, 0, -1, 3, 3], [3, 5], 'limit:steps'),  # the whole tree
        ('cgf', [-1, 0, -1], [2], ''),  # given up below 0: two back, to the second child of the root
        ('gc', [-1], [0], 'finish:gave_up'),  # two back from below the root: nothing is left
        ('cgcg', [-1, 0, -1, 2], [2, 3], 'finish:gave_up'),
        ('cggf', [-1, 0, -1], [2], 'finish:gave_up'),  # a give-up below the root ends all
        ('ttgf', [-1, 0, 1, 0], [0, 3], ''),  # a thought is a node: two back from below the second is the first
        ('btf', [-1, 0, 0], [0, 2], ''),  # 3 deep, and a thought is the fourth
        ('bccf', [-1, 0, 0, -1], [3], ''),  # 3 deep: one more is asked, and it is 5 deep
        ('ctcf', [-1, 0, 1, 1], [0, 1, 3], ''),
    ],
)
def test_the_order_of_the_search(script: str, parents: list[int], path: list[int], stopped: str) -> None:
    trajectory, _ = drive(DepthFirstSearch(max_depth=4), *(LETTERS[letter] for letter in script))
    assert [step.parent for step in trajectory.steps] == parents
    assert (list(trajectory.path), trajectory.stopped) == (path, stopped)
    assert trajectory.final_answer == ('' if stopped else '258')
    assert parse_trajectory(trajectory.to_json()) == trajectory


def test_the_last_answer_that_a_model_may_give_is_thrown_away() -> None:
    trajectory, requests = drive(DepthFirstSearch(max_model_calls=3), CALL, CALL, DONE)
    assert (len(requests), trajectory.final_answer, trajectory.stopped) == (3, '', 'limit:calls')
    steps = [(step.parent, step.reason, len(step.calls)) for step in trajectory.steps]
    assert steps == [(-1, '', 1), (0, '', 1), (1, 'limit:calls', 0)]  # what the last cost is known, and no more
    assert trajectory.path == (0, 1)
    trajectory, _ = drive(DepthFirstSearch(max_model_calls=4), CALL, GIVES_UP, CALL, DONE)
    assert (trajectory.stopped, trajectory.path) == ('limit:calls', (0, 1))  # to the give-up
    trajectory, requests = drive(DepthFirstSearch(max_model_calls=1), DONE)
    assert (len(requests), trajectory.path, trajectory.stopped) == (1, (), 'limit:calls')
    trajectory, requests = drive(SEARCH, THOUGHT)
    assert (len(requests), len(trajectory.steps), trajectory.stopped) == (200, 200, 'limit:calls')


def test_what_is_asked() -> None:
    documents = {
        'multiply_': {'tool_name': 'Sums & More', 'tool_description': 'd' * 600},
        'subtract_for_sums_more': {'tool_name': 'Sums & More', 'tool_description': 'd' * 600},
        'a': 'text',
        'b': {'tool_name': 'b', 'tool_description': ' \nc \nd ' + ' ' * 506 + 'e'},  # first cut, then stripped
        'n': {'tool_name': 'n', 'tool_description': ' \n'},
        'o': {'tool_name': 'o', 'tool_description': None},
    }
    tools = tuple(ToolSchema(name, f'calls {name}', NUMBERS) for name in documents)
    task = Task('1', 's', 'What {is} this?', tools, documents=documents)
    _, requests = drive(SEARCH, DONE, task=task)
    system, user = requests[0].messages
    listed = f'1.Sums & More: {"d" * 512}\n2.sums_more: {"d" * 512}\n3.a: calls a\n4.b: c d\n5.n: None\n6.o: None\n'
    assert system.content.endswith(f'following tools:\n{listed}')
    assert user.content == '\nWhat {is} this?\nBegin!\n'
    assert requests[0].tools is not None and requests[0].tools.parallel is False
    assert [tool.name for tool in requests[0].tools.tools] == [*documents, 'Finish']


def test_only_the_first_call_of_an_answer_counts() -> None:
    trajectory, requests = drive(SEARCH, calling(PRODUCT, REST), DONE)
    assert [call.name for call in trajectory.calls] == ['multiply_']
    assert [step.reason for step in trajectory.steps] == ['call:several', '']
    assert len(requests[1].messages[2].calls) == 1


STABLE: dict[str, Any] = {'runner': 'stabletoolbench'}


@pytest.mark.parametrize('loop', [DepthFirstSearch(**STABLE), ToolBenchReAct(**STABLE)], ids=lambda loop: loop.name)
def test_stabletoolbench_carries_out_all_calls_of_an_answer(loop: DepthFirstSearch) -> None:
    trajectory, requests = drive(loop, calling(PRODUCT, REST), DONE)
    assert [call.observation for call in trajectory.calls] == ['300', '258']
    assert [step.reason for step in trajectory.steps] == ['', '']
    assert requests[0].tools is not None and requests[0].tools.parallel is None
    assistant, *told = requests[1].messages[2:]
    assert [call.id for call in assistant.calls] == ['id0', 'id1']
    assert [(message.call_id, message.content) for message in told] == [('id0', '300'), ('id1', '258')]

    give_up = ('Finish', {'return_type': 'give_up_and_restart'})
    trajectory, _ = drive(loop, calling(give_up, PRODUCT), DONE)  # as published, the last call says how it goes on
    assert (trajectory.final_answer, [len(step.calls) for step in trajectory.steps]) == ('258', [2, 1])
    trajectory, _ = drive(loop, calling(PRODUCT, give_up))
    assert trajectory.stopped == 'finish:gave_up' and trajectory.path == (0,)
    trajectory, requests = drive(loop, calling(PRODUCT, finishing(), REST))
    assert (len(requests), trajectory.final_answer) == (1, '258')
    assert [call.name for call in trajectory.steps[0].calls] == ['multiply_', 'Finish']


@pytest.mark.parametrize('name', ['functions.Finish', 'a.b.Finish'])
def test_what_follows_the_last_dot_of_a_name_is_the_name(name: str) -> None:
    trajectory, requests = drive(SEARCH, calling((name, finishing()[1])))
    assert (len(requests), trajectory.final_answer) == (1, '258')
    trajectory, requests = drive(SEARCH, calling(('functions.multiply_', PRODUCT[1])), DONE)
    assert [(call.name, call.observation) for call in trajectory.calls] == [('multiply_', '300')]
    assert requests[1].messages[2].calls[0].name == 'multiply_'
    trajectory, _ = drive(DepthFirstSearch(**STABLE), calling((name, finishing()[1])), GIVES_UP)
    assert trajectory.final_answer == '' and trajectory.calls[0].fault == 'unknown_tool'
    tool = replace(TASK.tools[0], name='Numbers.multiply_')  # a dotted name that the task has stays
    task = replace(TASK, tools=(tool, *TASK.tools))
    trajectory, _ = talk(SEARCH, lambda *_: calling(('Numbers.multiply_', PRODUCT[1])), task, session_of(TASK))
    assert {call.name for call in trajectory.calls} == {'Numbers.multiply_'}


def test_blanks_around_an_unknown_name_are_told() -> None:
    _, requests = drive(DepthFirstSearch(max_depth=2), calling((' multiply_', {})), DONE)
    shown = requests[1].messages[-1].content
    assert '"name": " multiply_"' in shown and 'No such function name:  multiply_' in shown


def test_of_unknown_names_in_one_answer_stabletoolbenchs_search_renames_the_first() -> None:
    unknown, told = calling(('a', {}), ('b', {})), {}
    for loop in (DepthFirstSearch(**STABLE), ToolBenchReAct(**STABLE)):
        _, requests = drive(loop, unknown, DONE)
        told[loop.name] = [call.name for call in requests[1].messages[2].calls]
    invalid = 'invalid_hallucination_function_name'
    assert told == {'dfsdt': [invalid, 'b'], 'toolbench_react': [invalid, invalid]}


def test_stabletoolbenchs_lists_of_parameters_begin_with_an_empty_name() -> None:
    api = {'tool_name': 'Map', 'api_name': 'find', 'required_parameters': [{'name': 'id', 'type': 'STRING'}]}
    task = replace(TASK, tools=(function_of(api), *TASK.tools))
    offered = {}
    for loop in (SEARCH, DepthFirstSearch(**STABLE)):
        _, requests = talk(loop, lambda *_: DONE, task, session_of(TASK))
        assert requests[0].tools is not None
        schemas = [tool['function']['parameters'] for tool in requests[0].tools.as_request()]
        offered[loop.settings['runner']] = [(schema.get('required'), schema.get('optional')) for schema in schemas]
    of_others = [(['input'], None), (['input'], None), (['return_type'], None)]
    assert offered == {
        'toolbench': [(['is_id'], []), *of_others],
        'stabletoolbench': [(['', 'is_id'], ['']), *of_others],
    }


def test_each_of_several_calls_is_two_deep() -> None:
    loop = DepthFirstSearch(max_depth=5, children=1, **STABLE)
    trajectory, requests = drive(loop, calling(PRODUCT, REST))
    assert (len(requests), trajectory.stopped) == (2, 'limit:steps')  # 4, then 8
    loop = DepthFirstSearch(max_depth=4, **STABLE)
    _, requests = drive(loop, CALL, calling(PRODUCT, REST), DONE)
    listed, _, former = requests[2].messages[-1].content.partition('\nagain, ')
    assert '"multiply_"' in listed and '"subtract_"' not in listed  # the first stands for all
    assert former.startswith('your former observation: 300\n')
    _, requests = drive(DepthFirstSearch(max_depth=6, **STABLE), calling(PRODUCT, REST), CALL, DONE)
    assert '\nagain, your former observation: 258\n' in requests[2].messages[-1].content  # here the last


def test_depths_by_the_name_of_the_runner() -> None:
    for loop, depth in ((SEARCH, 12), (DepthFirstSearch(**STABLE), 50), (ToolBenchReAct(**STABLE), 50)):
        assert loop.settings['max_depth'] == depth
    assert DepthFirstSearch(max_depth=7, **STABLE).settings['max_depth'] == 7
    assert len(drive(ToolBenchReAct(**STABLE), CALL)[1]) == 25
    with pytest.raises(ValueError, match=r"runner is 'mine'; it is one of toolbench, stabletoolbench"):
        DepthFirstSearch(runner='mine')


def test_an_empty_content_beside_a_call_is_one_deep_and_none_is_not() -> None:
    call = calling(PRODUCT)
    assert len(drive(REACT, call)[1]) == 6
    assert len(drive(REACT, replace(call, has_content=True))[1]) == 4
    assert len(drive(REACT, calling(PRODUCT, text='<think>Hm.</think>'))[1]) == 6  # content null, thoughts apart
    assert len(drive(REACT, replace(calling(PRODUCT, text='Hm.'), has_content=True))[1]) == 4


def test_react_is_one_chain_and_an_empty_answer_is_a_thought() -> None:
    trajectory, requests = drive(REACT, Answer(''))
    assert (len(requests), trajectory.path, trajectory.stopped) == (12, tuple(range(12)), 'limit:steps')
    assert {step.reason for step in trajectory.steps} == {'answer:empty'}
    trajectory, requests = drive(REACT, CALL, GIVES_UP)
    assert (len(requests), trajectory.stopped, trajectory.loop) == (2, 'finish:gave_up', 'toolbench_react')


def test_no_room_at_all_goes_back() -> None:
    def model(request: ModelRequest, number: int) -> Answer:
        return Answer('', 'infra:truncated') if len(request.messages) > 2 else CALL

    trajectory, _ = talk(SEARCH, model)
    assert (len(trajectory.steps), trajectory.stopped) == (1, 'limit:context')


@pytest.fixture(scope='module')
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    file = tmp_path_factory.mktemp('bank') / 'bank'
    write_bank(read_sources(find_sources([RUNS])), file)
    return Bank(file)


@pytest.mark.skipif(not RUNS.is_dir(), reason='no published runs of ToolBench at hand')
@pytest.mark.parametrize('name', CALLS)
def test_published_calls_played_back_through_the_loop(bank: Bank, name: str) -> None:
    """Each call gets its recorded response, whole, and the final answer is the file's."""
    environment = Environment(bank, preferred_source=name)
    loop = ToolBenchReAct(max_depth=100, max_observation=20_000, runner='stabletoolbench')  # names with dots stay
    played = (0, 0)
    for stored in load_answers(RUNS / name):
        steps = stored.trajectory.steps
        answers = [Answer(step.text, calls=tuple(ToolCall(c.name, c.arguments) for c in step.calls)) for step in steps]
        answers[-1] = calling(finishing(stored.trajectory.final_answer))  # the files write it as text that is no JSON
        task = Task(stored.task.id, 'toolbench', stored.task.query, ())  # so that no name is the end of another
        session = environment.begin(task.id)
        trajectory, requests = talk(loop, lambda _, number: answers[number], task, session)  # noqa: B023
        assert [(c.name, c.arguments, c.observation, c.source) for c in trajectory.calls] == [
            (c.name, c.arguments, c.observation, 'exact') for c in stored.trajectory.calls
        ]
        assert (trajectory.final_answer, trajectory.stopped) == (stored.trajectory.final_answer.strip(), '')
        assert len(requests) == len(steps)
        played = (played[0] + 1, played[1] + len(trajectory.calls))
    assert played == CALLS[name]
