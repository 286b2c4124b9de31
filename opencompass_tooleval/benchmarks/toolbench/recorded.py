"""Scores recorded answers to ToolBench, or trajectories with or without judgements, for ``tooleval score``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from opencompass_tooleval.benchmarks.toolbench import VERSION, score_runs, success
from opencompass_tooleval.benchmarks.toolbench.build import (
    METHODS,
    Shown,
    load_queries,
    make_choices,
    make_requests,
    open_tools,
    single_tool_requests,
)
from opencompass_tooleval.benchmarks.toolbench.records import Subset, find_file, find_subset
from opencompass_tooleval.benchmarks.toolbench.score_calls import (
    breakdown,
    score_native_requests,
    score_requests,
    total,
)
from opencompass_tooleval.benchmarks.toolbench.score_selection import score_choices
from opencompass_tooleval.benchmarks.toolbench.tables import BENCHMARK
from opencompass_tooleval.benchmarks.toolbench.trajectories import load_runs
from opencompass_tooleval.catalogue.benchmark import ScoredAnswers
from opencompass_tooleval.core.calls.answer import Answer, clean
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, locate_encoder
from opencompass_tooleval.work_dir.right_subset import load_answers

TRAJECTORIES = 'trajectories'
"""Name for scores of stored runs without a judge; it is no data set of OpenCompass."""


def _score_success(
    predictions: Path, data: Path | None, judgements: Path | None, metrics: Sequence[str]
) -> ScoredAnswers:
    if judgements is None:
        raise ValueError('success is scored from judgements: give --judgements FILE')
    stored = success.load_final_answers(predictions, load_queries(data) if data else None)
    finals = [clean(Answer(one.answer, one.infra)) for one in stored]
    grading = success.SuccessGrading(stored, finals)
    fix = f'{judgements} has to judge the very answers of {predictions}'
    scores = grading.check(grading.score(grading.load(judgements)), fix)
    return ScoredAnswers(
        scores, aggregate(scores, metrics), 'success', {'version': VERSION}, {'judge': judgements.name}
    )


def _score_selection(
    predictions: Path, subset: Subset, tools: Shown, encoder: str | None, method: str
) -> ScoredAnswers:
    ids = [record.id for record in single_tool_requests(tools)]
    answers = load_answers(predictions, subset.name, BENCHMARK.subsets, ids)
    files = locate_encoder(choose_encoder(encoder, 'EN'))
    choices = make_choices(tools, subset.candidates, 0, shared_encoder(files, default_cache()))
    if method == 'easytool':
        choices = list(map(tools.numbered, choices))
    scores = score_choices(choices, answers)
    more = {'candidates_encoder': files.name, 'method': method}
    expected = find_file(subset.data).records
    return ScoredAnswers(
        scores, aggregate(scores, subset.metrics), subset.name, {'version': VERSION}, more, expected=expected
    )


def _score_calls(predictions: Path, subset: Subset, tools: Shown, method: str) -> ScoredAnswers:
    requests = make_requests(tools)
    answers = load_answers(predictions, subset.name, BENCHMARK.subsets, [request.id for request in requests])
    is_native = method == 'function_calling'
    scores = score_native_requests(requests, answers) if is_native else score_requests(requests, answers)
    more, expected = breakdown(scores), find_file(subset.data).records
    return ScoredAnswers(
        scores, total(scores, subset.metrics), subset.name, {'version': VERSION}, more, expected=expected
    )


def _score_runs(predictions: Path) -> ScoredAnswers:
    runs = load_runs(predictions)
    scores = score_runs.score_runs(runs)
    more = {'methods': sorted({run.method for run in runs}), **score_runs.breakdown(scores)}
    unscored = more['unscored_calls']
    about = (
        f'{more["calls"]} calls, {more["mean_calls"]:.2f} per run; {more["mean_steps"]:.2f} steps per run as the file '
        f'counts them; methods: {", ".join(more["methods"])}'
    )
    note = (
        f'the tools of {unscored} calls were retrieved, and the file does not say which ones were chosen from: name '
        'and parameter errors are not known'
    )
    return ScoredAnswers(
        scores,
        score_runs.total(scores),
        TRAJECTORIES,
        {'version': VERSION},
        more,
        counts=('codes', 'error_responses'),
        lines=[about],
        notes=[note] if unscored else [],
    )


def score(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, 'The test file; for success where trajectories lack their request.'] = None,
    judgements: Annotated[Path | None, 'For success: what the judge said.'] = None,
    encoder: Annotated[
        str | None, "For selection: 'offline', a folder or a hub id; the one that found the candidates."
    ] = None,
    method: Annotated[
        Literal['names', 'easytool', 'function_calling'],
        "How answers name tools; easytool, for selection: by the number of EasyTool's own prompt; function_calling, "
        'for calls: by native calls.',
    ] = 'names',
    instructions: Annotated[Path | None, 'For easytool: the instructions that were shown.'] = None,
) -> ScoredAnswers:
    """Scores recorded answers; for ``success`` and ``trajectories`` stored trajectories, such as ToolBench's .json.gz.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        EncoderMissingError: The encoder is not on this machine.
        UnjudgedError: More than 1% of the judgements are missing.
        ValueError: The options conflict with the subset, or name something that does not exist.
    """
    if subset == TRAJECTORIES:
        if data is not None or judgements is not None:
            raise ValueError('trajectories are scored by themselves: leave --data and --judgements out')
        return _score_runs(predictions)
    row = find_subset(subset)
    if row.kind == 'success':
        return _score_success(predictions, data, judgements, row.metrics)
    if data is None:
        raise ValueError(f'{subset} needs the test file: give --data FILE')
    if judgements is not None:
        raise ValueError(f'{subset} is scored without a judge: leave --judgements out')
    if method not in METHODS[row.kind]:
        raise ValueError(f'{subset} has methods {" and ".join(METHODS[row.kind])}, not {method!r}')
    tools = open_tools(data, row.data, instructions)
    if row.kind == 'selection':
        return _score_selection(predictions, row, tools, encoder, method)
    return _score_calls(predictions, row, tools, method)
