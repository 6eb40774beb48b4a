"""Colours, hatches and numbers of figures."""

from __future__ import annotations

import itertools
import json

import pytest
from flashkeep import _flashkeep
from flashkeep.render.figures import CAUSES, DARK, HATCHES, LIGHT, Style, count_unit, plain, time_unit

# Machado, Oliveira and Fernandes (2009), severity 1.0: what eyes without one kind of cone see, in linear RGB.
EYES = {
    "all cones": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no long": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no medium": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no short": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def seen(colour: str, eye: str) -> tuple[float, float, float]:
    """A colour in CIELAB."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    red, green, blue = (min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear, strict=True)))) for row in EYES[eye])

    def root(t: float) -> float:
        return t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116

    x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("names", [[f"c{at}" for at in range(1, 16)], [f"s{at}" for at in range(1, 7)]])
def test_colours_differ_for_everyone(names: list[str], colours: dict[str, str], eye: str) -> None:
    for one, other in itertools.combinations(names, 2):
        pairs = zip(seen(colours[one], eye), seen(colours[other], eye), strict=True)
        distance = sum((a - b) ** 2 for a, b in pairs) ** 0.5
        assert distance > 10, (one, other)


def test_every_cause_has_a_colour_and_a_hatch_of_its_own() -> None:
    style = Style(LIGHT)
    looks = [style.cause(cause) for cause in CAUSES]
    assert len({look["color"] for look in looks}) == len({look["hatch"] for look in looks}) == len(CAUSES)
    assert len(set(HATCHES)) == len(HATCHES)
    paths = (metric["path"].split(".") for metric in json.loads(_flashkeep.metrics())["metrics"])
    assert {path[2] for path in paths if path[0] == "operations"} == set(CAUSES)


def test_numbers_of_an_axis_have_one_notation() -> None:
    values = (0.001, 0.01, 0.5, 1.0, 2.5, 100.0, 1000.0, 1_000_000.0, -0.25)
    assert [plain(value) for value in values] == [
        "0.001", "0.01", "0.5", "1", "2.5", "100", "1,000", "1,000,000", "−0.25"
    ]  # fmt: skip
    assert [time_unit(1, most)[1] for most in (500, 5e5, 5e6, 5e9)] == ["µs", "µs", "ms", "ms"]
    assert time_unit(1e4, 1e9) == (1e6, "s")
    assert [count_unit(most) for most in (99_999, 1e5, 2e8)] == [(1.0, ""), (1e3, "thousand "), (1e6, "million ")]
