"""Finds local models that cannot run as configured: not replaced by ``opencompass -a``, or without a chat template.

Also restores settings that ``-a vllm`` and ``-a lmdeploy`` drop.

OpenCompass replaces the configs of its own Hugging Face wrappers before any code of this package runs.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.registry import MODELS

from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.models.model_config import OF_PACKAGE
from opencompass_tooleval.models.settings import name_of_model
from opencompass_tooleval.work_dir.causes import PROGRAMS
from opencompass_tooleval.work_dir.data_files import read_plain


def run_options() -> Namespace | None:
    """Returns the options of the ``opencompass`` command; None if this process is another program."""
    if Path(sys.argv[0]).name not in PROGRAMS:
        return None
    from opencompass.cli.main import parse_args

    try:
        with redirect_stderr(StringIO()):
            options: Namespace = parse_args()
    except SystemExit:  # another script with one of these names
        return None
    return options


def accelerator_faults(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a fault for each model that ``-a`` should accelerate but does not."""
    options = run_options()
    if options is None or not options.accelerator:
        return
    for model in config.get('models') or ():
        kind = model.get('type') if isinstance(model, Mapping) else None
        kind = MODELS.get(kind) if isinstance(kind, str) else kind
        if isinstance(kind, type) and getattr(kind, 'not_accelerated', False):
            yield found(
                'config:accelerator',
                name_of_model(model),
                f'opencompass -a {options.accelerator} does not replace {kind.__name__}, which would answer without '
                "it. Without native tools, set type='opencompass.models.HuggingFacewithChatTemplate'; with them, set "
                'type=ToolEvalVLLMChat, or serve the model, and leave -a out',
            )


def template_faults(config: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a fault for each local chat model whose tokenizer has no chat template, which would fail after loading."""
    for model in config.get('models') or ():
        if not isinstance(model, Mapping) or not _lacks_template(model):
            continue
        from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate

        kind = model.get('type')
        kind = MODELS.get(kind) if isinstance(kind, str) else kind
        if not isinstance(kind, type) or issubclass(kind, HuggingFaceBaseModel):
            continue
        if issubclass(kind, HuggingFacewithChatTemplate):
            yield found(
                'config:template',
                name_of_model(model),
                'its tokenizer has no chat template: for a base model set '
                "type='opencompass.models.HuggingFaceBaseModel', else tokenizer_kwargs=dict(chat_template='...')",
            )


def _lacks_template(model: Mapping[str, Any]) -> bool:
    folder = Path(str(model.get('tokenizer_path') or model.get('path') or ''))
    if model.get('fastchat_template') or 'chat_template' in (model.get('tokenizer_kwargs') or ()):
        return False
    try:
        settings = load_json(read_plain(folder / 'tokenizer_config.json'))
    except (OSError, ValueError):
        return False  # not a folder, or loading it says what is wrong
    return isinstance(settings, dict) and not settings.get('chat_template') and not any(folder.glob('chat_template*'))


def restore_settings(config: MutableMapping[str, Any]) -> None:
    """Restores this package's settings of models from the user's config, since ``-a`` drops them."""
    options = run_options()
    if options is None or not (options.accelerator and options.config):
        return
    written = Config.fromfile(options.config, format_python_code=False).get('models') or []
    if len(written) == len(config['models']):
        for model, original in zip(config['models'], written, strict=True):
            for name in OF_PACKAGE:
                if original.get(name) is not None:
                    model.setdefault(name, original[name])
