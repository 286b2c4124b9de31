"""EasyTool's method over tools: its requests and calls, in order, and its ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from opencompass_tooleval.agents.loops import easytool as method
from opencompass_tooleval.agents.loops import easytool_prompts as prompts
from opencompass_tooleval.agents.loops.easytool import EasyTool
from opencompass_tooleval.agents.loops.easytool_tools import tools_of
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.environment import Environment, FunctionAnswer, Session
from opencompass_tooleval.tool_docs.instruction import FunctionInstruction, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from tests.agents.support import Tools, bank_of, talk
from tests.instructions.shared_data import expected
from tests.official import Recorder

PLACE = {'type': 'object', 'properties': {'place': {'type': 'string'}}, 'required': ['place']}
APIS = {
    'search_for_maps': ('Maps', 'Finds places.'),
    'route_for_maps': ('Maps', 'Finds places.'),
    'now_for_weather': ('Weather', 'Says the weather.'),
}
GUIDELINES = {
    name: {'tool_name': tool, 'tool_description': description, 'name': name, 'description': f'{name}!'}
    for name, (tool, description) in APIS.items()
}
TASK = Task(
    'q1',
    'toolbench_g2',
    'Where is Delft, and does it rain there?',
    tuple(ToolSchema(name, f'the function {name}', PLACE) for name in APIS),
    instructions=GUIDELINES,
)
RECORDED = (
    RecordedCall('f', 'q1', 'search_for_maps', {'place': 'Delft'}, 'in Holland'),
    RecordedCall('f', 'q1', 'search_for_maps', {'place': 'Rome'}, 'in Italy ' * 200),
    RecordedCall('f', 'q1', 'now_for_weather', {'place': 'Delft'}, 'rain'),
)
ONE_TASK = {
    'task_decompose': ['{"Tasks": ["Find Delft"]}'],
    'task_topology': ['[{"task": "Find Delft", "id": 1, "dep": [-1]}]'],
    'tool_check': ['{"Reason": "so", "Choice": "Yes"}'],
    'choose_tool': ['{"ID": 1}'],
    'choose_API': ['["search_for_maps"]'],
    'choose_parameter': ['{"Parameters": {"place": "Delft"}}'],
    'choose_parameter_depend': ['{"Parameters": {"place": "Delft"}}'],
    'answer_generation': ['It is in Holland.'],
    'answer_generation_depend': ['It rains.'],
    'answer_generation_direct': ['I just know.'],
    'answer_check': ['{"Choice": "Yes"}'],
    'answer_summarize': ['Delft is in Holland.'],
}
BEGINNINGS = {template.partition('{')[0]: purpose for template, purpose in method._PURPOSES.items()}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Environment(bank_of(tmp_path, RECORDED)).begin(TASK.id, TASK.schemas)


def purpose_of(request: ModelRequest) -> str:
    text = request.messages[-1].content
    if '\nThis is the API list: ' in text:
        return 'choose_API'
    if text.startswith('You should answer the question based on the response output by the API tool.'):
        return 'answer_generation' + ('_depend' if 'There are logs of previous' in text else '')
    fitting = [begin for begin in BEGINNINGS if begin and text.startswith(begin)]
    return BEGINNINGS[max(fitting, key=len)]


class Scripted:
    """A model that answers by what it is asked for; the last answer of each is repeated."""

    def __init__(self, **replies: Sequence[str]) -> None:
        self.replies = {**ONE_TASK, **replies}
        self.asked: Counter[str] = Counter()

    def __call__(self, request: ModelRequest, number: int) -> str:
        purpose = purpose_of(request)
        replies = self.replies[purpose]
        reply = replies[min(self.asked[purpose], len(replies) - 1)]
        self.asked[purpose] += 1
        return reply


def carried_out(session: Session, task: Task = TASK, loop: EasyTool | None = None, **replies: Sequence[str]):
    return talk(loop or EasyTool(), Scripted(**replies), task, session)


def purposes(trajectory: Trajectory) -> list[str]:
    return [step.purpose for step in trajectory.steps]


@pytest.mark.official('EasyTool on ToolBench', 'prompts')
def test_prompts_are_the_published_ones(record_property: Recorder) -> None:
    record_property('cases', len(method._PURPOSES))
    published = json.loads(expected('easytool/prompts.json').read_text())
    assert published['toolbench'] == published['toolbench_retrieve']
    assert set(method._PURPOSES.values()) == set(published['toolbench'])
    for template, purpose in method._PURPOSES.items():
        system, human = published['toolbench'][purpose]
        assert system == (prompts.TOOL_CHECK_SYSTEM if purpose == 'tool_check' else prompts.SYSTEM)
        if purpose == 'choose_tool':
            human = human.replace('{question}', '{query}').replace('{Too_list}', '{tools}')
        assert template == human, purpose


def choices(session: Session, loop: EasyTool, *chosen: str) -> tuple[Trajectory, list[str]]:
    """A run whose answers are never accepted, and the lists of tools that were shown."""
    trajectory, requests = carried_out(session, loop=loop, choose_tool=chosen, answer_check=['{"Choice": "No"}'])
    assert 'answers: []\n' in requests[-2].messages[-1].content  # none was accepted
    assert trajectory.final_answer == 'Delft is in Holland.'
    listed = [t.messages[-1].content.partition('Tool List:\n')[2].partition('\n\nPlease')[0] for t in requests]
    return trajectory, [
        tools for tools, purpose in zip(listed, purposes(trajectory), strict=True) if purpose == 'choose_tool'
    ]


def test_prepared_tools_are_listed_key_by_key_and_stay_but_for_a_key_that_was_chosen(session: Session) -> None:
    both = 'ID: ID\n1\nID: Description\nFinds places.\nID: ID\n2\nID: Description\nSays the weather.'
    trajectory, listed = choices(session, EasyTool(), '{"ID": 1}', '{"ID": 2}', '{"ID": 1}')
    assert listed == [both] * 5 and trajectory.settings['tool_list'] == 'prepared'
    _, listed = choices(session, EasyTool(), '{"ID": "ID"}', '{"ID": "Description"}')
    assert listed[1:] == ['ID: Description\nFinds places.\nID: Description\nSays the weather.', '', '', '']


def museum(name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
    """A tool that is strict on names, as a Python function is."""
    known = set(arguments) <= {'q', 'is_id', 'opening_day'} and 'q' in arguments
    return FunctionAnswer(str(dict(arguments)) if known else 'No such argument.', is_wrong_call=not known)


def at_the_museum(
    parameters: str, environment: Environment | None = None, known: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], str]:
    """The arguments of the calls, and what the model was shown of the responses."""
    schema = {'type': 'object', 'properties': {name: {} for name in known}}
    task = Task('q1', 'toolbench_g2', 'Open?', (ToolSchema('find_for_museum', '', schema),))
    session = (environment or Environment(stateful_tools=lambda: (Tools(('find_for_museum',), museum),))).begin(
        task.id, task.schemas
    )
    replies: dict[str, Any] = {
        'choose_API': ['["find_for_museum"]'],
        'choose_parameter': [f'{{"Parameters": {parameters}}}'],
    }
    trajectory, requests = carried_out(session, task, **replies)
    shown = next(text for request in requests if 'API response:' in (text := request.messages[-1].content))
    calls = [call.arguments for call in trajectory.calls]
    return calls, shown.partition('API response:\n ')[2].removesuffix('\nOutput:')


@pytest.mark.parametrize(
    ('parameters', 'passed'),
    [
        ('{"q": "a", "id": 5}', {'q': 'a', 'is_id': 5}),
        ('{"ID": 5, "q": "a"}', {'is_id': 5, 'q': 'a'}),
        ('{"Q": "a", "Id": 5, "Opening-Day": 2}', {'q': 'a', 'is_id': 5, 'opening_day': 2}),
        ("{'q': 'a', 'opening\\\\_day': 2}", {'q': 'a', 'opening_day': 2}),
    ],
)
def test_names_of_arguments_are_rewritten_until_the_tool_takes_them(parameters: str, passed: dict[str, Any]) -> None:
    assert at_the_museum(parameters) == ([passed], str(passed))


def test_of_a_call_that_fails_with_all_names_the_model_is_shown_nothing() -> None:
    calls, shown = at_the_museum('[{"q": "a"}, {"What-Is": "b"}, {"Q": "c"}]')
    assert calls == [{'q': 'a'}, {'what_is': 'b'}, {'q': 'c'}]
    assert shown == "{'q': 'a'}\n\n{'q': 'c'}"
    assert at_the_museum('{}') == ([{}], '')


def test_a_name_that_the_tool_has_and_a_recorded_one_stay(tmp_path: Path) -> None:
    bank = Environment(bank_of(tmp_path, [RecordedCall('f', 'q1', 'find_for_museum', {'ID': 5}, 'open')]))
    assert at_the_museum('{"id": 5}', bank, ['id']) == ([{'id': 5}], 'open')  # the only recorded call of the task
    assert at_the_museum('{"ID": 5}', bank, ['is_id']) == ([{'ID': 5}], 'open')


def test_several_apis_and_several_calls(session: Session) -> None:
    parameters = ['{"Parameters": [{"place": "Delft"}, {"place": "Rome"}]}', '{"Parameters": {"place": "Delft"}}']
    replies: dict[str, Any] = {'choose_API': ['["search_for_maps", "route_for_maps"]'], 'choose_parameter': parameters}
    trajectory, requests = carried_out(session, **replies)
    assert [call.name for call in trajectory.calls] == ['search_for_maps', 'search_for_maps', 'route_for_maps']
    assert [len(step.calls) for step in trajectory.steps[4:8]] == [0, 2, 1, 0]  # with what chose their parameters
    shown = requests[7].messages[-1].content.partition('API response:\n ')[2].removesuffix('\nOutput:')
    assert shown == ('in Holland\n\n' + 'in Italy ' * 200)[:1_000]
    assert trajectory.calls[1].observation_chars == 1_800
    trajectory, _ = carried_out(session, choose_parameter=['{"Parameters": [{}, "", []]}'])
    assert [call.arguments for call in trajectory.calls] == [{}, {}, {}]


@pytest.mark.parametrize(
    ('replies', 'stopped', 'asked'),
    [
        ({'task_decompose': ['no']}, 'plan:no_tasks', {'task_decompose': 12}),
        ({'task_decompose': ['{"Tasks": 3}']}, 'plan:no_tasks', {'task_decompose': 1}),
        ({'task_topology': ['no']}, 'plan:no_order', {'task_decompose': 1, 'task_topology': 12}),
        ({'task_topology': ['[{"id": 1, "dep": -1}]']}, 'plan:no_order', {'task_decompose': 1, 'task_topology': 1}),
        ({'choose_tool': ['{"ID": 77}']}, '', {'choose_tool': 1, 'choose_API': 0, 'answer_generation': 1}),
        ({'choose_tool': ['{"tool": 1}']}, 'parse:no_choice', {'choose_tool': 1}),
        ({'choose_tool': ['no'], 'answer_check': ['no']}, '', {'choose_tool': 60, 'answer_generation': 5}),
        ({'tool_check': ['no']}, '', {'tool_check': 12, 'choose_tool': 1}),  # then a tool is needed
        ({'choose_API': ['no']}, '', {'choose_API': 12, 'answer_generation': 1}),
        ({'choose_API': ['["guess", ["x"], 7]']}, '', {'choose_API': 1, 'choose_parameter': 0, 'answer_generation': 1}),
        ({'choose_parameter': ['no']}, '', {'choose_parameter': 12, 'answer_generation': 1}),
        ({'choose_parameter': ['{"Parameters": ["x"]}']}, 'args:unreadable', {'answer_generation': 0}),
        ({'answer_summarize': ['']}, 'finish:missing', {'answer_summarize': 1, 'answer_check': 2}),
    ],
)
def test_what_cannot_be_read(
    session: Session, replies: dict[str, list[str]], stopped: str, asked: dict[str, int]
) -> None:
    model = Scripted(**{'choose_tool': ['{"ID": 1}', '{"ID": 2}'], **replies})
    trajectory, _ = talk(EasyTool(), model, TASK, session)
    assert trajectory.stopped == stopped
    assert {purpose: model.asked[purpose] for purpose in asked} == asked
    assert bool(trajectory.final_answer) == (not stopped)


def test_unread_replies_say_so(session: Session) -> None:
    trajectory, _ = carried_out(session, task_decompose=['no', '{"Tasks": ["Find Delft"]}'])
    assert [step.reason for step in trajectory.steps[:3]] == ['parse:not_a_literal', '', '']
    replies: dict[str, Any] = {'choose_tool': ['{"ID": 1}', '{"ID": 9}'], 'answer_check': ['no', 'yes']}
    trajectory, _ = carried_out(session, choose_parameter=['{"Parameters": 1}'], **replies)
    reasons = ['args:unreadable', '', '', 'name:unknown_tool', '', '', '', '']
    assert [step.reason for step in trajectory.steps[5:]] == reasons


def test_limits(session: Session) -> None:
    trajectory, requests = carried_out(session, loop=EasyTool(max_steps=9))  # the last check costs no answer
    assert (len(requests), trajectory.final_answer, trajectory.stopped) == (9, 'Delft is in Holland.', '')
    trajectory, requests = carried_out(session, loop=EasyTool(max_steps=4))
    assert (len(requests), trajectory.stopped) == (4, 'limit:steps')
    many = ['{"Parameters": [' + '{"place": "Delft"}, ' * 50 + ']}']
    trajectory, _ = carried_out(session, loop=EasyTool(max_calls=10), choose_parameter=many)
    assert (len(trajectory.calls), trajectory.stopped) == (10, 'limit:calls')


class ByWord(ExactSimilarity):
    name = 'words'

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        return np.array([[len({*a.lower().split()} & {*b.lower().split()}) for b in right] for a in left], dtype=float)


def test_retrieval_chooses_among_the_five_nearest(session: Session, tmp_path: Path) -> None:
    file = tmp_path / 'corpus.json'
    names = [*(f'Find {n}' for n in range(8)), 'Maps']
    does = (FunctionInstruction('Do it', 'Does.'),)
    file.write_text(dump_instructions({n: ToolInstruction(n, f'Can {n.lower()} for you', does) for n in names}))
    loop = EasyTool(retrieve=True, corpus=str(file), similarity=ByWord)
    trajectory, requests = carried_out(
        session, loop=loop, choose_tool=['{"ID": 3}'], choose_API=['["do_it_for_find_0"]']
    )
    listed = requests[3].messages[-1].content.partition('Tool List:\n')[2].partition('\n\nPlease')[0]
    assert listed == '\n'.join(f'ID: {n + 3}\nCan find {n} for you' for n in range(5))
    assert [(call.name, call.fault) for call in trajectory.calls] == [('do_it_for_find_0', 'unanswered')]
    assert trajectory.settings['encoder'] == 'words' and trajectory.settings['corpus'] == file.name
    chosen = [f'{{"ID": {n}}}' for n in (3, 4, 99, 5, 6)]
    _, requests = carried_out(session, loop=loop, choose_tool=chosen, choose_API=['[]'], answer_check=['no'])
    listed = [request.messages[-1].content for request in requests if purpose_of(request) == 'choose_tool']
    assert [text.count('\nCan find ') for text in listed] == [5, 4, 3, 3, 2]  # no others in place of those tried


def test_tools_without_instructions_are_shown_with_their_documentation() -> None:
    documents: dict[str, Any] = {
        'search_for_maps': {'tool_name': 'Maps', 'api_name': 'search'},
        'Clock.now': {'name': 'Clock.now'},
    }
    tools = tuple(ToolSchema(name, f'does {name}', PLACE) for name in (*documents, 'alone'))
    maps, clock, alone = tools_of(Task('q', 's', 'x', tools, documents=documents))
    assert (maps.name, clock.name, alone.name) == ('Maps', 'Clock', 'alone')
    assert maps.description == 'Maps\nsearch_for_maps: does search_for_maps'
    expected_entry = {'name': 'Clock.now', 'description': 'does Clock.now', 'parameters': PLACE}
    assert clock.apis == {'Clock.now': expected_entry}


@pytest.mark.parametrize('summary', ['', ' \n', '<think>It is', '</think>'])
def test_a_summary_without_visible_text_is_no_final_answer(session: Session, summary: str) -> None:
    """The published code stores it as the final answer; all else is the same."""
    trajectory, requests = carried_out(session, answer_summarize=[summary])
    assert (trajectory.final_answer, trajectory.stopped) == ('', 'finish:missing')
    assert len(requests) == len(carried_out(session)[1])
