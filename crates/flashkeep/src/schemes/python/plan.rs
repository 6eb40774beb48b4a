//! Plans of a scheme in a file: what it may look at, and its stages as steps, checked. The role and the cause of a step
//! follow from the place that it reads or writes.

use super::foreign::{ForeignCommand, ForeignError, ForeignStep, ForeignView};
use super::layout::{Place, place};
use super::{Python, Settling, UnitSet};
use crate::engine::{Cause, Command, Flags, Member, Page, Plan, Role, Step, Verb, View};
use crate::schemes::parity::{PlacedStripe, Touch};

/// A checked step: consecutive pages of a member.
struct Asked {
    writes: bool,
    member: Member,
    page: Page,
    count: u16,
}

/// What a plan does with a stripe.
#[derive(Default)]
struct Done {
    /// Data units that are read for the sums, and that are written.
    read: UnitSet,
    written: UnitSet,
    /// Parities that are read, and that are written.
    parities_read: Vec<Role>,
    parities_written: Vec<Role>,
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Read => "read",
        Verb::Trim => "trim",
        Verb::Write | Verb::Remap => "write",
    }
}

fn text((member, page): Place) -> String {
    format!("({}, {})", member.0, page.low())
}

fn listed(pages: impl Iterator<Item = u32>) -> String {
    let pages: Vec<String> = pages.map(|page| page.to_string()).collect();
    if pages.is_empty() { "none".into() } else { pages.join(", ") }
}

impl Python {
    /// What it may look at: of these places and pages.
    fn look(&self, places: &[Place], written: Vec<(u32, bool)>, waits: bool, view: &View<'_>) -> ForeignView {
        let alive = (0..view.members()).map(|member| view.alive(Member(member))).collect();
        let look = |&(member, page): &Place| {
            let backlog = if waits { view.backlog(member, page).0 } else { 0 };
            (member.0, page.low(), view.has(member, page), backlog)
        };
        ForeignView { alive, places: places.iter().map(look).collect(), written }
    }

    /// Its stages for a command, every place of which exists.
    fn ask(&self, asked: &ForeignCommand, look: ForeignView) -> Result<Vec<Vec<Asked>>, ForeignError> {
        let (file, what) = (self.file(), format!("Scheme.plan({asked})"));
        let stages = file.scheme.plan(asked, look)?;
        if stages.len() > 250 {
            return Err(ForeignError::new(format!(
                "{what}: {} stages; at most 250 are accepted",
                stages.len()
            )));
        }
        let check = |step: ForeignStep| {
            let (member, page) = place(file, step.place, &what)?;
            let count = u16::try_from(step.count).ok().filter(|&count| count > 0);
            let count = count.filter(|&count| u64::from(page.low()) + u64::from(count) <= file.pages);
            match count {
                Some(count) => Ok(Asked { writes: step.writes, member, page, count }),
                None => Err(ForeignError::new(format!(
                    "{what}: {} pages from {} on; 1 to {} are accepted",
                    step.count,
                    text((member, page)),
                    (file.pages - u64::from(page.low())).min(u64::from(u16::MAX))
                ))),
            }
        };
        stages.into_iter().map(|stage| stage.into_iter().map(check).collect()).collect()
    }

    // ---------------------------------------------------------------- copies

    /// Plans a command over copies: one stage. A copy that a member lacks is read from the next one.
    pub(super) fn plan_copies(
        &mut self,
        command: &Command,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> Result<(), ForeignError> {
        let pages: Vec<u32> = command.low_pages().collect();
        let copies: Vec<Vec<Place>> =
            pages.iter().map(|&page| self.layout.copies(self.file(), page)).collect::<Result<_, _>>()?;
        let reads = command.verb == Verb::Read;
        let all: Vec<Place> = copies.iter().flatten().copied().collect();
        let holds = |(at, &page): (usize, &u32)| (page, copies[at].iter().any(|&(m, p)| view.holds(m, p)));
        let written = pages.iter().enumerate().map(holds).collect();
        let asked = foreign(command, pages);
        let mut stages = self.ask(&asked, self.look(&all, written, reads, view))?;
        let wrong = |what: String| Err(ForeignError::new(format!("Scheme.plan({asked}): {what}")));
        if stages.len() != 1 {
            return wrong(format!("{} stages; 1 is accepted where copies protect a page", stages.len()));
        }
        let mut done = vec![0_u16; copies.len()];
        for step in stages.remove(0) {
            if step.writes == reads {
                let what = if step.writes { "writes" } else { "reads" };
                return wrong(format!(
                    "{what} {}; a {} is to be planned",
                    text((step.member, step.page)),
                    asked.verb
                ));
            }
            let at = copies.iter().position(|copies| copies.contains(&(step.member, step.page)));
            let of = |n: u16| (step.member, step.page.plus(u32::from(n)));
            let known = |at: usize| {
                (0..step.count)
                    .all(|n| copies.get(at + usize::from(n)).is_some_and(|copies| copies.contains(&of(n))))
            };
            let Some(at) = at.filter(|&at| known(at)) else {
                return wrong(format!(
                    "{} pages from {} on are not copies of consecutive pages of the command",
                    step.count,
                    text(of(0))
                ));
            };
            (at..at + usize::from(step.count)).for_each(|at| done[at] += 1);
            if reads {
                self.read_copies(command, &step, at as u16, &copies, view, plan);
            } else {
                let first = copies[at][0].0 == step.member;
                let command = command.over(step.page, step.count);
                let mirrors = !first && command.cause == Cause::Host;
                let command = if mirrors { command.because(Cause::Mirror) } else { command };
                plan.push(Step::new(step.member, command, at as u16));
            }
        }
        let number = if reads { 1 } else { u16::from(self.layout.others) };
        let Some(at) = done.iter().position(|&done| done != number) else { return Ok(()) };
        let steps = if done[at] == 1 { "step" } else { "steps" };
        let places = copies[at].iter().map(|&place| text(place)).collect::<Vec<_>>().join(", ");
        let (verb, accepted) = if reads { ("read", "from one") } else { ("written", "to each") };
        let page = asked.pages[at];
        wrong(format!(
            "page {page} is {verb} by {} {steps}; one {accepted} of its copies is accepted: {places}",
            done[at]
        ))
    }

    /// Reads copies from a member; one that it lacks from the next member that has it, and one that may be unreadable
    /// from its member, to see whether it is.
    fn read_copies(
        &mut self,
        command: &Command,
        step: &Asked,
        at: u16,
        copies: &[Vec<Place>],
        view: &View<'_>,
        plan: &mut Plan,
    ) {
        let has = |n: u16| view.has(step.member, step.page.plus(u32::from(n)));
        if self.doubts.is_empty() && (view.is_healthy() || (0..step.count).all(has)) {
            return plan.push(Step::new(step.member, command.over(step.page, step.count), at));
        }
        for n in 0..step.count {
            let (number, copies) = (command.start.plus(u32::from(at + n)), &copies[usize::from(at + n)]);
            let on = |member| copies.iter().find(|copy| copy.0 == member).map(|copy| copy.1);
            let doubted = self.doubts.check(number, on, view);
            let wanted = copies.iter().position(|&(member, _)| member == step.member).unwrap_or(0);
            let mut others = copies[wanted..].iter().chain(&copies[..wanted]);
            let having = others
                .find(|&&(member, page)| doubted.map_or(view.has(member, page), |doubted| doubted == member));
            let &(member, page) = having.unwrap_or(&copies[wanted]);
            if member != step.member && command.cause == Cause::Host {
                let lacks = !view.has(step.member, copies[wanted].1);
                plan.rescued += u16::from(lacks && view.holds(member, page));
            }
            plan.push(Step::new(member, command.over(page, 1), at + n));
        }
    }

    // ---------------------------------------------------------------- stripes

    /// Plans a command within a stripe.
    pub(super) fn plan_stripe(
        &mut self,
        command: &Command,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> Result<(), ForeignError> {
        assert!(command.verb != Verb::Remap, "old versions are kept below a parity, not above it");
        let stripe = command.start.low() / self.data();
        let placed = self.layout.stripe(self.file(), stripe)?;
        let first = (command.start.0 - placed.first) as u8;
        let named = UnitSet::range(first, first + command.count as u8);
        let before = self.units_in(&self.written, stripe);
        let touch = match command.verb {
            Verb::Trim => Touch { before, touched: named.within(before), after: before.without(named) },
            _ => Touch { before, touched: named, after: before.with(named) },
        };
        if touch.touched.is_empty() {
            return Ok(());
        }
        let asked = foreign(
            command,
            touch.touched.iter().map(|index| placed.first as u32 + u32::from(index)).collect(),
        );
        let parities = placed.parities.iter().map(|&(_, place)| place);
        let places: Vec<Place> = placed.data.iter().copied().chain(parities).collect();
        let written =
            (0..self.layout.data).map(|index| (placed.first as u32 + u32::from(index), before.has(index)));
        let reads = command.verb == Verb::Read;
        let stages = self.ask(&asked, self.look(&places, written.collect(), reads, view))?;
        let stripe = StripePlan { asked, placed, first, touch, command: *command };
        if reads {
            return stripe.read(&stages, view, plan);
        }
        let done = stripe.write(&stages, view, plan)?;
        stripe.check(&done, view)?;
        let in_stages = plan.steps.last().is_some_and(|step| step.stage > 0);
        self.begin(&stripe.placed, &stripe.touch, in_stages, view.is_healthy());
        Ok(())
    }

    /// Notes what a plan changes: at once where it submits everything at once, else when it is durable.
    fn begin(&mut self, placed: &PlacedStripe, touch: &Touch, in_stages: bool, healthy: bool) {
        if touch.before == touch.after && healthy {
            return;
        }
        let stripe = placed.first as u32 / self.data();
        let trims = !touch.before.without(touch.after).is_empty();
        if in_stages || !healthy {
            self.settling.insert(stripe, Settling { touched: touch.touched, trims, ..Settling::default() });
        } else {
            self.mark(stripe, touch.touched, !trims);
        }
    }
}

/// The command as a file sees it.
fn foreign(command: &Command, pages: Vec<u32>) -> ForeignCommand {
    ForeignCommand {
        verb: verb(command.verb),
        pages,
        update: command.cause == Cause::Update,
        old_in_hand: command.flags.has(Flags::OLD_IN_HAND),
    }
}

/// A command within a stripe.
struct StripePlan {
    asked: ForeignCommand,
    placed: PlacedStripe,
    /// The data unit of the command's first page.
    first: u8,
    touch: Touch,
    command: Command,
}

impl StripePlan {
    fn wrong<T>(&self, what: String) -> Result<T, ForeignError> {
        Err(ForeignError::new(format!("Scheme.plan({}): {what}", self.asked)))
    }

    /// The units that a step reads or writes.
    fn units(&self, step: &Asked) -> Result<Vec<(Role, Place)>, ForeignError> {
        let places = (0..step.count).map(|n| (step.member, step.page.plus(u32::from(n))));
        let unit = |place: Place| {
            let data = self.placed.data.iter().position(|&other| other == place);
            let parity = || self.placed.parities.iter().find(|&&(_, other)| other == place);
            let role = data.map(|index| Role::Data(index as u8)).or_else(|| Some(parity()?.0));
            role.map_or_else(
                || {
                    self.wrong(format!(
                        "{} is no unit of the codeword of page {}",
                        text(place),
                        self.asked.pages[0]
                    ))
                },
                |role| Ok((role, place)),
            )
        };
        places.map(unit).collect()
    }

    /// Reads each page once. A known zero that its member lacks is not read.
    fn read(&self, stages: &[Vec<Asked>], view: &View<'_>, plan: &mut Plan) -> Result<(), ForeignError> {
        if stages.len() != 1 {
            return self.wrong(format!("{} stages; 1 is accepted for a read", stages.len()));
        }
        let mut done = UnitSet::default();
        for step in &stages[0] {
            for (role, at) in self.units(step)? {
                let Role::Data(index) = role else {
                    return self.wrong(format!("a read of the parity {}; data are to be read", text(at)));
                };
                if step.writes || done.has(index) || !self.touch.touched.has(index) {
                    let what = if step.writes { "writes" } else { "reads" };
                    let page = self.placed.first as u32 + u32::from(index);
                    return self.wrong(format!(
                        "{what} {}, page {page}; each page of the command is read once",
                        text(at)
                    ));
                }
                done.add(index);
                if view.is_healthy() || view.has(at.0, at.1) || self.touch.before.has(index) {
                    let number = u16::from(index - self.first);
                    plan.push(Step::new(at.0, self.command.over(at.1, 1), number));
                }
            }
        }
        match self.touch.touched.without(done).iter().next() {
            None => Ok(()),
            Some(index) => self.wrong(format!(
                "no step reads page {}, which is at {}",
                self.placed.first as u32 + u32::from(index),
                text(self.placed.data[usize::from(index)])
            )),
        }
    }

    /// Reads what the sums need, then writes data and parity.
    fn write(&self, stages: &[Vec<Asked>], view: &View<'_>, plan: &mut Plan) -> Result<Done, ForeignError> {
        let mut done = Done::default();
        let mut stage = 0;
        for steps in stages {
            let before = plan.steps.len();
            let mut parities = Vec::new();
            for step in steps {
                for (role, at) in self.units(step)? {
                    match (step.writes, role) {
                        (false, _) => self.fetch(role, at, stage, &mut done, view, plan)?,
                        (true, Role::Data(index)) => self.give(index, at, stage, &mut done, view, plan)?,
                        (true, _) if done.parities_written.contains(&role) => {
                            return self.wrong(format!("two steps write the parity {}", text(at)));
                        }
                        (true, _) => {
                            done.parities_written.push(role);
                            parities.push(self.parity(role, at, &done, view).stage(stage));
                        }
                    }
                }
            }
            // Its sum has the new data.
            parities.into_iter().for_each(|step| plan.push(step));
            stage += u8::from(plan.steps.len() > before);
        }
        Ok(done)
    }

    /// Reads a unit for the sums, if there is a parity to write. Known zeros and parities that do not answer are not read.
    fn fetch(
        &self,
        role: Role,
        at: Place,
        stage: u8,
        done: &mut Done,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> Result<(), ForeignError> {
        if !(done.written.is_empty() && done.parities_written.is_empty()) {
            return self.wrong(format!("reads {} after a write; reads come in stages before", text(at)));
        }
        if !self.placed.parities.iter().any(|(_, at)| view.alive(at.0)) {
            return Ok(());
        }
        let Role::Data(index) = role else {
            if done.parities_read.contains(&role) {
                return self.wrong(format!("two steps read {}", text(at)));
            }
            if !self.touch.before.is_empty() && view.alive(at.0) {
                done.parities_read.push(role);
                plan.push(Step::fetch(at.0, at.1, role, Cause::Parity).stage(stage));
            }
            return Ok(());
        };
        if done.read.has(index) {
            return self.wrong(format!("two steps read {}", text(at)));
        }
        if self.touch.before.has(index) {
            done.read.add(index);
            let in_hand = self.asked.old_in_hand && self.touch.touched.has(index);
            let step = match in_hand {
                true => Step::in_hand(at.0, at.1, u16::from(index - self.first), role),
                false => Step::fetch(at.0, at.1, role, Cause::Parity),
            };
            plan.push(step.stage(stage));
        }
        Ok(())
    }

    /// Gives its member a data unit. A known zero is not trimmed.
    fn give(
        &self,
        index: u8,
        at: Place,
        stage: u8,
        done: &mut Done,
        view: &View<'_>,
        plan: &mut Plan,
    ) -> Result<(), ForeignError> {
        let page = self.placed.first as u32 + u32::from(index);
        if !self.command.low_pages().contains(&page) {
            return self.wrong(format!("writes {}, page {page}, which is no page of the command", text(at)));
        }
        if done.written.has(index) {
            return self.wrong(format!("two steps write {}, page {page}", text(at)));
        }
        done.written.add(index);
        if self.touch.touched.has(index) {
            let mut command = self.command.over(at.1, 1);
            command.flags = command.flags.without(Flags::OLD_IN_HAND);
            let step = Step::new(at.0, command, u16::from(index - self.first)).role(Role::Data(index));
            let read = done.read.has(index) && view.has(at.0, at.1);
            plan.push(in_old_hand(step, read).stage(stage));
        }
        Ok(())
    }

    /// Writes a parity. One whose member does not answer is lacking from now on; that of known zeros is one.
    fn parity(&self, role: Role, (member, page): Place, done: &Done, view: &View<'_>) -> Step {
        if self.touch.after.is_empty() || !view.alive(member) {
            let trim = Command::new(Verb::Trim, page, 1).because(Cause::Parity);
            return Step::new(member, trim, Step::NOWHERE);
        }
        let step = Step::store(member, page, role, Cause::Parity);
        in_old_hand(step, done.parities_read.contains(&role) && view.has(member, page))
    }

    /// Every page is written, and every parity, which is the sum of the stripe: from the replaced pages and the old
    /// parity, or from the pages that stay.
    fn check(&self, done: &Done, view: &View<'_>) -> Result<(), ForeignError> {
        if let Some(index) = self.touch.touched.without(done.written).iter().next() {
            let (page, at) =
                (self.placed.first as u32 + u32::from(index), self.placed.data[usize::from(index)]);
            return self.wrong(format!("no step writes page {page}, which is at {}", text(at)));
        }
        if let Some(&(_, at)) =
            self.placed.parities.iter().find(|(role, _)| !done.parities_written.contains(role))
        {
            return self.wrong(format!("no step writes the parity {} of its codeword", text(at)));
        }
        let answering: Vec<Role> =
            self.placed.parities.iter().filter(|(_, at)| view.alive(at.0)).map(|&(role, _)| role).collect();
        if self.touch.after.is_empty() || answering.is_empty() {
            return Ok(());
        }
        let (old, rest) = (self.touch.old(), self.touch.rest());
        let fits = if done.parities_read.is_empty() {
            done.read == rest
        } else {
            done.read == old && answering.iter().all(|role| done.parities_read.contains(role))
        };
        if fits {
            return Ok(());
        }
        let pages =
            |units: UnitSet| listed(units.iter().map(|index| self.placed.first as u32 + u32::from(index)));
        let parity = if done.parities_read.is_empty() { "no" } else { "the" };
        self.wrong(format!(
            "the parity would be wrong: the pages read are {} with {parity} old parity; with the old parity those that \
             are replaced ({}) are accepted, without it those that stay ({})",
            pages(done.read),
            pages(old),
            pages(rest)
        ))
    }
}

/// Says whether the plan has read what the step writes: a member that is a tree itself need not read it again.
fn in_old_hand(mut step: Step, read: bool) -> Step {
    if read && step.command.verb == Verb::Write {
        step.command.flags = step.command.flags.with(Flags::OLD_IN_HAND);
    }
    step
}
