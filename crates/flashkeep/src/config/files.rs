//! The files that a drive consists of: its own, those of its bases and members, and those that they name. A job can bring
//! them to a machine that does not have them.

use super::fields::Scalar;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Texts that replace files on disk, and which drive files have been read.
#[derive(Debug, Default)]
pub struct DriveFiles {
    texts: BTreeMap<String, String>,
    copies: BTreeMap<String, String>,
    read: RefCell<BTreeMap<String, String>>,
}

impl DriveFiles {
    /// `texts` are drive files by their paths. `copies` says where the files of measurements or in Python lie that
    /// drives name, by the paths that the drives have for them. What neither has is read from disk.
    #[must_use]
    pub fn new(texts: BTreeMap<String, String>, copies: BTreeMap<String, String>) -> Self {
        DriveFiles { texts, copies, read: RefCell::default() }
    }

    /// The drive files that were read, by their paths; no presets.
    #[must_use]
    pub fn read(&self) -> BTreeMap<String, String> {
        self.read.borrow().clone()
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.texts.get(path).cloned()
    }

    pub(super) fn note(&self, path: &str, text: &str) {
        self.read.borrow_mut().insert(path.into(), text.into());
    }

    /// A value of a key; where it names a file that has a copy, the path of the copy.
    pub(super) fn here(&self, key: &str, value: &Scalar) -> Scalar {
        match value {
            Scalar::Text(path) if key.ends_with(".file") => {
                Scalar::Text(self.copies.get(path).unwrap_or(path).clone())
            }
            _ => value.clone(),
        }
    }
}
