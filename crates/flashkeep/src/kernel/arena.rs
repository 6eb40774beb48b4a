//! Objects by id. An arena that has grown to its working size allocates no more memory.

use super::make_room;
use std::collections::HashSet;
use std::marker::PhantomData;

/// The place of a `T` in its [`Arena`]. 0 is never used, so that an absent id needs no extra space.
pub struct Id<T>(u32, PhantomData<fn() -> T>);

impl<T> Id<T> {
    /// No object.
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

    /// Whether it names an object.
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

/// An arena of `T`: freed places are reused, the last freed one first.
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
    /// A place for an object. The former object is still there, so that its buffers can be reused.
    #[inline(always)]
    pub fn claim(&mut self) -> Id<T> {
        match self.free.pop() {
            Some(raw) => Id::new(raw),
            None => self.grow(),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Id<T> {
        make_room(&mut self.items, 1);
        self.items.push(T::default());
        Id::new(u32::try_from(self.items.len() - 1).expect("fewer than 2^32 things at once"))
    }

    /// Frees a place.
    #[inline]
    pub fn release(&mut self, id: Id<T>) {
        debug_assert!(id.is_some(), "a place that was handed out");
        self.free.push(id.raw());
    }

    /// All places; free ones still hold their last object.
    pub fn places(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// What a place holds, if there is such a place.
    #[inline(always)]
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The objects, without free places.
    pub fn objects(&self) -> impl Iterator<Item = &T> {
        let free: HashSet<u32> = self.free.iter().copied().collect();
        let used = (0..).zip(&self.items).skip(1).filter(move |(raw, _)| !free.contains(raw));
        used.map(|(_, object)| object)
    }

    /// The number of objects.
    #[must_use]
    #[inline]
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
