"""The card of a made set: what it was made from, by which models, and what is in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from opencompass_tooleval.core.calls.observation import SIMULATED
from opencompass_tooleval.core.text.jsonable import bounded_text, to_jsonable
from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.extras.making.made_task import gold_path, has_one_path, known_steps
from opencompass_tooleval.extras.making.metrics import RESTRAINT_RATE, SOLVED
from opencompass_tooleval.extras.making.scripted_agents import scripted_scores
from opencompass_tooleval.report.figure import Table
from opencompass_tooleval.report.files import to_markdown

CARD_FILE = 'README.md'
INSTRUCTIONS_FILE = 'easytool/instructions.json'
TOOLS_FILE = 'easytool/tools.json'

_MOST_SHOWN = 300

_CARD = """# {name}

{count} tasks for agents that call tools, made with `tooleval make` from the tools below.

{reviewed}

## Source

{source}

{simulated}

## Models

{models}

A model that made a set may score higher on it than others do. Compare such a model with others only with this in mind.

## Tasks

{tasks}

{single} of {count} tasks are in step files: those of kind ordinary or siblings with one possible path.

## Scripted agents

{scripted}

## Left out

{dropped}

## Files

{files}

{gaps}

## How to run it

Put a config beside `{name}_gen.py` and run it with `opencompass`:

```python
from mmengine.config import read_base

with read_base():
    from .{name}_gen import {name}_datasets

datasets = {name}_datasets
models = [...]
```

Or copy `{name}_gen.py` to the folder `datasets` of your configs: `opencompass --config-dir configs --datasets
{name}_gen --models NAME`. OpenCompass does not read `--models` beside a config.

`{name}_agent` has only the tasks for agents, `{name}_teval` and `{name}_ultratool` the step files, and
`{name}_judged` those that a judge model scores. Step files are scored with `scoring='strict'`: official scoring gives
no points for calls without arguments (UltraTool), and may confuse tools of which one name begins with another (T-Eval).

After the folder was moved, change `_folder` in `{name}_gen.py`.

## Licence

Private; not uploaded by tooleval. The owner of the tools and of the data decides on a licence.
"""


def write_card(made: MadeSet, files: Mapping[str, int], instructions: int) -> str:
    """Writes the text of the card.

    Args:
        made: The set.
        files: Step file -> number of its rows.
        instructions: Number of tools with instructions.
    """
    reviewed = sum(task.is_reviewed for task in made.tasks)
    unreviewed = len(made.tasks) - reviewed
    review_state = (
        'No person has looked at any task.' if not reviewed else f'No person has looked at {unreviewed} tasks.'
    )
    listed = [f'- `{name}`: {rows} rows' for name, rows in files.items()]
    listed += [
        f'- `{INSTRUCTIONS_FILE}`: instructions for {instructions} tools, made by rule. `tooleval easytool generate '
        f'--source function_schema --input {TOOLS_FILE}` makes others by a model'
    ]
    return _CARD.format(
        name=made.name,
        count=len(made.tasks),
        reviewed=review_state if unreviewed else 'A person has looked at every task.',
        source=_settings(made),
        simulated=_simulated(made),
        models=_models(made),
        tasks=_distributions(made),
        single=sum(map(has_one_path, made.tasks)),
        scripted=_scripted(made),
        dropped=_dropped(made),
        files='\n'.join(listed),
        gaps=_gaps(made),
    )


def _settings(made: MadeSet) -> str:
    rows = {**made.source, 'version of making': made.version, **made.settings}
    return '\n'.join(f'- {name}: {_shown(value)}' for name, value in rows.items() if name != 'calls')


def _simulated(made: MadeSet) -> str:
    sources = Counter(call.source for task in made.tasks for one in task.solutions for call in one.calls)
    total = sum(sources.values())
    if not total:
        return 'Nothing is known of the observations of the solutions.'
    share = 100 * sources[SIMULATED] / total
    return (
        f'{sources[SIMULATED]} of {total} observations of the solutions ({share:.1f}%) were simulated by a model. '
        f'By source: {_counts(sources)}.'
    )


def _models(made: MadeSet) -> str:
    roles: dict[str, dict[str, None]] = {role: {name: None} for role, name in made.models.items()}
    for task in made.tasks:
        for role, name in (task.made_by or {}).items():
            roles.setdefault(role, {})[name] = None
    solvers = Counter(one.model for task in made.tasks for one in task.solutions)
    lines = [f'- {role}: {", ".join(names)}' for role, names in roles.items()]
    return '\n'.join([*lines, f'- solutions that agree, by model: {_counts(solvers)}'])


def _distributions(made: MadeSet) -> str:
    gold = [task.task.gold or () for task in made.tasks]
    return '\n\n'.join(
        [
            _table('kind', (task.goal.kind for task in made.tasks)),
            _table('language', (task.task.language for task in made.tasks)),
            _table('operation on the query', (task.operation or 'none' for task in made.tasks)),
            _table('form of the result', (task.goal.form or 'not stated' for task in made.tasks)),
            _table('gold calls', sorted(len(calls) for calls in gold)),
            _table('tool in the gold', (name for calls in gold for name in dict.fromkeys(call.name for call in calls))),
            _table('tools offered', sorted(len(task.task.tools) for task in made.tasks)),
        ]
    )


def _table(title: str, values: Iterable[object]) -> str:
    values = list(values)
    counts = Counter(values)
    names = list(counts) if all(isinstance(value, int) for value in values) else [n for n, _ in counts.most_common()]
    return _markdown((title, 'tasks'), ((_shown(name), str(counts[name])) for name in names))


def _scripted(made: MadeSet) -> str:
    scores = scripted_scores(made.tasks, made.scripted)
    rows = ((agent, *(_percent(of[name]) for name in (SOLVED, RESTRAINT_RATE))) for agent, of in scores.items())
    table = _markdown(('agent', SOLVED, RESTRAINT_RATE), rows)
    about = 'These agents have no model. A model has to be better than they are, in both columns.'
    return f'{table}\n\n{about}' if scores else 'They were not run on this set.'


def _percent(value: float | None) -> str:
    return '-' if value is None else f'{value:.1f}'


def _dropped(made: MadeSet) -> str:
    counts = Counter((one.stage, one.reason) for one in made.dropped)
    rows = ((stage, reason, str(count)) for (stage, reason), count in sorted(counts.items()))
    return _markdown(('stage', 'reason', 'drafts'), rows) if counts else 'No draft was dropped.'


def _markdown(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return to_markdown(Table('', '', columns, tuple(rows))).rstrip()


def _gaps(made: MadeSet) -> str:
    paths = [gold_path(task) for task in made.tasks if has_one_path(task)]
    without = sum(len(known_steps(path)) < len(path) for path in paths)
    return (
        f'{without} tasks have calls that are in no file of next steps, since no solution made them or says why. '
        "Review's choices are those that the environment or a recording states: success, planned failures, calls that "
        'nothing answers, wrong arguments, and the labels of recordings. No row is made of another outcome.'
    )


def _counts(counts: Counter[str]) -> str:
    return ', '.join(f'{name or "unknown"} {count}' for name, count in counts.most_common()) or 'none'


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(to_jsonable(value), ensure_ascii=False)
    return ' '.join(bounded_text(text, _MOST_SHOWN).split())
