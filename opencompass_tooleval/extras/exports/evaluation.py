"""One result with its samples as conversations, the input of every export format.

Results, predictions and trajectories are read as for the report, so that exports and pages show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from math import isfinite
from typing import Any

from opencompass_tooleval.catalogue.benchmark import find_benchmark, holds_dialogues, is_private
from opencompass_tooleval.catalogue.metrics import OVERALL, lower_is_better
from opencompass_tooleval.catalogue.tables import errors_of
from opencompass_tooleval.core.calls.answer import USAGE
from opencompass_tooleval.core.calls.messages import ROLES, TOOL, Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_calls
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.scoring.result import INFRA, with_runs
from opencompass_tooleval.core.scoring.usage import Usage, read_usage
from opencompass_tooleval.core.statistics.paired import details_of, metrics_of
from opencompass_tooleval.core.statistics.trials import Estimate, trials_of_result
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.extras.exports.settings import as_settings
from opencompass_tooleval.plugin import BENCHMARKS
from opencompass_tooleval.report.names import as_text, cut
from opencompass_tooleval.report.samples import messages_of
from opencompass_tooleval.report.trajectories import bounded, read_trajectory, shown_rounds
from opencompass_tooleval.results.result_row import valid_result
from opencompass_tooleval.results.table import Missing, ModelResult, find_missing
from opencompass_tooleval.work_dir.progress import model_cfg
from opencompass_tooleval.work_dir.work_dir import WorkDir

_ROLES = {'human': 'user', 'bot': 'assistant'}
_OF_JUDGE = (
    'judge',
    'judge_hash',
    'judge_settings',
    'judge_prompt',
    'judgements',
    'judgement_kinds',
    'judgements_per_answer',
)
_FULL = 1 - 1e-9
_ID = 500


@dataclass(frozen=True)
class Sample:
    """One scored answer.

    Attributes:
        id: Record id.
        run: Number of the trial, from 0.
        detail: The sample in the result.
        prediction: Its row of the predictions; empty if the file is missing.
        asked: The request: the messages before the model's first answer.
        turns: The model's answers, and the further requests and tool replies between them.
        answer: Text of the last answer.
        is_agent: True if tools answered the model's calls.
        more: More facts about a dialogue, such as its loop, or the calls within its text.
    """

    id: str
    run: int
    detail: Mapping[str, Any]
    prediction: Mapping[str, Any]
    asked: tuple[Message, ...]
    turns: tuple[Message, ...]
    answer: str
    is_agent: bool
    more: Mapping[str, Any]

    @property
    def values(self) -> dict[str, float]:
        """Metric -> value, 0-1, without metrics that do not apply to the sample."""
        values = self.detail['values'].items()
        return {str(name): value for name, value in values if is_number(value)}

    @property
    def reason(self) -> str:
        """``ok``, or the first cause of a lost point."""
        return cut(str(self.detail.get('reason', '')), _ID)

    @property
    def error(self) -> str:
        """Why the answer is missing, if the model did not cause it; ``''`` with an answer."""
        infra = self.prediction.get('infra') or (self.reason if self.reason.startswith(INFRA) else '')
        return cut(str(infra or ''), _ID)

    @property
    def usage(self) -> Usage | None:
        """Usage of all answers; None if unknown."""
        return read_usage(self.prediction.get(USAGE))

    @property
    def calls(self) -> int:
        """Number of tool calls."""
        return sum(len(turn.calls) for turn in self.turns) or len(self.more.get('calls', ()))

    def is_right(self, metric: str) -> bool:
        """Tests if the sample has the best value of a metric."""
        value = self.values[metric]
        return value <= 1 - _FULL if lower_is_better(metric) else value >= _FULL


@dataclass(frozen=True)
class Evaluation:
    """The result of a model on a data set.

    Attributes:
        scored: Its result.
        scored_at: When the result was written, in UTC.
        cfg: The model's config; empty if it cannot be read.
        samples: The samples, trial after trial; empty for a data set of another package.
    """

    scored: ModelResult
    scored_at: datetime
    cfg: Mapping[str, Any]
    samples: tuple[Sample, ...]

    @property
    def metrics(self) -> list[str]:
        """Names of the measured scores, in the result's order."""
        return [name for name in metrics_of(self.scored.result) if self.scored.number(name) is not None]

    @property
    def trials(self) -> int:
        """Number of trials of each record."""
        trials = trials_of_result(self.scored.result)
        return trials.trials if trials else 1

    def scores(self) -> Iterator[tuple[str, str, Estimate]]:
        """Yields metric, estimator and estimate: ``''`` for the score itself, then estimators over trials, such as
        ``pass^4``.

        Numbers are 0-100, as in the result.
        """
        errors = {metric: error for metric, error in errors_of(self.scored.result).items() if isfinite(error)}
        for metric in self.metrics:
            count = sum(metric in sample.values for sample in self.samples)
            yield metric, '', Estimate(self.scored.result[metric], errors.get(metric), count)
        trials = trials_of_result(self.scored.result)
        for metric, estimates in trials.estimates.items() if trials else ():
            for name, estimate in estimates.items():
                if not name.startswith('avg@') or metric not in self.metrics:  # avg@k is the score itself
                    yield metric, name, estimate

    def judge_of(self, metric: str) -> dict[str, str]:
        """Returns the judge that gave a score, with its settings and its prompt's digest; empty without one."""
        provenance = self.scored.provenance
        if not provenance.judge or self.benchmark not in BENCHMARKS:
            return {}
        rows = find_benchmark(self.benchmark).metrics
        is_judged = metric == OVERALL or any(row.name == metric and row.by_judge for row in rows)
        return as_settings({key: provenance.stored.get(key) for key in _OF_JUDGE}) if is_judged else {}

    def remarks(self) -> dict[str, Any]:
        """Returns facts that readers of the scores must know."""
        unmeasured = [name for name, value in self.scored.result.items() if value is None]
        return {
            'private': 'true' if self.is_private else 'false',
            'not_comparable_with_published': '; '.join(self.scored.caveats) or None,
            'not_measured': ', '.join(unmeasured) or None,
        }

    def generation(self) -> dict[str, int | float]:
        """Returns the settings of generation in the model's config, and the token limit of the answers."""
        kwargs = self.cfg.get('generation_kwargs')
        given = {**(kwargs if isinstance(kwargs, Mapping) else {}), **self.cfg}
        names = ('temperature', 'top_p', 'top_k')
        args = {name: given[name] for name in names if type(given.get(name)) in (int, float)}
        length = self.scored.provenance.max_out_len
        return {**args, 'max_tokens': length} if length and length > 0 else args

    @property
    def benchmark(self) -> str:
        """Name of the benchmark; ``''`` for a data set of another package."""
        return self.scored.provenance.benchmark

    @property
    def is_private(self) -> bool:
        """True if the data are the user's own (a task set)."""
        return is_private(self.scored.dataset, self.scored.result)


def evaluation_of(work: WorkDir, model: str, dataset: str) -> Evaluation | Missing:
    """Reads a result with its predictions.

    Raises:
        DataError: A file is damaged.
    """
    result = valid_result(work, model, dataset)
    if result is None:
        return find_missing(work, model, dataset)
    details = details_of(result)
    rows = dict(with_runs(work.prediction_rows(model, dataset), lambda row: str(row.get('record_id'))))
    dialogues = holds_dialogues(result)
    samples = [
        _sample(record, run, detail, rows.get((record, run), {}), dialogues)
        for (record, run), detail in with_runs(details, lambda detail: str(detail['id']))
    ]
    bare = {key: value for key, value in result.items() if key != 'details'}
    time = datetime.fromtimestamp(int(work.result_file(model, dataset).stat().st_mtime), timezone.utc)
    return Evaluation(ModelResult(model, dataset, work, model, bare), time, model_cfg(work, model), tuple(samples))


def _sample(record: str, run: int, detail: Mapping[str, Any], prediction: Mapping[str, Any], dialogues: bool) -> Sample:
    asked = tuple(Message(_role(role), text) for role, text in messages_of(prediction.get('origin_prompt')))
    raw = prediction.get('prediction', '')
    turns: Sequence[Message]
    more: dict[str, Any] = {}
    trajectory = read_trajectory(str(raw)) if dialogues else None
    if trajectory and (trace := shown_rounds(trajectory)):
        rounds = [message for pair in trace['rounds'] for message in zip(('user', 'assistant'), pair, strict=True)]
        asked, turns = tuple(Message(*one) for one in rounds[:1]) or asked, [Message(*one) for one in rounds[1:]]
        answer, more = trace['answer'], {'calls': trace['calls']} if trace['calls'] else {}
    elif trajectory:
        shown = bounded(trajectory)
        turns, answer = list(_of_steps(shown)), shown.final_answer
        left = len(trajectory.steps) - len(shown.path or shown.steps)
        named = {'loop': shown.loop, 'stopped': shown.stopped, 'omitted_observations': shown.omitted_observations}
        more = {name: value for name, value in {**named, 'steps_off_path': left}.items() if value}
    else:
        answer = as_text(raw)
        turns = [Message('assistant', answer, _calls(prediction))]
    is_agent = dialogues and ('loop' in more or 'calls' in more)
    return Sample(cut(record, _ID), run, detail, prediction, asked, tuple(turns), answer, is_agent, more)


def _role(role: str) -> str:
    """Returns a role that all formats have; other roles, such as a benchmark's ``function``, become the user."""
    name = role.partition(',')[0].lower()
    name = _ROLES.get(name, name)
    return name if name in ROLES else 'user'


def _calls(prediction: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    try:
        calls = read_calls(prediction.get('calls'))
    except ValueError:
        return ()  # the answer's text shows the calls
    return tuple(ToolCall(call.name, call.arguments, call.id or f'call{i:05d}') for i, call in enumerate(calls))


def _of_steps(trajectory: Trajectory) -> Iterator[Message]:
    """Yields the messages of the steps that lead to the end: each answer, and the observation of each call."""
    count = 0
    for index in trajectory.path or range(len(trajectory.steps)):
        step = trajectory.steps[index]
        calls = [ToolCall(call.name, call.arguments, f'call{count + i:05d}') for i, call in enumerate(step.calls)]
        count += len(calls)
        yield Message('assistant', step.text, tuple(calls))
        for call, made in zip(calls, step.calls, strict=True):
            if made.source:
                yield Message(TOOL, made.observation, call_id=call.id)
