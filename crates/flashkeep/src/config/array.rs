//! Arrays: drive files whose members are drives, disks or arrays.

use super::ageing::fill;
use super::check::{self, Resolved};
use super::keys::DriveSpec;
use super::load::{self, Given};
use super::options;
use super::redundancy::{self, unread};
use super::source::is_path;
use crate::error::DriveError;
use crate::ftl::ageing;
use crate::host::Existing;
use crate::mapping::BackendKind;
use crate::schemes::{
    self, Groups, Inside, MemberFacts, Members, PageNumbers, Reading, Reads, RedundancySpec, SchemeEntry,
    Striping, Sums,
};

/// The deepest nesting of arrays; a deeper one is taken as an array that contains itself.
const DEEPEST: usize = 8;

/// Tables of a drive file that describe a single drive.
pub(super) const OF_DRIVES: [&str; 5] = ["flash", "errors", "ftl", "ageing", "disk"];

impl Resolved {
    /// Whether it is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        !self.array.is_empty()
    }

    /// Whether reads of it, or of a member, may go around busy parts.
    #[must_use]
    pub fn reads_around(&self) -> bool {
        let chooses = self.spec.redundancy.read::<Reads>().read != Reading::Plain;
        chooses || self.array.iter().any(Resolved::reads_around)
    }

    /// Whether reads of it, or of a member, are done in another way as well if they take long.
    #[must_use]
    pub fn hedges_reads(&self) -> bool {
        let hedges = matches!(self.spec.redundancy.read::<Reads>().read, Reading::Hedge(_));
        hedges || self.array.iter().any(Resolved::hedges_reads)
    }

    /// Whether it is an array or a disk, and not a lone flash drive.
    #[must_use]
    pub fn is_device_set(&self) -> bool {
        self.is_array() || self.is_disk()
    }

    /// The member at a path of member numbers.
    #[must_use]
    pub fn descendant(&self, path: &[u32]) -> Option<&Resolved> {
        path.iter().try_fold(self, |drive, &number| drive.array.get(number as usize))
    }

    /// Whether flash of it is aged by construction.
    #[must_use]
    pub fn is_aged(&self) -> bool {
        match self.is_array() {
            true => self.array.iter().any(Resolved::is_aged),
            false => !self.is_disk() && ageing::named(&self.spec.ageing.model).is_some(),
        }
    }

    /// Whether all of its pages exist before time 0 because of how it, or a member of it, is aged.
    pub(super) fn starts_full(&self) -> bool {
        match self.is_array() {
            true => self.array.iter().any(Resolved::starts_full),
            false => self.is_aged() && self.ageing_model().is_some_and(|model| model.fills),
        }
    }

    /// An array starts as its members do, unless the user says how: all its pages exist if all those of a member do.
    fn start_as_members(&mut self, given: &Given) {
        self.starts_steady = self.array.iter().any(|member| member.starts_steady);
        if self.starts_full() {
            self.warnings.extend(fill(&mut self.spec, given, !self.starts_steady));
        }
        let full = self.array.iter().any(|member| member.spec.start.existing == Existing::All);
        match self.spec.start.existing {
            Existing::Steady => self.spec.start.existing = Existing::All,
            _ if full && !given.by_user("start.existing") => self.spec.start.existing = Existing::All,
            _ => {}
        }
    }

    /// Whether the pages of its members that are aged by construction can be assigned before they are written: the
    /// place of every page is known, and the only parities are its own, and those of logs, which fill a slot for each
    /// page.
    #[must_use]
    pub fn knows_places(&self) -> bool {
        let scheme = self.scheme();
        scheme.is_for_drives()
            && scheme.kind != Members::Physical
            && !self.array.iter().any(Resolved::has_sums)
    }

    /// Whether it, or a member of it, computes parity that takes the places of pages.
    pub(super) fn has_sums(&self) -> bool {
        let is_log = !self.is_array() && self.scheme().kind == Members::Physical;
        !is_log && self.scheme().has::<Sums>() || self.array.iter().any(Resolved::has_sums)
    }

    /// An array that it is in computes parity.
    fn expect_parity(&mut self) {
        self.has_parity_above = true;
        self.array.iter_mut().for_each(Resolved::expect_parity);
    }

    /// The number of nodes of its tree.
    fn nodes(&self) -> u64 {
        let is_page_map = self.map().below == BackendKind::Itself;
        let below = match self.is_array() {
            true => self.array.iter().map(Resolved::nodes).sum(),
            // A backend without a scheme above it.
            false if self.is_disk() || (self.scheme().plain && is_page_map) => 0,
            false => u64::from(self.members()) * if is_page_map { 1 } else { 2 },
        };
        1 + below + u64::from(self.scheme().memory)
    }

    /// Whether it is a disk.
    #[must_use]
    pub fn is_disk(&self) -> bool {
        self.disk().is_some()
    }

    /// Disks among an array's members.
    #[must_use]
    pub fn disks(&self) -> usize {
        self.array.iter().filter(|member| member.is_disk()).count()
    }

    /// The number of whole pages that it offers.
    #[must_use]
    pub fn whole_pages(&self) -> u64 {
        self.capacity_bytes() / self.page_bytes()
    }

    /// Pages per chunk of an array's member; 0 if members are concatenated, 1 if the scheme has no chunks.
    #[must_use]
    pub fn unit_pages(&self) -> u32 {
        if !self.scheme().has::<Striping>() {
            return 1;
        }
        (self.spec.redundancy.read::<Striping>().stripe_kib * 1024.0 / self.page_bytes() as f64) as u32
    }

    /// The facts about members for the scheme; capacities in whole chunks.
    #[must_use]
    pub fn used_facts(&self) -> Vec<MemberFacts> {
        let unit = u64::from(self.unit_pages().max(1));
        let facts = |member: &Resolved| MemberFacts {
            pages: member.whole_pages() / unit * unit,
            page_bytes: member.page_bytes(),
            disk: member.is_disk(),
        };
        self.array.iter().map(facts).collect()
    }

    /// Pages that an array offers, in equal volumes.
    pub(super) fn array_pages(&self) -> u64 {
        let pages = (self.scheme().over_drives)(&self.used_facts(), &self.spec.redundancy);
        let volumes = u64::from(self.volumes());
        pages.map_or(0, |pages| pages - pages % volumes)
    }

    /// Whether its pages can be numbered; a message if not.
    fn check_numbers(&self, pages: u64) -> Result<(), String> {
        let each = self.array.iter().map(Resolved::whole_pages).max().unwrap_or(0);
        let data = self.scheme().data_members.map_or(1, |data| data(self.members(), &self.spec.redundancy));
        let stripes = pages.div_ceil(u64::from(data)).max(each);
        let name = self.scheme().name;
        let (found, most, what) = match self.scheme().numbers {
            PageNumbers::Narrow => {
                (pages.max(each), PageNumbers::NARROW, "pages, of an array and of a member")
            }
            PageNumbers::Stripes => (stripes, PageNumbers::NARROW, "stripes, of a page of a member each"),
            PageNumbers::Wide => (pages, PageNumbers::WIDE, "pages"),
        };
        if found <= most {
            return Ok(());
        }
        Err(format!(
            "{found} {what}; {name} numbers at most {most}: fewer or smaller members, larger pages, or groups of members \
             (redundancy.width, or arrays as members); schemes such as mirror, raid5 and raid6 number more pages"
        ))
    }

    /// Pages per chunk and number of data members, which define the permutation from the array's pages to those of its
    /// scheme. A scheme without stripes places chunks itself.
    #[must_use]
    pub fn units(&self) -> [u32; 2] {
        match self.scheme().data_members {
            Some(data) if self.is_array() => [self.unit_pages(), data(self.members(), &self.spec.redundancy)],
            _ => [1, 1],
        }
    }

    /// The number of equal volumes; the workloads of a run are assigned to them in order.
    #[must_use]
    pub fn volumes(&self) -> u32 {
        self.spec.array.volumes
    }
}

/// Makes an array of a spec that names members.
pub(super) fn resolve(mut spec: DriveSpec, given: &Given) -> Result<Resolved, DriveError> {
    if let Some(key) = given.first_in(&OF_DRIVES) {
        let message = "belongs to the members of an array: set it there, as in `members = [\"4 * NAME,KEY=VALUE\"]`, or \
                       for all of them with `--set member.KEY=VALUE`";
        return Err(given.error(&[key], message));
    }
    if spec.price_per_gb.is_some() {
        let message = "the price of an array is the sum of its members' prices: set it there, as in \
                       `members = [\"4 * NAME,price_per_gb=2\"]`";
        return Err(given.error(&["price_per_gb"], message));
    }
    let mut members = members(&mut spec, given)?;
    let wrong = |keys: &[&str], message: String| given.error(keys, message);
    // A disk is addressed in pages of the other members' size.
    let flash = members.iter().find(|member| !member.is_disk());
    if let Some(page_kib) = flash.map(|member| member.page_bytes() as f64 / 1024.0) {
        for disk in members.iter_mut().filter(|member| member.is_disk()) {
            disk.set_page(page_kib);
        }
    }
    let first = &members[0];
    let page = first.page_bytes();
    if let Some(other) = members.iter().find(|member| member.page_bytes() != page) {
        let message = format!(
            "`{}` has pages of {page} bytes, `{}` of {}; all members must have the same page size",
            first.spec.name,
            other.spec.name,
            other.page_bytes()
        );
        return Err(wrong(&["members"], message));
    }
    // The layers above an array's tree use its members' page size.
    spec.flash.page_kib = page as f64 / 1024.0;
    spec.flash.sector_bytes = first.spec.flash.sector_bytes;
    spec.flash.pin_bytes_per_sector = first.spec.flash.sector_bytes;
    let scheme = schemes::named(&spec.redundancy.scheme).expect("one of the table, as its key demands");
    let mut warnings = options::select(&mut spec, given);
    warnings.extend(unread(scheme, &spec.redundancy, given, true));
    let mut resolved = match width(scheme, &spec, members.len()).map_err(|why| wrong(WIDTH, why))? {
        None => {
            scheme.keep_options(&mut spec.redundancy, true);
            over(spec, members, given)?
        }
        Some(width) => over_groups(spec, scheme, members, width, given)?,
    };
    warnings.append(&mut resolved.warnings);
    resolved.warnings = warnings;
    Ok(resolved)
}

const WIDTH: &[&str] = &["redundancy.width", "members"];

/// The number of members in each group, if there are several groups.
fn width(scheme: &SchemeEntry, spec: &DriveSpec, members: usize) -> Result<Option<usize>, String> {
    let Groups { width } = spec.redundancy.read();
    let Some(width) = width.filter(|_| scheme.has::<Inside>()).map(|width| width as usize) else {
        return Ok(None);
    };
    if !members.is_multiple_of(width) {
        return Err(format!(
            "groups of {width} of {members} members: every group takes the same number, so {width} must divide {members}"
        ));
    }
    Ok((width < members).then_some(width))
}

/// Makes an array of groups of consecutive members: each group has the scheme, and stripes go over the groups.
fn over_groups(
    mut spec: DriveSpec,
    scheme: &SchemeEntry,
    members: Vec<Resolved>,
    width: usize,
    given: &Given,
) -> Result<Resolved, DriveError> {
    let Striping { stripe_kib } = spec.redundancy.read();
    let mut redundancy = spec.redundancy.clone();
    scheme.keep_options(&mut redundancy, true);
    redundancy.put(Striping { stripe_kib });
    let mut own = redundancy.clone();
    scheme.keep_options(&mut own, true);
    own.put(Groups { width: None });
    let name = format!("{} of {width}", scheme.name);
    let group = DriveSpec { name, flash: spec.flash.clone(), redundancy: own, ..DriveSpec::default() };
    let groups = members.chunks(width).map(|members| over(group.clone(), members.to_vec(), given));
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    // A stripe of a group is on one group.
    let data = scheme.data_members.map_or(1, |data| data(width as u32, &redundancy));
    spec.redundancy = RedundancySpec::default();
    spec.redundancy.put(Striping { stripe_kib: stripe_kib * f64::from(data) });
    let array = over(spec, groups, given)?;
    Ok(Resolved { grouped: Some(redundancy), ..array })
}

/// An array whose scheme runs over these members.
fn over(spec: DriveSpec, members: Vec<Resolved>, given: &Given) -> Result<Resolved, DriveError> {
    let wrong = |keys: &[&str], message: String| given.error(keys, message);
    let scheme = schemes::named(&spec.redundancy.scheme).expect("one of the table, as its key demands");
    let page = members[0].page_bytes();
    let mut warnings = Vec::new();
    for member in &members {
        for warning in &member.warnings {
            let line = format!("{}: {warning}", member.spec.name);
            if !warnings.contains(&line) {
                warnings.push(line);
            }
        }
    }
    if let Some(key) = (scheme.told_of_moves)(&spec.redundancy) {
        warnings.push(format!("{key}: no effect over drives, which do not say what their GC moves"));
    }
    let mut resolved = Resolved { array: members, warnings, ..Resolved::plain(spec, given.drive()) };
    if scheme.has::<Sums>() {
        resolved.array.iter_mut().for_each(Resolved::expect_parity);
    }
    resolved.start_as_members(given);
    check::buffer(&resolved.spec, given)?;
    redundancy::memory(&resolved.spec, scheme, given)?;
    let Striping { stripe_kib } = resolved.spec.redundancy.read();
    if scheme.has::<Striping>() && stripe_kib * 1024.0 % page as f64 != 0.0 {
        let message = format!("a chunk of {stripe_kib} KiB is not a whole number of pages of {page} bytes");
        return Err(wrong(&["redundancy.stripe_kib"], message));
    }
    if resolved.array.len() > 255 {
        return Err(wrong(
            &["members"],
            format!("{} members; at most 255 are accepted", resolved.array.len()),
        ));
    }
    if resolved.unit_pages() == 0 && !scheme.concatenates {
        let message =
            "0 concatenates the members; that is only for redundancy.scheme = \"none\" only".to_owned();
        return Err(wrong(&["redundancy.stripe_kib", "redundancy.scheme"], message));
    }
    if let Err(why) = (scheme.over_drives)(&resolved.used_facts(), &resolved.spec.redundancy) {
        return Err(wrong(&["redundancy.scheme", "members"], format!("{}: {why}", scheme.name)));
    }
    if let Err(why) = (scheme.check)(resolved.members(), &resolved.spec.redundancy) {
        return Err(wrong(&[why.key, "members", "redundancy.scheme"], why.message));
    }
    let pages = resolved.array_pages();
    if pages == 0 {
        let message =
            format!("{} members hold no page in {} volumes", resolved.array.len(), resolved.volumes());
        return Err(wrong(&["members", "array.volumes", "redundancy.stripe_kib"], message));
    }
    resolved.check_numbers(pages).map_err(|message| wrong(&["members"], message))?;
    let nodes = resolved.nodes();
    if nodes > MOST_NODES {
        let message = format!(
            "{nodes} nodes (arrays, schemes within drives, their members, drives and disks, of all levels together); at \
             most {MOST_NODES} are accepted: fewer members"
        );
        return Err(wrong(&["members"], message));
    }
    Ok(resolved)
}

/// The largest number of nodes (16 bits).
const MOST_NODES: u64 = u16::MAX as u64 - 1;

/// Reads what the members are; each text is `[COUNT *] DRIVE[,KEY=VALUE…]`.
fn members(spec: &mut DriveSpec, given: &Given) -> Result<Vec<Resolved>, DriveError> {
    let directory = given.directory("members");
    let own = given.by_user("start.existing").then_some(spec.start.existing);
    let start = own.or(given.start_above());
    let mut members = Vec::new();
    for text in &mut spec.members {
        let wrong = |message: String| given.error(&["members"], message);
        let (count, drive) = match text.split_once('*') {
            Some((count, drive)) => (count.trim(), drive.trim()),
            None => ("1", text.trim()),
        };
        let count = count.parse::<usize>().ok().filter(|count| (1..=255).contains(count));
        let Some(count) = count.filter(|_| !drive.is_empty()) else {
            let message = "; `COUNT * DRIVE[,KEY=VALUE]` is accepted, such as \"8 * 2CM-128\", with a COUNT from 1 to 255";
            return Err(wrong(format!("found `{text}`{message}")));
        };
        if given.depth() >= DEEPEST {
            return Err(wrong(format!("arrays nested {DEEPEST} deep: a member must not contain itself")));
        }
        members.push((count, drive.to_owned(), load::member(drive, directory.as_deref(), given, start)?));
        if let Some(directory) = &directory
            && is_path(drive)
        {
            *text = format!("{count} * {}", directory.join(drive).to_string_lossy());
        }
    }
    // All members are addressed in pages of one size, the smallest.
    let flash = || members.iter().map(|(.., member)| member).filter(|member| !member.is_disk());
    let page = flash().map(Resolved::page_bytes).min().unwrap_or(0);
    for (_, drive, member) in &mut members {
        if !member.is_disk() && member.page_bytes() > page {
            let depth = std::iter::successors(Some(&*member), |member| member.array.first()).count() - 1;
            let key = format!("{}ftl.logical_page_kib", "member.".repeat(depth));
            let drive = format!("{drive},{key}={}", page as f64 / 1024.0);
            *member = load::member(&drive, directory.as_deref(), given, start)?;
        }
    }
    Ok(members.into_iter().flat_map(|(count, _, member)| std::iter::repeat_n(member, count)).collect())
}
