//! Places of old versions: a hidden LBA range of each member, beyond the addresses that it offers.

use crate::engine::{FixedMap, Member, Page};
use crate::schemes::SchemeOptions;

/// The old versions of pages. A page and its old version are on the same member.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct HiddenRange {
    first: u64,
    size: u32,
    members: Vec<Room>,
    /// Where the old version of a page is.
    kept: FixedMap<u64, Page>,
}

/// One member's part of it.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Room {
    /// Which page's old version each address had last; those from here on were never used.
    pages: Vec<u64>,
    free: Vec<u32>,
}

impl HiddenRange {
    pub(crate) fn new(options: &SchemeOptions<'_>) -> Self {
        HiddenRange {
            first: options.member_pages,
            size: options.hidden_pages,
            members: vec![Room::default(); usize::from(options.members)],
            kept: FixedMap::default(),
        }
    }

    /// Whether there is none at all.
    pub(crate) fn is_missing(&self) -> bool {
        self.size == 0
    }

    /// Whether the member can keep one more.
    pub(crate) fn has_room(&self, member: Member) -> bool {
        let room = &self.members[usize::from(member.0)];
        !room.free.is_empty() || (room.pages.len() as u32) < self.size
    }

    /// An address for the old version of a page.
    pub(crate) fn take(&mut self, member: Member, number: u64) -> Page {
        let room = &mut self.members[usize::from(member.0)];
        let slot = match room.free.pop() {
            Some(slot) => slot,
            None => {
                room.pages.push(number);
                room.pages.len() as u32 - 1
            }
        };
        room.pages[slot as usize] = number;
        let page = Page(self.first + u64::from(slot));
        self.kept.insert(number, page);
        page
    }

    /// Where the old version of a page is.
    pub(crate) fn of(&self, number: u64) -> Option<Page> {
        self.kept.get(&number).copied()
    }

    /// The old version of a page is needed no more.
    pub(crate) fn release(&mut self, member: Member, number: u64) {
        if let Some(page) = self.kept.remove(&number) {
            self.members[usize::from(member.0)].free.push((page.0 - self.first) as u32);
        }
    }

    /// Which page's old version is at an address of a member.
    pub(crate) fn page_at(&self, member: Member, page: Page) -> Option<u64> {
        let slot = page.0.checked_sub(self.first)?;
        let number = *self.members.get(usize::from(member.0))?.pages.get(slot as usize)?;
        (self.of(number) == Some(page)).then_some(number)
    }
}
