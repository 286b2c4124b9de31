"""Everything that is written beside a made set: step files, instructions, config and card."""

from __future__ import annotations

from opencompass_tooleval.making.card import write_card
from opencompass_tooleval.making.config_file import write_config
from opencompass_tooleval.making.instruction_file import write_instructions
from opencompass_tooleval.making.made_set import MadeSet
from opencompass_tooleval.making.teval_files import FOLDER as TEVAL
from opencompass_tooleval.making.teval_files import write_teval
from opencompass_tooleval.making.ultratool_files import FOLDER as ULTRATOOL
from opencompass_tooleval.making.ultratool_files import write_ultratool
from opencompass_tooleval.work_dir.whole_file import write_whole

CARD_FILE = 'README.md'


def write_outputs(made: MadeSet) -> None:
    """Writes the outputs of a set into its folder, in place of earlier ones.

    They are T-Eval's step files (``teval/``), UltraTool's samples and tasks (``ultratool/``), EasyTool instructions by
    rule (``easytool/``), the config ``NAME_gen.py`` and the card ``README.md``.

    Args:
        made: The set. Its own files are not written: see :meth:`~opencompass_tooleval.making.made_set.MadeSet.write`.
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
