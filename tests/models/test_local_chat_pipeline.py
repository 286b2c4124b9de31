"""Tools offered to a real tiny model through the real ``opencompass``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from transformers import AutoTokenizer

from tests.forked import start_opencompass
from tests.models.tool_templates import HERMES

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models.local_chat import ToolEvalHFChat

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_teval_demo_gen import tooleval_teval_en_v2_fc_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in tooleval_teval_en_v2_fc_datasets if row['abbr'] == 'tooleval-teval-instruct_v2-fc']
models = [dict(type=ToolEvalHFChat, abbr='tiny', path=PATH, max_out_len=48, batch_size=8, run_cfg=dict(num_gpus=0))]
"""


def run(folder: Path, tiny_model: Path, template: str) -> tuple[int, str, Path]:
    """A sweep with a model whose chat template is this one: its exit status, what it printed, and its folder."""
    model = shutil.copytree(tiny_model, folder / 'model')
    (model / 'chat_template.jinja').write_text(template, encoding='utf-8')
    (folder / 'mine.py').write_text(CONFIG.replace('PATH', repr(str(model))), encoding='utf-8')
    printed = folder / 'printed.txt'
    status = start_opencompass('mine.py', '-w', 'out', '--debug', cwd=folder, output=printed).wait()
    (out,) = (folder / 'out').iterdir()
    return status, printed.read_text(encoding='utf-8', errors='replace'), out


def test_a_local_model_answers_a_data_set_with_tools(tmp_path: Path, tiny_model: Path) -> None:
    status, printed, out = run(tmp_path, tiny_model, HERMES)
    assert status == 0, printed[-3000:]
    rows = json.loads((out / 'predictions' / 'tiny' / 'tooleval-teval-instruct_v2-fc.json').read_text(encoding='utf-8'))
    assert len(rows) == 26 and all(row['prediction'] and row['tools'] for row in rows.values())
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / 'model')
    for row in rows.values():
        asked = tokenizer.apply_chat_template(
            row['origin_prompt'], tools=row['tools'], add_generation_prompt=True, return_dict=True
        )
        assert row['usage']['prompt'] == len(asked['input_ids']) and row['usage']['counted']
    result = json.loads((out / 'results' / 'tiny' / 'tooleval-teval-instruct_v2-fc.json').read_text(encoding='utf-8'))
    assert result['reasons'] == {'call:none': 26} and result['json_format_metric'] == 0
