//! A request's header and flags, checked against the export.

use crate::device::{Errno, Failure, Request};
use crate::export::Export;
use crate::limits::Counters;
use crate::messages::{Command, Header, flag};
use crate::negotiate::Session;

/// What the server does with a request, from its header alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The device gets it.
    Submit,
    /// It concerns no byte, so it succeeds at once.
    Succeed,
    /// It is answered with an error.
    Refuse(Failure),
}

/// Checks the header of a request. A write's data follow it in each case.
pub(crate) fn decide(header: &Header, export: &Export, session: Session) -> Decision {
    match check(header, export, session) {
        Err((errno, message)) => Decision::Refuse(Failure::new(errno, message)),
        Ok(()) if header.length == 0 && header.command != Command::Flush => Decision::Succeed,
        Ok(()) => Decision::Submit,
    }
}

fn check(header: &Header, export: &Export, session: Session) -> Result<(), (Errno, String)> {
    use Command::{BlockStatus, Cache, Disconnect, Flush, Read, Trim, Unknown, Write, WriteZeroes};

    let Header { command, offset, length, flags, .. } = *header;
    let invalid = |message: &str| Err((Errno::Invalid, message.to_owned()));
    // FUA is valid with every command, and has no effect on those that write nothing.
    let allowed = flag::FUA
        | match command {
            Read if session.structured => flag::DF,
            WriteZeroes if export.fast_zero => flag::NO_HOLE | flag::FAST_ZERO,
            WriteZeroes => flag::NO_HOLE,
            BlockStatus => flag::REQ_ONE,
            _ => 0,
        };
    match command {
        Unknown(number) => return Err((Errno::Invalid, format!("unknown command {number}"))),
        Write | Trim | WriteZeroes if export.read_only => {
            return Err((Errno::NotPermitted, "the export is read-only".to_owned()));
        }
        BlockStatus if !session.allocation => return invalid("no metadata context was negotiated"),
        BlockStatus if length == 0 => return invalid("block status of no bytes"),
        _ if flags & !allowed != 0 => {
            return Err((
                Errno::Invalid,
                format!("command flags {:#x} are not valid here", flags & !allowed),
            ));
        }
        Flush | Disconnect => return Ok(()),
        Read | Write | Trim | Cache | WriteZeroes | BlockStatus => {}
    }
    if offset.checked_add(length.into()).is_none_or(|end| end > export.size) {
        let errno = if matches!(command, Write | WriteZeroes) { Errno::NoSpace } else { Errno::Invalid };
        let size = export.size;
        return Err((
            errno,
            format!("{length} bytes at {offset} are beyond the end of the export at {size}"),
        ));
    }
    let blocks = export.blocks;
    if !(offset | u64::from(length)).is_multiple_of(blocks.minimum.into()) {
        let minimum = blocks.minimum;
        return Err((
            Errno::Invalid,
            format!("{length} bytes at {offset} are not aligned to {minimum} bytes"),
        ));
    }
    if matches!(command, Read | Write) && length > blocks.maximum {
        return Err((
            Errno::Invalid,
            format!("{length} bytes are more than the maximum of {}", blocks.maximum),
        ));
    }
    Ok(())
}

/// The request for the device, and its counts; `data` are those of a write.
///
/// # Panics
///
/// If [`decide`] did not say that the device gets it.
pub(crate) fn request(header: &Header, data: Vec<u8>, counters: &Counters) -> Request {
    let (offset, length, fua) = (header.offset, u64::from(header.length), header.has(flag::FUA));
    match header.command {
        Command::Read => {
            counters.reads.add(1);
            counters.read_bytes.add(length);
            Request::Read { offset, length, dont_fragment: header.has(flag::DF) }
        }
        Command::Write => {
            counters.writes.add(1);
            counters.written_bytes.add(length);
            Request::Write { offset, data, fua }
        }
        Command::Flush => {
            counters.flushes.add(1);
            Request::Flush
        }
        Command::Trim => {
            counters.trims.add(1);
            Request::Trim { offset, length, fua }
        }
        Command::WriteZeroes => {
            counters.write_zeroes.add(1);
            let (may_trim, fast) = (!header.has(flag::NO_HOLE), header.has(flag::FAST_ZERO));
            Request::WriteZeroes { offset, length, fua, may_trim, fast }
        }
        Command::Cache => {
            counters.caches.add(1);
            Request::Cache { offset, length }
        }
        Command::BlockStatus => {
            counters.block_statuses.add(1);
            Request::BlockStatus { offset, length, one: header.has(flag::REQ_ONE) }
        }
        Command::Disconnect | Command::Unknown(_) => unreachable!("the device gets no such command"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockSizes;

    const ALL: Session = Session { structured: true, allocation: true };

    fn errno(export: &Export, session: Session, command: u16, flags: u16, offset: u64, length: u32) -> u32 {
        let header = Header { flags, command: command.into(), cookie: 1, offset, length };
        match decide(&header, export, session) {
            Decision::Submit => 0,
            Decision::Succeed => 1000,
            Decision::Refuse(failure) => failure.errno as u32,
        }
    }

    #[test]
    fn range_outside_the_export_is_refused() {
        let export = Export::new("", 1 << 20);
        for (command, expected) in [(0, 22), (1, 28), (4, 22), (5, 22), (6, 28), (7, 22)] {
            assert_eq!(errno(&export, ALL, command, 0, (1 << 20) - 512, 512), 0);
            assert_eq!(errno(&export, ALL, command, 0, (1 << 20) - 511, 512), expected, "command {command}");
            assert_eq!(errno(&export, ALL, command, 0, u64::MAX - 5, 512), expected, "command {command}");
        }
    }

    #[test]
    fn empty_request_succeeds_without_the_device() {
        let export = Export::new("", 1 << 20);
        for command in [0, 1, 4, 5, 6] {
            assert_eq!(errno(&export, ALL, command, 0, 1 << 20, 0), 1000, "command {command}");
        }
        assert_eq!(errno(&export, ALL, 3, 0, 0, 0), 0);
        assert_eq!(errno(&export, ALL, 7, 0, 0, 0), 22);
    }

    #[test]
    fn flags_are_valid_with_their_commands_only() {
        let mut export = Export::new("", 1 << 20);
        let valid = |export: &Export, session| {
            let all = (0..8).flat_map(|command| (0..7).map(move |bit| (command, bit)));
            all.filter(|&(command, bit)| {
                command != 2 && errno(export, session, command, 1 << bit, 0, 512) == 0
            })
            .filter(|&(_, bit)| bit != 0)
            .collect::<Vec<_>>()
        };
        assert_eq!(valid(&export, ALL), [(0, 2), (6, 1), (7, 3)]);
        assert_eq!(valid(&export, Session::default()), [(6, 1)]);
        export.fast_zero = true;
        assert_eq!(valid(&export, Session::default()), [(6, 1), (6, 4)]);
    }

    #[test]
    fn block_sizes_and_read_only_are_enforced() {
        let mut export = Export::new("", 1 << 20);
        export.blocks = BlockSizes { minimum: 512, preferred: 4096, maximum: 8192 };
        assert_eq!(errno(&export, ALL, 0, 0, 256, 512), 22);
        assert_eq!(errno(&export, ALL, 0, 0, 512, 511), 22);
        assert_eq!(errno(&export, ALL, 1, 0, 512, 8704), 22);
        assert_eq!(errno(&export, ALL, 4, 0, 512, 8704), 0);
        assert_eq!(errno(&export, Session::default(), 7, 0, 0, 512), 22);
        assert_eq!(errno(&export, ALL, 77, 0, 0, 512), 22);
        export.read_only = true;
        for (command, expected) in [(0, 0), (1, 1), (3, 0), (4, 1), (5, 0), (6, 1), (7, 0)] {
            assert_eq!(errno(&export, ALL, command, 0, 0, 512), expected, "command {command}");
        }
    }
}
