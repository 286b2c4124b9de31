"""Checks every twin of the data at hand, by code of its own: nothing old is left, and the gold is right.

A twin that keeps an old name or value in another form, or whose gold is not the answer, measures neither memory nor
ability.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.adapter import ToolEvalAgentDataset
from opencompass_tooleval.benchmarks.restbench.task import ToolEvalRestBenchDataset
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.reading import Protocol
from opencompass_tooleval.benchmarks.teval.scoring import score_answers
from opencompass_tooleval.benchmarks.toolbench.task import ToolEvalToolBenchDataset
from opencompass_tooleval.benchmarks.ultratool.data import Record as UltraToolRecord
from opencompass_tooleval.benchmarks.ultratool.data import load_records as load_ultratool
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol as UltraToolProtocol
from opencompass_tooleval.benchmarks.ultratool.scoring import score_answers as score_ultratool
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from opencompass_tooleval.tool_docs.api_list import find_api_list
from opencompass_tooleval.twins import funcqa, toolbench
from opencompass_tooleval.twins.adapter import ToolEvalTwinDataset
from opencompass_tooleval.twins.names import OPAQUE, Pool
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import Changes
from tests.instructions.shared_data import DEMO, real
from tests.twins.support import ULTRATOOL, teval_pairs

long = partial(pytest.param, marks=pytest.mark.long)
LANGUAGES = [('Chinese-dataset', 'zh'), ('English-dataset', 'en')]

# --- reading texts: written apart from the package -------------------------------------------------------------------

GROUPS = re.compile(r'(?<=\d)[,，](?=\d\d\d(?!\d))')
ATOMS = re.compile(r'\d+(?:\.\d+)?|[^\W\d_]')


def atoms(text: str) -> str:
    """Letters, characters and numbers, with a mark where a word begins; no punctuation, case or commas in numbers."""
    words = re.findall(r'\d+(?:\.\d+)?|[^\W\d_\u3000-\u9fff]+|[\u3000-\u9fff]', GROUPS.sub('', text.lower()))
    return '|' + '|'.join(word for word in words if ATOMS.match(word)) + '|'


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)
    elif value is not None:
        yield str(value)


def forms(value: str) -> set[str]:
    """The value, and the name of the file if it is a path."""
    return {value, re.split(r'[/\\]', value.strip('"\''))[-1]}


def is_telling(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= 3 or sum(map(str.isdigit, text)) >= 2


def old_values(new: Translation, record: Any) -> list[str]:
    """The replaced values that a record still has, in any form."""
    everything = atoms('\n'.join(texts(record)))
    return [old for old in new.values for form in forms(old) if is_telling(form) and atoms(form) in everything]


def written_as_name(words: list[str], text: str) -> bool:
    """Tests if the words stand in the text as one name: capitalised, or joined by hyphens, underscores or slashes."""
    pattern = re.compile(r'(?<![^\W_])' + r'([\W_]{1,4})'.join(map(re.escape, words)) + r'(?![^\W_])', re.IGNORECASE)
    for match in pattern.finditer(text):
        joined = any(re.search(r'[-_/]', between) for between in match.groups())
        matched = re.findall(r'[^\W_]+', match[0])
        if joined or all(not word[0].islower() for word in matched if len(word) > 3):
            return True
    return False


NUMBERS = re.compile(r'(?<![A-Za-z0-9])(?<!\d[-./:,])\d{1,15}(?:\.\d{1,9})?(?![A-Za-z0-9])(?![-./:,]\d)')


def check_order_of_numbers(new: Translation, request: str) -> None:
    """New numbers stand in the order of the old ones, among themselves, inside a text, and beside those that stay."""
    numbers = {old: after for old, after in new.values.items() if re.fullmatch(r'-?\d+(\.\d+)?', old)}
    stay = {number: number for number in NUMBERS.findall(request) if number not in numbers}
    inside = [
        dict(zip(re.findall(r'\d\d+', old), re.findall(r'\d\d+', new), strict=True))
        for old, new in new.values.items()
        if not re.fullmatch(r'[\d年月日/.-]+', old)
    ]
    assert all(len(one) == len(two) for group in inside for one, two in group.items())
    for group in ({**numbers, **stay}, *inside):
        pairs = [(float(old), float(after)) for old, after in group.items() if len(old) < 16]
        changed = [pair for pair in pairs if pair[0] != pair[1]]
        assert not [(a, b) for a in changed for b in pairs if a[0] < b[0] and a[1] > b[1]], new.values


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize('seed', [0, 1, 2])
@pytest.mark.parametrize(('folder', 'language'), LANGUAGES)
def test_values_of_ultratool(folder: str, language: str, seed: int) -> None:
    file = real(f'ultratool/{folder}/test_set/tool_usage.json')
    originals = {record.id: record for record in load_ultratool(file, 'tool_usage', language)}
    changes = Changes(ULTRATOOL['values'], 'values', seed)
    twins = load_ultratool(file, 'tool_usage', language, changes)
    for twin in twins:
        raw, new = twin.raw, changes.translations[twin.id]
        own = [raw['question'], raw['input'], raw['reference'], raw['toolset']]
        assert old_values(new, own) == [], twin.id
        check_order_of_numbers(new, originals[twin.id].raw['question'])
    assert len(twins) > 600
    check_ultratool(twins, [originals[twin.id] for twin in twins], worst=1.0)


def check_ultratool(twins: list[UltraToolRecord], originals: list[UltraToolRecord], worst: float) -> None:
    """The gold scores what it scores in the original; the original's gold scores less, in ``worst`` of the twins."""
    rules = UltraToolProtocol('official', 'span')

    def scores(records: list[UltraToolRecord], golds: list[UltraToolRecord]) -> list[float]:
        answers = [json.dumps(one.raw['reference'], ensure_ascii=False) for one in golds]
        return [one.values['local_levenshtein'] or 0.0 for one in score_ultratool(records, answers, rules)]

    right, before = scores(twins, twins), scores(originals, originals)
    assert right == before and min(right) > 0
    memorised = scores(twins, originals)
    assert sum(a < b for a, b in zip(memorised, right, strict=True)) >= worst * len(twins)


@pytest.mark.parametrize(('subset', 'seed'), [('plan_json', 0), long('plan_str', 0), long('plan_json', 1)])
def test_values_of_teval(subset: str, seed: int) -> None:
    pairs = teval_pairs(real(f'teval/EN/{subset}_v1.json'), 'values', seed)
    assert len(pairs) > 250
    place = re.compile(r'(?<![\d.])-?\d{1,3}\.\d{4,}(?![\d.])')
    for original, twin, new in pairs:
        request = '\n'.join(one.content for one in twin.messages if one.role != 'system')
        assert old_values(new, [request, gold_answer(twin.record)]) == [], twin.record.id
        gold, asked = gold_answer(original.record), '\n'.join(one.content for one in original.messages)
        if [one for one in place.findall(gold) if one not in asked]:
            assert not [old for old in new.values if re.fullmatch(r'[A-Z][a-z]+(?:,? [A-Z][a-z]+)*', old)], gold
        assert gold != gold_answer(twin.record)
    check_teval(pairs, less=0)  # a match needs the name, and three quarters of its weight are of it


def check_teval(pairs: list[Any], less: float) -> None:
    """The gold scores what it scores in the original; the original's gold scores less, in a share of the twins."""
    rules, exact = Protocol('v1'), ExactSimilarity()

    def scores(records: int, golds: int) -> list[float]:
        answers = [Answer(gold_answer(pair[golds].record)) for pair in pairs]
        metric = 'f1_score'
        return [
            one.values[metric] or 0.0
            for one in score_answers([p[records].record for p in pairs], answers, rules, exact)
        ]

    right, before, memorised = scores(1, 1), scores(0, 0), scores(1, 0)
    assert right == before
    assert sum(a < b for a, b in zip(memorised, right, strict=True)) >= less * len(pairs)


# --- FuncQA: the answer is computed again ----------------------------------------------------------------------------

FUNCTIONS: dict[str, Any] = {
    'add': lambda *n: math.fsum(n),
    'subtract': lambda a, *n: a - math.fsum(n),
    'multiply': lambda *n: math.prod(n),
    'divide': lambda a, b: a / b,
    'power': lambda a, b: a**b,
    'sqrt': lambda a: a**0.5,
    'log': lambda a, base=10: math.log(a) / math.log(base),
    'ln': lambda a: math.log(a),
    'lcm': lambda *n: math.lcm(*map(int, n)),
    'gcd': lambda *n: math.gcd(*map(int, n)),
    'remainder': lambda a, b: a - b * math.floor(a / b) if isinstance(a, float) else a % b,
    'choose': lambda n, k: math.factorial(int(n)) // math.factorial(int(k)) // math.factorial(int(n - k)),
    'permutate': lambda n, k: math.factorial(int(n)) // math.factorial(int(n - k)),
}
CONSTANTS = {*range(11), 12, 24, 52, 60, 100, 180, 360, 365, 1000, 3600, 3.14, 3.1416, 3.14159}


def number(text: str) -> int | float:
    return int(text) if re.fullmatch(r'-?\d+', text) else float(text)


def in_question(question: str) -> list[int | float]:
    return [number(one.replace(',', '')) for one in re.findall(r'\d[\d,]*(?:\.\d+)?', question.replace(', ', ' '))]


def computed(raw: Mapping[str, Any]) -> tuple[float, list[int | float]]:
    """The exact result of the steps, and the numbers that are neither a result of a step before nor a constant."""
    results, asked = dict[int | float, Any](), list[int | float]()
    value: Any = None
    for step in raw.get('calculation') or [raw['func']]:
        name, inside, shown = re.fullmatch(r'<(\w+)>\(([^()]*)\)=(\S+)', step).groups()
        numbers = [number(one.strip()) for one in inside.split(',')]
        asked += [one for one in numbers if one not in results and one not in CONSTANTS]
        value = FUNCTIONS[name](*[results.get(one, one) for one in numbers])
        results |= {number(shown): value, value: value, float(value): value}
    return float(value), asked


@pytest.mark.parametrize('seed', [0, 1, 2, *map(long, range(3, 40))])
@pytest.mark.parametrize(('file', 'least'), [('funcqa_oh', 44), ('funcqa_mh', 20)])
def test_answers_of_funcqa(file: str, least: int, seed: int) -> None:
    made = 0
    for row, raw in enumerate(json.loads(real(f'funcqa/{file}.json').read_text(encoding='utf-8'))):
        try:
            twin = funcqa.values(str(row), raw, random.Random(f'{seed}/{row}'))
        except ValueError:
            continue
        made += 1
        question, answer = twin.raw['question'], float(twin.raw['answer'])
        exact, asked = computed(twin.raw)
        nearest = 'nearest integer' in question
        assert answer == round(exact) if nearest else abs(answer - exact) <= 5e-4 * abs(exact), (row, question, exact)
        there = in_question(question)
        assert all(one in there or any(abs(abs(a - b) - one) < 1e-9 for a in there for b in there) for one in asked), (
            row
        )
        published = float(str(raw['answer']).replace(',', ''))
        assert abs(published - answer) > 1e-3 * abs(answer) and question != raw['question']
        replaced = [old for old, new in twin.translation.values.items() if old != new]
        assert not [old for old in replaced if re.search(rf'(?<![\d.,]){re.escape(old)}(?![\d]|[.,]\d)', question)], row
        if 'remainders' in question:  # a divisor is greater than what it leaves
            assert answer > max(there[2:]), question
        assert 'digits' not in question and not re.search(r'least possible|largest integer', question), question
    assert made >= least


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('seed', [0, long(1)])
@pytest.mark.parametrize('file', ['G3_instruction', long('G2_category'), long('G1_instruction')])
def test_names_of_toolbench(file: str, seed: int) -> None:
    """Neither request nor documentation has a name of a tool or an API that is written as a name."""
    rows = {str(row['query_id']): row for row in json.loads(real(f'toolbench/{file}.json').read_text(encoding='utf-8'))}
    for is_choice in (False, True):
        changes = Changes(lambda rows: toolbench.names(rows, Pool(OPAQUE, seed), is_choice), 'names', seed)  # noqa: B023
        twins = changes(rows)
        for record_id, twin in twins.items():
            own = list(texts([twin['query'], [_documented(api) for api in twin['api_list']]]))
            for api in rows[record_id]['api_list']:
                for name in (api['tool_name'], api['api_name']):
                    words = re.findall(r'[^\W_]+', name)
                    if len(words) > 1 and ' ' in name.strip():
                        left = [text for text in own if written_as_name(words, text)]
                    else:
                        called = rf'(?<![^\W_]){re.escape(name)}["\']? (?:API|tool|endpoint|platform)\b'
                        left = [text for text in own if re.search(called, text)]
                    assert left == [], (record_id, name)
                if re.fullmatch(r'[A-Z]\w+', api['tool_name']):
                    assert not [text for text in own if re.search(rf'(?<!\w){api["tool_name"]}(?!\w)', text)], record_id
                pair = [api['tool_name'], api['api_name']]
                if pair in rows[record_id]['relevant APIs'] and not is_choice:
                    described = {*map(str.lower, re.findall(r'[^\W_]+', str(api['api_description'])))}
                    assert described - {*map(str.lower, re.findall(r'[^\W_]+', api['api_name']))}, record_id
        assert len(twins) == len(rows) if is_choice else len(twins) > len(rows) // 2


def _documented(api: Mapping[str, Any]) -> list[Any]:
    parameters = [one for key in ('required_parameters', 'optional_parameters') for one in api.get(key) or ()]
    return [api['api_description'], [one.get('description') for one in parameters]]


SPECIAL = re.compile(r'\w_\w|[a-z][A-Z]')


@pytest.mark.long
@pytest.mark.parametrize(('folder', 'language'), LANGUAGES)
@pytest.mark.parametrize('kind', ['names', 'plain'])
def test_names_of_ultratool(folder: str, language: str, kind: str) -> None:
    file = real(f'ultratool/{folder}/test_set/tool_usage.json')
    originals = {record.id: record for record in load_ultratool(file, 'tool_usage', language)}
    changes = Changes(ULTRATOOL[kind], kind)
    twins = load_ultratool(file, 'tool_usage', language, changes)
    for twin in twins:
        new, raw = changes.translations[twin.id], twin.raw
        own = '\n'.join(texts([raw['question'], raw['input'], raw['reference'], raw['toolset']]))
        words = {*re.findall(r'(?<![A-Za-z0-9_])[A-Za-z_]\w*', own)}
        assert not words & {name for name in (*new.tools, *new.fields) if SPECIAL.search(name)}, twin.id
    check_ultratool(twins, [originals[twin.id] for twin in twins], worst=1.0)


@pytest.mark.parametrize(('subset', 'kind'), [('plan_json', 'names'), long('plan_str', 'plain')])
def test_names_of_teval(subset: str, kind: str) -> None:
    pairs = teval_pairs(real(f'teval/EN/{subset}_v1.json'), kind)
    for original, twin, new in pairs:
        own = '\n'.join([*(one.content for one in twin.messages), gold_answer(twin.record)])
        words = {*re.findall(r'(?<![A-Za-z0-9_])[A-Za-z_]\w*(?:\.\w+)?', own)}
        assert not words & {name for name in (*new.tools, *new.fields) if SPECIAL.search(name)}, twin.record.id
        golds = [json.loads(gold_answer(sample.record)) for sample in (original, twin) if kind == 'names']
        values = [list(texts([ast.literal_eval(step['args']) for step in gold])) for gold in golds]
        assert not golds or values[0] == values[1], twin.record.id
    check_teval(pairs, less=0.98)  # a gold of one step scores the least that there is


# --- order -----------------------------------------------------------------------------------------------------------

KINDS = ('required', 'optional')
ORDERED: list[Any] = [
    (ToolEvalToolBenchDataset, 'calls_g3', 'toolbench', {}),
    long(ToolEvalToolBenchDataset, 'selection_5', 'toolbench', {'encoder': 'offline'}),
    (ToolEvalRestBenchDataset, 'tmdb', 'restbench', {}),
    (ToolEvalAgentDataset, 'toolbench_g3', 'toolbench', {}),
]


@pytest.mark.parametrize('seed', [0, long(1), long(2)])
@pytest.mark.parametrize(('original', 'name', 'folder', 'more'), ORDERED)
def test_another_order_is_another_prompt(original: Any, name: str, folder: str, more: Any, seed: int) -> None:
    settings = {'path': str(real(folder)), 'name': name, **more}
    before = {row['record_id']: row for row in original.load(**settings)}
    twins = list(ToolEvalTwinDataset.load(original, 'order', twin_seed=seed, **settings))
    assert len(twins) > 0.9 * len(before)
    columns = ('messages', 'record', 'tools')
    shown = [
        [str(one.get(column)).replace('"twin": {}', '') for column in columns]
        for row in twins
        for one in (row, before[row['record_id']])
    ]
    assert [first for first, second in zip(shown[::2], shown[1::2], strict=True) if first == second] == []


@pytest.mark.parametrize('seed', [0, long(1), long(2)])
def test_another_order_of_every_record_that_has_one(seed: int) -> None:
    for file in (*(DEMO / 'teval').rglob('*_v2*.json'), real('teval/EN/plan_json_v1.json')):
        for original, twin, _ in teval_pairs(Path(file), 'order', seed):
            before, after = ('\n'.join(one.content for one in sample.messages) for sample in (original, twin))
            span = find_api_list(original.messages[0].content)
            sets = [api.get(f'{kind}_parameters') or () for api in span.apis for kind in KINDS] if span else []
            has_one = span and len(span.apis) == 1 and max(map(len, sets)) < 2
            assert before != after or has_one, original.record.id
