//! Power loss: the contents of the platter, compared with the submitted writes.
//!
//! A page is on the platter when its transfer has started: the drive finishes the page under its head with
//! the energy of the spindle. (Ours: a page is then old or new as a whole, as a sector is.) Later pages of
//! the same command, and waiting commands, in the write cache or not, are lost. Each page carries the number
//! of its write in the bytes that sectors have for applications; trims are logged as they come.
//!
//! Sectors do not move, so nothing has to be scanned. A log, which is not modelled, names the pages that may
//! have been in progress; each of these is read once, in no particular order.

use super::{Arm, Disk, UnderWay};
use crate::drive::{OpKind, Recovery};
use crate::engine::{Cause, Contents, FixedMap, OobData, Page};
use crate::kernel::{SimTime, Span, sorted};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// A write that may not be on the platter.
#[derive(Clone, Copy, Debug)]
struct VolatileWrite<C> {
    /// Which command's, and which write of all it is.
    sequence: u64,
    number: u64,
    contents: C,
    /// When its transfer begins; [`SimTime::NEVER`] as long as it waits.
    begins: SimTime,
}

/// What the platter has of a page, and what it is about to be given.
#[derive(Clone, Debug)]
struct Fate<C> {
    there: Option<(u64, C)>,
    coming: VecDeque<VolatileWrite<C>>,
}

impl<C: Copy> Fate<C> {
    /// What has been begun is there.
    fn land(&mut self, now: SimTime) {
        while let Some(write) = self.coming.front().filter(|write| write.begins <= now) {
            self.there = Some((write.number, write.contents));
            self.coming.pop_front();
        }
    }
}

/// What a disk keeps that is to lose its power.
#[derive(Clone, Debug)]
pub(super) struct Platter<C> {
    /// The number of each page's newest write.
    numbers: FixedMap<u32, u64>,
    last: u64,
    fates: BTreeMap<u32, Fate<C>>,
    /// How many fates there may be before those that are settled are taken out.
    prune_at: usize,
    /// Pages that were given what could not be worked out.
    poisoned: BTreeSet<u32>,
}

/// The least number of fates at which those that are settled are taken out.
const FATES: usize = 256;

impl<C: Contents> Disk<C> {
    /// Pages that did not exist are created with the contents that the host's pages of the same numbers begin with.
    pub fn create(&mut self, pages: Range<u32>) {
        self.pages.create(pages);
        self.number_from(OobData::INITIAL);
    }

    /// The disk is going to lose its power: from now on it keeps what it needs for that.
    pub fn expect_power_cuts(&mut self) {
        self.platter = Some(Box::new(Platter {
            numbers: FixedMap::default(),
            last: 0,
            fates: BTreeMap::new(),
            prune_at: FATES,
            poisoned: BTreeSet::new(),
        }));
    }

    /// The number of the last write; none in runs without power cuts.
    #[must_use]
    pub fn last_number(&self) -> Option<u64> {
        self.platter.as_ref().map(|platter| platter.last)
    }

    /// The next write has a higher number than this.
    pub fn number_from(&mut self, last: u64) {
        if let Some(platter) = &mut self.platter {
            platter.last = platter.last.max(last);
        }
    }

    /// The number of each page's newest write, and of the last write of all.
    pub(super) fn numbers(&self) -> (Vec<(u32, u64)>, u64) {
        let Some(platter) = &self.platter else { return (Vec::new(), 0) };
        (sorted(&platter.numbers), platter.last)
    }

    /// Takes over the numbers of a snapshot.
    pub(super) fn take_numbers(&mut self, (numbers, last): (Vec<(u32, u64)>, u64)) {
        if let Some(platter) = &mut self.platter {
            platter.numbers.extend(numbers);
            platter.last = last;
        }
    }

    /// What a page says of itself; none where nothing is there, or nothing that can be read.
    pub(super) fn oob_of(&self, page: Page) -> Option<OobData> {
        self.platter.as_ref()?;
        let stamp = self.contents_of(page)?.stamp();
        Some(OobData { sequence: self.number_of(page.low()).unwrap_or_default(), stamp, mark: 0 })
    }

    /// The number of a page's newest write, in runs with power cuts.
    fn number_of(&self, page: u32) -> Option<u64> {
        let written = self.platter.as_ref()?.numbers.get(&page).copied();
        written.or_else(|| (page < self.pages.created()).then_some(OobData::INITIAL))
    }

    /// A page is about to be written by the command of this number, or, without one, has been.
    pub(super) fn note_coming(&mut self, now: SimTime, page: u32, contents: C, sequence: Option<u64>) {
        let before = self.number_of(page);
        let Some(platter) = &mut self.platter else { return };
        platter.last += 1;
        let number = platter.last;
        platter.poisoned.remove(&page);
        platter.numbers.insert(page, number);
        let Some(sequence) = sequence else {
            platter.fates.remove(&page);
            return;
        };
        if platter.fates.len() >= platter.prune_at {
            platter.fates.retain(|_, fate| {
                fate.land(now);
                !fate.coming.is_empty()
            });
            platter.prune_at = FATES.max(2 * platter.fates.len());
        }
        let there = before.filter(|_| self.pages.holds(page) && !self.pages.is_unreadable(page));
        let there = there.map(|number| (number, self.pages.contents(page)));
        let fate = platter.fates.entry(page).or_insert(Fate { there, coming: VecDeque::new() });
        fate.land(now);
        fate.coming.push_back(VolatileWrite { sequence, number, contents, begins: SimTime::NEVER });
    }

    /// The transfer of a page of this command begins at an instant.
    pub(super) fn note_begun(&mut self, page: u32, sequence: u64, begins: SimTime) {
        let fate = self.platter.as_mut().and_then(|platter| platter.fates.get_mut(&page));
        let write = fate.and_then(|fate| fate.coming.iter_mut().find(|write| write.sequence == sequence));
        if let Some(write) = write {
            write.begins = begins;
        }
    }

    /// A page is trimmed, or cannot be read any more: nothing comes to it that was asked for before.
    pub(super) fn drop_fate(&mut self, page: u32) {
        if let Some(platter) = &mut self.platter {
            platter.fates.remove(&page);
        }
    }

    /// Nothing is on it.
    pub(super) fn forget_fates(&mut self) {
        if let Some(platter) = &mut self.platter {
            (platter.numbers, platter.fates, platter.poisoned) = Default::default();
        }
    }

    /// After a power cut: what there is of a page fits nothing.
    pub(super) fn invalidate_page(&mut self, page: Page) {
        self.pages.forget(page.low());
        self.drop_fate(page.low());
    }

    /// The last version of a page could not be worked out, and the page reports that.
    pub(super) fn poison_page(&mut self, page: Page) {
        if let Some(platter) = &mut self.platter {
            platter.poisoned.insert(page.low());
        }
    }

    /// The power fails at `now` and comes back at once. The disk must get no commands before [`Recovery::ready`].
    ///
    /// # Panics
    /// Where no power cut was expected ([`Disk::expect_power_cuts`]).
    #[cold]
    pub fn cut_power(&mut self, now: SimTime) -> Recovery {
        self.now = now;
        let platter = self.platter.as_mut().expect("a disk that was told");
        let mut reads = 0;
        for (page, mut fate) in std::mem::take(&mut platter.fates) {
            fate.land(now);
            reads += u64::from(!fate.coming.is_empty());
            match fate.there {
                Some((number, contents)) => {
                    self.pages.write(page, contents);
                    platter.numbers.insert(page, number);
                }
                None => self.pages.forget(page),
            }
        }
        for page in std::mem::take(&mut platter.poisoned) {
            self.pages.forget(page);
        }
        for id in self.queue.take_all() {
            self.queue.ops.release(id);
        }
        self.done.clear();
        self.in_memory.clear();
        self.cache.empty();
        (self.arm, self.under_way) = (Arm::default(), UnderWay::default());
        (self.queued, self.wake_at) = (Span::ZERO, SimTime::NEVER);
        let reads = if self.dead { 0 } else { reads };
        let turning = now.since(self.free_at);
        self.statistics.rest(turning, self.mechanics.standby_after);
        self.counters.add(0, OpKind::Read, Cause::Metadata, reads);
        if self.untimed {
            self.free_at = now;
            return Recovery { ready: now, reads, erases: 0 };
        }
        let transfer = self.passing(self.page_sectors - 1, 0);
        let seek = self.mechanics.typical[0].stretched(self.slow);
        self.statistics.operations += reads;
        self.statistics.seek += reads * seek.0;
        self.statistics.transfer[0] += reads * transfer.0;
        let begun = if reads > 0 { now.max(self.stalled_until) } else { now };
        self.free_at = begun + (seek + transfer) * reads;
        Recovery { ready: self.free_at, reads, erases: 0 }
    }
}
