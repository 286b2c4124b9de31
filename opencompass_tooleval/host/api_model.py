"""OpenAI-compatible servers, with failures told apart from answers."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
from opencompass.models.base_api import BaseAPIModel
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OpenAISDK
from opencompass.registry import MODELS

from opencompass_tooleval.core.answer import Answer

MAX_WAIT = 60.0
"""Longest pause between two tries, in seconds."""

_FATAL = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
_LENGTH_HINTS = ('context_length', 'context length', 'maximum context', 'too long', 'max_model_len')
_FILTER_HINTS = ('content_filter', 'content management policy', 'inappropriate content', 'data_inspection')


class _Failure(Exception):
    """One try failed.

    Args:
        reason: ``infra:...``.
        again: Whether another try may help.
        wait: Seconds that the server asks to wait, or None.
    """

    def __init__(self, reason: str, again: bool = True, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.wait = wait


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        return min(MAX_WAIT, max(0.0, float(error.response.headers.get('retry-after', ''))))
    except ValueError:
        return None


def _bad_request(error: openai.APIStatusError) -> _Failure:
    text = str(error).lower()
    if any(hint in text for hint in _LENGTH_HINTS):
        return _Failure('infra:truncated', again=False)
    if any(hint in text for hint in _FILTER_HINTS):
        return _Failure('infra:filter', again=False)
    return _Failure('infra:bad_request', again=False)


def _classify(error: Exception) -> _Failure:
    if isinstance(error, openai.APITimeoutError):
        return _Failure('infra:timeout')
    if isinstance(error, openai.RateLimitError):
        return _Failure('infra:rate_limit', wait=_retry_after(error))
    if isinstance(error, openai.APIStatusError):
        return _bad_request(error) if error.status_code < 500 else _Failure('infra:server', wait=_retry_after(error))
    if isinstance(error, openai.APIConnectionError):
        return _Failure('infra:connection')
    return _Failure('infra:bad_response')  # a cut or foreign body: httpx, json or pydantic says so in its own way


@MODELS.register_module()
class ToolEvalOpenAI(OpenAISDK):
    """OpenCompass's :class:`OpenAISDK` for any OpenAI-compatible server.

    What differs: a sample that stays without an answer after all tries becomes an empty
    :class:`~opencompass_tooleval.core.answer.Answer` with a reason (``infra:timeout``, ``infra:rate_limit``,
    ``infra:server``, ``infra:connection``, ``infra:bad_response``, ``infra:filter``, ``infra:empty``,
    ``infra:truncated``, ``infra:bad_request``), and the run goes on; a wrong key or model name ends it at once. Nothing
    is downloaded: without a local tokenizer, token counts are estimates.

    Args:
        path: Name of the model on the server.
        retry: Tries after the first, with growing pauses; ``Retry-After`` is kept to.
        max_workers: Requests in flight.
        query_per_second: Requests started per second.
        timeout: Seconds per try.
        tokenizer_path: Folder of a local HF tokenizer, to check prompts against ``max_seq_len``.
        backoff: First pause between two tries, in seconds; doubled each time.
        kwargs: As :class:`OpenAISDK`.
    """

    tokenizer: Any = None
    openai_client: openai.OpenAI

    def __init__(
        self,
        path: str,
        retry: int = 4,
        max_workers: int = 16,
        query_per_second: int = 64,
        timeout: int = 600,
        tokenizer_path: str | None = None,
        backoff: float = 1.0,
        **kwargs: Any,
    ) -> None:
        self._local_tokenizer = tokenizer_path if tokenizer_path and Path(tokenizer_path).is_dir() else None
        super().__init__(
            path=path,
            retry=retry,
            max_workers=max_workers,
            query_per_second=query_per_second,
            timeout=timeout,
            tokenizer_path=tokenizer_path,
            **kwargs,
        )
        self.backoff = backoff
        self.openai_client = self.openai_client.with_options(max_retries=0)  # the tries are counted here
        if not self.tokenizer:
            self._init_tokenizer()  # OpenCompass 0.5.2 does not ask for it

    def _init_tokenizer(self) -> None:
        if self._local_tokenizer:
            from transformers import AutoTokenizer

            self.tokenizer = AutoTokenizer.from_pretrained(self._local_tokenizer)
            self.tokenizer_type = 'hf'

    def get_token_len(self, prompt: str) -> int:
        """Tokens by the local tokenizer, or else English words and Chinese characters."""
        return int(
            len(self.tokenizer(prompt).input_ids) if self.tokenizer else BaseAPIModel.get_token_len(self, prompt)
        )

    def generate(self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.0, **kwargs: Any) -> list[str]:
        """Answers a batch, ``max_workers`` requests at a time, in the order of ``inputs``."""
        temperature = temperature if self.temperature is None else self.temperature
        with ThreadPoolExecutor(max_workers=self.max_workers) as executor:
            return list(executor.map(lambda prompt: self._generate(prompt, max_out_len, temperature), inputs))

    def _generate(self, input: Any, max_out_len: int, temperature: float) -> str:
        try:
            messages, max_out_len = self._preprocess_messages(
                input, max_out_len, self.max_seq_len, self.mode, self.get_token_len
            )
        except ValueError as error:  # OpenCompass's word for a prompt over max_seq_len
            self.logger.error(error)
            return Answer('', 'infra:truncated')
        limit: dict[str, Any] = {'max_tokens': max_out_len, 'temperature': temperature}
        if any(name in self.path for name in OAI_REASONING_MODEL_LIST):  # these take neither of the two
            limit = {'max_completion_tokens': max_out_len}
        request = {'model': self.path, 'messages': messages, **limit, 'extra_body': self.extra_body}
        return self._try_until_answered({**request, **(self.openai_extra_kwargs or {})})

    def _try_until_answered(self, request: dict[str, Any]) -> str:
        for attempt in range(self.retry + 1):
            try:
                return self._request(request)
            except _FATAL:
                raise
            except _Failure as failure:
                last = failure
            except Exception as error:
                self.logger.error(f'{self.openai_api_base}: {type(error).__name__}: {error}')
                last = _classify(error)
            if not last.again or attempt == self.retry:
                break
            pause = min(MAX_WAIT, self.backoff * 2**attempt) * random.uniform(0.5, 1.5)
            time.sleep(pause if last.wait is None else last.wait)
        return Answer('', last.reason)

    def _request(self, request: dict[str, Any]) -> str:
        self.acquire()
        try:
            response = self.openai_client.chat.completions.create(**request, timeout=self.timeout)
        finally:
            self.release()
        if not getattr(response, 'choices', None):
            raise _Failure('infra:bad_response')
        choice = response.choices[0]
        content = choice.message.content or ''
        reasoning = getattr(choice.message, 'reasoning_content', None) or ''
        if not content and choice.finish_reason == 'content_filter':
            raise _Failure('infra:filter', again=False)
        if not content and choice.finish_reason == 'length':
            return f'<think>{reasoning}'  # it thought until the limit: the model's doing, and read as such
        if not content and not reasoning:
            raise _Failure('infra:empty')
        return (
            str(f'<think>{reasoning}</think>{content}' if content else f'<think>{reasoning}')
            if reasoning
            else str(content)
        )
