"""The words of a query: the line that asks for its result, words that ask for something, and words of a ban.

Words are looked for in English and Chinese. They are a check of what a model states about the query that it wrote.
"""

from __future__ import annotations

import re

from opencompass_tooleval.core.calls.trajectory import asks_back
from opencompass_tooleval.core.scoring.typed_result import DATE, LIST, NUMBER, PAIRS, SET, TEXT, plain_text

_LINE = {
    'EN': 'End your answer with one line: "Result: " and {what}.',
    'ZH': '请在回答的最后单独写一行：“结果：”，后面写{what}。',
}
_WHAT = {
    NUMBER: (
        'the number alone, in digits, with two decimals if it is not whole',
        '数字本身，用阿拉伯数字；不是整数时保留两位小数',
    ),
    TEXT: ('the name or the few words that are asked for, as you found them', '所问的名称或简短文字，与所见的写法一致'),
    DATE: ('the date as YYYY-MM-DD', '日期，格式为 YYYY-MM-DD'),
    LIST: ('the items in their order, separated by semicolons', '各项，按顺序排列，用分号隔开'),
    SET: ('the items in any order, separated by semicolons', '各项，顺序不限，用分号隔开'),
    PAIRS: ('each as "name: value", separated by semicolons', '每一项写成“名称：值”，用分号隔开'),
}
"""Form of a result -> how it is written, in English and Chinese."""

_ASKS = re.compile(
    r'\b(?:(?:tell|show|give|read|inform|let|remind) (?:me|us)|find out|look up|check (?:if|whether|which|what|how)|'
    r'say (?:what|which|who|when|where|how)|(?:want|need|like) to (?:know|see)|how (?:many|much|long|often|old|far)|'
    r'(?:list|report|count|compare|describe|explain|calculate|compute|summari[sz]e) '
    r'(?:the|all|every|each|my|our|how|which|what|who|whether|back))\b|'
    r'告诉|列出|查询|查找|多少|哪|什么|谁|几个|说明|总结|显示|看看|比较'
)
"""Words that ask to be told something; a question mark does, too."""
_BANS = re.compile(
    r'\b(?:not|never|no|none|nothing|nobody|without|except|avoid|only|instead|stop|refrain|cannot|unchanged|untouched|'
    r"(?:leave|keep) .{1,60}(?:alone|as|out|away|from))\b|n't\b|不|别|勿|禁止|无需|无须|除了|只|避免|保持|没有"
)


def with_line(query: str, form: str, language: str) -> str:
    """Returns a query that ends by asking for its result in one line; as it is where there is none of a form."""
    if form not in _WHAT:
        return query
    line = _LINE.get(language, _LINE['EN'])
    return f'{query}\n\n{line.format(what=_WHAT[form][language == "ZH"])}'


def without_line(query: str, form: str, language: str) -> str:
    """Returns a query without the line of :func:`with_line`."""
    return query.removesuffix(with_line('', form, language))


def asks(query: str) -> bool:
    """Tests if a query asks to be told something."""
    return asks_back(query) or _ASKS.search(plain_text(query)) is not None


def rules_out(query: str, words: str) -> bool:
    """Tests if words that a model cites as a ban stand in the query, and hold a word of a ban."""
    cited, text = plain_text(words), plain_text(query)
    return cited in text and _BANS.search(cited) is not None
