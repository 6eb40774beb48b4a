//! Energy: the power from the drive file times the time of the run, in integers (nW · ns) until reported.

use super::counts::{Operations, per};
use super::disk::DiskEnergy;
use super::{Facts, IfAny, figures, plain, unit};
use crate::device::port::Hits;
use crate::drive::{OpKind, OperationTimes};
use crate::engine::Cause;
use crate::flash::nanowatts;

figures! {
    /// Energy, if the drive file gives currents or powers.
    pub struct Energy {
        /// Energy of the run.
        total_j: Option<f64> => unit("J").lower().row("in all, J"),
        /// Mean power.
        mean_w: Option<f64> => unit("W").lower().row("mean power, W"),
        /// Energy for each GiB that the host wrote.
        per_gib_written_j: Option<f64> => unit("J/GiB").lower().row("for a GiB written, J"),
        /// Energy of the flash.
        flash_j: IfAny<Option<FlashEnergy>> => plain(),
        /// Energy of flash operations, by kind and cause.
        operations_j: IfAny<Option<Operations<Option<f64>>>> => plain(),
        /// Energy of the DRAM.
        dram_j: IfAny<Option<f64>> => unit("J").lower(),
        /// Energy of the controller.
        controller_j: IfAny<Option<f64>> => unit("J").lower(),
        /// Energy of a disk.
        disk_j: IfAny<DiskEnergy> => plain(),
    }
}

figures! {
    /// The energy of the flash, by activity.
    pub struct FlashEnergy {
        /// Energy of the flash.
        total: Option<f64> => unit("J").lower(),
        /// Energy of reads in the array.
        read: Option<f64> => unit("J").lower(),
        /// Energy of programs in the array.
        program: Option<f64> => unit("J").lower(),
        /// Energy of erases.
        erase: Option<f64> => unit("J").lower(),
        /// Energy of the pins during transfers.
        transfer: Option<f64> => unit("J").lower(),
        /// Energy of dies that were not busy.
        standby: Option<f64> => unit("J").lower(),
    }
}

/// The energy of a run; none where the drive file gives no current.
pub(super) fn energy(facts: &Facts<'_>) -> Option<Energy> {
    let (dram, controller) = (dram(facts), controller(facts));
    if facts.work.is_none() && dram.is_none() && controller.is_none() {
        return None;
    }
    let flash = facts.work.as_ref().map(|work| Flash::new(facts, work));
    let flash_total = flash.as_ref().and_then(|flash| sum(flash.parts()));
    let total = sum([flash_total, dram, controller]);
    let seconds = facts.until.since(facts.from).0 as f64 / 1e9;
    let gib = facts.statistics.bytes_written as f64 / f64::from(1 << 30);
    let over = |whole: f64| total.and_then(|total| per(joules(total), whole));
    Some(Energy {
        total_j: total.map(joules),
        mean_w: over(seconds),
        per_gib_written_j: over(gib),
        flash_j: IfAny(Some(flash.as_ref().map(|flash| flash.energy(flash_total)))),
        operations_j: IfAny(Some(flash.as_ref().map(Flash::operations))),
        dram_j: IfAny(Some(dram.map(joules))),
        controller_j: IfAny(controller.map(|controller| Some(joules(controller)))),
        disk_j: IfAny(None),
    })
}

/// nW · ns.
fn joules(attojoules: u128) -> f64 {
    attojoules as f64 / 1e18
}

/// The sum of the values that are given; none if none is.
fn sum(parts: impl IntoIterator<Item = Option<u128>>) -> Option<u128> {
    parts.into_iter().flatten().reduce(|all, part| all + part)
}

struct Flash<'a> {
    work: &'a OperationTimes,
    /// By kind of operation: the power of the array, and of the pins, nW.
    array_nw: [Option<u128>; OpKind::ALL.len()],
    pins_nw: Option<u128>,
    standby: Option<u128>,
}

impl<'a> Flash<'a> {
    fn new(facts: &Facts<'_>, work: &'a OperationTimes) -> Self {
        let energy = &facts.drive.spec.flash.energy;
        let power = |current| nanowatts(current, energy.voltage_v);
        let busy =
            |kind, cause| u128::from(work.array_ns(kind, cause)) + u128::from(work.pins_ns(kind, cause));
        let busy: u128 = pairs().map(|(kind, cause)| busy(kind, cause)).sum();
        let dies = facts.drive.planes() / u64::from(facts.drive.spec.flash.planes_per_die);
        let all = u128::from(dies) * u128::from(facts.until.since(facts.from).0);
        Flash {
            work,
            array_nw: [energy.read_ma, energy.program_ma, energy.erase_ma, energy.program_ma].map(power),
            pins_nw: power(energy.transfer_ma),
            standby: power(energy.standby_ma).map(|power| power * all.saturating_sub(busy)),
        }
    }

    fn array(&self, kind: OpKind, cause: Cause) -> Option<u128> {
        Some(self.array_nw[kind as usize]? * u128::from(self.work.array_ns(kind, cause)))
    }

    fn pins(&self, kind: OpKind, cause: Cause) -> Option<u128> {
        Some(self.pins_nw? * u128::from(self.work.pins_ns(kind, cause)))
    }

    /// Reads, programs, erases, transfers, standby.
    fn parts(&self) -> [Option<u128>; 5] {
        let array = |kind| sum(Cause::ALL.map(|cause| self.array(kind, cause)));
        let pins = sum(pairs().map(|(kind, cause)| self.pins(kind, cause)));
        [array(OpKind::Read), array(OpKind::Program), array(OpKind::Erase), pins, self.standby]
    }

    fn energy(&self, total: Option<u128>) -> FlashEnergy {
        let [read, program, erase, transfer, standby] = self.parts().map(|part| part.map(joules));
        FlashEnergy { total: total.map(joules), read, program, erase, transfer, standby }
    }

    /// By kind and cause, array and pins together; none if the array's current is not given.
    fn operations(&self) -> Operations<Option<f64>> {
        let whole = |kind, cause| Some(self.array(kind, cause)? + self.pins(kind, cause).unwrap_or_default());
        Operations::new(|kind, cause| whole(kind, cause).map(joules))
    }
}

fn pairs() -> impl Iterator<Item = (OpKind, Cause)> {
    OpKind::ALL.into_iter().flat_map(|kind| Cause::ALL.into_iter().map(move |cause| (kind, cause)))
}

/// The controller of a lone drive: its power all the time, and that of the link while bytes of counted requests cross it.
fn controller(facts: &Facts<'_>) -> Option<u128> {
    let (host, flash) = (&facts.drive.spec.host, &facts.drive.spec.flash);
    if facts.drive.is_device_set() {
        return None;
    }
    let nw = |watts: Option<f64>| watts.map(|watts| (watts * 1e9).round() as u128);
    let span = u128::from(facts.until.since(facts.from).0);
    let bytes = facts.statistics.bytes_read + facts.statistics.bytes_written;
    let sectors = u128::from(bytes / u64::from(flash.sector_bytes));
    let crossing = sectors * (host.link_us_per_sector * 1e6).round() as u128 / 1000;
    sum([nw(host.controller_w).map(|power| power * span), nw(host.link_w).map(|power| power * crossing)])
}

/// Standby and refresh draw power all the time; active power is drawn while sectors are written or read. Each sector
/// that a write adds to a write buffer is read once when it leaves. Clean copies leave unread, and what a read misses is
/// copied.
fn dram(facts: &Facts<'_>) -> Option<u128> {
    if facts.drive.buffer_bytes() == 0 {
        return None;
    }
    let energy = &facts.drive.spec.buffer.energy;
    let power = |current| nanowatts(current, energy.voltage_v);
    let span = u128::from(facts.until.since(facts.from).0);
    let Hits { read_hits, read_misses, write_hits, write_misses } = facts.hits;
    let moved = if facts.drive.writes_through() { read_misses } else { write_misses };
    let sectors = read_hits + write_hits + write_misses + moved;
    let bytes = u128::from(sectors) * u128::from(facts.drive.spec.flash.sector_bytes);
    let fs_per_byte = (energy.active_ns_per_byte * 1e6).round() as u128;
    sum([
        power(energy.standby_ma).map(|power| power * span),
        power(energy.refresh_ma).map(|power| power * span),
        power(energy.active_ma).map(|power| power * bytes * fs_per_byte / 1_000_000),
    ])
}
