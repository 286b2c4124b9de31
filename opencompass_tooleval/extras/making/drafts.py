"""Draws what each task is to be about: its kind, its tools and its language, by quotas and a seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, KINDS, MISSING_PARAMETER, ORDINARY, RECOVERY, SIBLINGS
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.extras.making.dependencies import Dependency
from opencompass_tooleval.extras.making.tool_source import SourceTool

DOMAINS_OF_TEVAL = {1: 115, 2: 276, 3: 162}
"""Number of tools (here: domains) of a query -> how many of T-Eval's 553 queries have it."""

APIS_OF_TEVAL = {1: 7, 2: 70, 3: 216, 4: 117, 5: 67, 6: 46, 7: 15, 8: 11, 9: 3, 10: 1}
"""Number of APIs (here: tools) of a query -> how many of T-Eval's 553 queries have it."""

DEFAULT_KINDS = {
    ORDINARY: 0.6,
    'no_tool': 0.08,
    MISSING_PARAMETER: 0.08,
    FORBIDDEN: 0.08,
    SIBLINGS: 0.08,
    RECOVERY: 0.08,
}
"""Kind -> share of the tasks, where no quota is given."""

WEIGHT_ALONE = 0.5
"""Drafts that begin with a tool without dependencies, and have no other, for each that begins with another tool."""

GENERALISE, COMPLICATE = 'generalise', 'complicate'
OPERATIONS = ('', GENERALISE, COMPLICATE)
"""UltraTool's operations on a query (its section 3.1); ``''`` leaves it as it was written."""


@dataclass(frozen=True)
class Draft:
    """Draft of a task.

    Attributes:
        id: Its id.
        kind: One of :data:`~opencompass_tooleval.agents.tasks.goal.KINDS`.
        language: ``EN`` or ``ZH``.
        needed: The tools that the query is to need; of kind ``no_tool`` one that it is not to need.
        offered: The tools that the agent may call; ``needed`` are among them.
        operation: One of :data:`OPERATIONS`.
        other: Kind ``forbidden``: the tool that the query rules out; kind ``siblings``: the similar one; else ``''``.
        missing: Kind ``missing_parameter``: the parameter of ``needed[0]`` whose value the query leaves out.
        dependencies: Those between needed tools; a tool stands after one that it depends on, where it can.
    """

    id: str
    kind: str
    language: str
    needed: tuple[str, ...]
    offered: tuple[str, ...]
    operation: str = ''
    other: str = ''
    missing: str = ''
    dependencies: tuple[Dependency, ...] = ()


@dataclass(frozen=True)
class Quotas:
    """Distribution of the drafts.

    Attributes:
        kinds: Kind -> share.
        languages: Language -> share.
        lengths: Number of needed tools -> weight.
        operations: Operation -> share.
        offered: Most tools that a task offers.
    """

    kinds: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_KINDS))
    languages: Mapping[str, float] = field(default_factory=lambda: {'EN': 1.0})
    lengths: Mapping[int, float] = field(default_factory=lambda: dict(APIS_OF_TEVAL))
    operations: Mapping[str, float] = field(default_factory=lambda: {'': 0.5, GENERALISE: 0.25, COMPLICATE: 0.25})
    offered: int = 10


class Drawing:
    """Draws drafts; the same seed and tools draw the same drafts.

    Tools, and then pairs of tools, that were drawn least often come first, so that all are covered. Where dependencies
    between tools are known, those of a task are a chain of them.

    Args:
        tools: Name -> tool.
        quotas: How the drafts are distributed.
        seed: The seed.
        similarity: Of descriptions, for kind ``siblings``.

    Raises:
        ValueError: A kind or language of the quotas does not exist.
    """

    def __init__(self, tools: Mapping[str, SourceTool], quotas: Quotas, seed: int, similarity: Similarity) -> None:
        unknown = [kind for kind in quotas.kinds if kind not in KINDS]
        unknown += [language for language in quotas.languages if language not in ('EN', 'ZH')]
        if unknown:
            raise ValueError(f'no such kind or language: {", ".join(unknown)}; kinds are {", ".join(KINDS)}, EN and ZH')
        self._tools = tools
        self._quotas = quotas
        self._random = random.Random(seed)
        self._drawn: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._pairs: Counter[frozenset[str]] = Counter()
        self._languages: Counter[str] = Counter()
        self._operations: Counter[str] = Counter()
        self._domains: dict[str, list[str]] = {}
        for tool in tools.values():
            self._domains.setdefault(tool.domain, []).append(tool.name)
        self._similarity = similarity
        self._siblings: dict[str, str] = {}
        self._dependencies: tuple[Dependency, ...] = ()
        self._beginnings: Counter[str] = Counter()
        self._count = 0

    def follow(self, dependencies: Sequence[Dependency]) -> None:
        """Draws further chains of tools along dependencies, and no tools together that have none."""
        self._dependencies = tuple(dependencies)

    def leave_out(self, names: Collection[str]) -> None:
        """Draws no more drafts that need or offer some tools."""
        self._tools = {name: tool for name, tool in self._tools.items() if name not in names}
        domains = {domain: [name for name in tools if name in self._tools] for domain, tools in self._domains.items()}
        self._domains = {domain: tools for domain, tools in domains.items() if tools}
        self._dependencies = tuple(one for one in self._dependencies if {one.producer, one.consumer} <= {*self._tools})
        self._siblings.clear()

    def apportion(self, tasks: int) -> dict[str, int]:
        """Returns the number of tasks of each kind, by the quotas and largest remainders.

        Kinds that these tools do not allow are left out; their share goes to the others.

        Raises:
            ValueError: No kind is left.
        """
        shares = {kind: share for kind, share in self._quotas.kinds.items() if share and self._can(kind)}
        if not shares:
            raise ValueError(f'these tools allow no task of the kinds that are wanted: {", ".join(self._quotas.kinds)}')
        total = sum(shares.values())
        exact = {kind: share / total * tasks for kind, share in shares.items()}
        counts = {kind: int(count) for kind, count in exact.items()}
        for kind in sorted(exact, key=lambda kind: counts[kind] - exact[kind])[: tasks - sum(counts.values())]:
            counts[kind] += 1
        return {kind: count for kind, count in counts.items() if count}

    def draw(self, counts: Mapping[str, int]) -> Iterator[Draft]:
        """Draws further drafts: kind -> how many; none of a kind that the tools that are left do not allow."""
        return (self._draw(kind) for kind, count in counts.items() if self._can(kind) for _ in range(count))

    def _draw(self, kind: str) -> Draft:
        language = self._next(self._languages, self._quotas.languages)
        operation = self._next(self._operations, self._quotas.operations) if kind == ORDINARY else ''
        needed = self._needed(kind)
        missing = self._random.choice(self._tools[needed[0]].required) if kind == MISSING_PARAMETER else ''
        other = self._forbidden(needed) if kind == FORBIDDEN else self._sibling(needed[0]) if kind == SIBLINGS else ''
        offered = self._offered(needed, other)
        between = tuple(one for one in self._dependencies if one.producer in needed and one.consumer in needed)
        self._count += 1
        return Draft(f'task_{self._count}', kind, language, needed, offered, operation, other, missing, between)

    def _can(self, kind: str) -> bool:
        if kind in (FORBIDDEN, SIBLINGS):
            return len(self._tools) > 1
        return (bool(self._tools) and kind != MISSING_PARAMETER) or any(tool.required for tool in self._tools.values())

    def _next(self, drawn: Counter[str], shares: Mapping[str, float]) -> str:
        """The choice that is furthest below its share, so that quotas hold for any number of drafts."""
        total = sum(shares.values())
        chosen = max(shares, key=lambda name: (shares[name] / total * (drawn.total() + 1) - drawn[name], shares[name]))
        drawn[chosen] += 1
        return chosen

    def _needed(self, kind: str) -> tuple[str, ...]:
        is_chain = kind in (ORDINARY, RECOVERY)
        length = self._weighted(self._quotas.lengths) if is_chain else 1
        if is_chain and self._dependencies:
            return self._chain(length)
        domains = self._draw_domains(self._weighted(DOMAINS_OF_TEVAL) if is_chain else 1)
        pool = [name for domain in domains for name in self._domains[domain]]
        if kind == MISSING_PARAMETER:
            pool = [name for name in self._tools if self._tools[name].required]
        needed: list[str] = []
        while len(needed) < min(length, len(pool)):
            needed.append(self._rarest([name for name in pool if name not in needed], needed))
        return tuple(needed)

    def _chain(self, length: int) -> tuple[str, ...]:
        """Draws tools along dependencies, or one that has none."""
        linked = [name for name in self._tools if self._neighbours([name])]
        alone = [name for name in self._tools if name not in linked]
        weights = {'linked': len(linked), 'alone': WEIGHT_ALONE * len(alone)}
        begins_alone = self._next(self._beginnings, weights) == 'alone'
        first = min(self._shuffled(alone if begins_alone else linked), key=lambda name: self._begun[name])
        self._begun[first] += 1
        self._drawn[first] += 1
        needed = [first]
        while len(needed) < length and (left := self._neighbours(needed)):
            needed = self._placed(needed, self._rarest(left, needed))
        return tuple(needed)

    def _rarest(self, names: Sequence[str], needed: Sequence[str]) -> str:
        """Draws the tool that was drawn least often, and of several the one that was least often with needed ones."""
        pairs = {name: [frozenset((name, one)) for one in needed] for name in names}
        rarest = min(
            self._shuffled(names), key=lambda name: (self._drawn[name], sum(self._pairs[pair] for pair in pairs[name]))
        )
        self._pairs.update(pairs[rarest])
        self._drawn[rarest] += 1
        return rarest

    def _shuffled(self, names: Sequence[str]) -> list[str]:
        return self._random.sample(names, len(names))

    def _neighbours(self, needed: Sequence[str]) -> list[str]:
        """Returns the tools that depend on a needed one, or that one depends on."""
        pairs = [(one.producer, one.consumer) for one in self._dependencies]
        ends = [*pairs, *((consumer, producer) for producer, consumer in pairs)]
        return list(dict.fromkeys(other for one, other in ends if one in needed and other not in needed))

    def _placed(self, needed: Sequence[str], name: str) -> list[str]:
        """Returns needed tools with one more: after those that it depends on, or before those that depend on it."""
        producers = {one.producer for one in self._dependencies if one.consumer == name}
        consumers = {one.consumer for one in self._dependencies if one.producer == name}
        index = len(needed)
        if producers.isdisjoint(needed):
            index = next((at for at, tool in enumerate(needed) if tool in consumers), index)
        return [*needed[:index], name, *needed[index:]]

    def _draw_domains(self, count: int) -> list[str]:
        domains = list(self._domains)
        self._random.shuffle(domains)
        rarity = {name: min(self._drawn[tool] for tool in tools) for name, tools in self._domains.items()}
        return sorted(domains, key=lambda name: rarity[name])[:count]

    def _weighted(self, weights: Mapping[int, float]) -> int:
        return self._random.choices(list(weights), list(weights.values()))[0]

    def _forbidden(self, needed: Sequence[str]) -> str:
        """The tool most like the needed one, which is the most tempting; rather one that changes something."""
        others = [name for name in self._tools if name not in needed]
        writing = [name for name in others if self._tools[name].only_reads is False]
        sibling = self._sibling(needed[0])
        return sibling if sibling in (writing or others) else self._random.choice(writing or others)

    def _sibling(self, name: str) -> str:
        """The other tool whose description is most similar; ``''`` where there is no other."""
        if name not in self._siblings:
            others = [other for other in self._tools if other != name]
            text, *texts = (f'{one}: {self._tools[one].schema.description}' for one in (name, *others))
            self._similarity.prepare([text, *texts])
            # One row: of 10,000 tools the whole matrix has 800 MB.
            self._siblings[name] = others[int(self._similarity.matrix([text], texts)[0].argmax())] if others else ''
        return self._siblings[name]

    def _offered(self, needed: Sequence[str], other: str) -> tuple[str, ...]:
        chosen = dict.fromkeys([*needed, other] if other else needed)
        domains = {self._tools[name].domain for name in chosen}
        more = [name for name in self._tools if name not in chosen and self._tools[name].domain in domains]
        self._random.shuffle(more)
        offered = [*chosen, *more[: max(0, self._quotas.offered - len(chosen))]]
        return tuple(name for name in self._tools if name in offered)
