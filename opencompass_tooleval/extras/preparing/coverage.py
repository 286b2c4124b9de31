"""Measures how many gold calls of a data set an environment can answer, and from which source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.agents.tasks.records_teval import plan_calls
from opencompass_tooleval.benchmarks.teval.data import load_samples, split_stem
from opencompass_tooleval.core.calls.observation import SOURCES
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.environment import Environment


def gold_calls(file: Path) -> dict[str, list[GoldCall]]:
    """Reads the gold calls of T-Eval's plans: task -> its calls in order, without the call that ends it.

    Args:
        file: A file with its published name, such as ``plan_json_v1.json``.

    Raises:
        DataError: The file is damaged, or belongs to another subset.
    """
    try:
        subset = split_stem(file.stem)[0]
    except ValueError as error:
        raise DataError(file, str(error)) from error
    if not subset.startswith('plan_'):
        raise DataError(file, "only T-Eval's plans (plan_json, plan_str) contain the gold calls of a task")
    return {sample.record.id: plan_calls(sample) for sample in load_samples(file, subset)}


@dataclass(frozen=True)
class Coverage:
    """Sources of the answers to gold calls.

    Attributes:
        tasks: Number of tasks.
        calls: Number of their calls.
        by_source: Source -> number of calls, in the order of ``SOURCES``.
        by_tool: Tool (the part of an API's name before the dot) -> source -> number of calls.
    """

    tasks: int
    calls: int
    by_source: Mapping[str, int]
    by_tool: Mapping[str, Mapping[str, int]]


def coverage(environment: Environment, tasks: Mapping[str, list[GoldCall]]) -> Coverage:
    """Makes all gold calls in an environment, each task in a new session.

    Args:
        environment: The environment.
        tasks: The result of :func:`gold_calls`.
    """
    by_tool: dict[str, Counter[str]] = {}
    for task, calls in tasks.items():
        session = environment.begin(task)
        for call in calls:
            source = session.call(call.name, call.arguments).source
            by_tool.setdefault(call.name.partition('.')[0], Counter())[source] += 1
    total = sum(by_tool.values(), Counter[str]())
    return Coverage(
        len(tasks),
        sum(total.values()),
        {source: total[source] for source in SOURCES},
        {tool: {source: counts[source] for source in SOURCES} for tool, counts in sorted(by_tool.items())},
    )
