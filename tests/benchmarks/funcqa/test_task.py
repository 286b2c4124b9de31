"""FuncQA's registered classes: columns, options, and errors before any request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.funcqa import FuncQADialogues
from opencompass_tooleval.benchmarks.funcqa.data import TABLE, parse_payload
from opencompass_tooleval.benchmarks.funcqa.tables import METHODS, tooleval_funcqa_rows
from opencompass_tooleval.benchmarks.funcqa.task import ToolEvalFuncQADataset
from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from tests.benchmarks.funcqa.support import INSTRUCTIONS as INSTRUCTED
from tests.benchmarks.funcqa.support import INSTRUCTIONS_FILE as INSTRUCTIONS
from tests.instructions.shared_data import DEMO, real


def test_columns() -> None:
    rows = ToolEvalFuncQADataset.load('tooleval:demo/funcqa', 'one_hop')
    assert rows['record_id'] == [str(number) for number in range(13)]
    assert rows[3]['source'] == 'funcqa_one_hop' and rows[3]['gold_answer'] == 'Answer: 0.25'
    (message,) = json.loads(rows[3]['messages'])
    assert message == {'role': 'user', 'content': parse_payload(rows[3]['record']).question}


@pytest.mark.parametrize('subset', TABLE, ids=lambda subset: subset.name)
def test_gold_changes_answers_and_nothing_that_is_asked(subset: Any) -> None:
    path = str(real('funcqa'))
    official, repaired = (ToolEvalFuncQADataset.load(path, subset.name, gold) for gold in ('official', 'repaired'))
    assert official['messages'] == repaired['messages']
    changed = [a != b for a, b in zip(official['gold_answer'], repaired['gold_answer'], strict=True)]
    assert sum(changed) == subset.repaired


def test_what_is_wrong_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='zero_shot, cot, react, easytool'):
        FuncQADialogues('dfsdt')
    with pytest.raises(ValueError, match='needs instructions'):
        FuncQADialogues('easytool')
    with pytest.raises(DataError, match='prepare funcqa'):
        FuncQADialogues('easytool', 'data/nowhere.json')
    with pytest.raises(ValueError, match='official, strict'):
        FuncQADialogues('easytool', INSTRUCTIONS, reading='kind')
    with pytest.raises(ValueError, match='max_requests, max_calls and max_steps must be at least 1'):
        FuncQADialogues('easytool', INSTRUCTIONS, max_requests=0)
    tools = json.loads((DEMO / 'funcqa' / 'functions_data.json').read_text(encoding='utf-8'))
    del tools['5']
    (tmp_path / 'tools.json').write_text(json.dumps(tools), encoding='utf-8')
    with pytest.raises(DataError, match='no instruction for sqrt_'):
        FuncQADialogues('easytool', str(tmp_path / 'tools.json'))


def test_instructions_of_tools_with_two_functions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / 'tools.json'
    doubled = [
        replace(tool, functions=(tool.functions[0], replace(tool.functions[0], name='b')))
        for tool in INSTRUCTED.values()
    ]
    file.write_text(dump_instructions(doubled), encoding='utf-8')
    with pytest.raises(DataError, match='add_'):
        FuncQADialogues('easytool', str(file))


@pytest.mark.parametrize('method', METHODS)
def test_strict_accuracy_stands_beside_accuracy_in_summary_and_report(method: str) -> None:
    for table in (published_columns(), tooleval_funcqa_rows):
        shown = [column for name, column in table if name == f'tooleval-funcqa-{method}']
        assert shown[:4] == ['one_hop', 'one_hop_strict', 'multi_hop', 'multi_hop_strict']
    for subset in TABLE:
        assert subset.metrics[:2] == ('accuracy', 'strict_accuracy')
        score = published_columns()[f'tooleval-funcqa-{method}', f'{subset.name}_strict']
        assert score == {(f'tooleval-funcqa-{subset.name}-{method}', 'strict_accuracy'): 1.0}
