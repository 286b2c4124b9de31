"""EasyTool instructions of a made set's tools, by rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from opencompass_tooleval.making.made_task import MadeTask
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.other_formats import single_tool_doc
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.work_dir.whole_file import write_whole

FILE = 'easytool/instructions.json'
TOOLS_FILE = 'easytool/tools.json'


def write_instructions(made: Sequence[MadeTask], folder: Path) -> int:
    """Writes instructions by rule, and the tools as functions of OpenAI's format.

    From the latter, ``tooleval easytool generate --source function_schema`` makes instructions by a model, to take the
    place of those by rule.

    Args:
        made: The tasks.
        folder: That of the set.

    Returns:
        The number of tools.
    """
    tools = {tool.name: (tool, one.task.documents.get(tool.name)) for one in made for tool in one.task.tools}
    instructions = [template_instruction(single_tool_doc(tool, document)) for tool, document in tools.values()]
    functions = [
        {'type': 'function', 'function': {**vars(tool), 'parameters': dict(tool.parameters)}}
        for tool, _ in tools.values()
    ]
    file = folder / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, dump_instructions(instructions))
    write_whole(folder / TOOLS_FILE, f'{json.dumps(functions, ensure_ascii=False, indent=2)}\n')
    return len(tools)
