"""The kinds of findings about configs and results, in the order in which screens show them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Level(Enum):
    """Severity of a finding; only a fault makes the exit status 1."""

    OK = 'ok'
    NOTE = 'note'
    UNKNOWN = 'unknown'
    WARNING = 'warning'
    FAULT = 'FAULT'


class Kind(NamedTuple):
    """A kind of findings.

    Attributes:
        level: Its severity.
        sentence: Its meaning.
        fix: The way to fix it; ``''`` if the finding itself names it, or nothing has to be fixed.
    """

    level: Level
    sentence: str
    fix: str = ''


_NOTE, _WARNING, _FAULT = Level.NOTE, Level.WARNING, Level.FAULT
PUBLISHED = 'published:'
"""Prefix of the ids of reasons why a score is not comparable with published ones."""
PARSER = (
    'start vLLM with --enable-auto-tool-choice --tool-call-parser NAME, SGLang with --tool-call-parser NAME, '
    'llama-server with --jinja; transformers serve only parses calls of Qwen'
)
"""Advice for a server that does not return calls as calls."""
_CONTEXT = 'raise its context (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx), and ask again in a new run'
_PART = 'run it without sample, limit and test_range'

KINDS: dict[str, Kind] = {
    # Faults of a config.
    'config:selection': Kind(_FAULT, 'a config has no models or data sets, or names one that does not exist'),
    'config:name': Kind(
        _FAULT,
        'several models or data sets have one name: files overwrite each other',
        'give each a different abbr, or leave one out',
    ),
    'config:setting': Kind(_FAULT, 'a setting is unknown, missing, of a wrong type, or contradicts another'),
    'config:part': Kind(_FAULT, 'a partitioner, runner, task or summarizer does not exist, or has a wrong setting'),
    'config:budget': Kind(_FAULT, 'the budget of a model cannot count some of its requests'),
    'config:accelerator': Kind(_FAULT, '`opencompass -a` leaves a model as it is, without the accelerator'),
    'config:template': Kind(_FAULT, 'the tokenizer of a local chat model has no chat template'),
    'config:model': Kind(_FAULT, 'the files of a Hugging Face model are not on this machine, and cannot be fetched'),
    'config:data': Kind(_FAULT, 'data of a data set are missing, or it cannot be loaded'),
    'config:stored': Kind(
        _FAULT, 'stored answers have other settings, and the config does not say whether to keep them'
    ),
    'config:gpus': Kind(_FAULT, 'a model needs more GPUs than this machine has'),
    'config:nodes': Kind(_FAULT, 'a model needs several nodes, and its task gets one'),
    'config:workers': Kind(_FAULT, '`opencompass --max-num-workers` has no effect beside a config with `infer`'),
    'config:key': Kind(_FAULT, 'a model behind an API has no key'),
    'config:scoring': Kind(
        _FAULT,
        'scoring will fail: a judge or a file is missing, or a setting is wrong',
        'correct the config of the data set',
    ),
    'config:answer': Kind(_FAULT, 'a model behind an API does not answer the first question of `tooleval run`'),
    # Findings that a reader of scores needs first.
    'published:encoder': Kind(_NOTE, 'another sentence encoder than the official one compared the texts'),
    'published:rebuilt': Kind(_NOTE, 'the data were built by this package, not by the authors'),
    'config:replayed': Kind(
        _WARNING,
        'judgements are from a file, perhaps about other answers',
        'set `judge_cfg`, or `--judge` of `tooleval run`',
    ),
    'config:literal_key': Kind(_WARNING, 'a key stands in the config', "write `key='ENV'`"),
    'result:other_answers': Kind(_WARNING, 'a run has other predictions than its results', 'run again with `-r`'),
    'result:no_answer': Kind(_WARNING, 'many samples have no answer, not by fault of the model', 'tooleval retry RUN'),
    'run:budget': Kind(
        _WARNING,
        'a budget is used up, so that requests were not sent',
        'raise `budget`, and run again with `-r`',
    ),
    'result:differs': Kind(_WARNING, 'results of one data set had other data, prompts, banks, judges or settings'),
    'result:only_thoughts': Kind(_WARNING, 'most answers of a model are empty: all of their text is thoughts'),
    'result:calls_in_text': Kind(_WARNING, 'a server leaves native calls in the text of answers', PARSER),
    'result:text_arguments': Kind(_WARNING, 'all arguments of native calls are texts', PARSER),
    'result:cut_prompts': Kind(_WARNING, 'a server cuts long prompts without an error', _CONTEXT),
    'result:full_context': Kind(_WARNING, "prompts fill a server's context", "raise the server's context"),
    'result:cut': Kind(_WARNING, 'answers were cut at a limit of tokens', 'raise `max_out_len`, and resume with `-r`'),
    # Notes.
    'result:rescored': Kind(_NOTE, 'another scoring of the same answers has moved a score'),
    'result:unanswered': Kind(_NOTE, 'some samples have no answer, not by fault of the model', 'tooleval retry RUN'),
    'run:main_score': Kind(_NOTE, 'a table has no main score, since it needs results that are missing'),
    'run:left_out': Kind(_NOTE, 'a run has predictions that its config does not name, perhaps under an old name'),
    'run:unjudged': Kind(_NOTE, 'no judge was asked whether the tasks are solved'),
    'result:less_thought': Kind(_NOTE, 'requests lack thoughts that are bound to messages changed since'),
    'result:ending': Kind(_NOTE, 'answers ended for a reason that this package does not know'),
    'result:tokens': Kind(_NOTE, 'a server counts tokens in its totals alone, which count as answers'),
    'result:limits': Kind(_NOTE, 'models had other limits of tokens on one data set'),
    'config:unused_limit': Kind(_NOTE, 'the limit of a model is below that of the benchmark, which is used'),
    'config:refused': Kind(_NOTE, 'a server refuses a default of requests; `tooleval run` writes what it accepts'),
    'config:unused': Kind(_NOTE, 'a setting of a model has no effect'),
    'config:test_range': Kind(_NOTE, '`sample` or `test_range` selects a part of the records', _PART),
    'result:no_response': Kind(
        _NOTE,
        'many calls of an agent had no recorded response',
        'take a larger bank, or configure a simulator',
    ),
    'result:same_trials': Kind(_NOTE, 'all trials of every record have the same answer'),
    'published:part': Kind(_NOTE, 'not all records were asked', _PART),
    'published:sample': Kind(_NOTE, 'the data are a sampled subset'),
    'published:twin': Kind(_NOTE, 'the records are twins of the published ones'),
    'published:size': Kind(_NOTE, 'the published number of records is unknown, or there are few records'),
    'published:scoring': Kind(_NOTE, 'scoring fixes faults of the published scripts'),
    'published:limit': Kind(_NOTE, 'answers had fewer tokens than the published ones', 'raise `max_out_len`'),
    'published:gold': Kind(_NOTE, 'some gold answers are not the published ones'),
    'published:judge': Kind(_NOTE, "another judge than the paper's graded the answers"),
    'published:reference': Kind(_NOTE, 'answers win since the reference has none'),
    'published:environment': Kind(_NOTE, 'calls of agents are not answered by live tools'),
    'published:protocol': Kind(_NOTE, 'the data were asked by the protocol of another version'),
    'run:no_report': Kind(_WARNING, 'the report of a run could not be written; its tables are complete'),
    # Comparisons.
    'compare:missing': Kind(_NOTE, 'only one of two has a result or a score, or one result is an error'),
    'compare:records': Kind(_NOTE, 'two results have other records, or other numbers of trials'),
    'compare:interval': Kind(_NOTE, 'a difference has no interval, or is over a part of the records'),
    'compare:package': Kind(
        _NOTE, 'two results were made by other releases, or differ in what their scores do not depend on'
    ),
    'option:key': Kind(_NOTE, 'a key in an environment variable has blanks around it, which are left out'),
    # A machine.
    'machine:package': Kind(_FAULT, 'a package is missing, or of a release that does not work'),
    'machine:import': Kind(_FAULT, 'OpenCompass or a class of this package cannot be imported'),
    'machine:running': Kind(_FAULT, 'inference or evaluation fails on shipped records'),
    'machine:data': Kind(_FAULT, 'a data file is damaged, or the folder of data is a wrong one'),
    'machine:other_data': Kind(_NOTE, 'data are missing, or not as they were published'),
    'machine:encoder': Kind(_FAULT, 'a sentence encoder is missing or damaged'),
    'machine:other_encoder': Kind(_NOTE, 'the official sentence encoder is missing, or not fit for the language'),
    'machine:optional': Kind(_NOTE, 'lagent or Slurm is missing, which few configs need'),
    # A server.
    'server:reachable': Kind(_FAULT, 'no API answers at the URL'),
    'server:model': Kind(_FAULT, 'the server does not list the model'),
    'server:answer': Kind(_FAULT, 'a plain question gets no answer'),
    'server:settings': Kind(_FAULT, 'the server refuses settings that every request has'),
}
"""Id -> the kind."""

FIRST = ('published:encoder', 'published:rebuilt')
"""Notes that screens show before warnings, since they make every score not comparable with published ones."""
