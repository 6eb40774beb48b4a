//! What every logical page ought to hold: a version, from which its contents follow.
//!
//! Two bytes a page; the token of a version comes round after 65,536 writes of the same page.

use crate::engine::{Contents, FixedMap, Version};
use std::marker::PhantomData;

/// The expected contents of every page; nothing at all where contents are nothing.
#[derive(Clone, Debug)]
pub struct Oracle<C> {
    versions: Vec<u16>,
    /// Pages that hold something other than their latest version: a power cut has cost them that.
    fallen_back: FixedMap<u32, C>,
    contents: PhantomData<C>,
}

impl<C: Contents> Oracle<C> {
    /// Pages that have never been written.
    #[must_use]
    pub fn new(pages: u32) -> Self {
        let versions = vec![0; if C::KEEP { pages as usize } else { 0 }];
        Oracle { versions, fallen_back: FixedMap::default(), contents: PhantomData }
    }

    /// How often each page has been written.
    #[must_use]
    pub fn versions(&self) -> &[u16] {
        &self.versions
    }

    /// Pages that have been written so often.
    #[must_use]
    pub fn restored(versions: Vec<u16>) -> Self {
        Oracle { versions, fallen_back: FixedMap::default(), contents: PhantomData }
    }

    /// What a page holds that exists.
    #[must_use]
    #[inline]
    pub fn current(&self, page: u32) -> C {
        if !C::KEEP {
            return C::default();
        }
        if !self.fallen_back.is_empty()
            && let Some(&contents) = self.fallen_back.get(&page)
        {
            return contents;
        }
        C::token(Version::Written(page, self.version(page)).stamp())
    }

    /// How often a page has been written (modulo 2¹⁶); only where contents are something.
    #[must_use]
    #[inline]
    pub fn version(&self, page: u32) -> u16 {
        self.versions[page as usize]
    }

    /// The page holds this from now on, until it is written.
    pub fn fall_back(&mut self, page: u32, contents: C) {
        self.fallen_back.remove(&page);
        if contents != self.current(page) {
            self.fallen_back.insert(page, contents);
        }
    }

    /// What a page held before it was written for the first time, where that turns out later.
    #[must_use]
    pub fn before(&self, page: u32) -> C {
        C::token(Version::Before(page).stamp())
    }

    /// The page is written: what it holds from now on.
    #[inline]
    pub fn write(&mut self, page: u32) -> C {
        if C::KEEP {
            let version = &mut self.versions[page as usize];
            *version = version.wrapping_add(1);
            if !self.fallen_back.is_empty() {
                self.fallen_back.remove(&page);
            }
        }
        self.current(page)
    }
}
