"""UltraTool's files -> typed records. Every quirk of the data ends here.

A file holds one JSON object per line, whatever it is called (``planning.json``). Rows have no id: their number is it,
from 0. The authors' files of answers hold the record with each answer, so that they can be scored on their own.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.metrics import METRICS
from opencompass_tooleval.benchmarks.ultratool.subsets import LANGUAGES, SUBSETS
from opencompass_tooleval.core.content import joined_text
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.recorded_row import read_recorded_row
from opencompass_tooleval.core.subset_names import SubsetRow, Table

logger = logging.getLogger(__name__)

FIX = 'tooleval prepare ultratool'
BUILD = 'tooleval build ultratool'

_CHINESE = re.compile(r'[\u4e00-\u9fff]|\\u[4-9][0-9a-f]{3}')
_CHINESE_SHARE = 0.03
"""English rows have some Chinese too: ``D:/客户报告.txt``."""


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.ultratool.subsets.SUBSETS`."""

    METRICS = METRICS
    task: str
    file: str
    kind: str
    reading: str

    count: int
    toolset_size: int
    official: bool


@dataclass(frozen=True)
class Tool:
    """A tool of a toolset: its name and the names of its arguments."""

    name: str
    properties: frozenset[str]


@dataclass(frozen=True)
class Step:
    """One step of a plan.

    Attributes:
        number: The first blank-separated token of its text, such as ``1.2``: what steps are matched by.
        text: The whole step.
        tool: Gold: ``'0'`` or ``'1'`` (awareness), a name (selection, usage), a tool (creation). Input: None where
            nothing is asked of the step, ``''`` where its tool is asked, the name where its arguments are.
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
        question: What the user wants; ``''`` where the file does not say (awareness, selection and creation).
        steps: The plan that is given; empty for planning.
        toolset: The tools that may be used.
        reference: The gold steps; empty for planning.
        plan: Planning: the gold plan; else ``''``.
        domain: One of 22, or ``''`` where it is not known.
        raw: The row of the file, for prompts.
    """

    id: str
    subset: Subset
    language: str
    question: str
    steps: tuple[Step, ...]
    toolset: tuple[Tool, ...]
    reference: tuple[Step, ...]
    plan: str
    domain: str
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def rebuilt(self) -> bool:
        """Whether the row was built here from the annotated samples; what is built says so in each row.

        A set that the authors have not at all, such as ``tool_selection_32``, cannot be anything else.
        """
        return bool(self.raw.get('rebuilt', self.subset.name != self.subset.task))

    @property
    def gold(self) -> str:
        """Which gold the row holds: ``official``, ``repaired``, or ``plan`` where it was built here."""
        return str(self.raw.get('gold') or ('plan' if self.raw.get('rebuilt') else 'official'))

    def to_payload(self) -> str:
        """The record as JSON text; :func:`parse_payload` gives it back."""
        return json.dumps([self.id, self.language, self.domain, self.raw])


@dataclass(frozen=True)
class Recorded:
    """One row of an authors' file of answers.

    Attributes:
        record: The record that it carries; None in files without.
        answer: The answer: text, or a list that has been read already.
        shape: ``gpt`` or ``open`` (:mod:`~opencompass_tooleval.core.recorded_row`).
    """

    record: Record | None
    answer: Any
    shape: str


TABLE = Table(Subset, SUBSETS, 'UltraTool')
""":data:`~opencompass_tooleval.benchmarks.ultratool.subsets.SUBSETS`, typed."""

FOLDERS: dict[str, str] = {row['name']: row['folder'] for row in LANGUAGES}
"""Language -> the authors' folder."""
find_subset = TABLE.find


def check_language(language: str) -> str:
    """Returns ``language``.

    Raises:
        ValueError: It is none of UltraTool's.
    """
    if language not in FOLDERS:
        raise ValueError(f'UltraTool has languages {", ".join(FOLDERS)}, not {language!r}')
    return language


def data_file(root: Path, subset: str, language: str) -> Path:
    """Where the authors' layout has a subset below ``root`` (``data/ultratool``)."""
    return root / FOLDERS[check_language(language)] / 'test_set' / find_subset(subset).file


def _need(raw: Mapping[str, Any], key: str, kind: type) -> Any:
    if key not in raw:
        raise Fault(f'field {key!r} is missing')
    if not isinstance(raw[key], kind):
        raise Fault(f'field {key!r} is no {kind.__name__}')
    return raw[key]


def step_number(text: Any) -> str | None:
    """The first blank-separated token of a step; None if ``text`` is no text or blank."""
    tokens = text.split(None, 1) if isinstance(text, str) else []
    return tokens[0] if tokens else None


def published_step_number(text: Any) -> str | None:
    """What stands before the first blank of a step: a tab is no blank, and a leading blank gives an empty number."""
    return text.partition(' ')[0] if isinstance(text, str) else None


def _step(raw: Any) -> Step:
    text = raw.get('step') if isinstance(raw, dict) else None
    number = step_number(text)
    if number is None:
        raise Fault("a step needs a text 'step' that begins with its number")
    param = raw.get('param')
    return Step(number, str(text), raw.get('tool'), param if isinstance(param, dict) else None)


def _gold(raw: Any, kind: str) -> Step:
    step = _step(raw)
    if kind == 'awareness' and str(step.tool) not in {'0', '1'}:
        raise Fault(f"the gold 'tool' of step {step.number} is neither 0 nor 1")
    if kind in {'selection', 'usage'} and not isinstance(step.tool, str):
        raise Fault(f"the gold 'tool' of step {step.number} is no name")
    if kind == 'usage' and step.param is None:
        raise Fault(f"the gold 'param' of step {step.number} is no object")
    if kind == 'creation' and not isinstance(step.tool, dict):
        raise Fault(f"the gold 'tool' of step {step.number} is no object")
    return step


def _tool(raw: Any) -> Tool:
    if not isinstance(raw, dict) or not isinstance(raw.get('name'), str):
        raise Fault("a tool of the toolset needs a 'name'")
    arguments = raw.get('arguments')
    properties = arguments.get('properties') if isinstance(arguments, dict) else None
    return Tool(raw['name'], frozenset(properties) if isinstance(properties, dict) else frozenset())


def parse_record(record_id: str, raw: Any, subset: Subset, language: str, domain: str = '') -> Record:
    """A record as it stands in a file.

    Raises:
        Fault: It lacks a field, or one is not what it should be.
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
    """Gives back the record of :meth:`Record.to_payload`."""
    record_id, language, domain, raw = json.loads(payload)
    return parse_record(record_id, raw, find_subset(subset), language, domain)


def read_lines(file: Path, fix: str, what: str = 'the file') -> list[str]:
    """The lines of a file that are not blank.

    Args:
        file: UTF-8.
        fix: The command that fixes it, for the message.
        what: What is missing where it is.

    Raises:
        DataError: The file is missing or no text.
    """
    if not file.is_file():
        raise DataError(file, f'{what} is missing', fix=fix)
    try:
        return [line for line in file.read_text(encoding='utf-8').split('\n') if line.strip()]
    except ValueError as error:
        raise DataError(file, f'the file is no UTF-8 text ({error})', fix=fix) from error


def read_rows(file: Path, fix: str = FIX) -> Iterator[tuple[str, Any]]:
    """Yields row number and value of each line that is not blank.

    Raises:
        DataError: The file is missing, empty or no JSON lines; the message names the row.
    """
    lines = read_lines(file, fix)
    if not lines:
        raise DataError(file, 'the file is empty', fix=fix)
    for number, line in enumerate(lines):
        try:
            row = load_json(line, bounded=True)
        except ValueError as error:
            raise DataError(file, f'the line is cut short or no JSON ({error})', str(number), fix) from error
        yield str(number), row


def _agrees(record: Record, sample: Mapping[str, Any]) -> bool:
    """Whether an annotated sample is the one that ``record`` was made from."""
    if record.question:
        return record.question == sample.get('question')
    plan = sample.get('plan')
    texts = [item.get('step') if isinstance(item, dict) else None for item in plan] if isinstance(plan, list) else []
    return [step.text for step in record.steps] == texts


def join_domains(records: Sequence[Record], annotated: Path) -> list[Record]:
    """Adds to each record the domain of its annotated sample, which stands in the same row of ``test.json``.

    Raises:
        DataError: That file is missing or damaged. A row that is of another sample keeps no domain: a warning counts
            them.
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


def load_records(file: Path, subset: str, language: str) -> list[Record]:
    """Reads a data file.

    Args:
        file: Path of ``{task}.json`` in ``test_set``; domains come from ``test.json`` beside that folder, if it is
            there.
        subset: Name of the row in the table.
        language: ``zh`` or ``en``.

    Returns:
        One record per row, in the file's order.

    Raises:
        DataError: The file is missing or cut short, or a row lacks a field. The message names file, row and the command
            that fixes it.
    """
    row = find_subset(subset)
    check_language(language)
    fix = FIX if row.official else BUILD
    records = []
    for number, raw in read_rows(file, fix):
        with naming_record(file, number, fix):
            records.append(parse_record(number, raw, row, language))
    annotated = file.parent.parent / 'test.json'
    if file.parent.name == 'test_set' and annotated.is_file() and any(not record.domain for record in records):
        records = join_domains(records, annotated)
    if len(records) != row.count:
        logger.warning('%s has %d rows; the published %s has %d', file, len(records), subset, row.count)
    return records


def load_example(file: Path, task: str) -> dict[str, Any]:
    """Reads the one-shot example of a task: ``example/{task}.json`` beside the ``test_set`` folder of ``file``.

    Raises:
        DataError: It is missing or no JSON object.
    """
    example = file.parent.parent / 'example' / f'{task}.json'
    try:
        value = load_json(example.read_bytes(), bounded=True)
    except (OSError, ValueError) as error:
        raise DataError(example, f'the one-shot example cannot be read ({error})', fix=FIX) from error
    if not isinstance(value, dict):
        raise DataError(example, 'the one-shot example is no JSON object', fix=FIX)
    return value


def load_recorded_rows(file: Path, subset: str, language: str) -> list[Recorded]:
    """Reads an authors' file of answers.

    Args:
        file: JSON lines in either shape of :mod:`~opencompass_tooleval.core.recorded_row`.
        subset: Name of the row in the table.
        language: ``zh`` or ``en``.

    Raises:
        DataError: It is missing or damaged, or of no such shape.
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


def guess_language(file: Path, sample: str) -> str:
    """``zh`` or ``en``: what the path says (``Chinese-dataset``), else whether ``sample`` of the text is Chinese."""
    for language, folder in FOLDERS.items():
        if folder in file.resolve().parts:
            return language
    return language_of(sample)


def language_of(sample: str) -> str:
    """``zh`` or ``en``: whether a text is Chinese."""
    return 'zh' if len(_CHINESE.findall(sample)) > _CHINESE_SHARE * len(sample) else 'en'
