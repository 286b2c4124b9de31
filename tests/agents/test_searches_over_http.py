"""ToolBench's loops over HTTP, on a server whose model is right, lazy, looping, giving up, or faulty in one way."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.loops.finish import finish_call
from opencompass_tooleval.agents.toolbench import prompts
from tests.agents.test_loops_over_http import PRODUCT, REST, Calling, carried_out, ended, told
from tests.models.api.scripted_server import Request

KINDS = ('right', 'lazy', 'looping', 'unknown', 'broken', 'parallel', 'restarting', 'vague', 'empty', 'long')
ANSWER = ('Finish', json.dumps(finish_call('258').arguments))
GIVES_UP = ('Finish', '{"return_type": "give_up_and_restart"}')


class Searching(Calling):
    """Calls natively, and ends with ``Finish``."""

    def kind(self, request: Request) -> str:
        """The request's first word; of the one that restarts, also where it is."""
        messages = request['messages']
        word = next(str(item['content']) for item in messages if item['role'] == 'user').split()[0]
        if word != 'restarting':
            return word
        if prompts.DIVERSITY[1] in str(messages[-1]['content']):
            return 'was here before'
        return 'other way' if any(item.get('content') == 'Another way.' for item in messages) else word

    def answers(self, kind: str, step: int) -> tuple[str, list[tuple[str, str]]]:
        """Text and calls."""
        if kind == 'right':
            return '', [[PRODUCT], [REST], [ANSWER]][step]
        return {
            'restarting': ('', [PRODUCT if step == 0 else GIVES_UP]),
            'was here before': ('Another way.', [REST]),
            'other way': ('', [ANSWER]),
            'lazy': ('', [ANSWER]),
            'looping': ('', [PRODUCT]),
            'unknown': ('', [('divide_', '{}')] if step == 0 else [ANSWER]),
            'broken': ('', [('multiply_', '{"input": [12, ')] if step == 0 else [ANSWER]),
            'parallel': ('', [PRODUCT, REST] if step == 0 else [ANSWER]),
            'vague': ('', [('Finish', '{"final_answer": "258"}')] if step == 0 else [ANSWER]),
            'empty': ('', []),
            'long': ('', [('multiply_', f'{{"input": [{step}, 0]}}')] if step < 5 else [ANSWER]),
        }[kind]


def test_depth_first_search() -> None:
    done = carried_out(DepthFirstSearch(max_depth=6, max_observation=15_000), Searching(), KINDS)
    assert ended(done) == {
        'right': ('258', '', 3),
        'lazy': ('258', '', 1),
        'looping': ('', 'limit:steps', 14),  # 2 + 4 + 8
        'unknown': ('258', '', 2),
        'broken': ('258', '', 2),
        'parallel': ('258', '', 2),
        'restarting': ('258', '', 4),
        'vague': ('258', '', 2),
        'empty': ('', 'limit:steps', 126),
        'long': ('', 'limit:steps', 14),
    }
    assert told(done['right']) == [('multiply_', '300'), ('subtract_', '258')]
    assert told(done['unknown']) == [('divide_', 'unknown_tool')]
    assert told(done['broken']) == [('multiply_', 'wrong_arguments')]
    assert told(done['parallel']) == [('multiply_', '300')]
    assert [step.parent for step in done['restarting'].steps] == [-1, 0, -1, 2]
    assert done['restarting'].path == (2, 3)
    assert told(done['restarting']) == [('multiply_', '300'), ('subtract_', '258')]


def test_react() -> None:
    done = carried_out(ToolBenchReAct(max_observation=15_000), Searching(), KINDS)
    assert ended(done) == {
        'right': ('258', '', 3),
        'lazy': ('258', '', 1),
        'looping': ('', 'limit:steps', 6),
        'unknown': ('258', '', 2),
        'broken': ('258', '', 2),
        'parallel': ('258', '', 2),
        'restarting': ('', 'finish:gave_up', 2),
        'vague': ('258', '', 2),
        'empty': ('', 'limit:steps', 12),
        'long': ('258', '', 6),
    }
    assert (len(done['long'].calls), done['long'].omitted_observations, done['right'].omitted_observations) == (5, 3, 0)


class SayingNothing(Searching):
    """Sends an empty content beside its calls, in place of none."""

    def message(self, request: Request) -> dict[str, Any]:
        message = super().message(request)
        return {**message, 'content': message['content'] or ''}


def test_an_empty_content_beside_a_call_is_a_thought() -> None:
    done = carried_out(ToolBenchReAct(max_observation=15_000), SayingNothing(), ('right', 'looping'))
    assert ended(done) == {'right': ('258', '', 3), 'looping': ('', 'limit:steps', 4)}
    assert ended(carried_out(ToolBenchReAct(), Searching(), ('looping',))) == {'looping': ('', 'limit:steps', 6)}
