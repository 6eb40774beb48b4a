//! The letters by which Linux names the kind of a block request (`blk_fill_rwbs`): `R`, `WS`, `FWFS`, `DS`, ….

use crate::Op;

/// The meaning of the letters.
pub(super) struct Kind {
    /// The op, if the request moves or trims data.
    pub(super) op: Option<Op>,
    /// A flush comes before it.
    pub(super) preflush: bool,
    pub(super) fua: bool,
}

impl Kind {
    #[inline]
    pub(super) fn of(letters: &[u8]) -> Kind {
        let at = letters.iter().position(|letter| matches!(letter, b'D' | b'R' | b'W' | b'N'));
        let op = match at.map(|at| letters[at]) {
            Some(b'D') => Some(Op::Trim),
            Some(b'R') => Some(Op::Read),
            Some(b'W') => Some(Op::Write),
            _ => None,
        };
        let fua = op == Some(Op::Write) && letters[at.unwrap_or(0)..].contains(&b'F');
        Kind { op, preflush: letters.first() == Some(&b'F'), fua }
    }

    /// The meaning of a word that consists of such letters and names a request.
    pub(super) fn of_word(word: &[u8]) -> Option<Kind> {
        let is_known = |letter: &u8| b"DRWNFASMBEUV".contains(letter);
        let kind = Kind::of(word);
        let names = kind.op.is_some() || kind.preflush;
        (names && word.len() <= 8 && word.iter().all(is_known)).then_some(kind)
    }

    /// The letters of a request.
    pub(super) fn letters(op: Op, fua: bool) -> &'static str {
        match (op, fua) {
            (Op::Read, _) => "R",
            (Op::Write, false) => "W",
            (Op::Write, true) => "WF",
            (Op::Trim, _) => "D",
            (Op::Flush, _) => "FN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_by_their_letters() {
        let of = |word: &str| Kind::of_word(word.as_bytes()).map(|kind| (kind.op, kind.preflush, kind.fua));
        assert_eq!(of("WS"), Some((Some(Op::Write), false, false)));
        assert_eq!(of("RAM"), Some((Some(Op::Read), false, false)));
        assert_eq!(of("FWFS"), Some((Some(Op::Write), true, true)));
        assert_eq!(of("DS"), Some((Some(Op::Trim), false, false)));
        assert_eq!(of("FF"), Some((None, true, false)));
        for word in ["N", "X", "w", "Read", "0", ""] {
            assert!(of(word).is_none(), "{word}");
        }
    }
}
