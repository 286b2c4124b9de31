"""Description of UltraTool: its metrics, and the columns of its table (arXiv 2401.17167, Table 2).

``json_rate`` is the paper's Table 6, ``json_rate_unrepaired`` the share of answers that are JSON without repairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.tables import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.metrics import ACCURACY, Metric, halves

_OF_STEPS = (
    Metric('creation_awareness', 'Creation awareness', 'recognizes the steps for which no tool exists'),
    Metric('usage_awareness', 'Usage awareness', 'recognizes the steps that need a tool'),
    Metric('selection', 'Selection', 'chooses the tool of each step'),
)
_WHOLE = halves(_OF_STEPS, '_global', 'whole', 'share of plans in which every step is correct')

METRICS = (
    Metric('planning', 'Planning', 'score of the judge for the plan, in six dimensions', rank=2),
    *(replace(column, rank=2) for column in _WHOLE),
    Metric('creation', 'Creation', 'score of the judge for the created tools', rank=2),
    Metric('usage', 'Usage', 'gives the arguments of each step: similarity of the texts', rank=2),
    *_OF_STEPS,
    *halves(_OF_STEPS, '_local', 'steps', 'over single steps'),
    Metric('global_accuracy', 'Accuracy, whole', 'share of plans in which every step is correct', binary=True, rank=3),
    Metric('local_accuracy', 'Accuracy, steps', 'share of steps that are correct'),
    Metric(
        'local_levenshtein', 'Similarity, steps', 'similarity of the arguments of each step, by edit distance', rank=5
    ),
    Metric('json_rate', 'JSON', 'share of answers with readable JSON, after the published repairs', binary=True),
    Metric(
        'json_rate_unrepaired',
        'JSON, unrepaired',
        'share of answers with readable JSON, without repairs',
        binary=True,
    ),
    replace(ACCURACY, binary=False, by_judge=True),  # points
    *(
        Metric(name, label, f'judge: {sentence}', by_judge=True)
        for name, label, sentence in (
            ('completeness', 'Completeness', 'nothing that the task needs is missing'),
            ('executability', 'Executability', 'the steps can be executed'),
            ('syntactic_soundness', 'Syntax', 'each step is a correct sentence'),
            ('structural_rationality', 'Structure', 'order and division of the steps make sense'),
            ('efficiency', 'Efficiency', 'no step is unnecessary'),
            ('format_compliance', 'Format', 'the answer has the requested format'),
            ('content_reasonableness', 'Content', 'the content makes sense'),
            ('richness', 'Richness', 'the tools are described completely'),
        )
    ),
)

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='ultratool',
    title='UltraTool',
    paper='arXiv 2401.17167',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['count'] for row in _ROWS},
    words={'zh': 'Chinese', 'en': 'English'},
)
