//! What stands below an array's tree: drives, disks and memories side by side, each with events of its own.
//!
//! Leaves are numbered through, device by device. Whatever a device has done is taken off it at once and told under
//! those numbers; the order of events is (instant, device).

mod hardware;

pub use hardware::{Deeds, Hardware};

use crate::disk::Disk;
use crate::drive::{Counters, Drive, Fault, HostRequest, Life, Logs, Nvram, Recovery, Told, Work};
use crate::engine::{Below, Command, Contents, Done, LeafId, Leaves, Page, Spare, Ticket};
use crate::ftl::ageing::{Model, Wish};
use crate::image::{Reader, Writer};
use crate::kernel::{Agenda, SimTime, Span};
use crate::media::Geometry;

/// One of the things that stand on a shelf.
pub enum Device<C> {
    /// A drive's flash.
    Flash(Box<Drive<C>>),
    /// A disk.
    Disk(Box<Disk<C>>),
    /// A non-volatile memory.
    Memory(Nvram<C>),
}

/// A device, and which leaves it is.
struct Place<C> {
    device: Device<C>,
    /// Its first leaf's number.
    first: u16,
}

/// Drives, disks and memories side by side.
pub struct Shelf<C> {
    places: Vec<Place<C>>,
    /// The place of each leaf.
    place_of: Vec<u16>,
    agenda: Agenda,
    done: Vec<Done<C>>,
    now: SimTime,
    life: Life,
    logs: Vec<Box<dyn Logs>>,
    /// The number of the last write, where the power is to fail: pages say theirs, so that of copies on several drives
    /// the newest can be told.
    numbers: Option<u64>,
}

impl<C: Contents> Shelf<C> {
    /// A shelf with these devices, each with so many leaves.
    #[must_use]
    pub fn new(devices: Vec<(Device<C>, u16)>) -> Self {
        let agenda = Agenda::new(devices.len());
        let mut place_of = Vec::new();
        let mut places = Vec::new();
        for (at, (device, leaves)) in devices.into_iter().enumerate() {
            places.push(Place { device, first: place_of.len() as u16 });
            place_of.extend(std::iter::repeat_n(at as u16, usize::from(leaves)));
        }
        Shelf {
            places,
            place_of,
            agenda,
            done: Vec::new(),
            now: SimTime::ZERO,
            life: Life::endless(),
            logs: Vec::new(),
            numbers: None,
        }
    }

    /// The devices, in order of leaves.
    pub fn devices(&self) -> impl Iterator<Item = &Device<C>> {
        self.places.iter().map(|place| &place.device)
    }

    /// The same, to be changed.
    pub fn devices_mut(&mut self) -> impl Iterator<Item = &mut Device<C>> {
        self.places.iter_mut().map(|place| &mut place.device)
    }

    /// Whether nothing waits and nothing is under way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let still = |device: &Device<C>| match device {
            Device::Flash(drive) => drive.is_quiet(),
            Device::Disk(disk) => disk.is_quiet(),
            Device::Memory(_) => true,
        };
        self.done.is_empty() && self.devices().all(still)
    }

    /// The device that a leaf belongs to, and the leaf's number there.
    #[inline]
    fn find(&self, leaf: LeafId) -> (&Device<C>, LeafId) {
        let place = &self.places[usize::from(self.place_of[usize::from(leaf.0)])];
        (&place.device, LeafId(leaf.0 - place.first))
    }

    fn drives(&self) -> impl Iterator<Item = &Drive<C>> {
        self.devices().filter_map(|device| match device {
            Device::Flash(drive) => Some(&**drive),
            Device::Disk(_) | Device::Memory(_) => None,
        })
    }

    fn drives_mut(&mut self) -> impl Iterator<Item = &mut Drive<C>> {
        self.places.iter_mut().filter_map(|place| match &mut place.device {
            Device::Flash(drive) => Some(&mut **drive),
            Device::Disk(_) | Device::Memory(_) => None,
        })
    }

    /// Takes what a device has done off it, and notes when it goes on.
    #[inline]
    fn take_off(&mut self, at: usize) {
        if !self.logs.is_empty() {
            self.pass_on(at);
        }
        let Place { device, first } = &mut self.places[at];
        let (next, wears, all) = match device {
            Device::Flash(drive) => (drive.next_event(), drive.life().expired > 0, drive.done()),
            Device::Disk(disk) => (disk.next_event(), false, disk.done()),
            Device::Memory(_) => return,
        };
        self.agenda.set(at, next);
        for mut done in all.drain(..) {
            if let Some((leaf, _)) = &mut done.failed {
                leaf.0 += *first;
            }
            self.done.push(done);
        }
        if wears {
            self.sum_up_lives();
        }
    }

    /// Blocks of some drive have had all their erases.
    #[cold]
    fn sum_up_lives(&mut self) {
        let mut all = Life::endless();
        self.drives().for_each(|drive| all.add(drive.life()));
        self.life = all;
    }
}

impl<C: Contents> Shelf<C> {
    /// Tells the logs what a drive has told.
    #[cold]
    fn pass_on(&mut self, at: usize) {
        let Device::Flash(drive) = &mut self.places[at].device else { return };
        for told in drive.take_told() {
            for log in &mut self.logs {
                match &told {
                    Told::Operation(operation) => log.add(at as u16, operation),
                    Told::Hold(hold) => log.hold(at as u16, hold),
                }
            }
        }
    }
}

impl<C: Contents> Below for Shelf<C> {
    fn backlog(&self, leaf: LeafId, page: Page) -> Span {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.backlog(leaf, page),
            (Device::Disk(disk), leaf) => disk.backlog(leaf, page),
            (Device::Memory(_), _) => Span::ZERO,
        }
    }

    fn wear(&self, leaf: LeafId) -> u64 {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.wear(leaf),
            (Device::Disk(disk), leaf) => disk.wear(leaf),
            (Device::Memory(_), _) => 0,
        }
    }

    fn room(&self, leaf: LeafId) -> u64 {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.room(leaf),
            (Device::Disk(disk), leaf) => disk.room(leaf),
            (Device::Memory(_), _) => u64::MAX,
        }
    }

    fn holds(&self, leaf: LeafId, page: Page) -> bool {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.holds(leaf, page),
            (Device::Disk(disk), leaf) => disk.holds(leaf, page),
            (Device::Memory(memory), _) => memory.holds(page.0),
        }
    }

    fn spare(&self, leaf: LeafId, page: Page) -> Option<Spare> {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.spare(leaf, page),
            (Device::Disk(_) | Device::Memory(_), _) => None,
        }
    }

    fn is_erased(&self, leaf: LeafId, page: Page) -> bool {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.is_erased(leaf, page),
            (Device::Disk(_) | Device::Memory(_), _) => false,
        }
    }
}

impl<C: Contents> Leaves<C> for Shelf<C> {
    fn submit(&mut self, now: SimTime, leaf: LeafId, command: &Command, ticket: Ticket, contents: &[C]) {
        self.now = now;
        let at = usize::from(self.place_of[usize::from(leaf.0)]);
        let Place { device, first } = &mut self.places[at];
        match device {
            Device::Flash(drive) => {
                if let Some(last) = self.numbers {
                    drive.number_from(last);
                }
                drive.submit(now, LeafId(leaf.0 - *first), command, ticket, contents);
                if self.numbers.is_some() {
                    self.numbers = Some(drive.last_number());
                }
                self.take_off(at);
            }
            Device::Disk(disk) => {
                disk.submit(now, LeafId(leaf.0 - *first), command, ticket, contents);
                self.take_off(at);
            }
            Device::Memory(memory) => {
                memory.ask(now, leaf, command, ticket, contents, &mut self.done);
            }
        }
    }

    fn disown(&mut self, leaf: LeafId, page: Page) {
        let at = usize::from(self.place_of[usize::from(leaf.0)]);
        let Place { device, first } = &mut self.places[at];
        if let Device::Flash(drive) = device {
            drive.disown(LeafId(leaf.0 - *first), page);
        }
    }

    fn spoil(&mut self, leaf: LeafId, page: Page) {
        let at = usize::from(self.place_of[usize::from(leaf.0)]);
        let Place { device, first } = &mut self.places[at];
        if let Device::Flash(drive) = device {
            drive.spoil(LeafId(leaf.0 - *first), page);
        }
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }
}

impl<C: Contents> Hardware<C> for Shelf<C> {
    #[inline]
    fn next_event(&self) -> SimTime {
        self.agenda.next()
    }

    fn step(&mut self, until: SimTime) -> bool {
        let Some((now, at)) = self.agenda.first(until) else { return false };
        self.now = now;
        match &mut self.places[at].device {
            Device::Flash(drive) => drive.step(now),
            Device::Disk(disk) => disk.step(now),
            Device::Memory(_) => unreachable!("a memory has no events"),
        };
        self.take_off(at);
        true
    }

    #[inline]
    fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    #[inline]
    fn now(&self) -> SimTime {
        self.now
    }

    fn admit(&mut self, _: SimTime, now: SimTime) {
        self.now = now;
    }

    #[inline]
    fn prefetch(&self, leaf: LeafId, page: Page) {
        if let (Device::Flash(drive), leaf) = self.find(leaf) {
            drive.prefetch(leaf, page);
        }
    }

    fn set_untimed(&mut self, untimed: bool) {
        for place in &mut self.places {
            match &mut place.device {
                Device::Flash(drive) => drive.set_untimed(untimed),
                Device::Disk(disk) => disk.set_untimed(untimed),
                Device::Memory(memory) => memory.set_untimed(untimed),
            }
        }
    }

    /// Each device draws a stream of its own.
    fn seed(&mut self, seed: u64) {
        for (number, drive) in (0..).zip(self.drives_mut()) {
            drive.seed(seed.wrapping_add(number));
        }
    }

    /// Each device draws a stream of its own.
    fn begin_ageing(&mut self, device: u16, model: Model, wish: &Wish, seed: u64, leaves: u16) {
        if let Device::Flash(drive) = &mut self.places[usize::from(device)].device {
            drive.begin_ageing(model, wish, seed.wrapping_add(u64::from(device)), leaves);
        }
    }

    fn slots(&self) -> u64 {
        self.drives().map(Drive::slots).sum()
    }

    fn has_slot(&self, leaf: LeafId, page: Page) -> bool {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.has_slot(leaf, page),
            (Device::Disk(_) | Device::Memory(_), _) => true,
        }
    }

    fn end_ageing(&mut self) {
        self.drives_mut().for_each(Drive::end_ageing);
    }

    fn save(&self, image: &mut Writer) {
        for device in self.devices() {
            match device {
                Device::Flash(drive) => drive.save(image),
                Device::Disk(disk) => disk.save(image),
                Device::Memory(memory) => image.put(&memory.image()),
            }
        }
    }

    fn load(&mut self, image: &mut Reader) -> Result<(), String> {
        for place in &mut self.places {
            match &mut place.device {
                Device::Flash(drive) => drive.load(image)?,
                Device::Disk(disk) => disk.load(image)?,
                Device::Memory(memory) => memory.restore(image.take()?),
            }
        }
        Ok(())
    }

    fn expect_power_cuts(&mut self) {
        self.numbers = Some(0);
        self.drives_mut().for_each(Drive::expect_power_cuts);
    }

    fn expects_power_cuts(&self) -> bool {
        self.numbers.is_some()
    }

    /// The drives find their maps again side by side.
    ///
    /// # Panics
    /// With disks, which has been checked.
    fn cut_power(&mut self, now: SimTime) -> Recovery {
        let mut all = Recovery { ready: now, ..Recovery::default() };
        self.done.clear();
        for at in 0..self.places.len() {
            match &mut self.places[at].device {
                Device::Flash(drive) => {
                    let recovery = drive.cut_power(now);
                    all.ready = all.ready.max(recovery.ready);
                    (all.reads, all.erases) = (all.reads + recovery.reads, all.erases + recovery.erases);
                }
                Device::Disk(_) => unreachable!("checked when the events were read"),
                Device::Memory(_) => {}
            }
            self.take_off(at);
        }
        self.now = all.ready;
        all
    }

    fn contents_of(&self, leaf: LeafId, page: Page) -> Option<C> {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.contents_of(leaf, page),
            (Device::Disk(disk), _) => disk.contents_of(page),
            (Device::Memory(memory), _) => memory.contents(page.0),
        }
    }

    fn reset_counters(&mut self) {
        for place in &mut self.places {
            match &mut place.device {
                Device::Flash(drive) => drive.reset_counters(),
                Device::Disk(disk) => disk.reset_counters(),
                Device::Memory(_) => {}
            }
        }
    }

    fn end_idling(&mut self) {
        self.drives_mut().for_each(Drive::end_idling);
    }

    fn memory_time(&self) -> Span {
        Span::ZERO
    }

    fn fail(&mut self, now: SimTime, device: u16, what: Fault, lasting: bool) {
        let at = usize::from(device);
        self.now = now;
        match &mut self.places[at].device {
            Device::Flash(drive) => drive.fail(now, what, lasting),
            Device::Disk(disk) if lasting => disk.fail(now),
            Device::Disk(_) => {}
            Device::Memory(memory) => memory.fail(lasting),
        }
        self.take_off(at);
    }

    fn renew(&mut self, now: SimTime, device: u16, what: Fault) {
        let at = usize::from(device);
        self.now = now;
        match &mut self.places[at].device {
            Device::Flash(drive) => drive.renew(now, what),
            Device::Disk(disk) => disk.renew(now),
            Device::Memory(memory) => memory.renew(),
        }
        self.take_off(at);
        self.sum_up_lives();
    }

    fn geometry(&self, device: u16) -> Option<&Geometry> {
        self.drive(device).map(Drive::geometry)
    }

    fn is_dead(&self, leaf: LeafId) -> bool {
        match self.find(leaf) {
            (Device::Flash(drive), leaf) => drive.is_dead(leaf),
            (Device::Disk(disk), _) => disk.is_dead(),
            (Device::Memory(memory), _) => memory.is_dead(),
        }
    }

    fn is_sound(&self) -> bool {
        self.devices().all(|device| match device {
            Device::Flash(drive) => drive.is_sound(),
            Device::Disk(disk) => disk.is_sound(),
            Device::Memory(memory) => !memory.is_dead(),
        })
    }

    fn life(&self) -> &Life {
        &self.life
    }

    fn life_of(&self, device: u16) -> Option<&Life> {
        match &self.places[usize::from(device)].device {
            Device::Flash(drive) => Some(drive.life()),
            Device::Disk(_) | Device::Memory(_) => None,
        }
    }

    fn counters(&self) -> Counters {
        let mut all = Counters::default();
        self.devices().for_each(|device| match device {
            Device::Flash(drive) => all.append(drive.counters()),
            Device::Disk(disk) => all.append(disk.counters()),
            Device::Memory(_) => {}
        });
        all
    }

    fn work(&self) -> Option<Work> {
        None
    }

    fn busy(&self) -> [Vec<Span>; 2] {
        let channels = self.drives().flat_map(Drive::channel_busy).collect();
        [channels, self.drives().flat_map(Drive::unit_busy).collect()]
    }

    fn erases(&self) -> Vec<u32> {
        self.drives().flat_map(Drive::erases).collect()
    }

    fn filled(&self) -> (u64, u64) {
        let sum = |(a, b), (c, d)| (a + c, b + d);
        self.drives().map(Drive::filled).fold((0, 0), sum)
    }

    fn devices(&self, until: SimTime) -> Vec<Deeds> {
        let deeds = |device: &Device<C>| match device {
            Device::Flash(drive) => Deeds {
                counters: drive.counters().clone(),
                busy: [drive.channel_busy(), drive.unit_busy()],
                erases: drive.erases(),
                expired: drive.life().expired,
                disk: None,
            },
            Device::Disk(disk) => Deeds {
                counters: disk.counters().clone(),
                disk: Some(disk.statistics(until)),
                ..Deeds::default()
            },
            Device::Memory(_) => Deeds::default(),
        };
        self.devices().map(deeds).collect()
    }

    fn audit(&self) {
        self.drives().for_each(Drive::audit);
    }

    fn drive(&self, device: u16) -> Option<&Drive<C>> {
        match &self.places[usize::from(device)].device {
            Device::Flash(drive) => Some(drive),
            Device::Disk(_) | Device::Memory(_) => None,
        }
    }

    fn log(&mut self, log: Box<dyn Logs>) {
        self.drives_mut().for_each(Drive::keep_told);
        self.logs.push(log);
    }

    fn tell_request(&mut self, request: &HostRequest) {
        self.logs.iter_mut().for_each(|log| log.request(request));
    }

    fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.logs.iter().filter_map(|log| log.note(end)).collect()
    }

    fn close_log(&mut self) -> Result<(), String> {
        (0..self.places.len()).for_each(|at| self.pass_on(at));
        std::mem::take(&mut self.logs).into_iter().try_for_each(|log| log.close())
    }

    fn flash(&self) -> Option<&Drive<C>> {
        None
    }

    fn flash_mut(&mut self) -> Option<&mut Drive<C>> {
        None
    }
}
