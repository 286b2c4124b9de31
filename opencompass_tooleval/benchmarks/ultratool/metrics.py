"""UltraTool's metrics, and the columns of its table (arXiv 2401.17167, Table 2): a row for each.

``json_rate`` is the paper's Table 6, ``json_rate_unrepaired`` the share of answers that are JSON without repairs.
"""

from __future__ import annotations

from dataclasses import replace

from opencompass_tooleval.core.metrics import ACCURACY, Metric, halves

_OF_STEPS = (
    Metric('creation_awareness', 'Creation awareness', 'knows for which steps no tool is there'),
    Metric('usage_awareness', 'Usage awareness', 'knows for which steps a tool is needed'),
    Metric('selection', 'Selection', 'chooses the tool of each step'),
)
_WHOLE = halves(_OF_STEPS, '_global', 'whole', 'share of plans in which every step is right')

METRICS = (
    Metric('planning', 'Planning', 'the judge on six sides of the plan', rank=2),
    *(replace(column, rank=2) for column in _WHOLE),
    Metric('creation', 'Creation', 'the judge on the tools that it makes up', rank=2),
    Metric('usage', 'Usage', 'gives the arguments of each step: likeness of the texts', rank=2),
    *_OF_STEPS,
    *halves(_OF_STEPS, '_local', 'steps', 'over single steps'),
    Metric('global_accuracy', 'Accuracy, whole', 'share of plans in which every step is right', binary=True, rank=3),
    Metric('local_accuracy', 'Accuracy, steps', 'share of steps that are right'),
    Metric('local_levenshtein', 'Likeness, steps', 'likeness of the arguments of each step, by edit distance', rank=5),
    Metric(
        'json_rate', 'JSON', 'share of answers that hold readable JSON, small faults fixed as published', binary=True
    ),
    Metric(
        'json_rate_unrepaired',
        'JSON as it is',
        'share of answers that hold readable JSON with nothing fixed',
        binary=True,
    ),
    replace(ACCURACY, binary=False),  # points from a judge
    Metric('completeness', 'Completeness', 'the judge: nothing that the task needs is missing'),
    Metric('executability', 'Executability', 'the judge: the steps can be carried out'),
    Metric('syntactic_soundness', 'Syntax', 'the judge: each step is a sound sentence'),
    Metric('structural_rationality', 'Structure', 'the judge: the steps are ordered and divided with sense'),
    Metric('efficiency', 'Efficiency', 'the judge: no step is needless'),
    Metric('format_compliance', 'Format', 'the judge: the format is the one that was asked for'),
    Metric('content_reasonableness', 'Content', 'the judge: the content makes sense'),
    Metric('richness', 'Richness', 'the judge: the tools are described in full'),
)
