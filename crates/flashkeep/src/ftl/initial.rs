//! Where pages are at time 0, by a rule instead of a table: the maps ask it for entries that have never been set, so that
//! nothing needs to be written for pages that a run does not touch.

use super::places_in_turn::PlacesInTurn;
use super::steady_places::SteadyPlaces;
use crate::flash::Ppn;
use std::sync::Arc;

/// The places of pages at time 0.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum InitialPlaces {
    /// Those of a drive in steady state.
    Steady(Arc<SteadyPlaces>),
    /// The pages of a drive's only backend up to a limit, created in order.
    InTurn(Arc<PlacesInTurn>, u32),
    /// No page has one any more.
    None,
}

impl InitialPlaces {
    /// The place of a page.
    #[must_use]
    pub fn at(&self, backend: usize, lpn: u32) -> Option<Ppn> {
        match self {
            InitialPlaces::Steady(places) => places.at(backend, lpn),
            InitialPlaces::InTurn(places, end) => (lpn < *end).then(|| places.at(lpn)),
            InitialPlaces::None => None,
        }
    }

    /// The page whose place this is.
    #[must_use]
    pub fn owner(&self, ppn: Ppn) -> Option<u32> {
        match self {
            InitialPlaces::Steady(places) => places.owner(ppn),
            InitialPlaces::InTurn(places, end) => places.owner(ppn).filter(|lpn| lpn < end),
            InitialPlaces::None => None,
        }
    }

    /// How many pages have their places in a block of `pages` pages.
    #[must_use]
    pub fn pages_in(&self, first: Ppn, pages: u32) -> u32 {
        match self {
            InitialPlaces::Steady(places) => places.pages_in(first),
            // They follow each other.
            InitialPlaces::InTurn(..) => {
                (0..pages).take_while(|n| self.owner(Ppn(first.0 + n)).is_some()).count() as u32
            }
            InitialPlaces::None => 0,
        }
    }

    /// Whether pages of a backend have places.
    #[must_use]
    pub fn has_backend(&self, backend: usize) -> bool {
        match self {
            InitialPlaces::Steady(places) => places.has_backend(backend),
            InitialPlaces::InTurn(..) => true,
            InitialPlaces::None => false,
        }
    }

    /// A backend's pages have no places any more.
    pub fn remove_backend(&mut self, backend: usize) {
        match self {
            InitialPlaces::Steady(places) => Arc::make_mut(places).remove_backend(backend),
            _ => *self = InitialPlaces::None,
        }
    }

    /// The pages of a backend in steady state for which its blocks had no room.
    #[must_use]
    pub fn without_place(&self, backend: usize) -> Vec<u32> {
        match self {
            InitialPlaces::Steady(places) => places.without_place(backend).collect(),
            _ => Vec::new(),
        }
    }
}
