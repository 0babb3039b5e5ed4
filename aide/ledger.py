"""What model calls cost, and the caps on it that hold with any number of calls in flight."""

from __future__ import annotations

import threading
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from aide.errors import BudgetExceeded, ConfigError, ModelError
from aide.interfaces import Request, Usage
from aide.tokens import TokenEstimate, extra_bytes, size

FLOOR = 512
"""The shortest answer, in tokens, that is worth a call, unless the request wants less."""


class PriceLike(Protocol):
    """What a model's tokens cost."""

    def usd(self, usage: Usage) -> float | None:
        """The money for a call; None if it is not known."""


class Line(Protocol):
    """What the ledger needs of a line of the book of calls, to count it again.

    Attributes:
        usage: what the call is known to have used.
        unknown: the worst case of a call whose outcome is unknown, else None.
        size: of the prompt, as `aide.tokens.size` has it.
    """

    @property
    def model(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def node(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def unknown(self) -> Usage | None: ...


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that has been allowed, until it is settled, lost or freed.

    Attributes:
        model, operator, node: whose call it is.
        size: of the prompt.
        max_tokens: the longest answer that it may ask for.
        worst: the most that it can use.
    """

    number: int
    model: str
    operator: str
    node: int
    size: int
    max_tokens: int
    worst: Usage


class Ledger:
    """The books of all model calls of a run. Safe in threads.

    What is spent, what calls in flight can still use, and what calls of unknown outcome may have
    used stay within the caps together, as far as a prompt has no more tokens than
    `TokenEstimate.most` says and a service keeps to the length that an answer may have.

    Args:
        price_of: a model's price by its name, or None where it is not known.
        estimate: bounds the tokens of prompts, and learns from each call.
        usd: the cap on money, or None.
        tokens: the cap on tokens, those in and those out together, or None.
    """

    def __init__(
        self,
        price_of: Callable[[str], PriceLike | None],
        estimate: TokenEstimate,
        *,
        usd: float | None = None,
        tokens: int | None = None,
    ) -> None:
        self._price_of, self._estimate = price_of, estimate
        self._caps: dict[str, float | None] = {"usd": usd, "tokens": tokens}
        # A condition's lock may be taken twice by one thread, as the totals' readers do.
        self._changed = threading.Condition()
        self._open: dict[int, Reservation] = {}
        self._known, self._unknown = Usage(), Usage()
        self._by_operator: defaultdict[str, Usage] = defaultdict(Usage)
        self._by_node: defaultdict[int, Usage] = defaultdict(Usage)
        self._by_model: defaultdict[str, Usage] = defaultdict(Usage)
        # Apart from the total, which forgets its money once a single price is unknown.
        self._usd = 0.0
        self._calls = 0
        self._cancelled = False

    @property
    def total(self) -> Usage:
        """All calls; their money is None if a price was unknown."""
        return self._known

    @property
    def by_operator(self) -> dict[str, Usage]:
        with self._changed:
            return dict(self._by_operator)

    @property
    def by_node(self) -> dict[int, Usage]:
        with self._changed:
            return dict(self._by_node)

    @property
    def by_model(self) -> dict[str, Usage]:
        with self._changed:
            return dict(self._by_model)

    @property
    def unknown_calls(self) -> int:
        """How many of the total's calls may have been billed for an answer that never came."""
        return self._unknown.calls

    @property
    def unknown_tokens(self) -> int:
        """The most tokens that those can have used, on top of the total's."""
        return _tokens(self._unknown)

    @property
    def unknown_usd(self) -> float | None:
        """The most money that those can have cost, on top of the total's; None: no price."""
        return self._unknown.usd

    def check_priced(self, models: Iterable[str]) -> None:
        """Raise ConfigError if money is capped and one of the models has no known price."""
        cap = self._caps["usd"]
        for model in models if cap is not None else ():
            if self._money(model, Usage(calls=1)) is None:
                raise ConfigError(
                    f"the price of {model} is not known, so the limit of {cap:g} usd cannot be "
                    "kept; give its price in a TOML file with --prices, or leave --usd out"
                )

    def reserve(self, model: str, request: Request) -> Reservation:
        """Allow a call, with a shorter answer if no more can be afforded.

        Waits while calls in flight hold what this one needs.

        Raises:
            BudgetExceeded: the caps leave no room, whatever the calls in flight turn out to use.
            ConfigError: money is capped and the model's price is not known.
            ModelError: cancelled while waiting.
        """
        with self._changed:
            while True:
                if self._cancelled:
                    raise ModelError("cancelled")
                reservation = self._fitted(model, request)
                if reservation is not None:
                    self._calls += 1
                    self._open[reservation.number] = reservation
                    return reservation
                self._changed.wait()

    def settle(self, reservation: Reservation, usage: Usage) -> Usage:
        """Count a call that was answered; returns its usage with the money."""
        priced = replace(usage, calls=1, usd=self._money(reservation.model, usage))
        self._estimate.observe(reservation.model, reservation.size, usage.tokens_in)
        self._close(reservation, priced, None)
        return priced

    def lose(self, reservation: Reservation) -> Usage:
        """Count a call that may have been billed for an answer that never came.

        Its worst case stays counted against the caps, and is returned.
        """
        self._close(reservation, Usage(calls=1), reservation.worst)
        return reservation.worst

    def free(self, reservation: Reservation) -> Usage:
        """Count a call that failed and was not billed; returns its usage."""
        usage = Usage(calls=1)
        self._close(reservation, usage, None)
        return usage

    def restore(self, line: Line) -> None:
        """Count a call of an earlier session, from its line in the book."""
        usage = line.usage
        self._estimate.observe(line.model, line.size, usage.tokens_in)
        if usage.usd is None:
            # The price may have become known since.
            usage = replace(usage, usd=self._money(line.model, usage))
        with self._changed:
            self._count(line.model, line.operator, line.node, usage, line.unknown)

    def forecast(self, finished: int, steps: int) -> Usage | None:
        """What the run will have used after all its steps, at the pace per node so far.

        Args:
            finished: how many nodes are finished.
            steps: how many there will be.

        Returns:
            None before the first node.
        """
        if finished < 1:
            return None
        scale = max(steps, finished) / finished
        used = asdict(self.total)
        usd = used.pop("usd")
        counts = {name: round(count * scale) for name, count in used.items()}
        return Usage(**counts, usd=None if usd is None else usd * scale)

    def cancel(self) -> None:
        """End all waits in `reserve`, from any thread; later ones fail at once."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def _fitted(self, model: str, request: Request) -> Reservation | None:
        """The reservation that fits now; None if calls in flight have to end first.

        Raises:
            BudgetExceeded, ConfigError: as `reserve`.
        """
        prompt = size(request)
        tokens_in = self._estimate.most(model, prompt) + extra_bytes(request)

        def reservation(answer: int) -> Reservation:
            worst = self._worst(model, tokens_in, answer)
            return Reservation(
                self._calls, model, request.operator, request.node, prompt, answer, worst
            )

        floor = min(FLOOR, request.max_tokens)
        kind = self._over(reservation(floor).worst, in_flight=False)
        if kind is not None:
            raise BudgetExceeded(kind, self._used()[kind], self._caps[kind] or 0.0)
        if self._over(reservation(request.max_tokens).worst) is None:
            return reservation(request.max_tokens)
        if self._open:
            # A short answer now is worth less than a whole one when the others have settled.
            return None
        longer = range(floor + 1, request.max_tokens + 1)
        fitting = bisect(longer, False, key=lambda n: self._over(reservation(n).worst) is not None)
        return reservation(floor + fitting)

    def _over(self, more: Usage, *, in_flight: bool = True) -> str | None:
        """Which cap a further use would pass, or None."""
        held = [one.worst for one in self._open.values()] if in_flight else []
        used = self._used([*held, more])
        over = (kind for kind, cap in self._caps.items() if cap is not None and used[kind] > cap)
        return next(over, None)

    def _used(self, held: Iterable[Usage] = ()) -> dict[str, float]:
        every = [self._known, self._unknown, *held]
        usd = self._usd + sum(use.usd or 0.0 for use in every[2:])
        return {"usd": usd, "tokens": sum(map(_tokens, every))}

    def _worst(self, model: str, tokens_in: int, tokens_out: int) -> Usage:
        """A call's largest use; of a prompt that is written to a cache or not, the dearer one."""
        plain = Usage(1, tokens_in, tokens_out)
        written = replace(plain, tokens_written=tokens_in)
        self.check_priced([model])
        prices = [self._money(model, usage) for usage in (plain, written)]
        known = [usd for usd in prices if usd is not None]
        return replace(plain, usd=max(known) if len(known) == 2 else None)

    def _money(self, model: str, usage: Usage) -> float | None:
        price = self._price_of(model)
        return None if price is None else price.usd(usage)

    def _close(self, held: Reservation, usage: Usage, unknown: Usage | None) -> None:
        with self._changed:
            del self._open[held.number]
            self._count(held.model, held.operator, held.node, usage, unknown)
            self._changed.notify_all()

    def _count(
        self, model: str, operator: str, node: int, usage: Usage, unknown: Usage | None
    ) -> None:
        self._known += usage
        self._usd += usage.usd or 0.0
        self._by_operator[operator] += usage
        self._by_node[node] += usage
        self._by_model[model] += usage
        if unknown is not None:
            self._unknown += unknown
            self._usd += unknown.usd or 0.0


def _tokens(usage: Usage) -> int:
    return usage.tokens_in + usage.tokens_out
