"""What metrics and reasons are called in plain words, with a sentence for each: the same on every screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opencompass_tooleval.core.result import OK


class Words(NamedTuple):
    """A name for people, and a sentence that says what it means."""

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
    'parse:no_brackets': Words('no brackets', 'the answer has no bracket with which a value could begin'),
    'parse:too_long': Words('too long to read', 'the answer is longer than what is read'),
    'parse:too_deep': Words('nested too deep', 'the value is nested deeper than what is read'),
    'parse:huge_number': Words('number too large', 'the value holds a number with too many digits'),
    'parse:not_steps': Words('no plan', 'what was read is not a plan: a list of steps with name and arguments'),
    'parse:no_steps': Words('empty plan', 'the plan has no step'),
    'parse:no_api': Words('no step found', 'no line of the plan names an API'),
    'parse:no_choice': Words('no choice', 'the answer is none of the options A to E'),
    'parse:no_calls': Words('no call', 'the answer has no call of an API'),
    'parse:too_many_calls': Words('too many calls', 'the answer has more calls than are read'),
    'parse:too_many_steps': Words('too many steps', 'the answer has more steps than are read'),
    'parse:no_tool': Words('no tool chosen', 'the answer names no tool'),
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
    'gold:erratum': Words('gold answer faulty', 'it would be right, were a known fault of the gold answer mended'),
    'infra:bad_request': Words('refused request', 'no answer: the server refused the request'),
    'infra:bad_response': Words('unreadable reply', 'no answer: the reply of the server cannot be read'),
    'infra:connection': Words('no connection', 'no answer: the server could not be reached'),
    'infra:empty': Words('empty reply', 'no answer: the reply of the server has no content'),
    'infra:filter': Words('content filter', 'no answer: a filter of the server held it back'),
    'infra:rate_limit': Words('rate limit', 'no answer: the server wanted fewer requests'),
    'infra:server': Words('server error', 'no answer: the server failed'),
    'infra:timeout': Words('timeout', 'no answer came in time'),
    'infra:truncated': Words('prompt too long', 'no answer: the prompt is longer than the model takes'),
}
"""Reason -> its words; what comes before the colon is the area (see :mod:`opencompass_tooleval.core.result`)."""


METRICS: dict[str, Words] = {
    'overall': Words('Overall', 'the mean of the abilities, as the paper takes it'),
    # T-Eval: abilities, and what they are made of.
    'instruct': Words('Instruct', 'calls an API as it is told to: the format, and the share of right arguments'),
    'plan': Words('Plan', 'plans all calls at once: F1 of the steps that match gold steps in order'),
    'reason': Words('Reason', 'says what to do next: likeness of its thought to the gold one'),
    'retrieve': Words('Retrieve', 'picks the right API'),
    'understand': Words('Understand', 'gives the right arguments: their likeness to the gold ones'),
    'review': Words('Review', 'tells whether a call did what it should: share of right choices'),
    'precision': Words('Precision', 'the share of its steps that match a gold step in order'),
    'recall': Words('Recall', 'the share of gold steps that it has in order'),
    'f1_score': Words('F1', 'harmonic mean of precision and recall'),
    'thought': Words('Thought', 'likeness of its thought to the gold one, by a sentence encoder'),
    'name': Words('API', 'share of answers with the right API'),
    'args': Words('Arguments', 'likeness of its arguments to the gold ones'),
    'parse_rate': Words('Parsed', 'share of answers that can be read'),
    'review_quality': Words('Review', 'share of right choices'),
    'json_format_metric': Words('Format, JSON', 'share of answers in the JSON format that was asked for'),
    'json_args_em_metric': Words('Arguments, JSON', 'share of API and arguments that equal the gold ones'),
    'string_format_metric': Words('Format, text', 'share of answers in the text format that was asked for'),
    'string_args_em_metric': Words('Arguments, text', 'share of API and arguments that equal the gold ones'),
    # UltraTool.
    'planning': Words('Planning', 'the judge on six sides of the plan'),
    'creation_awareness': Words('Creation awareness', 'knows for which steps no tool is there'),
    'creation': Words('Creation', 'the judge on the tools that it makes up'),
    'usage_awareness': Words('Usage awareness', 'knows for which steps a tool is needed'),
    'selection': Words('Selection', 'chooses the tool of each step'),
    'usage': Words('Usage', 'gives the arguments of each step: likeness of the texts'),
    'global_accuracy': Words('Accuracy, whole', 'share of plans in which every step is right'),
    'local_accuracy': Words('Accuracy, steps', 'share of steps that are right'),
    'local_levenshtein': Words('Likeness, steps', 'likeness of the arguments of each step, by edit distance'),
    'json_rate': Words('JSON', 'share of answers that hold readable JSON, small faults mended as published'),
    'json_rate_unrepaired': Words('JSON as it is', 'share of answers that hold readable JSON with nothing mended'),
    'accuracy': Words('Accuracy', 'share of right answers'),
    'completeness': Words('Completeness', 'the judge: nothing that the task needs is missing'),
    'executability': Words('Executability', 'the judge: the steps can be carried out'),
    'syntactic_soundness': Words('Syntax', 'the judge: each step is a sound sentence'),
    'structural_rationality': Words('Structure', 'the judge: the steps are ordered and divided with sense'),
    'efficiency': Words('Efficiency', 'the judge: no step is needless'),
    'format_compliance': Words('Format', 'the judge: the format is the one that was asked for'),
    'content_reasonableness': Words('Content', 'the judge: the content makes sense'),
    'richness': Words('Richness', 'the judge: the tools are described in full'),
    # FuncQA, RestBench, ToolBench.
    'one_hop': Words('One-hop', 'share of right answers to questions of one calculation'),
    'multi_hop': Words('Multi-hop', 'share of right answers to questions of several calculations'),
    'strict_accuracy': Words('Accuracy, strict', 'share whose final number is within 0.1% of the gold one'),
    'error': Words('Tool errors', 'share of questions with a call that failed; lower is better'),
    'tool_error_rate': Words('Tool errors', 'share of questions with a call that failed; lower is better'),
    'name_error': Words('Name errors', 'share with a tool that does not exist; lower is better'),
    'tool_name_error_rate': Words('Name errors', 'share with a tool that does not exist; lower is better'),
    'parameter_error': Words('Parameter errors', 'share with a call of wrong parameters; lower is better'),
    'parameter_error_rate': Words('Parameter errors', 'share with a call of wrong parameters; lower is better'),
    'correct_path_rate': Words('Correct path', 'share of answers in which the gold calls stand in order'),
    'error_free_rate': Words('Error-free', 'share of answers whose calls all fit the documentation'),
    'success_rate': Words('Success', 'share of runs that the judge calls a success'),
    # Agents.
    'solved_rate': Words('Solved', 'share of answers that the judge calls solved, unsure ones by half'),
    'pass_rate': Words('Passed', 'share of answers that are solved, or whose task cannot be, as most judgements say'),
    'win_rate': Words('Wins', 'share of answers that are preferred to the reference in most rounds'),
    'finish_rate': Words('Finished', 'share of tasks that end with a final answer'),
    'call_recall': Words(
        'Recall', 'share of gold calls that are made, by name; of needed tools where only those are known'
    ),
    'call_precision': Words(
        'Precision', 'share of calls that match a gold call by name; of tools where only those are known'
    ),
    'call_f1': Words('F1', 'harmonic mean of precision and recall of calls'),
    'call_order': Words('Order', 'longest run of gold calls that are made in their order, as a share of them'),
    'arguments': Words('Arguments', 'share of matched calls that pass the same arguments as the gold call'),
    'all_calls_right': Words('All calls right', 'share of tasks whose calls are the gold calls, one by one'),
    'repeated': Words('Repeated', 'share of calls made before with nothing changed since; lower is better'),
    'unknown': Words('Unknown tools', 'share of calls of tools that are not offered; lower is better'),
    'invalid': Words('Invalid', 'share of calls with arguments that the tool refuses; lower is better'),
    'repeated_after_error': Words(
        'After an error again', 'share of calls that ended in an error before; lower is better'
    ),
    'ndcg@1': Words('NDCG@1', 'how well the first place is filled with what is needed'),
    'ndcg@5': Words('NDCG@5', 'how well the first five places are filled with what is needed'),
}
"""Metric or column of a table -> its words. Halves of a column, such as ``plan_json``, get theirs from
:func:`words_of_metric`."""


SOURCES: dict[str, Words] = {
    'exact': Words('recorded', 'recorded for this task, this API and these arguments'),
    'function': Words('worked out', 'worked out by a function in Python'),
    'elsewhere': Words('recorded elsewhere', 'recorded for another task, with the same arguments'),
    'nearest': Words('nearest recorded', "the task's only recorded call of this API, with other arguments"),
    'simulated': Words('simulated', 'a model answered in place of the API'),
    'error': Words('error', 'nothing answers the call, and the model is told an error'),
}
"""Where an observation came from -> its words, as ``environments.observation.SOURCES``."""

FAULTS: dict[str, Words] = {
    'unknown_tool': Words('error: unknown tool', 'no tool of this name was offered, and the model is told so'),
    'wrong_arguments': Words('error: wrong arguments', 'the tool does not take these arguments, and says so'),
    'unanswered': Words('error: no answer', 'a call that could be right, and that nothing answers'),
}
"""Why an observation is an error -> its words, as ``environments.observation.FAULTS``."""

_ENDINGS = {
    '_json': Words('JSON', 'answers as JSON'),
    '_str': Words('text', 'answers as text'),
    '_global': Words('whole', 'share of plans in which every step is right'),
    '_local': Words('steps', 'over single steps'),
    '_strict': Words('strict', 'only final numbers within 0.1% of the gold one'),
}


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


def words_of_metric(metric: str) -> Words:
    """The words for a metric or for a column of a table; of one that is not known: its name with blanks."""
    if metric in METRICS:
        return METRICS[metric]
    for ending, told in _ENDINGS.items():
        whole = METRICS.get(metric.removesuffix(ending))
        if whole and metric.endswith(ending):
            return Words(f'{whole.name}, {told.name}', f'{whole.sentence}; {told.sentence}')
    return Words(metric.replace('_', ' '), '')


_LOWER = 'lower is better'
"""How the sentence of such a metric ends."""


def lower_is_better(metric: str) -> bool:
    """Whether a metric, or the column ``DATASET METRIC`` of a table, counts what there should be little of."""
    if metric.endswith(('error', 'error_rate')):
        return True
    return words_of_metric(metric.rpartition(' ')[2]).sentence.endswith(_LOWER)


def words_of_source(source: str, fault: str = '') -> Words:
    """The words for where an observation came from, or for the fault of an error; of one not known: its code."""
    words = FAULTS.get(fault) if fault else SOURCES.get(source)
    return words or Words((fault or source).replace('_', ' '), '')
