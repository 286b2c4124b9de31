"""Files that want to break their readers: each ends in a value, or in one line that names the file."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa.data import load_records as load_questions
from opencompass_tooleval.benchmarks.restbench.data import load_records as load_requests
from opencompass_tooleval.benchmarks.restbench.data import open_toolbox
from opencompass_tooleval.benchmarks.teval.data import load_samples
from opencompass_tooleval.benchmarks.toolbench.data import load_data, load_final_answers
from opencompass_tooleval.benchmarks.toolbench.scoring import SuccessGrading
from opencompass_tooleval.benchmarks.ultratool.data import (
    find_subset,
    load_example,
    load_recorded_rows,
    load_records,
    read_samples,
)
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import ScoresGrading
from opencompass_tooleval.core.errors import MAX_MESSAGE, DataError
from opencompass_tooleval.environments.call_log import logged_tools, read_call_log
from opencompass_tooleval.extras.recorded.funcqa_logs import load_log as load_funcqa_log
from opencompass_tooleval.results.table import read as read_runs
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.tool_docs.sources import KINDS, load_docs
from opencompass_tooleval.work_dir.data_files import MAX_BYTES, read_json
from opencompass_tooleval.work_dir.lock import holder_of
from opencompass_tooleval.work_dir.progress import look
from opencompass_tooleval.work_dir.recorded import load_recorded
from opencompass_tooleval.work_dir.shards import read_predictions
from opencompass_tooleval.work_dir.store import AnswerStore
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.cli.conftest import Command, demo_file, write_json

DEMO = demo_file('review_str_v2').parents[2]
DEEP = 100_000


def _nested(depth: int) -> str:
    return '[' * depth + ']' * depth


CONTENTS: Mapping[str, bytes] = {
    'nothing': b'',
    'open lists': b'[' * DEEP,
    'open objects': b'{"a":' * DEEP,
    'deep in a record': f'{{"0": {{"a": {_nested(DEEP)}}}}}'.encode(),
    'as deep as can be read': f'{{"0": {{"prediction": {_nested(900)}, "idx": 0}}}}'.encode(),
    'a deep row': f'{{"idx": 0, "id": {_nested(900)}, "prediction": "a"}}\n'.encode(),
    'a row beyond floats': b'{"idx": 1e400, "process": 1e400, "samples": 1e400, "prediction": "a"}\n',
    'a row of another kind': b'{"idx": [], "key": [], "time": "x", "id": {}, "query_id": [1], "samples": []}\n',
    'a result beyond floats': b'{"samples": {"all": 1e400}, "accuracy": 1e400, "reasons": 3, "details": 7}',
    'a number': b'1',
    'an empty object': b'{}',
    'rows that are none': b'[null, 1, "a", [], {}]',
    'not UTF-8': b'\xff\xfa\x80',
    'half a character': b'{"\\ud800": {"prediction": "\\udfff", "ground_truth": {"answer": "A"}}}',
    'a long number': b'{"0": ' + b'9' * 5_000 + b'}',
}


def _records_of_restbench(file: Path) -> object:
    inventory = open_toolbox(DEMO / 'restbench' / 'specs' / 'tmdb_oas.json').inventory
    return load_requests(file, 'tmdb', inventory)


def _log_of_funcqa(file: Path) -> object:
    return load_funcqa_log(file, load_questions(DEMO / 'funcqa' / 'funcqa_oh.json', 'one_hop'))


def _example_of_ultratool(file: Path) -> object:
    example = file.parent / 'set' / 'example' / 'planning.json'
    example.parent.mkdir(parents=True)
    example.write_bytes(file.read_bytes())
    return load_example(example.parent.parent / 'test_set' / 'planning.json', 'planning')


def _run(file: Path, place: str) -> WorkDir:
    """A run of which one file is ``file``."""
    run = WorkDir(file.parent / 'run')
    (run.path / 'configs').mkdir(parents=True)
    (run.path / 'configs' / 'a.py').touch()
    target = run.path / place
    target.parent.mkdir(parents=True)
    target.write_bytes(file.read_bytes())
    return run


def _looks(place: str) -> Callable[[Path], object]:
    return lambda file: look(_run(file, place), 'm', 'd')


TEVAL = ('instruct', 'plan_json', 'plan_str', 'reason_str', 'reason_retrieve_understand_json', 'review_str')
ULTRATOOL = ('planning', 'tool_usage', 'tool_selection')
FILES: Mapping[str, Callable[[Path], object]] = {
    **{f'T-Eval, {name}': partial(load_samples, subset=name) for name in TEVAL},
    **{f'UltraTool, {task}': partial(load_records, subset=task, language='en') for task in ULTRATOOL},
    'UltraTool, answers': lambda file: load_recorded_rows(file, 'tool_usage', 'zh'),
    'UltraTool, example': _example_of_ultratool,
    'UltraTool, annotated samples': read_samples,
    'UltraTool, judgements': ScoresGrading((), (), find_subset('planning'), Protocol()).read,
    'RestBench': _records_of_restbench,
    'RestBench, OpenAPI': open_toolbox,
    'FuncQA': lambda file: load_questions(file, 'one_hop'),
    'FuncQA, log': _log_of_funcqa,
    'ToolBench': lambda file: load_data(file, 'G2'),
    'ToolBench, trajectories': load_final_answers,
    'ToolBench, judgements': SuccessGrading((), ()).read,
    'instructions': load_instructions,
    **{f'documentation, {kind}': partial(load_docs, kind) for kind in KINDS},
    'recorded answers': load_recorded,
    'predictions': read_predictions,
    'store': lambda file: [*AnswerStore(file.parent).read()],
    'lock': holder_of,
    'log of calls': lambda file: [*read_call_log(file, 'a'), *logged_tools(file)],
    'result': _looks('results/m/d.json'),
    'predictions of a run': _looks('predictions/m/d.json'),
    'answers of a run': _looks('predictions/m/d.answers/1.jsonl'),
    'lock of a run': _looks('predictions/m/.d.lock'),
    'log of a run': _looks('logs/infer/m/d.out'),
    'result in a report': lambda file: read_runs([_run(file, 'results/m/d.json').path]),
    'log in a report': lambda file: read_runs([_run(file, 'logs/infer/m/d.out').path]),
}


@pytest.mark.parametrize('reader', FILES)
def test_a_file_is_read_or_named(tmp_path: Path, reader: str) -> None:
    for number, content in enumerate(CONTENTS.values()):
        file = tmp_path / str(number) / 'hostile.json'
        file.parent.mkdir()
        file.write_bytes(content)
        try:
            FILES[reader](file)
        except DataError as error:
            assert len(str(error)) <= MAX_MESSAGE
            assert str(error).startswith(str(file.parent))
            assert '\n' not in str(error)


@pytest.mark.parametrize(
    ('change', 'name', 'message'),
    [
        ({'ground_truth': {'answer': ['A']}}, None, "an 'answer' from A to E. Fix it with: tooleval prepare teval"),
        ({'origin_prompt': '[' * DEEP}, None, "'origin_prompt' is text, but not JSON (it is nested too deeply)"),
        ({}, '\ud800', 'the id contains half a character'),
    ],
)
def test_a_damaged_record_is_named(
    tooleval: Command, tmp_path: Path, change: dict[str, Any], name: str | None, message: str
) -> None:
    content = json.loads(demo_file('review_str_v2').read_bytes())
    (first, record), *others = content.items()
    content = {name or first: {**record, **change}, **dict(others)}
    data, details = write_json(tmp_path / 'review_str_v2.json', content), tmp_path / 'details.jsonl'
    answers = write_json(tmp_path / 'answers.json', ['A'] * len(content))
    done = tooleval('score', 'teval', 'review_str', '--data', data, '--predictions', answers, '--details', details)
    assert done.code == 1
    (line,) = done.err.splitlines()
    shown = r'\ud800' if name else first
    assert line.startswith(f"tooleval: {data}: record '{shown}': ") and message in line and not details.exists()


def test_no_message_is_long(tooleval: Command, tmp_path: Path) -> None:
    """It is cut in the middle."""
    file = tmp_path / f'{"long" * 50}.json'
    file.write_text('[' * DEEP)
    done = tooleval('score', 'teval', 'review_str', '--data', demo_file('review_str_v2'), '--predictions', file)
    (line,) = done.err.splitlines()
    assert done.code == 1 and len(line) <= MAX_MESSAGE and str(file) in line and 'nested too deeply' in line
    data = write_json(tmp_path / 'review_str_v2.json', {'r' * 100_000: {'ground_truth': 'x' * 100_000}})
    done = tooleval('score', 'teval', 'review_str', '--data', data, '--predictions', data)
    assert len(done.err.strip()) <= MAX_MESSAGE
    for part in (str(data), "record 'rrr", 'the gold answer', 'tooleval prepare teval'):
        assert part in done.err


@pytest.mark.parametrize('part', [b'[],', b'1.5\n', b'\n'])
def test_a_small_file_with_many_values_is_refused_before_they_are_read(tmp_path: Path, part: bytes) -> None:
    """At its greatest size, 245 kB of gzip took 6.7 GB."""
    body = part * (1 << 23)
    file = tmp_path / 'bomb.json.gz'
    file.write_bytes(gzip.compress(b'[' + body + body[:-1] + b']' if part[-1:] == b',' else body + part, 1))
    tracemalloc.start()
    with pytest.raises(DataError, match=r'bomb\.json\.gz: .*more than 8,388,608 values'):
        read_json(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * MAX_BYTES
