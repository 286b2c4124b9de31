"""Builds the rows of the six tasks from annotated samples, in the authors' format (UltraTool, sections 3.2 to 3.4).

The rules, inferred from the published files:

* planning, tool_usage_awareness and tool_usage follow from the annotations alone. The published tool_usage lacks two
  tools, ``PUBLISHED_WITHOUT``: their steps have no tool there, and their definitions and gold are missing.
* tool_creation withholds some of a sample's tools, and asks for each at the first step that calls it. Its two example
  tools are two of tool_creation_awareness's toolset (they are the sample's own tools as often as among all eight).
* tool_creation_awareness asks, for every step with a call, if its tool is among the eight: the tools that were not
  withheld, and distractors. tool_selection adds distractors to all of a sample's tools, up to eight.

A built row also has ``domain`` and ``rebuilt``, which published rows lack.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import (
    TASKS,
    Argument,
    Call,
    PlanSample,
    RawTool,
    properties,
)
from opencompass_tooleval.extras.preparing.ultratool_tools import ToolPool

SIZED_TASKS = ('tool_creation_awareness', 'tool_selection')
TOOLSET_SIZE = 8
CREATION_TOOLS = 2
PUBLISHED_WITHOUT = frozenset({'book_flight', 'hotel_booking'})

Row = dict[str, Any]
_OPEN = {'tool': ''}


def _plan(sample: PlanSample, marks: Mapping[int, Mapping[str, str]]) -> list[dict[str, str]]:
    """Returns the plan of the prompt: each step, with empty fields where the prompt asks for values, by position."""
    return [{'step': step.text, **marks.get(position, {})} for position, step in enumerate(sample.steps)]


def planning_row(sample: PlanSample) -> Row:
    """Builds a row of planning: the question, and the plan as lines of text."""
    return {'input': sample.question, 'reference': '\n'.join(step.text for step in sample.steps)}


def usage_awareness_row(sample: PlanSample) -> Row:
    """Builds a row of usage awareness: every step except parents; ``1`` if it needs a tool."""
    asked = {position: step for position, step in enumerate(sample.steps) if not step.is_parent}
    return {
        'input': _plan(sample, dict.fromkeys(asked, _OPEN)),
        'reference': [{'step': step.text, 'tool': '0' if step.call is None else '1'} for step in asked.values()],
    }


def creation_row(sample: PlanSample, withheld: Collection[str], toolset: Sequence[RawTool]) -> Row:
    """Builds a row of creation: the first step that calls each withheld tool, and the tool's definition."""
    first: dict[str, int] = {}
    for position, call in sample.calls.items():
        if call.tool in withheld:
            first.setdefault(call.tool, position)
    return {
        'input': _plan(sample, dict.fromkeys(first.values(), _OPEN)),
        'toolset': list(toolset),
        'reference': [
            {'step': sample.steps[position].text, 'tool': sample.tool(name)} for name, position in first.items()
        ],
    }


def creation_awareness_row(sample: PlanSample, withheld: Collection[str], toolset: Sequence[RawTool]) -> Row:
    """Builds a row of creation awareness: every step with a call; ``1`` if its tool is withheld."""
    return {
        'input': _plan(sample, dict.fromkeys(sample.calls, _OPEN)),
        'toolset': list(toolset),
        'reference': [
            {'step': sample.steps[position].text, 'tool': '1' if call.tool in withheld else '0'}
            for position, call in sample.calls.items()
        ],
    }


def selection_row(sample: PlanSample, toolset: Sequence[RawTool]) -> Row:
    """Builds a row of selection: every step with a call, and the tool's name."""
    return {
        'input': _plan(sample, dict.fromkeys(sample.calls, _OPEN)),
        'toolset': list(toolset),
        'reference': [
            {'step': sample.steps[position].text, 'tool': call.tool} for position, call in sample.calls.items()
        ],
    }


def gold_arguments(call: Call, tool: RawTool, *, published: bool = False) -> dict[str, str]:
    """Returns name -> value, all as text, as in the published file.

    An argument that the tool does not have is left out, as in the published file: the prompt says that names come from
    the tool's ``properties``. (The plans in test.json have three such arguments in each language.)

    Args:
        call: The call of the plan.
        tool: The definition of its tool.
        published: True for values as in the published file, cut and quoted, instead of the plan's values.
    """
    documented = properties(tool)
    return {
        argument.name: published_value(argument) if published else argument.value
        for argument in call.arguments
        if argument.name in documented
    }


def published_value(argument: Argument) -> str:
    """Returns the value in the authors' tool_usage file for :attr:`Argument.value`.

    The text is cut at its first comma; if it then starts with a single quote, its first and last characters are
    removed, even if the cut removed the closing quote. This gives all 6,809 values of the published file, in both
    languages. Double quotes stay, as does the rest of a list.
    """
    text = argument.raw.split(',')[0]
    return text[1:-1] if text.startswith("'") else text


def usage_row(sample: PlanSample, *, without: Collection[str] = (), published: bool = False) -> Row:
    """Builds a row of usage: every step with a call, and its arguments.

    Args:
        sample: The sample.
        without: Tools to leave out with their steps, such as ``PUBLISHED_WITHOUT``.
        published: See :func:`gold_arguments`.
    """
    calls = {position: call for position, call in sample.calls.items() if call.tool not in without}
    return {
        'question': sample.question,
        'input': _plan(sample, {position: {'tool': call.tool, 'param': ''} for position, call in calls.items()}),
        'toolset': [tool for tool in sample.tools if tool['name'] not in without],
        'reference': [
            {
                'step': sample.steps[position].text,
                'tool': call.tool,
                'param': gold_arguments(call, sample.tool(call.tool), published=published),
            }
            for position, call in calls.items()
        ],
    }


def draw_withheld(sample: PlanSample, pool: ToolPool, seed: int) -> frozenset[str]:
    """Draws the withheld tools of a sample: from 1 to all of the called tools, each number with equal probability.

    A tool that could do the step of a withheld tool is withheld too, since the gold would be doubtful. In the published
    tool_creation.json, one of two tools is withheld in 277 rows and both in 286.
    """
    called = sorted({call.tool for call in sample.calls.values()})
    if not called:
        return frozenset()
    rng = random.Random(f'{seed}:withheld:{sample.row}')
    chosen = rng.sample(called, rng.randint(1, len(called)))
    rivals = frozenset[str]().union(*(pool.rivals(name) for name in chosen))
    return frozenset(name for name in called if name in rivals)


def _toolset(sample: PlanSample, sample_tools: Sequence[RawTool], pool: ToolPool, size: int, key: str) -> list[RawTool]:
    """Returns ``sample_tools`` and distractors up to ``size``, shuffled; only ``sample_tools`` if these are enough."""
    rng = random.Random(f'{key}:{sample.row}')
    drawn = pool.draw([str(tool['name']) for tool in sample.tools], max(0, size - len(sample_tools)), rng)
    toolset = [*sample_tools, *drawn]
    rng.shuffle(toolset)
    return toolset


def _task_row(
    task: str, sample: PlanSample, pool: ToolPool, size: int, seed: int, withheld: Collection[str] | None
) -> Row:
    if task == 'planning':
        return planning_row(sample)
    if task == 'tool_usage_awareness':
        return usage_awareness_row(sample)
    if task == 'tool_usage':
        return usage_row(sample)
    if task == 'tool_selection':
        return selection_row(sample, _toolset(sample, sample.tools, pool, size, f'{seed}:selection'))
    if task == 'tool_creation':
        size = min(size, TOOLSET_SIZE)  # its two tools do not depend on the size of other toolsets
    hidden = draw_withheld(sample, pool, seed) if withheld is None else withheld
    shown = [tool for tool in sample.tools if tool['name'] not in hidden]
    toolset = _toolset(sample, shown, pool, size, f'{seed}:creation')
    if task == 'tool_creation_awareness':
        return creation_awareness_row(sample, hidden, toolset)
    return creation_row(sample, hidden, toolset[:CREATION_TOOLS])


def build_rows(
    task: str,
    samples: Sequence[PlanSample],
    *,
    toolset_size: int = TOOLSET_SIZE,
    seed: int = 0,
    withheld: Mapping[int, Collection[str]] | None = None,
) -> list[Row]:
    """Builds one task.

    Args:
        task: One of ``TASKS``.
        samples: All annotated samples; distractors are drawn from their tools.
        toolset_size: Number of tools in a row of tool_selection and tool_creation_awareness; more if a sample has more.
        seed: Seed of all draws; the same seed and samples give the same rows.
        withheld: :attr:`PlanSample.row` -> names of the tools to withhold; drawn by default.

    Returns:
        One row per sample to which the task applies: plans without calls are left out, except in planning and
        tool_usage_awareness.

    Raises:
        ValueError: The task does not exist, or the samples have too few tools for toolsets of this size.
    """
    if task not in TASKS:
        raise ValueError(f'UltraTool has no task {task!r}, only {", ".join(TASKS)}')
    if toolset_size < CREATION_TOOLS:
        raise ValueError(f'a toolset of {toolset_size} is too small; tool_creation shows {CREATION_TOOLS} tools')
    pool = ToolPool.of(samples)
    rows = []
    for sample in samples:
        hidden = None if withheld is None else withheld[sample.row]
        try:
            row = _task_row(task, sample, pool, toolset_size, seed, hidden)
        except ValueError as error:
            raise ValueError(f'{task}, row {sample.row}: {error}; choose a smaller --toolset-size') from error
        if row['reference']:
            rows.append({**row, 'domain': sample.domain, 'rebuilt': True})
    return rows


def file_name(task: str, toolset_size: int) -> str:
    """Returns ``tool_selection.json``, or ``tool_selection_32.json`` if the toolset does not have the published
    size."""
    suffix = f'_{toolset_size}' if task in SIZED_TASKS and toolset_size != TOOLSET_SIZE else ''
    return f'{task}{suffix}.json'


def published_withheld(rows: Sequence[Mapping[str, Any]]) -> dict[int, frozenset[str]]:
    """Returns row number -> tools that the published tool_creation.json withholds."""
    return {row: frozenset(item['tool']['name'] for item in raw['reference']) for row, raw in enumerate(rows)}
