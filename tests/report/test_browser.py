"""Reports in real headless Chromium, opened from disk. Screenshots are kept in pytest's temporary folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.report.build import write_report
from tests.report.browser import LOOKS, Browser, needs_chromium
from tests.report.support import HOSTILE, add, data_of, detail, hostile_run, plain_run, result_of, write

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


@pytest.mark.long
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


@pytest.mark.long
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
    steps: list[dict[str, Any]] = [{'id': i, 'name': name} for i, name in enumerate('abc')]
    first = {'id': 9, 'name': 'z'}
    found = rows_of(browser, [first, *steps], steps)
    extra = [['extra', '[0].id', '9', ''], ['extra', '[0].name', 'z', '']]
    assert sorted(row for row in found if row[0] != 'same') == extra and ['same', '[1→0].name', 'a', 'a'] in found
    found = rows_of(browser, [first, *({**step, 'id': step['id'] + 1} for step in steps)], steps)
    assert [row[1] for row in found if row[0] == 'other'] == ['[1→0].id', '[2→1].id', '[3→2].id']
    assert rows_of(browser, ['a', 'c'], ['a', 'b', 'c'])[1] == ['lacking', '[1]', '', 'b']
    assert rows_of(browser, ['a', 'x'], ['a', 'y'])[1] == ['other', '[1]', 'x', 'y']


@pytest.mark.long
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


def test_the_page_of_the_list_stays_in_the_address(browser: Browser, plain: Path) -> None:
    browser.look()
    browser.open(plain.with_name('samples.html'), f'#model=worse&dataset={REVIEW}')
    status_is(browser, '120 of 120 samples')
    browser.all('#pager button')[1].send_keys('\n')
    browser.wait("document.querySelector('#list button').textContent === 'r50'")
    assert fragment(browser)['page'] == '1'
    browser.driver.refresh()
    browser.wait("document.querySelector('#list button')?.textContent === 'r50'")
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
        widths: list[Any] = [(cell.get_property('scrollWidth'), cell.get_property('clientWidth')) for cell in scores]
        assert all(inner <= outer for inner, outer in widths)


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


@pytest.mark.long
def test_keys_that_mean_something_to_the_browser_are_keys(browser: Browser, tmp_path: Path) -> None:
    names = ('__proto__', 'constructor', 'toString')
    odd: dict[str, Any] = {'gold': dict.fromkeys(names, 1), 'parsed': {name: {name: 2} for name in names}}
    add(tmp_path / 'run', 'm', REVIEW, result_of([detail('one', **odd, steps=[{'__proto__': 'kept'}])]))
    browser.open(write_report([tmp_path / 'run'], tmp_path / 'out').with_name('samples.html'), '#sample=0')
    browser.wait("document.querySelector('#sample .diff tbody tr') !== null")
    rows = [cells_of(row)[1:] for row in browser.all('#sample .diff tbody tr')]
    assert rows == [[name, f'{{\n "{name}": 2\n}}', '1'] for name in names]
    assert any('"__proto__": "kept"' in str(part.get_attribute('textContent')) for part in browser.all('#sample pre'))
    browser.check_quiet()
