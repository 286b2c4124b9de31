"""What an agent is to do: a request, the tools that it may call, and, where somebody knows them, the right calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.agents.prompts import GOLD_ANSWER
from opencompass_tooleval.core.jsonable import answer_digest
from opencompass_tooleval.core.tool_set import ToolSchema


@dataclass(frozen=True)
class GoldCall:
    """A call that a perfect agent makes.

    Attributes:
        name: The tool.
        arguments: What is passed, as JSON values.
        open_arguments: Names of those whose values nobody knows beforehand, since an earlier call returns them: any
            value is right.
        repaired: The same call as its tool's documentation allows it, where no call by the documentation equals this
            one (:mod:`~opencompass_tooleval.agents.errata`); else None.
    """

    name: str
    arguments: Any
    open_arguments: tuple[str, ...] = ()
    repaired: GoldCall | None = None


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        id: As recordings of the task have it: T-Eval's ``query_0_1``, ToolBench's query id.
        subset: Row of the table of subsets.
        query: The request.
        tools: What may be called, under the names that the environment knows, without what ends the task.
        gold: The calls of a perfect agent in order, without the finish; None where nobody knows them.
        documents: Tool -> its documentation as JSON values, where there is more than its schema: for text prompts and
            for the simulator.
        relevant: The tools that are needed, where somebody knows them but not the calls (ToolBench).
        instructions: Tool -> its EasyTool guideline, which the model sees in place of the documentation: ``tool_name``,
            ``tool_description``, ``name``, ``description``, ``required_parameters``, ``optional_parameters`` and, where
            there is one, ``Example``. Empty without instructions. ``tools`` are described by them already.
        language: ``EN`` or ``ZH``: that of the prompts, where a loop has both.
    """

    id: str
    subset: str
    query: str
    tools: tuple[ToolSchema, ...]
    gold: tuple[GoldCall, ...] | None = None
    documents: Mapping[str, Any] = field(default_factory=dict)
    relevant: tuple[str, ...] = ()
    instructions: Mapping[str, Any] = field(default_factory=dict)
    language: str = 'EN'

    gold_answer = GOLD_ANSWER
    """What a perfect agent ends with; not in the payload, since no data set of agents knows it."""

    @property
    def shown(self) -> Mapping[str, Any]:
        """Tool -> what a text prompt shows of it: instructions, or the documentation."""
        return self.instructions or self.documents

    @property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """Tool -> JSON Schema of its arguments, as the environment takes it."""
        return {tool.name: tool.parameters for tool in self.tools}

    @property
    def oracle_calls(self) -> tuple[GoldCall, ...]:
        """What the oracle model calls: the gold calls; where nobody knows them each relevant tool, with examples."""
        if self.gold is not None:
            return self.gold
        schemas = self.schemas
        return tuple(GoldCall(name, example_arguments(schemas[name])) for name in self.relevant)

    @property
    def shown_digest(self) -> str:
        """Stands for what an agent is shown of the tools."""
        return answer_digest([[asdict(tool) for tool in self.tools], self.shown])

    def to_payload(self) -> str:
        """The task as JSON text; :func:`parse_task` gives it back."""
        return json.dumps(asdict(self))


def parse_task(payload: str) -> Task:
    """Reads :meth:`Task.to_payload`."""
    raw = json.loads(payload)
    gold = raw.pop('gold')
    return Task(
        **{
            **raw,
            'tools': tuple(ToolSchema(**tool) for tool in raw['tools']),
            'gold': None if gold is None else tuple(_gold_call(call) for call in gold),
            'relevant': tuple(raw.get('relevant', ())),
        }
    )


def _gold_call(raw: Mapping[str, Any]) -> GoldCall:
    repaired = raw.get('repaired')
    return GoldCall(
        raw['name'],
        raw['arguments'],
        tuple(raw.get('open_arguments', ())),
        _gold_call(repaired) if repaired else None,
    )


_EXAMPLES: dict[str, Any] = {'integer': 1, 'number': 1, 'boolean': True, 'array': [], 'object': {}}


def example_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Required arguments with their example values; where a schema has none, one of the type."""
    properties = schema.get('properties', {})
    required = {name: properties.get(name, {}) for name in schema.get('required', ())}
    return {
        name: parameter.get('example_value', _EXAMPLES.get(parameter.get('type', ''), 'text'))
        for name, parameter in required.items()
    }
