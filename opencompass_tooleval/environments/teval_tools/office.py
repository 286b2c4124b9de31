"""T-Eval's Email, PPT, ReserveMeeting and TimeTool."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opencompass_tooleval.environments.environment import FunctionAnswer
from opencompass_tooleval.environments.teval_tools.described import (
    MAX_THINGS,
    NO_SPACE,
    DescribedTool,
    answer_of,
    recorded_fields,
)
from opencompass_tooleval.environments.teval_tools.files import Disk

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


Span = tuple[int, int]
"""Minutes of the day: start (included) and end (excluded)."""

BOOKED: Mapping[int, tuple[Span, ...]] = {
    101: ((10 * 60, 12 * 60), (14 * 60, 16 * 60)),
    102: ((14 * 60, 16 * 60),),
    103: ((10 * 60, 12 * 60),),
}
"""Room -> times booked by others: the shortest times that agree with all of T-Eval's recorded responses."""

_NO_TIME = 'Time should be in xx:xx format.'


def _minutes(text: str) -> int | None:
    hours, colon, minutes = text.strip().partition(':')
    digits = hours.isascii() and hours.isdecimal() and minutes.isascii() and minutes.isdecimal()
    if not colon or not digits or len(hours) > 2 or len(minutes) != 2:
        return None
    return 60 * int(hours) + int(minutes) if int(hours) <= 24 and int(minutes) < 60 else None


def _span(arguments: Mapping[str, str]) -> Span | None:
    start, end = _minutes(arguments['start_time']), _minutes(arguments['end_time'])
    return None if start is None or end is None or start >= end else (start, end)


def _clock(minutes: int) -> str:
    return f'{minutes // 60:02}:{minutes % 60:02}'


class Meetings(DescribedTool):
    """The rooms of one task."""

    def __init__(self) -> None:
        times = ('start_time', 'end_time')
        super().__init__(
            'ReserveMeeting',
            {
                'get_room_status': (self._status, (), ()),
                'get_empty_room_with_time': (self._empty, times, ()),
                'reserve': (self._reserve, ('room_id', *times), ()),
            },
        )
        self._booked: dict[int, list[Span]] = {room: [*spans] for room, spans in BOOKED.items()}

    def _is_free(self, room: int, span: Span) -> bool:
        return all(end <= span[0] or span[1] <= start for start, end in self._booked[room])

    def _status(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        rooms = [
            {'room_id': room, 'booked': [f'{_clock(start)}-{_clock(end)}' for start, end in sorted(spans)]}
            for room, spans in self._booked.items()
        ]
        return answer_of(rooms=rooms)

    def _empty(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        span = _span(arguments)
        if span is None:
            return FunctionAnswer(_NO_TIME)
        return answer_of(rooms=[room for room in self._booked if self._is_free(room, span)])

    def _reserve(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        span, room = _span(arguments), arguments['room_id'].strip()
        if span is None:
            return FunctionAnswer(_NO_TIME)
        if room not in map(str, self._booked):
            return FunctionAnswer(room)  # the text of a KeyError, as recorded
        if not self._is_free(int(room), span):
            return answer_of(text='This room is not available in booked time.')
        if sum(map(len, self._booked.values())) >= MAX_THINGS:
            return FunctionAnswer(NO_SPACE)
        self._booked[int(room)].append(span)
        return answer_of(state='Book this room successfully.')


FORMAT = '%Y-%m-%d %H:%M'
START = datetime(2023, 10, 19, 14, 57)
"""A Thursday on which T-Eval's responses were recorded; tasks that recorded another time use that time."""

_DAYS = ('Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday')


class Clock(DescribedTool):
    """The time of one task."""

    def __init__(self) -> None:
        super().__init__('TimeTool', {'get_curr_time': (self._time, (), ()), 'get_weekday': (self._weekday, (), ())})
        self._now = START

    def _time(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        return answer_of(time=self._now.strftime(FORMAT))

    def _weekday(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        # Not strftime('%A'), which depends on the machine's locale.
        return answer_of(weekday=_DAYS[self._now.weekday()])

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Sets the recorded time."""
        try:
            self._now = datetime.strptime(str(recorded_fields(response).get('time'))[:20], FORMAT)
        except ValueError:
            return


class Slides(DescribedTool):
    """The presentation of one task.

    Args:
        disk: The disk of the task, for downloaded pictures and saved presentations.
    """

    def __init__(self, disk: Disk) -> None:
        page = ('title', 'bullet_items')
        super().__init__(
            'PPT',
            {
                'create_file': (self._create, ('theme', 'abs_location'), ()),
                'get_image': (self._image, ('keywords',), ()),
                'add_text_page': (self._page, page, ()),
                'add_text_image_page': (self._page, (*page, 'image'), ()),
                'save_file': (self._save, (), ()),
            },
        )
        self._disk = disk
        self._location: str | None = None
        self._pages = 0

    def _create(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        self._location, self._pages = arguments['abs_location'], 0
        return answer_of(status='created a ppt file.')

    def _image(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        name = hashlib.blake2b(arguments['keywords'].encode(), digest_size=6).hexdigest()
        path = f'outputs/{name}.jpg'
        if not self._disk.put(path):
            return FunctionAnswer(NO_SPACE)
        return FunctionAnswer(str({'picture_url': path}), is_guess=True)

    def _page(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        image = arguments.get('image')
        if self._location is None:
            return FunctionAnswer("'NoneType' object has no attribute 'slides'")
        if image is not None and not self._disk.has(image):
            return FunctionAnswer(f'[Errno 2] No such file or directory: {image!r}')
        if self._pages >= MAX_THINGS:
            return FunctionAnswer(NO_SPACE)
        self._pages += 1
        return answer_of(status='added page')

    def _save(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        if self._location is None:
            return FunctionAnswer("'NoneType' object has no attribute 'save'")
        if not self._disk.put(self._location, f'{self._pages} pages'):
            return FunctionAnswer(NO_SPACE)
        return answer_of(status=f'submitted. view ppt at {self._location}')

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Adds a downloaded picture."""
        path = recorded_fields(response).get('picture_url')
        if name == 'PPT.get_image' and isinstance(path, str):
            self._disk.put(path)
