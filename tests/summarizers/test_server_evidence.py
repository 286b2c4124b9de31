"""What the answers of a run show about its server, on the last screen of a real run with one behaviour per model."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from opencompass_tooleval.findings.of_results import no_answers
from opencompass_tooleval.work_dir.prompt_tokens import cut_prompts
from tests.forked import run_opencompass, run_tooleval
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving

MODELS = ('hermes', 'object', 'texts', 'full', 'choices', 'toolless', 'context', 'claude', 'right')
CONFIG = f"""
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

_names = ['tooleval-funcqa-one_hop-react-fc', 'tooleval-teval-reason_retrieve_understand_json_v2-fc']
datasets = [row for row in datasets if row['abbr'] in _names]
models = [dict(type=ToolEvalOpenAI, abbr=name, path=name, key='{KEY}', openai_api_base='URL', retry=0, max_out_len=64,
               temperature=0, MORE run_cfg=dict(num_gpus=0)) for name in {[*MODELS]}]
"""
TOO_LONG = 'The sum of prompt length (1900.0) and query length (0) max_tokens (600) exceeds max_seq_len (2048)'


class Servers(Script):
    """Answers each model as a server with one fault would."""

    def check(self, request: Request) -> None:
        if request['model'] == 'toolless' and request.get('tools'):
            raise Refused(404, 'No endpoints found that support tool use')
        if request['model'] == 'context':
            raise Refused(422, TOO_LONG)
        if request['model'] == 'claude' and 'temperature' in request:
            raise Refused(400, '`temperature` is deprecated for this model.', 'invalid_request_error')

    def message(self, request: Request) -> dict[str, Any]:
        tool = request['tools'][0]['function']
        arguments = dict.fromkeys(tool['parameters']['properties'], 2)
        if request['model'] == 'hermes':
            written = json.dumps({'name': tool['name'], 'arguments': arguments})
            return {'content': f'<tool_call>\n{written}\n</tool_call>'}
        if request['model'] == 'object':
            return {'content': f'```json\n{json.dumps({"name": tool["name"], "arguments": arguments})}\n```'}
        calls = sum(message['role'] == 'tool' for message in request['messages'])
        if request['model'] in ('texts', 'right') and not calls:
            values = {name: '[2, 3]' if request['model'] == 'texts' else [2, 3] for name in arguments}
            function = {'name': tool['name'], 'arguments': json.dumps(values)}
            return {'content': None, 'tool_calls': [{'id': 'call_1', 'type': 'function', 'function': function}]}
        return {'content': '' if request['model'] == 'full' else 'Answer: 2'}

    def finish(self, message: dict[str, Any], is_cut: bool) -> str:
        return 'length' if message['content'] == '' else super().finish(message, is_cut)

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        completion = len((message['content'] or '').split())
        return {'prompt_tokens': self.prompt_tokens(request), 'completion_tokens': completion}

    def choices(self, request: Request) -> int:
        return 2 if request['model'] == 'choices' else 1


def run(folder: Path, url: str, more: str = '', only: str = '') -> CompletedProcess[str]:
    text = CONFIG.replace('URL', url).replace('MORE', more)
    text += f"\nmodels = [row for row in models if row['abbr'] == '{only}']\n" if only else ''
    (folder / 'mine.py').write_text(text)
    return run_opencompass('mine.py', '-w', 'out', cwd=folder)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, script = tmp_path_factory.mktemp('run'), Servers()
    with serving(script) as url:
        done = run(folder, url)
        assert done.returncode == 1
        counts = Counter(request['model'] for request in script.asked)
        assert counts['choices'] <= 2 * 16 < counts['hermes'] + counts['object']  # ended like with a wrong key
    (folder / 'screen').write_text(done.stdout)
    return folder


def notes(folder: Path) -> list[str]:
    (file,) = folder.glob('out/*/summary/*_notes.txt')
    return file.read_text().splitlines()


@pytest.mark.parametrize(('model', 'words'), [
    ('hermes', 'calls are left in the text of answers, where they do not count: 26 as hermes ('),
    ('hermes', 'Fix it with: start vLLM with --enable-auto-tool-choice --tool-call-parser hermes, SGLang with'),
    ('object', 'calls are left in the text of answers, where they do not count: 26 as json ('),
    ('texts', 'all arguments of 17 calls are texts, though the tools ask for other types ('),
    ('full', "answers without room, since the prompt fills the server's context: 26 ("),
])  # fmt: skip
def test_a_warning_names_the_setting_that_fixes_it(folder: Path, model: str, words: str) -> None:
    lines = [line for line in notes(folder) if line.startswith(f'WARNING {model}: ')]
    assert [words in line for line in lines] == [True], notes(folder)
    assert 'max_out_len' not in lines[0]


def test_a_server_without_faults_gets_no_warning(folder: Path) -> None:
    assert not [line for line in notes(folder) if re.match(r'WARNING (?:.*\W)?right\W', line)]


def test_fixes_of_what_is_missing(folder: Path) -> None:
    screen = re.sub(r'\s+', ' ', (folder / 'screen').read_text())
    fixes = dict(re.findall(r'MISSING (\w+) x .*?fix: (.*?) then: ', screen))
    assert fixes['choices'] == 'update the gateway, whose answers have several choices'
    assert '2 choices in one reply, though one was requested: one may have the text and another the calls' in screen
    assert fixes['toolless'].startswith('take the data sets without -fc, or start the server with its parser')
    assert fixes['context'] == 'in mine.py: Lower max_out_len, or raise the limit of the server'
    assert fixes['claude'] == 'in mine.py, set openai_extra_kwargs=dict(temperature=None)'
    assert 'tooleval retry' not in ''.join(fixes.values())
    status = run_tooleval('status', 'out', cwd=folder)
    assert 'update the gateway' in status.stdout and 'calls are left in the text of answers' in status.stdout


def test_the_fix_of_a_refused_temperature_is_one(tmp_path: Path) -> None:
    with serving(Servers()) as url:
        done = run(tmp_path, url, 'openai_extra_kwargs=dict(temperature=None),', 'claude')
    assert done.returncode == 0, done.stdout[-2000:]


def test_no_number_is_taken_from_a_call_in_the_text(folder: Path) -> None:
    """FuncQA's gold answer may stand among the arguments of a call that nobody made."""
    (file,) = folder.glob('out/*/results/hermes/tooleval-funcqa*.json')
    result = json.loads(file.read_text())
    assert result['accuracy'] == 0 and set(result['reasons']) == {'call:none'}
    assert {detail['parsed'] for detail in result['details']} == {None}


@pytest.mark.parametrize(('tokens', 'cached', 'is_cut'), [
    ([300] * 12, [0] * 12, True),
    ([min(300, 50 * n + 50) for n in range(12)], [0] * 12, True),  # short prompts are whole
    ([20 * n + 20 for n in range(12)], [0] * 12, False),
    ([20] * 12, [30 * n for n in range(12)], False),  # a server that bills cached tokens apart
    ([300] * 9, [0] * 9, False),  # too few
    ([20] * 12, [0] * 12, False),  # a server that counts only what its cache lacks
    ([3000 + n for n in range(12)], [0] * 12, False),  # more tokens than bytes: a gateway's own prompt
    ([300] * 12, [20 * n for n in range(12)], True),  # cached tokens are among those of the prompt
    ([300] * 11 + [310], [0] * 12, False),
])  # fmt: skip
def test_prompts_that_a_server_cuts_without_an_error(tokens: list[int], cached: list[int], is_cut: bool) -> None:
    def rows(length: int, **more: Any) -> list[dict[str, Any]]:
        counts = zip(tokens, cached, strict=True)
        usages = ({'prompt': prompt, 'cached': hit, 'completion': 1, **more} for prompt, hit in counts)
        prompts = ([{'role': 'HUMAN', 'prompt': 'word ' * (100 + length * n)}] for n in range(len(tokens)))
        return [{'usage': usage, 'origin_prompt': prompt} for usage, prompt in zip(usages, prompts, strict=True)]

    assert cut_prompts(rows(40)) == (300 if is_cut else 0)
    assert cut_prompts(rows(1)) == 0  # all of one length
    assert cut_prompts(rows(40, counted=True)) == cut_prompts(rows(40, requests=2)) == cut_prompts([]) == 0


def test_an_empty_answer_is_not_said_to_be_no_fault_of_the_model() -> None:
    def text(**reasons: int) -> str:
        counts = {f'infra:{name}': count for name, count in reasons.items()}
        result = {'samples': {'all': 9, 'infra': sum(reasons.values())}, 'reasons': counts}
        (finding,) = no_answers({('m', 'd'): result})
        return finding.text

    assert text(server=2) == '2 of 9 samples have no answer, through no fault of the model; they count as wrong'
    end = ' and count as wrong. The server may have lost it, or the model ended at once'
    assert text(empty=2) == f'2 of 9 samples have an empty answer{end}'
    assert text(empty=2, server=1) == f'3 of 9 samples have no answer, 2 of them an empty answer{end}'
