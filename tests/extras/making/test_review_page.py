"""The page of a review in headless Chromium: walked by keys, saved, loaded; hostile texts are shown as text."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from opencompass_tooleval.agents.tasks.goal import Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.making.decisions import carry_out, read_decisions
from opencompass_tooleval.extras.making.made_set import load_set
from opencompass_tooleval.extras.making.made_task import TASKS_FILE, MadeTask, Solution, SolvedCall
from opencompass_tooleval.extras.making.review_page import PAGE_FILE, page_data, warnings_of, write_page
from opencompass_tooleval.report.trajectories import OBSERVATION
from tests.extras.making.review_support import set_to_review, task_to_review, task_with_warnings
from tests.report.browser import LOOKS, Browser, needs_chromium
from tests.report.support import HOSTILE

PATIENCE = 600.0
SAVED = 'decisions-notes-Ann_Lee.json'


def test_warnings_and_their_order(tmp_path: Path) -> None:
    made = set_to_review(tmp_path)
    assert warnings_of(made.tasks[0]) == []
    assert warnings_of(task_with_warnings('w')) == [
        'The query contains a fact of the answer: 4,200',
        'The query names a tool or a parameter: read_note',
        'Simulated observations: 1 of 2.',
        'Calls that ended in an error: 1 of 2.',
        'Solved by one model only: one',
    ]
    gates = [
        {'name': 'not trivial', 'faults': {'t2': 'solved by all weak runs', 'gone': 'x'}},
        {'name': 'names in queries', 'faults': {'t1': 'read_note'}},
        *({'name': [], 'faults': {'t1': 'x'}}, {'name': 'x', 'faults': ['t1']}, None, {}),
    ]
    (tmp_path / 'check.json').write_text(json.dumps({'gates': gates}))
    shown = page_data(load_set(tmp_path))['tasks']
    assert [task['id'] for task in shown] == ['worst', 't2', 't0', 't1']
    assert shown[1]['warnings'] == ['not trivial: solved by all weak runs']
    for damaged in ('[]', 'no', '7', '"gates"', '{"gates": {}}', '{"gates": 7}'):
        (tmp_path / 'check.json').write_text(damaged)
        assert [task['id'] for task in page_data(load_set(tmp_path))['tasks']] == ['worst', 't0', 't1', 't2']


def opened(browser: Browser, folder: Path, *, fresh: bool = True) -> Path:
    """Opens the page of a set, without a draft of an earlier test."""
    page = folder / PAGE_FILE
    write_page(load_set(folder), page)
    browser.driver.execute_cdp_cmd('Browser.setDownloadBehavior', {'behavior': 'allow', 'downloadPath': str(folder)})
    browser.open(page)
    if fresh:
        browser.driver.execute_script('localStorage.clear()')
        browser.open(page)
    return page


def open_with_draft(browser: Browser, page: Path) -> None:
    """Opens a page until it finds its draft, which Chromium may still be writing."""
    end = time.monotonic() + PATIENCE
    browser.open(page)
    while 'draft' not in text(browser, '#status'):
        assert time.monotonic() < end, 'there is no draft'
        browser.open(page)


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        browser.driver.switch_to.active_element.send_keys(key)


def title(browser: Browser) -> str:
    return text(browser, '#task h2 .id')


def text(browser: Browser, selector: str) -> str:
    return browser.all(selector)[0].text


def saved(file: Path) -> Any:
    """What the browser saved, once it is there."""
    for _ in range(1000):
        if file.is_file():
            return json.loads(file.read_text('utf-8'))
        time.sleep(0.01)
    raise AssertionError(f'{file} was not saved')


@needs_chromium
def test_a_set_is_reviewed_by_keys_and_applied(browser: Browser, tmp_path: Path) -> None:
    set_to_review(tmp_path)
    browser.look()
    page = opened(browser, tmp_path)
    assert title(browser) == 'worst' and text(browser, '#progress') == '0 of 4 decided'
    assert 'Simulated observations: 1 of 2.' in text(browser, '#task .warning')
    assert len(browser.all('#task .act .source.simulated')) == 1
    press(browser, '?')
    assert 'undecided again' in text(browser, '#help')
    press(browser, 'd')
    assert title(browser) == 't0'
    for part in ('4,200', 'draft is gone', 'drop_note', 'read_note', 'list_notes', 'The price is 4,200 euros'):
        assert part in text(browser, '#task > .settings'), part
    press(browser, 'c', 'jad?', Keys.CONTROL + Keys.ENTER)  # what is typed is text
    assert text(browser, '#task .comment') == 'jad?'
    press(browser, 'c', ' and more', Keys.ESCAPE)
    assert text(browser, '#task .comment') == 'jad?'
    press(browser, 'a')
    assert title(browser) == 't1' and text(browser, '#progress').startswith('2 of 4 decided · 1 accepted · 1 dropped')
    press(browser, 'e', Keys.CONTROL + 'a', 'And the price?', Keys.TAB, Keys.TAB, 'euro', Keys.TAB, 'VAT')
    browser.all('#task input[value=list_notes]')[0].click()
    assert not browser.all('#task input[value=read_note]')[0].is_enabled(), 'a gold call'
    press(browser, Keys.CONTROL + Keys.ENTER)
    assert text(browser, '#status') == '', 'the answer holds euro within euros: apply is stricter'
    press(browser, 'e')
    assert [area.get_attribute('value') for area in browser.all('fieldset textarea')] == ['4,200', 'euro', 'VAT', '']
    press(browser, Keys.TAB, Keys.TAB, Keys.CONTROL + 'a', '9 dollars', Keys.CONTROL + Keys.ENTER)
    assert text(browser, '#status') == 'The right answer does not hold this fact: 9 dollars'
    press(browser, Keys.CONTROL + 'a', '4,200 euros', Keys.CONTROL + Keys.ENTER)
    assert text(browser, '#task pre.query') == 'And the price?'
    assert browser.all('#task h2 .tag')[0].text == 'accepted with edits'
    press(browser, 'j', 'j')
    assert title(browser) == 't2' and text(browser, '#status') == 'This is the last task.'
    press(browser, 'k', 'k')
    assert title(browser) == 't0'

    browser.driver.execute_script("document.querySelector('[name=filter]').focus()")
    press(browser, 'u')  # chooses 'undecided' from the list
    browser.wait("document.querySelector('#task h2').textContent.startsWith('t2')")
    assert len(browser.all('[name=task] option')) == 1
    press(browser, 's')
    assert browser.driver.switch_to.active_element.get_attribute('name') == 'reviewer'
    press(browser, 'Ann Lee', Keys.ENTER)
    rows = saved(tmp_path / SAVED)['decisions']
    assert {row['task']: (row['choice'], row['comment']) for row in rows} == {
        'worst': ('drop', ''),
        't0': ('accept', 'jad?'),
        't1': ('edit', ''),
    }
    browser.check_quiet()

    # A draft outlives the tab, and a file is loaded where there is none.
    open_with_draft(browser, page)
    assert text(browser, '#progress').startswith('3 of 4 decided')
    opened(browser, tmp_path)
    assert text(browser, '#progress') == '0 of 4 decided'
    load = browser.all('[name=load]')[0]
    load.send_keys(str(tmp_path / SAVED))
    browser.wait("document.querySelector('#status').textContent.startsWith('Loaded')")
    assert text(browser, '#progress').startswith('3 of 4 decided · 1 accepted · 1 accepted with edits · 1 dropped')
    assert browser.all('[name=reviewer]')[0].get_attribute('value') == 'Ann Lee'
    for name, content in (('no', 'no json'), ('other', '{"tooleval_decisions": 1, "decisions": [], "digest": ""}')):
        (tmp_path / f'{name}.json').write_text(content)
        load.send_keys(str(tmp_path / f'{name}.json'))
        browser.wait(f"document.querySelector('#status').textContent.startsWith('{name}.json was not loaded')")

    made = load_set(tmp_path)
    outcome = carry_out(made, [read_decisions(tmp_path / SAVED, made)])
    outcome.made.write()
    t0, t1, t2 = load_set(tmp_path).tasks
    assert (t0.is_reviewed, t0.comment) == (True, 'Ann Lee: jad?')
    assert (t1.task.query, t1.goal.facts) == ('And the price?', ('4,200', '4,200 euros', 'VAT'))
    assert (t1.goal.forbidden, t2.is_reviewed) == (('drop_note', 'list_notes'), False)
    open_with_draft(browser, opened(browser, tmp_path, fresh=False))
    assert text(browser, '#progress') == '2 of 3 decided · 1 accepted · 1 reviewed before · 1 not saved'
    browser.check_quiet()


def hostile_task(name: str) -> MadeTask:
    tools = (ToolSchema(HOSTILE, HOSTILE, {'type': 'object', 'properties': {HOSTILE: {}, '__proto__': {}}}),)
    gold = GoldCall(HOSTILE, {HOSTILE: HOSTILE, '__proto__': 1}, (HOSTILE,))
    goal = Goal(
        'recovery', ((gold,),), ((0, 0),), (HOSTILE,), {HOSTILE: HOSTILE}, (HOSTILE,), HOSTILE, HOSTILE, HOSTILE
    )
    goal = replace(goal, form='text', result=HOSTILE)
    calls = (
        SolvedCall(HOSTILE, {HOSTILE: HOSTILE}, f'{HOSTILE}{"x" * 200_000}', HOSTILE, HOSTILE, HOSTILE),
        SolvedCall('__proto__', {'__proto__': {'a': 1}}, '{"__proto__": 1}', '', 'constructor', 'toString'),
    )
    solutions = tuple(Solution(HOSTILE, calls, HOSTILE, {HOSTILE: HOSTILE}, (HOSTILE,)) for _ in range(12))
    task = Task(name, HOSTILE, f'{HOSTILE}\r\n', tools, (gold,), language='ZH', goal=goal)
    return MadeTask(task, solutions, HOSTILE, {HOSTILE: HOSTILE}, False, HOSTILE)


@needs_chromium
def test_hostile_texts_are_text(browser: Browser, tmp_path: Path) -> None:
    made = replace(set_to_review(tmp_path), source={'kind': HOSTILE}, tasks=())
    replace(made, name=HOSTILE).write()
    with pytest.raises(DataError, match='is no name of a set'):
        load_set(tmp_path)
    made.write()
    # As somebody else's file may be: with lone surrogates.
    tasks = (hostile_task(HOSTILE), hostile_task('__proto__'))
    (tmp_path / TASKS_FILE).write_text(''.join(f'{json.dumps(task.to_row())}\n' for task in tasks))
    page = opened(browser, tmp_path)
    assert (
        page.stat().st_size < 2_000_000
        and '\n[cut: ' in page_data(load_set(tmp_path))['tasks'][0]['solutions'][0]['calls'][0]['observation']
    )
    shown = HOSTILE.encode('utf-8', 'backslashreplace').decode()
    query = browser.driver.execute_script("return document.querySelector('#task .query').textContent")
    assert query == f'{shown}\r\n'
    observation = browser.driver.execute_script("return document.querySelector('pre.observation').textContent")
    assert observation.startswith(shown) and OBSERVATION < len(observation) < OBSERVATION + 100
    assert not browser.all('#task :is(script, img)') and '2 solutions more' in text(browser, '#task')
    assert len(browser.all('body > script')) == 2
    press(browser, 'e')
    press(browser, Keys.CONTROL + Keys.ENTER)  # nothing was changed: also not \r\n
    assert text(browser, '#progress') == '0 of 2 decided · 1 not saved'
    press(browser, 'a', 'c', HOSTILE[:30], Keys.CONTROL + Keys.ENTER, 'd', 's', 'Ann Lee', Keys.ENTER)
    name = browser.driver.execute_script("return document.querySelector('#status').textContent")
    file = tmp_path / name.removeprefix('Saved as ').removesuffix('.')
    assert file.name.startswith(f'decisions-{made.name}') and saved(file)['reviewer'] == 'Ann Lee'
    again = load_set(tmp_path)
    outcome = carry_out(again, [read_decisions(file, again)])
    outcome.made.write()
    (kept,) = load_set(tmp_path).tasks
    assert (kept.task.id, kept.task.query, kept.is_reviewed) == (shown, f'{shown}\r\n', True)
    assert [one.id for one in load_set(tmp_path).dropped[1:]] == ['__proto__']
    browser.check_quiet()


@needs_chromium
@pytest.mark.parametrize(('width', 'dark'), LOOKS)
def test_the_page_can_be_read_by_everybody(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    set_to_review(tmp_path, replace(task_to_review('t3'), is_reviewed=True, comment='Ann: fine'))
    browser.look(width, dark)
    opened(browser, tmp_path)
    browser.driver.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    for keys in (('?',), ('e',), (Keys.ESCAPE, 'd', 'a')):
        press(browser, *keys)
        assert browser.faults() == [] and browser.faint() == []
    browser.shoot(f'review-{width}-{"dark" if dark else "light"}')
    overflow = browser.driver.execute_script('return document.documentElement.scrollWidth - innerWidth')
    assert overflow <= 0
    browser.check_quiet()


@needs_chromium
@pytest.mark.long
def test_two_hundred_tasks_are_walked(browser: Browser, tmp_path: Path) -> None:
    more = [task_to_review(f'm{number}', observation='x' * 20_000) for number in range(200)]
    set_to_review(tmp_path, *more)
    browser.look()
    opened(browser, tmp_path)
    for number in range(204):
        press(browser, 'ad'[number % 2])
    assert text(browser, '#status') == 'Every task is decided: s saves the decisions file.'
    press(browser, 's', 'Ann Lee', Keys.ENTER)
    saved(tmp_path / SAVED)
    made = load_set(tmp_path)
    outcome = carry_out(made, [read_decisions(tmp_path / SAVED, made)])
    assert dict(outcome.counts) == {'accept': 102, 'edit': 0, 'drop': 102} and outcome.undecided == 0
    browser.check_quiet()
