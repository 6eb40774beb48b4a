"""The extension module and its type stubs."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import flashkeep as fk
import pytest
from conftest import ROOT
from flashkeep import _flashkeep


def stub() -> ast.Module:
    return ast.parse((Path(fk.__file__).parent / "_flashkeep.pyi").read_text())


def test_the_stub_names_what_there_is() -> None:
    said = {node.name for node in stub().body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found = {name for name in dir(_flashkeep) if not name.startswith("__")}
    assert said == found


def test_the_stub_s_arguments_are_the_functions() -> None:
    for node in stub().body:
        if isinstance(node, ast.FunctionDef):
            found = inspect.signature(getattr(_flashkeep, node.name)).parameters
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            assert [argument.arg for argument in arguments] == list(found), node.name


def test_every_export_is_used_by_the_package() -> None:
    package = "".join(path.read_text() for path in (ROOT / "python" / "flashkeep").rglob("*.py"))
    unused = [name for name in dir(_flashkeep) if not name.startswith("_") and name not in package]
    assert unused == []


def test_the_package_exports_what_it_says() -> None:
    assert all(hasattr(fk, name) for name in fk.__all__)
    assert fk.__version__ == _flashkeep.__version__


def test_a_job_s_unknown_key_is_refused() -> None:
    with pytest.raises(fk.OptionError, match="drvie"):
        _flashkeep.run('{"drvie": "2CM-128"}')
