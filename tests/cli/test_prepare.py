"""``tooleval prepare``: puts files where OpenCompass finds them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.embedding.locate import locate_encoder
from tests.cli.conftest import DEMO, Command, demo_file
from tests.embedding.hub import hub_settings, serving_hub

_LATER = ['reason_str', 'retrieve_str', 'understand_str', 'reason_retrieve_understand_json']
_ENGLISH, _CHINESE = ['instruct', 'plan_str', *_LATER, 'review_str'], ['instruct', 'plan_json', 'plan_str', *_LATER]
STILL_MISSING = 'still missing, neither in {} nor prepared before: ' + ', '.join(
    [*(f'{name} v2 EN' for name in _ENGLISH), *(f'{name} v2 ZH' for name in _CHINESE)]
)
"""Beside the two files of the source, of the same version: nothing of v1."""


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged encoder, for all data that needs one."""
    monkeypatch.setenv('TOOLEVAL_ENCODER', 'offline')


PREPARE = [sys.executable, '-c', 'from opencompass_tooleval.cli.main import main; main()', 'prepare', 'teval']


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / 'source'
    (folder / 'deep' / 'er').mkdir(parents=True)
    for stem, place in (('plan_json_v2', folder), ('review_str_v2_zh', folder / 'deep' / 'er')):
        (place / f'{stem}.json').write_bytes(demo_file(stem).read_bytes())
    (folder / 'dataset_infos.json').write_text('{}')
    (folder / 'README.md').write_text('words')
    return folder


def places(tmp_path: Path) -> tuple[Path, Path]:
    data = tmp_path / 'data-cache' / 'data' / 'teval'
    return data / 'EN' / 'plan_json_v2.json', data / 'ZH' / 'review_str_v2_zh.json'


def test_copies(tooleval: Command, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = tooleval('prepare', 'teval', '--from', source)
    english, chinese = places(tmp_path)
    assert outcome.code == 0
    assert sorted(outcome.out.splitlines()) == [
        f'copied {english}: 4 records, v1 has 553',
        f'copied {chinese}: 5 records, v1 has 487',
        f'encoder offline: {locate_encoder("offline").path}',
        STILL_MISSING.format(source),
    ]
    assert english.read_bytes() == demo_file('plan_json_v2').read_bytes()
    assert chinese.read_bytes() == demo_file('review_str_v2_zh').read_bytes()
    files = [path for path in (tmp_path / 'data-cache').rglob('*') if path.is_file()]
    assert sorted(files) == [english, chinese]
    assert resolve_data_path('data/teval/EN', 'x') == english.parent
    monkeypatch.delenv('COMPASS_DATA_CACHE')
    printed = tooleval('prepare', 'teval', '--from', source).out
    assert f'copied {tmp_path / "work" / "data" / "teval" / "EN" / "plan_json_v2.json"}: 4 records' in printed


def test_a_second_run_keeps_what_is_right_and_replaces_the_rest(
    tooleval: Command, tmp_path: Path, source: Path
) -> None:
    """Also what is damaged and of the same size; the folder it copies to may be the one it copies from."""
    english, chinese = places(tmp_path)
    english.parent.mkdir(parents=True)
    english.write_text('{"cut": ')
    assert f'copied {english}: 4 records' in tooleval('prepare', 'teval', '--from', source).out
    right, before = demo_file('plan_json_v2').read_bytes(), english.stat()
    assert english.read_bytes() == right
    outcome = tooleval('prepare', 'teval', '--from', source)
    assert outcome.code == 0
    assert sorted(outcome.out.splitlines()) == [
        f'encoder offline: {locate_encoder("offline").path}',
        f'kept {english}: 4 records, v1 has 553',
        f'kept {chinese}: 5 records, v1 has 487',
        STILL_MISSING.format(source),
    ]
    assert (english.stat().st_mtime_ns, english.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    outcome = tooleval('prepare', 'teval', '--from', tmp_path / 'data-cache')
    assert outcome.code == 0 and outcome.out.count('kept ') == 2
    english.write_bytes(bytes(len(right)))
    outcome = tooleval('prepare', 'teval', '--from', source)
    assert (outcome.code, english.read_bytes() == right) == (0, True)


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        ('}\n', '', 'the file is cut short or no JSON'),
        (r'\A.*', '[]', 'the file is not a JSON object'),
        ('"ground_truth"', '"truth"', "record 'demo_museum': "),
    ],
)
def test_damaged_file_is_named_and_left_out(
    tooleval: Command, tmp_path: Path, source: Path, old: str, new: str, says: str
) -> None:
    file = source / 'plan_json_v2.json'
    file.write_text(re.sub(old, new, file.read_text(encoding='utf-8'), flags=re.DOTALL), encoding='utf-8')
    outcome = tooleval('prepare', 'teval', '--from', source)
    english, chinese = places(tmp_path)
    (line,) = [line for line in outcome.out.splitlines() if line.startswith('DAMAGED')]
    assert outcome.code == 1 and line.startswith(f'DAMAGED {file}: {says}')
    assert not english.exists() and chinese.is_file()


@pytest.mark.parametrize(('name', 'says'), [('empty', 'no T-Eval file, such as instruct_v1.json, in'), ('none', '')])
def test_no_file(tooleval: Command, tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / 'empty').mkdir()
    outcome = tooleval('prepare', 'teval', '--from', tmp_path / name)
    message = f'{says} {tmp_path / name} ' if says else f'{tmp_path / name} is not a folder '
    assert outcome.code == 1 and outcome.out.replace('\n', ' ') == message


LFS = 'version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12345\n'


@pytest.mark.parametrize(
    ('benchmark', 'name', 'content', 'says'),
    [
        ('teval', 'plan_str_v1.json', LFS, 'a pointer of Git LFS.*git lfs pull'),
        ('ultratool', 'English-dataset/test_set/tool_usage.json', '\n <HTML>', 'a page of HTML.*log in'),
        ('funcqa', 'funcqa_oh.json', '<!DOCTYPE html><html><body>Sign in</body></html>', 'a page of HTML.*log in'),
        ('toolbench', 'G1_instruction.json', LFS, 'a pointer of Git LFS.*git lfs pull'),
    ],
)
def test_what_is_no_data_is_named(
    tooleval: Command, tmp_path: Path, benchmark: str, name: str, content: str, says: str
) -> None:
    file = tmp_path / 'source' / name
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding='utf-8')
    outcome = tooleval('prepare', benchmark, '--from', tmp_path / 'source')
    (line,) = [line for line in outcome.out.splitlines() if line.startswith('DAMAGED') and file.name in line]
    assert outcome.code == 1 and line.count(file.name) == 1 and re.search(says, line)


def test_a_byte_order_mark_is_skipped(tooleval: Command, tmp_path: Path, source: Path) -> None:
    for file in (source / 'plan_json_v2.json', source / 'deep' / 'er' / 'review_str_v2_zh.json'):
        file.write_bytes(b'\xef\xbb\xbf' + file.read_bytes())
    outcome = tooleval('prepare', 'teval', '--from', source)
    assert outcome.code == 0 and outcome.out.count(' records') == 2
    answers, data = tmp_path / 'answers.json', demo_file('review_str_v2')
    names = json.loads(data.read_text())
    lines = '\n'.join(json.dumps({'id': name, 'prediction': 'Answer: A'}) for name in names)
    for text in (json.dumps(dict.fromkeys(names, 'Answer: A')), lines):
        answers.write_bytes(b'\xef\xbb\xbf' + text.encode())
        done = tooleval('score', 'teval', 'review_str', '--data', data, '--predictions', answers)
        assert done.code == 0 and '6 samples' in done.out


@pytest.mark.parametrize(
    ('version', 'revision'), [((), 'main'), (('--version', 'v1'), '03f691b72257bfc47578bdfe4b094e858279d22c')]
)
def test_a_version_has_its_revision(
    tooleval: Command, source: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[str, ...], revision: str
) -> None:
    (source / 'plan_json_v2.json').rename(source / 'plan_json_v1.json')
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(
        huggingface_hub, 'snapshot_download', lambda name, **settings: asked.append(settings) or str(source)
    )
    outcome = tooleval('prepare', 'teval', *version)
    assert [settings['revision'] for settings in asked] == [revision]
    patterns = asked[0]['allow_patterns']
    found = {file.name for file in source.rglob('*') for pattern in patterns if fnmatch(file.name, pattern)}
    assert found == {'plan_json_v1.json' if version else 'review_str_v2_zh.json'}
    *_, last = outcome.out.splitlines()
    assert 'plan_json_v1.json: 4 records  (published: 553)' in outcome.out
    assert last == 'not as published, so that scores do not compare with those of the paper: plan_json v1 EN'
    for options, says in (
        (('--version', 'v3'), 'only v2, v1'),
        (('--version', 'v1', '--from', source), 'leave it'),
    ):
        done = tooleval('prepare', 'teval', *options)
        assert done.code == 1 and says in done.err


def test_a_download_has_the_encoders_of_its_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: Path) -> None:
    """Only the files that are needed, at the fixed revisions; the English encoder has no safetensors."""
    monkeypatch.delenv('TOOLEVAL_ENCODER')
    english, chinese = tmp_path / 'english', tmp_path / 'chinese'
    for folder, weights in ((english, 'pytorch_model.bin'), (chinese, 'model.safetensors')):
        for name in ('modules.json', 'vocab.txt', '1_Pooling/config.json', 'onnx/model.json', 'tf_model.h5', weights):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text('{}')
    (chinese / 'pytorch_model.bin').write_text('{}')
    shutil.copy(demo_file('plan_json_v2_zh'), source)
    repos = {'lovesnowbest/T-Eval': source, 'sentence-transformers/all-mpnet-base-v2': english}
    asked: list[str] = []
    with serving_hub({**repos, 'thenlper/gte-large-zh': chinese}, asked=asked) as url:
        done = subprocess.run(PREPARE, env=hub_settings(url, tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.rpartition('/')[2] for line in done.stdout.splitlines() if line.startswith('encoder ')] == [
        '9a3225965996d404b775526de6dbfe85d3368642',
        '64c364e579de308104a9b2c170ca009502f4f545',
    ]
    fetched = {file.relative_to(tmp_path / 'hub').parts[0]: file for file in (tmp_path / 'hub').rglob('*.bin')}
    assert [*fetched] == ['models--sentence-transformers--all-mpnet-base-v2']
    assert not [path for path in asked if 'onnx/' in path or path.endswith('.h5')]
    there = list((tmp_path / 'hub').rglob('1_Pooling/config.json'))
    assert len(there) == 2 and (tmp_path / 'data-cache/data/teval/EN/plan_json_v2.json').is_file()


def test_an_encoder_that_is_missing_beside_copied_data_is_named(
    tooleval: Command, source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv('TOOLEVAL_ENCODER')
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_CACHE', str(tmp_path / 'hub'))
    done = tooleval('prepare', 'teval', '--from', source)
    (line,) = [line for line in done.out.splitlines() if line.startswith('MISSING')]
    assert (
        done.code == 0 and 'hf download sentence-transformers/all-mpnet-base-v2 --revision ' in line
    )  # no Chinese plan
    toolbench = tooleval('prepare', 'toolbench', '--from', source)
    assert 'MISSING' not in toolbench.out  # no file of it


def test_unwritable_target_ends_in_one_line(
    tooleval: Command, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'file').write_text('no folder')
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'file'))
    outcome = tooleval('prepare', 'teval', '--from', source)
    assert outcome.code == 1
    (line,) = filter(None, outcome.err.splitlines())  # a progress bar that is no terminal's leaves an empty line
    assert line.startswith('tooleval: ')
    assert str(tmp_path / 'file') in line


@pytest.mark.parametrize(
    ('benchmark', 'place', 'others'),
    [
        ('toolbench', 'StableToolBench/solvable_queries/test_instruction',
         ('StableToolBench/solvable_queries/test_query_ids', 'JARVIS/easytool/data_toolbench/result/easytool')),
        ('restbench', 'RestGPT/datasets', ('RestGPT/answers', 'A/spotify/backup')),
    ],
)  # fmt: skip
def test_only_files_in_the_published_layout_are_taken(
    tooleval: Command, tmp_path: Path, benchmark: str, place: str, others: tuple[str, ...]
) -> None:
    """Answers and lists of ids have the names of ToolBench's data."""
    source, demo = tmp_path / 'source', DEMO.parent / benchmark
    names = [path.name for path in demo.glob('G?_*.json' if benchmark == 'toolbench' else '[st]*[yb].json')]
    for folder in others:
        (source / folder).mkdir(parents=True)
        for name in names:
            (source / folder / name).write_text('[1, 2]')
    alone = tooleval('prepare', benchmark, '--from', source)
    assert alone.code == 1 and alone.out.startswith(
        f'no {"ToolBench" if benchmark == "toolbench" else "RestBench"} file'
    )
    (source / place).mkdir(parents=True)
    for name in names:
        (source / place / name).write_bytes((demo / name).read_bytes())
    if benchmark == 'restbench':
        shutil.copytree(demo / 'specs', source / 'RestGPT' / 'specs')
    printed = tooleval('prepare', benchmark, '--from', source).out
    assert not any(folder in printed for folder in others)
    assert names and all(
        str(source / place / name) in printed for name in names
    )  # read, and too few to be published ones


PUBLISHED = {
    'restbench': ('DAMAGED tmdb', '5 records, published are 100', 'RestGPT'),
    'funcqa': ('DAMAGED', '13 questions, published are 60', 'git clone'),
    'toolbench': ('DAMAGED', '3 records, published are 124; 6 tools, published are 234', 'prepare toolbench --from'),
}


@pytest.mark.parametrize('benchmark', PUBLISHED)
def test_other_records_are_refused_and_their_place_is_said(tooleval: Command, tmp_path: Path, benchmark: str) -> None:
    damaged, number, place = PUBLISHED[benchmark]
    done = tooleval('prepare', benchmark, '--from', DEMO.parent / benchmark)
    assert done.code == 1 and damaged in done.out and number in done.out
    assert not (tmp_path / 'data-cache' / 'data' / benchmark).exists()
    done = tooleval('prepare', benchmark)
    assert done.code == 1 and place in done.out
