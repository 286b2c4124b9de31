"""Prompts of all methods (EasyTool, Section 5.3).

Those of the methods without tools, with native tools and of ReAct are ours: neither the paper nor its code has them,
and Hao et al. (2023) did not publish theirs. As in EasyTool, ReAct's documentation is only name and calling form, and
four examples show five tool calls; the format is that of lagent's ``ReActProtocol``.

The others are the prompts of EasyTool's published FuncQA runs, byte for byte as in its code (not its paper). Each is a
template of :meth:`str.format`, filled with Python's ``str`` of lists and dicts. The misspellings are published.
:mod:`opencompass_tooleval.agents.loops.easytool_prompts` has the prompts that ToolBench's runs also use.
"""

from __future__ import annotations

ZERO_SHOT = """Answer the question with a number. Write nothing but one line of the form "Answer: number".

Question: {question}"""

COT = """Answer the question with a number. Think step by step, and end with one line of the form "Answer: number".

Question: {question}
Let's think step by step."""

FUNCTION_CALLING = """Answer the question with a number. Work out with the tools whatever has to be calculated, and end with one line of the form "Answer: number"."""


REACT_SYSTEM = """You solve mathematical problems with arithmetic tools. The tools are:
{tool_description}
Use one tool at a time, in this format:
```
{thought} what is to be worked out next
{action} the name of a tool, one of {action_names}
{action_input} its parameters, one JSON object on one line
```
Then stop. You will be told what the tool returned:
```
{response} what the tool returned
```
Once you know the answer, reply in this format:
```
{thought} why this is the answer
{finish} the answer, a number without a unit
```"""

REACT_QUESTION = 'Question: {question}'

REACT_STOP_WORDS = ('\nQuestion:',)
"""Text that ends an answer: after it the model invents a question."""

CALLING_FORMS: dict[str, str] = {
    'add_': 'add_({"input": [a, b, ...]})',
    'subtract_': 'subtract_({"input": [a, b, ...]})',
    'multiply_': 'multiply_({"input": [a, b, ...]})',
    'divide_': 'divide_({"input": [a, b, ...]})',
    'power_': 'power_({"input": [base, exponent]})',
    'sqrt_': 'sqrt_({"input": [a]})',
    'log_': 'log_({"input": [a]}) or log_({"input": [a, base]})',
    'ln_': 'ln_({"input": [a]})',
    'lcm_': 'lcm_({"input": [a, b, ...]})',
    'gcd_': 'gcd_({"input": [a, b, ...]})',
    'remainder_': 'remainder_({"input": [a, b]})',
    'choose_': 'choose_({"input": [n, r]})',
    'permutate_': 'permutate_({"input": [n, r]})',
}
"""Tool -> form of its call."""

DEMONSTRATIONS: tuple[tuple[str, str], ...] = (
    (
        'user',
        'Question: A square chessboard covers 1866.24 square centimetres. How long is one of its sides in centimetres?',
    ),
    (
        'assistant',
        """Thought: The side of a square is the square root of its area.
Action: sqrt_
Action Input: {"input": [1866.24]}""",
    ),
    ('user', 'Response:43.2\n'),
    (
        'assistant',
        """Thought: The tool returned the length of the side.
Final Answer: 43.2""",
    ),
    (
        'user',
        'Question: One lighthouse flashes every 18 seconds, another every 24 seconds. They flash together now. After how many seconds do they next flash together?',
    ),
    (
        'assistant',
        """Thought: They flash together at common multiples of 18 and 24; the next time is the least of them.
Action: lcm_
Action Input: {"input": [18, 24]}""",
    ),
    ('user', 'Response:72\n'),
    (
        'assistant',
        """Thought: The least common multiple is the number of seconds.
Final Answer: 72""",
    ),
    ('user', 'Question: A choir has 12 singers. In how many ways can 3 of them be picked to sing a trio?'),
    (
        'assistant',
        """Thought: The order of the three singers does not matter, so these are combinations.
Action: choose_
Action Input: {"input": [12, 3]}""",
    ),
    ('user', 'Response:220\n'),
    (
        'assistant',
        """Thought: The tool returned the number of trios.
Final Answer: 220""",
    ),
    (
        'user',
        'Question: A cube of clay with edges of 12 cm is made into beads of 8 cubic centimetres each. How many beads are there?',
    ),
    (
        'assistant',
        """Thought: First I need the volume of the cube, its edge to the third power.
Action: power_
Action Input: {"input": [12, 3]}""",
    ),
    ('user', 'Response:1728\n'),
    (
        'assistant',
        """Thought: The cube holds 1728 cubic centimetres. I divide them by the volume of one bead.
Action: divide_
Action Input: {"input": [1728, 8]}""",
    ),
    ('user', 'Response:216\n'),
    (
        'assistant',
        """Thought: The tool returned the number of beads.
Final Answer: 216""",
    ),
)
"""Role and content: four questions, five calls."""


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
