//! # What it does
//! Chained declustering: writes every page twice, to one member and to the member `redundancy.chain_offset`
//! places further, cyclically. One half of each member holds first copies, the other half second copies. A
//! read goes to the `first` copy, to both `in-turn`, or to the one whose die and channel are free soonest
//! (`redundancy.chain_read`). A member that was replaced or came back is rebuilt page by page from the other
//! copies, at the pace of `redundancy.rebuild_share`.
//!
//! # What it costs
//! Half of the flash, for any number of members, and two programs per page.
//!
//! # What it survives
//! Any one of the units it runs over. If one has failed, both of its neighbours have the other copies and
//! share its reads; in a mirrored pair one member would take them all.
//!
//! # Example
//! `flashkeep compare synth:random,requests=20k 8CM-64 --set redundancy.scheme=chained --set
//! redundancy.across=chip`
//!
//! # Source
//! Hsiao and DeWitt, "Chained declustering: A new availability strategy for multiprocessor database
//! machines", ICDE 1990. There the second copy is on the next member, and the query optimiser balances reads;
//! the offset and the three read policies are ours.

use super::copied::CopiedPages;
use super::{
    Inside, MemberFacts, MemberTerms, OptionsPart, Reads, Rebuilds, RedundancySpec, SchemeEntry,
    SchemeOptions, Striping,
};
use super::{PageNumbers, Terms, TriedWith, WrongOption, members, members::MemberNeeds};
use crate::engine::{
    BackgroundWork, Capabilities, Cause, Command, Member, Page, Plan, PlanVerdict, Protection, Recoverable,
    Scheme, Step, Verb, View,
};
use crate::figures;
use crate::figures::{Reported, unit};
use crate::kernel::Bits;
use flashkeep_errors::stripe::Stripe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: SchemeEntry = SchemeEntry {
    name: "chained",
    summary: "chained declustering: every page on two members, a fixed distance apart",
    source: include_str!("chained.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Striping>(),
        OptionsPart::of::<ChainedOptions>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: |parts, width, level| members::row(parts, width, level, CHAIN),
    check,
    capacity: Some(|each, members, redundancy| ChainedLayout::new(each, members, 1, redundancy).pages()),
    stripe: Some(|_, _| Stripe { others: 1, spare: 0 }),
    numbers: PageNumbers::Wide,
    over_drives,
    survives: |_| 1,
    follows_load: |redundancy| redundancy.read::<ChainedOptions>().chain_read == ChainRead::LeastBusy,
    formula,
    figures: Some(ChainedFigures::shape),
    tried_with: &[
        TriedWith { parts: 3, drives: 3, ..TriedWith::BASE },
        TriedWith {
            parts: 4,
            drives: 4,
            set: &["redundancy.chain_offset=2", "redundancy.chain_read=\"in-turn\""],
            ..TriedWith::BASE
        },
        TriedWith {
            parts: 5,
            drives: 5,
            set: &["redundancy.chain_read=\"least-busy\"", "ftl.over_provisioning=0.9"],
            ..TriedWith::BASE
        },
    ],
    ..SchemeEntry::BASE
};

const CHAIN: MemberNeeds = MemberNeeds {
    name: "chain",
    least: 3,
    why: "so that a page's copies are not all that its members share",
};

/// Options of `chained`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct ChainedOptions {
    /// The second copy of a page is this many members further; less than there are members.
    #[schemars(range(min = 1, max = 254), extend("examples" = [1, 2]))]
    chain_offset: u32,
    /// Which copy is read: the `first`, both `in-turn`, or the `least-busy` one.
    #[schemars(extend("examples" = ["first", "in-turn"]))]
    chain_read: ChainRead,
}

impl Default for ChainedOptions {
    fn default() -> Self {
        ChainedOptions { chain_offset: 1, chain_read: ChainRead::First }
    }
}

/// Which copy is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ChainRead {
    /// The first copy.
    #[default]
    First,
    /// First and second copies in turn.
    InTurn,
    /// The copy whose die and channel are free soonest.
    LeastBusy,
}

figures! {
    /// Figures of chained declustering.
    struct ChainedFigures {
        /// Pages that the host read from their second copy.
        second_copy_reads: u64 => unit("pages").row("read from second copies, pages"),
    }
}

/// Refuses an offset that leads back to the first copy, or further round.
fn check(members: u32, redundancy: &RedundancySpec) -> Result<(), WrongOption> {
    let offset = redundancy.read::<ChainedOptions>().chain_offset;
    if offset < members {
        return Ok(());
    }
    let message = format!("{offset} with {members} members: 1 to {} are accepted", members - 1);
    Err(WrongOption { key: "redundancy.chain_offset", message })
}

fn over_drives(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    let number = members::row(members.len() as u64, None, "member", CHAIN)?;
    Ok(ChainedLayout::new(members::common_pages(members), number, 1, redundancy).pages())
}

/// Every page is stored and written twice.
fn formula(members: &[MemberTerms]) -> Option<Terms> {
    let Terms { ssd, disk, life } = members::as_its_members(members)?;
    Some(Terms { ssd: 2.0 * ssd, disk: 2.0 * disk, life })
}

/// The places of the copies of a page. Rows of chunks come first: as many rows of first copies as of second copies. The
/// rest of each member, less than two chunks, is laid out page by page in the same way, and the last page of an odd
/// number is shared by pairs of members.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ChainedLayout {
    members: u64,
    offset: u64,
    unit: u64,
    /// Pages of each member with first copies: in whole chunks, and page by page.
    rows: [u64; 2],
    odd: bool,
}

/// A page of a member.
type Place = (Member, Page);

impl ChainedLayout {
    fn new(each: u64, members: u32, unit: u32, redundancy: &RedundancySpec) -> ChainedLayout {
        let offset = u64::from(redundancy.read::<ChainedOptions>().chain_offset);
        let (members, unit) = (u64::from(members), u64::from(unit));
        let in_units = each / (2 * unit) * unit;
        ChainedLayout { members, offset, unit, rows: [in_units, each / 2 - in_units], odd: each % 2 == 1 }
    }

    /// Steps of `offset` members form circles, all of the same number of members; the members of a pair are neighbours
    /// in their circle.
    fn circles(&self) -> (u64, u64) {
        let (mut circles, mut rest) = (self.offset, self.members);
        while rest > 0 {
            (circles, rest) = (rest, circles % rest);
        }
        (circles, self.members / circles)
    }

    fn pages(&self) -> u64 {
        let (circles, length) = self.circles();
        let shared = if self.odd { circles * (length / 2) } else { 0 };
        (self.rows[0] + self.rows[1]) * self.members + shared
    }

    /// Both copies of a page, the first one first.
    fn places(&self, page: Page) -> [Place; 2] {
        let (mut page, mut base) = (page.0, 0);
        let place = |member: u64, row: u64| (Member((member % self.members) as u8), Page(row));
        for (rows, unit) in self.rows.into_iter().zip([self.unit, 1]) {
            if page < rows * self.members {
                let (number, within) = (page / unit, page % unit);
                let (member, row) = (number % self.members, base + number / self.members * unit + within);
                return [place(member, row), place(member + self.offset, row + rows)];
            }
            (page, base) = (page - rows * self.members, base + 2 * rows);
        }
        let pairs = self.circles().1 / 2;
        let member = page / pairs + 2 * (page % pairs) * self.offset;
        [place(member, base), place(member + self.offset, base)]
    }

    /// The page of which a member's page is a copy; none for unused pages.
    fn page(&self, (member, at): Place) -> Option<Page> {
        let (member, mut row, mut first) = (u64::from(member.0), at.0, 0);
        for (rows, unit) in self.rows.into_iter().zip([self.unit, 1]) {
            if row < 2 * rows {
                let back = if row < rows { 0 } else { self.members - self.offset };
                let (member, row) = ((member + back) % self.members, row % rows);
                return Some(Page(first + (row / unit * self.members + member) * unit + row % unit));
            }
            (row, first) = (row - 2 * rows, first + rows * self.members);
        }
        let shared = (first..self.pages()).map(Page);
        shared.into_iter().find(|&page| self.places(page).contains(&(Member(member as u8), at)))
    }
}

/// Chained declustering.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chained {
    layout: ChainedLayout,
    read: ChainRead,
    /// The copy to read next.
    turn: usize,
    second_copy_reads: u64,
    copied: CopiedPages,
}

pub(super) fn build(options: &SchemeOptions<'_>) -> Chained {
    let (each, members) = (options.member_pages, u32::from(options.members));
    Chained {
        layout: ChainedLayout::new(each, members, options.unit_pages, options.redundancy),
        read: options.redundancy.read::<ChainedOptions>().chain_read,
        turn: 0,
        second_copy_reads: 0,
        copied: CopiedPages::default(),
    }
}

impl Chained {
    /// How many of `most` pages from this one on are consecutive on both members. After a failure, each page is handled
    /// by itself.
    fn run(&self, page: Page, most: u16, view: &View<'_>) -> u16 {
        let from = self.layout.places(page);
        let beside = |n: &u16| {
            let next = self.layout.places(page.plus(u32::from(*n)));
            (0..2).all(|copy| next[copy] == (from[copy].0, from[copy].1.plus(u32::from(*n))))
        };
        if view.is_healthy() { 1 + (1..most).take_while(beside).count() as u16 } else { 1 }
    }

    /// The copy to read. Old contents for a partial-page write come from the less busy copy, unless all reads go to the
    /// first.
    fn reader(&mut self, command: &Command, places: [Place; 2], view: &View<'_>, plan: &mut Plan) -> usize {
        let (update, in_turn) = (command.cause == Cause::Update, self.read != ChainRead::First);
        let first = self.turn;
        if in_turn && !update {
            self.turn = 1 - self.turn;
        }
        let has = |copy: &usize| view.has(places[*copy].0, places[*copy].1);
        let mut having = [first, 1 - first].into_iter().filter(has);
        let reader = if self.read == ChainRead::LeastBusy || in_turn && update {
            having.min_by_key(|&copy| view.backlog(places[copy].0, places[copy].1))
        } else {
            having.next()
        };
        let reader = reader.unwrap_or(first);
        let (member, page) = places[reader];
        plan.rescued += u16::from(
            command.cause == Cause::Host && reader != first && !has(&first) && view.holds(member, page),
        );
        reader
    }
}

impl Scheme for Chained {
    fn capacity(&self) -> u64 {
        self.layout.pages()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { stateless: true, ..Capabilities::default() }
    }

    /// The engine tracks which copies exist, and makes those that a failure took.
    fn protection(&self) -> Protection<'_> {
        Protection::Copies
    }

    /// The pages of a chunk are consecutive. Each read affects which copy of the next page is less busy.
    fn grain(&self, verb: Verb) -> u32 {
        let one_by_one = verb == Verb::Read && self.read == ChainRead::LeastBusy;
        if one_by_one { 1 } else { self.layout.unit as u32 }
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        self.layout.places(page).into_iter().for_each(|(member, page)| tell(member, page));
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.layout.page((member, page))
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.copied.prefetch(page.0);
        self.places(page, ask);
    }

    fn ever_used(&self) -> Option<&Bits> {
        Some(self.copied.ever_used())
    }

    fn used(&self) -> Option<&Bits> {
        self.copied.used()
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        if command.verb != Verb::Read {
            self.copied.note(command);
        }
        let mut at = 0;
        while at < command.count {
            let page = command.start.plus(u32::from(at));
            let (places, count) = (self.layout.places(page), self.run(page, command.count - at, view));
            let step = |(member, page): Place| Step::new(member, command.over(page, count), at);
            if command.verb == Verb::Read {
                let copy = self.reader(command, places, view, plan);
                plan.push(step(places[copy]));
                if command.cause == Cause::Host && copy == 1 {
                    self.second_copy_reads += u64::from(count);
                }
            } else {
                let mut second = step(places[1]);
                if command.cause == Cause::Host {
                    second.command.cause = Cause::Mirror;
                }
                plan.push(step(places[0]));
                plan.push(second);
            }
            at += count;
        }
        PlanVerdict::Go
    }

    fn figures(&self) -> Option<serde_json::Value> {
        Some(ChainedFigures { second_copy_reads: self.second_copy_reads }.to_json())
    }
}

impl BackgroundWork for Chained {}

impl Recoverable for Chained {
    fn recover(&mut self, _: &View<'_>, _: &mut dyn FnMut(Member, Page)) {
        self.turn = 0;
        self.copied.cut_power();
    }
}
