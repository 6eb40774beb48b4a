//! The map of a log: the place of each page, and the page and stripe of each place. Flat arrays, whose empty state is
//! zero.

/// A page of a member: its superpage and its member in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct LogPlace(pub(super) u32);

/// The bit of a place that holds its stripe's parity.
const PARITY: u8 = 0x80;

/// Stripes of a superpage are numbered from 1; this many fit beside the parity's bit, and in 255 members.
pub(super) const MOST_STRIPES: u8 = 0x7F;

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Places {
    members: u8,
    /// The bits of a place that are its member.
    shift: u32,
    /// Each page's current place, plus one.
    map: Vec<u32>,
    /// The page that each place was programmed for; it stays until the place is programmed again.
    owner: Vec<u32>,
    /// The stripe in its superpage that each place belongs to, and whether as its parity; 0 where it is erased.
    stripe: Vec<u8>,
    /// Which places are their page's current ones, a bit each.
    current: Vec<u64>,
    mapped: u64,
}

impl Places {
    pub(super) fn new(members: u8, superpages: u32, pages: u64) -> Self {
        let shift = u32::from(members).next_power_of_two().trailing_zeros();
        let places = u64::from(superpages) << shift;
        assert!(places < u64::from(u32::MAX), "places have 32 bits");
        let (places, pages) = (places as usize, pages as usize);
        Places {
            members,
            shift,
            map: vec![0; pages],
            owner: vec![0; places],
            stripe: vec![0; places],
            current: vec![0; places.div_ceil(64)],
            mapped: 0,
        }
    }

    #[inline]
    pub(super) fn at(&self, superpage: u32, member: u8) -> LogPlace {
        LogPlace(superpage << self.shift | u32::from(member))
    }

    /// Prefetches a page's place.
    #[inline]
    pub(super) fn prefetch(&self, page: u32) {
        crate::kernel::prefetch(&self.map, page as usize);
    }

    #[inline]
    pub(super) fn superpage(&self, place: LogPlace) -> u32 {
        place.0 >> self.shift
    }

    #[inline]
    pub(super) fn member(&self, place: LogPlace) -> u8 {
        (place.0 & ((1 << self.shift) - 1)) as u8
    }

    /// The page's current place.
    #[inline]
    pub(super) fn find(&self, page: u32) -> Option<LogPlace> {
        self.map[page as usize].checked_sub(1).map(LogPlace)
    }

    /// How many pages have a place.
    pub(super) fn mapped(&self) -> u64 {
        self.mapped
    }

    #[inline]
    pub(super) fn map(&mut self, page: u32, place: LogPlace) {
        self.map[page as usize] = place.0 + 1;
        self.current[place.0 as usize / 64] |= 1 << (place.0 % 64);
        self.mapped += 1;
    }

    #[inline]
    pub(super) fn unmap(&mut self, page: u32, place: LogPlace) {
        self.map[page as usize] = 0;
        self.current[place.0 as usize / 64] &= !(1 << (place.0 % 64));
        self.mapped -= 1;
    }

    /// The page's current place is another from now on. The map is written without being looked at.
    #[inline]
    pub(super) fn remap(&mut self, page: u32, from: LogPlace, to: LogPlace) {
        self.map[page as usize] = to.0 + 1;
        self.current[from.0 as usize / 64] &= !(1 << (from.0 % 64));
        self.current[to.0 as usize / 64] |= 1 << (to.0 % 64);
    }

    #[inline]
    pub(super) fn occupy(&mut self, place: LogPlace, stripe: u8, page: u32) {
        self.stripe[place.0 as usize] = stripe;
        self.owner[place.0 as usize] = page;
    }

    pub(super) fn occupy_parity(&mut self, place: LogPlace, stripe: u8) {
        self.stripe[place.0 as usize] = stripe | PARITY;
    }

    /// Keeps only the pages and stripes of places; returns the places that were current.
    pub(super) fn restart(&mut self) -> Vec<u64> {
        self.map.fill(0);
        self.mapped = 0;
        let none = vec![0; self.current.len()];
        std::mem::replace(&mut self.current, none)
    }

    /// The place is not programmed, or holds nothing of use.
    pub(super) fn vacate(&mut self, place: LogPlace) {
        self.stripe[place.0 as usize] = 0;
    }

    /// These places are erased; none of them is current.
    pub(super) fn erase(&mut self, places: std::ops::Range<u32>) {
        self.stripe[places.start as usize..places.end as usize].fill(0);
    }

    /// The page that the place was programmed for.
    #[inline]
    pub(super) fn owner(&self, place: LogPlace) -> u32 {
        self.owner[place.0 as usize]
    }

    /// The stripe in its superpage that the place belongs to; 0 where it is erased.
    #[inline]
    pub(super) fn stripe(&self, place: LogPlace) -> u8 {
        self.stripe[place.0 as usize] & !PARITY
    }

    pub(super) fn is_parity(&self, place: LogPlace) -> bool {
        self.stripe[place.0 as usize] & PARITY != 0
    }

    pub(super) fn is_data(&self, place: LogPlace) -> bool {
        (1..PARITY).contains(&self.stripe[place.0 as usize])
    }

    /// Whether it is its page's current place.
    #[inline]
    pub(super) fn is_current(&self, place: LogPlace) -> bool {
        self.current[place.0 as usize / 64] >> (place.0 % 64) & 1 != 0
    }

    /// The first current place in a range.
    pub(super) fn next_current(&self, range: std::ops::Range<u32>) -> Option<LogPlace> {
        let mut at = range.start;
        while at < range.end {
            let word = self.current[at as usize / 64] >> (at % 64);
            if word != 0 {
                at += word.trailing_zeros();
                return (at < range.end).then_some(LogPlace(at));
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// The places of a superpage.
    pub(super) fn of_superpage(&self, superpage: u32) -> impl Iterator<Item = LogPlace> + use<> {
        let first = self.at(superpage, 0).0;
        (first..first + u32::from(self.members)).map(LogPlace)
    }

    /// The units of the stripe that the place belongs to, itself among them, by member.
    pub(super) fn units(&self, place: LogPlace) -> impl Iterator<Item = LogPlace> + '_ {
        let stripe = self.stripe(place);
        self.of_superpage(self.superpage(place)).filter(move |&unit| self.stripe(unit) == stripe)
    }

    /// One unit of each stripe of a superpage.
    pub(super) fn stripes(&self, superpage: u32) -> impl Iterator<Item = LogPlace> + '_ {
        let first = move |place: &LogPlace| {
            let stripe = self.stripe(*place);
            stripe != 0
                && self.of_superpage(superpage).find(|&other| self.stripe(other) == stripe) == Some(*place)
        };
        self.of_superpage(superpage).filter(first)
    }
}
