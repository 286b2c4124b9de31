"""ToolBench's files as typed records. Only this module knows the quirks of the data.

A test file is a JSON list of ``{"query_id", "query", "api_list": [documentation of an API, ...], "relevant APIs":
[[tool, API], ...]}``. A name identifies a tool; tool and name identify an API. Its errors do not change a score:

* ``relevant_twice``: an API occurs twice among the relevant ones; it counts once.
* ``query_twice``: two ids have the same request; both are used, as published.
* ``shared_name``: providers in several categories share a tool's name; they are one tool, since ``relevant APIs`` has
  no categories, and the first description of an API counts.
* ``parameter_twice``: a parameter is documented twice, or as required and as optional; the first counts.
* ``unfit_default``: a default does not have the documented type; it is shown unchanged.
* ``undescribed``: an API has no description; only its name is shown.

A file of stored runs is an object: query id -> ``{"query", "available_tools": [JSON schema of a function, ...],
"answer": {"method", "total_steps", "final_answer", "answer_details": [node, ...]}}``. A node is ``{"role", "message",
"next": [node, ...]}``; the message of role ``tool`` is ``{"name", "arguments", "response"}``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.reading import unfit
from opencompass_tooleval.benchmarks.toolbench.tables import FILES as FILE_ROWS
from opencompass_tooleval.benchmarks.toolbench.tables import SUBSETS
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
from opencompass_tooleval.core.calls.messages import TOOL, joined_text
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.trajectory import AnsweredCall
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.scoring.result import INFRA
from opencompass_tooleval.core.text.json_members import TooMuchError
from opencompass_tooleval.core.text.jsonable import beyond_bounds, bounded_text
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.sources.toolbench import read_samples
from opencompass_tooleval.tool_docs.template import sample_value
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.work_dir.data_files import check_counts, read_json, read_members

FIX = 'tooleval prepare toolbench --from DIR'

Api = tuple[str, str]
"""Names of a tool and of one of its APIs."""


@dataclass(frozen=True)
class File:
    """One row of :data:`~opencompass_tooleval.benchmarks.toolbench.tables.FILES`."""

    name: str
    file: str
    records: int
    tools: int
    apis: int
    errata: int


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.toolbench.tables.SUBSETS`."""

    METRICS = find_benchmark('toolbench').metrics
    kind: str
    data: str
    candidates: int

    instructions: str


@dataclass(frozen=True)
class Record:
    """One request.

    Attributes:
        id: The ``query_id``.
        query: The request.
        apis: The APIs of ``api_list``, in the file's order.
        relevant: The needed APIs, in the file's order, each once.
    """

    id: str
    query: str
    apis: tuple[Api, ...]
    relevant: tuple[Api, ...]

    @property
    def tools(self) -> tuple[str, ...]:
        """The needed tools, in the order of ``relevant``."""
        return tuple(dict.fromkeys(tool for tool, _ in self.relevant))


@dataclass(frozen=True)
class Data:
    """One file.

    Attributes:
        records: The requests, in the file's order.
        tools: Name -> documentation, joined from the ``api_list`` of all requests, in the order of first occurrence.
        errata: Errors in the data.
        rows: The raw rows, one for each request.
    """

    records: tuple[Record, ...]
    tools: Mapping[str, ToolDoc]
    errata: tuple[Erratum, ...]
    rows: tuple[Mapping[str, Any], ...]


FILE_TABLE = Table(File, FILE_ROWS, 'ToolBench', 'file')
""":data:`~opencompass_tooleval.benchmarks.toolbench.tables.FILES`, typed."""

TABLE = Table(Subset, SUBSETS, 'ToolBench')
""":data:`~opencompass_tooleval.benchmarks.toolbench.tables.SUBSETS`, typed."""


find_file = FILE_TABLE.find
find_subset = TABLE.find


def _is_api(api: Any) -> bool:
    return isinstance(api, dict) and all(isinstance(api.get(key), str) for key in ('tool_name', 'api_name'))


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)


def _read_row(file: Path, number: int, raw: Any) -> Record:
    """Checks and parses one row; errors contain its id, if known."""
    record_id = raw.get('query_id') if isinstance(raw, dict) else None
    if isinstance(record_id, bool) or not isinstance(record_id, (int, str)):
        raise DataError(file, "field 'query_id' is not a number or text", f'row {number}', FIX)
    name = str(record_id)
    query, apis, relevant = raw.get('query'), raw.get('api_list'), raw.get('relevant APIs')
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "field 'query' is not a string", name, FIX)
    if not isinstance(apis, list) or not apis or not all(map(_is_api, apis)):
        raise DataError(file, "field 'api_list' is not a list of APIs with 'tool_name' and 'api_name'", name, FIX)
    if not isinstance(relevant, list) or not relevant or not all(map(_is_pair, relevant)):
        raise DataError(file, "field 'relevant APIs' is not a list of tool and API", name, FIX)
    listed = tuple(dict.fromkeys((api['tool_name'], api['api_name']) for api in apis))
    gold = tuple(dict.fromkeys((tool, api) for tool, api in relevant))
    missing = [pair for pair in gold if pair not in listed]
    if missing:
        raise DataError(file, f'{missing[0]} is relevant, but not in its api_list', name, FIX)
    return Record(name, query, listed, gold)


def load_data(file: Path, name: str, change: Change | None = None) -> Data:
    """Reads a test file.

    Args:
        file: Path of the file.
        name: ``G1``, ``G2`` or ``G3``; counts that differ from the published file's are logged.
        change: Changes the rows for a variant.

    Raises:
        DataError: The file is missing or damaged; the error names the record.
        ValueError: The name is not in the table.
    """
    published = find_file(name)
    rows = read_json(file)
    if not isinstance(rows, list) or not rows:
        raise DataError(file, 'the file is not a list of records', fix=FIX)
    records: dict[str, Record] = {}
    for number, raw in enumerate(rows):
        record = _read_row(file, number, raw)
        if record.id in records:
            raise DataError(file, 'two records have this query_id', record.id, FIX)
        records[record.id] = record
    tools = {tool.name: tool for tool in read_samples(rows, file)}
    data = Data(tuple(records.values()), tools, tuple(find_errata(rows, tools.values())), tuple(rows))
    apis = sum(len(tool.functions) for tool in tools.values())
    counts = {'records': len(records), 'tools': len(tools), 'apis': apis, 'errata': len(data.errata)}
    check_counts(file, published.file, counts, published)
    if change is None:
        return data
    changed = list(change({str(row['query_id']): row for row in rows}).values())
    return Data(
        tuple(_read_row(file, number, raw) for number, raw in enumerate(changed)),
        {tool.name: tool for tool in read_samples(changed, file)},
        data.errata,
        tuple(changed),
    )


# Errata

KINDS = ('relevant_twice', 'query_twice', 'shared_name', 'parameter_twice', 'unfit_default', 'undescribed')


@dataclass(frozen=True)
class Erratum:
    """One error in the data.

    Attributes:
        where: Id of the record, or ``tool: API``.
        what: The repeated, missing or invalid part.
        kind: One of ``KINDS``.
    """

    where: str
    what: str
    kind: str


def _of_requests(rows: Sequence[Mapping[str, Any]]) -> Iterator[Erratum]:
    asked: set[str] = set()
    for row in rows:
        for pair, count in Counter(map(tuple, row['relevant APIs'])).items():
            if count > 1:
                yield Erratum(str(row['query_id']), ': '.join(pair), 'relevant_twice')
        query = ' '.join(row['query'].split()).casefold()
        if query in asked:
            yield Erratum(str(row['query_id']), row['query'], 'query_twice')
        asked.add(query)


def _of_names(rows: Iterable[Mapping[str, Any]]) -> Iterator[Erratum]:
    categories: dict[str, dict[str, None]] = {}
    for row in rows:
        for api in row['api_list']:
            categories.setdefault(api['tool_name'], {})[str(api.get('category_name') or '')] = None
    for tool, names in categories.items():
        if len(names) > 1:
            yield Erratum(tool, ', '.join(names), 'shared_name')


def _of_function(where: str, function: FunctionDoc) -> Iterator[Erratum]:
    raw: Mapping[str, Any] = function.raw if isinstance(function.raw, Mapping) else {}
    documented = [
        parameter['name'] for key in ('required_parameters', 'optional_parameters') for parameter in raw.get(key) or ()
    ]
    for name, count in Counter(documented).items():
        if count > 1:
            yield Erratum(where, name, 'parameter_twice')
    for parameter in (*function.required, *function.optional):
        if parameter.default != '' and unfit(parameter, parameter.default):
            yield Erratum(where, parameter.name, 'unfit_default')
    if not function.description.strip():
        yield Erratum(where, '', 'undescribed')


def find_errata(rows: Sequence[Mapping[str, Any]], tools: Iterable[ToolDoc]) -> list[Erratum]:
    """Lists the errors in one file.

    Args:
        rows: The rows, already checked.
        tools: The tools documented in the rows.
    """
    functions = ((f'{tool.name}: {function.name}', function) for tool in tools for function in tool.functions)
    of_functions = (erratum for named in functions for erratum in _of_function(*named))
    return [*_of_requests(rows), *_of_names(rows), *of_functions]


# What a request asks for


@dataclass(frozen=True)
class Signature:
    """An API that may be called.

    Attributes:
        tool: Name of the API's tool.
        api: Name of the API.
        required: Required parameters: name, type and default.
        optional: Optional parameters.
    """

    tool: str
    api: str
    required: tuple[Parameter, ...]
    optional: tuple[Parameter, ...]


@dataclass(frozen=True)
class Request:
    """One request and its APIs.

    Attributes:
        id: Record id.
        query: The request.
        relevant: The needed APIs.
        inventory: All APIs that may be called.
    """

    id: str
    query: str
    relevant: tuple[Api, ...]
    inventory: tuple[Signature, ...]

    @property
    def gold_answer(self) -> str:
        """Valid calls: each relevant API with documented or invented values for required parameters.

        ToolBench publishes no calls. These calls are only free of errors; their values need not be correct.
        """
        calls = [
            {'tool': tool, 'api': api, 'parameters': gold_parameters(self, (tool, api))} for tool, api in self.relevant
        ]
        return json.dumps(calls, ensure_ascii=False)

    @property
    def gold_calls(self) -> list[ToolCall]:
        """The gold answer as native calls."""
        called = {api: name for name, api in request_names(self).items()}
        return [ToolCall(called[api], gold_parameters(self, api)) for api in self.relevant]

    def to_payload(self) -> str:
        """Converts the request to JSON text for :func:`parse_request`."""
        inventory = [
            [each.tool, each.api, [*map(_write_parameter, each.required)], [*map(_write_parameter, each.optional)]]
            for each in self.inventory
        ]
        return json.dumps([self.id, self.query, self.relevant, inventory])


def _bare(parameter: Parameter) -> Parameter:
    """Returns a parameter without its description, which is not needed for checks."""
    return Parameter(parameter.name, parameter.type, default=parameter.default)


def _write_parameter(parameter: Parameter) -> list[Any]:
    """Returns name, type, and the default if there is one."""
    return [parameter.name, parameter.type, *([] if parameter.default is ABSENT else [parameter.default])]


def _read_parameters(raw: list[Any]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, type_, default=(*default, ABSENT)[0]) for name, type_, *default in raw)


def parse_request(payload: str) -> Request:
    """Parses the text of :meth:`Request.to_payload`."""
    record_id, query, relevant, inventory = json.loads(payload)
    signatures = tuple(
        Signature(tool, api, _read_parameters(required), _read_parameters(optional))
        for tool, api, required, optional in inventory
    )
    return Request(record_id, query, tuple((tool, api) for tool, api in relevant), signatures)


def make_request(record: Record, tools: Mapping[str, ToolDoc]) -> Request:
    """Builds the request of a record, with the documented parameters."""
    functions = {(tool, f.name): f for tool, _ in record.apis for f in tools[tool].functions}
    inventory = tuple(
        Signature(
            tool,
            api,
            tuple(map(_bare, functions[tool, api].required)),
            tuple(map(_bare, functions[tool, api].optional)),
        )
        for tool, api in record.apis
    )
    return Request(record.id, record.query, record.relevant, inventory)


def gold_parameters(request: Request, api: Api) -> dict[str, Any]:
    """Returns documented or invented values for the required parameters of an API of a request."""
    signature = next(signature for signature in request.inventory if (signature.tool, signature.api) == api)
    return {parameter.name: sample_value(parameter) for parameter in signature.required}


def tool_names(apis: Iterable[Api]) -> dict[str, Api]:
    """Returns names for APIs as tools, ``Tool.Api``, in order; a repeated name gets a number at its end."""
    names: dict[str, Api] = {}
    for tool, api in apis:
        # Tool 'A.b' with API 'c' must not equal tool 'A' with API 'b.c'.
        name, number = f'{tool}.{api}', 1
        while name in names:
            number += 1
            name = f'{tool}.{api} ({number})'
        names[name] = (tool, api)
    return names


def request_names(request: Request) -> dict[str, Api]:
    """Returns the names of a request's APIs as tools."""
    return tool_names((signature.tool, signature.api) for signature in request.inventory)


@dataclass(frozen=True)
class Choice:
    """One request and its candidate tools.

    Attributes:
        id: Record id.
        query: The request.
        gold: The gold tool.
        candidates: Names of all candidates, in the order of the prompt.
        ids: Numbers of the candidates, if answers choose by number; otherwise empty.
    """

    id: str
    query: str
    gold: str
    candidates: tuple[str, ...]
    ids: tuple[int | str, ...] = ()

    @property
    def gold_answer(self) -> str:
        """The gold answer."""
        gold = {'ID': self.ids[self.candidates.index(self.gold)]} if self.ids else {'tool': self.gold}
        return json.dumps(gold, ensure_ascii=False)

    def to_payload(self) -> str:
        """Converts the choice to JSON text for :func:`parse_choice`."""
        return json.dumps(asdict(self))


def parse_choice(payload: str) -> Choice:
    """Parses the text of :meth:`Choice.to_payload`."""
    raw: dict[str, Any] = json.loads(payload)
    return Choice(**{**raw, 'candidates': tuple(raw['candidates']), 'ids': tuple(raw['ids'])})


# Stored runs

FINISH = 'Finish'
GIVE_ANSWER = 'give_answer'

MAX_NODES = 10_000
"""Maximum number of nodes of one run: ToolBench's agents send at most 200 requests."""

MAX_STEPS = 500
"""Maximum depth of one run in steps: StableToolBench's runs have at most 50."""

_A_FILE = "an object of runs by query id, as ToolBench's are"
_MAX_HEAD = 200
_MAX_STEPS = 1_000_000
_RETURN_TYPE = re.compile(r'"return_type"\s{0,9}:\s{0,9}"(\w{1,40})"')


@dataclass(frozen=True)
class Node:
    """One node of a run's tree.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        message: Text; for a tool ``{"name", "arguments", "response"}``.
        parent: Index of the node before it, depth first; -1 for a root.
    """

    role: str
    message: Any
    parent: int


@dataclass(frozen=True)
class Run:
    """One stored run.

    Attributes:
        id: Query id.
        query: The request; ``''`` if the file lacks it.
        method: The method's name in the file.
        total_steps: The number of steps in the file.
        final_answer: The answer to the user.
        ending: ``give_answer``, ``give_up_and_restart`` or another argument of ``Finish`` in the last step; ``''`` if
            the last step does not call ``Finish``.
        calls: The tool calls, without ``Finish``, in the order of the tree, depth first.
        inventory: Name -> signature of the available tools in the file, without ``Finish``.
        nodes: The complete tree, depth first; the members of a tool node's message are checked.
        tools: The tools in the file; the members that the inventory needs are checked.
    """

    id: str
    query: str
    method: str
    total_steps: int
    final_answer: str
    ending: str
    calls: tuple[AnsweredCall, ...]
    inventory: Mapping[str, Signature]
    nodes: tuple[Node, ...] = ()
    tools: Sequence[Mapping[str, Any]] = ()

    @property
    def first_way(self) -> Iterator[Node]:
        """Yields the nodes to an end: where a node has several children, the first, as in ToolBench's evaluator."""
        for index, node in enumerate(self.nodes):
            if node.parent != index - 1:
                return
            yield node

    @property
    def is_retrieved(self) -> bool:
        """True if the tools were retrieved, so that ``inventory`` lacks the tools to choose from."""
        return 'retrieve' in self.method.casefold()


def _need(row: Any, key: str, kind: type) -> Any:
    if not isinstance(row, dict) or not isinstance(row.get(key), kind) or isinstance(row.get(key), bool):
        raise Fault(f'{key!r} is missing or not of type {kind.__name__}')
    return row[key]


def _parameter(name: str, raw: Any) -> Parameter:
    if not isinstance(raw, dict):
        raise Fault(f'the parameter {name[:_MAX_HEAD]!r} is not an object')
    type_name = raw.get('type')
    default = raw.get('example_value', ABSENT)
    return Parameter(name, type_name if isinstance(type_name, str) else '', default=default)


def _signature(tool: Any) -> Signature:
    name, schema = _need(tool, 'name', str), _need(tool, 'parameters', dict)
    properties = _need(schema, 'properties', dict)
    required = schema.get('required', [])
    if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
        raise Fault(f"'required' of {name[:_MAX_HEAD]!r} is not a list of texts")
    needed = dict.fromkeys(required)
    return Signature(
        '',
        name,
        tuple(_parameter(key, properties.get(key, {})) for key in needed),
        tuple(_parameter(key, raw) for key, raw in properties.items() if key not in needed),
    )


def _nodes(details: list[Any]) -> tuple[Node, ...]:
    """Returns all nodes, depth first, without recursion, since a file may be nested deeply."""
    nodes: list[Node] = []
    waiting = [(node, -1) for node in reversed(details)]
    while waiting:
        node, parent = waiting.pop()
        if len(nodes) == MAX_NODES:
            raise Fault(f"'answer_details' has more than {MAX_NODES} nodes")
        role, below = _need(node, 'role', str), node.get('next', [])
        if not isinstance(below, list):
            raise Fault("'next' of a node is not a list")
        waiting += [(child, len(nodes)) for child in reversed(below)]
        nodes.append(Node(role, _need(node, 'message', dict) if role == TOOL else node.get('message'), parent))
    return tuple(nodes)


def read_passed(raw: Any) -> Any:
    """Returns arguments; text is parsed as JSON if possible."""
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _ending(message: Mapping[str, Any]) -> str:
    """Parses the end from ``Finish``'s arguments, which the files store as text that may not be JSON
    (``\\{...\\}``)."""
    arguments = message.get('arguments')
    if isinstance(arguments, dict):
        return str(arguments.get('return_type', ''))[:_MAX_HEAD]
    return_type = _RETURN_TYPE.search(arguments[:_MAX_HEAD]) if isinstance(arguments, str) else None
    return return_type[1] if return_type else ''


def read_run(run_id: str, row: Any) -> Run:
    """Parses one run of a file.

    Raises:
        Fault: The row is not a run.
    """
    answer = _need(row, 'answer', dict)
    nodes = _nodes(_need(answer, 'answer_details', list))
    called = [(node.message, _need(node.message, 'name', str)) for node in nodes if node.role == TOOL]
    final = answer.get('final_answer', '')
    tools = [_signature(tool) for tool in _need(row, 'available_tools', list)]
    query, steps = row.get('query', ''), _need(answer, 'total_steps', int)
    if not 0 <= steps <= _MAX_STEPS:
        raise Fault(f"'total_steps' is not between 0 and {_MAX_STEPS}")
    return Run(
        run_id,
        query if isinstance(query, str) else '',
        bounded_text(answer.get('method'), _MAX_HEAD),
        steps,
        final if isinstance(final, str) else '',
        _ending(called[-1][0]) if called and called[-1][1] == FINISH else '',
        tuple(
            AnsweredCall(name, read_passed(message.get('arguments')), _need(message, 'response', str))
            for message, name in called
            if name != FINISH
        ),
        {tool.api: tool for tool in reversed(tools) if tool.api != FINISH},
        nodes,
        row['available_tools'],
    )


def _check_bounds(row: Any) -> None:
    """Checks the size of a run without its nesting, and the nodes of its tree level by level."""
    answer = row.get('answer') if isinstance(row, dict) else None
    details = answer.get('answer_details') if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(details, list):
        _check_part(row)
        return
    _check_part([row | {'answer': ''}, answer | {'answer_details': ''}])
    level = details
    for _ in range(2 + MAX_STEPS):  # above the steps are nodes with the roles system and user
        below: list[Any] = []
        for node in level:
            is_tree = isinstance(node, dict) and isinstance(node.get('next'), list)
            _check_part(node | {'next': ''} if is_tree else node)
            below += node['next'] if is_tree else []
        if not below:
            return
        level = below
    raise Fault(f"'answer_details' is nested deeper than {MAX_STEPS} steps")


def _check_part(value: Any) -> None:
    if excess := beyond_bounds(value):
        raise Fault(f'it is nested too deeply or contains too large a number ({excess})')


def stored_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields query id and value of every run of a file, which may be gzipped; keeps one in memory.

    A run may have up to ``MAX_STEPS`` nested steps; its other content has the limits of all files.

    Raises:
        DataError: The file is missing, damaged or of another format, has a query twice, or a run exceeds the limits.
    """
    seen: set[str] = set()
    for run_id, row in read_members(file, _A_FILE):
        with naming_record(file, run_id[:_MAX_HEAD]):
            if run_id in seen:
                raise Fault('the query occurs twice in the file')
            _check_bounds(row)
        seen.add(run_id)
        yield run_id, row
    if not seen:
        raise DataError(file, f'the file is not an {_A_FILE}')


def holds_runs(file: Path) -> bool:
    """Tests if the first member of a file is a run.

    Raises:
        DataError: The first member is too long or nested too deeply.
    """
    try:
        _, first = next(read_members(file), ('', None))
    except DataError as error:
        if isinstance(error.__cause__, TooMuchError):
            raise
        return False
    return isinstance(first, dict) and isinstance(first.get('answer'), dict) and 'answer_details' in first['answer']


def read_runs(file: Path) -> Iterator[Run]:
    """Reads a file of stored runs, which may be gzipped; keeps one run in memory.

    Raises:
        DataError: The file is missing, damaged or in another format; the error names the run.
    """
    for run_id, row in stored_rows(file):
        with naming_record(file, run_id[:_MAX_HEAD]):
            run = read_run(run_id, row)
        yield run


# Final answers

_ID_KEYS, _QUERY_KEYS = ('record_id', 'query_id', 'id'), ('query', 'question')
_ANSWER_KEYS = ('final_answer', 'answer', 'answer_generation', 'prediction')


@dataclass(frozen=True)
class FinalAnswer:
    """The final answer of an agent's run.

    Attributes:
        id: Record id.
        query: The request.
        answer: The final answer, ``''`` if it is missing.
        infra: Reason for a missing answer that the model did not cause (``infra:...``), or None.
    """

    id: str
    query: str
    answer: str
    infra: str | None = None

    def to_payload(self) -> str:
        """Converts the final answer to JSON text for :func:`parse_final_answer`."""
        return json.dumps(asdict(self))


def parse_final_answer(payload: str) -> FinalAnswer:
    """Parses the text of :meth:`FinalAnswer.to_payload`."""
    return FinalAnswer(**json.loads(payload))


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def member_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields the name and value of every row; the name is the row's number in a list, or its key in an object."""
    if holds_runs(file):
        yield from stored_rows(file)
        return
    value = read_json(file)
    if isinstance(value, dict) and all(isinstance(row, dict) for row in value.values()):
        yield from value.items()
    else:
        yield from ((str(number), row) for number, row in enumerate(value if isinstance(value, list) else [value]))


def _final_answer(file: Path, name: str, row: Any, queries: Mapping[str, str]) -> FinalAnswer:
    if not isinstance(row, dict):
        raise DataError(file, 'the trajectory is not an object', name)
    stated_id = _first(row, _ID_KEYS)
    record_id = name if stated_id is None else str(stated_id)
    answer, query, infra = _first(row, _ANSWER_KEYS), _first(row, _QUERY_KEYS), row.get('infra')
    if isinstance(answer, dict):  # ToolBench's files: an object with the steps and the final answer
        query = query or _first(answer, _QUERY_KEYS)
        answer = answer.get('final_answer', '')
    query = query or queries.get(record_id)
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "the trajectory has no 'query', and no record has its id", record_id)
    try:
        answer = joined_text(answer)
    except ValueError as error:
        raise DataError(file, str(error), record_id) from error
    if not isinstance(answer, str):
        raise DataError(file, f'the trajectory has no text in {", ".join(map(repr, _ANSWER_KEYS))}', record_id)
    if infra is not None and not (isinstance(infra, str) and infra.startswith(INFRA)):
        raise DataError(file, "'infra' is neither null nor an infra: reason", record_id)
    return FinalAnswer(record_id, query, answer, infra)


def load_final_answers(file: Path, queries: Mapping[str, str] | None = None) -> list[FinalAnswer]:
    """Reads the final answers of stored trajectories.

    Args:
        file: JSON lines or a JSON list with ``id``, ``query`` and ``final_answer`` (or ``answer``); ToolBench's result
            files (an object by query id, the answer an object with ``final_answer``); or a predictions file of
            OpenCompass (``record_id``, ``prediction``), which has no queries.
        queries: Record id -> request, for files without them.

    Raises:
        DataError: The file is missing, damaged or empty, a trajectory is incomplete, or two have the same id.
    """
    answers: dict[str, FinalAnswer] = {}
    for name, row in member_rows(file):
        answer = _final_answer(file, name, row, queries or {})
        if answer.id in answers:
            raise DataError(file, 'two trajectories have this id', answer.id)
        answers[answer.id] = answer
    if not answers:
        raise DataError(file, 'the file contains no trajectories')
    return list(answers.values())


# Files


def load_queries(file: Path) -> dict[str, str]:
    """Returns record id -> request of a test file, found in the table by the file's name; other files may have any
    size."""
    name = next((row.name for row in FILE_TABLE if row.file == file.name), FILE_TABLE[0].name)
    return {record.id: record.query for record in load_data(file, name).records}


def _content(name: str, files: Sequence[Path]) -> Content:
    data = load_data(files[0], name)
    counts = {'records': len(data.records), 'tools': len(data.tools)}
    return Content(counts, [errata_in_words(data.errata, KINDS)])


def configured(subset: str, *, method: str | None = None, instructions: str | None = None) -> ConfiguredDataset:
    """Returns the config of a subset.

    Raises:
        ValueError: The subset or method does not exist.
    """
    row = find_subset(subset)
    configs = {
        None: '_success_gen'
        if row.kind == 'success'
        else f'_easytool_gen:tooleval_toolbench_{row.kind}_easytool_datasets'
        if instructions
        else '_gen',
        'easytool': '_easytool_gen:tooleval_toolbench_selection_easytool_ids_datasets',
        'function_calling': '_calls_fc_gen',
    }
    if method not in configs:
        raise ValueError(f'ToolBench has the methods easytool and function_calling, not {method!r}')
    file = Path(find_file(row.data).file) if row.data else None
    return ConfiguredDataset([f'toolbench/tooleval_toolbench{configs[method]}'], subset, file)


def _encoder(name: str) -> str:
    rows = (row for row in TABLE if row.kind == 'selection')
    return 'EN' if any(name in (row.name, PurePath(find_file(row.data).file).stem) for row in rows) else ''


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            file.name,
            (f'data/toolbench/{file.file}',),
            partial(_content, file.name),
            {'records': file.records, 'tools': file.tools},
            folders=('test_instruction',),  # other folders have answers and id lists with the same names
        )
        for file in FILE_TABLE
    ),
    origin='The test files come with StableToolBench, which keeps only solvable requests.',
    clone='git clone --depth 1 https://github.com/THUNLP-MT/StableToolBench',
    encoder=_encoder,
)
