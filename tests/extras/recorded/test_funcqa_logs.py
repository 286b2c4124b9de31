"""The authors' logs: matched by question, their labels, their calls, and faults of logs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa.data import Record, load_records
from opencompass_tooleval.benchmarks.funcqa.scoring import score_trajectory, tool_errors
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.funcqa_logs import Labels, LoggedQuestion, count_labels, load_log
from tests.benchmarks.funcqa.support import RECORD
from tests.instructions.shared_data import expected, real
from tests.official import Recorder

CALL = {'api_name': 'multiply_', 'parameters': {'input': [12, 25]}}
ENTRY: dict[str, Any] = {
    'ID': 1,
    'question': f'{RECORD.question} ',
    'final_answer': 'They are 258 of 300.',
    'answer_subtask': [{'task': 'a', 'answer': '300'}],
    'answer_wrong': [],
    'check_index': 1,
    'execute_log': {'api_result_ls': [[CALL]], 'call_result_ls': ['300']},
    'check': 1,
}


OTHER = Record('8', 'multi_hop', 'Another?', 1, 1, 'official', RECORD.steps)


def read(folder: Path, *entries: Any, records: tuple[Record, ...] = (RECORD,)) -> list[LoggedQuestion]:
    file = folder / 'log.json'
    file.write_text(json.dumps(list(entries)), encoding='utf-8')
    logged = load_log(file, records)
    assert logged is not None
    return logged


PUBLISHED = {
    'one_hop': ('funcqa_oh.json', 'funcqa_one-hop_chatgpt.json', Labels(55, 60, 58), (0, 4, 0), (53, 35)),
    'multi_hop': ('funcqa_mh.json', 'funcqa_multi-hop_chatgpt.json', Labels(33, 68, 63), (7, 4, 5), (34, 18)),
}
"""Data, log, labels, questions with an error and with a discarded try, differing results, what our two rules give."""


@pytest.mark.official(
    'FuncQA',
    'labels in the logs of ChatGPT',
    'the labels follow no published rule; that of `accuracy` gives seven others',
)
@pytest.mark.parametrize('subset', PUBLISHED)
def test_the_published_logs(subset: str, record_property: Recorder) -> None:
    data, log, labels, counts, accuracies = PUBLISHED[subset]
    records = load_records(real(f'funcqa/{data}'), subset)
    logged = load_log(expected(f'easytool/{log}'), records)
    assert logged is not None
    scores = [score_trajectory(record, question.trajectory) for record, question in zip(records, logged, strict=True)]
    assert count_labels(logged, [bool(score.values['accuracy']) for score in scores]) == labels
    record_property('cases', labels.questions)
    record_property('equal', labels.agreeing)
    assert counts == (
        sum(bool(tool_errors(question.trajectory)) for question in logged),
        sum(bool(question.discarded) for question in logged),
        sum(question.differing for question in logged),
    )
    names = ('accuracy', 'strict_accuracy')
    assert accuracies == tuple(sum(score.values[name] or 0 for score in scores) for name in names)


def test_labels_are_table_6() -> None:
    shares = [round(100 * labels.right / labels.questions, 2) for _, _, labels, _, _ in PUBLISHED.values()]
    assert shares == [91.67, 48.53]


def test_an_entry(tmp_path: Path) -> None:
    (question,) = read(tmp_path, ENTRY)
    assert (question.label, question.differing, question.discarded) == (1, 0, 0)
    made = question.trajectory
    assert [(call.name, call.observation) for call in made.calls] == [('multiply_', '300')]
    assert (made.final_answer, made.loop, made.check) == ('They are 258 of 300.', 'easytool', 'yes')


def test_the_order_is_that_of_the_records(tmp_path: Path) -> None:
    entries = [{**ENTRY, 'question': 'Another?', 'final_answer': 'other'}, ENTRY]
    logged = read(tmp_path, *entries, records=(RECORD, OTHER))
    assert [question.trajectory.final_answer for question in logged] == ['They are 258 of 300.', 'other']


def test_old_calls_and_lists_of_calls(tmp_path: Path) -> None:
    several = {'api_name': 'add_', 'parameters': [{'args': [1, 2]}, {'input': ['x']}, {'args': [3], 'input': [4]}]}
    log = {'api_result_ls': [[several], ''], 'call_result_ls': ['3\n\n4', '']}
    (question,) = read(tmp_path, {**ENTRY, 'execute_log': log, 'answer_wrong': [{'task': 'b', 'answer': 'no'}]})
    said = [call.observation for call in question.trajectory.calls]
    assert said == ['3', 'Error: add_: "input" holds numbers only', '4']
    assert tool_errors(question.trajectory) == ('args:not_a_number',)
    assert (question.differing, question.discarded) == (0, 1)
    log['call_result_ls'] = ['5', '']
    assert read(tmp_path, {**ENTRY, 'execute_log': log})[0].differing == 1


def test_checks_that_are_all_0_are_no_labels(tmp_path: Path) -> None:
    """The published code writes 0 into every entry; the labels came later."""
    for check in ({'check': 0}, {}):
        entry = {key: value for key, value in ENTRY.items() if key != 'check'} | check
        (question,) = read(tmp_path, entry)
        assert question.label is None and count_labels([question], [True]) is None


def test_json_lines_and_what_is_no_log(tmp_path: Path) -> None:
    file = tmp_path / 'log.jsonl'
    file.write_text(json.dumps(ENTRY) + '\n', encoding='utf-8')
    assert load_log(file, [RECORD])
    file.write_text(json.dumps(ENTRY) + '\n' + json.dumps({**ENTRY, 'question': 'Another?'}) + '\n', encoding='utf-8')
    assert len(load_log(file, [RECORD, OTHER]) or []) == 2
    huge = json.dumps([{**ENTRY, 'ID': 10**4000}])
    for text in (huge, '[]', '[5]', '{"0": {}}', '[{"question": "a"}]', 'x', '[' * 10**5):
        file.write_text(text, encoding='utf-8')
        assert load_log(file, [RECORD]) is None
    assert load_log(tmp_path / 'missing', [RECORD]) is None


DAMAGED: list[tuple[list[Any], str]] = [
    ([{**ENTRY, 'question': 'Whose?'}], "record '0': its question is not in the data"),
    ([ENTRY, ENTRY], "record '1': its question was answered before"),
    ([{**ENTRY, 'final_answer': -1}], "record '0': 'final_answer' is not a string"),
    ([{**ENTRY, 'execute_log': []}], "'execute_log' is not an object"),
    ([{**ENTRY, 'execute_log': {'api_result_ls': [[5]]}}], 'a call is not an object'),
    ([{**ENTRY, 'check': 'yes'}], "its label 'check' is neither 0 nor 1"),
]


@pytest.mark.parametrize(('entries', 'message'), DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_log_is_named(entries: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(tmp_path, *entries)
    assert 'log.json' in str(error.value) and len(str(error.value)) < 500


def test_a_log_that_lacks_questions_is_refused(tmp_path: Path) -> None:
    others = [replace(OTHER, id=f'{n}', question=f'{n}?') for n in range(2)]
    with pytest.raises(DataError, match="record '0': the log lacks its question and 1 more"):
        read(tmp_path, ENTRY, records=(RECORD, *others))
