"""Registered classes of agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval import plugin
from opencompass_tooleval.agents.loops.loops import Loop, carry_out, find_loop, make_loop
from opencompass_tooleval.agents.scorer import AgentScorer
from opencompass_tooleval.agents.tasks.instructed import load_instructed
from opencompass_tooleval.agents.tasks.open_bank import find_tools, open_bank
from opencompass_tooleval.agents.tasks.records import FIX, data_file, load_data
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.benchmarks.variant_kinds import SUFFIX
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.tool_calls import ToolCall, calls_text
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.keywords import keyword_faults, keywords_of
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.environments.environment import LIVE_ERRORS, Environment
from opencompass_tooleval.environments.simulator import SIMULATOR
from opencompass_tooleval.environments.simulator_store import open_simulator
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, as_dataset
from opencompass_tooleval.models.conversation import ASKED_WITH
from opencompass_tooleval.models.dataset import SHOWN, ToolEvalDataset
from opencompass_tooleval.plugin import LOOPS
from opencompass_tooleval.work_dir.data_files import shown_files


@LOAD_DATASET.register_module()
class ToolEvalAgentDataset(ToolEvalDataset):
    """The tasks of one subset."""

    benchmark_of_records = 'agents'

    @staticmethod
    def load(
        path: str,
        name: str,
        version: str | None = None,
        instructions: str | None = None,
        change: Change | None = None,
    ) -> Dataset:
        """Loads the tasks.

        Args:
            path: Folder of the tasks' benchmark, such as ``data/teval``.
            name: Row of the table: ``teval``, ``toolbench_g1``, ...
            version: Version of T-Eval's data; default ``v1``.
            instructions: A file of EasyTool instructions, which the model sees instead of the documentation.
            change: Changes the raw records for a variant; configs do not set it.

        Raises:
            DataError: A file is missing or damaged, or tools have no instruction.
            ValueError: The subset or version does not exist.
        """
        file = resolve_data_path(path, FIX) / data_file(name, version)
        data = load_data(file, name, change)
        get_logger().info(f'data: {file.resolve()}: {len(data.tasks)} tasks, {len(data.errata)} errata')
        tasks, instructed = (
            load_instructed(data.tasks, instructions, name, file) if instructions else (data.tasks, None)
        )
        shown = json.dumps(shown_files('data', file, instructed))
        return as_dataset(task_rows(tasks, f'agents_{name}{SUFFIX if instructions else ""}', shown))


def task_rows(tasks: Sequence[Task], source: str, shown: str) -> list[dict[str, Any]]:
    """Converts tasks to the rows of a data set.

    Args:
        tasks: The tasks.
        source: Name of the data set for recorded answers.
        shown: JSON text of the data files' provenance.
    """
    return [
        {
            'record_id': task.id,
            'messages': messages_text([Message('user', task.query)]),
            ASKED_WITH: task.shown_digest,
            'record': task.to_payload(),
            'gold_answer': calls_text(ToolCall(call.name, call.arguments) for call in task.oracle_calls),
            'source': source,
            SHOWN: shown,
        }
        for task in tasks
    ]


class AgentDialogues:
    """Begins the dialogues of a loop with an environment: ``dialogues`` of the inferencer.

    Args:
        loop: One of :data:`~opencompass_tooleval.agents.loops.loops.LOOPS`.
        bank: The response bank, or recordings to make one from (``open_bank``); None for no bank.
        stateful_tools: Benchmark whose emulated tools and texts of errors are used
            (``TOOLS``); None for ToolBench's errors without emulated tools.
        preferred_source: Argument of :class:`~opencompass_tooleval.environments.environment.Environment`.
        simulator: Arguments of :func:`~opencompass_tooleval.environments.simulator_store.open_simulator` for the model
            that answers if no other source does: ``model``, optionally ``system`` and ``cache``; None for no simulator.
        argument_checks: Argument of :class:`~opencompass_tooleval.environments.environment.Environment`; default
            ``json``, as published, with a simulator of StableToolBench, else ``schema``.
        live: Settings of a live server that answers for its tools
            (:data:`~opencompass_tooleval.plugin.LIVE`); None for no server.
        options: Options of the loop.

    Attributes:
        models: The simulator, for the inferencer.
        tally: Counts of all tool calls.
        threads: Number of dialogues that run at the same time: one, or the number of a live server's processes.

    Raises:
        DataError: The bank does not exist.
        TypeError: The loop has no such option.
        ValueError: The loop, benchmark with tools, or check does not exist.
    """

    def __init__(
        self,
        loop: str,
        bank: str | None = None,
        stateful_tools: str | None = None,
        preferred_source: str = '',
        simulator: Mapping[str, Any] | None = None,
        argument_checks: str | None = None,
        live: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._loop = make_loop(loop, **options)
        tools = find_tools(stateful_tools)
        opened = open_bank(bank) if bank else None
        simulates = open_simulator(**simulator) if simulator else None
        self.models = {SIMULATOR: simulator['model']} if simulator else {}
        server = plugin.load(plugin.LIVE)(**live) if live else None
        self._environment = Environment(
            opened,
            tools.stateful_tools,
            LIVE_ERRORS if live else tools.errors,
            preferred_source,
            simulates,
            argument_checks,
            server,
        )
        self.tally = self._environment.tally
        self.threads = self._environment.threads
        self._settings: dict[str, Any] = {
            'bank': opened.digest if opened else None,
            'stateful_tools': stateful_tools,
            'preferred_source': preferred_source,
            'argument_checks': self._environment.argument_checks,
            **(simulates.settings if simulates else {'simulator': None}),
            **({'live': str(self._environment.live.server)} if self._environment.live else {}),
        }

    @staticmethod
    def reader_of_others(settings: Mapping[str, Any]) -> type | None:
        """Returns the class of the loop, which takes the config's other options; None if the loop does not exist."""
        return find_loop(settings['loop']) if settings.get('loop') in LOOPS else None

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the errors in a config's loop, simulator and live server."""
        try:
            find_loop(str(settings.get('loop')))
        except ValueError as error:
            yield str(error)
        readers: dict[str, Callable[[], Iterable[Callable[..., Any]]]] = {
            'simulator': lambda: (open_simulator,),
            'live': lambda: (plugin.load(plugin.LIVE),),
        }
        for name, functions in readers.items():
            if isinstance(given := settings.get(name), Mapping):
                yield from keyword_faults(given, keywords_of(functions()), name)

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[str]:
        """Starts the dialogue for one row; it returns the trajectory as JSON."""
        trajectory = yield from self.carry_out(parse_task(row['record']))
        return trajectory.to_json()

    def carry_out(self, task: Task, loop: Loop | None = None) -> Dialogue[Trajectory]:
        """Runs a task from a fresh state.

        Args:
            task: The task.
            loop: Replaces the loop of these dialogues.
        """
        trajectory = yield from carry_out(task, loop or self._loop, self._environment)
        return replace(trajectory, settings={**trajectory.settings, **self._settings})

    def close(self) -> None:
        """Stops the processes of the live server."""
        if self._environment.live is not None:
            self._environment.live.close()


@ICL_EVALUATORS.register_module()
class ToolEvalAgentEvaluator(AgentScorer, ToolEvalEvaluator):
    """Scores the trajectories of one subset, without a judge.

    Args:
        name: The subset, as in :meth:`ToolEvalAgentDataset.load`.
    """

    def __init__(self, name: str) -> None:
        ToolEvalEvaluator.__init__(self)
        AgentScorer.__init__(self, name)
