//! Ports: link, write cache and merging of partial pages ([`Port`]). The first one is the host's, before the root; the
//! others are those of members of arrays.
//!
//! The host's port is handed fragments of requests (`Engine::call_host_port`), the others commands.
//!
//! To the nodes above, a node with a port is like a backend: it takes commands and completes them. To the nodes below,
//! the port is like the host: the commands that one caller sends as one run of sectors become a *port request*, whose
//! pages are counted like those of a request of the host. Unrecoverable pages are reported when the port request ends;
//! the scheme of the node's parent repairs them.
//!
//! A page in the cache is the member's newest version. Nodes above see no difference, and to them a write is durable
//! when it is acknowledged. Evicted pages are written below as a part of the port request that needs their room; that
//! request waits for them.
//!
//! `accept` handles port requests, `behind` has the port's operations on the subtree below, `flush` empties caches,
//! `durable` has the stages of requests of the host that end when they are durable, `write_back` makes room in caches
//! early, `protected` restores those that survive a power loss; this file has the state and its queries.

mod accept;
mod behind;
mod durable;
mod flush;
mod protected;
mod write_back;

use super::command::{Command, Page, Verb};
use super::executor::Engine;
use super::gaps::Gaps;
use super::locks::Locks;
use super::nodes::Nodes;
use super::plan::Key;
use super::requests::CompletionCounter;
use super::schedule::{Due, Schedule};
use super::scheme::{Change, Scheme};
use super::tree::NodeId;
use super::{BackendId, Backends, Contents};
use crate::device::command::Sectors;
use crate::device::port::{Fragment, Hits, Link, PartialPages, Port, PortOptions, SectorMap};
use crate::kernel::{Arena, FixedMap, Id, SimTime, Span};
pub(super) use accept::PortRequest;
pub use behind::{PortCaller, PortSubtree};
use durable::DurableRequest;
pub(super) use flush::Fences;
#[cfg(test)]
pub(super) use flush::Flushed;
pub(super) use flush::NO_PAGE;
use std::collections::VecDeque;

/// The number of a port: 0 is the host's, before the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortId(pub(super) u16);

impl PortId {
    /// The host's.
    pub(super) const HOST: PortId = PortId(0);

    /// The key that keeps a page from others while the port merges it.
    pub(super) fn key(self, page: u64) -> Key {
        debug_assert!(page < 1 << 48, "page {page} of a port");
        Key(u64::from(self.0) << 48 | page)
    }

    /// The port that a key is of.
    pub(super) fn of_key(Key(key): Key) -> PortId {
        PortId((key >> 48) as u16)
    }

    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The port of a node, and its requests.
#[derive(Clone, Debug)]
pub(super) struct NodePort<C> {
    node: NodeId,
    page_sectors: u32,
    /// The time in which its memory serves a request alone.
    memory: Span,
    link: Option<Link>,
    makes_requests: bool,
    has_cache: bool,
    has_copies: bool,
    /// None while the port is being called.
    port: Option<Box<Port<C>>>,
    /// The age of the last request that crossed the link.
    latest: u32,
    /// When the executor is scheduled to handle the link.
    armed: SimTime,
    /// Pages of commands that wait for the link: how many commands, and whether the last one writes.
    awaited: FixedMap<u64, (u32, bool)>,
    /// Pages that are being merged.
    merging: u32,
    /// When all that was written below it, as far as that is known, is on the media.
    settled: SimTime,
}

/// The ports of all nodes.
#[derive(Clone, Debug)]
pub struct Ports<C> {
    /// The first is the host's.
    all: Vec<NodePort<C>>,
    requests: Arena<PortRequest>,
    /// Port requests that may get more commands.
    open: Vec<Id<PortRequest>>,
    /// Port requests whose pages are all acknowledged, or durable after that.
    ended: VecDeque<Id<PortRequest>>,
    /// Requests of the host that end when they are durable.
    durable: Vec<DurableRequest>,
    /// How many members' ports are handing down commands.
    at_work: u32,
    /// Ports that look at their caches now.
    looking: Vec<u16>,
    /// Ports whose links have an event now.
    notified: Vec<u16>,
    /// Commands bypass links and caches: the array is being conditioned.
    bypassed: bool,
}

impl<C: Contents> Ports<C> {
    pub(super) fn new(ports: Vec<(NodeId, PortOptions)>) -> Self {
        Ports {
            all: ports.into_iter().map(|(node, options)| NodePort::new(node, options)).collect(),
            requests: Arena::default(),
            open: Vec::new(),
            ended: VecDeque::new(),
            durable: Vec::new(),
            at_work: 0,
            notified: Vec::new(),
            looking: Vec::new(),
            bypassed: false,
        }
    }

    /// Whether a node with a port will have the page when all waiting commands have arrived; none if the port does not
    /// know.
    pub(super) fn holds(&self, at: u16, page: Page) -> Option<bool> {
        let this = &self.all[usize::from(at)];
        let awaited = this.awaited.get(&page.0).map(|&(_, writes)| writes);
        awaited.or_else(|| this.newest(page).map(|_| true))
    }

    /// Whether the port has a write cache that a power loss empties.
    pub(super) fn is_volatile(&self, at: u16) -> bool {
        let this = &self.all[usize::from(at)];
        this.has_cache && !this.is_protected()
    }

    /// The contents of a page that a protected cache has.
    pub(super) fn preserved_page(&self, at: u16, page: Page) -> Option<C> {
        self.all[usize::from(at)].preserved(page)
    }

    /// The stamp of a page that a protected cache has.
    pub(super) fn preserved(&self, at: u16, page: Page) -> Option<u64> {
        Some(self.preserved_page(at, page)?.stamp())
    }

    /// The contents of a page in the cache before a node, if the cache has it.
    #[must_use]
    pub fn kept<S: Scheme>(&self, node: NodeId, page: Page, nodes: &Nodes<S>) -> Option<C> {
        self.all[usize::from(nodes[node].port?)].newest(page)
    }

    /// Sector hits and misses of the cache before a node; none if there is none.
    #[must_use]
    pub fn hits<S: Scheme>(&self, node: NodeId, nodes: &Nodes<S>) -> Option<Hits> {
        self.all[usize::from(nodes[node].port?)].port().hits()
    }

    /// Whether the port has a write cache that holds pages, or that pages come to or leave.
    fn is_dirty(&self, at: u16, now: SimTime) -> bool {
        let this = &self.all[usize::from(at)];
        let is_written = || self.requests.places().any(|request| request.writes_to(at));
        this.has_cache && (this.port().holds_pages() || this.settled > now || is_written())
    }

    /// Whether port requests are in progress at or below one of these nodes.
    pub(super) fn is_at_work(&self, nodes: &[NodeId]) -> bool {
        let here = |request: &PortRequest| nodes.contains(&self.all[usize::from(request.port)].node);
        self.requests.places().any(|request| request.counter.is_some() && here(request))
    }

    /// The power was cut: drops all requests, empties the caches of members, and blocks their links until `ready`. Protected caches
    /// save what they hold; what the members lacked before the power failed is not among that.
    pub(super) fn cut(&mut self, ready: SimTime, gaps: &Gaps) {
        self.requests = Arena::default();
        self.open.clear();
        self.ended.clear();
        self.durable.clear();
        self.notified.clear();
        (self.all[0].merging, self.all[0].settled) = (0, SimTime::ZERO);
        for this in self.members_mut() {
            this.awaited.clear();
            this.armed = SimTime::NEVER;
            this.merging = 0;
            if let Some(link) = &mut this.link {
                link.cut(ready);
            }
            this.settled = SimTime::ZERO;
            let node = this.node;
            this.port_mut().cut_power();
            this.port_mut().forget_saved(|page| gaps.lacks(node, page));
        }
    }

    /// The last page of a port request is acknowledged, or durable after that.
    pub(super) fn end(&mut self, id: Id<PortRequest>) {
        self.ended.push_back(id);
    }

    /// Schedules an event of a port's link after all others that are due, unless the link has an earlier event,
    /// and has another event now.
    pub(super) fn notify(&mut self, now: SimTime, at: u16) {
        if self.all[usize::from(at)].armed <= now && !self.notified.contains(&at) {
            self.notified.push(at);
        }
    }

    /// A port is to look at its cache when all else of this instant has happened.
    pub(super) fn wants_write_back(&mut self, at: u16) {
        self.looking.push(at);
    }

    /// Whether a port request is work for the host: its port writes back.
    pub(super) fn is_for_host(&self, id: Id<PortRequest>) -> bool {
        self.requests[id].port == PortId::HOST.0
    }

    /// Whether links have events now.
    pub(super) fn is_notified(&self) -> bool {
        !self.notified.is_empty()
    }

    /// Whether more commands may be added to some port request.
    #[inline]
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the port request that ended first can be finished: not while its port is handing down a command, nor, if it
    /// has lost pages, while any port is, to which their repair may come.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.ended.front().is_some_and(|&id| {
            let request = &self.requests[id];
            let is_called = self.all[usize::from(request.port)].port.is_none();
            !is_called && (self.at_work == 0 || !request.is_lost())
        })
    }

    /// The number of pages that a port is merging.
    #[inline]
    pub(super) fn merging_at(&mut self, port: PortId) -> &mut u32 {
        &mut self.all[port.index()].merging
    }

    /// The port request that ended first, if it can be finished.
    fn next_ended(&mut self) -> Option<Id<PortRequest>> {
        if self.has_ended() { self.ended.pop_front() } else { None }
    }

    /// The ports of members.
    pub(super) fn members(&self) -> &[NodePort<C>] {
        &self.all[1..]
    }

    fn members_mut(&mut self) -> &mut [NodePort<C>] {
        &mut self.all[1..]
    }

    pub(super) fn has_members(&self) -> bool {
        self.all.len() > 1
    }

    /// A port begins to hand down commands: it cannot be called meanwhile. No repair comes to the host's port.
    #[inline]
    fn call(&mut self, at: u16) -> Box<Port<C>> {
        self.at_work += u32::from(at != PortId::HOST.0);
        self.all[usize::from(at)].port.take().expect("the port is not at work")
    }

    /// The port has done so. Whether requests with lost pages have waited for that, whose repair may come to it.
    #[inline]
    fn end_call(&mut self, at: u16, port: Box<Port<C>>) -> bool {
        self.all[usize::from(at)].port = Some(port);
        if at == PortId::HOST.0 {
            return false;
        }
        self.at_work -= 1;
        self.at_work == 0 && self.ended.front().is_some_and(|&id| self.requests[id].is_lost())
    }

    /// The owner that waits for a port request, if there is one.
    pub(super) fn caller(&self, id: Id<PortRequest>) -> Id<CompletionCounter> {
        if id.is_some() { self.requests[id].waiting() } else { Id::NONE }
    }

    /// The node that a port is before.
    #[inline]
    pub(super) fn node_of(&self, port: PortId) -> NodeId {
        self.all[port.index()].node
    }

    /// Whether the pages that a port request writes stay in a write cache.
    fn keeps(&self, id: Id<PortRequest>) -> bool {
        let request = &self.requests[id];
        self.all[usize::from(request.port)].port().has_cache() && !request.is_forced()
    }

    /// Whether a request may have to read old parts of the pages that it writes.
    fn merges(&self, id: Id<PortRequest>) -> bool {
        let request = &self.requests[id];
        let is_partial = request.commands.iter().any(|asked| asked.command.sectors != 0);
        request.verb() == Verb::Write && (is_partial || self.all[usize::from(request.port)].has_cache)
    }

    fn node(&self, id: Id<PortRequest>) -> NodeId {
        self.all[usize::from(self.requests[id].port)].node
    }

    // ---------------------------------------------------------------- the host's port

    /// The host's port.
    #[must_use]
    #[inline]
    pub fn host(&self) -> &Port<C> {
        self.all[0].port()
    }

    /// The same, mutable.
    #[inline]
    pub fn host_mut(&mut self) -> &mut Port<C> {
        self.all[0].port_mut()
    }

    /// The link between the host and its port, if it takes time.
    #[must_use]
    #[inline]
    pub fn host_link(&self) -> Option<&Link> {
        self.all[0].link.as_ref()
    }

    /// The same, mutable.
    #[inline]
    pub fn host_link_mut(&mut self) -> Option<&mut Link> {
        self.all[0].link.as_mut()
    }

    /// Pages below the host's port are on the media at an instant.
    #[inline]
    pub fn note_settled_host(&mut self, at: SimTime) {
        let settled = &mut self.all[0].settled;
        *settled = at.max(*settled);
    }

    /// Puts a port with these options between the host and the root.
    pub fn set_host(&mut self, options: PortOptions) {
        self.all[0] = NodePort::new(NodeId::ROOT, options);
    }

    /// The sectors that all caches hold.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.all.iter().map(|this| this.port().held()).sum()
    }

    /// Whether any member's cache holds pages.
    #[must_use]
    pub fn keeps_pages(&self) -> bool {
        self.members().iter().any(|this| this.port().holds_pages())
    }

    /// Whether any member has a cache.
    #[must_use]
    pub fn has_any_cache(&self) -> bool {
        self.members().iter().any(|this| this.has_cache)
    }

    /// Whether any member has a cache that a power cut empties: pages that are durable to the array may then be lost.
    #[must_use]
    pub fn has_caches(&self) -> bool {
        (1..self.all.len() as u16).any(|at| self.is_volatile(at))
    }

    /// Sets whether commands bypass links and caches of members.
    pub fn bypass(&mut self, bypassed: bool) {
        self.bypassed = bypassed;
    }

    /// The sectors that exist below each member's port, and the contents of pages there as tokens.
    #[must_use]
    pub fn pages_of_members(&self) -> Vec<(&SectorMap, Vec<(u64, u64)>)> {
        self.members().iter().map(|this| this.port().state()).collect()
    }

    /// Restores the ports of members of a saved run.
    pub fn restore_members(&mut self, states: Vec<(SectorMap, Vec<(u64, u64)>)>) {
        for (this, (pages, stored)) in self.members_mut().iter_mut().zip(states) {
            this.port_mut().restore(pages, stored);
        }
    }

    /// Pages below a port have been created without it.
    pub(super) fn note_created(&mut self, port: u16, pages: std::ops::Range<u64>) {
        let port = self.all[usize::from(port)].port_mut();
        // A port that merges nothing does not know pages.
        if !port.pages().is_empty() {
            port.pages_mut().set_run(pages.start, pages.end - pages.start);
        }
    }

    /// No cache writes back by itself any more; whether one did.
    pub fn stop_writing_back(&mut self) -> bool {
        self.all.iter_mut().fold(false, |any, this| this.port_mut().stop_writing_back() | any)
    }

    /// A command for this port comes.
    #[inline]
    pub(super) fn end_idle_port(&mut self, at: u16) {
        let this = &mut self.all[usize::from(at)];
        if this.has_cache {
            this.port_mut().end_idle();
        }
    }

    /// A request of the host comes.
    #[inline]
    pub fn end_host_idle(&mut self) {
        self.end_idle_port(PortId::HOST.0);
    }

    /// Schedules the executor for the next event of the port's link.
    fn arm_port(&mut self, now: SimTime, at: u16, schedule: &mut Schedule) {
        let this = &mut self.all[usize::from(at)];
        let when = this.link.as_ref().map_or(SimTime::NEVER, Link::next_at);
        if when < this.armed {
            this.armed = when.max(now);
            schedule.due.push(this.armed, Due::Port(at));
        }
    }

    /// Whether a port above a backend's node has the page, or will write it below.
    pub(super) fn is_before<S: Scheme>(
        &self,
        node: NodeId,
        page: Page,
        nodes: &Nodes<S>,
        locks: &Locks,
    ) -> bool {
        let Some(port) = nodes[node].port else { return false };
        // A page that is being merged will be written, or found to be lost.
        let merges = || locks.is_held(NodeId::HOST, PortId(port).key(page.0));
        self.holds(port, page) == Some(true) || merges()
    }

    /// The age of a scheme's background work: that of the last request that reached it; none if that
    /// is the last of all.
    pub(super) fn age_at<S: Scheme>(&self, node: NodeId, nodes: &Nodes<S>) -> Option<u32> {
        let mut at = if self.has_members() { Some(node) } else { None };
        while let Some(node) = at {
            let shape = &nodes[node];
            if let Some(port) = shape.port
                && self.all[usize::from(port)].makes_requests()
            {
                return Some(self.all[usize::from(port)].latest);
            }
            at = shape.parent.map(|(parent, _)| parent);
        }
        None
    }
}

impl<C: Contents> NodePort<C> {
    fn new(node: NodeId, options: PortOptions) -> Self {
        NodePort {
            node,
            page_sectors: options.page_sectors,
            memory: options.memory,
            link: Link::new(options.link),
            makes_requests: options.link.is_any() || options.cache_sectors > 0 || options.copied_sectors > 0,
            has_cache: options.cache_sectors > 0,
            has_copies: options.copied_sectors > 0,
            port: Some(Box::new(Port::of(&options))),
            latest: 0,
            armed: SimTime::NEVER,
            awaited: FixedMap::default(),
            merging: 0,
            settled: SimTime::ZERO,
        }
    }

    #[inline]
    fn port(&self) -> &Port<C> {
        self.port.as_ref().expect("the port is not at work")
    }

    #[inline]
    fn port_mut(&mut self) -> &mut Port<C> {
        self.port.as_mut().expect("the port is not at work")
    }

    fn is_protected(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.is_protected())
    }

    /// The contents of a page in a cache that survives a power loss.
    fn preserved(&self, page: Page) -> Option<C> {
        if self.is_protected() { self.newest(page) } else { None }
    }

    /// The contents of a page in the cache.
    fn newest(&self, page: Page) -> Option<C> {
        self.port.as_ref()?.newest(page.0)
    }

    /// Whether commands become port requests even without a merge.
    fn makes_requests(&self) -> bool {
        self.makes_requests
    }

    /// Whether the port only passes commands through the link.
    fn is_only_a_link(&self) -> bool {
        let port = self.port();
        port.parts() == PartialPages::AsTheyAre && !port.has_cache() && !port.has_copies()
    }

    /// The number of sectors that a command transfers on the link.
    fn sectors(&self, command: &Command) -> u64 {
        match command.sectors {
            0 => u64::from(command.count) * u64::from(self.page_sectors),
            sectors => u64::from(sectors),
        }
    }

    /// The port request that a command belongs to.
    fn fragment(&self, command: &Command) -> Fragment {
        let part = if command.count == 1 { command.part_of_page() } else { Sectors::ALL };
        Fragment {
            page: command.start.0,
            count: u32::from(command.count),
            mask: self.port().pages().mask(part),
            continues: command.flags.has(super::Flags::CONTINUES),
        }
    }

    /// Counts a command that changes pages and waits for the link, or that no longer waits.
    fn await_pages(&mut self, command: &Command, waits: bool) {
        if command.changes_nothing() {
            return;
        }
        for page in command.start.0..command.end() {
            if waits {
                let (commands, writes) = self.awaited.entry(page).or_default();
                *commands += 1;
                *writes = command.verb == Verb::Write;
            } else if let Some((commands, _)) = self.awaited.get_mut(&page) {
                *commands -= 1;
                if *commands == 0 {
                    self.awaited.remove(&page);
                }
            }
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// The ports of the host and of members.
    #[must_use]
    #[inline]
    pub fn ports(&self) -> &Ports<C> {
        &self.ports
    }

    /// The same, mutable.
    #[inline]
    pub fn ports_mut(&mut self) -> &mut Ports<C> {
        &mut self.ports
    }

    /// After a power cut, pages below ports have the contents that their backends recovered, which may be older than
    /// the last write through the port. Missing pages are written as a whole when they are rebuilt.
    #[cold]
    pub fn fall_back_ports(&mut self, contents: impl Fn(BackendId, Page) -> Option<C>) {
        for at in 1..self.ports.all.len() {
            let this = &self.ports.all[at];
            if this.port().parts() == PartialPages::AsTheyAre {
                continue;
            }
            let (node, pages) = (this.node, this.port().pages().ever_existing());
            for page in pages {
                if let Some(found) =
                    self.nodes.intact_contents_behind(node, Page(page), &contents, &self.ports)
                {
                    self.ports.all[at].port_mut().fall_back(page, found);
                }
            }
        }
    }

    /// Completes the requests that wait at nodes that no longer respond: reads fail, writes have no effect. Their
    /// caches lose their contents.
    #[cold]
    pub(super) fn close_ports<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        node: NodeId,
        change: Change,
    ) {
        let concerns = matches!(change, Change::Failed | Change::Replaced);
        if !self.ports.has_members() || !concerns {
            return;
        }
        for node in self.nodes.subtree(node) {
            let Some(at) = self.nodes[node].port else { continue };
            let this = &mut self.ports.all[usize::from(at)];
            if change == Change::Replaced {
                this.port_mut().forget();
                continue;
            }
            this.port_mut().fail();
            let Some(link) = &mut this.link else { continue };
            let (coming, going) = link.abandon(now);
            this.awaited.clear();
            for id in coming.into_iter().map(Id::new) {
                self.turn_away(backends, now, id);
            }
            for (id, ready) in going {
                self.answer(backends, now, Id::new(id), ready.max(now));
            }
        }
    }
}
