"""Decisions of reviewers on the tasks of a made set: read from files, compared, and carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from opencompass_tooleval.agents.scoring.goal_check import holds_fact
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.typed_result import plain_text
from opencompass_tooleval.core.statistics.kappa import cohen_kappa
from opencompass_tooleval.core.text.jsonable import answer_digest, clean_text
from opencompass_tooleval.extras.making.made_set import Dropped, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask
from opencompass_tooleval.work_dir.data_files import read_json

FORMAT = 1
UNDECIDED, ACCEPT, EDIT, DROP = '', 'accept', 'edit', 'drop'
CHOICES = (UNDECIDED, ACCEPT, EDIT, DROP)

REVIEW_STAGE = 'review'
DROPPED_REASON = 'review:dropped'

MAX_NAME = 100
MAX_COMMENT = 5_000
MAX_TEXT = 100_000
"""Characters of a reviewer's name, of a comment, and of a query or fact."""
MAX_TEXTS = 200
"""Facts or forbidden tools of a task."""


class Edit(NamedTuple):
    """The texts of a task that a reviewer can change.

    Attributes:
        query: The query.
        facts: As :attr:`~opencompass_tooleval.agents.tasks.goal.Goal.facts`.
        forbidden: As :attr:`~opencompass_tooleval.agents.tasks.goal.Goal.forbidden`.
    """

    query: str
    facts: tuple[str, ...]
    forbidden: tuple[str, ...]

    @classmethod
    def of_task(cls, made: MadeTask) -> Edit:
        """Returns the present texts of a task."""
        return cls(made.task.query, tuple(made.goal.facts), tuple(made.goal.forbidden))

    def apply(self, made: MadeTask) -> MadeTask:
        """Returns the task with these texts; its gold stays."""
        goal = replace(made.goal, facts=self.facts, forbidden=self.forbidden)
        return replace(made, task=replace(made.task, query=self.query, goal=goal))


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision on a task.

    Attributes:
        choice: One of :data:`CHOICES`.
        comment: The reviewer's comment.
        edit: The texts of the choice ``edit``; else None.
    """

    choice: str
    comment: str
    edit: Edit | None


@dataclass(frozen=True)
class Review:
    """The decisions of a reviewer.

    Attributes:
        reviewer: The name.
        decisions: Id of a task -> decision; only those of a choice other than ``''``.
    """

    reviewer: str
    decisions: Mapping[str, Decision]


@dataclass(frozen=True)
class Kappa:
    """Agreement of two reviewers.

    Attributes:
        reviewers: Their names.
        tasks: Number of tasks that both decided.
        value: Cohen's kappa of keeping (accept, edit) and dropping them; None where it is not defined.
    """

    reviewers: tuple[str, str]
    tasks: int
    value: float | None


@dataclass(frozen=True)
class Outcome:
    """A set after its review.

    Attributes:
        made: The set, with the decisions carried out.
        counts: Choice -> number of tasks that it was carried out on, now or before.
        disagreements: Tasks that one reviewer keeps and another drops; nothing is carried out on them.
        other_texts: Tasks that reviewers keep with different texts; nothing is carried out on them.
        undecided: Number of tasks that nobody has reviewed, these included.
        kappas: Of each pair of reviewers.
    """

    made: MadeSet
    counts: Mapping[str, int]
    disagreements: tuple[str, ...]
    other_texts: tuple[str, ...]
    undecided: int
    kappas: tuple[Kappa, ...]


def set_digest(made: MadeSet) -> str:
    """Returns a digest of what a set was made from; a review does not change it."""
    return answer_digest([made.version, made.name, dict(made.source), dict(made.models), dict(made.settings)])


def task_digest(made: MadeTask) -> str:
    """Returns a digest of a task and its solutions, without what a review says of it."""
    return answer_digest({**made.to_row(), 'reviewed': False, 'comment': ''})


def read_decisions(file: Path, made: MadeSet) -> Review:
    """Reads a file that the page of :mod:`~opencompass_tooleval.extras.making.review_page` saved.

    Args:
        file: The file.
        made: The set that it is of.

    Raises:
        DataError: It is damaged, or of another set; it has decisions on tasks that the set does not have, that have
            changed since the page was written, or that an edit would break.
    """
    raw, name = read_json(file), None
    tasks = {task.task.id: task for task in made.tasks}
    dropped = {one.id for one in made.dropped if one.stage == REVIEW_STAGE}
    decisions: dict[str, Decision] = {}
    try:
        reviewer, rows = _parse_head(raw, made)
        for number, row in enumerate(rows, 1):
            name = None
            if not isinstance(row, dict) or not isinstance(row.get('task'), str):
                raise ValueError(f'decision {number} names no task')
            name = clean_text(row['task'])
            decision = _parse(row)
            if name in decisions:
                raise ValueError('it is decided twice')
            if name in tasks:
                _check(decision, tasks[name], row.get('digest'))
            elif name not in dropped:
                raise ValueError('the set has no such task')
            elif decision.choice not in (DROP, UNDECIDED):
                raise ValueError('it was dropped by an earlier review; give the files of all reviewers together')
            decisions[name] = decision
    except ValueError as error:
        raise DataError(file, str(error), name, f'tooleval make review {made.folder}') from error
    return Review(reviewer, {name: decision for name, decision in decisions.items() if decision.choice})


def _parse_head(raw: Any, made: MadeSet) -> tuple[str, list[Any]]:
    if not isinstance(raw, dict) or type(raw.get('tooleval_decisions')) is not int:
        raise ValueError('it is no decisions file')
    if raw['tooleval_decisions'] != FORMAT:
        raise ValueError(f'its format is {raw["tooleval_decisions"]}, and this version reads {FORMAT}')
    if raw.get('digest') != set_digest(made):
        raise ValueError(f'it is of another set than {made.folder}, or of an older state of it')
    reviewer, rows = raw.get('reviewer'), raw.get('decisions')
    if not isinstance(reviewer, str) or not reviewer.strip() or len(reviewer) > MAX_NAME:
        raise ValueError(f'the reviewer is no name of at most {MAX_NAME} characters')
    if not isinstance(rows, list):
        raise ValueError('its decisions are no list')
    return ' '.join(clean_text(reviewer).split()), rows


def _parse(row: Mapping[str, Any]) -> Decision:
    choice, edit = row.get('choice'), row.get('edit')
    if not isinstance(choice, str) or choice not in CHOICES:
        raise ValueError(f'there is no choice {choice!r}; there are {", ".join(filter(None, CHOICES))}')
    comment = _text(row, 'comment', MAX_COMMENT)
    if choice != EDIT:
        return Decision(choice, comment, None)
    if not isinstance(edit, dict):
        raise ValueError('an edit lacks its texts')
    query = _text(edit, 'query', MAX_TEXT)
    if not query.strip():
        raise ValueError('its query is empty')
    return Decision(choice, comment, Edit(query, _texts(edit, 'facts'), _texts(edit, 'forbidden')))


def _text(raw: Mapping[str, Any], key: str, most: int) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or len(value) > most:
        raise ValueError(f'its {key} is no text of at most {most} characters')
    return clean_text(value)


def _texts(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = raw.get(key)
    if not isinstance(values, list) or len(values) > MAX_TEXTS:
        raise ValueError(f'its {key} are no list of at most {MAX_TEXTS} texts')
    if not all(isinstance(value, str) and value.strip() and len(value) <= MAX_TEXT for value in values):
        raise ValueError(f'its {key} are no texts of 1 to {MAX_TEXT} characters')
    return tuple(dict.fromkeys(map(clean_text, values)))


def _check(decision: Decision, made: MadeTask, digest: object) -> None:
    """Checks that a decision is on the present state of its task, and that an edit keeps the gold right."""
    if decision.choice == UNDECIDED or _is_done(decision, made):
        return
    if digest != task_digest(made):
        raise ValueError('the task has changed since the page was written')
    edit, goal = decision.edit, made.goal
    if edit is None:
        return
    answer = plain_text(goal.answer)
    for fact in edit.facts:
        if answer and fact not in goal.facts and not holds_fact(answer, fact):
            raise ValueError(f"the task's right answer does not hold the fact {fact!r}")
    gold = {call.name for call in made.task.gold or ()}
    for name in edit.forbidden:
        if name not in goal.forbidden and name not in made.task.schemas:
            raise ValueError(f'the forbidden tool {name!r} is not offered')
        if name in gold:
            raise ValueError(f'the forbidden tool {name!r} is one of the gold calls')


def _is_done(decision: Decision, made: MadeTask) -> bool:
    """Returns whether an edit was carried out before."""
    return decision.edit is not None and made.is_reviewed and decision.edit == Edit.of_task(made)


def carry_out(made: MadeSet, reviews: Sequence[Review]) -> Outcome:
    """Carries out decisions; carried out again, they change nothing.

    A task that several reviewers decided is accepted, edited or dropped only where they agree, in the texts too.

    Args:
        made: The set that the reviews were read for.
        reviews: One per reviewer.

    Raises:
        ValueError: Two reviews are by one reviewer.
    """
    names = [review.reviewer for review in reviews]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'two decisions files are by {double!r}: give the latest of them')
    tasks: list[MadeTask] = []
    new: list[Dropped] = []
    counts = dict.fromkeys((ACCEPT, EDIT, DROP), 0)
    disagreements, other_texts = [], []
    known = {one.id for one in made.dropped if one.stage == REVIEW_STAGE}
    for task in made.tasks:
        name = task.task.id
        decided = {review.reviewer: review.decisions[name] for review in reviews if name in review.decisions}
        texts = {decision.edit or Edit.of_task(task) for decision in decided.values()}
        drops = sum(decision.choice == DROP for decision in decided.values())
        if 0 < drops < len(decided):
            disagreements.append(name)
        elif not drops and len(texts) > 1:
            other_texts.append(name)
        elif drops:
            counts[DROP] += 1
            if name not in known:
                new.append(Dropped(name, REVIEW_STAGE, DROPPED_REASON, '\n'.join(_notes(decided))))
            continue
        elif decided:
            counts[EDIT if any(decision.edit for decision in decided.values()) else ACCEPT] += 1
            task = _keep(task, decided)
        tasks.append(task)
    present = {task.task.id for task in made.tasks}
    counts[DROP] += len({name for review in reviews for name in review.decisions} - present)  # dropped before
    after = replace(made, tasks=tuple(tasks), dropped=(*made.dropped, *new))
    return Outcome(
        after,
        counts,
        tuple(disagreements),
        tuple(other_texts),
        sum(not task.is_reviewed for task in tasks),
        tuple(_kappa(first, second) for first, second in combinations(reviews, 2)),
    )


def _keep(made: MadeTask, decided: Mapping[str, Decision]) -> MadeTask:
    """Accepts a task in the texts that its reviewers agree in."""
    new = {reviewer: decision for reviewer, decision in decided.items() if not _is_done(decision, made)}
    if not new:
        return made
    before = Edit.of_task(made)
    text = next(iter(new.values())).edit or before
    changed = [name for name, one, other in zip(Edit._fields, before, text, strict=True) if one != other]
    notes = [made.comment] if made.comment else []
    notes += [note for note in _notes(new, changed) if note not in made.comment]
    return replace(text.apply(made), is_reviewed=True, comment='\n'.join(notes))


def _notes(decided: Mapping[str, Decision], changed: Sequence[str] = ()) -> list[str]:
    """Returns a line per reviewer who says or changes something."""
    notes = []
    for reviewer, decision in decided.items():
        what = f' changed {", ".join(changed)}' if decision.edit and changed else ''
        if what or decision.comment:
            notes.append(f'{reviewer}{what}{": " if decision.comment else ""}{decision.comment}')
    return notes


def _kappa(first: Review, second: Review) -> Kappa:
    both = [name for name in first.decisions if name in second.decisions]
    ratings = ([review.decisions[name].choice == DROP for name in both] for review in (first, second))
    return Kappa((first.reviewer, second.reviewer), len(both), cohen_kappa(*ratings))
