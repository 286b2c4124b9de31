"""The questions of ToolBench's evaluator (``tooleval_gpt-3.5-turbo_default``) to its judge: they define the benchmark.

ToolBench's judge calls a function; our :data:`REPLY` requests JSON, which any chat model can write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.judging import judge_item
from opencompass_tooleval.judging.judge_item import JudgeItem, fill

CHECK_ANSWER_STATUS = """
Giving the query and answer, you need give `answer_status` of the answer by following rules:
1. If the answer is a sorry message or not a positive/straight response for the given query, return "Unsolved".
2. If the answer is a positive/straight response for the given query, you have to further check.
2.1 If the answer is not sufficient to determine whether the solve the query or not, return "Unsure".
2.2 If you are confident that the answer is sufficient to determine whether the solve the query or not, return "Solved" or "Unsolved".

Query:
{query}
Answer:
{answer}

Now give your reason in "content" and `answer_status` of JSON to `check_answer_status`.
"""

PARSE_ANSWER_STATUS = """
Giving the query and the correspond execution detail of an answer, you need give `answer_status` of the answer by following rules:
1. If all 'tool' nodes' message indicate that there are errors happened, return "Unsolved"
2. If you find the information in the "final_answer" is not true/valid according to the messages in 'tool' nodes, return "Unsolved"
3. If you are unable to verify the authenticity and validity of the information, return "Unsure"
4. If there are 'tool' node in the chain contains successful func calling and those calling indeed solve the query, return "Solved"

Query:
{query}
Answer:
{answer}

Now you are requested to give reason in "content" and `answer_status` of JSON to `parse_answer_status`.
"""

CHECK_TASK_SOLVABLE = """
Please check whether the given task solvable with following rules:
1. If the `query` provide invalid information (e.g. invalid email address or phone number), return "Unsolvable"
2. If the `query` needs more information to solve (e.g. the target restaurant name in a navigation task), return "Unsolvable"
3. If you are unable to draw a conclusion, return "Unsure"
4. If the currently `available_tools` are enough to solve the query, return "Solvable"

Task:
{task}

Now give your reason in "content" and `task_status` of JSON to `check_task_solvable`.
"""

SELECT_BETTER_ANSWER = """
Query:
{query}

Answer_0:
{answer_0}

Answer_1:
{answer_1}

Given above query and answers in JSON format, you must follow the rules to select the relatively better answer and give the index of the answer **(0 for Answer_0, 1 for Answer_1)**:
1. Compare the value of "final_answer" in following aspects:
- Informative: whether it contains all necessary information to reply to the query.
- Factuality: whether it accurately describes what has been done, and what failed in the end.
- Reasoning: If answer does not solve the query, whether gives a detailed and accurate reason for failure.
2. If you cannot determine yet, compare the value of "answer_details" in following aspects:
- Tool calling costs: calculating the percentage of failed and replicated tools calling.
- Running costs: calculating the total tokens T used in execution.
- Milestone: calculating the milestone(fixed subtasks) reached in execution.
- Exploration: whether tries potential useful tools in execution. Just count times of successful tool calling with different tools/arguments in execution.

If you have made your decision, calling `select_better_answer`, else if you cannot determine, select a random answer.
"""

REPLY = """
Reply with one JSON object and nothing else: {{"content": "your reason", "{key}": {options}}}
"""
"""Our text after each question, since ToolBench's judge calls a function instead."""

ANSWER_STATUS, TASK_STATUS, INDEX = 'answer_status', 'task_status', 'index'
SOLVED, UNSOLVED, UNSURE = 'Solved', 'Unsolved', 'Unsure'
SOLVABLE, UNSOLVABLE = 'Solvable', 'Unsolvable'


@dataclass(frozen=True)
class JudgeQuestion:
    """A question to the judge.

    Attributes:
        name: Name of the function that ToolBench's judge calls.
        text: The question, with fields to fill in.
        key: Key of the value in the reply.
        options: Allowed values in a reply.
        description: Description of the function.
    """

    name: str
    text: str
    key: str
    options: tuple[str, ...]
    description: str

    def prompt(self, **values: str) -> str:
        """Returns the question with its fields filled in; braces within the values stay as they are."""
        return fill(self.text, **values) + self.reply

    @property
    def reply(self) -> str:
        """The end of :meth:`prompt`, which describes the format of the reply."""
        options = self.options if self.key == INDEX else tuple(f'"{option}"' for option in self.options)
        return REPLY.format(key=self.key, options=' or '.join(options))

    @property
    def function(self) -> ToolSchema:
        """The function that ToolBench's judge calls, with a parameter for the reason."""
        value: dict[str, Any] = {'type': 'string', 'enum': list(self.options)}
        if self.key == INDEX:
            value = {'type': 'number', 'description': 'The `index` value in the selected better answer.'}
        properties = {self.key: value, 'reason': {'type': 'string', 'description': 'explain your answer.'}}
        parameters = {'type': 'object', 'properties': properties, 'required': list(properties)}
        return ToolSchema(self.name, self.description, parameters)


_STATUSES = (UNSURE, UNSOLVED, SOLVED)

_OF_ANSWER = 'Parse the json answer with layerd nodes and return the answer_status about the answer'

CHECK = JudgeQuestion('check_answer_status', CHECK_ANSWER_STATUS, ANSWER_STATUS, _STATUSES, _OF_ANSWER)
PARSE = JudgeQuestion('parse_answer_status', PARSE_ANSWER_STATUS, ANSWER_STATUS, _STATUSES, _OF_ANSWER)
SOLVABLE_TASK = JudgeQuestion(
    'check_task_solvable',
    CHECK_TASK_SOLVABLE,
    TASK_STATUS,
    (UNSURE, UNSOLVABLE, SOLVABLE),
    'Parse the task description and return the task_status about the task',
)
SELECT = JudgeQuestion(
    'select_better_answer',
    SELECT_BETTER_ANSWER,
    INDEX,
    ('0', '1'),
    'Select the better answer with a comprehensive investigation on given aspects. You should ignore the impact of '
    'the order of candidate answers.',
)
QUESTIONS = {question.name: question for question in (CHECK, PARSE, SOLVABLE_TASK, SELECT)}


def by_function(item: JudgeItem) -> JudgeItem:
    """Returns the question as ToolBench's judge gets it: with a function to call, without a reply format."""
    question = next((QUESTIONS[part] for part in item.id.split('/') if part in QUESTIONS), None)
    if question is None:
        return item
    return replace(item, prompt=item.prompt.removesuffix(question.reply), tools=ToolSet((question.function,)))


def prompt_hash() -> str:
    """Returns 12 hex digits of all questions, which identify the prompts of a judgement."""
    texts = [*(question.text for question in QUESTIONS.values()), REPLY]
    return judge_item.prompt_hash('\n'.join(texts))
