//! Pages that get another address. A member that cannot rename its pages has them copied before they are written again.

use super::backends::Backends;
use super::command::{Command, Page, Verb};
use super::contents::Contents;
use super::executor::Engine;
use super::plan::{Plan, Step};
use super::scheme::Scheme;
use super::tree::NodeId;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Replaces the steps of a plan that rename pages of members that cannot do so: each page is read, and written to
    /// the other address, before the stage that the step was in. Whether there were any.
    #[cold]
    pub(super) fn copy_instead<L: Backends<C>>(
        &mut self,
        backends: &L,
        node: NodeId,
        command: &Command,
        plan: &mut Plan,
    ) -> bool {
        let remapped = plan.steps.iter().filter(|step| step.command.verb == Verb::Remap);
        let members: Vec<_> = remapped.map(|step| step.member).collect();
        let copying: Vec<_> = self.with_view(backends, node, |_, view| {
            members.into_iter().filter(|&member| !view.remaps(member)).collect()
        });
        let is_copied = |step: &Step| step.command.verb == Verb::Remap && copying.contains(&step.member);
        let Some(stage) = plan.steps.iter().find(|step| is_copied(step)).map(|step| step.stage) else {
            return false;
        };
        let ends = plan.steps.iter().filter(|step| step.at != Step::NOWHERE);
        let free = ends.map(|step| step.at + step.command.count).max().unwrap_or(0).max(command.count);
        let read = stage.saturating_sub(1);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let mut at = free;
        for step in plan.steps.iter().filter(|step| is_copied(step)) {
            let Command { start, to, count, cause, flags, .. } = step.command;
            let one = |verb, page: Page| Command { flags, ..Command::new(verb, page, count).because(cause) };
            reads.push(Step::new(step.member, one(Verb::Read, start), at).stage(read));
            writes.push(Step::new(step.member, one(Verb::Write, to), at).stage(read + 1));
            at += count;
        }
        let later = read + 2 - stage;
        let (before, after): (Vec<Step>, Vec<Step>) = plan.steps.iter().partition(|step| step.stage < stage);
        let after = after.into_iter().filter(|step| !is_copied(step));
        let after = after.map(|step| Step { stage: step.stage + later, ..step });
        plan.steps = before.into_iter().chain(reads).chain(writes).chain(after).collect();
        true
    }
}
