//! Declustered stripes: fewer units than members, spread over all members, and spare places among them.
//!
//! The pages of all members form rows of chunks. In a slice of consecutive rows each member is at one position, and
//! the next slice has another permutation. The positions of a row, but for the last ones, are the places of stripes,
//! which follow each other from row to row; a slice ends where a stripe ends with a row. The last positions are spare
//! *columns*: a column that is assigned to a failed member takes its units, each in its row.

use super::layout::{PARITIES, ParityLayout, StripeSeats};
use super::permutations::{Permutation, Permutations};
use crate::engine::{Member, Page, Role};
use crate::kernel::{Bits, Divisor};
use crate::schemes::SchemeOptions;
use crate::schemes::declustered::shape_of;

/// The number of members and the sizes of stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(in crate::schemes) struct Shape {
    pub(in crate::schemes) members: u8,
    /// Data units of a stripe.
    pub(in crate::schemes) data: u8,
    /// Parities of a stripe.
    pub(in crate::schemes) parities: u8,
    /// Spare columns.
    pub(in crate::schemes) spares: u8,
}

impl Shape {
    /// Units of a stripe.
    fn width(&self) -> u8 {
        self.data + self.parities
    }

    /// Positions of a row that are no spares.
    pub(super) fn places(&self) -> u8 {
        self.members - self.spares
    }

    /// The share of positions that are no spares.
    pub(in crate::schemes) fn occupied(&self) -> f64 {
        f64::from(self.places()) / f64::from(self.members)
    }

    /// The rows of a slice, and its stripes.
    fn slice(&self) -> (u32, u32) {
        let (places, width) = (u32::from(self.places()), u32::from(self.width()));
        let common = (1..=width).rev().find(|by| places % by == 0 && width % by == 0).unwrap_or(1);
        (width / common, places / common)
    }

    /// The number of stripes in this number of rows.
    pub(in crate::schemes) fn stripes(&self, rows: u64) -> u64 {
        let (slice_rows, slice_stripes) = self.slice();
        let (slices, rest) = (rows / u64::from(slice_rows), rows % u64::from(slice_rows));
        slices * u64::from(slice_stripes) + rest * u64::from(self.places()) / u64::from(self.width())
    }

    /// For each unit of a slice the positions that are read to reconstruct it: data, and the first parity if the unit is
    /// not a parity itself.
    pub(super) fn reads(&self) -> Vec<(u8, Vec<u8>)> {
        let (width, places) = (u32::from(self.width()), u32::from(self.places()));
        let (_, stripes) = self.slice();
        let position = |stripe: u32, unit: u32| ((stripe * width + unit) % places) as u8;
        let data = u32::from(self.data);
        let read = move |unit: u32| (0..data + u32::from(unit < data)).filter(move |&other| other != unit);
        let units = (0..stripes).flat_map(|stripe| (0..width).map(move |unit| (stripe, unit)));
        units
            .map(|(s, unit)| (position(s, unit), read(unit).map(|other| position(s, other)).collect()))
            .collect()
    }
}

/// Stripes spread over all members, and the units of failed members on spare places.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Permuted {
    shape: Shape,
    slice_rows: u32,
    permutations: Permutations,
    /// None where a chunk is a page.
    by_unit: Option<Divisor>,
    by_slice_rows: Divisor,
    by_slice_stripes: Divisor,
    by_places: Divisor,
    by_width: Divisor,
    /// The spare column of each member that has failed, and the member of each column.
    columns: Vec<Option<u8>>,
    owners: Vec<Option<u8>>,
    /// For each column, the stripes of whose units the one of its member is in the column.
    moved: Vec<Bits>,
}

/// A unit that belongs on another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Relocation {
    /// Its number in the stripe, parities after data.
    pub(super) unit: u8,
    pub(super) from: Member,
    pub(super) to: Member,
    pub(super) page: Page,
}

/// The place of a stripe among rows and positions.
#[derive(Clone, Copy)]
struct Extent<'a> {
    permutation: Permutation<'a>,
    /// The position of its first unit.
    first: u8,
    places: u8,
    /// The page of the units in its first row, and of those in its second one.
    pages: [u32; 2],
}

impl Extent<'_> {
    /// Whether a unit is in the second row, and its position.
    #[inline]
    fn position(&self, unit: u8) -> (usize, u8) {
        let at = u16::from(self.first) + u16::from(unit);
        match at.checked_sub(u16::from(self.places)) {
            Some(at) => (1, at as u8),
            None => (0, at as u8),
        }
    }
}

impl ParityLayout for Permuted {
    type Seats = PermutedSeats;
    const IN_ROWS: bool = false;

    fn new(options: &SchemeOptions<'_>) -> Self {
        let shape = shape_of(u32::from(options.members), options.redundancy);
        let shape = shape.expect("options were checked with the drive");
        let (slice_rows, slice_stripes) = shape.slice();
        Permuted {
            shape,
            slice_rows,
            permutations: Permutations::new(&shape),
            by_unit: (options.unit_pages > 1).then(|| Divisor::new(options.unit_pages)),
            by_slice_rows: Divisor::new(slice_rows),
            by_slice_stripes: Divisor::new(slice_stripes),
            by_places: Divisor::new(u32::from(shape.places())),
            by_width: Divisor::new(u32::from(shape.width())),
            columns: vec![None; usize::from(shape.members)],
            owners: vec![None; usize::from(shape.spares)],
            moved: vec![Bits::default(); usize::from(shape.spares)],
        }
    }

    fn members(&self) -> u8 {
        self.shape.members
    }

    #[inline]
    fn parities(&self) -> u8 {
        self.shape.parities
    }

    fn data(&self) -> u8 {
        self.shape.data
    }

    fn count(&self, member_pages: u32) -> u32 {
        let unit = self.unit_pages();
        (self.shape.stripes(u64::from(member_pages / unit)) * u64::from(unit)) as u32
    }

    fn seats(&self, stripe: u32) -> PermutedSeats {
        let (extent, width) = (self.extent(stripe), self.shape.width());
        let split = (extent.places - extent.first).min(width);
        let mut members = [0; 255];
        for unit in 0..width {
            members[usize::from(unit)] = extent.permutation.member(extent.position(unit).1);
        }
        if self.is_diverted() {
            for unit in &mut members[..usize::from(width)] {
                *unit = self.holder(stripe, extent.permutation, *unit);
            }
        }
        PermutedSeats {
            stripe,
            data: self.shape.data,
            parities: self.shape.parities,
            split,
            pages: extent.pages,
            members,
        }
    }

    fn stripe_of(&self, member: Member, page: Page) -> u32 {
        self.unit_at(member, page).map_or(u32::MAX, |(stripe, _)| stripe)
    }
}

impl Permuted {
    fn unit_pages(&self) -> u32 {
        self.by_unit.map_or(1, Divisor::by)
    }

    fn extent(&self, stripe: u32) -> Extent<'_> {
        let (wide, within) = self.by_unit.map_or((stripe, 0), |by| by.split(stripe));
        let (slice, index) = self.by_slice_stripes.split_any(wide);
        let (row, first) = self.by_places.split(index * u32::from(self.shape.width()));
        let unit = self.unit_pages();
        let page = (slice * self.slice_rows + row) * unit + within;
        let permutation = self.permutations.of(slice);
        Extent { permutation, first: first as u8, places: self.shape.places(), pages: [page, page + unit] }
    }

    /// The member at a spare column.
    fn spare(&self, permutation: Permutation<'_>, column: u8) -> u8 {
        permutation.member(self.shape.places() + column)
    }

    /// The column to which what a member has of a stripe has moved.
    fn moved_to(&self, stripe: u32, member: u8) -> Option<u8> {
        self.columns[usize::from(member)].filter(|&column| self.moved[usize::from(column)].has(stripe))
    }

    /// The member that has the unit of a stripe that belongs on `member`. A member with a spare place may have failed as
    /// well; each member has one position of a slice and each column one member, so that this ends.
    fn holder(&self, stripe: u32, permutation: Permutation<'_>, mut member: u8) -> u8 {
        while let Some(column) = self.moved_to(stripe, member) {
            member = self.spare(permutation, column);
        }
        member
    }

    /// The stripe and the unit that are at a page of a member, belong there, or were to move there.
    fn unit_at(&self, Member(member): Member, page: Page) -> Option<(u32, u8)> {
        let page = page.low();
        let (row, within) = self.by_unit.map_or((page, 0), |by| by.split(page));
        let (slice, row) = self.by_slice_rows.split_any(row);
        let permutation = self.permutations.of(slice);
        let mut position = permutation.position(member);
        // Each member of a chain has another column; those of members with spare places only may form a circle.
        for _ in 0..self.shape.spares {
            let Some(column) = position.checked_sub(self.shape.places()) else { break };
            position = permutation.position(self.owners[usize::from(column)]?);
        }
        if position >= self.shape.places() {
            return None;
        }
        let at = row * u32::from(self.shape.places()) + u32::from(position);
        let (index, unit) = self.by_width.split(at);
        let wide = slice * self.by_slice_stripes.by() + index;
        Some((wide * self.unit_pages() + within, unit as u8))
    }

    /// The role of a unit by its number.
    pub(super) fn role(&self, unit: u8) -> Role {
        match unit.checked_sub(self.shape.data) {
            None => Role::Data(unit),
            Some(parity) => Role::Parity(parity),
        }
    }

    /// The stripe and the unit that a read of a member's page wanted, although the unit may have moved since.
    pub(in crate::schemes) fn wanted(&self, member: Member, page: Page) -> Option<(u32, Role)> {
        self.unit_at(member, page).map(|(stripe, unit)| (stripe, self.role(unit)))
    }

    // ---------------------------------------------------------------- spare columns

    /// Whether any member has a spare column.
    #[inline]
    pub(in crate::schemes) fn is_diverted(&self) -> bool {
        self.owners.iter().any(Option::is_some)
    }

    /// Whether a member has a spare column.
    pub(super) fn has_column(&self, Member(member): Member) -> bool {
        self.columns[usize::from(member)].is_some()
    }

    /// Assigns a free column to a member without one; whether there was one.
    pub(super) fn assign(&mut self, Member(member): Member) -> bool {
        let free = self.owners.iter().position(Option::is_none);
        let Some(column) = free.filter(|_| self.columns[usize::from(member)].is_none()) else { return false };
        self.owners[column] = Some(member);
        self.columns[usize::from(member)] = Some(column as u8);
        true
    }

    /// Frees columns with no units, whose members respond; whether there were any.
    pub(super) fn release(&mut self, answers: impl Fn(Member) -> bool) -> bool {
        let mut any = false;
        for (owner, moved) in self.owners.iter_mut().zip(&self.moved) {
            if let Some(member) = owner.filter(|&member| moved.count() == 0 && answers(Member(member))) {
                self.columns[usize::from(member)] = None;
                *owner = None;
                any = true;
            }
        }
        any
    }

    /// Units of a stripe that belong elsewhere: a unit is where it belongs if that member responds, else in the column
    /// of that member, and so on.
    pub(super) fn relocations(&self, stripe: u32, answers: impl Fn(Member) -> bool) -> Vec<Relocation> {
        let extent = self.extent(stripe);
        let relocation = |unit: u8| {
            let (row, position) = extent.position(unit);
            let home = extent.permutation.member(position);
            self.columns[usize::from(home)]?;
            let mut to = home;
            while !answers(Member(to)) {
                to = self.spare(extent.permutation, self.columns[usize::from(to)]?);
            }
            let from = self.holder(stripe, extent.permutation, home);
            let (from, to) = (Member(from), Member(to));
            (from != to).then_some(Relocation { unit, from, to, page: Page::of(extent.pages[row]) })
        };
        (0..self.shape.width()).filter_map(relocation).collect()
    }

    /// A unit of a stripe is on this member from now on.
    pub(super) fn relocate(&mut self, stripe: u32, unit: u8, Member(to): Member) {
        let extent = self.extent(stripe);
        let mut member = extent.permutation.member(extent.position(unit).1);
        let (mut is_before, mut columns) = (true, Vec::new());
        while let Some(column) = self.columns[usize::from(member)] {
            is_before &= member != to;
            columns.push((column, is_before));
            member = self.spare(extent.permutation, column);
        }
        debug_assert!(!is_before || member == to, "a unit moves to its place or to a spare one");
        for (column, is_before) in columns {
            self.moved[usize::from(column)].set(stripe, is_before);
        }
    }
}

/// The places of the units of a declustered stripe.
#[derive(Clone, Copy, Debug)]
pub struct PermutedSeats {
    stripe: u32,
    data: u8,
    parities: u8,
    /// Units in the first row.
    split: u8,
    pages: [u32; 2],
    members: [u8; 255],
}

impl PermutedSeats {
    fn unit(self, role: Role) -> u8 {
        match role {
            Role::Data(index) => index,
            Role::Parity(parity) => self.data + parity,
            _ => self.data,
        }
    }
}

impl StripeSeats for PermutedSeats {
    fn stripe(self) -> u32 {
        self.stripe
    }

    #[inline]
    fn at(self, role: Role) -> (Member, Page) {
        let unit = self.unit(role);
        (Member(self.members[usize::from(unit)]), Page::of(self.pages[usize::from(unit >= self.split)]))
    }

    fn role_of(self, Member(member): Member) -> Option<Role> {
        let parities = self.parity_roles().iter().copied();
        let mut roles = (0..self.data).map(Role::Data).chain(parities).zip(self.members);
        roles.find(|&(_, other)| other == member).map(|(role, _)| role)
    }

    fn parity_roles(self) -> &'static [Role] {
        &PARITIES[..usize::from(self.parities)]
    }
}

#[cfg(test)]
#[path = "permuted_tests.rs"]
mod tests;
