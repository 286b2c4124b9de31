"""Readable names of metrics, reasons and sources, each with a sentence that explains it; every screen uses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from opencompass_tooleval.core.scoring.result import OK


class Words(NamedTuple):
    """A readable name, and a sentence that explains it."""

    name: str
    sentence: str


@dataclass(frozen=True)
class Metric:
    """A metric of data sets, or a column of a table.

    Attributes:
        name: Name in results.
        label: Its name for people.
        sentence: A sentence on its meaning.
        higher_is_better: True if a higher value is better.
        binary: True if a sample has 0 or 1, and 1 is correct; other metrics are graded, or means over steps.
        rank: Priority as main metric of a data set: the metrics with the lowest rank are its main metrics. 0: never.
        judged: The metric that replaces it as the main one if a judge is used; '' if it is not replaced.
        by_judge: True if a judge gives its values.
    """

    name: str
    label: str
    sentence: str
    higher_is_better: bool = True
    binary: bool = False
    rank: int = 0
    judged: str = ''
    by_judge: bool = False

    @property
    def words(self) -> Words:
        """Its name on a screen, and a sentence on its meaning."""
        return Words(self.label, self.sentence if self.higher_is_better else f'{self.sentence}; lower is better')


_SHARED = (
    Metric('accuracy', 'Accuracy', 'share of correct answers', binary=True, rank=4),
    Metric(
        'success_rate', 'Success', 'share of runs that the judge calls a success', binary=True, rank=4, by_judge=True
    ),
    Metric('tool_name_error_rate', 'Name errors', 'share with a call of a tool that does not exist', False),
    Metric('parameter_error_rate', 'Parameter errors', 'share with a call with wrong parameters', False),
)
SHARED = {metric.name: metric for metric in _SHARED}
"""Name -> metric of several benchmarks."""

REASONS: dict[str, Words] = {
    'ok': Words('right', 'every metric of the sample has its full value'),
    # The answer as a whole.
    'answer:empty': Words('empty answer', 'the answer is empty'),
    'answer:truncated_reasoning': Words('only thoughts', 'the output ends within the thoughts, without an answer'),
    'answer:refused': Words('refused', 'the model declines in prose, and does not answer'),
    'answer:too_long': Words('too long to read', 'the answer is longer than the limit for reading'),
    'answer:no_number': Words('no number', 'the answer has no number'),
    'answer:wrong_number': Words('wrong number', 'the number of the answer is not the gold one'),
    'answer:another_number': Words(
        'gold number elsewhere', 'the gold number is in the answer, but another number is at the place that is read'
    ),
    # Native calls.
    'call:none': Words('no call', 'the answer calls no tool'),
    'call:several': Words('several calls', 'several tools were called instead of one'),
    'call:schema': Words('arguments break the schema', "the arguments are invalid under the tool's JSON Schema"),
    # Answers that cannot be parsed.
    'parse:not_json': Words('no JSON', 'the answer holds nothing that can be read as JSON or as a Python literal'),
    'parse:not_a_literal': Words('no literal', 'the text is not a Python literal'),
    'parse:not_text': Words('not text', 'the value is not a string'),
    'parse:not_a_list': Words('not a list', 'the value is not a list'),
    'parse:not_a_dict': Words('no object', 'the value is not an object of keys and values'),
    'parse:no_brackets': Words('no brackets', 'the answer is prose: it has no brackets of the requested format'),
    'parse:too_long': Words('too costly to read', 'to read the answer would take longer than the limit'),
    'parse:too_deep': Words('nested too deep', 'the value is nested deeper than the limit for reading'),
    'parse:huge_number': Words('number too large', 'a number of the answer has too many digits'),
    'parse:not_steps': Words('no plan', 'the value is not a plan: a list of steps with name and arguments'),
    'parse:no_steps': Words('empty plan', 'the plan has no step'),
    'parse:no_api': Words('no step found', 'no line of the plan names an API'),
    'parse:no_choice': Words('no choice', 'no choice of an option or of a tool can be read from the answer'),
    'parse:too_many_calls': Words('too many calls to read', 'the answer has more calls or steps than are read'),
    'format:no_match': Words('wrong format', 'the answer does not follow the requested format'),
    'format:missing_key': Words('key missing', 'the call lacks one of the requested keys'),
    # Names of tools and calls.
    'name:wrong': Words('wrong tool', 'another tool or API is chosen than in the gold answer'),
    'name:missing': Words('API not named', 'a call does not name its API'),
    'name:unknown_tool': Words('unknown tool', 'a tool is named or called that was not offered'),
    'name:unknown_api': Words('unknown API', 'an API is named that its tool does not have'),
    'tool:missing': Words('tool missing', 'a step that needs a tool has none'),
    'id:missing': Words('number missing', 'a choice lacks the number of the chosen tool'),
    'id:not_a_number': Words('number unreadable', 'the number of a choice is not a number'),
    'id:quoted': Words('number in quotes', 'the number of a choice is in quotes: the published code stops there'),
    'id:unknown_in_list': Words('unknown number', 'a choice has a number that is not in the list'),
    # Arguments.
    'args:missing': Words('argument missing', 'a gold argument is absent from the call'),
    'args:extra': Words('extra argument', 'the call has an argument that the gold call lacks'),
    'args:wrong': Words('wrong arguments', 'an argument differs from the gold one'),
    'args:wrong_type': Words('wrong type', 'an argument is of another type than documented'),
    'args:hallucinated_argument': Words('invented argument', 'an argument is passed that the tool does not have'),
    'args:none_in_gold': Words('no gold arguments', 'arguments are passed, but the gold call has none'),
    'args:not_an_object': Words('arguments no object', 'the arguments are not a JSON object of names and values'),
    'args:not_a_list': Words('argument no list', 'the numbers for a tool are not in a list'),
    'args:not_a_number': Words('argument no number', 'an argument of an arithmetic tool is not a number'),
    'args:count': Words('wrong number of arguments', 'a tool is given too few numbers or too many'),
    'args:domain': Words('undefined result', 'the function has no value for these numbers, such as a division by 0'),
    'args:too_large': Words('argument too large', 'the result would have too many digits'),
    'args:too_much_work': Words('too much to compute', 'the computation would take too long'),
    'args:unreadable': Words('arguments unreadable', 'the parameters of a call cannot be read'),
    # Thoughts, plans, reviews, steps, paths.
    'thought:differs': Words('other thought', 'everything else is correct, but the thought differs from the gold one'),
    'plan:nothing_matched': Words('other plan', 'no step of the plan is similar enough to a gold step'),
    'plan:wrong_order': Words('wrong order', 'steps of the plan are in another order than in the gold plan'),
    'plan:missing_steps': Words('steps missing', 'every step of the plan is correct, but gold steps are missing'),
    'plan:extra_steps': Words('extra steps', 'the plan has every gold step, and further steps'),
    'plan:wrong_steps': Words('wrong steps', 'gold steps are missing, and the plan has other steps'),
    'plan:only_finish': Words('only the end', 'the plan finishes without a call'),
    'plan:no_tasks': Words('no tasks', 'the question could not be split into tasks'),
    'plan:no_order': Words('no order of tasks', 'the dependencies of the tasks cannot be read'),
    'plan:unknown_dependency': Words('unknown task', 'a task depends on a task that does not exist'),
    'review:wrong': Words('wrong review', 'another option is chosen than the gold one'),
    'step:missing': Words('step missing', 'a gold step is absent from the answer'),
    'step:unreadable': Words('step unreadable', 'a step of the answer cannot be read'),
    'step:wrong_step': Words('wrong step', 'the answer has a step that is not a gold step'),
    'step:redundant_step': Words('step twice', 'the answer has a gold step more than once'),
    'step:no_result': Words('no task done', 'no task has a result'),
    'awareness:wrong_value': Words(
        'wrong flag', 'the answer says that a step needs a tool and it needs none, or the reverse'
    ),
    'finish:missing': Words('no end', 'the run ends without a final answer'),
    'finish:gave_up': Words('gave up', 'the run ends by giving up'),
    'finish:unreadable': Words('end unreadable', 'the published code stops at this call of Finish'),
    # Runs of agents.
    'limit:steps': Words('too many steps', 'the agent or dialogue reached its limit of steps'),
    'limit:calls': Words('too many calls', 'the agent reached its limit of calls, of tools or of the model'),
    'limit:context': Words('context full', 'the conversation is too long for the model, even without observations'),
    'loop': Words('loop', 'the run ends with the same call, answered the same, three times in a row'),
    'calls:missing': Words('call missing', 'a gold call is not made, or a needed tool is not called'),
    'calls:extra': Words('extra call', 'every gold call is made, and further calls'),
    'calls:order': Words('calls out of order', 'the gold calls are made in another order'),
    'calls:arguments': Words('other arguments', 'the gold calls are made in order, but one has other arguments'),
    'calls:refused': Words(
        'arguments refused', 'every needed tool is called, but a tool rejects the arguments of a call'
    ),
    'goal:forbidden': Words('forbidden tool', 'a tool is called that the task forbids'),
    'goal:not_asked': Words('not asked', 'the request lacks a value, and the agent does not ask for it'),
    'goal:effects': Words('other effects', 'the state at the end is not the one that the task asks for'),
    'goal:result': Words('other result', 'the result at the end of the answer is not the right one'),
    'retrieval:missed': Words('not retrieved', 'a needed tool is not retrieved'),
    'retrieval:not_perfect': Words('retrieved too late', 'a needed tool is ranked after others'),
    # Judges, the gold data, and failures that are not the model's fault.
    'judge:no': Words('judged wrong', 'the judge says that the answer does not solve the task'),
    'judge:unsolved': Words('not solved', 'not every judgement says that the answer solves the query'),
    'judge:failed': Words(
        'not passed', 'most judgements say that the query can be solved, but the answer does not solve it'
    ),
    'judge:not_better': Words('not preferred', 'the answer is not preferred to the reference in most rounds'),
    'judge:below_full': Words('not full marks', 'the judge gave less than the full score'),
    'judge:unjudged': Words('not judged', 'the reply of the judge cannot be read'),
    'judge:not_asked': Words('without a judge', 'the judge was not asked'),
    'gold:erratum': Words('gold answer faulty', 'the answer is correct if a known fault of the gold answer is fixed'),
    'serving:parser': Words(
        'parser of the server', 'the server lost or changed calls or text of the answer, or made up calls'
    ),
    'serving:order': Words('order of calls', 'the server returned the calls of the answer in another order'),
    'serving:reasoning': Words(
        'thoughts of the server', 'the server put the answer or a call into the thoughts, or thoughts into the answer'
    ),
    'serving:error': Words('parser error', 'the server could not parse the answer, and returned an error instead'),
    'serving:template': Words(
        'prompt incomplete', 'the prompt that the server used lacks tools, system text, earlier calls or its end'
    ),
    'serving:limit': Words('answer cut', 'the answer was cut at the limit of tokens'),
    'serving:none': Words('no fault of the server', 'the served answer is what the model wrote'),
    'serving:unknown': Words('unknown', 'the server does not return what the model wrote'),
    'infra:bad_request': Words('refused request', 'no answer: the server refused the request'),
    'infra:bad_response': Words('unreadable reply', 'no answer: the reply of the server cannot be read'),
    'infra:budget': Words('budget used up', 'no answer: the request was not sent, since it could exceed the budget'),
    'infra:connection': Words('no connection', 'no answer: the server could not be reached'),
    'infra:empty': Words('empty reply', 'no answer: the reply of the server has no content'),
    'infra:environment': Words('state unknown', 'the live server failed, and its state at the end is not known'),
    'infra:filter': Words('content filter', 'no answer: a content filter of the server blocked it'),
    'infra:rate_limit': Words('rate limit', 'no answer: the server limits the rate of requests'),
    'infra:server': Words('server error', 'no answer: the server failed'),
    'infra:timeout': Words('timeout', 'no answer: the server did not reply in time'),
    'infra:truncated': Words('prompt too long', 'no answer: the prompt is longer than the context of the model'),
}
"""Reason -> its words; the part before the colon is the area (see ``result``)."""


SOURCES: dict[str, Words] = {
    'exact': Words('recorded', 'recorded for this task, this API and these arguments'),
    'function': Words('emulated', 'computed by a Python function that emulates the API'),
    'other_task': Words('recorded for another task', 'recorded for another task, with the same arguments'),
    'nearest': Words('nearest recorded', "the task's only recorded call of this API, with other arguments"),
    'simulated': Words('simulated', 'a model answered in place of the API'),
    'live': Words('live', 'answered by a server that ran for this task'),
    'error': Words('error', 'no source answers the call, and the model gets an error'),
}
"""Source of an observation -> its words, as ``core.calls.observation.SOURCES``."""

FAULTS: dict[str, Words] = {
    'unknown_tool': Words('error: unknown tool', 'no tool of this name was offered, and the model gets this error'),
    'wrong_arguments': Words('error: wrong arguments', 'the tool rejects these arguments'),
    'unanswered': Words('error: no answer', 'a valid call for which no source has an answer'),
}
"""Reason for an observation that is an error -> its words, as ``core.calls.observation.FAULTS``."""


def words_of_reason(reason: str) -> Words:
    """Returns the words for a reason; for an unknown one, such as of a user's own benchmark, its code."""
    return _known_words(reason) or Words(reason.replace('_', ' '), '')


def _known_words(reason: str) -> Words | None:
    area, _, code = reason.partition(':')
    model, _, code = code.rpartition(':')
    words = REASONS.get(f'{area}:{code}' if code else area)
    # 'infra:simulator:timeout' concerns a model that the dialogue asks, not the model under test.
    return Words(f'{model}: {words.name}', f'of the {model}: {words.sentence}') if model and words else words


def explained(reasons: Iterable[str]) -> list[str]:
    """Returns a line for each known reason: ``args:missing: a gold argument is absent from the call``."""
    return [f'{reason}: {words.sentence}' for reason in reasons if reason != OK and (words := _known_words(reason))]
