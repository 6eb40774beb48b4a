//! Records the occupancy of a backup scheme's memory over time, because the scheme has no clock.

use super::{Device, RunAccounts, RunClock, Simulation};
use crate::devices::Body;
use crate::engine::{Contents, NodeId, Scheme};
use crate::figures::Reported;
use crate::kernel::SimTime;
use crate::schemes::{Any, Backup, BackupFigures};
use serde_json::Value;

/// Pages in use for each disk, integrated over time; sampled at each request.
#[derive(Clone, Debug, Default)]
pub(super) struct Occupancy {
    since: SimTime,
    begun: SimTime,
    used: Vec<u32>,
    page_ns: Vec<u128>,
}

impl Occupancy {
    /// The occupancy for this many disks.
    pub(super) fn new(disks: usize) -> Self {
        Occupancy { used: vec![0; disks], page_ns: vec![0; disks], ..Occupancy::default() }
    }

    fn look(&mut self, now: SimTime, backup: &Backup) {
        let span = now.since(self.since).0;
        for (disk, (used, sum)) in self.used.iter_mut().zip(&mut self.page_ns).enumerate() {
            *sum += u128::from(*used) * u128::from(span);
            *used = backup.nvram_used_for(disk);
        }
        self.since = self.since.max(now);
    }

    /// Counting begins.
    pub(super) fn restart(&mut self, now: SimTime) {
        (self.since, self.begun) = (now, now);
        self.page_ns.fill(0);
    }

    fn means(&self) -> Vec<f64> {
        let span = self.since.since(self.begun).0.max(1) as f64;
        self.page_ns.iter().map(|&sum| sum as f64 / span).collect()
    }
}

impl<C: Contents, H: Body<C>> Device<C, H> {
    /// The array's scheme, if it is `backup`.
    fn backup(&self) -> Option<&Backup> {
        match self.engine.tree().scheme(NodeId::ROOT) {
            Some(Any::Backup(backup)) => Some(backup),
            _ => None,
        }
    }
}

impl RunAccounts {
    /// Samples the memory.
    #[inline(never)]
    pub(super) fn look_at_memory<C: Contents, H: Body<C>>(
        &mut self,
        device: &Device<C, H>,
        clock: &RunClock,
    ) {
        let Some(mut occupancy) = self.occupancy.take() else { return };
        if let Some(backup) = device.backup() {
            occupancy.look(clock.now, backup);
        }
        self.occupancy = Some(occupancy);
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// The section of the scheme in the summary: its key, and its figures.
    pub(super) fn scheme_figures(&self) -> Option<(&'static str, Value)> {
        let own = || self.device.engine.tree().scheme(NodeId::ROOT)?.figures();
        Some((self.resolved.scheme().name, self.backup_figures().or_else(own)?))
    }

    /// The figures of the backup, for the summary.
    fn backup_figures(&self) -> Option<Value> {
        let (backup, occupancy) = (self.device.backup()?, self.accounts.occupancy.as_ref()?);
        let facts = backup.facts();
        let mib = |pages: f64| pages * self.resolved.page_bytes() as f64 / f64::from(1 << 20);
        let means = occupancy.means();
        let figures = BackupFigures::new(&facts, &means, mib);
        Some(figures.to_json())
    }
}
