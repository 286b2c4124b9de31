"""Our prompts, by language, for loops that have no published ones."""

FUNCTION_CALLING = {
    'EN': "You carry out the user's request with the functions that you are given. Call what you need, as often as you "
    'need; you see what each call returns. Do not make up what a function could tell you. When the request is done, or '
    'if it cannot be done, answer the user in plain text without calling a function.',
    'ZH': '请使用提供给你的函数来完成用户的请求。需要什么函数就调用什么函数，次数不限；每次调用的返回结果你都能看到。'
    '凡是函数能够告诉你的内容，都不要自己编造。请求完成之后，或者请求无法完成时，请不要再调用函数，直接用文字回答用户。',
}
"""System prompt of function calling if an answer without a call ends the task."""

FUNCTION_CALLING_FINISH = {
    'EN': "You carry out the user's request with the functions that you are given. Call what you need, as often as you "
    'need; you see what each call returns. Do not make up what a function could tell you. When the request is done, or '
    'if it cannot be done, call Finish: the user sees nothing but the final answer that you give it.',
    'ZH': '请使用提供给你的函数来完成用户的请求。需要什么函数就调用什么函数，次数不限；每次调用的返回结果你都能看到。'
    '凡是函数能够告诉你的内容，都不要自己编造。请求完成之后，或者请求无法完成时，请调用 Finish：'
    '用户只能看到你在其中给出的最终答案。',
}
"""System prompt of function calling if a call of ``Finish`` ends the task."""

GO_ON = {
    'EN': 'Your last message is empty. Go on with the request, or answer the user.',
    'ZH': '你的上一条消息是空的。请继续完成请求，或者回答用户。',
}
"""Message after an answer with neither a call nor text."""

GO_ON_FINISH = {
    'EN': 'Your last message calls no function. Go on with the request, or call Finish.',
    'ZH': '你的上一条消息没有调用函数。请继续完成请求，或者调用 Finish。',
}
"""Message after an answer without a call, if a call of ``Finish`` ends the task."""

GOLD_ANSWER = 'The request is done.'
"""The oracle model's final answer, since the data has no gold answer."""
