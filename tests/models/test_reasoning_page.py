"""The settings on the page about reasoning models, as a server receives them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.models import VLLMwithChatTemplate

from opencompass_tooleval.models import ToolEvalOpenAI, ToolEvalVLLMChat
from opencompass_tooleval.models.settings import setting_faults
from tests.conftest import ROOT
from tests.models.api.scripted_server import KEY, Request, Script, serving
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor

PAGE = (ROOT / 'docs' / 'how-to' / 'reasoning-models.md').read_text(encoding='utf-8')
SNIPPETS = re.findall(r'^```python\n(.*?)^```', PAGE, re.M | re.S)
ROWS = re.findall(r'^\| (.*) \| `(\w+=dict\(.*\))` \|$', PAGE, re.M)
API = {'type': ToolEvalOpenAI, 'abbr': 'm', 'path': 'x', 'batch_size': 1}
OF_OPENCOMPASS = ('type', 'abbr', 'batch_size', 'max_out_len', 'run_cfg')


class Ready(Script):
    """Is ready, whatever it is asked."""

    def admits(self, authorization: str) -> bool:
        return True

    def complete(self, request: Request) -> Any:
        self.asked.append(request)
        return {'choices': [{'index': 0, 'message': {'content': 'ready'}, 'finish_reason': 'stop'}]}


def sent(model: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Path, headers and body of the request with which a model of a config asks a server in its place."""
    assert setting_faults([model], []) == []
    settings = {name: value for name, value in model.items() if name not in OF_OPENCOMPASS}
    script = Ready()
    with serving(script) as url:
        built = ToolEvalOpenAI(**{'key': 'k', **settings, 'openai_api_base': url})
        (answer,) = built.answers(['Are you there?'], model.get('max_out_len', 512))
    assert answer.text == 'ready'
    ((path, headers),) = script.heads
    (body,) = script.asked
    return path, headers, body


def models_of(snippet: str, folder: Path) -> list[dict[str, Any]]:
    file = folder / 'models.py'
    file.write_text(snippet, encoding='utf-8')
    return [dict(model) for model in Config.fromfile(file, format_python_code=False)['models']]


def test_examples(tmp_path: Path) -> None:
    first, formats, second, third = (models_of(snippet, tmp_path) for snippet in SNIPPETS)
    for model, vendor in zip(formats, (ResponsesVendor(), MessagesVendor()), strict=True):
        assert setting_faults([model], []) == [] and ToolEvalOpenAI.why_no_temperature(model)
        settings = {name: value for name, value in model.items() if name not in OF_OPENCOMPASS}
        extra = {'temperature': None, **settings['openai_extra_kwargs']}  # as at the vendor's own address
        with serving(vendor) as url:
            replaced = {'key': KEY, 'openai_api_base': url, 'openai_extra_kwargs': extra}
            (answer,) = ToolEvalOpenAI(**{**settings, **replaced}).answers(['Hello'], model['max_out_len'])
        (body,) = vendor.asked
        assert answer.text.endswith('Answer: 0') and {'effort': 'high'} in body.values()
    thinks = [sent(model)[2] for model in first]
    assert [body['chat_template_kwargs'] for body in thinks] == [{'enable_thinking': True}, {'enable_thinking': False}]
    assert all(body['max_tokens'] == 16384 and body['stream'] is True and body['temperature'] == 0 for body in thinks)
    assert first[0]['abbr'] != first[1]['abbr']
    body = sent(second[0])[2]
    assert 'temperature' not in body and body['max_tokens'] == 32768 and body['stream'] is True
    path, headers, body = sent(third[0])
    assert path == '/v1/chat/completions?api-version=2026-01' and headers['X-Project'] == 'evaluation'
    assert body['reasoning_effort'] == 'high'
    assert not {'extra_body', 'extra_headers', 'extra_query'} & set(body)


@pytest.mark.parametrize(('who', 'setting'), ROWS, ids=[who[:30] for who, _ in ROWS])
def test_settings_of_the_tables(who: str, setting: str) -> None:
    name, _, text = setting.partition('=')
    value = value_of(text)
    if who == '`ToolEvalVLLMChat`':
        model = {'type': ToolEvalVLLMChat, 'abbr': 'm', 'path': 'x', name: value}
        assert setting_faults([model], []) == [] and name in VLLMwithChatTemplate.__init__.__code__.co_varnames
        return
    body = sent({**API, name: value})[2]
    assert {key: body[key] for key in value} == value


def test_every_row_is_tried_and_a_limit_in_the_body_is_refused() -> None:
    tables = [line for line in PAGE.splitlines() if line.startswith('| ')]
    assert len(ROWS) == len(tables) - 4 - 5  # two heads of two lines, and the table of request formats
    (fault,) = setting_faults([{**API, 'extra_body': {'max_tokens': 9}}], [])
    assert 'leave max_tokens out: requests get it from max_out_len' in fault.text


def value_of(text: str) -> Any:
    """The value of ``dict(...)`` of literals."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Call):
            return {str(keyword.arg): value(keyword.value) for keyword in node.keywords}
        return ast.literal_eval(node)

    return value(ast.parse(text, mode='eval').body)
