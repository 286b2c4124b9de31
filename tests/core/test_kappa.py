"""Cohen's kappa against an example by hand and against scikit-learn."""

from __future__ import annotations

import random

import pytest

from opencompass_tooleval.core.statistics.kappa import cohen_kappa


def test_an_example_by_hand() -> None:
    # 50 items: both say yes to 20, no to 15; only the first yes to 5, only the second to 10.
    # Observed 35/50; chance 25/50 * 30/50 + 25/50 * 20/50 = 0.5; (0.7 - 0.5) / 0.5 = 0.4.
    pairs = [('yes', 'yes')] * 20 + [('no', 'no')] * 15 + [('yes', 'no')] * 5 + [('no', 'yes')] * 10
    assert cohen_kappa(*map(list, zip(*pairs, strict=True))) == pytest.approx(0.4)


def test_scikit_learn_computes_the_same() -> None:
    metrics = pytest.importorskip('sklearn.metrics')
    draw = random.Random(0)
    for _ in range(50):
        first, second = ([draw.choice('abc') for _ in range(30)] for _ in range(2))
        assert cohen_kappa(first, second) == pytest.approx(metrics.cohen_kappa_score(first, second))


def test_the_ends_of_the_scale() -> None:
    assert cohen_kappa('ab', 'ab') == 1
    assert cohen_kappa('ab', 'ba') == -1
    assert cohen_kappa('', '') is None
    assert cohen_kappa('aaa', 'aaa') is None
    assert cohen_kappa('aaa', 'bbb') == 0
    with pytest.raises(ValueError, match='2 and 1'):
        cohen_kappa('ab', 'a')
