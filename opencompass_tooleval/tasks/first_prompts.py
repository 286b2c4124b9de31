"""What a data set of a config asks first, by the code that asks it in a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from mmengine.config import Config
from opencompass.registry import ICL_PROMPT_TEMPLATES
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.inferencers.dialogue_inferencer import DIALOGUES
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.dialogue_runner import conversation_of
from opencompass_tooleval.tasks.quiet import quiet


def read_datasets(config: Path, variable: str = '') -> list[dict[str, Any]]:
    """The data sets of a config as ``opencompass --datasets FILE/VARIABLE`` has them; without a variable, of all."""
    values = Config.fromfile(config, format_python_code=False).items()
    return [row for name, rows in values if name.endswith(variable or '_datasets') for row in rows]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps standard output, where OpenCompass logs, and standard error clear while data is loaded."""
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        with quiet('ERROR'):
            yield
    finally:
        if shown:
            enable_progress_bars()


def _first(row: Mapping[str, Any], whole: Conversation, begin: Any) -> Conversation | None:
    """What is asked first about a row; None of a dialogue that ends without a question."""
    if begin is None:
        return whole
    dialogue = begin(row)
    try:
        request = next(dialogue, None)
    finally:
        dialogue.close()
    return conversation_of(request, row['record_id'], row['source'], row['idx']) if request else None


class FirstPrompts:
    """What a data set asks first about each row.

    Args:
        infer_cfg: Of the data set's config.

    Attributes:
        others: Names of the models that its dialogues ask beside the one under test -> their configs.

    Raises:
        DataError: Something that its dialogues need is missing or damaged, such as a bank.
    """

    def __init__(self, infer_cfg: Mapping[str, Any]) -> None:
        self._template = ICL_PROMPT_TEMPLATES.build(infer_cfg['prompt_template'])
        dialogues = infer_cfg['inferencer'].get('dialogues')
        self._begin = DIALOGUES.build(dialogues) if dialogues else None
        self.others: Mapping[str, Any] = getattr(self._begin, 'models', None) or {}

    def about(self, row: Mapping[str, Any]) -> Conversation | None:
        """The first prompt about a row; None of a dialogue that ends without a question."""
        return _first(row, self._template.generate_item(row), self._begin)


def first_prompts(dataset: Mapping[str, Any], limit: int | None = None) -> Iterator[tuple[str, Conversation | None]]:
    """Yields the id of each record and what a model is asked about it, in a dialogue in its first turn; None if it asks nothing.

    Args:
        dataset: The data set's config.
        limit: So many records from the first; None for all.

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
