"""The campaign in small: random cases must bring no finding without a reason, and the judge must see what is wrong."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from pathlib import Path

import flashkeep
import pytest
from flashkeep import _flashkeep
from flashkeep.torturing.judge import REFUSALS, findings, read_refused, unintended

from differential import operations
from differential.bias import BIASES
from differential.campaign import Campaign
from differential.draw import NESTED_PAGES, NEVER, Case, draw, leaves
from differential.judge import differences, read_known
from differential.versions import Version

ROOT = Path(flashkeep.__file__).parents[1]
KEYS = leaves(json.loads(_flashkeep.schema()))
KNOWN = Path(__file__).with_name("known.toml")

DRIVE = "flash.blocks_per_plane = 16\nflash.pages_per_block = 4\nredundancy.scheme = 'mirror'\n"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign([ROOT], tmp_path, known=read_known(KNOWN))


def test_random_cases_bring_no_finding_without_a_reason(campaign: Campaign) -> None:
    campaign.run(seed=1, cases=50)
    assert not campaign.bad, campaign.report(campaign.folder)
    assert campaign.accepted == 50


def test_a_version_does_not_differ_from_itself(tmp_path: Path) -> None:
    campaign = Campaign([ROOT, ROOT], tmp_path, known=read_known(KNOWN))
    campaign.run(seed=500, cases=20)
    assert not campaign.bad, campaign.report(tmp_path)


def test_one_seed_draws_one_case() -> None:
    assert draw(7, KEYS) == draw(7, KEYS)
    assert draw(7, KEYS) != draw(8, KEYS)


def test_every_key_of_the_schema_is_drawn() -> None:
    left = set(KEYS) - NEVER
    for seed in range(5000):
        case = draw(seed, KEYS)
        for text in (case.drive, *case.members.values()):
            left -= {line.split(" = ", 1)[0] for line in text.splitlines()}
        if not left:
            return
    raise AssertionError(f"never drawn: {sorted(left)}")


def test_a_changed_figure_and_a_broken_sum_are_found(tmp_path: Path) -> None:
    case = Case(drive=DRIVE)
    case.options = {"traces": ["synth:random,requests=200,size=4KiB,rate=2k"], "fail": ["channel:0@50%"]}
    campaign = Campaign([ROOT], tmp_path)
    case.write(tmp_path)
    version = Version(ROOT, 20)
    answer = version.ask(case.jobs(tmp_path, "0"))
    version.close()
    assert campaign.keys == KEYS
    assert not findings(case, answer)
    other = copy.deepcopy(answer)
    other["summary"]["operations"]["read"]["host"] += 1
    assert [finding.kind for finding in differences(answer, other)] == ["operations.read.host"]
    assert "phases.operations.read.host" in {finding.kind for finding in findings(case, other)}
    assert "sum.members.operations.read.host" in {finding.kind for finding in findings(case, other)}
    lost = copy.deepcopy(answer)
    lost["summary"]["integrity"]["lost_pages"] = 3
    assert "undeclared loss" in {finding.kind for finding in findings(case, lost)}


def test_operations_out_of_order_or_at_once_are_found(tmp_path: Path) -> None:
    case = Case(drive=DRIVE.replace("'mirror'", "'none'") + "start.existing = 'none'\n")
    case.options = {
        "traces": ["synth:random,requests=400,write=0.7,size=4KiB,footprint=256KiB,depth=4"],
        "operations": True,
    }
    case.write(tmp_path)
    version = Version(ROOT, 20)
    summary = version.ask(case.jobs(tmp_path, "0"))["summary"]
    version.close()
    right = operations.read(tmp_path / "0.operations.csv")

    def found(rows: list[operations.Operation]) -> set[str]:
        return {kind for kind, _ in operations.problems(rows, summary, set())}

    assert not found(right)
    at, program = next((at, each) for at, each in enumerate(right) if each.kind == "program" and each.page == 2)
    assert found([*right[:at], *right[at + 1 :]]) == {"count.program.host", "order.gap"}
    assert "order.program" in found([*right, program._replace(start=10**15, end=10**15 + 1, page=0)])
    late = program._replace(start=program.start + 5, end=program.end + 5, block=63, page=0)
    assert {"overlap.unit", "overlap.channel"} <= found([*right, late])


def test_programs_of_rounds_that_a_power_loss_came_before_are_not_repeats(tmp_path: Path) -> None:
    case = Case(drive=DRIVE.replace("'mirror'", "'none'") + "start.existing = 'none'\nflash.bus = 'rounds'\n")
    case.options = {
        "traces": ["synth:random,requests=200,write=1,size=4KiB,footprint=256KiB,depth=32"],
        "operations": True,
        "verify": True,
        "fail": ["power@30%", "power@60%"],
    }
    case.write(tmp_path)
    version = Version(ROOT, 20)
    summary = version.ask(case.jobs(tmp_path, "0"))["summary"]
    version.close()
    rows = operations.read(tmp_path / "0.operations.csv")
    assert len(operations.begun(rows, summary["drive"])) < len(rows)

    def found(rows: list[operations.Operation]) -> set[str]:
        return {kind for kind, _ in operations.problems(rows, summary, {"power", "verify"})}

    assert not found(rows)
    program = next(each for each in reversed(rows) if each.kind == "program")
    assert "order.program" in found([*rows, program._replace(start=10**15, end=10**15 + 1)])


def test_a_hang_and_a_crash_are_told_apart_from_a_refusal(campaign: Campaign) -> None:
    case = Case(drive=DRIVE)
    assert [each.kind for each in findings(case, {"error": "hang", "message": ""})] == ["hang"]
    assert [each.kind for each in findings(case, {"error": "RuntimeError", "message": "internal"})] == ["internal"]
    assert not findings(case, {"error": "DriveError", "message": "no"})
    assert not campaign.bad


@pytest.mark.parametrize("bias", BIASES)
def test_biased_cases_are_drawn_and_told_by_their_seeds(bias: str) -> None:
    for seed in range(40):
        case = draw(seed, KEYS, 0, BIASES[bias])
        assert case == draw(seed, KEYS, 0, BIASES[bias])
        assert BIASES[bias].kinds.count("flash") or case.members


def test_extents_of_nested_arrays_of_disks_hold_data_and_a_journal() -> None:
    of_disks = [
        case for seed in range(900300, 900600) if "disk.toml" in (case := draw(seed, KEYS, 0, BIASES["nested"])).members
    ]
    assert of_disks
    for case in of_disks:
        assert "condition" not in case.options
        sizes = [line.split(" = ")[1] for line in case.drive.splitlines() if line.startswith("redundancy.extent_kib")]
        assert all(float(size) >= 8 for size in sizes)


def test_arrays_of_arrays_are_small_and_arrays_are_conditioned_briefly() -> None:
    """Otherwise a case takes minutes: a write to logs over logs moves up to a hundred pages."""
    names = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block")
    for seed in range(900300, 900600):
        case = draw(seed, KEYS, 0, BIASES["nested"])
        assert "condition" not in case.tags or "condition.most_rounds = 5" in case.drive
        keys = dict(line.split(" = ") for line in case.members.get("member.toml", "").splitlines())
        if keys:  # other keys may need more blocks or pages
            assert math.prod(int(keys["flash." + name]) for name in names) <= 2 * NESTED_PAGES


def test_widths_of_arrays_divide_their_members() -> None:
    found = 0
    for seed in range(900300, 900600):
        case = draw(seed, KEYS, 0, BIASES["nested"])
        for text in (case.drive, case.members.get("inner.toml", "")):
            keys = tomllib.loads(text)
            if width := keys.get("redundancy", {}).get("width"):
                found += 1
                assert sum(int(each.split(" * ")[0]) for each in keys["members"]) % width == 0, seed
    assert found


def test_an_extent_without_room_for_a_journal_is_refused_for_a_known_reason() -> None:
    told = (
        "d.toml:2: redundancy.scheme: lifespan: redundancy.extent_kib = 4: 1 pages of 4096 bytes; "
        "for data and the journal at least 2 are accepted"
    )
    assert not unintended({"error": "DriveError", "message": told}, read_refused(REFUSALS))


def test_page_types_that_do_not_repeat_by_word_lines_are_refused_for_a_known_reason() -> None:
    told = (
        "d.toml:22: flash.page_types: the types do not repeat from one word line of 2 pages to the next; "
        "`interleaved` or `01` is accepted"
    )
    assert not unintended({"error": "DriveError", "message": told}, read_refused(REFUSALS))
