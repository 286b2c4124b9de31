"""Rewrites the descriptions of tools, compares them with the old ones, and puts them into tasks. Pure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.instructed import instruct_task
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.losses import Run
from opencompass_tooleval.extras.making.replies import longest_description, read_new_description
from opencompass_tooleval.extras.making.tool_source import tool_text
from opencompass_tooleval.instructions.generate import ask_until_usable
from opencompass_tooleval.instructions.instruct import Catalogue
from opencompass_tooleval.instructions.split import Limit
from opencompass_tooleval.instructions.validate import Fault
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.other_formats import single_tool_doc
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc

_MOST_LOSSES = 8
"""Losses that a prompt shows; those of different tasks come first."""

_WIDTH = 100


@dataclass(frozen=True)
class Change:
    """New documentation of a tool.

    Attributes:
        new: Its description, as a model is offered it.
        instruction: Its EasyTool instruction, which also shortens its parameters; None for a description alone.
    """

    new: str
    instruction: ToolInstruction | None = None


def tools_of(tasks: Iterable[Task]) -> dict[str, tuple[ToolSchema, ToolDoc]]:
    """Returns the tools that tasks offer, by name, with their documentation."""
    found = {tool.name: (tool, task.documents.get(tool.name)) for task in tasks for tool in task.tools}
    return {name: (tool, single_tool_doc(tool, document)) for name, (tool, document) in sorted(found.items())}


def instructed(tasks: Iterable[Task], instructions: Mapping[str, ToolInstruction]) -> dict[str, Change]:
    """Makes the changes of EasyTool instructions: a tool's description then has its example."""
    new = {tool.name: tool for task in tasks for tool in _instruct(task, instructions).tools}
    return {
        name: Change(new[name].description, instruction) for name, instruction in instructions.items() if name in new
    }


def _instruct(task: Task, instructions: Mapping[str, ToolInstruction]) -> Task:
    """The task with the instructions that there are; other tools, and what the environment reads, stay."""
    no_documents: dict[str, Any] = {tool.name: {} for tool in task.tools}
    guided = instruct_task(replace(task, documents=no_documents), Catalogue(instructions, Path()))
    tools = tuple(
        new if old.name in guided.instructions else old for old, new in zip(task.tools, guided.tools, strict=True)
    )
    return replace(guided, tools=tools, documents=task.documents)


def with_changes(task: Task, changes: Mapping[str, Change]) -> Task:
    """Returns a task with new documentation of its tools; names, types and everything else stay.

    Args:
        task: The task.
        changes: Tool -> change.
    """
    instructions = {name: change.instruction for name, change in changes.items() if change.instruction}
    guided = _instruct(task, instructions) if instructions else task
    tools, documents, shown = [], dict(task.documents), dict(guided.instructions)
    for tool in guided.tools:
        change = changes.get(tool.name)
        if change and change.new != tool.description:
            tool = replace(tool, description=change.new)
            for texts in (documents, shown):  # what a text prompt shows
                if isinstance(texts.get(tool.name), Mapping):
                    texts[tool.name] = {**texts[tool.name], 'description': change.new}
        tools.append(tool)
    return replace(task, tools=tuple(tools), documents=documents, instructions=shown)


def losses_by_tool(losses: Sequence[Run]) -> dict[str, list[Run]]:
    """Groups losses by the tools that were needed or wrongly called; of each tool, first one of each task."""
    found: dict[str, list[Run]] = {}
    for loss in sorted(losses, key=lambda run: run.trial):
        for name in sorted(loss.tools & set(loss.made.task.schemas)):
            found.setdefault(name, []).append(loss)
    return found


def rewrite(
    name: str, losses: Sequence[Run], tools: Mapping[str, tuple[ToolSchema, ToolDoc]]
) -> Dialogue[str | list[Fault]]:
    """Has a model rewrite the description of a tool; returns it, or the faults of the last reply.

    Args:
        name: The tool.
        losses: Runs in which it was needed or wrongly called; nothing else of any task is shown.
        tools: Name -> tool with its documentation.
    """
    shown = losses[:_MOST_LOSSES]
    others = sorted(({other for loss in shown for other in loss.tools} & set(tools)) - {name})
    prompt = prompts.REWRITE.format(
        name=name,
        tool=tool_text([tools[name][0]]),
        others=tool_text([tools[other][0] for other in others]) or '(none)',
        losses='\n\n'.join(f'{number}. {loss.to_text()}' for number, loss in enumerate(shown, 1)),
        most=longest_description(name),
    )
    read = partial(read_new_description, doc=tools[name][1])
    return (yield from ask_until_usable((Message('user', prompt),), read, prompts.REWRITE_FORM, Limit()))


def shown_changes(old: ToolSchema, new: ToolSchema, losses: Sequence[Run]) -> Iterator[str]:
    """Yields the lines of a unified diff of a tool's documentation, after the losses that it answers.

    Args:
        old: The tool as it is.
        new: The tool with the new documentation.
        losses: Losses of the first half in which it was needed or wrongly called.
    """
    for loss in losses:
        row = loss.to_row()
        calls = f'needed {", ".join(row["needed"]) or "none"}, called {", ".join(row["called"]) or "none"}'
        yield f'# {row["task"]}, run {row["trial"]}: {row["reason"]}; {calls}\n'
    names = (f'{old.name} (old)', f'{old.name} (new)')
    yield from unified_diff(_lines(old), _lines(new), *names)


def _lines(tool: ToolSchema) -> list[str]:
    parameters = json.dumps(to_jsonable(dict(tool.parameters)), ensure_ascii=False, indent=1)
    wrapped = [part for line in tool.description.splitlines() for part in textwrap.wrap(line, _WIDTH) or ['']]
    return [f'{line}\n' for line in [*wrapped, *parameters.splitlines()]]
