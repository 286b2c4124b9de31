"""Command groups that import a command only when it is called, so that ``tooleval --help`` imports none.

A command is a function: its parameters are the command's arguments and options, each declared once, by its type, its
default and ``Annotated[type, typer.Option(help=...)]``. It returns the exit status, or None for 0. An option whose type
is a list is given once for each value: ``--from A --from B``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

Command = Callable[..., int | None] | typer.Typer


def _with_exit_status(function: Callable[..., int | None]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        raise typer.Exit(function(*arguments, **options) or 0)

    return run


def command_group(
    summaries: Mapping[str, str],
    load: Callable[[str], Command],
    panels: Mapping[str, str] | None = None,
    **settings: Any,
) -> typer.Typer:
    """Builds a group of commands.

    Args:
        summaries: Name of a command -> its help; in the order of the help.
        load: Name -> the function, or a group of commands; called when the command is called.
        panels: Command -> its panel in the help, in the order of the panels; None for one panel.
        **settings: Settings of :class:`typer.Typer`.
    """

    class Group(TyperGroup):
        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, command, rest = super().resolve_command(ctx, args)
            if name is None:
                return name, command, rest
            loaded = load(name)
            if not isinstance(loaded, typer.Typer):
                alone = typer.Typer(add_completion=False)
                alone.command(name, help=summaries[name])(_with_exit_status(loaded))
                loaded = alone
            return name, get_command(loaded), rest

    app = typer.Typer(cls=Group, no_args_is_help=True, **settings)
    app.callback()(lambda: None)  # without one, Typer takes a group of one command for that command
    for name, summary in summaries.items():
        app.command(name, help=summary, rich_help_panel=(panels or {}).get(name))(
            lambda: None
        )  # stands for the command in the help
    return app
