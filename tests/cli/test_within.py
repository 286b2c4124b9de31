"""``tooleval run --within``: growing samples, each record asked once, also if the run fails in the middle."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.statistics.sample import Sample
from tests.cli.conftest import DEMO, Command
from tests.cli.test_run import Recording, run
from tests.forked import run_tooleval
from tests.models.api.scripted_server import KEY, Refused, Request, serving
from tests.report.support import samples_of

RECORDS, RIGHT = 400, 380
REVIEW = 'tooleval-teval-review_str_v2'
NAME = 'teval-en-v2/review_str'


class Counting(Recording):
    """Answers with a letter; refuses everything after some questions."""

    most = 10_000

    def check(self, request: Request) -> None:
        if len(self.asked) > self.most:
            raise Refused(400, 'out of order')

    def times(self) -> Counter[str]:
        """Question -> how often it was answered; without the one before a run."""
        texts = Counter(request['messages'][-1]['content'] for request in self.asked[: self.most])
        return Counter({text: count for text, count in texts.items() if 'Number' in text})


@pytest.fixture
def server() -> Iterator[tuple[Counting, str]]:
    script = Counting()
    with serving(script) as url:
        yield script, url


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A data cache with 400 reviews, of which 380 have the letter that the server answers."""
    (record, *_) = json.loads((DEMO / 'EN' / 'review_str_v2.json').read_text()).values()
    records: dict[str, Any] = {}
    for number in range(RECORDS):
        prompt = [record['origin_prompt'][0], {'role': 'user', 'content': f'Number {number}'}]
        letter = 'A' if number % RECORDS < RIGHT else 'B'
        records[f'r{number}'] = {**record, 'origin_prompt': prompt, 'ground_truth': {'answer': letter, 'thought': ''}}
    file = tmp_path / 'cache' / 'data' / 'teval' / 'EN' / 'review_str_v2.json'
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(records))
    return {'COMPASS_DATA_CACHE': str(tmp_path / 'cache'), 'OPENAI_API_KEY': KEY}


def words_of(url: str, *more: str) -> tuple[str, ...]:
    return (NAME, '--model', 'm', '--api-base', url, '--temperature', '0', *more)


def result_in(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob(f'outputs/run/*/*/results/m/{REVIEW}.json')
    result: dict[str, Any] = json.loads(file.read_text())
    return result


def test_samples_grow_until_the_interval_is_narrow_enough(
    tmp_path: Path, server: tuple[Counting, str], environment: dict[str, str]
) -> None:
    script, url = server
    prices = ('--prices', '1', '1000')
    done = run(tmp_path, *words_of(url, *prices), '--within', '5', **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    result, sizes = result_in(tmp_path), [Sample(100, look=look).size(RECORDS) for look in range(1, 7)]
    asked = result['samples']['all']
    assert asked in sizes[1:5] and set(script.times().values()) == {1} and len(script.times()) == asked
    low, high = result['intervals']['review_quality']
    assert (high - low) / 2 <= 5 and low <= 100 * RIGHT / RECORDS <= high
    assert 'look 1: 0 of 1 main scores are within 5' in done.stdout
    shown = re.search(rf'\[{low:.2f}, {high:.2f}\], {asked} of 400 records; the rest costs about (\S+)', done.stdout)
    cost = result['usage']['cost']['total']
    assert shown and float(shown[1]) == pytest.approx(cost * (RECORDS - asked) / asked, abs=0.01)
    assert done.stdout.rstrip().endswith('report/index.html') and done.stdout.count('report: ') == 1
    (file,) = tmp_path.glob('outputs/run/*/*/report/files/sampled-teval.csv')
    (row,) = csv.DictReader(file.read_text(encoding='utf-8-sig').splitlines())
    numbers = [float(row[name]) for name in ('low', 'high', 'asked', 'of')]
    assert numbers == pytest.approx([low, high, asked, RECORDS], abs=0.005)
    assert row['cost of the rest, estimated'] == shown[1]
    page = (file.parent.parent / 'teval.html').read_text()
    assert 'Samples, with the 95% interval' in page and f'{asked} of 400, sampled' in page


@pytest.mark.long
def test_a_run_that_failed_continues(tmp_path: Path, server: tuple[Counting, str], environment: dict[str, str]) -> None:
    script, url = server
    script.most = 110
    failed = run(tmp_path, *words_of(url, '--max-workers', '1'), '--within', '5', **environment)
    assert failed.returncode == 1
    again = shlex.split(failed.stderr.split('continue with: ')[1].splitlines()[0])
    assert f'command:  {shlex.join(again)}\n' in failed.stdout
    assert again[:5] == ['tooleval', 'run', '--within', '5', '-r']
    answered = set(script.times())
    assert 100 <= len(answered) <= 110
    del script.asked[script.most :]
    script.most = 10_000
    config = max(tmp_path.glob('outputs/run/*/*/config*.py'), key=lambda file: file.name)
    config.write_text(config.read_text() + '# mine\n')
    settings = {**os.environ, **environment}
    refused = run_tooleval(*again[1:], cwd=tmp_path, env=settings)
    assert refused.returncode == 1 and 'it has changed since' in refused.stderr
    done = run_tooleval(*again[1:], '--trust', cwd=tmp_path, env=settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(script.times().values()) == {1} and result_in(tmp_path)['samples']['all'] == len(script.times())


@pytest.mark.long
def test_after_a_kill_in_the_second_look_the_report_has_the_scores_of_the_first(
    tmp_path: Path, server: tuple[Counting, str], environment: dict[str, str]
) -> None:
    script, url = server
    script.most = 150
    done = run(tmp_path, *words_of(url, '--max-workers', '1', '--prices', '1', '1000'), '--within', '5', **environment)
    (work,) = tmp_path.glob('outputs/run/*/*')
    assert done.returncode == 1 and 'look 2 is not complete' in done.stderr
    report = run_tooleval('report', work, '-o', 'out', cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    page = (tmp_path / 'out' / 'index.html').read_text(encoding='utf-8')
    shown = re.search(r'review_quality: ([\d.]+) \[', done.stdout)
    assert shown and f'>{shown[1]}<' in page and 'There are no results yet' not in page
    assert (
        '1 result is missing' in page
        and 'the latest look is not complete and the scores are those of the one before.' in page
    )
    assert [len(rows) for rows in samples_of(tmp_path / 'out')] == [100]
    status = run_tooleval('status', work, cwd=tmp_path).stdout
    (cost,) = re.findall(r'cost     in all: (\S+)', status)
    assert f'Cost in all, with judges and simulators: {cost}.' in page, 'of both looks'


def test_a_look_of_somebody_else_is_not_executed(
    tmp_path: Path, server: tuple[Counting, str], environment: dict[str, str], tooleval: Command
) -> None:
    folder = tmp_path / 'foreign'
    folder.mkdir()
    (folder / 'config.py').write_text(f'open({str(tmp_path / "ran")!r}, "w")\n')
    done = tooleval('run', '--within', 2, '-r', folder)
    assert done.code == 1 and 'somebody else made it' in done.err and not (tmp_path / 'ran').exists()
    for words, says in (
        (('-r', folder), '--within POINTS alone'),
        (('demo', '--within', 2, '-r', folder), '--within POINTS alone'),
        (('demo', '--within', 2, '--limit', 3, '--model', 'm'), 'give one of --within and --limit'),
        (('demo', '--within', 2, '--write-config', 'x.py', '--model', 'm'), 'runs several configs'),
        (('--model', 'm'), 'name data sets'),
        (('--within', 2, '-r', tmp_path), 'there is no run of tooleval run --within here'),
    ):
        refused = tooleval('run', *words)
        assert refused.code == 1 and says in refused.err, refused.err
