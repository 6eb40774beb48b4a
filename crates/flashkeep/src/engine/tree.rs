//! How nodes stand to each other.

use super::leaves::LeafId;
use super::plan::Member;

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
    /// Its parent, and which member of it this is.
    pub parent: Option<(NodeId, Member)>,
    /// Whether it answers.
    pub alive: bool,
}

/// A tree to be executed.
#[derive(Debug)]
pub enum Tree<S> {
    /// A leaf.
    Leaf(LeafId),
    /// A scheme over members.
    Node(S, Vec<Tree<S>>),
}

impl<S> Tree<S> {
    /// Counts its leaves from `first` on.
    pub fn shift(&mut self, first: u16) {
        match self {
            Tree::Leaf(leaf) => leaf.0 += first,
            Tree::Node(_, members) => members.iter_mut().for_each(|member| member.shift(first)),
        }
    }

    /// Its nodes in pre-order: how they stand, and the schemes of those that are not leaves.
    pub(super) fn flatten(self) -> (Vec<Shape>, Vec<Option<S>>) {
        let (mut shapes, mut schemes) = (Vec::new(), Vec::new());
        self.plant(None, &mut shapes, &mut schemes);
        (shapes, schemes)
    }

    fn plant(
        self,
        parent: Option<(NodeId, Member)>,
        shapes: &mut Vec<Shape>,
        schemes: &mut Vec<Option<S>>,
    ) -> NodeId {
        let (scheme, leaf, members) = match self {
            Tree::Leaf(leaf) => (None, Some(leaf), Vec::new()),
            Tree::Node(scheme, members) => (Some(scheme), None, members),
        };
        let id = NodeId(u16::try_from(shapes.len()).expect("fewer than 65,535 nodes"));
        assert!(id != NodeId::HOST, "fewer than 65,535 nodes");
        schemes.push(scheme);
        shapes.push(Shape { children: Vec::new(), leaf, parent, alive: true });
        for (index, member) in members.into_iter().enumerate() {
            let number = Member(u8::try_from(index).expect("fewer than 256 members"));
            let child = member.plant(Some((id, number)), shapes, schemes);
            shapes[id.index()].children.push(child);
        }
        id
    }
}
