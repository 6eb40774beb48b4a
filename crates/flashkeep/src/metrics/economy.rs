//! Cost of an array and lifetime of its flash: by the formulas of the hybrid-backup paper's table 1, and as
//! measured in the run.

use super::{Facts, IfAny, MemberActivity, figures, plain, unit};
use crate::config::Resolved;
use crate::schemes::{MemberTerms, Terms};

/// What table 1 says about a drive, a disk or an array; none if it has no row for it. Each scheme declares its row.
///
/// | solution | cost | lifespan |
/// |---|---|---|
/// | RAID-1 | 2 Cs | Ls |
/// | RAID-5 | (N + 1) Cs / N | (N + 1) Ls / 2N |
/// | RAID-6 | (N + 2) Cs / N | (N + 2) Ls / 3N |
/// | SSD + disk | Cs + Ch | Ls |
///
/// By the same reasoning (ours): a mirror has the cost of all its members, and `none` the cost of its members.
fn terms(drive: &Resolved) -> Option<Terms> {
    if drive.is_disk() {
        return Some(Terms { ssd: 0.0, disk: 1.0, life: 1.0 });
    }
    if !drive.is_array() {
        return Some(Terms { ssd: 1.0, disk: 0.0, life: 1.0 });
    }
    let member = |member: &Resolved| MemberTerms { drive: !member.is_device_set(), terms: terms(member) };
    let members: Vec<MemberTerms> = drive.array.iter().map(member).collect();
    (drive.scheme().formula)(&members)
}

/// The mean price of a GB of the drives, or of the disks, of an array; none if there are none, or if one has no price.
fn price(drive: &Resolved, disks: bool) -> Option<f64> {
    fn backends<'a>(drive: &'a Resolved, all: &mut Vec<&'a Resolved>) {
        if drive.is_array() {
            return drive.array.iter().for_each(|member| backends(member, all));
        }
        all.push(drive);
    }
    let mut all = Vec::new();
    backends(drive, &mut all);
    all.retain(|one| one.is_disk() == disks);
    let usd = all.iter().map(|one| one.cost_usd()).sum::<Option<f64>>()?;
    let gb = all.iter().map(|one| one.capacity_bytes() as f64).sum::<f64>() / 1e9;
    (gb > 0.0).then(|| usd / gb)
}

figures! {
    /// What a drive or array costs and how long its flash lasts.
    pub struct Economy {
        /// Price of the drive or array.
        cost_usd: Option<f64> => unit("USD").lower(),
        /// Price of a GB that the host can use.
        cost_per_gb: Option<f64> => unit("USD/GB").lower().row("a GB of what it offers, USD"),
        /// Cost and life by the formulas of the hybrid-backup paper's table 1, for schemes that it covers.
        formula: IfAny<Option<Formula>> => plain(),
        /// Life of the SSDs under this workload, as a multiple of that with each page written once.
        lifespan: IfAny<Option<f64>> => unit("ratio").higher().row("life of the SSDs, one written once = 1"),
        /// The same for the SSD that is written most for its size.
        lifespan_least: IfAny<Option<f64>> => unit("ratio").higher().row("  of the one written most"),
        /// Blocks erased for each GiB that the host wrote.
        erases_per_gib_written: IfAny<Option<f64>> => unit("erases/GiB").lower(),
    }
}

figures! {
    /// Cost and life by published formulas.
    pub struct Formula {
        /// GB of SSD for each GB of data.
        ssd_gb: f64 => unit("GB/GB").lower(),
        /// GB of disk for each GB of data.
        disk_gb: f64 => unit("GB/GB").lower(),
        /// Price of a GB of data.
        cost_per_gb: Option<f64> => unit("USD/GB").lower().row("cost of a GB by formula, USD"),
        /// Life of the SSDs, as a multiple of that of one alone.
        lifespan: f64 => unit("ratio").higher().row("life of the SSDs by formula"),
    }
}

/// The section of the summary for an array, and for a drive or disk with a price.
pub(super) fn economy(facts: &Facts<'_>) -> Option<Economy> {
    let drive = facts.drive;
    let (cost_usd, cost_per_gb) = (drive.cost_usd(), drive.cost_per_gb());
    if !drive.is_array() {
        let [lifespan, lifespan_least, erases_per_gib_written] = [IfAny(None); 3];
        let formula = IfAny(None);
        return drive.spec.price_per_gb.map(|_| Economy {
            cost_usd,
            cost_per_gb,
            formula,
            lifespan,
            lifespan_least,
            erases_per_gib_written,
        });
    }
    let terms = terms(drive);
    let cost = terms.and_then(|terms| {
        let part =
            |share: f64, disks| if share > 0.0 { Some(share * price(drive, disks)?) } else { Some(0.0) };
        Some(part(terms.ssd, false)? + part(terms.disk, true)?)
    });
    let formula = terms.map(|terms| Formula {
        ssd_gb: terms.ssd,
        disk_gb: terms.disk,
        cost_per_gb: cost,
        lifespan: terms.life,
    });
    let life = Lifetime::new(facts, terms);
    let of_life = |of: fn(&Lifetime) -> f64| IfAny(Some(life.as_ref().map(of)));
    Some(Economy {
        cost_usd,
        cost_per_gb,
        formula: IfAny(Some(formula)),
        lifespan: of_life(|life| life.mean),
        lifespan_least: of_life(|life| life.least),
        erases_per_gib_written: of_life(|life| life.erases_per_gib),
    })
}

/// The life of an array's drives under a workload, divided by their life if each page that the host writes were
/// programmed once.
struct Lifetime {
    mean: f64,
    /// The same for the drive that is written most for its size.
    least: f64,
    erases_per_gib: f64,
}

impl Lifetime {
    /// None if the host wrote nothing.
    fn new(facts: &Facts<'_>, terms: Option<Terms>) -> Option<Lifetime> {
        let flash = || facts.members.iter().filter(|member| !member.drive.is_disk());
        let bytes = |member: &MemberActivity<'_>| member.drive.capacity_bytes() as f64;
        let capacity: f64 = flash().map(bytes).sum();
        let given: f64 = flash().map(|member| member.given() as f64).sum();
        let most = flash().map(|member| member.given() as f64 / bytes(member)).fold(0.0, f64::max);
        let pages = facts.statistics.pages_written as f64;
        if pages == 0.0 || given == 0.0 {
            return None;
        }
        // SSDs in the array for each SSD's worth of data.
        let ssds = terms.map_or(capacity / facts.drive.capacity_bytes() as f64, |terms| terms.ssd);
        let mean = ssds * pages / given;
        let erases: f64 = flash().map(|member| member.erases().iter().map(f64::from).sum::<f64>()).sum();
        let gib = pages * facts.drive.page_bytes() as f64 / f64::from(1 << 30);
        Some(Lifetime { mean, least: mean * (given / capacity) / most, erases_per_gib: erases / gib })
    }
}
