//! Snapshots: a drive at rest in a file. `--aged` loads it, `--save-aged` writes it.
//!
//! The file consists of `FKAGED`, the version of this format (two bytes, little-endian), the length of the header (four
//! bytes), the header in JSON (the drive, and the length of the state), the state (the values that the parts of the drive
//! pass to [`Writer::put`], in postcard's wire format, compressed with zstd), and the SHA-256 of all that.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

const MAGIC: &[u8; 6] = b"FKAGED";

/// The version changes whenever the contents of the state change.
const VERSION: u16 = 20;

/// Bytes of the checksum.
const DIGEST: usize = 32;

/// Compression: 3 is zstd's default.
const LEVEL: i32 = 3;

/// Keys in which a drive may differ from the saved one, because they do not affect its state. All other keys must be
/// equal, so that a new key needs no change here; options say themselves whether they do (`Selector::shapes_state`).
const FREE: &[&str] = &[
    "name",
    "description",
    "flash.pin_bytes_per_sector",
    "flash.bus",
    "flash.acknowledge",
    "flash.scheduler",
    "flash.timing",
    "flash.energy",
    "flash.commands",
    "flash.control_gang",
    "ftl.coalesce_reads",
    "ftl.plane_choice",
    "ftl.map_memory",
    "ftl.partial_writes",
    "ftl.read_in_flight",
    "ftl.gc.victim",
    "ftl.gc.threshold",
    "ftl.gc.run",
    "ftl.gc.background",
    "ftl.gc.copyback",
    "buffer",
    "redundancy.nvram_us",
    "redundancy.rebuild_share",
    "host",
    "start",
    "ageing",
    "condition",
];

/// The header of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    flashkeep: String,
    drive: Value,
    /// Whether page contents are part of it.
    contents: bool,
    /// The result of conditioning the drive.
    conditioning: Option<Value>,
    bytes: u64,
}

/// Collects the parts of a state.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Adds a part.
    ///
    /// # Panics
    /// If postcard cannot represent the part, which is a mistake of the caller.
    pub fn put<T: Serialize + ?Sized>(&mut self, part: &T) {
        let bytes = postcard::to_extend(part, std::mem::take(&mut self.bytes));
        self.bytes = bytes.expect("plain data");
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The message of the operating system.
    pub fn write(
        self,
        path: &Path,
        drive: &Value,
        contents: bool,
        conditioning: Option<Value>,
    ) -> std::io::Result<()> {
        let state = zstd::stream::encode_all(&self.bytes[..], LEVEL)?;
        let header = Header {
            flashkeep: env!("CARGO_PKG_VERSION").into(),
            drive: drive.clone(),
            contents,
            conditioning,
            bytes: state.len() as u64,
        };
        let header = serde_json::to_vec(&header)?;
        let (version, length) = (VERSION.to_le_bytes(), (header.len() as u32).to_le_bytes());
        let mut file = flashkeep_trace::create_plain(&path.to_string_lossy())?;
        let mut sum = Sha256::new();
        for part in [&MAGIC[..], &version, &length, &header, &state] {
            sum.update(part);
            file.write_all(part)?;
        }
        file.write_all(&sum.finalize())?;
        file.finish()
    }
}

/// Reads the parts of a state, in the order in which they were added.
#[derive(Debug)]
pub struct Reader {
    bytes: Vec<u8>,
    at: usize,
    /// Whether page contents are part of it.
    pub contents: bool,
    /// The result of conditioning the drive.
    pub conditioning: Option<Value>,
}

impl Reader {
    /// Reads the file of a drive.
    ///
    /// # Errors
    /// A message, if the file cannot be read, is not a snapshot, is incomplete or damaged, or is of another version or
    /// drive.
    pub fn open(path: &Path, drive: &Value) -> Result<Self, String> {
        let file = std::fs::read(path).map_err(|error| error.to_string())?;
        let cut = || format!("truncated: {} bytes, but more were written", file.len());
        let Some(rest) = file.strip_prefix(MAGIC) else {
            return Err("not a drive saved by `flashkeep age` or --save-aged".into());
        };
        let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let version = u16::from_le_bytes(*version);
        if version != VERSION {
            return Err(format!(
                "has format version {version}; version {VERSION} is accepted: age the drive again"
            ));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let (header, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        let damaged = |_| "damaged: its header cannot be read".to_owned();
        let header: Header = serde_json::from_slice(header).map_err(damaged)?;
        let (state, sum) = rest.split_at_checked(header.bytes as usize).ok_or_else(cut)?;
        if sum.len() < DIGEST {
            return Err(cut());
        }
        if Sha256::digest(&file[..file.len() - sum.len()])[..] != *sum {
            return Err("damaged: its checksum does not match".into());
        }
        differs("", Some(&header.drive), Some(drive))?;
        let bytes = zstd::stream::decode_all(state).map_err(|error| error.to_string())?;
        let Header { contents, conditioning, .. } = header;
        Ok(Reader { bytes, at: 0, contents, conditioning })
    }

    /// The next part.
    ///
    /// # Errors
    /// A message, if the part is not the expected one.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let (part, rest) = postcard::take_from_bytes(&self.bytes[self.at..])
            .map_err(|error| format!("written by another version of flashkeep: {error}"))?;
        self.at = self.bytes.len() - rest.len();
        Ok(part)
    }
}

/// The key within a member's own drive: `flash.bus` for `members.1.flash.bus`.
fn of_its_drive(key: &str) -> &str {
    let member = key.strip_prefix("members.").and_then(|rest| Some(rest.split_once('.')?.1));
    member.map_or(key, of_its_drive)
}

/// The first key in which two drives must not differ but do.
fn differs(key: &str, saved: Option<&Value>, here: Option<&Value>) -> Result<(), String> {
    if FREE.contains(&of_its_drive(key)) || saved == here {
        return Ok(());
    }
    let none = serde_json::Map::new();
    let table = |value: Option<&Value>| value.map_or(Some(none.clone()), |value| value.as_object().cloned());
    let (Some(old), Some(new)) = (table(saved), table(here)) else {
        let say = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
        return Err(format!("of another drive: {key} is {} in the file and {} here", say(saved), say(here)));
    };
    let keys = new.keys().chain(old.keys().filter(|name| !new.contains_key(*name)));
    for name in keys {
        let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        differs(&key, old.get(name), new.get(name))?;
    }
    Ok(())
}
