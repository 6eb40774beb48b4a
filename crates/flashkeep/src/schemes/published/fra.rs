//! # What it does
//! Flash-aware, deferred parity with RAID-5's layout. A write only programs its data. The version that the
//! parity covers is kept at a hidden address of its member, so that the old parity still protects the
//! unchanged pages of the stripe. After `redundancy.idle_ms` without host requests, the scheme updates one
//! stripe after another: it reads the current pages, writes the parity and drops the old versions.
//!
//! If a member has no room for another old version (`redundancy.hidden`), the write waits and parities are
//! updated immediately. As long as a member is missing, or a part of a member that a write goes to, or a member
//! has lost flash and may refuse pages, parity is written with the data.
//!
//! # What it costs
//! One member of flash for parity, and the hidden addresses, which are taken from the over-provisioned pages.
//! One program per page; over maps of blocks and over drives, which cannot rename pages, another read and program
//! for each old version. Later, for each stripe written in the meantime, a read of each of its pages and one program.
//!
//! # What it survives
//! Any one of the units it runs over, except pages written since their stripe's parity was: those on the
//! failed unit are lost. The summary reports how many such pages there are, and for how long.
//!
//! # Example
//! `flashkeep compare synth:sirf-build 8CM-64 --set redundancy.scheme=fra --set redundancy.idle_ms=5`
//!
//! # Source
//! Lee, Jung and Song, "FRA: a flash-aware redundancy array of flash storage devices", CODES+ISSS 2009, of
//! which the abstract is available: two maps per stripe, and parity written in idle time. Ours: when idle
//! time starts, how old versions are kept, and the behaviour without room for them or with a missing member.

use crate::engine::{
    BackgroundWork, Capabilities, Change, Codewords, Command, Flags, Key, Lock, Member, Page, Plan,
    PlanVerdict, Protection, Recoverable, RepairOutcome, Role, Scheme, Step, StripeUnit, Triggers, Verb,
    View, Why,
};
use crate::kernel::{RebuildQueue, Span};
use crate::schemes::parity::{Settling, StripePart, Versions, milliseconds};
use crate::schemes::{
    Idle, Inside, Members, OldVersions, OptionsPart, Reads, Rebuilds, SchemeEntry, SchemeOptions, Sums,
    members,
};

pub(in crate::schemes) const ENTRY: SchemeEntry = SchemeEntry {
    name: "fra",
    summary: "FRA: one parity, written in idle time; old versions are kept until then",
    source: include_str!("fra.rs"),
    options: &[
        OptionsPart::of::<Inside>(),
        OptionsPart::of::<Idle>(),
        OptionsPart::of::<OldVersions>(),
        OptionsPart::of::<Sums>(),
        OptionsPart::of::<Rebuilds>(),
        OptionsPart::of::<Reads>(),
    ],
    members: members::one_parity,
    data_members: Some(|members, _| members - 1),
    survives: |_| 1,
    kind: Members::WithHiddenRange,
    defers: true,
    over_drives: members::with_old_versions,
    ..SchemeEntry::BASE
};

/// Deferred parity, which is written in idle time.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Fra {
    versions: Versions,
    idle_after: Span,
    /// Stripes whose parity is older than their data, and is not being written.
    dirty: RebuildQueue,
    /// Parities being written because a command waits.
    renewing: u8,
    members: u8,
    /// Whether a member does not respond.
    missing: bool,
}

impl Fra {
    /// Deferred parity over the given members.
    #[must_use]
    pub fn new(options: &SchemeOptions<'_>) -> Self {
        Fra {
            versions: Versions::new(options),
            idle_after: milliseconds(options.redundancy.read::<Idle>().idle_ms),
            dirty: RebuildQueue::default(),
            renewing: 0,
            members: options.members,
            missing: false,
        }
    }

    /// Whether the parity of the stripe is written with its data: if the stripe is degraded, if old versions cannot be
    /// kept, or before time 0.
    #[inline]
    fn at_once(&self, command: &Command, stripe: u32, view: &View<'_>) -> bool {
        command.flags.has(Flags::BEFORE)
            || self.missing
            || view.is_degraded(stripe.into())
            || self.versions.hidden.is_missing()
    }

    /// Writes or trims data and leaves the parity as it is.
    fn put_off(
        &mut self,
        command: &Command,
        place: StripePart,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> PlanVerdict {
        let touch = self.versions.stripes.touch(command, place);
        let stripe = place.seats.stripe;
        if touch.touched.is_empty() {
            return PlanVerdict::Go;
        }
        let known = self.versions.known(stripe, &touch);
        if !self.versions.can_keep(place, known) {
            return PlanVerdict::Wait;
        }
        let trims = command.verb == Verb::Trim;
        let copies = known.iter().any(|index| !view.remaps(place.seats.data(index)));
        self.versions.write(command, place, &touch, plan, |step| step.role(Role::Plain));
        if copies {
            // Until the copies are durable, the parity protects the old versions where they are.
            let touched = touch.touched;
            let settling = Settling { touched, trims, puts_off: true, blind: true, ..Settling::default() };
            self.versions.stripes.settling.insert(stripe, settling);
        } else {
            self.versions.set_changed(stripe, touch.touched, trims);
        }
        self.dirty.set(stripe, true);
        PlanVerdict::Go
    }

    /// Rewrites a stripe's parity, in the background.
    fn rewrite_parity(&mut self, stripe: u32, makes_room: bool, plan: &mut Plan) {
        plan.hold = Some(Key(u64::from(stripe)));
        self.dirty.set(stripe, false);
        let settling = Settling { makes_room, ..self.versions.renew(stripe, None, None, plan) };
        self.versions.stripes.settling.insert(stripe, settling);
    }
}

pub(in crate::schemes) fn build(options: &SchemeOptions<'_>) -> Fra {
    Fra::new(options)
}

impl Scheme for Fra {
    fn capacity(&self) -> u64 {
        self.versions.stripes.capacity()
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers { idle_after: Some(self.idle_after), ..Triggers::default() };
        Capabilities { triggers, ..Capabilities::default() }
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

    /// A write that puts the parity off only waits for a plan that writes the parity; one that writes it as well
    /// holds the stripe.
    #[inline(never)]
    fn lock(&self, command: &Command) -> Lock {
        Lock::Pass(Key(u64::from(self.versions.stripes.split(command.start).0)))
    }

    #[inline(never)]
    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        assert!(command.verb != Verb::Remap, "old versions are kept below a parity, not above it");
        let place = self.versions.stripes.place(command);
        if command.verb == Verb::Read {
            self.versions.stripes.read(command, place, view, plan);
            return PlanVerdict::Go;
        }
        // Of a page whose place within its member has failed, or that the member refuses, only the parity knows the
        // contents.
        let stores = |index| view.stores(place.seats.data(index), place.seats.page());
        let stripe = place.seats.stripe;
        if !self.at_once(command, stripe, view) && (place.first..place.end).all(stores) {
            return self.put_off(command, place, view, plan);
        }
        plan.hold = Some(Key(u64::from(stripe)));
        self.versions.write_through(command, place, None, view, plan);
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        match self.versions.stripe_of(wanted.member, wanted.command.start) {
            Some(stripe) => self.versions.repair(stripe, None, failed, view, plan),
            None => RepairOutcome::Lost,
        }
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.versions.stripes.owner(member, page)
    }

    #[inline(never)]
    fn settled(&mut self, key: Key, view: &View<'_>) {
        let Some((stripe, settling)) = self.versions.settle(key, view) else { return };
        self.renewing -= u8::from(settling.makes_room);
        if settling.renews {
            self.dirty.set(stripe, false);
        }
    }

    fn member(&mut self, _: Member, _: Change, view: &View<'_>) {
        self.missing = (0..self.members).any(|member| !view.alive(Member(member)));
    }
}

impl BackgroundWork for Fra {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        match why {
            Why::Renew(stripe) => {
                self.rewrite_parity(stripe, false, plan);
                return true;
            }
            // As many at once as there are members, so that each has work.
            Why::Urgent if self.renewing >= self.members => return false,
            Why::Idle | Why::Urgent => {}
            Why::Rebuild | Why::Wake | Why::Leaving(..) | Why::Moved(..) | Why::Due(..) => return false,
        }
        let Some(stripe) = self.dirty.next(|stripe| view.held(Key(stripe))) else { return false };
        let makes_room = why == Why::Urgent;
        self.renewing += u8::from(makes_room);
        self.rewrite_parity(stripe as u32, makes_room, plan);
        true
    }
}

impl Recoverable for Fra {
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        (self.dirty, self.renewing) = (RebuildQueue::default(), 0);
        for stripe in 0..self.versions.stripes.count() {
            // They may be on their way; those that were lost are logged as lost.
            let changed = self.versions.deferred(stripe);
            self.versions.stripes.set_written(stripe, changed, true);
        }
        self.versions.recover(|_| None, view, lacks);
    }
}

impl Codewords for Fra {
    fn count(&self) -> u32 {
        self.versions.stripes.count()
    }

    fn data(&self) -> u8 {
        self.versions.stripes.data()
    }

    fn defers(&self) -> bool {
        true
    }

    fn unprotected(&self, stripe: u32) -> u8 {
        self.versions.newest(stripe).count() as u8
    }

    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        self.versions.codeword(stripe).each(tell);
    }

    fn stripe_of(&self, member: Member, page: Page) -> Option<u32> {
        self.versions.stripe_of(member, page)
    }

    fn is_newer(&self, stripe: u32, index: u8) -> bool {
        self.versions.deferred(stripe).has(index)
    }

    fn has_newer(&self, stripe: u32) -> bool {
        !self.versions.deferred(stripe).is_empty()
    }

    fn newer(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        self.versions.newer(stripe, None, tell);
    }
}
