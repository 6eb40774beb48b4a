//! Plans for host commands.

use super::super::hybrid::extend_run;
use super::{Backup, DiskJobKind};
use crate::engine::{
    Cause, Command, Flags, Member, Page, Plan, PlanVerdict, RepairOutcome, Step, Verb, View,
};

impl Backup {
    /// Where a page that its SSD lacks is read instead.
    fn detour(&self, page: Page) -> Option<(Member, Page)> {
        let lacks = self.missing.has(page.low()) && !self.outdated.has(page.low());
        if lacks { self.backup(page) } else { None }
    }

    fn pages_of(command: &Command) -> impl Iterator<Item = Page> + use<> {
        command.low_pages().map(Page::of)
    }

    /// Whether a read needs a disk.
    pub(super) fn needs_disk(&self, command: &Command) -> bool {
        let on_disk = |page| self.detour(page).is_some_and(|(member, _)| member != self.nvram());
        self.missing.count() > 0 && Self::pages_of(command).any(on_disk)
    }

    /// Whether a rebuild is copying pages of the same piece.
    pub(super) fn is_being_copied(&self, command: &Command) -> bool {
        let doing = &self.disks[self.layout.disk_of(command.start)].doing;
        let piece = command.start.low() / self.grain;
        matches!(doing.kind, DiskJobKind::Restore | DiskJobKind::Refill)
            && (doing.pages.start / self.grain..=(doing.pages.end - 1) / self.grain).contains(&piece)
    }

    /// A read goes to the SSD; what that lacks is read where its backup is, from the disk a run after the other.
    pub(super) fn read(&mut self, command: &Command, plan: &mut Plan) {
        let (ssd, on_ssd) = self.layout.on_ssd(command.start);
        if self.missing.count() == 0 {
            plan.push(Step::new(ssd, command.over(on_ssd, command.count), 0));
            return;
        }
        let mut runs: Vec<Step> = Vec::new();
        for (n, page) in (0..).zip(Self::pages_of(command)) {
            let detour = self.detour(page);
            plan.rescued += u16::from(detour.is_some() && command.cause == Cause::Host);
            let (member, place) = detour.unwrap_or((ssd, on_ssd.plus(u32::from(n))));
            extend_run(&mut runs, member, command.over(place, 1), n);
        }
        self.push_runs(&mut runs, plan);
        self.take_disk(plan);
    }

    /// Adds reads to a plan: those of a disk one after the other, the others beside the first.
    pub(super) fn push_runs(&self, runs: &mut [Step], plan: &mut Plan) -> u8 {
        let is_disk = |step: &Step| step.member.0 >= self.layout.ssds && step.member != self.nvram();
        let mut stage = 0;
        for step in runs.iter_mut().filter(|step| is_disk(step)) {
            step.stage = stage;
            stage += 1;
        }
        runs.sort_by_key(|step| step.stage);
        runs.iter().for_each(|&step| plan.push(step));
        stage.max(1)
    }

    /// A plan that reads from a disk has it to itself.
    fn take_disk(&mut self, plan: &Plan) {
        let (ssds, nvram) = (self.layout.ssds, self.nvram());
        let last = plan.steps.iter().rev().find(|step| step.member.0 >= ssds && step.member != nvram);
        if let Some(step) = last {
            let disk = &mut self.disks[usize::from(step.member.0 - ssds)];
            disk.head = Page(step.command.end());
            if disk.doing.kind == DiskJobKind::Nothing {
                disk.doing.kind = DiskJobKind::Read;
            }
        }
    }

    /// A write goes to the SSD and into the memory; it waits where that has no room and will have some.
    pub(super) fn write(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let (ssd, on_ssd) = self.layout.on_ssd(command.start);
        let (disk, home) = self.layout.home(command.start);
        let (on_its_ssd, on_its_disk) = (view.alive(ssd), self.disks[disk].alive);
        let before = command.flags.has(Flags::BEFORE);
        let mut keeps = self.memory.alive && !before && (on_its_disk || !on_its_ssd);
        if keeps && self.room_for(command) < u32::from(command.count) {
            let drains = |disk: usize| self.disks[disk].alive && self.memory.held(disk).used > 0;
            if (0..self.disks.len()).any(drains) {
                return PlanVerdict::Wait;
            }
            keeps = false;
        }
        Self::pages_of(command).for_each(|page| self.forget(page));
        plan.push(Step::new(ssd, command.over(on_ssd, command.count), 0));
        let copy = Command::new(Verb::Write, home, command.count).because(Cause::Mirror);
        if before {
            plan.push(Step::new(self.layout.disk(disk), copy, 0));
        } else {
            self.quiet = false;
            self.writes.add(u32::from(command.count));
        }
        let backed = if before { on_its_disk } else { keeps };
        for (n, page) in (0..).zip(Self::pages_of(command)) {
            if keeps {
                let slot = self.memory.take(page, disk);
                self.memory.queue(slot);
                extend_run(&mut plan.steps, self.nvram(), copy.over(Page::of(slot), 1), n);
            }
            self.written.set(page.low(), true);
            self.trimmed.set(page.low(), false);
            self.missed.set(page.low(), !backed);
            if self.troubled {
                self.note(page, !on_its_ssd, !backed, on_its_ssd);
            }
        }
        PlanVerdict::Go
    }

    /// Pages of the memory that are free, or are when older versions of the same pages have been dropped.
    fn room_for(&self, command: &Command) -> u32 {
        let moving = super::pending::BufferSlotState::Moving;
        let dropped =
            |page: &Page| self.memory.slot_of(*page).is_some_and(|slot| self.memory.state(slot) != moving);
        self.memory.room() + Self::pages_of(command).filter(dropped).count() as u32
    }

    /// The backup's copy of a page is out of date.
    fn forget(&mut self, page: Page) {
        self.memory.forget(page);
        self.segments.remove(page);
    }

    /// Pages that are forgotten need no backup: nothing is asked of memory and disks.
    pub(super) fn trim(&mut self, command: &Command, plan: &mut Plan) {
        let (ssd, on_ssd) = self.layout.on_ssd(command.start);
        plan.push(Step::new(ssd, command.over(on_ssd, command.count), 0));
        for page in Self::pages_of(command) {
            self.forget(page);
            self.written.set(page.low(), false);
            self.trimmed.set(page.low(), true);
            self.missed.set(page.low(), false);
            self.note(page, false, false, false);
        }
    }

    /// A page that a member could not bring: the SSD has it, or its backup, or it is lost.
    pub(super) fn have_otherwise(
        &mut self,
        failed: &[Step],
        view: &View<'_>,
        plan: &mut Plan,
    ) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let (member, place) = (wanted.member, wanted.command.start);
        let Some(page) = self.page_at(member, place) else { return RepairOutcome::Lost };
        if !self.written.has(page.low()) {
            return RepairOutcome::Planned; // a known zero
        }
        let tried = |other: &(Member, Page)| {
            failed.iter().any(|step| (step.member, step.command.start) == *other)
                || !view.has(other.0, other.1)
        };
        let copies = [Some(self.layout.on_ssd(page)), self.backup(page)];
        let Some((other, there)) = copies.into_iter().flatten().find(|copy| !tried(copy)) else {
            return RepairOutcome::Lost;
        };
        plan.push(Step::new(other, wanted.command.over(there, 1), 0));
        self.take_disk(plan);
        RepairOutcome::Planned
    }

    /// The page that a member's page holds.
    pub(super) fn page_at(&self, member: Member, place: Page) -> Option<Page> {
        if member.0 < self.layout.ssds {
            return self.layout.of_ssd(member, place);
        }
        if member == self.nvram() {
            return self.memory.page_of(place.low());
        }
        let disk = usize::from(member.0 - self.layout.ssds);
        self.segments.page_at(disk, place).or_else(|| self.layout.page_at(disk, place))
    }
}
