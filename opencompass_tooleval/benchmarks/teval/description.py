"""Description of T-Eval: its metrics, and the columns of its table (arXiv 2312.14033, Table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.teval.subsets import SUBSETS, VERSIONS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import Metric
from opencompass_tooleval.catalogue.metrics import halves

_ABILITIES = (
    Metric(
        'instruct',
        'Instruct',
        'follows instructions for one call: its format, and the share of correct arguments',
        rank=2,
    ),
    Metric('plan', 'Plan', 'plans all calls at once: F1 of the steps that match gold steps in order', rank=2),
    Metric('reason', 'Reason', 'states the next step: similarity of its thought to the gold thought', rank=2),
    Metric('retrieve', 'Retrieve', 'chooses the correct API', rank=2),
    Metric('understand', 'Understand', 'gives the correct arguments: their similarity to the gold arguments', rank=2),
)

METRICS = (
    *_ABILITIES,
    Metric('review', 'Review', 'reviews the result of a call: share of correct choices', rank=2),
    *halves(_ABILITIES, '_json', 'JSON', 'answers as JSON'),
    *halves(_ABILITIES, '_str', 'text', 'answers as text'),
    Metric('precision', 'Precision', 'share of predicted steps that match a gold step in order'),
    Metric('recall', 'Recall', 'share of gold steps that the plan has in order'),
    Metric('f1_score', 'F1', 'harmonic mean of precision and recall', rank=5),
    Metric('thought', 'Thought', 'similarity of the thought to the gold thought, by a sentence encoder', rank=7),
    # Arguments come before the name in this order.
    Metric('args', 'Arguments', 'similarity of the arguments to the gold arguments', rank=4),
    Metric('name', 'API', 'share of answers with the correct API', binary=True, rank=4),
    Metric('parse_rate', 'Parsed', 'share of answers that can be parsed', binary=True),
    Metric('review_quality', 'Review', 'share of correct choices', binary=True, rank=6),
    Metric('json_format_metric', 'Format, JSON', 'share of answers in the requested JSON format', binary=True),
    Metric('json_args_em_metric', 'Arguments, JSON', 'share of API and arguments that equal the gold call', rank=3),
    Metric('string_format_metric', 'Format, text', 'share of answers in the requested text format', binary=True),
    Metric('string_args_em_metric', 'Arguments, text', 'share of API and arguments that equal the gold call', rank=3),
)

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='teval',
    title='T-Eval',
    paper='arXiv 2312.14033',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], version): count for row in _ROWS for version, count in row['counts'].items()},
    protocols={version: version.partition('_')[0] for version in VERSIONS},
    words={'zh': 'Chinese', 'en': 'English', 'json': 'JSON', 'str': 'text', 'fc': 'function calling'},
)
