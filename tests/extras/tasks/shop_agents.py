"""A model that carries out the tasks of the shop."""

from __future__ import annotations

from typing import Any

PLANS: dict[str, list[tuple[str, dict[str, str]]]] = {
    'Order 42': [
        ('change', {'sql': "UPDATE orders SET status='returned' WHERE item='desk'"}),
        ('find', {'sql': "SELECT count(*) FROM orders WHERE status='returned'"}),
    ],
    'Ms. Lind': [('change', {'sql': "INSERT INTO orders(customer, item, price) VALUES (8, 'lamp', 20.5)"})],
    'Write down': [('add_note', {'text': 'fair at 4:00'})],
    'Cancel': [],
}


def answer_of(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any] | str:
    """Makes the next call of a plan, and answers at its end."""
    if not request.get('tools'):
        return 'Yes.'  # the first question of tooleval run
    query = next(message['content'] for message in messages if message['role'] == 'user')
    made = sum(message['role'] == 'tool' for message in messages)
    calls = next(plan for words, plan in PLANS.items() if query.startswith(words))
    if made < len(calls):
        name, arguments = calls[made]
        return {'content': '', 'calls': [{'name': name, 'arguments': arguments}]}
    if 'Result' in query:
        return 'She has 3 now.\nResult: $3$'
    return 'Which order?' if query.startswith('Cancel') else 'Done.'
