"""Checks the keywords of a config against the signatures of what reads them: unknown names, and values of a wrong type.

Nothing is called: a class whose objects are expensive is checked by its ``__init__`` alone.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_MOST_SHOWN = 60
_MOST_LISTED = 6
"""A reader of more keywords is answered with the page of its options."""
_SAME, _LIKENESS = 0.85, 0.65
"""Least likeness of a misspelt name, and of a keyword to suggest: 'meta_template' is too unlike 'temprature'."""
_MOST_SUGGESTED = 3
_CLASSES_PAGE = 'docs/reference/python.md'

_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    'path': ('model', 'model_name', 'model_path', 'model_name_or_path', 'hf_path', 'pretrained', 'data_path'),
    'openai_api_base': ('base_url', 'api_base', 'api_url', 'url', 'endpoint', 'openai_base_url'),
    'key': ('api_key', 'openai_api_key'),
    'max_out_len': ('max_tokens', 'max_completion_tokens', 'max_new_tokens', 'max_output_tokens', 'max_gen_toks'),
    'max_seq_len': ('max_model_len', 'context_length', 'context_window', 'max_length', 'session_len'),
    'max_workers': ('concurrency', 'num_concurrent', 'max_connections', 'max_num_workers', 'num_workers', 'workers'),
    'retry': ('max_retries', 'num_retries'),
    'timeout': ('request_timeout',),
    'query_per_second': ('qps', 'requests_per_second', 'rpm', 'rate_limit'),
    'openai_proxy_url': ('proxy', 'proxies', 'http_proxy'),
    'system_prompt': ('system', 'system_message', 'system_instruction'),
    'stream': ('streaming',),
    'tool_parser': ('tool_call_parser',),
    'chat_template_kwargs=dict(NAME=...)': ('enable_thinking', 'thinking', 'reasoning_effort', 'clear_thinking'),
    'extra_body=dict(chat_template_kwargs=dict(NAME=...))': ('enable_thinking', 'clear_thinking'),
    'extra_body=dict(NAME=...)': (
        *('chat_template_kwargs', 'thinking', 'reasoning', 'reasoning_effort', 'reasoning_split', 'top_p', 'top_k'),
        *('min_p', 'seed', 'stop', 'presence_penalty', 'frequency_penalty', 'repetition_penalty', 'logit_bias'),
        *('response_format', 'thinking_budget'),
    ),
    'openai_extra_kwargs=dict(NAME=...)': ('extra_headers', 'extra_query'),
    'openai_extra_kwargs=dict(extra_headers=...)': ('headers', 'default_headers'),
    'extra_body': ('generation_kwargs', 'sampling_params', 'gen_config', 'model_kwargs'),
    'generation_kwargs=dict(NAME=...)': ('temperature', 'top_p', 'top_k', 'min_p', 'do_sample', 'repetition_penalty'),
    'generation_kwargs': ('extra_body', 'openai_extra_kwargs', 'sampling_params', 'gen_config'),
    'model_kwargs=dict(NAME=...)': (
        *('torch_dtype', 'dtype', 'device_map', 'trust_remote_code', 'quantization', 'tensor_parallel_size'),
        *('gpu_memory_utilization', 'max_num_seqs'),
    ),
    'engine=dict(NAME=...)': ('command', 'health', 'startup', 'env', 'grace', 'nodes', 'worker_options'),
    'run_cfg=dict(NAME=...)': ('num_gpus', 'num_procs'),
    'sample=dict(n=100)': ('limit', 'num_samples', 'max_samples', 'sample_size', 'subset_size'),
    "reader_cfg=dict(test_range='[:20]')": ('limit', 'num_samples', 'max_samples', 'test_range'),
}
"""Setting -> its names in OpenAI's client, engines, other classes of OpenCompass, and other harnesses.

NAME stands for the other name. A reader of several of the settings is given the first.
"""

Reader = Callable[..., Any]


@dataclass(frozen=True)
class Keyword:
    """A keyword that something reads.

    Attributes:
        hint: Its type; :data:`typing.Any` if unknown.
        default: Its default.
    """

    hint: Any = Any
    default: Any = inspect.Parameter.empty

    def accepts(self, value: Any) -> bool:
        """Tests if a value has its type, or that of its default: some signatures say ``str`` and default to ``[]``."""
        fits = any(test(value) for _, test in map(_type_of, _members(self.hint)))
        return fits or type(value) is type(self.default)

    @property
    def type_name(self) -> str:
        """Its type, as a config's author writes it: ``int``, ``str or list``."""
        return ' or '.join(dict.fromkeys(name for name, _ in map(_type_of, _members(self.hint))))


def initializers(kind: type) -> Iterator[Reader]:
    """Yields the ``__init__`` of a class, and those of its bases, as long as further keywords are passed on."""
    for base in kind.__mro__:
        reader = vars(base).get('__init__')
        if reader is None or base is object:
            continue
        yield reader
        if not any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(reader).parameters.values()
        ):
            return


def keywords_of(readers: Iterable[Reader]) -> dict[str, Keyword]:
    """Returns the keywords that some functions read; of two with one name that of the first function."""
    found: dict[str, Keyword] = {}
    for reader in readers:
        try:
            hints = get_type_hints(reader)
        except (NameError, TypeError, AttributeError):  # a name that is only there for type checkers
            hints = {}
        for name, parameter in inspect.signature(reader).parameters.items():
            if name != 'self' and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                found.setdefault(name, Keyword(hints.get(name, Any), parameter.default))
    return found


def keyword_faults(
    settings: Mapping[str, Any],
    keywords: Mapping[str, Keyword],
    reader: str,
    hidden: Callable[[str], bool] | None = None,
    page: str = _CLASSES_PAGE,
) -> Iterator[str]:
    """Yields a sentence for each setting that is not read, or is of a wrong type.

    Args:
        settings: Names and values.
        keywords: What is read.
        reader: Name of what reads them, for the sentence.
        hidden: Tests if the value of a name must not be shown.
        page: The page with the options of the reader.
    """
    for name, value in settings.items():
        keyword = keywords.get(name)
        if keyword is None:
            yield f'{reader} does not read {name}; {_advice(str(name), keywords, page)}'
        elif not keyword.accepts(value):
            shown = '...' if hidden and hidden(name) else _shown(value)
            yield f'{name}={shown} of {reader} should be {keyword.type_name}, not {type(value).__name__}'


def _advice(name: str, keywords: Mapping[str, Keyword], page: str) -> str:
    """Returns the settings that an unknown name may mean: of that name elsewhere, or of names like it."""
    setting_of_name = {keyword: keyword for keyword in keywords}
    for setting, others in _OTHER_NAMES.items():
        if setting.partition('=')[0] in keywords:
            for other in others:
                setting_of_name.setdefault(other, setting.replace('NAME', other))
    written = name.lower().replace('-', '_')[:_MOST_SHOWN]
    near = get_close_matches(written, setting_of_name, n=1, cutoff=_SAME)
    near = near or get_close_matches(written, keywords, n=_MOST_SUGGESTED, cutoff=_LIKENESS)
    if near:
        return f'did you mean {" or ".join(dict.fromkeys(setting_of_name[other] for other in near))}?'
    if len(keywords) > _MOST_LISTED:
        return f'{page} lists its options'
    return f'it reads {", ".join(sorted(keywords)) or "none"}'


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f'{text[:_MOST_SHOWN]}...'


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_list(kind: Any) -> bool:
    """Tests if a type is one of those for which a config has a list."""
    return isinstance(kind, type) and kind is not str and issubclass(kind, Iterable) and not issubclass(kind, Mapping)


def _type_of(hint: Any) -> tuple[str, Callable[[Any], bool]]:
    """Returns the name of a type other than a union, and the function that tests if a value has it."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)  # list[str] is a list
    if kind is Literal:
        return ' or '.join(map(repr, arguments)), lambda value: value in arguments
    if kind in (None, type(None)):
        return 'None', lambda value: value is None
    if kind is bool:
        return 'bool', lambda value: value in (True, False)
    if kind in (int, float):
        return kind.__name__, lambda value: isinstance(value, (int, kind)) and not isinstance(value, bool)
    if kind is str:
        return 'str', lambda value: isinstance(value, str)
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return 'dict', lambda value: isinstance(value, Mapping)
    if _is_list(kind):
        return 'list', lambda value: isinstance(value, (list, tuple, set, frozenset))
    # No type of a config's value: a class, a function, a protocol.
    return getattr(kind, '__name__', str(kind)), lambda _: True
