"""Entry point of ``tooleval``. Each command imports what it needs when it is called."""

from __future__ import annotations

import logging
import sys
from enum import Enum
from pathlib import Path

import typer

from opencompass_tooleval.cli.sweep import add_commands
from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.embedding.locate import EncoderMissingError

app = typer.Typer(
    help='Tool-use benchmarks for OpenCompass: T-Eval, UltraTool, EasyTool variants, RestBench, FuncQA, ToolBench.',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
prepare_app = typer.Typer(help='Fetch and verify benchmark data.', no_args_is_help=True)
score_app = typer.Typer(help='Score recorded answers, without OpenCompass or a GPU.', no_args_is_help=True)
app.add_typer(prepare_app, name='prepare')
app.add_typer(score_app, name='score')
build_app = typer.Typer(help='Build benchmark data from annotated samples.', no_args_is_help=True)
app.add_typer(build_app, name='build')
add_commands(app)
easytool_app = typer.Typer(help='Concise tool instructions: make them, measure them.', no_args_is_help=True)
app.add_typer(easytool_app, name='easytool')


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


@app.command('list')
def list_command() -> None:
    """Benchmarks, subsets, published counts, and what is on disk."""
    from opencompass_tooleval.cli.listing import show_list

    show_list()


@app.command()
def doctor() -> None:
    """Check versions, registry, data and encoder; exits with 1 on a fault."""
    from opencompass_tooleval.cli.doctor import run_doctor

    raise typer.Exit(run_doctor())


@app.command('config-dir')
def config_dir() -> None:
    """Print the folder of our configs, for ``opencompass --config-dir``."""
    import opencompass_tooleval

    typer.echo(Path(opencompass_tooleval.__file__).parent / 'configs')


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


@build_app.command('ultratool')
def build_ultratool_command(
    source: Path = typer.Option(..., '--from', help='Annotated samples: test.json or dev.json.'),
    out: Path = typer.Option(..., '--out', '-o', help='Folder for the built files.'),
    toolset_size: int = typer.Option(8, help='Tools that each step chooses from.'),
    seed: int = typer.Option(0, help='Decides which distractors are drawn.'),
    tasks: list[str] | None = typer.Option(None, help='By default all six.'),
    official: Path | None = typer.Option(None, help="Folder with the authors' files, to compare with and to repair."),
    skip_damaged: bool = typer.Option(False, help='Name damaged samples and go on without them.'),
) -> None:
    """Build UltraTool's six tasks from annotated samples."""
    from opencompass_tooleval.cli.build_ultratool import build_ultratool

    raise typer.Exit(
        build_ultratool(
            source,
            out,
            toolset_size=toolset_size,
            seed=seed,
            tasks=tasks,
            official=official,
            skip_damaged=skip_damaged,
        )
    )


@app.command('agreement')
def agreement_command(
    first: Path = typer.Argument(help="A file of judgements, ours or the authors'."),
    second: Path = typer.Argument(help='Another, of people or of a model.'),
    task: str = typer.Option('planning', help='planning or tool_creation.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
) -> None:
    """Correlate two sets of judgements of UltraTool, dimension by dimension."""
    from opencompass_tooleval.cli.agreement import agreement

    agreement(task, first, second, json_out)


@easytool_app.command('generate')
def easytool_generate_command(
    source: str = typer.Option(..., help='Kind of documentation: openapi, toolbench, teval, ...'),
    input_: Path = typer.Option(..., '--input', help='The documentation.'),
    model: str = typer.Option(..., help="A config with models, the first of which is asked; or 'template': by rule."),
    out: Path = typer.Option(..., '--out', '-o', help='The file of instructions; unfinished work is kept beside it.'),
    prompt: str = typer.Option('paper', help="The paper's prompt (Table 2), or 1, 2 or 3 of its Appendix C."),
    batch_size: int | None = typer.Option(None, min=1, help="By default the config's, or 64."),
    max_out_len: int | None = typer.Option(None, min=1, help="Tokens per answer; by default the config's, or 1024."),
    shape: str = typer.Option('toolbench', help='toolbench; restbench and funcqa hold tools of one function.'),
    json_out: str | None = typer.Option(None, '--json', help='Write the report there; - for standard output.'),
) -> None:
    """Make concise instructions from documentation; run it again to go on after a kill."""
    from opencompass_tooleval.cli.easytool_generate import easytool_generate

    status = easytool_generate(
        source,
        input_,
        model,
        out,
        prompt=prompt,
        batch_size=batch_size,
        max_out_len=max_out_len,
        shape=shape,
        json_out=json_out,
    )
    raise typer.Exit(status)


@easytool_app.command('stats')
def easytool_stats_command(
    source: str = typer.Option(..., help='Kind of documentation: openapi, toolbench, teval, ...'),
    input_: Path = typer.Option(..., '--input', help='The documentation.'),
    instructions: Path = typer.Option(..., help='The instructions of its tools.'),
    tokenizer: str = typer.Option(
        'cl100k_base', help='A folder with a Hugging Face tokenizer, cl100k_base, or offline.'
    ),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
) -> None:
    """Count tokens before and after, per tool and in all."""
    from opencompass_tooleval.cli.easytool_stats import easytool_stats

    easytool_stats(source, input_, instructions, tokenizer, json_out)


@easytool_app.command('retrieval')
def easytool_retrieval_command(
    subset: str = typer.Argument(help='G1, G2 or G3.'),
    data: Path = typer.Option(..., help="ToolBench's test file."),
    instructions: Path | None = typer.Option(None, help='Instructions of its tools; without, documentation only.'),
    unit: str = typer.Option('api', help='What is searched for: api or tool.'),
    fields: str = typer.Option('description', help='What is searched in: description, or full for all there is.'),
    encoder: str | None = typer.Option(
        None, help="'offline', a folder or a hub id; by default $TOOLEVAL_ENCODER or T-Eval's."
    ),
    json_out: str | None = typer.Option(None, '--json', help='Write the result there; - for standard output.'),
    details: Path | None = typer.Option(None, help='Write one JSON line per request and corpus there.'),
) -> None:
    """How well tools are found by documentation and by instructions: NDCG, side by side."""
    from opencompass_tooleval.cli.easytool_retrieval import RetrievalRequest, easytool_retrieval

    easytool_retrieval(RetrievalRequest(subset, data, instructions, unit, fields, encoder, json_out, details))


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


@app.command('prompts')
def prompts_command(
    benchmark: str = typer.Argument(help='teval, ultratool, restbench, funcqa or toolbench.'),
    subset: str = typer.Argument(help='Such as plan_json.'),
    language: str | None = typer.Option(None, help="en or zh; by default the data file's, or en; UltraTool: zh."),
    data: str | None = typer.Option(None, help='The data file, or its folder; by default where the package looks.'),
    instructions: str | None = typer.Option(None, help='A file of EasyTool instructions, in place of documentation.'),
    version: str | None = typer.Option(None, help="T-Eval: v1, v2 or v2_subset; by default the data file's, or v2."),
    method: str | None = typer.Option(
        None, help="FuncQA's; easytool: RestBench, ToolBench's selection; UltraTool's preset."
    ),
    limit: int | None = typer.Option(None, min=1, help='So many records from the first.'),
    json_out: str | None = typer.Option(None, '--json', help='Write JSON lines there; - for standard output.'),
) -> None:
    """Show the messages that a model is sent, record by record; of dialogues the first turn."""
    from opencompass_tooleval.cli.prompts import PromptsRequest, show_prompts

    show_prompts(PromptsRequest(benchmark, subset, language, data, instructions, version, method, limit, json_out))


def main() -> None:
    """Runs the command; a fault of the user's data or machine ends in one line, not in a traceback."""
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s', stream=sys.stderr)
    try:
        app()
    except (DataError, EncoderMissingError, ValueError, OSError) as error:
        typer.echo(shorten(f'tooleval: {error}'), err=True)
        raise SystemExit(1) from error
