//! Requests on the link between host and drive ([`Link`]).

use super::{Device, Host, OutstandingRequest, Simulation};
use crate::device::port::{Crossing, Link};
use crate::devices::Body;
use crate::engine::{Contents, Finished};
use crate::kernel::{Id, SimTime};
use flashkeep_trace::Op;

impl<C: Contents, H: Body<C>> Device<C, H> {
    fn link(&mut self) -> &mut Link {
        self.engine.ports_mut().host_link_mut().expect("the host has a link")
    }
}

impl<C: Contents> Host<C> {
    /// The sectors of a request with this operation; 0 for others.
    fn crossing(&self, id: Id<OutstandingRequest<C>>, op: Op) -> u64 {
        let this = &self.in_flight[id];
        if this.op == Some(op) { this.sectors } else { 0 }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// A request has been admitted: it waits for the link.
    #[inline(never)]
    pub(super) fn come(&mut self, id: Id<OutstandingRequest<C>>) {
        let (now, sectors) = (self.clock.now, self.host.crossing(id, Op::Write));
        let link = self.device.link();
        link.come(id.raw(), sectors);
        if link.is_free(now) {
            self.cross();
        }
    }

    /// The device completes a request, now or later: its data cross the link, then it ends.
    #[inline(never)]
    pub(super) fn go(&mut self, finished: Finished, ready: SimTime) {
        let id = Id::new(finished.tag);
        let sectors = self.host.crossing(id, Op::Read);
        self.device.link().go(finished.tag, ready, sectors);
        self.host.in_flight[id].finished = Some(finished);
    }

    /// A request has passed link and device at `end`.
    fn leave(&mut self, id: u32, end: SimTime) {
        if self.failures.durability.is_some() {
            self.host.window.leave(end);
            self.host.acknowledge(Id::new(id), &mut self.failures);
        }
        let finished = self.host.in_flight[Id::new(id)].finished.expect("flash is done with it");
        self.conclude(&finished, end);
    }

    /// The link is free: starts its next transfers, until it is busy again or has no requests.
    #[inline(never)]
    pub(super) fn cross(&mut self) {
        let (now, holds) = (self.clock.now, self.failures.durability.is_some());
        while let Some(crossing) = self.device.link().next(now, holds) {
            match crossing {
                Crossing::In(id) => self.submit(Id::new(id)),
                Crossing::Out(id, end) => self.leave(id, end),
            }
        }
    }
}
