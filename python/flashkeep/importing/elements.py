"""The elements of a configuration: names, texts and lines, read as numbers and words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class WrongInputError(Exception):
    """A configuration that cannot be read: its file, line and element, what was found and what is accepted."""

    def __init__(self, path: str, line: int | None, element: str | None, message: str) -> None:
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {element}: {message}" if element else f"{where}: {message}")


@dataclass(frozen=True, slots=True)
class Element:
    """A parameter: its name and text in the file, and its line."""

    name: str
    text: str
    line: int

    def __str__(self) -> str:
        return " ".join(f"{self.name} {self.text}".split())


class Elements:
    """The parameters of a file by name; which of them were used."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._all: dict[str, Element] = {}
        self._used: set[str] = set()

    def add(self, element: Element) -> None:
        """Adds a parameter, which must not be there yet."""
        if element.name in self._all:
            first = self._all[element.name].line
            raise WrongInputError(self.path, element.line, element.name, f"given twice, first in line {first}")
        self._all[element.name] = element

    def __contains__(self, name: str) -> bool:
        return name in self._all

    def unused(self) -> Iterator[Element]:
        """The parameters that nothing asked for, in the order of the file."""
        return (element for name, element in self._all.items() if name not in self._used)

    def all(self) -> Iterator[Element]:
        """The parameters in the order of the file."""
        return iter(self._all.values())

    def find(self, *names: str) -> Element | None:
        """The parameter of one of these names (versions of a simulator spell some differently)."""
        found = next((self._all[name] for name in names if name in self._all), None)
        if found:
            self._used.add(found.name)
        return found

    def get(self, *names: str) -> Element:
        """The same, for a parameter that must be there."""
        found = self.find(*names)
        if found is None:
            raise WrongInputError(self.path, None, None, f"{names[0]} is missing")
        return found

    def whole(self, element: Element, least: int = 0, most: int = 2**63) -> int:
        """A parameter as a whole number."""
        text = element.text.strip()
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not least <= number <= most:
            limit = f"from {least} to {most}" if most < 2**63 else f"{least} or more"
            raise self.wrong(element, f"a whole number, {limit}")
        return number

    def number(self, element: Element, above: float | None = None, below: float = float("inf")) -> Fraction:
        """A parameter as a number, exactly as it is written: 0 or more, or above a bound."""
        try:
            number = float(element.text)
        except ValueError:
            number = float("nan")
        if not ((number >= 0 if above is None else number > above) and number < below):
            least = "0 or more" if above is None else f"above {above:g}"
            raise self.wrong(element, f"a number, {least}" + (f" and below {below:g}" if below < float("inf") else ""))
        # A tiny power of ten has as many digits as its exponent says.
        return Fraction(element.text.strip()) if number else Fraction(0)

    def word(self, element: Element, words: Mapping[str, str]) -> str:
        """The meaning of one of a few words."""
        text = element.text.strip()
        for word, meaning in words.items():
            if text.lower() == word.lower():
                return meaning
        raise self.wrong(element, " or ".join(words))

    def flag(self, element: Element) -> bool:
        """A parameter that is true or false."""
        return self.word(element, {"true": "yes", "false": ""}) == "yes"

    def wrong(self, element: Element, accepted: str) -> WrongInputError:
        """The error for a value."""
        found = element.text.strip()
        return WrongInputError(self.path, element.line, element.name, f"found {found!r}; accepted: {accepted}")
