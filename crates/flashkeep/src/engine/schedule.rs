//! Due work, and when schemes are asked for background work: after a timer, in idle time, or to rebuild.

use super::nodes::Nodes;
use super::ports::PortId;
use super::rebuild::{ArrayController, RebuildProgress};
use super::scheme::{Capabilities, Scheme, Triggers};
use super::tree::NodeId;
use crate::kernel::{Deadlines, SimTime, Span};

/// Work that is due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    Stage(u32),
    First(u32),
    Over(u32),
    Wake(NodeId),
    Idle(NodeId),
    Rebuild(NodeId),
    Recovered,
    Port(u16),
    WriteBack(u16),
    /// Something at the host's port.
    Host,
}

impl Due {
    /// A port may write back.
    pub(super) fn write_back(port: u16) -> Due {
        if port == PortId::HOST.0 { Due::Host } else { Due::WriteBack(port) }
    }
}

/// Due work, when to ask each scheme for background work next, and since when there are no requests.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(super) due: Deadlines<Due>,
    /// Requests that are not acknowledged yet.
    pub(super) foreground: u32,
    idle_since: SimTime,
    alarms: Vec<Alarm>,
    /// The nodes whose schemes use idle time.
    idlers: Vec<NodeId>,
    /// No more pieces of a rebuild begin.
    rebuilds_stopped: bool,
    progress: RebuildProgress,
    /// Pieces of rebuilds that have ended, those of a recovery left out.
    pieces: u64,
    /// Whether parity computations, links and caches take no time.
    pub untimed: bool,
}

/// When to ask a scheme for background work next. A deadline that was moved is detected when it expires, so that moving
/// it is a single store.
#[derive(Clone, Copy, Debug, Default)]
struct Alarm {
    triggers: Triggers,
    wake_at: SimTime,
    wake_armed: bool,
    idle_armed: bool,
    /// Whether the scheme needs no calls but `plan` while no part has failed.
    stateless: bool,
    /// The number of background plans under way.
    working: u32,
    /// The number of sequences of rebuild pieces.
    rebuilders: u32,
}

impl Schedule {
    pub(super) fn new<S: Scheme>(schemes: &[Option<S>]) -> Self {
        let alarm = |scheme: &Option<S>| {
            let Capabilities { triggers, stateless, .. } =
                scheme.as_ref().map(Scheme::capabilities).unwrap_or_default();
            Alarm { triggers, stateless, ..Alarm::default() }
        };
        let alarms: Vec<_> = schemes.iter().map(alarm).collect();
        let idlers = (0..alarms.len()).filter(|&node| alarms[node].triggers.idle_after.is_some());
        Schedule {
            due: Deadlines::default(),
            foreground: 0,
            idle_since: SimTime::ZERO,
            idlers: idlers.map(|node| NodeId(node as u16)).collect(),
            alarms,
            rebuilds_stopped: false,
            progress: RebuildProgress::default(),
            pieces: 0,
            untimed: false,
        }
    }

    /// After a power loss nothing is due.
    pub(super) fn restart<S: Scheme>(&mut self, schemes: &[Option<S>]) {
        *self = Schedule { untimed: self.untimed, ..Schedule::new(schemes) };
    }

    fn alarm(&mut self, node: NodeId) -> &mut Alarm {
        &mut self.alarms[node.index()]
    }

    /// Whether the node's scheme needs no calls but `plan` while no part has failed.
    #[inline]
    pub(super) fn is_stateless(&self, node: NodeId) -> bool {
        self.alarms[node.index()].stateless
    }

    // ---------------------------------------------------------------- background work

    /// How many pieces of background work are under way at `node`.
    #[must_use]
    pub fn working(&self, node: NodeId) -> u32 {
        self.alarms[node.index()].working
    }

    /// A background plan begins.
    pub(super) fn begin_work(&mut self, node: NodeId) {
        self.alarm(node).working += 1;
    }

    /// A background plan has ended.
    pub(super) fn end_work(&mut self, node: NodeId) {
        self.alarm(node).working -= 1;
    }

    /// The host asks for something.
    #[inline]
    pub(super) fn begin_foreground(&mut self) {
        self.foreground += 1;
        self.progress.restart();
    }

    /// A request is acknowledged; with none left, idle time begins.
    #[inline]
    pub(super) fn foreground_done(&mut self, acknowledged: SimTime) {
        self.foreground -= 1;
        self.idle_since = self.idle_since.max(acknowledged);
        if self.foreground == 0 && !self.idlers.is_empty() {
            for index in 0..self.idlers.len() {
                self.watch(SimTime::ZERO, self.idlers[index]);
            }
        }
    }

    /// When the idle work of the node may begin.
    fn idle_at(&self, node: NodeId) -> Option<SimTime> {
        self.alarms[node.index()].triggers.idle_after.map(|span| self.idle_since + span)
    }

    /// Arms the node's idle alarm, no earlier than `now`.
    pub(super) fn watch(&mut self, now: SimTime, node: NodeId) {
        let Some(at) = self.idle_at(node) else { return };
        let alarm = &mut self.alarms[node.index()];
        if self.foreground == 0 && !std::mem::replace(&mut alarm.idle_armed, true) {
            self.due.push(at.max(now), Due::Idle(node));
        }
    }

    /// A node's idle alarm goes off: whether there were no requests for its idle time.
    pub(super) fn is_idle(&mut self, now: SimTime, node: NodeId) -> bool {
        self.alarm(node).idle_armed = false;
        if self.foreground > 0 || self.working(node) > 0 {
            return false;
        }
        let is_idle = self.idle_at(node).is_some_and(|at| at <= now);
        if !is_idle {
            self.watch(now, node);
        }
        is_idle
    }

    /// The node has received a command that is not a read: resets its timer.
    pub(super) fn arm_wake(&mut self, now: SimTime, node: NodeId) {
        let alarm = &mut self.alarms[node.index()];
        let Some(span) = alarm.triggers.wake_after else { return };
        if alarm.triggers.from_first && alarm.wake_armed {
            return;
        }
        alarm.wake_at = now + span;
        if !std::mem::replace(&mut alarm.wake_armed, true) {
            self.due.push(now + span, Due::Wake(node));
        }
    }

    /// A node's timer goes off: whether it has not been reset.
    pub(super) fn is_woken(&mut self, now: SimTime, node: NodeId) -> bool {
        let alarm = &mut self.alarms[node.index()];
        alarm.wake_armed = alarm.wake_at > now;
        if alarm.wake_armed {
            self.due.push(alarm.wake_at, Due::Wake(node));
        }
        !alarm.wake_armed
    }

    /// All timers have expired: sets the time back to 0.
    pub(super) fn forget_time(&mut self) {
        self.idle_since = SimTime::ZERO;
        self.alarms.iter_mut().for_each(|alarm| alarm.wake_at = SimTime::ZERO);
    }

    // ---------------------------------------------------------------- rebuilds

    /// Whether a rebuild is in progress.
    #[must_use]
    pub fn is_rebuilding(&self) -> bool {
        self.alarms.iter().any(|alarm| alarm.rebuilders > 0)
    }

    /// Starts rebuilding at `node` if its scheme has pages to rebuild.
    pub(super) fn begin_rebuild<S: Scheme>(&mut self, now: SimTime, node: NodeId, nodes: &Nodes<S>) {
        let ArrayController { rebuild_permille, rebuild_depth, .. } = nodes.controller_of(node);
        let busy = rebuild_permille == 0 || self.alarm(node).rebuilders > 0;
        let stopped = self.has_stopped_rebuilds() && !nodes.is_recovering();
        if busy || stopped || !nodes.has_pieces(node) {
            return;
        }
        self.alarm(node).rebuilders = rebuild_depth;
        (0..rebuild_depth).for_each(|_| self.due.push(now, Due::Rebuild(node)));
    }

    /// A piece that began at `since` has ended: the next one starts after a pause. During a recovery no requests need
    /// the rest of the bandwidth.
    pub(super) fn end_piece<S: Scheme>(
        &mut self,
        now: SimTime,
        node: NodeId,
        since: SimTime,
        nodes: &Nodes<S>,
    ) {
        let recovers = nodes.is_recovering();
        self.pieces += u64::from(!recovers);
        let permille = if recovers { 1000 } else { nodes.controller_of(node).rebuild_permille.min(1000) };
        let share = u64::from(permille);
        let pause = now.since(since).0.saturating_mul(1000 - share) / share;
        self.due.push(now + Span(pause), Due::Rebuild(node));
    }

    /// A sequence of pieces has ended.
    pub(super) fn end_pieces(&mut self, node: NodeId) {
        self.alarm(node).rebuilders -= 1;
    }

    /// No more pieces of a rebuild begin, except those of a recovery from a power loss.
    pub fn stop_rebuilds(&mut self) {
        self.rebuilds_stopped = true;
    }

    /// Whether rebuilds have been stopped.
    #[must_use]
    pub fn has_stopped_rebuilds(&self) -> bool {
        self.rebuilds_stopped || self.progress.is_hopeless()
    }

    /// Nothing but rebuilds is in progress, `missing` pages are missing, and `lost` have been lost so far: no more pieces
    /// begin if that is hopeless.
    pub(super) fn note_progress(&mut self, missing: i64, lost: u64) {
        self.progress.note(missing, lost);
    }

    /// A part has failed, been replaced or returned: rebuilds that were given up may succeed now.
    pub(super) fn forget_progress(&mut self) {
        self.progress.forget();
    }

    /// Whether rebuilds have ended because they were hopeless.
    #[must_use]
    pub fn gave_up_rebuilds(&self) -> bool {
        self.progress.gave_up()
    }

    /// Pieces of rebuilds that have ended: pages of a member, as a rule.
    #[must_use]
    pub fn pieces_rebuilt(&self) -> u64 {
        self.pieces
    }
}
