"""Measures retrieval of tools by their texts: NDCG (EasyTool, Section 5.1, Table 5).

The query is the complete request. The paper searches with subtasks that a model makes from it, among the 16,000 APIs of
the complete ToolBench. Neither is published with the test files, so the paper's numbers are not comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from opencompass_tooleval.benchmarks.toolbench.data import Record
from opencompass_tooleval.benchmarks.toolbench.prompts import documented_tool, instructed_tool
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.tool_docs.instruction import FunctionInstruction, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import to_entry
from opencompass_tooleval.tool_docs.render import render_doc, render_instruction, to_json
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

UNITS = ('api', 'tool')
"""Units to retrieve: APIs, as in ``relevant APIs``, or their tools."""

FIELDS = ('description', 'full')
"""Texts to search: names and descriptions, or the complete documentation."""

CUTS = (1, 5)
METRICS = tuple(f'ndcg@{cut}' for cut in CUTS)

NOT_PERFECT = 'retrieval:not_perfect'
MISSED = 'retrieval:missed'

DOCUMENTATION, INSTRUCTIONS = 'documentation', 'instructions'

_SHOWN = max(CUTS)


def ndcg(ranking_scores: ArrayLike, relevant: ArrayLike, k: int) -> float:
    """Returns the normalised discounted cumulative gain of a ranking, with binary relevance (Järvelin and Kekäläinen,
    2002).

    Args:
        ranking_scores: Score of each document; the highest ranks first. Equal scores share the mean gain of their
            ranks, so that the order of the documents has no effect.
        relevant: True for each relevant document, in the same order.
        k: Number of ranks that count.

    Returns:
        0-1: gains discounted by ``log2(place + 1)``, divided by the gains of a ranking with all relevant documents
        first.

    Raises:
        ValueError: The lengths differ, nothing is relevant, or ``k`` is less than 1.
    """
    scores, gains = np.asarray(ranking_scores, dtype=float), np.asarray(relevant, dtype=bool).astype(float)
    if scores.ndim != 1 or scores.shape != gains.shape or not gains.any() or k < 1:
        raise ValueError(f'no ranking: scores {scores.shape}, {int(gains.sum())} of {gains.shape} relevant, k={k}')
    discounts = 1 / np.log2(np.arange(len(scores)) + 2)
    discounts[k:] = 0
    _, group, count = np.unique(-scores, return_inverse=True, return_counts=True)
    shares = np.bincount(group, weights=gains) / count
    gain = discounts @ np.repeat(shares, count)
    return float(gain / discounts[: int(gains.sum())].sum())


@dataclass(frozen=True)
class Corpus:
    """The searched texts.

    Attributes:
        of: ``documentation`` or ``instructions``.
        keys: API or tool of each text: ``(tool, API)``, or ``(tool,)``.
        texts: The texts, in the same order.
    """

    of: str
    keys: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class RetrievalScore(SampleScore):
    """The score of one request; ``parsed`` has the names of the first five results.

    Attributes:
        searched: The searched texts.
        similarities: Similarities of the results, the highest first.
    """

    searched: str = ''
    similarities: tuple[float, ...] = ()

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample."""
        return {**super().to_detail(), 'searched': self.searched, 'similarities': list(self.similarities)}


def documented_corpus(tools: Mapping[str, ToolDoc], unit: str = 'api', fields: str = 'description') -> Corpus:
    """Builds the corpus of the documentation.

    Args:
        tools: The tools of the file's ``api_list``.
        unit: One of ``UNITS``.
        fields: One of ``FIELDS``.

    Raises:
        ValueError: The unit or fields do not exist.
    """
    _check(unit, fields)
    if unit == 'tool':
        write: Callable[[ToolDoc], str] = documented_tool if fields == 'description' else render_doc
        return Corpus(DOCUMENTATION, tuple((name,) for name in tools), tuple(write(doc) for doc in tools.values()))
    say = _documented_api if fields == 'description' else _api_document
    pairs = [(doc, function) for doc in tools.values() for function in doc.functions]
    return Corpus(DOCUMENTATION, tuple((doc.name, f.name) for doc, f in pairs), tuple(say(*pair) for pair in pairs))


def instructed_corpus(
    tools: Mapping[str, ToolDoc],
    instructions: Mapping[str, ToolInstruction],
    unit: str = 'api',
    fields: str = 'description',
) -> Corpus:
    """Builds the corpus of the instructions, with the same keys as :func:`documented_corpus`.

    Args:
        tools: The tools of the file's ``api_list``.
        instructions: Instructions of the tools, from ``match_instructions``.
        unit: One of ``UNITS``.
        fields: One of ``FIELDS``.

    Raises:
        ValueError: The unit or fields do not exist.
    """
    _check(unit, fields)
    if unit == 'tool':
        write = instructed_tool if fields == 'description' else render_instruction
        return Corpus(
            INSTRUCTIONS, tuple((name,) for name in tools), tuple(write(instructions[name]) for name in tools)
        )
    keys, documents = [], []
    for name, doc in tools.items():
        guided = {function.name: function for function in instructions[name].functions}
        for function in doc.functions:
            keys.append((name, function.name))
            text = _instructed_api(instructions[name], guided[function.name])
            more = '' if fields == 'description' else to_json(_guideline(instructions[name], guided[function.name]))
            documents.append(f'{text} {more}'.strip())
    return Corpus(INSTRUCTIONS, tuple(keys), tuple(documents))


def _documented_api(doc: ToolDoc, function: FunctionDoc) -> str:
    """Returns the documented description of one API."""
    return f'{doc.name}: {function.name}: {function.description}'.rstrip(': ')


def _instructed_api(instruction: ToolInstruction, function: FunctionInstruction) -> str:
    """Returns the description of one function in an instruction; a tool's only function may use the tool's."""
    alone = len(instruction.functions) == 1 and not function.description
    description = instruction.description if alone else function.description
    return f'{instruction.name}: {function.name}: {description}'.rstrip(': ')


def _api_document(doc: ToolDoc, function: FunctionDoc) -> str:
    """Returns the complete documentation of one API, as ToolBench's retriever indexes it (Qin et al., 2023)."""
    raw: Mapping[str, Any] = function.raw if isinstance(function.raw, Mapping) else {}
    head: Mapping[str, Any] = doc.raw if isinstance(doc.raw, Mapping) else {}
    fields = {
        'required_params': raw.get('required_parameters', ''),
        'optional_params': raw.get('optional_parameters', ''),
        'return_schema': raw.get('template_response', ''),
    }
    names = [str(head.get('category_name') or ''), doc.name, function.name, function.description]
    return ', '.join([*names, *(f'{name}: {to_json(value)}' for name, value in fields.items())])


def _guideline(instruction: ToolInstruction, function: FunctionInstruction) -> dict[str, Any]:
    """Returns the guideline of one function: parameters and example (Table 8)."""
    alone = replace(instruction, description='', functions=(function,))
    guideline: dict[str, Any] = to_entry(alone, 'toolbench')['tool_guidelines'][function.name]
    return guideline


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
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    perfect = all(value == 1 for value in values.values())
    missed = not any(values.values())
    return RetrievalScore(
        id=record.id,
        values=values,
        reason=OK if perfect else MISSED if missed else NOT_PERFECT,
        parsed=[list(corpus.keys[index]) for index in order[:_SHOWN]],
        parse_method='value',
        gold=[list(key) for key, is_gold in zip(corpus.keys, relevant, strict=True) if is_gold],
        searched=corpus.of,
        similarities=tuple(scores[index] for index in order[:_SHOWN]),
    )


def retrieve(records: Sequence[Record], corpus: Corpus, similarity: Similarity) -> list[RetrievalScore]:
    """Searches with every request.

    Args:
        records: The requests.
        corpus: The searched texts.
        similarity: Cosine of sentence embeddings.

    Returns:
        One score per request with ``METRICS``, in the same order.
    """
    queries = [record.query for record in records]
    similarity.prepare([*queries, *corpus.texts])
    scores = similarity.matrix(queries, corpus.texts).tolist()
    return [_score(record, corpus, row) for record, row in zip(records, scores, strict=True)]
