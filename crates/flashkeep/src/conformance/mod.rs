//! The conformance suite: what every redundancy scheme must keep, for any failures of its members. It checks what a
//! scheme declares by injecting failures, replacements and power cuts at every step of random histories, with an oracle
//! of the contents of every page and audits of the state of the flash.
//!
//! [`CHECKS`] is the table. The tests run all of it on the schemes of the table in `schemes`, `flashkeep conformance` on
//! schemes from files.

mod arrays;
mod bed;
mod bench;
mod inside;
mod maps;
mod power;
mod table;

use crate::engine::Verb;
use crate::kernel::Random;
use crate::schemes::{Reads, SCHEMES, SchemeEntry, TriedWith};
use bed::TestDevices;
use bench::Bench;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
pub use table::{CHECKS, Check};

/// Where the suite puts the drive files of which it makes arrays.
#[derive(Clone, Debug)]
pub struct Suite {
    folder: Arc<Path>,
}

/// Reads around busy parts.
const AROUND: &str = "around-busy";

/// Other ways to read than `plain`: the percentile is low, so that many reads are done twice.
const READ: [&str; 2] = [AROUND, "hedge=p50"];

impl Suite {
    /// The suite with its drive files in this folder, which exists.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn new(folder: &Path) -> std::io::Result<Suite> {
        for (name, text) in arrays::drive_files() {
            std::fs::write(folder.join(format!("{name}.toml")), text)?;
        }
        Ok(Suite { folder: folder.into() })
    }

    /// A scheme of the table with each of the parameters that it declares, the first ones first; with these again, once for
    /// each other way to read that it has.
    pub fn tried(&self, entry: &'static SchemeEntry) -> impl Iterator<Item = Tried> + use<> {
        let folder = self.folder.clone();
        let first = entry.tried_with.iter().take(usize::from(entry.has::<Reads>()));
        let chosen = first.flat_map(|&with| READ.map(|read| (with, Some(read))));
        let all = entry.tried_with.iter().map(|&with| (with, None)).chain(chosen);
        all.map(move |(with, read)| Tried { entry, with, file: None, read, folder: folder.clone() })
    }

    /// A scheme in a file, with as many members as it accepts: five, and some other number.
    ///
    /// # Errors
    /// An error in the file.
    pub fn in_file(&self, path: &str) -> Result<Vec<Tried>, String> {
        let entry = SCHEMES.iter().find(|entry| entry.file.is_some()).expect("the scheme of files");
        let tried = |members| Tried {
            entry,
            with: TriedWith { parts: members, drives: members, disks: 0, set: &[] },
            file: Some(path.into()),
            read: None,
            folder: self.folder.clone(),
        };
        let mut refused = None;
        let mut accepted = Vec::new();
        for tried in MEMBERS.map(tried) {
            match (entry.check)(tried.with.parts, &arrays::spec(&tried)) {
                Ok(()) => accepted.push(tried),
                Err(why) => refused = refused.or(Some(why.message)),
            }
        }
        accepted.truncate(2);
        match refused.filter(|_| accepted.is_empty()) {
            None => Ok(accepted),
            Some(why) => Err(why),
        }
    }
}

/// Numbers of members with which a scheme in a file is tried, the first two that it accepts.
const MEMBERS: [u32; 5] = [5, 3, 2, 4, 6];

/// A scheme and the parameters with which it is tried.
#[derive(Clone, Debug)]
pub struct Tried {
    entry: &'static SchemeEntry,
    /// The file of the scheme, if it is in one.
    file: Option<Arc<str>>,
    /// Members and options.
    pub with: TriedWith,
    /// How it reads pages that can be read in several ways, if that is not `plain`; where reads go around busy parts, members
    /// collect in turns.
    pub read: Option<&'static str>,
    folder: Arc<Path>,
}

impl Tried {
    /// Of these failures, those that are tried at a step. Each has its turn every few steps; a scheme in a file is tried with
    /// more of them.
    fn in_turn<'a, T>(&self, failures: &'a [T], step: u32) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let at_a_step = if self.file.is_some() { 6 } else { 1 };
        let every = failures.len().div_ceil(at_a_step).max(1);
        failures.iter().skip(step as usize % every).step_by(every)
    }

    /// Its options inside a drive, or over drives.
    fn set(&self, over_drives: bool, more: &[&str]) -> Vec<String> {
        let mut set = vec![format!("redundancy.scheme=\"{}\"", self.name)];
        let examples = self.examples(over_drives);
        set.extend(examples.into_iter().map(|(key, value)| format!("redundancy.{key}={value}")));
        let own = self.with.set.iter().filter(|pair| !over_drives || pair.starts_with("redundancy."));
        set.extend(own.chain(more).map(|&pair| pair.to_owned()));
        set.extend(self.read.map(|read| format!("redundancy.read=\"{read}\"")));
        if self.read == Some(AROUND) && !over_drives {
            set.push("ftl.gc.turn_ms=2".into());
        }
        set.extend(self.file.iter().map(|path| format!("redundancy.file={}", Value::from(&**path))));
        set
    }

    /// The number of parts of a drive that may fail.
    fn survives(&self) -> u32 {
        self.survives_of(self.with.parts)
    }

    /// How many of the members may fail.
    fn survives_of(&self, members: u32) -> u32 {
        self.entry.survivable(members, &arrays::spec(self))
    }
}

impl Deref for Tried {
    type Target = SchemeEntry;

    fn deref(&self) -> &SchemeEntry {
        self.entry
    }
}

impl Display for Tried {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            return write!(f, "{file} ({} members)", self.with.parts);
        }
        let read = self.read.map(|read| format!(", read {read}")).unwrap_or_default();
        write!(
            f,
            "{} ({} parts, {} drives, {:?}{read})",
            self.name, self.with.parts, self.with.drives, self.with.set
        )
    }
}

/// A small drive: `channels` of one chip.
fn small(channels: u32, planes: u32) -> String {
    format!(
        "[flash]\nchannels = {channels}\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = {planes}\n\
         blocks_per_plane = 12\npages_per_block = 4\npage_kib = 4\n[ftl]\nover_provisioning = 0.8\n\
         [ftl.gc]\nthreshold = 0.1\n"
    )
}

/// A random history: the same for the same seed, however often it is run. Stops after `until` instants.
fn history<H: TestDevices>(bench: &mut Bench<H>, seed: u64, commands: u32, until: u32) {
    history_seen(bench, seed, commands, until, |_| ());
}

/// The same, and `seen` gets the bench after the first command and after each instant. Each trial at a step of a
/// history runs on a copy of it ([`Bench::copy`]); to run the history again would take the square of its length.
fn history_seen<H: TestDevices>(
    bench: &mut Bench<H>,
    seed: u64,
    commands: u32,
    until: u32,
    mut seen: impl FnMut(&Bench<H>),
) {
    let mut random = Random::stream(seed, "history");
    let pages = u64::from(bench.pages());
    // A part of the pages is written again and again, so that there is something to collect.
    for n in 0..commands {
        let hot = random.below(3) > 0;
        let page = random.below(if hot { pages.min(24) } else { pages }) as u32;
        let count = 1 + random.below(6) as u16;
        match random.below(10) {
            0 => bench.submit(Verb::Trim, page, count),
            1..4 => bench.submit(Verb::Read, page, count),
            _ => bench.submit(Verb::Write, page, count),
        }
        if n == 0 {
            seen(bench);
        }
        let pause = random.below(4);
        for _ in 0..if n % 16 == 15 { 40 } else { pause } {
            if bench.steps >= until || !bench.step() {
                break;
            }
            seen(bench);
        }
        if bench.steps >= until {
            return;
        }
    }
    while bench.steps < until && bench.step() {
        seen(bench);
    }
}

/// All sets of `size` members.
fn sets(members: u32, size: u32) -> Vec<Vec<u32>> {
    if size == 0 {
        return vec![vec![]];
    }
    let smaller = sets(members, size - 1);
    let grown = smaller.iter().flat_map(|set| {
        let next = set.last().map_or(0, |&last| last + 1);
        (next..members).map(|member| set.iter().copied().chain([member]).collect())
    });
    grown.collect()
}

/// After a failure, all lost pages were declared exposed, and have not been written since.
fn check_losses<H: TestDevices>(
    bench: &mut Bench<H>,
    exposed: &BTreeSet<u32>,
    before: &[usize],
    what: &str,
) -> BTreeSet<u32> {
    bench.run();
    let lost = bench.read_all();
    for &page in &lost {
        let written_since = bench.versions()[page as usize] > before[page as usize];
        assert!(exposed.contains(&page) && !written_since, "{what}: page {page} was lost and not exposed");
    }
    lost
}

/// Every page is written three times over, while some of it is carried out, and is there.
fn fill<H: TestDevices>(bench: &mut Bench<H>, what: &str) {
    for round in 0..3 {
        for page in 0..bench.pages() {
            bench.submit(Verb::Write, page, 1);
            if (page + round) % 3 == 0 {
                bench.step();
            }
        }
    }
    bench.run();
    assert!(bench.read_all().is_empty(), "{what}");
    assert!((0..bench.pages()).all(|page| bench.place(page).is_some()), "{what}: places");
    bench.audit();
}
