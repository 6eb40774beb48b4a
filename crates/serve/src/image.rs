//! Crash images: the bytes of the device as a reader would find them after a power cut.

use crate::store::{Bytes, Store};
use flashkeep::simulation::Held;
use flashkeep_trace::random::Random;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Which versions a crash image has of pages that are not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Those that the model finds after the power cut.
    Model,
    /// The durable ones.
    None,
    /// The durable or the newest one, drawn for each page with this seed.
    Half(u64),
    /// The newest ones.
    All,
}

impl Keep {
    pub(crate) fn read(keep: &str, seed: &str) -> Result<Keep, String> {
        let seed = seed
            .parse()
            .map_err(|_| format!("crash-image: found the seed `{seed}`; a number is accepted"))?;
        match keep {
            "model" => Ok(Keep::Model),
            "none" => Ok(Keep::None),
            "half" => Ok(Keep::Half(seed)),
            "all" => Ok(Keep::All),
            other => {
                Err(format!("crash-image: found `{other}`; `model`, `none`, `half` and `all` are accepted"))
            }
        }
    }

    /// The stream of its draws.
    pub(crate) fn draws(self) -> Random {
        let seed = if let Keep::Half(seed) = self { seed } else { 0 };
        Random::stream(seed, "crash image")
    }
}

/// What an image has.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// Bytes of pages that are not zeros.
    pub bytes: u64,
    /// Pages that cannot be read, ascending; they are zeros in it.
    pub unreadable: Vec<u64>,
}

/// Writes a sparse file of this many bytes with what each page holds. The file appears when it is whole.
pub(crate) fn write_image(
    path: &Path,
    capacity: u64,
    pages: &BTreeMap<u64, Held>,
    store: &mut Store,
) -> io::Result<Image> {
    let name = path.file_name().ok_or_else(|| io::Error::other("not the name of a file"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".part");
    let partial = path.with_file_name(hidden);
    let write = |file: &File, store: &mut Store| {
        file.set_len(capacity)?;
        let mut image = Image::default();
        for (&page, &held) in pages {
            let offset = page * store.page_bytes();
            match store.read(page, held)? {
                Bytes::Data(bytes) => {
                    file.write_all_at(bytes, offset)?;
                    image.bytes += bytes.len() as u64;
                }
                Bytes::Unreadable => image.unreadable.push(page),
                Bytes::Zeros | Bytes::Unknown => {}
            }
        }
        Ok(image)
    };
    let written = File::create(&partial).and_then(|file| write(&file, store));
    let moved = written.and_then(|image| std::fs::rename(&partial, path).map(|()| image));
    if moved.is_err() {
        // A part of an image is of no use.
        _ = std::fs::remove_file(&partial);
    }
    moved
}
