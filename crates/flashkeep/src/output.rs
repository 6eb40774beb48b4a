//! Files that a run writes: they appear under their final name only when they are complete.

use crate::drive::{Logs, Operation};
use crate::engine::Page;
use crate::error::Error;
use crate::flash::{Geometry, Pools, Ppn};
use std::io::Write;
use std::path::Path;

/// The geometry of a drive, for the names of places in files.
#[derive(Clone, Debug)]
pub struct Site {
    /// The number of the member in an array; empty for a lone drive.
    pub member: String,
    /// Its geometry.
    pub geometry: Geometry,
    /// The unit that is busy as a whole (chip, die or plane).
    pub pools: Pools,
}

/// The drives of an array by device number, none for devices of other kinds; or a lone drive.
pub type Sites = Vec<Option<Site>>;

/// Whether they belong to an array.
pub(crate) fn are_members(sites: &Sites) -> bool {
    sites.iter().flatten().any(|site| !site.member.is_empty())
}

/// A log of operations in a file.
struct OperationLog {
    out: flashkeep_trace::Output,
    sites: Sites,
    members: bool,
    path: String,
    failed: Option<String>,
}

/// The message for a file that cannot be written.
pub(crate) fn problem(path: &str, error: &std::io::Error) -> String {
    format!("{path}: cannot be written: {error}")
}

/// Creates a file; also returns its name, for messages.
pub(crate) fn open(path: &Path) -> Result<(flashkeep_trace::Output, String), Error> {
    let name = path.display().to_string();
    let out = flashkeep_trace::create(&name).map_err(|error| Error::Output(problem(&name, &error)))?;
    Ok((out, name))
}

/// A log of flash operations: time, place (in an array, also the member), kind, cause.
///
/// # Errors
/// A file that cannot be written.
pub fn operations(path: &Path, sites: Sites) -> Result<Box<dyn Logs>, Error> {
    let (mut out, path) = open(path)?;
    let members = are_members(&sites);
    let member = if members { "member," } else { "" };
    let header = format!("start_ns,end_ns,{member}channel,chip,die,plane,block,page,kind,cause");
    let failed = writeln!(out, "{header}").err().map(|error| problem(&path, &error));
    Ok(Box::new(OperationLog { out, sites, members, path, failed }))
}

impl Logs for OperationLog {
    /// The first error is kept and reported at the end.
    fn add(&mut self, device: u16, operation: &Operation) {
        let Some(site) = self.sites[usize::from(device)].as_ref().filter(|_| self.failed.is_none()) else {
            return;
        };
        let (member, comma) = (&site.member, if self.members { "," } else { "" });
        let place = site.place_of(operation);
        let (start, end) = (operation.start.0, operation.end.0);
        let (kind, cause) = (operation.kind.name(), operation.cause.name());
        if let Err(error) = writeln!(self.out, "{start},{end},{member}{comma}{place},{kind},{cause}") {
            self.failed = Some(problem(&self.path, &error));
        }
    }

    /// Gives the file its final name.
    fn close(self: Box<Self>) -> Result<(), String> {
        match self.failed {
            Some(failed) => Err(failed),
            None => self.out.finish().map_err(|error| problem(&self.path, &error)),
        }
    }
}

impl Site {
    /// The place of an operation. A summary page follows the data pages of its block.
    fn place_of(&self, operation: &Operation) -> String {
        let (at, block) = self.pools.place(&self.geometry, operation.ppn);
        let page = self.geometry.page_of(operation.ppn);
        let page = if operation.summary { self.geometry.pages } else { page };
        [at.channel, at.chip, at.die, at.plane, block, page].map(|part| part.to_string()).join(",")
    }

    /// A physical page as users name it: channel, chip, die, plane, block, page.
    fn place(&self, ppn: Ppn, separator: char) -> String {
        let (at, block) = self.pools.place(&self.geometry, ppn);
        let parts = [at.channel, at.chip, at.die, at.plane, block, self.geometry.page_of(ppn)];
        parts.map(|part| part.to_string()).join(&separator.to_string())
    }
}

/// The logical-to-physical map, a column for each copy; in an array each is named after its member. Unmapped pages are
/// left out.
///
/// # Errors
/// A file that cannot be written.
pub fn map(
    path: &Path,
    sites: &Sites,
    pages: u32,
    copies: &dyn Fn(Page) -> Vec<Option<(u16, Ppn)>>,
) -> Result<(), Error> {
    let (mut out, name) = open(path)?;
    write_map(&mut out, sites, pages, copies)
        .and_then(|()| out.finish())
        .map_err(|error| Error::Output(problem(&name, &error)))
}

fn write_map(
    out: &mut impl Write,
    sites: &Sites,
    pages: u32,
    places: &dyn Fn(Page) -> Vec<Option<(u16, Ppn)>>,
) -> std::io::Result<()> {
    let copies = (0..pages).map(|page| places(Page(page)).len()).find(|&copies| copies > 0).unwrap_or(1);
    let header: Vec<String> = (0..copies).map(|copy| format!("copy{copy}")).collect();
    writeln!(out, "page,{}", header.join(","))?;
    let members = are_members(sites);
    for page in 0..pages {
        let name = |at: Option<(u16, Ppn)>| match at
            .and_then(|(device, ppn)| Some((sites[usize::from(device)].as_ref()?, ppn)))
        {
            Some((site, ppn)) if members => format!("{}:{}", site.member, site.place(ppn, '.')),
            Some((site, ppn)) => site.place(ppn, '.'),
            None => String::new(),
        };
        let places: Vec<String> = places(Page(page)).into_iter().map(name).collect();
        if places.iter().any(|place| !place.is_empty()) {
            writeln!(out, "{page},{}", places.join(","))?;
        }
    }
    Ok(())
}
