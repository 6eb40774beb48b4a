//! The life of a drive whose blocks wear out: what is noted of it, and how it ends.

use super::Simulation;
use crate::engine::Contents;
use crate::report::{Mark, WearFacts};
use crate::shelf::Hardware;

/// When blocks began to die, and when the drive could no longer hold its data, with the bytes written by then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    first_death: Option<Mark>,
    first_refusal: Option<Mark>,
}

impl<C: Contents, H: Hardware<C>> Simulation<'_, C, H> {
    /// Notes what has happened since the last request came; true where the drive takes no more.
    #[inline]
    pub(super) fn watch_life(&mut self) -> bool {
        self.drive.life().expired > 0 && self.note_life()
    }

    #[cold]
    fn note_life(&mut self) -> bool {
        let (life, bytes) = (self.drive.life(), self.facts.bytes[1]);
        let mark = |at| (at, bytes);
        self.marks.first_death = self.marks.first_death.or(life.first_death.map(mark));
        let ended = life.has_ended();
        if ended {
            self.marks.first_refusal = self.marks.first_refusal.or(life.first_refusal.map(mark));
        }
        ended
    }

    /// What is said of a drive that was written to its end.
    pub(super) fn obituary(&self) -> Option<String> {
        let (at, bytes) = self.marks.first_refusal?;
        let life = self.drive.life();
        let seconds = |ns: u64| ns as f64 / 1e9;
        let death = life.first_death.map_or(0.0, |at| seconds(at.0));
        Some(format!(
            "the drive has reached the end of its life: after {:.3} s and {bytes} bytes written by the host too few blocks \
             are left for its data, and a write was refused; {} of {} blocks have had their erases, the first after \
             {death:.3} s. The run ended with request {}",
            seconds(at.0),
            life.expired,
            self.drive.erases().len(),
            self.admitted,
        ))
    }

    pub(super) fn wear(&self) -> WearFacts {
        let wear = &self.resolved.spec.ftl.wear;
        WearFacts {
            erases: self.erases(),
            before: self.erases_before.clone(),
            budget: wear.erase_budget,
            expired: self.drive.life().expired,
            first_death: self.marks.first_death,
            first_refusal: self.marks.first_refusal,
            end: (self.last, self.facts.bytes[1]),
            capacity: self.resolved.capacity_bytes(),
            warranty_years: wear.warranty_years,
        }
    }
}
