//! A drive on the bench: submit, fail, replace, read back, audit, and an oracle that knows what every page must hold.

use flashkeep::drive::{Drive, Fault, Kind, Log, Operation};
use flashkeep::engine::{
    Cause, Change, Command, Contents, Engine, Finished, Flags, Hazard, LeafId, NodeId, Page, Role, Scheme,
    Token, Unit, Verb, Version, gf,
};
use flashkeep::kernel::SimTime;
use flashkeep::mapping::Below;
use flashkeep::media::{PlaneId, Ppn};
use flashkeep::schemes::Any;
use flashkeep::simulation::{Built, build};
use flashkeep::spec::{GcRun, Resolved, load_text};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Every flash operation of a drive.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Operation>>>);

impl Log for Told {
    fn add(&mut self, operation: &Operation) {
        self.0.lock().expect("one thread").push(*operation);
    }
    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// A request under way.
struct Request {
    verb: Verb,
    start: u32,
    /// For a read, the least version of each page that it may bring.
    least: Vec<usize>,
    done: bool,
}

/// A drive on the bench.
pub(crate) struct Bench {
    pub(crate) drive: Resolved,
    engine: Engine<Any, Token>,
    flash: Drive<Token>,
    domains: Vec<Vec<PlaneId>>,
    operations: Told,
    now: SimTime,
    /// All that each page has ever held; 0 is nothing.
    versions: Vec<Vec<u64>>,
    requests: Vec<Request>,
    /// When which version of which page is durable; of each page, the newest one that is, and the newest one when it was
    /// last trimmed.
    coming: Vec<(SimTime, u32, usize)>,
    durable: Vec<usize>,
    trimmed: Vec<usize>,
    /// Of each page, the version that was durable when it was last trimmed.
    held: Vec<usize>,
    /// Instants at which something happened.
    pub(crate) steps: u32,
    /// Pages that a read reported as lost since this was last emptied.
    pub(crate) lost: BTreeSet<u32>,
    /// When what died, for whoever looks at the operations afterwards.
    dead: Vec<(SimTime, PlaneId, SimTime)>,
    was_cut_at: Option<SimTime>,
    /// Pages may have gone bad that nobody has tried to read since.
    latent: bool,
    is_log: bool,
}

impl Bench {
    /// A drive from the text of a drive file.
    pub(crate) fn new(text: &str, set: &[String]) -> Bench {
        let drive = load_text("bench.toml", text, set).unwrap_or_else(|error| panic!("{error}"));
        let Built { hardware: mut flash, tree, controller, plots, .. } =
            build::<Token>(&drive).unwrap_or_else(|error| panic!("{error}"));
        let operations = Told::default();
        flash.log_operations(Box::new(operations.clone()));
        let domains = plots[0].domains.iter().map(|domain| domain.planes(flash.geometry())).collect();
        let mut engine = Engine::new(tree);
        engine.controller = controller;
        let is_log = drive.scheme().kind == flashkeep::schemes::Members::Raw;
        let drive_pages = drive.logical_pages() as usize;
        let versions = vec![vec![0]; drive_pages];
        Bench {
            drive,
            engine,
            flash,
            domains,
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
            latent: false,
            is_log,
        }
    }

    /// The same, and its power is going to fail.
    pub(crate) fn with_cuts(text: &str, set: &[String]) -> Bench {
        let mut bench = Bench::new(text, set);
        bench.flash.expect_power_cuts();
        bench
    }

    pub(crate) fn pages(&self) -> u32 {
        self.versions.len() as u32
    }

    /// Whether the scheme has pages beyond those of the drive.
    pub(crate) fn has_spare_pages(&self) -> bool {
        self.scheme().capacity() > u64::from(self.pages())
    }

    pub(crate) fn members(&self) -> u32 {
        self.drive.members()
    }

    pub(crate) fn scheme(&self) -> &Any {
        self.engine.scheme(NodeId::ROOT).expect("a scheme at the root")
    }

    pub(crate) fn exposed_now(&self) -> u64 {
        self.engine.exposed()
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.engine.is_whole()
    }

    /// Pages that the scheme does not promise to keep.
    pub(crate) fn exposed(&self, hazard: Hazard) -> BTreeSet<u32> {
        (0..self.pages()).filter(|&page| self.scheme().is_exposed(Page(page), hazard)).collect()
    }

    // ---------------------------------------------------------------- requests

    fn latest(&self, page: u32) -> usize {
        self.versions[page as usize].len() - 1
    }

    pub(crate) fn submit(&mut self, verb: Verb, start: u32, count: u16) {
        let start = start.min(self.pages() - 1);
        let count = count.min((self.pages() - start) as u16);
        let tag = self.requests.len() as u32;
        let least = (0..u32::from(count)).map(|n| self.latest(start + n)).collect();
        self.requests.push(Request { verb, start, least, done: false });
        let ticket = self.engine.open(tag, u32::from(count));
        for n in 0..u32::from(count) {
            let token = match verb {
                Verb::Write => {
                    let written = self.latest(start + n) as u16 + 1;
                    Version::Written(start + n, written).stamp()
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
            self.engine.pages(ticket.owner)[n as usize] = Token(token);
        }
        self.engine.submit(&mut self.flash, self.now, Command::new(verb, Page(start), count), ticket);
        self.engine.close(&mut self.flash, self.now, ticket);
        self.take_finished();
    }

    fn take_finished(&mut self) {
        for finished in std::mem::take(self.engine.finished()) {
            self.check(&finished);
            self.engine.forget(finished.join);
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
            let Token(found) = self.engine.pages(finished.join)[n];
            if self.versions[page as usize][least..].contains(&found) {
                continue;
            }
            assert!(found == 0 && missing < finished.lost, "page {page} was read wrong");
            missing += 1;
            self.lost.insert(page);
        }
        // A page that is lost brings zeros, which may be what it held: then nobody is harmed.
    }

    /// On to the next instant at which something happens; false where nothing does any more.
    pub(crate) fn step(&mut self) -> bool {
        let (flash, due) = (self.flash.next_event(), self.engine.next_due());
        let next = flash.min(due);
        if next == SimTime::NEVER {
            return false;
        }
        self.steps += 1;
        self.now = self.now.max(next);
        while !self.flash.has_done() && self.flash.step(self.now.min(due)) {}
        if self.flash.has_done() {
            self.engine.settle(&mut self.flash, self.now);
        } else {
            self.engine.advance(&mut self.flash, self.now);
        }
        self.take_finished();
        true
    }

    /// Until nothing happens any more.
    pub(crate) fn run(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 2_000_000, "it never ends");
        }
        let quiet = (self.engine.is_quiet(), self.flash.is_quiet());
        assert!(quiet == (true, true), "something was left behind: {quiet:?}");
        assert!(self.requests.iter().all(|request| request.done), "a request was never answered");
    }

    /// Reads every page; those that are lost.
    pub(crate) fn read_all(&mut self) -> BTreeSet<u32> {
        self.lost.clear();
        for page in 0..self.pages() {
            self.submit(Verb::Read, page, 1);
            self.run();
        }
        std::mem::take(&mut self.lost)
    }

    /// The pages that have been written since, by version counts taken before.
    pub(crate) fn versions(&self) -> Vec<usize> {
        self.versions.iter().map(Vec::len).collect()
    }

    // ---------------------------------------------------------------- failures

    /// The planes of a member.
    pub(crate) fn planes(&self, member: u32) -> &[PlaneId] {
        &self.domains[member as usize]
    }

    /// Members fail, whole, at the same instant.
    pub(crate) fn fail(&mut self, members: &[u32]) {
        for &member in members {
            for plane in self.domains[member as usize].clone() {
                self.flash.fail(self.now, Fault::Planes { first: plane, count: 1 }, true);
                self.dead.push((self.now, plane, SimTime::NEVER));
            }
        }
        for &member in members {
            let node = self.engine.node_of(LeafId(member as u16)).expect("a member's node");
            self.engine.change(&mut self.flash, self.now, node, Change::Failed);
        }
        self.settle();
    }

    /// A part of a member fails.
    pub(crate) fn damage(&mut self, fault: Fault, lasting: bool) {
        self.latent |= !lasting;
        self.flash.fail(self.now, fault, lasting);
        self.settle();
    }

    /// Empty members stand in the place of failed ones.
    pub(crate) fn replace(&mut self, members: &[u32]) {
        for &member in members {
            for plane in self.domains[member as usize].clone() {
                self.flash.renew(self.now, Fault::Planes { first: plane, count: 1 });
                for (_, dead, until) in &mut self.dead {
                    if *dead == plane && *until == SimTime::NEVER {
                        *until = self.now;
                    }
                }
            }
            let node = self.engine.node_of(LeafId(member as u16)).expect("a member's node");
            self.engine.change(&mut self.flash, self.now, node, Change::Replaced);
        }
        self.settle();
    }

    /// The power fails and comes back: pages that were durable and are not there any more, and not exposed to that.
    pub(crate) fn cut(&mut self) {
        self.cut_at(self.now);
    }

    /// The same, while the last recovery may not be over.
    pub(crate) fn cut_at(&mut self, at: SimTime) {
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

    /// Pages that requests under way write, and those within a stripe's length of them.
    pub(crate) fn unsettled(&self) -> BTreeSet<u32> {
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

    /// When the power failed last, and when the drive was there again.
    pub(crate) fn last_cut(&self) -> (SimTime, SimTime) {
        (self.was_cut_at.unwrap_or_default(), self.now)
    }

    /// Reads every page after a cut: those that are older than they were, and whether they are lost altogether. What is
    /// found is what there is from then on.
    pub(crate) fn take_stock(&mut self) -> BTreeSet<u32> {
        let mut missing = BTreeSet::new();
        for page in 0..self.pages() {
            let durable = self.durable[page as usize];
            let promised = if self.trimmed[page as usize] >= durable { 0 } else { durable };
            let found = self.look(page);
            let known = &self.versions[page as usize];
            let version = found.and_then(|found| known.iter().rposition(|&version| version == found));
            assert!(found.is_none() || version.is_some(), "page {page} was read wrong: {found:?}");
            // A log, and a copy, knows of a page only what is on flash: of one that a member took with it, an older version.
            let name = self.drive.scheme().name;
            let stale = version.is_some_and(|version| version < promised) && !self.is_log && name != "mirror";
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
            let plain = self.drive.scheme().name == "none";
            let back = trimmed && plain && found.is_some_and(|found| found != 0);
            assert!(!back, "page {page} is back after its trim");
            // Zeros that are said to be lost harm nobody.
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
    fn look(&mut self, page: u32) -> Option<u64> {
        let ticket = self.engine.open(u32::MAX, 1);
        let command = Command { flags: Flags::BEFORE, ..Command::new(Verb::Read, Page(page), 1) };
        self.engine.submit(&mut self.flash, self.now, command, ticket);
        self.engine.close(&mut self.flash, self.now, ticket);
        let mut found = None;
        for finished in std::mem::take(self.engine.finished()) {
            if finished.tag == u32::MAX {
                found = (finished.lost == 0).then(|| self.engine.pages(finished.join)[0].0);
            } else {
                self.check(&finished);
            }
            self.engine.forget(finished.join);
        }
        found
    }

    fn settle(&mut self) {
        self.engine.settle(&mut self.flash, self.now);
        self.take_finished();
    }

    // ---------------------------------------------------------------- audits

    /// What must hold whenever nothing is under way: the map and its inverse, parity and copies as the raw state has
    /// them, every operation counted under its cause, none on what had failed.
    pub(crate) fn audit(&self) {
        self.flash.audit();
        // Below other maps a member's pages are not its leaf's.
        if self.drive.map().below != Below::Blocks {
            self.scheme().covers(&mut |units| self.audit_stripe(units));
        }
        let told = self.operations.0.lock().expect("one thread");
        for kind in Kind::ALL {
            let counted = self.flash.counters().total(kind);
            let told = told.iter().filter(|operation| operation.kind == kind).count() as u64;
            // A read that a failure cut off was begun, and never came to an end.
            let cut_off = kind == Kind::Read && (!self.dead.is_empty() || self.was_cut_at.is_some());
            assert!(told == counted || cut_off && told < counted, "{told} of {counted} {kind:?}s");
        }
        // A collection in one go was granted as a whole.
        let in_one_go = |cause| cause == Cause::Gc && self.drive.spec.ftl.gc.run == GcRun::HoldChannel;
        for operation in told.iter().filter(|operation| !in_one_go(operation.cause)) {
            let plane = self.flash.geometry().plane_of(operation.ppn);
            for &(from, dead, until) in &self.dead {
                let struck = dead == plane && operation.start > from && operation.start < until;
                assert!(!struck, "{operation:?} on a plane that had failed from {from:?} until {until:?}");
            }
        }
    }

    fn audit_stripe(&self, units: &[Unit]) {
        let held = |unit: &Unit| self.flash.contents_of(LeafId(u16::from(unit.member.0)), unit.page);
        if units.iter().any(|unit| self.flash.is_dead(LeafId(u16::from(unit.member.0)))) {
            return;
        }
        if self.latent && units.iter().any(|unit| held(unit).is_none()) {
            return;
        }
        if units.iter().all(|unit| unit.role == Role::Plain) {
            let copies: Vec<_> = units.iter().filter_map(held).collect();
            assert!(copies.is_empty() || copies.len() == units.len(), "a copy is missing of {units:?}");
            assert!(copies.iter().all(|copy| *copy == copies[0]), "copies differ: {units:?}");
            return;
        }
        let sum = |factor: &dyn Fn(u8) -> u8| {
            units.iter().fold(Token(0), |sum, unit| match unit.role {
                Role::Data(index) => sum.plus(factor(index), held(unit).expect("data of a whole stripe")),
                _ => sum,
            })
        };
        for unit in units {
            match unit.role {
                Role::P => assert_eq!(held(unit), Some(sum(&|_| 1)), "P of {units:?}"),
                Role::Q => assert_eq!(held(unit), Some(sum(&gf::coefficient)), "Q of {units:?}"),
                _ => {}
            }
        }
    }

    /// Where a page lies now, its first copy.
    pub(crate) fn place(&self, page: u32) -> Option<(LeafId, Page)> {
        self.engine.places(Page(page)).first().copied()
    }

    /// The physical page of a leaf's page.
    pub(crate) fn ppn(&self, (leaf, page): (LeafId, Page)) -> Option<Ppn> {
        match self.flash.lookup(leaf, page) {
            flashkeep::ftl::Entry::At(ppn) => Some(ppn),
            _ => None,
        }
    }
}
