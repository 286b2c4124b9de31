"""Has a query written for a draft: written, refined, and where the draft says so generalised or complicated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.drafts import Draft
from opencompass_tooleval.extras.making.replies import NOT_SOLVABLE, read_query, read_refined
from opencompass_tooleval.extras.making.tool_source import SourceTool, tool_text
from opencompass_tooleval.instructions.generate import ask_until_usable
from opencompass_tooleval.instructions.split import Limit


@dataclass(frozen=True)
class Written:
    """Query of a draft, or the reason why there is none.

    Attributes:
        query: The query; ``''`` if there is none.
        reason: Why there is none, as ``area:code``.
        detail: The same in a sentence.
    """

    query: str = ''
    reason: str = ''
    detail: str = ''


def write_query(draft: Draft, tools: Mapping[str, SourceTool], resources: str) -> Dialogue[Written]:
    """Has the query of a draft written; two requests, three with an operation.

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
    }
    read = partial(read_query, tools=schemas)
    written = yield from ask_until_usable(_prompt(prompts.WRITE, **shown), read, prompts.QUERY_FORM, Limit())
    if draft.operation and isinstance(written, str):
        operation = prompts.OPERATIONS[draft.operation]
        asked = _prompt(prompts.OPERATE, operation=operation, query=written, **shown)
        written = yield from ask_until_usable(asked, read, prompts.QUERY_FORM, Limit())
    if isinstance(written, list):
        return Written('', written[0].code, written[0].message)
    refined = yield from ask_until_usable(
        _prompt(prompts.REFINE, query=written, **shown),
        partial(read_refined, tools=schemas),
        prompts.REFINED_FORM,
        Limit(),
    )
    if isinstance(refined, list):
        return Written(written, refined[0].code, refined[0].message)
    query, is_solvable = refined
    return Written(query) if is_solvable else Written(query, NOT_SOLVABLE)


def _prompt(template: str, **values: str) -> tuple[Message, ...]:
    return (Message('user', template.format(**values)),)
