"""What a data scientist uses: comparisons, data frames, figures, notebooks, saved results, types."""

from __future__ import annotations

import json
import pickle
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import flashkeep as fk
import numpy as np
import pytest
from conftest import Command
from flashkeep import _flashkeep, choices
from flashkeep.cli import progress
from flashkeep.extras import need
from flashkeep.inputs import keys_as_types

WORKLOAD = "synth:random,requests=2000,rate=5k"


@pytest.fixture(scope="module")
def comparison(drive: Path) -> fk.Comparison:
    mirror = fk.drive(drive).replace(**{"redundancy.scheme": "mirror"})
    return fk.compare(WORKLOAD, {"plain": drive, "mirrored": mirror}, verify=True)


class Tags(HTMLParser):
    """Whether every element of a page is closed, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        assert not self.open
        assert "<script" not in page

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def test_numpy_scalars_are_values(drive: Path) -> None:
    plain = fk.drive(drive)
    values = {"flash.channels": 4, "ftl.over_provisioning": 0.5, "ftl.coalesce_reads": True, "ftl.gc.victim": "fifo"}
    types: dict[str, Any] = {"flash.channels": np.int64, "ftl.over_provisioning": np.float64,
                             "ftl.coalesce_reads": np.bool_, "ftl.gc.victim": np.str_}  # fmt: skip
    numpy = {key: types[key](value) for key, value in values.items()}
    assert plain.replace(**numpy) == plain.replace(**values)
    times = plain.replace(**{"flash.timing.read_us": np.array([40.0, 60.0]), "flash.timing.program_us": (300, 900)})
    assert times.to_dict()["flash"]["timing"]["read_us"] == [40, 60]
    result = fk.run(drive, fk.trace(WORKLOAD, limit=np.int32(100), time_scale=np.float32(0.5)), seed=np.uint64(3),
                    warmup=np.int64(10), depth=np.int8(4), replay="closed", verify=bool(np.True_))  # fmt: skip
    assert (result.seed, result.workload.requests) == (3, 100)


def test_a_drive_as_a_mapping(drive: Path) -> None:
    nested = fk.drive({"base": str(drive), "flash": {"channels": 4, "timing": {"read_us": 40}}})
    dotted = fk.drive({"base": str(drive), "flash.channels": np.int64(4), "flash.timing.read_us": 40.0})
    same = fk.drive(drive).replace(**{"flash.channels": 4, "flash.timing.read_us": 40})
    for other in (nested, dotted):
        assert other.to_dict() | {"name": ""} == same.to_dict() | {"name": "", "description": ""} | {
            "description": other.to_dict().get("description", "")
        }
    assert fk.run(nested, WORKLOAD).digest == fk.run(dotted, WORKLOAD).digest
    assert pickle.loads(pickle.dumps(nested)) == nested != dotted.replace(**{"flash.channels": 2})
    assert fk.drive({"name": "mine"}).to_dict()["name"] == "mine"
    mistakes: list[tuple[Any, str]] = [
        ({"flash": {"channels": 0}}, "flash.channels"),
        ({"flash.chanels": 2}, "flash.chanels"),
        ({"flash.channels": 2, "flash": {"channels": 2}}, "flash.channels"),
        ({"flash": 2, "flash.channels": 3}, "flash.channels"),
    ]
    for wrong, field in mistakes:
        with pytest.raises(fk.DriveError, match=field) as caught:
            fk.drive(wrong)
        assert (caught.value.path, caught.value.line, caught.value.field) == ("drive", None, field)
    with pytest.raises(TypeError, match="a preset's name, a path or a mapping"):
        fk.drive(3)  # type: ignore[arg-type]


def test_compare_is_the_command(comparison: fk.Comparison, flashkeep: Command, drive: Path) -> None:
    plain, mirrored = comparison
    assert (len(comparison), comparison.labels) == (2, ("plain", "mirrored"))
    assert comparison["mirrored"] == mirrored == comparison[1]
    assert comparison[:1].labels == ("plain",)
    told = flashkeep.json("compare", WORKLOAD, drive, f"{drive},redundancy.scheme=mirror", "--verify")["runs"]
    assert [run["response_us"] for run in told] == [run["response_us"] for run in comparison.to_dict()["runs"]]
    assert plain.requests().response_ns.size == 2000
    assert "mirrored (redundancy.scheme=mirror) reads" in repr(comparison)
    assert "write amplification" in repr(comparison)
    again = pickle.loads(pickle.dumps(comparison))
    assert again.to_dict() == comparison.to_dict()
    with pytest.raises(KeyError, match="there are plain, mirrored"):
        comparison["miror"]


def test_compare_refuses(drive: Path) -> None:
    single: list[Any] = [str(drive), fk.drive(drive), []]
    for wrong in single:
        with pytest.raises(TypeError):
            fk.compare(WORKLOAD, wrong)
    with pytest.raises(TypeError, match="did you mean 'verify'"):
        fk.compare(WORKLOAD, [drive], verfy=True)  # type: ignore[call-arg]
    with pytest.raises(fk.DriveError):
        fk.compare(WORKLOAD, [drive, "2CM-129"])
    twice = fk.compare(WORKLOAD, [drive, fk.drive(drive).replace(**{"flash.channels": 4})], untimed=True)
    assert twice.labels == ("small", "small, flash.channels=4")


def test_results_are_loaded(tmp_path: Path, flashkeep: Command, drive: Path) -> None:
    workload = f"{WORKLOAD},flush_every=9"
    assert flashkeep("run", drive, workload, "--out", tmp_path / "one").code == 0
    loaded, ran = fk.load(tmp_path / "one"), fk.run(drive, workload)
    assert loaded.digest == ran.digest
    for name in ran.requests().to_numpy():
        assert np.array_equal(loaded.requests()[name], ran.requests()[name]), name
    assert flashkeep("compare", workload, drive, drive, "--out", tmp_path / "two").code == 0
    with pytest.raises(ValueError, match="has 2 runs"):
        fk.load(tmp_path / "two")
    both = fk.load_comparison(tmp_path / "two")
    assert [result.digest for result in both] == [ran.digest, ran.digest]
    assert both.labels == ("small #1", "small #2")
    untimed = tmp_path / "untimed"
    assert flashkeep("run", drive, WORKLOAD, "--untimed", "--out", untimed).code == 0
    assert not fk.load(untimed).has_requests()
    for wrong in (tmp_path / "nowhere", tmp_path / "one" / "summary.json"):
        with pytest.raises(ValueError, match=r"fk\.load"):
            fk.load(wrong)


def test_age_is_the_command(tmp_path: Path, flashkeep: Command, drive: Path) -> None:
    aged = fk.age(drive, tmp_path / "a.aged", "synth:random,requests=5k,write=1")
    assert aged.to_dict()["untimed"] is True
    assert flashkeep("age", drive, tmp_path / "b.aged", "synth:random,requests=5k,write=1").code == 0
    assert (tmp_path / "a.aged").read_bytes() == (tmp_path / "b.aged").read_bytes()
    assert fk.run(drive, WORKLOAD, aged=tmp_path / "a.aged").wear.erases_total
    steady = fk.age(drive, tmp_path / "c.aged")
    assert "conditioning" in steady.to_dict()


def test_presets_have_their_main_figures(flashkeep: Command) -> None:
    presets = fk.drives()
    assert presets.names() == [entry["name"] for entry in flashkeep.json("drives")["drives"]]
    by_name = {preset.name: preset for preset in presets}
    sirf = by_name["2CM-128"]
    assert (sirf.channels, sirf.page_kib, sirf.dram_mib, sirf.scheme) == (2, 4.0, 64.0, "mirror")
    assert sirf.drive().capacity_bytes / 1e9 == sirf.capacity_gb
    assert by_name["t7-ssd-raid5"].members == 5
    assert by_name["nearline-18tb"].channels is None
    assert "2CM-128" in repr(presets)
    assert "mirror" in Tags(presets._repr_html_()).text


def test_figures_by_dotted_path(comparison: fk.Comparison) -> None:
    plain = comparison[0]
    flat = plain.flat()
    assert flat["response_us.read.p99"] == plain.response_us.read.p99
    assert flat["utilization.channel.1"] == plain.utilization.channel[1]
    assert flat["drive.flash.channels"] == 2


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(comparison: fk.Comparison, library: Any) -> None:
    module = pytest.importorskip(library)
    one, both = comparison[0].to_frame(library), comparison.to_frame(library)
    assert one.shape == (1, len(comparison[0].flat()))
    assert list(both["run"]) == ["plain", "mirrored"]
    assert list(both["response_us.read.mean"]) == [run.response_us.read.mean for run in comparison]
    assert fk.drives().to_frame(library).shape[0] == len(fk.drives())
    requests = comparison[0].requests()
    frame = module.DataFrame(requests)
    assert list(frame.columns) == list(requests.keys())
    assert frame["response_ns"].to_numpy().tolist() == requests.response_ns.tolist()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, comparison: fk.Comparison) -> None:
    for module in ("pandas", "polars", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"a data frame needs pandas or polars: pip install 'flashkeep\[frames\]'"):
        comparison.to_frame()
    with pytest.raises(ImportError, match=r"plot\(\) needs matplotlib: pip install 'flashkeep\[reports\]'"):
        comparison.plot()
    with pytest.raises(ValueError, match="found 'panda'; accepted: pandas, polars"):
        comparison.to_frame("panda")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"a trace from a table needs numpy: pip install 'flashkeep\[numpy\]'"):
        fk.trace({"time_us": [1], "offset": [0], "size": [512], "op": ["R"]})


def test_a_broken_library_is_not_a_missing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_library.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        need("this", "frames", "broken_library")


@pytest.mark.parametrize("figure", keys_as_types.FIXED["Figure"])
def test_figures_are_those_of_the_report(comparison: fk.Comparison, figure: Any) -> None:
    from flashkeep.render.report_figures import FIGURES

    assert [each.__name__ for each in FIGURES] == list(keys_as_types.FIXED["Figure"])
    drawn = comparison.plot(figure)
    assert drawn._repr_png_().startswith(b"\x89PNG")
    if figure == "wear" and not comparison[0].wear.erases_total:
        with pytest.raises(ValueError, match="no block was erased"):
            comparison[0].plot(figure)
    else:
        assert comparison[0].plot(figure).axes
    with pytest.raises(ValueError, match="found 'pie'"):
        comparison.plot("pie")  # type: ignore[arg-type]


def test_pages_for_notebooks(comparison: fk.Comparison, drive: Path) -> None:
    page = Tags(comparison._repr_html_()).text
    assert "plain" in page
    assert "mirrored (redundancy.scheme=mirror) reads" in page
    assert "Δ" in page
    one = Tags(comparison[0]._repr_html_()).text
    assert "reads, mean" in one
    assert "Δ" not in one
    odd = fk.drive({"base": str(drive), "name": "<b>&", "description": "a < b"})
    shown = odd._repr_html_()
    assert "<b>&</b>" not in shown
    assert "flash.timing.read_us" in Tags(shown).text


class Kernel:
    """IPython in a notebook, as far as progress asks for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[dict[str, str]] = []
        main, display = ModuleType("IPython"), ModuleType("IPython.display")
        main.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
        display.display = self.display  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", main)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, shown: dict[str, str], raw: bool, display_id: bool = True) -> Kernel:
        assert raw
        assert display_id
        self.shown.append(shown)
        return self

    def update(self, shown: dict[str, str], raw: bool) -> None:
        self.display(shown, raw)


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch, drive: Path) -> None:
    kernel = Kernel(monkeypatch)
    assert progress.in_notebook()
    long = "synth:random,requests=1M,rate=2k"
    fk.run(drive, long, requests=False)
    assert kernel.shown
    assert kernel.shown[-1]["text/html"] == ""
    assert "requests/s" in kernel.shown[0]["text/plain"]
    assert kernel.shown[0]["text/html"].startswith("<progress value=")
    kernel.shown.clear()
    fk.run(drive, long, requests=False, progress=False)
    assert not kernel.shown


def test_outside_a_notebook_nothing_is_shown(drive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not progress.in_notebook()
    fk.run(drive, WORKLOAD)
    assert capsys.readouterr() == ("", "")


def test_types_are_those_of_the_schema() -> None:
    made = Path(choices.__file__).read_text(encoding="utf-8")
    assert made == keys_as_types.choices(), "python -m flashkeep.registry"
    schema = json.loads(_flashkeep.schema())
    assert list(choices.DriveFile.__annotations__) == list(schema["properties"])


def typed(drive: Path) -> tuple[float | None, fk.Result]:
    """What type checkers accept; mypy --strict reads this file."""
    file: choices.DriveFile = {"base": "2CM-128", "flash": {"channels": 4}, "redundancy": {"scheme": "raid5"}}
    made: fk.Drive = fk.drive(file)
    result: fk.Result = fk.run(made, fk.trace({"time_us": [1]}), existing="all", replay="open", progress=True)
    presets: list[str] = [preset.name for preset in fk.drives() if preset.scheme == "none"]
    compared: fk.Comparison = fk.compare("synth:random", [made, *presets], existing="none", fail=["chip:0.0@10s"])
    fk.run(drive, "t", existing="al")  # type: ignore[arg-type]
    fk.compare("t", [drive], replay="sideways")  # type: ignore[arg-type]
    p99: float | None = compared["2CM-128"].response_us.read.p99
    return p99, fk.load(drive) if len(compared) else result
