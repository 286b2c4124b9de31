"""Small chat templates with tools, one per documented format of calls; written for these tests."""

from __future__ import annotations

_TOOLS = '{% if tools %}{{ "<|im_start|>system\\nTools:" }}{% for tool in tools %}{{ "\\n" }}{{ tool | tojson }}{% endfor %}{{ "\\n" + how + "<|im_end|>\\n" }}{% endif %}'  # noqa: E501
_END = '{{ "<|im_end|>\\n" }}{% endfor %}{% if add_generation_prompt %}{{ "<|im_start|>assistant\\n" }}{% endif %}'
_ROLE = '{{ "<|im_start|>" + ("tool" if message.role == "tool" else message.role) + "\\n" + message.content }}'


def _template(how: str, calls: str) -> str:
    """A template.

    Args:
        how: What it tells the model of the format.
        calls: How it writes ``message.tool_calls``.
    """
    return (
        f"{{% set how = '{how}' %}}{_TOOLS}{{% for message in messages %}}{_ROLE}"
        f'{{% if message.tool_calls %}}{calls}{{% endif %}}{_END}'
    )


HERMES = _template(
    '<tool_call>',
    '{% for call in message.tool_calls %}{{ "\\n<tool_call>\\n" }}'
    '{{ {"name": call.function.name, "arguments": call.function.arguments} | tojson }}{{ "\\n</tool_call>" }}'
    '{% endfor %}',
)
LLAMA = _template(
    '<|python_tag|>',
    '{% for call in message.tool_calls %}{{ "; " if not loop.first }}'
    '{{ {"name": call.function.name, "parameters": call.function.arguments} | tojson }}{% endfor %}',
)
MISTRAL = _template(
    '[TOOL_CALLS]',
    '{{ "[TOOL_CALLS][" }}{% for call in message.tool_calls %}'
    '{% if call.id | length != 9 %}{{ raise_exception("ids have nine letters") }}{% endif %}'
    '{{ ", " if not loop.first }}'
    '{{ {"name": call.function.name, "arguments": call.function.arguments, "id": call.id} | tojson }}{% endfor %}'
    '{{ "]" }}',
)
MISTRAL_TODAY = _template(
    '[TOOL_CALLS]',
    '{% for call in message.tool_calls %}{{ "[TOOL_CALLS]" + call.function.name + "[ARGS]" }}'
    '{{ call.function.arguments | tojson }}{% endfor %}',
)
PYTHONIC = _template(
    '[func_name1(params_name1=params_value1)]',
    '{{ "[" }}{% for call in message.tool_calls %}{{ ", " if not loop.first }}{{ call.function.name + "(" }}'
    '{% for name, value in call.function.arguments.items() %}{{ ", " if not loop.first }}{{ name + "=" }}'
    '{{ value | tojson }}{% endfor %}{{ ")" }}{% endfor %}{{ "]" }}',
)
WITHOUT_TOOLS = f'{{% for message in messages %}}{_ROLE}{_END}'
WITHOUT_ANSWERS = HERMES.replace(_ROLE, f'{{% if message.role != "tool" %}}{_ROLE}{{% endif %}}')

TEMPLATES = {
    'hermes': HERMES, 'llama3_json': LLAMA, 'mistral': MISTRAL, 'mistral today': MISTRAL_TODAY, 'pythonic': PYTHONIC,
}  # fmt: skip
