"""Detects answers that decline a request in prose, by how they begin, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from opencompass_tooleval.core.calls.answer import Answer, as_answer, visible_text
from opencompass_tooleval.core.calls.one_call import NO_CALL
from opencompass_tooleval.core.scoring.result import SampleScore

REFUSED = 'answer:refused'

MAX_REFUSAL_CHARS = 1_500
"""Maximum number of characters in a refusal; a longer text is an answer, or explains one."""

# 'I am sorry for the wait. GET /movie/{id}' is an answer: an apology alone is not a refusal.
_SORRY = (
    r"(?:(?:i['’]?m|i am|we['’]?re|we are)\s)?(?:(?:very|so|really|truly|terribly)\s)?sorry\b"
    r'|i\s(?:sincerely\s)?apologi[sz]e\b|(?:my\s|our\s)?(?:sincere\s)?apologies\b|unfortunately\b|regrettably\b'
)
_AS_MODEL = r'as\san?\s(?:ai|artificial|large\slanguage|language)\b[^.,!?\n]{0,40},\s?'
_UNABLE = (
    r"(?:i|we)(?:\s|['’])(?:(?:a?m|a?re)\s)?"
    r"(?:can['’]?t|cannot|can\snot|could\snot|couldn['’]t|won['’]t(?:\sbe\sable\sto)?|will\snot(?:\sbe\sable\sto)?|unable\sto|not\sable\sto"
    r'|not\scomfortable|(?:must|have\sto|need\sto)\s(?:decline|refuse)|decline\b|refuse\b)'
)
_HELP = (
    r'(?:help|assist|comply|fulfil|provide|answer|respond|engage|participate|support|discuss|continue|proceed|generate'
    r'|create|complete|process|perform|carry\sout|do\s(?:that|this))'
)
_CHINESE_UNABLE = '(?:无法|不能|没办法|没有办法|不便|拒绝|无权)'
_CHINESE_HELP = '(?:帮|协助|提供|回答|完成|满足|处理|继续|生成|执行|参与|讨论|给出)'
_REFUSAL = re.compile(
    rf"""["'“‘*_\s]{{0,9}}(?:"""
    rf'(?:{_SORRY})(?:[^.!?\n]{{0,60}}[,;:–—-])?[\s.,!;:–—-]{{0,3}}(?:but\s|that\s|however,?\s)?(?:{_AS_MODEL})?{_UNABLE}'
    rf"|{_AS_MODEL}(?:{_UNABLE}|i\s(?:do\snot|don['’]t)\shave\b)"
    rf'|{_UNABLE}(?:\s(?:to\s|with\s|directly\s){{0,2}}{_HELP}|[.!\s]{{0,3}}\Z)'
    rf'|(?:非常|很|十分|实在)?(?:抱歉|对不起|不好意思)[^。！？!?\n]{{0,30}}?{_CHINESE_UNABLE}'
    rf'|(?:作为[^，,。\n]{{0,20}}[，,]\s?)?我{_CHINESE_UNABLE}[^，,。\n]{{0,6}}?{_CHINESE_HELP}'
    r')',
    re.IGNORECASE,
)
_STRUCTURE = re.compile(r'[\[{［｛]|```|^\s{0,9}(?:\d{1,3}[.)、]|[A-Za-z][A-Za-z_ ]{0,20}:)', re.MULTILINE)
"""Marks of a structured answer: a value in brackets, a code block, a numbered list, a line ``Action: ...``."""

_OFFERED = re.compile(
    r'[^.!?\n]{0,60}\b(?:any|some)thing else\b[^?\n]{0,80}\?|[^。！？?\n]{0,20}(?:其他|其它|别的)[^？?\n]{0,40}[？?]'
)
"""``Is there anything else I can help with?``, which does not ask the user for information."""

S = TypeVar('S', bound=SampleScore)


def is_refusal(text: str) -> bool:
    """Tests if a text without thoughts is a refusal: it begins like one, is short, and has no structure."""
    if len(text) > MAX_REFUSAL_CHARS or _REFUSAL.match(text) is None:
        return False
    return _STRUCTURE.search(text) is None


def without_offer(text: str) -> str:
    """Removes the offer to help with something else, which does not ask the user for information."""
    return _OFFERED.sub('', text)


_UNREAD = ('parse:', 'format:', NO_CALL)
"""Reasons of answers that could not be parsed."""


def with_refusal(score: S, answer: Answer | str, unread: tuple[str, ...] = _UNREAD) -> S:
    """Changes the reason of an answer that could not be parsed to ``answer:refused`` if the answer is a refusal.

    Args:
        score: The score of the answer; its values are kept.
        answer: The answer, or its text.
        unread: Beginnings of the reasons to replace.
    """
    if not score.reason.startswith(unread):
        return score
    return replace(score, reason=REFUSED) if is_refusal(visible_text(as_answer(answer)).text) else score


_MAX_SEARCHED = 10_000

# '不能超过三步。1. ...' begins a plan, and 'I can help' an answer: 'can' and '不能' alone are not refusals.
_REFUSAL_BEGINS = re.compile(
    r"""["'`*\s]{0,9}(?:"""
    r"(?:i['’]m|i am|we are)?\s?(?:very |so |really |terribly )?sorry\b|i apologi[sz]e\b|my apologies\b|apologies\b"
    r"|(?:unfortunately,? )?i (?:can['’]?t|cannot|can not|could not|couldn['’]t|won['’]t|do not|don['’]t)\b"
    r'|(?:unfortunately,? )?i am (?:unable|not able)\b'
    r'|(?:unfortunately|sure|certainly|of course)\W{0,3}$'
    r'|(?:非常|很|实在)?(?:抱歉|对不起|不好意思)|我(?:无法|不能|没有办法)|(?:无法|不能)(?:提供|完成|回答|生成)'
    r')',
    re.IGNORECASE,
)
_REFUSAL_ANYWHERE = re.compile(
    r'\bas an? (?:ai|large)? ?(?:language )?(?:model|assistant),? i\b'
    r'|作为(?:一个|一名|一款)?(?:ai|人工智能|语言模型|大模型)',
    re.IGNORECASE,
)


def declines_or_apologizes(text: str) -> bool:
    """Tests if a text begins with a refusal or an apology, or refers to its author as an AI.

    For texts that never begin like this, such as descriptions of tools and replies of judges. A model's answer may
    begin like this; use :func:`is_refusal` for answers.
    """
    return bool(_REFUSAL_BEGINS.match(text[:200]) or _REFUSAL_ANYWHERE.search(text[:_MAX_SEARCHED]))
