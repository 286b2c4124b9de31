"""Working directories as OpenCompass and our evaluators leave them, with made-up samples."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HOSTILE = '</script><script>window.ran=1</script><img src=x onerror="window.ran=1">&amp;\'"`${}\u2028\ud800\x00$x_'


def detail(record: str, value: float | None = 1.0, reason: str = 'ok', **changes: Any) -> dict[str, Any]:
    """A sample of ``review_str``."""
    values = {'parse_rate': 1.0, 'review_quality': value}
    answer = {'parsed': 'A', 'parse_method': 'text', 'gold': 'A'}
    return {'id': record, 'values': values, 'reason': reason, **answer, **changes}


def right_of(right: int, count: int, reason: str = 'review:wrong') -> list[dict[str, Any]]:
    """As many samples of ``review_str``, of which the first are right."""
    return [detail(f'r{i}', *((1.0, 'ok') if i < right else (0.0, reason))) for i in range(count)]


def result_of(details: Sequence[Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    """A result whose scores are the means of its samples."""
    metrics = {}
    for name in details[0]['values']:
        values = [one['values'][name] for one in details if one['values'][name] is not None]
        metrics[name] = 100 * sum(values) / len(values) if values else None
    return {
        **metrics,
        'standard_errors': dict.fromkeys(metrics, 1.5),
        'reasons': dict(Counter(one['reason'] for one in details)),
        'samples': {'all': len(details), 'infra': 0},
        'provenance': {'benchmark': 'teval', 'subset': 'review_str', 'language': 'EN', 'encoder': None},
        'details': list(details),
        **changes,
    }


def write(folder: Path, stage: str, model: str, dataset: str, content: Any) -> Path:
    """A result or predictions file."""
    file = folder / stage / model / f'{dataset}.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding='utf-8')
    return file


def add(folder: Path, model: str, dataset: str, result: Mapping[str, Any], prompt: str = 'Ask.') -> None:
    """A result and its predictions."""
    (folder / 'configs').mkdir(parents=True, exist_ok=True)
    (folder / 'configs' / 'run.py').write_text('models = []\n', encoding='utf-8')
    write(folder, 'results', model, dataset, result)
    predictions = {
        str(i): {
            'origin_prompt': [{'role': 'HUMAN', 'prompt': f'{prompt} {one["id"]}'}],
            'prediction': f'answer of {model} to {one["id"]}',
            'record_id': one['id'],
            'infra': None,
        }
        for i, one in enumerate(result['details'])
    }
    write(folder, 'predictions', model, dataset, predictions)


def plain_run(folder: Path) -> Path:
    """Two models on T-Eval's review and FuncQA: 120 samples each, of which a third differ."""
    for model, step in (('better', 6), ('worse', 2)):
        details = [
            detail(f'r{i}', *((0.0, 'review:wrong') if i % step == 1 else (1.0, 'ok')), domain=f'D{i % 2}')
            for i in range(120)
        ]
        add(folder, model, 'tooleval-teval-review_str_v2', result_of(details))
        funcqa = {'benchmark': 'funcqa', 'subset': 'one_hop'}
        answers = [{**one, 'values': {'accuracy': one['values']['review_quality']}} for one in details[:9]]
        add(folder, model, 'tooleval-funcqa-one_hop-cot', result_of(answers, provenance=funcqa))
    return folder


def hostile_run(folder: Path) -> Path:
    """A model that says what no page should run, in every field that can hold it."""
    one = {
        **dict.fromkeys(('id', 'parse_method', 'domain', 'said'), HOSTILE),
        'values': {HOSTILE: 0.5, 'review_quality': 0.0},
        'reason': f'args:{HOSTILE}',
        'parsed': {HOSTILE: [HOSTILE, {'deep': HOSTILE}]},
        'gold': {HOSTILE: HOSTILE},
    }
    provenance = {HOSTILE: HOSTILE, 'encoder': HOSTILE, 'language': 'EN', 'judge': HOSTILE, 'rebuilt': True}
    domains = {'domains': {HOSTILE: {'overall': 5.0}}}
    result = result_of([one], provenance=provenance, breakdown=domains)
    model = 'm<img src=x onerror="window.ran=1">$_^'
    for dataset in ('tooleval-teval-review_str_v2', 'd<b onclick=ran()>&', 'tooleval-ultratool-planning_en'):
        add(folder, model, dataset, result)
        prompt = [{'role': HOSTILE, 'prompt': HOSTILE}]
        row = {'origin_prompt': prompt, 'prediction': HOSTILE, 'record_id': HOSTILE, 'infra': HOSTILE}
        write(folder, 'predictions', model, dataset, {'0': row})
    log = folder / 'logs' / 'infer' / model / 'lost.out'
    log.parent.mkdir(parents=True)
    log.write_text(f'lost: Error {HOSTILE[:90]}', encoding='utf-8', errors='replace')
    write(folder, 'predictions', model, 'lost', {})
    return folder


def csv_of(out: Path, name: str) -> list[dict[str, str]]:
    """The rows of a table of a report."""
    with (out / 'files' / f'{name}.csv').open(encoding='utf-8', newline='') as stream:
        return list(csv.DictReader(stream))


def data_of(script: Path) -> list[Any]:
    """The arguments of a data script."""
    return arguments_of(script.read_text(encoding='ascii'))


def samples_of(out: Path, dataset: str = '', chunk: int = 0) -> list[list[dict[str, Any]]]:
    """The rows of a report's sample browser, by model, of the data sets whose names have this part."""
    pairs = data_of(out / 'samples' / 'index.js')[0]['pairs']
    folders = [pair['folder'] for pair in pairs if dataset in pair['dataset']]
    return [data_of(out / 'samples' / folder / f'{chunk}.js')[1] for folder in folders]


def arguments_of(script: str) -> list[Any]:
    """The arguments of the one call that a script is."""
    argument = r"JSON\.parse\('((?:[^'\\]|\\.)*)'\)"
    texts = re.findall(argument, script)
    assert re.fullmatch(r'[\w.]+\([x,]*\);\n', re.sub(argument, 'x', script))
    found: list[Any] = [json.loads(re.sub(r'\\(.)', r'\1', text)) for text in texts]
    return found
