"""Agents' registered classes: columns, environments, settings, and errors before any request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.adapter import AgentDialogues, ToolEvalAgentDataset
from opencompass_tooleval.agents.tasks.instructed import instruct_task, load_instructed
from opencompass_tooleval.agents.tasks.open_bank import TemporaryBank, open_bank
from opencompass_tooleval.agents.tasks.records import find_subset, load_data
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from opencompass_tooleval.instructions.instruct import Catalogue
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions, load_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from tests.instructions.shared_data import DEMO, real


def test_columns() -> None:
    (row, *_) = ToolEvalAgentDataset.load('tooleval:demo/agents/teval', 'teval')
    task = parse_task(row['record'])
    assert row['record_id'] == task.id == 'demo_ferry'
    assert json.loads(row['messages']) == [{'role': 'user', 'content': task.query}]
    assert row['gold_answer'].startswith('[{"arguments": {}, "name": "TimeTool.get_curr_time"}')
    assert json.loads(row['shown'])['data'] == 'plan_json_v1.json'
    chinese = ToolEvalAgentDataset.load('tooleval:demo/teval', 'teval_zh', version='v2')
    assert len(chinese) == 3 and all(parse_task(record).gold for record in chinese['record'])
    other = ToolEvalAgentDataset.load('tooleval:demo/teval', 'teval', version='v2')
    assert other['record_id'] == ['demo_museum', 'demo_train', 'demo_office', 'demo_supper']


@pytest.mark.parametrize(
    ('name', 'instructions', 'tool'),
    [
        ('teval', 'easytool/teval_en.json', 'MuseumGuide.list_open'),
        ('toolbench_g2', 'toolbench/instructions.json', 'convert_for_coin_press'),
        ('ultratool_en', 'easytool/ultratool_en.json', ''),
    ],
)
def test_instructions_stand_in_place_of_the_documentation(name: str, instructions: str, tool: str) -> None:
    version, path = 'v2' if name == 'teval' else None, f'tooleval:demo/{name.partition("_")[0]}'
    plain = [parse_task(row) for row in ToolEvalAgentDataset.load(path, name, version)['record']]
    rows = ToolEvalAgentDataset.load(path, name, version, f'tooleval:demo/{instructions}')
    assert set(rows['source']) == {f'agents_{name}-easytool'}
    shown = json.loads(rows['shown'][0])
    assert (shown['tools'], shown['instructions']) == ('instructions', Path(instructions).name)
    for before, after in zip(plain, map(parse_task, rows['record']), strict=True):
        assert replace(after, tools=before.tools, instructions=before.instructions) == before
        assert list(after.instructions) == [tool.name for tool in before.tools] and after.shown == after.instructions
        for old, new in zip(before.tools, after.tools, strict=True):
            guideline, properties = after.instructions[new.name], new.parameters['properties']
            assert new.name == old.name and new.description.startswith(guideline['description'])
            assert new.parameters['required'] == old.parameters['required']
            assert set(properties) >= set(old.parameters['properties'])
            named = [each['name'] for group in ('required', 'optional') for each in guideline[f'{group}_parameters']]
            assert set(named) <= set(properties)
            assert set(guideline.get('Example', {}).get('Parameters', {})) <= set(properties)
            for key, schema in old.parameters['properties'].items():
                assert properties[key].get('type') == schema.get('type')
    offered = {each.name: each.description for row in rows['record'] for each in parse_task(row).tools}
    assert not tool or 'Example: ' in offered[tool]


def test_answers_of_an_agent_that_was_shown_other_tools_answer_other_prompts(tmp_path: Path) -> None:
    """The messages of a row are the query alone: with other instructions, old predictions would be scored as new."""
    file, path = tmp_path / 'other.json', 'tooleval:demo/toolbench'
    instructions = DEMO / 'toolbench/instructions.json'
    file.write_text(instructions.read_text().replace('"description": "', '"description": "Now: '))
    template = ToolEvalConversationTemplate()
    rows = [
        ToolEvalAgentDataset.load(path, 'toolbench_g2', instructions=instruction_file)
        for instruction_file in (None, str(instructions), str(instructions), str(file))
    ]
    plain, instructed, again, other = (template.asked_of(each) for each in rows)
    assert instructed == again and not {*plain} & {*instructed} and instructed != other
    assert template.generate_item({**rows[1][0], 'idx': 0}).asked == instructed[0]


def test_nothing_that_the_documentation_says_within_a_parameter_is_left() -> None:
    """UltraTool documents the inner values of 178 tasks' tools."""
    inner = {'type': 'object', 'title': 'A day', 'properties': {'description': {'type': 'string', 'description': 'x'}}}
    days = {'type': 'array', 'items': inner, 'example': ['Monday'], 'minItems': 1}
    tool = ToolSchema('plan', 'Plans.', {'type': 'object', 'properties': {'days': days}, 'required': ['days']})
    instructed = instruct_task(
        Task('1', 'teval', 'Plan.', (tool,), documents={'plan': {'name': 'plan'}}),
        Catalogue(load_instructions(DEMO / 'easytool/teval_en.json'), Path('f'), 'fix'),
    )
    left = {'type': 'object', 'properties': {'description': {'type': 'string'}}}
    assert instructed.tools[0].parameters['properties'] == {'days': {'type': 'array', 'items': left, 'minItems': 1}}


@pytest.mark.parametrize(
    ('name', 'source', 'more'),
    [('teval', 'teval', 0), ('toolbench_g1', 'toolbench', 74), ('toolbench_g3', 'toolbench', 69)],
)
def test_instructions_of_all_published_tools(name: str, source: str, more: int, tmp_path: Path) -> None:
    """Made by rule; what ToolBench does not show of an API without required parameters its guideline does."""
    subset = find_subset(name)
    path = real(subset.folder.removeprefix('data/'))
    instructions = [template_instruction(tool) for tool in load_docs(source, path / subset.file)]
    (tmp_path / 'made.json').write_text(dump_instructions(instructions, 'toolbench'), encoding='utf-8')
    plain = load_data(path / subset.file, name).tasks
    instructed, _ = load_instructed(plain, str(tmp_path / 'made.json'), name, path / subset.file)
    before, after = ([tool for task in tasks for tool in task.tools] for tasks in (plain, instructed))
    assert [tool.name for tool in before] == [tool.name for tool in after]
    shown = [({*a.parameters['properties']}, {*b.parameters['properties']}) for a, b in zip(before, after, strict=True)]
    assert sum(old != new for old, new in shown) == more and all(old <= new for old, new in shown)


def test_missing_instructions_name_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'easytool generate --source toolbench .*G2_category\.json'):
        ToolEvalAgentDataset.load('tooleval:demo/toolbench', 'toolbench_g2', instructions='data/none.json')
    with pytest.raises(DataError, match='tools of ultratool_zh have no instruction'):
        path, other = 'tooleval:demo/ultratool', 'tooleval:demo/easytool/teval_en.json'
        ToolEvalAgentDataset.load(path, 'ultratool_zh', instructions=other)


def test_a_missing_bank_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('HOME', str(tmp_path))
    with pytest.raises(DataError, match=r'agents bank build --from SOURCE --out data/agents/teval\.bank'):
        AgentDialogues('function_calling', bank='data/agents/teval.bank')


@pytest.mark.parametrize(
    ('options', 'fault', 'says'),
    [
        ({'loop': 'guessing'}, ValueError, "no loop 'guessing'"),
        ({'loop': 'function_calling', 'stateful_tools': 'gorilla'}, ValueError, 'teval, or None'),
        ({'loop': 'function_calling', 'bank': 'tooleval:demo/easytool'}, DataError, 'no recorded calls'),
        ({'loop': 'function_calling', 'simulator': {'system': 'tooleval'}}, TypeError, 'model'),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    options: dict[str, Any], fault: type[Exception], says: str
) -> None:
    with pytest.raises(fault, match=says):
        AgentDialogues(**options)


def test_a_bank_is_opened_once_and_is_the_same_from_its_recordings(tmp_path: Path) -> None:
    source = DEMO / 'agents' / 'toolbench' / 'runs.json'
    write_bank(read_sources(find_sources([source])), tmp_path / 'demo.bank')
    with Bank(tmp_path / 'demo.bank') as built, TemporaryBank(source) as temporary:
        assert built.digest == temporary.digest
    assert open_bank(str(source)) is open_bank(str(source))
    assert isinstance(open_bank(str(tmp_path / 'demo.bank')), Bank)


def test_recordings_that_are_too_many_name_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.agents.tasks.open_bank.MAX_SOURCE_BYTES', 1000)
    with pytest.raises(DataError, match=r'too much.*agents bank build --from'):
        TemporaryBank(DEMO / 'agents' / 'toolbench')
