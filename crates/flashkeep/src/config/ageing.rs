//! `[ageing]`: resolves its keys, and checks whether the drive can be aged that way.

use super::check::{Check, Resolved, product};
use super::keys::DriveSpec;
use super::load::Given;
use super::pools::pooled;
use crate::blocks::{victim, wear};
use crate::error::DriveError;
use crate::ftl::ageing::{self, AgedOptions, Model, ValidOptions, Wish};
use crate::ftl::{Copyback, PlaneChoice};
use crate::host::Existing;
use crate::mapping::{self, BackendKind};
use crate::schemes::{self, Members, SchemeEntry, Sums};

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
                _ if model.fills => 1_000_000,
                Existing::All => self.valid_ppm((plane * aged) as u64),
                _ if model.leaves_valid => (self.valid_ratio() * 1e6).round() as u32,
                _ => 0,
            },
        };
        Some((model, wish))
    }

    /// How it starts, in words.
    #[must_use]
    pub fn start_in_words(&self) -> String {
        if self.starts_full() {
            return "full, in the steady state of random writes".into();
        }
        let aged = match self.ageing_model() {
            Some(model) if !self.is_array() => format!("aged by ageing.model = \"{}\", ", model.name),
            _ if self.is_aged() => "with members that ageing.model aged, ".into(),
            _ => String::new(),
        };
        let pages = match self.spec.start.existing {
            Existing::All | Existing::Steady if aged.is_empty() => "full, each page written once",
            Existing::All | Existing::Steady => "full",
            Existing::Reads if aged.is_empty() => "new, with the pages that the workload reads",
            Existing::Reads => "with the pages that the workload reads",
            Existing::None if aged.is_empty() => "new, without data",
            Existing::None => "without data",
        };
        aged + pages
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
        if model.fills {
            return self.steady();
        }
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

    /// Resolves `start.existing = "steady"`, of the drive or of the array that it is a member of; returns whether it had
    /// that value.
    pub(super) fn choose_start(&mut self) -> bool {
        let above = self.given.start_above();
        if above == Some(Existing::Steady) {
            self.spec.start.existing = Existing::Steady;
        }
        if self.spec.start.existing != Existing::Steady {
            return false;
        }
        self.spec.start.existing = match (above, ageing::named(&self.spec.ageing.model)) {
            (Some(above), _) if above != Existing::Steady => above,
            (_, Some(model)) if !model.fills => Existing::Reads,
            _ => {
                let is_open = self.spec.disk.is_none() && !self.given.by_user("ageing.model");
                if is_open && self.unsteady().is_none() {
                    self.spec.ageing.model = "steady".into();
                }
                Existing::All
            }
        };
        true
    }

    /// Checks that the equations of a steady state apply to the drive, all of whose pages exist.
    fn steady(&mut self) -> Result<(), DriveError> {
        if let Some((key, why)) = self.unsteady() {
            let message = format!(
                "{why}; \"steady\" is for uniform random writes in one stream, a page map, a victim policy whose \
                 equations are known, and no wear leveling. Condition the drive by writing instead: without \
                 ageing.model, with --condition or `flashkeep age`"
            );
            return Err(self.wrong(&["ageing.model", key], message));
        }
        let by_hand = self.given.by_hand("ageing.model");
        self.warnings.extend(fill(&mut self.spec, self.given, by_hand));
        Ok(())
    }

    /// Why the steady state is not known: a key, and its value.
    fn unsteady(&self) -> Option<(&'static str, String)> {
        let (spec, ftl) = (&self.spec, &self.spec.ftl);
        let (scheme, victim) = (named_scheme(spec), victim::named(&ftl.gc.victim));
        let value = |key: &'static str, value: &str| Some((key, format!("with {key} = \"{value}\"")));
        if scheme.kind == Members::Physical {
            return value("redundancy.scheme", &spec.redundancy.scheme);
        }
        if mapping::named(&ftl.map).is_some_and(|map| map.below != BackendKind::Itself) {
            return value("ftl.map", &ftl.map);
        }
        if victim.is_none_or(|victim| victim.steady.is_none()) {
            return value("ftl.gc.victim", &ftl.gc.victim);
        }
        if !wear::named(&ftl.wear.levelling).is_some_and(|levelling| levelling.is_none()) {
            return value("ftl.wear.levelling", &ftl.wear.levelling);
        }
        if ftl.streams > 1 {
            return Some(("ftl.streams", format!("with ftl.streams = {}", ftl.streams)));
        }
        if ftl.handles > 1 {
            return Some(("ftl.handles", format!("with ftl.handles = {}", ftl.handles)));
        }
        if ftl.gc.separate {
            return Some(("ftl.gc.separate", "with ftl.gc.separate = true".into()));
        }
        if ftl.gc.copyback == Copyback::ParitySkip {
            return value("ftl.gc.copyback", "parity-skip");
        }
        if ftl.plane_choice != PlaneChoice::InTurn {
            return Some(("ftl.plane_choice", "unless ftl.plane_choice is \"in-turn\"".into()));
        }
        // GC that never reaches its threshold collects at each write.
        let flash = pooled(spec);
        let pages = f64::from(flash.blocks_per_plane) * f64::from(flash.pages_per_block);
        let below = (ftl.gc.threshold * pages).max(f64::from(flash.pages_per_block) + 1.0);
        let spare = pages - pages / (1.0 + ftl.over_provisioning) - below;
        let message =
            format!("with ftl.gc.threshold = {}, more than a full drive has free", ftl.gc.threshold);
        (spare < f64::from(flash.pages_per_block) / 2.0).then_some(("ftl.gc.threshold", message))
    }
}

fn named_scheme(spec: &DriveSpec) -> &'static SchemeEntry {
    schemes::named(&spec.redundancy.scheme).expect("one of the table, as its key demands")
}

/// All pages of a drive or an array in steady state exist; warnings about what that changes, if the user `chose` the
/// state.
pub(super) fn fill(spec: &mut DriveSpec, given: &Given, chosen: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if spec.start.existing != Existing::All {
        if given.by_hand("start.existing") {
            let text = "start.existing: no effect with ageing.model = \"steady\": all pages exist";
            warnings.push(text.into());
        }
        spec.start.existing = Existing::All;
    }
    if chosen && named_scheme(spec).has::<Sums>() {
        let text = "ageing.model: parity pages are rewritten more often than others, so \"steady\" is an \
                    approximation of the state after random writes";
        warnings.push(text.into());
    }
    warnings
}
