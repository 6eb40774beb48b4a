//! The effects of commands that a node has accepted but not yet passed on. The scheme of the node knows the places of
//! pages, but not the commands that wait for a stripe or the steps that wait for a stage.

use super::background::Parked;
use super::command::{Command, Page, Verb};
use super::locks::Locks;
use super::plan::Member;
use super::running::RunningPlan;
use super::tree::NodeId;
use crate::kernel::{Arena, Id};

/// The plans of each node that have steps that have not been submitted, in the order of their beginnings.
#[derive(Clone, Debug)]
pub(super) struct Unfinished(Vec<Vec<Id<RunningPlan>>>);

impl Unfinished {
    pub(super) fn new(nodes: usize) -> Self {
        Unfinished(vec![Vec::new(); nodes])
    }

    /// A plan begins; the host's are not of a node.
    #[inline]
    pub(super) fn begin(&mut self, node: NodeId, id: Id<RunningPlan>) {
        if let Some(plans) = self.0.get_mut(node.index()) {
            plans.push(id);
        }
    }

    /// All steps of a plan have been submitted.
    #[inline]
    pub(super) fn end(&mut self, node: NodeId, id: Id<RunningPlan>) {
        if let Some(plans) = self.0.get_mut(node.index()) {
            let at = plans.iter().rposition(|&other| other == id).expect("the plan had steps left");
            plans.remove(at);
        }
    }
}

/// Plans under way, commands that wait for a stripe, and commands that their scheme made wait.
#[derive(Clone, Copy)]
pub(super) struct OutstandingWork<'a> {
    pub(super) running_plans: &'a Arena<RunningPlan>,
    pub(super) unfinished: &'a Unfinished,
    pub(super) locks: &'a Locks,
    pub(super) parked: &'a Parked,
}

impl<'a> OutstandingWork<'a> {
    /// Whether the node will hold the page (as its scheme numbers it); none if no pending command changes that.
    pub(super) fn holds(self, node: NodeId, page: Page) -> Option<bool> {
        let plans = self.unfinished(node).filter(|running| running.changes_pages());
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
    fn unfinished(self, node: NodeId) -> impl Iterator<Item = &'a RunningPlan> {
        self.unfinished.0[node.index()].iter().map(move |&id| &self.running_plans[id])
    }
}
