"""Writes the leaderboard, and tables that compare each data set with its variants."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tabulate
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX
from opencompass_tooleval.catalogue.metrics import lower_is_better
from opencompass_tooleval.catalogue.variants import VariantKind, find_variant
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.core.statistics.intervals import LEADS, in_words, lead_of
from opencompass_tooleval.core.statistics.paired import Result
from opencompass_tooleval.core.text.escapes import csv_cell
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.plugin import VARIANTS
from opencompass_tooleval.results.result_row import valid_result
from opencompass_tooleval.results.variants import SPREAD, Gain, gains_of, main_gains, row_of, spread_rows, table_gains
from opencompass_tooleval.summarizers.summarizer import ToolEvalSummarizer
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.prompt_tokens import counter_of, prompt_tokens
from opencompass_tooleval.work_dir.work_dir import WorkDir


class ToolEvalVariantSummarizer(ToolEvalSummarizer):
    """:class:`ToolEvalSummarizer` that also compares variants: per model, data set and metric, and per table.

    It writes one table per kind of variants in the run: EasyTool's instructions, and native function calling. The table
    has both scores, their difference with a paired interval of 95%, the mean tokens of the first prompt of a
    task and of all its prompts, and their reduction. Its files are ``summary_{time}{suffix}.txt`` and ``.csv``, with an
    underscore in place of the suffix's hyphen.

    Args:
        config: The config of the run.
        dataset_abbrs: Rows of the table: abbrs, or pairs of abbr and metric. By default all data sets.
        summary_groups: Groups of data sets with a common score, in OpenCompass's format. A table is also compared with
            the table of the same name with the suffix.
        tokenizer: Tokenizer for prompts whose tokens neither the server nor the model's tokenizer counted, such as
            prompts of recorded answers: a folder, or a hub id that is on this machine. By default the model's
            tokenizer, or an estimate if that is not on this machine.
        report: Writes ``tooleval report`` into ``WORK_DIR/report``; needs the extra ``report``.
    """

    kinds: Sequence[str] = tuple(VARIANTS)
    """Kinds of variants to compare, by default all of :data:`~opencompass_tooleval.plugin.VARIANTS`."""

    def __init__(
        self,
        config: Any,
        dataset_abbrs: Sequence[Any] | None = None,
        summary_groups: Sequence[Mapping[str, Any]] = (),
        tokenizer: str | None = None,
        report: bool = False,
    ) -> None:
        super().__init__(config, dataset_abbrs, summary_groups, report)
        self.tokenizer = tokenizer
        self.table_scores: Mapping[str, Mapping[str, Mapping[str, float]]] = {}

    def _calculate_group_metrics(self, *args: Any) -> Any:
        """Keeps the scores of the tables, since no file contains them."""
        picked = super()._calculate_group_metrics(*args)
        self.table_scores = picked[1]
        return picked

    def prompt_tokens(self, model: Any, dataset: Any, result: Result) -> PromptTokens:
        """Returns the prompt tokens of a data set's tasks."""
        abbrs = model_abbr_from_cfg(model), dataset_abbr_from_cfg(dataset)
        rows = partial(WorkDir(Path(self.work_dir)).prediction_rows, *abbrs)
        return prompt_tokens(result, rows, partial(counter_of, model, self.tokenizer))

    def _more_tables(self, path: Path, verbose: bool) -> Sequence[Path]:
        files = []
        for kind in map(find_variant, self.kinds):
            notes: list[str] = []
            self._gains = list[tuple[str, Gain]]()
            rows = list(self._rows(kind, notes))
            if spread := list(spread_rows(kind, self._gains)):
                table = tabulate.tabulate(spread, headers=SPREAD, disable_numparse=True)
                notes.insert(0, f'Spread of the deltas over seeds:\n{table}')
            if rows or notes:
                mains = {who: main_gains(gain for model, gain in self._gains if model == who) for who, _ in self._gains}
                gains = [(who, gain) for who, of_model in mains.items() for gain in of_model.values()]
                lines = [_gain_line(*pair) for pair in sorted(gains, key=lambda pair: _by_significance(pair[1]))]
                sure = sum(lead_of(gain.interval) == LEADS for _, gain in gains)
                what = f'{kind.question.capitalize()}: {kind.variant} minus {kind.original}, in points [95% interval]'
                self._blocks[f'{what}; {sure} of {len(gains)} significant:'] = lines
                name = f'{path.stem}{kind.suffix.replace("-", "_")}.txt'
                files.append(_write(path.with_name(name), kind, rows, notes, verbose))
        return files

    def _rows(self, kind: VariantKind, notes: list[str]) -> Iterator[dict[str, str]]:
        """Yields the rows of a kind of variants; adds notes on its pairs."""
        datasets = {dataset_abbr_from_cfg(dataset): dataset for dataset in self.dataset_cfgs}
        pairs, alone = kind.pair_up(list(datasets))
        for abbr in alone:
            notes.append(found('compare:missing', abbr, f'{kind.original_of(abbr)} is not part of this run').line)
        for model in self.model_cfgs if pairs or alone else ():
            name = model_abbr_from_cfg(model)
            for pair in pairs:
                yield from self._pair(kind, model, (datasets[pair[0]], datasets[pair[1]]), notes)
            scores = self.table_scores.get(name, {})
            tables = {table: scores[table] for table in scores if table not in datasets}
            for comparison in table_gains(kind, tables):
                yield row_of(kind, name, comparison)

    def _pair(self, kind: VariantKind, model: Any, pair: tuple[Any, Any], notes: list[str]) -> Iterator[dict[str, str]]:
        name, abbrs = model_abbr_from_cfg(model), [dataset_abbr_from_cfg(dataset) for dataset in pair]
        run = WorkDir(Path(self.work_dir))
        before, after = (valid_result(run, name, abbr) for abbr in abbrs)
        if before is None or after is None:
            lacking = ' and '.join(abbr for abbr, result in zip(abbrs, (before, after), strict=True) if result is None)
            notes.append(found('compare:missing', name, f'no result of {lacking}, so nothing to compare').line)
            return
        prompts = [self.prompt_tokens(model, *side) for side in zip(pair, (before, after), strict=True)]
        counted = [tokens.counted_by for tokens in prompts if tokens.counted_by]
        notes += [f'tokens of {name}: means over the tasks, {by}' for by in counted]
        label = kind.label(*abbrs)
        first, second = ({detail['id'] for detail in result.get('details', ())} for result in (before, after))
        if first != second:
            both = f'{len(first & second)} of {len(first | second)} records are in both; scores are over these'
            notes.append(found('compare:records', f'{name} / {label}', both).line)
        for comparison in gains_of(label, before, after):
            why = ''
            if comparison.interval is None:
                why = 'no interval, since the scores are not means over shared records'
            elif comparison.unshared and first == second:
                why = f'scores are over the {comparison.interval.pairs} records that both have'
            if why:
                notes.append(found('compare:interval', f'{name} / {label} / {comparison.metric}', why).line)
            self._gains.append((name, comparison))
            yield row_of(kind, name, comparison, *prompts)


def _gain_line(model: str, gain: Gain) -> str:
    delta = in_words(gain.interval) or f'{gain.delta:+.2f}'
    return f'  {model}, {gain.dataset.removeprefix(OUR_PREFIX)} {gain.metric}: {delta}'


def _by_significance(gain: Gain) -> tuple[bool, float]:
    return lead_of(gain.interval) != LEADS, -abs(gain.delta)


def _tables(kind: VariantKind, rows: Sequence[dict[str, str]]) -> Iterator[str]:
    """Yields lines that explain the columns, and a table per model without empty and repeated columns."""
    yield f'{kind.original.capitalize()} against {kind.variant}. delta: {kind.variant} minus {kind.original}, in points'
    yield 'low, high: its 95% interval. better, worse: % of the records on which the score is better or worse'
    if lower := [metric for metric in dict.fromkeys(row['metric'] for row in rows) if lower_is_better(metric)]:
        yield f'lower is better: {", ".join(lower)}'
    # Where each task has one prompt, the tokens of all prompts are those of the first one.
    same = dict(zip(kind.token_columns('task_prompts'), kind.token_columns('first_prompt'), strict=True))
    for model in dict.fromkeys(row['model'] for row in rows):
        those = [row | {'dataset': row['dataset'].removeprefix(OUR_PREFIX)} for row in rows if row['model'] == model]
        filled = [name for name in kind.columns[1:] if any(row[name] for row in those)]
        names = [name for name in filled if any(row[name] != row.get(same.get(name, '')) for row in those)]
        cells = [[name.replace('_', '\n') for name in names], *([row[name] for name in names] for row in those)]
        yield f'\n{model}\n{tabulate.tabulate(cells, tablefmt="plain", disable_numparse=True)}'
    yield ''


def _write(path: Path, kind: VariantKind, rows: Sequence[dict[str, str]], notes: Sequence[str], verbose: bool) -> Path:
    """Writes tables and their notes as text, and the rows as CSV; prints the text if verbose. Returns its path."""
    text = '\n'.join([*_tables(kind, rows), *dict.fromkeys(notes)])
    if verbose:
        say(f'\n{text}\n')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + '\n', encoding='utf-8')
    with path.with_suffix('.csv').open('w', encoding='utf-8', newline='') as stream:
        writer = csv.DictWriter(stream, kind.columns, lineterminator='\n')
        writer.writeheader()
        writer.writerows({name: csv_cell(text) for name, text in row.items()} for row in rows)
    return path
