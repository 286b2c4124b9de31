"""Email: sends mail and shows an inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.environments.functions import FunctionAnswer
from opencompass_tooleval.environments.teval_tools.described import MAX_THINGS, NO_SPACE, DescribedTool, answer_of

INBOX: tuple[Mapping[str, Any], ...] = (
    {
        'sender': 'Conference Office <office@example.org>',
        'title': 'Your registration',
        'body': 'Thank you for your registration. The programme follows next week.',
        'time': '2023-10-18 09:12',
        'is_read': True,
    },
    {
        'sender': 'Anna Weber <anna.weber@example.com>',
        'title': 'Meeting on Friday',
        'body': 'Could we meet on Friday at 15:00 to go through the draft?',
        'time': '2023-10-19 08:40',
        'is_read': False,
    },
)
"""The inbox if none is recorded; written for this package."""


class Email(DescribedTool):
    """The mail of one task.

    Attributes:
        sent: Sent mail, in order. Attachments are not checked.
    """

    def __init__(self) -> None:
        super().__init__(
            'Email',
            {
                'send': (self._send, ('address', 'title'), ('body', 'attachment')),
                # T-Eval's gold calls leave out only_unread, although its description requires it.
                'show': (self._show, (), ('only_unread',)),
            },
        )
        self.sent: list[Mapping[str, str]] = []

    def _send(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        if not arguments['title'].strip():
            return FunctionAnswer('The title of an email must not be NULL.', is_wrong_call=True)
        if len(self.sent) >= MAX_THINGS:
            return FunctionAnswer(NO_SPACE)
        self.sent.append(arguments)
        return answer_of(state='Send mail successfully.')

    def _show(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        only_unread = arguments.get('only_unread', '').casefold() in ('true', '1', 'yes')
        emails = [dict(email) for email in INBOX if not (only_unread and email['is_read'])]
        return FunctionAnswer(str({'emails': emails}), is_guess=True)
