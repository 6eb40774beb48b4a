//! # What it does
//! Deferred parity with RAID-5's layout. A non-volatile memory (`redundancy.nvram_mib`) holds, for each
//! recently written stripe, the partial parity: the sum of its new pages. A write programs its data and
//! updates the partial parity in the memory; if the page was already new, its previous version is read for
//! that. The versions that the parity on flash covers are kept at hidden addresses (`redundancy.hidden`), so
//! that this parity still protects the unchanged pages.
//!
//! A stripe's parity is *committed* to flash when the memory is full (the stripe not written for the longest
//! time), when there is no room for another old version, and, with `redundancy.commit_on_collection`, when GC
//! is about to move an old version. A commit uses the partial parity and the unchanged pages, or the partial
//! parity, the old parity and the old versions, whichever need fewer reads.
//!
//! # What it costs
//! One member of flash for parity, the memory, and the hidden addresses, which are taken from the
//! over-provisioned pages. One program per page, a read for each page rewritten before the commit, and a
//! commit's reads and one program for each stripe that leaves the memory. Operations of the memory take
//! `redundancy.nvram_us` and do not count as flash operations.
//!
//! # What it survives
//! Any one of the units it runs over, at any time; or the memory. After a loss of the memory every stripe
//! that it knew gets its parity as soon as possible, and parity is written with the data. Until then new
//! pages are exposed.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=ppc --set redundancy.nvram_mib=4`
//!
//! # Source
//! Im and Shin, "Flash-aware RAID techniques for dependable and high-performance flash memory SSD", IEEE
//! Transactions on Computers 60 (1), 2011, of which the abstract is available. The contents of an entry, and
//! when and how it is committed, follow descriptions of the scheme and a RAID-4 code that implements it.
//! There, GC may not erase an old version before the commit; here it moves the version, unless an option makes
//! it commit.

use crate::engine::{
    BackgroundWork, Cause, Codewords, Command, FixedMap, Flags, Key, Lock, Member, Page, Plan, PlanVerdict,
    Protection, Recoverable, RepairOutcome, Role, Scheme, Step, StripeUnit, Verb, View, Why,
};
use crate::schemes::parity::{Settling, UnitSet, Versions, fetch, read_old};
use crate::schemes::{
    Inside, Members, NvramOptions, OldVersions, OptionsPart, Reads, Rebuilds, SchemeEntry, SchemeOptions,
    Sums, members,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "ppc",
    summary: "PPC: one parity; partial parities of new data are in a non-volatile memory until they are \
              committed",
    source: include_str!("ppc.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<OldVersions>(),
        OptionsPart::of::<NvramOptions>(),
        OptionsPart::of::<PpcOptions>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: members::one_parity,
    data_members: Some(|members, _| members - 1),
    survives: |_| 1,
    kind: Members::WithHiddenRange,
    memory: true,
    over_drives: members::with_old_versions,
    told_of_moves: |redundancy| {
        redundancy.read::<PpcOptions>().commit_on_collection.then_some("redundancy.commit_on_collection")
    },
    ..SchemeEntry::BASE
};

/// Options of `ppc`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::schemes) struct PpcOptions {
    /// A partial parity is committed when collection is about to move an old version that it needs.
    pub(in crate::schemes) commit_on_collection: bool,
}

/// The cost of a page in a commit that must be reconstructed.
const REPAIR: u32 = 1000;

/// Parity of new data in a memory.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Ppc {
    versions: Versions,
    entries: Entries,
    commit_on_collection: bool,
    /// Commits under way because a command waits.
    committing: u8,
    members: u8,
}

impl Ppc {
    /// Partial parity over the given members, with the memory as the last one.
    #[must_use]
    pub fn new(options: &SchemeOptions<'_>) -> Self {
        Ppc {
            versions: Versions::new(options),
            entries: Entries::new(options.memory_pages),
            commit_on_collection: options.redundancy.read::<PpcOptions>().commit_on_collection,
            committing: 0,
            members: options.members,
        }
    }

    fn memory(&self) -> Member {
        Member(self.members)
    }

    /// Where the partial parity of a stripe is, if it has one.
    fn partial(&self, stripe: u32) -> Option<(Member, Page)> {
        self.entries.of(stripe).map(|slot| (self.memory(), Page::of(slot)))
    }

    /// The stripe that a member's page belongs to.
    fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        if member == self.memory() {
            self.entries.stripe_at(page.low())
        } else {
            self.versions.stripe_of(member, page)
        }
    }

    /// Whether the memory can take the partial parity of a stripe, and has the one it has been given.
    fn is_usable(&self, stripe: u32, view: &View<'_>) -> bool {
        let configured = self.entries.capacity > 0 && !self.versions.hidden.is_missing();
        let has = |(member, page)| view.has(member, page);
        configured && view.alive(self.memory()) && self.partial(stripe).is_none_or(has)
    }

    fn write(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let place = self.versions.stripes.place(command);
        let touch = self.versions.stripes.touch(command, place);
        let stripe = place.seats.stripe;
        if touch.touched.is_empty() {
            return PlanVerdict::Go;
        }
        if command.flags.has(Flags::BEFORE) || !self.is_usable(stripe, view) {
            self.versions.write_through(command, place, self.partial(stripe), view, plan);
            return PlanVerdict::Go;
        }
        if !self.versions.can_keep(place, self.versions.known(stripe, &touch)) {
            return PlanVerdict::Wait;
        }
        let known = self.entries.of(stripe).is_some();
        let Some(slot) = self.entries.renew(stripe) else { return PlanVerdict::Wait };
        let (memory, slot) = (self.memory(), Page::of(slot));
        if known {
            plan.push(Step::fetch(memory, slot, Role::P, Cause::PartialParity));
            let new = touch.old().within(self.versions.changed(stripe));
            read_old(command, place, new, plan);
        }
        self.versions.write(command, place, &touch, plan, |step| step.stage(1));
        plan.push(Step::store(memory, slot, Role::P, Cause::PartialParity).stage(1));
        let trims = command.verb == Verb::Trim;
        let partial_before = view.oob(memory, slot).map_or(0, |oob| oob.sequence);
        let touched = touch.touched;
        let settling = Settling { touched, trims, puts_off: true, partial_before, ..Settling::default() };
        self.versions.stripes.settling.insert(stripe, settling);
        PlanVerdict::Go
    }

    /// Writes a stripe's parity from what the memory has of it, and drops that.
    fn commit(&mut self, stripe: u32, view: &View<'_>, plan: &mut Plan) -> Settling {
        plan.hold = Some(Key(u64::from(stripe)));
        let partial = self.partial(stripe);
        let Some((memory, slot)) = partial.filter(|&(member, page)| view.has(member, page)) else {
            return self.versions.renew(stripe, None, partial, plan);
        };
        plan.push(Step::fetch(memory, slot, Role::P, Cause::PartialParity));
        let (word, changed) = (self.versions.codeword(stripe), self.versions.changed(stripe));
        let written = self.versions.stripes.written(stripe);
        let (rest, old) = (written.without(changed), word.units.within(changed));
        let cost = |role: Role| {
            let (member, page) = word.at(role);
            if view.has(member, page) { 1 } else { REPAIR }
        };
        let all = |units: UnitSet| units.iter().map(|index| cost(Role::Data(index))).sum::<u32>();
        if !word.units.is_empty() && cost(Role::P) + all(old) <= all(rest) {
            let roles = old.iter().map(Role::Data).chain([Role::P]);
            roles.for_each(|role| plan.push(word.fetch(role, Cause::Parity)));
        } else {
            fetch(word.seats, rest, plan);
        }
        self.versions.close(stripe, written.is_empty(), partial, plan);
        Settling { renews: true, ..Settling::default() }
    }

    /// The commit of the stripe that has not been written for the longest time.
    fn make_room(&mut self, view: &View<'_>, plan: &mut Plan) -> Option<(u32, Settling)> {
        // As many at once as there are members, so that each has work.
        if self.committing >= self.members {
            return None;
        }
        let stripe = self.entries.oldest(|stripe| view.held(Key(u64::from(stripe))))?;
        self.committing += 1;
        Some((stripe, Settling { makes_room: true, ..self.commit(stripe, view, plan) }))
    }

    /// The commit of the stripe whose old version is about to be moved.
    fn forestall(
        &mut self,
        member: Member,
        page: Page,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> Option<(u32, Settling)> {
        let stripe = self.versions.stripe_of(member, page).filter(|_| self.commit_on_collection)?;
        let free = self.entries.of(stripe).is_some() && !view.held(Key(u64::from(stripe)));
        free.then(|| (stripe, self.commit(stripe, view, plan)))
    }
}

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> Ppc {
    Ppc::new(options)
}

impl Scheme for Ppc {
    fn capacity(&self) -> u64 {
        self.versions.stripes.capacity()
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Stripes(self)
    }

    fn places(&self, page: Page, tell: impl FnMut(Member, Page)) {
        self.versions.stripes.whereabouts(page, tell);
    }

    #[inline]
    fn prefetch(&self, page: Page, ask: impl FnMut(Member, Page)) {
        self.versions.stripes.prefetch(page, ask);
    }

    fn grain(&self, _: Verb) -> u32 {
        u32::from(self.versions.stripes.data())
    }

    #[inline(never)]
    fn lock(&self, command: &Command) -> Lock {
        let key = Key(u64::from(self.versions.stripes.split(command.start).0));
        if command.verb == Verb::Read { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    #[inline(never)]
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept below a parity, not above it");
        if command.verb != Verb::Read {
            return self.write(command, view, plan);
        }
        let stripes = &self.versions.stripes;
        stripes.read(command, stripes.place(command), view, plan);
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        match self.stripe_of(wanted.member, wanted.command.start) {
            Some(stripe) => self.versions.repair(stripe, self.partial(stripe), failed, view, plan),
            None => RepairOutcome::Lost,
        }
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        if member == self.memory() { None } else { self.versions.stripes.owner(member, page) }
    }

    #[inline(never)]
    fn settled(&mut self, key: Key, view: &View<'_>) {
        let Some((stripe, settling)) = self.versions.settle(key, view) else { return };
        self.committing -= u8::from(settling.makes_room);
        if settling.renews {
            self.entries.remove(stripe);
        }
    }
}

impl BackgroundWork for Ppc {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        let work = match why {
            Why::Urgent => self.make_room(view, plan),
            Why::Leaving(member, page) => self.forestall(member, page, view, plan),
            // It lacks a unit, or its partial parity.
            Why::Renew(stripe) => {
                Some((stripe, self.versions.renew(stripe, None, self.partial(stripe), plan)))
            }
            Why::Idle | Why::Wake | Why::Moved(..) | Why::Due(..) | Why::Rebuild => None,
        };
        let Some((stripe, settling)) = work else { return false };
        self.versions.stripes.settling.insert(stripe, settling);
        true
    }
}

impl Recoverable for Ppc {
    /// The memory keeps the stripes, their partial parities, and the addresses of their old versions.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.committing = 0;
        if !view.alive(self.memory()) {
            self.entries = Entries::new(self.entries.capacity);
        }
        let (entries, memory) = (&self.entries, self.memory());
        let partial = |stripe| entries.of(stripe).map(|slot| (memory, Page::of(slot)));
        self.versions.recover(partial, view, lacks);
        for stripe in 0..self.versions.stripes.count() {
            if self.versions.changed(stripe).is_empty() {
                self.entries.remove(stripe);
            }
        }
    }
}

impl Codewords for Ppc {
    fn count(&self) -> u32 {
        self.versions.stripes.count()
    }

    fn data(&self) -> u8 {
        self.versions.stripes.data()
    }

    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        self.versions.codeword(stripe).each(tell);
    }

    fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        Ppc::stripe_of(self, member, page)
    }

    fn is_newer(&self, stripe: u32, index: u8) -> bool {
        self.versions.changed(stripe).has(index)
    }

    fn has_newer(&self, stripe: u32) -> bool {
        !self.versions.changed(stripe).is_empty()
    }

    fn newer(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        self.versions.newer(stripe, self.partial(stripe), tell);
    }
}

/// The stripes in the memory, ordered by their last write.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Entries {
    capacity: u32,
    /// A page of the memory each; grown as they are used.
    slots: Vec<ParityCacheSlot>,
    free: Vec<u32>,
    of: FixedMap<u32, u32>,
    newest: u32,
    oldest: u32,
}

/// An entry of the memory.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct ParityCacheSlot {
    stripe: u32,
    newer: u32,
    older: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;

impl Entries {
    fn new(capacity: u32) -> Self {
        Entries {
            capacity,
            slots: Vec::new(),
            free: Vec::new(),
            of: FixedMap::default(),
            newest: NONE,
            oldest: NONE,
        }
    }

    fn of(&self, stripe: u32) -> Option<u32> {
        self.of.get(&stripe).copied()
    }

    fn stripe_at(&self, slot: u32) -> Option<u32> {
        let stripe = self.slots.get(slot as usize)?.stripe;
        (self.of(stripe) == Some(slot)).then_some(stripe)
    }

    /// The stripe is written: it is the newest from now on. None where it is not known and there is no room.
    fn renew(&mut self, stripe: u32) -> Option<u32> {
        let slot = match self.of(stripe) {
            Some(slot) => {
                self.unlink(slot);
                slot
            }
            None => self.claim(stripe)?,
        };
        let older = std::mem::replace(&mut self.newest, slot);
        self.slots[slot as usize] = ParityCacheSlot { stripe, newer: NONE, older };
        match self.slots.get_mut(older as usize) {
            Some(older) => older.newer = slot,
            None => self.oldest = slot,
        }
        Some(slot)
    }

    fn claim(&mut self, stripe: u32) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if (self.slots.len() as u32) < self.capacity => {
                self.slots.push(ParityCacheSlot { stripe, newer: NONE, older: NONE });
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        self.of.insert(stripe, slot);
        Some(slot)
    }

    fn unlink(&mut self, slot: u32) {
        let ParityCacheSlot { newer, older, .. } = self.slots[slot as usize];
        match self.slots.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn remove(&mut self, stripe: u32) {
        if let Some(slot) = self.of.remove(&stripe) {
            self.unlink(slot);
            self.free.push(slot);
        }
    }

    /// The stripe that has not been written for the longest time, of those that no plan works on.
    fn oldest(&self, busy: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.oldest;
        while let Some(slot) = self.slots.get(at as usize) {
            if !busy(slot.stripe) {
                return Some(slot.stripe);
            }
            at = slot.newer;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stripe_not_written_for_the_longest_time_goes_first() {
        let mut entries = Entries::new(3);
        for stripe in [7, 8, 9, 7] {
            assert!(entries.renew(stripe).is_some());
        }
        assert!(entries.renew(10).is_none(), "there is room for three");
        assert_eq!((entries.oldest(|_| false), entries.oldest(|s| s == 8)), (Some(8), Some(9)));
        let slot = entries.of(8);
        entries.remove(8);
        assert_eq!((entries.of(8), entries.renew(10)), (None, slot));
        assert_eq!(entries.stripe_at(slot.expect("it had one")), Some(10));
        for stripe in [9, 7, 10] {
            assert_eq!(entries.oldest(|_| false), Some(stripe));
            entries.remove(stripe);
        }
        assert_eq!((entries.oldest(|_| false), entries.stripe_at(0)), (None, None));
        assert!([1, 2, 3].map(|stripe| entries.renew(stripe)).iter().all(Option::is_some));
    }
}
