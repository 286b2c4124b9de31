"""Makes a set: explores the tools, then rounds of drafts, queries, solutions, agreement and execution, until there are
enough tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops.carry_out import carry_out
from opencompass_tooleval.agents.loops.loops import make_loop
from opencompass_tooleval.agents.tasks.goal import Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import SIMULATED
from opencompass_tooleval.core.calls.trajectory import STATE_LOST
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.environments.simulator import SIMULATOR
from opencompass_tooleval.extras.making.agreement import (
    DIFFERENT_EFFECTS,
    LEAST_AGREEING,
    SAME_GOLD,
    Agreement,
    agree,
    same_gold,
)
from opencompass_tooleval.extras.making.drafts import Draft, Drawing, Quotas
from opencompass_tooleval.extras.making.execution import BROKEN_TOOL, FAILED, NOT_REPRODUCED, Executed, execute_gold
from opencompass_tooleval.extras.making.exploration import CALLS_PER_TOOL, Exploration, Explored, explored_requests
from opencompass_tooleval.extras.making.gates import DUPLICATE, near_duplicates
from opencompass_tooleval.extras.making.grounding import show_what_exists
from opencompass_tooleval.extras.making.live_checks import LiveChecks
from opencompass_tooleval.extras.making.made_set import BANK_FILE, Dropped, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution
from opencompass_tooleval.extras.making.queries import FailedQuery, Written, write_query
from opencompass_tooleval.extras.making.scripted_agents import free_points, solved_by
from opencompass_tooleval.extras.making.solving import REVIEWER, Attempt, solve, tell_failure
from opencompass_tooleval.extras.making.tool_source import ToolSource
from opencompass_tooleval.extras.making.tool_table import ToolRow, tool_rows
from opencompass_tooleval.extras.making.wording import with_line, without_line
from opencompass_tooleval.instructions.generate import TRIES
from opencompass_tooleval.judging.judge import settings_hash
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

_OF_ENVIRONMENT = 'environment:'
_EFFECTS = {DIFFERENT_EFFECTS, NOT_REPRODUCED}
_FIRST = 3
"""Drafts of a live server that are solved before the others."""

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
        loop: Loop of the executor, one of :data:`~opencompass_tooleval.agents.loops.loops.LOOPS`.
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
    form: str
    number: int = 1
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def key(self) -> str:
        return self.draft.id if self.number == 1 else f'{self.draft.id}.{self.number}'

    @property
    def query(self) -> str:
        """The query without the line that asks for its result."""
        return without_line(self.task.query, self.form, self.draft.language)

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
        ended: Why the run ended before all rounds: the server fails again and again; ``''`` if it did not.
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
        self._checks = LiveChecks(source, source.live) if source.live else None
        self._left_out: dict[str, str] = {}
        self._reached: dict[str, list[str]] = {}
        self._solvers_by_role = {role: self._models[role].name for role in (SOLUTION, SECOND) if role in self._models}
        self._solvers = tuple(self._solvers_by_role.values())
        self._reading = {name for name, tool in source.tools.items() if tool.only_reads}
        self._simulated: dict[str, list[RecordedCall]] = {}
        self.failed: dict[str, str] = {}
        self.ended = ''
        self.spent = Spent()
        self.explored = Explored()

    def run(self) -> MadeSet:
        """Explores the tools and makes the tasks, in rounds; a round with failed requests is the last.

        Returns:
            The set, not yet written. It has fewer tasks than wanted where the rounds did not give more.

        Raises:
            ServerError: The state of the live server does not reset.
            FixtureChangedError: The live server has changed the fixture, of which each of its processes has a copy.
        """
        if self._checks:
            self._checks.check_begun(self._options.folder / JOURNAL_FOLDER)
        self._explore()
        for _ in range(MAX_ROUNDS):
            missing = self._missing()
            if not missing or self.failed or self.ended:
                break
            self._drawing.leave_out(self._left_out)
            counts = {kind: round(count * _SURPLUS + 0.5) for kind, count in missing.items()}
            self._round(list(self._drawing.draw(counts)))
        return self._set()

    def tool_rows(self) -> list[ToolRow]:
        """The tools, with their calls in this run."""
        needed = Counter(name for made in self._made for name in {call.name for call in made.task.gold or ()})
        return tool_rows(self._source.tools, needed, self._source.environment.tally, self._left_out)

    def _explore(self) -> None:
        options, folder = self._options, self._options.folder / JOURNAL_FOLDER
        run = partial(self._run, EXPLORE, SOLUTION)
        exploration = Exploration(self._source, options.loop, options.seed, options.explore, run)
        folder.mkdir(parents=True, exist_ok=True)
        self.explored = exploration.explore(folder, settings_hash(self._cfgs[SOLUTION]))
        self.failed.update(self.explored.failed)
        self._drawing.follow(self.explored.dependencies)
        self._check_server([])

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
        again = [] if self.ended else self._rewritten(failed, asked)
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
        for one in self._solved_in_parts(asked):
            if dropped := self._agreed(one):
                failed[one.draft.id] = (one, dropped)
        return failed

    def _solved_in_parts(self, asked: Sequence[_Asked]) -> Iterator[_Asked]:
        """Has queries solved; on a live server a few first, which show whether it can be used."""
        first = _FIRST if self._checks and not self._made else len(asked)
        for part in filter(None, (asked[:first], asked[first:])):
            solved = self._solved(part)
            self._check_server(solved)
            if self.ended:
                return
            yield from solved

    def _check_server(self, solved: Sequence[_Asked]) -> None:
        """Tests if the server can be used; tools that fail again and again are left out from here on."""
        tally = self._source.environment.tally
        self.ended = tally.broken_server()
        self._left_out.update(dict.fromkeys(tally.broken_tools(), BROKEN_TOOL))
        if self._left_out.keys() >= self._source.tools.keys():
            self.ended = 'each tool fails again and again, or leaves nothing that can be compared'
        if self._checks and not self.ended:
            self._checks.check_reset([solution for one in solved for solution in one.accepted])

    def _agreed(self, one: _Asked, may_repeat: bool = True) -> Dropped | None:
        """Makes a task of a solved draft, or says why not. Effects that differ are looked into once."""
        agreement = agree(one.draft, one.query, one.form, one.accepted, self._solvers, self._reading)
        fault = None
        if agreement.goal is not None:
            if one.draft.kind not in self._missing():
                return Dropped(one.draft.id, 'quota', _QUOTA_IS_FULL, one.query)
            if any(same_gold(agreement.goal, made.goal) for made in self._made):
                return Dropped(one.draft.id, 'duplicate', SAME_GOLD, one.query)
            fault = self._check(one, agreement, agreement.goal)
            if fault is None:
                return None
        if self._checks and may_repeat and (fault.reason if fault else agreement.reason) in _EFFECTS:
            masked = dict(self._checks.masked)
            fault = self._checks.find_volatile(one.accepted[0]) or fault
            if self._checks.masked != masked:
                self._made = list(map(self._checks.with_effects_of_task, self._made))
            if self._checks.masked:  # some were not, when the draft was solved
                one.attempts = list(map(self._checks.with_effects, one.attempts))
                return self._agreed(one, may_repeat=False)
        if fault is None:
            return self._unsolved(one, agreement)
        if fault.tool:
            self._left_out[fault.tool] = fault.reason
        self._simulated.pop(one.draft.id, None)
        return Dropped(one.draft.id, 'execution', fault.reason, fault.detail)

    def _written(self, drafts: Sequence[Draft], asked: Sequence[_Asked]) -> Iterator[_Asked]:
        tools = self._source.tools
        dialogues = {}
        for draft in drafts:
            if tool := next((name for name in draft.needed if name in self._left_out), None):
                self._drop(draft, 'draft', self._left_out[tool], tool)
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
                query = with_line(written.query, written.form, draft.language)
                task = Task(name, self._options.name, query, schemas, documents=documents, language=draft.language)
                yield _Asked(draft, task, written.form)

    def _writing(self, draft: Draft, asked: Sequence[_Asked], failed: FailedQuery | None = None) -> Dialogue[Written]:
        """Has a query written that differs from those of its kind."""
        made = [task.query for task in self._made if task.goal.kind == draft.kind]
        earlier = [*made, *(one.query for one in asked if one.draft.kind == draft.kind)]
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
            if not dropped.reason.startswith(_OF_ENVIRONMENT)
            if self._left_out.keys().isdisjoint(one.draft.needed)
        }
        dialogues = {
            key: self._writing(one.draft, asked, FailedQuery(one.query, one.why(failed[one.draft.id][1])))
            for key, one in first.items()
        }
        again = []
        for key, outcome in self._run(QUERY, SOLUTION, dialogues).items():
            one = first[key]
            if outcome.value is None:
                self.failed[one.draft.id] = str(outcome.infra)
            elif not outcome.value.reason:
                written = outcome.value
                query = with_line(written.query, written.form, one.draft.language)
                again.append(_Asked(one.draft, replace(one.task, query=query), written.form, 2))
        twins = self._twins(again, asked)
        return [one for index, one in enumerate(again) if index not in twins]

    def _without_duplicates(self, written: Sequence[_Asked], asked: Sequence[_Asked]) -> Iterator[_Asked]:
        twins = self._twins(written, asked)
        for index, one in enumerate(written):
            if index in twins:
                self._drop(one.draft, 'duplicate', _NEAR_DUPLICATE, one.query)
            else:
                yield one

    def _twins(self, written: Sequence[_Asked], asked: Sequence[_Asked]) -> set[int]:
        """Returns the places of queries that are alike to one of a task, or to one that was written before."""
        known = [*(made.query for made in self._made), *(one.query for one in asked)]
        queries = [*known, *(one.query for one in written)]
        return {index - len(known) for index in near_duplicates(queries, self._similarity, len(known))}

    def _solved(self, asked: Sequence[_Asked]) -> list[_Asked]:
        runs = {f'{one.key}#{trial}': one for one in asked for trial in range(self._options.trials)}
        has_reviewer, environment = REVIEWER in self._models, self._source.environment
        for role, model in self._solvers_by_role.items():
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
            detail = f'{count} of {len(one.attempts)} attempts; {words}; {one.query}'
            return Dropped(one.draft.id, 'solution', reason, detail)
        return Dropped(one.draft.id, 'agreement', agreement.reason, f'{agreement.detail}; {one.query}')

    def _check(self, one: _Asked, agreement: Agreement, goal: Goal) -> Executed | None:
        """Executes the gold of a task; keeps the task, or returns what is wrong."""
        made = MadeTask(one.task, agreement.solutions, one.draft.operation, self._made_by()).with_goal(goal)
        environment, reached = self._environment_of(made), dict[str, list[str]]()
        try:
            run = partial(carry_out, environment=environment)
            fault = execute_gold([made.task], partial(run, loop=self._loop)).get(made.task.id)
            if fault is None:
                with environment.tally.paused():
                    reached = solved_by([made], run)
                fault = free_points(made, reached)
        except ServerError as error:
            fault = Executed(FAILED, str(error))
        finally:
            if environment.bank is not None and environment is not self._source.environment:
                environment.bank.close()
        if fault is None:
            self._made.append(made)
            for agent, ids in reached.items():
                self._reached.setdefault(agent, []).extend(ids)
        return fault

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
        if self._checks:
            settings['live'] = {**settings['live'], 'probes': self._checks.probe_rows()}
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
                'left_out_tools': self._left_out,
                'masked': {part: list(fields) for part, fields in self._checks.masked.items()} if self._checks else {},
                'calls': self._source.environment.tally.to_rows(),
                'explored': self.explored.summary(list(self._source.tools)),
            },
            tuple(self._made),
            tuple(self._dropped),
            scripted=self._reached,
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
