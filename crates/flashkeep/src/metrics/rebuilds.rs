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
        /// The share of what the member holds when it is full; below 1 if pages were never written, or were overwritten
        /// before they were rebuilt.
        share: f64 => unit("share"),
        /// MB (10⁶ bytes) that it wrote in a second.
        mb_s: Option<f64> => unit("MB/s").higher(),
        /// MiB that it wrote in a second.
        mib_s: Option<f64> => unit("MiB/s").higher(),
        /// Hours that the rebuild of a member full of data takes at this speed.
        full_member_hours: Option<f64> => unit("h").lower(),
        /// How often what it wrote fills the DRAM of the new member; below 4 its speed is partly that of the DRAM. None
        /// without DRAM.
        dram_fills: Option<f64> => unit("ratio").derived(),
    }
}

/// What a rebuild writes has to fill the DRAM of the new member so often before its speed is that of the flash.
const LEAST_DRAM_FILLS: f64 = 4.0;

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
        let full = full_bytes(drive, &failed) as f64;
        found.push(Rebuild {
            member: failed.clone(),
            start_s: phase.from,
            end_s: (!phase.is_last).then_some(phase.until),
            gib: bytes as f64 / f64::from(1 << 30),
            share: bytes as f64 / full,
            mb_s: speed.map(|speed| speed / 1e6),
            mib_s: speed.map(|speed| speed / f64::from(1 << 20)),
            full_member_hours: speed.filter(|&speed| speed > 0.0).map(|speed| full / speed / 3600.0),
            dram_fills: per(bytes as f64, dram_bytes(drive, &failed)),
        });
    }
    found
}

/// Notes on rebuilds that restored little: their time says nothing about a full member.
pub(super) fn notes(rebuilds: &[Rebuild]) -> Vec<String> {
    let note = |rebuild: &Rebuild| {
        let hours = rebuild.full_member_hours?;
        if let Some(fills) = rebuild.dram_fills.filter(|&fills| fills < LEAST_DRAM_FILLS) {
            return Some(format!(
                "the rebuild of {} wrote {:.3} GiB, {fills:.1} times what the DRAM of the new one holds: too little to say \
                 how long a full one takes",
                rebuild.member, rebuild.gib,
            ));
        }
        (rebuild.share < 0.95).then_some(())?;
        let why = match rebuild.end_s {
            None => "the run ended before it did",
            Some(_) => {
                "other pages were never written (--existing all has all of them), or were overwritten meanwhile"
            }
        };
        Some(format!(
            "the rebuild of {} wrote {:.3} GiB, {:.1} % of what it holds when it is full: {why}; a full one would \
             take {} at {:.1} MB/s",
            rebuild.member,
            rebuild.gib,
            rebuild.share * 100.0,
            if hours < 1.0 { format!("{:.1} s", hours * 3600.0) } else { format!("{hours:.1} h") },
            rebuild.mb_s?
        ))
    };
    rebuilds.iter().filter_map(note).collect()
}

/// The DRAM of the member that is replaced; 0 for parts, which have none of their own.
fn dram_bytes(drive: &Resolved, failed: &str) -> f64 {
    let mut place = drive;
    for part in failed.split('/') {
        let number = part.strip_prefix("member:").and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| place.array.get(number)) {
            Some(member) => place = member,
            None => return 0.0,
        }
    }
    place.spec.buffer.dram_mib * f64::from(1 << 20)
}

/// Bytes of the pages that what failed holds when it is full: a member, a part of one, or a part of a drive.
fn full_bytes(drive: &Resolved, failed: &str) -> u64 {
    let mut place = drive;
    let mut share = occupied(drive);
    for part in failed.split('/') {
        let (kind, numbers) = part.split_once(':').unwrap_or((part, ""));
        let number = numbers.parse::<usize>().ok().filter(|_| kind == "member");
        match number.and_then(|number| place.array.get(number)) {
            Some(member) => (place, share) = (member, occupied(place)),
            None if place.is_array() || place.is_disk() => break,
            None => return (part_bytes(place, numbers) as f64 * occupied(place)) as u64,
        }
    }
    (place.capacity_bytes() as f64 * share) as u64
}

/// The share of each member that is no spare place.
fn occupied(drive: &Resolved) -> f64 {
    (drive.scheme().occupied)(drive.members(), &drive.spec.redundancy)
}

/// The same of a part of a drive's flash, which is named by as many numbers as levels lead to it: `3`, `3.0`, `3.0.1`.
fn part_bytes(drive: &Resolved, numbers: &str) -> u64 {
    let flash = &drive.spec.flash;
    let levels = [
        flash.channels,
        flash.chips_per_channel,
        flash.dies_per_chip,
        flash.planes_per_die,
        flash.blocks_per_plane,
        flash.pages_per_block,
    ];
    let pages = u64::from(drive.parts()) * drive.member_pages();
    let deep = if numbers.is_empty() { 0 } else { numbers.split('.').count() };
    let such: u64 = levels.iter().take(deep).map(|&count| u64::from(count)).product();
    (pages / such).max(1) * drive.page_bytes()
}
