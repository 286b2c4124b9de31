"""How the published runs asked and read. Literals only: configs read this file inside ``read_base()``.

``system`` is the system prompt (``''``: none), ``max_out_len`` the tokens per answer, ``list_choice`` which list counts
in an answer with several. Open models were run at temperature 0 by default of the published script, and at 0.7 by its
shell script.
"""

PROMPT_STYLES = {
    'gpt': {'system': '你是一个有帮助的AI助手。', 'max_out_len': 4096, 'temperature': 0, 'list_choice': 'span'},
    'open': {'system': '', 'max_out_len': 512, 'temperature': 0, 'list_choice': 'last'},
}

DEFAULT = 'open'
"""The prompt style of the configs that name none."""
