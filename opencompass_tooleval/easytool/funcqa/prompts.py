"""What FuncQA's methods ask (EasyTool, Sections 3.1 and 5.3).

The paper names the methods and shows the tools' instructions (Table 10), not the prompts: these are ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ZERO_SHOT = """Answer the question with a number. Write nothing but one line of the form "Answer: number".

Question: {question}"""

COT = """Answer the question with a number. Think step by step, and end with one line of the form "Answer: number".

Question: {question}
Let's think step by step."""

DECOMPOSE = """Break the question down into subtasks, in the order in which they must be done. Each subtask is one calculation that one of the tools below can do; say which numbers it takes, or the result of which earlier subtask. A question that needs one calculation has one subtask.

Tools:
{tools}

Question: {question}

Output JSON only, such as {{"Tasks": ["the first subtask", "the second subtask"]}}.
Output:"""

CHOOSE = """Choose the tool that does the current subtask of a question.

Tools:
{tools}

Question: {question}
{done}Current subtask: {task}
{failed}
Output the name of one tool, in JSON only, such as {{"Tool": "add_"}}.
Output:"""

PARAMETERS = """Give the parameters with which a tool does the current subtask of a question.

Documentation of the tool, with an example:
{instruction}

Question: {question}
{done}Current subtask: {task}
{failed}
Output the parameters in JSON only, such as {{"Parameters": {{"input": [1, 2]}}}}. Write numbers out: an expression such as 4/3 is none.
Output:"""

ANSWER = """Answer the question with a number, from the results of its subtasks.

Question: {question}
{done}
End with one line of the form "Answer: number"."""

MAX_SHOWN = 2_000
"""Characters of a subtask or of parameters, both of them a model's, that later prompts repeat."""


def tool_list(descriptions: Mapping[str, str]) -> str:
    """One line per tool."""
    return '\n'.join(f'{name}: {description}' for name, description in descriptions.items())


def shown(text: str) -> str:
    """``text`` on one line, cut to ``MAX_SHOWN`` characters."""
    line = ' '.join(text[: 2 * MAX_SHOWN].split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 3] + '...'


def call_text(name: str, parameters: Any, said: str) -> str:
    """A call and what the tool said, as later prompts show it: ``add_({"input": [1, 2]}) = 3``."""
    return f'{shown(name)}({shown(json.dumps(parameters, ensure_ascii=False))}) = {said}'


def done_text(results: Sequence[str]) -> str:
    """What came of earlier subtasks, as lines that end in a newline; ``''`` if there were none."""
    lines = ''.join(f'{number}. {result}\n' for number, result in enumerate(results, start=1))
    return f'Subtasks done so far:\n{lines}' if lines else ''


def failed_text(failures: Sequence[str]) -> str:
    """What was tried for the current subtask in vain, as lines that end in a newline; ``''`` if nothing was."""
    lines = ''.join(f'{failure}\n' for failure in failures)
    return f'What has been tried for it in vain:\n{lines}' if lines else ''
