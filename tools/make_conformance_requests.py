"""Writes the requests of the benchmark conformance: opencompass_tooleval/extras/conformance/{requests,tools}.json.

Usage: python tools/make_conformance_requests.py [FOLDER]

There are 25 requests of each of 12 kinds. Nothing is random, and a test compares the files with what this writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / 'opencompass_tooleval' / 'benchmarks' / 'conformance'
EACH = 25

Row = dict[str, Any]


# --- tools ------------------------------------------------------------------------------------------------------------


def tool(tool_name: str, description: str, **parameters: Any) -> Row:
    """A tool all of whose parameters are required."""
    schema = {
        'type': 'object', 'properties': parameters, 'required': list(parameters), 'additionalProperties': False,
    }  # fmt: skip
    return {'name': tool_name, 'description': description, 'parameters': schema}


def text(description: str, **more: Any) -> Row:
    """A parameter that is a text."""
    return {'type': 'string', 'description': description, **more}


def of(kind: str, description: str, **more: Any) -> Row:
    """A parameter of another type."""
    return {'type': kind, 'description': description, **more}


def fields(**parameters: Any) -> Row:
    """An object all of whose members are required."""
    return {
        'type': 'object', 'properties': parameters, 'required': list(parameters), 'additionalProperties': False,
    }  # fmt: skip


DAY = 'Date as YYYY-MM-DD.'
TOOLS = [
    tool('get_weather', 'Returns the weather of a city on a day.', city=text('Name of the city.'), date=text(DAY)),
    tool('convert_currency', 'Converts an amount of money.', amount=of('number', 'The amount.'),
         source=text('Currency of the amount, three letters.'), target=text('The other currency, three letters.')),
    tool('set_alarm', 'Sets an alarm.', time=text('Time as HH:MM, 24 hours.'), label=text('Text of the alarm.')),
    tool('send_message', 'Sends a text message.', recipient=text('Name of the recipient.'), text=text('The text.')),
    tool('find_trains', 'Finds trains.', origin=text('City of departure.'), destination=text('City of arrival.'),
         date=text(DAY)),
    tool('get_stock', 'Returns how many pieces of an article are in stock.', article=text('Number of the article.')),
    tool('set_temperature', 'Sets the temperature of a room.', room=text('Name of the room.'),
         degrees=of('number', 'Degrees Celsius.')),
    tool('get_account', 'Returns the account of a customer.', customer=text('Number of the customer.')),
    tool('record_person', 'Records facts about a person.', name=text('Full name.'), age=of('integer', 'Age in years.'),
         city=text('City of residence.')),
    tool('store_settings', 'Stores the settings of a job.', name=text('Name of the job.'),
         retries=of('integer', 'Number of retries.'), ratio=of('number', 'Sampling ratio.'),
         enabled=of('boolean', 'True to run it.'), version=text('Version, as text.'),
         level=text('Level of the log.', enum=['debug', 'info', 'warning', 'error']),
         parent={'type': ['string', 'null'], 'description': 'Name of the job before it; null for none.'},
         tags=of('array', 'Tags, in order.', items={'type': 'string'})),
    tool('write_file', 'Writes a text file.', path=text('Path of the file.'), content=text('The whole content.'),
         append=of('boolean', 'True to append, false to replace.')),
    tool('create_order', 'Creates an order.',
         customer=of('object', 'The customer.', **fields(
             number=text('Number of the customer.'),
             address=fields(street=text('Street and number.'), city=text('City.'), zip=text('Postal code.')))),
         items=of('array', 'Articles in the order in which they are named.', items=fields(
             article=text('Number of the article.'), quantity=of('integer', 'Pieces.'))),
         express=of('boolean', 'True for express delivery.')),
    tool('schedule_meeting', 'Schedules a meeting.', title=text('Title.'),
         start=of('object', 'Begin.', **fields(date=text(DAY), time=text('Time as HH:MM, 24 hours.'))),
         attendees=of('array', 'Attendees in the order in which they are named.', items=fields(
             name=text('Name.'), optional=of('boolean', 'True if the meeting takes place without them.'))),
         reminders=of('array', 'Minutes before the begin.', items={'type': 'integer'})),
    tool('query_weather_cn', '查询某个城市某一天的天气。', city=text('城市名称，用中文。'),
         date=text('日期，格式为 YYYY-MM-DD。')),
    tool('send_message_cn', '发送一条短信。', recipient=text('收件人姓名。'), text=text('短信内容。')),
    tool('create_reminder_cn', '创建一条提醒。', title=text('提醒内容。'), time=text('时间，格式为 HH:MM，24 小时制。'),
         repeat=of('boolean', '是否每天重复。')),
]  # fmt: skip


# --- requests ---------------------------------------------------------------------------------------------------------

NUMBER_LINE = 'End your answer with a line "Result: " and the number alone.'
WORD_LINE = 'End your answer with a line "Result: " and the word alone.'
CODE_LINE = 'End your answer with a line "Result: " and the code alone.'
LINE_CN = '回答的最后一行写“结果：”，后面只写答案。'

CITIES = [
    'Paris', 'Berlin', 'Madrid', 'Rome', 'Vienna', 'Lisbon', 'Oslo', 'Dublin', 'Prague', 'Athens', 'Warsaw',
    'Helsinki', 'Budapest', 'Zagreb', 'Brussels', 'Stockholm', 'Copenhagen', 'Amsterdam', 'Bern', 'Riga',
    'Tallinn', 'Vilnius', 'Sofia', 'Bucharest', 'Belgrade',
]  # fmt: skip
COUNTRIES = [
    'France', 'Germany', 'Spain', 'Italy', 'Austria', 'Portugal', 'Norway', 'Ireland', 'the Czech Republic',
    'Greece', 'Poland', 'Finland', 'Hungary', 'Croatia', 'Belgium', 'Sweden', 'Denmark', 'the Netherlands',
    'Switzerland', 'Latvia', 'Estonia', 'Lithuania', 'Bulgaria', 'Romania', 'Serbia',
]  # fmt: skip
NAMES = [
    'Maria', 'Jonas', 'Elena', 'Peter', 'Sofia', 'Anton', 'Clara', 'David', 'Ingrid', 'Marco', 'Nadia', 'Oscar',
    'Paula', 'Robert', 'Sarah', 'Thomas', 'Ursula', 'Victor', 'Wanda', 'Xavier', 'Yara', 'Zoe', 'Bruno', 'Greta',
    'Hugo',
]  # fmt: skip
WORDS = [
    'ALBATROSS', 'BITTERN', 'CURLEW', 'DUNLIN', 'EGRET', 'FULMAR', 'GANNET', 'HERON', 'IBIS', 'JACANA', 'KESTREL',
    'LAPWING', 'MALLARD', 'NIGHTJAR', 'OSPREY', 'PETREL', 'QUAIL', 'RAVEN', 'SKUA', 'TERN', 'URIAL', 'VIREO',
    'WRYNECK', 'YELLOWHAMMER', 'ZEBRA',
]  # fmt: skip
PLACES = [
    'Linden', 'Maple', 'Cedar', 'Willow', 'Aspen', 'Birch', 'Rowan', 'Hazel', 'Alder', 'Juniper', 'Laurel',
    'Poplar', 'Spruce', 'Walnut', 'Elm', 'Oak', 'Beech', 'Larch', 'Myrtle', 'Acacia', 'Olive', 'Cypress',
    'Chestnut', 'Hawthorn', 'Magnolia',
]  # fmt: skip
CITIES_CN = [
    '北京', '上海', '广州', '深圳', '杭州', '成都', '武汉', '西安',
    '南京', '重庆', '天津', '苏州', '长沙', '青岛', '厦门', '昆明',
    '大连', '沈阳', '哈尔滨', '济南', '郑州', '合肥', '福州', '南昌',
    '贵阳',
]  # fmt: skip
PEOPLE_CN = [
    '王芳', '李伟', '张敏', '刘洋', '陈静', '杨磊', '赵丽', '黄强',
    '周杰', '吴霞', '徐明', '孙悦', '马超',
]  # fmt: skip
TEXTS = [
    'I will be ten minutes late.', 'The parcel has arrived.', 'See you at the station.', 'Please call me back.',
    'The meeting is cancelled.',
]  # fmt: skip


def user(content: str) -> Row:
    """A message of the user."""
    return {'role': 'user', 'content': content}


def call(name: str, /, **arguments: Any) -> Row:
    """A call."""
    return {'name': name, 'arguments': arguments}


def result(form: str, value: object) -> Row:
    """A result in the last line."""
    return {'form': form, 'result': str(value)}


def day(i: int) -> str:
    """A date."""
    return f'2026-{1 + i % 12:02}-{1 + (7 * i) % 28:02}'


def clock(i: int) -> str:
    """A time of day."""
    return f'{(5 + 3 * i) % 24:02}:{(15 * i) % 60:02}'


def article(i: int) -> str:
    """A number of an article, with zeros before it."""
    return f'{(137 * i + 42) % 10_000:06}'


def others(*names: str, i: int = 0) -> list[str]:
    """Tools to offer: the needed ones, among two others."""
    simple = [row['name'] for row in TOOLS[:8] if row['name'] not in names]
    chosen = [simple[i % len(simple)], *names, simple[(i + 3) % len(simple)]]
    return chosen[i % 2 :] + chosen[: i % 2]


def plain(i: int) -> Row:
    """No tools, a short answer."""
    if i % 3 == 0:
        return {
            'messages': [user(f'What is the capital of {COUNTRIES[i]}? {WORD_LINE}')],
            'gold': result('text', CITIES[i]),
        }
    if i % 3 == 1:
        a, b = 17 + 9 * i, 26 + 4 * i
        return {'messages': [user(f'What is {a} + {b}? {NUMBER_LINE}')], 'gold': result('number', a + b)}
    word = WORDS[i].lower()
    question = f'Which is the {["first", "last"][i % 2]} letter of the word "{word}"? '
    line = 'End your answer with a line "Result: " and the letter alone.'
    return {'messages': [user(question + line)], 'gold': result('text', word[-(i % 2)])}


def thoughts(i: int) -> Row:
    """No tools, several steps of arithmetic."""
    boxes, each, sold, price = 4 + i, 6 + i % 7, 5 + 2 * i, 3 + i % 5
    left = boxes * each - sold
    question = (
        f'A shop gets {boxes} boxes with {each} lamps each. It sells {sold} of the lamps for {price} euros apiece. '
        f'It packs the rest into bags of 4, as many full bags as there are lamps for. How many euros did it take in '
        f'plus how many lamps are in no bag? Think step by step. {NUMBER_LINE}'
    )
    return {'messages': [user(question)], 'gold': result('number', sold * price + left % 4)}


def simple_call(i: int, variant: int) -> tuple[str, Row]:
    """What is asked, and its call."""
    city = CITIES[i]
    cases = [
        (f'what the weather is in {city} on {day(i)}', call('get_weather', city=city, date=day(i))),
        (f'how much {120 + 35 * i} US dollars (USD) are in euros (EUR)',
         call('convert_currency', amount=120 + 35 * i, source='USD', target='EUR')),
        (f'which trains go from {city} to {CITIES[(i + 4) % EACH]} on {day(i)}',
         call('find_trains', origin=city, destination=CITIES[(i + 4) % EACH], date=day(i))),
        (f'how many pieces of article {article(i)} are in stock', call('get_stock', article=article(i))),
        (f'what is in the account of customer C-{4000 + 13 * i}', call('get_account', customer=f'C-{4000 + 13 * i}')),
    ]  # fmt: skip
    return cases[variant % len(cases)]


def one_call(i: int) -> Row:
    """One call, among three offered tools."""
    if i % 5 == 4:
        text = TEXTS[i // 5]
        question = f'Send {NAMES[i]} a message with exactly this text: {text}'
        gold = call('send_message', recipient=NAMES[i], text=text)
    else:
        asked, gold = simple_call(i, i)
        question = f'Find out {asked}.'
    return {'messages': [user(question)], 'tools': others(gold['name'], i=i), 'gold': {'calls': [gold]}}


def several_calls(i: int) -> Row:
    """Two to four calls that do not depend on each other."""
    number = 2 + i % 3
    if i % 2:
        asked = [simple_call((i + 5 * j) % EACH, i) for j in range(number)]
    else:
        asked = [simple_call((i + 5 * j) % EACH, i + j) for j in range(number)]
    listed = '; '.join(words for words, _ in asked)
    question = f'Find out all of this, with all calls at once in one answer: {listed}.'
    calls = [gold for _, gold in asked]
    names = list(dict.fromkeys(gold['name'] for gold in calls))
    return {'messages': [user(question)], 'tools': others(*names, i=i), 'gold': {'calls': calls}}


def required_call(i: int) -> Row:
    """A text of which facts are to be extracted: a call although nobody asks for one."""
    name, age, city = f'{NAMES[i]} {PLACES[i]}', 21 + 2 * i, CITIES[(3 * i) % EACH]
    question = f'{name} turned {age} last week. After years abroad, {NAMES[i]} lives in {city} again.'
    return {
        'messages': [user(question)], 'tools': ['record_person'], 'choice': 'required',
        'gold': {'calls': [call('record_person', name=name, age=age, city=city)]},
    }  # fmt: skip


def long_context(i: int) -> Row:
    """A code in one line of a long register."""
    lines, place = [100, 200, 400, 800, 1200][i % 5], PLACES[i]
    code = f'{WORDS[i][:3]}-{1000 + 317 * i % 9000}'
    question = f'What is the release code of depot {place} in the register above? {CODE_LINE}'
    register = {'lines': lines, 'at': (1 + 2 * (i // 5)) * lines // 10, 'line': f'Depot {place}: release code {code}.'}
    return {'messages': [user(question)], 'register': register, 'gold': result('text', code)}


def chinese(i: int) -> Row:
    """Calls and answers in Chinese."""
    city, tools = CITIES_CN[i], ['query_weather_cn', 'send_message_cn', 'create_reminder_cn']
    person = PEOPLE_CN[i // 2]
    if i % 4 == 0:
        question, gold = f'请查询{city}在{day(i)}的天气。', call('query_weather_cn', city=city, date=day(i))
    elif i % 4 == 1:
        text = f'明天{6 + i % 5}点在{city}火车站见。'
        question, gold = f'给{person}发短信，内容一字不差：{text}', call('send_message_cn', recipient=person, text=text)
    elif i % 4 == 2:
        text = f'给{person}打电话'
        question = f'请创建提醒：“{text}”，时间是 {clock(i)}，{"每天重复" if i % 8 == 2 else "不重复"}。'
        gold = call('create_reminder_cn', title=text, time=clock(i), repeat=i % 8 == 2)
    else:
        a, b = 12 + 5 * i, 8 + 3 * i
        question = f'小明有{a}个苹果，又买了{b}个，一共有多少个苹果？{LINE_CN}'
        return {'messages': [user(question)], 'tools': tools if i % 8 == 3 else [], 'gold': result('number', a + b)}
    return {'messages': [user(question)], 'tools': tools, 'gold': {'calls': [gold]}}


def nested_arguments(i: int) -> Row:
    """Objects in objects, and lists of objects."""
    if i % 2:
        people = [(NAMES[(i + j) % EACH], bool(j % 2)) for j in range(1 + i % 4)]
        listed = ', '.join(f'{name} ({"optional" if optional else "not optional"})' for name, optional in people)
        minutes = [10, 30, 60][: 1 + i % 3]
        question = (
            f'Schedule a meeting with the title "{PLACES[i]} review" on {day(i)} at {clock(i)}. Attendees: {listed}. '
            f'Reminders before the begin, in this order: {", ".join(f"{minute} minutes" for minute in minutes)}.'
        )
        gold = call(
            'schedule_meeting', title=f'{PLACES[i]} review', start={'date': day(i), 'time': clock(i)},
            attendees=[{'name': name, 'optional': optional} for name, optional in people], reminders=minutes,
        )  # fmt: skip
    else:
        items = [{'article': article(i + j), 'quantity': 1 + (i + 3 * j) % 9} for j in range(1 + i % 5)]
        listed = ', '.join(f'{item["quantity"]} of article {item["article"]}' for item in items)
        street, code = f'{PLACES[i]} Street {3 + i}', f'0{4100 + 7 * i}'
        question = (
            f'Create an order for customer C-{500 + i}, {street}, {code} {CITIES[i]}: {listed}. '
            f'{"Express delivery, please." if i % 4 else "No express delivery."}'
        )
        address = {'street': street, 'city': CITIES[i], 'zip': code}
        customer = {'number': f'C-{500 + i}', 'address': address}
        gold = call('create_order', customer=customer, items=items, express=bool(i % 4))
    return {'messages': [user(question)], 'tools': ['create_order', 'schedule_meeting'], 'gold': {'calls': [gold]}}


CONTENTS = [
    'a = "1"\nb = \'2\'\n', '{"name": "Zoë", "size": 3}', 'C:\\temp\\new\\draft.txt',
    '<tool_call>{"name": "x"}</tool_call>', 'first\n\nthird line', '100% of "them" & <others>',
    '\tindented\n\t\ttwice', 'naïve café – 5 €', '```json\n[1, 2]\n```', 'null', '[]', 'true', '007',
]  # fmt: skip


def typed_arguments(i: int) -> Row:
    """Numbers, booleans, null, lists, and texts that look like them or hold marks of formats."""
    if i % 2 == 0:
        content, path = CONTENTS[i // 2], f'/data/{PLACES[i].lower()}/{i:03}.txt'
        question = (
            f'Write a file at {path}, {"appending to it" if i % 4 else "replacing what is there"}. '
            f'Its whole content is this JSON string, decoded: {json.dumps(content, ensure_ascii=False)}'
        )
        gold = call('write_file', path=path, content=content, append=bool(i % 4))
        return {'messages': [user(question)], 'tools': ['write_file', 'store_settings'], 'gold': {'calls': [gold]}}
    settings: Row = {
        'name': f'{PLACES[i].lower()}-{i}',
        'retries': [0, 3, -1, 1234567890123][i // 2 % 4],
        'ratio': [0.1, 1.0, 0.025, 2.5, -0.5][i // 2 % 5],
        'enabled': i % 4 == 1,
        'version': ['1.10', '2', '0.0', '3e5', '1.0.0'][i // 2 % 5],
        'level': ['debug', 'info', 'warning', 'error'][i // 2 % 4],
        'parent': None if i % 3 else f'{PLACES[i - 1].lower()}-{i - 1}',
        'tags': [[], ['a'], ['1', '2'], ['true', 'null'], ['x y', 'z,w']][i // 2 % 5],
    }
    listed = ', '.join(f'{name} {json.dumps(value)}' for name, value in settings.items())
    question = f'Store these settings, given as JSON values: {listed}.'
    tools = ['store_settings', 'write_file']
    return {'messages': [user(question)], 'tools': tools, 'gold': {'calls': [call('store_settings', **settings)]}}


def tool_results(i: int) -> Row:
    """A second round: the answer, or the next call, needs what a tool returned."""
    customer, code, pieces = f'C-{700 + 11 * i}', article(3 * i), 14 + 17 * i
    if i % 2:
        question = f'How many pieces of article {code} are in stock? {NUMBER_LINE}'
        first, reply = call('get_stock', article=code), {'article': code, 'pieces': pieces}
        gold = result('number', pieces)
    else:
        question = (
            f'Look up the account of customer {customer}, then find out how many pieces of their last article are in '
            f'stock.'
        )
        first, reply = call('get_account', customer=customer), {'customer': customer, 'last_article': code}
        gold = {'calls': [call('get_stock', article=code)]}
    history = [
        user(question),
        {'role': 'assistant', 'content': '', 'calls': [{**first, 'id': f'call{i:05}'}]},
        {'role': 'tool', 'content': json.dumps(reply), 'call_id': f'call{i:05}'},
    ]
    return {'messages': history, 'tools': ['get_account', 'get_stock', 'get_weather'], 'gold': gold}


def system_text(i: int) -> Row:
    """What only the system text says; half of the requests offer tools beside it."""
    places = [PLACES[i], PLACES[(i + 7) % EACH]]
    words = [WORDS[i], WORDS[(i + 11) % EACH]]
    system = (
        f'You help the visitors of two museums. The word of the day of the {places[0]} Museum is {words[0]}, '
        f'that of the {places[1]} Museum is {words[1]}.'
    )
    question = f'What is the word of the day of the {places[i % 2]} Museum? {WORD_LINE}'
    messages = [{'role': 'system', 'content': system}, user(question)]
    tools = ['get_weather', 'set_alarm'] if i % 4 < 2 else []
    return {'messages': messages, 'tools': tools, 'gold': result('text', words[i % 2])}


def no_tool_needed(i: int) -> Row:
    """Tools are offered, and none of them helps."""
    a, b = 6 + i, 3 + i % 8
    question = f'What is {a} times {b}? {NUMBER_LINE}'
    gold = result('number', a * b)
    if i % 3 == 0:
        question, gold = f'Which country is {CITIES[i]} the capital of? {WORD_LINE}', result('text', COUNTRIES[i])
    return {'messages': [user(question)], 'tools': ['set_alarm', 'get_stock', 'send_message'], 'gold': gold}


KINDS = (
    plain, thoughts, one_call, several_calls, required_call, long_context, chinese, nested_arguments, typed_arguments,
    tool_results, system_text, no_tool_needed,
)  # fmt: skip


def requests() -> Iterator[Row]:
    """All requests, kind after kind."""
    for kind in KINDS:
        for i in range(EACH):
            yield {'id': f'{kind.__name__}-{i + 1:02}', 'kind': kind.__name__, **kind(i)}


def as_json(rows: Sequence[Row]) -> str:
    """A JSON list with a row on each line."""
    return '[\n' + ',\n'.join(json.dumps(row, ensure_ascii=False) for row in rows) + '\n]\n'


def main(folder: Path = FOLDER) -> None:
    """Writes the files."""
    (folder / 'requests.json').write_text(as_json(list(requests())), encoding='utf-8')
    (folder / 'tools.json').write_text(as_json(TOOLS), encoding='utf-8')


if __name__ == '__main__':
    main(*map(Path, sys.argv[1:2]))
