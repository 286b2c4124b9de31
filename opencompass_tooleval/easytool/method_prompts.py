"""What EasyTool's published runs send alike on FuncQA and on ToolBench, byte for byte.

Each is a template of :meth:`str.format`; what is filled in is Python's ``str`` of lists and dicts. The misspellings are
the published ones, and so is the topology's example, which is no JSON.
"""

from __future__ import annotations

SYSTEM = 'You are a helpful assistant.'

TASK_TOPOLOGY = (
    "Given a complex user's question, I have decompose this question into some simple subtasksI think there exists a logical connections and order amontg the tasks. Thus you need to help me output this logical connections and order.\n"
    'You must ONLY output in a parsible JSON format with the following format:\n'
    "'''\n"
    '[{{"task": task, "id", task_id, "dep": [dependency_task_id1, dependency_task_id2, ...]}}]\n'
    "'''\n"
    'The "dep" field denotes the id of the previous task which generates a new resource upon which the current task depends. If there are no dependencies, set "dep" to -1.\n'
    '\n'
    "This is user's question: {question}\n"
    'These are subtasks of this question:\n'
    '{task_ls}\n'
    'Output: '
)
"""``question``, ``task_ls`` (a list of ``task`` and ``id``)."""

ANSWER_SUMMARIZE = (
    "We break down a complex user's problems into simple subtasks and provide answers to each simple subtask. You need to organize these answers to each subtask and form a self-consistent final answer to the user's question\n"
    "This is the user's question: {question}\n"
    'These are subtasks and their answers: {answer_task}\n'
    'Final answer:'
)
"""``question``, ``answer_task`` (a list of ``task`` and ``answer``)."""

ANSWER_CHECK = (
    "Please check whether the response can reasonably and accurately answer the question.If can, please output 'YES'; If not, please output 'NO'\n"
    'You need to give reasons first and then decide whether the response can reasonably and accurately answer the question. You must only output in a parsible JSON format. Two example outputs look like:\n'
    'Example 1: {{"Reason": "The reason why you think the response can reasonably and accurately answer the question", "Choice": "Yes"}}\n'
    'Example 2: {{"Reason": "The reason why you think the response cannot reasonably and accurately answer the question", "Choice": "No"}}\n'
    "This is the user's question: {question}\n"
    'This is the response: {answer}\n'
    'Output: '
)
"""``question``, ``answer``."""
