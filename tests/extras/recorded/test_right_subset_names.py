"""The subset in the name of a file or of a data set."""

from __future__ import annotations

import pytest

from opencompass_tooleval.extras.recorded.right_subset import named_subsets

TEVAL = ('instruct', 'plan_json', 'plan_str', 'reason_str', 'reason_retrieve_understand_json', 'review_str')
ULTRATOOL = ('planning', 'tool_creation', 'tool_creation_awareness', 'tool_usage', 'tool_usage_awareness')
AGENTS = ('teval', 'teval_zh', 'toolbench_g1', 'ultratool_en')
TOOLBENCH = ('selection_5', 'selection_50', 'success')


@pytest.mark.parametrize(
    ('name', 'subsets', 'held'),
    [
        ('instruct_v1', TEVAL, {'instruct'}),
        ('Qwen2.5-7B-Instruct', TEVAL, set()),  # a model
        ('qwen-7b-instruct_plan_json', TEVAL, {'plan_json'}),
        ('tool_creation_awareness', ULTRATOOL, {'tool_creation_awareness'}),  # the longest
        ('planning_eval', ULTRATOOL, set()),  # judgements
        ('toolbench_selection_50-easytool', TOOLBENCH, {'selection_50'}),
        ('agents_teval_zh-easytool', AGENTS, {'teval_zh'}),
        ('my_tooleval-teval-agent-react-easytool', AGENTS, {'teval'}),
        ('tooleval-teval-agents_plan', AGENTS, set()),
        ('tooleval-teval-plan_json_v2', AGENTS, set()),  # T-Eval's own
    ],
)
def test_names(name: str, subsets: tuple[str, ...], held: set[str]) -> None:
    assert named_subsets(name, subsets) == held
