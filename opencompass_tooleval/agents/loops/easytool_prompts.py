"""Prompts of EasyTool's published ToolBench runs, byte for byte.

FuncQA's runs use :data:`SYSTEM`, :data:`TASK_TOPOLOGY`, :data:`ANSWER_SUMMARIZE` and :data:`ANSWER_CHECK` too. Each is
a template of :meth:`str.format`, filled with Python's ``str`` of lists and dicts. The misspellings are published. The
runs with retrieval use the same prompts.
"""

from __future__ import annotations

from opencompass_tooleval.benchmarks.toolbench.prompts import PUBLISHED_SELECTION

CHOOSE_TOOL = PUBLISHED_SELECTION
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
"""Fields: ``question``, ``task_ls`` (a list of ``task`` and ``id``)."""

ANSWER_SUMMARIZE = (
    "We break down a complex user's problems into simple subtasks and provide answers to each simple subtask. You need to organize these answers to each subtask and form a self-consistent final answer to the user's question\n"
    "This is the user's question: {question}\n"
    'These are subtasks and their answers: {answer_task}\n'
    'Final answer:'
)
"""Fields: ``question``, ``answer_task`` (a list of ``task`` and ``answer``)."""

ANSWER_CHECK = (
    "Please check whether the response can reasonably and accurately answer the question.If can, please output 'YES'; If not, please output 'NO'\n"
    'You need to give reasons first and then decide whether the response can reasonably and accurately answer the question. You must only output in a parsible JSON format. Two example outputs look like:\n'
    'Example 1: {{"Reason": "The reason why you think the response can reasonably and accurately answer the question", "Choice": "Yes"}}\n'
    'Example 2: {{"Reason": "The reason why you think the response cannot reasonably and accurately answer the question", "Choice": "No"}}\n'
    "This is the user's question: {question}\n"
    'This is the response: {answer}\n'
    'Output: '
)
"""Fields: ``question``, ``answer``."""

TOOL_CHECK_SYSTEM = "You are a helpful language model which can use external APIs to solve user's question."

TASK_DECOMPOSE = (
    "You need to decompose a complex user's question into some simple subtasks and let the model execute it step by step.\n"
    "This is the user's question: {question}\n"
    'Please note that: \n'
    "1. You should only decompose this complex user's question into some simple subtasks which can be executed easily by using a single tool.\n"
    '2. Each simple subtask should be expressed into natural language.\n'
    '3. Each subtask should contain the necessary information from the original question and should be complete, explicit and self-consistent.\n'
    '4. You must ONLY output the ID of the tool you chose in a parsible JSON format. An example output looks like:\n'
    "'''\n"
    '{{"Tasks": ["Task 1", "Task 2", ...]}}\n'
    "'''\n"
    'Output:'
)
"""Field: ``question``."""

TOOL_CHECK = (
    "As a powerful language model, you're equipped to answer user's question with accumulated knowledge. However, in some cases, you need to use external APIs to answer accurately.Thus, you need to check whether the user's question requires you to call an external API to solve it.\n"
    'Here are some tips to help you check: \n'
    "1. If the user's question requires real-time information, since your knowledge base isn't updated in real-time, any such question will demand an API call.\n"
    '2. If you need to obtain information (e.g., ID, name, phone number, geographical location, rank, etc.), you need to call the database APIs if you are not sure.\n'
    '3. If the question demand a database search or internet research to generate an answer, this is another situation where an API call is necessary.\n'
    "If need, please output 'YES'; If not, please output 'NO'\n"
    'You need to give reasons first and then decide whether to keep it or not. You must only output in a parsible JSON format. Two example outputs look like:\n'
    'Example 1: {{"Reason": "The reason why you think you do not need to call an external API to solve the user\'s question", "Choice": "No"}}\n'
    'Example 2: {{"Reason": "The reason why you think you need to call an external API to solve the user\'s question", "Choice": "Yes"}}\n'
    "This is the user's question: {task}\n"
    'Output:'
)
"""Field: ``task``."""

CHOOSE_API = (
    '{API_instruction}\n'
    '{input_execute_rapidapi_api_note}\n'
    'This is the API list: {API_list}\n'
    'Please note that: \n'
    '1. The APIs you choose must in the API list.\n'
    '2. You must ONLY output in the following parsible Python List Format.\n'
    '```\n'
    'Output_Example: ["api1", "api2", ...]\n'
    '```\n'
    'Question: {question}\n'
    'Output:'
)
"""Fields: ``API_instruction`` (the tool's description), ``input_execute_rapidapi_api_note``
(:data:`CHOOSE_API_NOTE`), ``API_list`` (names), ``question``."""

CHOOSE_API_NOTE = (
    'This is an API Tool instruction. Given a question, you should choose APIs from the API list you want to use for this question in this instruction.\n'
    'you must only output in a parsible Python List Format. An example output looks like:\n'
    '```\n'
    '["api1", "api2", ...]\n'
    '```'
)
"""The second line of :data:`CHOOSE_API`, separate from the prompt in the published code."""

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
    'Example 1: {{"Parameters":{{"keyword": "Artificial Intelligence", "language": "English"}}}}\n'
    'Example 2: {{"Parameters":[{{"keyword": "Artificial Intelligence", "language": "English"}}, {{"keyword": "Machine Learning", "language": "English"}}]}}\n'
    "'''\n"
    "This is user's question: {question}\n"
    'Output:\n'
)
"""For a task without dependencies. Fields: ``question``, ``api_dic`` (the guideline of an API)."""

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
    'Example 1: {{"Parameters":{{"keyword": "Artificial Intelligence", "language": "English"}}}}\n'
    'Example 2: {{"Parameters":[{{"keyword": "Artificial Intelligence", "language": "English"}}, {{"keyword": "Machine Learning", "language": "English"}}]}}\n'
    "'''\n"
    'There are logs of previous questions and answers: \n'
    ' {previous_log}\n'
    "This is the current user's question: {question}\n"
    'This is API tool documentation: {api_dic}\n'
    'Output:\n'
)
"""For a task with dependencies. Further field: ``previous_log``, their ``task`` and ``answer``."""

ANSWER_GENERATION = (
    'You should answer the question based on the response output by the API tool.Please note that:\n'
    '1. Answer the question in natural language based on the API response reasonably and effectively.\n'
    "2. The user cannot directly get API response, so you need to make full use of the response and give the information in the response that can satisfy the user's question in as much detail as possible.\n"
    "This is the user's question:\n"
    ' {question}\n'
    'This is the API response:\n'
    ' {call_result}\n'
    'Output:'
)
"""For a task without dependencies. Fields: ``question``, ``call_result``."""

ANSWER_GENERATION_DEPEND = (
    'You should answer the question based on the response output by the API tool.Please note that:\n'
    '1. Try to organize the response into a natural language answer.\n'
    "2. We will not show the API response to the user, thus you need to make full use of the response and give the information in the response that can satisfy the user's question in as much detail as possible.\n"
    '3. The question may have dependencies on answers of other questions, so we will provide logs of previous questions and answers.\n'
    'There are logs of previous questions and answers: \n'
    ' {previous_log}\n'
    "This is the user's question: {question}\n"
    'This is the response output by the API tool: \n'
    '{call_result}\n'
    "We will not show the API response to the user, thus you need to make full use of the response and give the information in the response that can satisfy the user's question in as much detail as possible.\n"
    'Output:'
)
"""For a task with dependencies. Further field: ``previous_log``."""

ANSWER_GENERATION_DIRECT = "You need to answer the user's question.\nThis is the user's question: {task}\nOutput:"
"""For a task that needs no tool. Field: ``task``."""
