//! The end of life of a drive whose blocks wear out, or of an array of such drives. A drive that has refused
//! a write is read-only. So is an array when more of its members than it survives have refused one. Later
//! writes and trims are refused at the host interface; reads are still served.

use super::{Device, Failures, RunAccounts, Simulation};
use crate::config::Resolved;
use crate::devices::{Body, Inspect};
use crate::drive::{BlockErases, Drive, DriveLife};
use crate::engine::Contents;
use crate::error::{DriveError, Error};
use crate::metrics::{Mark, WearFacts, called};

/// When the first block wore out and when the drive refused its first write, with the bytes written by then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) first_worn_block: Option<Mark>,
    pub(super) first_refusal: Option<Mark>,
    /// Whether it has reached its end of life; a replacement has not.
    ended: bool,
}

impl Marks {
    fn note(&mut self, life: &DriveLife, bytes: u64) {
        let mark = |at| (at, bytes);
        self.first_worn_block = self.first_worn_block.or(life.first_worn_block.map(mark));
        if life.has_ended() {
            self.first_refusal = self.first_refusal.or(life.first_refusal.map(mark));
        }
    }
}

/// The write gate: whether writes and trims are accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteGate {
    /// When it was closed, and the number of requests admitted by then.
    shut: Option<(Mark, u64)>,
    /// The number of writes and trims refused since.
    pub(super) refused: u64,
}

impl WriteGate {
    #[inline]
    pub(super) fn is_shut(&self) -> bool {
        self.shut.is_some()
    }
}

impl RunAccounts {
    /// Records members that reached their end of life; returns whether there are new ones.
    fn have_more_members_ended<C: Contents, H: Body<C>>(
        &mut self,
        bytes: u64,
        device: &Device<C, H>,
    ) -> bool {
        let mut news = false;
        for (number, marks) in (0..).zip(&mut self.ends) {
            if let Some(life) = device.body.drive(number).map(Drive::life) {
                marks.note(life, bytes);
                news |= std::mem::replace(&mut marks.ended, life.has_ended()) != life.has_ended();
            }
        }
        news
    }

    /// Whether more members of an array are worn out than it survives, or a lone drive is.
    fn is_worn_out<C: Contents, H: Body<C>>(
        &self,
        drive: &Resolved,
        path: &mut Vec<u32>,
        device: &Device<C, H>,
    ) -> bool {
        if !drive.is_array() {
            let mut placements = device.placements.iter().zip(&self.ends);
            return placements.any(|(placement, marks)| marks.ended && placement.path == *path);
        }
        let mut worn = 0;
        for (number, member) in (0..).zip(&drive.array) {
            path.push(number);
            worn += u32::from(self.is_worn_out(member, path, device));
            path.pop();
        }
        worn > drive.survives().0
    }

    /// Which members of an array reached their end of life, and when.
    fn obituaries<C: Contents, H: Body<C>>(&self, device: &Device<C, H>, failures: &Failures) -> String {
        let ends = device.placements.iter().zip(&self.ends);
        let mut ends: Vec<_> =
            ends.filter_map(|(placement, marks)| Some((marks.first_refusal?, placement))).collect();
        ends.sort_by_key(|&(end, _)| end);
        let told = ends.iter().map(|((at, bytes), placement)| {
            format!("member {} after {:.3} s and {bytes} bytes", called(&placement.path), at.0 as f64 / 1e9)
        });
        let told = told.collect::<Vec<_>>().join(", ");
        let end = failures.write_gate.shut.map_or_else(String::new, |(_, admitted)| {
            format!(
                ". The array does not survive that; it ended after {admitted} requests. {}",
                failures.refusals()
            )
        });
        format!(
            "members reached the end of their lives (with bytes written by the host until then): \
             {told}{end}"
        )
    }
}

impl Failures {
    fn refusals(&self) -> String {
        format!("It is read-only from then on: {} writes and trims were refused", self.write_gate.refused)
    }

    /// No request was admitted before the end of its life.
    pub(super) fn ended_before_time_0(&self, resolved: &Resolved) -> Error {
        Error::Drive(DriveError {
            path: resolved.path.clone(),
            line: None,
            field: Some("ftl.wear.erase_budget".into()),
            message: format!(
                "the drive reached the end of its life before time 0, so all {} writes and trims were \
                 refused; accepted: more erases, or a shorter conditioning (condition.round, \
                 condition.most_rounds)",
                self.write_gate.refused
            ),
        })
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Records events since the last request was admitted.
    #[inline]
    pub(super) fn watch_life(&mut self) {
        if self.device.body.life().expired > 0 && !self.failures.write_gate.is_shut() {
            self.note_life();
            self.inject_into_worn();
        }
    }

    /// The same at the end, when nothing fails any more.
    pub(super) fn look_at_life(&mut self) {
        if self.device.body.life().expired > 0 && !self.failures.write_gate.is_shut() {
            self.note_life();
        }
    }

    #[cold]
    fn note_life(&mut self) {
        let bytes = self.accounts.facts.bytes[1];
        self.accounts.marks.note(self.device.body.life(), bytes);
        let array = self.resolved.is_array();
        if array
            && self.accounts.have_more_members_ended(bytes, &self.device)
            && self.accounts.is_worn_out(self.resolved, &mut Vec::new(), &self.device)
        {
            self.failures.write_gate.shut = Some(((self.clock.now, bytes), self.host.admitted));
        }
        if !array && self.device.body.life().has_ended() {
            self.failures.write_gate.shut =
                self.accounts.marks.first_refusal.map(|mark| (mark, self.host.admitted));
        }
    }

    /// The warning for a drive that reached its end of life.
    pub(super) fn end_of_life_warning(&self) -> Option<String> {
        let (at, bytes) = self.accounts.marks.first_refusal?;
        if self.resolved.is_array() {
            return Some(self.accounts.obituaries(&self.device, &self.failures));
        }
        let life = self.device.body.life();
        let seconds = |ns: u64| ns as f64 / 1e9;
        let death = life.first_worn_block.map_or(0.0, |at| seconds(at.0));
        Some(format!(
            "the drive has reached the end of its life after {:.3} s, {} requests and {bytes} bytes \
             written by the host: too few blocks are left for its data, and a write was refused; {} of {} \
             blocks have had their last erase, the first after {death:.3} s. {}",
            seconds(at.0),
            self.failures.write_gate.shut.map_or(self.host.admitted, |(_, admitted)| admitted),
            life.expired,
            self.device.body.erases().len(),
            self.failures.refusals(),
        ))
    }

    /// Wear, with the erases of each block in this run.
    pub(super) fn wear(&self, erases: BlockErases) -> WearFacts {
        let wear = &self.resolved.spec.ftl.wear;
        WearFacts {
            erases,
            before: self.device.body.erases_before(),
            budget: wear.erase_budget,
            expired: self.device.body.life().expired,
            first_worn_block: self.accounts.marks.first_worn_block,
            first_refusal: self.accounts.marks.first_refusal,
            refused_requests: Some(self.failures.write_gate.refused),
            end: self
                .failures
                .write_gate
                .shut
                .map_or((self.clock.last, self.accounts.facts.bytes[1]), |(mark, _)| mark),
            capacity: self.resolved.capacity_bytes(),
            warranty_years: self.resolved.warranty_years(),
        }
    }
}
