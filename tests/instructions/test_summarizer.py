"""The summarizer of instructions/adapter, on OpenCompass's own DefaultSummarizer and files as our tasks write them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mmengine.config import ConfigDict
from typer.testing import CliRunner

from opencompass_tooleval.benchmarks.variant_kinds import EASYTOOL
from opencompass_tooleval.catalogue.metrics import words_of_metric
from opencompass_tooleval.cli.main import app
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import REPORTED, summary_of
from opencompass_tooleval.instructions.adapter import ToolEvalEasyToolSummarizer
from opencompass_tooleval.report.build import write_report
from opencompass_tooleval.report.variant_figures import comparisons, variant_table
from opencompass_tooleval.results.table import read
from opencompass_tooleval.work_dir.prompt_tokens import choose_counter

TIME = '20250101_000000'


class Run:
    """A work folder with results and predictions, and the summarizer over it."""

    def __init__(self, folder: Path, *datasets: str):
        self.folder, self.datasets = folder, datasets or ('d', 'd-easytool')
        self.models: tuple[str, ...] = ('m',)
        self.extra = {'instructions': 'i.json'}

    def write(self, dataset: str, values: Sequence[float], prompt: str = '', model: str = 'm', **changes: Any) -> Run:
        result = {
            'name': 100 * sum(values) / len(values),
            'standard_errors': {'name': 1.0},
            'reasons': {'ok': len(values)},
            'samples': {'all': len(values), 'infra': 0},
            'details': [{'id': f'r{i}', 'values': {'name': value}} for i, value in enumerate(values)],
            **changes,
        }
        rows = {str(i): {'origin_prompt': f'{prompt} {i}'} for i in range(len(values))}
        for stage, content in (('results', result), *((('predictions', rows),) if prompt else ())):
            file = self.folder / stage / model / f'{dataset}.json'
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content), encoding='utf-8')
        return self

    def summarize(self, output_path: str | None = None, **options: Any) -> None:
        row = {
            'type': 'x',
            'path': 'x',
            'reader_cfg': {'input_columns': ['messages'], 'output_column': 'record'},
            'infer_cfg': {
                'prompt_template': {'type': 'ToolEvalConversationTemplate', 'template': '{messages}'},
                'retriever': {'type': 'ZeroRetriever'},
                'inferencer': {'type': 'ToolEvalGenInferencer', 'max_out_len': 5},
            },
            **self.extra,
        }
        models = [{'type': 'OracleModel', 'path': 'x', 'abbr': name} for name in self.models]
        datasets = [{'abbr': name, **row} for name in self.datasets]
        config = {'models': models, 'datasets': datasets, 'work_dir': str(self.folder)}
        ToolEvalEasyToolSummarizer(ConfigDict(config), **options).summarize(output_path, TIME)

    @property
    def text(self) -> str:
        return (self.folder / 'summary' / f'summary_{TIME}_easytool.txt').read_text(encoding='utf-8')

    @property
    def rows(self) -> list[dict[str, str]]:
        with (self.folder / 'summary' / f'summary_{TIME}_easytool.csv').open(encoding='utf-8') as stream:
            return list(csv.DictReader(stream))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_side_by_side(run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_VERBOSE', '1')
    run.write('d', [0.0, 1.0], 'one two three four').write('d-easytool', [1.0, 1.0], 'one')
    run.summarize()
    tokens = ['5.00', '2.00', '60.00']
    changed = ['50.00', '0.00', '', '']  # better, worse; only agents have steps
    expected = ['m', 'd', 'name', '50.00', '100.00', '50.00', '-100.00', '100.00', '2', *changed, *tokens, *tokens]
    assert run.rows == [dict(zip(EASYTOOL.columns, expected, strict=True))]
    lines = run.text.splitlines()
    assert lines[:2] == [
        'Documentation against instructions. delta: instructions minus documentation, in points',
        'low, high: its 95% interval. better, worse: % of the records on which the score is better or worse',
    ]
    assert lines[3] == 'm' and lines[4].split()[:3] == ['dataset', 'metric', 'documentation']
    assert lines[7].split() == [text for text in expected[1:-3] if text], 'one prompt of a task has its tokens once'
    assert lines[8:] == ['', 'tokens of m: means over the tasks, estimate: words, signs and Chinese characters']
    printed = capsys.readouterr().out
    assert run.text in printed
    gains = 'What instructions gain: instructions minus documentation, in points [95% interval]; 0 of 1 significant:'
    assert f'{gains}\n  m, d name: +50.00 [-100.00, +100.00]\n' in printed
    assert printed.index('| d-easytool |') < printed.index('Documentation against instructions')


def test_fewer_errors_are_better_and_the_gains_that_chance_does_not_explain_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path / TIME, *(f'tooleval-{name}{end}' for name in ('sure', 'few') for end in ('', '-easytool')))
    run.models = ('m', 'n')
    for model, gain in (('m', 0.5), ('n', 0.0)):
        for name, change, count in (('sure', gain, 8), ('few', 1.0, 3)):
            for end, value in (('', 0.0), ('-easytool', change)):
                values = {'name': value, 'tool_name_error_rate': 1 - value}
                details = [{'id': f'r{i}', 'values': values} for i in range(count)]
                wrong = 100 * (1 - value)
                more: dict[str, Any] = {'tool_name_error_rate': wrong, 'details': details}
                run.write(f'tooleval-{name}{end}', [value] * count, model=model, **more)
    run.summarize()
    (row,) = [row for row in run.rows if [*row.values()][:3] == ['m', 'tooleval-sure', 'tool_name_error_rate']]
    assert (row['delta'], row['better'], row['worse']) == ('-50.00', '100.00', '0.00')
    assert run.text.splitlines()[2] == 'lower is better: tool_name_error_rate'
    assert max(map(len, run.text.splitlines())) < 120 and '\nm\n' in run.text and '\nn\n' in run.text
    printed = capsys.readouterr().out.partition(', in points [95% interval]; 1 of 4 significant:')[2].splitlines()[1:5]
    assert [line.partition(' [')[0] for line in printed] == [
        '  m, sure name: +50.00', '  m, few name: +100.00', '  n, few name: +100.00', '  n, sure name: +0.00'
    ]  # fmt: skip
    (tmp_path / TIME / 'configs').mkdir()
    table = variant_table('easytool', list(comparisons(EASYTOOL, read([tmp_path / TIME]))), {})
    assert table.title.startswith('Differences in points (instructions minus documentation), 95% interval; better, ')
    assert {cells[2] for cells in table.rows} == {'API', 'Name errors (lower is better)'}


def test_a_pair_has_one_interval_on_every_screen(tmp_path: Path) -> None:
    """The summarizer's table, the report's and ``tooleval compare``'s; of ``slow`` half of the records have a value."""
    folder = tmp_path / TIME
    run = Run(folder)
    (folder / 'configs').mkdir(parents=True)
    for dataset, model, skill in (('d', 'm', 0.4), ('d-easytool', 'm', 0.6), ('d', 'before', 0.4), ('d', 'after', 0.6)):
        values = np.random.default_rng(int(100 * skill)).random(40) ** (1 / skill)
        details = [
            {'id': f'r{i}', 'values': {'name': value, 'slow': value**2 if i % 2 else None}}
            for i, value in enumerate(values.tolist())
        ]
        slow = 100 * float(np.mean(values[1::2] ** 2))
        run.write(dataset, values.tolist(), model=model, slow=slow, details=details)
    run.summarize()
    summarized = [{name: row[name] for name in ('metric', 'delta', 'low', 'high', 'records')} for row in run.rows]
    assert [row['metric'] for row in summarized] == ['name', 'slow'] and summarized[0]['low'] != summarized[1]['low']

    table = variant_table('easytool', list(comparisons(EASYTOOL, read([folder]))), {})
    reported = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    in_words = [row | {'metric': words_of_metric(row['metric']).name} for row in summarized]
    assert [{name: row[name] for name in summarized[0]} for row in reported] == in_words

    done = CliRunner().invoke(app, ['compare', str(folder), 'before', 'after', '--json', '-'])
    compared = json.loads(done.stdout)['datasets']
    assert [
        {name: f'{row[name]:.2f}' if isinstance(row[name], float) else str(row[name]) for name in summarized[0]}
        for row in compared
    ] == summarized


def test_nothing_is_said_without_a_variant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A method of that name is none."""
    run = Run(tmp_path, 'd', 'funcqa-easytool').write('d', [1.0]).write('funcqa-easytool', [1.0])
    run.extra = {}
    run.summarize()
    assert not list((tmp_path / 'summary').glob('*_easytool.*'))
    assert 'Documentation against' not in capsys.readouterr().out


def test_what_cannot_be_compared_is_said(run: Run) -> None:
    run.datasets = (*run.datasets, 'alone-easytool', 'mean', 'mean-easytool')
    run.write('d', [0.0, 1.0, 1.0]).write('d-easytool', [1.0, 1.0]).write('alone-easytool', [1.0])
    run.write('mean', [0.0, 1.0], name=77.0).write('mean-easytool', [1.0, 1.0])
    run.summarize()
    assert 'NOTE alone-easytool: alone is not part of this run' in run.text
    assert 'NOTE m / d: 2 of 3 records are in both; scores are over these' in run.text
    assert 'NOTE m / mean / name: no interval, since the scores are not means over shared records' in run.text
    shown = [[row[name] for name in ('dataset', 'delta', 'low', 'records')] for row in run.rows]
    assert shown == [['d', '50.00', '-100.00', '2'], ['mean', '23.00', '', '']]


@pytest.mark.parametrize('broken', ['d', 'd-easytool'])
def test_a_missing_result_is_said_and_the_status_is_1(run: Run, broken: str) -> None:
    run.datasets = ('d', 'd-easytool', 'e', 'e-easytool')
    for dataset in run.datasets:
        run.write(dataset, [1.0])
    (run.folder / 'results' / 'm' / f'{broken}.json').write_text('{"error": "no"}', encoding='utf-8')
    with pytest.raises(SystemExit) as caught:
        run.summarize()
    assert caught.value.code == 1
    assert f'NOTE m: no result of {broken}, so nothing to compare' in run.text
    assert [line['dataset'] for line in run.rows] == ['e']


def test_each_model_and_each_table_has_its_lines(run: Run, tmp_path: Path) -> None:
    run.models = ('m', 'n')
    for model, gain in (('m', 1.0), ('n', 0.0)):
        run.write('d', [0.0, 0.0], model=model).write('d-easytool', [gain, gain], model=model)
    groups = [
        {'name': 't', 'metric': 'overall', 'subsets': [['d', 'name']]},
        {'name': 't-easytool', 'metric': 'overall', 'subsets': [['d-easytool', 'name'], ['d', 'name']]},
    ]
    run.summarize(summary_groups=groups)
    shown = [[line[name] for name in ('model', 'dataset', 'metric', 'delta')] for line in run.rows]
    of_m, of_n = [['m', 'd', 'name', '100.00'], ['m', 't', 'overall', '50.00']], ['n', 'd', 'name', '0.00']
    assert shown == [*of_m, of_n, ['n', 't', 'overall', '0.00']] and run.rows[1]['low'] == ''
    assert run.rows[0]['first_prompt_documentation'] == run.rows[0]['first_prompt_reduction'] == ''
    run.summarize(output_path=str(tmp_path / 'mine' / 'table.txt'))
    assert {'table_easytool.csv', 'table_easytool.txt'} < {file.name for file in (tmp_path / 'mine').iterdir()}


@pytest.fixture
def sweep(tmp_path: Path) -> Run:
    """A run that the report reads too."""
    (tmp_path / TIME / 'configs').mkdir(parents=True)
    return Run(tmp_path / TIME, 'tooleval-restbench-tmdb', 'tooleval-restbench-tmdb-easytool')


@pytest.mark.parametrize('reported', [True, False])
def test_tokens_are_the_same_on_every_screen(sweep: Run, tiny_model: Path, reported: bool) -> None:
    """As the server reports them; of recorded answers, with the tokenizer that the summarizer has."""
    cells = []
    for dataset, prompt, sizes in zip(sweep.datasets, ('APIs at your disposal', 'APIs'), (4000, 40), strict=True):
        usages = [Usage(3 * size, 9, first_prompt=size) for size in (sizes, sizes + 10)]
        more: dict[str, Any] = {'usage': summary_of(usages)} if reported else {}
        sweep.write(dataset, [0.0, 1.0], prompt, provenance={'benchmark': 'restbench'}, **more)
        cells.append(usages)
    settings = f'summarizer = dict(tokenizer={str(tiny_model)!r})\n'
    (sweep.folder / 'configs' / 'run.py').write_text(f"models = [dict(abbr='m')]\n{settings}", encoding='utf-8')
    sweep.summarize(tokenizer=str(tiny_model))
    columns = [*EASYTOOL.token_columns('first_prompt'), *EASYTOOL.token_columns('task_prompts')]
    summarized = [{name: row[name] for name in columns} for row in sweep.rows]
    if reported:
        expected = ['4005.00', '45.00', '98.88', '12015.00', '135.00', '98.88']
        assert summarized == [dict(zip(columns, expected, strict=True))]
    else:
        tokenizer = choose_counter([str(tiny_model)])
        lengths = [sum(tokenizer.count([f'{prompt} 0'])) for prompt in ('APIs at your disposal', 'APIs')]
        assert summarized[0][columns[0]] == f'{lengths[0]:.2f}' and lengths[0] > lengths[1]
    write_report([sweep.folder], sweep.folder / 'out')
    with (sweep.folder / 'out' / 'files' / 'easytool.csv').open(encoding='utf-8', newline='') as stream:
        reported_rows = list(csv.DictReader(stream))
    assert [{name: row[name.replace('_', ' ')] for name in columns} for row in reported_rows] == summarized
    with (sweep.folder / 'out' / 'files' / 'provenance.csv').open(encoding='utf-8', newline='') as stream:
        first = next(csv.DictReader(stream))
    shown = [f'{float(summarized[0][name]):.0f}' for name in (columns[0], columns[3])]
    assert [first['first prompt, tokens'], first['all prompts, tokens']] == shown
    assert first['counted'] == (REPORTED if reported else f'tokenizer {tiny_model.name}')
