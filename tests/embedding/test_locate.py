"""embedding/locate: the encoder, its place, and the fix for a missing one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opencompass_tooleval.embedding.locate import (
    ENV,
    REVISIONS,
    EncoderFiles,
    EncoderMissingError,
    choose_encoder,
    fetch_encoder,
    is_official,
    locate_encoder,
)
from tests.embedding.hub import hub_settings, serving_hub


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / 'hub'
    folder.mkdir()
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(folder))
    return folder


def snapshot(hub: Path, repo: str, files: tuple[str, ...]) -> Path:
    base = hub / f'models--{repo.replace("/", "--")}'
    folder = base / 'snapshots' / ('0' * 40)
    folder.mkdir(parents=True)
    (base / 'refs').mkdir()
    (base / 'refs' / 'main').write_text('0' * 40)
    for name in files:
        (folder / name).write_text('{}')
    return folder


def encoder_folder(folder: Path) -> EncoderFiles:
    folder.mkdir()
    (folder / 'modules.json').write_text('[]')
    (folder / 'model.safetensors').write_bytes(bytes(4_000_000))
    (folder / 'README.md').write_text('words')
    return EncoderFiles(folder.name, folder)


@pytest.mark.parametrize(
    ('given', 'environment', 'language', 'expected'),
    [
        ('x', 'y', 'EN', 'x'),
        ('', 'y', 'ZH', 'y'),
        (None, None, 'EN', 'all-mpnet-base-v2'),
        (None, '', 'ZH', 'thenlper/gte-large-zh'),
    ],
)
def test_choice(
    monkeypatch: pytest.MonkeyPatch, given: str | None, environment: str | None, language: str, expected: str
) -> None:
    monkeypatch.delenv(ENV, raising=False)
    if environment is not None:
        monkeypatch.setenv(ENV, environment)
    assert choose_encoder(given, language) == expected


def test_is_official() -> None:
    assert is_official('all-mpnet-base-v2', 'EN') and is_official('sentence-transformers/all-mpnet-base-v2', 'EN')
    assert is_official('thenlper/gte-large-zh', 'ZH') and not is_official('all-mpnet-base-v2', 'ZH')


def test_the_packaged_encoder_or_its_fix(files: EncoderFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.name == 'offline:all-MiniLM-L6-v2'
    assert (files.path / 'modules.json').is_file()
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    with pytest.raises(EncoderMissingError, match=r"pip install 'opencompass-tooleval\[offline\]'"):
        locate_encoder('offline')


def test_a_folder_is_an_encoder_or_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EncoderMissingError, match='holds no sentence encoder') as caught:
        locate_encoder(str(tmp_path))
    assert str(tmp_path) in str(caught.value)
    folder = encoder_folder(tmp_path / 'mine').path
    assert locate_encoder(str(folder)) == EncoderFiles('mine', folder)
    monkeypatch.chdir(folder)
    assert locate_encoder('.').name == 'mine'
    monkeypatch.setenv('HOME', str(tmp_path))
    assert locate_encoder('~/mine') == EncoderFiles('mine', folder)


@pytest.mark.parametrize(
    ('name', 'repo', 'revision'),
    [
        ('all-mpnet-base-v2', 'sentence-transformers/all-mpnet-base-v2', '9a3225965996d404b775526de6dbfe85d3368642'),
        ('thenlper/gte-large-zh', 'thenlper/gte-large-zh', '64c364e579de308104a9b2c170ca009502f4f545'),
        ('a/b', 'a/b', ''),
    ],
)
def test_missing_names_the_fix(hub: Path, name: str, repo: str, revision: str) -> None:
    with pytest.raises(EncoderMissingError) as caught:
        locate_encoder(name)
    wanted = f' --revision {revision}' if revision else ''
    assert f'encoder {name!r} is not on this machine; fetch it with: hf download {repo}{wanted}  ' in str(caught.value)
    assert f'without network: copy {hub}/models--{repo.replace("/", "--")} from' in str(caught.value)
    assert "pip install 'opencompass-tooleval[offline]' && export TOOLEVAL_ENCODER=offline" in str(caught.value)


@pytest.mark.parametrize('find', [locate_encoder, fetch_encoder])
@pytest.mark.parametrize('name', ['/no/such/folder', './none', '~/none'])
def test_a_folder_that_is_missing_is_not_fetched(find: Callable[[str], EncoderFiles], name: str) -> None:
    with pytest.raises(EncoderMissingError, match=f"encoder '{name}' is not a folder; correct TOOLEVAL_ENCODER"):
        find(name)


def test_the_fixed_revision_comes_before_a_later_one(hub: Path) -> None:
    repo = 'thenlper/gte-large-zh'
    later = snapshot(hub, repo, ('modules.json', 'model.safetensors'))
    assert locate_encoder(repo).path == later
    fixed = later.parent / REVISIONS[repo]
    shutil.copytree(later, fixed)
    assert locate_encoder(repo).path == fixed
    assert fetch_encoder(repo).path == fixed  # without a request
    (fixed / 'model.safetensors').unlink()
    assert locate_encoder(repo).path == later


@pytest.mark.parametrize('status', [500, None], ids=['answers with an error', 'does not answer'])
def test_what_cannot_be_fetched_names_the_folder_to_copy(tmp_path: Path, status: int | None) -> None:
    code = f'from opencompass_tooleval.embedding.locate import fetch_encoder; fetch_encoder({"a/b"!r})'
    with serving_hub({'a/b': tmp_path}, status) as url:
        env = hub_settings(url if status else 'http://127.0.0.1:9', tmp_path)
        done = subprocess.run([sys.executable, '-c', code], env=env, capture_output=True, text=True, check=False)
    line = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and line.startswith("OSError: cannot fetch encoder 'a/b' from Hugging Face (")
    assert f'without network: copy {tmp_path}/hub/models--a--b from' in line and len(line) < 600
    assert '\x1b' not in done.stderr.rpartition('OSError')[2]


def test_half_a_download_names_the_fix(hub: Path) -> None:
    folder = snapshot(hub, 'a/b', ('modules.json', 'config.json'))
    with pytest.raises(EncoderMissingError, match='has no weights') as caught:
        locate_encoder('a/b')
    assert str(folder) in str(caught.value)
    assert 'hf download a/b' in str(caught.value)


@pytest.mark.parametrize('weights', ['model.safetensors', 'pytorch_model.bin'])
def test_downloaded(hub: Path, weights: str) -> None:
    folder = snapshot(hub, 'sentence-transformers/x', ('modules.json', weights))
    assert locate_encoder('x') == EncoderFiles('x', folder)


def test_fingerprint_is_that_of_the_files(tmp_path: Path) -> None:
    first, second = encoder_folder(tmp_path / 'a'), encoder_folder(tmp_path / 'b')
    assert len(first.fingerprint) == 32
    assert first.fingerprint == second.fingerprint
    (first.path / 'README.md').write_text('other words')
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(
    ('name', 'content'),
    [
        ('modules.json', b'{}'),  # of the same size
        ('model.safetensors', b'\1' + bytes(3_999_999)),
        ('model.safetensors', bytes(3_999_999) + b'\1'),
        ('model.safetensors', bytes(4_000_001)),
        ('new.json', b''),
    ],
    ids=range(5),
)
def test_fingerprint_changes_with_a_file(tmp_path: Path, name: str, content: bytes) -> None:
    files = encoder_folder(tmp_path / 'a')
    before = files.fingerprint
    (files.path / name).write_bytes(content)
    assert files.fingerprint != before
