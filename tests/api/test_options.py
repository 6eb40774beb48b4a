"""The command line's words as values."""

from __future__ import annotations

import argparse

import pytest
from flashkeep.cli.options import COMMANDS, UsageError, factor, parse, warmup, whole
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 2**64 - 1))
def test_whole_numbers(number: int) -> None:
    assert whole(0)(str(number)) == whole(0)(f"{number:_}") == number


def test_suffixes() -> None:
    assert (whole(0)("10k"), whole(0)("5M"), whole(0)("2G")) == (10_000, 5_000_000, 2_000_000_000)


@given(st.text())
def test_anything_is_read_or_refused(text: str) -> None:
    for read in (whole(1), factor, warmup):
        try:
            assert read(text) is not None
        except argparse.ArgumentTypeError as error:
            assert repr(text) in str(error)


@pytest.mark.parametrize(("text", "read"), [("10%", "10%"), ("0.5%", "0.5%"), ("5k", "5000"), ("0", "0")])
def test_warmup(text: str, read: str) -> None:
    assert warmup(text) == read


def test_every_option_is_documented_and_read_once() -> None:
    for command in COMMANDS:
        flags = [option.flag for option in command.options]
        assert len(flags) == len(set(flags)), command.name
        assert all(option.help and option.flag.startswith("--") for option in command.options)


def test_words_in_any_order() -> None:
    command, found = parse(["run", "--seed", "3", "drive", "--limit=5k", "a", "--json", "b"])
    assert command.name == "run"
    assert (found["drive"], found["trace"], found["seed"], found["limit"]) == ("drive", ["a", "b"], 3, 5000)
    with pytest.raises(UsageError, match="did you mean '--limit'"):
        parse(["run", "drive", "a", "--limt", "3"])
