"""The data file of models, and prices out of it and out of a user's file."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from aide.errors import ConfigError
from aide.llm.catalog import Price, Prices, quirks
from aide.node import Usage

MILLION = 1_000_000


def priced(name: str, extra: Path | None = None) -> Price:
    price = Prices.load(extra).of(name)
    assert price is not None
    return price


def test_every_entry_can_be_used_and_every_price_has_source_and_date() -> None:
    text = files("aide.llm").joinpath("models.toml").read_text("utf-8")
    entries = tomllib.loads(text)["models"]
    for entry in entries:
        patterns = [entry["match"]] if isinstance(entry["match"], str) else entry["match"]
        assert all(pattern.startswith(("anthropic:", "openai:")) for pattern in patterns)
        ways = {"text", "tool" if patterns[0].startswith("anthropic:") else "json_schema"}
        assert entry["structured"] in ways
        if "price" not in entry:
            continue
        for name in patterns:
            # A glob would price models that nobody has stated a price of.
            assert not set(name) & set("*?[")
            price = priced(name)
            assert price.source
            assert price.date
            assert price.input == entry["price"]["input"]


@pytest.mark.parametrize(
    ("name", "usage", "usd"),
    [
        ("anthropic:claude-opus-5-5", Usage(1, MILLION, MILLION), 24.0),
        ("anthropic:claude-opus-5-5", Usage(1, MILLION, 0, MILLION), 0.2),
        ("anthropic:claude-opus-5-5", Usage(1, MILLION, 0, 0, None, MILLION), 5.0),
        ("anthropic:claude-opus-5-5-20261001", Usage(1, MILLION, 0), 4.0),
        ("anthropic:claude-opus-4-6", Usage(1, 3_000, 1_000, 1_000, None, 1_000), 0.03675),
        # The step: all of the call is billed at the higher rates, not only what is above.
        ("anthropic:claude-haiku-5-5", Usage(1, 100_000, 100_000), 0.06),
        ("anthropic:claude-haiku-5-5", Usage(1, 100_001, 0), 0.0500005),
        ("openai:gpt-6.1-terra", Usage(1, 200_000, 1_000, 100_000), 0.11),
        ("openai:gpt-6.2-sol", Usage(1, 300_000, 1_000), 1.21),
        # No price of cached tokens is stated: the input price, an upper bound.
        ("openai:gpt-6.2-sol", Usage(1, 200_000, 0, 200_000), 0.4),
    ],
)
def test_what_a_call_costs(name: str, usage: Usage, usd: float) -> None:
    assert priced(name).usd(usage) == pytest.approx(usd, rel=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "openai:gpt-7",
        "anthropic:claude-opus-5-7",
        "anthropic:claude-sonnet-4-5",
        "openai:gpt-6-luna@http://127.0.0.1:8080/v1",
        "offline",
    ],
)
def test_an_unknown_price_is_not_guessed(name: str) -> None:
    assert Prices.load().of(name) is None


def test_a_user_s_prices_come_first(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '["openai:qwen*@http://127.0.0.1:*"]\ninput = 0\noutput = 0\n'
        '["openai:*"]\ninput = 3\noutput = 4\ncache_read = 1\n'
        '["openai:gpt-6-luna"]\ninput = 1\noutput = 2\n'
        "above = 10\nbeyond = { input = 7, output = 8 }\n"
    )
    million = Usage(1, MILLION, MILLION)
    assert priced("openai:qwen2@http://127.0.0.1:8080/v1", path).usd(million) == 0
    assert priced("openai:gpt-6.2-sol", path).usd(million) == 7
    # An exact name goes before a glob, wherever it stands.
    assert priced("openai:gpt-6-luna", path).usd(Usage(1, 10, 0)) == pytest.approx(1e-5)
    assert priced("openai:gpt-6-luna", path).usd(million) == 15
    assert priced("anthropic:claude-opus-5-5", path).usd(million) == 24


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('["openai:a"]\ninput = 1\n', "output"),
        ('["openai:a"]\ninput = -1\noutput = 1\n', "input"),
        ('["openai:a"]\ninput = nan\noutput = 1\n', "input"),
        ('["openai:a"]\ninput = 1\noutput = 1\ncached = 1\n', "cached"),
        ('["openai:a"]\ninput = 1\noutput = 1\nabove = 5\n', "beyond"),
        (
            '["openai:a"]\ninput = 1\noutput = 1\nabove = 5\nbeyond = {input = 1}\n',
            "beyond.output",
        ),
        ("input = 1\n", "'input'"),
        ("[gpt-6]\ninput = 1\noutput = 1\n", "'gpt-6'"),
        ("input = \n", "TOML"),
    ],
)
def test_a_malformed_file_is_told_with_file_and_key(tmp_path: Path, text: str, names: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Prices.load(path)
    assert str(path) in str(caught.value)
    assert names in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        Prices.load(tmp_path / "none.toml")


def test_the_first_entry_that_matches_counts() -> None:
    assert quirks("anthropic", "claude-opus-5-5").forced is False
    assert quirks("anthropic", "claude-new-9").forced is False
    assert quirks("anthropic", "claude-haiku-4-5").forced is True
    assert quirks("anthropic", "qwen@http://127.0.0.1:1").effort == ""
    assert quirks("openai", "gpt-6.2-sol").effort == "reasoning_effort"
    assert quirks("openai", "gpt-6.2-sol@https://gateway.test/v1").temperature is None
    assert quirks("openai", "qwen@http://127.0.0.1:1/v1").temperature == 0.7
    assert quirks("openai", "something-new").temperature is None


def test_no_model_of_the_own_services_is_sent_a_temperature() -> None:
    names = ["gpt-4o", "gpt-5.2", "gpt-6-luna", "o3", "gpt-9"]
    assert {quirks("openai", name).temperature for name in names} == {None}
    assert quirks("anthropic", "claude-opus-5-5").temperature is None
