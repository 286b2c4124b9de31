"""Reading of a judge's replies to the questions of ToolBench's evaluator."""

from __future__ import annotations

import json

import pytest
import yaml

from opencompass_tooleval.agents.toolbench import judge_prompts as prompts
from opencompass_tooleval.agents.toolbench.opinion import reader
from opencompass_tooleval.judging.judgement import Unread
from tests.instructions.shared_data import expected


def test_the_questions_and_functions_are_the_published_ones() -> None:
    source = json.loads(expected('toolbench/prompts.json').read_text(encoding='utf-8'))
    published = source['tooleval_default']
    for question in (prompts.CHECK, prompts.PARSE, prompts.SOLVABLE_TASK, prompts.SELECT):
        assert f'<name>{question.name}</name>\n<description>{question.text}</description>' in published
    config = yaml.safe_load(source['tooleval_default_config'])
    functions = {function['name']: function for function in config['completions_kwargs']['functions']}
    assert set(functions) == set(prompts.QUESTIONS)
    for name, question in prompts.QUESTIONS.items():
        sent, parameters = question.function, functions[name]['parameters']
        assert (sent.description, sent.parameters['type']) == (functions[name]['description'], parameters['type'])
        properties = dict(sent.parameters['properties'])
        assert properties.pop('reason')  # asked for with each
        assert properties == parameters['properties']
        assert sent.parameters['required'] == [*parameters['required'], 'reason']


def test_what_is_filled_in_is_no_place() -> None:
    prompt = prompts.CHECK.prompt(query='What is {answer}?', answer='{query} {key} \\1 %s')
    assert 'Query:\nWhat is {answer}?\nAnswer:\n{query} {key} \\1 %s\n' in prompt
    assert prompt.endswith('{"content": "your reason", "answer_status": "Unsure" or "Unsolved" or "Solved"}\n')
    assert '"index": 0 or 1}' in prompts.SELECT.prompt(query='', answer_0='', answer_1='')
    assert len(prompts.prompt_hash()) == 12


@pytest.mark.parametrize(
    ('reply', 'value', 'why'),
    [
        ('{"content": "It does.", "answer_status": "Solved"}', 'Solved', 'It does.'),
        ('{"answer_status": "unsolved", "reason": "No."}', 'Unsolved', 'No.'),
        ("{'content': 'x', 'Answer_Status': 'UNSURE'}", 'Unsure', 'x'),
        ('Well:\n```json\n{"content": "x", "answer_status": "Solved."}\n```', 'Solved', 'x'),
        ('<think>{"answer_status": "Solved"}</think>{"content": "x", "answer_status": "Unsolved"}', 'Unsolved', 'x'),
        ('{"name": "check_answer_status", "arguments": {"answer_status": "Solved", "content": "x"}}', 'Solved', 'x'),
        ('{"function": {"name": "f", "arguments": "{\\"answer_status\\": \\"Unsure\\"}"}}', 'Unsure', ''),
        ('**Unsolved**', 'Unsolved', ''),
        ('The reason is plain.\nanswer_status: Unsolved', 'Unsolved', ''),
        ('{"content": "says "done" and is", "answer_status": "Solved"}', 'Solved', ''),
        ('{"content": "It says \\"answer_status\\": \\"Solved\\".", "answer_status": "Unsolved"}', 'Unsolved', None),
    ],
)
def test_statuses(reply: str, value: str, why: str | None) -> None:
    opinion = reader(prompts.CHECK)(reply)
    assert not isinstance(opinion, Unread)
    assert (opinion.value, opinion.decided_by, opinion.fault) == (value, 'check_answer_status', '')
    assert why is None or opinion.why == why


@pytest.mark.parametrize(
    ('reply', 'fault'),
    [
        ('', 'empty'),
        ("I'm sorry, I cannot judge this.", 'refused'),
        ('{"answer_status": "Solvable"}', 'unread'),
        ('{"answer_status": null, "arguments": {"answer_status": "Solved"}}', 'unread'),
        ('{"arguments": "[[[["}', 'unread'),
        ('"answer_status": "Solved" ... no, "answer_status": "Unsolved"', 'unread'),
        ('The answer says {"answer_status": "Solved"}, which is no answer. My verdict: Unsolved', 'unread'),
        ('<think>{"answer_status": "Solved"}', 'empty'),
        ('x' * 200_001, 'too_long'),
        ('{' * 100_000, 'unread'),
    ],
)
def test_what_says_no_status_is_never_one(reply: str, fault: str) -> None:
    assert reader(prompts.CHECK)(reply) == Unread(fault)


@pytest.mark.parametrize(
    ('reply', 'value'),
    [
        ('{"index": 1.0, "reason": "x"}', '1'),
        ('{"index": "1"}', '1'),
        ('{"index": "Answer_0"}', '0'),
        ('1', '1'),
        ('Answer_1 is better, so index: 1', '1'),
    ],
)
def test_indexes(reply: str, value: str) -> None:
    opinion = reader(prompts.SELECT)(reply)
    assert not isinstance(opinion, Unread)
    assert opinion.value == value


@pytest.mark.parametrize('index', ['2', '-1', '0.5', 'false', '1e400', '9' * 5_000])
def test_what_names_no_answer_is_no_index(index: str) -> None:
    for reply in (f'{{"index": {index}}}', '10', 'Answer 1'):
        assert isinstance(reader(prompts.SELECT)(reply), Unread)


@pytest.mark.parametrize('question', prompts.QUESTIONS.values(), ids=prompts.QUESTIONS)
def test_who_repeats_the_question_chooses_nothing(question: prompts.JudgeQuestion) -> None:
    values = dict.fromkeys(('query', 'answer', 'task', 'answer_0', 'answer_1'), 'Delft')
    prompt = question.prompt(**values)
    for reply in (prompt, prompt.splitlines()[-1], f'{prompt}\n```json\n{prompt.splitlines()[-1]}\n```'):
        assert isinstance(reader(question)(reply), Unread)
    assert isinstance(reader(question)(f'{question.key}: {" or ".join(question.options)}'), Unread)
