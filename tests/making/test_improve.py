"""Documentation rewritten from one half of a made set and measured on the other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tools import find_tools
from opencompass_tooleval.cli.make_improve import improve_made_set
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.making.made_set import BANK_FILE, MadeSet
from opencompass_tooleval.making.made_task import MadeTask
from tests.forked import run_python
from tests.making.improve_models import FORECAST, MENU, WORD
from tests.making.small_set import make_task, small_set

CONFIG = """
from tests.making.improve_models import {kind}

models = [dict(type={kind}, abbr={kind!r}, path={kind!r}, log={log!r}, **{options!r})]
"""
COMMAND_LINE = 'from opencompass_tooleval.cli.main import main; main()'
HELPFUL = f'{{"description": "{{old}} Look it up {WORD}."}}'
USELESS = '{"description": "{old} It is a good tool."}'


def town(number: int) -> str:
    return f'Town{number}'


def improvable_set(folder: Path, count: int = 32) -> MadeSet:
    """A set of tasks that need one of two tools in turn; each query has a mark of its own."""
    folder.mkdir(parents=True)
    recorded = [
        RecordedCall('by hand', '', name, {key: town(number)}, json.dumps({'seen': f'value-{number}'}))
        for number in range(count)
        for name, key in ((FORECAST, 'city'), (MENU, 'kitchen'))
    ]
    write_bank(recorded, folder / BANK_FILE)
    known = find_tools('teval')
    with Bank(folder / BANK_FILE) as bank:
        answers = Environment(bank, known.stateful_tools, known.errors)
        tasks = [one_task(answers, number) for number in range(count)]
    made = small_set(folder, tasks)
    write_bank(recorded, folder / BANK_FILE)
    made.write()
    return made


def one_task(answers: Environment, number: int) -> MadeTask:
    name, key = (FORECAST, 'city') if number % 2 else (MENU, 'kitchen')
    return make_task(
        answers,
        number,
        f'What is there in MARK-{number}-END today?',
        [(name, {key: town(number)}, '')],
        f'There is value-{number}.',
        [FORECAST, MENU],
        facts=(f'value-{number}',),
    )


def config(folder: Path, kind: str, **options: Any) -> Path:
    file = folder / f'{kind}.py'
    file.write_text(CONFIG.format(kind=kind, log=str(folder / f'{kind}.log'), options=options), encoding='utf-8')
    return file


def prompts_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    log = folder / f'{kind}.log'
    return [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines()] if log.exists() else []


def improved(
    folder: Path, replies: Sequence[str], count: int = 32, caller: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """The result of a run on a new set."""
    made = improvable_set(folder / 'office', count)
    model, rewriter = config(folder, 'Caller', **(caller or {})), config(folder, 'Rewriter', replies=list(replies))
    assert improve_made_set(made.folder, folder / 'out', model, rewriter=rewriter, **options) == 0
    result: dict[str, Any] = json.loads((folder / 'out' / 'improve.json').read_text(encoding='utf-8'))
    return result


def test_a_planted_improvement_is_found_on_the_held_out_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = improved(tmp_path, [HELPFUL])
    solved = result['held_out']['metrics']['solved']
    assert result['rewritten'] == [MENU, FORECAST] and result['kept'] == {}
    assert solved['after'] == 100 and solved['low'] > 0 and solved['tasks'] == 16
    assert solved['before'] == pytest.approx(result['before']['solved']['held_out'])
    assert 'excludes 0' in result['held_out']['says'] and 'better' in result['held_out']['says']
    # All 16 tasks of the forecast and 8 of the menu are hard; two runs of each.
    assert result['before']['confusion'] == {MENU: {MENU: 16, FORECAST: 16}, FORECAST: {MENU: 32}}
    assert result['before']['reasons'] == {'goal:facts': 48}
    assert {loss['task'] for loss in result['held_out']['losses']} == set()
    diff = (tmp_path / 'out' / 'descriptions.diff').read_text(encoding='utf-8')
    assert f'+++ {MENU} (new)' in diff and '-Returns: ' in diff and f' Look it up {WORD}.\n' in diff
    held_out = set(result['split']['held_out'])
    assert {line[2:].partition(',')[0] for line in diff.splitlines() if line.startswith('# ')}.isdisjoint(held_out)
    assert not (tmp_path / 'out' / 'journal').exists()
    printed = ' '.join(capsys.readouterr().out.split())
    assert 'solved: the interval excludes 0' in printed and 'goal:facts 48' in printed


def test_no_prompt_of_the_rewriter_has_anything_of_the_held_out_half(tmp_path: Path) -> None:
    result = improved(tmp_path, [USELESS])
    texts = ' '.join(prompt['text'] for prompt in prompts_of(tmp_path, 'Rewriter'))
    marks = {half: [name.replace('office_', '') for name in result['split'][half]] for half in result['split']}
    assert any(f'MARK-{number}-END' in texts for number in marks['first'])
    for number in marks['held_out']:
        assert (
            f'MARK-{number}-END' not in texts and f'value-{number}"' not in texts and f'"{town(number)}"' not in texts
        )


def test_a_rewriting_without_effect_is_no_gain(tmp_path: Path) -> None:
    result = improved(tmp_path, [USELESS])
    solved = result['held_out']['metrics']['solved']
    assert solved['low'] <= 0 <= solved['high'] and solved['delta'] == 0
    assert result['held_out']['says'] == 'the interval holds 0: no difference is shown'


def test_a_gain_on_memorised_tasks_only_is_not_reported(tmp_path: Path) -> None:
    result = improved(tmp_path, ['{"description": "{old} {requests}"}'], caller={'memorises': True})
    # The descriptions hold requests of the first half: there the caller would gain.
    rows = json.loads((tmp_path / 'out' / 'descriptions.json').read_text(encoding='utf-8'))['tools']
    told = ' '.join(row['new'] for row in rows.values())
    first, held_out = (result['split'][half] for half in ('first', 'held_out'))
    assert sum(f'MARK-{name[7:]}-END' in told for name in first) >= 8
    assert result['held_out']['metrics']['solved']['delta'] == 0
    assert 'holds 0' in result['held_out']['says']
    after = [prompt for prompt in prompts_of(tmp_path, 'Caller') if 'MARK' in prompt['tools']]
    assert after and {prompt['id'].partition('#')[0] for prompt in after} == set(held_out)


def test_after_a_kill_nothing_is_asked_twice(tmp_path: Path) -> None:
    made = improvable_set(tmp_path / 'office', 16)
    # One request at a time: of a batch in flight no answer is on disk.
    model = config(tmp_path, 'Caller', batch_size=1)
    rewriter = config(tmp_path, 'Rewriter', replies=[HELPFUL], batch_size=1)
    stop = tmp_path / 'Caller.log.stop'
    for count in ('20', '60'):  # in the first run, and in the run of the held-out half
        stop.write_text(count)
        options = ('--model', model, '--rewriter', rewriter, '--out', tmp_path / 'out')
        killed = run_python('-c', COMMAND_LINE, 'make', 'improve', made.folder, *options)
        assert killed.returncode == 9 and not (tmp_path / 'out' / 'improve.json').exists()
    stop.unlink()
    assert improve_made_set(made.folder, tmp_path / 'out', model, rewriter=rewriter) == 0
    for kind in ('Caller', 'Rewriter'):
        asked = Counter((row['id'], row['text'], row['tools']) for row in prompts_of(tmp_path, kind))
        assert max(asked.values()) == 1, kind
    with pytest.raises(DataError, match='finished'):
        improve_made_set(made.folder, tmp_path / 'out', model, rewriter=rewriter)
