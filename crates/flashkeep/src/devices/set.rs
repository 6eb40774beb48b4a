//! The devices below an array's tree: drives, disks and memories side by side, each with events of its own.
//!
//! Backends are numbered consecutively, device by device. The set takes the completions of a device immediately and
//! reports them with these numbers; events are ordered by instant, then device.

use super::{BlockDevice, Inspect};
use crate::disk::Disk;
use crate::drive::{DeviceObserver, Drive, DriveLife, Nvram, Told};
use crate::engine::{
    BackendId, BackendView, Backends, Breakdown, Command, CompletionToken, Contents, Done, OobData, Page,
    ReadEstimate, TimeSpent,
};
use crate::kernel::{Agenda, SimTime, Span};
use std::ops::Range;

/// One device of a set.
#[derive(Clone)]
pub enum AnyDevice<C> {
    /// A drive's flash.
    Flash(Box<Drive<C>>),
    /// A disk.
    Disk(Box<Disk<C>>),
    /// A non-volatile memory.
    Memory(Nvram<C>),
}

/// A device, and the numbers of its backends.
#[derive(Clone)]
pub(super) struct PlacedDevice<C> {
    pub(super) device: AnyDevice<C>,
    /// Its first backend's number.
    first: u16,
}

/// Drives, disks and memories side by side.
pub struct DeviceSet<C> {
    pub(super) places: Vec<PlacedDevice<C>>,
    /// The place of each backend.
    place_of: Vec<u16>,
    pub(super) agenda: Agenda,
    pub(super) done: Vec<Done<C>>,
    /// Where the time of these completions went, if that is measured.
    pub(super) breakdowns: Option<Vec<Breakdown>>,
    pub(super) now: SimTime,
    /// The time of a request that the memory of the controller above serves.
    pub(super) memory: Span,
    pub(super) life: DriveLife,
    pub(super) logs: Vec<Box<dyn DeviceObserver>>,
    /// In runs with power cuts: the number of the last write. OOB metadata has it, so that recovery finds the newest of
    /// copies on several drives.
    pub(super) numbers: Option<u64>,
}

/// A copy tells no log of the original.
impl<C: Clone> Clone for DeviceSet<C> {
    fn clone(&self) -> Self {
        DeviceSet {
            places: self.places.clone(),
            place_of: self.place_of.clone(),
            agenda: self.agenda.clone(),
            done: self.done.clone(),
            breakdowns: self.breakdowns.clone(),
            now: self.now,
            memory: self.memory,
            life: self.life.clone(),
            logs: Vec::new(),
            numbers: self.numbers,
        }
    }
}

impl<C: Contents> DeviceSet<C> {
    /// A set of these devices, each with its number of backends, below a controller whose memory takes this time to
    /// serve.
    #[must_use]
    pub fn new(devices: Vec<(AnyDevice<C>, u16)>, memory: Span) -> Self {
        let agenda = Agenda::new(devices.len());
        let mut place_of = Vec::new();
        let mut places = Vec::new();
        for (at, (device, backends)) in devices.into_iter().enumerate() {
            places.push(PlacedDevice { device, first: place_of.len() as u16 });
            place_of.extend(std::iter::repeat_n(at as u16, usize::from(backends)));
        }
        DeviceSet {
            places,
            place_of,
            agenda,
            done: Vec::new(),
            breakdowns: None,
            now: SimTime::ZERO,
            memory,
            life: DriveLife::endless(),
            logs: Vec::new(),
            numbers: None,
        }
    }

    /// The devices, in order of backends.
    pub fn devices(&self) -> impl Iterator<Item = &AnyDevice<C>> {
        self.places.iter().map(|place| &place.device)
    }

    /// The same, to be changed.
    pub fn devices_mut(&mut self) -> impl Iterator<Item = &mut AnyDevice<C>> {
        self.places.iter_mut().map(|place| &mut place.device)
    }

    /// Whether no operation waits or is in progress.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let still = |device: &AnyDevice<C>| match device {
            AnyDevice::Flash(drive) => drive.is_quiet(),
            AnyDevice::Disk(disk) => disk.is_quiet(),
            AnyDevice::Memory(_) => true,
        };
        self.done.is_empty() && self.devices().all(still)
    }

    /// The device that a backend belongs to, and the backend's number there.
    #[inline]
    pub(super) fn find(&self, backend: BackendId) -> (&AnyDevice<C>, BackendId) {
        let place = &self.places[usize::from(self.place_of[usize::from(backend.0)])];
        (&place.device, BackendId(backend.0 - place.first))
    }

    /// The same, to be changed.
    fn find_mut(&mut self, backend: BackendId) -> (&mut AnyDevice<C>, BackendId) {
        let PlacedDevice { device, first } =
            &mut self.places[usize::from(self.place_of[usize::from(backend.0)])];
        (device, BackendId(backend.0 - *first))
    }

    pub(super) fn drives(&self) -> impl Iterator<Item = &Drive<C>> {
        self.devices().filter_map(|device| match device {
            AnyDevice::Flash(drive) => Some(&**drive),
            AnyDevice::Disk(_) | AnyDevice::Memory(_) => None,
        })
    }

    pub(super) fn drives_mut(&mut self) -> impl Iterator<Item = &mut Drive<C>> {
        self.places.iter_mut().filter_map(|place| match &mut place.device {
            AnyDevice::Flash(drive) => Some(&mut **drive),
            AnyDevice::Disk(_) | AnyDevice::Memory(_) => None,
        })
    }

    /// Takes the completions of a device, and records its next event.
    #[inline]
    pub(super) fn take_off(&mut self, at: usize) {
        if !self.logs.is_empty() {
            self.pass_on(at);
        }
        let PlacedDevice { device, first } = &mut self.places[at];
        let (next, wears, all) = match device {
            AnyDevice::Flash(drive) => (drive.next_event(), drive.life().expired > 0, drive.done()),
            AnyDevice::Disk(disk) => (disk.next_event(), false, disk.done()),
            AnyDevice::Memory(_) => return,
        };
        self.agenda.set(at, next);
        let listed = self.breakdowns.as_ref().map_or(0, Vec::len) as u32;
        for mut done in all.drain(..) {
            if let TimeSpent::Listed(at) = &mut done.spent {
                *at += listed;
            }
            if let Some((backend, _)) = &mut done.failed {
                backend.0 += *first;
            }
            self.done.push(done);
        }
        if let Some(breakdowns) = &mut self.breakdowns {
            match device {
                AnyDevice::Flash(drive) => {
                    drive.breakdowns().into_iter().for_each(|of| breakdowns.append(of))
                }
                AnyDevice::Disk(disk) => disk.breakdowns().into_iter().for_each(|of| breakdowns.append(of)),
                AnyDevice::Memory(_) => {}
            }
        }
        if wears {
            self.sum_up_lives();
        }
    }

    /// Blocks of some drive have had all their erases.
    #[cold]
    pub(super) fn sum_up_lives(&mut self) {
        let mut all = DriveLife::endless();
        self.drives().for_each(|drive| all.add(drive.life()));
        self.life = all;
    }
}

impl<C: Contents> DeviceSet<C> {
    /// Passes the reports of a drive to the logs.
    #[cold]
    pub(super) fn pass_on(&mut self, at: usize) {
        let (device, logs) = (at as u16, &mut self.logs);
        match &mut self.places[at].device {
            AnyDevice::Flash(drive) => drive.take_told().for_each(|told| {
                logs.iter_mut().for_each(|log| match &told {
                    Told::Operation(operation) => log.add(device, operation),
                    Told::Hold(hold) => log.hold(device, hold),
                });
            }),
            AnyDevice::Disk(disk) => disk
                .take_told()
                .for_each(|access| logs.iter_mut().for_each(|log| log.access(device, &access))),
            AnyDevice::Memory(_) => {}
        }
    }
}

impl<C: Contents> BackendView for DeviceSet<C> {
    fn backlog(&self, backend: BackendId, page: Page) -> Span {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.backlog_at(self.now, backend, page),
            (AnyDevice::Disk(disk), _) => disk.backlog_at(self.now),
            (AnyDevice::Memory(_), _) => Span::ZERO,
        }
    }

    fn expected(&self, backend: BackendId, page: Page) -> ReadEstimate {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.expected_at(self.now, backend, page),
            (AnyDevice::Disk(disk), _) => disk.expected_at(self.now),
            (AnyDevice::Memory(_), _) => ReadEstimate::default(),
        }
    }

    fn wear(&self, backend: BackendId) -> u64 {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.wear(backend),
            (AnyDevice::Disk(disk), backend) => disk.wear(backend),
            (AnyDevice::Memory(_), _) => 0,
        }
    }

    fn erase_blocks(&self, backend: BackendId) -> u64 {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.erase_blocks(backend),
            (AnyDevice::Disk(_) | AnyDevice::Memory(_), _) => 0,
        }
    }

    fn room(&self, backend: BackendId) -> u64 {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.room(backend),
            (AnyDevice::Disk(disk), backend) => disk.room(backend),
            (AnyDevice::Memory(_), _) => u64::MAX,
        }
    }

    fn holds(&self, backend: BackendId, page: Page) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.holds(backend, page),
            (AnyDevice::Disk(disk), backend) => disk.holds(backend, page),
            (AnyDevice::Memory(memory), _) => memory.holds(page.low()),
        }
    }

    fn takes_all(&self, backend: BackendId) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.takes_all(backend),
            (AnyDevice::Disk(_) | AnyDevice::Memory(_), _) => true,
        }
    }

    fn is_unreadable(&self, backend: BackendId, page: Page) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.is_unreadable(backend, page),
            (AnyDevice::Disk(disk), backend) => disk.is_unreadable(backend, page),
            (AnyDevice::Memory(memory), _) => memory.is_unreadable(page.low()),
        }
    }

    fn oob(&self, backend: BackendId, page: Page) -> Option<OobData> {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.oob(backend, page),
            (AnyDevice::Disk(disk), backend) => disk.oob(backend, page),
            (AnyDevice::Memory(memory), _) => memory.oob(page.low()).filter(|_| self.numbers.is_some()),
        }
    }

    fn last_write(&self, _: BackendId) -> Option<u64> {
        self.numbers
    }

    fn is_erased(&self, backend: BackendId, page: Page) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.is_erased(backend, page),
            (AnyDevice::Disk(_) | AnyDevice::Memory(_), _) => false,
        }
    }

    fn erases_at(&self, backend: BackendId, page: Page) -> u32 {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.erases_at(backend, page),
            (AnyDevice::Disk(_) | AnyDevice::Memory(_), _) => 0,
        }
    }

    fn remaps(&self, backend: BackendId) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.remaps(backend),
            (AnyDevice::Disk(_), _) => false,
            (AnyDevice::Memory(_), _) => true,
        }
    }

    fn has_failed(&self, backend: BackendId, page: Page) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.has_failed(backend, page),
            (AnyDevice::Disk(_) | AnyDevice::Memory(_), _) => false,
        }
    }
}

impl<C: Contents> Backends<C> for DeviceSet<C> {
    fn submit(
        &mut self,
        now: SimTime,
        backend: BackendId,
        command: &Command,
        token: CompletionToken,
        contents: &[C],
    ) {
        self.now = now;
        let at = usize::from(self.place_of[usize::from(backend.0)]);
        let PlacedDevice { device, first } = &mut self.places[at];
        match device {
            AnyDevice::Flash(drive) => {
                if let Some(last) = self.numbers {
                    drive.number_from(last);
                }
                drive.submit(now, BackendId(backend.0 - *first), command, token, contents);
                if self.numbers.is_some() {
                    self.numbers = Some(drive.last_number());
                }
                self.take_off(at);
            }
            AnyDevice::Disk(disk) => {
                disk.number_from(self.numbers.unwrap_or_default());
                disk.submit(now, BackendId(backend.0 - *first), command, token, contents);
                self.numbers = disk.last_number();
                self.take_off(at);
            }
            AnyDevice::Memory(memory) => {
                memory.ask(now, backend, command, token, contents, &mut self.done);
            }
        }
    }

    fn places_in_order(&self, backend: BackendId) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.places_in_order(backend),
            (AnyDevice::Disk(disk), _) => !disk.is_dead(),
            (AnyDevice::Memory(_), _) => false,
        }
    }

    fn place_in_order(&mut self, backend: BackendId, pages: Range<u64>) {
        let at = usize::from(self.place_of[usize::from(backend.0)]);
        match self.find_mut(backend) {
            (AnyDevice::Flash(drive), backend) => {
                drive.place_in_order(backend, pages);
                self.take_off(at);
            }
            (AnyDevice::Disk(disk), _) => disk.create(pages.start as u32..pages.end as u32),
            (AnyDevice::Memory(_), _) => {}
        }
    }

    fn create_by_rule(&mut self, backend: BackendId) -> u32 {
        match self.find_mut(backend) {
            (AnyDevice::Flash(drive), backend) => drive.create_by_rule(backend),
            (AnyDevice::Disk(disk), _) => disk.created(),
            (AnyDevice::Memory(_), _) => 0,
        }
    }

    fn fill(&mut self, fills: bool) {
        self.drives_mut().for_each(|drive| drive.fill(fills));
    }

    fn set_now(&mut self, now: SimTime) {
        self.now = now;
    }

    fn invalidate(&mut self, backend: BackendId, page: Page) {
        match self.find_mut(backend) {
            (AnyDevice::Flash(drive), backend) => drive.invalidate(backend, page),
            (AnyDevice::Disk(disk), backend) => disk.invalidate(backend, page),
            (AnyDevice::Memory(_), _) => {}
        }
    }

    fn poison(&mut self, backend: BackendId, page: Page) {
        match self.find_mut(backend) {
            (AnyDevice::Flash(drive), backend) => drive.poison(backend, page),
            (AnyDevice::Disk(disk), backend) => disk.poison(backend, page),
            (AnyDevice::Memory(memory), _) => memory.poison(page.low()),
        }
    }

    #[inline]
    fn prefetch(&self, backend: BackendId, page: Page) {
        if let (AnyDevice::Flash(drive), backend) = self.find(backend) {
            drive.prefetch(backend, page);
        }
    }

    fn note_refusal(&mut self, now: SimTime, backend: BackendId) {
        if let (AnyDevice::Flash(drive), backend) = self.find_mut(backend) {
            drive.note_refusal(now, backend);
        }
    }

    fn note_age(&mut self, age: u32, from: u32) {
        self.logs.iter_mut().for_each(|log| log.passed_on(age, from));
    }

    fn end_gathering(&mut self, now: SimTime) {
        for at in 0..self.places.len() {
            if let AnyDevice::Flash(drive) = &mut self.places[at].device {
                drive.end_gathering(now);
                self.take_off(at);
            }
        }
    }

    fn await_parts(&mut self) {
        for place in &mut self.places {
            if let AnyDevice::Flash(drive) = &mut place.device {
                drive.await_parts();
            }
        }
    }

    fn parts_have_come(&mut self, now: SimTime) {
        for at in 0..self.places.len() {
            if let AnyDevice::Flash(drive) = &mut self.places[at].device
                && drive.begin_parts(now)
            {
                self.take_off(at);
            }
        }
    }

    fn done(&mut self) -> &mut Vec<Done<C>> {
        &mut self.done
    }

    fn breakdowns(&mut self) -> Option<&mut Vec<Breakdown>> {
        self.breakdowns.as_mut()
    }
}
