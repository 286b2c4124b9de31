"""Files of agents' tasks: finds, verifies and counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from opencompass_tooleval.agents.subsets import LOOPS
from opencompass_tooleval.agents.tasks.errata import KINDS
from opencompass_tooleval.agents.tasks.records import TABLE, Subset, data_file, find_subset, load_data
from opencompass_tooleval.catalogue.benchmark import (
    BenchmarkFiles,
    ConfiguredDataset,
    Content,
    DataFiles,
    errata_in_words,
)
from opencompass_tooleval.environments.bank import Bank, fix_of_bank
from opencompass_tooleval.environments.recordings_teval import is_teval, read_teval


def config_names(format_: str) -> dict[str, str]:
    """Returns loop -> its part of config names, for data of a format; the first entry is the default."""
    names: dict[str, str] = {}
    for row in LOOPS:
        if row['format'] == format_:
            names.setdefault(str(cast(dict[str, Any], row['options'])['loop']), str(row['name']))
    return names


def _read(name: str, files: Sequence[Any]) -> Content:
    tasks, *recordings = files
    data = load_data(tasks, name)
    counts = {'tasks': len(data.tasks), **({'gold calls': data.calls} if find_subset(name).calls else {})}
    for file in filter(None, recordings):
        counts['recorded calls'] = sum(1 for _ in read_teval(file, file.name))
    return Content(counts, [errata_in_words(data.errata, KINDS)])


def _recordings(subset: Subset) -> tuple[str, ...]:
    """Returns the file from which T-Eval's bank is made: plan files contain no calls, review files do."""
    return (f'{subset.folder}/{subset.file.replace("plan_json", "review_str")}',) if subset.format == 'teval' else ()


def _read_bank(files: Sequence[Path]) -> Content:
    with Bank(files[0]) as bank:
        return Content({'recorded calls': sum(bank.files().values()), 'tasks': bank.tasks()})


def _files(subset: Subset) -> DataFiles:
    published = {'tasks': subset.tasks, 'gold calls': subset.calls}
    return DataFiles(
        subset.name,
        (f'{subset.folder}/{subset.file}',),
        partial(_read, subset.name),
        {what: count for what, count in published.items() if count},
        optional=_recordings(subset),
        exact=False,
        needed=False,
        parts=len(Path(subset.file).parts),
        folders=('test_instruction',) if subset.format == 'toolbench' else (),
    )


def configured(
    subset: str, *, method: str | None = None, version: str | None = None, instructions: str | None = None
) -> ConfiguredDataset:
    """Returns the config of a subset; ``method`` is the name of a loop.

    Raises:
        ValueError: There is no such subset, loop or version.
    """
    row = find_subset(subset)
    loops = config_names(row.format)
    loop = method or next(iter(loops))
    if loop not in loops:
        raise ValueError(f'{subset} has the loops {", ".join(loops)}, not {method!r}')
    settings = {'version': version} if version else {}
    data = row.name if row.format == 'teval' else row.format
    config = f'agents/tooleval_{row.format}_agent_gen:tooleval_{data}_agent_{loops[loop]}_datasets'
    return ConfiguredDataset([config], subset, Path(data_file(subset, version)), settings=settings)


_BUILD = {
    'data/agents/teval.bank': 'data/teval/EN',
    'data/agents/teval_zh.bank': 'data/teval/ZH',
    'data/agents/toolbench.bank': 'RUNS_OR_CACHE...',
}
"""Bank -> its sources, as arguments of a command."""


def _has_recordings(folder: Path) -> bool:
    """Tests if a folder has a T-Eval file with recorded calls, which plan files do not contain."""
    return any(is_teval(file) and not file.name.startswith('plan') for file in folder.glob('*.json'))


def _hints(cache: Path) -> Iterator[str]:
    """Yields the commands that make missing banks."""
    for bank, source in _BUILD.items():
        tasks = [subset for subset in TABLE if subset.bank == bank]
        here = any((cache / subset.folder / subset.file).is_file() for subset in tasks)
        if here and not (cache / bank).is_file():
            source = str(cache / source) if source.startswith('data/') else source
            recordings = [Path(recording).name for subset in tasks for recording in _recordings(subset)]
            if recordings and not _has_recordings(Path(source)):
                yield f'no {cache / bank}, and {source} has no file to make it from: {recordings[0]} is missing'
            else:
                yield f'no {cache / bank}; make it with:'
                yield f'  {fix_of_bank(source, str(cache / bank))}'


FILES = BenchmarkFiles(
    files=(
        *map(_files, TABLE),
        *(
            DataFiles(f'bank {Path(bank).stem}', (bank,), _read_bank, needed=False)
            for bank in dict.fromkeys(subset.bank for subset in TABLE)
            if bank
        ),
    ),
    origin='\n  '.join(
        (
            "Agents use the files of other benchmarks; banks are made from T-Eval's files, stored runs or caches:",
            *(f'tooleval prepare {name}' for name in ('teval', 'toolbench', 'ultratool')),
            *(fix_of_bank(source, bank) for bank, source in _BUILD.items()),
        )
    ),
    hints=_hints,
)
