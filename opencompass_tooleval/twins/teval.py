"""Twins of T-Eval's records: the documented APIs of the prompt, the steps so far, and the gold."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.teval.data import CHOICES, FINISH, read_prompt
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.tool_docs.api_list import find_api_list, write_api_list
from opencompass_tooleval.twins.more import Most, Offered, inserted, others
from opencompass_tooleval.twins.names import Pool
from opencompass_tooleval.twins.translation import Translation, renamed_example
from opencompass_tooleval.twins.twin import LeftOutError, Make, Twin, in_another_order
from opencompass_tooleval.twins.values import Material, draw, leaves

Api = Mapping[str, Any]
Raw = Mapping[str, Any]
Messages = list[dict[str, Any]]

_PARAMETERS = ('required_parameters', 'optional_parameters')
_OPTION = re.compile(r'^([A-E])(: )(.+)$', re.MULTILINE)
_NO_APIS = 'its prompt describes no APIs'


def _messages(raw: Raw) -> Messages:
    return [{'role': message.role, 'content': message.content} for message in read_prompt(raw)]


def _apis(messages: Messages) -> tuple[Api, ...]:
    """Returns the documented APIs of the prompt.

    Raises:
        LeftOutError: The prompt documents no APIs.
    """
    spans = (find_api_list(message['content']) for message in messages if message['role'] == 'system')
    if not (apis := next((span.apis for span in spans if span), ())):
        raise LeftOutError(_NO_APIS)
    return apis


def _documented(messages: Messages, change: Callable[[Sequence[Api]], Sequence[Api]]) -> Messages:
    """Returns a prompt with changed APIs in its system messages."""
    changed: dict[str, str] = {}
    for message in messages:
        text = message['content']
        if message['role'] == 'system' and text not in changed and (span := find_api_list(text)):
            changed[text] = write_api_list(text, span, change(span.apis))
    return [{**message, 'content': changed.get(message['content'], message['content'])} for message in messages]


def _shuffled(items: Sequence[Any], rng: random.Random) -> list[Any]:
    return rng.sample(list(items), len(items))


# --- order ------------------------------------------------------------------------------------------------------------


def order(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Shuffles the APIs and the parameters of each; in a review, the options of the answer.

    Raises:
        LeftOutError: The prompt has neither APIs nor the five options.
    """
    messages = _messages(raw)
    if isinstance(raw.get('ground_truth'), dict) and raw['ground_truth'].get('answer') in CHOICES:
        return _options(raw, messages, rng)
    apis = _apis(messages)

    def shuffled() -> list[Api]:
        return [
            {**api, **{key: _shuffled(api[key], rng) for key in _PARAMETERS if key in api}}
            for api in _shuffled(apis, rng)
        ]

    changed = in_another_order(apis, shuffled)
    return Twin({**raw, 'origin_prompt': _documented(messages, lambda listed: changed if listed == apis else listed)})


def _options(raw: Raw, messages: Messages, rng: random.Random) -> Twin:
    """Gives the options of a review other letters; the prompt still lists them from A to E."""
    system = next(
        (message for message in messages if len(set(_OPTION.findall(message['content']))) == len(CHOICES)), None
    )
    if system is None:
        raise LeftOutError('its prompt has not the five options')
    letters = dict(zip(CHOICES, in_another_order(CHOICES, lambda: _shuffled(CHOICES, rng)), strict=True))
    text = {letters[letter]: option for letter, _, option in _OPTION.findall(system['content'])}
    system['content'] = _OPTION.sub(lambda match: match[1] + match[2] + text[match[1]], system['content'])
    gold = {**raw['ground_truth'], 'answer': letters[raw['ground_truth']['answer']]}
    return Twin({**raw, 'origin_prompt': messages, 'ground_truth': gold}, Translation(letters=letters))


# --- names ------------------------------------------------------------------------------------------------------------


def _fields(api: Api) -> Iterator[str]:
    for key in (*_PARAMETERS, 'return_data'):
        yield from (str(item['name']) for item in api.get(key) or () if isinstance(item, Mapping) and 'name' in item)


def _renamed(api: Api, names: Translation) -> Api:
    """Returns an API with new names for itself, its parameters and its returned fields, also in its example."""
    renamed: dict[str, Any] = {**names.described(api), 'name': names.name(api['name'])}
    for key in (*_PARAMETERS, 'return_data'):
        if key in api:
            renamed[key] = [
                {**item, 'name': names.fields.get(str(item['name']), item['name'])}
                if isinstance(item, Mapping) and 'name' in item
                else item
                for item in renamed[key] or ()
            ]
    if isinstance(api.get('Example'), Mapping):
        renamed['Example'] = renamed_example(api['Example'], names)
    return renamed


def _gold(raw: Raw) -> Any:
    """Returns the gold answer as data: a list of steps, or one call."""
    gold = raw['ground_truth']
    if not isinstance(gold, str):
        return gold
    return (
        parse_enclosed(gold, '[', ']').value if gold.lstrip().startswith('[') else parse_enclosed(gold, '{', '}').value
    )


_NAME_KEYS = ('name', 'action')
_ENVELOPE = ('id', 'name', 'args', 'thought', 'action')
"""Keys of a written call. These names stay, also where they are names of fields."""


def _renamed_call(call: Mapping[str, Any], names: Translation) -> dict[str, Any]:
    """Returns a gold call with new names."""
    renamed = dict(call)
    for key in _NAME_KEYS:
        if isinstance(call.get(key), str):
            renamed[key] = names.name(call[key])
    if 'args' in call:
        args = call['args']
        renamed['args'] = names.text(args) if isinstance(args, str) else names.data(args)
    return renamed


def _check_documented(calls: Sequence[Mapping[str, Any]], apis: Sequence[Api]) -> None:
    keys = {api['name']: {item['name'] for key in _PARAMETERS for item in api.get(key) or ()} for api in apis}
    for call in calls:
        name = next((call[key] for key in _NAME_KEYS if key in call), None)
        if name is None or name == FINISH:
            continue
        if name not in keys:
            raise LeftOutError('its gold calls an undocumented tool')
        args = call.get('args')
        if isinstance(args, Mapping) and not set(args) <= keys[name]:
            raise LeftOutError('its gold has undocumented keys')


def names(rows: Mapping[str, Raw], pool: Pool) -> Make:
    """Returns a function that renames tools, parameters and returned fields in documentation, calls and gold.

    Words of the request and of descriptions stay.
    """

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        messages = _messages(raw)
        apis, gold = _apis(messages), _gold(raw)
        _check_documented(gold if isinstance(gold, list) else [gold], apis)
        tools = list(dict.fromkeys(str(api['name']) for api in apis))
        template: Any = raw.get('template') if isinstance(raw.get('template'), Mapping) else {}
        reserved = {*_ENVELOPE, *map(str, template.values())}
        fields = list(dict.fromkeys(name for api in apis for name in _fields(api) if name not in reserved))
        new = Translation(*pool.draw(tools, fields, json.dumps(raw, ensure_ascii=False), rng))
        args = [call.get('args') for call in (gold if isinstance(gold, list) else [gold])]
        if any(new.data(text) != text for text in leaves([one for one in args if isinstance(one, Mapping)])):
            raise LeftOutError('its gold has names in values')
        prompt = _documented(messages, lambda apis: [_renamed(api, new) for api in apis])
        renamed = [_renamed_call(call, new) for call in gold] if isinstance(gold, list) else _renamed_call(gold, new)
        twin = {**raw, 'origin_prompt': _typed(prompt, new, 'action' in renamed), 'ground_truth': renamed}
        if 'API_list' in (raw.get('meta') or {}):
            twin['meta'] = {**raw['meta'], 'API_list': [new.name(name) for name in raw['meta']['API_list']]}
        return Twin(twin, new)

    return make


def _typed(messages: Messages, new: Translation, is_instruct: bool) -> Messages:
    """Returns a prompt with new names in the messages after the request: the steps so far, and the call to make.

    The request of ``instruct`` is itself the call to make: ``city = "Ghent"``.
    """
    pairs = re.compile(rf'(?<![\w"\'])({"|".join(map(re.escape, sorted(new.fields, key=len, reverse=True))) or "(?!)"})'
                       r'(?=[`*]{0,3}[ ]?[=:：])')  # fmt: skip
    changed, requests = [], 0
    for message in messages:
        requests += message['role'] == 'user'
        text = message['content']
        if message['role'] != 'system' and (requests > 1 or message['role'] != 'user' or is_instruct):
            text = new.text(text)
            if is_instruct:
                text = pairs.sub(lambda match: new.fields[match[1]], text)
        elif message['role'] == 'user':
            text = new.mentioned(text)
        changed.append({**message, 'content': text})
    return changed


# --- more -------------------------------------------------------------------------------------------------------------


_SAME_SERVICE = {
    'GaodeMap': 'BINGMap',
    'AirbnbSearch': 'BINGMap',
    'FilmDouban': 'FilmTMDB',
    'ArxivSearch': 'GoogleScholar',
}
"""Tool -> another tool that answers the same requests; for example, maps also find a place to stay."""
_FITS_ANY = 'GoogleSearch'
"""A tool that fits any request, so it is never added."""


def _offered(api: Api) -> Offered:
    name = str(api['name'])
    tool = name.partition('.')[0] if '.' in name else ''
    return Offered(name, _SAME_SERVICE.get(tool, tool), str(api.get('description', '')), api)


def more(rows: Mapping[str, Raw], most: Most) -> Make:
    """Returns a function that adds APIs of other records that belong to other tools."""
    pool: dict[str, Offered] = {}
    for raw in rows.values():
        for message in _messages(raw):
            span = find_api_list(message['content']) if message['role'] == 'system' else None
            offered = map(_offered, span.apis if span else ())
            pool |= {one.name: one for one in offered if one.group != _FITS_ANY and one.name not in pool}

    def make(record_id: str, raw: Raw, rng: random.Random) -> Twin:
        messages = _messages(raw)
        added = others([_offered(api) for api in _apis(messages)], pool, most, rng)
        twin = {**raw, 'origin_prompt': _documented(messages, lambda apis: inserted(apis, added, rng))}
        if 'API_list' in (raw.get('meta') or {}):
            names = [*raw['meta']['API_list'], *(api['name'] for api in added)]
            twin['meta'] = {**raw['meta'], 'API_list': names}
        return Twin(twin)

    return make


# --- values -----------------------------------------------------------------------------------------------------------


def values(record_id: str, raw: Raw, rng: random.Random) -> Twin:
    """Replaces values of a plan that its request contains verbatim.

    Raises:
        LeftOutError: No value can be replaced.
    """
    messages, gold = _messages(raw), _gold(raw)
    _apis(messages)
    documentation = '\n'.join(message['content'] for message in messages if message['role'] == 'system')
    request = '\n'.join(message['content'] for message in messages if message['role'] != 'system')
    calls = gold if isinstance(gold, list) else [gold]
    golds = [leaf for call in calls for leaf in leaves(call.get('args'))]
    counts = Counter(call.get('name') for call in calls)
    new = draw(Material(request, golds, documentation, list(counts.values())), rng)
    prompt = [
        message if message['role'] == 'system' else {**message, 'content': new.text(message['content'])}
        for message in messages
    ]
    changed = [{**call, 'args': new.data(call['args'])} if 'args' in call else call for call in calls]
    return Twin(
        {**raw, 'origin_prompt': prompt, 'ground_truth': changed if isinstance(gold, list) else changed[0]}, new
    )
