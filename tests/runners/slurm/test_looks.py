"""``tooleval run --within`` on Slurm: each look is a stage of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_run import run
from tests.cli.test_within import RECORDS, Counting, environment, result_in, server, words_of
from tests.runners.slurm.conftest import Testbed

__all__ = ['environment', 'server']


@pytest.mark.long
def test_looks_are_stages(
    testbed: Testbed, tmp_path: Path, server: tuple[Counting, str], environment: dict[str, str]
) -> None:
    script, url = server
    done = run(tmp_path, *words_of(url), '--within', '4', '--slurm', 'main', **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = result_in(tmp_path)['samples']['all']
    assert 100 < asked < RECORDS and len(script.times()) == asked and set(script.times().values()) == {1}
    assert 'look 2: 1 of 1 main scores are within 4' in done.stdout
