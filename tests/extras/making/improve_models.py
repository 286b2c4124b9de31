"""Models for the improvement of documentation: a caller that depends on descriptions, and rewriters."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.fixed_models import OracleModel

WORD = 'beforehand'
FORECAST, MENU = 'Weather.forecast', 'Canteen.menu'


class Logged(OracleModel):
    """Writes each of its prompts to a file; where a file says so, the process ends after so many answers.

    Args:
        log: The file.
        stop: The file with the number of answers.
    """

    def __init__(self, path: str, log: str, stop: str = '', **kwargs: Any) -> None:
        super().__init__(path, **kwargs)
        self._log, self._stop, self._count = Path(log), Path(stop or f'{log}.stop'), 0

    def note(self, prompt: Conversation) -> str:
        """Notes a prompt and returns its text."""
        if self._stop.exists() and self._count == int(self._stop.read_text()):
            os._exit(9)
        self._count += 1
        text = '\n'.join(str(item['content']) for item in prompt)
        row = {'id': prompt.record_id, 'text': text, 'tools': prompt.tools.to_text() if prompt.tools else ''}
        with self._log.open('a', encoding='utf-8') as stream:
            stream.write(json.dumps(row) + '\n')
        return text


class Caller(Logged):
    """Makes the gold calls where the needed tool's description has a word, or the request; else it calls another tool.

    Args:
        easy: Of how many tasks it solves one with any description.
        memorises: Whether the description has to have the request, in place of the word.
    """

    def __init__(self, path: str, log: str, easy: int = 4, memorises: bool = False, **kwargs: Any) -> None:
        super().__init__(path, log, **kwargs)
        self._easy, self._memorises = easy, memorises

    def reply(self, prompt: Conversation) -> Answer:
        """Answers one conversation."""
        self.note(prompt)
        assert prompt.tools is not None
        number = int(prompt.record_id.partition('#')[0].rpartition('_')[2])
        needed, other = (FORECAST, MENU) if number % 2 else (MENU, FORECAST)
        description = next(tool.description for tool in prompt.tools.tools if tool.name == needed)
        wanted = str(prompt[1]['content']) if self._memorises else WORD
        if number % self._easy == 0 or wanted in description:
            return super().reply(prompt)
        if len(prompt) > 2:
            return Answer('I do not know.')
        return Answer('', calls=(make_call(other, json.dumps({}), 'c1'),))


class Rewriter(Logged):
    """Replies to a request for a description.

    Args:
        replies: What it replies in turn, the last for good; ``{old}`` is the old description, ``{requests}`` are the
            requests that it was shown, as JSON.
    """

    def __init__(self, path: str, log: str, replies: Sequence[str], **kwargs: Any) -> None:
        super().__init__(path, log, **kwargs)
        self._replies = list(replies)

    def reply(self, prompt: Conversation) -> Answer:
        """Answers one conversation."""
        text = self.note(prompt)
        found = re.search(r'Tool:\n.*?"description": "(.*?)", "parameters"', text)
        requests = json.dumps(' '.join(dict.fromkeys(re.findall(r'Request: (.*)', text))))[1:-1]
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return Answer(reply.replace('{old}', found[1] if found else '').replace('{requests}', requests))
