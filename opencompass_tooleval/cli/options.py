"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.core.text.redaction import usable_key
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.work_dir.causes import KEY_VARIABLE as KEY_VARIABLE
from opencompass_tooleval.work_dir.printing import say

WorkDirArgument = Annotated[
    Path, typer.Argument(metavar='WORK_DIR', help='A work directory of OpenCompass; the latest run in it is used.')
]

JsonOption = Annotated[
    str | None, typer.Option('--json', metavar='FILE', help='Write the result there as JSON; - for standard output.')
]

DatasetsOption = Annotated[str, typer.Option(help="Pattern of the data sets' names, such as 'tooleval-teval-*_v2'.")]

DetailsOption = Annotated[Path | None, typer.Option(metavar='FILE', help='Write one JSON line per sample there.')]

EncoderOption = Annotated[
    str | None,
    typer.Option(help="'offline', a folder or a hub id; by default $TOOLEVAL_ENCODER, or else the official one."),
]

SourceOption = Annotated[str, typer.Option(help='Kind of documentation: openapi, function_schema, mcp, toolbench, ...')]

InputOption = Annotated[
    str,
    typer.Option(
        '--input',
        metavar='FILE',
        help="File of the documentation; with mcp the server: its command, such as 'python my_server.py', or its URL.",
    ),
]

TrustOption = Annotated[
    bool,
    typer.Option(
        '--trust', help='Trust what somebody else made. First run without it, and read what would be started.'
    ),
]

MaxDropOption = Annotated[
    float, typer.Option('--max-drop', min=0, max=100, metavar='POINTS', help='Largest drop that the gate allows.')
]


KeyEnvOption = Annotated[
    str | None,
    typer.Option(
        metavar='VARIABLE',
        help='Environment variable with the key; by default OPENAI_API_KEY, with messages ANTHROPIC_API_KEY.',
    ),
]

WireOption = Annotated[str, typer.Option(metavar='FORMAT', help=f'Request format of the API: {", ".join(WIRES)}.')]


def key_of_wire(wire: str, key_env: str | None) -> str:
    """Returns the environment variable with the key: ``key_env``, or else that of the format's vendor.

    Raises:
        ValueError: The format is unknown.
    """
    if wire not in WIRES:
        raise ValueError(f'--wire {wire} is unknown: name one of {", ".join(WIRES)}')
    return key_env or WIRES[wire].key


def key_in(variable: str) -> str:
    """Reads a key from an environment variable: the first of a comma-separated list; '' if it is not set.

    Raises:
        ValueError: The variable does not contain a usable key.
    """
    given = os.environ.get(variable, '').partition(',')[0]
    try:
        key = usable_key(given)
    except ValueError as error:
        raise ValueError(f'${variable} holds no key: {error}') from None
    if key != given:
        text = f'${variable} begins or ends with a blank or line break, which is left out'
        say(found('option:key', '', text).line, err=True)
    return key
