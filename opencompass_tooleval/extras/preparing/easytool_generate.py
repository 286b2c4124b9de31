"""``tooleval easytool generate``: makes tool instructions from documentation, with a model or by rule."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencompass_tooleval.cli.options import InputOption, JsonOption, SourceOption
from opencompass_tooleval.cli.output import STDOUT, check_outputs, naming_model_faults, write_outputs
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.extras.preparing.prompts import VARIANTS
from opencompass_tooleval.instructions import VERSION
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.whole_file import write_whole

if TYPE_CHECKING:
    from opencompass_tooleval.extras.preparing.generation import Generation

TEMPLATE = 'template'
"""The value of ``--model`` that selects the rules instead of a model config."""


def easytool_generate(
    source: SourceOption,
    input_: InputOption,
    model: Annotated[
        str, typer.Option(help="A config with models, of which the first is used; or 'template', to use rules.")
    ],
    out: Annotated[
        Path, typer.Option('--out', '-o', help='File of instructions; unfinished work is stored beside it.')
    ],
    *,
    prompt: Annotated[
        str, typer.Option(help="The paper's prompt (Table 2), or 1, 2 or 3 of its Appendix C.")
    ] = VARIANTS[0],
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Requests per batch; default: the config's, or 64.")
    ] = None,
    max_out_len: Annotated[
        int | None, typer.Option(min=1, help="Maximum tokens per answer; default: the config's, or 1024.")
    ] = None,
    shape: Annotated[
        str, typer.Option(help='Format of the file: toolbench, or for tools with one function restbench or funcqa.')
    ] = 'toolbench',
    json_out: JsonOption = None,
) -> int:
    """Makes instructions, writes them, and prints which tools were made and which are missing.

    A finished file is not overwritten.

    Returns:
        0; 1 if infrastructure failures left requests without an answer: their tools are not in ``out``, and the same
        command sends only these requests again. Also 1 if no reply was usable; then nothing is written.

    Raises:
        DataError: The documentation or the config cannot be used, the model's library raised an error, or ``out``
            is already finished.
        ValueError: The source, prompt or shape does not exist, or the shape cannot store these tools.
    """
    if prompt not in VARIANTS:
        raise ValueError(f'unknown prompt {prompt!r}; choose one of {", ".join(VARIANTS)}')
    out.parent.mkdir(parents=True, exist_ok=True)
    check_outputs(json_out, out)
    docs = load_docs(source, input_)
    ruled = [template_instruction(doc) for doc in docs]
    dump_instructions(ruled, shape)  # fails now, not after hours, if the shape cannot store them
    console = Screen(stderr=json_out == STDOUT)
    if model == TEMPLATE:
        _spare(out)
        _write(out, ruled, shape)
        report = {
            **_report(docs, ruled, model, ''),
            'calls': 0,
            'from_earlier_run': 0,
            'tokens': 0,
            'listed': [],
            'failed': {},
        }
        return _finish(console, out, report, json_out)
    return _by_model(console, docs, Path(model), out, prompt, batch_size, max_out_len, shape, json_out)


def _by_model(
    console: Screen,
    docs: Sequence[ToolDoc],
    config: Path,
    out: Path,
    prompt: str,
    batch_size: int | None,
    max_out_len: int | None,
    shape: str,
    json_out: str | None,
) -> int:
    from opencompass_tooleval.extras.preparing.generation import generate, load_model_cfg, store_of

    given = {'batch_size': batch_size, 'max_out_len': max_out_len}
    cfg = {**load_model_cfg(config), **{name: value for name, value in given.items() if value is not None}}
    store = store_of(out, cfg)
    if not store.files():
        _spare(out)
    with naming_model_faults(config, store.folder):
        generation = generate(docs, cfg, store, prompt)
    made = [tool.instruction for tool in generation.generated]
    report = {**_report(docs, made, model_name(cfg), prompt), **_counts(generation)}
    usable = report['described'] + report['examples']
    if made and usable:
        _write(out, made, shape)
    if not generation.failed:
        shutil.rmtree(store.folder, ignore_errors=True)
    return _finish(console, out, report, json_out, nothing_usable=bool(made) and not usable)


def _spare(out: Path) -> None:
    if out.exists():
        raise DataError(out, 'the file already exists and is finished', fix='choose another --out, or remove the file')


def _write(out: Path, instructions: Sequence[ToolInstruction], shape: str) -> None:
    """Writes the file atomically."""
    write_whole(out, dump_instructions(instructions, shape))


def _report(docs: Sequence[ToolDoc], made: Sequence[ToolInstruction], model: str, prompt: str) -> dict[str, Any]:
    functions = [function for instruction in made for function in instruction.functions]
    return {
        'model': model,
        'prompt': prompt,
        'version': VERSION,
        'documented': len(docs),
        'tools': len(made),
        'functions': len(functions),
        'examples': sum(function.example is not None for function in functions),
        'described': 0,
    }


def _counts(generation: Generation) -> dict[str, Any]:
    listed = [
        {'tool': row.tool, 'function': row.function, 'reason': row.fault.code, 'said': row.fault.message}
        for tool in generation.generated
        for row in tool.listed
    ]
    return {
        'calls': generation.calls,
        'from_earlier_run': generation.from_earlier_run,
        'tokens': generation.tokens,
        'split': generation.split,
        'described': len(generation.generated) - sum(not row['function'] for row in listed),
        'listed': listed,
        'failed': generation.failed,
    }


def _finish(
    console: Screen, out: Path, report: dict[str, Any], json_out: str | None, nothing_usable: bool = False
) -> int:
    """Prints the report, and returns the exit status."""

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    for row in report['listed']:
        where = f'{row["tool"]}: {row["function"]}: no example' if row['function'] else f'{row["tool"]}: description'
        taken = '' if row['function'] else ' comes from the documentation'
        say(f'LISTED {where}{taken} ({row["reason"]}: {row["said"]})')
    for tool, reason in report['failed'].items():
        say(f'FAILED {tool}: {reason}')
    asked = f'{report["calls"]} calls, {report["tokens"]} tokens'
    reused = f', {report["from_earlier_run"]} answers from an earlier run' if report['from_earlier_run'] else ''
    if nothing_usable:
        say(f'FAILED no reply of {report["model"]} could be used, so nothing is written: try another model')
    elif report['tools']:
        say(f'wrote {out}: {report["tools"]} of {report["documented"]} tools, by {report["model"]}')
        if report['model'] != TEMPLATE:
            documented = report['tools'] - report['described']
            say(f'{report["described"]} descriptions by the model, {documented} as documented')
    say(f'{report["functions"]} functions, {report["examples"]} with an example; {asked}{reused}')
    write_outputs(report, (), json_out, None)
    if report['failed']:
        say(f'{len(report["failed"])} tools got no answer and are not in the file; the same command requests only them')
        return 1
    return int(nothing_usable)
