//! Files that a run writes: under their final name only when they are whole.

use crate::drive::{Drive, Log, Operation};
use crate::engine::{Contents, LeafId, Page};
use crate::error::Error;
use crate::ftl::Entry;
use crate::media::{Geometry, Pools, Ppn};
use std::io::Write;
use std::path::Path;

/// A log of operations in a file.
struct OperationLog {
    out: flashkeep_trace::Output,
    geometry: Geometry,
    pools: Pools,
    path: String,
    failed: Option<String>,
}

/// What is said of a file that takes no more.
pub(crate) fn problem(path: &str, error: &std::io::Error) -> String {
    format!("{path}: cannot be written: {error}")
}

/// Starts a file; also its name, for messages.
pub(crate) fn open(path: &Path) -> Result<(flashkeep_trace::Output, String), Error> {
    let name = path.display().to_string();
    let out = flashkeep_trace::create(&name).map_err(|error| Error::Output(problem(&name, &error)))?;
    Ok((out, name))
}

/// A log of flash operations: when, where, what, why.
///
/// # Errors
/// A file that cannot be written.
pub fn operations(path: &Path, geometry: Geometry, pools: Pools) -> Result<Box<dyn Log>, Error> {
    let (mut out, path) = open(path)?;
    let header = "start_ns,end_ns,channel,chip,die,plane,block,page,kind,cause";
    let failed = writeln!(out, "{header}").err().map(|error| problem(&path, &error));
    Ok(Box::new(OperationLog { out, geometry, pools, path, failed }))
}

impl Log for OperationLog {
    /// The first failure is kept for the end.
    fn add(&mut self, operation: &Operation) {
        if self.failed.is_some() {
            return;
        }
        let place = place(&self.geometry, &self.pools, operation.ppn, ',');
        let (start, end) = (operation.start.0, operation.end.0);
        let (kind, cause) = (operation.kind.name(), operation.cause.name());
        if let Err(error) = writeln!(self.out, "{start},{end},{place},{kind},{cause}") {
            self.failed = Some(problem(&self.path, &error));
        }
    }

    /// Puts the file under its name.
    fn close(self: Box<Self>) -> Result<(), String> {
        match self.failed {
            Some(failed) => Err(failed),
            None => self.out.finish().map_err(|error| problem(&self.path, &error)),
        }
    }
}

/// A physical page as users name it: channel, chip, die, plane, block, page.
fn place(geometry: &Geometry, pools: &Pools, ppn: Ppn, separator: char) -> String {
    let (at, block) = pools.place(geometry, ppn);
    let parts = [at.channel, at.chip, at.die, at.plane, block, geometry.page_of(ppn)];
    parts.map(|part| part.to_string()).join(&separator.to_string())
}

/// The logical-to-physical map, a column for each copy; pages that are nowhere are left out.
///
/// # Errors
/// A file that cannot be written.
pub fn map<C: Contents>(
    path: &Path,
    drive: &Drive<C>,
    pages: u32,
    places: &dyn Fn(Page) -> Vec<(LeafId, Page)>,
) -> Result<(), Error> {
    let (mut out, name) = open(path)?;
    write_map(&mut out, drive, pages, places)
        .and_then(|()| out.finish())
        .map_err(|error| Error::Output(problem(&name, &error)))
}

fn write_map<C: Contents>(
    out: &mut impl Write,
    drive: &Drive<C>,
    pages: u32,
    places: &dyn Fn(Page) -> Vec<(LeafId, Page)>,
) -> std::io::Result<()> {
    let copies = (0..pages).map(|page| places(Page(page)).len()).find(|&copies| copies > 0).unwrap_or(1);
    let header: Vec<String> = (0..copies).map(|copy| format!("copy{copy}")).collect();
    writeln!(out, "page,{}", header.join(","))?;
    for page in 0..pages {
        let on_flash = |(leaf, page)| match drive.lookup(leaf, page) {
            Entry::At(ppn) => place(drive.geometry(), &drive.pools(), ppn, '.'),
            _ => String::new(),
        };
        let places: Vec<String> = places(Page(page)).into_iter().map(on_flash).collect();
        if places.iter().any(|place| !place.is_empty()) {
            writeln!(out, "{page},{}", places.join(","))?;
        }
    }
    Ok(())
}
