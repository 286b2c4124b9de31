"""Complete reports on disk, read without a browser."""

from __future__ import annotations

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
from tests.report.agents import chain
from tests.report.support import (
    HOSTILE,
    add,
    csv_of,
    data_of,
    detail,
    hostile_run,
    plain_run,
    result_of,
    right_of,
    samples_of,
    write,
)

REVIEW = 'tooleval-teval-review_str_v2'


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
    assert 'class="warning"' not in (out / 'teval.html').read_text('utf-8') + (out / 'funcqa.html').read_text('utf-8')
    links = {attributes[name] for _, attributes in tags for name in ('src', 'href') if name in attributes}
    local = {link.split('#')[0] for link in links if link and not link.startswith(('#', 'data:'))}
    assert local and all((out / link).is_file() for link in local if link), local
    assert not any('://' in link for link in local)
    assert all(attributes.get('src') for tag, attributes in tags if tag == 'script'), 'no script stands in a page'
    policies = [rule['content'] or '' for _, rule in tags if rule.get('http-equiv') == 'Content-Security-Policy']
    assert len(policies) == len(list(out.glob('*.html')))
    assert all(one.startswith("default-src 'none'; script-src 'self' file:; ") for one in policies)
    manifest = data_of(out / 'samples' / 'index.js')[0]
    first, second = (pair for pair in manifest['pairs'] if 'review' in pair['dataset'])
    assert [(pair['model'], pair['samples']) for pair in (first, second)] == [('better', 120), ('worse', 120)]
    assert first['prompts'] == second['prompts'], 'what was asked is kept once'
    assert 'sources' not in manifest, 'only agents have them'
    rows, _ = samples_of(out, 'review', chunk=1)
    assert len(rows) == 20 and rows[0]['answer'] == 'answer of better to r100' and 'prompt' not in rows[0]
    prompts = data_of(out / 'samples' / first['prompts'] / '1.js')[1]
    role, at = prompts['rows'][0][0]
    assert (role, prompts['texts'][at]) == ('HUMAN', 'Ask. r100')
    for ending in ('csv', 'md', 'tex'):
        assert (out / 'files' / f'reasons-{REVIEW}.{ending}').stat().st_size
    provenance = Tags(out / 'provenance.html').text
    assert 'review_str' in provenance and 'run.py sha256' in provenance


def test_prompts_that_differ_are_kept_beside_their_sample(tmp_path: Path) -> None:
    add(tmp_path / 'run', 'a', 'd', result_of([detail('r')]), prompt='One.')
    add(tmp_path / 'run', 'b', 'd', result_of([detail('r')]), prompt='Another.')
    (first,), (second,) = samples_of(write_report([tmp_path / 'run'], tmp_path / 'out').parent)
    assert 'prompt' not in first and second['prompt'] == [['HUMAN', 'Another. r']]


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    out = write_report([hostile_run(tmp_path / 'run')], tmp_path / 'out').parent
    names = ('tables', 'charts', 'figures', 'plotly', 'diff', 'samples', 'trajectories', 'samples/index')
    for page in out.glob('*.html'):
        tags = Tags(page).tags
        sources = {attributes.get('src') for tag, attributes in tags if tag == 'script'}
        assert sources <= {f'{name}.js' for name in names}
        assert not [tag for tag, attributes in tags if tag in ('img', 'b') or 'onerror' in attributes]
    scripts = [out / 'figures.js', *(out / 'samples').rglob('*.js')]
    assert len(scripts) > 8 and not any(set('<>&') & set(script.read_text(encoding='ascii')) for script in scripts)
    row = samples_of(out)[0][0]
    assert row['answer'] == row['parse_method'] == row['infra'] == HOSTILE and row['gold'] == {HOSTILE: HOSTILE}


def test_nothing_finished(tmp_path: Path) -> None:
    run, out = tmp_path / 'run', tmp_path / 'out'
    (run / 'configs').mkdir(parents=True)
    write(run, 'predictions', 'm', 'd_0', {})
    write(run, 'predictions', 'm', 'd', {})
    assert 'There are no results yet.' in Tags(write_report([run], out)).text
    assert 'answered, not scored' in Tags(out / 'provenance.html').text and samples_of(out) == []


def test_one_model_and_missing_subsets(tmp_path: Path) -> None:
    add(tmp_path / 'run', 'm', REVIEW, result_of([detail('r')]))
    add(tmp_path / 'run', 'm', 'tooleval-teval-plan_json_v2', result_of([detail('r')]))
    write(tmp_path / 'run', 'predictions', 'm', 'tooleval-teval-plan_str_v2', {})
    page = write_report([tmp_path / 'run'], tmp_path / 'out')
    shown, teval = Tags(page), Tags(page.with_name('teval.html'))
    assert '1 model,' in shown.text and 'Not shown: Overall. ' in teval.text and 'arXiv 2312.14033' in teval.text
    assert not [1 for tag, attributes in shown.tags if tag == 'td' and attributes.get('class') == 'best']
    missing = [attributes['data-tip'] for _, attributes in teval.tags if attributes.get('class') == 'badge lacks']
    assert any(title and 'tooleval-teval-plan_str_v2' in title for title in missing)


def test_retrieval_results_are_found(tmp_path: Path) -> None:
    run, files = plain_run(tmp_path / 'run'), tmp_path / 'out' / 'files'
    write_report([run], tmp_path / 'out')
    assert not list(files.glob('published-*'))
    said = {
        'subset': 'G2',
        'documentation': {'metrics': {'ndcg@1': 40.0}},
        'instructions': {'metrics': {'ndcg@1': 55.0}},
    }
    (run / 'retrieval_g2.json').write_text(json.dumps(said), encoding='utf-8')
    write_report([run], tmp_path / 'out')
    assert 'G2 ndcg@1,40.00,55.00' in (files / 'toolbench-retrieval.csv').read_text(encoding='utf-8')
    assert 'Published: EasyTool (arXiv 2401.06201), Table 5' in Tags(tmp_path / 'out' / 'easytool.html').text
    assert (files / 'published-retrieval.csv').is_file()
    numbers = [{'metrics': {'ndcg@1': value}} for value in ('<b>', [1], True, float('nan'), {})]
    damaged = [{**said, 'documentation': one} for one in (*numbers, [], {'metrics': ['ndcg@1']})]
    for content in ([], 'x', *damaged):
        (run / 'retrieval_g2.json').write_text(json.dumps(content), encoding='utf-8')
        with pytest.raises(DataError, match='retrieval_g2'):
            write_report([run], tmp_path / 'out')


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('{"0": {"origin_prom', ''),
        ('{"0": "no row"}', ''),
        ('{"1": {}}', ''),
        (None, f'{REVIEW}_0.json: this shard is missing'),
    ],
)
def test_damaged_predictions_leave_the_result(tmp_path: Path, content: str | None, message: str) -> None:
    run, out = plain_run(tmp_path / 'run'), tmp_path / 'out'
    file = run / 'predictions' / 'worse' / f'{REVIEW}.json'
    if content is None:
        file.rename(file.with_stem(f'{REVIEW}_1'))
    else:
        file.write_text(content, encoding='utf-8')
    shown = Tags(write_report([run], out))
    assert '50.00' in shown.text and '83.33' in shown.text
    ((model, dataset, why),) = (row.values() for row in csv_of(out, 'missing'))
    assert (model, dataset) == ('worse', REVIEW)
    assert why.startswith('scored, but shown without answers: ') and message in why
    pairs = data_of(out / 'samples' / 'index.js')[0]['pairs']
    assert [pair['samples'] for pair in pairs if pair['dataset'] == REVIEW] == [120, 120]


def test_only_a_report_is_replaced_and_by_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(DataError, match='other files than a report'):
        write_report([run], run)
    assert (run / 'results').is_dir()


def test_calls_are_the_rounds_of_dialogues(tmp_path: Path) -> None:
    run, name = tmp_path / 'run', 'tooleval-funcqa-one_hop-cot'
    provenance = {'benchmark': 'funcqa', 'subset': 'one_hop'}
    add(run, 'm', name, result_of([detail('a'), detail('b')], provenance=provenance))
    trajectory = Trajectory('cot', (Step('So.', asked='How?'),) * 3, '4').to_json()
    lost = {'prediction': '', 'record_id': 'b', 'infra': 'infra:server'}
    rows = {'0': {'prediction': trajectory, 'record_id': 'a', 'infra': None}, '1': lost}
    write(run, 'predictions', 'm', name, rows)
    add(run, 'm', 'other', result_of([detail('a')]))
    rows_ = csv_of(write_report([run], tmp_path / 'out').parent, 'provenance')
    assert {row['data set']: row['calls'] for row in rows_} == {name: '4', 'other': '1'}
    tokens = {row['data set']: row['answers, tokens'] for row in rows_}
    assert tokens == {name: '3', 'other': '5'}, 'what was asked in a dialogue is no answer'


DIALOGUE = json.dumps({'rounds': [{'asked': 'x', 'answer': 'y'}] * 5, 'calls': [], 'answer': 'A'})


@pytest.mark.parametrize('answer', [DIALOGUE, chain().to_json()], ids=['dialogue', 'trajectory'])
def test_an_answer_that_looks_like_a_dialogue_is_shown_as_it_is(tmp_path: Path, answer: str) -> None:
    add(tmp_path / 'run', 'm', REVIEW, result_of([detail('r')]))
    row = {'prediction': answer, 'record_id': 'r', 'infra': None}
    write(tmp_path / 'run', 'predictions', 'm', REVIEW, {'0': row})
    out = write_report([tmp_path / 'run'], tmp_path / 'out').parent
    ((shown,),) = samples_of(out)
    assert shown['answer'] == answer and not {'trace', 'trajectory'} & set(shown)
    assert [result['calls'] for result in csv_of(out, 'provenance')] == ['1']


def test_several_trials_have_a_table(tmp_path: Path) -> None:
    run, out = plain_run(tmp_path / 'run'), tmp_path / 'out'
    row = {'value': 61.234, 'standard_error': 2.5, 'records': 60}
    every = dict.fromkeys(('avg@4', 'pass@1', 'pass@2', 'pass@4', 'pass^1', 'pass^2', 'pass^4'), row)
    metrics = {'review_quality': every, 'thought': {'avg@4': row}, HOSTILE: {HOSTILE: row}}
    trials = {'n': 4, 'success': [], 'metrics': metrics}
    add(run, 'repeated', REVIEW, result_of([detail('r0'), detail('r1')], trials=trials))
    write_report([run], out)
    rows = [[*row.values()] for row in csv_of(out, 'trials-teval')]
    names = ['data set', 'metric', 'model', 'n', 'avg@n', 'pass@2', 'pass@4', 'pass^2', 'pass^4']
    assert [*csv_of(out, 'trials-teval')[0]] == names
    assert [row[2:5] for row in rows[:2]] == [['repeated', '4', '61.23 ±2.50']] * 2
    assert [row[5:] for row in rows[:2]] == [['61.23 ±2.50'] * 4, [''] * 4]
    assert 'pass^4' in Tags(out / 'teval.html').text and not (out / 'files' / 'trials-funcqa.csv').exists()


def spending_run(folder: Path, **prices: object) -> Path:
    """Two models on review: one that thinks long and costs more, and one whose tokens were counted."""
    run = plain_run(folder)
    configured = ', '.join(f'{name}={value}' for name, value in prices.items())
    for model, prompt, completion in (('thinks', 200, 900), ('quick', 100, 50)):
        usage = summary_of([Usage(prompt, completion, counted=model == 'quick')] * 4)
        add(run, model, REVIEW, result_of(right_of(4, 4), usage=usage))
    models = ''.join(f"dict(abbr='{model}', prices=dict({configured})), " for model in ('thinks', 'quick'))
    (run / 'configs' / 'run.py').write_text(f'models = [{models if prices else ""}]\n', encoding='utf-8')
    return run


def test_scores_stand_against_cost(tmp_path: Path) -> None:
    out = write_report([spending_run(tmp_path / 'run', input=1.0, output=10.0)], tmp_path / 'out').parent
    (file,) = (out / 'files').glob('*-spending.csv')
    assert [[*row.values()] for row in csv_of(out, file.stem)] == [
        ['quick', '0.60', '100.00'],
        ['thinks', '9.20', '100.00'],
    ]
    assert 'Unknown for better, worse.' in Tags(out / 'teval.html').text
    table = {row['model']: row for row in csv_of(out, 'provenance') if 'review' in row['data set']}
    columns = ('first prompt, tokens', 'all prompts, tokens', 'answers, tokens', 'counted')
    assert [table['thinks'][column] for column in columns] == ['200', '200', '900', 'reported by the server']
    assert table['better']['counted'] == 'estimate: words, signs and Chinese characters'
    assert (table['thinks']['cost'], table['better']['cost']) == ('0.0368', '')


def test_scores_stand_against_tokens_where_there_are_no_prices(tmp_path: Path) -> None:
    out = write_report([spending_run(tmp_path / 'run')], tmp_path / 'out').parent
    (file,) = (out / 'files').glob('*-spending.csv')
    tokens = [row['tokens of an answer, thoughts included'] for row in csv_of(out, file.stem)]
    assert tokens == ['50.00', '900.00']


def test_the_first_page_has_the_cost(tmp_path: Path) -> None:
    usage = summary_of([Usage(10, 10)] * 4, Prices(1e6, 0))
    for model in ('one', 'other'):
        add(tmp_path / 'run', model, REVIEW, result_of(right_of(4, 4), usage=usage))
    shown = Tags(write_report([tmp_path / 'run'], tmp_path / 'out')).text
    assert 'cost per 1,000 answers' in shown and '10000.00' in shown and '10 in, 10 out' in shown


@pytest.mark.parametrize(
    ('right', 'errors', 'shown', 'absent'),
    [
        ((4, 2), {'review_quality': 1.5}, ('± is one standard error; ★ marks the highest score', '★'), ('a tie',)),
        ((4, 4), {}, (), ('± is', '★')),
        ((4, 2), {}, ('★ marks the highest score',), ('± is',)),
    ],
)
def test_the_legend_has_the_marks_that_are_there(
    tmp_path: Path,
    right: tuple[int, int],
    errors: dict[str, float],
    shown: tuple[str, ...],
    absent: tuple[str, ...],
) -> None:
    for model, count in zip(('one', 'other'), right, strict=True):
        add(tmp_path / 'run', model, REVIEW, result_of(right_of(count, 4), standard_errors=errors))
    text = Tags(write_report([tmp_path / 'run'], tmp_path / 'out')).text
    assert all(mark in text for mark in shown) and not any(mark in text for mark in absent)


def test_trials_are_told_apart_in_the_sample_browser(tmp_path: Path) -> None:
    repeated = [detail(record, trial=trial) for trial in range(2) for record in ('r0', 'r1')]
    add(tmp_path / 'run', 'm', REVIEW, result_of(repeated))
    add(tmp_path / 'run', 'm', 'unrepeated', result_of([detail('r0'), detail('r1', trial='x')]))
    out = write_report([tmp_path / 'run'], tmp_path / 'out').parent
    pairs = data_of(out / 'samples' / 'index.js')[0]['pairs']
    columns = {pair['dataset']: data_of(out / 'samples' / pair['folder'] / 'index.js')[1] for pair in pairs}
    assert columns[REVIEW]['ids'] == ['r0', 'r1', 'r0', 'r1'] and columns[REVIEW]['trials'] == [0, 0, 1, 1]
    assert 'trials' not in columns['unrepeated']
