//! Statistics of a disk's time.

use crate::kernel::Span;

/// Counts, and times in ns. Of the pairs, the first is of reads, the second of writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskStatistics {
    /// Commands that the arm carried out.
    pub operations: u64,
    /// Those that continued where the one before ended, in time.
    pub sequential: u64,
    /// Those for which the arm moved.
    pub seeks: u64,
    /// Cylinders that it moved over.
    pub cylinders: u64,
    /// Before the arm moves.
    pub overhead: u64,
    /// The arm, and head switches between commands.
    pub seek: u64,
    /// Waiting for the platter.
    pub rotation: [u64; 2],
    /// Transfers, switches within them included.
    pub transfer: [u64; 2],
    /// Turning without a command.
    pub idle: u64,
    /// Spun down.
    pub standby: u64,
    /// Times that it stopped.
    pub stops: u64,
    /// Spinning up again.
    pub spin_up: u64,
}

impl DiskStatistics {
    /// Adds idle time; `stopped` says whether the platter was at rest.
    pub(super) fn rest(&mut self, time: Span, standby_after: Span) -> bool {
        let turning = time.0.min(standby_after.0);
        self.idle += turning;
        self.standby += time.0 - turning;
        let stood = time > standby_after;
        self.stops += u64::from(stood);
        stood
    }

    /// All of them, by name.
    fn figures(&mut self) -> [&mut u64; 14] {
        let DiskStatistics { operations, sequential, seeks, cylinders, overhead, seek, .. } = self;
        let ([turn_read, turn_write], [read, write]) = (&mut self.rotation, &mut self.transfer);
        let (idle, standby, stops, spin_up) =
            (&mut self.idle, &mut self.standby, &mut self.stops, &mut self.spin_up);
        [
            operations, sequential, seeks, cylinders, overhead, seek, turn_read, turn_write, read, write,
            idle, standby, stops, spin_up,
        ]
    }

    /// The difference since `before`.
    #[must_use]
    pub fn since(&self, before: &DiskStatistics) -> DiskStatistics {
        let (mut difference, mut before) = (self.clone(), before.clone());
        for (figure, old) in difference.figures().into_iter().zip(before.figures()) {
            *figure -= *old;
        }
        difference
    }

    /// Time with a command, ns.
    #[must_use]
    pub fn busy(&self) -> u64 {
        let [turn_read, turn_write] = self.rotation;
        let [read, write] = self.transfer;
        self.overhead + self.seek + turn_read + turn_write + read + write + self.spin_up
    }
}
