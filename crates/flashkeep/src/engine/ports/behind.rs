//! The operations of a member's port on the subtree below it.

use super::super::Contents;
use super::super::backends::{Backends, CompletionToken, Done, OpenRequest};
use super::super::command::{Cause, Command, Flags, Page, Verb};
use super::super::executor::Engine;
use super::super::scheme::Scheme;
use super::PortId;
use crate::device::port::{Merge, Port, PortBackend, Run};
use crate::kernel::SimTime;

/// The subtree below a member's port, and the command for which the port works.
pub(super) struct MemberBackend<'a, S, C, L> {
    pub(super) engine: &'a mut Engine<S, C>,
    pub(super) backends: &'a mut L,
    pub(super) now: SimTime,
    pub(super) at: u16,
    pub(super) command: Command,
    /// The places of the command's pages.
    pub(super) token: CompletionToken,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Writes all that the caches of members hold below, as a part of this request. What leaves a cache may come to
    /// another one below.
    pub fn write_back_ports<L: Backends<C>>(&mut self, backends: &mut L, now: SimTime, request: OpenRequest) {
        for at in 0..self.ports.all.len() as u16 {
            self.at_port(backends, now, at, request.pages(), |port, below| port.write_back(below));
        }
    }

    /// Has a port write below, as a part of a request.
    pub(super) fn at_port<L: Backends<C>, T>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        token: CompletionToken,
        work: impl FnOnce(&mut Port<C>, &mut MemberBackend<'_, S, C, L>) -> T,
    ) -> T {
        self.call_port(backends, now, at, (Command::new(Verb::Write, Page(0), 1), token), work)
    }

    /// Has a port work below for a command, the places of whose pages begin with a token.
    #[inline]
    pub(super) fn call_port<L: Backends<C>, T>(
        &mut self,
        backends: &mut L,
        now: SimTime,
        at: u16,
        (command, token): (Command, CompletionToken),
        work: impl FnOnce(&mut Port<C>, &mut MemberBackend<'_, S, C, L>) -> T,
    ) -> T {
        let mut port = self.ports.call(at);
        let mut below = MemberBackend { engine: self, backends, now, at, command, token };
        let result = work(&mut port, &mut below);
        if self.ports.end_call(at, port) {
            self.end_port_requests(backends, now);
        }
        result
    }
}

impl<S: Scheme, C: Contents, L: Backends<C>> MemberBackend<'_, S, C, L> {
    fn hand(&mut self, command: Command, pages: Run, token: CompletionToken) {
        let Run { page, count, sectors, continues } = pages;
        let mut command = command.over(Page(page), count as u16).of(sectors);
        command.flags = command.flags.without(Flags::CONTINUES);
        if continues {
            command.flags = command.flags.with(Flags::CONTINUES);
        }
        let MemberBackend { engine, backends, now, at, .. } = self;
        engine.submit_behind(*backends, *now, PortId::of(*at), command, token);
    }

    /// Adds a place for contents that are not part of the command.
    fn place(&mut self, contents: impl Iterator<Item = C>) -> CompletionToken {
        if !C::KEEP {
            return self.token;
        }
        CompletionToken { slot: self.engine.buffers.extend(self.token.owner, contents), ..self.token }
    }
}

impl<S: Scheme, C: Contents, L: Backends<C>> PortBackend<C> for MemberBackend<'_, S, C, L> {
    fn read(&mut self, pages: Run, at: u32, stored: impl Fn(u64) -> C, newest: Option<C>) {
        let token = self.token.plus(at);
        if C::KEEP
            && let Some(newest) = newest
        {
            // The difference between the cached contents and those that are read.
            let difference = newest.plus(1, stored(pages.page));
            self.engine.buffers.set_old(token.owner, token.slot, difference);
        }
        self.hand(self.command, pages, token);
    }

    fn hit(&mut self, at: u32, newest: C) {
        let token = self.token.plus(at);
        if self.command.flags.has(Flags::BEFORE) {
            self.engine.account(token, 1);
            self.backends.done().push(Done { contents: newest, ..Done::at(token, 1, self.now) });
        } else if C::KEEP && self.command.verb == Verb::Read {
            self.engine.buffers.of(token.owner)[token.slot as usize] = newest;
        }
    }

    fn write(&mut self, pages: Run, cause: Cause, at: Option<u32>, contents: impl Fn(u64) -> C) {
        if let Some(at) = at {
            return self.hand(self.command, pages, self.token.plus(at));
        }
        let token = self.place((pages.page..pages.page + u64::from(pages.count)).map(contents));
        let write = Command::new(Verb::Write, Page(pages.page), pages.count as u16);
        let write = Command { flags: self.command.flags.forced(), ..write.because(cause) };
        self.hand(write, pages, CompletionToken { gap: 0, ..token });
    }

    fn merge(&mut self, merge: Merge, difference: C) {
        let token = self.place(std::iter::once(difference));
        let merge = Merge { flags: self.command.flags.forced(), ..merge };
        let MemberBackend { engine, backends, now, at, .. } = self;
        engine.merge_behind(*backends, *now, PortId::of(*at), merge, CompletionToken { gap: 0, ..token });
    }

    fn trim(&mut self, pages: Run, at: u32) {
        self.hand(self.command, pages, self.token.plus(at));
    }

    fn create(&mut self, pages: Run, at: u32, _: impl Fn(u64) -> C) {
        self.hand(self.command, pages, self.token.plus(at));
    }

    fn copied(&mut self, _: u64, at: u32, contents: C) {
        self.hit(at, contents);
    }

    fn is_healthy(&self) -> bool {
        self.engine.is_healthy()
    }

    fn stores(&self) -> bool {
        self.engine.heals_in_passing()
    }

    fn failures(&self) -> u64 {
        self.engine.failures()
    }

    fn now(&self) -> SimTime {
        self.now
    }

    fn places(&mut self, at: u32) -> (u32, u32) {
        (self.token.owner.raw(), self.token.plus(at).slot)
    }
}
