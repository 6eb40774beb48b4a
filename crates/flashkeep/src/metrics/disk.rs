//! A disk's energy: what the drive file says it draws, times what it did with its time. Integers (nW · ns) until it is
//! told, under the keys that flash has.

use crate::disk::{DiskPowerSpec, Statistics};
use serde_json::{Value, json};

/// The energy of a disk over `span_ns`, in which the host wrote so many bytes; null where nothing is known.
#[must_use]
pub fn disk_energy(power: &DiskPowerSpec, did: &Statistics, span_ns: u64, bytes_written: u64) -> Value {
    if !power.draws() {
        return Value::Null;
    }
    // nW from W; attojoules.
    let energy =
        |watts: Option<f64>, ns: u64| watts.map(|watts| (watts * 1e9).round() as u128 * u128::from(ns));
    let on_track = |at: usize| did.rotation[at] + did.transfer[at];
    let parts = [
        ("read", energy(power.read_w, on_track(0))),
        ("write", energy(power.write_w, on_track(1))),
        ("seek", energy(power.seek_w, did.seek)),
        ("idle", energy(power.idle_w, did.idle + did.overhead)),
        ("standby", energy(power.standby_w, did.standby)),
        ("spin_up", energy(power.spin_up_w, did.spin_up)),
    ];
    let joules = |attojoules: u128| attojoules as f64 / 1e18;
    let total = joules(parts.iter().filter_map(|(_, part)| *part).sum());
    let per = |whole: f64| (whole > 0.0).then(|| total / whole);
    let named = parts.map(|(name, part)| (name.to_owned(), json!(part.map(joules))));
    let whole = ("total".to_owned(), json!(total));
    let disk: serde_json::Map<String, Value> = std::iter::once(whole).chain(named).collect();
    json!({
        "total_j": total, "mean_w": per(span_ns as f64 / 1e9),
        "per_gib_written_j": per(bytes_written as f64 / f64::from(1 << 30)), "disk_j": disk,
    })
}

/// What a disk did with its time, in a run of so many seconds.
pub(super) fn deeds(did: &Statistics, seconds: f64) -> Value {
    let in_seconds = |ns: u64| ns as f64 / 1e9;
    let per = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    json!({
        "operations": did.operations, "sequential": did.sequential, "seeks": did.seeks,
        "mean_seek_cylinders": per(did.cylinders as f64, did.seeks as f64),
        "busy": per(in_seconds(did.busy()), seconds),
        "overhead_s": in_seconds(did.overhead), "seek_s": in_seconds(did.seek),
        "rotation_s": in_seconds(did.rotation.iter().sum()), "transfer_s": in_seconds(did.transfer.iter().sum()),
        "idle_s": in_seconds(did.idle), "standby_s": in_seconds(did.standby), "stops": did.stops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_power_times_time() {
        let drive = crate::config::load("st3500630a", &[]).expect("a preset");
        let spec = drive.disk().expect("a disk");
        let second = 1_000_000_000;
        let did = Statistics {
            rotation: [second, 0],
            transfer: [second, 3 * second],
            seek: 2 * second,
            idle: 10 * second,
            overhead: second,
            ..Statistics::default()
        };
        let energy = disk_energy(&spec.power, &did, 18 * second, 1 << 30);
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
