//! Recovery of log-structured schemes after a power loss.
//!
//! The OOB area of every page names its logical page, its version, and the stripe of its superpage that it belongs
//! to, as data or as parity. Recovery gets these as places. A running parity is lost: pages that waited for
//! it are in a stripe without parity, and move to another stripe. So do pages of a stripe with more than one
//! unit still to be programmed; if only one was missing, it is reconstructed from the others.
//!
//! Recovery closes superblocks that were open. A page that GC has copied is still at its source, unless all
//! pages of its superblock have been copied; the source is then empty, as it was about to be. Either way one
//! superblock can be erased at once: the source of the copies or their destination. There is none only if the
//! host has written to the destination and the replaced versions in the source were not durable, or if a member is
//! gone, whose part of the destination or of the source nothing brings back. Then the rests of superblocks that were
//! open are used to collect another one before the host gets any of them; over devices, which can write any page again, also
//! superpages of others without current pages.

use super::clean::Begin;
use super::frontier::WriteFrontier;
use super::places::LogPlace;
use super::superblocks::SuperblockState;
use super::{LogStripes, StripeLog};
use crate::blocks::{Collection, Levelled};
use crate::engine::{Contents, Member, OobData, Page, Recoverable, Token, Version, View};
use std::collections::VecDeque;
use std::ops::Range;

/// A place that holds a page.
#[derive(Clone, Copy, Debug)]
struct Copy {
    page: u32,
    version: Option<u16>,
    /// The number of its write; 0 where only its stripe knows it.
    sequence: u64,
    place: LogPlace,
    /// No member has it any more, and it was the current version: an older one must not be taken for it.
    lost: bool,
}

/// Superpages of a superblock that can be filled.
#[derive(Clone, Debug)]
struct Rest {
    superblock: u32,
    superpages: Range<u32>,
}

/// A superblock to clean, and how many of its pages have no copy elsewhere.
struct Victim {
    superblock: u32,
    alone: u32,
}

impl Copy {
    fn is_newer_than(&self, other: &Copy) -> bool {
        match (self.version, other.version) {
            _ if self.lost || other.lost => self.lost && !other.lost,
            (Some(version), Some(other)) => (version.wrapping_sub(other) as i16) > 0,
            (version, other) => version > other,
        }
    }
}

impl LogStripes {
    /// One unit of each stripe.
    fn all_stripes(&self) -> Vec<LogPlace> {
        let superblocks =
            (0..self.superblocks.count()).filter(|&superblock| !self.superblocks.is_free(superblock));
        let superpages = superblocks.flat_map(|superblock| self.superblocks.superpages(superblock));
        superpages.flat_map(|superpage| self.places.stripes(superpage)).collect()
    }

    /// Of all copies of a page the newest is the page; of several that are the same, the oldest copy, unless all of
    /// what its superblock holds has been copied. Returns the copies of each page that are the same, the chosen one
    /// first.
    fn choose(&mut self, mut copies: Vec<Copy>) -> Vec<Vec<Copy>> {
        copies.sort_by_key(|copy| (copy.page, copy.sequence));
        let mut chosen: Vec<Vec<Copy>> = Vec::new();
        for of_page in copies.chunk_by(|one, other| one.page == other.page) {
            let mut newest = of_page[0];
            for copy in of_page {
                newest = if copy.is_newer_than(&newest) { *copy } else { newest };
            }
            let same = |copy: &&Copy| !newest.is_newer_than(copy);
            chosen.push(of_page.iter().filter(same).copied().collect());
        }
        // The first copy of each list is chosen as long as it is there; the last one stays.
        let mut of_superblock = vec![Vec::new(); self.superblocks.count() as usize];
        for (at, same) in chosen.iter().enumerate() {
            of_superblock[self.superblock_of(same[0].place) as usize].push(at);
        }
        let mut superblock = 0;
        while superblock < of_superblock.len() {
            let held: Vec<usize> = std::mem::take(&mut of_superblock[superblock]);
            if held.is_empty() || held.iter().any(|&at| chosen[at].len() < 2) {
                of_superblock[superblock] = held;
                superblock += 1;
                continue;
            }
            for at in held {
                chosen[at].remove(0);
                of_superblock[self.superblock_of(chosen[at][0].place) as usize].push(at);
            }
            superblock = 0;
        }
        for same in &chosen {
            self.places.map(same[0].page, same[0].place);
            self.superblocks.more(self.superblock_of(same[0].place));
        }
        chosen
    }

    /// A copy of a page in another superblock than that of the first, in none of these rests.
    fn elsewhere(&self, same: &[Copy], rests: &[Rest]) -> Option<LogPlace> {
        let first = self.superblock_of(same[0].place);
        let is_kept = |place: LogPlace| {
            let superpage = self.places.superpage(place);
            !rests.iter().any(|rest| rest.superpages.contains(&superpage))
        };
        let mut places = same.iter().map(|copy| copy.place);
        places.find(|&place| self.superblock_of(place) != first && is_kept(place))
    }

    /// The part of a superblock over devices that can be written again: its longest run of superpages without a current
    /// page, unless that is all of it.
    fn not_current_of(&self, superblock: u32) -> Option<Rest> {
        let is_free =
            |superpage: u32| self.places.of_superpage(superpage).all(|place| !self.places.is_current(place));
        let superpages: Vec<u32> = self.superblocks.superpages(superblock).collect();
        let runs = superpages.chunk_by(|&one, &other| is_free(one) == is_free(other));
        let longest = runs.filter(|run| is_free(run[0])).max_by_key(|run| run.len())?;
        let rest = longest[0]..longest[0] + longest.len() as u32;
        (longest.len() < superpages.len()).then_some(Rest { superblock, superpages: rest })
    }
}

impl Recoverable for StripeLog {
    /// Finds out what there is. Tells what members lack that could be brought back.
    fn recover(&mut self, view: &View<'_>, lacks: &mut dyn FnMut(Member, Page)) {
        self.stripes.frontier = WriteFrontier::none();
        self.stripes.streams.restart();
        self.stripes.rests = VecDeque::new();
        (self.cleaning, self.migration, self.moving, self.erasing) = (None, None, false, 0);
        self.piece = super::Piece::default();
        self.guard.forget_waiting();
        (self.wants_room, self.before, self.restarted) = (true, false, true);
        self.unchecked.clear();
        self.stripe_rebuilds.clear();
        let were_current = self.stripes.places.restart();
        if self.medium.oob {
            self.drop_erased(view);
        }
        let open = self.stripes.superblocks.restart();
        self.health.restart(self.stripes.superblocks.count());
        self.look_up_wear(view);
        let mut copies = Vec::new();
        for stripe in self.stripes.all_stripes() {
            self.examine(stripe, view, &were_current, &mut copies, lacks);
        }
        let chosen = self.stripes.choose(copies);
        let has_room = self.stripes.superblocks.free() > 0 || self.can_erase_immediately();
        let victim = if has_room { None } else { self.find_room(&open, &chosen, view) };
        for stripe in self.stripes.all_stripes() {
            self.count_stripe(stripe);
        }
        if let Some(victim) = victim {
            self.clean_into_rests(&victim, &chosen);
        }
        if !self.medium.oob {
            self.lose_journal(view);
        }
    }

    fn oob(&self, page: Page, view: &View<'_>) -> Option<OobData> {
        self.stripes.oob_of(page, view)
    }
}

impl StripeLog {
    /// An erase is planned: how often each member has erased the superblock before, where recovery asks for that.
    pub(super) fn note_erases_before(&mut self, superblock: u32, view: &View<'_>) {
        if !self.medium.oob {
            return;
        }
        let first = Page::of(self.stripes.superblocks.extent(superblock).start);
        let erases = (0..self.members).map(|member| view.erases_at(Member(member), first)).collect();
        self.erases_before.insert(superblock, erases);
    }

    /// A superblock whose erase had begun in some member holds nothing that is current: the erase waited for all that
    /// was written before. What other members still have may be older than a page that cannot be read.
    fn drop_erased(&mut self, view: &View<'_>) {
        let before = std::mem::take(&mut self.erases_before);
        for superblock in (0..self.stripes.superblocks.count())
            .filter(|&superblock| self.stripes.superblocks.state(superblock) == SuperblockState::Erasing)
        {
            let before = before.get(&superblock);
            let is_gone = |place: LogPlace| {
                let (member, page) = self.stripes.address(place);
                let is_erased = view.alive(member) && view.is_erased(member, page);
                // What has been replaced already may not have been programmed yet.
                let has_begun = || {
                    before.is_none_or(|before| view.erases_at(member, page) > before[usize::from(member.0)])
                };
                self.stripes.places.stripe(place) != 0 && is_erased && has_begun()
            };
            if self
                .stripes
                .places
                .of_superpage(self.stripes.superblocks.superpages(superblock).start)
                .any(is_gone)
            {
                self.stripes.places.erase(self.stripes.places_of(superblock));
            }
        }
    }

    /// The rest of a superblock that was being filled: all after the last superpage in which anything was
    /// programmed.
    fn unused_of(&self, superblock: u32, view: &View<'_>) -> Option<Rest> {
        let is_unused = |superpage: u32| {
            let nothing = self
                .stripes
                .places
                .of_superpage(superpage)
                .all(|place| self.stripes.places.stripe(place) == 0);
            nothing
                && (!self.medium.erases_first
                    || (0..self.members).all(|member| view.is_erased(Member(member), Page::of(superpage))))
        };
        let superpages = self.stripes.superblocks.superpages(superblock);
        let first = superpages.clone().rev().take_while(|&superpage| is_unused(superpage)).last()?;
        (superpages.start < first).then_some(Rest { superblock, superpages: first..superpages.end })
    }

    /// Where no superblock is free, nor can be at once, the host, or a cleaning, continues in the rests of others.
    /// Returns the superblock that is cleaned into that: the one of whose pages the fewest have no copy elsewhere, of
    /// those whose pages fit there. Over devices, where none does, copies make room whose pages have another one: of
    /// a cleaning that the power loss interrupted, parts of both sides may be gone.
    fn find_room(&mut self, open: &[u32], chosen: &[Vec<Copy>], view: &View<'_>) -> Option<Victim> {
        let unused: Vec<Rest> =
            open.iter().filter_map(|&superblock| self.unused_of(superblock, view)).collect();
        let found = match self.victim_for(&unused, chosen) {
            None if !self.medium.erases_first => self.make_rests(open, chosen),
            victim => victim.map(|victim| (unused.clone(), victim)),
        };
        let (rests, victim) = found.map_or((unused, None), |(rests, victim)| (rests, Some(victim)));
        for Rest { superblock, superpages } in rests {
            for superpage in superpages.clone() {
                for place in self.stripes.places.of_superpage(superpage) {
                    self.stripes.places.vacate(place);
                    self.health.missing.set(place.0, false);
                }
            }
            self.stripes.superblocks.reopen(superblock);
            let widest = self.policy.widths.after(self.stripes.superblocks.erases(superblock));
            self.stripes.rests.push_back(WriteFrontier::new(superblock, superpages, widest));
        }
        victim
    }

    /// The rests, and the victim whose pages fit there, if copies that have another one are dropped: in superblocks that
    /// were being filled first.
    fn make_rests(&self, open: &[u32], chosen: &[Vec<Copy>]) -> Option<(Vec<Rest>, Victim)> {
        let mut rests: Vec<Rest> = self
            .stripes
            .superblocks
            .idle()
            .filter_map(|superblock| self.stripes.not_current_of(superblock))
            .collect();
        rests
            .sort_by_key(|rest| (!open.contains(&rest.superblock), std::cmp::Reverse(rest.superpages.len())));
        (1..=rests.len()).find_map(|count| {
            let victim = self.victim_for(&rests[..count], chosen)?;
            Some((rests[..count].to_vec(), victim))
        })
    }

    fn victim_for(&self, rests: &[Rest], chosen: &[Vec<Copy>]) -> Option<Victim> {
        let mut alone = vec![0; self.stripes.superblocks.count() as usize];
        for same in chosen.iter().filter(|same| self.stripes.elsewhere(same, rests).is_none()) {
            alone[self.stripes.superblock_of(same[0].place) as usize] += 1;
        }
        let all: u32 = rests.iter().map(|rest| self.room(rest.superpages.clone(), false)).sum();
        let is_rest = |superblock: u32| rests.iter().any(|rest| rest.superblock == superblock);
        let idle = self.stripes.superblocks.idle().filter(|&superblock| !is_rest(superblock));
        let victims = idle.map(|superblock| Victim { superblock, alone: alone[superblock as usize] });
        victims.filter(|victim| victim.alone <= all).min_by_key(|victim| victim.alone)
    }

    /// Cleans the superblock into the rests.
    fn clean_into_rests(&mut self, victim: &Victim, chosen: &[Vec<Copy>]) {
        let begun =
            |rest: &WriteFrontier| Rest { superblock: rest.superblock, superpages: rest.superpages() };
        let begun: Vec<Rest> = self.stripes.rests.iter().map(begun).collect();
        let held =
            chosen.iter().filter(|same| self.stripes.superblock_of(same[0].place) == victim.superblock);
        let spared: Vec<_> =
            held.filter_map(|same| Some((same[0], self.stripes.elsewhere(same, &begun)?))).collect();
        for (copy, other) in spared {
            self.remap(copy.page, copy.place, other);
        }
        // One of the others, if that is enough.
        let rooms: Vec<u32> = begun.into_iter().map(|rest| self.room(rest.superpages, false)).collect();
        let rests = match rooms.iter().position(|&room| room >= victim.alone) {
            Some(at) => {
                self.stripes.rests.swap(0, at);
                1
            }
            None => self.stripes.rests.len(),
        };
        let collection = Collection::of((victim.superblock, Levelled::No));
        self.begin_cleaning(&Begin { rests, ..Begin::of(collection) });
    }

    /// Examines a stripe: drops units that were never programmed, and a parity that fits nothing, and notes the
    /// copies that its units are.
    fn examine(
        &mut self,
        stripe: LogPlace,
        view: &View<'_>,
        were_current: &[u64],
        copies: &mut Vec<Copy>,
        lacks: &mut dyn FnMut(Member, Page),
    ) {
        let units: Vec<LogPlace> = self.stripes.places.units(stripe).collect();
        let oob = |this: &Self, place: LogPlace| {
            let (member, page) = this.stripes.address(place);
            view.oob(member, page).filter(|oob| this.is_of(place, oob, view))
        };
        let mut sum = Token::default();
        let (mut absent, mut spoilt, mut parity) = (Vec::new(), Vec::new(), None);
        for &place in &units {
            match oob(self, place) {
                // Nothing could be worked out when it was written: its page is lost.
                Some(oob) if !self.is_sensible(place, oob.stamp, view) => {
                    spoilt.push(place);
                    absent.push(place);
                }
                Some(oob) => {
                    sum = sum.plus(1, Token(oob.stamp));
                    if self.stripes.places.is_parity(place) {
                        parity = Some(place);
                    } else if u64::from(self.stripes.places.owner(place)) < self.pages {
                        let page = self.stripes.places.owner(place);
                        let version = version_of(page, oob.stamp, view);
                        copies.push(Copy { page, version, sequence: oob.sequence, place, lost: false });
                    }
                }
                None => absent.push(place),
            }
        }
        let answers = |place: LogPlace| view.alive(Member(self.stripes.places.member(place)));
        // A parity that is lacking is known to be so; nothing else of the stripe is touched by that.
        let fits = match (parity, &absent[..]) {
            (Some(_), []) => sum == Token::default(),
            (Some(_), &[one]) => view.version(Page::of(self.stripes.places.owner(one)), sum.0).is_some(),
            (None, &[one]) => self.stripes.places.is_parity(one) && !answers(one),
            _ => false,
        };
        // Where nothing of a stripe was programmed, nothing was durable.
        let begun = absent.len() < units.len();
        let dead: Vec<bool> = absent.iter().map(|&place| !answers(place)).collect();
        for (&place, dead) in absent.iter().zip(dead) {
            let is_lost = dead || spoilt.contains(&place);
            let is_data = !self.stripes.places.is_parity(place);
            let was_current = were_current[place.0 as usize / 64] >> (place.0 % 64) & 1 != 0;
            if fits || begun && is_lost && is_data && was_current {
                self.health.missing.set(place.0, true);
                if is_data {
                    let page = self.stripes.places.owner(place);
                    let version = if fits { version_of(page, sum.0, view) } else { None };
                    copies.push(Copy { page, version, sequence: 0, place, lost: !fits });
                }
                if !dead {
                    let (member, page) = self.stripes.address(place);
                    lacks(member, page);
                }
            } else {
                self.stripes.places.vacate(place);
            }
        }
        if let Some(parity) = parity.filter(|_| !fits) {
            self.stripes.places.vacate(parity);
        }
    }

    /// Whether a unit says of itself that it is its page, or is a parity or a slot that was never used.
    fn is_sensible(&self, place: LogPlace, stamp: u64, view: &View<'_>) -> bool {
        let page = self.stripes.places.owner(place);
        let has_none = self.stripes.places.is_parity(place) || u64::from(page) >= self.pages;
        has_none || view.version(Page::of(page), stamp).is_some()
    }

    /// Whether a place holds what it was written with last: over devices an earlier use of it may come back.
    fn is_of(&self, place: LogPlace, oob: &OobData, view: &View<'_>) -> bool {
        self.medium.oob || self.is_sensible(place, oob.stamp, view)
    }
}

fn version_of(page: u32, stamp: u64, view: &View<'_>) -> Option<u16> {
    match view.version(Page::of(page), stamp) {
        Some(Version::Written(_, version)) => Some(version),
        Some(Version::Before(_)) | None => None,
    }
}
