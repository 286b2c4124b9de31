"""Writes, checks and reads bundles: the results of a run as one file for a leaderboard, without prompts or answers.

The first line is ``tooleval-bundle 1 SHA-256``, with the digest of the rest: one line of ASCII JSON with sorted keys.
The same run gives the same bytes. A bundle may come from anybody: size, depth, numbers and names are checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import groupby
from pathlib import Path
from typing import Any

from opencompass_tooleval import __version__
from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX, is_private
from opencompass_tooleval.catalogue.comparable import result_provenance
from opencompass_tooleval.catalogue.provenance import KEY, Provenance
from opencompass_tooleval.catalogue.tables import CORRELATIONS, published_columns, without_samples
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.text.bounds import is_number
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import bounded_text, map_texts, to_jsonable, without_folder
from opencompass_tooleval.results.result_row import MAX_NAME, PARTS, checked_row, result_row, valid_result
from opencompass_tooleval.work_dir.causes import resuming
from opencompass_tooleval.work_dir.data_files import open_plain
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.progress import model_abbr
from opencompass_tooleval.work_dir.whole_file import whole_file
from opencompass_tooleval.work_dir.work_dir import WorkDir

SUFFIX = '.bundle'
MAX_BYTES = 1 << 26
"""Maximum size in bytes; a model with 73 data sets takes some 200 kB."""
MAX_RESULTS, MAX_MODELS, MAX_DATASETS = 20_000, 500, 300
MAX_TEXT = 2_000
"""Maximum length of a text; longer texts are cut when a bundle is written."""
MAX_METRICS = 60
MAX_NUMBER = 1e15
_MOST_SCORE = 100.01
"""Maximum score of a data set of this package, since cosines in single precision may exceed 1."""

_MARK = 'tooleval-bundle 1'
_MOST_OF_HEAD = 100
_SETTINGS = (
    'type', 'path', 'max_seq_len', 'temperature', 'top_p', 'top_k', 'seed', 'generation_kwargs',
    'extra_body', 'reasoning_effort', 'function_calling', 'tool_parser', 'thoughts', 'mode', 'batch_size',
    'model_kwargs',
)  # fmt: skip
"""Settings of a model that a bundle contains; all others, such as keys, addresses and headers, are left out. The token
limit is in the provenance of each result."""
_OF_GENERATION = (
    'temperature', 'top_p', 'top_k', 'min_p', 'seed', 'do_sample', 'num_beams', 'max_new_tokens', 'max_tokens',
    'repetition_penalty', 'presence_penalty', 'frequency_penalty', 'reasoning_effort', 'enable_thinking', 'torch_dtype',
)  # fmt: skip
"""Nested settings that a bundle contains; other members of ``extra_body`` and the like may be anything."""


@dataclass(frozen=True)
class BundleResult:
    """A result of a bundle.

    Attributes:
        model: Abbr of the model.
        dataset: Abbr of the data set.
        result: As :func:`~opencompass_tooleval.catalogue.tables.without_samples` returns it.
        is_private: True for a user's own data.
    """

    model: str
    dataset: str
    result: Mapping[str, Any]
    is_private: bool


@dataclass(frozen=True)
class Bundle:
    """A checked bundle.

    Attributes:
        name: Name of the file.
        digest: SHA-256 of the content, 64 hex digits.
        date: When the run began, ``YYYY-MM-DD HH:MM``.
        package: Version of this package that wrote it.
        models: Abbr of a model -> its settings.
        results: The results, sorted by model and data set.
    """

    name: str
    digest: str
    date: str
    package: str
    models: Mapping[str, Mapping[str, Any]]
    results: tuple[BundleResult, ...]


def write_bundle(
    work: WorkDir, file: Path, pairs: Sequence[tuple[str, str]], redact: Callable[[str], str] = str
) -> tuple[str, int]:
    """Writes a bundle. An existing bundle with the same content stays as it is.

    Args:
        work: The run.
        file: The destination; its name ends with :data:`SUFFIX`.
        pairs: Models and data sets; pairs without a result are left out.
        redact: Removes keys from a text.

    Returns:
        The digest, and the number of results.

    Raises:
        DataError: The run has no results, a result is damaged, or the file exists with other content: bundles never
            change.
    """
    columns = list(published_columns().values())
    results = []
    for model, of_model in groupby(pairs, key=lambda pair: pair[0]):
        found = ((dataset, result) for _, dataset in of_model if (result := valid_result(work, model, dataset)))
        for dataset, bare in without_samples(found, columns).items():
            try:  # the result may come from another package
                row = _bundled(model, dataset, bare, redact)
                _result(row)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                raise DataError(work.result_file(model, dataset), f'not fit for a bundle: {error}') from error
            results.append(row)
    if not results:
        raise DataError(work.path, 'the run has no results to bundle', fix=f'{resuming(work.path)} -m eval')
    models = _settings(work, {str(row['model']) for row in results}, redact)
    content = {'date': _date(work), 'package': __version__, 'models': models, 'results': results}
    text = json.dumps(content, sort_keys=True, separators=(',', ':')) + '\n'
    digest = hashlib.sha256(text.encode('ascii')).hexdigest()
    whole = f'{_MARK} {digest}\n{text}'.encode('ascii')
    _checked(file, whole)
    _write_new(file, whole)
    return digest, len(results)


def add_bundle(file: Path, folder: Path) -> bool:
    """Checks a bundle and copies it into a folder.

    Returns:
        False if it exists already.

    Raises:
        DataError: The bundle fails a check, or the folder has another bundle with this name.
    """
    content = _content(file)
    _checked(file, content)
    return _write_new(folder / file.name, content)


def _write_new(file: Path, content: bytes) -> bool:
    if file.exists():
        if _content(file) == content:
            return False
        raise DataError(file, 'another bundle has this name, and bundles never change: choose a new name')
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as temporary:
        temporary.write_bytes(content)
    return True


def _bundled(model: str, dataset: str, result: Mapping[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    row = result_row(model, dataset, {**result, KEY: result_provenance(result)})
    return {
        **row,
        CORRELATIONS: [[*names, value] for names, value in sorted((result.get(CORRELATIONS) or {}).items())],
        'private': is_private(dataset, result),
        **{part: _published(row[part], redact) for part in PARTS if part in row},
    }


def _published(value: Any, redact: Callable[[str], str]) -> Any:
    """Removes keys and folders of this machine from all texts, and cuts long texts."""
    return map_texts(
        to_jsonable(value),
        lambda text: bounded_text(redact(without_folder(text)), MAX_TEXT),
        lambda key: bounded_text(redact(key), MAX_NAME),
    )


def _settings(work: WorkDir, models: set[str], redact: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """Returns the settings of models from the run's config; none if the config cannot be read."""
    found: dict[str, dict[str, Any]] = {model: {} for model in sorted(models)}
    try:
        configs = read_dumped(work.config()).get('models') or ()
    except (DataError, OSError):
        return found
    for config in configs if isinstance(configs, (list, tuple)) else ():
        if isinstance(config, dict) and (abbr := _abbr(config)) in found:
            found[abbr] = {key: _shown_setting(config[key], redact) for key in _SETTINGS if config.get(key) is not None}
    return found


def _abbr(config: Mapping[str, Any]) -> str:
    try:
        return str(model_abbr(config))
    except (LookupError, TypeError, ValueError, AttributeError):
        return ''


def _shown_setting(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        scalars = (str, bool, int, float)
        value = {key: value[key] for key in _OF_GENERATION if isinstance(value.get(key), scalars)}
    return _published(value, redact)


def _date(work: WorkDir) -> str:
    """Returns when a run began, from its name; if it was renamed, the time of its latest result."""
    try:
        began = datetime.strptime(work.path.resolve().name, '%Y%m%d_%H%M%S')
    except ValueError:
        latest = max(file.stat().st_mtime for file in work.path.glob('results/*/*.json'))
        began = datetime.fromtimestamp(latest, timezone.utc)
    return began.strftime(_DATE)


_DATE = '%Y-%m-%d %H:%M'
_FIRST_YEAR = 2023
"""The year in which OpenCompass began."""


def read_bundle(file: Path) -> Bundle:
    """Reads a bundle and checks it completely.

    Raises:
        DataError: The file is not a bundle, is damaged, was changed, or exceeds a limit.
    """
    return _checked(file, _content(file))


def _content(file: Path) -> bytes:
    try:
        with open_plain(file, None) as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(file, f'the bundle cannot be read ({error.strerror or error})') from error


def _checked(file: Path, content: bytes) -> Bundle:
    try:
        if file.suffix != SUFFIX:
            raise Fault(f'the name of a bundle must end with {SUFFIX}')
        if len(content) > MAX_BYTES:
            raise Fault(f'it is longer than {MAX_BYTES} bytes')
        head, _, body = content.partition(b'\n')
        digest = hashlib.sha256(body).hexdigest()
        if head[:_MOST_OF_HEAD].rpartition(b' ')[0] != _MARK.encode('ascii'):
            raise Fault(f'its first line is not {_MARK!r} and a digest')
        if head != f'{_MARK} {digest}'.encode('ascii'):
            raise Fault('its content does not match the SHA-256 in its first line: it was changed or cut')
        value = _object(load_json(body, bounded=True, unique=True), 'the bundle')
        models = _object(value.get('models'), 'models')
        results = _list(value.get('results'), 'results', MAX_RESULTS)
        _check_values(value)
        bundle = Bundle(
            file.name,
            digest,
            _checked_date(_text(value.get('date'), 'date')),
            _text(value.get('package'), 'package'),
            {model: _object(settings, 'settings of a model') for model, settings in models.items()},
            tuple(sorted(map(_result, results), key=lambda result: (result.model, result.dataset))),
        )
        if len(models) > MAX_MODELS or len({result.dataset for result in bundle.results}) > MAX_DATASETS:
            raise Fault(f'it has more than {MAX_MODELS} models or {MAX_DATASETS} data sets')
        if {result.model for result in bundle.results} != set(bundle.models):
            raise Fault('its models differ from those in its results')
        if len({(result.model, result.dataset) for result in bundle.results}) < len(bundle.results):
            raise Fault('a model has a data set twice')
        return bundle
    except ValueError as error:
        raise DataError(file, f'the bundle fails a check: {error}') from error


def _checked_date(text: str) -> str:
    """Checks the date of a run; a future date would stay the newest of its models."""
    began = datetime.strptime(text, _DATE)
    if not began.year >= _FIRST_YEAR or began > datetime.now() + timedelta(days=1):  # clocks of other time zones
        raise Fault(f'its date {text[:20]!r} is before {_FIRST_YEAR} or in the future')
    return began.strftime(_DATE)


def _result(row: Any) -> BundleResult:
    row = checked_row(row)
    parts = {part: row.get(part) or {} for part in PARTS}
    _numbers(parts['standard_errors'], 'standard_errors', least=0)
    _numbers(parts['samples'], 'samples', optional=False, least=0)
    _object(parts[KEY], KEY)
    runs = _list(parts['runs'] or [], 'runs', MAX_METRICS)
    correlations = {}
    for entry in _list(row.get(CORRELATIONS) or [], CORRELATIONS, MAX_METRICS**2):
        first, other, second, value = _list(entry, 'a correlation', 4, least=4)
        _numbers({'correlation': value}, CORRELATIONS, optional=False, least=-1, most=1)
        key = _text(first, 'a metric'), _text(other, 'a data set'), _text(second, 'a metric')
        correlations[key] = value
    dataset = row['dataset']
    bounds = (
        (0, _MOST_SCORE)
        if Provenance.of(row).benchmark or dataset.startswith(OUR_PREFIX)
        else (-MAX_NUMBER, MAX_NUMBER)
    )
    metrics = _numbers(row['metrics'], 'metrics', True, *bounds)
    result = {**metrics, **parts, 'runs': runs, CORRELATIONS: correlations}
    is_own = bool(row.get('private')) or is_private(dataset, row)
    return BundleResult(row['model'], dataset, result, is_own)


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Fault(f'{what} is not a JSON object')
    return value


def _list(value: Any, what: str, most: int, least: int = 0) -> list[Any]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise Fault(f'{what} is not a list of {least} to {most} members')
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise Fault(f'{what} is not a string')
    return value


def _numbers(
    value: Any, what: str, optional: bool = True, least: float = -MAX_NUMBER, most: float = MAX_NUMBER
) -> dict[str, Any]:
    numbers = _object(value, what)
    if len(numbers) > MAX_METRICS or not all(is_number(n) or (optional and n is None) for n in numbers.values()):
        raise Fault(f'{what} contains a value that is not a number, or more than {MAX_METRICS} values')
    if any(n is not None and not least <= n <= most for n in numbers.values()):
        raise Fault(f'{what} contains a number below {least:g} or above {most:g}')
    return numbers


def _check_values(value: Any) -> None:
    """Raises for a long text, or a number that arithmetic cannot handle; the depth was checked before."""
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise Fault(f'it contains a text of more than {MAX_TEXT} characters')
    if type(value) in (int, float) and not -MAX_NUMBER <= value <= MAX_NUMBER:  # false for NaN, too
        raise Fault(f'it contains a number beyond {MAX_NUMBER:.0e}')
    items = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        _check_values(item)
