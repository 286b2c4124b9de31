"""Reads T-Eval's plans as tasks: the queries that the authors' agent ran step by step (section 4.3)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from opencompass_tooleval.agents.tasks.errata import Erratum, check_gold
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.teval.data import FINISH, FIX, PlannedCall, Sample, load_samples, split_stem
from opencompass_tooleval.benchmarks.teval.prompts import tool_schema
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.tool_docs.api_list import find_api_list

_PLAN = 'plan_json'


def read_teval_tasks(file: Path, subset: str, errata: list[Erratum], change: Change | None = None) -> list[Task]:
    """Reads the tasks of a file: APIs from the system prompt, gold calls from the plan.

    Args:
        file: A file with its published name, such as ``plan_json_v1.json``.
        subset: Name of the subset.
        errata: Receives the errors in the data.
        change: Changes the raw records for a variant.

    Raises:
        DataError: The file is missing or damaged; the error names the record.
    """
    try:
        plan, _, _ = split_stem(file.stem)
    except ValueError as error:
        raise DataError(file, str(error), fix=FIX) from error
    if plan != _PLAN:
        raise DataError(file, f"the tasks are read from {_PLAN} files, such as '{_PLAN}_v1.json'", fix=FIX)
    return [_task(sample, file, subset, errata) for sample in load_samples(file, plan, '', change)]


def plan_calls(sample: Sample) -> list[GoldCall]:
    """Returns the gold calls of a T-Eval plan in order, without the call that ends it."""
    steps = cast(tuple[PlannedCall, ...], sample.record.gold)
    return [GoldCall(step.name, parse_literal(step.args).value) for step in steps if step.name != FINISH]


def _task(sample: Sample, file: Path, subset: str, errata: list[Erratum]) -> Task:
    record_id = sample.record.id
    system = (message.content for message in sample.messages if message.role == 'system')
    apis = next((span.apis for text in system if (span := find_api_list(text))), ())
    queries = [message.content for message in sample.messages if message.role == 'user']
    documents = {str(api['name']): api for api in apis}
    if not documents or not queries:
        raise DataError(file, 'the system message with APIs or the query is missing', record_id, FIX)
    tools = {name: tool_schema(api) for name, api in documents.items()}
    gold = []
    for call in plan_calls(sample):
        parameters = tools[call.name].parameters if call.name in tools else None
        published = GoldCall(call.name, call.arguments if isinstance(call.arguments, dict) else {})
        checked, kinds = check_gold(published, parameters)
        errata += [Erratum(record_id, call.name, kind) for kind in kinds]
        gold.append(checked)
    return Task(record_id, subset, queries[-1], tuple(tools.values()), tuple(gold), documents)
