"""A sweep whose server dies and comes back."""

from __future__ import annotations

import json
import time
from pathlib import Path

from opencompass_tooleval.work_dir.lock import holder_of
from tests.conftest import start_server
from tests.forked import start_opencompass

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] == 'tooleval-teval-review_str_v2']
models = [dict(type=ToolEvalOpenAI, abbr='api', path='tiny', key='none', openai_api_base='URL', retry=1, timeout=30,
               max_workers=1, batch_size=2, max_out_len=64, max_seq_len=100000, patience=600, backoff=0.5,
               run_cfg=dict(num_gpus=0))]
"""


def _waiting(folder: Path) -> str:
    """What the inference task says that it waits for."""
    holders = [holder_of(lock) for lock in folder.glob('out/*/predictions/api/.*.lock')]
    return next((holder.waiting for holder in holders if holder), '')


def test_a_sweep_waits_for_its_server_and_goes_on(tmp_path: Path) -> None:
    server = start_server('--canned', 'Answer: A', '--latency', '0.5')
    port = server.url.removesuffix('/v1').rpartition(':')[2]
    (tmp_path / 'mine.py').write_text(CONFIG.replace('URL', server.url))
    sweep = start_opencompass('mine.py', '-w', 'out', cwd=tmp_path, output=tmp_path / 'said.txt')
    try:
        while server.stats()['requests'] < 2:
            assert sweep.poll() is None, (tmp_path / 'said.txt').read_text()
            time.sleep(0.1)
        server.stop()
        deadline = time.monotonic() + 1500
        while not _waiting(tmp_path):
            assert sweep.poll() is None and time.monotonic() < deadline, (tmp_path / 'said.txt').read_text()
            time.sleep(0.1)
        assert f'{server.url} has not been reached for' in _waiting(tmp_path)
        server = start_server('--canned', 'Answer: A', '--port', port)
        assert sweep.wait(1500) == 0, (tmp_path / 'said.txt').read_text()
    finally:
        sweep.kill()
        server.stop()
    (predictions,) = tmp_path.glob('out/*/predictions/api/*.json')
    rows = json.loads(predictions.read_text()).values()
    assert {row['finish_reason'] for row in rows if not row['infra']} == {'stop'}
    assert sum(bool(row['infra']) for row in rows) == 0
    (log,) = tmp_path.glob('out/*/logs/infer/api/*.out')
    assert ': reached again after ' in log.read_text()
    (result,) = tmp_path.glob('out/*/results/api/*.json')
    assert json.loads(result.read_text())['samples']['cut'] == 0
