//! What a simulation asks of whatever stands below its tree: the flash of one drive, or a shelf of drives and disks.

use crate::disk::Statistics;
use crate::drive::{Alone, Counters, Drive, Fault, HostRequest, Life, Logs, Recovery, Work};
use crate::engine::{Contents, LeafId, Leaves, Page};
use crate::ftl::ageing::{Model, Wish};
use crate::image::{Reader, Writer};
use crate::kernel::{SimTime, Span};
use crate::media::Geometry;

/// What one device of several has done.
#[derive(Clone, Debug, Default)]
pub struct Deeds {
    /// Pages and blocks, by kind and cause.
    pub counters: Counters,
    /// How long each channel has been in use, and each unit busy.
    pub busy: [Vec<Span>; 2],
    /// Erases of each block.
    pub erases: Vec<u32>,
    /// Blocks that have had all their erases.
    pub expired: u32,
    /// Of a disk: what it did with its time.
    pub disk: Option<Statistics>,
}

/// Leaves that take time.
pub trait Hardware<C: Contents>: Leaves<C> {
    /// The instant of the next event, [`SimTime::NEVER`] where nothing is pending.
    fn next_event(&self) -> SimTime;
    /// Does what is due next, if it is due by `until`; false where nothing is.
    fn step(&mut self, until: SimTime) -> bool;
    /// Whether something has been done that nobody has taken in.
    fn has_done(&self) -> bool;
    /// The instant of what was done last.
    fn now(&self) -> SimTime;
    /// A request is admitted at `admitted` and served from `now` on, which may be earlier.
    fn admit(&mut self, admitted: SimTime, now: SimTime);
    /// Asks the processor for what is known of a leaf's page that will soon be wanted.
    fn prefetch(&self, leaf: LeafId, page: Page);
    /// Whether commands take no time from now on.
    fn set_untimed(&mut self, untimed: bool);
    /// The seed of what is drawn.
    fn seed(&mut self, seed: u64);
    /// Ages the first `leaves` of a device's leaves by construction, each plane as a model says: pages created from now
    /// on fill the slots that it leaves, until [`Hardware::end_ageing`].
    fn begin_ageing(&mut self, device: u16, model: Model, wish: &Wish, seed: u64, leaves: u16);
    /// Slots that wait for a page.
    fn slots(&self) -> u64;
    /// Whether a leaf's page may go to one of the slots that are left, or to anywhere, as that leaf is not being aged.
    fn has_slot(&self, leaf: LeafId, page: Page) -> bool;
    /// All slots are filled.
    fn end_ageing(&mut self);
    /// Adds the state of all that is at rest and whole.
    fn save(&self, image: &mut Writer);
    /// Takes over a state.
    ///
    /// # Errors
    /// In words: it is not one of such hardware.
    fn load(&mut self, image: &mut Reader) -> Result<(), String>;
    /// It is going to lose its power: from now on it keeps what it needs for that.
    fn expect_power_cuts(&mut self);
    /// Whether it does.
    fn expects_power_cuts(&self) -> bool;
    /// The power fails at `now` and comes back at once ([`Drive::cut_power`]).
    fn cut_power(&mut self, now: SimTime) -> Recovery;
    /// What a leaf's page holds; none where nothing is there, or nothing that can be read.
    fn contents_of(&self, leaf: LeafId, page: Page) -> Option<C>;
    /// Forgets what has been counted.
    fn reset_counters(&mut self);
    /// The last request is over: what idle moments after it would be used for is not of this run.
    fn end_idling(&mut self);
    /// What a request takes that the controller's memory serves alone.
    fn memory_time(&self) -> Span;
    /// Something of a drive or disk fails at `now`: for good, or (not `lasting`) what it held cannot be read any more.
    fn fail(&mut self, now: SimTime, device: u16, what: Fault, lasting: bool);
    /// New and empty flash stands where that has failed.
    fn renew(&mut self, now: SimTime, device: u16, what: Fault);
    /// The geometry of a drive's flash.
    fn geometry(&self, device: u16) -> Option<&Geometry>;
    /// Whether a leaf answers nothing any more.
    fn is_dead(&self, leaf: LeafId) -> bool;
    /// Whether nothing of it has failed or been spoilt.
    fn is_sound(&self) -> bool;
    /// What has become of blocks that wear out, of all drives.
    fn life(&self) -> &Life;
    /// The same of one device of a shelf, if it is a drive.
    fn life_of(&self, _device: u16) -> Option<&Life> {
        None
    }
    /// What has been counted, leaf by leaf.
    fn counters(&self) -> Counters;
    /// How long arrays and pins worked, where the drive says what they draw.
    fn work(&self) -> Option<Work>;
    /// How long each channel has been in use, and each unit, or disk, busy.
    fn busy(&self) -> [Vec<Span>; 2];
    /// When all that is busy is free, as far as is known.
    fn at_rest(&self) -> SimTime;
    /// Erases of each block.
    fn erases(&self) -> Vec<u32>;
    /// Valid pages, and pages there are.
    fn filled(&self) -> (u64, u64);
    /// What each device of a shelf has done by then; nothing of a drive alone.
    fn devices(&self, _until: SimTime) -> Vec<Deeds> {
        Vec::new()
    }
    /// Re-derives what is counted from the raw state.
    fn audit(&self);
    /// The flash of a device, where that is a drive.
    fn drive(&self, device: u16) -> Option<&Drive<C>>;
    /// Tells a log what each drive does, besides other logs.
    fn log(&mut self, log: Box<dyn Logs>);
    /// Passes a request of the host on to the logs.
    fn tell_request(&mut self, request: &HostRequest);
    /// What the logs have to say of a run that ended at `end`.
    fn log_notes(&self, end: SimTime) -> Vec<String>;
    /// Ends the logs.
    ///
    /// # Errors
    /// What could not be written of them.
    fn close_log(&mut self) -> Result<(), String>;
    /// The flash, where that is all there is: what only a drive can be asked.
    fn flash(&self) -> Option<&Drive<C>>;
    /// The same, to be changed.
    fn flash_mut(&mut self) -> Option<&mut Drive<C>>;
}

impl<C: Contents> Hardware<C> for Drive<C> {
    #[inline(always)]
    fn next_event(&self) -> SimTime {
        Drive::next_event(self)
    }

    #[inline(always)]
    fn step(&mut self, until: SimTime) -> bool {
        Drive::step(self, until)
    }

    #[inline(always)]
    fn has_done(&self) -> bool {
        Drive::has_done(self)
    }

    #[inline(always)]
    fn now(&self) -> SimTime {
        Drive::now(self)
    }

    #[inline(always)]
    fn admit(&mut self, admitted: SimTime, now: SimTime) {
        Drive::admit(self, admitted, now);
    }

    #[inline(always)]
    fn prefetch(&self, leaf: LeafId, page: Page) {
        Drive::prefetch(self, leaf, page);
    }

    fn set_untimed(&mut self, untimed: bool) {
        Drive::set_untimed(self, untimed);
    }

    fn seed(&mut self, seed: u64) {
        Drive::seed(self, seed);
    }

    fn begin_ageing(&mut self, _: u16, model: Model, wish: &Wish, seed: u64, leaves: u16) {
        Drive::begin_ageing(self, model, wish, seed, leaves);
    }

    fn slots(&self) -> u64 {
        Drive::slots(self)
    }

    fn has_slot(&self, leaf: LeafId, page: Page) -> bool {
        Drive::has_slot(self, leaf, page)
    }

    fn end_ageing(&mut self) {
        Drive::end_ageing(self);
    }

    fn save(&self, image: &mut Writer) {
        Drive::save(self, image);
    }

    fn load(&mut self, image: &mut Reader) -> Result<(), String> {
        Drive::load(self, image)
    }

    fn expect_power_cuts(&mut self) {
        Drive::expect_power_cuts(self);
    }

    fn expects_power_cuts(&self) -> bool {
        Drive::expects_power_cuts(self)
    }

    fn cut_power(&mut self, now: SimTime) -> Recovery {
        Drive::cut_power(self, now)
    }

    fn contents_of(&self, leaf: LeafId, page: Page) -> Option<C> {
        Drive::contents_of(self, leaf, page)
    }

    fn reset_counters(&mut self) {
        Drive::reset_counters(self);
    }

    fn end_idling(&mut self) {
        Drive::end_idling(self);
    }

    #[inline(always)]
    fn memory_time(&self) -> Span {
        Drive::memory_time(self)
    }

    fn fail(&mut self, now: SimTime, _: u16, what: Fault, lasting: bool) {
        Drive::fail(self, now, what, lasting);
    }

    fn renew(&mut self, now: SimTime, _: u16, what: Fault) {
        Drive::renew(self, now, what);
    }

    fn geometry(&self, _: u16) -> Option<&Geometry> {
        Some(Drive::geometry(self))
    }

    fn is_dead(&self, leaf: LeafId) -> bool {
        Drive::is_dead(self, leaf)
    }

    #[inline(always)]
    fn is_sound(&self) -> bool {
        Drive::is_sound(self)
    }

    #[inline(always)]
    fn life(&self) -> &Life {
        Drive::life(self)
    }

    fn counters(&self) -> Counters {
        Drive::counters(self).clone()
    }

    fn work(&self) -> Option<Work> {
        Drive::work(self).cloned()
    }

    fn busy(&self) -> [Vec<Span>; 2] {
        [self.channel_busy(), self.unit_busy()]
    }

    fn at_rest(&self) -> SimTime {
        Drive::at_rest(self)
    }

    fn erases(&self) -> Vec<u32> {
        Drive::erases(self)
    }

    fn filled(&self) -> (u64, u64) {
        Drive::filled(self)
    }

    fn audit(&self) {
        Drive::audit(self);
    }

    fn drive(&self, _: u16) -> Option<&Drive<C>> {
        Some(self)
    }

    fn log(&mut self, log: Box<dyn Logs>) {
        self.log_operations(Box::new(Alone(log)));
    }

    fn tell_request(&mut self, request: &HostRequest) {
        Drive::tell_request(self, request);
    }

    fn log_notes(&self, end: SimTime) -> Vec<String> {
        Drive::log_notes(self, end)
    }

    fn close_log(&mut self) -> Result<(), String> {
        Drive::close_log(self)
    }

    fn flash(&self) -> Option<&Drive<C>> {
        Some(self)
    }

    fn flash_mut(&mut self) -> Option<&mut Drive<C>> {
        Some(self)
    }
}
