"""T-Eval's data: typed records, and the files themselves. Only this module knows the quirks of the data.

A file is one JSON object, id -> record. ``origin_prompt`` is a list of messages or its JSON text, the gold answer of a
call is a dict or its JSON or Python text, and the format is in ``meta`` or in ``meta_data``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.teval.tables import FUNCTION_CALLING, LANGUAGES, SUBSETS, VERSIONS
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    find_benchmark,
)
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.one_call import METHOD
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.text.json_object import load_json, load_object
from opencompass_tooleval.core.text.jsonable import beyond_bounds, clean_text
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.work_dir.data_files import read_plain

logger = logging.getLogger(__name__)

FIX = 'tooleval prepare teval'
DATA_PATH = 'data/teval'
REPOSITORY = 'lovesnowbest/T-Eval'
REVISIONS = {'v2': 'main', 'v1': '03f691b72257bfc47578bdfe4b094e858279d22c'}
"""Data version -> revision of the repository; ``main`` lacks v1."""

FINISH = 'FinishAction'
TOOLS = 'tools'
"""Key of the offered tools in the payload, for native calls."""

_ROLES = ('system', 'user', 'assistant', 'function', 'tool')
_TEMPLATE_KEYS = {
    'json': ('thought', 'action', 'args'),
    'string': ('thought_start', 'thought_end', 'action_start', 'action_end', 'args_start', 'args_end'),
}


@dataclass(frozen=True)
class Subset(SubsetRow):
    """One row of :data:`~opencompass_tooleval.benchmarks.teval.tables.SUBSETS`."""

    METRICS = find_benchmark('teval').metrics
    kind: str

    encoder: tuple[str, ...]
    counts: Mapping[str, int]
    success: tuple[str, ...] = ()

    @property
    def format(self) -> str:
        """``json`` or ``str``: the format of answers."""
        return 'json' if self.name.endswith('json') else 'str'


@dataclass(frozen=True)
class InstructGold:
    """Gold of instruct: the call to write, as API name and arguments."""

    action: Any
    args: Mapping[str, Any]


@dataclass(frozen=True)
class PlannedCall:
    """One step of a plan; ``args`` is the text that the encoder sees."""

    id: int
    name: str
    args: str


@dataclass(frozen=True)
class CallGold:
    """Gold of the next thought and call; ``args`` is a dict in the json format, else text."""

    thought: str
    name: str
    args: Any


@dataclass(frozen=True)
class ReviewGold:
    """Gold of review: the correct choice, A to E."""

    answer: str


Gold = InstructGold | tuple[PlannedCall, ...] | CallGold | ReviewGold


@dataclass(frozen=True)
class Record:
    """The data that scoring needs from one sample.

    Attributes:
        id: The sample's key in the file.
        subset: The subset's row in the table.
        gold: The gold answer, of the type that belongs to ``subset.kind``.
        format: The requested format of the answer: ``json``, ``string`` (instruct) or ``str``.
        template: instruct only: key names (json) or the marks around each part (string).
        apis: For plans in plain text: the API names that a plan may use, in the data's order.
        query: The query of the record, from :func:`query_of`; ``''`` if unknown.
        schemas: For native calls, the offered tools: name -> JSON Schema of the arguments; else empty.
    """

    id: str
    subset: Subset
    gold: Gold
    format: str
    template: Mapping[str, str]
    apis: tuple[str, ...]
    query: str = ''
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Sample:
    """A record with its prompt.

    A record is parsed here, to find errors in the file, and again for scoring: OpenCompass scores in another process,
    and passes Arrow columns, which cannot contain gold answers whose types differ by row.

    Attributes:
        record: The record for scoring.
        messages: The prompt, without the gold answer.
        raw: The row of the file without its prompt.
    """

    record: Record
    messages: tuple[Message, ...]
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def payload(self) -> str:
        """The raw record as JSON text, from which :func:`parse_payload` returns ``record``."""
        return self.payload_with({})

    def payload_with(self, more: Mapping[str, Any]) -> str:
        """Returns the payload with further members of the raw record; it contains the query if the id does not."""
        query = self.record.query
        return json.dumps(
            [self.record.id, {**self.raw, **more}, *([] if query == query_of(self.record.id) else [query])]
        )


TABLE = Table(Subset, SUBSETS, 'T-Eval')
""":data:`~opencompass_tooleval.benchmarks.teval.tables.SUBSETS`, typed."""

_ROWS = {row['name']: {**row, 'success': ()} for row in SUBSETS}
_NATIVE = Table(Subset, ({**_ROWS[row['name']], **row} for row in FUNCTION_CALLING), 'T-Eval with function calling')

SUFFIXES: dict[str, str] = {row['name']: row['suffix'] for row in LANGUAGES}
"""Language -> ending of its file names."""
find_subset = TABLE.find


def native_subset(name: str) -> Subset:
    """Returns the row of a subset for native calls.

    Raises:
        ValueError: The answers of the subset are not calls.
    """
    return _NATIVE.find(name)


def file_stem(subset: str, version: str, language: str) -> str:
    """Returns a file name: ``plan_json``, ``v2``, ``ZH`` -> ``plan_json_v2_zh``.

    Raises:
        ValueError: The version or language does not exist.
    """
    if version not in VERSIONS or language not in SUFFIXES:
        raise ValueError(f'T-Eval has the versions {", ".join(VERSIONS)} and languages {", ".join(SUFFIXES)}')
    return f'{find_subset(subset).name}_{version}{SUFFIXES[language]}'


def split_stem(stem: str) -> tuple[str, str, str]:
    """Splits a file name: ``plan_json_v2_zh`` -> ``('plan_json', 'v2', 'ZH')``.

    Raises:
        ValueError: The text is not such a name.
    """
    for language in SUFFIXES:
        for version in VERSIONS:
            for subset in TABLE:
                if file_stem(subset.name, version, language) == stem:
                    return subset.name, version, language
    raise ValueError(f'{stem!r} is not a name of a T-Eval data file, such as plan_json_v2 or plan_json_v2_zh')


def _need(raw: Mapping[str, Any], key: str) -> Any:
    if key not in raw:
        raise Fault(f'field {key!r} is missing')
    return raw[key]


def read_prompt(raw: Mapping[str, Any]) -> tuple[Message, ...]:
    """Returns the messages of a raw record.

    Raises:
        Fault: The messages cannot be parsed.
    """
    prompt = _need(raw, 'origin_prompt')
    if isinstance(prompt, str):
        try:
            prompt = load_json(prompt, bounded=True)
        except ValueError as error:
            raise Fault(f"field 'origin_prompt' is text, but not JSON ({error})") from error
    if not isinstance(prompt, list) or not prompt:
        raise Fault("field 'origin_prompt' is not a list of messages")
    messages = []
    for item in prompt:
        if not isinstance(item, dict) or not isinstance(item.get('content'), str) or item.get('role') not in _ROLES:
            raise Fault(f"a message needs a text 'content' and a 'role', one of {', '.join(_ROLES)}")
        messages.append(Message(item['role'], item['content']))
    return tuple(messages)


def _instruct_gold(raw: Mapping[str, Any]) -> InstructGold:
    gold = _need(raw, 'ground_truth')
    if not isinstance(gold, dict) or 'action' not in gold or not isinstance(gold.get('args'), dict):
        raise Fault("the gold answer needs 'action' and a dict 'args'")
    return InstructGold(gold['action'], gold['args'])


def parse_steps(value: Any) -> tuple[PlannedCall, ...] | None:
    """Parses a list of ``{id, name, args}``; returns None for anything else."""
    if type(value) is not list:
        return None
    try:
        return tuple(PlannedCall(int(item['id']), str(item['name']), str(item['args'])) for item in value)
    # {"id": 1e999} parses as inf, and int(inf) raises OverflowError.
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None


def _plan_gold(raw: Mapping[str, Any]) -> tuple[PlannedCall, ...]:
    steps = parse_steps(parse_enclosed(_need(raw, 'ground_truth'), '[', ']').value)
    if not steps or all(step.name == FINISH for step in steps):
        raise Fault('the gold plan is not a list of steps with id, name and args')
    return steps


def _call_gold(raw: Mapping[str, Any], needed: Sequence[str], as_text: bool) -> CallGold:
    gold = parse_enclosed(_need(raw, 'ground_truth'), '{', '}').value
    if type(gold) is not dict:
        raise Fault('the gold answer is not a dict')
    for key in needed:
        if key not in gold:
            raise Fault(f'the gold answer has no {key!r}')
    args = gold.get('args', '')
    if not as_text and not isinstance(args, dict):
        args = {}
    return CallGold(str(gold.get('thought', '')), str(gold.get('name', '')), str(args) if as_text else args)


CHOICES = ('A', 'B', 'C', 'D', 'E')
"""The choices in review."""


def _review_gold(raw: Mapping[str, Any]) -> ReviewGold:
    gold = _need(raw, 'ground_truth')
    if not isinstance(gold, dict) or gold.get('answer') not in CHOICES:
        raise Fault("the gold answer needs an 'answer' from A to E")
    return ReviewGold(gold['answer'])


PARTS = {
    'reason': ('thought',),
    'retrieve': ('name',),
    'understand': ('args',),
    'call': ('thought', 'name', 'args'),
}
"""Kind of subset -> the parts of a call in its gold and its answers."""


def _stated_format(raw: Mapping[str, Any], field: str, key: str, default: str) -> Any:
    meta = raw.get(field, {})
    if not isinstance(meta, dict):
        raise Fault(f'field {field!r} is not an object')
    return meta.get(key, default)


def _format(raw: Mapping[str, Any], subset: Subset) -> str:
    if subset.kind == 'plan':
        kind = _stated_format(raw, 'meta', 'prompt_type', subset.format)
        allowed: tuple[str, ...] = (subset.format,)
    else:
        kind = _stated_format(raw, 'meta_data', 'response_format', subset.format)
        allowed = ('json', 'string') if subset.kind == 'instruct' else (subset.format, 'string')
    if kind not in allowed:
        raise Fault(f'format {kind!r} does not belong to {subset.name}')
    return 'str' if kind == 'string' and subset.kind != 'instruct' else str(kind)


def _template(raw: Mapping[str, Any], answer_format: str) -> Mapping[str, str]:
    template = _need(raw, 'template')
    keys = _TEMPLATE_KEYS[answer_format]
    if not isinstance(template, dict) or any(not isinstance(template.get(key), str) for key in keys):
        raise Fault(f"field 'template' needs the texts {', '.join(keys)}")
    return {key: template[key] for key in keys}


def _apis(raw: Mapping[str, Any]) -> tuple[str, ...]:
    apis = _need(_need(raw, 'meta'), 'API_list')
    if not isinstance(apis, list) or not all(isinstance(name, str) for name in apis):
        raise Fault("field 'API_list' is not a list of names")
    return tuple(apis)


def parse_record(record_id: str, raw: Any, subset: Subset) -> Record:
    """Parses a row of a file.

    Raises:
        Fault: The row lacks a field, or its gold answer cannot be parsed.
    """
    if not isinstance(raw, dict):
        raise Fault('the record is not a JSON object')
    if beyond_bounds(raw):
        raise Fault('it is nested too deeply or contains too large a number')
    answer_format = _format(raw, subset)
    template: Mapping[str, str] = {}
    apis: tuple[str, ...] = ()
    gold: Gold
    if subset.kind == 'instruct':
        gold, template = _instruct_gold(raw), _template(raw, answer_format)
    elif subset.kind == 'plan':
        gold = _plan_gold(raw)
        apis = _apis(raw) if answer_format == 'str' else ()
    elif subset.kind == 'review':
        gold = _review_gold(raw)
    else:
        gold = _call_gold(raw, PARTS[subset.kind], as_text=subset.kind != 'call')
    return Record(record_id, subset, gold, answer_format, template, apis)


def parse_payload(payload: str, subset: str, native: bool = False) -> Record:
    """Parses the record from the text of :attr:`Sample.payload`; for native calls, the payload has :data:`TOOLS`."""
    record_id, raw, *query = json.loads(payload)
    record = parse_record(record_id, raw, find_subset(subset))
    record = replace(record, query=query[0] if query else query_of(record_id))
    return native_record(record, ToolSet.of_text(raw[TOOLS])) if native else record


def native_record(record: Record, tools: ToolSet) -> Record:
    """Returns the record with the metrics of native calls, which are JSON, whatever format the prompt requests."""
    schemas = {tool.name: tool.parameters for tool in tools.tools}
    return replace(record, format='json', subset=native_subset(record.subset.name), schemas=schemas)


_QUERY_ID = re.compile(r'(query_\d{1,9}_\d{1,9})(?:_\d{1,9})*')
"""Published ids: ``query_0_1`` of a plan, ``query_0_1_2`` of its third step. Plans, reviews and steps have them."""


def query_of(record_id: str, messages: Sequence[Message] = ()) -> str:
    """Returns the query of a record, which all of its steps share, from the id or the first user message.

    Args:
        record_id: The record's id.
        messages: The prompt, for subsets whose records are steps.

    Returns:
        ``''`` if the id has another form and no user message is given.
    """
    if match := _QUERY_ID.fullmatch(record_id):
        return f'teval/{match[1]}'
    request = next((message.content for message in messages if message.role == 'user'), None)
    if request is None:
        return ''
    return f'teval/{hashlib.sha256(request.encode("utf-8", "surrogatepass")).hexdigest()[:16]}'


def fix_of(stem: str) -> str:
    """Returns the command that fetches a file, such as ``plan_json_v1``."""
    return f'{FIX} --version v1' if '_v1' in stem else FIX


def _read_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise DataError(file, 'the file is missing', fix=fix_of(file.stem))
    try:
        raw, repeated = load_object(read_plain(file).decode('utf-8'))
    except DataError:
        raise
    except ValueError as error:  # the base of json.JSONDecodeError and UnicodeDecodeError
        raise DataError(file, f'the file is cut short or no JSON ({error})', fix=fix_of(file.stem)) from error
    if not isinstance(raw, dict) or not raw:
        raise DataError(file, 'the file is not a JSON object of id -> record', fix=FIX)
    if repeated:
        raise DataError(file, 'the id occurs more than once', record=repeated[0], fix=FIX)
    return raw


def _sample(file: Path, record_id: str, raw: Any, row: Subset) -> Sample:
    with naming_record(file, record_id, FIX):
        record = parse_record(record_id, raw, row)
        messages = read_prompt(raw)
        record = replace(record, query=query_of(record_id, messages if row.kind in PARTS else ()))
    if clean_text(record_id) != record_id:
        raise DataError(file, 'the id contains half a character (a lone surrogate)', record=record_id, fix=FIX)
    return Sample(record, messages, {key: value for key, value in raw.items() if key != 'origin_prompt'})


def load_samples(file: Path, subset: str, version: str = '', change: Change | None = None) -> list[Sample]:
    """Reads a data file.

    Args:
        file: Path of ``{subset}_{version}[_zh].json``.
        subset: Name of the row in the table.
        version: ``v1``, ``v2`` or ``v2_subset``, to log a difference from the published count.
        change: Changes the records for a variant; they keep their queries.

    Returns:
        One sample per record, in the file's order.

    Raises:
        DataError: The file is missing, truncated or has an id twice, or a record lacks a field or has an unreadable
            gold answer. The error names file, record and the command that fetches the data.
    """
    row, rows = find_subset(subset), _read_file(file)
    samples = [_sample(file, record_id, raw, row) for record_id, raw in rows.items()]
    published = row.counts.get(version)
    if published is not None and len(samples) != published:
        logger.warning(
            '%s has %d records; the published %s of %s has %d', file, len(samples), version, subset, published
        )
    else:
        queries = {sample.record.query or sample.record.id for sample in samples}
        logger.info('%s: %d records of %d queries', file, len(samples), len(queries))
    if change is None:
        return samples
    query = {sample.record.id: sample.record.query for sample in samples}
    changed = [_sample(file, record_id, raw, row) for record_id, raw in change(rows).items()]
    return [replace(one, record=replace(one.record, query=query[one.record.id])) for one in changed]


def download(version: str = 'v2') -> Path:
    """Downloads T-Eval's files from Hugging Face; existing files are not downloaded again.

    Args:
        version: Data version.

    Raises:
        ValueError: The version does not exist.
        OSError: The download failed.
    """
    if version not in REVISIONS:
        raise ValueError(f'T-Eval has no version {version!r} to download, only {", ".join(REVISIONS)}')
    from huggingface_hub import snapshot_download

    patterns = [f'{folder}*_{version}*.json' for folder in ('', '**/')]
    try:
        return Path(
            snapshot_download(REPOSITORY, repo_type='dataset', revision=REVISIONS[version], allow_patterns=patterns)
        )
    except Exception as error:  # the hub raises many errors, all with the same fix
        raise OSError(
            f'cannot fetch {REPOSITORY} from Hugging Face ({type(error).__name__}: {error}). '
            'Download it elsewhere and run: tooleval prepare teval --from DIR'
        ) from error


def _read(subset: str, version: str, files: Sequence[Path]) -> Content:
    count, first = len(load_samples(files[0], subset)), find_subset(subset).counts['v1']
    return Content({'records': count}, [f'v1 has {first}'] if version == 'v2' and count != first else [])


def configured(
    subset: str,
    *,
    language: str | None = None,
    version: str | None = None,
    data: str | None = None,
    instructions: str | None = None,
    method: str | None = None,
) -> ConfiguredDataset:
    """Returns the config of a subset; the name of a data file gives version and language.

    Raises:
        DataError: According to its name, ``data`` belongs to another subset.
        ValueError: The subset, version, language or method does not exist.
    """
    if data and data.endswith('.json'):
        file_subset, file_version, file_language = split_stem(Path(data).stem)
        version, language = version or file_version, language or file_language
        if (file_subset, file_version, file_language) != (subset, version, language.upper()):
            raise DataError(data, f'according to its name this is {file_subset}, {file_version}, {file_language}')
    version, language = version or 'v2', (language or 'en').upper()
    stem = file_stem(subset, version, language)
    other_version = '' if version == 'v2' else f'_{version}'
    config = 'teval/tooleval_teval_easytool_gen' if instructions else f'teval/tooleval_teval{other_version}_gen'
    if method:
        if method != METHOD:
            raise ValueError(f'T-Eval only has the method {METHOD}, not {method!r}')
        if instructions:
            raise ValueError(f'{method} uses the documented tools: leave out --instructions')
        native_subset(subset)
        config = 'teval/tooleval_teval_fc_gen'
    settings = {'path': f'{DATA_PATH}/{language}', 'check_encoder': False}
    return ConfiguredDataset([config], stem, Path(f'{stem}.json'), settings=settings)


def _encoder(name: str) -> str:
    subset, version, language = split_stem(name)
    return language if VERSIONS[version] in find_subset(subset).encoder else ''


FILES = BenchmarkFiles(
    files=tuple(
        DataFiles(
            f'{subset.name} {version} {language}',
            (f'{DATA_PATH}/{language}/{file_stem(subset.name, version, language)}.json',),
            partial(_read, subset.name, version),
            {'records': subset.counts[version]} if version in subset.counts else {},
            exact=False,
            needed=False,
        )
        for language in SUFFIXES
        for version in VERSIONS
        for subset in TABLE
    ),
    encoder=_encoder,
)
