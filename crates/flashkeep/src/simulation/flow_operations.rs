//! Flash operations by flow: counted where logs see them, by the request that asked for them.

use crate::drive::{ByKindAndCause, DeviceObserver, LoggedOperation, OpKind, RunEvent};
use crate::engine::Cause;
use crate::output::is_asked_for;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The requests whose flow is remembered, a power of two: more than are in a device at a time.
const REMEMBERED: usize = 1 << 18;

/// No flow.
const NONE: u32 = u32::MAX;

/// Counts of a flow.
type Counts = [[AtomicU64; Cause::ALL.len()]; OpKind::ALL.len()];

/// Counts that a device's observer shares with the run.
#[derive(Debug)]
pub(super) struct FlowOperations {
    /// The flow of the request that is being submitted, if it is counted.
    current: AtomicU32,
    flows: Vec<Counts>,
}

impl FlowOperations {
    /// Counts of this many flows.
    pub(super) fn new(flows: usize) -> Arc<FlowOperations> {
        let flows = (0..flows).map(|_| Counts::default()).collect();
        Arc::new(FlowOperations { current: AtomicU32::new(NONE), flows })
    }

    /// The observer that counts.
    pub(super) fn observer(self: &Arc<Self>) -> Box<dyn DeviceObserver> {
        Box::new(FlowObserver { counts: self.clone(), flows: vec![(0, NONE); REMEMBERED] })
    }

    /// The next request that is submitted is one of this flow.
    pub(super) fn begin(&self, flow: u32, counted: bool) {
        self.current.store(if counted { flow } else { NONE }, Relaxed);
    }

    /// The counts of a flow.
    pub(super) fn of(&self, flow: usize) -> ByKindAndCause {
        self.flows[flow].each_ref().map(|causes| causes.each_ref().map(|count| count.load(Relaxed)))
    }
}

/// Finds the flow of an operation by the age of its request.
struct FlowObserver {
    counts: Arc<FlowOperations>,
    /// The last requests: age and flow.
    flows: Vec<(u32, u32)>,
}

impl FlowObserver {
    fn flow_of(&self, age: u32) -> Option<usize> {
        let (found, flow) = self.flows[age as usize % REMEMBERED];
        (found == age && flow != NONE).then_some(flow as usize)
    }
}

impl DeviceObserver for FlowObserver {
    fn add(&mut self, _: u16, operation: &LoggedOperation) {
        let age = operation.age.filter(|_| is_asked_for(operation.cause));
        if let Some(flow) = age.and_then(|age| self.flow_of(age)) {
            self.counts.flows[flow][operation.kind as usize][operation.cause as usize].fetch_add(1, Relaxed);
        }
    }

    fn tell(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Opened { age, .. } = *event {
            self.flows[age as usize % REMEMBERED] = (age, self.counts.current.load(Relaxed));
        }
    }

    fn passed_on(&mut self, age: u32, from: u32) {
        if let Some(flow) = self.flow_of(from) {
            self.flows[age as usize % REMEMBERED] = (age, flow as u32);
        }
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}
