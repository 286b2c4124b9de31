"""What servers lost: tooleval gate --serving, tooleval score, export and import."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observed import Observed
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.extras.attribution.causes import (
    ERROR,
    LIMIT,
    NONE,
    PARSER,
    REASONING,
    TEMPLATE,
    UNKNOWN,
)
from opencompass_tooleval.extras.attribution.points import read_faults
from opencompass_tooleval.extras.attribution.reading import attribution_of_row
from tests.cli.conftest import Command, demo_file, gold_answers, read_lines
from tests.cli.test_compare import write
from tests.cli.test_gate import DATASET, scored
from tests.extras.attribution.script import stored_row
from tests.extras.attribution.shapes import ROME, TOOLS, hermes

LOSS = {'served': 80.0, 'written': 83.5, 'lost': 3.5, 'low': 2.1, 'high': 4.9}
Place = Callable[..., Path]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Makes a run, or adds a result to it."""

    def make(causes: dict[str, int] | None, loss: dict[str, Any] | None = None, **others: Any) -> Path:
        serving = {'causes': causes, 'points': {'accuracy': loss} if loss else {}}
        content = {**scored(80), **({'serving': serving} if causes else {})}
        write(tmp_path / 'run', 'm', others.get('dataset', DATASET), content)
        return tmp_path / 'run'

    return make


@pytest.mark.parametrize(
    ('causes', 'loss', 'options', 'code', 'says'),
    [
        ({NONE: 100}, None, (), 0, 'servers: held: no result of 1 lost more than --max-drop points'),
        ({NONE: 88, PARSER: 12}, LOSS, (), 1, "3.5 points [2.1, 4.9] by the server's parser"),
        ({NONE: 88, PARSER: 12}, LOSS, ('--max-drop', 3.5), 0, 'servers: held'),
        ({NONE: 88, PARSER: 12}, LOSS, ('--max-drop', 3.4), 1, 'servers: lost'),
        ({NONE: 88, PARSER: 12}, LOSS, ('--metric', 'other*'), 2, 'm: not judged, since no score matches --metric'),
        ({NONE: 99, REASONING: 1}, {**LOSS, 'lost': 0.0, 'low': -1, 'high': 1}, (), 0, 'servers: held'),
        ({NONE: 97, TEMPLATE: 3}, None, ('--max-drop', 50), 1, '3 of 100 prompts reached the model without its tools'),
        ({NONE: 97, ERROR: 3}, None, (), 1, '3 of 100 answers became an error of the server'),
        ({NONE: 97, LIMIT: 3}, None, (), 0, 'servers: held'),
        # A dialogue cannot be scored again: its lost calls changed all that followed.
        ({NONE: 97, PARSER: 3}, None, (), 1, "3 of 100 answers changed by the server's parser: up to 3.0 points"),
        ({NONE: 97, PARSER: 3}, None, ('--max-drop', 3), 0, 'servers: held'),
        ({NONE: 60, UNKNOWN: 40}, None, (), 0, f'NOTE {DATASET}, m: what the model wrote is unknown'),
        ({UNKNOWN: 100}, None, (), 2, 'servers: nothing to judge'),
        (None, None, (), 2, 'servers: nothing to judge'),
    ],
)
def test_a_gate_on_what_servers_lost(
    tooleval: Command, place: Place, causes: Any, loss: Any, options: tuple[Any, ...], code: int, says: str
) -> None:
    done = tooleval('gate', place(causes, loss), '--serving', *options)
    assert done.code == code, done
    assert says in done.out and done.out.splitlines()[0].startswith('servers: ')


def test_one_result_without_attribution_is_a_note(tooleval: Command, place: Place) -> None:
    run = place({NONE: 100})
    place(None, dataset='other')
    done = tooleval('gate', run, '--serving')
    assert done.code == 0 and 'NOTE other, m: not judged, since it is unknown what the model wrote' in done.out


@pytest.mark.parametrize(('baseline', 'loss', 'code'), [(80, None, 0), (80, LOSS, 1), (99, None, 1)])
def test_together_with_a_baseline_either_fails(
    tooleval: Command, place: Place, tmp_path: Path, baseline: int, loss: Any, code: int
) -> None:
    write(tmp_path / 'old', 'm', DATASET, scored(baseline))
    run = place({NONE: 88, PARSER: 12} if loss else {NONE: 100}, loss)
    outputs = {name: tmp_path / f'gate.{name}' for name in ('json', 'markdown', 'junit')}
    options = [part for name, file in outputs.items() for part in (f'--{name}', file)]
    done = tooleval('gate', run, '--baseline', tmp_path / 'old', '--serving', *options)
    assert done.code == code
    told = json.loads(outputs['json'].read_text())
    assert told['verdicts'][0]['outcome'] == ('dropped' if baseline == 99 else 'held')
    assert told['serving']['verdicts'][0]['outcome'] == ('lost' if loss else 'held')
    suites = ElementTree.parse(outputs['junit']).getroot()
    assert [suite.get('name') for suite in suites] == ['tooleval gate', 'tooleval gate --serving']
    assert [suite.get('failures') for suite in suites] == [str(int(baseline == 99)), str(int(bool(loss)))]
    markdown = outputs['markdown'].read_text()
    assert markdown.count('**tooleval gate: ') == markdown.count('**tooleval gate --serving: ') == 1
    assert ('| 80.00 | 83.50 | 3.5 points &#91;2.1, 4.9&#93;' in markdown) is bool(loss)


def test_a_result_from_anybody_breaks_nothing() -> None:
    hostile: list[Any] = [
        {'serving': 3},
        {'serving': {'causes': {'<b>': 3, PARSER: 'x', NONE: -1}}},
        {'serving': {'causes': {PARSER: 1 << 70}, 'points': []}},
    ]
    assert [read_faults(one) for one in hostile] == [None] * 3
    bounds = {'low': None, 'high': float('nan')}
    odd = {'accuracy': {'served': 1, 'written': 'x', 'lost': 3}, 'b': [], 'c': {**LOSS, **bounds}}
    names: Any = {'x': 1, "the names of all calls end with 'x'": True}
    read = read_faults({'serving': {'causes': {PARSER: 2}, 'points': odd, 'names': names}})
    assert read and read.names == {} and list(read.points) == ['c'] and str(read.points['c']) == '3.5 points'


def test_recorded_answers_that_say_what_the_model_wrote(tooleval: Command, tmp_path: Path) -> None:
    gold = gold_answers('instruct_v2')
    rows = []
    for name, text in gold.items():
        serving = {'cause': REASONING, 'written': {'text': f'<think>a</think>{text}'}} if rows else {'cause': NONE}
        rows.append({'id': name, 'prediction': '' if rows else text, 'serving': serving})
    file, out, lost = tmp_path / 'instruct_v2.jsonl', tmp_path / 'o.json', len(gold) - 1
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    done = tooleval('score', 'teval', 'instruct', file, '--data', demo_file('instruct_v2'), '--json', out)
    assert done.code == 0, done.err
    told = json.loads(out.read_text())
    assert told['serving']['causes'] == {NONE: 1, REASONING: lost}
    points = told['serving']['points']['json_args_em_metric']
    assert points['written'] == 100.0 and points['served'] == told['metrics']['json_args_em_metric'] < 100
    assert f"instruct were lost by the server's parsing of thoughts ({lost} of {len(gold)} answers)" in done.out


def test_attributions_and_records_are_exported_and_imported(tooleval: Command, place: Place, tmp_path: Path) -> None:
    """The columns of an export have no tools, without which a lost call is no fault."""
    run = place({NONE: 99, PARSER: 1}, LOSS)
    record = Observed(f'{hermes(ROME)}<|im_end|>', 'ids', 'hermes')
    observed = stored_row(Answer('', observed=(record,)), ToolSet(TOOLS))
    before = attribution_of_row(observed)
    assert before is not None and before.cause == PARSER and before.written is not None
    old = {'prediction': 'x', 'record_id': 'r1', 'infra': None, 'serving': {'cause': PARSER, 'raw': 'r'}}
    file = run / 'predictions' / 'm' / f'{DATASET}.json'
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({'0': observed, '1': old}))
    assert tooleval('export', run, '-o', tmp_path / 'files').code == 0
    (result,) = read_lines(tmp_path / 'files' / 'results.jsonl')
    assert result['serving']['points'] == {'accuracy': LOSS}
    assert read_lines(tmp_path / 'files' / 'predictions.jsonl')[1]['serving'] == old['serving']
    assert tooleval('import', tmp_path / 'files', tmp_path / 'new').code == 0
    (imported,) = tmp_path.glob('new/*/predictions/m/*.json')
    read = json.loads(imported.read_text())
    assert 'tools' not in read['0'] and attribution_of_row(read['0']) == before
    assert read['1']['serving'] == old['serving']
