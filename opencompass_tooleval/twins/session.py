"""Answers the calls of a twin's task with the environment of the original, and translates the names in between."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import ERROR, Observation
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import LeftOutError

_SHARED = 'its tools share names for the environment'
_FAILURES = (
    'Request timed out after 30 seconds.',
    'HTTP 500: Internal Server Error',
    '',
)


@dataclass(frozen=True)
class Twinned:
    """Differences between the task of a twin and that of its original, whose environment answers the calls.

    Attributes:
        tools: Name of a tool in the original -> in the twin; empty if the names are the same.
        fields: The same for parameters and returned fields.
        schemas: Tool of the original -> JSON Schema of its arguments.
        documents: Tool of the original -> its documentation.
        fails_first: Name in the original of the tool whose first call fails; ``''`` if no call fails.
        failure: Text of that failure; None if no call fails.
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, Any] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)
    fails_first: str = ''
    failure: str | None = None

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Twinned:
        """Reads the result of :meth:`to_payload`."""
        return cls(**payload)

    def to_payload(self) -> dict[str, Any]:
        """Returns the members that are not empty."""
        return {key: value for key, value in asdict(self).items() if value not in ({}, '', None) or key == 'failure'}


def renamed(original: Mapping[str, Any], twin: Mapping[str, Any], fields: Mapping[str, str]) -> Twinned:
    """Compares the tasks of an original and of its twin with new names; returns their differences.

    Args:
        original: Payload of the original's task.
        twin: Payload of the twin's task, with the same tools and parameters in the same order.
        fields: Returned fields of the original -> of the twin.

    Raises:
        LeftOutError: The number of tools or parameters differs, or a parameter of the original has several names in
            the twin.
    """
    sides = [
        (task['tools'], *(tool['parameters']['properties'] for tool in task['tools'])) for task in (original, twin)
    ]
    if list(map(len, sides[0])) != list(map(len, sides[1])):
        raise LeftOutError(_SHARED)
    pairs = list(zip(*(side[0] for side in sides), strict=True))
    parameters: dict[str, str] = {}
    for first, second in zip(sides[0][1:], sides[1][1:], strict=True):
        for old, new in zip(first, second, strict=True):
            if parameters.setdefault(old, new) != new:
                raise LeftOutError(_SHARED)
    names = {first['name']: second['name'] for first, second in pairs}
    schemas = {tool['name']: tool['parameters'] for tool in original['tools']}
    return Twinned(names, {**fields, **parameters}, schemas, original['documents'])


def failing(payload: Mapping[str, Any], rng: random.Random) -> Twinned | None:
    """Draws a failure of the first call of a needed tool: a timeout, an error 500 or an empty reply.

    Returns None if the task offers no needed tool.
    """
    names = [call['name'] for call in payload['gold'] or ()] or payload['relevant']
    offered = {tool['name'] for tool in payload['tools']}
    needed = [name for name in dict.fromkeys(names) if name in offered]
    return Twinned(fails_first=rng.choice(needed), failure=rng.choice(_FAILURES)) if needed else None


class _Session(Protocol):
    """The session of an environment."""

    task: str

    def call(self, name: Any, arguments: Any) -> Observation: ...

    def ask(self, name: Any, arguments: Any) -> Dialogue[Observation]: ...

    def has_recorded(self, name: Any, arguments: Any) -> bool: ...

    def offer(self, schemas: Mapping[str, Mapping[str, Any]]) -> None: ...


class TwinSession:
    """A session that takes calls with the twin's names, and answers with these names.

    Args:
        session: The session of the environment, with the original's names.
        twin: The new names.
    """

    def __init__(self, session: _Session, twin: Twinned) -> None:
        self.task, self._session = session.task, session
        self._forward = Translation(twin.tools, twin.fields)
        self._back = self._forward.inverse
        self._strangers: dict[str, str] = {}

    def _stranger(self, name: str) -> str:
        """Returns a name unknown to the environment, in place of an original's name that the twin does not offer."""
        return self._strangers.setdefault(name, f'Qx{len(self._strangers)}xQ')

    def _asked(self, name: Any, arguments: Any) -> tuple[Any, Any]:
        """Translates a call to the original's names."""
        if isinstance(name, str):
            name = self._stranger(name) if name in self._forward.tools else self._back.name(name)
        if isinstance(arguments, str):
            return name, self._back.text(arguments)
        if isinstance(arguments, Mapping):
            known, fields = self._back.fields, self._forward.fields
            own = {
                self._stranger(key) if key in fields and key not in known else key: arguments[key] for key in arguments
            }
            return name, self._back.data(own)
        return name, arguments

    def _shown(self, observation: Observation) -> Observation:
        translate = self._forward.words if observation.source == ERROR else self._forward.text
        text = translate(observation.text)
        for name, stranger in self._strangers.items():
            text = text.replace(stranger, name)
        return replace(observation, text=text)

    def call(self, name: Any, arguments: Any) -> Observation:
        """Answers a call by the session of the environment."""
        return self._shown(self._session.call(*self._asked(name, arguments)))

    def ask(self, name: Any, arguments: Any) -> Dialogue[Observation]:
        """Answers a call by the session of the environment, which may ask a simulator."""
        observation = yield from self._session.ask(*self._asked(name, arguments))
        return self._shown(observation)

    def has_recorded(self, name: Any, arguments: Any) -> bool:
        """Tests if the bank has recorded the call."""
        return self._session.has_recorded(*self._asked(name, arguments))

    def offer(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        """Offers further tools."""
        self._session.offer({self._back.name(name): schema for name, schema in schemas.items()})
