"""The published runs of EasyTool, played back: each call gets its own response again."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import read_runs
from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from tests.instructions.shared_data import DATA

FOLDER = DATA / 'toolbench_trajectories'
CALLS = {
    'chatgpt_easytool__G2_category.json.gz': (300, 730),
    'chatgpt_easytool__G3_instruction.json.gz': (147, 336),
    'chatgpt_easytool_retrieve__G2_category.json.gz': (300, 413),
    'chatgpt_easytool_retrieve__G3_instruction.json.gz': (147, 228),
    'gpt-4_easytool__G2_category.json.gz': (300, 730),
    'gpt-4_easytool__G3_instruction.json.gz': (147, 336),
    'gpt-4_easytool_retrieve__G3_instruction.json.gz': (147, 315),
}
ERRORS = {
    'unauthorized': 448,
    'not_found': 270,
    'server': 211,
    'timeout': 120,
    'empty': 99,
    'rate_limit': 88,
    'wrong_arguments': 61,
    'bad_request': 39,
    'not_subscribed': 30,
    'unknown_function': 32,
}
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason='no published runs of ToolBench at hand')


def tool_messages(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The calls of a tree, read anew, arguments as the file writes them."""
    for node in nodes:
        if node['role'] == 'tool' and node['message']['name'] != 'Finish':
            yield node['message']
        yield from tool_messages(node.get('next', []))


@pytest.fixture(scope='module')
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """The files in another order than elsewhere, which changes nothing for a file that is preferred."""
    file = tmp_path_factory.mktemp('bank') / 'bank'
    built = write_bank(read_sources(find_sources(sorted(FOLDER.glob('*.gz'), reverse=True))), file)
    assert (built.left_out, built.cut) == (0, 0)
    return Bank(file)


def test_each_call_is_answered_as_it_was_and_once_more_as_the_last_time(bank: Bank) -> None:
    repeated: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for name, expected in CALLS.items():
        environment = Environment(bank, preferred_source=name)
        rows: dict[str, Any] = json.loads(gzip.decompress((FOLDER / name).read_bytes()))
        runs = {run.id: run for run in list(read_runs(FOLDER / name))}
        played = 0
        for task, row in rows.items():
            session = environment.begin(task)
            messages = list(tool_messages(row['answer']['answer_details']))
            last: dict[str, tuple[Any, Any, str]] = {}
            for message, call in zip(messages, runs[task].calls, strict=True):
                observation = session.call(message['name'], message['arguments'])
                assert (observation.source, observation.text) == ('exact', message['response']), (task, message)
                kinds[error_kind(observation.text)] += 1
                key = json.dumps([call.name, call.arguments], sort_keys=True)
                repeated['again'] += key in last
                last[key] = (call.name, call.arguments, call.observation)
            for called, arguments, response in last.values():
                assert session.call(called, arguments).text == response
                repeated['after the last'] += 1
            assert runs[task].final_answer == row['answer']['final_answer']
            played += len(messages)
        assert (len(rows), played) == expected
    assert repeated == {'again': 172, 'after the last': 2916}
    assert kinds == bank.errors() == {'': 1690, **ERRORS} and sum(ERRORS.values()) == 3088 - 1690
