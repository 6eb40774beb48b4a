//! The table of checks.

use super::{Tried, arrays, inside, maps, power};
use crate::schemes::Members;

/// A promise that schemes keep, and how it is tried.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it promises.
    pub promise: &'static str,
    /// Whether it concerns a scheme with these parameters.
    pub concerns: fn(&Tried) -> bool,
    /// Whether it combines a scheme with many drives, and takes the first parameters of each only.
    pub first: bool,
    /// Tries it.
    ///
    /// # Panics
    /// If the scheme does not keep the promise; the message says when and where.
    pub run: fn(&Tried),
}

/// A promise of schemes inside drives.
const fn check(
    name: &'static str,
    promise: &'static str,
    concerns: fn(&Tried) -> bool,
    run: fn(&Tried),
) -> Check {
    Check { name, promise, concerns, first: false, run }
}

/// The same of schemes in many drives.
const fn first(check: Check) -> Check {
    Check { first: true, ..check }
}

/// In drives.
fn any(tried: &Tried) -> bool {
    tried.is_for_drives()
}

fn survives(tried: &Tried) -> bool {
    any(tried) && tried.survives() > 0
}

fn plain(tried: &Tried) -> bool {
    any(tried) && tried.plain
}

/// In drives whose members may be maps.
fn mapped(tried: &Tried) -> bool {
    any(tried) && tried.kind != Members::Physical
}

fn mapped_survives(tried: &Tried) -> bool {
    mapped(tried) && survives(tried)
}

fn copies(tried: &Tried) -> bool {
    tried.copies && arrays::concerns(tried)
}

/// All checks: inside drives, with maps, with power cuts, over drives.
pub const CHECKS: &[Check] = &[
    check(
        "inside::every_failure_at_every_step_costs_only_what_was_exposed",
        "members may fail at any instant; only pages that were exposed are lost",
        survives,
        inside::every_failure_at_every_step_costs_only_what_was_exposed,
    ),
    check(
        "inside::rebuilt_it_survives_the_next_failure",
        "what was replaced is rebuilt, and the next failure is survived",
        survives,
        inside::rebuilt_it_survives_the_next_failure,
    ),
    check(
        "inside::a_failure_during_the_rebuild_is_handled",
        "a failure during a rebuild loses nothing without saying so; pages written anew are protected",
        survives,
        inside::a_failure_during_the_rebuild_is_handled,
    ),
    check(
        "inside::members_that_are_replaced_together_are_all_rebuilt",
        "members that are replaced together, or one during the rebuild of another, are all rebuilt",
        survives,
        inside::members_that_are_replaced_together_are_all_rebuilt,
    ),
    check(
        "inside::what_is_found_unreadable_is_brought_back",
        "a page that a read finds unreadable is written again from the others",
        survives,
        inside::what_is_found_unreadable_is_brought_back,
    ),
    check(
        "inside::a_page_that_cannot_be_read_is_had_otherwise_and_healed",
        "a page that cannot be read is read in another way",
        survives,
        inside::a_page_that_cannot_be_read_is_had_otherwise_and_healed,
    ),
    check(
        "inside::what_no_member_can_read_is_reported",
        "pages that no member can read are reported as lost, and can be written anew",
        survives,
        inside::what_no_member_can_read_is_reported,
    ),
    check(
        "inside::parts_of_members_fail",
        "planes and blocks of members fail; only pages that were exposed are lost",
        survives,
        inside::parts_of_members_fail,
    ),
    check(
        "inside::parts_of_pools_fail",
        "the same with blocks pooled over planes",
        survives,
        inside::parts_of_pools_fail,
    ),
    check(
        "inside::without_redundancy_what_is_lost_is_reported",
        "without redundancy, what a failure takes is reported",
        plain,
        inside::without_redundancy_what_is_lost_is_reported,
    ),
    check(
        "inside::the_capacity_is_what_was_declared",
        "every page of the capacity can be written, again and again, and read",
        any,
        inside::the_capacity_is_what_was_declared,
    ),
    check(
        "inside::the_same_history_takes_the_same_course",
        "the same history takes the same course",
        any,
        inside::the_same_history_takes_the_same_course,
    ),
    check(
        "inside::pages_that_share_a_flash_page_serve_every_scheme",
        "pages that share a flash page are served, and survive failures",
        any,
        inside::pages_that_share_a_flash_page_serve_every_scheme,
    ),
    first(check(
        "maps::every_map_serves_every_scheme_over_mapped_members",
        "with each map, every page is read right",
        mapped,
        maps::every_map_serves_every_scheme_over_mapped_members,
    )),
    first(check(
        "maps::members_with_maps_fail_at_every_step",
        "members with maps may fail at any instant",
        mapped_survives,
        maps::members_with_maps_fail_at_every_step,
    )),
    first(check(
        "maps::members_with_maps_are_rebuilt_and_the_next_may_fail",
        "members with maps are rebuilt, and the next failure is survived",
        mapped_survives,
        maps::members_with_maps_are_rebuilt_and_the_next_may_fail,
    )),
    first(check(
        "maps::parts_of_members_with_maps_fail",
        "parts of members with maps fail; only pages that were exposed are lost",
        mapped_survives,
        maps::parts_of_members_with_maps_fail,
    )),
    first(check(
        "maps::maps_go_on_with_fewer_and_fewer_blocks",
        "blocks of maps fail one after the other; what is lost is reported",
        plain,
        maps::maps_go_on_with_fewer_and_fewer_blocks,
    )),
    first(check(
        "power::a_cut_at_every_third_step_however_blocks_are_filled",
        "a power cut loses nothing durable, in whatever way blocks are filled and erased",
        mapped,
        power::a_cut_at_every_third_step_however_blocks_are_filled,
    )),
    first(check(
        "power::a_cut_at_every_step_whatever_the_map",
        "a power cut loses nothing durable, whatever the map",
        mapped,
        power::a_cut_at_every_step_whatever_the_map,
    )),
    first(check(
        "power::cut_again_and_again_every_map_goes_on",
        "power cuts again and again, whatever the map",
        mapped,
        power::cut_again_and_again_every_map_goes_on,
    )),
    check(
        "power::a_cut_at_every_step_costs_nothing_that_was_durable",
        "a power cut at any instant loses nothing durable",
        any,
        power::a_cut_at_every_step_costs_nothing_that_was_durable,
    ),
    check(
        "power::a_cut_with_a_member_gone_costs_what_was_being_written_and_what_shares_its_stripe",
        "a power cut while a member is missing loses only what was being written and what shares its stripe",
        survives,
        power::a_cut_with_a_member_gone_costs_what_was_being_written_and_what_shares_its_stripe,
    ),
    check(
        "power::a_cut_during_a_rebuild_loses_nothing",
        "a power cut during a rebuild loses nothing durable",
        survives,
        power::a_cut_during_a_rebuild_loses_nothing,
    ),
    check(
        "power::cut_again_and_again_the_drive_goes_on",
        "the drive goes on after power cuts again and again, also during recovery",
        any,
        power::cut_again_and_again_the_drive_goes_on,
    ),
    check(
        "power::whatever_happens_in_whatever_order_what_is_missing_was_exposed",
        "requests, failures, replacements and power cuts in any order lose only what was exposed",
        any,
        power::whatever_happens_in_whatever_order_what_is_missing_was_exposed,
    ),
    check(
        "arrays::every_failure_of_a_member_at_every_step_costs_only_what_was_exposed",
        "over drives, trees, disks and arrays, members may fail at any instant",
        arrays::survives,
        arrays::every_failure_of_a_member_at_every_step_costs_only_what_was_exposed,
    ),
    check(
        "arrays::every_failure_within_a_member_at_every_step",
        "a failure within a member at any instant",
        arrays::concerns,
        arrays::every_failure_within_a_member_at_every_step,
    ),
    check(
        "arrays::rebuilt_they_survive_the_next_failure",
        "members of arrays are rebuilt, and the next failure is survived",
        arrays::survives,
        arrays::rebuilt_they_survive_the_next_failure,
    ),
    check(
        "arrays::a_failure_during_the_rebuild_is_handled",
        "a failure during the rebuild of an array's member loses nothing without saying so",
        arrays::survives,
        arrays::a_failure_during_the_rebuild_is_handled,
    ),
    check(
        "arrays::what_is_beyond_the_promise_is_reported",
        "one failure more than is survived loses pages, which are reported",
        arrays::concerns,
        arrays::what_is_beyond_the_promise_is_reported,
    ),
    check(
        "arrays::parts_of_drives_fail",
        "planes and blocks of an array's drives fail; only pages that were exposed are lost",
        arrays::survives,
        arrays::parts_of_drives_fail,
    ),
    check(
        "arrays::members_that_forget_are_no_worse_than_members_that_fail",
        "members whose pages cannot be read are no worse than members that fail",
        arrays::survives,
        arrays::members_that_forget_are_no_worse_than_members_that_fail,
    ),
    check(
        "arrays::a_member_is_replaced_as_soon_as_it_has_failed",
        "a member is replaced while a part of it is being rebuilt",
        arrays::survives,
        arrays::a_member_is_replaced_as_soon_as_it_has_failed,
    ),
    check(
        "arrays::pages_that_nobody_has_written_are_not_copied",
        "pages that nobody has written are not copied",
        copies,
        arrays::pages_that_nobody_has_written_are_not_copied,
    ),
    check(
        "arrays::the_capacity_is_what_was_declared",
        "every page of an array's capacity can be written, again and again, and read",
        arrays::concerns,
        arrays::the_capacity_is_what_was_declared,
    ),
    check(
        "arrays::the_same_history_takes_the_same_course",
        "the same history of an array takes the same course",
        arrays::concerns,
        arrays::the_same_history_takes_the_same_course,
    ),
];
