"""``tooleval score``: scores recorded answers without OpenCompass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import Benchmark, RecordedRun, all_benchmarks, find_benchmark
from opencompass_tooleval.catalogue.labels import explained
from opencompass_tooleval.cli.commands import Command, command_group
from opencompass_tooleval.cli.options import DetailsOption, JsonOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.core.scoring.scorer import Scored
from opencompass_tooleval.extras.attribution.causes import SERVING
from opencompass_tooleval.extras.attribution.points import faults_of_recorded, read_faults
from opencompass_tooleval.extras.attribution.words import lines_of
from opencompass_tooleval.extras.recorded.right_subset import warn_if_unread
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.work_dir.printing import Screen


def _result(benchmark: Benchmark, subset: str, run: RecordedRun, scored: Scored) -> dict[str, Any]:
    about = run.scorer.provenance()
    settings = about if run.settings is None else {name: {**about, **run.more}[name] for name in run.settings}
    return {
        'benchmark': benchmark.name,
        'subset': subset,
        **settings,
        'samples': scored.total.samples,
        'metrics': scored.total.metrics,
        'reasons': scored.total.reasons,
        'standard_errors': scored.total.standard_errors,
        **run.more,
        **scored.breakdown,
        **({SERVING: faults} if (faults := faults_of_recorded(run, scored)) else {}),
    }


def _notes(run: RecordedRun, samples: int) -> Iterator[str]:
    yield from run.notes
    if run.expected not in (None, samples):
        yield f'{samples} {run.unit} of {run.expected}: not comparable with the paper'


def _print(benchmark: Benchmark, result: dict[str, Any], run: RecordedRun) -> None:
    console = Screen()
    title = run.title.format_map(defaultdict(lambda: 'no answers', run.scorer.provenance()))
    print_metrics(f'{benchmark.title} {title}, {result["samples"]} {run.unit}', result, console)
    lines = [counts_line(name.replace('_', ' '), result[name]) for name in ('reasons', *run.counts)]
    lines[1:1] = [f'  {line}' for line in explained(result['reasons'])]
    faults = read_faults(result)
    for line in (*lines, *run.lines(result), *(lines_of({result['subset']: faults}) if faults else ())):
        console.print(line, soft_wrap=True)


def score_recorded(
    benchmark: Benchmark,
    subset: str,
    predictions: Path | None = None,
    *,
    json_out: str | None = None,
    details: Path | None = None,
    **options: Any,
) -> None:
    """Scores recorded answers, prints the scores, and writes the output files that the options name.

    Args:
        benchmark: The benchmark of the answers.
        subset: One of its subsets.
        predictions: Recorded answers.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per sample.
        **options: Options of this benchmark.

    Raises:
        DataError: A file is missing, damaged, or does not belong to the others.
        EncoderMissingError: An encoder is needed and is not on this machine.
        UnjudgedError: More than 1% of the answers could not be judged.
        ValueError: The options contradict each other, or name something that does not exist.
        OSError: An output cannot be written.
    """
    check_outputs(json_out, details)
    run: RecordedRun = plugin.load(plugin.RECORDED[benchmark.name])(subset, predictions, **options)
    scored = run.score(predictions)
    if predictions:
        warn_if_unread(scored.scores, predictions, subset)
    result = _result(benchmark, subset, run, scored)
    write_outputs(result, scored.scores, json_out, details)
    if json_out != STDOUT:
        _print(benchmark, result, run)
    notes = Screen(stderr=json_out == STDOUT)
    for note in _notes(run, len(scored.scores)):
        notes.print(found('extra:recorded', '', note).line, soft_wrap=True)


def _benchmark_options(function: Callable[..., RecordedRun]) -> Iterator[Parameter]:
    """Yields the keyword parameters of a benchmark's function as options: ``Annotated[type, 'help'] = default``."""
    for parameter in signature(function, eval_str=True).parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            kind, text = get_args(parameter.annotation)
            yield parameter.replace(annotation=Annotated[kind, typer.Option(help=text)])


def _shared(
    subset: Annotated[str, typer.Argument()],
    file: Annotated[Path | None, typer.Argument(help='Recorded answers.')] = None,
    *,
    predictions: Annotated[Path | None, typer.Option(help='The same as FILE.')] = None,
    json_out: JsonOption = None,
    details: DetailsOption = None,
) -> None:
    """Declares the parameters of every benchmark's command; only the signature is used."""


def _command(benchmark: Benchmark) -> Command:
    function = plugin.load(plugin.RECORDED[benchmark.name])
    is_optional = signature(function).parameters['predictions'].default is None

    def run(subset: str, file: Path | None, predictions: Path | None, **options: Any) -> None:
        answers = predictions or file
        if (answers is None and not is_optional) or (predictions and file):
            raise ValueError('name one file of answers: FILE, or --predictions FILE')
        score_recorded(benchmark, subset, answers, **options)

    first, *shared = signature(_shared, eval_str=True).parameters.values()
    names = ', '.join([*benchmark.subsets, *benchmark.also_scored])
    named = first.replace(annotation=Annotated[str, typer.Argument(help=f'{names}.')])
    parameters = [named, *shared[:2], *_benchmark_options(function), *shared[2:]]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def score_commands() -> typer.Typer:
    """Returns a group with one command per benchmark."""
    summaries = {
        benchmark.name: f'Score recorded answers to one subset of {benchmark.title}.'
        for benchmark in all_benchmarks()
        if benchmark.name in plugin.RECORDED
    }
    return command_group(summaries, lambda name: _command(find_benchmark(name)), add_completion=False)
