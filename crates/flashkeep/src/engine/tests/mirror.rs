//! A pass-through, and a mirror that is notified by all copies or by the first, and rebuilds.

use crate::engine::{
    BackgroundWork, Cause, Change, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Recoverable,
    RepairOutcome, Scheme, Step, Tell, Verb, View, Why,
};

/// No redundancy.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) pages: u64,
}

impl Scheme for Plain {
    fn capacity(&self) -> u64 {
        self.pages
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        tell(Member(0), page);
    }

    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        plan.push(Step::new(Member(0), *command, 0));
        PlanVerdict::Go
    }

    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        Some(page)
    }
}

impl BackgroundWork for Plain {}

impl Recoverable for Plain {}

/// Every page on every member.
#[derive(Debug)]
pub(super) struct Mirror {
    pages: u32,
    tell: Tell,
    turn: u8,
    /// Members and pages still to be copied.
    rebuild_queue: Vec<(Member, u32)>,
    copying: Vec<Key>,
}

impl Mirror {
    pub(super) fn new(pages: u32, tell: Tell) -> Self {
        Mirror { pages, tell, turn: 0, rebuild_queue: Vec::new(), copying: Vec::new() }
    }
}

impl Scheme for Mirror {
    fn capacity(&self) -> u64 {
        u64::from(self.pages)
    }

    /// Its first two copies: as a member it has no more.
    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        [Member(0), Member(1)].into_iter().for_each(|member| tell(member, page));
    }

    fn grain(&self, _: Verb) -> u32 {
        // Copying keeps one page from writers at a time.
        if self.rebuilding(false) { 1 } else { u32::MAX }
    }

    fn lock(&self, command: &Command) -> Lock {
        if !self.rebuilding(false) || command.verb == Verb::Read {
            return Lock::Free;
        }
        Lock::Pass(Key(u64::from(command.start.low())))
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        if command.verb != Verb::Read {
            for member in 0..view.members() {
                plan.push(Step::new(Member(member), *command, 0));
            }
            plan.tell = self.tell;
            return PlanVerdict::Go;
        }
        for n in 0..command.count {
            let page = command.start.plus(u32::from(n));
            self.turn = (self.turn + 1) % view.members();
            let from_turn = (0..view.members()).map(|m| Member((self.turn + m) % view.members()));
            let reader = from_turn.filter(|&m| view.has(m, page)).min_by_key(|&m| view.backlog(m, page));
            plan.push(Step::new(reader.unwrap_or(Member(0)), command.over(page, 1), n));
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], view: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let tried = |member: Member| failed.iter().any(|step| step.member == member);
        let others = (0..view.members()).map(Member);
        let Some(other) = others.filter(|&m| !tried(m)).find(|&m| view.has(m, wanted.command.start)) else {
            return RepairOutcome::Lost;
        };
        plan.push(Step::new(other, wanted.command, 0));
        RepairOutcome::Planned
    }

    fn owner(&self, _: Member, page: Page) -> Option<Page> {
        Some(page)
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        self.copying.retain(|&copied| copied != key);
    }

    fn member(&mut self, member: Member, change: Change, _: &View<'_>) {
        if change != Change::Failed {
            self.rebuild_queue.extend((0..self.pages).rev().map(|page| (member, page)));
        }
    }
}

impl BackgroundWork for Mirror {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why != Why::Rebuild {
            return false;
        }
        while let Some((to, page)) = self.rebuild_queue.pop() {
            let (page, key) = (Page::of(page), Key(u64::from(page)));
            if view.has(to, page) {
                continue;
            }
            let Some(from) = (0..view.members()).map(Member).find(|&m| view.has(m, page)) else { continue };
            if view.held(key) {
                self.rebuild_queue.push((to, page.low()));
                return false;
            }
            let one = |verb| Command::new(verb, page, 1).because(Cause::Rebuild);
            plan.push(Step::new(from, one(Verb::Read), 0));
            plan.push(Step::new(to, one(Verb::Write), 0).stage(1));
            plan.hold = Some(key);
            self.copying.push(key);
            return true;
        }
        false
    }

    fn rebuilding(&self, _: bool) -> bool {
        !self.rebuild_queue.is_empty() || !self.copying.is_empty()
    }
}

impl Recoverable for Mirror {}
