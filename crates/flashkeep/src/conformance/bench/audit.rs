//! Audits: what the raw state must say whenever nothing is under way.

use super::{Bench, Dead, TestDevices};
use crate::drive::{Drive, LoggedOperation, OpKind};
use crate::engine::{BackendId, Cause, Code, Contents, Page, Role, StripeUnit, Token};
use crate::ftl::GcRun;
use crate::kernel::SimTime;
use crate::mapping::BackendKind;

impl<H: TestDevices> Bench<H> {
    /// What must hold whenever nothing is under way: the map and its inverse, parity and copies as the raw state has
    /// them, every operation counted under its cause, none on what had failed.
    pub(in crate::conformance) fn audit(&self) {
        self.flash.audit();
        // Below other maps a member's pages are not its backend's.
        if self.drive.map().below != BackendKind::Blocks {
            self.audit_node(&mut Vec::new());
        }
        for (device, told) in &self.operations {
            self.audit_operations(*device, &told.0.lock().expect("one thread"));
        }
        for dead in self.dead.iter().filter(|dead| dead.until == SimTime::NEVER) {
            self.check_that_it_was_still(dead.device);
        }
    }

    fn audit_operations(&self, device: u16, told: &[LoggedOperation]) {
        for kind in OpKind::ALL {
            let counted = self.flash.counted(device, kind);
            let told = told.iter().filter(|operation| operation.kind == kind).count() as u64;
            // A read that a failure cut off was begun, and never came to an end.
            let cuts = !self.dead.is_empty() || self.was_cut_at.is_some() || self.has_cut_off;
            let cut_off = kind == OpKind::Read && cuts;
            assert!(told == counted || cut_off && told < counted, "{told} of {counted} {kind:?}s");
        }
        let geometry = self.flash.drive(device).map(Drive::geometry).expect("a drive");
        // A collection in one go was granted as a whole.
        let in_one_go = |cause| cause == Cause::Gc && self.drive.spec.ftl.gc.run == GcRun::HoldChannel;
        for operation in told.iter().filter(|operation| !in_one_go(operation.cause)) {
            let plane = geometry.plane_of(operation.ppn);
            for &Dead { ref planes, from, until, .. } in self.dead.iter().filter(|dead| dead.device == device)
            {
                let struck = planes.contains(&plane) && operation.start > from && operation.start < until;
                assert!(!struck, "{operation:?} on a plane that had failed from {from:?} until {until:?}");
            }
        }
    }

    /// A disk that is dead has done nothing since it failed.
    pub(super) fn check_that_it_was_still(&self, device: u16) {
        let this = |dead: &&Dead| dead.device == device && dead.until == SimTime::NEVER;
        for dead in self.dead.iter().filter(this).filter(|dead| dead.counted.is_some()) {
            assert_eq!(self.flash.commands_done(device, self.now), dead.counted, "a dead disk works");
        }
    }

    /// What the scheme at a node says of its members, and the schemes below it of theirs.
    fn audit_node(&self, path: &mut Vec<u32>) {
        let node = self.engine.tree().descendant(path).expect("a node");
        if self.engine.tree().scheme(node).is_none() {
            return;
        }
        self.engine.covers(node, &mut |code, units| self.audit_stripe(path, code, units));
        for member in 0.. {
            path.push(member);
            let there = self.engine.tree().descendant(path).is_some();
            if there {
                self.audit_node(path);
            }
            path.pop();
            if !there {
                return;
            }
        }
    }

    /// The places of a unit, on leaves that answer and have it.
    fn places_of(&self, path: &[u32], unit: &StripeUnit) -> Vec<(BackendId, Page)> {
        let path = [path, &[u32::from(unit.member.0)]].concat();
        let node = self.engine.tree().descendant(&path).expect("a member's node");
        let mut places = self.engine.tree().places_below(node, unit.page);
        places.retain(|&(backend, _)| !self.flash.is_dead(backend));
        // Of several copies, those that are as they ought to be; of what a scheme below could not read, none.
        if places.len() > 1 || self.latent {
            places.retain(|&(backend, page)| self.engine.tree().is_intact(backend, page));
        }
        places
    }

    /// The version of a unit in its member's DRAM, which is newer than the one on flash.
    fn kept(&self, path: &[u32], unit: &StripeUnit) -> Option<Token> {
        let path = [path, &[u32::from(unit.member.0)]].concat();
        let tree = self.engine.tree();
        self.engine.ports().kept(tree.descendant(&path).expect("a member's node"), unit.page, tree)
    }

    fn audit_stripe(&self, path: &[u32], code: Code, units: &[StripeUnit]) {
        let held = |unit: &StripeUnit| {
            if let Some(kept) = self.kept(path, unit) {
                return Some(kept);
            }
            let places = self.places_of(path, unit);
            self.flash.contents_of(places[0].0, places[0].1)
        };
        // What a dead backend had of it, the scheme below knows how to have otherwise.
        if units.iter().any(|unit| self.places_of(path, unit).is_empty()) {
            return;
        }
        if self.latent && units.iter().any(|unit| held(unit).is_none()) {
            return;
        }
        if units.iter().all(|unit| unit.role == Role::Plain) {
            // A unit that does not exist is a known zero, and may have been copied as one.
            let copies: Vec<_> = units.iter().map(|unit| held(unit).unwrap_or_default()).collect();
            assert!(copies.iter().all(|copy| *copy == copies[0]), "copies differ: {units:?}, {copies:?}");
            return;
        }
        let sum = |factor: &dyn Fn(u8) -> u8| {
            units.iter().fold(Token(0), |sum, unit| match unit.role {
                Role::Data(index) => sum.plus(factor(index), held(unit).expect("data of a whole stripe")),
                _ => sum,
            })
        };
        for unit in units {
            if let Role::Parity(number) = unit.role {
                let expected = sum(&|index| code.coefficient(number, index));
                assert_eq!(held(unit), Some(expected), "parity {number} of {units:?}");
            }
        }
    }

    /// Where a page lies now, its first copy.
    pub(in crate::conformance) fn place(&self, page: u32) -> Option<(BackendId, Page)> {
        self.engine.tree().places(Page::of(page)).first().copied()
    }
}
