//! Failures to inject, and when: `--fail WHAT@WHEN[,transient][,replace_after=TIME]`, and scenario files of
//! such events. Parts that are slow or stall for a while are in [`fail_slow`].

mod fail_slow;

pub use fail_slow::FailSlow;

use crate::config::Resolved;
use crate::drive::Fault;
use crate::error::Error;
use crate::flash::{Geometry, PlanePlace, StripingLevel};
use crate::kernel::{SimTime, Span};
use fail_slow::{Given, Kind};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// The part that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A part of the flash.
    Flash(Fault),
    /// A whole member of the redundancy in a drive.
    Member(u32),
    /// A whole member of an array ([`Event::path`]), or the whole drive.
    Whole,
    /// A whole lone disk.
    Disk,
    /// A page of a disk.
    DiskPage(u32),
    /// The non-volatile memory of the redundancy.
    Memory,
    /// The drive's power, which returns immediately.
    Power,
}

/// When it fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// At an instant.
    At(SimTime),
    /// When this many requests have been admitted.
    After(u64),
    /// When this percentage of the requests has been admitted.
    Share(f64),
    /// A member of an array when it refuses its first write because too few of its blocks have erases left; a part of its
    /// flash when that has been erased, on average, as often as `ftl.wear.erase_budget` says.
    Worn,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The user's text: `chip:3.0@10s`.
    pub text: String,
    /// The path of member numbers in an array; empty for a lone drive.
    pub path: Vec<u32>,
    /// The part that fails.
    pub what: What,
    /// When.
    pub when: When,
    /// Transient: its contents cannot be read, but it stays in use.
    pub transient: bool,
    /// The time after which an empty part replaces it.
    pub replace_after: Option<Span>,
    /// The part does not fail: it is slow or stalls for a while.
    pub fail_slow: Option<FailSlow>,
}

/// All events that a job asks for, in the order in which it names them.
///
/// # Errors
/// One that cannot be read or does not fit the drive: the option, or file, line and field.
pub fn events(fail: &[String], scenario: Option<&Path>, drive: &Resolved) -> Result<Vec<Event>, Error> {
    let mut events = Vec::new();
    for text in fail {
        let event = from_option(text, drive);
        events.push(event.map_err(|problem| Error::Option(format!("--fail {text}: {problem}")))?);
    }
    if let Some(path) = scenario {
        events.extend(from_file(path, drive)?);
    }
    if let Some(event) = events.iter().find(|event| event.when == When::Worn && !has_budget(event, drive)) {
        return Err(Error::Option(format!(
            "{} {}: `worn` for a part of a drive takes ftl.wear.erase_budget, which the drive does not have",
            if fail.is_empty() { "--scenario:" } else { "--fail" },
            event.text
        )));
    }
    Ok(events)
}

/// Whether the wear of the part that an event concerns is known.
fn has_budget(event: &Event, drive: &Resolved) -> bool {
    let wears = |drive: &Resolved| drive.spec.ftl.wear.erase_budget.is_some();
    event.what == What::Whole || drive.descendant(&event.path).is_some_and(wears)
}

fn from_option(text: &str, drive: &Resolved) -> Result<Event, String> {
    let mut parts = text.split(',');
    let head = parts.next().unwrap_or_default();
    let (what, when) = head.split_once('@').ok_or_else(|| {
        "WHAT@WHEN is accepted, such as chip:3.0@10s, block:0.0.0.0.7@5000req or channel:1@50%".to_owned()
    })?;
    let (kind, what) = Kind::of(what);
    let mut given = Given::default();
    for part in parts {
        match part.split_once('=') {
            None if part == "transient" => given.transient = true,
            Some(("replace_after", time)) => given.replace_after = Some(span(time)?),
            Some(("factor", factor)) => given.factor = Some(fail_slow::factor(factor)?),
            Some(("for", time)) => given.lasts = Some(span(time)?),
            _ => return Err(format!("found `{part}`; {}", kind.accepted())),
        }
    }
    let (path, part) = kind.part(what, drive)?;
    let event = Event {
        text: text.split(',').next().unwrap_or_default().to_owned(),
        path,
        what: part,
        when: self::when(when)?,
        transient: given.transient,
        replace_after: given.replace_after,
        fail_slow: kind.check(what, &given)?,
    };
    consistent(event)
}

/// The event of `WHAT[,transient][,replace_after=TIME]` at an instant.
///
/// # Errors
/// A message that says what is accepted.
pub fn at(what: &str, at: SimTime, drive: &Resolved) -> Result<Event, Error> {
    let event = from_option(&at_instant(what, at), drive);
    event.map_err(|problem| Error::Option(format!("{what}: {problem}")))
}

/// `WHAT@WHEN[,…]` of `WHAT[,…]` at an instant.
pub(crate) fn at_instant(what: &str, at: SimTime) -> String {
    let (part, rest) = what.split_at(what.find(',').unwrap_or(what.len()));
    format!("{part}@{}ns{rest}", at.0)
}

fn consistent(event: Event) -> Result<Event, String> {
    if event.fail_slow.is_some() && event.when == When::Worn {
        return Err("`worn` is for a permanent failure; a part becomes slow or stalls at a time (10s), after a number of \
                    requests (5000req) or a share of them (50%)"
            .into());
    }
    if event.what == What::Power && (event.transient || event.replace_after.is_some()) {
        return Err("the power returns immediately: only `power@WHEN` is accepted".into());
    }
    if event.transient && event.replace_after.is_some() {
        return Err(
            "a transient failure has no replacement: `transient` and `replace_after` exclude each other"
                .into(),
        );
    }
    let wears = matches!(event.what, What::Whole | What::Member(_) | What::Flash(_));
    if event.when == When::Worn && (!wears || event.transient) {
        return Err("`worn` is for a permanent failure of flash or of a member of an array, such as \
                    member:0@worn or chip:0.1@worn"
            .into());
    }
    Ok(event)
}

// ---------------------------------------------------------------- scenario files

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[serde(default)]
    event: Vec<Spanned<ScenarioEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioEntry {
    what: Spanned<String>,
    when: Spanned<String>,
    #[serde(default)]
    transient: bool,
    replace_after: Option<Spanned<String>>,
    factor: Option<Spanned<toml::Value>>,
    #[serde(rename = "for")]
    lasts: Option<Spanned<String>>,
}

fn from_file(path: &Path, drive: &Resolved) -> Result<Vec<Event>, Error> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::Option(format!("--scenario: {name}: cannot be read: {error}")))?;
    let line =
        |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count();
    let wrong = |at: usize, field: &str, problem: String| {
        Error::Option(format!("--scenario: {name}:{}: {field}: {problem}", line(at)))
    };
    let scenario: Scenario = toml::from_str(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let accepted = "a list of [[event]] with `what`, `when`, `transient` and `replace_after`, or `factor` \
                        and `for`, is accepted";
        wrong(at, "event", format!("{}; {accepted}", error.message()))
    })?;
    let mut events = Vec::new();
    for entry in scenario.event {
        let start = entry.span().start;
        let entry = entry.into_inner();
        let at = |field: &Spanned<String>| field.span().start;
        let (kind, text) = Kind::of(entry.what.get_ref());
        let (path, what) = kind.part(text, drive).map_err(|why| wrong(at(&entry.what), "what", why))?;
        let when = self::when(entry.when.get_ref()).map_err(|why| wrong(at(&entry.when), "when", why))?;
        let time = |field: &Option<Spanned<String>>, name: &str| match field {
            Some(time) => span(time.get_ref()).map(Some).map_err(|why| wrong(at(time), name, why)),
            None => Ok(None),
        };
        let factor = match &entry.factor {
            Some(factor) => Some(
                fail_slow::factor_in_file(factor.get_ref())
                    .map_err(|why| wrong(factor.span().start, "factor", why))?,
            ),
            None => None,
        };
        let given = Given {
            transient: entry.transient,
            replace_after: time(&entry.replace_after, "replace_after")?,
            factor,
            lasts: time(&entry.lasts, "for")?,
        };
        let fail_slow = kind.check(text, &given).map_err(|why| wrong(start, "event", why))?;
        let text = format!("{}@{}", entry.what.get_ref(), entry.when.get_ref());
        let (transient, replace_after) = (given.transient, given.replace_after);
        let event = Event { text, path, what, when, transient, replace_after, fail_slow };
        events.push(consistent(event).map_err(|why| wrong(start, "event", why))?);
    }
    if events.is_empty() {
        return Err(Error::Option(format!(
            "--scenario: {name}: no [[event]] in it; at least one is accepted"
        )));
    }
    Ok(events)
}

// ---------------------------------------------------------------- what and when

/// The levels that addresses name, and how many numbers each takes.
const LEVELS: [&str; 6] = ["channel", "chip", "die", "plane", "block", "page"];

/// Parses a part of a drive or an array: the path of members, and the part.
fn part(text: &str, drive: &Resolved) -> Result<(Vec<u32>, What), String> {
    let (mut drive, mut text, mut path) = (drive, text, Vec::new());
    while drive.is_array() {
        let (head, rest) = text.split_once('/').map_or((text, None), |(head, rest)| (head, Some(rest)));
        if head == "nvram" && rest.is_none() && drive.memory_pages() > 0 {
            return Ok((path, What::Memory));
        }
        if path.is_empty() && text == "power" {
            return Ok((path, What::Power));
        }
        let number = head.strip_prefix("member:").and_then(|number| number.parse::<u32>().ok());
        let Some(number) = number else {
            let memory = if drive.memory_pages() > 0 { ", nvram" } else { "" };
            return Err(format!(
                "found `{text}`; an array accepts member:M and member:M/WHAT{memory}, such as \
                 member:0/chip:1.0"
            ));
        };
        // Members of groups are counted over all groups.
        let group = drive.grouped.is_some().then(|| drive.array[0].array.len() as u32);
        let count = drive.array.len() as u32 * group.unwrap_or(1);
        if number >= count {
            return Err(format!("found `{head}`; the members of this array are 0 to {}", count - 1));
        }
        let numbers = group.map_or(vec![number], |group| vec![number / group, number % group]);
        let member = drive.descendant(&numbers).expect("a member");
        path.extend(numbers);
        match rest {
            None => return Ok((path, What::Whole)),
            Some("power") => return Err("a power loss affects the whole array: use `power@WHEN`".into()),
            Some(rest) => (drive, text) = (member, rest),
        }
    }
    let what = match drive.disk().map(|disk| disk.sectors() / disk.page_sectors()) {
        Some(pages) => of_disk(text, pages, path.is_empty())?,
        None => what(text, drive)?,
    };
    Ok((path, what))
}

/// Parses a part of a disk, which is alone or a member of an array.
fn of_disk(text: &str, pages: u64, alone: bool) -> Result<What, String> {
    let page = text.strip_prefix("page:").and_then(|number| number.parse().ok());
    match (text, page) {
        ("disk", _) if alone => Ok(What::Disk),
        ("power", _) if alone => Ok(What::Power),
        (_, Some(page)) if u64::from(page) < pages => Ok(What::DiskPage(page)),
        (_, Some(_)) => Err(format!("`{text}`: this disk has pages 0 to {}", pages - 1)),
        _ if alone => Err(format!("found `{text}`; of a disk, `disk`, page:N and power are accepted")),
        _ => Err(format!("found `{text}`; of a disk in an array, member:M and member:M/page:N are accepted")),
    }
}

fn what(text: &str, drive: &Resolved) -> Result<What, String> {
    let accepted = || {
        format!(
            "found `{text}`; channel:C, chip:C.K, die:C.K.D, plane:C.K.D.P, block:C.K.D.P.B, page:C.K.D.P.B.N, \
             member:M, nvram and power are accepted"
        )
    };
    if text == "power" {
        return Ok(What::Power);
    }
    if text == "nvram" {
        let has = drive.memory_pages() > 0;
        return has.then_some(What::Memory).ok_or_else(|| {
            format!("found `nvram`, but redundancy.scheme = \"{}\" has no such memory", drive.scheme().name)
        });
    }
    let (level, address) = text.split_once(':').ok_or_else(accepted)?;
    let numbers: Option<Vec<u32>> = address.split('.').map(|number| number.parse().ok()).collect();
    let numbers = numbers.ok_or_else(accepted)?;
    if level == "member" && numbers.len() == 1 {
        let members = drive.members();
        let known = numbers[0] < members;
        let message = || format!("found `{text}`; the members of this drive are 0 to {}", members - 1);
        return known.then_some(What::Member(numbers[0])).ok_or_else(message);
    }
    let depth = LEVELS.iter().position(|&known| known == level).ok_or_else(accepted)?;
    if numbers.len() != depth + 1 {
        return Err(accepted());
    }
    let f = &drive.spec.flash;
    let counts = [
        f.channels,
        f.chips_per_channel,
        f.dies_per_chip,
        f.planes_per_die,
        f.blocks_per_plane.saturating_add(f.slc.blocks),
        pages_of(drive, numbers.get(4).copied().unwrap_or(0)),
    ];
    for (at, (&number, count)) in numbers.iter().zip(counts).enumerate() {
        if number >= count {
            let level = LEVELS[at];
            return Err(format!("{level} {number} of `{text}`: this drive has {level}s 0 to {}", count - 1));
        }
    }
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let place = PlanePlace { channel: number(0), chip: number(1), die: number(2), plane: number(3) };
    let (geometry, pools) = (Geometry::new(&drive.pooled_flash()), drive.pools());
    let (first, block) = pools.block_at(&geometry, place, number(4));
    Ok(match depth {
        4 => What::Flash(Fault::Block(first, block)),
        5 => What::Flash(Fault::Page(geometry.ppn(first, block, number(5)))),
        _ => What::Flash(Fault::of(&geometry, pools, StripingLevel::ALL[depth], place)),
    })
}

/// Logical pages of a block, which may be one with one bit per cell.
fn pages_of(drive: &Resolved, block: u32) -> u32 {
    let flash = &drive.spec.flash;
    if block < flash.blocks_per_plane { drive.block_pages() } else { flash.slc.pages(flash) * drive.places() }
}

fn when(text: &str) -> Result<When, String> {
    let accepted = || {
        format!(
            "found `{text}`; a simulated time (10s, 250ms, 30us), a number of requests (5000req), a share \
             of them (50%), or `worn` (when it has reached the end of its life) is accepted"
        )
    };
    if text == "worn" {
        return Ok(When::Worn);
    }
    if let Some(number) = text.strip_suffix("req") {
        return number.parse().map(When::After).map_err(|_| accepted());
    }
    if let Some(share) = text.strip_suffix('%') {
        let share: f64 = share.parse().map_err(|_| accepted())?;
        let sound = (0.0..=100.0).contains(&share);
        return sound.then_some(When::Share(share)).ok_or_else(accepted);
    }
    span(text).map(|span| When::At(SimTime(span.0))).map_err(|_| accepted())
}

/// A time such as `10s`, `250ms`, `30us` or `5ns`; `h` and `d` are hours and days.
///
/// # Errors
/// A message that says what is accepted.
pub fn span(text: &str) -> Result<Span, String> {
    // Events of recorded sessions are exact.
    if let Some(ns @ 0..9_000_000_000_000_000_000) = text.strip_suffix("ns").and_then(|ns| ns.parse().ok()) {
        return Ok(Span(ns));
    }
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("h", 3_600e9), ("d", 86_400e9)];
    let found = units.iter().find_map(|(unit, ns)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        let time = number * ns;
        (time.is_finite() && (0.0..9e18).contains(&time)).then(|| Span(time.round() as u64))
    });
    found.ok_or_else(|| format!("found `{text}`; a time such as 10s, 250ms, 30us or 30d is accepted"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_text;

    pub(super) fn drive() -> Resolved {
        let text = "[flash]\nchannels = 4\nchips_per_channel = 2\ndies_per_chip = 2\nplanes_per_die = 2\n";
        load_text("d.toml", text, &["redundancy.scheme=\"mirror\"".to_owned()]).expect("a drive")
    }

    #[test]
    fn events_are_read() {
        let drive = drive();
        let geometry = Geometry::new(&drive.spec.flash);
        let plane = |channel, chip, die, plane| geometry.plane_at(PlanePlace { channel, chip, die, plane });
        let planes = |first, count| What::Flash(Fault::Planes { first, count });
        let read = |text: &str| from_option(text, &drive).expect("an event");
        let event = read("channel:1@10s");
        assert_eq!(
            (event.what, event.when),
            (planes(plane(1, 0, 0, 0), 8), When::At(SimTime(10_000_000_000)))
        );
        assert_eq!(read("chip:3.1@2.5ms").what, planes(plane(3, 1, 0, 0), 4));
        assert_eq!(read("die:3.1.1@5000req").what, planes(plane(3, 1, 1, 0), 2));
        assert_eq!(read("plane:0.0.0.1@0s").what, planes(plane(0, 0, 0, 1), 1));
        assert_eq!(read("block:0.0.0.1.77@5000req").when, When::After(5000));
        assert_eq!((read("power@50%").what, read("power@50%").when), (What::Power, When::Share(50.0)));
        let event = read("page:3.0.1.0.77.5@50%,transient");
        assert_eq!(event.what, What::Flash(Fault::Page(geometry.ppn(plane(3, 0, 1, 0), 77, 5))));
        assert_eq!((event.when, event.transient), (When::Share(50.0), true));
        assert_eq!(read("member:1@1s,replace_after=20s").replace_after, Some(Span(20_000_000_000)));
    }

    #[test]
    fn a_pool_fails_as_a_whole_or_in_part() {
        let text = "[flash]\nchannels = 2\ndies_per_chip = 2\nplanes_per_die = 2\nbusy_unit = 'chip'\n[ftl]\npool = 'element'\n";
        let drive = load_text("d.toml", text, &[]).expect("a drive");
        let (geometry, pools) = (Geometry::new(&drive.pooled_flash()), drive.pools());
        let read = |text: &str| from_option(text, &drive);
        assert_eq!(
            read("chip:1.0@1s").unwrap().what,
            What::Flash(Fault::Planes { first: crate::flash::PlaneId(4), count: 1 })
        );
        let What::Flash(Fault::Block(pool, block)) = read("block:1.0.1.0.77@1s").unwrap().what else {
            panic!("a block")
        };
        let (place, number) = pools.place(&geometry, geometry.ppn(pool, block, 0));
        assert_eq!((place, number), (PlanePlace { channel: 1, chip: 0, die: 1, plane: 0 }, 77));
        // Four planes take turns.
        for (part, blocks) in [("die:1.0.1@1s", vec![2, 3, 6, 7]), ("plane:1.0.1.0@1s", vec![2, 6])] {
            let What::Flash(fault) = read(part).unwrap().what else { panic!("flash") };
            assert_eq!(fault.planes(&geometry), 4..5, "{part}");
            assert_eq!(fault.blocks(&geometry).take(blocks.len()).collect::<Vec<u32>>(), blocks, "{part}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let drive = drive();
        for (text, part) in [
            ("chip:3.0", "WHAT@WHEN"),
            ("chip:4.0@1s", "channel 4 of `chip:4.0`: this drive has channels 0 to 3"),
            ("chip:3@1s", "chip:C.K"),
            ("chop:3@1s", "channel:C"),
            ("chip:3.0@1", "a simulated time"),
            ("chip:3.0@-1s", "a simulated time"),
            ("chip:3.0@101%", "50%"),
            ("chip:3.0@5req,gently", "`transient`"),
            ("power@worn", "`worn` is for"),
            ("chip:0.0@1s,transient,replace_after=1s", "exclude"),
            ("member:2@1s", "0 to 1"),
            ("nvram@1s", "no such memory"),
            ("power@1s,transient", "the power returns immediately"),
            ("power@1s,replace_after=1s", "the power returns immediately"),
            ("power", "WHAT@WHEN"),
        ] {
            let message = from_option(text, &drive).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
        let message = events(&["chip:0.0@worn".to_owned()], None, &drive).expect_err("no budget").to_string();
        assert!(message.contains("ftl.wear.erase_budget"), "{message}");
    }

    #[test]
    fn parts_of_disks_fail() {
        let disk = load_text("d.toml", "[disk]\ncapacity_gb = 0.02\n", &[]).expect("a disk");
        let read = |text: &str| from_option(text, &disk);
        assert_eq!(read("disk@1s").expect("it").what, What::Disk);
        assert_eq!(read("page:100@50%,transient").expect("a page").what, What::DiskPage(100));
        assert_eq!(read("power@1s").expect("its power").what, What::Power);
        for (text, part) in [("page:9999999@1s", "has pages 0 to"), ("chip:0.0@1s", "of a disk, `disk`")] {
            assert!(read(text).expect_err(text).contains(part), "{text}");
        }
    }
}
