"""Files of ``tooleval make improve``, and the set with the new documentation that a user takes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.text.bounds import MAX_CHARS
from opencompass_tooleval.core.text.jsonable import clean_text, printable
from opencompass_tooleval.extras.making.decisions import set_digest
from opencompass_tooleval.extras.making.improve import INSTRUCTIONS, Improvement
from opencompass_tooleval.extras.making.live_source import place_fixture
from opencompass_tooleval.extras.making.made_set import MadeSet, check_no_set, check_set_name
from opencompass_tooleval.extras.making.outputs import write_outputs
from opencompass_tooleval.extras.making.rewriting import Change, losses_by_tool, shown_changes, tools_of, with_changes
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions, load_instructions
from opencompass_tooleval.work_dir.data_files import read_json
from opencompass_tooleval.work_dir.whole_file import write_json, write_whole

RESULT_FILE = 'improve.json'
DIFF_FILE = 'descriptions.diff'
DESCRIPTIONS_FILE = 'descriptions.json'
INSTRUCTIONS_FILE = 'instructions.json'
FORMAT = 1


def write_improvement(done: Improvement, folder: Path) -> None:
    """Writes the result, the diff and the descriptions that a user takes or leaves; the result last.

    Args:
        done: The result.
        folder: Where they are written.
    """
    tasks = [one.task for one in done.made.tasks]
    old, new = tools_of(tasks), tools_of(with_changes(task, done.changes) for task in tasks)
    losses, names = losses_by_tool(done.losses), sorted(done.changes)
    diff = [line for name in names for line in shown_changes(old[name][0], new[name][0], losses.get(name, ()))]
    instructions = [change.instruction for change in done.changes.values() if change.instruction]
    if instructions:
        write_whole(folder / INSTRUCTIONS_FILE, dump_instructions(instructions))
    write_whole(folder / DIFF_FILE, printable(clean_text(''.join(diff))))
    rows = {name: {'old': old[name][0].description, 'new': new[name][0].description, 'take': True} for name in names}
    head = {'tooleval_descriptions': FORMAT, 'how': done.options.how, 'rewriter': model_name(done.options.rewriter)}
    write_json(folder / DESCRIPTIONS_FILE, {**head, 'tools': rows})
    write_json(folder / RESULT_FILE, done.to_row())


def take_descriptions(made: MadeSet, file: Path, out: Path) -> MadeSet:
    """Writes a set with the descriptions that a user takes; goals, solutions and environment are the same.

    Args:
        made: The set that they were made for; it is not changed.
        file: ``descriptions.json``, edited.
        out: Folder of the new set, and its name.

    Raises:
        DataError: The file is damaged or of other documentation, or there is a set in ``out``.
        ValueError: No description is taken, or ``out`` is no name of a set.
        OSError: A file cannot be written.
    """
    name = check_set_name(out.resolve().name)
    check_no_set(out)
    head, changes = _read_descriptions(made, file)
    if not changes:
        raise ValueError(f'{file} takes no description: set "take" to true for at least one tool')
    out.mkdir(parents=True, exist_ok=True)
    tasks = [replace(one, task=replace(with_changes(one.task, changes), subset=name)) for one in made.tasks]
    origin = {'set': made.name, 'digest': set_digest(made), 'how': head['how'], 'tools': sorted(changes)}
    new = replace(
        made,
        folder=out,
        name=name,
        environment=_copied(made, out),
        models={**made.models, 'rewriter': head['rewriter']},
        settings={**made.settings, 'documentation': origin},
        tasks=tuple(tasks),
    )
    new.write()
    write_outputs(new)
    return new


def _copied(made: MadeSet, out: Path) -> dict[str, Any]:
    """Copies what answers the calls, and returns the environment of the new set."""
    environment = made.trusted_environment()
    if bank := environment.get('bank'):
        environment['bank'] = Path(bank).name
        shutil.copyfile(bank, out / environment['bank'])
    live = environment.get('live') or {}
    if live.get('fixture'):
        environment['live'] = {**live, 'fixture': place_fixture(Path(live['fixture']), out)}
    return environment


def _read_descriptions(made: MadeSet, file: Path) -> tuple[dict[str, str], dict[str, Change]]:
    """Reads what a user takes."""
    raw, name = read_json(file), None
    tools, changes = tools_of(one.task for one in made.tasks), {}
    try:
        if not isinstance(raw, dict) or raw.get('tooleval_descriptions') != FORMAT:
            raise ValueError('it is no file of descriptions of this version')
        head = {key: raw.get(key) for key in ('how', 'rewriter')}
        rows = raw.get('tools')
        if not isinstance(rows, dict) or not all(isinstance(value, str) for value in head.values()):
            raise ValueError('its tools are no object, or it does not say who rewrote them')
        with_instructions = head['how'] == INSTRUCTIONS and rows
        instructions = load_instructions(file.parent / INSTRUCTIONS_FILE) if with_instructions else {}
        for name, row in rows.items():
            if not isinstance(row, dict) or not isinstance(row.get('take'), bool):
                raise ValueError('"take" is neither true nor false')
            if name not in tools or row.get('old') != tools[name][0].description:
                raise ValueError(f'the set {made.folder} has no such tool, or another description of it')
            text = row.get('new')
            if not isinstance(text, str) or not text.strip() or len(text) > MAX_CHARS:
                raise ValueError('its new description is no text')
            if row['take']:
                changes[name] = Change(clean_text(text), instructions.get(name))
    except ValueError as error:
        raise DataError(file, str(error), name, f'tooleval make improve {made.folder}') from error
    return {key: str(value) for key, value in head.items()}, changes
