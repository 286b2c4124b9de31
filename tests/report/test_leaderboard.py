"""The leaderboard: rankings, what does not compare, history, links that stay, and pages in a real browser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.catalogue.comparable import why_not_comparable
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.exports.bundle import read_bundle, write_bundle
from opencompass_tooleval.extras.leaderboard.rankings import Leaderboard
from opencompass_tooleval.extras.leaderboard.site import write_site
from opencompass_tooleval.findings.of_results import unlike
from opencompass_tooleval.report.board import boards
from opencompass_tooleval.results.table import read
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.browser import LOOKS, Browser, needs_chromium
from tests.report.support import HOSTILE, add, detail, result_of, right_of

REVIEW = 'tooleval-teval-review_str_v2'
PLAN = 'tooleval-teval-plan_json_v2'
TABLE = 'tooleval-teval_v2'
ABOUT = {'benchmark': 'teval', 'subset': 'review_str', 'language': 'EN', 'version': '3', 'records_sha256': 'a' * 64}
MAIN = 'overview-teval'


def score(right: int, **provenance: Any) -> dict[str, Any]:
    return result_of(right_of(right, 40), provenance={**ABOUT, **provenance})


def plan(right: int) -> dict[str, Any]:
    rows = [detail(f'p{i}', values={'f1_score': float(i < right)}) for i in range(40)]
    return result_of(rows, provenance={**ABOUT, 'subset': 'plan_json'})


def put(folder: Path, date: str, **results: Any) -> Path:
    """A bundle of a run on a day: model -> its result of T-Eval's review, or data set -> result."""
    run = folder / 'runs' / f'{date}_120000'
    for model, given in results.items():
        for dataset, result in (given if 'details' not in given else {REVIEW: given}).items():
            add(run, model, dataset, result)
    file = folder / 'bundles' / f'{date}.bundle'
    file.parent.mkdir(exist_ok=True)
    work = WorkDir(run)
    write_bundle(work, file, list(work.pairs()))
    return file


def board_of(files: Sequence[Path], **options: Any) -> Leaderboard:
    return Leaderboard([read_bundle(file) for file in files], **options)


def ranked(board: Leaderboard, name: str = MAIN) -> list[tuple[list[str], str]]:
    """The rankings of a section: models in order, and the reason why they are apart."""
    family = '' if name.startswith('overview') else 'teval'
    section = next(section for section in board.sections(family) if section.name == name)
    return [
        ([ranking.heads[row.model].title for row in ranking.board.rows if not row.source], ranking.reason)
        for ranking in section.rankings
    ]


def anchors(site: Path) -> dict[str, set[str]]:
    """Page -> ids of its rows."""
    return {page.name: set(re.findall(r'id="(r-\w+)"', page.read_text())) for page in site.glob('*.html')}


def test_a_number_is_that_of_the_report(tmp_path: Path) -> None:
    board = board_of([put(tmp_path, '20260101', best=score(30), worst=score(10))])
    run = tmp_path / 'runs' / '20260101_120000'
    (before,) = (board for board in boards(read([run]), published_columns()) if board.name == TABLE)
    (section,) = board.sections('teval')
    (ranking,) = section.rankings
    columns = ranking.board.columns
    assert section.name == TABLE and columns == tuple(column for column in before.columns if column in columns)
    for row, expected in zip(ranking.board.rows, before.rows, strict=True):
        kept = [expected.cells[before.columns.index(column)] for column in columns]
        assert list(row.cells) == kept, 'values, errors, stars, notes, gaps'
    assert ranked(board) == [(['best', 'worst'], '')]


def test_what_differs_in_data_version_or_judge_is_apart_with_the_reason(tmp_path: Path) -> None:
    other_data = {'records_sha256': 'b' * 64}
    days: list[dict[str, Any]] = [
        {'a': score(30), 'b': score(20), 'c': score(25)},
        {'d': score(40, version='4')},
        {'e': score(40, **other_data), 'f': score(35, **other_data)},
        {'g': score(40, judge='gpt-4', judge_hash='0123')},
        {'h': score(26, opencompass_tooleval='9.9', opencompass='0.9')},
        {'i': {**score(40), 'samples': {'all': 2, 'infra': 0}}},
    ]
    files = [put(tmp_path, f'2026010{day}', **results) for day, results in enumerate(days, 1)]
    groups = {tuple(models): reason for models, reason in ranked(board_of(files))}
    assert groups.pop(('a', 'h', 'c', 'b')) == '', 'a version of the package alone changes no number'
    assert groups.pop(('d',)) == 'version is 4, not 3 (T-Eval review text v2)'
    assert groups.pop(('e', 'f')).startswith('records sha256 is bbb')
    none = 'not none (T-Eval review text v2)'
    assert groups.pop(('g',)) == f'judge is gpt-4, {none}; judge hash is 0123, {none}'
    assert groups.pop(('i',)) == 'records is 2, not 40 (T-Eval review text v2)'
    assert not groups


@pytest.mark.parametrize(
    ('key', 'compares'),
    [
        *((key, True) for key in ('simulated_by', 'opencompass', 'judgements')),
        *((key, False) for key in ('bank', 'judge_prompt', 'loop', 'a_new_setting')),
    ],
)
def test_the_leaderboard_the_gate_and_the_report_agree(tmp_path: Path, key: str, compares: bool) -> None:
    loop = {'benchmark': 'agents', 'loop': 'react'}
    results = [score(30, **loop, **({} if key == 'loop' else {key: 'one'})), score(30, **{**loop, key: 'another'})]
    files = [put(tmp_path, f'2026010{i}', **{f'm{i}': result}) for i, result in enumerate(results, 1)]
    by_model = {(f'm{i}', REVIEW): {'provenance': result['provenance']} for i, result in enumerate(results)}
    assert (len(ranked(board_of(files), TABLE)) == 1) == compares
    assert (not list(why_not_comparable(*results))) == (not list(unlike(by_model))) == compares


def test_a_score_that_one_model_has_hides_no_others(tmp_path: Path) -> None:
    """A judge's score comes before F1, and a bundle of anybody may have a score of any name."""
    agent = 'tooleval-toolbench_g1-agent-react'

    def calls(right: int, **more: float) -> dict[str, Any]:
        rows = [detail(f'r{i}', values={'call_f1': float(i < right), **more}) for i in range(40)]
        return {agent: result_of(rows, provenance={**ABOUT, 'benchmark': 'agents'})}

    files = [put(tmp_path, '20260101', a=calls(20), b=calls(30)), put(tmp_path, '20260102', c=calls(10, solved=1.0))]
    (section,) = board_of(files).sections()
    (ranking,) = section.rankings
    assert [column.rpartition(', ')[2] for column in ranking.board.columns] == ['F1 (not judged)', 'Solved']
    assert [[cell.value for cell in row.cells] for row in ranking.board.rows] == [[75, None], [50, None], [25, 100]]


def test_rows_of_one_table_compare_pair_by_pair(tmp_path: Path) -> None:
    """Each of two rows may agree with a third, which lacks their data set, and not with each other."""
    other = 'tooleval-teval-instruct_v2'
    one = {REVIEW: score(30), other: score(30)}
    two = {REVIEW: score(31), other: score(31, version='4')}
    files = [put(tmp_path, '20260101', a=one), put(tmp_path, '20260102', b=two), put(tmp_path, '20260103', c=score(32))]
    groups = ranked(board_of(files), TABLE)
    assert sorted(len(models) for models, _ in groups) == [1, 2], 'the third stands with one of them'
    assert not any({'a', 'b'} <= set(models) for models, _ in groups)


def test_a_model_has_its_latest_row_and_all_of_its_history(tmp_path: Path) -> None:
    files = [
        put(tmp_path, '20260101', m=score(30), n=score(25)),
        put(tmp_path, '20260301', m=score(20)),
        put(tmp_path, '20260201', m=score(10, version='2')),
    ]
    board = board_of(files)
    assert ranked(board) == [(['n', 'm'], ''), (['m'], 'version is 2, not 3 (T-Eval review text v2)')]
    history = next(ranking for ranking in board.history('m') if ranking.board.name == MAIN)
    dates = [history.heads[row.model].date for row in history.board.rows]
    assert dates == ['2026-03-01', '2026-02-01', '2026-01-01']
    assert [row.cells[0].value for row in history.board.rows] == [50.0, 25.0, 75.0]
    assert not any(cell.best for row in history.board.rows for cell in row.cells)
    assert '2026-02-01 12:00 does not compare with the latest: version is 2, not 3' in history.reason
    assert [row.date for row in board.results('m')] == [f'{date} 12:00' for date in dates]
    both = put(tmp_path, '20250101', k={REVIEW: score(30), PLAN: plan(30)})
    (section,) = board_of([both, put(tmp_path, '20250201', k=score(20))]).sections('teval')
    assert [head.date for head in section.rankings[0].heads.values()] == ['2025-01-01'], 'with fewer data sets'


def test_links_to_rows_survive_more_bundles(tmp_path: Path) -> None:
    put(tmp_path, '20260101', m=score(30), n=score(25))
    site = tmp_path / 'site'
    assert not write_site(tmp_path / 'bundles', site).faults
    before, link = anchors(site), re.compile(r'class="permalink" href="([^"]+)"')
    links = [(page, target) for page in before for target in link.findall((site / page).read_text())]
    assert len(before['index.html']) == 2 and len(links) > 4
    put(tmp_path, '20260201', m=score(10), o=score(40))
    put(tmp_path, '20250201', m=score(10, version='2'), n=score(11))
    assert not write_site(tmp_path / 'bundles', site).faults
    after = anchors(site)
    for page, (target, _, anchor) in ((page, target.partition('#')) for page, target in links):
        assert anchor in before[target or page] and anchor in after[target or page], target
    assert not before['index.html'] <= after['index.html'], 'another bundle of m is shown there now'


def test_a_bundle_that_fails_is_named_and_left_out(tmp_path: Path) -> None:
    good = put(tmp_path, '20260101', m=score(30))
    bad = put(tmp_path, '20260102', n=score(30))
    bad.write_bytes(bad.read_bytes()[:-9])
    good.with_name('copy.bundle').write_bytes(good.read_bytes())
    (good.parent / 'README.md').write_text('no bundle')
    built = write_site(good.parent, tmp_path / 'site')
    assert (built.bundles, built.models) == (1, 1)
    assert len(built.faults) == 1 and str(bad) in built.faults[0] and 'SHA-256' in built.faults[0]
    page = (tmp_path / 'site' / 'bundles.html').read_text()
    assert 'was changed or cut' in page and '1 bundle is left out' in (tmp_path / 'site' / 'index.html').read_text()


def test_a_bundle_that_changes_or_goes_after_a_build_is_named(tmp_path: Path) -> None:
    first = put(tmp_path, '20260101', m=score(30))
    second = put(tmp_path / 'other', '20260101', m=score(31))
    gone = put(tmp_path, '20260102', n=score(30))
    site, folder = tmp_path / 'site', first.parent
    assert write_site(folder, site).faults == ()
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    kept = gone.read_bytes()
    gone.unlink()
    put(tmp_path, '20260103', o=score(3))
    for _ in range(2):  # a build does not make it right
        changed, lost = write_site(folder, site).faults
        assert 'was changed since the site was built' in changed and str(first) in changed
        assert 'an earlier site has it' in lost and str(gone) in lost
    first.write_bytes(content)
    gone.write_bytes(kept)
    assert write_site(folder, site).faults == ()
    (site / 'bundles.json').write_text('[' * 100_000)
    with pytest.raises(DataError, match='cannot be read'):
        write_site(folder, site)


def test_private_sets_are_left_out(tmp_path: Path) -> None:
    own = {'tooleval-tasks-mine': score(30, benchmark='tasks', subset='mine'), 'mine-teval-plan_json': plan(30)}
    files = [put(tmp_path, '20260101', m={REVIEW: score(30), **own})]
    board = board_of(files)
    assert (board.private, board.material.datasets) == (2, (REVIEW,))
    board = board_of(files, include_private=True)
    assert (board.private, len(board.material.datasets)) == (0, 3)


def test_a_folder_without_bundles_and_one_of_others_are_named(tmp_path: Path) -> None:
    site = tmp_path / 'site'
    with pytest.raises(DataError, match='there are 0 bundles'):
        write_site(tmp_path, site)
    put(tmp_path, '20260101', m=score(3))
    site.mkdir()
    (site / 'mine.txt').write_text('keep')
    with pytest.raises(DataError, match='other files than a leaderboard'):
        write_site(tmp_path / 'bundles', site)
    assert (site / 'mine.txt').read_text() == 'keep'


@pytest.fixture(scope='module')
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('leaderboard')
    native = {REVIEW: score(30), f'{REVIEW}-fc': score(20)}
    put(folder, '20260101', alpha=native, beta=score(25))
    agent = score(7, benchmark='agents', subset='toolbench_g1')
    put(folder, '20260201', beta={REVIEW: score(3), 'tooleval-toolbench_g1-agent-react': agent})
    put(folder, '20260301', beta=score(35), gamma=score(40, version='4'))
    put(folder, '20260401', delta={'tooleval-funcqa-one_hop-cot': score(9, benchmark='funcqa', subset='one_hop')})
    hostile = {HOSTILE: HOSTILE, 'judge': HOSTILE, 'encoder': HOSTILE}
    name = 'm<img src=x onerror="window.ran=1">&amp;'
    put(folder, '20260501', **{name: {REVIEW: score(1, **hostile), 'd<b onclick=ran()>&': score(1, **hostile)}})
    return write_site(folder / 'bundles', folder / 'site').page


def visible(browser: Browser, selector: str) -> list[str]:
    return [element.text.split(' #')[0] for element in browser.all(selector) if element.is_displayed()]


@needs_chromium
def test_filters(browser: Browser, site: Path) -> None:
    browser.look()
    browser.open(site)
    rows, headings = f'#{MAIN} tbody th', 'section.ranked h2'
    assert visible(browser, headings)[:3] == ['T-Eval', 'T-Eval, native calls', 'FuncQA']
    apart = {'gamma', 'm<img src=x onerror="window.ran=1">&amp;'}
    assert visible(browser, rows)[:2] == ['beta', 'alpha'] and set(visible(browser, rows)[2:]) == apart
    assert len(browser.all(f'#{MAIN} .apart')) == 2, 'another version, another judge and encoder'
    browser.all('#filter')[0].send_keys('ALPH')
    assert visible(browser, headings) == ['T-Eval', 'T-Eval, native calls'] and visible(browser, rows) == ['alpha']
    browser.choose_of('method', 'function_calling')
    assert visible(browser, headings) == ['T-Eval, native calls']
    browser.choose_of('benchmark', 'funcqa')
    assert visible(browser, headings) == [] and browser.all('#nothing')[0].is_displayed()
    browser.all('#filter')[0].clear()
    browser.choose_of('method', 'plain')
    assert visible(browser, headings) == ['FuncQA']
    browser.choose_of('benchmark', '')
    browser.driver.execute_script(
        "const box = document.getElementById('since'); box.value = '2026-03-01'; box.dispatchEvent(new Event('input'))"
    )
    assert visible(browser, rows)[0] == 'beta' and set(visible(browser, rows)[1:]) == apart
    browser.check_quiet()


@needs_chromium
def test_a_permanent_link_shows_its_row(browser: Browser, site: Path) -> None:
    browser.look()
    browser.open(site)
    link = browser.all(f'#{MAIN} .permalink')[0].get_attribute('href')
    browser.driver.get(str(link))
    (row,) = browser.all('tr:target')
    browser.wait("document.querySelector('tr:target').getBoundingClientRect().top < innerHeight")
    assert row.text.startswith('2026-03-01') and '87.50' in row.text
    browser.driver.get(str(link).partition('#')[0])
    assert visible(browser, f'#{REVIEW}, h1') == ['beta']
    assert len(browser.all('#results tbody tr')) == 4
    ids = browser.driver.execute_script("return [...document.querySelectorAll('tr[id]')].map((row) => row.id)")
    assert len(set(ids)) == len(ids) > 9, 'the table of an agent has the name of its data set'
    browser.check_quiet()


@needs_chromium
@pytest.mark.parametrize(('width', 'dark'), LOOKS)
def test_pages_are_readable(browser: Browser, site: Path, width: int, dark: bool) -> None:
    browser.look(width, dark)
    hostile = next(site.parent.glob('model-m_img*.html'))
    for page in (site, site.with_name('teval.html'), site.with_name('bundles.html'), hostile):
        browser.open(page)
        assert browser.faults() == []
        assert browser.driver.execute_script('return document.documentElement.scrollWidth <= innerWidth')
        browser.shoot(f'{page.stem}-{width}-{dark}')
        browser.check_quiet()
