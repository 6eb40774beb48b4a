//! Failures and replacements on the bench.

use super::{Bench, Dead, Request, TestDevices};
use crate::drive::{Drive, Fault, OpKind};
use crate::engine::{Change, Command, Flags, NodeId, Page, Scheme, Verb};
use crate::flash::PlaneId;
use crate::kernel::SimTime;
use crate::schemes::Any;
use std::collections::BTreeSet;

/// What fails whole: a member, or a member of a member.
struct Part {
    node: NodeId,
    /// Of which devices.
    faults: Vec<(u16, Fault)>,
    /// It is in an array: its replacement has schemes of its own.
    in_array: bool,
}

fn plane(first: PlaneId) -> Fault {
    Fault::Planes { first, count: 1 }
}

impl<H: TestDevices> Bench<H> {
    /// The planes of a drive's member, or of a whole drive where it has but one.
    pub(super) fn planes_of(&self, device: u16, member: u32) -> Vec<PlaneId> {
        let geometry = self.flash.drive(device).map(Drive::geometry).expect("a drive");
        self.placements[usize::from(device)].domains[member as usize].planes(geometry)
    }

    /// The member of the array or drive, and the member of that, and so on.
    fn part(&self, path: &[u32]) -> Part {
        let node = self.engine.tree().descendant(path).expect("a node");
        let placements = || (0..).zip(&self.placements);
        let whole =
            placements().filter(|(_, placement)| !path.is_empty() && placement.path.starts_with(path));
        let faults: Vec<_> = whole
            .flat_map(|(device, placement)| placement.whole.iter().map(move |&fault| (device, fault)))
            .collect();
        if !faults.is_empty() {
            return Part { node, faults, in_array: true };
        }
        // A member of a drive's own, or the memory of an array.
        let (&last, above) = path.split_last().expect("a member");
        let (device, placement) =
            placements().find(|(_, placement)| placement.path == above).expect("a device");
        let faults = match self.flash.drive(device).map(Drive::geometry) {
            Some(_) => self.planes_of(device, last).into_iter().map(|first| (device, plane(first))).collect(),
            None => placement.whole.iter().map(|&fault| (device, fault)).collect(),
        };
        // What fails is the flash below a map.
        let flash = [path, &[0]].concat();
        let is_map = self.engine.tree().scheme(node).is_some_and(|scheme| scheme.capabilities().map);
        let node =
            if is_map { self.engine.tree().descendant(&flash).expect("a map has a member") } else { node };
        Part { node, faults, in_array: false }
    }

    /// The members of a part; none where it is a backend.
    pub(in crate::conformance) fn parts_below(&self, path: &[u32]) -> Vec<Vec<u32>> {
        let paths = (0..).map(|member| [path, &[member]].concat());
        paths.take_while(|path| self.engine.tree().descendant(path).is_some()).collect()
    }

    /// How many operations of a kind a drive has counted.
    pub(in crate::conformance) fn counted(&self, device: u16, kind: OpKind) -> u64 {
        self.flash.counted(device, kind)
    }

    /// Members fail, whole, at the same instant.
    pub(in crate::conformance) fn fail(&mut self, members: &[u32]) {
        let paths: Vec<_> = members.iter().map(|&member| vec![member]).collect();
        self.fail_parts(&paths);
    }

    /// The same of members of members.
    pub(in crate::conformance) fn fail_parts(&mut self, paths: &[Vec<u32>]) {
        let parts: Vec<_> = paths.iter().map(|path| self.part(path)).collect();
        for &(device, fault) in parts.iter().flat_map(|part| &part.faults) {
            self.flash.fail(self.now, device, fault, true);
            let planes = self.flash.drive(device).map(Drive::geometry).map(|geometry| fault.planes(geometry));
            let planes = planes.unwrap_or_default().map(PlaneId).collect();
            let counted = self.flash.commands_done(device, self.now);
            self.dead.push(Dead { device, planes, from: self.now, until: SimTime::NEVER, counted });
        }
        for part in parts {
            self.engine.change(&mut self.flash, self.now, part.node, Change::Failed);
        }
        self.settle();
    }

    /// A part of a drive fails.
    pub(in crate::conformance) fn damage(&mut self, fault: Fault, lasting: bool) {
        self.damage_device(0, fault, lasting);
    }

    /// The same, of one of several.
    pub(in crate::conformance) fn damage_device(&mut self, device: u16, fault: Fault, lasting: bool) {
        self.latent |= !lasting;
        self.has_cut_off |= lasting && matches!(fault, Fault::Planes { .. });
        self.flash.fail(self.now, device, fault, lasting);
        self.settle();
    }

    /// The contents of members cannot be read any more; they continue.
    pub(in crate::conformance) fn poison(&mut self, members: &[u32]) {
        for &member in members {
            for (device, fault) in self.part(&[member]).faults {
                self.damage_device(device, fault, false);
            }
        }
    }

    /// Empty members take the place of failed ones.
    pub(in crate::conformance) fn replace(&mut self, members: &[u32]) {
        let paths: Vec<_> = members.iter().map(|&member| vec![member]).collect();
        self.replace_parts(&paths);
    }

    /// The same of members of members, once the operations under way there have ended.
    pub(in crate::conformance) fn replace_parts(&mut self, paths: &[Vec<u32>]) {
        for path in paths {
            let part = self.part(path);
            while part.in_array && self.engine.is_at_work(part.node) || self.is_map_at_work(&part) {
                assert!(self.step(), "what is under way comes to an end");
            }
            for &(device, fault) in &part.faults {
                self.check_that_it_was_still(device);
                self.flash.renew(self.now, device, fault);
            }
            for dead in self.dead.iter_mut().filter(|dead| dead.until == SimTime::NEVER) {
                let renews = |&(device, fault): &(u16, Fault)| {
                    let geometry = self.flash.drive(device).map(Drive::geometry);
                    let planes = geometry.map(|geometry| fault.planes(geometry)).unwrap_or_default();
                    device == dead.device && dead.planes.iter().all(|plane| planes.contains(&plane.0))
                };
                if part.faults.iter().any(renews) {
                    dead.until = self.now;
                }
            }
            if part.in_array {
                let fresh = H::put_together(&self.drive).tree;
                self.engine.refresh(&mut self.flash, self.now, part.node, fresh, Any::inherit_counts);
            } else {
                self.engine.change(&mut self.flash, self.now, part.node, Change::Replaced);
            }
        }
        self.settle();
    }

    fn is_map_at_work(&self, part: &Part) -> bool {
        self.engine.tree().backend(part.node).is_some_and(|backend| self.engine.is_map_at_work(backend))
    }

    /// Pages that requests under way write, and those within a stripe's length of them.
    pub(in crate::conformance) fn unsettled(&self) -> BTreeSet<u32> {
        let reach = self.members();
        let pages = |request: &Request| {
            let end = request.start + request.least.len() as u32 + reach;
            request.start.saturating_sub(reach)..end
        };
        let writes = self.requests.iter().filter(|request| request.verb != Verb::Read);
        let now = self.now;
        let coming = self.coming.iter().filter(|&&(at, ..)| at > now).map(|&(_, page, _)| page);
        let coming = coming.flat_map(|page| page.saturating_sub(reach)..page + reach);
        writes.filter(|request| !request.done).flat_map(pages).chain(coming).collect()
    }

    /// Reads every page after a cut: those that are older than they were, and whether they are lost altogether. The
    /// versions found found is what there is from then on.
    pub(in crate::conformance) fn look_at_all_pages(&mut self) -> BTreeSet<u32> {
        let mut missing = BTreeSet::new();
        for page in 0..self.pages() {
            let durable = self.durable[page as usize];
            let promised = if self.trimmed[page as usize] >= durable { 0 } else { durable };
            let found = self.look(page);
            let known = &self.versions[page as usize];
            let version = found.and_then(|found| known.iter().rposition(|&version| version == found));
            assert!(found.is_none() || version.is_some(), "page {page} was read wrong: {found:?}");
            // A log, and a copy, have of a page only the version on flash: of one that a member took with it, an older
            // version.
            let (name, copies) = (self.drive.scheme().name, self.drive.scheme().copies);
            let stale = version.is_some_and(|version| version < promised) && !self.is_log && !copies;
            assert!(
                !stale,
                "{name}: page {page} was read as it was before: {version:?} instead of {promised}"
            );
            // Who was trimmed is zeros or what it was then, and nothing that it was before. (A log erases the newest
            // version with its group, and may find one that it copied earlier.)
            let older =
                version.is_some_and(|version| version < self.held[page as usize] && known[version] != 0);
            assert!(!older || self.is_log, "{name}: page {page} is back, as it was before what was trimmed");
            // A trim that was answered holds where FTLs log it and no parity knows the page.
            let trimmed =
                durable > 0 && durable == self.latest(page) && self.trimmed[page as usize] == durable;
            let plain = self.drive.scheme().plain;
            let back = trimmed && plain && found.is_some_and(|found| found != 0);
            assert!(!back, "page {page} is back after its trim");
            // Zeros that are said to be lost harm nothing.
            if known[promised] != 0 && version.is_none_or(|version| version < promised) {
                missing.insert(page);
            }
            let found = found.unwrap_or(0);
            self.versions[page as usize].push(found);
            self.durable[page as usize] = self.latest(page);
        }
        missing
    }

    /// What a page holds, without time; none where it is lost.
    pub(super) fn look(&mut self, page: u32) -> Option<u64> {
        let token = self.engine.open(u32::MAX, 1);
        let command = Command { flags: Flags::BEFORE, ..Command::new(Verb::Read, Page::of(page), 1) };
        self.engine.submit(&mut self.flash, self.now, command, token.pages());
        self.engine.close(&mut self.flash, self.now, token);
        let mut found = None;
        for finished in std::mem::take(self.engine.work_mut().finished()) {
            if finished.tag == u32::MAX {
                found = (finished.lost == 0).then(|| self.engine.work_mut().pages(finished.counter)[0].0);
            } else {
                self.check(&finished);
            }
            self.engine.work_mut().forget(finished.counter);
        }
        found
    }

    pub(super) fn settle(&mut self) {
        self.engine.settle(&mut self.flash, self.now);
        self.take_finished();
    }
}
