"""Trajectories in real headless Chromium: step by step, as a tree, and two agents compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.report.build import write_report
from tests.report.agents import DATASET, add_agent, chain, search, tree
from tests.report.browser import LOOKS, Browser, needs_chromium
from tests.report.support import HOSTILE

pytestmark = needs_chromium

GOLD = [
    {'name': 'FlightBooking.search', 'arguments': {'destination': 'Rome'}, 'open_arguments': ['date']},
    {'name': 'Hotel.book', 'arguments': {'night': 1}, 'open_arguments': []},
    {'name': 'Taxi.call', 'arguments': {}, 'open_arguments': []},
]
MATCHES = [{'call': 0, 'same': True}, {'call': 3, 'same': False}, {'call': None, 'same': False}]


@pytest.fixture(scope='module')
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('agents')
    steps = (*chain().steps[:2], Step('Oslo, then.', (search('Oslo'),), 1))
    shorter = Trajectory('react', steps, 'Oslo.', '', (0, 1, 2), settings={'simulator': 'another'})
    solved = [
        {'value': 'Unsolved', 'decided_by': 'content', 'why': 'No hotel is booked.'},
        {'value': '', 'fault': 'no_verdict'},
    ]
    more: dict[str, Any] = {'gold': GOLD, 'matches': MATCHES, 'solved': solved}
    add_agent(folder / 'run', 'one', [chain(), tree(), chain()], **more)
    add_agent(folder / 'run', 'two', [shorter, tree('limit:calls'), chain()], gold=GOLD, matches=MATCHES)
    return write_report([folder / 'run'], folder / 'out').with_name('samples.html')


def open_sample(browser: Browser, page: Path, sample: int, other: str = '') -> None:
    browser.open(page, f'#model=one&dataset={DATASET}&sample={sample}{f"&other={other}" if other else ""}')
    browser.wait("document.querySelector('#sample article') !== null")


def texts(browser: Browser, selector: str) -> list[str]:
    return [part.text for part in browser.all(f'#sample {selector}')]


def test_an_agent_is_read_step_by_step(browser: Browser, page: Path) -> None:
    browser.look()
    open_sample(browser, page, 0)
    heads = texts(browser, '.step .head')
    assert heads[0] == 'Step 1 · 812 tokens in, 41 out · 1.2 s'
    assert heads[3] == 'Step 4 · choose tool · 1,500 tokens in, 33 out · 0.9 s'
    other, simulated = 'recorded for another task', 'simulated by a-simulator'
    sources = ['recorded', other, 'nearest recorded', simulated, 'emulated', 'error: unknown tool']
    assert texts(browser, '.act .source') == sources
    calls = texts(browser, '.act .call')
    assert calls[0] == 'FlightBooking.search gold call 1' and calls[3] == 'Hotel.book() gold call 2, other arguments'
    assert calls[-1] == 'Finish', 'what the loop itself answers has no source'
    arguments = 'destination: "Rome"\ndate: "2023-10-01"\npassengers: {"adults":2,"children":[]}'
    assert texts(browser, '.act .arguments')[0] == arguments
    assert 'the model saw 31 of 5,321 characters' in ''.join(texts(browser, '.from'))
    assert texts(browser, '.from')[1] == f'{other} recorded as an error: unable'
    assert texts(browser, '.gold li .wanted') == ['made', 'made, other arguments', 'not made']
    assert 'any value of date is correct' in texts(browser, '.gold li')[0]
    assert '2 observations left out of what was asked' in texts(browser, '.agent > .note')[0]
    assert texts(browser, '.asked summary')[0] == 'tools 1 offered: FlightBooking.search'
    assert texts(browser, '.end > pre.answer') == ['You fly to Rome.']
    judged = texts(browser, '.judged li')
    assert judged == ['solved: unsolved by content\nNo hotel is booked.', 'solved: not judged\nno_verdict']
    browser.all('#sample .legend summary')[0].click()
    assert f'{other}, with the same arguments' in texts(browser, '.legend')[0]
    browser.check_quiet()


def test_branches_that_were_left_are_folded(browser: Browser, page: Path) -> None:
    browser.look()
    open_sample(browser, page, 1)

    def heads() -> list[str]:
        return [head.split(' gave')[0] for head in texts(browser, '.step .head') if head]

    assert heads() == ['Step 1', 'Step 5', 'Step 6'], 'the way to the end'
    assert texts(browser, '.branch summary') == [
        f'abandoned branch: {steps}, 1 call' for steps in ('2 steps', '1 step')
    ]
    browser.all('#sample .branch summary')[0].click()
    assert heads() == [f'Step {number}' for number in (1, 2, 3, 5, 6)]
    left, kept = browser.all('#sample .branch .step')[0], browser.all('#sample .steps > .step')[0]
    assert left.rect['x'] > kept.rect['x']
    browser.check_quiet()


@pytest.mark.long
def test_two_agents_are_aligned_and_their_first_difference_is_marked(browser: Browser, page: Path) -> None:
    browser.look()
    open_sample(browser, page, 0, 'two')
    assert texts(browser, '.differs') == ['First difference: another tool']
    conditions = 'The models have different conditions: simulator a-simulator (one), another (two).'
    assert texts(browser, '.warning') == [conditions]
    assert texts(browser, 'article .legend summary') == ['Gold calls: 2 of 3 made'] * 2
    heads = browser.all('#sample .beside .head')
    tops = {' · '.join(head.text.split(' · ')[:2]): head.rect['y'] for head in heads}
    assert tops['one · Step 1'] == tops['two · Step 1'] < browser.all('#sample .differs')[0].rect['y']
    assert browser.all('#sample .differs')[0].rect['y'] < tops['one · Step 3']
    assert texts(browser, '.end > pre.answer') == ['You fly to Rome.', 'Oslo.']
    open_sample(browser, page, 2, 'two')
    assert texts(browser, '.differs') == ['All steps have the same calls and observations.']
    assert texts(browser, '.warning') == []
    open_sample(browser, page, 1, 'two')
    assert 'limit' in texts(browser, '.end .verdict')[0]
    browser.check_quiet()


@pytest.mark.parametrize(('width', 'dark'), LOOKS)
def test_agents_fit_and_can_be_read(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.look(width, dark)
    for sample, other in ((1, ''), (0, 'two')):
        open_sample(browser, page, sample, other)
        browser.driver.execute_script(
            "document.querySelectorAll('#sample details').forEach((it) => { it.open = true; })"
        )
        browser.shoot(f'agent-{sample}{other}-{width}-{"dark" if dark else "light"}')
        assert browser.driver.execute_script('return document.documentElement.scrollWidth') <= width
        assert browser.faults() == []


@pytest.mark.long
def test_needed_tools_are_beside_and_what_scrolls_is_reached_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    lines = '\n'.join(map(str, range(60)))
    long = Trajectory('react', (Step(lines, (AnsweredCall('a', {'x': lines}, lines, 'exact'),)),), lines, path=(0,))
    needed: dict[str, Any] = {'gold': [{'name': 'Hotel.book'}, {'name': 'Taxi.call'}], 'other': [{'deep': [1, 2]}] * 30}
    matches = [{'call': 3, 'same': True}, {'call': None, 'same': False}]
    add_agent(tmp_path / 'run', 'one', [chain(), long], matches=matches, **needed)
    page = write_report([tmp_path / 'run'], tmp_path / 'out').with_name('samples.html')
    browser.look()
    open_sample(browser, page, 0)
    assert texts(browser, '.gold h4') == ['Needed tools']
    assert texts(browser, '.gold .wanted') == ['called', 'not called']
    assert texts(browser, '.act .wanted') == ['a needed tool']
    open_sample(browser, page, 1)
    assert len(browser.all('#sample pre[tabindex]')) >= 4 and browser.faults() == []
    browser.check_quiet()


def test_hostile_and_large_trajectories_run_nothing(browser: Browser, tmp_path: Path) -> None:
    call = AnsweredCall(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, 'simulated')
    steps = (Step(HOSTILE, (call,), -1, HOSTILE, HOSTILE),)
    hostile = Trajectory(HOSTILE, steps, HOSTILE, HOSTILE, (0,), 1, {'simulator': HOSTILE})
    call = AnsweredCall('a', {'w': 'w' * 9_000}, 'x' * 1_000_000, 'exact')
    large = Trajectory('react', tuple(Step('t', (call,), i - 1) for i in range(5)), path=tuple(range(5)))
    branches = tuple(Step(str(i), (), max(-1, i - 1 - i % 2)) for i in range(600))
    deep = Trajectory('dfsdt', branches, stopped='limit:calls')
    gold = [{'name': HOSTILE, 'arguments': {HOSTILE: HOSTILE}, 'open_arguments': [HOSTILE]}]
    for model in ('one', 'two'):
        add_agent(tmp_path / 'run', model, [hostile, large, deep], gold=gold, matches=[{'call': 0, 'same': True}])
    page = write_report([tmp_path / 'run'], tmp_path / 'out').with_name('samples.html')
    script = page.parent / 'samples' / 'p0' / '0.js'
    assert script.stat().st_size < 500_000 and not set('<>&') & set(script.read_text('ascii'))
    browser.look(390)
    for sample, other in ((0, ''), (0, 'two'), (1, 'two'), (2, 'two')):
        open_sample(browser, page, sample, other)
        assert not browser.all('#sample img, #sample script')
        for owner in browser.all('#sample [data-tip]')[:20]:
            browser.driver.execute_script('showTip(arguments[0])', owner)
        assert browser.driver.execute_script('return document.documentElement.scrollWidth') <= 390
        browser.check_quiet()
