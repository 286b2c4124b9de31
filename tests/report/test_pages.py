"""Complete reports on disk, read without a browser."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from opencompass_tooleval.core.calls.trajectory import Step, Trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.prices import Prices
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import summary_of
from opencompass_tooleval.report import build
from opencompass_tooleval.report.build import write_report
from tests.report.support import HOSTILE, add, data_of, detail, hostile_run, plain_run, result_of, write


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ''
        self.feed(page.read_text(encoding='utf-8'))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_report(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    page = write_report([plain_run(tmp_path / 'run')], out)
    assert page == out / 'index.html'
    shown = Tags(page)
    assert 'better' in shown.text and '83.33' in shown.text and 'GPT-4-Turbo' in Tags(out / 'teval.html').text
    tags = [tag for one in out.glob('*.html') for tag in Tags(one).tags]
    links = {attributes[name] for _, attributes in tags for name in ('src', 'href') if name in attributes}
    local = {link.split('#')[0] for link in links if link and not link.startswith(('#', 'data:'))}
    assert local and all((out / link).is_file() for link in local if link), local
    assert not any('://' in link for link in local)
    manifest = data_of(out / 'samples' / 'index.js')[0]
    assert [(pair['model'], pair['samples']) for pair in manifest['pairs'] if 'review' in pair['dataset']] == [
        ('better', 120),
        ('worse', 120),
    ]
    first, second = (pair for pair in manifest['pairs'] if 'review' in pair['dataset'])
    assert first['prompts'] == second['prompts'], 'what was asked is kept once'
    _name, rows = data_of(out / 'samples' / first['folder'] / '1.js')
    assert len(rows) == 20 and rows[0]['answer'] == 'answer of better to r100' and 'prompt' not in rows[0]
    prompts = data_of(out / 'samples' / first['prompts'] / '1.js')[1]
    role, at = prompts['rows'][0][0]
    assert (role, prompts['texts'][at]) == ('HUMAN', 'Ask. r100')
    for ending in ('csv', 'md', 'tex'):
        assert (out / 'files' / f'reasons-tooleval-teval-review_str_v2.{ending}').stat().st_size
    provenance = Tags(out / 'provenance.html').text
    assert 'review_str' in provenance and 'run.py sha256' in provenance


def test_prompts_that_differ_are_kept_beside_their_sample(tmp_path: Path) -> None:
    details = [detail('r')]
    add(tmp_path / 'run', 'a', 'd', result_of(details), prompt='One.')
    add(tmp_path / 'run', 'b', 'd', result_of(details), prompt='Another.')
    write_report([tmp_path / 'run'], tmp_path / 'out')
    first, second = data_of(tmp_path / 'out' / 'samples' / 'index.js')[0]['pairs']
    assert 'prompt' not in data_of(tmp_path / 'out' / 'samples' / first['folder'] / '0.js')[1][0]
    assert data_of(tmp_path / 'out' / 'samples' / second['folder'] / '0.js')[1][0]['prompt'] == [
        ['HUMAN', 'Another. r']
    ]


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    write_report([hostile_run(tmp_path / 'run')], out)
    for page in out.glob('*.html'):
        shown = Tags(page)
        names = ('tables', 'charts', 'figures', 'plotly', 'diff', 'samples', 'trajectories', 'samples/index')
        allowed = {f'{name}.js' for name in names}
        assert {attributes.get('src') for tag, attributes in shown.tags if tag == 'script'} <= allowed
        assert not [tag for tag, _ in shown.tags if tag == 'img']
        assert not [tag for tag, attributes in shown.tags if tag == 'b' or 'onerror' in attributes]
    scripts = [out / 'figures.js', *(out / 'samples').rglob('*.js')]
    assert len(scripts) > 8
    for script in scripts:
        assert not set('<>&') & set(script.read_text(encoding='ascii'))
    chunk = data_of(next((out / 'samples').glob('p*/0.js')))[1][0]
    assert (chunk['answer'], chunk['gold'], chunk['parse_method'], chunk['infra']) == (
        HOSTILE,
        {HOSTILE: HOSTILE},
        HOSTILE,
        HOSTILE,
    )


def test_nothing_finished(tmp_path: Path) -> None:
    run = tmp_path / 'run'
    (run / 'configs').mkdir(parents=True)
    write(run, 'predictions', 'm', 'd_0', {})
    write(run, 'predictions', 'm', 'd', {})
    page = write_report([run], tmp_path / 'out')
    assert 'There are no results yet.' in Tags(page).text
    assert 'answered, not scored' in Tags(tmp_path / 'out' / 'provenance.html').text
    assert data_of(tmp_path / 'out' / 'samples' / 'index.js')[0]['pairs'] == []


def test_one_model_and_missing_subsets(tmp_path: Path) -> None:
    add(tmp_path / 'run', 'm', 'tooleval-teval-review_str_v2', result_of([detail('r')]))
    add(tmp_path / 'run', 'm', 'tooleval-teval-plan_json_v2', result_of([detail('r')]))
    write(tmp_path / 'run', 'predictions', 'm', 'tooleval-teval-plan_str_v2', {})
    page = write_report([tmp_path / 'run'], tmp_path / 'out')
    shown = Tags(page)
    assert '1 model,' in shown.text and 'Not shown: Overall. ' in Tags(page.with_name('teval.html')).text
    assert not [1 for tag, attributes in shown.tags if tag == 'td' and attributes.get('class') == 'best']
    tags = Tags(page.with_name('teval.html')).tags
    missing = [attributes['data-tip'] for _, attributes in tags if attributes.get('class') == 'badge lacks']
    assert any(title and 'tooleval-teval-plan_str_v2' in title for title in missing)


def test_runs_are_named_so_that_they_are_told_apart(tmp_path: Path) -> None:
    runs = [tmp_path / folder / 'ours' for folder in 'ab']
    for run in runs:
        add(run, 'm', 'tooleval-teval-review_str_v2', result_of([detail('r')]))
    assert '1 data set,' in (text := Tags(write_report(runs, tmp_path / 'out')).text) and 'of a/ours, b/ours.' in text


def test_only_a_report_is_replaced(tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'run')
    write_report([run], tmp_path / 'out')
    write_report([run], tmp_path / 'out')
    with pytest.raises(DataError, match='no report'):
        write_report([run], run)
    assert (run / 'results').is_dir()


def test_retrieval_results_are_found(tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'run')
    said = {'subset': 'G2', 'documentation': {'metrics': {'ndcg@1': 40.0}}}
    (run / 'retrieval_g2.json').write_text(json.dumps(said), encoding='utf-8')
    write_report([run], tmp_path / 'out')
    assert 'G2 ndcg@1,40.00' in (tmp_path / 'out' / 'files' / 'toolbench-retrieval.csv').read_text(encoding='utf-8')
    numbers = [{'metrics': {'ndcg@1': value}} for value in ('<b>', [1], True, float('nan'), {})]
    damaged = [{**said, 'documentation': one} for one in (*numbers, [], {'metrics': ['ndcg@1']})]
    for content in ([], 'x', *damaged):
        (run / 'retrieval_g2.json').write_text(json.dumps(content), encoding='utf-8')
        with pytest.raises(DataError, match='retrieval_g2'):
            write_report([run], tmp_path / 'out')


def test_published_tables_stand_beside_retrieval_alone(tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'run')
    write_report([run], tmp_path / 'out')
    assert not list((tmp_path / 'out' / 'files').glob('published-*'))
    said = {'subset': 'G2', 'documentation': {'metrics': {'ndcg@1': 40.0}}}
    (run / 'retrieval_g2.json').write_text(json.dumps(said), encoding='utf-8')
    write_report([run], tmp_path / 'out')
    shown = Tags(tmp_path / 'out' / 'easytool.html')
    assert 'Published: EasyTool (arXiv 2401.06201), Table 5' in shown.text
    assert (tmp_path / 'out' / 'files' / 'published-retrieval.csv').is_file()


@pytest.mark.parametrize('content', ['{"0": {"origin_prom', '{"0": "no row"}', '{"1": {}}', ''])
def test_damaged_predictions_leave_the_result(tmp_path: Path, content: str) -> None:
    run, name = plain_run(tmp_path / 'run'), 'tooleval-teval-review_str_v2'
    (run / 'predictions' / 'worse' / f'{name}.json').write_text(content, encoding='utf-8')
    shown = Tags(write_report([run], tmp_path / 'out'))
    assert '50.00' in shown.text and '83.33' in shown.text
    with (tmp_path / 'out' / 'files' / 'missing.csv').open(encoding='utf-8', newline='') as stream:
        ((model, dataset, why),) = list(csv.reader(stream))[1:]
    assert (model, dataset) == ('worse', name) and why.startswith('scored, but shown without answers: ')
    pairs = data_of(tmp_path / 'out' / 'samples' / 'index.js')[0]['pairs']
    assert [pair['samples'] for pair in pairs if pair['dataset'] == name] == [120, 120]


def test_a_missing_shard_leaves_the_result(tmp_path: Path) -> None:
    run, name = plain_run(tmp_path / 'run'), 'tooleval-teval-review_str_v2'
    file = run / 'predictions' / 'worse' / f'{name}.json'
    file.rename(file.with_stem(f'{name}_1'))
    write_report([run], tmp_path / 'out')
    said = (tmp_path / 'out' / 'files' / 'missing.csv').read_text(encoding='utf-8')
    assert f'{name}_0.json: this shard is missing' in said


def test_a_report_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, out = plain_run(tmp_path / 'run'), tmp_path / 'out'
    page = write_report([run], out)
    (out / 'samples' / 'old.js').touch()
    before = {file: file.read_bytes() for file in out.rglob('*') if file.is_file()}

    def full(*_: object) -> None:
        raise OSError('no space left on device')

    with monkeypatch.context() as patched:
        patched.setattr(build, 'save_table', full)
        with pytest.raises(OSError, match='no space'):
            write_report([run], out)
    assert {file: file.read_bytes() for file in out.rglob('*') if file.is_file()} == before
    assert write_report([run], out) == page and not (out / 'samples' / 'old.js').exists()
    assert not list(out.glob('.unfinished*'))


def test_calls_are_the_rounds_of_dialogues(tmp_path: Path) -> None:
    run, name = tmp_path / 'run', 'tooleval-funcqa-one_hop-cot'
    provenance = {'benchmark': 'funcqa', 'subset': 'one_hop'}
    add(run, 'm', name, result_of([detail('a'), detail('b')], provenance=provenance))
    file = run / 'predictions' / 'm' / f'{name}.json'
    rows = json.loads(file.read_bytes())
    steps = (Step('So.', asked='How?'),) * 3
    rows['0']['prediction'] = Trajectory('cot', steps, '4').to_json()
    rows['1'] |= {'prediction': '', 'infra': 'infra:server'}
    file.write_text(json.dumps(rows), encoding='utf-8')
    add(run, 'm', 'other', result_of([detail('a')]))
    write_report([run], tmp_path / 'out')
    with (tmp_path / 'out' / 'files' / 'provenance.csv').open(encoding='utf-8', newline='') as stream:
        rows = {row['data set']: row for row in csv.DictReader(stream)}
    assert {dataset: row['calls'] for dataset, row in rows.items()} == {name: '4', 'other': '1'}
    tokens = {dataset: row['answers, tokens'] for dataset, row in rows.items()}
    assert tokens == {name: '3', 'other': '5'}, 'what was asked in a dialogue is no answer'


def test_an_answer_that_looks_like_a_dialogue_is_shown_as_it_is(tmp_path: Path) -> None:
    run, name = tmp_path / 'run', 'tooleval-teval-review_str_v2'
    add(run, 'm', name, result_of([detail('r')]))
    answer = json.dumps({'rounds': [{'asked': 'x', 'answer': 'y'}] * 5, 'calls': [], 'answer': 'A'})
    write(run, 'predictions', 'm', name, {'0': {'prediction': answer, 'record_id': 'r', 'infra': None}})
    out = write_report([run], tmp_path / 'out').parent
    (row,) = data_of(out / 'samples' / 'p0' / '0.js')[1]
    assert row['answer'] == answer and 'trace' not in row
    with (out / 'files' / 'provenance.csv').open(encoding='utf-8', newline='') as stream:
        assert [result['calls'] for result in csv.DictReader(stream)] == ['1']


def test_several_trials_have_a_table(tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'run')
    row = {'value': 61.234, 'standard_error': 2.5, 'records': 60}
    names = ('avg@4', 'pass@1', 'pass@2', 'pass@4', 'pass^1', 'pass^2', 'pass^4')
    trials = {
        'n': 4,
        'success': [],
        'metrics': {'review_quality': dict.fromkeys(names, row), 'thought': {'avg@4': row}, HOSTILE: {HOSTILE: row}},
    }
    add(run, 'repeated', 'tooleval-teval-review_str_v2', result_of([detail('r0'), detail('r1')], trials=trials))
    write_report([run], tmp_path / 'out')
    with (tmp_path / 'out' / 'files' / 'trials-teval.csv').open(encoding='utf-8', newline='') as stream:
        columns, *rows = csv.reader(stream)
    assert columns == ['data set', 'metric', 'model', 'n', 'avg@n', 'pass@2', 'pass@4', 'pass^2', 'pass^4']
    assert [row[2:5] for row in rows[:2]] == [['repeated', '4', '61.23 ±2.50']] * 2
    assert [row[5:] for row in rows[:2]] == [['61.23 ±2.50'] * 4, [''] * 4]
    assert 'pass^4' in Tags(tmp_path / 'out' / 'teval.html').text
    assert 'trials-funcqa' not in {file.stem for file in (tmp_path / 'out' / 'files').iterdir()}


def spending_run(folder: Path, **prices: object) -> Path:
    """Two models on review: one that thinks long and costs more, and one whose tokens were counted."""
    run = plain_run(folder)
    configured = ', '.join(f'{name}={value}' for name, value in prices.items())
    for model, prompt, completion in (('thinks', 200, 900), ('quick', 100, 50)):
        details = [detail(f'r{i}') for i in range(4)]
        usage = summary_of([Usage(prompt, completion, counted=model == 'quick')] * 4)
        add(run, model, 'tooleval-teval-review_str_v2', result_of(details, usage=usage))
    models = ''.join(f"dict(abbr='{model}', prices=dict({configured})), " for model in ('thinks', 'quick'))
    (run / 'configs' / 'run.py').write_text(f'models = [{models if prices else ""}]\n', encoding='utf-8')
    return run


def test_scores_stand_against_cost(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    write_report([spending_run(tmp_path / 'run', input=1.0, output=10.0)], out)
    (file,) = (out / 'files').glob('*-spending.csv')
    rows = list(csv.reader(file.open(encoding='utf-8', newline='')))
    assert rows == [['', 'cost of 1,000 answers', 'Review'], ['quick', '0.60', '100.00'], ['thinks', '9.20', '100.00']]
    assert 'Unknown for better, worse.' in Tags(out / 'teval.html').text
    with (out / 'files' / 'provenance.csv').open(encoding='utf-8', newline='') as stream:
        table = {row['model']: row for row in csv.DictReader(stream) if 'review' in row['data set']}
    columns = ('first prompt, tokens', 'all prompts, tokens', 'answers, tokens', 'counted')
    assert [table['thinks'][column] for column in columns] == ['200', '200', '900', 'reported by the server']
    assert table['better']['counted'] == 'estimate: words, signs and Chinese characters'
    assert (table['thinks']['cost'], table['better']['cost']) == ('0.0368', '')


def test_scores_stand_against_tokens_where_there_are_no_prices(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    write_report([spending_run(tmp_path / 'run')], out)
    (file,) = (out / 'files').glob('*-spending.csv')
    rows = list(csv.reader(file.open(encoding='utf-8', newline='')))
    assert rows[0][1] == 'tokens of an answer, thoughts included'
    assert [row[:2] for row in rows[1:]] == [['quick', '50.00'], ['thinks', '900.00']]


def test_the_first_page_has_the_cost(tmp_path: Path) -> None:
    usage = summary_of([Usage(10, 10)] * 4, Prices(1e6, 0))
    for model in ('one', 'other'):
        answers = result_of([detail(f'r{i}') for i in range(4)], usage=usage)
        add(tmp_path / 'run', model, 'tooleval-teval-review_str_v2', answers)
    shown = Tags(write_report([tmp_path / 'run'], tmp_path / 'out')).text
    assert 'cost' in shown and '40.00' in shown and '10 in, 10 out' in shown


def test_trials_are_told_apart_in_the_sample_browser(tmp_path: Path) -> None:
    repeated = [detail(record, trial=trial) for trial in range(2) for record in ('r0', 'r1')]
    add(tmp_path / 'run', 'm', 'tooleval-teval-review_str_v2', result_of(repeated))
    add(tmp_path / 'run', 'm', 'tooleval-teval-review_str_v1', result_of([detail('r0'), detail('r1', trial='x')]))
    write_report([tmp_path / 'run'], tmp_path / 'out')
    samples = tmp_path / 'out' / 'samples'
    index = {pair['dataset']: samples / pair['folder'] for pair in data_of(samples / 'index.js')[0]['pairs']}
    columns = {name: data_of(folder / 'index.js')[1] for name, folder in index.items()}
    assert columns['tooleval-teval-review_str_v2']['ids'] == ['r0', 'r1', 'r0', 'r1']
    assert columns['tooleval-teval-review_str_v2']['trials'] == [0, 0, 1, 1]
    assert 'trials' not in columns['tooleval-teval-review_str_v1']
