//! The number of members that a scheme makes of the available parts.

use super::{MemberFacts, MemberTerms, OldVersions, RedundancySpec, Terms};

/// The members of a mirror: every group takes the same number of parts.
pub(super) fn groups(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String> {
    let width = width.unwrap_or(2);
    if parts.is_multiple_of(u64::from(width)) {
        return Ok(width);
    }
    let mirror = match width {
        2 => format!("a mirror over an odd number of {level}s ({parts})"),
        _ => format!("a mirror of {width} copies over {parts} {level}s"),
    };
    Err(format!("{mirror}: every copy takes the same number of {level}s, so {width} must divide {parts}"))
}

/// The members of stripes with one parity; by default all parts.
pub(super) fn one_parity(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String> {
    row(
        parts,
        width,
        level,
        MemberNeeds { name: "stripe", least: 3, why: "for two data units and their parity" },
    )
}

/// The members of stripes with two parities; by default all parts.
pub(super) fn two_parities(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String> {
    row(
        parts,
        width,
        level,
        MemberNeeds { name: "stripe", least: 4, why: "for two data units and their two parities" },
    )
}

/// The members of stripes with three parities; by default all parts.
pub(super) fn three_parities(parts: u64, width: Option<u32>, level: &str) -> Result<u32, String> {
    row(
        parts,
        width,
        level,
        MemberNeeds { name: "stripe", least: 5, why: "for two data units and their three parities" },
    )
}

/// The name of a scheme's members together (for messages), and how many it needs.
#[derive(Clone, Copy)]
pub(super) struct MemberNeeds {
    pub(super) name: &'static str,
    pub(super) least: u64,
    /// Why it needs them.
    pub(super) why: &'static str,
}

/// Any number of equal members; by default all parts.
pub(super) fn row(parts: u64, width: Option<u32>, level: &str, row: MemberNeeds) -> Result<u32, String> {
    const MOST: u64 = 255;
    let MemberNeeds { name, least, why } = row;
    let members = width.map_or(parts, u64::from);
    if members < least {
        let found = match width {
            Some(width) => format!("a {name} of {width} {level}s"),
            None => format!("a {name} over {parts} {level}s"),
        };
        return Err(format!("{found}: it needs {least}, {why}"));
    }
    if members > MOST {
        return Err(format!(
            "a {name} over {members} {level}s: at most {MOST} are accepted; with a width that divides \
             {parts} each member has several {level}s"
        ));
    }
    if !parts.is_multiple_of(members) {
        return Err(format!(
            "a {name} of {members} members over {parts} {level}s: every member takes the same number of {level}s, \
             so {members} must divide {parts}"
        ));
    }
    Ok(members as u32)
}

// ---------------------------------------------------------------- in an array

/// Pages of the smallest member.
pub(super) fn common_pages(members: &[MemberFacts]) -> u64 {
    members.iter().map(|member| member.pages).min().unwrap_or(0)
}

/// Every page once.
pub(super) fn striped(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    Ok(common_pages(members) * members.len() as u64)
}

/// Every page once on each member.
pub(super) fn mirrored(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    if members.len() < 2 {
        return Err("a mirror of one member: it needs two".into());
    }
    Ok(common_pages(members))
}

/// Stripes with one parity.
pub(super) fn over_one_parity(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    one_parity(members.len() as u64, None, "member")?;
    Ok(common_pages(members) * (members.len() as u64 - 1))
}

/// Stripes with two parities.
pub(super) fn over_two_parities(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    two_parities(members.len() as u64, None, "member")?;
    Ok(common_pages(members) * (members.len() as u64 - 2))
}

/// Stripes with three parities.
pub(super) fn over_three_parities(members: &[MemberFacts], _: &RedundancySpec) -> Result<u64, String> {
    three_parities(members.len() as u64, None, "member")?;
    Ok(common_pages(members) * (members.len() as u64 - 3))
}

/// Stripes with one parity, beside old versions.
pub(super) fn with_old_versions(members: &[MemberFacts], redundancy: &RedundancySpec) -> Result<u64, String> {
    one_parity(members.len() as u64, None, "member")?;
    Ok(stripes_beside_old(common_pages(members), redundancy) * (members.len() as u64 - 1))
}

/// The pages of a member, of this number, that are not for old versions.
pub(super) fn stripes_beside_old(pages: u64, redundancy: &RedundancySpec) -> u64 {
    let share = redundancy.read::<OldVersions>().shadow;
    let kept = (pages as f64 / (1.0 + share)) as u64;
    kept.min(pages.saturating_sub(1))
}

// ---------------------------------------------------------------- costs and lives

/// Independent members, all alike.
pub(super) fn as_its_members(members: &[MemberTerms]) -> Option<Terms> {
    let terms = members.first()?.terms?;
    members.iter().all(|member| member.terms == Some(terms)).then_some(terms)
}

/// Mirrors: the sum of all members.
pub(super) fn sum_of_members(members: &[MemberTerms]) -> Option<Terms> {
    let terms: Vec<Terms> = members.iter().map(|member| member.terms).collect::<Option<_>>()?;
    let sum = |of: fn(&Terms) -> f64| terms.iter().map(of).sum();
    Some(Terms { ssd: sum(|one| one.ssd), disk: sum(|one| one.disk), life: 1.0 })
}

/// Stripes over single drives: each write also writes this many parities.
pub(super) fn terms_with_parities(members: &[MemberTerms], parities: usize) -> Option<Terms> {
    let (n, parities) = ((members.len() - parities) as f64, parities as f64);
    let (ssd, writes) = ((n + parities) / n, 1.0 + parities);
    members.iter().all(|member| member.drive).then_some(Terms { ssd, disk: 0.0, life: ssd / writes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_equal_parts() {
        assert_eq!(groups(8, None, "channel"), Ok(2));
        assert_eq!((one_parity(8, None, "channel"), one_parity(8, Some(4), "channel")), (Ok(8), Ok(4)));
        assert_eq!((two_parities(4, None, "chip"), one_parity(255, None, "die")), (Ok(4), Ok(255)));
        let message = |result: Result<u32, String>| result.expect_err("a refusal");
        assert_eq!(
            message(one_parity(2, None, "channel")),
            "a stripe over 2 channels: it needs 3, for two data units and their parity"
        );
        assert_eq!(
            message(two_parities(8, Some(3), "chip")),
            "a stripe of 3 chips: it needs 4, for two data units and their two parities"
        );
        assert!(message(one_parity(512, None, "die")).contains("at most 255 are accepted"));
        assert!(message(one_parity(8, Some(3), "chip")).contains("3 must divide 8"));
    }
}
