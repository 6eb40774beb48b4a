//! Units of failed members move to spare columns, and back when their members respond again.
//!
//! A stripe's units stay where they are until the move is durable; only then does the layout, which survives a power loss,
//! say otherwise. So a move that is interrupted has not begun. Places that units have left keep outdated versions; known
//! zeros are only moved to a place after that has been trimmed.

use super::Parity;
use super::permuted::{Permuted, Relocation};
use super::stripes::Settling;
use super::update::drop_page;
use crate::engine::{
    Cause, Command, FixedMap, Key, Member, Page, Plan, RepairOutcome, Role, Step, Verb, View,
};
use crate::kernel::{Bits, RebuildQueue};

/// Stripes with units that belong elsewhere.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(in crate::schemes) struct Moves {
    queue: RebuildQueue,
    /// The moves under way, by stripe.
    under_way: FixedMap<u32, Vec<Relocation>>,
    /// Stripes whose last move fell short. They are tried again when something has changed.
    stuck: Bits,
    /// Whether a member that has a spare column responds again.
    returned: bool,
}

impl Moves {
    /// Whether units are moving, or wait to be moved.
    pub(in crate::schemes) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.under_way.is_empty()
    }

    /// Whether units move back to a member that responds again, or have moved back since a member changed last.
    pub(in crate::schemes) fn go_back(&self) -> bool {
        self.returned
    }
}

impl Parity<Permuted> {
    /// The layout.
    pub(in crate::schemes) fn layout(&self) -> &Permuted {
        &self.stripes.layout
    }

    /// Gives a spare column to each failed member that has none, as long as there are any; frees columns that are no longer
    /// needed. Whether any was assigned.
    fn assign_columns(&mut self, moves: &mut Moves, view: &View<'_>) -> bool {
        let layout = &mut self.stripes.layout;
        if moves.under_way.is_empty() {
            layout.release(|member| view.alive(member));
        }
        let failed = (0..view.members()).map(Member).filter(|&member| !view.alive(member));
        // Not short-circuiting: every failed member gets one.
        let assigned = failed.filter(|&member| layout.assign(member)).count();
        if assigned > 0 {
            self.look_for_moves(moves, view);
        }
        assigned > 0
    }

    /// A member has changed: looks at everything again.
    pub(in crate::schemes) fn reconsider_moves(&mut self, moves: &mut Moves, view: &View<'_>) {
        moves.stuck = Bits::default();
        self.assign_columns(moves, view);
        let layout = self.layout();
        let returned = |member| layout.has_column(member) && view.alive(member);
        moves.returned = (0..view.members()).map(Member).any(returned);
        self.look_for_moves(moves, view);
    }

    /// The engine has examined a stripe: looks at it again, and frees columns if that was the last one to move.
    pub(in crate::schemes) fn reconsider_move(&mut self, stripe: u32, moves: &mut Moves, view: &View<'_>) {
        self.look_for_move(stripe, moves, view);
        if moves.is_empty() && self.layout().is_diverted() {
            self.assign_columns(moves, view);
        }
    }

    /// Examines a stripe: whether units of it belong elsewhere.
    fn look_for_move(&self, stripe: u32, moves: &mut Moves, view: &View<'_>) {
        let layout = self.layout();
        let waits = layout.is_diverted()
            && !moves.stuck.has(stripe)
            && !layout.relocations(stripe, |member| view.alive(member)).is_empty();
        moves.queue.set(stripe, waits);
    }

    /// The same for all stripes.
    fn look_for_moves(&self, moves: &mut Moves, view: &View<'_>) {
        (0..self.stripes.count()).for_each(|stripe| self.look_for_move(stripe, moves, view));
    }

    /// After a power loss no moves are under way.
    pub(in crate::schemes) fn recover_moves(&self, moves: &mut Moves, view: &View<'_>) {
        *moves = Moves { returned: moves.returned, ..Moves::default() };
        self.look_for_moves(moves, view);
    }

    /// Moves the units of one stripe; false if there is none with units that can be moved now.
    pub(in crate::schemes) fn move_units(
        &mut self,
        moves: &mut Moves,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> bool {
        loop {
            // Stripes that a plan holds are looked at again when it ends (`reconsider_move`).
            let Some(stripe) = moves.queue.next_idle(|stripe| view.held(Key(stripe))) else {
                if self.assign_columns(moves, view) {
                    continue;
                }
                return false;
            };
            moves.queue.set(stripe, false);
            let stripe = stripe as u32;
            let under_way = self.plan_moves(stripe, view, plan);
            if !plan.steps.is_empty() {
                // Outdated versions take the place of those that a cache loses.
                plan.force();
                plan.hold = Some(Key(u64::from(stripe)));
                moves.under_way.insert(stripe, under_way);
                self.stripes.settling.insert(stripe, Settling::default());
                return true;
            }
        }
    }

    /// Plans the moves of a stripe's units that can be moved. Known zeros with nothing in their new place move at once.
    fn plan_moves(&mut self, stripe: u32, view: &View<'_>, plan: &mut Plan) -> Vec<Relocation> {
        let written = self.stripes.written(stripe);
        let is_zero =
            |role| if let Role::Data(index) = role { !written.has(index) } else { written.is_empty() };
        let mut under_way = Vec::new();
        let (mut copies, mut rebuilds) = (Vec::new(), Vec::new());
        for relocation in self.layout().relocations(stripe, |member| view.alive(member)) {
            let Relocation { unit, from, to, page } = relocation;
            if !is_zero(self.layout().role(unit)) {
                if view.has(from, page) { copies.push(relocation) } else { rebuilds.push(relocation) }
            } else if view.holds(to, page) {
                plan.push(drop_page(to, page));
                under_way.push(relocation);
            } else {
                self.stripes.layout.relocate(stripe, unit, to);
            }
        }
        let target = |role: Role| rebuilds.iter().find(|move_| self.layout().role(move_.unit) == role);
        let word = self.stripes.codeword(stripe).word();
        let at = |role: Role| target(role).map(|relocation| (relocation.to, relocation.page));
        if !rebuilds.is_empty() && word.rebuild_at(view, plan, |unit| at(unit.role)) {
            under_way.extend(rebuilds);
        } else if !copies.is_empty() {
            copy(&copies, plan);
            under_way.extend(copies);
        }
        under_way
    }

    /// A plan that held the stripe is durable: the units that it has moved are in their new places.
    pub(in crate::schemes) fn note_moved(&mut self, stripe: u32, moves: &mut Moves, view: &View<'_>) {
        let relocations = moves.under_way.remove(&stripe);
        if view.fell_short() {
            // If that was a repair of the stripe, it has changed nothing: a stuck move stays stuck, or both would be tried
            // for ever by turns.
            if relocations.is_some() {
                moves.stuck.set(stripe, true);
            }
            return;
        }
        for Relocation { unit, to, page, .. } in relocations.into_iter().flatten() {
            if view.has(to, page) {
                self.stripes.layout.relocate(stripe, unit, to);
            }
        }
        moves.stuck.set(stripe, false);
    }

    /// Plans another read of a page that has moved since the read was submitted; none if it has not.
    pub(in crate::schemes) fn repair_moved(
        &self,
        wanted: &Step,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> Option<RepairOutcome> {
        let (member, page) = (wanted.member, wanted.command.start);
        let (stripe, role) =
            self.layout().wanted(member, page).filter(|&(stripe, _)| stripe < self.stripes.count())?;
        let at = super::StripeSeats::at(self.stripes.seats(stripe), role);
        if at == (member, page) || !view.has(at.0, at.1) {
            return None;
        }
        plan.push(Step::new(at.0, wanted.command.over(at.1, 1), 0));
        Some(RepairOutcome::Planned)
    }
}

/// Reads units where they are and writes them where they belong.
fn copy(copies: &[Relocation], plan: &mut Plan) {
    let command = |verb, page: Page| Command::new(verb, page, 1).because(Cause::Migrate);
    for (at, relocation) in (0..).zip(copies) {
        plan.push(Step::new(relocation.from, command(Verb::Read, relocation.page), at));
    }
    for (at, relocation) in (0..).zip(copies) {
        plan.push(Step::new(relocation.to, command(Verb::Write, relocation.page), at).stage(1));
    }
}
