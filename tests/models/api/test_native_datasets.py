"""Every data set with native calls, each loop of agents and a judge with functions, on servers with the vendors' rules.

The servers refuse what the vendors refuse: calls without results, changed items, thoughts after another beginning.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.judged_adapter import ToolEvalAgentJudgedEvaluator
from opencompass_tooleval.core.calls.call_evidence import EVIDENCE
from opencompass_tooleval.models import ToolEvalOpenAI
from tests.agents.test_judged_evaluator import SUBSET, evaluate, trajectory
from tests.forked import run_opencompass
from tests.judging.support import away
from tests.models.api.scripted_server import KEY, Request, serving
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor, Vendor

__all__ = ['away']  # fixture

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI
from opencompass_tooleval.runners import ToolEvalDevicePool

with read_base():
    from opencompass_tooleval.agents.demo_config_rows import tooleval_agent_rows
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import (
        tooleval_fc_demo_datasets, tooleval_teval_en_v2_fc_datasets, tooleval_teval_zh_v2_fc_datasets,
    )
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

_model = dict(
    type=ToolEvalOpenAI, path='tiny', wire='{wire}', stream={stream}, openai_api_base='{url}', max_workers=8, retry=0,
    key='{key}', max_out_len=64, openai_extra_kwargs=dict(temperature=None), run_cfg=dict(num_gpus=0),
)
models = [dict(_model, abbr='vendor')]
datasets = [*tooleval_fc_demo_datasets, *tooleval_teval_en_v2_fc_datasets, *tooleval_teval_zh_v2_fc_datasets]
for _row in tooleval_agent_rows:
    if any(_row['abbr'].endswith(f'-agent-{{loop}}') for loop in ('fc', 'dfsdt')) and _row['name'] != 'teval_zh':
        if 'judge_cfg' in _row['eval_cfg']['evaluator']:
            _row['eval_cfg']['evaluator']['judge_cfg'] = dict(_model, abbr='judge')
        datasets.append(_row)
work_dir = 'out'
"""
BOTH = pytest.mark.parametrize('kind', [ResponsesVendor, MessagesVendor], ids=['responses', 'messages'])
STREAMED = pytest.mark.parametrize('stream', [False, True], ids=['whole', 'streamed'])


@pytest.mark.parametrize(
    ('kind', 'stream'),
    [
        (MessagesVendor, True),
        pytest.param(ResponsesVendor, False, marks=pytest.mark.long),
        pytest.param(ResponsesVendor, True, marks=pytest.mark.long),
        pytest.param(MessagesVendor, False, marks=pytest.mark.long),
    ],
)
def test_no_request_of_a_dataset_is_refused(tmp_path: Path, kind: type[Vendor], stream: bool) -> None:
    with serving(vendor := kind()) as url:
        text = CONFIG.format(wire=kind.path[1:], stream=stream, url=url, key=KEY)
        (tmp_path / 'native.py').write_text(text, encoding='utf-8')
        done = run_opencompass('native.py', '-w', 'out', cwd=tmp_path, env=dict(os.environ))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert not vendor.refused, (len(vendor.refused), vendor.refused[:3])
    rows = {
        f'{file.stem}/{name}': row
        for file in tmp_path.glob('out/*/predictions/vendor/*.json')
        for name, row in json.loads(file.read_text(encoding='utf-8')).items()
    }
    assert len(rows) == 141 and not any(row.get('reason') for row in rows.values())
    assert {row['thoughts'] for row in rows.values() if 'thoughts' in row} == {'as_sent'}
    less = {name.split('/')[0] for name, row in rows.items() if row.get(EVIDENCE)}
    assert less == {f'tooleval-toolbench_{group}-agent-dfsdt' for group in ('g1', 'g2', 'g3')}
    assert 'were sent without earlier thoughts, which are bound to messages that the loop changed since' in done.stdout


@BOTH
@STREAMED
@pytest.mark.usefixtures('away')
def test_a_judge_with_functions(kind: type[Vendor], stream: bool) -> None:
    class Judge(kind):  # type: ignore[misc,valid-type]
        def made(self, request: Request) -> list[dict[str, Any]]:
            says = {'answer_status': 'Solved', 'reason': 'It is.'}
            items: list[dict[str, Any]] = super().made(request)
            for item in items:
                if 'arguments' in item:
                    item['arguments'] = json.dumps(says)
                elif 'input' in item:
                    item['input'] = says
            return items

    with serving(vendor := Judge()) as url:
        cfg = {'type': ToolEvalOpenAI, 'path': 'judge', 'wire': kind.path[1:], 'openai_api_base': url, 'key': KEY}
        cfg |= {'stream': stream, 'openai_extra_kwargs': {'temperature': None}, 'retry': 0}
        evaluator = ToolEvalAgentJudgedEvaluator(SUBSET, cfg, judgements_per_answer=2, function_calls=True)
        result = evaluate(evaluator, [trajectory()])
    assert result['solved_rate'] == 100 and not vendor.refused and len(vendor.asked) == 2
