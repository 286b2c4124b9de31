"""Texts that are no description of a tool: refusals, parts of objects, and texts about something else."""

from __future__ import annotations

import pytest

from opencompass_tooleval.core.scoring.refusal import declines_or_apologizes
from opencompass_tooleval.extras.preparing.generate import check_description
from opencompass_tooleval.tool_docs.instruction import Parameter
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from tests.instructions.shared_data import real

SHOP = ToolDoc(
    'Shop',
    'A shop. Best prices!',
    (FunctionDoc('getDetails', 'Retrieves a product.', (Parameter('id', 'NUMBER'),)), FunctionDoc('[Search', 'Finds.')),
)
CHINESE = ToolDoc('天气查询', '查询城市的天气预报', (FunctionDoc('query_weather', '返回温度和湿度'),))
ODD = ToolDoc('Sorry {game', 'A board game.', (FunctionDoc('roll', 'Rolls dice.'),))
WORDLESS = ToolDoc('???', '', (FunctionDoc('!', ''),))


@pytest.mark.parametrize(
    ('doc', 'text', 'codes'),
    [
        (SHOP, "'Shop' can sell.", []), (SHOP, 'Retrieving products of all kinds.', []),
        (SHOP, 'It can tell details.', []), (SHOP, "It lists products. 1. '[Search' is to find.", []),
        (SHOP, 'Get a product at /product/{id} [new].', []), (SHOP, 'sorry {', ['refusal', 'bracket', 'unrelated']),
        (SHOP, "I'm sorry, but I can't describe this shop.", ['refusal']),
        (SHOP, 'Unfortunately, I am unable to read the product.', ['refusal']),
        (SHOP, 'The shop is fine. As an AI language model, I cannot say more.', ['refusal']),
        (SHOP, 'A product }', ['bracket']), (SHOP, 'A product [', ['bracket']), (SHOP, 'A product {]}', ['bracket']),
        (SHOP, 'This tool can help you with it.', ['unrelated']), (SHOP, 'Forecasts rain.', ['unrelated']),
        (SHOP, '...', ['unrelated']), (CHINESE, '查询天气预报的工具', []), (CHINESE, '该工具可以返回温度。', []),
        (CHINESE, 'query_weather 返回结果', []), (CHINESE, '抱歉，我无法描述这个天气工具。', ['refusal']),
        (CHINESE, '作为一个AI语言模型，天气预报', ['refusal']), (CHINESE, '这个工具可以使用', ['unrelated']),
        (CHINESE, '天气预报 {', ['bracket']), (ODD, "'Sorry {game' can roll dice.", []),
        (ODD, 'Sorry {game is a board game.', []), (ODD, 'Sorry, no.', ['refusal', 'unrelated']),
        (WORDLESS, 'Anything goes.', []), (WORDLESS, 'sorry {', ['refusal', 'bracket']),
    ],
)  # fmt: skip
def test_descriptions(doc: ToolDoc, text: str, codes: list[str]) -> None:
    assert [fault.code for fault in check_description(doc, text)] == [f'description:{code}' for code in codes]


@pytest.mark.parametrize('text', ['if you cannot find a film', 'Apology letters are written', 'It can say sorry.', ''])
def test_no_refusal(text: str) -> None:
    assert not declines_or_apologizes(text)


@pytest.mark.parametrize(
    ('kind', 'place'),
    [
        ('toolbench', 'toolbench/G1_instruction.json'),
        ('toolbench', 'toolbench/G2_category.json'),
        ('toolbench', 'toolbench/G3_instruction.json'),
        ('openapi', 'restbench/specs/tmdb_oas.json'),
        ('openapi', 'restbench/specs/spotify_oas.json'),
    ],
)
def test_descriptions_by_rule_pass(kind: str, place: str) -> None:
    """They are sentences of the documentation itself."""
    for doc in load_docs(kind, real(place)):
        said = template_instruction(doc).description
        if said:
            assert check_description(doc, said) == [], doc.name


def test_published_descriptions_pass() -> None:
    docs = {f.name: doc for doc in load_docs('openapi', real('restbench/specs/tmdb_oas.json')) for f in doc.functions}
    tools = load_instructions(real('easytool/tmdb_tool.json')).values()
    assert len(tools) == 54
    for tool in tools:
        assert check_description(docs[tool.functions[0].name], tool.description) == []
