//! Rebuilds: how much was restored, how fast, and how long a full member would take.

use super::counts::per;
use super::phases::RunPhases;
use super::{figures, plain, unit};
use crate::config::Resolved;
use crate::drive::OpKind;
use crate::engine::Cause;

figures! {
    /// The rebuild of a member, or of a part of a drive.
    pub struct Rebuild {
        /// What is rebuilt, as the fault event names it: `member:1`, `channel:3`.
        member: String => plain(),
        /// Its start.
        start_s: f64 => unit("s"),
        /// Its end; none if it had not ended when the run did, or was interrupted by another event.
        end_s: Option<f64> => unit("s").lower(),
        /// GiB that it wrote.
        gib: f64 => unit("GiB"),
        /// MB (10⁶ bytes) that it wrote in a second.
        mb_s: Option<f64> => unit("MB/s").higher(),
        /// MiB that it wrote in a second.
        mib_s: Option<f64> => unit("MiB/s").higher(),
        /// Hours that the rebuild of a member full of data takes at this speed.
        full_member_hours: Option<f64> => unit("h").lower(),
    }
}

/// The rebuilds of a run, from its phases.
pub(super) fn rebuilds(phases: &RunPhases, drive: &Resolved) -> Vec<Rebuild> {
    let mut found = Vec::new();
    let mut failed = String::new();
    for phase in phases.spans() {
        if let Some(event) = phase.event {
            failed = event.split('@').next().unwrap_or_default().to_owned();
        }
        if phase.name != "rebuilding" {
            continue;
        }
        let bytes = phase.counters.of(OpKind::Program, Cause::Rebuild) * drive.page_bytes();
        let seconds = phase.until - phase.from;
        let speed = per(bytes as f64, seconds);
        found.push(Rebuild {
            member: failed.clone(),
            start_s: phase.from,
            end_s: (!phase.is_last).then_some(phase.until),
            gib: bytes as f64 / f64::from(1 << 30),
            mb_s: speed.map(|speed| speed / 1e6),
            mib_s: speed.map(|speed| speed / f64::from(1 << 20)),
            full_member_hours: speed
                .filter(|&speed| speed > 0.0)
                .map(|speed| member_bytes(drive, &failed) as f64 / speed / 3600.0),
        });
    }
    found
}

/// Notes on rebuilds that restored little: their time says nothing about a full member.
pub(super) fn notes(rebuilds: &[Rebuild], drive: &Resolved) -> Vec<String> {
    let note = |rebuild: &Rebuild| {
        let share = rebuild.gib * f64::from(1 << 30) / member_bytes(drive, &rebuild.member) as f64;
        let hours = rebuild.full_member_hours.filter(|_| share < 0.95)?;
        Some(format!(
            "the rebuild of {} wrote {:.3} GiB, {:.1} % of what it holds when it is full, because other pages were \
             never written (--existing all has all of them); a full one would take {hours:.3} h at {:.1} MB/s",
            rebuild.member,
            rebuild.gib,
            share * 100.0,
            rebuild.mb_s?
        ))
    };
    rebuilds.iter().filter_map(note).collect()
}

/// Bytes of the pages that the failed member offers, or a member-sized part of a drive.
fn member_bytes(drive: &Resolved, failed: &str) -> u64 {
    let mut place = drive;
    for part in failed.split('/') {
        let number = part.strip_prefix("member:").and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| place.array.get(number)) {
            Some(member) => place = member,
            None => return place.member_pages() * place.page_bytes(),
        }
    }
    place.capacity_bytes()
}
