"""Prepares a live server: copies its fixture into the set, checks that its state resets, and finds volatile reads."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.open_bank import open_bank
from opencompass_tooleval.environments.bank import RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.error_texts import LIVE_ERRORS
from opencompass_tooleval.extras.making.grounding import (
    MAX_SERVER_RESOURCES,
    fixture_resources,
    server_resources,
    state_resources,
)
from opencompass_tooleval.extras.making.made_set import FIXTURE_FOLDER
from opencompass_tooleval.extras.making.tool_source import ToolSource, live_tools
from opencompass_tooleval.extras.mcp_servers.fixture import copy_fixture, folder_state, inner_links
from opencompass_tooleval.extras.mcp_servers.live import LiveTools, LiveTrial, only_reads
from opencompass_tooleval.extras.mcp_servers.open_live import open_live, parse_probes
from opencompass_tooleval.extras.mcp_servers.state import (
    CHECK_TASK,
    PAUSE,
    CallProbe,
    Probe,
    State,
    TrialState,
    check_reset,
)

FROZEN_FILE = 'frozen.bank'
_AHEAD = 2


def place_fixture(fixture: Path, folder: Path, has_begun: bool = False) -> str:
    """Copies a fixture into the folder of a set.

    Args:
        fixture: A folder or file.
        folder: The folder of the set.
        has_begun: Whether models have answered already: their answers are of the fixture that is there.

    Returns:
        Its path there, relative to ``folder``.

    Raises:
        ValueError: The set's folder is in the fixture, the fixture is too large, a link leads out of it, or the set was
            begun with another.
        OSError: The fixture is missing or cannot be copied.
    """
    if folder.resolve().is_relative_to(fixture.resolve()):
        raise ValueError(f'the fixture {fixture} holds the folder of the set: give another --out, outside of it')
    inner_links(fixture)
    is_folder, target = fixture.is_dir(), folder / FIXTURE_FOLDER
    state = folder_state(fixture.resolve())  # links in a folder stay links, a linked file is copied
    if target.exists() and folder_state(target) != (state if is_folder else {fixture.name: state['.']}):
        if has_begun:
            raise ValueError(f'{folder} was begun with another fixture: remove it, or give another --out')
        shutil.rmtree(target)
    if not target.exists():
        partial = folder / f'{FIXTURE_FOLDER}.partial'
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        copy_fixture(fixture, partial).folder.rename(target)
        shutil.rmtree(partial, ignore_errors=True)
    return FIXTURE_FOLDER if is_folder else f'{FIXTURE_FOLDER}/{fixture.name}'


def open_live_source(
    folder: Path, live_settings: Mapping[str, Any], probes: Sequence[Mapping[str, Any]], documents: Sequence[str]
) -> ToolSource:
    """Opens a server for a set.

    Args:
        folder: The folder of the set.
        live_settings: As ``open_live`` takes them; ``fixture`` is
            relative to ``folder``.
        probes: What the state is, as :func:`~opencompass_tooleval.extras.mcp_servers.open_live.parse_probes` takes it.
        documents: Texts of the user.

    Raises:
        ServerError: The server cannot be started, fails at a probe, its state does not reset, or a probe answers
            differently when it is called twice; says what differs.
        ValueError: None of its tools is allowed, or a probe is none.
    """
    fixture = live_settings.get('fixture')
    here = {**live_settings, 'fixture': str((folder / fixture).resolve())} if fixture else dict(live_settings)
    live = open_live(**here, ahead=_AHEAD)
    try:
        parsed = parse_probes(probes)
        tools = live_tools(live)
        if not tools:
            raise ValueError(f'{live.name}: it marks none of its tools as reading only; name tools with --allow')
        state = check_reset(live, parsed, may_be_volatile=False).state if parsed else {}
        held, first, reads, volatile = _read_twice(live, parsed)
    except BaseException:
        live.close()
        raise
    settings: dict[str, Any] = {'live': {**live_settings, 'probes': list(probes)}}
    bank = None
    if volatile:
        write_bank(volatile, folder / FROZEN_FILE)
        bank, settings['bank'] = open_bank(str((folder / FROZEN_FILE).resolve())), FROZEN_FILE
    resources = [*held, *state_resources(state | first), *documents]
    if fixture:
        resources = [*fixture_resources(folder / fixture), *resources]
    environment = Environment(bank, errors=LIVE_ERRORS, live=live, state=TrialState(live, parsed) if parsed else None)
    start = state | {str(read): first[str(read)] for read in reads}
    source = ToolSource(tools, environment, settings, resources, (*parsed, *reads), start)
    source.closing.callback(live.close)
    return source


def _read_twice(
    live: LiveTools, probes: Sequence[Probe]
) -> tuple[list[str], State, list[CallProbe], list[RecordedCall]]:
    """Reads the server's resources, and calls each tool that only reads and requires no arguments, in two trials.

    Returns:
        The resources that were the same; what the tools answered; the calls that were answered alike; those that were
        answered differently, with the first answer.
    """
    known = {probe.name for probe in probes if isinstance(probe, CallProbe)}
    reads = [
        CallProbe(tool['name'])
        for tool in live.listed
        if only_reads(tool) and not tool['inputSchema'].get('required') and tool['name'] not in known
    ]
    with live.begin(CHECK_TASK) as one, live.begin(CHECK_TASK) as other:
        held, first = one.resources(MAX_SERVER_RESOURCES), _read(one, reads)
        if not held and not reads:
            return [], {}, [], []
        time.sleep(PAUSE)
        held_again, second = other.resources(MAX_SERVER_RESOURCES), _read(other, reads)
    answered = [read for read in reads if str(read) in first]
    alike = [read for read in answered if first[str(read)] == second.get(str(read))]
    volatile = [RecordedCall(CHECK_TASK, '', one.name, {}, first[str(one)]) for one in answered if one not in alike]
    same = {uri: text for uri, text in held.items() if held_again.get(uri) == text}
    return list(server_resources(same)), first, alike, volatile


def _read(trial: LiveTrial, reads: Sequence[CallProbe]) -> State:
    """Calls tools until the server fails; answers with an error are left out."""
    answers = {str(read): trial.call(read.name, read.arguments) for read in reads if not trial.failed}
    return {name: answer.text for name, answer in answers.items() if not answer.error}
