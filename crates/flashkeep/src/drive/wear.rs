//! How often each block has been erased, in this run and before it.

/// The number of erases of each of some blocks. Blocks after the last one that is listed were not erased, so that a
/// large drive without erases takes no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockErases {
    blocks: usize,
    listed: Vec<u32>,
}

impl BlockErases {
    /// None of these blocks was erased.
    #[must_use]
    pub fn none(blocks: usize) -> BlockErases {
        BlockErases { blocks, listed: Vec::new() }
    }

    /// The number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks
    }

    /// Whether there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// The erases of each block.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let rest = std::iter::repeat_n(0, self.blocks - self.listed.len());
        self.listed.iter().copied().chain(rest)
    }

    /// The erases of the first blocks. All others have none.
    #[must_use]
    pub fn listed(&self) -> &[u32] {
        &self.listed
    }

    /// The erases since `before`, which lists the same blocks. A block that was replaced since then had none.
    #[must_use]
    pub fn since(mut self, before: &BlockErases) -> BlockErases {
        for (now, before) in self.listed.iter_mut().zip(&before.listed) {
            *now = now.saturating_sub(*before);
        }
        self
    }

    /// These erases and others of the same blocks.
    #[must_use]
    pub fn plus(mut self, others: &BlockErases) -> BlockErases {
        if self.listed.len() < others.listed.len() {
            self.listed.resize(others.listed.len(), 0);
        }
        self.listed.iter_mut().zip(&others.listed).for_each(|(all, more)| *all += more);
        self
    }

    /// Adds further blocks.
    pub fn append(&mut self, further: &BlockErases) {
        if !further.listed.is_empty() {
            self.listed.resize(self.blocks, 0);
            self.listed.extend_from_slice(&further.listed);
        }
        self.blocks += further.blocks;
    }

    /// The erases of a block.
    #[inline]
    pub(super) fn at(&self, block: usize) -> u32 {
        self.listed.get(block).copied().unwrap_or_default()
    }

    pub(in crate::drive) fn of(&mut self, block: usize) -> &mut u32 {
        if self.listed.len() <= block {
            self.listed.resize(block + 1, 0);
        }
        &mut self.listed[block]
    }
}

impl From<Vec<u32>> for BlockErases {
    fn from(listed: Vec<u32>) -> BlockErases {
        BlockErases { blocks: listed.len(), listed }
    }
}
