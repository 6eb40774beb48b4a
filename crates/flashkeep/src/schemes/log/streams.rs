//! Several open superblocks, one for each class of pages ([`Heat`]): pages with different lifetimes do not share
//! superblocks. With `ftl.gc.separate` GC continues with the superblock that it began, and the host does not get the rest
//! of it.
//!
//! The superblock of the page that was written last is the log's `frontier`; those of the other streams are kept aside.
//! GC copies the current pages of a victim into one superblock, whose rest goes to the stream of most of these pages. A
//! stream that finds no free superblock continues in that of another stream, so that every slot can be used for any
//! page.

use super::frontier::{NONE, WriteFrontier};
use super::{LogStripes, StripeLog};
use crate::blocks::Heat;
use serde::{Deserialize, Serialize};

/// The streams of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LogStreams {
    pub(super) heat: Heat,
    /// Moved pages have a superblock of their own.
    pub(super) separate: bool,
    /// The stream whose superblock is in front, and the superblocks of the streams; the place of that one is empty.
    /// There are none with a single stream.
    current: u8,
    aside: Vec<WriteFrontier>,
}

impl LogStreams {
    pub(super) fn new(classes: u8, separate: bool, pages: u32) -> Self {
        let aside = if classes > 1 { vec![WriteFrontier::none(); classes.into()] } else { Vec::new() };
        LogStreams { heat: Heat::new(classes, pages), separate, current: 0, aside }
    }

    /// All superblocks are closed.
    pub(super) fn restart(&mut self) {
        self.current = 0;
        self.aside.fill(WriteFrontier::none());
    }

    pub(super) fn are_several(&self) -> bool {
        !self.aside.is_empty()
    }

    /// The stream whose superblock is in front.
    pub(super) fn current(&self) -> u8 {
        self.current
    }
}

impl LogStripes {
    /// The open superblocks of the host.
    #[inline]
    pub(super) fn frontiers(&self) -> impl Iterator<Item = &WriteFrontier> {
        std::iter::once(&self.frontier).chain(&self.streams.aside)
    }

    #[inline]
    pub(super) fn frontiers_mut(&mut self) -> impl Iterator<Item = &mut WriteFrontier> {
        std::iter::once(&mut self.frontier).chain(&mut self.streams.aside)
    }

    /// Rests that count as room for the host.
    pub(super) fn rests_of_host(&self) -> usize {
        if self.streams.separate { 0 } else { self.rests.len() }
    }

    /// The superblock of a stream is in front from now on.
    #[inline]
    pub(super) fn turn_to(&mut self, stream: u8) {
        if stream != self.streams.current {
            let LogStripes { frontier, streams, .. } = self;
            std::mem::swap(frontier, &mut streams.aside[usize::from(streams.current)]);
            std::mem::swap(frontier, &mut streams.aside[usize::from(stream)]);
            streams.current = stream;
        }
    }

    /// The stream that has such a superblock is in front from now on; false if there is none.
    pub(super) fn turn_to_one(&mut self, wanted: impl Fn(&WriteFrontier) -> bool) -> bool {
        if wanted(&self.frontier) {
            return true;
        }
        let found = self.streams.aside.iter().position(wanted);
        if let Some(stream) = found {
            self.turn_to(stream as u8);
        }
        found.is_some()
    }
}

impl StripeLog {
    /// The rest of a superblock for the stream in front: one of its own, or, if GC does not keep its rests,
    /// none.
    pub(super) fn own_rest(&mut self) -> Option<WriteFrontier> {
        let stream = self.stripes.streams.current;
        let own = |rest: &WriteFrontier| rest.stream == stream;
        let is_given = !self.stripes.streams.separate && self.gives_rests();
        let at = if is_given { self.stripes.rests.iter().position(own) } else { None };
        at.and_then(|at| self.stripes.rests.remove(at))
    }

    /// No superblock is free: the stream in front continues in the rest of another, and those that are full are
    /// closed.
    pub(super) fn take_over(&mut self) -> Option<WriteFrontier> {
        for at in 0..self.stripes.streams.aside.len() {
            let frontier = &self.stripes.streams.aside[at];
            if frontier.superblock != NONE && !frontier.has_room() && frontier.pending == 0 {
                self.stripes.superblocks.close(frontier.superblock);
                self.stripes.streams.aside[at] = WriteFrontier::none();
                self.wants_room = true;
            }
        }
        let rest = if self.gives_rests() { self.stripes.rests.pop_front() } else { None };
        rest.or_else(|| {
            let open = self.stripes.streams.aside.iter_mut().find(|frontier| frontier.has_room())?;
            Some(std::mem::replace(open, WriteFrontier::none()))
        })
    }
}
