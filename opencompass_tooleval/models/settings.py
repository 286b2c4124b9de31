"""Checks the models and data sets of a config before anything is paid for: keywords, types, addresses, and names.

A keyword that no class reads has no effect, or ends every task after the engines have started. If two models, or two
data sets, have one name, the files of one overwrite those of the other. Of classes of other packages, only the names
are checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import signature
from itertools import product
from types import SimpleNamespace
from typing import Any

from opencompass import registry
from opencompass.datasets.base import BaseDataset
from opencompass.openicl import DatasetReader
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.core.keywords import Keyword, initializers, keyword_faults, keywords_of
from opencompass_tooleval.core.scoring.prices import BUDGET, budget_of, read_prices
from opencompass_tooleval.core.scoring.sampling_settings import STORED_ANSWERS, StoredAnswers
from opencompass_tooleval.core.text.redaction import excerpt
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.models.budget import priced, sends_nothing
from opencompass_tooleval.models.literal_keys import is_secret, other_models
from opencompass_tooleval.models.model_config import PRICES
from opencompass_tooleval.models.sampling import GREEDY, config_sampling, contradiction

_PACKAGE = __name__.partition('.')[0]
_TYPE = 'type'

_OF_MODEL = {
    'abbr': Keyword(str),
    'batch_size': Keyword(int),
    'max_out_len': Keyword(int | None),
    'min_out_len': Keyword(int | None),
    'pred_postprocessor': Keyword(Mapping | None),
    'run_cfg': Keyword(Mapping),
    'summarizer_abbr': Keyword(str),
    PRICES: Keyword(Mapping | None),
    BUDGET: Keyword(Mapping | None),
    STORED_ANSWERS: Keyword(str),
}
"""Keywords of a model's config that OpenCompass and this package read, and that do not reach the model's class."""

_OF_RUN = {'num_gpus': Keyword(int), 'num_procs': Keyword(int)}
_OF_DATASET = {'abbr': Keyword(str), 'infer_cfg': Keyword(Mapping), 'eval_cfg': Keyword(Mapping)}
_OF_INFERENCE = dict.fromkeys(('prompt_template', 'ice_template', 'retriever', 'inferencer'), Keyword(Mapping))
_OF_EVALUATION = {
    **dict.fromkeys(('evaluator', 'pred_postprocessor', 'dataset_postprocessor'), Keyword(Mapping)),
    'pred_role': Keyword(str),
    **_OF_RUN,
}

_REGISTRIES = {
    'model': registry.MODELS,
    'data set': registry.LOAD_DATASET,
    'inferencer': registry.ICL_INFERENCERS,
    'evaluator': registry.ICL_EVALUATORS,
    'prompt_template': registry.ICL_PROMPT_TEMPLATES,
    'pred_postprocessor': registry.TEXT_POSTPROCESSORS,
    'partitioner': registry.PARTITIONERS,
    'runner': registry.RUNNERS,
}
"""Part of a config -> the registry of its ``type``. Parts of others are named by module and name."""

_ROOTS = (_PACKAGE, 'opencompass')
_CONCURRENT = 'OpenICLInferConcurrentTask'
_COUNTING_TASKS = {'infer': 'ToolEvalInferTask', 'eval': 'ToolEvalEvalTask'}
_MOST_NAMED = 5
_LONGEST_NAME, _SHOWN_OF_NAME = 200, 60
_MODELS_PAGE = 'docs/reference/models.md'


def setting_faults(models: Sequence[Any], datasets: Sequence[Any]) -> list[Finding]:
    """Returns the faults of the models and data sets of a config.

    Args:
        models: Configs of models.
        datasets: Configs of data sets, each with its inferencer and evaluator, and their judges and simulators.
    """
    faults: list[Finding] = []
    for role, rows, name_of, check in (
        ('model', models, model_abbr_from_cfg, _model_faults),
        ('data set', datasets, dataset_abbr_from_cfg, _dataset_faults),
    ):
        names = [_name(row, name_of) for row in rows]
        faults += _shared_names(role, rows, names)
        faults += _unusable_names(role, names)
        for index, row in enumerate(rows):
            if isinstance(row, Mapping):
                faults += [found('config:setting', names[index], text) for text in check(row)]
    return [*faults, *_contradictions(models, datasets), *_budget_faults(models, datasets)]


def faults_of_rows(config: Mapping[str, Any]) -> list[Finding]:
    """Returns the faults of the models and data sets of a config."""
    return setting_faults(config.get('models') or (), config.get('datasets') or ())


def component_faults(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields the faults of the partitioners, runners, tasks and summarizer of a config."""
    parts = {'summarizer': config.get('summarizer')}
    for stage in ('infer', 'eval'):
        for part in ('partitioner', 'runner'):
            parts[f'{stage}.{part}'] = (config.get(stage) or {}).get(part)
    task = ((parts['infer.runner'] or {}).get('task') or {}).get(_TYPE)
    if str(getattr(task, '__name__', task)).endswith(_CONCURRENT) and any(map(_is_asked_by_us, config['datasets'])):
        yield found(
            'config:part',
            'infer.runner.task',
            f"OpenCompass's {_CONCURRENT} refuses the inferencers of this package: set "
            "type='opencompass_tooleval.tasks.ToolEvalInferTask', which sends max_workers requests at a time",
        )
    if any(isinstance(model, Mapping) and model.get(BUDGET) for model in config.get('models') or ()):
        for stage, ours in _COUNTING_TASKS.items():
            kind = ((parts[f'{stage}.runner'] or {}).get('task') or {}).get(_TYPE)
            if str(getattr(kind, '__name__', kind)).rpartition('.')[2].startswith('OpenICL'):
                fix = f"set type='opencompass_tooleval.tasks.{ours}'"
                yield found('config:part', f'{stage}.runner.task', f"OpenCompass's own task counts no budget: {fix}")
    for where, part_cfg in parts.items():
        if isinstance(part_cfg, Mapping):
            part = where.rpartition('.')[2]
            yield from (found('config:part', where, text) for text in _faults_of_part(part_cfg, part, {}))


def unused_settings(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a note for each setting of a model that has no effect, without being a fault."""
    for model in (model for model in config.get('models') or () if isinstance(model, Mapping)):
        notes_of = getattr(class_of(model, 'model'), 'setting_notes', None) or (lambda _: ())
        yield from (found('config:unused', name_of_model(model), note) for note in notes_of(model))


def _is_asked_by_us(dataset: Any) -> bool:
    """Tests if a data set has an inferencer of this package."""
    inferencer = (dataset.get('infer_cfg') or {}).get('inferencer') if isinstance(dataset, Mapping) else None
    return isinstance(inferencer, Mapping) and _is_ours(class_of(inferencer, 'inferencer'))


def _contradictions(models: Sequence[Any], datasets: Sequence[Any]) -> Iterator[Finding]:
    """Yields a fault for each model whose sampling contradicts the temperature of a data set."""
    inferencers = (dataset['infer_cfg']['inferencer'] for dataset in datasets if _is_asked_by_us(dataset))
    asked = {inferencer.get('temperature') for inferencer in inferencers}
    for model in models:
        for temperature in asked if isinstance(model, Mapping) else ():
            is_number = isinstance(temperature, (int, float))
            why = getattr(class_of(model, 'model'), 'why_no_temperature', None)
            view = SimpleNamespace(**{**model, 'no_temperature': why(model) if why else ''})
            if is_number and (fault := contradiction(view, temperature)):
                yield found('config:setting', name_of_model(model), fault)


def is_greedy(model: Mapping[str, Any], temperature: float | None) -> bool:
    """Tests if a record gets the same answer each time, by the configs; False if that is unknown.

    Args:
        model: The model's config.
        temperature: Temperature of the data set's config; None if it sets none.
    """
    kind = class_of(model, 'model')
    why = getattr(kind, 'why_no_temperature', None)
    if sends_nothing(model) or (why and why(model)):
        return sends_nothing(model)
    of_model = config_sampling(SimpleNamespace(**model))[0]
    chosen = temperature if of_model is None else of_model
    if chosen is None:  # models of this package then ask for temperature 0
        return _is_ours(kind) and not (model.get('generation_kwargs') or {}).get('do_sample')
    return chosen <= GREEDY


def _budget_faults(models: Sequence[Any], datasets: Sequence[Any]) -> Iterator[Finding]:
    """Yields the faults of data sets whose requests the budget of a model could not count."""
    asking = [model for model in models if isinstance(model, Mapping) and model.get(BUDGET)]
    for dataset in datasets if asking else ():
        name = _name(dataset, dataset_abbr_from_cfg)
        if not _is_asked_by_us(dataset):
            text = "the budget of a model does not count the requests of OpenCompass's own inferencer"
            yield found('config:budget', name, f'{text}: leave out this data set, or budget')
        for (role, other), model in product(other_models(dataset), asking):
            if isinstance(other, Mapping) and (fault := budget_fault(model, other)):
                yield found('config:budget', name, f'{role} {fault}')


def budget_fault(model: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Returns the fault of a judge or simulator that the budget of a model could not pay for; '' for none."""
    try:
        if (budget := budget_of(model)) and not other.get(BUDGET) and not sends_nothing(other):
            priced(budget, other)
    except ValueError as error:
        return str(error)
    return ''


def name_of_model(model: Any) -> str:
    """Returns the abbr of a model, or one of its path; '' if it has neither."""
    return _name(model, model_abbr_from_cfg)


def is_class_of_package(cfg: Mapping[str, Any], part: str) -> bool:
    """Tests if the ``type`` of a part of a config is a class of this package."""
    return _is_ours(class_of(cfg, part))


def _name(row: Any, name_of: Any) -> str:
    try:
        return str(name_of(row))
    except (KeyError, TypeError, AttributeError):  # neither abbr nor path
        return ''


def _unusable_names(role: str, names: Sequence[str]) -> Iterator[Finding]:
    """Yields a fault for each name that files and screens cannot show."""
    for name in names:
        if len(name) > _LONGEST_NAME or not name.isprintable():
            text = f'this name has more than {_LONGEST_NAME} letters, or control characters: set another abbr'
            yield found('config:setting', f'{role} {excerpt(name, _SHOWN_OF_NAME)}', text)


def _shared_names(role: str, rows: Sequence[Any], names: Sequence[str]) -> Iterator[Finding]:
    """Yields a fault if several rows have one name."""
    indices: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        indices.setdefault(name, []).append(index)
    shared = {name: those for name, those in indices.items() if name and len(those) > 1}
    if not shared:
        return
    variable = 'models' if role == 'model' else 'datasets'
    shown = [f'{name!r}: {_locations(variable, rows, those)}' for name, those in list(shared.items())[:_MOST_NAMED]]
    more = f'; and {len(shared) - len(shown)} more names' if len(shared) > len(shown) else ''
    plural = 'the name' if len(shared) == 1 else f'{len(shared)} names'
    text = (
        f'several {role}s have {plural} ({"; ".join(shown)}{more}); answers and scores are stored by name, and those '
        'of one would be lost'
    )
    yield found('config:name', '', text)


def _locations(variable: str, rows: Sequence[Any], indices: Sequence[int]) -> str:
    """Formats the places of rows with one name, and the first setting in which they differ."""
    first = rows[indices[0]]
    other = next((rows[index] for index in indices[1:] if rows[index] != first), None)
    where = [f'{variable}[{index}]' for index in indices]
    if other is None:
        return f'{" and ".join(where)}, which are the same'
    keys = [*first, *(key for key in other if key not in first)]
    key = next(key for key in keys if first.get(key) != other.get(key))
    hide = is_secret(str(key))
    values = ('...' if hide else _short(rows[index].get(key)) for index in indices)
    return ' and '.join(f'{location} ({key}={value})' for location, value in zip(where, values, strict=True))


def _short(value: Any) -> str:
    text = getattr(value, '__name__', None) or repr(value)
    return text if len(text) <= 60 else f'{text[:60]}...'


def _model_faults(cfg: Mapping[str, Any]) -> Iterator[str]:
    yield from _faults_of_part(cfg, 'model', _OF_MODEL)
    run_cfg = cfg.get('run_cfg')
    kind = class_of(cfg, 'model')
    if _is_ours(kind) and isinstance(run_cfg, Mapping):
        yield from keyword_faults(run_cfg, _OF_RUN, 'run_cfg')
    try:
        read_prices(cfg.get(PRICES))
        StoredAnswers.of(cfg, {})
        if budget_of(cfg) and isinstance(run_cfg, Mapping) and run_cfg.get('num_procs', 1) > 1:
            yield 'budget: one process has to count the tokens of the model: set num_procs=1 in its run_cfg'
    except ValueError as error:
        yield str(error)
    yield from _faults_of_roles(cfg.get('meta_template'))


def _faults_of_roles(template: Any) -> Iterator[str]:
    """Yields the parts of an API model's ``meta_template`` that are not sent, since conversations have their own."""
    if not isinstance(template, Mapping):
        return
    rows = [row for part in ('round', 'reserved_roles') for row in template.get(part) or () if isinstance(row, Mapping)]
    if not any('api_role' in row for row in rows):
        return
    for name in ('begin', 'end'):
        if template.get(name):
            yield f"meta_template: {name} is not sent with conversations: set system_prompt='...' of the model instead"
    for row in rows:
        if row.get('api_role') != row.get('role') or any(row.get(name) for name in ('begin', 'end', 'prompt')):
            yield (
                f'meta_template: messages of {str(row.get("role"))[:50]!r} are sent as data sets have them: give its '
                'role alone, with the same api_role'
            )


def _dataset_faults(cfg: Mapping[str, Any]) -> Iterator[str]:
    yield from _faults_of_part(cfg, 'data set', _OF_DATASET)
    infer_cfg, eval_cfg = (cfg.get(name) for name in ('infer_cfg', 'eval_cfg'))
    if _is_ours(class_of(cfg, 'data set')):
        for settings, keywords, reader in (
            (infer_cfg, _OF_INFERENCE, 'infer_cfg'),
            (eval_cfg, _OF_EVALUATION, 'eval_cfg'),
            (cfg.get('reader_cfg'), _keywords(DatasetReader), 'reader_cfg'),
        ):
            if isinstance(settings, Mapping):
                yield from keyword_faults(settings, keywords, reader)
    for part in (infer_cfg, eval_cfg):
        if isinstance(part, Mapping):
            for name, value in part.items():
                yield from _faults_below(str(name), value)
    for role, other in other_models([cfg]):
        if isinstance(other, Mapping):
            yield from (f'{role} {name_of_model(other)}: {text}' for text in _model_faults(other))


def _faults_below(name: str, cfg: Any) -> Iterator[str]:
    """Yields the faults of a part of a data set's config, and of the parts in it; models are not among them."""
    if not isinstance(cfg, Mapping) or 'judge' in name or name == 'simulator':
        return
    if _TYPE in cfg:
        yield from _faults_of_part(cfg, name, {})
    for key, value in cfg.items():
        yield from _faults_below(str(key), value)


def _faults_of_part(cfg: Mapping[str, Any], part: str, more: Mapping[str, Keyword]) -> Iterator[str]:
    """Yields the faults of a config with a ``type``; none if that is not of this package.

    Args:
        cfg: The config.
        part: Its name: ``model``, ``data set``, or its key in the config of a data set.
        more: Keywords that others read.
    """
    kind = class_of(cfg, part)
    if kind is None and isinstance(cfg.get(_TYPE), str):
        yield from _type_fault(cfg[_TYPE], part)
    if not _is_ours(kind):
        return
    settings = {name: value for name, value in cfg.items() if name != _TYPE}
    keywords = {**_keywords_read(kind, settings), **more}
    page = {'page': _MODELS_PAGE} if part == 'model' else {}
    yield from keyword_faults(settings, keywords, kind.__name__, is_secret, **page)
    if part == 'model':
        required = (one.name for one in signature(kind).parameters.values() if one.default is one.empty)
        yield from (f'{kind.__name__} needs {name}' for name in required if name in keywords and name not in settings)
    if hasattr(kind, 'check_settings'):
        yield from kind.check_settings(
            {name: value for name, value in settings.items() if name in keywords and keywords[name].accepts(value)}
        )


def _keywords_read(kind: Any, settings: Mapping[str, Any]) -> Mapping[str, Keyword]:
    """Returns the keywords that a class of this package reads.

    If a class passes further keywords to another class, its ``reader_of_others(settings)`` returns that class.
    """
    others = kind.reader_of_others(settings) if hasattr(kind, 'reader_of_others') else None
    return {**(_keywords(others) if others else {}), **_keywords(kind)}


@cache
def _keywords(kind: Any) -> Mapping[str, Keyword]:
    if not isinstance(kind, type):
        return keywords_of([kind])
    if issubclass(kind, BaseDataset):
        return keywords_of([getattr(kind, 'load'), *initializers(kind)])  # noqa: B009  # opencompass is untyped
    return keywords_of(initializers(kind))


def _is_ours(kind: Any) -> bool:
    return str(getattr(kind, '__module__', '')).partition('.')[0] == _PACKAGE


API_TASKS = 8
"""Maximum number of tasks of API models at once, unless ``max_num_workers`` is set."""


def runs_beside_others(model: Mapping[str, Any]) -> bool:
    """Tests if tasks of a model may run beside others: its class asks a server, which it does not start, or replays."""
    kind = class_of(model, 'model')
    return bool(getattr(kind, 'runs_beside_others', getattr(kind, 'is_api', False)))


def needs_encoder(dataset: Mapping[str, Any]) -> bool:
    """Tests if the evaluator of a data set may load a sentence encoder."""
    evaluator = (dataset.get('eval_cfg') or {}).get('evaluator') or {}
    kind = class_of(evaluator, 'evaluator')
    return isinstance(kind, type) and 'encoder' in signature(kind).parameters


def class_of(cfg: Mapping[str, Any], part: str) -> Any:
    """Returns the class, or function, that a config's ``type`` names; None if it cannot be found."""
    kind = cfg.get(_TYPE)
    if not isinstance(kind, str):
        return kind
    module, _, name = kind.rpartition('.')
    if not module:
        return _REGISTRIES[part].module_dict.get(name) if part in _REGISTRIES else None
    if module.partition('.')[0] not in _ROOTS:
        return object  # of the user: found, or not, where it is used
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


def _type_fault(kind: str, part: str) -> Iterator[str]:
    """Yields the fault of a ``type`` that does not exist: one of this package, or close to the name of one."""
    module, _, name = kind.rpartition('.')
    if module.partition('.')[0] == _PACKAGE:
        try:
            getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            yield str(error)
        return
    table = _REGISTRIES[part].module_dict if part in _REGISTRIES else {}
    near = get_close_matches(name, [known for known, value in table.items() if _is_ours(value)], n=1)
    if near:
        yield f'unknown type {kind!r}; did you mean {near[0]}?'
