"""The base of evaluators that need a judge: a model that is asked, or files of judgements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from opencompass_tooleval.core.judge_item import JudgeItem, Judging
from opencompass_tooleval.core.verdicts import J, Unread, is_silent
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.host.evaluator import ToolEvalEvaluator
from opencompass_tooleval.host.judging import Judge, Name, judge_cfg_from_env, judge_settings
from opencompass_tooleval.sweep.judgement_files import JudgementFiles, completed
from opencompass_tooleval.sweep.result_place import ResultPlace
from opencompass_tooleval.sweep.whole_file import write_whole

T = TypeVar('T')
Verdict = TypeVar('Verdict')


class JudgedEvaluator(ToolEvalEvaluator):
    """Base of our evaluators with a judge.

    Args:
        judge_cfg: The judge, any model of OpenCompass; by default the one that ``$OC_JUDGE_MODEL``,
            ``$OC_JUDGE_API_KEY`` and ``$OC_JUDGE_API_BASE`` name.
        judgements: In place of a judge: a file of judgements, a path with ``{model}`` (its abbr), or abbr -> file.
        pred_postprocessor: As :class:`BaseEvaluator`.
    """

    def __init__(
        self,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | Mapping[str, str] | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        super().__init__(pred_postprocessor)
        self.judgements = JudgementFiles(judgements) if judgements else None
        self.judge_cfg = judge_cfg or judge_cfg_from_env()
        self._judge: Judge[Any] | None = None
        self._calls = 0
        self._rows: dict[tuple[str, ...], dict[str, Any]] = {}

    def need_judge(self, what: str) -> None:
        """Checks that there is a judge or a file of judgements.

        Raises:
            ValueError: There is neither.
        """
        if not self.judgements and not self.judge_cfg:
            raise ValueError(
                f'{what} needs a judge: give judge_cfg or judgements, or set '
                'OC_JUDGE_MODEL, OC_JUDGE_API_KEY and OC_JUDGE_API_BASE'
            )

    def check_model(self, model: str) -> None:
        """See :meth:`ToolEvalEvaluator.check_model`."""
        if self.judgements:
            self.judgements.check(model)

    def judgement_file(self) -> Path | None:
        """The file of judgements for the model that is scored; None if a judge is asked."""
        place = ResultPlace.of(self)
        return self.judgements.file_for(place.model if place else None) if self.judgements else None

    def stored(
        self,
        judgements: list[J],
        file: Path,
        record_ids: Sequence[str],
        complete: Callable[[list[J], Mapping[str, str]], list[J]],
    ) -> list[J]:
        """The judgements of a file, as :func:`~opencompass_tooleval.sweep.judgement_files.completed` makes them.

        Raises:
            ValueError: They still do not say what they judged, and the file serves several models.
        """
        judgements = completed(judgements, file, record_ids, complete)
        place = ResultPlace.of(self)
        if self.judgements and place and any(map(is_silent, judgements)):
            self.judgements.check_owner(place)
        return judgements

    def ask(
        self, items: Iterable[JudgeItem], read: Callable[[str], Verdict | Unread], source: str
    ) -> tuple[dict[str, Verdict], dict[str, str]]:
        """Asks the judge.

        Args:
            items: What is to be judged.
            read: A reply -> what it says, or why it says nothing.
            source: As :class:`Judge`.

        Returns:
            Id -> verdict, and id -> fault of those without one.
        """
        judge = Judge(cast(Mapping[str, Any], self.judge_cfg), default_cache(), read, source)
        self._judge = judge
        verdicts = judge.judge(list(items))
        self._calls += judge.calls
        return verdicts, judge.faults

    def converse(self, dialogues: Mapping[Name, Judging[T]], source: str) -> dict[Name, T]:
        """Asks the judge several questions in a row about each thing, as :meth:`Judge.converse`.

        Args:
            dialogues: As there; every item says how it is read.
            source: As :class:`Judge`.
        """
        judge: Judge[Any] = Judge(cast(Mapping[str, Any], self.judge_cfg), default_cache(), Unread, source)
        self._judge = judge
        found = judge.converse(dialogues)
        self._calls += judge.calls
        return found

    def mend_unjudged(self) -> str:
        """What to do where too much could not be judged."""
        if self.judgements:
            return (
                f'{self.judgement_file()} has to judge these very answers: give each model its own file, with '
                'judgements={"ABBR": FILE} or {model} in the path, or give judge_cfg in place of judgements.'
            )
        folder = self._judge.folder if self._judge else ''
        return (
            'Evaluate again with opencompass CONFIG -m eval -r TIME: what is judged is kept and only the rest asked; '
            f'or give another judge_cfg. Replies that could not be read lie in {folder}'
        )

    def judge_provenance(self, prompt: str) -> dict[str, Any]:
        """What a result says of its judge.

        Args:
            prompt: What stands for the judge's prompt.
        """
        if self.judgements:
            return {'judge': self.judgements.name, 'judgements': str(self.judgement_file())}
        if not self._judge:
            return {}
        return {
            'judge': self._judge.name,
            'judge_hash': self._judge.settings,
            'judge_settings': judge_settings(cast(Mapping[str, Any], self.judge_cfg)),
            'judge_prompt': prompt,
            'judge_calls': self._calls,
        }

    def keep_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes what the judge said beside the result, as ``judgements=`` takes it; of all runs, each answer once."""
        folder = getattr(self, '_out_dir', None)  # set by OpenCompass's task
        if not self._judge or not folder:
            return
        for row in rows:
            self._rows[tuple(str(row.get(key, '')) for key in ('id', 'step', 'answer_digest'))] = dict(row)
        file = Path(f'{folder}_judgements.jsonl')
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, ''.join(f'{json.dumps(row)}\n' for row in self._rows.values()))
