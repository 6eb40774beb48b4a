//! The write cache: a write is acknowledged when it is in the controller's memory, and occupies room until it
//! is on the platter. Writes without room wait in the order of their arrival. A write that the arm serves
//! before it has room, or that is larger than the cache, is acknowledged when it is on the platter.

use super::Disk;
use super::queue::DiskOp;
use crate::disk::DISK_SECTOR_BYTES;
use crate::engine::{Breakdown, CompletionPart, Contents, Done, Part};
use crate::kernel::{Id, SimTime};
use std::collections::VecDeque;

/// Memory for writes, in bytes.
#[derive(Clone, Debug)]
pub(super) struct DiskCache<C> {
    size: u64,
    used: u64,
    /// What the write under way takes, and until when.
    leaving: (SimTime, u64),
    waiting: VecDeque<Id<DiskOp<C>>>,
}

impl<C> DiskCache<C> {
    pub(super) fn new(size: u64) -> Self {
        DiskCache { size, used: 0, leaving: (SimTime::ZERO, 0), waiting: VecDeque::new() }
    }

    pub(super) fn empty(&mut self) {
        *self = DiskCache::new(self.size);
    }
}

impl<C: Contents> Disk<C> {
    fn cache_bytes(&self, op: Id<DiskOp<C>>) -> u64 {
        self.queue.ops[op].sectors * u64::from(DISK_SECTOR_BYTES)
    }

    /// A write has come.
    pub(super) fn offer_to_cache(&mut self, now: SimTime, op: Id<DiskOp<C>>) {
        if self.cache_bytes(op) <= self.cache.size {
            self.cache.waiting.push_back(op);
            self.make_room(now);
        }
    }

    /// What has left the cache makes room for those who wait.
    pub(super) fn make_room(&mut self, now: SimTime) {
        if self.cache.leaving.0 <= now {
            self.cache.used -= std::mem::take(&mut self.cache.leaving.1);
        }
        while let Some(&op) = self.cache.waiting.front() {
            let bytes = self.cache_bytes(op);
            if self.cache.used + bytes > self.cache.size {
                return;
            }
            self.cache.waiting.pop_front();
            self.cache.used += bytes;
            let service = self.mechanics.through_memory(self.queue.ops[op].sectors);
            let DiskOp { token, command, asked, .. } = self.queue.ops[op];
            let spent = self.list(&Breakdown::of(Part::Buffer, now.since(asked)), Part::Cache, service);
            let done = Done::at(token, command.count.into(), now + service);
            self.done.push(Done { part: CompletionPart::Acknowledged, service, spent, ..done });
            self.queue.note_cached(op);
        }
        self.queue.refill();
    }

    /// A write is on its way to the platter, where it will be at `end`.
    pub(super) fn leave_cache(&mut self, op: Id<DiskOp<C>>, end: SimTime) {
        if self.queue.ops[op].cached {
            self.cache.leaving = (end, self.cache_bytes(op));
        } else {
            self.cache.waiting.retain(|&other| other != op);
        }
    }
}
