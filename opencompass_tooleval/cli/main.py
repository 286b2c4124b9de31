"""Entry point of ``tooleval``. A command is imported when it is called."""

from __future__ import annotations

import importlib
import logging
import sys
from enum import Enum
from pathlib import Path

import typer

from opencompass_tooleval.cli.commands import Command, command_group
from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.embedding.locate import EncoderMissingError

COMMANDS = {
    'list': ('listing:show_list', 'Benchmarks, subsets, published counts, and what is on disk.'),
    'doctor': ('doctor:run_doctor', 'Check versions, registry, data and encoder; exits with 1 on a fault.'),
    'config-dir': ('main:print_config_dir', 'Print the folder of our configs, for opencompass --config-dir.'),
    'prepare': ('main:prepare_app', 'Fetch and verify benchmark data.'),
    'score': ('main:score_app', 'Score recorded answers, without OpenCompass or a GPU.'),
    'prompts': ('prompts:show_prompts', 'Show the messages that a model is sent; of dialogues the first turn.'),
    'agreement': ('agreement:agreement', 'Correlate two sets of judgements of UltraTool, dimension by dimension.'),
    'plan': ('plan:show_plan', 'What a config would run: jobs, GPUs, samples, prompt tokens, and what is done.'),
    'status': ('status:show_status', 'How far a sweep is, what failed and why; exits with 1 on a failure.'),
    'retry': ('retry:retry_sweep', 'Ask again only what got no answer through no fault of the model.'),
    'compare': ('compare:compare_models', 'Two models side by side, with 95% intervals, and where they differ.'),
    'export': ('exchange:export_run', 'Write results, predictions and details of a run, to publish them.'),
    'import': ('exchange:import_run', 'Make a run of published predictions, to score it.'),
    'report': ('report:show_report', 'Write pages to look at, from disk: scores, charts, samples.'),
    'build': ('main:build_app', 'Build benchmark data from annotated samples.'),
    'easytool': ('main:easytool_app', 'Concise tool instructions: make them, measure them.'),
}
"""Name -> module and function (or group of commands) in this package, and its help."""

BUILD = {'ultratool': ('build_ultratool:build_ultratool', "Build UltraTool's six tasks from annotated samples.")}

EASYTOOL = {
    'generate': (
        'easytool_generate:easytool_generate',
        'Make concise instructions from documentation; run it again to go on after a kill.',
    ),
    'stats': ('easytool_stats:easytool_stats', 'Count tokens before and after, per tool and in all.'),
    'retrieval': (
        'easytool_retrieval:easytool_retrieval',
        'How well tools are found by documentation and by instructions: NDCG, side by side.',
    ),
}


def _group(table: dict[str, tuple[str, str]], help: str, **more: bool) -> typer.Typer:
    def load(name: str) -> Command:
        module, _, function = table[name][0].partition(':')
        command: Command = getattr(importlib.import_module(f'opencompass_tooleval.cli.{module}'), function)
        return command

    summaries = {name: summary for name, (_, summary) in table.items()}
    return command_group(summaries, load, help=help, pretty_exceptions_enable=False, **more)


app = _group(
    COMMANDS, 'Tool-use benchmarks for OpenCompass: T-Eval, UltraTool, EasyTool variants, RestBench, FuncQA, ToolBench.'
)
build_app = _group(BUILD, COMMANDS['build'][1], add_completion=False)
easytool_app = _group(EASYTOOL, COMMANDS['easytool'][1], add_completion=False)
prepare_app = typer.Typer(help=COMMANDS['prepare'][1], no_args_is_help=True, add_completion=False)
score_app = typer.Typer(help=COMMANDS['score'][1], no_args_is_help=True, add_completion=False)


class ProtocolName(str, Enum):
    """T-Eval's protocols."""

    V1 = 'v1'
    V2 = 'v2'


class ScoringName(str, Enum):
    """Published behaviour, or its quirks mended."""

    OFFICIAL = 'official'
    STRICT = 'strict'


class LanguageName(str, Enum):
    """UltraTool's languages."""

    ZH = 'zh'
    EN = 'en'


class ListsName(str, Enum):
    """Which list counts in an answer with several."""

    LAST = 'last'
    SPAN = 'span'


class GoldName(str, Enum):
    """Which gold answers the data holds."""

    OFFICIAL = 'official'
    REPAIRED = 'repaired'


class ToolMethod(str, Enum):
    """How an answer names tools."""

    NAMES = 'names'
    EASYTOOL = 'easytool'


class PostprocessorName(str, Enum):
    """How answers are cut from model outputs."""

    V1 = 'v1'
    V2 = 'v2'
    CLEAN = 'clean'


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f'opencompass-tooleval {version("opencompass-tooleval")}')
        raise typer.Exit


@app.callback()
def main_options(
    version: bool = typer.Option(False, '--version', callback=_show_version, is_eager=True, help='Print the version.'),
) -> None:
    """Options of the command itself."""


def print_config_dir() -> None:
    """Prints the folder of our configs."""
    typer.echo(Path(__file__).resolve().parent.parent / 'configs')


@prepare_app.command('teval')
def prepare_teval_command(
    source: Path | None = typer.Option(
        None, '--from', help='A folder with the .json files; without it they come from Hugging Face.'
    ),
) -> None:
    """Bring T-Eval's files to where OpenCompass looks, and verify them."""
    from opencompass_tooleval.cli.prepare import prepare_teval

    raise typer.Exit(prepare_teval(source))


@prepare_app.command('ultratool')
def prepare_ultratool_command(
    source: Path | None = typer.Option(None, '--from', help="A folder with the authors' files, at any depth."),
) -> None:
    """Bring UltraTool's files to where OpenCompass looks, and verify them."""
    from opencompass_tooleval.cli.prepare_ultratool import prepare_ultratool

    raise typer.Exit(prepare_ultratool(source))


@prepare_app.command('restbench')
def prepare_restbench_command(
    source: Path | None = typer.Option(None, '--from', help="A folder with the authors' files, at any depth."),
) -> None:
    """Bring RestBench's files to where OpenCompass looks, and verify them."""
    from opencompass_tooleval.cli.prepare_restbench import prepare_restbench

    raise typer.Exit(prepare_restbench(source))


@prepare_app.command('funcqa')
def prepare_funcqa_command(
    source: Path | None = typer.Option(None, '--from', help='A folder with the published files, at any depth.'),
) -> None:
    """Bring FuncQA's files to where OpenCompass looks, and verify them."""
    from opencompass_tooleval.cli.prepare_funcqa import prepare_funcqa

    raise typer.Exit(prepare_funcqa(source))


@prepare_app.command('toolbench')
def prepare_toolbench_command(
    source: Path | None = typer.Option(None, '--from', help='A folder with the test files, at any depth.'),
) -> None:
    """Bring ToolBench's test files to where OpenCompass looks, and verify them."""
    from opencompass_tooleval.cli.prepare_toolbench import prepare_toolbench

    raise typer.Exit(prepare_toolbench(source))


@score_app.command('ultratool')
def score_ultratool_command(
    task: str = typer.Argument(help='Such as tool_usage.'),
    predictions: Path | None = typer.Option(None, help="Recorded answers, the authors' files among them."),
    data: Path | None = typer.Option(None, help="The records; the authors' files of answers hold them too."),
    judgements: Path | None = typer.Option(
        None, help='Planning and tool_creation: what the judge said; without, answers are only read.'
    ),
    language: LanguageName | None = typer.Option(None, help='By default what path or text say.'),
    lists: ListsName | None = typer.Option(None, help="By default span for the authors' GPT files, else last."),
    scoring: ScoringName = typer.Option(ScoringName.OFFICIAL),
    gold: GoldName = typer.Option(GoldName.OFFICIAL, help='Which gold the data holds.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per sample there.'),
) -> None:
    """Score recorded answers or judgements of one task of UltraTool."""
    from opencompass_tooleval.cli.score_ultratool import UltraToolRequest, score_ultratool

    score_ultratool(
        UltraToolRequest(
            task=task,
            predictions=predictions,
            data=data,
            judgements=judgements,
            language=language.value if language else None,
            lists=lists.value if lists else None,
            scoring=scoring.value,
            gold=gold.value,
            json_out=json_out,
            details=details,
        )
    )


@score_app.command('restbench')
def score_restbench_command(
    subset: str = typer.Argument(help='tmdb or spotify.'),
    data: Path | None = typer.Option(None, help="RestBench's data file; by default where OpenCompass looks for data."),
    specs: Path | None = typer.Option(None, help="The service's OpenAPI document; by default as the data."),
    predictions: Path = typer.Option(..., help="Recorded answers, or a log of EasyTool's own script."),
    gold: GoldName = typer.Option(GoldName.OFFICIAL, help='As published, or with its errata mended.'),
    method: ToolMethod = typer.Option(
        ToolMethod.NAMES, help="How answers name tools; easytool: by the number of EasyTool's own prompt."
    ),
    instructions: Path | None = typer.Option(None, help='For easytool: the instructions; by default as the data.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per sample there.'),
) -> None:
    """Score recorded answers to one service of RestBench."""
    from opencompass_tooleval.cli.score_restbench import RestBenchRequest, score_restbench

    score_restbench(
        RestBenchRequest(subset, data, specs, predictions, gold.value, method.value, instructions, json_out, details)
    )


@score_app.command('funcqa')
def score_funcqa_command(
    subset: str = typer.Argument(help='one_hop or multi_hop.'),
    predictions: Path = typer.Option(..., help="Stored trajectories, or a log of EasyTool's authors."),
    data: Path | None = typer.Option(None, help="FuncQA's data file; by default where prepare puts it."),
    gold: GoldName = typer.Option(GoldName.OFFICIAL, help='repaired mends the wrong answers of the published data.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per question there.'),
) -> None:
    """Score stored trajectories of one subset of FuncQA, or a log of EasyTool's authors."""
    from opencompass_tooleval.cli.score_funcqa import FuncQARequest, score_funcqa

    score_funcqa(FuncQARequest(subset, predictions, data, gold.value, json_out, details))


@score_app.command('toolbench')
def score_toolbench_command(
    subset: str = typer.Argument(help='selection_5 (10, 20, 50), calls_g2, calls_g3, success or trajectories.'),
    file: Path | None = typer.Argument(None, help='The same as --predictions.'),
    predictions: Path | None = typer.Option(
        None, help="Recorded answers; for success and trajectories, stored trajectories, such as ToolEval's .json.gz."
    ),
    data: Path | None = typer.Option(None, help='The test file; for success where trajectories lack their request.'),
    judgements: Path | None = typer.Option(None, help='For success: what the judge said.'),
    encoder: str | None = typer.Option(
        None, help="For selection: 'offline', a folder or a hub id; the one that found the candidates."
    ),
    method: ToolMethod = typer.Option(
        ToolMethod.NAMES,
        help="For selection: how answers name tools; easytool: by the number of EasyTool's own prompt.",
    ),
    instructions: Path | None = typer.Option(None, help='For easytool: the instructions that were shown.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per sample there.'),
) -> None:
    """Score recorded answers, or stored trajectories with or without judgements, of one subset of ToolBench."""
    from opencompass_tooleval.cli.score_toolbench import ToolBenchRequest, score_toolbench

    answers = predictions or file
    if answers is None or (predictions and file):
        raise ValueError('say one file of answers: FILE, or --predictions FILE')
    score_toolbench(
        ToolBenchRequest(subset, answers, data, judgements, encoder, method.value, instructions, json_out, details)
    )


@score_app.command('teval')
def score_teval_command(
    subset: str = typer.Argument(help='Such as plan_json.'),
    data: Path = typer.Option(..., help="T-Eval's data file."),
    predictions: Path = typer.Option(..., help='Recorded answers: a file, or a folder of one file per record.'),
    protocol: ProtocolName | None = typer.Option(None, help='By default that of the data file.'),
    scoring: ScoringName = typer.Option(ScoringName.OFFICIAL),
    postprocessor: PostprocessorName | None = typer.Option(None, help='By default that of the protocol.'),
    encoder: str | None = typer.Option(
        None, help="'offline', a folder or a hub id; by default $TOOLEVAL_ENCODER or the official one."
    ),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per sample there.'),
) -> None:
    """Score recorded answers to one subset of T-Eval."""
    from opencompass_tooleval.cli.score import ScoreRequest, score_teval

    score_teval(
        ScoreRequest(
            subset=subset,
            data=data,
            predictions=predictions,
            protocol=protocol.value if protocol else None,
            scoring=scoring.value,
            postprocessor=postprocessor.value if postprocessor else None,
            encoder=encoder,
            json_out=json_out,
            details=details,
        )
    )


def main() -> None:
    """Runs the command; a fault of the user's data or machine ends in one line, not in a traceback."""
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s', stream=sys.stderr)
    try:
        app()
    except (DataError, EncoderMissingError, ValueError, OSError) as error:
        typer.echo(shorten(f'tooleval: {error}'), err=True)
        raise SystemExit(1) from error
