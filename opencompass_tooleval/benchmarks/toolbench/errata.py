"""Errors in ToolBench's test files, and how each is treated. They do not change a score.

* ``relevant_twice``: an API occurs twice among the relevant ones; it counts once.
* ``query_twice``: two ids have the same request; both are used, as published.
* ``shared_name``: providers in several categories share a tool's name; they are one tool, since ``relevant APIs`` has
  no categories, and the first description of an API counts.
* ``parameter_twice``: a parameter is documented twice, or as required and as optional; the first counts.
* ``unfit_default``: a default does not have the documented type; it is shown unchanged.
* ``undescribed``: an API has no description; only its name is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.answers import unfit
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

KINDS = ('relevant_twice', 'query_twice', 'shared_name', 'parameter_twice', 'unfit_default', 'undescribed')


@dataclass(frozen=True)
class Erratum:
    """One error in the data.

    Attributes:
        where: Id of the record, or ``tool: API``.
        what: The repeated, missing or invalid part.
        kind: One of ``KINDS``.
    """

    where: str
    what: str
    kind: str


def _of_requests(rows: Sequence[Mapping[str, Any]]) -> Iterator[Erratum]:
    asked: set[str] = set()
    for row in rows:
        for pair, count in Counter(map(tuple, row['relevant APIs'])).items():
            if count > 1:
                yield Erratum(str(row['query_id']), ': '.join(pair), 'relevant_twice')
        query = ' '.join(row['query'].split()).casefold()
        if query in asked:
            yield Erratum(str(row['query_id']), row['query'], 'query_twice')
        asked.add(query)


def _of_names(rows: Iterable[Mapping[str, Any]]) -> Iterator[Erratum]:
    categories: dict[str, dict[str, None]] = {}
    for row in rows:
        for api in row['api_list']:
            categories.setdefault(api['tool_name'], {})[str(api.get('category_name') or '')] = None
    for tool, names in categories.items():
        if len(names) > 1:
            yield Erratum(tool, ', '.join(names), 'shared_name')


def _of_function(where: str, function: FunctionDoc) -> Iterator[Erratum]:
    raw: Mapping[str, Any] = function.raw if isinstance(function.raw, Mapping) else {}
    documented = [
        parameter['name'] for key in ('required_parameters', 'optional_parameters') for parameter in raw.get(key) or ()
    ]
    for name, count in Counter(documented).items():
        if count > 1:
            yield Erratum(where, name, 'parameter_twice')
    for parameter in (*function.required, *function.optional):
        if parameter.default != '' and unfit(parameter, parameter.default):
            yield Erratum(where, parameter.name, 'unfit_default')
    if not function.description.strip():
        yield Erratum(where, '', 'undescribed')


def find_errata(rows: Sequence[Mapping[str, Any]], tools: Iterable[ToolDoc]) -> list[Erratum]:
    """Lists the errors in one file.

    Args:
        rows: The rows, already checked.
        tools: The tools documented in the rows.
    """
    errata = [*_of_requests(rows), *_of_names(rows)]
    for tool in tools:
        for function in tool.functions:
            errata += _of_function(f'{tool.name}: {function.name}', function)
    return errata
