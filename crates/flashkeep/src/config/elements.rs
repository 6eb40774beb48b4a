//! Checks of elements, chip by chip: planes, gangs, logical pages, and the host interface beyond the queue;
//! which of these keys can be combined.

use super::check::Check;
use crate::error::DriveError;
use crate::flash::StripingLevel;
use crate::ftl::PlaneChoice;
use crate::ftl::allocation::Binding;
use crate::host::{HostOrder, LateRequests};

impl Check<'_> {
    pub(super) fn elements(&mut self, allocation: Binding) -> Result<(), DriveError> {
        self.gang()?;
        let within = |level: &&StripingLevel| matches!(level, StripingLevel::Die | StripingLevel::Plane);
        let by_address = allocation.levels().iter().any(|level| within(&level));
        if by_address && self.spec.ftl.plane_choice != PlaneChoice::InTurn {
            self.warnings.push(format!(
                "ftl.plane_choice: no effect with ftl.allocation = \"{}\": the address says which plane",
                self.spec.ftl.allocation
            ));
        }
        Ok(())
    }

    /// A gang is some whole channels.
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
        Ok(())
    }

    /// With `from-arrival` the clock may go back, which fits neither a link nor another order of requests.
    pub(super) fn host(&mut self) -> Result<(), DriveError> {
        let host = &self.spec.host;
        let reordered = host.order == HostOrder::CLook;
        if host.late_requests == LateRequests::FromArrival && (reordered || host.has_link()) {
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
