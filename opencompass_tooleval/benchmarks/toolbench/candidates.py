"""Which tools a request is to be fulfilled with one of (EasyTool, Section 5.1, Figure 3)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from opencompass_tooleval.core.similarity import Similarity


def rank_others(
    queries: Sequence[str], golds: Sequence[str], tools: Sequence[str], texts: Sequence[str], similarity: Similarity
) -> list[list[str]]:
    """The other tools of each request, those first whose description is most like it.

    Args:
        queries: The requests.
        golds: The tool of each, one of ``tools``.
        tools: Names of all tools.
        texts: Their descriptions, one for each.
        similarity: Cosine of sentence embeddings, in the paper.

    Returns:
        For each request all of ``tools`` but its own. Equally similar ones stay in their order.
    """
    similarity.prepare([*queries, *texts])
    scores = similarity.matrix(queries, texts)
    ranked = []
    for gold, row in zip(golds, scores.tolist(), strict=True):
        order = sorted(zip(row, tools, strict=True), key=lambda pair: -pair[0])
        ranked.append([tool for _, tool in order if tool != gold])
    return ranked


def choose(gold: str, others: Sequence[str], size: int, seed: str) -> tuple[str, ...]:
    """``size`` candidates: the right tool and the first of the others, so that smaller sets lie within larger ones.

    Args:
        gold: The right tool.
        others: As :func:`rank_others` gives them.
        size: How many candidates.
        seed: Decides in which order they are shown, so that the place of the right one says nothing.

    Raises:
        ValueError: There are too few tools.
    """
    if len(others) < size - 1:
        raise ValueError(f'{size} candidates need as many tools; there are {len(others) + 1}')
    chosen = [gold, *others[: size - 1]]
    random.Random(seed).shuffle(chosen)
    return tuple(chosen)
