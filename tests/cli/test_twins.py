"""A model that remembers published answers: ``tooleval run --twin``, its table, the report, and ``gate --twin``."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from tests.cli.conftest import DEMO, Command
from tests.cli.test_run import run
from tests.models.api.scripted_server import KEY, Request, Script, serving

SUBSET = 'instruct'
VALUES = re.compile(r' = (.+)$|＝(.+)$', re.MULTILINE)


def key_of(messages: list[dict[str, Any]]) -> str:
    """The values of the call to make, and the format: neither has a name."""
    text = messages[-1]['content']
    return f'{sorted(map(str, VALUES.findall(text)))} {"JSON" in messages[0]["content"]}'


class Remembering(Script):
    """Answers with the published gold, whatever the tools are called."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, str] = {}
        for file in DEMO.glob(f'*/{SUBSET}_v2*.json'):
            for sample in load_samples(file, SUBSET):
                messages = [{'role': one.role, 'content': one.content} for one in sample.messages]
                self.known[key_of(messages)] = gold_answer(sample.record)

    def check(self, request: Request) -> None:
        assert request['messages']

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': self.known.get(key_of(list(request['messages'])), 'A')}


@dataclass
class Swept:
    """The run of the model."""

    folder: Path
    done: CompletedProcess[str]

    @property
    def run(self) -> Path:
        (config,) = self.folder.glob('out/*/config.py')
        return config.parent

    def table(self) -> dict[tuple[str, str], dict[str, str]]:
        (file,) = self.run.glob('summary/summary_*_twin.csv')
        with file.open(encoding='utf-8') as stream:
            return {(row['dataset'], row['metric']): row for row in csv.DictReader(stream)}


@pytest.fixture(scope='module')
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    folder = tmp_path_factory.mktemp('twins')
    with serving(Remembering()) as url:
        model = ('--model', 'm', '--api-base', url)
        names = (f'teval-demo/{SUBSET}', *model, '--twin', 'names', 'order', '--seeds', '2', '-w', 'out')
        yield Swept(folder, run(folder, *names, OPENAI_API_KEY=KEY))


NAME = f'tooleval-teval-{SUBSET}_v2'
METRIC = 'json_args_em_metric'


def test_memory_falls_with_new_names_and_not_with_another_order(swept: Swept) -> None:
    assert swept.done.returncode == 0, swept.done.stdout[-3000:] + swept.done.stderr[-3000:]
    table = swept.table()
    names, order = (table[f'{NAME}-twin-{kind}', METRIC] for kind in ('names', 'order'))
    assert (names['original'], names['twin'], names['delta']) == ('100.00', '0.00', '-100.00')
    assert (names['kept'], order['kept']) == ('0.00', '100.00')
    assert float(names['high']) < 0 and float(names['kept_high']) < 100
    assert (order['original'], order['twin']) == ('100.00', '100.00')
    assert float(order['low']) < 0 < float(order['high']) and float(order['kept_low']) < 100 < float(order['kept_high'])
    assert '_twin.txt' in swept.done.stdout


def test_seeds_show_their_spread_and_the_report_has_a_page(swept: Swept) -> None:
    (file,) = swept.run.glob('summary/summary_*_twin.txt')
    _, _, spread = file.read_text(encoding='utf-8').partition('Spread of the deltas over seeds:')
    row = next(line.split() for line in spread.splitlines() if f'{NAME}-twin-names ' in line and METRIC in line)
    assert row[3:] == ['2', '-100.00', '-100.00', '-100.00', '0.00']
    page = (swept.run / 'report' / 'twin.html').read_text(encoding='utf-8')
    for words in ('what changed records cost', 'Score and share kept', 'instruct v2, twin names', 'over seeds'):
        assert words in page
    result = json.loads((swept.run / 'results' / 'm' / f'{NAME}-twin-names.json').read_text(encoding='utf-8'))
    about = result['provenance']
    assert (about['twin'], about['twin_seed'], about['left_out']) == ('names', 0, '')
    assert 'twins of the published records (names)' in swept.done.stdout


def test_the_gate_fails_for_names_and_holds_for_the_order(swept: Swept, tooleval: Command) -> None:
    for options, code, says in (
        (('--twin', 'names', '--max-drop', 3), 1, 'dropped'),
        (('--twin', 'order', '--max-drop', 3), 0, 'held'),
        (('--twin', 'nmaes'), 2, "there are no twins 'nmaes'; there are order, names"),
        (('--twin', 'values'), 2, 'start it with `tooleval run ... --twin values`'),
        (('--twin', 'order', '--baseline', swept.run), 2, 'leave out --baseline'),
        (('--baseline', swept.run, '--datasets', '*-twin-*'), 0, f'{NAME}-twin-order'),
    ):
        done = tooleval('gate', swept.run, *options)
        assert done.code == code and says in done.out + done.err and 'may not compare' not in done.out, options
    compared = tooleval('compare', swept.run, 'm', 'm', '--datasets', '*-twin-names')
    assert compared.code == 0 and f'{NAME}-twin-names' in compared.out


def test_exports_never_give_a_twin_for_its_original(swept: Swept, tooleval: Command) -> None:
    named = ('--organization', 'us', '--hub-dataset', 'tooleval-teval-*=org/teval#instruct')
    published = tooleval('export', swept.run, '--format', 'hugging-face', '-o', swept.folder / 'hf', *named)
    assert published.code == 0, published.err
    assert 'its records are twins, which are not those on the hub' in published.out + published.err
    files = [file.name for file in (swept.folder / 'hf').rglob('*.yaml')]
    assert f'{NAME}.yaml' in files and not [name for name in files if '-twin-' in name]
    described = tooleval('export', swept.run, '--format', 'every-eval-ever', '-o', swept.folder / 'ever', *named)
    assert described.code == 0, described.err
    rows = [json.loads(file.read_text(encoding='utf-8')) for file in (swept.folder / 'ever').rglob('*.json')]
    sources = {
        row['evaluation_results'][0]['evaluation_name']: row['evaluation_results'][0]['source_data'] for row in rows
    }
    assert sources[NAME]['hf_repo'] == 'org/teval'
    twin = sources[f'{NAME}-twin-names-s1']
    assert 'hf_repo' not in twin and twin['additional_details']['twin_seed'] == '1'


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('teval-demo/review_str', '--twin', 'names'), "these data sets have no twins of the kind 'names'"),
        (('teval-demo/review_str', '--twin', 'sideways'), "there are no twins 'sideways'; there are order, names"),
        (('teval-demo/review_str', '--seeds', '2'), '--seeds needs --twin'),
    ],
)
def test_what_has_no_twins_is_refused(tooleval: Command, arguments: tuple[str, ...], message: str) -> None:
    outcome = tooleval('run', *arguments, '--model', 'm', '--write-config', 'mine.py')
    assert outcome.code == 1 and message in outcome.err
