"""Answers to another subset are rejected if anything identifies it, and reported if none is readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import load_samples
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset
from opencompass_tooleval.core.calls.messages import messages_text, prompt_digest
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.fixed_models import ReplayModel
from tests.cli.conftest import Command, demo_file, gold_answers, write_json

UNREAD = 'no answer could be parsed: is this the right subset?'
STR, JSON = 'plan_str_v2', 'plan_json_v2'


def one_line(text: str) -> str:
    (line,) = filter(None, text.splitlines())  # a progress bar that is no terminal's leaves an empty line
    return line


def rows(stem: str, *fields: str, **more: Any) -> list[dict[str, Any]]:
    """Gold answers as a predictions file has them, with some of what says what was asked."""
    samples = load_samples(demo_file(stem), stem.rpartition('_')[0])
    said = []
    for sample, answer in zip(samples, gold_answers(stem).values(), strict=True):
        whole = {
            'prompt_digest': prompt_digest(messages_text(sample.messages), **more),
            'origin_prompt': [{'role': 'HUMAN', 'prompt': message.content} for message in sample.messages],
            'source': stem,
        }
        kept = {field: whole[field] for field in fields}
        said.append({'record_id': sample.record.id, 'prediction': answer, **kept})
    return said


def score(tooleval: Command, data: str, predictions: Path) -> Any:
    subset = data.rpartition('_')[0]
    more = ('--encoder', 'offline', '--json', '-')
    return tooleval('score', 'teval', subset, '--data', demo_file(data), '--predictions', predictions, *more)


@pytest.mark.parametrize(
    ('name', 'fields', 'says'),
    [
        ('plan_str_v2', (), 'by the name of the file, these are answers to plan_str'),
        ('answers', ('source',), 'by their data set, these are answers to plan_str'),
        ('answers', ('prompt_digest',), '4 of 4 answers have other prompts than the data'),
        ('answers', ('origin_prompt',), '4 of 4 answers have other prompts'),
    ],
)
def test_another_subset_is_refused(
    tooleval: Command, tmp_path: Path, name: str, fields: tuple[str, ...], says: str
) -> None:
    done = score(tooleval, JSON, write_json(tmp_path / f'{name}.json', rows(STR, *fields)))
    assert done.code == 1 and says in one_line(done.err)
    fitting = write_json(tmp_path / f'{name.replace("str", "json")}.json', rows(JSON, *fields))
    assert json.loads(score(tooleval, JSON, fitting).out)['metrics']['f1_score'] == pytest.approx(100)


@pytest.mark.parametrize('roles', [{'system_role': 'user'}, {'function_role': 'system'}])
def test_other_roles_are_no_other_subset(
    tooleval: Command, tmp_path: Path, roles: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    done = score(tooleval, JSON, write_json(tmp_path / 'answers.json', rows(JSON, 'prompt_digest', **roles)))
    assert done.code == 0 and not caplog.records


def test_the_authors_rows_say_their_prompt(tooleval: Command, tmp_path: Path) -> None:
    raw = json.loads(demo_file(STR).read_text(encoding='utf-8'))
    answered = {record: {**row, 'prediction': answer} for (record, row), answer in zip(
        raw.items(), gold_answers(STR).values(), strict=True
    )}  # fmt: skip
    path = write_json(tmp_path / 'tmp.json', answered)
    assert 'these are not answers to plan_json' in one_line(score(tooleval, JSON, path).err)
    assert score(tooleval, STR, path).code == 0
    for row in answered.values():
        row['origin_prompt'] = json.dumps(row['origin_prompt'])
    assert score(tooleval, STR, write_json(path, answered)).code == 0


def test_a_name_stands_for_other_instructions(
    tooleval: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answered = rows(JSON, 'origin_prompt')
    for row in answered:
        row['origin_prompt'][0]['prompt'] = 'Concise instructions.'
    done = score(tooleval, JSON, write_json(tmp_path / 'tooleval-teval-plan_json_v2-easytool.json', answered))
    assert done.code == 0 and 'other instructions, or another version?' in caplog.text
    assert score(tooleval, JSON, write_json(tmp_path / 'x.json', answered)).code == 1


def test_nothing_that_could_be_read_is_told(
    tooleval: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done = score(tooleval, JSON, write_json(tmp_path / 'answers.json', rows(STR)))
    assert done.code == 0 and UNREAD in caplog.text
    caplog.clear()
    assert json.loads(done.out)['metrics']['f1_score'] == 0
    answered = rows(STR)
    answered[0] = rows(JSON)[0]
    assert score(tooleval, JSON, write_json(tmp_path / 'answers.json', answered)).code == 0
    assert UNREAD not in caplog.text


def test_ultratool_another_task(tooleval: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    demo = demo_file(JSON).parents[2] / 'ultratool' / 'Chinese-dataset' / 'test_set'
    usage = ToolEvalUltraToolDataset.load('tooleval:demo/ultratool', 'tool_usage', 'zh')
    answered = [{'record_id': row['record_id'], 'prediction': row['gold_answer']} for row in usage]

    def scored(name: str, more: list[dict[str, Any]]) -> Any:
        path = write_json(tmp_path / name, [{**row, **extra} for row, extra in zip(answered, more, strict=True)])
        task = 'tool_usage_awareness'
        return tooleval('score', 'ultratool', task, '--data', demo / f'{task}.json', '--predictions', path)

    nothing: list[dict[str, Any]] = [{} for _ in answered]
    named = scored('tool_usage.json', nothing)
    assert 'these are answers to tool_usage, not to tool_usage_awareness' in one_line(named.err)
    prompts = [{'origin_prompt': json.loads(row['messages'])[0]['content']} for row in usage]
    assert 'by its prompt this is an answer to tool_usage,' in one_line(scored('answers.json', prompts).err)
    for row in answered:
        row['prediction'] = 'no list'
    done = scored('answers.json', nothing)
    assert done.code == 0 and UNREAD in caplog.text


def conversations(stem: str) -> list[Conversation]:
    data = ToolEvalTEvalDataset.load('tooleval:demo/teval/EN', stem, encoder='offline')
    return [ToolEvalConversationTemplate().generate_item({**row, 'idx': i}) for i, row in enumerate(data)]


@pytest.mark.parametrize('field', ['source', 'prompt_digest', 'origin_prompt'])
def test_replayed_answers_to_another_subset_are_refused(tmp_path: Path, field: str) -> None:
    path = write_json(tmp_path / 'answers.json', rows(STR, field))
    assert len(ReplayModel(str(path)).generate(conversations(STR), 8)) == 4
    with pytest.raises(ValueError, match=f"answers.json: record 'demo_museum': .*{JSON}"):
        ReplayModel(str(path)).generate(conversations(JSON), 8)
