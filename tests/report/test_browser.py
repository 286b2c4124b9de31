"""Reports in real headless Chromium, opened from disk. Screenshots are kept in pytest's temporary folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from opencompass_tooleval.benchmarks.ultratool.figures import MAIN
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.report.build import write_report
from tests.report.browser import LOOKS, Browser, needs_chromium
from tests.report.support import HOSTILE, add, data_of, detail, hostile_run, plain_run, result_of, right_of, write

pytestmark = needs_chromium

REVIEW = 'tooleval-teval-review_str_v2'


@pytest.fixture(scope='module')
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('plain')
    return write_report([plain_run(folder / 'run')], folder / 'out')


def models(browser: Browser, board: str) -> list[str]:
    return [cell.text.split(' published')[0] for cell in browser.all(f'#board-{board} tbody th') if cell.is_displayed()]


def cells_of(row: WebElement) -> list[str]:
    return [cell.text for cell in row.find_elements('css selector', 'td')]


def width_of(browser: Browser) -> int:
    width: int = browser.driver.execute_script('return document.documentElement.scrollWidth')
    return width


def answer_is(browser: Browser, text: str) -> None:
    browser.wait(f"document.querySelector('#sample pre.answer')?.textContent === {json.dumps(text)}")


def test_the_first_screen_says_who_is_best(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain)
    assert browser.all('h1')[0].text.startswith('better leads worse by ')
    first, second = map(cells_of, browser.all('.ranking tbody tr'))
    assert [cell.text for cell in browser.all('.ranking tbody th')] == ['better', 'worse']
    assert first[1] == '–' and second[1].startswith('-')
    assert second[1].endswith(' significant') and 'not' not in second[1]
    height = browser.driver.execute_script('return innerHeight')
    seen = [*browser.all('#ranking'), *browser.all('#findings'), browser.all('#board-overview tbody tr')[0]]
    assert all(part.rect['y'] + part.rect['height'] <= height for part in seen), 'without scrolling'
    badge = browser.all('#board-overview .badge')[0]
    badge.send_keys('\n')
    tip = browser.all('#tip')[0]
    assert tip.is_displayed() and 'published number of records is unknown' in tip.text
    assert badge.get_attribute('aria-describedby') == 'tip'
    badge.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed() and plain.stat().st_size < 300_000
    browser.all('#findings a')[-1].click()
    browser.wait("document.querySelectorAll('#sample article').length === 2")
    browser.check_quiet()


def test_a_benchmark_is_sorted_filtered_and_drawn(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain.with_name('teval.html'))
    headings = browser.all('#board-tooleval-teval_v2 thead th button')
    assert [heading.text for heading in headings if heading.is_displayed()] == ['model', 'Review']
    assert models(browser, 'tooleval-teval_v2') == ['better', 'worse'], "the papers' models are folded"
    browser.all('#published')[0].click()
    heading = next(heading for heading in headings if heading.text == 'Review')
    assert heading.find_element('xpath', '..').get_attribute('aria-sort') == 'descending'
    merged = models(browser, 'tooleval-teval_v2')
    assert merged[0] == 'GPT-4-Turbo (Nov 2023)' and 0 < merged.index('better') < merged.index('worse')
    heading.send_keys('\n')  # the keyboard does it too
    assert models(browser, 'tooleval-teval_v2')[0] == 'WizardLM-70B'
    browser.all('#published')[0].click()
    assert models(browser, 'tooleval-teval_v2') == ['better', 'worse'], 'by the main score again'
    browser.all('#filter')[0].send_keys('BETT')
    assert models(browser, 'tooleval-teval_v2') == ['better']
    parts = browser.all(f'[data-reasons="{REVIEW}"] .share:nth-of-type(2) a')
    assert [part.get_attribute('aria-label') for part in parts] == ['worse: right 50.0%', 'worse: wrong review 50.0%']
    parts[1].click()
    browser.wait("location.pathname.endsWith('samples.html')")
    status_is(browser, '60 of 120 samples')
    browser.check_quiet()


def test_samples_open_on_what_was_lost_and_are_walked_by_keys(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain.with_name('samples.html'))
    status_is(browser, '60 of 120 samples')
    assert fragment(browser) == {'model': 'worse', 'dataset': REVIEW, 'reason': 'lost'}
    chips = [chip.text for chip in browser.all('#chips button')]
    assert chips == ['all 120', 'all lost points 60', 'right 60', 'wrong review 60']
    shown = cells_of(browser.all('#list tbody tr')[0])
    assert shown == ['r1', 'r1', 'answer of worse to r1', 'wrong review', '0.0']
    body = browser.all('body')[0]
    for key, record in (('j', 'r1'), ('j', 'r3'), ('k', 'r1')):
        body.send_keys(key)
        answer_is(browser, f'answer of worse to {record}')
    assert fragment(browser)['sample'] == '1'
    body.send_keys(Keys.ESCAPE)
    browser.wait("document.querySelector('#sample').childElementCount === 0")
    assert browser.driver.switch_to.active_element.text == 'r1'
    body.send_keys('/')
    browser.wait("document.activeElement.name === 'text'")
    browser.driver.switch_to.active_element.send_keys('jk/')  # what is typed there is text
    status_is(browser, '0 of 120 samples')
    browser.check_quiet()


def test_a_dialogue_is_read_turn_by_turn(browser: Browser, tmp_path: Path) -> None:
    name = 'tooleval-funcqa-one_hop-react'
    result = result_of([detail('r', 0.0, 'args:count')], provenance={'benchmark': 'funcqa', 'subset': 'one_hop'})
    add(tmp_path / 'run', 'm', name, result)
    call = AnsweredCall('add_', {'input': [1, 2]}, '3', 'function')
    steps = (Step('calls', (call,), asked='add'), Step('3', parent=0, asked='got 3'))
    trajectory = Trajectory('react', steps, 'Answer: 3', path=(0, 1))
    row = {'origin_prompt': 'Ask', 'prediction': trajectory.to_json(), 'record_id': 'r', 'infra': None}
    write(tmp_path / 'run', 'predictions', 'm', name, {'0': row})
    page = write_report([tmp_path / 'run'], tmp_path / 'out').with_name('samples.html')
    browser.open(page, '#sample=0')
    browser.wait("document.querySelectorAll('#sample .trace .turn').length === 4")
    turns = [turn.find_element('css selector', 'b').text for turn in browser.all('#sample .trace .turn')]
    assert turns == ['prompt, round 1', 'assistant', 'prompt, round 2', 'assistant']
    assert browser.all('#sample .call')[0].text.replace('\n', '') == 'add_({ "input": [ 1, 2 ] }) → 3'
    assert browser.all('#sample pre.answer')[0].text == 'Answer: 3'
    assert 'too few numbers or too many' in browser.all('#sample .verdict')[0].text
    browser.check_quiet()


def test_samples_are_filtered_opened_and_compared(browser: Browser, plain: Path) -> None:
    browser.look()
    page = plain.with_name('samples.html')
    browser.open(page, f'#model=worse&dataset={REVIEW}')
    status_is(browser, '120 of 120 samples')
    for name, value, left in (('reason', 'review:wrong', 60), ('domain', 'D0', 0), ('domain', 'all domains', 60)):
        browser.choose(name, value)
        status_is(browser, f'{left} of 120 samples')
    browser.all('[name=text]')[0].send_keys('to R119')
    status_is(browser, '1 of 120 samples')
    browser.all('#list button')[0].send_keys('\n')
    answer_is(browser, 'answer of worse to r119')
    browser.wait("document.querySelector('#sample .turn pre').textContent === 'Ask. r119'")
    browser.all('[name=text]')[0].clear()
    browser.choose('other', 'better')
    status_is(browser, '40 of 120 samples')
    browser.wait("document.querySelectorAll('#sample article').length === 2")  # what was open stays
    assert 'r119' in browser.all('#sample h2')[0].text and fragment(browser)['sample'] == '119'
    assert browser.driver.switch_to.active_element.get_attribute('id') != 'sample'
    browser.all('#list button')[0].click()
    browser.wait("!document.querySelector('#sample h2').textContent.includes('r119')")
    assert [it.text for it in browser.all('#sample article h3')] == ['worse', 'better']
    address = browser.driver.execute_script('return location.hash')
    browser.open(page, address)  # a view can be linked to
    browser.wait("document.querySelectorAll('#sample article').length === 2")
    status_is(browser, '40 of 120 samples')
    browser.open(page, f'#model=worse&dataset={REVIEW}&text=ask.+r11')
    status_is(browser, '0 of 120 samples')
    browser.driver.execute_script("document.querySelector('#filters .more').open = true")
    browser.all('[name=talk]')[0].click()  # in the conversation too
    status_is(browser, '11 of 120 samples')
    assert fragment(browser)['talk'] == '1'
    browser.check_quiet()


def status_is(browser: Browser, text: str) -> None:
    browser.wait(f"document.getElementById('status').textContent === {json.dumps(text)}")


def fragment(browser: Browser) -> dict[str, str]:
    return dict(parse_qsl(browser.driver.execute_script('return location.hash').removeprefix('#')))


def test_a_right_answer_scores_100_and_another_metric_can_be_chosen(browser: Browser, tmp_path: Path) -> None:
    dataset, metric = 'tooleval-funcqa-one_hop-cot', 'tool_error_rate'
    details = [
        detail('right', values={'accuracy': 1.0, metric: 0.0}),
        detail('wrong', values={'accuracy': 0.0, metric: 1.0}),
    ]
    add(tmp_path / 'run', 'm', dataset, result_of(details))
    page = write_report([tmp_path / 'run'], tmp_path / 'out').with_name('samples.html')
    browser.look()
    browser.open(page, '#from=100')
    status_is(browser, '1 of 2 samples')
    shown = cells_of(browser.all('#list tbody tr')[0])
    assert shown == ['right', 'right', 'answer of m to right', 'right', '100.0']
    chosen = Select(browser.all('[name=metric]')[0]).first_selected_option
    assert chosen.get_attribute('textContent') == 'accuracy'
    browser.choose('metric', metric)
    browser.wait("document.querySelector('#list td').textContent === 'wrong'")
    assert fragment(browser) == {'model': 'm', 'dataset': dataset, 'from': '100', 'metric': metric}
    browser.driver.refresh()
    browser.wait("document.querySelector('#list td')?.textContent === 'wrong'")
    browser.check_quiet()


def rows_of(browser: Browser, answered: Any, gold: Any) -> list[list[str]]:
    """Kind, path and texts of every row of a difference."""
    script = """return [...differences(...arguments).tBodies[0].rows].map(
        (row) => [row.className, ...[...row.cells].slice(1).map((cell) => cell.textContent)])"""
    found: list[list[str]] = browser.driver.execute_script(script, answered, gold)
    return found


def test_differences_tell_types_apart_and_are_of_the_steps_that_differ(browser: Browser, plain: Path) -> None:
    browser.open(plain.with_name('samples.html'))
    for answered, gold, expected in (
        ({'a': 3, 'b': 'x'}, {'a': '3', 'b': 'x'}, [['other', 'a', '3', '"3"'], ['same', 'b', 'x', 'x']]),
        ({'a': 'null'}, {'a': None}, [['other', 'a', '"null"', 'null']]),
        ({'a.b': 1}, {'a': {'b': 1}}, [['lacking', 'a.b', '', '1'], ['extra', '["a.b"]', '1', '']]),
        ({'constructor': 1}, {}, [['extra', 'constructor', '1', '']]),
        (None, None, []),
    ):
        assert rows_of(browser, answered, gold) == expected
    assert {row[0] for row in rows_of(browser, {'b': {}, 'a': []}, {'a': [], 'b': {}})} == {'same'}
    steps = [{'id': i, 'name': name} for i, name in enumerate('abc')]
    first = {'id': 9, 'name': 'z'}
    found = rows_of(browser, [first, *steps], steps)
    extra = [['extra', '[0].id', '9', ''], ['extra', '[0].name', 'z', '']]
    assert sorted(row for row in found if row[0] != 'same') == extra and ['same', '[1→0].name', 'a', 'a'] in found
    found = rows_of(browser, [first, *({**step, 'id': step['id'] + 1} for step in steps)], steps)
    assert [row[1] for row in found if row[0] == 'other'] == ['[1→0].id', '[2→1].id', '[3→2].id']
    assert rows_of(browser, ['a', 'c'], ['a', 'b', 'c'])[1] == ['lacking', '[1]', '', 'b']
    assert rows_of(browser, ['a', 'x'], ['a', 'y'])[1] == ['other', '[1]', 'x', 'y']


def test_differences_are_bounded(browser: Browser, plain: Path) -> None:
    browser.open(plain.with_name('samples.html'))
    wide = [[[j] * 50 for j in range(i % 7, 60)] for i in range(100)]
    script = """const start = performance.now(), deep = JSON.parse(arguments[0]), wide = arguments[1];
        const pairs = [[deep, [deep]], [wide, [...wide].reverse()], ['x'.repeat(1e6), 'y']];
        const tables = pairs.map(([answered, gold]) => differences(answered, gold));
        return [performance.now() - start, tables.map((table) => table.tBodies[0].rows.length),
            tables[2].textContent.length, tables[1].caption.textContent]"""
    took, rows, length, caption = browser.driver.execute_script(script, '{"a":[' * 200 + '1' + ']}' * 200, wide)
    assert took < 30_000 and rows == [1, 1000, 1] and length < 21_000
    assert caption == 'only the first 1000 arguments are shown'


def test_the_state_of_the_browser_stays_in_the_fragment(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain.with_name('samples.html'), f'#model=worse&dataset={REVIEW}')
    status_is(browser, '120 of 120 samples')
    browser.all('[name=text]')[0].send_keys('to r')  # all of them
    browser.wait("location.hash.includes('text=')")
    status_is(browser, '120 of 120 samples')
    browser.all('#pager button')[1].send_keys('\n')  # the field's event 'change' comes with this
    browser.wait("document.querySelector('#list button').textContent === 'r50'")
    assert fragment(browser)['page'] == '1'
    assert browser.driver.switch_to.active_element.text == 'Next'
    browser.driver.switch_to.active_element.send_keys('\n')  # the last page
    assert fragment(browser)['page'] == '2' and browser.driver.switch_to.active_element.text == 'Previous'
    browser.all('#list button')[1].click()
    answer_is(browser, 'answer of worse to r101')
    webdriver.ActionChains(browser.driver).pause(0.4).perform()  # longer than a field waits
    assert (fragment(browser)['page'], fragment(browser)['sample']) == ('2', '101')
    browser.driver.refresh()
    answer_is(browser, 'answer of worse to r101')
    assert browser.all('#list button')[0].text == 'r100'
    browser.all('.skip')[0].send_keys('\n')
    browser.wait("location.hash !== '#main'")
    assert (fragment(browser)['model'], fragment(browser)['sample']) == ('worse', '101')
    assert browser.all('#sample pre') and browser.all('#list button')[0].text == 'r100'
    browser.driver.execute_script(f"location.hash = '#model=better&dataset={REVIEW}'")  # all else is absent
    browser.wait("document.querySelector('#list button').textContent === 'r0'")
    assert browser.all('[name=text]')[0].get_attribute('value') == '' and not browser.all('#sample *')
    browser.check_quiet()


def test_a_sample_that_cannot_be_loaded_is_told(browser: Browser, tmp_path: Path) -> None:
    page = write_report([plain_run(tmp_path / 'run')], tmp_path / 'out').with_name('samples.html')
    pairs = data_of(page.parent / 'samples' / 'index.js')[0]['pairs']
    lost, broken = (page.parent / 'samples' / pair['folder'] / '0.js' for pair in pairs if pair['dataset'] == REVIEW)
    lost.unlink()
    broken.write_text('', encoding='ascii')
    browser.look()
    for model, said in (('better', 'cannot be loaded'), ('worse', 'is damaged')):
        browser.open(page, f'#model={model}&dataset={REVIEW}')
        status_is(browser, '120 of 120 samples')
        browser.all('#list button')[0].click()
        browser.wait(f"document.querySelector('#sample .warning')?.textContent.includes('{said}')")
        assert said in browser.all('#status')[0].text
    browser.driver.get_log('browser')  # the lost file is an error there


def scroll_to(browser: Browser, figure: str, texts: str, count: str) -> list[WebElement]:
    """Draws a figure, and returns its texts."""
    browser.driver.execute_script(f"document.querySelector('[data-figure={figure}]').scrollIntoView()")
    browser.wait(f"document.querySelectorAll('[data-figure={figure}] {texts}').length {count}")
    return browser.all(f'[data-figure={figure}] {texts}')


def test_names_in_charts_stay_inside_and_apart(browser: Browser, tmp_path: Path) -> None:
    metrics = ('overall', 'global_accuracy', 'local_accuracy', 'local_levenshtein', 'json_rate')
    domains = {'domains': {'1': {'overall': 90.0}, '2': {'overall': 80.0}, '10': {'overall': 70.0}}}
    prefix = 'a-model-with-a-rather-long-name-that-is-'
    for task in MAIN:
        result = result_of([detail('r', values=dict.fromkeys(metrics, 0.9))])
        add(tmp_path / 'run', 'm', f'tooleval-ultratool-{task}_en', result)
    for end in ('first', 'second'):
        result = result_of([detail('r')], breakdown=domains)
        add(tmp_path / 'run', f'{prefix}{end}-chat-of-many-parameters', 'tooleval-ultratool-planning_en', result)
    page = write_report([tmp_path / 'run'], tmp_path / 'out').with_name('ultratool.html')
    name = 'ultratool-en-json-rate'
    for width in (1280, 420):
        browser.look(width)
        browser.open(page)
        rects = [text.rect for text in scroll_to(browser, name, '.textpoint text', '> 6') if text.text]
        ends = [(r['x'], r['y'], r['x'] + r['width'], r['y'] + r['height']) for r in rects]
        plot = browser.all(f'[data-figure={name}] .plot .scatterlayer, [data-figure={name}] .chart')[0].rect
        assert len(ends) > 6 and all(plot['x'] <= a[0] and a[2] <= plot['x'] + plot['width'] for a in ends), width
        over = [(a, b) for i, a in enumerate(ends) for b in ends[:i] if a[0] < b[2] and b[0] < a[2]]
        assert width < 1280 or not [1 for a, b in over if a[1] + 2 < b[3] and b[1] + 2 < a[3]], 'none over another'
        assert not browser.all('.modebar-btn'), 'no zoom'
    browser.look()
    name = 'ultratool-en-domains'
    ticks = scroll_to(browser, name, '.ytick text', '=== 2')
    assert [it.text for it in browser.all(f'[data-figure={name}] .xtick text')] == ['1', '10', '2']
    assert len({tick.text for tick in ticks}) == 2 and all(tick.text.startswith('a-model-with') for tick in ticks)
    left = browser.all(f'[data-figure={name}] .chart')[0].rect['x']
    assert all(tick.rect['x'] >= left for tick in ticks), 'the axis makes room for its names'
    browser.check_quiet()


def test_a_report_can_be_printed(browser: Browser, tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'run')
    add(run, 'better', 'tooleval-teval-plan_json_v2', result_of([detail('r', values={'f1_score': 1.0})]))
    for i in range(20):
        add(run, 'better', f'a-data-set-with-a-rather-long-name-{i}', result_of([detail('r')]))
    page = write_report([run], tmp_path / 'out')
    browser.look(dark=True)
    browser.open(page.with_name('teval.html'))
    browser.wait('window.Plotly !== undefined')
    count = 'document.querySelectorAll(\'.chart .main-svg[width="650"]\').length'
    browser.driver.execute_script(f"addEventListener('beforeprint', () => {{ window.onPaper = {count}; }})")
    assert browser.driver.execute_script(f'return {count}') == 0
    browser.driver.execute_cdp_cmd('Page.printToPDF', {})
    browser.look_printed()
    browser.driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    (figure,) = [figure for figure in browser.all('figure[data-figure]') if figure.is_displayed()]
    assert browser.driver.execute_script('return window.onPaper') >= 1, 'charts stood, though nobody had scrolled there'
    chart = figure.find_element('css selector', '.main-svg')
    assert chart.is_displayed() and 300 < chart.size['width'] <= 700
    name = figure.find_element('css selector', '.angularaxistick text, .xtick text')
    assert name.value_of_css_property('fill') == 'rgb(0, 0, 0)', 'white paper, though the page is dark'
    for table in browser.all('table'):
        assert table.rect['x'] + table.rect['width'] <= 700, table.get_attribute('id')
    inside = "return [...document.querySelectorAll('td')].every((td) => td.getBoundingClientRect().right <= 700)"
    assert browser.driver.execute_script(inside)
    browser.shoot('printed')
    browser.look()
    browser.driver.execute_script("dispatchEvent(new Event('afterprint'))")
    browser.wait("document.querySelector('figure .main-svg').getBoundingClientRect().width > 700")
    browser.check_quiet()


@pytest.mark.parametrize(('width', 'dark'), LOOKS)
def test_pages_fit(browser: Browser, plain: Path, width: int, dark: bool) -> None:
    browser.look(width, dark)
    for name in sorted(page.stem for page in plain.parent.glob('*.html')):
        browser.open(plain.with_name(f'{name}.html'))
        if name == 'samples':
            browser.wait("document.querySelectorAll('#list button').length > 1")
        browser.shoot(f'{name}-{width}-{"dark" if dark else "light"}')
        assert width_of(browser) <= width and browser.faults() == [], name
    back = browser.driver.execute_script('return getComputedStyle(document.body).backgroundColor')
    assert (back == 'rgb(255, 255, 255)') is not dark
    for other, columns in (('', 4 if width < 600 else 5), ('&other=better', 5 if width < 600 else 7)):
        browser.open(plain.with_name('samples.html'), f'#model=worse&dataset={REVIEW}{other}')
        browser.wait("document.querySelectorAll('#list button').length > 1")
        cells = [cell for cell in browser.all('#list tbody tr:nth-child(2) td') if cell.is_displayed()]
        scores = [cell for cell in cells if cell.get_attribute('class') == 'score']
        assert len(cells) == columns and width_of(browser) <= width
        assert all(cell.get_property('scrollWidth') <= cell.get_property('clientWidth') for cell in scores)


def test_a_table_that_is_cut_says_so_until_its_end_is_seen(browser: Browser, tmp_path: Path) -> None:
    for model in ('a-model-with-a-name', 'another-model-with-a-name', 'one-more-model-with-a-name'):
        add(tmp_path / 'run', model, REVIEW, result_of([detail(f'r{i}') for i in range(9)]))
    page = write_report([tmp_path / 'run'], tmp_path / 'out')
    hint = "getComputedStyle(document.querySelector('#board-overview-section .scroll'), '::before').content"
    browser.look(1280)
    browser.open(page)
    browser.wait(f"{hint} === 'none'")
    browser.look(390)
    browser.wait(f"{hint}.includes('scroll')")
    browser.driver.execute_script("document.querySelector('#board-overview-section .scroll').scrollLeft = 9999")
    browser.wait(f"{hint} === 'none'")


def test_a_digest_is_short_to_read_and_whole_to_copy(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain.with_name('provenance.html'))
    digest = browser.all('.digest')[0]
    whole = str(digest.get_property('textContent'))
    assert len(whole) == 64 and digest.rect['width'] < 160
    browser.driver.execute_script('getSelection().selectAllChildren(arguments[0])', digest)
    assert browser.driver.execute_script('return String(getSelection())') == whole
    browser.driver.execute_script('arguments[0].focus()', digest)
    assert browser.all('#tip')[0].text == whole, 'by keyboard too'


def test_the_charts_of_a_model_are_on_one_row_in_the_order_of_the_ranking(browser: Browser, tmp_path: Path) -> None:
    for model, right in (('a-worse', 2), ('z-better', 9)):
        for ending in ('', '-easytool'):
            add(tmp_path / 'run', model, f'{REVIEW}{ending}', result_of(right_of(right, 10)))
    page = write_report([tmp_path / 'run'], tmp_path / 'out')
    browser.look()
    browser.open(page.with_name('easytool.html'))
    rows: dict[float, list[str]] = {}
    for figure in browser.all('figure'):
        title = figure.find_element('css selector', 'h3').text
        rows.setdefault(figure.rect['y'], []).append(title.rpartition(': ')[2])
    assert [*rows.values()] == [['z-better'] * 2, ['a-worse'] * 2]
    assert browser.all('#easytool td')[0].text == 'z-better'


def test_long_names_fit(browser: Browser, tmp_path: Path) -> None:
    for number in range(6):
        result = result_of(right_of(9 - number, 9))
        add(tmp_path / 'run', f'{"a_name_without_a_break_" * 4}{number}', REVIEW, result)
    page = write_report([tmp_path / 'run'], tmp_path / 'out')
    for width in (390, 1280):
        browser.look(width)
        for name in ('teval', 'index'):
            browser.open(page.with_name(f'{name}.html'))
            assert width_of(browser) <= width, name
    scroll = browser.all('#ranking .scroll')[0]
    assert scroll.get_property('scrollWidth') <= scroll.get_property('clientWidth'), 'intervals are seen'


def test_of_errors_fewer_come_first(browser: Browser, tmp_path: Path) -> None:
    for model, right, wrong in (('a', 8, 6), ('b', 7, 1), ('c', 6, 3)):
        values = [{'accuracy': float(i < right), 'tool_error_rate': float(i < wrong)} for i in range(10)]
        result = result_of([detail(f'r{i}', values=of_sample) for i, of_sample in enumerate(values)])
        for subset in ('one_hop', 'multi_hop'):
            add(tmp_path / 'run', model, f'tooleval-funcqa-{subset}-easytool', result)
    browser.look()
    browser.open(write_report([tmp_path / 'run'], tmp_path / 'out').with_name('funcqa.html'))
    board = 'tooleval-funcqa-easytool'
    heading = next(one for one in browser.all(f'#board-{board} thead button') if one.text == 'Tool errors')
    for order in (['b', 'c', 'a'], ['a', 'c', 'b']):
        heading.click()
        assert models(browser, board) == order
    browser.check_quiet()


def test_hostile_texts_run_nothing(browser: Browser, tmp_path: Path) -> None:
    page = write_report([hostile_run(tmp_path / 'run')], tmp_path / 'out')
    browser.look()
    for name in sorted(page.parent.glob('*.html')):
        browser.open(name)
        for figure in browser.all('figure[data-figure]'):
            browser.driver.execute_script('arguments[0].scrollIntoView()', figure)
            browser.driver.execute_script('return draw(arguments[0])', figure)  # waits for the promise
        for owner in browser.all('[data-tip]'):
            browser.driver.execute_script('showTip(arguments[0])', owner)
        browser.check_quiet()
    browser.open(page.with_name('samples.html'))
    browser.wait("document.querySelectorAll('#list button').length === 1")
    browser.all('#list button')[0].click()
    browser.wait("document.querySelector('#sample .turn pre') !== null")
    shown = browser.driver.execute_script("return JSON.stringify(document.querySelector('#sample pre').textContent)")
    assert json.loads(shown) == HOSTILE
    assert not browser.all('#sample img, #sample script')
    browser.check_quiet()


def test_keys_that_mean_something_to_the_browser_are_keys(browser: Browser, tmp_path: Path) -> None:
    names = ('__proto__', 'constructor', 'toString')
    odd = {'gold': dict.fromkeys(names, 1), 'parsed': {name: {name: 2} for name in names}}
    add(tmp_path / 'run', 'm', REVIEW, result_of([detail('one', **odd, steps=[{'__proto__': 'kept'}])]))
    browser.open(write_report([tmp_path / 'run'], tmp_path / 'out').with_name('samples.html'), '#sample=0')
    browser.wait("document.querySelector('#sample .diff tbody tr') !== null")
    rows = [cells_of(row)[1:] for row in browser.all('#sample .diff tbody tr')]
    assert rows == [[name, f'{{\n "{name}": 2\n}}', '1'] for name in names]
    assert any('"__proto__": "kept"' in str(part.get_attribute('textContent')) for part in browser.all('#sample pre'))
    browser.check_quiet()
