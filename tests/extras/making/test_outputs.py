"""What is written beside a made set is read by the benchmarks unchanged, and its own gold is right in all of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.agents.tasks.goal import Goal
from opencompass_tooleval.agents.tasks.instructed import load_instructed
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.teval.adapter import ToolEvalTEvalDataset
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import load_samples, split_stem
from opencompass_tooleval.benchmarks.teval.scoring import score_answers
from opencompass_tooleval.benchmarks.teval.step_prompts import INSTRUCT_TEMPLATES, REVIEW_CASE, STEP_TEXT
from opencompass_tooleval.benchmarks.teval.step_rows import (
    NEXT_STEPS,
    DoneStep,
    Request,
    Row,
    instruct_row,
    next_step_row,
    reaches_full_marks,
    review_row,
)
from opencompass_tooleval.benchmarks.ultratool.build_read import read_samples
from opencompass_tooleval.benchmarks.ultratool.calls import CallError, parse_call, write_call
from opencompass_tooleval.benchmarks.ultratool.records import load_records
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.extras.making.config_file import as_code
from opencompass_tooleval.extras.making.made_set import MadeSet, load_set
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall, gold_path, has_one_path
from opencompass_tooleval.extras.making.outputs import write_outputs
from opencompass_tooleval.extras.making.teval_files import write_teval
from opencompass_tooleval.extras.making.ultratool_files import sample_row, write_ultratool
from opencompass_tooleval.tool_docs.api_list import find_api_list
from opencompass_tooleval.tool_docs.other_formats import single_tool_doc, teval_tool, ultratool_tool
from opencompass_tooleval.tool_docs.sources import load_docs
from tests.extras.making.small_set import TOOLS, small_set
from tests.instructions.shared_data import DEMO

V2, STRICT = Protocol('v2'), Protocol('v2', 'strict')


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeSet:
    """The small set, written and read again."""
    made = small_set(tmp_path_factory.mktemp('sets') / 'office')
    made.write()
    write_outputs(load_set(made.folder))
    return made


def rows_of(made: MadeSet, name: str) -> dict[str, Any]:
    content = json.loads((made.folder / 'teval' / name).read_text(encoding='utf-8'))
    assert isinstance(content, dict)
    return content


def test_step_files_have_a_row_for_each_call(made: MadeSet) -> None:
    """Five English tasks with one path have eight calls, the Chinese one has one."""
    counts = {f'{file.parent.name}/{file.stem}': len(json.loads(file.read_text('utf-8')))
              for file in made.folder.glob('teval/*/*.json')}  # fmt: skip
    assert counts == {
        'EN/instruct_v2': 16, 'EN/plan_json_v2': 5, 'EN/plan_str_v2': 5, 'EN/reason_str_v2': 8,
        'EN/retrieve_str_v2': 8, 'EN/understand_str_v2': 8, 'EN/reason_retrieve_understand_json_v2': 8,
        'EN/review_str_v2': 13,
        'ZH/instruct_v2_zh': 2, 'ZH/plan_json_v2_zh': 1, 'ZH/plan_str_v2_zh': 1, 'ZH/reason_str_v2_zh': 1,
        'ZH/retrieve_str_v2_zh': 1, 'ZH/understand_str_v2_zh': 1, 'ZH/reason_retrieve_understand_json_v2_zh': 1,
        'ZH/review_str_v2_zh': 1,
    }  # fmt: skip


def test_step_files_are_read_by_the_benchmark_and_its_gold_is_right(made: MadeSet) -> None:
    """Official scoring too: arguments by v2 are divided by their number plus 0.00001, as published."""
    for file in made.folder.glob('teval/*/*.json'):
        subset = split_stem(file.stem)[0]
        dataset = ToolEvalTEvalDataset.load(str(file.parent), file.stem, encoder='offline')
        samples = load_samples(file, subset)
        records, answers = [one.record for one in samples], [Answer(gold_answer(one.record)) for one in samples]
        assert list(dataset['gold_answer']) == [answer.text for answer in answers]
        if subset == 'plan_str':
            continue  # needs an encoder: the oracle runs it through opencompass in test_outputs_pipeline.py
        for rules, least in ((STRICT, 1), (V2, 1 - 1e-5)):
            for score in score_answers(records, answers, rules, None if subset == 'instruct' else _Exact()):
                assert all(value >= least for value in score.values.values() if value is not None), score


def _Exact() -> Any:
    from opencompass_tooleval.core.scoring.similarity import ExactSimilarity

    return ExactSimilarity()


def test_review_has_only_outcomes_that_are_known(made: MadeSet) -> None:
    rows = rows_of(made, 'EN/review_str_v2.json')
    choices = {name: row['ground_truth']['answer'] for name, row in rows.items()}
    # Of office_8: the right call; one that the bank says had wrong input; one that the environment refused.
    assert [choices[f'office_8_{number}'] for number in (1, 2, 3)] == ['A', 'C', 'C']
    assert Counter(choices.values()) == {'A': 10, 'C': 2, 'B': 1}
    # Of office_9: both solutions met the planned failure, with the same words.
    failed = next(row for row in rows.values() if row['ground_truth']['answer'] == 'B')
    assert 'temporarily unavailable' in failed['origin_prompt'][1]['content']
    assert 'Goal: Check the forecast for Ghent.' in rows['office_3_1']['origin_prompt'][1]['content']


def test_prompts_are_those_of_the_demo_records(tmp_path: Path) -> None:
    """One source of templates: rows of the demo come out equal, but for the prompts that are the published ones."""
    seen: Counter[str] = Counter()
    for file in sorted((DEMO / 'teval').glob('*/*.json')):
        subset, _, language = split_stem(file.stem)
        for name, row in json.loads(file.read_text(encoding='utf-8')).items():
            messages = _messages(row)
            again = _again(subset, language, row, messages)
            if again is not None:
                assert again['origin_prompt'] == messages, (file, name)
                seen[subset] += 1
    assert set(seen) == {'instruct', 'review_str', *NEXT_STEPS} and min(seen.values()) >= 5


def _messages(row: Row) -> list[dict[str, str]]:
    prompt = row['origin_prompt']
    read = json.loads(prompt) if isinstance(prompt, str) else prompt
    return [{'role': one['role'], 'content': one['content']} for one in read]


def _again(subset: str, language: str, row: Row, messages: Sequence[dict[str, str]]) -> Row | None:
    """The row that is written from what a row of the demo holds; None where our templates are others."""
    gold = row['ground_truth']
    span = find_api_list(messages[0]['content'])
    apis = {str(api['name']): api for api in span.apis} if span else {}
    request = Request(messages[1]['content'], apis, language)
    if subset == 'instruct':
        form = row['meta_data']['response_format']
        if row['template'] not in INSTRUCT_TEMPLATES[form]:
            return None
        turn = INSTRUCT_TEMPLATES[form].index(row['template'])
        return instruct_row(request, gold['action'], gold['args'], form, turn)
    if subset == 'review_str' and language == 'ZH':
        lines = dict(line.split(': ', 1) for line in messages[1]['content'].splitlines())
        keys = [line.split(':')[0] for line in REVIEW_CASE['ZH'].splitlines()]
        goal, name, args, response = (lines[key] for key in keys)
        again = review_row(language, DoneStep(goal, name, {}, response), gold['answer'])
        again['origin_prompt'][1]['content'] = again['origin_prompt'][1]['content'].replace('{}', args, 1)
        return again
    if subset in NEXT_STEPS and isinstance(gold, dict):
        steps = [_done(one, answered) for one, answered in pairwise(messages)
                 if one['role'] == 'assistant']  # fmt: skip
        if any(step is None for step in steps):
            return None
        done = [step for step in steps if step is not None]
        return next_step_row(request, subset, done, DoneStep(gold['thought'], gold['name'], gold['args'], ''))
    return None


def _done(said: dict[str, str], answered: dict[str, str]) -> DoneStep | None:
    from opencompass_tooleval.core.text.reading import parse_literal

    text = said['content']
    if text.startswith('{'):
        step = json.loads(text)
        return DoneStep(step['thought'], step['name'], step['args'], answered['content'])
    marks = [line.partition('{')[0] for line in STEP_TEXT['ZH' if text.startswith('思考') else 'EN'].splitlines()]
    thought, name, args = (line.removeprefix(mark) for line, mark in zip(text.splitlines(), marks, strict=True))
    return DoneStep(thought, name, parse_literal(args).value, answered['content'])


def one_task(names: Sequence[str], calls: Sequence[GoldCall], thought: str = 'Do it.') -> MadeTask:
    """A task with one path over tools that only have a schema."""
    schema = {'type': 'object', 'properties': {'a': {'type': 'string'}, 'b': {'type': 'string'}}}
    tools = tuple(ToolSchema(name, f'{name} does it.', schema) for name in names)
    solved = tuple(SolvedCall(call.name, call.arguments, 'done', thought, 'live', '') for call in calls)
    goal = Goal(calls=tuple((call,) for call in calls), is_single_path=True, answer='Done.')
    return MadeTask(Task('t', 's', 'Do it.', tools), (Solution('m', solved, 'Done.'),)).with_goal(goal)


def test_names_that_begin_with_another_are_told_apart(tmp_path: Path) -> None:
    """Officially the name that is listed first counts: git_diff_staged would be read as git_diff."""
    made = one_task(['git_diff', 'git_diff_staged'], [GoldCall('git_diff_staged', {'a': 'x'})])
    assert write_teval([made], tmp_path)['EN/plan_str_v2.json'] == 1
    (sample,) = load_samples(tmp_path / 'teval/EN/plan_str_v2.json', 'plan_str')
    assert sample.record.apis == ('git_diff_staged', 'git_diff')
    (score,) = score_answers([sample.record], [Answer(gold_answer(sample.record))], Protocol('v1'), _Exact())
    assert score.values['f1_score'] == 1
    assert "[['git_diff', {" in sample.messages[0].content  # shown in the order in which it is offered


def test_what_its_own_gold_would_not_answer_is_left_out(tmp_path: Path) -> None:
    """A tool called 'Use' is found in every line of a plan in plain text, and 'Use it' in none of its own."""
    made = one_task(['Use', 'find'], [GoldCall('find', {'a': 'x'})])
    counts = write_teval([made], tmp_path)
    assert 'EN/plan_str_v2.json' not in counts and counts['EN/plan_json_v2.json'] == 1
    row = json.loads((tmp_path / 'teval/EN/plan_json_v2.json').read_text(encoding='utf-8'))['t']
    assert not reaches_full_marks('t', {**row, 'ground_truth': 'no plan'}, 'plan_json')


def test_steps_end_where_a_thought_or_an_observation_is_not_known(tmp_path: Path) -> None:
    calls = [GoldCall('find', {'a': str(number)}) for number in range(3)]
    made = one_task(['find'], calls)
    (solution,) = made.solutions
    silent = replace(solution, calls=(*solution.calls[:2], replace(solution.calls[2], thought='')))
    assert write_teval([replace(made, solutions=(silent,))], tmp_path)['EN/reason_str_v2.json'] == 2
    planned = replace(silent, plan=('One.', 'Two.', 'Three.'))
    assert [call.purpose for call in gold_path(replace(made, solutions=(planned,)))] == ['Do it.', 'Do it.', 'Three.']
    # After an edit of the first call nobody knows what comes back.
    edited = made.with_goal(replace(made.goal, calls=((GoldCall('find', {'a': 'new'}),), *made.goal.calls[1:])))
    counts = write_teval([edited], tmp_path)
    assert counts['EN/instruct_v2.json'] == 6 and 'EN/reason_str_v2.json' not in counts
    unoffered = made.with_goal(replace(made.goal, calls=((GoldCall('gone', {}),),)))
    assert not has_one_path(unoffered) and write_teval([unoffered], tmp_path) == {}
    assert not (tmp_path / 'teval').exists()


def test_ultratool_files_are_read_by_the_benchmark(made: MadeSet) -> None:
    folder = made.folder / 'ultratool' / 'English-dataset'
    samples = read_samples(folder / 'test.json')
    assert [len(sample.calls) for sample in samples] == [2, 2, 1, 1, 2]
    first = samples[0].calls[1]
    assert {one.name: one.value for one in first.arguments} == {
        'room_id': '102', 'start_time': '10:00', 'end_time': '11:00'
    }  # fmt: skip
    counts = {
        file.stem: len(load_records(file, file.stem, 'en')) for file in sorted((folder / 'test_set').glob('*.json'))
    }
    assert counts == dict.fromkeys(counts, 5) and len(counts) == 6
    assert len(read_samples(made.folder / 'ultratool' / 'Chinese-dataset' / 'test.json')) == 1


def test_toolsets_are_as_large_as_the_tools_allow(made: MadeSet, tmp_path: Path) -> None:
    (task,) = (task for task in made.tasks if task.task.id == 'office_3')
    write_ultratool([task], tmp_path, 'few')
    folder = tmp_path / 'ultratool' / 'English-dataset' / 'test_set'
    (row,) = [json.loads(line) for line in (folder / 'tool_selection.json').read_text('utf-8').splitlines()]
    assert sorted(tool['name'] for tool in row['toolset']) == ['Canteen.menu', 'Weather.forecast']


@pytest.mark.parametrize(
    'value', ['', "it's", 'a, b', 'a (b)', '{"a": 1}', 'x" y', 'new\nline', 7, 1.5, True, None, [1, 'a'], {'k': 'v'}]
)
def test_calls_survive_ultratools_annotation(value: Any) -> None:
    written = write_call('find', {'a': value, 'b': 'end'}, ['a', 'b'])
    read = {one.name: one.value for one in parse_call(written, ['a', 'b']).arguments}
    assert read == {'a': value if isinstance(value, str) else json.dumps(value), 'b': 'end'}


@pytest.mark.parametrize('value', ["x', b='y", "', b='"])
def test_a_value_that_reads_as_a_call_is_refused(value: str) -> None:
    with pytest.raises(CallError):
        write_call('find', {'a': value}, ['a', 'b'])
    assert sample_row(one_task(['find'], [GoldCall('find', {'a': value})]), 'x') is None
    assert sample_row(one_task(['GET /find'], [GoldCall('GET /find', {})]), 'x') is None


def test_instructions_serve_agents_and_step_files(made: MadeSet) -> None:
    file = made.folder / 'easytool' / 'instructions.json'
    tasks = [one.task for one in made.tasks]
    instructed, _ = load_instructed(tasks, str(file), 'teval', made.folder)
    assert all(set(task.instructions) == set(task.documents) for task in instructed)
    docs = load_docs('function_schema', str(made.folder / 'easytool' / 'tools.json'))
    assert [doc.name for doc in docs] == list(dict.fromkeys(tool.name for task in tasks for tool in task.tools))
    assert len(docs) == len(TOOLS)


def test_documentation_of_any_source_is_converted() -> None:
    schema = {
        'type': 'object',
        'properties': {
            'path': {'type': 'string', 'description': 'Where.'},
            'depth': {'type': 'integer', 'default': 2, 'minimum': 0},
            'kinds': {'type': 'array', 'items': {'type': 'string'}, 'title': 'Kinds'},
        },
        'required': ['path'],
    }
    listed = {
        'name': 'list_files',
        'description': 'Lists files.',
        'inputSchema': schema,
        'outputSchema': {'type': 'object', 'properties': {'files': {'type': 'array', 'description': 'The files.'}}},
    }
    tool = ToolSchema('list_files', 'Lists files.\nReturns: {}', schema)
    assert teval_tool(tool, listed) == {
        'name': 'list_files',
        'description': 'Lists files.',
        'required_parameters': [{'name': 'path', 'type': 'STRING', 'description': 'Where.'}],
        'optional_parameters': [
            {'name': 'depth', 'type': 'INTEGER', 'description': '', 'default': 2, 'minimum': 0},
            {'name': 'kinds', 'type': 'LIST', 'description': '', 'items': {'type': 'string'}},
        ],
        'return_data': [{'name': 'files', 'description': 'The files.'}],
    }
    ours = ultratool_tool(tool, listed)
    assert ours['arguments'] == schema and list(ours['results']['properties']) == ['files']
    function = single_tool_doc(tool, listed).functions[0]
    assert [one.name for one in function.required] == ['path'] and len(function.optional) == 2
    for document in (None, 'text', [], {'name': 'x'}):
        assert teval_tool(tool, document)['return_data'] == []


def test_config_loads_here_and_copied_elsewhere(made: MadeSet, tmp_path: Path) -> None:
    source = made.folder / 'office_gen.py'
    copied = tmp_path / 'office_gen.py'
    copied.write_text(source.read_text(encoding='utf-8'), encoding='utf-8')
    for file in (source, copied):
        config = Config.fromfile(str(file), format_python_code=False)
        abbrs = [row['abbr'] for row in config['office_datasets']]
        assert config['datasets'] == config['office_datasets'] and len(set(abbrs)) == len(abbrs)
        assert all(abbr.startswith('office-') for abbr in abbrs) and len(abbrs) == 1 + 16 + 7
        assert [row['abbr'] for row in config['office_judged']] == [
            'office-ultratool-planning_zh', 'office-ultratool-planning_en', 'office-ultratool-tool_creation_en'
        ]  # fmt: skip
        dialogues = config['office_agent'][0]['infer_cfg']['inferencer']['dialogues']
        assert dialogues['bank'] == str(made.folder / 'responses.bank') and dialogues['stateful_tools'] == 'teval'
    assert len(source.read_text(encoding='utf-8').splitlines()) <= 50


def test_paths_of_a_live_server_are_below_the_folder(tmp_path: Path) -> None:
    live = {'server': 'run {fixture}', 'fixture': str(tmp_path / 'a {b}'), 'probes': [{'leave_out': ['.git/*']}]}
    code = as_code({'live': live, 'model': Config, 'checks': None}, str(tmp_path))
    config = tmp_path / 'config.py'
    config.write_text(f"_folder = '/moved'\nread = {code}\n", encoding='utf-8')
    assert Config.fromfile(str(config), format_python_code=False)['read'] == {
        'live': {**live, 'fixture': '/moved/a {b}'}, 'model': 'mmengine.config.config.Config', 'checks': None
    }  # fmt: skip


def test_card_counts_what_is_there(made: MadeSet) -> None:
    card = (made.folder / 'README.md').read_text(encoding='utf-8')
    for line in (
        'No person has looked at any task.',
        '0 of 26 observations of the solutions (0.0%) were simulated by a model.',
        '- second: second',
        '| ordinary | 5 |',
        '| EN | 8 |',
        '| 2 | 3 |',
        '| Weather.forecast | 3 |',
        '6 of 9 tasks are in step files',
        '| query | query:leak | 2 |',
        '- `teval/EN/plan_json_v2.json`: 5 rows',
        '0 tasks have calls that are in no file of next steps',
        'Private; not uploaded by tooleval.',
    ):
        assert line in card, line


def test_card_of_a_reviewed_and_simulated_set(made: MadeSet, tmp_path: Path) -> None:
    first, *others = made.tasks
    simulated = replace(first.solutions[0].calls[0], source='simulated')
    solution = replace(first.solutions[0], calls=(simulated,))
    tasks = [replace(first, solutions=(solution,), is_reviewed=True), *(replace(one, solutions=()) for one in others)]
    write_outputs(small_set(tmp_path / 'office', tasks))
    card = (tmp_path / 'office' / 'README.md').read_text(encoding='utf-8')
    assert 'No person has looked at 8 tasks.' in card
    assert '1 of 1 observations of the solutions (100.0%) were simulated' in card
    assert '6 tasks have calls that are in no file of next steps' in card


def test_outputs_of_fewer_tasks_replace_those_of_more(made: MadeSet, tmp_path: Path) -> None:
    """After a review: what a dropped task left must not stay."""
    write_outputs(small_set(tmp_path / 'office', made.tasks))
    no_tool = [task for task in made.tasks if task.task.id == 'office_7']
    write_outputs(small_set(tmp_path / 'office', no_tool))
    assert not (tmp_path / 'office' / 'teval').exists() and not (tmp_path / 'office' / 'ultratool').exists()
    config = Config.fromfile(str(tmp_path / 'office' / 'office_gen.py'), format_python_code=False)
    assert [row['abbr'] for row in config['datasets']] == ['office-agent-function_calling']
