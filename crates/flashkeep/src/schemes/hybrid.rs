//! The common part of schemes over drives and disks.

use super::{MemberFacts, SchemeOptions};
use crate::engine::{Command, Member, Page, Plan, Step};

/// The scheme runs over drives and disks only: a drive has no parts of these kinds.
pub(super) fn not_in_a_drive(_: u64, _: Option<u32>, _: &str) -> Result<u32, String> {
    Err("this scheme runs over drives and disks: only an array can have it".into())
}

/// Over drives only.
pub(super) fn only_over_drives(_: u64, _: Option<u32>, _: &str) -> Result<u32, String> {
    Err("this scheme runs over drives: only an array can have it".into())
}

/// The members of an array of drives and disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HybridMembers {
    /// The number of flash members; they come first.
    pub(super) flash: u8,
    /// The number of disks.
    pub(super) disks: u8,
    /// Pages of the smallest of each.
    pub(super) flash_pages: u64,
    pub(super) disk_pages: u64,
}

impl HybridMembers {
    /// Counts the members; an error if their order is wrong.
    pub(super) fn of(members: &[MemberFacts]) -> Result<HybridMembers, String> {
        let flash = members.iter().take_while(|member| !member.disk).count();
        let (drives, disks) = members.split_at(flash);
        if let Some(late) = disks.iter().position(|member| !member.disk) {
            return Err(format!(
                "member {} is not a disk but follows one: drives come first, then disks",
                flash + late
            ));
        }
        let least = |members: &[MemberFacts]| members.iter().map(|member| member.pages).min().unwrap_or(0);
        Ok(HybridMembers {
            flash: flash as u8,
            disks: disks.len() as u8,
            flash_pages: least(drives),
            disk_pages: least(disks),
        })
    }

    /// The same for a scheme that has been checked.
    pub(super) fn checked(options: &SchemeOptions<'_>) -> HybridMembers {
        HybridMembers::of(options.array).expect("members were counted when the array was checked")
    }
}

/// MiB in pages.
pub(super) fn pages_of(mib: f64, page_bytes: u64) -> u64 {
    (mib * 1_048_576.0 / page_bytes as f64) as u64
}

/// `member` does `command` for the one page `page`, the caller's `at`th: as a part of the step before where it follows
/// that one on the same member.
pub(super) fn extend(plan: &mut Plan, member: Member, page: Page, at: u16, command: &Command) {
    extend_run(&mut plan.steps, member, command.over(page, 1), at);
}

/// The same for a command of one page, in any list of steps.
pub(super) fn extend_run(steps: &mut Vec<Step>, member: Member, command: Command, at: u16) {
    if let Some(last) = steps.last_mut() {
        let follows = last.command.end() == command.start.0 && last.at + last.command.count == at;
        if last.member == member && follows && last.command.verb == command.verb {
            last.command.count += 1;
            last.command.sectors = 0;
            return;
        }
    }
    steps.push(Step::new(member, command, at));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_come_first() {
        let (drive, disk) = (
            MemberFacts { pages: 10, page_bytes: 4096, disk: false },
            MemberFacts { pages: 90, page_bytes: 4096, disk: true },
        );
        let small = MemberFacts { pages: 8, ..drive };
        let parts = HybridMembers { flash: 2, disks: 1, flash_pages: 8, disk_pages: 90 };
        assert_eq!(HybridMembers::of(&[drive, small, disk]), Ok(parts));
        assert_eq!(
            HybridMembers::of(&[drive, disk, small]),
            Err("member 2 is not a disk but follows one: drives come first, then disks".into())
        );
        assert_eq!(pages_of(1.5, 4096), 384);
    }
}
