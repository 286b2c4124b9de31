"""Registers the twins of other data sets: glue only."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from datasets import Dataset
from opencompass.registry import LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.teval.data import split_stem
from opencompass_tooleval.benchmarks.teval.scoring import TEvalScorer
from opencompass_tooleval.benchmarks.variant_kinds import TWIN
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.core.statistics.sample import WITHOUT_TWIN, Sample
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.models.dataset import SHOWN, ToolEvalDataset
from opencompass_tooleval.twins import VERSION, funcqa, restbench, teval, toolbench, ultratool, ultratool_samples
from opencompass_tooleval.twins.more import Most
from opencompass_tooleval.twins.names import OPAQUE, PLAIN, Pool
from opencompass_tooleval.twins.session import Twinned, failing, renamed
from opencompass_tooleval.twins.subsets import TWINS
from opencompass_tooleval.twins.twin import Changes, LeftOutError, Make

_NOT_OF_ORIGINAL = ('abbr', 'k', 'n', 'reader_cfg', 'sample', 'original', 'twin', 'twin_seed', 'max_added_chars')
_STYLES = {'names': OPAQUE, 'plain': PLAIN}
_FOUND_BY_NAME = ('toolbench', 'restbench', 'agents')
_MORE, _OTHER_SEEDS, _AGENTS, _FAULTS = 'more', 1000, 'agents', 'faults'
_ROOMS: dict[str, Any] = {'teval': teval, 'ultratool': ultratool, 'toolbench': toolbench, 'funcqa': funcqa}

_AGENT_ROOMS = {**_ROOMS, 'ultratool': ultratool_samples}


def _encoder_of(settings: Mapping[str, Any]) -> Similarity | None:
    """Returns the encoder of a T-Eval subset's scores; None if it needs none, or ``check_encoder`` is False."""
    if not settings.get('check_encoder', True):
        return None
    scorer = TEvalScorer(*split_stem(settings['name']), settings.get('protocol'), encoder=settings.get('encoder'))
    return shared_encoder(scorer.encoder, default_cache()) if scorer.encoder else None


def find_class(original: Any) -> Any:
    """Returns the class of a data set, given the class or, as in a dumped config, its name.

    Raises:
        ValueError: The class does not exist, or its records have no twins.
    """
    found = LOAD_DATASET.get(original) if isinstance(original, str) else original
    if getattr(found, 'benchmark_of_records', None) not in TWINS:
        raise ValueError(f'original={original!r} has no twins; data sets with twins: {", ".join(TWINS)}')
    return found


def kinds_of(original: Any, settings: Mapping[str, Any]) -> list[str]:
    """Returns the kinds of twins of a data set, given its class and its config; empty if it has no twins."""
    try:
        benchmark = find_class(original).benchmark_of_records
    except ValueError:
        return []
    subset, instructed = _subset_of(benchmark, settings.get('name', '')), bool(settings.get('instructions'))
    return [kind for kind in _kinds(benchmark, subset) if not (instructed and _is_bound(benchmark, kind))]


def _kinds(benchmark: str, subset: str) -> list[str]:
    return [kind for kind, subsets in TWINS[benchmark].items() if subset in subsets]


def _is_bound(benchmark: str, kind: str) -> bool:
    """Tests if tools with EasyTool instructions keep their names, since these instructions are found by name."""
    return kind in _STYLES and benchmark in _FOUND_BY_NAME


def _subset_of(benchmark: str, name: str) -> str:
    return split_stem(name)[0] if benchmark == 'teval' else name


def open_twins(
    benchmark: str, subset: str, twin: str, seed: int, similarity: Similarity | None, chars: float = math.inf
) -> Changes:
    """Returns the change that makes twins of a subset's records.

    Args:
        benchmark: One of :data:`~opencompass_tooleval.twins.subsets.TWINS`.
        subset: Its subset.
        twin: The kind of twins.
        seed: Seed of the changes.
        similarity: The encoder of the subset's scores, which must distinguish new names; None if the scores use none.
        chars: Maximum number of characters of the added documentation.

    Raises:
        ValueError: The subset has no twins of the kind.
    """
    kinds = _kinds(benchmark, subset)
    if twin not in kinds:
        raise ValueError(f'{benchmark} {subset} has no twins of the kind {twin!r}; it has {", ".join(kinds) or "none"}')
    name = subset.partition('_')[0]
    room: Any = _AGENT_ROOMS.get(name) if benchmark == _AGENTS else _ROOMS.get(benchmark)

    def make_with(rows: Mapping[str, Any]) -> Make:
        if twin in _STYLES:
            choice = {'is_choice': True} if name == 'selection' else {}
            made: Make = room.names(rows, Pool(_STYLES[twin], seed, similarity), **choice)
        elif twin.startswith(_MORE):
            made = room.more(rows, Most(int(twin.removeprefix(_MORE)), chars))
        else:
            made = getattr(room, twin)
        return made

    return Changes(make_with, twin, seed)


def _agents(cls: Any, settings: Mapping[str, Any], changes: Changes) -> Dataset:
    """Loads the twins of agents' tasks; ``twin`` in a task has its differences from the environment, if any."""
    if changes.kind not in (_FAULTS, *_STYLES):
        return cls.load(**settings, change=changes)
    original = cls.load(**settings)
    if changes.kind == _FAULTS:
        rows, tasks = list(original), dict[str, Twinned]()
        for row in rows:
            rng = random.Random(f'{_FAULTS}/{changes.seed}/{row["record_id"]}')
            twin = failing(json.loads(row['record']), rng)
            if twin is None:
                changes.left_out['no tool is known to be needed'] += 1
            else:
                tasks[row['record_id']] = twin
    else:
        rows, tasks = list(cls.load(**settings, change=changes)), dict[str, Twinned]()
        payloads = {row['record_id']: json.loads(row['record']) for row in original}
        for row in rows:
            name = row['record_id']
            # ToolBench documents no returned fields, and its environment has parameters in another spelling.
            fields = {} if settings['name'].startswith('toolbench') else changes.translations[name].fields
            try:
                tasks[name] = renamed(payloads[name], json.loads(row['record']), fields)
            except LeftOutError as error:
                changes.left_out[str(error)] += 1
    if not tasks:
        raise ValueError(f'no record has a twin of the kind {changes.kind!r}')
    return Dataset.from_list(
        [
            {**row, 'record': json.dumps({**json.loads(row['record']), 'twin': tasks[row['record_id']].to_payload()})}
            for row in rows
            if row['record_id'] in tasks
        ]
    )


def _of_service(changes: Changes) -> Change:
    """Returns the change to the tools of a service, which all its records share."""
    if changes.kind in _STYLES:
        return partial(restbench.renamed, pool=Pool(_STYLES[changes.kind], changes.seed))
    return partial(restbench.shuffled, seed=changes.seed)


@LOAD_DATASET.register_module()
class ToolEvalTwinDataset(ToolEvalDataset):
    """Twins of another data set's records. The evaluator of that data set scores them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._options = options
        super().__init__(*args, **options)

    def _draw(self, sample: Sample, rows: Dataset) -> tuple[list[int], dict[str, Any]]:
        """Draws from the original's records and keeps those with a twin, so that both samples have the same records."""
        of_load = {key: value for key, value in self._options.items() if key not in _NOT_OF_ORIGINAL}
        original = find_class(self._options['original']).load(**of_load)
        drawn, _ = super()._draw(sample, original)
        wanted, names = set(original.select(drawn)['record_id']), rows['record_id']
        if not (numbers := [number for number, name in enumerate(names) if name in wanted]):
            raise ValueError(f'the {len(drawn)} records of the sample have no twin: take a larger sample')
        return numbers, {WITHOUT_TWIN: len(drawn) - len(numbers)}

    @staticmethod
    def load(
        original: Any, twin: str, twin_seed: int = 0, max_added_chars: int | None = None, **settings: Any
    ) -> Dataset:
        """Loads the twins of the data set's records.

        Args:
            original: Class of the data set: of T-Eval, UltraTool, ToolBench, RestBench, FuncQA or agents, also with
                native calls or instructions.
            twin: Kind of the twins: ``order``, ``names``, ``plain``, ``values``, ``more5``, ``more20``,
                ``more100``, or ``faults`` for agents.
            twin_seed: Seed of the changes.
            max_added_chars: Maximum number of characters of the documentation of added tools, for models with a short
                context.
            settings: Arguments of the original's ``load``.

        Raises:
            DataError: The data is missing or damaged.
            ValueError: The data set, its subset or its records have no twins of the kind.
        """
        cls = find_class(original)
        subset = _subset_of(cls.benchmark_of_records, settings['name'])
        similarity = _encoder_of(settings) if twin in _STYLES and cls.benchmark_of_records == 'teval' else None
        if settings.get('instructions') and _is_bound(cls.benchmark_of_records, twin):
            raise ValueError(
                f'{cls.benchmark_of_records} {subset} finds instructions by names: it has no twins of {twin!r}'
            )
        chars = math.inf if max_added_chars is None else max_added_chars
        changes = open_twins(cls.benchmark_of_records, subset, twin, twin_seed, similarity, chars)
        if cls.benchmark_of_records == _AGENTS:
            data = _agents(cls, settings, changes)
        elif twin == 'order' and cls.benchmark_of_records == 'toolbench' and subset.startswith('selection'):
            data = cls.load(**{**settings, 'seed': _OTHER_SEEDS + twin_seed})  # the order of the same candidates
            same = set(cls.load(**settings)['messages'])
            others = [number for number, messages in enumerate(data['messages']) if messages not in same]
            changes.left_out['its candidates are in the same order'] = len(data) - len(others)
            data = data.select(others)
        else:
            data = cls.load(
                **settings, change=_of_service(changes) if cls.benchmark_of_records == 'restbench' else changes
            )
        left_out = ', '.join(f'{reason}: {count}' for reason, count in sorted(changes.left_out.items()))
        get_logger().info(f'twins ({twin}, seed {twin_seed}): {len(data)} records; left out: {left_out or "none"}')
        shown = {'twin': twin, 'twin_seed': twin_seed, 'twins_version': VERSION, 'left_out': left_out}
        shown |= {} if max_added_chars is None else {'max_added_chars': max_added_chars}
        ending = f'{TWIN.suffix}-{twin}' + (f'-s{twin_seed}' if twin_seed else '')
        rows = (dict(row) for row in data)
        return Dataset.from_list(
            [
                {
                    **row,
                    SHOWN: json.dumps({**json.loads(row.get(SHOWN) or '{}'), **shown}),
                    'source': f'{row["source"]}{ending}',
                }
                for row in rows
            ]
        )

    @staticmethod
    def reader_of_others(settings: Mapping[str, Any]) -> type | None:
        """Returns the class of ``original``, which reads the other settings of a config; None if it is invalid."""
        try:
            found: type = find_class(settings.get('original'))
        except ValueError:
            return None
        return found

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the faults in the ``sample``, ``max_added_chars`` and ``original`` of a config."""
        yield from ToolEvalDataset.check_settings(settings)
        most = settings.get('max_added_chars')
        if most is not None and (type(most) is not int or most < 1):
            yield f'max_added_chars={str(most)[:60]}: give a number above 0, such as 20000'
        try:
            find_class(settings.get('original'))
        except ValueError as error:
            yield str(error)
