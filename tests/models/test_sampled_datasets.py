"""``sample`` of data sets: the same records in trials, shards and variants, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest
from mmengine.config import ConfigDict
from opencompass.utils import build_dataset_from_cfg

from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset
from opencompass_tooleval.cli.run_data import choose
from opencompass_tooleval.models.settings import setting_faults


def demo(name: str, **changes: Any) -> list[ConfigDict]:
    rows = [ConfigDict({**row, **changes}) for group in choose([name]) for row in group.rows]
    for row in rows:
        if 'check_encoder' in str(row) or 'teval' in str(row['type']).lower():
            row['check_encoder'] = False
    return rows


def ids_of(row: ConfigDict) -> list[str]:
    return list(build_dataset_from_cfg(row).test['record_id'])


def test_trials_and_shards_have_the_records_of_the_sample() -> None:
    (plain, *_) = demo('teval-demo/instruct')
    whole = ids_of(plain)
    once = ids_of(ConfigDict({**plain, 'sample': {'n': 4}}))
    assert 4 <= len(once) < len(whole) and once == [record for record in whole if record in once] != whole[: len(once)]
    several = ConfigDict({**plain, 'sample': {'n': 4}, 'n': 3})
    assert ids_of(several) == once * 3
    for row in (several, ConfigDict({**plain, 'sample': {'n': 4}})):  # as OpenCompass's own partitioner divides them
        middle, end = len(ids_of(row)) // 2, len(ids_of(row))
        parts = [
            ConfigDict({**row, 'abbr': f'd_{number}', 'reader_cfg': {**row['reader_cfg'], 'test_range': cut}})
            for number, cut in enumerate((f'[0:{middle}]', f'[{middle}:{end}]'))
        ]
        assert [record for part in parts for record in ids_of(part)] == ids_of(row)


def test_steps_of_a_query_come_together_and_variants_have_the_same() -> None:
    rows = demo('teval-demo', sample={'n': 5})
    drawn = {row['abbr']: ids_of(row) for row in rows if 'v2_zh' not in row['abbr'] and 'instruct' not in row['abbr']}
    steps = drawn['tooleval-teval-reason_str_v2']
    assert 5 <= len(steps) < 13, 'the last query is asked as a whole'
    for query in ('museum_1 museum_2 museum_3 museum_4', 'office_1 office_2 office_3 office_4', 'supper_1 supper_2'):
        assert len({f'demo_{step}' for step in query.split()} & set(steps)) in (0, len(query.split()))
    with_steps = [ids for name, ids in drawn.items() if 'r' in name.split('-')[2][:1]]
    assert len(with_steps) >= 4 and drawn['tooleval-teval-reason_retrieve_understand_json_v2-fc'] == steps
    assert drawn['tooleval-teval-understand_str_v2'] == steps
    columns = build_dataset_from_cfg(rows[-1]).test.column_names
    assert not {'query', 'spread'} & set(columns), 'only the draw needs them'


def test_samples_of_ultratool_know_the_domains() -> None:
    rows = ToolEvalUltraToolDataset.load(path='tooleval:demo/ultratool', name='tool_usage', language='en')
    assert list(rows['spread']) == ['Rental', 'Restaurant', 'Music', 'Weather', 'Train']


@pytest.mark.parametrize(('changes', 'says'), [
    ({'sample': 5}, 'sample=5'),
    ({'sample': {'n': 5, 'sead': 1}}, 'give dict(n=100)'),
    ({'num_samples': 5}, 'did you mean sample=dict(n=100)?'),
    ({'sample': {'n': 5}, 'reader_cfg': {'test_range': '[:3]'}}, 'both select records'),
])  # fmt: skip
def test_wrong_samples_are_faults_before_the_run(changes: dict[str, Any], says: str) -> None:
    (row,) = demo('teval-demo/review_str')[:1]
    row = ConfigDict({**row, **changes})
    assert any(says in fault.text for fault in setting_faults([], [row])), setting_faults([], [row])
