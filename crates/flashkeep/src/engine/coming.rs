//! The effects of commands that a node has accepted but not yet passed on. The scheme of the node knows the places of
//! pages, but not the commands that wait for a stripe or the steps that wait for a stage.

use super::background::Parked;
use super::command::{Command, Page, Verb};
use super::locks::Locks;
use super::plan::Member;
use super::running::RunningPlan;
use super::tree::NodeId;
use crate::kernel::Arena;

/// Plans under way, commands that wait for a stripe, and commands that their scheme made wait.
#[derive(Clone, Copy)]
pub(super) struct OutstandingWork<'a> {
    pub(super) running_plans: &'a Arena<RunningPlan>,
    /// The number of those that carry out writes and trims.
    pub(super) changes: usize,
    pub(super) locks: &'a Locks,
    pub(super) parked: &'a Parked,
}

impl OutstandingWork<'_> {
    /// Whether the node will hold the page (as its scheme numbers it); none if no pending command changes that.
    pub(super) fn holds(self, node: NodeId, page: Page) -> Option<bool> {
        // Many pages may be asked for while as many are read.
        let changing = (self.changes > 0).then(|| self.unfinished(node));
        let plans = changing.into_iter().flatten().filter(|running| running.changes_pages());
        let commands = plans.map(|running| &running.command);
        let commands = commands.chain(self.locks.waiting(node)).chain(self.parked.commands(node));
        let changes = |command: &&Command| {
            command.changes_pages() && (command.start.0..command.end()).contains(&page.0)
        };
        commands.filter(changes).last().map(|command| command.verb == Verb::Write)
    }

    /// Whether a plan of the node will write a member's page.
    pub(super) fn writes(self, node: NodeId, member: Member, page: Page) -> bool {
        self.unfinished(node).flat_map(|running| &running.steps[running.next..]).any(|step| {
            let command = &step.command;
            step.member == member
                && command.verb == Verb::Write
                && (command.start.0..command.end()).contains(&page.0)
        })
    }

    /// Plans with steps that have not been submitted.
    fn unfinished(&self, node: NodeId) -> impl Iterator<Item = &RunningPlan> {
        let unfinished = move |running: &&RunningPlan| {
            running.is_under_way() && running.node == node && running.next < running.steps.len()
        };
        self.running_plans.places().filter(unfinished)
    }
}
