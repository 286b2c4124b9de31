"""The methods of Table 6 as dialogues: one question in, one trajectory out (EasyTool, Section 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool.funcqa import prompts
from opencompass_tooleval.easytool.funcqa.dialogue import Options, Talk, gold_answer
from opencompass_tooleval.easytool.funcqa.easytool_method import easytool
from opencompass_tooleval.easytool.funcqa.records import Record
from opencompass_tooleval.easytool.funcqa.trajectory import Trajectory

Method = Callable[[Record, Options], Rounds[Trajectory]]


def zero_shot(record: Record, options: Options) -> Rounds[Trajectory]:
    """Asks for the answer at once; no tools."""
    talk = Talk()
    answer = yield from talk.ask(prompts.ZERO_SHOT.format(question=record.question), gold_answer(record))
    return Trajectory('zero_shot', answer=answer, rounds=tuple(talk.rounds))


def cot(record: Record, options: Options) -> Rounds[Trajectory]:
    """Asks for thoughts and the answer, in one round; no tools."""
    talk = Talk()
    answer = yield from talk.ask(prompts.COT.format(question=record.question), gold_answer(record))
    return Trajectory('cot', answer=answer, rounds=tuple(talk.rounds))


METHODS: Mapping[str, Method] = {'zero_shot': zero_shot, 'cot': cot, 'easytool': easytool}
"""Those that need nothing but this room; an agent has to be given to
:func:`~opencompass_tooleval.easytool.funcqa.react.react`."""
