"""What a result says of the file of instructions that its data set was run with."""

from __future__ import annotations

import hashlib
from typing import Any

from opencompass_tooleval.host.data_path import resolve_data_path


def instructions_provenance(instructions: str | None) -> dict[str, Any]:
    """What a result says of the instructions it was got with: file and SHA-256; nothing without any."""
    if instructions is None:
        return {}
    content = resolve_data_path(instructions, 'tooleval easytool generate').read_bytes()
    return {'instructions': instructions, 'instructions_sha256': hashlib.sha256(content).hexdigest()}
