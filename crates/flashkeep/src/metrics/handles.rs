//! What the placement handles of NVMe's Flexible Data Placement wrote.

use super::counts::per;
use super::members::{MemberActivity, programmed_bytes};
use super::summary::Facts;
use super::{figures, plain, unit};
use crate::config::Resolved;
use crate::drive::Counters;
use crate::ftl::HandleCounts;

figures! {
    /// Data of a placement handle (`ftl.handles`). The bytes of all rows add up to those of the drive.
    pub struct HandleFigures {
        /// The handle; none for data that belong to no handle of the host.
        handle: Option<u32> => unit("handle"),
        /// Whose data: `host`; `parity`, which has open blocks of its own; or `other` (tables of the map, skipped pages,
        /// pages that no handle has programmed).
        data: &'static str => plain(),
        /// Bytes that the host wrote with the handle; of a member, the pages that it was given to write. Over all handles
        /// NVMe's HBMW (Host Bytes with Metadata Written).
        host_bytes: u64 => unit("bytes"),
        /// Bytes programmed for the handle: those of the host and what collection moved of them. Over all handles NVMe's MBMW
        /// (Media Bytes with Metadata Written).
        media_bytes: u64 => unit("bytes").lower(),
        /// Of the bytes that the handle has programmed, those whose block was erased. Over all handles NVMe's MBE (Media Bytes
        /// Erased).
        erased_bytes: u64 => unit("bytes").lower(),
        /// Bytes programmed for each byte that the host wrote; none without writes.
        waf: Option<f64> => unit("ratio").lower(),
    }
}

/// Bytes of one row.
#[derive(Clone, Copy, Default)]
struct HandleBytes {
    host: u64,
    media: u64,
    erased: u64,
}

/// The bytes of each row.
#[derive(Clone, Default)]
struct AllBytes {
    handles: Vec<HandleBytes>,
    parity: HandleBytes,
    other: HandleBytes,
}

impl AllBytes {
    fn of(handles: u8) -> AllBytes {
        AllBytes { handles: vec![HandleBytes::default(); handles.into()], ..AllBytes::default() }
    }

    /// Adds what a drive did.
    fn add(&mut self, drive: &Resolved, counts: &[HandleCounts], counters: &Counters) {
        let (page, spec) = (drive.page_bytes(), drive.handle_spec());
        let mut media = programmed_bytes(counters, drive);
        for (at, counts) in counts.iter().enumerate() {
            let bytes = match self.handles.get_mut(at) {
                Some(bytes) if at < usize::from(spec.count) => bytes,
                _ if spec.parity && at == usize::from(spec.count) => &mut self.parity,
                _ => &mut self.other,
            };
            bytes.host += counts.written * page;
            bytes.media += counts.programmed * page;
            bytes.erased += counts.erased * page;
            // A program that the power interrupted may have been counted for a handle only.
            media = media.saturating_sub(counts.programmed * page);
        }
        self.other.media += media;
    }

    fn figures(&self) -> Vec<HandleFigures> {
        let row = |handle, data, bytes: &HandleBytes| HandleFigures {
            handle,
            data,
            host_bytes: bytes.host,
            media_bytes: bytes.media,
            erased_bytes: bytes.erased,
            waf: per(bytes.media as f64, bytes.host as f64),
        };
        let is_any = |bytes: &HandleBytes| bytes.media + bytes.erased > 0;
        let hosts = self.handles.iter().zip(0..).map(|(bytes, handle)| row(Some(handle), "host", bytes));
        let others = [("parity", HandleBytes { host: 0, ..self.parity }), ("other", self.other)];
        let others = others.iter().filter(|(_, bytes)| is_any(bytes));
        hosts.chain(others.map(|(data, bytes)| row(None, *data, bytes))).collect()
    }
}

/// The rows of a run; none where drives have one handle.
pub(super) fn handles(facts: &Facts<'_>) -> Option<Vec<HandleFigures>> {
    let count = facts.drive.handles();
    if count < 2 {
        return None;
    }
    let mut all = AllBytes::of(count);
    if facts.drive.is_array() {
        for member in &facts.members {
            let counters = member.now.counters.since(&member.before.counters);
            all.add(member.drive, &counts_of(member), &counters);
        }
    } else {
        all.add(facts.drive, &facts.handles, facts.counters);
    }
    all.other.host = 0;
    for (bytes, host) in all.handles.iter_mut().zip(facts.statistics.handle_bytes) {
        bytes.host = host;
    }
    Some(all.figures())
}

/// The rows of a member of an array; none if it has one handle.
pub(super) fn handles_of_member(member: &MemberActivity<'_>) -> Option<Vec<HandleFigures>> {
    let count = member.drive.handles();
    let mut all = AllBytes::of(count);
    all.add(member.drive, &counts_of(member), &member.now.counters.since(&member.before.counters));
    (count > 1).then(|| all.figures())
}

fn counts_of(member: &MemberActivity<'_>) -> Vec<HandleCounts> {
    handle_counts_since(&member.now.handles, &member.before.handles)
}

/// What handles programmed since `before`.
#[must_use]
pub fn handle_counts_since(now: &[HandleCounts], before: &[HandleCounts]) -> Vec<HandleCounts> {
    let before = before.iter().copied().chain(std::iter::repeat(HandleCounts::default()));
    now.iter().zip(before).map(|(now, before)| now.since(before)).collect()
}
