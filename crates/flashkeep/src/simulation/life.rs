//! The life of a drive whose blocks wear out, or of an array of such: what is noted of it, and how it ends.

use super::Simulation;
use crate::drive::Life;
use crate::engine::Contents;
use crate::report::{Mark, WearFacts};
use crate::shelf::Hardware;
use crate::spec::Resolved;

/// When blocks began to die, and when the drive could no longer hold its data, with the bytes written by then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) first_death: Option<Mark>,
    pub(super) first_refusal: Option<Mark>,
    /// Whether it is at its end: a new one in its place is not.
    ended: bool,
}

impl Marks {
    fn note(&mut self, life: &Life, bytes: u64) {
        let mark = |at| (at, bytes);
        self.first_death = self.first_death.or(life.first_death.map(mark));
        if life.has_ended() {
            self.first_refusal = self.first_refusal.or(life.first_refusal.map(mark));
        }
    }
}

impl<C: Contents, H: Hardware<C>> Simulation<'_, C, H> {
    /// Notes what has happened since the last request came; true where the drive takes no more.
    #[inline]
    pub(super) fn watch_life(&mut self) -> bool {
        self.drive.life().expired > 0 && self.note_life()
    }

    #[cold]
    fn note_life(&mut self) -> bool {
        let bytes = self.facts.bytes[1];
        self.marks.note(self.drive.life(), bytes);
        if !self.resolved.is_array() {
            return self.drive.life().has_ended();
        }
        let mut news = false;
        for (device, marks) in (0..).zip(&mut self.ends) {
            if let Some(life) = self.drive.life_of(device) {
                marks.note(life, bytes);
                news |= std::mem::replace(&mut marks.ended, life.has_ended()) != life.has_ended();
            }
        }
        if news {
            self.strike_the_worn();
            self.is_over = self.is_worn_out(self.resolved, &mut Vec::new());
        }
        self.is_over
    }

    /// Whether more members of an array are at their ends than it survives, or a drive is at its own.
    fn is_worn_out(&self, drive: &Resolved, path: &mut Vec<u32>) -> bool {
        if !drive.is_array() {
            let mut plots = self.plots.iter().zip(&self.ends);
            return plots.any(|(plot, marks)| marks.ended && plot.path == *path);
        }
        let mut worn = 0;
        for (number, member) in (0..).zip(&drive.array) {
            path.push(number);
            worn += u32::from(self.is_worn_out(member, path));
            path.pop();
        }
        worn > drive.survives().0
    }

    /// What is said of a drive that was written to its end.
    pub(super) fn obituary(&self) -> Option<String> {
        let (at, bytes) = self.marks.first_refusal?;
        if self.resolved.is_array() {
            return Some(self.obituaries());
        }
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

    /// The same of an array: which members came to their ends, and when.
    fn obituaries(&self) -> String {
        let ends = self.plots.iter().zip(&self.ends);
        let mut ends: Vec<_> = ends.filter_map(|(plot, marks)| Some((marks.first_refusal?, plot))).collect();
        ends.sort_by_key(|&(end, _)| end);
        let told = ends.iter().map(|((at, bytes), plot)| {
            let path: Vec<String> = plot.path.iter().map(u32::to_string).collect();
            format!("member {} after {:.3} s and {bytes} bytes", path.join("/"), at.0 as f64 / 1e9)
        });
        let told = told.collect::<Vec<_>>().join(", ");
        let end = match self.is_over {
            true => format!("; the array survives less, so the run ended with request {}", self.admitted),
            false => String::new(),
        };
        format!("members reached the end of their lives, by bytes that the host had written: {told}{end}")
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
