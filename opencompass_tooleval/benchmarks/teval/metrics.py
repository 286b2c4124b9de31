"""T-Eval's metrics, and the columns of its table (arXiv 2312.14033, Table 1): a row for each."""

from __future__ import annotations

from opencompass_tooleval.core.metrics import Metric, halves

_ABILITIES = (
    Metric(
        'instruct', 'Instruct', 'calls an API as it is told to: the format, and the share of right arguments', rank=2
    ),
    Metric('plan', 'Plan', 'plans all calls at once: F1 of the steps that match gold steps in order', rank=2),
    Metric('reason', 'Reason', 'says what to do next: likeness of its thought to the gold one', rank=2),
    Metric('retrieve', 'Retrieve', 'picks the right API', rank=2),
    Metric('understand', 'Understand', 'gives the right arguments: their likeness to the gold ones', rank=2),
)

METRICS = (
    *_ABILITIES,
    Metric('review', 'Review', 'tells whether a call did what it should: share of right choices', rank=2),
    *halves(_ABILITIES, '_json', 'JSON', 'answers as JSON'),
    *halves(_ABILITIES, '_str', 'text', 'answers as text'),
    Metric('precision', 'Precision', 'the share of its steps that match a gold step in order'),
    Metric('recall', 'Recall', 'the share of gold steps that it has in order'),
    Metric('f1_score', 'F1', 'harmonic mean of precision and recall', rank=5),
    Metric('thought', 'Thought', 'likeness of its thought to the gold one, by a sentence encoder', rank=7),
    # Arguments come before the name in this order.
    Metric('args', 'Arguments', 'likeness of its arguments to the gold ones', rank=4),
    Metric('name', 'API', 'share of answers with the right API', binary=True, rank=4),
    Metric('parse_rate', 'Parsed', 'share of answers that can be read', binary=True),
    Metric('review_quality', 'Review', 'share of right choices', binary=True, rank=6),
    Metric('json_format_metric', 'Format, JSON', 'share of answers in the JSON format that was asked for', binary=True),
    Metric('json_args_em_metric', 'Arguments, JSON', 'share of API and arguments that equal the gold ones', rank=3),
    Metric(
        'string_format_metric', 'Format, text', 'share of answers in the text format that was asked for', binary=True
    ),
    Metric('string_args_em_metric', 'Arguments, text', 'share of API and arguments that equal the gold ones', rank=3),
)
