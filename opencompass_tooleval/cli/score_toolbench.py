"""``tooleval score toolbench``: recorded answers, or trajectories and judgements, to numbers, without OpenCompass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.cli.right_subset import check_name, warn_if_unread
from opencompass_tooleval.core.aggregate import Aggregate, aggregate
from opencompass_tooleval.core.answer import Answer, clean
from opencompass_tooleval.core.result import SampleScore
from opencompass_tooleval.easytool.toolbench import VERSION, score_runs, success
from opencompass_tooleval.easytool.toolbench.build import load_queries, make_choices, make_requests, open_tools
from opencompass_tooleval.easytool.toolbench.records import TABLE, Subset, find_file, find_subset
from opencompass_tooleval.easytool.toolbench.score_calls import breakdown, score_requests, total
from opencompass_tooleval.easytool.toolbench.score_selection import score_choices
from opencompass_tooleval.easytool.toolbench.trajectories import load_runs
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, locate_encoder
from opencompass_tooleval.sweep.judgement_files import judged_answers
from opencompass_tooleval.sweep.recorded import load_recorded

TRAJECTORIES = 'trajectories'
"""What stored runs say without a judge; no data set of OpenCompass."""


@dataclass(frozen=True)
class ToolBenchRequest:
    """What ``tooleval score toolbench`` was asked; the fields are its options.

    Attributes:
        subset: Name of the subset, such as ``selection_5``, or ``trajectories``.
        predictions: Recorded answers; for ``success`` and ``trajectories`` stored trajectories.
        data: The test file; for ``success`` only where trajectories do not say their request.
        judgements: For ``success``: what the judge said.
        encoder: For selection: what finds the other candidates.
        method: For selection: ``names``, or ``easytool``: the answers choose tools by number.
        instructions: For ``easytool``: where the numbers are; None where documentation was shown.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per sample.
    """

    subset: str
    predictions: Path
    data: Path | None = None
    judgements: Path | None = None
    encoder: str | None = None
    method: str = 'names'
    instructions: Path | None = None
    json_out: str | None = None
    details: Path | None = None


@dataclass(frozen=True)
class _Scored:
    scores: Sequence[SampleScore]
    total: Aggregate
    more: dict[str, Any]
    expected: int | None = None


def _answers(predictions: Path, subset: Subset, ids: Sequence[str]) -> list[Answer]:
    recorded = load_recorded(predictions)
    recorded.check_complete(ids)
    check_name(predictions, subset.name, [row.name for row in TABLE], recorded=recorded)
    return [recorded.answer(record_id, position) for position, record_id in enumerate(ids)]


def _score_success(request: ToolBenchRequest, subset: Subset) -> _Scored:
    if request.judgements is None:
        raise ValueError('success is scored from judgements: say --judgements FILE')
    trajectories = success.load_trajectories(request.predictions, load_queries(request.data) if request.data else None)
    finals = [clean(Answer(one.answer, one.infra)) for one in trajectories]
    judgements = success.load_judgements(request.judgements)
    if any(map(success.is_silent, judgements)):
        judgements = success.with_answers(
            judgements, judged_answers(request.judgements, [trajectory.id for trajectory in trajectories])
        )
    mend = f'{request.judgements} has to judge the very answers of {request.predictions}'
    scores = success.score_trajectories(trajectories, finals, judgements, mend)
    return _Scored(scores, aggregate(scores, subset.metrics), {'judge': request.judgements.name})


def _score_answers(request: ToolBenchRequest, subset: Subset) -> _Scored:
    if request.data is None:
        raise ValueError(f'{subset.name} needs the test file: say --data FILE')
    if request.judgements is not None:
        raise ValueError(f'{subset.name} is scored without a judge: leave --judgements out')
    if request.method != 'names' and subset.kind != 'selection':
        raise ValueError(f'{subset.name} has no method {request.method!r}: only selection has')
    tools = open_tools(request.data, subset.data, request.instructions)
    if subset.kind == 'selection':
        files = locate_encoder(choose_encoder(request.encoder, 'EN'))
        choices = make_choices(tools, subset.candidates, 0, shared_encoder(files, default_cache()))
        if request.method == 'easytool':
            choices = list(map(tools.numbered, choices))
        scores = score_choices(choices, _answers(request.predictions, subset, [choice.id for choice in choices]))
        more = {'candidates_encoder': files.name, 'method': request.method}
        warn_if_unread(scores, request.predictions, subset.name)
        return _Scored(scores, aggregate(scores, subset.metrics), more, find_file(subset.data).records)
    requests = make_requests(tools)
    of_calls = score_requests(requests, _answers(request.predictions, subset, [one.id for one in requests]))
    warn_if_unread(of_calls, request.predictions, subset.name)
    expected = find_file(subset.data).records
    return _Scored(of_calls, total(of_calls, subset.metrics), breakdown(of_calls), expected)


def _score_trajectories(request: ToolBenchRequest) -> _Scored:
    if request.data is not None or request.judgements is not None:
        raise ValueError('trajectories are scored by themselves: leave --data and --judgements out')
    runs = load_runs(request.predictions)
    scores = score_runs.score_runs(runs)
    methods = sorted({run.method for run in runs})
    return _Scored(scores, score_runs.total(scores), {'methods': methods, **score_runs.breakdown(scores)})


def _print_trajectories(more: dict[str, Any], console: Console) -> None:
    console.print(
        f'{more["calls"]} calls, {more["mean_calls"]:.2f} per run; {more["mean_steps"]:.2f} steps per run as the file '
        f'counts them; methods: {", ".join(more["methods"])}',
        markup=False,
    )
    console.print(counts_line('codes', more['codes']), markup=False)
    console.print(counts_line('error responses', more['error_responses']), markup=False)
    if more['unscored_calls']:
        console.print(
            f'NOTE the tools of {more["unscored_calls"]} calls were retrieved, and the file does not say which ones '
            'were chosen from: name and parameter errors are not known',
            markup=False,
        )


def score_toolbench(request: ToolBenchRequest) -> None:
    """Scores recorded answers and prints or writes what was asked for.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        EncoderMissingError: The encoder is not on this machine.
        UnjudgedError: More than 1% could not be judged.
        ValueError: The options do not fit the subset, or name what does not exist.
    """
    check_outputs(request.json_out, request.details)
    if request.subset == TRAJECTORIES:
        scored = _score_trajectories(request)
    else:
        subset = find_subset(request.subset)
        scored = (_score_success if subset.kind == 'success' else _score_answers)(request, subset)
    result = {
        'benchmark': 'toolbench',
        'subset': request.subset,
        'version': VERSION,
        'samples': scored.total.samples,
        'metrics': scored.total.metrics,
        'standard_errors': scored.total.standard_errors,
        'reasons': scored.total.reasons,
        **scored.more,
    }
    write_outputs(result, scored.scores, request.json_out, request.details)
    if request.json_out == STDOUT:
        return
    console = Console()
    print_metrics(f'ToolBench {request.subset}, {len(scored.scores)} samples', result, console)
    console.print(counts_line('reasons', scored.total.reasons), markup=False)
    if request.subset == TRAJECTORIES:
        _print_trajectories(scored.more, console)
    if scored.expected not in (None, len(scored.scores)):
        console.print(f'NOTE {len(scored.scores)} samples of {scored.expected}: not the published file', markup=False)
