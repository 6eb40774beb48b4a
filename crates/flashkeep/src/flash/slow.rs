//! Slow parts of the flash: for a while, what their arrays do, or what crosses their channel, takes longer.
//!
//! Of several slow parts that a page is in, the slowest counts. An operation takes the times that hold when it is granted.
//! The gaps between the transfers of an operation (`flash.commands.register_ns`) stay as they are.
//!
//! Source: H. S. Gunawi et al., "Fail-Slow at Scale: Evidence of Hardware Performance Faults in Large Production
//! Systems", FAST 2018.

use super::{Geometry, PoolPart, Ppn};
use crate::kernel::{Factor, Span};
use std::ops::Range;

/// A part of the flash that is slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowPart {
    /// The planes that it consists of, or is a part of.
    pub planes: Range<u32>,
    /// Of block pools, the blocks in question.
    pub part: Option<PoolPart>,
    /// How much longer sensing, programming and erasing take.
    pub arrays: Factor,
    /// How much longer commands and data take on the channel.
    pub transfers: Factor,
}

/// The slow parts of a flash array that may have some.
#[derive(Clone, Debug)]
pub(super) struct SlowParts {
    geometry: Geometry,
    parts: Vec<SlowPart>,
}

impl SlowParts {
    pub(super) fn new(geometry: Geometry) -> SlowParts {
        SlowParts { geometry, parts: Vec::new() }
    }

    pub(super) fn set(&mut self, parts: Vec<SlowPart>) {
        self.parts = parts;
    }

    /// What takes a sound array `span`, in the array of a page.
    #[inline(never)]
    pub(super) fn in_array(&self, ppn: Ppn, span: Span) -> Span {
        let (plane, block) = (self.geometry.plane_of(ppn).0, self.geometry.block_of(ppn));
        let slow = |part: &&SlowPart| {
            part.planes.contains(&plane) && part.part.is_none_or(|blocks| blocks.has(block))
        };
        let factor = self.parts.iter().filter(slow).map(|part| part.arrays).max();
        span.stretched(factor.unwrap_or(Factor::ONE))
    }

    /// What takes `span` on a sound channel, on the channel of a page.
    #[inline(never)]
    pub(super) fn on_channel(&self, ppn: Ppn, span: Span) -> Span {
        let plane = self.geometry.plane_of(ppn).0;
        let slow = self.parts.iter().filter(|part| part.planes.contains(&plane));
        span.stretched(slow.map(|part| part.transfers).max().unwrap_or(Factor::ONE))
    }

    /// The longest that array times, and transfers, can be anywhere.
    pub(super) fn longest(&self, array: Span, transfer: Span) -> [Span; 2] {
        let most = |of: fn(&SlowPart) -> Factor| self.parts.iter().map(of).max().unwrap_or(Factor::ONE);
        [array.stretched(most(|part| part.arrays)), transfer.stretched(most(|part| part.transfers))]
    }
}
