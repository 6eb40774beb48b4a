"""The page on drives at the end of their life: its numbers are those that are measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))
import end_of_life  # type: ignore[import-not-found]

TEXT = end_of_life.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Executor]:
    """Another process: large drives would raise the peak memory of this one, which commands started by it inherit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.full
@pytest.mark.parametrize("name", end_of_life.TABLES)
def test_a_table_of_the_page_is_what_is_measured(elsewhere: Executor, name: str) -> None:
    lines = elsewhere.submit(end_of_life.TABLES[name]).result()
    assert end_of_life.page_with(TEXT, name, lines) == TEXT, f"python {end_of_life.__file__} --write"


def test_a_row_of_the_page_is_what_is_measured(elsewhere: Executor) -> None:
    row = elsewhere.submit(end_of_life.row, "qlc-capacity", "none").result()
    table = TEXT.split("<!-- qlc-capacity -->")[1].split("<!-- end -->")[0]
    assert row in table.splitlines()


def test_figures_of_the_page_exist() -> None:
    for picture in end_of_life.pictures():
        assert f"]({picture.name}.svg)" in TEXT
        assert (end_of_life.PAGE.with_name(f"{picture.name}.svg")).is_file()
