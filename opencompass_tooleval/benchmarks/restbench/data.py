"""RestBench's data: steps and tools by name, errata, typed records, documented tools, and the files themselves.

Each service has its records and its OpenAPI document. A file of records is a JSON list of
``{"query": text, "solution": [step, ...]}``; the id of a row is its number, from 0. Instructions for the tools,
published or generated, are in EasyTool's folder. Steps are parsed in time linear in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.restbench.prompts import documentation_text
from opencompass_tooleval.benchmarks.restbench.tables import SUBSETS
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    errata_in_words,
    find_benchmark,
)
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions, to_entry
from opencompass_tooleval.tool_docs.render import render_instruction
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import sample_value
from opencompass_tooleval.tool_docs.tool_doc import HTTP_METHODS, FunctionDoc
from opencompass_tooleval.work_dir.data_files import check_counts, command_to_generate, read_list, shown_files

DATA_PATH = 'data/restbench'
FIX = 'tooleval prepare restbench --from DIR'
GOLDS = ('official', 'repaired')
METHODS = ('names', 'easytool', 'function_calling')
"""Kinds of answers: tool names (our prompt), tool numbers (EasyTool's prompt), or native calls."""

MAX_STEP_CHARS = 2_000
"""Maximum number of characters of a tool's name."""

_MARKS = '`"\'*'
_STOPS = '.,;:'


@dataclass(frozen=True)
class PathStep:
    """A step parsed from text.

    Attributes:
        method: HTTP method in capitals; ``''`` if the text has none.
        path: Path without query string and closing slash; ``''`` if the text has none.
        rules: Corrections that were needed to parse it: ``blank`` (spaces around it), ``marks`` (quotes, stars or a
            full stop around it), ``method_case`` (``get``), ``no_method``, ``words`` (further text after the path, such
            as ``to find the id``), ``query`` (a query string), ``slash`` (a closing slash); ``too_long``.
    """

    method: str
    path: str
    rules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``GET /movie/456``; without a method only the path."""
        return f'{self.method} {self.path}' if self.method else self.path

    @property
    def segments(self) -> list[str]:
        """The parts between the slashes."""
        return self.path.split('/')


def is_placeholder(segment: str) -> bool:
    """Tests if a segment of a path is ``{param}``."""
    return len(segment) > 2 and segment[0] == '{' and segment[-1] == '}'


def normalise(text: str) -> PathStep:
    """Parses a step, a template or one with ids. The case and spelling of the path stay."""
    if len(text) > MAX_STEP_CHARS:
        return PathStep('', '', ('too_long',))
    rules = []

    def note(rule: str, before: str, after: str) -> str:
        if before != after and rule not in rules:
            rules.append(rule)
        return after

    bare = note('blank', text, text.strip())
    bare = note('marks', bare, bare.strip(_MARKS).strip())
    first, *rest = bare.split(None, 2) or ['']
    method = first.rstrip(':').upper()
    if method.lower() in HTTP_METHODS:
        note('method_case', first, method)
    else:
        method, rest = '', [first, *rest]
    path = rest[0] if rest else ''
    if not path.startswith('/'):
        return PathStep(method, '', tuple(rules))
    if not method:
        rules.append('no_method')
    if len(rest) > 1:
        rules.append('words')
    path = note('query', path, path.partition('?')[0].partition('#')[0])
    path = note('marks', path, path.rstrip(_MARKS + _STOPS))
    path = note('slash', path, path.rstrip('/') or '/')
    return PathStep(method, path, tuple(rules))


def _fits(template: list[str], segments: list[str]) -> bool:
    """Tests if the segments equal the template's, with any text in place of its placeholders."""
    return len(template) == len(segments) and all(
        expected == other or (is_placeholder(expected) and other != '')
        for expected, other in zip(template, segments, strict=True)
    )


def matches(template: str, concrete: str) -> bool:
    """Tests if ``concrete`` is a call of ``template``.

    Args:
        template: ``GET /movie/{movie_id}/keywords``.
        concrete: ``GET /movie/456/keywords?page=2``. Any text in place of a placeholder counts as an id, even another
            placeholder; other parts of the template must be equal. If one of the two has no method (rule
            ``no_method``), any method matches.
    """
    expected, other = normalise(template), normalise(concrete)
    if not expected.path or not other.path or (expected.method and other.method and expected.method != other.method):
        return False
    return _fits(expected.segments, other.segments)


class Inventory:
    """The tools of a service, by name.

    Args:
        names: Names such as ``GET /movie/{movie_id}``, in the documentation's order.

    Raises:
        ValueError: A name is not a method and a path, or occurs twice.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._by_length: dict[int, list[tuple[PathStep, str]]] = {}
        self._known: set[str] = set()
        for name in self.names:
            step = normalise(name)
            if step.name != name or not step.method:
                raise ValueError(f'{name!r} is not a method and path, such as GET /movie/{{movie_id}}')
            if name in self._known:
                raise ValueError(f'{name!r} occurs twice')
            self._known.add(name)
            self._by_length.setdefault(len(step.segments), []).append((step, name))

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def find(self, step: PathStep) -> str | None:
        """Finds the tool that a step calls.

        If several templates fit, the one with the earliest literal part has priority: ``GET /movie/popular`` is the
        tool with that name, not a call of ``GET /movie/{movie_id}``. A step without a method matches only if a single
        method is possible.

        Returns:
            The tool's name; None if the step is not in the inventory (EasyTool, Section 5.1).
        """
        if not step.path or step.name in self._known:
            return step.name or None
        segments = step.segments
        fitting: dict[tuple[bool, ...], list[str]] = {}
        for template, name in self._by_length.get(len(segments), ()):
            if (not step.method or step.method == template.method) and _fits(template.segments, segments):
                kinds = tuple(is_placeholder(segment) for segment in template.segments)
                fitting.setdefault(kinds, []).append(name)
        best = fitting[min(fitting)] if fitting else []
        return best[0] if len(best) == 1 else None


KINDS = ('blank', 'placeholder', 'unlisted')
"""Kinds of gold steps that are not tools of the OpenAPI document.

* ``blank``: spaces around the step (TMDB, 4).
* ``placeholder``: the placeholder has another name (TMDB, 1: ``GET /person/{movie_id}/movie_credits``).
* ``unlisted``: the path is not in the document (Spotify, 1: ``GET /track/{id}``, which is ``GET /tracks/{id}``).
"""

UNLISTED = {'GET /track/{id}': 'GET /tracks/{id}'}
"""Corrections without a general rule: the gold step -> the intended tool."""


@dataclass(frozen=True)
class Erratum:
    """One corrected step.

    Attributes:
        record: Id of the record.
        step: Index in the path, from 0.
        published: The step as published.
        repaired: The intended tool.
        kind: One of ``KINDS``.
    """

    record: str
    step: int
    published: str
    repaired: str
    kind: str


def _repaired(published: str, inventory: Inventory) -> tuple[str, str] | None:
    """Returns the intended tool and the kind of the error; None if the tool is unknown."""
    step = normalise(published)
    if step.name in inventory:
        return (step.name, 'blank') if set(step.rules) == {'blank'} else None
    if step.rules:
        return None
    tool = inventory.find(step)
    if tool is not None:
        return tool, 'placeholder'
    tool = UNLISTED.get(step.name)
    return (tool, 'unlisted') if tool in inventory and tool is not None else None


def find_errata(record_id: str, solution: Sequence[str], inventory: Inventory) -> list[Erratum]:
    """Checks one published gold path against the service's tools.

    Raises:
        ValueError: A step is not a tool, and the intended tool is unknown.
    """
    errata = []
    for index, published in enumerate(solution):
        if published in inventory:
            continue
        repaired = _repaired(published, inventory)
        if repaired is None:
            raise ValueError(f'the gold step {published!r} is not a tool of the OpenAPI document')
        errata.append(Erratum(record_id, index, published, *repaired))
    return errata


def repair(solution: Sequence[str], errata: Iterable[Erratum]) -> tuple[str, ...]:
    """Returns the path with its errata fixed; does not add, remove or move steps."""
    repaired = {erratum.step: erratum.repaired for erratum in errata}
    return tuple(repaired.get(index, published) for index, published in enumerate(solution))


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.restbench.tables.SUBSETS`."""

    METRICS = find_benchmark('restbench').metrics
    file: str
    document: str
    instructions: str

    records: int
    steps: int
    tools: int
    errata: int


@dataclass(frozen=True)
class Record:
    """One request and its gold path.

    Attributes:
        id: Row number in the file, from 0.
        query: The request.
        published: The gold path in the file.
        repaired: The gold path with errata fixed.
        gold: Which gold path is scored: one of ``GOLDS``.
        tools: Names of all tools of the service, in the document's order.
        ids: The number of each of ``tools``, if answers choose tools by number; otherwise empty.
    """

    id: str
    query: str
    published: tuple[str, ...]
    repaired: tuple[str, ...]
    gold: str
    tools: tuple[str, ...] = field(repr=False)
    ids: tuple[int, ...] = field(default=(), repr=False)

    @property
    def path(self) -> tuple[str, ...]:
        """The gold path that is scored."""
        return self.repaired if self.gold == 'repaired' else self.published

    def renamed(self, called: Mapping[str, str]) -> Record:
        """Returns the record with other names of tools; published steps keep their errata."""
        pairs = zip(self.published, self.repaired, strict=True)
        return replace(
            self,
            published=tuple(_like(step, meant, called[meant]) for step, meant in pairs),
            repaired=tuple(called[name] for name in self.repaired),
            tools=tuple(called[name] for name in self.tools),
        )

    def to_payload(self) -> str:
        """Converts the record to JSON text for :func:`parse_payload`."""
        return json.dumps(asdict(self))


def _like(step: str, meant: str, new: str) -> str:
    """Returns a published step whose parts of the tool's name are replaced by the same parts of a new name."""
    bare = step.strip()
    parts = zip(bare.split('/'), meant.split('/'), new.split('/'), strict=False)
    return step.replace(bare, '/'.join(c if a == b else a for a, b, c in parts))


TABLE = Table(Subset, SUBSETS, 'RestBench')
""":data:`~opencompass_tooleval.benchmarks.restbench.tables.SUBSETS`, typed."""
find_subset = TABLE.find


def parse_payload(payload: str) -> Record:
    """Parses the text of :meth:`Record.to_payload`."""
    raw: dict[str, Any] = json.loads(payload)
    return Record(**{**raw, **{key: tuple(raw[key]) for key in ('published', 'repaired', 'tools', 'ids')}})


def _read_row(file: Path, number: int, raw: Any) -> tuple[str, tuple[str, ...]]:
    query = raw.get('query') if isinstance(raw, dict) else None
    solution = raw.get('solution') if isinstance(raw, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "field 'query' is not a string", str(number), FIX)
    if not isinstance(solution, list) or not solution or not all(isinstance(step, str) for step in solution):
        raise DataError(file, "field 'solution' is not a list of steps", str(number), FIX)
    return query, tuple(solution)


def load_records(
    file: Path, subset: str, inventory: Inventory, gold: str = 'official', ids: Sequence[int] = ()
) -> tuple[list[Record], list[Erratum]]:
    """Reads a data file.

    Args:
        file: Path of ``tmdb.json`` or ``spotify.json``.
        subset: Name of the row in the table.
        inventory: The service's tools.
        gold: ``official``: the gold paths as published. ``repaired``: with their errata fixed.
        ids: The tools' numbers, if answers choose tools by number.

    Returns:
        One record per row, in the file's order, and the errata of all published paths. Counts that differ from the
        published ones are logged.

    Raises:
        DataError: The file is missing or damaged, or a gold step does not name a tool and the intended tool is unknown.
        ValueError: The subset or gold does not exist.
    """
    row = find_subset(subset)
    if gold not in GOLDS:
        raise ValueError(f'RestBench has gold {" and ".join(GOLDS)}, not {gold!r}')
    records: list[Record] = []
    errata: list[Erratum] = []
    for number, raw in enumerate(read_list(file, FIX)):
        query, solution = _read_row(file, number, raw)
        try:
            path_errata = find_errata(str(number), solution, inventory)
        except ValueError as error:
            raise DataError(file, str(error), str(number), FIX) from error
        repaired = repair(solution, path_errata)
        records.append(Record(str(number), query, solution, repaired, gold, inventory.names, tuple(ids)))
        errata += path_errata
    steps = sum(len(record.published) for record in records)
    counts = {'records': len(records), 'steps': steps, 'tools': len(inventory.names), 'errata': len(errata)}
    check_counts(file, row.name, counts, row)
    return records, errata


def gold_answer(path: Sequence[str]) -> str:
    """Returns the gold answer: a JSON list of steps."""
    return json.dumps(list(path), ensure_ascii=False)


def gold_choices(record: Record) -> str:
    """Returns the gold answer with tool numbers: the intended tools, with errata fixed."""
    number = dict(zip(record.tools, record.ids, strict=True))
    return json.dumps([{'Task': step, 'ID': number[step]} for step in record.repaired], ensure_ascii=False)


@dataclass(frozen=True)
class Toolbox:
    """The tools of a service.

    Attributes:
        inventory: Tool names, in the document's order.
        texts: Tool texts in the prompt, in the same order.
        shown: ``tools`` (``documentation`` or ``instructions``), and the names and SHA-256 of the files, for
            provenance.
        functions: Tool documentation, in the same order.
        entries: The complete instructions for EasyTool's prompt, in the file's order; empty unless answers choose tools
            by number.
        called: For a variant: the name of a tool in the document -> its name here; else empty.
    """

    inventory: Inventory
    texts: tuple[str, ...]
    shown: dict[str, str]
    functions: tuple[FunctionDoc, ...]
    entries: tuple[Mapping[str, Any], ...] = ()
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[int, ...]:
        """The number of each tool of the inventory; empty if tools are not chosen by number."""
        number = {entry['tool_usage']: int(entry['ID']) for entry in self.entries}
        return tuple(number[name] for name in self.inventory.names) if number else ()


def match_instructions(file: Path, inventory: Inventory, fix: str = '') -> list[ToolInstruction]:
    """Reads a file of instructions; returns them in the inventory's order.

    Returns:
        One instruction per tool in the file; it covers all functions of that tool.

    Raises:
        DataError: A tool has no instruction or two, or an instruction is for an unknown tool; the error lists them.
    """
    tool_of: dict[str, ToolInstruction] = {}
    doubled = []
    for tool in load_instructions(file).values():
        for function in tool.functions:
            if function.name in tool_of:
                doubled.append(function.name)
            tool_of[function.name] = tool
    faults = {
        'tools without an instruction': [name for name in inventory.names if name not in tool_of],
        'instructions for unknown tools': [name for name in tool_of if name not in inventory],
        'tools with several instructions': doubled,
    }
    problems = '; '.join(f'{len(names)} {fault}: {", ".join(names)}' for fault, names in faults.items() if names)
    if problems:
        raise DataError(file, problems, fix=fix)
    return list({tool_of[name].name: tool_of[name] for name in inventory.names}.values())


def _numbered(file: Path) -> tuple[Mapping[str, Any], ...]:
    """Returns a file's instructions in order, with their ``ID``; if no entry has one, numbered from 1."""
    tools = list(load_instructions(file).values())
    bare = all(tool.id is None for tool in tools)
    entries: list[Mapping[str, Any]] = []
    for number, tool in enumerate(tools, start=1):
        if not bare and (not isinstance(tool.id, int) or tool.id < 0):
            raise DataError(file, "'ID' must be a number from 0, since answers choose tools by it", tool.name)
        try:
            entries.append({'ID': number if bare else tool.id, **to_entry(tool, 'restbench')})
        except ValueError as error:
            raise DataError(file, str(error), tool.name) from error
    if len({entry['ID'] for entry in entries}) < len(entries):
        raise DataError(file, "two tools have the same 'ID'")
    return tuple(entries)


def open_toolbox(
    document: Path, instructions: Path | None = None, method: str = 'names', change: Change | None = None
) -> Toolbox:
    """Reads a service's OpenAPI document, and the instructions that replace it, if any.

    Args:
        document: Path of the document.
        instructions: A file of instructions.
        method: One of ``METHODS``; ``easytool`` needs instructions of one function each.
        change: Changes the documented tools, by name in the document, for a variant.

    Raises:
        DataError: A file is missing or damaged, or the instructions do not match the document's tools.
        ValueError: The method does not exist, needs instructions, or does not accept them.
    """
    if method not in METHODS:
        raise ValueError(f'RestBench has methods {", ".join(METHODS)}, not {method!r}')
    if method == 'function_calling' and instructions is not None:
        raise ValueError("method 'function_calling' uses the documented tools: leave out instructions")
    if method == 'easytool' and instructions is None:
        raise ValueError("method 'easytool' needs instructions: name the file")
    if not document.is_file():
        raise DataError(document, 'the OpenAPI document is missing', fix=FIX)
    functions = tuple(function for tool in load_docs('openapi', document) for function in tool.functions)
    called: dict[str, str] = {}
    if change:
        changed = change({function.name: function for function in functions})
        functions, called = tuple(changed.values()), {old: function.name for old, function in changed.items()}
    try:
        inventory = Inventory(function.name for function in functions)
    except ValueError as error:
        raise DataError(document, str(error)) from error
    shown = shown_files('document', document, instructions)
    shown |= {'method': method} if method != 'names' else {}
    if instructions is None:
        return Toolbox(inventory, tuple(map(documentation_text, functions)), shown, functions, called=called)
    matched = match_instructions(instructions, inventory, command_to_generate('openapi', document, instructions))
    numbered = _numbered(instructions) if method == 'easytool' else ()
    if change:  # the numbers stay
        numbered = tuple(sorted(numbered, key=lambda entry: inventory.names.index(entry['tool_usage'])))
    return Toolbox(inventory, tuple(map(render_instruction, matched)), shown, functions, numbered, called)


def offered_tools(functions: Sequence[FunctionDoc]) -> ToolSet:
    """Returns the operations of an OpenAPI document as native tools, with the parameters of path, query and body.

    Each has a name such as ``GET /movie/{movie_id}``; an answer may call several.
    """
    return ToolSet([function_tool(function, has_defaults=False) for function in functions], parallel=True)


def gold_calls(record: Record, functions: Sequence[FunctionDoc]) -> list[ToolCall]:
    """Returns the gold path as calls. RestBench has no gold arguments: required ones get documented or invented values.

    A step keeps the name in the scored gold path, even a wrong one; its arguments are those of the intended tool.
    """
    required = {function.name: function.required for function in functions}
    return [
        ToolCall(step, {parameter.name: sample_value(parameter) for parameter in required[meant]})
        for step, meant in zip(record.path, record.repaired, strict=True)
    ]


def _read(subset: str, files: Sequence[Path]) -> Content:
    file, document, instructions = files
    inventory = open_toolbox(document).inventory
    records, errata = load_records(file, subset, inventory)
    remarks = [errata_in_words(errata, KINDS)]
    if instructions:
        match_instructions(instructions, inventory)
        remarks.append(f'{len(inventory.names)} instructions')
    return Content({'records': len(records), 'tools': len(inventory.names)}, remarks)


def configured(subset: str, *, method: str | None = None, instructions: str | None = None) -> ConfiguredDataset:
    """Returns the config of a service.

    Raises:
        ValueError: The service or method does not exist.
    """
    variants = {None: '_easytool' if instructions else '', 'easytool': '_easytool_ids', 'function_calling': '_fc'}
    if method not in variants:
        raise ValueError(f'RestBench has the methods easytool and function_calling, not {method!r}')
    file = Path(find_subset(subset).file)
    variant = variants[method]
    config = f'restbench/tooleval_restbench{variant.removesuffix("_ids")}_gen'
    return ConfiguredDataset([f'{config}:tooleval_restbench_{subset}{variant}_datasets'], subset, file)


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            subset.name,
            (f'{DATA_PATH}/{subset.file}', f'{DATA_PATH}/{subset.document}'),
            partial(_read, subset.name),
            {'records': subset.records, 'tools': subset.tools},
            optional=(subset.instructions,),
            folders=('datasets', 'tool_instruction'),
        )
        for subset in TABLE
    ),
    origin="RestBench's files are in its authors' GitHub repository.",
    clone='git clone --depth 1 https://github.com/Yifan-Song793/RestGPT',
)
