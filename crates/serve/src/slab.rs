//! Pages of bytes in numbered slots, in memory or in a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

#[derive(Debug)]
enum Backing {
    Memory(Vec<Box<[u8]>>),
    File(File),
}

/// Pages in slots; freed slots are reused.
#[derive(Debug)]
pub(crate) struct Slab {
    page_bytes: usize,
    backing: Backing,
    slots: u32,
    free: Vec<u32>,
}

impl Slab {
    /// Slots in memory.
    pub(crate) fn in_memory(page_bytes: usize) -> Self {
        Slab { page_bytes, backing: Backing::Memory(Vec::new()), slots: 0, free: Vec::new() }
    }

    /// Slots in a file, whose former contents are lost.
    pub(crate) fn in_file(path: &Path, page_bytes: usize) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Slab { backing: Backing::File(file), ..Slab::in_memory(page_bytes) })
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// The number of slots in use.
    pub(crate) fn used(&self) -> u64 {
        u64::from(self.slots) - self.free.len() as u64
    }

    fn offset(&self, Slot(slot): Slot) -> u64 {
        u64::from(slot) * self.page_bytes as u64
    }

    pub(crate) fn add(&mut self, page: &[u8]) -> io::Result<Slot> {
        let slot = Slot(self.free.last().copied().unwrap_or(self.slots));
        let offset = self.offset(slot);
        match &mut self.backing {
            Backing::File(file) => file.write_all_at(page, offset)?,
            Backing::Memory(pages) if slot.0 == self.slots => pages.push(page.into()),
            Backing::Memory(pages) => pages[slot.0 as usize] = page.into(),
        }
        if self.free.pop().is_none() {
            self.slots += 1;
        }
        Ok(slot)
    }

    pub(crate) fn read(&self, slot: Slot, page: &mut [u8]) -> io::Result<()> {
        match &self.backing {
            Backing::File(file) => file.read_exact_at(page, self.offset(slot)),
            Backing::Memory(pages) => {
                page.copy_from_slice(&pages[slot.0 as usize]);
                Ok(())
            }
        }
    }

    pub(crate) fn free(&mut self, slot: Slot) {
        if let Backing::Memory(pages) = &mut self.backing {
            pages[slot.0 as usize] = Box::default();
        }
        self.free.push(slot.0);
    }
}
