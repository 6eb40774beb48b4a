//! Wear and lifetime of the flash.

use super::counts::per;
use super::{IfAny, figures, plain, unit};
use crate::drive::BlockErases;
use crate::kernel::SimTime;

/// An instant, and the bytes that the host had written by then.
pub type Mark = (SimTime, u64);

/// The inputs of the summary's section on wear.
#[derive(Clone, Debug, Default)]
pub struct WearFacts {
    /// Erases of every block in this run.
    pub erases: BlockErases,
    /// Erases of every block before the run.
    pub before: BlockErases,
    /// The erase budget of a block, if there is one.
    pub budget: Option<u32>,
    /// Blocks that have reached the budget.
    pub expired: u32,
    /// When the first block reached it.
    pub first_worn_block: Option<Mark>,
    /// When the first write was refused.
    pub first_refusal: Option<Mark>,
    /// Writes and trims that were refused after that; none for a member, which refuses no requests.
    pub refused_requests: Option<u64>,
    /// The end of the run, or of the drive's life, and the bytes that the host had written by then.
    pub end: Mark,
    /// The capacity that the host sees, in bytes.
    pub capacity: u64,
    /// The warranty, in years, to which drive writes per day refer.
    pub warranty_years: f64,
}

/// The share of the flash that a run programs at least if a life is to follow from it.
pub(super) const ENOUGH: f64 = 0.1;

/// What a life follows from that is extrapolated from the bytes written while requests were counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedWrites {
    /// Bytes that the host wrote.
    pub(super) bytes: u64,
    /// The time.
    pub(super) seconds: f64,
    /// The share of the flash that was programmed.
    pub(super) programmed: f64,
    /// How many runs like this one the erase budgets let the flash program, if there are budgets and it programmed.
    pub(super) runs_left: Option<f64>,
}

/// The largest number of bars in the histogram of erases.
const BARS: u32 = 50;

/// Total, least and most of some numbers, found in one pass.
#[derive(Clone, Copy, Debug)]
struct WearSpread {
    total: u64,
    least: u32,
    most: u32,
}

impl WearSpread {
    /// Without numbers, the least is more than the most.
    fn of(values: impl Iterator<Item = u32>) -> WearSpread {
        let none = WearSpread { total: 0, least: u32::MAX, most: 0 };
        values.fold(none, |all, value| WearSpread {
            total: all.total + u64::from(value),
            least: all.least.min(value),
            most: all.most.max(value),
        })
    }

    fn is_empty(self) -> bool {
        self.least > self.most
    }

    /// Mean and standard deviation of `count` numbers; the deviation of equal numbers, as on a new drive, is exactly 0.
    fn mean_and_deviation(self, values: impl Iterator<Item = u32>, count: f64) -> (f64, f64) {
        let mean = self.total as f64 / count;
        if self.least == self.most {
            return (mean, 0.0);
        }
        let variance = values.map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }
}

impl WearFacts {
    /// How many blocks were erased how often, from the fewest to the most, in at most [`BARS`] bars of equal width;
    /// `from` and `to` are both of the bar.
    #[must_use]
    pub fn histogram(&self) -> Vec<Bar> {
        let spread = self.spread();
        if spread.is_empty() {
            return Vec::new();
        }
        let WearSpread { least, most, .. } = spread;
        let width = (most - least) / BARS + 1;
        let mut blocks = vec![0_u64; ((most - least) / width + 1) as usize];
        if let [all] = &mut blocks[..] {
            *all = self.erases.len() as u64;
        } else {
            self.erases.iter().for_each(|erases: u32| blocks[((erases - least) / width) as usize] += 1);
        }
        let bar = |(at, blocks): (u32, &u64)| {
            let from = least + at * width;
            Bar { from, to: from.saturating_add(width - 1).min(most), blocks: *blocks }
        };
        (0..).zip(&blocks).map(bar).collect()
    }

    fn spread(&self) -> WearSpread {
        let listed = self.erases.listed();
        let unlisted = (listed.len() < self.erases.len()).then_some(0);
        WearSpread::of(listed.iter().copied().chain(unlisted))
    }

    /// The section of the summary, without the histogram.
    #[must_use]
    pub(super) fn wear(&self, writes: CountedWrites) -> Wear {
        let count = self.erases.len() as f64;
        let spread = self.spread();
        let total = spread.total;
        let (mean, deviation) = spread.mean_and_deviation(self.erases.iter(), count);
        let [least, most] = [spread.least, spread.most].map(|erases| (!spread.is_empty()).then_some(erases));
        let blocks = || self.erases.iter().zip(self.before.iter());
        let life = |budget: u32| blocks().map(move |(now, before)| budget.saturating_sub(now + before));
        let lives =
            self.budget.map(|budget| WearSpread::of(life(budget)).mean_and_deviation(life(budget), count));
        // How many runs like this one it takes until the first block reaches the erase budget, and until all blocks
        // have.
        let until = |left: f64, worn: f64| if worn > 0.0 { left / worn } else { f64::INFINITY };
        let finite = |times: f64| Some(times).filter(|times| times.is_finite());
        let enough = writes.programmed >= ENOUGH;
        let by_most = self.budget.filter(|_| enough).and_then(|budget| {
            let of_block = |(now, before)| until(f64::from(budget.saturating_sub(before)), f64::from(now));
            finite(blocks().map(of_block).fold(f64::INFINITY, f64::min))
        });
        let by_mean = self.budget.filter(|_| enough).and_then(|budget| {
            let left: f64 = blocks().map(|(_, before)| f64::from(budget.saturating_sub(before))).sum();
            finite(until(left / count, mean))
        });
        let (seconds, bytes) = (self.end.0.0 as f64 / 1e9, self.end.1 as f64);
        let days = |times: Option<f64>| times.map(|times| times * seconds / 86_400.0);
        let written = |times: Option<f64>| times.map(|times| times * bytes / 1e12);
        let drives = |bytes: f64| bytes / self.capacity as f64;
        let warranty_days = self.warranty_years * 365.0;
        let a_day = |times: Option<f64>| times.map(|times| drives(times * bytes) / warranty_days);
        let counted = writes.bytes as f64;
        let runs_left = writes.runs_left.filter(|_| enough);
        let life = runs_left.map(|runs| runs * counted);
        let a_workload_day = per(drives(counted), writes.seconds / 86_400.0).filter(|_| enough);
        let at = |mark: Option<Mark>| mark.map(|(at, _)| at.0 as f64 / 1e9);
        Wear {
            erases_total: total,
            erases_min: least,
            erases_mean: finite(mean),
            erases_max: most,
            erases_stddev: finite(deviation),
            lifetime_days_first_block: days(by_most),
            lifetime_days_by_mean: days(by_mean),
            lifetime_erases: by_most.map(|times| times * total as f64),
            lifetime_erases_by_mean: self.budget.map(|budget| f64::from(budget) * count),
            tbw: life.map(|bytes| bytes / 1e12),
            dwpd: life.map(|bytes| drives(bytes) / warranty_days),
            workload_dwpd: a_workload_day,
            lifetime_days: a_workload_day.and_then(|a_day| per(drives(life?), a_day)),
            tbw_first_block: written(by_most),
            dwpd_first_block: a_day(by_most),
            remaining_life_mean: lives.and_then(|(mean, _)| finite(mean)),
            remaining_life_stddev: lives.and_then(|(_, deviation)| finite(deviation)),
            expired_blocks: self.budget.map(|_| self.expired).or((self.expired > 0).then_some(self.expired)),
            first_block_dead_s: at(self.first_worn_block),
            first_block_dead_bytes: self.first_worn_block.map(|(_, bytes)| bytes),
            first_loss_s: at(self.first_refusal),
            first_loss_bytes: self.first_refusal.map(|(_, bytes)| bytes),
            refused_requests: self.budget.and(self.refused_requests),
            erases_histogram: IfAny(None),
        }
    }
}

figures! {
    /// Wear of the flash, and its life under this workload.
    pub struct Wear {
        /// Blocks erased.
        erases_total: u64 => unit("erases").lower().row_always("blocks erased"),
        /// Erases of the block that was erased least.
        erases_min: Option<u32> => unit("erases"),
        /// Erases of a block, mean.
        erases_mean: Option<f64> => unit("erases").lower(),
        /// Erases of the block that was erased most.
        erases_max: Option<u32> => unit("erases").lower().row("most erases of a block"),
        /// Standard deviation of the erases over the blocks.
        erases_stddev: Option<f64> => unit("erases").lower().row("  deviation over the blocks"),
        /// Time until the first block reaches the erase budget if this workload continues, and blocks continue to wear as
        /// unevenly as in this run.
        lifetime_days_first_block: Option<f64> => unit("days").higher(),
        /// Time until all blocks reach the erase budget if this workload continues and wears them evenly.
        lifetime_days_by_mean: Option<f64> => unit("days").higher(),
        /// Erases until the first block reaches the erase budget.
        lifetime_erases: Option<f64> => unit("erases").higher(),
        /// Erases until all blocks reach the erase budget.
        lifetime_erases_by_mean: Option<f64> => unit("erases").higher(),
        /// Terabytes that the host can write under this workload until the flash has programmed what its erase budget
        /// allows, if it wears evenly. In an array: until that of a member.
        tbw: Option<f64> => unit("TB").higher().derived()
            .row("terabytes written in its life (TBW)"),
        /// The same as drive writes a day over the warranty.
        dwpd: Option<f64> => unit("1/day").higher().derived()
            .row("  drive writes a day (DWPD)"),
        /// Drive writes a day of this workload.
        workload_dwpd: Option<f64> => unit("1/day").derived().row("  DWPD of this workload"),
        /// Time until the flash has programmed what its erase budget allows, if this workload continues: `tbw` at its bytes
        /// a day.
        lifetime_days: Option<f64> => unit("days").higher().derived().row("  lifetime under this workload, days"),
        /// Terabytes that the host can write until the first block reaches the erase budget, if blocks continue to wear
        /// as unevenly as in this run.
        tbw_first_block: Option<f64> => unit("TB").higher(),
        /// The same as drive writes a day over the warranty.
        dwpd_first_block: Option<f64> => unit("1/day").higher(),
        /// Erases that a block has left of its budget, mean.
        remaining_life_mean: Option<f64> => unit("erases").higher(),
        /// Standard deviation of the erases left.
        remaining_life_stddev: Option<f64> => unit("erases").lower(),
        /// Blocks that have reached the erase budget.
        expired_blocks: Option<u32> => unit("blocks").lower().row("blocks worn out"),
        /// When the first block reached the erase budget.
        first_block_dead_s: Option<f64> => unit("s").higher().row("  the first one after, s"),
        /// Bytes that the host had written by then.
        first_block_dead_bytes: Option<u64> => unit("bytes").higher(),
        /// When a write was first refused because of wear.
        first_loss_s: Option<f64> => unit("s").higher().row("first write refused after, s"),
        /// Bytes that the host had written by then.
        first_loss_bytes: Option<u64> => unit("bytes").higher(),
        /// Writes and trims refused from then on.
        refused_requests: Option<u64> => unit("requests").lower().row("  writes refused from then on"),
        /// How many blocks were erased how often, in at most 50 bars of equal width.
        erases_histogram: IfAny<Vec<Bar>> => plain().derived(),
    }
}

figures! {
    /// Blocks erased between `from` and `to` times, both included.
    pub struct Bar {
        /// Fewest erases.
        from: u32 => unit("erases"),
        /// Most erases.
        to: u32 => unit("erases"),
        /// Blocks.
        blocks: u64 => unit("blocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(erases: Vec<u32>) -> Vec<[u64; 3]> {
        let facts = WearFacts { erases: erases.into(), ..WearFacts::default() };
        let bars = facts.histogram().into_iter();
        bars.map(|bar| [u64::from(bar.from), u64::from(bar.to), bar.blocks]).collect()
    }

    #[test]
    fn every_block_stands_in_one_bar_of_the_histogram() {
        assert_eq!(bars(vec![]), [[0; 3]; 0]);
        assert_eq!(bars(vec![0, 0, 0]), [[0, 0, 3]]);
        assert_eq!(bars(vec![7, 5, 5, 8]), [[5, 5, 2], [6, 6, 0], [7, 7, 1], [8, 8, 1]]);
        assert_eq!(bars(vec![u32::MAX, 0]).iter().map(|bar| bar[2]).sum::<u64>(), 2);
        let many = bars((0..1000).collect());
        assert!(many.len() <= BARS as usize, "{}", many.len());
        assert_eq!((many[0], many[1]), ([0, 19, 20], [20, 39, 20]));
        assert_eq!(many.last(), Some(&[980, 999, 20]));
    }
}
