//! The copy that a write in flight replaces: until when it is valid, and what it says about the place of the new one.

use super::*;
use crate::flash::Ppn;
use std::collections::BTreeMap;

/// What SSDSim's rules say, replayed from the operations in their order alone: a page's new place invalidates the old one,
/// and a victim is the closed block of its plane with the fewest valid pages, all of which move.
struct Replay {
    geometry: Geometry,
    /// Where each page lies, and what has been programmed on each physical page since its block was erased.
    at: Vec<Ppn>,
    programmed: BTreeMap<usize, BTreeMap<u32, u32>>,
    /// The block that each plane collects.
    victims: BTreeMap<PlaneId, usize>,
    /// Pages that collections have read and not programmed.
    hand: Vec<u32>,
    moves: u64,
    /// Moves of pages that a write in flight was about to replace.
    moves_of_replaced: u64,
}

impl Replay {
    fn new(rig: &Rig, pages: u32) -> Replay {
        let geometry = rig.drive.geometry().clone();
        let place = |page| match rig.drive.lookup(BackendId(0), Page::of(page)) {
            MapEntry::At(ppn) => ppn,
            entry => panic!("page {page} is {entry:?}"),
        };
        let at: Vec<Ppn> = (0..pages).map(place).collect();
        let mut programmed: BTreeMap<usize, BTreeMap<u32, u32>> = BTreeMap::new();
        for (page, &ppn) in (0..).zip(&at) {
            programmed.entry(geometry.block_index_of(ppn)).or_default().insert(ppn.0, page);
        }
        Replay {
            geometry,
            at,
            programmed,
            victims: BTreeMap::new(),
            hand: Vec::new(),
            moves: 0,
            moves_of_replaced: 0,
        }
    }

    fn put(&mut self, page: u32, ppn: Ppn) {
        self.at[page as usize] = ppn;
        self.programmed.entry(self.geometry.block_index_of(ppn)).or_default().insert(ppn.0, page);
    }

    fn valid(&self, block: usize) -> usize {
        let pages = self.programmed.get(&block);
        pages.map_or(0, |pages| {
            pages.iter().filter(|&(&ppn, &page)| self.at[page as usize] == Ppn(ppn)).count()
        })
    }

    /// A collection of a block begins: no closed block of its plane has fewer valid pages.
    fn is_best(&self, block: usize, plane: PlaneId) {
        let first = self.geometry.block_index(plane, 0);
        let closed = |block: &usize| {
            self.programmed.get(block).is_some_and(|pages| pages.len() == self.geometry.pages as usize)
        };
        let least = (first..first + self.geometry.blocks as usize)
            .filter(closed)
            .map(|block| self.valid(block))
            .min();
        assert_eq!(Some(self.valid(block)), least, "the victim {block}");
    }

    fn replay(&mut self, operation: &LoggedOperation, submitted: &BTreeMap<u32, u32>) {
        let LoggedOperation { ppn, kind, cause, logical_page, .. } = *operation;
        let (block, plane) = (self.geometry.block_index_of(ppn), self.geometry.plane_of(ppn));
        match (kind, cause) {
            (OpKind::Program, Cause::Host) => self.put(logical_page.expect("it holds a page"), ppn),
            (OpKind::Read, Cause::Gc) => {
                let page = self.programmed[&block][&ppn.0];
                assert_eq!(self.at[page as usize], ppn, "only valid pages move");
                if self.victims.insert(plane, block) != Some(block) {
                    self.is_best(block, plane);
                }
                self.moves += 1;
                self.moves_of_replaced += u64::from(submitted[&page] > 0);
                self.hand.push(page);
            }
            (OpKind::Program, Cause::Gc) => {
                let page = self.hand.remove(0);
                self.put(page, ppn);
            }
            (OpKind::Erase, Cause::Gc) => {
                assert_eq!(self.valid(block), 0, "no valid page is erased");
                self.programmed.remove(&block);
                self.victims.remove(&plane);
            }
            _ => panic!("{operation:?}"),
        }
    }
}

/// Requests of 111 pages at random on a drive of SSDSim's that is full to 83 %: every collection moves the pages that
/// are valid by its rule, also the old copies of pages whose new ones wait for a place.
#[test]
fn collections_move_what_is_valid_until_its_successor_has_a_place() {
    const PAGES: u32 = 16 * 16 * 64 * 83 / 100;
    const COUNT: u16 = 111;
    let small = "base = \"ssdsim-basic\"\nflash.blocks_per_plane = 16\nftl.over_provisioning = 0.2\n";
    let mut rig = Rig::with(small, 1, mapped(PAGES));
    (0..PAGES).for_each(|page| rig.ask(0, before(write(page, 1)), 0, &tokens(0, 1)));
    rig.done();
    rig.operations.clear();
    let mut replay = Replay::new(&rig, PAGES);
    // How many writes of each page have no place yet.
    let mut waiting: BTreeMap<u32, u32> = (0..PAGES).map(|page| (page, 0)).collect();
    let (mut random, mut under_way, mut left) = (7_u64, 0, 200);
    while left > 0 || under_way > 0 {
        while left > 0 && under_way < 4 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let first = (random >> 33) as u32 % (PAGES - u32::from(COUNT));
            (first..first + u32::from(COUNT)).for_each(|page| *waiting.get_mut(&page).unwrap() += 1);
            rig.ask(0, write(first, COUNT), left, &tokens(1, COUNT));
            (left, under_way) = (left - 1, under_way + 1);
        }
        under_way -= rig.done().len();
        for operation in std::mem::take(&mut rig.operations) {
            replay.replay(&operation, &waiting);
            if operation.cause == Cause::Host {
                *waiting.get_mut(&operation.logical_page.unwrap()).unwrap() -= 1;
            }
        }
        if under_way == 4 || left == 0 {
            rig.drive.step(SimTime(u64::MAX - 1));
            rig.now = rig.drive.now();
        }
    }
    rig.settle();
    rig.drive.audit();
    let moved = rig.drive.counters().of(OpKind::Program, Cause::Gc);
    assert_eq!(replay.moves, moved);
    assert!(replay.moves_of_replaced > 100, "{} of {moved} moves", replay.moves_of_replaced);
}

/// The old copy of a page moves while two writes of the page wait; it stays one copy, and goes when the first of them has a
/// place.
#[test]
fn a_copy_moves_while_its_successors_wait() {
    let flash = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 4, \
                 pages_per_block = 4";
    let mut rig =
        Rig::new(flash, "gc = { threshold = 0.5, run = \"steps\", copyback = \"off\" }", 1, mapped(6));
    for page in [0, 1, 2, 3, 0, 2, 4, 5] {
        rig.ask(0, before(write(page, 1)), 0, &tokens(u64::from(page) + 1, 1));
    }
    rig.done();
    // The first write asks for the collection of the block that holds pages 1 and 3. Page 1 is written twice more.
    rig.ask(0, write(0, 1), 0, &tokens(11, 1));
    rig.ask(0, write(1, 1), 1, &tokens(12, 1));
    rig.ask(0, write(1, 1), 2, &tokens(13, 1));
    let mut steps = 0;
    while rig.drive.step(SimTime(u64::MAX - 1)) {
        rig.now = rig.drive.now();
        rig.done();
        rig.drive.audit();
        assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(13)));
        steps += 1;
    }
    assert!(steps > 4 && rig.drive.is_quiet());
    let moves = rig.operations.iter().filter(|it| it.kind == OpKind::Program && it.cause == Cause::Gc);
    let moved: Vec<u32> = moves.filter_map(|it| it.logical_page).take(2).collect();
    assert_eq!(moved, [1, 3], "the old copy of page 1 is valid");
    assert_eq!(rig.drive.filled().0, 6);
}

/// Two writes of a page are dealt out in one batch: as in DiskSim, both go where the open block is younger than the copy
/// that the flash has, although another plane has more room.
#[test]
fn the_second_write_of_a_batch_knows_the_older_copy_too() {
    let flash = "channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 8, \
                 pages_per_block = 8, busy_unit = \"plane\", bus = \"rounds\"";
    let ftl = "allocation = \"C\", plane_choice = \"most-free\"";
    let mut rig = Rig::new(flash, ftl, 1, mapped(60));
    let plane_of = |rig: &Rig, page| match rig.drive.lookup(BackendId(0), Page::of(page)) {
        MapEntry::At(ppn) => rig.drive.geometry().plane_of(ppn),
        entry => panic!("page {page} is {entry:?}"),
    };
    // The second write of page 1 follows its older copy into the block that was opened last.
    for page in [0, 1, 1] {
        rig.ask(0, write(page, 1), 0, &tokens(1, 1));
        rig.settle();
    }
    let (younger, blocks) = (plane_of(&rig, 1), rig.drive.blocks());
    let other = PlaneId(1 - younger.0);
    assert!(blocks.room(other) > blocks.room(younger));
    assert!(blocks.next_version(other) < blocks.next_version(younger));
    rig.operations.clear();
    // A read keeps the channel until both wait.
    rig.ask(0, read(0), 0, &[]);
    rig.ask(0, write(1, 1), 1, &tokens(2, 1));
    rig.ask(0, write(1, 1), 2, &tokens(3, 1));
    rig.settle();
    rig.drive.audit();
    let programs = rig.operations.iter().filter(|it| it.kind == OpKind::Program);
    let planes: Vec<PlaneId> = programs.map(|it| rig.drive.geometry().plane_of(it.ppn)).collect();
    assert_eq!(planes, [younger, younger]);
    assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(3)));
}

/// Pages are created before time 0 while writes of them wait for the die of their copy: these go where the new copy is.
#[test]
fn writes_follow_a_copy_that_is_replaced_without_time() {
    let flash = "channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 8, \
                 pages_per_block = 8";
    let mut rig = Rig::new(flash, "plane_choice = \"same\"", 1, mapped(60));
    let plane_of = |rig: &Rig| match rig.drive.lookup(BackendId(0), Page::of(1)) {
        MapEntry::At(ppn) => rig.drive.geometry().plane_of(ppn),
        entry => panic!("page 1 is {entry:?}"),
    };
    rig.ask(0, write(1, 1), 0, &tokens(1, 1));
    rig.settle();
    let first = plane_of(&rig);
    rig.ask(0, write(1, 1), 1, &tokens(2, 1));
    rig.ask(0, write(1, 1), 2, &tokens(3, 1));
    for created in 0..2 {
        rig.ask(0, before(write(1, 1)), 3 + created, &tokens(4, 1));
        if plane_of(&rig) != first {
            break;
        }
    }
    assert_ne!(plane_of(&rig), first, "planes take turns");
    rig.settle();
    rig.drive.audit();
    assert_eq!(rig.drive.contents_of(BackendId(0), Page(1)), Some(Token(4)));
}
