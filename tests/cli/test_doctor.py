"""``tooleval doctor``: every fault names the command that fixes it."""

from __future__ import annotations

import json
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
    show_finding,
)
from opencompass_tooleval.findings.finding import Finding, fine, found
from opencompass_tooleval.findings.kinds import Level
from opencompass_tooleval.plugin import REGISTERED
from tests.cli.conftest import Command, demo_file
from tests.conftest import ROOT
from tests.models.api.scripted_server import KEY, Script, serving

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


def test_working_versions() -> None:
    assert versions() == [fine('machine:package', name, version) for name, version in WORKING.items()]


def test_versions_of_this_environment() -> None:
    assert faults(list(check_versions())) == []


@pytest.mark.parametrize(
    ('package', 'version', 'breaks', 'fix'),
    [
        pytest.param('pyarrow', '26.0.0', 'pyarrow 26 needs NumPy 2', 'pyarrow>=17,<21', id='pyarrow 26'),
        pytest.param('numpy', '2.0.0', 'OpenCompass needs NumPy 1', 'numpy>=1.26,<2', id='numpy 2'),
        pytest.param('transformers', '6.0.0', 'after 5', 'transformers>=4.51,<6', id='transformers 6'),
        pytest.param('transformers', '4.40.0', 'before 4.51', 'transformers>=4.51,<6', id='old transformers'),
        pytest.param('datasets', '4.0.0', 'OpenCompass needs datasets 3', 'datasets>=3,<4', id='datasets 4'),
        pytest.param('opencompass', '0.6.0', 'after 0.5', 'opencompass>=0.5.2,<0.6', id='opencompass 0.6'),
        pytest.param('opencompass', '0.5.1', 'before 0.5.2', 'opencompass>=0.5.2,<0.6', id='opencompass 0.5.1'),
        pytest.param('pyarrow', '16.1.0', 'before 17', 'pyarrow>=17,<21', id='pyarrow 16'),
    ],
)
def test_broken_version(package: str, version: str, breaks: str, fix: str) -> None:
    (fault,) = faults(versions(**{package: version}))
    assert fault.about == package
    assert fault.text.startswith(f'{version}: {breaks}')
    assert fault.text.endswith(f"; fix it with: pip install '{fix}'")


@pytest.mark.parametrize('package', list(WORKING))
def test_missing_package(package: str) -> None:
    assert faults(versions(**{package: None})) == [
        found('machine:package', package, "not installed; fix it with: pip install 'opencompass-tooleval[offline]'")
    ]


def test_every_fault_at_once() -> None:
    assert [fault.about for fault in faults(versions(numpy='2.1', pyarrow='26', transformers='6'))] == [
        'numpy',
        'pyarrow',
        'transformers',
    ]


def test_pins_are_those_of_the_package() -> None:
    """What the doctor accepts, pip must accept: the limits in setup.py are the same."""
    text = (ROOT / 'setup.py').read_text(encoding='utf-8')
    limited = set(re.findall(r"^    '([a-z-]+>=[0-9.]+,<[0-9.]+)',", text, re.M))
    assert len(limited) == 6
    assert limited == {f'{pin.package}{pin.works}' for pin in PINS if '<' in pin.works}


def test_registry() -> None:
    (finding,) = check_registry()
    assert (finding.level, finding.about) == (Level.OK, 'registry')
    assert finding.text == f'{NAMES} names registered'


def test_registry_that_lacks_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.plugin.REGISTERED', {'MODELS': ('OracleModel', 'NoSuchModel')})
    assert list(check_registry()) == [found('machine:import', 'registry', 'not registered: NoSuchModel')]


def test_registry_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.plugin.MODULES', ('host.no_such_module',))
    (finding,) = check_registry()
    assert (finding.level, finding.about) == (Level.FAULT, 'OpenCompass')
    assert 'ModuleNotFoundError' in finding.text


def test_running() -> None:
    assert list(check_running()) == [fine('machine:running', 'running', '5 shipped samples asked and scored')]


def test_running_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenCompass 0.5.3 did to an earlier release: all names registered, and no data set ran."""

    def inference(self: object, *arguments: object, **options: object) -> None:
        raise AttributeError('no attribute dump_only_message_path')

    monkeypatch.setattr('opencompass_tooleval.inferencers.inferencer.ToolEvalGenInferencer.inference', inference)
    (finding,) = check_running()
    assert (finding.level, finding.about) == (Level.FAULT, 'running')
    assert 'AttributeError: no attribute dump_only_message_path' in finding.text
    assert 'eval_demo.py' in finding.text


def test_running_with_wrong_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('opencompass_tooleval.models.fixed_models.OracleModel.reply', lambda *_: 'no')
    (finding,) = check_running()
    assert finding.level is Level.FAULT


def test_data(tmp_path: Path) -> None:
    folder = tmp_path / 'data-cache' / 'data' / 'teval' / 'EN'
    folder.mkdir(parents=True)
    (folder / 'plan_json_v2.json').write_bytes(demo_file('plan_json_v2').read_bytes())
    (folder / 'plan_json_v1.json').write_bytes(demo_file('plan_json_v2').read_bytes())
    (folder / 'review_str_v2.json').write_text('{')
    findings = {finding.about: finding for finding in check_data()}
    assert findings['T-Eval plan_json v2 EN'] == fine('machine:data', 'T-Eval plan_json v2 EN', '4 records, v1 has 553')
    said = '4 records, published are 553'
    assert findings['T-Eval plan_json v1 EN'] == found('machine:other_data', 'T-Eval plan_json v1 EN', said)
    damaged = findings['T-Eval review_str v2 EN']
    assert damaged.level is Level.FAULT
    assert str(folder / 'review_str_v2.json') in damaged.text
    assert 'tooleval prepare teval' in damaged.text
    said = '45 of 48 files are not on disk; fetch them with: tooleval prepare teval'
    assert findings['T-Eval'] == found('machine:other_data', 'T-Eval', said)
    titles = ('UltraTool', 'RestBench', 'FuncQA', 'ToolBench', 'Agents')
    assert all('fetch them with: tooleval prepare' in findings[title].text for title in titles)
    assert findings['Agents teval'].text == '4 tasks, published are 553; 13 gold calls, published are 2660'
    second = tmp_path / 'home' / '.cache' / 'opencompass'
    searched = f'searched below {tmp_path / "data-cache"} ($COMPASS_DATA_CACHE) and {second}'
    assert findings['data'] == found('machine:other_data', 'data', searched)
    assert findings['Conformance requests'].level is Level.OK, 'part of the package'
    assert len(findings) == 12


@pytest.mark.parametrize('chosen', ['data-cache/data', '.'], ids=['a level too low', 'a level too high'])
def test_a_wrong_data_folder_is_named_with_the_right_one(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    right = tmp_path / 'data-cache'
    (right / 'data' / 'teval' / 'EN').mkdir(parents=True)
    (right / 'data' / 'teval' / 'EN' / 'plan_json_v2.json').write_bytes(demo_file('plan_json_v2').read_bytes())
    wrong = (tmp_path / chosen).resolve()
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(wrong))
    said = f'searched below {wrong} ($COMPASS_DATA_CACHE)'
    use = f'; there are files below {right}, used with: export COMPASS_DATA_CACHE={right}'
    for command in (['list'], ['list', 'teval']):
        (line,) = [line for line in tooleval(*command).out.splitlines() if line.startswith(said)]
        assert line.endswith(use)
    *_, finding = check_data()
    assert finding.level is Level.FAULT and finding.text.startswith(said) and finding.text.endswith(use)
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(right))
    assert 'used with' not in tooleval('list').out


def test_a_data_folder_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'dtaa'))
    *_, finding = check_data()
    assert finding.text.startswith(
        f'searched below {tmp_path / "dtaa"} ($COMPASS_DATA_CACHE, which does not exist) and '
    )


def test_an_old_mmengine_with_a_new_setuptools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As OpenCompass 0.5.2 beside setuptools 84; a module that imports it stands for mmengine."""
    (tmp_path / 'imports_it.py').write_text('import pkg_resources\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr('opencompass_tooleval.plugin.MODULES', ('imports_it',))
    monkeypatch.setitem(sys.modules, 'pkg_resources', None)  # as if it were not installed
    (finding,) = check_registry()
    assert finding.level is Level.FAULT and finding.text.endswith("; fix it with: pip install 'setuptools<81'")


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
    assert '; for the packaged one: export TOOLEVAL_ENCODER=offline (its scores do not compare with' in missing[1].text
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    english, chinese = check_encoders()
    assert (english.level, chinese.level) == (Level.OK, Level.NOTE)
    assert 'it is an English encoder' in chinese.text and 'it is an English encoder' in missing[1].text
    assert 'English' not in missing[0].text


def test_a_chat_model_is_no_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / 'config.json').write_text('{"architectures": ["Qwen2ForCausalLM"]}')
    monkeypatch.setenv('TOOLEVAL_ENCODER', str(tmp_path))
    findings = list(check_encoders())
    assert [finding.level for finding in findings] == [Level.FAULT, Level.FAULT]
    assert 'holds a chat model (Qwen2ForCausalLM), no sentence encoder' in findings[0].text
    for config in ('{"architectures": ["BertModel"]}', '[]', '{', '{"architectures": 5}'):
        (tmp_path / 'config.json').write_text(config)
        assert [finding.level for finding in check_encoders()] == [Level.OK, Level.OK]
    (tmp_path / 'config.json').write_text('{"architectures": ["Qwen2ForCausalLM"]}')
    (tmp_path / 'modules.json').write_text('[]')  # a sentence encoder made of a chat model
    assert [finding.level for finding in check_encoders()] == [Level.OK, Level.OK]


def test_commands_stand_on_lines_of_their_own() -> None:
    finding = found('machine:data', 'data', f'lost; fetch it with: hf download a/b  (or {"set X " * 12})')
    lines = show_finding(finding, 60).splitlines()
    assert lines[:2] == ['FAULT   data: lost; fetch it with:', '            hf download a/b']
    assert lines[2].startswith('        (or set X set') and all(len(line) <= 60 for line in lines)


def test_no_encoder_at_all(monkeypatch: pytest.MonkeyPatch, empty_hub: None) -> None:
    monkeypatch.setattr('opencompass_tooleval.embedding.locate.importlib.util.find_spec', lambda name: None)
    assert [finding.level for finding in check_encoders()] == [Level.FAULT, Level.FAULT]


def test_chosen_encoder_that_is_missing(monkeypatch: pytest.MonkeyPatch, empty_hub: None) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'BAAI/bge-m3')
    assert [finding.level for finding in check_encoders()] == [Level.FAULT, Level.FAULT]


def test_optional_is_never_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PATH', '')
    findings = {finding.about: finding for finding in check_optional()}
    assert sorted(findings) == ['lagent', 'slurm']
    assert all(finding.level is not Level.FAULT for finding in findings.values())
    assert findings['slurm'].text == 'no sbatch on PATH; only needed for clusters'


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


def test_lagent_is_for_react(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'lagent', None)
    finding = next(check_optional())
    assert (finding.level, finding.about) == (Level.NOTE, 'lagent')
    assert finding.text.endswith("FuncQA by ReAct needs it; install it with: pip install 'opencompass-tooleval[agent]'")


def test_command(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    outcome = tooleval('doctor')
    assert outcome.code == 0, outcome.out
    assert 'FAULT' not in outcome.out
    assert f'{NAMES} names registered' in outcome.out
    assert 'pip install' not in outcome.out or 'opencompass-tooleval[agent]' in outcome.out


def test_command_with_a_fault(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    # Not in importlib.metadata itself: what OpenCompass imports asks there for versions of its own.
    monkeypatch.setattr(doctor, 'check_versions', lambda: check_versions({**WORKING, 'numpy': '2.3.0'}.__getitem__))
    outcome = tooleval('doctor')
    assert outcome.code == 1
    assert outcome.out.count('FAULT') == 1
    said = "2.3.0: OpenCompass needs NumPy 1; fix it with:\n            pip install 'numpy>=1.26,<2'\n"
    assert said in outcome.out


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


def test_a_fault_of_a_server(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCalls(Script):
        def called(self, cities: list[str]) -> dict[str, object]:
            return {'content': '<tool_call>{"name": "get_weather"}</tool_call>'}

    monkeypatch.setenv('OPENAI_API_KEY', f'{KEY},another')
    with serving(NoCalls()) as url:
        outcome = tooleval('doctor', '--endpoint', url, '--model', 'tiny', '--json', '-')
        written = json.loads(outcome.out)
        assert outcome.code == 1
        assert [row['level'] for row in written['findings'] if row['about'] == 'forced call'] == ['fault']
        assert (written['endpoint'], written['model']) == (url, 'tiny') and written['requests'] == 30
        outcome = tooleval('doctor', '--endpoint', url, '--model', 'tiny')
        assert 'only parses calls of Qwen [data sets with function calling (-fc)]' in outcome.out
        assert tooleval('doctor', '--endpoint', url, '--model', 'tiny', '--no-calls').code == 0


@pytest.mark.parametrize(
    'arguments', [('--endpoint', 'http://a/v1'), ('--model', 'a'), ('--endpoint', 'a', '--model', 'a')]
)
def test_a_server_without_its_model(tooleval: Command, arguments: tuple[str, ...]) -> None:
    outcome = tooleval('doctor', *arguments)
    assert (outcome.code, outcome.out) == (1, '')
    assert outcome.err == 'tooleval: a server needs --endpoint http://HOST:PORT/v1 and --model NAME\n'


def test_what_is_no_key(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'schlüssel')
    outcome = tooleval('doctor', '--endpoint', 'http://127.0.0.1:9/v1', '--model', 'a')
    assert outcome.code == 1 and outcome.err.startswith('tooleval: $OPENAI_API_KEY holds no key')
