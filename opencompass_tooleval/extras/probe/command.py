"""``tooleval doctor``: checks this machine, or with ``--endpoint`` a model's server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import KEY_VARIABLE, JsonOption, KeyEnvOption, WireOption, key_in, key_of_wire
from opencompass_tooleval.cli.output import STDOUT
from opencompass_tooleval.extras.probe.doctor import look_at_machine, print_findings
from opencompass_tooleval.extras.probe.probe import probe
from opencompass_tooleval.findings.finding import Finding
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.work_dir.printing import say


def run_doctor(
    endpoint: Annotated[str | None, typer.Option(metavar='URL', help='Check a server instead: its base URL.')] = None,
    model: Annotated[str | None, typer.Option(metavar='NAME', help='The model on that server.')] = None,
    wire: WireOption = 'chat',
    key_env: KeyEnvOption = None,
    calls: Annotated[bool, typer.Option(help='Also check function calling.')] = True,
    at_once: Annotated[int, typer.Option(min=1, max=1024, help='Number of concurrent requests to check.')] = 16,
    long_prompt: Annotated[int, typer.Option(min=0, help='Tokens of the long prompt; 0 sends none.')] = 6000,
    timeout: Annotated[float, typer.Option(min=1, help='Maximum seconds per request.')] = 60,
    json_out: JsonOption = None,
) -> int:
    """Prints every finding; returns 1 if one is a fault, else 0.

    Raises:
        ValueError: Only one of ``endpoint`` and ``model`` is given, or an option is invalid.
        OSError: ``json_out`` cannot be written.
    """
    if not endpoint and not model:
        return print_findings(look_at_machine, json_out)
    if not endpoint or not model or not endpoint.startswith(('http://', 'https://')):
        raise ValueError('a server needs --endpoint http://HOST:PORT/v1 and --model NAME')
    variable = key_of_wire(wire, key_env)
    server = Endpoint(endpoint, model, key_in(variable), timeout, wire=WIRES[wire])

    def about() -> dict[str, str | int]:
        counts = ('model', 'requests', 'prompt_tokens', 'completion_tokens')
        return {'endpoint': server.shown, **{name: getattr(server, name) for name in counts}}

    def findings() -> Iterator[Finding]:
        for finding in probe(server, calls, at_once, long_prompt):
            yield replace(finding, text=finding.text.replace(KEY_VARIABLE, variable))

    with closing(server):
        status = print_findings(findings, json_out, about)
    if json_out != STDOUT:
        tokens = f'{server.prompt_tokens} + {server.completion_tokens} tokens, as the server counts them'
        say(f'{server.requests} requests; {tokens}')
    return status
