//! Ageing by construction of members whose map keeps a logical block in one block: each block of the model is a
//! logical block. It is written from its first page on; the pages that are not valid are trimmed.

use super::{Device, RunClock};
use crate::config::Resolved;
use crate::devices::Body;
use crate::engine::{Command, Contents, Flags, NodeId, Page, Scheme, Verb};
use crate::ftl::ageing::{Aged, Model, Wish, valid_places};
use crate::kernel::Bits;
use flashkeep_trace::random::Random;

/// What members are aged to.
pub(super) struct AgedBlocks {
    model: Model,
    wish: Wish,
    block_pages: u32,
    /// Planes of a member.
    planes: u64,
}

impl AgedBlocks {
    /// The blocks of such a drive's members.
    pub(super) fn new(drive: &Resolved, model: Model, wish: Wish) -> Self {
        let planes = drive.pooled_planes() / u64::from(drive.parts());
        AgedBlocks { model, wish, block_pages: drive.block_pages(), planes }
    }
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// Ages logical blocks, as many as the model has blocks, or all; `order` says which come first. Pages that
    /// the workload is known to `read` are not valid: they are created afterwards.
    pub(super) fn age_blocks(
        &mut self,
        aged: &AgedBlocks,
        order: impl Fn(u32) -> Vec<u32>,
        read: &Bits,
        seed: u64,
        resolved: &Resolved,
        clock: &RunClock,
    ) {
        let mut random = Random::stream(seed, "ageing");
        let each = |_| aged.model.aged(&aged.wish, &mut random);
        let blocks: Vec<Aged> = (0..aged.planes).flat_map(each).collect();
        let row = self.pages_of_a_row(resolved);
        let unit = row * aged.block_pages;
        let units = order((self.port().pages().len() / u64::from(unit)) as u32);
        for (unit, block) in units.into_iter().map(|at| at * unit).zip(blocks) {
            let mut valid = Bits::default();
            valid_places(block, &mut random, |at| {
                valid.set(at, true);
            });
            self.age_block(unit, row, block, &valid, read, clock);
        }
    }

    /// Pages of the host that lie in one page of every member: a stripe's data, where there are stripes.
    fn pages_of_a_row(&self, resolved: &Resolved) -> u32 {
        let grain = self.engine.tree().scheme(NodeId::ROOT).map_or(1, |scheme| scheme.grain(Verb::Write));
        let has_stripes = resolved.scheme().data_members.is_some() && grain < u32::MAX;
        if has_stripes { grain } else { 1 }
    }

    /// One logical block of every member.
    fn age_block(&mut self, first: u32, row: u32, block: Aged, valid: &Bits, read: &Bits, clock: &RunClock) {
        let mut outdated = Vec::new();
        for at in 0..block.written {
            let pages = first + at * row..first + (at + 1) * row;
            if valid.has(at) && !pages.clone().any(|page| read.has(page)) {
                self.create_run(pages.start.into(), row, clock);
            } else {
                self.leave_nothing(Verb::Write, pages.start, row, clock);
                outdated.push(pages.start);
            }
        }
        outdated.into_iter().for_each(|first| self.leave_nothing(Verb::Trim, first, row, clock));
    }

    /// Writes or trims pages that the host does not know of.
    fn leave_nothing(&mut self, verb: Verb, first: u32, count: u32, clock: &RunClock) {
        let request = self.engine.open(u32::MAX, count);
        let command = Command { flags: Flags::BEFORE, ..Command::new(verb, Page::of(first), count as u16) };
        let Device { engine, body, .. } = self;
        engine.submit(body, clock.now, command, request.pages());
        self.end_preparation(request, clock);
    }
}
