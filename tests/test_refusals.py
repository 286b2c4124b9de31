"""A model that declines everything: its losses have one reason in every benchmark."""

from __future__ import annotations

import json
from pathlib import Path

from opencompass_tooleval.core.scoring.refusal import MAX_REFUSAL_CHARS, is_refusal
from tests.conftest import start_server
from tests.forked import run_opencompass

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer

models = [
    dict(type=ToolEvalOpenAI, abbr='declines', path='tiny', openai_api_base='{url}', key='none', max_out_len=64,
         max_seq_len=100000, batch_size=8, max_workers=8, query_per_second=1000, run_cfg=dict(num_gpus=0))
]
_left_out = ('planning', 'success', 'spotify', 'g3', 'multi_hop', '_v2-easytool', 'tmdb-easytool', 'g2-easytool')
_of_a_kind = ('n_str', 'e_str', 'd_str', 'awareness', 'usage', 'cot', 'g1-agent', 'agent-react', 'dfsdt')
datasets = [row for row in datasets if row['abbr'].endswith('_zh') == ('ultratool' in row['abbr'])]
datasets = [row for row in datasets if not any(part in row['abbr'] for part in _left_out + _of_a_kind)]
"""


def test_every_benchmark_names_a_refusal(tmp_path: Path) -> None:
    server = start_server('--canned', "I'm sorry, but I can't help with that.")
    try:
        (tmp_path / 'config.py').write_text(CONFIG.replace('{url}', server.url), encoding='utf-8')
        done = run_opencompass('config.py', '-w', 'out', '--debug', cwd=tmp_path)
    finally:
        server.stop()
    files = sorted(tmp_path.glob('out/*/results/declines/*.json'))
    reasons = {file.stem: json.loads(file.read_text(encoding='utf-8')).get('reasons') for file in files}
    assert len(reasons) > 15, done.stderr[-2000:]
    assert {name: found for name, found in reasons.items() if list(found or ()) != ['answer:refused']} == {}


DECLINES = [
    "I'm sorry, but I can't help with that.", 'I’m sorry, I can’t assist with that.', 'I must decline to answer.',
    'Sorry, I cannot assist with that request.', 'I apologize for any inconvenience, but I cannot answer.',
    "I apologize, but I'm not able to provide that information.", "I won't be able to help with that.", 'I cannot.',
    'Unfortunately, I am unable to fulfill this request.', '"I cannot help with this."', '我无法帮助您完成这个任务。',
    "I'm sorry, but as an AI developed by a company, I can't do it.", '对不起，但是我不能提供这些信息。',
    'As an AI language model, I do not have access to tools.', '抱歉，我无法完成这个请求。',
    '作为一个AI语言模型，我无法回答这个问题。',
]  # fmt: skip
ANSWERS = [
    '', 'I can help with that.', 'I do not think that a tool is needed.', "I can't see why not: Search.",
    'I am sorry for the wait. GET /movie/{id}', "I'm sorry, I can't see the weather. ['Weather']",
    "Thought: I'm sorry, but I can't help with that.", 'Sorry, I cannot answer at once. First:\nAction: search',
    'Sorry, I cannot do it in one step:\n1. search\n2. book', '不能超过三步。1. 查询 2. 预订', '抱歉，让您久等了。',
    "I can't help you with the flight, but here is the hotel:\n```\nbook()\n```", '我不能使用工具',
    'The user says: "I\'m sorry, but I can\'t help with that."',
    "I'm sorry, but I can't help. " + 'x' * MAX_REFUSAL_CHARS,
]  # fmt: skip


def test_what_declines_and_what_answers() -> None:
    assert [text for text in DECLINES if not is_refusal(text)] == []
    assert [text for text in ANSWERS if is_refusal(text)] == []
