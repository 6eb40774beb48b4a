//! Parts that are slow or stall for a while: `slow:WHAT@WHEN,factor=F,for=TIME` and `stall:WHAT@WHEN,for=TIME`.
//!
//! Source: H. S. Gunawi et al., "Fail-Slow at Scale: Evidence of Hardware Performance Faults in Large Production
//! Systems", FAST 2018.

use super::{What, part};
use crate::config::Resolved;
use crate::drive::{Concerned, Fault};
use crate::kernel::{Factor, Span};

/// How a part that does not fail is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailSlow {
    /// How much longer its operations take; none if it stalls.
    pub factor: Option<Factor>,
    /// How long that lasts.
    pub lasts: Span,
    /// Which of its operations.
    pub concerned: Concerned,
}

/// What happens to the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fails,
    IsSlow,
    Stalls,
}

/// What a user gave besides the part and the instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub transient: bool,
    pub replace_after: Option<Span>,
    pub factor: Option<Factor>,
    pub lasts: Option<Span>,
}

impl Kind {
    /// What happens, and to which part.
    pub(super) fn of(text: &str) -> (Kind, &str) {
        let (kind, part) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "slow" => (Kind::IsSlow, part),
            "stall" => (Kind::Stalls, part),
            _ => (Kind::Fails, text),
        }
    }

    /// The accepted words after WHEN.
    pub(super) fn accepted(self) -> &'static str {
        match self {
            Kind::Fails => "`transient` and `replace_after=TIME` are accepted after WHEN",
            Kind::IsSlow => "`factor=F` and `for=TIME` are accepted after WHEN",
            Kind::Stalls => "`for=TIME` is accepted after WHEN",
        }
    }

    /// Parses the part: without a name, or as `drive`, it is the whole drive or disk.
    pub(super) fn part(self, text: &str, drive: &Resolved) -> Result<(Vec<u32>, What), String> {
        if self == Kind::Fails {
            return part(text, drive);
        }
        let is_disk = drive.disk().is_some();
        match text {
            "" | "drive" if !drive.is_array() && !is_disk => return Ok((Vec::new(), What::Whole)),
            "" if is_disk && !drive.is_array() => return Ok((Vec::new(), What::Disk)),
            _ => {}
        }
        let (path, what) = part(text, drive)?;
        let alone = if drive.is_array() { "" } else { ", `drive`, `disk`" };
        match what {
            What::Flash(Fault::Planes { .. } | Fault::PoolPart { .. })
            | What::Member(_)
            | What::Whole
            | What::Disk => Ok((path, what)),
            _ => Err(format!(
                "`{text}` cannot be slow or stall; a channel, chip, die, plane or member{alone} is accepted"
            )),
        }
    }

    /// Checks that everything is given that this takes, and nothing else.
    pub(super) fn check(self, part: &str, given: &Given) -> Result<Option<FailSlow>, String> {
        let Given { transient, replace_after, factor, lasts } = *given;
        if self == Kind::Fails {
            return match (factor, lasts) {
                (None, None) => Ok(None),
                _ => Err("`factor` and `for` are for parts that are slow or stall, such as \
                          slow:chip:3.0@10s,factor=10,for=5s or stall:chip:3.0@10s,for=100ms"
                    .into()),
            };
        }
        let does = if self == Kind::IsSlow { "slowness" } else { "a stall" };
        if transient || replace_after.is_some() {
            return Err(format!("{does} ends by itself: `transient` and `replace_after` are not accepted"));
        }
        let lasts = lasts
            .filter(|lasts| *lasts > Span::ZERO)
            .ok_or_else(|| format!("{does} takes `for`, a time above 0, such as for=5s"))?;
        match (self, factor) {
            (Kind::IsSlow, None) => {
                Err("slowness takes `factor`, a number from 1 to 1000, such as factor=10".into())
            }
            (Kind::Stalls, Some(_)) => Err("a stall has no `factor`: nothing begins".into()),
            _ => Ok(Some(FailSlow { factor, lasts, concerned: concerned(part) })),
        }
    }
}

/// Which operations of a part are slow: on a channel transfers, of chips, dies and planes what their arrays do.
fn concerned(part: &str) -> Concerned {
    let last = part.rsplit('/').next().unwrap_or_default();
    match last.split(':').next() {
        Some("channel") => Concerned::Transfers,
        Some("chip" | "die" | "plane") => Concerned::Arrays,
        _ => Concerned::Both,
    }
}

/// A factor such as `10` or `2.5`.
pub(super) fn factor(text: &str) -> Result<Factor, String> {
    let wrong =
        || format!("found factor={text}; a number from 1 to 1000 with at most three decimals is accepted");
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 || whole.len() > 4 {
        return Err(wrong());
    }
    let number = |digits: &str| digits.parse::<u32>().map_err(|_| wrong());
    let thousandths = number(whole)? * 1_000 + number(&format!("{decimals:0<3}"))?;
    (1_000..=1_000_000).contains(&thousandths).then_some(Factor(thousandths)).ok_or_else(wrong)
}

/// A factor in a scenario file, which is a number or text.
pub(super) fn factor_in_file(value: &toml::Value) -> Result<Factor, String> {
    match value {
        toml::Value::String(text) => factor(text),
        other => factor(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::drive;
    use super::super::{When, from_option};
    use super::*;
    use crate::config::load_text;
    use crate::kernel::SimTime;

    #[test]
    fn slow_and_stalled_parts_are_read() {
        let drive = drive();
        let read = |text: &str| from_option(text, &drive).expect(text);
        let event = read("slow:chip:3.1@10s,factor=2.5,for=100ms");
        assert_eq!(event.what, read("chip:3.1@10s").what);
        assert_eq!(
            (event.text.as_str(), event.when),
            ("slow:chip:3.1@10s", When::At(SimTime(10_000_000_000)))
        );
        let slow =
            FailSlow { factor: Some(Factor(2_500)), lasts: Span(100_000_000), concerned: Concerned::Arrays };
        assert_eq!(event.fail_slow, Some(slow));
        let of = |text: &str| read(text).fail_slow.expect(text);
        assert_eq!(of("slow:channel:1@1s,for=1s,factor=1000").concerned, Concerned::Transfers);
        assert_eq!(of("slow:member:1@50%,for=1s,factor=1").concerned, Concerned::Both);
        assert_eq!(of("stall:die:0.0.1@5req,for=5ms").factor, None);
        for text in ["stall:drive@1s,for=1s", "stall:@1s,for=1s", "stall@1s,for=1s"] {
            assert_eq!(read(text).what, What::Whole, "{text}");
        }
        let disk = load_text("d.toml", "[disk]\ncapacity_gb = 0.02\n", &[]).expect("a disk");
        for text in ["slow:disk@1s,factor=3,for=1s", "slow@1s,factor=3,for=1s"] {
            assert_eq!(from_option(text, &disk).expect(text).what, What::Disk, "{text}");
        }
    }

    #[test]
    fn invalid_slow_and_stalled_parts_are_refused() {
        let drive = drive();
        let factor = "a number from 1 to 1000";
        for (text, part) in [
            ("slow:chip:0.0@1s,for=1s", factor),
            ("slow:chip:0.0@1s,factor=x,for=1s", factor),
            ("slow:chip:0.0@1s,factor=,for=1s", factor),
            ("slow:chip:0.0@1s,factor=0.999,for=1s", factor),
            ("slow:chip:0.0@1s,factor=-2,for=1s", factor),
            ("slow:chip:0.0@1s,factor=1000.001,for=1s", factor),
            ("slow:chip:0.0@1s,factor=1.0001,for=1s", factor),
            ("slow:chip:0.0@1s,factor=1e3,for=1s", factor),
            ("slow:chip:0.0@1s,factor=2", "slowness takes `for`"),
            ("slow:chip:0.0@1s,factor=2,for=0s", "a time above 0"),
            ("slow:chip:0.0@1s,factor=2,for=1", "a time such as 10s"),
            ("stall:chip:0.0@1s", "a stall takes `for`"),
            ("stall:chip:0.0@1s,factor=2,for=1s", "no `factor`"),
            ("slow:chip:0.0@1s,factor=2,for=1s,transient", "ends by itself"),
            ("stall:chip:0.0@1s,for=1s,replace_after=1s", "ends by itself"),
            ("slow:chip:0.0@1s,factor=2,for=1s,gently", "`factor=F` and `for=TIME` are accepted"),
            ("stall:chip:0.0@1s,for=1s,gently", "`for=TIME` is accepted"),
            ("slow:chip:9.0@1s,factor=2,for=1s", "this drive has channels 0 to 3"),
            ("slow:chop:9.0@1s,factor=2,for=1s", "channel:C"),
            ("slow:power@1s,factor=2,for=1s", "cannot be slow"),
            ("slow:block:0.0.0.0.7@1s,factor=2,for=1s", "cannot be slow"),
            ("stall:page:0.0.0.0.7.1@1s,for=1s", "cannot be slow"),
            ("slow:nvram@1s,factor=2,for=1s", "no such memory"),
            ("slow:chip:0.0@worn,factor=2,for=1s", "`worn` is for"),
            ("chip:0.0@1s,factor=2", "`factor` and `for` are for parts that are slow"),
            ("chip:0.0@1s,for=2s", "`factor` and `for` are for parts that are slow"),
        ] {
            let message = from_option(text, &drive).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
