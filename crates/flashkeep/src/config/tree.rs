//! Draws a drive as its tree of nodes.

use super::check::Resolved;
use crate::flash::{Acknowledge, Across, BusUse, BusyUnit};
use crate::ftl::GcRun;
use crate::host::{Arbitration, HostSpec};
use crate::mapping::BackendKind;
use crate::options::OptionsPart;
use crate::schemes::{Inside, Members, NvramOptions, NvramPrice};

/// Settings of a scheme on one line.
const LONGEST: usize = 76;

/// Lines are folded at this width.
const WIDTH: usize = 110;

/// Members beyond this number are not drawn one by one.
const MOST_DRAWN: u32 = 4;

/// A line that does not fit is folded after a semicolon.
fn folded(line: &str, room: usize) -> Vec<&str> {
    let fits = |at: &usize| line[..*at].chars().count() < room;
    let ends = line.match_indices("; ").map(|(at, _)| at);
    match ends.filter(fits).last() {
        Some(end) if line.chars().count() > room => {
            [vec![&line[..=end]], folded(&line[end + 2..], room)].concat()
        }
        _ => vec![line],
    }
}

struct DrawnNode {
    title: String,
    lines: Vec<String>,
    children: Vec<DrawnNode>,
}

impl DrawnNode {
    fn new(title: &str, lines: Vec<String>, children: Vec<DrawnNode>) -> Self {
        DrawnNode { title: title.into(), lines, children }
    }

    /// Writes the node after the prefix `bend`, and all nodes below it after `trunk`.
    fn write(&self, bend: &str, trunk: &str, out: &mut String) {
        let stem = if self.children.is_empty() { "   " } else { "│  " };
        let pad = " ".repeat(self.title.chars().count().saturating_sub(1));
        let room = WIDTH.saturating_sub(bend.chars().count() + self.title.chars().count() + 2);
        for (index, line) in self.lines.iter().flat_map(|line| folded(line, room)).enumerate() {
            let start = match index {
                0 => format!("{bend}{}  {line}", self.title),
                _ => format!("{trunk}{stem}{pad}{line}"),
            };
            out.push_str(start.trim_end());
            out.push('\n');
        }
        for (index, child) in self.children.iter().enumerate() {
            let last = index + 1 == self.children.len();
            let (bend, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.write(&format!("{trunk}{bend}"), &format!("{trunk}{below}"), out);
        }
    }
}

/// The drive as a small tree for a terminal: host, buffer, redundancy, a translation layer for each member,
/// flash.
#[must_use]
pub fn draw(drive: &Resolved) -> String {
    let top = buffered(drive);
    let (bytes, sector) = (size(drive.capacity_bytes()), drive.spec.flash.sector_bytes);
    let queue = match drive.spec.host.queue_depth {
        0 => "any number of requests in the drive".into(),
        depth => {
            format!("{} in the drive, later ones wait in the host queue", count(u64::from(depth), "request"))
        }
    };
    let mut lines = vec![
        format!("sees {bytes} in sectors of {sector} B; {queue}"),
        format!("starts {}", drive.start_in_words()),
    ];
    lines.extend(queues(&drive.spec.host));
    let host = DrawnNode::new("host", lines, vec![top]);
    let mut out = format!("{}  {}", drive.spec.name, drive.spec.description).trim_end().to_string();
    out.push('\n');
    host.write("└─ ", "   ", &mut out);
    out
}

/// How the drive fetches requests from host queues, if it does so in another way than one by one from each without a limit.
fn queues(host: &HostSpec) -> Option<String> {
    let number = match host.queues {
        0 => "a host queue for each flow".to_owned(),
        queues => count(u64::from(queues), "host queue"),
    };
    let entries = (host.entries > 0).then(|| format!("of {}", count(u64::from(host.entries), "request")));
    let fetch = (host.fetch > 0).then(|| format!("up to {} of each in the drive", host.fetch));
    let order = match host.arbitration {
        Arbitration::RoundRobin => None,
        Arbitration::Weighted => Some("fetched by weights".to_owned()),
        Arbitration::Priority => Some("fetched by priorities".to_owned()),
    };
    if host.queues == 0 && entries.is_none() && fetch.is_none() && order.is_none() {
        return None;
    }
    Some([Some(number), entries, fetch, order].into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The parts of a drive or an array, below its DRAM.
fn buffered(drive: &Resolved) -> DrawnNode {
    let below = inside(drive);
    if drive.buffer_bytes() == 0 {
        return below;
    }
    let (bytes, hit) = (size(drive.buffer_bytes()), time(drive.timing.hit_ns));
    let copies = if drive.writes_through() { ", written through" } else { "" };
    let line = format!("{bytes} of DRAM{copies}; a request served by it alone takes {hit}");
    DrawnNode::new("buffer", vec![line], vec![below])
}

/// The parts of a drive or an array.
fn inside(drive: &Resolved) -> DrawnNode {
    match drive.disk() {
        Some(disk) => DrawnNode::new("disk", super::disk::lines(disk), Vec::new()),
        None if drive.is_array() => array(drive),
        None => redundancy(drive),
    }
}

/// An array; equal members are drawn once.
fn array(drive: &Resolved) -> DrawnNode {
    let mut children: Vec<DrawnNode> = Vec::new();
    let mut first = 0;
    for alike in drive.array.chunk_by(|one, next| one.spec == next.spec) {
        let last = first + alike.len() - 1;
        let numbers =
            if first == last { format!("member {first}") } else { format!("members {first} to {last}") };
        let each = if first == last { "" } else { " each" };
        let line = format!("{}, {}{each}", alike[0].spec.name, size(alike[0].capacity_bytes()));
        children.push(DrawnNode::new(&numbers, vec![line], vec![buffered(&alike[0])]));
        first = last + 1;
    }
    let (survives, unit) = drive.survives();
    let may_fail = match survives {
        0 => "none may fail".to_owned(),
        1 => format!("any one {unit} may fail"),
        some => format!("any {some} {unit}s may fail"),
    };
    let mut lines = vec![format!("{}; {may_fail}", count(u64::from(drive.members()), "member"))];
    lines.extend(settings(drive));
    if drive.scheme().memory {
        children.push(memory(drive));
    }
    let title = if drive.grouped.is_some() { "groups" } else { &drive.spec.redundancy.scheme };
    DrawnNode::new(title, lines, children)
}

fn memory(drive: &Resolved) -> DrawnNode {
    let pages = count(drive.memory_pages(), "page");
    let latency = time((drive.spec.redundancy.read::<NvramOptions>().nvram_us * 1e3) as u64);
    DrawnNode::new("nvram", vec![format!("{pages}, {latency} each")], Vec::new())
}

fn redundancy(drive: &Resolved) -> DrawnNode {
    let redundancy = &drive.spec.redundancy;
    let (scheme, members) = (drive.scheme(), drive.members());
    if scheme.plain {
        return member(drive, 0);
    }
    let (survives, level) = drive.survives();
    let may_fail = match survives {
        1 => format!("any one {level} may fail"),
        some => format!("any {some} {level}s may fail"),
    };
    let mut lines = vec![format!("{members} members, each over its own {level}s; {may_fail}")];
    lines.extend(settings(drive));
    let mut children: Vec<DrawnNode> = match members {
        0..=MOST_DRAWN => (0..members).map(|index| member(drive, index)).collect(),
        _ => {
            let rest = format!("{} more like it", members - 2);
            vec![member(drive, 0), DrawnNode::new("…", vec![rest], Vec::new()), member(drive, members - 1)]
        }
    };
    for spare in members..drive.parts() {
        children.push(DrawnNode::new("spare", vec![territory(drive, spare)], Vec::new()));
    }
    if scheme.memory {
        children.push(memory(drive));
    }
    DrawnNode::new(&redundancy.scheme, lines, children)
}

/// The options of the scheme, key by key.
fn settings(drive: &Resolved) -> Vec<String> {
    // What the tree shows in another place.
    let drawn = match drive.is_array() {
        true => [OptionsPart::of::<NvramOptions>(), OptionsPart::of::<NvramPrice>()],
        false => [OptionsPart::of::<NvramOptions>(), OptionsPart::of::<Inside>()],
    };
    let drawn: Vec<String> = drawn.iter().flat_map(OptionsPart::keys).collect();
    let mut lines: Vec<String> = Vec::new();
    let options = drive.spec.redundancy.given().filter(|(key, _)| !drawn.contains(key));
    for (key, value) in options {
        let told = match value {
            serde_json::Value::String(text) => format!("{key} {text}"),
            other => format!("{key} {other}"),
        };
        match lines.last_mut() {
            Some(line) if line.len() + told.len() < LONGEST => *line += &format!(", {told}"),
            _ => lines.push(told),
        }
    }
    lines
}

/// One translation layer and the flash below it.
fn member(drive: &Resolved, index: u32) -> DrawnNode {
    let ftl = &drive.spec.ftl;
    let members = drive.members();
    let physical = drive.scheme().kind == Members::Physical;
    let layer = if physical { "log" } else { "ftl" };
    let title = if members == 1 { layer.into() } else { format!("{layer} {index}") };
    if index > 0 {
        let territory = DrawnNode::new("flash", vec![territory(drive, index)], Vec::new());
        return DrawnNode::new(&title, vec![format!("as {layer} 0")], vec![territory]);
    }
    if physical {
        let groups = count(drive.part_pages() / drive.superblock_pages(), "group");
        let pages = count(drive.superblock_pages(), "page");
        let lines = vec![
            format!("{groups} of {pages} of {}, written in order", size(drive.page_bytes())),
            format!(
                "{} % over-provisioned; GC when {} left",
                round(ftl.over_provisioning * 100.0),
                match drive.clean_below() {
                    1 => "1 group is".to_owned(),
                    groups => format!("{groups} groups are"),
                }
            ),
        ];
        return DrawnNode::new(&title, lines, vec![flash(drive)]);
    }
    let run = match ftl.gc.run {
        GcRun::Steps => "page by page",
        GcRun::HoldChannel => "holds the channel for a whole block",
    };
    let sizes = format!(
        "{} in pages of {}, {} % over-provisioned",
        size(drive.member_bytes()),
        size(drive.page_bytes()),
        round(ftl.over_provisioning * 100.0)
    );
    let mut lines = vec![format!("map {}: {}", ftl.map, drive.map().summary)];
    match drive.map().below {
        BackendKind::Itself => lines.clear(),
        BackendKind::Mapped => {
            let (entries, tables) = (drive.cache_entries(), drive.translation_pages());
            lines.push(format!("{entries} entries in the cache; tables of {}", count(tables, "page")));
        }
        BackendKind::Blocks => {
            let logs = drive.log_blocks().map_or("all spare blocks".into(), |logs| logs.to_string());
            lines.extend([sizes, format!("log blocks of a plane: {logs}")]);
            return DrawnNode::new(&title, lines, vec![flash(drive)]);
        }
    }
    lines.extend([
        format!("{sizes}; allocation {}", ftl.allocation),
        format!("GC below {} % free, {} victims, {run}", round(ftl.gc.threshold * 100.0), ftl.gc.victim),
    ]);
    lines.extend(streams_and_wear(drive));
    DrawnNode::new(&title, lines, vec![flash(drive)])
}

/// Lines about features that few drives have.
fn streams_and_wear(drive: &Resolved) -> Vec<String> {
    let ftl = &drive.spec.ftl;
    let mut lines = Vec::new();
    if drive.streams() > 1 {
        let moved =
            if ftl.gc.separate || drive.handle_spec().mixes() { ", one of them for moved pages" } else { "" };
        let tables = if drive.translation_pages() > 0 { ", one of them for the map's tables" } else { "" };
        let spec = drive.handle_spec();
        if spec.count > 1 {
            let parity = if spec.parity { " and parity" } else { "" };
            let isolation = if spec.mixes() { "initially" } else { "persistently" };
            lines.push(format!("{} placement handles{parity}, isolated {isolation}", spec.count));
        }
        let units = match drive.scheme().kind {
            Members::Physical => "open superblocks",
            Members::Mapped | Members::WithHiddenRange => "open blocks per plane",
        };
        lines.push(format!("{} {units}{moved}{tables}", drive.streams()));
    }
    if let Some(budget) = ftl.wear.erase_budget {
        lines.push(format!("blocks endure {budget} erases; wear leveling {}", ftl.wear.levelling));
    }
    lines
}

fn flash(drive: &Resolved) -> DrawnNode {
    let (flash, timing) = (&drive.spec.flash, &drive.timing);
    let unit = match flash.busy_unit {
        BusyUnit::Chip => "a chip",
        BusyUnit::Die => "a die",
        BusyUnit::PlanePair => "a pair of planes",
        BusyUnit::Plane => "a plane",
    };
    let bus = match flash.bus {
        BusUse::Transfers => "the channel is held for transfers only",
        BusUse::Operations => "the channel is held for whole operations",
        BusUse::Rounds => "the busy units of a channel work in rounds",
    };
    let done = match flash.acknowledge {
        Acknowledge::Transfer => "after its transfer",
        Acknowledge::Program => "after the array operation",
    };
    let lines = vec![
        territory(drive, 0),
        format!("{unit} is busy as one; {bus}"),
        format!("scheduler {}; a program is done {done}", flash.scheduler),
    ];
    let (places, page) = (u64::from(drive.places()), size(drive.page_bytes()));
    let pages = count(flash.pages_per_block.into(), "page");
    let block = match places {
        1 => format!("{pages} × {page}"),
        _ => format!("{pages} × {} × {page}", count(places, "place")),
    };
    let block = match flash.pages_per_program {
        1 => block,
        together => format!("{block}, {together} programmed at once"),
    };
    let times = format!(
        "read {}, program {}, erase {}",
        times(&drive.page_types.read_ns),
        times(&drive.page_types.program_ns),
        time(timing.erase_ns)
    );
    let transfer = time(timing.command_ns + timing.transfer_ns(places * drive.pin_bytes()));
    let transfer = format!("a page crosses the channel in {transfer}");
    let mut die = vec![format!(
        "{} × {} × {block}",
        count(flash.planes_per_die.into(), "plane"),
        count(flash.blocks_per_plane.into(), "block")
    )];
    if drive.page_types.is_single() {
        die.push(format!("{times}; {transfer}"));
    } else {
        die.extend([times, transfer]);
    }
    if let Some([read, program]) = flash.slc.times() {
        die.push(format!(
            "SLC cache: {} of {} in each plane, read {}, program {}",
            count(flash.slc.blocks.into(), "block"),
            count(flash.slc.pages(flash).into(), "page"),
            time(read.0),
            time(program.0)
        ));
    }
    DrawnNode::new("flash", lines, vec![DrawnNode::new("die", die, Vec::new())])
}

/// Which channels, chips or dies a member has.
fn territory(drive: &Resolved, index: u32) -> String {
    let flash = &drive.spec.flash;
    let dies = count(flash.dies_per_chip.into(), "die");
    let chips = count(flash.chips_per_channel.into(), "chip");
    let whole = [u64::from(flash.channels), flash.chips_per_channel.into(), flash.dies_per_chip.into()];
    let (level, parts) = match drive.inside().across {
        _ if drive.parts() == 1 => {
            return format!(
                "{}: {} × {chips} × {dies}",
                size(drive.physical_bytes()),
                count(whole[0], "channel")
            );
        }
        Across::Channel => ("channel", whole[0]),
        Across::Chip => ("chip", whole[0] * whole[1]),
        Across::Die => ("die", whole[0] * whole[1] * whole[2]),
    };
    let share = parts / u64::from(drive.parts());
    let first = share * u64::from(index);
    let which = match share {
        1 => format!("{level} {first}"),
        _ => format!("{level}s {first}–{}", first + share - 1),
    };
    let with = if share == 1 { "with" } else { "each with" };
    match drive.inside().across {
        Across::Channel => format!("{which} of {parts}, {with} {chips} × {dies}"),
        Across::Chip => format!("{which} of {parts}, {with} {dies}"),
        Across::Die => format!("{which} of {parts}"),
    }
}

/// `1 die`, `2 dies`.
fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Bytes, in the largest unit that they fill.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let step = (bytes.max(1).ilog2() / 10).min(5);
    format!("{} {}", round(bytes as f64 / (1u64 << (10 * step)) as f64), units[step as usize])
}

/// A time, in the largest unit that it fills.
/// The time of all pages, or from the quickest type of page to the slowest.
fn times(ns: &[u64]) -> String {
    match (ns.iter().min(), ns.iter().max()) {
        (Some(&least), Some(&most)) if least < most => format!("{} to {}", time(least), time(most)),
        _ => time(ns[0]),
    }
}

fn time(ns: u64) -> String {
    let (unit, name) = match ns {
        0..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {name}", round(ns as f64 / unit))
}

/// At most two digits after the point, and no trailing zeros.
fn round(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}
