//! The distance between the ends of life of an array's members: if members wear out at the same time, redundancy does
//! not help.

use super::{Mark, MemberActivity, figures, plain, unit};

/// The end of life of a member.
struct End {
    member: String,
    at: Mark,
}

impl End {
    fn figures(&self) -> MemberEnd {
        MemberEnd { member: self.member.clone(), s: self.at.0.0 as f64 / 1e9, bytes: self.at.1 }
    }
}

/// The section of the summary for an array whose members wear out; none for other arrays. Instants and bytes written by
/// the host refer to a member's first refused write. The distance is from the first member to the second, also as a
/// share of the bytes written until the first.
pub(super) fn wear_out(members: &[MemberActivity<'_>], lost_pages: u64) -> Option<WearOut> {
    let wearing = || members.iter().filter(|member| member.drive.spec.ftl.wear.erase_budget.is_some());
    wearing().next()?;
    let end = |member: &MemberActivity<'_>| Some(End { member: member.called(), at: member.first_refusal? });
    let mut ends: Vec<End> = wearing().filter_map(end).collect();
    ends.sort_by_key(|end| end.at);
    let (first, second) = (ends.first(), ends.get(1));
    let expected = if ends.is_empty() { expected(wearing()) } else { None };
    let apart = first.zip(second).map(|(first, second)| {
        let (ns, bytes) = (second.at.0.since(first.at.0).0, second.at.1 - first.at.1);
        (ns as f64 / 1e9, bytes, bytes as f64 / first.at.1.max(1) as f64)
    });
    Some(WearOut {
        worn_out: ends.len(),
        first: first.map(End::figures),
        second: second.map(End::figures),
        apart_s: apart.map(|(seconds, _, _)| seconds),
        apart_bytes: apart.map(|(_, bytes, _)| bytes),
        apart_share: apart.map(|(_, _, share)| share),
        expected_apart_share: expected,
        lost_pages,
    })
}

figures! {
    /// How far apart the members of an array wear out.
    pub struct WearOut {
        /// Members that are worn out.
        worn_out: usize => unit("members").lower().row("members at the end of their lives"),
        /// The member that wore out first.
        first: Option<MemberEnd> => plain(),
        /// The member that wore out second.
        second: Option<MemberEnd> => plain(),
        /// Time from the first member's end to the second's.
        apart_s: Option<f64> => unit("s").higher(),
        /// Bytes that the host wrote in between.
        apart_bytes: Option<u64> => unit("bytes").higher(),
        /// The same as a share of what the host had written when the first member wore out.
        apart_share: Option<f64> => unit("share").higher().row_always("  the second after the first, of its life"),
        /// The share that follows if this workload continues.
        expected_apart_share: Option<f64> => unit("share").higher().row("  the same, as foreseen"),
        /// Pages lost in the run.
        lost_pages: u64 => unit("pages").lower(),
    }
}

figures! {
    /// When a member was worn out: it refused a write.
    pub struct MemberEnd {
        /// The member.
        member: String => plain(),
        /// When it refused its first write.
        s: f64 => unit("s").higher(),
        /// Bytes that the host had written to the array by then.
        bytes: u64 => unit("bytes").higher(),
    }
}

/// The same share if this workload continued until all blocks of a member reached the erase budget: (n₂ − n₁) / n₁,
/// where n is the length of that run in lengths of this one.
fn expected<'a>(members: impl Iterator<Item = &'a MemberActivity<'a>>) -> Option<f64> {
    let times = |member: &MemberActivity<'_>| {
        let budget = f64::from(member.drive.spec.ftl.wear.erase_budget?);
        let before: f64 = member.before.erases.iter().map(f64::from).sum();
        let worn: f64 = member.erases().iter().map(f64::from).sum();
        (worn > 0.0).then(|| (budget * member.now.erases.len() as f64 - before) / worn)
    };
    let mut times: Vec<f64> = members.map(|member| times(member).unwrap_or(f64::INFINITY)).collect();
    times.sort_by(f64::total_cmp);
    let (first, second) = (times.first()?, times.get(1)?);
    second.is_finite().then(|| (second - first) / first)
}
