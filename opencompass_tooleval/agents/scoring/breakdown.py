"""Further parts of a result of agents: sources of observations, called tools, and usage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.agents.scoring.scoring import FINISH_RATE, OF_REPAIRED, AgentScore
from opencompass_tooleval.agents.scoring.waste import UNKNOWN_TOOLS, error_of
from opencompass_tooleval.core.calls.observation import SIMULATED, SOURCES
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Trajectory
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.core.scoring.usage import read_usage, total_usage
from opencompass_tooleval.core.scoring.usage_summary import numbers_of
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.environments.environment import shares

FINISHED = 'finished'
"""The end of a task with a final answer, correct or wrong."""
_MAX_SETTING_CHARS = 200


def breakdown(scores: Sequence[AgentScore]) -> dict[str, Any]:
    """Summarizes all tasks as JSON values; tasks without an answer are left out.

    Returns:
        ``steps`` and ``calls`` per task, ``seconds``, ``prompt`` and ``completion`` (tokens) if servers report them,
        each with ``total``, ``mean``, ``p50``, ``p95``; ``waste`` (kind -> calls); ``sources`` (source -> calls) and
        their ``shares``, 0-1; ``simulated_by`` (simulator -> calls); ``tools`` (tool -> source -> calls, most frequent
        first, without unknown tools); ``errors`` (kind -> calls, including recorded errors); ``stopped`` (reason ->
        tasks); ``ends`` (:data:`FINISHED` or the reason -> number of steps -> tasks); ``omitted_observations`` (number
        of observations and of tasks); ``repaired`` if gold calls are faulty (:func:`repaired`).
    """
    done = [score.trajectory for score in scores if score.trajectory]
    calls = [call for trajectory in done for call in trajectory.calls]
    sources = Counter(call.source for call in calls)
    counted = {source: sources[source] for source in SOURCES}
    wasted = Counter[str]()
    for score in scores:
        wasted.update({name: count for name, count in vars(score.waste).items() if name != 'calls'})
    omitted_observations = [trajectory.omitted_observations for trajectory in done if trajectory.omitted_observations]
    return {
        'steps': numbers_of([len(trajectory.steps) for trajectory in done]),
        'calls': numbers_of([len(trajectory.calls) for trajectory in done]),
        **_spent(done),
        'waste': dict(wasted),
        'sources': counted,
        'shares': shares(counted),
        'simulated_by': dict(simulators(done)),
        'tools': _tools(calls),
        'errors': dict(Counter(kind for call in calls if (kind := error_of(call))).most_common()),
        'stopped': dict(Counter(trajectory.stopped for trajectory in done if trajectory.stopped).most_common()),
        'ends': _ends(scores),
        'omitted_observations': {'observations': sum(omitted_observations), 'tasks': len(omitted_observations)},
        **({'repaired': beside} if (beside := repaired(scores)) else {}),
    }


def repaired(scores: Sequence[AgentScore]) -> dict[str, Any]:
    """Returns additional scores in which gold calls that no valid call can equal are repaired.

    Returns:
        ``calls`` (number of such gold calls), ``tasks`` (number of tasks with some), and the metrics of
        ``OF_REPAIRED`` over all tasks, 0-100, with these gold calls repaired; empty if all gold calls are valid.
    """
    faulty = [score.repaired for score in scores if score.repaired]
    if not faulty:
        return {}
    read = [
        replace(score, values={**score.values, **score.repaired.values}) if score.repaired else score
        for score in scores
    ]
    total = aggregate(read, OF_REPAIRED)
    return {'calls': sum(one.calls for one in faulty), 'tasks': len(faulty), **total.metrics}


def _ends(scores: Iterable[AgentScore]) -> dict[str, dict[str, int]]:
    ends: dict[str, Counter[int]] = {}
    for score in scores:
        if score.trajectory:
            end = FINISHED if score.values[FINISH_RATE] else score.reason
            ends.setdefault(end, Counter())[len(score.trajectory.steps)] += 1
    return {end: {str(steps): counts[steps] for steps in sorted(counts)} for end, counts in sorted(ends.items())}


def simulators(trajectories: Iterable[Trajectory]) -> Counter[str]:
    """Counts the simulated calls by simulator and name of its prompt."""
    counts = Counter[str]()
    for trajectory in trajectories:
        count = trajectory.sources[SIMULATED]
        if count:
            model, prompt = (trajectory.settings.get(name) for name in ('simulator', 'simulator_prompt'))
            shown = bounded_text(model or 'unknown', _MAX_SETTING_CHARS)
            counts[f'{shown}, prompt {bounded_text(prompt, _MAX_SETTING_CHARS)}' if prompt else shown] += count
    return counts


def _tools(calls: Iterable[AnsweredCall]) -> dict[str, dict[str, int]]:
    tools: dict[str, Counter[str]] = {}
    for call in calls:
        if error_of(call) not in UNKNOWN_TOOLS:
            tools.setdefault(call.name, Counter())[call.source] += 1
    ordered = sorted(tools.items(), key=lambda item: (-item[1].total(), item[0]))
    return {name: {source: counts[source] for source in SOURCES if counts[source]} for name, counts in ordered}


def _spent(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Summarizes seconds and tokens per task, over the tasks for which they are known."""
    usages = [total_usage(read_usage(step.usage) for step in trajectory.steps) for trajectory in trajectories]
    spent = {}
    for name in ('seconds', 'prompt', 'completion'):
        known = [getattr(usage, name) for usage in usages if usage and usage.is_whole(name)]
        if known:
            spent[name] = numbers_of(known)
    return spent


def settings_of(scores: Iterable[AgentScore]) -> dict[str, Any]:
    """Returns the settings that the scores depend on: loop, options, and what answered the calls.

    A setting with different values for different tasks, such as in a run resumed with another simulator, has all
    If tasks differ in a setting, for example after a resume with another simulator, all values are listed.
    """
    done = [score.trajectory for score in scores if score.trajectory]
    values: dict[str, dict[str, Any]] = {}
    for trajectory in done:
        for name, value in {'loop': trajectory.loop, **trajectory.settings}.items():
            values.setdefault(name, {}).setdefault(repr(value), value)
    settings = {
        name: next(iter(found.values())) if len(found) == 1 else ', '.join(sorted(map(_shown, found.values())))
        for name, found in values.items()
    }
    by = simulators(done)
    return {**settings, **({'simulated_by': ', '.join(sorted(by))} if by else {})}


def _shown(value: Any) -> str:
    return bounded_text('none' if value is None else value, _MAX_SETTING_CHARS)
