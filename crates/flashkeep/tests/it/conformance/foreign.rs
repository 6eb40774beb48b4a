//! A mirror and a RAID-5 as schemes that are not part of the crate, loaded by the names of their files.

use flashkeep::schemes::{
    ForeignCodeword, ForeignCommand, ForeignError, ForeignLoader, ForeignPlace, ForeignScheme, ForeignStep,
    ForeignView, load_schemes_with,
};
use std::sync::atomic::{AtomicU32, Ordering};

/// Lets drives name `…/mirror.py` and `…/raid5.py`.
pub(super) fn accept_files() {
    load_schemes_with(ForeignLoader {
        load: |path, members, pages, unit| {
            let (members, pages) = (i64::from(members), pages as i64);
            match path.rsplit('/').next() {
                Some("mirror.py") => Ok(Box::new(Mirror { members, pages, turn: AtomicU32::new(0) })),
                Some("raid5.py") if members < 3 => Err(ForeignError::new("it needs three members")),
                Some("raid5.py") => Ok(Box::new(Raid5 { members, pages, unit: i64::from(unit) })),
                _ => Err(ForeignError::new("no such file")),
            }
        },
        fail: |path, error| panic!("{path}: {error:?}"),
    });
}

fn step(writes: bool, place: ForeignPlace) -> ForeignStep {
    ForeignStep { writes, place, count: 1 }
}

struct Mirror {
    members: i64,
    pages: i64,
    turn: AtomicU32,
}

impl ForeignScheme for Mirror {
    fn capacity(&self) -> Result<i64, ForeignError> {
        Ok(self.pages)
    }

    fn follows_load(&self) -> Result<bool, ForeignError> {
        Ok(false)
    }

    fn places(&self, page: u32) -> Result<Vec<ForeignPlace>, ForeignError> {
        Ok((0..self.members).map(|member| (member, i64::from(page))).collect())
    }

    fn codeword(&self, _: u32) -> Result<Option<ForeignCodeword>, ForeignError> {
        Ok(None)
    }

    fn plan(&self, command: &ForeignCommand, _: ForeignView) -> Result<Vec<Vec<ForeignStep>>, ForeignError> {
        let pages = command.pages.iter().map(|&page| i64::from(page));
        if command.verb == "read" {
            let member = || i64::from(self.turn.fetch_add(1, Ordering::Relaxed)) % self.members;
            return Ok(vec![pages.map(|page| step(false, (member(), page))).collect()]);
        }
        let (first, count) = (i64::from(command.pages[0]), command.pages.len() as i64);
        let write = |member| ForeignStep { writes: true, place: (member, first), count };
        Ok(vec![(0..self.members).map(write).collect()])
    }

    fn copy(&self) -> Result<Box<dyn ForeignScheme>, ForeignError> {
        let turn = AtomicU32::new(self.turn.load(Ordering::Relaxed));
        Ok(Box::new(Mirror { turn, ..*self }))
    }
}

#[derive(Clone)]
struct Raid5 {
    members: i64,
    pages: i64,
    unit: i64,
}

impl Raid5 {
    fn parity(&self, stripe: i64) -> ForeignPlace {
        (self.members - 1 - stripe / self.unit % self.members, stripe)
    }

    fn data(&self, page: i64) -> ForeignPlace {
        let (stripe, index) = (page / (self.members - 1), page % (self.members - 1));
        (if index < self.parity(stripe).0 { index } else { index + 1 }, stripe)
    }
}

impl ForeignScheme for Raid5 {
    fn capacity(&self) -> Result<i64, ForeignError> {
        Ok(self.pages * (self.members - 1))
    }

    fn follows_load(&self) -> Result<bool, ForeignError> {
        Ok(false)
    }

    fn places(&self, page: u32) -> Result<Vec<ForeignPlace>, ForeignError> {
        Ok(vec![self.data(page.into())])
    }

    fn codeword(&self, page: u32) -> Result<Option<ForeignCodeword>, ForeignError> {
        let data = self.members - 1;
        let stripe = i64::from(page) / data;
        let data = (stripe * data..(stripe + 1) * data).map(|page| self.data(page)).collect();
        Ok(Some(ForeignCodeword { data, parities: vec![self.parity(stripe)] }))
    }

    fn plan(
        &self,
        command: &ForeignCommand,
        view: ForeignView,
    ) -> Result<Vec<Vec<ForeignStep>>, ForeignError> {
        let place = |page: &u32| self.data(i64::from(*page));
        if command.verb == "read" {
            return Ok(vec![command.pages.iter().map(|page| step(false, place(page))).collect()]);
        }
        let written: Vec<u32> =
            view.written.iter().filter(|(_, there)| *there).map(|&(page, _)| page).collect();
        let (old, rest): (Vec<u32>, Vec<u32>) = written.iter().partition(|page| command.pages.contains(page));
        let parity = self.parity(place(&command.pages[0]).1);
        let has = |(member, page): &ForeignPlace| {
            let known =
                |&&(m, p, ..): &&(u8, u32, bool, u64)| (i64::from(m), i64::from(p)) == (*member, *page);
            view.places.iter().find(known).is_some_and(|place| place.2)
        };
        let cost = |places: &[ForeignPlace]| {
            places.iter().map(|place| if has(place) { 1 } else { 1000 }).sum::<u32>()
        };
        let rest: Vec<ForeignPlace> = rest.iter().map(place).collect();
        let mut replaced: Vec<ForeignPlace> = old.iter().map(place).collect();
        let in_hand = if command.old_in_hand { cost(&replaced) } else { 0 };
        replaced.push(parity);
        let modify = !written.is_empty() && cost(&replaced) - in_hand <= cost(&rest);
        let reads = if modify { replaced } else { rest };
        let reads = reads.into_iter().map(|place| step(false, place)).collect();
        let writes = command.pages.iter().map(place).chain([parity]).map(|place| step(true, place)).collect();
        Ok(vec![reads, writes])
    }

    fn copy(&self) -> Result<Box<dyn ForeignScheme>, ForeignError> {
        Ok(Box::new(self.clone()))
    }
}
