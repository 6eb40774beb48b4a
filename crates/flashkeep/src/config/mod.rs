//! Drive files: read, checked across fields, resolved.

mod ageing;
mod array;
mod changes;
mod check;
mod cleaning;
mod disk;
mod elements;
mod energy;
mod errors;
mod fields;
mod files;
mod keys;
mod load;
mod mapping;
mod options;
mod packing;
mod page_types;
mod parameters;
mod policies;
mod pools;
mod presets;
mod price;
mod redundancy;
mod source;
mod tree;
mod values;
mod wear;

#[cfg(test)]
mod tests;

pub use changes::changes;
pub use check::Resolved;
pub use errors::ProtectedPage;
pub use fields::schema;
pub use files::DriveFiles;
pub use keys::*;
pub use load::{from_json, load, load_text, load_with};
pub use policies::{PolicyInfo, policies};
pub use presets::{PresetInfo, preset_text, presets};
pub use tree::draw;
