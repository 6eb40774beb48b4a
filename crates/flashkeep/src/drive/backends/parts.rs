//! Parts of a request that come one by one at an instant: none of them begins before all are there. So a read among them,
//! such as that of the old part of a page, goes first where the scheduler prefers reads, and writes among them fill word
//! lines together. Source: SSDSim, which makes all sub-requests of a request before it looks at the channels.

use super::DriveBackends;
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::kernel::SimTime;

/// What has come of a request.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Parts {
    /// More may come.
    held: bool,
    /// Write queues that writes have come to, with their FTL and the channels that may take them.
    offers: Vec<(usize, u32, u32)>,
    /// Channels that reads wait for.
    channels: Vec<usize>,
}

impl Parts {
    /// Parts of a request come: nothing begins before [`DriveBackends::begin_parts`]. False if that held already.
    pub(in crate::drive) fn hold_parts(&mut self) -> bool {
        !std::mem::replace(&mut self.held, true)
    }

    /// A write has come to a queue: whether its channels are visited later.
    #[inline]
    pub(super) fn offers_later(&mut self, ftl: usize, write_queue: u32, channels: u32) -> bool {
        let offer = (ftl, write_queue, channels);
        if self.held && !self.offers.contains(&offer) {
            self.offers.push(offer);
        }
        self.held
    }

    /// A read has come: whether its channel is visited later.
    #[inline]
    pub(in crate::drive) fn visits_later(&mut self, channel: usize) -> bool {
        if self.held && !self.channels.contains(&channel) {
            self.channels.push(channel);
        }
        self.held
    }
}

impl<C: Contents> DriveBackends<C> {
    /// All parts have come: the channels are offered the writes in turn and serve what the scheduler puts first. False if
    /// nothing has come.
    pub(in crate::drive) fn begin_parts(&mut self, now: SimTime, controller: &mut Controller<C>) -> bool {
        self.parts.held = false;
        if self.parts.offers.is_empty() && self.parts.channels.is_empty() {
            return false;
        }
        controller.now = now;
        let mut offers = std::mem::take(&mut self.parts.offers);
        for (ftl, write_queue, channels) in offers.drain(..) {
            self.offer(now, ftl, write_queue, channels, controller);
        }
        self.parts.offers = offers;
        let mut channels = std::mem::take(&mut self.parts.channels);
        for channel in channels.drain(..) {
            controller.visit(now, channel, self);
        }
        self.parts.channels = channels;
        true
    }
}
