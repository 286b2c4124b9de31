"""The patches of CONTRIBUTING apply to a copy of the package, and their additions work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.long  # make test-docs

PATCHES = re.findall(r'^```diff\n(.*?)^```', (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8'), re.M | re.S)
SUBSET, LOOP, JUDGED, ENGINE = PATCHES

Run = Callable[[str], str]


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs Python where a copy of the package has all additions; each patch changes few files."""
    package = tmp_path_factory.mktemp('added')
    shutil.copytree(ROOT / 'opencompass_tooleval', package / 'opencompass_tooleval')
    for patch, most_files in ((SUBSET, 3), (LOOP, 2), (JUDGED, 2), (ENGINE, 1)):
        assert 0 < patch.count('\n+++ b/') <= most_files
        (package / 'added.diff').write_text(patch, encoding='utf-8')
        # With their numbers of lines as they were when the patch was written: what is around says where it belongs.
        subprocess.run(['git', 'apply', '--recount', 'added.diff'], cwd=package, check=True)

    def run(code: str) -> str:
        environment = {**os.environ, 'PYTHONPATH': str(package)}
        command = [sys.executable, '-c', code]
        done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


ADDED = """
import json, sys
from mmengine.config import Config
from opencompass.utils import build_model_from_cfg
config = Config.fromfile('opencompass_tooleval/configs/datasets/agents/tooleval_toolbench_agent_gen.py')
print(json.dumps([row['abbr'] for name in config if name.endswith('_datasets') for row in config[name]]))
config = Config.fromfile('opencompass_tooleval/configs/models/tooleval_served_tgi.py')
print(build_model_from_cfg(config.models[0]).path)
from opencompass_tooleval.cli.main import main
sys.argv[1:] = ['list', 'agents']
main()
"""


def test_a_subset_and_an_engine(run: Run) -> None:
    said = run(ADDED)
    assert re.search(r'^toolbench_g1_tool +158 tasks', said, re.M) and '\nQwen/Qwen2.5-7B-Instruct\n' in said
    (abbrs,) = [json.loads(line) for line in said.splitlines() if line.startswith('["tooleval-')]
    assert {f'tooleval-toolbench_g1_tool-agent-{loop}' for loop in ('fc', 'dfsdt', 'fc-easytool')} < {*abbrs}


CARRY_OUT = """
from pathlib import Path
from opencompass_tooleval.agents.loops.loops import make_loop
from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.environments.environment import Environment
task = load_data(Path('opencompass_tooleval/demo/agents/teval/EN/plan_json_v1.json'), 'teval').tasks[0]
dialogue = make_loop('no_tools').run(task, Environment().begin(task.id, task.schemas, task.documents))
asked = next(dialogue)
assert asked.messages[0].content == task.query
try:
    dialogue.send(Answer('Forty-two.'))
except StopIteration as end:
    print(end.value.final_answer)
"""
JUDGE = """
import json
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judged_scores import metrics_of
from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.catalogue.metrics import words_of_metric
final = json.dumps(dict(return_type='give_answer', final_answer='The rink opens at ten.'))
nodes = [dict(role='tool', message=dict(name='hours', arguments={}, response='opens at ten'))]
answers = [JudgedAnswer(name, 'When?', 'm', final, nodes) for name in ('1', '2')]
found, grading = {}, AgentGrading(answers, JudgeSettings(('grounded',)))
for place, judging in grading.dialogues().items():
    item = next(judging)
    assert 'opens at ten' in item.prompt and 'The rink opens at ten.' in item.prompt
    try:
        judging.send(item.read(json.dumps(dict(Choice='Yes' if place[0] == '1' else 'No', Reason='it does'))))
    except StopIteration as end:
        found[place] = end.value
judged = grading.check(grading.score(grading.collected(found)))
print(metrics_of(('grounded',)), [(one.values, one.reason) for one in judged], words_of_metric("grounded_rate").name)
"""


def test_a_loop_and_a_judges_metric(run: Run) -> None:
    values = "[({'grounded_rate': 1.0}, 'ok'), ({'grounded_rate': 0.0}, 'judge:no')]"
    assert run(CARRY_OUT + JUDGE) == f"Forty-two.\n('grounded_rate',) {values} Grounded\n"
