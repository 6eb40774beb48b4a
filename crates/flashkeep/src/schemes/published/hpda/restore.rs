//! The rebuild of a stripe with newest versions in the log: other copies of log entries, and what the drives lack.

use super::Hpda;
use crate::engine::{Cause, Command, Plan, Step, Verb, View};

impl Hpda {
    /// Rebuilds what a stripe lacks, on the disks and on the drives.
    pub(super) fn restore(&mut self, stripe: u32, view: &View<'_>, plan: &mut Plan) -> bool {
        let rebuilds = self.stripes.codeword(stripe).rebuild(view, plan);
        let copies = self.copy_slots(stripe, view, plan);
        plan.steps.sort_by_key(|step| step.stage);
        rebuilds || copies
    }

    /// Makes another copy of the logged pages of a stripe, where there is but one.
    fn copy_slots(&self, stripe: u32, view: &View<'_>, plan: &mut Plan) -> bool {
        let command = |verb, page| Command::new(verb, page, 1).because(Cause::Rebuild);
        let before = plan.steps.len();
        for index in self.logged(stripe).iter() {
            let slot = self.log.of(self.stripes.number(stripe, index) as u32).expect("it is in the log");
            let [one, other] = self.at(slot);
            let (from, to) = if view.has(one.0, one.1) { (one, other) } else { (other, one) };
            if view.has(from.0, from.1) && !view.has(to.0, to.1) && view.alive(to.0) {
                let steps = &mut plan.steps;
                steps.push(Step::new(from.0, command(Verb::Read, from.1), u16::from(index)));
                steps.push(Step::new(to.0, command(Verb::Write, to.1), u16::from(index)).stage(1));
            }
        }
        plan.steps.len() > before
    }
}
