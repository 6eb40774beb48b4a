//! The interfaces of a device: of one drive, or of drives, disks and memories side by side.
//!
//! [`BlockDevice`] is the timed path: commands go in, completions come out, time advances. Each other concern of a
//! simulation has a trait of its own.

use super::{
    BlockErases, Concerned, Counters, DeviceObserver, DriveLife, ErrorCounts, Fault, Recovery, RunEvent,
    Slowness,
};
use crate::engine::{BackendId, Backends, Contents, Page};
use crate::ftl::ageing::{Model, Wish};
use crate::kernel::{Bits, SimTime, Span};
use crate::snapshot::{Reader, Writer};

/// The timed path of a device: it takes commands and reports completions ([`Backends`]), and advances time.
pub trait BlockDevice<C: Contents>: Backends<C> {
    /// The instant of the next event, [`SimTime::NEVER`] if nothing is pending.
    fn next_event(&self) -> SimTime;
    /// Handles the next event if it is due by `until`; false if none is.
    fn step(&mut self, until: SimTime) -> bool;
    /// The instant of the last event.
    fn now(&self) -> SimTime;
    /// A request is admitted at `admitted` and served from `now` on, which may be earlier.
    fn admit(&mut self, admitted: SimTime, now: SimTime);
    /// Sets the time to 0; from now on commands complete at submission, or take time again.
    ///
    /// # Panics
    /// Where something is under way.
    fn set_untimed(&mut self, untimed: bool);
    /// Measures where the time of commands goes, from now on ([`Backends::breakdowns`]).
    fn break_down(&mut self);
    /// The time of a request that the controller's memory serves.
    fn memory_time(&self) -> Span;
    /// The last request is over: background work after it is not counted.
    fn end_idling(&mut self);
    /// The last request is over, and work that it left is under way: nothing more is scrubbed.
    fn end_scrubbing(&mut self);
}

/// Read access to counters and states, without side effects.
pub trait Inspect<C: Contents> {
    /// Operations counted so far, backend by backend.
    fn counters(&self) -> Counters;
    /// Clears the counters.
    fn reset_counters(&mut self);
    /// How long each channel has been in use, and each die, plane or disk busy.
    fn busy(&self) -> [Vec<Span>; 2];
    /// When all that is busy is free, as far as is known.
    fn at_rest(&self) -> SimTime;
    /// Erases of each block in this run.
    fn erases(&self) -> BlockErases;
    /// The others of each block, from before time 0.
    fn erases_before(&self) -> BlockErases;
    /// Time 0: erases so far are not this run's.
    fn begin_wear(&mut self);
    /// Erased blocks that are free, of all drives.
    fn free_blocks(&self) -> u64;
    /// Valid pages, and pages there are.
    fn filled(&self) -> (u64, u64);
    /// The worn-out blocks of all drives together.
    fn life(&self) -> &DriveLife;
    /// What error correction had to do in all drives; none if none has an error model.
    fn error_counts(&self) -> Option<ErrorCounts>;
    /// Clears these counts.
    fn reset_error_counts(&mut self);
    /// The pages of a backend that are not known to be as they were created by a rule with contents
    /// ([`Backends::create_by_rule`]); none if there is no such rule.
    fn changed_pages(&self, backend: BackendId) -> Option<Bits>;
    /// The contents of a backend's page; none if the page does not exist or cannot be read.
    fn contents_of(&self, backend: BackendId, page: Page) -> Option<C>;
    /// Collections that have ended in their turn, and out of it; none without turns.
    fn ended_in_turns(&self) -> Option<[u64; 2]>;
    /// Checks that map and reverse map are each other's inverse, also for the copies that writes in flight replace, that
    /// every block counts its valid pages, that every plane counts what it has free and every backend its erases, and that
    /// nothing lies on what has failed; not of a drive of 32 Mi pages and more.
    ///
    /// # Panics
    /// If the state contradicts itself, which is a mistake in the simulator.
    fn audit(&self);
}

/// Its state as a file.
pub trait Snapshot {
    /// Adds the state of the device, which is at rest and healthy; with what its pages hold, if that is anything.
    ///
    /// # Panics
    /// Where something is under way, or has failed.
    fn save(&self, snapshot: &mut Writer);
    /// Takes over a state.
    ///
    /// # Errors
    /// A message, if the state is not that of such a device.
    fn load(&mut self, snapshot: &mut Reader) -> Result<(), String>;
}

/// Failures and replacements.
pub trait InjectFaults {
    /// A part of a device fails at `now`: permanently, or (not `lasting`) only its contents become unreadable.
    fn fail(&mut self, now: SimTime, device: u16, what: Fault, lasting: bool);
    /// A new and empty part replaces one that has failed, at `now`: of flash, erased and never worn, so that a backend that
    /// was dead begins empty, and one that was damaged uses the new parts too.
    fn renew(&mut self, now: SimTime, device: u16, what: Fault);
    /// Parts will be slow or stall.
    fn expect_slow_parts(&mut self);
    /// What a device begins from now on is slow in these parts, and in no others.
    fn set_slow_parts(&mut self, device: u16, parts: &[Slowness]);
    /// A part of a device begins nothing new from `now` until `until`; operations under way end as planned.
    /// Units of flash stall as a whole, and where they work in rounds their channel stalls with them.
    fn stall(&mut self, now: SimTime, device: u16, what: Fault, concerned: Concerned, until: SimTime);
    /// Whether a backend has failed as a whole.
    fn is_dead(&self, backend: BackendId) -> bool;
    /// Whether every page that a backend holds can be read.
    fn is_sound(&self, backend: BackendId) -> bool;
    /// Whether no part of it has failed and no page became unreadable.
    fn is_healthy(&self) -> bool;
}

/// Power loss.
pub trait Recover {
    /// The power will fail during the run: from now on the device keeps what recovery needs.
    fn expect_power_cuts(&mut self);
    /// The power fails at `now` and returns immediately: everything in volatile memory is lost, and maps are restored from
    /// the media. The caller must not submit commands before [`Recovery::ready`].
    ///
    /// # Panics
    /// If no power cut was expected.
    fn cut_power(&mut self, now: SimTime) -> Recovery;
    /// Pages that a power loss took are restored: from `ready` on drives work by themselves again.
    fn resume(&mut self, ready: SimTime);
}

/// Ageing by construction, before time 0.
pub trait Age {
    /// The seed of the random streams.
    fn seed(&mut self, seed: u64);
    /// Ages the first `backends` backends of a device, each plane as the model says: pages created from now on fill the
    /// slots that it leaves, until [`Age::end_ageing`].
    ///
    /// # Panics
    /// With physical-page backends, or flash that has been used.
    fn begin_ageing(&mut self, device: u16, model: Model, wish: &Wish, seed: u64, backends: u16);
    /// Slots that wait for a page.
    fn slots(&self) -> u64;
    /// Whether a backend's page may go to one of the slots that are left, or to anywhere, if that backend is not being
    /// aged.
    fn has_slot(&self, backend: BackendId, page: Page) -> bool;
    /// From now on pages are created as usual. Slots that no page has filled become invalid pages.
    fn end_ageing(&mut self);
}

/// Logs of operations.
pub trait Observe {
    /// Tells a log what each drive does, besides other logs.
    fn log(&mut self, log: Box<dyn DeviceObserver>);
    /// Tells the logs what happens to the run.
    fn tell(&mut self, event: &RunEvent<'_>);
    /// The notes of the logs on a run that ended at `end`.
    fn log_notes(&self, end: SimTime) -> Vec<String>;
    /// Ends the logs of a run that ended at `end`.
    ///
    /// # Errors
    /// A message, if a log could not be written.
    fn close_log(&mut self, end: SimTime) -> Result<(), String>;
}
