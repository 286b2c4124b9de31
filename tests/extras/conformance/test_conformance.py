"""Conformance: the shipped requests, their scoring, and a served model that is compared with a reference run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.one_call import call_fault
from opencompass_tooleval.core.calls.tool_calls import ToolCall, make_call, read_answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.conformance import files
from opencompass_tooleval.extras.conformance.adapter import ToolEvalConformanceDataset
from opencompass_tooleval.extras.conformance.prompts import build_messages
from opencompass_tooleval.extras.conformance.records import Record, gold_answer, load_records, parse_payload
from opencompass_tooleval.extras.conformance.scoring import same_value, score_answer
from opencompass_tooleval.extras.conformance.subsets import SUBSETS
from tests.cli.conftest import Command, tooleval
from tests.conftest import load_tool, start_server
from tests.forked import run_opencompass

__all__ = ['tooleval']  # the fixture

FOLDER = Path(files.__file__).parent
RECORDS = {record.id: record for record in load_records(FOLDER)}
KINDS = SUBSETS[0]['metrics'][1:]


def test_the_shipped_files_are_those_that_the_tool_writes(tmp_path: Path) -> None:
    load_tool('make_conformance_requests').main(tmp_path)
    for name in ('requests.json', 'tools.json'):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_there_are_as_many_requests_of_each_kind_and_none_twice() -> None:
    assert Counter(record.kind for record in RECORDS.values()) == dict.fromkeys(KINDS, 25)
    texts = {str(build_messages(record)) + str(record.tools) for record in RECORDS.values()}
    assert len(texts) == len(RECORDS) == 300
    assert {record.kind for record in RECORDS.values() if record.choice} == {'required_call'}
    assert all(record.tools for record in RECORDS.values() if record.calls)


@pytest.mark.parametrize('kind', KINDS)
def test_gold_answers_are_right_and_valid(kind: str) -> None:
    for record in (one for one in RECORDS.values() if one.kind == kind):
        assert parse_payload(record.payload) == record
        schemas = {tool.name: tool.parameters for tool in record.tools}
        assert not any(call_fault(ToolCall(call.name, call.arguments), schemas) for call in record.calls)
        content, calls = read_answer(gold_answer(record))
        score = score_answer(record, Answer(content, calls=calls[::-1]))
        assert (score.reason, score.values['right_rate'], score.values[kind]) == ('ok', 1.0, 1.0), record.id
        assert [name for name, value in score.values.items() if value is not None] == ['right_rate', kind]
        assert score_answer(record, Answer('', 'infra:timeout')).values[kind] == 0.0


def test_kinds_may_be_left_out() -> None:
    rows = ToolEvalConformanceDataset.load('tooleval:extras/conformance', 'requests', ['long_context', 'chinese'])
    assert {row['record_id'].partition('-')[0] for row in rows} == {*KINDS} - {'long_context', 'chinese'}
    with pytest.raises(ValueError, match="no kind 'long', only plain, thoughts"):
        ToolEvalConformanceDataset.load('tooleval:extras/conformance', 'requests', ['long'])


def answered(record: Record, *calls: ToolCall, text: str = '') -> str:
    return score_answer(record, Answer(text, calls=calls)).reason


def gold_calls(record: Record) -> list[ToolCall]:
    return list(read_answer(gold_answer(record))[1])


@pytest.mark.parametrize(
    ('name', 'text', 'reason'),
    [
        ('plain-01', 'It is Paris.\n**Result: Paris**', 'ok'),
        ('plain-01', 'Result: Lyon', 'goal:result'),
        ('plain-01', '<think>Paris', 'answer:truncated_reasoning'),
        ('plain-01', '', 'answer:empty'),
        ('plain-01', 'I am sorry, but I cannot help with that.', 'answer:refused'),
        ('chinese-04', '结果：44', 'ok'),
        ('one_call-01', 'I would call get_weather.', 'call:none'),
        ('one_call-01', "I'm sorry, I cannot help with that.", 'answer:refused'),
    ],
)
def test_texts(name: str, text: str, reason: str) -> None:
    assert answered(RECORDS[name], text=text) == reason


def test_calls() -> None:
    record = RECORDS['one_call-01']
    (gold,) = gold_calls(record)
    city = gold.arguments['city']
    money = ToolCall('convert_currency', {'amount': 1, 'source': 'USD', 'target': 'EUR'})
    cases: list[tuple[Sequence[ToolCall], str]] = [
        ([replace(gold, arguments={**gold.arguments, 'city': f' {city.upper()} '})], 'ok'),
        ([replace(gold, arguments={**gold.arguments, 'city': 'Lyon'})], 'args:wrong'),
        ([replace(gold, arguments={'city': city})], 'call:schema'),
        ([make_call('get_weather', '{"city": "Par')], 'args:not_an_object'),
        ([replace(gold, name='get_wether')], 'name:unknown_tool'),
        ([money], 'name:wrong'),
        ([gold, gold], 'call:several'),
    ]
    assert [answered(record, *calls) for calls, _ in cases] == [reason for _, reason in cases]
    several = RECORDS['several_calls-03']
    calls = gold_calls(several)
    assert answered(several, *calls[1:]) == 'calls:missing' and answered(several, *calls, calls[0]) == 'calls:extra'
    twice = RECORDS['several_calls-02']
    first, *_ = calls = gold_calls(twice)
    assert answered(twice, *[first] * len(calls)) == 'args:wrong', 'each gold call counts once'
    needless = RECORDS['no_tool_needed-02']
    assert answered(needless, ToolCall('get_stock', {'article': '1'}), text='Result: 28') == 'goal:needless_call'


@pytest.mark.parametrize(
    ('value', 'gold', 'same'),
    [
        (3, 3.0, True), (3.0, 3, True), (0.1 + 0.2, 0.3, True), (1234567890123, 1234567890124, False),
        ('3', 3, False), (True, 1, False), (1, True, False), (None, None, True), ('null', None, False),
        ('007', '7', False), ('1.0', '1', False), ('Zoe  Elm', 'zoe elm', True), ('{"a": 1}', '{"A": 1}', False),
        ('a\n', 'a', False), ('a\nb ', 'a\nb', False), ([1, 2], [2, 1], False), ({'a': [None]}, {'a': [None]}, True),
        ({'a': 1}, {'a': 1, 'b': 2}, False),
    ],
)  # fmt: skip
def test_arguments_are_compared_by_value_and_type(value: Any, gold: Any, same: bool) -> None:
    assert same_value(value, gold) is same


def test_damaged_files_are_named(tmp_path: Path) -> None:
    damaged = {'requests.json': '[{"id": 1}]', 'tools.json': '[3]'}
    for name, content in damaged.items():
        for file in ('requests.json', 'tools.json'):
            (tmp_path / file).write_bytes((FOLDER / file).read_bytes())
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=f'{name}.*damaged'):
            load_records(tmp_path)


CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.conformance.tooleval_conformance_gen import tooleval_conformance_datasets
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = tooleval_conformance_datasets
models = [
    dict(
        type=ToolEvalOpenAI, abbr=f'{name}', path='tiny', key='none', openai_api_base=address, temperature=0,
        max_out_len=2048, run_cfg=dict(num_gpus=0), stream=name == 'streamed',
    )
    for name, address in ADDRESSES.items()
]
"""


@pytest.mark.long
def test_a_server_that_loses_calls_or_texts_is_not_equivalent(tooleval: Command, tmp_path: Path) -> None:
    """``right`` is asked three times, once for streams: the same; of the others the gate finds what they lose."""
    script = Path(__file__).with_name('server_script.py')
    scripts = dict.fromkeys(('reference', 'right', 'streamed'), 'right')
    scripts |= {'calls': 'loses_calls', 'system': 'drops_system'}
    servers = {name: start_server('--script', f'{script}:{function}') for name, function in scripts.items()}
    try:
        addresses = {name: server.url for name, server in servers.items()}
        (tmp_path / 'eval.py').write_text(CONFIG.replace('ADDRESSES', repr(addresses)), encoding='utf-8')
        done = run_opencompass('eval.py', '-w', 'out', cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        is_stream = {name: {row['stream'] for row in server.stats()['asked']} for name, server in servers.items()}
        assert is_stream == {name: {name == 'streamed'} for name in servers}
    finally:
        for server in servers.values():
            server.stop()

    def gate(name: str, *more: object) -> tuple[int, str]:
        options = ('--model', name, '--baseline-model', 'reference', '--equivalent', 3, *more)
        done = tooleval('gate', tmp_path / 'out', '--baseline', tmp_path / 'out', *options)
        return done.code, done.out.splitlines()[0]

    for name in ('right', 'streamed'):
        assert gate(name) == (0, 'equivalent: 1 equivalent of 1 scores, with a margin of 3 points')
    for words in (['calls'], ['system'], ['calls', '--metric', 'several_calls']):
        code, summary = gate(*words)
        assert code == 1 and summary.startswith('different: ')
