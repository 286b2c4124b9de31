"""Prompts of EasyTool's published FuncQA runs, byte for byte as in its code (not its paper).

Each is a template of :meth:`str.format`, filled with Python's ``str`` of lists and dicts. The misspellings are
published. :mod:`opencompass_tooleval.agents.loops.easytool_prompts` has the prompts that ToolBench's runs also use.
"""

from __future__ import annotations

TASK_DECOMPOSE = (
    "You need to decompose a complex user's question into some simple subtasks and let the model execute it step by step.\n"
    "This is the user's question: {question}\n"
    'This is tool list:\n'
    '{Tool_list}\n'
    'Please note that: \n'
    "1. You should only decompose this complex user's question into some simple subtasks which can be executed easily by using one single tool in the tool list.\n"
    '2. If one subtask need the results from other subtask, you can should write clearly. For example:{{"Tasks": ["Convert 23 km/h to X km/min by \'divide_\'", "Multiply X km/min by 45 min to get Y by \'multiply_\'"]}}\n'
    '3. You must ONLY output in a parsible JSON format. An example output looks like:\n'
    "'''\n"
    '{{"Tasks": ["Task 1", "Task 2", ...]}}\n'
    "'''\n"
    'Output:'
)
"""Fields: ``question``, ``Tool_list`` (a list of texts, one per tool)."""


CHOOSE_TOOL = (
    "This is the user's question: {question}\n"
    'These are the tools you can select to solve the question:\n'
    'Tool List:\n'
    '{Too_list}\n'
    '\n'
    'Please note that: \n'
    '1. You should only chooce one tool the Tool List to solve this question.\n'
    '2. You must ONLY output the ID of the tool you chose in a parsible JSON format. Two example outputs look like:\n'
    "'''\n"
    'Example 1: {{"ID": 1}}\n'
    'Example 2: {{"ID": 2}}\n'
    "'''\n"
    'Output:'
)
"""Fields: ``question`` (the task), ``Too_list`` (a list of ``ID`` and ``description``)."""

CHOOSE_PARAMETER = (
    "This is an API tool documentation. Given a user's question, you need to output parameters according to the API tool documentation to successfully call the API to solve the user's question.\n"
    'This is API tool documentation: {api_dic}\n'
    'Please note that: \n'
    '1. The Example in the API tool documentation can help you better understand the use of the API.\n'
    '2. Ensure the parameters you output are correct. The output must contain the required parameters, and can contain the optional parameters based on the question. If no paremters in the required parameters and optional parameters, just leave it as {{"Parameters":{{}}}}\n'
    "3. If the user's question mentions other APIs, you should ONLY consider the API tool documentation I give and do not consider other APIs.\n"
    '4. If you need to use this API multiple times, please set "Parameters" to a list.\n'
    '5. You must ONLY output in a parsible JSON format. Two examples output looks like:\n'
    "'''\n"
    'Example 1: {{"Parameters":{{"input": [1,2,3]}}}}\n'
    'Example 2: {{"Parameters":[{{"input": [1,2,3]}}, {{"input": [2,3,4]}}]}}\n'
    "'''\n"
    "This is user's question: {question}\n"
    'Output:\n'
)
"""One-hop. Fields: ``question`` (the task), ``api_dic`` (``Usage`` of the instruction)."""

CHOOSE_PARAMETER_DEPEND = (
    "Given a user's question and a API tool documentation, you need to output parameters according to the API tool documentation to successfully call the API to solve the user's question.\n"
    'Please note that: \n'
    '1. The Example in the API tool documentation can help you better understand the use of the API.\n'
    '2. Ensure the parameters you output are correct. The output must contain the required parameters, and can contain the optional parameters based on the question. If no paremters in the required parameters and optional parameters, just leave it as {{"Parameters":{{}}}}\n'
    "3. If the user's question mentions other APIs, you should ONLY consider the API tool documentation I give and do not consider other APIs.\n"
    '4. The question may have dependencies on answers of other questions, so we will provide logs of previous questions and answers for your reference.\n'
    '5. If you need to use this API multiple times,, please set "Parameters" to a list.\n'
    '6. You must ONLY output in a parsible JSON format. Two examples output looks like:\n'
    "'''\n"
    'Example 1: {{"Parameters":{{"input": [1,2,3]}}}}\n'
    'Example 2: {{"Parameters":[{{"input": [1,2,3]}}, {{"input": [2,3,4]}}]}}\n'
    "'''\n"
    'There are logs of previous questions and answers: \n'
    ' {previous_log}\n'
    "This is the current user's question: {question}\n"
    'This is API tool documentation: {api_dic}\n'
    'Output:\n'
)
"""Multi-hop. It also has the field ``previous_log``."""

ANSWER_GENERATION = (
    'You should answer the question based on the response output by the API tool.Please note that:\n'
    '1. Answer the question in natural language based on the API response reasonably and effectively.\n'
    "2. The user cannot directly get API response, so you need to make full use of the response and give the information in the response that can satisfy the user's question in as much detail as possible.\n"
    '3. If the API tool does not provide useful information in the response, please answer with your knowledge.\n'
    "This is the user's question:\n"
    ' {question}\n'
    'This is the API response:\n'
    ' {call_result}\n'
    'Output:'
)
"""One-hop. Fields: ``question`` (the task), ``call_result``."""

ANSWER_GENERATION_DEPEND = (
    'You should answer the question based on the response output by the API tool.Please note that:\n'
    '1. Try to organize the response into a natural language answer.\n'
    "2. We will not show the API response to the user, thus you need to make full use of the response and give the information in the response that can satisfy the user's question in as much detail as possible.\n"
    '3. If the API tool does not provide useful information in the response, please answer with your knowledge.\n'
    '4. The question may have dependencies on answers of other questions, so we will provide logs of previous questions and answers.\n'
    'There are logs of previous questions and answers: \n'
    ' {previous_log}\n'
    "This is the user's question: {question}\n"
    'This is the response output by the API tool: \n'
    '{call_result}\n'
    "We will not show the API response to the user, thus you need to make full use of the response and give the information in the response that can satisfy the user's question in as much detail as possible.\n"
    'Output:'
)
"""Multi-hop. It also has the field ``previous_log``."""
