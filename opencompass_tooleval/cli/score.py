"""``tooleval score``: recorded answers to numbers, without OpenCompass."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.cli.right_subset import check_name, check_prompts, warn_if_unread
from opencompass_tooleval.core.aggregate import Aggregate, aggregate
from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.embedding.encoder import EncoderSimilarity
from opencompass_tooleval.embedding.locate import EncoderFiles, choose_encoder, is_official, locate_encoder
from opencompass_tooleval.sweep.recorded import load_recorded
from opencompass_tooleval.teval import VERSION
from opencompass_tooleval.teval.answers import POSTPROCESSORS
from opencompass_tooleval.teval.protocol import Protocol, protocol_of_version
from opencompass_tooleval.teval.records import TABLE, find_subset, load_samples, split_stem
from opencompass_tooleval.teval.scoring import score_answers

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoreRequest:
    """What ``tooleval score teval`` was asked; the fields are its options."""

    subset: str
    data: Path
    predictions: Path
    protocol: str | None
    scoring: str
    postprocessor: str | None
    encoder: str | None
    json_out: str | None
    details: Path | None


def _version_and_language(request: ScoreRequest) -> tuple[str, str]:
    """Data version and language from the file's name; where it does not say, the protocol's and EN, with a warning."""
    try:
        subset, version, language = split_stem(request.data.stem)
    except ValueError:
        version, language = request.protocol or 'v1', 'ZH' if request.data.stem.endswith('_zh') else 'EN'
        logger.warning(
            '%s has no name such as plan_json_v2_zh.json: taken for %s, %s; --protocol and --encoder say otherwise',
            request.data,
            version,
            language,
        )
        return version, language
    if subset != request.subset:
        raise DataError(request.data, f'by its name this is {subset}, not {request.subset}')
    return version, language


def _progress(console: Console) -> Callable[[Sequence[Any]], Iterable[Any]]:
    return lambda items: track(items, description='scoring', console=console, transient=True)


@dataclass(frozen=True)
class _Rules:
    """What the numbers depend on."""

    protocol: Protocol
    version: str
    language: str
    postprocessor: str
    encoder: EncoderFiles | None


def _result(request: ScoreRequest, rules: _Rules, total: Aggregate) -> dict[str, Any]:
    return {
        'benchmark': 'teval',
        'subset': request.subset,
        'language': rules.language,
        'protocol': rules.protocol.name,
        'scoring': rules.protocol.scoring,
        'encoder': rules.encoder.name if rules.encoder else None,
        'version': VERSION,
        'samples': total.samples,
        'metrics': total.metrics,
        'reasons': total.reasons,
        'standard_errors': total.standard_errors,
        'data_version': rules.version,
        'postprocessor': rules.postprocessor,
    }


def score_teval(request: ScoreRequest) -> None:
    """Scores recorded answers and prints or writes what was asked for.

    Raises:
        DataError: Data or predictions are missing, damaged, or do not belong together.
        EncoderMissingError: An encoder is needed and is not on this machine.
    """
    check_outputs(request.json_out, request.details)
    subset = find_subset(request.subset)
    version, language = _version_and_language(request)
    protocol = Protocol(request.protocol or protocol_of_version(version), request.scoring)
    needed = protocol.needs_encoder(subset)
    encoder = locate_encoder(choose_encoder(request.encoder, language)) if needed else None
    rules = _Rules(protocol, version, language, request.postprocessor or protocol_of_version(version), encoder)

    samples = load_samples(request.data, request.subset, version)
    recorded = load_recorded(request.predictions)
    recorded.check_complete([sample.record.id for sample in samples])
    is_named = check_name(request.predictions, subset.name, [row.name for row in TABLE], recorded=recorded)
    prompts = {sample.record.id: sample.messages for sample in samples}
    check_prompts(recorded, subset.name, prompts, is_named)
    postprocess = POSTPROCESSORS[rules.postprocessor]
    answers: list[Answer] = [
        postprocess(recorded.answer(sample.record.id, position)) for position, sample in enumerate(samples)
    ]

    console = Console(stderr=True)
    similarity = EncoderSimilarity(encoder, default_cache()) if encoder else None
    records = [sample.record for sample in samples]
    scores = score_answers(records, answers, protocol, similarity, _progress(console))
    warn_if_unread(scores, request.predictions, subset.name)
    result = _result(request, rules, aggregate(scores, subset.metrics))
    write_outputs(result, scores, request.json_out, request.details)
    if request.json_out != STDOUT:
        shown = Console()
        title = f'T-Eval {subset.name} {language}, {protocol.name}, {len(scores)} samples'
        print_metrics(title, result, shown)
        shown.print(counts_line('reasons', result['reasons']), markup=False)
    if encoder and not is_official(encoder.name, language):
        console.print(f'NOTE the encoder is {encoder.name!r}: not comparable with the leaderboard', markup=False)
