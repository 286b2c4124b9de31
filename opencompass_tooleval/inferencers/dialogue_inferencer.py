"""OpenCompass inferencer for multi-round dialogues; runs many at once, with any model."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Protocol

from mmengine.registry import Registry
from opencompass.registry import ICL_INFERENCERS
from opencompass.utils import get_logger

from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.call_evidence import EVIDENCE
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.sent import THOUGHTS
from opencompass_tooleval.core.scoring.result import INFRA, OVER_BUDGET
from opencompass_tooleval.core.scoring.usage import Usage, total_usage
from opencompass_tooleval.core.scoring.usage_summary import OTHERS
from opencompass_tooleval.inferencers.inferencer import Prompt, Prompts, ToolEvalGenInferencer
from opencompass_tooleval.models.budget import Account
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.model_config import AuxiliaryModel
from opencompass_tooleval.work_dir.replicas import Claims
from opencompass_tooleval.work_dir.store import EARLIER, Answers, Row, key_text, keys_of

DIALOGUES = Registry('tooleval_dialogues')
"""A registry without entries, which builds the classes that configs name."""


class Dialogues(Protocol):
    """The dialogues of a dataset, built from ``dialogues=dict(type=...)`` in the inferencer's config.

    It may have an attribute ``models``: name -> config of an auxiliary model, which a ``ModelRequest`` may name. A
    model is built at its first request. It may have a method ``close``, which ends what the dialogues have started;
    predictions are written only if it raises no exception.
    """

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str | Answer]:
        """Returns the dialogue for one row of the dataset, which returns the row's prediction."""


@ICL_INFERENCERS.register_module()
class ToolEvalDialogueGenInferencer(ToolEvalGenInferencer):
    """Runs one dialogue per row with :class:`~opencompass_tooleval.models.dialogue_runner.DialogueRunner`.

    The prediction of a row is the result of its dialogue, with calls if the result is an ``Answer``. If a round has no
    answer, the row has no prediction and a reason in ``infra``, and counts as in :class:`ToolEvalGenInferencer`. Each
    answer of each round is stored, so that a resumed run does not repeat answered requests. The key of a
    recorded answer is the record's id, followed in later rounds by ``/1`` and so on.

    Args:
        model: The model under test.
        dialogues: Config of a :class:`Dialogues`. Its auxiliary models use the ``max_out_len`` and ``batch_size`` of
            their own configs.
        kwargs: Other arguments of :class:`ToolEvalGenInferencer`. The token limit applies to each round.

    Raises:
        ValueError: There are auxiliary models, and several processes share the model under test: each process would get
            different answers from them.
    """

    _longest = 'the longest begins with'

    def __init__(self, model: Any, dialogues: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(model=model, **kwargs)
        self.dialogues: Dialogues = DIALOGUES.build(dict(dialogues))
        self.others = {
            name: AuxiliaryModel(cfg) for name, cfg in (getattr(self.dialogues, 'models', None) or {}).items()
        }
        if self.others and int(os.environ.get('WORLD_SIZE', 1)) > 1:
            raise ValueError(
                f'dialogues that ask other models ({", ".join(self.others)}) run in one process, and torchrun has '
                "started several: set num_procs=1 in the model's run_cfg"
            )

    def _answer(
        self,
        questions: Prompts,
        answers: Answers,
        claims: Claims | None = None,
        only: Collection[int] | None = None,
    ) -> None:
        kept = len(answers) - len(answers.again)
        all_questions = list(questions)
        keys = [*map(key_text, keys_of(questions.rows['record_id']))]
        left = self._divide(questions, answers, claims, only)
        source = all_questions[0].prompt.source if all_questions else ''
        runner = DialogueRunner(
            self.model,
            answers.store,
            self.max_out_len,
            self.batch_size or 1,
            source,
            self._extra_kwargs(),
            description=source if self.is_main_process else None,
            others=self.others,
            threads=getattr(self.dialogues, 'threads', 1),
            report=lambda ended, earlier, usages: self.report(kept + ended, kept + earlier, usages),
        )
        index_of = {key: index for index, key in enumerate(keys)}

        def begin(indices: Iterable[int]) -> dict[str, Dialogue[str | Answer]]:
            return {keys[index]: self.dialogues(questions.rows[index]) for index in indices}

        def keep(key: str, outcome: Outcome[str | Answer]) -> None:
            index = index_of[key]
            # The usage of earlier tries is in the rows of their requests, but for predictions without a store.
            earlier = answers.again.get(index, {}).get(EARLIER)
            row = self._outcome_row(earlier, all_questions[index], outcome)
            answers.update({index: {**row, EARLIER: earlier} if earlier else row})
            if claims:
                claims.arrived([index])

        with ExitStack() as stack:
            if close := getattr(self.dialogues, 'close', None):
                stack.callback(close)
            if claims:
                runner.run({}, lambda: begin(claims.take(sys.maxsize)), keep)
            else:
                runner.run(begin(sorted(left)), on_end=keep)
        for name, usages in runner.other_usages.items():
            usage = total_usage(usages) or Usage()
            tokens = f'{usage.prompt} tokens of prompts, {usage.completion} of answers'
            get_logger().info(f'{source}: {name} ({self.others[name].name}) was asked {len(usages)} times: {tokens}')

    def _outcome_row(self, earlier: Row | None, question: Prompt, outcome: Outcome[str | Answer]) -> Row:
        # Not `value or ''`: the text of an answer with only calls is empty, too.
        answer = as_answer('' if outcome.value is None else outcome.value)
        answer = replace(
            answer,
            reason=outcome.infra,
            finish_reason=outcome.finish_reason,
            usage=outcome.usage,
            observed=tuple(outcome.observed),
            server_words=outcome.server_words,
        )
        row = self._row(earlier, question, answer) | _others(earlier, outcome.others)
        row |= {EVIDENCE: dict(outcome.evidence)} if outcome.evidence else {}
        thoughts = getattr(self.model, f'returned_{THOUGHTS}', None) if outcome.offers_tools else None
        return {**row, THOUGHTS: thoughts} if thoughts else row

    def _accounts(self) -> dict[str, Account | None]:
        others = {
            f'{INFRA}{name}:{OVER_BUDGET.removeprefix(INFRA)}': other.account for name, other in self.others.items()
        }
        return {**super()._accounts(), **others}


def _others(earlier: Row | None, others: Sequence[Mapping[str, Any]]) -> Row:
    """Returns a row's usage of auxiliary models, including an earlier try of the dialogue."""
    before = (earlier or {}).get(OTHERS)
    all_others = [*(before if isinstance(before, list) else ()), *others]
    return {OTHERS: all_others} if all_others else {}
