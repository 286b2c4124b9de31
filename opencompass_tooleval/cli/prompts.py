"""``tooleval prompts``: prints the messages that a sweep sends to a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import opencompass_tooleval
from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import Benchmark, ConfiguredDataset, find_benchmark
from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs
from opencompass_tooleval.core.calls.tool_calls import calls_text
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.data_path import PACKAGE_PREFIX
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import write_whole

if TYPE_CHECKING:
    from opencompass_tooleval.models.conversation import Conversation

_CONFIGS = Path(opencompass_tooleval.__file__).parent / 'configs' / 'datasets'


def _configured_dataset(benchmark: Benchmark, subset: str, **options: str | None) -> ConfiguredDataset:
    """Returns the place of the data set in the package's configs.

    Raises:
        ValueError: An option is given that the benchmark does not have, or the language does not exist.
    """
    configured = plugin.load(plugin.CONFIGURED[benchmark.name])
    takes = signature(configured).parameters
    for name in ('language', 'version', 'method'):
        if options[name] and name not in takes:
            raise ValueError(f'{benchmark.name} has no {name}s: leave --{name} out')
    if (options['language'] or 'en').lower() not in ('en', 'zh'):
        raise ValueError(f'no language {options["language"]!r}; there are en and zh')
    configured_dataset: ConfiguredDataset = configured(
        subset, **{name: value for name, value in options.items() if value and name in takes}
    )
    return configured_dataset


def _path(data: str, file: Path | None) -> str:
    """Returns the ``path`` of a data set, given its file or the folder of that file."""
    if data.startswith(PACKAGE_PREFIX):
        return data
    path = Path(data).absolute()
    if file is None or path.is_dir():
        return str(path)
    if path.parts[-len(file.parts) :] != file.parts:
        raise DataError(data, f'the path must end in {file}, or be the folder that contains it')
    return str(Path(*path.parts[: -len(file.parts)]))


def _dialogues(dataset: Mapping[str, Any]) -> Any:
    return dataset['infer_cfg']['inferencer'].get('dialogues') or {}


def _find(benchmark: str, subset: str, configured_dataset: ConfiguredDataset, **options: str | None) -> dict[str, Any]:
    """Returns the config of a data set."""
    from opencompass_tooleval.tasks.first_prompts import read_datasets

    names = [config.partition(':') for config in configured_dataset.configs]
    files = [(_CONFIGS / f'{name}.py', variable) for name, _, variable in names]
    found = (row for file, variable in files if file.is_file() for row in read_datasets(file, variable))
    rows = [row for row in found if row['name'] == configured_dataset.name]
    if configured_dataset.method:
        rows = [row for row in rows if _dialogues(row)['method'] == configured_dataset.method]
    if not rows:
        asked_for = ', '.join(f'{name} {value}' for name, value in options.items() if value)
        raise ValueError(f'{benchmark} has no {subset}' + (f' with {asked_for}' if asked_for else ''))
    return {**rows[0], **configured_dataset.settings}


def _as_json(prompts: Iterable[tuple[str, Conversation | None]]) -> Iterator[str]:
    for record_id, asked in prompts:
        row: dict[str, Any] = {'id': record_id, 'messages': asked.as_request() if asked else []}
        if asked and asked.tools:
            row['tools'] = asked.tools.as_request()
        yield clean_text(json.dumps(row, ensure_ascii=False))


def _to_read(prompts: Iterable[tuple[str, Conversation | None]]) -> Iterator[str]:
    for record_id, asked in prompts:
        yield clean_text(f'=== {record_id}')
        for message in asked.messages() if asked else ():
            yield clean_text(f'--- {message.role}\n{message.content}\n{calls_text(message.calls)}')
        for tool in asked.tools.as_request() if asked and asked.tools else ():
            yield clean_text(f'--- tool\n{json.dumps(tool["function"], ensure_ascii=False, indent=2)}\n')


def show_prompts(
    benchmark: Annotated[str, typer.Argument(help=f'{", ".join(BENCHMARKS)}.')],
    subset: Annotated[str, typer.Argument(help='Subset, such as plan_json.')],
    language: Annotated[
        str | None, typer.Option(help="en or zh; by default the data file's language, or else en (UltraTool: zh).")
    ] = None,
    data: Annotated[str | None, typer.Option(help='The data file or its folder; by default found as in a run.')] = None,
    instructions: Annotated[
        str | None, typer.Option(help='A file of EasyTool instructions, in place of documentation.')
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="T-Eval: v1, v2 or v2_subset; by default the data file's, or v2.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="FuncQA: its method; RestBench and ToolBench's selection: easytool; all but UltraTool: "
            'function_calling; UltraTool: the prompt style; agents: the loop.'
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help='Number of records, from the first.')] = None,
    json_out: JsonOption = None,
) -> None:
    """Prints or writes the messages of each record.

    Raises:
        DataError: Data or instructions are missing or damaged.
        EncoderMissingError: ToolBench's candidates need an encoder, which is missing.
        ValueError: The data set does not exist.
        OSError: The file cannot be written.
    """
    check_outputs(json_out, None)
    described = find_benchmark(benchmark)
    options = {'method': method, 'instructions': instructions, 'version': version}
    configured_dataset = _configured_dataset(described, subset, language=language, data=data, **options)
    dataset = _find(benchmark, subset, configured_dataset, **options)
    if _dialogues(dataset).get('bank'):
        _dialogues(dataset)['bank'] = None  # the first message does not depend on the answers
    if data:
        dataset['path'] = _path(data, configured_dataset.file)
    if instructions:
        file = Path(instructions)
        holder = _dialogues(dataset) if configured_dataset.method else dataset
        holder['instructions'] = str(file.absolute()) if file.is_file() else instructions
    from opencompass_tooleval.tasks.first_prompts import first_prompts

    try:
        prompts = first_prompts(dataset, limit)
        lines = _as_json(prompts) if json_out else _to_read(prompts)
        if json_out and json_out != STDOUT:
            write_whole(Path(json_out), ''.join(f'{line}\n' for line in lines))
            return
        for line in lines:
            say(line)
    except ImportError as error:
        raise ValueError(f"{error}: pip install 'opencompass-tooleval[agent]'") from error
