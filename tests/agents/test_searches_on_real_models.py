"""ToolBench's loops and EasyTool's method on tiny real models in this process."""

from __future__ import annotations

from pathlib import Path

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.loops.easytool import EasyTool
from tests.agents.support import PRODUCT
from tests.agents.test_loops_on_real_models import calling, local, run, with_template
from tests.models.tool_templates import HERMES

__all__ = ['calling']


def test_a_local_model_that_calls(calling: Path) -> None:
    model = local(calling, 8192)
    for trajectory in run(ToolBenchReAct(max_depth=6), model):
        assert [(call.name, call.arguments, call.observation) for call in trajectory.calls] == [(*PRODUCT, '300')] * 3
        assert (trajectory.stopped, [step.parent for step in trajectory.steps]) == ('limit:steps', [-1, 0, 1])
    for trajectory in run(DepthFirstSearch(max_depth=4), model):
        assert [step.parent for step in trajectory.steps] == [-1, 0, 0, -1, 3, 3]
        assert len(trajectory.calls) == 6 and trajectory.stopped == 'limit:steps'
        # The second child is shown what the first did: it is asked more.
        first, second = (step.usage['prompt'] for step in trajectory.steps[1:3] if step.usage)
        assert second > first + 100


def test_a_local_model_that_talks(tiny_model: Path, tmp_path: Path) -> None:
    model = local(with_template(tiny_model, tmp_path, HERMES), 8192)
    for trajectory in run(DepthFirstSearch(max_depth=2), model):
        assert [step.parent for step in trajectory.steps] == [-1, 0, 0, -1, 3, 3]
        assert all(step.text and not step.calls for step in trajectory.steps)


def test_easytools_method_with_a_model_that_nobody_can_read(tiny_model: Path) -> None:
    for trajectory in run(EasyTool(max_requests=2), local(tiny_model)):
        assert [(step.purpose, step.reason) for step in trajectory.steps] == [
            ('task_decompose', 'parse:not_a_literal')
        ] * 2
        assert (trajectory.stopped, trajectory.final_answer) == ('plan:no_tasks', '')
    (cut, *_) = run(EasyTool(), local(tiny_model, 64))
    assert (cut.stopped, cut.steps) == ('limit:context', ())
