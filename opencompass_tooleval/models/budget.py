"""Requests that a budget pays for. Each reserves its maximum cost before it is sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.scoring.prices import Budget, budget_of, read_prices
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.models.api.event_loop import sleep_unless
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_calls import TOKENS_PER_MESSAGE, texts_of
from opencompass_tooleval.work_dir.budget_file import Ledger
from opencompass_tooleval.work_dir.prompt_tokens import estimate_tokens
from opencompass_tooleval.work_dir.run_context import run_context

_PAUSE = 0.1
"""Seconds between checks of requests in flight."""
_TIMEOUT, _CONNECTION = 'infra:timeout', 'infra:connection'


@dataclass(frozen=True)
class Account:
    """Pays for the requests to a model.

    Attributes:
        ledger: The ledger of the budget.
        budget: The budget, with the prices of the model that gets the requests.
    """

    ledger: Ledger
    budget: Budget

    @contextmanager
    def request(self, prompt: Conversation, max_out_len: int) -> Iterator[Reservation]:
        """Yields the reservation for a request. If it ends without an outcome, the cost of its prompt is charged."""
        reservation = Reservation(self, prompt, max_out_len)
        try:
            yield reservation
        finally:
            reservation.lose()


def account_of_model() -> Account | None:
    """Returns the account of the model under test in this task; None if it has no budget."""
    ledger = run_context().ledger
    return Account(ledger, ledger.budget) if ledger else None


def sends_nothing(cfg: Mapping[str, Any]) -> bool:
    """Tests if a model answers from a file or with the gold, so that it costs nothing."""
    kind = cfg.get('type')
    return str(getattr(kind, '__name__', kind)).rpartition('.')[2] in ('ReplayModel', 'OracleModel')


def account_of_auxiliary(cfg: Mapping[str, Any]) -> Account | None:
    """Returns the account of a judge or simulator, for its own budget or else that of the model under test.

    Returns None without a budget, and for a model that :func:`sends_nothing`.

    Raises:
        ValueError: The config has a budget outside of a run, or lacks the prices that the budget needs.
    """
    context, name, budget = run_context(), model_name(cfg), budget_of(cfg)
    if budget:
        if context.locked_task is None:
            raise ValueError(
                f'{name}: a budget applies only to runs of opencompass; leave budget out of the config here'
            )
        return Account(Ledger(context.locked_task, name, budget, is_auxiliary=True), budget)
    if context.ledger is None or sends_nothing(cfg):
        return None
    return Account(context.ledger, priced(context.ledger.budget, cfg))


def priced(budget: Budget, cfg: Mapping[str, Any]) -> Budget:
    """Returns the budget of the model under test, with the prices of a judge or simulator that it pays for.

    Raises:
        ValueError: The judge or simulator has no prices.
    """
    try:
        return replace(budget, prices=read_prices(cfg.get('prices')))
    except ValueError:
        raise ValueError(
            f'{model_name(cfg)} has no prices, and the budget of the model pays for it: add prices=dict(input=..., '
            'output=...) to its config, or its own budget=dict(tokens=...)'
        ) from None


class Reservation:
    """The reservation for one request. Each try of the request makes it again.

    Args:
        account: Pays for it.
        prompt: The prompt.
        max_out_len: Maximum number of tokens of the answer.
    """

    def __init__(self, account: Account, prompt: Conversation, max_out_len: int) -> None:
        texts, amount = texts_of(prompt), account.budget.amount
        # A tokenizer never makes more tokens than bytes.
        tokens = sum(len(text.encode('utf-8', 'replace')) for text in texts) + TOKENS_PER_MESSAGE * len(prompt)
        self._account = account
        most = Usage(tokens, max_out_len)
        self._most = max(map(amount, (most, replace(most, cached=tokens), replace(most, cache_write=tokens))))
        self._prompt = amount(Usage(sum(estimate_tokens(texts)), 0))
        self._is_held = False
        self._failed = 0.0

    def try_to_hold(self) -> bool | None:
        """Reserves the maximum cost of the request; returns the result of :meth:`Ledger.reserve`."""
        fits = self._account.ledger.reserve(self._most, self._prompt)
        self._is_held = bool(fits)
        return fits

    async def hold(self, stop: asyncio.Event) -> bool:
        """Reserves, waiting while the decision depends on requests in flight; False if the request must not be sent."""
        async with self._account.ledger.turn:
            while not stop.is_set():
                if (fits := self.try_to_hold()) is not None:
                    return fits
                await sleep_unless(stop, _PAUSE)
        return False

    def hold_here(self) -> bool:
        """Does the same as :meth:`hold`, blocking the calling thread."""
        while (fits := self.try_to_hold()) is None:
            time.sleep(_PAUSE)
        return fits

    def fail(self, failure: Failure) -> None:
        """Settles a failed try with its reported usage, or else with the amount that the server may charge."""
        if not self._is_held:
            return
        if failure.usage:
            self._failed += (spent := self._amount(failure.usage))
        else:
            spent = {_TIMEOUT: self._most, _CONNECTION: self._prompt}.get(failure.reason, 0.0) if failure.sent else 0.0
        self._settle(spent)

    def answer(self, usage: Usage | None) -> None:
        """Settles the last try, given the usage of all tries; without usage, with its maximum cost."""
        if self._is_held:
            self._settle(max(0.0, self._amount(usage) - self._failed) if usage else self._most)

    def lose(self) -> None:
        """Settles a try without an outcome, with the cost of its prompt."""
        if self._is_held:
            self._settle(self._prompt)

    def _amount(self, usage: Usage) -> float:
        return self._account.budget.amount(usage)

    def _settle(self, spent: float) -> None:
        self._is_held = False
        self._account.ledger.settle(self._most, self._prompt, spent)
