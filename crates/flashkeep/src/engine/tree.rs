//! The shape of the tree: parents, children and members of nodes.

use super::command::Page;
use super::leaves::LeafId;
use super::plan::Member;
use super::rebuild::Controller;
use super::units::Units;
use crate::device::port::PortOptions;

/// A node of the tree; nodes are numbered in pre-order, the root being 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The top of the tree.
    pub const ROOT: NodeId = NodeId(0);
    /// Above the root: plans that the host makes itself.
    pub(super) const HOST: NodeId = NodeId(u16::MAX);

    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How a node stands in the tree, apart from what it does.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its children, in order of member number.
    pub children: Vec<NodeId>,
    /// The leaf that it is, if it is one.
    pub leaf: Option<LeafId>,
    /// The leaf below it whose pages its own are, by the same numbers, if there is one ([`Scheme::is_transparent`](
    /// super::Scheme::is_transparent)).
    pub through: Option<LeafId>,
    /// Its parent, and which member of it this is.
    pub parent: Option<(NodeId, Member)>,
    /// Whether it answers.
    pub alive: bool,
    /// How its parent's pages become those of its scheme, where they are not the same.
    pub units: Option<Units>,
    /// The number of its port, if it has one.
    pub(super) port: Option<u16>,
    /// The level whose controller carries out its plans; 0 is the whole.
    pub(super) level: u16,
}

impl Shape {
    /// The leaf whose pages its own are, if there is one: itself, or the one that it looks through to.
    pub(super) fn raw(&self) -> Option<LeafId> {
        self.leaf.or(self.through)
    }

    /// What its scheme calls a page of its parent's.
    #[inline]
    pub(super) fn inner(&self, page: Page) -> Page {
        self.units.map_or(page, |units| units.inner(page))
    }
}

/// What stands between a tree and what it is a member of: an array or a drive in an array.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    /// How pages are called outside and inside; none where it is the same.
    pub units: Option<Units>,
    /// What its controller can do.
    pub controller: Controller,
    /// Its port, if it has one.
    pub port: Option<PortOptions>,
}

/// A tree laid out.
#[derive(Debug)]
pub(super) struct Flat<S> {
    /// How its nodes stand, in pre-order.
    pub(super) shapes: Vec<Shape>,
    /// The schemes of those that are not leaves.
    pub(super) schemes: Vec<Option<S>>,
    /// The controllers of level 1 and so on.
    pub(super) controllers: Vec<Controller>,
    /// The ports of nodes, by number.
    pub(super) ports: Vec<(NodeId, PortOptions)>,
}

/// A tree to be executed.
#[derive(Clone, Debug)]
pub enum Tree<S> {
    /// A leaf.
    Leaf(LeafId),
    /// A scheme over members.
    Node(S, Vec<Tree<S>>),
    /// A tree with a controller of its own.
    Level(Level, Box<Tree<S>>),
}

impl<S> Tree<S> {
    /// Counts its leaves from `first` on.
    pub fn shift(&mut self, first: u16) {
        match self {
            Tree::Leaf(leaf) => leaf.0 += first,
            Tree::Node(_, members) => members.iter_mut().for_each(|member| member.shift(first)),
            Tree::Level(_, tree) => tree.shift(first),
        }
    }

    /// Its nodes in pre-order.
    pub(super) fn flatten(self) -> Flat<S> {
        let (shapes, schemes) = (Vec::new(), Vec::new());
        let mut flat = Flat { shapes, schemes, controllers: Vec::new(), ports: Vec::new() };
        flat.plant(self, None, 0);
        flat
    }
}

impl<S> Flat<S> {
    fn plant(&mut self, tree: Tree<S>, parent: Option<(NodeId, Member)>, level: u16) -> NodeId {
        let (scheme, leaf, members) = match tree {
            Tree::Leaf(leaf) => (None, Some(leaf), Vec::new()),
            Tree::Node(scheme, members) => (Some(scheme), None, members),
            Tree::Level(Level { units, controller, port }, tree) => {
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
        self.shapes.push(Shape {
            children: Vec::new(),
            leaf,
            through: None,
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
