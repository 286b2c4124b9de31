"""Makes instructions by rule, without a model (``--model template``), as the default without a model and as an
ablation.

The rules only shorten and rearrange the documentation. A description is the first sentence. An example is made from
defaults, enums and types, so its values are valid but may be meaningless; its scenario is a pattern. The paper's model
also adds facts from later sentences and from outside the documentation.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from opencompass_tooleval.tool_docs.instruction import ABSENT, Example, FunctionInstruction, Parameter, ToolInstruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, is_usage
from opencompass_tooleval.tool_docs.value_types import BOOLEANS, INTEGERS, LISTS, NUMBERS, OBJECTS

MAX_CHARS = 5_000
"""Maximum number of characters of a description to search for its first sentence."""

# '[a](https://x.org/b_(c))': a search up to the first closing bracket would leave a ')'.
_LINK = re.compile(r'!?\[([^\]\[]*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)')
# A full stop after a link ends the sentence and is not part of the link: 'see https://x.org/a.'
_BARE_LINK = re.compile(r'<?(?:https?://|\bwww\.)[^\s<>()，。；！？]*[^\s<>()，。；！？.,;:!?]>?')
# 'a < b and c > d' contains no tag.
_TAG = re.compile(r'</?[A-Za-z][^<>]*>')
_HEADING = re.compile(r'^\s*#{1,6}\s+', re.MULTILINE)
# '2*3*4' and 'snake_case_name' contain no emphasis.
_EMPHASIS = re.compile(r'(?<![0-9A-Za-z])(\*{1,3}|_{2,3})(?=\S)(.{1,200}?)(?<=\S)\1(?![0-9A-Za-z])')
# An id has both letters and digits: 'internationalization' is as long as an id.
_ID = re.compile(
    r'\b(?:api_)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b'  # api_b04d269d-c7dd-4b84-8e17-6fba24d64d3d
    r'|\b(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])[0-9A-Za-z]{16,}\b'  # 4iV5W9uYEdYUVa79Axb7Rh
)
_EMPTY = re.compile(r'\(\s*\)|\[\s*\]|``|""|\'\'')
_SPACE_BEFORE = re.compile(r'\s+([,.;:!?])')
_BLOCK = re.compile(r'\n\s*\n|\n\s*(?=[-*|•]\s|\|)')
_END = re.compile(r'[。！？]["”’）)]*|[.!?]+["”’)]*(?=\s|$)')
_LONGEST = 12
"""Number of characters to search for an abbreviation: the longest one and the space before it fit."""

_ABBREVIATION = re.compile(
    r'(?:^|[\s(])(?:e\.g|i\.e|etc|cf|vs|no|nr|incl|excl|approx|dr|mr|mrs|ms|prof|st|fig|eq|sec|ver|v|u\.s|u\.k|[A-Za-z])\.$',
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Returns a text without HTML, Markdown, links and ids; paragraphs stay separate."""
    text = _TAG.sub(' ', html.unescape(text[:MAX_CHARS]))
    text = _HEADING.sub('', _BARE_LINK.sub('', _LINK.sub(r'\1', text)))
    return _ID.sub('', _EMPHASIS.sub(r'\2', text))


def first_sentence(text: str) -> str:
    """Returns the first sentence of ``text``, English or Chinese, on one line; ``''`` without text.

    A paragraph, a list or a table also ends it. Abbreviations (``e.g.``), versions (``v1.2``) and decimals do not.
    """
    for block in _BLOCK.split(plain(text)):
        line = _SPACE_BEFORE.sub(r'\1', ' '.join(_EMPTY.sub('', block).split()))
        if not any(character.isalnum() for character in line):
            continue
        for end in _END.finditer(line):
            head = line[: end.end()]
            if any(character.isalnum() for character in head) and not _continues(head, line[end.end() :]):
                return head
        return line
    return ''


def _continues(head: str, rest: str) -> bool:
    """Tests if the full stop at the end of ``head`` belongs to an abbreviation."""
    return bool(rest.strip()) and _ABBREVIATION.search(head[-_LONGEST:]) is not None


OPTIONAL = 3
"""Number of optional parameters in the example of a function without required parameters."""

MAX_DEPTH = 5
"""Maximum nesting of a made-up list or object."""

MAX_VALUE = 40
"""Maximum length of a value in a scenario."""

_CHINESE = re.compile(r'[\u4e00-\u9fff]')
_VERB = re.compile(
    r'(?:add|access|analy[sz]e|book|buy|calculate|cancel|change|check|clear|compare|compute|convert|count|create|delete|'
    r'detect|discover|display|download|edit|estimate|extract|fetch|filter|find|follow|generate|get|identify|list|load|'
    r'look|make|modify|move|obtain|open|order|parse|pause|play|post|predict|provide|query|read|recommend|record|remove|'
    r'retrieve|return|run|save|scan|search|see|select|send|set|share|show|skip|sort|start|stop|submit|track|transfer|'
    r'translate|unfollow|update|upload|validate|verify|view|write)(?=\s)',
    re.IGNORECASE,
)
_FORMATS = {
    'date': '2024-01-31',
    'date-time': '2024-01-31T12:00:00Z',
    'time': '12:00:00',
    'email': 'user@example.com',
    'uri': 'https://example.com',
    'url': 'https://example.com',
}
_NUMBER, _TEXT = 456, 'example'


def _kind(parameter: Parameter) -> str:
    """Returns the type's first word in lower case: ``date`` for ``DATE (YYYY-MM-DD)``."""
    return re.split(r'[^a-z]', parameter.type.lower(), maxsplit=1)[0]


def _converted(value: Any, kind: str) -> Any:
    """Converts a documented value to its type, since ToolBench writes numbers as texts; ABSENT if impossible."""
    if kind in (*INTEGERS, *NUMBERS):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        # The length is checked because int() raises for 5,000 digits.
        if not isinstance(value, str) or len(value) > 30 or not re.fullmatch(r'\s*-?\d+(\.\d+)?\s*', value):
            return ABSENT
        number = float(value) if '.' in value else int(value)
        return number if kind not in INTEGERS or isinstance(number, int) else ABSENT
    if kind in BOOLEANS:
        return {'true': True, 'false': False}.get(str(value).strip().lower(), ABSENT)
    if kind in (*LISTS, *OBJECTS):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return ABSENT
        return value if isinstance(value, list if kind in LISTS else dict) else ABSENT
    if isinstance(value, (dict, list)) or value is None:
        return ABSENT if kind == 'string' or value is None else value
    return str(value).strip() if kind == 'string' else value


def _made_up(schema: Mapping[str, Any], kind: str, depth: int) -> Any:
    if kind in (*INTEGERS, *NUMBERS):
        low, high = schema.get('minimum'), schema.get('maximum')
        bounds = [bound for bound in (low, high) if isinstance(bound, (int, float)) and not isinstance(bound, bool)]
        return bounds[0] if bounds else _NUMBER
    if kind in BOOLEANS:
        return True
    if kind in LISTS:
        items = schema.get('items')
        return [_of_schema(items, depth + 1)] if isinstance(items, dict) and depth < MAX_DEPTH else []
    if kind in OBJECTS:
        properties, required = schema.get('properties'), schema.get('required')
        names = required if isinstance(required, list) else []
        known_properties = properties if isinstance(properties, dict) and depth < MAX_DEPTH else {}
        return {name: _of_schema(known_properties[name], depth + 1) for name in names if name in known_properties}
    return _FORMATS.get(str(schema.get('format', kind)), _TEXT)


def _of_schema(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict):
        return _TEXT
    read_keys = ('type', 'default', 'example')
    default = schema.get('default', schema.get('example', ABSENT))
    extra = {key: value for key, value in schema.items() if key not in read_keys}
    return sample_value(Parameter('', str(schema.get('type', '')), '', default, extra), depth)


def documented_value(parameter: Parameter) -> Any:
    """Returns the first default, example or enum value that fits the type, or ABSENT."""
    enum = parameter.extra.get('enum')
    for given in (parameter.default, *(enum if isinstance(enum, list) else ())):
        if given is not ABSENT and str(given).strip():
            value = _converted(given, _kind(parameter))
            if value is not ABSENT:
                return value
    return ABSENT


def sample_value(parameter: Parameter, depth: int = 0) -> Any:
    """Returns a valid value for a parameter: a documented value, or one made up for its type."""
    value = documented_value(parameter)
    return _made_up(parameter.extra, _kind(parameter), depth) if value is ABSENT else value


def _text(value: Any) -> str:
    """Formats a value for a path, a query or a scenario."""
    if isinstance(value, list):
        return ','.join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _location(parameter: Parameter, usage: str) -> str:
    """Returns ``path``, ``query``, ``body`` or ``header``; a parameter in the usage's path is always ``path``."""
    return 'path' if f'{{{parameter.name}}}' in usage else str(parameter.extra.get('in', 'query'))


def _call(function: FunctionDoc) -> dict[str, Any]:
    """Builds ``{'input': 'GET /search/movie?query=example'}``, as published; body parameters are additional keys."""
    usage, query, body = function.name, {}, {}
    for parameter in function.required:
        value = sample_value(parameter)
        location = _location(parameter, function.name)
        if location == 'path':
            # safe='': otherwise the slash in 'a/b' would split one part of the path into two.
            usage = usage.replace(f'{{{parameter.name}}}', quote(_text(value), safe=''))
        elif location == 'query':
            query[parameter.name] = _text(value)
        elif location == 'body':
            body[parameter.name] = value
    # quote_via: a space becomes '%20' as in a path; the default would be '+'.
    return {'input': usage + ('?' + urlencode(query, quote_via=quote) if query else ''), **body}


def _scenario_values(parameters: Iterable[Parameter], usage: str) -> dict[str, str]:
    """Selects the values for a scenario: path ids and short documented values, not made-up values."""
    filled = (p for p in parameters if _location(p, usage) == 'path' or documented_value(p) is not ABSENT)
    values = {parameter.name: _text(sample_value(parameter)) for parameter in filled}
    return {name: value for name, value in values.items() if len(value) <= MAX_VALUE}


def _scenario(name: str, sentence: str, values: Mapping[str, str]) -> str:
    line = sentence.rstrip('.。!！ ')
    if _CHINESE.search(line):
        given = '，'.join(f'{key} 为 {value}' for key, value in values.items())
        return f'如果你想使用“{name}”' + (f'，{given}。' if given else '。')
    given = ', '.join(f'{key} {value}' for key, value in values.items())
    wish = line[0].lower() + line[1:] if _VERB.match(line) else f"use '{name}'"
    return f'if you want to {wish}' + (f', with {given}.' if given else '.')


def _short(parameters: Iterable[Parameter], usage: str) -> tuple[Parameter, ...]:
    """Shortens descriptions to their first sentence; omits path parameters, since the function's name contains them."""
    return tuple(
        Parameter(
            parameter.name,
            parameter.type,
            first_sentence(parameter.description),
            ABSENT if parameter.default == '' else parameter.default,
            {key: value for key, value in parameter.extra.items() if key == 'enum' or (key, value) == ('in', 'body')},
        )
        for parameter in parameters
        if _location(parameter, usage) != 'path'
    )


def _function(function: FunctionDoc, *, described: bool) -> FunctionInstruction:
    sentence = first_sentence(function.description)
    rest = is_usage(function.name)
    chosen = function.required or (() if rest else function.optional[:OPTIONAL])
    parameters = _call(function) if rest else {parameter.name: sample_value(parameter) for parameter in chosen}
    return FunctionInstruction(
        function.name,
        sentence if described else '',
        _short(function.required, function.name),
        _short(function.optional, function.name),
        Example(_scenario(function.name, sentence, _scenario_values(chosen, function.name)), parameters),
    )


def _overview(doc: ToolDoc) -> str:
    """Formats name, purpose and list of functions, as in ToolBench's instructions (Table 8)."""
    count, sentence = len(doc.functions), first_sentence(doc.description)
    numbered = []
    for number, function in enumerate(doc.functions, 1):
        purpose = first_sentence(function.description)
        numbered.append(f"{number}. '{function.name}'" + (f': {purpose}' if purpose else ''))
    begin = f"'{doc.name}': {sentence} This tool" if sentence else f"'{doc.name}'"
    return f'{begin} has {count} API{"s" if count > 1 else ""}: ' + ' '.join(numbered)


def template_instruction(doc: ToolDoc) -> ToolInstruction:
    """Makes the instruction of one tool by rule.

    Returns:
        The description and one guideline per function. A tool's only function has an empty description if this equals
        the tool's.
    """
    alone = len(doc.functions) == 1 and doc.functions[0].description == doc.description
    description = first_sentence(doc.description) if alone else _overview(doc)
    functions = tuple(_function(function, described=not alone) for function in doc.functions)
    return ToolInstruction(doc.name, description or f"'{doc.name}'", functions)
