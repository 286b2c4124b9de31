"""Prompts with instructions, over all real plans and toolsets and every demo record, and the instructed data sets."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import TABLE, Sample, file_stem, load_samples
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset, ToolEvalTEvalEvaluator
from opencompass_tooleval.benchmarks.ultratool.data import TABLE as ULTRATOOL_TABLE
from opencompass_tooleval.benchmarks.ultratool.data import Record, data_file, load_example, load_records
from opencompass_tooleval.benchmarks.ultratool.prompts import build_prompt
from opencompass_tooleval.benchmarks.ultratool.tables import FOLDERS
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.errors import MAX_NAMED, DataError
from opencompass_tooleval.instructions.adapter import ToolEvalTEvalEasyToolDataset, ToolEvalUltraToolEasyToolDataset
from opencompass_tooleval.instructions.instruct import (
    Catalogue,
    check_variant,
    instruct_teval,
    instruct_toolset,
)
from opencompass_tooleval.instructions.subsets import (
    TEVAL_VARIANTS,
    ULTRATOOL_BUILT_VARIANTS,
    ULTRATOOL_VARIANTS,
)
from opencompass_tooleval.tool_docs.instruction import Example, FunctionInstruction, Parameter, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from tests.instructions.shared_data import DATA, DEMO, real

LANGUAGES = ('EN', 'ZH')


def real_usage(language: str) -> Path:
    real(f'ultratool/{FOLDERS[language]}/test_set/tool_usage.json')
    return data_file(DATA / 'ultratool', 'tool_usage', language)


def by_rule(kind: str, path: Path) -> dict[str, ToolInstruction]:
    return {doc.name: template_instruction(doc) for doc in load_docs(kind, path)}


def catalogue(tools: Mapping[str, ToolInstruction]) -> Catalogue:
    return Catalogue(tools, Path('instructions.json'), 'make them')


def asked(samples: list[Sample]) -> list[tuple[str, tuple[Message, ...]]]:
    return [(sample.record.id, sample.messages) for sample in samples]


def documented(line: str) -> bool:
    """Whether a line of a T-Eval prompt is documentation, by eye: a list of pairs, or an object with a name."""
    return line.startswith(("[['", '{"name": "', "{'name': '"))


def check_lines(before: tuple[Message, ...], after: list[Message]) -> int:
    """Every line that is no documentation, and every turn that is no system prompt, stays; returns how many changed."""
    assert [message.role for message in after] == [message.role for message in before]
    changed = 0
    for old, new in zip(before, after, strict=True):
        if old.role != 'system':
            assert new == old
            continue
        for left, right in zip(old.content.split('\n'), new.content.split('\n'), strict=True):
            if documented(left):
                assert documented(right)
                changed += left != right
            else:
                assert left == right
    return changed


# --- T-Eval ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('subset', ['plan_json', 'plan_str'])
def test_real_plans_keep_every_byte_outside_the_documentation(subset: str) -> None:
    file = real(f'teval/EN/{subset}_v1.json')
    samples = load_samples(file, subset, 'v1')
    tools = by_rule('teval', file)
    instructed = instruct_teval(asked(samples), catalogue(tools), subset)
    assert len(instructed) == len(samples) == 553
    shorter = 0
    for sample, messages in zip(samples, instructed, strict=True):
        assert check_lines(sample.messages, messages) == 1
        (old,) = [line for line in sample.messages[0].content.split('\n') if documented(line)]
        (new,) = [line for line in messages[0].content.split('\n') if documented(line)]
        before, after = ast.literal_eval(old), ast.literal_eval(new)
        assert [name for name, _ in after] == [name for name, _ in before]
        for name, guideline in after:
            assert list(guideline) == ['name', 'description', 'required_parameters', 'optional_parameters', 'Example']
            assert guideline['name'] == name
            assert guideline['description'] == tools[name].description
            shown = [one['name'] for key in ('required', 'optional') for one in guideline[f'{key}_parameters']]
            documentation = dict(before)[name]
            assert shown == [
                one['name'] for key in ('required', 'optional') for one in documentation[f'{key}_parameters']
            ]
        shorter += len(new) < len(old)
    assert shorter > 250


def test_real_reviews_cannot_be_instructed() -> None:
    samples = load_samples(real('teval/EN/review_str_v1.json'), 'review_str', 'v1')
    with pytest.raises(DataError, match=r"review: record '126': 487 prompts have no API descriptions"):
        instruct_teval(asked(samples), catalogue({}), 'review')


@pytest.mark.parametrize('language', LANGUAGES)
def test_the_shipped_instructions_are_those_of_the_rule(language: str) -> None:
    folder = {'EN': 'English-dataset', 'ZH': 'Chinese-dataset'}[language]
    for kind, path in (('teval', DEMO / 'teval' / language), ('ultratool', DEMO / 'ultratool' / folder)):
        shipped = load_instructions(DEMO / 'easytool' / f'{kind}_{language.lower()}.json')
        assert shipped == by_rule(kind, path)


API = {'name': 'Fox.find', 'description': 'Finds foxes. See the manual.', 'required_parameters': [{'name': 'den'}]}
FOX = ToolInstruction(
    'Fox.find',
    "It's for foxes",
    (FunctionInstruction('Fox.find', required=(Parameter('den', 'STRING'),), example=Example('a fox', {'den': 'x'})),),
)
GUIDELINE = {
    'name': 'Fox.find',
    'description': "It's for foxes",
    'required_parameters': [{'name': 'den', 'type': 'STRING', 'description': ''}],
    'optional_parameters': [],
    'Example': {'Scenario': 'a fox', 'Parameters': {'den': 'x'}},
}


@pytest.mark.parametrize(
    ('written', 'expected'),
    [
        pytest.param(repr([['Fox.find', API]]), repr([['Fox.find', GUIDELINE]]), id='pairs'),
        pytest.param(json.dumps([['Fox.find', API]]), json.dumps([['Fox.find', GUIDELINE]]), id='pairs as JSON'),
        pytest.param(repr([API]), repr([GUIDELINE]), id='list'),
        pytest.param(json.dumps([API, API]), json.dumps([GUIDELINE, GUIDELINE]), id='list as JSON'),
        pytest.param(repr(API), repr(GUIDELINE), id='object'),
        pytest.param(
            f'{json.dumps(API)}\n{json.dumps(API)}', f'{json.dumps(GUIDELINE)}\n{json.dumps(GUIDELINE)}', id='lines'
        ),
    ],
)
def test_layouts(written: str, expected: str) -> None:
    before, after = 'Tools [all of them]:\n\n', '\nAnswer with {"id": 0, "name": "Fox.find"} \t\n'
    messages = [Message('system', before + written + after), Message('user', written)]
    (instructed,) = instruct_teval([('r', messages)], catalogue({'Fox.find': FOX}), 'd')
    assert instructed == [Message('system', before + expected + after), Message('user', written)]


@pytest.mark.parametrize('name', ['find', 'Fox.find'])
def test_an_api_of_a_tool_of_several(name: str) -> None:
    other = FunctionInstruction('feed', 'Feeds foxes')
    find = replace(FOX.functions[0], name=name, description='Finds a fox')
    fox = ToolInstruction('Fox', 'All about foxes', (other, find))
    (instructed,) = instruct_teval([('r', [Message('system', repr(API))])], catalogue({'Fox': fox}), 'd')
    assert ast.literal_eval(instructed[0].content) == {**GUIDELINE, 'description': 'Finds a fox'}


def test_missing_tools_are_all_listed_once_over_the_whole_file() -> None:
    prompts = [(f'r{i}', [Message('system', repr({**API, 'name': name}))]) for i, name in enumerate('babcab')]
    with pytest.raises(DataError) as caught:
        instruct_teval(prompts, catalogue({'a': replace(FOX, name='a')}), 'plan')
    assert str(caught.value) == (
        "instructions.json: 2 tools of plan have no instruction: b, c (first needed by record 'r0'). "
        'Fix it with: make them'
    )
    lookup = catalogue({})
    instruct_toolset({'toolset': [{'name': f'tool_{i}'} for i in range(MAX_NAMED + 7)]}, '3', lookup, described=True)
    with pytest.raises(DataError, match=rf", tool_{MAX_NAMED - 1} and 7 more \(first needed by record '3'\)"):
        lookup.check('usage')


def test_a_tool_without_guideline_is_missing_where_it_is_called() -> None:
    bare = ToolInstruction('Fox.find', 'Finds foxes')
    with pytest.raises(DataError, match='1 tools of d have no instruction'):
        instruct_teval([('r', [Message('system', repr(API))])], catalogue({'Fox.find': bare}), 'd')
    row = {'toolset': [{'name': 'Fox.find'}]}
    chosen = instruct_toolset(row, '0', catalogue({'Fox.find': bare}), described=True)
    assert chosen['toolset'] == [{'name': 'Fox.find', 'description': 'Finds foxes'}]
    called = catalogue({'Fox.find': bare})
    instruct_toolset(row, '0', called, described=False)
    assert called.missing == {'Fox.find': '0'}


def test_variants_are_the_subsets_whose_prompts_hold_documentation() -> None:
    assert set(TEVAL_VARIANTS) == {subset.name for subset in TABLE} - {'review_str'}
    left_out = {'planning', 'tool_usage_awareness', 'tool_creation'}
    assert {*ULTRATOOL_VARIANTS, *ULTRATOOL_BUILT_VARIANTS} == {row.name for row in ULTRATOOL_TABLE} - left_out
    for benchmark, subset in (('teval', 'review_str'), ('ultratool', 'planning'), ('ultratool', 'tool_creation')):
        with pytest.raises(ValueError, match=f'{subset} cannot be run with instructions; these can: '):
            check_variant(benchmark, subset)
    check_variant('ultratool', 'tool_selection_128')


# --- UltraTool ------------------------------------------------------------------------------------------------------


def check_prompt(record: Record, example: Mapping[str, Any], lookup: Catalogue) -> None:
    """The prompt with instructions is the prompt, but for the toolsets; names, order and what is asked for stay."""
    task, described = record.subset.task, record.subset.kind != 'usage'
    before = json.dumps(record.raw)
    row, shown = (instruct_toolset(it, record.id, lookup, described) for it in (record.raw, example))
    assert json.dumps(record.raw) == before
    plain = build_prompt(task, record.language, record.raw, example)
    parts = plain.split(str(example['toolset']), 1)
    parts[1:] = parts[1].rsplit(str(record.raw['toolset']), 1)
    woven = f'{parts[0]}{shown["toolset"]}{parts[1]}{row["toolset"]}{parts[2]}'
    assert build_prompt(task, record.language, row, shown) == woven
    for old, new in zip(record.raw['toolset'], row['toolset'], strict=True):
        assert new['name'] == old['name']
        if described:
            assert list(new) == ['name', 'description']
        else:
            assert list(new) == ['name', 'description', 'arguments', 'Example'] or not old['arguments']['properties']
            assert list(new['arguments']['properties']) == list(old['arguments']['properties'])


@pytest.mark.parametrize('language', ['zh', 'en'])
@pytest.mark.parametrize('subset', ULTRATOOL_VARIANTS)
def test_every_demo_toolset(subset: str, language: str) -> None:
    file = data_file(DEMO / 'ultratool', subset, language)
    lookup = catalogue(load_instructions(DEMO / 'easytool' / f'ultratool_{language}.json'))
    for record in load_records(file, subset, language):
        check_prompt(record, load_example(file, subset), lookup)
    lookup.check(subset)


@pytest.mark.parametrize('language', ['zh', 'en'])
def test_every_real_toolset(language: str) -> None:
    file = real_usage(language)
    tools = by_rule('ultratool', file.parent.parent)
    assert len(tools) == 438  # 436 of the samples, two of the examples
    lookup = catalogue(tools)
    records = load_records(file, 'tool_usage', language)
    example = load_example(file, 'tool_usage')
    for record in records[::4]:
        check_prompt(record, example, lookup)
    lookup.check('tool_usage')
    assert len(records) == 1000


@pytest.mark.parametrize(('language', 'named', 'count'), [('zh', 0, 284), ('en', 1, 283)])
def test_results_are_not_needed_for_usage(language: str, named: int, count: int) -> None:
    """Values that come from earlier calls are named by the plan (``<chosen van>``), not by the tools' results."""
    values, of_results, of_steps = 0, 0, 0
    for record in load_records(real_usage(language), 'tool_usage', language):
        results = {
            name for tool in record.raw['toolset'] for name in (tool.get('results') or {}).get('properties') or ()
        }
        plan = ' '.join(step.text for step in record.steps)
        for step in record.reference:
            for value in (step.param or {}).values():
                for part in str(value).split('<')[1:]:
                    if (name := part.partition('>')[0]) and '>' in part:
                        values += 1
                        of_results += name in results
                        of_steps += name in plan
    assert (of_results, values) == (named, count)
    assert of_steps > 0.8 * count


def test_required_parameters_defaults_and_more() -> None:
    size = Parameter('size', 'integer', 'How large', 5, {'enum': [5, 7]})
    function = FunctionInstruction('den', required=(size,), optional=(Parameter('note'),), example=None)
    lookup = catalogue({'den': ToolInstruction('den', 'Digs dens', (function,))})
    row = instruct_toolset({'toolset': [{'name': 'den'}], 'input': []}, '0', lookup, described=False)
    properties = {'size': {'type': 'integer', 'description': 'How large', 'default': 5, 'enum': [5, 7]}, 'note': {}}
    arguments = {'type': 'object', 'properties': properties, 'required': ['size']}
    assert row == {'toolset': [{'name': 'den', 'description': 'Digs dens', 'arguments': arguments}], 'input': []}


SAME = ('record_id', 'record', 'gold_answer')


def check_rows(plain: Any, instructed: Any) -> None:
    """Ids, gold and what is scored are the same; every prompt is another, and so is the name of recorded answers."""
    for column in SAME:
        assert instructed[column] == plain[column]
    assert instructed['source'] == [f'{source}-easytool' for source in plain['source']]
    assert all(new != old for new, old in zip(instructed['messages'], plain['messages'], strict=True))


@pytest.mark.parametrize('subset', TEVAL_VARIANTS)
@pytest.mark.parametrize('language', ['EN', 'ZH'])
def test_teval(subset: str, language: str) -> None:
    place = (f'tooleval:demo/teval/{language}', file_stem(subset, 'v2', language))
    plain = ToolEvalTEvalDataset.load(*place, encoder='offline')
    file = f'tooleval:demo/easytool/teval_{language.lower()}.json'
    check_rows(plain, ToolEvalTEvalEasyToolDataset.load(*place, file, encoder='offline'))


@pytest.mark.parametrize('task', ULTRATOOL_VARIANTS)
@pytest.mark.parametrize('language', ['zh', 'en'])
@pytest.mark.parametrize('shots', [0, 1])
def test_ultratool(task: str, language: str, shots: int) -> None:
    place = ('tooleval:demo/ultratool', task, language)
    plain = ToolEvalUltraToolDataset.load(*place, shots=shots)
    file = f'tooleval:demo/easytool/ultratool_{language}.json'
    instructed = ToolEvalUltraToolEasyToolDataset.load(*place, file, shots=shots)
    check_rows(plain, instructed)
    for row in instructed:
        (message,) = json.loads(row['messages'])
        assert message['role'] == 'user'
        assert "'results':" not in message['content']
        assert message['content'].count("'Example': ") == (
            0 if task != 'tool_usage' else message['content'].count("'arguments': ")
        )


def test_results_name_the_instructions() -> None:
    file = 'tooleval:demo/easytool/teval_en.json'
    digest = hashlib.sha256((DEMO / 'easytool' / 'teval_en.json').read_bytes()).hexdigest()
    for evaluator in (
        ToolEvalTEvalEvaluator('retrieve_str_v2', instructions=file),
        ToolEvalUltraToolEvaluator('tool_usage', 'en', instructions=file),
    ):
        provenance = evaluator.provenance()
        assert (provenance['instructions'], provenance['instructions_sha256']) == (file, digest)
    assert not any('instructions' in key for key in ToolEvalTEvalEvaluator('retrieve_str_v2').provenance())
