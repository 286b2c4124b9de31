"""Prompts of the models that make tasks and rewrite descriptions. They are this package's own; T-Eval and UltraTool describe the roles."""

from __future__ import annotations

EXPLORE = """Find out what exists here, so that requests to these tools can be written. Call each tool at least once, and those
that list, search or show something with several different arguments. Begin with calls whose arguments are known, then
pass values that tools returned on to other tools. Try tools that change something too: this is a copy. Do not repeat
calls. When further calls would show nothing new, say in one sentence what exists.

Known so far:
{known}"""

LANGUAGES = {'EN': 'English', 'ZH': 'Chinese'}

WRITE = """You write requests for a benchmark of AI agents that use tools. A user sends the request to an agent that can
call the tools below. The agent sees nothing else.

Tools:
{tools}

What exists in the environment (a sample, with calls and what they return; everything else is unknown):
{resources}

{kind}{earlier}

Rules:
- One user speaks, in {language}, in at most five sentences, with a concrete purpose.
- Name only things that exist in the environment, or that the request itself makes.
- State every value that the agent needs and cannot find out with the tools.
- Do not mention tools, functions or parameters, and do not say how to do it.
- Do not give away the answer, and ask no yes-or-no question.
- {result}

Reply with JSON only: {{"query": "...", "result": "..."}}"""

RESULT = """Ask for at most one result, and state its form as "result": number, text (a name or a few words), date, list
(in order), set (in any order), pairs (a value for each name) or none. It is none only if the request asks for changes
alone, or for a text that no line can hold. The form and how to write it are added to the request: do not mention them."""


KINDS = {
    'ordinary': 'Write a request that needs these tools, each at least once, and no other: {needed}.',
    'recovery': 'Write a request that needs these tools, each at least once, and no other: {needed}.',
    'siblings': 'Write a request that needs exactly this tool: {needed}. It must be clear that the similar tool {other} '
    'is the wrong one, without naming either.',
    'no_tool': 'Write a request in the domain of this tool: {needed}. The agent must be able to answer it from what the '
    'request says or from general knowledge. Calling a tool would be a mistake.',
    'missing_parameter': 'Write a request that needs this tool: {needed}. Leave out the value of its parameter '
    '"{missing}", so that no tool and no sentence tells it, and the agent has to ask for it.',
    'forbidden': 'Write a request that needs this tool: {needed}. The user rules out, in everyday words, what the tool '
    '{other} would do, although it would be tempting to use it.',
}
"""Kind of a task -> what the request has to be like."""

DEPENDENCY = """
{consumer} takes what {producer} returns as its parameter "{parameter}", such as {value}. Do not state it: say how to \
find it."""

EARLIER = """

Earlier requests. Write about other things, for another purpose:
{queries}"""

FAILED = """

You wrote this request, and it was of no use:
{query}
Why: {why}
Write another one that avoids this."""

FAILURES = {
    'agreement:effects': 'Solutions of it left different states.',
    'agreement:facts': 'Solutions of it gave different answers.',
    'agreement:given_away': 'The request itself holds what it asks for.',
    'agreement:no_majority': 'Its solutions disagreed, and no result had a majority.',
    'agreement:one_model': 'Only one of two models solved it so.',
    'agreement:other_tool': 'Solutions of it did not call the needed tools.',
    'agreement:result': 'Solutions of it ended with different results.',
    'agreement:nothing_to_check': 'It changes nothing and asks for nothing that the tools return.',
    'agreement:same_gold': 'In other words, an earlier request asks for the very same.',
    'agreement:too_few': 'Too few attempts to solve it can be used.',
    'execution:effects': 'The same calls left another state when they were executed again.',
    'execution:error': 'The calls of the solution failed when they were executed again.',
    'execution:facts': 'The answer tells something that no call returned.',
    'reviewer:refused': 'A reviewer refused the solutions.',
}
"""Reason of a dropped draft -> the same for the model that writes another query."""

REFINE = """Improve this request to an AI agent, and decide whether it can be carried out.

Request: {query}

Tools of the agent:
{tools}

What exists in the environment (a sample):
{resources}

What the request is meant to be: {kind}

Form of its result, as its writer states it: {form}

Rewrite it in {language} so that it is natural, unambiguous and complete for its purpose. Keep every name and value. Do
not mention tools, functions or parameters. It is solvable if an agent with these tools can do what is meant.
{result}{forbids}

Reply with JSON only: {reply}"""

FORBIDS = """
As "forbids", repeat the words of the request by which the user rules out what is not to be done."""

OPERATIONS = {
    'generalise': """Rewrite this request so that it keeps its purpose but concerns another situation, other things or
another wording of the same domain. Use only things that exist.""",
    'complicate': """Rewrite this request so that it needs more steps: add one condition or one dependent action that
the same tools can do. Use only things that exist.""",
}
"""UltraTool's operations (section 3.1)."""

OPERATE = """{operation}

Request: {query}

Tools of the agent:
{tools}

What exists in the environment (a sample):
{resources}

Write in {language}. Do not mention tools, functions or parameters.
{result}

Reply with JSON only: {{"query": "...", "result": "..."}}"""

QUERY_FORM = '{"query": "...", "result": "..."}'
# No example value: a small model copies the form, and would find everything solvable, and accept it.
REFINED_FORM = '{"query": "...", "result": "...", "solvable": true or false}'
FORBIDDEN_FORM = '{"query": "...", "result": "...", "forbids": "...", "solvable": true or false}'

PLAN = """You plan how an agent carries out a user's request with tools.

Request: {query}

Tools:
{tools}

Write the steps in order, one short sentence each, at most {most}. A step is one call or the final answer. If the request
needs no tool, or if a value is missing that only the user can give, say so in a single step.

Reply with JSON only: {{"steps": ["..."]}}"""

PLAN_FORM = '{"steps": ["...", "..."]}'

EXECUTE = {'EN': '{query}\n\nA plan that may help:\n{plan}', 'ZH': '{query}\n\n可供参考的计划：\n{plan}'}
"""The request as the executing model gets it, by language."""

REVIEW = """You review what an agent did with a user's request.

Request: {query}

{kind}

Calls and responses, in order:
{calls}

Final answer: {answer}

Accept only if everything that was requested is done, nothing else was changed, and each statement of the final answer,
its result above all, agrees with the responses or follows from them.

Reply with JSON only: {{"why": "...", "accept": true or false}}"""

REVIEW_FORM = '{"why": "...", "accept": true or false}'

REVIEW_KINDS = {
    'ordinary': '',
    'siblings': '',
    'recovery': 'The first call of a tool fails. The agent has to try again.',
    'no_tool': 'The request needs no tool: the agent should have called none.',
    'missing_parameter': 'The request lacks the value of "{missing}": the agent should have asked for it and changed '
    'nothing.',
    'forbidden': 'The user rules out what the tool {other} does: the agent should not have called it.',
}
"""Kind of a task -> what the reviewer has to know."""

REWRITE = """You improve the documentation of tools that an AI agent calls. The agent sees each tool's name, description and
parameters, and nothing else of it. In the runs below it chose or used tools wrongly.

Tool:
{tool}

Other tools in these runs:
{others}

Runs that went wrong:
{losses}

Write a new description of the tool {name}, so that an agent calls it where it is needed, only there, and rightly.

Rules:
- Say what the tool does, what it returns, when to use it, and when another tool is the right one.
- Describe the tool in general. Do not repeat the requests or their values: the agent will get other requests.
- State nothing that neither the documentation nor the runs show.
- Names, parameters and types stay as they are.
- At most {most} characters.

Reply with JSON only: {{"description": "..."}}"""

REWRITE_FORM = '{"description": "..."}'
