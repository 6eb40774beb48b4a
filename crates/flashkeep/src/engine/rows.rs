//! Pages that exist before time 0, created row by row without commands: the state is that behind a command for each.

use super::backends::Backends;
use super::contents::Contents;
use super::executor::Engine;
use super::scheme::{MemberRow, Scheme};
use super::tree::NodeId;
use std::ops::Range;

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// A row of the root's pages, if rows can be created: its members are backends that place pages in order, and
    /// contents are not kept.
    #[must_use]
    pub fn row(&self, backends: &impl Backends<C>) -> Option<MemberRow> {
        if C::KEEP || self.troubled {
            return None;
        }
        let root = &self.shape[NodeId::ROOT.index()];
        let places_in_order = |&member: &NodeId| {
            let member = &self.shape[member.index()];
            member.units.is_none() && member.backend.is_some_and(|backend| backends.places_in_order(backend))
        };
        let plain = root.units.is_none() && root.children.iter().all(places_in_order);
        self.scheme(NodeId::ROOT).filter(|_| plain)?.row()
    }

    /// Pages of these rows are created; none of them existed.
    pub fn create_rows<L: Backends<C>>(&mut self, backends: &mut L, row: MemberRow, rows: Range<u64>) {
        let pages = rows.start * u64::from(row.each)..rows.end * u64::from(row.each);
        for at in 0..self.shape[NodeId::ROOT.index()].children.len() {
            let member = &self.shape[self.shape[NodeId::ROOT.index()].children[at].index()];
            let backend = member.backend.expect("rows are created on backends");
            if let Some(port) = member.port {
                self.note_created(port, pages.clone());
            }
            backends.place_in_order(backend, pages.clone());
        }
        self.scheme_mut(NodeId::ROOT).note_rows(rows);
    }
}
