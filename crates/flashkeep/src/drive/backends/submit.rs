//! Submission of commands: selects the path of each, by the kind of its backend and by failures.

use super::DriveBackends;
use crate::drive::controller::Controller;
use crate::engine::{BackendId, Command, CompletionToken, Contents, Verb};
use crate::kernel::{SimTime, Span};

impl<C: Contents> DriveBackends<C> {
    /// A command for an FTL of which nothing has failed.
    #[inline(always)]
    pub(in crate::drive) fn submit_plainly(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        match command.verb {
            Verb::Read => self.read(now, ftl, command, token, controller),
            Verb::Write => self.write(now, ftl, command, token, contents, controller),
            Verb::Trim => self.trim(ftl, command, controller),
            Verb::Remap => self.remap(ftl, command, controller),
        }
        if matches!(command.verb, Verb::Trim | Verb::Remap) {
            controller.answer(token, u32::from(command.count), now, Span::ZERO, C::default());
        }
    }

    /// A command in a drive with failed parts, or whose backends are not all FTLs.
    #[inline(never)]
    pub(in crate::drive) fn submit_otherwise(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        let ftl = usize::from(backend.0);
        let Some(this) = self.ftl.backends.get(ftl) else {
            return self.nvrams.of_mut(backend).ask(
                now,
                backend,
                command,
                token,
                contents,
                &mut controller.done,
            );
        };
        if this.dead {
            return controller.answer_for_dead(now, backend, command, token);
        }
        let limited = this.limit.is_some();
        if self.health.checks_pages() && !self.ftl.physical && command.verb == Verb::Write {
            self.forget_unreadable(ftl, command, controller);
        }
        match (command.verb, self.ftl.physical) {
            (Verb::Read, true) if self.immediate.active => {
                self.submit_untimed(now, ftl, command, token, contents, controller)
            }
            (Verb::Write, true) => self.write_physical(now, ftl, command, token, contents, controller),
            (Verb::Trim, true) => self.trim_physical(now, ftl, command, token, controller),
            (Verb::Remap, true) => panic!("raw pages have no other address"),
            (_, false) if limited => self.submit_damaged(now, ftl, command, token, contents, controller),
            (Verb::Read, true) | (_, false) => {
                self.submit_apart(now, ftl, command, token, contents, controller)
            }
        }
    }

    /// [`Self::submit_plainly`], a second time: where it is called from the short way it is a part of that.
    #[inline(never)]
    pub(super) fn submit_apart(
        &mut self,
        now: SimTime,
        ftl: usize,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
        controller: &mut Controller<C>,
    ) {
        if self.immediate.active {
            return self.submit_untimed(now, ftl, command, token, contents, controller);
        }
        self.submit_plainly(now, ftl, command, token, contents, controller);
    }
}
