"""``tooleval run``: what the server receives, what the screen says, and that the config is an ordinary one."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from mmengine.config import Config

from opencompass_tooleval import plugin
from opencompass_tooleval.cli.options import key_in
from opencompass_tooleval.cli.run_config import Judge
from opencompass_tooleval.cli.run_data import choose
from opencompass_tooleval.data_path import needed_encoders
from opencompass_tooleval.embedding.locate import locate_encoder
from opencompass_tooleval.models.api.endpoint import FirstAnswer, first_answer
from tests.cli.conftest import DEMO, Command, Outcome
from tests.conftest import ROOT
from tests.forked import run_opencompass, run_tooleval
from tests.models.api.raw_server import serving_raw
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving
from tests.models.api.vendor_server import MessagesVendor, ResponsesVendor, Vendor

TWO_SUBSETS = ('teval-demo/review_str', 'teval-demo/instruct')
FLAGS = ('--limit', '1', '--max-out-len', '700', '--max-workers', '3', '--temperature', '0.5')
SENT = 12
"""Requests: a record of two subsets in two languages, of one also with native calls, for two models."""
QUESTIONS = 4
"""Two for each model: one of them offers a tool, as some data sets do."""
"""One to each model, before the run."""
MOST_LINES = 40
MOST_RECORDS = 60
OF_T_EVAL = 'data/teval/EN/review_str_v2.json'
OTHER_JUDGE = ('--judge', 'j', '--judge-base', 'http://o/v1')


THOUGHTS: dict[str, dict[str, Any]] = {
    'shown': {'reasoning_content': 'Let me see.'},
    'in details': {'reasoning_details': [{'type': 'reasoning.encrypted', 'data': 'c2ln'}]},
    'in marks': {'content': '[THINK]Let me see.[/THINK]A'},
}
"""Members of the message of a model that reasons."""


class Recording(Script):
    """Takes any model, and answers everything with a letter."""

    thinks = ''
    url = ''

    def check(self, request: Request) -> None:
        assert request['max_tokens']

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': 'A', **THOUGHTS.get(self.thinks, {})}

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        thoughts = {'completion_tokens_details': {'reasoning_tokens': 7}} if self.thinks == 'counted' else {}
        return {**super().usage(request, message), **thoughts}


GRADES = json.loads((DEMO.parent / 'ultratool' / 'judge_planning_en.jsonl').read_text().splitlines()[0])['prediction']


class Judging(Recording):
    """Grades what it is asked about."""

    def message(self, request: Request) -> dict[str, Any]:
        return {'content': GRADES}


@pytest.fixture
def server() -> Iterator[Recording]:
    script = Recording()
    with serving(script) as script.url:
        yield script


def run(folder: Path, *arguments: str, **settings: str) -> CompletedProcess[str]:
    """Runs the command as a process; it has no key unless the settings have one."""
    inherited = {name: value for name, value in os.environ.items() if name != 'OPENAI_API_KEY'}
    return run_tooleval('run', *arguments, cwd=folder, env={**inherited, **settings})


def values(config: Path) -> dict[str, Any]:
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


def test_the_server_receives_what_the_options_say_and_the_screen_ends_with_scores(sweep: Sweep) -> None:
    assert sweep.done.returncode == 0, sweep.done.stdout + sweep.done.stderr
    first = sweep.script.asked[QUESTIONS : QUESTIONS + SENT]
    assert Counter(request['model'] for request in first) == {'team/a': SENT / 2, 'b': SENT / 2}
    assert {(request['max_tokens'], request['temperature']) for request in first} == {(700, 0.5)}
    assert {row['max_workers'] for row in values(sweep.config)['models']} == {3}
    screen, run = sweep.done.stdout, sweep.config.parent.relative_to(sweep.folder)
    assert re.search(r'^benchmark +metric +a +b$', screen, re.MULTILINE) and 'the first 1 of 6, not a sample' in screen
    result = json.loads((sweep.config.parent / 'results' / 'a' / 'tooleval-teval-review_str_v2.json').read_text())
    assert result['samples']['first'] == 1
    assert screen.splitlines()[-1] == f'report: {run}/report/index.html'
    assert (sweep.folder / run / 'report' / 'index.html').is_file()


def test_the_printed_command_is_that_of_the_run(sweep: Sweep) -> None:
    command = sweep.done.stdout.split('command:')[1].splitlines()[0].strip()
    assert command.startswith('OPENAI_API_KEY="$OTHER_KEY" opencompass outputs/run/')
    count, words = len(sweep.script.asked), shlex.split(command)[2:]
    assert count == QUESTIONS + SENT
    again = run_opencompass(*words, cwd=sweep.folder, env={**os.environ, 'OPENAI_API_KEY': KEY})
    assert again.returncode == 0 and len(sweep.script.asked) == count  # all of it is done
    assert len(list(sweep.config.parent.parent.iterdir())) == 1


def test_a_run_is_not_continued_by_its_first_command(
    sweep: Sweep, tooleval: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sweep.folder)
    folder = sweep.config.parent.relative_to(sweep.folder)
    done = tooleval('run', *TWO_SUBSETS, '--model', 'b', '-r', folder)
    command = sweep.done.stdout.split('command:')[1].splitlines()[0].strip().partition(' ')[2]
    assert done.code == 1 and done.err.endswith(f'a run without --within continues with: {command}\n')


@pytest.mark.long
def test_the_path_of_a_model_is_checked_before_it_is_loaded(
    tooleval: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_model: Path
) -> None:
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    words = (TWO_SUBSETS[0], '--gpus', 0, '--hf')
    (line,) = faults_of(tooleval('run', *words, 'Qwen/Qwen2-tinny'))
    assert line.startswith(
        "FAULT Qwen2-tinny: path 'Qwen/Qwen2-tinny' is no folder, not on this machine, and cannot be"
    )
    assert line.endswith(': correct `path`, or hf download Qwen/Qwen2-tinny') and not Path('outputs').exists()
    assert tooleval('run', *words, 'Qwen/Qwen2-tinny', '--slurm', 'gpu', '--write-config', 'cluster.py').code == 0
    assert 'cannot be fetched' not in tooleval('plan', 'cluster.py').out  # other machines may have it
    snapshot = tmp_path / 'hub' / 'models--Qwen--Qwen2-tinny' / 'snapshots' / ('0' * 40)
    shutil.copytree(tiny_model, snapshot)
    (snapshot.parent.parent / 'refs').mkdir()
    (snapshot.parent.parent / 'refs' / 'main').write_text('0' * 40)
    for number, path in enumerate(('Qwen/Qwen2-tinny', str(tiny_model))):
        assert tooleval('run', *words, path, '--write-config', f'{number}.py').code == 0
        planned = tooleval('plan', f'{number}.py')
        assert planned.code == 0 and 'FAULT' not in planned.out


def test_a_folder_that_cannot_be_written_is_named(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('COMPASS_DATA_CACHE', '/sys')  # nobody may write there, not even root
    done = tooleval('prepare', 'teval', '--from', DEMO)
    assert done.code == 1 and done.err.endswith(
        '; make /sys/data readable and writable for this user, or name another place\n'
    )


def test_a_written_config_is_what_runs(sweep: Sweep, tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sweep.folder)
    monkeypatch.setenv('OTHER_KEY', KEY)
    models = ('--model', 'team/a', '--model', 'b', '--api-base', sweep.url, '--key-env', 'OTHER_KEY')
    done = tooleval('run', *TWO_SUBSETS, *models, *FLAGS, '--write-config', 'mine.py')
    assert done.code == 0 and len(sweep.script.asked) == QUESTIONS + SENT
    written = (sweep.folder / 'mine.py').read_text()
    assert written == sweep.config.read_text() and len(written.splitlines()) <= MOST_LINES and KEY not in written
    assert [row['abbr'] for row in values(sweep.folder / 'mine.py')['models']] == ['a', 'b']
    twice = tooleval('run', *TWO_SUBSETS, *models, '--write-config', 'mine.py')
    assert twice.code == 1 and 'mine.py exists' in twice.err
    assert (sweep.folder / 'mine.py').read_text() == written


class NoCalls(Recording):
    """A server without a parser of calls, as vLLM starts by default."""

    def check(self, request: Request) -> None:
        if request.get('tools'):
            raise Refused(400, '"auto" tool choice requires --enable-auto-tool-choice')


class Failing(Recording):
    """Answers the question before a run, and then no more."""

    def check(self, request: Request) -> None:
        if len(self.asked) > 1:
            raise Refused(400, 'out of order')


def test_a_failed_run_ends_with_its_status_and_without_a_report(tmp_path: Path) -> None:
    with serving(Failing()) as url:
        key = ('--key-env', 'OTHER_KEY')
        done = run(tmp_path, TWO_SUBSETS[0], '--model', 'm', '--api-base', url, *key, OTHER_KEY=KEY)
    assert done.returncode == 1 and 'MISSING m x tooleval-teval-review_str_v2' in done.stdout
    assert 'status 400' in done.stdout and 'report:' not in done.stdout
    assert '  then: OPENAI_API_KEY="$OTHER_KEY" opencompass ' in done.stdout
    assert 'pkg_resources' not in done.stdout + done.stderr


def test_the_first_command_of_the_readme_fills_its_table(tmp_path: Path) -> None:
    """At most 60 records, called this project's own, on a server without native calls and without a judge."""
    words = next(line for line in (ROOT / 'README.md').read_text().splitlines() if line.startswith('tooleval run'))
    command = shlex.split(words.partition(' #')[0])[2:]
    script = NoCalls()
    with serving(script) as url:
        done = run(tmp_path, *command, '--api-base', url, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(script.asked) - 1 <= MOST_RECORDS
    table = done.stdout.split('\nbenchmark ')[1].split("\nEach table's main score")[0].splitlines()[1:]
    assert len(table) == len(values(next(tmp_path.glob('outputs/run/demo/*/config.py')))['datasets'])
    assert all(re.fullmatch(r'demo-\S+ +\w+ +\d+\.\d\d\*?', row) for row in table), table
    assert 'more tables in the files' not in done.stdout and done.stdout.rstrip().endswith('report/index.html')


# --- before anything is sent ------------------------------------------------------------------------------------------


def faults_of(done: Outcome) -> list[str]:
    assert done.code == 1 and 'config:' not in done.out
    return [line for line in done.err.splitlines() if line.startswith('FAULT ')]


def test_all_faults_come_at_once_before_a_request(
    tooleval: Command, server: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data, encoder, key, GPU and judge, as ``tooleval plan`` finds them in the same config."""
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '')
    names = ('teval', 'ultratool', 'toolbench-agent-react', 'teval-en-v2-easytool/plan_str')
    api = (*names, '--model', 'm', '--api-base', server.url, '--key-env', 'MINE')
    found = faults_of(tooleval('run', *api))
    for words in (
        'data/teval/EN: not found', 'Fix it with: tooleval prepare teval', "encoder 'all-mpnet-base-v2' is not on",
        'data/ultratool: not found', 'Fix it with: tooleval prepare ultratool', 'UltraTool planning needs a judge: --j',
        'm: its key is read from $MINE, which is not set. Fix it with: export MINE=', 'data/toolbench: not found',
        'data/agents/toolbench.bank: not found. Fix it with: tooleval prepare agents', f'Fix it with: {EASYTOOL}',
    ):  # fmt: skip
        assert sum(words in line for line in found), words
    assert len(set(found)) == len(found) and not server.asked and not Path('outputs').exists()
    local = faults_of(tooleval('run', *names, '--hf', 'p', '--gpus', 64))
    assert any('64 GPUs' in line for line in local) and any('data/teval/EN: not found' in line for line in local)
    tooleval('run', *api, '--write-config', 'a.py')
    monkeypatch.setenv('MINE', '')
    planned = [line for line in tooleval('plan', 'a.py').out.splitlines() if line.startswith('FAULT ')]
    assert any('its key is read from' in line for line in planned) and any('needs a judge' in line for line in planned)
    assert {line.replace('OPENAI_API_KEY', 'MINE') for line in planned} <= set(found)


EASYTOOL = 'tooleval easytool generate --source teval --input '


def downloaded() -> Path:
    """T-Eval's files, in place of those on Hugging Face."""
    return DEMO


def test_prepare_brings_missing_data(tooleval: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(plugin.DOWNLOAD, 'teval', f'{__name__}:downloaded')
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    done = tooleval('run', 'teval/review_str', '--model', 'm', '--prepare')
    assert (tmp_path / 'data-cache' / OF_T_EVAL).is_file()
    fix = 'Fix it with: export OPENAI_API_KEY=...'
    assert faults_of(done) == [f'FAULT m: its key is read from $OPENAI_API_KEY, which is not set. {fix}']


def test_prepare_brings_the_encoders_that_the_data_sets_need(
    tooleval: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Recording
) -> None:
    """Without network, it names the folder to copy."""
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    shutil.copytree(DEMO, tmp_path / 'data-cache' / 'data' / 'teval')
    words = ('--model', 'm', '--api-base', server.url, '--key-env', 'MINE', '--prepare')
    done = tooleval('run', 'teval-en-v2', 'teval-zh-v2/review_str', *words)
    lines = [line for line in done.out.splitlines() if line.startswith('MISSING')]
    assert done.code == 1 and done.out.endswith('\nthen give this command again\n') and not server.asked
    assert len(lines) == 1 and "cannot fetch encoder 'all-mpnet-base-v2' from Hugging Face" in lines[0]
    folder = Path(lines[0].split('without network: copy ')[1].split()[0])
    assert folder.is_relative_to(tmp_path / 'hub')
    (folder / 'refs').mkdir(parents=True)
    (folder / 'refs' / 'main').write_text('0' * 40)
    shutil.copytree(locate_encoder('offline').path, folder / 'snapshots' / ('0' * 40))
    done = tooleval('run', 'teval-en-v2', 'teval-zh-v2/review_str', *words)
    assert [line.partition(', ')[0] for line in faults_of(done)] == ['FAULT m: its key is read from $MINE']


def test_prepare_finds_what_each_kind_of_data_set_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('TOOLEVAL_ENCODER', raising=False)
    english, chinese = 'all-mpnet-base-v2', 'thenlper/gte-large-zh'
    needed = {
        'teval': [english, chinese],
        'teval-zh-v2': [chinese],
        'teval-en-v2/understand_str': [],
        'tooleval_teval_v1_gen/understand_str': [english, chinese],
        'teval-fc': [english, chinese],
        'teval-easytool': [english, chinese],
        'toolbench': [english],
        'toolbench/calls_g2': [],
        'toolbench-agent-easytool-retrieve': [english],
        'toolbench-agent-easytool': [],
        'ultratool': [],
        'demo': ['offline'],
    }
    rows = {name: [row for chosen in choose([name]) for row in chosen.rows] for name in needed}
    assert {name: needed_encoders(rows[name]) for name in rows} == needed


@pytest.mark.long
def test_the_first_run_of_ultratool(tmp_path: Path) -> None:
    """Without --prepare one line has the command; with it, the tasks that are not published are built and marked."""
    data = tmp_path / 'data' / 'ultratool'
    shutil.copytree(DEMO.parent / 'ultratool', data)
    for file in data.glob('*/test_set/*.json'):
        rows = map(json.loads, file.read_text(encoding='utf-8').splitlines())
        lines = [json.dumps({name: row[name] for name in row if name not in ('domain', 'rebuilt')}) for row in rows]
        file.write_text('\n'.join(lines), encoding='utf-8')
    for file in (*data.glob('*/test_set/tool_selection.json'), *data.glob('*/test_set/tool_creation_awareness.json')):
        file.unlink()
    judge, script = Judging(), Recording()
    with serving(script) as url, serving(judge) as base:
        words = ('ultratool', '--model', 'm', '--api-base', url, '--judge', 'j', '--judge-base', base)
        settings = {'OPENAI_API_KEY': KEY, 'COMPASS_DATA_CACHE': str(tmp_path), 'TOOLEVAL_CACHE': str(tmp_path / 'c')}
        done = run(tmp_path, *words, **settings)
        (line,) = [line for line in done.stderr.splitlines() if line.startswith('FAULT ')]
        assert done.returncode == 1 and not script.asked
        assert line.endswith('are not built yet. Fix it with: tooleval prepare ultratool')
        done = run(tmp_path, *words, '--prepare', **settings)
    assert len(script.asked) > 2 * 6 * 5
    results = {file.stem: json.loads(file.read_text()) for file in tmp_path.glob('outputs/run/*/*/results/m/*.json')}
    rebuilt = {name for name, result in results.items() if result['provenance']['rebuilt']}
    assert len(results) >= 10 and rebuilt == {
        f'tooleval-ultratool-{task}_{language}'
        for task in ('tool_selection', 'tool_creation_awareness')
        for language in ('zh', 'en')
    }
    assert 'data built by this package, not the official files' in done.stdout


RETRIEVAL = """
from mmengine.config import read_base
with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import tooleval_agent_datasets
    from opencompass_tooleval.configs.models.tooleval_oracle import models
    from opencompass_tooleval.configs.tooleval_local import eval, infer
datasets = [row for row in tooleval_agent_datasets if row['abbr'] == 'tooleval-toolbench_g2-agent-easytool']
datasets[0]['infer_cfg']['inferencer']['dialogues'].update(retrieve=True, corpus=datasets[0]['instructions'])
"""


def test_agents_that_retrieve_tools_lack_their_encoder_before_a_request(
    tooleval: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    Path('retrieval.py').write_text(RETRIEVAL)
    done = tooleval('plan', 'retrieval.py')
    (line,) = [line for line in done.out.splitlines() if line.startswith('FAULT ')]
    assert done.code == 1 and "encoder 'all-mpnet-base-v2' is not on this machine; fetch it with: hf download" in line
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    assert tooleval('plan', 'retrieval.py').code == 0


def test_prepare_names_the_commands_for_data_that_it_does_not_fetch(tooleval: Command, server: Recording) -> None:
    done = tooleval('run', 'ultratool', 'toolbench', '--model', 'm', '--api-base', server.url, '--prepare')
    assert done.code == 1 and not done.err and not server.asked
    commands = [line for line in done.out.splitlines() if line.startswith('  ')]
    assert commands == [
        '  git clone --depth 1 https://github.com/JoeYing1019/UltraTool',
        '  tooleval prepare ultratool --from UltraTool',
        '  git clone --depth 1 https://github.com/THUNLP-MT/StableToolBench',
        '  tooleval prepare toolbench --from StableToolBench',
    ]
    assert done.out.endswith('\nthen give this command again\n')


@pytest.mark.parametrize('thinks', [*(pytest.param(key, marks=pytest.mark.long) for key in THOUGHTS), 'counted', ''])
def test_a_server_that_thinks_is_asked_once(
    tooleval: Command, server: Recording, thinks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI's own API counts thoughts, and shows none."""
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    server.thinks = thinks
    folder = '/dev/null' if not thinks else 'out'  # no run can begin there
    done = tooleval('run', TWO_SUBSETS[0], '--model', 'm', '--api-base', server.url, '-w', folder)
    assert done.code == 1 and len(server.asked) == 1
    assert ('such as --max-out-len 16384' in done.err) == bool(thinks) and ('/dev/null' in done.err) != bool(thinks)


@pytest.mark.parametrize(
    'arguments',
    [
        ('ultratool-demo/planning', '--hf', 'team/model', *OTHER_JUDGE, '--key-env', 'MINE'),  # the judge's key alone
        ('demo', '--model', 'o3-mini'),  # a name says nothing of thoughts
        ('demo', '--hf', 'Qwen/Qwen3-8B'),
    ],
)
def test_what_is_no_fault(tooleval: Command, arguments: tuple[str, ...]) -> None:
    assert tooleval('run', *arguments, '--write-config', 'a.py').code == 0


@pytest.mark.parametrize(
    ('base', 'words'),
    [
        ('http://127.0.0.1:9/v1', r'no connection to .*\(refused\).*nothing listens there: start the server'),
        ('https://{host}/v1', 'SSLError: .*; {url} answers: use that URL'),
        ('http://{host}', 'has no API, {url} has one: use that URL'),
        pytest.param('https://{host}', 'SSLError: .*; {url} answers: use that URL', marks=pytest.mark.long),
        ('http://{host}/v1', 'other is not listed; the server lists tiny$'),
        ('http://{host}/v1 ', r'status 401: .*; put the right one into \$OPENAI_API_KEY, or name another'),
    ],
    ids=('refused', 'TLS', 'v1', 'TLS and v1', 'model', 'key'),
)
def test_one_question_before_the_run_finds_what_is_wrong(
    tooleval: Command, base: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Script()) as url:  # it knows no model but `tiny`
        base = base.format(host=urlsplit(url).netloc)
        monkeypatch.setenv('OPENAI_API_KEY', KEY if base == base.strip() else 'old')
        models = ('--model', 'other' if base == url else 'tiny')
        (line,) = faults_of(tooleval('run', TWO_SUBSETS[0], *models, '--api-base', base.strip()))
    assert re.search(words.format(url=re.escape(url)), line) and not Path('outputs').exists()


def test_an_address_that_is_no_api_is_named_by_its_page(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a chat program with pages at each address; no page can change the screen."""
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    page = b'<!DOCTYPE html><html><head><title>Open \x1b[2JWebUI</title></head><body>x</body></html>'
    head = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n' % len(page)
    with serving_raw(head + page) as server:
        (line,) = faults_of(tooleval('run', TWO_SUBSETS[0], '--model', 'm', '--api-base', server.url))
    says = r'this address is no API, it answers with a page of HTML with the title "Open \x1b[2JWebUI"; correct the URL'
    assert line == f'FAULT m: {server.url}: {says}'


def test_a_key_is_not_sent_in_clear_to_find_a_url() -> None:
    keys: list[str] = []

    class Keys(Script):
        def admits(self, authorization: str) -> bool:
            keys.append(authorization)
            return super().admits(authorization)

    with serving(Keys()) as url:
        fault = first_answer(url.replace('http:', 'https:'), 'tiny', KEY).fault
    assert fault.endswith(f'{url} answers: use that URL') and keys and not any(keys)


class Strict(Recording):
    """Refuses what Claude Opus 4.7, Kimi K2.5 and gpt-5 refuse, in the words of each; its last model takes anything."""

    words: ClassVar[dict[str, str]] = {
        'claude': '`temperature` is deprecated for this model.',
        'kimi': 'invalid temperature: only 1 is allowed for this model',
        'gpt': "Unsupported value: 'temperature' does not support 0 with this model. Only the default is supported.",
    }

    def check(self, request: Request) -> None:
        if request['model'] == 'gpt' and 'max_tokens' in request:
            words = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            raise Refused(400, words, 'unsupported_parameter')
        if (words := self.words.get(request['model'])) and request.get('temperature', 1) != 1:
            raise Refused(400, words)

    def complete(self, request: Request) -> Any:
        self.asked.append(request)
        self.check(request)
        return {'choices': [{'message': {'role': 'assistant', 'content': 'A'}, 'finish_reason': 'stop'}]}


class Busy(Script):
    def check(self, request: Request) -> None:
        raise Refused(503, 'loading')


@pytest.mark.long
def test_settings_that_a_server_refuses_are_written_as_it_takes_them(tmp_path: Path) -> None:
    script, models = Strict(), ('claude', 'kimi', 'gpt', 'plain')
    named = [word for name in models for word in ('--model', name)]
    flags = (TWO_SUBSETS[0], '--limit', '1', '--max-out-len', '700')
    with serving(script) as url:
        done = run(tmp_path, *flags, *named, '--api-base', url, OPENAI_API_KEY=KEY)
        assert done.returncode == 0, done.stdout + done.stderr
        output = done.stdout + done.stderr
        for name in models[:3]:
            assert re.search(rf"NOTE {name}: the server refuses .* openai_extra_kwargs={{'temperature': None}}", output)
        rows = [request for request in script.asked if 'ready' not in str(request['messages'])]
        sent = {row['model']: {name for name in row if name.startswith(('temp', 'max'))} for row in rows}
        limit, temperature = 'max_tokens', 'temperature'
        assert sent == {
            'claude': {limit}, 'kimi': {limit}, 'gpt': {'max_completion_tokens'}, 'plain': {limit, temperature},
        }  # fmt: skip
        done = run(tmp_path, *flags, '--model', 'kimi', '--api-base', url, '--temperature', '0.5', OPENAI_API_KEY=KEY)
        assert done.returncode == 1 and 'FAULT kimi: the server refuses temperature=0.5: leave --temp' in done.stderr
        done = run(tmp_path, *flags, '--model', 'kimi', '--api-base', url, OPENAI_API_KEY=KEY)  # the fix
        assert done.returncode == 0


def test_a_judge_gets_what_its_server_takes() -> None:
    with serving(Strict()) as url:
        assert first_answer(url, 'claude', KEY).settings == {'openai_extra_kwargs': {'temperature': None}}
        assert first_answer(url, 'plain', KEY) == FirstAnswer()
    judge = Judge('claude', 'http://j/v1', 'ENV', ['d'], {'openai_extra_kwargs': {'temperature': None}})
    assert "'openai_extra_kwargs': {'temperature': None}" in '\n'.join(judge.lines())


class OnlyWithoutTools(Recording):
    """OpenAI's words for tools with thoughts since gpt-5.4."""

    def check(self, request: Request) -> None:
        if request.get('tools'):
            words = 'Function tools with reasoning_effort are not supported for gpt-6-luna in /v1/chat/completions.'
            raise Refused(400, f'{words} Please use /v1/responses instead.', 'invalid_request_error')


def test_the_right_request_format_is_named_before_the_first_data_set(
    tooleval: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    with serving(script := OnlyWithoutTools()) as url:
        (line,) = faults_of(tooleval('run', *TWO_SUBSETS, '--model', 'gpt', '--api-base', url))
    assert 'Please use /v1/responses instead' in line and line.endswith('take --wire responses')
    assert len(script.asked) == 2
    with serving(MessagesVendor()) as url:
        (line,) = faults_of(tooleval('run', *TWO_SUBSETS, '--model', 'claude', '--api-base', url))
    assert line.endswith('the server has no /chat/completions, and answers on /messages: take --wire messages')
    refused = tooleval('run', *TWO_SUBSETS, '--model', 'x', '--wire', 'grpc')
    assert refused.code == 1 and '--wire grpc is unknown: name one of chat, responses, messages' in refused.err


def test_the_key_of_one_vendor_is_not_sent_to_a_judge_of_another(
    tooleval: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('ANTHROPIC_API_KEY', KEY)
    words = ('ultratool-demo/planning', '--model', 'claude', '--wire', 'messages', '--judge', 'gpt-4o')
    refused = tooleval('run', *words, '--key-env', 'ANTHROPIC_API_KEY')
    assert refused.code == 1 and 'the judge is on another server, which would get the key' in refused.err


def test_each_vendor_gets_its_own_key(tmp_path: Path) -> None:
    words = (
        'ultratool-demo/planning',
        '--limit',
        '1',
        '--max-out-len',
        '4096',
        '--model',
        'claude',
        '--wire',
        'messages',
        '--judge',
        'gpt-4o',
    )
    keys = {'ANTHROPIC_API_KEY': KEY, 'OPENAI_API_KEY': 'of-openai'}
    judge = Judging()
    judge.admits = lambda authorization: authorization == 'Bearer of-openai'  # type: ignore[method-assign]
    with serving(vendor := MessagesVendor()) as url, serving(judge) as base:
        done = run(tmp_path, *words, '--api-base', url, '--judge-base', base, **keys)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {headers.get('Authorization') for _, headers in vendor.heads} == {f'Bearer {KEY}'} and len(judge.asked) > 1
    assert {headers.get('Authorization') for _, headers in judge.heads} == {'Bearer of-openai'}


@pytest.mark.long
def test_a_key_in_a_variable_of_another_name(tmp_path: Path) -> None:
    """Also one that has the name of another vendor's."""
    for variable in ('MY_KEY', 'OPENAI_API_KEY'):
        with serving(MessagesVendor()) as url:
            words = (
                '--limit',
                '1',
                '--max-out-len',
                '4096',
                '--wire',
                'messages',
                '--key-env',
                variable,
                '-w',
                variable,
            )
            keys = {'ANTHROPIC_API_KEY': 'wrong', variable: KEY}
            done = run(tmp_path, TWO_SUBSETS[0], '--model', 'opus', '--api-base', url, *words, **keys)
            assert done.returncode == 0, done.stdout + done.stderr
            command = done.stdout.partition('command:')[2].splitlines()[0].strip()
            assert command.startswith(f'ANTHROPIC_API_KEY="${variable}" opencompass ')


@pytest.mark.parametrize('vendor', [pytest.param(MessagesVendor, marks=pytest.mark.long), ResponsesVendor])
def test_a_run_on_another_request_format(tmp_path: Path, vendor: type[Vendor]) -> None:
    wire = vendor.path.removeprefix('/')
    words = ('--limit', '1', '--max-workers', '3', '--max-out-len', '4096', '--wire', wire)
    key = {'ANTHROPIC_API_KEY' if wire == 'messages' else 'OPENAI_API_KEY': KEY}
    with serving(script := vendor()) as url:
        done = run(tmp_path, *TWO_SUBSETS, '--model', 'opus', '--api-base', url, *words, **key)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(script.asked) > 2 and any(request.get('tools') for request in script.asked)
    (config,) = tmp_path.glob('outputs/run/*/*/config.py')
    (model,) = values(config)['models']
    assert model['wire'] == wire
    results = [json.loads(file.read_text()) for file in tmp_path.glob('outputs/run/*/*/results/*/*.json')]
    assert results and all(result['provenance']['sampling'][0]['wire'] == wire for result in results)


class NeedsEffort(Recording):
    """Refuses requests whose effort is not ``low``, and those with a temperature."""

    def check(self, request: Request) -> None:
        super().check(request)
        for name, is_refused in (
            ('reasoning_effort', request.get('reasoning_effort') != 'low'),
            ('temperature', 'temperature' in request),
        ):
            if is_refused:
                raise Refused(400, f"Unsupported value: '{name}'", 'unsupported_value')


@pytest.mark.long
def test_members_of_requests_are_options(tmp_path: Path) -> None:
    """What the fix names works; the first question has the members too."""
    with serving(script := NeedsEffort()) as url:
        words = (TWO_SUBSETS[0], '--limit', '1', '--model', 'tiny', '--api-base', url, '--max-out-len', '64')
        done = run(tmp_path, *words, OPENAI_API_KEY=KEY)
        assert done.returncode == 1 and done.stderr.rstrip().endswith(
            'take --set reasoning_effort=VALUE, or --unset reasoning_effort'
        )
        members = ('--set', 'reasoning_effort=low', '--set', 'options={"deep": [1]}', '--unset', 'temperature')
        refused, script.asked = len(script.asked), []
        done = run(tmp_path, *words, *members, OPENAI_API_KEY=KEY)
    assert refused <= 2 and done.returncode == 0, done.stderr
    assert len(script.asked) > 1 and all(request['options'] == {'deep': [1]} for request in script.asked)
    (config,) = tmp_path.glob('outputs/run/*/*/config.py')
    kept = {'reasoning_effort': 'low', 'options': {'deep': [1]}, 'temperature': None}
    assert values(config)['models'][0]['openai_extra_kwargs'] == kept


@pytest.mark.long
def test_a_refused_temperature_keeps_the_other_members(tmp_path: Path) -> None:
    with serving(NeedsEffort()) as url:
        words = ('--limit', '1', '--model', 'm', '--api-base', url, '--max-out-len', '64')
        done = run(tmp_path, TWO_SUBSETS[0], *words, '--set', 'reasoning_effort=low', OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    (config,) = tmp_path.glob('outputs/run/*/*/config.py')
    kept = {'reasoning_effort': 'low', 'temperature': None}
    assert values(config)['models'][0]['openai_extra_kwargs'] == kept


def test_a_busy_server_does_not_stop_a_run() -> None:
    with serving(Busy()) as url:
        assert first_answer(url, 'tiny', KEY) == FirstAnswer()


# --- judges -----------------------------------------------------------------------------------------------------------


def test_a_judge_is_asked_by_what_needs_one(tmp_path: Path) -> None:
    judge, script, names = Judging(), Recording(), ('ultratool-demo/planning', 'ultratool-demo/tool_usage')
    with serving(script) as url, serving(judge) as base:
        models = ('--model', 'm', '--api-base', url, '--judge', 'team/j', '--judge-base', base)
        done = run(tmp_path, *names, *models, '--limit', '2', OPENAI_API_KEY=KEY, HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {request['model'] for request in judge.asked} == {'team/j'} and len(judge.asked) > 1
    assert {request['model'] for request in script.asked} == {'m'}
    (config,) = tmp_path.glob('outputs/run/*/*/config.py')
    evaluators = {row['name']: row['eval_cfg']['evaluator'] for row in values(config)['datasets']}
    assert evaluators['planning']['judge_cfg']['path'] == 'team/j' and 'judge_cfg' not in evaluators['tool_usage']
    result = json.loads(next(tmp_path.glob('**/results/m/*planning_en.json')).read_text())
    assert result['provenance']['judge'] == 'team/j' and result['overall'] == pytest.approx(70)


def test_a_judge_without_work_or_server_is_refused(
    tooleval: Command, server: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    models = ('--model', 'm', '--api-base', server.url, '--judge', 'j')
    done = tooleval('run', TWO_SUBSETS[0], *models)
    assert done.code == 1 and 'these data sets need no judge: leave --judge out' in done.err
    (line,) = faults_of(tooleval('run', 'ultratool-demo/planning', *models, '--judge-base', 'http://127.0.0.1:9/v1'))
    assert line.startswith('FAULT j: http://127.0.0.1:9/v1: no connection to 127.0.0.1:9 (refused)')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((), 'give models by one of --model NAME, --hf PATH and --models CONFIG'),
        (('--hf', './nowhere'), '--hf ./nowhere is not a folder'),
        (('--model', 'm', '--key-env', 'MINE', *OTHER_JUDGE), 'which would get the key of --key-env MINE too'),
        (('--hf', 'p', '--api-base', 'http://h/v1'), '--api-base needs --model'),
        (('--model', 'm', '--serve', 'vllm'), '--serve needs --hf'),
        (('--model', 'm', '--max-cost', '5'), '--max-cost needs --prices'),
        (('--model', 'm', '--judge-base', 'http://h/v1'), '--judge-base needs --judge'),
        (('--hf', 'p', '--set', 'a=1'), '--set or --unset needs --model or --serve'),
        (('--model', 'm', '--set', 'a'), '--set a: write it as KEY=VALUE'),
        (('--hf', 'p', '--max-workers', '5'), 'has no max_workers: leave --max-workers out'),
        (('--hf', 'p', '--serve', 'nonsense'), "no engine 'nonsense'; there are llamacpp, lmdeploy, sglang"),
        (('--hf', 'p.gguf', '--serve', 'llamacpp', '--max-out-len', '99'), 'is in its command'),
        (('--models', 'missing.py'), 'missing.py: no such file'),
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


def test_members_are_written_as_json_or_text_and_none_leaves_one_out(tooleval: Command) -> None:
    words = ('--set', 'effort=low', '--set', 'top_k=5', '--set', 'stop=["a"]', '--unset', 'temperature')
    (row,) = write(tooleval, 'demo', '--model', 'm', *words)['models']
    assert row['openai_extra_kwargs'] == {'effort': 'low', 'top_k': 5, 'stop': ['a'], 'temperature': None}


def test_a_budget_and_streams_are_written_into_each_model(tooleval: Command) -> None:
    two = ('--model', 'a', '--model', 'x/a', '--prices', 0.5, 2, '--max-cost', 5, '--stream')
    rows = write(tooleval, 'demo', *two)['models']
    assert all(row['stream'] is True for row in rows)
    assert [(row['abbr'], row['budget'], row['prices']) for row in rows] == [
        ('a', {'cost': 5.0}, {'input': 0.5, 'output': 2.0}),
        ('x-a', {'cost': 5.0}, {'input': 0.5, 'output': 2.0}),
    ]


def test_models_of_another_config(tooleval: Command) -> None:
    oracle = ROOT / 'opencompass_tooleval' / 'configs' / 'models' / 'tooleval_oracle.py'
    rows = write(tooleval, 'demo', '--models', oracle, '--max-cost', 1)['models']
    assert rows == [{**row, 'budget': {'cost': 1.0}} for row in values(oracle)['models']]
    done = tooleval('run', 'demo', '--models', oracle, '--temperature', 1, '--write-config', 'b.py')
    assert done.code == 1 and '--models takes no setting of models but --max-cost: set temperature in' in done.err


def test_a_served_model_of_eight_jobs_on_slurm(tooleval: Command) -> None:
    served = ('teval', '--hf', 'Qwen/Qwen3-8B', '--serve', '/envs/vllm/bin/vllm', '--gpus', 2, '--max-out-len', 16384)
    config = write(tooleval, *served, '--slurm', 'gpu', '--shards', 8)
    (row,) = config['models']
    command = row['engine']['command']
    assert (row['run_cfg'], row['max_seq_len'], row['max_out_len']) == ({'num_gpus': 2}, 32768, 16384)
    assert command[0] == '/envs/vllm/bin/vllm' and command[command.index('--max-model-len') + 1] == '32768'
    assert config['infer']['runner']['type'].endswith('SlurmArrayRunner')
    assert config['infer']['partitioner']['replicas'] == 8  # --shards is --replicas
    assert config['infer']['runner']['max_num_workers'] == 32 and 'replicas' not in config['eval']['partitioner']
    assert {config[stage]['runner']['partition'] for stage in ('infer', 'eval')} == {'gpu'}
    Path('mine.py').unlink()
    local = write(tooleval, *served, '--replicas', 2)['infer']
    assert local['runner']['max_num_workers'] == local['partitioner']['replicas'] == 2


def test_a_local_model_offers_tools_natively(tooleval: Command) -> None:
    (row,) = write(tooleval, 'teval-fc', '--hf', 'models/Qwen2.5-7B-Instruct/', '--shards', 2)['models']
    assert row['type'] == 'opencompass_tooleval.models.ToolEvalHFChat' and row['abbr'] == 'Qwen2.5-7B-Instruct'


def test_every_name_that_list_prints_is_a_name(tooleval: Command) -> None:
    printed = [tooleval('list', benchmark).out for benchmark in plugin.BENCHMARKS]
    parts = [text.split('NAME or NAME/SUBSET:\n')[1].partition('\nwith the subsets')[0] for text in printed]
    names = {name for part in parts for name in re.split(r',\s+', part)}
    assert len(names) > 90 and all(choose([name])[0].rows for name in sorted(names)[::3])


def test_names_of_opencompass_are_names_too_and_many_are_one_config(tooleval: Command) -> None:
    whole = write(tooleval, 'tooleval_teval_gen/tooleval_teval_en_v2_datasets', '--model', 'm')['datasets']
    Path('mine.py').unlink()
    names = ('teval-en-v2', 'ultratool', 'restbench', 'funcqa', 'toolbench', 'teval-agent', 'toolbench-agent')
    rows = write(tooleval, *names, '--model', 'm', '--limit', 3)['datasets']
    assert len(rows) > 50 and {row['reader_cfg']['test_range'] for row in rows} == {'[:3]'}
    assert [row['abbr'] for row in rows[:8]] == [row['abbr'] for row in whole] and len(whole) == 8


def test_blanks_around_a_key_are_noted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv('MINE', f' {KEY}\n')
    assert key_in('MINE') == KEY
    assert capsys.readouterr().err == 'NOTE $MINE begins or ends with a blank or line break, which is left out\n'
