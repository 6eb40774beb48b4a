//! How long things take, in whole nanoseconds (rounded up once, where the specification is resolved).

use crate::kernel::Span;
use crate::spec::Resolved;

/// The times of a drive's flash operations.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Array to register.
    pub read: Span,
    /// Register to array.
    pub program: Span,
    /// Erase of a block, set-up included.
    pub erase: Span,
    /// Command and address cycles of a page operation.
    pub command: Span,
    /// Command and address cycles of an erase.
    pub erase_command: Span,
    /// What the controller's memory takes to serve.
    pub memory: Span,
    /// Time on the channel of so many sectors; place 0 is a whole page.
    transfer: Vec<Span>,
}

impl Timing {
    /// The times of a drive.
    #[must_use]
    pub fn new(drive: &Resolved) -> Self {
        let timing = &drive.timing;
        let sectors = drive.page_sectors();
        let bytes = u64::from(drive.spec.flash.pin_bytes_per_sector);
        let transfer = |sectors: u64| Span(timing.transfer_ns(sectors * bytes));
        Timing {
            read: Span(timing.read_ns),
            program: Span(timing.program_ns),
            erase: Span(timing.erase_setup_ns + timing.erase_ns),
            command: Span(timing.command_ns),
            erase_command: Span(timing.erase_command_ns),
            memory: Span(timing.hit_ns),
            transfer: std::iter::once(sectors).chain(1..=sectors).map(transfer).collect(),
        }
    }

    /// Time on the channel of `sectors` sectors; 0 means a whole page.
    #[must_use]
    #[inline]
    pub fn transfer(&self, sectors: u16) -> Span {
        self.transfer[usize::from(sectors)]
    }
}
