"""Answers of servers with and without faults, each by HTTP, and the causes that they get."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.extras.attribution.causes import ERROR, NONE, PARSER, TEMPLATE, UNKNOWN, Attribution
from opencompass_tooleval.models.api.raw_text import CANARIES, IDS, LOGPROBS, VERBOSE
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.evaluators.test_evaluator import Equality, numbered
from tests.extras.attribution.script import (
    VLLM,
    Engine,
    LlamaCpp,
    LlamaCppLogprobs,
    LMDeploy,
    Logprobs,
    OldVLLM,
    ServingScript,
    SGLang,
    Strict,
    StrictVerbose,
    attributed,
    save_tokenizer,
    stored_row,
)
from tests.extras.attribution.shapes import FAULTS, HISTORY, RIGHT, ROME, Shape, hermes
from tests.extras.attribution.test_adapter import evaluated_rows
from tests.models.api.scripted_server import KEY, serving

SHAPES = (*FAULTS, *RIGHT)
BY_NAME = {shape.name: shape for shape in SHAPES}


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tokenizer(tmp_path_factory.mktemp('tokenizer'))


@pytest.fixture(scope='module')
def tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    loaded: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder)
    return loaded


def prompt_of(shape: Shape) -> Conversation:
    tools = ToolSet(shape.tools, shape.parallel)
    entry = {'record_id': 'r', 'source': 'made_up', 'idx': 0, 'gold_answer': ''}
    return Conversation.of(list(shape.messages), entry, tools)


def make_model(url: str, shape: Shape, folder: Path | None, **options: Any) -> ToolEvalOpenAI:
    settings: dict[str, Any] = {'attribution': True, 'tool_parser': shape.format_name, **options}
    kwargs = {'opens_thoughts': shape.opened_thoughts}
    extra = {'chat_template_kwargs': kwargs} if shape.opened_thoughts else {}
    if isinstance(shape.tool_choice, str):
        settings['tool_choice'] = shape.tool_choice
    else:
        extra['tool_choice'] = shape.tool_choice
    return ToolEvalOpenAI(
        path='tiny',
        key=KEY,
        openai_api_base=url,
        retry=0,
        tokenizer_path=str(folder) if folder else None,
        openai_extra_kwargs=extra,
        **settings,
    )


def answer_to(engine: Engine, shape: Shape, folder: Path | None, **options: Any) -> tuple[Answer, ServingScript]:
    script = ServingScript(engine, shape)
    with serving(script) as url:
        (answer,) = ask(make_model(url, shape, folder, **options), [prompt_of(shape)], 64)
    return answer, script


def attribution_of(engine: Engine, shape: Shape, folder: Path | None, **options: Any) -> Attribution:
    answer, _ = answer_to(engine, shape, folder, **options)
    found = attributed(answer, ToolSet(shape.tools, shape.parallel))
    assert found is not None
    return found


@pytest.mark.parametrize('shape', SHAPES, ids=[shape.name for shape in SHAPES])
def test_each_shape_has_its_cause(shape: Shape, folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    found = attribution_of(VLLM(tokenizer), shape, folder)
    assert found.cause == shape.cause, found
    assert found.note == shape.note or (shape.cause == ERROR and shape.note in found.note)
    if shape.status == 200:
        assert (found.raw, found.source) == (shape.raw, IDS)


LOST, NO_TOOLS, RIGHT_CALL = (
    BY_NAME[name] for name in ('the second call is left in the text', 'the template has no tools', 'a call')
)
ENGINES = (
    (VLLM, IDS, True),
    (SGLang, IDS, True),
    (LMDeploy, IDS, False),
    (LlamaCpp, VERBOSE, True),
    (StrictVerbose, VERBOSE, True),
    (Logprobs, LOGPROBS, False),
    (OldVLLM, LOGPROBS, False),
    (LlamaCppLogprobs, LOGPROBS, False),
)
"""Engine, source, and whether it returns its prompts."""


@pytest.mark.parametrize(('engine', 'source', 'has_prompts'), ENGINES, ids=[row[0].__name__ for row in ENGINES])
def test_each_source_of_raw_text(
    engine: type[Engine], source: str, has_prompts: bool, folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    text = replace(RIGHT_CALL, raw=f'临安 🌤 é {hermes(ROME)}<|im_end|>', content='临安 🌤 é')
    for shape, cause in ((LOST, PARSER), (text, NONE), (NO_TOOLS, TEMPLATE if has_prompts else NONE)):
        found = attribution_of(engine(tokenizer), shape, folder)
        assert (found.cause, found.source, found.raw) == (cause, source, shape.raw)


@pytest.mark.parametrize('engine', [LlamaCpp, Logprobs])
def test_texts_need_no_tokenizer(engine: type[Engine], tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    assert attribution_of(engine(tokenizer), LOST, None).cause == PARSER
    assert attribution_of(engine(tokenizer), LOST, None, tool_parser='auto').cause == PARSER  # by the marks
    bare = BY_NAME['a parser of another format']  # JSON without marks
    answer, _ = answer_to(engine(tokenizer), bare, None, tool_parser='auto')
    found, lines = attributed(answer, ToolSet(bare.tools)), said_by_the_evaluation(tmp_path, [answer], bare)
    unknown = 'the format of calls is unknown: set tokenizer_path or tool_parser'
    if engine is Logprobs:  # llama.cpp's prompt has the format
        assert found is not None and (found.cause, found.note) == (UNKNOWN, unknown)
        assert lines == [f'attribution: {unknown}']


@contextmanager
def warnings() -> Iterator[list[str]]:
    from opencompass.utils import get_logger

    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    get_logger().addHandler(handler)
    yield lines
    get_logger().removeHandler(handler)


@pytest.mark.parametrize('engine', [Engine, Strict])
def test_a_server_without_raw_text_is_asked_without_more_and_said_once(
    engine: type[Engine], folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    script = ServingScript(engine(tokenizer), LOST)
    with serving(script) as url, warnings() as lines:
        model = make_model(url, LOST, folder)
        answers = ask(model, [prompt_of(LOST)] * 3, 64)
        assert [attributed(answer, ToolSet(LOST.tools)) for answer in answers] == [Attribution(UNKNOWN)] * 3
        assert lines == ['attribution: the server returns no raw text; faults of its parser stay unknown']
        plain = ask(make_model(url, LOST, folder, attribution=False), [prompt_of(LOST)], 64)
    assert script.asked[-1] == script.asked[-2]
    assert (plain[0].calls, plain[0].text) == (answers[0].calls, answers[0].text)


def test_ids_without_their_tokenizer_are_no_raw_text(
    folder: Path, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    other = tmp_path / 'other'
    shutil.copytree(folder, other)
    content = json.loads((other / 'tokenizer.json').read_text(encoding='utf-8'))
    vocabulary, special = content['model']['vocab'], {token['content'] for token in content['added_tokens']}
    pieces = [piece for piece in vocabulary if piece not in special]
    numbers = reversed([vocabulary[piece] for piece in pieces])
    vocabulary.update(zip(pieces, numbers, strict=True))
    (other / 'tokenizer.json').write_text(json.dumps(content), encoding='utf-8')
    for path in (None, other):
        with warnings() as lines:
            assert attribution_of(VLLM(tokenizer), LOST, path).cause == UNKNOWN
        assert len(lines) == 1 and 'set tokenizer_path to the tokenizer of its model' in lines[0]


def test_the_format_is_that_of_the_template(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    assert attribution_of(VLLM(tokenizer), LOST, folder, tool_parser='auto').cause == PARSER


def said_by_the_evaluation(folder: Path, answers: Sequence[Answer], shape: Shape) -> list[str]:
    """The warnings of an evaluation of these answers, each from its row."""
    stored = {str(i): stored_row(answer, ToolSet(shape.tools), f'r{i}') for i, answer in enumerate(answers)}
    with warnings() as lines:
        evaluated_rows(folder, Equality(), numbered(*'x' * len(answers)), stored)
    return lines


def test_what_the_prompts_lack_is_said(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    with warnings() as lines:
        attribution_of(VLLM(tokenizer), NO_TOOLS, folder)
    assert lines == ['attribution: the prompts of the server lack tools']


AFTER_TOOLS = replace(BY_NAME['an answer'], messages=HISTORY[:-1])
"""The final answer of an agent: the conversation ends with a tool's result."""


@pytest.mark.parametrize('adds_after_tools', [True, False])
def test_a_final_answer_needs_the_generation_prompt_of_its_template(adds_after_tools: bool, tmp_path: Path) -> None:
    """DeepSeek V3.1's template adds one after users, and none after tools."""
    folder = save_tokenizer(tmp_path)
    loaded = AutoTokenizer.from_pretrained(folder)
    if not adds_after_tools:
        condition = '{% if add_generation_prompt %}'
        assert condition in loaded.chat_template
        after_users = "{% if add_generation_prompt and messages[-1].role == 'user' %}"
        loaded.chat_template = loaded.chat_template.replace(condition, after_users)
        loaded.save_pretrained(folder)
    causes = [
        attribution_of(VLLM(loaded), replace(shape, prompt=prompt), folder).cause
        for shape in (AFTER_TOOLS, BY_NAME['an answer'])
        for prompt in ('', 'generation')
    ]
    assert causes == [NONE, TEMPLATE, NONE, TEMPLATE]


@pytest.mark.parametrize('name', [LOST.name, 'thoughts and a call', 'an answer', 'a parse error'])
def test_answers_and_requests_are_the_same_with_and_without(
    name: str, folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    (on, asked), (off, plain) = (
        answer_to(VLLM(tokenizer), BY_NAME[name], folder, attribution=is_on) for is_on in (True, False)
    )
    assert on.observed and not off.observed
    assert (on.text, on.calls, on.reason, on.finish_reason) == (off.text, off.calls, off.reason, off.finish_reason)
    own = [one for one in asked.asked if all(one['messages'] != canary for canary, _ in CANARIES)]
    assert {request.pop('return_token_ids') for request in own} == {True}
    assert own == plain.asked
