//! The conformance suite on all schemes of the table. `FLASHKEEP_SCHEME` picks one of them. Schemes in files are those of
//! `foreign`, in the place of Python.

mod foreign;

use crate::common::full;
use flashkeep::conformance::{CHECKS, Suite};
use flashkeep::schemes::{MemberFacts, RedundancySpec, SCHEMES, SchemeEntry};
use std::path::Path;
use std::sync::OnceLock;

/// Checks that combine a scheme with many drives and take long: the schemes on which they run.
const ONLY: [(&str, [&str; 3]); 3] = [
    ("power::a_cut_at_every_third_step_however_blocks_are_filled", ["none", "raid5", "ppc"]),
    ("power::a_cut_at_every_step_whatever_the_map", ["none", "mirror", "raid5"]),
    ("power::cut_again_and_again_every_map_goes_on", ["none", "mirror", "raid5"]),
];

/// The schemes to try.
fn wanted() -> impl Iterator<Item = &'static SchemeEntry> {
    let only = std::env::var("FLASHKEEP_SCHEME").ok();
    SCHEMES.iter().filter(move |entry| only.as_ref().is_none_or(|name| name == entry.name))
}

/// Runs a check on every scheme that it concerns.
fn run(name: &str) {
    foreign::accept_files();
    static SUITE: OnceLock<Suite> = OnceLock::new();
    let suite = SUITE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("arrays-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        Suite::new(&folder).expect("the target folder can be written")
    });
    let check = CHECKS.iter().find(|check| check.name == name).expect("a check of the table");
    // Cuts and failures at every step are tried on one size of each scheme, unless all cases run.
    let short = !full() && ["arrays::", "power::"].iter().any(|group| name.starts_with(group));
    let only = ONLY.iter().find(|(check, _)| *check == name);
    for entry in wanted().filter(|entry| only.is_none_or(|(_, schemes)| schemes.contains(&entry.name))) {
        let most = if check.first || short { 1 } else { usize::MAX };
        suite
            .tried(entry)
            .enumerate()
            .filter(|(n, tried)| *n < most || tried.read.is_some() && !check.first)
            .filter(|(_, tried)| (check.concerns)(tried))
            .for_each(|(_, tried)| (check.run)(&tried));
    }
}

macro_rules! checks {
    ($group:ident: $($name:ident)*) => {
        mod $group {
            $(#[test]
            fn $name() {
                super::run(concat!(stringify!($group), "::", stringify!($name)));
            })*

            pub(super) const NAMES: &[&str] = &[$(concat!(stringify!($group), "::", stringify!($name)),)*];
        }
    };
}

checks! { inside: every_failure_at_every_step_costs_only_what_was_exposed rebuilt_it_survives_the_next_failure a_failure_during_the_rebuild_is_handled members_that_are_replaced_together_are_all_rebuilt what_is_found_unreadable_is_brought_back a_page_that_cannot_be_read_is_had_otherwise_and_healed what_no_member_can_read_is_reported parts_of_members_fail parts_of_pools_fail without_redundancy_what_is_lost_is_reported the_capacity_is_what_was_declared the_same_history_takes_the_same_course pages_that_share_a_flash_page_serve_every_scheme }

checks! { maps: every_map_serves_every_scheme_over_mapped_members members_with_maps_fail_at_every_step members_with_maps_are_rebuilt_and_the_next_may_fail parts_of_members_with_maps_fail maps_go_on_with_fewer_and_fewer_blocks }

checks! { power: a_cut_at_every_third_step_however_blocks_are_filled a_cut_at_every_step_whatever_the_map cut_again_and_again_every_map_goes_on a_cut_at_every_step_costs_nothing_that_was_durable a_cut_with_a_member_gone_costs_what_was_being_written_and_what_shares_its_stripe a_cut_during_a_rebuild_loses_nothing cut_again_and_again_the_drive_goes_on whatever_happens_in_whatever_order_what_is_missing_was_exposed }

checks! { arrays: every_failure_of_a_member_at_every_step_costs_only_what_was_exposed every_failure_within_a_member_at_every_step rebuilt_they_survive_the_next_failure a_failure_during_the_rebuild_is_handled what_is_beyond_the_promise_is_reported parts_of_drives_fail members_that_forget_are_no_worse_than_members_that_fail a_member_is_replaced_as_soon_as_it_has_failed pages_that_nobody_has_written_are_not_copied the_capacity_is_what_was_declared the_same_history_takes_the_same_course }

#[test]
fn every_check_of_the_table_is_run() {
    let run: Vec<&str> = [inside::NAMES, maps::NAMES, power::NAMES, arrays::NAMES].concat();
    assert_eq!(run, CHECKS.iter().map(|check| check.name).collect::<Vec<_>>());
}

#[test]
fn every_scheme_that_can_be_had_over_drives_is_tried() {
    let accepts = |entry: &SchemeEntry, drives: usize, disks: usize| {
        let facts = |count, disk| vec![MemberFacts { pages: 24, page_bytes: 4096, disk }; count];
        let facts = [facts(drives, false), facts(disks, true)].concat();
        (entry.over_drives)(&facts, &RedundancySpec::of(entry.name)).is_ok()
    };
    foreign::accept_files();
    for entry in wanted().filter(|entry| entry.file.is_none()) {
        let tried =
            |with: &flashkeep::schemes::TriedWith| accepts(entry, with.drives as usize, with.disks as usize);
        let had = (0..81).find(|mix| accepts(entry, mix / 9, mix % 9));
        let tried = entry.tried_with.iter().any(tried);
        assert!(tried || had.is_none(), "{}: say in its ENTRY what it is tried with", entry.name);
    }
}
