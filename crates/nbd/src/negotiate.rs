//! The options of a connection: from the greeting to the choice of the export.

use std::io::{self, BufReader, Read, Write};

use crate::export::Export;
use crate::messages::{
    ALLOCATION, ALLOCATION_ID, Fields, GREETING_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC, answer, handshake,
    info, option, read_header, skip,
};

/// The longest option that is read. Names have at most 4,096 bytes, but queries for contexts may be many.
const MAX_OPTION: u32 = 64 << 10;

/// The outcome of a negotiation, as far as requests depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Session {
    /// The client understands structured replies.
    pub(crate) structured: bool,
    /// The client may ask for block status.
    pub(crate) allocation: bool,
}

/// Why a conversation with a client ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The client said so, or closed its side between two messages.
    Clean,
    /// The connection broke, or the server is stopping.
    Broken,
    /// The client's message is no NBD, too long or truncated.
    Malformed,
    /// The negotiation took too long.
    TimedOut,
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Malformed,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Broken,
        }
    }
}

/// Greets the client and answers its options until it chooses the export.
pub(crate) fn negotiate<S: Read + Write>(
    client: &mut BufReader<S>,
    export: &Export,
    payload_bytes: u32,
) -> Result<Session, End> {
    let mut greeting = Vec::new();
    greeting.extend(GREETING_MAGIC.to_be_bytes());
    greeting.extend(OPTION_MAGIC.to_be_bytes());
    greeting.extend((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
    client.get_mut().write_all(&greeting)?;
    let flags = u32::from_be_bytes(read_header(client)?.ok_or(End::Clean)?);
    if flags & !u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES) != 0 {
        return Err(End::Malformed);
    }
    let mut options = Options {
        export,
        zeroes: flags & u32::from(handshake::NO_ZEROES) == 0,
        structured: false,
        allocation: None,
        option: 0,
        replies: Vec::new(),
    };
    loop {
        let header = read_header::<16>(client)?.ok_or(End::Clean)?;
        let mut fields = Fields(&header);
        let magic = fields.u64().ok_or(End::Malformed)?;
        options.option = fields.u32().ok_or(End::Malformed)?;
        let length = fields.u32().ok_or(End::Malformed)?;
        if magic != OPTION_MAGIC || length > payload_bytes.max(MAX_OPTION) {
            return Err(End::Malformed);
        }
        let step = if length > MAX_OPTION {
            skip(client, length)?;
            options.refuse_length()
        } else {
            let mut data = vec![0; length as usize];
            client.read_exact(&mut data)?;
            options.answer(&data)
        };
        client.get_mut().write_all(&options.replies)?;
        options.replies.clear();
        match step {
            Step::Continue => {}
            Step::Serve(session) => return Ok(session),
            Step::End(end) => return Err(end),
        }
    }
}

/// The next thing to do after an option.
enum Step {
    Continue,
    Serve(Session),
    End(End),
}

/// The options so far.
struct Options<'a> {
    export: &'a Export,
    /// The client wants the padding after `EXPORT_NAME`.
    zeroes: bool,
    structured: bool,
    /// The name of the export for which the client chose `base:allocation`.
    allocation: Option<Vec<u8>>,
    /// The option that is being answered.
    option: u32,
    /// Replies that are not sent yet.
    replies: Vec<u8>,
}

impl Options<'_> {
    fn answer(&mut self, data: &[u8]) -> Step {
        match self.option {
            option::EXPORT_NAME => return self.export_name(data),
            option::ABORT => {
                self.reply(answer::ACK, &[]);
                return Step::End(End::Clean);
            }
            option::LIST => self.list(data),
            option::INFO | option::GO => return self.info(data),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                self.reply(answer::ACK, &[]);
            }
            option::STRUCTURED_REPLY => self.reply(answer::ERR_INVALID, b"STRUCTURED_REPLY has no data"),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(data),
            option::STARTTLS => self.reply(answer::ERR_UNSUP, b"this server has no TLS"),
            option::EXTENDED_HEADERS => self.reply(answer::ERR_UNSUP, b"this server has no extended headers"),
            _ => self.reply(answer::ERR_UNSUP, b"this server does not know the option"),
        }
        Step::Continue
    }

    fn refuse_length(&mut self) -> Step {
        if self.option == option::EXPORT_NAME {
            return Step::End(End::Malformed);
        }
        self.reply(answer::ERR_TOO_BIG, format!("an option has at most {MAX_OPTION} bytes").as_bytes());
        Step::Continue
    }

    /// The one option that allows no error: an unknown name ends the connection.
    fn export_name(&mut self, name: &[u8]) -> Step {
        if !self.export.answers_to(name) {
            return Step::End(End::Clean);
        }
        self.replies.extend(self.export.size.to_be_bytes());
        self.replies.extend(self.export.transmission_flags(self.structured).to_be_bytes());
        self.replies.extend([0; 124].iter().take(if self.zeroes { 124 } else { 0 }));
        Step::Serve(self.session(name))
    }

    fn session(&self, name: &[u8]) -> Session {
        Session { structured: self.structured, allocation: self.allocation.as_deref() == Some(name) }
    }

    fn list(&mut self, data: &[u8]) {
        if !data.is_empty() {
            return self.reply(answer::ERR_INVALID, b"LIST has no data");
        }
        let mut server = string(self.export.name.as_bytes());
        server.extend(self.export.description.as_bytes());
        self.reply(answer::SERVER, &server);
        self.reply(answer::ACK, &[]);
    }

    /// `INFO` and `GO`. All information is sent, asked for or not, so that no client misses the block sizes.
    fn info(&mut self, data: &[u8]) -> Step {
        let Some((name, wanted)) = info_request(data) else {
            self.reply(answer::ERR_INVALID, b"the data of INFO or GO are malformed");
            return Step::Continue;
        };
        if !self.export.answers_to(name) {
            self.reply(answer::ERR_UNKNOWN, b"there is no export of this name");
            return Step::Continue;
        }
        let export = self.export;
        self.information(
            info::EXPORT,
            &[&export.size.to_be_bytes(), &export.transmission_flags(self.structured).to_be_bytes()],
        );
        let blocks = export.blocks;
        self.information(
            info::BLOCK_SIZE,
            &[&blocks.minimum.to_be_bytes(), &blocks.preferred.to_be_bytes(), &blocks.maximum.to_be_bytes()],
        );
        if wanted.contains(&info::NAME) {
            self.information(info::NAME, &[export.name.as_bytes()]);
        }
        if wanted.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            self.information(info::DESCRIPTION, &[export.description.as_bytes()]);
        }
        self.reply(answer::ACK, &[]);
        if self.option == option::GO { Step::Serve(self.session(name)) } else { Step::Continue }
    }

    fn information(&mut self, kind: u16, fields: &[&[u8]]) {
        let data = [&kind.to_be_bytes()[..], &fields.concat()].concat();
        self.reply(answer::INFO, &data);
    }

    fn contexts(&mut self, data: &[u8]) {
        let set = self.option == option::SET_META_CONTEXT;
        if set {
            self.allocation = None;
        }
        let Some((name, queries)) = context_request(data) else {
            return self.reply(answer::ERR_INVALID, b"the data of LIST_ or SET_META_CONTEXT are malformed");
        };
        if !self.structured {
            return self.reply(answer::ERR_INVALID, b"STRUCTURED_REPLY must come before metadata contexts");
        }
        if !self.export.answers_to(name) {
            return self.reply(answer::ERR_UNKNOWN, b"there is no export of this name");
        }
        let all = !set && (queries.is_empty() || queries.contains(&&b"base:"[..]));
        if all || queries.contains(&ALLOCATION) {
            let id = if set { ALLOCATION_ID } else { 0 };
            self.reply(answer::META_CONTEXT, &[&id.to_be_bytes(), ALLOCATION].concat());
            if set {
                self.allocation = Some(name.to_vec());
            }
        }
        self.reply(answer::ACK, &[]);
    }

    fn reply(&mut self, kind: u32, data: &[u8]) {
        let length = u32::try_from(data.len()).expect("replies to options are short");
        self.replies.extend(OPTION_REPLY_MAGIC.to_be_bytes());
        self.replies.extend(self.option.to_be_bytes());
        self.replies.extend(kind.to_be_bytes());
        self.replies.extend(length.to_be_bytes());
        self.replies.extend(data);
    }
}

/// The name and the types of information that `INFO` or `GO` asks for.
fn info_request(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u16()?;
    let wanted = (0..count).map(|_| fields.u16()).collect::<Option<_>>()?;
    fields.0.is_empty().then_some((name, wanted))
}

/// The name and the queries of `LIST_META_CONTEXT` or `SET_META_CONTEXT`.
fn context_request(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = Fields(data);
    let name = fields.string()?;
    let count = fields.u32()?;
    let queries = (0..count).map(|_| fields.string()).collect::<Option<_>>()?;
    fields.0.is_empty().then_some((name, queries))
}

fn string(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("names are short");
    [&length.to_be_bytes(), text].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_request_must_have_exactly_its_length() {
        let data = [&string(b"drive")[..], &[0, 2, 0, 1, 0, 3]].concat();
        assert_eq!(info_request(&data), Some((&b"drive"[..], vec![1, 3])));
        for end in 0..data.len() {
            assert_eq!(info_request(&data[..end]), None, "{end} bytes");
        }
        assert_eq!(info_request(&[&data[..], &[0]].concat()), None);
    }

    #[test]
    fn context_request_must_have_exactly_its_length() {
        let data = [&string(b"")[..], &[0, 0, 0, 2], &string(b"base:"), &string(ALLOCATION)].concat();
        assert_eq!(context_request(&data), Some((&b""[..], vec![&b"base:"[..], ALLOCATION])));
        for end in 0..data.len() {
            assert_eq!(context_request(&data[..end]), None, "{end} bytes");
        }
        assert_eq!(context_request(&[0, 0, 0, 0, 255, 255, 255, 255]), None);
    }
}
