"""embedding/locate: the encoder, its place, and the fix for a missing one."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.embedding.locate import (
    ENV,
    EncoderFiles,
    EncoderMissingError,
    choose_encoder,
    is_official,
    locate_encoder,
)


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
    ('name', 'repo'),
    [('all-mpnet-base-v2', 'sentence-transformers/all-mpnet-base-v2'), ('/no/such/folder', '/no/such/folder')],
)
def test_missing_names_the_fix(hub: Path, name: str, repo: str) -> None:
    with pytest.raises(EncoderMissingError) as caught:
        locate_encoder(name)
    assert f'encoder {name!r} is not on this machine; fetch it with: hf download {repo}  ' in str(caught.value)
    assert "set TOOLEVAL_ENCODER to a local folder, or to 'offline'" in str(caught.value)


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
