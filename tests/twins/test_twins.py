"""What twins change, and what stays: by kind, on records of the demo and on made-up ones."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from opencompass_tooleval.agents.adapter import AgentDialogues, ToolEvalAgentDataset
from opencompass_tooleval.agents.scoring.scoring import score_trajectory
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.benchmarks.funcqa.task import ToolEvalFuncQADataset
from opencompass_tooleval.benchmarks.restbench.task import ToolEvalRestBenchDataset
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset, ToolEvalTEvalFunctionCallingDataset
from opencompass_tooleval.benchmarks.toolbench.task import ToolEvalToolBenchDataset
from opencompass_tooleval.benchmarks.ultratool.data import load_records as load_ultratool
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observation import INJECTED
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import default_cache, locate_encoder
from opencompass_tooleval.instructions.adapter import ToolEvalTEvalEasyToolDataset, ToolEvalUltraToolEasyToolDataset
from opencompass_tooleval.report.variant_figures import rankings_table
from opencompass_tooleval.results.variants import Gain, change_of_lead, gains_of
from opencompass_tooleval.tool_docs.api_list import find_api_list
from opencompass_tooleval.twins import funcqa, names, ultratool_samples
from opencompass_tooleval.twins.adapter import ToolEvalTwinDataset, find_class, kinds_of, open_twins
from opencompass_tooleval.twins.names import OPAQUE, PLAIN, Pool
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import LeftOutError
from opencompass_tooleval.twins.values import Material, draw
from tests.agents.support import calling
from tests.instructions.shared_data import DEMO, real
from tests.twins.support import teval_pairs

PLAN: dict[str, Any] = {'path': 'tooleval:demo/teval/EN', 'name': 'plan_json_v2', 'encoder': 'offline'}
AGENTS = 'tooleval:demo/agents/teval'


def twin(original: Any, kind: str, seed: int = 0, **settings: Any) -> list[dict[str, Any]]:
    return list(ToolEvalTwinDataset.load(original, kind, seed, **settings))


def apis_of(row: dict[str, Any]) -> list[Any]:
    (system,) = [message for message in json.loads(row['messages']) if message['role'] == 'system']
    span = find_api_list(system['content'])
    assert span is not None
    return list(span.apis)


def test_order_changes_nothing_but_the_order() -> None:
    plain = list(ToolEvalTEvalDataset.load(**PLAN))
    ordered = twin(ToolEvalTEvalDataset, 'order', **PLAN)
    assert [row['gold_answer'] for row in ordered] == [row['gold_answer'] for row in plain]
    assert [row['source'] for row in ordered] == [f'{row["source"]}-twin-order' for row in plain]
    for before, after in zip(plain, ordered, strict=True):
        assert sorted(before['messages']) == sorted(after['messages'])
        assert sorted(api['name'] for api in apis_of(before)) == sorted(api['name'] for api in apis_of(after))
    assert any(before['messages'] != after['messages'] for before, after in zip(plain, ordered, strict=True))


def test_names_are_new_where_they_are_typed_and_words_stay() -> None:
    plain = list(ToolEvalTEvalDataset.load(**PLAN))
    for before, after in zip(plain, twin(ToolEvalTEvalDataset, 'names', **PLAN), strict=True):
        assert not {api['name'] for api in apis_of(before)} & {api['name'] for api in apis_of(after)}
        assert [api['description'] for api in apis_of(before)] == [api['description'] for api in apis_of(after)]
        requests, called = [], []
        for row in (before, after):
            messages = json.loads(row['messages'])
            requests.append([message['content'] for message in messages if message['role'] == 'user'])
            called.append({step['name'] for step in json.loads(row['gold_answer'])} - {'FinishAction'})
        assert requests[0] == requests[1]
        assert len(called[0]) == len(called[1])
        assert called[1] <= {api['name'] for api in apis_of(after)}


def test_more_adds_tools_of_others_and_keeps_the_order_of_the_first() -> None:
    plain = list(ToolEvalTEvalDataset.load(**PLAN))
    for before, after in zip(plain, twin(ToolEvalTEvalDataset, 'more5', **PLAN), strict=True):
        own, offered = ([api['name'] for api in apis_of(row)] for row in (before, after))
        assert [name for name in offered if name in own] == own
        assert len(own) < len(offered) <= len(own) + 5
        groups = {name.partition('.')[0] for name in own}
        assert not {name.partition('.')[0] for name in offered if name not in own} & groups


def test_more_adds_no_tool_that_answers_the_same_requests() -> None:
    same = [{'GaodeMap', 'BINGMap', 'AirbnbSearch'}, {'FilmDouban', 'FilmTMDB'}, {'ArxivSearch', 'GoogleScholar'}]
    for original, changed, _ in teval_pairs(real('teval/EN/plan_json_v1.json'), 'more5')[::5]:
        own, offered = (
            {api['name'].partition('.')[0] for api in find_api_list(sample.messages[0].content).apis}
            for sample in (original, changed)
        )
        added = offered - own
        assert added and 'GoogleSearch' not in added
        assert not [group for group in same if group & own and group & added]


def test_values_are_others_of_the_same_form() -> None:
    request = "Book 'Blue Room' from 2024-03-01 to 2024-03-05 for ann.lee@mail.com, code X71Q, and note 4 chairs."
    golds = ['Blue Room', '2024-03-01', '2024-03-05', 'ann.lee@mail.com', 'X71Q', 4, 'seats: many']
    new = draw(Material(request, golds, 'Books a room.'), random.Random(1)).values
    assert set(new) == {'Blue Room', '2024-03-01', '2024-03-05', 'ann.lee@mail.com', 'X71Q'}
    assert all(len(before) == len(after) for before, after in new.items())
    assert new['Blue Room'].istitle() and new['ann.lee@mail.com'].endswith('.com') and '@' in new['ann.lee@mail.com']
    days = [new[day][:4] + new[day][5:7] + new[day][8:] for day in ('2024-03-01', '2024-03-05')]
    assert days[0] < days[1]


KEPT: list[tuple[str, list[Any], str]] = [
    ('Stay from 2024-03-01 for three nights.', ['2024-03-01', '2024-03-04'], ''),  # another date is computed
    ('Meet tomorrow, 2024-03-01.', ['2024-03-01'], ''),  # relative
    ("Sort by 'Rating'.", ['Rating'], "One of 'Rating' and 'Price'."),  # an option
    ("Give 'Film One' and 'Film One Two'.", ['Film One', 'Film One Two'], ''),  # inside another: only the longer
    ('Give 3 stars.', [3], ''),  # of a scale
    ('The stock ZG of Zillow.', ['ZG'], ''),  # known by another name
    ('Lunch for 15 people.', ['15 people'], ''),  # ordinary words
    ("Remind me at '14点开会'.", ['14点开会'], ''),
    ("Find some food, and films with 'food' in their title.", ['food'], ''),  # not only a quoted word
    ('Buy 120 shares at 450 yuan.', [120, '54000'], ''),  # a product of it
    ("Search 'Neural Networks'.", ['Neural Networks', 'papers on neural nets'], ''),  # in another form
    ('On April 10th.', ['April 10th'], ''),
    ('Nothing that is in the gold.', ['other'], ''),
]


@pytest.mark.parametrize(('request_text', 'golds', 'documentation'), KEPT)
def test_values_that_others_depend_on_stay(request_text: str, golds: list[Any], documentation: str) -> None:
    try:
        new = draw(Material(request_text, golds, documentation), random.Random(0)).values
    except LeftOutError:
        return
    assert 'Film One Two' in golds and set(new) == {'Film One Two'}


@pytest.mark.parametrize(('constant', 'results'), [(7, (84, 99)), (3, (36, 51)), (9, (108, 123))])
def test_a_small_number_that_is_a_difference_of_others_has_no_twin(constant: int, results: tuple[int, int]) -> None:
    """With other numbers of the question it would be another one; seven, as of a week, would not. So 15 - 12 = 3."""
    question = 'One box has 12 books and another has 15. How many are there?'
    product, answer = results
    steps = [f'<multiply>(12, {constant})={product}', f'<add>({product}, 15)={answer}']
    raw = {'question': question, 'calculation': steps, 'answer': answer}
    if constant == 3:
        with pytest.raises(LeftOutError, match='stands in the question in another form'):
            funcqa.values('r', raw, random.Random(0))
    else:
        new = funcqa.values('r', raw, random.Random(0)).raw
        first, second = (int(token) for token in new['question'].replace('.', ' ').split() if token.isdecimal())
        assert new['answer'] == first * constant + second != answer


def test_calls_of_a_plan_have_the_new_names_and_the_old_values() -> None:
    """Steps without a call stay; a plan that reads otherwise with its new names has no twin."""
    arguments = {'type': 'object', 'properties': {'path': {'type': 'string'}, 'text': {'type': 'string'}}}
    tool = {'name': 'file_write', 'description': 'Writes a file.', 'arguments': arguments, 'results': {}}
    steps = [('1. Files', None), ('1.1 Write', "file_write(path='a', text='Hi, you')")]
    raw = {'question': 'Write it.', 'tools': [tool], 'plan': [{'step': step, 'tool': call} for step, call in steps]}
    made = ultratool_samples.names({}, Pool(PLAIN, 0))('r', raw, random.Random(0))
    parent, write = (step['tool'] for step in made.raw['plan'])
    (renamed,) = made.raw['tools']
    first, second = renamed['arguments']['properties']
    assert parent is None and renamed['name'] != 'file_write' and {first, second}.isdisjoint({'path', 'text'})
    assert write == f"{renamed['name']}({first}='a', {second}='Hi, you')"


def test_reading_of_answers_has_an_inverse() -> None:
    new = Translation({'Map.get': 'qwertyuio'}, {'city': 'zxcvbnm'}, {'Ghent': 'Dovar', '火山': '云梅'})
    text = """[{"name": "Map.get", "args": "{'city': 'Ghent', 'title': '\\u706b\\u5c71', 'x': 'city'}"}] In Ghent."""
    there = new.text(text)
    assert there == (
        """[{"name": "qwertyuio", "args": "{'zxcvbnm': 'Dovar', 'title': '\\u4e91\\u6885', 'x': 'city'}"}] In Dovar."""
    )
    assert new.inverse.text(there) == text
    assert Translation(letters={'A': 'C'}).text('Answer: A. Apples') == 'Answer: C. Apples'
    assert new.data({'city': ['Ghent', 3, None, True]}) == {'zxcvbnm': ['Dovar', 3, None, True]}


def test_descriptions_that_mention_a_tool_have_its_new_name() -> None:
    new = Translation({'PPT.save_file': 'qwertyuio', 'note': 'asdfghjkl'}, {'outNum': 'zxcvbnm'})
    inner = {'description': 'save_files of outNum'}
    described = new.described({'description': 'Call save_file() after a note.', 'items': [inner]})
    inner = {'description': 'save_files of zxcvbnm'}
    assert described == {'description': 'Call qwertyuio() after a note.', 'items': [inner]}


def test_a_step_that_mentions_a_tool_has_its_new_name() -> None:
    tool = {'name': 'file_write', 'arguments': {'properties': {'path': {}}}, 'results': {'properties': {'is_done': {}}}}
    step = {'step': '1. Use file_write to write (result: is_done)', 'tool': 'file_write', 'param': {'path': 'a.txt'}}
    raw = {'question': 'Write a.txt.', 'input': [step], 'reference': [step], 'toolset': [tool]}
    changed = open_twins('ultratool', 'tool_usage', 'names', 0, None)({'0': raw})['0']
    words = json.dumps(changed)
    assert 'file_write' not in words and 'is_done' not in words and 'a.txt' in words


@pytest.mark.parametrize('style', [OPAQUE, PLAIN])
def test_names_stay_distinct(style: str) -> None:
    tools = [f'Tool.do_{number}' for number in range(30)]
    fields = [f'field_{number}' for number in range(60)]
    new_tools, new_fields = Pool(style, 0).draw(tools, fields, 'some text', random.Random(0))
    names = [*new_tools.values(), *new_fields.values()]
    assert len(set(names)) == 90
    assert not [(a, b) for a in names for b in names if a != b and a in b]
    taken = new_tools['Tool.do_0']
    others, _ = Pool(style, 0).draw(tools, [], f'a text with {taken} in it', random.Random(0))
    assert taken not in others.values()
    assert Pool(style, 1).draw(tools, fields, '', random.Random(0)) != (new_tools, new_fields)


@pytest.mark.parametrize('style', [OPAQUE, PLAIN])
def test_names_are_no_nearer_for_the_encoder_than_the_old_ones(style: str) -> None:
    encoder = shared_encoder(locate_encoder('offline'), default_cache())
    pool = Pool(style, 0, encoder)
    near = ['weather.get_weather_today', 'weather.get_weather_now', 'weather.forecast']
    far = ['weather.forecast', 'bank.transfer', 'poem.write']
    assert pool.nearest(far) < pool.nearest(near)
    for tools in (near, far):
        for seed in range(5):
            new, _ = pool.draw(tools, [], '', random.Random(seed))
            assert pool.nearest(list(new.values())) <= max(pool.nearest(tools), 0.4) + 1e-6
    assert encoder.matrix(['tool_17'], ['tool_18'])[0, 0] > 0.7  # why names are not numbered


EN, ULTRA, BENCH = 'tooleval:demo/teval/EN', 'tooleval:demo/ultratool', 'tooleval:demo/toolbench'
OFFLINE: dict[str, Any] = {'encoder': 'offline'}
CALLING = {'method': 'function_calling'}
INSTRUCTED: dict[str, Any] = {'instructions': 'tooleval:demo/easytool/teval_en.json', **OFFLINE}
CHINESE = {'language': 'zh', 'instructions': 'tooleval:demo/easytool/ultratool_zh.json'}
DATASETS: list[tuple[Any, str, str, dict[str, Any]]] = [
    (ToolEvalTEvalDataset, 'review_str_v2', EN, OFFLINE),
    (ToolEvalTEvalDataset, 'instruct_v2_zh', 'tooleval:demo/teval/ZH', OFFLINE),
    (ToolEvalTEvalFunctionCallingDataset, 'reason_retrieve_understand_json_v2', EN, OFFLINE),
    (ToolEvalTEvalEasyToolDataset, 'retrieve_str_v2', EN, INSTRUCTED),
    (ToolEvalUltraToolEasyToolDataset, 'tool_usage', ULTRA, CHINESE),
    (ToolEvalUltraToolDataset, 'tool_creation', ULTRA, {'language': 'en'}),
    (ToolEvalUltraToolDataset, 'tool_selection', ULTRA, {'language': 'en'}),
    (ToolEvalToolBenchDataset, 'selection_5', BENCH, OFFLINE),
    (ToolEvalToolBenchDataset, 'calls_g2', BENCH, {}),
    (ToolEvalToolBenchDataset, 'calls_g3', BENCH, CALLING),
    (ToolEvalRestBenchDataset, 'tmdb', 'tooleval:demo/restbench', {}),
    (ToolEvalRestBenchDataset, 'spotify', 'tooleval:demo/restbench', CALLING),
    (ToolEvalFuncQADataset, 'multi_hop', 'tooleval:demo/funcqa', {}),
    (ToolEvalFuncQADataset, 'one_hop', 'tooleval:demo/funcqa', {}),
    (ToolEvalAgentDataset, 'teval', AGENTS, {}),
    (ToolEvalAgentDataset, 'toolbench_g1', BENCH, {}),
    (ToolEvalAgentDataset, 'ultratool_en', ULTRA, {}),
]


@pytest.mark.parametrize(('original', 'name', 'path', 'more'), DATASETS)
def test_every_kind_of_every_data_set(original: Any, name: str, path: str, more: dict[str, Any]) -> None:
    settings = {'path': path, **more}
    plain = {row['record_id']: row for row in original.load(name=name, **settings)}
    kinds = kinds_of(original, {'name': name, **settings})
    assert kinds
    for kind in kinds:
        try:
            rows = twin(original, kind, 0, name=name, **settings)
        except ValueError as error:
            assert 'no record has a twin' in str(error)
            continue
        assert rows == twin(original, kind, 0, name=name, **settings)
        assert {row['record_id'] for row in rows} <= plain.keys()
        shown = json.loads(rows[0]['shown'])
        assert (shown['twin'], shown['twin_seed']) == (kind, 0)
        left_out = sum(int(part.rpartition(': ')[2]) for part in shown['left_out'].split(', ') if part)
        assert len(rows) + left_out == len(plain)
        columns = ('messages', 'record', 'tools')
        changed = [row for row in rows if any(row.get(key) != plain[row['record_id']].get(key) for key in columns)]
        assert len(changed) >= len(rows) / 2, kind


def test_a_seed_is_another_twin_and_in_the_provenance() -> None:
    first, second = (twin(ToolEvalTEvalDataset, 'names', seed, **PLAN) for seed in (0, 1))
    assert [row['gold_answer'] for row in first] != [row['gold_answer'] for row in second]
    assert json.loads(second[0]['shown'])['twin_seed'] == 1
    assert second[0]['source'].endswith('-twin-names-s1')


def test_what_has_no_twins_is_refused() -> None:
    with pytest.raises(ValueError, match='has no twins; data sets with twins'):
        find_class('ToolEvalTasksDataset')
    with pytest.raises(ValueError, match="review_str has no twins of the kind 'names'; it has order"):
        twin(ToolEvalTEvalDataset, 'names', path='tooleval:demo/teval/EN', name='review_str_v2')
    assert list(ToolEvalTwinDataset.check_settings({'original': 'none'}))


USAGE: dict[str, Any] = {'path': 'tooleval:demo/ultratool', 'name': 'tool_usage', 'language': 'en'}


def test_a_sample_of_twins_has_the_records_of_the_sample_of_the_original() -> None:
    columns = {'input_columns': ['messages'], 'output_column': 'record'}
    for number in range(2, 6):
        settings: dict[str, Any] = {**USAGE, 'sample': {'n': number}, 'reader_cfg': columns}
        plain = ToolEvalUltraToolDataset(**settings).test
        twins = ToolEvalTwinDataset(original=ToolEvalUltraToolDataset, twin='values', **settings).test
        assert len(plain) == number and set(twins['record_id']) <= set(plain['record_id'])
        assert json.loads(twins[0]['shown'])['sampled_without_twin'] == number - len(twins)


def test_a_sample_whose_records_have_no_twin_is_refused() -> None:
    settings: dict[str, Any] = {**USAGE, 'reader_cfg': {'input_columns': ['messages'], 'output_column': 'record'}}
    have = {row['record_id'] for row in twin(ToolEvalUltraToolDataset, 'values', **USAGE)}
    lacking = [seed for seed in range(30) if not have & set(
        ToolEvalUltraToolDataset(**settings, sample={'n': 1, 'seed': seed}).test['record_id'])]  # fmt: skip
    with pytest.raises(ValueError, match='the 1 records of the sample have no twin'):
        ToolEvalTwinDataset(
            original=ToolEvalUltraToolDataset, twin='values', sample={'n': 1, 'seed': lacking[0]}, **settings
        )


def test_a_twin_that_is_no_record_is_named_with_its_file_and_row() -> None:
    file = DEMO / 'ultratool/English-dataset/test_set/tool_usage.json'

    def broken(rows: Any) -> Any:
        return {**rows, '1': {**rows['1'], 'reference': []}}

    with pytest.raises(DataError, match=r"tool_usage.json: record '1': field 'reference' is empty"):
        load_ultratool(file, 'tool_usage', 'en', broken)


def test_more_ends_where_the_documentation_is_long_enough() -> None:
    lengths = []
    for given in ({}, {'max_added_chars': 900}):
        rows = twin(ToolEvalUltraToolDataset, 'more20', **USAGE, **given)
        lengths.append(sum(len(row['messages']) for row in rows) / len(rows))
        assert json.loads(rows[0]['shown']).get('max_added_chars') == given.get('max_added_chars')
    plain = list(ToolEvalUltraToolDataset.load(**USAGE))
    assert lengths[1] < lengths[0]
    assert lengths[1] <= sum(len(row['messages']) for row in plain) / len(plain) + 2 * 900
    with pytest.raises(ValueError, match='no other tool fits'):
        twin(ToolEvalUltraToolDataset, 'more20', max_added_chars=100, **USAGE)
    assert list(ToolEvalTwinDataset.check_settings({'original': ToolEvalUltraToolDataset, 'max_added_chars': 'x'}))


def toolbench_rows(*apis: tuple[str, str, int]) -> dict[str, Any]:
    """A record for each API: its tool, category and number of parameters."""
    rows = {}
    for number, (tool, category, fields) in enumerate(apis):
        api = {'category_name': category, 'tool_name': tool, 'api_name': f'get {tool}', 'api_description': f'{tool}.'}
        required = [{'name': f'{tool}_{field}', 'type': 'STRING'} for field in range(fields)]
        row = {'query_id': number, 'query': f'Request {number}.', 'relevant APIs': [[tool, f'get {tool}']]}
        rows[str(number)] = {**row, 'api_list': [{**api, 'required_parameters': required, 'optional_parameters': []}]}
    return rows


@pytest.mark.parametrize('kind', ['names', 'plain'])
def test_a_file_with_too_many_names_has_no_twins_and_a_reason(kind: str) -> None:
    rows = toolbench_rows(('Maps', 'Travel', 6000), ('News', 'Media', 1))
    changes = open_twins('toolbench', 'calls_g2', kind, 0, None)
    with pytest.raises(ValueError, match=r'no record has a twin .*\(it has too many names: 2\)'):
        changes(rows)
    everything = ' '.join(f'{first}_{second}' for first in names._FIRST for second in names._SECOND)
    with pytest.raises(LeftOutError, match='too few new names'):
        Pool(PLAIN, 0).draw([], ['a'], everything, random.Random(0))


def test_a_record_of_toolbench_without_another_tool_is_left_out() -> None:
    rows = toolbench_rows(('Maps', 'Travel', 1), ('Hotels', 'Travel', 1), ('News', 'Media', 1))
    alike = {**rows, '2': {**rows['2'], 'api_list': [*rows['2']['api_list'], *rows['0']['api_list']]}}
    changes = open_twins('toolbench', 'calls_g2', 'more5', 0, None)
    assert set(changes(alike)) == {'0', '1'} and changes.left_out == Counter({'no other tools': 1})


def test_instructions_and_native_calls_have_the_new_names() -> None:
    place: dict[str, Any] = {'path': EN, 'name': 'reason_retrieve_understand_json_v2'}
    native = twin(ToolEvalTEvalFunctionCallingDataset, 'names', **place, **OFFLINE)
    instructed = twin(ToolEvalTEvalEasyToolDataset, 'names', **place, **INSTRUCTED)
    for row in (*native, *instructed):
        assert 'MuseumGuide.list_open' not in row['messages'] + str(row.get('tools'))


def run(dialogues: AgentDialogues, task: Task, *answers: Answer) -> Trajectory:
    dialogue, number = dialogues.carry_out(task), 0
    try:
        next(dialogue)
        while True:
            dialogue.send(answers[min(number, len(answers) - 1)])
            number += 1
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory


@pytest.fixture
def dialogues() -> AgentDialogues:
    return AgentDialogues('function_calling', bank=f'{AGENTS}/EN', stateful_tools='teval', stop_on='text')


def tasks(kind: str) -> list[tuple[Task, Task]]:
    originals = {row['record_id']: parse_task(row['record']) for row in ToolEvalAgentDataset.load(AGENTS, 'teval')}
    rows = twin(ToolEvalAgentDataset, kind, 0, path=AGENTS, name='teval')
    return [(originals[row['record_id']], parse_task(row['record'])) for row in rows]


def gold_answers(task: Task) -> list[Answer]:
    return [*(calling((call.name, call.arguments)) for call in task.gold or ()), Answer('Done.')]


TOOLBENCH = {'path': 'tooleval:demo/toolbench', 'name': 'toolbench_g1'}


def test_instructions_that_are_found_by_names_keep_them() -> None:
    settings: dict[str, Any] = {**TOOLBENCH, 'instructions': 'tooleval:demo/toolbench/instructions.json'}
    assert 'names' not in kinds_of(ToolEvalAgentDataset, settings)
    with pytest.raises(ValueError, match="finds instructions by names: it has no twins of 'names'"):
        twin(ToolEvalAgentDataset, 'names', **settings)


def test_choices_of_tools_are_the_same_with_other_names() -> None:
    settings: dict[str, Any] = {'path': 'tooleval:demo/toolbench', 'name': 'selection_5', 'encoder': 'offline'}
    plain = list(ToolEvalToolBenchDataset.load(**settings))
    renamed = dict[str, str]()
    for before, after in zip(plain, twin(ToolEvalToolBenchDataset, 'names', **settings), strict=True):
        first, second = (json.loads(row['record']) for row in (before, after))
        assert first['query'] == second['query']
        renamed |= dict(zip(first['candidates'], second['candidates'], strict=True))
        assert renamed[first['gold']] == second['gold'] == json.loads(after['gold_answer'])['tool']
        text = json.loads(after['messages'])[-1]['content']
        assert all(f'{name}\n' in text for name in second['candidates'])
    assert not set(renamed) & set(renamed.values()) and len(set(renamed.values())) == len(renamed)


def calls_of(trajectory: Trajectory) -> list[AnsweredCall]:
    return [call for step in trajectory.steps for call in step.calls]


@pytest.mark.parametrize('kind', ['order', 'names', 'more5'])
def test_the_environment_answers_an_agent_as_before(dialogues: AgentDialogues, kind: str) -> None:
    for original, changed in tasks(kind):
        before, after = (calls_of(run(dialogues, task, *gold_answers(task))) for task in (original, changed))
        new = Translation(changed.twin.get('tools', {}), changed.twin.get('fields', {}))
        assert [(call.source, call.error) for call in before] == [(call.source, call.error) for call in after]
        for call, other in zip(before, after, strict=True):
            translate = new.words if call.source == 'error' else new.text
            assert translate(call.observation) == other.observation
        scores = [score_trajectory(task, run(dialogues, task, *gold_answers(task))) for task in (original, changed)]
        assert scores[0].values == scores[1].values


def test_an_agent_that_knows_the_old_names_gets_no_answer_and_no_new_name(dialogues: AgentDialogues) -> None:
    for original, changed in tasks('names'):
        made = calls_of(run(dialogues, changed, *gold_answers(original)))
        assert {call.fault for call in made} == {'unknown_tool'}
        names = changed.twin['tools'].values()
        assert not [call for call in made for name in names if name in call.observation]
        old = next(call for call in original.gold or () if call.arguments)
        name = changed.twin['tools'][old.name]
        (call, *_) = calls_of(run(dialogues, changed, calling((name, old.arguments)), Answer('Done.')))
        assert call.fault == 'wrong_arguments'


def test_a_first_call_fails_and_a_second_is_answered(dialogues: AgentDialogues) -> None:
    texts = set()
    for original, changed in tasks('faults'):
        failing = changed.twin['fails_first']
        (first,) = [call for call in changed.gold or () if call.name == failing][:1]
        again = calling((first.name, first.arguments))
        trajectory = run(dialogues, changed, again, *gold_answers(changed))
        made = calls_of(trajectory)
        texts.add(made[0].observation)
        assert made[0].error == INJECTED
        assert INJECTED not in [call.error for call in made[1:]]
        usual = score_trajectory(original, run(dialogues, original, *gold_answers(original)))
        assert score_trajectory(changed, trajectory).values == usual.values
        gives_up = score_trajectory(changed, run(dialogues, changed, *gold_answers(changed)))
        assert (gives_up.values['call_recall'] or 0) < (usual.values['call_recall'] or 0)
    assert texts


RANKED = 'tooleval-teval-instruct_v2-twin-names'
RECORDS = 60


def ranked(right: int, skipped: int = 0) -> dict[str, Any]:
    details: list[dict[str, Any]] = [
        {'id': str(number), 'values': {'accuracy': float(number < right)}, 'reason': 'ok'}
        for number in range(skipped, RECORDS)
    ]
    values = [detail['values']['accuracy'] for detail in details]
    return {'accuracy': 100 * sum(values) / len(values), 'details': details}


def gain(original: int, twin: int, skipped: int = 0) -> Gain:
    (found,) = gains_of(RANKED, ranked(original), ranked(twin, skipped))
    return found


def test_a_lead_that_the_twin_takes_away() -> None:
    able, remembering = gain(40, 40), gain(50, 20)
    interval = change_of_lead(able, remembering)
    assert interval is not None and interval.delta == -50 and interval.high < 0
    table = rankings_table('twin', [('able', able), ('remembering', remembering)])
    assert table is not None
    ((_, _, a, b, before, after, change, *_),) = table.rows
    assert (a, b, before, after, change) == ('able', 'remembering', '16.67', '-33.33', '-50.00')


def test_what_changes_no_lead_is_no_row() -> None:
    table = rankings_table('twin', [('a', gain(40, 30)), ('b', gain(50, 40))])
    assert table is not None and table.rows == ()
    assert rankings_table('twin', [('a', gain(40, 30))]) is None


def test_only_records_of_all_four_results_count() -> None:
    interval = change_of_lead(gain(40, 40, skipped=10), gain(50, 20))
    assert interval is not None and interval.pairs == RECORDS - 10
