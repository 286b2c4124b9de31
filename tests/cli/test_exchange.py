"""tooleval export and import: a real run, published, imported elsewhere and scored again; and hostile files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from opencompass_tooleval.extras.exports.exporting import COLUMNS
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.cli.conftest import Command, read_lines
from tests.extras.exports.read_back import check_numbers
from tests.forked import run_opencompass

CONFIG = """
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, models, summarizer

wanted = ['teval-plan_json_v2', 'teval-instruct_v2', 'planning_zh', 'tool_usage_zh', 'restbench-tmdb',
          'multi_hop-easytool']
datasets = [row for row in datasets if any([row['abbr'].endswith(name) for name in wanted])]
"""
MODELS = ('oracle', 'oracle-noise-0.3')
HALF = 'half a pair \ud83d, 中文, \u2028 and \x00'
TEXT = {'model': 'm', 'dataset': 'd', 'record_id': 'r', 'prediction': 'p', 'infra': None}
RUN = '20260101_000000'


def opencompass(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Runs the config from a folder with caches of its own."""
    folder.mkdir(exist_ok=True)
    (folder / 'mine.py').write_text(CONFIG)
    monkeypatch.setenv('TOOLEVAL_CACHE', str(folder / 'cache'))
    done = run_opencompass('mine.py', '-w', 'out', '--debug', *arguments, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def files_of(run: Path, part: str) -> dict[str, bytes]:
    """Path below a part of a run -> content."""
    return {
        str(file.relative_to(run)): file.read_bytes()
        for file in sorted(run.glob(f'{part}/*/*.json'))
        if file.name[0] != '.'
    }


def without_digests(results: Mapping[str, bytes]) -> dict[str, str]:
    """Results without the digest of their predictions, whose files lack what was not exported."""
    contents = {name: json.loads(result) for name, result in results.items()}
    for content in contents.values():
        del content['computed_from']['predictions_sha256']
    return {name: json.dumps(content) for name, content in contents.items()}


@pytest.mark.long
def test_what_is_published_and_rescored_elsewhere_gives_the_same_results(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / 'here', tmp_path / 'there'
    opencompass(here, monkeypatch)
    (run,) = here.glob('out/*')
    results = files_of(run, 'results')
    assert len(results) == 12

    # Two formats, one content: each makes the predictions files that inference wrote, but for the gold answers.
    for name, options in (('lines', ['--prompts']), ('parquet', ['--prompts', '--format', 'parquet']), ('bare', [])):
        done = tooleval('export', here / 'out', '--out', tmp_path / name, *options)
        assert done.code == 0, done.err
        assert done.out.splitlines()[0].endswith(': 12 rows')
        done = tooleval('import', tmp_path / name, there / name)
        assert done.code == 0, done.err
    (lines,), (columns,), (bare,) = (list((there / name).iterdir()) for name in ('lines', 'parquet', 'bare'))
    assert files_of(lines, 'predictions') == files_of(columns, 'predictions')
    for name, content in files_of(run, 'predictions').items():
        rows = json.loads(content)
        for row in rows.values():
            del row['gold']
        assert json.loads((lines / name).read_bytes()) == rows
        for row in rows.values():
            del row['origin_prompt']
        assert json.loads((bare / name).read_bytes()) == rows

    # The command that `import` names, with another cache: nothing but the predictions has come along.
    bare.parent.rename(there / 'out')
    assert f'-r {bare.name} -m eval' in done.out
    opencompass(there, monkeypatch, '-r', bare.name, '-m', 'eval')
    again = files_of(there / 'out' / bare.name, 'results')
    assert without_digests(again) == without_digests(results)

    # Every other format has the numbers of the table too, to the last digit.
    assert len(check_numbers(tooleval, run, tmp_path / 'formats')) > 30

    # And the comparison of both models agrees with their results.
    found = json.loads(tooleval('compare', run, *MODELS, '--work-dir-b', there / 'out', '--json', '-').out)
    notes = [row['text'] for row in found['findings'] if row['kind'].startswith('compare:')]
    parts = [note for note in notes if note.startswith(f'only a part of all records: {" and ".join(MODELS)}: ')]
    assert len(parts) == 4 and all(note.endswith(', not a sample') for note in parts), 'the demo has a few records'
    assert [note for note in notes if 'columns' not in note and note not in parts] == []
    assert any(row['low'] > 0 or row['high'] < 0 for row in (*found['tables'], *found['datasets']))
    for row in found['datasets']:
        gold, noisy = (json.loads(results[f'results/{model}/{row["name"]}.json']) for model in MODELS)
        assert row['delta'] == pytest.approx(noisy[row['metric']] - gold[row['metric']], abs=1e-6)
        assert row['low'] <= row['delta'] <= row['high']
    reasons = {sample['b']['reason'] for samples in found['differing'].values() for sample in samples}
    assert len(reasons) > 2 and 'ok' not in reasons


def write(run: Path, part: str, model: str, name: str, content: Any) -> None:
    file = run / part / model / f'{name}.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    (run / 'configs').mkdir(exist_ok=True)
    file.write_text(json.dumps(content), encoding='utf-8')


def answers(texts: Iterable[str], first: int = 0) -> dict[str, dict[str, Any]]:
    return {
        str(i): {
            'origin_prompt': [{'role': 'HUMAN', 'prompt': f'{i}?'}],
            'prediction': text,
            'gold': 'g',
            'record_id': f'r{first + i}',
            'infra': None if text else 'infra:timeout',
        }
        for i, text in enumerate(texts)
    }


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a data set in one piece, one in three shards, one that failed, and one of another package."""
    folder = tmp_path / 'out' / RUN
    detail = {'id': 'r0', 'values': {'f1': 0.5, 'em': None}, 'reason': 'args:wrong', 'parsed': 'x\\ud83d', 'gold': 'y'}
    result = {'f1': 50.0, 'em': None, 'standard_errors': {'f1': 0.1}, 'reasons': {'args:wrong': 1}}
    result |= {'samples': {'all': 1, 'infra': 0}, 'provenance': {'encoder': 'e'}, 'details': [detail]}
    write(folder, 'predictions', 'm1', 'whole', answers([HALF, '']))
    for number in range(3):
        write(folder, 'predictions', 'm1', f'split_{number}', answers(['a', 'b'], 2 * number))
    for name in ('whole', 'split'):
        write(folder, 'results', 'm1', name, result)
    write(folder, 'predictions', 'm2', 'whole_2', answers(['c']))
    write(folder, 'results', 'm2', 'whole_2', {'error': 'it failed'})
    write(folder, 'results', 'm2', 'gsm8k', {'accuracy': 50.0, 'details': {'0': {'pred': '1'}, 'type': 'GEN'}})
    (folder / 'predictions' / 'm2' / 'tmp_half.jsonl').write_text('{"idx": 0}\n')
    (folder / 'predictions' / 'm2' / '.whole.json.7.tmp').write_text('{')
    return folder


def test_rows(tooleval: Command, run: Path, tmp_path: Path) -> None:
    done = tooleval('export', run, '--out', tmp_path / 'x')
    assert done.code == 0, done.err
    results, rows, details = (
        read_lines(tmp_path / 'x' / f'{part}.jsonl') for part in ('results', 'predictions', 'details')
    )
    assert [tuple(row) for row in results] == [COLUMNS['results']] * 3
    assert [(row['model'], row['dataset'], row['metrics']) for row in results] == [
        ('m1', 'split', {'f1': 50.0, 'em': None}),
        ('m1', 'whole', {'f1': 50.0, 'em': None}),
        ('m2', 'gsm8k', {'accuracy': 50.0}),
    ]
    assert results[0]['provenance'] == {'encoder': 'e'} and results[2]['provenance'] is None
    assert [tuple(row) for row in rows] == [COLUMNS['predictions']] * 9
    expected = [*(('split', f'r{i}') for i in range(6)), ('whole', 'r0'), ('whole', 'r1'), ('whole_2', 'r0')]
    assert [(row['dataset'], row['record_id']) for row in rows] == expected and {row['run'] for row in rows} == {0}
    assert rows[6]['prediction'] == HALF and rows[7]['infra'] == 'infra:timeout'
    assert [(row['dataset'], row['record_id'], row['run'], row['reason']) for row in details] == [
        *((dataset, 'r0', 0, 'args:wrong') for dataset in ('split', 'whole')),
        *[('gsm8k', None, None, None)] * 2,
    ]
    assert details[0]['details']['parsed'] == 'x\\ud83d'


def test_no_key_and_no_folder_of_the_machine_but_predictions_as_they_are(
    tooleval: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('MY_API_KEY', 'k-of-the-environment')
    keys = ('k-of-the-environment', 'k-of-the-config')
    (run / 'configs' / 'run.py').write_text(f"models = [dict(abbr='m1', key='{keys[1]}')]\n")
    about = {'judgements': '/home/somebody/judged.jsonl', 'bank': 'C:\\Users\\me\\b.bank', 'judge': ' '.join(keys)}
    detail = {'id': 'r0', 'values': {'f1': 0.5}, 'reason': 'ok', 'parsed': ['/movie/1', f'{keys[0]} {keys[1]}']}
    write(run, 'results', 'm1', 'whole', {'f1': 50.0, 'provenance': about, 'details': [detail]})
    write(run, 'predictions', 'm1', 'whole', answers([f'say {keys[0]}', keys[1]]))
    out = tmp_path / 'x'
    done = tooleval('export', run, '--out', out, '--dataset', 'whole')
    assert done.code == 0, done.err
    (row,), (told,) = (read_lines(out / f'{name}.jsonl') for name in ('results', 'details'))
    assert row['provenance'] == {'judgements': 'judged.jsonl', 'bank': 'b.bank', 'judge': '[key] [key]'}
    assert told['details'] == {**detail, 'parsed': ['/movie/1', '[key] [key]']}, 'paths in answers are data'
    assert tooleval('import', out, tmp_path / 'in').code == 0
    before, after = (WorkDir.find(work).prediction_rows('m1', 'whole') for work in (run, tmp_path / 'in'))
    assert [row['prediction'] for row in before] == [row['prediction'] for row in after]


def test_rows_say_their_run(tooleval: Command, run: Path, tmp_path: Path) -> None:
    details = [{'id': name, 'values': {}, 'reason': 'ok'} for name in ('r0', 'r1')] * 3
    rows = [row for _ in range(3) for row in answers(['a', 'b']).values()]
    write(run, 'predictions', 'm1', 'whole', dict(enumerate(rows)))
    write(run, 'results', 'm1', 'whole', {'f1': 1.0, 'details': details})
    assert tooleval('export', run, '--out', tmp_path / 'x', '--dataset', 'whole').code == 0
    expected = [(name, number) for number in range(3) for name in ('r0', 'r1')]
    for name in ('predictions', 'details'):
        lines = read_lines(tmp_path / 'x' / f'{name}.jsonl')
        assert [(row['record_id'], row['run']) for row in lines] == expected


@pytest.mark.parametrize('format_', ['jsonl', 'parquet'])
def test_the_same_run_gives_the_same_bytes_and_any_text_comes_through(
    tooleval: Command, run: Path, tmp_path: Path, format_: str
) -> None:
    for name in ('x', 'y', 'y'):  # the third time over what is there
        assert tooleval('export', run, '--out', tmp_path / name, '--format', format_).code == 0
    contents = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in 'xy']
    assert contents[0] == contents[1]
    assert sorted(contents[0]) == sorted(f'{name}.{format_}' for name in COLUMNS)
    assert tooleval('import', tmp_path / 'x', tmp_path / 'in').code == 0
    work = WorkDir.find(tmp_path / 'in')
    rows = work.prediction_rows('m1', 'whole')
    assert [(row['record_id'], row['prediction'], row['infra']) for row in rows] == [
        ('r0', HALF, None), ('r1', '', 'infra:timeout')
    ]  # fmt: skip
    assert [row['record_id'] for row in work.prediction_rows('m1', 'split')] == [f'r{i}' for i in range(6)]
    assert [file.name for file in work.prediction_files('m1', 'split')] == ['split.json']


def test_parts_of_a_run(tooleval: Command, run: Path, tmp_path: Path) -> None:
    arguments = ('--out', tmp_path / 'x', '--model', 'm1', '--model', 'm1', '--dataset', 'who*')
    assert tooleval('export', run, *arguments).code == 0
    assert [(row['model'], row['dataset']) for row in read_lines(tmp_path / 'x' / 'results.jsonl')] == [('m1', 'whole')]
    done = tooleval('export', run, '--out', tmp_path / 'z', '--model', 'm3')
    assert done.code == 1 and "no model matches 'm3'; the run has: " in done.err
    done = tooleval('export', run, '--out', tmp_path / 'z', '--dataset', 'whole', '--dataset', 'splt')
    assert done.code == 1 and "no data set matches 'splt'; the run has: split, " in done.err
    assert not (tmp_path / 'z').exists()


def test_a_damaged_file_leaves_no_half_export(tooleval: Command, run: Path, tmp_path: Path) -> None:
    file = run / 'predictions' / 'm2' / 'whole_2.json'
    file.write_text('{"0": ')
    done = tooleval('export', run, '--out', tmp_path / 'x')
    assert done.code == 1 and str(file) in done.err
    assert list((tmp_path / 'x').iterdir()) == []


def line(**changes: Any) -> str:
    return json.dumps({**TEXT, **changes})


@pytest.mark.parametrize(
    ('lines', 'number', 'word'),
    [
        (['', line(), '{"model": '], 3, 'cannot be read as JSON'),
        ([line(), b'\xff\xfe'], 2, 'cannot be read as JSON'),
        (['[' * 200000], 1, 'cannot be read as JSON'),
        (['[1, 2]'], 1, 'it is not an object'),
        (['{"model": "m", "model": "n"}'], 1, "'model' is there more than once"),
        (['{"model": "m", "dataset": "d"}'], 1, 'it has no record_id, prediction, infra'),
        ([line(model='../../etc')], 1, "its model '../../etc' cannot be the name of a file"),
        ([line(model='a\x00b')], 1, 'cannot be the name of a file'),
        ([line(model='\ud800')], 1, 'cannot be the name of a file'),
        ([line(model='')], 1, 'its model is not a name'),
        ([line(model='m' * 300)], 1, 'its model is not a name'),
        ([line(prediction=None)], 1, 'its prediction is neither text nor'),
        ([line(record_id=7)], 1, 'its record_id is neither'),
        ([line(infra='ok')], 1, "begins with 'infra:'"),
        ([line(recorded_shape=1)], 1, 'its recorded_shape is neither'),
        ([line(), line(dataset='e'), line()], 3, 'm x d continues after other rows'),
        ([line(), line(prediction='x' * 300_000)], 2, 'it is longer than 250000 bytes'),
    ],
)
def test_hostile_lines_are_named_and_leave_nothing(
    tooleval: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: Sequence[str | bytes],
    number: int,
    word: str,
) -> None:
    monkeypatch.setattr('opencompass_tooleval.work_dir.data_files.MAX_LINE', 250_000)
    file = tmp_path / 'predictions.jsonl'
    file.write_bytes(b'\n'.join(text.encode() if isinstance(text, str) else text for text in lines))
    done = tooleval('import', tmp_path, tmp_path / 'in')
    assert done.code == 1
    assert done.err.startswith(f'tooleval: {file}: line {number}: ') and word in done.err
    assert len(done.err) < 2000
    assert list((tmp_path / 'in').iterdir()) == []


def test_hostile_parquet(tooleval: Command, run: Path, tmp_path: Path) -> None:
    import pyarrow

    file = tmp_path / 'predictions.parquet'
    good = {**TEXT, 'prediction': '"p"'}
    for rows, where in (([good, {**good, 'prediction': '{'}], 'row 2'), ([{**good, 'model': '..'}], 'row 1'),
                        ([{**good, 'record_id': 3}], 'row 1'), ([{**good, 'prompt_digest': 3}], 'row 1'),
                        ([{'model': 'm'}], 'row 1')):  # fmt: skip
        parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        done = tooleval('import', tmp_path, tmp_path / 'in')
        assert done.code == 1 and f'{file}: {where}: ' in done.err, done.err
    for content in (b'', b'PAR1 and nothing', file.read_bytes()[:-40]):
        file.write_bytes(content)
        done = tooleval('import', tmp_path, tmp_path / 'in')
        assert done.code == 1 and f'{file}: the rows from 1 on cannot be read' in done.err
    assert list((tmp_path / 'in').iterdir()) == []


def test_what_is_no_export(tooleval: Command, tmp_path: Path) -> None:
    done = tooleval('import', tmp_path, tmp_path / 'in')
    assert done.code == 1 and 'found neither predictions.jsonl nor predictions.parquet' in done.err
    (tmp_path / 'predictions.jsonl').write_text('\n')
    assert 'it contains no predictions' in tooleval('import', tmp_path, tmp_path / 'in').err
    (tmp_path / 'predictions.jsonl').write_text(line() + '\n')
    assert [tooleval('import', tmp_path, tmp_path / 'in').code for _ in range(2)] == [0, 0]
    assert len(list((tmp_path / 'in').iterdir())) == 2, 'each is a run of its own'
    (tmp_path / 'predictions.parquet').write_text('')
    assert 'delete one' in tooleval('import', tmp_path, tmp_path / 'in').err


def test_calls_usage_and_shape_come_back(tooleval: Command, tmp_path: Path) -> None:
    folder = tmp_path / 'out' / RUN
    extras: dict[str, Any] = {'calls': [{'name': 'f', 'arguments': {'x': 1}}], 'usage': {'prompt': 9, 'requests': 1}}
    extras['auxiliary_models'] = [{'role': 'simulator', 'model': 'sim', 'usages': [{'prompt': 3, 'requests': 1}]}]
    extras['recorded_shape'] = 'gpt'  # of what was replayed
    rows = answers(['a', 'b'])
    rows['0'] |= extras
    write(folder, 'predictions', 'm', 'd', rows)
    for kind in ('jsonl', 'parquet'):
        there = tmp_path / kind
        assert tooleval('export', folder, '--out', there, '--format', kind).code == 0
        assert tooleval('import', there, tmp_path / f'{kind}-run').code == 0
        (file,) = (tmp_path / f'{kind}-run').glob('*/predictions/m/d.json')
        first, second = json.loads(file.read_text()).values()
        assert {name: first[name] for name in extras} == extras
        assert not set(extras) & set(second)
    (line, *_) = (tmp_path / 'jsonl' / 'predictions.jsonl').read_text().splitlines()
    for column, value in (('calls', [{'name': 5}]), ('usage', [1]), ('auxiliary_models', 'none')):
        (tmp_path / 'jsonl' / 'predictions.jsonl').write_text(json.dumps({**json.loads(line), column: value}))
        done = tooleval('import', tmp_path / 'jsonl', tmp_path / 'no')
        assert done.code == 1 and f'its {column}' in done.err
