"""The config that ``tooleval run`` writes: at most 40 lines, in which the user's words are literals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.cli.listing import CONFIGS
from opencompass_tooleval.cli.run_data import Chosen, config_values
from opencompass_tooleval.core.text.python_literal import python_literal
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.twins.subsets import KINDS

MAX_LINES = 40
API, HF = 'tooleval_api', 'tooleval_hf_qwen2_5_7b_instruct'
SERVED = 'tooleval_served_'
_MODELS = CONFIGS.parent / 'models'
_API_CLASS = 'opencompass_tooleval.models.ToolEvalOpenAI'
_JUDGE_OUT_LEN, _JUDGE_WORKERS = 16384, 16
_HF_CLASS = 'opencompass_tooleval.models.ToolEvalHFChat'


@dataclass(frozen=True)
class Models:
    """Models of a run that have one shipped config in common.

    Attributes:
        names: Their names on a server, or paths.
        config: The shipped config of a model like them: :data:`API`, :data:`HF`, or of a served engine.
        program: Program of the engine, in place of the one in the config.
        settings: Settings that replace those of the shipped config, or are added to them.
        accepted: Name -> settings of this model that replace those that its server refuses.
    """

    names: Sequence[str]
    config: str
    program: str = ''
    settings: Mapping[str, Any] = field(default_factory=dict)
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Returns the config of a model, without its names.

        Raises:
            ValueError: A setting has no effect, or the engine's context cannot be set.
        """
        row: dict[str, Any] = config_values(_MODELS / f'{self.config}.py')['models'][0]
        known = (
            *row,
            'key',
            'prices',
            'budget',
            'system_prompt',
            *(() if self.config == HF else ('stream', 'wire', 'openai_extra_kwargs')),
        )
        if others := [name for name in self.settings if name not in known]:
            raise ValueError(f'{self.config} has no {others[0]}: leave --{others[0].replace("_", "-")} out')
        shipped, answer = row['max_seq_len'], self.settings.get('max_out_len', 0)
        row = {name: value for name, value in row.items() if name not in ('abbr', 'path', 'max_seq_len', 'max_out_len')}
        row |= {} if self.config == API else {'max_seq_len': shipped + answer}
        row |= {'type': _HF_CLASS, **self.settings} if self.config == HF else self.settings
        if not row.get('temperature') and WIRES[row.get('wire', 'chat')].no_temperature:
            row.pop('temperature', None)  # which is not sent
        if 'engine' in row:
            words, length = row['engine']['command'], str(row['max_seq_len'])
            if str(shipped) not in words and length != str(shipped):
                raise ValueError(
                    f'the context of {self.config} is in its command: leave --max-out-len and --max-seq-len out, and '
                    'edit both in what --write-config writes'
                )
            words = [length if word == str(shipped) else word for word in words]
            row['engine']['command'] = [self.program or words[0], *words[1:]]
        return row


@dataclass(frozen=True)
class Judge:
    """A judge behind an API.

    Attributes:
        model: Its name on the server.
        base: The base URL.
        key: ``ENV`` for the key in the environment, or ``none``.
        abbrs: Data sets that need it.
        accepted: Settings that replace those that the server refuses.
    """

    model: str
    base: str
    key: str
    abbrs: Sequence[str]
    accepted: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], model: str, base: str, key: str) -> Judge:
        """Finds the data sets that need a judge.

        Raises:
            ValueError: No data set needs one.
        """
        from opencompass_tooleval.models.preflight import needs_judge  # loads OpenCompass

        if not (abbrs := [row['abbr'] for row in rows if needs_judge(row)]):
            raise ValueError('these data sets need no judge: leave --judge out')
        return cls(model, base, key, abbrs)

    def lines(self) -> list[str]:
        """Returns the lines of a config that set this judge for its data sets."""
        cfg: dict[str, Any] = {'type': _API_CLASS, 'abbr': self.model, 'path': self.model, 'openai_api_base': self.base}
        cfg |= {'key': self.key, 'temperature': 0, 'max_out_len': _JUDGE_OUT_LEN, 'max_workers': _JUDGE_WORKERS}
        cfg |= self.accepted
        return [
            'for _row in datasets:',
            f"    if _row['abbr'] in {python_literal(list(self.abbrs))}:",
            f"        _row['eval_cfg']['evaluator']['judge_cfg'] = {python_literal(cfg)}",
        ]


@dataclass(frozen=True)
class Twins:
    """Twins that are run beside their originals.

    Attributes:
        abbrs: Kind -> abbrs of the data sets that have twins of it.
        seeds: Number of seeds.
    """

    abbrs: Mapping[str, Sequence[str]]
    seeds: int = 1

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], kinds: Sequence[str], seeds: int) -> Twins:
        """Finds the data sets that have twins.

        Raises:
            ValueError: A kind does not exist, or no data set has twins of it.
        """
        from opencompass_tooleval.twins.adapter import kinds_of  # loads OpenCompass

        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise ValueError(f'there are no twins {unknown[0]!r}; there are {", ".join(KINDS)}')
        found = [(row['abbr'], kinds_of(row['type'], row)) for row in rows]
        abbrs = {kind: [abbr for abbr, known in found if kind in known] for kind in kinds}
        if lacking := [kind for kind in kinds if not abbrs[kind]]:
            raise ValueError(f'these data sets have no twins of the kind {lacking[0]!r}')
        return cls(abbrs, seeds)

    def lines(self) -> list[str]:
        """Returns the lines of a config that add the twins to the data sets."""
        seeds = [[seed, f'-s{seed}' if seed else ''] for seed in range(self.seeds)]
        return [
            f'_abbrs, _seeds = {python_literal(dict(self.abbrs))}, {python_literal(seeds)}',
            'datasets += [',
            '    dict(_row, abbr=f\'{_row["abbr"]}-twin-{_twin}{_ending}\', type=ToolEvalTwinDataset,',
            "         original=_row['type'], twin=_twin, twin_seed=_seed)",
            '    for _twin in _abbrs for _seed, _ending in _seeds for _row in datasets',
            '    if _row["abbr"] in _abbrs[_twin]',
            ']',
        ]


def engines() -> list[str]:
    """Lists the engines that have a shipped config."""
    return sorted(file.stem.removeprefix(SERVED) for file in _MODELS.glob(f'{SERVED}*.py'))


def abbrs_of(names: Sequence[str]) -> list[str]:
    """Returns a name for each model, for tables and paths of files; two models never share a name."""
    short = [_plain(Path(name).name) for name in names]
    counts = Counter(short)
    return [abbr if counts[abbr] == 1 else _plain(name) for abbr, name in zip(short, names, strict=True)]


def _plain(name: str) -> str:
    return re.sub(r'[^\w.+-]+', '-', name).strip('-.') or 'model'


def config_text(
    chosen: Sequence[Chosen],
    models: Models | Sequence[Mapping[str, Any]],
    *,
    work_dir: Path,
    limit: int | None = None,
    sample: str = '',
    replicas: int | None = None,
    partition: str | None = None,
    judge: Judge | None = None,
    twins: Twins | None = None,
) -> str:
    """Returns the text of the config.

    Args:
        chosen: The data sets.
        models: The models, or rows of another config.
        work_dir: The working directory.
        limit: Number of records of each data set, from the first; None for all.
        sample: The setting ``sample`` of the data set ``_row`` as Python code; '' for all records.
        replicas: Number of tasks per model that share its data sets; None for one.
        partition: Partition of Slurm; None for this machine.
        judge: The judge; None for the judge of the data sets, or of the environment.
        twins: Twins to run beside the data sets, if any.

    Raises:
        ValueError: The config would have more than :data:`MAX_LINES` lines.
    """
    imports, block = _imports_and_models(models)
    if twins:
        imports.append('from opencompass_tooleval.twins.adapter import ToolEvalTwinDataset')
    lines = [
        '# Written by tooleval run: an ordinary config of OpenCompass, to run again, to edit and to keep.',
        *('from mmengine.config import read_base', '', *sorted(imports), *([''] if imports else [])),
        'with read_base():',
        *sorted({f'    from {group.module} import {", ".join(group.variables)}' for group in chosen if group.module}),
        '    from opencompass_tooleval.configs.summarizers.tooleval import summarizer',
        *(f'    from opencompass_tooleval.configs.tooleval_{"slurm" if partition else "local"} import eval, infer', ''),
        *block,
        f'datasets = [{", ".join(map(_chosen_rows, chosen))}]',
        *(['for _row in datasets:', f"    _row['reader_cfg']['test_range'] = '[:{limit}]'"] if limit else []),
        *(judge.lines() if judge else []),
        *(twins.lines() if twins else []),
        *(['for _row in datasets:', f"    _row['sample'] = {sample}"] if sample else []),
        *([f"infer['partitioner']['replicas'] = {replicas}"] if replicas else []),
        *([f"infer['runner']['max_num_workers'] = {replicas}"] if replicas and not partition else []),
        *(
            [f"infer['runner']['partition'] = eval['runner']['partition'] = {python_literal(partition)}"]
            if partition
            else []
        ),
        f'work_dir = {python_literal(str(work_dir))}',
    ]
    if len(lines) > MAX_LINES:
        raise ValueError(f'the config would have {len(lines)} lines, more than {MAX_LINES}: run fewer names at a time')
    return '\n'.join((*lines, ''))


def _chosen_rows(chosen: Chosen) -> str:
    if not chosen.module:
        return ', '.join(map(python_literal, chosen.rows))
    rows = ', '.join(f'*{variable}' for variable in chosen.variables)
    abbrs = python_literal([row['abbr'] for row in chosen.rows])
    return f"*[row for row in [{rows}] if row['abbr'] in {abbrs}]" if chosen.is_part else rows


def _imports_and_models(models: Models | Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Returns the lines that import the class of the models, and the lines of ``models``."""
    if not isinstance(models, Models):
        return [], ['models = [', *(f'    {python_literal(row)},' for row in models), ']']
    row = models.row()
    module, _, name = row.pop('type').rpartition('.')
    models_of = zip(abbrs_of(models.names), models.names, strict=True)
    own = {key: row.pop(key) for key in [*row] if any(key in one for one in models.accepted.values())}
    rows = [[*pair, *([{**own, **models.accepted.get(pair[1], {})}] if models.accepted else [])] for pair in models_of]
    more = 'more' if models.accepted else ''
    settings = (f'        {key}={python_literal(value)},' for key, value in row.items())
    block = ['    dict(', f'        type={name},', '        abbr=abbr,', '        path=path,', *settings]
    block += [f'        **{more},'] * bool(more)
    names = ', '.join(filter(None, ('abbr', 'path', more)))
    return [f'from {module} import {name}'], [
        *('models = [', *block, '    )', f'    for {names} in {python_literal(rows)}', ']')
    ]
