//! Several sources as one: files of one trace, and a workload several times.
//!
//! Files of one trace are ordered by their clock, if all have one in common: a calendar (file time, seconds since
//! 1970) or that of the machine that recorded them. Otherwise one follows the other. It keeps its own times if they
//! continue those of the file before it ended; if they begin at 0 again, it begins a mean gap after the last request.
//! Devices of one name are one device. A file is opened when its time comes, so that hundreds of them take no more
//! memory than those that overlap.

use std::collections::HashMap;
use std::sync::Arc;

use crate::hasher::FixedState;
use crate::source::{DeviceName, TraceClock};
use crate::{BATCH, Provenance, Request, Source, TraceError, merge};

/// Opens a source at its beginning.
pub type Opener = Arc<dyn Fn() -> Result<Box<dyn Source>, TraceError> + Send + Sync>;

/// A source that is a part of a workload.
#[derive(Clone)]
pub struct Part {
    /// The path, or the workload as the user wrote it.
    pub name: String,
    /// Opens it.
    pub open: Opener,
    /// Whether it can be opened more than once: not standard input.
    pub again: bool,
}

/// How several sources make one workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Combination {
    /// All begin at time 0, and their devices are different ones; otherwise they are one trace.
    pub overlay: bool,
    /// The whole several times, one after the other; 0 and 1 are once.
    pub repeat: u64,
}

/// The workload that `parts` make.
///
/// # Errors
/// A source that cannot be opened; standard input that would be read twice.
pub fn combine(parts: Vec<Part>, how: Combination) -> Result<Box<dyn Source>, TraceError> {
    if how.repeat < 2 {
        return once(&parts, how.overlay);
    }
    if let Some(stream) = parts.iter().find(|part| !part.again) {
        let message = "standard input can be read only once; --repeat needs a file";
        return Err(TraceError::new(&stream.name, message));
    }
    let source = once(&parts, how.overlay)?;
    Ok(Box::new(Repeated {
        parts,
        how,
        source,
        round: 1,
        begins_ns: 0,
        last_ns: 0,
        count: 0,
        notes: Vec::new(),
    }))
}

fn once(parts: &[Part], overlay: bool) -> Result<Box<dyn Source>, TraceError> {
    match parts {
        [only] => (only.open)(),
        several if overlay => Ok(merge(several.iter().map(|part| (part.open)()).collect::<Result<_, _>>()?)),
        several => Ok(Box::new(Together::new(None, several.to_vec())?)),
    }
}

/// The files of one recording, as the trace `name`.
pub(crate) fn of_recording(name: &str, parts: Vec<Part>) -> Result<Box<dyn Source>, TraceError> {
    Ok(Box::new(Together::new(Some(name.to_owned()), parts)?))
}

/// This many sources stay open between the first look at them and their turn.
const KEPT_OPEN: usize = 8;

/// Parts as one stream.
struct Together {
    /// The name of the recording of which the parts are the processors.
    recording: Option<String>,
    parts: Vec<OnePart>,
    /// Parts that have begun, in order, and those that have not, the next one last.
    active: Vec<usize>,
    waiting: Vec<usize>,
    /// What the parts have in common.
    clock: TraceClock,
    devices: Vec<DeviceName>,
    numbered: HashMap<DeviceName, u32, FixedState>,
    /// In a sequence: when its last request arrived.
    last_ns: u64,
    by_clock: bool,
    /// Parts whose times began again.
    restarted: usize,
    empty: Vec<String>,
    failed: Option<TraceError>,
}

/// One part, and its properties.
struct OnePart {
    part: Part,
    source: Option<Box<dyn Source>>,
    batch: Vec<Request>,
    next: usize,
    ended: bool,
    /// When it begins, in the time of the whole; in a sequence known when its turn comes.
    begins_ns: u64,
    /// Its own clock at its first request.
    first_ns: Option<u64>,
    /// Requests handed over, and the arrival of the last one since the first.
    count: u64,
    span_ns: u64,
    /// For each of its devices that has appeared, the number in the whole.
    devices: Vec<Option<u32>>,
    provenance: Provenance,
    total: Option<u64>,
    skipped: u64,
    sha256: Option<String>,
    warnings: Vec<String>,
}

impl OnePart {
    /// Opens the part and reads its first requests; `None` if it has none.
    fn new(part: Part) -> Result<Option<(Self, TraceClock)>, TraceError> {
        let mut source = (part.open)()?;
        let mut batch = Vec::new();
        match source.fill(&mut batch) {
            Ok(0) => return Ok(None),
            // An error that names no record: there is no request.
            Err(error) if error.line.is_none() => return Ok(None),
            done => done?,
        };
        let (clock, first_ns) = (source.clock(), source.first_ns());
        let (provenance, total) = (source.provenance(), source.total());
        let this = OnePart {
            part,
            source: Some(source),
            batch,
            next: 0,
            ended: false,
            begins_ns: 0,
            first_ns,
            count: 0,
            span_ns: 0,
            devices: Vec::new(),
            provenance,
            total,
            skipped: 0,
            sha256: None,
            warnings: Vec::new(),
        };
        Ok(Some((this, clock)))
    }

    /// Forgets the first requests, which are read again when its turn comes.
    fn close(&mut self) {
        if self.part.again {
            (self.source, self.batch) = (None, Vec::new());
        }
    }

    /// The first request that is waiting.
    #[inline]
    fn head(&mut self) -> Result<Option<&Request>, TraceError> {
        if self.next == self.batch.len() && !self.ended {
            self.refill()?;
        }
        Ok(self.batch.get(self.next))
    }

    fn refill(&mut self) -> Result<(), TraceError> {
        if self.source.is_none() {
            self.source = Some((self.part.open)()?);
        }
        self.batch.clear();
        self.next = 0;
        if let Some(source) = &mut self.source {
            self.ended = source.fill(&mut self.batch)? == 0;
        }
        if self.ended {
            self.note();
            self.source = None;
        }
        Ok(())
    }

    /// Notes what a source says of itself.
    fn note(&mut self) {
        if let Some(source) = &self.source {
            (self.skipped, self.sha256, self.warnings) =
                (source.skipped(), source.sha256(), source.warnings());
        }
    }
}

impl Together {
    fn new(recording: Option<String>, parts: Vec<Part>) -> Result<Self, TraceError> {
        let (mut opened, mut clocks, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let name = part.name.clone();
            match OnePart::new(part)? {
                None => empty.push(name),
                Some((mut part, clock)) => {
                    if opened.len() >= KEPT_OPEN {
                        part.close();
                    }
                    opened.push(part);
                    clocks.push(clock);
                }
            }
        }
        if opened.is_empty() {
            let what = if recording.is_some() { "the files of its processors" } else { "any of the files" };
            let name = recording.unwrap_or_else(|| empty.first().cloned().unwrap_or_default());
            return Err(TraceError::new(&name, format!("no requests in {what}")));
        }
        let begins = common(&clocks);
        let by_clock = begins.is_some();
        let mut clock = clocks[0];
        let mut waiting: Vec<usize> = (0..opened.len()).collect();
        if let Some(begins) = begins {
            let origin = begins.iter().min().copied().unwrap_or(0);
            opened.iter_mut().zip(&begins).for_each(|(part, at)| part.begins_ns = at - origin);
            waiting.sort_by_key(|&at| (begins[at], at));
            clock = clocks[waiting[0]];
        }
        waiting.reverse();
        Ok(Together {
            recording,
            parts: opened,
            active: Vec::new(),
            waiting,
            clock,
            devices: Vec::new(),
            numbered: HashMap::default(),
            last_ns: 0,
            by_clock,
            restarted: 0,
            empty,
            failed: None,
        })
    }

    /// The part whose request comes next, and its time.
    fn earliest(&mut self) -> Result<Option<(u64, usize)>, TraceError> {
        loop {
            let mut first: Option<(u64, usize)> = None;
            let mut has_ended = false;
            for &at in &self.active {
                let part = &mut self.parts[at];
                let begins_ns = part.begins_ns;
                match part.head()? {
                    None => has_ended = true,
                    Some(request) => {
                        let time_ns = begins_ns.saturating_add(request.arrival_ns);
                        if first.is_none_or(|(first_ns, _)| time_ns < first_ns) {
                            first = Some((time_ns, at));
                        }
                    }
                }
            }
            if has_ended {
                let parts = &self.parts;
                self.active.retain(|&at| !parts[at].ended);
            }
            let Some(&next) = self.waiting.last() else { return Ok(first) };
            let is_due = match first {
                None => true,
                Some((time_ns, _)) => self.by_clock && self.parts[next].begins_ns <= time_ns,
            };
            if !is_due {
                return Ok(first);
            }
            self.begin(next);
        }
    }

    /// Takes a part out of those that wait.
    fn begin(&mut self, at: usize) {
        self.waiting.pop();
        let place = self.active.partition_point(|&other| other < at);
        self.active.insert(place, at);
        if self.by_clock || at == 0 {
            return;
        }
        let before = &self.parts[at - 1];
        let goes_on = before.first_ns.zip(self.parts[at].first_ns).and_then(|(first_ns, next_ns)| {
            let later_ns = next_ns.checked_sub(first_ns)?;
            (later_ns >= before.span_ns).then_some(before.begins_ns + later_ns)
        });
        self.restarted += usize::from(goes_on.is_none());
        let gap_ns = before.span_ns / before.count.saturating_sub(1).max(1);
        self.parts[at].begins_ns = goes_on.unwrap_or(self.last_ns + gap_ns);
    }

    fn next(&mut self) -> Result<Option<Request>, TraceError> {
        let Some((arrival_ns, at)) = self.earliest()? else { return Ok(None) };
        let part = &mut self.parts[at];
        let mut request = part.batch[part.next];
        part.next += 1;
        part.count += 1;
        part.span_ns = request.arrival_ns;
        self.last_ns = arrival_ns;
        request.arrival_ns = arrival_ns;
        request.device = match part.devices.get(request.device as usize) {
            Some(Some(known)) => *known,
            _ => self.number(at, request.device),
        };
        Ok(Some(request))
    }

    /// The number of a part's device in the whole.
    #[cold]
    fn number(&mut self, at: usize, device: u32) -> u32 {
        let part = &mut self.parts[at];
        // The source may have ended, and its last requests wait in the batch.
        let name =
            part.source.as_ref().map_or(DeviceName::Number(device.into()), |source| source.device(device));
        let next = self.devices.len() as u32;
        let number = *self.numbered.entry(name.clone()).or_insert(next);
        if number == next {
            self.devices.push(name);
        }
        if part.devices.len() <= device as usize {
            part.devices.resize(device as usize + 1, None);
        }
        part.devices[device as usize] = Some(number);
        number
    }

    /// The changes of the parts.
    fn note(&self) -> Option<String> {
        if self.recording.is_some() || self.parts.len() < 2 {
            return None;
        }
        let synthetic = self.parts.iter().any(|part| part.provenance.synthetic);
        let (count, what) = (self.parts.len(), if synthetic { "workloads" } else { "files" });
        let how = if self.by_clock {
            "in the order of their clocks".to_owned()
        } else if self.restarted == 0 {
            "one after the other in the order given, on their own clock, which goes on".to_owned()
        } else {
            format!("one after the other in the order given; the clocks of {} begin anew", self.restarted)
        };
        Some(format!("{count} {what} are one trace: {how}; --overlay begins all at time 0"))
    }
}

/// When each part begins on the clock that all have in common, if there is one.
fn common(clocks: &[TraceClock]) -> Option<Vec<u64>> {
    let calendar = |clock: &TraceClock| if let TraceClock::Calendar(at) = clock { Some(*at) } else { None };
    let machine = |clock: &TraceClock| if let TraceClock::Machine(at) = clock { Some(*at) } else { None };
    let all = clocks.iter().map(calendar).collect::<Option<Vec<u64>>>();
    all.or_else(|| clocks.iter().map(machine).collect())
}

/// Notes of parts: equal ones once.
const NOTES_MAX: usize = 6;

impl Source for Together {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let before = batch.len();
        while batch.len() - before < BATCH {
            match self.next() {
                Ok(Some(request)) => batch.push(request),
                Ok(None) => break,
                Err(error) if batch.len() == before => return Err(self.failed.insert(error).clone()),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(batch.len() - before)
    }

    fn total(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.total).sum()
    }

    fn share_done(&self) -> Option<f64> {
        let share = |part: &OnePart| match &part.source {
            _ if part.ended => Some(1.0),
            Some(source) => source.share_done(),
            None => Some(0.0),
        };
        let shares: Option<Vec<f64>> = self.parts.iter().map(share).collect();
        shares.map(|shares| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// Parts that have not been opened yet are not asked.
    fn has_handles(&self) -> bool {
        self.parts.iter().any(|part| part.source.as_ref().is_some_and(|source| source.has_handles()))
    }

    fn first_ns(&self) -> Option<u64> {
        self.parts.first().and_then(|part| part.first_ns)
    }

    fn clock(&self) -> TraceClock {
        self.clock
    }

    fn device(&self, number: u32) -> DeviceName {
        self.devices.get(number as usize).cloned().unwrap_or(DeviceName::Number(number.into()))
    }

    /// At most one of the parts is a stream.
    fn sha256(&self) -> Option<String> {
        let of = |part: &OnePart| {
            part.source.as_ref().map_or_else(|| part.sha256.clone(), |source| source.sha256())
        };
        self.parts.iter().find_map(of)
    }

    fn skipped(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| part.source.as_ref().map_or(part.skipped, |source| source.skipped()))
            .sum()
    }

    fn warnings(&self) -> Vec<String> {
        let mut told: Vec<(String, String, usize)> = Vec::new();
        for part in &self.parts {
            let now = part.source.as_ref().map(|source| source.warnings());
            for warning in now.as_ref().unwrap_or(&part.warnings) {
                match told.iter_mut().find(|(_, known, _)| known == warning) {
                    Some((.., more)) => *more += 1,
                    None => told.push((part.part.name.clone(), warning.clone(), 0)),
                }
            }
        }
        // That there are other files is no news here.
        if self.recording.is_some() {
            told.retain(|(_, warning, _)| !warning.contains("lies beside it"));
        }
        let rest = told.split_off(told.len().min(NOTES_MAX));
        let mut warnings: Vec<String> = self.note().into_iter().collect();
        if !self.empty.is_empty() && self.recording.is_none() {
            warnings.push(format!("without requests: {}", self.empty.join(", ")));
        }
        warnings.extend(told.into_iter().map(|(name, warning, more)| match more {
            0 => format!("{name}: {warning}"),
            more => format!("{name} and {more} more: {warning}"),
        }));
        if !rest.is_empty() {
            warnings.push(format!("{} more notes on other files", rest.len()));
        }
        warnings
    }

    /// Names and formats are joined. There is a depth if all parts have the same.
    fn provenance(&self) -> Provenance {
        let all: Vec<&Provenance> = self.parts.iter().map(|part| &part.provenance).collect();
        let mut formats: Vec<&str> = all.iter().map(|each| each.format.as_str()).collect();
        formats.dedup();
        let names: Vec<&str> = all.iter().map(|each| each.name.as_str()).collect();
        let name = match &names[..] {
            [first, second, .., last] if names.len() > 4 => {
                format!("{first} + {second} + … + {last} ({} files)", names.len())
            }
            names => names.join(" + "),
        };
        Provenance {
            name: self.recording.clone().unwrap_or(name),
            format: formats.join(" + "),
            synthetic: all.iter().any(|each| each.synthetic),
            depth: all[0].depth.filter(|_| all.iter().all(|each| each.depth == all[0].depth)),
            extent: all[0].extent.filter(|_| all.iter().all(|each| each.extent == all[0].extent)),
        }
    }
}

/// A workload several times, one after the other: each time begins a mean gap after the last request.
struct Repeated {
    parts: Vec<Part>,
    how: Combination,
    source: Box<dyn Source>,
    round: u64,
    begins_ns: u64,
    /// Of this round: the last arrival since its beginning, and the number of requests.
    last_ns: u64,
    count: u64,
    /// What the first round said.
    notes: Vec<String>,
}

impl Source for Repeated {
    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<usize, TraceError> {
        let before = batch.len();
        loop {
            let count = self.source.fill(batch)?;
            if count > 0 {
                self.count += count as u64;
                for request in &mut batch[before..] {
                    self.last_ns = request.arrival_ns;
                    request.arrival_ns = request.arrival_ns.saturating_add(self.begins_ns);
                }
                return Ok(count);
            }
            if self.round >= self.how.repeat || self.count == 0 {
                return Ok(0);
            }
            if self.round == 1 {
                self.notes = self.source.warnings();
            }
            let gap_ns = self.last_ns / self.count.saturating_sub(1).max(1);
            self.begins_ns = self.begins_ns.saturating_add(self.last_ns).saturating_add(gap_ns);
            (self.round, self.last_ns, self.count) = (self.round + 1, 0, 0);
            self.source = once(&self.parts, self.how.overlay)?;
        }
    }

    fn total(&self) -> Option<u64> {
        self.source.total().and_then(|total| total.checked_mul(self.how.repeat))
    }

    fn share_done(&self) -> Option<f64> {
        let share = self.source.share_done()?;
        Some(((self.round - 1) as f64 + share) / self.how.repeat as f64)
    }

    fn has_handles(&self) -> bool {
        self.source.has_handles()
    }

    fn first_ns(&self) -> Option<u64> {
        self.source.first_ns()
    }

    fn device(&self, number: u32) -> DeviceName {
        self.source.device(number)
    }

    fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    fn warnings(&self) -> Vec<String> {
        if self.round == 1 { self.source.warnings() } else { self.notes.clone() }
    }

    fn provenance(&self) -> Provenance {
        self.source.provenance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, open_reader};

    fn part(name: &str, text: &'static str) -> Part {
        let owned = name.to_owned();
        let open: Opener =
            Arc::new(move || open_reader(&owned, Box::new(text.as_bytes()), &OpenOptions::default()));
        Part { name: name.to_owned(), open, again: true }
    }

    fn read(source: &mut dyn Source) -> Vec<Request> {
        let mut all = Vec::new();
        while source.fill(&mut all).unwrap() > 0 {}
        all
    }

    fn combined(parts: &[(&str, &'static str)], how: Combination) -> (Vec<Request>, Vec<String>) {
        let parts = parts.iter().map(|(name, text)| part(name, text)).collect();
        let mut source = combine(parts, how).unwrap();
        (read(&mut *source), source.warnings())
    }

    fn times(requests: &[Request]) -> Vec<(u64, u32)> {
        requests.iter().map(|request| (request.arrival_ns, request.device)).collect()
    }

    const ONCE: Combination = Combination { overlay: false, repeat: 1 };

    #[test]
    fn calendars_order_files() {
        let late = "128166372003061629,hm,0,Read,0,512,1\n128166372003061639,hm,1,Read,0,512,1\n";
        let early = "128166372003061609,hm,1,Read,0,512,1\n128166372003061634,hm,0,Read,0,512,1\n";
        let (found, notes) = combined(&[("late", late), ("early", early)], ONCE);
        assert_eq!(times(&found), [(0, 0), (2000, 1), (2500, 1), (3000, 0)]);
        assert_eq!(
            notes,
            ["2 files are one trace: in the order of their clocks; --overlay begins all at time 0"]
        );
    }

    #[test]
    fn clocks_of_their_own_go_on_or_begin_anew() {
        let (found, notes) =
            combined(&[("a", "100 7 0 8 1\n300 9 8 8 1\n"), ("b", "450 9 0 8 0\n500 7 8 8 1\n")], ONCE);
        assert_eq!(times(&found), [(0, 0), (200, 1), (350, 1), (400, 0)]);
        assert!(notes[0].contains("on their own clock, which goes on"), "{notes:?}");
        let (found, notes) =
            combined(&[("a", "100 7 0 8 1\n300 9 8 8 1\n"), ("b", "100 7 0 8 0\n500 3 8 8 1\n")], ONCE);
        assert_eq!(times(&found), [(0, 0), (200, 1), (400, 0), (800, 2)]);
        assert!(notes[0].contains("the clocks of 1 begin anew"), "{notes:?}");
    }

    #[test]
    fn slices_equal_the_whole() {
        for text in [
            "100 7 0 8 1\n300 9 8 8 1\n300 7 8 8 0\n450 9 0 8 0\n500 7 8 8 1\n",
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.5,0,R,3,0,512\n1456095145.4,0,R,4,0,512\n1456095145.6,0,W,4,0,512\n1456095145.7,0,W,3,0,512\n",
            "89967195015098 3 a 8 8 W 6 0 5\n89967195016098 3 a 8 8 R 6 1 0\n89967195016098 3 a 8 8 R 6 2 0\n",
        ] {
            let whole = combined(&[("t", text)], ONCE).0;
            for cut in 1..whole.len() {
                let skip = usize::from(text.starts_with('T'));
                let end = text.match_indices('\n').nth(cut - 1 + skip).unwrap().0 + 1;
                // In the disorder of SYSTOR a cut falls between whole pairs.
                let (first, second): (&'static str, &'static str) =
                    (text[..end].to_owned().leak(), text[end..].to_owned().leak());
                assert_eq!(combined(&[("a", first), ("b", second)], ONCE).0, whole, "{text} {cut}");
            }
        }
    }

    #[test]
    fn a_workload_is_repeated() {
        let twice = Combination { repeat: 3, ..ONCE };
        let (found, _) = combined(&[("a", "100 7 0 8 1\n300 9 8 8 1\n")], twice);
        assert_eq!(times(&found), [(0, 0), (200, 1), (400, 0), (600, 1), (800, 0), (1000, 1)]);
        let stream = Part { again: false, ..part("-", "100 7 0 8 1\n") };
        assert!(combine(vec![stream], twice).err().unwrap().message.contains("read only once"));
    }

    #[test]
    fn files_without_requests_are_named() {
        let blkparse = "8,0 0 1 0.5 9 Q R 8 + 8 [a]\n";
        let (found, notes) = combined(&[("a", blkparse), ("b", "8,0 0 1 0.7 9 D R 8 + 8 [a]\n")], ONCE);
        assert_eq!(found.len(), 1);
        assert!(notes.contains(&"without requests: b".to_owned()), "{notes:?}");
    }

    #[test]
    fn many_files_are_opened_in_turn() {
        let parts: Vec<Part> = (0..40)
            .map(|n| {
                part(&format!("f{n}"), format!("{} 0 0 8 1\n{} 0 8 8 1\n", n * 100, n * 100 + 50).leak())
            })
            .collect();
        let mut source = combine(parts, ONCE).unwrap();
        let found = read(&mut *source);
        assert_eq!(found.len(), 80);
        assert_eq!(found[79].arrival_ns, 3950);
        assert_eq!(source.provenance().name, "f0 + f1 + … + f39 (40 files)");
    }
}
