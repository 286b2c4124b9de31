"""Every command and snippet of a page, a README, a config or the program itself runs as it stands, in an empty folder.

Names in capitals stand for what a reader has, and are filled in by :data:`FILLED_IN`. What needs the network, a GPU, a
cluster or a key runs as far as it goes (:data:`AS_FAR_AS_IT_GOES`), or is in :data:`NOT_RUN` with the reason.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from mmengine.config import Config

from opencompass_tooleval.cli.main import app
from opencompass_tooleval.work_dir.work_dir import WorkDir
from tests.cli.conftest import gold_answers
from tests.conftest import ROOT, start_server
from tests.extras.preparing.test_generate_command import SCRIPT
from tests.forked import run_opencompass, run_python, run_tooleval
from tests.models.api.scripted_server import KEY, Script, serving

PACKAGE = ROOT / 'opencompass_tooleval'
CONFIGS, DEMO = PACKAGE / 'configs', PACKAGE / 'demo'
PAGES = sorted(
    file
    for file in (*ROOT.glob('*.md'), *ROOT.glob('docs/**/*.md'), *ROOT.glob('tools/*.md'), *PACKAGE.rglob('*.md'))
    if file.name not in ('CHANGELOG.md', 'README_zh-CN.md') and 'zh_cn' not in file.parts  # test_translations.py
)
BLOCK = re.compile(r'^```(\w*)[^\n]*\n(.*?)^```', re.S | re.M)
INLINE = re.compile(r'`((?:tooleval|opencompass|make|python tools/)[^`]*)`')

NOT_RUN = {
    '. .venv/bin/activate': 'the environment of `make demo`',
    'tooleval run teval --model gpt-4o-mini --model gpt-4.1-mini --sample 100 --prepare': 'needs a key and the network',
    'python3 -m venv /envs/vllm': 'makes an environment for an engine',
    '/envs/vllm/bin/pip install vllm': 'installs an engine',
    'tooleval gate outputs/new --baseline outputs/old --equivalent 3': 'tests/cli/test_gate.py',
    **dict.fromkeys(
        (
            'tooleval run teval --model NAME --api-base http://127.0.0.1:8000/v1 -w outputs/chat',
            'tooleval run teval --model NAME --api-base http://127.0.0.1:8000/v1 --wire responses -w outputs/responses',
            'tooleval gate outputs/responses --baseline outputs/chat --equivalent 3',
        ),
        'needs a server of two formats; tests/cli/test_run.py and test_gate.py',
    ),
    'make demo': 'makes an environment; `tooleval demo` below is what it runs',
    "pip install -c constraints.txt '.[offline,report]'": 'installs 6 GB; tests/test_installs.py (make test-long) does',
    'pip wheel --no-deps -w dist .': 'tests/test_packaging.py builds the wheel',
    'pip install -c constraints.txt "$(ls dist/opencompass_tooleval-*.whl)[offline,report]"': 'tests/test_installs.py '
    '(make test-long) does without the constraints',
    'tooleval prepare teval': 'needs the network',
    'tooleval prepare ultratool --from DIR': 'needs the published files; tests/cli/test_prepare.py',
}
"""Command -> why it is not run here."""

ELSEWHERE = {
    'tutorials': 'tests/test_tutorials.py',
    'twins': 'the published data: tests/cli/test_twins.py, tests/cli/test_compare.py',
    'your-own-tools': 'a server that others wrote: tests/extras/tasks, and the tutorial with functions',
}
"""Folder or page -> where its commands run."""

AS_FAR_AS_IT_GOES = {
    'opencompass teval.py': 'the key of a model behind an API, and the network',
    'opencompass my_config.py': 'the key of a model behind an API, and the network',
    '--hf-path': 'a GPU and a model',
}
"""Part of a command of OpenCompass -> what it needs: these run with ``--dry-run``, up to the first task."""


@dataclass(frozen=True)
class Place:
    """Where a reader tries things out.

    Attributes:
        folder: The working directory.
        filled_in: Name in capitals, or word -> what stands there.
    """

    folder: Path
    filled_in: dict[str, str]


def commands(text: str) -> Iterator[str]:
    """The commands of a block of shell, without comments; one over several lines is one."""
    for line in text.replace('\\\n', ' ').splitlines():
        words = shlex.split(line, comments=True, posix=False)
        if words:
            yield ' '.join(words)


def commands_of(page: Path) -> list[str]:
    """The commands that a page has in blocks."""
    blocks = BLOCK.findall(page.read_text(encoding='utf-8'))
    return [command for kind, block in blocks if kind == 'bash' for command in commands(block)]


def snippets_of(page: Path) -> list[str]:
    """The Python of a page."""
    return [block for kind, block in BLOCK.findall(page.read_text(encoding='utf-8')) if kind == 'python']


def walked(pages: Iterable[Path]) -> list[Any]:
    """Parameters of a test that runs what pages say, for `make test-docs`."""
    return [pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.long) for page in pages]


# --- a reader's folder ------------------------------------------------------------------------------------------------


def lay_out_data(folder: Path) -> None:
    """The shipped records where the published ones would be."""
    data = folder / 'data'
    for name in ('teval', 'ultratool', 'restbench', 'funcqa', 'toolbench'):
        shutil.copytree(DEMO / name, data / name)
    for task in ('tool_selection', 'tool_creation_awareness'):  # of these no file is published
        (data / 'ultratool' / 'English-dataset' / 'test_set' / f'{task}.json').unlink()
    for file in (data / 'ultratool').glob('*/test_set/*.json'):  # as if they were the authors'
        lines = file.read_text(encoding='utf-8').splitlines()
        rows = [{name: value for name, value in json.loads(line).items() if name != 'rebuilt'} for line in lines]
        file.write_text(''.join(f'{json.dumps(row)}\n' for row in rows), encoding='utf-8')
    shutil.copytree(DEMO / 'agents', folder / 'DIR')
    shutil.copytree(DEMO / 'agents' / 'teval', data / 'teval', dirs_exist_ok=True)
    cached = folder / 'CACHE_FOLDER' / 'Weather' / 'forecast_for_weather' / 'today.json'
    cached.parent.mkdir(parents=True)
    cached.write_text(json.dumps({"{'city': 'Rome'}": {'error': '', 'response': 'sun'}}), encoding='utf-8')


def lay_out_answers(folder: Path) -> None:
    """Recorded answers under the names that the README gives them."""
    shutil.copy(DEMO / 'teval' / 'EN' / 'plan_json_v2.json', folder / 'plan_json_v1.json')
    rows = [json.dumps({'id': name, 'prediction': text}) for name, text in gold_answers('plan_json_v2').items()]
    (folder / 'answers.jsonl').write_text('\n'.join(rows), encoding='utf-8')
    records = (DEMO / 'ultratool' / 'English-dataset' / 'test_set' / 'tool_usage.json').read_text(encoding='utf-8')
    (folder / 'gpt-4').mkdir()
    published = [json.dumps({'data': json.loads(line), 'init output': '[]'}) for line in records.splitlines()]
    (folder / 'gpt-4' / 'tool_usage.json').write_text('\n'.join(published), encoding='utf-8')
    runs = json.loads((DEMO / 'agents' / 'toolbench' / 'runs.json').read_text(encoding='utf-8'))
    (folder / 'ANSWERS.json').write_text(json.dumps(runs), encoding='utf-8')
    for row in runs.values():
        row['answer']['final_answer'] = json.dumps({'return_type': 'give_answer', 'final_answer': 'Another.'})
    (folder / 'OTHER.json').write_text(json.dumps(runs), encoding='utf-8')


MODEL = """
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

models = [
    dict(type=ToolEvalOpenAI, abbr='ABBR', path='tiny', key='KEY', openai_api_base='URL', query_per_second=1000,
         max_seq_len=8192, max_out_len=256, run_cfg=dict(num_gpus=0))
]
"""
SWEEP = """
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, models, summarizer

_wanted = ['tooleval-teval-review_str_v2', 'tooleval-ultratool-tool_usage_en', 'tooleval-teval-agent-fc']
datasets = [row for row in datasets if row['abbr'] in _wanted]
models[0]['abbr'], models[1]['abbr'] = 'MODEL_A', 'MODEL_B'
work_dir = 'outputs/leaderboard'
"""


def lay_out_configs(folder: Path, urls: dict[str, str]) -> None:
    """A reader's own configs: the first example of the guide, a sweep, and models that are served."""
    (folder / 'my_config.py').write_text(snippets_of(ROOT / 'docs/how-to/write-a-config.md')[0], encoding='utf-8')
    (folder / 'my_sweep.py').write_text(SWEEP, encoding='utf-8')
    for name, url in urls.items():
        text = MODEL.replace('ABBR', name).replace('KEY', 'right').replace('URL', url)
        (folder / f'{name}.py').write_text(text, encoding='utf-8')


@pytest.fixture(scope='module')
def urls() -> Iterator[dict[str, str]]:
    """A model that makes instructions, and a judge that calls everything solved."""
    reply = json.dumps({'content': 'It is.', 'answer_status': 'Solved', 'index': 0})
    model = start_server('--script', f'{SCRIPT}:right')
    judge = start_server('--canned', reply, '--key', 'right')
    yield {'my_model': model.url, 'my_judge': judge.url}
    model.stop()
    judge.stop()


@pytest.fixture
def place(tmp_path: Path, urls: dict[str, str]) -> Iterator[Place]:
    folder = tmp_path / 'work'
    folder.mkdir()
    lay_out_data(folder)
    lay_out_answers(folder)
    lay_out_configs(folder, urls)
    with serving(Script()) as url:
        runs = str(DEMO / 'agents' / 'toolbench' / 'runs.json')
        filled_in = {'http://127.0.0.1:8000/v1': url, 'NAME': 'tiny', 'RUNS.json': runs, 'RUNS_OR_CACHE...': runs}
        filled_in |= {name: f'{name}.json' for name in ('ANSWERS', 'OTHER')}
        yield Place(folder, {**filled_in, 'MODEL': 'template'})


def environment(place: Place) -> dict[str, str]:
    home = place.folder.parent / 'home'
    home.mkdir(exist_ok=True)
    programs = f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'  # `python` is the tests' own
    settings = {'HOME': str(home), 'PATH': programs, 'TOOLEVAL_CACHE': str(home / 'cache'), 'OPENAI_API_KEY': KEY}
    inherited = {name: value for name, value in os.environ.items() if name != 'COMPASS_DATA_CACHE'}
    return {**inherited, **settings, 'TOOLEVAL_ENCODER': 'offline', 'CUDA_VISIBLE_DEVICES': '0'}


def run(command: str, place: Place) -> subprocess.CompletedProcess[str]:
    """Runs a command of ours, or of OpenCompass, as a shell would; without its imports."""
    program, *words = shlex.split(command.replace('$(tooleval config-dir)', str(CONFIGS)))
    words = [place.filled_in.get(word, word) for word in words]
    if any('outputs/default/RUN' in word for word in words):
        latest = str(WorkDir.find(place.folder / 'outputs' / 'default').path)
        words = [word.replace('outputs/default/RUN', latest) for word in words]
    if program == 'tooleval':
        return run_tooleval(*words, cwd=place.folder, env=environment(place))
    assert program == 'opencompass', f'nothing here runs {program}: {command}'
    dry = ['--dry-run'] if any(part in command for part in AS_FAR_AS_IT_GOES) else []
    return run_opencompass(*words, *dry, cwd=place.folder, env=environment(place))


def check(command: str, place: Place) -> str:
    """Runs a command, which has to end well; returns what it says."""
    done = run(command, place)
    said_nothing = any(text in done.stdout for text in ('too few to decide', 'nothing to judge'))  # the shipped records
    is_undecided = '--equivalent' in command and 'records without a difference would decide' in done.stdout
    status = 2 if command.startswith('tooleval gate ') and said_nothing else int(is_undecided)
    assert done.returncode == status and 'Traceback' not in done.stderr, f'{command}\n{done.stdout}\n{done.stderr}'
    return done.stdout


# --- the pages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'page',
    walked(page for page in PAGES if commands_of(page) and not ELSEWHERE.keys() & {page.parent.name, page.stem}),
)
def test_commands_run(page: Path, place: Place) -> None:
    """In the order of the page: what one makes the next may need."""
    for command in commands_of(page):
        if command not in NOT_RUN:
            check(command, place)


def test_what_is_not_run_is_there_and_is_said() -> None:
    written = {command for page in PAGES for command in commands_of(page)}
    assert written >= set(NOT_RUN)
    assert all(any(part in command for command in written) for part in AS_FAR_AS_IT_GOES)
    for command in written:
        if command.startswith('make '):
            subprocess.run(['make', '-n', *command.split()[1:]], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    """``tooleval plan CONFIG [WORK_DIR] [--json FILE|-]``: the command, and each option that it names."""
    for written in (*INLINE.findall(page.read_text(encoding='utf-8')), *commands_of(page)):
        words = re.findall(r"[\w.'/:=*+{}-]+", written.replace('\\|', '|'))
        if words[0] == 'make':
            subprocess.run(['make', '-n', words[1]], cwd=ROOT, check=True, capture_output=True)
        elif words[0] == 'python':
            assert (ROOT / words[1]).is_file(), written
        elif words[0] == 'tooleval':
            known = options_of(words[1:])
            assert {word.partition('=')[0] for word in words if word.startswith('--')} <= known, (written, known)


def options_of(words: list[str]) -> set[str]:
    """The options of a command, or of a group of commands, that words begin with."""
    context: Any = None
    command: Any = typer.main.get_command(app)
    name = ''
    for word in words:
        if word.startswith('-') or not hasattr(command, 'resolve_command'):
            break
        word = word if word.islower() else next(iter(command.commands))  # BENCH: any
        context = command.make_context('tooleval', [word], parent=context, resilient_parsing=True)
        name, command, _ = command.resolve_command(context, [word])
        assert name, f'there is no command {word!r}'
    return {option for parameter in command.params for option in parameter.opts} | {'--help'}


@pytest.mark.parametrize('page', walked(page for page in PAGES if snippets_of(page)))
def test_snippets_run(page: Path, place: Place, tmp_path: Path) -> None:
    """A config is loaded and goes as far as the first task; a piece of one with the page's config, or a reader's."""
    config = f'from opencompass_tooleval.models import ToolEvalOpenAI, ToolEvalServed\n{SWEEP}'
    for number, snippet in enumerate(snippets_of(page)):
        if 'from .' in snippet or 'server.run()' in snippet:
            continue  # needs what the commands before it make: tests/test_tutorials.py
        if 'read_base()' in snippet or 'models = [' in snippet:
            config = snippet
        elif 'import ' in snippet:
            run_snippet(snippet, place)
            continue
        else:
            config = f'{config}\nmodels = [{snippet}]' if snippet.startswith('dict(') else f'{config}\n{snippet}'
        file = place.folder / f'snippet_{number}.py'
        file.write_text(config, encoding='utf-8')
        loaded = Config.fromfile(file, format_python_code=False)
        assert loaded.get('models'), snippet
        if 'datasets' in loaded:
            done = run_opencompass(file, '--dry-run', cwd=place.folder, env=environment(place))
            assert done.returncode == 0 and 'Partitioned into' in done.stdout + done.stderr, done.stderr


def run_snippet(snippet: str, place: Place) -> None:
    """Python as it stands, where a bank of each kind lies."""
    for name, source in (('teval.bank', 'teval/EN'), ('toolbench.bank', 'toolbench')):
        check(f'tooleval agents bank build --from {DEMO / "agents" / source} --out {name}', place)
    ast.parse(snippet)
    done = run_python('-c', snippet, cwd=place.folder, env=environment(place))
    assert done.returncode == 0, done.stderr


# --- what the program prints ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_next_steps_of_a_sweep(place: Place) -> None:
    said = check('opencompass my_sweep.py', place)
    steps = [line.removeprefix('next:').strip() for line in said[said.index('next:') :].splitlines()]
    assert [step.split()[1] for step in steps] == ['status', 'report', 'compare']
    for step in steps:
        check(step, place)
    (answers,) = place.folder.glob('outputs/leaderboard/*/predictions/MODEL_A/tooleval-teval-agent-fc.json')
    check(f'tooleval agents judge {answers} --judge my_judge.py --out judged.jsonl', place)


@pytest.mark.long
def test_next_steps_of_import(place: Place) -> None:
    check('opencompass my_sweep.py', place)
    check('tooleval export outputs/leaderboard --out exported', place)
    said = check('tooleval import exported outputs/again', place)
    check(said[said.index('opencompass ') :].replace('CONFIG', 'my_sweep.py').strip(), place)


@pytest.mark.long
@pytest.mark.parametrize('benchmark', ['teval', 'agents'])
def test_next_steps_of_prepare(benchmark: str, place: Place) -> None:
    shutil.rmtree(place.folder / 'data' / 'teval')
    shutil.copytree(DEMO / 'teval', place.folder / 'DIR' / 'teval', dirs_exist_ok=True)
    said = check(f'tooleval prepare {benchmark} --from DIR', place)
    for line in said.splitlines():
        if line.startswith('  tooleval '):
            check(line.strip(), place)


# --- names of configs -------------------------------------------------------------------------------------------------


def alternatives(pattern: str) -> list[str]:
    """``a_{b,c}_gen`` -> ``a_b_gen``, ``a_c_gen``."""
    brace = re.search(r'\{([^{}]*)\}', pattern)
    if not brace:
        return [pattern]
    before, after = pattern[: brace.start()], pattern[brace.end() :]
    return [name for word in brace[1].split(',') for name in alternatives(before + word + after)]


def test_configs_that_pages_name_are_there() -> None:
    """``{task}`` and the like stand for one of several and are not looked for."""
    files = {file.stem for file in CONFIGS.rglob('*.py')}
    texts = [file.read_text(encoding='utf-8') for file in CONFIGS.rglob('*.py')]
    variables = {name for text in texts for name in re.findall(r'^(tooleval_\w+) =', text, re.M)}
    pages = ' '.join(page.read_text(encoding='utf-8') for page in PAGES)
    patterns = re.findall(r'tooleval_[\w{},]*_(?:gen|datasets)\b', pages)
    named = [name for one in patterns if not re.search(r'\{\w+\}', one) for name in alternatives(one)]
    assert len(named) > 40
    assert set(named) - files - variables == set()
