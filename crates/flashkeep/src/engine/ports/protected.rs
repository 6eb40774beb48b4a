//! Members' caches that survive a power loss. What a cache has saved is in the cache again when the nodes above recover, so that
//! it is the member's newest version for them, unless it is below the port as it is: what must be reconstructed there may come to
//! a cache that the next power loss empties. When all nodes have recovered, it is written out by a port request for which no
//! caller waits.

use super::super::Contents;
use super::super::backends::Backends;
use super::super::command::Page;
use super::super::executor::Engine;
use super::super::nodes::Nodes;
use super::super::scheme::Scheme;
use super::super::tree::NodeId;
use super::Ports;
use crate::kernel::SimTime;

impl<C: Contents> Ports<C> {
    /// A page that a cache has saved is wrong.
    pub(in super::super) fn discard(&mut self, at: u16, page: Page) {
        self.all[usize::from(at)].port_mut().discard(page.0);
    }

    /// The power will fail.
    pub fn expect_power_cuts(&mut self) {
        self.all.iter_mut().for_each(|this| this.port_mut().expect_power_cuts());
    }

    /// The subtrees below a node have recovered: what their protected caches have saved and what is not below these is in
    /// the caches again.
    pub(in super::super) fn restore_saved<S: Scheme, L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        nodes: &Nodes<S>,
    ) {
        let on_media = |backend, page| backends.oob(backend, page).map(|oob| C::token(oob.stamp));
        for child in nodes[node].children.clone() {
            let port = nodes[child].port;
            let Some(at) = port.filter(|&at| self.all[usize::from(at)].is_protected()) else {
                continue;
            };
            let mut port = self.call(at);
            port.restore_saved(|page, saved| {
                let behind = nodes.intact_contents_behind(child, Page(page), &on_media, self);
                behind.is_some_and(|behind| behind.stamp() == saved.stamp())
            });
            self.end_call(at, port);
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// All nodes have recovered: what caches have saved is written out.
    pub(in super::super) fn write_out_saved<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime) {
        for at in 1..self.ports.all.len() {
            let this = &self.ports.all[at];
            if this.is_protected() && this.port().holds_pages() && self.nodes[this.node].alive {
                self.write_back(backends, now, at as u16, |port, below| port.flush_all(below));
            }
        }
    }
}
