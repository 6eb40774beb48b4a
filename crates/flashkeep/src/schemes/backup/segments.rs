//! The free segments of all disks: how far each is written, which pages in it are current, and the map from
//! pages to places.

use super::address::BackupLayout;
use crate::engine::{FixedMap, Page};

/// No page: the page that was there is out of date.
const DEAD: u32 = u32::MAX;

/// A free segment.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct FreeSegment {
    /// The page that each place written so far holds.
    pages: Vec<u32>,
    /// How many of these are current.
    live: u32,
    /// It is being written: not all that it holds is known yet.
    open: bool,
}

/// The free segments of a disk.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct DiskSegments {
    segments: Vec<FreeSegment>,
    /// How many hold something.
    used: u32,
}

/// All free segments, and the map: which page has which place in them.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Segments {
    layout: BackupLayout,
    disks: Vec<DiskSegments>,
    map: FixedMap<u32, u32>,
    /// The most entries that the map ever had.
    pub(super) most: u32,
}

impl Segments {
    pub(super) fn new(layout: BackupLayout) -> Self {
        let segments = vec![FreeSegment::default(); layout.free_segments() as usize];
        let disks = vec![DiskSegments { segments, used: 0 }; usize::from(layout.disks)];
        Segments { layout, disks, map: FixedMap::default(), most: 0 }
    }

    /// The place of a page in a free segment of its disk.
    #[inline]
    pub(super) fn place_of(&self, page: Page) -> Option<Page> {
        self.map.get(&page.low()).map(|&place| Page::of(place))
    }

    /// The page that a place in a free segment holds, if that is current.
    pub(super) fn page_at(&self, disk: usize, place: Page) -> Option<Page> {
        let number = self.layout.free_at(place)?;
        let within = place.low() % self.layout.segment;
        let page = *self.disks[disk].segments[number as usize].pages.get(within as usize)?;
        (page != DEAD).then_some(Page::of(page))
    }

    /// How many entries the map has.
    pub(super) fn entries(&self) -> u32 {
        self.map.len() as u32
    }

    /// How many of a disk's free segments hold something.
    pub(super) fn used(&self, disk: usize) -> u32 {
        self.disks[disk].used
    }

    /// Where a segment can be written next, and how many pages it still takes.
    pub(super) fn room(&self, disk: usize, number: u32) -> (Page, u32) {
        let written = self.disks[disk].segments[number as usize].pages.len() as u32;
        (self.layout.free_start(number).plus(written), self.layout.segment - written)
    }

    /// The segment nearest to the head that has room, and how far away it is; of two, the one ahead.
    pub(super) fn nearest_with_room(&self, disk: usize, head: Page) -> Option<(u32, u32)> {
        self.nearest(disk, head, |segment| (segment.pages.len() as u32) < self.layout.segment)
    }

    /// The segment nearest to the head that holds something.
    pub(super) fn nearest_in_use(&self, disk: usize, head: Page) -> Option<u32> {
        self.nearest(disk, head, |segment| segment.live > 0).map(|(number, _)| number)
    }

    fn nearest(&self, disk: usize, head: Page, suits: impl Fn(&FreeSegment) -> bool) -> Option<(u32, u32)> {
        let (segments, layout) = (&self.disks[disk].segments, &self.layout);
        let ahead = layout.free_before(head);
        let far = |number: u32| (number, layout.distance(head, layout.free_start(number)));
        let found = |number: &u32| suits(&segments[*number as usize]);
        let up = (ahead..segments.len() as u32).find(found).map(far);
        // Nothing below need be looked at that is farther than that.
        let near = |number: &u32| up.is_none_or(|(_, distance)| far(*number).1 < distance);
        let down = (0..ahead).rev().take_while(near).find(found).map(far);
        down.or(up)
    }

    /// Up to `count` segments beside each other that hold something, `number` among them, ascending.
    pub(super) fn around(&self, disk: usize, number: u32, count: u32) -> std::ops::Range<u32> {
        let segments = &self.disks[disk].segments;
        let live = |number: u32| segments.get(number as usize).is_some_and(|segment| segment.live > 0);
        let (mut first, mut end) = (number, number + 1);
        while end - first < count && live(end) {
            end += 1;
        }
        while end - first < count && first > 0 && live(first - 1) {
            first -= 1;
        }
        first..end
    }

    /// The current pages of a segment, ascending: which place, and whose.
    pub(super) fn current(&self, disk: usize, number: u32) -> impl Iterator<Item = (Page, Page)> + '_ {
        let start = self.layout.free_start(number);
        let pages = (0..).zip(&self.disks[disk].segments[number as usize].pages);
        pages
            .filter(|&(_, &page)| page != DEAD)
            .map(move |(within, &page)| (start.plus(within), Page::of(page)))
    }

    /// The next `count` places of a segment are being written.
    pub(super) fn begin(&mut self, disk: usize, number: u32, count: u32) {
        let disk = &mut self.disks[disk];
        let segment = &mut disk.segments[number as usize];
        disk.used += u32::from(segment.pages.is_empty());
        segment.pages.resize(segment.pages.len() + count as usize, DEAD);
        segment.open = true;
    }

    /// A place that has been written holds a page.
    pub(super) fn enter(&mut self, disk: usize, place: Page, page: Page) {
        self.remove(page);
        let number = self.layout.free_at(place).expect("entries are of free segments");
        let segment = &mut self.disks[disk].segments[number as usize];
        segment.pages[(place.low() % self.layout.segment) as usize] = page.low();
        segment.live += 1;
        self.map.insert(page.low(), place.low());
        self.most = self.most.max(self.map.len() as u32);
    }

    /// The places that were being written are known.
    pub(super) fn end(&mut self, disk: usize, number: u32) {
        self.disks[disk].segments[number as usize].open = false;
        self.reset_if_dead(disk, number);
    }

    /// After a power loss: no segment is being written.
    pub(super) fn close_all(&mut self) {
        for disk in 0..self.disks.len() {
            (0..self.layout.free_segments()).for_each(|number| self.end(disk, number));
        }
    }

    /// What a free segment has of a page is out of date.
    pub(super) fn remove(&mut self, page: Page) {
        let Some(place) = self.map.remove(&page.low()).map(Page::of) else { return };
        let disk = self.layout.disk_of(page);
        let number = self.layout.free_at(place).expect("entries are of free segments");
        let segment = &mut self.disks[disk].segments[number as usize];
        segment.pages[(place.low() % self.layout.segment) as usize] = DEAD;
        segment.live -= 1;
        self.reset_if_dead(disk, number);
    }

    /// A segment none of which is current is free again from its first page.
    fn reset_if_dead(&mut self, disk: usize, number: u32) {
        let disk = &mut self.disks[disk];
        let segment = &mut disk.segments[number as usize];
        if segment.live == 0 && !segment.open && !segment.pages.is_empty() {
            segment.pages.clear();
            disk.used -= 1;
        }
    }

    /// Forgets all that a disk's free segments hold; `tell` is called with each page. A segment that is being written
    /// remains.
    pub(super) fn clear(&mut self, disk: usize, mut tell: impl FnMut(Page)) {
        for number in 0..self.layout.free_segments() {
            let segment = &mut self.disks[disk].segments[number as usize];
            for page in segment.pages.iter_mut().filter(|page| **page != DEAD) {
                self.map.remove(page);
                tell(Page::of(std::mem::replace(page, DEAD)));
            }
            segment.live = 0;
            self.reset_if_dead(disk, number);
        }
    }

    /// The map and what each segment says of itself are the same.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut entries = 0;
        for (number, disk) in self.disks.iter().enumerate() {
            assert_eq!(disk.used as usize, disk.segments.iter().filter(|s| !s.pages.is_empty()).count());
            for segment in 0..disk.segments.len() as u32 {
                let this = &disk.segments[segment as usize];
                assert!(this.pages.len() as u32 <= self.layout.segment);
                assert!(this.open || this.live > 0 || this.pages.is_empty(), "a dead segment is free again");
                assert_eq!(this.live as usize, self.current(number, segment).count());
                for (place, page) in self.current(number, segment) {
                    assert_eq!((self.place_of(page), self.layout.disk_of(page)), (Some(place), number));
                    entries += 1;
                }
            }
        }
        assert_eq!(entries, self.map.len());
    }
}
