//! Ageing by construction of log-structured schemes: each superblock but the one that GC keeps is a block of the model.
//! The log fills its slots itself, those that will be valid with the pages that it gets.

use super::{Device, RunClock};
use crate::config::Resolved;
use crate::devices::Body;
use crate::engine::{Contents, NodeId, Page, Why};
use crate::ftl::ageing::{Model, Wish, valid_places};
use crate::host::Existing;
use crate::kernel::Bits;
use crate::schemes::{AgedSuperblock, Any, StripeLog};
use flashkeep_trace::random::Random;

/// Tells the log of a drive which slots will be valid; whether there are any.
pub(super) fn begin_ageing_log(drive: &Resolved, log: &mut StripeLog, existing: Existing, seed: u64) -> bool {
    let Some((model, wish)) = wish_of_log(drive, log, existing) else { return false };
    let mut random = Random::stream(seed, "ageing");
    let mut superblocks = Vec::new();
    for aged in model.aged(&wish, &mut random) {
        let mut valid = Bits::default();
        valid_places(aged, &mut random, |slot| {
            valid.set(slot, true);
        });
        superblocks.push(AgedSuperblock { written: aged.written, valid });
    }
    log.begin_ageing(superblocks);
    wish.valid_ppm > 0
}

/// How the superblocks are aged; none if the flash is new.
fn wish_of_log(drive: &Resolved, log: &StripeLog, existing: Existing) -> Option<(Model, Wish)> {
    let model = drive.ageing_model()?;
    let aged_ratio = drive.aged_ratio();
    let (superblocks, rows, row) = log.new_superblocks();
    let pages = rows * row;
    let written = (f64::from(superblocks - 1) * f64::from(pages) * aged_ratio) as u32;
    let full = u64::from(written / pages * pages).max(1);
    let valid_ppm = match existing {
        Existing::All => (drive.logical_pages() * 1_000_000 / full).min(1_000_000) as u32,
        _ if model.leaves_valid => (drive.valid_ratio() * 1e6).round() as u32,
        _ => 0,
    };
    // A superblock that is written in part ends with a whole row.
    let written_each = (f64::from(rows) * aged_ratio).ceil() as u32 * row;
    Some((model, Wish { pages, written, written_each, valid_ppm }))
}

fn log_mut(scheme: &mut Any) -> &mut StripeLog {
    scheme.log_mut().expect("a log, as was seen when its ageing began")
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// Whether the logs that a page comes to have slots for it.
    pub(super) fn fits_logs(&self, page: u64) -> bool {
        let mut fits = true;
        self.engine.tree().schemes_of(Page(page), &mut |scheme: &Any| {
            fits &= scheme.log().is_none_or(StripeLog::takes_aged);
        });
        fits
    }

    /// Slots that no page has filled are wasted; from now on the log writes as usual.
    pub(super) fn end_ageing_log(&mut self, node: NodeId, clock: &RunClock) {
        let now = clock.now;
        let Device { engine, body, .. } = self;
        log_mut(engine.tree_mut().scheme_mut(node)).give_up_slots();
        while log_mut(engine.tree_mut().scheme_mut(node)).wastes_next()
            && engine.background(body, now, node, Why::Urgent)
        {}
        log_mut(engine.tree_mut().scheme_mut(node)).end_ageing();
    }
}
