"""Builds the first prompts of a dataset in a config, with the code of a sweep but without its messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from mmengine.config import Config
from opencompass.registry import ICL_PROMPT_TEMPLATES
from opencompass.utils import build_dataset_from_cfg, get_logger

from opencompass_tooleval.inferencers.dialogue_inferencer import DIALOGUES
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.dialogue_runner import conversation_of
from opencompass_tooleval.tasks.read_config import read_config


def read_datasets(config: Path, variable: str = '') -> list[dict[str, Any]]:
    """Reads the datasets in a config, as ``opencompass --datasets FILE/VARIABLE`` does; by default in all variables."""

    def is_read(name: str) -> bool:
        return name.endswith(variable or '_datasets')

    values = read_config(config, is_read)
    return [row for name in values if is_read(name) for row in values[name]]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses log messages and progress bars while data is loaded."""
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        with quiet('ERROR'):
            yield
    finally:
        if shown:
            enable_progress_bars()


def _first(row: Mapping[str, Any], whole: Conversation, begin: Any) -> Conversation | None:
    """Returns the first prompt of a row; None for a dialogue that ends without a request."""
    if begin is None:
        return whole
    dialogue = begin(row)
    try:
        request = next(dialogue, None)
    finally:
        dialogue.close()
    return conversation_of(request, row['record_id'], row['source'], row['idx']) if request else None


class FirstPrompts:
    """Builds the first prompt of rows of a dataset.

    Args:
        infer_cfg: ``infer_cfg`` in the dataset's config.

    Attributes:
        others: Configs of the auxiliary models in the dialogues, by name.

    Raises:
        DataError: A file that the dialogues need, such as a bank, is missing or damaged.
    """

    def __init__(self, infer_cfg: Mapping[str, Any]) -> None:
        self._template = ICL_PROMPT_TEMPLATES.build(infer_cfg['prompt_template'])
        dialogues = infer_cfg['inferencer'].get('dialogues')
        self._begin = DIALOGUES.build(dialogues) if dialogues else None
        self.others: Mapping[str, Any] = getattr(self._begin, 'models', None) or {}

    def about(self, row: Mapping[str, Any]) -> Conversation | None:
        """Returns the first prompt of a row; None for a dialogue that ends without a request."""
        return _first(row, self._template.generate_item(row), self._begin)


def first_prompts(dataset: Mapping[str, Any], limit: int | None = None) -> Iterator[tuple[str, Conversation | None]]:
    """Yields the id and the first prompt of each record; the prompt is None if a dialogue makes no request.

    Args:
        dataset: The dataset's config.
        limit: Number of records from the beginning; None for all.

    Raises:
        DataError: Data or instructions are missing or damaged.
    """
    cfg = Config({**dataset})
    if limit is not None:
        cfg['reader_cfg']['test_range'] = f'[:{limit}]'
    asks = FirstPrompts(cfg['infer_cfg'])
    with _quiet():
        rows = build_dataset_from_cfg(cfg).test
    for row in rows:
        yield row['record_id'], asks.about(row)


@contextmanager
def quiet(level: str) -> Iterator[None]:
    """Suppresses OpenCompass's log messages below a level while the block runs.

    Does not use ``logging.disable``, because mmengine's loggers cache its effect and would stay silent.
    """
    before = get_logger().level
    get_logger().setLevel(level)
    try:
        yield
    finally:
        get_logger().setLevel(before)
