"""What servers lost, in the report: a note, a table by cause, samples with the model's own text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.trajectory import Step, Trajectory
from opencompass_tooleval.extras.attribution.causes import ERROR, NONE, PARSER, TEMPLATE, UNKNOWN
from opencompass_tooleval.extras.attribution.pages import fault_tables, shown_fault
from opencompass_tooleval.report.build import write_report
from opencompass_tooleval.results.table import read
from tests.report.browser import LOOKS, Browser, needs_chromium
from tests.report.support import HOSTILE, add, data_of, detail, plain_run, result_of, write

REVIEW = 'tooleval-teval-review_str_v2'
AGENT = 'tooleval-teval-agent-fc'
LOSS = {'served': 50.0, 'written': 60.0, 'lost': 10.0, 'low': 4.0, 'high': 18.0}


def served_run(folder: Path, raw: str = '<tool_call>A</tool_call>', note: str = 'of 1 calls 1 lost') -> Path:
    """Of 20 answers the server lost 2; an agent of which one step lost a call; a data set without raw texts."""
    lost = {'cause': PARSER, 'note': note, 'raw': raw[:500], 'written': {'review_quality': 1.0}}
    details = [detail(f'r{i}', 0.0, 'review:wrong', **({'serving': lost} if i < 2 else {})) for i in range(10)]
    details += [detail(f'r{i}') for i in range(10, 20)]
    causes = {NONE: 18, PARSER: 2}
    add(folder, 'm', REVIEW, result_of(details, serving={'causes': causes, 'points': {'review_quality': LOSS}}))
    about = {'origin_prompt': 'Ask', 'infra': None}
    rows: dict[str, Any] = {str(i): {'prediction': 'served', 'record_id': f'r{i}', **about} for i in range(20)}
    for i in ('0', '1'):
        rows[i]['serving'] = {**lost, 'raw': raw, 'written': {'text': f'read {raw}'}}
    write(folder, 'predictions', 'm', REVIEW, rows)
    one = detail('t0', 0.0, 'finish:missing', serving={'cause': TEMPLATE, 'note': 'the prompt lacks tools'})
    agents = {'benchmark': 'agents', 'subset': 'teval', 'loop': 'fc'}
    counts = {'causes': {TEMPLATE: 1}, 'points': {}}
    add(folder, 'm', AGENT, result_of([one], provenance=agents, serving=counts))
    fault = {'cause': TEMPLATE, 'note': 'the prompt lacks tools', 'raw': raw}
    trajectory = Trajectory('fc', (Step('a'), Step('b', parent=0, observed=fault)), path=(0, 1))
    text = trajectory.to_json().replace('"observed"', '"serving"')  # as earlier versions wrote it
    assert '"serving"' in text
    row = {'prediction': text, 'record_id': 't0', 'serving': fault, **about}
    write(folder, 'predictions', 'm', AGENT, {'0': row})
    unknown = result_of([detail('u')], serving={'causes': {UNKNOWN: 1}, 'points': {}})
    add(folder, 'm', 'tooleval-teval-plan_json_v2', unknown)
    return folder


def test_the_table_has_points_and_samples_by_cause(tmp_path: Path) -> None:
    material = read([served_run(tmp_path / 'run')])
    (table,) = fault_tables('teval', material.scored)
    assert table.columns[3:] == (
        'as served', 'as written', 'lost [95%]', 'parser of the server', 'prompt incomplete', 'unknown', 'answers',
    )  # fmt: skip
    by_score = {row[2]: (row, link) for row, link in zip(table.rows, table.links, strict=True)}
    row, link = by_score['Review']
    assert row[3:] == ('50.00', '60.00', '10.0 points [4.0, 18.0]', '2', '', '', '20')
    assert link[6] == f'model=m&dataset={REVIEW}&cause=serving%3Aparser' and link[8] == '', 'no samples are unknown'
    assert not list(fault_tables('teval', read([plain_run(tmp_path / 'plain')]).scored))


def test_texts_are_bounded_and_those_of_a_missing_file_are_the_results(tmp_path: Path) -> None:
    raw = 'x' * 19_000
    out = write_report([served_run(tmp_path / 'run', raw)], tmp_path / 'out').parent
    samples = [row for script in sorted(out.glob('samples/p*/0.js')) for row in data_of(script)[1]]
    (first, *_) = [row['serving'] for row in samples if 'trajectory' not in row and 'serving' in row]
    assert first['raw'] == raw and first['values'] == {'review_quality': 1.0}
    part = {'cause': PARSER, 'note': 'n', 'raw': 'short', 'written': {'a': 0.5, 'b': None}}
    found = shown_fault({'serving': part}, {}, 15)
    assert found == {'cause': PARSER, 'note': 'n', 'raw': 'short', 'values': {'a': 0.5}}
    assert shown_fault({'serving': part}, {}, 3)['raw'] == 'sho\n[cut: 5 characters]'
    for odd in (None, 3, {'cause': []}, {'cause': NONE}, {'cause': ERROR, 'note': 4}):
        assert shown_fault({'serving': odd}, {'serving': odd}, 9) == {}


@needs_chromium
@pytest.mark.parametrize(('width', 'dark'), LOOKS)
def test_a_lost_call_is_found_and_read(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    browser.look(width, dark)
    hostile = HOSTILE.replace('\ud800', '')  # the driver cannot read it
    first = write_report([served_run(tmp_path / 'run', f'{hostile}<tool_call>', hostile)], tmp_path / 'out')
    browser.open(first)
    assert not browser.faults()
    losses = [note.text for note in browser.all('#notes li') if "the server's parser" in note.text]
    assert len(losses) == 1 and losses[0].startswith('WARNING m: 10.0 points [4.0, 18.0]'), losses
    browser.open(first.with_name('teval.html'))
    browser.driver.execute_script("document.querySelector('#serving-teval details').open = true")
    link = browser.all('#serving-teval a')[0]
    assert link.text == '2' and not browser.faults()
    link.click()
    browser.wait("document.querySelector('#status')?.textContent === '2 of 20 samples'")
    chip = browser.all('#chips [aria-pressed=true]')[-1]
    assert chip.text == 'parser of the server 2'
    chip.click()
    browser.wait("document.querySelector('#status')?.textContent === '20 of 20 samples'")
    browser.all('#chips button')[-1].click()
    browser.wait("document.querySelector('#status')?.textContent === '2 of 20 samples'")
    browser.all('body')[0].send_keys('j')
    browser.wait("document.querySelector('#sample .server')")
    fault = browser.all('#sample .server')[0].text
    assert fault.startswith('parser of the server the server lost') and 'As the model wrote it: Review 100.0' in fault
    assert browser.all('#sample pre.answer')[0].text == 'served', 'the raw text is no answer'
    browser.all('#sample details.raw summary')[0].click()
    assert '</script><script>' in browser.all('#sample pre.raw')[0].text
    assert not browser.faults()
    assert browser.driver.execute_script('return window.ran') is None
    browser.shoot(f'serving-{width}-{dark}')
    browser.open(first.with_name('samples.html'), f'#model=m&dataset={AGENT}&sample=0')
    browser.wait("document.querySelector('#sample .step details.raw')")
    assert 'prompt incomplete' in browser.all('#sample .step')[1].text
    assert 'prompt incomplete' not in browser.all('#sample .step')[0].text
    browser.check_quiet()
