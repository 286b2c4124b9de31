"""A sweep on a server that loses calls: who is to blame, on the last screen, in the report and for a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.extras.attribution.shapes import hermes
from tests.forked import run_opencompass, run_python
from tests.models.api.scripted_server import KEY, Request, Script, call, serving

CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.eval_demo import datasets, eval, infer, summarizer

datasets = [row for row in datasets if row['abbr'] == 'tooleval-teval-instruct_v2-fc']
models = [
    dict(
        type=ToolEvalOpenAI, abbr=abbr, path='tiny', key='KEY', openai_api_base='URL', max_out_len=256,
        tool_parser='hermes', attribution=attribution, run_cfg=dict(num_gpus=0),
    )
    for abbr, attribution in (('judged', True), ('plain', False))
]
"""


class Lossy(Script):
    """The model calls what it is told to; the server returns calls to the store room as text."""

    def written(self, request: Request) -> tuple[str, str]:
        """Name and arguments of the call that the model writes."""
        told = request['messages'][-1]['content'].splitlines()[1:]
        arguments = {name: json.loads(value) for name, _, value in (line.partition(' = ') for line in told)}
        return request['tools'][0]['function']['name'], json.dumps(arguments)

    def is_demo(self, request: Request) -> bool:
        return str(request['messages'][-1].get('content')).startswith('Call ') and bool(request.get('tools'))

    def message(self, request: Request) -> dict[str, Any]:
        if not self.is_demo(request):
            return super().message(request)
        written = self.written(request)
        if written[0].startswith('StoreRoom'):
            return {'content': hermes(written)}
        return {'content': None, 'tool_calls': [call(*written)]}

    def verbose(self, request: Request, message: dict[str, Any]) -> dict[str, Any]:
        raw = hermes(self.written(request)) if self.is_demo(request) else json.dumps(message)
        return {'__verbose': {'prompt': self.prompt(request), 'content': f'{raw}<|im_end|>'}}


@pytest.mark.long
def test_lost_calls_are_counted_for_the_server(tmp_path: Path) -> None:
    with serving(Lossy()) as url:
        (tmp_path / 'sweep.py').write_text(CONFIG.replace('URL', url).replace('KEY', KEY))
        done = run_opencompass('sweep.py', '-w', 'out', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = tmp_path.glob('out/*')
    judged, plain = (
        json.loads((run / 'results' / abbr / 'tooleval-teval-instruct_v2-fc.json').read_text())
        for abbr in ('judged', 'plain')
    )
    serving_of = judged.pop('serving')
    assert serving_of['causes'] == {'serving:none': 20, 'serving:parser': 6}
    assert 'serving' not in plain
    metrics = [name for name, value in plain.items() if isinstance(value, float)]
    assert metrics and all(judged[name] == plain[name] for name in metrics), 'official scores stay what was served'
    assert {row['written'] for row in serving_of['points'].values()} == {100.0}
    assert done.stdout.count("were lost by the server's parser (6 of 26 answers)") == 1
    tool = ['-c', 'from opencompass_tooleval.cli.main import main; main()']
    for words, code in ((['report', run, '-o', 'report'], 0), (['gate', run, '--serving', '--model', 'judged'], 1)):
        assert run_python(*tool, *words, cwd=tmp_path).returncode == code
    assert ',6,26\n' in (tmp_path / 'report' / 'files' / 'serving-teval.csv').read_text()
