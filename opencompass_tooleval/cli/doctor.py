"""``tooleval doctor``: is this machine ready, and if not, what mends it."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from importlib import metadata

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opencompass_tooleval.cli.teval_files import file_states
from opencompass_tooleval.cli.ultratool_files import ultratool_files
from opencompass_tooleval.embedding.locate import (
    ENV,
    OFFICIAL,
    OFFLINE,
    EncoderMissingError,
    choose_encoder,
    locate_encoder,
)
from opencompass_tooleval.teval.records import CURE
from opencompass_tooleval.ultratool.records import CURE as ULTRATOOL_CURE

INSTALL = "pip install 'opencompass-tooleval[offline]'"


class Level(Enum):
    """How bad a finding is; only a fault makes the exit status 1."""

    OK = 'ok'
    NOTE = 'note'
    FAULT = 'FAULT'


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    level: Level
    what: str
    says: str


@dataclass(frozen=True)
class Pin:
    """A dependency that OpenCompass leaves open, and the releases that work.

    Attributes:
        package: Its name.
        works: The range, such as ``>=1.26,<2``; the same as in setup.py.
        too_old: What is wrong below it.
        too_new: What is wrong above it.
    """

    package: str
    works: str
    too_old: str
    too_new: str

    def fault(self, version: str) -> str:
        """What is wrong with ``version``, or ``''``."""
        if SpecifierSet(self.works).contains(version, prereleases=True):
            return ''
        floor = next(part.version for part in SpecifierSet(self.works) if part.operator == '>=')
        return self.too_old if Version(version) < Version(floor) else self.too_new


PINS = (
    Pin('opencompass', '>=0.5.2,<0.6', 'before 0.5.2 is not tested', 'after 0.5 is not tested'),
    Pin('numpy', '>=1.26,<2', 'before 1.26 is not tested', 'OpenCompass needs NumPy 1'),
    Pin('pyarrow', '>=17,<21', 'before 17 is not tested', 'pyarrow 26 needs NumPy 2, which OpenCompass does not take'),
    Pin('datasets', '>=3,<4', 'before 3 is not tested', 'OpenCompass needs datasets 3'),
    Pin(
        'transformers',
        '>=4.51,<5',
        'before 4.51 is not tested',
        "transformers 5 has no batch_encode_plus, which OpenCompass's HF models call",
    ),
    Pin(
        'sentence-transformers',
        '>=4.1,<5.3',
        'before 4.1 is not tested',
        'sentence-transformers 5.3 needs transformers 5',
    ),
    Pin(
        'gradio-client',
        '>=1.10,<2',
        'before 1.10 is not tested',
        'gradio-client 2 needs a huggingface_hub that transformers 4 does not take',
    ),
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
            yield Finding(Level.FAULT, pin.package, f'not installed; mend it with: {INSTALL}')
            continue
        if fault := pin.fault(version):
            cure = f"pip install '{pin.package}{pin.works}'"
            yield Finding(Level.FAULT, pin.package, f'{version}: {fault}; mend it with: {cure}')
        else:
            yield Finding(Level.OK, pin.package, version)


def check_registry() -> Iterator[Finding]:
    """Imports OpenCompass and our classes and looks whether they are registered."""
    try:
        from opencompass_tooleval.host.registry import MODULES, REGISTERED, snapshot

        for module in MODULES:
            importlib.import_module(f'opencompass_tooleval.{module}')
        held = snapshot()
    except Exception as error:  # whatever breaks the import is the finding
        yield Finding(Level.FAULT, 'OpenCompass', f'cannot be imported: {type(error).__name__}: {error}')
        return
    absent = [name for registry, names in REGISTERED.items() for name in names if name not in held[registry]]
    if absent:
        yield Finding(Level.FAULT, 'registry', f'not registered: {", ".join(absent)}')
    else:
        yield Finding(Level.OK, 'registry', f'{sum(map(len, REGISTERED.values()))} names registered')


def check_running() -> Iterator[Finding]:
    """Runs inference and evaluation on records that we ship."""
    try:
        from opencompass_tooleval.host.trial import run_trial

        samples = run_trial()
    except Exception as error:  # whatever stops the trial will stop a sweep
        fault = f'{type(error).__name__}: {error}'[:300]
        cure = 'opencompass "$(tooleval config-dir)/eval_demo.py" --debug shows where'
        yield Finding(Level.FAULT, 'running', f'inference or evaluation fails: {fault}; {cure}')
    else:
        yield Finding(Level.OK, 'running', f'{samples} shipped samples asked and scored')


def _check_file(name: str, count: int | None, published: int | None, fault: str) -> Iterator[Finding]:
    if fault:
        yield Finding(Level.FAULT, name, fault)
    elif count is not None:
        other = published is not None and published != count
        says = f'{count} records' + (f', published are {published}' if other else '')
        yield Finding(Level.NOTE if other else Level.OK, name, says)


def check_data() -> Iterator[Finding]:
    """Reads every data file that is there."""
    states = list(file_states())
    for state in states:
        name = f'T-Eval {state.subset.name} {state.version} {state.language}'
        yield from _check_file(name, state.count, state.published, state.fault)
    absent = sum(state.path is None for state in states)
    if absent:
        yield Finding(Level.NOTE, 'T-Eval', f'{absent} of {len(states)} files are not on disk; fetch them with: {CURE}')
    files = list(ultratool_files())
    for file in files:
        name = f'UltraTool {file.subset.name} {file.language}'
        yield from _check_file(name, file.count, file.subset.count, file.fault)
    absent = sum(file.path is None for file in files)
    if absent:
        cure = f'{ULTRATOOL_CURE}, and tooleval build ultratool'
        yield Finding(Level.NOTE, 'UltraTool', f'{absent} of {len(files)} files are not on disk; get them with: {cure}')


def check_encoders() -> Iterator[Finding]:
    """Looks for the encoder of each language; where the official one is absent, whether the packaged one is there."""
    for language in OFFICIAL:
        name = choose_encoder(None, language)
        try:
            files = locate_encoder(name)
        except EncoderMissingError as error:
            yield _missing_encoder(f'encoder {language}', name == OFFICIAL[language], str(error))
        else:
            yield Finding(Level.OK, f'encoder {language}', f'{files.name}: {files.path}')


def _missing_encoder(what: str, is_default: bool, error: str) -> Finding:
    """A fault, unless nobody chose this encoder and the packaged one can take its place."""
    if is_default:
        with suppress(EncoderMissingError):
            locate_encoder(OFFLINE)
            says = f'{error}. {ENV}={OFFLINE} is installed and runs; its scores do not compare with published ones'
            return Finding(Level.NOTE, what, says)
    return Finding(Level.FAULT, what, error)


def check_optional() -> Iterator[Finding]:
    """What only some need: lagent and Slurm."""
    try:
        importlib.import_module('lagent')
        yield Finding(Level.OK, 'lagent', metadata.version('lagent'))
    except Exception as error:  # lagent forgets to ask for what it imports
        cure = "FuncQA by ReAct needs it: pip install 'opencompass-tooleval[agent]'"
        yield Finding(Level.NOTE, 'lagent', f'not usable ({type(error).__name__}: {error}); {cure}')
    sbatch = shutil.which('sbatch')
    yield Finding(Level.OK if sbatch else Level.NOTE, 'slurm', sbatch or 'no sbatch on PATH; only needed for clusters')


def run_doctor() -> int:
    """Prints every finding; returns 1 if one is a fault, else 0."""
    checks = (check_versions, check_registry, check_running, check_data, check_encoders, check_optional)
    table = Table(title='tooleval doctor')
    for column in ('', 'what', 'finding'):
        table.add_column(column, overflow='fold')
    faults = 0
    with Console(stderr=True).status('looking'):
        for check in checks:
            for finding in check():
                faults += finding.level is Level.FAULT
                table.add_row(finding.level.value, finding.what, escape(finding.says))
    Console().print(table)
    return 1 if faults else 0
