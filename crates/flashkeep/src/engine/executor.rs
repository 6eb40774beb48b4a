//! Carries plans out: cuts runs, joins completions, runs stages, keeps stripes apart, does the sums.

use super::command::{Cause, Command, Flags, Page, Verb};
use super::contents::{Contents, gf};
use super::leaves::{Done, LeafId, Leaves, Part, Ticket};
use super::locks::{Locks, Waiting};
use super::plan::{Key, Lock, Member, Outcome, Plan, Release, Role, Step, Tell, Verdict, Why};
use super::scheme::{Change, Scheme, View};
use crate::kernel::{Arena, Deadlines, Id, SimTime, Span};
use std::collections::VecDeque;

/// A node of the tree; nodes are numbered in pre-order, the root being 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

impl NodeId {
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How a node stands in the tree, apart from what it does.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its children, in order of member number.
    pub children: Vec<NodeId>,
    /// The leaf that it is, if it is one.
    pub leaf: Option<LeafId>,
    /// Its parent, and which member of it this is.
    pub parent: Option<(NodeId, Member)>,
    /// Whether it answers.
    pub alive: bool,
}

/// A tree to be executed.
#[derive(Debug)]
pub enum Tree<S> {
    /// A leaf.
    Leaf(LeafId),
    /// A scheme over members.
    Node(S, Vec<Tree<S>>),
}

/// A counter that several pages are joined in: a request, or a plan with stages.
#[derive(Debug, Default)]
pub struct Join {
    unacknowledged: u32,
    undurable: u32,
    acknowledged: SimTime,
    durable: SimTime,
    service: Span,
    frame: Id<Frame>,
    tag: u32,
    lost: u32,
    told: bool,
}

/// A request all of whose pages are acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// Which request, as its opener numbered it.
    pub tag: u32,
    /// Its join: its contents can be taken until it is closed for good.
    pub join: Id<Join>,
    /// When the caller may go on; may lie ahead.
    pub acknowledged: SimTime,
    /// Time spent being served, waiting excluded, along the longest of its parts.
    pub service: Span,
    /// Pages that nothing below could bring back.
    pub lost: u32,
}

/// A page that is written in part.
#[derive(Clone, Copy, Debug)]
pub struct Merge {
    /// Which page.
    pub page: Page,
    /// Sectors of it that must be read.
    pub old_sectors: u16,
    /// Sectors that are then written, 0 for all.
    pub all_sectors: u16,
}

/// A plan under way that needs more than its caller's counter.
#[derive(Debug, Default)]
struct Frame {
    node: NodeId,
    join: Id<Join>,
    caller: Ticket,
    command: Command,
    steps: Vec<Step>,
    /// The first place of each step among the join's pages.
    bases: Vec<u32>,
    next: usize,
    key: Option<Key>,
    release: Release,
    tell: Tell,
    /// Pages whose acknowledgement the caller still waits for.
    unacknowledged: u32,
    /// With [`Tell::First`], the pages each step still misses and when its last known one is acknowledged.
    per_step: Vec<(u32, SimTime)>,
    acknowledged: SimTime,
    told: bool,
    has_later: bool,
    background: bool,
    service: Span,
    /// The failed steps that this plan makes good for, the last one first wanted.
    failed: Vec<Step>,
    /// Continuations that still name this frame.
    due: u8,
    over: bool,
}

/// A page of a leaf that could not be read, on its way up.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedPage {
    child: NodeId,
    page: Page,
    ticket: Ticket,
    flags: Flags,
}

/// What is due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Stage(u32),
    First(u32),
    Over(u32),
    Wake(NodeId),
    Idle(NodeId),
}

/// When a scheme is next to be asked for background work.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    wake_at: SimTime,
    armed: bool,
    idle_armed: bool,
}

/// The executor: a tree of schemes over leaves, and everything under way in it.
#[derive(Debug)]
pub struct Engine<S, C> {
    schemes: Vec<Option<S>>,
    shape: Vec<Shape>,
    alarms: Vec<Alarm>,
    parked: Vec<VecDeque<(Command, Ticket)>>,
    parked_total: usize,
    joins: Arena<Join>,
    frames: Arena<Frame>,
    /// The pages of each join, and the two sums of each frame; untouched where contents are nothing.
    regions: Vec<Vec<C>>,
    sums: Vec<[Vec<C>; 2]>,
    locks: Locks,
    /// Pages that are being merged.
    merging: u32,
    due: Deadlines<Due>,
    finished: Vec<Finished>,
    plans: Vec<Plan>,
    /// What the plan that is about to start makes good for.
    repairing: Vec<Step>,
    inbox: Vec<Done<C>>,
    foreground: u32,
    /// Requests opened so far: the age of the next.
    opened: u32,
    idle_since: SimTime,
    watches_idle: bool,
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// An engine over `tree`.
    #[must_use]
    pub fn new(tree: Tree<S>) -> Self {
        let mut engine = Engine {
            schemes: Vec::new(),
            shape: Vec::new(),
            alarms: Vec::new(),
            parked: Vec::new(),
            parked_total: 0,
            joins: Arena::default(),
            frames: Arena::default(),
            regions: Vec::new(),
            sums: Vec::new(),
            locks: Locks::default(),
            merging: 0,
            due: Deadlines::default(),
            finished: Vec::new(),
            plans: Vec::new(),
            repairing: Vec::new(),
            inbox: Vec::new(),
            foreground: 0,
            opened: 0,
            idle_since: SimTime::ZERO,
            watches_idle: false,
        };
        engine.plant(tree, None);
        engine.watches_idle = engine.schemes.iter().flatten().any(|s| s.rhythm().idle_after.is_some());
        engine
    }

    fn plant(&mut self, tree: Tree<S>, parent: Option<(NodeId, Member)>) -> NodeId {
        let id = NodeId(u16::try_from(self.shape.len()).expect("fewer than 65,536 nodes"));
        let (scheme, leaf, members) = match tree {
            Tree::Leaf(leaf) => (None, Some(leaf), Vec::new()),
            Tree::Node(scheme, members) => (Some(scheme), None, members),
        };
        self.schemes.push(scheme);
        self.shape.push(Shape { children: Vec::new(), leaf, parent, alive: true });
        self.alarms.push(Alarm { wake_at: SimTime::ZERO, armed: false, idle_armed: false });
        self.parked.push(VecDeque::new());
        for (index, member) in members.into_iter().enumerate() {
            let member_number = Member(u8::try_from(index).expect("fewer than 256 members"));
            let child = self.plant(member, Some((id, member_number)));
            self.shape[id.index()].children.push(child);
        }
        id
    }

    /// The scheme at a node.
    #[must_use]
    pub fn scheme(&self, node: NodeId) -> Option<&S> {
        self.schemes[node.index()].as_ref()
    }

    // ---------------------------------------------------------------- requests

    /// Opens a request of `pages` pages, known to the caller as `tag`.
    #[inline]
    pub fn open(&mut self, tag: u32, pages: u32) -> Ticket {
        let join = self.claim_join(pages as usize);
        let this = &mut self.joins[join];
        *this = Join { unacknowledged: 1, undurable: 1, tag, ..Join::default() };
        self.foreground += 1;
        self.opened = self.opened.wrapping_add(1);
        Ticket { owner: join, slot: 0, age: self.opened }
    }

    /// The pages of a request: contents to be written before it is submitted, contents read once it is finished.
    /// Empty where contents are nothing.
    pub fn pages(&mut self, owner: Id<Join>) -> &mut [C] {
        if C::KEEP { &mut self.regions[owner.index()] } else { &mut [] }
    }

    /// More pages for an open request, with these contents; the place of the first. Where contents are nothing,
    /// places do not matter.
    #[inline]
    pub fn extend(&mut self, request: Ticket, contents: impl Iterator<Item = C>) -> Ticket {
        if !C::KEEP {
            return request;
        }
        let region = &mut self.regions[request.owner.index()];
        let slot = region.len() as u32;
        region.extend(contents);
        Ticket { slot, ..request }
    }

    /// Gives a command of an open request to the tree. Pages that are being merged are asked for when that is done.
    #[inline]
    pub fn submit<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, command: Command, ticket: Ticket) {
        if self.merging == 0 {
            return self.dispatch(leaves, now, NodeId(0), command, ticket);
        }
        for n in 0..command.count {
            let page = command.start.plus(u32::from(n));
            let (piece, ticket) = (command.over(page, 1), ticket.plus(u32::from(n)));
            if self.locks.queue(HOST, Key(u64::from(page.0)), Waiting::Command(piece, ticket)) {
                self.account(ticket.owner, 1);
            } else {
                self.dispatch(leaves, now, NodeId(0), piece, ticket);
            }
        }
    }

    /// Writes a page of which only a part is new: reads the old part (cause `update`), then writes old and new
    /// together. The page is kept from others until the write has been submitted. Its contents are handed in as
    /// the difference to what is expected to be read.
    pub fn merge<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, merge: Merge, ticket: Ticket) {
        self.account(ticket.owner, 1);
        let key = Key(u64::from(merge.page.0));
        if self.locks.queue(HOST, key, Waiting::Merge(merge, ticket)) {
            return;
        }
        self.locks.take(HOST, key);
        self.merging += 1;
        let one = |verb, sectors| Command { sectors, ..Command::new(verb, merge.page, 1) };
        let mut plan = self.plans.pop().unwrap_or_default();
        plan.clear();
        plan.release = Release::Submitted;
        plan.push(Step::new(Member(0), one(Verb::Read, merge.old_sectors).because(Cause::Update), 0));
        let mut write = one(Verb::Write, merge.all_sectors);
        write.flags = Flags::OLD_IN_HAND;
        plan.push(Step::new(Member(0), write, 0).stage(1));
        self.start(leaves, now, HOST, one(Verb::Write, 0), &mut plan, Some(key), ticket);
        self.plans.push(plan);
    }

    /// Everything of the request has been submitted.
    #[inline]
    pub fn close<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, ticket: Ticket) {
        self.settle(leaves, now);
        self.add(ticket.owner, 1, Part::Both, now, now, Span::ZERO, 0);
    }

    /// Requests that have been acknowledged since the last call; the caller hands each back with
    /// [`Engine::forget`] after it has looked at its pages.
    pub fn finished(&mut self) -> &mut Vec<Finished> {
        &mut self.finished
    }

    /// The caller is through with a finished request.
    #[inline]
    pub fn forget(&mut self, join: Id<Join>) {
        let this = &mut self.joins[join];
        this.tag = u32::MAX;
        if this.undurable == 0 {
            self.joins.release(join);
        }
    }

    // ---------------------------------------------------------------- time

    /// When the engine itself next has something to do.
    #[must_use]
    #[inline]
    pub fn next_due(&self) -> SimTime {
        self.due.next()
    }

    /// Does what is due by `now`, and takes in what the leaves have done.
    pub fn advance<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        while let Some(due) = self.due.pop_due(now) {
            match due {
                Due::Stage(frame) => self.arrive(leaves, now, Id::new(frame), Self::run_stage),
                Due::First(frame) => self.arrive(leaves, now, Id::new(frame), Self::first),
                Due::Over(frame) => self.arrive(leaves, now, Id::new(frame), Self::over),
                Due::Wake(node) => self.wake(leaves, now, node),
                Due::Idle(node) => self.idle(leaves, now, node),
            }
        }
        self.settle(leaves, now);
    }

    /// Takes in what the leaves have done.
    #[inline]
    pub fn settle<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        while !leaves.done().is_empty() {
            std::mem::swap(leaves.done(), &mut self.inbox);
            for at in 0..self.inbox.len() {
                let done = self.inbox[at];
                self.complete(leaves, now, done);
            }
            self.inbox.clear();
        }
        if self.parked_total > 0 {
            self.retry(leaves, now);
        }
    }

    // ---------------------------------------------------------------- failures and background

    /// A leaf or a whole subtree stops answering, or answers again.
    pub fn change<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId, change: Change) {
        self.shape[node.index()].alive = change != Change::Failed;
        if let Some((parent, member)) = self.shape[node.index()].parent {
            self.schemes[parent.index()].as_mut().expect("parents are schemes").member(member, change);
        }
        self.settle(leaves, now);
    }

    /// Asks the scheme at `node` for one piece of background work; false where it has none.
    pub fn background<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId, why: Why) -> bool {
        let mut plan = self.plans.pop().unwrap_or_default();
        plan.clear();
        let view = View { shape: &self.shape, node, below: &*leaves, locks: &self.locks };
        let scheme = self.schemes[node.index()].as_mut().expect("leaves have no background of their own");
        let work = scheme.background(why, &view, &mut plan);
        if work {
            if let Some(key) = plan.hold {
                self.locks.take(node, key);
            }
            let pages = plan.steps.iter().filter(|s| s.at != Step::NOWHERE).map(|s| s.at + s.command.count);
            let command =
                Command { count: pages.max().unwrap_or(0), flags: Flags::BACKGROUND, ..Command::default() };
            let key = plan.hold;
            let caller = Ticket { age: self.opened, ..Ticket::default() };
            self.start(leaves, now, node, command, &mut plan, key, caller);
            self.settle(leaves, now);
        }
        self.plans.push(plan);
        work
    }

    fn wake<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId) {
        let alarm = &mut self.alarms[node.index()];
        if alarm.wake_at > now {
            self.due.push(alarm.wake_at, Due::Wake(node));
            return;
        }
        alarm.armed = false;
        while self.background(leaves, now, node, Why::Wake) {}
    }

    fn idle<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, node: NodeId) {
        self.alarms[node.index()].idle_armed = false;
        let span = self.schemes[node.index()].as_ref().and_then(|s| s.rhythm().idle_after);
        let Some(span) = span else { return };
        if self.foreground == 0 && self.idle_since + span <= now {
            self.background(leaves, now, node, Why::Idle);
        } else {
            self.watch_idle();
        }
    }

    fn watch_idle(&mut self) {
        if !self.watches_idle || self.foreground > 0 {
            return;
        }
        for node in (0..self.schemes.len() as u16).map(NodeId) {
            let Some(span) = self.schemes[node.index()].as_ref().and_then(|s| s.rhythm().idle_after) else {
                continue;
            };
            let alarm = &mut self.alarms[node.index()];
            if !std::mem::replace(&mut alarm.idle_armed, true) {
                self.due.push(self.idle_since + span, Due::Idle(node));
            }
        }
    }

    // ---------------------------------------------------------------- downwards

    fn dispatch<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        let shape = &self.shape[node.index()];
        if !shape.alive {
            self.account(ticket.owner, u32::from(command.count));
            return self.refuse(leaves, now, node, command, ticket);
        }
        let Some(leaf) = shape.leaf else { return self.enter(leaves, now, node, command, ticket) };
        self.account(ticket.owner, u32::from(command.count));
        let contents = if C::KEEP && command.verb == Verb::Write {
            let first = ticket.slot as usize;
            &self.regions[ticket.owner.index()][first..first + usize::from(command.count)]
        } else {
            &[]
        };
        leaves.submit(now, leaf, &command, ticket, contents);
    }

    /// A command for a member that is gone: what it was to write is gone too (parity keeps it), what it was to
    /// read must come from elsewhere.
    fn refuse<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        for n in 0..u32::from(command.count) {
            let ticket = ticket.plus(n);
            if command.verb == Verb::Read {
                let page = command.start.plus(n);
                self.failed(leaves, now, FailedPage { child: node, page, ticket, flags: command.flags });
            } else {
                leaves.done().push(done_at(ticket, 1, now));
            }
        }
    }

    fn enter<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        ticket: Ticket,
    ) {
        let grain = self.schemes[node.index()].as_ref().expect("an inner node has a scheme").grain();
        let mut start = command.start.0;
        while start < command.end() {
            let end = if grain == u32::MAX {
                command.end()
            } else {
                command.end().min((start / grain + 1) * grain)
            };
            let piece = Command {
                to: command.to.plus(start - command.start.0),
                ..command.over(Page(start), (end - start) as u16)
            };
            self.admit(leaves, now, node, piece, ticket.plus(start - command.start.0));
            start = end;
        }
    }

    fn admit<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: Command,
        ticket: Ticket,
    ) {
        if !self.parked[node.index()].is_empty() || !self.attempt(leaves, now, node, piece, ticket) {
            self.account(ticket.owner, u32::from(piece.count));
            self.parked[node.index()].push_back((piece, ticket));
            self.parked_total += 1;
        }
    }

    /// Plans one piece and starts it, or leaves it behind its stripe; false where the scheme says to wait.
    fn attempt<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: Command,
        ticket: Ticket,
    ) -> bool {
        let scheme = self.schemes[node.index()].as_mut().expect("an inner node has a scheme");
        let lock = scheme.lock(&piece);
        if let Lock::Hold(key) | Lock::Pass(key) = lock
            && self.locks.queue(node, key, Waiting::Command(piece, ticket))
        {
            self.account(ticket.owner, u32::from(piece.count));
            return true;
        }
        let mut plan = self.plans.pop().unwrap_or_default();
        plan.clear();
        let view = View { shape: &self.shape, node, below: &*leaves, locks: &self.locks };
        let verdict = scheme.plan(&piece, &view, &mut plan);
        if verdict == Verdict::Go {
            if let Some(span) = scheme.rhythm().wake_after {
                self.arm_wake(now + span, node);
            }
            let key = if let Lock::Hold(key) = lock { Some(key) } else { None };
            if key.is_none() && plan.is_simple() {
                self.pass_on(leaves, now, node, &piece, &plan, ticket);
            } else {
                self.account(ticket.owner, u32::from(piece.count));
                if let Some(key) = key {
                    self.locks.take(node, key);
                }
                self.start(leaves, now, node, piece, &mut plan, key, ticket);
            }
        }
        self.plans.push(plan);
        verdict == Verdict::Go
    }

    fn arm_wake(&mut self, at: SimTime, node: NodeId) {
        let alarm = &mut self.alarms[node.index()];
        alarm.wake_at = at;
        if !std::mem::replace(&mut alarm.armed, true) {
            self.due.push(at, Due::Wake(node));
        }
    }

    /// A plan of one plain stage: its steps count with the caller.
    #[inline]
    fn pass_on<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        piece: &Command,
        plan: &Plan,
        ticket: Ticket,
    ) {
        for step in &plan.steps {
            let child = self.shape[node.index()].children[usize::from(step.member.0)];
            let mut command = step.command;
            command.flags = command.flags.with(piece.flags);
            self.dispatch(leaves, now, child, command, ticket.plus(u32::from(step.at)));
        }
        if plan.steps.is_empty() {
            self.account(ticket.owner, u32::from(piece.count));
            leaves.done().push(done_at(ticket, u32::from(piece.count), now));
        }
    }

    /// Starts a plan that has a frame of its own: stages, a stripe, sums, or steps that nobody waits for.
    #[allow(clippy::too_many_arguments)]
    fn start<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        node: NodeId,
        command: Command,
        plan: &mut Plan,
        key: Option<Key>,
        caller: Ticket,
    ) {
        let id = self.frames.claim();
        let frame = &mut self.frames[id];
        frame.steps.clear();
        std::mem::swap(&mut frame.steps, &mut plan.steps);
        frame.failed = std::mem::take(&mut self.repairing);
        frame.bases.clear();
        let mut places = 0;
        for step in &frame.steps {
            frame.bases.push(places);
            places += u32::from(step.command.count);
        }
        let awaited = frame.steps.iter().filter(|step| !step.later && step.travels());
        frame.unacknowledged = awaited.map(|step| u32::from(step.command.count)).sum();
        frame.per_step.clear();
        if plan.tell == Tell::First {
            let pages = frame.steps.iter().map(|step| (u32::from(step.command.count), SimTime::ZERO));
            frame.per_step.extend(pages);
        }
        (frame.node, frame.caller, frame.command, frame.key) = (node, caller, command, key);
        (frame.release, frame.tell, frame.next) = (plan.release, plan.tell, 0);
        (frame.acknowledged, frame.service) = (now, Span::ZERO);
        (frame.told, frame.over, frame.due) = (false, false, 0);
        frame.background = !caller.owner.is_some();
        frame.has_later = frame.steps.iter().any(|step| step.later);
        let nobody_awaited = frame.has_later && frame.unacknowledged == 0;
        let join = self.claim_join(places as usize);
        self.joins[join] = Join { frame: id, ..Join::default() };
        self.frames[id].join = join;
        self.lay_out(id);
        if nobody_awaited {
            self.tell(leaves, id, Part::Acknowledged, now);
        }
        self.run_stage(leaves, now, id);
    }

    /// Puts the caller's pages in the places of the steps that write them, and new data into the sums.
    fn lay_out(&mut self, id: Id<Frame>) {
        if !C::KEEP {
            return;
        }
        if self.sums.len() <= id.index() {
            self.sums.resize_with(id.index() + 1, Default::default);
        }
        let frame = &self.frames[id];
        let rows = frame.steps.iter().map(|s| usize::from(s.row) + usize::from(s.command.count));
        let rows = rows.max().unwrap_or(0);
        for sum in &mut self.sums[id.index()] {
            sum.clear();
            sum.resize(rows, C::default());
        }
        for at in 0..frame.steps.len() {
            let step = frame.steps[at];
            if step.command.verb != Verb::Write || step.at == Step::NOWHERE || frame.background {
                continue;
            }
            for n in 0..usize::from(step.command.count) {
                let from = frame.caller.slot as usize + usize::from(step.at) + n;
                let contents = self.regions[frame.caller.owner.index()][from];
                self.regions[frame.join.index()][frame.bases[at] as usize + n] = contents;
                fold(&mut self.sums[id.index()], step.role, usize::from(step.row) + n, contents);
            }
        }
    }

    /// Submits the steps of the next stage; with none left, the plan is over.
    fn run_stage<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &self.frames[id];
        let (join, node, flags) = (frame.join, frame.node, frame.command.flags);
        let Some(stage) = frame.steps.get(frame.next).map(|step| step.stage) else {
            return self.finish(leaves, now, id);
        };
        self.joins[join].undurable = 1;
        while let Some(&step) = self.frames[id].steps.get(self.frames[id].next)
            && step.stage == stage
        {
            let at = self.frames[id].next;
            self.frames[id].next += 1;
            let age = self.frames[id].caller.age;
            let ticket = Ticket { owner: join, slot: self.frames[id].bases[at], age };
            self.work_out(id, at);
            if step.travels() {
                let mut command = step.command;
                command.flags = command.flags.with(flags);
                let target = if node == HOST {
                    NodeId(0)
                } else {
                    self.shape[node.index()].children[usize::from(step.member.0)]
                };
                self.dispatch(leaves, now, target, command, ticket);
            }
        }
        let frame = &self.frames[id];
        if frame.release == Release::Submitted && frame.next == frame.steps.len() {
            self.unlock(leaves, now, id);
        }
        self.add(join, 1, Part::Durable, now, now, Span::ZERO, 0);
        if self.joins[join].undurable == 0 {
            self.stage_over(leaves, now, id);
        }
    }

    /// What a step's page is where the sums say so.
    fn work_out(&mut self, id: Id<Frame>, at: usize) {
        if !C::KEEP {
            return;
        }
        let step = self.frames[id].steps[at];
        if self.frames[id].background && step.at != Step::NOWHERE && step.command.verb == Verb::Write {
            self.copy_within(id, at);
        }
        let frame = &self.frames[id];
        for n in 0..usize::from(step.command.count) {
            let row = usize::from(step.row) + n;
            let [p, q] = &self.sums[id.index()];
            let contents = match step.role {
                Role::P if step.command.verb == Verb::Write => p[row],
                Role::Q if step.command.verb == Verb::Write => q[row],
                Role::Lost(index) => solve(&frame.steps, index, p[row], q[row]),
                _ => continue,
            };
            self.regions[frame.join.index()][frame.bases[at] as usize + n] = contents;
        }
    }

    /// In the background, a write takes what an earlier read of the same place brought.
    fn copy_within(&mut self, id: Id<Frame>, at: usize) {
        let frame = &self.frames[id];
        let step = frame.steps[at];
        for n in 0..step.command.count {
            let source = frame.steps[..at].iter().zip(&frame.bases).find(|(s, _)| {
                s.command.verb == Verb::Read
                    && s.at != Step::NOWHERE
                    && (s.at..s.at + s.command.count).contains(&(step.at + n))
            });
            if let Some((s, &base)) = source {
                let region = &mut self.regions[frame.join.index()];
                let contents = region[base as usize + usize::from(step.at + n - s.at)];
                region[frame.bases[at] as usize + usize::from(n)] = contents;
                fold(&mut self.sums[id.index()], step.role, usize::from(step.row + n), contents);
            }
        }
    }

    // ---------------------------------------------------------------- upwards

    #[inline]
    fn account(&mut self, owner: Id<Join>, pages: u32) {
        let join = &mut self.joins[owner];
        join.unacknowledged += pages;
        join.undurable += pages;
    }

    fn unaccount(&mut self, owner: Id<Join>, pages: u32) {
        let join = &mut self.joins[owner];
        join.unacknowledged -= pages;
        join.undurable -= pages;
    }

    fn complete<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, done: Done<C>) {
        let owner = done.ticket.owner;
        if let Some((leaf, page)) = done.failed {
            let child =
                self.shape.iter().position(|shape| shape.leaf == Some(leaf)).expect("a leaf of the tree");
            let child = NodeId(child as u16);
            return self.failed(
                leaves,
                now,
                FailedPage { child, page, ticket: done.ticket, flags: Flags::NONE },
            );
        }
        let frame = self.joins[owner].frame;
        if frame.is_some() {
            self.receive(leaves, now, frame, &done);
        } else if C::KEEP && done.pages == 1 && done.part != Part::Durable {
            // Of a request only reads bring contents; a write's page keeps what was written.
            if let Some(place) = self.regions[owner.index()].get_mut(done.ticket.slot as usize)
                && done.contents != C::default()
            {
                *place = done.contents;
            }
        }
        self.add(owner, done.pages, done.part, done.acknowledged, done.durable, done.service, 0);
        if frame.is_some() && self.joins[owner].undurable == 0 {
            self.stage_over(leaves, now, frame);
        }
    }

    /// Counts pages off a join; a request whose last page is acknowledged is finished.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn add(
        &mut self,
        owner: Id<Join>,
        pages: u32,
        part: Part,
        acknowledged: SimTime,
        durable: SimTime,
        service: Span,
        lost: u32,
    ) {
        let join = &mut self.joins[owner];
        join.lost += lost;
        if part != Part::Durable {
            join.acknowledged = join.acknowledged.max(acknowledged);
            join.service = join.service.max(service);
            if !join.frame.is_some() {
                join.unacknowledged -= pages;
            }
        }
        if part != Part::Acknowledged {
            join.durable = join.durable.max(durable);
            join.undurable -= pages;
        }
        if join.frame.is_some() {
            return;
        }
        if join.unacknowledged == 0 && !std::mem::replace(&mut join.told, true) {
            let (tag, acknowledged, service, lost) = (join.tag, join.acknowledged, join.service, join.lost);
            self.finished.push(Finished { tag, join: owner, acknowledged, service, lost });
            self.foreground -= 1;
            self.idle_since = self.idle_since.max(acknowledged);
            self.watch_idle();
        } else if join.undurable == 0 && join.told && join.tag == u32::MAX {
            self.joins.release(owner);
        }
    }

    /// Pages of a frame's step are done: contents to their places and sums, acknowledgements counted.
    fn receive<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>, done: &Done<C>) {
        let needs_step = C::KEEP || self.frames[id].tell == Tell::First || self.frames[id].steps.len() > 1;
        let at = if needs_step {
            self.frames[id].bases.partition_point(|&base| base <= done.ticket.slot) - 1
        } else {
            0
        };
        self.take_in(id, at, done);
        if done.part == Part::Durable {
            return;
        }
        let frame = &mut self.frames[id];
        if frame.tell == Tell::First {
            let (left, acknowledged) = &mut frame.per_step[at];
            *left -= done.pages;
            *acknowledged = (*acknowledged).max(done.acknowledged);
            if *left == 0 {
                let when = *acknowledged;
                self.later(leaves, now, when, id, Due::First(id.raw()), Self::first);
            }
        } else if !frame.steps[at].later {
            frame.acknowledged = frame.acknowledged.max(done.acknowledged);
            frame.unacknowledged -= done.pages;
            let early = frame.has_later || done.part == Part::Acknowledged;
            if frame.unacknowledged == 0 && early && !frame.told {
                self.tell(leaves, id, Part::Acknowledged, done.acknowledged);
            }
        }
    }

    fn take_in(&mut self, id: Id<Frame>, at: usize, done: &Done<C>) {
        if !C::KEEP || done.part == Part::Durable {
            return;
        }
        let frame = &self.frames[id];
        let step = frame.steps[at];
        if step.command.verb != Verb::Read {
            return;
        }
        let n = (done.ticket.slot - frame.bases[at]) as usize;
        fold(&mut self.sums[id.index()], step.role, usize::from(step.row) + n, done.contents);
        let region = &mut self.regions[frame.join.index()];
        region[done.ticket.slot as usize] = done.contents;
        let merges = frame.command.verb == Verb::Write && step.role == Role::Plain && !frame.background;
        if merges && step.at != Step::NOWHERE {
            for (other, &base) in frame.steps.iter().zip(&frame.bases).skip(at + 1) {
                if other.command.verb == Verb::Write && other.at == step.at {
                    let place = base as usize + n;
                    region[place] = region[place].plus(1, done.contents);
                }
            }
        }
    }

    /// All steps submitted so far are durable: on to the next stage when that is so.
    fn stage_over<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let frame = &mut self.frames[id];
        let join = &mut self.joins[frame.join];
        frame.service += std::mem::take(&mut join.service);
        let when = join.durable;
        if frame.next < frame.steps.len() {
            self.later(leaves, now, when, id, Due::Stage(id.raw()), Self::run_stage);
        } else {
            self.finish(leaves, now, id);
        }
    }

    /// Every step is done: the caller is told, and once that is durable the stripe is let go.
    fn finish<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let durable = self.joins[self.frames[id].join].durable.max(now);
        let frame = &mut self.frames[id];
        if !frame.told && frame.tell == Tell::First {
            frame.acknowledged = frame.per_step.iter().map(|&(_, at)| at).min().unwrap_or(now);
        }
        let part = if frame.told { Part::Durable } else { Part::Both };
        self.tell(leaves, id, part, durable);
        self.later(leaves, now, durable, id, Due::Over(id.raw()), Self::over);
    }

    /// The caller may go on: the first step of a plan that waits for one only is acknowledged.
    fn first<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        if !self.frames[id].told {
            self.frames[id].acknowledged = now;
            self.tell(leaves, id, Part::Acknowledged, now);
        }
    }

    /// Tells the caller of a plan, and hands up what it read.
    fn tell<L: Leaves<C>>(&mut self, leaves: &mut L, id: Id<Frame>, part: Part, durable: SimTime) {
        let frame = &mut self.frames[id];
        frame.told = true;
        if frame.background {
            return;
        }
        let service = frame.service;
        let done = Done {
            acknowledged: frame.acknowledged,
            durable,
            service,
            part,
            ..done_at(frame.caller, 1, durable)
        };
        if frame.command.verb != Verb::Read {
            leaves.done().push(Done { pages: u32::from(frame.command.count), ..done });
            return;
        }
        let (join, caller) = (frame.join, frame.caller);
        for n in 0..frame.command.count {
            let contents = self.read_for_caller(id, n);
            leaves.done().push(Done { ticket: caller.plus(u32::from(n)), contents, ..done });
        }
        let lost = std::mem::take(&mut self.joins[join].lost);
        self.joins[caller.owner].lost += lost;
    }

    fn read_for_caller(&self, id: Id<Frame>, n: u16) -> C {
        if !C::KEEP {
            return C::default();
        }
        let frame = &self.frames[id];
        let steps = frame.steps.iter().zip(&frame.bases);
        let mut covering = steps.filter(|(s, _)| {
            s.at != Step::NOWHERE
                && s.command.verb == Verb::Read
                && (s.at..s.at + s.command.count).contains(&n)
        });
        let found = covering.next();
        found.map_or(C::default(), |(s, &base)| {
            self.regions[frame.join.index()][base as usize + usize::from(n - s.at)]
        })
    }

    /// The plan is durable: its stripe is free, its frame is gone.
    fn over<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        self.frames[id].over = true;
        self.unlock(leaves, now, id);
        let frame = &self.frames[id];
        let (node, background) = (frame.node, frame.background);
        if background && node != HOST && self.foreground == 0 && self.watches_idle {
            self.idle_since = self.idle_since.max(now);
            let alarm = &mut self.alarms[node.index()];
            if !std::mem::replace(&mut alarm.idle_armed, true) {
                self.due.push(now, Due::Idle(node));
            }
        }
        self.bury(id);
    }

    fn bury(&mut self, id: Id<Frame>) {
        let frame = &self.frames[id];
        if frame.over && frame.due == 0 {
            self.joins.release(frame.join);
            self.frames.release(id);
        }
    }

    fn unlock<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, id: Id<Frame>) {
        let node = self.frames[id].node;
        let Some(key) = self.frames[id].key.take() else { return };
        if node == HOST {
            self.merging -= 1;
        } else {
            self.schemes[node.index()].as_mut().expect("a stripe belongs to a scheme").settled(key);
        }
        let mut waiting = self.locks.free(node, key);
        while let Some(next) = waiting.pop_front() {
            // Whoever takes the stripe again has the rest behind it.
            if self.locks.queue(node, key, next) {
                continue;
            }
            match next {
                Waiting::Command(piece, ticket) => {
                    self.unaccount(ticket.owner, u32::from(piece.count));
                    if node == HOST {
                        self.dispatch(leaves, now, NodeId(0), piece, ticket);
                    } else {
                        self.admit(leaves, now, node, piece, ticket);
                    }
                }
                Waiting::Merge(merge, ticket) => {
                    self.unaccount(ticket.owner, 1);
                    self.merge(leaves, now, merge, ticket);
                }
                Waiting::Repair(failed) => self.failed(leaves, now, failed),
            }
        }
        self.locks.recycle(waiting);
    }

    /// A page could not be read: the nearest node that has it otherwise brings it; where none has, it is lost.
    fn failed<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime, what: FailedPage) {
        let FailedPage { child, page, ticket, flags } = what;
        let Some((node, member)) = self.shape[child.index()].parent else {
            self.joins[ticket.owner].lost += 1;
            leaves.done().push(done_at(ticket, 1, now));
            return;
        };
        let frame = self.joins[ticket.owner].frame;
        let own = frame.is_some() && self.frames[frame].node == node;
        let scheme = self.schemes[node.index()].as_mut().expect("parents are schemes");
        // Inside a plan that has the stripe already, the repair belongs to it.
        let key =
            if own && self.frames[frame].key.is_some() { None } else { scheme.repair_key(member, page) };
        if let Some(key) = key
            && self.locks.queue(node, key, Waiting::Repair(what))
        {
            return;
        }
        let step = if own {
            let at = self.frames[frame].bases.partition_point(|&base| base <= ticket.slot) - 1;
            let step = self.frames[frame].steps[at];
            Step { command: step.command.over(page, 1), ..step }
        } else {
            Step::new(member, Command { flags, ..Command::new(Verb::Read, page, 1) }, 0)
        };
        let mut failed = if own { self.frames[frame].failed.clone() } else { Vec::new() };
        failed.push(step);
        let mut plan = self.plans.pop().unwrap_or_default();
        plan.clear();
        let view = View { shape: &self.shape, node, below: &*leaves, locks: &self.locks };
        match scheme.repair(&failed, &view, &mut plan) {
            Outcome::Planned => {
                if let Some(key) = key {
                    self.locks.take(node, key);
                }
                self.repairing = failed;
                self.start(leaves, now, node, step.command, &mut plan, key, ticket);
            }
            Outcome::Lost => match scheme.owner(member, page) {
                Some(page) if !own => self.failed(leaves, now, FailedPage { child: node, page, ..what }),
                _ => {
                    self.joins[ticket.owner].lost += 1;
                    leaves.done().push(done_at(ticket, 1, now));
                }
            },
        }
        self.plans.push(plan);
    }

    /// Asks again for whoever was told to wait, in order, and presses their scheme to make room.
    fn retry<L: Leaves<C>>(&mut self, leaves: &mut L, now: SimTime) {
        for node in (0..self.parked.len() as u16).map(NodeId) {
            while let Some(&(piece, ticket)) = self.parked[node.index()].front() {
                self.unaccount(ticket.owner, u32::from(piece.count));
                if self.attempt(leaves, now, node, piece, ticket) {
                    self.parked[node.index()].pop_front();
                    self.parked_total -= 1;
                } else {
                    self.account(ticket.owner, u32::from(piece.count));
                    if !self.background(leaves, now, node, Why::Pressed) {
                        break;
                    }
                }
            }
        }
    }

    // ---------------------------------------------------------------- small things

    fn claim_join(&mut self, pages: usize) -> Id<Join> {
        let join = self.joins.claim();
        if C::KEEP {
            if self.regions.len() <= join.index() {
                self.regions.resize_with(join.index() + 1, Vec::new);
            }
            let region = &mut self.regions[join.index()];
            region.clear();
            region.resize(pages, C::default());
        }
        join
    }

    /// Does something for a frame at `when`: at once where that is now.
    fn later<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        when: SimTime,
        id: Id<Frame>,
        due: Due,
        what: fn(&mut Self, &mut L, SimTime, Id<Frame>),
    ) {
        if when > now {
            self.frames[id].due += 1;
            self.due.push(when, due);
        } else {
            what(self, leaves, now, id);
        }
    }

    fn arrive<L: Leaves<C>>(
        &mut self,
        leaves: &mut L,
        now: SimTime,
        id: Id<Frame>,
        what: fn(&mut Self, &mut L, SimTime, Id<Frame>),
    ) {
        self.frames[id].due -= 1;
        if self.frames[id].over {
            self.bury(id);
        } else {
            what(self, leaves, now, id);
        }
    }

    /// Nothing is under way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.joins.live() == 0 && self.frames.live() == 0 && self.parked_total == 0
    }
}

/// The node above the root: plans that the host makes itself.
const HOST: NodeId = NodeId(u16::MAX);

fn done_at<C: Contents>(ticket: Ticket, pages: u32, now: SimTime) -> Done<C> {
    Done {
        ticket,
        pages,
        part: Part::Both,
        acknowledged: now,
        durable: now,
        service: Span::ZERO,
        contents: C::default(),
        failed: None,
    }
}

/// Adds a page to the sums of its row.
fn fold<C: Contents>(sums: &mut [Vec<C>; 2], role: Role, row: usize, contents: C) {
    let [p, q] = sums;
    match role {
        Role::Data(index) => {
            p[row] = p[row].plus(1, contents);
            q[row] = q[row].plus(gf::coefficient(index), contents);
        }
        Role::P => p[row] = p[row].plus(1, contents),
        Role::Q => q[row] = q[row].plus(1, contents),
        Role::Plain | Role::Lost(_) => {}
    }
}

/// Data page `index` from the sums of everything else: with P read and one page lost P itself is it; with only Q
/// read, Q / gⁱ; with two lost and both parities read, (Q + gʲP) / (gⁱ + gʲ).
fn solve<C: Contents>(steps: &[Step], index: u8, p: C, q: C) -> C {
    let read = |role| steps.iter().any(|s| s.role == role && s.command.verb == Verb::Read);
    let other = steps.iter().find_map(|s| match s.role {
        Role::Lost(other) if other != index => Some(other),
        _ => None,
    });
    let own = gf::coefficient(index);
    match other {
        None if read(Role::P) => p,
        None => C::default().plus(gf::inverse(own), q),
        Some(other) => {
            let other = gf::coefficient(other);
            let both = q.plus(other, p);
            C::default().plus(gf::inverse(own ^ other), both)
        }
    }
}
