"""What each model takes and what it costs, out of the data file beside this module.

A name is "provider:model", with "@URL" at its end where the model is behind a base URL that is
not the provider's own. First match wins. Money is in USD.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aide.errors import ConfigError
from aide.node import Usage

Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]

MILLION = 1_000_000
WRITE = 1.25
"""What a token written to a cache costs where no price is stated, in input prices: the most that
a provider in the table asks for its shortest kind of cache, which is the one that is used."""

_DATE = re.compile(r"-20\d\d-?\d\d-?\d\d$")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rates(_Record):
    """USD per million tokens; None where it is not stated.

    Tokens read from a cache at no stated price are counted at the full input price, which is an
    upper bound; those written to one at `WRITE` times the input price.
    """

    input: Money
    output: Money
    cache_read: Money | None = None
    cache_write: Money | None = None

    def usd(self, usage: Usage) -> float:
        """What the tokens cost, in USD."""
        read = self.input if self.cache_read is None else self.cache_read
        write = WRITE * self.input if self.cache_write is None else self.cache_write
        plain = usage.tokens_in - usage.tokens_cached - usage.tokens_written
        total = (
            max(0, plain) * self.input
            + usage.tokens_cached * read
            + usage.tokens_written * write
            + usage.tokens_out * self.output
        )
        return total / MILLION


class Price(Rates):
    """A model's price.

    Attributes:
        above: prompts of more tokens than this are billed at `beyond`, all their tokens.
        beyond: the rates of such calls.
        source, date: who states it, and when that was read.
    """

    above: int | None = Field(None, ge=1)
    beyond: Rates | None = None
    source: str = ""
    date: str = ""

    @model_validator(mode="after")
    def _has_both_or_neither(self) -> Price:
        if (self.above is None) != (self.beyond is None):
            raise ValueError("'above' and 'beyond' go together")
        return self

    def usd(self, usage: Usage) -> float:
        """What one call cost, in USD. Sums of calls are priced call by call, for the step."""
        if self.above is not None and self.beyond is not None and usage.tokens_in > self.above:
            return self.beyond.usd(usage)
        return super().usd(usage)


class Quirks(_Record):
    """Which parameters a model takes; see the head of the data file for each."""

    structured: Literal["tool", "json_schema", "text"] = "text"
    forced: bool = True
    temperature: float | None = None
    seed: bool = False
    effort: Literal["", "output_config", "reasoning_effort"] = ""
    thinking: Literal["", "adaptive"] = ""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    context: int | None = None


class _Entry(Quirks):
    match: str | tuple[str, ...]
    price: Price | None = None

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.match,) if isinstance(self.match, str) else self.match


def quirks(provider: str, model: str) -> Quirks:
    """What a model takes.

    Args:
        provider: "anthropic" or "openai".
        model: its name there, with "@URL" behind it for another server's.
    """
    # A gateway's name for a hosted model is that model; its URL must not hide it.
    name, _, _ = f"{provider}:{model}".partition("@")
    full = f"{name}@" if "@" in model else name
    for entry in _entries():
        if any(fnmatchcase(full, pattern) or _is(name, pattern) for pattern in entry.patterns):
            return entry
    return Quirks()


class Prices:
    """The price of each model by its name, of a user's file first, then of the built-in table.

    Args:
        own: the user's prices: a name or a glob to its price, in the file's order.
    """

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = own

    @classmethod
    def load(cls, extra: Path | None = None) -> Prices:
        """The built-in prices under those of a TOML file.

        The file has a table for each model, `["openai:qwen@*"]`, with the keys of `Price`;
        input and output are required. An exact name goes before a glob, then the first wins.

        Raises:
            ConfigError: the file cannot be read or a key cannot be used; names file and key.
        """
        return cls({} if extra is None else _own_prices(extra))

    def of(self, provider_model: str) -> Price | None:
        """The price of a model; None if it is not known, which is said and never guessed.

        The built-in table does not hold for a base URL of the user's: a local server is free, and
        a reseller asks what it likes. Only the user's file prices those.
        """
        if provider_model in self._own:
            return self._own[provider_model]
        for pattern, price in self._own.items():
            if fnmatchcase(provider_model, pattern):
                return price
        if "@" in provider_model:
            return None
        for entry in _entries():
            if entry.price and any(_is(provider_model, pattern) for pattern in entry.patterns):
                return entry.price
        return None


def _is(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(_DATE.sub("", name), pattern)


@cache
def _entries() -> Sequence[_Entry]:
    text = files("aide.llm").joinpath("models.toml").read_text("utf-8")
    return tuple(_Entry.model_validate(entry) for entry in tomllib.loads(text)["models"])


def _own_prices(path: Path) -> dict[str, Price]:
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"the prices {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prices {path} are not valid TOML: {error}") from error
    return {name: _price(path, name, table) for name, table in tables.items()}


def _price(path: Path, name: str, table: object) -> Price:
    if ":" not in name or not isinstance(table, dict):
        raise ConfigError(
            f"the prices {path} have no model's name at {name!r}; begin a table such as "
            '["openai:gpt-6-luna"] with input = and output = in USD per million tokens'
        )
    try:
        return Price.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "above"
        raise ConfigError(
            f"the prices {path} cannot be used at {name!r}, {key}: {first['msg']}; the keys are: "
            f"{', '.join(Price.model_fields)}"
        ) from error
