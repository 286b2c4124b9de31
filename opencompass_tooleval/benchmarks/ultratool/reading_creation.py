"""The repairs with which the published scorer parses created tools.

Models miscount the braces of a nested tool; most parse methods guess the intended number. Balancing the braces instead
would accept answers that the published scorer rejects: all of GPT-3.5's, for which Table 6 has 99.00.
"""

from __future__ import annotations

from opencompass_tooleval.benchmarks.ultratool.parse_methods import (
    QUOTES,
    ParseMethod,
    Repair,
    as_is,
    before_last,
    braces,
    close_behind,
    doubled,
    drop_before_last,
    in_turn,
    replace_all,
)

COMPLETE_TOOL = '}}}},'
_close_behind_tool = close_behind('}}},')  # one brace fewer than in the first cut of an unfinished answer


def _at_run(length: int, drop: int = 0, insert: str = '') -> Repair:
    """Removes ``drop`` characters and inserts ``insert`` at the first run of ``length`` closing braces."""

    def repair(text: str) -> str:
        position = text.find('}' * length)
        return '' if position < 0 else text[:position] + insert + text[position + drop :]

    return repair


def _drop_third_bracket(text: str) -> str:
    """Removes a ``]`` at the third place from the end."""
    return text[:-3] + text[-2:] if text[-3:-2] == ']' else ''


def _open_next_item(text: str) -> str:
    """Inserts a ``{`` after the first ``}}}}, `` if no ``{`` follows; later places are ignored."""
    mark = '}}}}, '
    position = text.find(mark)
    rest = text[position + len(mark) :]
    return '' if position < 0 or not rest or rest[0] == '{' else text[: position + len(mark)] + '{' + rest


fix_tool_quotes = replace_all(
    (*QUOTES, *doubled("}, '", "': ", ", '", "':"), ('}, "step', '}, {"step')),
)

_drop = drop_before_last()


def _on_fixed(name: str, repair: Repair) -> ParseMethod:
    return f'quotes_{name}', in_turn(fix_tool_quotes, repair)


TOOL_PARSE_METHODS: tuple[ParseMethod, ...] = (
    ('as_is', as_is),
    ('brace', before_last('}')),
    ('two_braces', before_last('}' * 2)),
    ('three_braces', before_last('}' * 3)),
    ('four_braces', before_last('}' * 4)),
    ('quote_brace', before_last('"}')),
    ('quote_braces', before_last('"}"}}')),
    # left out: the published "}"}}"}}} puts a string directly after a brace, which never parses
    ('drop_one', _drop),
    ('drop_two', drop_before_last(2)),
    ('run_of_nine', _at_run(9, drop=2)),
    ('run_of_nine_drop_one', in_turn(_at_run(9, drop=2), _drop)),
    ('run_of_seven', _at_run(7, drop=1)),
    ('run_of_seven_drop_one', in_turn(_at_run(7, drop=1), _drop)),
    ('run_of_six', _at_run(6, drop=1)),
    ('run_of_six_drop_one', in_turn(_at_run(6, drop=1), _drop)),
    ('run_of_four', _at_run(4, insert='}')),
    ('run_of_four_drop_one', in_turn(_at_run(4, insert='}'), _drop)),
    ('third_bracket', _drop_third_bracket),
    ('complete_items', _close_behind_tool),
    ('open_next', _open_next_item),
    ('five_to_four', braces(5, 4)),
    ('six_to_five', braces(6, 5)),
    ('six_to_seven', braces(6, 7)),
    ('seven_to_eight', braces(7, 8)),
    ('seven_to_eight_brace', in_turn(braces(7, 8), before_last('}'))),
    ('four_to_five', braces(4, 5)),
    ('four_to_three', braces(4, 3)),
    ('quotes', fix_tool_quotes),
    _on_fixed('four_to_three', braces(4, 3)),
    _on_fixed('drop_one', _drop),
    _on_fixed('six_to_five', braces(6, 5)),
    _on_fixed('third_bracket', _drop_third_bracket),
    _on_fixed('drop_last_two', lambda text: text[:-2]),
    _on_fixed('four_to_five', braces(4, 5)),
    _on_fixed('brace', before_last('}')),
    _on_fixed('six_to_eight', braces(6, 8)),
    _on_fixed('complete_items', _close_behind_tool),
)
"""Parse methods of tool creation, in the published order."""
