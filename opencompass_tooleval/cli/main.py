"""Entry point of ``tooleval``. A command is imported when it is called."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

import typer

from opencompass_tooleval import plugin
from opencompass_tooleval.cli.commands import Command, command_group
from opencompass_tooleval.core.errors import DataError, shorten
from opencompass_tooleval.embedding.locate import EncoderMissingError
from opencompass_tooleval.work_dir.causes import access_fix
from opencompass_tooleval.work_dir.printing import escape_unknown, keep_printable, say
from opencompass_tooleval.work_dir.trust import UntrustedError

PER_BENCHMARK = ('prepare_commands', 'score_commands')
"""Functions that return a group with one command per benchmark."""


def _group(name: str, help: str, **more: bool) -> typer.Typer:
    commands = plugin.COMMANDS[name]

    def load(command: str) -> Command:
        entry, summary, *_ = commands[command]
        if not entry:
            return _group(command, summary, add_completion=False)
        found = plugin.load(entry)
        if name == '' and command in plugin.OPTIONS:
            found = plugin.load(plugin.OPTIONS[command])(found)
        command_or_group: Command = found() if entry.endswith(PER_BENCHMARK) else found
        return command_or_group

    summaries = {command: summary for command, (_, summary, *_) in commands.items()}
    panels = {command: panel for command, (_, _, *panel_or_none) in commands.items() for panel in panel_or_none}
    return command_group(
        summaries,
        load,
        panels,
        help=help,
        pretty_exceptions_enable=False,
        **more,
    )


app = _group(
    '', 'Tool-use benchmarks for OpenCompass: T-Eval, UltraTool, EasyTool variants, RestBench, FuncQA, ToolBench.'
)


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
    quiet = 'ignore:pkg_resources is deprecated'  # from jieba, in this process and its children
    others = os.environ.get('PYTHONWARNINGS', '').removesuffix(quiet).strip(',')
    os.environ['PYTHONWARNINGS'] = ','.join(filter(None, (others, quiet)))
    warnings.filterwarnings('ignore', 'pkg_resources is deprecated')
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s', stream=sys.stderr)
    keep_printable(logging.getLogger())
    escape_unknown()
    try:
        app()
    except UntrustedError as error:
        say(f'tooleval: {error}', err=True)  # in full: what is cut would not have been shown
        raise SystemExit(1) from error
    except (RecursionError, MemoryError) as error:
        what = 'memory is used up' if isinstance(error, MemoryError) else 'a folder or file is nested too deeply'
        say(f'tooleval: {what}', err=True)
        raise SystemExit(1) from error
    except (DataError, EncoderMissingError, ValueError, OSError) as error:
        fix = access_fix(str(error)) if isinstance(error, OSError) else ''
        say(shorten(f'tooleval: {error}{"; " * bool(fix)}{fix}'), err=True)
        raise SystemExit(1) from error
