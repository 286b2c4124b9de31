"""Make T-Eval records at the published size and shape, with made-up content, and answers of made-up models.

Usage: python tools/make_synthetic.py OUT [--language EN|ZH] [--seed 0] [--scale 1] [--models N]

Writes ``OUT/data/teval/EN/{subset}_v1.json`` for the eight subsets, so that ``COMPASS_DATA_CACHE=OUT`` finds them, and
``OUT/predictions/model_00/{subset}_v1.jsonl`` for ``ReplayModel(path='OUT/predictions/model_00/{dataset}.jsonl')``.
The same seed writes the same bytes.

Sizes are those of T-Eval v1, 17,432 records in all. Steps per plan, arguments per call, repeated APIs, and the lengths
of arguments, queries, documentation and responses follow the real plan_json_v1 and review_str_v1. The real thoughts
could not be measured; here they are one sentence or two, 150 characters in English, and 99% are distinct. A query is
solved in one dialogue or two with the same arguments and other thoughts, since 553 plans of 4.8 steps are too few for
3,540 calls.

The first model answers right most of the time, the last one rarely: noise from 1/(N+1) to N/(N+1), or ``--noise``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from opencompass_tooleval.benchmarks.teval.data import FINISH, PARTS, TABLE, Subset, file_stem, load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.core.scoring.noise import damage

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools.synthetic_words import LANGUAGES, TOOLS, Language

VERSION = 'v1'
QUERIES = 553

# The shape of plan_json_v1: plans by number of steps, and steps by number of arguments.
STEPS = {
    1: 6,
    2: 63,
    3: 168,
    4: 103,
    5: 62,
    6: 49,
    7: 31,
    8: 17,
    9: 11,
    10: 6,
    11: 12,
    12: 8,
    13: 3,
    14: 5,
    16: 2,
    18: 7,
}
ARGUMENTS = {0: 407, 1: 1398, 2: 532, 3: 246, 4: 45, 5: 32}
REPEATING = 0.4  # share of the plans of 4 to 8 steps that call an API more than once; longer ones all do, shorter none
REUSED_ARGS = 0.2  # share of the calls that take the arguments of an earlier one
LONG_TEXT = 0.35  # share of the texts to write down that are long: 500 characters on average
ANSWERS = {'A': 207, 'E': 132, 'C': 86, 'B': 37, 'D': 25}  # of review_str_v1

INSTRUCT_FORMATS: tuple[tuple[str, dict[str, str]], ...] = (
    ('json', {'thought': 'thought', 'action': 'action', 'args': 'args'}),
    (
        'string',
        {
            'thought_start': 'Thought: ',
            'thought_end': '\n',
            'action_start': 'Action: ',
            'action_end': '\n',
            'args_start': 'Args: ',
            'args_end': '',
        },
    ),
)


@dataclass(frozen=True)
class Api:
    """An API: its documentation, and how many parameters a call of it has."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    doc: str


@dataclass(frozen=True)
class Call:
    """A step of a plan."""

    api: Api
    args: dict[str, Any]


@dataclass(frozen=True)
class Query:
    """What a user asks, and the calls that solve it."""

    id: str
    text: str
    calls: tuple[Call, ...]

    @property
    def apis(self) -> list[Api]:
        """The APIs of its calls, each once."""
        return list({call.api.name: call.api for call in self.calls}.values())


@dataclass(frozen=True)
class Turn:
    """One step of a dialogue: the thought, the call, and all messages before it."""

    id: str
    query: Query
    call: Call
    thought: str
    history: tuple[dict[str, str], ...]


def pick(weights: dict[Any, int], rng: Random) -> Any:
    """One of the keys, by weight."""
    return rng.choices(list(weights), list(weights.values()))[0]


class World:
    """APIs, queries and dialogues in one language.

    Args:
        language: The words.
        seed: The same seed makes the same world.
        queries: How many queries.
    """

    def __init__(self, language: Language, seed: int, queries: int) -> None:
        self.words = language
        self.rng = Random(f'{seed}/world')
        self._seen: dict[str, list[dict[str, Any]]] = {}
        self.apis = [self._api(f'{tool}.{operation}') for tool, names in TOOLS.items() for operation in names]
        self.queries = [self._query(number) for number in range(queries)]

    def fill(self, sentences: Sequence[str], call: Call | None = None) -> str:
        """One of ``sentences``, filled."""
        rng, words = self.rng, self.words
        return rng.choice(sentences).format(
            thing=rng.choice(words.things),
            place=rng.choice(words.places),
            person=rng.choice(words.people),
            kind=rng.choice(words.kinds),
            name=call.api.name if call else '',
            args=str(call.args)[:120] if call else '',
        )

    def text(self, sentences: Sequence[str], length: float) -> str:
        """Sentences up to about ``length`` characters, one at least."""
        parts = [self.fill(sentences)]
        while sum(map(len, parts)) < length:
            parts.append(self.fill(sentences))
        return self.words.space.join(parts)

    def _api(self, name: str) -> Api:
        parameters = sorted(self.rng.sample(sorted(self.words.parameters), pick(ARGUMENTS, self.rng)))
        doc = {
            'name': name,
            'description': self.rng.choice(self.words.docs),
            'required_parameters': [
                {'name': key, 'type': kind, 'description': self.words.parameters[key, kind]} for key, kind in parameters
            ],
            'optional_parameters': [],
            'return_data': [
                {'name': f'field_{field}', 'description': self.fill(self.words.filler)}
                for field in range(self.rng.randint(1, 4))
            ],
        }
        return Api(name, tuple(parameters), json.dumps(doc, ensure_ascii=False))

    def _value(self, name: str, kind: str) -> Any:
        rng = self.rng
        if kind == 'NUMBER':
            return rng.randint(1, 5) if name == 'limit' else rng.randint(10_000, 99_999_999)
        if kind == 'BOOL':
            return rng.random() < 0.5
        if kind == 'FLOAT':
            return rng.randint(1, 999) / 10
        if name == 'date':
            return f'2025-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}'
        if name == 'text':
            return self.text(
                self.words.filler, min(4000, rng.lognormvariate(6, 0.8)) if rng.random() < LONG_TEXT else 30
            )
        return self.fill({'place': ('{place}',), 'recipient': ('{person}',)}.get(name, ('{kind} {thing}', '{thing}')))

    def _args(self, api: Api, taken: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Arguments of a call, at times those of an earlier one, but of ``taken`` only where there is no choice."""
        seen = self._seen.setdefault(api.name, [])
        for _ in range(5):
            if seen and self.rng.random() < REUSED_ARGS:
                args = self.rng.choice(seen)
            else:
                args = {name: self._value(name, kind) for name, kind in api.parameters}
            if args not in taken:
                break
        seen.append(args)
        return args

    def _query(self, number: int) -> Query:
        rng = self.rng
        steps = pick(STEPS, rng)
        repeats = steps > 8 or (steps > 3 and rng.random() < REPEATING)
        distinct = max(1, round(steps * rng.uniform(0.25, 0.7))) if repeats else steps
        apis = rng.sample(self.apis, distinct)
        order = apis + rng.choices([api for api in apis if api.parameters] or apis, k=steps - distinct)
        calls: list[Call] = []
        for api in order:
            calls.append(Call(api, self._args(api, [call.args for call in calls if call.api is api])))
        text = self.text(self.words.wishes, rng.lognormvariate(5.5, 0.5))
        return Query(f'query_{number}', text, tuple(calls))

    def turns(self, count: int) -> Iterator[Turn]:
        """The first ``count`` steps of dialogues: every query once, then every query again in other words."""
        made = 0
        for dialogue in range(count):
            for query in self.queries:
                history: list[dict[str, str]] = []
                for step, call in enumerate(query.calls):
                    if made == count:
                        return
                    thought = self.fill(self.words.thoughts, call)
                    if self.rng.random() < 0.4:
                        thought += self.words.space + self.fill(self.words.filler)
                    yield Turn(f'{query.id}_{dialogue}_{step}', query, call, thought, tuple(history))
                    made += 1
                    answer = {'thought': thought, 'name': call.api.name, 'args': call.args}
                    history.append({'role': 'assistant', 'content': json.dumps(answer, ensure_ascii=False)})
                    history.append({'role': 'function', 'content': self.response('A')})

    def response(self, answer: str) -> str:
        """What a tool returned."""
        outcome = self.fill(self.words.outcomes[answer])
        length = self.rng.lognormvariate(4.8, 1.4)
        more = self.text(self.words.filler, min(length, 7000)) if answer == 'A' and length > 80 else ''
        return json.dumps({'text': outcome + more}, ensure_ascii=False)

    def docs(self, query: Query) -> str:
        """The head of a prompt: the documentation of what the query may call."""
        return self.words.system['apis'] + '\n'.join(api.doc for api in query.apis)


Record = dict[str, Any]


def _prompt(system: str, *messages: dict[str, str]) -> list[dict[str, str]]:
    return [{'role': 'system', 'content': system}, *messages]


def _user(text: str) -> dict[str, str]:
    return {'role': 'user', 'content': text}


def instruct_records(world: World, count: int) -> Iterator[tuple[str, Record]]:
    """Calls to write down, in JSON and in plain text by turns."""
    calls = [(query, step, call) for query in world.queries for step, call in enumerate(query.calls)]
    for number in range(count):
        query, step, call = calls[number % len(calls)]
        response_format, template = INSTRUCT_FORMATS[number % 2]
        shown = json.dumps(template) if response_format == 'json' else '...'.join(template.values())
        asked = ''.join(f'{key} = {value!r}\n' for key, value in call.args.items())
        system = world.words.system['apis'] + call.api.doc + world.words.system['instruct'] + shown
        yield (
            f'{query.id}_{step}_{number}_{response_format}',
            {
                'template': template,
                'meta_data': {'response_format': response_format},
                'ground_truth': {'action': call.api.name, 'args': call.args},
                'origin_prompt': _prompt(
                    system, _user(world.words.system['instruct_user'].format(name=call.api.name) + asked)
                ),
            },
        )


def plan_records(world: World, subset: Subset, count: int) -> Iterator[tuple[str, Record]]:
    """Plans, each ended by ``FinishAction``."""
    for query in world.queries[:count]:
        steps = [(call.api.name, call.args) for call in query.calls] + [(FINISH, {})]
        yield (
            query.id,
            {
                'meta': {'prompt_type': subset.format, 'API_list': [api.name for api in query.apis]},
                'ground_truth': [
                    {'id': step, 'prev': [step - 1] if step else [], 'name': name, 'args': args}
                    for step, (name, args) in enumerate(steps)
                ],
                'origin_prompt': _prompt(world.docs(query) + world.words.system[subset.name], _user(query.text)),
            },
        )


def call_records(world: World, subset: Subset, count: int) -> Iterator[tuple[str, Record]]:
    """Next thoughts and calls, each after all that was said before."""
    for turn in world.turns(count):
        yield (
            turn.id,
            {
                'template': '',
                'meta_data': {'response_format': subset.format},
                'ground_truth': {'thought': turn.thought, 'name': turn.call.api.name, 'args': turn.call.args},
                'origin_prompt': _prompt(
                    world.docs(turn.query) + world.words.system[subset.kind], _user(turn.query.text), *turn.history
                ),
            },
        )


def review_records(world: World, count: int) -> Iterator[tuple[str, Record]]:
    """Responses to judge."""
    for turn in world.turns(count):
        answer = pick(ANSWERS, world.rng)
        goal = world.fill(world.words.wishes)
        call = f'Goal: {goal}\nName: {turn.call.api.name}\nArgs: {turn.call.args}\nResponse: {world.response(answer)}'
        yield (
            turn.id,
            {
                'template': '',
                'meta_data': {'response_format': 'str'},
                'ground_truth': {'answer': answer, 'thought': world.text(world.words.verdicts, 300)},
                'origin_prompt': _prompt(world.words.system['review'], _user(call)),
            },
        )


def records_of(subset: Subset, language: Language, seed: int, scale: float) -> Iterator[tuple[str, Record]]:
    """The records of one subset as id and record; the subsets of one seed share queries and calls."""
    count = max(1, round(subset.counts[VERSION] * scale))
    world = World(language, seed, max(1, round(QUERIES * scale)))
    if subset.kind == 'instruct':
        return instruct_records(world, count)
    if subset.kind == 'plan':
        return plan_records(world, subset, count)
    return call_records(world, subset, count) if subset.kind in PARTS else review_records(world, count)


def write_records(folder: Path, language: str, seed: int, scale: float) -> list[Path]:
    """Writes the eight files, record by record.

    Returns:
        Their paths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for subset in TABLE:
        file = folder / f'{file_stem(subset.name, VERSION, language)}.json'
        with file.open('w', encoding='utf-8') as stream:
            before = '{'
            for record_id, record in records_of(subset, LANGUAGES[language], seed, scale):
                stream.write(f'{before}\n{json.dumps(record_id)}: {json.dumps(record, ensure_ascii=False)}')
                before = ','
            stream.write('\n}\n')
        files.append(file)
    return files


def write_predictions(files: Sequence[Path], folder: Path, models: int, seed: int, noise: float | None) -> None:
    """Writes JSON lines with ``id`` and ``prediction``: one folder per model, one file per subset."""
    for file, subset in zip(files, TABLE, strict=True):
        samples = [(sample.record.id, gold_answer(sample.record)) for sample in load_samples(file, subset.name)]
        with ExitStack() as stack:
            for model in range(models):
                name = f'model_{model:02d}'
                out = folder / name / f'{file.stem}.jsonl'
                out.parent.mkdir(parents=True, exist_ok=True)
                stream = stack.enter_context(out.open('w', encoding='utf-8'))
                share = (model + 1) / (models + 1) if noise is None else noise
                for record_id, gold in samples:
                    rng = Random(f'{seed}/{name}/{file.stem}/{record_id}')
                    prediction = damage(gold, rng) if rng.random() < share else gold
                    stream.write(json.dumps({'id': record_id, 'prediction': prediction}, ensure_ascii=False) + '\n')


def main() -> None:
    """Writes what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', type=Path)
    parser.add_argument('--language', choices=sorted(LANGUAGES), default='EN')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--scale', type=float, default=1.0, help='share of the published number of records')
    parser.add_argument('--models', type=int, default=0, help='how many models answer')
    parser.add_argument('--noise', type=float, help='share of wrong answers of every model, 0-1')
    arguments = parser.parse_args()
    folder = arguments.out / 'data' / 'teval' / arguments.language
    files = write_records(folder, arguments.language, arguments.seed, arguments.scale)
    write_predictions(files, arguments.out / 'predictions', arguments.models, arguments.seed, arguments.noise)
    print('\n'.join(map(str, files)))


if __name__ == '__main__':
    main()
