"""A model whose server the task starts on its own GPUs, and stops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from opencompass.registry import MODELS

from opencompass_tooleval.core.keywords import keyword_faults, keywords_of
from opencompass_tooleval.models.api.engine import HOST, Engine, EngineError
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.http_client import HttpClient
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.work_dir.run_context import run_context

_SETTLED = ('key', 'openai_api_base', 'openai_proxy_url')


def _settled(settings: Mapping[str, Any]) -> str:
    """Returns the fault of settings that an engine of the task has already; '' for none."""
    given = ', '.join(name for name in _SETTLED if name in settings)
    return f'{given}: an engine that the task starts has an address and a key of its own' if given else ''


@MODELS.register_module()
class ToolEvalServed(ToolEvalOpenAI):
    """:class:`ToolEvalOpenAI` with a server from a command: vLLM, SGLang, LMDeploy, ``transformers serve``, ...

    The engine starts with the first request, and so never if there are none, on a free loopback port and with a random
    key. It is stopped at any end of the task. An engine that does not start, or ends, ends the task with the last
    lines of its log; all answers are kept, and a run resumed with ``-r`` starts the engine again.

    Args:
        path: The model, ``{model}`` in the command, and its name on the server.
        engine: Arguments of :class:`~.api.engine.Engine`: ``command``, ``health``, ``startup``, ``env``,
            ``key_variable``, ``grace``, ``nodes``, ``worker_options``.
        http_client_cfg: Settings for :class:`ToolEvalOpenAI`; proxies of the environment are not used by default.
        kwargs: Further arguments of :class:`ToolEvalOpenAI`, except address and key.

    Raises:
        ValueError: Address or key are given.
    """

    def __init__(
        self, path: str, engine: Mapping[str, Any], http_client_cfg: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        if fault := _settled(kwargs):
            raise ValueError(fault)
        self._engine = Engine(model=path, **engine)
        self._starting = asyncio.Lock()
        self._log = run_context().engine_log
        self._failure = ''  # the reason for which it cannot be used any more
        super().__init__(
            path=path,
            key=self._engine.key,
            openai_api_base=f'http://{HOST}/v1',
            http_client_cfg={'trust_env': False, **(http_client_cfg or {})},
            **kwargs,
        )
        self._server = self.outage.server = f'the engine of {path}'
        self.outage.managed_server = self

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the faults of a config's values: of the engine and the HTTP client."""
        if fault := _settled(settings):
            yield fault
        engine = settings.get('engine') or {}
        faults = list(keyword_faults(engine, keywords_of([Engine.__init__]), 'engine'))
        yield from faults
        try:
            if not faults:
                Engine(**{'model': str(settings.get('path')), **engine})
            HttpClient(settings=settings.get('http_client_cfg'))
        except (TypeError, ValueError) as error:
            yield str(error)

    async def prepare(self, stop: asyncio.Event) -> None:
        """Starts the engine, once, and checks that it still runs.

        Args:
            stop: Ends the wait for it.

        Raises:
            Failure: It does not start, or has ended; it ends the task.
        """
        async with self._starting:  # the others wait; after a failure they must not start it again
            if not self._failure and not stop.is_set():
                try:
                    if not self._engine.is_started:
                        await self._start(stop)
                    self._engine.check()
                except (EngineError, OSError) as error:
                    self._failure = f'{error}\nEverything answered is kept: run again with -r'
        if self._failure:
            raise Failure('infra:connection', self._failure, again=False, ends=True)

    async def _start(self, stop: asyncio.Event) -> None:
        began = time.monotonic()
        self.outage.announce(f'{self._server} is started, which may take {self._engine.startup:.0f} s (startup)')
        must_end = threading.Event()  # for the thread that waits for the engine
        starting = asyncio.ensure_future(asyncio.to_thread(self._engine.start, self._log, must_end))
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not starting.done():
                must_end.set()
            stopping.cancel()
            self.outage.announce('')
        await starting
        self.set_address(self._engine.url)
        seconds = time.monotonic() - began
        self.logger.info(f'{self._server}: ready after {seconds:.0f} s, {self._engine.url}, log {self._engine.log}')

    async def is_lost(self) -> bool:
        """Tests if the engine has ended by itself."""
        return await asyncio.to_thread(self._engine.is_lost)

    def close(self) -> None:
        """Stops the engine; the next request starts it again."""
        self._engine.stop()
