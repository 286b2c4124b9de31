"""Bundles: what is in them, what is not, and what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.redaction import redact
from opencompass_tooleval.extras.exports import bundle as bundles
from opencompass_tooleval.extras.exports.bundle import add_bundle, read_bundle, write_bundle
from opencompass_tooleval.results.table import read
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.report.support import add, detail, plain_run, result_of

KEY = 'k-0123456789abcdef'
CONFIG = """
models = [
    dict(type='opencompass_tooleval.models.ToolEvalOpenAI', abbr='m', path='/home/somebody/models/qwen', key='{key}',
         openai_api_base='http://10.0.0.7:8000/v1', temperature=0.5, extra_body=dict(top_p=0.9, secret='{key}')),
]
"""


def fill(folder: Path, **provenance: Any) -> WorkDir:
    """A run of one model, with a key in every place that may hold one."""
    run = folder / '20260102_030405'
    about = {'benchmark': 'teval', 'subset': 'review_str', 'language': 'EN', 'version': '3', **provenance}
    add(run, 'm', 'tooleval-teval-review_str_v2', result_of([detail(f'r{i}') for i in range(9)], provenance=about))
    (run / 'configs' / 'run.py').write_text(CONFIG.format(key=KEY), encoding='utf-8')
    return WorkDir(run)


def sealed(body: bytes, mark: str = 'tooleval-bundle 1') -> bytes:
    return f'{mark} {hashlib.sha256(body).hexdigest()}\n'.encode() + body


def pack(content: object, mark: str = 'tooleval-bundle 1') -> bytes:
    """A bundle of any content, with the right digest."""
    return sealed(json.dumps(content).encode() + b'\n', mark)


def content_of(file: Path) -> Any:
    return json.loads(file.read_bytes().split(b'\n')[1])


@pytest.fixture
def made(tmp_path: Path) -> Path:
    file = tmp_path / 'm.bundle'
    work = fill(tmp_path)
    write_bundle(work, file, list(work.pairs()))
    return file


def test_a_bundle_has_what_tables_need_and_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = plain_run(tmp_path / 'a' / '20260102_030405')
    work, file = WorkDir(run), tmp_path / 'one.bundle'
    digest, count = write_bundle(work, file, list(work.pairs()))
    read_back = read_bundle(file)
    assert (read_back.digest, read_back.date, count) == (digest, '2026-01-02 03:04', 4)
    scored = read([run]).by_pair()
    for result in read_back.results:
        entry = scored[result.model, result.dataset].result
        kept = {key: value for key, value in result.result.items() if value not in ({}, [])}
        assert kept == {key: value for key, value in entry.items() if value not in ({}, [])}
        assert not result.is_private
    other = tmp_path / 'two.bundle'
    write_bundle(work, other, list(work.pairs()))
    assert other.read_bytes() == file.read_bytes()


def test_correlations_of_a_column_are_kept(tmp_path: Path) -> None:
    run = tmp_path / '20260102_030405'
    values = [{'thought': i % 3 / 2, 'args': i / 9, 'name': float(i % 2)} for i in range(9)]
    rows = [detail(f'r{i}', values=by_metric) for i, by_metric in enumerate(values)]
    name = 'tooleval-teval-reason_retrieve_understand_json_v2'
    add(run, 'm', name, result_of(rows))
    work, file = WorkDir(run), tmp_path / 'm.bundle'
    write_bundle(work, file, [('m', name)])
    before = read([run]).by_pair()['m', name].result
    after = read_bundle(file).results[0].result
    assert after['correlations'] == before['correlations'] and len(after['correlations']) == 3


def test_nothing_secret_and_no_sample_is_in_a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('MY_API_KEY', KEY)
    work = fill(tmp_path, judge=f'judge {KEY}', judgements='/home/somebody/judged.jsonl', instructions='/srv/me/i.json')
    write_bundle(work, tmp_path / 'm.bundle', list(work.pairs()), redact)
    text = (tmp_path / 'm.bundle').read_text(encoding='ascii')
    assert not [word for word in (KEY, 'somebody', '/srv', '10.0.0.7', 'answer of', 'Ask.', '"r1"') if word in text]
    settings = content_of(tmp_path / 'm.bundle')['models']['m']
    assert settings['path'] == 'qwen' and settings['temperature'] == 0.5 and settings['extra_body'] == {'top_p': 0.9}
    provenance = content_of(tmp_path / 'm.bundle')['results'][0]['provenance']
    assert provenance['judge'] == 'judge [key]' and provenance['instructions'] == 'i.json'


def test_a_bundle_is_never_changed(tmp_path: Path, made: Path) -> None:
    work = WorkDir(tmp_path / '20260102_030405')
    before = made.stat().st_mtime_ns
    write_bundle(work, made, list(work.pairs()))
    assert made.stat().st_mtime_ns == before, 'the same content is left as it is'
    other = fill(tmp_path / 'other', version='4')
    with pytest.raises(DataError, match='bundles never change'):
        write_bundle(other, made, list(other.pairs()))
    assert content_of(made)['results'][0]['provenance']['version'] == '3'
    with pytest.raises(DataError, match=r'must end with \.bundle'):
        write_bundle(work, tmp_path / 'm.json', list(work.pairs()))
    with pytest.raises(DataError, match='no results to bundle'):
        write_bundle(work, tmp_path / 'none.bundle', [('m', 'not there')])


def test_adding_checks_and_copies(tmp_path: Path, made: Path) -> None:
    folder = tmp_path / 'board'
    folder.mkdir()
    assert add_bundle(made, folder) and not add_bundle(made, folder)
    assert (folder / made.name).read_bytes() == made.read_bytes()
    changed = content_of(made)
    changed['results'][0]['metrics']['review_quality'] = 100.0
    changed['package'] = 'other'
    made.write_bytes(pack(changed))
    with pytest.raises(DataError, match='bundles never change'):
        add_bundle(made, folder)
    made.write_bytes(made.read_bytes().replace(b'100.0', b'99.99'))
    with pytest.raises(DataError, match='SHA-256 in its first line'):
        add_bundle(made, folder)


def _set(*path: Any) -> Callable[[Any], None]:
    *keys, last, value = path

    def change(content: Any) -> None:
        for key in keys:
            content = content[key]
        content[last] = value

    return change


FAULTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    'no results': (_set('results', None), 'results is not a list'),
    'a yes in place of a number': (_set('results', 0, 'metrics', 'review_quality', True), 'a score is not a number'),
    'not a number': (_set('results', 0, 'metrics', 'review_quality', float('nan')), 'number beyond'),
    'a huge number': (_set('results', 0, 'samples', 'all', 10**400), 'number beyond'),
    'a huger number': (_set('results', 0, 'samples', 'all', 1 << 11_000), 'too large a number'),
    'a score above 100': (_set('results', 0, 'metrics', 'review_quality', 150.0), 'below 0 or above 100'),
    'a negative error': (_set('results', 0, 'standard_errors', 'review_quality', -3.0), 'a number below 0'),
    'fewer samples than none': (_set('results', 0, 'samples', 'all', -9), 'all is not a count'),
    'a correlation above 1': (_set('results', 0, 'correlations', [['a', 'd', 'b', 2]]), 'below -1 or above 1'),
    'a benchmark that is a list': (_set('results', 0, 'provenance', 'benchmark', ['x']), 'benchmark is not a string'),
    'a folder in a name': (_set('results', 0, 'dataset', '../../up'), 'cannot be the name of a file'),
    'a model without a name': (_set('results', 0, 'model', ''), 'not a name'),
    'a model that is not listed': (_set('results', 0, 'model', 'n'), 'differ from those in its results'),
    'a long text': (_set('package', 'x' * 9000), 'text of more than'),
    'a date to come': (_set('date', '9999-12-31 23:59'), 'in the future'),
    'a date of no run': (_set('date', '0001-01-01 00:00'), 'before 2023'),
    'another date': (_set('date', 'yesterday'), 'does not match format'),
    'many metrics': (_set('results', 0, 'metrics', {f'm{i}': 1 for i in range(99)}), 'more than'),
    'a deep value': (_set('package', json.loads('[' * 200 + ']' * 200)), 'nested too deeply'),
    'twice the same': (lambda content: content['results'].append(content['results'][0]), 'twice'),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_is_named(made: Path, fault: str) -> None:
    content = content_of(made)
    change, message = FAULTS[fault]
    change(content)
    made.write_bytes(pack(content))
    with pytest.raises(DataError, match=message) as caught:
        read_bundle(made)
    assert str(made) in str(caught.value) and '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'', 'first line'),
        (b'[' * 200_000, 'first line'),
        (pack({}, 'tooleval-bundle 2'), 'first line'),
        (pack([]), 'not a JSON object'),
        (b'tooleval-bundle 1 ' + b'0' * 64 + b'\n{}\n', 'SHA-256'),
    ],
)
def test_what_is_no_bundle_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / 'x.bundle').write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_bundle(tmp_path / 'x.bundle')


@pytest.mark.parametrize(
    ('key', 'again'), [('"package":', '"package":"x","package":'), ('"metrics":{', '"metrics":{"a":1,"a":2,')]
)
def test_a_key_is_there_once(made: Path, key: str, again: str) -> None:
    body = made.read_bytes().partition(b'\n')[2]
    made.write_bytes(sealed(body.replace(key.encode(), again.encode(), 1)))
    with pytest.raises(DataError, match='there more than once'):
        read_bundle(made)


def test_no_more_than_the_bound_is_read(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, 'MAX_BYTES', made.stat().st_size)
    read_bundle(made)
    monkeypatch.setattr(bundles, 'MAX_BYTES', made.stat().st_size - 1)
    with pytest.raises(DataError, match='longer than'):
        read_bundle(made)
    made.unlink()
    with pytest.raises(DataError, match='cannot be read'):
        read_bundle(made)
