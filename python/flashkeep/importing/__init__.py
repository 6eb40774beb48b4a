"""`flashkeep drives import FILE`: configurations of other simulators as drive files."""

from __future__ import annotations

import os
import re

from ..cli.options import UsageError
from ..results.writing import put
from . import disksim, mqsim, mqsim_flows, ssdsim
from .draft import Draft
from .elements import Elements, WrongInputError

LARGEST = 4 << 20
"""A larger file is not a configuration."""

SIMULATORS = {"mqsim": mqsim, "ssdsim": ssdsim, "disksim": disksim}
"""The formats; each has its `NAME`, `MARK` (what only its files contain), `ACCEPTED`, `read` and `translate`."""


def import_file(path: str, form: str | None, scenario: int | None = None) -> Draft | mqsim_flows.Flows:
    """Reads a configuration, whose format is found from its content if it is not given, or the flows of a
    scenario of MQSim.

    Raises `UsageError`, which names the file, the line and the element.
    """
    text = _text_of(path)
    try:
        if form in (None, "mqsim") and re.search(mqsim_flows.MARK, text):
            return mqsim_flows.import_flows(path, os.path.basename(path), text, scenario or 1)
        if scenario is not None:
            raise UsageError("flashkeep drives import: --scenario: for a workload.xml of MQSim")
        form = form or _detect(path, text)
        simulator = SIMULATORS[form]
        elements: Elements = simulator.read(path, text)
        draft = Draft(form, simulator.NAME, os.path.basename(path))
        simulator.translate(elements, draft)
        for element in elements.unused():
            draft.drop(element, "not known here")
        draft.check(path)
    except WrongInputError as error:
        raise UsageError(f"flashkeep drives import: {error}") from None
    return draft


def write_file(path: str, text: str, force: bool) -> None:
    """Writes the drive file; one that exists is replaced with `--force` only."""
    if path == "-":
        raise UsageError("flashkeep drives import: -o: name a file; without -o the drive goes to standard output")
    if os.path.isdir(path):
        raise UsageError(f"flashkeep drives import: -o: {path} is a directory; name a file")
    if os.path.lexists(path) and not force:
        raise UsageError(f"flashkeep drives import: -o: {path} exists; name another file, or add --force")
    put(os.path.realpath(path), text.encode())


def _text_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"flashkeep drives import: {path}: {(error.strerror or str(error)).lower()}") from None
    if len(content) > LARGEST:
        raise UsageError(f"flashkeep drives import: {path}: larger than 4 MiB, so not a configuration")
    # Names and values are ASCII; comments may be in any encoding.
    return content.decode("latin-1").replace("\r\n", "\n").removeprefix("\xef\xbb\xbf")


def _detect(path: str, text: str) -> str:
    found = [name for name, simulator in SIMULATORS.items() if re.search(simulator.MARK, text, re.MULTILINE)]
    if len(found) == 1:
        return found[0]
    accepted = "; ".join(f"{simulator.ACCEPTED} ({name})" for name, simulator in SIMULATORS.items())
    if found:
        raise WrongInputError(path, None, None, f"two formats fit, {' and '.join(found)}; choose one with --format")
    raise WrongInputError(path, None, None, f"no known configuration; accepted: {accepted}; --format NAME names one")
