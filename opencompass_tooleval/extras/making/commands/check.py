"""``tooleval make check``: what a made set is worth, gate by gate."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opencompass_tooleval.cli.options import JsonOption, TrustOption
from opencompass_tooleval.cli.output import (
    STDOUT,
    check_outputs,
    counts_line,
    naming_model_faults,
    trust_first,
    write_outputs,
)
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.extras.options import MadeSetArgument
from opencompass_tooleval.work_dir.printing import say

if TYPE_CHECKING:
    from opencompass_tooleval.core.scoring.similarity import Similarity
    from opencompass_tooleval.extras.making.check import Checked

_MOST_FAULTS = 10


def check_made_set(
    folder: MadeSetArgument,
    model: Annotated[
        Path | None, typer.Option(metavar='CONFIG', help='A config; its first model is the strong one.')
    ] = None,
    weak: Annotated[
        Path | None, typer.Option(metavar='CONFIG', help='A config; its first model is the weak one.')
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help='Runs of each model on each task.')] = 4,
    trust: TrustOption = False,
    json_out: JsonOption = None,
) -> int:
    """Prints the tools of a set with their failures, and measures its gates. After a kill the same command goes on.

    Returns:
        0; 1 if a value is beyond its threshold, or if a model gave no answer. Any other gate that could not run does
        not count as passed or failed.

    Raises:
        DataError: The set or a config is missing or damaged.
        UntrustedError: Somebody else made the set, and it starts a server.
        ServerError: The server of the set cannot be started.
        OSError: The file cannot be written.
    """
    from opencompass_tooleval.extras.making.adapter import find_set
    from opencompass_tooleval.extras.making.check import JOURNAL_FOLDER, UNANSWERED, Models, check_set
    from opencompass_tooleval.extras.making.gates import FAILED
    from opencompass_tooleval.instructions.generation import load_model_cfg
    from opencompass_tooleval.judging.judge import tell_only_warnings

    check_outputs(json_out, None)
    tell_only_warnings()
    made = find_set(str(folder.absolute()))
    trust_first(made.trustee, trust)
    made.trusted_environment()  # before anything is paid for
    cfgs = [load_model_cfg(path) if path else None for path in (model, weak)]
    with naming_model_faults(model or folder, made.folder / JOURNAL_FOLDER):
        found = check_set(made, Models(cfgs[0], cfgs[1], trials), _similarity())
    rows = {'tools': [asdict(row) for row in found.tools], 'gates': [gate.to_row() for gate in found.gates]}
    write_outputs({'name': made.name, 'tasks': len(made.tasks), **rows}, (), json_out, None)
    if json_out != STDOUT:
        _show(made.name, found)
    return int(any(gate.status == FAILED or gate.why.startswith(UNANSWERED) for gate in found.gates))


def _similarity() -> Similarity:
    """The encoder that is installed with its weights; without it, equal texts."""
    from opencompass_tooleval.core.scoring.similarity import ExactSimilarity
    from opencompass_tooleval.embedding.cache import default_cache
    from opencompass_tooleval.embedding.encoder import shared_encoder
    from opencompass_tooleval.embedding.locate import OFFLINE, EncoderMissingError, locate_encoder

    try:
        return shared_encoder(locate_encoder(OFFLINE), default_cache())
    except EncoderMissingError:
        return ExactSimilarity()


def _show(name: str, found: Checked) -> None:
    from opencompass_tooleval.extras.making.gates import FAILED, NOT_RUN, PASSED, SHOWN
    from opencompass_tooleval.extras.making.tool_table import table_lines

    say(f'{name}: the tools, by the making of the set and this check')
    for line in (*table_lines(found.tools), ''):
        say(line)
    for gate in found.gates:
        value = gate.name if gate.status == NOT_RUN else f'{gate.name}: {gate.shown}'
        threshold = f' [{gate.threshold}]' if gate.status in (PASSED, FAILED) else ''
        why = f': {gate.why}' if gate.status in (FAILED, NOT_RUN) else ''
        say(f'{"" if gate.status == SHOWN else gate.status:<7}  {value}{threshold}{why}')
        if gate.faults:
            faults = [shorten(f'{task}: {fault}', 200) for task, fault in gate.faults.items()]
            say(f'{"":<9}{first_of(faults, _MOST_FAULTS)}')
    say(counts_line('gates', Counter(gate.status for gate in found.gates if gate.threshold)))
