"""Real language models, both served by llama.cpp and loaded by OpenCompass's wrapper: properties of all answers.

`make real` runs these tests in an environment of their own. Nothing here depends on an answer's being right: one model
is the smallest that follows a chat at all, the other does not follow one.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from opencompass_tooleval.models.rendered_tools import render
from opencompass_tooleval.tasks.first_prompts import first_prompts
from tests.real.models import MODELS, RealModel
from tests.real.serving import KEY, Counters, LlamaServer, local_settings
from tests.real.sweep import (
    CORE,
    FULL,
    JUDGED,
    MAX_OUT_LEN,
    ROOT,
    opencompass,
    predictions,
    results,
    tooleval,
    write_config,
)

DEMO = ROOT / 'opencompass_tooleval' / 'demo'


@dataclass
class Sweep:
    """A sweep that was run, and what its server counted meanwhile."""

    folder: Path
    model: str
    config: Path
    server: LlamaServer | None = None
    counted: Counters | None = None

    @property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Data set -> its predictions."""
        return predictions(self.folder / 'out', self.model)

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """Data set -> its result."""
        return results(self.folder / 'out', self.model)


@pytest.fixture(scope='session')
def servers(place: Path) -> Iterator[Callable[[str], LlamaServer]]:
    """Servers by model, each started when it is first needed; those that nobody asks take no processor."""
    running: dict[str, LlamaServer] = {}

    def served(name: str) -> LlamaServer:
        if name not in running:
            running[name] = LlamaServer(MODELS[name], place / f'{name}-server-{time.time_ns()}')
        return running[name]

    yield served
    for server in running.values():
        server.stop()


def sweep(place: Path, name: str, server: LlamaServer | None) -> Sweep:
    """Runs the sweep of one model in one way."""
    limit = dict(max_out_len=MAX_OUT_LEN[name])
    settings = server.settings(**limit) if server else local_settings(MODELS[name], **limit)
    folder = place / settings['abbr']
    folder.mkdir()
    full = server is not None and name == 'smollm2'
    judge = server.settings(**limit, abbr='smollm2-judge') if server else None
    config = write_config(folder / 'sweep.py', [settings], FULL if full else CORE, judge if full else None)
    before = server.counters() if server else None
    opencompass(config, folder / 'out', OPENAI_API_KEY=KEY)
    counted = server.counters() - before if server and before else None
    return Sweep(folder, settings['abbr'], config, server, counted)


@pytest.fixture(scope='session')
def served(place: Path, servers: Callable[[str], LlamaServer]) -> dict[str, Sweep]:
    """Model -> its sweep on llama.cpp's server."""
    return {name: sweep(place, name, servers(name)) for name in ('gemma3', 'smollm2')}


@pytest.fixture(scope='session')
def loaded(place: Path) -> dict[str, Sweep]:
    """Model -> its sweep loaded by OpenCompass's wrapper."""
    return {name: sweep(place, name, None) for name in MODELS}


def test_nothing_fails_and_nothing_is_missing(served: dict[str, Sweep], loaded: dict[str, Sweep]) -> None:
    for swept in (*served.values(), *loaded.values()):
        sizes = FULL if swept.model == 'smollm2-llamacpp' else CORE
        found = swept.results
        assert found.keys() == sizes.keys()
        for abbr, result in found.items():
            assert len(result['details']) == sizes[abbr], (swept.model, abbr)
            assert result['samples']['infra'] == 0
            reasons = [detail['reason'] for detail in result['details']]
            assert all(reasons) and not [reason for reason in reasons if reason.startswith('infra:')], (abbr, reasons)


def rendered(model: RealModel, prompt: Any) -> str:
    """A prompt as the model's chat template has it, without the token that begins a text."""
    tokenizer = tokenizer_of(model)
    text = str(render(tokenizer.apply_chat_template, prompt, tokenize=False, add_generation_prompt=True))
    return text.removeprefix('<bos>')


_TOKENIZERS: dict[str, Any] = {}


def tokenizer_of(model: RealModel) -> Any:
    """The tokenizer that transformers made of the model's file."""
    if model.name not in _TOKENIZERS:
        from transformers import AutoTokenizer

        _TOKENIZERS[model.name] = AutoTokenizer.from_pretrained(model.folder)
    return _TOKENIZERS[model.name]


@pytest.mark.parametrize('name', MODELS)
def test_the_server_is_sent_what_tooleval_prompts_shows(served: dict[str, Sweep], name: str) -> None:
    """Each first prompt is there word for word, with its generation prompt, and with as many tokens as were counted."""
    swept, model = served[name], MODELS[name]
    assert swept.server is not None
    logged = {text.removeprefix('<bos>') for text in swept.server.prompts()}
    looked_at, missing = 0, []
    for row in Config.fromfile(swept.config)['datasets']:
        counted = {answer['record_id']: answer['usage'] for answer in swept.rows[row['abbr']]}
        for record, prompt in first_prompts(row):
            text = rendered(model, prompt)
            missing += [(row['abbr'], record)] if text not in logged else []
            if name == 'smollm2':
                assert text.endswith('<|im_start|>assistant\n') and text.count('<|im_start|>assistant\n<|im_end|>') == 0
            tokens = swept.server.tokens(text, special=True)
            assert len(tokens) == counted[record]['first_prompt'], (row['abbr'], record)
            if name == 'smollm2':
                assert tokens == tokenizer_of(model)(text, add_special_tokens=False)['input_ids'], (row['abbr'], record)
            begin = tokenizer_of(model).bos_token_id
            assert tokens[0] == begin and tokens[1] != begin  # for one model <|im_start|>, of its template
            looked_at += 1
    assert looked_at == sum(swept_rows(swept).values())
    assert not missing


def swept_rows(swept: Sweep) -> dict[str, int]:
    """How many records of which data set a sweep asked."""
    return {
        row['abbr']: int(row['reader_cfg']['test_range'][2:-1]) for row in Config.fromfile(swept.config)['datasets']
    }


SHOWN = [
    ('teval', 'plan_json', 'teval/EN/plan_json_v2.json', ()),
    ('ultratool', 'tool_usage', 'ultratool', ('--language', 'en')),
    ('restbench', 'tmdb', 'restbench', ()),
    ('funcqa', 'one_hop', 'funcqa', ('--method', 'zero_shot')),
    ('toolbench', 'calls_g2', 'toolbench', ()),
]


@pytest.mark.parametrize(('benchmark', 'subset', 'data', 'more'), SHOWN, ids=[row[0] for row in SHOWN])
def test_the_command_shows_what_the_server_was_sent(
    served: dict[str, Sweep],
    benchmark: str,
    subset: str,
    data: str,
    more: tuple[str, ...],
    tmp_path: Path,
) -> None:
    swept = served['smollm2']
    file = tmp_path / 'prompts.jsonl'
    words = ['--data', DEMO / data, *more, '--limit', '1', '--json', file]
    tooleval('prompts', benchmark, subset, *words, folder=tmp_path, TOOLEVAL_ENCODER='offline')
    (line,) = file.read_text(encoding='utf-8').splitlines()
    messages = json.loads(line)['messages']
    tokenizer = tokenizer_of(MODELS['smollm2'])
    assert swept.server is not None
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text in swept.server.prompts()


@pytest.mark.parametrize('name', MODELS)
def test_tokens_and_cost_are_the_servers(served: dict[str, Sweep], name: str) -> None:
    """All that the server counted is in some result: answers, and what judges and simulators asked."""
    swept = served[name]
    usages = [result['usage'] for result in swept.results.values() if result.get('usage')]
    parts = [*usages, *(other for usage in usages for other in usage.get('auxiliary_models') or ())]
    assert swept.counted is not None and parts
    counted = swept.counted
    sums = {key: sum(part[key]['total'] for part in parts if key in part) for key in ('prompt', 'cached', 'completion')}
    assert sums == dict(prompt=counted.prompt + counted.cached, cached=counted.cached, completion=counted.completion)
    cost = sum(part['cost']['total'] for part in parts if 'cost' in part)
    assert cost == pytest.approx((0.15 * counted.prompt + 0.075 * counted.cached + 0.6 * counted.completion) / 1e6)


def test_a_judge_that_cannot_judge_is_named(place: Path, servers: Callable[[str], LlamaServer]) -> None:
    """A score comes of readable judgements alone: else the data set has no result, and the screen says why."""
    server = servers('smollm2')
    settings = server.settings(max_out_len=24)
    config = write_config(
        place / 'judged.py', [settings], JUDGED, server.settings(max_out_len=24, abbr='smollm2-judge')
    )
    done = opencompass(config, place / 'judged', check=False, OPENAI_API_KEY=KEY)
    if results(place / 'judged', settings['abbr']):
        assert done.returncode == 0, done.stdout[-3000:]
    else:
        assert done.returncode == 1 and 'could not be judged' in done.stdout, done.stdout[-3000:]


# The same greedy answers

SHORT = {'tooleval-funcqa-one_hop-zero_shot': 8}
"""Questions of a line."""


def answers_of(work_dir: Path, model: str) -> list[str]:
    """The answers to the questions of SHORT."""
    (rows,) = predictions(work_dir, model).values()
    return [json.dumps(row['prediction']) for row in rows]


def test_the_same_answers_at_each_batch_size_of_the_wrapper(place: Path) -> None:
    answers = []
    for batch_size in (1, 4, 8):
        settings = local_settings(MODELS['smollm2'], batch_size, max_out_len=24)
        config = write_config(place / f'batch_{batch_size}.py', [settings], SHORT)
        opencompass(config, place / f'batch_{batch_size}')
        answers.append(answers_of(place / f'batch_{batch_size}', settings['abbr']))
    assert len(answers[0]) == 8 and answers[0] == answers[1] == answers[2]


def test_the_server_answers_the_same_one_at_a_time(place: Path, servers: Callable[[str], LlamaServer]) -> None:
    """Computed together, or from where an earlier prompt left off, its sums are others: so say README and note here."""
    answers = {}
    for workers, cached in ((1, False), (1, False), (1, True), (4, True), (8, True)):
        alone = dict(extra_body=dict(cache_prompt=cached))
        settings = servers('smollm2').settings(max_out_len=24, max_workers=workers, openai_extra_kwargs=alone)
        folder = place / f'workers_{len(answers)}'
        config = write_config(folder.with_suffix('.py'), [settings], SHORT)
        opencompass(config, folder, OPENAI_API_KEY=KEY)
        answers[len(answers), workers, cached] = answers_of(folder, settings['abbr'])
    first, *others = answers.values()
    assert len(first) == 8 and first == others[0]
    for (_, workers, cached), found in list(answers.items())[2:]:
        differ = sum(one != other for one, other in zip(first, found, strict=True))
        print(f'{workers} at once, prompt cache {cached}: {differ} of 8 greedy answers differ')


def engine_of(model: RealModel, folder: Path) -> dict[str, Any]:
    """llama.cpp's server as the task starts it: the command of the ready config, with the words of this environment."""
    ready = Config.fromfile(ROOT / 'opencompass_tooleval' / 'configs' / 'models' / 'tooleval_served_llamacpp.py')[
        'models'
    ][0]
    words = [word for word in ready['engine']['command'] if word not in ('--n-gpu-layers', '999', '--jinja')]
    words[words.index('--ctx-size') + 1] = '65536'
    more = ['--chat-template-file', str(model.template_file)]
    program = ['{python}', str(Path(__file__).with_name('llama_server.py'))]
    return {**ready['engine'], 'command': [*program, *words[1:], *more], 'env': {'TOOLEVAL_REAL_ENGINE': str(folder)}}


def engines(folder: Path) -> list[int]:
    """Processes of the engines of one test."""
    mark = f'TOOLEVAL_REAL_ENGINE={folder}'.encode()
    processes = []
    for place in Path('/proc').glob('[0-9]*'):
        try:
            if mark in (place / 'environ').read_bytes().split(b'\0'):
                processes.append(int(place.name))
        except OSError:
            continue
    return processes


def test_a_killed_sweep_goes_on_to_the_same_answers(place: Path) -> None:
    """The engine of the ready config for llama.cpp, which the task starts; it is killed with the task's runner."""
    model, folder = MODELS['smollm2'], place / 'killed'
    folder.mkdir()
    settings = dict(
        local_settings(model, max_out_len=24),
        type='opencompass_tooleval.models.served_model.ToolEvalServed',
        abbr='smollm2-engine',
        path=str(model.gguf),
        engine=engine_of(model, folder),
        temperature=0,
        max_workers=1,
        openai_extra_kwargs=dict(extra_body=dict(cache_prompt=False)),
        tokenizer_path=str(model.folder),
    )
    for key in ('model_kwargs', 'batch_size'):
        del settings[key]
    config = write_config(folder / 'sweep.py', [settings], SHORT)
    opencompass(config, folder / 'whole')
    uninterrupted = answers_of(folder / 'whole', 'smollm2-engine')

    words = [sys.executable, '-m', 'opencompass.cli.main', str(config), '-w', str(folder / 'out')]
    with (folder / 'killed.txt').open('w') as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, start_new_session=True)

    def kept() -> int:
        return sum(len(file.read_text().splitlines()) for file in folder.glob('out/*/predictions/*/*.answers/*.jsonl'))

    while kept() < 3:
        assert process.poll() is None, (folder / 'killed.txt').read_text()[-3000:]
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = kept()
    assert before < len(uninterrupted)
    end = time.monotonic() + 60
    while engines(folder):
        assert time.monotonic() < end, 'an engine is left'
        time.sleep(0.2)
    opencompass(config, folder / 'out', '-r')
    assert answers_of(folder / 'out', 'smollm2-engine') == uninterrupted


# What reaches a model that the wrapper loads


@pytest.mark.parametrize('name', MODELS)
def test_the_wrapper_gives_the_model_what_the_server_gives_it(
    name: str, served: dict[str, Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text: one token that begins it, and the generation prompt, which the base model has none of."""
    from opencompass.utils import build_model_from_cfg

    from opencompass_tooleval.models.model_calls import ask

    model = build_model_from_cfg(local_settings(MODELS[name], max_out_len=MAX_OUT_LEN[name]))
    seen: list[list[int]] = []

    def look(**inputs: Any) -> Any:
        for tokens, mask in zip(inputs['input_ids'], inputs['attention_mask'], strict=True):
            seen.append(tokens[mask.bool()].tolist())
        return inputs['input_ids']  # answers nothing

    monkeypatch.setattr(model.model, 'generate', look)
    server = served[name].server
    assert server is not None
    logged, tokenizer = server.prompts(), tokenizer_of(MODELS[name])
    rows = ('tooleval-teval-instruct_v2', 'tooleval-teval-instruct_v2-fc', 'tooleval-restbench-tmdb')
    config = Config.fromfile(ROOT / 'opencompass_tooleval' / 'configs' / 'eval_demo.py', format_python_code=False)
    for row in config['datasets']:
        if row['abbr'] not in rows:
            continue
        prompts = [prompt for _, prompt in first_prompts(row, 1) if prompt]
        seen.clear()
        ask(model, prompts, 8)
        texts = [begin_of(name) + rendered(MODELS[name], prompt) for prompt in prompts]
        assert [tokenizer.decode(tokens) for tokens in seen] == texts, row['abbr']
        assert all(tokens[0] == tokenizer.bos_token_id != tokens[1] for tokens in seen)
        # The server reads the same text; of some white space transformers makes other tokens of this file's vocabulary.
        assert {text.removeprefix('<bos>') for text in texts} <= {text.removeprefix('<bos>') for text in logged}


def begin_of(name: str) -> str:
    """What the template of a model begins with, beyond what :func:`rendered` has."""
    return '<bos>' if name == 'gemma3' else ''


# Instructions, and what the doctor says


def test_easytool_instructions_by_a_real_model(place: Path, servers: Callable[[str], LlamaServer]) -> None:
    """Each reply is made an instruction, or named with what is wrong with it; nothing is lost."""
    folder = place / 'easytool'
    folder.mkdir()
    config = folder / 'model.py'
    config.write_text(f'models = [{servers("smollm2").settings(max_out_len=64)!r}]\n', encoding='utf-8')
    parameters = {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']}
    tools = [{'name': name, 'description': 'Of a city.', 'parameters': parameters} for name in ('weather', 'hotels')]
    functions = [{'type': 'function', 'function': tool} for tool in tools]
    (folder / 'tools.json').write_text(json.dumps(functions), encoding='utf-8')
    words = ['--source', 'function_schema', '--input', folder / 'tools.json']
    words += ['--model', config, '--out', folder / 'made.json', '--json', folder / 'report.json']
    done = tooleval('easytool', 'generate', *words, folder=folder, check=False, OPENAI_API_KEY=KEY)
    report = json.loads((folder / 'report.json').read_text(encoding='utf-8'))
    print(done.stdout[-2000:], json.dumps(report)[:3000])
    assert not report['failed'] and report['calls'] > 0


def test_the_doctor_on_llama_cpp(served: dict[str, Sweep], servers: Callable[[str], LlamaServer]) -> None:
    server = servers('smollm2')
    words = ['--endpoint', f'{server.url}/v1', '--model', 'smollm2', '--long-prompt', '0', '--json', '-']
    done = tooleval('doctor', *words, folder=server.log.parent, check=False, OPENAI_API_KEY=KEY)
    found = {
        row['about']: (row['level'], row['text'])
        for row in json.loads(done.stdout[done.stdout.index('{') :])['findings']
    }
    for what in ('reachable', 'key', 'model', 'answer', 'usage', 'max_tokens', 'forced call', 'tool calls'):
        assert found[what][0] == 'ok', found[what]
    assert found['key'][1] == 'accepted; a wrong key is refused'
    assert found['context'][1].startswith('8,192 tokens, from the list of models')


def test_leaderboard_and_report(place: Path, served: dict[str, Sweep], loaded: dict[str, Sweep]) -> None:
    """All four sweeps on the same pages."""
    sweeps = [*served.values(), *loaded.values()]
    words = [*(swept.folder / 'out' for swept in sweeps), '-o', place / 'report']
    done = tooleval('report', *words, folder=place)
    page = (place / 'report' / 'index.html').read_text(encoding='utf-8')
    assert all(swept.model in page for swept in sweeps)
    board = place / 'report' / 'files' / 'overview.md'
    print(done.stdout, board.read_text(encoding='utf-8') if board.is_file() else '')
