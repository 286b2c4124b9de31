"""UltraTool's files: finds, verifies and counts them, and converts them to typed records. Every quirk ends here.

The authors' layout is kept: ``{Chinese,English}-dataset/`` with ``test_set/`` and ``example/`` (one file per task) and
the annotated samples ``test.json`` and ``dev.json``, which give the domains and the built tasks. A file has one JSON
object per line, despite its name. The id of a row is its number, from 0. The authors' files of answers have the record
with each answer, so that they can be scored alone.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.prompts import build_prompt
from opencompass_tooleval.benchmarks.ultratool.tables import FOLDERS, SUBSETS
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    find_description,
)
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.messages import joined_text
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.plugin import offered
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.recorded import read_recorded_row

logger = logging.getLogger(__name__)

FIX = 'tooleval prepare ultratool'
TASKS = (
    'planning',
    'tool_creation_awareness',
    'tool_creation',
    'tool_usage_awareness',
    'tool_selection',
    'tool_usage',
)
FIX_MISSING = 'git clone --depth 1 https://github.com/JoeYing1019/UltraTool'
FIX_DAMAGED = 'correct the row, or leave out damaged rows with --skip-damaged'

RawTool = Mapping[str, Any]
"""A tool of a toolset, as in the files."""


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.ultratool.tables.SUBSETS`."""

    METRICS = find_description('ultratool').metrics
    task: str
    file: str
    kind: str
    reading: str

    count: int
    toolset_size: int
    official: bool

    @property
    def is_prepared(self) -> bool:
        """True if ``tooleval prepare`` brings or builds the file."""
        return self.official or self.name == self.task


@dataclass(frozen=True)
class Tool:
    """A tool of a toolset: its name and the names of its arguments."""

    name: str
    properties: frozenset[str]


@dataclass(frozen=True)
class GoldStep:
    """One step of a plan.

    Attributes:
        number: The first blank-separated token of its text, such as ``1.2``, by which steps are matched.
        text: The complete step.
        tool: Gold: ``'0'`` or ``'1'`` (awareness), a name (selection, usage), a tool (creation). Input: None if the
            step has no question, ``''`` if its tool is the question, the name if its arguments are.
        param: Gold of usage: argument -> value; else None.
    """

    number: str
    text: str
    tool: Any = None
    param: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Record:
    """One sample.

    Attributes:
        id: Its row number in the file, from 0.
        subset: Its row in the table.
        language: ``zh`` or ``en``.
        question: The user's request; ``''`` if the file lacks it (awareness, selection and creation).
        steps: The given plan; empty for planning.
        toolset: The available tools.
        reference: The gold steps; empty for planning.
        plan: Planning: the gold plan; else ``''``.
        domain: One of 22, or ``''`` if unknown.
        raw: The row of the file, for prompts.
    """

    id: str
    subset: Subset
    language: str
    question: str
    steps: tuple[GoldStep, ...]
    toolset: tuple[Tool, ...]
    reference: tuple[GoldStep, ...]
    plan: str
    domain: str
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def rebuilt(self) -> bool:
        """True if the row was built here from the annotated samples; such rows have a mark.

        A set that the authors do not have, such as ``tool_selection_32``, is always built here.
        """
        return bool(self.raw.get('rebuilt', self.subset.name != self.subset.task))

    @property
    def gold(self) -> str:
        """The gold of the row: ``official``, ``repaired``, or ``plan`` if it was built here."""
        return str(self.raw.get('gold') or ('plan' if self.raw.get('rebuilt') else 'official'))

    def to_payload(self) -> str:
        """Converts the record to JSON text for :func:`parse_payload`."""
        return json.dumps([self.id, self.language, self.domain, self.raw])


@dataclass(frozen=True)
class Recorded:
    """One row of an authors' file of answers.

    Attributes:
        record: The record in the row; None in files without records.
        answer: The answer: text, or a list that was already read.
        shape: ``gpt`` or ``open`` (:mod:`~opencompass_tooleval.work_dir.recorded`).
    """

    record: Record | None
    answer: Any
    shape: str


TABLE = Table(Subset, SUBSETS, 'UltraTool')
""":data:`~opencompass_tooleval.benchmarks.ultratool.tables.SUBSETS`, typed."""

find_subset = TABLE.find


def check_language(language: str) -> str:
    """Returns ``language`` after a check.

    Raises:
        ValueError: UltraTool has no such language.
    """
    if language not in FOLDERS:
        raise ValueError(f'UltraTool has languages {", ".join(FOLDERS)}, not {language!r}')
    return language


def data_file(root: Path, subset: str, language: str) -> Path:
    """Returns the path of a subset in the authors' layout below ``root`` (``data/ultratool``)."""
    return root / FOLDERS[check_language(language)] / 'test_set' / find_subset(subset).file


def fix_of(row: Subset, file: Path) -> str:
    """Returns the command that brings or builds the file of a subset, which may be missing or damaged."""
    if row.is_prepared:
        return f'rm {shlex.quote(str(file))}; {FIX}' if file.is_file() and not row.official else FIX
    build = f'cd {shlex.quote(str(file.parent.parent))} && tooleval build ultratool --from test.json --official .'
    if not offered(build):
        return ''
    if row.toolset_size:
        return f'{build} --tasks {row.task} --toolset-size {row.toolset_size} --out {file.parent.name}'
    return f'{build} --tasks {row.task} --out repaired && mv repaired/{file.name} {file.parent.name}/{file.name}'


def _need(raw: Mapping[str, Any], key: str, kind: type) -> Any:
    if not isinstance(raw.get(key), kind):
        raise Fault(f'field {key!r} is missing or not a {kind.__name__}')
    return raw[key]


def step_number(text: Any) -> str | None:
    """Returns the first blank-separated token of a step; None if ``text`` is not a string, or blank."""
    tokens = text.split(None, 1) if isinstance(text, str) else []
    return tokens[0] if tokens else None


def published_step_number(text: Any) -> str | None:
    """Returns the text before the first space of a step; a leading space gives an empty number."""
    return text.partition(' ')[0] if isinstance(text, str) else None


def _step(raw: Any) -> GoldStep:
    text = raw.get('step') if isinstance(raw, dict) else None
    number = step_number(text)
    if number is None:
        raise Fault("a step needs a text 'step' that begins with its number")
    param = raw.get('param')
    return GoldStep(number, str(text), raw.get('tool'), param if isinstance(param, dict) else None)


def _gold(raw: Any, kind: str) -> GoldStep:
    step = _step(raw)
    if kind == 'awareness' and str(step.tool) not in {'0', '1'}:
        raise Fault(f"the gold 'tool' of step {step.number} is neither 0 nor 1")
    if kind in {'selection', 'usage'} and not isinstance(step.tool, str):
        raise Fault(f"the gold 'tool' of step {step.number} is not a name")
    if kind == 'usage' and step.param is None:
        raise Fault(f"the gold 'param' of step {step.number} is not an object")
    if kind == 'creation' and not isinstance(step.tool, dict):
        raise Fault(f"the gold 'tool' of step {step.number} is not an object")
    return step


def properties(tool: RawTool) -> Mapping[str, Any]:
    """Returns name -> schema of a tool's arguments; a tool without arguments may lack the key."""
    arguments = tool.get('arguments')
    schemas = arguments.get('properties') if isinstance(arguments, Mapping) else None
    return schemas if isinstance(schemas, Mapping) else {}


def _tool(raw: Any) -> Tool:
    if not isinstance(raw, dict) or not isinstance(raw.get('name'), str):
        raise Fault("a tool of the toolset needs a 'name'")
    return Tool(raw['name'], frozenset(properties(raw)))


def parse_record(record_id: str, raw: Any, subset: Subset, language: str, domain: str = '') -> Record:
    """Parses a row of a file.

    Raises:
        Fault: It lacks a field, or a field is invalid.
    """
    if not isinstance(raw, dict):
        raise Fault('a row is a JSON object')
    domain = domain or str(raw.get('domain') or '')
    if subset.kind == 'planning':
        question, plan = _need(raw, 'input', str), _need(raw, 'reference', str)
        return Record(record_id, subset, language, question, (), (), (), plan, domain, raw)
    steps = tuple(_step(item) for item in _need(raw, 'input', list))
    reference = tuple(_gold(item, subset.kind) for item in _need(raw, 'reference', list))
    if not reference:
        raise Fault("field 'reference' is empty: there is nothing to score")
    toolset = tuple(_tool(item) for item in raw.get('toolset') or ())
    question = str(raw.get('question') or '')
    return Record(record_id, subset, language, question, steps, toolset, reference, '', domain, raw)


def parse_payload(payload: str, subset: str) -> Record:
    """Reads the text of :meth:`Record.to_payload`."""
    record_id, language, domain, raw = json.loads(payload)
    return parse_record(record_id, raw, find_subset(subset), language, domain)


def read_lines(file: Path, fix: str, what: str = 'the file') -> list[str]:
    """Reads the lines of a file that are not blank.

    Args:
        file: A UTF-8 file.
        fix: The command that fixes it, for the message.
        what: Description of the missing file, for the message.

    Raises:
        DataError: The file is missing or no text.
    """
    if not file.is_file():
        raise DataError(file, f'{what} is missing', fix=fix)
    try:
        return [line for line in read_plain(file).decode('utf-8').split('\n') if line.strip()]
    except DataError:
        raise
    except ValueError as error:
        raise DataError(file, f'the file is not UTF-8 text ({error})', fix=fix) from error


def _load(line: str) -> Any:
    try:
        return load_json(line, bounded=True)
    except ValueError as error:
        raise Fault(f'the line is cut short or no JSON ({error})') from error


def read_rows(file: Path, fix: str = FIX) -> Iterator[tuple[str, Any]]:
    """Yields row number and value of each line that is not blank.

    Raises:
        DataError: The file is missing, empty or no JSON lines; the message names the row.
    """
    lines = read_lines(file, fix)
    if not lines:
        raise DataError(file, 'the file is empty', fix=fix)
    for number, line in enumerate(lines):
        with naming_record(file, str(number), fix):
            row = _load(line)
        yield str(number), row


def _agrees(record: Record, sample: Mapping[str, Any]) -> bool:
    """Tests if an annotated sample is the source of ``record``."""
    if record.question:
        return record.question == sample.get('question')
    plan = sample.get('plan')
    texts = [item.get('step') if isinstance(item, dict) else None for item in plan] if isinstance(plan, list) else []
    return [step.text for step in record.steps] == texts


def join_domains(records: Sequence[Record], annotated: Path) -> list[Record]:
    """Adds to each record the domain of its annotated sample, which is in the same row of ``test.json``.

    Raises:
        DataError: That file is missing or damaged. A row of another sample gets no domain; a warning has their number.
    """
    samples = dict(read_rows(annotated))
    joined, strangers = [], 0
    for record in records:
        sample = samples.get(record.id)
        if record.domain or not isinstance(sample, dict) or not _agrees(record, sample):
            strangers += not record.domain
            joined.append(record)
        else:
            joined.append(replace(record, domain=str(sample.get('domain') or '')))
    if strangers:
        logger.warning('%s: %d of %d rows are not of these records: no domain', annotated, strangers, len(records))
    return joined


def load_records(file: Path, subset: str, language: str, change: Change | None = None) -> list[Record]:
    """Reads a data file.

    Args:
        file: Path of ``{task}.json`` in ``test_set``; domains come from ``test.json`` beside that folder, if it
            exists.
        subset: Name of the row in the table.
        language: ``zh`` or ``en``.
        change: Changes the rows, of a variant; they keep their domains.

    Returns:
        One record per row, in the file's order.

    Raises:
        DataError: The file is missing or truncated, or a row lacks a field. The message names file, row and the command
            that fixes it.
    """
    row = find_subset(subset)
    check_language(language)
    fix = fix_of(row, file)
    records = []
    for number, raw in read_rows(file, fix):
        with naming_record(file, number, fix):
            records.append(parse_record(number, raw, row, language))
    annotated = file.parent.parent / 'test.json'
    if file.parent.name == 'test_set' and annotated.is_file() and any(not record.domain for record in records):
        records = join_domains(records, annotated)
    if len(records) != row.count:
        logger.warning('%s has %d rows; the published %s has %d', file, len(records), subset, row.count)
    if change is None:
        return records
    domains = {record.id: record.domain for record in records}
    changed = []
    for number, raw in change({record.id: record.raw for record in records}).items():
        with naming_record(file, number, fix):
            changed.append(parse_record(number, raw, row, language, domains[number]))
    return changed


def load_example(file: Path, task: str, fix: str = FIX) -> dict[str, Any]:
    """Reads the one-shot example of a task: ``example/{task}.json`` beside the ``test_set`` folder of ``file``.

    Raises:
        DataError: It is missing or no JSON object.
    """
    example = file.parent.parent / 'example' / f'{task}.json'
    try:
        value = load_json(read_plain(example), bounded=True)
    except (OSError, ValueError) as error:
        raise DataError(example, f'the one-shot example cannot be read ({error})', fix=fix) from error
    if not isinstance(value, dict):
        raise DataError(example, 'the one-shot example is not a JSON object', fix=fix)
    return value


def load_recorded_rows(file: Path, subset: str, language: str) -> list[Recorded]:
    """Reads an authors' file of answers.

    Args:
        file: JSON lines in either shape of :mod:`~opencompass_tooleval.work_dir.recorded`.
        subset: Name of the row in the table.
        language: ``zh`` or ``en``.

    Raises:
        DataError: It is missing, damaged, or of another format.
    """
    subset_row = find_subset(subset)
    check_language(language)
    recorded = []
    for number, row in read_rows(file, ''):
        published = read_recorded_row(row)
        if published is None:
            raise DataError(file, "the row has neither 'init output' nor 'total output'", number)
        try:
            answer = joined_text(published.answer)
        except ValueError as error:
            raise DataError(file, str(error), number) from error
        if not isinstance(answer, (str, list)):
            raise DataError(file, "its 'init output' is neither text nor a list", number)
        raw = published.record
        with naming_record(file, number):
            record = None if raw is None else parse_record(number, raw, subset_row, language)
        recorded.append(Recorded(record, answer, published.shape))
    return recorded


_NO_TOOL = ('No tool required', '不需要工具')

_CLOSERS = {"'": "'", '"': '"', '“': '”', '‘': '’', '[': ']', '{': '}', '(': ')', '<': '>'}
_QUOTES = frozenset('\'"“‘')
_CALL = re.compile(r'\s*([^\s(（]+)\s*[(（](.*)[)）]\s*', re.DOTALL)
_NAME = r'[^\W\d][\w.\-]*'
_VALUE_START = re.compile(r'\s*(?:[\'"“‘\[{<\-\d]|true|false|null|None)', re.IGNORECASE)


class CallError(ValueError):
    """The annotation of a step is not a call ``name(arg='value', ...)``.

    Calls are written by hand and by GPT-4 (UltraTool, section 2.3), not by a serializer: values contain commas, quotes
    and equals signs without escapes, so no grammar can parse them. But the borders of an argument are known: a name
    from the tool's properties, an equals sign after it, and a closed value before it.
    """


@dataclass(frozen=True)
class Argument:
    """One argument of a call.

    Attributes:
        name: Name, without the quotes that some annotations put around it.
        raw: The text after the equals sign in the plan.
    """

    name: str
    raw: str

    @property
    def value(self) -> str:
        """The text without its quotes; a list, a number or a ``<value of an earlier step>`` is unchanged."""
        text = self.raw
        return text[1:-1] if text[:1] in _QUOTES and _is_closed(text) else text


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    tool: str
    arguments: tuple[Argument, ...]


def is_parent(annotation: str | None) -> bool:
    """Tests if the step only groups other steps; the files write ``null`` as a JSON null or as text."""
    return annotation is None or annotation.strip() == 'null'


def _split_call(annotation: str) -> tuple[str, str]:
    """Returns the tool that ``name(...)`` calls, and the text between the brackets."""
    match = _CALL.fullmatch(annotation)
    if match is None:
        raise CallError(f'{annotation!r} is neither null, nor No tool required, nor a call name(...)')
    return match[1], match[2]


def call_of(annotation: str | None, tools: Mapping[str, RawTool]) -> Call | None:
    """Returns the call of a step, or None for a parent and for a step that needs no tool.

    Args:
        annotation: The annotation of the step.
        tools: Name -> tool, for the tools of the sample.

    Raises:
        CallError: The annotation is no call, or not of one of the tools.
    """
    if annotation is None or is_parent(annotation) or annotation.strip() in _NO_TOOL:
        return None
    name, _ = _split_call(annotation)
    if name not in tools:
        raise CallError(f"it calls {name!r}, which is not in 'tools'")
    return parse_call(annotation, properties(tools[name]))


def parse_call(annotation: str, properties: Collection[str]) -> Call:
    """Parses a call.

    Args:
        annotation: ``name(arg='value', ...)``.
        properties: Argument names of the tool. Other names are accepted only before text that looks like a value.

    Raises:
        CallError: The annotation is not a call, or a part between the brackets has no name.
    """
    name, body = _split_call(annotation)
    borders = list(_borders(body, properties))
    if body.strip() and (not borders or body[: borders[0].start()].strip()):
        raise CallError(f'{annotation!r} has a value without a name')
    if not borders:
        return Call(name, ())
    ends = [*(border.start() for border in borders[1:]), len(body)]
    values = [body[border.end() : end].strip() for border, end in zip(borders, ends, strict=True)]
    arguments = tuple(Argument(border['name'], value) for border, value in zip(borders, values, strict=True))
    return Call(name, arguments)


def _is_closed(text: str) -> bool:
    """Tests if a value that begins with a quote or bracket ends with its partner; other values are always closed."""
    closer = _CLOSERS.get(text[:1])
    # A lone quote is its own first and last character.
    return closer is None or (len(text) > 1 and text.endswith(closer))


def _borders(body: str, properties: Collection[str]) -> Iterator[re.Match[str]]:
    """Yields the places ``, name=`` at which an argument starts; ``content='a, title=b'`` has only one.

    A repeated name starts no argument: in ``f(a='x', b='y', a='z')``, ``b`` is ``'y', a='z'``, since a value that
    quotes a call is more likely than a call with a repeated argument.
    """
    documented = '|'.join(re.escape(name) for name in sorted(properties, key=len, reverse=True))
    names = f'{documented}|{_NAME}' if documented else _NAME
    # 'a == b' after a comma is a comparison, not the name of an argument.
    pattern = re.compile(rf'(?:^|[,，、;；])\s*(?P<quote>[\'"]?)(?P<name>{names})(?P=quote)\s*=(?!=)')
    previous: re.Match[str] | None = None
    seen: set[str] = set()
    position = 0
    while match := pattern.search(body, position):
        position = match.start() + 1
        if match['name'] in seen:
            continue
        if match['name'] not in properties and not _VALUE_START.match(body, match.end()):
            continue
        if previous is not None:
            value = body[previous.end() : match.start()].strip()
            if not value or not _is_closed(value):
                continue
        seen.add(match['name'])
        previous, position = match, match.end()
        yield match


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        text: The text with its number, such as ``1.2 Write the file``.
        is_parent: True if it groups other steps; no question about tools refers to it.
        call: The step's call; None for a parent and for a step that needs no tool.
    """

    text: str
    is_parent: bool
    call: Call | None


@dataclass(frozen=True)
class PlanSample:
    """One annotated sample (UltraTool, section 2: query, plan, toolset).

    Attributes:
        row: Index in the file, from 0; the official files have the same order.
        question: The user's query.
        steps: The plan.
        tools: The toolset, in the file's order.
        domain: One of 22 domains.
    """

    row: int
    question: str
    steps: tuple[PlanStep, ...]
    tools: tuple[RawTool, ...]
    domain: str

    @property
    def calls(self) -> dict[int, Call]:
        """Position of each step that needs a tool -> its call."""
        return {position: step.call for position, step in enumerate(self.steps) if step.call is not None}

    def tool(self, name: str) -> RawTool:
        """Returns the tool called ``name``, which exists, as checked on reading."""
        return next(tool for tool in self.tools if tool['name'] == name)


def _list(raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = raw.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise Fault(f'field {key!r} is not a list of objects')
    return value


def _plan_step(raw: Mapping[str, Any], tools: Mapping[str, RawTool]) -> PlanStep:
    text, annotation = _need(raw, 'step', str), raw.get('tool')
    if annotation is not None and not isinstance(annotation, str):
        raise Fault(f"step {text!r}: 'tool' is neither null nor text")
    try:
        return PlanStep(text, is_parent(annotation), call_of(annotation, tools))
    except CallError as error:
        raise Fault(f'step {text!r}: {error}') from error


def _sample(row: int, raw: Any) -> PlanSample:
    if not isinstance(raw, dict):
        raise Fault('the line is not a JSON object')
    tools: dict[str, RawTool] = {}
    for tool in _list(raw, 'tools'):
        name = _need(tool, 'name', str)
        if name in tools:
            raise Fault(f'tool {name!r} occurs twice')
        tools[name] = tool
    steps = tuple(_plan_step(step, tools) for step in _list(raw, 'plan'))
    return PlanSample(row, _need(raw, 'question', str), steps, tuple(tools.values()), _need(raw, 'domain', str))


def read_samples(
    file: Path, *, skipped: list[DataError] | None = None, change: Change | None = None
) -> list[PlanSample]:
    """Reads a file of annotated samples, one JSON object per line.

    Args:
        file: ``test.json``, ``dev.json``, or a file in the same format.
        skipped: Receives the error of each damaged row, which is left out; with None, the first one is raised.
        change: Changes the rows for a variant.

    Returns:
        The samples in the file's order; :attr:`PlanSample.row` counts damaged rows too.

    Raises:
        DataError: The file is missing or empty, or a row is damaged.
    """
    samples, rows = [], dict[str, Any]()
    for row, line in enumerate(read_lines(file, FIX_MISSING, 'the file of annotated samples')):
        try:
            raw = _load(line)
            samples.append(_sample(row, raw))
            rows[str(row)] = raw
        except Fault as fault:
            damage = DataError(file, str(fault), record=str(row), fix=FIX_DAMAGED)
            if skipped is None:
                raise damage from fault
            skipped.append(damage)
    if not samples:
        raise DataError(file, 'the file has no annotated sample', fix=FIX_MISSING)
    if change is None:
        return samples
    changed = []
    for name, raw in change(rows).items():
        with naming_record(file, name):
            changed.append(_sample(int(name), raw))
    return changed


DATA_PATH = 'data/ultratool'
ANNOTATED = {'test.json': 1000, 'dev.json': 4824}
"""File of annotated samples -> number of samples in the paper (arXiv 2401.17167, section 4.1)."""


def _read_rows(subset: str, language: str, files: Sequence[Path]) -> Content:
    return Content({'rows': len(load_records(files[0], subset, language))})


def _read_example(language: str, files: Sequence[Path]) -> Content:
    (path,) = files
    example = load_example(path, path.stem, FIX_MISSING)
    try:
        build_prompt(path.stem, language, example, example)
    except ValueError as error:
        raise DataError(path, f'the one-shot example is damaged ({error})', fix=FIX_MISSING) from error
    return Content({'example': 1})


def _read_annotated(files: Sequence[Path]) -> Content:
    skipped: list[DataError] | None = [] if files[0].name == 'dev.json' else None
    return Content({'rows': len(read_samples(files[0], skipped=skipped))})


def _files(language: str, folder: str) -> Iterator[DataFiles]:
    root = f'{DATA_PATH}/{folder}'
    for subset in TABLE:
        read, count = partial(_read_rows, subset.name, language), {'rows': subset.count}
        path = f'{root}/test_set/{subset.file}'
        yield DataFiles(
            f'{subset.name} {language}', (path,), read, count, needed=False, parts=3, is_prepared=subset.is_prepared
        )
    for task in TASKS:
        read, path = partial(_read_example, language), f'{root}/example/{task}.json'
        yield DataFiles(f'{task} {language} example', (path,), read, needed=False, parts=3)
    for name, number in ANNOTATED.items():
        exact = name != 'dev.json'  # the published file has unreadable rows
        path, published = f'{root}/{name}', {'rows': number}
        yield DataFiles(f'{name} {language}', (path,), _read_annotated, published, exact=exact, needed=False, parts=2)


def find_file(path: str, subset: str, language: str) -> Path:
    """Returns the file of a subset; a file that was built may be in another place than the published ones.

    Args:
        path: Folder with ``Chinese-dataset`` and ``English-dataset``, such as ``data/ultratool``.
        subset: Row of the table.
        language: ``zh`` or ``en``.

    Raises:
        DataError: The folder does not exist, or the file is one that ``tooleval prepare`` builds, and is missing.
    """
    for folder in candidate_paths(path):
        if (file := data_file(folder, subset, language)).is_file():
            return file
    root, row = resolve_data_path(path, FIX), find_subset(subset)
    if row.is_prepared and not row.official:
        raise DataError(root, 'the tasks that the authors did not publish are not built yet', fix=FIX)
    return data_file(root, subset, language)


def configured(
    subset: str, *, language: str | None = None, method: str | None = None, instructions: str | None = None
) -> ConfiguredDataset:
    """Returns the config of a subset; ``method`` is a prompt style.

    Raises:
        ValueError: The subset does not exist, or a prompt style is given with instructions.
    """
    if method and instructions:
        raise ValueError('UltraTool has no prompt style with instructions: leave out --method or --instructions')
    language = (language or 'zh').lower()
    file, name = 'ultratool/tooleval_ultratool', f'tooleval_ultratool_{language}'
    configs = [f'{file}{kind}_gen:{name}{kind}_datasets' for kind in ([f'_{method}'] if method else ['', '_built'])]
    if instructions:
        file = 'ultratool/tooleval_ultratool_easytool_gen'
        configs = [f'{file}:{name}{built}_easytool_datasets' for built in ('', '_built')]
    return ConfiguredDataset(configs, subset, data_file(Path(), subset, language))


FILES = BenchmarkFiles(
    files=tuple(files for language, folder in FOLDERS.items() for files in _files(language, folder)),
    origin="UltraTool's files are in its authors' GitHub repository, JoeYing1019/UltraTool; its folder "
    'predictions has answers of GPT-3.5 and GPT-4 with their judgements, which tooleval score ultratool reads.',
    clone=FIX_MISSING,
)
