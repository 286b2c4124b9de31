"""instructions/adapter: the instructed data sets compared with the plain ones, and provenance of results."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.adapter import ToolEvalTEvalDataset, ToolEvalTEvalEvaluator
from opencompass_tooleval.benchmarks.teval.records import file_stem
from opencompass_tooleval.benchmarks.ultratool.adapter import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.instructions.adapter import ToolEvalTEvalEasyToolDataset, ToolEvalUltraToolEasyToolDataset
from opencompass_tooleval.instructions.subsets import TEVAL_VARIANTS, ULTRATOOL_VARIANTS
from tests.instructions.shared_data import DEMO

SAME = ('record_id', 'record', 'gold_answer')


def check_rows(plain: Any, instructed: Any) -> None:
    """Ids, gold and what is scored are the same; every prompt is another, and so is the name of recorded answers."""
    for column in SAME:
        assert instructed[column] == plain[column]
    assert instructed['source'] == [f'{source}-easytool' for source in plain['source']]
    assert all(new != old for new, old in zip(instructed['messages'], plain['messages'], strict=True))


@pytest.mark.parametrize('subset', TEVAL_VARIANTS)
@pytest.mark.parametrize('language', ['EN', 'ZH'])
def test_teval(subset: str, language: str) -> None:
    place = (f'tooleval:demo/teval/{language}', file_stem(subset, 'v2', language))
    plain = ToolEvalTEvalDataset.load(*place, encoder='offline')
    file = f'tooleval:demo/easytool/teval_{language.lower()}.json'
    check_rows(plain, ToolEvalTEvalEasyToolDataset.load(*place, file, encoder='offline'))


@pytest.mark.parametrize('task', ULTRATOOL_VARIANTS)
@pytest.mark.parametrize('language', ['zh', 'en'])
@pytest.mark.parametrize('shots', [0, 1])
def test_ultratool(task: str, language: str, shots: int) -> None:
    place = ('tooleval:demo/ultratool', task, language)
    plain = ToolEvalUltraToolDataset.load(*place, shots=shots)
    file = f'tooleval:demo/easytool/ultratool_{language}.json'
    instructed = ToolEvalUltraToolEasyToolDataset.load(*place, file, shots=shots)
    check_rows(plain, instructed)
    for row in instructed:
        (message,) = json.loads(row['messages'])
        assert message['role'] == 'user'
        assert "'results':" not in message['content']
        assert message['content'].count("'Example': ") == (
            0 if task != 'tool_usage' else message['content'].count("'arguments': ")
        )


def test_a_command_is_kept_whole_in_a_bounded_message() -> None:
    fix = 'tooleval prepare teval --from ' + 'a/long/path/' * 18
    message = str(DataError('/'.join(['folder'] * 40), 'it is damaged', fix=fix))
    assert message.endswith(f'Fix it with: {fix}')
    assert message.startswith('folder/') and len(message) < 260 + len(fix)


def test_results_name_the_instructions() -> None:
    file = 'tooleval:demo/easytool/teval_en.json'
    digest = hashlib.sha256((DEMO / 'easytool' / 'teval_en.json').read_bytes()).hexdigest()
    for evaluator in (
        ToolEvalTEvalEvaluator('retrieve_str_v2', instructions=file),
        ToolEvalUltraToolEvaluator('tool_usage', 'en', instructions=file),
    ):
        said = evaluator.provenance()
        assert (said['instructions'], said['instructions_sha256']) == (file, digest)
    assert not any('instructions' in key for key in ToolEvalTEvalEvaluator('retrieve_str_v2').provenance())
