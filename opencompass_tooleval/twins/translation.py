"""Translates answers to a record into answers to its twin, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_CHOICE = re.compile(r'[^:]*:\s*(\S)|\s*(\S)', re.DOTALL)
"""Matches up to the character that T-Eval's review scores."""

_SPECIAL = re.compile(r'\w[_-]\w|[a-z][A-Z]')
_AS_TOOL = r'(?=["\']?\s(?:API|[Tt]ool|[Ee]ndpoint|[Pp]latform)\b)'
_JOINED = re.compile(r'\w[-_/]+\w')
_DOTTED = re.compile(r'[^\s.]+\.([^\s.]+)')
_DESCRIPTIONS = ('description', 'api_description')
BEFORE_VALUE, AFTER_VALUE = r'(?<![A-Za-z0-9])(?<![0-9][-./:,])', r'(?![A-Za-z0-9])(?![-./:,][0-9])'
"""Patterns before and after a whole value: 10 does not match in 2024-10-01 or 10.5."""


def key_of(name: str) -> str:
    """Returns the words of a name in lower case, between blanks."""
    return ' '.join(re.findall(r'[^\W_]+', name.lower()))


def _is_written_as_name(text: str) -> bool:
    """Tests if several words are joined, or capitalised except short ones."""
    words = re.findall(r'[^\W_]+', text)
    return bool(_JOINED.search(text)) or all(not word[0].islower() or len(word) < 4 for word in words)


def _inverse(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}


def _any_of(names: Iterable[str]) -> str:
    """Returns a pattern that matches any of the names, longest first; Markdown may have escaped the underscores."""
    longest = sorted(names, key=len, reverse=True)
    return '|'.join(re.escape(name).replace('_', r'\\?_') for name in longest) or r'(?!)'


@dataclass(frozen=True)
class Translation:
    """Replacements that turn an answer to a record into an answer to its twin.

    Attributes:
        tools: Names of tools -> new names, anywhere in a text.
        fields: Names of parameters and returned fields -> new names, as keys only.
        values: Values -> new values, as whole words.
        letters: Choices -> new choices, only at the place where the published scorer of T-Eval's review reads one.
        proper: Names that are not ordinary words, wherever a text mentions them -> new names: ``on Flixbus``.
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    proper: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def inverse(self) -> Translation:
        """The translation back."""
        return Translation(*map(_inverse, (self.tools, self.fields, self.values, self.letters, self.proper)))

    @cached_property
    def _escaped(self) -> dict[str, str]:
        """Values as JSON writes them in ASCII."""
        return {json.dumps(old)[1:-1]: json.dumps(new)[1:-1] for old, new in self.values.items() if not old.isascii()}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        dotted, plain = [[name for name in self.tools if ('.' in name) is is_dotted] for is_dotted in (True, False)]
        return re.compile(
            rf'(?P<dotted>{_any_of(dotted)})'
            rf'|(?<![A-Za-z0-9_])(?P<tool>{_any_of(plain)})(?![A-Za-z0-9_])'
            rf'|(?<=["\'])(?P<field>{_any_of(self.fields)})(?=\\?["\']\s{{0,9}}:)'
            rf'|(?P<escaped>{_any_of(self._escaped)})'
            rf'|{BEFORE_VALUE}(?P<value>{_any_of(self.values)}){AFTER_VALUE}'
        )

    def _replace(self, match: re.Match[str]) -> str:
        kind, name = match.lastgroup, match[0].replace('\\_', '_')
        table = {'field': self.fields, 'value': self.values, 'escaped': self._escaped}.get(str(kind), self.tools)
        return table[match[0] if match[0] in table else name]

    def text(self, text: str) -> str:
        """Translates a text: an answer, or a part of a prompt that is not natural language."""
        if self.letters and (match := _CHOICE.match(text)):
            at = match.end() - 1
            text = text[:at] + self.letters.get(text[at], text[at]) + text[at + 1 :]
        if self.tools or self.fields or self.values:
            return self._pattern.sub(self._replace, text)
        return text

    def words(self, text: str) -> str:
        """Translates a text that mentions fields as words, such as an error about a missing parameter."""
        pattern = rf'(?<![A-Za-z0-9_])(?:{_any_of(self.fields)})(?![A-Za-z0-9_])'
        return re.sub(pattern, lambda match: self.fields.get(match[0], match[0]), self.text(text))

    @cached_property
    def _mentions(self) -> re.Pattern[str]:
        names = sorted(self._mentioned, key=len, reverse=True)
        several = (r'[\W_]{1,4}'.join(key.split()) for key in sorted(self._several, key=len, reverse=True))
        named = '|'.join(map(re.escape, self.tools)) or '(?!)'
        forms = (*map(re.escape, names), *(f'(?i:{words})' for words in several), f'(?:{named}){_AS_TOOL}')
        any_name = '|'.join(forms)
        return re.compile(rf'(?<![A-Za-z0-9_])(?:{any_name})(?![A-Za-z0-9_])')

    @cached_property
    def _several(self) -> dict[str, str]:
        """Names of several words, in lower case -> new names."""
        return {key_of(name): new for name, new in self.tools.items() if ' ' in name and ' ' in key_of(name)}

    @cached_property
    def _mentioned(self) -> dict[str, str]:
        """Names that are not ordinary words, as descriptions mention them: ``save_file`` for PPT.save_file."""
        last = {_DOTTED.sub(r'\1', name): new for name, new in self.tools.items()}
        special = {name: new for name, new in {**self.fields, **last}.items() if _SPECIAL.search(name)}
        return {**special, **self.proper}

    def mentioned(self, text: str) -> str:
        """Translates names that are not ordinary words, in a text of natural language.

        Names of several words are translated also if they are joined or capitalised, ``list-titles`` or ``List
        Titles``, but not ``list titles``; other names of tools in front of a word such as API: ``the bitly tool``.
        """
        return self._mentions.sub(self._new_mention, text)

    def _new_mention(self, match: re.Match[str]) -> str:
        exact = self._mentioned.get(match[0]) or self.tools.get(match[0])
        if exact and (match[0] in self._mentioned or ' ' not in match[0] or not match[0].islower()):
            return exact
        return self._several[key_of(match[0])] if _is_written_as_name(match[0]) else match[0]

    def described(self, value: Any) -> Any:
        """Translates names in the descriptions of a tool's documentation, at any depth; ordinary words stay."""
        if isinstance(value, list):
            return [self.described(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        return {
            key: self.mentioned(item) if key in _DESCRIPTIONS and isinstance(item, str) else self.described(item)
            for key, item in value.items()
        }

    def name(self, name: str) -> str:
        """Translates the name of a tool."""
        return self.tools.get(name, name)

    def data(self, value: Any) -> Any:
        """Translates keys and values of JSON data: arguments of a call, or an observation."""
        if isinstance(value, Mapping):
            return {self.fields.get(key, key): self.data(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.data(item) for item in value]
        if isinstance(value, str):
            return self.text(value) if self.values or self.fields else value
        return self._number(value)

    def _number(self, value: Any) -> Any:
        """Translates a number; its type stays the same."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or str(value) not in self.values:
            return value
        return type(value)(self.values[str(value)])


def renamed_example(example: Mapping[str, Any], new: Translation) -> dict[str, Any]:
    """Returns the example of an EasyTool instruction with new names; its scenario names the tool."""
    return {
        **example,
        'Scenario': new.text(str(example.get('Scenario', ''))),
        'Parameters': new.data(example.get('Parameters')),
    }


SAME = Translation()
