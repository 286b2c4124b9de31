"""Selects the candidate tools of a request (EasyTool, Section 5.1, Figure 3)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from opencompass_tooleval.core.similarity import Similarity


def rank_others(
    queries: Sequence[str], golds: Sequence[str], tools: Sequence[str], texts: Sequence[str], similarity: Similarity
) -> list[list[str]]:
    """Ranks the other tools of each request by the similarity of their descriptions to it, best first.

    Args:
        queries: The requests.
        golds: The tool of each, one of ``tools``.
        tools: Names of all tools.
        texts: Their descriptions, one for each.
        similarity: Similarity of texts; in the paper the cosine of sentence embeddings.

    Returns:
        For each request all of ``tools`` but its own. Ties stay in their order.
    """
    similarity.prepare([*queries, *texts])
    scores = similarity.matrix(queries, texts)
    ranked = []
    for gold, row in zip(golds, scores.tolist(), strict=True):
        order = sorted(zip(row, tools, strict=True), key=lambda pair: -pair[0])
        ranked.append([tool for _, tool in order if tool != gold])
    return ranked


def choose(gold: str, others: Sequence[str], size: int, seed: str) -> tuple[str, ...]:
    """Returns ``size`` candidates: the gold tool and the first others; a larger set contains a smaller one.

    Args:
        gold: The gold tool.
        others: The result of :func:`rank_others`.
        size: Number of candidates.
        seed: Seed of their order, so that the place of the gold tool carries no information.

    Raises:
        ValueError: There are too few tools.
    """
    if len(others) < size - 1:
        raise ValueError(f'{size} candidates need as many tools; there are {len(others) + 1}')
    chosen = [gold, *others[: size - 1]]
    random.Random(seed).shuffle(chosen)
    return tuple(chosen)
