"""Finds the causes of missing results, so that each cause is reported once, with its fix."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from opencompass_tooleval.core.calls.answer import SERVER_WORDS
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import printable
from opencompass_tooleval.work_dir.data_files import check_links
from opencompass_tooleval.work_dir.trust import run_trustee
from opencompass_tooleval.work_dir.work_dir import WorkDir

PROGRAMS = ('opencompass', 'main.py', 'run.py')
"""Names of OpenCompass's program: its command, ``python -m opencompass.cli.main``, and the script of a checkout."""
KEY_VARIABLE = 'OPENAI_API_KEY'
KEY_ENV = 'TOOLEVAL_KEY_ENV'
"""Environment variable with the name of the variable that has the user's key (``tooleval run --key-env``)."""
SET_KEY = f'export {KEY_VARIABLE}=...'
_MAX_WORDS = 600
MOST_NAMED = 3
"""Number of results per cause that a screen names; the others are counted."""

KEPT = 'The other answers are kept.'
"""End of an error about missing answers, before the advice."""
ALSO = ' -- also: '
"""Separates the faults of a result in one line of a log."""
_SAID = re.compile(r'; (?P<times>[\d,]{1,20}) of them: (?P<words>.{1,1000}?)\. ' + re.escape(KEPT))
_ALL_REFUSED = re.compile(
    r": (\d{1,12}) of \1 samples have no answer \((?:infra:bad_request \1|\{'infra:bad_request': \1\})\)"
)
_SETTING = re.compile(
    r'; set (?P<setting>token_limit_key=\S{1,60}|openai_extra_kwargs=dict\(\w{1,40}=None\)'
    r'|\w{1,40} by openai_extra_kwargs) in the config of'
)
_LIMIT = re.compile(r'(?:Lower max_out_len, or raise|Raise max_seq_len, and) the limit of the server')
_NO_KEY = re.compile(r'there is no key: (?P<fix>export [A-Z_]{1,40}=\.\.\.)')
_NO_TOOLS = re.compile(r'Error: .{0,500}\bthis model or server takes no tools: ')
_TAKE_NO_TOOLS = (
    'take the data sets without -fc, or start the server with its parser of tool calls '
    '(vLLM: --enable-auto-tool-choice --tool-call-parser NAME; llama-server: --jinja)'
)
_SEVERAL_CHOICES = re.compile(r'\bAskingEndedError: .{0,500}? choices in one reply, though one was requested')
_NO_PROXY = re.compile(r'export no_proxy="\$no_proxy,[\w.:-]{1,255}"')
_BY_SERVER = re.compile(r'\b(?:InfraFailure|AskingEnded)Error: ')
"""Errors that quote a server, whose text must not be taken for a fix."""
_VARYING = re.compile(r'[0-9a-f]{8,}|\d+')
"""Numbers and ids. Messages that differ only in these count as equal."""
_NAMED_FIX = re.compile(r'[.;] ?(?:Fix|fetch|install) it with: (?P<fix>.*)|(?<=% may be)\. (?P<advice>.+)')
_STATUS = re.compile(r'\bAskingEndedError: .{0,500}?\bstatus (?P<status>40[1-4])\b')
_OF_STATUS = {
    '401': "put the right key where the model's config reads it (its `key`, or $OPENAI_API_KEY)",
    '402': "add credit to the account, or take another key (the config's `key`, or $OPENAI_API_KEY)",
    '403': "take a key that may use this model (the config's `key`, or $OPENAI_API_KEY)",
    '404': "correct the model's `path` (its name on the server) or `openai_api_base` in {config}",
}
_FULL = {errno.ENOSPC: 'No space left on device', errno.EDQUOT: 'Disk quota exceeded', errno.EFBIG: 'File too large'}
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_OF_DISK = re.compile('|'.join(_FULL.values()))
_NO_ACCESS = re.compile(r"\[Errno (?:1|13|30)\] [\w ()-]{1,80}: '(?P<path>[^']{1,400})'")
_OF_CONFIG = re.compile(r'(?:^|: )(?:ValueError|TypeError): ')
_REFUSED = re.compile(
    r'\b(?:AskingEndedError: https?:|InfraFailureError: ).{0,2000}? no connection to \S{1,300} \(refused\)'
)
_NO_MODEL = re.compile(
    r"\bOSError: (?:We couldn't connect to 'https?:|.{1,300} is not a local folder and is not a valid )"
)
_OVER_BUDGET = re.compile(r'\binfra:(?:\w+:)?budget\b')
_CLASS = re.compile(r'\b(?:AskingEnded|Data|InfraFailure|LeftOut)Error: ')
"""Classes of this package's errors, which are left out on screens."""
_RUNS_ALL = ('opencompass ', 'tooleval retry')

T = TypeVar('T')


@dataclass
class Cause(Generic[T]):
    """Missing results with one cause.

    Attributes:
        fix: Lines with the fix: commands, or a change to make and then a command.
        results: The missing results.
        whys: The error of each result, from its log; for missing answers, the server's message.
        times: Number of missing answers with this message; 0 for another cause.
    """

    fix: Sequence[str]
    results: list[T] = field(default_factory=list)
    whys: list[str] = field(default_factory=list)
    times: int = 0


def _config_of(run: Path) -> str:
    """Returns the path of a run's config: from OpenCompass's command line, or else the copy in the run.

    For somebody else's run it returns ``CONFIG`` instead of the copy, since OpenCompass would execute it.
    """
    words = sys.argv[1:] if Path(sys.argv[0]).name in PROGRAMS else ()
    if given := next((word for word in words if word.endswith('.py')), ''):
        return shlex.quote(given)
    try:
        kept = WorkDir(run).config()
        return shlex.quote(str(kept)) if run_trustee(kept).is_trusted else 'CONFIG'
    except DataError:
        return 'CONFIG'


def resuming(run: Path) -> str:
    """Returns the command that resumes a run, such as ``outputs/default/20260101_120000``."""
    return f'{_with_key()}opencompass {_config_of(run)} {shlex.join(["-w", str(run.parent), "-r", run.name])}'


def _with_key() -> str:
    """Returns the words to put before a command to pass it the key of ``tooleval run --key-env NAME``."""
    variable, _, name = os.environ.get(KEY_ENV, '').partition('=')
    return f'{variable}="${name}" ' if name.isidentifier() and variable.isidentifier() else ''


def free_space(run: Path) -> str:
    """Returns the fix for a full disk."""
    return f'free space on the disk of {run}, or raise your quota'


def access_fix(error: str) -> str:
    """Returns the fix of an error about a file that this user may not read or write; '' for other errors."""
    denied = _NO_ACCESS.search(error)
    return f'make {denied["path"]} readable and writable for this user, or name another place' if denied else ''


@contextmanager
def one_line_if_unusable(run: Path) -> Iterator[None]:
    """Ends this process with one line instead of a traceback if a link leaves the run, or the block cannot write to it.

    Raises:
        SystemExit: A link leaves the run, the disk is full or read-only, or this user may not write.
    """
    try:
        check_links(run)
    except DataError as error:
        raise SystemExit(f'tooleval: {error}') from None
    try:
        yield
    except OSError as error:
        if error.errno not in (*_FULL, *_READ_ONLY):
            raise
        fix = free_space(run) if error.errno in _FULL else f'make {run} writable'
        raise SystemExit(f'tooleval: {error}; {fix}, then: {resuming(run)}') from None


def fix_of(error: str, run: Path) -> list[str]:
    """Returns lines with the fix: the one in the error, the one for its kind, or the command that resumes the run.

    A fix in a server's message is ignored.

    Args:
        error: The last error line of a log; '' if there is none.
        run: The run, such as ``outputs/default/20260101_120000``.
    """
    again, first = resuming(run), _first_step(error, run)
    if not first:
        return [f'{again}    (finished work is kept)']
    return [first] if first.removeprefix(_with_key()).startswith(_RUNS_ALL) else [first, again]


def _named_fix(error: str) -> re.Match[str] | None:
    return None if _BY_SERVER.search(error) else _NAMED_FIX.search(error)


def _first_step(error: str, run: Path) -> str:
    """Returns the first step of the fix; '' if no fix is known."""
    if named := _named_fix(error):
        return (named['fix'] or named['advice'] or '').strip()
    if _OF_DISK.search(error):
        return free_space(run)
    if (denied := access_fix(error)) and not _BY_SERVER.search(error):
        return denied
    if _NO_MODEL.search(error):
        return f'correct `path` of the model in {_config_of(run)}, or with a network: hf download NAME'
    if _OVER_BUDGET.search(error):
        return f'raise `budget` in {_config_of(run)}'
    if by_proxy := _NO_PROXY.search(error):
        return by_proxy[0]
    if _SEVERAL_CHOICES.search(error):
        return 'update the gateway, whose answers have several choices'
    if _ALL_REFUSED.search(error) and not _NO_TOOLS.search(error):
        setting, config = _SETTING.search(error), _config_of(run)
        return f'in {config}, set {setting["setting"]}' if setting else f'correct {config} as the server says'
    if _REFUSED.search(error):
        return f'start the server, or correct `openai_api_base` in {_config_of(run)}'
    if limit := _LIMIT.search(error):
        return f'in {_config_of(run)}: {limit[0]}'
    if _NO_TOOLS.search(error):
        return _TAKE_NO_TOOLS
    if 'InfraFailureError' in error:
        return f'{_with_key()}tooleval retry {shlex.quote(str(run))}'
    if 'OpenAI API key is not set' in error:  # OpenCompass's own message
        return SET_KEY
    if no_key := _NO_KEY.search(error):
        return no_key['fix']
    if status := _STATUS.search(error):
        return _OF_STATUS[status['status']].format(config=_config_of(run))
    return f'correct {_config_of(run)}: it fails again if unchanged' if _OF_CONFIG.search(error) else ''


def _faults_in(error: str) -> list[str]:
    """Returns the faults of a data set that was left out, each as an error; a server's text is never taken apart."""
    return error.split(ALSO) if error.partition('Error: ')[0].endswith('LeftOut') else [error]


def causes_of(missing: Iterable[tuple[T, str, str]], run: Path) -> list[Cause[T]]:
    """Groups missing results by cause, in the order of each cause's first result; a result may have several.

    Args:
        missing: Each missing result, its dataset, and its error.
        run: The run, such as ``outputs/default/20260101_120000``.
    """
    causes: dict[tuple[str, ...], Cause[T]] = {}
    for result, dataset, error in ((*row[:2], error) for row in missing for error in _faults_in(row[2])):
        fix, quoted = fix_of(error, run), _SAID.search(error)
        named = _named_fix(error)
        why = (error[: named.start() + 1] if named else error).removeprefix(f'{dataset}: ').strip()
        why = _CLASS.sub('', why, count=1)
        of_cause = '' if named else _VARYING.sub('#', quoted['words']) if quoted else why
        cause = causes.setdefault((*fix, of_cause), Cause(fix))
        cause.results.append(result)
        if quoted:
            cause.times += int(quoted['times'].replace(',', ''))
            of = f' of {len(cause.results)} results' if len(cause.results) > 1 else ''
            samples = f'{cause.times:,} sample{"s" * (cause.times > 1)}{of}'
            why = f'{samples} {"have" if cause.times > 1 else "has"} no answer: {quoted["words"]}'
            cause.whys = [why] * len(cause.whys)
        cause.whys.append(why)
    return list(causes.values())


def most_said(rows: Iterable[Mapping[str, Any]]) -> tuple[str, int]:
    """Returns the server's most frequent message in rows without an answer, and its count; ``''`` and 0 if none.

    Messages that differ only in numbers and ids are counted together.
    """
    messages: dict[str, list[str]] = {}
    for row in rows:
        if isinstance(words := row.get(SERVER_WORDS), str) and words:
            messages.setdefault(_VARYING.sub('#', words[:_MAX_WORDS]), []).append(words[:_MAX_WORDS])
    most = max(messages.values(), key=len, default=[''])
    return printable(' '.join(most[0].split())), len(most) if messages else 0
