//! State of stripes that every parity scheme needs: known zeros, and what plans in progress will change.

use super::codeword::{Coverage, ParityLocation};
use super::layout::{ParityLayout, Seats, StripeSeats};
use super::units::UnitSet;
use crate::engine::FixedMap;
use crate::engine::{Command, Key, Member, Page, Role, Verb, View};
use crate::kernel::{Bits, Divisor};
use crate::schemes::SchemeOptions;

/// A command's part of a stripe: data units `first..end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripePart<S = Seats> {
    pub(crate) seats: S,
    pub(crate) first: u8,
    pub(crate) end: u8,
}

impl<S> StripePart<S> {
    /// Its data units.
    #[inline]
    pub(crate) fn indices(&self) -> std::ops::Range<u8> {
        self.first..self.end
    }
}

/// The data units of the stripe that are not known zeros after the command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) before: UnitSet,
    /// Those that it writes, or makes zeros of.
    pub(crate) touched: UnitSet,
    pub(crate) after: UnitSet,
}

impl Touch {
    /// Those that it replaces.
    #[inline]
    pub(crate) fn old(&self) -> UnitSet {
        self.before.within(self.touched)
    }

    /// The units that it does not change.
    #[inline]
    pub(crate) fn rest(&self) -> UnitSet {
        self.before.without(self.touched)
    }
}

/// The changes to a stripe that take effect when the plan is durable.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Settling {
    /// Data units that it gives new contents, or makes zeros of.
    pub(crate) touched: UnitSet,
    pub(crate) trims: bool,
    /// The parity on the media does not know them.
    pub(crate) puts_off: bool,
    /// Nor does a partial parity.
    pub(crate) blind: bool,
    /// The parity on the media knows everything.
    pub(crate) renews: bool,
    /// It makes room for a command that waits.
    pub(crate) makes_room: bool,
    /// Where `puts_off`, in a drive that is to lose its power: the number of the last write to the partial parity before.
    pub(crate) partial_before: u64,
}

/// The state of stripes that every parity scheme needs.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Stripes<L> {
    pub(crate) layout: L,
    data: u8,
    by_data: Divisor,
    count: u32,
    /// Data pages that are not known zeros.
    pub(crate) written: Bits,
    /// Data pages that were trimmed, or might have been written when the power failed: a power cut may bring them back.
    touched: Bits,
    /// What plans under way will have changed, by stripe.
    pub(crate) settling: FixedMap<u32, Settling>,
}

impl<L: ParityLayout> Stripes<L> {
    pub(crate) fn new(options: &SchemeOptions<'_>) -> Self {
        let layout = L::new(options);
        let data = layout.data();
        let member_pages = u32::try_from(options.member_pages).expect("page addresses have 32 bits");
        Stripes {
            count: layout.count(member_pages),
            layout,
            data,
            by_data: Divisor::new(u32::from(data)),
            written: Bits::default(),
            touched: Bits::default(),
            settling: FixedMap::default(),
        }
    }

    /// Where a data page is.
    #[inline]
    pub(crate) fn whereabouts(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        let (stripe, index) = self.split(page);
        let (member, page) = self.seats(stripe).at(Role::Data(index));
        tell(member, page);
    }

    /// Prefetches the entries that an update of a data page needs.
    #[inline]
    pub(crate) fn prefetch(&self, page: Page, mut ask: impl FnMut(Member, Page)) {
        let (stripe, index) = self.split(page);
        let seats = self.seats(stripe);
        self.written.prefetch(page.0);
        let mut ask = |role| {
            let (member, page) = seats.at(role);
            ask(member, page);
        };
        ask(Role::Data(index));
        seats.parity_roles().iter().copied().for_each(ask);
    }

    pub(crate) fn capacity(&self) -> u64 {
        u64::from(self.count) * u64::from(self.data)
    }

    /// Data units of a stripe.
    #[inline]
    pub(crate) fn data(&self) -> u8 {
        self.data
    }

    /// The number of stripes, each of one page per member.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    #[inline]
    pub(crate) fn seats(&self, stripe: u32) -> L::Seats {
        self.layout.seats(stripe)
    }

    /// The parities of a stripe that cover some of these data units.
    #[inline]
    pub(crate) fn parities_of(&self, seats: L::Seats, units: UnitSet) -> impl Iterator<Item = Role> + use<L> {
        let code = self.layout.code();
        let covers = move |role: &Role| !L::HAS_GROUPS || units.has_part_of(*role, code);
        seats.parity_roles().iter().copied().filter(covers)
    }

    /// Whether a parity is a known zero, if these data units are not.
    #[inline]
    pub(crate) fn is_zero(&self, parity: Role, written: UnitSet) -> bool {
        if L::HAS_GROUPS { !written.has_part_of(parity, self.layout.code()) } else { written.is_empty() }
    }

    /// The stripe of a page, and which of its data units that is.
    #[inline]
    pub(crate) fn split(&self, page: Page) -> (u32, u8) {
        let (stripe, index) = self.by_data.split_wide(page.0);
        (stripe as u32, index as u8)
    }

    #[inline]
    pub(crate) fn place(&self, command: &Command) -> StripePart<L::Seats> {
        let (stripe, first) = self.split(command.start);
        StripePart { seats: self.seats(stripe), first, end: first + command.count as u8 }
    }

    /// The scheme's page that a data unit is.
    #[inline]
    pub(crate) fn number(&self, stripe: u32, index: u8) -> u64 {
        u64::from(stripe) * u64::from(self.data) + u64::from(index)
    }

    /// Those of a stripe's data units that are in a set of pages.
    #[inline]
    pub(crate) fn units(&self, pages: &Bits, stripe: u32) -> UnitSet {
        UnitSet::of(pages, self.number(stripe, 0), self.data)
    }

    /// Data units of a stripe that are no known zeros.
    #[inline]
    pub(crate) fn written(&self, stripe: u32) -> UnitSet {
        self.units(&self.written, stripe)
    }

    #[inline]
    pub(crate) fn touch(&self, command: &Command, place: StripePart<L::Seats>) -> Touch {
        let before = self.written(place.seats.stripe());
        let named = UnitSet::range(place.first, place.end);
        if command.verb == Verb::Trim {
            Touch { before, touched: named.within(before), after: before.without(named) }
        } else {
            Touch { before, touched: named, after: before.with(named) }
        }
    }

    /// The page that a member's page holds, if it holds data.
    pub(crate) fn owner(&self, member: Member, page: Page) -> Option<Page> {
        let stripe = self.stripe_of(member, page);
        let seats = (stripe < self.count).then(|| self.seats(stripe))?;
        match seats.role_of(member)? {
            role @ Role::Data(index) if seats.at(role).1 == page => Some(Page(self.number(stripe, index))),
            _ => None,
        }
    }

    /// The stripe that a member's page belongs to.
    #[inline]
    pub(crate) fn stripe_of(&self, member: Member, page: Page) -> u32 {
        self.layout.stripe_of(member, page)
    }

    /// A stripe all of whose parity is as new as its data.
    pub(crate) fn codeword(&self, stripe: u32) -> Coverage<impl Fn(u8) -> Page + use<L>, L::Seats> {
        let seats = self.seats(stripe);
        Coverage {
            seats,
            code: self.layout.code(),
            units: self.written(stripe),
            page: move |index| seats.at(Role::Data(index)).1,
            parity: ParityLocation::Seated,
        }
    }

    /// Puts units into a set of pages, or takes them out of it.
    pub(crate) fn mark(pages: &mut Bits, first: u64, units: UnitSet, present: bool) {
        units.for_each(|index| {
            pages.set(first + u64::from(index), present);
        });
    }

    /// Notes what a plan changes: at once where it submits everything at once, so that no plan can find the stripe in
    /// between, else when it is durable.
    pub(crate) fn begin(
        &mut self,
        place: StripePart<L::Seats>,
        touch: &Touch,
        in_stages: bool,
        healthy: bool,
    ) {
        if touch.before == touch.after && healthy {
            return;
        }
        let Touch { before, touched, after } = *touch;
        let trims = !before.without(after).is_empty();
        if in_stages || !healthy {
            let settling = Settling { touched, trims, ..Settling::default() };
            self.settling.insert(place.seats.stripe(), settling);
        } else {
            self.set_written(place.seats.stripe(), touched, trims);
        }
    }

    /// From now on these units are no known zeros, or are.
    pub(crate) fn set_written(&mut self, stripe: u32, units: UnitSet, trims: bool) {
        let first = self.number(stripe, 0);
        Self::mark(&mut self.written, first, units, !trims);
        if trims {
            Self::mark(&mut self.touched, first, units, true);
        }
    }

    /// The stripes of which anything may be on the media, ascending.
    pub(crate) fn ever_touched(&mut self) -> Vec<u32> {
        self.written.runs().for_each(|run| self.touched.set_run(run, true));
        let data = u64::from(self.data);
        #[allow(clippy::iter_over_hash_type)] // The order does not matter.
        for &stripe in self.settling.keys() {
            let first = u64::from(stripe) * data;
            self.touched.set_run(first..first + data, true);
        }
        let (mut stripes, end) = (Vec::new(), u64::from(self.count) * data);
        let mut page = self.touched.next(0, end, true);
        while page < end {
            stripes.push((page / data) as u32);
            page = self.touched.next((page / data + 1) * data, end, true);
        }
        stripes
    }

    /// The stripe of a plan that held `key`, and its change; none where nothing must be examined.
    #[inline]
    pub(crate) fn settle(&mut self, key: Key, view: &View<'_>) -> Option<(u32, Settling)> {
        let stripe = key.0 as u32;
        let settling = if self.settling.is_empty() { None } else { self.settling.remove(&stripe) };
        if settling.is_none() && view.is_healthy() {
            return None;
        }
        Some((stripe, settling.unwrap_or_default()))
    }
}
