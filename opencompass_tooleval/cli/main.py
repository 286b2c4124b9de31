"""Entry point of ``tooleval``. A command is imported when it is called."""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path

import typer

from opencompass_tooleval.cli.commands import Command, command_group
from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.embedding.locate import EncoderMissingError
from opencompass_tooleval.work_dir.printing import keep_printable, say
from opencompass_tooleval.work_dir.trust import UntrustedError

COMMANDS = {
    'list': ('listing:show_list', 'Benchmarks, subsets, published counts, and what is on disk.'),
    'doctor': ('doctor:run_doctor', 'Check this machine, or with --endpoint a server; exits with 1 on a fault.'),
    'demo': ('report:run_demo', 'Run everything on shipped records, without a model: a leaderboard and a report.'),
    'config-dir': ('main:print_config_dir', 'Print the folder of our configs, for opencompass --config-dir.'),
    'prepare': ('prepare:prepare_commands', 'Fetch and verify benchmark data.'),
    'score': ('score:score_commands', 'Score recorded answers, without OpenCompass or a GPU.'),
    'prompts': ('prompts:show_prompts', 'Show the messages that a model is sent; of dialogues the first turn.'),
    'agreement': ('agreement:agreement', 'Correlate two sets of judgements of UltraTool, dimension by dimension.'),
    'plan': (
        'plan:show_plan',
        'What a config would run (jobs, samples, tokens), and what would stop it.',
    ),
    'status': ('status:show_status', 'How far a sweep is, what failed and why; exits with 1 on a failure.'),
    'retry': ('retry:retry_sweep', 'Ask again only what got no answer through no fault of the model.'),
    'compare': ('compare:compare_models', 'Two models side by side, with 95% intervals, and where they differ.'),
    'gate': ('gate:run_gate', 'Fail a build if a run dropped below a baseline; exits with 0, 1, or 2.'),
    'export': ('exchange:export_run', 'Write a run to files to publish, or for another program.'),
    'import': ('main:import_app', 'Make a run of published predictions, or of recorded conversations, to score it.'),
    'report': ('report:show_report', 'Write pages to look at, from disk: scores, charts, samples.'),
    'leaderboard': ('main:leaderboard_app', 'A leaderboard as a static site, from bundles of results.'),
    'build': ('main:build_app', 'Build benchmark data from annotated samples.'),
    'easytool': ('main:easytool_app', 'Concise tool instructions: make them, measure them.'),
    'make': ('main:make_app', 'Make a benchmark from your own tools, check it, review it.'),
    'agents': ('main:agents_app', 'What answers the calls of agents, and who judges their answers.'),
}
"""Name of a command -> module and function (or group of commands) in this package, and its help."""

PER_BENCHMARK = ('prepare_commands', 'score_commands')
"""Functions that return a group with one command per benchmark."""

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

LEADERBOARD = {
    'build': ('leaderboard:build_site', 'Write the site; exits with 1 where a bundle is left out.'),
    'add': ('leaderboard:add_bundles', 'Check bundles and copy them into a folder, where none is ever changed.'),
}

IMPORT = {
    'predictions': ('exchange:import_run', 'Make a run of what tooleval export wrote; the name may be left out.'),
    'traces': (
        'import_traces:import_traces',
        'Make tasks, runs and a bank of recorded conversations: chat logs, Inspect, OpenTelemetry.',
    ),
}

MAKE = {
    'tasks': ('make_tasks:make_tasks', 'Have tasks written and solved by models; run it again to go on after a kill.'),
    'check': ('make_check:check_made_set', 'What a made set is worth; exits with 1 where a threshold is missed.'),
    'improve': (
        'make_improve:improve_made_set',
        'Rewrite documentation from one half of a set, and measure it on the other.',
    ),
    'review': ('make_review:write_review', 'Write a page on which a person accepts, edits or drops tasks.'),
    'apply': ('make_review:apply_decisions', 'Carry out the decisions of one or more reviewers.'),
}

AGENTS = {
    'bank': ('main:bank_app', 'Recorded responses: make a bank of them, measure it.'),
    'judge': (
        'agents_judge:judge_agents',
        "Have recorded answers judged by ToolBench's rules; run it again to go on.",
    ),
}

BANK = {
    'build': ('agents_bank:build_bank', 'Make a response bank of T-Eval data, stored runs and caches.'),
    'record': ('agents_bank_mcp:record_bank', 'Record what a live MCP server answers.'),
    'serve': ('agents_bank_mcp:serve_bank', 'Be an MCP server that answers from a bank.'),
    'stats': ('agents_bank:bank_stats', 'What is in a bank; with --data, what of the gold calls it answers.'),
}


def _group(
    table: dict[str, tuple[str, str]], help: str, default: str = '', takes_words: bool = False, **more: bool
) -> typer.Typer:
    def load(name: str) -> Command:
        module, _, function = table[name][0].partition(':')
        command = getattr(importlib.import_module(f'opencompass_tooleval.cli.{module}'), function)
        command_or_group: Command = command() if function in PER_BENCHMARK else command
        return command_or_group

    summaries = {name: summary for name, (_, summary) in table.items()}
    return command_group(summaries, load, default, takes_words, help=help, pretty_exceptions_enable=False, **more)


app = _group(
    COMMANDS, 'Tool-use benchmarks for OpenCompass: T-Eval, UltraTool, EasyTool variants, RestBench, FuncQA, ToolBench.'
)
build_app = _group(BUILD, COMMANDS['build'][1], add_completion=False)
easytool_app = _group(EASYTOOL, COMMANDS['easytool'][1], add_completion=False)
leaderboard_app = _group(LEADERBOARD, COMMANDS['leaderboard'][1], add_completion=False)
import_app = _group(IMPORT, COMMANDS['import'][1], 'predictions', True, add_completion=False)
make_app = _group(MAKE, COMMANDS['make'][1], 'tasks', add_completion=False)
agents_app = _group(AGENTS, COMMANDS['agents'][1], add_completion=False)
bank_app = _group(BANK, AGENTS['bank'][1], add_completion=False)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        say(f'opencompass-tooleval {version("opencompass-tooleval")}')
        raise typer.Exit


@app.callback()
def main_options(
    version: bool = typer.Option(False, '--version', callback=_show_version, is_eager=True, help='Print the version.'),
) -> None:
    """Declares the options of ``tooleval`` itself."""


def print_config_dir() -> None:
    """Prints the folder of the package's configs."""
    say(Path(__file__).resolve().parent.parent / 'configs')


def main() -> None:
    """Runs the command; a fault in the user's data or machine prints one line instead of a traceback."""
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s', stream=sys.stderr)
    keep_printable(logging.getLogger())
    try:
        app()
    except UntrustedError as error:
        say(f'tooleval: {error}', err=True)  # in full: what is cut would not have been shown
        raise SystemExit(1) from error
    except (DataError, EncoderMissingError, ValueError, OSError) as error:
        say(shorten(f'tooleval: {error}'), err=True)
        raise SystemExit(1) from error
