"""Makes a set in rounds of drafts, queries, solutions, agreement and execution, until there are enough tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.goal import Goal
from opencompass_tooleval.agents.loops import make_loop
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.core.dialogue import Dialogue
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.prices import read_prices
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.observation import SIMULATED
from opencompass_tooleval.environments.simulator import SIMULATOR
from opencompass_tooleval.instructions.generate import TRIES
from opencompass_tooleval.judging.judge import settings_hash
from opencompass_tooleval.making.agreement import LEAST_AGREEING, Agreement, agree
from opencompass_tooleval.making.drafts import Draft, Drawing, Quotas
from opencompass_tooleval.making.execution import VOLATILE, execute_gold
from opencompass_tooleval.making.gates import DUPLICATE
from opencompass_tooleval.making.grounding import sample_resources
from opencompass_tooleval.making.made_set import BANK_FILE, Dropped, MadeSet
from opencompass_tooleval.making.made_task import MadeTask, Solution
from opencompass_tooleval.making.queries import Written, write_query
from opencompass_tooleval.making.solving import REVIEWER, Attempt, solve
from opencompass_tooleval.making.tool_source import ToolSource
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.model_config import PRICES, build_model
from opencompass_tooleval.work_dir.journal import Journal

MAX_ROUNDS = 5
_SURPLUS = 1.4
"""Drafts of a round for each task that is still missing."""

JOURNAL_FOLDER = 'journal'
QUERY, SOLUTION, SECOND = 'query', 'solution', 'second'
_STAGES = {QUERY: 'queries', SOLUTION: 'solutions'}

_NEAR_DUPLICATE = 'query:duplicate'
_QUOTA_IS_FULL = 'quota:full'
_DEFAULT_OUT_LEN = 4_096
_DEFAULT_BATCH = 64
_NOT_BUILT = ('max_out_len', 'batch_size')


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes:
        name: Name of the set.
        folder: Where it is written.
        tasks: Number of tasks to make.
        trials: Attempts of each model at each task.
        seed: Seed of the drafts.
        loop: Loop of the executor, one of :data:`~opencompass_tooleval.agents.loops.LOOPS`.
        quotas: How tasks are distributed.
        rounds: Rounds at most; each draws as many drafts as tasks are missing, and some more.
    """

    name: str
    folder: Path
    tasks: int
    trials: int = 3
    seed: int = 0
    loop: str = 'function_calling'
    quotas: Quotas = field(default_factory=Quotas)
    rounds: int = MAX_ROUNDS


@dataclass
class Spent:
    """Cost of a run.

    Attributes:
        calls: Requests of this run.
        tokens: Their known tokens.
        cost: By the prices of the configs, None without; of models that solve, answers of an earlier run included.
    """

    calls: int = 0
    tokens: int = 0
    cost: float | None = None


@dataclass
class _Asked:
    """A draft on its way."""

    draft: Draft
    task: Task
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def accepted(self) -> list[Solution]:
        return [one.solution for one in self.attempts if one.solution is not None and not one.reason]


class Making:
    """Makes a set. The answers of all models are journaled: after a kill nothing is asked twice.

    Args:
        source: The tools and what answers their calls.
        options: The options.
        model: Config of the model that writes and solves; ``max_out_len`` (4,096) and ``batch_size`` (64) as in a model
            config.
        second: Config of the second model that solves; None for none.
        reviewer: Config of the model that reviews solutions; None for the one that solved.
        simulator: Config of the model that simulates responses; None for none.
        similarity: Of texts, for near-duplicates and for tools that are easily confused.

    Attributes:
        failed: Draft -> ``infra:...`` reason; such drafts make the run unfinished.
        spent: What it cost.
    """

    def __init__(
        self,
        source: ToolSource,
        options: Options,
        model: Mapping[str, Any],
        second: Mapping[str, Any] | None,
        reviewer: Mapping[str, Any] | None,
        simulator: Mapping[str, Any] | None,
        similarity: Similarity,
    ) -> None:
        self._source = source
        self._options = options
        self._solvers = {SOLUTION: model, **({SECOND: second} if second else {})}
        self._reviewer = AuxiliaryModel(reviewer) if reviewer else None
        self._simulator = AuxiliaryModel(simulator) if simulator else None
        self._similarity = similarity
        self._drawing = Drawing(source.tools, options.quotas, options.seed, similarity)
        self._built: dict[str, Any] = {}
        self._made: list[MadeTask] = []
        self._dropped: list[Dropped] = []
        self._volatile: set[str] = set()
        self._simulated: dict[str, list[RecordedCall]] = {}
        self.failed: dict[str, str] = {}
        self.spent = Spent()

    def run(self) -> MadeSet:
        """Makes the tasks, in rounds; a round with failed requests is the last.

        Returns:
            The set, not yet written. It has fewer tasks than wanted where the rounds did not give more.
        """
        for _ in range(self._options.rounds):
            missing = self._missing()
            if not missing or self.failed:
                break
            counts = {kind: round(count * _SURPLUS + 0.5) for kind, count in missing.items()}
            self._round(list(self._drawing.draw(counts)))
        return self._set()

    def _missing(self) -> dict[str, int]:
        made = Counter(task.goal.kind for task in self._made)
        quota = self._drawing.apportion(self._options.tasks)
        return {kind: count - made[kind] for kind, count in quota.items() if made[kind] < count}

    def _round(self, drafts: Sequence[Draft]) -> None:
        drafts = [draft for draft in drafts if not self._is_volatile(draft)]
        asked = self._solved(list(self._without_duplicates(self._written(drafts))))
        for one in asked:
            agreement = agree(one.draft, one.task.query, one.accepted)
            if agreement.goal is None:
                self._drop_unsolved(one, agreement)
                continue
            if one.draft.kind in self._missing():
                self._check(one, agreement, agreement.goal)
            else:
                self._dropped.append(Dropped(one.draft.id, 'quota', _QUOTA_IS_FULL, one.task.query))

    def _is_volatile(self, draft: Draft) -> bool:
        tool = next((name for name in draft.needed if name in self._volatile), None)
        if tool:
            self._dropped.append(Dropped(draft.id, 'draft', VOLATILE, tool))
        return tool is not None

    def _written(self, drafts: Sequence[Draft]) -> Iterator[_Asked]:
        tools, resources = self._source.tools, self._source.resources
        dialogues = {
            draft.id: write_query(draft, tools, sample_resources(resources, f'{self._options.seed} {draft.id}'))
            for draft in drafts
        }
        for draft, outcome in zip(drafts, self._run(QUERY, SOLUTION, dialogues).values(), strict=True):
            written: Written | None = outcome.value
            if written is None:
                self.failed[draft.id] = str(outcome.infra)
            elif written.reason:
                self._dropped.append(
                    Dropped(draft.id, QUERY, written.reason, '; '.join(filter(None, (written.detail, written.query))))
                )
            else:
                offered = tuple(tools[name].schema for name in draft.offered)
                documents = {name: tools[name].document for name in draft.offered}
                yield _Asked(
                    draft,
                    Task(
                        draft.id,
                        self._options.name,
                        written.query,
                        offered,
                        documents=documents,
                        language=draft.language,
                    ),
                )

    def _without_duplicates(self, asked: Iterator[_Asked]) -> Iterator[_Asked]:
        everyone = list(asked)
        kept = [made.task.query for made in self._made]
        self._similarity.prepare([*kept, *(one.task.query for one in everyone)])
        for one in everyone:
            nearest = max(self._similarity.matrix([one.task.query], kept)[0], default=0.0) if kept else 0.0
            if nearest >= DUPLICATE:
                self._dropped.append(Dropped(one.draft.id, 'duplicate', _NEAR_DUPLICATE, one.task.query))
                continue
            kept.append(one.task.query)
            yield one

    def _solved(self, asked: list[_Asked]) -> list[_Asked]:
        loop = make_loop(self._options.loop)
        for role, cfg in self._solvers.items():
            dialogues = {
                f'{one.draft.id}#{trial}': solve(
                    one.task,
                    one.draft,
                    self._source.tools,
                    self._source.environment,
                    loop,
                    model_name(cfg),
                    f'{one.draft.id} {role} {trial}',
                    self._reviewer is not None,
                )
                for one in asked
                for trial in range(self._options.trials)
            }
            outcomes = self._run(SOLUTION, role, dialogues)
            for one in asked:
                for trial in range(self._options.trials):
                    outcome = outcomes[f'{one.draft.id}#{trial}']
                    if outcome.value is None:
                        self.failed[one.draft.id] = str(outcome.infra)
                    else:
                        one.attempts.append(outcome.value)
        return [one for one in asked if one.draft.id not in self.failed]

    def _run(self, stage: str, role: str, dialogues: Mapping[str, Dialogue[Any]]) -> dict[str, Outcome[Any]]:
        cfg = self._solvers[role]
        if role not in self._built:
            self._built[role] = build_model({name: value for name, value in cfg.items() if name not in _NOT_BUILT})
        others = {REVIEWER: self._reviewer, SIMULATOR: self._simulator}
        journal = self._options.folder / JOURNAL_FOLDER / f'{stage}-{role}-{settings_hash(cfg)}.jsonl'
        journal.parent.mkdir(parents=True, exist_ok=True)
        runner = DialogueRunner(
            self._built[role],
            Journal(journal),
            int(cfg.get('max_out_len') or _DEFAULT_OUT_LEN),
            int(cfg.get('batch_size') or _DEFAULT_BATCH),
            'making',
            description=f'{_STAGES[stage]} by {model_name(cfg)}',
            others={name: other for name, other in others.items() if other},
        )
        outcomes = runner.run(dialogues)
        self._count(cfg, runner, outcomes)
        return outcomes

    def _count(self, cfg: Mapping[str, Any], runner: DialogueRunner, outcomes: Mapping[str, Outcome[Any]]) -> None:
        self.spent.calls += runner.calls + sum(runner.other_calls.values())
        self.spent.tokens += runner.tokens
        for usages_of_one in runner.other_usages.values():
            self.spent.tokens += sum((one.prompt or 0) + (one.completion or 0) for one in usages_of_one if one)
        usages: list[tuple[Any, Usage | None]] = [
            (read_prices(cfg.get(PRICES)), outcome.usage) for outcome in outcomes.values()
        ]
        for name, other in runner.others.items():
            usages += [(other.prices, usage) for usage in runner.other_usages.get(name, [])]
        costs = [prices.cost_of(usage) for prices, usage in usages if prices and usage]
        if any(costs):
            self.spent.cost = (self.spent.cost or 0.0) + sum(filter(None, costs))

    def _drop_unsolved(self, one: _Asked, agreement: Agreement) -> None:
        reasons = Counter(attempt.reason for attempt in one.attempts if attempt.reason)
        if len(one.accepted) < LEAST_AGREEING and reasons:
            words = next((attempt.detail for attempt in one.attempts if attempt.detail), '')
            reason, count = reasons.most_common(1)[0]
            detail = f'{count} of {len(one.attempts)} attempts; {words}; {one.task.query}'
            self._dropped.append(Dropped(one.draft.id, 'solution', reason, detail))
        else:
            self._dropped.append(
                Dropped(one.draft.id, 'agreement', agreement.reason, f'{agreement.detail}; {one.task.query}')
            )

    def _check(self, one: _Asked, agreement: Agreement, goal: Goal) -> None:
        made = MadeTask(
            one.task,
            agreement.solutions,
            one.draft.operation,
            self._made_by(),
        ).with_goal(goal)
        environment = self._environment_of(made)
        try:
            executed = execute_gold(made.task, environment)
        finally:
            if environment.bank is not None and environment is not self._source.environment:
                environment.bank.close()
        if executed.reason:
            if executed.tool:
                self._volatile.add(executed.tool)
            self._dropped.append(Dropped(one.draft.id, 'execution', executed.reason, executed.detail))
            self._simulated.pop(one.draft.id, None)
        else:
            self._made.append(made)

    def _environment_of(self, made: MadeTask) -> Environment:
        """Returns the environment for the gold calls, with the simulated responses of the solutions."""
        calls = [
            RecordedCall(SIMULATED, made.task.id, call.name, call.arguments, call.observation, call.error or '')
            for solution in made.solutions
            for call in solution.calls
            if call.source == SIMULATED
        ]
        if not calls:
            return self._source.environment
        self._simulated[made.task.id] = calls
        environment = self._source.environment
        bank = Bank(self._write_bank([*self._recorded, *calls]))
        return Environment(bank, environment.stateful_tools, environment.errors)

    @cached_property
    def _recorded(self) -> list[RecordedCall]:
        bank = self._source.environment.bank
        return bank.calls() if bank else []

    def _write_bank(self, calls: Sequence[RecordedCall]) -> Path:
        file = self._options.folder / BANK_FILE
        write_bank(calls, file)
        return file

    def _made_by(self) -> dict[str, str]:
        names = {QUERY: model_name(self._solvers[SOLUTION])}
        names |= {role: model_name(cfg) for role, cfg in self._solvers.items()}
        if self._reviewer:
            names[REVIEWER] = self._reviewer.name
        return names | ({SIMULATOR: self._simulator.name} if self._simulator else {})

    def _set(self) -> MadeSet:
        settings = dict(self._source.settings)
        simulated = [call for calls in self._simulated.values() for call in calls]
        if self._source.live is None and (self._recorded or simulated):
            self._write_bank([*self._recorded, *simulated])
            settings['bank'] = BANK_FILE
        options = self._options
        return MadeSet(
            options.folder,
            options.name,
            {'digest': self._source.digest, 'tools': len(self._source.tools)},
            {'loop': options.loop, **settings},
            self._made_by(),
            {
                'seed': options.seed,
                'trials': options.trials,
                'wanted': options.tasks,
                'tries': TRIES,
                'duplicate': DUPLICATE,
                'encoder': self._similarity.name,
                'quotas': asdict(options.quotas),
                'volatile_tools': sorted(self._volatile),
            },
            tuple(self._made),
            tuple(self._dropped),
        )


def expected_requests(options: Options, models: int) -> Mapping[str, int]:
    """Estimates the requests of a first round: two per query, one more with an operation; plan, steps and review.

    Args:
        options: The options.
        models: Number of models that solve.

    Returns:
        ``drafts``, ``query`` requests, ``solution`` requests with three calls each.
    """
    drafts = round(options.tasks * _SURPLUS + 0.5)
    attempts = drafts * options.trials * models
    return {'drafts': drafts, QUERY: round(drafts * 2.3), SOLUTION: attempts * (1 + 4 + 1)}
