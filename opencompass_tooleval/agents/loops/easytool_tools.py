"""Tools as EasyTool's method shows them: the tools of a task, or those nearest to its request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.names import standard_name
from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.environments.recordings_toolbench import function_name
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import to_entry

_OF_TOOL = ('tool_name', 'tool_description')


@dataclass
class ShownTool:
    """A tool and its APIs.

    Attributes:
        name: Name of the tool.
        description: Description for the choice of a tool.
        apis: Name of the API in calls -> its guideline, from which the model chooses parameters.
    """

    name: str
    description: str
    apis: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def tools_of(task: Task) -> list[ShownTool]:
    """Returns the tools of a task, with their instructions or else their documentation.

    ``tool_name`` names the tool of an API; by default it is the part of the API's name before the first dot. A tool
    without a description is described by its APIs.
    """
    tools: dict[str, ShownTool] = {}
    for api in task.tools:
        document = task.shown.get(api.name)
        shown = document if isinstance(document, Mapping) else {}
        name = str(shown.get('tool_name') or api.name.partition('.')[0])
        tool = tools.setdefault(name, ShownTool(name, str(shown.get('tool_description') or '')))
        guideline = {key: value for key, value in shown.items() if key not in _OF_TOOL}
        documented = {'name': api.name, 'description': api.description, 'parameters': api.parameters}
        tool.apis[api.name] = guideline if api.name in task.instructions else documented
    for tool in tools.values():
        tool.description = tool.description or _listed(tool)
    return list(tools.values())


def _listed(tool: ShownTool) -> str:
    apis = (f'{name}: {api.get("description", "")}'.rstrip(': ') for name, api in tool.apis.items())
    return '\n'.join([tool.name, *apis])


def tools_of_instructions(instructions: Mapping[str, ToolInstruction]) -> list[ShownTool]:
    """Returns the tools of a file of instructions; APIs have the names that ToolBench's agents use."""
    tools = []
    for instruction in instructions.values():
        guidelines = to_entry(instruction)['tool_guidelines']
        tool = standard_name(instruction.name)
        apis = {function_name(standard_name(name), tool): guidelines[name] for name in guidelines}
        tools.append(ShownTool(instruction.name, instruction.description, apis))
    return tools


def nearest(question: str, tools: Mapping[str, ShownTool], similarity: Similarity, most: int) -> dict[str, ShownTool]:
    """Returns the tools whose descriptions are most similar to a question, best first; ties in their order."""
    numbers = list(tools)
    scores = similarity.matrix([question], [tool.description for tool in tools.values()])[0].tolist()
    order = sorted(range(len(numbers)), key=lambda index: -scores[index])
    return {numbers[index]: tools[numbers[index]] for index in order[:most]}
