"""Puts the models of a run together: one per operator, each with its retries, book and caps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aide.calls import Booked, read_calls
from aide.clock import Clock
from aide.config import Config
from aide.deadline import Deadline
from aide.errors import ConfigError
from aide.folder import RunFolder
from aide.interfaces import Model, Usage
from aide.journal import Journal
from aide.ledger import Ledger, PriceLike
from aide.llm import MODELS
from aide.llm.catalog import Prices
from aide.operators import OPERATORS
from aide.patience import Patient
from aide.registry import find
from aide.routes import Routes
from aide.tokens import TokenEstimate

HOUR = 3600.0
SERVICES = ("anthropic", "openai")
ADVISOR = "summarize"


@dataclass(frozen=True)
class Named:
    """The models that a configuration names, not yet in use.

    Attributes:
        default: writes everything that no other model is named for.
        by_operator: another model for an operator.
        fallback: stands in while another is out, or None.
    """

    default: Model
    by_operator: Mapping[str, Model]
    fallback: Model | None

    @property
    def all(self) -> list[Model]:
        every = [self.default, *self.by_operator.values(), self.fallback]
        return list({id(model): model for model in every if model is not None}.values())

    @property
    def offline(self) -> bool:
        """True if no language model is among them."""
        return all(model.name == "offline" for model in self.all)

    def names(self) -> dict[str, str]:
        """What the books call them: operator (or "default", "fallback") to name."""
        names = {"default": self.default.name}
        names |= {operator: model.name for operator, model in self.by_operator.items()}
        return names | ({"fallback": self.fallback.name} if self.fallback else {})


class Models:
    """The models of a run at work.

    Args:
        named: the models.
        config: gives limits, prices and the seed.
        book: where each call is written down.
        folder: the run's folder; what its book holds counts as spent.
        clock: for waits.
        on_wait: told the reason and the seconds of each longer wait.

    Raises:
        ConfigError: money is limited, but a price is not known.
    """

    def __init__(
        self,
        named: Named,
        config: Config,
        book: Journal,
        folder: RunFolder,
        clock: Clock,
        on_wait: Callable[[str, float], None],
    ) -> None:
        self.estimate = TokenEstimate()
        self.ledger = make_ledger(config, self.estimate)
        self.ledger.check_priced([model.name for model in named.all])
        for call in read_calls(folder.calls):
            self.ledger.restore(call)
        self._deadlines: list[Deadline] = []
        self._patients: dict[int, Patient] = {}
        self._named, self._config, self._book = named, config, book
        self._clock, self._on_wait = clock, on_wait
        self._fallback = self._booked(named.fallback) if named.fallback else None
        self.model: Model = Routes(
            self._patient(named.default),
            {name: self._patient(model) for name, model in named.by_operator.items()},
        )

    def cancel(self) -> None:
        """Have every call end soon, from any thread."""
        self.ledger.cancel()
        for patient in self._patients.values():
            patient.cancel()
        for deadline in self._deadlines:
            deadline.cancel()

    def _booked(self, model: Model) -> Model:
        deadline = Deadline(model, self._config.call_seconds)
        self._deadlines.append(deadline)
        return Booked(deadline, self._book, self.ledger, self._clock.now)

    def _patient(self, model: Model) -> Patient:
        if id(model) not in self._patients:
            self._patients[id(model)] = Patient(
                self._booked(model),
                fallback=self._fallback,
                clock=self._clock,
                seed=self._config.seed,
                outage_seconds=self._config.outage_hours * HOUR,
                on_wait=self._on_wait,
            )
        return self._patients[id(model)]


class OwnPrice:
    """The price of a model that says itself what a call cost, such as one that costs nothing."""

    def usd(self, usage: Usage) -> float | None:
        return usage.usd


def make_ledger(config: Config, estimate: TokenEstimate) -> Ledger:
    prices = Prices.load(config.prices)

    def price_of(name: str) -> PriceLike | None:
        service = name.partition(":")[0] in SERVICES
        return prices.of(name) if service else OwnPrice()

    return Ledger(price_of, estimate, usd=config.usd, tokens=config.tokens)


def make_models(config: Config) -> Named:
    """The models that a configuration names; each name is made once.

    Raises:
        ConfigError: a name is unknown, or a model is given for an operator that there is not.
        ModelUnusableError: a model's key is missing.
        UnavailableError: a model's package is not installed.
    """
    known = [*OPERATORS, ADVISOR]
    for operator in config.models:
        if operator not in known:
            raise ConfigError(
                f"a model is given for {operator!r}, but the operators are: {', '.join(known)}"
            )
    names = {config.model, *config.models.values(), *filter(None, [config.fallback])}
    made = {name: _make(name, config) for name in sorted(names)}
    return Named(
        made[config.model],
        {operator: made[name] for operator, name in config.models.items()},
        made[config.fallback] if config.fallback else None,
    )


def _make(wanted: str, config: Config) -> Model:
    """The model that a name stands for; `name:argument` hands the argument to it."""
    name, _, argument = wanted.partition(":")
    model: Model
    if name in SERVICES:
        if not argument:
            raise ConfigError(f"name the model too, as --model {name}:MODEL")
        model = find("model", name, MODELS)(
            argument, effort=config.effort, seconds=config.call_seconds
        )
    elif name in MODELS:
        maker = find("model", name, MODELS)
        model = maker(argument) if argument else maker()
    else:
        model = find("model", wanted, MODELS)()
    return model
