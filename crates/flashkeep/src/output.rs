//! Files that a run writes: they appear under their final name only when they are complete.

use crate::disk::Surface;
use crate::drive::{DeviceObserver, DiskAccess, LoggedOperation, RunEvent};
use crate::engine::{Cause, FixedMap, Page};
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

/// A disk that is no member of an array, as files name its places.
#[derive(Clone, Debug)]
pub struct Platters {
    /// Where its sectors are.
    pub surface: Surface,
    /// Sectors of a page.
    pub page_sectors: u64,
}

/// What files name the places of.
#[derive(Clone, Debug)]
pub enum Sites {
    /// The drives of an array by the numbers of its devices, nothing where those are something else; or a drive alone.
    Flash(Vec<Option<Site>>),
    /// A disk alone.
    Disk(Platters),
}

impl Sites {
    /// The drives.
    pub(crate) fn drives(&self) -> &[Option<Site>] {
        match self {
            Sites::Flash(sites) => sites,
            Sites::Disk(_) => &[],
        }
    }
}

/// A page of a device, as the map has it.
#[derive(Clone, Copy, Debug)]
pub enum Spot {
    /// On flash, and which device's.
    Flash(u16, Ppn),
    /// On a disk that is no member of an array.
    Disk(Page),
}

/// Whether they belong to an array.
pub(crate) fn are_members(sites: &Sites) -> bool {
    sites.drives().iter().flatten().any(|site| !site.member.is_empty())
}

/// A log of operations in a file.
struct OperationLog {
    out: flashkeep_trace::Output,
    sites: Sites,
    members: bool,
    /// The number of the request that each age is of.
    numbers: FixedMap<u32, u64>,
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
pub fn operations(path: &Path, sites: Sites) -> Result<Box<dyn DeviceObserver>, Error> {
    let (mut out, path) = open(path)?;
    let members = are_members(&sites);
    let member = if members { "member," } else { "" };
    let place = match sites {
        Sites::Flash(_) => "channel,chip,die,plane,block,page",
        Sites::Disk(_) => "page,pages,cylinder,head",
    };
    let asked = if let Sites::Flash(_) = sites { ",request,logical_page" } else { "" };
    let header = format!("start_ns,end_ns,{member}{place},kind,cause{asked}");
    let failed = writeln!(out, "{header}").err().map(|error| problem(&path, &error));
    let numbers = FixedMap::default();
    Ok(Box::new(OperationLog { out, sites, members, numbers, path, failed }))
}

/// Whether operations of this cause are done for a request: not what the drive, or a rebuild, does besides.
pub(crate) fn is_asked_for(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Host | Cause::Mirror | Cause::Update | Cause::Parity | Cause::PartialParity | Cause::Metadata
    )
}

/// A number, or nothing.
fn text(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

impl OperationLog {
    /// The first error is kept and reported at the end.
    fn check(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert_with(|| problem(&self.path, &error));
        }
    }
}

impl DeviceObserver for OperationLog {
    fn add(&mut self, device: u16, operation: &LoggedOperation) {
        let site = self.sites.drives().get(usize::from(device)).and_then(Option::as_ref);
        let Some(site) = site.filter(|_| self.failed.is_none()) else { return };
        let (member, comma) = (&site.member, if self.members { "," } else { "" });
        let place = site.place_of(operation);
        let (start, end) = (operation.start.0, operation.end.0);
        let (kind, cause) = (operation.kind.name(), operation.cause.name());
        let number = operation.age.filter(|_| is_asked_for(operation.cause));
        let request = text(number.and_then(|age| self.numbers.get(&age)));
        let page = text(operation.logical_page.as_ref());
        let written =
            writeln!(self.out, "{start},{end},{member}{comma}{place},{kind},{cause},{request},{page}");
        self.check(written);
    }

    fn tell(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Opened { age, number } = *event {
            self.numbers.insert(age, number);
        }
    }

    fn passed_on(&mut self, age: u32, from: u32) {
        if let Some(&number) = self.numbers.get(&from) {
            self.numbers.insert(age, number);
        }
    }

    fn access(&mut self, _: u16, access: &DiskAccess) {
        let Sites::Disk(disk) = &self.sites else { return };
        let DiskAccess { start, end, page, pages, kind, cause } = *access;
        let place = disk.surface.place(page.0 * disk.page_sectors);
        let written = writeln!(
            self.out,
            "{},{},{},{pages},{},{},{},{}",
            start.0,
            end.0,
            page.0,
            place.cylinder,
            place.head,
            kind.name(),
            cause.name()
        );
        self.check(written);
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
    fn place_of(&self, operation: &LoggedOperation) -> String {
        let (at, block) = self.pools.place(&self.geometry, operation.ppn);
        let page = self.geometry.page_of(operation.ppn);
        let end = self.geometry.pages_in(self.geometry.block_of(operation.ppn));
        let page = if operation.summary { end } else { page };
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
    pages: u64,
    copies: &dyn Fn(Page) -> Vec<Option<Spot>>,
) -> Result<(), Error> {
    let (mut out, name) = open(path)?;
    write_map(&mut out, sites, pages, copies)
        .and_then(|()| out.finish())
        .map_err(|error| Error::Output(problem(&name, &error)))
}

fn write_map(
    out: &mut impl Write,
    sites: &Sites,
    pages: u64,
    places: &dyn Fn(Page) -> Vec<Option<Spot>>,
) -> std::io::Result<()> {
    let copies = (0..pages).map(|page| places(Page(page)).len()).find(|&copies| copies > 0).unwrap_or(1);
    let header: Vec<String> = (0..copies).map(|copy| format!("copy{copy}")).collect();
    writeln!(out, "page,{}", header.join(","))?;
    let members = are_members(sites);
    for page in 0..pages {
        let name = |at: Option<Spot>| match (at, sites) {
            (Some(Spot::Flash(device, ppn)), Sites::Flash(sites)) => match &sites[usize::from(device)] {
                Some(site) if members => format!("{}:{}", site.member, site.place(ppn, '.')),
                Some(site) => site.place(ppn, '.'),
                None => String::new(),
            },
            (Some(Spot::Disk(page)), Sites::Disk(disk)) => {
                let place = disk.surface.place(page.0 * disk.page_sectors);
                format!("{}.{}", place.cylinder, place.head)
            }
            _ => String::new(),
        };
        let places: Vec<String> = places(Page(page)).into_iter().map(name).collect();
        if places.iter().any(|place| !place.is_empty()) {
            writeln!(out, "{page},{}", places.join(","))?;
        }
    }
    Ok(())
}
