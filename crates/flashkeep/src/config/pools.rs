//! `ftl.pool`: planes that share an open block and are collected as one.

use super::check::{Check, Resolved, product};
use super::keys::DriveSpec;
use super::packing::{block_pages, page_bytes, places};
use super::redundancy::parts;
use crate::flash::{FlashSpec, MultiPlane, Pools};
use crate::ftl::{PlaneChoice, Pool};

fn pools(spec: &DriveSpec) -> Pools {
    let FlashSpec { chips_per_channel, dies_per_chip, planes_per_die, .. } = spec.flash;
    let [chips, dies] = within_member(spec);
    // Planes that a command programs together have an open block each.
    let planes = if spec.flash.commands.multi_plane == MultiPlane::Off { planes_per_die } else { 1 };
    match spec.ftl.pool {
        Pool::Plane => Pools::PLANES,
        Pool::Element => Pools { chips: 1, dies: dies.min(dies_per_chip), planes },
        Pool::Gang => Pools { chips: chips.min(chips_per_channel), dies: dies.min(dies_per_chip), planes },
    }
}

/// Chips of a channel, and dies of each, that a member of the drive's scheme has: a pool ends with its member.
fn within_member(spec: &DriveSpec) -> [u32; 2] {
    let FlashSpec { channels, chips_per_channel: chips, dies_per_chip: dies, .. } = spec.flash;
    let (all, parts) = (product(&[channels, chips, dies]), u64::from(parts(&spec.redundancy)).max(1));
    match u32::try_from(all / parts).unwrap_or(u32::MAX) {
        _ if !all.is_multiple_of(parts) => [chips, dies],
        member if member >= chips * dies => [chips, dies],
        member if member >= dies && chips.is_multiple_of(member / dies) => [member / dies, dies],
        member if member > 0 && dies.is_multiple_of(member) => [1, member],
        _ => [chips, dies],
    }
}

/// The flash as its FTL sees it: each pool is a plane, and pages are those of the map.
pub(super) fn pooled(spec: &DriveSpec) -> FlashSpec {
    let (flash, pools) = (spec.flash.clone(), pools(spec));
    // A number out of range stays out of range.
    let blocks = u64::from(flash.blocks_per_plane) * u64::from(pools.chips);
    let blocks = blocks.saturating_mul(u64::from(pools.dies)).saturating_mul(u64::from(pools.planes));
    FlashSpec {
        page_kib: page_bytes(spec) as f64 / 1024.0,
        pages_per_block: block_pages(spec),
        chips_per_channel: flash.chips_per_channel / pools.chips,
        dies_per_chip: flash.dies_per_chip / pools.dies,
        planes_per_die: flash.planes_per_die / pools.planes,
        blocks_per_plane: u32::try_from(blocks).unwrap_or(u32::MAX).min(1 << 31),
        slc: flash.slc.pooled(pools.planes_each(), flash.slc.pages(&flash).saturating_mul(places(spec))),
        ..flash
    }
}

impl Resolved {
    /// Planes that share an open block.
    #[must_use]
    pub fn pools(&self) -> Pools {
        pools(&self.spec)
    }

    /// Planes of the flash as its FTL sees it.
    #[must_use]
    pub fn pooled_planes(&self) -> u64 {
        let flash = self.pooled_flash();
        product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die])
    }

    /// The flash as its FTL sees it: each pool is a plane, and pages are those of the map.
    #[must_use]
    pub fn pooled_flash(&self) -> FlashSpec {
        pooled(&self.spec)
    }
}

impl Check<'_> {
    /// Which plane of a pool takes the next page is determined.
    pub(super) fn pools(&mut self) {
        if self.spec.ftl.pool == Pool::Plane {
            return;
        }
        if self.spec.ftl.plane_choice != PlaneChoice::InTurn && self.given.by_hand("ftl.plane_choice") {
            self.warnings.push(
                "ftl.plane_choice: no effect with ftl.pool: the pool's open block determines the \
                       plane"
                    .into(),
            );
        }
        self.spec.ftl.plane_choice = PlaneChoice::InTurn;
    }
}
