"""Prompts of ToolBench's agents, byte for byte as in its inference code and its published runs.

The misspellings are published. In the task's description, the source code has ``\\"`` and ``\\n`` where the runs have a
quotation mark and a line break; this text is as in the runs.
"""

from __future__ import annotations

SYSTEM = (
    'You are AutoGPT, you can use many tools(functions) to do the following task.\n'
    'First I will give you the task description, and your task start.\n'
    'At each step, you need to give your thought to analyze the status now and what to do next, with a function call to actually excute your step.\n'
    'After the call, you will get the call result, and you are now in a new state.\n'
    'Then you will analyze your status now, then decide what to do next...\n'
    'After many (Thought-call) pairs, you finally perform the task, then you can give your finial answer.\n'
    'Remember: \n'
    "1.the state change is irreversible, you can't go back to one of the former state, if you want to restart the task, "
    'say "I give up and restart".\n'
    '2.All the thought is short, at most in 5 sentence.\n'
    '3.You can do more then one trys, so if your plan is to continusly try some conditions, you can do one of the '
    'conditions per try.\n'
    "Let's Begin!\n"
    'Task description: '
)
"""Beginning of the system message; the task description follows."""

TASK_DESCRIPTION = (
    'You should use functions to help handle the real time user querys. Remember:\n'
    '1.ALWAYS call "Finish" function at the end of the task. And the final answer should contain enough information to '
    "show to the user,If you can't handle the task, or you find that function calls always fail(the function is not "
    'valid now), use function Finish->give_up_and_restart.\n'
    "2.Do not use origin tool names, use only subfunctions' names.\n"
    'You have access of the following tools:\n'
)
"""Text before the list of tools, which has one line per tool."""

USER = '\n{}\nBegin!\n'
"""The user message, with the request."""

DIVERSITY = (
    'This is not the first time you try this task, all previous trails failed.\n'
    'Before you generate my thought for this state, I will first show you your previous actions for this state, and '
    'then you must generate actions that is different from all of them. Here are some previous actions candidates:\n',
    '\nRemember you are now in the intermediate state of a trail, you will first analyze the now state and previous '
    'action candidates, then make actions that is different from all the previous.',
)
"""Text before and after the former candidates."""

FORMER_OBSERVATION = 'again, your former observation: {}\n'
"""Follows the former candidates if the node has an observation; the published runs have it."""

REACT_TEXT = (
    'Answer the following questions as best you can. Specifically, you have access to the following APIs:\n'
    '\n'
    '{func_str}\n'
    '\n'
    'Use the following format:\n'
    'Thought: you should always think about what to do\n'
    'Action: the action to take, should be one of {func_list}\n'
    'Action Input: the input to the action\n'
    'End Action\n'
    '\n'
    'Begin! Remember: (1) Follow the format, i.e,\n'
    'Thought:\n'
    'Action:\n'
    'Action Input:\n'
    'End Action\n'
    '(2)The Action: MUST be one of the following:{func_list}\n'
    '(3)If you believe that you have obtained enough information (which can be judge from the history '
    'observations) that can answer the task, please call:\n'
    'Action: Finish\n'
    'Action Input: {{"return_type": "give_answer", "final_answer": your answer string}}.\n'
    'Question: {question}\n'
    '\n'
    'Here are the history actions and observations:\n'
)
"""ReAct in text, for a model without native calls: ``func_str`` lists the tools, ``func_list`` their names."""

INVALID_NAME = 'invalid_hallucination_function_name'
"""Name of an unknown function in the conversation."""

MAX_TOOL_DESCRIPTION = 512
"""Maximum length of a tool's description in the list of tools."""

NO_DESCRIPTION = 'None'
"""Text in the list of tools for a tool without a description."""

MAX_OBSERVATION = 1_024
"""Maximum length of an observation that the model sees."""
