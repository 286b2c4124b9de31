"""``tooleval import traces``: recorded conversations as tasks, as runs to score and judge, and as a response bank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.agents.tasks.records import find_subset
from opencompass_tooleval.agents.tasks.records_traces import task_rows
from opencompass_tooleval.cli.options import SourceOption
from opencompass_tooleval.cli.output import counts_line
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.python_literal import python_literal
from opencompass_tooleval.environments.bank import write_bank
from opencompass_tooleval.environments.call_log import CallLog
from opencompass_tooleval.environments.recordings import find_sources, read_sources, read_tools
from opencompass_tooleval.extras.traces.reading import Traces, read_traces
from opencompass_tooleval.extras.traces.recorded_runs import (
    SUBSET,
    RecordedRun,
    RecordedSet,
    bank_calls,
    offered_tools,
    prediction_row,
    recorded_runs,
    recorded_sets,
)
from opencompass_tooleval.results.importing import import_predictions
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.whole_file import write_lines, write_whole

TASKS, CALLS, BANK, RUNS = 'tasks.jsonl', 'calls.jsonl', 'responses.bank', 'runs'
CONFIG = 'traces_gen.py'
_MOST_NAMED = 20
_DATASETS = """# {about}, written by `tooleval import traces`.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.agents.adapter import AgentDialogues, ToolEvalAgentDataset, ToolEvalAgentEvaluator
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

_dialogues = dict(type=AgentDialogues, loop='function_calling', bank={bank})
_infer = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{{messages}}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=ToolEvalDialogueGenInferencer, published_max_out_len=1024, dialogues=_dialogues),
)
datasets = [
    dict(abbr={abbr}, type=ToolEvalAgentDataset, path={path}, name={name}, n=1, k=1, infer_cfg=_infer,
         reader_cfg=dict(input_columns=['messages'], output_column='record'),
         eval_cfg=dict(evaluator=dict(type=ToolEvalAgentEvaluator, name={name})))
]
"""
_RUNS = """
from mmengine.config import read_base

from opencompass_tooleval.models import ReplayModel
from opencompass_tooleval.summarizers import ToolEvalSummarizer

with read_base():
    from opencompass_tooleval.configs.tooleval_local import eval, infer

_more = dict(batch_size=256, run_cfg=dict(num_gpus=0))
models = [dict(type=ReplayModel, abbr=name, path={run}, **_more) for name in {models}]
summarizer = dict(type=ToolEvalSummarizer, dataset_abbrs=[[{abbr}, metric] for metric in {metrics}])
"""


def import_traces(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar='FILE...', help='Chats (OpenAI, Anthropic) as JSON lines, logs of Inspect, OTLP/JSON; or folders.'
        ),
    ],
    out: Annotated[Path, typer.Option('--out', '-o', metavar='DIR', help='A new folder for what is imported.')],
    tools: Annotated[
        str | None, typer.Option(metavar='FILE', help='The offered tools, for conversations that do not say.')
    ] = None,
    source: SourceOption = 'function_schema',
) -> None:
    """Imports recorded conversations, and prints what is unknown of them.

    Raises:
        DataError: A file cannot be read, no conversation can be read, or the folder is not empty.
        ValueError: There is no such kind of documentation.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(out, 'there is something already: give --out a new folder')
    traces = read_traces(files)
    unknown = sum(one.tools is None for one in traces.conversations)
    documented = _documented_tools(source, tools) if tools else None
    conversations = [replace(one, tools=documented) if one.tools is None else one for one in traces.conversations]
    runs = recorded_runs(conversations)
    for line in (*_summary(traces, runs), *_unknown_parts(runs, unknown, documented is not None)):
        say(line)
    out.mkdir(parents=True, exist_ok=True)
    for line in _write(out, runs, recorded_sets(runs)):
        say(line)


def _documented_tools(kind: str, source: str) -> tuple[ToolSchema, ...]:
    from opencompass_tooleval.extras.making.tool_source import documented_tools
    from opencompass_tooleval.tool_docs.sources import load_docs

    return tuple(tool.schema for tool in documented_tools(load_docs(kind, source)).values())


def _summary(traces: Traces, runs: Sequence[RecordedRun]) -> Iterator[str]:
    yield counts_line(f'{len(runs)} conversations', traces.formats)
    yield counts_line(
        'models', {name: sum(run.model == name for run in runs) for name in {run.model: 0 for run in runs}}
    )
    if traces.beginnings:
        yield f'{traces.beginnings} are beginnings of others and are left out'
    if traces.left_out:
        yield f'{len(traces.left_out)} left out:'
        yield from (f'  {line}' for line in traces.left_out[:_MOST_NAMED])
        if len(traces.left_out) > _MOST_NAMED:
            yield f'  and {len(traces.left_out) - _MOST_NAMED} more'


def _unknown_parts(runs: Sequence[RecordedRun], unknown: int, are_given: bool) -> Iterator[str]:
    calls = [result for run in runs for step in run.conversation.all_steps for _, result in step.calls]
    if unknown:
        unused = 'stay unknown, so these are no tasks for agents: give --tools FILE'
        says = 'are taken from --tools' if are_given else unused
        yield f'offered tools: {unknown} of {len(runs)} conversations do not say; they {says}'
    yield f'results: {calls.count(None)} of {len(calls)} calls have none in the trace'
    counts = {
        'go on after the first answer: task and run are their beginning': [run.conversation.goes_on for run in runs],
        'end without an answer': [not run.conversation.final_answer for run in runs],
        'do not say their tokens': [not (run.conversation.usage and run.conversation.usage.has_tokens) for run in runs],
        'do not name their model': [not run.conversation.model for run in runs],
    }
    yield from (f'{sum(found)} of {len(runs)} conversations {what}' for what, found in counts.items() if any(found))
    yield 'gold calls: unknown for all; scores that need them stay open'


def _write(out: Path, runs: Sequence[RecordedRun], sets: Sequence[RecordedSet]) -> Iterator[str]:
    tasks = {run.task.id: run.task for run in runs if run.task.subset == SUBSET and not run.is_repeat}
    if tasks:
        write_lines(out / TASKS, task_rows(tasks.values()))
    for one in sets:
        folder = out / 'recorded' / one.name
        folder.mkdir(parents=True)
        write_lines(folder / TASKS, task_rows(one.tasks.values()))
    rows = (prediction_row(run, _abbr(one)) for one in sets for of_model in one.runs.values() for run in of_model)
    write_lines(out / 'predictions.jsonl', rows)
    scores = [{'record_id': run.task.id, 'model': run.model, 'scores': run.conversation.scores} for run in runs]
    if any(run.conversation.scores for run in runs):
        write_lines(out / 'scores.jsonl', scores)
        yield f'{out / "scores.jsonl"}: the scores in the logs'
    yield from _write_bank(out, runs)
    if tasks:
        about = 'Requests of recorded conversations with their tools, for other models'
        write_whole(out / CONFIG, _datasets(out, out, SUBSET, about, 'traces-agent-fc'))
        yield f'{out / CONFIG}: {len(tasks)} tasks for agents'
    done = import_predictions(out, out / RUNS)
    yield f'{done.run.path}: {done.predictions} recorded runs of {done.models} models on {done.datasets} data sets'
    for one in sets:
        config = _write_config(out, one, done.run.path)
        yield f'score them with: opencompass {config} -w {out / RUNS} -r {done.run.path.name} -m eval'
        file = done.run.path / 'predictions' / next(iter(one.runs)) / f'{_abbr(one)}.json'
        data = out / 'recorded' / one.name / TASKS
        yield f'judge them with: tooleval agents judge {file} --subset {one.subset} --data {data} --out judged.jsonl'


def _abbr(one: RecordedSet) -> str:
    return f'{one.name}-recorded'


def _write_bank(out: Path, runs: Sequence[RecordedRun]) -> Iterator[str]:
    log = CallLog(out / CALLS)
    listed = [
        {'name': tool.name, 'description': tool.description, 'inputSchema': dict(tool.parameters)}
        for tool in offered_tools(runs)
    ]
    log.begin('recorded conversations', listed)
    count = 0
    for call in bank_calls(runs, CALLS):
        log.add(call)
        count += 1
    log.close()
    if not count:
        yield 'no bank is made: no call has a recorded result'
        return
    sources = find_sources([out / CALLS])
    built = write_bank(read_sources(sources), out / BANK, read_tools(sources))
    yield f'{out / BANK}: {built.calls:,} calls'


def _write_config(out: Path, one: RecordedSet, run: Path) -> Path:
    about, abbr = 'Runs of recorded conversations, to be scored with `-m eval`', _abbr(one)
    text = _datasets(out, out / 'recorded' / one.name, one.subset, about, abbr) + _RUNS.format(
        abbr=python_literal(abbr),
        metrics=python_literal(list(find_subset(one.subset).metrics)),
        models=python_literal(list(one.runs)),
        run=python_literal(str(run.resolve() / 'predictions')),
    )
    write_whole(out / f'eval_{one.name}.py', text)
    return out / f'eval_{one.name}.py'


def _datasets(out: Path, folder: Path, subset: str, about: str, abbr: str) -> str:
    bank = str(out.resolve() / BANK) if (out / BANK).is_file() else None
    values = {'abbr': abbr, 'path': str(folder.resolve()), 'name': subset, 'bank': bank}
    return _DATASETS.format(about=about, **{name: python_literal(value) for name, value in values.items()})
