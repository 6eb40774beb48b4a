//! Pages that exist before time 0, created row by row without commands: the state is that after a command for each.

use super::backends::Backends;
use super::contents::Contents;
use super::executor::Engine;
use super::nodes::Nodes;
use super::ports::Ports;
use super::scheme::{MemberRow, Scheme};
use super::tree::NodeId;
use std::ops::Range;

impl<S: Scheme> Nodes<S> {
    /// A row of the root's pages, if rows can be created: all backends place pages in order.
    #[must_use]
    pub fn row<C: Contents>(&self, backends: &impl Backends<C>) -> Option<MemberRow> {
        if self.is_healthy() { self.row_of(NodeId::ROOT, backends) } else { None }
    }

    /// The rows of a node such that its members have whole rows, too. A row of a backend is a page.
    fn row_of<C: Contents>(&self, node: NodeId, backends: &impl Backends<C>) -> Option<MemberRow> {
        let shape = &self[node];
        if shape.units.is_some() {
            return None;
        }
        if let Some(backend) = shape.backend {
            let page = MemberRow { pages: 1, each: 1, reads: false };
            return backends.places_in_order(backend).then_some(page);
        }
        shape.children.iter().try_fold(self.scheme(node)?.row()?, |row, &child| {
            let of_member = self.row_of(child, backends)?;
            let rows =
                (1..=of_member.pages).find(|rows| (rows * row.each).is_multiple_of(of_member.pages))?;
            let pages = row.pages.checked_mul(rows)?;
            Some(MemberRow { pages, each: row.each * rows, reads: row.reads || of_member.reads })
        })
    }

    fn create_rows_of<C: Contents, L: Backends<C>>(
        &mut self,
        node: NodeId,
        backends: &mut L,
        pages: Range<u64>,
        ports: &mut Ports<C>,
    ) {
        let row = self.scheme(node).and_then(Scheme::row).expect("its pages are created in rows");
        let rows = pages.start / u64::from(row.pages)..pages.end / u64::from(row.pages);
        let of_member = rows.start * u64::from(row.each)..rows.end * u64::from(row.each);
        for at in 0..self[node].children.len() {
            let child = self[node].children[at];
            let (backend, port) = (self[child].backend, self[child].port);
            if let Some(port) = port
                && !C::KEEP
            {
                ports.note_created(port, of_member.clone());
            }
            match backend {
                Some(backend) => backends.place_in_order(backend, of_member.clone()),
                None => self.create_rows_of(child, backends, of_member.clone(), ports),
            }
        }
        if !C::KEEP {
            self.scheme_mut(node).note_rows(rows);
        }
    }
}

impl<S: Scheme, C: Contents> Engine<S, C> {
    /// Pages of the root that are whole rows are created; none of them existed. Where contents are kept they only get their
    /// places, the same as without contents: commands bring these ([`Backends::fill`]), and tell schemes and ports.
    pub fn create_rows<L: Backends<C>>(&mut self, backends: &mut L, pages: Range<u64>) {
        self.nodes.create_rows_of(NodeId::ROOT, backends, pages, &mut self.ports);
    }
}
