"""A real log of Inspect 0.3.285: two samples of its mockllm model with a tool, one with errors of the tool."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.traces import inspect_log
from opencompass_tooleval.extras.traces.inspect_log import log_parts
from opencompass_tooleval.extras.traces.reading import read_traces

LOG = Path(__file__).parent / 'data' / 'weather.eval'


def as_json(folder: Path) -> Path:
    """Writes the log in Inspect's other format: the header with the samples."""
    (_, header), *samples = log_parts(LOG)
    file = folder / 'weather.json'
    file.write_text(json.dumps({**header, 'samples': [sample for _, sample in samples]}))
    return file


def test_a_log_in_both_formats(tmp_path: Path) -> None:
    zipped, plain = (read_traces([file]) for file in (LOG, as_json(tmp_path)))
    assert zipped.formats == plain.formats == {'inspect': 2}
    assert not zipped.left_out
    paris, atlantis = zipped.conversations
    assert paris.location == 'weather.eval, samples/paris_epoch_1.json'
    assert [vars(one) | {'location': ''} for one in zipped.conversations] == [
        vars(one) | {'location': ''} for one in plain.conversations
    ]
    assert (paris.system, paris.query) == ('You answer questions about the weather.', 'What is the weather in Paris?')
    assert [(call.name, call.arguments, result) for call, result in paris.steps[0].calls] == [
        ('get_weather', {'city': 'Paris'}, '{"temperature": 14, "sky": "rain"}')
    ]
    assert paris.final_answer == 'It rains in Paris, at 14 degrees.'
    assert (paris.model, paris.scores) == ('mockllm/model', {'includes': 'C'})
    assert paris.usage is not None and (paris.usage.prompt, paris.usage.completion) == (201, 21)
    assert paris.usage.seconds is not None and paris.usage.seconds > 0
    assert paris.tools is not None
    (tool,) = paris.tools
    assert list(tool.parameters['properties']) == ['city', 'unit'] and tool.parameters['required'] == ['city']
    assert paris.errors == {}
    assert atlantis.errors is not None
    assert list(atlantis.errors.values()) == ['tool_error', 'wrong_arguments']
    assert atlantis.steps[0].calls[0][1] == 'there is no such city'


def test_a_log_without_requests_does_not_say_the_tools(tmp_path: Path) -> None:
    log = json.loads(as_json(tmp_path).read_text())
    for sample in log['samples']:
        del sample['events']
    file = tmp_path / 'short.json'
    file.write_text(json.dumps(log))
    assert [one.tools for one in read_traces([file]).conversations] == [None, None]


def test_attachments_stand_for_their_texts() -> None:
    sample = {
        'messages': [{'role': 'user', 'content': 'attachment://a1'}, {'role': 'assistant', 'content': 'yes'}],
        'attachments': {'a1': 'a long text'},
    }
    assert inspect_log.read_sample(sample, {}, 'here').query == 'a long text'


def test_a_sample_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / 'damaged.eval'
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        parts = list(log_parts(LOG))
        archive.writestr('header.json', json.dumps(parts[0][1]))
        archive.writestr('samples/a.json', json.dumps(parts[1][1]))
        archive.writestr('samples/b.json', '{')
        archive.writestr('samples/bomb.json', '0' * 100_000)
        archive.writestr('samples/c.json', '[]')
        archive.writestr('samples/d.json', '[]', zipfile.ZIP_LZMA)
    monkeypatch.setattr(inspect_log, 'MAX_PART', 50_000)
    traces = read_traces([file])
    assert len(traces.conversations) == 1
    assert 'compressed in another way' in traces.left_out.pop()
    assert [line.partition(': ')[0].rpartition('/')[2] for line in traces.left_out] == ['b.json', 'bomb.json', 'c.json']
    assert 'more than 50000 bytes' in traces.left_out[1]
    monkeypatch.setattr(inspect_log, 'MAX_ALL', 60_000)
    with pytest.raises(DataError, match='the log has more than 60000 bytes'):
        read_traces([file])


def test_a_zip_of_something_else_is_named(tmp_path: Path) -> None:
    file = tmp_path / 'other.eval'
    with zipfile.ZipFile(file, 'w') as archive:
        archive.writestr('a.txt', 'a')
    with pytest.raises(DataError, match=r'it has no header\.json'):
        read_traces([file])
    file.write_bytes(LOG.read_bytes()[:4000])
    with pytest.raises(DataError, match='the zip cannot be read'):
        read_traces([file])
    file.write_bytes(LOG.read_bytes().replace(b'\x28\xb5\x2f\xfd', b'\x28\xb5\x2f\xfe'))  # zstd's first bytes
    with pytest.raises(DataError, match='no conversation can be read'):
        read_traces([file])


def test_ids_that_begin_anew_mark_no_good_call_as_failed(tmp_path: Path) -> None:
    """Several providers number the calls of each answer from 1."""

    def turn(city: str, answer: str, **more: Any) -> list[Any]:
        call = {'id': 'call_1', 'type': 'function', 'function': 'get_weather', 'arguments': {'city': city}}
        reply = {'role': 'tool', 'tool_call_id': 'call_1', 'content': answer, **more}
        return [{'role': 'assistant', 'content': '', 'tool_calls': [call]}, reply]

    failed = {'error': {'type': 'timeout', 'message': 'too slow'}}
    messages = [
        {'role': 'user', 'content': 'Paris and Rome?'},
        *turn('Paris', '14'),
        *turn('Rome', '', **failed),
        *turn('Rome', '20'),
        {'role': 'assistant', 'content': '14 and 20 degrees.'},
    ]
    file = tmp_path / 'log.json'
    sample = {'messages': messages, 'model_usage': {'m': {'input_tokens': 90, 'output_tokens': 9}}}
    file.write_text(json.dumps({'version': 2, 'eval': {'model': 'm'}, 'samples': [sample]}))
    (one,) = read_traces([file]).conversations
    calls = [call.id for step in one.steps for call, _ in step.calls]
    assert one.errors == {calls[1]: 'timeout'} and len(set(calls)) == 3
    assert one.usage is not None and one.usage.requests == 4


def test_requests_are_those_of_the_log() -> None:
    paris, atlantis = read_traces([LOG]).conversations
    assert paris.usage is not None and paris.usage.requests == len(paris.steps)
    assert atlantis.usage is not None and atlantis.usage.requests == len(atlantis.steps)
