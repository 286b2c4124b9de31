"""How well tools are found by what is said of them: NDCG (EasyTool, Section 5.1, Table 5).

A request is searched with as it stands. The paper searches with subtasks that a model makes of it, among the 16,000
APIs of the whole of ToolBench; neither is published with the test files, so that its numbers do not compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from opencompass_tooleval.benchmarks.toolbench import tool_texts
from opencompass_tooleval.benchmarks.toolbench.records import Record
from opencompass_tooleval.core.result import OK, SampleScore
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.render import render_doc, render_instruction, to_json
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

UNITS = ('api', 'tool')
"""What is searched for: APIs, as ``relevant APIs`` names them, or their tools."""

FIELDS = ('description', 'full')
"""What is searched in: names and descriptions, or all that there is."""

CUTS = (1, 5)
METRICS = tuple(f'ndcg@{cut}' for cut in CUTS)

NOT_PERFECT = 'retrieval:not_perfect'
MISSED = 'retrieval:missed'

DOCUMENTATION, INSTRUCTIONS = 'documentation', 'instructions'

_SHOWN = max(CUTS)


def ndcg(ranking_scores: ArrayLike, relevant: ArrayLike, k: int) -> float:
    """Normalised discounted cumulative gain of one ranking (Järvelin and Kekäläinen, 2002), with binary relevance.

    Args:
        ranking_scores: Score of each document; the highest comes first. Equal ones share the mean gain of their places,
            so that the order of the documents says nothing.
        relevant: Whether each document is relevant, in the same order.
        k: How many places count.

    Returns:
        0-1: gains discounted by ``log2(place + 1)``, over those of a ranking with all relevant documents in front.

    Raises:
        ValueError: The lengths differ, nothing is relevant, or ``k`` is less than 1.
    """
    scores, gains = np.asarray(ranking_scores, dtype=float), np.asarray(relevant, dtype=bool).astype(float)
    if scores.ndim != 1 or scores.shape != gains.shape or not gains.any() or k < 1:
        raise ValueError(f'no ranking: scores {scores.shape}, {int(gains.sum())} of {gains.shape} relevant, k={k}')
    discounts = 1 / np.log2(np.arange(len(scores)) + 2)
    discounts[k:] = 0
    _, place, count = np.unique(-scores, return_inverse=True, return_counts=True)
    shares = np.bincount(place, weights=gains) / count
    gain = discounts @ np.repeat(shares, count)
    return float(gain / discounts[: int(gains.sum())].sum())


@dataclass(frozen=True)
class Corpus:
    """What is searched.

    Attributes:
        of: ``documentation`` or ``instructions``.
        keys: What each text is of: ``(tool, API)``, or ``(tool,)``.
        texts: One for each, in the same order.
    """

    of: str
    keys: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class RetrievalScore(SampleScore):
    """The score of one request; ``parsed`` are the names of the first five found.

    Attributes:
        searched: What they were found in.
        similarities: Theirs, the highest first.
    """

    searched: str = ''
    similarities: tuple[float, ...] = ()

    def to_detail(self) -> dict[str, Any]:
        """See :meth:`SampleScore.to_detail`."""
        return {**super().to_detail(), 'searched': self.searched, 'similarities': list(self.similarities)}


def documented_corpus(tools: Mapping[str, ToolDoc], unit: str = 'api', fields: str = 'description') -> Corpus:
    """The texts of the documentation.

    Args:
        tools: Those of the file's ``api_list``.
        unit: One of ``UNITS``.
        fields: One of ``FIELDS``.

    Raises:
        ValueError: No such unit or fields.
    """
    _check(unit, fields)
    if unit == 'tool':
        write: Callable[[ToolDoc], str] = tool_texts.documented_tool if fields == 'description' else render_doc
        return Corpus(DOCUMENTATION, tuple((name,) for name in tools), tuple(write(doc) for doc in tools.values()))
    say = tool_texts.documented_api if fields == 'description' else tool_texts.api_document
    pairs = [(doc, function) for doc in tools.values() for function in doc.functions]
    return Corpus(DOCUMENTATION, tuple((doc.name, f.name) for doc, f in pairs), tuple(say(*pair) for pair in pairs))


def instructed_corpus(
    tools: Mapping[str, ToolDoc],
    instructions: Mapping[str, ToolInstruction],
    unit: str = 'api',
    fields: str = 'description',
) -> Corpus:
    """The texts of the instructions, of the same tools or APIs in the same order as :func:`documented_corpus`.

    Args:
        tools: Those of the file's ``api_list``.
        instructions: Theirs, as ``tool_texts.match_instructions`` gives them.
        unit: One of ``UNITS``.
        fields: One of ``FIELDS``.

    Raises:
        ValueError: No such unit or fields.
    """
    _check(unit, fields)
    if unit == 'tool':
        write = tool_texts.instructed_tool if fields == 'description' else render_instruction
        return Corpus(
            INSTRUCTIONS, tuple((name,) for name in tools), tuple(write(instructions[name]) for name in tools)
        )
    keys, documents = [], []
    for name, doc in tools.items():
        guided = {function.name: function for function in instructions[name].functions}
        for function in doc.functions:
            keys.append((name, function.name))
            text = tool_texts.instructed_api(instructions[name], guided[function.name])
            more = (
                ''
                if fields == 'description'
                else to_json(tool_texts.guideline(instructions[name], guided[function.name]))
            )
            documents.append(f'{text} {more}'.strip())
    return Corpus(INSTRUCTIONS, tuple(keys), tuple(documents))


def _check(unit: str, fields: str) -> None:
    if unit not in UNITS or fields not in FIELDS:
        raise ValueError(
            f'unit is one of {", ".join(UNITS)} and fields one of {", ".join(FIELDS)}, not {unit}, {fields}'
        )


def _relevant(record: Record, corpus: Corpus) -> list[bool]:
    relevant: set[tuple[str, ...]] = {*record.relevant, *((tool,) for tool in record.tools)}
    return [key in relevant for key in corpus.keys]


def _score(record: Record, corpus: Corpus, scores: Sequence[float]) -> RetrievalScore:
    relevant = _relevant(record, corpus)
    values: dict[str, float | None] = {f'ndcg@{cut}': ndcg(scores, relevant, cut) for cut in CUTS}
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    perfect = all(value == 1 for value in values.values())
    missed = not any(values.values())
    return RetrievalScore(
        id=record.id,
        values=values,
        reason=OK if perfect else MISSED if missed else NOT_PERFECT,
        parsed=[list(corpus.keys[place]) for place in order[:_SHOWN]],
        parse_method='value',
        gold=[list(key) for key, is_gold in zip(corpus.keys, relevant, strict=True) if is_gold],
        searched=corpus.of,
        similarities=tuple(scores[place] for place in order[:_SHOWN]),
    )


def retrieve(records: Sequence[Record], corpus: Corpus, similarity: Similarity) -> list[RetrievalScore]:
    """Searches with every request.

    Args:
        records: The requests.
        corpus: What is searched.
        similarity: Cosine of sentence embeddings.

    Returns:
        One score per request with ``METRICS``, in the same order.
    """
    queries = [record.query for record in records]
    similarity.prepare([*queries, *corpus.texts])
    scores = similarity.matrix(queries, corpus.texts).tolist()
    return [_score(record, corpus, row) for record, row in zip(records, scores, strict=True)]
