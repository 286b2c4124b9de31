"""Prompts of the loops for which none is published: ours."""

FUNCTION_CALLING = """You carry out the user's request with the functions that you are given. Call what you need, as \
often as you need; you see what each call returns. Do not make up what a function could tell you. When the request is \
done, or if it cannot be done, answer the user in plain text without calling a function."""
"""System prompt of function calling where an answer without a call is the end."""

FUNCTION_CALLING_FINISH = """You carry out the user's request with the functions that you are given. Call what you \
need, as often as you need; you see what each call returns. Do not make up what a function could tell you. When the \
request is done, or if it cannot be done, call Finish: the user sees nothing but the final answer that you give it."""
"""System prompt of function calling where a call of ``Finish`` is the end."""

GO_ON = 'Your last message is empty. Go on with the request, or answer the user.'
"""Follows an answer that neither calls nor says anything."""

GO_ON_FINISH = 'Your last message calls no function. Go on with the request, or call Finish.'
"""Follows an answer without a call where a call of ``Finish`` is the end."""

GOLD_ANSWER = 'The request is done.'
"""What a perfect model ends with: nobody recorded the words."""
