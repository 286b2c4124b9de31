"""T-Eval's postprocessors, which extract the scored part of a model's output."""

from __future__ import annotations

from collections.abc import Callable

from opencompass_tooleval.core.calls.answer import Answer, clean, cut_at, unfence

V1_MARKS = ('<eoa>', '<TOKENS_UNUSED_1>', '<|im_end|>', '\nuser', '\nUSER', '[INST]')
"""Marks at which OpenCompass 0.5.4 cuts (postprocessor ``teval``)."""

V2_MARKS = (
    '<eoa>',
    '<TOKENS_UNUSED_1>',
    '<|im_end|>',
    '\nuser',
    '\nassistant',
    '\nUSER',
    '[INST]',
    '<|user|>',
)
"""Marks at which the authors' later test script cuts."""


def _official(text: str, marks: tuple[str, ...]) -> str:
    text = cut_at(text, marks).strip()
    return text.removeprefix('```json').strip('`').strip()


def _v1(text: str) -> str:
    text = _official(text, V1_MARKS)
    return text[1:-1] if text.startswith('{{') and text.endswith('}}') else text


def _v2(text: str) -> str:
    return _official(text, V2_MARKS)


def _clean(text: str) -> str:
    return unfence(cut_at(text, V2_MARKS)).strip()


def _postprocess(answer: Answer, cut: Callable[[str], str]) -> Answer:
    visible = clean(answer)
    return Answer(cut(visible.text), visible.reason)


def postprocess_v1(answer: Answer) -> Answer:
    """Postprocesses as OpenCompass's ``teval`` does: cuts at end marks, strips fences, and removes doubled braces."""
    return _postprocess(answer, _v1)


def postprocess_v2(answer: Answer) -> Answer:
    """Postprocesses as the authors' later test script does: cuts at more marks, and keeps braces."""
    return _postprocess(answer, _v2)


def postprocess_clean(answer: Answer) -> Answer:
    """Returns the content of the first fenced block, if any, for models that add explanations around it."""
    return _postprocess(answer, _clean)


POSTPROCESSORS = {'v1': postprocess_v1, 'v2': postprocess_v2, 'clean': postprocess_clean}
