"""``tooleval run``: writes an ordinary config for benchmarks and models, runs it, and writes its report."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.catalogue.benchmark import all_benchmarks
from opencompass_tooleval.cli.options import KEY_VARIABLE, KeyEnvOption, key_in
from opencompass_tooleval.cli.prepare import prepare as prepare_data
from opencompass_tooleval.cli.report import run_and_report
from opencompass_tooleval.cli.run_config import API, HF, SERVED, Models, config_text, engines
from opencompass_tooleval.cli.run_data import check_files, choose, config_values, missing_files
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.model_name import is_reasoning_name
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.probe_answers import has_thoughts
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import write_whole

_OPENAI = 'https://api.openai.com/v1/'
_RUNS = Path('outputs', 'run')
_LONGEST_NAME = 60


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
    prices: Annotated[
        tuple[float, float] | None, typer.Option(metavar='INPUT OUTPUT', help='Cost of a million tokens.')
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar='COST', help='Budget of each model, by its prices.')
    ] = None,
    slurm: Annotated[str | None, typer.Option(metavar='PARTITION', help='Run it on Slurm.')] = None,
    shards: Annotated[int | None, typer.Option(min=1, help='Parts of each data set that run at the same time.')] = None,
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
        ValueError: Options contradict each other, or a key or the limit of a reasoning model's answers is missing.
        OSError: The config cannot be written.
    """
    settings = _given(
        max_out_len=max_out_len,
        max_seq_len=max_seq_len,
        max_workers=max_workers,
        temperature=temperature,
        run_cfg=_given(num_gpus=gpus) or None,
        prices=prices and dict(zip(('input', 'output'), prices, strict=True)),
        budget=_given(cost=max_cost) or None,
    )
    _check_options(model, hf, models, api_base, serve, settings)
    chosen = choose(benchmarks)
    name = re.sub(r'[^\w.-]+', '-', '-'.join(benchmarks))[:_LONGEST_NAME]
    folder, time = work_dir or _RUNS / name, datetime.now().strftime('%Y%m%d_%H%M%S')
    key = key_in(key_env)
    if model:
        settings |= {'openai_api_base': api_base or _OPENAI} | ({'key': 'none'} if api_base and not key else {})
    tested = _rows(models, settings) if models else _models(model or [], hf or [], serve, settings)
    text = config_text(chosen, tested, work_dir=folder, limit=limit, shards=shards, partition=slurm)
    if isinstance(tested, Models):
        _check_names(tested)
    if write_config:
        if write_config.exists():
            raise ValueError(f'{write_config} exists, and is not written over; name another file')
        write_whole(write_config, text)
        say(f'config:   {write_config}\nlook:     tooleval plan {shlex.quote(str(write_config))}')
        say(f'run it:   {_command(key_env, str(write_config))}')
        return 0
    _check_data([row for one in chosen for row in one.chosen_rows], prepare)
    if model and not key and (api_base is None or key_env != KEY_VARIABLE):
        raise ValueError(f'the key is read from ${key_env}, which is not set. Fix it with: export {key_env}=...')
    if model and 'max_out_len' not in settings:
        _check_servers(model, str(settings['openai_api_base']), key)
    if key:
        os.environ[KEY_VARIABLE] = os.environ[key_env]
    run = folder / time
    run.mkdir(parents=True)
    write_whole(run / 'config.py', text)
    arguments = [str(run / 'config.py'), '-r', time]
    again = _command(key_env, *arguments)
    say(f'config:   {run / "config.py"} (more is set there: edit it, or first write it with --write-config)')
    say(f'the same: {again}')
    return run_and_report(arguments, run, again)


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _command(key_env: str, *arguments: str) -> str:
    """Returns the command that runs a config, with the key from another variable if there is one."""
    key = '' if key_env == KEY_VARIABLE else f'{KEY_VARIABLE}="${key_env}" '
    return f'{key}opencompass {shlex.join(arguments)}'


def _check_options(
    model: object, hf: object, models: object, api_base: object, serve: object, settings: Mapping[str, Any]
) -> None:
    """Raises for options that would have no effect.

    Raises:
        ValueError: There are some.
    """
    if len(list(filter(None, (model, hf, models)))) != 1:
        raise ValueError('give models by one of --model NAME, --hf PATH and --models CONFIG')
    for option, is_set, needed, is_there in (
        ('--api-base', api_base, '--model', model),
        ('--serve', serve, '--hf', hf),
        ('--gpus', 'run_cfg' in settings, '--hf', hf),
        ('--max-cost', 'budget' in settings, '--prices INPUT OUTPUT', models or 'prices' in settings),
    ):
        if is_set and not is_there:
            raise ValueError(f'{option} needs {needed}')


def _rows(config: Path, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the models of a config, each with the budget.

    Raises:
        DataError: It has none.
        ValueError: There are other settings.
    """
    if others := [name for name in settings if name != 'budget']:
        raise ValueError(f'--models takes no --{others[0].replace("_", "-")}: set it in {config}')
    rows = config_values(config).get('models')
    if not rows:
        raise DataError(config, 'it has no models')
    return [row | settings for row in rows]


def _models(model: Sequence[str], hf: Sequence[str], serve: str | None, settings: Mapping[str, Any]) -> Models:
    if model:
        return Models(model, API, settings=settings)
    if serve is None:
        return Models(hf, HF, settings=settings)
    engine = Path(serve).name
    if engine not in engines():
        raise ValueError(f'no engine {engine!r}; there are {", ".join(engines())}')
    return Models(hf, f'{SERVED}{engine}', serve if serve != engine else '', settings)


def _check_data(rows: Sequence[Mapping[str, Any]], prepares: bool) -> None:
    missing = missing_files(rows)
    for benchmark in all_benchmarks() if prepares else ():
        if benchmark.prepare in missing.values():
            prepare_data(benchmark, None)
    check_files(missing_files(rows) if prepares else missing)


_ASKED = 'reasons before it answers, and its thoughts count: give a limit of tokens, such as --max-out-len 16384'


def _check_names(models: Models) -> None:
    for name in models.names:
        if 'max_out_len' not in models.settings and is_reasoning_name(Path(name).name):
            raise ValueError(f'{name} {_ASKED}')


def _check_servers(names: Sequence[str], url: str, key: str) -> None:
    """Asks each model a short question, and raises if it reasons."""
    for name in names:
        with closing(Endpoint(url, name, key)) as endpoint:
            if has_thoughts(endpoint):
                raise ValueError(f'{name} {_ASKED}')
