"""Answers that want to break a scorer: they must run nothing, raise nothing and give a result that JSON holds.

How long they take to read is the subject of ``tests/test_hostile_readers.py``.
"""

from __future__ import annotations

import json


def with_value(value: str) -> str:
    return '[{"id": 0, "name": %s, "step": "1.1 b", "tool": %s, "args": %s}]' % (value, value, value)  # noqa: UP031


HOSTILE: dict[str, str] = {
    'code': '__import__("os").system("echo pwned")',
    'code_in_a_list': '["GET /search/movie", __import__("os").system("echo pwned")]',
    'power': '[9**9**9**9]',
    'empty': '',
    'blanks': ' \n\t ' * 2_500,
    'a_megabyte': 'x' * 1_000_000,
    'much_json': '[' + '{"id": 1, "name": "a", "args": "b"},' * 6_000 + '{}]',
    'brackets': '[' * 10_000,
    'closed_brackets': '[' * 10_000 + ']' * 10_000,
    'deep_lists': '[' + ('[' * 90 + ']' * 90 + ',') * 500 + ']',
    'deep_value': with_value('[' * 150 + ']' * 150),
    'deep_args': '{"thought": "t", "name": "n", "args": ' + '{"a":' * 150 + '1' + '}' * 150 + '}',
    'braces': '[' + '{"a":' * 3_000,
    'braces_in_prose': 'so: ' + '{ ' * 9_000,
    'closers': '[' + '}' * 10_000 + ']',
    'quotes': '["' + "'" * 15_000,
    'escaped_quotes': '["' + '\\"' * 9_000,
    'backslashes': '["' + '\\' * 15_001,
    'fences': '```json' * 2_500,
    'nested_fences': '```json\n```json\n{}\n```\n```',
    'thoughts': '<think>' * 2_500,
    'open_thought': '<think>' + '{"tool": "x"} ' * 1_000,
    'marks': 'Thought: \nAction: \n' * 900,
    'bullets': '- ' * 9_000,
    'arrows': 'GET /a -> ' * 1_900,
    'nul': '{"name": "\0", "tool": "\0"}\0',
    'surrogates': '{"thought": "\ud800", "name": "\udfff", "tool": "\ud83d", "args": {"\ud800": "\udc80"}}',
    'surrogates_in_a_list': with_value('"\ud800"'),
    'escaped_surrogates': r'["GET /\ud800", "GET /movie/\udfff"]',
    'nan': with_value('NaN'),
    'nan_in_an_object': '{"thought": NaN, "name": Infinity, "args": {"days": NaN}}',
    'infinite': '[{"id": 1e999, "name": Infinity, "tool": "a", "api": "b", "args": {"c": -Infinity}}]',
    'huge_decimal': with_value('9' * 10_000),
    'huge_hex': with_value('0x' + 'f' * 10_000),
    'big_hex': with_value('0x' + 'f' * 2_400),
    'signs': '[' + '-' * 15_000 + '1]',
    'sums': '[' + '+'.join(['1'] * 9_000) + ']',
    'attributes': 'a' + '.b' * 9_000,
    'lambdas': '[' + 'lambda:' * 2_500 + ']',
    'f_strings': '[f"' + '{' * 300 + '"]',
    'format': '["GET /{0.__class__.__mro__}", "GET /movie/{movie_id!r}"]',
    'escapes': r'[{"step": "1.1 \d\x"}]',
    'sets': with_value('{1, 2}'),
    'sets_in_an_object': '{"thought": {1, 2}, "name": b"x", "args": {(1, 2): {3}}}',
    'unhashable': '{[]: 1}',
    'number_keys': '[{1: 2, "step": "1.1 b", "tool": 1, "param": {1: 2}}]',
    'nothing_in_a_list': '[None, 1, "a", [], (), {}]',
    'objects_for_names': '[{"tool": ["a"], "api": {"b": 1}, "name": [], "parameters": 3, "step": None}]',
    'many_calls': json.dumps([{'id': i, 'name': f'Map.n{i}', 'tool': 'a', 'args': str(i)} for i in range(500)]),
    'equal_steps': json.dumps([{'id': 0, 'name': 'Map.route', 'args': {'place': 'Rome'}}] * 2_000),
    'one_long_step': '["GET /' + 'a/' * 9_000 + '"]',
    'many_lines': 'GET /search/movie: use Map.route\n' * 600,
    'first_steps': '1. ' * 6_000,
}
