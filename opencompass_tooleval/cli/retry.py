"""``tooleval retry``: repeats only the requests that got no answer because of an infrastructure failure."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from opencompass_tooleval.cli.options import TrustOption, WorkDirArgument
from opencompass_tooleval.cli.output import trust_first
from opencompass_tooleval.cli.status import failure_lines
from opencompass_tooleval.work_dir.dumped_config import read_dumped
from opencompass_tooleval.work_dir.interrupts import Interrupts, one_line_if_interrupted
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.progress import State, look, pairs_in
from opencompass_tooleval.work_dir.trust import run_trustee
from opencompass_tooleval.work_dir.unanswered import ask_again, find_unanswered, in_config, retry_config
from opencompass_tooleval.work_dir.whole_file import private_folder
from opencompass_tooleval.work_dir.work_dir import WorkDir


def retry_sweep(
    work_dir: WorkDirArgument,
    trust: TrustOption = False,
    dry_run: Annotated[bool, typer.Option(help='Say what would be asked again, and do nothing.')] = False,
) -> int:
    """Reopens the samples without an answer and runs the sweep again.

    A sample that gets no answer again is counted under its reason. ``max_infra_share`` is 1, so such samples do not
    stop the sweep.

    Returns:
        The exit status of the sweep. If every sample has an answer: 0, or 1 if results are missing for another reason.

    Raises:
        DataError: The run does not exist, or a file in it is damaged.
        UntrustedError: Somebody else started the run.
        InUseError: Another sweep is running in the directory.
    """
    work = WorkDir.find(work_dir).absolute()
    unanswered = list(find_unanswered(work))
    console = Screen(soft_wrap=True)
    if not unanswered:
        lines = list(_missing_lines(work))
        for line in lines or ['every sample has an answer']:
            console.print(line)
        return int(bool(lines))
    trustee, config = run_trustee(work.config()), retry_config(work.config())
    unanswered = in_config(unanswered, config.pairs)
    for entry in unanswered:
        what = (
            entry.damage or 'not finished' if entry.samples is None else f'{entry.samples} samples in {entry.file.name}'
        )
        left = '' if (entry.model, entry.dataset) in config.pairs else '; left alone: not in the config of the last run'
        console.print(f'{entry.model} x {entry.dataset}: {what}{left}')
    command = [sys.executable, '-m', 'opencompass.cli.main', 'CONFIG', '-w', str(work.path.parent)]
    command += ['-r', work.path.name]
    if dry_run:
        shown = f'{shlex.join(command)} (CONFIG: as in the last run, and max_infra_share=1)'
        console.print(f'would ask them again with: {shown}')
        console.print(f'it would use:{trustee.lines}')
        return 0
    trust_first(trustee, trust)
    trustee.check()
    go_on = one_line_if_interrupted(shlex.join(['tooleval', 'retry', str(work.path)]))
    with go_on, Interrupts() as interrupts, private_folder('retry') as folder:
        file = Path(folder, 'retry.py')
        config.write(file)
        ask_again(work, [entry for entry in unanswered if (entry.model, entry.dataset) in config.pairs])
        return run_program([str(file) if word == 'CONFIG' else word for word in command], interrupts)


def _missing_lines(work: WorkDir) -> Iterator[str]:
    """Yields lines on missing results that need no new answers: failed evaluations, tasks that did not start."""
    cells = [look(work, *pair) for pair in pairs_in(read_dumped(work.config()), work.config())]
    missing = [cell for cell in cells if cell.state is not State.DONE]
    if missing:
        yield f'no answer is missing that could be asked for again; {len(missing)} of {len(cells)} results are missing:'
    for cell in missing:
        if cell.state is not State.FAILED:
            yield f'{cell.state.value:<8} {cell.model} x {cell.dataset}'
    yield from failure_lines([cell for cell in missing if cell.state is State.FAILED], work.path)


def run_program(command: Sequence[str], interrupts: Interrupts) -> int:
    """Runs a program and returns its exit status; the program ends when this process ends.

    Ctrl-C in the terminal does not reach the program: this process ends it, and prints a line.
    """
    # Ignored, not blocked: multiprocessing's resource tracker unblocks SIGINT in the process that starts it.
    with subprocess.Popen(command, preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN)) as process:
        try:
            while process.poll() is None:
                interrupts.sleep(0.1)
        finally:
            process.terminate()  # does nothing to one that has ended
    return process.returncode
