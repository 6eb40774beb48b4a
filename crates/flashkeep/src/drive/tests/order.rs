//! Any order of writes, renames, trims and reads, against a list of what each page holds.

use crate::config::load_text;
use crate::drive::*;
use crate::engine::{BackendId, Backends, Cause, Command, CompletionToken, Flags, Page, Token, Verb};
use crate::flash::{Across, Geometry};
use proptest::prelude::*;

const PAGES: u32 = 40;

fn drive(run: &str, allocation: &str) -> Drive<Token> {
    let text = format!(
        "[flash]\nchannels = 2\nchips_per_channel = 1\nplanes_per_die = 1\nblocks_per_plane = 9\n\
         pages_per_block = 4\n[ftl]\nover_provisioning = 0.7\nallocation = \"{allocation}\"\n\
         gc = {{ threshold = 0.3, run = \"{run}\" }}\n"
    );
    let resolved = load_text("small", &text, &[]).expect("a drive that makes sense");
    let whole =
        Geometry::new(&resolved.spec.flash).part(Across::Channel, 1, 0).expect("one part is all of it");
    let kind =
        FlashBackendKind::Mapped { pages: PAGES, hidden: 0, notify_leaving: false, notify_moves: false };
    Drive::new(&resolved.drive_parameters(kind), &[whole])
}

/// The next action, and how far time advances before it.
#[derive(Clone, Copy, Debug)]
enum Act {
    Write(u32, u16),
    Remap(u32, u32),
    Trim(u32),
    Read(u32),
    Wait(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..PAGES - 3, 1u16..4).prop_map(|(page, count)| Act::Write(page, count)),
        2 => (0..PAGES, 0..PAGES).prop_map(|(from, to)| Act::Remap(from, to)),
        1 => (0..PAGES).prop_map(Act::Trim),
        3 => (0..PAGES).prop_map(Act::Read),
        3 => (1u8..60).prop_map(Act::Wait),
    ]
}

/// What each page holds, what reads are owed, and what they got.
struct Model {
    drive: Drive<Token>,
    holds: Vec<Token>,
    owed: Vec<Token>,
    got: Vec<Option<Token>>,
    now: SimTime,
    written: u64,
}

impl Model {
    fn submit(&mut self, command: Command, contents: &[Token]) {
        let slot = self.owed.len() as u32;
        self.drive.submit(
            self.now,
            BackendId(0),
            &command,
            CompletionToken { slot, ..CompletionToken::default() },
            contents,
        );
        self.take();
    }

    fn take(&mut self) {
        for done in self.drive.done().drain(..) {
            if let Some(place) = self.got.get_mut(done.token.slot as usize) {
                *place = Some(done.contents);
            }
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Write(page, count) => {
                let contents: Vec<Token> =
                    (0..u64::from(count)).map(|n| Token(self.written * 8 + n + 1)).collect();
                self.written += 1;
                self.holds[page as usize..page as usize + contents.len()].copy_from_slice(&contents);
                // Not a read: its place is beyond those of the reads.
                let command = Command::new(Verb::Write, Page::of(page), count).because(Cause::Host);
                let token = CompletionToken { slot: u32::MAX - 8, ..CompletionToken::default() };
                self.drive.submit(self.now, BackendId(0), &command, token, &contents);
                self.take();
            }
            Act::Remap(from, to) if from != to => {
                self.holds[to as usize] = std::mem::take(&mut self.holds[from as usize]);
                let command = Command { to: Page::of(to), ..Command::new(Verb::Remap, Page::of(from), 1) };
                self.submit_metadata(command);
            }
            Act::Trim(page) => {
                self.holds[page as usize] = Token::default();
                self.submit_metadata(Command::new(Verb::Trim, Page::of(page), 1));
            }
            Act::Read(page) => {
                let command = Command { flags: Flags::NONE, ..Command::new(Verb::Read, Page::of(page), 1) };
                self.got.push(None);
                let owed = self.holds[page as usize];
                self.submit(command, &[]);
                self.owed.push(owed);
            }
            Act::Wait(times_10_us) => self.go_on(self.now + Span(u64::from(times_10_us) * 10_000)),
            Act::Remap(..) => {}
        }
    }

    fn submit_metadata(&mut self, command: Command) {
        let token = CompletionToken { slot: u32::MAX - 8, ..CompletionToken::default() };
        self.drive.submit(self.now, BackendId(0), &command, token, &[]);
        self.take();
    }

    fn go_on(&mut self, until: SimTime) {
        while self.drive.step(until) {
            self.take();
        }
        self.now = until;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_read_brings_what_its_page_held(
        acts in prop::collection::vec(act(), 1..250),
        run in prop::sample::select(vec!["steps", "hold-channel"]),
        allocation in prop::sample::select(vec!["dynamic", "CWDP"]),
    ) {
        let holds = vec![Token::default(); PAGES as usize];
        let drive = drive(run, allocation);
        let (owed, got) = (Vec::new(), Vec::new());
        let mut model = Model { drive, holds, owed, got, now: SimTime::ZERO, written: 0 };
        for act in acts {
            model.act(act);
        }
        model.go_on(SimTime(u64::MAX - 1));
        prop_assert!(model.drive.is_quiet());
        let owed: Vec<_> = model.owed.iter().copied().map(Some).collect();
        prop_assert_eq!(&model.got, &owed);
        model.drive.audit();
        // At the end every page holds what it should, wherever renames and collections have put it.
        for page in 0..PAGES {
            let held = match model.drive.lookup(BackendId(0), Page::of(page)) {
                MapEntry::At(ppn) => model.drive.backends.ftl.blocks().contents(ppn),
                MapEntry::Unmapped => Token::default(),
                MapEntry::Pending(_) => unreachable!("nothing is under way"),
            };
            prop_assert_eq!(held, model.holds[page as usize], "page {}", page);
        }
    }
}
