"""ToolBench's prompts are the published ones."""

from __future__ import annotations

import json

import pytest

from opencompass_tooleval.agents.loops.finish import FINISH
from opencompass_tooleval.agents.toolbench import prompts
from tests.instructions.shared_data import expected
from tests.official import Recorder


@pytest.mark.official('ToolBench', 'prompts')
def test_prompts_are_those_of_the_source_code(record_property: Recorder) -> None:
    record_property('cases', 5)
    published = json.loads(expected('toolbench/prompts.json').read_text())
    react = published['react']
    assert react['FORMAT_INSTRUCTIONS_SYSTEM_FUNCTION'] == prompts.SYSTEM + '{task_description}'
    assert prompts.USER.replace('{}', '{input_description}') == react['FORMAT_INSTRUCTIONS_USER_FUNCTION']
    assert react['FORMAT_INSTRUCTIONS_SYSTEM_FUNCTION_ZEROSHOT'] == prompts.REACT_TEXT
    assert '{previous_candidate}'.join(prompts.DIVERSITY) == published['diversity']
    assert published['task_description'].replace('\\"', '"').replace('\\n', '\n') == prompts.TASK_DESCRIPTION


def test_the_published_runs_were_sent_the_same() -> None:
    run = json.loads(expected('toolbench/example/answer_dfs_588.json').read_text())['answer_generation']
    system, user = run['train_messages'][0][:2]
    listed = '1.theclique: API for TheClique company\n'
    assert system['content'] == f'{prompts.SYSTEM}{prompts.TASK_DESCRIPTION}{listed}'
    assert user['content'] == prompts.USER.format(run['query'])
    finish = run['function'][-1]
    assert (finish['name'], finish['description'], finish['parameters']) == (
        FINISH.name,
        FINISH.description,
        FINISH.parameters,
    )
