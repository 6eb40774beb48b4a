//! What the tests drive: a tree over a store, a clock, and an oracle that knows what every read must return.

use super::store::{Report, Store};
use crate::engine::ports::{Flushed, PortId};
use crate::engine::{
    BackendId, Change, Command, Contents, Engine, Finished, Flags, Merge, NodeId, Page, Scheme, Tree, Verb,
    Why,
};
use crate::kernel::{SimTime, mix};

/// What a request is to return.
#[derive(Clone, Debug)]
struct Expected {
    start: u32,
    verb: Option<Verb>,
    /// For each page, which of the versions it had was the last submitted.
    versions: Vec<usize>,
    finished: bool,
}

/// A tree under test.
pub(crate) struct Rig<C: Contents, S> {
    pub(crate) engine: Engine<S, C>,
    pub(crate) store: Store<C>,
    pub(crate) now: SimTime,
    /// All that each page has ever held, in the order of submission.
    history: Vec<Vec<u64>>,
    requests: Vec<Expected>,
    serial: u64,
    /// A read that was repaired may be newer than its submission, never older.
    pub(crate) lenient: bool,
    /// Whether a wrong read is counted instead of being the end, and how many there were.
    pub(crate) counts_wrong: bool,
    pub(crate) wrong: u32,
    /// The notices, by request: when it could continue and how many pages it lost.
    pub(crate) told: Vec<Option<(SimTime, u32)>>,
    /// Pages that reads have reported as lost.
    pub(crate) lost: Vec<u32>,
    /// Everything that happened, as one number.
    pub(crate) trace: u64,
}

impl<C: Contents, S: Scheme> Rig<C, S> {
    pub(crate) fn new(tree: Tree<S>, store: Store<C>) -> Self {
        let mut engine = Engine::new(tree);
        engine.tree_mut().controller.rebuild_permille = 0;
        Rig {
            engine,
            store,
            now: SimTime::ZERO,
            history: Vec::new(),
            requests: Vec::new(),
            serial: 0,
            lenient: false,
            counts_wrong: false,
            wrong: 0,
            told: Vec::new(),
            lost: Vec::new(),
            trace: 0,
        }
    }

    /// `scheme` over `members` backends of this many pages.
    pub(crate) fn flat(scheme: S, members: u16, pages: u32, report: Report, seed: u64) -> Self {
        let mut store = Store::new(seed);
        let backends = (0..members).map(|_| Tree::Backend(store.add(pages, 0, report))).collect();
        Rig::new(Tree::Node(scheme, backends), store)
    }

    fn versions(&mut self, page: u32) -> &mut Vec<u64> {
        let page = page as usize;
        if self.history.len() <= page {
            self.history.resize(page + 1, vec![0]);
        }
        &mut self.history[page]
    }

    /// What the page holds once everything submitted has taken effect.
    pub(crate) fn latest(&mut self, page: u32) -> u64 {
        *self.versions(page).last().expect("every page has held zeros")
    }

    fn request(&mut self, start: u32, count: u16, verb: Option<Verb>) -> usize {
        let versions = (0..u32::from(count)).map(|n| self.versions(start + n).len() - 1).collect();
        self.requests.push(Expected { start, verb, versions, finished: false });
        self.told.push(None);
        self.requests.len() - 1
    }

    fn fresh(&mut self) -> u64 {
        self.serial += 1;
        mix(self.serial)
    }

    pub(crate) fn submit(&mut self, command: Command) -> usize {
        let (start, count) = (command.start.low(), command.count);
        let tag = self.request(start, count, Some(command.verb));
        let token = self.engine.open(tag as u32, u32::from(count));
        for n in 0..usize::from(count) {
            let new = match command.verb {
                Verb::Write => self.fresh(),
                Verb::Trim => 0,
                _ => continue,
            };
            self.versions(start + n as u32).push(new);
            if C::KEEP && command.verb == Verb::Write {
                self.engine.work_mut().pages(token.owner)[n] = C::token(new);
            }
        }
        self.engine.submit(&mut self.store, self.now, command, token.pages());
        self.engine.close(&mut self.store, self.now, token);
        self.collect();
        tag
    }

    pub(crate) fn write(&mut self, start: u32, count: u16) -> usize {
        self.submit(Command::new(Verb::Write, Page::of(start), count))
    }

    pub(crate) fn read(&mut self, start: u32, count: u16) -> usize {
        self.submit(Command::new(Verb::Read, Page::of(start), count))
    }

    pub(crate) fn trim(&mut self, start: u32, count: u16) -> usize {
        self.submit(Command::new(Verb::Trim, Page::of(start), count))
    }

    /// The caches of the root's members are written back.
    pub(crate) fn flush(&mut self) -> usize {
        let tag = self.request(0, 0, Some(Verb::Write));
        let token = self.engine.open(tag as u32, 0);
        self.engine.flush_members(&mut self.store, self.now, NodeId::ROOT, Flushed::Volatile, token.pages());
        self.engine.close(&mut self.store, self.now, token);
        self.collect();
        tag
    }

    /// Fills pages before time 0.
    pub(crate) fn fill(&mut self, start: u32, count: u16) {
        let flags = Flags::BEFORE;
        let tag = self.submit(Command { flags, ..Command::new(Verb::Write, Page::of(start), count) });
        assert!(self.told[tag].is_some(), "no time passes before time 0");
    }

    /// Writes a part of a page.
    pub(crate) fn merge(&mut self, page: u32) -> usize {
        let tag = self.request(page, 1, None);
        let token = self.engine.open(tag as u32, 1);
        let old = self.latest(page);
        let new = self.fresh();
        self.versions(page).push(new);
        if C::KEEP {
            self.engine.work_mut().pages(token.owner)[0] = C::token(new).plus(1, C::token(old));
        }
        let merge = Merge {
            page: page.into(),
            old_sectors: 1,
            all_sectors: 0,
            origin: crate::device::command::Origin::host(0),
            flags: crate::engine::Flags::NONE,
        };
        self.engine.merge_behind(&mut self.store, self.now, PortId::HOST, merge, token.pages());
        self.engine.close(&mut self.store, self.now, token);
        self.collect();
        tag
    }

    fn collect(&mut self) {
        for finished in std::mem::take(self.engine.work_mut().finished()) {
            self.check(&finished);
            self.engine.work_mut().forget(finished.counter);
        }
    }

    fn check(&mut self, finished: &Finished) {
        let Finished { tag, counter, acknowledged, lost, .. } = *finished;
        let tag = tag as usize;
        let expected = self.requests[tag].clone();
        assert!(!std::mem::replace(&mut self.requests[tag].finished, true), "finished twice");
        self.told[tag] = Some((acknowledged, lost));
        for part in [tag as u64, acknowledged.0, u64::from(lost), self.now.0] {
            self.trace = mix(self.trace ^ part);
        }
        if !C::KEEP || expected.verb != Some(Verb::Read) {
            return;
        }
        let mut missing = 0;
        for (n, &version) in expected.versions.iter().enumerate() {
            let page = expected.start + n as u32;
            let found = self.engine.work_mut().pages(counter)[n];
            let versions = &self.history[page as usize][version..];
            let allowed = if self.lenient { versions } else { &versions[..1] };
            let right = allowed.iter().any(|&token| found == C::token(token));
            if lost as usize == expected.versions.len() {
                assert!(found == C::default(), "a page that is lost brings nothing");
                self.lost.push(page);
            } else if !right && self.counts_wrong {
                self.wrong += 1;
            } else if !right {
                assert!(lost > missing && found == C::default(), "page {page} read wrong (request {tag})");
                missing += 1;
                self.lost.push(page);
            }
        }
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> SimTime {
        self.engine.next_due().min(self.store.next())
    }

    /// On to the next instant at which something happens; false where nothing does any more.
    pub(crate) fn step(&mut self) -> bool {
        let next = self.next();
        if next == SimTime::NEVER {
            return false;
        }
        self.until(next);
        true
    }

    /// Everything up to an instant.
    pub(crate) fn until(&mut self, at: SimTime) {
        while self.next() <= at {
            self.now = self.now.max(self.next());
            self.store.deliver(self.now);
            self.engine.advance(&mut self.store, self.now);
            self.collect();
        }
        self.now = self.now.max(at);
    }

    /// Until nothing happens any more; then nothing may be left.
    pub(crate) fn run(&mut self) {
        while self.step() {}
        assert!(self.requests.iter().all(|request| request.finished), "a request never finished");
        assert!(self.engine.work().is_quiet(), "something was left behind");
    }

    /// Until nothing is under way; more may follow in idle time.
    pub(crate) fn drain(&mut self) {
        while !self.engine.work().is_quiet() {
            assert!(self.step(), "a request never finished");
        }
    }

    /// Reads every page back.
    pub(crate) fn read_all(&mut self, pages: u32) {
        self.lost.clear();
        for page in 0..pages {
            self.read(page, 1);
            self.run();
        }
    }

    pub(crate) fn change(&mut self, node: u16, change: Change) {
        self.engine.change(&mut self.store, self.now, NodeId(node), change);
        self.engine.settle(&mut self.store, self.now);
        self.collect();
    }

    fn backend_of(&self, node: u16) -> BackendId {
        self.engine.nodes[NodeId(node)].backend.expect("a backend")
    }

    /// Whether the node answers.
    pub(crate) fn is_alive(&self, node: u16) -> bool {
        self.engine.nodes[NodeId(node)].alive
    }

    /// The backend at `node` fails.
    pub(crate) fn fail(&mut self, node: u16) {
        let backend = self.backend_of(node);
        self.store.kill(backend.0);
        self.change(node, Change::Failed);
    }

    /// Replaces the backend at `node` by an empty one.
    pub(crate) fn replace(&mut self, node: u16) {
        let backend = self.backend_of(node);
        self.store.replace(backend.0);
        self.change(node, Change::Replaced);
    }

    /// The backend at `node` is back.
    pub(crate) fn bring_back(&mut self, node: u16) {
        let backend = self.backend_of(node);
        self.store.revive(backend.0);
        self.change(node, Change::Returned);
    }

    /// The backend at `node` continues without a page.
    pub(crate) fn damage(&mut self, node: u16, page: u32) {
        let backend = self.backend_of(node);
        self.store.damage(backend, page);
        self.engine.settle(&mut self.store, self.now);
        self.collect();
    }

    pub(crate) fn background(&mut self, node: u16, why: Why) -> bool {
        let work = self.engine.background(&mut self.store, self.now, NodeId(node), why);
        self.collect();
        work
    }

    /// Rebuilds what the scheme at `node` can, a piece at a time.
    pub(crate) fn rebuild(&mut self, node: u16) {
        while self.engine.tree().has_to_rebuild(NodeId(node)) {
            let begun = self.background(node, Why::Rebuild);
            assert!(self.step() || begun || self.engine.work().is_quiet(), "the rebuild stands still");
        }
        self.run();
    }

    /// How often each cause made the flash work: pages read and pages written.
    pub(crate) fn pages(&self, verb: Verb, cause: crate::engine::Cause) -> u32 {
        self.store.count(|_, command| command.verb == verb && command.cause == cause)
    }
}
