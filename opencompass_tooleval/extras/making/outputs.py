"""Everything that is written beside a made set: step files, instructions, config and card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opencompass_tooleval.extras.making.card import CARD_FILE, INSTRUCTIONS_FILE, TOOLS_FILE, write_card
from opencompass_tooleval.extras.making.config_file import write_config
from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.extras.making.teval_files import FOLDER as TEVAL
from opencompass_tooleval.extras.making.teval_files import write_teval
from opencompass_tooleval.extras.making.ultratool_files import FOLDER as ULTRATOOL
from opencompass_tooleval.extras.making.ultratool_files import write_ultratool
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.other_formats import single_tool_doc
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.work_dir.whole_file import write_json, write_whole


def write_outputs(made: MadeSet) -> None:
    """Writes the outputs of a set into its folder, in place of earlier ones.

    They are T-Eval's step files (``teval/``), UltraTool's samples and tasks (``ultratool/``), EasyTool instructions by
    rule (``easytool/``), the config ``NAME_gen.py`` and the card ``README.md``.

    Args:
        made: The set. Its own files are not written: see ``write``.
    """
    made.folder.mkdir(parents=True, exist_ok=True)
    teval = write_teval(made.tasks, made.folder)
    ultratool = write_ultratool(made.tasks, made.folder, made.name, int(made.settings.get('seed') or 0))
    tools = write_instructions(made.tasks, made.folder)
    write_config(made, list(teval), list(ultratool))
    files = {
        **{f'{TEVAL}/{name}': rows for name, rows in teval.items()},
        **{f'{ULTRATOOL}/{name}': rows for name, rows in ultratool.items()},
    }
    write_whole(made.folder / CARD_FILE, write_card(made, files, tools))


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
    file = folder / INSTRUCTIONS_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, dump_instructions(instructions))
    write_json(folder / TOOLS_FILE, functions)
    return len(tools)
