"""The walks of CONTRIBUTING: the files that a record, a task, a request and a judged answer pass, in this order."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from mmengine.config import Config
from opencompass.registry import ICL_EVALUATORS, ICL_INFERENCERS, ICL_PROMPT_TEMPLATES, ICL_RETRIEVERS
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.models import OracleModel, ToolEvalOpenAI
from opencompass_tooleval.models.api import event_loop
from tests.conftest import ROOT, ModelServer

PACKAGE = ROOT / 'opencompass_tooleval'
BELOW = f'{PACKAGE}/'
DEMO = PACKAGE / 'configs' / 'datasets' / 'demo'
MOST_FILES = 10
OFTEN = 30
ABOUT = {
    'A record of T-Eval': (('benchmarks', 'evaluators', 'inferencers', 'models'), 4),
    'A task of an agent': (('agents', 'inferencers', 'evaluators'), 7),
    'A request': (('models',), 1),
    'A judged answer': (('agents', 'judging', 'evaluators', 'inferencers'), 7),
}
"""Title of a walk -> the folders that it is about, and the number of its items; a file is called often if it is called
:data:`OFTEN` times per item."""
WALK = re.compile(r'^\*\*(?P<title>[^*]+)\*\*[^\n]*:\n\n(?P<files>(?:\d+\. [^\n]+\n)+)', re.MULTILINE)


def walks() -> dict[str, list[str]]:
    """Title of a walk -> its files, below the package."""
    section = (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8').partition('## Four walks')[2].partition('\n## ')[0]
    return {
        found['title']: re.findall(r'^\d+\. `([^`]+)`', found['files'], re.MULTILINE)
        for found in WALK.finditer(section)
    }


def is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(BELOW) and not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return True
        frame = frame.f_back
    return False


@contextmanager
def traced() -> Iterator[dict[str, int]]:
    """Yields the files of the package in the order of their first calls in any thread, with the number of calls."""
    files: dict[str, int] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == 'call' and name.startswith(BELOW) and not is_importing(frame):
            files[name.removeprefix(BELOW)] = files.get(name.removeprefix(BELOW), 0) + 1

    event_loop._thread.forget()  # a thread is traced if it starts from here on
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        event_loop._thread.forget()


def check(title: str, files: dict[str, int]) -> None:
    """Compares a walk with what was called: the order of first calls, and that files with most calls are listed."""
    walk = walks()[title]
    assert walks().keys() == ABOUT.keys() and 0 < len(walk) <= MOST_FILES
    rooms, items = ABOUT[title]
    often = [file for file, calls in files.items() if calls >= OFTEN * items and file.partition('/')[0] in rooms]
    assert [file for file in often if file not in walk] == [], f'{title}: called often, and not listed'
    assert [file for file in files if file in walk] == walk, f'{title}: what was called is\n' + '\n'.join(files)


def infer(abbr: str, folder: Path) -> tuple[Any, Any, list[Any]]:
    """Has the oracle answer a data set of the demo; its row, the data set and the predictions."""
    config = Config.fromfile(DEMO / 'tooleval_demo_gen.py', format_python_code=False)
    rows = [row for key, found in config.items() if key.endswith('_datasets') for row in found]
    row = next(row for row in rows if row['abbr'] == abbr)
    dataset, parts = build_dataset_from_cfg(row), row['infer_cfg']
    inferencer = ICL_INFERENCERS.build(
        {**parts['inferencer'], 'model': OracleModel(), 'output_json_filepath': str(folder), 'batch_size': 1}
    )
    retriever = ICL_RETRIEVERS.build({**parts['retriever'], 'dataset': dataset})
    template = ICL_PROMPT_TEMPLATES.build(parts['prompt_template'])
    inferencer.inference(retriever, prompt_template=template, output_json_filename='predictions.json')
    kept = json.loads((folder / 'predictions.json').read_text(encoding='utf-8'))
    return row, dataset, [kept[str(number)] for number in range(len(kept))]


def score(row: Any, dataset: Any, predictions: list[Any], folder: Path) -> None:
    evaluator = ICL_EVALUATORS.build(row['eval_cfg']['evaluator'])
    evaluator._out_dir = str(folder / 'results' / 'replica')
    columns: dict[str, Any] = {name: dataset.test[name] for name in dataset.test.column_names}
    columns |= {name: [one.get(name) for one in predictions] for name in {*itertools.chain(*predictions)}}
    columns |= {'predictions': columns['prediction'], 'references': columns['record']}
    evaluator.score(
        **{name: columns.get(name, [None] * len(predictions)) for name in inspect.signature(evaluator.score).parameters}
    )


def test_a_record_of_teval(tmp_path: Path) -> None:
    with traced() as files:
        score(*infer('tooleval-teval-plan_json_v2', tmp_path), tmp_path)
    check('A record of T-Eval', files)


def test_a_task_of_an_agent(tmp_path: Path) -> None:
    with traced() as files:
        infer('tooleval-toolbench_g1-agent-fc', tmp_path)
    check('A task of an agent', files)


def test_a_judged_answer(tmp_path: Path) -> None:
    done = infer('tooleval-toolbench_g1-agent-fc', tmp_path)
    with traced() as files:
        score(*done, tmp_path)
    check('A judged answer', files)


def test_a_request(canned_server: ModelServer) -> None:
    with traced() as files:
        model = ToolEvalOpenAI('tiny', key='right', openai_api_base=canned_server.url)
        assert model.generate(['Hello'], max_out_len=16) == ['Answer: A']
    check('A request', files)
