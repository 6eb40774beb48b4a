//! Flash operations, counted by member, kind and cause.

use crate::engine::Cause;
use crate::flash::OpKind;

/// A number for each kind of operation and each cause.
pub type ByKindAndCause = [[u64; Cause::ALL.len()]; OpKind::ALL.len()];

/// Counts of the SLC cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcCounts {
    /// Pages programmed in the cache.
    pub written: u64,
    /// Pages that were written past it, because it had no room.
    pub bypassed: u64,
    /// Pages moved out of it.
    pub folded: u64,
    /// Pages that were not valid any more when their block was folded.
    pub died: u64,
    /// Erases of its blocks.
    pub erases: u64,
}

impl SlcCounts {
    /// Combines each count with another one.
    fn zip(self, other: SlcCounts, with: impl Fn(u64, u64) -> u64) -> SlcCounts {
        SlcCounts {
            written: with(self.written, other.written),
            bypassed: with(self.bypassed, other.bypassed),
            folded: with(self.folded, other.folded),
            died: with(self.died, other.died),
            erases: with(self.erases, other.erases),
        }
    }
}

/// Counts of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    by_member: Vec<ByKindAndCause>,
    /// Reads of pages that do not exist, which need no flash operation.
    pub unmapped_reads: u64,
    /// Commands of more than one plane, by kind.
    pub multi_plane: [u64; OpKind::ALL.len()],
    /// Reads and programs that overlapped with the one before by a cache register, by kind.
    pub cache: [u64; OpKind::ALL.len()],
    /// How often operations were suspended for reads, by kind.
    pub suspensions: [u64; OpKind::ALL.len()],
    /// Pages that planes skipped to program together with others.
    pub wasted_pages: u64,
    /// Pages that were read or programmed together with another one of the same page of the flash, by kind.
    pub along: [u64; OpKind::ALL.len()],
    /// Flash pages that were programmed in the operation of another one of the same word line, by kind.
    pub joined: [u64; OpKind::ALL.len()],
    /// Slots of programmed word lines that stayed empty.
    pub empty_places: u64,
    /// The SLC cache.
    pub slc: SlcCounts,
    /// Reads served from the controller's memory, because the page was on its way to flash or already on its way up.
    pub reads_from_memory: u64,
}

impl Counters {
    /// All counters zero, for this many members.
    #[must_use]
    pub fn new(members: usize) -> Self {
        Counters {
            by_member: vec![[[0; Cause::ALL.len()]; OpKind::ALL.len()]; members],
            ..Counters::default()
        }
    }

    /// Counts one.
    #[inline]
    pub fn count(&mut self, member: u16, kind: OpKind, cause: Cause) {
        self.by_member[usize::from(member)][kind as usize][cause as usize] += 1;
    }

    /// Counts several at once.
    #[inline]
    pub fn add(&mut self, member: u16, kind: OpKind, cause: Cause, count: u64) {
        self.by_member[usize::from(member)][kind as usize][cause as usize] += count;
    }

    /// Adds the counters of another device, whose members follow these.
    pub fn append(&mut self, other: &Counters) {
        self.by_member.extend_from_slice(&other.by_member);
        self.unmapped_reads += other.unmapped_reads;
        self.reads_from_memory += other.reads_from_memory;
        self.wasted_pages += other.wasted_pages;
        self.empty_places += other.empty_places;
        self.slc = self.slc.zip(other.slc, |count, more| count + more);
        let along = (&mut self.along, other.along);
        let multi_plane = (&mut self.multi_plane, other.multi_plane);
        let joined = (&mut self.joined, other.joined);
        let suspensions = (&mut self.suspensions, other.suspensions);
        for (counts, more) in [multi_plane, (&mut self.cache, other.cache), along, joined, suspensions] {
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
    }

    /// Operations of one member.
    #[must_use]
    pub fn of_member(&self, member: usize, kind: OpKind, cause: Cause) -> u64 {
        self.by_member[member][kind as usize][cause as usize]
    }

    /// Members.
    #[must_use]
    pub fn members(&self) -> usize {
        self.by_member.len()
    }

    /// Operations of all members.
    #[must_use]
    pub fn of(&self, kind: OpKind, cause: Cause) -> u64 {
        (0..self.members()).map(|member| self.of_member(member, kind, cause)).sum()
    }

    /// Operations of all members, by kind and cause.
    #[must_use]
    pub fn by_kind_and_cause(&self) -> ByKindAndCause {
        OpKind::ALL.map(|kind| Cause::ALL.map(|cause| self.of(kind, cause)))
    }

    /// Operations of all members and causes.
    #[must_use]
    pub fn total(&self, kind: OpKind) -> u64 {
        Cause::ALL.into_iter().map(|cause| self.of(kind, cause)).sum()
    }

    /// The difference since `before`.
    #[must_use]
    pub fn since(&self, before: &Counters) -> Counters {
        let mut difference = self.clone();
        for (member, old) in difference.by_member.iter_mut().zip(&before.by_member) {
            for (count, old) in member.as_flattened_mut().iter_mut().zip(old.as_flattened()) {
                *count -= old;
            }
        }
        for (count, old) in difference.multi_plane.iter_mut().zip(before.multi_plane) {
            *count -= old;
        }
        for (count, old) in difference.cache.iter_mut().zip(before.cache) {
            *count -= old;
        }
        for (count, old) in difference.along.iter_mut().zip(before.along) {
            *count -= old;
        }
        for (count, old) in difference.joined.iter_mut().zip(before.joined) {
            *count -= old;
        }
        for (count, old) in difference.suspensions.iter_mut().zip(before.suspensions) {
            *count -= old;
        }
        difference.wasted_pages -= before.wasted_pages;
        difference.empty_places -= before.empty_places;
        difference.slc = self.slc.zip(before.slc, |count, old| count - old);
        difference.unmapped_reads -= before.unmapped_reads;
        difference.reads_from_memory -= before.reads_from_memory;
        difference
    }
}
