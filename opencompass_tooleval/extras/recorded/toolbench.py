"""Reads recorded answers to ToolBench, or trajectories with or without judgements, for ``tooleval score``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from opencompass_tooleval.benchmarks.toolbench.data import (
    TABLE,
    Subset,
    find_file,
    find_subset,
    load_final_answers,
    load_queries,
    read_runs,
)
from opencompass_tooleval.benchmarks.toolbench.prompts import (
    Shown,
    make_choices,
    make_requests,
    open_tools,
    single_tool_requests,
)
from opencompass_tooleval.benchmarks.toolbench.scoring import (
    TRAJECTORIES,
    NativeCallsScorer,
    RunsScorer,
    SuccessScorer,
    ToolBenchScorer,
)
from opencompass_tooleval.benchmarks.toolbench.tables import METHODS
from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, default_cache, locate_encoder
from opencompass_tooleval.extras.recorded.right_subset import load_answers


def _read_success(predictions: Path, data: Path | None, judgements: Path | None) -> RecordedRun:
    if judgements is None:
        raise ValueError('success is scored from judgements: add --judgements FILE')
    stored = load_final_answers(predictions, load_queries(data) if data else None)
    scorer = SuccessScorer()
    scorer.file, scorer.fix = judgements, f'{judgements} must judge exactly the answers in {predictions}'
    return RecordedRun(
        scorer,
        stored,
        {one.id: Answer(one.answer, one.infra) for one in stored},
        'success',
        more={'judge': judgements.name},
    )


def _read_selection(predictions: Path, subset: Subset, tools: Shown, encoder: str | None, method: str) -> RecordedRun:
    ids = [record.id for record in single_tool_requests(tools)]
    answers = load_answers(predictions, subset.name, [row.name for row in TABLE], ids)
    files = locate_encoder(choose_encoder(encoder, 'EN'))
    choices = make_choices(tools, subset.candidates, 0, shared_encoder(files, default_cache()))
    if method == 'easytool':
        choices = list(map(tools.numbered, choices))
    more = {'candidates_encoder': files.name, 'method': method}
    return RecordedRun(ToolBenchScorer(subset.name), choices, answers, '{subset}', more=more)


def _read_calls(predictions: Path, subset: Subset, tools: Shown, method: str) -> RecordedRun:
    requests = make_requests(tools)
    answers = load_answers(predictions, subset.name, [row.name for row in TABLE], [request.id for request in requests])
    make_scorer = NativeCallsScorer if method == 'function_calling' else ToolBenchScorer
    return RecordedRun(make_scorer(subset.name), requests, answers, '{subset}')


def _about_runs(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f'{result["calls"]} calls, {result["mean_calls"]:.2f} per run; {result["mean_steps"]:.2f} steps per run as the '
        f'file counts them; methods: {", ".join(result["methods"])}'
    )


def _read_runs(predictions: Path) -> RecordedRun:
    runs = list(read_runs(predictions))
    unscored = sum(len(run.calls) for run in runs if run.is_retrieved)
    note = (
        f'the tools of {unscored} calls were retrieved, and the file does not list the candidates: name '
        'and parameter errors are unknown'
    )
    return RecordedRun(
        RunsScorer(),
        runs,
        {run.id: run for run in runs},
        TRAJECTORIES,
        more={'methods': sorted({run.method for run in runs})},
        counts=('codes', 'error_responses'),
        lines=_about_runs,
        notes=[note] if unscored else [],
    )


def read(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, 'The test file; for success, if the trajectories lack their request.'] = None,
    judgements: Annotated[Path | None, 'For success: file of judgements.'] = None,
    encoder: Annotated[
        str | None, "For selection: 'offline', a folder or a hub id; the encoder that found the candidates."
    ] = None,
    method: Annotated[
        Literal['names', 'easytool', 'function_calling'],
        "How answers name tools; easytool, for selection: by the number in EasyTool's own prompt; function_calling, "
        'for calls: in native calls.',
    ] = 'names',
    instructions: Annotated[Path | None, 'For easytool: the instructions in the prompts.'] = None,
) -> RecordedRun:
    """Reads recorded answers, or for ``success`` and ``trajectories`` stored trajectories (ToolBench's .json.gz).

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        EncoderMissingError: The encoder is not on this machine.
        UnjudgedError: More than 1% of the judgements are missing.
        ValueError: The options conflict with the subset, or name something that does not exist.
    """
    if subset == TRAJECTORIES:
        if data is not None or judgements is not None:
            raise ValueError('trajectories need no other file: leave out --data and --judgements')
        return _read_runs(predictions)
    row = find_subset(subset)
    if row.kind == 'success':
        return _read_success(predictions, data, judgements)
    if data is None:
        raise ValueError(f'{subset} needs the test file: add --data FILE')
    if judgements is not None:
        raise ValueError(f'{subset} is scored without a judge: leave out --judgements')
    if method not in METHODS[row.kind]:
        raise ValueError(f'{subset} has the methods {" and ".join(METHODS[row.kind])}, not {method!r}')
    tools = open_tools(data, row.data, instructions)
    if row.kind == 'selection':
        run = _read_selection(predictions, row, tools, encoder, method)
    else:
        run = _read_calls(predictions, row, tools, method)
    return replace(run, expected=find_file(row.data).records)
