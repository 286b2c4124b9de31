"""The pictures in docs/ of answers that authors published, scored here: `make showcase`. Needs ../shared and Chromium.

UltraTool, Chinese: GPT-3.5 and GPT-4 on the three tasks that both have, planning with GPT-4's published judgements.
ToolBench G3 and FuncQA with EasyTool: ChatGPT. Runs and reports go into a folder that is not committed; the pictures
hold scores and a few samples. Exit status 1 if a score of UltraTool is not the published one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / 'shared'
sys.path.insert(0, str(ROOT))

from opencompass_tooleval import plugin  # noqa: E402
from opencompass_tooleval.benchmarks.ultratool.data import data_file, load_example  # noqa: E402
from opencompass_tooleval.benchmarks.ultratool.judge import prompt_hash  # noqa: E402
from opencompass_tooleval.benchmarks.ultratool.prompts import build_prompt, messages_of  # noqa: E402
from opencompass_tooleval.catalogue.tables import published_columns  # noqa: E402
from opencompass_tooleval.report.board import boards  # noqa: E402
from opencompass_tooleval.report.build import write_report  # noqa: E402
from opencompass_tooleval.results.table import read  # noqa: E402
from tools.report_screenshots import Picture, take_pictures  # noqa: E402

DATA = SHARED / 'data'
ANSWERS = DATA / 'ultratool_predictions' / 'Chinese-dataset'
RUNS = DATA / 'toolbench_trajectories'
LOGS = SHARED / 'expected' / 'easytool'
FUNCQA = 'model=ChatGPT&dataset=tooleval-funcqa-multi_hop-easytool&reason=lost'
AGENT = 'model=ChatGPT&dataset=tooleval-toolbench_g3-agent-easytool&reason=lost'
PICTURES = {
    'ultratool': {
        'report-overview': Picture('index.html', height=590),
        'report-benchmark': Picture('ultratool.html', height=1600, published=True),
    },
    'easytool': {
        'report-samples': Picture('samples.html', FUNCQA),
        'report-sample': Picture('samples.html', f'{FUNCQA}&sample=0'),
        'report-agent': Picture('samples.html', f'{AGENT}&sample=0'),
    },
}
"""Report -> name of a picture -> what it shows."""


@dataclass(frozen=True)
class Answers:
    """Published answers of one model to one data set, and how they are read."""

    model: str
    dataset: str
    benchmark: str
    subset: str
    file: Path
    options: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, str] = field(default_factory=dict)
    prompt: Callable[[Any], Any] = lambda record: getattr(record, 'question', None) or record.query

    def write(self, run: Path) -> None:
        """Scores the answers, and writes result and predictions as a sweep does."""
        recorded = plugin.load(plugin.RECORDED[self.benchmark])(self.subset, self.file, **self.options)
        scored = recorded.score(self.file)
        result = {
            **scored.total.metrics,
            'standard_errors': scored.total.standard_errors,
            'reasons': scored.total.reasons,
            'samples': {'all': scored.total.samples, 'infra': scored.total.infra},
            'provenance': {**recorded.scorer.provenance(), **self.provenance},
            'breakdown': scored.breakdown,
            'details': [score.to_detail() for score in scored.scores],
        }
        rows = {
            str(i): {
                'origin_prompt': self.prompt(record),
                'prediction': getattr(answer, 'text', answer),
                'record_id': record.id,
                'infra': None,
            }
            for i, (record, answer) in enumerate(zip(recorded.records, recorded.answers.values(), strict=True))
        }
        (run / 'configs').mkdir(parents=True, exist_ok=True)  # makes the folder a run
        for stage, content in (('results', result), ('predictions', rows)):
            file = run / stage / self.model / f'{self.dataset}.json'
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content, default=str), encoding='utf-8')


def ultratool_answers() -> Iterable[Answers]:
    """Yields the answers of both models to the tasks that both have."""
    for task in ('planning', 'tool_usage_awareness', 'tool_usage'):
        example = load_example(data_file(DATA / 'ultratool', task, 'zh'), task)

        def prompt(record: Any, task: str = task, example: Any = example) -> Any:
            return [
                {'role': message['role'], 'prompt': message['content']}
                for message in messages_of(build_prompt(task, 'zh', record.raw, example), 'gpt')
            ]

        for model in ('GPT-3.5', 'GPT-4'):
            folder, options, judge = ANSWERS / model.lower(), {}, {}
            if task == 'planning':
                options = {'judgements': folder / 'eval' / 'planning_eval.json'}
                judge = {'judge': 'gpt-4', 'judge_hash': prompt_hash(task, 'zh')}
            dataset = f'tooleval-ultratool-{task}_zh'
            yield Answers(model, dataset, 'ultratool', task, folder / f'{task}.json', options, judge, prompt)


def easytool_answers() -> Iterable[Answers]:
    """Yields ChatGPT's runs on ToolBench's G3, and its logs of FuncQA.

    GPT-4's published runs make the same calls in the same order as ChatGPT's, so that they say nothing about GPT-4.
    """
    data = {'data': DATA / 'toolbench' / 'G3_instruction.json'}
    file = RUNS / 'chatgpt_easytool__G3_instruction.json.gz'
    yield Answers('ChatGPT', 'tooleval-toolbench_g3-agent-easytool', 'agents', 'toolbench_g3', file, data)
    for subset in ('one', 'multi'):
        file = LOGS / f'funcqa_{subset}-hop_chatgpt.json'
        data = {'data': DATA / 'funcqa' / f'funcqa_{subset[0]}h.json'}
        yield Answers('ChatGPT', f'tooleval-funcqa-{subset}_hop-easytool', 'funcqa', f'{subset}_hop', file, data)


def main() -> int:
    """Scores, writes both reports and all pictures; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=ROOT / 'outputs' / 'showcase', help='folder of runs and reports')
    parser.add_argument('--pictures', type=Path, default=ROOT / 'docs', help='folder of the pictures')
    arguments = parser.parse_args()
    if not ANSWERS.is_dir():
        raise SystemExit(f'{ANSWERS}: not found; the published answers belong there')
    for name, answers in (('ultratool', ultratool_answers()), ('easytool', easytool_answers())):
        run, report = arguments.out / name, arguments.out / f'{name}-report'
        for one in answers:
            one.write(run)
        take_pictures(write_report([run], report).parent, PICTURES[name], arguments.pictures)
        equal = [pair for board in boards(read([run]), published_columns()) for pair in board.as_published.items()]
        for source, models in equal:
            print(f'{models}: the scores equal those of {source}')
        if name == 'ultratool' and [models for _, models in equal] != ['GPT-4, GPT-3.5']:
            print('a score of UltraTool is not the published one', file=sys.stderr)
            return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
