"""Chooses the token limit of answers: the dataset's, the model's, or the benchmark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT

MAX_OUT_LEN = 'max_out_len'
"""Key of the limit in configs of models and inferencers, in rows of predictions and in results."""
PUBLISHED = 'published_max_out_len'
"""Key of the benchmark's limit (that of its published runs) in configs of inferencers and in results."""


@dataclass(frozen=True)
class AnswerLimit:
    """The maximum number of tokens of an answer.

    Attributes:
        tokens: The limit that is sent.
        source: Who set it: ``data set``, ``model`` or ``benchmark``.
        published: The benchmark's limit; None if it has none.
        unused: The model's ``max_out_len`` if it is lower and ignored; else None.
    """

    tokens: int
    source: str
    published: int | None = None
    unused: int | None = None

    def __str__(self) -> str:
        """Formats ``16,384 tokens (max_out_len of the model)``."""
        if self.source != 'benchmark':
            return f'{self.tokens:,} tokens ({MAX_OUT_LEN} of the {self.source})'
        more = '' if self.unused is None else f", since the model's ({self.unused:,}) is lower"
        return f"{self.tokens:,} tokens (the benchmark's limit{more})"

    @property
    def note(self) -> str:
        """A note if the model's limit is ignored, or the benchmark's limit is higher; else ``''``."""
        if self.unused is not None:
            return (
                f"answers have up to {self.tokens:,} tokens, the benchmark's limit, since max_out_len={self.unused} "
                "of the model is lower. To use a lower limit anyway, set max_out_len in the data set's inferencer"
            )
        if self.published and self.tokens < self.published:
            return f"answers have up to {self.tokens:,} tokens, fewer than the benchmark's {self.published:,}"
        return ''


def answer_limit(model: Mapping[str, Any], inferencer: Mapping[str, Any]) -> AnswerLimit | None:
    """Chooses the limit from two configs; returns None if neither has one.

    The dataset's inferencer takes precedence. Otherwise the larger of the model's and the benchmark's limits counts:
    OpenCompass's model configs have 100 to 1,024, which would cut answers that were not cut in the published runs.

    Args:
        model: Config of a model.
        inferencer: Config of the dataset's inferencer.

    Raises:
        ValueError: A value is not a positive integer.
    """
    of_dataset, published = _tokens(inferencer, MAX_OUT_LEN), _tokens(inferencer, PUBLISHED)
    of_model = _tokens(model, MAX_OUT_LEN)
    if of_dataset is not None:
        return AnswerLimit(of_dataset, 'data set', published)
    if published is None:
        return None if of_model is None else AnswerLimit(of_model, 'model')
    if of_model is not None and of_model >= published:
        return AnswerLimit(of_model, 'model', published)
    return AnswerLimit(published, 'benchmark', published, of_model)


def _tokens(cfg: Mapping[str, Any], name: str) -> int | None:
    value = cfg.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f'{name} is {str(value)[:50]!r}, and must be a whole number above 0')
    return value


def limit_of_rows(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Returns the limit that applies to all rows of predictions; None if unknown.

    A resumed run may have had several limits. An answer that was not cut would be the same with a higher limit, so the
    lowest limit of a cut answer counts, or the highest of all limits if no answer was cut.
    """
    cut = [limit for row in rows if is_cut(row) and (limit := row_limit(row)) is not None]
    return min(cut) if cut else max(filter(None, (row_limit(row) for row in rows)), default=None)


def is_cut(row: Mapping[str, Any]) -> bool:
    """Tests if the limit cut the answer in a row of predictions."""
    return row.get('finish_reason') == CUT


def row_limit(row: Mapping[str, Any]) -> int | None:
    """Returns the limit of a row of predictions; None if unknown."""
    limit = row.get(MAX_OUT_LEN)
    return limit if isinstance(limit, int) and not isinstance(limit, bool) else None


def is_cut_below(row: Mapping[str, Any], limit: int) -> bool:
    """Tests if the answer in a row was cut at a limit below ``limit``, so that it is requested again."""
    before = row_limit(row)
    return is_cut(row) and before is not None and before < limit
