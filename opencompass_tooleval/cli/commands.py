"""Command groups that import a command only when it is called, so that ``tooleval --help`` imports none.

A command is a function: its parameters are the command's arguments and options, each declared once, by its type, its
default and ``Annotated[type, typer.Option(help=...)]``. It returns the exit status, or None for 0. An option whose type
is a list takes its values in a row, too: ``--from A B`` is ``--from A --from B``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

Command = Callable[..., int | None] | typer.Typer


def _with_exit_status(function: Callable[..., int | None]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        raise typer.Exit(function(*arguments, **options) or 0)

    return run


def _repeat_options(parameters: Sequence[Any], words: Sequence[str]) -> list[str]:
    """Writes the option before each of its values: ``--from A B`` becomes ``--from A --from B``.

    Required arguments take precedence: in ``--model A B`` the last word is ``WORK_DIR`` if no other word can be.
    """
    with_value = {
        name: option.multiple
        for option in parameters
        if option.param_type_name == 'option' and not option.is_flag
        for name in option.opts
    }
    places = sum(argument.required for argument in parameters if argument.param_type_name == 'argument')
    spread: list[tuple[str | None, str]] = []  # the option whose further value a word may be, and the word
    repeated: str | None = None
    left = list(words)
    while left and left[0] != '--':
        word = left.pop(0)
        if word.startswith('-') and word != '-':
            option, _, value = word.partition('=')
            spread.append((None, word))
            repeated = option if with_value.get(option) else None
            if option in with_value and not value and left:
                spread.append((None, left.pop(0)))
        else:
            spread.append((repeated, word))
            places -= repeated is None
    further = [place for place, (option, _) in enumerate(spread) if option]
    values = set(further[: len(further) - max(places, 0)])
    repeats = (([str(option)] if place in values else []) + [word] for place, (option, word) in enumerate(spread))
    return [word for words_ in repeats for word in words_] + left


class ListOptionsCommand(TyperCommand):
    """A command whose list options accept several values in a row."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the command line."""
        return super().parse_args(ctx, _repeat_options(self.get_params(ctx), args))


def command_group(
    summaries: Mapping[str, str],
    load: Callable[[str], Command],
    default: str = '',
    takes_words: bool = False,
    **settings: Any,
) -> typer.Typer:
    """Builds a group of commands.

    Args:
        summaries: Name of a command -> its help; in the order of the help.
        load: Name -> the function, or a group of commands; called when the command is.
        default: The command that options directly after the group's name belong to; ``''`` for none.
        takes_words: True if words that name no command belong to it too.
        **settings: Of :class:`typer.Typer`.
    """

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            is_option = bool(default and args) and args[0].startswith('-') and args[0] != '--help'
            is_word = bool(takes_words and args) and not args[0].startswith('-') and args[0] not in summaries
            return super().parse_args(ctx, [default, *args] if is_option or is_word else args)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, command, rest = super().resolve_command(ctx, args)
            if name is None:
                return name, command, rest
            loaded = load(name)
            if not isinstance(loaded, typer.Typer):
                alone = typer.Typer(add_completion=False)
                alone.command(name, help=summaries[name], cls=ListOptionsCommand)(_with_exit_status(loaded))
                loaded = alone
            return name, get_command(loaded), rest

    app = typer.Typer(cls=Group, no_args_is_help=True, **settings)
    app.callback()(lambda: None)  # without one, Typer takes a group of one command for that command
    for name, summary in summaries.items():
        app.command(name, help=summary)(lambda: None)  # stands for the command in the help
    return app
