"""Each fix that the package prints removes its fault: the fault is made, and what the screen says is done."""

from __future__ import annotations

import ast
import errno
import fcntl
import importlib.metadata
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import pytest

import opencompass_tooleval
from opencompass_tooleval.agents.tasks.open_bank import open_bank
from opencompass_tooleval.benchmarks.toolbench.prompts import make_choices, open_tools
from opencompass_tooleval.benchmarks.ultratool.data import read_samples
from opencompass_tooleval.cli.main import app
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import instructions_provenance
from opencompass_tooleval.environments.simulator_store import SimulatorStore
from opencompass_tooleval.extras.mcp_servers.open_live import open_live
from opencompass_tooleval.extras.preparing.ultratool_rows import planning_row
from opencompass_tooleval.findings.kinds import PARSER
from opencompass_tooleval.findings.of_results import findings_of_run
from opencompass_tooleval.work_dir.causes import one_line_if_unusable
from tests.benchmarks.toolbench.support import Words
from tests.cli.conftest import Command, home, tooleval
from tests.cli.test_networks import in_front, make_certificate
from tests.conftest import ROOT
from tests.extras.preparing.test_build_command import write_lines
from tests.extras.preparing.test_ultratool_rows import write_samples
from tests.extras.tasks.shop import SERVER, write_fixture
from tests.findings.test_kinds import AGENT
from tests.fixes.collect import fixes, fixes_in
from tests.forked import run_opencompass
from tests.models.api.scripted_server import CONTEXT, KEY, Refused, Request, Script, serving
from tests.report.support import add, detail, plain_run, result_of
from tests.summarizers.test_summarizer import counted
from tests.work_dir.test_budget_file import ledger
from tests.work_dir.test_replicas import divide, pair

__all__ = ['home', 'tooleval']

DEMO = Path(opencompass_tooleval.__file__).parent / 'demo'
SWEEP = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer
    from opencompass_tooleval.configs.models.tooleval_oracle import models
models, datasets = models[:1], [row for row in datasets if 'teval-review_str_v2' in row['abbr']]
"""
MARK = re.compile(r'(?:[Ff]ix|[Ff]etch|[Ii]nstall|[Ww]rite) it(?: again)? with: (.*)')
PROGRAMS = ('mkdir', 'rm')
"""Programs that fixes may start here, besides ours and OpenCompass."""


class Place:
    """A working directory of a user, and the screen."""

    def __init__(self, tooleval: Command, monkeypatch: pytest.MonkeyPatch):
        self.tooleval = tooleval
        self.patch = monkeypatch
        self.setenv = monkeypatch.setenv

    def fault(self, *command: object) -> str:
        """Runs a command that fails, and returns what it prints."""
        code, screen = self.run(*command)
        assert code, screen
        return screen

    def run(self, *command: object) -> tuple[int, str]:
        """Runs a command of a shell."""
        program, *words = map(str, command)
        if program == 'tooleval':
            done = self.tooleval(*words)
            return done.code, done.out + done.err
        if program == 'opencompass':
            ran = run_opencompass(*words)
        else:
            assert program in PROGRAMS
            ran = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    def fixed(self, *command: object, fix: str, again: tuple[object, ...] = (), **filled: object) -> None:
        """Makes a fault, does what the last fix on the screen says, and gives the command again.

        Args:
            command: The command that fails.
            fix: The fix, as the screen has to show it.
            again: Another command that has to succeed at last.
            filled: What a user writes for words such as ``CONFIG``.
        """
        shown = [line for line in MARK.findall(self.fault(*command)) if line]
        assert shown and shown[-1] == fix, shown
        words = [re.sub(r'\b[A-Z_]{3,}\b', lambda word: str(filled[word[0]]), word) for word in shlex.split(fix)]
        code, screen = self.run(*words)
        assert code == 0, screen
        code, screen = self.run(*(again or command))
        assert code == 0, screen


Row = Callable[[Place], None]
ELSEWHERE: dict[str, str] = {
    'tooleval prepare funcqa --from DIR': 'cli/test_funcqa.py::test_prepare_and_list',
    'tooleval prepare restbench --from DIR': 'cli/test_restbench.py::test_prepare_and_list',
    'tooleval prepare toolbench --from DIR': 'cli/test_toolbench.py::test_prepare_and_list',
    'tooleval prepare ultratool': 'extras/preparing/test_build_command.py::test_copies_and_keeps',
    **dict.fromkeys(
        (
            'rm {}; tooleval prepare ultratool',
            '{} --tasks {} --out repaired && mv repaired/{} {}/{}',
            '{} --tasks {} --toolset-size {} --out {}',
        ),
        'extras/preparing/test_build_command.py::test_the_command_of_the_message_builds_the_file',
    ),
    '{}tooleval easytool generate --source {} {}': (
        'instructions/test_missing_instructions.py::test_the_command_makes_them'
    ),
    'name its authority in $SSL_CERT_FILE': 'cli/test_networks.py::test_a_sweep_goes_on_once_the_authority_is_named',
    'if {} needs none: export no_proxy="$no_proxy,{}"': 'models/api/test_http_client.py::test_servers_without_a_proxy',
    '{} answers: use that URL': 'cli/test_run.py::test_one_question_before_the_run_finds_what_is_wrong',
    '{}tooleval retry {}': 'cli/test_sweep.py::test_retry_asks_only_what_has_no_answer_and_then_all_is_done',
    'tooleval retry RUN': 'cli/test_sweep.py::test_retry_asks_only_what_has_no_answer_and_then_all_is_done',
    'raise `budget`, and run again with `-r`': (
        'test_budget.py::test_nothing_is_sent_beyond_a_budget_and_a_higher_one_continues'
    ),
    'raise `budget` in {}': 'test_budget.py::test_nothing_is_sent_beyond_a_budget_and_a_higher_one_continues',
    "set stored_answers='keep' in the model's config to use the answers, or 'ask' to ask again": (
        'cli/test_other_settings.py::test_the_config_decides_on_answers_with_another_temperature'
    ),
    'raise `max_out_len`, and resume with `-r`': (
        'cli/test_answer_limits.py::test_cut_and_further_answers_are_asked_for_and_no_others'
    ),
    'in {}, set {}': 'summarizers/test_server_evidence.py::test_the_fix_of_a_refused_temperature_is_one',
    'update the gateway, whose answers have several choices': (
        'summarizers/test_server_evidence.py::test_a_server_without_faults_gets_no_warning'
    ),
    PARSER: 'summarizers/test_server_evidence.py::test_a_server_without_faults_gets_no_warning',
    "raise the server's context": 'summarizers/test_server_evidence.py::test_a_server_without_faults_gets_no_warning',
    "set thoughts='as_sent' in the config of the model, so that they go back to the server": (
        'models/test_returned_thoughts.py::test_none_sends_no_thoughts_and_names_the_setting_where_they_are_required'
    ),
    "if it refuses the thoughts that go back, set thoughts='none' in the config of the model": (
        'models/test_returned_thoughts.py::test_if_nothing_helps_the_message_names_a_setting_that_does'
    ),
    "the server never sent some earlier calls; T-Eval's data sets with history='text' send them as text": (
        'models/test_returned_thoughts.py::test_gold_calls_that_no_server_sent_can_be_text'
    ),
    'If only instructions or roles differ, name the file {}.json': (
        'cli/test_right_subset.py::test_a_name_stands_for_other_instructions'
    ),
    'if it fits anyway, name the file {}.json': (
        'cli/test_right_subset.py::test_replayed_answers_to_another_subset_are_refused'
    ),
    'fix it and run again: what was answered is kept in {}': (
        'extras/preparing/test_generate_command.py::test_a_tiny_model_knows_nothing_and_what_its_library_raises_is_said'
    ),
    "Set {} in infer['runner'] and eval['runner']": 'runners/slurm/test_runner.py::test_options_reach_slurm',
    'opencompass ... -r': 'work_dir/test_shards.py::test_shards_of_an_earlier_run_keep_their_answers',
    'run again with `-r`': 'test_bound_results.py::test_predictions_of_another_run_are_said_and_scored',
    'raise the context length, for Ollama with: OLLAMA_CONTEXT_LENGTH=32768 ollama serve': (
        'extras/probe/test_probe.py::test_a_good_server_is_ok_and_costs_little'
    ),
}
"""Fix -> the test that does it."""

ROWS: dict[str, tuple[Row, tuple[str, ...]]] = {}
"""Name of a row -> the row, and the fixes that it does."""
SLOW: set[str] = set()


def row(*done: str, long: bool = False) -> Callable[[Row], Row]:
    """Adds a row that does some fixes; ``long`` if it takes seconds."""

    def keep(function: Row) -> Row:
        ROWS[function.__name__] = function, done
        SLOW.update({function.__name__} if long else ())
        return function

    return keep


# --- commands of tooleval ---------------------------------------------------------------------------------------------


def _data(place: Place, benchmark: str, subset: str, *options: str, source: str = '', version: str = '') -> None:
    """Data that is missing: the fix fetches it, here from the shipped records instead of the network."""
    command = ('tooleval', 'prompts', benchmark, subset, *options)
    screen = place.fault(*command)
    fix = f'tooleval prepare {benchmark}{version}'
    assert MARK.findall(screen)[-1].removesuffix(' --from DIR') == fix
    words = shlex.split(fix.removesuffix(version))
    place.run(*words, '--from', DEMO / (source or benchmark))  # 1 if some of the shipped records are not published
    assert place.run(*command)[0] == 0


@row('tooleval prepare teval')
def data_of_teval(place: Place) -> None:
    _data(place, 'teval', 'plan_json')


@row('tooleval prepare teval --version v1')
def data_of_an_earlier_teval(place: Place) -> None:
    assert MARK.findall(place.fault('tooleval', 'prompts', 'teval', 'plan_json', '--version', 'v1'))[-1] == (
        'tooleval prepare teval --version v1'
    )
    screen = place.fault('tooleval', 'prepare', 'teval', '--version', 'v9')
    assert 'v1' in screen and 'v9' in screen, 'the option and its value are those of the command'


@row(
    'tooleval prepare {}',
    'tooleval prepare agents --from DIR',
    'tooleval prepare agents --from DIR, or name the file with --data FILE',
)
def data_of_agents(place: Place) -> None:
    _data(place, 'agents', 'toolbench_g1', source='toolbench')


@row('mkdir -p {}')
def a_folder_for_output(place: Place) -> None:
    Path('s.py').write_text(SWEEP)
    place.fixed('tooleval', 'plan', 's.py', '--json', 'my new/plan.json', fix="mkdir -p 'my new'")


@row('tooleval gate RUN --save FILE')
def a_file_that_is_no_baseline(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    Path('b').write_text('{"model": "m"}\n')
    command = ('tooleval', 'gate', run, '--baseline', 'b')
    place.fixed(*command, fix='tooleval gate RUN --save FILE', RUN=run, FILE='b')


@row('--model NAME --baseline-model NAME')
def a_gate_of_two_models(place: Place) -> None:
    runs = [Path(name, '20260101_000000') for name in 'ab']
    for run, names in zip(runs, (('one', 'two'), ('three', 'four')), strict=False):
        for name in names:
            add(run, name, 'tooleval-teval-review_str_v2', result_of([detail(f'r{i}') for i in range(120)]))
    command = ('tooleval', 'gate', runs[0], '--baseline', runs[1])
    fix = MARK.findall(place.fault(*command))[-1]
    assert fix == '--model NAME --baseline-model NAME'
    assert place.run(*command, '--model', 'one', '--baseline-model', 'four')[0] == 0


@row('leave out --metric')
def a_metric_that_is_not_there(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    command = ('tooleval', 'gate', run, '--baseline', run)
    assert MARK.findall(place.fault(*command, '--metric', 'review_qualty'))[-1] == 'leave out --metric'
    assert place.run(*command)[0] == 0


@row('tooleval export WORK_DIR --out DIR')
def an_export_that_is_none(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    Path('exported').mkdir()
    fix = 'tooleval export WORK_DIR --out DIR'
    command = ('tooleval', 'import', 'exported', 'again')
    screen = place.fault(*command)
    assert MARK.findall(screen)[-1] == fix
    Path('exported').rmdir()
    assert place.run(*shlex.split(fix.replace('WORK_DIR', str(run)).replace('DIR', 'exported')))[0] == 0
    code, screen = place.run(*command)
    assert code == 0, screen


@row('rm {}')
def a_link_out_of_a_run(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    Path('mine').mkdir()
    link = run / 'a link'
    link.symlink_to(Path('mine').absolute())
    place.fixed('tooleval', 'export', run, '--out', 'exported', fix=f"rm '{link.absolute()}'")


@row('name another with -o', 'choose another folder with -o')
def a_folder_of_other_files(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    Path('mine').mkdir()
    Path('mine', 'notes.txt').write_text('x')
    Path('file').write_text('x')
    for out, fix in (('mine', 'name another with -o'), ('file', 'choose another folder with -o')):
        screen = place.fault('tooleval', 'report', run, '-o', out)
        assert MARK.findall(screen)[-1] == fix, screen
    assert place.run('tooleval', 'report', run, '-o', 'another')[0] == 0
    assert Path('mine', 'notes.txt').read_text() == Path('file').read_text() == 'x'


@row('tooleval easytool retrieval ... --json FILE')
def a_file_that_is_no_retrieval(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    (run / 'retrieval_g2.json').write_text('{}')
    assert MARK.findall(place.fault('tooleval', 'report', run, '-o', 'report'))[-1].startswith('tooleval easytool retr')
    _has_options('tooleval easytool retrieval --json FILE')
    (run / 'retrieval_g2.json').unlink()
    assert place.run('tooleval', 'report', run, '-o', 'report')[0] == 0


@row('tooleval tasks init --server COMMAND --out {}')
def a_file_of_tasks_that_is_missing(place: Place) -> None:
    fix = "tooleval tasks init --server COMMAND --out 'my tasks.yaml'"
    place.fixed('tooleval', 'tasks', 'check', 'my tasks.yaml', fix=fix, COMMAND=SERVER)


@row('choose another --out, or remove the file')
def instructions_that_are_finished(place: Place) -> None:
    documentation = DEMO / 'toolbench' / 'G2_category.json'
    Path('out.json').write_text('[]')
    command = (
        'tooleval',
        'easytool',
        'generate',
        '--source',
        'toolbench',
        '--input',
        documentation,
        '--model',
        'template',
    )
    screen = place.fault(*command, '--out', 'out.json')
    assert MARK.findall(screen)[-1] == 'choose another --out, or remove the file', screen
    assert place.run(*command, '--out', 'other.json')[0] == 0
    Path('out.json').unlink()
    assert place.run(*command, '--out', 'out.json')[0] == 0


@row('add models = [dict(type=..., path=...)]')
def a_config_without_models(place: Place) -> None:
    documentation = DEMO / 'toolbench' / 'G2_category.json'
    Path('model.py').write_text('datasets = []\n')
    command = (
        'tooleval',
        'easytool',
        'generate',
        '--source',
        'toolbench',
        '--input',
        documentation,
        '--model',
        'model.py',
    )
    screen = place.fault(*command, '--out', 'out.json')
    assert MARK.findall(screen)[-1] == 'add models = [dict(type=..., path=...)]', screen
    Path('model.py').write_text("models = [dict(type='OracleModel', path='oracle')]\n")
    assert 'has no models' not in place.run(*command, '--out', 'out.json')[1]


@row('correct the row, or leave out damaged rows with --skip-damaged', 'leave out --official')
def annotated_samples_with_a_damaged_row(place: Place) -> None:
    annotated = write_samples(Path('test.json'))
    rows = annotated.read_text()
    annotated.write_text(f'{rows}\n{{"cut": ')
    official = Path('official', 'test_set', 'planning.json')
    write_lines(official, [planning_row(sample) for sample in read_samples(write_samples(Path('good.json')))])
    command = ('tooleval', 'build', 'ultratool', '--from', annotated, '--out', 'built', '--tasks', 'planning')
    fix = 'correct the row, or leave out damaged rows with --skip-damaged'
    assert MARK.findall(place.fault(*command))[-1] == fix
    both = (*command, '--skip-damaged', '--official', 'official')
    assert MARK.findall(place.fault(*both))[-1] == 'leave out --official'
    assert place.run(*command, '--skip-damaged')[0] == 0
    annotated.write_text(rows)
    assert place.run(*command, '--official', 'official')[0] == 0


@row('choose another --out, or leave it out of --tasks')
def an_official_file_is_not_built_over(place: Place) -> None:
    samples = read_samples(write_samples(Path('test.json')))
    write_lines(Path('official', 'test_set', 'planning.json'), [planning_row(sample) for sample in samples])
    command = ('tooleval', 'build', 'ultratool', '--from', 'test.json')
    screen = place.fault(*command, '--out', 'official/test_set', '--tasks', 'planning')
    assert MARK.findall(screen)[-1] == 'choose another --out, or leave it out of --tasks', screen
    assert place.run(*command, '--out', 'other', '--tasks', 'planning')[0] == 0
    assert place.run(*command, '--out', 'official/test_set', '--tasks', 'tool_selection')[0] == 0


@row('start it with `tooleval run ... --twin {}`')
def a_gate_of_twins_without_twins(place: Place) -> None:
    run = plain_run(Path('out', '20260101_000000'))
    assert 'start it with `tooleval run ... --twin order`' in place.fault('tooleval', 'gate', run, '--twin', 'order')
    _has_options('tooleval run --twin NAME')


# --- configs ----------------------------------------------------------------------------------------------------------


def _plan(place: Place, more: str, text: str, fix: str, before: str = SWEEP, is_fault: bool = True) -> None:
    """A config with a fault, which `tooleval plan` names, and the same one with its fix.

    Args:
        place: The place.
        more: Lines of the fault.
        text: What the screen has to show.
        fix: Lines that do it.
        before: The config without both.
        is_fault: False for a note or a warning.
    """
    Path('s.py').write_text(before + more)
    code, screen = place.run('tooleval', 'plan', 's.py')
    assert code == is_fault and text in screen, screen
    Path('s.py').write_text(before + more + fix)
    code, screen = place.run('tooleval', 'plan', 's.py')
    assert code == 0 and text not in screen, screen


@row('give each a different abbr, or leave one out')
def two_models_of_one_name(place: Place) -> None:
    _plan(place, 'models = [*models, dict(models[0])]\n', 'give each a different abbr', "models[1]['abbr'] = 'other'\n")


@row()
def a_keyword_that_nobody_reads(place: Place) -> None:
    more = "models[0]['temprature'] = 1\n"
    _plan(place, more, 'temprature', "del models[0]['temprature']\n")


@row('correct the config of the data set')
def an_evaluator_that_cannot_be_built(place: Place) -> None:
    setting = "datasets[0]['eval_cfg']['evaluator']['scoring'] = '{}'\n"
    _plan(place, setting.format('oficial'), 'Fix it with: correct the config of the data set', setting.format('strict'))


@row("set type='opencompass_tooleval.tasks.{}'")
def a_task_that_counts_no_budget(place: Place) -> None:
    more = 'models[0].update(prices=dict(input=1.0, output=1.0), budget=dict(cost=5))\n'
    more += "infer['runner']['task'] = dict(type='OpenICLInferTask')\n"
    setting = "type='opencompass_tooleval.tasks.ToolEvalInferTask'"
    _plan(place, more, f'counts no budget: set {setting}', f"infer['runner']['task'] = dict({setting})\n")


@row('read tooleval_local.py or tooleval_slurm.py into it', long=True)
def a_config_without_a_runner(place: Place) -> None:
    bare = SWEEP.replace('datasets, eval, infer, summarizer', 'datasets')
    local = '    from opencompass_tooleval.configs.{} import *\nmodels'
    for name in ('tooleval_local', 'tooleval_slurm'):
        Path('s.py').write_text(bare)
        assert MARK.findall(place.fault('tooleval', 'plan', 's.py'))[-1] == FIXES_OF_RUNNERS
        Path('s.py').write_text(bare.replace('models, datasets =', f'{local.format(name)}, datasets =', 1))
        code, screen = place.run('tooleval', 'plan', 's.py')
        assert code == 0, screen


FIXES_OF_RUNNERS = 'read tooleval_local.py or tooleval_slurm.py into it'
API = """
from opencompass_tooleval.models import ToolEvalOpenAI
url = 'http://127.0.0.1:9/v1'
models = [dict(type=ToolEvalOpenAI, abbr='api', path='m', openai_api_base=url, run_cfg=dict(num_gpus=0))]
"""


@row('export {}=...', 'export OPENAI_API_KEY=...')
def a_key_that_is_missing(place: Place) -> None:
    Path('s.py').write_text(SWEEP + API)
    place.setenv('OPENAI_API_KEY', '')
    fix = MARK.findall(place.fault('tooleval', 'plan', 's.py'))[-1]
    name, _, value = fix.removeprefix('export ').partition('=')
    place.setenv(name, value)
    assert place.run('tooleval', 'plan', 's.py')[0] == 0


@row("write `key='ENV'`")
def a_key_in_the_config(place: Place) -> None:
    place.setenv('OPENAI_API_KEY', 'k')
    text = 'its key is in the config'
    _plan(place, f"{API}models[0]['key'] = 'sk-abcdefgh'\n", text, "models[0]['key'] = 'ENV'\n", is_fault=False)


@row('run it without sample, limit and test_range')
def a_part_of_the_records(place: Place) -> None:
    more = "datasets[0]['reader_cfg']['test_range'] = '[:2]'\n"
    _plan(place, more, 'the first 2, not a sample', "del datasets[0]['reader_cfg']['test_range']\n", is_fault=False)


@row(
    'export OC_JUDGE_MODEL=NAME OC_JUDGE_API_KEY=KEY OC_JUDGE_API_BASE=URL',
    'set `judge_cfg`, or `--judge` of `tooleval run`',
)
def a_judge_that_is_missing(place: Place) -> None:
    without = "for row in datasets:\n    row['eval_cfg']['evaluator'].pop('judge_cfg')\n"
    Path('s.py').write_text(SWEEP.replace('teval-review_str_v2', 'ultratool-planning') + without)
    fix = MARK.findall(place.fault('tooleval', 'plan', 's.py'))[-1]
    assert fix == 'export OC_JUDGE_MODEL=NAME OC_JUDGE_API_KEY=KEY OC_JUDGE_API_BASE=URL'
    for name, _, value in (word.partition('=') for word in fix.split()[1:]):
        place.setenv(name, value)
    assert place.run('tooleval', 'plan', 's.py')[0] == 0


@row("run it with SlurmArrayRunner (configs/tooleval_slurm.py), or inside 'sbatch --nodes={} --exclusive'")
def an_engine_on_two_nodes(place: Place) -> None:
    more = """
from opencompass_tooleval.models import ToolEvalServed
engine = dict(nodes=2, command=['vllm', '{port}', '{rank}'])
models = [dict(type=ToolEvalServed, abbr='two', path='x', engine=engine, run_cfg=dict(num_gpus=0))]
"""
    _plan(place, more, 'run it with SlurmArrayRunner', "infer['runner']['type'] = 'SlurmArrayRunner'\n")


@row('store trajectories of an agent there, with id, query and final_answer')
def trajectories_that_are_missing(place: Place) -> None:
    place.setenv('OC_JUDGE_MODEL', 'judge')
    Path('s.py').write_text(SUCCESS)
    fix = 'store trajectories of an agent there, with id, query and final_answer'
    screen = place.fault('tooleval', 'plan', 's.py')
    assert fix in screen, screen
    stored = [{'id': '1', 'query': 'Where?', 'final_answer': 'Here.'}]
    path = re.search(r'looked at ([^,\s]+)', screen)
    assert path
    Path(path[1]).parent.mkdir(parents=True, exist_ok=True)
    Path(path[1]).write_text(json.dumps(stored))
    code, screen = place.run('tooleval', 'plan', 's.py')
    assert code == 0, screen


SUCCESS = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.eval_demo import eval, infer, summarizer
    from opencompass_tooleval.configs.models.tooleval_oracle import models
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_success_gen import *
datasets = tooleval_toolbench_success_datasets[:1]
models = models[:1]
"""

# --- runs -------------------------------------------------------------------------------------------------------------


@cache
def _finished() -> TemporaryDirectory[str]:
    """A folder with a config and a finished run of it, whose two data sets one model has answered."""
    folder = TemporaryDirectory()
    Path(folder.name, 's.py').write_text(SWEEP)
    done = run_opencompass('s.py', '-w', 'out', cwd=Path(folder.name))
    assert done.returncode == 0, done.stderr
    return folder


def _run(place: Place) -> Path:
    """Copies the finished run into the place, and returns its path there."""
    shutil.copytree(_finished().name, '.', dirs_exist_ok=True)
    (run,) = Path('out').iterdir()
    assert place.run('tooleval', 'status', run)[0] == 0
    return run


AGAIN = ('opencompass', 's.py', '-w', 'out', '-r')


@row('delete it and run again with -r', long=True)
def a_damaged_result(place: Place) -> None:
    run = _run(place)
    result = next(run.glob('results/*/*.json'))
    result.write_text('{')
    fix = MARK.findall(place.fault('tooleval', 'compare', run, 'oracle', 'oracle'))[-1]
    assert fix == 'delete it and run again with -r'
    result.unlink()
    assert place.run(*AGAIN)[0] == 0 and json.loads(result.read_text())['review_quality'] == 100


@row('delete the file and run the sweep again with -r', long=True)
def damaged_predictions(place: Place) -> None:
    run = _run(place)
    predictions = next(run.glob('predictions/*/*.json'))
    predictions.write_text('{')
    command = ('tooleval', 'export', run, '--out', 'exported')
    assert MARK.findall(place.fault(*command))[-1] == 'delete the file and run the sweep again with -r'
    predictions.unlink()
    assert place.run(*AGAIN)[0] == 0 and place.run(*command)[0] == 0


@row('opencompass CONFIG', long=True)
def a_class_that_this_version_lacks(place: Place) -> None:
    run = _run(place)
    (config,) = run.glob('configs/*.py')
    next(run.glob('predictions/*/*.json')).write_text('{"0": {"infra": "infra:timeout", "prediction": ""}}')
    config.write_text(config.read_text().replace('opencompass_tooleval.tasks.', 'opencompass_tooleval.no_tasks.'))
    fix = MARK.findall(place.fault('tooleval', 'retry', run))[-1]
    assert fix == 'opencompass CONFIG'
    assert place.run(*shlex.split(fix.replace('CONFIG', 's.py')))[0] == 0
    assert place.run('tooleval', 'retry', 'outputs/default') == (0, 'every sample has an answer\n')


@row('opencompass CONFIG -w DIR', long=True)
def a_folder_without_a_run(place: Place) -> None:
    Path('s.py').write_text(SWEEP)
    Path('mine').mkdir()
    place.fixed('tooleval', 'status', 'mine', fix='opencompass CONFIG -w DIR', CONFIG='s.py', DIR='mine')


@row('{}opencompass {} {}', 'make {} writable', 'free space on the disk of {}, or raise your quota', long=True)
def a_disk_that_cannot_be_written(place: Place) -> None:
    run = _run(place)
    moved = Path('my runs')
    run.parent.rename(moved)
    next(moved.glob('*/results/*/*.json')).unlink()
    for number, fix in ((errno.ENOSPC, 'free space on the disk of'), (errno.EROFS, 'make my runs')):
        with pytest.raises(SystemExit) as caught, one_line_if_unusable(moved / run.name):
            raise OSError(number, 'x')
        assert fix in str(caught.value)
    again = shlex.split(str(caught.value).rpartition('then: ')[2].replace('CONFIG', 's.py'))
    assert place.run(*again)[0] == 0 and place.run('tooleval', 'status', moved)[0] == 0
    assert [path.name for path in moved.iterdir()] == [run.name]


@row('tooleval agents bank build --from {} --out {}')
def a_bank_that_is_missing(place: Place) -> None:
    source = DEMO / 'teval' / 'EN'
    fix = 'tooleval agents bank build --from SOURCE --out FILE'
    place.fixed('tooleval', 'agents', 'bank', 'stats', 'b', fix=fix, SOURCE=source, FILE='b')
    with pytest.raises(DataError) as caught:
        open_bank('my bank')
    fix = MARK.findall(str(caught.value))[-1]
    assert place.run(*shlex.split(fix.replace('SOURCE', str(source))))[0] == 0
    Path('my bank').rename('kept')
    assert open_bank(str(Path('kept').absolute())).tasks()


@row('tooleval agents bank build --from {} --out {}')
def recordings_that_are_read_at_each_start(place: Place) -> None:
    shutil.copytree(DEMO / 'teval' / 'EN', 'my data')
    place.patch.setattr('opencompass_tooleval.agents.tasks.open_bank.MAX_SOURCE_BYTES', 10)
    with pytest.raises(DataError) as caught:
        open_bank(str(Path('my data').absolute()))
    assert place.run(*shlex.split(MARK.findall(str(caught.value))[-1].replace('FILE', 'b')))[0] == 0
    assert open_bank(str(Path('b').absolute())).tasks()


@row("simulator=dict(cache='ANOTHER FILE', ...) in the config")
def simulated_responses_in_a_file_of_something_else(place: Place) -> None:
    Path('file').write_text('mine')
    with pytest.raises(DataError, match=r"Fix it with: simulator=dict\(cache='ANOTHER FILE'"):
        SimulatorStore(Path('file')).setdefault('a', 'b')
    assert SimulatorStore(Path('another')).setdefault('a', 'b') == 'b' and Path('file').read_text() == 'mine'


@row("infer['partitioner'] = dict(type='NumWorkerPartitioner', num_worker=N)", long=True)
def shards_of_another_package(place: Place) -> None:
    config = f"{SWEEP}datasets[0]['infer_cfg']['inferencer'] = dict(type='GenInferencer')\n"
    Path('s.py').write_text(config)
    shard = Path('out', '20260101_000000', 'predictions', 'oracle', 'tooleval-teval-review_str_v2_0.json')
    shard.parent.mkdir(parents=True)
    shard.write_text('{}')
    command = ('opencompass', 's.py', '-w', 'out', '-r', '20260101_000000', '-m', 'infer', '--dry-run')
    screen = place.fault(*command)
    assert 'Traceback' not in screen
    Path('s.py').write_text(config + MARK.findall(screen)[-1].replace('=N', '=2'))
    code, screen = place.run(*command)
    assert code == 0, screen


@row('put it back as it was when the data set was run')
def instructions_that_have_moved(place: Place) -> None:
    Path('mine.json').write_text('[]')
    Path('mine.json').rename('moved.json')
    path = str(Path('mine.json').absolute())
    with pytest.raises(DataError, match='Fix it with: put it back as it was when the data set was run'):
        instructions_provenance(path)
    Path('moved.json').rename('mine.json')
    assert instructions_provenance(path)['instructions'] == path


@row('use a subset with fewer candidates')
def too_few_tools_for_the_candidates(place: Place) -> None:
    tools = open_tools(DEMO / 'toolbench' / 'G1_instruction.json', 'G1')
    with pytest.raises(DataError, match='Fix it with: use a subset with fewer candidates'):
        make_choices(tools, 100, 0, Words())
    assert make_choices(tools, 2, 0, Words())


@row('name a folder on another file system with -w, or leave out the budget')
def a_budget_without_locks(place: Place) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, 'No locks available')

    with place.patch.context() as here, pytest.raises(DataError, match='name a folder on another file system with -w'):
        here.setattr(fcntl, 'flock', fail)
        ledger(Path()).reserve(1, 1)
    assert ledger(Path('elsewhere')).reserve(1, 1)


@row('give all nodes the same data, and run again with -r')
def replicas_with_other_data(place: Place) -> None:
    _, other = pair(Path(), 5, divided=1)
    with pytest.raises(DataError, match='give all nodes the same data, and run again with -r'):
        divide(other, 4)
    divide(other, 5)


@row('correct `fixture` of `live` in the config')
def a_fixture_that_is_missing(place: Place) -> None:
    with pytest.raises(DataError, match='Fix it with: correct `fixture` of `live` in the config'):
        open_live(SERVER, fixture=str(Path('shop').absolute()))
    write_fixture(Path('shop'))
    open_live(SERVER, fixture=str(Path('shop').absolute())).close()


RESULT = {'samples': {'all': 200, 'infra': 0}}
OF_RESULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    'published:limit': ({'provenance': {'max_out_len': 5, 'published_max_out_len': 9}},
                        {'provenance': {'max_out_len': 9, 'published_max_out_len': 9}}),
    'result:no_response': ({'breakdown': counted(50), 'provenance': AGENT},
                           {'breakdown': counted(0), 'provenance': AGENT}),
    'result:cut': ({'samples': {**RESULT['samples'], 'cut': 50}, 'endings': {'cut_at': 9},
                    'provenance': {'max_out_len': 99}}, {}),
    'result:cut_prompts': ({'endings': {'cut_prompts': 4096}}, {}),
}  # fmt: skip
"""Kind -> a result with the fault, and what it is after the fix."""


@row(
    'raise `max_out_len`',
    'take a larger bank, or configure a simulator',
    'check its own limit, then run again with a higher max_out_len and -r',
    'raise its context (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx), and ask again in a new run',
)
def results_with_limits(place: Place) -> None:
    for kind, results in OF_RESULTS.items():
        told = [{one.kind for one in findings_of_run({('m', 'd'): {**RESULT, **result}})} for result in results]
        assert [kind in kinds for kinds in told] == [True, False], kind


@row('write the host that it is made for in the URL', "it has to be renewed, or this machine's clock is wrong")
def a_wrong_certificate(place: Place) -> None:
    place.setenv('OPENAI_API_KEY', KEY)
    other = make_certificate(Path('other.pem').absolute(), 'DNS:localhost', 2)
    old = make_certificate(Path('old.pem').absolute(), 'IP:127.0.0.1', -1)
    new = make_certificate(Path('new.pem').absolute(), 'IP:127.0.0.1', 2)
    with serving(Script()) as server:

        def asked(file: Path, host: str = '127.0.0.1') -> tuple[int, str]:
            place.setenv('SSL_CERT_FILE', str(file))
            with in_front(server, certificate=file) as url:
                url = url.replace('127.0.0.1', host)
                return place.run('tooleval', 'doctor', '--endpoint', url, '--model', 'tiny')

        assert 'write the host that it is made for in the URL' in asked(other)[1]
        assert asked(other, 'localhost')[0] == 0
        assert "it has to be renewed, or this machine's clock is wrong" in asked(old)[1]
        assert asked(new)[0] == 0


# --- servers ----------------------------------------------------------------------------------------------------------


class Refusing(Script):
    """Refuses keys, models and settings with the status that their text begins with."""

    def admits(self, authorization: str) -> bool:
        return True

    def answer_to(self, authorization: str) -> bool:
        self.key = authorization.removeprefix('Bearer ')
        return True

    def check(self, request: Request) -> None:
        if request.get('tools'):
            raise Refused(400, 'this model does not support tools')
        if request['model'] == 'full':
            raise Refused(400, f"This model's maximum context length is {CONTEXT} tokens. However, you requested more")
        for text in (self.key, request['model'], str(request.get('user', ''))):
            if (status := text.partition('-')[0]).isdecimal():
                raise Refused(int(status), 'we do not like this')


def _served(
    place: Place,
    fault: Mapping[str, str],
    fix: str,
    fixed: Mapping[str, str] = MappingProxyType({}),
    sweep: str = SWEEP,
) -> None:
    """A run whose server refuses everything; the fix is made in the config, and then the printed command is given.

    Args:
        place: The place.
        fault: Setting of the model -> its value as Python code.
        fix: What the screen has to show.
        fixed: What the fix sets in place of it.
        sweep: The config with the fault, except for the model.
    """
    with serving(Refusing()) as url:
        good = {'key': repr(KEY), 'path': "'tiny'", 'openai_api_base': repr(url), 'retry': '0', 'max_out_len': '16'}

        def write(settings: Mapping[str, str], sweep: str = SWEEP) -> None:
            row = ', '.join(f'{name}={value}' for name, value in {**good, **settings}.items())
            model = f"dict(type=ToolEvalOpenAI, abbr='api', {row}, max_seq_len=8192, run_cfg=dict(num_gpus=0))"
            imports = 'from opencompass_tooleval.models import ToolEvalOpenAI\n'
            Path('s.py').write_text(f'{sweep}{imports}models = [{model}]\n')

        write(fault, sweep)
        screen = ' '.join(place.fault('opencompass', 's.py', '-w', 'out').split())
        shown, again = re.findall(r'fix: (.*?) then: (opencompass .*? -r \S+)', screen)[-1]
        assert shown == fix, shown
        write(fixed, sweep.replace('-fc', '').replace('-11', '-8'))
        code, screen = place.run(*shlex.split(again))
        assert code == 0, screen[-3000:]


@row("put the right key where the model's config reads it (its `key`, or $OPENAI_API_KEY)", long=True)
def a_wrong_key(place: Place) -> None:
    fix = "put the right key where the model's config reads it (its `key`, or $OPENAI_API_KEY)"
    _served(place, {'key': "'401-key'"}, fix)


@row("add credit to the account, or take another key (the config's `key`, or $OPENAI_API_KEY)", long=True)
def an_account_without_credit(place: Place) -> None:
    fix = "add credit to the account, or take another key (the config's `key`, or $OPENAI_API_KEY)"
    _served(place, {'key': "'402-key'"}, fix)


@row("take a key that may use this model (the config's `key`, or $OPENAI_API_KEY)", long=True)
def a_key_for_other_models(place: Place) -> None:
    fix = "take a key that may use this model (the config's `key`, or $OPENAI_API_KEY)"
    _served(place, {'key': "'403-key'"}, fix)


@row("correct the model's `path` (its name on the server) or `openai_api_base` in {config}", long=True)
def a_model_that_the_server_has_not(place: Place) -> None:
    fix = "correct the model's `path` (its name on the server) or `openai_api_base` in s.py"
    _served(place, {'path': "'404-model'"}, fix)


@row('start the server, or correct `openai_api_base` in {}', long=True)
def a_server_that_is_not_there(place: Place) -> None:
    fix = 'start the server, or correct `openai_api_base` in s.py'
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        url = f'http://127.0.0.1:{taken.getsockname()[1]}/v1'
    _served(place, {'openai_api_base': repr(url)}, fix)


@row('correct {} as the server says', long=True)
def a_setting_that_the_server_refuses(place: Place) -> None:
    refused = {'openai_extra_kwargs': "dict(user='400-user')"}
    _served(place, refused, 'correct s.py as the server says', {'openai_extra_kwargs': "dict(user='me')"})


@row(
    'take the data sets without -fc, or start the server with its parser of tool calls (vLLM: '
    '--enable-auto-tool-choice --tool-call-parser NAME; llama-server: --jinja)',
    long=True,
)
def a_server_that_takes_no_tools(place: Place) -> None:
    fix = next(fix for fix in ROWS['a_server_that_takes_no_tools'][1])
    native = SWEEP.replace("'teval-review_str_v2' in row['abbr']", "'calls_g2-fc' == row['abbr'][-11:]")
    _served(place, {}, fix, sweep=native)


@row('in {}: {}', long=True)
def a_limit_of_the_server(place: Place) -> None:
    _served(place, {'path': "'full'"}, 'in s.py: Raise max_seq_len, and the limit of the server')


@row(
    'correct {}: it fails again if unchanged',
    'correct `path` of the model in {}, or with a network: hf download NAME',
    long=True,
)
def a_model_that_cannot_be_loaded(place: Place) -> None:
    Path('mine').mkdir()
    Path('mine', 'config.json').write_text('{}')
    for path, fix in (
        ('mine', 'correct s.py: it fails again if unchanged'),
        ('no/such', 'correct `path` of the model in s.py, or with a network: hf download NAME'),
    ):
        kind = f"type='opencompass.models.HuggingFaceBaseModel', abbr='oracle', path={path!r}"
        Path('s.py').write_text(f'{SWEEP}models = [dict({kind}, run_cfg=dict(num_gpus=0))]\n')
        screen = ' '.join(place.fault('opencompass', 's.py', '-w', path.replace('/', '')).split())
        shown, again = re.findall(r'fix: (.*?) then: (opencompass .*? -r \S+)', screen)[-1]
        assert shown == fix, shown
        Path('s.py').write_text(SWEEP)
        assert place.run(*shlex.split(again))[0] == 0


# --- programs that do not run here ------------------------------------------------------------------------------------


def _has_options(command: str) -> None:
    """Checks that a command of ours exists and has the options that a fix names."""
    from typer.main import get_command

    _, *words = shlex.split(command)
    found: Any = get_command(app)
    context = found.make_context('tooleval', [], resilient_parsing=True)
    while words and not words[0].startswith('-'):
        name, found, words = found.resolve_command(context, words)
        context = found.make_context(name, [], parent=context, resilient_parsing=True)
    known = {option for parameter in found.params for option in parameter.opts}
    assert {word for word in words if word.startswith('-')} <= known, command


def _extras() -> set[str]:
    return set(importlib.metadata.metadata('opencompass-tooleval').get_all('Provides-Extra') or ())


def _installs() -> set[str]:
    return {fix for fix in fixes() if fix.startswith('pip install')}


def _clones() -> set[str]:
    return {fix for fix in fixes() if fix.startswith('git clone')}


def _downloads() -> set[str]:
    return {fix for fix in fixes() if 'hf download {' in fix}


def test_what_pip_installs_is_one_of_our_extras_or_a_requirement() -> None:
    from packaging.requirements import Requirement
    from pip._internal.commands import create_command

    for fix in _installs():
        words = shlex.split(fix.replace('{}{}', 'datasets>=2'))[2:]
        options, words = create_command('install').parser.parse_args(words)
        (requirement,) = map(Requirement, words)
        is_ours = requirement.name == 'opencompass-tooleval'
        assert requirement.extras <= _extras() and (is_ours or not requirement.extras), fix
        assert not options.requirements, fix


def test_git_has_the_options_of_a_clone() -> None:
    help_of_git = subprocess.run(['git', 'clone', '-h'], capture_output=True, text=True, check=False).stdout
    for fix in _clones():
        program, command, option, depth, url = shlex.split(fix)
        assert (program, command, depth) == ('git', 'clone', '1') and f'{option} <depth>' in help_of_git
        assert re.fullmatch(r'https://github\.com/[\w-]+/[\w-]+', url), fix


def test_hf_downloads_a_repository() -> None:
    for fix in _downloads():
        command = shlex.split(fix[fix.index('hf download') :].partition('  (')[0].replace('{}', 'org/name'))
        assert command[:2] == ['hf', 'download'] and len(command) == 3, fix
    hf = Path(sys.executable).with_name('hf')
    done = subprocess.run([hf, 'download', '--help'], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and 'REPO_ID' in done.stdout.upper()


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tooleval, monkeypatch)


@pytest.mark.parametrize('name', [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in ROWS])
def test_a_fix_removes_its_fault(name: str, place: Place) -> None:
    ROWS[name][0](place)


FORMS = """
_FIX_OF_DATA = 'one'
def read(fix):
    fix = 'two' if fix else f'three {fix} {FIX!r}'
    raise DataError(file, 'it is damaged', fix=fix)
def check():
    'Fix it with: this is documentation'
    yield found('config:key', about, 'text', 'four')
    raise SystemExit(f'tooleval: {error}. Fix it with: five {error}')
def resuming(run):
    return f'six {run}'
KINDS = {'a': Kind(_NOTE, 'a sentence', 'seven')}
path = resolve_data_path(path, FIX)
"""


def test_every_form_of_a_fix_is_found() -> None:
    tree, texts = ast.parse(FORMS), set()
    for function in [*(node for node in tree.body if isinstance(node, ast.FunctionDef)), tree]:
        texts |= set(fixes_in(function, {'FIX': [ast.Constant('eight')]}))
    numbers = ['eight', 'five {}', 'four', 'one', 'seven', 'six {}', "three {} 'eight'", 'two']
    assert sorted(filter(None, texts)) == numbers


def test_every_fix_in_the_code_is_done_by_a_test() -> None:
    """A new fix needs a row here, or the test elsewhere that does it; one that is gone needs none."""
    assert _installs() and _clones() and _downloads()
    here = {fix for _, done in ROWS.values() for fix in done} | _installs() | _clones() | _downloads()
    assert sorted(set(fixes()) - here - set(ELSEWHERE)) == []
    assert sorted((here | set(ELSEWHERE)) - set(fixes())) == []
    assert sorted(here & set(ELSEWHERE)) == []
    for where in ELSEWHERE.values():
        file, _, name = where.partition('::')
        assert f'def {name}(' in (ROOT / 'tests' / file).read_text(encoding='utf-8'), where
