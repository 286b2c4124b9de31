"""Makes a set: explores the tools, then rounds of drafts, queries, solutions, agreement and execution, until there are
enough tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.carry_out import carry_out
from opencompass_tooleval.agents.goal import Goal
from opencompass_tooleval.agents.loops import make_loop
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.trajectory import STATE_LOST
from opencompass_tooleval.core.dialogue import Dialogue
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.observation import SIMULATED
from opencompass_tooleval.environments.simulator import SIMULATOR
from opencompass_tooleval.instructions.generate import TRIES
from opencompass_tooleval.judging.judge import settings_hash
from opencompass_tooleval.making.agreement import LEAST_AGREEING, Agreement, agree
from opencompass_tooleval.making.drafts import Draft, Drawing, Quotas
from opencompass_tooleval.making.execution import FAILED, VOLATILE, Executed, execute_gold
from opencompass_tooleval.making.exploration import CALLS_PER_TOOL, Exploration, Explored, explored_requests
from opencompass_tooleval.making.gates import DUPLICATE, near_duplicates
from opencompass_tooleval.making.grounding import show_what_exists
from opencompass_tooleval.making.made_set import BANK_FILE, Dropped, MadeSet
from opencompass_tooleval.making.made_task import MadeTask, Solution
from opencompass_tooleval.making.queries import FailedQuery, Written, write_query
from opencompass_tooleval.making.solving import REVIEWER, Attempt, solve, tell_failure
from opencompass_tooleval.making.tool_source import ToolSource
from opencompass_tooleval.mcp_servers.server import ServerError
from opencompass_tooleval.models.auxiliary_model import AuxiliaryModel
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.work_dir.journal import Journal

MAX_ROUNDS = 5
"""Rounds at most; each draws as many drafts as tasks are missing, and some more."""
_SURPLUS = 1.4
"""Drafts of a round for each task that is still missing."""

JOURNAL_FOLDER = 'journal'
_FIRST_WAVE = 4
"""Drafts whose queries are written first; each wave sees the queries before it, and is as large as all of these."""

EXPLORE, QUERY, SOLUTION, SECOND = 'explore', 'query', 'solution', 'second'
_STAGES = {EXPLORE: 'explores', QUERY: 'writes queries', SOLUTION: 'solves'}

_NEAR_DUPLICATE = 'query:duplicate'
_QUOTA_IS_FULL = 'quota:full'


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
        explore: Calls for each tool with which the first model explores; 0 for none.
    """

    name: str
    folder: Path
    tasks: int
    trials: int = 3
    seed: int = 0
    loop: str = 'function_calling'
    quotas: Quotas = field(default_factory=Quotas)
    explore: int = CALLS_PER_TOOL


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
    """A draft on its way.

    Attributes:
        draft: The draft.
        task: Its task, without goal.
        number: 2 for the query that was written anew, else 1.
        attempts: Attempts to solve it.
    """

    draft: Draft
    task: Task
    number: int = 1
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def key(self) -> str:
        return self.draft.id if self.number == 1 else f'{self.draft.id}.{self.number}'

    def why(self, dropped: Dropped) -> str:
        return tell_failure(dropped.reason, dropped.detail, self.attempts)

    @property
    def accepted(self) -> list[Solution]:
        return [one.solution for one in self.attempts if one.solution is not None and not one.reason]


class Making:
    """Makes a set. The answers of all models are journaled when they come.

    After a kill at most the requests that had no answer yet are sent again.

    Args:
        source: The tools and what answers their calls.
        options: The options.
        model: Config of the model that writes and solves.
        second: Config of the second model that solves; None for none.
        reviewer: Config of the model that reviews solutions; None for the one that solved.
        simulator: Config of the model that simulates responses; None for none.
        similarity: Of texts, for near-duplicates and for tools that are easily confused.

    Attributes:
        failed: Draft, or session that explores -> ``infra:...`` reason; these make the run unfinished.
        spent: What it cost.
        explored: What exists.
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
        cfgs = {SOLUTION: model, SECOND: second, REVIEWER: reviewer, SIMULATOR: simulator}
        self._cfgs = {role: cfg for role, cfg in cfgs.items() if cfg}
        self._models = {role: AuxiliaryModel(cfg) for role, cfg in self._cfgs.items()}
        self._similarity = similarity
        self._loop = make_loop(options.loop)
        self._drawing = Drawing(source.tools, options.quotas, options.seed, similarity)
        self._made: list[MadeTask] = []
        self._dropped: list[Dropped] = []
        self._volatile: set[str] = set()
        self._simulated: dict[str, list[RecordedCall]] = {}
        self.failed: dict[str, str] = {}
        self.spent = Spent()
        self.explored = Explored()

    def run(self) -> MadeSet:
        """Explores the tools and makes the tasks, in rounds; a round with failed requests is the last.

        Returns:
            The set, not yet written. It has fewer tasks than wanted where the rounds did not give more.
        """
        self._explore()
        for _ in range(MAX_ROUNDS):
            missing = self._missing()
            if not missing or self.failed:
                break
            counts = {kind: round(count * _SURPLUS + 0.5) for kind, count in missing.items()}
            self._round(list(self._drawing.draw(counts)))
        return self._set()

    def _explore(self) -> None:
        options, folder = self._options, self._options.folder / JOURNAL_FOLDER
        run = partial(self._run, EXPLORE, SOLUTION)
        exploration = Exploration(self._source, options.loop, options.seed, options.explore, run)
        folder.mkdir(parents=True, exist_ok=True)
        self.explored = exploration.explore(folder, settings_hash(self._cfgs[SOLUTION]))
        self.failed.update(self.explored.failed)
        self._drawing.follow(self.explored.dependencies)

    def _missing(self) -> dict[str, int]:
        made = Counter(task.goal.kind for task in self._made)
        quota = self._drawing.apportion(self._options.tasks)
        return {kind: count - made[kind] for kind, count in quota.items() if made[kind] < count}

    def _drop(self, draft: Draft, stage: str, reason: str, detail: str) -> None:
        self._dropped.append(Dropped(draft.id, stage, reason, detail))

    def _round(self, drafts: Sequence[Draft]) -> None:
        asked: list[_Asked] = []
        while drafts:
            size = max(_FIRST_WAVE, len(asked))
            asked += self._without_duplicates(list(self._written(drafts[:size], asked)), asked)
            drafts = drafts[size:]
        failed = self._tried(asked)
        again = self._rewritten(failed, asked)
        for one in again:
            del failed[one.draft.id]
        failed |= self._tried(again)
        self._dropped += [dropped for _, dropped in failed.values()]
        self._made.sort(key=lambda made: int(made.task.id.rpartition('_')[2]))

    def _tried(self, asked: Sequence[_Asked]) -> dict[str, tuple[_Asked, Dropped]]:
        """Has queries solved, and makes tasks where solutions agree.

        Returns:
            Draft -> its query that became no task, with the reason.
        """
        failed = {}
        for one in self._solved(asked):
            agreement = agree(one.draft, one.task.query, one.accepted)
            if agreement.goal is None:
                dropped: Dropped | None = self._unsolved(one, agreement)
            elif one.draft.kind in self._missing():
                dropped = self._check(one, agreement, agreement.goal)
            else:
                dropped = Dropped(one.draft.id, 'quota', _QUOTA_IS_FULL, one.task.query)
            if dropped:
                failed[one.draft.id] = (one, dropped)
        return failed

    def _written(self, drafts: Sequence[Draft], asked: Sequence[_Asked]) -> Iterator[_Asked]:
        tools = self._source.tools
        dialogues = {}
        for draft in drafts:
            if tool := next((name for name in draft.needed if name in self._volatile), None):
                self._drop(draft, 'draft', VOLATILE, tool)
            else:
                dialogues[draft.id] = self._writing(draft, asked)
        by_id = {draft.id: draft for draft in drafts}
        for name, outcome in self._run(QUERY, SOLUTION, dialogues).items():
            draft, written = by_id[name], outcome.value
            if written is None:
                self.failed[name] = str(outcome.infra)
            elif written.reason:
                words = '; '.join(filter(None, (written.detail, written.query)))
                self._drop(draft, QUERY, written.reason, words)
            else:
                schemas = tuple(tools[tool].schema for tool in draft.offered)
                documents = {tool: tools[tool].document for tool in draft.offered}
                task = Task(name, self._options.name, written.query, schemas, documents=documents)
                yield _Asked(draft, replace(task, language=draft.language))

    def _writing(self, draft: Draft, asked: Sequence[_Asked], failed: FailedQuery | None = None) -> Dialogue[Written]:
        """Has a query written that differs from those of its kind."""
        made = [task.task.query for task in self._made if task.goal.kind == draft.kind]
        earlier = [*made, *(one.task.query for one in asked if one.draft.kind == draft.kind)]
        shown = show_what_exists(
            self.explored.calls, self._source.resources, draft.needed, f'{self._options.seed} {draft.id}'
        )
        return write_query(draft, self._source.tools, shown, earlier, failed)

    def _rewritten(self, failed: Mapping[str, tuple[_Asked, Dropped]], asked: Sequence[_Asked]) -> list[_Asked]:
        """Has queries written anew, once, whose solutions or executions failed, while tasks of their kind miss."""
        missing = self._missing()
        first = {
            f'{name}.2': one
            for name, (one, dropped) in failed.items()
            if one.draft.kind in missing and dropped.reason not in (_QUOTA_IS_FULL, STATE_LOST)
            if self._volatile.isdisjoint(one.draft.needed)
        }
        dialogues = {
            key: self._writing(one.draft, asked, FailedQuery(one.task.query, one.why(failed[one.draft.id][1])))
            for key, one in first.items()
        }
        again = []
        for key, outcome in self._run(QUERY, SOLUTION, dialogues).items():
            one = first[key]
            if outcome.value is None:
                self.failed[one.draft.id] = str(outcome.infra)
            elif not outcome.value.reason:
                again.append(_Asked(one.draft, replace(one.task, query=outcome.value.query), 2))
        twins = self._twins(again, asked)
        return [one for place, one in enumerate(again) if place not in twins]

    def _without_duplicates(self, written: Sequence[_Asked], asked: Sequence[_Asked]) -> Iterator[_Asked]:
        twins = self._twins(written, asked)
        for place, one in enumerate(written):
            if place in twins:
                self._drop(one.draft, 'duplicate', _NEAR_DUPLICATE, one.task.query)
            else:
                yield one

    def _twins(self, written: Sequence[_Asked], asked: Sequence[_Asked]) -> set[int]:
        """Returns the places of queries that are alike to one of a task, or to one that was written before."""
        known = [*(made.task for made in self._made), *(one.task for one in asked)]
        queries = [task.query for task in (*known, *(one.task for one in written))]
        return {place - len(known) for place in near_duplicates(queries, self._similarity, len(known))}

    def _solved(self, asked: Sequence[_Asked]) -> list[_Asked]:
        runs = {f'{one.key}#{trial}': one for one in asked for trial in range(self._options.trials)}
        has_reviewer, environment = REVIEWER in self._models, self._source.environment
        for role in (role for role in (SOLUTION, SECOND) if role in self._models):
            model = self._models[role].name
            dialogues = {
                key: solve(one.task, one.draft, environment, self._loop, model, f'{key} {role}', has_reviewer)
                for key, one in runs.items()
            }
            for key, outcome in self._run(SOLUTION, role, dialogues).items():
                if outcome.value is None:
                    self.failed[runs[key].draft.id] = str(outcome.infra)
                else:
                    runs[key].attempts.append(outcome.value)
        return [one for one in asked if one.draft.id not in self.failed]

    def _run(self, stage: str, role: str, dialogues: Mapping[str, Dialogue[Any]]) -> dict[str, Outcome[Any]]:
        if not dialogues:
            return {}
        model = self._models[role]
        others = {name: other for name, other in self._models.items() if name in (REVIEWER, SIMULATOR)}
        journal = Journal(
            self._options.folder / JOURNAL_FOLDER / f'{stage}-{role}-{settings_hash(self._cfgs[role])}.jsonl'
        )
        journal.path.parent.mkdir(parents=True, exist_ok=True)
        threads = self._source.environment.threads
        runner = DialogueRunner.of(model, journal, 'making', _STAGES[stage], others, threads)
        outcomes = runner.run(dialogues)
        self.spent.calls += runner.calls + sum(runner.other_calls.values())
        of_others = [(others[name], usage) for name, usages in runner.other_usages.items() for usage in usages]
        self.spent.tokens += runner.tokens
        self.spent.tokens += sum((usage.prompt or 0) + (usage.completion or 0) for _, usage in of_others if usage)
        usages = [*((model, outcome.usage) for outcome in outcomes.values()), *of_others]
        costs = [one.prices.cost_of(usage) for one, usage in usages if one.prices and usage]
        if any(costs):
            self.spent.cost = (self.spent.cost or 0.0) + sum(filter(None, costs))
        return outcomes

    def _unsolved(self, one: _Asked, agreement: Agreement) -> Dropped:
        reasons = Counter(attempt.reason for attempt in one.attempts if attempt.reason)
        if len(one.accepted) < LEAST_AGREEING and reasons:
            words = next((attempt.detail for attempt in one.attempts if attempt.detail), '')
            reason, count = reasons.most_common(1)[0]
            detail = f'{count} of {len(one.attempts)} attempts; {words}; {one.task.query}'
            return Dropped(one.draft.id, 'solution', reason, detail)
        return Dropped(one.draft.id, 'agreement', agreement.reason, f'{agreement.detail}; {one.task.query}')

    def _check(self, one: _Asked, agreement: Agreement, goal: Goal) -> Dropped | None:
        made = MadeTask(one.task, agreement.solutions, one.draft.operation, self._made_by()).with_goal(goal)
        environment = self._environment_of(made)
        try:
            found = execute_gold([made.task], partial(carry_out, loop=self._loop, environment=environment))
            fault = found.get(made.task.id)
        except ServerError as error:
            fault = Executed(FAILED, str(error))
        finally:
            if environment.bank is not None and environment is not self._source.environment:
                environment.bank.close()
        if fault is None:
            self._made.append(made)
            return None
        if fault.tool:
            self._volatile.add(fault.tool)
        self._simulated.pop(one.draft.id, None)
        return Dropped(one.draft.id, 'execution', fault.reason, fault.detail)

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
        return {QUERY: self._models[SOLUTION].name, **{role: model.name for role, model in self._models.items()}}

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
                'explored': self.explored.summary(list(self._source.tools)),
                'volatile_tools': sorted(self._volatile),
            },
            tuple(self._made),
            tuple(self._dropped),
        )


def expected_requests(options: Options, models: int, tools: int) -> Mapping[str, int]:
    """Estimates the requests of a first round: two per query, one more with an operation; plan, steps and review.

    Args:
        options: The options.
        models: Number of models that solve.
        tools: Number of tools.

    Returns:
        ``explore`` requests at most, ``drafts``, ``query`` requests, ``solution`` requests with three calls each.
    """
    drafts = round(options.tasks * _SURPLUS + 0.5)
    attempts = drafts * options.trials * models
    explore = explored_requests(tools, options.explore)
    return {EXPLORE: explore, 'drafts': drafts, QUERY: round(drafts * 2.3), SOLUTION: attempts * (1 + 4 + 1)}
