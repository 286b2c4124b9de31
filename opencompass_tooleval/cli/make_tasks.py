"""``tooleval make``: a benchmark from a user's own tools, made by models and checked by execution."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.cli.options import (
    AllowOption,
    EncoderOption,
    EnvOption,
    FixtureOption,
    JsonOption,
    SourceOption,
    ToolsOption,
)
from opencompass_tooleval.cli.output import STDOUT, counts_line, naming_model_faults, numbers_table, write_outputs
from opencompass_tooleval.core.redaction import is_secret_name
from opencompass_tooleval.making.made_set import DROPPED_FILE, check_no_set, check_set_name
from opencompass_tooleval.making.tool_table import ToolRow, table_lines
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.whole_file import private_folder


def make_tasks(
    source: SourceOption,
    input_: ToolsOption,
    model: Annotated[Path, typer.Option(help='A config; its first model writes queries and solves them.')],
    tasks: Annotated[int, typer.Option(min=1, help='Number of tasks to make.')],
    out: Annotated[Path, typer.Option('--out', '-o', metavar='DIR', help='The folder of the set.')],
    *,
    second: Annotated[Path | None, typer.Option(help='A config of a second model that solves them.')] = None,
    reviewer: Annotated[Path | None, typer.Option(help='A config of the model that reviews solutions.')] = None,
    context: Annotated[list[Path] | None, typer.Option(metavar='FILE', help='Texts to ground queries in.')] = None,
    name: Annotated[str | None, typer.Option(help="Name of the set; by default the folder's.")] = None,
    fixture: FixtureOption = None,
    allow: AllowOption = None,
    leave_out: Annotated[list[str] | None, typer.Option(metavar='TOOL', help='Tools (git_*) not to be used.')] = None,
    env: EnvOption = None,
    probe: Annotated[
        list[str] | None,
        typer.Option(metavar='CALL', help="A call that reads the state: 'TOOL' or 'TOOL {\"a\": 1}'; several."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar='PATTERN', help="Files of the fixture that are not state, such as '.git/*'; several."),
    ] = None,
    bank: Annotated[str | None, typer.Option(metavar='FILE', help='Recorded responses of documented tools.')] = None,
    stateful_tools: Annotated[str | None, typer.Option(help='Functions that answer: teval.')] = None,
    simulator: Annotated[Path | None, typer.Option(help='A config of the model that simulates responses.')] = None,
    kinds: Annotated[
        list[str] | None, typer.Option(metavar='KIND=SHARE', help='Quota of each kind of task; several.')
    ] = None,
    language: Annotated[list[str] | None, typer.Option(help='EN, ZH or both, in equal shares.')] = None,
    trials: Annotated[int, typer.Option(min=1, help='Attempts of each model at each task.')] = 3,
    loop: Annotated[str, typer.Option(help='function_calling or react.')] = 'function_calling',
    seed: Annotated[int, typer.Option(help='Seed of the drafts.')] = 0,
    encoder: EncoderOption = 'offline',
    dry_run: Annotated[bool, typer.Option(help='Only say what would be drawn, and what it would cost.')] = False,
    json_out: JsonOption = None,
) -> int:
    """Makes a set and prints what became of the drafts.

    A finished set is not overwritten. After a kill the same command goes on: at most the requests that
    had no answer yet are sent again.

    Returns:
        0; 1 if requests failed (the same command asks for them again), or if there are fewer tasks than wanted.

    Raises:
        DataError: A config, a document or the documentation cannot be used, or the set is finished.
        ValueError: An option is none, or nothing answers the calls.
        ServerError: The server cannot be started, or its state does not reset.
        FixtureChangedError: The user's fixture is not as before: a server has changed it, not its copy.
    """
    from opencompass_tooleval.embedding.cache import default_cache
    from opencompass_tooleval.embedding.encoder import shared_encoder
    from opencompass_tooleval.embedding.locate import choose_encoder, locate_encoder
    from opencompass_tooleval.environments.fixture import unchanged
    from opencompass_tooleval.instructions.generation import load_model_cfg
    from opencompass_tooleval.making.agreement import LEAST_AGREEING
    from opencompass_tooleval.making.drafts import DEFAULT_KINDS, Drawing, Quotas
    from opencompass_tooleval.making.outputs import write_outputs as write_set_outputs
    from opencompass_tooleval.making.pipeline import JOURNAL_FOLDER, Making, Options, expected_requests

    set_name = check_set_name(name or out.resolve().name)
    check_no_set(out)
    if trials * (1 + (second is not None)) < LEAST_AGREEING:
        raise ValueError('one attempt agrees with no other: give --trials 2 or more, or --second')
    quotas = Quotas(_shares(kinds) or dict(DEFAULT_KINDS), dict.fromkeys(language or ('EN',), 1.0))
    options = Options(set_name, out, tasks, trials, seed, loop, quotas)
    cfgs = {role: load_model_cfg(path) if path else None for role, path in _roles(model, second, reviewer, simulator)}
    similarity = shared_encoder(locate_encoder(choose_encoder(encoder, 'EN')), default_cache())
    console = Screen(stderr=json_out == STDOUT)
    live = {'fixture': fixture, 'allow': allow, 'leave_out': leave_out, 'env': env, 'probe': probe, 'ignore': ignore}
    documented = {'bank': bank, 'stateful_tools': stateful_tools, 'simulator': cfgs['simulator']}
    if dry_run:
        with private_folder('plan') as folder, unchanged(fixture):  # a server lists its tools, on a copy
            planned = _open(source, input_, Path(folder, set_name), live, documented, context or ())
            with planned.closing:
                drawing = Drawing(planned.tools, quotas, seed, similarity)
                drafts = list(drawing.draw(drawing.apportion(tasks)))
        _show_plan(console, drafts, expected_requests(options, 1 + (second is not None)))
        return 0
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(unchanged(fixture))
        opened = _open(source, input_, out, live, documented, context or ())
        stack.enter_context(opened.closing)
        model_cfg = cfgs['model']
        assert model_cfg is not None
        for path, cfg in ((model, model_cfg), (second, cfgs['second'])):
            if cfg and trials > 1 and not cfg.get('temperature') and 'generation_kwargs' not in cfg:
                note = f'NOTE {path} sets no temperature: its {trials} attempts at a task may all be the same'
                console.print(note, soft_wrap=True)
        making = Making(opened, options, model_cfg, cfgs['second'], cfgs['reviewer'], cfgs['simulator'], similarity)
        with naming_model_faults(model, out / JOURNAL_FOLDER):
            made = making.run()
    made = _described(made, source, input_)
    report = _report(made, making)
    if not (making.failed or making.ended) and made.tasks:
        made.write()
        write_set_outputs(made)
        shutil.rmtree(out / JOURNAL_FOLDER, ignore_errors=True)
    elif not making.failed:
        made.write_dropped()
    write_outputs(report, (), json_out, None)
    return _show(console, out, report)


def _roles(*paths: Path | None) -> Sequence[tuple[str, Path | None]]:
    return list(zip(('model', 'second', 'reviewer', 'simulator'), paths, strict=True))


def _shares(pairs: Sequence[str] | None) -> dict[str, float]:
    shares = {}
    for pair in pairs or ():
        kind, sign, share = pair.partition('=')
        try:
            shares[kind] = float(share)
        except ValueError as error:
            raise ValueError(f'{pair!r} is no KIND=SHARE, such as no_tool=0.1') from error
        if not sign or not 0 <= shares[kind] < float('inf'):
            raise ValueError(f'{pair!r} is no KIND=SHARE, such as no_tool=0.1')
    return shares


def _open(
    source: str, input_: str, out: Path, live: Mapping[str, Any], documented: Mapping[str, Any], context: Sequence[Path]
) -> Any:
    from opencompass_tooleval.cli.agents_bank_mcp import read_variables
    from opencompass_tooleval.environments.fixture import on_copies
    from opencompass_tooleval.making.grounding import document_resources
    from opencompass_tooleval.making.live_source import open_live_source, place_fixture
    from opencompass_tooleval.making.pipeline import JOURNAL_FOLDER
    from opencompass_tooleval.making.tool_source import documented_source
    from opencompass_tooleval.tool_docs.sources import MCP, load_docs

    documents = list(document_resources(context))
    if source != MCP:
        given = [option for option, value in live.items() if value]
        if given:
            raise ValueError(f'--{given[0]} is for --source mcp')
        opened = documented_source(load_docs(source, input_), **documented)
        opened.resources = documents
        return opened
    fixture = place_fixture(live['fixture'], out, (out / JOURNAL_FOLDER).exists()) if live['fixture'] else None
    settings = {
        'server': on_copies(input_, live['fixture']),
        'fixture': fixture,
        'allow': live['allow'] or [],
        'leave_out': live['leave_out'] or [],
        'env': _names_of_keys(read_variables(live['env'])),
    }
    probes = [_probe(text) for text in live['probe'] or ()]
    if fixture:
        probes = [{'leave_out': live['ignore'] or []}, *probes]
    return open_live_source(out, settings, probes, documents)


def _names_of_keys(env: dict[str, str]) -> dict[str, str]:
    """Checks that no key goes into the set: of keys it holds the names of variables."""
    for name, value in env.items():
        if is_secret_name(name) and value and not value.startswith('$'):
            raise ValueError(f'the set would hold the value of {name}: set that variable, and give --env {name}')
    return env


def _probe(text: str) -> dict[str, Any]:
    tool, _, arguments = text.strip().partition(' ')
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except ValueError as error:
        raise ValueError(f'the arguments of the probe {text[:200]!r} are no JSON ({error})') from error
    if not isinstance(value, dict):
        raise ValueError(f'the arguments of the probe {text[:200]!r} are no JSON object')
    return {'tool': tool, 'arguments': value}


def _described(made: Any, source: str, input_: str) -> Any:
    """The set with its source as the card names it; arguments of a server may hold keys and are left out."""
    from dataclasses import replace

    from opencompass_tooleval.tool_docs.sources import source_name

    return replace(made, source={'kind': source, 'input': source_name(source, input_), **made.source})


def _report(made: Any, making: Any) -> dict[str, Any]:
    spent = making.spent
    dropped = Counter(f'{one.stage} {one.reason}' for one in made.dropped)
    return {
        'name': made.name,
        'tasks': len(made.tasks),
        'wanted': made.settings['wanted'],
        'kinds': dict(Counter(task.goal.kind for task in made.tasks)),
        'single_path': sum(task.goal.is_single_path for task in made.tasks),
        'dropped': dict(dropped.most_common()),
        'left_out_tools': made.settings['left_out_tools'],
        'masked': made.settings['masked'],
        'tools': [asdict(row) for row in making.tool_rows()],
        'ended': making.ended,
        'failed': making.failed,
        'calls': spent.calls,
        'tokens': spent.tokens,
        'cost': spent.cost,
    }


def _show(console: Screen, out: Path, report: Mapping[str, Any]) -> int:
    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    cost = '' if report['cost'] is None else f', cost {report["cost"]:.4f}'
    say(f'{report["calls"]} requests, {report["tokens"]} tokens{cost}')
    if any(row['failed'] or row['why'] for row in report['tools']):
        for line in table_lines(ToolRow(**row) for row in report['tools']):
            say(line)
    if report['dropped']:
        say(counts_line('dropped', report['dropped']))
    if report['ended']:
        say(
            f'FAILED {report["ended"]}: the run has ended, and no set is written. '
            'The answers of the models are kept: fix the tools, and run the same command again'
        )
        return 1
    for draft, reason in report['failed'].items():
        say(f'FAILED {draft}: {reason}')
    if report['failed']:
        say(f'{len(report["failed"])} drafts got no answer; nothing is written. The same command asks only for them.')
        return 1
    if not report['tasks']:
        say(
            f'FAILED no task was made: {out / DROPPED_FILE} has the reason of each draft. The answers are kept: '
            f'to ask the models again, remove {out}'
        )
        return 1
    say(f'wrote {out}: {report["tasks"]} of {report["wanted"]} tasks, {report["single_path"]} with one possible path')
    say(counts_line('kinds', report['kinds']))
    for part, fields in report['masked'].items():
        say(f'masked in {part}, since the same calls leave other values: {", ".join(fields)}')
    say(f'No person has looked at these tasks. Next: tooleval make check {out}; tooleval make review {out}')
    return int(report['tasks'] < report['wanted'])


def _show_plan(console: Screen, drafts: Sequence[Any], expected: Mapping[str, int]) -> None:
    table = numbers_table('drafts', 'kind', 'number')
    for kind, count in Counter(draft.kind for draft in drafts).items():
        table.add_row(kind, str(count))
    console.print(table)
    console.print(
        f'A first round would send about {expected["query"]} requests for {expected["drafts"]} queries and '
        f'{expected["solution"]} for their solutions.',
        highlight=False,
        soft_wrap=True,
    )
