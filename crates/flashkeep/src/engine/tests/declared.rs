//! A scheme that only declares its stripes: what its pages lack, and how they are repaired, is the engine's.

use super::rig::Rig;
use super::store::Report;
use crate::engine::{
    BackgroundWork, Cause, Codewords, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Protection,
    Recoverable, Role, Scheme, Step, StripeUnit, Token, Verb, View,
};

/// Stripes of two data pages and their XOR, on three members; each page is written once.
#[derive(Debug)]
struct Declared {
    written: [bool; 8],
}

impl Scheme for Declared {
    fn capacity(&self) -> u64 {
        8
    }

    fn grain(&self, _: Verb) -> u32 {
        1
    }

    fn places(&self, page: Page, mut tell: impl FnMut(Member, Page)) {
        tell(Member((page.low() % 2) as u8), Page::of(page.low() / 2));
    }

    fn protection(&self) -> Protection<'_> {
        Protection::Stripes(self)
    }

    fn lock(&self, command: &Command) -> Lock {
        Lock::Hold(Key(u64::from(command.start.low() / 2)))
    }

    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let (stripe, index) = (Page::of(command.start.low() / 2), (command.start.low() % 2) as u8);
        let step = Step::new(Member(index), command.over(stripe, 1), 0);
        if command.verb == Verb::Read {
            plan.push(step);
            return PlanVerdict::Go;
        }
        if self.written[command.start.low() as usize ^ 1] {
            let other = Step::fetch(Member(1 - index), stripe, Role::Data(1 - index), Cause::Parity);
            plan.push(other);
        }
        let stage = u8::from(!plan.steps.is_empty());
        plan.push(step.role(Role::Data(index)).stage(stage));
        plan.push(Step::store(Member(2), stripe, Role::P, Cause::Parity).stage(stage));
        self.written[command.start.low() as usize] = true;
        PlanVerdict::Go
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        (member.0 < 2).then(|| Page::of(page.low() * 2 + u32::from(member.0)))
    }
}

impl BackgroundWork for Declared {}

impl Recoverable for Declared {}

impl Codewords for Declared {
    fn count(&self) -> u32 {
        4
    }

    fn data(&self) -> u8 {
        2
    }

    fn units(&self, stripe: u32, tell: &mut dyn FnMut(StripeUnit)) {
        let page = Page::of(stripe);
        let written = (0..2).filter(|&index| self.written[stripe as usize * 2 + usize::from(index)]);
        let data = written.map(|index| StripeUnit { member: Member(index), page, role: Role::Data(index) });
        let data: Vec<_> = data.collect();
        let parity = (!data.is_empty()).then_some(StripeUnit { member: Member(2), page, role: Role::P });
        data.into_iter().chain(parity).for_each(tell);
    }

    fn stripe_of(&self, _: Member, page: Page) -> Option<u32> {
        Some(page.low())
    }
}

fn rig() -> Rig<Token, Declared> {
    Rig::flat(Declared { written: [false; 8] }, 3, 4, Report::After(10), 0)
}

#[test]
fn a_declared_stripe_is_repaired() {
    let mut rig = rig();
    rig.fill(0, 8);
    (0..3).for_each(|member| rig.store.lose_page(member, u32::from(member)));
    rig.read_all(8);
    assert!(rig.lost.is_empty());
}

/// The first data page of the stripe has contents, the second none: what a member cannot read of that are zeros, and
/// nothing of the first one.
#[test]
fn a_page_that_no_codeword_covers_is_repaired_as_zeros() {
    for failed in [0, 1] {
        let mut rig = rig();
        rig.write(1 - failed, 1);
        rig.run();
        rig.store.lose_page(failed as u16, 0);
        rig.read_all(2);
        assert!(rig.lost.is_empty(), "a known zero is not lost");
    }
}
