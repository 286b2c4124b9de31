"""Replies of makers: a copy of the form that a prompt asks for is no reply."""

from __future__ import annotations

import pytest

from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, ORDINARY
from opencompass_tooleval.extras.making import prompts
from opencompass_tooleval.extras.making.replies import read_plan, read_query, read_refined, read_verdict

FORMS = {
    prompts.QUERY_FORM: lambda text: read_query(text, (), ORDINARY),
    prompts.REFINED_FORM: lambda text: read_refined(text, (), ORDINARY, ''),
    prompts.FORBIDDEN_FORM: lambda text: read_refined(text, (), FORBIDDEN, ''),
    prompts.PLAN_FORM: read_plan,
    prompts.REVIEW_FORM: read_verdict,
}


@pytest.mark.parametrize('form', FORMS)
def test_a_copy_of_the_form_is_no_reply(form: str) -> None:
    assert isinstance(FORMS[form](form), list)
    filled = form.replace('true or false', 'true').replace('"result": "..."', '"result": "text"')
    filled = filled.replace('...', 'Do not do it.')
    assert not isinstance(FORMS[form](filled), list)
