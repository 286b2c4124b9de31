"""The main score of each data set and each table: a metric of solved tasks."""

from __future__ import annotations

import pytest

from opencompass_tooleval.agents.tasks.records import TABLE as AGENTS
from opencompass_tooleval.agents.toolbench.judged_scores import metrics_of
from opencompass_tooleval.agents.toolbench.judgements import KINDS
from opencompass_tooleval.benchmarks.funcqa.subsets import SUBSETS as FUNCQA
from opencompass_tooleval.benchmarks.restbench.subsets import SUBSETS as RESTBENCH
from opencompass_tooleval.benchmarks.teval.subsets import FUNCTION_CALLING
from opencompass_tooleval.benchmarks.teval.subsets import SUBSETS as TEVAL
from opencompass_tooleval.benchmarks.toolbench.subsets import SUBSETS as TOOLBENCH
from opencompass_tooleval.benchmarks.ultratool.subsets import SUBSETS as ULTRATOOL
from opencompass_tooleval.catalogue.metrics import judged_metrics, lower_is_better, main_first, main_metrics
from opencompass_tooleval.catalogue.tables import published_columns

MAIN = {
    'teval instruct': ('json_args_em_metric', 'string_args_em_metric'),
    'teval plan_json': ('f1_score',),
    'teval plan_str': ('f1_score',),
    'teval reason_str': ('thought',),
    'teval retrieve_str': ('name',),
    'teval understand_str': ('args',),
    'teval reason_retrieve_understand_json': ('args', 'name'),
    'teval review_str': ('review_quality',),
    'teval-fc instruct': ('json_args_em_metric',),
    'teval-fc reason_retrieve_understand_json': ('args', 'name'),
    'ultratool planning': ('overall',),
    'ultratool tool_creation_awareness': ('global_accuracy',),
    'ultratool tool_creation': ('overall',),
    'ultratool tool_usage_awareness': ('global_accuracy',),
    'ultratool tool_selection': ('global_accuracy',),
    'ultratool tool_usage': ('local_levenshtein',),
    'ultratool tool_usage_repaired': ('local_levenshtein',),
    'ultratool tool_creation_awareness_32': ('global_accuracy',),
    'ultratool tool_creation_awareness_128': ('global_accuracy',),
    'ultratool tool_selection_32': ('global_accuracy',),
    'ultratool tool_selection_128': ('global_accuracy',),
    'restbench tmdb': ('correct_path_rate',),
    'restbench spotify': ('correct_path_rate',),
    'funcqa one_hop': ('accuracy',),
    'funcqa multi_hop': ('accuracy',),
    'toolbench selection_5': ('accuracy',),
    'toolbench selection_10': ('accuracy',),
    'toolbench selection_20': ('accuracy',),
    'toolbench selection_50': ('accuracy',),
    'toolbench calls_g2': ('error_free_rate',),
    'toolbench calls_g3': ('error_free_rate',),
    'toolbench success': ('success_rate',),
    'agents teval': ('all_calls_right',),
    'agents teval_zh': ('all_calls_right',),
    'agents toolbench_g1': ('call_f1',),
    'agents toolbench_g2': ('call_f1',),
    'agents toolbench_g3': ('call_f1',),
    'agents ultratool_zh': ('all_calls_right',),
    'agents ultratool_en': ('all_calls_right',),
}
ROOMS = {
    'teval': TEVAL,
    'teval-fc': FUNCTION_CALLING,
    'ultratool': ULTRATOOL,
    'restbench': RESTBENCH,
    'funcqa': FUNCQA,
    'toolbench': TOOLBENCH,
    'agents': [vars(subset) for subset in AGENTS],
}


def test_every_data_set() -> None:
    found = {f'{room} {row["name"]}': main_metrics(row['metrics']) for room, rows in ROOMS.items() for row in rows}
    assert found == MAIN
    formats = {
        name for name in sum(found.values(), ()) if 'format' in name or name.endswith(('parse_rate', 'json_rate'))
    }
    assert not formats and not [name for name in sum(found.values(), ()) if lower_is_better(name)]
    assert judged_metrics() == {'call_f1': 'solved_rate'}, (
        "of ToolBench's agents only a judge says that a task is solved"
    )


@pytest.mark.parametrize('kinds', [KINDS, *([kind] for kind in KINDS)])
def test_a_judge_goes_before_the_calls(kinds: list[str]) -> None:
    metrics = ('finish_rate', 'call_recall', 'call_precision', 'call_f1', *metrics_of(kinds), 'repeated_call_rate')
    assert main_metrics(metrics) == metrics_of(kinds)[:1]


def test_every_table() -> None:
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
