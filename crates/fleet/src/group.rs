//! A group of drives, event by event, with any distributions of lives and times.

use crate::chain::Cause;
use crate::model::{Group, Latent};
use crate::sampling::Loss;
use crate::shared::Shared;
use crate::times::{Weibull, exponential};
use flashkeep_errors::draw::Stream;

const NEVER: f64 = f64::INFINITY;

/// What a drive does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// It works until it fails.
    Working,
    /// It has failed, and the failure is undetected.
    Undetected,
    /// It waits for its repair; the number is its place in the queue.
    Waiting(u64),
    /// It is repaired since this time.
    Repaired(f64),
}

/// A drive. Its latent error comes or goes at `turns`.
#[derive(Clone, Copy, Debug)]
struct Drive {
    doing: Doing,
    /// When what it does ends.
    until: f64,
    /// Whether it fails, or has failed, because it is worn out.
    worn: bool,
    /// When it was new.
    born: f64,
    defective: bool,
    turns: f64,
}

impl Drive {
    /// It fails at one of two times, the second of them by wear.
    fn fails_at(&mut self, end: f64, wears: Option<f64>) {
        let wears = wears.unwrap_or(NEVER);
        self.worn = wears < end;
        self.until = end.min(wears);
    }
}

/// What drives fail of: a distribution of ages, and the factor of the hazard that a group shares.
#[derive(Clone, Copy, Debug)]
struct Process {
    life: Weibull,
    shared: Shared,
    /// The drives of a group.
    drives: f64,
    /// The probability that a group has such a failure within the mission.
    probability: f64,
}

impl Process {
    fn new(life: Weibull, shared: Shared, drives: u32, mission: f64) -> Process {
        let drives = f64::from(drives);
        let log_none = shared.log_none(drives * life.cumulative_hazard(mission));
        Process { life, shared, drives, probability: -libm::expm1(log_none) }
    }

    /// The hazard of the group at the first failure, if that is within the mission.
    fn hazard(&self, stream: &mut Stream) -> f64 {
        self.shared.hazard_at(libm::log1p(-self.probability * stream.open()))
    }

    fn age_at(&self, hazard: f64) -> f64 {
        self.life.age_at(hazard / self.drives)
    }

    /// The factor of a group that had no such failure by this time.
    fn factor_without(&self, at: f64, stream: &mut Stream) -> f64 {
        self.shared.draw(self.drives * self.life.cumulative_hazard(at), 0.0, stream)
    }
}

/// The first failure of groups whose drives are all new at time 0.
///
/// With H the cumulative hazard of a drive, no drive of n has failed by t with probability e^(−nH(t)), or, over a
/// gamma factor of variance v, (1 + v·n·H(t))^(−1/v). Wear has a hazard and a factor of its own, and the first of both is
/// the failure.
#[derive(Clone, Copy, Debug)]
pub struct FirstFailure {
    life: Process,
    wear: Option<Process>,
    /// The probability that a group has a failure within the mission.
    pub probability: f64,
}

/// A first failure: when, whether of wear, and the factors of the group's hazards.
struct First {
    at: f64,
    worn: bool,
    factors: Factors,
}

/// The factors of the hazards of a group: of the lives of its drives, and of their wear.
#[derive(Clone, Copy, Debug)]
struct Factors {
    life: f64,
    wear: f64,
}

impl FirstFailure {
    /// Within a mission of this number of hours.
    #[must_use]
    pub fn new(group: &Group, mission: f64) -> FirstFailure {
        let life = Process::new(group.life.0, Shared::of_variance(group.frailty), group.drives, mission);
        let wear = group.wear.map(|wear| Process::new(wear.life.0, wear.shared(), group.drives, mission));
        let by_wear = wear.map_or(0.0, |wear| wear.probability);
        FirstFailure { life, wear, probability: life.probability + (1.0 - life.probability) * by_wear }
    }

    /// The first failure of a group that has one.
    fn draw(&self, stream: &mut Stream) -> First {
        // Which of both have a failure within the mission; they are independent of each other.
        let (mut by_life, mut by_wear) = (true, false);
        if let Some(wear) = self.wear {
            let place = stream.open() * self.probability;
            by_life = place < self.life.probability;
            by_wear = place >= self.life.probability * (1.0 - wear.probability);
        }
        let hazard = if by_life { self.life.hazard(stream) } else { NEVER };
        let at = self.life.age_at(hazard);
        let worn = self.wear.filter(|_| by_wear).map(|wear| (wear, wear.hazard(stream)));
        if let Some((wear, hazard)) = worn.filter(|(wear, hazard)| wear.age_at(*hazard) < at) {
            let at = wear.age_at(hazard);
            let life = self.life.factor_without(at, stream);
            return First {
                at,
                worn: true,
                factors: Factors { life, wear: wear.shared.draw(hazard, 1.0, stream) },
            };
        }
        let life = self.life.shared.draw(hazard, 1.0, stream);
        let wear = self.wear.map_or(1.0, |wear| wear.factor_without(at, stream));
        First { at, worn: false, factors: Factors { life, wear } }
    }
}

/// How many trials without success come before one that succeeds with this probability.
pub fn skipped(probability: f64, stream: &mut Stream) -> f64 {
    match probability {
        0.0 => f64::INFINITY,
        1.0 => 0.0,
        _ => libm::floor(libm::log(stream.open()) / libm::log1p(-probability)),
    }
}

/// What a drive may fail of within a window.
#[derive(Clone, Copy, Debug)]
struct Exposure {
    drive: usize,
    /// Of wear, or else of its life.
    worn: bool,
    /// The cumulative hazard at the window's beginning.
    before: f64,
    /// That at its end.
    after: f64,
}

/// The time until the next repair, detection or delivery ends, and the hazard that the working drives accumulate in it.
#[derive(Clone, Debug)]
pub struct Window {
    exposures: Vec<Exposure>,
    sum: f64,
}

impl Window {
    /// The probability that a drive fails in it.
    #[must_use]
    pub fn probability(&self) -> f64 {
        -libm::expm1(-self.sum)
    }
}

/// What an event was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The mission is over.
    End,
    /// Nothing that matters to a method.
    Other,
    /// Drives failed, and no redundancy is left; a rebuild now reads the drives that are left.
    Exposed,
    /// Data are lost.
    Lost(Loss),
}

/// The state of a group.
#[derive(Clone, Debug)]
pub struct State<'a> {
    group: &'a Group,
    mission: f64,
    factors: Factors,
    now: f64,
    drives: Vec<Drive>,
    /// Failed drives.
    missing: u32,
    /// Arrivals of spares.
    orders: Vec<f64>,
    /// Spares at hand.
    stock: u32,
    queued: u64,
    /// The probability of a shock, which a method may change.
    shock: f64,
    /// Whether the last failure was a shock; none where it could not be.
    shocked: Option<bool>,
}

impl<'a> State<'a> {
    /// A group of new drives.
    #[must_use]
    pub fn new(group: &'a Group, mission: f64) -> State<'a> {
        let idle = Drive {
            doing: Doing::Working,
            until: NEVER,
            worn: false,
            born: 0.0,
            defective: false,
            turns: NEVER,
        };
        State {
            group,
            mission,
            factors: Factors { life: 1.0, wear: 1.0 },
            now: 0.0,
            drives: vec![idle; group.drives as usize],
            missing: 0,
            orders: Vec::new(),
            stock: 0,
            queued: 0,
            shock: group.shock,
            shocked: None,
        }
    }

    /// Begins again before the first failure of a group, which is that of its first drive.
    pub fn begin(&mut self, first: &FirstFailure, stream: &mut Stream) {
        let First { at, worn, factors } = first.draw(stream);
        (self.now, self.factors, self.missing, self.queued) = (at, factors, 0, 0);
        self.orders.clear();
        self.stock = self.group.spares.map_or(0, |spares| spares.count);
        // All are as old as the mission, so they share the hazard of the past.
        let (life, wear) = (self.group.life.0, self.group.wear.map(|wear| wear.life.0));
        let past = life.cumulative_hazard(at);
        let worn_by = wear.map_or(0.0, |wear| wear.cumulative_hazard(at));
        for number in 0..self.drives.len() {
            self.drives[number] = self.installed(0.0, stream);
            let end = life.age_at(past + exponential(stream) / factors.life).max(at);
            let wears = wear.map(|wear| wear.age_at(worn_by + exponential(stream) / factors.wear).max(at));
            self.drives[number].fails_at(end, wears);
        }
        (self.drives[0].until, self.drives[0].worn) = (at, worn);
    }

    /// Takes the state of another one of the same group.
    pub fn copy(&mut self, from: &State<'a>) {
        self.drives.copy_from_slice(&from.drives);
        self.orders.clone_from(&from.orders);
        (self.factors, self.now, self.missing) = (from.factors, from.now, from.missing);
        (self.stock, self.queued) = (from.stock, from.queued);
    }

    /// The time until the next end of what the failed drives wait for, or of the mission.
    #[must_use]
    pub fn window(&self) -> Window {
        let end = self.next_end().min(self.mission);
        let wear = self.group.wear.map(|wear| (wear.life.0, self.factors.wear));
        let mut exposures = Vec::with_capacity(self.drives.len());
        let mut sum = 0.0;
        for (number, drive) in
            self.drives.iter().enumerate().filter(|(_, drive)| drive.doing == Doing::Working)
        {
            let mut expose = |life: Weibull, factor: f64, worn: bool| {
                let before = life.cumulative_hazard(self.now - drive.born) * factor;
                let after = life.cumulative_hazard(end - drive.born) * factor;
                exposures.push(Exposure { drive: number, worn, before, after });
                sum += after - before;
            };
            expose(self.group.life.0, self.factors.life, false);
            if let Some((life, factor)) = wear {
                expose(life, factor, true);
            }
        }
        Window { exposures, sum }
    }

    /// When the first of the things ends that failed drives wait for.
    fn next_end(&self) -> f64 {
        let failed =
            self.drives.iter().filter(|drive| drive.doing != Doing::Working).map(|drive| drive.until);
        failed.chain(self.orders.iter().copied()).fold(NEVER, f64::min)
    }

    /// Advances to that end, without failures until then.
    pub fn recover(&mut self, stream: &mut Stream) -> Event {
        for drive in self.drives.iter_mut().filter(|drive| drive.doing == Doing::Working) {
            drive.until = NEVER;
        }
        self.step(stream)
    }

    /// A failure within a window that begins now; failures after it are drawn again.
    ///
    /// Given the number of failures that a Poisson process with these hazards has, each belongs to a drive and lies at a
    /// place of its hazard independently of the others; the first of them is the failure.
    pub fn fail_within(&mut self, window: &Window, stream: &mut Stream) -> Event {
        let mut count = 0;
        let mut rest = libm::log1p(-window.probability() * stream.open()) + window.sum;
        // The first failure leaves this much of the hazard for others.
        while rest > 0.0 {
            count += 1;
            rest -= exponential(stream);
        }
        let mut first = (0, NEVER, false);
        for _ in 0..count.max(1) {
            let (exposure, hazard) = drawn(window, stream);
            let (life, factor) = self.process(exposure.worn);
            let at = self.drives[exposure.drive].born + life.age_at(hazard / factor);
            if at < first.1 {
                first = (exposure.drive, at, exposure.worn);
            }
        }
        self.now = first.1.max(self.now);
        self.redraw(stream);
        self.drives[first.0].worn = first.2;
        self.fail(first.0, stream)
    }

    /// The life that drives end by, or that of their wear, and the factor of its hazard.
    fn process(&self, worn: bool) -> (Weibull, f64) {
        match self.group.wear.filter(|_| worn) {
            Some(wear) => (wear.life.0, self.factors.wear),
            None => (self.group.life.0, self.factors.life),
        }
    }

    /// Draws the failures of the working drives again, from now on.
    pub fn redraw(&mut self, stream: &mut Stream) {
        for number in 0..self.drives.len() {
            if self.drives[number].doing == Doing::Working {
                self.draw_failure(number, stream);
            }
        }
    }

    /// Failed drives.
    #[must_use]
    pub fn missing(&self) -> u32 {
        self.missing
    }

    /// Sets the probability of a shock from now on.
    pub fn set_shock(&mut self, probability: f64) {
        self.shock = probability;
    }

    /// Whether the last failure was a shock; none where it could not be.
    #[must_use]
    pub fn shocked(&self) -> Option<bool> {
        self.shocked
    }

    /// Whether the next event is the failure of a drive within the mission.
    #[must_use]
    pub fn fails_next(&self) -> bool {
        let failures = self.drives.iter().filter(|drive| drive.doing == Doing::Working);
        let at = failures.map(|drive| drive.until).fold(NEVER, f64::min);
        at < self.mission && at <= self.next_end()
    }

    /// The time of the last event, hours.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// A drive that is new at this time.
    fn installed(&self, at: f64, stream: &mut Stream) -> Drive {
        let turns = match self.group.latent {
            Latent::Arising { mean, .. } => at + mean * exponential(stream),
            Latent::Never | Latent::OnRead { .. } => NEVER,
        };
        Drive { doing: Doing::Working, until: NEVER, worn: false, born: at, defective: false, turns }
    }

    /// Draws when a working drive fails from now on, and of what.
    fn draw_failure(&mut self, number: usize, stream: &mut Stream) {
        let born = self.drives[number].born;
        let end = self.failure_after(born, false, stream);
        let wears = self.group.wear.map(|_| self.failure_after(born, true, stream));
        self.drives[number].fails_at(end, wears);
    }

    /// When a drive that was new at `born` and works now fails of its life, or of wear.
    fn failure_after(&self, born: f64, worn: bool, stream: &mut Stream) -> f64 {
        let (life, factor) = self.process(worn);
        let more = exponential(stream) / factor;
        match life.rate() {
            Some(_) => self.now + life.scale * more,
            // Rounding must not put it into the past.
            None => (born + life.age_at(life.cumulative_hazard(self.now - born) + more)).max(self.now),
        }
    }

    /// Advances to the next event.
    pub fn step(&mut self, stream: &mut Stream) -> Event {
        let (mut number, mut at) = (0, NEVER);
        for (index, drive) in self.drives.iter().enumerate() {
            if drive.until < at {
                (number, at) = (index, drive.until);
            }
        }
        if let Some((order, arrival)) = earliest(&self.orders).filter(|(_, arrival)| *arrival < at) {
            if arrival >= self.mission {
                return Event::End;
            }
            self.now = arrival;
            self.orders.swap_remove(order);
            self.stock += 1;
            self.start_repairs(stream);
            return Event::Other;
        }
        if at >= self.mission {
            return Event::End;
        }
        self.now = at;
        match self.drives[number].doing {
            Doing::Working => return self.fail(number, stream),
            Doing::Undetected => self.queue(number, stream),
            Doing::Repaired(_) => {
                self.missing -= 1;
                self.renew(number, stream);
            }
            Doing::Waiting(_) => unreachable!("waiting does not end by itself"),
        }
        self.start_repairs(stream);
        Event::Other
    }

    /// A new drive takes the place of another.
    fn renew(&mut self, number: usize, stream: &mut Stream) {
        self.drives[number] = self.installed(self.now, stream);
        self.draw_failure(number, stream);
    }

    /// A drive fails, and by a shock others at once.
    fn fail(&mut self, number: usize, stream: &mut Stream) -> Event {
        self.miss(number, stream);
        let can_shock = self.group.shock > 0.0 && self.missing < self.group.drives;
        self.shocked = can_shock.then(|| stream.open() < self.shock);
        let mut lost = self.loses_now(stream).then_some(Cause::Failures);
        if self.shocked == Some(true) {
            for other in self.taken(stream) {
                self.drives[other].worn = false;
                self.miss(other, stream);
                if lost.is_none() && self.loses_now(stream) {
                    lost = Some(Cause::Shock);
                }
            }
        }
        if let Some(cause) = lost {
            let worn = self.drives.iter().any(|drive| drive.doing != Doing::Working && drive.worn);
            let cause = if worn { Cause::Wear } else { cause };
            return Event::Lost(Loss { at: self.now, cause, unrebuilt: self.unrebuilt() });
        }
        self.start_repairs(stream);
        let exposed = self.group.loses(self.missing + 1);
        if exposed == 0.0 {
            return Event::Other;
        }
        match self.is_defective(stream) && happens(exposed, stream) {
            true => Event::Lost(Loss { at: self.now, cause: Cause::Latent, unrebuilt: 0.0 }),
            false => Event::Exposed,
        }
    }

    /// The drives that a shock takes: one of those that work, or each with the same probability.
    fn taken(&self, stream: &mut Stream) -> Vec<usize> {
        let mut working = (0..self.drives.len()).filter(|&at| self.drives[at].doing == Doing::Working);
        if let Some(share) = self.group.shock_share {
            return working.filter(|_| stream.open() < share).collect();
        }
        let count = (self.group.drives - self.missing) as usize;
        let chosen = ((stream.open() * count as f64) as usize).min(count - 1);
        working.nth(chosen).into_iter().collect()
    }

    /// Whether the last failure has lost data.
    fn loses_now(&self, stream: &mut Stream) -> bool {
        happens(self.group.loses(self.missing), stream)
    }

    /// A drive is missing from now on.
    fn miss(&mut self, number: usize, stream: &mut Stream) {
        self.missing += 1;
        match self.group.detect {
            Some(delay) => {
                self.drives[number].doing = Doing::Undetected;
                self.drives[number].until = self.now + delay.draw(stream);
            }
            None => self.queue(number, stream),
        }
    }

    /// A failed drive waits for its repair, and a spare for it is ordered.
    fn queue(&mut self, number: usize, stream: &mut Stream) {
        self.queued += 1;
        self.drives[number].doing = Doing::Waiting(self.queued);
        self.drives[number].until = NEVER;
        if let Some(spares) = self.group.spares {
            self.orders.push(self.now + spares.restock.draw(stream));
        }
    }

    /// Begins the repairs that can begin, those of the drives that wait longest first.
    fn start_repairs(&mut self, stream: &mut Stream) {
        let is_repaired = |drive: &Drive| matches!(drive.doing, Doing::Repaired(_));
        loop {
            let busy = self.group.serial && self.drives.iter().any(is_repaired);
            if busy || (self.group.spares.is_some() && self.stock == 0) {
                return;
            }
            let place = |number: &usize| match self.drives[*number].doing {
                Doing::Waiting(place) => Some(place),
                _ => None,
            };
            let waiting = (0..self.drives.len()).filter(|number| place(number).is_some());
            let Some(next) = waiting.min_by_key(place) else { return };
            self.stock = self.stock.saturating_sub(1);
            self.drives[next].doing = Doing::Repaired(self.now);
            self.drives[next].until = self.now + self.group.repair.draw(stream);
        }
    }

    /// What no repair has restored of the missing drives, as a share of the data of the fewest that lose data: all
    /// repairs go through the group in the same order, so the one that is furthest counts.
    fn unrebuilt(&self) -> f64 {
        let done = |drive: &Drive| match drive.doing {
            Doing::Repaired(since) if drive.until > since => (self.now - since) / (drive.until - since),
            _ => 0.0,
        };
        let left = 1.0 - self.drives.iter().map(done).fold(0.0, f64::max);
        // A shock may take many drives.
        let more = if self.group.shock_share.is_some() { self.missing } else { self.group.certain() + 1 };
        left * f64::from(more) / f64::from(self.group.certain() + 1)
    }

    /// Whether a working drive has a latent error now.
    fn is_defective(&mut self, stream: &mut Stream) -> bool {
        let Latent::Arising { mean, scrub } = self.group.latent else { return false };
        if self.group.tolerance == 0 {
            return false;
        }
        let mut any = false;
        for drive in self.drives.iter_mut().filter(|drive| drive.doing == Doing::Working) {
            while drive.turns <= self.now {
                drive.turns += match (drive.defective, scrub) {
                    (true, _) => mean * exponential(stream),
                    (false, Some(scrub)) => scrub.draw(stream),
                    (false, None) => NEVER,
                };
                drive.defective = !drive.defective;
            }
            any |= drive.defective;
        }
        any
    }

    /// After a loss: failed drives are replaced, and the contents restored without errors, at once.
    pub fn restore(&mut self, stream: &mut Stream) {
        for number in 0..self.drives.len() {
            if self.drives[number].doing != Doing::Working {
                self.renew(number, stream);
            } else {
                let fresh = self.installed(self.now, stream);
                self.drives[number].defective = false;
                self.drives[number].turns = fresh.turns;
            }
        }
        self.missing = 0;
        self.orders.clear();
        self.stock = self.group.spares.map_or(0, |spares| spares.count);
    }
}

/// Whether an event of this probability happens; a certain one needs no random number.
fn happens(probability: f64, stream: &mut Stream) -> bool {
    probability >= 1.0 || (probability > 0.0 && stream.open() < probability)
}

/// What a drive fails of, and a place of its hazard, drawn from those of a window.
fn drawn(window: &Window, stream: &mut Stream) -> (Exposure, f64) {
    let mut place = stream.open() * window.sum;
    for exposure in &window.exposures {
        let Exposure { before, after, .. } = *exposure;
        if place < after - before {
            return (*exposure, before + place);
        }
        place -= after - before;
    }
    let last = *window.exposures.last().expect("a drive that fails has worked");
    (last, last.after)
}

/// The first of some times, with its place.
fn earliest(times: &[f64]) -> Option<(usize, f64)> {
    let first = |best: (usize, f64), next: (usize, f64)| if next.1 < best.1 { next } else { best };
    times.iter().copied().enumerate().reduce(first)
}
