"""All loops on tiny real models, in this process and served."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from opencompass_tooleval.environments.environment import Environment, Session
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.local_chat import ToolEvalHFChat
from tests.agents.support import PRODUCT, TASK, Tools, session_of
from tests.conftest import load_tool
from tests.models.test_transformers_serve import served  # noqa: F401 (a fixture)
from tests.models.tool_templates import HERMES

NAME, ARGUMENTS = PRODUCT
OUT_LEN = 48
LENIENT = HERMES.replace('message.content', '(message.content or "")')
"""A server passes on that nothing was said beside a call."""


def with_template(model: Path, folder: Path, template: str) -> Path:
    copied = shutil.copytree(model, folder / 'model')
    (copied / 'chat_template.jinja').write_text(template, encoding='utf-8')
    return copied


@pytest.fixture(scope='module')
def calling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that makes one call whatever it is asked, and never finishes."""
    folder = tmp_path_factory.mktemp('calling')
    made = load_tool('make_tiny_model').make_calling_model(folder / 'made', NAME, ARGUMENTS)
    return with_template(made, folder, LENIENT)


def local(model: Path, max_seq_len: int = 4096) -> ToolEvalHFChat:
    return ToolEvalHFChat(path=str(model), max_seq_len=max_seq_len, generation_kwargs={'do_sample': False})


def run(loop: Loop, model: object, make_session: Callable[[], Session] = session_of) -> list[Trajectory]:
    dialogues = {f'q{number}': loop.run(TASK, make_session()) for number in range(3)}
    outcomes = DialogueRunner(model, None, OUT_LEN, batch_size=2).run(dialogues)
    trajectories = [outcome.value for outcome in outcomes.values() if outcome.value]
    assert [outcome.infra for outcome in outcomes.values()] == [None] * 3
    assert all(parse_trajectory(trajectory.to_json()) == trajectory for trajectory in trajectories)
    return trajectories


def check_looping(trajectories: list[Trajectory]) -> None:
    for trajectory in trajectories:
        assert [(call.name, call.arguments, call.observation) for call in trajectory.calls] == [(*PRODUCT, '300')] * 3
        assert (trajectory.stopped, trajectory.final_answer) == ('limit:steps', '')
        assert all(step.usage and step.usage['completion'] for step in trajectory.steps)


def test_a_local_model_that_calls(calling: Path) -> None:
    check_looping(run(FunctionCalling(max_steps=3), local(calling)))


def test_a_conversation_over_a_local_models_limit_loses_its_oldest_observation(calling: Path) -> None:
    environment = Environment(stateful_tools=lambda: (Tools((NAME,), lambda *_: 'word ' * 200),))

    def much() -> Session:
        return environment.begin(TASK.id, TASK.schemas)

    loop = FunctionCalling(max_steps=4)
    (whole, *_) = run(loop, local(calling), much)
    usage = whole.steps[2].usage
    assert usage and whole.omitted_observations == 0
    room_for_two = usage['prompt'] + OUT_LEN + 20
    for cut in run(loop, local(calling, room_for_two), much):
        assert (cut.omitted_observations, len(cut.steps), cut.stopped) == (1, 4, 'limit:steps')
    (first, *_) = run(loop, local(calling, OUT_LEN + 20), much)
    assert (first.stopped, first.steps) == ('limit:context', ())


class CallsTwice(ToolEvalHFChat):
    def read_calls(self, answer: Answer, tools: ToolSet) -> Answer:
        once = super().read_calls(answer, tools)
        return replace(once, calls=once.calls * 2)


ONE_CALL = LENIENT.replace(
    '{% if message.tool_calls %}',
    '{% if message.tool_calls and message.tool_calls|length > 1 %}{{ raise_exception("one call at once") }}{% endif %}'
    '{% if message.tool_calls %}',
)


def test_a_template_of_one_call_needs_parallel_false(calling: Path, tmp_path: Path) -> None:
    folder = with_template(calling, tmp_path, ONE_CALL)
    model = CallsTwice(path=str(folder), max_seq_len=4096, generation_kwargs={'do_sample': False})
    refused = DialogueRunner(model, None, OUT_LEN).run({'q': FunctionCalling(max_steps=3).run(TASK, session_of())})
    assert refused['q'].infra == 'infra:bad_request'
    for trajectory in run(FunctionCalling(max_steps=3, parallel=False), model):
        assert [(step.reason, len(step.calls)) for step in trajectory.steps] == [('call:several', 1)] * 3
