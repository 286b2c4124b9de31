"""Kinds of variants of data sets.

A data set and its variant are a pair by name: ``X`` and ``X`` with the variant's suffix. Their records are paired by
id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX

Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Changes the valid records of a data file: id -> raw record. A record that is not returned is left out."""

KEPT = ('kept', 'kept_low', 'kept_high')
"""Columns with the share of points that a score keeps; only kinds with several variants have them."""


@dataclass(frozen=True)
class VariantKind:
    """A kind of variants: the pattern of their names, and their descriptions.

    Attributes:
        suffix: Ending of the abbr of a variant.
        original: Content of the original's prompts, such as ``documentation``; the name of a column.
        variant: Content of the variant's prompts instead, such as ``instructions``.
        title: Title for people, such as ``EasyTool instructions``.
        page: The name of the page that shows them, such as ``EasyTool``.
        question: Subject of the comparison, such as ``What instructions gain``.
        methods_of: Benchmarks in which the suffix names a method, not a variant.
        methods: Endings of names in which the suffix names a method, unless ``partners`` has them.
        published: Names of the published tables that its page shows.
        partners: Ending of a variant's name -> ending of its original's name, if that is not just the name without the
            suffix.
        several: True if an original has several variants, whose names continue after the suffix: ``X-twin-order``.
    """

    suffix: str
    original: str
    variant: str
    title: str
    page: str
    question: str
    methods_of: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    partners: tuple[tuple[str, str], ...] = ()
    several: bool = False

    def is_variant(self, name: str) -> bool:
        """Tests if a data set or a table is a variant of this kind, by its name."""
        if self.several:
            return f'{self.suffix}-' in name
        if not name.endswith(self.suffix) or name.removeprefix(OUR_PREFIX).startswith(self.methods_of):
            return False
        return not name.endswith(self.methods) or name.endswith(tuple(end for end, _ in self.partners))

    def original_of(self, name: str) -> str:
        """Returns the name of a variant's original."""
        if self.several:
            return name.rpartition(f'{self.suffix}-')[0]
        ends = next((ends for ends in self.partners if name.endswith(ends[0])), (self.suffix, ''))
        return name.removesuffix(ends[0]) + ends[1]

    def variant_of(self, name: str) -> str:
        """Returns the name of an original's variant."""
        ends = next((ends for ends in self.partners if name.endswith(ends[1])), (self.suffix, ''))
        return name.removesuffix(ends[1]) + ends[0]

    def label(self, original: str, variant: str) -> str:
        """Returns the name of a pair: the original's, or the variant's if an original has several variants."""
        return variant if self.several else original

    def sides(self, label: str) -> tuple[str, str]:
        """Returns the names of the original and the variant of a pair, given its :meth:`label`."""
        return (self.original_of(label), label) if self.several else (label, self.variant_of(label))

    def titled(self, name: str) -> tuple[str, str]:
        """Splits the name of a variant: the name without the ending, and the words for the ending."""
        if self.several:
            rest, _, ending = name.rpartition(f'{self.suffix}-')
            return rest, f'{self.title} {ending}'
        return name.removesuffix(self.suffix), self.title

    def without_seed(self, name: str) -> str:
        """Returns the name of a variant without the seed at its end: ``X-twin-order`` for ``X-twin-order-s1``."""
        rest, _, seed = name.rpartition('-s')
        return rest if self.several and seed.isdecimal() else name

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table, filled by :func:`~opencompass_tooleval.results.variants.row_of`."""
        scores = (self.original, self.variant, 'delta', 'low', 'high', 'records')
        tokens = (*self.token_columns('first_prompt'), *self.token_columns('task_prompts'))
        kept = KEPT if self.several else ()
        return ('model', 'dataset', 'metric', *scores, *kept, 'better', 'worse', *self.step_columns, *tokens)

    @property
    def step_columns(self) -> tuple[str, str]:
        """Columns of an agent's steps per task: of the original and of the variant."""
        return f'steps_{self.original}', f'steps_{self.variant}'

    def token_columns(self, of: str) -> tuple[str, str, str]:
        """Returns columns of tokens: of the original, of the variant, and the reduction in percent.

        Args:
            of: ``first_prompt``, the first prompt of a task, or ``task_prompts``, all prompts of a task together.
        """
        return f'{of}_{self.original}', f'{of}_{self.variant}', f'{of}_reduction'

    def pair_up(self, abbrs: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
        """Returns pairs of abbrs, original and variant, in their order; and the variants without a partner."""
        unique = dict.fromkeys(abbrs)
        variants = [abbr for abbr in unique if self.is_variant(abbr)]
        pairs = [(self.original_of(abbr), abbr) for abbr in variants]
        return [pair for pair in pairs if pair[0] in unique], [
            variant for first, variant in pairs if first not in unique
        ]


def find_variant(name: str) -> VariantKind:
    """Returns a kind of variants, one of :data:`~opencompass_tooleval.plugin.VARIANTS`."""
    kind: VariantKind = plugin.load(plugin.VARIANTS[name])
    return kind
