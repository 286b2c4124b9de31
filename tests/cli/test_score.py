"""``tooleval score``: recorded answers to numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import TABLE
from opencompass_tooleval.benchmarks.teval.tables import SUBSETS, VERSION
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset, ToolEvalTEvalEvaluator
from tests.cli.conftest import Command, demo_file, gold_answers, read_lines, write_json

REVIEW, PLAN = 'review_str_v2', demo_file('plan_json_v2')
KEYS = [
    *('benchmark', 'subset', 'language', 'protocol', 'scoring', 'encoder', 'version', 'samples', 'metrics', 'reasons'),
    *('standard_errors', 'data_version', 'postprocessor'),
]


def options(stem: str, predictions: Path, *more: object) -> tuple[object, ...]:
    return ('--data', demo_file(stem), '--predictions', predictions, *more)


def score_json(tooleval: Command, subset: str, *arguments: object) -> dict[str, Any]:
    outcome = tooleval('score', 'teval', subset, *arguments, '--json', '-')
    assert outcome.code == 0, outcome.err
    result: dict[str, Any] = json.loads(outcome.out)
    return result


@pytest.fixture(scope='module')
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for several tests: a text is embedded once."""
    return tmp_path_factory.mktemp('cache')


@pytest.mark.parametrize('stem', [f'{row["name"]}_v2{suffix}' for suffix in ('', '_zh') for row in SUBSETS])
def test_gold_scores_100(
    tooleval: Command, tmp_path: Path, embeddings: Path, monkeypatch: pytest.MonkeyPatch, stem: str
) -> None:
    monkeypatch.setenv('TOOLEVAL_CACHE', str(embeddings))
    subset = next(row for row in TABLE if stem.startswith(f'{row.name}_v2'))
    gold = gold_answers(stem)
    predictions = write_json(tmp_path / 'answers.json', gold)
    result = score_json(tooleval, subset.name, *options(stem, predictions, '--encoder', 'offline'))
    assert list(result) == KEYS
    # v2 divides by the number of arguments + 1e-5, as the authors do
    assert result['metrics'] == pytest.approx(dict.fromkeys(subset.metrics, 100.0), abs=2e-3)
    assert list(result['metrics']) == list(subset.metrics)
    assert result['reasons'] == {'ok': len(gold)}
    assert result['samples'] == len(gold)
    assert (result['benchmark'], result['subset'], result['version']) == ('teval', subset.name, VERSION)
    assert (result['language'], result['protocol']) == ('ZH' if stem.endswith('_zh') else 'EN', 'v2')
    assert result['scoring'] == 'official'
    assert result['encoder'] == ('offline:all-MiniLM-L6-v2' if 'v2' in subset.encoder else None)


def test_details_a_table_and_json_in_a_file(tooleval: Command, tmp_path: Path) -> None:
    answers = gold_answers(REVIEW)
    records = list(answers)
    answers |= {records[1]: 'no choice \u2028', records[2]: ''}
    path, (details, out) = (
        write_json(tmp_path / 'answers.json', answers),
        (tmp_path / name for name in ('details', 'out')),
    )
    outcome = tooleval('score', 'teval', 'review_str', *options(REVIEW, path, '--details', details, '--json', out))
    assert outcome.code == 0, outcome.err
    rows = read_lines(details)
    assert [row['id'] for row in rows] == records
    assert all(list(row) == list(rows[0]) for row in rows)
    values = {'parse_rate': 1.0, 'review_quality': 1.0}
    first = {'id': records[0], 'values': values, 'reason': 'ok', 'parsed': 'A', 'parse_method': 'text', 'gold': 'A'}
    assert rows[0] == first
    assert [row['reason'] for row in rows[1:3]] == ['parse:no_choice', 'answer:empty']
    result = json.loads(out.read_text())
    assert list(result) == KEYS and result['reasons'] == {'ok': 4, 'answer:empty': 1, 'parse:no_choice': 1}
    assert result['metrics']['review_quality'] == pytest.approx(400 / 6)
    assert 'T-Eval review_str EN, v2, 6 samples' in outcome.out and 'reasons: ok 4' in outcome.out
    assert 'review_quality' in outcome.out and ' 66.67' in outcome.out


def test_details_of_odd_answers(tooleval: Command, tmp_path: Path) -> None:
    """One line per sample, whatever an answer holds."""
    odd = ["{'thought': {1}, 'action': b'x', 'args': {'\\ud800': 1e999, 'u': 'a\u2028\u0085b'}}", '\ud800', '[' * 999]
    answers = {record: odd[i % len(odd)] for i, record in enumerate(gold_answers('instruct_v2'))}
    path, details = write_json(tmp_path / 'answers.json', answers), tmp_path / 'details.jsonl'
    score_json(tooleval, 'instruct', *options('instruct_v2', path, '--details', details))
    lines = details.read_text(encoding='utf-8').split('\n')
    assert [json.loads(line)['id'] for line in lines[:-1]] == list(answers) and lines[-1] == ''


def one_line(text: str) -> str:
    (line,) = filter(None, text.splitlines())  # a progress bar that is no terminal's leaves an empty line
    assert line.startswith('tooleval: ')
    return line


@pytest.mark.parametrize(
    ('subset', 'changes', 'says'),
    [
        ('review_str', {'--predictions': 'none.json'}, 'none.json: the file is missing'),
        ('review_str', {'--data': 'none.json'}, 'none.json: the file is missing'),
        ('review', {}, "T-Eval has no subset 'review'; it has review_str, instruct"),
        ('plan_json', {'--data': str(PLAN)}, 'hf download sentence-transformers/all-mpnet-base-v2'),
        ('retrieve_str', {}, 'according to its name this is review_str, not retrieve_str'),
        ('review_str', {'--json': 'none/out.json'}, 'cannot write none/out.json'),
        ('review_str', {'--details': 'none/out'}, 'cannot write none/out'),
        ('review_str', {'--predictions': 'one.json'}, "one.json: record 'demo_train_1': no answer is recorded for it"),
        ('review_str', {'--predictions': 'two.json'}, "two.json: record 'other': "),
        # Predictions are looked at before an encoder is asked for.
        ('plan_json', {'--data': str(PLAN), '--predictions': 'two.json'}, 'belong to no record of the data'),
    ],
)
def test_faults_end_in_one_line(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subset: str, changes: dict[str, str], says: str
) -> None:
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'empty-hub'))
    gold = gold_answers(REVIEW)
    write_json(Path('two.json'), {**gold, 'other': 'x'})
    write_json(Path('one.json'), {record: answer for record, answer in gold.items() if record != 'demo_train_1'})
    path = write_json(tmp_path / 'answers.json', gold_answers('plan_json_v2' if subset == 'plan_json' else REVIEW))
    arguments = {'--data': str(demo_file(REVIEW)), '--predictions': str(path), **changes}
    outcome = tooleval('score', 'teval', subset, *(part for item in arguments.items() for part in item))
    assert outcome.code == 1 and says in one_line(outcome.err)


@pytest.mark.parametrize(
    ('answer', 'more', 'metric', 'value'),
    [
        # Official scoring takes the first letter after the colon, strict scoring a letter alone.
        ('Answer: **{}**', (), 'review_quality', 0.0),
        ('Answer: **{}**', ('--scoring', 'strict'), 'review_quality', 100.0),
        # Talk around a fence hides the answer, except from `clean`.
        ('I: think\n```\nAnswer: {}\n```', (), 'parse_rate', 0.0),
        ('I: think\n```\nAnswer: {}\n```', ('--postprocessor', 'v2'), 'parse_rate', 0.0),
        ('I: think\n```\nAnswer: {}\n```', ('--postprocessor', 'clean'), 'parse_rate', 100.0),
    ],
)
def test_scoring_and_postprocessor(
    tooleval: Command, tmp_path: Path, answer: str, more: tuple[str, ...], metric: str, value: float
) -> None:
    answers = {record: answer.format(text[-1]) for record, text in gold_answers(REVIEW).items()}
    path = write_json(tmp_path / 'answers.json', answers)
    result = score_json(tooleval, 'review_str', *options(REVIEW, path, *more))
    assert result['metrics'][metric] == value
    assert result['scoring'] == ('strict' if '--scoring' in more else 'official')


def test_protocol_needs_its_encoder(tooleval: Command, tmp_path: Path) -> None:
    """v1 compares the arguments of understand by embedding, v2 does not."""
    stem = 'understand_str_v2'
    path = write_json(tmp_path / 'answers.json', gold_answers(stem))
    assert score_json(tooleval, 'understand_str', *options(stem, path))['encoder'] is None
    result = score_json(tooleval, 'understand_str', *options(stem, path, '--protocol', 'v1', '--encoder', 'offline'))
    assert (result['protocol'], result['encoder']) == ('v1', 'offline:all-MiniLM-L6-v2')
    assert result['metrics']['args'] == pytest.approx(100, abs=1e-4)


def test_encoder_of_the_environment(tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    path = write_json(tmp_path / 'answers.json', gold_answers('reason_str_v2'))
    outcome = tooleval('score', 'teval', 'reason_str', *options('reason_str_v2', path, '--json', '-'))
    assert json.loads(outcome.out)['encoder'] == 'offline:all-MiniLM-L6-v2'
    assert "NOTE the encoder is 'offline:all-MiniLM-L6-v2': not comparable with the leaderboard" in outcome.err
    assert list((tmp_path / 'cache' / 'embeddings').rglob('*.shard'))


@pytest.mark.parametrize('thoughts', ['', '<think>Answer: E?</think>', 'Answer: E, or not?</think>', '<think>hm'])
def test_same_numbers_as_in_opencompass(tooleval: Command, tmp_path: Path, thoughts: str) -> None:
    """Thoughts of a reasoning model are dropped here as there."""
    dataset = ToolEvalTEvalDataset.load('tooleval:demo/teval/EN', REVIEW)
    answers = [thoughts + answer for answer in dataset['gold_answer']]
    rows = {'predictions': answers, 'references': dataset['record'], 'record_id': list(dataset['record_id'])}
    evaluator = ToolEvalTEvalEvaluator(REVIEW, pred_postprocessor={'type': 'tooleval_teval_v2'})
    evaluated = evaluator.evaluate(1, 1, dataset, **rows, infra=[None] * len(dataset))
    scored = score_json(tooleval, 'review_str', *options(REVIEW, write_json(tmp_path / 'answers.json', answers)))
    assert scored['metrics'] == {metric: evaluated[metric] for metric in scored['metrics']}
    assert scored['reasons'] == evaluated['reasons']


def test_postprocessor_goes_by_data_version_not_by_protocol(tooleval: Command, tmp_path: Path) -> None:
    """As in the configs: v2 data keeps its double braces, whatever the protocol."""
    answers = {record: '{' + text + '}' for record, text in gold_answers('instruct_v2').items()}
    path = write_json(tmp_path / 'answers.json', answers)
    for protocol in ('v1', 'v2'):
        result = score_json(tooleval, 'instruct', *options('instruct_v2', path, '--protocol', protocol))
        assert result['postprocessor'] == 'v2'
        assert result['data_version'] == 'v2'
        assert result['metrics']['json_format_metric'] == 0.0
