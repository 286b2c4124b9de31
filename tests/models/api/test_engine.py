"""Engines are started, waited for and stopped, for any order of ends: real processes, a small engine."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from opencompass_tooleval.models.api.engine import Engine, EngineError, visible_gpus
from tests.engines import command_lines, none_left, processes, scripted_engine, until


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    with none_left(tmp_path):
        yield


@pytest.fixture
def never() -> threading.Event:
    return threading.Event()


def engine_of(folder: Path, *arguments: str, **more: object) -> Engine:
    return Engine(model='some/model', **scripted_engine(folder, *arguments, **more))


def test_it_is_started_asked_taken_down_and_started_again(tmp_path: Path, never: threading.Event) -> None:
    engine = engine_of(tmp_path)
    assert not engine.is_started and not processes(tmp_path)
    log = tmp_path / 'logs' / 'engine.log'
    engine.start(log, never)
    engine.check()
    assert engine.is_started and not engine.is_lost()
    headers = {'Authorization': f'Bearer {engine.key}'}
    question = {'messages': []}
    assert httpx.post(f'{engine.url}/chat/completions', json=question, headers=headers).status_code == 200
    assert httpx.post(f'{engine.url}/chat/completions', json=question).status_code == 401
    running = processes(tmp_path)
    assert len(running) == 2  # the engine, and the helper in a session of its own
    command = next(words for words in running.values() if 'engine_script' in words)
    assert f'--port {engine.port} ' in command
    assert len({os.getsid(process) for process in (os.getpid(), *running)}) == 3
    assert not any(engine.key.encode() in words for words in command_lines())
    engine.stop()
    assert not processes(tmp_path) and not engine.is_started
    said = log.read_text()
    assert f'--port {engine.port}' in said and 'loading the weights' in said and engine.key not in said
    engine.start(log, never)
    engine.stop()
    assert log.read_text().count('loading the weights') == 2


def test_a_crash_while_it_loads_ends_the_waiting_at_once(tmp_path: Path, never: threading.Event) -> None:
    engine = engine_of(tmp_path, '--fault', 'crash', startup=1e6)
    with pytest.raises(EngineError) as caught:
        engine.start(tmp_path / 'log', never)
    first, *lines = str(caught.value).splitlines()
    assert first.startswith('ended with exit status 1 before it was ready: RuntimeError: no such weights (log: ')
    assert lines[0].startswith('  | loading the weights') and lines[-1] == '  | RuntimeError: no such weights'
    assert not processes(tmp_path)
    engine = Engine(['no-such-engine', '{port}'], 'm')
    with pytest.raises(EngineError, match=r'exit status 127 before it was ready: no-such-engine: No such file'):
        engine.start(tmp_path / 'log', never)


def test_one_that_is_never_healthy(tmp_path: Path, never: threading.Event) -> None:
    engine = engine_of(tmp_path, '--fault', 'loading', startup=1)
    message = r'not healthy within 1 s \(startup; GET /health on port \d+: no connection to '
    with pytest.raises(EngineError, match=message):
        engine.start(tmp_path / 'log', never)
    assert not processes(tmp_path)


def test_a_port_that_was_taken_meanwhile(
    tmp_path: Path, never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody binds it after it was chosen, and answers; the engine gets another one."""
    monkeypatch.setattr('opencompass_tooleval.models.api.engine._SECONDS_PER_LOOK', 0.5)
    engine = engine_of(tmp_path, '--fault', 'taken')
    taken: list[socket.socket] = []

    def take() -> None:
        until((tmp_path / 'port').exists)
        taken.append(socket.create_server(('127.0.0.1', int((tmp_path / 'port').read_text()))))
        (tmp_path / 'go').touch()

    taking = threading.Thread(target=take)
    taking.start()
    engine.start(tmp_path / 'log', never)
    taking.join()
    assert engine.port != taken[0].getsockname()[1]
    assert (tmp_path / 'log').read_text().count('loading the weights') == 2
    assert 'Address already in use' in (tmp_path / 'log').read_text()
    assert httpx.get(f'{engine.url}/models').status_code == 200
    engine.stop()
    taken[0].close()


def test_one_that_does_not_hear_the_word_is_killed(tmp_path: Path, never: threading.Event) -> None:
    engine = engine_of(tmp_path, '--fault', 'deaf', grace=0.5)
    engine.start(tmp_path / 'log', never)
    engine.stop()
    assert not processes(tmp_path)


def test_the_death_of_its_guard_is_its_own(tmp_path: Path, never: threading.Event) -> None:
    engine = engine_of(tmp_path)
    engine.start(tmp_path / 'log', never)
    (process,) = [number for number, words in processes(tmp_path).items() if 'engine_script' in words]
    guard = int(Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    until(engine.is_lost)
    until(lambda: process not in processes(tmp_path))
    engine.stop()


def test_a_fork_does_not_take_it_down(tmp_path: Path, never: threading.Event) -> None:
    engine = engine_of(tmp_path)
    engine.start(tmp_path / 'log', never)
    child = os.fork()
    if not child:
        engine.stop()
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.2)
    assert len(processes(tmp_path)) == 2 and not engine.is_lost()
    engine.stop()


def test_what_is_filled_in(tmp_path: Path, never: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '4,7')
    monkeypatch.setenv('OURS', 'set')
    show = 'import os, sys; print(sys.argv[1:], os.environ["PORT"], "OURS" in os.environ); sys.exit(3)'
    words = ['{python}', '-c', show, '{model}', '{host}', '{gpus}', '{"thinking": {}}', '{other}']
    engine = Engine(words, '/models/a b', env={'PORT': '{port}', 'OURS': None})
    with pytest.raises(EngineError, match='exit status 3'):
        engine.start(tmp_path / 'log', never)
    filled = ['/models/a b', '127.0.0.1', '2', '{"thinking": {}}', '{other}']
    assert (tmp_path / 'log').read_text().splitlines()[-1] == f'{filled} {engine.port} False'
    for visible, count in (('0', 1), ('0,3,5', 3), ('', 1), ('GPU-1f,GPU-2e', 2)):
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', visible)
        assert visible_gpus() == count
    with pytest.raises(ValueError, match='command is a list of words'):
        Engine('vllm serve --port {port}', 'm')
