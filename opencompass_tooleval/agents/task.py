"""What an agent is to do: a request, the tools that it may call, and, where somebody knows them, the right calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.agents.goal import Goal, GoldCall, parse_goal, parse_gold_call
from opencompass_tooleval.agents.prompts import GOLD_ANSWER
from opencompass_tooleval.core.jsonable import answer_digest
from opencompass_tooleval.core.tool_set import ToolSchema


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
        goal: What has to be true at the end, of tasks that were made from a user's tools; else None.
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
    goal: Goal | None = None

    @property
    def gold_answer(self) -> str:
        """What a perfect agent ends with; a fixed sentence for published data sets, which do not have it."""
        return self.goal.answer if self.goal and self.goal.answer else GOLD_ANSWER

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
            return self.gold if self.goal is None else self.goal.oracle_calls(self.gold)
        schemas = self.schemas
        return tuple(GoldCall(name, example_arguments(schemas[name])) for name in self.relevant)

    @property
    def shown_digest(self) -> str:
        """Stands for what an agent is shown of the tools."""
        return answer_digest([[asdict(tool) for tool in self.tools], self.shown])

    def to_payload(self) -> str:
        """The task as JSON text; :func:`parse_task` gives it back."""
        payload = asdict(self)
        return json.dumps(payload if self.goal else {key: value for key, value in payload.items() if key != 'goal'})


def parse_task(payload: str) -> Task:
    """Reads :meth:`Task.to_payload`."""
    raw = json.loads(payload)
    gold = raw.pop('gold')
    return Task(
        **{
            **raw,
            'tools': tuple(ToolSchema(**tool) for tool in raw['tools']),
            'gold': None if gold is None else tuple(parse_gold_call(call) for call in gold),
            'relevant': tuple(raw.get('relevant', ())),
            'goal': parse_goal(raw['goal']) if raw.get('goal') else None,
        }
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
