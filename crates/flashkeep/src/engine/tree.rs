//! The shape of the tree: parents, children and members of nodes.

use super::backends::BackendId;
use super::command::Page;
use super::plan::Member;
use super::rebuild::ArrayController;
use super::units::ChunkOrder;
use crate::device::port::PortOptions;

/// A node of the tree; nodes are numbered in pre-order, the root being 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The root of the tree.
    pub const ROOT: NodeId = NodeId(0);
    /// The host, above the root: for partial-page writes of the host's port.
    pub(super) const HOST: NodeId = NodeId(u16::MAX);

    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The links of a node in the tree: children, parent, backend, level. Its scheme is stored separately.
#[derive(Clone, Debug)]
pub struct NodeLinks {
    /// Its children, in order of member number.
    pub children: Vec<NodeId>,
    /// The backend of the node, if it is a backend.
    pub backend: Option<BackendId>,
    /// The backend below it with the same page numbers, if all schemes between are transparent
    /// ([`Capabilities::transparent`](super::Capabilities::transparent)).
    pub through: Option<BackendId>,
    /// Its only member, if its scheme passes every command on to it unchanged while no part has failed.
    pub(super) only: Option<NodeId>,
    /// Its parent, and its member number there; none for the root.
    pub parent: Option<(NodeId, Member)>,
    /// Whether it responds to commands.
    pub alive: bool,
    /// The permutation from its parent's page numbers to those of its scheme; none if they are equal.
    pub units: Option<ChunkOrder>,
    /// The number of its port, if it has one.
    pub(super) port: Option<u16>,
    /// The level whose controller carries out its plans; 0 is the level of the root.
    pub(super) level: u16,
}

impl NodeLinks {
    /// The node of a member.
    #[inline(always)]
    pub(super) fn child(&self, member: Member) -> NodeId {
        self.children[usize::from(member.0)]
    }

    /// The node of the first member, if there is one.
    pub(super) fn first_child(&self) -> Option<NodeId> {
        self.children.first().copied()
    }

    /// The backend with the same page numbers, if there is one: the node itself, or the one below transparent schemes.
    pub(super) fn raw(&self) -> Option<BackendId> {
        self.backend.or(self.through)
    }

    /// The scheme's number of a page that its parent numbers `page`.
    #[inline]
    pub(super) fn inner(&self, page: Page) -> Page {
        self.units.map_or(page, |units| units.inner(page))
    }
}

/// The boundary of an array, or of a drive in an array: what commands pass on entry, and the controller inside.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeLevel {
    /// The permutation of page numbers between outside and inside; none if they are equal.
    pub units: Option<ChunkOrder>,
    /// The controller: time of parity computation and pace of rebuilds.
    pub controller: ArrayController,
    /// Its port, if it has one.
    pub port: Option<PortOptions>,
}

/// A tree as lists of nodes.
#[derive(Debug)]
pub(super) struct Flat<S> {
    /// The links of its nodes, in pre-order.
    pub(super) shapes: Vec<NodeLinks>,
    /// The scheme of each node; none for backends.
    pub(super) schemes: Vec<Option<S>>,
    /// The controllers of the levels from 1 on.
    pub(super) controllers: Vec<ArrayController>,
    /// The ports of nodes, by number: first that of the host, before the root.
    pub(super) ports: Vec<(NodeId, PortOptions)>,
}

/// A tree to be executed.
#[derive(Clone, Debug)]
pub enum Tree<S> {
    /// A backend.
    Backend(BackendId),
    /// A scheme over members.
    Node(S, Vec<Tree<S>>),
    /// A tree with a controller of its own.
    Level(TreeLevel, Box<Tree<S>>),
}

impl<S> Tree<S> {
    /// Adds `first` to the numbers of its backends.
    pub fn shift(&mut self, first: u16) {
        match self {
            Tree::Backend(backend) => backend.0 += first,
            Tree::Node(_, members) => members.iter_mut().for_each(|member| member.shift(first)),
            Tree::Level(_, tree) => tree.shift(first),
        }
    }

    /// Its nodes in pre-order.
    pub(super) fn flatten(self) -> Flat<S> {
        let (shapes, schemes) = (Vec::new(), Vec::new());
        let ports = vec![(NodeId::ROOT, PortOptions::default())];
        let mut flat = Flat { shapes, schemes, controllers: Vec::new(), ports };
        flat.plant(self, None, 0);
        flat
    }
}

impl<S> Flat<S> {
    fn plant(&mut self, tree: Tree<S>, parent: Option<(NodeId, Member)>, level: u16) -> NodeId {
        let (scheme, backend, members) = match tree {
            Tree::Backend(backend) => (None, Some(backend), Vec::new()),
            Tree::Node(scheme, members) => (Some(scheme), None, members),
            Tree::Level(TreeLevel { units, controller, port }, tree) => {
                self.controllers.push(controller);
                let level = self.controllers.len() as u16;
                let id = self.plant(*tree, parent, level);
                let shape = &mut self.shapes[id.index()];
                shape.units = units;
                shape.port = port.map(|_| self.ports.len() as u16);
                self.ports.extend(port.map(|port| (id, port)));
                return id;
            }
        };
        let id = NodeId(u16::try_from(self.shapes.len()).expect("fewer than 65,535 nodes"));
        assert!(id != NodeId::HOST, "fewer than 65,535 nodes");
        self.schemes.push(scheme);
        self.shapes.push(NodeLinks {
            children: Vec::new(),
            backend,
            through: None,
            only: None,
            parent,
            alive: true,
            units: None,
            port: None,
            level,
        });
        for (index, member) in members.into_iter().enumerate() {
            let number = Member(u8::try_from(index).expect("fewer than 256 members"));
            let child = self.plant(member, Some((id, number)), level);
            self.shapes[id.index()].children.push(child);
        }
        id
    }
}
