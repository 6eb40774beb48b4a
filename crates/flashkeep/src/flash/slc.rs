//! `flash.slc`: blocks of each plane that are used with one bit per cell. They are programmed and read faster, and have
//! fewer pages. A page map uses them as a write cache (`ftl.slc`).

use super::FlashSpec;
use super::page_types::PerType;
use crate::kernel::{Span, whole};
use crate::options::{self, Options, OptionsPart, Selector, SelectorValue};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Blocks with one bit per cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct SlcSpec {
    /// Blocks of each plane that are used with one bit per cell, in addition to `blocks_per_plane`: an SLC cache. 0:
    /// none. The capacity of the drive and its over-provisioning are those of the other blocks.
    #[schemars(range(max = 1_048_576))]
    pub blocks: u32,
    /// The options of these blocks.
    #[serde(flatten)]
    #[schemars(schema_with = "of_slc")]
    pub options: Options,
}

fn of_slc(generator: &mut SchemaGenerator) -> Schema {
    options::schema(generator, &[SLC])
}

/// `flash.slc.blocks` and the options of these blocks.
pub const SLC: Selector = Selector {
    key: "blocks",
    values: || vec![SelectorValue { name: "", options: const { &[OptionsPart::of::<SlcOptions>()] } }],
    shapes_state: true,
};

/// The pages of blocks with one bit per cell.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SlcOptions {
    /// Pages of a block with one bit per cell, at most `flash.pages_per_block`. Default: that divided by the bits per
    /// cell, which are the page types of `flash.timing` or, if that is more, `flash.pages_per_program`.
    #[schemars(range(min = 1, max = 32_768))]
    pub pages_per_block: Option<u32>,
    /// Read time of such a page, array to page register, µs.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub read_us: f64,
    /// Program time of such a page, page register to array, µs. Pages are programmed one by one.
    #[schemars(range(max = 1e9), extend("exclusiveMinimum" = 0.0))]
    pub program_us: f64,
}

impl Default for SlcOptions {
    fn default() -> Self {
        SlcOptions { pages_per_block: None, read_us: 25.0, program_us: 200.0 }
    }
}

impl SlcSpec {
    /// Pages of one of these blocks, on this flash.
    #[must_use]
    pub fn pages(&self, flash: &FlashSpec) -> u32 {
        let types = |times: &PerType| if let PerType::Each(times) = times { times.len() } else { 1 };
        let types = types(&flash.timing.read_us).max(types(&flash.timing.program_us)) as u32;
        let bits = types.max(flash.pages_per_program);
        let pages = self.options.read::<SlcOptions>().pages_per_block;
        pages.unwrap_or(flash.pages_per_block / bits).max(1)
    }

    /// The same blocks, `times` as many, with this many pages each.
    #[must_use]
    pub fn pooled(&self, times: u32, pages: u32) -> SlcSpec {
        let mut options = self.options.clone();
        if self.blocks > 0 {
            options.set("pages_per_block", pages);
        }
        SlcSpec { blocks: self.blocks.saturating_mul(times), options }
    }

    /// How long a read and a program take; none without such blocks.
    #[must_use]
    pub fn times(&self) -> Option<[Span; 2]> {
        let SlcOptions { read_us, program_us, .. } = self.options.read();
        let span = |us: f64| Span(whole(us * 1e3).ceil() as u64);
        (self.blocks > 0).then(|| [span(read_us), span(program_us)])
    }
}
