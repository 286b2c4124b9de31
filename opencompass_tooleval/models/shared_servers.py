"""Finds the servers that the tasks of a stage share, and tells the tasks which files will have their addresses."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass.registry import MODELS

from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.models.literal_keys import other_models
from opencompass_tooleval.models.served_model import ToolEvalServed
from opencompass_tooleval.work_dir.server_file import server_file

_MOST_OF_NAME = 60
_RUNNERS = ('ToolEvalLocalRunner', 'SlurmArrayRunner')


@dataclass(frozen=True)
class SharedServer:
    """A server that tasks share.

    Attributes:
        name: Name that identifies model, engine and GPUs.
        path: The model.
        engine: Arguments of :class:`~opencompass_tooleval.models.api.engine.Engine`.
        gpus: Number of GPUs.
        is_open: True if it needs no key.
    """

    name: str
    path: str
    engine: Mapping[str, Any]
    gpus: int
    is_open: bool


def starts_servers(runner: Mapping[str, Any]) -> bool:
    """Tests if a runner's config is for a runner that starts shared servers."""
    kind = str(getattr(runner['type'], '__name__', runner['type'])).rpartition('.')[2]
    return kind in _RUNNERS and not runner.get('debug')


def is_served(cfg: Mapping[str, Any]) -> bool:
    """Tests if a model's config has an engine that this package starts."""
    kind = cfg.get('type')
    kind = kind if isinstance(kind, type) else MODELS.get(str(kind))
    return isinstance(kind, type) and issubclass(kind, ToolEvalServed)


def shared_servers(stage: str, task: Mapping[str, Any]) -> dict[str, SharedServer]:
    """Returns the servers that a task needs, by name.

    Args:
        stage: ``infer``, whose tasks call models and simulators, or ``eval``, whose tasks call judges.
        task: The task's config: ``models``, and lists of ``datasets``.
    """
    servers = map(_server, _shared(stage, task))
    return {server.name: server for server in servers}


def placed(stage: str, task: Any, folder: Path) -> Any:
    """Returns a copy of a task's config with the files of its shared servers and no GPUs for them.

    Args:
        stage: ``infer`` or ``eval``.
        task: As in :func:`shared_servers`.
        folder: The runner's folder.
    """
    task = copy.deepcopy(task)
    for cfg in _shared(stage, task):
        name = _server(cfg).name
        cfg['shared'] = str(server_file(folder, name))
        cfg['run_cfg'] = {**cfg.get('run_cfg', {}), 'num_gpus': 0}
    return task


def _shared(stage: str, task: Mapping[str, Any]) -> Iterator[Any]:
    others = other_models([row.get(f'{stage}_cfg') for rows in task['datasets'] for row in rows])
    for cfg in (*(task['models'] if stage == 'infer' else ()), *(cfg for _, cfg in others)):
        if isinstance(cfg, Mapping) and cfg.get('shared') is True and is_served(cfg):
            yield cfg


def _server(cfg: Mapping[str, Any]) -> SharedServer:
    path, engine, gpus = str(cfg.get('path')), cfg.get('engine') or {}, int(cfg.get('run_cfg', {}).get('num_gpus', 0))
    plain = re.sub(r'[^\w.+-]+', '-', Path(path).name[:_MOST_OF_NAME])
    name = f'{plain}-{answer_digest([path, engine, gpus])[:8]}'
    return SharedServer(name, path, engine, gpus, bool(cfg.get('open')))
