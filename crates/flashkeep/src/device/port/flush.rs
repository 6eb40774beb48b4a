//! Write-back in the background: a port writes pages of its cache to the device although the cache has room, so that later
//! writes do not wait for evictions.
//!
//! The port decides what leaves the cache and when; its owner opens a request of the port's own for each victim, reports
//! when that request ends, and calls the port at that instant. Until then the victim's room stays taken.

use super::{Port, PortBackend};
use crate::device::contents::Contents;
use crate::kernel::{SimTime, Span};

/// When a cache writes back, in sectors that it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushRule {
    /// Only to make room.
    #[default]
    Never,
    /// When the owner has been idle for this time; at most this many sectors are on their way at a time.
    Idle {
        /// The time.
        after: Span,
        /// The most sectors on their way.
        most: u64,
    },
    /// From more than `above` down to `below`.
    Watermark {
        /// It begins with more than these.
        above: u64,
        /// It stops with these.
        below: u64,
        /// The most sectors on their way.
        most: u64,
    },
}

/// The state of a port's write-back.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteBack {
    rule: FlushRule,
    /// It has begun and not stopped.
    active: bool,
    /// Sectors on their way below the port.
    pub(super) leaving: u64,
    /// When victims will have been written, and their sectors.
    ends: Vec<(SimTime, u64)>,
    /// When the owner will have been idle for long enough.
    idle_at: Option<SimTime>,
}

impl WriteBack {
    pub(super) fn new(rule: FlushRule) -> WriteBack {
        WriteBack { rule, ..WriteBack::default() }
    }

    /// Nothing is on its way any more.
    pub(super) fn cut(&mut self) {
        *self = WriteBack::new(self.rule);
    }

    /// The room of what has been written by now is free, and the idle time may be over.
    fn go_on(&mut self, now: SimTime) {
        for (_, sectors) in self.ends.extract_if(.., |&mut (at, _)| at <= now) {
            self.leaving -= sectors;
        }
        if self.idle_at.is_some_and(|at| at <= now) {
            (self.idle_at, self.active) = (None, true);
        }
    }

    /// Whether another victim is to leave a cache that holds this many sectors.
    fn wants(&mut self, held: u64) -> bool {
        let most = match self.rule {
            FlushRule::Never => return false,
            FlushRule::Idle { most, .. } => {
                self.active &= held > 0;
                most
            }
            FlushRule::Watermark { above, below, most } => {
                self.active = held > if self.active { below } else { above };
                most
            }
        };
        self.active && self.leaving < most
    }
}

impl<C: Contents> Port<C> {
    /// The same port with a cache that writes back by this rule.
    #[must_use]
    pub fn with_flush(mut self, rule: FlushRule) -> Self {
        if let Some(cache) = &mut self.cache {
            cache.write_back = WriteBack::new(rule);
        }
        self
    }

    /// Whether a victim must be written back now: the owner opens a request and calls [`Port::flush_next`].
    #[inline]
    pub fn wants_flush(&mut self) -> bool {
        self.cache.as_mut().is_some_and(|cache| {
            let held = cache.held();
            cache.write_back.wants(held)
        })
    }

    /// Writes a victim below the port: the least recently used page, or its stripe. Returns its sectors, whose room the
    /// owner [returns](Port::flush_ends) when it knows the end of the write.
    pub fn flush_next(&mut self, behind: &mut impl PortBackend<C>) -> u64 {
        let Some(cache) = &mut self.cache else { return 0 };
        let before = cache.held();
        if !cache.evict_any() {
            return 0;
        }
        let sectors = before - cache.held();
        cache.write_back.leaving += sectors;
        self.evict(behind);
        sectors
    }

    /// Writes all that the cache holds below the port (FLUSH). Returns its sectors, as [`Port::flush_next`] does.
    pub fn flush_all(&mut self, behind: &mut impl PortBackend<C>) -> u64 {
        let mut sectors = 0;
        while self.holds_pages() {
            sectors += self.flush_next(behind);
        }
        sectors
    }

    /// Victims of this many sectors will have been written at an instant: the owner calls [`Port::go_on_flushing`] then.
    pub fn flush_ends(&mut self, sectors: u64, at: SimTime) {
        if let Some(cache) = &mut self.cache {
            cache.write_back.ends.push((at, sectors));
        }
    }

    /// Victims may have been written by now, and the owner may have been idle for long enough.
    pub fn go_on_flushing(&mut self, now: SimTime) {
        if let Some(cache) = &mut self.cache {
            cache.write_back.go_on(now);
        }
    }

    /// Whether the cache writes back in idle time.
    #[must_use]
    pub fn flushes_when_idle(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| matches!(cache.write_back.rule, FlushRule::Idle { .. }))
    }

    /// The owner has been idle since an instant. Returns when it is to call [`Port::go_on_flushing`], if the cache writes
    /// back in idle time and holds anything.
    pub fn begin_idle(&mut self, since: SimTime) -> Option<SimTime> {
        let cache = self.cache.as_mut().filter(|cache| !cache.is_empty())?;
        let FlushRule::Idle { after, .. } = cache.write_back.rule else { return None };
        cache.write_back.idle_at = Some(since + after);
        cache.write_back.idle_at
    }

    /// The cache writes back no longer by itself; whether it did.
    pub fn stop_writing_back(&mut self) -> bool {
        let Some(cache) = &mut self.cache else { return false };
        std::mem::take(&mut cache.write_back.rule) != FlushRule::Never
    }

    /// The owner is idle no longer.
    pub fn end_idle(&mut self) {
        if let Some(cache) = &mut self.cache
            && let FlushRule::Idle { .. } = cache.write_back.rule
        {
            (cache.write_back.idle_at, cache.write_back.active) = (None, false);
        }
    }
}
