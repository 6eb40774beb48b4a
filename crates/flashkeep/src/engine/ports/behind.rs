//! The operations of a port on the subtree below it.

use super::super::Contents;
use super::super::backends::{Backends, CompletionToken, Done, OpenRequest};
use super::super::command::{Command, Flags, Page, Verb};
use super::super::executor::Engine;
use super::super::scheme::Scheme;
use super::PortId;
use crate::device::command::Origin;
use crate::device::port::{Merge, Port, PortBackend, Run};
use crate::kernel::SimTime;

/// The caller of a port, as far as it has to know which pages its request reads.
pub trait PortCaller<C> {
    /// Pages are read from below the port, to places from `slot` on, and `stored` is what each is expected to hold.
    fn note_read(&mut self, slot: u32, pages: Run, stored: impl Fn(u64) -> C) {
        let _ = (slot, pages, stored);
    }

    /// A clean copy serves a read of a page.
    fn note_copied(&mut self, slot: u32, page: u64) {
        let _ = (slot, page);
    }
}

/// Nodes above a port compare no contents.
impl<C> PortCaller<C> for () {}

/// The subtree below a port, and the command for which the port works.
pub struct PortSubtree<'a, S, C, L, R> {
    pub(super) engine: &'a mut Engine<S, C>,
    pub(super) backends: &'a mut L,
    pub(super) now: SimTime,
    pub(super) at: u16,
    pub(super) command: Command,
    /// The places of the command's pages.
    pub(super) token: CompletionToken,
    caller: R,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Writes all that the caches of members hold below, as a part of this request. What leaves a cache may come to
    /// another one below.
    pub fn write_back_ports<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, request: OpenRequest) {
        for at in 1..self.ports.all.len() as u16 {
            self.at_port(backends, now, at, request.pages(), |port, below| port.write_back(below));
        }
    }

    /// The same for the host's cache.
    pub fn write_back_host_port<L: Backends<C>>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        request: OpenRequest,
    ) {
        self.at_port(backends, now, PortId::HOST.0, request.pages(), |port, below| port.write_back(below));
    }

    /// Has a port write below, as a part of a request.
    pub(super) fn at_port<L: Backends<C>, T>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        token: CompletionToken,
        work: impl FnOnce(&mut Port<C>, &mut PortSubtree<'_, S, C, L, ()>) -> T,
    ) -> T {
        self.call_port(backends, now, at, (Command::new(Verb::Write, Page(0), 1), token), (), work)
    }

    /// Has the host's port work for a command of a request, the places of whose pages begin with a token.
    #[inline(always)]
    pub fn call_host_port<L: Backends<C>, R: PortCaller<C>, T>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        what: (Command, CompletionToken),
        caller: R,
        work: impl FnOnce(&mut Port<C>, &mut PortSubtree<'_, S, C, L, R>) -> T,
    ) -> T {
        self.call_port(backends, now, PortId::HOST.0, what, caller, work)
    }

    /// Has a port work below for a command, the places of whose pages begin with a token.
    #[inline(always)]
    pub(super) fn call_port<L: Backends<C>, R: PortCaller<C>, T>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        (command, token): (Command, CompletionToken),
        caller: R,
        work: impl FnOnce(&mut Port<C>, &mut PortSubtree<'_, S, C, L, R>) -> T,
    ) -> T {
        let mut port = self.ports.call(at);
        let mut below = PortSubtree { engine: self, backends, now, at, command, token, caller };
        let result = work(&mut port, &mut below);
        if self.ports.end_call(at, port) {
            self.end_port_requests(backends, now);
        }
        result
    }
}

impl<S: Scheme, C: Contents, L: Backends<C>, R> PortSubtree<'_, S, C, L, R> {
    /// Hands a command down for these pages.
    #[inline(always)]
    fn hand(&mut self, command: Command, pages: Run, token: CompletionToken) {
        let Run { page, count, sectors, continues } = pages;
        let Ok(count) = u16::try_from(count) else { return self.hand_in_pieces(command, pages, token) };
        let flags = command.flags.without(Flags::CONTINUES);
        let flags = if continues { flags.with(Flags::CONTINUES) } else { flags };
        let command = Command { start: Page(page), count, flags, ..command }.of(sectors);
        let PortSubtree { engine, backends, now, at, .. } = self;
        engine.submit_behind(*backends, *now, PortId(*at), command, token);
    }

    /// The same for more pages than a command can have.
    #[cold]
    fn hand_in_pieces(&mut self, command: Command, pages: Run, token: CompletionToken) {
        let most = u32::from(u16::MAX);
        for first in (0..pages.count).step_by(most as usize) {
            let count = most.min(pages.count - first);
            let piece = Run { page: pages.page + u64::from(first), count, ..pages };
            self.hand(command, piece, token.plus(first));
        }
    }

    /// Adds a place for contents that are not part of the command.
    fn place(&mut self, contents: impl Iterator<Item = C>) -> CompletionToken {
        if !C::KEEP {
            return self.token;
        }
        CompletionToken { slot: self.engine.work.buffers.extend(self.token.owner, contents), ..self.token }
    }
}

impl<S: Scheme, C: Contents, L: Backends<C>, R: PortCaller<C>> PortBackend<C>
    for PortSubtree<'_, S, C, L, R>
{
    #[inline]
    fn read(&mut self, pages: Run, at: u32, stored: impl Fn(u64) -> C, newest: Option<C>) {
        let token = self.token.plus(at);
        if C::KEEP
            && let Some(newest) = newest
        {
            // The difference between the cached contents and those that are read.
            let difference = newest.plus(1, stored(pages.page));
            self.engine.work.buffers.set_old(token.owner, token.slot, difference);
        }
        self.caller.note_read(token.slot, pages, stored);
        self.hand(self.command, pages, token);
    }

    fn prefetch(&self, page: u64) {
        let (nodes, node) = (&self.engine.nodes, self.engine.ports.node_of(PortId(self.at)));
        nodes.prefetch(node, Page(page), &mut |backend, page| self.backends.prefetch(backend, page));
    }

    fn hit(&mut self, at: u32, newest: C) {
        let token = self.token.plus(at);
        if self.command.flags.has(Flags::BEFORE) {
            self.engine.work.account(token, 1);
            self.backends.done().push(Done { contents: newest, ..Done::at(token, 1, self.now) });
        } else if C::KEEP && self.command.verb == Verb::Read {
            self.engine.work.buffers.of(token.owner)[token.slot as usize] = newest;
        }
    }

    #[inline]
    fn write(&mut self, pages: Run, origin: Origin, at: Option<u32>, contents: impl Fn(u64) -> C) {
        if let Some(at) = at {
            return self.hand(self.command, pages, self.token.plus(at));
        }
        let token = self.place((pages.page..pages.page + u64::from(pages.count)).map(contents));
        let write = Command::new(Verb::Write, Page(pages.page), 1);
        let flags = self.command.flags.forced().for_handle(origin.handle);
        let write = Command { flags, ..write.because(origin.cause) };
        self.hand(write, pages, CompletionToken { gap: 0, ..token });
    }

    fn merge(&mut self, merge: Merge, difference: C) {
        let token = self.place(std::iter::once(difference));
        let merge = Merge { flags: self.command.flags.forced().for_handle(merge.origin.handle), ..merge };
        let PortSubtree { engine, backends, now, at, .. } = self;
        engine.merge_behind(*backends, *now, PortId(*at), merge, CompletionToken { gap: 0, ..token });
    }

    #[inline]
    fn trim(&mut self, pages: Run, at: u32) {
        self.hand(self.command, pages, self.token.plus(at));
    }

    fn create(&mut self, pages: Run, at: u32, _: impl Fn(u64) -> C) {
        self.hand(self.command, pages, self.token.plus(at));
    }

    fn copied(&mut self, page: u64, at: u32, contents: C) {
        self.caller.note_copied(self.token.plus(at).slot, page);
        self.hit(at, contents);
    }

    fn is_healthy(&self) -> bool {
        self.engine.tree().is_healthy()
    }

    fn stores(&self) -> bool {
        self.engine.tree().heals_in_passing()
    }

    fn failures(&self) -> u64 {
        self.engine.tree().failures()
    }

    fn now(&self) -> SimTime {
        self.now
    }

    fn places(&mut self, at: u32) -> (u32, u32) {
        (self.token.owner.raw(), self.token.plus(at).slot)
    }
}
