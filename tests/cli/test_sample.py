"""``tooleval run --sample``: what the server receives, and what the screens say of a part of the records."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.cli.conftest import Command
from tests.cli.test_run import TWO_SUBSETS, Recording, run, server
from tests.forked import run_opencompass
from tests.models.api.scripted_server import KEY

__all__ = ['server']

REVIEW = 'tooleval-teval-review_str_v2'


def asked_of(script: Recording) -> set[str]:
    """The conversations that the server got, without the question before a run."""
    return {json.dumps(request['messages']) for request in script.asked if 'max_tokens' in request} - {
        json.dumps(script.asked[0]['messages'])
    }


def result_of(folder: Path, dataset: str = REVIEW, model: str = 'm') -> dict[str, Any]:
    (file,) = folder.glob(f'outputs/run/*/*/results/{model}/{dataset}.json')
    result: dict[str, Any] = json.loads(file.read_text())
    return result


def test_a_sample_is_asked_and_said(tmp_path: Path, server: Recording, tooleval: Command) -> None:
    words = (TWO_SUBSETS[0], '--model', 'm', '--api-base', server.url)
    done = run(tmp_path, *words, '--sample', '2', OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stdout + done.stderr
    sampled, result = asked_of(server), result_of(tmp_path)
    assert len(sampled) == 4, 'two records of each language'
    assert result['samples'] == {**result['samples'], 'all': 2, 'of': 6} and 'first' not in result['samples']
    assert {result['provenance'][name] for name in ('sample_seed', 'sample_draw')} == {0, 'queries'}
    assert '2 of 6, sampled' in done.stdout
    assert 'Samples, with the 95% interval of the score of all records:' in done.stdout
    low, high = result['intervals']['review_quality']
    shown = f'{result["review_quality"]:.2f} [{low:.2f}, {high:.2f}], 2 of 6 records'
    assert f'  m, teval-review_str_v2 review_quality: {shown}\n' in done.stdout
    (config,) = tmp_path.glob('outputs/run/*/*/config.py')
    assert 'records: 2 of 6, sampled (teval-review_str_v2)' in tooleval('status', config.parent).out
    both = tooleval('run', *words, '--limit', '2', '--sample', '2')
    assert both.code == 1 and 'give one of --sample and --limit' in both.err
    # With more records, the same run asks only those that the smaller sample lacks.
    config.write_text(config.read_text().replace("'n': 2", "'n': 3"))
    del server.asked[1:]
    again = run_opencompass(
        str(config), '-r', config.parent.name, '--debug', cwd=tmp_path, env={**os.environ, 'OPENAI_API_KEY': KEY}
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert len(asked_of(server)) == 2 and not asked_of(server) & sampled
    assert '3 of 6, sampled' in again.stdout and result_of(tmp_path)['samples']['all'] == 3
