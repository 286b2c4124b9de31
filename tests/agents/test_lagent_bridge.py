"""ReAct in lagent's format: as lagent's own agent does it; wrong and hostile answers are in test_react.py."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.text.reading import parse_enclosed

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from lagent.actions import ActionExecutor, BaseAction
from lagent.actions.parser import BaseParser
from lagent.agents.react import CALL_PROTOCOL_CN, FORCE_STOP_PROMPT_CN, ReAct, ReActProtocol
from lagent.llms.base_llm import BaseModel as LagentModel
from lagent.schema import ActionReturn

from opencompass_tooleval.agents.loops.lagent_bridge import (
    ReActConversation,
    ShownTools,
    lagent_protocol,
)
from tests.agents.support import action, final
from tests.forked import run_python

PARAMETERS = [{'name': 'input', 'type': 'List'}]
DESCRIPTION = {'name': 'total', 'description': 'adds', 'parameters': PARAMETERS, 'required': ['input']}


def total(arguments: Any) -> str:
    numbers = arguments.get('input') if isinstance(arguments, dict) else None
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        return 'pass whole numbers'
    return str(sum(numbers))


class Total(BaseAction):
    def __init__(self) -> None:
        super().__init__(DESCRIPTION, BaseParser)

    def run(self, input: str) -> ActionReturn:
        said = total(parse_enclosed(input, '{', '}').value)
        return ActionReturn(type='total', result=[{'type': 'text', 'content': said}])


class LagentScripted(LagentModel):
    def __init__(self, answers: list[str]) -> None:
        super().__init__('')
        self.answers = iter(answers)
        self.asked: list[list[tuple[str, str]]] = []

    def chat(self, inputs: list[dict[str, str]], **kwargs: Any) -> str:
        self.asked.append([(message['role'], message['content']) for message in inputs])
        return next(self.answers)


@pytest.mark.parametrize('is_chinese', [False, True])
@pytest.mark.parametrize('steps', [3, 6])
def test_lagents_own_agent_asks_and_ends_the_same(steps: int, is_chinese: bool) -> None:
    """But for the role of a tool's words, which chat templates refuse."""
    right, wrong, again = (action('total', f'{{"input": {numbers}}}') for numbers in ('[1, 2]', '["1"]', '[3, 3]'))
    answers = [right, 'I do not know', wrong, again, final('6')]
    model, executor = LagentScripted(answers), ActionExecutor([Total()])
    chinese = {'call_protocol': CALL_PROTOCOL_CN, 'force_stop': FORCE_STOP_PROMPT_CN} if is_chinese else {}
    run = ReAct(model, executor, ReActProtocol(**chinese), max_turn=steps).chat('1 + 2 + 3?')

    tools = ShownTools(executor.get_actions_info(), executor.action_names())
    rounds = ReActConversation(lagent_protocol(is_chinese), tools, [Message('user', '1 + 2 + 3?')])
    asked, said = [], 'Sorry that I cannot answer your question.'
    for step, answer in zip(range(steps), answers, strict=False):
        asked.append([(message.role, message.content) for message in rounds.prompt(step == steps - 1)])
        done = rounds.read(answer)
        if done.is_final:
            said = done.text
        elif done.name:
            rounds.add_response(total(done.arguments))
    renamed = [
        [('user' if place and role == 'system' else role, text) for place, (role, text) in enumerate(messages)]
        for messages in model.asked
    ]
    assert (asked, said) == (renamed, run.response.strip())
    assert len(asked) == min(steps, 5)


def test_without_lagent_the_fix_is_named() -> None:
    code = (
        'import sys\n'
        "bridge = 'opencompass_tooleval.agents.loops.lagent_bridge'\n"
        "for name in [name for name in sys.modules if name == bridge or name.partition('.')[0] == 'lagent']:\n"
        '    del sys.modules[name]\n'
        "sys.modules['lagent'] = None\n"
        '__import__(bridge)\n'
    )
    done = run_python('-c', code)
    assert done.returncode == 1
    assert "Fix it with: pip install 'opencompass-tooleval[agent]'" in done.stderr.splitlines()[-1]
    assert 'ImportError: ReAct needs lagent, which cannot be imported' in done.stderr
