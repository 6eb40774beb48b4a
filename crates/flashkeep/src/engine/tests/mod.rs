//! The executor under small schemes on memory: mirror, RAID-5 and RAID-6, deferred and partial parity, and a
//! striped log over chips with physical pages, alone and nested, in any order of completion.

mod deferred;
mod log;
mod mirror;
mod partial;
mod raid;
pub(crate) mod rig;
pub(crate) mod store;
mod stubs;

mod arithmetic;
mod completions;
mod declared;
mod failures;
mod flush;
mod logs;
mod nested;
mod order;
mod triggers;
mod waiting;

use super::{Contents, Key, Member, Role, Token, Tree, gf};
use mirror::{Mirror, Plain};
use raid::Raid;
use store::{Report, Store};
use stubs::Stub;

/// A tree of stubs under test.
type Rig<C> = rig::Rig<C, Stub>;

/// Whether every stripe of a RAID over the first backends has the parities of its data, computed here.
fn parity_is_right(rig: &Rig<Token>, members: u8, parities: u8, stripes: u32) -> bool {
    let layout = raid::Layout { members, parities };
    (0..stripes).all(|stripe| {
        let unit = |role| rig.store.page(u16::from(layout.member(stripe, role).0), stripe);
        let data = || (0..layout.data()).map(|index| (index, unit(Role::Data(index))));
        let p = data().fold(Token(0), |sum, (_, page)| sum.plus(1, page));
        let q = data().fold(Token(0), |sum, (index, page)| sum.plus(gf::coefficient(index), page));
        unit(Role::P) == p && (parities == 1 || unit(Role::Q) == q)
    })
}

/// A RAID over as many backends as it has members.
fn raid(members: u8, parities: u8, stripes: u32, report: Report, seed: u64) -> Rig<Token> {
    Rig::flat(Raid::new(members, parities, stripes).into(), u16::from(members), stripes, report, seed)
}

/// `members` backends of `pages` pages under a scheme.
fn node<C: Contents>(
    scheme: impl Into<Stub>,
    members: usize,
    store: &mut Store<C>,
    pages: u32,
    report: Report,
) -> Tree<Stub> {
    let backends = (0..members).map(|_| Tree::Backend(store.add(pages, 0, report))).collect();
    Tree::Node(scheme.into(), backends)
}
