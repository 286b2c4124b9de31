"""Metrics and reasons of all benchmarks: each has one row, words, and its place among the main scores."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import opencompass_tooleval
from opencompass_tooleval.agents.scoring.scoring import LOOP
from opencompass_tooleval.agents.scoring.scoring import METRICS as AGENT_METRICS
from opencompass_tooleval.agents.toolbench.judged_scores import metrics_of
from opencompass_tooleval.agents.toolbench.judgements import KINDS
from opencompass_tooleval.benchmarks.teval.data import native_subset
from opencompass_tooleval.catalogue import metrics
from opencompass_tooleval.catalogue.benchmark import Benchmark, all_benchmarks
from opencompass_tooleval.catalogue.labels import FAULTS, REASONS, SOURCES, Metric, explained, words_of_reason
from opencompass_tooleval.catalogue.metrics import (
    OVERALL,
    all_metrics,
    judged_metrics,
    lower_is_better,
    main_first,
    main_metrics,
    words_of_metric,
)
from opencompass_tooleval.catalogue.subset_names import SubsetRow, Table
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.core.calls import observation
from opencompass_tooleval.core.scoring import result
from opencompass_tooleval.extras.preparing.retrieval import METRICS as RETRIEVAL
from opencompass_tooleval.extras.tasks.metrics import NAMES as TASKS
from opencompass_tooleval.plugin import BENCHMARKS
from tests.core.tables import NATIVE, TABLES

PACKAGE = Path(opencompass_tooleval.__file__).parent
JUDGED = metrics_of(KINDS)
AREAS = {reason.partition(':')[0] for reason in REASONS}
LISTS = ('labels.py', 'result.py')
CODE = re.compile(r'[a-z]{2,12}:[a-z]+(_[a-z]+)*')
OF_WRITTEN_INSTRUCTIONS = {'description', 'example', 'prompt'}
"""Faults of instructions that a model writes: they bring their own sentence, and are no reasons of samples."""


def reasons_in_code() -> set[str]:
    # What commands are named like is no reason: 'plan:show_plan' is a function.
    files = [file for file in PACKAGE.rglob('*.py') if file.name not in LISTS and file.parent.name != 'cli']
    texts = [file.read_text(encoding='utf-8') for file in files]
    trees = [ast.parse(text) for text in texts if CODE.search(text)]
    values = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    reasons = {value for value in values if isinstance(value, str) and CODE.fullmatch(value)}
    return {reason for reason in reasons if reason.partition(':')[0] in AREAS - OF_WRITTEN_INSTRUCTIONS}


def test_every_reason_has_words_and_every_word_a_reason() -> None:
    assert reasons_in_code() | {'ok', LOOP, result.TRUNCATED, result.OVER_BUDGET} == set(REASONS)
    for part in ('name', 'sentence'):
        words = Counter(getattr(row, part) for row in REASONS.values())
        assert not [text for text, count in words.items() if count > 1], part
    assert set(re.findall(r'``([a-z]+)``', str(result.__doc__))) == AREAS


def test_every_metric_and_column_has_words() -> None:
    of_subsets = {metric for table in TABLES.values() for subset in table for metric in subset.metrics}
    columns = {column for _, column in published_columns()}
    known = {*of_subsets, *columns, *RETRIEVAL, *AGENT_METRICS, *JUDGED, *TASKS}
    assert not [name for name in known if not words_of_metric(name).sentence]
    halves = {column.rpartition('_')[0] for column in columns}
    assert not [name for name in all_metrics() if name not in known | halves]


def test_a_sentence_is_short_and_no_sentence_is_code() -> None:
    of_metrics = (row.words for row in all_metrics().values())
    for words in (*REASONS.values(), *of_metrics, *SOURCES.values(), *FAULTS.values()):
        assert 2 <= len(words.name) <= 32 and len(words.sentence) <= 110 and '_' not in words.name + words.sentence
    assert set(SOURCES) == set(observation.SOURCES) and set(FAULTS) == set(observation.FAULTS)
    assert words_of_reason('mine:odd_thing') == ('mine:odd thing', '')
    assert words_of_metric('odd_metric') == ('odd metric', '')
    assert words_of_metric('usage_awareness_global').name == 'Usage awareness, whole'
    assert words_of_metric('plan_str').name == 'Plan, text'
    assert explained(['args:missing', 'ok', 'mine:odd']) == ['args:missing: a gold argument is absent from the call']


def test_every_metric_of_a_subset_has_one_row_and_meaning() -> None:
    for found in all_benchmarks():
        names = [row.name for row in found.metrics]
        assert len(names) == len(set(names)), found.name
        used = {metric for subset in TABLES[found.name] for metric in subset.metrics}
        assert used <= {*names, OVERALL}, found.name
        assert not [row.name for row in found.metrics if row.binary and not row.higher_is_better]
    # A judge's points are no right or wrong; else a name means the same everywhere.
    rows: dict[str, Metric] = {}
    for found in all_benchmarks():
        for row in found.metrics:
            other = rows.setdefault(row.name, row)
            assert (other.words, other.higher_is_better, other.rank) == (row.words, row.higher_is_better, row.rank)


def test_binary_metrics_and_names_of_subsets() -> None:
    assert TABLES['teval'].find('reason_retrieve_understand_json').binary_metrics == ('name', 'parse_rate')
    assert native_subset('instruct').binary_metrics == ('json_format_metric',)
    assert native_subset('reason_retrieve_understand_json').success == ()
    assert TABLES['funcqa'].find('one_hop').binary_metrics == ('accuracy', 'strict_accuracy')
    assert TABLES['ultratool'].find('planning').binary_metrics == (), 'a judge gives points'
    assert TABLES['agents'].find('toolbench_g2').binary_metrics == ('finish_rate',)
    table = Table(SubsetRow, ({'name': name, 'metrics': ()} for name in ('plan', 'review')), 'Riddles', 'part')
    assert table.find('review') is table[1]
    with pytest.raises(ValueError, match="Riddles has no part 'plam'; it has plan, review"):
        table.find('plam')


def test_a_benchmark_of_others_brings_its_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        Metric('guesses', 'Guesses', 'how often it guesses', higher_is_better=False),
        Metric('solved', 'Done', 'is right', rank=2),
    )
    monkeypatch.setattr(metrics, 'RIDDLES', Benchmark('riddles', 'Riddles', '', (), rows), raising=False)
    monkeypatch.setitem(BENCHMARKS, 'riddles', f'{metrics.__name__}:RIDDLES')
    assert words_of_metric('guesses') == ('Guesses', 'how often it guesses; lower is better')
    assert lower_is_better('riddles-short guesses') and not lower_is_better('solved')
    assert main_metrics(['guesses', 'solved']) == ('solved',)


def test_the_catalogue_names_no_benchmark() -> None:
    for file in (PACKAGE / 'catalogue').glob('*.py'):
        tree = ast.parse(file.read_text(encoding='utf-8'))
        prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in prose]
        texts = [value.lower().replace('-', '') for value in values if isinstance(value, str)]
        assert not [(file.name, text) for text in texts for name in {*BENCHMARKS} - {'agents'} if name in text]


MAIN = {
    'teval': {
        'json_args_em_metric string_args_em_metric': 'instruct',
        'f1_score': 'plan_json plan_str',
        'thought': 'reason_str',
        'name': 'retrieve_str',
        'args': 'understand_str',
        'args name': 'reason_retrieve_understand_json',
        'review_quality': 'review_str',
    },
    'teval-fc': {'json_args_em_metric': 'instruct', 'args name': 'reason_retrieve_understand_json'},
    'ultratool': {
        'overall': 'planning tool_creation',
        'global_accuracy': 'tool_creation_awareness tool_usage_awareness tool_selection tool_creation_awareness_32 '
        'tool_creation_awareness_128 tool_selection_32 tool_selection_128',
        'local_levenshtein': 'tool_usage tool_usage_repaired',
    },
    'restbench': {'correct_path_rate': 'tmdb spotify'},
    'funcqa': {'accuracy': 'one_hop multi_hop'},
    'toolbench': {
        'accuracy': 'selection_5 selection_10 selection_20 selection_50',
        'error_free_rate': 'calls_g2 calls_g3',
        'success_rate': 'success',
    },
    'agents': {
        'all_calls_right': 'teval teval_zh ultratool_zh ultratool_en',
        'call_f1': 'toolbench_g1 toolbench_g2 toolbench_g3',
    },
}


def test_the_main_score_of_every_data_set() -> None:
    for room, rows in {**TABLES, 'teval-fc': NATIVE}.items():
        found = {row.name: ' '.join(main_metrics(row.metrics)) for row in rows}
        assert found == {name: main for main, names in MAIN[room].items() for name in names.split()}
        assert not [name for main in found.values() for name in main.split() if lower_is_better(name)]
    assert judged_metrics() == {'call_f1': 'solved_rate'}, (
        "of ToolBench's agents only a judge says that a task is solved"
    )


@pytest.mark.parametrize('kinds', [KINDS, *([kind] for kind in KINDS)])
def test_a_judge_goes_before_the_calls(kinds: list[str]) -> None:
    metrics = ('finish_rate', 'call_recall', 'call_precision', 'call_f1', *metrics_of(kinds), 'repeated_call_rate')
    assert main_metrics(metrics) == metrics_of(kinds)[:1]


def test_the_main_score_of_every_table() -> None:
    tables: dict[str, list[str]] = {}
    for name, column in published_columns():
        tables.setdefault(name, []).append(column)
    for name, columns in tables.items():
        expected: tuple[str, ...] = ('overall',)
        if '-funcqa-' in name:
            expected = ('one_hop', 'multi_hop')
        elif '-agent-' in name:
            expected = ('solved_rate',)
        assert main_metrics(columns) == expected, name
    assert main_metrics(['plan_json', 'plan_str', 'plan', 'review']) == ('plan', 'review'), 'without an overall score'
    usage = ['creation_awareness_global', 'creation_awareness_local', 'usage']
    assert main_metrics(usage) == ('creation_awareness_global', 'usage')
    # Others have their first.
    assert main_metrics(['exact_match', 'length']) == ('exact_match',)
    assert main_metrics([]) == ()
    assert main_first(['parse_rate', 'review_quality']) == ['review_quality', 'parse_rate']
