//! # What it does
//! Asks the class `Scheme` of the Python file `redundancy.file` (a path, relative to the working directory). The class
//! says where each page is (`places`), which pages and parities protect each other (`codewords`), and what a command
//! reads and writes, in stages (`plan`). Parity arithmetic, the order of commands, which pages are missing, repairs,
//! rebuilds and recovery after a power loss follow from that, as for other schemes. docs/extending.md is a tutorial;
//! examples/schemes has a mirror and a RAID-5. `flashkeep conformance FILE` tries a file.
//!
//! Every answer is checked; a wrong one ends the run with the file, the method, the page and what is accepted. What the
//! object keeps in its attributes is in volatile memory: a power loss and a saved drive begin with a new object.
//!
//! # What it costs
//! What its plans read and write; and in real time a call of Python per command: 3 µs for a mirror, 20 µs for RAID-5.
//!
//! # What it survives
//! With copies all of them but one, with parity as many units as a codeword has parities.
//!
//! # Example
//! `flashkeep run 8CM-64,redundancy.scheme=python,redundancy.file=examples/schemes/raid5.py,redundancy.across=chip
//! synth:random,requests=10k`
//!
//! # Source
//! Ours.

mod foreign;
mod layout;
mod plan;

pub use foreign::{
    ForeignCodeword, ForeignCommand, ForeignError, ForeignLoader, ForeignPlace, ForeignScheme, ForeignStep,
    ForeignView, LoadScheme, load_schemes_with,
};

use super::doubts::Doubts;
use super::parity::{PlacedStripe, RecoveredUnits, Settling, UnitSet};
use super::{
    Inside, MemberFacts, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry, SchemeOptions, Striping,
    Sums, TriedWith, WrongOption, members, members::MemberNeeds,
};
use crate::engine::{
    BackgroundWork, Capabilities, Change, Codewords, Command, FixedMap, Key, Lock, Member, Page, Plan,
    PlanVerdict, Protection, Recoverable, Role, Scheme, StripeUnit, Verb, View,
};
use crate::kernel::Bits;
use foreign::LoadedFile;
use layout::Layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "python",
    summary: "the scheme that a class in the Python file redundancy.file describes",
    source: include_str!("python.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<FileOptions>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: |parts, width, level| members::row(parts, width, level, ROW),
    data_members: Some(|members, redundancy| {
        first_look(members, redundancy).map_or(1, |layout| u32::from(layout.data.max(1)))
    }),
    capacity: Some(|each, members, redundancy| capacity(each, members, redundancy).unwrap_or(0)),
    check: |members, redundancy| match tried(members, redundancy) {
        Ok(_) => Ok(()),
        Err(message) => {
            let named = redundancy.read::<FileOptions>().file.is_some();
            Err(WrongOption { key: if named { FILE } else { "redundancy.scheme" }, message })
        }
    },
    survives_with: Some(|members, redundancy| {
        first_look(members, redundancy).map_or(0, |layout| u32::from(layout.survives()))
    }),
    over_drives,
    follows_load: |redundancy| {
        // Any number of members that the class accepts.
        (2..10)
            .find_map(|members| first_look(members, redundancy).ok())
            .is_some_and(|layout| layout.follows_load)
    },
    file: Some(|redundancy| redundancy.read::<FileOptions>().file),
    tried_with: &[
        TriedWith {
            parts: 2,
            drives: 3,
            set: &["redundancy.file=\"examples/schemes/mirror.py\""],
            ..TriedWith::BASE
        },
        TriedWith { set: &["redundancy.file=\"examples/schemes/raid5.py\""], ..TriedWith::BASE },
    ],
    ..SchemeEntry::BASE
};

/// The key of the file.
const FILE: &str = "redundancy.file";

const ROW: MemberNeeds = MemberNeeds { name: "scheme", least: 2, why: "so that one can fail" };

/// The file of the class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct FileOptions {
    /// With `scheme = "python"`: the Python file with the class `Scheme`, relative to the working directory.
    #[schemars(extend("examples" = ["examples/schemes/mirror.py", "examples/schemes/raid5.py"]))]
    file: Option<String>,
}

/// Rows of chunks over which a scheme is tried before it is built.
const ROWS: u64 = 12;

/// The layout over this small number of members, all of whose pages have been examined.
fn tried(members: u32, redundancy: &RedundancySpec) -> Result<Layout, String> {
    let file = load(redundancy, members, ROWS, 1).map_err(|error| error.message)?;
    let words = |file: &LoadedFile, error| file.in_words(&error);
    let layout = Layout::of(&file).map_err(|error| words(&file, error))?;
    let file = file.keeping(layout.kept());
    layout.look_at_all(&file).map_err(|error| words(&file, error))?;
    Ok(layout)
}

/// The layout over this small number of members, as its first page has it.
fn first_look(members: u32, redundancy: &RedundancySpec) -> Result<Layout, ForeignError> {
    Layout::of(&load(redundancy, members, ROWS, 1)?)
}

/// The object over this number of members.
fn load(
    redundancy: &RedundancySpec,
    members: u32,
    pages: u64,
    unit: u32,
) -> Result<LoadedFile, ForeignError> {
    match redundancy.read::<FileOptions>().file {
        Some(path) => LoadedFile::load(&path, members as u8, pages, unit),
        None => {
            Err(ForeignError::new("\"python\" needs redundancy.file, the Python file with the class Scheme"))
        }
    }
}

fn capacity(each: u64, members: u32, redundancy: &RedundancySpec) -> Result<u64, String> {
    let file = load(redundancy, members, each, 1).map_err(|error| error.message)?;
    Layout::capacity(&file).map_err(|error| file.in_words(&error))
}

fn over_drives(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let number = members::row(members.len() as u64, None, "member", ROW)?;
    tried(number, redundancy)?;
    capacity(members::common_pages(members), number, redundancy)
}

/// A scheme in a Python file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Python {
    layout: Layout,
    /// With parity: pages that are not known zeros.
    written: Bits,
    /// What plans in progress will change, by stripe.
    settling: FixedMap<u32, Settling>,
    /// With copies: those that may be unreadable.
    doubts: Doubts,
    /// The object; a state that was loaded takes that of the scheme that was built.
    #[serde(skip)]
    file: Option<LoadedFile>,
    /// The stripe, or without parity the page, of each page of a member. Made when it is first needed, which is when
    /// something fails.
    #[serde(skip)]
    index: OnceLock<FixedMap<(u8, u32), u32>>,
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Python {
    let (members, pages) = (u32::from(options.members), options.member_pages);
    let path = options.redundancy.read::<FileOptions>().file.unwrap_or_default();
    let file = load(options.redundancy, members, pages, options.unit_pages)
        .unwrap_or_else(|error| foreign::fail(&path, error));
    let layout = Layout::of(&file).unwrap_or_else(|error| file.fail(error));
    Python {
        layout,
        written: Bits::default(),
        settling: FixedMap::default(),
        doubts: Doubts::default(),
        file: Some(file.keeping(layout.kept())),
        index: OnceLock::new(),
    }
}

impl Python {
    /// A state that was loaded continues with the object of the scheme that was built.
    pub(super) fn adopt_policies(&mut self, built: &Python) {
        self.file.clone_from(&built.file);
    }

    fn file(&self) -> &LoadedFile {
        self.file.as_ref().expect("a scheme that was built or loaded has its file")
    }

    /// Data units of a stripe; 0 without parity.
    fn data(&self) -> u32 {
        u32::from(self.layout.data)
    }

    /// The places of a stripe's units.
    fn placed(&self, stripe: u32) -> PlacedStripe {
        self.layout.stripe(self.file(), stripe).unwrap_or_else(|error| self.file().fail(error))
    }

    fn copies(&self, page: Page) -> Vec<(Member, Page)> {
        self.layout.copies(self.file(), page.low()).unwrap_or_else(|error| self.file().fail(error))
    }

    /// Data units of a stripe that are in a set of pages.
    fn units_in(&self, pages: &Bits, stripe: u32) -> UnitSet {
        UnitSet::of(pages, stripe * self.data(), self.layout.data)
    }

    /// From now on these units are no known zeros, or are.
    fn mark(&mut self, stripe: u32, units: UnitSet, present: bool) {
        let first = stripe * self.data();
        units.for_each(|index| _ = self.written.set(first + u32::from(index), present));
    }

    /// The stripe of a member's page, or without parity the page that it is a copy of.
    fn at(&self, member: Member, page: Page) -> Option<u32> {
        let index = self.index.get_or_init(|| {
            self.layout.look_at_all(self.file()).unwrap_or_else(|error| self.file().fail(error))
        });
        index.get(&(member.0, page.low())).copied()
    }
}

impl Scheme for Python {
    fn capacity(&self) -> u64 {
        self.layout.pages
    }

    fn capabilities(&self) -> Capabilities {
        let copies = self.layout.data == 0;
        Capabilities { passes_parts: copies, stateless: copies, ..Capabilities::default() }
    }

    /// Stripes; or for copies single pages where each read affects which copy of the next page is less busy.
    fn grain(&self, verb: Verb) -> u32 {
        match self.layout.data {
            0 if verb == Verb::Read && self.layout.follows_load => 1,
            0 => u32::MAX,
            data => u32::from(data),
        }
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        if u64::from(page.low()) < self.layout.pages {
            self.copies(page).into_iter().for_each(|(member, page)| tell(member, page));
        }
    }

    fn protection(&self) -> Protection<'_> {
        if self.layout.data == 0 { Protection::Copies } else { Protection::Stripes(self) }
    }

    /// Not worth calls of Python.
    fn prefetch(&self, _: Page, _: impl FnMut(Member, Page)) {}

    /// As for other schemes with parity: an update holds its stripe until it is durable, and reads wait for it.
    fn lock(&self, command: &Command) -> Lock {
        if self.layout.data == 0 {
            return Lock::Free;
        }
        let key = Key(u64::from(command.start.low() / self.data()));
        if command.verb == Verb::Read { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let planned = if self.layout.data == 0 {
            self.plan_copies(command, view, plan)
        } else {
            self.plan_stripe(command, view, plan)
        };
        planned.unwrap_or_else(|error| self.file().fail(error));
        PlanVerdict::Go
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let at = self.at(member, page)?;
        if self.layout.data == 0 {
            return Some(Page::of(at));
        }
        let placed = self.placed(at);
        let index = placed.data.iter().position(|&place| place == (member, page))?;
        Some(Page(placed.first + index as u64))
    }

    fn member(&mut self, member: Member, change: Change, view: &View<'_>) {
        match change {
            Change::Unreadable(place) if self.layout.data == 0 => {
                let Some(page) = self.owner(member, place) else { return };
                let index = self.index.get().into_iter().flatten();
                let mut copies: Vec<(Page, Page)> = index
                    .filter(|((of, _), _)| *of == member.0)
                    .map(|(&(_, place), &page)| (Page::of(page), Page::of(place)))
                    .collect();
                copies.sort_unstable();
                self.doubts.doubt(member, page, copies.into_iter(), view);
            }
            Change::Failed | Change::Replaced | Change::Returned => self.doubts.forget(member),
            Change::Unreadable(_)
            | Change::Damaged(_)
            | Change::Lacking(_)
            | Change::Refused(_)
            | Change::Retired(_) => {}
        }
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        if let Some(settling) = self.settling.remove(&(key.0 as u32)) {
            self.mark(key.0 as u32, settling.touched, !settling.trims);
        }
    }
}

impl BackgroundWork for Python {}

impl Recoverable for Python {
    /// A new object, and the known zeros as the spare areas have them.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        let anew = self.file().anew().unwrap_or_else(|error| self.file().fail(error));
        (self.file, self.doubts) = (Some(anew), Doubts::default());
        if self.layout.data == 0 {
            return;
        }
        let mut owed = std::mem::take(&mut self.written);
        if view.is_healthy() {
            owed = Bits::default();
        }
        let settling = std::mem::take(&mut self.settling);
        #[allow(clippy::iter_over_hash_type)] // The order does not matter.
        for (stripe, settling) in settling.into_iter().filter(|(_, settling)| settling.trims) {
            let first = stripe * self.data();
            settling.touched.for_each(|index| _ = owed.set(first + u32::from(index), false));
        }
        let lost = view.lost().cloned().unwrap_or_default();
        for stripe in 0..self.count() {
            let (owed, lost) = (self.units_in(&owed, stripe), self.units_in(&lost, stripe));
            let units = RecoveredUnits { owed, lost, zeros: UnitSet::default() };
            let written = self.placed(stripe).recover(units, view, lacks);
            self.mark(stripe, written, true);
        }
    }
}

impl Codewords for Python {
    fn count(&self) -> u32 {
        (self.layout.pages / u64::from(self.layout.data.max(1))) as u32
    }

    fn data(&self) -> u8 {
        self.layout.data
    }

    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        let written = self.units_in(&self.written, stripe);
        if written.is_empty() {
            return;
        }
        let placed = self.placed(stripe);
        written.for_each(|index| {
            let (member, page) = placed.data[usize::from(index)];
            tell(StripeUnit { member, page, role: Role::Data(index) });
        });
        placed.parities.iter().for_each(|&(role, (member, page))| tell(StripeUnit { member, page, role }));
    }

    fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        self.at(member, page)
    }
}
