"""Answers of servers with and without faults, each by HTTP, and the causes that they get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.attribution import (
    ERROR,
    IDS,
    Attribution,
)
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.models.api.scripted_server import KEY, serving
from tests.models.serving_script import (
    VLLM,
    Engine,
    ServingScript,
    save_tokenizer,
)
from tests.models.serving_shapes import FAULTS, RIGHT, Shape

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
        openai_extra_kwargs={**extra, **settings.pop('extra', {})},
        **settings,
    )


def answer_to(engine: Engine, shape: Shape, folder: Path | None, **options: Any) -> tuple[Answer, ServingScript]:
    script = ServingScript(engine, shape)
    with serving(script) as url:
        (answer,) = ask(make_model(url, shape, folder, **options), [prompt_of(shape)], 64)
    return answer, script


def attribution_of(engine: Engine, shape: Shape, folder: Path | None, **options: Any) -> Attribution:
    answer, _ = answer_to(engine, shape, folder, **options)
    assert answer.serving is not None
    return answer.serving


def test_there_are_enough_shapes() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
    assert len({shape.issue for shape in FAULTS if any(map(str.isdigit, shape.issue))}) >= 24


@pytest.mark.parametrize('shape', SHAPES, ids=[shape.name for shape in SHAPES])
def test_each_shape_has_its_cause(shape: Shape, folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    found = attribution_of(VLLM(tokenizer), shape, folder)
    assert found.cause == shape.cause, found
    assert found.note == shape.note or (shape.cause == ERROR and shape.note in found.note)
    if shape.status == 200:
        assert (found.raw, found.source) == (shape.raw, IDS)
