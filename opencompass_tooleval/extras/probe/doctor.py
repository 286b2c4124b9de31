"""Checks this machine, and names the fix for each fault; prints findings."""

from __future__ import annotations

import importlib
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from opencompass_tooleval import plugin
from opencompass_tooleval.catalogue.benchmark import Benchmark, all_benchmarks
from opencompass_tooleval.cli.listing import FilesOnDisk, read_files, where_searched
from opencompass_tooleval.cli.output import STDOUT, check_outputs, write_outputs
from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.jsonable import clean_text
from opencompass_tooleval.embedding.locate import (
    ENV,
    OFFICIAL,
    OFFLINE,
    EncoderFiles,
    EncoderMissingError,
    choose_encoder,
    locate_encoder,
)
from opencompass_tooleval.findings.finding import Finding, fine, found
from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError
from opencompass_tooleval.work_dir.data_files import read_plain
from opencompass_tooleval.work_dir.printing import Screen, say

_COLUMN = len('unknown ')
INSTALL = "pip install 'opencompass-tooleval[offline]'"
OLD_SETUPTOOLS = "pip install 'setuptools<81'"
_ENGLISH = 'it is an English encoder, and says little of Chinese data'


@dataclass(frozen=True)
class Pin:
    """A dependency that OpenCompass leaves open, and the releases that work.

    Attributes:
        package: Its name.
        works: The range, such as ``>=1.26,<2``; the same as in setup.py.
        too_old: The fault of releases below it.
        too_new: The fault of releases above it.
    """

    package: str
    works: str
    too_old: str
    too_new: str

    def fault(self, version: str) -> str:
        """Returns the fault of ``version``; ``''`` if it works."""
        if SpecifierSet(self.works).contains(version, prereleases=True):
            return ''
        floor = next(part.version for part in SpecifierSet(self.works) if part.operator == '>=')
        return self.too_old if Version(version) < Version(floor) else self.too_new


PINS = (
    Pin('opencompass', '>=0.5.2,<0.6', 'before 0.5.2 is not tested', 'after 0.5 is not tested'),
    Pin('numpy', '>=1.26,<2', 'before 1.26 is not tested', 'OpenCompass needs NumPy 1'),
    Pin('pyarrow', '>=17,<21', 'before 17 is not tested', 'pyarrow 26 needs NumPy 2, which OpenCompass does not take'),
    Pin('datasets', '>=3,<4', 'before 3 is not tested', 'OpenCompass needs datasets 3'),
    Pin('transformers', '>=4.51,<6', 'before 4.51 is not tested', 'after 5 is not tested'),
    Pin('sentence-transformers', '>=4.1', 'before 4.1 is not tested', ''),
    Pin('opencv-python-headless', '>=4.8,<4.12', 'before 4.8 is not tested', 'opencv 4.12 needs NumPy 2'),
    Pin('mmengine-lite', '>=0.10', 'OpenCompass needs 0.10 or newer', ''),
)


def check_versions(version_of: Callable[[str], str] = metadata.version) -> Iterator[Finding]:
    """Compares installed versions with the combinations known to work.

    Args:
        version_of: Package -> installed version; raises :class:`importlib.metadata.PackageNotFoundError`.
    """
    for pin in PINS:
        try:
            version = version_of(pin.package)
        except metadata.PackageNotFoundError:
            yield found('machine:package', pin.package, f'not installed; fix it with: {INSTALL}')
            continue
        if fault := pin.fault(version):
            fix = f"pip install '{pin.package}{pin.works}'"
            yield found('machine:package', pin.package, f'{version}: {fault}; fix it with: {fix}')
        else:
            yield fine('machine:package', pin.package, version)


def check_registry() -> Iterator[Finding]:
    """Imports OpenCompass and this package's classes, and checks that the classes are registered."""
    try:
        from opencompass_tooleval.tasks.read_config import registered_objects

        for module in plugin.MODULES:
            plugin.load(module)
        held = registered_objects()
    except Exception as error:  # whatever breaks the import is the finding
        says = f'cannot be imported: {type(error).__name__}: {error}'
        if isinstance(error, ModuleNotFoundError) and error.name == 'pkg_resources':
            says += f'; mmengine 0.10 takes it from an older setuptools; fix it with: {OLD_SETUPTOOLS}'
        yield found('machine:import', 'OpenCompass', says)
        return
    absent = [name for registry, names in plugin.REGISTERED.items() for name in names if name not in held[registry]]
    if absent:
        yield found('machine:import', 'registry', f'not registered: {", ".join(absent)}')
    else:
        yield fine('machine:import', 'registry', f'{sum(map(len, plugin.REGISTERED.values()))} names registered')


def check_running() -> Iterator[Finding]:
    """Runs inference and evaluation on shipped records."""
    try:
        from opencompass_tooleval.extras.probe.trial_run import run_trial

        samples = run_trial()
    except Exception as error:  # whatever stops the trial will stop a sweep
        fault = f'{type(error).__name__}: {error}'[:300]
        where = 'see where with: opencompass "$(tooleval config-dir)/eval_demo.py" --debug'
        yield found('machine:running', 'running', f'inference or evaluation fails: {fault}; {where}')
    else:
        yield fine('machine:running', 'running', f'{samples} shipped samples asked and scored')


def _check_files(name: str, state: FilesOnDisk) -> Iterator[Finding]:
    if state.fault:
        yield found('machine:data', name, state.fault)
    elif state.content:
        other = state.content.differences(state.files.published)
        yield found('machine:other_data', name, other) if other else fine('machine:data', name, str(state.content))


def check_data() -> Iterator[Finding]:
    """Reads every data file that exists, and reports a wrong folder of data."""
    missing: list[Benchmark] = []
    for benchmark in all_benchmarks():
        states = list(map(read_files, benchmark.data.files))
        for state in states:
            yield from _check_files(f'{benchmark.title} {state.files.name}', state)
        absent = sum(state.absent for state in states)
        if absent == len(states):
            missing.append(benchmark)
        if absent:
            says = f'{absent} of {len(states)} files are not on disk; fetch them with: {benchmark.prepare}'
            yield found('machine:other_data', benchmark.title, says)
    if missing:
        where = where_searched(missing)
        yield found('machine:data' if ' with: ' in where else 'machine:other_data', 'data', where)


def check_encoders() -> Iterator[Finding]:
    """Looks for the encoder of each language, and for the packaged one if the official one is missing."""
    for language in OFFICIAL:
        name = choose_encoder(None, language)
        try:
            files = locate_encoder(name)
        except EncoderMissingError as error:
            yield _missing_encoder(language, name == OFFICIAL[language], str(error))
        else:
            yield _check_encoder(language, files)


def _chat_architecture(folder: Path) -> str:
    """Returns the architecture of a chat model's folder, such as ``Qwen2ForCausalLM``; '' for a sentence encoder.

    A sentence encoder may be built on a chat model; its folder then holds ``modules.json``.
    """
    if (folder / 'modules.json').is_file():
        return ''
    try:
        config = load_json(read_plain(folder / 'config.json'), bounded=True)
        names = [str(name) for name in config.get('architectures') or ()]
    except (OSError, ValueError, AttributeError, TypeError):
        return ''
    return next((name for name in names if name.endswith(('ForCausalLM', 'ForConditionalGeneration'))), '')


def _check_encoder(language: str, files: EncoderFiles) -> Finding:
    what = f'encoder {language}'
    if chat := _chat_architecture(files.path):
        says = f'{files.path} holds a chat model ({chat}), no sentence encoder; take the official one with: unset {ENV}'
        return found('machine:encoder', what, says)
    if language == 'ZH' and files.name.startswith(OFFLINE):
        return found('machine:other_encoder', what, f'{files.name}: {_ENGLISH}')
    return fine('machine:encoder', what, f'{files.name}: {files.path}')


def _missing_encoder(language: str, is_default: bool, error: str) -> Finding:
    """Returns a fault, or a note if this encoder is only the default and the packaged one can replace it."""
    if is_default:
        with suppress(EncoderMissingError):
            locate_encoder(OFFLINE)
            but = f'; the packaged one is here; {_ENGLISH}' if language == 'ZH' else '; the packaged one is here'
            return found('machine:other_encoder', f'encoder {language}', f'{error}{but}')
    return found('machine:encoder', f'encoder {language}', error)


def check_optional() -> Iterator[Finding]:
    """Checks the optional dependencies: lagent and Slurm."""
    try:
        importlib.import_module('lagent')
        yield fine('machine:optional', 'lagent', metadata.version('lagent'))
    except Exception as error:  # lagent forgets to ask for what it imports
        fix = "FuncQA by ReAct needs it; install it with: pip install 'opencompass-tooleval[agent]'"
        yield found('machine:optional', 'lagent', f'not usable ({type(error).__name__}: {error}); {fix}')
    yield _check_slurm()


def _check_slurm() -> Finding:
    """Checks that a Slurm cluster answers; its commands may be installed on a machine without one."""
    sbatch = shutil.which('sbatch')
    if sbatch is None:
        return found('machine:optional', 'slurm', 'no sbatch on PATH; only needed for clusters')
    slurm = Slurm(patience=0)
    try:
        slurm.jobs()
        limit = slurm.array_limit()
    except (SlurmError, ValueError) as error:
        why = shorten(str(error).strip().rpartition('\n')[2], 200)
        says = f'{sbatch} is there, but no cluster answers ({why}); only needed for clusters'
        return found('machine:optional', 'slurm', says)
    return fine('machine:optional', 'slurm', f'{sbatch}; arrays of up to {limit} tasks')


def show_finding(finding: Finding, width: int) -> str:
    """Formats a finding: its text, then each command that fixes it on a separate line, to be copied."""
    concerns = f' [{finding.concerns}]' if finding.concerns and not finding.is_fine else ''
    says, *commands = re.split(r'(?<= with:) ', finding.text + concerns)
    start, indent = f'{finding.level.value:<{_COLUMN}}{finding.about}: ', ' ' * _COLUMN
    options: dict[str, Any] = {'subsequent_indent': indent, 'break_long_words': False, 'break_on_hyphens': False}
    lines = textwrap.wrap(says, width, initial_indent=start, **options)
    for text in commands:
        command, _, more = text.partition('  (')
        lines.append(f'{indent}    {command}')
        lines += textwrap.wrap(f'({more}', width, initial_indent=indent, **options) if more else []
    return '\n'.join(lines)


def look_at_machine() -> Iterator[Finding]:
    """Yields all findings about this machine."""
    for check in (check_versions, check_registry, check_running, check_data, check_encoders, check_optional):
        yield from check()


def print_findings(
    look: Callable[[], Iterable[Finding]], json_out: str | None, about: Callable[[], Mapping[str, Any]] = dict
) -> int:
    """Prints findings as they are found; returns 1 if one is a fault, else 0.

    Args:
        look: Yields the findings.
        json_out: A file for the findings, or ``-``.
        about: Returns further members of that file; called after the last finding.

    Raises:
        OSError: ``json_out`` cannot be written.
    """
    check_outputs(json_out, None)
    width, findings = Screen().width, []
    with Screen(stderr=True).status('looking'):
        for finding in look():
            findings.append(finding)
            if json_out != STDOUT:
                say(clean_text(show_finding(finding, width)))
    write_outputs({**about(), 'findings': [finding.row() for finding in findings]}, (), json_out, None)
    return int(any(finding.is_fault for finding in findings))
