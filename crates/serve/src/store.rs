//! The bytes of pages. The model knows pages by their versions only; the store has the bytes of each version that the
//! model may still find, on flash, in a cache, in a stripe or after a power cut. Parity needs no bytes: a page that is
//! reconstructed has its version.

use crate::slab::{Slab, Slot};
use flashkeep::simulation::Held;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// Old versions are looked for when the stored bytes have grown by half, and are at least this many.
const LEAST_SWEPT: u64 = 64 << 20;

/// The newest versions of a page that are always kept: some may be on their way between media.
const NEWEST: usize = 2;

/// Where the bytes of a version are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Zeros,
    In(Slot),
    /// A part of an unreadable page was written: its other bytes are lost.
    Incomplete,
}

impl Place {
    fn slot(self) -> Option<Slot> {
        if let Place::In(slot) = self { Some(slot) } else { None }
    }
}

#[derive(Debug)]
struct StoredVersion {
    version: u16,
    place: Place,
}

#[derive(Debug)]
struct StoredPage {
    /// What it holds for the host.
    now: Held,
    /// The version before the first one that was written here: its bytes are those of the start.
    first: u16,
    versions: SmallVec<[StoredVersion; 2]>,
}

impl StoredPage {
    /// A stored version.
    fn version(&self, version: u16) -> Option<&StoredVersion> {
        self.versions.iter().find(|stored| stored.version == version)
    }

    /// The version that it holds for the host, with its bytes; none for zeros.
    fn bytes_now(&self) -> Option<(u16, Slot)> {
        let Held::Version(now) = self.now else { return None };
        Some((now, self.version(now)?.place.slot()?))
    }
}

/// The bytes of the versions of all pages.
#[derive(Debug)]
pub(crate) struct Store {
    slab: Slab,
    pages: BTreeMap<u64, StoredPage>,
    /// The stored versions that are not zeros, when old ones were looked for last.
    swept: u64,
    sweeps: u64,
    page: Vec<u8>,
}

/// Consecutive pages of an ascending list as runs.
pub(crate) fn runs(pages: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some(run) if run.end == page => run.end += 1,
            _ => runs.push(page..page + 1),
        }
    }
    runs
}

/// What a version holds.
pub(crate) enum Bytes<'a> {
    Zeros,
    Data(&'a [u8]),
    /// The page is lost, or a part of it was when another part was written.
    Unreadable,
    /// The store does not have the bytes of a version that the model has found.
    Unknown,
}

impl Store {
    pub(crate) fn new(slab: Slab) -> Self {
        let page = vec![0; slab.page_bytes()];
        Store { slab, pages: BTreeMap::new(), swept: 0, sweeps: 0, page }
    }

    /// Bytes of a page.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.slab.page_bytes() as u64
    }

    /// Bytes of all stored versions that are not zeros.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.slab.used() * self.page_bytes()
    }

    /// How often old versions were looked for.
    pub(crate) fn sweeps(&self) -> u64 {
        self.sweeps
    }

    /// A write of a part of a page makes a version of it, or adds to the version that another part has made.
    pub(crate) fn write(
        &mut self,
        page: u64,
        version: u16,
        part: Range<usize>,
        data: &[u8],
    ) -> io::Result<()> {
        let stored = self.pages.entry(page).or_insert_with(|| StoredPage {
            now: Held::Zeros,
            first: version.wrapping_sub(1),
            versions: SmallVec::new(),
        });
        let at = stored.versions.iter().position(|stored| stored.version == version);
        let base = at.or_else(|| match stored.now {
            Held::Version(now) => stored.versions.iter().position(|stored| stored.version == now),
            Held::Zeros | Held::Unreadable => None,
        });
        let below = match base {
            Some(base) => stored.versions[base].place,
            None if stored.now == Held::Unreadable => Place::Incomplete,
            None => Place::Zeros,
        };
        if part.len() < self.page.len() {
            match below {
                Place::In(slot) => self.slab.read(slot, &mut self.page)?,
                Place::Zeros | Place::Incomplete => self.page.fill(0),
            }
        }
        let is_incomplete = below == Place::Incomplete && part.len() < self.page.len();
        self.page[part].copy_from_slice(data);
        if let Some(old) = at.and_then(|at| stored.versions[at].place.slot()) {
            self.slab.free(old);
        }
        let place = match is_incomplete {
            true => Place::Incomplete,
            false if self.page.iter().all(|&byte| byte == 0) => Place::Zeros,
            false => Place::In(self.slab.add(&self.page)?),
        };
        match at {
            Some(at) => stored.versions[at].place = place,
            None => stored.versions.push(StoredVersion { version, place }),
        }
        stored.now = Held::Version(version);
        Ok(())
    }

    /// Pages are zeros from now on.
    pub(crate) fn trim(&mut self, pages: &[u64]) {
        for page in pages {
            if let Some(stored) = self.pages.get_mut(page) {
                stored.now = Held::Zeros;
            }
        }
    }

    /// After a power cut, these pages hold this, and all others zeros.
    pub(crate) fn fall_back(&mut self, pages: &[(u64, Held)]) {
        self.pages.values_mut().for_each(|stored| stored.now = Held::Zeros);
        for (page, held) in pages {
            if let Some(stored) = self.pages.get_mut(page) {
                stored.now = *held;
            }
        }
    }

    /// What the page holds for the host, as far as its writes are known.
    pub(crate) fn now(&self, page: u64) -> Held {
        self.pages.get(&page).map_or(Held::Zeros, |stored| stored.now)
    }

    /// Pages from `pages` that may hold other bytes than zeros, ascending.
    pub(crate) fn written(&self, pages: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let holds = |stored: &StoredPage| match stored.now {
            Held::Zeros => false,
            Held::Unreadable => true,
            Held::Version(now) => stored.version(now).is_some_and(|stored| stored.place != Place::Zeros),
        };
        self.pages.range(pages).filter(move |(_, stored)| holds(stored)).map(|(&page, _)| page)
    }

    /// Runs of pages that have been written, whether or not they hold zeros now.
    pub(crate) fn known(&self, pages: Range<u64>) -> Vec<Range<u64>> {
        runs(self.pages.range(pages).map(|(&page, _)| page))
    }

    /// The pages that hold other bytes than zeros for the host, ascending: their versions, and where their bytes are.
    pub(crate) fn pages_now(&self) -> Vec<(u64, u16, Slot)> {
        let now = |(&page, stored): (&u64, &StoredPage)| {
            let (version, slot) = stored.bytes_now()?;
            Some((page, version, slot))
        };
        self.pages.iter().filter_map(now).collect()
    }

    /// The bytes in a slot.
    pub(crate) fn slot(&mut self, slot: Slot) -> io::Result<&[u8]> {
        self.slab.read(slot, &mut self.page)?;
        Ok(&self.page)
    }

    /// The bytes of what a page holds.
    pub(crate) fn read(&mut self, page: u64, held: Held) -> io::Result<Bytes<'_>> {
        let version = match held {
            Held::Zeros => return Ok(Bytes::Zeros),
            Held::Unreadable => return Ok(Bytes::Unreadable),
            Held::Version(version) => version,
        };
        // Contents from before the start have no bytes.
        let Some(stored) = self.pages.get(&page) else { return Ok(Bytes::Zeros) };
        match stored.version(version).map(|stored| stored.place) {
            Some(Place::Zeros) => Ok(Bytes::Zeros),
            Some(Place::Incomplete) => Ok(Bytes::Unreadable),
            Some(Place::In(slot)) => {
                self.slab.read(slot, &mut self.page)?;
                Ok(Bytes::Data(&self.page))
            }
            None if version == stored.first => Ok(Bytes::Zeros),
            None => Ok(Bytes::Unknown),
        }
    }

    /// Whether it is time to look for versions that nothing refers to any more.
    pub(crate) fn is_due(&self) -> bool {
        self.stored_bytes() >= LEAST_SWEPT && 2 * self.slab.used() >= 3 * self.swept
    }

    /// Frees the bytes of versions that are not needed any more: all but the newest few of each page, and those that
    /// `kept` names; none of a page for which it names nothing.
    pub(crate) fn sweep(&mut self, kept: impl Fn(u64) -> Option<Vec<u16>>) {
        for (&page, StoredPage { now, versions, .. }) in &mut self.pages {
            let newest = versions.len().saturating_sub(NEWEST);
            let Some(kept) = (if newest > 0 { kept(page) } else { None }) else { continue };
            let mut at = 0;
            versions.retain(|stored| {
                at += 1;
                let keep =
                    at > newest || *now == Held::Version(stored.version) || kept.contains(&stored.version);
                if let (false, Some(slot)) = (keep, stored.place.slot()) {
                    self.slab.free(slot);
                }
                keep
            });
        }
        self.swept = self.slab.used();
        self.sweeps += 1;
    }
}
