"""Makes a set in rounds of drafts, queries, solutions, agreement and execution, until there are enough tasks."""

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
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.observation import SIMULATED
from opencompass_tooleval.environments.simulator import SIMULATOR
from opencompass_tooleval.extras.making.agreement import DIFFERENT_EFFECTS, LEAST_AGREEING, Agreement, agree
from opencompass_tooleval.extras.making.drafts import Draft, Drawing, Quotas
from opencompass_tooleval.extras.making.execution import BROKEN_TOOL, FAILED, NOT_REPRODUCED, Executed, execute_gold
from opencompass_tooleval.extras.making.gates import DUPLICATE, near_duplicates
from opencompass_tooleval.extras.making.grounding import sample_resources
from opencompass_tooleval.extras.making.live_checks import LiveChecks
from opencompass_tooleval.extras.making.made_set import BANK_FILE, Dropped, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution
from opencompass_tooleval.extras.making.queries import write_query
from opencompass_tooleval.extras.making.solving import REVIEWER, Attempt, solve
from opencompass_tooleval.extras.making.tool_source import ToolSource
from opencompass_tooleval.extras.making.tool_table import ToolRow, tool_rows
from opencompass_tooleval.extras.mcp_servers.server import ServerError
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
QUERY, SOLUTION, SECOND = 'query', 'solution', 'second'
_STAGES = {QUERY: 'writes queries', SOLUTION: 'solves'}

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
    """

    name: str
    folder: Path
    tasks: int
    trials: int = 3
    seed: int = 0
    loop: str = 'function_calling'
    quotas: Quotas = field(default_factory=Quotas)


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
        failed: Draft -> ``infra:...`` reason; such drafts make the run unfinished.
        ended: Why the run ended before all rounds: the server fails again and again; ``''`` if it did not.
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
        self._simulated: dict[str, list[RecordedCall]] = {}
        self.failed: dict[str, str] = {}
        self.ended = ''
        self.spent = Spent()

    def run(self) -> MadeSet:
        """Makes the tasks, in rounds; a round with failed requests is the last.

        Returns:
            The set, not yet written. It has fewer tasks than wanted where the rounds did not give more.

        Raises:
            ServerError: The state of the live server does not reset.
            FixtureChangedError: The live server has changed the fixture, of which each of its processes has a copy.
        """
        if self._checks:
            self._checks.check_begun(self._options.folder / JOURNAL_FOLDER)
        for _ in range(MAX_ROUNDS):
            missing = self._missing()
            if not missing or self.failed or self.ended:
                break
            counts = {kind: round(count * _SURPLUS + 0.5) for kind, count in missing.items()}
            self._round(list(self._drawing.draw(counts)))
        return self._set()

    def tool_rows(self) -> list[ToolRow]:
        """The tools, with their calls in this run."""
        needed = Counter(name for made in self._made for name in {call.name for call in made.task.gold or ()})
        return tool_rows(self._source.tools, needed, self._source.environment.tally, self._left_out)

    def _missing(self) -> dict[str, int]:
        made = Counter(task.goal.kind for task in self._made)
        quota = self._drawing.apportion(self._options.tasks)
        return {kind: count - made[kind] for kind, count in quota.items() if made[kind] < count}

    def _drop(self, draft: Draft, stage: str, reason: str, detail: str) -> None:
        self._dropped.append(Dropped(draft.id, stage, reason, detail))

    def _round(self, drafts: Sequence[Draft]) -> None:
        asked = list(self._without_duplicates(list(self._written(drafts))))
        for one in self._solved_in_parts(asked):
            if dropped := self._agreed(one):
                self._dropped.append(dropped)

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
        agreement, fault = agree(one.draft, one.task.query, one.accepted), None
        if agreement.goal is not None:
            if one.draft.kind not in self._missing():
                return Dropped(one.draft.id, 'quota', _QUOTA_IS_FULL, one.task.query)
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

    def _written(self, drafts: Sequence[Draft]) -> Iterator[_Asked]:
        tools, resources = self._source.tools, self._source.resources
        dialogues = {}
        for draft in drafts:
            if tool := next((name for name in draft.needed if name in self._left_out), None):
                self._drop(draft, 'draft', self._left_out[tool], tool)
            else:
                shown = sample_resources(resources, f'{self._options.seed} {draft.id}')
                dialogues[draft.id] = write_query(draft, tools, shown)
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

    def _without_duplicates(self, asked: Sequence[_Asked]) -> Iterator[_Asked]:
        known = [made.task.query for made in self._made]
        twins = near_duplicates([*known, *(one.task.query for one in asked)], self._similarity, len(known))
        for place, one in enumerate(asked, len(known)):
            if place in twins:
                self._drop(one.draft, 'duplicate', _NEAR_DUPLICATE, one.task.query)
            else:
                yield one

    def _solved(self, asked: Sequence[_Asked]) -> list[_Asked]:
        runs = {f'{one.draft.id}#{trial}': one for one in asked for trial in range(self._options.trials)}
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

    def _check(self, one: _Asked, agreement: Agreement, goal: Goal) -> Executed | None:
        """Executes the gold of a task; keeps the task, or returns what is wrong."""
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
            settings['live'] = {
                **settings['live'],
                'probes': [probe.to_row() for probe in self._source.environment.probes],
            }
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
