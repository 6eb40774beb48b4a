"""The wheel works in an empty environment, outside the repository, and the source distribution is complete.

The wheel has the extension that `make test` has compiled. It is of the profile `checked`; the release differs in
nothing else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

pytestmark = pytest.mark.xdist_group("package")

OFFLINE = re.compile(r"Retrying \(|NewConnectionError|ConnectTimeout|ProxyError|Temporary failure in name resolution")
"""What pip says if it does not reach the registry."""

EXTRAS = {
    "dask": {"distributed", "pyarrow"},
    "frames": {"numpy", "pandas"},
    "numpy": {"numpy"},
    "reports": {"jinja2", "matplotlib", "pyarrow"},
    "search": {"optuna"},
}


def call(*words: object, cwd: Path, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """Runs a program as in a fresh shell: nothing in its environment leads to the repository."""
    led = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYO3_PYTHON")
    env = {name: value for name, value in os.environ.items() if name not in led}
    return subprocess.run(
        [*map(str, words)], cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip


def maturin(*words: object) -> None:
    """Calls maturin with the interpreter of `make test`: another one would compile anew. Sometimes maturin misses the
    library that it has just moved within the shared folder of build results: then it gets a folder of its own."""
    env = {**os.environ, "VIRTUAL_ENV": sys.prefix, "PYO3_PYTHON": os.path.join(sys.prefix, "bin", "python")}

    def call(**more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [Path(sys.executable).with_name("maturin"), *map(str, words)],
            cwd=ROOT, env=env | more, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900,
            check=False,
        )  # fmt: skip

    done = call()
    if done.returncode and "Failed to read the wheel" in done.stderr:
        done = call(CARGO_TARGET_DIR=str(ROOT / "target" / "package"))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    maturin("build", "--profile", "checked", "--locked", "--out", out)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    maturin("sdist", "--out", out)
    (made,) = out.glob("*.tar.gz")
    return made


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    made = call(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    assert made.returncode == 0, made.stderr
    done = install(folder / "env", "--no-index", wheel)
    assert done.returncode == 0, done.stderr
    return folder / "env" / "bin"


def install(env: Path, *words: object) -> subprocess.CompletedProcess[str]:
    pip = (sys.executable, "-m", "pip", "--python", env / "bin" / "python", "--disable-pip-version-check")
    return call(*pip, "install", "--quiet", "--retries", 1, "--timeout", 20, *words, cwd=env)


def test_the_command_needs_nothing_but_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = call(installed / "flashkeep", "compare", "synth:sirf-build", "1CNM-64", "2CM-128", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"reads, mean +[\d.,]+ +[\d.,]+", done.stdout), done.stdout
    for words in (("drives", "tlc-client"), ("schemes", "dvs"), ("schema",), ("metrics",), ("man",)):
        done = call(installed / "flashkeep", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr, bool(done.stdout)) == (0, "", True), words
    assert not list(tmp_path.iterdir())


def test_the_package_is_imported_from_where_it_was_installed(installed: Path, tmp_path: Path) -> None:
    code = (
        "import flashkeep, sys; r = flashkeep.run('2CM-128', 'synth:random,requests=100,rate=1k');"
        "print(flashkeep.__file__, len(r.requests()), *sys.path, sep='\\n')"
    )
    done = call(installed / "python", "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found, requests, *paths = done.stdout.splitlines()
    assert (installed.parent in Path(found).parents, requests) == (True, "100")
    assert not [path for path in paths if Path(path) == ROOT or ROOT in Path(path).parents]


def test_what_needs_an_extra_names_it(installed: Path, tmp_path: Path) -> None:
    done = call(installed / "flashkeep", "reproduce", "sirf1", cwd=tmp_path)
    assert done.returncode == 2
    assert "install flashkeep[reports]" in done.stderr
    code = "import flashkeep; flashkeep.drives().to_frame()"
    done = call(installed / "python", "-c", code, cwd=tmp_path)
    assert "pip install 'flashkeep[frames]'" in done.stderr


@pytest.mark.full
def test_a_paper_is_reproduced_with_the_extra_for_reports(installed: Path, wheel: Path, tmp_path: Path) -> None:
    done = install(installed.parent, f"{wheel}[reports]")
    if done.returncode and OFFLINE.search(done.stderr):
        pytest.skip("the package registry cannot be reached, so the extra [reports] is not installed and not tried")
    assert done.returncode == 0, done.stderr
    done = call(installed / "flashkeep", "reproduce", "sirf1", "--scale", "0.01", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"sirf1.html", "sirf1.json", "sirf1.csv"} <= {path.name for path in (tmp_path / "sirf1").iterdir()}


def test_the_wheel_has_every_file_of_the_package_and_no_path_of_this_machine(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        texts = {name: archive.read(name) for name in names if not name.endswith(".so")}
    tracked = {name.removeprefix("python/") for name in files_of("python")}
    assert not tracked - names
    assert {"flashkeep/py.typed", "flashkeep/_flashkeep.pyi", "flashkeep/_flashkeep.abi3.so"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name, text in texts.items() if str(ROOT).encode() in text]


def test_the_metadata_have_extras_and_addresses(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        told = HeaderParser().parsestr(archive.read(name).decode())
    found: dict[str, set[str]] = {name: set() for name in told.get_all("Provides-Extra", [])}
    for needed in told.get_all("Requires-Dist", []):
        package, _, extra = str(needed).partition(";")
        found[extra.split("==")[1].strip(" '\"")].add(re.split(r"[^\w-]", package)[0])
    assert found == EXTRAS
    urls = [str(url).partition(",")[0] for url in told.get_all("Project-URL", [])]
    assert {"Homepage", "Source", "Issues", "Changelog"} <= set(urls)


def test_messages_name_extras_that_exist() -> None:
    called = re.compile(r'need\([^()]*?"[^"]+", "(\w+)"|flashkeep\[(\w+)\]')
    for path in sorted((ROOT / "python").rglob("*.py")):
        for match in called.finditer(path.read_text(encoding="utf-8")):
            assert (match[1] or match[2]) in EXTRAS, f"{path}: {match[0]}"
    assert import_module("flashkeep.extras").need("a test", "numpy", "flashkeep").__name__ == "flashkeep"


def test_the_source_distribution_has_all_that_a_build_reads(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name for folder in ("crates", "drives", "python") for name in files_of(folder)}
    wanted |= {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "SECURITY.md"}
    assert not wanted - names - {name for name in wanted if name.endswith(".gitignore")}


def test_the_citation_is_complete() -> None:
    """The keys that version 1.2.0 of the Citation File Format requires, and those that we want."""
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(told)
    assert (told["cff-version"], told["type"], told["license"]) == ("1.2.0", "software", "Apache-2.0")
    assert told["authors"]
    assert all(author.get("name") or author.get("family-names") for author in told["authors"])
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert told["version"] == cargo["workspace"]["package"]["version"]
    assert told["repository-code"] == project["urls"]["Source"]
    assert [author["name"] for author in told["authors"]] == [author["name"] for author in project["authors"]]


def test_locks_and_settings_name_no_machine_and_no_other_registry() -> None:
    words = re.compile(r"index-url|find-links|trusted-host|/root/|/home/|" + re.escape(str(ROOT)))
    for name in files_of("."):
        if name.endswith((".toml", ".lock", ".in", ".txt", ".yml", ".cff", "Makefile")) and "tests/" not in name:
            text = (ROOT / name).read_text(encoding="utf-8")
            assert not words.search(text.replace("--no-emit-index-url", "")), name


def files_of(folder: str) -> list[str]:
    """The files of a folder that belong to the project."""
    done = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a clone of the repository: its list of files is not known")
    return [name for name in done.stdout.splitlines() if (ROOT / name).exists()]
