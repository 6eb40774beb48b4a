//! Devices that are asked request by request.

use crate::common::{file, job};
use flashkeep::job::Job;
use flashkeep::kernel::SimTime;
use flashkeep::simulation::{LiveDevice, LiveEvent, serve};
use flashkeep_trace::{Op, Request, random::Random};
use std::ops::ControlFlow;
use std::sync::Arc;

/// It collects garbage all the time, and writes its DRAM out when it is idle.
const IDLE: &str = "
flash.channels = 4
flash.chips_per_channel = 1
flash.planes_per_die = 2
flash.blocks_per_plane = 12
flash.pages_per_block = 16
flash.page_kib = 8
ftl.over_provisioning = 0.25
ageing.model = \"steady\"
buffer.dram_mib = 0.5
buffer.flush = \"idle\"
buffer.flush_after_us = 200
buffer.flush_pages = 1
";

/// It scrubs, and suspends programs for reads.
const CHECKED: &str = "
flash.channels = 2
flash.chips_per_channel = 1
flash.blocks_per_plane = 64
flash.pages_per_block = 16
flash.commands.suspend = \"program-erase\"
redundancy.scheme = \"mirror\"
errors.model = \"kim\"
errors.maintenance.scrub_days = 1e-6
";

fn live_job(drive: &str) -> Job {
    let mut job = job("\n", "synth:random", &[]);
    job.drive = drive.to_owned();
    job.traces = vec!["requests".into()];
    job.limit = Some(0);
    job.in_memory.insert("requests".into(), Arc::from(flashkeep_trace::CSV_COLUMNS.as_bytes()));
    job.existing = Some("none".into());
    job
}

/// Bursts of requests with pauses in between, and the power cut in the middle.
fn ask(device: &mut dyn LiveDevice, slices: &mut dyn FnMut() -> Option<u64>) -> Vec<LiveEvent> {
    let mut draw = Random::stream(1, "requests");
    let (mut at, mut events) = (0, Vec::new());
    let advance = |device: &mut dyn LiveDevice, until: u64, events: &mut Vec<LiveEvent>| {
        while device.step(SimTime(until)).expect("it continues") {
            events.extend(device.take_events());
        }
        events.extend(device.take_events());
    };
    for n in 0..600_u32 {
        let pause = if draw.below(8) == 0 { 3_000_000 } else { 20_000 };
        let next = at + 1 + draw.below(pause);
        while let Some(slice) = slices() {
            if at + slice >= next {
                break;
            }
            at += slice;
            advance(device, at, &mut events);
        }
        advance(device, next - 1, &mut events);
        at = next;
        if n == 300 {
            device.fail("power", SimTime(at)).expect("the power can be cut");
        } else {
            let op = if draw.below(2) == 0 { Op::Read } else { Op::Write };
            let length = [512, 4096, 4096, 16384][draw.below(4) as usize];
            let offset = draw.below(device.capacity_bytes().min(1 << 20) / 512 - 32) * 512;
            device.arrive(Request { arrival_ns: at, offset, length, device: 0, op, fua: false, handle: 0 });
        }
        advance(device, at, &mut events);
    }
    advance(device, at + 100_000_000, &mut events);
    events
}

fn events_of(job: &Job, slices: &mut dyn FnMut() -> Option<u64>) -> Vec<LiveEvent> {
    let mut events = Vec::new();
    serve(job, &mut |_| ControlFlow::Continue(()), &mut |device| {
        events = ask(device, slices);
        Ok(())
    })
    .expect("the drive is valid");
    events
}

/// The model has no clock of its own: into which steps its caller divides the time changes nothing.
#[test]
fn steps_do_not_matter() {
    for job in [IDLE, CHECKED].map(|text| live_job(&file("live.toml", text))) {
        let whole = events_of(&job, &mut || None);
        for seed in 0..3 {
            let mut draw = Random::stream(seed, "slices");
            let sliced = events_of(&job, &mut || Some(1 + draw.below(400_000)));
            let first = whole.iter().zip(&sliced).find(|(one, other)| one != other);
            assert_eq!(first, None, "{}, seed {seed}", job.drive);
            assert_eq!(whole.len(), sliced.len(), "{}, seed {seed}", job.drive);
        }
    }
}
