"""Twins of UltraTool's records: the toolset, the given steps, and the gold."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.twins.more import Most, Offered, inserted, others
from opencompass_tooleval.twins.names import Pool
from opencompass_tooleval.twins.translation import Translation, renamed_example
from opencompass_tooleval.twins.twin import LeftOutError, Make, Twin, in_another_order
from opencompass_tooleval.twins.values import Material, draw, leaves

Raw = Mapping[str, Any]
_PROPERTIES, _REQUIRED = 'properties', 'required'
_TYPED = ('arguments', 'results')
_ENVELOPE = ('step', 'tool', 'param')
"""Keys of a written call. These names stay, also where they are names of fields."""
_REFERENCE = re.compile(r'<([^<>]*)>')
"""Matches a reference to the result of an earlier call."""
_IN_VALUES = 'its gold has names in values'
_SPECIAL = re.compile(r'_|[a-z][A-Z]|\d')
"""Matches a name that is not an ordinary word. As a value, it is from the documentation, like a name in ``<>``."""


def _toolset(raw: Raw) -> list[Mapping[str, Any]]:
    """Returns the toolset of a row.

    Raises:
        LeftOutError: The row has no toolset.
    """
    if not raw.get('toolset'):
        raise LeftOutError('it has no toolset')
    return list(raw['toolset'])


def _schema(value: Any, names: Mapping[str, str], rng: random.Random | None = None) -> Any:
    """Renames the properties of a schema at any depth, and shuffles them if ``rng`` is given."""
    if isinstance(value, list):
        return [_schema(item, names, rng) for item in value]
    if not isinstance(value, Mapping):
        return value
    changed = {key: _schema(item, names, rng) for key, item in value.items()}
    if isinstance(properties := changed.get(_PROPERTIES), dict):
        keys = rng.sample(list(properties), len(properties)) if rng else list(properties)
        changed[_PROPERTIES] = {names.get(key, key): properties[key] for key in keys}
        if isinstance(required := changed.get(_REQUIRED), list):
            changed[_REQUIRED] = [names.get(key, key) for key in required]
    return changed


def _tool(tool: Mapping[str, Any], new: Translation, rng: random.Random | None = None) -> dict[str, Any]:
    tool = new.described(tool)
    typed = {key: _schema(tool[key], new.fields, rng) for key in _TYPED if key in tool}
    example = tool.get('Example')
    if isinstance(example, Mapping):
        typed['Example'] = renamed_example(example, new)
    return {**tool, 'name': new.name(tool['name']), **typed}


def order(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Shuffles the tools, and the parameters and returned fields of each."""
    tools = _toolset(raw)

    def shuffled() -> list[Any]:
        return [_tool(tool, Translation(), rng) for tool in rng.sample(tools, len(tools))]

    return Twin({**raw, 'toolset': in_another_order(tools, shuffled)})


def _properties(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _properties(item)
    elif isinstance(value, Mapping):
        if isinstance(value.get(_PROPERTIES), Mapping):
            yield from value[_PROPERTIES]
        for item in value.values():
            yield from _properties(item)


def _check_gold(reference: Sequence[Any], tools: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    keys = {tool['name']: set(_properties(tool.get('arguments'))) for tool in tools}
    one = re.compile('|'.join(map(re.escape, names)) or '(?!)')
    special = '|'.join(map(re.escape, filter(_SPECIAL.search, names))) or '(?!)'
    word = re.compile(rf'(?<![A-Za-z0-9_])(?:{special})(?![A-Za-z0-9_])')

    def has_name(text: str) -> bool:
        return text in names or bool(word.search(text)) or any(map(one.search, _REFERENCE.findall(text)))

    for step in reference:
        param = step.get('param')
        if isinstance(param, Mapping):
            if step['tool'] not in keys:
                raise LeftOutError('its gold calls an undocumented tool')
            if not set(param) <= keys[step['tool']]:
                raise LeftOutError('its gold has undocumented keys')
            if any(has_name(str(leaf)) for leaf in leaves(param)):
                raise LeftOutError(_IN_VALUES)


def names(rows: Mapping[str, Raw], pool: Pool) -> Make:
    """Returns a function that renames tools, parameters and returned fields in toolset, given calls and gold.

    Other words of the request, the steps and the descriptions stay; names that steps and descriptions mention, such as
    ``file_write``, are renamed.
    """

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        tools = _toolset(raw)
        of_tools = list(dict.fromkeys(str(tool['name']) for tool in tools))
        documented = (name for tool in tools for key in _TYPED for name in _properties(tool.get(key)))
        fields = [name for name in dict.fromkeys(documented) if name not in _ENVELOPE]
        _check_gold(raw['reference'], tools, [*of_tools, *fields])
        new = Translation(*pool.draw(of_tools, fields, json.dumps(raw, ensure_ascii=False), rng))
        golds = (value for item in raw['reference'] for value in (item.get('param') or {}).values())
        if any(new.data(value) != value for value in golds):
            raise LeftOutError(_IN_VALUES)  # objects are compared as texts, and the new names have other lengths

        def step(item: Any) -> Any:
            if not isinstance(item, Mapping):
                return item
            tool = item.get('tool')
            param = {'param': new.data(item['param'])} if isinstance(item.get('param'), Mapping) else {}
            renamed = {'tool': new.name(tool)} if isinstance(tool, str) else {}
            return {**item, 'step': new.mentioned(str(item.get('step', ''))), **renamed, **param}

        changed: dict[str, Any] = {key: [step(item) for item in raw[key]] for key in ('input', 'reference')}
        if isinstance(raw.get('question'), str):
            changed['question'] = new.mentioned(raw['question'])
        return Twin({**raw, **changed, 'toolset': [_tool(tool, new) for tool in tools]}, new)

    return make


def _offered(tool: Mapping[str, Any]) -> Offered:
    return Offered(str(tool['name']), '', str(tool.get('description', '')), tool)


def more(rows: Mapping[str, Raw], most: Most) -> Make:
    """Returns a function that adds tools of other records."""
    pool = {str(tool['name']): _offered(tool) for raw in rows.values() for tool in raw.get('toolset') or ()}

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        tools = _toolset(raw)
        added = others([_offered(tool) for tool in tools], pool, most, rng)
        return Twin({**raw, 'toolset': inserted(tools, added, rng)})

    return make


def values(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Replaces values of the gold calls that the request contains verbatim, also in the steps.

    Raises:
        LeftOutError: No value can be replaced.
    """
    steps = '\n'.join(str(item.get('step')) for item in raw['input'] if isinstance(item, Mapping))
    golds = [leaf for item in raw['reference'] for leaf in leaves(item.get('param'))]
    documentation = json.dumps(raw.get('toolset'), ensure_ascii=False)
    new = draw(Material(str(raw.get('question') or ''), golds, documentation, more=steps), rng)

    def step(item: Any) -> Any:
        if not isinstance(item, Mapping):
            return item
        param = {'param': new.data(item['param'])} if isinstance(item.get('param'), Mapping) else {}
        return {**item, 'step': new.text(str(item['step'])), **param}

    changed = {key: [step(item) for item in raw[key]] for key in ('input', 'reference')}
    return Twin({**raw, 'question': new.text(raw['question']), **changed}, new)
