"""The documentation is built without a warning, is complete, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Command
from flashkeep import _flashkeep
from flashkeep.cli.options import COMMANDS
from flashkeep.inputs import keys

pytestmark = pytest.mark.xdist_group("docs")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; `--strict` refuses links and anchors that lead nowhere, and a notebook that fails ends the build."""
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", out],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def page(site: Path, name: str) -> str:
    return (site / name).read_text(encoding="utf-8")


def test_every_document_is_a_page(site: Path) -> None:
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "notebooks").glob("*.ipynb")]:
        assert (site / path.relative_to(ROOT / "docs").with_suffix(".html")).exists(), path


def test_the_reference_has_every_key_command_and_manual_page(site: Path) -> None:
    text = page(site, "reference/keys.html")
    assert not [key.name for key in keys.every() if f"<code>{key.name}</code>" not in text]
    text = page(site, "reference/command-line.html")
    assert not [command.name for command in COMMANDS if f"<code>{command.name}</code>" not in text]
    for kind in ("schemes", "policies", "workloads", "formats"):
        text = page(site, f"reference/{kind}/index.html")
        names = [entry["name"] for entry in json.loads(getattr(_flashkeep, kind)())]
        assert not [name for name in names if f"<code>{name}</code></a>" not in text]
        assert len(list((site / "reference" / kind).glob("*.html"))) == len(names) + 1
    assert json.loads(page(site, "reference/drive.schema.json")) == json.loads(_flashkeep.schema())
    text = page(site, "reference/python.html")
    assert all(f'id="flashkeep.{name}"' in text for name in ("run", "compare", "Drive", "Requests"))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loads = re.compile(r'<(?:script|img|iframe)[^>]* src="?https?:[^>]*|<link[^>]*rel="?stylesheet"?[^>]*https?:[^>]*')
    for path in site.rglob("*.html"):
        found = loads.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(site)}: {found and found[0]}"


def test_the_notebook_was_executed(site: Path) -> None:
    text = page(site, "notebooks/choosing.html")
    assert text.count("data:image/png;base64,") + text.count("<img") >= 2
    assert "waf_bytes" in text
    cells = json.loads((ROOT / "docs" / "notebooks" / "choosing.ipynb").read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells), "the notebook is kept without outputs"


SMALLER = (("requests=100k", "requests=2k"), ("blocks_per_plane = 1536", "blocks_per_plane = 192"),
           ("blocks_per_plane = 768", "blocks_per_plane = 96"), ("footprint=1GiB", "footprint=64MiB"),
           ("[0.07, 0.15, 0.28]", "[0.15, 0.28]"), ('"raid5", "dvs", "mirror"]', '"dvs"]'))  # fmt: skip
"""What makes the tutorial quick to test."""


def test_each_command_of_the_tutorial_works(flashkeep: Command, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    for long, short in SMALLER:
        assert long in text
        text = text.replace(long, short)
    for name, content in re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', text, re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    commands = re.findall(r"^\$ (\w+) (.*)$", text, re.MULTILINE)
    assert [program for program, _ in commands if program != "flashkeep"] == ["python"]
    for program, words in commands:
        if program == "python":
            done = subprocess.run(
                [sys.executable, words], cwd=tmp_path, env={**os.environ, "MPLBACKEND": "svg"}, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), done.stderr
            assert "dvs" in done.stdout
        else:
            code, out, err = flashkeep(*words.split(), cwd=tmp_path)
            assert (code, "Traceback" in err, bool(out)) == (0, False, True), f"flashkeep {words}: {err}"
    assert {"failed.html", "sweep.html", "choice.svg", "sweep"} <= {path.name for path in tmp_path.iterdir()}
