"""What a fix of gold answers moves, on the answers that the authors of EasyTool published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.findings.of_results import scored_again
from opencompass_tooleval.tasks.eval_task import RESCORED, rescored, to_json
from opencompass_tooleval.work_dir.stored import ANSWERS, ORIGIN, SCORING, with_origin
from tests.cli.conftest import Command
from tests.instructions.shared_data import expected, real

CASES = {
    'one_hop': ('funcqa', 'one_hop', 'easytool/funcqa_one-hop_chatgpt.json', 'funcqa/funcqa_oh.json'),
    'multi_hop': ('funcqa', 'multi_hop', 'easytool/funcqa_multi-hop_chatgpt.json', 'funcqa/funcqa_mh.json'),
    'tmdb': ('restbench', 'tmdb', 'easytool/restbench_tmdb_chatgpt.jsonl', 'restbench/tmdb.json'),
}


def scored(tooleval: Command, folder: Path, case: str, gold: str) -> dict[str, Any]:
    """The part of a result that the answers' scores make."""
    benchmark, subset, answers, data = CASES[case]
    specs = ('--specs', real('restbench/specs/tmdb_oas.json')) if benchmark == 'restbench' else ()
    files = ('--data', real(data), *specs, '--json', folder / 'scores.json', '--details', folder / 'rows.jsonl')
    done = tooleval('score', benchmark, subset, expected(answers), '--gold', gold, *files)
    assert done.code == 0, done.err
    metrics = json.loads((folder / 'scores.json').read_text(encoding='utf-8'))['metrics']
    rows = (folder / 'rows.jsonl').read_text(encoding='utf-8').splitlines()
    return {**metrics, 'details': [json.loads(row) for row in rows]}


@pytest.mark.parametrize('case', CASES)
def test_errata_on_published_answers(tooleval: Command, tmp_path: Path, case: str) -> None:
    before, after = (scored(tooleval, tmp_path, case, gold) for gold in ('official', 'repaired'))
    origins = [{ANSWERS: 'same answers', SCORING: gold} for gold in ('official', 'repaired')]
    file = tmp_path / 'X.json.outdated'
    file.write_text(with_origin(to_json(before), origins[0]), encoding='utf-8')
    found = rescored(file, after, origins[1])
    flips = {'right': [], 'wrong': []}  # type: dict[str, list[str]]
    metric = next(name for name, value in after.items() if isinstance(value, float))
    for old, new in zip(before['details'], after['details'], strict=True):
        assert old['id'] == new['id']
        if old['values'][metric] != new['values'][metric]:
            flips['right' if new['values'][metric] else 'wrong'].append(old['id'])
    assert flips['right'] or flips['wrong']
    moved = found['metrics'][metric]
    assert (moved['right'], moved['wrong'], moved['before']) == (flips['right'], flips['wrong'], before[metric])
    count = len(after['details'])
    assert after[metric] == pytest.approx(before[metric] + 100 * (len(flips['right']) - len(flips['wrong'])) / count)
    (finding,) = scored_again({('m', 'd'): {**after, RESCORED: found}})
    assert f'{metric} was {before[metric]:.2f} and is {after[metric]:.2f}' in finding.text
    assert rescored(file, before, {**origins[0], SCORING: 'the same by another name'}) == {}
    assert rescored(file, after, {**origins[1], ANSWERS: 'others'}) == {}
    file.write_text(with_origin(to_json({**after, RESCORED: found}), origins[1]), encoding='utf-8')
    assert rescored(file, after, origins[1]) == found, 'scored again for another reason'
    assert ORIGIN not in after


def test_a_damaged_earlier_result_says_nothing(tmp_path: Path) -> None:
    for content in ('', '{', '[]', '{"computed_from": 1}', '{"computed_from": {"predictions_sha256": "a"}}'):
        (tmp_path / 'a').write_text(content)
        assert rescored(tmp_path / 'a', {'accuracy': 1.0}, {ANSWERS: 'b', SCORING: 's'}) == {}
    strange: Any = {RESCORED: {'metrics': {'accuracy': [1], 'b': {'before': 'x', 'right_count': -1}}}}
    assert all('was -' in one.text for one in scored_again({('m', 'd'): strange}))
