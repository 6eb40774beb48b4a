//! From a resolved drive to its flash and the tree of its redundancy over it.

use crate::drive::{Drive, LeafKind};
use crate::engine::{Contents, Controller, LeafId, Scheme, Tree};
use crate::error::{DriveError, Error};
use crate::ftl::victim;
use crate::kernel::Span;
use crate::mapping::{self, Below};
use crate::media::{Domain, Geometry, scheduler};
use crate::schemes::{self, Any, Members};
use crate::spec::Resolved;

/// A drive, ready to be asked.
pub struct Built<C> {
    /// Its flash.
    pub flash: Drive<C>,
    /// The schemes over it.
    pub tree: Tree<Any>,
    /// What its controller can do.
    pub controller: Controller,
    /// What of the flash each member has, and after them the spare ones.
    pub domains: Vec<Domain>,
    /// Leaves: the members, the spare ones, and a non-volatile memory.
    pub leaf_count: u16,
}

/// The flash of a drive, and the tree of its redundancy over it.
///
/// # Errors
/// A drive whose parts are no boxes of whole channels, chips or dies.
pub fn build<C: Contents>(drive: &Resolved) -> Result<Built<C>, Error> {
    let domains = domains(drive)?;
    let narrow = |pages: u64| u32::try_from(pages).expect("checked when the drive was resolved");
    let (pages, shadow) = (narrow(drive.member_pages()), narrow(drive.shadow_pages()));
    let (scheme, redundancy) = (drive.scheme(), &drive.spec.redundancy);
    let notify_leaving = shadow > 0 && redundancy.commit_on_collection;
    let (map, tables) = (drive.map(), narrow(drive.translation_pages()));
    let notify_moves = map.below == Below::Mapped;
    let kind = match scheme.kind {
        Members::Raw => LeafKind::Raw,
        _ if map.below == Below::Blocks => LeafKind::Blocks,
        Members::Mapped | Members::Shadowed => {
            LeafKind::Mapped { pages: pages + tables, shadow, notify_leaving, notify_moves }
        }
    };
    let rule = scheduler::named(&drive.spec.flash.scheduler).expect("checked when the drive was resolved");
    let victim = victim::named(&drive.spec.ftl.gc.victim).expect("checked when the drive was resolved");
    let mut flash = Drive::new(drive, &domains, kind, rule, victim);
    let (group_pages, memory_pages) = (narrow(drive.group_pages()), narrow(drive.memory_pages()));
    let groups = narrow(drive.part_pages()) / group_pages;
    let raw = scheme.kind == Members::Raw;
    debug_assert!(!raw || u64::from(groups) >= schemes::least_groups(u64::from(pages), group_pages));
    let options = schemes::Options {
        redundancy,
        member_pages: u64::from(pages),
        members: drive.members() as u8,
        shadow_pages: shadow,
        memory_pages,
        group_pages,
        groups,
        clean_below: drive.clean_below(),
        page_bytes: drive.page_bytes(),
        array: &[],
        unit_pages: 1,
    };
    let root = schemes::build(&options).expect("checked when the drive was resolved");
    debug_assert!(root.capacity() >= drive.logical_pages(), "a scheme offers what its table line declares");
    let member = |leaf| match (map.build)(&mapping_options(drive)) {
        Some(mapping) => Tree::Node(Any::Mapped(Box::new(mapping)), vec![Tree::Leaf(LeafId(leaf))]),
        None => Tree::Leaf(LeafId(leaf)),
    };
    let mut leaves: Vec<_> = (0..drive.members() as u16).map(member).collect();
    if scheme.memory {
        let latency = Span((redundancy.nvram_us * 1e3).round() as u64);
        leaves.push(Tree::Leaf(flash.add_nvram(memory_pages, latency)));
    }
    let leaf_count = flash.ftl_count() + u16::from(scheme.memory);
    let controller = Controller {
        xor: Span((redundancy.xor_us * 1e3).round() as u64),
        rebuild_permille: ((redundancy.rebuild_share * 1e3).round() as u32).max(1),
    };
    Ok(Built { flash, tree: Tree::Node(root, leaves), controller, domains, leaf_count })
}

fn mapping_options(drive: &Resolved) -> mapping::Options {
    mapping::Options {
        pages: drive.member_pages() as u32,
        page_bytes: drive.page_bytes(),
        cache_entries: drive.cache_entries(),
        planes: (drive.planes() / u64::from(drive.parts())) as u32,
        blocks: drive.spec.flash.blocks_per_plane,
        block_pages: drive.spec.flash.pages_per_block,
        log_blocks: drive.spec.ftl.log_blocks,
    }
}

fn domains(drive: &Resolved) -> Result<Vec<Domain>, Error> {
    let geometry = Geometry::new(&drive.spec.flash);
    let (parts, across) = (drive.parts(), drive.spec.redundancy.across);
    let domains = (0..parts).map(|index| geometry.part(across, parts, index)).collect::<Option<_>>();
    domains.ok_or_else(|| {
        let message = format!(
            "{parts} equal parts of the drive's {across:?}s are not whole channels, nor whole chips of one channel, nor \
             whole dies of one chip; choose a width or a geometry that divides evenly"
        );
        Error::Drive(DriveError {
            path: drive.path.clone(),
            line: None,
            field: Some("redundancy.width".into()),
            message: message.to_lowercase(),
        })
    })
}
