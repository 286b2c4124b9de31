"""What crosses OpenCompass between a postprocessor of ours and an evaluator of ours."""

from __future__ import annotations

from opencompass_tooleval.core.answer import Answer


class PostprocessedText(str):
    """The text of an answer, with the reason why it is empty, on its way through OpenCompass.

    OpenCompass gives a postprocessor text, takes text from it, and gives that to the evaluator as it is. By then the
    evaluator cannot tell an answer of nothing but thoughts from one that was always empty, so the reason goes along. It
    is an :class:`~opencompass_tooleval.core.answer.Answer` again as soon as it arrives (:func:`received`), and nothing
    else of ours is made of text with attributes.

    Attributes:
        reason: As of the answer.
    """

    reason: str | None = None


def handed_over(answer: Answer) -> PostprocessedText:
    """What a postprocessor returns to OpenCompass."""
    text = PostprocessedText(answer.text)
    text.reason = answer.reason
    return text


def received(text: str) -> Answer:
    """The answer of which OpenCompass brings the text, postprocessed or not."""
    return Answer(str(text), text.reason if isinstance(text, PostprocessedText) else None)
