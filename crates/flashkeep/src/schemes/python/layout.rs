//! Where the pages of a scheme in a file are: its answers, checked.

use super::foreign::{ForeignCodeword, ForeignError, ForeignPlace, LoadedFile};
use crate::engine::{Code, FixedMap, Member, Page, Role};
use crate::schemes::parity::PlacedStripe;
use serde::{Deserialize, Serialize};

/// What holds for all pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Layout {
    /// Pages that the scheme offers.
    pub(super) pages: u64,
    /// Data units of a codeword; 0 if copies protect each page.
    pub(super) data: u8,
    /// Parities of a codeword, or copies of a page.
    pub(super) others: u8,
    pub(super) follows_load: bool,
}

/// A member and its page.
pub(super) type Place = (Member, Page);

/// The largest number of pages, or stripes, whose places are kept.
const MOST_KEPT: u64 = 1 << 20;

fn wrong<T>(message: String) -> Result<T, ForeignError> {
    Err(ForeignError::new(message))
}

/// Checks a member and its page.
pub(super) fn place(
    file: &LoadedFile,
    (member, page): ForeignPlace,
    of: &str,
) -> Result<Place, ForeignError> {
    let (members, pages) = (i64::from(file.members), file.pages as i64);
    if !(0..members).contains(&member) {
        return wrong(format!(
            "{of}: member {member} of ({member}, {page}): 0 to {} are accepted",
            members - 1
        ));
    }
    if !(0..pages).contains(&page) {
        return wrong(format!("{of}: page {page} of ({member}, {page}): 0 to {} are accepted", pages - 1));
    }
    Ok((Member(member as u8), Page::of(page as u32)))
}

/// Two places on one member.
fn twice(places: &[Place]) -> Option<(Place, Place)> {
    let pairs =
        places.iter().enumerate().flat_map(|(at, one)| places[at + 1..].iter().map(move |two| (*one, *two)));
    pairs.into_iter().find(|(one, two)| one.0 == two.0)
}

fn text((member, page): Place) -> String {
    format!("({}, {})", member.0, page.low())
}

impl Layout {
    /// The pages that a scheme offers.
    pub(super) fn capacity(file: &LoadedFile) -> Result<u64, ForeignError> {
        let pages = file.scheme.capacity()?;
        let most = i64::from(file.members) * file.pages as i64;
        match u64::try_from(pages) {
            Ok(found @ 1..) if pages <= most && found < u64::from(u32::MAX) => Ok(found),
            _ => wrong(format!(
                "Scheme.capacity is {pages}; 1 to {most} are accepted, the pages of {} members of {} pages",
                file.members, file.pages
            )),
        }
    }

    /// The layout of a scheme, as its first page has it.
    pub(super) fn of(file: &LoadedFile) -> Result<Layout, ForeignError> {
        let pages = Layout::capacity(file)?;
        let follows_load = file.scheme.follows_load()?;
        let layout = Layout { pages, data: 0, others: 0, follows_load };
        let Some(word) = file.scheme.codeword(0)? else {
            let copies = file.scheme.places(0)?.len();
            if !(2..=255).contains(&copies) {
                return wrong(format!(
                    "Scheme.places(0) returned {copies} places, and Scheme.codewords(0) no codeword: without a \
                     codeword 2 copies or more are accepted"
                ));
            }
            return Ok(Layout { others: copies as u8, ..layout });
        };
        let (data, others) = (word.data.len(), word.parities.len());
        if !(1..=253).contains(&data) {
            return wrong(format!("Scheme.codewords(0): {data} data units; 1 to 253 are accepted"));
        }
        if pages % data as u64 != 0 {
            return wrong(format!(
                "Scheme.capacity is {pages}; whole codewords of {data} data units are accepted"
            ));
        }
        let layout = Layout { data: data as u8, others: others as u8, ..layout };
        layout.stripe(file, 0)?;
        Ok(layout)
    }

    /// The number of members that may fail.
    pub(super) fn survives(&self) -> u8 {
        if self.data == 0 { self.others - 1 } else { self.others }
    }

    /// The places of a page, asked for again.
    fn places(&self, file: &LoadedFile, page: u32) -> Result<Vec<Place>, ForeignError> {
        let asked = format!("Scheme.places({page})");
        let found = file.scheme.places(page)?;
        let places: Vec<Place> =
            found.into_iter().map(|found| place(file, found, &asked)).collect::<Result<_, _>>()?;
        let expected = if self.data == 0 { usize::from(self.others) } else { 1 };
        if places.len() != expected {
            let why = if self.data == 0 { "as many as page 0 has" } else { "the data unit of its codeword" };
            return wrong(format!(
                "{asked} returned {} places; {expected} are accepted, {why}",
                places.len()
            ));
        }
        if let Some((one, two)) = twice(&places) {
            return wrong(format!(
                "{asked}: {} and {} are on one member; every copy is on another",
                text(one),
                text(two)
            ));
        }
        Ok(places)
    }

    /// The places of a stripe's units. The answers about it are asked for, and compared, once.
    pub(super) fn stripe(&self, file: &LoadedFile, stripe: u32) -> Result<PlacedStripe, ForeignError> {
        let first = stripe * u32::from(self.data);
        let Some(known) = file.known.get(stripe as usize) else { return self.word(file, first) };
        if let Some(known) = known.get() {
            return Ok(known.clone());
        }
        let word = self.word(file, first)?;
        self.compare(file, &word)?;
        Ok(known.get_or_init(|| word).clone())
    }

    /// The places of a page's copies; with a codeword that of its data unit.
    pub(super) fn copies(&self, file: &LoadedFile, page: u32) -> Result<Vec<Place>, ForeignError> {
        if self.data > 0 {
            let placed = self.stripe(file, page / u32::from(self.data))?;
            return Ok(vec![placed.data[(page % u32::from(self.data)) as usize]]);
        }
        let Some(known) = file.known.get(page as usize) else { return self.places(file, page) };
        if let Some(known) = known.get() {
            return Ok(known.data.clone());
        }
        let data = self.places(file, page)?;
        Ok(known
            .get_or_init(|| PlacedStripe {
                first: page.into(),
                code: Code::default(),
                data,
                parities: Vec::new(),
            })
            .data
            .clone())
    }

    /// The pages of a stripe have its codeword, and the places that it says.
    fn compare(&self, file: &LoadedFile, word: &PlacedStripe) -> Result<(), ForeignError> {
        let first = word.first as u32;
        let last = first + u32::from(self.data) - 1;
        for (page, &data) in (first..).zip(&word.data) {
            let place = self.places(file, page)?[0];
            if data != place {
                return wrong(format!(
                    "Scheme.codewords({}): data unit {} is {}, but Scheme.places({page}) is {}; the data units of a \
                     codeword are consecutive pages, here {} to {last}",
                    word.first,
                    page - first,
                    text(data),
                    text(place),
                    word.first
                ));
            }
            let other = if page > first { self.word(file, page)? } else { word.clone() };
            if other.data != word.data || other.parities != word.parities {
                return wrong(format!(
                    "Scheme.codewords({page}) differs from Scheme.codewords({}); pages {} to {last} have one codeword",
                    word.first, word.first
                ));
            }
        }
        Ok(())
    }

    /// The codeword of a page.
    fn word(&self, file: &LoadedFile, page: u32) -> Result<PlacedStripe, ForeignError> {
        let asked = format!("Scheme.codewords({page})");
        let Some(ForeignCodeword { data, parities }) = file.scheme.codeword(page)? else {
            return wrong(format!("{asked} returned no codeword; one is accepted, as for page 0"));
        };
        let found = (data.len(), parities.len());
        let expected = (usize::from(self.data), usize::from(self.others));
        if found != expected {
            return wrong(format!(
                "{asked}: {} data units and {} parities; {} and {} are accepted, as for page 0",
                found.0, found.1, expected.0, expected.1
            ));
        }
        let all = data.into_iter().chain(parities).map(|found| place(file, found, &asked));
        let all: Vec<Place> = all.collect::<Result<_, _>>()?;
        if let Some((one, two)) = twice(&all) {
            return wrong(format!(
                "{asked}: the units {} and {} are on one member; every unit is on another",
                text(one),
                text(two)
            ));
        }
        let (data, parities) = all.split_at(expected.0);
        let parities = [Role::P, Role::Q].into_iter().zip(parities.iter().copied()).collect();
        Ok(PlacedStripe {
            first: (page - page % u32::from(self.data)).into(),
            code: Code::default(),
            data: data.to_vec(),
            parities,
        })
    }

    /// Looks at every page. Returns the stripe, or the page that is copied, of each page of a member.
    pub(super) fn look_at_all(&self, file: &LoadedFile) -> Result<FixedMap<(u8, u32), u32>, ForeignError> {
        let mut index = FixedMap::default();
        if self.data == 0 {
            for page in 0..self.pages as u32 {
                self.take(&mut index, page, &self.copies(file, page)?, "Scheme.places")?;
            }
            return Ok(index);
        }
        for stripe in 0..(self.pages / u64::from(self.data)) as u32 {
            let word = self.stripe(file, stripe)?;
            let parities = word.parities.iter().map(|&(_, place)| place);
            let units: Vec<Place> = word.data.iter().copied().chain(parities).collect();
            self.take(&mut index, stripe, &units, "Scheme.codewords")?;
        }
        Ok(index)
    }

    /// The number of pages, or stripes, whose places are kept once they have been asked for.
    pub(super) fn kept(&self) -> usize {
        let number = self.pages / u64::from(self.data.max(1));
        if number <= MOST_KEPT { number as usize } else { 0 }
    }

    /// Each page of a member is used once.
    fn take(
        &self,
        index: &mut FixedMap<(u8, u32), u32>,
        number: u32,
        places: &[Place],
        method: &str,
    ) -> Result<(), ForeignError> {
        let first = |number: u32| number * u32::from(self.data.max(1));
        for &(member, at) in places {
            if let Some(other) = index.insert((member.0, at.low()), number) {
                let (page, other, taken) = (first(number), first(other), text((member, at)));
                return wrong(format!("{method}({page}): {taken} is used by {method}({other}) already"));
            }
        }
        Ok(())
    }
}
