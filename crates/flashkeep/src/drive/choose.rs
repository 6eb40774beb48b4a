//! Selection of the next victim: the victim policy proposes a block, wear leveling accepts or rejects it.

use super::{Collection, Drive, Levelled, Parameters};
use crate::engine::{Cause, Contents};
use crate::flash::PlaneId;
use crate::ftl::victim::Candidates;
use crate::ftl::wear::{Limits, Share, Verdict, Wear};
use crate::ftl::{Draws, Levelling, Tuning, Victim};

/// Blocks that wear levelling looks at before it takes one as it is.
const LIST: usize = 8;

/// The policies, and the random numbers that they may read.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    victim: Victim,
    tuning: Tuning,
    levelling: Option<Levelling>,
    limits: Limits,
    budget: Option<u32>,
    victim_draws: Draws,
    wear_draws: Draws,
    /// Decisions so far.
    turn: u64,
    /// The scores of a plane without the blocks that were passed over.
    left: Vec<u16>,
}

impl Chooser {
    pub(super) fn new(drive: &Parameters) -> Self {
        let mut this = Chooser {
            victim: drive.victim,
            tuning: drive.tuning,
            levelling: Some(drive.levelling).filter(|levelling| !levelling.is_none()),
            limits: drive.limits,
            budget: drive.erase_budget,
            victim_draws: Draws::stream(0, ""),
            wear_draws: Draws::stream(0, ""),
            turn: 0,
            left: Vec::new(),
        };
        this.seed(1);
        this
    }

    /// Whether wear levelling has a say.
    pub(super) fn levels(&self) -> bool {
        self.levelling.is_some()
    }

    /// Decisions so far: the place in the streams of random numbers.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    pub(super) fn set_turn(&mut self, turn: u64) {
        self.turn = turn;
    }

    fn seed(&mut self, seed: u64) {
        self.victim_draws = Draws::stream(seed, "ftl.gc.victim");
        self.wear_draws = Draws::stream(seed, "ftl.wear.levelling");
    }
}

impl<C: Contents> Drive<C> {
    /// The run's seed, from which the random numbers of policies come.
    pub fn seed(&mut self, seed: u64) {
        self.gc.chooser.seed(seed);
    }

    pub(super) fn proposed(&self, plane: PlaneId, valid: &[u16]) -> Option<u32> {
        let Chooser { victim, victim_draws, turn, tuning, .. } = &self.gc.chooser;
        victim.of(&self.ftl.blocks, plane, valid, victim_draws.turn(*turn), *tuning)
    }

    /// Whether there is anything to collect in a plane.
    pub(super) fn has_garbage(&self, plane: PlaneId) -> bool {
        self.gc.collections[plane.0 as usize].victim.is_some()
            || self.proposed(plane, self.ftl.blocks.scores(plane)).is_some()
    }

    /// The block to reclaim, and what wear levelling has to do with it.
    pub(super) fn choose(&mut self, plane: PlaneId) -> Option<(u32, Levelled)> {
        self.gc.chooser.turn += 1;
        let chosen = match self.gc.chooser.levelling {
            None => self.proposed(plane, self.ftl.blocks.scores(plane)).map(|block| (block, Levelled::No)),
            Some(levelling) => self.choose_levelled(plane, levelling),
        };
        if let Some((block, _)) = chosen {
            self.ftl.blocks.choose_victim(plane, block);
        }
        chosen
    }

    fn choose_levelled(&mut self, plane: PlaneId, levelling: Levelling) -> Option<(u32, Levelled)> {
        let mut left = std::mem::take(&mut self.gc.chooser.left);
        left.clear();
        left.extend_from_slice(self.ftl.blocks.scores(plane));
        let mut chosen = None;
        for passed in 0..LIST {
            let Some(block) = self.proposed(plane, &left) else { break };
            chosen = Some((block, if passed == 0 { Levelled::No } else { Levelled::Instead }));
            match self.judge(levelling, plane, block) {
                Verdict::Take => break,
                Verdict::Migrate(coldest) => {
                    chosen = Some((block, Levelled::Into(coldest)));
                    break;
                }
                Verdict::Pass => left[block as usize] = Candidates::NOT_SEALED,
            }
            self.gc.chooser.turn += 1;
        }
        self.gc.chooser.left = left;
        chosen
    }

    fn judge(&self, levelling: Levelling, plane: PlaneId, block: u32) -> Verdict {
        let Chooser { budget, limits, wear_draws, turn, .. } = self.gc.chooser;
        let blocks = self.flash.geometry.blocks;
        let life =
            |block| life(budget, self.ftl.blocks.erases_of(plane, block), self.total_erases(plane), blocks);
        let lives = lives(budget, self.total_erases(plane), blocks);
        let coldest = |share: Share| {
            let fresh = |other| other != block && !share.exceeds(life(other), lives, blocks);
            self.ftl.blocks.coldest(plane, |other| fresh(other) && self.would_rest(plane, other, block))
        };
        let draw = wear_draws.turn(turn).bits(0);
        let wear = Wear { life: life(block), lives, blocks, draw, coldest: &coldest, limits };
        (levelling.judge)(&wear)
    }

    fn total_erases(&self, plane: PlaneId) -> u64 {
        u64::from(self.ftl.blocks.erases_in(plane))
    }

    /// Whether the worn block would rest under another one's data for as long as a block lives in the mean, which is
    /// while as many are sealed as the plane has: if those go on as before, until it has as few valid pages as now.
    fn would_rest(&self, plane: PlaneId, other: u32, worn: u32) -> bool {
        let (valid, least) = (self.ftl.blocks.valid_in(plane, other), self.ftl.blocks.valid_in(plane, worn));
        let sealed = self.ftl.blocks.sealed(plane)[other as usize];
        let age = u64::from(self.ftl.blocks.seals(plane).saturating_sub(sealed));
        let lost = u64::from(self.flash.geometry.pages.saturating_sub(valid));
        age * u64::from(valid.saturating_sub(least)) >= lost * u64::from(self.flash.geometry.blocks)
            && valid > least
    }

    /// On whose account the victim of a plane is moved and erased.
    pub(super) fn moves_because(&self, plane: PlaneId) -> Cause {
        match self.gc.collections[plane.0 as usize].levelled {
            Levelled::No | Levelled::Into(_) if self.collects_tables(plane) => Cause::Metadata,
            Levelled::No | Levelled::Into(_) => Cause::Gc,
            Levelled::Instead => Cause::Wear,
            Levelled::Out => Cause::Migrate,
        }
    }

    /// Whether the victim of a plane is a block of translation pages.
    fn collects_tables(&self, plane: PlaneId) -> bool {
        let victim = self.gc.collections[plane.0 as usize].victim.filter(|_| self.gc.notices.moves);
        let first = |block| self.ftl.blocks.owner(self.flash.geometry.ppn(plane, block, 0));
        victim.is_some_and(|block| self.ftl.streams.of_table(first(block)).is_some())
    }

    /// The victim, a worn block, has been erased: it is held, and the coldest block is collected into it.
    pub(super) fn migrate(&mut self, plane: PlaneId, worn: u32, coldest: u32) {
        self.ftl.blocks.hold(plane, worn);
        self.ftl.blocks.choose_victim(plane, coldest);
        let this = &mut self.gc.collections[plane.0 as usize];
        *this = Collection { victim: Some(coldest), levelled: Levelled::Out, ..*this };
        if self.gc.notices.leaving {
            self.tell_leaving(plane, coldest);
        }
    }
}

/// What is left of a block's life: of its budget, or, without one, of twice the mean erase count of its plane. Without one
/// it is counted in parts of an erase, as many as the plane has blocks, and a block that is ahead of the mean by an erase
/// at most is as good as any.
fn life(budget: Option<u32>, erases: u32, total: u64, blocks: u32) -> u64 {
    let (erases, blocks) = (u64::from(erases), u64::from(blocks));
    match budget {
        Some(budget) => u64::from(budget).saturating_sub(erases),
        None if erases.saturating_sub(1) * blocks <= total => 2 * total,
        None => (2 * total).saturating_sub(erases * blocks),
    }
}

/// What is left of the lives of all blocks of a plane, as [`life`] counts it.
fn lives(budget: Option<u32>, total: u64, blocks: u32) -> u64 {
    let blocks = u64::from(blocks);
    match budget {
        Some(budget) => (u64::from(budget) * blocks).saturating_sub(total),
        None => total * blocks,
    }
}
