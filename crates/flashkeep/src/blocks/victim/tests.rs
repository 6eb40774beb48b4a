//! Each policy on planes that can be looked over by eye, and against what its definition says in other words.

use super::*;
use proptest::prelude::*;

const FREE: u16 = 0xFFFF;

fn candidates<'a>(valid: &'a [u16], closed_at: &'a [u32], turn: u64) -> Candidates<'a, u16> {
    let random = RandomStream::stream(1, "test").turn(turn);
    Candidates { valid, closed_at, closings: 100, pages: 8, first: 0, random, considered: 3 }
}

fn pick(name: &str, candidates: &Candidates<'_, u16>) -> Option<u32> {
    (named(name).expect("a policy").pick)(candidates)
}

#[test]
fn each_policy_takes_what_it_says() {
    //           open       full          old, 3     young, 2  free
    let valid = [0x8002, 8, 7, 3, 2, FREE, 5];
    let closed = [0, 10, 20, 30, 99, 0, 40];
    let these = candidates(&valid, &closed, 0);
    assert_eq!(pick("greedy", &these), Some(4));
    assert_eq!(pick("fifo", &these), Some(2));
    // (100 − 30 + 1) · 5 / 6 = 59.2 is more than 2 · 6 / 4, than 61 · 3 / 10 and than 81 · 1 / 14.
    assert_eq!(pick("cost-benefit", &these), Some(3));
    // The window holds blocks 1, 2 and 3, the full one too.
    assert_eq!(pick("windowed-greedy", &these), Some(3));
    let narrow = Candidates { considered: 2, ..these };
    assert_eq!(pick("windowed-greedy", &narrow), Some(2));
    let only_full = Candidates { considered: 1, ..narrow };
    assert_eq!(pick("windowed-greedy", &only_full), Some(2), "beyond a window without gain");
}

#[test]
fn garbage_costs_nothing_and_the_oldest_of_it_goes_first() {
    let valid = [1, 0, 0, 7];
    assert_eq!(pick("cost-benefit", &candidates(&valid, &[0, 90, 80, 1], 0)), Some(2));
}

#[test]
fn random_takes_each_with_the_same_chance_and_more_choices_take_better() {
    let valid: Vec<u16> = (0..64).map(|block| if block % 4 == 0 { block / 8 } else { FREE }).collect();
    let closed = vec![0; 64];
    let (mut counts, mut sums) = ([0_u32; 64], [0_u64; 3]);
    for turn in 0..16_000 {
        let these = candidates(&valid, &closed, turn);
        let block = pick("random", &these).expect("blocks are worth taking") as usize;
        counts[block] += 1;
        for (sum, name) in sums.iter_mut().zip(["random", "d-choices", "rga"]) {
            *sum += u64::from(valid[pick(name, &these).unwrap() as usize]);
        }
    }
    for (block, &count) in counts.iter().enumerate() {
        let expected = if block % 4 == 0 { 850..1150 } else { 0..1 };
        assert!(expected.contains(&count), "block {block} was taken {count} times");
    }
    // Means of one draw and of the least of three and of six, two blocks for each of 0 to 7 valid pages.
    let least = |random: i32| (1..8).map(|level| (f64::from(8 - level) / 8.0).powi(random)).sum::<f64>();
    for (sum, random) in sums.into_iter().zip([1, 3, 6]) {
        let mean = sum as f64 / 16_000.0;
        assert!((mean - least(random)).abs() < 0.06, "{random} draws: {mean}, not {}", least(random));
    }
}

#[test]
fn a_single_block_worth_taking_is_found() {
    let mut valid = vec![8; 500];
    valid[321] = 7;
    let closed = vec![0; 500];
    for policy in VICTIMS.into_iter().filter(|policy| policy.file.is_none()) {
        assert_eq!((policy.pick)(&candidates(&valid, &closed, 5)), Some(321), "{}", policy.name);
    }
}

proptest! {
    /// Nothing is taken that is not closed or is all valid, and something is where there is something.
    #[test]
    fn what_is_taken_is_worth_taking(
        blocks in prop::collection::vec((prop_oneof![0u16..9, Just(FREE), Just(0x8003)], 0u32..100), 1..40),
        turn in 0u64..1000,
    ) {
        let valid: Vec<u16> = blocks.iter().map(|block| block.0).collect();
        let closed: Vec<u32> = blocks.iter().map(|block| block.1).collect();
        let some = valid.iter().any(|&valid| valid < 8);
        for policy in VICTIMS.into_iter().filter(|policy| policy.file.is_none()) {
            let taken = (policy.pick)(&candidates(&valid, &closed, turn));
            prop_assert_eq!(taken.is_some(), some, "{}", policy.name);
            prop_assert!(taken.is_none_or(|block| valid[block as usize] < 8), "{}", policy.name);
        }
    }
}
