"""Twins of ToolBench's records: the APIs of a request, and those that it needs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.twins.more import Most, Offered, inserted, others
from opencompass_tooleval.twins.names import Pool
from opencompass_tooleval.twins.translation import Translation, key_of
from opencompass_tooleval.twins.twin import LeftOutError, Make, Twin, in_another_order

Raw = Mapping[str, Any]
_PARAMETERS = ('required_parameters', 'optional_parameters')
_APIS, _RELEVANT = 'api_list', 'relevant APIs'


def order(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Shuffles the APIs, and the parameters of each."""

    def shuffled() -> list[Raw]:
        return [
            {**api, **{key: rng.sample(api[key], len(api[key])) for key in _PARAMETERS if api.get(key)}}
            for api in rng.sample(raw[_APIS], len(raw[_APIS]))
        ]

    return Twin({**raw, _APIS: in_another_order(raw[_APIS], shuffled)})


def _parameters(api: Mapping[str, Any]) -> Iterator[str]:
    for key in _PARAMETERS:
        yield from (str(parameter['name']) for parameter in api.get(key) or () if 'name' in parameter)


def _says_more_than(name: str, api: Mapping[str, Any]) -> bool:
    return bool(set(key_of(str(api.get('api_description') or '')).split()) - set(key_of(name).split()))


def names(rows: Mapping[str, Raw], pool: Pool, is_choice: bool = False) -> Make:
    """Returns a function that renames tools, APIs and parameters; the records of a file share their tools and names.

    Args:
        rows: The records of the file.
        pool: The new names.
        is_choice: True if a tool is to be chosen. Otherwise, each needed API must have a description that says more
            than its name, since nobody could find it by a new name.
    """
    apis = [api for raw in rows.values() for api in raw[_APIS]]
    calls = dict.fromkeys(name for api in apis for name in (api['tool_name'], api['api_name']))
    fields = dict.fromkeys(name for api in apis for name in _parameters(api))
    text = json.dumps(list(rows.values()), ensure_ascii=False)
    rng = random.Random(f'names/{pool.style}/{pool.seed}')
    _, new = pool.draw([], list(dict.fromkeys([*calls, *fields])), text, rng)
    translation = Translation({name: new[name] for name in calls}, {name: new[name] for name in fields})

    siblings: dict[str, dict[str, str]] = {}
    for api in apis:
        siblings.setdefault(str(api['tool_name']), {})[str(api['api_name'])] = new[api['api_name']]

    def renamed(api: Mapping[str, Any], mentions: Translation) -> dict[str, Any]:
        described = mentions.described(api)
        parameters = {
            key: [{**one, 'name': new[str(one['name'])]} if 'name' in one else one for one in described[key]]
            for key in _PARAMETERS
            if api.get(key)
        }
        return {**described, **{key: new[api[key]] for key in ('tool_name', 'api_name')}, **parameters}

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        apis, needed = raw[_APIS], {tuple(pair) for pair in raw[_RELEVANT]}
        if not is_choice and not all(
            _says_more_than(api['api_name'], api) for api in apis if (api['tool_name'], api['api_name']) in needed
        ):
            raise LeftOutError('a needed API has no description but its name')
        tools = {str(api['tool_name']): new[api['tool_name']] for api in apis}
        called = {name: known for tool in tools for name, known in siblings[tool].items()} | tools
        proper = {name: known for name, known in tools.items() if name[:1].isupper()}
        mentions = Translation(called, {name: new[name] for api in apis for name in _parameters(api)}, proper=proper)
        relevant = [[new[name] for name in pair] for pair in raw[_RELEVANT]]
        changed = {_APIS: [renamed(api, mentions) for api in apis], _RELEVANT: relevant}
        return Twin({**raw, **changed, 'query': mentions.mentioned(raw['query'])}, translation)

    return make


def _offered(api: Mapping[str, Any]) -> Offered:
    description = str(api.get('api_description') or '')
    return Offered(f'{api["tool_name"]}: {api["api_name"]}', str(api.get('category_name') or ''), description, api)


def more(rows: Mapping[str, Raw], most: Most) -> Make:
    """Returns a function that adds APIs of other records, from other categories."""
    pool = {offered.name: offered for raw in rows.values() for offered in map(_offered, raw[_APIS])}

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        added = others(list(map(_offered, raw[_APIS])), pool, most, rng)
        return Twin({**raw, _APIS: inserted(raw[_APIS], added, rng)})

    return make
