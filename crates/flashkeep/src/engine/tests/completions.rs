//! Acknowledged and durable, all and the first, now and later.

use super::*;
use crate::engine::{
    BackgroundWork, Command, Lock, Page, Plan, PlanVerdict, Recoverable, Scheme, Step, Tell, View,
};
use crate::engine::{Change, Verb};

fn told(rig: &Rig<Token>, tag: usize) -> u64 {
    rig.told[tag].expect("told").0.0
}

#[test]
fn stages_wait_for_durable_and_callers_for_acknowledged() {
    let mut rig = raid(5, 1, 4, Report::TwoParts(10, 25), 0);
    rig.fill(0, 16);
    let write = rig.write(0, 1);
    rig.run();
    // Old data and parity are durable at 25; data and parity are acknowledged 10 later, durable at 50.
    assert_eq!((told(&rig, write), rig.now.0), (35, 50));
    assert!(parity_is_right(&rig, 5, 1, 4));
}

#[test]
fn instants_known_ahead_are_told_ahead() {
    let mut rig = raid(5, 1, 4, Report::Ahead(10), 0);
    rig.fill(0, 16);
    let write = rig.write(0, 1);
    assert!(rig.told[write].is_none(), "the second stage is not known yet");
    rig.until(crate::kernel::SimTime(10));
    assert_eq!(told(&rig, write), 20);
    assert!(!rig.engine.work().is_quiet(), "its stripe is not free before 20");
    rig.run();
}

#[test]
fn a_mirror_may_tell_of_all_or_of_the_first() {
    let cases = [Report::Ahead(10), Report::After(10), Report::TwoParts(10, 40)];
    for report in cases {
        for (tell, expected) in [(Tell::All, 30), (Tell::First, 10)] {
            let mut rig: Rig<Token> = Rig::flat(Mirror::new(8, tell).into(), 2, 8, report, 0);
            rig.store.set_report(0, Report::After(30));
            let write = rig.write(3, 2);
            assert!(rig.told[write].is_none() || expected == 10);
            rig.run();
            assert_eq!(told(&rig, write), expected, "{tell:?} {report:?}");
            // The slower copy is known ahead: the faster one is still the first.
            rig.store.set_report(0, Report::Ahead(30));
            let (start, write) = (rig.now.0, rig.write(3, 2));
            rig.run();
            assert_eq!(told(&rig, write) - start, expected, "{tell:?} {report:?}");
        }
    }
}

#[test]
fn a_mirror_reads_where_it_waits_least() {
    let mut store: Store<Token> = Store::new(0);
    let mut inner = || node(Mirror::new(8, Tell::All), 2, &mut store, 8, Report::After(10));
    let members = (0..2).map(|_| inner()).collect();
    let mut rig = Rig::new(Tree::Node(Mirror::new(8, Tell::All).into(), members), store);
    rig.fill(0, 8);
    rig.store.log.clear();
    // The first half is as busy as the less busy of its parts.
    for (backend, ns) in [(0, 50), (1, 30), (2, 90), (3, 20)] {
        rig.store.set_backlog(backend, ns);
    }
    rig.read_all(8);
    assert_eq!(rig.store.count(|backend, _| backend.0 == 3), 8);
    rig.fail(6);
    rig.store.log.clear();
    rig.read_all(8);
    assert_eq!(rig.store.count(|backend, _| backend.0 == 1), 8, "what does not answer is not asked");
}

#[test]
fn a_member_that_is_gone_is_not_the_first() {
    let mut rig: Rig<Token> = Rig::flat(Mirror::new(8, Tell::First).into(), 2, 8, Report::After(10), 0);
    rig.fail(1);
    let write = rig.write(3, 2);
    rig.run();
    assert_eq!(told(&rig, write), 10);
    rig.read_all(8);
    rig.change(2, Change::Failed);
    let (start, write) = (rig.now.0, rig.write(0, 1));
    rig.run();
    assert_eq!(told(&rig, write), start, "no member is left to wait for");
    rig.read_all(8);
    assert_eq!(rig.lost.len(), 8);
}

#[test]
fn nothing_takes_time_before_time_0() {
    for (members, parities) in [(5, 1), (6, 2)] {
        let mut rig = raid(members, parities, 4, Report::TwoParts(10, 20), 0);
        for round in 0..3 {
            rig.fill(round, 9);
            assert!(rig.engine.work().is_quiet() && rig.next() == crate::kernel::SimTime::NEVER);
        }
        assert!(parity_is_right(&rig, members, parities, 4));
    }
}

#[test]
fn a_finished_request_stays_until_it_is_durable() {
    let mut rig: Rig<Token> = Rig::flat(Plain { pages: 8 }.into(), 1, 8, Report::TwoParts(10, 30), 0);
    let write = rig.write(0, 3);
    rig.until(crate::kernel::SimTime(29));
    assert_eq!(told(&rig, write), 10);
    assert!(!rig.engine.work().is_quiet());
    rig.until(crate::kernel::SimTime(30));
    assert!(rig.engine.work().is_quiet());
}

/// Writes to the first member, and to the others later: for the lock's sake only.
#[derive(Debug)]
pub(super) struct Lazy;

impl Scheme for Lazy {
    fn capacity(&self) -> u64 {
        8
    }

    fn lock(&self, command: &Command) -> Lock {
        let key = Key(u64::from(command.start.low()));
        if command.verb == Verb::Read { Lock::Pass(key) } else { Lock::Hold(key) }
    }

    fn plan(&mut self, command: &Command, view: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let writes = command.verb == Verb::Write;
        for member in (0..view.members()).take(if writes { usize::MAX } else { 1 }) {
            let step = Step::new(Member(member), *command, 0);
            plan.push(if member == 0 { step } else { step.later().stage(member) });
        }
        PlanVerdict::Go
    }
}

impl BackgroundWork for Lazy {}

impl Recoverable for Lazy {}

#[test]
fn only_the_stripe_waits_for_later_steps() {
    use crate::engine::{Engine, NodeId};
    use crate::kernel::SimTime;
    let mut store: Store<Token> = Store::new(0);
    let backends = (0..3).map(|_| Tree::Backend(store.add(8, 0, Report::After(10)))).collect();
    let mut engine: Engine<Lazy, Token> = Engine::new(Tree::Node(Lazy, backends));
    let mut run = |verb, engine: &mut Engine<Lazy, Token>, at| {
        let token = engine.open(verb as u32, 1);
        engine.submit(&mut store, SimTime(at), Command::new(verb, Page(0), 1), token.pages());
        engine.close(&mut store, SimTime(at), token);
        let mut told = Vec::new();
        for now in at..at + 100 {
            store.deliver(SimTime(now));
            engine.advance(&mut store, SimTime(now));
            for finished in std::mem::take(engine.work_mut().finished()) {
                told.push((now, finished.acknowledged.0));
                engine.work_mut().forget(finished.counter);
            }
            if verb == Verb::Write && now == at + 10 {
                // The copies are still to come: a command that comes now waits for the stripe.
                assert!(!engine.work().is_quiet());
                let token = engine.open(9, 1);
                engine.submit(&mut store, SimTime(now), Command::new(Verb::Read, Page(0), 1), token.pages());
                engine.close(&mut store, SimTime(now), token);
            }
        }
        assert!(engine.work().is_quiet());
        told
    };
    assert_eq!(run(Verb::Write, &mut engine, 0), [(10, 10), (40, 40)]);
    assert_eq!(run(Verb::Read, &mut engine, 200), [(210, 210)]);
    assert!(engine.tree().scheme(NodeId::ROOT).is_some());
}
