"""The config of a made set, for ``opencompass``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.teval.records import split_stem
from opencompass_tooleval.benchmarks.ultratool.subsets import LANGUAGES
from opencompass_tooleval.core.text.python_literal import python_literal, text_literal
from opencompass_tooleval.extras.making.made_set import MadeSet
from opencompass_tooleval.work_dir.whole_file import write_whole

JUDGED = ('planning', 'tool_creation')
"""UltraTool's tasks that a judge model scores; they are not among the data sets that run without one."""

_HEAD = """# The set {name}: tasks for agents and step files, written by `tooleval make`. README.md says how to run it.
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.agents.adapter import AgentDialogues
from opencompass_tooleval.benchmarks.teval import adapter as teval
from opencompass_tooleval.benchmarks.ultratool import adapter as ultratool
from opencompass_tooleval.inferencers import ToolEvalDialogueGenInferencer, ToolEvalGenInferencer
from opencompass_tooleval.extras.making.adapter import ToolEvalMadeDataset, ToolEvalMadeEvaluator
from opencompass_tooleval.models import ToolEvalConversationTemplate

_folder = {folder}
_template = dict(type=ToolEvalConversationTemplate, template='{{messages}}')
_row = dict(n=1, k=1, reader_cfg=dict(input_columns=['messages'], output_column='record'))
_infer = dict(prompt_template=_template, retriever=dict(type=ZeroRetriever))
_step = dict(_infer, inferencer=dict(type=ToolEvalGenInferencer, published_max_out_len=512))
_dialogues = dict({environment}, type=AgentDialogues)
_agent = dict(_infer, inferencer=dict(
    type=ToolEvalDialogueGenInferencer, published_max_out_len=1024, dialogues=_dialogues))
{name}_agent = [dict(_row, abbr={abbr}, type=ToolEvalMadeDataset, path=_folder, infer_cfg=_agent,
                eval_cfg=dict(evaluator=dict(type=ToolEvalMadeEvaluator, path=_folder)))]
"""

_TEVAL = """
# Protocol v1 for plan_str: v2 would not match a line with a step that has no arguments.
{name}_teval = [
    dict(_row, abbr=f'{name}-teval-{{stem}}', type=teval.ToolEvalTEvalDataset, path=f'{{_folder}}/teval/{{language}}',
         name=stem, encoder='offline', protocol=protocol, infer_cfg=_step, eval_cfg=dict(
             evaluator=dict(type=teval.ToolEvalTEvalEvaluator, name=stem, encoder='offline', protocol=protocol,
                            scoring='strict'),
             pred_postprocessor=dict(type=teval.tooleval_teval_v2)))
    for stem, language, protocol in {rows}]
"""

_ULTRATOOL = """
# Planning and tool_creation are scored by a judge model: `{name}_judged`.
{name}_ultratool, {name}_judged = [
    [dict(_row, abbr=f'{name}-ultratool-{{task}}_{{language}}', type=ultratool.ToolEvalUltraToolDataset,
          path=f'{{_folder}}/ultratool', name=task, language=language, shots=0, infer_cfg=_step,
          eval_cfg=dict(evaluator=dict(type=ultratool.ToolEvalUltraToolEvaluator, name=task, language=language,
                                       scoring='strict')))
     for task, language in rows]
    for rows in {rows}]
"""


def config_file(made: MadeSet) -> Path:
    """Returns where the config of a set is: ``NAME_gen.py`` in its folder."""
    return made.folder / f'{made.name}_gen.py'


def write_config(made: MadeSet, teval: Sequence[str], ultratool: Sequence[str]) -> None:
    """Writes the config: ``NAME_datasets`` and ``datasets``, and by parts ``NAME_agent``, ``NAME_teval``,
    ``NAME_ultratool`` and ``NAME_judged``.

    Args:
        made: The set.
        teval: T-Eval's files, as :func:`~opencompass_tooleval.extras.making.teval_files.write_teval` names them.
        ultratool: UltraTool's, as :func:`~opencompass_tooleval.extras.making.ultratool_files.write_ultratool` does.
    """
    folder = str(made.folder.resolve())
    environment = as_code(made.trusted_environment(), folder)
    abbr = text_literal(f'{made.name}-agent-{made.environment.get("loop", "")}')
    parts = [_HEAD.format(name=made.name, folder=text_literal(folder), environment=environment, abbr=abbr)]
    names = ['agent']
    if teval:
        parts.append(_TEVAL.format(name=made.name, rows=python_literal([_teval_row(file) for file in teval])))
        names.append('teval')
    tasks = [_ultratool_row(file) for file in ultratool if '/test_set/' in file]
    if tasks:
        plain = [row for row in tasks if row[0] not in JUDGED]
        judged = [row for row in tasks if row[0] in JUDGED]
        parts.append(_ULTRATOOL.format(name=made.name, rows=python_literal([plain, judged])))
        names.append('ultratool')
    listed = ', '.join(f'*{made.name}_{part}' for part in names)
    parts.append(f'\n{made.name}_datasets = [{listed}]\ndatasets = {made.name}_datasets\n')
    write_whole(config_file(made), ''.join(parts))


def _teval_row(file: str) -> tuple[str, str, str]:
    language, _, name = file.partition('/')
    stem = name.removesuffix('.json')
    return stem, language, 'v1' if split_stem(stem)[0] == 'plan_str' else 'v2'


def _ultratool_row(file: str) -> tuple[str, str]:
    folder, _, name = file.partition('/test_set/')
    return name.removesuffix('.json'), next(row['name'] for row in LANGUAGES if row['folder'] == folder)


def as_code(value: Any, folder: str) -> str:
    """Writes a value as Python code: paths below ``folder`` by the variable ``_folder``, all else as literals."""

    def written(text: str) -> str:
        is_below = text == folder or text.startswith(f'{folder}/')
        return f'_folder + {text_literal(text.removeprefix(folder))}' if is_below else text_literal(text)

    return python_literal(value, written)
