//! The traits of a set of devices: calls for all devices go to each of them, calls for one backend or device to that
//! one.

use super::{
    Age, AnyDevice, BlockDevice, DeviceAccess, DeviceSet, DeviceStatistics, InjectFaults, Inspect, Observe,
    Recover, Snapshot,
};
use crate::drive::{
    BlockErases, Concerned, Counters, DeviceObserver, Drive, DriveLife, ErrorCounts, Fault, Recovery,
    RunEvent, Slowness,
};
use crate::engine::{BackendId, Contents, Page};
use crate::ftl::ageing::{Model, Wish};
use crate::kernel::{Bits, Factor, SimTime, Span};
use crate::snapshot::{Reader, Writer};

impl<C: Contents> BlockDevice<C> for DeviceSet<C> {
    #[inline]
    fn next_event(&self) -> SimTime {
        self.agenda.next()
    }

    fn step(&mut self, until: SimTime) -> bool {
        let Some((now, at)) = self.agenda.pop_due(until) else { return false };
        self.now = now;
        match &mut self.places[at].device {
            AnyDevice::Flash(drive) => drive.step(now),
            AnyDevice::Disk(disk) => disk.step(now),
            AnyDevice::Memory(_) => unreachable!("a memory has no events"),
        };
        self.take_off(at);
        true
    }

    #[inline]
    fn now(&self) -> SimTime {
        self.now
    }

    fn admit(&mut self, _: SimTime, now: SimTime) {
        self.now = now;
    }

    fn set_untimed(&mut self, untimed: bool) {
        for place in &mut self.places {
            match &mut place.device {
                AnyDevice::Flash(drive) => drive.set_untimed(untimed),
                AnyDevice::Disk(disk) => disk.set_untimed(untimed),
                AnyDevice::Memory(memory) => memory.set_untimed(untimed),
            }
        }
    }

    fn break_down(&mut self) {
        for place in &mut self.places {
            match &mut place.device {
                AnyDevice::Flash(drive) => drive.break_down(),
                AnyDevice::Disk(disk) => disk.break_down(),
                AnyDevice::Memory(_) => {}
            }
        }
        self.breakdowns = Some(Vec::new());
    }

    fn memory_time(&self) -> Span {
        self.memory
    }

    fn end_idling(&mut self) {
        self.drives_mut().for_each(Drive::end_idling);
    }

    fn end_scrubbing(&mut self) {
        self.drives_mut().for_each(Drive::end_scrubbing);
    }
}

impl<C: Contents> Inspect<C> for DeviceSet<C> {
    fn counters(&self) -> Counters {
        let mut all = Counters::default();
        self.devices().for_each(|device| match device {
            AnyDevice::Flash(drive) => all.append(&drive.counters()),
            AnyDevice::Disk(disk) => all.append(disk.counters()),
            AnyDevice::Memory(_) => {}
        });
        all
    }

    fn ended_in_turns(&self) -> Option<[u64; 2]> {
        let drives = self.devices().filter_map(|device| match device {
            AnyDevice::Flash(drive) => drive.ended_in_turns(),
            AnyDevice::Disk(_) | AnyDevice::Memory(_) => None,
        });
        drives.reduce(|[on, off], [more_on, more_off]| [on + more_on, off + more_off])
    }

    fn reset_counters(&mut self) {
        for place in &mut self.places {
            match &mut place.device {
                AnyDevice::Flash(drive) => drive.reset_counters(),
                AnyDevice::Disk(disk) => disk.reset_counters(),
                AnyDevice::Memory(_) => {}
            }
        }
    }

    fn busy(&self) -> [Vec<Span>; 2] {
        let mut all = [Vec::new(), Vec::new()];
        for busy in self.drives().map(Drive::busy) {
            all.iter_mut().zip(busy).for_each(|(all, busy)| all.extend(busy));
        }
        all
    }

    fn at_rest(&self) -> SimTime {
        self.drives().map(Drive::at_rest).max().unwrap_or(SimTime::ZERO)
    }

    fn free_blocks(&self) -> u64 {
        self.drives().map(Drive::free_blocks).sum()
    }

    fn erases(&self) -> BlockErases {
        let mut all = BlockErases::default();
        self.drives().for_each(|drive| all.append(&drive.erases()));
        all
    }

    fn erases_before(&self) -> BlockErases {
        let mut all = BlockErases::default();
        self.drives().for_each(|drive| all.append(&drive.erases_before()));
        all
    }

    fn begin_wear(&mut self) {
        for at in 0..self.places.len() {
            if let AnyDevice::Flash(drive) = &mut self.places[at].device {
                drive.begin_wear();
                self.take_off(at);
            }
        }
    }

    fn filled(&self) -> (u64, u64) {
        let sum = |(a, b), (c, d)| (a + c, b + d);
        self.drives().map(Drive::filled).fold((0, 0), sum)
    }

    fn life(&self) -> &DriveLife {
        &self.life
    }

    fn error_counts(&self) -> Option<ErrorCounts> {
        self.drives().filter_map(Drive::error_counts).reduce(|mut all, one| {
            all.add(&one);
            all
        })
    }

    fn reset_error_counts(&mut self) {
        self.drives_mut().for_each(Drive::reset_error_counts);
    }

    fn changed_pages(&self, backend: BackendId) -> Option<Bits> {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.changed_pages(backend),
            (AnyDevice::Disk(disk), _) => Some(disk.changed_pages()),
            (AnyDevice::Memory(_), _) => None,
        }
    }

    fn contents_of(&self, backend: BackendId, page: Page) -> Option<C> {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.contents_of(backend, page),
            (AnyDevice::Disk(disk), _) => disk.contents_of(page),
            (AnyDevice::Memory(memory), _) => memory.contents(page.low()),
        }
    }

    fn audit(&self) {
        self.drives().for_each(Drive::audit);
    }
}

impl<C: Contents> DeviceAccess<C> for DeviceSet<C> {
    fn statistics(&self, until: SimTime) -> Vec<DeviceStatistics> {
        let statistics = |device: &AnyDevice<C>| match device {
            AnyDevice::Flash(drive) => DeviceStatistics {
                counters: drive.counters(),
                busy: drive.busy(),
                erases: drive.erases(),
                erases_before: drive.erases_before(),
                expired: drive.life().expired,
                disk: None,
                handles: drive.handle_counts().to_vec(),
                errors: drive.error_counts(),
            },
            AnyDevice::Disk(disk) => DeviceStatistics {
                counters: disk.counters().clone(),
                disk: Some(disk.statistics(until)),
                ..DeviceStatistics::default()
            },
            AnyDevice::Memory(_) => DeviceStatistics::default(),
        };
        self.devices().map(statistics).collect()
    }

    fn drive(&self, device: u16) -> Option<&Drive<C>> {
        match &self.places[usize::from(device)].device {
            AnyDevice::Flash(drive) => Some(drive),
            AnyDevice::Disk(_) | AnyDevice::Memory(_) => None,
        }
    }

    fn flash(&self) -> Option<&Drive<C>> {
        None
    }

    fn flash_mut(&mut self) -> Option<&mut Drive<C>> {
        None
    }
}

impl<C: Contents> Snapshot for DeviceSet<C> {
    fn save(&self, snapshot: &mut Writer) {
        for device in self.devices() {
            match device {
                AnyDevice::Flash(drive) => drive.save(snapshot),
                AnyDevice::Disk(disk) => disk.save(snapshot),
                AnyDevice::Memory(memory) => snapshot.put(&memory.snapshot()),
            }
        }
    }

    fn load(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        for place in &mut self.places {
            match &mut place.device {
                AnyDevice::Flash(drive) => drive.load(snapshot)?,
                AnyDevice::Disk(disk) => disk.load(snapshot)?,
                AnyDevice::Memory(memory) => memory.restore(snapshot.take()?),
            }
        }
        let last = |device: &AnyDevice<C>| match device {
            AnyDevice::Flash(drive) => Some(drive.last_number()),
            AnyDevice::Disk(disk) => disk.last_number(),
            AnyDevice::Memory(_) => None,
        };
        if self.numbers.is_some() {
            self.numbers = self.devices().filter_map(last).max();
        }
        Ok(())
    }
}

impl<C: Contents> InjectFaults for DeviceSet<C> {
    fn fail(&mut self, now: SimTime, device: u16, what: Fault, lasting: bool) {
        let at = usize::from(device);
        self.now = now;
        match &mut self.places[at].device {
            AnyDevice::Flash(drive) => drive.fail(now, 0, what, lasting),
            AnyDevice::Disk(disk) => match what {
                Fault::DiskPage(page) if lasting => disk.lose_page(now, page),
                Fault::DiskPage(page) => disk.fail_page(now, page),
                _ if lasting => disk.fail(now),
                _ => disk.forget(now),
            },
            AnyDevice::Memory(memory) => memory.fail(lasting),
        }
        self.take_off(at);
    }

    fn renew(&mut self, now: SimTime, device: u16, what: Fault) {
        let at = usize::from(device);
        self.now = now;
        match &mut self.places[at].device {
            AnyDevice::Flash(drive) => drive.renew(now, 0, what),
            AnyDevice::Disk(disk) => disk.renew(now),
            AnyDevice::Memory(memory) => memory.renew(),
        }
        self.take_off(at);
        self.sum_up_lives();
    }

    fn expect_slow_parts(&mut self) {
        self.drives_mut().for_each(Drive::expect_slow_parts);
    }

    fn set_slow_parts(&mut self, device: u16, parts: &[Slowness]) {
        match &mut self.places[usize::from(device)].device {
            AnyDevice::Flash(drive) => drive.set_slow_parts(0, parts),
            AnyDevice::Disk(disk) => {
                let slowest = parts.iter().map(|part| part.factor).max();
                disk.set_slow(slowest.unwrap_or(Factor::ONE));
            }
            AnyDevice::Memory(_) => {}
        }
    }

    fn stall(&mut self, now: SimTime, device: u16, what: Fault, concerned: Concerned, until: SimTime) {
        let at = usize::from(device);
        self.now = now;
        match &mut self.places[at].device {
            AnyDevice::Flash(drive) => drive.stall(now, 0, what, concerned, until),
            AnyDevice::Disk(disk) => disk.stall(now, until),
            AnyDevice::Memory(_) => {}
        }
        self.take_off(at);
    }

    fn is_dead(&self, backend: BackendId) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.is_dead(backend),
            (AnyDevice::Disk(disk), _) => disk.is_dead(),
            (AnyDevice::Memory(memory), _) => memory.is_dead(),
        }
    }

    fn is_sound(&self, backend: BackendId) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.is_sound(backend),
            (AnyDevice::Disk(disk), _) => disk.is_healthy(),
            (AnyDevice::Memory(memory), _) => !memory.is_dead(),
        }
    }

    fn is_healthy(&self) -> bool {
        self.devices().all(|device| match device {
            AnyDevice::Flash(drive) => drive.is_healthy(),
            AnyDevice::Disk(disk) => disk.is_healthy(),
            AnyDevice::Memory(memory) => !memory.is_dead(),
        })
    }
}

impl<C: Contents> Recover for DeviceSet<C> {
    fn expect_power_cuts(&mut self) {
        self.numbers = Some(0);
        self.devices_mut().for_each(|device| match device {
            AnyDevice::Flash(drive) => drive.expect_power_cuts(),
            AnyDevice::Disk(disk) => disk.expect_power_cuts(),
            AnyDevice::Memory(_) => {}
        });
    }

    fn resume(&mut self, ready: SimTime) {
        for at in 0..self.places.len() {
            if let AnyDevice::Flash(drive) = &mut self.places[at].device {
                drive.resume(ready);
                self.take_off(at);
            }
        }
    }

    /// Drives find their maps again, and disks look at what they were writing, side by side.
    fn cut_power(&mut self, now: SimTime) -> Recovery {
        let mut all = Recovery { ready: now, ..Recovery::default() };
        self.done.clear();
        for at in 0..self.places.len() {
            let recovery = match &mut self.places[at].device {
                AnyDevice::Flash(drive) => drive.cut_power(now),
                AnyDevice::Disk(disk) => disk.cut_power(now),
                AnyDevice::Memory(_) => Recovery { ready: now, ..Recovery::default() },
            };
            all.ready = all.ready.max(recovery.ready);
            (all.reads, all.erases) = (all.reads + recovery.reads, all.erases + recovery.erases);
            self.take_off(at);
        }
        self.now = all.ready;
        all
    }
}

impl<C: Contents> Age for DeviceSet<C> {
    /// Each device draws a stream of its own.
    fn seed(&mut self, seed: u64) {
        for (number, drive) in (0..).zip(self.drives_mut()) {
            drive.seed(seed.wrapping_add(number));
        }
    }

    /// Each device draws a stream of its own.
    fn begin_ageing(&mut self, device: u16, model: Model, wish: &Wish, seed: u64, backends: u16) {
        if let AnyDevice::Flash(drive) = &mut self.places[usize::from(device)].device {
            drive.begin_ageing(0, model, wish, seed.wrapping_add(u64::from(device)), backends);
        }
    }

    fn slots(&self) -> u64 {
        self.drives().map(Drive::slots).sum()
    }

    fn has_slot(&self, backend: BackendId, page: Page) -> bool {
        match self.find(backend) {
            (AnyDevice::Flash(drive), backend) => drive.has_slot(backend, page),
            (AnyDevice::Disk(_) | AnyDevice::Memory(_), _) => true,
        }
    }

    fn end_ageing(&mut self) {
        self.drives_mut().for_each(Drive::end_ageing);
    }
}

impl<C: Contents> Observe for DeviceSet<C> {
    fn log(&mut self, log: Box<dyn DeviceObserver>) {
        self.devices_mut().for_each(|device| match device {
            AnyDevice::Flash(drive) => drive.keep_told(),
            AnyDevice::Disk(disk) => disk.keep_told(),
            AnyDevice::Memory(_) => {}
        });
        self.logs.push(log);
    }

    fn tell(&mut self, event: &RunEvent<'_>) {
        self.logs.iter_mut().for_each(|log| log.tell(event));
    }

    fn log_notes(&self, end: SimTime) -> Vec<String> {
        self.logs.iter().filter_map(|log| log.note(end)).collect()
    }

    fn close_log(&mut self, end: SimTime) -> Result<(), String> {
        self.drives_mut().for_each(|drive| drive.log_under_way(end));
        (0..self.places.len()).for_each(|at| self.pass_on(at));
        std::mem::take(&mut self.logs).into_iter().try_for_each(|log| log.close())
    }
}
