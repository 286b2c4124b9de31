"""A ready sweep that was copied elsewhere, to add models, still loads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mmengine.config import Config
from opencompass.utils import match_files

from tests.cli.conftest import DEMO, Command

CONFIGS = DEMO.parents[1] / 'configs'
SWEEPS = sorted(CONFIGS.glob('eval_*.py'))
INSTRUCTIONS = {
    'teval_en_v2.json': 'easytool/teval_en.json',
    'teval_zh_v2.json': 'easytool/teval_zh.json',
    'ultratool_zh.json': 'easytool/ultratool_zh.json',
    'ultratool_en.json': 'easytool/ultratool_en.json',
}


@pytest.fixture
def demo_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped records where OpenCompass looks for the published ones."""
    data = tmp_path / 'data-cache' / 'data'
    (data / 'easytool').mkdir(parents=True)
    for name in ('teval', 'ultratool'):
        (data / name).symlink_to(DEMO.parent / name)
    for name, source in INSTRUCTIONS.items():
        (data / 'easytool' / name).symlink_to(DEMO.parent / source)
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')
    hub = tmp_path / 'hub'
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(hub))
    for name in ('refs/main', f'snapshots/{"0" * 40}/config.json'):
        file = hub / 'models--Qwen--Qwen2.5-7B-Instruct' / name
        file.parent.mkdir(parents=True)
        file.write_text('0' * 40)


@pytest.mark.usefixtures('demo_as_data')
@pytest.mark.parametrize(
    'sweep',
    [pytest.param(file, id=file.stem, marks=[pytest.mark.long] * (file.stem != 'eval_leaderboard')) for file in SWEEPS],
)
def test_a_copy_in_an_empty_folder_plans(
    tooleval: Command, tmp_path: Path, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is a GPU, a model, a key and a judge, nothing would stop it."""
    for name, value in (('CUDA_VISIBLE_DEVICES', '0'), ('OPENAI_API_KEY', 'key'), ('OC_JUDGE_MODEL', 'judge')):
        monkeypatch.setenv(name, value)
    copy = tmp_path / 'work' / 'my_sweep.py'
    copy.write_text(sweep.read_text(encoding='utf-8'), encoding='utf-8')
    done = tooleval('plan', copy, '--json', '-')
    assert done.code == 0, done.out[-1500:] + done.err
    assert 'Map:' not in done.err
    models = json.loads(done.out)['models']
    assert models and all(model['datasets'] and model['samples'] for model in models)


def test_the_first_example_of_the_guide_is_a_config_of_an_api_model(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / 'docs' / 'how-to' / 'write-a-config.md').read_text(encoding='utf-8')
    config = tmp_path / 'my_config.py'
    config.write_text(guide.partition('```python\n')[2].partition('```')[0], encoding='utf-8')
    loaded = Config.fromfile(config, format_python_code=False)
    assert [model['run_cfg']['num_gpus'] for model in loaded['models']] == [0] and len(loaded['datasets']) == 8
    assert {'summarizer', 'infer', 'eval'} <= set(loaded)


def test_the_guide_shows_the_config_that_its_command_writes(
    tooleval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    guide = (Path(__file__).parents[2] / 'docs' / 'how-to' / 'write-a-config.md').read_text(encoding='utf-8')
    (words,) = (line.split()[1:] for line in guide.splitlines() if line.startswith('tooleval run teval '))
    assert tooleval(*words).code == 0
    (text,) = (part for part in guide.split('```python\n') if part.startswith('# Written by tooleval run'))
    Path('shown.py').write_text(text.partition('```')[0], encoding='utf-8')
    shown, written = (Config.fromfile(file, format_python_code=False).to_dict() for file in ('shown.py', words[-1]))
    assert shown == written and shown['datasets'] and shown['models']


@pytest.mark.parametrize('summarizer', sorted(file.stem for file in (CONFIGS / 'summarizers').glob('tooleval*.py')))
def test_a_summarizer_is_found_by_its_name_alone(summarizer: str) -> None:
    """OpenCompass looks at any depth, and warns of ambiguous patterns where a name is there twice."""
    assert len(match_files(str(CONFIGS / 'summarizers'), f'{summarizer}.py')) == 1
