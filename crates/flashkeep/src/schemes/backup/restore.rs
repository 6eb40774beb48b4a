//! Rebuild of an SSD or a disk from the other copies, one run at a time.

use super::super::hybrid::extend_run;
use super::{Backup, DiskJobKind, DiskTurn};
use crate::engine::{Cause, Command, Page, Plan, Step, Verb, View};

/// The most places from which one run is read.
const MOST_READS: usize = 64;

impl Backup {
    /// One run of a rebuild, on a disk that has time for it: where other work waits, it has every second turn.
    pub(super) fn rebuild(&mut self, view: &View<'_>, plan: &mut Plan) -> bool {
        for disk in 0..self.disks.len() {
            if self.disks[disk].rebuild_queue.is_empty() {
                continue;
            }
            let busy = self.disks[disk].doing.kind != DiskJobKind::Nothing || view.held(Self::key(disk));
            let other = self.disks[disk].last == DiskTurn::Rebuild && self.next(disk).is_some();
            if busy || other {
                self.disks[disk].rebuild_waits = true;
            } else if self.restore(disk, plan) {
                let this = &mut self.disks[disk];
                (this.last, this.rebuild_waits) = (DiskTurn::Rebuild, false);
                plan.hold = Some(Self::key(disk));
                return true;
            }
        }
        false
    }

    /// Copies the next run: to the SSD what its backup has, or the other way round.
    pub(super) fn restore(&mut self, disk: usize, plan: &mut Plan) -> bool {
        while let Some(first) = self.disks[disk].rebuild_queue.next(|_| false) {
            let first = first as u32;
            let (missing, outdated) = (self.missing.has(first), self.outdated.has(first));
            self.disks[disk].rebuild_queue.set(first, false);
            if missing == outdated {
                continue;
            }
            let (_, on_ssd) = self.layout.on_ssd(Page::of(first));
            let most = first + self.layout.segment - on_ssd.low() % self.layout.segment;
            let alike =
                |page: &u32| self.missing.has(*page) == missing && self.outdated.has(*page) == outdated;
            let end = (first..most).take_while(alike).last().map_or(first, |last| last + 1);
            let end = if missing {
                self.give_back(disk, first..end, plan)
            } else {
                self.refill(disk, first..end, plan)
            };
            (first..end).for_each(|page| self.disks[disk].rebuild_queue.set(page, false));
            let doing = &mut self.disks[disk].doing;
            doing.kind = if missing { DiskJobKind::Restore } else { DiskJobKind::Refill };
            doing.pages = first..end;
            return true;
        }
        false
    }

    /// Reads pages where their backups are and writes them to their SSD; up to which one.
    fn give_back(&mut self, disk: usize, pages: std::ops::Range<u32>, plan: &mut Plan) -> u32 {
        let (ssd, on_ssd) = self.layout.on_ssd(Page::of(pages.start));
        let read = Command::new(Verb::Read, Page(0), 1).because(Cause::Rebuild);
        let mut runs: Vec<Step> = Vec::new();
        let mut end = pages.start;
        for page in pages.clone() {
            let Some((member, place)) = self.backup(Page::of(page)) else { break };
            extend_run(&mut runs, member, read.over(place, 1), (page - pages.start) as u16);
            if runs.len() > MOST_READS {
                runs.pop();
                break;
            }
            end = page + 1;
        }
        let stage = self.push_runs(&mut runs, plan);
        let write = Command::new(Verb::Write, on_ssd, (end - pages.start) as u16).because(Cause::Rebuild);
        plan.push(Step::new(ssd, write, 0).stage(stage));
        let member = self.layout.disk(disk);
        let this = &mut self.disks[disk];
        for step in runs.iter().filter(|step| step.member == member) {
            this.head = Page(step.command.end());
            this.facts.restored.add(u32::from(step.command.count));
        }
        end
    }

    /// Reads pages from their SSD and writes them to their data segment; up to which one.
    fn refill(&mut self, disk: usize, pages: std::ops::Range<u32>, plan: &mut Plan) -> u32 {
        let (ssd, on_ssd) = self.layout.on_ssd(Page::of(pages.start));
        let (_, home) = self.layout.home(Page::of(pages.start));
        let count = pages.len() as u16;
        let command = |verb, page| Command::new(verb, page, count).because(Cause::Rebuild);
        plan.push(Step::new(ssd, command(Verb::Read, on_ssd), 0));
        plan.push(Step::new(self.layout.disk(disk), command(Verb::Write, home), 0).stage(1));
        let this = &mut self.disks[disk];
        this.head = home.plus(u32::from(count));
        this.facts.refilled.add(u32::from(count));
        pages.end
    }

    /// A run has been copied, as far as it could be read.
    pub(super) fn copied(&mut self, disk: usize, view: &View<'_>) {
        let doing = &self.disks[disk].doing;
        let (kind, pages) = (doing.kind, doing.pages.clone());
        for page in pages {
            let (_, home) = self.layout.home(Page::of(page));
            let there = self.written.has(page) && view.has(self.layout.disk(disk), home);
            if kind == DiskJobKind::Refill && there && self.memory.slot_of(Page::of(page)).is_none() {
                self.segments.remove(Page::of(page));
                self.missed.set(page, false);
            }
            self.look(Page::of(page), view);
            if self.missing.has(page) || self.outdated.has(page) {
                // That is not tried again until something happens.
                self.disks[disk].rebuild_queue.set(page, false);
            }
        }
    }
}
