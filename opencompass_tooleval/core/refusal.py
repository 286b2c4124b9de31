"""Detects refusals in English and Chinese by the beginning of the text."""

from __future__ import annotations

import re

_MAX_CHARS = 10_000

# '不能超过三步。1. ...' begins a plan, and 'I can help' an answer: 'can' and '不能' alone are no refusal.
_BEGINS = re.compile(
    r"""["'`*\s]{0,9}(?:"""
    r"(?:i['’]m|i am|we are)?\s?(?:very |so |really |terribly )?sorry\b|i apologi[sz]e\b|my apologies\b|apologies\b"
    r"|(?:unfortunately,? )?i (?:can['’]?t|cannot|can not|could not|couldn['’]t|won['’]t|do not|don['’]t)\b"
    r'|(?:unfortunately,? )?i am (?:unable|not able)\b'
    r'|(?:unfortunately|sure|certainly|of course)\W{0,3}$'
    r'|(?:非常|很|实在)?(?:抱歉|对不起|不好意思)|我(?:无法|不能|没有办法)|(?:无法|不能)(?:提供|完成|回答|生成)'
    r')',
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    r'\bas an? (?:ai|large)? ?(?:language )?(?:model|assistant),? i\b'
    r'|作为(?:一个|一名|一款)?(?:ai|人工智能|语言模型|大模型)',
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Tests if a text declines to answer: it begins with a refusal, or refers to its author as an AI."""
    return bool(_BEGINS.match(text[:200]) or _ANYWHERE.search(text[:_MAX_CHARS]))
