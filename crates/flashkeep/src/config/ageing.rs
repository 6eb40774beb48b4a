//! `[ageing]`: resolves its keys, and checks whether the drive can be aged that way.

use super::check::{Check, Resolved, product};
use super::pools::pooled;
use crate::buffer::Existing;
use crate::error::DriveError;
use crate::ftl::ageing::{self, AgedOptions, Model, ValidOptions, Wish};

impl Resolved {
    /// The model by which flash is aged; none where it is new.
    #[must_use]
    pub fn ageing_model(&self) -> Option<Model> {
        ageing::named(&self.spec.ageing.model)
    }

    /// How each plane is aged; none if the flash is new. If all pages exist, the drive's capacity determines the number
    /// of valid pages.
    #[must_use]
    pub fn ageing(&self, existing: Existing) -> Option<(Model, Wish)> {
        let (flash, aged) = (self.pooled_flash(), self.aged_ratio());
        let model = self.ageing_model()?;
        let plane = f64::from(flash.blocks_per_plane) * f64::from(flash.pages_per_block);
        let wish = Wish {
            pages: flash.pages_per_block,
            written: (plane * aged) as u32,
            written_each: (f64::from(flash.pages_per_block) * aged).ceil() as u32,
            valid_ppm: match existing {
                Existing::All => self.valid_ppm((plane * aged) as u64),
                _ if model.leaves_valid => (self.valid_ratio() * 1e6).round() as u32,
                _ => 0,
            },
        };
        Some((model, wish))
    }

    /// The share of a plane's written pages, in millionths, that is valid if all pages of the drive exist.
    fn valid_ppm(&self, written: u64) -> u32 {
        let flash = self.pooled_flash();
        let planes =
            product(&[flash.channels, flash.chips_per_channel, flash.dies_per_chip, flash.planes_per_die]);
        let pages = self.member_pages() * u64::from(self.members());
        let planes = planes / u64::from(self.parts()) * u64::from(self.members());
        let full = written / u64::from(flash.pages_per_block) * u64::from(flash.pages_per_block);
        (pages * 1_000_000 / (planes * full).max(1)).min(1_000_000) as u32
    }
}

impl Check<'_> {
    /// Checks that the aged state is possible and that the drive can continue from it.
    pub(super) fn ageing(&mut self) -> Result<(), DriveError> {
        let (flash, keys) = (&pooled(&self.spec), &self.spec.ageing);
        let AgedOptions { aged_ratio: aged } = keys.options.read();
        let ValidOptions { valid_ratio } = keys.options.read();
        let plane = self.spec.ftl.pool.noun();
        let Some(model) = ageing::named(&keys.model) else { return Ok(()) };
        let pages = f64::from(flash.blocks_per_plane) * f64::from(flash.pages_per_block);
        let most = 1.0 - 2.0 / f64::from(flash.blocks_per_plane);
        if aged > most {
            let message = format!(
                "{} leaves {:.1} blocks of a {plane} clean; garbage collection needs 2: at most {:.6} is \
                 accepted with {} blocks in a {plane}",
                aged,
                f64::from(flash.blocks_per_plane) * (1.0 - aged),
                (most * 1e6).floor() / 1e6,
                flash.blocks_per_plane
            );
            return Err(self.wrong(&["ageing.aged_ratio", "flash.blocks_per_plane"], message));
        }
        let all = self.spec.start.existing == Existing::All;
        let valid = if model.leaves_valid && !all { valid_ratio } else { 0.0 };
        let logical = 1.0 / (1.0 + self.spec.ftl.over_provisioning);
        if aged * valid > logical {
            let message = format!(
                "{valid} of the {} written pages of a {plane} would be valid, but the host can have only \
                 {}: set a lower ageing.valid_ratio or ageing.aged_ratio",
                (pages * aged) as u64,
                (pages * logical) as u64
            );
            return Err(self.wrong(&["ageing.valid_ratio", "ageing.aged_ratio"], message));
        }
        if model.leaves_valid && all && self.given.by_hand("ageing.valid_ratio") {
            let text = "ageing.valid_ratio: no effect with start.existing = \"all\": the capacity says how many pages are valid";
            self.warnings.push(text.into());
        }
        Ok(())
    }
}
