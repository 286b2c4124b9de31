"""The methods of Table 6 (EasyTool, Section 5.3), and native calls beside them: one question in, one trajectory out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from opencompass_tooleval.core.function_calling import METHOD
from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool.funcqa import prompts
from opencompass_tooleval.easytool.funcqa.dialogue import Options, Talk, gold_answer
from opencompass_tooleval.easytool.funcqa.easytool_method import easytool
from opencompass_tooleval.easytool.funcqa.function_calling import function_calling
from opencompass_tooleval.easytool.funcqa.records import Record
from opencompass_tooleval.easytool.funcqa.trajectory import Trajectory

Method = Callable[[Record, Options], Rounds[Trajectory]]


def _in_one_round(record: Record, options: Options, *, name: str, template: str) -> Rounds[Trajectory]:
    """Asks for the answer, or for thoughts and the answer, in one round; no tools."""
    talk = Talk()
    answer = yield from talk.ask(template.format(question=record.question), gold_answer(record))
    return Trajectory(name, answer=answer, rounds=tuple(talk.rounds))


METHODS: Mapping[str, Method] = {
    'zero_shot': partial(_in_one_round, name='zero_shot', template=prompts.ZERO_SHOT),
    'cot': partial(_in_one_round, name='cot', template=prompts.COT),
    'easytool': easytool,
    METHOD: function_calling,
}
"""Those that need nothing but this room; an agent has to be given to
:func:`~opencompass_tooleval.easytool.funcqa.react.react`."""
