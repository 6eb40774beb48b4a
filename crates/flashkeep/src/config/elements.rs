//! Checks of elements, chip by chip: planes, gangs, logical pages, and the host interface beyond the queue;
//! which of these keys can be combined.

use super::check::Check;
use crate::error::DriveError;
use crate::flash::{BusUse, Level, MultiPlane};
use crate::ftl::allocation::Binding;
use crate::ftl::{GcRun, PlaneChoice};
use crate::host::{HostOrder, LateRequests};
use crate::schemes::{self, Members};

impl Check<'_> {
    pub(super) fn elements(&mut self, allocation: Binding) -> Result<(), DriveError> {
        self.gang()?;
        self.rounds()?;
        self.packing()?;
        self.gathering();
        let within = |level: &&Level| matches!(level, Level::Die | Level::Plane);
        let by_address = allocation.levels().iter().any(|level| within(&level));
        if by_address && self.spec.ftl.plane_choice != PlaneChoice::InTurn {
            self.warnings.push(format!(
                "ftl.plane_choice: no effect with ftl.allocation = \"{}\": the address says which plane",
                self.spec.ftl.allocation
            ));
        }
        let bound = allocation != Binding::DYNAMIC;
        if self.spec.ftl.stride_pages > 1 && !bound {
            let text = "ftl.stride_pages: no effect with ftl.allocation = \"dynamic\"";
            self.warnings.push(text.into());
        }
        Ok(())
    }

    /// A gang is some whole channels, each of which does one thing at a time.
    fn gang(&self) -> Result<(), DriveError> {
        let flash = &self.spec.flash;
        if flash.control_gang == 1 {
            return Ok(());
        }
        let keys = ["flash.control_gang", "flash.channels"];
        if !flash.channels.is_multiple_of(flash.control_gang) {
            let message =
                format!("gangs of {} do not divide {} channels", flash.control_gang, flash.channels);
            return Err(self.wrong(&keys, message));
        }
        if flash.bus != BusUse::Operations || self.units_on_a_channel() > 1 {
            let message = "channels with shared control lines start and end together, so each must have \
                           one busy unit and hold the channel for whole operations: flash.bus = \
                           \"operations\", and one chip, die or plane (flash.busy_unit) on it";
            return Err(self.wrong(&["flash.control_gang", "flash.bus", "flash.busy_unit"], message));
        }
        Ok(())
    }

    /// A channel that works in rounds knows when they end before they begin.
    fn rounds(&self) -> Result<(), DriveError> {
        let (flash, ftl) = (&self.spec.flash, &self.spec.ftl);
        if flash.bus != BusUse::Rounds {
            return Ok(());
        }
        let commands = &flash.commands;
        let joins = commands.multi_plane != MultiPlane::Off || commands.cache_program || commands.cache_read;
        // What scheme or map collects are programs and erases like others.
        let scheme = schemes::named(&self.spec.redundancy.scheme);
        let collects = !self.maps_blocks() && scheme.is_none_or(|scheme| scheme.kind != Members::Raw);
        let refused = [
            (
                collects && ftl.gc.run != GcRun::HoldChannel,
                "ftl.gc.run",
                "\"hold-channel\" is accepted with this",
            ),
            (
                collects && ftl.gc.soft_threshold.is_some(),
                "ftl.gc.soft_threshold",
                "it is not accepted with this",
            ),
            (joins, "flash.commands", "multi-plane commands and cache registers are not accepted with this"),
        ];
        let Some((_, key, accepted)) = refused.into_iter().find(|(refused, ..)| *refused) else {
            return Ok(());
        };
        let message = format!("rounds of one operation for each unit: of {key}, {accepted}");
        Err(self.wrong(&["flash.bus", key], message))
    }

    fn units_on_a_channel(&self) -> u64 {
        super::check::units_per_channel(&self.spec)
    }

    /// Beyond the queue: a clock that may stand back fits neither a link nor another order.
    pub(super) fn host(&mut self) -> Result<(), DriveError> {
        let host = &self.spec.host;
        let reordered = host.order == HostOrder::CLook;
        if host.late_requests == LateRequests::FromArrival && (reordered || host.link_us_per_sector > 0.0) {
            let key = if reordered { "host.order" } else { "host.link_us_per_sector" };
            let message = "a request served from its arrival cannot wait for a link or be reordered: \
                           host.late_requests = \"from-admission\" is accepted with this";
            return Err(self.wrong(&[key, "host.late_requests"], message));
        }
        if reordered && host.queue_depth == 0 {
            let text = "host.order: no effect with host.queue_depth = 0: no request waits in the host \
                        queue";
            self.warnings.push(text.into());
        }
        Ok(())
    }
}
