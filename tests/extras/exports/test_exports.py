"""tooleval export --format: the files of other programs, against their schemas and against the table of the run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.statistics.trials import BinaryMetrics, Estimate, of_trials
from opencompass_tooleval.core.text import redaction
from opencompass_tooleval.extras.exports.settings import HubEntry, read_hub_entry
from tests.cli.conftest import Command, read_lines
from tests.extras.exports.read_back import READERS, check_numbers, entries_of
from tests.report.agents import DATASET, PROVENANCE, add_agent, chain, tree, usage
from tests.report.support import add, detail, hostile_run, plain_run, result_of, write

SCHEMAS = Path(__file__).parent / 'schemas'
REVIEW = 'tooleval-teval-review_str_v2'
FORMATS = [*READERS, 'hugging-face']
KEY = 'sk-very-secret-0123'
CONFIG = f"models = [dict(abbr='better', path='Qwen/Qwen3-8B', key='{KEY}', max_out_len=64, temperature=0.5)]"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text('utf-8'))


AGGREGATE, INSTANCE = (Draft7Validator(schema(f'{name}.schema.json')) for name in ('eval', 'instance_level_eval'))


def trials_run(folder: Path) -> None:
    """A data set with three trials of each record, of which one has no answer."""
    samples = [(f'r{i}', {'review_quality': float((i + trial) % 3 > 0)}) for trial in range(3) for i in range(4)]
    reasons = {1.0: 'ok', 0.0: 'review:wrong'}
    numbered = [(i, name, values['review_quality']) for i, (name, values) in enumerate(samples)]
    details = [detail(name, value, trial=i // 4, reason=reasons[value]) for i, name, value in numbered]
    details[-1] = {**details[-1], 'reason': 'infra:timeout', 'values': {'parse_rate': 0.0, 'review_quality': 0.0}}
    samples[-1] = 'r3', {'review_quality': 0.0}
    result = result_of(details)
    averages = {'review_quality': Estimate(result['review_quality'], 1.5, 4)}
    rule = BinaryMetrics(['review_quality'], ['review_quality'])
    metrics = of_trials([(name, dict(values)) for name, values in samples], 3, averages, rule)
    shown = {metric: {name: asdict(one) for name, one in by_kind.items()} for metric, by_kind in metrics.items()}
    result |= {'trials': {'n': 3, 'success': ['review_quality'], 'same_answers': 0, 'metrics': shown}, 'runs': [{}] * 3}
    add(folder, 'better', 'tooleval-teval-review_str_v2_zh', {**result, 'details': result.pop('details')})
    file = folder / 'predictions' / 'better' / 'tooleval-teval-review_str_v2_zh.json'
    rows = json.loads(file.read_text('utf-8'))
    rows['11'] |= {'prediction': '', 'infra': 'infra:timeout'}
    rows['0'] |= {'usage': usage(100, 20, 1.5), 'finish_reason': 'length'}
    file.write_text(json.dumps(rows))


def made_run(folder: Path) -> None:
    """A task set on a user's tools, and a step file."""
    about = {'benchmark': 'tasks', 'subset': 'office', 'loop': 'react'}
    for dataset, provenance in (('office-agent-react', about), ('office-teval-review_str_v2', {'benchmark': 'teval'})):
        add(folder, 'better', dataset, result_of([detail('t1')], provenance=provenance))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two models; agents, a judge, trials, a metric of no sample, a missing result, and another package's result."""
    folder = plain_run(tmp_path / 'run' / '20260101_000000')
    file = folder / 'results' / 'better' / f'{REVIEW}.json'
    result = json.loads(file.read_text('utf-8'))
    result['provenance']['max_out_len'] = 512  # more than the config of the model says, which is the benchmark's
    file.write_text(json.dumps(result))
    add_agent(folder, 'better', [chain(), tree(), Trajectory('react', stopped='limit:steps')])
    trials_run(folder)
    made_run(folder)
    judged = {**PROVENANCE, 'judge': 'the-judge', 'judge_settings': {'tokenizer': '/home/me/x/tok'}}
    opinions = [{'value': 'solved', 'decided_by': 'the-judge', 'why': 'It is.'}]
    one = {**detail('q'), 'values': {'solved_rate': 1.0, 'finish_rate': 1.0}, 'solved': opinions}
    judge = {'role': 'judge', 'model': 'the-judge', 'answers': {'all': 1}, 'prompt': {'total': 9}}
    result = result_of([one], provenance=judged, usage={'auxiliary_models': [judge]})
    add(folder, 'better', 'tooleval-toolbench_g1-agent-react', result)
    add(folder, 'worse', 'tooleval-teval-plan_json_v2', result_of([detail('p', None)]))
    write(folder, 'results', 'worse', 'gsm8k', {'accuracy': 50.0, 'details': {'0': {'pred': '1'}, 'type': 'GEN'}})
    write(folder, 'predictions', 'worse', 'tooleval-teval-agent-react', {})
    log = folder / 'logs' / 'infer' / 'worse' / 'crashed.out'
    log.parent.mkdir(parents=True)
    log.write_text('crashed: ValueError: no GPU')
    (folder / 'configs' / 'run.py').write_text(CONFIG)
    return folder


def export(tooleval: Command, run: Path, name: str, *options: object) -> tuple[Path, str]:
    """Exports to a folder; returns it and the notes on standard error."""
    folder = run.parent / name
    hub = ('--hub-dataset', '*=me/data') if name == 'hugging-face' else ()
    done = tooleval('export', run, '--out', folder, '--format', name, *hub, *options)
    assert done.code == 0, done.err
    return folder, done.err


def records_of(folder: Path) -> dict[tuple[str, str], tuple[Path, dict[str, Any]]]:
    """Model and data set -> aggregate of Every Eval Ever, with its file."""
    rows = [(file, json.loads(file.read_text('utf-8'))) for file in folder.glob('data/*/*/*/*.json')]
    return {
        (row['model_info']['name'], row['evaluation_results'][0]['evaluation_name']): (file, row) for file, row in rows
    }


def test_every_number_comes_out_to_the_last_digit(tooleval: Command, run: Path, tmp_path: Path) -> None:
    for file in run.glob('*/better/office-*'):
        file.unlink()  # Hugging Face's files leave them out
    numbers = check_numbers(tooleval, run, tmp_path / 'x')
    kinds = {place[2] for place in numbers}
    assert {'review_quality pass^2', 'success avg@3', 'solved_rate', 'accuracy'} <= kinds
    assert len({value for value, _ in numbers.values()}) > 5
    assert ('worse', 'tooleval-teval-plan_json_v2', 'review_quality') not in numbers


def test_every_eval_ever_fits_its_schema(tooleval: Command, run: Path) -> None:
    folder, notes = export(tooleval, run, 'every-eval-ever', '--organization', 'Us', '--relationship', 'third_party')
    assert 'NOTE worse x tooleval-teval-agent-react: no result: answered, not scored' in notes
    for file, record in records_of(folder).values():
        AGGREGATE.validate(record)
        assert record['source_metadata']['source_organization_name'] == 'Us'
        companion = file.with_name(f'{file.stem}_samples.jsonl')
        assert companion.is_file() == (record['evaluation_results'][0]['evaluation_name'] != 'gsm8k')
        if companion.is_file():
            told = record['detailed_evaluation_results']
            assert told['checksum'] == hashlib.sha256(companion.read_bytes()).hexdigest()
            assert folder / told['file_path'] == companion
            rows = read_lines(companion)
            assert len(rows) == told['total_rows']
            ids = {result['evaluation_result_id'] for result in record['evaluation_results']}
            for row in rows:
                INSTANCE.validate(row)
                assert row['evaluation_id'] == record['evaluation_id'] and row['evaluation_result_id'] in ids


def test_every_eval_ever_says_what_the_run_says(tooleval: Command, run: Path) -> None:
    folder, _ = export(tooleval, run, 'every-eval-ever', '--hub-dataset', 'tooleval-teval-r*=me/teval@abc#t')
    records = records_of(folder)
    file, record = records['better', REVIEW]
    assert record['model_info']['id'] == 'Qwen/Qwen3-8B' and '/Qwen/Qwen3-8B/' in str(file)
    result = record['evaluation_results'][0]
    assert result['generation_config']['generation_args'] == {'temperature': 0.5, 'max_tokens': 512}
    assert result['source_data']['hf_repo'] == 'me/teval'
    # A score by a judge names it, the others of the same result do not.
    _, judged = records['better', 'tooleval-toolbench_g1-agent-react']
    by_metric = {one['metric_config']['metric_id']: one['metric_config'] for one in judged['evaluation_results']}
    told = by_metric['agents.solved_rate']['additional_details']
    assert told == {'judge': 'the-judge', 'judge_settings': '{"tokenizer": "tok"}'}
    assert '/home' not in json.dumps(judged)
    assert 'additional_details' not in by_metric['agents.finish_rate']
    assert 'usage of judge the-judge' in judged['evaluation_results'][0]['generation_config']['additional_details']
    # A metric of no sample is said, and is no zero.
    _, lacking = records['worse', 'tooleval-teval-plan_json_v2']
    assert lacking['source_metadata']['additional_details']['not_measured'] == 'review_quality'
    assert [result['evaluation_result_id'].split('/')[1] for result in lacking['evaluation_results']] == ['parse_rate']
    # Failures: counted, and named in the sample.
    file, trials = records['better', 'tooleval-teval-review_str_v2_zh']
    details = trials['evaluation_results'][0]['score_details']['details']
    assert details['trials'] == '3' and details['with_value'] == '12'
    rows = read_lines(file.with_name(f'{file.stem}_samples.jsonl'))
    assert {row['metadata']['run'] for row in rows} == {'0', '1', '2'}
    assert {row['error'] for row in rows} == {None, 'infra:timeout'}
    (spent,) = {row['sample_id']: row for row in rows if row['token_usage']}.values()
    assert spent['token_usage']['total_tokens'] == 120 and spent['performance']['latency_ms'] == 1500
    assert not any(row['evaluation']['is_correct'] for row in rows if row['error'])


def test_agents_are_messages_with_calls(tooleval: Command, run: Path) -> None:
    folder, _ = export(tooleval, run, 'every-eval-ever')
    file, _ = records_of(folder)['better', DATASET]
    rows = {row['sample_id']: row for row in read_lines(file.with_name(f'{file.stem}_samples.jsonl'))}
    messages = rows['query_0']['messages']
    roles = [message['role'] for message in messages]
    assert roles[:4] == ['user', 'assistant', 'tool', 'assistant'] and rows['query_0']['interaction_type'] == 'agentic'
    assert [message['turn_idx'] for message in messages] == list(range(len(messages)))
    calls = [call for message in messages for call in message.get('tool_calls', ())]
    assert len({call['id'] for call in calls}) == len(calls) == rows['query_0']['evaluation']['tool_calls_count']
    assert json.loads(calls[0]['arguments']['passengers']) == {'adults': 2, 'children': []}
    answered = {name for message in messages for name in message.get('tool_call_id', ())}
    assert {call['id'] for call in calls if call['name'] != 'Finish'} == answered
    assert rows['query_1']['metadata']['steps_off_path'] == '3', 'branches that were left are said'
    assert rows['query_2']['metadata']['stopped'] == 'limit:steps'


def test_hugging_face_needs_a_place_on_the_hub(tooleval: Command, run: Path) -> None:
    done = tooleval('export', run, '--out', run.parent / 'x', '--format', 'hugging-face')
    assert done.code == 1 and '--hub-dataset' in done.err and not (run.parent / 'x').exists()
    options = ['--hub-dataset', 'tooleval-teval-r*=me/teval@abc#review', '--source-url', 'https://example.org/log']
    options += ['--format', 'hugging-face', '--organization', 'us']
    done = tooleval('export', run, '--out', run.parent / 'x', *options)
    note = "NOTE better x tooleval-funcqa-one_hop-cot: left out: the data set's place on the hub is unknown"
    assert done.code == 0 and note in done.err
    entries = dict(entries_of(run.parent / 'x'))
    entry = entries[run.parent / 'x' / 'better' / '.eval_results' / f'{REVIEW}_zh.yaml']
    assert entry['dataset'] == {'id': 'me/teval', 'task_id': 'review', 'revision': 'abc'}
    assert entry['source'] == {'url': 'https://example.org/log', 'org': 'us'}
    assert 'mean of 3 trials' in entry['notes'] and 'Review (review_quality), 0-100' in entry['notes']
    assert read_hub_entry('a*=o/n') == HubEntry('a*', 'o/n')
    for wrong in ('o/n', '*=', '*=name', '*=a/b/c', '*=../x'):
        with pytest.raises(ValueError, match='must be PATTERN=OWNER/NAME'):
            read_hub_entry(wrong)


def test_sets_of_own_tools_are_private(tooleval: Command, run: Path) -> None:
    folder, notes = export(tooleval, run, 'hugging-face')
    own = ['office-agent-react', 'office-teval-review_str_v2']
    for name in own:
        assert f'NOTE better x {name}: left out: the data were made from your own tools' in notes
    assert not list(folder.glob('*/*/office*'))
    folder, _ = export(tooleval, run, 'hugging-face', '--include-private', '--dataset', 'office-*')
    assert {file.stem for file, _ in entries_of(folder)} >= {own[0]}
    records, _ = export(tooleval, run, 'every-eval-ever', '--hub-dataset', '*=a/b')
    for (_, name), (_, record) in records_of(records).items():
        is_own = name in own
        assert (record['source_metadata']['additional_details']['private'] == 'true') == is_own
        assert (record['evaluation_results'][0]['source_data']['source_type'] == 'other') == is_own


@pytest.mark.parametrize('name', FORMATS)
def test_hostile_texts_stay_text(tooleval: Command, tmp_path: Path, name: str) -> None:
    run = hostile_run(tmp_path / 'run' / '20260101_000000')
    folder, _ = export(tooleval, run, name)
    for file in folder.rglob('*.*'):
        assert file.is_dir() or file.resolve().is_relative_to(folder.resolve())
    if name == 'every-eval-ever':
        for file, record in records_of(folder).values():
            AGGREGATE.validate(record)
            assert all(INSTANCE.is_valid(row) for row in read_lines(file.with_name(f'{file.stem}_samples.jsonl')))
    else:
        assert len(list(entries_of(folder))) >= 3


@pytest.mark.parametrize('name', FORMATS)
def test_keys_do_not_come_out(tooleval: Command, run: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, '_keys', set())
    monkeypatch.setenv('MY_API_KEY', 'another-secret-1')
    one = detail('r', parsed=f'{KEY} and another-secret-1', reason=f'args:{KEY}')
    about = {'benchmark': 'teval', 'judge': f'at http://me:{KEY}@host'}
    add(run, 'better', REVIEW, result_of([one], provenance=about), KEY)
    (run / 'configs' / 'run.py').write_text(CONFIG)
    folder, _ = export(tooleval, run, name, '--dataset', REVIEW, '--model', 'better')
    text = ''.join(file.read_text('utf-8') for file in folder.rglob('*') if file.is_file())
    assert KEY not in text and 'another-secret-1' not in text
    assert '[key]' in text


READ: Mapping[str, str] = {
    'every-eval-ever': """
import pathlib, subprocess
files = [str(file) for file in pathlib.Path(sys.argv[1]).rglob('*.json*')]
done = subprocess.run([sys.executable, '-m', 'every_eval_ever', 'validate', *(f[len(sys.argv[1]) + 1:] for f in files)],
                      cwd=sys.argv[1], capture_output=True, text=True)
assert done.returncode in (0, 2), done.stdout
print(json.dumps(len(files)))""",
    'hugging-face': """
import pathlib, yaml
from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries
files = sorted(pathlib.Path(sys.argv[1]).glob('*/.eval_results/*.yaml'))
rows = [yaml.safe_load(file.read_text('utf-8')) for file in files]
assert [eval_result_entries_to_yaml(parse_eval_result_entries(one)) for one in rows] == rows
print(json.dumps(len(rows)))""",
}
NEEDS = {'every-eval-ever': 'every_eval_ever', 'hugging-face': 'huggingface_hub._eval_results'}


@pytest.mark.long
@pytest.mark.parametrize('name', READ)
def test_their_own_readers_read_it(tooleval: Command, run: Path, name: str) -> None:
    """``$TOOLEVAL_READERS`` names interpreters that have every-eval-ever and huggingface_hub 1.4."""
    for python in filter(None, [*os.environ.get('TOOLEVAL_READERS', '').split(os.pathsep), sys.executable]):
        if subprocess.run([python, '-c', f'import {NEEDS[name]}'], capture_output=True).returncode == 0:
            break
    else:
        pytest.skip(f'no interpreter in $TOOLEVAL_READERS has {NEEDS[name]}')
    folder, _ = export(tooleval, run, name)
    environment = {key: value for key, value in os.environ.items() if key != 'PYTHONPATH'}
    command = [python, '-c', f'import json, sys{READ[name]}', str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == sum(file.is_file() for file in folder.rglob('*'))
