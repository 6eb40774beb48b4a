//! Statistics of the parts of a drive and of the members of an array.

use super::counts::{BufferHits, Operations, Utilization, WriteAmplification, per};
use super::disk::DiskActivity;
use super::energy::Energy;
use super::errors::MemberErrors;
use super::handles::{HandleFigures, handles_of_member};
use super::wear::{CountedWrites, Wear};
use super::{IfAny, Mark, WearFacts, disk_energy, figures, plain, unit};
use crate::config::Resolved;
use crate::device::port::Hits;
use crate::devices::DeviceStatistics;
use crate::drive::{BlockErases, Counters, OpKind};
use crate::engine::Cause;
use crate::kernel::{SimTime, Span};

/// Statistics of a member of an array while requests were counted.
#[derive(Clone, Debug)]
pub struct MemberActivity<'a> {
    /// The member's place in the tree, from the root downwards.
    pub path: &'a [u32],
    /// Its drive.
    pub drive: &'a Resolved,
    /// Its statistics at the end.
    pub now: DeviceStatistics,
    /// Its statistics when counting began.
    pub before: DeviceStatistics,
    /// The end of the last request.
    pub end: SimTime,
    /// Hits and misses of its DRAM in the array, if it has any.
    pub hits: Option<Hits>,
    /// From the start of counting until all operations had ended: disks may continue after the last request.
    pub span: Span,
    /// The time of which busy times are a share.
    pub busy_within: Span,
    /// When its first block reached the erase budget, and the bytes that the host had written to the array by then.
    pub first_worn_block: Option<Mark>,
    /// When it first refused a write, which is the end of its life.
    pub first_refusal: Option<Mark>,
}

figures! {
    /// Statistics of a member of an array, or of a part of a drive that redundancy works across (operations only).
    pub struct Member {
        /// Its place: `2`, or `2/0` in an array of arrays.
        member: IfAny<String> => plain(),
        /// Name of the drive.
        name: IfAny<String> => plain(),
        /// Its operations.
        operations: Operations => plain(),
        /// Its own write amplification, relative to the pages that it was given to write.
        write_amplification: IfAny<WriteAmplification> => plain(),
        /// Its wear; none for a disk.
        wear: IfAny<Option<Wear>> => plain(),
        /// How busy its parts were; none for a disk.
        utilization: IfAny<Option<Utilization>> => plain(),
        /// Pages that it was given to write.
        host_pages_written: IfAny<u64> => unit("pages").lower(),
        /// Rate of writes to it.
        written_mib_s: IfAny<Option<f64>> => unit("MiB/s"),
        /// Hits and misses of its DRAM.
        buffer: IfAny<BufferHits> => plain(),
        /// Data of each of its placement handles; only with several.
        handles: IfAny<Vec<HandleFigures>> => plain(),
        /// Errors of its flash; only with an error model.
        errors: IfAny<MemberErrors> => plain(),
        /// Energy of a disk.
        energy: IfAny<Option<Energy>> => plain(),
        /// Operations of a disk, and its time by activity.
        disk: IfAny<DiskActivity> => plain(),
    }
}

/// The redundancy's parts of a drive.
pub(super) fn of_drive(counters: &Counters) -> Vec<Member> {
    let member = |at| Member {
        member: IfAny(None),
        name: IfAny(None),
        operations: Operations::new(|kind, cause| counters.of_member(at, kind, cause)),
        write_amplification: IfAny(None),
        wear: IfAny(None),
        utilization: IfAny(None),
        host_pages_written: IfAny(None),
        written_mib_s: IfAny(None),
        buffer: IfAny(None),
        handles: IfAny(None),
        errors: IfAny(None),
        energy: IfAny(None),
        disk: IfAny(None),
    };
    if counters.members() < 2 { Vec::new() } else { (0..counters.members()).map(member).collect() }
}

/// The members of an array.
pub(super) fn of_array(members: &[MemberActivity<'_>], seconds: f64) -> Vec<Member> {
    members.iter().map(|member| member.figures(seconds)).collect()
}

/// A member's place as text: `2`, or `2/0` in an array of arrays.
#[must_use]
pub fn called(path: &[u32]) -> String {
    path.iter().map(u32::to_string).collect::<Vec<_>>().join("/")
}

impl MemberActivity<'_> {
    /// Its place as text.
    pub(super) fn called(&self) -> String {
        called(self.path)
    }

    /// Erases of each block while requests were counted.
    pub(super) fn erases(&self) -> BlockErases {
        self.now.erases.clone().since(&self.before.erases)
    }

    /// Erases of each block before that.
    fn erases_before(&self) -> BlockErases {
        self.now.erases_before.clone().plus(&self.before.erases)
    }

    /// Pages that it was given to write.
    pub(super) fn given(&self) -> u64 {
        given(&self.now.counters.since(&self.before.counters))
    }

    /// Bytes that it programmed while requests were counted.
    pub(super) fn programmed(&self) -> u64 {
        programmed_bytes(&self.now.counters.since(&self.before.counters), self.drive)
    }

    /// How many runs like this one its erase budget lets it program; none without a budget or programs.
    pub(super) fn runs_left(&self) -> Option<f64> {
        self.drive.spec.ftl.wear.erase_budget?;
        let counters = self.now.counters.since(&self.before.counters);
        let programmed = self.programmed() - cached_bytes(&counters, self.drive);
        runs_left(self.drive, &self.erases_before(), programmed)
    }

    /// The errors of its flash.
    fn errors(&self) -> Option<MemberErrors> {
        Some(MemberErrors::new(self.now.errors.as_ref()?, self.drive.errors.as_deref()?))
    }

    pub(super) fn figures(&self, seconds: f64) -> Member {
        let counters = self.now.counters.since(&self.before.counters);
        let given = given(&counters);
        let wear = &self.drive.spec.ftl.wear;
        let wear = WearFacts {
            erases: self.erases(),
            before: self.erases_before(),
            budget: wear.erase_budget,
            expired: self.now.expired,
            first_worn_block: self.first_worn_block,
            first_refusal: self.first_refusal,
            refused_requests: None,
            end: (self.end, given * self.drive.page_bytes()),
            capacity: self.drive.capacity_bytes(),
            warranty_years: self.drive.warranty_years(),
        };
        let bytes = given * self.drive.page_bytes();
        let programmed = self.programmed() as f64 / self.drive.physical_bytes().max(1) as f64;
        let writes = CountedWrites { bytes, seconds, programmed, runs_left: self.runs_left() };
        let since = |at: usize| -> Vec<Span> {
            let before = self.before.busy[at].iter().copied().chain(std::iter::repeat(Span::ZERO));
            self.now.busy[at].iter().zip(before).map(|(now, before)| now.beyond(before)).collect()
        };
        let disk = self.now.disk.as_ref().zip(self.drive.disk()).map(|(did, disk)| {
            let did = self.before.disk.as_ref().map_or_else(|| did.clone(), |before| did.since(before));
            let energy = disk_energy(&disk.power, &did, self.span.0, given * self.drive.page_bytes());
            (energy, DiskActivity::new(&did, self.span.0 as f64 / 1e9))
        });
        // A disk has no blocks or channels.
        let flash = disk.is_none();
        let (energy, activity) = disk.unzip();
        Member {
            member: IfAny(Some(self.called())),
            name: IfAny(Some(self.drive.spec.name.clone())),
            operations: Operations::new(|kind, cause| counters.of(kind, cause)),
            write_amplification: IfAny(Some(WriteAmplification::new(
                &counters,
                self.drive.word_line(),
                given,
            ))),
            wear: IfAny(Some(flash.then(|| wear.wear(writes)))),
            utilization: IfAny(Some(
                flash.then(|| Utilization::new(&[since(0), since(1)], self.busy_within)),
            )),
            host_pages_written: IfAny(Some(given)),
            written_mib_s: IfAny(Some(per(
                given as f64 * self.drive.page_bytes() as f64 / f64::from(1 << 20),
                seconds,
            ))),
            buffer: IfAny(self.hits.map(BufferHits::new)),
            handles: IfAny(handles_of_member(self)),
            errors: IfAny(self.errors()),
            energy: IfAny(energy),
            disk: IfAny(activity),
        }
    }
}

/// Bytes programmed by a drive, or written by a disk.
pub(super) fn programmed_bytes(counters: &Counters, drive: &Resolved) -> u64 {
    let pages = counters.total(OpKind::Program) + counters.total(OpKind::Copyback) + counters.empty_places;
    pages * drive.page_bytes()
}

/// Of these, bytes that do not wear the blocks whose erase budget is that of the drive: those in its SLC cache.
pub(super) fn cached_bytes(counters: &Counters, drive: &Resolved) -> u64 {
    counters.slc.written * drive.page_bytes()
}

/// How often a drive with these erases of its blocks can still program that many bytes.
pub(super) fn runs_left(drive: &Resolved, erases: &BlockErases, programmed: u64) -> Option<f64> {
    let budget = drive.spec.ftl.wear.erase_budget?;
    let left: u64 = erases.iter().map(|erases| u64::from(budget.saturating_sub(erases))).sum();
    let block = u64::from(drive.block_pages()) * drive.page_bytes();
    (programmed > 0).then(|| left as f64 * block as f64 / programmed as f64)
}

/// Pages that a member was given to write: its programs for causes other than its own work.
fn given(counters: &Counters) -> u64 {
    let own = [Cause::Gc, Cause::Wear, Cause::Migrate, Cause::Metadata, Cause::ParityGc, Cause::Fold];
    let causes = Cause::ALL.into_iter().filter(|cause| !own.contains(cause));
    causes.map(|cause| counters.of(OpKind::Program, cause)).sum()
}
