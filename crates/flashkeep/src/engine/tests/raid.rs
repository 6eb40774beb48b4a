//! RAID-5 and RAID-6: static stripes, parity rotated to the left, read-modify-write or reconstruct-write,
//! whichever reads less.

use crate::engine::{
    BackgroundWork, Cause, Change, Command, Flags, Key, Lock, Member, OwnHealth, Page, Plan, PlanVerdict,
    Protection, Recoverable, Release, RepairOutcome, Role, Scheme, Step, Verb, View, Why,
};

/// Where the units of a stripe are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) members: u8,
    pub(super) parities: u8,
}

impl Layout {
    pub(super) fn data(self) -> u8 {
        self.members - self.parities
    }

    /// What a member's page is in a stripe.
    pub(super) fn role(self, stripe: u32, member: Member) -> Role {
        let first = self.members - 1 - (stripe % u32::from(self.members)) as u8;
        let after = (member.0 + self.members - first) % self.members;
        if after == 0 {
            return Role::P;
        }
        if after == 1 && self.parities == 2 {
            return Role::Q;
        }
        // Data units count upwards and skip the parities.
        let parity = |m: u8| (m + self.members - first) % self.members < self.parities;
        Role::Data((0..member.0).filter(|&m| !parity(m)).count() as u8)
    }

    /// The member that has a unit of a stripe.
    pub(super) fn member(self, stripe: u32, role: Role) -> Member {
        let mut members = (0..self.members).map(Member);
        members.find(|&member| self.role(stripe, member) == role).expect("a unit of the stripe")
    }

    pub(super) fn parities(self) -> &'static [Role] {
        &[Role::P, Role::Q][..usize::from(self.parities)]
    }
}

/// One or two parities.
#[derive(Debug)]
pub(super) struct Raid {
    pub(super) layout: Layout,
    stripes: u32,
    /// Pages that have been written; the others are known zeros.
    written: Vec<bool>,
    /// Pages that become known zeros when the plan that trims them is durable.
    trimmed: Vec<u32>,
    pub(super) release: Release,
    /// Leaves out the locks that keep stripes consistent, to see that the tests notice.
    pub(super) lockless: bool,
    /// Writes back what a repair brought.
    pub(super) heals: bool,
    rebuild_queue: Vec<(Member, u32)>,
}

impl Raid {
    pub(super) fn new(members: u8, parities: u8, stripes: u32) -> Self {
        let layout = Layout { members, parities };
        Raid {
            layout,
            stripes,
            written: vec![false; stripes as usize * usize::from(layout.data())],
            trimmed: Vec::new(),
            release: Release::Durable,
            lockless: false,
            heals: false,
            rebuild_queue: Vec::new(),
        }
    }

    fn place(&self, page: u32) -> (u32, u8) {
        let data = u32::from(self.layout.data());
        (page / data, (page % data) as u8)
    }

    fn page(&self, stripe: u32, index: u8) -> usize {
        stripe as usize * usize::from(self.layout.data()) + usize::from(index)
    }

    fn is_written(&self, stripe: u32, index: u8) -> bool {
        self.written[self.page(stripe, index)]
    }

    fn fetch(&self, stripe: u32, role: Role, cause: Cause) -> Step {
        Step::fetch(self.layout.member(stripe, role), Page::of(stripe), role, cause)
    }

    /// What must be read to write data units `first..end` of a stripe: the fewer of old data and parities, or of
    /// the data that stay; units that would have to be repaired count for many.
    fn fetches(&self, command: &Command, stripe: u32, first: u8, end: u8, view: &View<'_>) -> Vec<Step> {
        let touched = |index: &u8| (first..end).contains(index);
        let written = |index: &u8| self.is_written(stripe, *index);
        let fetch = |role| self.fetch(stripe, role, Cause::Parity);
        let data = || (0..self.layout.data()).filter(written);
        let whole: Vec<_> = data().filter(|i| !touched(i)).map(|i| fetch(Role::Data(i))).collect();
        let mut changed: Vec<_> = Vec::new();
        for index in data().filter(touched) {
            let step = fetch(Role::Data(index));
            let at = u16::from(index - first);
            changed.push(match command.flags.has(Flags::OLD_IN_HAND) {
                true => Step::in_hand(step.member, Page::of(stripe), at, step.role),
                false => step,
            });
        }
        if data().next().is_some() {
            changed.extend(self.layout.parities().iter().map(|&role| fetch(role)));
        }
        let cost = |steps: &[Step]| -> usize {
            let cost = |s: &Step| if view.has(s.member, s.command.start) { 1 } else { 100 };
            steps.iter().filter(|s| !s.is_in_hand()).map(cost).sum()
        };
        if cost(&changed) <= cost(&whole) { changed } else { whole }
    }

    /// Reads that bring `wanted` back without the `unknown` units; none where too many are.
    fn reconstruct(&self, stripe: u32, wanted: Role, unknown: &[Role], cause: Cause) -> Option<Vec<Step>> {
        if unknown.len() > usize::from(self.layout.parities) {
            return None;
        }
        let data = (0..self.layout.data()).map(Role::Data);
        let units: Vec<_> = data.chain(self.layout.parities().iter().copied()).collect();
        let alone = unknown.len() == 1;
        let needed = |role: Role| match role {
            Role::Data(index) => self.is_written(stripe, index),
            Role::P => !alone || matches!(wanted, Role::Data(_)),
            _ => !alone,
        };
        let mut steps = Vec::new();
        for &role in &units {
            if unknown.contains(&role) && role != wanted {
                steps.push(Step { role: role.lost(), ..self.fetch(stripe, role, cause) });
            } else if role != wanted && needed(role) {
                steps.push(self.fetch(stripe, role, cause));
            }
        }
        Some(steps)
    }

    fn unknown(&self, stripe: u32, also: impl Iterator<Item = Member>, view: &View<'_>) -> Vec<Role> {
        let mut members: Vec<_> = also.collect();
        for member in (0..self.layout.members).map(Member) {
            let known_zero =
                matches!(self.layout.role(stripe, member), Role::Data(i) if !self.is_written(stripe, i));
            if !view.has(member, Page::of(stripe)) && !members.contains(&member) && !known_zero {
                members.push(member);
            }
        }
        members.into_iter().map(|member| self.layout.role(stripe, member)).collect()
    }
}

/// Says so if the plan has read what the step writes: a member that is a RAID itself need not read it again.
fn old_in_hand(plan: &Plan, mut step: Step) -> Step {
    let replaces = |read: &Step| {
        let same = (read.member, read.command.start) == (step.member, step.command.start);
        read.command.verb == Verb::Read && same
    };
    step.command.flags = step.command.flags.without(Flags::OLD_IN_HAND);
    if step.command.verb == Verb::Write && plan.steps.iter().any(replaces) {
        step.command.flags = step.command.flags.with(Flags::OLD_IN_HAND);
    }
    step
}

impl Scheme for Raid {
    fn capacity(&self) -> u64 {
        self.written.len() as u64
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Own(self)
    }

    fn grain(&self, _: Verb) -> u32 {
        u32::from(self.layout.data())
    }

    fn lock(&self, command: &Command) -> Lock {
        let key = Key(u64::from(self.place(command.start.low()).0));
        match command.verb {
            _ if self.lockless => Lock::Free,
            Verb::Read => Lock::Pass(key),
            _ => Lock::Hold(key),
        }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let (stripe, first) = self.place(command.start.low());
        let end = first + command.count as u8;
        let member = |index| self.layout.member(stripe, Role::Data(index));
        if command.verb == Verb::Read {
            for index in (first..end).filter(|&index| self.is_written(stripe, index)) {
                let read = command.over(Page::of(stripe), 1);
                plan.push(Step::new(member(index), read, u16::from(index - first)));
            }
            return PlanVerdict::Go;
        }
        assert!(command.verb != Verb::Remap, "a stub");
        for step in self.fetches(command, stripe, first, end, view) {
            plan.push(step);
        }
        for index in first..end {
            let page = command.over(Page::of(stripe), 1);
            let step = Step::new(member(index), page, u16::from(index - first)).role(Role::Data(index));
            plan.push(old_in_hand(plan, step).stage(1));
        }
        for &role in self.layout.parities() {
            let store = Step::store(self.layout.member(stripe, role), Page::of(stripe), role, Cause::Parity);
            plan.push(old_in_hand(plan, store).stage(1));
        }
        plan.release = self.release;
        for page in command.low_pages() {
            if command.verb == Verb::Trim {
                self.trimmed.push(page);
            } else {
                self.trimmed.retain(|&other| other != page);
                self.written[page as usize] = true;
            }
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let (stripe, cause) = (wanted.command.start.low(), wanted.command.cause);
        let role = self.layout.role(stripe, wanted.member);
        let tried = failed.iter().rev().map(|step| step.member);
        let unknown = self.unknown(stripe, tried, view);
        let Some(steps) = self.reconstruct(stripe, role, &unknown, cause) else { return RepairOutcome::Lost };
        for step in steps {
            plan.push(step);
        }
        plan.push(Step::new(wanted.member, wanted.command, 0).role(role.lost()).stage(1));
        if self.heals && view.alive(wanted.member) {
            let store = Step::store(wanted.member, Page::of(stripe), role.lost(), Cause::Rebuild);
            plan.push(store.stage(1).later());
        }
        RepairOutcome::Planned
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        match self.layout.role(page.low(), member) {
            Role::Data(index) => Some(Page::of(self.page(page.low(), index) as u32)),
            _ => None,
        }
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        for page in std::mem::take(&mut self.trimmed) {
            if u64::from(self.place(page).0) == key.0 {
                self.written[page as usize] = false;
            } else {
                self.trimmed.push(page);
            }
        }
    }

    fn member(&mut self, member: Member, change: Change, _: &View<'_>) {
        self.rebuild_queue.retain(|&(other, _)| other != member);
        if change != Change::Failed {
            self.rebuild_queue.extend((0..self.stripes).map(|stripe| (member, stripe)));
        }
    }
}

impl BackgroundWork for Raid {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why != Why::Rebuild {
            return false;
        }
        let mut at = 0;
        while let Some(&(member, stripe)) = self.rebuild_queue.get(at) {
            let key = Key(u64::from(stripe));
            if view.held(key) {
                at += 1;
                continue;
            }
            self.rebuild_queue.remove(at);
            let wanted = self.layout.role(stripe, member);
            let zero = matches!(wanted, Role::Data(index) if !self.is_written(stripe, index));
            let empty = (0..self.layout.data()).all(|index| !self.is_written(stripe, index));
            if view.has(member, Page::of(stripe)) || zero || empty || !view.alive(member) {
                continue;
            }
            let unknown = self.unknown(stripe, std::iter::empty(), view);
            let Some(steps) = self.reconstruct(stripe, wanted, &unknown, Cause::Rebuild) else { continue };
            for step in steps {
                plan.push(step);
            }
            plan.push(Step::store(member, Page::of(stripe), wanted.lost(), Cause::Rebuild).stage(1));
            plan.hold = Some(key);
            return true;
        }
        false
    }

    fn rebuilding(&self, _: bool) -> bool {
        !self.rebuild_queue.is_empty()
    }
}

impl Recoverable for Raid {}

impl OwnHealth for Raid {
    fn repair_key(&self, _: Member, page: Page) -> Option<Key> {
        (!self.lockless).then_some(Key(u64::from(page.low())))
    }
}
