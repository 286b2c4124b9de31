"""The words that made-up T-Eval records are made of, in English and Chinese.

Templates are filled by :meth:`str.format`: ``{thing}``, ``{place}``, ``{person}`` and ``{kind}`` come from the lists,
``{name}`` and ``{args}`` from the call at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

TOOLS = {
    'HarborDesk': ('find_free_berths', 'reserve_berth', 'list_arrivals', 'get_tide_table'),
    'OrchardBook': ('search_fruit_varieties', 'get_variety_details', 'list_graft_partners'),
    'LibraryShelf': ('search_catalogue', 'get_catalogue_entry_information', 'reserve_volume', 'list_due_dates'),
    'KilnPlanner': ('find_firing_slot', 'reserve_firing_slot_with_time', 'get_glaze_recipe'),
    'TramLine': ('get_departures', 'plan_step_free_route', 'get_distance', 'search_stops_nearby'),
    'SeedVault': ('search_seed_lots', 'get_seed_lot_details', 'get_germination_report'),
    'ChoirNotes': ('search_scores', 'get_score_information', 'get_citation_of_score', 'get_composer_id'),
    'BakeryLog': ('list_loaves', 'order_loaf', 'get_oven_status'),
    'SkyWatch': ('get_weather_this_day', 'forecast_weather', 'list_meteor_showers'),
    'LetterBox': ('send', 'show', 'search_letters'),
    'PosterMaker': ('create_poster', 'add_text_panel', 'add_picture_panel', 'save_poster'),
    'ClockTower': ('get_current_time', 'get_weekday'),
    'ParkRanger': ('search_trails', 'get_trail_details', 'get_trail_reviews', 'check_hut_availability'),
    'CoinRoom': ('get_daily_rate', 'aggregate_rates_with_time'),
    'NotePad': ('write_note', 'read_note'),
}
"""Tools and their APIs: 48 names (the real plans use 50), none of which is part of another."""


@dataclass(frozen=True)
class Language:
    """Words and sentences of one language.

    Attributes:
        things, places, people, kinds: What values, queries and thoughts are about.
        parameters: Name and type -> description of a parameter.
        docs: Descriptions of APIs.
        wishes: Sentences of a query, one per step.
        thoughts: Why a call is next.
        outcomes: Letter -> responses of a tool that end like this.
        verdicts: Why a response was judged so.
        filler: Sentences for long values and responses.
        system: Heads of the prompts: what the APIs are, and what each subset asks for.
        space: What stands between two sentences.
    """

    things: tuple[str, ...]
    places: tuple[str, ...]
    people: tuple[str, ...]
    kinds: tuple[str, ...]
    parameters: dict[tuple[str, str], str]
    docs: tuple[str, ...]
    wishes: tuple[str, ...]
    thoughts: tuple[str, ...]
    outcomes: dict[str, tuple[str, ...]]
    verdicts: tuple[str, ...]
    filler: tuple[str, ...]
    system: dict[str, str]
    space: str


ENGLISH = Language(
    things=(
        'old harbour maps',
        'plum preserves',
        'slate roofing',
        'choral music',
        'salt glazes',
        'winter barley',
        'canal locks',
        'rye sourdough',
        'moss gardens',
        'tram timetables',
        'beekeeping',
        'paper marbling',
        'tidal mills',
        'alpine huts',
        'letterpress type',
        'walnut grafting',
        'meteor showers',
        'coin hoards',
        'hand bells',
        'willow weaving',
    ),
    places=(
        'Norrvik',
        'Port Ellery',
        'Castel Brun',
        'Lindholm',
        'San Marelo',
        'Greywater',
        'Ostrava Mill',
        'Tarn Valley',
        'Kestrel Bay',
        'Upper Hollen',
        'the north quay',
        'the old depot',
        'the botanical garden',
        'the town archive',
    ),
    people=(
        'Ines Halloway',
        'Tomas Breck',
        'Marit Solberg',
        'Anton Vell',
        'Judith Arkwright',
        'Rafael Quist',
        'Noor Castellan',
        'Piet Osterveld',
        'Hanne Wexford',
        'Luca Tamburin',
        'Greta Morrow',
        'Samir Lindqvist',
    ),
    kinds=('recent', 'well-preserved', 'affordable', 'unusual', 'reliable', 'step-free', 'local', 'large', 'early'),
    parameters={
        ('query', 'STRING'): 'The words to search for.',
        ('place', 'STRING'): 'Name of the place.',
        ('item_id', 'NUMBER'): 'Id of the item, as a search returned it.',
        ('date', 'STRING'): 'The day, as YYYY-MM-DD.',
        ('recipient', 'STRING'): 'Who gets it, by name.',
        ('limit', 'NUMBER'): 'How many results to return at most; 3 unless given.',
        ('detailed', 'BOOL'): 'Whether every field is returned.',
        ('rate', 'FLOAT'): 'Share of the price to pay in advance.',
        ('text', 'STRING'): 'The text to write down, word for word.',
    },
    docs=(
        'This function retrieves the details of an item given its id.',
        'Searches the register and returns what fits the words best.',
        'Reserves the item for one day, and says under which number.',
        'Lists everything that is open on a day, the nearest first.',
    ),
    wishes=(
        'I need to find {kind} {thing} in {place} and compare no more than three of them.',
        'Could you look up what {person} wrote about {thing}, and note it down for me?',
        'Moreover, I would like to know whether {place} is open in the coming week.',
        'Please send a short message about {thing} to {person}, and name {place} in it.',
        'Also tell me how far {place} is, and which way avoids stairs.',
        'Lastly, save what you found on {thing} under a {kind} title.',
    ),
    thoughts=(
        'The user asks about {kind} {thing} in {place}, so the next step is to call {name}.',
        'To learn more on {thing} for {person}, I should use {name} with {args}.',
        'The last response names {place}; now {name} can tell what is {kind} there.',
        'Before I write to {person}, I have to know about {thing}, which {name} returns.',
        '{person} wants {kind} results, and only {name} covers {place}. I will pass it {args}.',
        'Now that {thing} are settled, {name} is needed to finish what concerns {place}.',
    ),
    outcomes={
        'A': ('Found {kind} {thing} in {place}, reported by {person}.',),
        'B': ('The connection to the register of {place} timed out after 5 seconds.',),
        'C': ('The argument for {thing} is missing or has the wrong type.',),
        'D': ('Here is a list of hotels; {thing} are not mentioned anywhere.',),
        'E': ('',),
    },
    verdicts=(
        'The goal was to find {kind} {thing}, and the response says what there is in {place}.',
        'The response mentions {person}, which shows how the tool understood the request about {thing}.',
        'Nothing in the arguments contradicts this, so the outcome follows from the response alone.',
        'Had the tool failed in {place}, the response would have said so in other words.',
    ),
    filler=(
        'The {kind} {thing} of {place} were first described by {person}.',
        'Visitors who come to {place} for {thing} should plan for half a day.',
        '{person} keeps a record of {thing}, updated every month.',
        'Prices vary, but {kind} offers near {place} are listed first.',
    ),
    system={
        'apis': 'You have access to the following APIs, one per line:\n',
        'plan_json': '\nPlan which APIs to call for what the user asks. Answer with one JSON list of steps, each with '
        '"id", "name" and "args"; args is a dictionary with made-up but plausible values. Write nothing around it.',
        'plan_str': '\nPlan which APIs to call for what the user asks. Write one step per line and name one API in it.',
        'reason': '\nWe work on a task step by step. Say what the next step should be and why, in a sentence or two.',
        'retrieve': '\nWe work on a task step by step. Name the API to call next, and nothing else.',
        'understand': '\nWe work on a task step by step. Write the arguments of the next call as a dictionary.',
        'call': '\nWe work on a task step by step. Answer with one JSON object with the keys "thought", "name" and '
        '"args" for the next call. Write nothing around it.',
        'instruct': '\nWrite the call that the user describes in exactly this format, with nothing around it:\n',
        'instruct_user': 'Call {name} with the parameters as follows:\n',
        'review': 'A tool was called to reach a goal. You see the goal, the name of the tool, its arguments and its '
        'response. Decide which of these five outcomes it is:\n'
        'A: Success, the response is what the goal asked for.\n'
        'B: Internal error, the tool or its connection broke down.\n'
        'C: Input error, the wrong tool was called or its arguments are wrong or incomplete.\n'
        'D: Irrelevant response, the tool answered something else than was asked.\n'
        'E: Unable to accomplish, the tool says that it cannot be done, or its response is empty.\n'
        'Answer with one letter, in this form:\nAnswer: letter\nTake names, ids and dates as correct.',
    },
    space=' ',
)

CHINESE = Language(
    things=(
        '老港口地图',
        '李子果酱',
        '石板屋顶',
        '合唱音乐',
        '盐釉陶器',
        '冬大麦',
        '运河船闸',
        '黑麦面包',
        '苔藓庭园',
        '电车时刻表',
        '养蜂技术',
        '水拓纸艺',
        '潮汐磨坊',
        '高山小屋',
        '活字印刷',
        '核桃嫁接',
        '流星雨',
        '古钱窖藏',
    ),
    places=('松湾镇', '白石港', '林河谷', '云岭村', '青瓦巷', '北码头', '旧车站', '植物园', '城档案馆', '雁尾滩'),
    people=('何若溪', '方远山', '苏明烛', '陆采薇', '顾长汀', '叶怀舟'),
    kinds=('最新的', '保存完好的', '实惠的', '少见的', '可靠的', '无障碍的', '本地的', '大型的'),
    parameters={
        ('query', 'STRING'): '要搜索的词语。',
        ('place', 'STRING'): '地点名称。',
        ('item_id', 'NUMBER'): '条目编号，由搜索返回。',
        ('date', 'STRING'): '日期，格式为 YYYY-MM-DD。',
        ('recipient', 'STRING'): '收件人姓名。',
        ('limit', 'NUMBER'): '最多返回多少条结果，默认三条。',
        ('detailed', 'BOOL'): '是否返回全部字段。',
        ('rate', 'FLOAT'): '预付款占总价的比例。',
        ('text', 'STRING'): '要逐字写下的内容。',
    },
    docs=(
        '根据编号查询一个条目的详细信息。',
        '在登记册中搜索，返回最符合词语的条目。',
        '预订一天，并返回预订号码。',
        '列出当天开放的全部地点，由近到远。',
    ),
    wishes=(
        '我想在{place}找一些{kind}{thing}，最多比较三种。',
        '请查一查{person}关于{thing}写过什么，并替我记下来。',
        '另外，我想知道{place}下周是否开放。',
        '请给{person}发一封关于{thing}的短信，并提到{place}。',
        '还请告诉我{place}有多远，哪条路不用爬楼梯。',
        '最后，把你找到的{thing}资料保存为{kind}标题。',
    ),
    thoughts=(
        '用户想了解{place}{kind}{thing}，所以下一步应该调用{name}。',
        '为了替{person}查清{thing}，我应当使用{name}，参数是{args}。',
        '上一次的结果提到了{place}，现在{name}可以说明那里有什么{kind}东西。',
        '在写信给{person}之前，我需要知道{thing}的情况，{name}会返回它。',
        '{person}想要{kind}结果，只有{name}覆盖{place}，我会传入{args}。',
        '{thing}已经查清，接下来需要{name}来完成与{place}有关的事。',
    ),
    outcomes={
        'A': ('在{place}找到了{kind}{thing}，由{person}提供。',),
        'B': ('连接{place}的登记册超时，五秒内没有响应。',),
        'C': ('关于{thing}的参数缺失或类型错误。',),
        'D': ('这里是一份旅馆名单，没有提到{thing}。',),
        'E': ('',),
    },
    verdicts=(
        '目标是找到{kind}{thing}，而响应说明了{place}有什么。',
        '响应提到了{person}，可见工具是如何理解关于{thing}的请求的。',
        '参数与此并不矛盾，因此结果只取决于响应本身。',
        '如果工具在{place}出了故障，响应会换一种说法。',
    ),
    filler=(
        '{place}的{kind}{thing}最早由{person}记录。',
        '为了{thing}来到{place}的游客应当安排半天时间。',
        '{person}每个月更新一次{thing}的记录。',
        '价格不一，但{place}附近{kind}选择排在前面。',
    ),
    system={
        'apis': '你可以使用下列 API，每行一个：\n',
        'plan_json': '\n请规划应当调用哪些 API。用一个 JSON 列表回答，每一步包含 "id"、"name" 和 "args"；'
        'args 是一个字典，其中的值可以合理设想。不要写其他内容。',
        'plan_str': '\n请规划应当调用哪些 API。每行写一步，并写出一个 API 的名称。',
        'reason': '\n我们逐步完成一项任务。请用一两句话说明下一步应当做什么以及为什么。',
        'retrieve': '\n我们逐步完成一项任务。请只写出下一步要调用的 API 的名称。',
        'understand': '\n我们逐步完成一项任务。请以字典形式写出下一次调用的参数。',
        'call': '\n我们逐步完成一项任务。请用一个 JSON 对象回答下一次调用，键为 "thought"、"name" 和 "args"。'
        '不要写其他内容。',
        'instruct': '\n请严格按照下面的格式写出用户描述的调用，不要写其他内容：\n',
        'instruct_user': '请调用 {name}，参数如下：\n',
        'review': '为了达到一个目标而调用了一个工具。你会看到目标、工具名称、参数和响应。请判断属于下列哪种结果：\n'
        'A：成功，响应正是目标所要求的。\nB：内部错误，工具或其连接出了故障。\n'
        'C：输入错误，调用了错误的工具，或参数有误、不完整。\nD：响应不相关，工具回答了别的内容。\n'
        'E：无法完成，工具表示做不到，或响应为空。\n'
        '请用一个字母回答，格式为：\nAnswer: 字母\n名称、编号和日期一律视为正确。',
    },
    space='',
)

LANGUAGES = {'EN': ENGLISH, 'ZH': CHINESE}
