//! Ageing by construction of log-structured schemes: superblocks are written before time 0, slot by slot, with as many
//! valid pages each as the model says.

use super::age::{PATIENCE, Tell, scattered};
use super::{Device, Simulation, Stop};
use crate::buffer::Existing;
use crate::devices::Body;
use crate::engine::{Command, Contents, Flags, NodeId, Verb};
use crate::ftl::ageing::{Model, Wish, valid_places};
use crate::kernel::Bits;
use crate::schemes::StripeLog;
use flashkeep_trace::random::Random;

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Whether the aged device is a log, which places pages itself.
    pub(super) fn ages_log(&self) -> bool {
        let scheme = self.device.engine.scheme(NodeId::ROOT);
        !self.resolved.is_array() && scheme.is_some_and(|scheme| scheme.log().is_some())
    }

    /// Ages the superblocks of a log. The pages of valid slots are drawn as on other drives; the other slots are
    /// invalid.
    pub(super) fn age_log(&mut self, tell: Tell<'_>) -> Result<(), Stop> {
        let start = &self.resolved.spec.start;
        let all = start.existing == Existing::All;
        let scans = start.scan && start.existing == Existing::Reads;
        let seed = self.job.seed.unwrap_or(1);
        let Some((model, wish)) = self.wish_of_log(all) else { return Ok(()) };
        let read = if scans && wish.valid_ppm > 0 { self.pages_read(tell)? } else { Bits::default() };
        let mut random = Random::stream(seed, "ageing");
        let superblocks = model.aged(&wish, &mut random);
        let mut left: u64 = superblocks.iter().map(|superblock| u64::from(superblock.valid)).sum();
        let mut every = scattered(self.device.buffer.pages().len(), seed);
        let mut drawn = Random::stream(seed, "aged pages");
        let mut patience = PATIENCE * u64::from(self.device.buffer.pages().len().max(64));
        self.device.body.set_untimed(true);
        self.log_mut().begin_ageing();
        for superblock in superblocks {
            let mut valid = Bits::default();
            valid_places(superblock, &mut random, |slot| {
                valid.set(slot, true);
            });
            for slot in 0..superblock.written {
                if !valid.has(slot) {
                    self.waste_slot();
                    continue;
                }
                let page = if all { every.next() } else { self.draw_page(&mut drawn, &read, &mut patience) };
                match page {
                    Some(page) => self.create_run(page, 1),
                    None if all => self.waste_slot(),
                    None => return Err(self.no_place(left)),
                }
                left -= 1;
            }
            self.log_mut().set_aside();
        }
        self.log_mut().end_ageing();
        self.device.body.set_untimed(self.clock.untimed);
        Ok(())
    }

    /// A page that does not exist and that the workload does not read; none if no such page is found.
    fn draw_page(&self, random: &mut Random, read: &Bits, patience: &mut u64) -> Option<u32> {
        let pages = self.device.buffer.pages();
        while *patience > 0 {
            *patience -= 1;
            let page = random.below(u64::from(pages.len())) as u32;
            if pages.sectors(page) == 0 && !read.has(page) {
                return Some(page);
            }
        }
        None
    }

    fn log_mut(&mut self) -> &mut StripeLog {
        self.device.engine.scheme_mut(NodeId::ROOT).log_mut().expect("a log, as was asked before")
    }

    /// How the superblocks are aged, one of which is always kept empty for GC; none if the flash is new.
    fn wish_of_log(&self, all: bool) -> Option<(Model, Wish)> {
        let model = self.resolved.ageing_model()?;
        let aged_ratio = self.resolved.aged_ratio();
        let log = self.device.engine.scheme(NodeId::ROOT)?.log()?;
        let (superblocks, rows, row) = log.new_superblocks();
        let pages = rows * row;
        let written = (f64::from(superblocks - 1) * f64::from(pages) * aged_ratio) as u32;
        let full = u64::from(written / pages * pages).max(1);
        let valid_ppm = match all {
            true => (u64::from(self.device.buffer.pages().len()) * 1_000_000 / full).min(1_000_000) as u32,
            false if model.leaves_valid => (self.resolved.valid_ratio() * 1e6).round() as u32,
            false => 0,
        };
        // A superblock that is written in part ends with a whole row.
        let written_each = (f64::from(rows) * aged_ratio).ceil() as u32 * row;
        Some((model, Wish { pages, written, written_each, valid_ppm }))
    }

    /// Writes a slot that is invalid immediately.
    fn waste_slot(&mut self) {
        let filler = self.log_mut().filler();
        let request = self.device.engine.open(u32::MAX, 0);
        let now = self.clock.now;
        let Device { engine, body, .. } = &mut self.device;
        for verb in [Verb::Write, Verb::Trim] {
            let ticket = engine.extend(request, std::iter::once(C::default()));
            engine.submit(
                body,
                now,
                Command { flags: Flags::BEFORE, ..Command::new(verb, filler, 1) },
                ticket,
            );
        }
        self.end_preparation(request);
    }
}
