"""The file of instructions that a data set is run with."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from opencompass_tooleval.easytool.instruct import Catalogue
from opencompass_tooleval.easytool.shapes import load_instructions
from opencompass_tooleval.host.data_path import resolve_data_path


def load_catalogue(instructions: str, source: str, documentation: Path) -> Catalogue:
    """Reads instructions.

    Args:
        instructions: The file, looked for as data is (:func:`~opencompass_tooleval.host.data_path.candidate_paths`).
        source: Kind of the documentation that they stand for, as ``tooleval easytool generate`` takes it.
        documentation: Where that is.

    Raises:
        DataError: The file is missing, with the command that makes it, or damaged.
    """
    cure = f'tooleval easytool generate --source {source} --input {documentation} --model MODEL --out {instructions}'
    file = resolve_data_path(instructions, cure)
    return Catalogue(load_instructions(file), file, cure)


def instructions_provenance(instructions: str | None) -> dict[str, Any]:
    """What a result says of the instructions it was got with: file and SHA-256; nothing without any."""
    if instructions is None:
        return {}
    content = resolve_data_path(instructions, 'tooleval easytool generate').read_bytes()
    return {'instructions': instructions, 'instructions_sha256': hashlib.sha256(content).hexdigest()}
