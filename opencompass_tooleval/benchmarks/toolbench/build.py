"""Builds the data of a subset from a test file and, optionally, from instructions that replace its documentation.

Also selects the candidate tools of a request (EasyTool, Section 5.1, Figure 3).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opencompass_tooleval.benchmarks.toolbench import tool_texts
from opencompass_tooleval.benchmarks.toolbench.records import FILE_TABLE, FIX, Data, Record, load_data
from opencompass_tooleval.benchmarks.toolbench.request import Request, make_request
from opencompass_tooleval.benchmarks.toolbench.score_selection import Choice
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.work_dir.data_files import command_to_generate, shown_files

METHODS = {'selection': ('names', 'easytool'), 'calls': ('names', 'function_calling')}
"""Kind of subset -> kinds of answers: tool names (our prompts), tool numbers (EasyTool's prompt), or native calls."""


@dataclass(frozen=True)
class Shown:
    """A test file and the texts of its tools.

    Attributes:
        file: The test file.
        data: The file's content.
        instructions: Name -> instruction; None if the prompt shows the documentation.
        provenance: Sources of the texts, for provenance.
    """

    file: Path
    data: Data
    instructions: Mapping[str, ToolInstruction] | None
    provenance: Mapping[str, str]

    def described(self, name: str) -> str:
        """Returns the description of a tool for a choice."""
        if self.instructions is None:
            return tool_texts.documented_tool(self.data.tools[name])
        return tool_texts.instructed_tool(self.instructions[name])

    def numbered(self, choice: Choice) -> Choice:
        """Returns a choice with numbers: each instruction's ``ID``, or else the tool's index in the file."""
        if self.instructions is not None and all(tool.id is not None for tool in self.instructions.values()):
            ids: list[int | str | None] = [self.instructions[name].id for name in choice.candidates]
        else:
            numbers = {name: number for number, name in enumerate(self.data.tools, start=1)}
            ids = [numbers[name] for name in choice.candidates]
        return replace(choice, ids=tuple(number for number in ids if number is not None))

    def described_alone(self, name: str) -> str:
        """Returns the description of a tool in EasyTool's prompt; an instruction is shown without the tool's name."""
        return self.described(name) if self.instructions is None else self.instructions[name].description

    def callable(self, request: Request) -> Iterator[str]:
        """Yields the text of each tool in a request that asks for calls of its APIs."""
        apis: dict[str, list[str]] = {}
        for signature in request.inventory:
            apis.setdefault(signature.tool, []).append(signature.api)
        for tool, names in apis.items():
            if self.instructions is None:
                yield tool_texts.documented_calls(self.data.tools[tool], names)
            else:
                yield tool_texts.instructed_calls(self.instructions[tool], names)


def open_tools(file: Path, name: str, instructions: Path | None = None, change: Change | None = None) -> Shown:
    """Reads a test file, and the instructions of its tools if these replace the documentation.

    Args:
        file: Path of the test file.
        name: ``G1``, ``G2`` or ``G3``.
        instructions: A file of instructions.
        change: Changes the rows for a variant.

    Raises:
        DataError: A file is missing or damaged, or tools have no instruction.
    """
    data = load_data(file, name, change)
    matched = (
        tool_texts.match_instructions(instructions, data.tools, command_to_generate('toolbench', file, instructions))
        if instructions
        else None
    )
    return Shown(file, data, matched, shown_files('data', file, instructions))


def load_queries(file: Path) -> dict[str, str]:
    """Returns record id -> request of a test file, found in the table by the file's name; other files may have any
    size."""
    name = next((row.name for row in FILE_TABLE if row.file == file.name), FILE_TABLE[0].name)
    return {record.id: record.query for record in load_data(file, name).records}


def single_tool_requests(tools: Shown) -> list[Record]:
    """Returns the requests that need a single tool, in the file's order.

    Raises:
        DataError: No such request exists.
    """
    records = [record for record in tools.data.records if len(record.tools) == 1]
    if not records:
        raise DataError(tools.file, 'no request needs only a single tool', fix=FIX)
    return records


def make_choices(tools: Shown, size: int, seed: int, similarity: Similarity) -> list[Choice]:
    """Builds one choice among ``size`` tools for every request that needs a single tool, in the file's order.

    The other candidates are the tools whose documented descriptions are most similar to the request. This is so even
    with instructions, so that both variants have the same choices.

    Args:
        tools: The test file.
        size: Number of candidates.
        seed: Seed of the order of candidates.
        similarity: Cosine similarity of sentence embeddings.

    Raises:
        DataError: No request needs a single tool, or there are too few tools.
    """
    records = single_tool_requests(tools)
    names = list(tools.data.tools)
    described = [tool_texts.documented_tool(tools.data.tools[name]) for name in names]
    golds = [record.tools[0] for record in records]
    ranked = rank_others([record.query for record in records], golds, names, described, similarity)
    try:
        return [
            Choice(record.id, record.query, gold, choose(gold, others, size, f'{seed}/{record.id}'))
            for record, gold, others in zip(records, golds, ranked, strict=True)
        ]
    except ValueError as error:
        raise DataError(tools.file, str(error), fix='use a subset with fewer candidates') from error


def make_requests(tools: Shown) -> list[Request]:
    """Builds every request with its APIs, in the file's order."""
    return [make_request(record, tools.data.tools) for record in tools.data.records]


def rank_others(
    queries: Sequence[str], golds: Sequence[str], tools: Sequence[str], texts: Sequence[str], similarity: Similarity
) -> list[list[str]]:
    """Ranks the other tools of each request by the similarity of their descriptions to the request, best first.

    Args:
        queries: The requests.
        golds: The gold tool of each request, one of ``tools``.
        tools: Names of all tools.
        texts: Descriptions of ``tools``, in the same order.
        similarity: Similarity of texts; in the paper the cosine of sentence embeddings.

    Returns:
        For each request, all of ``tools`` except its gold tool. Ties keep their order.
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
        seed: Seed of their order, so that the gold tool's position says nothing.

    Raises:
        ValueError: There are too few tools.
    """
    if len(others) < size - 1:
        raise ValueError(f'{size} candidates need as many tools, but there are {len(others) + 1}')
    chosen = [gold, *others[: size - 1]]
    random.Random(seed).shuffle(chosen)
    return tuple(chosen)
