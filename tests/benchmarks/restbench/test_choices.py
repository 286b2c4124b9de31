"""Paths answered by number: EasyTool's prompt, and the reading of answers as in its script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import (
    Record,
    gold_choices,
    load_records,
    open_toolbox,
    parse_payload,
)
from opencompass_tooleval.benchmarks.restbench.prompts import PUBLISHED, PUBLISHED_SYSTEM, published_prompt
from opencompass_tooleval.benchmarks.restbench.reading import read_choices
from opencompass_tooleval.benchmarks.restbench.scoring import score_answer
from opencompass_tooleval.benchmarks.restbench.task import RestBenchDialogues
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.literal_reply import TRIES
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.restbench.support import DEMO, SHARED, TOOLS
from tests.benchmarks.support import digest
from tests.instructions.shared_data import real
from tests.run_alone import run_alone

NUMBERS = dict(enumerate(TOOLS, start=1))
DOCUMENT, INSTRUCTIONS = DEMO / 'specs' / 'tmdb_oas.json', DEMO / 'tmdb_tool.json'


def chosen(*ids: Any) -> str:
    return repr([{'Task': 'a task', 'ID': number} for number in ids])


def record(*path: str) -> Record:
    return Record('r', 'a request', path, path, 'official', TOOLS, tuple(NUMBERS))


@pytest.mark.parametrize(
    ('answer', 'path', 'reason', 'unknown'),
    [
        (chosen(1, 4), [1, 4], '', []),
        ('[{"Task": "x", "ID": 1}, {"Task": "y", "ID": -1}]', [1], '', []),
        (chosen([1, 2], 3), [1, 2, 3], '', []),
        ('  [{"ID": 2}]\n\nThese are the tools [{"ID": 1}].', [2], '', []),
        ('<think>[{"ID": 1}]\n\n</think>[{"ID": 2}]', [2], '', []),
        (chosen(), [], '', []),
        *((text, [], '', []) for text in ('""', "''", '{}', '()')),  # the script goes over no items
        (chosen(1, 99), [1], '', ['99']),  # skipped
        (chosen('1'), [], 'id:quoted', []),
        (chosen([1, '2']), [], 'id:quoted', []),
        (chosen(99, [1, 98]), [], 'id:unknown_in_list', ['99', '98']),
        (chosen('one'), [], 'id:not_a_number', []),
        ('[{"ID": 1e999}]', [], 'id:not_a_number', []),
        ('[{"Task": "x"}]', [], 'id:missing', []),
        ('{"Task": "x", "ID": 1}', [], 'parse:not_a_list', []),
        (chosen(*[1] * 101), [], 'parse:too_many_calls', []),
        (chosen([1] * 101), [], 'parse:too_many_calls', []),
        ('```json\n[{"ID": 1}]\n```', [], 'parse:not_json', []),
        ('', [], 'answer:empty', []),
        (['GET /search/movie'], [], 'parse:not_text', []),
        (Answer('', 'infra:timeout'), [], 'infra:timeout', []),
    ],
)
def test_reading(answer: Any, path: list[int], reason: str, unknown: list[str]) -> None:
    read = read_choices(answer, NUMBERS)
    assert (list(read.path), read.reason, list(read.unknown)) == ([NUMBERS[n] for n in path], reason, unknown)


def test_scores() -> None:
    gold = record('GET /search/movie', 'GET /movie/{movie_id}')
    scores = [
        score_answer(gold, answer)
        for answer in (chosen(1, 2, 4), chosen(4, 1), chosen(1, 99, 4), chosen(1, '4'), 'I cannot', chosen(1))
    ]
    assert [score.values['correct_path_rate'] for score in scores] == [1, 0, 1, 0, 0, 0]
    assert [score.values['tool_name_error_rate'] for score in scores] == [0, 0, 1, 0, 0, 0]
    reasons = ['ok', 'calls:order', 'name:unknown_tool', 'id:quoted', 'answer:refused', 'calls:missing']
    assert [score.reason for score in scores] == reasons
    assert scores[2].to_detail()['unknown_tools'] == ['99'] and scores[2].rules == ('skipped',)


def test_hostile() -> None:
    for text in HOSTILE.values():
        read = read_choices(text, NUMBERS)
        assert read.reason and not read.path
        json.dumps(score_answer(record(TOOLS[0]), text).to_detail(), allow_nan=False).encode('utf-8')


def test_asks_again_until_it_can_be_read() -> None:
    row = {'messages': json.dumps([{'role': 'user', 'content': 'x'}]), 'gold_answer': chosen(1)}
    assert run_alone(RestBenchDialogues()(row), ['Sure!', '```\n[]\n```', chosen('1')]) == Answer(chosen('1'))
    assert run_alone(RestBenchDialogues()(row), ['no'] * TRIES) == Answer('no')
    assert run_alone(RestBenchDialogues(tries=1)(row), ['no']) == Answer('no')
    with pytest.raises(ValueError, match='tries must be at least 1'):
        next(RestBenchDialogues(tries=0)(row))


@pytest.mark.official('RestBench', 'the prompt that chooses tools')
def test_prompt_is_the_published_one() -> None:
    """The digest is that of ``restbench.task_decompose`` in ``expected/easytool/prompts.json``, both its messages."""
    filled = PUBLISHED.format(tools='{Tool_dic}', query='{question}')
    text = f'{PUBLISHED_SYSTEM}\n{filled}'
    assert digest(text) == '2e90b4c772ec4852'
    expected = SHARED / 'expected' / 'easytool' / 'prompts.json'
    if expected.exists():
        system, human = json.loads(expected.read_text(encoding='utf-8'))['restbench']['task_decompose']
        assert system == PUBLISHED_SYSTEM
        assert filled == human.replace('{{', '{').replace('}}', '}')


def test_prompt_of_the_published_tools() -> None:
    file = real('easytool/tmdb_tool.json')
    tools = open_toolbox(real('restbench/specs/tmdb_oas.json'), file, 'easytool')
    published = json.loads(file.read_text(encoding='utf-8'))
    text = published_prompt(tools.entries, 'Who {is} it?')[1].content
    assert f'following tools:\n{published}You need' in text
    assert "This is the user's question: Who {is} it?\nOutput:" in text
    assert dict(zip(tools.inventory.names, tools.ids, strict=True)) == {t['tool_usage']: t['ID'] for t in published}


def test_oracle_answers_with_numbers() -> None:
    tools = open_toolbox(DOCUMENT, INSTRUCTIONS, 'easytool')
    records, _ = load_records(DEMO / 'tmdb.json', 'tmdb', tools.inventory, ids=tools.ids)
    for one in records:
        again = parse_payload(one.to_payload())
        assert again == one
        assert score_answer(again, gold_choices(again)).reason == 'ok'


def test_faults_of_instructions_and_options(tmp_path: Path) -> None:
    entries = json.loads(INSTRUCTIONS.read_text(encoding='utf-8'))
    file = tmp_path / 'tools.json'
    for number, said in ((1, "two tools have the same 'ID'"), ('two', "'ID' must be a number from 0")):
        entries[1]['ID'] = number
        file.write_text(json.dumps(entries), encoding='utf-8')
        with pytest.raises(DataError, match=said):
            open_toolbox(DOCUMENT, file, 'easytool')
    unnumbered = [{key: value for key, value in entry.items() if key != 'ID'} for entry in entries]
    file.write_text(json.dumps(unnumbered), encoding='utf-8')
    assert sorted(open_toolbox(DOCUMENT, file, 'easytool').ids) == list(range(1, len(entries) + 1))
    with pytest.raises(ValueError, match="methods names, easytool, function_calling, not 'paths'"):
        open_toolbox(DOCUMENT, INSTRUCTIONS, 'paths')
    with pytest.raises(ValueError, match="method 'easytool' needs instructions"):
        open_toolbox(DOCUMENT, None, 'easytool')
