"""Draws samples of published answers, and prints how many records `--within` asks and how often its interval misses.

Usage: python tools/published_samples.py RESULT.json DETAILS.jsonl METRIC [--than RESULT.json DETAILS.jsonl]
           [--within 2] [--first 100] [--seeds 200] [--keys test.json]

The files are what `tooleval score ... --json RESULT.json --details DETAILS.jsonl` writes. `--than` is a second model:
it is printed how often the paired interval of growing samples shows the order of both on all records. `--keys` is a
file of JSON lines whose rows have a `domain`, over which samples are spread, as in the data set of UltraTool.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from opencompass_tooleval.core.statistics.intervals import (
    ALPHA,
    RecordValues,
    compare_column,
    score_interval,
)
from opencompass_tooleval.core.statistics.paired import pair_up, values_of
from opencompass_tooleval.core.statistics.sample import LOOKS, Sample

SIZES = (20, 50, 100, 150, 200, 300, 400, 600)
USUALLY = 0.95


def read(result: Path, details: Path, metric: str) -> tuple[float, RecordValues]:
    """Returns the score on all records, and the values of each."""
    score = json.loads(result.read_text(encoding='utf-8'))['metrics'][metric]
    rows = [json.loads(line) for line in details.read_text(encoding='utf-8').splitlines()]
    values = values_of({'details': rows, metric: score}, metric)
    if values is None:
        raise SystemExit(f'{metric} is no mean over the records of {details}')
    return score, values


def part(values: RecordValues, sample: Sample, keys: Sequence[str]) -> RecordValues:
    """Returns the records of a sample."""
    names, queries = list(values), [record.query or name for name, record in values.items()]
    return {names[place]: values[names[place]] for place in sample.draw(queries, keys)}


def look_at(
    values: RecordValues, first: int, seed: int, points: float, keys: Sequence[str]
) -> tuple[int, float, float]:
    """Returns the records that one run asks, and both ends of its interval."""
    look = 1
    while True:
        sample = Sample(first, seed, look)
        drawn = part(values, sample, keys)
        low, high = score_interval(drawn, len(drawn) / len(values), ALPHA / LOOKS)
        if (high - low) / 2 <= points or look == LOOKS or len(drawn) == len(values):
            return len(drawn), low, high
        look = sample.next_look((high - low) / 2, points, len(values))


def main() -> None:
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('result', type=Path)
    parser.add_argument('details', type=Path)
    parser.add_argument('metric')
    parser.add_argument('--than', type=Path, nargs=2)
    parser.add_argument('--within', type=float, default=2.0)
    parser.add_argument('--first', type=int, default=100)
    parser.add_argument('--seeds', type=int, default=200)
    parser.add_argument('--keys', type=Path)
    options = parser.parse_args()
    score, values = read(options.result, options.details, options.metric)
    keys: list[str] = []
    if options.keys:
        lines = options.keys.read_text(encoding='utf-8').splitlines()
        keys = [str(json.loads(line).get('domain')) for line in lines[: len(values)]]
    runs = [look_at(values, options.first, seed, options.within, keys) for seed in range(options.seeds)]
    asked = sorted(count for count, _, _ in runs)
    missed = fmean(not low - 1e-7 <= score <= high + 1e-7 for _, low, high in runs)
    print(
        f'{options.metric} {score:.2f}: {len(values)} records; +-{options.within:g} asks {fmean(asked):.0f} '
        f'({asked[0]} to {asked[-1]}), misses {missed:.1%}'
    )
    samples = [part(values, Sample(options.first, seed), keys) for seed in range(options.seeds)]
    once = [score_interval(sample, len(sample) / len(values)) for sample in samples]
    misses = fmean(not low - 1e-7 <= score <= high + 1e-7 for low, high in once)
    print(f'  --sample {options.first}: +-{fmean(high - low for low, high in once) / 2:.1f}, misses {misses:.1%}')
    if options.than:
        than, details = options.than
        other_score, other = read(than, details, options.metric)
        for size in (size for size in (*SIZES, len(values)) if size <= len(values)):
            shown = right = 0
            for seed in range(options.seeds):
                drawn = part(values, Sample(size, seed), keys)
                pairs = pair_up([{name: other[name] for name in drawn}], [drawn])
                assert pairs is not None
                interval = compare_column({('', options.metric): 1.0}, {('', options.metric): pairs})
                right += interval.delta * (score - other_score) > 0
                shown += (interval.low if score > other_score else -interval.high) > 0
            print(f'  {size}: order right in {right / options.seeds:.0%}, shown in {shown / options.seeds:.0%}')
            if shown >= USUALLY * options.seeds:
                break


if __name__ == '__main__':
    main()
