//! Addresses: what lies where on the disks, worked out by hand.

use super::super::address::BackupLayout;
use super::*;

const FIGURE_3: Setup = Setup { ssds: 3, disks: 2, segment: 4, every: 2, each: 8, ..SMALL };

fn layout(setup: &Setup) -> BackupLayout {
    BackupLayout::over(&setup.members(), &setup.redundancy().read()).expect("a layout")
}

/// One disk, one SSD: disk offset = (σ + ⌊σ/K⌋) segments, free segment φ at φ·(K + 1) + K.
#[test]
fn a_disk_of_one_ssd() {
    let setup = Setup { ssds: 1, disks: 1, segment: 512, every: 32, each: 96, ..SMALL };
    let layout = layout(&setup);
    for segment in 0..96 {
        let home = (segment + segment / 32) * 512;
        assert_eq!(layout.home(Page::of(segment * 512 + 7)), (0, Page::of(home + 7)));
    }
    let free: Vec<u32> = (0..3).map(|number| layout.free_start(number).low() / 512).collect();
    assert_eq!((free, layout.free_segments(), layout.part()), (vec![32, 65, 98], 3, 99));
}

/// Figure 3: three SSDs on two disks, two data segments for each free one. An SSD's segments 0, 2, 4, 6 are on disk 0,
/// its segments 1, 3, 5, 7 on disk 1, in its part of six segments: D D F D D F.
#[test]
fn three_ssds_on_two_disks() {
    let layout = layout(&FIGURE_3);
    assert_eq!((layout.part(), layout.free_segments(), layout.pages()), (6, 6, 96));
    let homes = |ssd: u32| -> Vec<(usize, u32)> {
        let segments = 0..8;
        let home = |segment: u32| layout.home(Page::of(ssd * 32 + segment * 4));
        segments.map(home).map(|(disk, place)| (disk, place.low() / 4)).collect()
    };
    assert_eq!(homes(0), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 3), (1, 3), (0, 4), (1, 4)]);
    assert_eq!(homes(1), [(0, 6), (1, 6), (0, 7), (1, 7), (0, 9), (1, 9), (0, 10), (1, 10)]);
    assert_eq!(homes(2), [(0, 12), (1, 12), (0, 13), (1, 13), (0, 15), (1, 15), (0, 16), (1, 16)]);
    let free: Vec<u32> = (0..6).map(|number| layout.free_start(number).low() / 4).collect();
    assert_eq!(free, [2, 5, 8, 11, 14, 17]);
    // The other way to share them out: each disk has one half of every SSD.
    let layout = BackupLayout { spread: Spread::Contiguous, ..layout };
    let home = |segment: u32| layout.home(Page::of(32 + segment * 4));
    let place = |disk: usize, segment: u32| (disk, Page::of(segment * 4));
    assert_eq!([0, 3, 4, 7].map(home), [place(0, 6), place(0, 10), place(1, 6), place(1, 10)]);
}

#[test]
fn every_place_is_one_page_or_free() {
    for spread in [Spread::Interleaved, Spread::Contiguous] {
        for (ssds, disks, every, each) in
            [(3, 2, 2, 8), (1, 1, 32, 40), (2, 3, 2, 7), (4, 3, 5, 31), (2, 2, 1, 1)]
        {
            let setup = Setup { ssds, disks, every, each, segment: 2, spread, ..SMALL };
            let layout = layout(&setup);
            assert_eq!(layout.pages(), setup.pages(), "the disks are as long as need be: {setup:?}");
            let (mut pages, mut free) = (0, 0);
            for disk in 0..usize::from(disks) {
                let length = u32::from(ssds) * layout.part() * 2;
                assert_eq!(length, setup.members()[usize::from(ssds)].pages as u32);
                for place in (0..length).map(Page::of) {
                    let before = (0..layout.free_segments()).filter(|&n| layout.free_start(n) < place);
                    assert_eq!(layout.free_before(place), before.count() as u32);
                    match (layout.page_at(disk, place), layout.free_at(place)) {
                        (Some(page), None) => {
                            assert_eq!(layout.home(page), (disk, place), "{setup:?}");
                            pages += 1;
                        }
                        (None, Some(number)) => {
                            assert_eq!(layout.free_start(number), layout.start_of(place));
                            free += 1;
                        }
                        // An SSD's segments need not be a multiple of the disks.
                        (None, None) => {}
                        both => panic!("{both:?} at {place:?}"),
                    }
                }
                let own: Vec<u32> = layout.pages_of_disk(disk).collect();
                let all = 0..layout.pages();
                assert_eq!(own, all.filter(|&p| layout.disk_of(Page::of(p)) == disk).collect::<Vec<_>>());
            }
            assert_eq!((pages, free), (setup.pages(), u32::from(disks) * layout.free_segments() * 2));
            for page in (0..layout.pages()).map(Page::of) {
                let (ssd, on_ssd) = layout.on_ssd(page);
                assert_eq!(layout.of_ssd(ssd, on_ssd), Some(page));
            }
        }
    }
}

#[test]
fn how_far_the_head_is() {
    let layout = layout(&FIGURE_3);
    let far = |head: u32| layout.distance(Page::of(head), Page(8));
    assert_eq!([4, 7, 8, 11, 12, 20].map(far), [4, 1, 0, 0, 1, 9]);
}

#[test]
fn commands_are_cut_so_that_the_memory_need_not_be_empty_for_one() {
    let layout = BackupLayout { segment: 12, ..layout(&FIGURE_3) };
    assert_eq!([100, 12, 11, 5, 3, 1, 0].map(|most| layout.grain(most)), [12, 12, 6, 4, 3, 1, 1]);
}

fn refusal(members: &[MemberFacts], change: impl Fn(&mut RedundancySpec)) -> String {
    let mut redundancy = SMALL.redundancy();
    change(&mut redundancy);
    let over = named("backup").expect("in the table").over_drives;
    over(members, &redundancy).expect_err("a refusal")
}

#[test]
fn what_it_runs_over() {
    let member = |pages, disk| MemberFacts { pages, disk, page_bytes: 1024 };
    let (ssd, disk) = (member(40, false), member(100, true));
    let plain = |_: &mut RedundancySpec| {};
    let message = refusal(&[ssd, ssd], plain);
    assert_eq!(message, "no disk among 2 SSDs: disks back up SSDs, so it needs one of each");
    assert_eq!(refusal(&[disk], plain), "no SSD among 1 disks: disks back up SSDs, so it needs one of each");
    let message = refusal(&[ssd, disk, ssd], plain);
    assert_eq!(message, "member 2 is not a disk but follows one: SSDs come first, then disks");
    assert!(refusal(&[member(3, false), disk], plain).contains("shorter than a segment of 4 KiB"));
    let odd = MemberFacts { page_bytes: 3000, ..ssd };
    assert!(refusal(&[odd, disk], plain).contains("over pages of 3000 bytes: a whole number of pages"));
    assert!(refusal(&[ssd, disk], |spec| spec.set("segment_kib", 8193)).contains("at most 8192"));
    // In a drive it cannot be had at all.
    let drive = (named("backup").expect("in the table").members)(8, None, "channel").expect_err("a refusal");
    assert!(drive.contains("over drives and disks"), "{drive}");
    assert!(!named("backup").expect("in the table").is_for_drives());
}

/// Capacity: as many whole segments of the smallest SSD as its part of the smallest disk holds beside the free ones.
#[test]
fn capacity() {
    let over = named("backup").expect("in the table").over_drives;
    let pages = |ssds: &[u64], disks: &[u64]| {
        let member = |disk| move |&pages: &u64| MemberFacts { pages, disk, page_bytes: 1024 };
        let members: Vec<_> = ssds.iter().map(member(false)).chain(disks.iter().map(member(true))).collect();
        over(&members, &SMALL.redundancy()).expect("a capacity")
    };
    assert_eq!(pages(&[43, 41], &[1000]), 2 * 40);
    // A part of 3 segments: 2 of data; of 4: 2, as the third would need a free one; of 5: 3.
    assert_eq!([12, 16, 20, 23, 24].map(|disk| pages(&[100], &[disk])), [8, 8, 12, 12, 16]);
    // Two disks share what three SSDs hold: parts of 100/4/3 = 8 segments, 5 of them data.
    assert_eq!(pages(&[1000, 1000, 1000], &[100, 120]), 3 * 2 * 5 * 4);
}
