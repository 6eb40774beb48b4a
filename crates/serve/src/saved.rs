//! The bytes of a saved drive, in a file beside it: `FILE.bytes` for the drive that is saved in `FILE`.
//!
//! A line of JSON says which file the bytes belong to (its SHA-256) and how many pages follow. Each of these has its
//! number (8 bytes, little-endian), its version (2 bytes) and its contents. Pages of zeros are left out.

use crate::slab::Slab;
use crate::store::Store;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The format.
const FORMAT: &str = "flashkeep bytes 1";

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    saved: String,
    page_bytes: usize,
    pages: u64,
}

/// The file of the bytes of a saved drive.
fn beside(drive: &Path) -> PathBuf {
    let mut name = drive.as_os_str().to_owned();
    name.push(".bytes");
    PathBuf::from(name)
}

fn sha256_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut part = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut part)?;
        if length == 0 {
            break;
        }
        hash.update(&part[..length]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the bytes of a drive that has been saved.
pub(crate) fn write(drive: &Path, store: &mut Store) -> io::Result<()> {
    let path = beside(drive);
    let mut file = flashkeep_trace::create_plain(&path.to_string_lossy())?;
    let pages = store.pages_now();
    let head = Head {
        format: FORMAT.into(),
        saved: sha256_of(drive)?,
        page_bytes: store.page_bytes() as usize,
        pages: pages.len() as u64,
    };
    writeln!(file, "{}", serde_json::to_string(&head)?)?;
    for (page, version, slot) in pages {
        file.write_all(&page.to_le_bytes())?;
        file.write_all(&version.to_le_bytes())?;
        file.write_all(store.slot(slot)?)?;
    }
    file.finish()
}

/// A store with the bytes of a saved drive, if it was saved with bytes.
///
/// # Errors
/// A message that names the file.
pub(crate) fn read(drive: &Path, slab: Slab) -> Result<Store, String> {
    let path = beside(drive);
    let mut store = Store::new(slab);
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(store),
        Err(error) => return Err(format!("{}: {error}", path.display())),
        Ok(file) => file,
    };
    let named = |problem: String| format!("{}: {problem}", path.display());
    let damaged = |error: io::Error| named(format!("damaged or incomplete ({error})"));
    let mut file = BufReader::new(file);
    let mut line = String::new();
    file.by_ref().take(4096).read_line(&mut line).map_err(damaged)?;
    let head: Head = serde_json::from_str(&line)
        .ok()
        .filter(|head: &Head| head.format == FORMAT)
        .ok_or_else(|| named("not the bytes of a saved drive".into()))?;
    let saved = sha256_of(drive).map_err(|error| format!("{}: {error}", drive.display()))?;
    if head.saved != saved || head.page_bytes as u64 != store.page_bytes() {
        return Err(named(format!(
            "has the bytes of another drive than {}; remove it to serve that with zeros",
            drive.display()
        )));
    }
    let mut contents = vec![0; head.page_bytes];
    for _ in 0..head.pages {
        let (mut page, mut version) = ([0; 8], [0; 2]);
        file.read_exact(&mut page).map_err(damaged)?;
        file.read_exact(&mut version).map_err(damaged)?;
        file.read_exact(&mut contents).map_err(damaged)?;
        let (page, version) = (u64::from_le_bytes(page), u16::from_le_bytes(version));
        store.write(page, version, 0..contents.len(), &contents).map_err(damaged)?;
    }
    Ok(store)
}
