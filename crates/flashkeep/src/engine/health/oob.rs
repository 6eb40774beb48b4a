//! The OOB metadata of a scheme's page after a power cut, from what the scheme declares ([`Protection`]).

use super::{Codeword, Codewords};
use crate::engine::backends::OobData;
use crate::engine::command::Page;
use crate::engine::plan::Member;
use crate::engine::view::View;

/// The newest of a page's copies at these places.
#[derive(Default)]
pub(in crate::engine) struct NewestCopy(Option<OobData>);

impl NewestCopy {
    /// Another place of a scheme's page.
    pub(in crate::engine) fn add(&mut self, page: Page, member: Member, place: Page, view: &View<'_>) {
        let copy = if view.has(member, place) { view.oob(member, place) } else { None };
        if let Some(copy) = copy.filter(|copy| self.0.is_none_or(|newest| view.is_newer(page, copy, &newest)))
        {
            self.0 = Some(copy);
        }
    }

    /// None if no member has the page.
    pub(in crate::engine) fn oob(self) -> Option<OobData> {
        self.0
    }
}

/// The OOB metadata of a data page of stripes: what the page says of itself, or what the rest of its codeword says of it.
pub(in crate::engine) fn of_stripes(stripes: &dyn Codewords, page: Page, view: &View<'_>) -> Option<OobData> {
    let data = u64::from(stripes.data());
    let (stripe, index) = ((page.0 / data) as u32, (page.0 % data) as u8);
    let mut word = Codeword::default();
    if !stripes.is_newer(stripe, index) {
        word.clear(stripes.code());
        stripes.units(stripe, &mut |unit| word.push(unit));
        return word.oob(index, view);
    }
    if !stripes.has_copies() {
        word.take_newer(stripes, stripe);
        return word.oob(index, view);
    }
    let mut newest = NewestCopy::default();
    stripes.copies(stripe, index, &mut |member, place| newest.add(page, member, place, view));
    newest.oob()
}
