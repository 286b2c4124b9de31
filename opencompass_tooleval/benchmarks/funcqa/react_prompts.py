"""Prompts of the method ReAct. They are ours, since Hao et al. (2023) did not publish theirs.

As in EasyTool, Section 5.3, the documentation is only name and calling form, and four examples show five tool calls.
The format is that of lagent's ``ReActProtocol``.
"""

from __future__ import annotations

SYSTEM = """You solve mathematical problems with arithmetic tools. The tools are:
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

QUESTION = 'Question: {question}'

STOP_WORDS = ('\nQuestion:',)
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
