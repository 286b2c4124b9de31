"""``tooleval prompts``: the messages that a model is sent, as a sweep makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import opencompass_tooleval
from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.jsonable import clean_text
from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.easytool.funcqa.records import find_subset as find_funcqa
from opencompass_tooleval.easytool.restbench.records import find_subset as find_restbench
from opencompass_tooleval.easytool.toolbench.records import find_file
from opencompass_tooleval.easytool.toolbench.records import find_subset as find_toolbench
from opencompass_tooleval.host.data_path import PACKAGE_PREFIX
from opencompass_tooleval.host.first_messages import first_messages, read_datasets
from opencompass_tooleval.sweep.whole_file import write_whole
from opencompass_tooleval.teval.records import file_stem, split_stem
from opencompass_tooleval.ultratool.records import data_file

_CONFIGS = Path(opencompass_tooleval.__file__).parent / 'configs' / 'datasets'


@dataclass(frozen=True)
class PromptsRequest:
    """What ``tooleval prompts`` was asked; the fields are its arguments and options.

    Attributes:
        benchmark: One of :data:`BENCHMARKS`.
        subset: Such as ``plan_json``.
        language: ``en`` or ``zh``; by default what ``data`` says, or T-Eval's ``en`` and UltraTool's ``zh``.
        data: The data file, or the folder that a config's ``path`` names; by default where the package looks.
        instructions: A file of EasyTool instructions, in place of the documentation.
        version: T-Eval: ``v1``, ``v2`` or ``v2_subset``; by default what ``data`` says, or ``v2``.
        method: FuncQA: its method; RestBench and ToolBench's selection: ``easytool``; UltraTool: a preset.
        limit: So many records from the first.
        json_out: File for JSON lines, or ``-``; without, they are printed to be read.
    """

    benchmark: str
    subset: str
    language: str | None = None
    data: str | None = None
    instructions: str | None = None
    version: str | None = None
    method: str | None = None
    limit: int | None = None
    json_out: str | None = None


@dataclass(frozen=True)
class _Place:
    """Where our configs have a data set.

    Attributes:
        configs: Their names below ``datasets``; the first that has the data set is taken.
        name: ``name`` of the data set there.
        file: The data file below the folder ``path``; None where ``path`` is the file.
        more: Settings that the data set gets beside.
    """

    configs: Sequence[str]
    name: str
    file: Path | None
    more: Mapping[str, Any]


def _teval(request: PromptsRequest) -> _Place:
    version, language = request.version, request.language
    if request.data and request.data.endswith('.json'):
        subset, said_version, said_language = split_stem(Path(request.data).stem)
        version, language = version or said_version, language or said_language
        if (subset, said_version, said_language) != (request.subset, version, language.upper()):
            raise DataError(request.data, f'by its name this is {subset}, {said_version}, {said_language}')
    version, language = version or 'v2', (language or 'en').upper()
    stem = file_stem(request.subset, version, language)
    name = f'tooleval_teval_{language.lower()}_{version}'
    config = f'easytool/{name}_easytool_gen' if request.instructions else f'teval/{name}_gen'
    path = f'data/teval/{language}'
    return _Place([config], stem, Path(f'{stem}.json'), {'path': path, 'check_encoder': False})


def _ultratool(request: PromptsRequest) -> _Place:
    language = (request.language or 'zh').lower()
    name = f'tooleval_ultratool_{language}'
    configs = [f'ultratool/{name}_{request.method}_gen' if request.method else f'ultratool/{name}_rows']
    if request.instructions:
        configs = [f'easytool/{name}{built}_easytool_gen' for built in ('', '_built')]
    return _Place(configs, request.subset, data_file(Path(), request.subset, language), {})


def _restbench(request: PromptsRequest) -> _Place:
    kinds = {None: 'easytool' if request.instructions else 'documentation', 'easytool': 'ids'}
    if request.method not in kinds:
        raise ValueError(f'RestBench has no method {request.method!r} beside easytool')
    file = Path(find_restbench(request.subset).file)
    return _Place([f'easytool/tooleval_restbench_{kinds[request.method]}_rows'], request.subset, file, {})


def _funcqa(request: PromptsRequest) -> _Place:
    return _Place(['easytool/tooleval_funcqa_rows'], request.subset, Path(find_funcqa(request.subset).file), {})


def _toolbench(request: PromptsRequest) -> _Place:
    subset = find_toolbench(request.subset)
    kind = 'easytool' if request.instructions else 'documentation'
    configs = {None: f'{kind}_rows', 'easytool': 'selection_easytool_ids_gen'}
    if request.method not in configs:
        raise ValueError(f'ToolBench has no method {request.method!r} beside easytool')
    config, file = configs[request.method], Path(find_file(subset.data).file) if subset.data else None
    if subset.kind == 'success' and request.method is None:
        config = 'success_gen'
    return _Place([f'easytool/tooleval_toolbench_{config}'], subset.name, file, {})


BENCHMARKS: dict[str, Callable[[PromptsRequest], _Place]] = {
    'teval': _teval,
    'ultratool': _ultratool,
    'restbench': _restbench,
    'funcqa': _funcqa,
    'toolbench': _toolbench,
}
_WITH_METHODS = ('ultratool', 'restbench', 'funcqa', 'toolbench')
_WITH_LANGUAGES = ('teval', 'ultratool')


def _check(request: PromptsRequest) -> None:
    if request.benchmark not in BENCHMARKS:
        raise ValueError(f'no benchmark {request.benchmark!r}; there are {", ".join(BENCHMARKS)}')
    if request.method and request.benchmark not in _WITH_METHODS:
        raise ValueError(f'{request.benchmark} has no methods: leave --method out')
    if request.language and request.benchmark not in _WITH_LANGUAGES:
        raise ValueError(f'{request.benchmark} is in one language: leave --language out')
    if request.language and request.language.lower() not in ('en', 'zh'):
        raise ValueError(f'no language {request.language!r}; there are en and zh')
    if request.version and request.benchmark != 'teval':
        raise ValueError(f'{request.benchmark} has one version: leave --version out')
    if request.method and request.instructions and request.benchmark == 'ultratool':
        raise ValueError('UltraTool has no preset with instructions: leave --method or --instructions out')


def _path(data: str, file: Path | None) -> str:
    """The ``path`` of a data set that a file or a folder is."""
    if data.startswith(PACKAGE_PREFIX):
        return data
    path = Path(data).absolute()
    if file is None or path.is_dir():
        return str(path)
    if path.parts[-len(file.parts) :] != file.parts:
        raise DataError(data, f'it has to end in {file}, or to be a folder that holds this')
    return str(Path(*path.parts[: -len(file.parts)]))


def _dialogues(dataset: Mapping[str, Any]) -> Any:
    return dataset['infer_cfg']['inferencer'].get('dialogues') or {}


def _find(request: PromptsRequest, place: _Place) -> dict[str, Any]:
    """The data set's config."""
    files = [_CONFIGS / f'{config}.py' for config in place.configs]
    rows = [row for file in files if file.is_file() for row in read_datasets(file) if row['name'] == place.name]
    if request.benchmark == 'funcqa':
        rows = [row for row in rows if _dialogues(row)['method'] == (request.method or 'easytool')]
    if not rows:
        options = {'method': request.method, 'instructions': request.instructions, 'version': request.version}
        asked_for = ', '.join(f'{name} {value}' for name, value in options.items() if value)
        raise ValueError(f'{request.benchmark} has no {request.subset}' + (f' with {asked_for}' if asked_for else ''))
    return dict(rows[0])


def _configured(request: PromptsRequest) -> dict[str, Any]:
    place = BENCHMARKS[request.benchmark](request)
    dataset = {**_find(request, place), **place.more}
    if request.data:
        dataset['path'] = _path(request.data, place.file)
    if request.instructions:
        file = Path(request.instructions)
        instructions = str(file.absolute()) if file.is_file() else request.instructions
        if request.benchmark == 'funcqa':
            _dialogues(dataset)['instructions'] = instructions
        else:
            dataset['instructions'] = instructions
    return dataset


def _as_json(prompts: Iterable[tuple[str, Sequence[Message]]]) -> Iterator[str]:
    for record_id, messages in prompts:
        row = {'id': record_id, 'messages': [vars(message) for message in messages]}
        yield clean_text(json.dumps(row, ensure_ascii=False))


def _to_read(prompts: Iterable[tuple[str, Sequence[Message]]]) -> Iterator[str]:
    for record_id, messages in prompts:
        yield clean_text(f'=== {record_id}')
        for message in messages:
            yield clean_text(f'--- {message.role}\n{message.content}\n')


def show_prompts(
    benchmark: Annotated[str, typer.Argument(help='teval, ultratool, restbench, funcqa or toolbench.')],
    subset: Annotated[str, typer.Argument(help='Such as plan_json.')],
    language: Annotated[
        str | None, typer.Option(help="en or zh; by default the data file's, or en; UltraTool: zh.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help='The data file, or its folder; by default where the package looks.')
    ] = None,
    instructions: Annotated[
        str | None, typer.Option(help='A file of EasyTool instructions, in place of documentation.')
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="T-Eval: v1, v2 or v2_subset; by default the data file's, or v2.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="FuncQA's; easytool: RestBench, ToolBench's selection; UltraTool's preset.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help='So many records from the first.')] = None,
    json_out: JsonOption = None,
) -> None:
    """Prints or writes the messages of each record.

    Raises:
        DataError: Data or instructions are missing or damaged.
        EncoderMissingError: ToolBench's candidates cannot be found without one.
        ValueError: There is no such data set.
        OSError: The file cannot be written.
    """
    request = PromptsRequest(benchmark, subset, language, data, instructions, version, method, limit, json_out)
    _check(request)
    check_outputs(request.json_out, None)
    try:
        prompts = first_messages(_configured(request), request.limit)
        lines = _as_json(prompts) if request.json_out else _to_read(prompts)
        if request.json_out and request.json_out != STDOUT:
            write_whole(Path(request.json_out), ''.join(f'{line}\n' for line in lines))
            return
        for line in lines:
            print(line)
    except ImportError as error:
        raise ValueError(f"{error}: pip install 'opencompass-tooleval[agent]'") from error
