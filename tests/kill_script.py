"""Answers of the server of ``test_kill.py``: plans, choices, and a judge's verdicts."""

from __future__ import annotations

import json
import time
from pathlib import Path

_JUDGE = Path(__file__).resolve().parents[1] / 'opencompass_tooleval' / 'demo' / 'ultratool' / 'judge_planning_zh.jsonl'
VERDICTS = [json.loads(line)['prediction'] for line in _JUDGE.read_text(encoding='utf-8').splitlines()]


def answer(messages: list[dict[str, str]]) -> str:
    """The same to the same question, after a moment."""
    time.sleep(0.1)
    text = messages[-1]['content']
    number = sum(map(ord, text))
    if '打分理由' in text:
        return str(VERDICTS[number % len(VERDICTS)])
    return f'Answer: {"ABCDE"[number % 5]}' if number % 3 else '1. 打开文件\n1.1 写入内容\n2. 关闭文件'
