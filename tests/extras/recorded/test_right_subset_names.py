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
        pytest.param('plan_str', TEVAL, {'plan_str'}, id='bare'),
        pytest.param('tooleval-teval-plan_json_v2_zh-easytool', TEVAL, {'plan_json'}, id='data set'),
        pytest.param('gpt4_PLAN_STR_answers', TEVAL, {'plan_str'}, id='among other words'),
        pytest.param('reason_retrieve_understand_json_v1', TEVAL, {'reason_retrieve_understand_json'}, id='long'),
        pytest.param('instruct_v1', TEVAL, {'instruct'}, id='one word with its version'),
        pytest.param('tooleval-teval-instruct_v2', TEVAL, {'instruct'}, id='one word as a data set'),
        pytest.param('Qwen2.5-7B-Instruct', TEVAL, set(), id='a model'),
        pytest.param('qwen-7b-instruct_plan_json', TEVAL, {'plan_json'}, id='a model and a subset'),
        pytest.param('answers', TEVAL, set(), id='nothing'),
        pytest.param('tool_creation_awareness', ULTRATOOL, {'tool_creation_awareness'}, id='the longest'),
        pytest.param('tool_usage_zh', ULTRATOOL, {'tool_usage'}, id='with its language'),
        pytest.param('planning', ULTRATOOL, {'planning'}, id='one word'),
        pytest.param('planning_eval', ULTRATOOL, set(), id='judgements'),
        pytest.param('toolbench_selection_50-easytool', TOOLBENCH, {'selection_50'}, id='a number'),
        pytest.param('toolbench_success', TOOLBENCH, {'success'}, id='one word after its benchmark'),
        pytest.param('teval_instruct_v2', TEVAL, {'instruct'}, id='the same with its version'),
        pytest.param('agents_teval', AGENTS, {'teval'}, id="an agents' data set"),
        pytest.param('agents_teval_zh-easytool', AGENTS, {'teval_zh'}, id="an agents' data set with instructions"),
        pytest.param('tooleval-teval-agent-fc', AGENTS, {'teval'}, id="the abbr of an agents' data set"),
        pytest.param('my_tooleval-teval-agent-react-easytool', AGENTS, {'teval'}, id='the same within a name'),
        pytest.param('tooleval-teval-agents_plan', AGENTS, set(), id="no agents' data set"),
        pytest.param('tooleval-teval-plan_json_v2', AGENTS, set(), id="T-Eval's own"),
    ],
)
def test_names(name: str, subsets: tuple[str, ...], held: set[str]) -> None:
    assert named_subsets(name, subsets) == held
