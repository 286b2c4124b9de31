"""Builds the first prompts of a data set of a config, with the code of a sweep, and without its messages."""

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
    """Reads the data sets of a config like ``opencompass --datasets FILE/VARIABLE``; by default of all variables."""

    def is_read(name: str) -> bool:
        return name.endswith(variable or '_datasets')

    values = read_config(config, is_read)
    return [row for name in values if is_read(name) for row in values[name]]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses standard output, where OpenCompass logs, and standard error while data is loaded."""
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
    """The first prompt of each row of a data set.

    Args:
        infer_cfg: ``infer_cfg`` of the data set's config.

    Attributes:
        others: Names of the models that its dialogues call beside the one under test -> their configs.

    Raises:
        DataError: A file that its dialogues need is missing or damaged, such as a bank.
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
    """Yields the id and the first prompt of each record; the prompt is None for a dialogue without a request.

    Args:
        dataset: The data set's config.
        limit: Number of records, from the first; None for all.

    Raises:
        DataError: Its data or instructions are missing or damaged.
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

    It does not use ``logging.disable``: mmengine's loggers cache its effect and would stay silent for good.
    """
    before = get_logger().level
    get_logger().setLevel(level)
    try:
        yield
    finally:
        get_logger().setLevel(before)
