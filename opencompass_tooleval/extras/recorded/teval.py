"""Reads recorded answers to T-Eval for ``tooleval score``."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.progress import track

from opencompass_tooleval.benchmarks.teval.data import TABLE, find_subset, load_samples, split_stem
from opencompass_tooleval.benchmarks.teval.prompts import native_samples
from opencompass_tooleval.benchmarks.teval.reading import POSTPROCESSORS
from opencompass_tooleval.benchmarks.teval.scoring import TEvalCallsScorer, TEvalScorer
from opencompass_tooleval.benchmarks.teval.tables import VERSIONS
from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.embedding.locate import is_official
from opencompass_tooleval.extras.recorded.right_subset import check_name, check_prompts
from opencompass_tooleval.work_dir.printing import Screen
from opencompass_tooleval.work_dir.recorded import load_recorded

logger = logging.getLogger(__name__)


def _version_and_language(data: Path, subset: str, protocol: str | None) -> tuple[str, str]:
    """Returns data version and language from the file's name; else the protocol's version and EN, with a warning."""
    try:
        file_subset, version, language = split_stem(data.stem)
    except ValueError:
        version, language = protocol or 'v1', 'ZH' if data.stem.endswith('_zh') else 'EN'
        logger.warning(
            '%s has no name such as plan_json_v2_zh.json: treated as %s, %s; --protocol and --encoder change this',
            data,
            version,
            language,
        )
        return version, language
    if file_subset != subset:
        raise DataError(data, f'according to its name this is {file_subset}, not {subset}')
    return version, language


def _progress(items: Sequence[Any]) -> Iterable[Any]:
    return track(items, description='scoring', console=Screen(stderr=True), transient=True)


def read(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path, "T-Eval's data file."],
    protocol: Annotated[Literal['v1', 'v2'] | None, 'Default: that of the data file.'] = None,
    scoring: Annotated[Literal['official', 'strict'], 'As published, or with its quirks fixed.'] = 'official',
    postprocessor: Annotated[Literal['v1', 'v2', 'clean'] | None, 'Default: that of the data file.'] = None,
    encoder: Annotated[
        str | None, "'offline', a folder or a hub id; default: $TOOLEVAL_ENCODER or the official encoder."
    ] = None,
    method: Annotated[
        Literal['function_calling'] | None, 'If the answers are native calls, in `calls` of their rows.'
    ] = None,
) -> RecordedRun:
    """Reads recorded answers: a file, or a folder with one file per record.

    Raises:
        DataError: Data or predictions are missing, damaged, or do not belong together.
        EncoderMissingError: An encoder is needed and is not on this machine; the files are valid.
        ValueError: The subset does not exist.
    """
    find_subset(subset)
    version, language = _version_and_language(data, subset, protocol)
    samples = load_samples(data, subset, version)
    recorded = load_recorded(predictions)
    answers = recorded.in_order([sample.record.id for sample in samples])
    is_named = check_name(predictions, subset, [other.name for other in TABLE], recorded=recorded)
    records: list[Any] = [sample.record for sample in samples]
    if method:
        records = [native.record for native in native_samples(samples, language, data)]
    else:
        check_prompts(recorded, subset, {sample.record.id: sample.messages for sample in samples}, is_named)
    make_scorer = TEvalCallsScorer if method else TEvalScorer
    scorer = make_scorer(subset, version, language, protocol, scoring, encoder)
    scorer.progress = _progress
    name, files = postprocessor or VERSIONS[version], scorer.encoder
    foreign = files is not None and not is_official(files.name, language)
    return RecordedRun(
        scorer,
        records,
        answers,
        '{subset} {language}, {protocol}',
        ('language', 'protocol', 'scoring', 'encoder', 'version', *(['method'] if method else [])),
        {'data_version': version, 'postprocessor': name},
        notes=[f'the encoder is {files.name!r}: not comparable with the leaderboard'] if files and foreign else [],
        postprocess=list if method else lambda texts: [POSTPROCESSORS[name](Answer(text)).text for text in texts],
    )
