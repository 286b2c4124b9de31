"""Runs the dialogues of :mod:`opencompass_tooleval.extras.preparing.generate` with any OpenCompass model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.preparing.generate import Generated, Options, assemble, describe, exemplify, merge
from opencompass_tooleval.extras.preparing.reply import Description
from opencompass_tooleval.extras.preparing.split import Limit, split
from opencompass_tooleval.judging.judge import settings_hash
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.model_config import build_model
from opencompass_tooleval.tasks.read_config import read_config
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.work_dir.names import answers_folder
from opencompass_tooleval.work_dir.store import AnswerStore

DEFAULT_OUT_LEN = 1024
DEFAULT_BATCH = 64

_NOT_BUILT = ('max_out_len', 'batch_size')
_BYTES_PER_TOKEN = 3
"""Estimate for models without a tokenizer. English JSON has about four, so prompts become shorter than needed."""


@dataclass
class Generation:
    """Result of a run.

    Attributes:
        generated: Instructions in the documentation's order, only for tools with an answer to every request.
        failed: Tool -> ``infra:...`` reason of a request without an answer.
        calls: Number of requests of this run.
        from_earlier_run: Number of answers that an earlier run had stored.
        tokens: Tokens of this run's prompts and answers.
        split: Tools whose documentation was split over several requests.
    """

    generated: list[Generated] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    from_earlier_run: int = 0
    tokens: int = 0
    split: list[str] = field(default_factory=list)


def load_model_cfg(path: Path) -> dict[str, Any]:
    """Reads the first model of a config file.

    Raises:
        DataError: The file is missing, or has no ``models``.
    """
    if not path.is_file():
        raise DataError(path, 'the config is missing')
    config = read_config(path, lambda name: name.endswith('models'))
    models = config.get('models') or next((value for name, value in config.items() if name.endswith('_models')), None)
    if not models:
        raise DataError(path, 'the config has no models', fix='add models = [dict(type=..., path=...)]')
    return dict(models[0])


def store_of(out: Path, cfg: Mapping[str, Any]) -> AnswerStore:
    """Returns the store of the answers for ``out``; it depends on the model and its settings."""
    return AnswerStore(answers_folder(out.with_name(f'{out.name}.{settings_hash(cfg)}.json'))).restored()


def _counter(model: Any) -> Callable[[str], int]:
    """Returns a function that counts the tokens of a text, with the model's tokenizer if it has one."""
    if getattr(model, 'tokenizer', None) is not None:
        return lambda text: int(model.get_token_len(text))
    return lambda text: -(-len(text.encode('utf-8', 'replace')) // _BYTES_PER_TOKEN)


def _limit(model: Any, max_out_len: int) -> Limit:
    context = getattr(model, 'max_seq_len', None)
    if context and context <= max_out_len:
        raise ValueError(f'max_out_len {max_out_len} leaves no space for a prompt: max_seq_len is {context}')
    return Limit(context - max_out_len if context else None, _counter(model))


def generate(docs: Sequence[ToolDoc], cfg: Mapping[str, Any], store: AnswerStore, variant: str) -> Generation:
    """Makes the instructions of all tools: first all descriptions, then examples for all functions.

    :class:`DialogueRunner` runs each stage and shows a progress bar with the tokens spent. Answers are stored before
    they are used; after a kill only unanswered requests are repeated.

    Args:
        docs: The documentation.
        cfg: Config of an OpenCompass model, with ``max_out_len`` and ``batch_size``.
        store: Stores the answers; the caller removes it.
        variant: Wording of the prompts.
    """
    model = build_model({name: value for name, value in cfg.items() if name not in _NOT_BUILT})
    max_out_len = int(cfg.get('max_out_len') or DEFAULT_OUT_LEN)
    batch_size = int(cfg.get('batch_size') or DEFAULT_BATCH)
    options = Options(variant, _limit(model, max_out_len))
    generation = Generation()

    def runner(description: str) -> DialogueRunner:
        return DialogueRunner(model, store, max_out_len, batch_size, 'easytool', description=description)

    parts = {doc.name: split(doc, options.limit, variant) for doc in docs}
    generation.split = [name for name, several in parts.items() if len(several) > 1]
    first = runner('descriptions')
    described = first.run({
        f'{name}#{number}': describe(part, options)
        for name, several in parts.items()
        for number, part in enumerate(several)
    })  # fmt: skip
    descriptions: dict[str, Description] = {}
    for doc in docs:
        answers = [described[f'{doc.name}#{number}'] for number in range(len(parts[doc.name]))]
        if not _note_failures(generation, doc, answers):
            descriptions[doc.name] = merge(doc, [answer.value for answer in answers if answer.value])

    second = runner('examples')
    exemplified = second.run({
        _dialogue(doc, function): exemplify(doc, function, descriptions[doc.name], options)
        for doc in docs
        if doc.name in descriptions
        for function in doc.functions
    })  # fmt: skip
    for doc in docs:
        if doc.name not in descriptions:
            continue
        examples = {function.name: exemplified[_dialogue(doc, function)] for function in doc.functions}
        if not _note_failures(generation, doc, list(examples.values())):
            values = {name: answer.value for name, answer in examples.items() if answer.value is not None}
            generation.generated.append(assemble(doc, descriptions[doc.name], values))
    generation.calls = first.calls + second.calls
    generation.tokens = first.tokens + second.tokens
    outcomes: list[Outcome[Any]] = [*described.values(), *exemplified.values()]
    answered = sum(len(outcome.answers) + (outcome.infra is not None) for outcome in outcomes)
    generation.from_earlier_run = answered - generation.calls
    return generation


def _dialogue(doc: ToolDoc, function: FunctionDoc) -> str:
    return json.dumps([doc.name, function.name], ensure_ascii=False)  # names may contain any character


def _note_failures(generation: Generation, doc: ToolDoc, outcomes: Sequence[Outcome[Any]]) -> bool:
    reasons = [outcome.infra for outcome in outcomes if outcome.infra]
    if reasons:
        generation.failed[doc.name] = reasons[0]
    return bool(reasons)
