"""The test files and stored runs: their content, faults and bounds, and scores of runs without a judge."""

from __future__ import annotations

import gzip
import json
import logging
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import (
    FILE_TABLE,
    KINDS,
    TABLE,
    Run,
    find_file,
    find_subset,
    load_data,
    read_runs,
)
from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.benchmarks.toolbench.scoring import RunsScorer, score_run
from opencompass_tooleval.catalogue.benchmark import count_kinds
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir import data_files as files
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.toolbench.support import DEMO, demo, published
from tests.instructions.shared_data import real

ERRATA = {
    'G1': {'shared_name': 1, 'parameter_twice': 2, 'unfit_default': 2, 'undescribed': 57},
    'G2': {'relevant_twice': 2, 'query_twice': 1, 'unfit_default': 1, 'undescribed': 54},
    'G3': {'unfit_default': 1, 'undescribed': 2},
}


@pytest.mark.parametrize('file', FILE_TABLE, ids=lambda file: file.name)
def test_published_files(file: Any) -> None:
    data = published(file.name)
    apis = sum(len(tool.functions) for tool in data.tools.values())
    found = (len(data.records), len(data.tools), apis, len(data.errata))
    assert found == (file.records, file.tools, file.apis, file.errata)
    counts = count_kinds(data.errata, KINDS)
    assert list(counts) == list(KINDS)
    assert {kind: count for kind, count in counts.items() if count} == ERRATA[file.name]
    for record in data.records:
        assert set(record.relevant) <= set(record.apis)
        assert {tool for tool, _ in record.apis} <= set(data.tools)


def test_every_request_of_g1_is_fulfilled_by_a_single_tool() -> None:
    assert {len(record.tools) for record in published('G1').records} == {1}
    assert {len(record.tools) for record in published('G2').records} == {2, 3, 4}


def test_an_api_that_is_relevant_twice_counts_once() -> None:
    (record,) = [record for record in demo('G2').records if record.id == '202']
    assert record.relevant == (('Loaf Finder', 'Search Bread'), ('Coin Press', 'Convert'))
    assert record.tools == ('Loaf Finder', 'Coin Press')


def rows() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((DEMO / 'G2_category.json').read_text(encoding='utf-8'))
    return loaded


def broken(change: Callable[[list[dict[str, Any]]], object], folder: Path) -> Path:
    changed = rows()
    change(changed)
    file = folder / 'G2_category.json'
    file.write_text(json.dumps(changed), encoding='utf-8')
    return file


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda r: r.clear(), 'not a list of records'),
        (lambda r: r[1].pop('query_id'), "record 'row 1': field 'query_id'"),
        (lambda r: r[1].update(query_id=201), "record '201': two records"),
        (lambda r: r[1].update(query=' '), "record '202': field 'query'"),
        (lambda r: r[1].update(api_list=[{'tool_name': 'x'}]), "record '202': field 'api_list'"),
        (lambda r: r[1].update({'relevant APIs': [['Coin Press']]}), "record '202': field 'relevant APIs'"),
        (lambda r: r[1].update({'relevant APIs': [['Coin Press', 'Mint']]}), "record '202'.*Mint.*not in its api_list"),
        (lambda r: r[1]['api_list'][0].update(required_parameters=3), "Search Bread.*'required_parameters'"),
    ],
)
def test_damage_is_named(change: Callable[[list[dict[str, Any]]], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_data(broken(change, tmp_path), 'G2')
    assert 'G2_category.json' in str(caught.value)


def test_errata_of_every_kind(tmp_path: Path) -> None:
    def change(changed: list[dict[str, Any]]) -> None:
        changed[1]['query'] = changed[0]['query'].upper()
        api = next(api for api in changed[1]['api_list'] if api['api_name'] == 'Convert')
        api['category_name'] = 'Arts'
        api['optional_parameters'].append(dict(api['required_parameters'][0]))
        api['required_parameters'][0]['default'] = 'a lot'

    counts = count_kinds(load_data(broken(change, tmp_path), 'G2').errata, KINDS)
    assert counts == dict.fromkeys(KINDS, 1)


def test_other_counts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load_data(DEMO / 'G3_instruction.json', 'G3')
    assert '2 records, not 61' in caplog.text


def test_names_that_are_not_there() -> None:
    with pytest.raises(ValueError, match='it has G1, G2, G3'):
        find_file('G4')
    with pytest.raises(ValueError, match='selection_5'):
        find_subset('selection_7')
    assert [subset.candidates for subset in TABLE if subset.kind == 'selection'] == [5, 10, 20, 50]


GOOD = '{"error": "", "response": "{\'name\': \'Rome\'}"}'


def node(role: str, message: Any, *below: Any) -> dict[str, Any]:
    return {'role': role, 'message': message, 'next': list(below)}


def call(name: str, arguments: Any, response: str = GOOD) -> dict[str, Any]:
    return {'name': name, 'arguments': arguments, 'response': response}


def finish(return_type: str = 'give_answer') -> dict[str, Any]:
    arguments = '\\{\n  "return_type": "' + return_type + '",\n  "final_answer": "It is "Rome"."\n}'
    return call('Finish', arguments, '')


def tool(function: str, **types: str) -> dict[str, Any]:
    properties = {key: {'type': kind, 'description': '', 'example_value': '5'} for key, kind in types.items()}
    required = list(types)[:1]
    return {'name': function, 'parameters': {'type': 'object', 'properties': properties, 'required': required}}


def chain(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    below: list[dict[str, Any]] = []
    for message in reversed(messages):
        below = [node('tool', message, *below)]
    return [node('system', '', node('user', '', *below))]


def run_of(*messages: dict[str, Any], answer: str = 'It is Rome.', method: str = 'compression') -> dict[str, Any]:
    details = {'method': method, 'total_steps': len(messages), 'final_answer': answer}
    details['answer_details'] = chain(*messages)
    tools = [tool('city_for_maps', name='string', zoom='integer'), tool('ping_for_maps'), tool('Finish')]
    return {'query': 'Which city?', 'available_tools': tools, 'answer': details}


def write(folder: Path, runs: dict[str, Any], name: str = 'runs.json.gz') -> Path:
    file = folder / name
    text = json.dumps(runs).encode('utf-8')
    file.write_bytes(gzip.compress(text) if name.endswith('.gz') else text)
    return file


def loaded(folder: Path, **runs: dict[str, Any]) -> list[Run]:
    return list(read_runs(write(folder, runs)))


def test_reading(tmp_path: Path) -> None:
    good = run_of(call('city_for_maps', '{"name": "Rome"}'), call('ping_for_maps', {'x': 1}, ''), finish())
    (run,) = loaded(tmp_path, r1=good)
    assert (run.id, run.query, run.method, run.total_steps) == ('r1', 'Which city?', 'compression', 3)
    calls = [('city_for_maps', {'name': 'Rome'}), ('ping_for_maps', {'x': 1})]
    assert [(one.name, one.arguments) for one in run.calls] == calls
    assert (run.ending, run.final_answer, run.is_retrieved) == ('give_answer', 'It is Rome.', False)
    assert sorted(run.inventory) == ['city_for_maps', 'ping_for_maps']
    assert list(read_runs(write(tmp_path, {'r1': good}, 'runs.json'))) == [run]


def test_order_is_that_of_the_tree_depth_first(tmp_path: Path) -> None:
    row = run_of(finish())
    left = node('tool', call('a', '{}'), node('tool', call('b', '{}')))
    row['answer']['answer_details'] = [node('system', '', left, node('tool', finish()))]
    (run,) = loaded(tmp_path, r=row)
    assert [one.name for one in run.calls] == ['a', 'b'] and run.ending == 'give_answer'
    row['answer']['answer_details'] = [node('tool', finish()), node('tool', call('a', '{}'))]
    assert loaded(tmp_path, r=row)[0].ending == ''


@pytest.mark.parametrize(
    ('messages', 'answer', 'reason'),
    [
        ([finish()], 'It is Rome.', 'ok'),
        ([finish()], ' ', 'answer:empty'),
        ([finish('give_up_and_restart')], 'It is Rome.', 'finish:gave_up'),
        ([call('Finish', {'return_type': 'give_answer'}, '')], 'It is Rome.', 'ok'),
        ([finish(), call('ping_for_maps', '{}')], 'It is Rome.', 'finish:missing'),
        ([], 'It is Rome.', 'finish:missing'),
    ],
)
def test_endings(messages: list[dict[str, Any]], answer: str, reason: str, tmp_path: Path) -> None:
    score = score_run(loaded(tmp_path, r=run_of(*messages, answer=answer))[0])
    assert (score.reason, score.values['finish_rate']) == (reason, float(reason == 'ok'))


@pytest.mark.parametrize(
    ('made', 'codes'),
    [
        (call('city_for_maps', '{"name": "Rome", "zoom": "3"}'), ()),
        (call('city_for_maps', '{"name": "Rome", "zoom": "near"}'), ('args:wrong_type',)),
        (call('city_for_maps', '{"zoom": 3, "x": 1}'), ('args:missing', 'args:hallucinated_argument')),
        (call('city_for_maps', '[{"name": "Rome"}, {"name": 5}]'), ('args:wrong_type',)),
        (call('city_for_maps', 'Rome'), ('args:not_an_object',)),
        (call('invalid_hallucination_function_name', '{}'), ('name:unknown_api',)),
        (call('city_for_maps', '{"name": NaN}'), ('args:wrong_type',)),
    ],
)
def test_errors_of_calls(made: dict[str, Any], codes: tuple[str, ...], tmp_path: Path) -> None:
    (run,) = loaded(tmp_path, r=run_of(made, finish()))
    score = score_run(run)
    assert score.calls[0].codes == codes
    assert score.values['tool_name_error_rate'] == float(codes == ('name:unknown_api',))
    assert score.values['parameter_error_rate'] == float(any(code.startswith('args:') for code in codes))


def test_retrieved_tools_have_no_name_or_parameter_errors(tmp_path: Path) -> None:
    rows = {
        'r': run_of(call('Search', {'q': 'x'}, 'Unauthorized'), finish(), method='compression_retrieve'),
        's': run_of(call('city_for_maps', '{}'), call('nothing', '{}'), finish()),
        't': run_of(finish()),
    }
    scores = [score_run(run) for run in loaded(tmp_path, **rows)]
    metrics = ('finish_rate', 'tool_name_error_rate', 'parameter_error_rate', 'error_response_rate')
    assert [scores[0].values[metric] for metric in metrics] == [1.0, None, None, 1.0]
    total = RunsScorer().total(scores)
    assert [total.metrics[metric] for metric in metrics] == [100.0, 50.0, 50.0, pytest.approx(100 / 3)]
    assert RunsScorer().breakdown(scores) == {
        'calls': 3,
        'without_calls': 1,
        'unscored_calls': 1,
        'mean_calls': 1.0,
        'mean_steps': 2.0,
        'codes': {'args:missing': 1, 'name:unknown_api': 1},
        'error_responses': {'unauthorized': 1},
    }
    assert RunsScorer().total(scores[:1]).metrics['tool_name_error_rate'] is None


@pytest.mark.parametrize(
    ('response', 'kind'),
    [
        (GOOD, ''),
        ('', 'empty'),
        ('{"error": "Rate limit error...", "response": "You have exceeded"}', 'rate_limit'),
        ("{'message': 'You have exceeded the MONTHLY quota for Requests'}", 'rate_limit'),
        ('{"error": "Timeout error...HTTPConnectionPool(host=\'8.2\', port=8080): Read timed out.", "re', 'timeout'),
        ("{'success': False, 'statusCode': 401, 'statusMessage': 'only with paid plans'}", 'unauthorized'),
        ('{"error": "", "response": "{\'meta\': {\'code\': 4032, \'type\': \'No Content\'}}"}', ''),
        ('{"error": "No such function name: x_for_y", "response": ""}', 'unknown_function'),
        ('{"error": "Function executing from my_tools.a.api import b error...\\nb() got an unexp', 'wrong_arguments'),
        ('{"error": "request invalid, data error. status_code=500", "response": ""}', 'server'),
        ('{"error": "", "response": "{\'message\': \\"Endpoint \'/v2/x\' does not exist\\"}"}', 'not_found'),
        ("{'error': {'code': 400, 'errors': []}}", 'bad_request'),
        ('{"name": "' + 'a' * 400 + ' rate limit"}', ''),
    ],
)
def test_kinds_of_responses(response: str, kind: str) -> None:
    assert error_kind(response) == kind


def test_hostile_responses_and_arguments(tmp_path: Path) -> None:
    for text in HOSTILE.values():
        row = run_of(call('city_for_maps', text, text), call('Finish', text, ''))
        score = score_run(loaded(tmp_path, r=row)[0])
        json.dumps(score.to_detail(), allow_nan=False)
        assert score.reason == 'finish:missing'


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / 'runs.json.gz'
    whole = gzip.compress(b'{"a": 1}' * 1000)
    for content in (whole[:-20], whole[:30] + b'x' * 50, b'\x1f\x8bno gzip'):
        file.write_bytes(content)
        with pytest.raises(DataError, match='the file cannot be read'):
            list(read_runs(file))
    file.write_bytes(gzip.compress(b'[' * 200_000))
    with pytest.raises(DataError, match='not an object of runs'):
        list(read_runs(file))
    file.write_bytes(gzip.compress(b'\xff'))
    with pytest.raises(DataError, match='not UTF-8'):
        list(read_runs(file))
    monkeypatch.setattr(files, 'MAX_BYTES', 1_000_000)
    file.write_bytes(gzip.compress(b' ' * 100_000_000, 1))
    tracemalloc.start()
    with pytest.raises(DataError, match='more than 1000000 bytes'):
        list(read_runs(file))
    assert tracemalloc.get_traced_memory()[1] < 30 << 20  # it is not unzipped whole
    tracemalloc.stop()


def test_gpt_4_has_the_calls_and_responses_of_chatgpt() -> None:
    """As docs/explanation/toolbench.md says of these files: nothing but the final answers differs."""
    for data in ('G2_category', 'G3_instruction'):
        stored = [real(f'toolbench_trajectories/{m}_easytool__{data}.json.gz') for m in ('chatgpt', 'gpt-4')]
        models = [list(read_runs(file)) for file in stored]
        same = [one.calls == other.calls for one, other in zip(*models, strict=True)]
        assert all(same)
