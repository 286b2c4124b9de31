"""``tooleval gate``: fails a build if the scores of a run dropped below those of a baseline, or do not equal them."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.catalogue.variants import find_variant
from opencompass_tooleval.cli.options import DatasetsOption, JsonOption, MaxDropOption, WorkDirArgument
from opencompass_tooleval.cli.output import STDOUT, check_outputs, progress, write_outputs
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.core.statistics.intervals import records_without_difference
from opencompass_tooleval.core.text.escapes import markdown_text
from opencompass_tooleval.extras.attribution.gate import judge_servers
from opencompass_tooleval.extras.compare.command import change_text, interval_text, number_text, table_lines
from opencompass_tooleval.extras.gate.baseline import find_results, save_baseline
from opencompass_tooleval.extras.gate.gating import (
    DROPPED,
    HELD,
    INCONCLUSIVE,
    PASSED,
    Gate,
    Judged,
    Rules,
    Verdict,
    decide,
    pair_models,
)
from opencompass_tooleval.extras.gate.junit import Case, Suite, junit_xml
from opencompass_tooleval.extras.gate.outcomes import DIFFERENT, EQUIVALENT, UNDECIDED
from opencompass_tooleval.results.result_row import Results
from opencompass_tooleval.results.variants import Originals
from opencompass_tooleval.twins.subsets import KINDS
from opencompass_tooleval.work_dir.printing import Screen, say
from opencompass_tooleval.work_dir.whole_file import write_whole
from opencompass_tooleval.work_dir.work_dir import WorkDir

NOT_COMPARABLE = 2
_HEADER = ('metric', 'baseline', 'run', 'difference', '95% interval', 'N', '')
_MOST_ROWS, _MOST_SAMPLES = 16, 20
_EQUIVALENCES = DIFFERENT, UNDECIDED, EQUIVALENT
_WORDS = {0: HELD, 1: DROPPED, NOT_COMPARABLE: 'not comparable'}


def _cells(verdict: Verdict) -> tuple[str, ...]:
    row = verdict.row
    metric = f'{row.metric} (lower is better)' if lower_is_better(row.metric) else row.metric
    return (
        metric,
        number_text(row.a),
        number_text(row.b),
        number_text(row.delta, '+'),
        interval_text(row),
        str(row.records),
        f'{verdict.outcome} ({_number(verdict)})' if verdict.deciding else verdict.outcome,
    )


def _number(verdict: Verdict) -> str:
    return f'{"~" if verdict.is_estimate else ""}{verdict.deciding:,}'


def _summary(gate: Gate, rules: Rules) -> str:
    word, parts = _of_equivalence(gate, rules.equivalent) if rules.equivalent else _of_drops(gate, rules)
    if gate.lacking:
        parts.append(f'the run lacks {gate.lacking} of {gate.records} records of the baseline')
    if gate.refusals:
        parts.append(f'{len({(one.model, one.dataset) for one in gate.refusals})} data sets do not compare')
    return f'{word}: {"; ".join(parts)}'


def _of_equivalence(gate: Gate, margin: float) -> tuple[str, list[str]]:
    counts = {outcome: [one for one in gate.verdicts if one.outcome == outcome] for outcome in _EQUIVALENCES}
    worst = next((outcome for outcome in _EQUIVALENCES if counts[outcome]), EQUIVALENT)
    word = _WORDS[NOT_COMPARABLE] if gate.status == NOT_COMPARABLE else worst
    numbers = ', '.join(f'{len(counts[outcome])} {outcome}' for outcome in _EQUIVALENCES if counts[outcome])
    parts = [f'{numbers or "none"} of {len(gate.verdicts)} scores, with a margin of {margin:g} points']
    estimates = [one for one in counts[UNDECIDED] if one.deciding]
    if estimates:
        most = max(estimates, key=lambda one: one.deciding or 0)
        name = f'{most.row.name} {most.row.metric}'
        parts.append(
            f'about {most.deciding:,} records would decide, if as large a share of them differs ({name}; an estimate)'
            if most.is_estimate
            else f'{most.deciding:,} records without a difference would decide ({name})'
        )
    return word, parts


def _of_drops(gate: Gate, rules: Rules) -> tuple[str, list[str]]:
    counts = {outcome: sum(one.outcome == outcome for one in gate.verdicts) for outcome in (DROPPED, INCONCLUSIVE)}
    word = INCONCLUSIVE if gate.status == 1 and not counts[DROPPED] else _WORDS[gate.status]
    parts = [f'{counts[DROPPED]} of {len(gate.verdicts)} scores dropped by more than {rules.max_drop:g} points']
    open_ones = [one for one in gate.verdicts if one.outcome != DROPPED and one.worst > rules.max_drop]
    if open_ones:
        worst = max(open_ones, key=lambda one: one.worst)
        on = f' on {worst.row.records:,} records' if worst.row.records else ''
        parts.append(
            f'a drop of up to {worst.worst:.2f} points is not ruled out ({worst.row.name} {worst.row.metric}{on})'
        )
        if rules.strict:
            parts.append(
                f'to rule out {rules.max_drop:g} takes {records_without_difference(rules.max_drop)} records or more'
            )
    return word, parts


def _judged(gate: Gate, rules: Rules) -> Judged:
    shown, cells = gate.verdicts[:_MOST_ROWS], list(map(_cells, gate.verdicts))
    names = [f'{one.row.name}, {one.model}' for one in gate.verdicts]
    lines = list(table_lines(_HEADER, list(zip(names, cells, strict=True))[:_MOST_ROWS])) if shown else []
    if len(gate.verdicts) > len(shown):
        lines.append(f'and {len(gate.verdicts) - len(shown)} more scores, in --markdown, --junit and --json')
    alike: dict[tuple[str, str, str], dict[str, None]] = {}
    for refusal in gate.refusals:
        alike.setdefault((refusal.model, refusal.kind, refusal.why), {})[refusal.dataset] = None
    refused = [
        f'NOT COMPARABLE {first_of([*names], 3)}, {model}: {kind}: {why}' for (model, kind, why), names in alike.items()
    ]
    lines += refused[:_MOST_ROWS]
    if len(refused) > _MOST_ROWS:
        lines.append(f'and {len(refused) - _MOST_ROWS} more reasons')
    scores = [(one.row.name, one.model, *texts) for one, texts in zip(gate.verdicts, cells, strict=True)]
    reasons = [(one.dataset, one.model, one.kind, one.why) for one in gate.refusals]
    tables: list[list[tuple[str, ...]]] = [
        [('data set', 'model', *_HEADER), *scores],
        [('not comparable', 'model', 'reason', ''), *reasons],
    ]
    cases = []
    for one, (_, before, after, delta, interval, records, outcome) in zip(gate.verdicts, cells, strict=True):
        message = f'{before} -> {after}: {delta} points, 95% interval {interval}, {records} records: {outcome}'
        samples = '\n'.join(change_text(sample) for sample in one.differing[:_MOST_SAMPLES])
        name = f'{one.row.name} {one.row.metric}'
        cases.append(Case(name, one.model, one.outcome in PASSED, message, samples or message))
    for refusal in gate.refusals:
        cases.append(Case(f'{refusal.dataset} ({refusal.kind})', refusal.model, None, f'{refusal.kind}: {refusal.why}'))
    content = asdict(gate) | {'findings': [one.row() for one in gate.findings]}
    return Judged('tooleval gate', gate.status, _summary(gate, rules), lines, tables, gate.findings, cases, content)


def _markdown(judged: Judged) -> str:
    lines = [f'**{judged.name}: {markdown_text(judged.summary)}**']
    for header, *rows in judged.tables:
        if rows:
            numbers = [all(row[i][:1] in '+-0123456789' for row in rows) for i in range(len(header))]
            lines += ['', *('| ' + ' | '.join(map(markdown_text, cells)) + ' |' for cells in (header, *rows))]
            lines.insert(-len(rows), f'|{"|".join("---:" if is_number else "---" for is_number in numbers)}|')
    notes = [f'- {markdown_text(str(one))}' for one in judged.findings]
    return '\n'.join([*lines, *([''] if notes else []), *notes, ''])


def _gate(
    run: Path,
    baseline: Path | None,
    models: tuple[str | None, str | None],
    rules: Rules,
    serving: bool,
    twin: str | None,
    json_out: str | None,
    markdown: Path | None,
    junit: Path | None,
) -> int:
    new = WorkDir.find(run)
    old: Results | None = find_results(baseline) if baseline else None
    if twin:
        old = Originals(new, find_variant('twin'), rules.datasets)
        if not any(old.pairs()):
            fix = f'start it with `tooleval run ... --twin {twin}`'
            raise ValueError(f'{run}: no data set has a result beside its twin {twin!r}: {fix}')
    judged = {'serving': judge_servers(new, models[0], rules)} if serving else {}
    content = {name: one.content for name, one in judged.items()}
    if old:
        gate = decide(new, old, pair_models(new, old, *models), rules, partial(progress, 'comparing'))
        judged = {'': _judged(gate, rules), **judged}
        content |= judged[''].content
    files = {'baseline': str(old.path) if old else None, 'run': str(new.path)}
    write_outputs({**content, **files, **asdict(rules)}, (), json_out, None)
    if markdown:
        write_whole(markdown, '\n'.join(map(_markdown, judged.values())))
    if junit:
        properties = [(name, path) for name, path in files.items() if path]
        suites = [Suite(one.name, one.cases, (('result', one.summary), *properties)) for one in judged.values()]
        write_whole(junit, junit_xml(suites))
    if json_out != STDOUT:
        for one in judged.values():
            notes = [finding.line for finding in one.findings[:_MOST_ROWS]]
            Screen(soft_wrap=True).print('\n'.join([one.summary, *one.lines, *notes]))
    statuses = {one.status for one in judged.values()}
    return 1 if 1 in statuses else max(statuses)


def _check_margin(equivalent: float, max_drop: float, strict: bool, baseline: Path | None) -> None:
    if not 0 < equivalent < 100:
        raise ValueError(f'--equivalent takes points above 0 and below 100, not {equivalent:g}')
    if baseline is None:
        raise ValueError('--equivalent needs --baseline RUN|FILE')
    if max_drop or strict:
        other = '--max-drop' if max_drop else '--strict'
        raise ValueError(f'--equivalent rules out drops and gains of its margin: leave out {other}')


def run_gate(
    work_dir: WorkDirArgument,
    baseline: Annotated[
        Path | None, typer.Option(metavar='RUN|FILE', help='An earlier working directory, or a file of --save.')
    ] = None,
    max_drop: MaxDropOption = 0.0,
    equivalent: Annotated[
        float | None,
        typer.Option(metavar='POINTS', help='Fail unless each score is shown to differ by less than this.'),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            '--metric', help="Pattern such as overall; may be repeated. By default each data set's main metrics."
        ),
    ] = None,
    datasets: DatasetsOption = '*',
    model: Annotated[str | None, typer.Option(help='Model of the run; by default all, paired by name.')] = None,
    baseline_model: Annotated[str | None, typer.Option(help='Model of the baseline, if its name is another.')] = None,
    strict: Annotated[
        bool, typer.Option('--strict', help='Fail too where a drop of more than --max-drop is not ruled out.')
    ] = False,
    partial: Annotated[
        bool, typer.Option('--partial', help='Do not exit with 2 for scores that do not compare, if others do.')
    ] = False,
    may_differ: Annotated[
        list[str] | None,
        typer.Option(
            metavar='KEY', help='Keys of the provenance that may differ, such as prompts_sha256; may be repeated.'
        ),
    ] = None,
    twin: Annotated[
        str | None,
        typer.Option(metavar='KIND', help='Compare twins with their originals, in place of a baseline.'),
    ] = None,
    save: Annotated[Path | None, typer.Option(metavar='FILE', help='Write a baseline of this run there.')] = None,
    json_out: JsonOption = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Write the table there, for a pull request.')
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar='FILE', help='Write JUnit XML there, a case per score.')] = None,
    serving: Annotated[
        bool, typer.Option('--serving', help='Fail too for points that the server lost, and for its errors.')
    ] = False,
) -> int:
    """Compares a run with a baseline; returns 0 if all scores held, 1 if one dropped, 2 if one is not comparable.

    ``--serving`` judges the run's servers, with or without a baseline. With ``--equivalent``, returns 0 if
    all scores are equivalent, and 1 if one is different or undecided. Errors, such as a missing run, also return 2: 1
    is always a verdict.
    """
    if twin:
        datasets, may_differ = f'{datasets}-twin-{twin}*', [*(may_differ or ()), 'records_sha256']
    rules = Rules(metrics or (), datasets, max_drop, equivalent, strict, partial, may_differ or ())
    try:
        for file in (markdown, junit, save):
            check_outputs(json_out, file)
        if equivalent is not None:
            _check_margin(equivalent, max_drop, strict, baseline)
        if strict and not max_drop:
            one, five = map(records_without_difference, (1, 5))
            why = f'a drop of 5 points is ruled out by {five} records that do not differ, one of 1 point by {one}'
            raise ValueError(f'--strict needs --max-drop above 0: {why}, and every drop by no number')
        if twin and twin not in KINDS:
            raise ValueError(f'there are no twins {twin!r}; there are {", ".join(KINDS)}')
        if twin and baseline:
            raise ValueError('--twin compares with the originals of the run: leave out --baseline')
        if baseline is None and save is None and not serving and not twin:
            raise ValueError(
                'gate needs --baseline RUN|FILE, --twin KIND, --serving, or --save FILE to make a baseline'
            )
        status = 0
        if baseline is not None or serving or twin:
            status = _gate(work_dir, baseline, (model, baseline_model), rules, serving, twin, json_out, markdown, junit)
        if save:
            count, failed = save_baseline(WorkDir.find(work_dir), save)
            left_out = f'; left out, since they are errors: {first_of(failed, 5)}' if failed else ''
            say(f'{save}: {count} results{left_out}', err=json_out == STDOUT)
    except (ValueError, OSError) as error:
        say(shorten(f'tooleval: {error}'), err=True)
        return NOT_COMPARABLE
    return status
