//! The pages of schemes that keep copies: those that must be looked at after a failure or a power cut.

use crate::engine::{Command, Verb};
use crate::kernel::Bits;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which pages have been written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CopiedPages {
    /// Pages that are no known zeros; none after a power cut.
    used: Option<Bits>,
    /// Pages that were ever written.
    ever_used: Bits,
}

impl Default for CopiedPages {
    fn default() -> Self {
        CopiedPages { used: Some(Bits::default()), ever_used: Bits::default() }
    }
}

impl CopiedPages {
    pub(super) fn used(&self) -> Option<&Bits> {
        self.used.as_ref()
    }

    pub(super) fn ever_used(&self) -> &Bits {
        &self.ever_used
    }

    #[inline]
    pub(super) fn prefetch(&self, page: u64) {
        if let Some(used) = &self.used {
            used.prefetch(page);
        }
        self.ever_used.prefetch(page);
    }

    /// Pages have been created.
    pub(super) fn create(&mut self, pages: Range<u64>) {
        self.ever_used.set_run(pages.clone(), true);
        if let Some(used) = &mut self.used {
            used.set_run(pages, true);
        }
    }

    /// A command that is no read has been planned.
    pub(super) fn note(&mut self, command: &Command) {
        let pages = command.start.0..command.end();
        if command.verb == Verb::Write {
            self.ever_used.set_run(pages.clone(), true);
        }
        if let Some(used) = self.used.as_mut().filter(|_| !command.changes_nothing()) {
            used.set_run(pages, command.verb == Verb::Write);
        }
    }

    /// The power fails: volatile memory is lost.
    pub(super) fn cut_power(&mut self) {
        self.used = None;
    }
}
