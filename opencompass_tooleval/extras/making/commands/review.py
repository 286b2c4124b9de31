"""``tooleval make review`` writes the page of a review; ``tooleval make apply`` carries out its decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import JsonOption, TrustOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, trust_first, write_outputs
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.extras.making.decisions import ACCEPT, DROP, EDIT, Kappa, carry_out, read_decisions
from opencompass_tooleval.extras.making.made_set import load_set
from opencompass_tooleval.extras.making.review_page import PAGE_FILE, write_page
from opencompass_tooleval.extras.options import MadeSetArgument
from opencompass_tooleval.work_dir.printing import Screen


def write_review(
    folder: MadeSetArgument,
    out: Annotated[
        Path | None, typer.Option('--out', '-o', metavar='PAGE', help='The page; by default DIR/review.html.')
    ] = None,
) -> None:
    """Writes the page of a review and prints its path.

    Raises:
        DataError: The set is damaged.
        OSError: The page cannot be written.
    """
    page = out or folder / PAGE_FILE
    write_page(load_set(folder), page)
    console = Screen()
    for line in (f'review: {page}', f'then: tooleval make apply {folder} DECISIONS.json'):
        console.print(line, soft_wrap=True)


def apply_decisions(
    folder: MadeSetArgument,
    decisions: Annotated[
        list[Path], typer.Argument(metavar='DECISIONS', help='Files that the page saved, one per reviewer.')
    ],
    trust: TrustOption = False,
    json_out: JsonOption = None,
) -> int:
    """Carries out decisions and writes the files of the set again; returns 1 if reviewers disagree, else 0.

    Raises:
        DataError: The set or a decisions file is damaged, or they do not belong together; nothing is changed.
        UntrustedError: Somebody else made the set, and it starts a server.
        ValueError: Two files are by one reviewer.
        OSError: A file cannot be written.
    """
    from opencompass_tooleval.extras.making.outputs import write_outputs as write_set_outputs

    check_outputs(json_out, None)
    made = load_set(folder)
    trust_first(made.trustee, trust)
    made.trusted_environment()  # its server is written into a config
    outcome = carry_out(made, [read_decisions(file, made) for file in decisions])
    outcome.made.write()
    write_set_outputs(outcome.made)
    kept_apart = [*outcome.disagreements, *outcome.other_texts]
    result = {
        'set': made.name,
        'accepted': outcome.counts[ACCEPT],
        'edited': outcome.counts[EDIT],
        'dropped': outcome.counts[DROP],
        'undecided': outcome.undecided,
        'disagreements': list(outcome.disagreements),
        'other_texts': list(outcome.other_texts),
        'kappas': [
            {'reviewers': list(kappa.reviewers), 'tasks': kappa.tasks, 'kappa': kappa.value} for kappa in outcome.kappas
        ],
    }
    write_outputs(result, (), json_out, None)
    if json_out != STDOUT:
        counts = ', '.join(f'{name} {result[name]}' for name in ('accepted', 'edited', 'dropped', 'undecided'))
        lines = [f'{made.name}: {counts}', *map(_kappa_line, outcome.kappas)]
        if outcome.disagreements:
            lines.append(f'disagreements, left undecided: {first_of(outcome.disagreements, len(kept_apart))}')
        if outcome.other_texts:
            lines.append(f'kept with different texts, left undecided: {first_of(outcome.other_texts, len(kept_apart))}')
        console = Screen()
        for line in lines:
            console.print(line, soft_wrap=True)
    return int(bool(kept_apart))


def _kappa_line(kappa: Kappa) -> str:
    value = 'not defined' if kappa.value is None else f'{kappa.value:.3f}'
    return f"Cohen's kappa of {' and '.join(kappa.reviewers)}: {value} on {kappa.tasks} tasks that both decided"
