"""Times this package against what OpenCompass has built in: same data, same encoder, same machine, one run.

    python tools/benchmark.py [--only teval|ultratool|funcqa|start|runner|pipe|agents|slurm|sweep|report|
                               attribution|stream]
                              [--data DIR]
                              [--plans 553] [--requests 200] [--ultratool-predictions FILE] [--json OUT]

Parts with modules of their own lie in ``benchmark_parts``.

T-Eval, three ratios:

* plan scoring, cold: nothing is encoded yet;
* plan scoring, warm: a second model of a sweep, whose gold answers are cached already;
* inference against a server that answers after 50 ms, 16 requests in flight.

And one share: cold plan scoring over merely encoding the distinct strings once.

UltraTool, seconds: 1,000 usage answers of GPT-4, read and scored.

FuncQA, one ratio: EasyTool's method on all questions at 50 ms per call, 16 in flight, against one question at a time.

Start, one ratio: from the command to the first request of a small run, over one import (see benchmark_start.py).

Runner, one ratio: a sweep of 16 tasks on this machine against OpenCompass's LocalRunner (see benchmark_runner.py).

Pipe, ratios: 64 to 1,024 requests in flight to a server with long-tailed latencies, against an ideal queue and a bare
client (a quarter of an hour; see benchmark_pipe.py).

Agents, ratios: 553 tasks that call tools, environment included, on such a server against the best that can be (minutes;
see benchmark_agents.py).

Slurm, ratios: stages of 16 tasks against OpenCompass's runners (minutes; see benchmark_slurm.py).

Sweep, ratios, memory, growth and start-up: one model over all eight T-Eval subsets (minutes; see benchmark_sweep.py).

Attribution, one ratio: processor time per call with attribution=True (half a minute; see benchmark_attribution.py).

Stream, processor time per chunk and one ratio: throughput with stream=True over whole answers (two minutes; see
benchmark_stream.py).

Report, seconds and memory: building and opening that of ten models (a quarter of an hour; see benchmark_report.py).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault('OPENAI_API_KEY', 'none')
os.environ.setdefault('TQDM_DISABLE', '1')

from opencompass_tooleval.agents.loops.funcqa import FuncQADialogues
from opencompass_tooleval.benchmarks.funcqa.data import TABLE as FUNCQA
from opencompass_tooleval.benchmarks.funcqa.data import Record as FuncQARecord
from opencompass_tooleval.benchmarks.funcqa.data import load_records as load_funcqa
from opencompass_tooleval.benchmarks.funcqa.scoring import score_predictions
from opencompass_tooleval.benchmarks.teval.data import FIX, Sample, load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.reading import Protocol, postprocess_v1, read_answer
from opencompass_tooleval.benchmarks.teval.scoring import compared_texts, score_answers
from opencompass_tooleval.benchmarks.ultratool import scoring as ultratool_scoring
from opencompass_tooleval.benchmarks.ultratool.data import find_subset, load_recorded_rows
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol as UltraToolProtocol
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.noise import damage
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.embedding.encoder import EncoderSimilarity
from opencompass_tooleval.embedding.locate import locate_encoder
from opencompass_tooleval.extras.recorded.ultratool import guess_language

TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS.parent))
SUBSET = 'plan_json'
V1 = Protocol('v1')
MODEL = 'canned'
LATENCY = 0.05
IN_FLIGHT = 16
ULTRATOOL_PREDICTIONS = 'data/ultratool_predictions/Chinese-dataset/gpt-4/tool_usage.json'
FUNCQA_DATA = 'data/funcqa'
TEVAL_DATA = 'data/teval/EN'
ULTRATOOL_ANSWERS = 1000
ULTRATOOL_GOAL = 0.5


def timed(work: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def answers_of(samples: Sequence[Sample], seed: int) -> list[Answer]:
    """What a model with a fault in every third plan would say."""
    answers = []
    for sample in samples:
        rng = Random(f'{seed}{sample.record.id}')
        gold = gold_answer(sample.record)
        answers.append(postprocess_v1(Answer(damage(gold, rng) if rng.random() < 1 / 3 else gold)))
    return answers


def distinct_strings(samples: Sequence[Sample], answers: Sequence[Answer]) -> list[str]:
    """What has to be encoded."""
    texts: list[str] = []
    for sample, answer in zip(samples, answers, strict=True):
        texts.extend(compared_texts(sample.record, read_answer(sample.record, answer, V1), V1))
    return list(dict.fromkeys(texts))


def benchmark_scoring(samples: Sequence[Sample]) -> dict[str, float]:
    """Seconds of plan scoring: ours cold and warm, the built-in, and the encoding alone."""
    from opencompass.datasets.teval.evaluators import PlanningEvaluator

    files = locate_encoder('offline')
    answers, second = answers_of(samples, 0), answers_of(samples, 1)
    records = [sample.record for sample in samples]
    reference = PlanningEvaluator('', bert_score_model=str(files.path))

    def built_in() -> None:
        for sample, answer in zip(samples, answers, strict=True):
            raw = {**json.loads(sample.payload)[1], 'prediction': answer.text}
            with suppress(RuntimeError):  # it crashes on a plan of nothing but FinishAction
                reference._evaluate(reference._process_response(raw)[0])

    reference.sentence_model.encode(['warm up'] * 64)
    with tempfile.TemporaryDirectory() as folder:

        def score_with_package(model_answers: Sequence[Answer]) -> None:
            similarity = EncoderSimilarity(files, Path(folder))
            similarity._model = reference.sentence_model  # loading the encoder is neither side's to count
            score_answers(records, model_answers, V1, similarity)

        texts = distinct_strings(samples, answers)
        return {
            'encode': timed(lambda: reference.sentence_model.encode(texts, batch_size=16)),
            'cold': timed(lambda: score_with_package(answers)),
            'warm_same': timed(lambda: score_with_package(answers)),
            'warm_second': timed(lambda: score_with_package(second)),
            'built_in': timed(built_in),
        }


@contextmanager
def server(*answers: str) -> Iterator[str]:
    """A server that answers every request after ``LATENCY`` seconds, as told; yields its base URL."""
    command = [sys.executable, str(TOOLS / 'serve_model.py'), '--name', MODEL, '--latency', str(LATENCY), *answers]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def benchmark_inference(data: Path, requests: int) -> dict[str, float]:
    """Seconds for the same requests through OpenCompass's ChatInferencer and through ours."""
    from opencompass.datasets import TEvalDataset
    from opencompass.models import OpenAISDK
    from opencompass.openicl.icl_inferencer import ChatInferencer
    from opencompass.openicl.icl_prompt_template import PromptTemplate
    from opencompass.openicl.icl_retriever import ZeroRetriever

    from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset
    from opencompass_tooleval.inferencers.inferencer import ToolEvalGenInferencer
    from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
    from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

    name, limit = 'review_str_v1', f'[:{requests}]'
    with server('--canned', 'Answer: A') as url, tempfile.TemporaryDirectory() as folder:
        tokenizer = Path(folder, 'tiny')
        subprocess.run([sys.executable, TOOLS / 'make_tiny_model.py', tokenizer], check=True, stdout=subprocess.DEVNULL)
        asked: dict[str, Any] = {'openai_api_base': url, 'query_per_second': 10_000, 'tokenizer_path': str(tokenizer)}
        asked |= {'max_seq_len': 100_000, 'path': MODEL}

        built_in = ChatInferencer(OpenAISDK(**asked), output_json_filepath=folder, output_json_filename='a.json')
        reader = {'input_columns': ['prompt'], 'output_column': 'ground_truth', 'test_range': limit}
        built_in_data = TEvalDataset(reader_cfg=reader, path=str(data), name=name)
        template = PromptTemplate({'round': [{'role': 'HUMAN', 'prompt': '{prompt}'}]})

        model = ToolEvalOpenAI(**asked, max_workers=IN_FLIGHT)
        inferencer = ToolEvalGenInferencer(
            model, max_out_len=512, batch_size=4 * IN_FLIGHT, output_json_filepath=folder, output_json_filename='b.json'
        )
        reader = {'input_columns': ['messages'], 'output_column': 'record', 'test_range': limit}
        package_data = ToolEvalTEvalDataset(reader_cfg=reader, path=str(data), name=name)
        return {
            'built_in': timed(lambda: built_in.inference(ZeroRetriever(built_in_data), prompt_template=template)),
            'ours': timed(
                lambda: inferencer.inference(
                    ZeroRetriever(package_data), prompt_template=ToolEvalConversationTemplate()
                )
            ),
        }


def find_ultratool_predictions(given: Path | None) -> Path | None:
    """The authors' file of usage answers: the one given, or where OpenCompass has its data; None if it is nowhere."""
    candidates = [given] if given else candidate_paths(ULTRATOOL_PREDICTIONS)
    return next((file for file in candidates if file.is_file()), None)


def benchmark_ultratool(file: Path, rounds: int = 7) -> dict[str, float]:
    """Seconds to load records and answers; to read, score and aggregate them: the first time, and the median."""
    subset = find_subset('tool_usage')
    started = time.perf_counter()
    rows = load_recorded_rows(file, subset.name, guess_language(file, ''))[:ULTRATOOL_ANSWERS]
    seconds = {'load': time.perf_counter() - started}
    records, answers = [row.record for row in rows if row.record], [row.answer for row in rows]
    if len(records) != ULTRATOOL_ANSWERS:
        raise SystemExit(f'{file} has {len(records)} answers with their records; {ULTRATOOL_ANSWERS} are measured')

    def score(rules: UltraToolProtocol) -> None:
        scores = ultratool_scoring.score_answers(records, answers, rules)
        ultratool_scoring.aggregate_scores(scores, subset.metrics)

    for scoring in ('official', 'strict'):
        work = partial(score, UltraToolProtocol(scoring, 'span'))
        times = [timed(work) for _ in range(rounds)]
        seconds[f'{scoring}, first'], seconds[f'{scoring}, median'] = times[0], statistics.median(times)
    return seconds


ANSWERS_SCRIPT = """
import json
from pathlib import Path

ANSWERS = json.loads(Path(__file__).with_name('answers.json').read_text())


def answer(messages):
    return ANSWERS[messages[-1]['content']]
"""


def funcqa_answers(records: Sequence[FuncQARecord], method: FuncQADialogues) -> dict[str, str]:
    """Everything that a perfect model is asked, and what it says."""
    answers = {}
    for record in records:
        dialogue = method.begin(record)
        turn = next(dialogue)
        with suppress(StopIteration):
            while True:
                answers[turn.messages[-1].content] = turn.gold
                turn = dialogue.send(Answer(turn.gold))
    return answers


def benchmark_funcqa(data: Path, instructions: Path) -> dict[str, float]:
    """Seconds of EasyTool's method on both subsets: one question at a time, and through our inferencer."""
    from opencompass.openicl.icl_retriever import ZeroRetriever

    from opencompass_tooleval.benchmarks.funcqa.task import ToolEvalFuncQADataset
    from opencompass_tooleval.inferencers.dialogue_inferencer import ToolEvalDialogueGenInferencer
    from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
    from opencompass_tooleval.models.dialogue_runner import DialogueRunner
    from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

    dialogues = {'type': FuncQADialogues, 'method': 'easytool', 'instructions': str(instructions)}
    method = FuncQADialogues('easytool', str(instructions))
    records = {row.name: load_funcqa(data / row.file, row.name) for row in FUNCQA}
    answers = funcqa_answers([record for some in records.values() for record in some], method)
    reader = {'input_columns': ['messages'], 'output_column': 'record'}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, 'script.py')
        script.write_text(ANSWERS_SCRIPT, encoding='utf-8')
        script.with_name('answers.json').write_text(json.dumps(answers), encoding='utf-8')
        tokenizer = Path(folder, 'tiny')
        subprocess.run([sys.executable, TOOLS / 'make_tiny_model.py', tokenizer], check=True, stdout=subprocess.DEVNULL)
        with server('--script', f'{script}:answer') as url:
            asked: dict[str, Any] = {
                'openai_api_base': url,
                'query_per_second': 10_000,
                'tokenizer_path': str(tokenizer),
            }
            model = ToolEvalOpenAI(**asked, path=MODEL, max_seq_len=100_000, max_workers=IN_FLIGHT)

            def one_at_a_time() -> None:
                for name, some in records.items():
                    for record in some:
                        DialogueRunner(model, None, 512, 1, name).run({record.id: method.begin(record)})

            def all_together() -> None:
                for name, some in records.items():
                    inferencer = ToolEvalDialogueGenInferencer(
                        model, max_out_len=512, dialogues=dialogues, batch_size=len(some), output_json_filepath=folder
                    )
                    rows = ToolEvalFuncQADataset(reader_cfg=reader, path=str(data), name=name)
                    retriever, template = ZeroRetriever(rows), ToolEvalConversationTemplate()
                    predictions = inferencer.inference(retriever, None, template, folder, f'{name}.json')
                    scores = score_predictions(some, list(map(Answer, predictions)))
                    assert all(score.reason == 'ok' for score in scores)

            seconds = {'ours': timed(all_together), 'one_at_a_time': timed(one_at_a_time)}
    return {**seconds, 'questions': sum(map(len, records.values())), 'calls': len(answers)}


def measure_funcqa(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures and prints FuncQA, on the demo where the data is missing."""
    places = [arguments.funcqa] if arguments.funcqa else candidate_paths(FUNCQA_DATA)
    data = next((folder for folder in places if folder.is_dir()), None)
    if data is None:
        print(f'FuncQA: {places[0]} is missing; the demo is measured, which is too small for a fair ratio')
        data = resolve_data_path('tooleval:demo/funcqa', '')
    instructions = data.parent / 'easytool' / 'functions_data.json'
    seconds = benchmark_funcqa(data.resolve(), instructions if instructions.is_file() else data / instructions.name)
    ratio = seconds['one_at_a_time'] / seconds['ours']
    print(
        f'FuncQA, EasyTool, {seconds["questions"]} questions, {seconds["calls"]} calls of {LATENCY} s: '
        f'{seconds["ours"]:.2f} s, one question at a time {seconds["one_at_a_time"]:.2f} s'
    )
    print(f'FuncQA, {IN_FLIGHT} in flight: one question at a time / ours: {ratio:.2f} (goal >= 8)')
    return {'funcqa': {**seconds, 'ratio': ratio}}


def measure_teval(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures and prints T-Eval."""
    with tempfile.TemporaryDirectory() as scratch:
        return _measure_teval(arguments, teval_data(arguments.data, Path(scratch)))


def teval_data(given: str | None, scratch: Path) -> Path:
    """The folder given, that of the published files, or where there are none made-up ones of the same size."""
    if given:
        return resolve_data_path(given, FIX)
    published = (folder for folder in candidate_paths(TEVAL_DATA) if (folder / f'{SUBSET}_v1.json').is_file())
    if found := next(published, None):
        return found
    print(f'T-Eval: {TEVAL_DATA} is missing; made-up records of the published size are measured')
    from tools.make_synthetic import write_records

    write_records(scratch, 'EN', seed=0, scale=1)
    return scratch


def _measure_teval(arguments: argparse.Namespace, data: Path) -> dict[str, Any]:
    samples = load_samples(data / f'{SUBSET}_v1.json', SUBSET, 'v1')[: arguments.plans]
    scoring = benchmark_scoring(samples)
    inference = benchmark_inference(data.resolve(), arguments.requests)
    ratios = {
        'plan scoring, cold: built-in / ours': (scoring['built_in'] / scoring['cold'], '>= 5'),
        'plan scoring, the same answers again: built-in / ours': (scoring['built_in'] / scoring['warm_same'], ''),
        'plan scoring, warm, a second model: built-in / ours': (scoring['built_in'] / scoring['warm_second'], '>= 30'),
        'plan scoring, cold: ours / encoding alone': (scoring['cold'] / scoring['encode'], '<= 1.2'),
        f'inference, {IN_FLIGHT} in flight: built-in / ours': (inference['built_in'] / inference['ours'], '>= 8'),
    }
    print(f'{len(samples)} plans, seconds: ' + ', '.join(f'{name} {value:.2f}' for name, value in scoring.items()))
    print(f'{arguments.requests} requests of {LATENCY} s, seconds: {inference}')
    for name, (ratio, goal) in ratios.items():
        print(f'{name}: {ratio:.2f} {goal and f"(goal {goal})"}')
    return {'scoring': scoring, 'inference': inference, 'ratios': {name: ratio for name, (ratio, _) in ratios.items()}}


def measure_ultratool(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures and prints UltraTool, or says what is missing."""
    file = find_ultratool_predictions(arguments.ultratool_predictions)
    if file is None:
        missing = arguments.ultratool_predictions or ULTRATOOL_PREDICTIONS
        print(f'UltraTool is skipped: {missing} is missing; name the published file with --ultratool-predictions')
        return {}
    seconds = benchmark_ultratool(file)
    for name, value in seconds.items():
        goal = '' if name == 'load' else f' (goal < {ULTRATOOL_GOAL})'
        what = 'records and answers from disk' if name == 'load' else f'read and scored, {name}'
        print(f'UltraTool, {ULTRATOOL_ANSWERS} usage answers, {what}: {value:.3f} s{goal}')
    return {'ultratool': seconds}


def _part(name: str, *settings: str) -> Callable[[argparse.Namespace], dict[str, Any]]:
    """Returns what measures and prints with a module of ``benchmark_parts``, which is imported only then."""
    module = f'tools.benchmark_parts.benchmark_{name}'
    return lambda arguments: import_module(module).measure(*(getattr(arguments, one) for one in settings))


MEASURES = {
    'ultratool': measure_ultratool,
    'funcqa': measure_funcqa,
    'teval': measure_teval,
    'start': _part('start', 'inspect'),
    'runner': _part('runner'),
    'pipe': _part('pipe', 'seeds', 'inspect'),
    'agents': _part('agents', 'seeds'),
    'slurm': _part('slurm'),
    'replicas': _part('replicas'),
    'gpu': _part('gpu', 'model', 'device'),
    'sweep': _part('sweep', 'scale', 'every'),
    'report': _part('report', 'scale'),
    'attribution': _part('attribution'),
    'stream': _part('stream'),
}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', choices=list(MEASURES), help='by default all')
    parser.add_argument(
        '--data', help=f'folder with plan_json_v1.json and review_str_v1.json; by default {TEVAL_DATA}, else made up'
    )
    parser.add_argument('--plans', type=int, default=553)
    parser.add_argument('--requests', type=int, default=200)
    parser.add_argument(
        '--ultratool-predictions',
        type=Path,
        metavar='FILE',
        help=f"the authors' tool_usage.json of GPT-4; by default {ULTRATOOL_PREDICTIONS}",
    )
    parser.add_argument(
        '--funcqa', type=Path, metavar='DIR', help=f'folder with the questions; by default {FUNCQA_DATA}'
    )
    parser.add_argument('--scale', type=float, default=1.0, help='sweep, report: share of the published records')
    parser.add_argument('--every', type=int, default=10, help='sweep: the built-in gets every so many-th record')
    parser.add_argument(
        '--full',
        dest='every',
        action='store_const',
        const=1,
        help='sweep: the built-in gets them all (half an hour)',
    )
    parser.add_argument('--seeds', type=int, default=3, help='pipe, agents: sets of questions; the median counts')
    parser.add_argument(
        '--inspect', metavar='PYTHON', help='pipe, start: an interpreter that has inspect_ai, to time it beside'
    )
    parser.add_argument(
        '--model', metavar='DIR', help='gpu: a chat model in place of one that is made, with random weights'
    )
    parser.add_argument(
        '--device', choices=['cuda', 'cpu'], default='cuda', help='gpu: cpu measures a tiny model, to try the steps'
    )
    parser.add_argument('--json', type=Path, help='write the seconds and ratios there')
    arguments = parser.parse_args()
    content: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        if arguments.only in (None, name):
            content |= measure(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(content, indent=2) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
