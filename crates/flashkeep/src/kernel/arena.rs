//! Objects by id: nothing is allocated once the arena has grown to its working size.

use super::make_room;
use std::marker::PhantomData;

/// The place of a `T` in its [`Arena`]. 0 is never handed out, so an absent id costs nothing.
pub struct Id<T>(u32, PhantomData<fn() -> T>);

impl<T> Id<T> {
    /// No thing at all.
    pub const NONE: Id<T> = Id(0, PhantomData);

    /// The id with this number.
    #[must_use]
    pub fn new(raw: u32) -> Self {
        Id(raw, PhantomData)
    }

    /// Its number.
    #[must_use]
    #[inline]
    pub fn raw(self) -> u32 {
        self.0
    }

    /// Its number, as an index.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether it names anything.
    #[must_use]
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Id<T> {}
impl<T> Default for Id<T> {
    fn default() -> Self {
        Id::NONE
    }
}
impl<T> std::fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// An arena of `T`: freed places are used again, last freed first.
#[derive(Clone, Debug)]
pub struct Arena<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Default> Default for Arena<T> {
    fn default() -> Self {
        Arena { items: vec![T::default()], free: Vec::new() }
    }
}

impl<T: Default> Arena<T> {
    /// A place for a thing; what stood there before is still there, for its buffers to be used again.
    #[inline]
    pub fn claim(&mut self) -> Id<T> {
        let raw = self.free.pop().unwrap_or_else(|| {
            make_room(&mut self.items, 1);
            self.items.push(T::default());
            u32::try_from(self.items.len() - 1).expect("fewer than 2^32 things at once")
        });
        Id::new(raw)
    }

    /// Gives a place back.
    #[inline]
    pub fn release(&mut self, id: Id<T>) {
        debug_assert!(id.is_some(), "a place that was handed out");
        self.free.push(id.raw());
    }

    /// All places, and what stood last in those that are free.
    pub fn places(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// How many things there are.
    #[must_use]
    pub fn live(&self) -> usize {
        self.items.len() - 1 - self.free.len()
    }
}

impl<T> std::ops::Index<Id<T>> for Arena<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: Id<T>) -> &T {
        &self.items[id.index()]
    }
}

impl<T> std::ops::IndexMut<Id<T>> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.items[id.index()]
    }
}
