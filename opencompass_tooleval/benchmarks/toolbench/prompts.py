"""Selects the tools that a prompt shows, and builds prompts with their documentation or EasyTool instructions.

``SELECTION`` and ``CALLS`` are ours, and the same for documentation and instructions. ``FUNCTION_CALLING`` is ours; it
names no tool. ``PUBLISHED_SELECTION`` is the prompt that EasyTool's ToolBench runs use to choose a tool (``choose_tool``), word
for word. ``SUCCESS`` is the judge's prompt (EasyTool, Appendix B.1, List 1), word for word, with the stray quotation
mark before "Example 2". Its line breaks are ours: the listing breaks lines by width.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opencompass_tooleval.benchmarks.toolbench.data import (
    FIX,
    Choice,
    Data,
    Record,
    Request,
    load_data,
    make_request,
    request_names,
)
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions, to_entry
from opencompass_tooleval.tool_docs.render import compact, to_json
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc
from opencompass_tooleval.work_dir.data_files import command_to_generate, shown_files

SELECTION = """You are given a user's request and {count} tools. Exactly one of the tools can fulfil the request.

{tools}

Which tool fulfils the request below? Answer with nothing but a JSON object with the tool's name, written exactly as above, such as {{"tool": "Name of the tool"}}.

Request: {query}
Answer:"""

CALLS = """You fulfil a user's request by calling APIs of tools. These are the tools and the APIs that they have:

{tools}

Which calls have to be made to fulfil the request below? Use only the APIs above, and write the names of tools, APIs and parameters exactly as above. Give every required parameter a value, and take a value that an earlier call will return for a plausible one. Answer with nothing but a JSON list of the calls in their order, such as [{{"tool": "Name of the tool", "api": "Name of the API", "parameters": {{"city": "Rome", "days": 3}}}}].

Request: {query}
Answer:"""

FUNCTION_CALLING = """You fulfil a user's request by calling APIs of tools. Make all calls that have to be made to fulfil the request, in their order. Your calls are noted and not carried out: take a value that an earlier call would return for a plausible one. When you have made all calls, answer without a call."""

PUBLISHED_SYSTEM = 'You are a helpful assistant.'

PUBLISHED_SELECTION = """This is the user's question: {query}
These are the tools you can select to solve the question:
Tool List:
{tools}

Please note that:\x20
1. You should only chooce one tool the Tool List to solve this question.
2. You must ONLY output the ID of the tool you chose in a parsible JSON format. An example output looks like:
'''
Example: {{"ID": XX}}
'''
Output:"""


def selection_prompt(tools: Iterable[str], query: str) -> str:
    """Builds the prompt of one choice.

    Args:
        tools: Name and description of each candidate, in the order of the prompt.
        query: The request, as published.
    """
    shown = list(tools)
    return SELECTION.format(tools='\n\n'.join(shown), count=len(shown), query=query)


def calls_prompt(tools: Iterable[str], query: str) -> str:
    """Builds the prompt of one request that needs calls, without its relevant APIs.

    Args:
        tools: Texts of the tools of the request.
        query: The request, as published.
    """
    return CALLS.format(tools='\n\n'.join(tools), query=query)


def function_calling_prompt(query: str) -> tuple[Message, ...]:
    """Builds the prompt of one request with native APIs.

    Args:
        query: The request, as published.
    """
    return (Message('system', FUNCTION_CALLING), Message('user', query))


def published_selection(tools: Iterable[tuple[int | str, str]], query: str) -> tuple[Message, ...]:
    """Builds the prompt of one choice in EasyTool's runs.

    Args:
        tools: Number and description of each candidate, in the order of the prompt.
        query: The request, as published.
    """
    listed = '\n'.join(f'ID: {number}\n{description}' for number, description in tools)
    text = PUBLISHED_SELECTION.format(tools=listed, query=query)
    return (Message('system', PUBLISHED_SYSTEM), Message('user', text))


SUCCESS = """Please check whether the response can reasonably and accurately answer the question. If it can, please output 'YES'; If not, please output 'NO'

You need to give reasons first and then decide whether the response can reasonably and accurately answer the question. You must only output in a parsible JSON format. Two example outputs look like:

Example 1: {"Reason": "The reason why you think the response can reasonably and accurately answer the question", "Choice": "Yes"}
"Example 2: {"Reason": "The reason why you think the response cannot reasonably and accurately answer the question", "Choice": "No"}

This is the user's question: {question}
This is the response: {answer}
Output:"""


# Texts of a tool, for a model or an encoder

_OF_RESPONSES = ('template_response', 'test_endpoint')


def match_instructions(file: Path, tools: Mapping[str, ToolDoc], fix: str) -> dict[str, ToolInstruction]:
    """Reads the instructions for a test file's tools.

    Args:
        file: A file in any published format; it may also contain other tools.
        tools: The documented tools.
        fix: The command that makes the file.

    Returns:
        Name -> instruction, for each of ``tools`` and in their order.

    Raises:
        DataError: The file is damaged, or tools or functions have no instruction; the error counts and names them.
    """
    instruction_of = load_instructions(file)
    missing = []
    for name, doc in tools.items():
        guided = {function.name for function in instruction_of[name].functions} if name in instruction_of else set()
        without = [f'{name}: {f.name}' for f in doc.functions if f.name not in guided]
        missing += without if name in instruction_of else [name]
    if missing:
        raise DataError(file, f'{len(missing)} tools or APIs have no instruction: {first_of(missing)}', fix=fix)
    return {name: instruction_of[name] for name in tools}


def documented_tool(doc: ToolDoc) -> str:
    """Returns the documented description of a tool, if it has one, followed by the descriptions of its APIs.

    The test files describe only APIs, not whole tools.
    """
    head = f'{doc.name}: {doc.description}' if doc.description else doc.name
    return '\n'.join([head, *(f'- {f.name}: {f.description}'.rstrip(': ') for f in doc.functions)])


def instructed_tool(instruction: ToolInstruction) -> str:
    """Returns the tool's name and the description in its instruction, which names its functions (Table 8)."""
    return f'{instruction.name}: {instruction.description}'


def documented_calls(doc: ToolDoc, apis: Collection[str]) -> str:
    """Returns the documentation of some of a tool's APIs as JSON: all data except the form of responses."""
    functions = [function for function in doc.functions if function.name in apis]
    raws = [function.raw for function in functions if isinstance(function.raw, Mapping)]
    shown_raws = [{key: value for key, value in raw.items() if key not in _OF_RESPONSES} for raw in raws]
    head = {key: value for key, value in dict(doc.raw).items() if key != 'api_list'}  # type: ignore[arg-type]
    return to_json({**head, 'api_list': shown_raws})


def instructed_calls(instruction: ToolInstruction, apis: Collection[str]) -> str:
    """Returns the instruction of a tool, with the guidelines of some of its functions, without empty members.

    The tool's description lists all functions. It is left out if only some of them are included, since it would suggest
    calls of the others.
    """
    entry = to_entry(instruction, 'toolbench')
    guidelines = {name: entry['tool_guidelines'][name] for name in entry['tool_guidelines'] if name in apis}
    described = {'tool_description': instruction.description} if len(guidelines) == len(instruction.functions) else {}
    return to_json(compact({'tool_name': instruction.name, **described, 'tool_guidelines': guidelines}))


# Tools of a request, and candidates of a choice (EasyTool, Section 5.1, Figure 3)


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
        return (
            documented_tool(self.data.tools[name])
            if self.instructions is None
            else instructed_tool(self.instructions[name])
        )

    def numbered(self, choice: Choice) -> Choice:
        """Returns a choice with numbers: each instruction's ``ID``, or else the tool's index in the file."""
        ids = {name: tool.id for name, tool in (self.instructions or {}).items() if tool.id is not None}
        indexes = {name: index for index, name in enumerate(self.data.tools, start=1)}
        numbers: Mapping[str, int | str] = ids if ids and len(ids) == len(self.instructions or ()) else indexes
        return replace(choice, ids=tuple(numbers[name] for name in choice.candidates))

    def described_alone(self, name: str) -> str:
        """Returns the description of a tool in EasyTool's prompt; an instruction is shown without the tool's name."""
        return self.described(name) if self.instructions is None else self.instructions[name].description

    def callable(self, request: Request) -> Iterator[str]:
        """Yields the text of each tool in a request that asks for calls of its APIs."""
        apis: dict[str, list[str]] = {}
        for signature in request.inventory:
            apis.setdefault(signature.tool, []).append(signature.api)
        for tool, names in apis.items():
            yield (
                documented_calls(self.data.tools[tool], names)
                if self.instructions is None
                else instructed_calls(self.instructions[tool], names)
            )


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
        match_instructions(instructions, data.tools, command_to_generate('toolbench', file, instructions))
        if instructions
        else None
    )
    return Shown(file, data, matched, shown_files('data', file, instructions))


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
    golds, queries = [record.tools[0] for record in records], [record.query for record in records]
    described = list(map(documented_tool, tools.data.tools.values()))
    ranked = rank_others(queries, golds, list(tools.data.tools), described, similarity)
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


def offered_tools(request: Request, tools: Mapping[str, ToolDoc]) -> ToolSet:
    """Returns one tool per documented API of a request; an answer may call several.

    Args:
        request: The request.
        tools: The documentation of the file's tools.
    """
    functions = {(tool, function.name): function for tool in tools for function in tools[tool].functions}
    names = request_names(request)
    return ToolSet([function_tool(functions[api], name) for name, api in names.items()], parallel=True)


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
