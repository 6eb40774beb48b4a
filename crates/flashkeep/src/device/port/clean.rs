//! Clean copies: the DRAM of a device that acknowledges no write early (`buffer.write_policy = "through"`). It holds
//! copies of what is below the port, or is being written there, and serves reads from them. Without it nothing is lost.
//!
//! A written page is copied when it arrives, a page that is read when the read ends. Where both happen at a time, the
//! write prevails: the read fills nothing.

use super::cache::Hits;
use super::lru::{CachedSectors, Lru};
use crate::kernel::{FixedMap, SimTime};
use std::collections::BTreeMap;

/// A page that a request reads from below the port.
#[derive(Clone, Copy, Debug)]
struct Fill {
    page: u64,
    sectors: u64,
    /// Its place among the pages of the request.
    place: u32,
    /// Its number among all fills.
    number: u64,
}

/// The reads of a page that are under way.
#[derive(Clone, Copy, Debug)]
struct PageReads {
    count: u32,
    /// Fills with lower numbers have been overtaken by a write.
    valid_from: u64,
}

/// The copies.
#[derive(Clone, Debug)]
pub(super) struct CleanCopies<C> {
    lru: Lru<C>,
    reads: FixedMap<u64, PageReads>,
    /// The fills of each request that reads.
    fills: FixedMap<u32, Vec<Fill>>,
    /// The number of fills so far.
    begun: u64,
    /// Fills whose read has ended, or will at a known instant.
    arriving: BTreeMap<(SimTime, u64), (Fill, C)>,
    /// The failures below the port that it knows of.
    failures: u64,
    /// Sector hits and misses.
    pub(super) hits: Hits,
}

impl<C: Copy + Default> CleanCopies<C> {
    /// Room for this many sectors, none for 0.
    pub(super) fn new(sectors: u64) -> Option<Box<Self>> {
        let copies = || CleanCopies {
            lru: Lru::new(sectors),
            reads: FixedMap::default(),
            fills: FixedMap::default(),
            begun: 0,
            arriving: BTreeMap::new(),
            failures: 0,
            hits: Hits::default(),
        };
        (sectors > 0).then(|| Box::new(copies()))
    }

    /// Takes what has been read by now. After a failure below the port no copy is kept: a write that was under way may
    /// have had no effect.
    pub(super) fn go_on(&mut self, now: SimTime, failures: u64) {
        if std::mem::replace(&mut self.failures, failures) != failures {
            self.clear();
        }
        while let Some(first) = self.arriving.first_entry().filter(|first| first.key().0 <= now) {
            let (fill, contents) = first.remove();
            if self.end_read(fill) {
                self.add(fill.page, fill.sectors, contents);
            }
        }
    }

    /// The sectors that it holds of a page.
    pub(super) fn sectors(&self, page: u64) -> u64 {
        self.lru.get(page).map_or(0, |held| held.sectors)
    }

    /// A read finds these sectors of a page, all of which it holds: marks the page as used now and returns its contents.
    pub(super) fn hit(&mut self, page: u64, sectors: u64) -> C {
        self.hits.read_hits += u64::from(sectors.count_ones());
        self.lru.touch(page).expect("the copy was found").what
    }

    /// A request reads a page of which it lacks these sectors.
    pub(super) fn miss(&mut self, sectors: u64) {
        self.hits.read_misses += u64::from(sectors.count_ones());
    }

    /// A request reads sectors of a page from below the port.
    pub(super) fn begin_read(&mut self, request: u32, page: u64, sectors: u64, place: u32) {
        if sectors == 0 {
            return;
        }
        let number = self.begun;
        self.begun += 1;
        self.reads.entry(page).or_insert(PageReads { count: 0, valid_from: number }).count += 1;
        self.fills.entry(request).or_default().push(Fill { page, sectors, place, number });
    }

    /// A request that reads ends at an instant, with these contents at each place; none where the read failed.
    pub(super) fn end_request(&mut self, request: u32, at: SimTime, contents: impl Fn(u32) -> Option<C>) {
        for fill in self.fills.remove(&request).unwrap_or_default() {
            match contents(fill.place) {
                Some(contents) => drop(self.arriving.insert((at, fill.number), (fill, contents))),
                None => drop(self.end_read(fill)),
            }
        }
    }

    /// A read of a page is over; returns whether no write has overtaken it.
    fn end_read(&mut self, fill: Fill) -> bool {
        let reads = self.reads.get_mut(&fill.page).expect("it was counted");
        let PageReads { count, valid_from } = *reads;
        reads.count -= 1;
        if count == 1 {
            self.reads.remove(&fill.page);
        }
        fill.number >= valid_from
    }

    /// Sectors of a page are written.
    pub(super) fn write(&mut self, page: u64, sectors: u64, contents: C) {
        self.overtake(page);
        let hit = self.sectors(page) & sectors;
        self.hits.write_hits += u64::from(hit.count_ones());
        self.hits.write_misses += u64::from((sectors & !hit).count_ones());
        self.add(page, sectors, contents);
    }

    /// Adds sectors of a page, in place of what was used longest ago.
    fn add(&mut self, page: u64, sectors: u64, contents: C) {
        let held = CachedSectors { sectors: 0, what: contents };
        let slot = self.lru.touch_slot(page).unwrap_or_else(|| self.lru.insert(page, held, 0));
        let needed = sectors & !self.lru.at(slot).sectors;
        while self.lru.free() < u64::from(needed.count_ones()) {
            self.lru.evict(0);
        }
        self.lru.add(slot, needed, contents);
    }

    /// A page changes below the port, and no copy of it stays.
    pub(super) fn forget(&mut self, page: u64) {
        self.overtake(page);
        self.lru.remove(page);
    }

    /// Reads of a page that are under way fill nothing.
    fn overtake(&mut self, page: u64) {
        if let Some(reads) = self.reads.get_mut(&page) {
            reads.valid_from = self.begun;
        }
    }

    /// Drops all copies; reads that are under way fill nothing.
    pub(super) fn clear(&mut self) {
        self.lru.clear();
        self.reads.values_mut().for_each(|reads| reads.valid_from = self.begun);
    }

    /// The power was cut: the same, and no read is under way any more.
    pub(super) fn cut(&mut self) {
        self.lru.clear();
        self.reads.clear();
        self.fills.clear();
        self.arriving.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(copies: &mut CleanCopies<u64>, request: u32, page: u64, sectors: u64) {
        copies.begin_read(request, page, sectors, 0);
    }

    #[test]
    fn a_page_is_there_when_its_read_has_ended() {
        let mut copies = CleanCopies::new(8).unwrap();
        read(&mut copies, 1, 5, 0b11);
        copies.go_on(SimTime(10), 0);
        assert_eq!(copies.sectors(5), 0);
        copies.end_request(1, SimTime(20), |_| Some(7));
        copies.go_on(SimTime(19), 0);
        assert_eq!(copies.sectors(5), 0);
        copies.go_on(SimTime(20), 0);
        assert_eq!((copies.sectors(5), copies.hit(5, 0b11)), (0b11, 7));
        assert!(copies.reads.is_empty() && copies.fills.is_empty());
    }

    #[test]
    fn a_write_prevails_over_reads_that_began_before_it() {
        let mut copies = CleanCopies::new(8).unwrap();
        read(&mut copies, 1, 5, 0b1111);
        copies.write(5, 0b1, 8);
        read(&mut copies, 2, 5, 0b1111);
        copies.end_request(1, SimTime(20), |_| Some(7));
        copies.go_on(SimTime(20), 0);
        assert_eq!((copies.sectors(5), copies.hit(5, 0b1)), (0b1, 8));
        copies.end_request(2, SimTime(30), |_| Some(8));
        copies.go_on(SimTime(30), 0);
        assert_eq!((copies.sectors(5), copies.hit(5, 0b1111)), (0b1111, 8));
        // And a trim, and a read that fails.
        read(&mut copies, 3, 5, 0b1111);
        copies.forget(5);
        copies.end_request(3, SimTime(40), |_| Some(8));
        read(&mut copies, 4, 5, 0b1111);
        copies.end_request(4, SimTime(40), |_| None);
        copies.go_on(SimTime(40), 0);
        assert_eq!(copies.sectors(5), 0);
        assert!(copies.reads.is_empty() && copies.arriving.is_empty());
    }

    #[test]
    fn a_failure_behind_it_leaves_no_copies() {
        let mut copies = CleanCopies::new(8).unwrap();
        copies.write(5, 0b1, 8);
        read(&mut copies, 1, 6, 0b1);
        copies.end_request(1, SimTime(10), |_| Some(3));
        copies.go_on(SimTime(20), 1);
        assert_eq!((copies.sectors(5), copies.sectors(6)), (0, 0));
        assert!(copies.reads.is_empty());
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let mut copies = CleanCopies::new(4).unwrap();
        (1..=4).for_each(|page| copies.write(page, 1, page));
        copies.hit(1, 1);
        // Two sectors of a page that is there with another one.
        copies.write(3, 0b110, 9);
        let held: Vec<u64> = (1..=4).map(|page| copies.sectors(page)).collect();
        assert_eq!(held, [1, 0, 0b111, 0]);
        assert_eq!(copies.hits, Hits { read_hits: 1, write_misses: 6, ..Hits::default() });
    }
}
