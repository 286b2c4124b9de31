"""Reads the numbers of an export back, to compare them with the table of ``tooleval export``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

Numbers = dict[tuple[str, str, str], tuple[float, float | None]]
"""Model, data set, and metric with its estimator -> score and standard error."""

HUB = '*=me/data#task'


def of_table(folder: Path) -> Numbers:
    """What ``tooleval export`` wrote: scores, and estimates from several trials."""
    numbers: Numbers = {}
    for line in (folder / 'results.jsonl').read_text('ascii').splitlines():
        row = json.loads(line)
        model, dataset = row['model'], row['dataset']
        for metric, value in row['metrics'].items():
            if value is not None:
                numbers[model, dataset, metric] = value, (row['standard_errors'] or {}).get(metric)
        for metric, by_kind in (row['trials'] or {'metrics': {}})['metrics'].items():
            for name, one in by_kind.items():
                if one['value'] is not None and not (name.startswith('avg@') and metric in row['metrics']):
                    numbers[model, dataset, f'{metric} {name}'] = one['value'], one['standard_error']
    return numbers


def of_every_eval_ever(folder: Path) -> Numbers:
    numbers: Numbers = {}
    for file in folder.glob('data/*/*/*/*.json'):
        record = json.loads(file.read_text('utf-8'))
        for result in record['evaluation_results']:
            config, details = result['metric_config'], result['score_details']
            estimator = config.get('metric_parameters', {}).get('estimator', '')
            metric = result['evaluation_result_id'].split('/')[1]
            error = details.get('uncertainty', {}).get('standard_error', {}).get('value')
            place = record['model_info']['name'], result['evaluation_name'], f'{metric} {estimator}'.strip()
            numbers[place] = details['score'], error
    return numbers


def entries_of(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in sorted(folder.glob('*/.eval_results/*.yaml')):
        yield from ((file, entry) for entry in yaml.safe_load(file.read_text('utf-8')))


READERS: dict[str, Callable[[Path], Numbers]] = {'every-eval-ever': of_every_eval_ever}
"""Format -> reader of all of its numbers; Hugging Face's files have only those of the main metrics."""


def check_numbers(export: Callable[..., Any], run: Path, folder: Path) -> Numbers:
    """Exports a run in every format, and compares all numbers, to the last digit; returns them."""
    export('export', run, '--out', folder / 'rows')
    table = of_table(folder / 'rows')
    for name, read in READERS.items():
        done = export('export', run, '--out', folder / name, '--format', name)
        assert done.code == 0, done.err
        assert read(folder / name) == table, name
    done = export('export', run, '--out', folder / 'hub', '--format', 'hugging-face', '--hub-dataset', HUB)
    assert done.code == 0, done.err
    values: dict[tuple[str, str], set[float]] = {place[:2]: set() for place in table}
    for (model, dataset, _), (value, _) in table.items():
        values[model, dataset].add(value)
    files = {file for file, _ in entries_of(folder / 'hub')}
    assert {(file.parents[1].name, file.stem) for file in files} == set(values)
    assert all(entry['value'] in values[file.parents[1].name, file.stem] for file, entry in entries_of(folder / 'hub'))
    return table
