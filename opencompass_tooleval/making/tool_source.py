"""The tools that a set is made for: their documentation, and the environment that answers their calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.agents.open_bank import open_bank
from opencompass_tooleval.agents.tools import find_tools
from opencompass_tooleval.core.jsonable import answer_digest, to_jsonable
from opencompass_tooleval.core.tool_set import ToolSchema
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.live import LiveTools, only_reads
from opencompass_tooleval.environments.simulator_store import open_simulator
from opencompass_tooleval.environments.state import Probe, State
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc


@dataclass(frozen=True)
class SourceTool:
    """One tool.

    Attributes:
        schema: As a model is offered it.
        domain: The tools of a domain belong together: a server, a tool with several functions, or what stands before
            the point of ``Tool.function``.
        document: Its documentation as JSON values, or text.
        only_reads: Whether the source says that it changes nothing; None where the source does not say.
    """

    schema: ToolSchema
    domain: str
    document: Any
    only_reads: bool | None = None

    @property
    def name(self) -> str:
        """Its name in calls."""
        return self.schema.name

    @property
    def required(self) -> tuple[str, ...]:
        """Its required parameters."""
        return tuple(self.schema.parameters.get('required') or ())


@dataclass
class ToolSource:
    """Tools and their environment.

    Attributes:
        tools: Name -> tool, in the source's order.
        environment: Answers the calls.
        settings: The same as keyword arguments of :class:`~opencompass_tooleval.agents.adapter.AgentDialogues`.
        resources: Texts that say what is there: files of the fixture, results of calls, documents of the user.
        reads: Of a live server, what reads its state: its probes, and its tools that only read and need no arguments.
        start: What they read at the start.
        closing: Ends what was started.
    """

    tools: Mapping[str, SourceTool]
    environment: Environment
    settings: Mapping[str, Any]
    resources: Sequence[str] = ()
    reads: Sequence[Probe] = ()
    start: State = field(default_factory=dict)
    closing: ExitStack = field(default_factory=ExitStack)

    @property
    def digest(self) -> str:
        """Stands for the documentation of all tools."""
        return answer_digest([[tool.name, to_jsonable(tool.document)] for tool in self.tools.values()])

    @property
    def live(self) -> LiveTools | None:
        """The server, where there is one."""
        return self.environment.live


def documented_tools(docs: Sequence[ToolDoc]) -> dict[str, SourceTool]:
    """Converts documentation to tools; each function is one.

    A function keeps its name where no other has it, that in programs if it has one (OpenAPI's ``operationId``);
    otherwise it is called ``Tool.function``.
    """
    names = Counter(function.call_name or function.name for doc in docs for function in doc.functions)
    tools: dict[str, SourceTool] = {}
    for doc in docs:
        for function in doc.functions:
            name = function.call_name or function.name
            if names[name] > 1:
                name = f'{doc.name}.{function.name}'
            prefix, point, _ = name.rpartition('.')
            domain = doc.name if len(doc.functions) > 1 else prefix if point else ''
            tools[name] = SourceTool(function_tool(function, name), domain, function.raw)
    return tools


def live_tools(live: LiveTools) -> dict[str, SourceTool]:
    """Converts the allowed tools of a server, which are one domain.

    Raises:
        ServerError: The server cannot be started, or an allowed tool does not exist.
    """
    return {
        schema.name: SourceTool(schema, live.name, listed, only_reads(listed))
        for schema, listed in zip(live.tools, live.listed, strict=True)
    }


def documented_source(
    docs: Sequence[ToolDoc], bank: str | None, stateful_tools: str | None, simulator: Mapping[str, Any] | None
) -> ToolSource:
    """Opens documented tools.

    Args:
        docs: Their documentation.
        bank: Recorded responses, as :class:`~opencompass_tooleval.agents.adapter.AgentDialogues` takes them.
        stateful_tools: Name of the functions that answer calls.
        simulator: Config of the model that answers what nothing else does.

    Raises:
        ValueError: Nothing answers the calls.
        DataError: There is no such bank.
    """
    if not (bank or stateful_tools or simulator):
        raise ValueError(
            'nothing answers the calls of these tools: give recorded responses (--bank), functions '
            '(--stateful-tools), or a model that simulates them (--simulator)'
        )
    known = find_tools(stateful_tools)
    environment = Environment(
        open_bank(bank) if bank else None,
        known.stateful_tools,
        known.errors,
        simulator=open_simulator(simulator) if simulator else None,
    )
    return ToolSource(documented_tools(docs), environment, {'bank': bank, 'stateful_tools': stateful_tools})


def tool_text(tools: Sequence[ToolSchema]) -> str:
    """Shows tools to a model: name, description and parameters, one per line as JSON."""
    return '\n'.join(
        json.dumps(
            {
                'name': tool.name,
                'description': tool.description,
                'parameters': to_jsonable(dict(tool.parameters.get('properties') or {})),
                'required': list(tool.parameters.get('required') or ()),
            },
            ensure_ascii=False,
        )
        for tool in tools
    )
