"""Has a query written for a draft: written, refined, and where the draft says so generalised or complicated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.typed_result import NONE
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.replies import NOT_SOLVABLE, Query, read_query, read_refined
from opencompass_tooleval.extras.making.tool_source import SourceTool, tool_text
from opencompass_tooleval.instructions.generate import ask_until_usable
from opencompass_tooleval.instructions.split import Limit


@dataclass(frozen=True)
class Written:
    """Query of a draft, or the reason why there is none.

    Attributes:
        query: The query; ``''`` if there is none.
        form: Form of its result, one of :data:`~opencompass_tooleval.core.typed_result.FORMS`.
        reason: Why there is none, as ``area:code``.
        detail: The same in a sentence.
    """

    query: str = ''
    reason: str = ''
    detail: str = ''
    form: str = NONE


def write_query(draft: Draft, tools: Mapping[str, SourceTool], resources: str) -> Dialogue[Written]:
    """Has the query of a draft written, with the form of its result; two requests, three with an operation.

    Args:
        draft: The draft.
        tools: Name -> tool, of the whole source.
        resources: What the request shows of the environment.
    """
    schemas = [tools[name].schema for name in draft.offered]
    shown = {
        'tools': tool_text(schemas),
        'resources': resources or '(nothing is known)',
        'language': prompts.LANGUAGES[draft.language],
        'kind': prompts.KINDS[draft.kind].format(
            needed=', '.join(draft.needed), other=draft.other, missing=draft.missing
        ),
        'result': prompts.RESULT,
    }
    read = partial(read_query, tools=schemas, kind=draft.kind)
    written = yield from ask_until_usable(_prompt(prompts.WRITE, **shown), read, prompts.QUERY_FORM, Limit())
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


def _prompt(template: str, **values: str) -> tuple[Message, ...]:
    return (Message('user', template.format(**values)),)
