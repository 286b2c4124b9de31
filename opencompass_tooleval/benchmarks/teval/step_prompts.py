"""Prompts that T-Eval's step files are written with.

Those of plan and review in English are the published ones (plan_json_v1, plan_str_v1, review_str_v1). The others are this
project's, as in its demo records: the published files of the other subsets are not at hand.
"""

from __future__ import annotations

SYSTEM = {
    ('plan_json', 'EN'): (
        'You have access to the following API:\n'
        '{apis}\n'
        "Please generate a plan for answer user's questions, which should be a list of actions with the following format:\n"
        '```\n'
        '[{\n'
        '    // id of the action\n'
        '    "id": number;\n'
        '    // the name of the action\n'
        '    "name": string;\n'
        '    // input params required by this action\n'
        '    "args": "str(Record<string, any>)";\n'
        '}, ...\n'
        ']\n'
        '```\n'
        'You can imagine args when you plan the action, and these instructions will be executed sequentially.\n'
        'For example, if you want to call `api1` with `arg1` and `arg2`, you can write the following plan:\n'
        '```\n'
        '[{\n'
        '    "id": 0,\n'
        '    "name": "api1",\n'
        "    \"args\": \"{'arg1': 'value1', 'arg2': 'value2', ...}\",\n"
        '}, ...\n'
        ']\n'
        '```\n'
        'The args should be a dictionary in string format. \n'
        'PLEASE use \'\' in args dictionary and use "" in other places, DO NOT print args with value None or null.\n'
        '\n'
        'You should only generate a list in json format. The list should be the full planning list without `...`. \n'
        'DO NOT generate any text to explain the json.\n'
    ),
    ('plan_json', 'ZH'): (
        '你可以使用下列 API，每行一个：\n'
        '{apis}\n'
        '\n'
        '请想好如何完成用户的请求，并给出完整的计划：一个 JSON 列表，按调用顺序排列，每次调用对应一个对象。\n'
        '- "id"：序号，从 0 开始\n'
        '- "name"：API 名称\n'
        '- "args"：字符串，内容是写成 Python 字典的参数，字典里用单引号，例如 "{\'key\': \'value\'}"\n'
        '若某个参数取决于前面调用的结果，请自拟一个合理的值。只输出这个列表。'
    ),
    ('plan_str', 'EN'): (
        '\n'
        'You have access to the following API:\n'
        '{apis}\n'
        '\n'
        'Provide the WHOLE plan to solve the query using the provided APIs without other words. Each step should follow the format: Use [api name] to [goal]. Each step should start with a new line and only call API once.\n'
    ),
    ('plan_str', 'ZH'): (
        '你可以使用下列 API，每行一个：\n'
        '{apis}\n'
        '\n'
        '请想好如何完成用户的请求，并给出完整的计划，按调用顺序每行写一次调用，格式为“Use <API 名称> to <调用的目的>”。只输出这些行。'
    ),
    ('reason_retrieve_understand_json', 'EN'): (
        'These APIs are at your disposal, one per line:\n'
        '{apis}\n'
        '\n'
        'Serve the request of the user one call at a time; the result of each call is handed back to you. Answer with the next call as one JSON object and nothing else:\n'
        '{"thought": what to do next and why, "name": the name of the API, "args": an object with the arguments}\n'
        'Once nothing is left to do, the name is FinishAction and args is {}.'
    ),
    ('reason_retrieve_understand_json', 'ZH'): (
        '你可以使用下列 API，每行一个：\n'
        '{apis}\n'
        '\n'
        '请一次一个调用地完成用户的请求，每次调用的结果都会返回给你。请用一个 JSON 对象给出下一次调用，不要输出其他内容：\n'
        '{"thought": 下一步做什么、为什么, "name": API 名称, "args": 参数组成的对象}\n'
        '若已无事可做，name 写 FinishAction，args 写 {}。'
    ),
    ('reason_str', 'EN'): (
        'These APIs are at your disposal, one per line:\n'
        '{apis}\n'
        '\n'
        'The request of the user is served one call at a time. Say in one or two sentences what should be done next and why. Answer with this thought alone; do not make the call.'
    ),
    ('reason_str', 'ZH'): (
        '你可以使用下列 API，每行一个：\n'
        '{apis}\n'
        '\n'
        '用户的请求要一次一个调用地完成。请用一两句话说明下一步该做什么、为什么。只输出这段思考，不要写出调用。'
    ),
    ('retrieve_str', 'EN'): (
        'These APIs are at your disposal, one per line:\n'
        '{apis}\n'
        '\n'
        'The request of the user is served one call at a time. You are given the thought behind the next call. Answer with the name of the API that carries it out, or with FinishAction if nothing is left to do, and with no other word.'
    ),
    ('retrieve_str', 'ZH'): (
        '你可以使用下列 API，每行一个：\n'
        '{apis}\n'
        '\n'
        '用户的请求要一次一个调用地完成。下面会给出下一次调用背后的思考，请回答应当使用的 API 名称；若已无事可做，则回答 FinishAction。不要输出其他内容。'
    ),
    ('understand_str', 'EN'): (
        'These APIs are at your disposal, one per line:\n'
        '{apis}\n'
        '\n'
        "The request of the user is served one call at a time. You are given the thought behind the next call and the API that was chosen. Answer with its arguments as a Python dictionary on one line, such as {'key': 'value'}, in the order of the documentation, and with nothing else."
    ),
    ('understand_str', 'ZH'): (
        '你可以使用下列 API，每行一个：\n'
        '{apis}\n'
        '\n'
        "用户的请求要一次一个调用地完成。下面会给出下一次调用背后的思考和选定的 API，请按文档中的顺序在一行内写出它的参数，写成 Python 字典，例如 {'key': 'value'}。不要输出其他内容。"
    ),
    ('review_str', 'EN'): (
        'You are presented with information about a task and its corresponding responses in the following format:\n'
        '```\n'
        'Goal: [The intended goal or objective of the current task.]\n'
        'Name: [The name of the tool used for the task.]\n'
        'Args: [The arguments or parameters supplied to the tool.]\n'
        'Response: [The response or output received from the tool after execution.]\n'
        '```\n'
        '\n'
        "Based on this information, your task is to evaluate whether the goal has been achieved. Select the most appropriate option from the choices below to describe the task's outcome:\n"
        '\n'
        'A: Success -- The task has been completed successfully and the goal is achieved.\n'
        'B: Internal error -- There is a malfunction or connectivity issue within the tool itself, leading to failure.\n'
        'C: Input Error -- The tool is mismatch to the query, or the parameters or arguments provided to the tool are incorrect or inadequate for the task.\n'
        "D: Inrelavant Response -- The output from the tool does not align with the expected response as per the tool's description or is ambiguous.\n"
        "E: Unable to Accomplish -- The tool's response indicates that the task is impossible to accomplish or the tool's response is empty.\n"
        '\n'
        'Your output should follow the following format:\n'
        '```\n'
        'Answer: [Insert your choice here, choosing from A, B, C, D, and E. This should be a single character.]\n'
        '```\n'
        '\n'
        'Note that the place, the date, and the id in the parameters and the response are correct, please do not judge the correctness of the parameters and the response based on the place, the date, and id.\n'
    ),
    ('review_str', 'ZH'): (
        '为了达到一个目标，调用了一个工具。你会看到目标、工具名称、传入的参数和工具的返回：\n'
        '```\n'
        '目标: 这次调用要达到什么\n'
        '工具: 工具名称\n'
        '参数: 传入的参数\n'
        '返回: 工具的返回\n'
        '```\n'
        '请判断结果属于下列五种中的哪一种：\n'
        'A: 成功。返回的正是目标所要的。\n'
        'B: 内部错误。工具本身或它的连接出了故障。\n'
        'C: 输入错误。用错了工具，或者参数有误、不全。\n'
        'D: 无关的返回。工具有返回，但不是它该返回的，或与请求不符。\n'
        'E: 无法完成。工具说明事情办不到，或者返回为空。\n'
        '请按下面的格式回答，只写 A 到 E 中的一个字母：\n'
        '```\n'
        'Answer: 字母\n'
        '```\n'
        '名称、编号和日期一律视为正确。'
    ),
}
"""Subset and language -> system prompt; ``{apis}`` is the documentation of the tools."""

APIS_AS_PAIRS = frozenset({('plan_json', 'EN'), ('plan_str', 'EN')})
"""Where ``{apis}`` is one list of pairs of name and description, as published; elsewhere it is one JSON object a line."""

NEXT_STEP = {
    ('retrieve_str', 'EN'): 'Thought: {thought}\nWhich API comes next?',
    ('retrieve_str', 'ZH'): '思考：{thought}\n下一步用哪个 API？',
    ('understand_str', 'EN'): 'Thought: {thought}\nName: {name}\nWhich arguments does it get?',
    ('understand_str', 'ZH'): '思考：{thought}\nAPI：{name}\n它的参数是什么？',
}
"""The last message of a sample, of the subsets that have one."""

STEP_TEXT = {
    'EN': 'Thought: {thought}\nName: {name}\nArgs: {args}',
    'ZH': '思考：{thought}\nAPI：{name}\n参数：{args}',
}
"""An earlier step, where steps are text."""

REVIEW_CASE = {
    'EN': 'Goal: {goal}\nName: {name}\nArgs: {args}\nResponse: {response}',
    'ZH': '目标: {goal}\n工具: {name}\n参数: {args}\n返回: {response}',
}
"""The call that is reviewed. English as published."""

INSTRUCT_SYSTEM = {
    ('json', 'EN'): 'You turn requests into calls of this API:\n{apis}\n\n'
    'Write the call as one JSON object with exactly these keys and nothing around it:\n'
    '- "{thought}": a short remark on what you are doing\n'
    '- "{action}": the name of the API\n'
    '- "{args}": an object with the arguments; keep the types of the values',
    ('string', 'EN'): 'You turn requests into calls of this API:\n{apis}\n\n'
    'Write the call in exactly this form, replacing what stands in braces, with nothing around it:\n'
    '{thought_start}{A SHORT REMARK}{thought_end}{action_start}{API NAME}{action_end}{args_start}{ARGS}{args_end}\n'
    'ARGS is one Python dictionary on one line.',
    ('json', 'ZH'): '你负责把请求写成对下面这个 API 的调用：\n{apis}\n\n'
    '请把调用写成一个 JSON 对象，恰好含有下列键，前后不要有其他内容：\n'
    '- "{thought}"：用一句话说明你在做什么\n'
    '- "{action}"：API 名称\n'
    '- "{args}"：参数组成的对象，各个值保持原来的类型',
    ('string', 'ZH'): '你负责把请求写成对下面这个 API 的调用：\n{apis}\n\n'
    '请严格按下面的格式写出调用，替换花括号里的内容，前后不要有其他内容：\n'
    '{thought_start}{一句话说明}{thought_end}{action_start}{API 名称}{action_end}{args_start}{参数}{args_end}\n'
    '参数写成一个 Python 字典，不换行。',
}
"""Format and language -> system prompt of instruct; names in lower case are those of the format's template."""

INSTRUCT_REQUEST = {
    'EN': 'Call {name} with the parameters as follows:\n{parameters}',
    'ZH': '请调用 {name}，参数如下：\n{parameters}',
}

_MARKS = ('thought_start', 'thought_end', 'action_start', 'action_end', 'args_start', 'args_end')

INSTRUCT_TEMPLATES: dict[str, tuple[dict[str, str], ...]] = {
    'json': (
        {'thought': 'thought', 'action': 'action', 'args': 'args'},
        {'thought': 'goal', 'action': 'tool', 'args': 'inputs'},
        {'thought': 'why', 'action': 'api', 'args': 'parameters'},
    ),
    'string': (
        dict(zip(_MARKS, ('Thought: ', '\n', 'Action: ', '\n', 'Args: ', ''), strict=True)),
        dict(zip(_MARKS, ('<why>', '</why>\n', '<tool>', '</tool>\n', '<inputs>', '</inputs>'), strict=True)),
        dict(zip(_MARKS, ('[plan] ', '\n', '[call] ', '\n', '[with] ', '\n[done]'), strict=True)),
    ),
}
"""Format -> how a call is written down; samples take one after the other."""
