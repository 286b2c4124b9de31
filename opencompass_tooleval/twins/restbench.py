"""Twins of RestBench's tools: in another order, or with other words in paths of the same form."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from opencompass_tooleval.benchmarks.restbench.data import is_placeholder, normalise
from opencompass_tooleval.tool_docs.instruction import Parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc
from opencompass_tooleval.twins.names import Pool
from opencompass_tooleval.twins.twin import in_another_order

Tools = Mapping[str, FunctionDoc]


def shuffled(tools: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns the tools of a service in another order, the same for all its records."""
    rng = random.Random(f'order/{seed}')
    names = in_another_order(list(tools), lambda: rng.sample(list(tools), len(tools)))
    return {name: tools[name] for name in names}


def _words(tools: Tools) -> Iterator[str]:
    """Yields the words of paths, and the names of parameters; numbers of versions stay."""
    for name, function in tools.items():
        for segment in normalise(name).segments:
            word = segment[1:-1] if is_placeholder(segment) else segment
            if word and not word.isdecimal():
                yield word
        yield from (parameter.name for parameter in (*function.required, *function.optional))


def renamed(tools: Tools, pool: Pool) -> dict[str, FunctionDoc]:
    """Returns old name -> tool with its new name, the same for all records: ``GET /kvbqzt/{mwuexa}``."""
    text = json.dumps([function.description for function in tools.values()], ensure_ascii=False)
    rng = random.Random(f'names/{pool.style}/{pool.seed}')
    _, new = pool.draw([], list(dict.fromkeys(_words(tools))), text, rng)

    def segment(text: str) -> str:
        return f'{{{new[text[1:-1]]}}}' if is_placeholder(text) else new.get(text, text)

    def parameters(of: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return tuple(replace(parameter, name=new[parameter.name]) for parameter in of)

    new_tools = {}
    for name, function in tools.items():
        step = normalise(name)
        new_tools[name] = replace(
            function,
            name=f'{step.method} {"/".join(map(segment, step.segments))}',
            required=parameters(function.required),
            optional=parameters(function.optional),
            call_name='',
        )
    return new_tools
