"""Names of reasons and sources for people, with a sentence for each; every screen uses them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opencompass_tooleval.core.result import OK


class Words(NamedTuple):
    """A name for people, and a sentence with its meaning."""

    name: str
    sentence: str


REASONS: dict[str, Words] = {
    'ok': Words('right', 'every metric of the sample is full'),
    # The answer as a whole.
    'answer:empty': Words('empty answer', 'the model answered nothing'),
    'answer:truncated_reasoning': Words('only thoughts', 'the answer ends within its thoughts'),
    'answer:too_long': Words('too long to read', 'the answer is longer than what is read'),
    'answer:no_number': Words('no number', 'the answer has no number'),
    'answer:too_large': Words('number too large', 'the number of the answer has too many digits to be compared'),
    'answer:wrong_number': Words('wrong number', 'the number of the answer is not the gold one'),
    'answer:another_number': Words(
        'right among others', 'the gold number is in the answer, but another one stands where it is read'
    ),
    # Native calls.
    'call:none': Words('no call', 'no tool was called'),
    'call:several': Words('several calls', 'several tools were called where one call was asked for'),
    'call:unknown_name': Words('unknown tool called', 'the tool that was called is none of those that were offered'),
    'call:not_json': Words('arguments no JSON', 'the arguments of the call are no JSON object'),
    'call:schema': Words('arguments break the schema', "the arguments do not keep to the tool's JSON Schema"),
    # What could not be read.
    'parse:not_json': Words('no JSON', 'the answer holds nothing that can be read as JSON or as a Python literal'),
    'parse:not_a_literal': Words('no literal', 'what should be a Python literal is none'),
    'parse:not_text': Words('not text', 'a text is wanted, and something else is there'),
    'parse:not_a_list': Words('no list', 'what was read is not a list'),
    'parse:not_a_dict': Words('no object', 'what was read is not an object of keys and values'),
    'parse:no_list': Words('no list', 'the answer has no list'),
    'parse:no_brackets': Words('no brackets', 'no bracket with which a value could begin is closed'),
    'parse:too_long': Words('too long to read', 'the answer is longer than what is read'),
    'parse:too_deep': Words('nested too deep', 'the value is nested deeper than what is read'),
    'parse:huge_number': Words('number too large', 'the value holds a number with too many digits'),
    'parse:not_steps': Words('no plan', 'what was read is not a plan: a list of steps with name and arguments'),
    'parse:no_steps': Words('empty plan', 'the plan has no step'),
    'parse:no_api': Words('no step found', 'no line of the plan names an API'),
    'parse:no_choice': Words('no choice', 'no choice of A to E can be read from the answer'),
    'parse:no_calls': Words('no call', 'the answer has no call of an API'),
    'parse:too_many_calls': Words('too many calls', 'the answer has more calls than are read'),
    'parse:too_many_steps': Words('too many steps', 'the answer has more steps than are read'),
    'parse:no_tool': Words('no tool chosen', 'no choice of a tool can be read from the answer'),
    'format:no_match': Words('wrong format', 'the answer does not follow the format that was asked for'),
    'format:missing_key': Words('key missing', 'the call lacks one of the keys that were asked for'),
    # Names of tools and calls.
    'name:wrong': Words('wrong API', 'another API is called than in the gold answer'),
    'name:missing': Words('API not named', 'a call does not say which API it calls'),
    'name:unknown_tool': Words('unknown tool', 'a tool is named that was not offered'),
    'name:unknown_api': Words('unknown API', 'an API is named that its tool does not have'),
    'tool:wrong_tool': Words('wrong tool', 'another tool is chosen than in the gold answer'),
    'tool:missing': Words('tool missing', 'a step that needs a tool has none'),
    'tool:hallucinated_tool': Words('invented tool', 'a tool is used that was not offered'),
    'tool:unknown_name': Words('unknown tool', 'a tool is called that does not exist'),
    'id:missing': Words('number missing', 'a choice lacks the number of what is chosen'),
    'id:not_a_number': Words('number unreadable', 'the number of a choice is no number'),
    'id:quoted': Words('number in quotes', 'the number of a choice is in quotes: the published code stops there'),
    'id:unknown_in_list': Words('unknown number', 'a choice has a number that is not in the list'),
    # Arguments.
    'args:missing': Words('argument missing', 'a gold argument is absent from the call'),
    'args:extra': Words('argument too many', 'the call has an argument that the gold call lacks'),
    'args:wrong': Words('wrong arguments', 'an argument differs from the gold one'),
    'args:wrong_value': Words('wrong value', 'an argument has another value than in the gold answer'),
    'args:wrong_type': Words('wrong type', 'an argument is of another type than documented'),
    'args:hallucinated_argument': Words('invented argument', 'an argument is passed that the tool does not have'),
    'args:none_in_gold': Words('no gold arguments', 'arguments are passed where the gold call has none'),
    'args:not_a_dict': Words('arguments no object', 'the arguments are not an object of names and values'),
    'args:no_object': Words('arguments no object', 'the arguments are not an object of names and values'),
    'args:not_an_object': Words('arguments no object', 'the arguments are not an object of names and values'),
    'args:not_a_list': Words('argument no list', 'the numbers for a tool are not in a list'),
    'args:not_a_number': Words('argument no number', 'a tool of arithmetic is given something that is no number'),
    'args:count': Words('wrong number of arguments', 'a tool is given too few numbers or too many'),
    'args:domain': Words('not defined there', 'the function has no value for these numbers, such as a division by 0'),
    'args:too_large': Words('argument too large', 'the result would have too many digits'),
    'args:too_much_work': Words('too much to compute', 'the computation would take too long'),
    'args:unreadable': Words('arguments unreadable', 'the parameters of a call cannot be read'),
    # Thoughts, plans, reviews, steps, paths.
    'thought:differs': Words('other thought', 'all else is right, and the thought differs from the gold one'),
    'plan:nothing_matched': Words('other plan', 'no step of the plan is alike enough to a gold step'),
    'plan:wrong_order': Words('wrong order', 'steps of the plan are in another order than in the gold plan'),
    'plan:missing_steps': Words('steps missing', 'every step of the plan is right, and gold steps are missing'),
    'plan:extra_steps': Words('steps too many', 'every gold step is there, with others beside them'),
    'plan:wrong_steps': Words('wrong steps', 'gold steps are missing, and others are there'),
    'plan:only_finish': Words('nothing but the end', 'the plan finishes without a call'),
    'plan:no_tasks': Words('no tasks', 'the question could not be split into tasks'),
    'plan:no_order': Words('no order of tasks', 'what the tasks depend on cannot be read'),
    'plan:unknown_dependency': Words('unknown task', 'a task depends on one that there is not'),
    'review:dropped': Words('dropped by a reviewer', 'a person dropped the task from its made set'),
    'review:wrong': Words('wrong review', 'another option is chosen than the gold one'),
    'step:missing': Words('step missing', 'a gold step is absent from the answer'),
    'step:unreadable': Words('step unreadable', 'a step of the answer cannot be read'),
    'step:wrong_step': Words('wrong step', 'the answer has a step that is no gold step'),
    'step:redundant_step': Words('step twice', 'the answer has a gold step more than once'),
    'step:too_many': Words('too many rounds', 'the dialogue was ended at its limit of rounds'),
    'step:no_result': Words('no task done', 'none of the tasks came to a result'),
    'awareness:wrong_value': Words('wrong flag', 'a step is said to need a tool where it needs none, or the reverse'),
    'path:missing_step': Words('step missing', 'a call of the gold path is absent'),
    'path:wrong_order': Words('wrong order', 'the calls of the gold path are there in another order'),
    'finish:missing': Words('no end', 'the run ends without a final answer'),
    'finish:gave_up': Words('gave up', 'the run ends by giving up'),
    'finish:unreadable': Words('end unreadable', 'the published code stops at this call of Finish'),
    # What an agent did.
    'limit:steps': Words('too many steps', 'the agent was ended at its limit of steps'),
    'limit:calls': Words('too many calls', 'the agent was ended at its limit of calls, of tools or of the model'),
    'limit:context': Words(
        'no room left', 'the conversation is too long for the model, with every observation left out'
    ),
    'loop': Words('loop', 'the run ends with the same call, answered the same, three times in a row'),
    'calls:missing': Words('call missing', 'a gold call is not made, or a tool that is needed not called'),
    'calls:extra': Words('call too many', 'every gold call is made, and others beside them'),
    'calls:order': Words('calls out of order', 'the gold calls are made in another order'),
    'calls:arguments': Words('other arguments', 'the gold calls are made in order, and one with other arguments'),
    'calls:refused': Words(
        'arguments refused', 'every tool that is needed is called, and a tool refuses the arguments of a call'
    ),
    'goal:answer': Words('no answer', 'the agent ends without a final answer'),
    'goal:forbidden': Words('forbidden tool', 'a tool is called that the task forbids'),
    'goal:needless_call': Words('needless call', 'a tool is called, and the request needs none'),
    'goal:not_asked': Words('not asked', 'the request lacks a value, and the agent does not ask for it'),
    'goal:effects': Words('other effects', 'the state at the end is not the one that the task asks for'),
    'goal:facts': Words('fact missing', 'the final answer lacks a fact that the task asks for'),
    'goal:calls': Words('needed call missing', 'a call that the task needs is not made'),
    'retrieval:missed': Words('not retrieved', 'a tool that is needed is not among those retrieved'),
    'retrieval:not_perfect': Words('retrieved too late', 'a tool that is needed is retrieved behind others'),
    # Judges, the gold data, and what is no fault of the model.
    'judge:no': Words('judged wrong', 'the judge says that the answer does not solve the task'),
    'judge:unsolved': Words('not solved', 'not every judgement says that the answer solves the query'),
    'judge:failed': Words('not passed', 'most judgements say that the query could be solved, and is not'),
    'judge:not_better': Words('not preferred', 'the answer is not preferred to the reference in most rounds'),
    'judge:below_full': Words('not full marks', 'the judge gave less than the full score'),
    'judge:unjudged': Words('not judged', 'the judge gave no judgement that can be read'),
    'judge:not_asked': Words('not judged', 'the judge was not asked'),
    'gold:erratum': Words('gold answer faulty', 'it would be right, were a known fault of the gold answer fixed'),
    'infra:bad_request': Words('refused request', 'no answer: the server refused the request'),
    'infra:bad_response': Words('unreadable reply', 'no answer: the reply of the server cannot be read'),
    'infra:connection': Words('no connection', 'no answer: the server could not be reached'),
    'infra:empty': Words('empty reply', 'no answer: the reply of the server has no content'),
    'infra:environment': Words('state unknown', 'the live server failed, and its state at the end is not known'),
    'infra:filter': Words('content filter', 'no answer: a filter of the server held it back'),
    'infra:rate_limit': Words('rate limit', 'no answer: the server wanted fewer requests'),
    'infra:server': Words('server error', 'no answer: the server failed'),
    'infra:timeout': Words('timeout', 'no answer came in time'),
    'infra:truncated': Words('prompt too long', 'no answer: the prompt is longer than the model takes'),
}
"""Reason -> its words; what comes before the colon is the area (see :mod:`opencompass_tooleval.core.result`)."""


SOURCES: dict[str, Words] = {
    'exact': Words('recorded', 'recorded for this task, this API and these arguments'),
    'function': Words('worked out', 'worked out by a function in Python'),
    'other_task': Words('recorded for another task', 'recorded for another task, with the same arguments'),
    'nearest': Words('nearest recorded', "the task's only recorded call of this API, with other arguments"),
    'simulated': Words('simulated', 'a model answered in place of the API'),
    'live': Words('live', 'a server that ran for this task'),
    'error': Words('error', 'nothing answers the call, and the model is told an error'),
}
"""Where an observation came from -> its words, as ``environments.observation.SOURCES``."""

FAULTS: dict[str, Words] = {
    'unknown_tool': Words('error: unknown tool', 'no tool of this name was offered, and the model is told so'),
    'wrong_arguments': Words('error: wrong arguments', 'the tool does not take these arguments, and says so'),
    'unanswered': Words('error: no answer', 'a call that could be right, and that nothing answers'),
}
"""Why an observation is an error -> its words, as ``environments.observation.FAULTS``."""


def words_of_reason(reason: str) -> Words:
    """The words for a reason; of one that is not known, such as a benchmark of the user's own: its code."""
    return _known_words(reason) or Words(reason.replace('_', ' '), '')


def _known_words(reason: str) -> Words | None:
    area, _, code = reason.partition(':')
    model, _, code = code.rpartition(':')
    words = REASONS.get(f'{area}:{code}' if model else reason)
    # 'infra:simulator:timeout': not the model under test, but another that its dialogue asks.
    return Words(f'{model}: {words.name}', f'of the {model}: {words.sentence}') if model and words else words


def explained(reasons: Iterable[str]) -> list[str]:
    """A line for each reason for lost points: ``args:missing: a gold argument is absent from the call``."""
    return [f'{reason}: {words.sentence}' for reason in reasons if reason != OK and (words := _known_words(reason))]
