"""Tables of all plug-ins. No other module refers to a module in a string.

An entry is ``module:attribute``; modules of this package begin with a dot. :func:`load` imports an entry when it is
used. The rows of the extras are in one part: the package works without this part and without the folder ``extras``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Entries = Mapping[str, str]
Command = tuple[str, ...]
"""Function and help of a command and, in the group ``''``, its panel in ``tooleval --help``."""


@dataclass(frozen=True)
class Rows:
    """The rows of the extras, which the tables below contain.

    Attributes: as the tables of these names; ``benchmarks_of_users`` are :data:`USERS`.
    """

    benchmarks_of_users: Entries = field(default_factory=dict)
    recorded: Entries = field(default_factory=dict)
    tool_servers: Entries = field(default_factory=dict)
    live: str = ''
    findings: Sequence[str] = ()
    result_checks: Sequence[str] = ()
    modules: Sequence[str] = ()
    registered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    build: Entries = field(default_factory=dict)
    options: Entries = field(default_factory=dict)
    datasets: str = ''
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: Mapping[str, Mapping[str, Command]] = field(default_factory=dict)


_DOORS = {name: f'.benchmarks.{name}' for name in ('teval', 'ultratool', 'restbench', 'funcqa', 'toolbench')}

EXTRAS = Rows()
# --- extras -----------------------------------------------------------------------------------------------------------
EXTRAS = Rows(
    benchmarks_of_users={'tasks': '.extras.tasks.metrics:BENCHMARK'},
    recorded={name: f'.extras.recorded.{name}:read' for name in (*_DOORS, 'agents')},
    tool_servers={'mcp': '.extras.mcp_servers.tool_source'},
    live='.extras.mcp_servers.open_live:open_live',
    findings=('.extras.kinds:KINDS', '.extras.attribution.words:KINDS'),
    result_checks=('.extras.attribution.words:findings_of',),
    modules=('.extras.tasks.adapter',),
    registered={'LOAD_DATASET': ['ToolEvalTasksDataset'], 'ICL_EVALUATORS': ['ToolEvalTasksEvaluator']},
    build={'ultratool': '.extras.preparing.build_ultratool:build_missing'},
    options={'run': '.extras.tasks.commands:with_tasks'},
    datasets='.extras.tasks.commands:datasets_of',
    added={
        'result': ['.extras.attribution.adapter:add_faults'],
        'tables': ['.extras.attribution.pages:fault_tables'],
        'cause': ['.extras.attribution.pages:cause_of'],
        'sample': ['.extras.attribution.pages:members_of_sample'],
        'steps': ['.extras.attribution.pages:members_of_steps'],
    },
    commands={
        '': {
            'plan': (
                '.extras.plan.command:show_plan',
                'What a config would run (jobs, samples, tokens), and what would stop it.',
                'Run',
            ),
            'doctor': (
                '.extras.probe.command:run_doctor',
                'Check this machine, or with --endpoint a server; exits with 1 on a fault.',
                'Run',
            ),
            'compare': (
                '.extras.compare.command:compare_models',
                'Two models side by side, with 95% intervals, and where they differ.',
                'Look at results',
            ),
            'gate': (
                '.extras.gate.command:run_gate',
                'Fail a build if a run dropped below a baseline; exits with 0, 1, or 2.',
                'Look at results',
            ),
            'import': (
                '.extras.exports.importing:import_run',
                'Make a run of what tooleval export wrote, to score it.',
                'Look at results',
            ),
            'score': (
                '.extras.recorded.score:score_commands',
                'Score recorded answers, without OpenCompass or a GPU.',
                'Look at results',
            ),
            'agreement': (
                '.extras.recorded.agreement:agreement',
                'Correlate two sets of judgements of UltraTool, dimension by dimension.',
                'Look at results',
            ),
            'export': (
                '.extras.exports.command:export_run',
                'Write a run to files to publish, or for another program.',
                'Look at results',
            ),
            'build': ('', 'Build benchmark data from annotated samples.', 'Data'),
            'easytool': ('', 'Concise tool instructions: make them, measure them.', 'EasyTool'),
            'agents': ('', 'What answers the calls of agents, and who judges their answers.', 'Agents'),
            'tasks': ('', 'Tasks on your own tools: write them, check them.', 'Your own tools'),
        },
        'build': {
            'ultratool': (
                '.extras.preparing.build_ultratool:build_ultratool',
                "Build UltraTool's six tasks from annotated samples.",
            ),
        },
        'easytool': {
            'generate': (
                '.extras.preparing.easytool_generate:easytool_generate',
                'Make concise instructions from documentation; run it again to go on after a kill.',
            ),
            'stats': (
                '.extras.preparing.easytool_stats:easytool_stats',
                'Count tokens before and after, per tool and in all.',
            ),
            'retrieval': (
                '.extras.preparing.easytool_retrieval:easytool_retrieval',
                'How well tools are found by documentation and by instructions: NDCG, side by side.',
            ),
        },
        'tasks': {
            'init': ('.extras.tasks.commands:init_tasks', 'Write a file of tasks to start from.'),
            'add': ('.extras.tasks.commands:add_task', 'Make calls on a copy, and add a task with what they changed.'),
            'check': (
                '.extras.tasks.commands:check_tasks',
                'Execute solutions, and agents that must fail; exits with 1 on a fault.',
            ),
        },
        'agents': {
            'bank': ('', 'Recorded responses: make a bank of them, measure it.'),
            'judge': (
                '.extras.recorded.agents_judge:judge_agents',
                "Have recorded answers judged by ToolBench's rules; run it again to go on.",
            ),
        },
        'bank': {
            'build': (
                '.extras.preparing.agents_bank:build_bank',
                'Make a response bank of T-Eval data, stored runs and caches.',
            ),
            'stats': (
                '.extras.preparing.agents_bank:bank_stats',
                'What is in a bank; with --data, what of the gold calls it answers.',
            ),
            'record': ('.extras.mcp_servers.commands:record_bank', 'Record what a live MCP server answers.'),
            'serve': ('.extras.mcp_servers.commands:serve_bank', 'Be an MCP server that answers from a bank.'),
        },
    },
)
# --- end of the extras ------------------------------------------------------------------------------------------------

BENCHMARKS = {
    **{name: f'{folder}.tables:BENCHMARK' for name, folder in _DOORS.items()},
    'agents': '.agents.description:BENCHMARK',
}
"""Name of a benchmark on the command line and in results -> its description."""

USERS = EXTRAS.benchmarks_of_users
"""Name -> description of benchmarks that users make. Results contain them, but commands do not list them."""

FILES = {**{name: f'{folder}.data:FILES' for name, folder in _DOORS.items()}, 'agents': '.agents.files:FILES'}
"""Benchmark -> its data files."""

CONFIGURED = {
    **{name: f'{folder}.data:configured' for name, folder in _DOORS.items()},
    'agents': '.agents.files:configured',
}
"""Benchmark -> the function for ``tooleval prompts``.

It is called with ``(subset, *, ...)`` and returns a ``ConfiguredDataset`` of the catalogue. Its keyword parameters are
those of ``language``, ``version``, ``method``, ``data`` and ``instructions`` that apply to the benchmark.
"""

DOWNLOAD = {'teval': '.benchmarks.teval.data:download'}
"""Benchmark -> a function that fetches its files and returns their folder."""

BUILD = EXTRAS.build
"""Benchmark -> a function that builds files that its authors did not publish, if they are missing.

It returns the number of sets of files that it built.
"""

VARIANTS = {
    'easytool': '.benchmarks.variant_kinds:EASYTOOL',
    'function_calling': '.benchmarks.variant_kinds:FUNCTION_CALLING',
    'twin': '.benchmarks.variant_kinds:TWIN',
}
"""Name -> a kind of variants to compare benchmarks with."""

TABLES = {
    'teval': '.benchmarks.teval.tables:tooleval_teval_summary_groups',
    'ultratool': '.benchmarks.ultratool.tables:tooleval_ultratool_summary_groups',
    'funcqa': '.benchmarks.funcqa.tables:tooleval_funcqa_summary_groups',
    'easytool': '.instructions.groups:SUMMARY_GROUPS',
}
"""Benchmark or kind of variants -> its summary groups (tables), in order."""

FIGURES = {
    'ultratool': '.benchmarks.ultratool.figures:figures',
    'easytool': '.instructions.figures:figures',
}
"""Benchmark or kind of variants -> function that yields the report's charts.

Its signature is ``(boards, material) -> Iterator[Figure]``.
"""

LOOPS = {
    'react': '.agents.loops.react:ReAct',
    'function_calling': '.agents.loops.function_calling:FunctionCalling',
    'dfsdt': '.agents.loops.dfsdt:DepthFirstSearch',
    'toolbench_react': '.agents.loops.dfsdt:ToolBenchReAct',
    'easytool': '.agents.loops.easytool:EasyTool',
}
"""Name of an agent loop -> its class. The keyword parameters of the class are the options of the loop."""

TASK_READERS = {
    'teval': '.agents.tasks.records_teval:read_teval_tasks',
    'toolbench': '.agents.tasks.records_toolbench:read_toolbench_tasks',
    'ultratool': '.agents.tasks.records_ultratool:read_ultratool_tasks',
}
"""Format of a file of agent tasks -> its reader, which takes file, subset and a list for errata, and returns tasks."""

TOOL_SERVERS = EXTRAS.tool_servers
"""Name of a source of tool documentation other than a file -> its module."""

LIVE = EXTRAS.live
"""Function that opens a live server for environments. Its parameters are the settings of ``live`` in a config."""

MODULES = [
    '.agents.adapter',
    '.agents.loops.funcqa',
    '.agents.judged_adapter',
    '.instructions.adapter',
    '.twins.adapter',
    '.benchmarks.funcqa.task',
    '.benchmarks.restbench.task',
    '.benchmarks.toolbench.task',
    '.models.openai_model',
    '.models.conversation',
    '.tasks.eval_task',
    '.models.fixed_models',
    '.tasks.infer_task',
    '.inferencers.inferencer',
    '.models.local_chat',
    '.runners.local_runner',
    '.partitioner',
    '.inferencers.dialogue_inferencer',
    '.models.served_model',
    '.runners.slurm.runner',
    '.summarizers.summarizer',
    '.benchmarks.teval.task',
    '.benchmarks.ultratool.task',
    *EXTRAS.modules,
]
"""Modules that register objects in OpenCompass, or that configs refer to."""

_REGISTERED = {
    'LOAD_DATASET': [
        'ToolEvalTEvalDataset',
        'ToolEvalUltraToolDataset',
        'ToolEvalTEvalEasyToolDataset',
        'ToolEvalTEvalFunctionCallingDataset',
        'ToolEvalUltraToolEasyToolDataset',
        'ToolEvalRestBenchDataset',
        'ToolEvalFuncQADataset',
        'ToolEvalToolBenchDataset',
        'ToolEvalToolBenchTrajectories',
        'ToolEvalAgentDataset',
        'ToolEvalTwinDataset',
    ],
    'ICL_EVALUATORS': [
        'ToolEvalTEvalEvaluator',
        'ToolEvalTEvalFunctionCallingEvaluator',
        'ToolEvalUltraToolEvaluator',
        'ToolEvalRestBenchEvaluator',
        'ToolEvalRestBenchCallsEvaluator',
        'ToolEvalFuncQAEvaluator',
        'ToolEvalToolBenchEvaluator',
        'ToolEvalToolBenchCallsEvaluator',
        'ToolEvalToolBenchSuccessEvaluator',
        'ToolEvalAgentEvaluator',
        'ToolEvalAgentJudgedEvaluator',
    ],
    'ICL_INFERENCERS': ['ToolEvalGenInferencer', 'ToolEvalDialogueGenInferencer'],
    'ICL_PROMPT_TEMPLATES': ['ToolEvalConversationTemplate'],
    'TEXT_POSTPROCESSORS': ['tooleval_teval_v1', 'tooleval_teval_v2', 'tooleval_teval_clean'],
    'PARTITIONERS': ['ToolEvalNumWorkerPartitioner', 'ToolEvalPartitioner'],
    'TASKS': ['ToolEvalInferTask', 'ToolEvalEvalTask'],
    'RUNNERS': ['SlurmArrayRunner', 'ToolEvalLocalRunner'],
    'MODELS': ['ReplayModel', 'OracleModel', 'ToolEvalOpenAI', 'ToolEvalServed', 'ToolEvalHFChat', 'ToolEvalVLLMChat'],
}
REGISTERED = {name: [*rows, *EXTRAS.registered.get(name, ())] for name, rows in _REGISTERED.items()}
"""Registry of OpenCompass -> our names. Registries overwrite names silently, so a test checks that ours are free."""

MOVED = {f'benchmarks.{name}.adapter': f'benchmarks.{name}.task' for name in _DOORS}
"""Former module -> module whose classes the configs of earlier runs name; both without the package's name."""

DATASETS = EXTRAS.datasets
"""Function for ``tooleval run`` that returns the data sets of a user's file as config rows; None for other names."""

FINDINGS = ['.findings.kinds:KINDS', *EXTRAS.findings]
"""Tables of kinds of findings: id -> :class:`~opencompass_tooleval.findings.kinds.Kind`."""

RESULT_CHECKS = [
    '.findings.of_results:published',
    '.findings.of_results:other_answers',
    '.findings.of_results:scored_again',
    '.findings.of_results:no_answers',
    '.findings.of_results:unlike',
    '.findings.of_results:ends_of_answers',
    '.findings.of_results:cut_answers',
    '.findings.of_results:full_contexts',
    '.findings.of_results:lost_calls',
    '.findings.of_results:unclear_tokens',
    '.findings.of_results:no_responses',
    '.findings.of_results:same_trials',
    *EXTRAS.result_checks,
]
"""Checks of results: pure functions that take (model, data set) -> result without details, and yield findings."""

RUN_CHECKS = ['.findings.of_results:left_out', '.models.literal_keys:spent_budgets']
"""Checks of a run: functions that take its folder and its config."""

CONFIG_CHECKS = [
    '.models.selection:selection_faults',
    '.models.settings:component_faults',
    '.models.settings:faults_of_rows',
    '.models.accelerator:accelerator_faults',
    '.models.preflight:ignored_workers',
    '.models.accelerator:template_faults',
    '.models.literal_keys:literal_keys',
    '.models.preflight:replayed_judges',
    '.models.settings:unused_settings',
    '.models.preflight:unused_limits',
    '.findings.of_results:parts_of_data',
]
"""Checks of a config: functions that yield findings without loading data."""

SWEEP_CHECKS = [
    '.models.preflight:lacking_machines',
    '.models.preflight:lacking_keys',
    '.models.preflight:missing_models',
    '.models.preflight:missing_data',
    '.models.preflight:scoring_faults',
]
"""Checks of the remaining work: functions that take a :class:`~opencompass_tooleval.models.preflight.Sweep`."""

_COMMANDS: Mapping[str, Command] = {
    'run': (
        '.cli.run:run_benchmarks',
        'Run benchmarks on models from the command line: scores and a report.',
        'Run',
    ),
    'demo': (
        '.cli.report:run_demo',
        'Run everything on shipped records, without a model: a leaderboard and a report.',
        'Run',
    ),
    'status': (
        '.cli.status:show_status',
        'How far a sweep is, what failed and why; exits with 1 on a failure.',
        'Run',
    ),
    'retry': ('.cli.retry:retry_sweep', 'Ask again only what got no answer through no fault of the model.', 'Run'),
    'report': (
        '.cli.report:show_report',
        'Write an HTML report that opens from disk: scores, charts, samples.',
        'Look at results',
    ),
    'list': ('.cli.listing:show_list', 'Benchmarks, subsets, published counts, and what is on disk.', 'Data'),
    'prepare': ('.cli.prepare:prepare_commands', 'Fetch and verify benchmark data.', 'Data'),
    'prompts': (
        '.cli.prompts:show_prompts',
        'Show the messages that a model is sent; of dialogues the first turn.',
        'Data',
    ),
    'config-dir': (
        '.cli.main:print_config_dir',
        'Print the folder of our configs, for opencompass --config-dir.',
        'Data',
    ),
}
COMMANDS = {**EXTRAS.commands, '': {**_COMMANDS, **EXTRAS.commands.get('', {})}}
"""Group -> command -> function, help and, in the group ``''``, panel in ``tooleval --help``.

A command without a function is a group.
"""

OPTIONS = EXTRAS.options
"""Command -> a function that adds options to it: it takes the command's function, and returns a wrapped one."""

RECORDED = EXTRAS.recorded
"""Benchmark -> the function that reads recorded answers, for ``tooleval score``.

It is called with ``(subset, predictions, *, options)`` and returns a
:class:`~opencompass_tooleval.catalogue.benchmark.RecordedRun`. Its keyword parameters, ``Annotated[type, 'help']``,
are the options of the benchmark.
"""

ADDED = EXTRAS.added
"""Place -> functions that add information from stored answers to it:

* ``result``: takes evaluator, result, scored runs, their positions and the columns, and changes the result;
* ``tables``: takes a benchmark and its results, and yields tables for its page of the report;
* ``cause``: takes a sample of a result, and returns a code for the filter of the sample browser, or ``''``;
* ``sample``: takes a sample, its prediction and the maximum number of characters, and returns keys for the browser;
* ``steps``: takes the steps of a trajectory and its prediction, and yields the index and the new keys of a step.
"""


def added(place: str) -> Iterator[Any]:
    """Loads and yields the functions of :data:`ADDED` for a place."""
    yield from map(load, ADDED.get(place, ()))


def offered(command: str) -> str:
    """Returns a command line of ``tooleval``; ``''`` if the extra with the command is not there."""
    words = command.partition('tooleval ')[2].split()
    return command if words[0] in COMMANDS[''] else ''


def load(entry: str) -> Any:
    """Imports an entry: ``module:attribute``, or a module; ``.module`` is a module of this package."""
    module, colon, name = entry.partition(':')
    found = import_module(module, __package__)
    return getattr(found, name) if colon else found
