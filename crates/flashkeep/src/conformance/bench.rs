//! The test bench of a drive or an array: submits commands, injects failures, replaces parts, reads back and audits; an
//! oracle has the expected contents of every page.

mod audit;
mod failures;

use super::bed::TestDevices;
use crate::config::{Resolved, load_text};
use crate::devices::{BlockDevice, Recover};
use crate::drive::{DeviceObserver, Drive, Fault, LoggedOperation};
use crate::engine::{
    BackendId, Command, Engine, Finished, Flags, Hazard, NodeId, Page, Scheme, Token, Verb, Version,
};
use crate::flash::{PlaneId, PlanePlace, Ppn, StripingLevel};
use crate::kernel::SimTime;
use crate::schemes::Any;
use crate::simulation::{Built, DevicePlacement};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Every flash operation of a drive.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<Vec<LoggedOperation>>>);

impl DeviceObserver for Told {
    fn add(&mut self, _: u16, operation: &LoggedOperation) {
        self.0.lock().expect("one thread").push(*operation);
    }
    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// A request under way.
#[derive(Clone)]
struct Request {
    verb: Verb,
    start: u32,
    /// For a read, the least version of each page that it may bring.
    least: Vec<usize>,
    done: bool,
}

/// Something that does not answer, or did not.
#[derive(Clone)]
struct Dead {
    device: u16,
    /// Of a drive; a disk or a memory fails whole.
    planes: Vec<PlaneId>,
    from: SimTime,
    until: SimTime,
    /// What a disk had been counted when it failed.
    counted: Option<u64>,
}

/// A drive or an array on the bench.
#[derive(Clone)]
pub(super) struct Bench<H = Drive<Token>> {
    pub(super) drive: Resolved,
    engine: Engine<Any, Token>,
    flash: H,
    placements: Vec<DevicePlacement>,
    /// Of each device that is a drive.
    operations: Vec<(u16, Told)>,
    now: SimTime,
    /// All that each page has ever held; 0 is nothing.
    versions: Vec<Vec<u64>>,
    requests: Vec<Request>,
    /// When which version of which page is durable; of each page, the newest one that is, and the newest one when it
    /// was last trimmed.
    coming: Vec<(SimTime, u32, usize)>,
    durable: Vec<usize>,
    trimmed: Vec<usize>,
    /// Of each page, the version that was durable when it was last trimmed.
    held: Vec<usize>,
    /// Instants at which something happened.
    pub(super) steps: u32,
    /// Pages that a read reported as lost since this was last emptied.
    pub(super) lost: BTreeSet<u32>,
    /// What died, for checks of the operations afterwards.
    dead: Vec<Dead>,
    was_cut_at: Option<SimTime>,
    /// A plane has failed, and with it the read that it was doing.
    has_cut_off: bool,
    /// Pages may have gone bad that have not been read since.
    latent: bool,
    is_log: bool,
}

impl<H: TestDevices> Bench<H> {
    /// A drive or an array that has been resolved.
    pub(super) fn of(drive: Resolved) -> Bench<H> {
        let Built { hardware: mut flash, tree, controller, placements, .. } = H::put_together(&drive);
        let operations = flash.log_all();
        let mut engine = Engine::new(tree);
        engine.tree_mut().controller = controller;
        let is_log = drive.scheme().kind == crate::schemes::Members::Physical;
        let drive_pages = drive.logical_pages() as usize;
        let versions = vec![vec![0]; drive_pages];
        Bench {
            drive,
            engine,
            flash,
            placements,
            operations,
            now: SimTime::ZERO,
            versions,
            requests: Vec::new(),
            coming: Vec::new(),
            durable: vec![0; drive_pages],
            trimmed: vec![0; drive_pages],
            held: vec![0; drive_pages],
            steps: 0,
            lost: BTreeSet::new(),
            dead: Vec::new(),
            was_cut_at: None,
            has_cut_off: false,
            latent: false,
            is_log,
        }
    }

    /// An independent copy, with operation logs of its own.
    pub(super) fn copy(&self) -> Bench<H> {
        let mut copy = self.clone();
        copy.operations = copy.flash.log_all();
        for ((_, to), (_, from)) in copy.operations.iter().zip(&self.operations) {
            to.0.lock().expect("one thread").clone_from(&from.0.lock().expect("one thread"));
        }
        copy
    }

    pub(super) fn pages(&self) -> u32 {
        self.versions.len() as u32
    }

    /// Whether the scheme has pages beyond those of the drive.
    pub(super) fn has_spare_pages(&self) -> bool {
        self.scheme().capacity() > u64::from(self.pages())
    }

    pub(super) fn members(&self) -> u32 {
        self.drive.members()
    }

    pub(super) fn scheme(&self) -> &Any {
        self.engine.tree().scheme(NodeId::ROOT).expect("a scheme at the root")
    }

    pub(super) fn exposed_now(&self) -> u64 {
        self.engine.tree().exposure().pages()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.engine.tree().is_whole()
    }

    /// Pages that the scheme does not promise to keep.
    pub(super) fn exposed(&self, hazard: Hazard) -> BTreeSet<u32> {
        (0..self.pages())
            .filter(|&page| self.engine.tree().is_exposed(NodeId::ROOT, Page::of(page), hazard))
            .collect()
    }

    // ---------------------------------------------------------------- requests

    fn latest(&self, page: u32) -> usize {
        self.versions[page as usize].len() - 1
    }

    pub(super) fn submit(&mut self, verb: Verb, start: u32, count: u16) {
        // The host waits until a recovery is over.
        while self.engine.tree().is_recovering() && self.step() {}
        let start = start.min(self.pages() - 1);
        let count = count.min((self.pages() - start) as u16);
        let tag = self.requests.len() as u32;
        let least = (0..u32::from(count)).map(|n| self.latest(start + n)).collect();
        self.requests.push(Request { verb, start, least, done: false });
        let completion = self.engine.open(tag, u32::from(count));
        for n in 0..u32::from(count) {
            let token = match verb {
                Verb::Write => {
                    let written = self.latest(start + n) as u16 + 1;
                    Version::Written(u64::from(start + n), written).stamp()
                }
                Verb::Trim => {
                    let page = (start + n) as usize;
                    self.trimmed[page] = self.latest(start + n) + 1;
                    if self.versions[page][self.durable[page]] != 0 {
                        self.held[page] = self.durable[page];
                    }
                    0
                }
                _ => continue,
            };
            self.versions[(start + n) as usize].push(token);
            self.engine.work_mut().pages(completion.owner)[n as usize] = Token(token);
        }
        self.engine.submit(
            &mut self.flash,
            self.now,
            Command {
                flags: Flags::NONE.for_handle((start % 3) as u8),
                ..Command::new(verb, Page::of(start), count)
            },
            completion.pages(),
        );
        self.engine.close(&mut self.flash, self.now, completion);
        self.take_finished();
    }

    fn take_finished(&mut self) {
        for finished in std::mem::take(self.engine.work_mut().finished()) {
            self.check(&finished);
            self.engine.work_mut().forget(finished.counter);
        }
    }

    fn check(&mut self, finished: &Finished) {
        let request = &mut self.requests[finished.tag as usize];
        assert!(!std::mem::replace(&mut request.done, true), "a request is answered once");
        if request.verb != Verb::Read {
            let pages = request.start..request.start + request.least.len() as u32;
            let version = |page: u32| request.least[(page - request.start) as usize] + 1;
            let coming = pages.map(|page| (finished.durable, page, version(page)));
            self.coming.extend(coming.filter_map(|(at, page, version)| Some((at?, page, version))));
            return;
        }
        let mut missing = 0;
        for (n, &least) in request.least.iter().enumerate() {
            let page = request.start + n as u32;
            let Token(found) = self.engine.work_mut().pages(finished.counter)[n];
            if self.versions[page as usize][least..].contains(&found) {
                continue;
            }
            assert!(found == 0 && missing < finished.lost, "page {page} was read wrong");
            missing += 1;
            self.lost.insert(page);
        }
        // A page that is lost brings zeros, which may be what it held: then nothing is harmed.
    }

    /// On to the next instant at which something happens; false where nothing does any more.
    pub(super) fn step(&mut self) -> bool {
        let (flash, due) = (self.flash.next_event(), self.engine.next_due());
        let next = flash.min(due);
        if next == SimTime::NEVER {
            return false;
        }
        self.steps += 1;
        self.now = self.now.max(next);
        while self.flash.done().is_empty() && self.flash.step(self.now.min(due)) {}
        if !self.flash.done().is_empty() {
            self.engine.settle(&mut self.flash, self.now);
        } else {
            self.engine.advance(&mut self.flash, self.now);
        }
        self.take_finished();
        true
    }

    /// Until nothing happens any more.
    pub(super) fn run(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 2_000_000, "it never ends");
        }
        let quiet = (self.engine.work().is_quiet(), self.flash.is_quiet());
        assert!(quiet == (true, true), "something was left behind: {quiet:?}");
        assert!(self.requests.iter().all(|request| request.done), "a request was never answered");
    }

    /// Reads every page; those that are lost.
    pub(super) fn read_all(&mut self) -> BTreeSet<u32> {
        self.lost.clear();
        for page in 0..self.pages() {
            self.submit(Verb::Read, page, 1);
            self.run();
        }
        std::mem::take(&mut self.lost)
    }

    /// The pages that have been written since, by version counts taken before.
    pub(super) fn versions(&self) -> Vec<usize> {
        self.versions.iter().map(Vec::len).collect()
    }
}

/// What only a drive can be asked.
impl Bench {
    /// A drive from the text of a drive file.
    pub(super) fn new(text: &str, set: &[String]) -> Bench {
        Bench::of(load_text("bench.toml", text, set).unwrap_or_else(|error| panic!("{error}")))
    }

    /// A drive whose power is going to fail.
    pub(super) fn with_cuts(text: &str, set: &[String]) -> Bench {
        let mut bench = Bench::new(text, set);
        bench.flash.expect_power_cuts();
        bench
    }

    /// The planes of a member.
    pub(super) fn planes(&self, member: u32) -> Vec<PlaneId> {
        self.planes_of(0, member)
    }

    /// The blocks of a pool that are in one of its planes of the flash.
    pub(super) fn part_of_pool(&self, pool: PlaneId, plane: u32) -> Fault {
        let (geometry, pools) = (self.flash.geometry(), self.drive.pools());
        let PlanePlace { channel, chip, die, .. } = geometry.place(pool);
        Fault::of(geometry, pools, StripingLevel::Plane, PlanePlace { channel, chip, die, plane })
    }

    /// A physical page of a block.
    pub(super) fn physical(&self, plane: PlaneId, block: u32, page: u32) -> Ppn {
        self.flash.geometry().ppn(plane, block, page)
    }

    /// The physical page of a backend's page.
    pub(super) fn ppn(&self, (backend, page): (BackendId, Page)) -> Option<Ppn> {
        match self.flash.lookup(backend, page) {
            crate::ftl::MapEntry::At(ppn) => Some(ppn),
            _ => None,
        }
    }

    /// The power fails and comes back: pages that were durable and are not there any more, and not exposed to that.
    pub(super) fn cut(&mut self) {
        self.cut_at(self.now);
    }

    /// What happens at this very instant has happened.
    pub(super) fn catch_up(&mut self) {
        while self.flash.next_event().min(self.engine.next_due()) <= self.now && self.step() {}
    }

    /// The same, while the last recovery may not be over.
    pub(super) fn cut_at(&mut self, at: SimTime) {
        for request in &mut self.requests {
            request.done = true;
        }
        for &(_, page, version) in self.coming.iter().filter(|&&(when, ..)| when <= at) {
            let durable = &mut self.durable[page as usize];
            *durable = version.max(*durable);
        }
        self.coming.clear();
        let recovery = self.flash.cut_power(at);
        self.was_cut_at = Some(at);
        self.now = recovery.ready;
        self.engine.recover(&mut self.flash, self.now);
    }

    /// When the power failed last, and when the drive was there again.
    pub(super) fn last_cut(&self) -> (SimTime, SimTime) {
        (self.was_cut_at.unwrap_or_default(), self.now)
    }
}
