//! Deferred parity over drives, which copy an old version before its page is written again.

use super::{array_job, integrity};
use crate::common::{figure, job, summary};
use flashkeep::job::Job;

/// `stripes` are written in full, some time later `pages` in `dirty` of them, and those pages `more` times again; each time
/// parity follows in the idle time after that. The last request is a read after all of it.
fn trace(stripes: u64, dirty: u64, pages: u64, more: u64) -> String {
    let first = (0..4 * stripes).map(|page| (page, page));
    let touched = move |n: u64| n % dirty * 4 + n / dirty;
    let second = (0..pages * (1 + more)).map(move |n| (1_000_000 + n, touched(n % pages)));
    let writes = first.chain(second).map(|(us, page)| format!("{us}000 0 {} 8 0\n", page * 8));
    writes.chain([format!("{}000 0 0 8 1\n", 3_000_000)]).collect()
}

/// A page that is written for the first time since its stripe's parity: a read and a program for the old version, which
/// its drive keeps. The parity of a stripe: a read of each of its pages, and a program.
#[test]
fn an_old_version_costs_a_read_and_a_program_once() {
    let set = ["redundancy.stripe_kib=4", "redundancy.shadow=0.2", "redundancy.idle_ms=1"];
    for (stripes, dirty, pages, more) in [(20, 5, 5, 0), (20, 5, 12, 0), (20, 20, 80, 0), (9, 3, 7, 2)] {
        let mut job = array_job("fra", 5, &trace(stripes, dirty, pages, more), &set);
        job.verify = true;
        let run = summary(&job);
        let count = |kind: &str, cause: &str| figure(&run, &format!("operations.{kind}.{cause}")) as u64;
        let what = format!("{stripes} stripes, {pages} pages in {dirty} of them, {more} times more");
        assert_eq!(count("program", "host"), 4 * stripes + pages * (1 + more), "{what}");
        assert_eq!(count("program", "parity"), stripes + pages + dirty, "{what}");
        assert_eq!(count("read", "parity"), 4 * stripes + pages + 4 * dirty, "{what}");
        assert_eq!((integrity(&run, "wrong_reads"), figure(&run, "operations.read.host")), (0.0, 1.0));
    }
}

/// A member that has lost too many blocks must refuse pages: their parity is written with them, so that none is lost.
/// At the failures no parity is deferred.
#[test]
fn what_a_damaged_member_refuses_is_in_the_parity() {
    let fail = |name: &str| (0..9).map(|block| format!("{name}.{block}@1req")).collect::<Vec<_>>();
    let set = ["redundancy.stripe_kib=4", "redundancy.shadow=0.1", "start.existing=\"all\""];
    let some = "synth:random,requests=2k,write=0.9,size=4KiB:0.7/12KiB:0.3,align=4096,depth=4";
    let drive = |map: &str| {
        format!(
            "[flash]\nchannels = 5\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n\
             blocks_per_plane = 20\npages_per_block = 16\npage_kib = 4\n[ftl]\nover_provisioning = 0.6\n\
             map = \"{map}\"\n[redundancy]\nscheme = \"fra\"\nshadow = 0.1\n[start]\nexisting = \"all\"\n"
        )
    };
    let over = array_job("fra", 5, some, &[&set[..], &["member.flash.channels=1"]].concat());
    let inside = ["page", "hybrid"].map(|map| job(&drive(map), some, &[]));
    let [page, hybrid] = inside;
    for (what, job, fail) in [
        ("over drives", over, fail("member:1/block:0.0.0.0")),
        ("inside", page, fail("block:1.0.0.0")),
        ("log blocks", hybrid, fail("block:1.0.0.0")),
    ] {
        let run = summary(&Job { fail, verify: true, ..job });
        let refused = figure(&run, "integrity.unprotected_page_s") > 0.0;
        let found = (integrity(&run, "wrong_reads"), integrity(&run, "lost_pages"), refused);
        assert_eq!(found, (0.0, 0.0, true), "{what}");
    }
}
