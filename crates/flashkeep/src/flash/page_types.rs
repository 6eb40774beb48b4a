//! Page types: a cell of several bits holds one page per bit, and these pages have different times.

use crate::kernel::whole;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The largest number of page types: one digit each.
const MOST_TYPES: usize = 8;

/// A time in µs: one for all pages, or one for each type of page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PerType {
    /// The same time for all pages.
    All(f64),
    /// Pages of the first type, the second, …
    Each(Vec<f64>),
}

impl PerType {
    /// The times by type, in whole ns, rounded up once.
    #[must_use]
    pub fn ns(&self) -> Vec<u64> {
        let times = match self {
            PerType::All(one) => std::slice::from_ref(one),
            PerType::Each(times) => times,
        };
        times.iter().map(|us| whole(us * 1e3).ceil() as u64).collect()
    }
}

impl JsonSchema for PerType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PerType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 1e9 });
        let each = json_schema!({ "type": "array", "items": one, "minItems": 1, "maxItems": MOST_TYPES });
        json_schema!({ "anyOf": [one, each] })
    }
}

/// The schema of a factor for each type of page, or one for all.
pub(super) fn factors(_: &mut SchemaGenerator) -> Schema {
    let one = json_schema!({ "type": "number", "minimum": 0.0, "maximum": 1000.0 });
    let each = json_schema!({ "type": "array", "items": one, "minItems": 1, "maxItems": MOST_TYPES });
    json_schema!({ "anyOf": [one, each] })
}

/// The type of each page of a block, and the times of the types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTypes {
    /// Types of a block's first pages, and those that repeat after them.
    first: Vec<u8>,
    repeated: Vec<u8>,
    /// By type: array to page register, ns.
    pub read_ns: Vec<u64>,
    /// By type: page register to array, ns.
    pub program_ns: Vec<u64>,
}

impl PageTypes {
    /// The types of a block's first pages, and those that repeat after them, with the times of each type.
    #[must_use]
    pub fn new(first: Vec<u8>, repeated: Vec<u8>, read_ns: Vec<u64>, program_ns: Vec<u64>) -> PageTypes {
        PageTypes { first, repeated, read_ns, program_ns }
    }

    /// A single type for all pages.
    #[must_use]
    pub fn alike(timing: &super::TimingSpec) -> PageTypes {
        let (read_ns, program_ns) = (timing.read_us.ns(), timing.program_us.ns());
        PageTypes { first: Vec::new(), repeated: vec![0], read_ns, program_ns }
    }

    /// Whether there is only one type.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.read_ns.len() == 1
    }

    /// Whether word lines of this many pages have the same types, from one to the next.
    #[must_use]
    pub fn repeats_by(&self, pages: u32) -> bool {
        let (pages, types) = (pages as usize, self.repeated.len());
        self.first.len().is_multiple_of(pages) && (types.is_multiple_of(pages) || pages.is_multiple_of(types))
    }

    /// The type of a page of a block, counted from 0.
    #[must_use]
    pub fn of(&self, page: u32) -> usize {
        let page = page as usize;
        let after = || self.repeated[(page - self.first.len()) % self.repeated.len()];
        usize::from(self.first.get(page).copied().unwrap_or_else(after))
    }
}
