"""``tooleval tasks``: creates a file of tasks, adds tasks to it, and checks them."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencompass_tooleval.cli.options import TrustOption
from opencompass_tooleval.cli.output import numbers_table, trust_first
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.environments.live_source import SERVER_ERRORS, TOOL_ERROR, ServerError
from opencompass_tooleval.extras.mcp_servers.commands import EnvOption, read_calls, read_variables, serve_live
from opencompass_tooleval.extras.tasks.gold import gold_lines
from opencompass_tooleval.extras.tasks.gold_file import read_golds
from opencompass_tooleval.extras.tasks.task_file import ENDINGS, NO_COPY, TaskFile, load_tasks
from opencompass_tooleval.extras.tasks.typed_result import DATE, NUMBER, SET, TEXT, read_result
from opencompass_tooleval.findings.finding import found
from opencompass_tooleval.work_dir.printing import Screen, say
from opencompass_tooleval.work_dir.whole_file import write_whole

_PLAIN = re.compile(r'[A-Za-z0-9_/](?:[\w /.@%+-]*[\w/.@%+-])?')
_MAX_TEXT, _MAX_ITEMS = 120, 200


def words(value: Any) -> Any:
    """Converts all scalars of a value to texts."""
    if isinstance(value, dict):
        return {key: words(one) for key, one in value.items()}
    if isinstance(value, list):
        return [words(one) for one in value]
    return 'null' if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def guess_result(text: str, texts: int = 1) -> tuple[str, str]:
    """Returns type and YAML value of a tool's answer that is a single value or a list; otherwise ``('', '')``.

    Args:
        text: The answer.
        texts: Number of texts in it, each a line, if a function returned a list.
    """
    lines = text.splitlines()
    if 1 < texts == len(lines) <= _MAX_ITEMS and all(0 < len(line.strip()) <= _MAX_TEXT for line in lines):
        return SET, flow(lines)
    read = parse_literal(text)
    value = read.value if read.ok else text
    while isinstance(value, dict | list) and len(value) == 1:
        (value,) = value.values() if isinstance(value, dict) else value
    if isinstance(value, list) and value and all(isinstance(one, dict) and len(one) == 1 for one in value):
        value = [next(iter(one.values())) for one in value]
    if isinstance(value, list) and value and all(isinstance(one, str | int | float) for one in value):
        return SET, flow([str(one) for one in value])
    shown = '' if isinstance(value, dict | list) else str(value).strip()
    if not shown or len(shown) > _MAX_TEXT or '\n' in shown:
        return '', ''
    form = next((form for form in (NUMBER, DATE) if read_result(form, shown) is not None), TEXT)
    return form, flow(shown)


def task_lines(
    name: str,
    request: str,
    calls: Sequence[tuple[str, Any]],
    result: tuple[str, str] = ('', ''),
    last: str = '',
) -> list[str]:
    """Returns the lines of a task.

    Args:
        name: Id of the task.
        request: The request.
        calls: The calls of the solution, from :func:`written_call`.
        result: Type and YAML value of the result; ``''`` without one.
        last: The answer to the last call, written as a comment if there is no result.
    """
    form, value = result
    lines = [f'  - id: {flow(name)}', f'    request: {flow(request)}']
    if form:
        lines.append(
            f'    result: {{type: {form}, value: {value}}}  # as the last call answered: accept, edit or remove it'
        )
    elif last:
        lines.append(f'    # the last call answered: {json.dumps(last[:_MAX_TEXT], ensure_ascii=False)}')
    if calls:
        lines += [
            '    solution:',
            *(f'      - {flow(name)}' + (f': {flow(given)}' if given else '') for name, given in calls),
        ]
    return lines


def written_call(name: str, arguments: Mapping[str, Any], reads_back: Callable[[str, Any], Any]) -> tuple[str, Any]:
    """Returns a call as written in a solution: scalars as texts if they can be read back, otherwise JSON text.

    Args:
        name: The tool.
        arguments: JSON values.
        reads_back: Converts arguments whose scalars are texts to typed arguments.
    """
    texts = words(arguments)
    is_same = reads_back(name, texts) == arguments
    return name, texts if is_same else json.dumps(arguments, ensure_ascii=False)


def flow(value: Any) -> str:
    """Writes texts, lists and objects of texts as YAML on one line, so that each scalar is read back unchanged."""
    if isinstance(value, Mapping):
        return '{' + ', '.join(f'{flow(str(key))}: {flow(one)}' for key, one in value.items()) + '}'
    if isinstance(value, list | tuple):
        return '[' + ', '.join(map(flow, value)) + ']'
    text = str(value)
    return text if len(text) <= _MAX_TEXT and _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


if TYPE_CHECKING:
    from opencompass_tooleval.extras.tasks.check import Checked

FileArgument = Annotated[Path, typer.Argument(metavar='FILE', help='A file of tasks, such as tasks.yaml.')]

_THREADS = 4


def init_tasks(
    server: Annotated[
        str | None,
        typer.Option(metavar='COMMAND', help='The command of an MCP server, relative to the folder of --out.'),
    ] = None,
    url: Annotated[str | None, typer.Option(metavar='URL', help='An MCP server that runs already.')] = None,
    module: Annotated[
        str | None, typer.Option(metavar='FILE', help='A file of Python functions, as the server.')
    ] = None,
    fixture: Annotated[
        str | None, typer.Option(metavar='PATH', help='What the server works on, in the folder of --out; it is copied.')
    ] = None,
    reads: Annotated[
        list[str] | None,
        typer.Option(
            metavar='TOOL', help='Tools (find_*) that change nothing, if the server does not say so; may be repeated.'
        ),
    ] = None,
    covers: Annotated[
        list[str] | None,
        typer.Option(
            metavar='PATTERN', help='Files (*.py) that the server executes, if its folder is large; may be repeated.'
        ),
    ] = None,
    env: EnvOption = None,
    out: Annotated[Path, typer.Option('--out', '-o', metavar='FILE', help='Where it is written.')] = Path('tasks.yaml'),
) -> None:
    """Writes a file of tasks to start from, with the tools of the server.

    Raises:
        ValueError: The file exists, or the options do not give exactly one server.
        ServerError: The server cannot be started.
    """
    from opencompass_tooleval.extras.mcp_servers.live import only_reads
    from opencompass_tooleval.extras.tasks.differences import changes
    from opencompass_tooleval.extras.tasks.opened import FolderState, open_tasks

    if out.exists():
        raise ValueError(f'{out} exists, and is not written over; name another file with --out')
    named: dict[str, Any] = {'server': server, 'url': url, 'module': module, 'env': read_variables(env)}
    named |= {'fixture': fixture, 'covers': covers}
    head = [f'{name}: {flow(value)}' for name, value in named.items() if value]
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, '\n'.join([*head, 'tasks:', '']))
    try:
        load_tasks(out).trustee.trust()
        with open_tasks(out) as opened:
            tools = opened.live.listed
            differ: Mapping[str, str] = {}
            if opened.state:
                differ = changes(opened.state.start, FolderState(opened.live).start)
    except BaseException:
        out.unlink()
        raise
    others = [tool['name'] for tool in tools if not only_reads(tool)]
    known = [tool['name'] for tool in tools if only_reads(tool)]
    lines = [
        *head,
        f'reads: {flow(reads or [])}  # tools that change nothing, of {", ".join(others)}' if others else '',
        f'# the server says that these change nothing: {", ".join(known)}' if known else '',
        f'ignore: {flow(list(differ))}  # another one at each start' if differ else '',
        'tasks:',
    ]
    write_whole(out, '\n'.join([*filter(None, lines), '']))
    load_tasks(out).trustee.trust()
    say(f'{out}: {len(tools)} tools. Add a task with: tooleval tasks add {out} --request TEXT --calls CALLS.json')
    if not fixture:
        say(f'{NO_COPY}: what models call is real')


def add_task(
    file: FileArgument,
    request: Annotated[str, typer.Option(metavar='TEXT', help='What the user asks.')],
    *,
    calls: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE',
            help='Calls that carry it out, as JSON lines {"name", "arguments"}. Without it the tools are served over '
            'standard input and output, on a copy, and what any MCP client calls is taken.',
        ),
    ] = None,
    task_id: Annotated[str | None, typer.Option('--id', metavar='NAME', help='By default from the request.')] = None,
    trust: TrustOption = False,
) -> None:
    """Makes calls on a copy, adds a task with them as its solution, and their result, and checks it.

    Raises:
        DataError: A file is damaged.
        ValueError: A task has this id already.
        UntrustedError: This user has not trusted the file.
        ServerError: The server cannot be started, or a call fails.
    """
    from opencompass_tooleval.extras.tasks.check import check_opened
    from opencompass_tooleval.extras.tasks.opened import open_tasks

    tasks = load_tasks(file)
    trust_first(tasks.trustee, trust)
    name = task_id or _id_of(request, {task.id for task in tasks.tasks})
    if name in {task.id for task in tasks.tasks}:
        raise ValueError(f'{file} has a task {name}; give another --id')
    planned = [(tool, arguments) for _, tool, arguments in read_calls(calls)] if calls else None
    lines = _made(tasks, name, request, planned)
    before = file.read_text(encoding='utf-8')
    write_whole(file, '\n'.join([before.rstrip('\n'), *lines, '']))
    try:
        added = load_tasks(file)
        added.trustee.trust()
    except DataError:
        write_whole(file, before)
        raise
    is_server = planned is None  # then standard output belongs to the client
    say('\n'.join(lines), err=is_server)
    with open_tasks(added, most=_THREADS) as opened:
        checked = check_opened(opened, name)
    for gold in read_golds(added).entries.get(name, {'golds': ()})['golds']:
        compared = ''.join(f'\n  {line}' for line in gold_lines(gold))
        say(f'compared at the end, and nothing else may differ:{compared}', err=is_server)
    _print_findings(checked, is_server)
    say(f'added to {file}: read the new lines, and correct them where needed', err=True)


def _id_of(request: str, taken: set[str]) -> str:
    words = re.findall(r'[a-z0-9]+', request.lower())[:4]
    base = '-'.join(words) or 'task'
    return next(
        name
        for number in range(1, len(taken) + 3)
        if (name := base if number == 1 else f'{base}-{number}') not in taken
    )


def _made(tasks: TaskFile, name: str, request: str, planned: list[tuple[str, dict[str, Any]]] | None) -> list[str]:
    """Makes the calls, or serves the tools to a client that makes them; returns the lines of the task."""
    from opencompass_tooleval.extras.mcp_servers.connection import ToolAnswer
    from opencompass_tooleval.extras.tasks.opened import open_tasks, typed_call

    made, last = planned or [], ToolAnswer('')
    with open_tasks(tasks) as opened, opened.live.begin(name) as trial:
        if planned is None:
            made = serve_live(opened.live, trial)
        for tool, arguments in planned or ():
            if not opened.state and tool not in opened.reads:
                say(f'{tool} is not called: {NO_COPY}', err=True)
                continue
            last = trial.call(tool, arguments)
            if last.error in SERVER_ERRORS or last.error == TOOL_ERROR:
                raise ServerError(f'the call of {tool} fails: {last.text}')
        tools = opened.live.tools
        solution = [
            written_call(tool, arguments, lambda tool, words: typed_call(tool, words, tools).arguments)
            for tool, arguments in made
        ]
        is_reading = bool(made) and made[-1][0] in opened.reads
    result = guess_result(last.text, last.texts) if is_reading else ('', '')
    return task_lines(name, request, solution, result, last.text)


def check_tasks(file: FileArgument, trust: TrustOption = False) -> int:
    """Checks a file of tasks without a model; returns 1 if it has a fault, otherwise 0.

    Raises:
        DataError: The file is damaged, or names something that its server does not have.
        UntrustedError: This user has not trusted the file.
        ServerError: The server cannot be started.
    """
    tasks = load_tasks(file)
    trust_first(tasks.trustee, trust)
    from opencompass_tooleval.extras.tasks.check import check_opened
    from opencompass_tooleval.extras.tasks.opened import open_tasks

    with open_tasks(tasks, most=_THREADS) as opened:
        checked = check_opened(opened)
    _print_findings(checked)
    _print_tools(checked)
    for agent, solved in checked.agents.items():
        say(f'an agent that {agent}: solved {solved:.2f}')
    say(f'{len(tasks.tasks)} tasks, {len(checked.faults)} faults')
    return int(bool(checked.faults))


def _print_findings(checked: Checked, err: bool = False) -> None:
    for kind, texts in (('extra:task_fault', checked.faults), ('extra:task_note', checked.notes)):
        for text in texts:
            say(found(kind, '', text).line, err=err)


def _print_tools(checked: Checked) -> None:
    table = numbers_table('tools in solutions', 'tool', 'needed', 'called', 'failed', plain=True)
    for name, (needed, called, failed, _) in checked.tools.items():
        table.add_row(name, str(needed), str(called), str(failed))
    Screen().print(table)
    for name, (_, _, _, why) in checked.tools.items():
        if why:
            say(f'{name} failed: {why}')


# --- tooleval run -----------------------------------------------------------------------------------------------------


def with_tasks(run: Callable[..., int]) -> Callable[..., int]:
    """Adds ``--instructions`` to ``tooleval run``, and extends ``--trust`` to files of tasks."""

    @functools.wraps(run)
    def run_benchmarks(benchmarks: list[str] | None, instructions: Path | None, trust: bool, **options: Any) -> int:
        files = [name for name in benchmarks or () if name.endswith(ENDINGS)]
        if not files and (instructions or (trust and not options['resume'])):
            raise ValueError('--instructions is for files of tasks, and --trust for these and for --resume')
        for name in files:
            trust_first(load_tasks(name).trustee, trust)
        paired = [f'{name}{_WITH}{instructions}' for name in files] if instructions else []
        return run(benchmarks=[*(benchmarks or ()), *paired], trust=trust, **options)

    signature = inspect.signature(run, eval_str=True)
    option = typer.Option(metavar='FILE', help='Run files of tasks also with these EasyTool instructions, for compare.')
    kind, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[Path | None, option]
    added = inspect.Parameter('instructions', kind, default=None, annotation=annotation)
    parameters = [one.replace(kind=kind) for one in signature.parameters.values()]
    run_benchmarks.__signature__ = signature.replace(parameters=[*parameters, added])  # type: ignore[attr-defined]
    return run_benchmarks


_WITH = '\0'  # occurs in no path


def datasets_of(name: str) -> list[dict[str, Any]] | None:
    """Returns the data sets of a file of tasks, for ``tooleval run``; None for other names.

    Args:
        name: The file; for the variant with instructions, both files with :data:`_WITH` between them.

    Raises:
        DataError: The file is missing or damaged.
    """
    written, _, instructions = name.partition(_WITH)
    if not written.endswith(ENDINGS):
        return None
    file = load_tasks(written)
    path, here = str(file.path.resolve()), 'opencompass_tooleval'
    dialogues = {'type': f'{here}.extras.tasks.adapter.TaskDialogues', 'path': path, 'loop': 'function_calling'}
    return [
        {
            'abbr': f'tooleval-tasks_{file.name}{"-easytool" if instructions else ""}',
            'type': f'{here}.extras.tasks.adapter.ToolEvalTasksDataset',
            'path': path,
            **({'instructions': os.path.abspath(instructions)} if instructions else {}),
            'n': 1,
            'k': 1,
            'reader_cfg': {'input_columns': ['messages'], 'output_column': 'record'},
            'infer_cfg': {
                'prompt_template': {'type': f'{here}.models.ToolEvalConversationTemplate', 'template': '{messages}'},
                'retriever': {'type': 'opencompass.openicl.icl_retriever.ZeroRetriever'},
                'inferencer': {
                    'type': f'{here}.inferencers.ToolEvalDialogueGenInferencer',
                    'published_max_out_len': 4096,
                    'dialogues': dialogues,
                },
            },
            'eval_cfg': {'evaluator': {'type': f'{here}.extras.tasks.adapter.ToolEvalTasksEvaluator', 'path': path}},
        }
    ]
