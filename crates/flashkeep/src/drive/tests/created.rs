//! Pages that were created by a rule, with contents that follow from it, are those that commands would have created.

use super::*;
use flashkeep_trace::random::Random;

const PAGES: u32 = 5 * 2 * 40;

/// A drive all of whose pages were created, by the rule or by commands, and whose power may fail.
fn full(by_rule: bool) -> Rig {
    let flash = "channels = 2, chips_per_channel = 1, planes_per_die = 1, blocks_per_plane = 30, pages_per_block = 10";
    let ftl = "allocation = \"dynamic\"";
    let mut rig = Rig::new(flash, ftl, 1, mapped(PAGES));
    rig.drive.expect_power_cuts();
    assert!(rig.drive.places_in_order(BackendId(0)));
    rig.without_time(|rig| {
        rig.drive.place_in_order(BackendId(0), 0..PAGES.into());
        if by_rule {
            assert_eq!(rig.drive.create_by_rule(BackendId(0)), PAGES);
            return;
        }
        rig.drive.fill(true);
        for page in 0..PAGES {
            let before = Command { flags: Flags::BEFORE, ..write(page, 1) };
            rig.ask(0, before, page, &[Token::initial(page.into())]);
        }
        rig.drive.fill(false);
    });
    rig
}

/// What the drive has of each page: its contents, and whether its OOB area says that it was written since its creation.
fn state(rig: &Rig) -> Vec<(Option<Token>, Option<bool>)> {
    let of = |page| {
        let (backend, page) = (BackendId(0), Page::of(page));
        let oob = rig.drive.oob(backend, page);
        (rig.drive.contents_of(backend, page), oob.map(|oob| oob.sequence > u64::from(PAGES)))
    };
    (0..PAGES).map(of).collect()
}

#[test]
fn pages_created_by_a_rule_are_as_if_commands_had_created_them() {
    for (seed, cuts) in [(1, 9), (2, 30), (3, 90)] {
        let mut rigs = [true, false].map(full);
        rigs.iter_mut().for_each(|rig| rig.drive.controller.queues.number_from(PAGES.into()));
        assert_eq!(rigs[0].drive.changed_pages(BackendId(0)), Some(Default::default()));
        let mut random = Random::stream(seed, "test");
        for round in 0..cuts {
            for n in 0..random.below(40) {
                let page = random.below(PAGES.into()) as u32;
                let command = if random.below(8) == 0 { trim(page, 1) } else { write(page, 1) };
                // Some pages are written with nothing, as those that could not be merged.
                let contents = [Token(if n < 8 { 0 } else { seed << 40 | round << 20 | n })];
                rigs.iter_mut().for_each(|rig| rig.ask(0, command, page, &contents));
            }
            let cut = rigs[0].now + Span(random.below(3_000_000));
            for rig in &mut rigs {
                rig.go_on(cut);
                rig.now = rig.drive.cut_power(cut).ready;
                rig.drive.audit();
            }
            let [by_rule, by_commands] = &rigs;
            assert_eq!(by_rule.now, by_commands.now);
            assert!(state(by_rule) == state(by_commands), "round {round} of {seed}");
            let changed = by_rule.drive.changed_pages(BackendId(0)).expect("there is a rule");
            let others = (0..PAGES).filter(|&page| !changed.has(page));
            let found = |page| by_rule.drive.contents_of(BackendId(0), Page::of(page));
            assert!(others.clone().all(|page| found(page) == Some(Token::initial(page.into()))));
            assert!(round > 0 || others.count() > 200, "most are as they were");
        }
    }
}
