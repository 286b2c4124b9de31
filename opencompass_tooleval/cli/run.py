"""``tooleval run``: writes an ordinary config for benchmarks and models, runs it, and writes its report."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.catalogue.benchmark import all_benchmarks
from opencompass_tooleval.cli.options import KEY_VARIABLE, KeyEnvOption, key_in
from opencompass_tooleval.cli.prepare import prepare as prepare_data
from opencompass_tooleval.cli.report import run_and_report
from opencompass_tooleval.cli.run_config import API, HF, SERVED, Models, config_text, engines
from opencompass_tooleval.cli.run_data import check_files, check_scoring, choose, config_values, missing_files
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.model_name import is_reasoning_name
from opencompass_tooleval.models.api.probe_answers import has_thoughts
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import write_whole


def run_benchmarks(
    benchmarks: Annotated[
        list[str],
        typer.Argument(metavar='NAME', help='Data sets as tooleval list NAME prints them, or demo: shipped records.'),
    ],
    model: Annotated[list[str] | None, typer.Option(metavar='NAME', help='A model behind an API; several.')] = None,
    api_base: Annotated[
        str | None, typer.Option(metavar='URL', help="The API's base URL; by default OpenAI's.")
    ] = None,
    key_env: KeyEnvOption = KEY_VARIABLE,
    hf: Annotated[
        list[str] | None, typer.Option(metavar='PATH', help='A Hugging Face model, or its folder; several.')
    ] = None,
    serve: Annotated[
        str | None,
        typer.Option(
            metavar='ENGINE', help='Serve it with vllm, sglang, lmdeploy, ..., or the path of such a program.'
        ),
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help='GPUs of a model; by default 1.')] = None,
    models: Annotated[
        Path | None, typer.Option(metavar='CONFIG', help='A config whose models are run, in place of --model and --hf.')
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help='First records of each data set; by default all.')] = None,
    max_out_len: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of an answer, with thoughts; by default, or if less, the benchmark's limit."),
    ] = None,
    max_seq_len: Annotated[
        int | None, typer.Option(min=1, help='Tokens of prompt and answer; with --hf 16384 and --max-out-len.')
    ] = None,
    max_workers: Annotated[int | None, typer.Option(min=1, help='Requests in flight.')] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help='By default 0.')] = None,
    system_prompt: Annotated[
        str | None, typer.Option(metavar='TEXT', help='System prompt of each request, before that of the data set.')
    ] = None,
    stream: Annotated[
        bool, typer.Option('--stream', help='Request streams, so that gateways do not end long requests.')
    ] = False,
    prices: Annotated[
        tuple[float, float] | None, typer.Option(metavar='INPUT OUTPUT', help='Cost of a million tokens.')
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar='COST', help='Budget of each model, by its prices.')
    ] = None,
    slurm: Annotated[str | None, typer.Option(metavar='PARTITION', help='Run it on Slurm.')] = None,
    shards: Annotated[int | None, typer.Option(min=1, help='Parts of each data set that run at the same time.')] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=2, help='Tasks per model that share its data sets: a fast one does more. In place of --shards.'
        ),
    ] = None,
    prepare: Annotated[bool, typer.Option('--prepare', help='Fetch missing data first.')] = False,
    write_config: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Write the config there, and run nothing.')
    ] = None,
    work_dir: Annotated[
        Path | None, typer.Option('--work-dir', '-w', help='Folder of the runs; by default outputs/run/NAME.')
    ] = None,
) -> int:
    """Runs benchmarks on models; returns the exit status of ``opencompass``.

    Everything else is set in the config that it writes: edit it, and run it by the command that is printed.

    Raises:
        DataError: Data are missing, or a config cannot be read.
        EncoderMissingError: T-Eval's answers could not be scored without the encoder.
        ValueError: Options contradict each other, or a key or the limit of a reasoning model's answers is missing.
        OSError: The config cannot be written.
    """
    settings: dict[str, Any] = {
        'max_out_len': max_out_len,
        'max_seq_len': max_seq_len,
        'max_workers': max_workers,
        'temperature': temperature,
        'system_prompt': system_prompt or None,
        'stream': stream or None,
        'run_cfg': None if gpus is None else {'num_gpus': gpus},
        'prices': prices and dict(zip(('input', 'output'), prices, strict=True)),
        'budget': None if max_cost is None else {'cost': max_cost},
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    if len(list(filter(None, (model, hf, models)))) != 1:
        raise ValueError('give models by one of --model NAME, --hf PATH and --models CONFIG')
    if shards and replicas:
        raise ValueError('give one of --shards and --replicas')
    for option, is_set, needed in (
        ('--api-base', api_base and not model, '--model'),
        ('--serve', serve and not hf, '--hf'),
        ('--gpus', gpus is not None and not hf, '--hf'),
        ('--max-cost', max_cost is not None and not (prices or models), '--prices INPUT OUTPUT'),
    ):
        if is_set:
            raise ValueError(f'{option} needs {needed}')
    chosen, key = choose(benchmarks), key_in(key_env)
    if model:
        settings |= {'openai_api_base': api_base or 'https://api.openai.com/v1/'} | (
            {'key': 'none'} if api_base and not key else {}
        )
    tested = _rows(models, settings) if models else _models(model, hf, serve, settings)
    name = re.sub(r'[^\w.-]+', '-', '-'.join(benchmarks))[:60]
    folder, time = work_dir or Path('outputs', 'run', name), datetime.now().strftime('%Y%m%d_%H%M%S')
    text = config_text(chosen, tested, work_dir=folder, limit=limit, shards=shards, replicas=replicas, partition=slurm)
    if not write_config:
        _check_data([row for group in chosen for row in group.rows], prepare)
        if model and not key and (api_base is None or key_env != KEY_VARIABLE):
            raise ValueError(f'the key is read from ${key_env}, which is not set. Fix it with: export {key_env}=...')
    for path in () if max_out_len else (model or hf or ()):
        if is_reasoning_name(Path(path).name) or (
            model and not write_config and has_thoughts(settings['openai_api_base'], path, key)
        ):
            raise ValueError(
                f'{path} reasons before it answers, and these tokens count: set the limit of an answer, such as '
                '--max-out-len 16384'
            )
    config = write_config or folder / time / 'config.py'
    if config.exists():
        raise ValueError(f'{config} exists, and is not written over; name another file')
    config.parent.mkdir(parents=True, exist_ok=True)
    write_whole(config, text)
    arguments = [str(config), *([] if write_config else ['-r', time])]
    prefix = '' if key_env == KEY_VARIABLE else f'{KEY_VARIABLE}="${key_env}" '
    command = f'{prefix}opencompass {shlex.join(arguments)}'
    say(f'config:   {config} (edit it for settings without an option)\ncommand:  {command}')
    if write_config:
        return 0
    if key:
        os.environ[KEY_VARIABLE] = os.environ[key_env]
    return run_and_report(arguments, config.parent, command)


def _rows(config: Path, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the models of a config, each with the budget.

    Raises:
        DataError: It has none.
        ValueError: There are other settings.
    """
    if others := [name for name in settings if name != 'budget']:
        raise ValueError(f'--models takes no setting of models but --max-cost: set {others[0]} in {config}')
    if not (rows := config_values(config).get('models')):
        raise DataError(config, 'it has no models')
    return [row | settings for row in rows]


def _models(
    model: Sequence[str] | None, hf: Sequence[str] | None, serve: str | None, settings: Mapping[str, Any]
) -> Models:
    engine = Path(serve or '').name
    if engine and engine not in engines():
        raise ValueError(f'no engine {engine!r}; there are {", ".join(engines())}')
    program = serve if serve and serve != engine else ''
    return Models(model or hf or [], API if model else f'{SERVED}{engine}' if engine else HF, program, settings)


def _check_data(rows: Sequence[Mapping[str, Any]], prepares: bool) -> None:
    missing = missing_files(rows)
    for benchmark in all_benchmarks() if prepares else ():
        if benchmark.prepare in missing.values():
            prepare_data(benchmark, None)
    check_files(missing_files(rows) if prepares else missing)
    check_scoring(rows)
