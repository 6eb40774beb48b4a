//! A disk's energy: the power from the drive file times the time in each state, in integers (nW · ns) until
//! reported, under the same keys as for flash.

use super::counts::per;
use super::energy::Energy;
use super::{IfAny, figures, unit};
use crate::disk::DiskPowerSpec;
use crate::disk::DiskStatistics;

/// The energy of a disk over `span_ns`, in which the host wrote `bytes_written`; none if the drive file gives no power.
#[must_use]
pub fn disk_energy(
    power: &DiskPowerSpec,
    did: &DiskStatistics,
    span_ns: u64,
    bytes_written: u64,
) -> Option<Energy> {
    if !power.draws() {
        return None;
    }
    // nW from W; attojoules.
    let energy =
        |watts: Option<f64>, ns: u64| watts.map(|watts| (watts * 1e9).round() as u128 * u128::from(ns));
    let on_track = |at: usize| did.rotation[at] + did.transfer[at];
    let parts = [
        energy(power.read_w, on_track(0)),
        energy(power.write_w, on_track(1)),
        energy(power.seek_w, did.seek),
        energy(power.idle_w, did.idle + did.overhead),
        energy(power.standby_w, did.standby),
        energy(power.spin_up_w, did.spin_up),
    ];
    let joules = |attojoules: u128| attojoules as f64 / 1e18;
    let total = joules(parts.iter().copied().flatten().sum());
    let [read, write, seek, idle, standby, spin_up] = parts.map(|part| part.map(joules));
    Some(Energy {
        total_j: Some(total),
        mean_w: per(total, span_ns as f64 / 1e9),
        per_gib_written_j: per(total, bytes_written as f64 / f64::from(1 << 30)),
        flash_j: IfAny(None),
        operations_j: IfAny(None),
        dram_j: IfAny(None),
        controller_j: IfAny(None),
        disk_j: IfAny(Some(DiskEnergy { total, read, write, seek, idle, standby, spin_up })),
    })
}

figures! {
    /// The energy of a disk, by activity.
    pub struct DiskEnergy {
        /// Energy of the disk.
        total: f64 => unit("J").lower(),
        /// Energy of the disk while it rotated to data and read it.
        read: Option<f64> => unit("J").lower(),
        /// Energy of the disk while it rotated to data and wrote it.
        write: Option<f64> => unit("J").lower(),
        /// Energy of seeks.
        seek: Option<f64> => unit("J").lower(),
        /// Energy of the disk while it was idle or its controller worked.
        idle: Option<f64> => unit("J").lower(),
        /// Energy of the disk in standby.
        standby: Option<f64> => unit("J").lower(),
        /// Energy of spinning up.
        spin_up: Option<f64> => unit("J").lower(),
    }
}

figures! {
    /// Operations of a disk, and its time by activity.
    pub struct DiskActivity {
        /// Operations of the disk.
        operations: u64 => unit("operations").lower(),
        /// Operations that began where the one before ended.
        sequential: u64 => unit("operations").higher(),
        /// Operations for which the arm moved.
        seeks: u64 => unit("seeks").lower(),
        /// Cylinders that a seek crossed, mean.
        mean_seek_cylinders: Option<f64> => unit("cylinders").lower(),
        /// The share of the time that the disk was busy.
        busy: Option<f64> => unit("share"),
        /// Time of the disk's controller.
        overhead_s: f64 => unit("s").lower(),
        /// Time of seeks.
        seek_s: f64 => unit("s").lower(),
        /// Time of waiting for the platter.
        rotation_s: f64 => unit("s").lower(),
        /// Time of transfers to and from the platter.
        transfer_s: f64 => unit("s"),
        /// Time without work while the platter rotated.
        idle_s: f64 => unit("s"),
        /// Time with the platter at rest.
        standby_s: f64 => unit("s"),
        /// How often the platter was stopped.
        stops: u64 => unit("stops"),
    }
}

impl DiskActivity {
    /// In a run of `seconds`.
    pub(super) fn new(did: &DiskStatistics, seconds: f64) -> Self {
        let in_seconds = |ns: u64| ns as f64 / 1e9;
        DiskActivity {
            operations: did.operations,
            sequential: did.sequential,
            seeks: did.seeks,
            mean_seek_cylinders: per(did.cylinders as f64, did.seeks as f64),
            busy: per(in_seconds(did.busy()), seconds),
            overhead_s: in_seconds(did.overhead),
            seek_s: in_seconds(did.seek),
            rotation_s: in_seconds(did.rotation.iter().sum()),
            transfer_s: in_seconds(did.transfer.iter().sum()),
            idle_s: in_seconds(did.idle),
            standby_s: in_seconds(did.standby),
            stops: did.stops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Reported;

    #[test]
    fn energy_is_power_times_time() {
        let drive = crate::config::load("st3500630a", &[]).expect("a preset");
        let spec = drive.disk().expect("a disk");
        let second = 1_000_000_000;
        let did = DiskStatistics {
            rotation: [second, 0],
            transfer: [second, 3 * second],
            seek: 2 * second,
            idle: 10 * second,
            overhead: second,
            ..DiskStatistics::default()
        };
        let energy = disk_energy(&spec.power, &did, 18 * second, 1 << 30).to_json();
        let parts = ["read", "write", "seek", "idle", "standby", "spin_up", "total"];
        let found = parts.map(|part| energy["disk_j"][part].as_f64().expect("a number"));
        let expected = [24.0, 36.0, 25.2, 11.0 * 9.3, 0.0, 0.0, 24.0 + 36.0 + 25.2 + 102.3];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9),
            "{found:?}"
        );
        let mean = energy["mean_w"].as_f64().expect("a number");
        assert!((mean - expected[6] / 18.0).abs() < 1e-9 && energy["per_gib_written_j"] == energy["total_j"]);
    }
}
