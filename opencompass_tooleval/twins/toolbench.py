"""Twins of ToolBench's records: the APIs of a request, and those that it needs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.twins.more import Most, Offered, inserted, others
from opencompass_tooleval.twins.names import Pool
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import Make, Twin

Raw = Mapping[str, Any]
_PARAMETERS = ('required_parameters', 'optional_parameters')
_APIS, _RELEVANT = 'api_list', 'relevant APIs'


def order(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Shuffles the APIs, and the parameters of each."""
    apis = [
        {**api, **{key: rng.sample(api[key], len(api[key])) for key in _PARAMETERS if api.get(key)}}
        for api in rng.sample(raw[_APIS], len(raw[_APIS]))
    ]
    return Twin({**raw, _APIS: apis})


def _parameters(api: Mapping[str, Any]) -> Iterator[str]:
    for key in _PARAMETERS:
        yield from (str(parameter['name']) for parameter in api.get(key) or () if 'name' in parameter)


def names(rows: Mapping[str, Raw], pool: Pool) -> Make:
    """Returns a function that renames tools, APIs and parameters; the records of a file share their tools and names."""
    apis = [api for raw in rows.values() for api in raw[_APIS]]
    calls = dict.fromkeys(name for api in apis for name in (api['tool_name'], api['api_name']))
    fields = dict.fromkeys(name for api in apis for name in _parameters(api))
    text = json.dumps(list(rows.values()), ensure_ascii=False)
    rng = random.Random(f'names/{pool.style}/{pool.seed}')
    _, new = pool.draw([], list(dict.fromkeys([*calls, *fields])), text, rng)
    translation = Translation({name: new[name] for name in calls}, {name: new[name] for name in fields})

    def renamed(api: Mapping[str, Any]) -> dict[str, Any]:
        parameters = {
            key: [{**one, 'name': new[str(one['name'])]} if 'name' in one else one for one in api[key]]
            for key in _PARAMETERS
            if api.get(key)
        }
        return {**translation.described(api), **{key: new[api[key]] for key in ('tool_name', 'api_name')}, **parameters}

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        relevant = [[new[name] for name in pair] for pair in raw[_RELEVANT]]
        return Twin({**raw, _APIS: list(map(renamed, raw[_APIS])), _RELEVANT: relevant}, translation)

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
