"""``tooleval run``: writes an ordinary config for benchmarks and models, runs it, and writes its report."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from opencompass_tooleval.cli.looks import FIRST, Look, look_setting, run_looks
from opencompass_tooleval.cli.options import KEY_VARIABLE, KeyEnvOption, TrustOption, WireOption, key_in, key_of_wire
from opencompass_tooleval.cli.output import progress, trust_first
from opencompass_tooleval.cli.prepare import bring_encoders
from opencompass_tooleval.cli.prepare import prepare as prepare_data
from opencompass_tooleval.cli.report import run_and_report
from opencompass_tooleval.cli.run_config import API, HF, SERVED, Judge, Models, Twins, config_text, engines
from opencompass_tooleval.cli.run_data import choose, config_values
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.statistics.sample import Sample
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.python_literal import python_literal
from opencompass_tooleval.data_path import benchmark_with, missing_files, needed_encoders
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.models.api.endpoint import FirstAnswer, first_answer
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.twins.subsets import KINDS
from opencompass_tooleval.work_dir.causes import KEY_ENV
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import write_whole

OPENAI = 'https://api.openai.com/v1/'


def run_benchmarks(
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='NAME', help='Benchmarks or data sets that tooleval list prints, or demo for the shipped records.'
        ),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar='NAME', help='A model behind an API; may be repeated.')
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(metavar='URL', help="The API's base URL; by default OpenAI's.")
    ] = None,
    wire: WireOption = 'chat',
    key_env: KeyEnvOption = None,
    hf: Annotated[
        list[str] | None, typer.Option(metavar='PATH', help='A Hugging Face model or its folder; may be repeated.')
    ] = None,
    serve: Annotated[
        str | None,
        typer.Option(
            metavar='ENGINE', help='Serve the model with vllm, sglang, lmdeploy, ..., or the path of such a program.'
        ),
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help='GPUs of a model; by default 1.')] = None,
    models: Annotated[
        Path | None, typer.Option(metavar='CONFIG', help='A config whose models are run, in place of --model and --hf.')
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar='N', help='Records of each data set, drawn at random; by default all are asked.'),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar='POINTS',
            help='Ask samples that grow until the 95% interval of each main score is at most this far from its middle.',
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help='Number of records of each data set, from the first; not a random sample.')
    ] = None,
    max_out_len: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum tokens of an answer, thoughts included; at least, and by default, the benchmark's limit.",
        ),
    ] = None,
    max_seq_len: Annotated[
        int | None,
        typer.Option(min=1, help='Maximum tokens of prompt and answer; with --hf by default 16384 plus --max-out-len.'),
    ] = None,
    max_workers: Annotated[
        int | None, typer.Option(min=1, help='Maximum number of requests in flight per model.')
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help='Sampling temperature; by default 0.')] = None,
    system_prompt: Annotated[
        str | None, typer.Option(metavar='TEXT', help='System prompt of each request, before that of the data set.')
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            '--set', metavar='KEY=VALUE', help='A further member of requests, as JSON or text; may be repeated.'
        ),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option(metavar='KEY', help='A member of requests to leave out; may be repeated.')
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
    judge: Annotated[
        str | None, typer.Option(metavar='NAME', help='A model behind an API, for data sets that need a judge.')
    ] = None,
    judge_base: Annotated[
        str | None, typer.Option(metavar='URL', help="The judge's base URL; by default OpenAI's.")
    ] = None,
    twin: Annotated[
        list[str] | None,
        typer.Option(metavar='KIND', help=f'Twins of the records too: {", ".join(KINDS)}; may be repeated.'),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help='Number of seeds for the twins; each seed makes a data set.')] = 1,
    slurm: Annotated[
        str | None, typer.Option(metavar='PARTITION', help='Submit the tasks to this partition of Slurm.')
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            '--replicas',
            '--shards',
            min=1,
            help='Number of tasks per model that share its data sets; a faster one does more.',
        ),
    ] = None,
    prepare: Annotated[bool, typer.Option('--prepare', help='Fetch missing data and sentence encoders first.')] = False,
    write_config: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Write the config there, and run nothing.')
    ] = None,
    work_dir: Annotated[
        Path | None, typer.Option('--work-dir', '-w', help='Folder of the runs; by default outputs/run/NAME.')
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option('--resume', '-r', metavar='RUN', help='Continue this run; only together with --within.'),
    ] = None,
    trust: TrustOption = False,
) -> int:
    """Runs benchmarks on models; returns the exit status of ``opencompass``, or 1 if a check finds faults.

    It first runs the checks of ``tooleval plan``, then asks each model behind an API one question. All other settings
    are in the config that it writes: edit it, and run it with the printed command.

    Raises:
        DataError: A config cannot be read.
        ValueError: Options contradict each other.
        OSError: The config cannot be written.
    """
    if resume:
        of_models = (model, api_base, hf, serve, gpus, models, temperature, system_prompt, prices, max_cost)
        of_requests = (set_, unset, max_out_len, max_seq_len, max_workers, judge, judge_base, slurm, replicas)
        others = (benchmarks, sample, limit, twin, write_config, work_dir, *of_models, *of_requests)
        is_alone = not (stream or prepare or seeds > 1 or any(one is not None and one != [] for one in others))
        if within is None or not is_alone:
            again = shlex.join(['opencompass', str(resume / 'config.py'), '-r', resume.name])
            raise ValueError(
                '--resume goes with --within POINTS alone: other settings are in the config of the run; a run without '
                f'--within continues with: {again}'
            )
        _export_key(key_env, KEY_VARIABLE)
        look = Look.last(resume)
        trust_first(look.trustee(), trust)
        look.trustee().check()
        return run_looks(look, within, _again(resume, within, key_env))
    benchmarks = benchmarks or []
    settings: dict[str, Any] = {
        'max_out_len': max_out_len,
        'max_seq_len': max_seq_len,
        'max_workers': max_workers,
        'temperature': temperature,
        'system_prompt': system_prompt or None,
        'stream': stream or None,
        'openai_extra_kwargs': (members := {**dict(map(_member, set_ or ())), **dict.fromkeys(unset or ())}) or None,
        'run_cfg': None if gpus is None else {'num_gpus': gpus},
        'prices': prices and dict(zip(('input', 'output'), prices, strict=True)),
        'budget': None if max_cost is None else {'cost': max_cost},
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    variable = key_of_wire(wire, key_env)
    if wire != 'chat':
        settings['wire'] = wire
    if len(list(filter(None, (model, hf, models)))) != 1:
        raise ValueError('give models by one of --model NAME, --hf PATH and --models CONFIG')
    if limit and (sample or within is not None):
        raise ValueError(f'give one of {"--sample" if sample else "--within"} and --limit')
    if within is not None and write_config:
        raise ValueError('--within runs several configs: leave --write-config out')
    for option, is_set, needed in (
        ('--wire', wire != 'chat' and not model, '--model'),
        ('--api-base', api_base and not model, '--model'),
        ('--serve', serve and not hf, '--hf'),
        ('--gpus', gpus is not None and not hf, '--hf'),
        ('--max-cost', max_cost is not None and not (prices or models), '--prices INPUT OUTPUT'),
        ('--judge-base', judge_base and not judge, '--judge'),
        ('--set or --unset', members and not (model or serve), '--model or --serve'),
        ('--seeds', seeds > 1 and not twin, '--twin'),
    ):
        if is_set:
            raise ValueError(f'{option} needs {needed}')
    is_elsewhere = urlsplit(judge_base or OPENAI).netloc != urlsplit(api_base or WIRES[wire].base).netloc
    if judge and model and is_elsewhere and key_env not in (None, KEY_VARIABLE):
        raise ValueError(
            f'the judge is on another server, which would get the key of --key-env {key_env} too: write the config '
            'with --write-config, and set the key of its judge_cfg'
        )
    for path in hf or ():
        if path.startswith(('/', './', '../', '~')) and not Path(path).expanduser().is_dir():
            raise ValueError(f'--hf {path} is not a folder')
    if twin:  # --twin names order more20
        twin = list(dict.fromkeys([*twin, *(name for name in benchmarks if name in KINDS)]))
        benchmarks = [name for name in benchmarks if name not in KINDS]
    if not benchmarks:
        raise ValueError('name data sets: tooleval list prints them')
    chosen, key = choose(benchmarks), key_in(variable)
    is_open = not key and not key_env
    if model:
        settings |= {'openai_api_base': api_base or WIRES[wire].base} | (
            {'key': 'none'} if api_base and is_open else {}
        )
    tested = _rows(models, settings) if models else _models(model, hf, serve, settings)
    rows = [row for group in chosen for row in group.rows]
    grader = Judge.of(rows, judge, judge_base or OPENAI, 'none' if judge_base and is_open else 'ENV') if judge else None
    name = re.sub(r'[^\w.-]+', '-', '-'.join(benchmarks))[:60]
    folder, time = work_dir or Path('outputs', 'run', name), datetime.now().strftime('%Y%m%d_%H%M%S')
    write = partial(
        config_text,
        chosen,
        work_dir=folder,
        limit=limit,
        sample=_sample_of(sample, within),
        replicas=replicas,
        partition=slurm,
        twins=Twins.of(rows, twin, seeds) if twin else None,
    )
    text = write(tested, judge=grader)
    if not write_config:
        if prepare and not _prepared(rows):
            return 1
        _export_key(key_env, WIRES[wire].key)
        faults = _planned_faults(text)
        asked = () if faults else model or ()
        is_native = any(part in row['abbr'] for row in rows for part in ('-fc', '-dfsdt'))
        base = settings.get('openai_api_base', '')
        first = {one: first_answer(base, one, key, temperature, wire, is_native, members) for one in asked}
        keys = {grader.model if grader else '': key_env or KEY_VARIABLE}  # of the judge, whose format is chat
        of_judge = FirstAnswer()
        if grader and not faults:
            of_judge = first_answer(grader.base, grader.model, key_in(keys[grader.model]))
        findings = [*faults, *_server_findings(first, max_out_len is None)]
        findings += _server_findings({grader.model: of_judge}) if grader else []
        for finding in findings:
            say(_as_options(finding.line).replace(KEY_VARIABLE, keys.get(finding.about, variable)), err=True)
        if any(finding.is_fault for finding in findings):
            return 1
        if isinstance(tested, Models):
            tested = replace(tested, accepted={name: one.settings for name, one in first.items() if one.settings})
        if grader:
            grader = replace(grader, accepted=of_judge.settings)
        text = write(tested, judge=grader)
    config = write_config or folder / time / 'config.py'
    if config.exists():
        raise ValueError(f'{config} exists, and is not written over; name another file')
    config.parent.mkdir(parents=True, exist_ok=True)
    write_whole(config, text)
    arguments = [str(config), *([] if write_config else ['-r', time])]
    prefix = '' if variable == WIRES[wire].key else f'{WIRES[wire].key}="${variable}" '
    again = '' if within is None else _again(config.parent, within, key_env)
    command = again or f'{prefix}opencompass {shlex.join(arguments)}'
    say(f'config:   {config} (edit it for settings without an option)\ncommand:  {command}')
    if write_config:
        return 0
    if within is None:
        return run_and_report(arguments, config.parent, command)
    look = Look(config)
    look.trustee().trust()
    return run_looks(look, within, again)


def _export_key(key_env: str | None, variable: str) -> None:
    """Passes the key of ``--key-env`` in a variable to the programs that are started, and both names to messages."""
    if key_env:
        os.environ |= {variable: os.environ.get(key_env, ''), KEY_ENV: f'{variable}={key_env}'}


def _member(word: str) -> tuple[str, Any]:
    """Returns name and value of ``--set``.

    Raises:
        ValueError: It is not KEY=VALUE.
    """
    name, sign, text = word.partition('=')
    if not name or not sign:
        raise ValueError(f'--set {word}: write it as KEY=VALUE')
    try:
        return name, load_json(text, bounded=True)
    except ValueError:
        return name, text


def _as_options(line: str) -> str:
    """Returns a line with settings of a config as options of this command."""
    line = re.sub(r'set openai_extra_kwargs=dict\((\w+)=None\) in the config of the model', r'take --unset \1', line)
    unknown = r'set (\w+) by openai_extra_kwargs in the config of the model; None leaves it out'
    return re.sub(unknown, r'take --set \1=VALUE, or --unset \1', line)


def _sample_of(sample: int | None, within: float | None) -> str:
    """Returns the setting ``sample`` of a data set as Python code; '' if all records are asked."""
    if within is not None:
        return look_setting(Sample(sample or FIRST), {})
    return python_literal({'n': sample, 'seed': 0}) if sample else ''


def _again(run: Path, within: float, key_env: str | None) -> str:
    """Returns the command that continues a run."""
    key = ['--key-env', key_env] if key_env else []
    return shlex.join(['tooleval', 'run', '--within', f'{within:g}', *key, '-r', str(run)])


def _rows(config: Path, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the models of a config, each with the budget.

    Raises:
        DataError: The config has no models.
        ValueError: Settings other than the budget are given.
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


def _prepared(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Fetches missing data and encoders; returns False if the user has to fetch some with the printed commands."""
    lacking = {one.name: one for path in missing_files(rows) if (one := benchmark_with(path))}
    statuses = [prepare_data(benchmark, None, with_encoders=False) for benchmark in lacking.values()]
    statuses.append(bring_encoders(needed_encoders(rows)))
    if any(statuses):
        say('then give this command again')
    return not any(statuses)


def _planned_faults(text: str) -> list[Finding]:
    """Returns the faults that ``tooleval plan`` finds in a config."""
    from opencompass_tooleval.tasks.planned_jobs import make_plan  # loads OpenCompass

    with TemporaryDirectory(prefix='tooleval-plan-') as folder:
        config = Path(folder, 'config.py')
        config.write_text(text, encoding='utf-8')
        return make_plan(config, track=partial(progress, 'loading data sets')).faults


def _server_findings(answers: Mapping[str, FirstAnswer], is_unlimited: bool = False) -> Iterator[Finding]:
    """Yields faults and notes of the first questions.

    Args:
        answers: Model -> what its first question shows.
        is_unlimited: True if a model that reasons needs a token limit.
    """
    for model, answer in answers.items():
        if answer.fault:
            yield found('config:answer', model, answer.fault)
        elif answer.thinks and is_unlimited:
            text = 'reasons before it answers, and these tokens count: set the limit of an answer'
            yield found('config:answer', '', f'{model} {text}, such as --max-out-len 16384')
        elif answer.settings:
            shown = ' and '.join(f'{name}={python_literal(value)}' for name, value in answer.settings.items())
            yield found('config:refused', model, f'the server refuses a default of requests; the config has {shown}')
