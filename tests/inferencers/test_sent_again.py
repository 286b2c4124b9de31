"""Failed requests are sent once more at the end of a data set, if they are few and may succeed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.inferencers.inferencer import InfraFailureError
from opencompass_tooleval.work_dir.lock import exclusive
from opencompass_tooleval.work_dir.names import Replica
from opencompass_tooleval.work_dir.replicas import Claims
from opencompass_tooleval.work_dir.run_context import in_context
from tests.inferencers.test_dialogue_inferencer import Run as DialogueRun
from tests.inferencers.test_dialogue_inferencer import expected, where
from tests.inferencers.test_inferencer import Run, StubModel, make_rows
from tests.stored import stored_rows

USAGE = Usage(10, 5)


def fails(times: int, *failing: str, reason: str = 'infra:server') -> Callable[[Any], Answer]:
    """Fails so many times for these records, and then answers."""
    tries: Counter[str] = Counter()

    def reply(prompt: Any) -> Answer:
        tries[prompt.record_id] += 1
        is_failure = prompt.record_id in failing and tries[prompt.record_id] <= times
        return Answer('', reason, usage=USAGE) if is_failure else Answer(f'answer to {prompt.record_id}', usage=USAGE)

    return reply


def again(folder: Path, count: int, model: StubModel, **settings: Any) -> list[str]:
    """The records that were asked twice."""
    run = Run(folder, make_rows(count), model, batch_size=32, **{'max_infra_share': 1, **settings})
    run.go()
    return sorted(record for record, times in Counter(model.records_asked()).items() if times > 1)


def test_few_failures_are_sent_again_and_cost_nothing_but_their_tokens(tmp_path: Path) -> None:
    run = Run(tmp_path, make_rows(60), StubModel(fails(1, 'r1', 'r2', 'r3')), batch_size=8)
    rows = run.go()
    assert [row['prediction'] for row in rows] == [f'answer to r{index}' for index in range(60)]
    assert run.model.records_asked()[60:] and len(run.model.records_asked()) == 63
    assert [row['usage']['prompt'] for row in rows[:5]] == [10, 20, 20, 20, 10]
    assert Run(tmp_path, make_rows(60)).go() == rows and len(stored_rows(run.store)) == 63


@pytest.mark.parametrize(
    ('count', 'failed', 'is_sent'), [(60, 4, False), (80, 4, True), (1200, 50, True), (1200, 51, False)]
)
def test_many_failures_are_not(tmp_path: Path, count: int, failed: int, is_sent: bool) -> None:
    failing = [f'r{index}' for index in range(failed)]
    assert again(tmp_path, count, StubModel(fails(1, *failing))) == (sorted(failing) if is_sent else [])


@pytest.mark.parametrize('reason', ['infra:filter', 'infra:truncated', 'infra:simulator:budget'])
def test_those_that_would_fail_alike_are_not(tmp_path: Path, reason: str) -> None:
    others = fails(9, 'r1', reason=reason)
    server = fails(1, 'r2')
    model = StubModel(lambda prompt: (others if prompt.record_id == 'r1' else server)(prompt))
    assert again(tmp_path, 60, model) == ['r2']


def test_what_fails_twice_may_be_one_of_a_hundred(tmp_path: Path) -> None:
    model = StubModel(fails(2, 'r7'))
    assert again(tmp_path / 'enough', 100, model, max_infra_share=None) == ['r7']
    with pytest.raises(InfraFailureError, match=r'1 of 99 .* max_infra_share allows 0\.50%'):
        again(tmp_path / 'few', 99, StubModel(fails(2, 'r7')), max_infra_share=None)
    with pytest.raises(InfraFailureError, match=r'2 of 150 .* max_infra_share allows 0\.67%'):
        again(tmp_path / 'two', 150, StubModel(fails(2, 'r7', 'r8')), max_infra_share=None)
    with pytest.raises(InfraFailureError, match=r'1 of 100 .* max_infra_share allows 0\.50%'):
        again(tmp_path / 'own', 100, StubModel(fails(2, 'r7')), max_infra_share=0.005)


def test_a_dialogue_goes_on_at_its_failed_request(tmp_path: Path) -> None:
    tries: Counter[str] = Counter()

    def reply(prompt: Any) -> Answer | str:
        tries[where(prompt)] += 1
        failed = where(prompt).endswith('r3, round 2') and tries[where(prompt)] == 1
        return Answer('', 'infra:timeout') if failed else f'<{where(prompt)}>'

    run = DialogueRun(tmp_path, StubModel(reply))
    run.rows = make_rows(24)
    rows = run.go()
    assert [row['prediction'] for row in rows] == [expected(index) for index in range(24)]
    assert run.model.asked[-2:] == [['r3/2'], ['r3/3']]


def test_the_last_replica_sends_them(tmp_path: Path) -> None:
    run = Run(tmp_path, make_rows(40), StubModel(fails(1, 'r5')))
    claims = Claims(run.predictions, Replica(0, 2, 'x'))
    returns_nothing = pytest.raises(AssertionError, match='== ')  # a replica returns no predictions
    with exclusive(claims.lock), in_context(claims=claims), returns_nothing:
        run.go()
    rows = Run(tmp_path, make_rows(40)).go()
    assert not any(row['infra'] for row in rows) and run.model.records_asked()[40:] == ['r5']
