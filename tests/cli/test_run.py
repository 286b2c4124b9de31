"""``tooleval run``: what the server receives, what the screen says, and that the config is an ordinary one."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval import plugin
from opencompass_tooleval.cli.run_data import choose
from opencompass_tooleval.core.model_name import is_reasoning_name
from tests.cli.conftest import DEMO, Command
from tests.conftest import ROOT
from tests.forked import run_opencompass, run_python
from tests.models.api.scripted_server import KEY, Request, Script, serving

COMMAND = 'from opencompass_tooleval.cli.main import main; main()'
TWO_SUBSETS = ('teval-demo/review_str', 'teval-demo/instruct')
FLAGS = ('--limit', '1', '--max-out-len', '700', '--max-workers', '3', '--temperature', '0.5')
SENT = 12
"""Requests: a record of two subsets in two languages, of one also with native calls, for two models."""
MOST_LINES = 40
OF_T_EVAL = 'data/teval/EN/review_str_v2.json'


class Recording(Script):
    """Takes any model, and answers everything with a letter."""

    thinks = False

    def check(self, request: Request) -> None:
        assert request['max_tokens']

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': 'A', **({'reasoning_content': 'Let me see.'} if self.thinks else {})}


@pytest.fixture
def server() -> Iterator[tuple[Recording, str]]:
    script = Recording()
    with serving(script) as url:
        yield script, url


def run(folder: Path, *arguments: str, **settings: str) -> CompletedProcess[str]:
    """Runs the command as a process; it has no key unless the settings have one."""
    inherited = {name: value for name, value in os.environ.items() if name != 'OPENAI_API_KEY'}
    return run_python('-c', COMMAND, 'run', *arguments, cwd=folder, env={**inherited, **settings})


def values(config: Path) -> dict[str, Any]:
    """A config as OpenCompass reads it."""
    loaded: dict[str, Any] = Config.fromfile(config, format_python_code=False).to_dict()
    return loaded


@dataclass
class Sweep:
    """A run of two models, with a key in another variable."""

    folder: Path
    script: Recording
    url: str
    done: CompletedProcess[str]

    @property
    def config(self) -> Path:
        (config,) = self.folder.glob('outputs/run/teval-demo-review_str-teval-demo-instruct/*/config.py')
        return config


@pytest.fixture(scope='module')
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sweep]:
    folder, script = tmp_path_factory.mktemp('run'), Recording()
    with serving(script) as url:
        models = ('--model', 'team/a', '--model', 'b', '--api-base', url, '--key-env', 'OTHER_KEY')
        yield Sweep(folder, script, url, run(folder, *TWO_SUBSETS, *models, *FLAGS, OTHER_KEY=KEY))


def test_the_server_receives_what_the_options_say(sweep: Sweep) -> None:
    assert sweep.done.returncode == 0, sweep.done.stdout + sweep.done.stderr
    first = sweep.script.asked[:SENT]
    assert Counter(request['model'] for request in first) == {'team/a': SENT / 2, 'b': SENT / 2}
    assert {(request['max_tokens'], request['temperature']) for request in first} == {(700, 0.5)}
    assert {row['max_workers'] for row in values(sweep.config)['models']} == {3}


def test_the_screen_ends_with_scores_and_the_report(sweep: Sweep) -> None:
    screen, run = sweep.done.stdout, sweep.config.parent.relative_to(sweep.folder)
    assert re.search(r'^benchmark +metric +a +b$', screen, re.MULTILINE)
    assert screen.splitlines()[-1] == f'report: {run}/report/index.html'
    assert (sweep.folder / run / 'report' / 'index.html').is_file()


def test_the_printed_command_is_that_of_the_run(sweep: Sweep) -> None:
    command = sweep.done.stdout.split('command:')[1].splitlines()[0].strip()
    assert command.startswith('OPENAI_API_KEY="$OTHER_KEY" opencompass outputs/run/')
    count, words = len(sweep.script.asked), shlex.split(command)[2:]
    assert count == SENT
    again = run_opencompass(*words, cwd=sweep.folder, env={**os.environ, 'OPENAI_API_KEY': KEY})
    assert again.returncode == 0 and len(sweep.script.asked) == count  # all of it is done
    assert len(list(sweep.config.parent.parent.iterdir())) == 1


def test_a_written_config_is_what_runs(sweep: Sweep) -> None:
    models = ('--model', 'team/a', '--model', 'b', '--api-base', sweep.url, '--key-env', 'OTHER_KEY')
    done = run(sweep.folder, *TWO_SUBSETS, *models, *FLAGS, '--write-config', 'mine.py', OTHER_KEY=KEY)
    assert done.returncode == 0 and len(sweep.script.asked) == SENT
    written = (sweep.folder / 'mine.py').read_text()
    assert written == sweep.config.read_text() and len(written.splitlines()) <= MOST_LINES and KEY not in written
    assert [row['abbr'] for row in values(sweep.folder / 'mine.py')['models']] == ['a', 'b']
    twice = run(sweep.folder, *TWO_SUBSETS, *models, '--write-config', 'mine.py')
    assert twice.returncode == 1 and 'mine.py exists' in twice.stderr
    assert (sweep.folder / 'mine.py').read_text() == written


def test_a_failed_run_ends_with_its_status_and_without_a_report(tmp_path: Path) -> None:
    with serving(Script()) as url:  # it knows no model but `tiny`
        done = run(tmp_path, TWO_SUBSETS[0], '--model', 'unknown', '--api-base', url, OPENAI_API_KEY=KEY)
    assert done.returncode == 1 and 'MISSING unknown x tooleval-teval-review_str_v2' in done.stdout
    assert 'status 404' in done.stdout and 'report:' not in done.stdout


# --- before anything is sent ------------------------------------------------------------------------------------------


def test_missing_data_are_one_line_with_the_command(tooleval: Command, server: tuple[Recording, str]) -> None:
    script, url = server
    done = tooleval('run', 'teval/review_str', 'ultratool', '--model', 'm', '--api-base', url)
    assert (done.code, done.out, done.err.count('\n')) == (1, '', 1)
    assert done.err.startswith(f'tooleval: {OF_T_EVAL}: not found and ')
    assert done.err.endswith('Fix it with: tooleval prepare teval && tooleval prepare ultratool\n')
    assert not script.asked and not Path('outputs').exists()


@pytest.mark.parametrize(
    ('name', 'command'),
    [
        ('restbench-easytool', 'tooleval prepare restbench'),
        ('toolbench-agent-react', 'tooleval prepare toolbench && tooleval prepare agents'),
        ('toolbench', 'tooleval prepare toolbench'),
        (
            'teval-en-v2-easytool/plan_str',
            'tooleval prepare teval && tooleval easytool generate --source SOURCE --input FILE --model MODEL '
            '--out data/easytool/teval_en_v2.json',
        ),
    ],
)
def test_each_missing_file_has_its_command(tooleval: Command, name: str, command: str) -> None:
    assert tooleval('run', name, '--model', 'm').err.strip().endswith(f'Fix it with: {command}')


def downloaded() -> Path:
    """T-Eval's files, in place of those on Hugging Face."""
    return DEMO


def test_prepare_brings_missing_data(tooleval: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(plugin.DOWNLOAD, 'teval', f'{__name__}:downloaded')
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    done = tooleval('run', 'teval/review_str', '--model', 'm', '--prepare')
    assert (tmp_path / 'data-cache' / OF_T_EVAL).is_file()
    fix = 'Fix it with: export OPENAI_API_KEY=...'
    assert done.code == 1 and done.err.strip().endswith(f'$OPENAI_API_KEY, which is not set. {fix}')


def test_a_missing_encoder_is_said_before_a_request(tooleval: Command, server: tuple[Recording, str]) -> None:
    tooleval('prepare', 'teval', '--from', DEMO)
    script, url = server
    done = tooleval('run', 'teval/reason_str', '--model', 'm', '--api-base', url)
    assert done.code == 1 and "encoder 'all-mpnet-base-v2' is not on this machine" in done.err and not script.asked


@pytest.mark.parametrize('thinks', [True, False])
def test_a_server_that_thinks_is_asked_once(
    tooleval: Command, server: tuple[Recording, str], thinks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, url = server
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    script.thinks = thinks
    folder = '/dev/null' if not thinks else 'out'  # no run can begin there
    done = tooleval('run', TWO_SUBSETS[0], '--model', 'm', '--api-base', url, '-w', folder)
    assert done.code == 1 and len(script.asked) == 1
    assert ('such as --max-out-len 16384' in done.err) == thinks and ('/dev/null' in done.err) != thinks


@pytest.mark.parametrize(('model', 'option'), [('o3-mini', '--model'), ('Qwen/Qwen3-8B', '--hf')])
def test_a_model_that_reasons_by_its_name_needs_a_limit(tooleval: Command, model: str, option: str) -> None:
    done = tooleval('run', 'demo', option, model, '--write-config', 'a.py')
    assert done.code == 1 and done.err.startswith(f'tooleval: {model} reasons before') and not Path('a.py').exists()
    assert tooleval('run', 'demo', option, model, '--max-out-len', 16384, '--write-config', 'a.py').code == 0


def test_names_of_models_that_reason() -> None:
    assert all(map(is_reasoning_name, ('o1', 'o3-mini', 'gpt-5.1', 'DeepSeek-R1-Distill', 'Qwen3-4B-Thinking-2507')))
    plain = ('gpt-4o-mini', 'Qwen3-4B-Instruct-2507', 'qwen3-coder', 'Qwen2.5-7B-Instruct', 'Llama-3.1-8B', 'model-r10')
    assert not any(map(is_reasoning_name, plain))


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((), 'give models by one of --model NAME, --hf PATH and --models CONFIG'),
        (('--model', 'm', '--hf', 'p'), 'give models by one of'),
        (('--hf', 'p', '--api-base', 'http://h/v1'), '--api-base needs --model'),
        (('--model', 'm', '--serve', 'vllm'), '--serve needs --hf'),
        (('--model', 'm', '--gpus', '2'), '--gpus needs --hf'),
        (('--model', 'm', '--max-cost', '5'), '--max-cost needs --prices'),
        (('--hf', 'p', '--max-workers', '5'), 'has no max_workers: leave --max-workers out'),
        (('--hf', 'p', '--stream'), 'has no stream: leave --stream out'),
        (('--hf', 'p', '--serve', 'nonsense'), "no engine 'nonsense'; there are llamacpp, lmdeploy, sglang"),
        (('--hf', 'p.gguf', '--serve', 'llamacpp', '--max-out-len', '99'), 'is in its command'),
        (('--models', 'missing.py'), 'missing.py: the config cannot be read'),
        (('agents', '--model', 'm'), "no data sets 'agents'; there are "),
        (('tevall', '--model', 'm'), "no data sets 'tevall'; there are teval, "),
        (('teval/plan', '--model', 'm'), "teval has no subset 'plan'; it has plan_str, plan_json, "),
        (('teval', 'teval-zh-v2', '--model', 'm'), 'is chosen twice'),
    ],
)
def test_what_would_have_no_effect_is_refused(tooleval: Command, arguments: tuple[str, ...], message: str) -> None:
    names = () if arguments and not arguments[0].startswith('--') else ('demo',)
    done = tooleval('run', *names, *arguments, '--write-config', 'a.py')
    assert done.code == 1 and message in done.err and not Path('a.py').exists()


# --- the config -------------------------------------------------------------------------------------------------------


def write(tooleval: Command, *arguments: object) -> dict[str, Any]:
    done = tooleval('run', *arguments, '--write-config', 'mine.py')
    assert done.code == 0, done.err
    assert len(Path('mine.py').read_text().splitlines()) <= MOST_LINES
    return values(Path('mine.py'))


def test_a_hostile_name_is_a_literal(tooleval: Command) -> None:
    names = ["'; import os; os.abort() #", '{{fileDirname}}\n__import__("os")', '../../etc', 'plain']
    config = write(tooleval, 'demo', *(word for name in names for word in ('--model', name)), '--slurm', "'+x+'")
    assert [row['path'] for row in config['models']] == names
    assert all(re.fullmatch(r'[\w+-][\w.+-]*', row['abbr']) for row in config['models'])
    assert config['infer']['runner']['partition'] == "'+x+'"


def test_a_budget_is_written_into_each_model(tooleval: Command) -> None:
    two = ('--model', 'a', '--model', 'x/a', '--prices', 0.5, 2, '--max-cost', 5)
    rows = write(tooleval, 'demo', *two)['models']
    assert [(row['abbr'], row['budget'], row['prices']) for row in rows] == [
        ('a', {'cost': 5.0}, {'input': 0.5, 'output': 2.0}),
        ('x-a', {'cost': 5.0}, {'input': 0.5, 'output': 2.0}),
    ]


@pytest.mark.parametrize('model', [('--model', 'm'), ('--hf', 'p', '--serve', 'vllm')])
def test_streams_are_requested_of_servers(tooleval: Command, model: tuple[str, ...]) -> None:
    (row,) = write(tooleval, 'demo', *model, '--max-out-len', 99, '--stream')['models']
    assert row['stream'] is True


def test_models_of_another_config(tooleval: Command) -> None:
    oracle = ROOT / 'opencompass_tooleval' / 'configs' / 'models' / 'tooleval_oracle.py'
    rows = write(tooleval, 'demo', '--models', oracle, '--max-cost', 1)['models']
    assert rows == [{**row, 'budget': {'cost': 1.0}} for row in values(oracle)['models']]
    done = tooleval('run', 'demo', '--models', oracle, '--temperature', 1, '--write-config', 'b.py')
    assert done.code == 1 and '--models takes no setting of models but --max-cost: set temperature in' in done.err


def test_a_served_model_in_shards_on_slurm(tooleval: Command) -> None:
    served = ('--hf', 'Qwen/Qwen3-8B', '--serve', '/envs/vllm/bin/vllm', '--gpus', 2, '--max-out-len', 16384)
    config = write(tooleval, 'teval', *served, '--slurm', 'gpu', '--shards', 8)
    (row,) = config['models']
    command = row['engine']['command']
    assert (row['run_cfg'], row['max_seq_len'], row['max_out_len']) == ({'num_gpus': 2}, 32768, 16384)
    assert command[0] == '/envs/vllm/bin/vllm' and command[command.index('--max-model-len') + 1] == '32768'
    assert config['infer']['runner']['type'].endswith('SlurmArrayRunner')
    assert config['infer']['partitioner']['num_worker'] == 8
    assert {config[stage]['runner']['partition'] for stage in ('infer', 'eval')} == {'gpu'}


def test_replicas_on_slurm_and_on_this_machine(tooleval: Command) -> None:
    served = ('teval', '--hf', 'Qwen/Qwen3-8B', '--serve', 'vllm', '--max-out-len', 16384)
    config = write(tooleval, *served, '--slurm', 'gpu', '--replicas', 8)
    assert config['infer']['partitioner']['replicas'] == 8 and 'replicas' not in config['eval']['partitioner']
    assert config['infer']['runner']['max_num_workers'] == 32
    Path('mine.py').unlink()
    local = write(tooleval, *served, '--replicas', 2)['infer']
    assert local['runner']['max_num_workers'] == local['partitioner']['replicas'] == 2
    done = tooleval('run', *served, '--shards', 2, '--replicas', 2, '--write-config', 'b.py')
    assert done.code == 1 and 'give one of --shards and --replicas' in done.err


def test_a_local_model_offers_tools_natively(tooleval: Command) -> None:
    (row,) = write(tooleval, 'teval-fc', '--hf', 'models/Qwen2.5-7B-Instruct/', '--shards', 2)['models']
    assert row['type'] == 'opencompass_tooleval.models.ToolEvalHFChat' and row['abbr'] == 'Qwen2.5-7B-Instruct'
    config = values(Path('mine.py'))
    assert config['infer']['runner']['max_num_workers'] == config['infer']['partitioner']['num_worker'] == 2


def test_every_name_that_list_prints_is_a_name(tooleval: Command) -> None:
    printed = [tooleval('list', benchmark).out for benchmark in plugin.BENCHMARKS]
    parts = [text.split('NAME or NAME/SUBSET:\n')[1].partition('\nwith the subsets')[0] for text in printed]
    names = {name for part in parts for name in re.split(r',\s+', part)}
    assert len(names) > 90 and all(choose([name])[0].rows for name in names)


def test_many_names_are_one_config(tooleval: Command) -> None:
    names = ('teval', 'ultratool', 'restbench', 'funcqa', 'toolbench', 'teval-agent', 'toolbench-agent')
    rows = write(tooleval, *names, '--model', 'm', '--slurm', 'p', '--shards', 2, '--limit', 3)['datasets']
    assert len(rows) > 50 and {row['reader_cfg']['test_range'] for row in rows} == {'[:3]'}


def test_names_of_opencompass_are_names_too(tooleval: Command) -> None:
    whole = write(tooleval, 'tooleval_teval_gen/tooleval_teval_en_v2_datasets', '--model', 'm')['datasets']
    Path('mine.py').unlink()
    assert whole == write(tooleval, 'teval-en-v2', '--model', 'm')['datasets'] and len(whole) == 8


def test_help_begins_with_run(tooleval: Command) -> None:
    screen = tooleval('--help').out
    panels = [line.split()[1:-1] for line in screen.splitlines() if line.startswith('╭─')]
    assert [' '.join(words).rstrip('─ ') for words in panels] == [
        *('Options', 'Run', 'Look at results', 'Data', 'EasyTool', 'Agents', 'Your own tools')
    ]
    assert screen.split('╭─ Run')[1].splitlines()[1].split()[1] == 'run'
    assert 'Commands' not in screen
