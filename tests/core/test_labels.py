"""Every reason and metric has words, and all words belong to one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import opencompass_tooleval
from opencompass_tooleval.agents.scoring.scoring import LOOP
from opencompass_tooleval.agents.scoring.scoring import METRICS as AGENTS
from opencompass_tooleval.agents.toolbench.judged_scores import metrics_of
from opencompass_tooleval.agents.toolbench.judgements import KINDS
from opencompass_tooleval.benchmarks.funcqa.subsets import SUBSETS as FUNCQA
from opencompass_tooleval.benchmarks.restbench.subsets import SUBSETS as RESTBENCH
from opencompass_tooleval.benchmarks.teval.subsets import SUBSETS as TEVAL
from opencompass_tooleval.benchmarks.toolbench.subsets import SUBSETS as TOOLBENCH
from opencompass_tooleval.benchmarks.ultratool.subsets import SUBSETS as ULTRATOOL
from opencompass_tooleval.catalogue.labels import (
    FAULTS,
    REASONS,
    SOURCES,
    explained,
    words_of_reason,
)
from opencompass_tooleval.catalogue.metrics import all_metrics, words_of_metric
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.core.calls import observation
from opencompass_tooleval.core.scoring import result
from opencompass_tooleval.extras.conformance.subsets import SUBSETS as CONFORMANCE
from opencompass_tooleval.extras.preparing.retrieval import METRICS as RETRIEVAL
from opencompass_tooleval.extras.tasks.metrics import NAMES as TASKS

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
    tables = (TEVAL, ULTRATOOL, FUNCQA, RESTBENCH, TOOLBENCH, CONFORMANCE)
    metrics = {metric for subsets in tables for subset in subsets for metric in subset['metrics']}
    columns = {column for _, column in published_columns()}
    assert not [
        name
        for name in (*metrics, *columns, *RETRIEVAL, *AGENTS, *JUDGED, *TASKS)
        if not words_of_metric(name).sentence
    ]
    known = metrics | columns | set(RETRIEVAL) | set(AGENTS) | set(JUDGED) | set(TASKS)
    halves = {column.rpartition('_')[0] for column in columns}
    idle = [name for name in all_metrics() if name not in known | halves]
    assert not idle


def test_a_sentence_is_short_and_no_sentence_is_code() -> None:
    metrics = (row.words for row in all_metrics().values())
    for words in (*REASONS.values(), *metrics, *SOURCES.values(), *FAULTS.values()):
        assert 2 <= len(words.name) <= 32 and len(words.sentence) <= 110 and '_' not in words.name + words.sentence
    assert set(SOURCES) == set(observation.SOURCES) and set(FAULTS) == set(observation.FAULTS)
    assert words_of_reason('mine:odd_thing') == ('mine:odd thing', '')
    assert words_of_metric('odd_metric') == ('odd metric', '')
    assert words_of_metric('usage_awareness_global').name == 'Usage awareness, whole'
    assert words_of_metric('plan_str').name == 'Plan, text'
    assert explained(['args:missing', 'ok', 'mine:odd']) == ['args:missing: a gold argument is absent from the call']
