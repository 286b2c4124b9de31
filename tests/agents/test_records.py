"""Tasks from the data files: counts of the published ones, and the names that published runs have."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.react import shown_tools
from opencompass_tooleval.agents.tasks.errata import check_gold
from opencompass_tooleval.agents.tasks.records import TABLE, data_file, load_data
from opencompass_tooleval.agents.tasks.task import parse_task
from opencompass_tooleval.agents.toolbench.names import RENAMED_TOOLS, function_of, standard_name, standard_parameter
from opencompass_tooleval.core.calls.one_call import keeps_to
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import MAX_DESCRIPTION, ToolSet
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.data_files import read_json
from tests.agents.support import published
from tests.instructions.shared_data import DATA, DEMO

ERRATA = {
    'teval': {'unfit_gold': 12, 'gold_type': 25},
    'toolbench_g1': {'shared_name': 7},
    'toolbench_g2': {'renamed_tool': 6},
    'toolbench_g3': {},
    'ultratool_zh': {'unfit_gold': 3, 'gold_type': 50, 'gold_value': 9},
    'ultratool_en': {'unfit_gold': 3, 'gold_type': 53, 'gold_value': 30},
}
MISTYPED_TASKS = {'teval': 21, 'ultratool_zh': 35, 'ultratool_en': 38}


@pytest.mark.parametrize('subset', [subset for subset in TABLE if subset.tasks], ids=lambda subset: subset.name)
def test_published_files_have_the_tables_counts(subset: Any) -> None:
    data = published(subset.name)
    assert (len(data.tasks), data.calls) == (subset.tasks, subset.calls)
    assert Counter(erratum.kind for erratum in data.errata) == ERRATA[subset.name]
    mistyped = {erratum.where for erratum in data.errata if erratum.kind == 'gold_type'}
    assert len(mistyped) == MISTYPED_TASKS.get(subset.name, 0)
    assert len({task.id for task in data.tasks}) == subset.tasks
    for task in data.tasks:
        assert parse_task(task.to_payload()) == task
        names = [tool.name for tool in task.tools]
        assert len(set(names)) == len(names) and set(task.documents) == set(names)
        assert {call.name for call in task.oracle_calls} <= set(names)
        assert (task.gold is None) == (subset.format == 'toolbench') == bool(task.relevant)
        for call in task.gold or ():
            read, open_arguments = call.repaired or call, (call.repaired or call).open_arguments
            closed = {name: value for name, value in read.arguments.items() if name not in open_arguments}
            allowed = {**task.schemas[call.name], 'required': [], 'additionalProperties': False}
            assert keeps_to(closed, allowed) and set(task.schemas[call.name]['required']) <= set(read.arguments)


RETURNED = {'teval': 'return_data', 'ultratool_zh': 'results', 'ultratool_en': 'results'}


@pytest.mark.parametrize('subset', RETURNED)
def test_native_calls_are_shown_what_tools_return_as_text_is(subset: str) -> None:
    shortened = set()
    for task in published(subset).tasks:
        texts = {tool['name']: tool for tool in shown_tools(task)}
        for tool in ToolSet(task.tools).as_request():
            name, description = tool['function']['name'], tool['function']['description']
            assert len(description) <= MAX_DESCRIPTION
            shown = texts[name] if name in texts else texts[name.replace('_', '.', 1)]
            returned = json.loads(description.partition('\nReturns: ')[2])
            assert description.startswith(f'{shown["description"]}\nReturns: ')
            if returned != shown[RETURNED[subset]]:
                shortened.add(name)
    assert shortened == ({'event_planning_tool'} if subset == 'ultratool_en' else set())


TRAJECTORIES = sorted((DATA / 'toolbench_trajectories').glob('*.json.gz'))
EXAMPLES = sorted((DATA.parent / 'expected' / 'toolbench' / 'example').glob('model_predictions*.json'))
OF_FILE = {'G1_instruction': 'toolbench_g1', 'G2_category': 'toolbench_g2', 'G3_instruction': 'toolbench_g3'}


@pytest.mark.skipif(not TRAJECTORIES, reason='no published runs of ToolBench at hand')
@pytest.mark.parametrize('file', [*TRAJECTORIES, *EXAMPLES], ids=lambda file: file.name)
def test_functions_are_those_of_the_published_runs(file: Path) -> None:
    """Names, descriptions and parameters, of all queries that both have, in the same order."""
    name = next(subset for part, subset in OF_FILE.items() if part in file.name)
    tasks = {task.id: task for task in published(name).tasks}
    runs = read_json(file)
    both = sorted(set(runs) & set(tasks))
    assert len(both) == (3 if file in EXAMPLES else len(tasks))
    for key in both:
        of_run = [tool for tool in runs[key]['available_tools'] if tool['name'] != 'Finish']
        assert [asdict(tool) for tool in tasks[key].tools] == of_run, key
        assert tasks[key].query == runs[key]['query']


def test_a_function_of_toolbench_by_hand() -> None:
    parameters = [
        {'name': 'id', 'type': 'NUMBER', 'description': 'd' * 300, 'default': ''},
        {'name': 'bookTitle', 'type': 'ENUM', 'description': '', 'default': 'Emma'},
    ]
    names = {'tool_name': 'A' * 80, 'api_name': 'from', 'api_description': 'from which page'}
    api = {**names, 'required_parameters': parameters[:1], 'optional_parameters': parameters[1:]}
    function = function_of(api)
    assert function.name == 'a' * 64
    assert function.description.endswith(f'The description of this function is: "{"a" * 64} which page"')
    properties = {
        'is_id': {'type': 'integer', 'description': 'd' * 256},
        'booktitle': {'type': 'string', 'description': '', 'example_value': 'Emma'},
    }
    groups = {'required': ['is_id'], 'optional': ['booktitle']}
    assert function.parameters == {'type': 'object', 'properties': properties, **groups}
    assert standard_parameter('class') == 'is_class'
    no_required = {**api, 'required_parameters': []}
    assert function_of(no_required).parameters['properties'] == {}
    (renamed, known) = next(iter(RENAMED_TOOLS.items()))
    assert f'"{standard_name(known)}"' in function_of({**api, 'tool_name': renamed}).description


def test_values_of_ultratool_have_the_types_of_the_documentation(tmp_path: Path) -> None:
    types = {'days': 'integer', 'names': 'array', 'daily': 'boolean', 'city': 'string'}
    schema = {'type': 'object', 'properties': {name: {'type': type_name} for name, type_name in types.items()}}
    called = "plan(days=3, names=['a', 'b'], daily=True, city='5', other='x')"
    steps = (called, "plan(days='soon', city='<city of step 1>')", 'No tool required')
    plan = [{'step': f'{number} plan', 'tool': step} for number, step in enumerate(steps, 1)]
    tools = [{'name': 'plan', 'description': 'Plans.', 'arguments': schema}]
    row = {'question': ' Plan it. ', 'plan': plan, 'tools': tools, 'domain': 'Travel'}
    file = tmp_path / 'test.json'
    file.write_text(json.dumps(row), encoding='utf-8')
    data = load_data(file, 'ultratool_en')
    (task,) = data.tasks
    assert task.query == 'Plan it.'
    second = 'plan', {'days': 'soon', 'city': '<city of step 1>'}
    assert task.gold == (
        GoldCall('plan', {'days': 3, 'names': ['a', 'b'], 'daily': True, 'city': '5'}),
        GoldCall(*second, ('city',), GoldCall(*second, ('city', 'days'))),
    )
    assert [(erratum.where, erratum.kind) for erratum in data.errata] == [('0', 'unfit_gold'), ('0', 'gold_type')]


NOTE = {
    'type': 'object',
    'properties': {
        'text': {'type': 'string'},
        'number': {'type': 'number'},
        'color': {'type': 'string', 'enum': ['Light', 'Dark']},
        'day': {'type': 'string', 'pattern': '^[0-9]+$'},
        'odd': {'type': 'no type'},
        'any': {},
    },
    'required': ['text'],
}


@pytest.mark.parametrize(
    ('arguments', 'kinds', 'repaired', 'open_arguments'),
    [
        ({'text': 'a', 'number': 1, 'color': 'Dark', 'day': '1', 'odd': [1], 'any': None}, [], None, ()),
        ({'text': 101}, ['gold_type'], {'text': '101'}, ()),
        ({'text': 'a', 'number': ' 12 '}, ['gold_type'], {'text': 'a', 'number': 12}, ()),
        ({'text': 'a', 'number': 'many'}, ['gold_type'], {'text': 'a', 'number': 'many'}, ('number',)),
        ({'text': 'a', 'number': None}, ['gold_type'], {'text': 'a'}, ()),
        ({'text': 'a', 'color': 'light '}, ['gold_value'], {'text': 'a', 'color': 'Light'}, ()),
        ({'text': 'a', 'color': 'red', 'day': 'x'}, ['gold_value'], None, ('color', 'day')),
        ({}, ['unfit_gold'], {'text': None}, ('text',)),
        ({'text': 1, 'more': 2}, ['unfit_gold', 'gold_type'], {'text': '1'}, ()),
    ],
)
def test_gold_that_no_call_by_the_schema_equals_is_repaired(
    arguments: dict[str, Any], kinds: list[str], repaired: dict[str, Any] | None, open_arguments: tuple[str, ...]
) -> None:
    checked, found = check_gold(GoldCall('note', arguments), NOTE)
    assert (checked.name, checked.arguments, checked.open_arguments, found) == ('note', arguments, (), kinds)
    if not kinds:
        assert checked.repaired is None
    else:
        assert checked.repaired == GoldCall('note', repaired or arguments, open_arguments)
    call = GoldCall('note', {'text': 1}, ('text',))
    assert (check_gold(call, NOTE), check_gold(call, None)) == ((call, []), (call, ['unfit_gold']))


def test_versions_are_of_teval() -> None:
    assert data_file('teval', 'v2') == 'EN/plan_json_v2.json'
    assert data_file('teval_zh', 'v2_subset') == 'ZH/plan_json_v2_subset_zh.json'
    with pytest.raises(ValueError, match='no version'):
        data_file('toolbench_g1', 'v1')
    with pytest.raises(ValueError, match='agents has no subset'):
        load_data(DEMO, 'teval_en')


def test_what_are_no_plans_is_refused(tmp_path: Path) -> None:
    file = DEMO / 'teval' / 'EN' / 'review_str_v2.json'
    with pytest.raises(DataError, match='from plan_json files, such as'):
        load_data(file, 'teval')
    plans = json.loads((DEMO / 'teval' / 'EN' / 'plan_json_v2.json').read_text(encoding='utf-8'))
    record = next(iter(plans.values()))
    record['origin_prompt'] = record['origin_prompt'][1:]
    damaged = tmp_path / 'plan_json_v2.json'
    damaged.write_text(json.dumps({'query_1': record}), encoding='utf-8')
    with pytest.raises(DataError, match=r'query_1.*system message with APIs'):
        load_data(damaged, 'teval')
