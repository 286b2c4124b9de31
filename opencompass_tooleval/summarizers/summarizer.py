"""Writes the tables of a run, prints its last screen, and sets the exit status."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

from opencompass.summarizers import DefaultSummarizer
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX, part_in_words
from opencompass_tooleval.catalogue.labels import explained
from opencompass_tooleval.catalogue.metrics import OVERALL, judged_metrics, main_first
from opencompass_tooleval.catalogue.tables import (
    columns_of,
    errors_of,
    published_columns,
)
from opencompass_tooleval.core.statistics.intervals import Score
from opencompass_tooleval.core.statistics.trials import trials_of_result
from opencompass_tooleval.core.text.jsonable import printable
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.findings.of_results import cut_words, few, findings_of_run
from opencompass_tooleval.models.preflight import config_findings
from opencompass_tooleval.results.sampled import estimates_of
from opencompass_tooleval.results.table import Material, cell_of, results_of
from opencompass_tooleval.summarizers.last_screen import (
    PART,
    Headline,
    cost_rows,
    headlines,
    missing_lines,
    screen,
)
from opencompass_tooleval.work_dir.causes import one_line_if_unusable, resuming
from opencompass_tooleval.work_dir.interrupts import one_line_if_interrupted
from opencompass_tooleval.work_dir.lock import remove_stale_locks
from opencompass_tooleval.work_dir.printing import escape_unknown, say
from opencompass_tooleval.work_dir.work_dir import WorkDir

VERBOSE = 'TOOLEVAL_VERBOSE'
"""Environment variable; if it is set, the long tables are printed too."""

_OF_SCORES = ('config:replayed', 'config:unused', 'config:unused_limit')
"""Kinds of findings about a config that concern the scores."""
_REASONS_SHOWN = 6
_JUDGED = 'tooleval_toolbench_agent_judged_gen'
"""The config of agents with a judge."""


class _Dash:
    """Stands for a missing score; any format shows it as a dash."""

    def __format__(self, spec: str) -> str:
        return '-'


_NOT_MEASURED = _Dash()


def _shown(errors: Mapping[str, float]) -> str:
    return ', '.join(f'{metric} ±{error:.2f}' for metric, error in errors.items())


def _trials(results: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line per metric on results of several trials."""
    several = {key: read for key, result in results.items() if (read := trials_of_result(result))}
    if several:
        yield 'Several trials (pass@k: right in at least one of k; pass^k: right in all of k):'
    for (model, dataset), read in several.items():
        for metric, by_kind in read.estimates.items():
            shown = ', '.join(
                f'{name} {estimate}' for name, estimate in by_kind.items() if not name.endswith(('@1', '^1'))
            )
            yield f'  {model} / {dataset}: {metric} {shown}'


class ToolEvalSummarizer(DefaultSummarizer):
    """OpenCompass's :class:`DefaultSummarizer` that also reports missing results, and exits with 1 if there are any.

    It prints one screen: the main scores, scores that are not comparable with the published leaderboard, infrastructure
    failures, and every model x data set without a result, with its error and the fix. OpenCompass itself always exits
    with 0, whatever fails. The long tables, standard errors and the reasons for lost points are written to files, and
    with ``TOOLEVAL_VERBOSE=1`` also to the screen.

    Args:
        config: The config of the run.
        dataset_abbrs: Rows of the table: abbrs, or pairs of abbr and metric. By default all data sets.
        summary_groups: Groups of data sets with a common score, in OpenCompass's format.
        report: Writes ``tooleval report`` into ``WORK_DIR/report``; needs the extra ``report``.
    """

    model_cfgs: Any

    def __init__(
        self,
        config: Any,
        dataset_abbrs: Sequence[Any] | None = None,
        summary_groups: Sequence[Mapping[str, Any]] = (),
        report: bool = False,
    ) -> None:
        super().__init__(config, dataset_abbrs, list(summary_groups))
        self.report = report
        self._table: list[list[str]] = []
        self._overall: set[str] = set()
        self._partly: set[tuple[str, str]] = set()
        self._blocks: dict[str, Sequence[str]] = {}

    def summarize(self, output_path: str | None = None, time_str: str | None = None) -> None:
        """Writes and prints everything; exits with 1 if results are missing, or the run has no models or data sets."""
        for what, cfgs in (('models', self.model_cfgs), ('datasets', self.dataset_cfgs)):
            if not cfgs:
                raise SystemExit(f'tooleval: {what!r} of the config is empty: a filter may match nothing')
        run = Path(self.work_dir)
        escape_unknown()
        with one_line_if_interrupted(resuming(run)), one_line_if_unusable(run):
            self._summarize(output_path, time_str or datetime.now().strftime('%Y%m%d_%H%M%S'))

    def _summarize(self, output_path: str | None, time_str: str) -> None:
        path = Path(output_path) if output_path else Path(self.work_dir, 'summary', f'summary_{time_str}.txt')
        remove_stale_locks(
            Path(self.work_dir)
        )  # usually tasks do so, but a resumed run without unfinished work starts none
        verbose = bool(os.environ.get(VERBOSE))
        run = WorkDir(Path(self.work_dir))
        datasets = list(map(dataset_abbr_from_cfg, self.dataset_cfgs))
        scored, missing = results_of(run, list(map(model_abbr_from_cfg, self.model_cfgs)), datasets)
        material = Material((run,), tuple(scored), tuple(missing))
        self._partly = self._parts(material)
        with nullcontext() if verbose else redirect_stdout(StringIO()):
            super().summarize(output_path, time_str)
        main = headlines(self._table, self._overall, self._partly, self._columns())
        sampled = list(self._sampled(material))
        self._blocks = {'Samples, with the 95% interval of the score of all records:': sampled}
        tables = [*sampled, *self._tables_of_details(material)]
        config = {'models': self.model_cfgs, 'datasets': self.dataset_cfgs}
        of_config = (one for one in config_findings(config) if one.kind in _OF_SCORES)
        more = [*of_config, *self._about_main(main, material)]
        findings = findings_of_run(material.results, run.path, config, more)
        files = [path]
        notes = [*tables, *(one.line for one in findings), *missing_lines(missing, run.path)]
        if notes:
            files.append(path.with_name(f'{path.stem}_notes.txt'))
            files[-1].write_text(printable('\n'.join(notes)) + '\n', encoding='utf-8')
        if verbose and tables:
            say('\n' + '\n'.join(tables) + '\n')
        files += self._more_tables(path, verbose)
        if self.report:
            self._report()
        spent, in_all = self._spent(material)
        below = screen(
            self.model_abbrs,
            main,
            blocks=self._blocks,
            spent=spent,
            in_all=in_all,
            findings=findings,
            missing=missing,
            files=files,
            run=run.path,
        )
        say(f'\n{below}')
        if missing:
            raise SystemExit(1)

    def _more_tables(self, path: Path, verbose: bool) -> Sequence[Path]:
        """Writes the tables of a subclass beside the table at ``path``; prints them if verbose. Returns their paths."""
        return ()

    def _spent(self, material: Material) -> tuple[list[Headline], float | None]:
        """Returns each model's tokens and cost as rows below the scores, and the total cost."""
        from opencompass_tooleval.report.board import boards  # tasks, which are forks of this process, do not need it
        from opencompass_tooleval.report.overview import spending_of_ranked
        from opencompass_tooleval.report.spending import cost_in_all, spent_of

        means = spending_of_ranked(boards(material, published_columns()), spent_of(material, {}))
        return cost_rows(self.model_abbrs, means), cost_in_all(material)

    def _report(self) -> None:
        """Writes the report; an error is only a warning, since the tables are complete without it."""
        try:
            from opencompass_tooleval.report.build import write_report

            say(f'report: {write_report([Path(self.work_dir)], Path(self.work_dir, "report"))}')
        except ImportError as error:
            say(found('run:no_report', '', f"no report: {error}; pip install 'opencompass-tooleval[report]'").line)
        except Exception as error:  # a result may hold anything; an error of the report must not fail the sweep
            message = ' '.join(str(error).split())
            say(found('run:no_report', '', f'no report: {type(error).__name__}: {message}').line)

    def _pick_up_results(self) -> tuple[dict[str, Any], ...]:
        """Reads the results model by model: OpenCompass's method fails if the models have different metrics."""
        models = self.model_cfgs
        of_all: tuple[dict[str, Any], ...] = ({}, {}, {}, {})
        try:
            for model in models:
                self.model_cfgs = [model]
                raw, parsed, metrics, modes = super()._pick_up_results()
                for whole, part in zip((of_all[0], of_all[1], of_all[3]), (raw, parsed, modes), strict=True):
                    whole.update(part)
                for dataset, names in metrics.items():
                    known = of_all[2].setdefault(dataset, [])
                    known += [name for name in names if name not in known]
        finally:
            self.model_cfgs = models
        return of_all

    def _format_table(
        self,
        parsed_results: Mapping[str, Mapping[str, Mapping[str, Any]]],
        dataset_metrics: Mapping[str, Sequence[str]],
        *args: Any,
        **kwargs: Any,
    ) -> list[list[str]]:
        """Omits rows without a score, such as those of the other language, and adds data sets that no row names.

        If only some models lack a score, for example because a data set failed, they get a dash. OpenCompass's table
        would raise a KeyError.
        """
        required = self._required(kwargs.get('required_dataset_abbrs'), dataset_metrics)
        self._overall = {name for name, metric in required if metric == OVERALL}
        kwargs['required_dataset_abbrs'] = required
        whole = {
            model: {
                dataset: {**dict.fromkeys(dataset_metrics.get(dataset, ()), _NOT_MEASURED), **scores}
                for dataset, scores in results.items()
            }
            for model, results in parsed_results.items()
        }
        kwargs['skip_all_slash'] = True
        self._table = list(super()._format_table(whole, dataset_metrics, *args, **kwargs))
        named = {name for _, name in self._partly}
        return [[*row[:3], f'{row[3]} {PART}', *row[4:]] if row[0] in named else row for row in self._table]

    def _required(
        self, rows: Sequence[Any] | None, dataset_metrics: Mapping[str, Sequence[str]]
    ) -> list[tuple[str, str]]:
        """Returns the rows of the table: those that the config names, then all rows of the other data sets."""
        parts = (part for group in self.summary_groups for part in group['subsets'])
        grouped = {part if isinstance(part, str) else part[0] for part in parts}
        named = [(row, '') if isinstance(row, str) else (str(row[0]), str(row[1])) for row in rows or ()]
        known = {name for name, _ in named} | (grouped if rows is not None else set())
        configured = map(dataset_abbr_from_cfg, self.dataset_cfgs)
        others = [name for name in dict.fromkeys([*configured, *dataset_metrics]) if name not in known]
        main = {name: main_first(list(metrics)) for name, metrics in dataset_metrics.items()}
        return [
            *((name, metric or main.get(name, [''])[0]) for name, metric in named),
            *((name, metric) for name in others for metric in main.get(name, ())),
        ]

    def _parts(self, material: Material) -> set[tuple[str, str]]:
        """Returns model and name of each result over a part of the records, and of each table that contains one."""
        parts = {pair for pair, result in material.results.items() if part_in_words(pair[1], result)}
        tables = {(dataset, table) for (table, _), shares in self._columns().items() for dataset, _ in shares}
        return parts | {(model, table) for model, name in parts for dataset, table in tables if dataset == name}

    def _columns(self) -> dict[Score, dict[Score, float]]:
        return columns_of(self.summary_groups)

    def _tables_of_details(self, material: Material) -> Iterator[str]:
        with_details = {key: result for key, result in material.results.items() if 'reasons' in result}
        if not with_details:
            return
        yield 'Standard errors and reasons (samples):'
        for (model, dataset), result in with_details.items():
            shown = _shown(errors_of(result))
            if isinstance(result.get('runs'), list):
                shown += f' ({len(result["runs"])} runs)'
            reasons = ', '.join(
                f'{reason} {count}' for reason, count in list(result['reasons'].items())[:_REASONS_SHOWN]
            )
            cut = result['samples'].get('cut') if isinstance(result.get('samples'), dict) else None
            cut_shown = f' | {cut_words(f"{cut:,}", [result])}' if cut else ''
            yield f'  {model} / {dataset}: {shown} | {reasons}{cut_shown}'
        yield from explained(dict.fromkeys(reason for result in with_details.values() for reason in result['reasons']))
        yield from self._errors_of_tables(material)
        yield from _trials(with_details)

    def _sampled(self, material: Material) -> Iterator[str]:
        """Yields a line per main score of a sample, with its interval and records, and the cost of the rest."""
        for model in material.models:
            of_model = {dataset: result for (name, dataset), result in material.results.items() if name == model}
            for estimate in estimates_of(of_model, self._columns()):
                yield f'  {model}, {estimate.name.removeprefix(OUR_PREFIX)} {estimate.metric}: {estimate}'

    def _errors_of_tables(self, material: Material) -> Iterator[str]:
        """Yields lines with the standard errors of the tables' columns, such as abilities and Overall."""
        names, scored = {str(group['name']) for group in self.summary_groups}, material.by_pair()
        columns = {name: shares for name, shares in published_columns().items() if name[0] in names}
        for model in material.models:
            tables: dict[str, dict[str, float]] = {}
            for (table, column), shares in columns.items():
                if (error := cell_of(model, shares, scored).error) is not None:
                    tables.setdefault(table, {})[column] = error
            yield from (f'  {model} / {table}: {_shown(errors)}' for table, errors in tables.items())

    def _about_main(self, rows: Sequence[Headline], material: Material) -> Iterator[Finding]:
        """Yields the causes of missing main scores."""
        columns, done = self._columns(), material.datasets
        unjudged = []
        for row in (row for row in rows if row.is_empty):
            needed = dict.fromkeys(dataset for dataset, _ in columns.get((row.name, row.metric), {}))
            lacking = [dataset for dataset in needed if dataset not in done]
            if lacking:
                needs = f'{row.metric!r} needs all {len(needed)} data sets'
                yield found('run:main_score', few([row.name]), f'{needs}; missing: {few(lacking)}')
            elif row.metric in judged_metrics().values():
                unjudged.append(row.name)
        if unjudged:
            text = f'no judge was asked whether tasks are solved (the config {_JUDGED} asks one): {few(unjudged)}'
            yield found('run:unjudged', '', text)
