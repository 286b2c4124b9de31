"""``tooleval prepare``, ``score`` and ``list`` of ToolBench, and ``tooleval easytool retrieval``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.toolbench.support import write_rows
from tests.cli.conftest import Command, read_lines
from tests.instructions.shared_data import DATA, DEMO

TOOLBENCH = DEMO / 'toolbench'


def test_retrieval_side_by_side(tooleval: Command, tmp_path: Path) -> None:
    arguments = ['easytool', 'retrieval', 'G2', '--data', TOOLBENCH / 'G2_category.json', '--encoder', 'offline']
    alone = tooleval(*arguments, '--json', '-')
    assert alone.code == 0, alone.err
    result = json.loads(alone.out)
    assert set(result['documentation']['metrics']) == {'ndcg@1', 'ndcg@5'}
    assert 'instructions' not in result and 'difference' not in result
    assert (result['samples'], result['documents'], result['encoder']) == (3, 11, 'offline:all-MiniLM-L6-v2')

    details = tmp_path / 'details.jsonl'
    made = ('--instructions', TOOLBENCH / 'instructions.json')
    both = tooleval(*arguments, *made, '--unit', 'tool', '--fields', 'full', '--details', details)
    assert both.code == 0, both.err
    for word in ('documentation', 'instructions', 'delta', '95% interval', 'Table 5 is not comparable'):
        assert word in both.out
    rows = read_lines(details)
    assert [row['searched'] for row in rows] == ['documentation'] * 3 + ['instructions'] * 3
    json_out = tmp_path / 'result.json'
    tooleval(*arguments, *made, '--json', json_out)
    result = json.loads(json_out.read_text(encoding='utf-8'))
    for metric, difference in result['difference'].items():
        gain = result['instructions']['metrics'][metric] - result['documentation']['metrics'][metric]
        assert difference['delta'] == pytest.approx(gain)
        assert difference['low'] <= difference['delta'] <= difference['high']
        assert difference['pairs'] == 3


def test_score_selection(tooleval: Command, tmp_path: Path) -> None:
    rows = [{'id': str(record), 'prediction': '{"tool": "Loaf Finder"}'} for record in range(101, 108)]
    file = write_rows(tmp_path / 'answers.jsonl', rows)
    data = TOOLBENCH / 'G1_instruction.json'
    more = ('--predictions', file, '--data', data, '--encoder', 'offline')
    outcome = tooleval('score', 'toolbench', 'selection_5', *more, '--json', '-')
    assert outcome.code == 0, outcome.err
    result = json.loads(outcome.out)
    assert result['metrics']['accuracy'] == pytest.approx(100 / 7)
    assert result['candidates_encoder'] == 'offline:all-MiniLM-L6-v2'
    few = tooleval('score', 'toolbench', 'selection_10', *more)
    assert few.code == 1 and '10 candidates need as many tools, but there are 7' in few.err
    write_rows(file, rows[1:])  # found before an encoder is asked for
    lacking = tooleval('score', 'toolbench', 'selection_5', file, '--data', data, '--encoder', 'none/such')
    assert lacking.code == 1 and "record '101': no answer is recorded for it" in lacking.err


def test_score_calls(tooleval: Command, tmp_path: Path) -> None:
    calls = [{'tool': 'Verse Box', 'api': 'Random Poem'}, {'tool': 'Verse Box', 'api': 'Sonnet'}]
    rows = [{'id': '301', 'prediction': json.dumps(calls)}, {'id': '302', 'prediction': ''}]
    file = write_rows(tmp_path / 'answers.jsonl', rows)
    details = tmp_path / 'details.jsonl'
    data = TOOLBENCH / 'G3_instruction.json'
    outcome = tooleval('score', 'toolbench', 'calls_g3', file, '--data', data, '--details', details)
    assert outcome.code == 0, outcome.err
    assert 'tool_name_error_rate' in outcome.out and '50.00' in outcome.out
    assert 'NOTE 2 samples of 61' in outcome.out
    assert [len(row['steps']) for row in read_lines(details)] == [2, 0]


def test_score_success(tooleval: Command, tmp_path: Path) -> None:
    stored = TOOLBENCH / 'trajectories.jsonl'
    rows = [{'id': name, 'success': name != '202'} for name in ('201', '202', '301')]
    judgements = write_rows(tmp_path / 'judgements.jsonl', rows)
    options = ('--predictions', stored, '--judgements', judgements, '--json', '-')
    outcome = tooleval('score', 'toolbench', 'success', *options)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)['metrics'] == {'success_rate': 50.0}
    assert json.loads(outcome.out)['reasons'] == {'ok': 2, 'answer:empty': 1, 'judge:no': 1}


STORED = ('score', 'toolbench', '--predictions', TOOLBENCH / 'judge_success.jsonl')
G2 = ('--data', TOOLBENCH / 'G2_category.json')
RETRIEVAL = ('easytool', 'retrieval', *G2, '--encoder', 'offline')
OTHER = DEMO / 'restbench' / 'tmdb_tool.json'


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ((*STORED, 'success'), 'add --judgements FILE'),
        ((*STORED, 'calls_g2'), 'add --data FILE'),
        ((*STORED, 'calls_g9'), 'ToolBench has no subset'),
        ((*STORED, 'calls_g2', *G2, '--judgements', 'x'), 'leave out --judgements'),
        ((*STORED, 'calls_g2', *G2), 'belong to no record'),
        ((*RETRIEVAL, 'G4'), 'ToolBench has no file'),
        ((*RETRIEVAL, 'G2', '--unit', 'word'), 'unit is one of api, tool'),
        ((*RETRIEVAL, 'G2', '--instructions', OTHER), '6 tools or APIs have no instruction: Rink'),
        ((*RETRIEVAL, 'G2', '--json', 'nowhere/result.json'), 'cannot write nowhere'),
    ],
)
def test_what_is_wrong_is_said(tooleval: Command, words: tuple[Any, ...], message: str) -> None:
    outcome = tooleval(*words)
    assert outcome.code == 1 and message in outcome.err and outcome.err.count('\n') <= 2


def test_prepare_and_list(tooleval: Command, tmp_path: Path) -> None:
    if not (DATA / 'toolbench' / 'G3_instruction.json').is_file():
        pytest.skip('real data (toolbench) is not in ../shared/data beside the repository')
    outcome = tooleval('prepare', 'toolbench', '--from', DATA / 'toolbench')
    assert outcome.code == 0, outcome.out
    assert outcome.out.count('copied') == 3
    assert '124 records, 234 tools, 58 errata (relevant_twice 2, query_twice 1' in outcome.out
    target = tmp_path / 'data-cache' / 'data' / 'toolbench'
    names = ['G1_instruction.json', 'G2_category.json', 'G3_instruction.json']
    assert sorted(file.name for file in target.iterdir()) == names
    assert tooleval('prepare', 'toolbench', '--from', DATA / 'toolbench').out.count('kept') == 3
    (target / 'G3_instruction.json').write_text('[]', encoding='utf-8')
    (target / 'G1_instruction.json').unlink()
    listed = tooleval('list', 'toolbench').out
    rows = {name: next(line for line in listed.splitlines() if line.startswith(name)) for name in ('G1', 'G2', 'G3')}
    assert 'damaged' in rows['G3'] and rows['G2'].count('124 records') == 2 and rows['G1'].split()[-1] == '-'
    assert f'DAMAGED {target / "G3_instruction.json"}' in listed
