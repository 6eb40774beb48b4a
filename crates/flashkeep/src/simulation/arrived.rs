//! Requests in the host queue of a full drive, if they are not admitted in the order of their arrival.

use crate::host::Range;
use flashkeep_trace::Request;
use std::collections::BTreeMap;

/// The waiting requests, by address; C-LOOK goes through them upwards and starts again at the lowest.
#[derive(Debug, Default)]
pub(super) struct ArrivedRequests {
    waiting: BTreeMap<(u64, u64), (Request, Vec<Range>)>,
    arrived: u64,
    /// The address of the request that was admitted last.
    last: u64,
}

impl ArrivedRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a request that arrives, with its place on the drive.
    pub(super) fn arrive(&mut self, request: Request, ranges: Vec<Range>) {
        let at = ranges.first().map_or(0, |range| range.offset);
        self.arrived += 1;
        self.waiting.insert((at, self.arrived), (request, ranges));
    }

    /// Removes and returns the request to admit next; of several at one address the oldest.
    pub(super) fn next(&mut self) -> Option<(Request, Vec<Range>)> {
        let above = self.waiting.range((self.last, 0)..).next();
        let key = *above.or_else(|| self.waiting.iter().next())?.0;
        self.last = key.0;
        self.waiting.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashkeep_trace::Op;

    #[test]
    fn upwards_then_from_the_lowest() {
        let mut arrived = ArrivedRequests::default();
        for (n, at) in [50_u64, 20, 90, 50, 70].into_iter().enumerate() {
            let request = Request {
                arrival_ns: n as u64,
                offset: at,
                length: 1,
                device: 0,
                op: Op::Read,
                fua: false,
                handle: 0,
            };
            arrived.arrive(request, vec![Range { offset: at, length: 1 }]);
        }
        arrived.last = 60;
        let order: Vec<_> =
            std::iter::from_fn(|| arrived.next()).map(|(r, _)| (r.offset, r.arrival_ns)).collect();
        assert_eq!(order, [(70, 4), (90, 2), (20, 1), (50, 0), (50, 3)]);
    }
}
