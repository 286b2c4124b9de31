"""A task of an agent: a request, the tools that it may call, and the gold calls if they are known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.agents.loops.prompts import GOLD_ANSWER
from opencompass_tooleval.core.calls.tool_calls import GoldCall, parse_gold_call
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.text.jsonable import answer_digest


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        id: The task's id in recordings: T-Eval's ``query_0_1``, ToolBench's query id.
        subset: Row of the table of subsets.
        query: The request.
        tools: The offered tools, as the environment names them, without the tool that ends the task.
        gold: The gold calls in order, without the call that ends the task; None if unknown.
        documents: Tool -> its documentation as JSON values, if it is more than the schema: for text prompts and for
            the simulator.
        relevant: The needed tools, if these are known but the calls are not (ToolBench).
        instructions: Tool -> its EasyTool guideline, which the model sees instead of the documentation: ``tool_name``,
            ``tool_description``, ``name``, ``description``, ``required_parameters``, ``optional_parameters`` and
            optionally ``Example``. Empty without instructions. The descriptions in ``tools`` are already replaced.
        language: ``EN`` or ``ZH``: the language of the prompts, if a loop has prompts in both.
        goal: The correct final state, and the oracle's final ``answer``, as JSON values; None unless an extra scores
            it.
        twin: For a twin: the changes that the environment needs
            (:class:`~opencompass_tooleval.twins.session.Twinned`); otherwise empty.
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
    goal: Mapping[str, Any] | None = None
    twin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gold_answer(self) -> str:
        """The gold final answer; a fixed sentence for published data sets, which have none."""
        return str((self.goal or {}).get('answer', GOLD_ANSWER))

    @property
    def shown(self) -> Mapping[str, Any]:
        """Tool -> its description in a text prompt: the instructions, or else the documentation."""
        return self.instructions or self.documents

    @property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """Tool -> JSON Schema of its arguments, for the environment."""
        return {tool.name: tool.parameters for tool in self.tools}

    @property
    def oracle_calls(self) -> tuple[GoldCall, ...]:
        """Calls of the oracle model: the gold calls, or else one call of each needed tool with example arguments."""
        if self.gold is not None:
            return self.gold
        schemas = self.schemas
        return tuple(GoldCall(name, example_arguments(schemas[name])) for name in self.relevant)

    @property
    def shown_digest(self) -> str:
        """Digest of the tool descriptions that the model sees."""
        return answer_digest([[asdict(tool) for tool in self.tools], self.shown])

    def to_payload(self) -> str:
        """Converts the task to JSON text for :func:`parse_task`."""
        return json.dumps({key: value for key, value in asdict(self).items() if key not in ('goal', 'twin') or value})


def parse_task(payload: str) -> Task:
    """Parses the text of :meth:`Task.to_payload`."""
    raw = json.loads(payload)
    gold = raw.pop('gold')
    return Task(
        **{
            **raw,
            'tools': tuple(ToolSchema(**tool) for tool in raw['tools']),
            'gold': None if gold is None else tuple(parse_gold_call(call) for call in gold),
            'relevant': tuple(raw.get('relevant', ())),
        }
    )


_EXAMPLES: dict[str, Any] = {'integer': 1, 'number': 1, 'boolean': True, 'array': [], 'object': {}}


def example_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a value for each required argument: its example, or else a value of its (first) type."""
    properties = schema.get('properties') or {}
    required = {name: properties.get(name) for name in schema.get('required') or ()}
    return {
        name: _example(parameter) if isinstance(parameter, Mapping) else 'text' for name, parameter in required.items()
    }


def _example(parameter: Mapping[str, Any]) -> Any:
    types = parameter.get('type', '')
    first = next(iter(types), '') if isinstance(types, list) else types
    return parameter.get('example_value', _EXAMPLES.get(str(first), 'text'))
