"""Has a query written for a draft: written, refined, and where the draft says so generalised or complicated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.scoring.typed_result import NONE
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.dependencies import Dependency
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.replies import NOT_SOLVABLE, Query, read_query, read_refined
from opencompass_tooleval.extras.making.tool_source import SourceTool, tool_text
from opencompass_tooleval.instructions.generate import ask_until_usable
from opencompass_tooleval.instructions.split import Limit

MAX_EARLIER = 10
"""Earlier queries that a request shows: the last ones."""
_MAX_EARLIER_CHARS = 200


@dataclass(frozen=True)
class Written:
    """Query of a draft, or the reason why there is none.

    Attributes:
        query: The query; ``''`` if there is none.
        form: Form of its result, one of :data:`~opencompass_tooleval.core.scoring.typed_result.FORMS`.
        reason: Why there is none, as ``area:code``.
        detail: The same in a sentence.
    """

    query: str = ''
    reason: str = ''
    detail: str = ''
    form: str = NONE


@dataclass(frozen=True)
class FailedQuery:
    """A query that did not become a task.

    Attributes:
        query: The query.
        why: Why it failed, in words, with what the attempts to solve it did.
    """

    query: str
    why: str


def write_query(
    draft: Draft,
    tools: Mapping[str, SourceTool],
    resources: str,
    earlier: Sequence[str] = (),
    failed: FailedQuery | None = None,
) -> Dialogue[Written]:
    """Has the query of a draft written, with the form of its result; two requests, three with an operation.

    Args:
        draft: The draft.
        tools: Name -> tool, of the whole source.
        resources: What the request shows of the environment.
        earlier: Queries of other drafts.
        failed: The query of this draft that is written anew.
    """
    schemas = [tools[name].schema for name in draft.offered]
    shown = {
        'tools': tool_text(schemas),
        'resources': resources or '(nothing is known)',
        'language': prompts.LANGUAGES[draft.language],
        'kind': prompts.KINDS[draft.kind].format(
            needed=', '.join(draft.needed), other=draft.other, missing=draft.missing
        )
        + ''.join(prompts.DEPENDENCY.format(**vars(one)) for one in _of_chain(draft)),
        'result': prompts.RESULT,
    }
    read = partial(read_query, tools=schemas, kind=draft.kind)
    asked = _prompt(prompts.WRITE, **shown, earlier=_earlier(earlier, failed))
    written = yield from ask_until_usable(asked, read, prompts.QUERY_FORM, Limit())
    if draft.operation and isinstance(written, Query):
        operation = prompts.OPERATIONS[draft.operation]
        asked = _prompt(prompts.OPERATE, operation=operation, query=written.text, **shown)
        written = yield from ask_until_usable(asked, read, prompts.QUERY_FORM, Limit())
    if isinstance(written, list):
        return Written('', written[0].code, written[0].message)
    is_forbidden = draft.kind == FORBIDDEN
    reply = prompts.FORBIDDEN_FORM if is_forbidden else prompts.REFINED_FORM
    more = {'form': written.form, 'forbids': prompts.FORBIDS if is_forbidden else '', 'reply': reply}
    refined = yield from ask_until_usable(
        _prompt(prompts.REFINE, query=written.text, **more, **shown),
        partial(read_refined, tools=schemas, kind=draft.kind, form=written.form),
        reply,
        Limit(),
    )
    if isinstance(refined, list):
        return Written(written.text, refined[0].code, refined[0].message)
    return Written(refined.text, '' if refined.is_solvable else NOT_SOLVABLE, form=refined.form)


def _of_chain(draft: Draft) -> Iterator[Dependency]:
    """Yields the first dependency of each needed tool on one before it."""
    for index, name in enumerate(draft.needed):
        on_earlier = (
            one for one in draft.dependencies if one.consumer == name and one.producer in draft.needed[:index]
        )
        yield from islice(on_earlier, 1)


def _earlier(queries: Sequence[str], failed: FailedQuery | None) -> str:
    listed = '\n'.join(f'- {bounded_text(query, _MAX_EARLIER_CHARS)}' for query in queries[-MAX_EARLIER:])
    earlier = prompts.EARLIER.format(queries=listed) if listed else ''
    return earlier + (prompts.FAILED.format(query=failed.query, why=failed.why) if failed else '')


def _prompt(template: str, **values: str) -> tuple[Message, ...]:
    return (Message('user', template.format(**values)),)
