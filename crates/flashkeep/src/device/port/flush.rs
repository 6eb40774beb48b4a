//! Write-back in the background: a port writes pages of its cache behind it although the cache has room, so that later
//! writes do not wait for evictions.
//!
//! The port decides what leaves the cache and when; its owner opens a request of the port's own for each victim, and
//! reports when that request has ended. Until then the victim's room stays taken.

use super::{Port, PortBackend};
use crate::device::contents::Contents;
use crate::kernel::Span;

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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteBack {
    rule: FlushRule,
    /// It has begun and not stopped.
    active: bool,
    /// Sectors on their way behind the port.
    pub(super) leaving: u64,
}

impl WriteBack {
    pub(super) fn new(rule: FlushRule) -> WriteBack {
        WriteBack { rule, ..WriteBack::default() }
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

    /// Whether a victim is to be written back now: the owner opens a request and calls [`Port::flush_next`].
    #[inline]
    pub fn wants_flush(&mut self) -> bool {
        self.cache.as_mut().is_some_and(|cache| {
            let held = cache.held();
            cache.write_back.wants(held)
        })
    }

    /// Writes a victim behind the port: the least recently used page, or its stripe. Returns its sectors, whose room the
    /// owner [returns](Port::flush_ended) when the write has ended.
    pub fn flush_next(&mut self, behind: &mut impl PortBackend<C>) -> u64 {
        let Some(cache) = &mut self.cache else { return 0 };
        let before = cache.held();
        if !cache.evict(None) {
            return 0;
        }
        let sectors = before - cache.held();
        cache.write_back.leaving += sectors;
        self.evict(behind);
        sectors
    }

    /// Writes all that the cache holds behind the port (FLUSH). Returns its sectors, as [`Port::flush_next`] does.
    pub fn flush_all(&mut self, behind: &mut impl PortBackend<C>) -> u64 {
        let mut sectors = 0;
        while self.holds_pages() {
            sectors += self.flush_next(behind);
        }
        sectors
    }

    /// A victim of this many sectors has been written: its room is free.
    pub fn flush_ended(&mut self, sectors: u64) {
        if let Some(cache) = &mut self.cache {
            cache.write_back.leaving -= sectors;
        }
    }

    /// After how long an idle time the cache writes back, if it does and holds anything.
    #[must_use]
    pub fn flushes_after(&self) -> Option<Span> {
        let cache = self.cache.as_ref().filter(|cache| !cache.is_empty())?;
        match cache.write_back.rule {
            FlushRule::Idle { after, .. } => Some(after),
            _ => None,
        }
    }

    /// The idle time is over, or a request has ended it.
    pub fn set_idle(&mut self, idle: bool) {
        if let Some(cache) = &mut self.cache
            && matches!(cache.write_back.rule, FlushRule::Idle { .. })
        {
            cache.write_back.active = idle;
        }
    }
}
