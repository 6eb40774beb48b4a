//! Computes the parameters of the layers below from the keys.

use super::check::Resolved;
use super::options;
use crate::blocks::wear::Limits;
use crate::blocks::{Policies, victim};
use crate::drive::{FlashBackendKind, Parameters};
use crate::flash::{SuspendRules, scheduler};
use crate::ftl::GcSpec;
use crate::schemes::Members;
use serde_json::Value;

impl Resolved {
    /// The parameters of a drive.
    ///
    /// # Panics
    /// Never: a drive with an unknown policy is not resolved.
    #[must_use]
    pub fn drive_parameters(&self, kind: FlashBackendKind) -> Parameters {
        let (flash, ftl) = (&self.spec.flash, &self.spec.ftl);
        let tables = self.translation_pages() > 0;
        let maps = self.scheme().kind != Members::Physical;
        Parameters {
            flash: self.pooled_flash(),
            pools: self.pools(),
            times: self.timing,
            page_types: self.page_types.clone(),
            page_sectors: self.page_sectors(),
            places: self.places(),
            kind,
            scheduler: scheduler::named(&flash.scheduler).expect("checked when the drive was resolved"),
            binding: self.allocation,
            stride: self.stride(),
            plane_choice: ftl.plane_choice,
            read_in_flight: ftl.read_in_flight,
            coalesce_reads: ftl.coalesce_reads,
            gather_ns: self.gather_ns(),
            map_write_ns: self.map_write_ns(),
            map_survives: self.map_survives(),
            gc: GcSpec { separate: ftl.gc.separate && maps, ..ftl.gc.clone() },
            slc: ftl.slc.options.read(),
            policies: self.policies(),
            // A log has streams of its own.
            classes: if maps { ftl.streams } else { 1 },
            handles: self.handle_spec(),
            streams: if maps { self.streams() } else { 1 },
            tables_from: tables.then(|| self.mapped_pages() as u32),
            spare_blocks: self.spare_blocks(),
            padding: self.padding(),
            draws: self.draws(),
            suspend: SuspendRules::of(flash),
            errors: self.errors.clone(),
        }
    }

    /// The victim policy and wear leveling.
    ///
    /// # Panics
    /// Never: a drive with an unknown policy is not resolved.
    #[must_use]
    pub fn policies(&self) -> Policies {
        let (gc, wear) = (&self.spec.ftl.gc, &self.spec.ftl.wear);
        let victim = victim::named(&gc.victim).expect("checked when the drive was resolved");
        Policies {
            victim,
            considered: (victim.considers)(&gc.options),
            foreign: victim.file.and_then(|file| file(&gc.options)).and_then(|path| victim::load(&path).ok()),
            levelling: self.levelling(),
            limits: Limits::new(&wear.options),
            erase_budget: wear.erase_budget,
        }
    }

    /// The keys that identify a saved drive; for an array also those of each member.
    #[must_use]
    pub fn identity(&self) -> Value {
        let mut keys = self.to_json();
        options::drop_stateless(&mut keys);
        if self.is_array() {
            let members = self.array.iter().enumerate();
            keys["members"] = members.map(|(at, member)| (at.to_string(), member.identity())).collect();
        }
        keys
    }
}
