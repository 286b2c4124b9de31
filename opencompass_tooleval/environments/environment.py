"""Answers a tool call: from a recording, else by a function, else with the tool's own error.

The order is: ``live``, ``exact``, ``function``, ``other_task``, ``nearest``, ``simulated``, ``error``. A live server is
the only source for its tools, unless the bank has recordings of them, which are used instead. A function comes before
recordings of other tasks, since it knows the earlier calls of the task: a room that the task has booked is taken. If a
function can only guess (a file that the task never wrote, the inbox), a recording of another task comes first, and the
function learns from it. An exact recording of a tool with a state answers as often as it was recorded, then the
function answers. For other tools the last recording answers again.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import (
    ERROR,
    EXACT,
    FUNCTION,
    INJECTED,
    LIVE,
    NEAREST,
    OTHER_TASK,
    SIMULATED,
    SOURCES,
    UNANSWERED,
    UNKNOWN_TOOL,
    WRONG_ARGUMENTS,
    Observation,
)
from opencompass_tooleval.core.calls.one_call import keeps_to
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS
from opencompass_tooleval.core.errors import MAX_MESSAGE, first_of, shorten
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, bounded_text, clean_text
from opencompass_tooleval.environments.arguments import arguments_key, read_arguments
from opencompass_tooleval.environments.bank import INPUT_ERROR, Bank, RecordedCall, stored_arguments
from opencompass_tooleval.environments.live_source import (
    DISCONNECTED,
    GONE,
    INVALID_OUTPUT,
    REFUSED,
    SERVER_ERRORS,
    TIMEOUT,
    TOO_LARGE,
    TOOL_ERROR,
)
from opencompass_tooleval.environments.simulator import Simulator
from opencompass_tooleval.environments.stabletoolbench import MAX_EXAMPLES, UNREADABLE_INPUT


@dataclass(frozen=True)
class FunctionAnswer:
    """The answer of a function.

    Attributes:
        text: The response.
        is_guess: True if the function cannot know the answer, such as the contents of the authors' inbox in T-Eval. A
            recording from another task is then preferred.
        is_wrong_call: True if the arguments are wrong.
    """

    text: str
    is_guess: bool = False
    is_wrong_call: bool = False


class FunctionTool(Protocol):
    """A tool of one task, with a new state for each task."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tool's APIs."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> FunctionAnswer:
        """Answers a call and updates the state; never raises."""

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Updates the state from a recorded response; ignores responses without information."""


StatefulTools = Callable[[], tuple[FunctionTool, ...]]
"""Creates the tools of a task."""


def no_stateful_tools() -> tuple[FunctionTool, ...]:
    """Returns no tools."""
    return ()


_MOST_NAME = 200


@dataclass(frozen=True)
class ErrorTexts:
    """The error texts of one benchmark's tools.

    Attributes:
        unknown: For an unknown tool; with ``{name}``.
        missing: For a missing parameter; with ``{name}`` and ``{parameter}``.
        unexpected: For an unknown parameter; with ``{name}`` and ``{parameter}``.
        no_object: For arguments that are not an object; may have ``{name}``.
        unanswered: For a call without an answer; with ``{name}``.
        is_wrapped: True if errors are sent as ``{"error": TEXT, "response": ""}``.
    """

    unknown: str
    missing: str
    unexpected: str
    no_object: str
    unanswered: str
    is_wrapped: bool = False

    def text(self, template: str, name: str, parameter: str = '') -> str:
        """Returns a template with the names filled in."""
        # Not str.format, which in a second pass would treat a name such as '{name.__class__}' as a field.
        filled = template.replace('{parameter}', bounded_text(parameter, _MOST_NAME), 1)
        filled = filled.replace('{name}', bounded_text(name, _MOST_NAME), 1)
        return json.dumps({'error': filled, 'response': ''}) if self.is_wrapped else filled


TOOLBENCH_ERRORS = ErrorTexts(
    unknown='No such function name: {name}',
    missing="Function executing error...\n{name}() missing 1 required positional argument: '{parameter}'",
    unexpected="Function executing error...\n{name}() got an unexpected keyword argument '{parameter}'",
    no_object='Tool input parse error...\n',
    unanswered='API not working error...',
    is_wrapped=True,
)
"""Errors of ToolBench's server."""

TEVAL_ERRORS = ErrorTexts(
    unknown='The action is invalid, please check the action name: {name}',
    missing="{name}() missing 1 required positional argument: '{parameter}'",
    unexpected="{name}() got an unexpected keyword argument '{parameter}'",
    no_object='{name}() the arguments are no JSON object',
    unanswered='{name}: 500 Internal Server Error',
)
"""Errors of T-Eval's tools, which are Python functions, and of lagent."""

LIVE_ERRORS = ErrorTexts(
    unknown='Unknown tool: {name}',
    missing="{name}: missing required argument '{parameter}'",
    unexpected="{name}: unexpected argument '{parameter}'",
    no_object='{name}: the arguments are no JSON object',
    unanswered='{name}: nothing is recorded for these arguments',
)
"""Errors of live servers."""


_WORDS = {
    TOOL_ERROR: 'error',
    REFUSED: 'refused',
    INVALID_OUTPUT: 'result violates its outputSchema',
    TIMEOUT: 'hangs',
    TOO_LARGE: 'answer too large',
    DISCONNECTED: 'crash',
    UNANSWERED: 'nothing answers',
}
"""Failure -> its words in the table of tools."""
_MOST_WORDS = 120


def _shown(text: object) -> str:
    return shorten(' '.join(str(text)[: 2 * MAX_MESSAGE].split()), _MOST_WORDS)


@dataclass
class ToolCounts:
    """Calls of one tool.

    Attributes:
        called: Number of calls that reached the tool.
        failures: Failure, such as ``tool_error`` or ``timeout`` -> number of calls.
        messages: Failure -> the last message of the tool or its server.
    """

    called: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    messages: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Number of failed calls."""
        return sum(self.failures.values())

    @property
    def why(self) -> str:
        """The failures in words, most frequent first; ``''`` without failures."""
        rows = [
            f'{_WORDS.get(failure, failure)} {count}x'
            + (f' ({self.messages[failure]})' if self.messages.get(failure) else '')
            for failure, count in self.failures.most_common()
        ]
        return first_of(rows, 3)


class Tally:
    """Calls by tool. Several threads may add to it."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolCounts] = {}
        self._adding = threading.Lock()

    def add(self, name: str, observation: Observation) -> None:
        """Adds a call, except for calls of unknown tools and failures that a task has planned.

        If a tool rejects wrong arguments, this does not count as its failure.
        """
        if observation.fault == UNKNOWN_TOOL or observation.error == INJECTED:
            return
        failure = '' if observation.fault == WRONG_ARGUMENTS else observation.error or observation.fault
        with self._adding:
            counts = self.tools.setdefault(name, ToolCounts())
            counts.called += 1
            if failure in _WORDS:
                counts.failures[failure] += 1
                counts.messages[failure] = _shown(observation.text)


if TYPE_CHECKING:
    from opencompass_tooleval.environments.live_source import LiveSource, LiveState, LiveTrial

BY_SCHEMA, BY_JSON = 'schema', 'json'
ARGUMENT_CHECKS = (BY_SCHEMA, BY_JSON)

Schemas = Mapping[str, Mapping[str, Any]]
"""Tool -> JSON Schema of its arguments."""


class Session:
    """A run of one task, with its own state: two runs of a task have two sessions.

    Attributes:
        task: Id of the task.

    Args:
        environment: The environment of the session.
        task: Id of the task.
        schemas: The tools that the task offers. None if they are unknown: then a tool is known if it is recorded or a
            function, and arguments are not checked.
        documents: Tool -> its documentation for a simulator; by default its schema.
        fails_first: A tool whose first call fails, for any source; ``''`` for none.
        failure: Text of that failure.
    """

    def __init__(
        self,
        environment: Environment,
        task: str,
        schemas: Schemas | None = None,
        documents: Mapping[str, Any] | None = None,
        fails_first: str = '',
        failure: str | None = None,
    ) -> None:
        self.task = clean_text(task)
        self._environment = environment
        self._schemas = schemas
        self._documents = documents or {}
        self._tools = {name: tool for tool in environment.stateful_tools() for name in tool.names}
        self._used: set[int] = set()
        self._answered: Counter[tuple[str, bytes]] = Counter()
        self._trial: LiveTrial | None = None
        self._fails_next = fails_first
        self._failure = failure or ''

    def changes(self) -> dict[str, str] | None:
        """Reads the parts of the live server's state that differ from the start.

        Returns:
            Part of the state -> its difference from the start, as JSON text; None where the environment reads no state.

        Raises:
            ServerError: The server failed, and its state cannot be read.
        """
        state = self._environment.state
        if state is None:
            return None
        return state.changes(self._trial) if self._trial else {}

    def close(self) -> None:
        """Ends the session; the process of a live server stops in the background."""
        if self._trial is not None:
            self._trial.close(wait=False)

    def offer(self, schemas: Schemas) -> None:
        """Offers further tools, such as retrieved ones; has no effect if all tools are offered."""
        if self._schemas is not None:
            self._schemas = {**schemas, **self._schemas}

    def call(self, name: Any, arguments: Any) -> Observation:
        """Answers a call. It raises nothing, for any arguments, and returns within the limits of a live server.

        Args:
            name: The tool, by the benchmark's name.
            arguments: A value or JSON text.
        """
        shown = _shown_name(name)
        observation = self._answer(shown, read_arguments(arguments))
        self._count(shown, observation)
        return observation

    def ask(self, name: Any, arguments: Any) -> Dialogue[Observation]:
        """Answers a call; the environment's simulator receives a call that no other source answers.

        Args:
            name: The tool, by the benchmark's name.
            arguments: A value or JSON text.
        """
        shown, passed = _shown_name(name), read_arguments(arguments)
        observation = self._answer(shown, passed)
        simulator, bank = self._environment.simulator, self._environment.bank
        # A failure of a live server has a word in `error`, and is not simulated; a missing recording has none.
        if simulator is not None and observation.fault == UNANSWERED and observation.error is None:
            is_published = bool(simulator.form.published)
            examples = bank.examples(shown, MAX_EXAMPLES, cache_order=is_published) if bank else []
            text = yield from simulator.simulate(shown, passed, self._document(shown), examples)
            if text is not None:
                observation = Observation(text, SIMULATED)
            elif is_published:
                observation = replace(observation, text=simulator.form.no_response)
        self._count(shown, observation)
        return observation

    def _count(self, name: str, observation: Observation) -> None:
        if observation.source != ERROR or not observation.text.startswith(GONE):  # it was called
            self._environment.tally.add(name, observation)

    def has_recorded(self, name: Any, arguments: Any) -> bool:
        """Tests if the bank has a call of this task with these arguments."""
        bank, key = self._environment.bank, arguments_key(read_arguments(arguments))
        return bank is not None and key is not None and bool(bank.recorded_for(self.task, _shown_name(name), key))

    def _document(self, name: str) -> Any:
        return self._documents.get(name) or {'name': name, 'parameters': (self._schemas or {}).get(name)}

    def _answer(self, name: str, arguments: Any) -> Observation:
        if name and name == self._fails_next:
            self._fails_next = ''
            return Observation(self._failure, FUNCTION, error=INJECTED)
        key = arguments_key(arguments)
        live = self._live_answer(name, arguments, key)
        if live is not None:
            return live
        tool = self._tools.get(name)
        if tool is not None:
            self._prepare(tool)
        recorded = self._exact(name, key, is_stateful=tool is not None) if key is not None else None
        if recorded is not None:
            if tool is not None and isinstance(arguments, dict):
                tool.call(name, arguments)  # so that the state follows the recording
                tool.learn(name, arguments, recorded.response)
            return _recorded(recorded, EXACT)
        if not self._knows(name):
            return self._error(UNKNOWN_TOOL, self._environment.errors.unknown, name)
        if tool is not None:
            return self._by_function(tool, name, arguments, key)
        other_task = self._other_task(name, key, arguments)
        if other_task is not None:
            return _recorded(other_task, OTHER_TASK)
        is_by_json = self._environment.argument_checks == BY_JSON
        if is_by_json and isinstance(arguments, str):
            return Observation(UNREADABLE_INPUT, ERROR, WRONG_ARGUMENTS)
        wrong = self._wrong_arguments(name, arguments)
        if wrong and not is_by_json:
            return wrong
        nearest = None if wrong else self._nearest(name)
        if nearest is not None:
            return _recorded(nearest, NEAREST)
        return self._error(UNANSWERED, self._environment.errors.unanswered, name)

    def _live_answer(self, name: str, arguments: Any, key: bytes | None) -> Observation | None:
        """Returns the live server's answer; None for a tool that it does not answer."""
        environment = self._environment
        is_offered = self._schemas is None or name in self._schemas
        if environment.live is None or not is_offered or name not in environment.live_names:
            return None
        if environment.bank is not None and environment.bank.knows(name):
            return None
        if not isinstance(arguments, dict) or key is None:
            return self._error(WRONG_ARGUMENTS, environment.errors.no_object, name)
        if self._trial is None:
            self._trial = environment.live.begin(self.task)
        answer = self._trial.call(name, arguments)
        is_invalid = answer.error in (TOOL_ERROR, REFUSED) and self._breaks_schema(name, arguments)
        if answer.error in SERVER_ERRORS:
            fault = WRONG_ARGUMENTS if is_invalid else UNANSWERED
            return Observation(answer.text[:MAX_CHARS], ERROR, fault, answer.error)
        return Observation(answer.text[:MAX_CHARS], LIVE, error=WRONG_ARGUMENTS if is_invalid else answer.error)

    def _breaks_schema(self, name: str, arguments: Any) -> bool:
        """Tests if arguments that a server refused are invalid under the tool's schema; False for a faulty schema."""
        schema = (self._schemas or {}).get(name)
        try:
            return schema is not None and not keeps_to(arguments, schema)
        except Exception:  # jsonschema raises several for an invalid schema, which a server may list
            return False

    def _prepare(self, tool: FunctionTool) -> None:
        """Gives a tool, before its first call, the recordings of this task."""
        bank = self._environment.bank
        if id(tool) in self._used or bank is None:
            return
        self._used.add(id(tool))
        for name in tool.names:
            for _, call in bank.recorded_of(self.task, name):
                if isinstance(call.arguments, dict) and not call.error:
                    tool.learn(name, call.arguments, call.response)

    def _exact(self, name: str, key: bytes, is_stateful: bool) -> RecordedCall | None:
        bank = self._environment.bank
        recorded = self._of_one_file(bank.recorded_for(self.task, name, key)) if bank else []
        answered = self._answered[name, key]
        if not recorded or (is_stateful and answered >= len(recorded)):
            return None
        self._answered[name, key] += 1
        return recorded[min(answered, len(recorded) - 1)]

    def _of_one_file(self, calls: list[RecordedCall]) -> list[RecordedCall]:
        """Returns the calls of the preferred file, or of the first file with any."""
        files = {call.file for call in calls}
        preferred = self._environment.preferred_source
        file = preferred if preferred in files else calls[0].file if calls else ''
        return [call for call in calls if call.file == file]

    def _other_task(self, name: str, key: bytes | None, arguments: Any) -> RecordedCall | None:
        bank = self._environment.bank
        if bank is None or key is None:
            return None
        written = stored_arguments(arguments) if self._environment.argument_checks == BY_JSON else ''
        return bank.recorded_for_other_task(self.task, name, key, written)

    def _nearest(self, name: str) -> RecordedCall | None:
        """Returns the only call of the API in the task's recording, without input errors; None for several or none.

        An input error is about the recorded arguments: 'please say how many bicycles you bring' is no answer to an
        agent that gave the number.
        """
        bank = self._environment.bank
        recorded = bank.recorded_of(self.task, name) if bank else []
        calls = self._of_one_file([call for _, call in recorded if call.error != INPUT_ERROR])
        return calls[0] if len(calls) == 1 else None

    def _knows(self, name: str) -> bool:
        if self._schemas is not None:
            return name in self._schemas
        bank = self._environment.bank
        return name in self._tools or bool(bank and bank.knows(name))

    def _wrong_arguments(self, name: str, arguments: Any) -> Observation | None:
        errors = self._environment.errors
        if not isinstance(arguments, dict):
            return self._error(WRONG_ARGUMENTS, errors.no_object, name)
        schema = self._schemas.get(name) if self._schemas else None
        if not schema:
            return None
        properties, required = schema.get('properties') or {}, schema.get('required') or ()
        for parameter in required:
            if parameter not in arguments:
                return self._error(WRONG_ARGUMENTS, errors.missing, name, str(parameter))
        for parameter in arguments:
            if parameter not in properties and schema.get('additionalProperties') is not True:
                return self._error(WRONG_ARGUMENTS, errors.unexpected, name, str(parameter))
        return None

    def _by_function(self, tool: FunctionTool, name: str, arguments: Any, key: bytes | None) -> Observation:
        if not isinstance(arguments, dict) or key is None:
            return self._error(WRONG_ARGUMENTS, self._environment.errors.no_object, name)
        answer: FunctionAnswer = tool.call(name, arguments)
        if answer.is_wrong_call:
            return Observation(answer.text[:MAX_CHARS], ERROR, WRONG_ARGUMENTS)
        other_task = self._other_task(name, key, arguments) if answer.is_guess else None
        if other_task is not None:
            tool.learn(name, arguments, other_task.response)
            return _recorded(other_task, OTHER_TASK)
        return Observation(answer.text[:MAX_CHARS], FUNCTION)

    def _error(self, fault: str, template: str, name: str, parameter: str = '') -> Observation:
        return Observation(self._environment.errors.text(template, name, parameter), ERROR, fault)


def _recorded(call: RecordedCall, source: str) -> Observation:
    return Observation(call.response, source, error=call.error)


def _shown_name(name: Any) -> str:
    return clean_text(name[:MAX_NAME_CHARS]).strip() if isinstance(name, str) else ''


class Environment:
    """The sources that answer the calls of all tasks.

    Args:
        bank: Recorded calls; None for none.
        stateful_tools: Creates the emulated tools of a task.
        errors: Texts of its tools' errors.
        preferred_source: The source file with priority among recordings of a task, by its name in
            :meth:`~opencompass_tooleval.environments.bank.Bank.files`; by default the first that has any.
        simulator: The model that answers in :meth:`Session.ask` if no other source does; None for none.
        argument_checks: The checks before a simulator is used, one of :data:`ARGUMENT_CHECKS`. ``schema``: a missing or
            unknown argument is the tool's error. ``json``: the arguments must be JSON, as for StableToolBench's server.
            The simulator then answers all other calls, and of recorded calls with equal arguments the one with the same
            text has priority. None: ``json`` with a published simulator, else ``schema``.
        live: The server that answers for its tools, with a process for each session, which :meth:`Session.close` stops.
            Tools in ``bank`` are frozen: the bank answers them, and the server never does.
        state: Reads the state of ``live``, for :meth:`Session.changes`; None for none.

    Attributes:
        tally: Counts of the calls of all sessions.

    Raises:
        ValueError: ``argument_checks`` has another value.
    """

    def __init__(
        self,
        bank: Bank | None = None,
        stateful_tools: StatefulTools = no_stateful_tools,
        errors: ErrorTexts = TOOLBENCH_ERRORS,
        preferred_source: str = '',
        simulator: Simulator | None = None,
        argument_checks: str | None = None,
        live: LiveSource | None = None,
        state: LiveState | None = None,
    ) -> None:
        if argument_checks is None:
            argument_checks = BY_JSON if simulator and simulator.form.published else BY_SCHEMA
        if argument_checks not in ARGUMENT_CHECKS:
            raise ValueError(f'argument_checks is {argument_checks!r}; it is one of {", ".join(ARGUMENT_CHECKS)}')
        self.argument_checks = argument_checks
        self.bank = bank
        self.stateful_tools = stateful_tools
        self.errors = errors
        self.preferred_source = preferred_source
        self.simulator = simulator
        self.live = live
        self.state = state
        self.tally = Tally()

    @property
    def threads(self) -> int:
        """Number of sessions that can answer at the same time: one, or as many as the live server has processes."""
        return self.live.most if self.live else 1

    @cached_property
    def live_names(self) -> frozenset[str]:
        """The tools that the live server answers.

        Raises:
            ServerError: It cannot be started.
        """
        return frozenset(tool['name'] for tool in self.live.listed) if self.live else frozenset()

    def begin(
        self,
        task: str,
        schemas: Schemas | None = None,
        documents: Mapping[str, Any] | None = None,
        fails_first: str = '',
        failure: str | None = None,
    ) -> Session:
        """Begins a task with a new state and returns its :class:`Session`; the environment keeps no state of it."""
        return Session(self, task, schemas, documents, fails_first, failure)


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Computes source -> its share of the observations, 0-1; all 0 without observations."""
    total = sum(counts.values())
    return {source: counts.get(source, 0) / total if total else 0.0 for source in SOURCES}
