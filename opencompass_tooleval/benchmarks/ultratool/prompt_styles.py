"""Prompts and readers of the published runs. Literals only: configs read this file inside ``read_base()``.

``system`` is the system prompt (``''`` for none), ``max_out_len`` the tokens per answer, ``list_choice`` the list that
is scored in an answer with several. Open models were run at temperature 0 by default of the published script, and at
0.7 by its shell script.
"""

PROMPT_STYLES = {
    'gpt': {'system': '你是一个有帮助的AI助手。', 'max_out_len': 4096, 'temperature': 0, 'list_choice': 'span'},
    'open': {'system': '', 'max_out_len': 512, 'temperature': 0, 'list_choice': 'last'},
}

DEFAULT = 'open'
"""The default prompt style of configs."""
