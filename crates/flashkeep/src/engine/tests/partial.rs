//! Partial parity (PPC's mechanics): the parity of the units written since the last commit is in a small
//! non-volatile memory; nothing untouched is read until the entry must go.

use super::raid::Layout;
use crate::engine::{
    BackgroundWork, Capabilities, Cause, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Recoverable,
    Role, Scheme, Step, Triggers, Verb, View, Why,
};

/// A stripe's entry in the memory.
#[derive(Clone, Debug)]
struct Entry {
    stripe: u32,
    covered: Vec<bool>,
    used: u64,
}

/// One parity over all members but the last, which is the memory.
#[derive(Debug)]
pub(super) struct Partial {
    layout: Layout,
    written: Vec<bool>,
    entries: Vec<Option<Entry>>,
    committing: Option<usize>,
    clock: u64,
}

impl Partial {
    pub(super) fn new(members: u8, stripes: u32, entries: usize) -> Self {
        let layout = Layout { members, parities: 1 };
        let written = vec![false; stripes as usize * usize::from(layout.data())];
        Partial { layout, written, entries: vec![None; entries], committing: None, clock: 0 }
    }

    fn memory(&self) -> Member {
        Member(self.layout.members)
    }

    fn fetch(&self, stripe: u32, index: u8) -> Step {
        let role = Role::Data(index);
        Step::fetch(self.layout.member(stripe, role), Page::of(stripe), role, Cause::Parity)
    }

    fn entry(&self, stripe: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.as_ref().is_some_and(|entry| entry.stripe == stripe))
    }
}

impl Scheme for Partial {
    fn capacity(&self) -> u64 {
        self.written.len() as u64
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers::default();
        Capabilities { triggers, ..Capabilities::default() }
    }

    fn grain(&self, _: Verb) -> u32 {
        u32::from(self.layout.data())
    }

    fn lock(&self, command: &Command) -> Lock {
        let key = Key(u64::from(command.start.low() / self.grain(Verb::Read)));
        if command.verb == Verb::Read { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let (stripe, first) = (
            command.start.low() / self.grain(Verb::Read),
            (command.start.low() % self.grain(Verb::Read)) as u8,
        );
        let first_page = (stripe * self.grain(Verb::Read)) as usize;
        let units = (0..command.count).map(|n| (n, first + n as u8));
        let member = |index| self.layout.member(stripe, Role::Data(index));
        if command.verb == Verb::Read {
            for (n, index) in units.filter(|&(_, index)| self.written[first_page + usize::from(index)]) {
                plan.push(Step::new(member(index), command.over(Page::of(stripe), 1), n));
            }
            return PlanVerdict::Go;
        }
        let found = self.entry(stripe);
        let Some(slot) = found.or_else(|| self.entries.iter().position(Option::is_none)) else {
            return PlanVerdict::Wait;
        };
        let (memory, page) = (self.memory(), Page::of(slot as u32));
        if let Some(entry) = found.and_then(|slot| self.entries[slot].as_ref()) {
            plan.push(Step::fetch(memory, page, Role::P, Cause::PartialParity));
            for (_, index) in units.clone().filter(|&(_, index)| entry.covered[usize::from(index)]) {
                plan.push(self.fetch(stripe, index));
            }
        }
        for (n, index) in units.clone() {
            let step = Step::new(member(index), command.over(Page::of(stripe), 1), n);
            plan.push(step.role(Role::Data(index)).stage(1));
        }
        plan.push(Step::store(memory, page, Role::P, Cause::PartialParity).stage(1));
        self.clock += 1;
        let none = Entry { stripe, covered: vec![false; usize::from(self.layout.data())], used: 0 };
        let entry = self.entries[slot].get_or_insert(none);
        entry.used = self.clock;
        for (_, index) in units {
            entry.covered[usize::from(index)] = true;
            self.written[first_page + usize::from(index)] = true;
        }
        PlanVerdict::Go
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        let done = self.committing.filter(|&slot| {
            self.entries[slot].as_ref().is_some_and(|entry| u64::from(entry.stripe) == key.0)
        });
        if let Some(slot) = done {
            self.committing = None;
            self.entries[slot] = None;
        }
    }
}

impl BackgroundWork for Partial {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why != Why::Urgent || self.committing.is_some() {
            return false;
        }
        let key = |entry: &Entry| Key(u64::from(entry.stripe));
        let entries =
            self.entries.iter().enumerate().filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)));
        let Some((slot, entry)) = entries.filter(|(_, e)| !view.held(key(e))).min_by_key(|(_, e)| e.used)
        else {
            return false;
        };
        let (stripe, memory, page) = (entry.stripe, self.memory(), Page::of(slot as u32));
        plan.hold = Some(key(entry));
        plan.push(Step::fetch(memory, page, Role::P, Cause::Parity));
        for index in (0..self.layout.data()).filter(|&index| !entry.covered[usize::from(index)]) {
            if self.written[stripe as usize * usize::from(self.layout.data()) + usize::from(index)] {
                plan.push(self.fetch(stripe, index));
            }
        }
        let parity = self.layout.member(stripe, Role::P);
        plan.push(Step::store(parity, Page::of(stripe), Role::P, Cause::Parity).stage(1));
        plan.push(Step::new(memory, Command::new(Verb::Trim, page, 1), Step::NOWHERE).stage(2));
        self.committing = Some(slot);
        true
    }
}

impl Recoverable for Partial {}
