//! What every logical page ought to hold: a version, from which its contents follow.
//!
//! Two bytes a page; the token of a version comes round after 65,536 writes of the same page.

use crate::engine::Contents;
use flashkeep_trace::random::mix;
use std::marker::PhantomData;

/// The expected contents of every page; nothing at all where contents are nothing.
#[derive(Clone, Debug)]
pub struct Oracle<C> {
    versions: Vec<u16>,
    contents: PhantomData<C>,
}

impl<C: Contents> Oracle<C> {
    /// Pages that have never been written.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        Oracle { versions: vec![0; if C::KEEP { pages as usize } else { 0 }], contents: PhantomData }
    }

    /// How often each page has been written.
    #[must_use]
    pub fn versions(&self) -> &[u16] {
        &self.versions
    }

    /// Pages that have been written so often.
    #[must_use]
    pub fn restored(versions: Vec<u16>) -> Self {
        Oracle { versions, contents: PhantomData }
    }

    /// What a page holds that exists.
    #[must_use]
    #[inline]
    pub fn current(&self, page: u32) -> C {
        if !C::KEEP {
            return C::default();
        }
        C::token(mix(u64::from(page) << 16 | u64::from(self.versions[page as usize])))
    }

    /// What a page held before it was written for the first time, where that turns out later.
    #[must_use]
    pub fn before(&self, page: u32) -> C {
        C::token(mix(!u64::from(page)))
    }

    /// The page is written: what it holds from now on.
    #[inline]
    pub fn write(&mut self, page: u32) -> C {
        if C::KEEP {
            let version = &mut self.versions[page as usize];
            *version = version.wrapping_add(1);
        }
        self.current(page)
    }
}
