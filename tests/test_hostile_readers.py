"""Every reader of outside text needs time in proportion to the text, whatever kind of text it is.

Outside text is what a model, a judge, a log, a data file or a person's own file says. A module that matches patterns
has its readers in :data:`READERS`, or stands in :data:`WITHOUT_OUTSIDE_TEXT` with the reason.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.funcqa import FuncQADialogues
from opencompass_tooleval.agents.toolbench import judge_prompts as QUESTIONS
from opencompass_tooleval.agents.toolbench.answers import load_answers
from opencompass_tooleval.agents.toolbench.grading import AgentGrading
from opencompass_tooleval.agents.toolbench.judged_answer import of_run as judged_of_run
from opencompass_tooleval.agents.toolbench.opinion import reader
from opencompass_tooleval.benchmarks.funcqa import reading as funcqa_reading
from opencompass_tooleval.benchmarks.funcqa import scoring as funcqa_scoring
from opencompass_tooleval.benchmarks.funcqa.data import call_tool
from opencompass_tooleval.benchmarks.funcqa.data import load_records as load_questions
from opencompass_tooleval.benchmarks.restbench import scoring as restbench
from opencompass_tooleval.benchmarks.restbench.reading import read_choices
from opencompass_tooleval.benchmarks.teval.data import query_of
from opencompass_tooleval.benchmarks.teval.reading import POSTPROCESSORS, PROTOCOLS, SCORINGS, Protocol
from opencompass_tooleval.benchmarks.teval.scoring import score_answers
from opencompass_tooleval.benchmarks.toolbench.data import (
    Choice,
    find_file,
    load_data,
    make_request,
    read_run,
)
from opencompass_tooleval.benchmarks.toolbench.data import read_runs as read_stored_runs
from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.benchmarks.toolbench.scoring import score_calls, score_choice, score_native_calls
from opencompass_tooleval.benchmarks.ultratool import judge
from opencompass_tooleval.benchmarks.ultratool import reading as ultratool_reading
from opencompass_tooleval.benchmarks.ultratool import scoring as ultratool
from opencompass_tooleval.benchmarks.ultratool.data import CallError, call_of, parse_call
from opencompass_tooleval.core.calls.answer import Answer, as_answer, clean, cut_at, strip_reasoning, unfence
from opencompass_tooleval.core.calls.call_evidence import call_evidence
from opencompass_tooleval.core.calls.messages import tool_messages
from opencompass_tooleval.core.calls.prompt_parts import lost_parts
from opencompass_tooleval.core.calls.sent import MEMBERS, names_of, refused_members, sent_of, thoughts_member
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from opencompass_tooleval.core.calls.written.formats import FORMATS
from opencompass_tooleval.core.calls.written.reading import read_reference, read_required_calls
from opencompass_tooleval.core.errors import MAX_MESSAGE, DataError
from opencompass_tooleval.core.scoring.refusal import (
    MAX_REFUSAL_CHARS,
    declines_or_apologizes,
    is_refusal,
    without_offer,
)
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from opencompass_tooleval.core.text import redaction
from opencompass_tooleval.core.text.json_members import members
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, bounded_text
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.environments.stabletoolbench import read_mirrorapi, read_simulated
from opencompass_tooleval.extras.attribution.causes import RawText
from opencompass_tooleval.extras.attribution.comparing import Asked, attribute
from opencompass_tooleval.extras.attribution.reading import attribution_of_row
from opencompass_tooleval.extras.mcp_servers.fixture import FixtureCopy
from opencompass_tooleval.extras.preparing.generate import check_description
from opencompass_tooleval.extras.preparing.reply import read_description, read_example
from opencompass_tooleval.extras.preparing.ultratool_tools import name_words
from opencompass_tooleval.extras.preparing.validate import check_example
from opencompass_tooleval.extras.probe.probe import probe
from opencompass_tooleval.extras.recorded.ultratool import guess_language
from opencompass_tooleval.extras.tasks.commands import flow, guess_result
from opencompass_tooleval.extras.tasks.differences import with_numbers
from opencompass_tooleval.extras.tasks.goal import asks_user
from opencompass_tooleval.extras.tasks.gold import Gold, gold_lines, wrong_state
from opencompass_tooleval.extras.tasks.leaves import Given, fits, free_of, kind_of, tokens
from opencompass_tooleval.extras.tasks.typed_result import FORMS, MAX_RESULT, NONE, find_result, is_same
from opencompass_tooleval.instructions import method_replies as replies
from opencompass_tooleval.judging.judgement import unread_reply
from opencompass_tooleval.judging.yes_no import read_reply as read_yes_no
from opencompass_tooleval.models.api.endings import error_in
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.engine_nodes import first_end, is_by_slurm, read_address
from opencompass_tooleval.models.api.failure import Failure, failure_of_status, page_of
from opencompass_tooleval.models.api.raw_text import SOURCES, Found
from opencompass_tooleval.models.api.reply import Reply, answer_of, read_message
from opencompass_tooleval.models.observing import Observer
from opencompass_tooleval.report.build import short_digests, to_csv, to_latex, to_markdown
from opencompass_tooleval.report.figure import Table
from opencompass_tooleval.report.provenance import runs_table
from opencompass_tooleval.report.samples import tasks_of
from opencompass_tooleval.results.table import read as read_runs
from opencompass_tooleval.runners.slurm.syntax import read_array_limit, read_job_id, read_jobs, read_states
from opencompass_tooleval.tool_docs.api_list import find_api_list
from opencompass_tooleval.tool_docs.instruction import Example, Parameter
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.tool_docs.sources.openapi import read as read_openapi
from opencompass_tooleval.tool_docs.template import first_sentence, template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.tool_docs.value_types import expected
from opencompass_tooleval.tool_docs.yaml_text import load_yaml
from opencompass_tooleval.twins import funcqa as funcqa_twins
from opencompass_tooleval.twins import teval as teval_twins
from opencompass_tooleval.twins import ultratool as ultratool_twins
from opencompass_tooleval.twins.more import Offered
from opencompass_tooleval.twins.names import OPAQUE, Pool
from opencompass_tooleval.twins.translation import Translation
from opencompass_tooleval.twins.twin import LeftOutError
from opencompass_tooleval.twins.values import Material, draw
from opencompass_tooleval.work_dir.causes import causes_of
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.prompt_tokens import estimate_tokens
from opencompass_tooleval.work_dir.trust import uses
from opencompass_tooleval.work_dir.work_dir import WorkDir, last_error
from tests.benchmarks.restbench.support import make_record as make_path_record
from tests.benchmarks.teval.test_hostile import RECORDS as TEVAL_RECORDS
from tests.benchmarks.ultratool.test_hostile import RECORDS as ULTRATOOL_RECORDS
from tests.growth import in_linear_time

PACKAGE = Path(__file__).resolve().parent.parent / 'opencompass_tooleval'
DEMO = PACKAGE / 'demo'


def _filled(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def _mixed(alphabet: str, length: int) -> str:
    return ''.join(random.Random(0).choices(alphabet, k=length))


BLANKS, QUOTES, BRACKETS, MARKS = ' \t\n\r', '\'"`“', '[]{}()<>', ':：,，.=|/\\-*#_'
LETTERS, DIGITS = 'aA我', '0'
WORDS = (
    '\r\n', '[{', '{"', '":', '",', 'a ', 'A:', 'a:\t', '1 ', '1.', '- ', '->', '```', '"a"',
    '[1', ']{', '{a', 'a=', '(a', 'a.a', 'Error ', 'Task [', 'CANCELLED ', 'Answer ', 'answer is ', '答案', 'json',
    'GET /', '/a/', '<think>', '</think>', '<|channel|>', '\\"', '\\boxed{', 'Option ', 'http://', '1. ', '**', '10^',
    '\\frac{1}', '[a](', '${',
)  # fmt: skip


@cache
def texts(length: int) -> Mapping[str, str]:
    """Returns the name of each kind of text -> a text of so many characters."""
    return {
        **{
            f'only {unit!r}': _filled(unit, length) for unit in (*BLANKS, *QUOTES, *BRACKETS, *MARKS, *LETTERS, *DIGITS)
        },
        **{f'repeated {unit!r}': _filled(unit, length) for unit in WORDS},
        'mixed blanks': _mixed(BLANKS, length),
        'mixed quotes': _mixed(QUOTES, length),
        'mixed brackets': _mixed(BRACKETS, length),
        'mixed blanks and letters': _mixed(BLANKS + 'ab', length),
        'mixed digits and marks': _mixed('0123456789' + MARKS, length),
        'mixed JSON': _mixed('[]{}":, 1a', length),
        'mixed everything': _mixed(BLANKS + QUOTES + BRACKETS + MARKS + 'abcABC0123我', length),
        'blanks between letters': 'a' + ' ' * (length - 2) + 'a',
        'blanks between brackets': '[' + ' ' * (length - 2) + ']',
        'a long string': '"' + 'a' * (length - 2) + '"',
        'a long value': '{"answer": "' + 'a' * (length - 14) + '"}',
    }


@dataclass(frozen=True)
class Reader:
    """What reads outside text.

    Attributes:
        read: Reads one text; errors that are part of its contract it does not raise.
        modules: The modules with patterns that it stands for.
        every: One in so many of the texts is read by ``make test``, since it takes long.
    """

    read: Callable[[str], object]
    modules: tuple[str, ...] = ()
    every: int = 1


_KEPT = tempfile.TemporaryDirectory()
_FOLDER = Path(_KEPT.name)


def _file(content: object, name: str = 'file.json') -> Path:
    """A file with a text, or with a value as JSON."""
    file = _FOLDER / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding='utf-8', newline='')
    return file


def _read(read: Callable[[str], object], text: str, refused: type[Exception] = ValueError) -> None:
    """Reads a text, which may be refused."""
    with contextlib.suppress(refused):
        read(text)


def _load(load: Callable[[Path], object], content: object, name: str = 'file.json') -> None:
    """Reads a file, which may be refused."""
    with contextlib.suppress(DataError):
        load(_file(content, name))


def _log(text: str) -> None:
    """What people see of a log."""
    (_FOLDER / 'run' / 'configs').mkdir(parents=True, exist_ok=True)
    for content in (text, f'Traceback (most recent call last):\n{text}', f'FAILED d: {text} PREEMPT'):
        log = _file(content, 'run/logs/infer/m/d.out')
        last_error(log)
        last_error(log, 'd')
        WorkDir(_FOLDER / 'run').log('m', 'd', 'infer')
        runs_table(read_runs([_FOLDER / 'run']))


def _instructions(text: str) -> None:
    described = {'name': 'Map', 'description': text, 'ID': 0, 'tool_description': text}
    _load(load_instructions, [{**described, 'tool_guidelines': {text: {'name': text, 'description': text}}}])
    _load(load_instructions, text)


def _openapi(text: str) -> None:
    operation = {'description': text, 'parameters': [{'name': text, 'in': 'query', 'schema': {'type': text}}]}
    _load(read_openapi, {'openapi': '3.0', 'paths': {f'/{text}': {'get': operation}}})


def _calculation(text: str) -> None:
    for step in (text, f'<add>({text})=3', f'<add>(1)={text}'):
        for answer in (text, 1):
            row = {'question': 'q', 'answer': answer, 'func': step}
            _load(lambda file: load_questions(file, 'one_hop'), [row])


def _run_of(text: str, details: list[Any]) -> dict[str, Any]:
    answer = {'method': text, 'total_steps': 1, 'final_answer': text, 'answer_details': details}
    return {'query': text, 'available_tools': [], 'answer': answer}


GIVEN = Given(frozenset(), (), frozenset({'2026-05-04'}))


def _golds(text: str) -> list[Gold]:
    free = free_of(text, f'{text}1', GIVEN) or {}
    return [
        {'a.ini:': {'removed': [text], 'added': [text], 'at': [0], 'rest': '', 'free': [one]}}
        for one in ({}, {'': free})
    ]


def _judged_answer(text: str) -> None:
    message = {'name': text, 'arguments': text, 'response': text}
    details = [{'role': 'tool', 'message': message}, {'role': 'assistant', 'message': text}]
    judged = judged_of_run(read_run(text, _run_of(text, details)))
    assert max(map(len, (judged.content, judged.compared.content, judged.task))) <= MAX_CHARS
    assert judged.told is not None and judged.digest and not judged.is_finished


def _stored_run(text: str) -> None:
    message = {'name': 'Finish', 'arguments': text, 'response': text}
    for load in (lambda file: list(read_stored_runs(file)), load_answers):
        _load(load, {'1': _run_of(text, [{'role': 'tool', 'message': message}])})


def _detail(score: SampleScore) -> None:
    json.dumps(score.to_detail(), allow_nan=False)


def _teval(kind: str, protocol: str, scoring: str, text: str) -> None:
    answer = POSTPROCESSORS[protocol](as_answer(text))
    rules = Protocol(protocol, scoring)
    _detail(score_answers([TEVAL_RECORDS[kind]], [answer], rules, ExactSimilarity())[0])


def _ultratool(task: str, scoring: str, list_choice: str, text: str) -> None:
    rules = ultratool_reading.Protocol(scoring, list_choice)
    _detail(ultratool.score_answer(ULTRATOOL_RECORDS[task], clean(Answer(text)), rules, []))


@cache
def _questions() -> Any:
    return load_questions(DEMO / 'funcqa' / 'funcqa_oh.json', 'one_hop')


@cache
def _request() -> Any:
    data = load_data(DEMO / 'toolbench' / find_file('G2').file, 'G2')
    return make_request(data.records[0], data.tools)


def _native(text: str) -> None:
    """What a server may say of calls: any name, and arguments that are any text or any JSON."""
    record = make_path_record(['GET /movie/popular'])
    tools = [ToolSchema(name, '', {'type': 'object'}) for name in record.tools]
    named = ('GET /movie/popular', text), ('Rink Rates.Prices', {text: text})
    for name, arguments in ((text, {}), *named, (text, text)):
        answer = Answer(text, calls=(make_call(name, arguments, text),) * 2)
        _detail(restbench.score_calls(record, answer, tools))
        _detail(score_native_calls(_request(), answer))
        tool_messages(answer, ['', ''], tool_messages(answer, ['', '']))
        call_evidence(text, (), ToolSet(tools))
        call_evidence(text, answer.calls, ToolSet(tools))
        dialogue = FuncQADialogues('function_calling', max_steps=2).begin(_questions()[0])
        next(dialogue)
        dialogue.send(as_answer(answer))


def _doc(text: str) -> ToolDoc:
    parameter = Parameter('place', text, text)
    return ToolDoc('Map', text, (FunctionDoc('Map.route', text, (parameter,), ()),))


def _call(text: str) -> None:
    tools = {'f': {'arguments': {'properties': dict.fromkeys('ax')}}}
    for read in (partial(call_of, tools=tools), partial(parse_call, properties=('a', 'x'))):
        for annotation in (text, f'f({text})', f'f(x={text})'):
            _read(read, annotation, CallError)


def _react(text: str) -> None:
    bridge = pytest.importorskip('opencompass_tooleval.agents.loops.lagent_bridge')
    protocol = bridge.ToolReActProtocol(
        '{tool_description}{action_names}{thought}{action}{action_input}{response}{finish}'
    )
    protocol.parse(text, bridge.ShownTools())


def _engine_on_nodes(text: str) -> None:
    for line in text.splitlines():
        is_by_slurm(line)
    for head in ('', 'srun: error: ', 'srun: error: n1: task 1: ', 'NodeAddr='):
        first_end(head + text)
        read_address(head + text)


def _squeue(text: str) -> None:
    read_states(text)
    read_jobs(text)
    _read(read_job_id, text)
    _read(read_array_limit, text)


def _server(text: str) -> None:
    failure_of_status(429, {'retry-after': text}, text)
    failure_of_status(429, {'retry-after-ms': text, 'x-ratelimit-reset-a': text, 'x-ratelimit-remaining-a': text}, text)
    failure_of_status(302, {'location': text}, text)
    error_in({'error': {'message': text, 'code': text, 'param': text, 'details': [{'reason': text}]}})
    error_in({'error_code': text, 'error_msg': f'unsupported parameter {text}'})
    for page in (f'<html>{text}', f'<html><title{text}', f'<html><title>{text}'):
        page_of(page)
    for kind in ('application/json', 'text/event-stream'):
        message = json.dumps({'choices': [{'message': {'content': text}, 'finish_reason': text}]})
        for body in (text, f'data: {text}', message):
            with contextlib.suppress(Failure):
                answer_of(read_message(body.encode('utf-8'), kind))
    redaction.redact(text)


def _attribution(text: str) -> None:
    tools = ToolSet([ToolSchema('find', '', {'type': 'object', 'properties': {'q': {'type': 'string'}}})])
    verbose = {'content': text, 'prompt': text}
    choice = {'logprobs': {'content': [{'token': text, 'bytes': [300]}, {'token': f'token_id:{text[:20]}', 'id': 9}]}}
    reply = Reply({'content': text}, None, None, {'__verbose': verbose, 'choices': [choice]})
    for source in SOURCES:
        source.read(reply, lambda ids: text)
        source.prompt(reply, lambda ids: text)
    observer = Observer('auto', None, {}, logging.getLogger())
    observer._found = Found(SOURCES[1], text, (), (text,))
    observer.observed(Answer(text), reply, None, {'stop': text})
    observer._special_tokens = frozenset([text[:40]]), [text[:9]]
    observer._special_tokens_in(text)
    record = {'raw': text, 'error': text, 'names': [text], 'tools': [{'function': text}], 'originals': {text: text}}
    records = [record], [{'raw': text, 'tool_choice': text}], [{'calls': [{'name': text}], 'names': [text]}]
    for observed in (text, *records):
        attribution_of_row({'prediction': text, 'observed': observed, 'tools': [text]})
    calls = tuple(make_call(name, text) for name in ('find', text[:300]))
    for served in (Answer(text), Answer(f'<think>{text}'), Answer(text, calls=calls)):
        attribute(served, RawText(text, 'ids'), Asked('hermes', tools, 'required', opened_thoughts=bool(served.calls)))
        call = '<tool_call>{"name": "find", "arguments": {}}'
        for raw in (f'<tool_call>{text}', f'{{"name": "find"{text}', text + call):
            for name in ('none', 'hermes'):
                asked = Asked(name, tools, special_tokens=(text[:40],), stop_words=(text[:20],))
                attribute(replace(served, text=text[::2]), RawText(raw, 'ids'), asked)
    messages = [{'role': role, 'content': text} for role in ('system', 'user', 'tool')]
    function = {'name': text[:300], 'arguments': text}
    lost_parts(
        text, [*messages, {'role': 'assistant', 'tool_calls': [{'function': function}]}], tools.as_request(), text
    )


class _Echo(Endpoint):
    """A server that says one text, wherever it can."""

    text = ''

    def get(self, path: str, key: str | None = None, url: str = '') -> Any:
        return {'data': [{'id': self.text}]}

    def ask_all(self, questions: Any, *args: Any, **settings: Any) -> list[Reply | Failure]:
        message = {'content': self.text, 'reasoning': self.text}
        calls = [{'function': {'name': self.text, 'arguments': self.text}}] if 'tools' in settings else []
        reply = Reply({**message, 'tool_calls': calls}, None, self.text, {})
        refusal = failure_of_status(400, {}, self.text)
        return [refusal if 'stop' in settings else reply for _ in questions]


@cache
def _echo() -> _Echo:
    return _Echo('http://a/v1', 'a')


def _probed(text: str) -> None:
    _echo().text = text
    for finding in probe(_echo()):
        assert len(finding.text) < 2_000


def _trajectory(text: str) -> None:
    try:
        parse_trajectory(text)
    except ValueError as error:
        assert len(str(error)) <= MAX_MESSAGE
    funcqa_scoring.score_trajectory(_questions()[0], Trajectory('cot', final_answer=text))


def _members(text: str) -> None:
    for before in ('', '{', '{"a": ', '{"a": "'):
        _read(lambda said: list(members(io.StringIO(said).read)), before + text)


def _causes(text: str) -> None:
    for before in ('', 'AskingEndedError: ', '. Fix it with: '):
        causes_of([('api/plan', 'plan', before + text)], Path('outputs/default/20260101_120000'))


def _example(text: str) -> None:
    doc = ToolDoc('GET /a', 'a', (FunctionDoc('GET /a', 'a', (Parameter('input', 'string'),), ()),))
    check_example(doc, 'GET /a', Example(text, {'input': text}))
    for kind in ('STRING', 'number', 'List[int]', text):
        expected(kind, text)


def _twins(text: str) -> None:
    rng = random.Random(0)
    schema = {'properties': {'a_b': {'description': text}, text[:900]: {}}}
    tool = {'name': 'f', 'description': text, 'arguments': schema}
    step = {'step': f'1 {text}', 'tool': 'f', 'param': {'a_b': text}}
    usage = {'question': text, 'input': [step], 'toolset': [tool], 'reference': [step]}
    api = {'name': 'M.f', 'description': text, 'required_parameters': [{'name': 'a_b'}]}
    prompt = [{'role': 'system', 'content': json.dumps([api])}, *[{'role': 'user', 'content': text}] * 2]
    plan = {'origin_prompt': prompt, 'ground_truth': {'name': 'M.f', 'args': {'a_b': text}}, 'template': ''}
    review = {'origin_prompt': prompt, 'ground_truth': {'answer': 'A'}}
    question = {'question': text, 'func': '<add>(12, 34)=46', 'answer': 46}
    pool = Pool(OPAQUE, 0)
    makers = [(ultratool_twins, usage), (teval_twins, plan)]
    made = [(make, raw) for room, raw in makers for make in (room.order, room.values, room.names({}, pool))]
    chain = {'question': text, 'calculation': ['<add>(12, 34)=46', '<divide>(46,2)=23'], 'answer': '23'}
    made += [(teval_twins.order, review), (funcqa_twins.values, question), (funcqa_twins.values, chain)]
    for make, raw in made:
        with contextlib.suppress(LeftOutError):
            make('0', raw, rng)
    with contextlib.suppress(LeftOutError):
        draw(Material(text, [text[:900], 'Ann Lee', '2024-03-01', 123], text), rng)


def _translated(text: str) -> list[Any]:
    new = Translation({'M.f': 'x' * 9, 'g': 'y' * 9}, {'a_b': 'z' * 7}, {'Ghent': 'Dovar'}, {'A': 'B'})
    near = Offered('a', '', text, None).is_near(Offered('b', '', text, None))
    return [new.text(text), new.words(text), new.data({text[:900]: [text]}), near]


BEGINNINGS = {
    'pythonic': ['<|python_start|>[f(a='],
    'lfm2': ['<|tool_call_start|>[f(a='],
    'olmo3': ['<function_calls>f(a='],
    'llama3_json': ['{"name": '],
    'llama_function': ['<function=f>{'],
    'none': ['{"name": '],
}
"""Name of a format -> further beginnings of calls, beside the marks in its template."""
THOUGHTS = '[f(a='
"""Beginning of a text within thoughts."""
WRITTEN = 'formats', 'scanning', 'named_formats', 'nested_formats', 'pythonic_formats', 'xml_formats', 'reading'

READERS: Mapping[str, Reader] = {
    'thoughts': Reader(strip_reasoning, ('core/calls/answer.py', 'core/calls/harmony.py')),
    'refused thoughts': Reader(
        lambda text: (
            refused_members(text, [*MEMBERS, 'a.b', text]),
            thoughts_member(text),
            names_of(sent_of({text: text, 'thinking': [{'text': text}], 'a': {text: [text]}}, ())),
        ),
        ('core/calls/sent.py',),
    ),
    'fence and end marks': Reader(lambda text: (unfence(text), cut_at(text, ('<eoa>', '\nuser')))),
    'literal': Reader(lambda text: [parse_enclosed(text, *ends) for ends in ('[]', '{}', ('', ''))]),
    'what somebody said': Reader(bounded_text),
    'members of an object': Reader(_members, ('core/text/json_members.py',)),
    'T-Eval, ids': Reader(
        lambda text: [query_of(part) for part in (text, f'query_{text}')], ('benchmarks/teval/data.py',)
    ),
    'errors of a log': Reader(_causes, ('work_dir/causes.py',)),
    **{
        f'T-Eval, {kind}, {protocol}, {scoring}': Reader(
            partial(_teval, kind, protocol, scoring),
            ('core/text/fullwidth.py', 'benchmarks/teval/reading.py', 'benchmarks/teval/scoring.py'),
        )
        for kind in TEVAL_RECORDS
        for protocol in PROTOCOLS
        for scoring in SCORINGS
    },
    'T-Eval, clean': Reader(lambda text: POSTPROCESSORS['clean'](Answer(text))),
    **{
        f'UltraTool, {task}, {scoring}, {list_choice}': Reader(
            partial(_ultratool, task, scoring, list_choice),
            ('benchmarks/ultratool/reading.py',),
        )
        for number, task in enumerate(ULTRATOOL_RECORDS)  # each pair of both for every other task
        for place, scoring in enumerate(ultratool_reading.SCORINGS)
        for list_choice in [ultratool_reading.LIST_CHOICES[(number + place) % 2]]
    },
    'UltraTool, judge': Reader(
        lambda text: [judge.parse_scores(text, task) for task in ('planning', 'tool_creation')],
        ('benchmarks/ultratool/judge.py',),
    ),
    'UltraTool, annotated calls': Reader(_call, ('benchmarks/ultratool/data.py',)),
    'UltraTool, names of tools': Reader(name_words, ('extras/preparing/ultratool_tools.py',)),
    'UltraTool, language': Reader(
        lambda text: guess_language(Path('a'), text), ('extras/recorded/ultratool.py',)
    ),
    'RestBench': Reader(
        lambda text: [_detail(restbench.score_answer(make_path_record(['GET /a']), said)) for said in (text, [text])],
        ('benchmarks/restbench/reading.py', 'benchmarks/restbench/data.py'),
    ),
    'RestBench, choices': Reader(
        lambda text: [read_choices(part, {1: 'a'}) for part in (text, f'[{{"ID": "{text[:-20]}"}}]')]
    ),
    'ToolBench, selection': Reader(lambda text: _detail(score_choice(Choice('r', 'q', 'Map', ('Map', 'Clock')), text)),
           ('benchmarks/toolbench/reading.py',)),
    'ToolBench, calls': Reader(lambda text: _detail(score_calls(_request(), text))),
    'judge that declines': Reader(unread_reply),
    'ToolBench, judge': Reader(read_yes_no, ('judging/yes_no.py',)),
    'ToolBench, responses': Reader(lambda text: [error_kind(part) for part in (text, '{"error": "' + text)],
           ('benchmarks/toolbench/reading.py',)),
    'ToolBench, stored runs': Reader(_stored_run, ('benchmarks/toolbench/data.py',)),
    'agents, judge': Reader(
        lambda text: [reader(getattr(QUESTIONS, name))(text) for name in ('CHECK', 'SOLVABLE_TASK', 'SELECT')],
        ('agents/toolbench/opinion.py',),
    ),
    'tasks, an answer as a result': Reader(
        lambda text: (guess_result(text), flow(text)), ('extras/tasks/commands.py',)
    ),
    'results of one line': Reader(
        lambda text: [
            is_same(form, part, part)
            for form in FORMS
            if form != NONE
            for part in (text[:MAX_RESULT], find_result(text), find_result(f'Result: {text}'))
        ],
        ('extras/tasks/typed_result.py',),
    ),
    'tasks, values of a gold': Reader(
        lambda text: [
            free_of(text[:900], f'{text[:900]} 12:00:01', GIVEN),
            free_of(text, f'{text} 12:00:01', GIVEN),
            fits(text, text, free_of(text, f'{text}1', GIVEN)),
            kind_of(text),
            tokens(text),
            Given.of(text, [{'text': text}], datetime(2026, 5, 4, tzinfo=timezone.utc)),
        ],
        ('extras/tasks/leaves.py',),
    ),
    'tasks, questions in answers': Reader(
        lambda text: [asks_user(text), asks_user(f'{text} Please tell me')],
        ('extras/tasks/goal.py',),
        every=7,
    ),
    'tasks, golds': Reader(
        lambda text: [
            wrong_state([{part: {'to': text}}], {part: json.dumps({'to': f'{text} '})})
            for part in ('a.db:table t', 'a.db:index i', 'a.yaml:a', text)
        ]
        + [
            (wrong_state([gold], {'a.ini:': json.dumps({**gold['a.ini:'], 'added': [f'{text} ']})}), *gold_lines(gold))
            for gold in _golds(text)
        ]
        + [with_numbers({'a': text}, ['a'])],
        ('extras/tasks/gold.py', 'extras/tasks/differences.py'),
    ),
    'agents, prompt of the judge': Reader(lambda text: QUESTIONS.CHECK.prompt(query=text, answer=text),
           ('agents/toolbench/judge_prompts.py',)),
    'agents, answers to be judged': Reader(_judged_answer),
    'agents, judgements': Reader(
        lambda text: _load(AgentGrading(()).read, [{'id': text, 'solved': [{'value': text}]}])
    ),
    'RestBench, ToolBench and FuncQA, native calls': Reader(_native, ('core/calls/messages.py',), every=3),
    'FuncQA, number': Reader(funcqa_reading.read_number, ('benchmarks/funcqa/reading.py',)),
    'FuncQA, calculation': Reader(_calculation, ('benchmarks/funcqa/data.py',)),
    **{
        f'EasyTool, {name}, {reading}': Reader(
            partial(_read, partial(getattr(replies, f'read_{name}'), reading=reading), refused=replies.Unreadable)
        )
        for name in ('tasks', 'topology', 'choice', 'choice_at_end', 'names', 'need', 'parameters')
        for reading in replies.READINGS
    },
    'FuncQA, check': Reader(replies.read_check),
    'FuncQA, any number': Reader(lambda text: funcqa_scoring.find_right(text, 7)),
    'calls as text': Reader(
        lambda text: (
            [
                read_reference(f'{mark}{text}'[:MAX_CHARS], name, opened_thoughts=mark == THOUGHTS)
                for name, row in FORMATS.items()
                for mark in ('', THOUGHTS, *(''.join(marks) for marks in row.templates[:1]), *BEGINNINGS.get(name, ()))
            ]
            + [read_required_calls(text, name) for name in ('', 'f')]
        ),
        tuple(f'core/calls/written/{part}.py' for part in WRITTEN),
        every=7,
    ),
    'server that is looked at': Reader(
        _probed,
        ('models/api/endpoint.py', 'extras/probe/probe.py'),
        every=7,
    ),
    'attribution of a served answer': Reader(
        _attribution,
        (
            'extras/attribution/comparing.py',
            'core/calls/prompt_parts.py',
            'models/api/raw_text.py',
            'models/observing.py',
        ),
        every=7,
    ),
    'reply of a server': Reader(_server,
           ('models/api/reply.py', 'models/api/failure.py', 'models/api/endings.py', 'core/text/redaction.py')),
    'description against the documentation': Reader(
        lambda text: [check_description(_doc('a map'), text), check_description(_doc(text), 'a map')],
        ('core/scoring/refusal.py', 'extras/preparing/generate.py'),
    ),
    'first words of a task': Reader(
        lambda text: tasks_of([[('user', text)], [('user', f'{text} ')], [('user', '. ' + text)]]),
        ('report/samples.py',),
    ),
    'digests on a page': Reader(short_digests, ('report/build.py',)),
    'refusal': Reader(
        lambda text: [
            [is_refusal(beginning + text), declines_or_apologizes(text), without_offer(text[:MAX_REFUSAL_CHARS])]
            for beginning in ('', 'Sorry ', 'I cannot ', '抱歉')
        ],
        ('core/scoring/refusal.py',),
        every=3,
    ),
    'FuncQA, parameters': Reader(lambda text: call_tool('add_', {'input': [text, 1]})),
    'FuncQA, trajectory': Reader(_trajectory),
    'FuncQA, ReAct': Reader(_react),
    'generated description': Reader(
        lambda text: read_description(text, ['Map.route'], 'Map'), ('extras/preparing/reply.py',)
    ),
    'generated example': Reader(
        lambda text: [read_example(said, 'Map.route') for said in (text, f'One scenario for "{text}')]
    ),
    'values of an example': Reader(_example, ('tool_docs/value_types.py', 'tool_docs/tool_doc.py')),
    'documentation, first sentence': Reader(first_sentence, ('tool_docs/template.py',)),
    'documentation, template': Reader(
        lambda text: template_instruction(_doc(text)), ('tool_docs/template.py',), every=3
    ),
    'twins of records': Reader(
        _twins, tuple(f'twins/{name}.py' for name in ('values', 'teval', 'ultratool', 'funcqa')), every=7
    ),
    'twins, translation': Reader(_translated, ('twins/translation.py', 'twins/more.py')),
    'documentation in a prompt': Reader(find_api_list, ('tool_docs/api_list.py',)),
    'instructions': Reader(_instructions, ('tool_docs/instruction_formats.py',)),
    'OpenAPI document': Reader(_openapi, ('tool_docs/sources/openapi.py',)),
    'YAML': Reader(
        lambda text: [_read(load_yaml, mark + text[:MAX_CHARS]) for mark in ('', 'a: ', '- ', "'", '{a: ')],
        ('tool_docs/yaml_text.py',),
    ),
    'log': Reader(_log, ('work_dir/work_dir.py', 'results/table.py', 'report/provenance.py'), every=3),
    'config of a run': Reader(lambda text: [_load(read_dumped, part, 'a.py') for part in (text, f'a = {text}')],
           ('work_dir/dumped_config.py',)),
    'reply of a simulator': Reader(
        lambda text: [
            read(reply)
            for read in (read_simulated, read_mirrorapi)
            for reply in (text, f'"mechanism_of_the_api": "{text}', f'{{"error": "{text}')
        ],
        ('environments/stabletoolbench.py',),
    ),
    'answer and arguments of a live server': Reader(
        lambda text: [
            FixtureCopy(Path('/tmp/x'), Path('/tmp/x')).inward([text, f'/fixture{text}']),
            FixtureCopy(Path('/tmp/x'), Path('/tmp/x')).outward(f'/tmp/x{text}'),
        ],
        ('extras/mcp_servers/fixture.py',),
    ),
    'tokens of a prompt': Reader(lambda text: estimate_tokens([text]), ('work_dir/prompt_tokens.py',)),
    'Slurm': Reader(_squeue, ('runners/slurm/syntax.py',)),
    'engine on nodes': Reader(_engine_on_nodes, ('models/api/engine_nodes.py',)),
    'what a config uses': Reader(
        lambda text: list(uses({'command': text, 'api_base': [text], text: f'http://{text}', 'env': {text: text}})),
        ('work_dir/trust.py',),
    ),
    'table of a report': Reader(
        lambda text: [
            write(Table('a', 'a', ('x', 'y'), (('z', text),))) for write in (to_csv, to_markdown, to_latex)
        ],
        ('core/text/escapes.py',),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a run. Earlier tests have left hundreds, and each is looked for in every message."""
    monkeypatch.setattr(redaction, '_keys', {'sk-0123456789'})


@pytest.mark.parametrize('length', [20_000, pytest.param(MAX_CHARS, marks=pytest.mark.long)])
@pytest.mark.parametrize('name', READERS)
def test_texts_are_read_in_linear_time(name: str, length: int) -> None:
    """``make test`` reads every second of the texts, with each reader others."""
    every = 2 * READERS[name].every if length < MAX_CHARS else 1
    for kind, text in islice(texts(length).items(), len(name) % every, None, every):
        in_linear_time(READERS[name].read, text, text[: len(text) // 2] if kind.startswith('mixed') else None)


WITHOUT_OUTSIDE_TEXT: Mapping[str, str] = {
    'extras/probe/doctor.py': 'what doctor itself says',
    'cli/run.py': 'one class of characters, in names that the user gives',
    'cli/run_config.py': 'one class of characters, in names that the user gives',
    'core/model_name.py': 'names and addresses of models that the user gives',
    'extras/tasks/check.py': 'arguments of solutions, up to a length, in files that a user trusts',
    'extras/tasks/task_file.py': 'a name of at most 80 characters, the name of a file, and the words of one',
    'extras/tasks/git_data.py': 'forty characters',
    'catalogue/subset_names.py': 'names of files and data sets',
    'core/calls/tool_set.py': 'names of tools, the first 512 characters',
    'models/literal_keys.py': 'names in a config of the user',
    'models/selection.py': 'a config of the user, whose texts have at most 80 characters',
    'models/shared_servers.py': 'one class of characters, in names of models',
    'judging/judge.py': 'names and settings in a config of the user',
    'judging/judge_item.py': 'templates of benchmarks',
    'extras/recorded/right_subset.py': 'names of files and data sets',
    'models/gpus.py': 'a variable of the environment',
    'summarizers/last_screen.py': 'names of data sets',
    'work_dir/names.py': 'names of files and data sets',
    'work_dir/whole_file.py': 'names of files',
    'instructions/figures.py': 'names of files and data sets',
    'work_dir/budget_file.py': 'one class of characters, in names of models',
    'report/figure.py': 'one class of characters, in names',
    'findings/of_results.py': 'names of models',
    'runners/slurm/leftovers.py': 'one class of characters, in paths of the user',
    'runners/slurm/runner.py': 'whole words, in one message of sbatch',
}
"""Modules with patterns that are matched against nothing that others write, and why that is so."""

_MATCHING = re.compile(r'\bre\.(?:compile|sub|search|match|fullmatch|split|findall|finditer)\(')


def test_every_module_with_patterns_has_a_reader() -> None:
    modules = {
        str(file.relative_to(PACKAGE)) for file in PACKAGE.rglob('*.py') if _MATCHING.search(file.read_text('utf-8'))
    }
    covered = {module for reader in READERS.values() for module in reader.modules}
    assert modules - covered - set(WITHOUT_OUTSIDE_TEXT) == set()
    assert set(WITHOUT_OUTSIDE_TEXT) <= modules - covered
