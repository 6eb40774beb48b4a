//! Deferred parity (FRA's mechanics): data are written at once and their old version is kept under another
//! address, so that the old parity still protects what has not changed. In idle time the parity is renewed and
//! the old versions go.

use super::raid::Layout;
use crate::engine::{
    BackgroundWork, Capabilities, Cause, Change, Command, Key, Lock, Member, OwnHealth, Page, Plan,
    PlanVerdict, Protection, Recoverable, RepairOutcome, Role, Scheme, Step, Triggers, Verb, View, Why,
};
use crate::kernel::Span;
use std::collections::VecDeque;

/// Where the version of a page is that the parity knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Old {
    /// It is the current one.
    Current,
    /// It was never written.
    Zero,
    /// In the hidden range.
    At(u32),
}

/// One parity, renewed later.
#[derive(Debug)]
pub(super) struct Deferred {
    layout: Layout,
    stripes: u32,
    idle_after: Span,
    written: Vec<bool>,
    old: Vec<Old>,
    /// Free pages of the hidden range of each member.
    free: Vec<Vec<u32>>,
    /// Stripes whose parity is old, oldest first.
    dirty: VecDeque<u32>,
    /// Stripes whose parity is being renewed.
    renewing: Vec<u32>,
    failed: Vec<Member>,
    rebuild_queue: Vec<(Member, u32)>,
}

impl Deferred {
    pub(super) fn new(members: u8, stripes: u32, hidden: u32, idle_after: Span) -> Self {
        let layout = Layout { members, parities: 1 };
        let pages = stripes as usize * usize::from(layout.data());
        Deferred {
            layout,
            stripes,
            idle_after,
            written: vec![false; pages],
            old: vec![Old::Current; pages],
            free: vec![(stripes..stripes + hidden).rev().collect(); usize::from(members)],
            dirty: VecDeque::new(),
            renewing: Vec::new(),
            failed: Vec::new(),
            rebuild_queue: Vec::new(),
        }
    }

    /// Pages whose current version no parity knows: what the failure of a unit may cost.
    pub(super) fn exposed(&self) -> Vec<u32> {
        (0..self.old.len()).filter(|&page| self.old[page] != Old::Current).map(|page| page as u32).collect()
    }

    /// The member that has a page's data.
    pub(super) fn member_of(&self, page: u32) -> Member {
        let data = u32::from(self.layout.data());
        self.layout.member(page / data, Role::Data((page % data) as u8))
    }

    fn page(&self, stripe: u32, index: u8) -> usize {
        stripe as usize * usize::from(self.layout.data()) + usize::from(index)
    }

    fn data(&self) -> impl Iterator<Item = u8> + use<> {
        0..self.layout.data()
    }

    /// The data of a stripe as they are now.
    fn current(&self, stripe: u32, cause: Cause) -> Vec<Step> {
        let written = self.data().filter(|&index| self.written[self.page(stripe, index)]);
        let fetch = |index| {
            let role = Role::Data(index);
            Step::fetch(self.layout.member(stripe, role), Page::of(stripe), role, cause)
        };
        written.map(fetch).collect()
    }

    /// Renews the parity of a stripe whose new data are in the plan, and drops what it no longer needs.
    fn renew(&self, stripe: u32, plan: &mut Plan) {
        let parity = self.layout.member(stripe, Role::P);
        plan.push(Step::store(parity, Page::of(stripe), Role::P, Cause::Parity).stage(1));
        for index in self.data() {
            if let Old::At(hidden) = self.old[self.page(stripe, index)] {
                let member = self.layout.member(stripe, Role::Data(index));
                let trim = Command::new(Verb::Trim, Page::of(hidden), 1).because(Cause::Parity);
                plan.push(Step::new(member, trim, Step::NOWHERE).stage(2));
            }
        }
    }

    /// All units of a stripe as the parity knows them, but `wanted`; the reads that bring it back.
    fn reconstruct(&self, stripe: u32, wanted: Role, cause: Cause) -> Vec<Step> {
        let mut steps = Vec::new();
        for index in self.data().filter(|&index| Role::Data(index) != wanted) {
            let page = self.page(stripe, index);
            let at = match self.old[page] {
                Old::Current if self.written[page] => stripe,
                Old::At(hidden) => hidden,
                _ => continue,
            };
            let role = Role::Data(index);
            steps.push(Step::fetch(self.layout.member(stripe, role), Page::of(at), role, cause));
        }
        if wanted != Role::P {
            let parity = self.layout.member(stripe, Role::P);
            steps.push(Step::fetch(parity, Page::of(stripe), Role::P, cause));
        }
        steps
    }

    /// A plan that writes parity at once, because a member is gone.
    fn plan_degraded(&mut self, command: &Command, stripe: u32, first: u8, plan: &mut Plan) {
        let end = first + command.count as u8;
        for step in self.current(stripe, Cause::Parity) {
            if !matches!(step.role, Role::Data(index) if (first..end).contains(&index)) {
                plan.push(step);
            }
        }
        for index in first..end {
            let role = Role::Data(index);
            let page = command.over(Page::of(stripe), 1);
            let member = self.layout.member(stripe, role);
            plan.push(Step::new(member, page, u16::from(index - first)).role(role).stage(1));
            let page = self.page(stripe, index);
            if command.verb == Verb::Write && !self.written[page] {
                self.written[page] = true;
                self.old[page] = Old::Zero;
            }
        }
        self.renew(stripe, plan);
        self.renewing.push(stripe);
    }
}

impl Scheme for Deferred {
    fn capacity(&self) -> u64 {
        self.written.len() as u64
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers { idle_after: Some(self.idle_after), ..Triggers::default() };
        Capabilities { triggers, ..Capabilities::default() }
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn grain(&self, _: Verb) -> u32 {
        u32::from(self.layout.data())
    }

    fn lock(&self, command: &Command) -> Lock {
        let key = Key(u64::from(command.start.low() / self.grain(Verb::Read)));
        if command.verb == Verb::Read || self.failed.is_empty() { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let stripe = command.start.low() / self.grain(Verb::Read);
        let first = (command.start.low() % self.grain(Verb::Read)) as u8;
        let units = || (0..command.count).map(|n| (n, first + n as u8));
        if command.verb != Verb::Read && !self.failed.is_empty() {
            self.plan_degraded(command, stripe, first, plan);
            return PlanVerdict::Go;
        }
        let keeps = |this: &Self, index| {
            let page = this.page(stripe, index);
            this.old[page] == Old::Current && this.written[page]
        };
        let member = |index| self.layout.member(stripe, Role::Data(index));
        let full = |index: u8| self.free[usize::from(member(index).0)].is_empty();
        if command.verb != Verb::Read && units().any(|(_, index)| keeps(self, index) && full(index)) {
            return PlanVerdict::Wait;
        }
        for (n, index) in units() {
            let (page, member) = (self.page(stripe, index), self.layout.member(stripe, Role::Data(index)));
            let step = Step::new(member, command.over(Page::of(stripe), 1), n);
            if command.verb == Verb::Read {
                if self.written[page] {
                    plan.push(step);
                }
                continue;
            }
            if keeps(self, index) {
                let to = Page::of(self.free[usize::from(member.0)].pop().expect("checked above"));
                let remap = Command { to, ..Command::new(Verb::Remap, Page::of(stripe), 1) };
                plan.push(Step::new(member, remap, n));
                self.old[page] = Old::At(to.low());
            } else if self.old[page] == Old::Current {
                self.old[page] = Old::Zero;
            }
            plan.push(step);
            self.written[page] = true;
            if !self.dirty.contains(&stripe) {
                self.dirty.push_back(stripe);
            }
        }
        let _ = view;
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], _: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        if failed.iter().any(|step| step.member != wanted.member)
            || wanted.command.start.low() >= self.stripes
        {
            return RepairOutcome::Lost;
        }
        let stripe = wanted.command.start.low();
        let role = self.layout.role(stripe, wanted.member);
        if matches!(role, Role::Data(index) if self.old[self.page(stripe, index)] != Old::Current) {
            return RepairOutcome::Lost;
        }
        for step in self.reconstruct(stripe, role, wanted.command.cause) {
            plan.push(step);
        }
        plan.push(Step::new(wanted.member, wanted.command, 0).role(role.lost()).stage(1));
        RepairOutcome::Planned
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        match self.layout.role(page.low(), member) {
            Role::Data(index) if page.low() < self.stripes => {
                Some(Page::of(self.page(page.low(), index) as u32))
            }
            _ => None,
        }
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        let stripe = key.0 as u32;
        // A repair holds the stripe too, but renews nothing.
        if !self.renewing.contains(&stripe) {
            return;
        }
        for index in self.data() {
            let page = self.page(stripe, index);
            if let Old::At(hidden) = std::mem::replace(&mut self.old[page], Old::Current) {
                let member = self.layout.member(stripe, Role::Data(index));
                self.free[usize::from(member.0)].push(hidden);
            }
        }
        self.dirty.retain(|&dirty| dirty != stripe);
        self.renewing.retain(|&renewed| renewed != stripe);
    }

    fn member(&mut self, member: Member, change: Change, _: &View<'_>) {
        self.failed.retain(|&other| other != member);
        if change == Change::Failed {
            self.failed.push(member);
        } else {
            self.rebuild_queue.extend((0..self.stripes).rev().map(|stripe| (member, stripe)));
        }
    }
}

impl BackgroundWork for Deferred {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        let key = |stripe| Key(u64::from(stripe));
        if !self.renewing.is_empty() {
            return false;
        }
        if why == Why::Rebuild {
            while let Some((member, stripe)) = self.rebuild_queue.pop() {
                let role = self.layout.role(stripe, member);
                let lost = matches!(role, Role::Data(i) if self.old[self.page(stripe, i)] != Old::Current
                        || !self.written[self.page(stripe, i)]);
                if view.has(member, Page::of(stripe)) || lost {
                    continue;
                }
                if view.held(key(stripe)) {
                    self.rebuild_queue.push((member, stripe));
                    return false;
                }
                plan.hold = Some(key(stripe));
                for step in self.reconstruct(stripe, role, Cause::Rebuild) {
                    plan.push(step);
                }
                plan.push(Step::store(member, Page::of(stripe), role.lost(), Cause::Rebuild).stage(1));
                return true;
            }
            return false;
        }
        let Some(stripe) = self.dirty.iter().copied().find(|&stripe| !view.held(key(stripe))) else {
            return false;
        };
        plan.hold = Some(key(stripe));
        for step in self.current(stripe, Cause::Parity) {
            plan.push(step);
        }
        self.renew(stripe, plan);
        self.renewing.push(stripe);
        true
    }

    fn rebuilding(&self, _: bool) -> bool {
        !self.rebuild_queue.is_empty()
    }
}

impl Recoverable for Deferred {}

impl OwnHealth for Deferred {
    fn repair_key(&self, _: Member, page: Page) -> Option<Key> {
        (page.low() < self.stripes).then_some(Key(u64::from(page.low())))
    }
}
