//! Sorts requests by arrival, in constant memory, if their records are nearly in order.

use crate::Request;

/// A record may be this many records away from its place in the order.
pub(crate) const WINDOW: usize = 1 << 16;

/// Requests that wait until no earlier one can come. The buffer has twice the window's length; when it is full, it is
/// sorted (stably), and all but one window's length is handed out. The times are those of the records.
#[derive(Default)]
pub(crate) struct Window {
    waiting: Vec<Request>,
    /// How many have been handed out, and how many may be.
    next: usize,
    ready: usize,
    /// For each device, its number in the order of handing out, plus 1; 0 if it has not been handed out.
    devices: Vec<u32>,
    /// The devices in that order.
    given: Vec<u32>,
    ended: bool,
}

impl Window {
    /// The next request that is certain to be the earliest.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Request> {
        if self.next == self.ready {
            return None;
        }
        let mut request = self.waiting[self.next];
        self.next += 1;
        request.device = self.number(request.device);
        Some(request)
    }

    /// The number that a device had before sorting.
    pub(crate) fn given(&self, device: u32) -> u32 {
        self.given.get(device as usize).copied().unwrap_or(device)
    }

    /// Whether nothing more will come.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes requests from `read` until there are enough, or it yields no more, and sorts them.
    pub(crate) fn refill<E>(
        &mut self,
        mut read: impl FnMut() -> Result<Option<Request>, E>,
    ) -> Result<(), E> {
        self.waiting.drain(..self.next);
        let mut failed = Ok(());
        while self.waiting.len() < 2 * WINDOW && !self.ended {
            match read() {
                Ok(Some(request)) => self.waiting.push(request),
                Ok(None) => self.ended = true,
                Err(error) => (self.ended, failed) = (true, Err(error)),
            }
        }
        self.waiting.sort_by_key(|request| request.arrival_ns);
        self.next = 0;
        self.ready = if self.ended { self.waiting.len() } else { self.waiting.len() - WINDOW };
        failed
    }

    /// Devices are numbered in order of first appearance, and sorting changes that order.
    #[inline]
    fn number(&mut self, device: u32) -> u32 {
        let device = device as usize;
        if device >= self.devices.len() {
            self.devices.resize(device + 1, 0);
        }
        if self.devices[device] == 0 {
            self.given.push(device as u32);
            self.devices[device] = self.given.len() as u32;
        }
        self.devices[device] - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::random::Random;

    fn sorted(times: &[u64]) -> Vec<(u64, u64)> {
        let mut given = times.iter().zip(0..).map(|(&arrival_ns, offset)| Request {
            arrival_ns,
            offset,
            length: 1,
            device: 0,
            op: Op::Read,
            fua: false,
            handle: 0,
        });
        let (mut window, mut all) = (Window::default(), Vec::new());
        loop {
            while let Some(request) = window.pop() {
                all.push((request.arrival_ns, request.offset));
            }
            if window.has_ended() {
                return all;
            }
            window.refill(|| Ok::<_, ()>(given.next())).unwrap();
        }
    }

    #[test]
    fn disorder_within_the_window_is_undone_and_equal_times_stay() {
        let mut random = Random::stream(1, "order");
        let times: Vec<u64> = (0..5 * WINDOW as u64).map(|n| (n + random.below(WINDOW as u64)) / 7).collect();
        let mut expected: Vec<(u64, u64)> = times.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        assert!(sorted(&times) == expected);
    }

    #[test]
    fn what_is_further_away_comes_late_but_comes() {
        let count = 3 * WINDOW as u64;
        let times: Vec<u64> = (1..count).chain([0]).collect();
        let found = sorted(&times);
        assert_eq!(found.len() as u64, count);
        let late = found.iter().position(|&(time, _)| time == 0);
        assert!(late.is_some_and(|at| at > 0), "it was too far away: {late:?}");
        assert_eq!(sorted(&[3, 1, 2]), [(1, 1), (2, 2), (3, 0)]);
        assert_eq!(sorted(&[]), []);
    }
}
