"""A model whose server the task starts and stops on its own GPUs, or the runner for all tasks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from opencompass.registry import MODELS

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.sent import setting_faults
from opencompass_tooleval.core.calls.written.formats import parser_faults
from opencompass_tooleval.core.keywords import keyword_faults, keywords_of
from opencompass_tooleval.models.api.engine import HOST, Engine, EngineError
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.http_client import HttpClient
from opencompass_tooleval.models.api.shared_engine import SharedEngine
from opencompass_tooleval.models.openai_model import SentRequest, ToolEvalOpenAI, stream_faults
from opencompass_tooleval.work_dir.run_context import run_context

_SETTLED = ('key', 'openai_api_base', 'openai_proxy_url')


def _faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yields the faults of settings: an address, key or proxy (which the engine sets), or an unsafe ``shared``."""
    if given := ', '.join(name for name in _SETTLED if name in settings):
        yield f'{given}: an engine that the task starts sets its own address and key'
    if named := ', '.join(
        sorted({'proxy', 'proxies', 'trust_env'}.intersection(settings.get('http_client_cfg') or {}))
    ):
        yield f'http_client_cfg: {named}: an engine that the task starts is reached without a proxy'
    if settings.get('wire', 'chat') != 'chat':
        yield 'wire: an engine that the task starts is asked by chat completions: leave it out'
    shared, has_key = settings.get('shared'), bool((settings.get('engine') or {}).get('key_variable'))
    is_open = bool(settings.get('open'))
    if shared and not has_key and not is_open:
        yield (
            'shared: its engine uses no key, so that everybody who can reach its port could use it: set key_variable '
            'to the variable with its key, or set open=True'
        )
    if is_open and (has_key or not shared):
        yield 'open: only a shared engine without a key is open to others: leave it out'


@MODELS.register_module()
class ToolEvalServed(ToolEvalOpenAI):
    """:class:`ToolEvalOpenAI` with a server from a command: vLLM, SGLang, LMDeploy, ``transformers serve``, ...

    The engine starts at the first request (so never if there are none) on a free loopback port with a random key. It is
    stopped when the task ends in any way. If an engine does not start, or ends, the task ends with the last lines of
    the engine's log. All answers are kept, and a run resumed with ``-r`` starts the engine again.

    With ``shared=True`` the runners of this package start the engine once, for all tasks of a stage that need it, and
    restart it if it ends; tasks wait for it. With other runners, and in debug mode, each task still starts its own.

    Args:
        path: The model: it replaces ``{model}`` in the command, and is the model's name on the server.
        engine: Arguments of :class:`~.api.engine.Engine`: ``command``, ``health``, ``startup``, ``env``,
            ``key_variable``, ``grace``, ``nodes``, ``worker_options``.
        shared: True to share one engine between all tasks. Models with the same path, engine and GPUs share one. A
            runner replaces True by the path of the file with the address.
        open: True to share an engine without a key. Every user of this machine, and on Slurm everybody who can
            connect to the node, can use it.
        http_client_cfg: As for :class:`ToolEvalOpenAI`, but without proxies, which an engine does not use.
        kwargs: Other arguments of :class:`ToolEvalOpenAI`, except address and key.

    Raises:
        ValueError: An address or a key is given, or everybody could use a shared engine.
    """

    runs_beside_others = False

    def __init__(
        self,
        path: str,
        engine: Mapping[str, Any],
        shared: bool | str = False,
        open: bool = False,
        http_client_cfg: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        for fault in _faults(
            {**kwargs, 'engine': engine, 'shared': shared, 'open': open, 'http_client_cfg': http_client_cfg}
        ):
            raise ValueError(fault)
        self._engine = Engine(model=path, **engine)
        self._starting = asyncio.Lock()
        self._log = run_context().engine_log
        self._failure = ''  # why the engine cannot be used any more
        super().__init__(
            path=path,
            key=self._engine.key,
            openai_api_base=f'http://{HOST}/v1',
            http_client_cfg={**(http_client_cfg or {}), 'trust_env': False},
            **kwargs,
        )
        self._server = self.outage.server = f'the engine of {path}'
        self._shared: SharedEngine | None = None
        if isinstance(shared, str):
            self._server = self.outage.server = f'the shared engine of {path}'
            self._shared = SharedEngine(Path(shared), self._engine, self.patience, self.outage, self.set_address)
        elif shared:
            self.logger.warning(f'{self._server}: shared=True has no effect here, this process starts the engine')
        self.outage.managed_server = self._shared or self

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the faults of a config: of the engine, the HTTP client and the parser of calls."""
        yield from parser_faults(settings)
        yield from setting_faults(settings)
        yield from stream_faults(settings)
        yield from _faults(settings)
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
        """Starts the engine if it is not started, and checks that it still runs.

        Args:
            stop: Ends the wait for the engine.

        Raises:
            Failure: The engine does not start, or has ended; the failure ends the task.
        """
        async with self._starting:  # other requests wait; after a failure they must not start it again
            if not self._failure and not stop.is_set():
                try:
                    if not self._engine.is_started:
                        await self._start(stop)
                    self._engine.check()
                except (EngineError, OSError) as error:
                    self._failure = f'{error}\nEverything answered is kept: run again with -r'
        if self._failure:
            raise Failure('infra:connection', self._failure, again=False, ends=True)

    async def _try(self, sent: SentRequest) -> tuple[Answer, float]:
        if self._shared is None:
            return await super()._try(sent)
        used = self._shared.used
        try:
            return await super()._try(sent)
        except Failure as failure:
            raise self._shared.checked(failure, used) from None

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
