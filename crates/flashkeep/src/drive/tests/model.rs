//! What every page ought to hold, what every read ought to bring, and where nothing may be done any more.

use super::*;
use crate::flash::{PlanePlace, Pools, StripingLevel};

/// What a backend's pages ought to hold: 0 for nothing.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) holds: Vec<u64>,
    /// The backend has reported the page as lost.
    pub(super) gone: Vec<bool>,
    pub(super) dead: bool,
}

/// A page of a command that was submitted.
#[derive(Clone, Copy, Debug)]
struct Asked {
    answered: bool,
    /// What a read is owed; none where that is not known, or it is no read.
    owed: Option<u64>,
    backend: u16,
    page: u32,
    read: bool,
}

/// A drive, and its expected state.
pub(super) struct Model {
    pub(super) rig: Rig,
    pub(super) backends: Vec<Expected>,
    asked: Vec<Asked>,
    written: u64,
    /// Something has failed, so reads may.
    hit: bool,
    /// Contents have been spoilt, so pages may turn out to be unreadable.
    spoilt: bool,
    failed: Vec<(Fault, SimTime)>,
    seen: usize,
}

impl Model {
    pub(super) fn new(rig: Rig) -> Model {
        let pages = rig.drive.backends.ftl.maps().len() as usize;
        let backend = |_| Expected { holds: vec![0; pages], gone: vec![false; pages], dead: false };
        let backends = (0..rig.drive.ftl_count()).map(backend).collect();
        let (asked, failed) = (Vec::new(), Vec::new());
        Model { rig, backends, asked, written: 0, hit: false, spoilt: false, failed, seen: 0 }
    }

    fn submit(&mut self, backend: u16, command: Command, contents: &[Token]) {
        let slot = self.asked.len() as u32;
        let pages = command.low_pages();
        for page in pages {
            let expected = &self.backends[usize::from(backend)];
            let known = command.verb == Verb::Read && !expected.gone[page as usize] && !expected.dead;
            let owed = known.then(|| expected.holds[page as usize]);
            let read = command.verb == Verb::Read;
            self.asked.push(Asked { answered: false, owed, backend, page, read });
        }
        self.rig.ask(backend, command, slot, contents);
    }

    pub(super) fn read(&mut self, backend: u16, command: Command) {
        self.submit(backend, command, &[]);
        self.take();
    }

    pub(super) fn write(&mut self, backend: u16, command: Command) {
        let contents = tokens(self.written + 1, command.count);
        self.written += u64::from(command.count);
        for (page, token) in (command.start.low()..).zip(&contents) {
            self.set(backend, page, token.0);
        }
        self.submit(backend, command, &contents);
        self.take();
    }

    fn set(&mut self, backend: u16, page: u32, token: u64) {
        let expected = &mut self.backends[usize::from(backend)];
        expected.holds[page as usize] = token;
        expected.gone[page as usize] = false;
    }

    pub(super) fn trim(&mut self, backend: u16, command: Command) {
        command.low_pages().for_each(|page| self.set(backend, page, 0));
        self.submit(backend, command, &[]);
        self.take();
    }

    pub(super) fn remap(&mut self, backend: u16, from: u32, to: u32) {
        let expected = &mut self.backends[usize::from(backend)];
        expected.holds[to as usize] = std::mem::take(&mut expected.holds[from as usize]);
        expected.gone[to as usize] = std::mem::take(&mut expected.gone[from as usize]);
        let command = Command { to: Page::of(to), ..Command::new(Verb::Remap, Page::of(from), 1) };
        self.submit(backend, command, &[]);
        self.take();
    }

    pub(super) fn go_on(&mut self, span: u64) {
        let until = SimTime(self.rig.now.0.saturating_add(span));
        loop {
            let next = self.rig.drive.next_event();
            if next > until || next == SimTime::NEVER {
                break;
            }
            self.rig.drive.step(until);
            self.take();
        }
        self.rig.now = until;
    }

    pub(super) fn fail(&mut self, what: Fault, lasting: bool) {
        self.take();
        self.hit = true;
        self.spoilt |= !lasting;
        if lasting {
            self.failed.push((what, self.rig.now));
        }
        self.rig.drive.fail(self.rig.now, 0, what, lasting);
        self.take();
        for backend in 0..self.backends.len() {
            if self.rig.drive.is_dead(BackendId(backend as u16)) {
                self.backends[backend].dead = true;
            }
        }
    }

    pub(super) fn renew(&mut self, what: Fault) {
        let Fault::Planes { first, count } = what else { return };
        let planes = first.0..first.0 + count;
        let renewed: Vec<u32> =
            planes.filter(|&plane| self.rig.drive.backends.ftl.blocks().is_dead(PlaneId(plane))).collect();
        let mut still = Vec::new();
        for (failed, since) in std::mem::take(&mut self.failed) {
            match failed {
                Fault::Planes { first, count } => {
                    let left = (first.0..first.0 + count).filter(|plane| !renewed.contains(plane));
                    still.extend(left.map(|n| (Fault::Planes { first: PlaneId(n), count: 1 }, since)));
                }
                Fault::Block(plane, _) if renewed.contains(&plane.0) => {}
                Fault::Page(ppn)
                    if renewed.contains(&self.rig.drive.controller.flash.geometry.plane_of(ppn).0) => {}
                other => still.push((other, since)),
            }
        }
        self.failed = still;
        self.rig.drive.renew(self.rig.now, 0, what);
        for (backend, expected) in (0..).map(BackendId).zip(&mut self.backends) {
            if expected.dead && !self.rig.drive.is_dead(backend) {
                expected.holds.fill(0);
                expected.gone.fill(false);
                expected.dead = false;
            }
        }
        self.take();
    }

    /// Takes in the completions.
    fn take(&mut self) {
        for done in self.rig.done() {
            match done.part {
                CompletionPart::Lost | CompletionPart::Refused => {
                    let (backend, page) = done.failed.expect("a notice names its page");
                    let expected = &mut self.backends[usize::from(backend.0)];
                    expected.holds[page.low() as usize] = 0;
                    expected.gone[page.low() as usize] = true;
                }
                CompletionPart::Leaving => {}
                _ => (0..done.pages).for_each(|n| self.answered(done.token.slot + n, &done)),
            }
        }
        for operation in &self.rig.operations[self.seen..] {
            for &(what, since) in &self.failed {
                // A read that the failure of its plane interrupts ends there.
                let done = operation.end > since && matches!(what, Fault::Planes { .. });
                let begun = operation.start > since || done;
                let hit = what.strikes(&self.rig.drive.controller.flash.geometry, operation.ppn);
                // A block's erase is reported with its first page, which alone may have failed.
                let whole = operation.kind == OpKind::Erase && matches!(what, Fault::Page(_));
                assert!(!begun || !hit || whole, "{operation:?} in {what:?}, failed at {since:?}");
            }
        }
        self.seen = self.rig.operations.len();
    }

    fn answered(&mut self, slot: u32, done: &Done<Token>) {
        let asked = &mut self.asked[slot as usize];
        assert!(!std::mem::replace(&mut asked.answered, true), "{asked:?} is answered once");
        if let Some(failed) = done.failed {
            let lost = asked.owed.is_none();
            assert!(asked.read && (lost || self.hit), "{asked:?} fails for nothing");
            assert_eq!(failed, (BackendId(asked.backend), Page::of(asked.page)));
        } else if let Some(owed) = asked.owed {
            assert_eq!(done.contents.0, owed, "{asked:?}");
        }
    }

    /// Waits for everything, and looks at every page.
    pub(super) fn finish(mut self) {
        self.go_on(1 << 60);
        assert!(self.rig.drive.is_quiet(), "nothing is left to be done");
        self.rig.drive.audit();
        assert!(self.asked.iter().all(|asked| asked.answered));
        self.hit = self.spoilt;
        for backend in 0..self.backends.len() as u16 {
            if self.backends[usize::from(backend)].dead {
                continue;
            }
            for page in 0..self.backends[usize::from(backend)].holds.len() as u32 {
                self.look_at(backend, page);
            }
        }
        self.go_on(1 << 60);
        assert!(self.asked.iter().all(|asked| asked.answered));
    }

    fn look_at(&mut self, backend: u16, page: u32) {
        let expected = &self.backends[usize::from(backend)];
        let (holds, gone) = (expected.holds[page as usize], expected.gone[page as usize]);
        let (id, drive) = (BackendId(backend), &self.rig.drive);
        assert_eq!(drive.holds(id, Page::of(page)), holds != 0, "page {page} of {backend}");
        match drive.contents_of(id, Page::of(page)) {
            Some(found) => assert_eq!(found.0, holds, "page {page} of {backend}"),
            None => assert!(holds == 0 || self.spoilt, "page {page} of {backend}"),
        }
        if holds != 0 && !gone {
            self.read(backend, read(page));
        }
    }
}

/// A fault somewhere: of any unit of flash, or of an erased block, of which a plane may have no other.
pub(super) fn fault(drive: &Drive<Token>, kind: u8, pick: [u32; 6]) -> Fault {
    let geometry = &drive.controller.flash.geometry;
    let place = PlanePlace {
        channel: pick[0] % geometry.channels,
        chip: pick[1] % geometry.chips,
        die: pick[2] % geometry.dies,
        plane: pick[3] % geometry.planes,
    };
    let plane = geometry.plane_at(place);
    match kind {
        level @ 0..4 => Fault::of(geometry, Pools::PLANES, StripingLevel::ALL[usize::from(level)], place),
        4 => Fault::Block(plane, pick[4] % geometry.blocks),
        5 => {
            let scores = drive.backends.ftl.blocks().scores(plane);
            let erased = scores.iter().position(|&score| score == u16::MAX);
            Fault::Block(plane, erased.unwrap_or(0) as u32)
        }
        _ => Fault::Page(geometry.ppn(plane, pick[4] % geometry.blocks, pick[5] % geometry.pages)),
    }
}
