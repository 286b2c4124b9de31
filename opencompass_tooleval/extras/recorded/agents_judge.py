"""``tooleval agents judge``: sends recorded answers to a judge and writes its judgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.agents.toolbench.judged_scores import breakdown, metrics_of
from opencompass_tooleval.agents.toolbench.judgements import WIN_AREA
from opencompass_tooleval.agents.toolbench.references import load_references
from opencompass_tooleval.agents.toolbench.solved import TIMES
from opencompass_tooleval.agents.toolbench.win import COMPARISONS, RANDOM, STABLETOOLBENCH
from opencompass_tooleval.cli.options import JsonOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, naming_model_faults, print_metrics, write_outputs
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.extras.recorded.agents import load_to_judge
from opencompass_tooleval.extras.recorded.toolbench_judgements import ask_judge, judged_lines
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.whole_file import write_whole


def judge_agents(
    file: Annotated[Path, typer.Argument(metavar='FILE', help="A predictions file, or answers in ToolBench's format.")],
    out: Annotated[Path, typer.Option('--out', '-o', metavar='FILE', help='File for the judgements.')],
    judge: Annotated[
        Path | None,
        typer.Option(
            metavar='CONFIG', help='Config whose first model judges; default: $OC_JUDGE_MODEL and related variables.'
        ),
    ] = None,
    subset: Annotated[
        str | None, typer.Option(help='For predictions: the subset of their tasks, if they do not name it.')
    ] = None,
    data: Annotated[Path | None, typer.Option(help='Data file of the subset; default: where prepare puts it.')] = None,
    kinds: Annotated[str, typer.Option(help='Kinds of judgements: a list of solved,pass,win,success.')] = 'solved',
    judgements_per_answer: Annotated[int, typer.Option(help='Judgements of each answer.')] = TIMES,
    reference: Annotated[
        Path | None,
        typer.Option(metavar='FILE', help="For win: another run's predictions, or ToolBench's answers."),
    ] = None,
    comparisons_per_answer: Annotated[int, typer.Option(help='For win: comparisons of each answer.')] = COMPARISONS,
    answer_order: Annotated[
        str, typer.Option(help='For win: order in which the judge sees two answers; random or both.')
    ] = (RANDOM),
    seed: Annotated[int, typer.Option(help='Seed of random choices.')] = 0,
    win_rule: Annotated[
        str,
        typer.Option(help='For win: the rule; stabletoolbench, or toolbench, where the only answer that passes wins.'),
    ] = STABLETOOLBENCH,
    function_calls: Annotated[
        bool, typer.Option('--function-calls', help="The judge calls a function, as ToolBench's does.")
    ] = False,
    json_out: JsonOption = None,
) -> None:
    """Judges recorded answers. Judgements on disk are not requested again, so an interrupted command can be repeated.

    Raises:
        DataError: A file is missing or damaged, files do not belong together, or the judge's server refuses requests.
        UnjudgedError: More than 1% of the answers could not be judged.
        ValueError: The judge or the reference is missing, or an option is invalid.
        OSError: A file cannot be written.
    """
    check_outputs(json_out, out)
    settings = JudgeSettings(
        tuple(filter(None, kinds.split(','))),
        judgements_per_answer,
        comparisons_per_answer,
        answer_order,
        seed,
        win_rule,
        function_calls,
    )
    if (WIN_AREA in settings.kinds) != (reference is not None):
        raise ValueError('only win compares with other answers: use --kinds win with --reference FILE')
    tasks, answers = load_to_judge(file, subset, data)
    cfg = _judge_cfg(judge)
    with naming_model_faults(judge or '$OC_JUDGE_MODEL', default_cache()):
        grading = AgentGrading(answers, settings, load_references(reference, tasks) if reference else {})
        judgements, name, calls = ask_judge(cfg, grading)
    write_whole(out, ''.join(f'{json.dumps(row)}\n' for row in grading.rows(judgements)))
    judged = grading.check(grading.score(judgements), 'Run the command again: finished judgements are stored')
    scores = [SampleScore(one.id, one.values, one.reason) for one in judged]
    counted = breakdown(judged)
    total = aggregate(scores, metrics_of(settings.kinds))
    result = {
        'file': str(file),
        'reference': str(reference) if reference else None,
        'judge': name,
        'judge_calls': calls,
        **settings.to_row(),
        'samples': total.samples,
        'metrics': total.metrics,
        'reasons': total.reasons,
        'standard_errors': total.standard_errors,
        'breakdown': counted,
    }
    write_outputs(result, (), json_out, None)
    if json_out != STDOUT:
        console = Screen()
        print_metrics(f'{file.name}, {len(answers)} answers', result, console)
        for line in (*judged_lines(counted, name), f'wrote {out}; {calls} questions sent'):
            console.print(line, soft_wrap=True)


def _judge_cfg(config: Path | None) -> dict[str, object]:
    from opencompass_tooleval.extras.preparing.generation import load_model_cfg
    from opencompass_tooleval.judging.judge import judge_cfg_from_env, tell_only_warnings

    tell_only_warnings()
    cfg = load_model_cfg(config) if config else judge_cfg_from_env()
    if not cfg:
        raise ValueError('no judge is set: add --judge CONFIG, or set OC_JUDGE_MODEL, OC_JUDGE_API_KEY and _BASE')
    return cfg
