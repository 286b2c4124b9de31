"""Writes the leaderboard, and tables that compare each data set with its variants."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tabulate
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.catalogue.benchmark import find_variant
from opencompass_tooleval.catalogue.variants import VariantKind
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.core.statistics.paired import Result
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.plugin import VARIANTS
from opencompass_tooleval.results.variants import SPREAD, Gain, gains_of, row_of, spread_rows, table_gains
from opencompass_tooleval.summarizers.summarizer import ToolEvalSummarizer
from opencompass_tooleval.work_dir.printing import say
from opencompass_tooleval.work_dir.prompt_tokens import counter_of, prompt_tokens
from opencompass_tooleval.work_dir.work_dir import WorkDir, read_result


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
            the one that has the suffix after its name.
        tokenizer: Tokenizer for prompts whose tokens neither the server nor the model's tokenizer counted, such as
            those of recorded answers: a folder or a hub id that is on this machine. By default the model's tokenizer,
            or an estimate if that is not on this machine.
        report: Writes ``tooleval report`` into ``WORK_DIR/report``; needs the extra ``report``.
    """

    kinds: Sequence[str] = tuple(VARIANTS)
    """Kinds of variants to compare, by default all of :data:`~opencompass_tooleval.catalogue.benchmark.VARIANTS`."""

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
        """Keeps the scores of the tables, which no file holds."""
        picked = super()._calculate_group_metrics(*args)
        self.table_scores = picked[1]
        return picked

    def result(self, model: Any, dataset: Any) -> Result | None:
        """Returns the result of a data set with its details; None if there is none."""
        file = self._file(model, dataset, 'results')
        result = read_result(file) if file.is_file() else None
        return None if result is None or 'error' in result else result

    def prompt_tokens(self, model: Any, dataset: Any, result: Result) -> PromptTokens:
        """Returns the prompt tokens of a data set's tasks."""
        abbrs = model_abbr_from_cfg(model), dataset_abbr_from_cfg(dataset)
        rows = partial(WorkDir(Path(self.work_dir)).prediction_rows, *abbrs)
        return prompt_tokens(result, rows, partial(counter_of, model, self.tokenizer))

    def _more_tables(self, path: Path, verbose: bool) -> Sequence[Path]:
        return [
            file for name in self.kinds for file in _Comparing(self, find_variant(name)).write(path, verbose=verbose)
        ]


class _Comparing:
    """Comparison of one kind of variants in one run."""

    def __init__(self, summarizer: ToolEvalVariantSummarizer, kind: VariantKind) -> None:
        self.summarizer, self.kind = summarizer, kind
        self._notes: list[str] = []
        self._gains: list[tuple[str, Gain]] = []

    def _note(self, *notes: tuple[str, str]) -> None:
        self._notes += [found('variants:note', *note).line for note in notes]

    def write(self, path: Path, verbose: bool) -> Sequence[Path]:
        """Writes the table beside that at ``path``, and prints it if verbose; does nothing without variants."""
        rows = list(self._rows())
        if not rows and not self._notes:
            return ()
        path = path.with_name(f'{path.stem}{self.kind.suffix.replace("-", "_")}.txt')
        table = tabulate.tabulate(
            [list(row.values()) for row in rows], headers=self.kind.columns, disable_numparse=True
        )
        title = f'{self.kind.original.capitalize()} against {self.kind.variant}'
        heading = [f'{title} (delta in points, 95% interval):']
        if spread := list(spread_rows(self.kind, self._gains)):
            of_seeds = tabulate.tabulate(spread, headers=SPREAD, disable_numparse=True)
            table = f'{table}\nSpread of the deltas over seeds:\n{of_seeds}'
        text = '\n'.join([*heading, table, *dict.fromkeys(self._notes)])
        if verbose:
            say(f'\n{text}\n')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + '\n', encoding='utf-8')
        with path.with_suffix('.csv').open('w', encoding='utf-8', newline='') as stream:
            writer = csv.DictWriter(stream, self.kind.columns, lineterminator='\n')
            writer.writeheader()
            writer.writerows(rows)
        return (path,)

    def _rows(self) -> Iterator[dict[str, str]]:
        run = self.summarizer
        datasets = {dataset_abbr_from_cfg(dataset): dataset for dataset in run.dataset_cfgs}
        pairs, alone = self.kind.pair_up(list(datasets))
        if not pairs and not alone:
            return
        self._note(*((abbr, f'{self.kind.original_of(abbr)} is not part of this run') for abbr in alone))
        for model in run.model_cfgs:
            name = model_abbr_from_cfg(model)
            for pair in pairs:
                yield from self._pair(model, (datasets[pair[0]], datasets[pair[1]]))
            scores = run.table_scores.get(name, {})
            tables = {table: scores[table] for table in scores if table not in datasets}
            for comparison in table_gains(self.kind, tables):
                yield row_of(self.kind, name, comparison)

    def _pair(self, model: Any, pair: tuple[Any, Any]) -> Iterator[dict[str, str]]:
        run = self.summarizer
        name, abbrs = model_abbr_from_cfg(model), [dataset_abbr_from_cfg(dataset) for dataset in pair]
        before, after = (run.result(model, dataset) for dataset in pair)
        if before is None or after is None:
            lacking = ' and '.join(abbr for abbr, result in zip(abbrs, (before, after), strict=True) if result is None)
            self._note((name, f'no result of {lacking}, so nothing to compare'))
            return
        prompts = [run.prompt_tokens(model, *side) for side in zip(pair, (before, after), strict=True)]
        self._notes += [
            f'tokens of {name}: means over the tasks, {tokens.counted_by}' for tokens in prompts if tokens.counted_by
        ]
        label = self.kind.label(*abbrs)
        first, second = ({detail['id'] for detail in result.get('details', ())} for result in (before, after))
        if first != second:
            both, either = len(first & second), len(first | second)
            self._note((f'{name} / {label}', f'{both} of {either} records are in both; scores are over these'))
        for comparison in gains_of(label, before, after):
            where = f'{name} / {label} / {comparison.metric}'
            if comparison.interval is None:
                self._note((where, 'no interval, since the scores are not means over shared records'))
            elif comparison.unshared and first == second:
                self._note((where, f'scores are over the {comparison.interval.pairs} records that both have'))
            self._gains.append((name, comparison))
            yield row_of(self.kind, name, comparison, *prompts)
