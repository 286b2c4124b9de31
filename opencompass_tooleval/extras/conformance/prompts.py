"""Builds the messages of requests: the file's messages, with the register of a long request before the last message."""

from __future__ import annotations

from dataclasses import replace

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.extras.conformance.records import Record, Register

_DEPOTS = ('Amber', 'Basalt', 'Cobalt', 'Dolomite', 'Ebony', 'Flint', 'Granite', 'Hematite', 'Ivory', 'Jasper', 'Lapis')
_GOODS = (
    'barley',
    'bricks',
    'cable',
    'felt',
    'glass',
    'lime',
    'nails',
    'paper',
    'resin',
    'salt',
    'tiles',
    'wool',
    'zinc',
)


def build_messages(record: Record) -> tuple[Message, ...]:
    """Builds the messages of one request."""
    if record.register is None:
        return record.messages
    last = record.messages[-1]
    return (*record.messages[:-1], replace(last, content=f'{register_text(record.register)}\n\n{last.content}'))


def register_text(register: Register) -> str:
    """Builds a register: numbered lines about depots, one of which is requested.

    The other lines depend only on their numbers, so registers begin alike, like long prompts of one application.
    """
    lines = [_line(number) for number in range(1, register.lines)]
    lines.insert(register.at, register.line)
    return '\n'.join(f'{number:05}: {line}' for number, line in enumerate(lines, 1))


def _line(number: int) -> str:
    depot, goods = _DEPOTS[number % len(_DEPOTS)], _GOODS[number * 7 % len(_GOODS)]
    if number % 10 == 0:
        return f'Depot {depot} {number}: release code {goods[:3].upper()}-{1000 + 73 * number % 9000}.'
    return f'Depot {depot} {number}: received {3 + number * 37 % 400} units of {goods}, shelf {number * 11 % 97}.'
