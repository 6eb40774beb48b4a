//! Dynamic striping (DS-RAID and DVS-RAID): data fill stripes in the order in which they come, over chips with physical
//! pages. A stripe that waits too long is closed early with a parity of its own; groups of blocks are cleaned when no
//! other is left.

use crate::engine::{
    BackgroundWork, Capabilities, Cause, Command, Key, Lock, Member, Page, Plan, PlanVerdict, Recoverable,
    RepairOutcome, Role, Scheme, Step, Triggers, Verb, View, Why,
};
use crate::kernel::Span;
use std::collections::VecDeque;

/// A page of a chip.
type Place = (u8, u32);

/// What protects what: the chips of one row whose pages one parity covers.
#[derive(Clone, Debug)]
struct Cover {
    row: u32,
    data: Vec<u8>,
    parity: u8,
}

/// A group on its way out.
#[derive(Clone, Debug)]
struct Cleaning {
    group: u32,
    /// Which page goes from where to where.
    moves: Vec<(u32, Place, Place)>,
    /// Rows that it leaves over. They can be written once its own have been.
    rows: VecDeque<u32>,
}

/// A log of stripes over chips.
#[derive(Debug)]
pub(super) struct Log {
    chips: u8,
    block: u32,
    pages: u32,
    wake_after: Option<Span>,
    map: Vec<Option<Place>>,
    /// The logical page that a place holds, while it is the current one.
    owner: Vec<Vec<Option<u32>>>,
    covers: Vec<Cover>,
    /// Rows still to be written, and the chips of the first that take data.
    rows: VecDeque<u32>,
    slots: VecDeque<u8>,
    /// Chips whose pages in the first row no parity covers yet.
    pending: Vec<u8>,
    /// Counts covers, so that each running sum has a key of its own.
    serial: u64,
    /// Erased groups; the last is kept for cleaning.
    free: Vec<u32>,
    /// The group that is being cleaned, or will be erased.
    cleaning: Option<Cleaning>,
    erase: Option<u32>,
    erasing: bool,
}

impl Log {
    pub(super) fn new(chips: u8, groups: u32, block: u32, pages: u32, wake_after: Option<Span>) -> Self {
        let places = (groups * block) as usize;
        Log {
            chips,
            block,
            pages,
            wake_after,
            map: vec![None; pages as usize],
            owner: vec![vec![None; places]; usize::from(chips)],
            covers: Vec::new(),
            rows: VecDeque::new(),
            slots: VecDeque::new(),
            pending: Vec::new(),
            serial: 0,
            free: (0..groups).rev().collect(),
            cleaning: None,
            erase: None,
            erasing: false,
        }
    }

    /// The chip that has the parity of a full stripe.
    fn parity(&self, row: u32) -> u8 {
        self.chips - 1 - (row % u32::from(self.chips)) as u8
    }

    fn normal(&self, row: u32) -> VecDeque<u8> {
        (0..self.chips).filter(|&chip| chip != self.parity(row)).collect()
    }

    pub(super) fn rows_of(&self, group: u32) -> std::ops::Range<u32> {
        group * self.block..(group + 1) * self.block
    }

    /// Begins with rows that have been written before, for worked examples.
    pub(super) fn skip_rows(&mut self, upto: u32) {
        self.open();
        while self.rows[0] < upto {
            self.rows.pop_front();
        }
        self.slots = self.normal(self.rows[0]);
    }

    /// Makes the next row ready, if there is room; false where there is none.
    fn open(&mut self) -> bool {
        if self.rows.is_empty() {
            if self.free.len() < 2 {
                return false;
            }
            let group = self.free.pop().expect("two are free");
            self.rows.extend(self.rows_of(group));
        }
        if self.slots.is_empty() {
            self.slots = self.normal(self.rows[0]);
        }
        true
    }

    /// The sum of the stripe that is open has this key.
    fn key(&self) -> Key {
        Key(self.serial)
    }

    /// Writes the parity of the pending pages to a chip.
    fn close(&mut self, chip: u8, cause: Cause, plan: &mut Plan) {
        let row = self.rows[0];
        plan.push(Step::store(Member(chip), Page::of(row), Role::P, cause).later());
        let data = std::mem::take(&mut self.pending);
        self.covers.push(Cover { row, data, parity: chip });
        self.serial += 1;
    }

    fn next_row(&mut self) {
        self.rows.pop_front();
        self.slots.clear();
    }

    fn forget(&mut self, page: u32) {
        if let Some((chip, row)) = self.map[page as usize].take() {
            self.owner[usize::from(chip)][row as usize] = None;
        }
    }

    fn settle(&mut self, page: u32, place: Place) {
        self.forget(page);
        self.map[page as usize] = Some(place);
        self.owner[usize::from(place.0)][place.1 as usize] = Some(page);
    }

    /// The pages that a group still holds, row by row.
    fn valid(&self, group: u32) -> Vec<(u32, Place)> {
        let mut valid = Vec::new();
        for row in self.rows_of(group) {
            for chip in 0..self.chips {
                let owner = self.owner[usize::from(chip)][row as usize];
                valid.extend(owner.map(|page| (page, (chip, row))));
            }
        }
        valid
    }

    fn group_key(&self, row: u32) -> Key {
        Key(u64::from(row / self.block))
    }

    fn plan_erase(&mut self, group: u32, plan: &mut Plan) {
        for chip in 0..self.chips {
            let pages = Command::new(Verb::Trim, Page::of(group * self.block), self.block as u16);
            plan.push(Step::new(Member(chip), pages.because(Cause::Gc), Step::NOWHERE));
        }
        plan.hold = Some(Key(u64::from(group)));
        self.erasing = true;
    }

    /// Copies the pages of a group into the group kept free: new stripes, with parity from the pages that are read.
    pub(super) fn plan_clean(&mut self, group: u32, plan: &mut Plan) {
        let valid = self.valid(group);
        if valid.is_empty() {
            self.erase = Some(group);
            return self.plan_erase(group, plan);
        }
        let to = self.free.pop().expect("one group is always free");
        let one = |verb, row| Command::new(verb, Page::of(row), 1).because(Cause::Gc);
        for (at, &(_, (chip, row))) in valid.iter().enumerate() {
            plan.push(Step::new(Member(chip), one(Verb::Read, row), at as u16));
        }
        let mut rows: VecDeque<u32> = self.rows_of(to).collect();
        let (mut moves, mut at) = (Vec::new(), 0);
        let stripes = valid.chunks(usize::from(self.chips) - 1);
        for (n, stripe) in stripes.enumerate() {
            let row = rows.pop_front().expect("a group holds what a group held");
            let mut slots = self.normal(row);
            let mut data = Vec::new();
            for &(page, from) in stripe {
                let chip = slots.pop_front().expect("as many as there are data chips");
                let step = Step::new(Member(chip), one(Verb::Write, row), at).row(n as u16).stage(1);
                plan.push(step.role(Role::Data(data.len() as u8)));
                moves.push((page, from, (chip, row)));
                data.push(chip);
                at += 1;
            }
            let parity = slots.pop_front().unwrap_or(self.parity(row));
            let store = Step::store(Member(parity), Page::of(row), Role::P, Cause::ParityGc);
            plan.push(store.row(n as u16).stage(1));
            self.covers.push(Cover { row, data, parity });
        }
        plan.hold = Some(Key(u64::from(group)));
        self.cleaning = Some(Cleaning { group, moves, rows });
    }
}

impl Scheme for Log {
    fn capacity(&self) -> u64 {
        u64::from(self.pages)
    }

    fn capabilities(&self) -> Capabilities {
        let triggers = Triggers { wake_after: self.wake_after, ..Triggers::default() };
        Capabilities { triggers, ..Capabilities::default() }
    }

    fn grain(&self, _: Verb) -> u32 {
        1
    }

    fn lock(&self, command: &Command) -> Lock {
        match self.map[command.start.low() as usize] {
            Some((_, row)) if command.verb == Verb::Read => Lock::Share(self.group_key(row)),
            _ => Lock::Free,
        }
    }

    fn plan(&mut self, command: &Command, _: &View<'_>, plan: &mut Plan) -> PlanVerdict {
        let page = command.start.low();
        match command.verb {
            Verb::Read => {
                if let Some((chip, row)) = self.map[page as usize] {
                    plan.push(Step::new(Member(chip), command.over(Page::of(row), 1), 0));
                }
            }
            Verb::Write => {
                if !self.open() {
                    return PlanVerdict::Wait;
                }
                let (row, chip) = (self.rows[0], self.slots.pop_front().expect("an open row has room"));
                plan.carry = (!self.pending.is_empty()).then_some(self.key());
                let index = self.pending.len() as u8;
                plan.push(Step::new(Member(chip), command.over(Page::of(row), 1), 0).role(Role::Data(index)));
                self.pending.push(chip);
                self.settle(page, (chip, row));
                if self.slots.is_empty() {
                    self.close(self.parity(row), Cause::Parity, plan);
                    self.next_row();
                } else {
                    plan.keep = Some(self.key());
                }
            }
            _ => self.forget(page),
        }
        PlanVerdict::Go
    }

    fn repair(&mut self, failed: &[Step], _: &View<'_>, plan: &mut Plan) -> RepairOutcome {
        let wanted = failed[failed.len() - 1];
        let (Member(chip), row) = (wanted.member, wanted.command.start.low());
        let cover = self.covers.iter().find(|cover| cover.row == row && cover.data.contains(&chip));
        let Some(cover) = cover.filter(|_| failed.len() == 1) else { return RepairOutcome::Lost };
        let role = |chip: u8| Role::Data(cover.data.iter().position(|&c| c == chip).unwrap_or(0) as u8);
        for &other in cover.data.iter().filter(|&&other| other != chip) {
            plan.push(Step::fetch(Member(other), Page::of(row), role(other), wanted.command.cause));
        }
        plan.push(Step::fetch(Member(cover.parity), Page::of(row), Role::P, wanted.command.cause));
        plan.push(Step::new(wanted.member, wanted.command, 0).role(role(chip).lost()).stage(1));
        RepairOutcome::Planned
    }

    fn owner(&self, member: Member, page: Page) -> Option<Page> {
        self.owner[usize::from(member.0)][page.low() as usize].map(Page::of)
    }

    fn settled(&mut self, key: Key, _: &View<'_>) {
        let group = key.0 as u32;
        if let Some(Cleaning { moves, rows, .. }) = self.cleaning.take_if(|cleaning| cleaning.group == group)
        {
            self.rows.extend(rows);
            for (page, from, to) in moves {
                if self.map[page as usize] == Some(from) {
                    self.settle(page, to);
                }
            }
            self.erase = Some(group);
        } else if self.erasing && self.erase == Some(group) {
            let rows = self.rows_of(group);
            self.covers.retain(|cover| !rows.contains(&cover.row));
            self.free.insert(0, group);
            (self.erase, self.erasing) = (None, false);
        }
    }
}

impl BackgroundWork for Log {
    fn background(&mut self, why: Why, view: &View<'_>, plan: &mut Plan) -> bool {
        if why == Why::Wake && !self.pending.is_empty() {
            plan.carry = Some(self.key());
            let slot = self.slots.pop_front().expect("a row without room is closed");
            if self.slots.is_empty() {
                // The last slot goes to waste.
                self.close(self.parity(self.rows[0]), Cause::PartialParity, plan);
                self.next_row();
            } else {
                self.close(slot, Cause::PartialParity, plan);
            }
            return true;
        }
        if why != Why::Urgent || self.cleaning.is_some() || self.erasing {
            return false;
        }
        if let Some(group) = self.erase {
            let free = !view.held(Key(u64::from(group)));
            if free {
                self.plan_erase(group, plan);
            }
            return free;
        }
        let closed = |group: &u32| {
            let open = self.rows.iter().any(|&row| row / self.block == *group);
            !open && !self.free.contains(group) && !view.held(Key(u64::from(*group)))
        };
        let groups = 0..self.owner[0].len() as u32 / self.block;
        let Some(victim) = groups.filter(closed).min_by_key(|&group| self.valid(group).len()) else {
            return false;
        };
        self.plan_clean(victim, plan);
        true
    }
}

impl Recoverable for Log {}
