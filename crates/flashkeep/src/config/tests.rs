use super::*;
use crate::error::DriveError;
use crate::flash::StripingLevel;
use crate::ftl::allocation::Binding;
use crate::schemes::Groups;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of its own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique =
            format!("flashkeep-spec-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pairs(set: &[&str]) -> Vec<String> {
    set.iter().map(ToString::to_string).collect()
}

fn preset(name: &str, set: &[&str]) -> Resolved {
    load(name, &pairs(set)).unwrap_or_else(|error| panic!("{error}"))
}

/// The one message of a text that is refused.
fn refused(text: &str) -> DriveError {
    load_text("d.toml", text, &[]).expect_err(text)
}

fn refused_set(set: &[&str]) -> DriveError {
    load_text("d.toml", "", &pairs(set)).expect_err("refused")
}

#[test]
fn every_preset_loads_and_is_described() {
    let presets = presets();
    assert!(presets.len() >= 24);
    for preset in presets {
        let drive = load(preset.name, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(drive.spec.name, preset.name);
        assert!(!preset.description.is_empty() && !preset.description.contains('\n'), "{}", preset.name);
        assert_eq!(drive.spec.description, preset.description);
        assert_eq!(drive.spec.base, None);
        assert_eq!(preset_text(preset.name), Some(preset.text));
        // One warning in all: the ageing study keeps SSDSim's threshold, as its paper says.
        assert_eq!(
            drive.warnings.len(),
            usize::from(preset.name.starts_with("aging-8gb")),
            "{:?}",
            drive.warnings
        );
    }
}

#[test]
fn table_v_as_published() {
    // Test, channels, flash GB, storage GB (over-provisioning not counted), DRAM MB; chips follow.
    let table = [
        ("1CNM-64", 1, 64, 64, 32),
        ("2CM-128", 2, 128, 64, 64),
        ("2CNM-64", 2, 64, 64, 32),
        ("4CM-128", 4, 128, 64, 64),
        ("4CNM-64", 4, 64, 64, 32),
        ("8CM-128", 8, 128, 64, 64),
        ("4CNM-32", 4, 32, 32, 16),
        ("8CM-64", 8, 64, 32, 32),
        ("4CNM-128", 4, 128, 128, 64),
        ("8CM-256", 8, 256, 128, 128),
    ];
    for (name, channels, flash, storage, dram) in table {
        let drive = preset(name, &[]);
        assert_eq!(drive.spec.flash.channels, channels, "{name}");
        assert_eq!(drive.physical_bytes(), flash << 30, "{name}");
        assert_eq!(drive.physical_bytes() / u64::from(drive.members()), storage << 30, "{name}");
        assert_eq!(drive.buffer_bytes(), dram << 20, "{name}");
        assert_eq!(drive.members(), if name.contains("CM") { 2 } else { 1 }, "{name}");
        // SSDSim offers 90 % of the physical pages of one copy.
        assert_eq!(drive.logical_pages(), ((storage << 18) * 9).div_ceil(10), "{name}");
        assert_eq!((drive.spec.flash.dies_per_chip, drive.spec.flash.planes_per_die), (4, 4));
    }
}

#[test]
fn the_other_presets_have_their_sources_sizes() {
    let basic = preset("ssdsim-basic", &[]);
    assert_eq!((basic.physical_bytes(), basic.page_sectors(), basic.buffer_bytes()), (4 << 30, 4, 131_072));
    assert_eq!(basic.timing.command_ns + basic.timing.transfer_ns(2048), 51_375);
    assert_eq!((basic.timing.erase_command_ns, basic.timing.erase_setup_ns), (125, 100));
    assert_eq!(
        (basic.spec.flash.energy.read_ma, basic.spec.buffer.energy.active_ma),
        (Some(25.0), Some(125.0))
    );
    let tlc = preset("tlc-client", &[]);
    assert_eq!((tlc.capacity_bytes() + 5_000_000_000) / 10_000_000_000, 51, "512 GB");
    assert_eq!(tlc.page_types.read_ns, [35_700, 49_500, 67_300]);
    let types = [0, 1, 2, 3, 1151].map(|page| tlc.page_types.of(page));
    assert_eq!(types, [0, 1, 2, 0, 2], "word lines");
    let qlc = preset("qlc-capacity", &[]);
    assert_eq!((qlc.capacity_bytes() / 10_000_000_000, qlc.page_types.program_ns.len()), (384, 4));
    assert!(tlc.warnings.is_empty() && qlc.warnings.is_empty(), "{:?} {:?}", tlc.warnings, qlc.warnings);
    let aging = preset("aging-8gb", &[]);
    assert_eq!((aging.physical_bytes(), aging.spec.ftl.gc.threshold), (8 << 30, 0.30));
    assert!(aging.warnings[0].starts_with("ftl.gc.threshold: 0.3 cannot be reached with a full drive"));
    let empty = preset("aging-8gb", &["ftl.gc.threshold=0.05"]);
    assert!(empty.warnings.is_empty());
}

#[test]
fn every_number_of_a_preset_has_its_source() {
    for preset in presets() {
        for line in
            preset.text.lines().filter(|line| line.contains('=') && !line.starts_with(['#', 'b', 'd']))
        {
            assert!(line.contains('#'), "{}: {line}", preset.name);
        }
    }
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn bad_keys_are_named_with_their_line() {
    let cases: &[(&str, u64, &str, &str)] = &[
        (
            "\n[flash]\nchanels = 4",
            3,
            "flash.chanels",
            "unknown key; did you mean `flash.channels`? The keys of",
        ),
        ("flash.chips = 4", 1, "flash.chips", "did you mean `flash.chips_per_channel`?"),
        ("[flsh]\nchannels = 4", 1, "flsh", "did you mean `flash`?"),
        ("channels = 4", 1, "channels", "did you mean `flash.channels`?"),
        ("[flash.timing]\nreads_us = 4", 2, "flash.timing.reads_us", "did you mean `flash.timing.read_us`?"),
        (
            "[ftl.gc]\nzzz = 4",
            2,
            "ftl.gc.zzz",
            "unknown key. The keys of [ftl.gc] are `victim`, `threshold`, `soft_threshold`, `run`, `background`",
        ),
        (
            "[flash]\nchannels = 0",
            2,
            "flash.channels",
            "found 0; a whole number from 1 up to 4096 is accepted",
        ),
        ("[flash]\nchannels = -8", 2, "flash.channels", "found -8; a whole number from 1"),
        ("[flash]\nchannels = 8.5", 2, "flash.channels", "found 8.5; a whole number from 1"),
        ("[flash]\n\nchannels = \"8\"", 3, "flash.channels", "found the text \"8\"; a whole number"),
        ("flash = { channels = 2, planes_per_die = 0 }", 1, "flash.planes_per_die", "found 0;"),
        ("flash = {\n channels = 2,\n planes_per_die = 0 }", 3, "flash.planes_per_die", "found 0;"),
        (
            "\nflash.timing.read_us = nan",
            2,
            "flash.timing.read_us",
            "found nan; a number above 0 up to 1000000000",
        ),
        ("flash.timing.read_us = inf", 1, "flash.timing.read_us", "found inf;"),
        ("flash.timing.read_us = 1e400", 1, "flash.timing.read_us", "found 1e400;"),
        (
            "flash.timing.read_us = [40, 0]",
            1,
            "flash.timing.read_us",
            "found [40, 0]; a number above 0 up to 1000000000, or a list in brackets of 1 to 8 such numbers is accepted",
        ),
        ("flash.timing.program_us = []", 1, "flash.timing.program_us", "found []; a number above 0"),
        ("flash.timing.program_us = [[1]]", 1, "flash.timing.program_us", "found an array; a number above 0"),
        (
            "flash.timing.program_us = [1, 2, 3]\nflash.timing.read_us = [1, 2]",
            2,
            "flash.timing.read_us",
            "found 2 read times and 3 program times; accepted: the same number of both",
        ),
        (
            "flash.timing.read_us = [1, 2]\nflash.page_types = \"012\"",
            2,
            "flash.page_types",
            "found \"012\"; `interleaved` is accepted, or",
        ),
        (
            "flash.timing.read_us = [1, 2]\nflash.page_types = \"0:\"",
            2,
            "flash.page_types",
            "found \"0:\"; `interleaved` is",
        ),
        (
            "[redundancy]\nread = \"hedge=p100\"",
            2,
            "redundancy.read",
            "found the text \"hedge=p100\"; one of `plain`, `around-busy`, `hedge=p50` to `hedge=p99.9` is accepted",
        ),
        (
            "flash.energy.read_ma = 25",
            1,
            "flash.energy.read_ma",
            "found 25; flash.energy.voltage_v is needed with it",
        ),
        ("flash.timing.erase_us = 0", 1, "flash.timing.erase_us", "found 0; a number above 0"),
        ("flash.timing.bus_ns_per_byte = -1", 1, "flash.timing.bus_ns_per_byte", "found -1; a number from 0"),
        (
            "flash.blocks_per_plane = 99999999999999999999999999999999999999999",
            1,
            "flash.blocks_per_plane",
            "found 9",
        ),
        ("flash.blocks_per_plane = 0xFFFFFFFFFFFF", 1, "flash.blocks_per_plane", "found 0xFFFFFFFFFFFF;"),
        ("flash = 4", 1, "flash", "found 4; a table with the keys `channels`"),
        ("[[flash]]\nchannels = 4", 1, "flash", "found an array; a table"),
        ("flash.channels = [1]", 1, "flash.channels", "found an array; a whole number"),
        ("flash.channels = {a = 1}", 1, "flash.channels", "found a table; a whole number"),
        ("name = 1979-05-27", 1, "name", "found a date or time; text in quotes"),
        ("start.scan = 1", 1, "start.scan", "found 1; `true` or `false` is accepted"),
        (
            "flash.busy_unit = \"dye\"",
            1,
            "flash.busy_unit",
            "one of `chip`, `die`, `plane-pair`, `plane` is accepted; did you mean",
        ),
        ("ftl.gc.victim = \"gredy\"", 1, "ftl.gc.victim", "`python` is accepted; did you mean `greedy`?"),
        ("flash.scheduler = \"\"", 1, "flash.scheduler", "one of `reads-first`, `fifo`, `ssdsim`"),
        ("redundancy.scheme = \"miror\"", 1, "redundancy.scheme", "did you mean `mirror`?"),
        ("redundancy.width = 1", 1, "redundancy.width", "found 1; a whole number from 2"),
        ("ftl.over_provisioning = 0", 1, "ftl.over_provisioning", "found 0; a number above 0 up to 100"),
        ("ftl.gc.threshold = 1", 1, "ftl.gc.threshold", "found 1; a number from 0 to below 1"),
        ("buffer.dram_mib = 2e6", 1, "buffer.dram_mib", "found 2e6; a number from 0 up to 1048576"),
        ("host.queue_depth = 1048577", 1, "host.queue_depth", "up to 1048576"),
    ];
    for (text, line, field, message) in cases {
        let error = refused(text);
        assert_eq!((error.line, error.field.as_deref()), (Some(*line), Some(*field)), "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.path, "d.toml");
    }
}

#[test]
fn the_first_mistake_is_reported() {
    let error = refused("[flash]\nplanes_per_die = 0\nchannels = 0\n[buffer]\ndram = 1");
    assert_eq!(
        error.to_string(),
        "d.toml:2: flash.planes_per_die: found 0; a whole number from 1 up to 128 is accepted"
    );
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn values_that_do_not_fit_each_other_are_refused() {
    let cases: &[(&str, u64, &str, &str)] = &[
        (
            "[flash]\npage_kib = 0.25",
            2,
            "flash.page_kib",
            "(256 bytes) is smaller than a sector of 512 bytes",
        ),
        (
            "[flash]\npage_kib = 2.25\nsector_bytes = 512",
            2,
            "flash.page_kib",
            "not a whole number of sectors",
        ),
        ("flash.sector_bytes = 520", 1, "flash.sector_bytes", "not a whole number of sectors of 520 bytes"),
        ("flash.page_kib = 64", 1, "flash.page_kib", "has 128 sectors of 512 bytes; at most 64 are accepted"),
        (
            "flash.pin_bytes_per_sector = 500",
            1,
            "flash.pin_bytes_per_sector",
            "at least a sector's 512 bytes",
        ),
        (
            "flash.blocks_per_plane = 2",
            1,
            "flash.blocks_per_plane",
            "at least 3 are accepted: one being written",
        ),
        (
            "[flash]\nchips_per_channel = 16\ndies_per_chip = 4\nplanes_per_die = 4\nbusy_unit = \"plane\"",
            2,
            "flash.chips_per_channel",
            "256 planes on one channel; at most 64 units",
        ),
        (
            "flash.blocks_per_plane = 1048577",
            1,
            "flash.blocks_per_plane",
            "count as the next power of two (2097152 and 64); at most 2147483646 (32 bits)",
        ),
        (
            "ftl.allocation = \"CWDD\"",
            1,
            "ftl.allocation",
            "each at most once, the one that varies fastest first",
        ),
        ("ftl.allocation = \"cwdp\"", 1, "ftl.allocation", "did you mean `CWDP`?"),
        ("ftl.allocation = \"dynamyc\"", 1, "ftl.allocation", "did you mean `dynamic`?"),
        (
            "[redundancy]\nscheme = \"mirror\"\n[flash]\nchannels = 3",
            2,
            "redundancy.scheme",
            "a mirror over an odd number of channels (3): every copy takes the same number of channels",
        ),
        (
            "redundancy = { scheme = \"mirror\", width = 5, across = \"chip\" }",
            1,
            "redundancy.width",
            "a mirror of 5 copies over 32 chips",
        ),
        (
            "[ftl]\nover_provisioning = 0.07\n[flash]\nblocks_per_plane = 10",
            2,
            "ftl.over_provisioning",
            "leaves no room for garbage collection; at least 0.25 is accepted with 10 blocks in a plane",
        ),
        ("ftl.over_provisioning = 0.0001", 1, "ftl.over_provisioning", "at least 0.000978 is accepted"),
        (
            "buffer.dram_mib = 0.001",
            1,
            "buffer.dram_mib",
            "less than one page (4096 bytes); 0 means no buffer",
        ),
    ];
    for (text, line, field, message) in cases {
        let error = refused(text);
        assert_eq!((error.line, error.field.as_deref()), (Some(*line), Some(*field)), "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
    }
    let none = "flash = {channels = 1, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 3, \
                pages_per_block = 1}\nftl.over_provisioning = 99";
    assert!(refused(none).message.contains("no room for a page"));
}

#[test]
fn raid_levels_name_schemes() {
    let read = |text: &str, set: &[&str]| {
        let drive = load_text("d.toml", text, &pairs(set)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let redundancy = drive.grouped.unwrap_or(drive.spec.redundancy);
        let Groups { width } = redundancy.read();
        (redundancy.scheme, width)
    };
    let eight = "members = [\"8 * tlc-client\"]\n";
    for (keys, scheme, width) in [
        ("scheme = \"raid10\"", "mirror", Some(2)),
        ("scheme = \"raid10\"\nwidth = 4", "mirror", Some(4)),
        ("width = 4\nscheme = \"raid10\"", "mirror", Some(4)),
        ("scheme = \"raid1\"", "mirror", None),
        ("scheme = \"raid0\"", "none", None),
    ] {
        assert_eq!(read(&format!("{eight}[redundancy]\n{keys}"), &[]), (scheme.to_owned(), width), "{keys}");
    }
    for set in ["redundancy.scheme=raid10", "redundancy.scheme=\"raid10\""] {
        assert_eq!(read(eight, &[set]), ("mirror".to_owned(), Some(2)));
    }
    assert_eq!(
        read(eight, &["redundancy.scheme=raid10", "redundancy.width=4"]),
        ("mirror".to_owned(), Some(4))
    );
}

#[test]
fn what_is_accepted_at_least_is_accepted() {
    for (blocks, least) in [(10, 0.25), (2048, 0.000_978), (3, 2.0), (1000, 0.002_005)] {
        let text = format!("flash.blocks_per_plane = {blocks}\nftl.over_provisioning = {least}");
        load_text("d.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    }
    // As many pages as there are addresses for, less one: 2^31 - 2 leaves no power of two but 2^30.
    load_text("d.toml", "flash = {channels = 64, blocks_per_plane = 32768}", &[]).unwrap();
    assert!(
        refused("flash = {channels = 128, blocks_per_plane = 32768}").message.contains("2147483648 page")
    );
}

#[test]
fn syntax_errors_name_the_line() {
    for (text, line) in [
        ("[flash]\nchannels = \n", 2),
        ("[flash\nchannels = 2", 1),
        ("[flash]\n\nchannels = 2\nchannels = 3", 4),
        ("[flash]\n[ftl]\n[flash]", 3),
        ("name = \"x", 1),
        ("\r\nflash.channels = 08", 2),
    ] {
        let error = refused(text);
        assert_eq!((error.line, error.field.as_deref()), (Some(line), None), "{error}");
        assert!(error.message.starts_with("not TOML: "), "{error}");
    }
}

#[test]
fn sources_that_are_no_drive_files() {
    let scratch = Scratch::new();
    let message = |drive: &str| load(drive, &[]).expect_err(drive).to_string();
    assert_eq!(
        message("2CM-18"),
        "2CM-18: no preset has this name; did you mean `2CM-128`? `flashkeep drives` lists the presets; a \
         drive file is a path that has a `/` or ends in `.toml`"
    );
    assert!(message("").contains("no preset has this name."));
    assert!(message("8CNM-64").contains("did you mean `8CM-64`?"));
    assert!(
        message("absent/2CM-128.toml").contains("no such file; the preset of this name is called `2CM-128`")
    );
    assert!(message("absent.toml").contains("no such file; `flashkeep drives` lists the presets"));
    let directory = format!("{}/", scratch.0.display());
    assert_eq!(message(&directory), format!("{directory}: a directory; a drive file (TOML) is accepted"));
    assert!(
        message(&scratch.file("latin.toml", b"name = 'a'\n# \xe9\n"))
            .contains("not UTF-8 text (byte 13, line 2)")
    );
    assert!(message(&scratch.file("big.toml", vec![b'#'; 2 << 20])).contains("larger than 1 MiB"));
    assert!(message(&scratch.file("binary.toml", [0u8; 16])).contains("not TOML"));
}

#[test]
fn bases_are_laid_below() {
    let scratch = Scratch::new();
    scratch
        .file("lower.toml", "base = '1CNM-64'\nname = 'lower'\n[flash]\nchannels = 2\nchips_per_channel = 4");
    let top = scratch.file("top.toml", "base = './lower.toml'\nflash.chips_per_channel = 2");
    let drive = load(&top, &pairs(&["flash.pages_per_block=32"])).unwrap();
    let flash = &drive.spec.flash;
    assert_eq!(
        (flash.channels, flash.chips_per_channel, flash.pages_per_block, flash.dies_per_chip),
        (2, 2, 32, 4)
    );
    // A name and a description belong to one drive.
    assert_eq!((drive.spec.name.as_str(), drive.spec.description.as_str()), ("top", ""));
    assert_eq!(drive.path, top);

    // A cross-field error names the file of the value that was given last.
    let odd = scratch.file("odd.toml", "base = '2CM-128'\n\nflash.channels = 3");
    let error = load(&odd, &[]).unwrap_err();
    assert_eq!(
        (error.path.as_str(), error.line, error.field.as_deref()),
        (odd.as_str(), Some(3), Some("flash.channels"))
    );

    // A mistake in the base is the base's.
    let bad = scratch.file("bad.toml", "\nbase = './bad-base.toml'");
    let base = scratch.file("bad-base.toml", "\n\nflash.channels = 0");
    let error = load(&bad, &[]).unwrap_err();
    assert_eq!((error.path.replace("/./", "/"), error.line), (base, Some(3)));

    scratch.file("a.toml", "base = './b.toml'");
    let b = scratch.file("b.toml", "\nbase = './a.toml'");
    let error = load(&b, &[]).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(1), Some("base")));
    assert!(error.message.contains("\"./b.toml\" is based on this file"), "{error}");

    let lost = load(&scratch.file("lost.toml", "\nbase = '1CNM-65'"), &[]).unwrap_err();
    assert_eq!((lost.line, lost.field.as_deref()), (Some(2), Some("base")));
    assert!(lost.message.contains("\"1CNM-65\": no preset has this name; did you mean `1CNM-64`?"), "{lost}");
}

#[test]
fn files_that_a_job_brings_are_read_in_the_place_of_those_on_disk() {
    let scratch = Scratch::new();
    let array = scratch.file("array.toml", "members = ['2 * ./member.toml']\nredundancy.scheme = 'mirror'");
    scratch.file("member.toml", "base = './base.toml'\nerrors = {model = 'table', file = 'nowhere.csv'}");
    scratch.file("base.toml", "base = '1CNM-64'\nflash.channels = 2");
    let measured = scratch.file("measured.csv", "cycles,days,reads,rber\n0,0,0,1e-3\n1000,0,0,2e-3\n");
    let copies: BTreeMap<_, _> = [("nowhere.csv".to_owned(), measured)].into();
    let files = Rc::new(DriveFiles::new(BTreeMap::new(), copies.clone()));
    let first = load_with(&files, &array, None, &[]).unwrap();
    let texts = files.read();
    assert_eq!(texts.len(), 3, "{:?}", texts.keys());

    fs::remove_file(&array).unwrap();
    scratch.file("member.toml", "not what it was");
    let files = Rc::new(DriveFiles::new(texts.clone(), copies));
    let second = load_with(&files, &array, None, &[]).unwrap();
    assert_eq!(second.to_json(), first.to_json());
    assert_eq!(second.array[1].to_json(), first.array[1].to_json());
    assert_eq!(second.array[1].spec.name, "member");
    assert_eq!(files.read(), texts);
    assert!(load(&array, &[]).unwrap_err().message.contains("no such file"));
}

#[test]
fn set_goes_over_the_file() {
    let text = "flash.channels = 4\nftl.gc.victim = 'fifo'";
    let set = pairs(&[
        "flash.channels=2",
        " flash.page_kib = 8 ",
        "ftl.gc.victim=greedy",
        "ftl.allocation=\"CWDP\"",
        "buffer.dram_mib=.5",
        "name=42",
        "start.scan=true",
        "flash.timing={read_us = 30, program_us = 300}",
        "flash.channels=6",
    ]);
    let drive = load_text("d.toml", text, &set).unwrap();
    assert_eq!((drive.spec.flash.channels, drive.spec.flash.page_kib), (6, 8.0));
    assert_eq!((drive.spec.ftl.gc.victim.as_str(), drive.spec.name.as_str()), ("greedy", "42"));
    assert_eq!(drive.allocation, Binding::bound(&StripingLevel::ALL));
    assert_eq!((drive.buffer_bytes(), drive.spec.start.scan), (512 << 10, true));
    assert_eq!((drive.timing.read_ns, drive.timing.program_ns), (30_000, 300_000));
}

#[test]
fn set_says_what_is_wrong() {
    let cases = [
        ("flash.chanels=2", "d.toml: flash.chanels: unknown key; did you mean `flash.channels`?"),
        ("channels=2", "d.toml: channels: unknown key; did you mean `flash.channels`?"),
        ("flash.timing.read_u=2", "did you mean `flash.timing.read_us`?"),
        ("flash.channels.x=2", "d.toml: flash.channels.x: unknown key"),
        ("flash.channels", "d.toml: found `flash.channels`; `key=value` is accepted"),
        ("flash.channels=", "flash.channels: found the text \"\"; a whole number"),
        (
            "flash.channels=two",
            "flash.channels: found the text \"two\"; a whole number from 1 up to 4096 is accepted (given",
        ),
        (
            "flash.channels=0",
            "flash.channels: found 0; a whole number from 1 up to 4096 is accepted (given by --set)",
        ),
        ("flash.channels=[2", "flash.channels: found `[2`: "),
        ("flash=2", "flash: found 2; a table with the keys"),
        ("flash={chanels=2}", "flash.chanels: unknown key; did you mean `flash.channels`?"),
        ("flash.timing.read_us=infinity", "found infinity; a number above 0"),
        ("ftl.over_provisioning=12%", "found the text \"12%\"; a number above 0"),
        (
            "redundancy.scheme=raid7",
            "found the text \"raid7\"; one of `none`, `mirror`, `chained`, `raid4`, ",
        ),
        ("redundancy.scheme=hpda", "this scheme runs over drives and disks: only an array can have it"),
        ("redundancy.scheme=diff-raid", "this scheme runs over drives: only an array can have it"),
        ("redundancy.shares=2", "or a list in brackets of 1 to 255 such numbers is accepted"),
        ("base=2CM-128", "base: a drive's base is part of its file"),
        ("=2", "d.toml: found `=2`; `key=value` is accepted"),
    ];
    for (set, message) in cases {
        let error = refused_set(&[set]).to_string();
        assert!(error.contains(message), "{set}: {error}");
    }
}

#[test]
fn warnings_point_at_keys_without_effect() {
    let drive = preset("1CNM-64", &["redundancy.read_policy=least-busy", "redundancy.width=4"]);
    let expected = "redundancy.read_policy, redundancy.width: no effect with redundancy.scheme = \"none\"";
    assert_eq!(drive.warnings, [expected]);
    assert_eq!((drive.members(), drive.inside().width), (1, None));
    let drive = preset("ssdsim-basic", &["start.existing=all"]);
    assert_eq!(drive.warnings, ["start.scan: no effect unless start.existing = \"reads\""]);
}

#[test]
fn a_resolved_drive_holds_the_options_of_its_scheme_only() {
    let options = |drive: &Resolved| {
        let keys = drive.to_json()["redundancy"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        keys.join(" ")
    };
    let sweep = ["redundancy.read_policy=least-busy", "redundancy.narrowest=3", "redundancy.idle_ms=4"];
    let drive = |scheme: &str| {
        let scheme = format!("redundancy.scheme={scheme}");
        preset("8CM-64", &[&scheme, sweep[0], sweep[1], sweep[2]])
    };
    let mirror = drive("mirror");
    assert_eq!(options(&mirror), "scheme across width spares read_policy acknowledge rebuild_share read");
    assert_eq!(
        mirror.warnings,
        ["redundancy.idle_ms, redundancy.narrowest: no effect with redundancy.scheme = \"mirror\""]
    );
    assert_eq!(
        options(&drive("raid5")),
        "scheme across width spares incomplete idle_ms xor_us rebuild_share read"
    );
    assert_eq!(options(&preset("8CM-64", &["redundancy.scheme=none"])), "scheme");
    // Over drives, the options of members inside a drive have no effect, and are not kept.
    let text =
        "members = [\"3 * 2CM-128\"]\nredundancy = { scheme = \"raid5\", width = 3, across = \"chip\" }";
    let array = load_text("a.toml", text, &[]).unwrap();
    assert_eq!(options(&array), "scheme stripe_kib incomplete idle_ms xor_us rebuild_share read width");
    assert!(
        array
            .warnings
            .contains(&"redundancy.across: no effect over drives: the drives are the members".into())
    );
}

#[test]
fn a_resolved_drive_holds_the_options_of_what_it_selects_only() {
    let set = [
        "flash.commands.register_ns=1",
        "flash.commands.suspensions=4",
        "flash.timing.resume_us=7",
        "ftl.stride_pages=2",
        "ftl.gather_us=3",
        "ftl.cache_kib=4",
        "ftl.log_blocks=5",
        "ftl.map_write_us=6",
        "ftl.gc.choices=7",
        "ftl.gc.window=8",
        "ftl.wear.rate_limit_below=0.9",
        "ftl.wear.rate_limit_window=0.7",
        "ftl.wear.migrate_below=0.6",
        "ftl.wear.warranty_years=3",
        "buffer.evict=\"stripe\"",
        "ageing.aged_ratio=0.5",
        "ageing.valid_ratio=0.4",
    ];
    let keys = set.map(|pair| pair.split('=').next().unwrap());
    let held = |selects: &[&str]| {
        let all: Vec<&str> = set.iter().chain(selects).copied().collect();
        let drive = load_text("d.toml", "", &pairs(&all)).unwrap_or_else(|error| panic!("{error}"));
        let json = drive.to_json();
        let held = |key: &str| json.pointer(&format!("/{}", key.replace('.', "/"))).is_some();
        let held: Vec<&str> = keys.into_iter().filter(|key| held(key)).collect();
        // Each of the others is in one warning.
        for key in keys {
            let named = |text: &&String| text.split(':').next().unwrap().split(", ").any(|said| said == key);
            let warnings = drive.warnings.iter().filter(named).count();
            assert_eq!(warnings, usize::from(!held.contains(&key)), "{key}: {:?}", drive.warnings);
        }
        held.join(" ")
    };
    assert_eq!(held(&[]), "");
    for (selects, expected) in [
        (&["flash.commands.cache_read=true"][..], "flash.commands.register_ns"),
        (&["flash.commands.suspend=erase"], "flash.commands.suspensions flash.timing.resume_us"),
        (&["ftl.allocation=CWD"], "ftl.stride_pages"),
        (&["ftl.logical_page_kib=2"], "ftl.gather_us"),
        (&["ftl.map=dftl", "ftl.over_provisioning=0.2"], "ftl.cache_kib"),
        (&["ftl.map=hybrid"], "ftl.log_blocks"),
        (&["ftl.map_memory=mram"], "ftl.map_write_us"),
        (&["ftl.gc.victim=d-choices"], "ftl.gc.choices"),
        (&["ftl.gc.victim=windowed-greedy"], "ftl.gc.window"),
        (&["ftl.wear.levelling=migration"], "ftl.wear.migrate_below"),
        (
            &["ftl.wear.levelling=both"],
            "ftl.wear.rate_limit_below ftl.wear.rate_limit_window ftl.wear.migrate_below",
        ),
        (&["ftl.wear.erase_budget=100"], "ftl.wear.warranty_years"),
        (&["buffer.dram_mib=1"], "buffer.evict"),
        (&["ageing.model=basic"], "ageing.aged_ratio"),
        (&["ageing.model=approach2"], "ageing.aged_ratio ageing.valid_ratio"),
    ] {
        assert_eq!(held(selects), expected, "{selects:?}");
    }
    // Types and ranges are checked all the same.
    for pair in ["ftl.gc.choices=0", "ftl.cache_kib=none", "ageing.valid_ratio=1.5", "buffer.evict=all"] {
        assert!(refused_set(&[pair]).message.contains("accepted"), "{pair}");
    }
    // A curve has its own numbers.
    let text = "disk.seek = { curve = 'table', points = [1, 2], read_full_ms = 9 }";
    let disk = load_text("d.toml", text, &[]).unwrap();
    assert_eq!(disk.warnings, ["disk.seek.read_full_ms: no effect with disk.seek.curve = \"table\""]);
    let seek = serde_json::json!({ "curve": "table", "points": [1.0, 2.0], "write_settle_ms": 0.0 });
    assert_eq!(disk.to_json()["disk"]["seek"], seek);
}

#[test]
fn presets_set_what_has_an_effect() {
    fn backends(table: &toml::Table, prefix: &str, out: &mut Vec<String>) {
        for (name, value) in table {
            match value {
                toml::Value::Table(inner) => backends(inner, &format!("{prefix}/{name}"), out),
                _ => out.push(format!("{prefix}/{name}")),
            }
        }
    }
    for info in presets() {
        let (drive, mut keys) = (preset(info.name, &[]).to_json(), Vec::new());
        backends(&info.text.parse().expect("TOML"), "", &mut keys);
        // Values of the error model have one when it is switched on.
        let (errors, others): (Vec<_>, Vec<_>) =
            keys.iter().filter(|key| *key != "/base").partition(|key| key.starts_with("/errors/"));
        for key in others {
            assert!(drive.pointer(key).is_some(), "{}: {key}", info.name);
        }
        if !errors.is_empty() {
            let on = preset(info.name, &["errors.model=kim"]).to_json();
            for key in errors {
                assert!(on.pointer(key).is_some(), "{}: {key}", info.name);
            }
        }
    }
}

#[test]
fn defaults_are_filled_in() {
    let drive = load_text("d.toml", "redundancy.scheme = 'mirror'\nflash.sector_bytes = 4096", &[]).unwrap();
    assert_eq!((drive.inside().width, drive.members()), (Some(2), 2));
    assert_eq!((drive.spec.flash.pin_bytes_per_sector, drive.pin_bytes()), (4096, 4096));
    assert_eq!((drive.spec.name.as_str(), drive.planes(), drive.units_per_channel()), ("d.toml", 64, 4));
    let four = load_text("d", "redundancy = {scheme = 'mirror', width = 4, across = 'die'}", &[]).unwrap();
    assert_eq!(four.logical_pages(), ((64 * 2048 * 64 / 4) * 100_u64).div_ceil(115));
}

#[test]
fn times_are_rounded_up_once() {
    let text = "flash.timing = {read_us = 16.1, program_us = 0.0001, erase_us = 1500.0004, \
                bus_ns_per_byte = 0.2384}";
    let timing = load_text("d.toml", text, &[]).unwrap().timing;
    assert_eq!((timing.read_ns, timing.program_ns, timing.erase_ns), (16_100, 1, 1_500_001));
    assert_eq!((timing.transfer_ns(0), timing.transfer_ns(1), timing.transfer_ns(5000)), (0, 1, 1192));
    // Over-provisioning of 1/9 is a tenth of the physical pages, not one page less.
    let tenth = "flash = {channels = 1, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 1000, \
                 pages_per_block = 100}\nftl.over_provisioning = 0.1111111111111111";
    assert_eq!(load_text("d.toml", tenth, &[]).unwrap().logical_pages(), 90_000);
}

#[test]
fn allocations_are_parsed_and_printed() {
    for name in ["dynamic", "dynamic-in-channel", "dynamic-in-chip", "CWDP", "PDWC", "CPWD", "CWD", "PW", "D"]
    {
        assert_eq!(name.parse::<Binding>().unwrap().to_string(), name);
    }
    let order = Binding::bound(&[
        StripingLevel::Plane,
        StripingLevel::Die,
        StripingLevel::Chip,
        StripingLevel::Channel,
    ]);
    assert_eq!("PDWC".parse(), Ok(order));
    for name in ["", "CWX", "CWDPX", "CCWD", "Dynamic", "ÄÄ"] {
        assert!(name.parse::<Binding>().is_err(), "{name}");
    }
}

#[test]
fn the_schema_holds_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    fn backends(value: &serde_json::Value, prefix: &str, out: &mut Vec<String>) {
        for (name, child) in value.as_object().unwrap() {
            match child.is_object() {
                true => backends(child, &format!("{prefix}{name}."), out),
                false => out.push(format!("{prefix}{name}")),
            }
        }
    }
    let mut keys = vec!["base".to_string()];
    backends(&preset("2CM-128", &[]).to_json(), "", &mut keys);
    backends(&preset("st3500630a", &[]).to_json(), "", &mut keys);
    keys.extend(["disk.cylinders", "disk.seek.points", "disk.power.standby_after_s"].map(String::from));
    assert!(keys.len() > 60);
    for key in keys {
        assert!(super::fields::fields().contains_key(&key), "{key}");
        let mut node = &schema;
        for part in key.split('.') {
            let target =
                node.get("$ref").and_then(|name| schema.pointer(&name.as_str()?[1..])).unwrap_or(node);
            node = &target["properties"][part];
            assert!(node["description"].as_str().is_some_and(|text| !text.is_empty()), "{key}");
        }
    }
    assert_eq!(
        schema["$defs"]["RedundancySpec"]["properties"]["scheme"]["enum"],
        serde_json::json!(crate::schemes::names())
    );
    assert_eq!(schema["$defs"]["FlashSpec"]["properties"]["channels"]["minimum"], 1);
}

#[test]
fn a_table_by_itself_has_the_keys_that_all_of_the_schema_has() {
    use super::fields::{field, fields};
    assert!(fields().len() > 100 && fields().contains_key("flash.timing.read_us"));
    for (key, kind) in fields() {
        assert_eq!(field(key), Some(kind), "{key}");
    }
    for key in ["flash.chanels", "flash.", "flsh", "members.x", "name.x"] {
        assert_eq!(field(key), None, "{key}");
    }
}

#[test]
fn a_resolved_drive_reads_back() {
    for info in presets() {
        let disk = info.text.contains("\n[disk]\n");
        let changed = match info.text {
            _ if disk => "disk.command_ms=0.375",
            text if text.contains("\nmembers = ") => "array.volumes=2",
            _ => "flash.timing.read_us=33.25",
        };
        let drive = preset(info.name, &[changed]);
        assert_eq!(drive.disk().is_some(), disk);
        let json = drive.to_json();
        let back = from_json(info.name, &json, &[]).unwrap();
        assert_eq!((&back.spec, back.to_json()), (&drive.spec, json.clone()));
        assert_eq!((back.timing, back.capacity_bytes()), (drive.timing, drive.capacity_bytes()));
        // And as a drive file, through a real path.
        let mut table = json;
        let absent = [
            ("redundancy", "width"),
            ("ftl.wear", "erase_budget"),
            ("ftl.gc", "soft_threshold"),
            ("ftl.gc", "turn_ms"),
        ];
        for (section, key) in absent {
            let section = table.pointer_mut(&format!("/{}", section.replace('.', "/")));
            if let Some(section) = section.and_then(serde_json::Value::as_object_mut)
                && section.get(key).is_some_and(serde_json::Value::is_null)
            {
                section.remove(key);
            }
        }
        let scratch = Scratch::new();
        let path = scratch.file("d.toml", toml::to_string(&table).unwrap());
        assert_eq!(load(&path, &[]).unwrap().spec, drive.spec);
    }
    let changed =
        from_json("x", &preset("2CM-128", &[]).to_json(), &pairs(&["flash.sector_bytes=4096"])).unwrap();
    assert_eq!(changed.spec.flash.pin_bytes_per_sector, 4096);
    let error = from_json("x", &serde_json::json!({"flash": {"chanels": 2}}), &[]).unwrap_err();
    assert!(error.to_string().starts_with("x: flash.chanels: unknown key; did you mean `flash.channels`?"));
    assert!(
        from_json("x", &serde_json::json!([1]), &[])
            .unwrap_err()
            .message
            .starts_with("found an array; a table")
    );
}

#[test]
fn the_tree_of_a_mirror() {
    let drawn = draw(&preset("2CM-128", &[]));
    let expected = "\
2CM-128  SIRF-1 TP1: 2 channels, mirrored, 128 GiB of flash, 64 MiB of DRAM
└─ host  sees 57.6 GiB in sectors of 512 B; 5 requests in the drive, later ones wait in the host queue
   │     starts new, with the pages that the workload reads
   └─ buffer  64 MiB of DRAM; a request served by it alone takes 1 µs
      └─ mirror  2 members, each over its own channels; any one channel may fail
         │       read_policy round-robin, acknowledge all, rebuild_share 0.5, read plain
         ├─ ftl 0  57.6 GiB in pages of 4 KiB, 11.11 % over-provisioned; allocation dynamic
         │  │      GC below 5 % free, greedy victims, holds the channel for a whole block
         │  └─ flash  channel 0 of 2, with 16 chips × 4 dies
         │     │      a chip is busy as one; the channel is held for transfers only
         │     │      scheduler ssdsim; a program is done after its transfer
         │     └─ die  4 planes × 1024 blocks × 64 pages × 4 KiB
         │             read 20 µs, program 200 µs, erase 1.5 ms; a page crosses the channel in 102.58 µs
         └─ ftl 1  as ftl 0
            └─ flash  channel 1 of 2, with 16 chips × 4 dies
";
    assert_eq!(drawn, expected);
    for info in presets() {
        for line in draw(&preset(info.name, &[])).lines() {
            assert!(line.chars().count() <= 110 && line.trim_end() == line, "{line}");
        }
    }
    let wide = draw(&preset("8CM-256", &["redundancy.across=die", "redundancy.width=8"]));
    assert!(wide.contains("├─ …  6 more like it\n") && wide.contains("dies 224–255 of 256"), "{wide}");
}

#[test]
fn streams_need_blocks() {
    let error = refused(
        "[ftl]\nstreams = 3\ngc.separate = true\nover_provisioning = 0.001\n[flash]\nblocks_per_plane = 64",
    );
    assert_eq!(error.field.as_deref(), Some("ftl.over_provisioning"));
    // Two of 64 blocks for each of four streams: 8/56.
    assert!(error.message.contains("at least 0.142858 is accepted with 64 blocks"), "{error}");
    let enough = "[ftl]\nstreams = 3\ngc.separate = true\nover_provisioning = 0.142858\n[flash]\nblocks_per_plane = 64";
    let drive = load_text("d.toml", enough, &[]).expect("enough");
    assert_eq!((drive.streams(), drive.spare_blocks()), (4, 8));

    let error = refused("ftl.wear = { rate_limit_window = 0.9, levelling = 'both' }");
    assert_eq!(error.field.as_deref(), Some("ftl.wear.rate_limit_window"));
    assert!(error.message.contains("at most ftl.wear.rate_limit_below (0.8) is accepted"), "{error}");
}

#[test]
fn what_a_policy_does_not_read_is_pointed_out() {
    for (text, warning) in [
        ("ftl.gc.choices = 3", "ftl.gc.choices: no effect with ftl.gc.victim = \"greedy\""),
        (
            "ftl.gc.victim = \"rga\"\nftl.gc.window = 3",
            "ftl.gc.window: no effect with ftl.gc.victim = \"rga\"",
        ),
        (
            "ftl.wear.migrate_below = 0.5",
            "ftl.wear.migrate_below: no effect with ftl.wear.levelling = \"none\"",
        ),
        ("ftl.wear.warranty_years = 3", "ftl.wear.warranty_years: no effect without ftl.wear.erase_budget"),
    ] {
        let drive = load_text("d.toml", text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(drive.warnings.iter().any(|said| said == warning), "{text}: {:?}", drive.warnings);
    }
    let read = "ftl.gc.victim = \"d-choices\"\nftl.gc.choices = 3";
    assert!(load_text("d.toml", read, &[]).expect("a drive").warnings.is_empty());
}

#[test]
fn the_drive_of_2008_as_its_parameter_file_says() {
    let drive = preset("atc08-32gb", &[]);
    // 15 % of 2,048 blocks, rounded down, are kept back in each of 64 planes; a block has 63 pages of data.
    assert_eq!(drive.logical_pages(), (2048 - 307) * 64 * 63);
    assert_eq!(drive.timing.transfer_ns(drive.pin_bytes()), 105_600);
    assert_eq!((drive.logical_page(), drive.stride()), (1, 1));
    let block = preset("atc08-32gb", &["ftl.logical_page_kib=256"]);
    assert_eq!((block.logical_page(), block.stride()), (64, 64), "a logical page lies on one chip");
    assert_eq!(preset("atc08-32gb", &["ftl.logical_page_kib=256", "ftl.stride_pages=8"]).stride(), 8);
    assert_eq!(preset("atc08-ideal", &[]).timing.transfer_ns(4096), 100_000);
}

#[test]
fn keys_of_elements_that_do_not_fit_are_refused() {
    for (set, field) in [
        (vec!["flash.control_gang=3"], "flash.control_gang"),
        (vec!["ftl.logical_page_kib=6"], "ftl.logical_page_kib"),
        (vec!["ftl.gc.soft_threshold=0.01"], "ftl.gc.soft_threshold"),
        (vec!["flash.planes_per_die=3", "flash.busy_unit=plane-pair"], "flash.busy_unit"),
        (vec!["host.order=c-look", "host.late_requests=from-arrival"], "host.late_requests"),
        (vec!["host.link_us_per_sector=1", "host.late_requests=from-arrival"], "host.late_requests"),
    ] {
        let error = refused_set(&set);
        assert!(set.iter().any(|pair| pair.starts_with(error.field.as_deref().unwrap())), "{field}: {error}");
    }
    let unread = preset("8CM-64", &["ftl.allocation=CWDP", "ftl.plane_choice=most-free"]);
    assert_eq!(unread.warnings.len(), 1, "{:?}", unread.warnings);
    let rows = load_text("d", "ftl.gc.soft_threshold = 0.5\nftl.map = 'hybrid'", &[]).unwrap();
    assert!(rows.warnings.iter().any(|text| text.starts_with("ftl.gc.soft_threshold: no effect")));
    let cached = load_text("d", "flash.bus = 'rounds'\nflash.commands.cache_read = true", &[]).unwrap();
    let text = "flash.commands: cache registers have no effect with flash.bus = \"rounds\"";
    assert_eq!(cached.warnings, [text]);
    let held = load_text("d", "flash.bus = 'operations'\nflash.commands.suspend = 'erase'", &[]).unwrap();
    assert_eq!(held.warnings, ["flash.commands.suspend: no effect with flash.bus = \"operations\""]);
    assert!(held.drive_parameters(crate::drive::FlashBackendKind::Blocks).suspend.is_none());
    let alone = load_text("d", "host.order = 'c-look'", &[]).unwrap();
    assert!(alone.warnings[0].starts_with("host.order: no effect"), "{:?}", alone.warnings);
}

#[test]
fn pages_that_share_a_flash_page() {
    let quarter = preset("8CM-64", &["flash.page_kib=16", "ftl.logical_page_kib=4"]);
    let whole = preset("8CM-64", &["flash.page_kib=16"]);
    assert_eq!((quarter.places(), quarter.page_bytes(), quarter.stride()), (4, 4096, 4));
    assert_eq!(quarter.block_pages(), 4 * whole.spec.flash.pages_per_block);
    assert_eq!(quarter.physical_bytes(), whole.physical_bytes());
    let at_once =
        preset("8CM-64", &["flash.page_kib=16", "ftl.logical_page_kib=4", "flash.pages_per_program=2"]);
    assert_eq!((at_once.places(), at_once.word_line(), at_once.stride(), at_once.padding()), (4, 8, 8, 7));
    // Pages of sectors, however large the flash's are.
    let sectors =
        preset("8CM-64", &["flash.page_kib=64", "ftl.logical_page_kib=0.5", "flash.pages_per_block=32"]);
    assert_eq!((sectors.places(), sectors.page_sectors()), (128, 1));
    for (set, why) in [
        (vec!["ftl.gather_us=5"], "ftl.gather_us: no effect unless ftl.logical_page_kib"),
        (
            vec!["ftl.gather_us=5", "ftl.logical_page_kib=2", "redundancy.scheme=dvs"],
            "ftl.gather_us: no effect if",
        ),
    ] {
        let drive = load_text("d", "", &pairs(&set)).unwrap();
        assert!(drive.warnings.iter().any(|said| said.starts_with(why)), "{set:?}: {:?}", drive.warnings);
    }
    for (set, said) in [
        (vec!["flash.page_kib=16", "ftl.logical_page_kib=6"], "such as 5.333333333333333 is accepted"),
        (vec!["flash.page_kib=16", "ftl.logical_page_kib=12"], "such as 8 is accepted"),
        (
            vec!["flash.page_kib=16", "ftl.logical_page_kib=0.25"],
            "not a whole number of sectors of 512 bytes",
        ),
        (vec!["ftl.logical_page_kib=2", "flash.pages_per_block=32768"], "at most 32768 are accepted"),
        (vec!["flash.pages_per_program=3"], "a block of 64 pages is not a whole number of word lines of 3"),
        (
            vec!["flash.pages_per_program=4", "redundancy.scheme=dvs"],
            "1 is accepted if the scheme or the map",
        ),
        (vec!["flash.pages_per_program=4", "ftl.map=hybrid"], "1 is accepted if the scheme or the map"),
        (
            vec!["flash.pages_per_program=4", "flash.timing.read_us=[1, 2, 3]"],
            "the types do not repeat from one word line of 4 pages to the next; `interleaved` or `0123`",
        ),
        (vec!["flash.page_kib=64"], "at most 64 are accepted"),
    ] {
        let error = refused_set(&set).to_string();
        assert!(error.contains(said), "{set:?}: {error}");
    }
}

#[test]
fn disks_are_drawn_and_have_no_flash() {
    let disk = preset("st3500630a", &[]);
    assert_eq!((disk.capacity_sectors(), disk.page_bytes(), disk.page_sectors()), (976_773_168, 4096, 8));
    assert_eq!((disk.capacity_bytes(), disk.logical_pages()), (500_107_862_016, 122_096_646));
    let expected = "\
st3500630a  Barracuda 7200.10 of 2006, 500 GB: 7,200 rpm, 78 to 39 MB/s, the disk of the hybrid backup study
└─ host  sees 465.76 GiB in sectors of 512 B; any number of requests in the drive
   │     starts new, with the pages that the workload reads
   └─ disk  7200 revolutions a minute; 6 heads × 178850 cylinders; 4 KiB pages
            16 zones from 78 MB/s to 39 MB/s
            seeks: next track 0.8 ms, mean 8.5, full 18 to read; 1, 10, 18 to write
            scheduler look over 128 commands; writes complete on the platter
";
    assert_eq!(draw(&disk), expected);
    let keys = disk.to_json();
    let tables: Vec<&str> = keys.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(tables, ["name", "description", "price_per_gb", "disk", "host", "start"]);
    let large = preset("nearline-18tb", &["disk.write_cache_mib=256"]);
    assert_eq!((large.page_bytes(), large.capacity_bytes() / 1_000_000_000), (16_384, 18_000));
    assert!(draw(&large).contains("32 commands; 256 MiB of write cache"));
    let table =
        load_text("d", "disk.seek = { curve = 'table', points = [1, 2, 10, 3], write_settle_ms = 1 }", &[]);
    assert!(draw(&table.unwrap()).contains("seeks: 2 points; writes 1 ms more"));
    assert_eq!(preset("1CNM-64", &[]).disk(), None);
}

#[test]
fn disks_that_cannot_be_are_refused() {
    let cases = [
        ("[disk]\n", "disk", "an empty table; a disk has at least disk.capacity_gb"),
        (
            "disk.rpm = 5400\nflash.channels = 2",
            "flash.channels",
            "a drive file with [disk] describes a disk: it accepts no keys of [flash]",
        ),
        (
            "disk.rpm = 5400\n[ftl.gc]\nvictim = \"fifo\"",
            "ftl.gc.victim",
            "a drive file with [disk] describes a disk",
        ),
        (
            "base = \"2CM-128\"\ndisk.rpm = 5400",
            "buffer.dram_mib",
            "a drive file with [disk] describes a disk",
        ),
        (
            "disk.rpm = 5400\nredundancy.scheme = \"mirror\"",
            "redundancy.scheme",
            "a drive file with [disk] describes a disk",
        ),
        ("disk.rmp = 5400", "disk.rmp", "did you mean `disk.rpm`?"),
        (
            "disk.page_kib = 0.7",
            "disk.page_kib",
            "found 0.7; a whole number of sectors of 512 bytes is accepted",
        ),
        ("disk.capacity_gb = 20000", "disk.capacity_gb", "1 to 2147483646 are accepted"),
        ("disk.capacity_gb = 1e-7", "disk.capacity_gb", "0 pages of 4 KiB"),
        (
            "disk.rate_inner_mb_s = 80",
            "disk.rate_inner_mb_s",
            "at most disk.rate_outer_mb_s (78) is accepted",
        ),
        ("disk.rate_inner_mb_s = 0.06", "disk.rate_inner_mb_s", "less than one sector per track"),
        ("disk.rate_inner_mb_s = 0.07", "disk.rate_inner_mb_s", "at most 16777216 are accepted"),
        ("disk.cylinders = 1000", "disk.cylinders", "found 1000; 500 GB need"),
        ("disk.seek.read_average_ms = 2", "disk.seek.read_average_ms", "from 6.533 up to 13.413 is accepted"),
        ("disk.seek = { curve = \"two-pieces\" }", "disk.seek.pieces", "found 0 numbers; five are accepted"),
        ("disk.seek = { curve = \"table\", points = [1, 2, 1, 3] }", "disk.seek.points", "both rising"),
        ("disk.scheduler = \"lok\"", "disk.scheduler", "did you mean `look`?"),
    ];
    for (text, field, said) in cases {
        let error = refused(text);
        assert!(error.message.contains(said), "{text}: {error}");
        // If the user did not set the key, the message names the first key that matters.
        assert_eq!(error.field.as_deref(), Some(field), "{text}: {error}");
    }
    let set = load("st3500630a", &pairs(&["ftl.streams=2"])).expect_err("refused");
    assert!(set.to_string().contains("ftl.streams: a drive file with [disk] describes a disk"), "{set}");
}

#[test]
fn reads_are_hedged_after_a_percentile() {
    let of = |read: &str| preset("8CM-64", &["redundancy.scheme=mirror", &format!("redundancy.read={read}")]);
    for read in ["plain", "around-busy", "hedge=p50", "hedge=p95", "hedge=p99.9"] {
        let drive = of(read);
        assert_eq!(drive.to_json()["redundancy"]["read"], read);
        assert_eq!(
            (drive.reads_around(), drive.hedges_reads()),
            (read != "plain", read.starts_with("hedge"))
        );
    }
    for read in
        ["hedge", "hedge=p0", "hedge=95", "hedge=p49.9", "hedge=p95.55", "hedge=p+9", "hedge=p9.5", "5"]
    {
        let message = refused_set(&["redundancy.scheme=mirror", &format!("redundancy.read={read}")]).message;
        assert!(message.contains("`hedge=p50` to `hedge=p99.9` is accepted"), "{read}: {message}");
    }
}
