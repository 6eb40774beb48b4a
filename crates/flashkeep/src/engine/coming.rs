//! What commands that a node has accepted, and not yet passed on, will make of its pages: a scheme below says where pages
//! are, and knows nothing of commands that wait for a stripe or of steps that wait for a stage.

use super::background::Parked;
use super::command::{Command, Page, Verb};
use super::frame::Frame;
use super::locks::Locks;
use super::plan::Member;
use super::tree::NodeId;
use crate::kernel::Arena;

/// Plans under way, commands that wait for a stripe, and those that were told to wait.
#[derive(Clone, Copy)]
pub(super) struct Coming<'a> {
    pub(super) frames: &'a Arena<Frame>,
    pub(super) locks: &'a Locks,
    pub(super) parked: &'a Parked,
}

impl Coming<'_> {
    /// Whether the node will hold the page (one of its scheme's); none if nothing under way changes that.
    pub(super) fn holds(self, node: NodeId, page: Page) -> Option<bool> {
        let plans = self.unfinished(node).filter(|frame| !frame.background).map(|frame| &frame.command);
        let commands = plans.chain(self.locks.waiting(node)).chain(self.parked.commands(node));
        let changes = |command: &&Command| {
            matches!(command.verb, Verb::Write | Verb::Trim)
                && (command.start.0..command.end()).contains(&page.0)
        };
        commands.filter(changes).last().map(|command| command.verb == Verb::Write)
    }

    /// Whether a plan of the node is going to write a member's page.
    pub(super) fn writes(self, node: NodeId, member: Member, page: Page) -> bool {
        self.unfinished(node).flat_map(|frame| &frame.steps[frame.next..]).any(|step| {
            let command = &step.command;
            step.member == member
                && command.verb == Verb::Write
                && (command.start.0..command.end()).contains(&page.0)
        })
    }

    /// Plans with steps that have not been submitted.
    fn unfinished(&self, node: NodeId) -> impl Iterator<Item = &Frame> {
        let unfinished = move |frame: &&Frame| {
            frame.is_under_way() && frame.node == node && frame.next < frame.steps.len()
        };
        self.frames.places().filter(unfinished)
    }
}
