//! Schemes that are not part of this crate: what the program around it gives, and the errors that end a run.

use crate::schemes::parity::PlacedStripe;
use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, OnceLock};

/// An error in a file, or in one of its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignError {
    /// One line: the method with its arguments, the value found and the accepted ones.
    pub message: String,
    /// The line of the file, where that is known.
    pub line: Option<u32>,
}

impl ForeignError {
    /// Without a line.
    pub fn new(message: impl Into<String>) -> Self {
        ForeignError { message: message.into(), line: None }
    }
}

/// A member and its page, not checked yet.
pub type ForeignPlace = (i64, i64);

/// Pages that protect each other: the data units in the order of their pages, the XOR parity, and the second parity of
/// Reed and Solomon if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignCodeword {
    /// The data units.
    pub data: Vec<ForeignPlace>,
    /// The parities: XOR, then Reed-Solomon.
    pub parities: Vec<ForeignPlace>,
}

/// A step of a plan: `count` consecutive pages of a member are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignStep {
    /// Written; otherwise read.
    pub writes: bool,
    /// The member and its first page.
    pub place: ForeignPlace,
    /// The number of pages.
    pub count: i64,
}

/// A command to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignCommand {
    /// `read`, `write` or `trim`.
    pub verb: &'static str,
    /// The scheme's pages, ascending; of a trim under parity only those that have contents.
    pub pages: Vec<u32>,
    /// A read of the old part of a page that is written in part.
    pub update: bool,
    /// A write whose old contents have just been read: plans read them without time.
    pub old_in_hand: bool,
}

impl Display for ForeignCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.pages[..] {
            [page] => write!(f, "{} of page {page}", self.verb),
            [first, .., last] => write!(f, "{} of pages {first} to {last}", self.verb),
            [] => f.write_str(self.verb),
        }
    }
}

/// What a plan may look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignView {
    /// Of each member, whether it responds.
    pub alive: Vec<bool>,
    /// The places of the command's pages and of their codeword: member, page, whether the current contents are there,
    /// and the time until a read could start, ns.
    pub places: Vec<(u8, u32, bool, u64)>,
    /// The pages of the command and of their codeword, and whether they have contents; others are known zeros.
    pub written: Vec<(u32, bool)>,
}

/// An object of the class in a file, over some members. Its errors name the call, and where it failed.
pub trait ForeignScheme: Send + Sync {
    /// The pages that it offers.
    ///
    /// # Errors
    /// If there is no such number.
    fn capacity(&self) -> Result<i64, ForeignError>;

    /// Whether each read affects where the next page is read.
    ///
    /// # Errors
    /// If that cannot be had.
    fn follows_load(&self) -> Result<bool, ForeignError>;

    /// The places of the copies of a page.
    ///
    /// # Errors
    /// If the method fails or returns something else.
    fn places(&self, page: u32) -> Result<Vec<ForeignPlace>, ForeignError>;

    /// The codeword of a page; none if copies protect it.
    ///
    /// # Errors
    /// If the method fails or returns something else.
    fn codeword(&self, page: u32) -> Result<Option<ForeignCodeword>, ForeignError>;

    /// The stages of a command.
    ///
    /// # Errors
    /// If the method fails or returns something else.
    fn plan(
        &self,
        command: &ForeignCommand,
        view: ForeignView,
    ) -> Result<Vec<Vec<ForeignStep>>, ForeignError>;

    /// An independent object with the same state.
    ///
    /// # Errors
    /// If the object cannot be copied.
    fn copy(&self) -> Result<Box<dyn ForeignScheme>, ForeignError>;
}

/// Loads the class of a file.
pub type LoadScheme =
    fn(path: &str, members: u8, pages: u64, unit: u32) -> Result<Box<dyn ForeignScheme>, ForeignError>;

/// How files are loaded.
#[derive(Clone, Copy)]
pub struct ForeignLoader {
    /// The object of the class in a file, over `members` members of `pages` pages each, where parity stays with a
    /// member for
    /// `unit` consecutive stripes.
    pub load: LoadScheme,
    /// Ends the run with an error in a file, by a panic whose payload says why to the caller of the run.
    pub fail: fn(path: &str, error: ForeignError) -> !,
}

static LOADER: OnceLock<ForeignLoader> = OnceLock::new();

/// Says how files are loaded: the program around this crate knows the language. The first call counts.
pub fn load_schemes_with(loader: ForeignLoader) {
    let _ = LOADER.set(loader);
}

/// Ends the run.
pub(super) fn fail(path: &str, error: ForeignError) -> ! {
    match LOADER.get() {
        Some(loader) => (loader.fail)(path, error),
        None => panic!("{path}: {}", error.message),
    }
}

/// An object, and where it came from.
pub(super) struct LoadedFile {
    path: Arc<str>,
    pub(super) members: u8,
    pub(super) pages: u64,
    unit: u32,
    pub(super) scheme: Box<dyn ForeignScheme>,
    /// Its places, by page or by stripe, once they have been asked for. Copies share them.
    pub(super) known: Arc<[OnceLock<PlacedStripe>]>,
}

impl LoadedFile {
    pub(super) fn load(path: &str, members: u8, pages: u64, unit: u32) -> Result<Self, ForeignError> {
        let Some(loader) = LOADER.get() else {
            let message = "this program cannot run Python files; the flashkeep of the Python package can";
            return Err(ForeignError::new(format!("{path:?}: {message}")));
        };
        let scheme = (loader.load)(path, members, pages, unit)
            .map_err(|error| ForeignError { message: in_words(path, &error), line: error.line })?;
        Ok(LoadedFile { path: path.into(), members, pages, unit, scheme, known: Arc::new([]) })
    }

    /// The same, which keeps the places of this number of pages or stripes.
    pub(super) fn keeping(self, places: usize) -> Self {
        LoadedFile { known: vec![OnceLock::new(); places].into(), ..self }
    }

    /// An object that has not been asked anything yet.
    pub(super) fn anew(&self) -> Result<Self, ForeignError> {
        let anew = LoadedFile::load(&self.path, self.members, self.pages, self.unit)?;
        Ok(LoadedFile { known: self.known.clone(), ..anew })
    }

    pub(super) fn fail(&self, error: ForeignError) -> ! {
        fail(&self.path, error)
    }

    /// An error with the file and its line.
    pub(super) fn in_words(&self, error: &ForeignError) -> String {
        in_words(&self.path, error)
    }
}

fn in_words(path: &str, error: &ForeignError) -> String {
    let line = error.line.map_or(String::new(), |line| format!("line {line}: "));
    format!("{path:?}: {line}{}", error.message)
}

impl Clone for LoadedFile {
    fn clone(&self) -> Self {
        let scheme = self.scheme.copy().unwrap_or_else(|error| self.fail(error));
        LoadedFile { path: self.path.clone(), known: self.known.clone(), scheme, ..*self }
    }
}

impl fmt::Debug for LoadedFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}
