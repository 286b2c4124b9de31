"""Fixes of missing results, by their errors: to run again is suggested only if it can help."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from opencompass_tooleval.work_dir.causes import causes_of, fix_of, one_line_if_unusable, resuming
from opencompass_tooleval.work_dir.trust import run_trustee

RUN = Path('out/20260101_000000')
AGAIN = 'opencompass CONFIG -w out -r 20260101_000000'
REFUSED = 'd: AskingEndedError: http://127.0.0.1:1/v1: status {}: {{"error": {{"message": "no"}}}}'


NOBODY = 'no connection to 127.0.0.1:18999 (refused)'
START = 'start the server, or correct `openai_api_base` in CONFIG'
LOST = f'd: InfraFailureError: d: 2 of 2 samples have no answer (infra:connection 2); 2 of them: {NOBODY}.'
AWAY = f'd: AskingEndedError: http://127.0.0.1:18999/v1: not reached for 9 s (patience): {NOBODY}.'
FETCH, INSTALL = 'hf download e', "pip install 'x[offline]'"


@pytest.mark.parametrize(
    ('error', 'first'),
    [
        ('d: DataError: x. Fix it with: tooleval prepare teval', 'tooleval prepare teval'),
        (f"d: EncoderMissingError: encoder 'e' is not on this machine; fetch it with: {FETCH}", FETCH),
        (f"d: EncoderMissingError: encoder 'offline' is not installed; install it with: {INSTALL}", INSTALL),
        (REFUSED.format(401), "put the right key where the model's config reads it"),
        (REFUSED.format(404), "correct the model's `path`"),
        ("d: ValueError: scoring 'oficial' is not one of official, strict", 'correct CONFIG'),
        ("d: TypeError: load() got an unexpected keyword argument 'x'", 'correct CONFIG'),
        ("d: OSError: [Errno 28] No space left on device: 'x'", 'free space on the disk of'),
        ('OSError: [Errno 122] Disk quota exceeded', 'free space on the disk of'),
        ('d: ValueError: OpenAI API key is not set.', 'export OPENAI_API_KEY=...'),
        ('d: ValueError: there is no key: export ANTHROPIC_API_KEY=..., or set key', 'export ANTHROPIC_API_KEY=...'),
        (
            "d: PermissionError: [Errno 13] Permission denied: '/data/x y'",
            'make /data/x y readable and writable for this',
        ),
        (
            "d: OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them",
            'correct `path` of the model in CONFIG, or with a network: hf download NAME',
        ),
        (
            'd: OSError: a/b is not a local folder and is not a valid model identifier listed on',
            'correct `path` of the mod',
        ),
        (LOST, START),
        (AWAY, START),
    ],
)
def test_what_has_to_change_first(error: str, first: str) -> None:
    step, then = fix_of(error, RUN)
    assert step.startswith(first) and then == AGAIN


@pytest.mark.parametrize('error', ['', 'd: RuntimeError: out of memory', 'ended by SIGKILL', REFUSED.format(503)])
def test_what_running_again_may_help(error: str) -> None:
    assert fix_of(error, RUN) == [f'{AGAIN}    (finished work is kept)']


def test_a_server_cannot_name_a_folder_to_open() -> None:
    quoted = "d: InfraFailureError: 1 of 9 samples have no answer (infra:server 1): [Errno 13] Permission denied: '/x'"
    assert fix_of(quoted, RUN) == [f'tooleval retry {RUN}']


def test_the_advice_after_unreadable_replies_is_not_cut() -> None:
    advice = f'Evaluate again with opencompass CONFIG -m eval -r TIME: {"what is judged is kept; " * 20}in /x/judge'
    why = '3 of 9 could not be judged, for example r1: 3 unreadable reply. At most 1% may be.'
    (cause,) = causes_of([('d', 'd', f'd: UnjudgedError: {why} {advice}')], RUN)
    assert cause.fix == [advice, AGAIN] and cause.whys[0].endswith('3 unreadable reply. At most 1% may be.')


def test_commands_have_the_key_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fix_of('d: InfraFailureError: 3 of 4 samples have no answer', RUN) == [f'tooleval retry {RUN}']
    assert fix_of('d: DataError: x. Fix it with: opencompass ... -r', RUN) == ['opencompass ... -r']
    monkeypatch.setenv('TOOLEVAL_KEY_ENV', 'OPENAI_API_KEY=MYK')
    assert fix_of('', RUN) == [f'OPENAI_API_KEY="$MYK" {AGAIN}    (finished work is kept)']
    assert fix_of('d: InfraFailureError: x', RUN) == [f'OPENAI_API_KEY="$MYK" tooleval retry {RUN}']
    for hostile in ('x; rm -rf y', 'OPENAI_API_KEY=x; rm -rf y', 'x; rm -rf y=MYK'):
        monkeypatch.setenv('TOOLEVAL_KEY_ENV', hostile)
        assert fix_of('', RUN) == [f'{AGAIN}    (finished work is kept)']


REFUSED_ALL = '{0}: InfraFailureError: {0}: {1} of {1} samples have no answer (infra:bad_request {1}), more than x'
SAID = '; {} of them: status 400: {}. The other answers are kept. Run again with -r.'


def test_errors_are_grouped_by_the_words_of_the_server_and_by_their_fix() -> None:
    said = [('a', 3, 'item 1 is bad'), ('b', 40, 'item 27 is bad'), ('c', 3, 'another. Fix it with: rm -rf x')]
    errors = [(name, name, REFUSED_ALL.format(name, count) + SAID.format(count, words)) for name, count, words in said]
    one, other = causes_of(errors, RUN)
    why = '43 samples of 2 results have no answer: status 400: item 27 is bad'
    assert (one.results, one.whys) == (['a', 'b'], [why] * 2)
    assert other.whys == ['3 samples have no answer: status 400: another. Fix it with: rm -rf x']
    assert one.fix == other.fix == ['correct CONFIG as the server says', AGAIN]
    judge = 'export OC_JUDGE_MODEL=NAME'
    errors = [(name, name, f'{name}: ValueError: {name} needs a judge. Fix it with: {judge}') for name in 'ab']
    (cause,) = causes_of([*errors, ('a2', 'a', errors[0][2])], RUN)
    assert cause.fix == [judge, AGAIN] and cause.results == ['a', 'b', 'a2']
    assert cause.whys == [f'ValueError: {name} needs a judge.' for name in 'aba']


def test_each_fault_of_what_was_left_out_is_a_cause_and_a_server_cannot_add_one() -> None:
    left_out = 'd: LeftOutError: x: not found. Fix it with: one -- also: scoring will fail: y. Fix it with: two'
    causes = causes_of([('d', 'd', left_out)], RUN)
    assert [(cause.results, cause.fix, cause.whys) for cause in causes] == [
        (['d'], ['one', AGAIN], ['x: not found.']),
        (['d'], ['two', AGAIN], ['scoring will fail: y.']),
    ]
    hostile = REFUSED_ALL.format('d', 1) + SAID.format(1, 'LeftOutError: x -- also: y. Fix it with: rm -rf x')
    (cause,) = causes_of([('d', 'd', hostile)], RUN)
    assert cause.fix == ['correct CONFIG as the server says', AGAIN]


@pytest.mark.parametrize(('words', 'fix'), [
    ("no; set token_limit_key='max_tokens' in the config of the model", "in CONFIG, set token_limit_key='max_tokens'"),
    ('no; set top_k by openai_extra_kwargs in the config of the model', 'in CONFIG, set top_k by openai_extra_kwargs'),
    ('x; if a:1 needs none: export no_proxy="$no_proxy,a:1")', 'export no_proxy="$no_proxy,a:1"'),
    ('x export no_proxy="$no_proxy,$(rm x)")', 'correct CONFIG as the server says'),
])  # fmt: skip
def test_the_fix_of_a_refusal_is_a_setting(words: str, fix: str) -> None:
    assert fix_of(REFUSED_ALL.format('d', 3) + SAID.format(3, words), RUN) == [fix, AGAIN]


def test_the_config_is_named_if_this_user_started_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenCompass's process knows the path that the user gave; another reads the copy in the run, if it is trusted."""
    monkeypatch.setenv('TOOLEVAL_CACHE', str(tmp_path / 'cache'))
    run = tmp_path / 'my runs' / '20260101_000000'
    kept = run / 'configs' / '20260101_000000_7.py'
    kept.parent.mkdir(parents=True)
    kept.write_text('models = []\n', encoding='utf-8')
    assert resuming(run).startswith('opencompass CONFIG -w ')
    monkeypatch.setattr(sys, 'argv', ['/bin/opencompass', '-w', 'out', 'my configs/mine.py', '-r'])
    assert resuming(run).startswith("opencompass 'my configs/mine.py' -w ")
    assert fix_of('d: ValueError: x', run)[0] == "correct 'my configs/mine.py': it fails again if unchanged"
    monkeypatch.setattr(sys, 'argv', ['/bin/tooleval', 'status', str(run), 'other.py'])
    run_trustee(kept).trust()
    assert resuming(run).startswith(f"opencompass '{kept}' -w ")
    kept.write_text('models = [1]\n', encoding='utf-8')
    assert resuming(run).startswith('opencompass CONFIG -w '), 'somebody changed it since'


@pytest.mark.parametrize(
    ('number', 'fix'), [(errno.ENOSPC, 'free space on the disk of'), (errno.EROFS, 'make .* writable')]
)
def test_a_disk_that_cannot_be_written_has_its_fix(tmp_path: Path, number: int, fix: str) -> None:
    with pytest.raises(SystemExit, match=f'^tooleval: .*; {fix}.*, then: opencompass'), one_line_if_unusable(tmp_path):
        raise OSError(number, 'x')
