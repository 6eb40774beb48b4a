//! A job's traces and options as one stream of requests, and their addresses.

use crate::config::Resolved;
use crate::error::Error;
use crate::host::{AddressError, AddressMode, Handles, PriorityClass};
use crate::job::Job;
use flashkeep_trace::{
    Action, BadRecords, Columns, Combination, DriveSize, Format, OpenOptions, Part, Provenance, Request,
    Source, TraceError, combine, is_synthetic, merge, open_bytes, parts_of, synthetic,
};
use std::sync::Arc;

mod flows;

pub use flows::{Flow, flow_tables};
use flows::{cache_sectors_of, given_flows};

/// How requests are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// At their arrival time.
    Open,
    /// The next one as soon as fewer than this many are outstanding.
    Closed(u32),
    /// The next this many, of each volume, as soon as all of the ones before have ended.
    Batch(u32),
}

/// A workload that can be read from its beginning, more than once unless it comes from standard input.
pub struct Workload<'a> {
    job: &'a Job,
    size: DriveSize,
    options: OpenOptions,
    seed: u64,
    scale: f64,
    /// How requests are admitted.
    pub replay: Replay,
    /// How addresses are placed.
    pub placement: AddressMode,
    /// Workloads beside each other: those of an array's volumes, or of tenants; empty if there is one workload.
    pub flows: Vec<Flow>,
    /// Whether these are tenants.
    pub has_tenants: bool,
}

fn option(name: &str, problem: impl std::fmt::Display) -> Error {
    Error::Option(format!("--{name}: {problem}"))
}

/// The replay that options ask for, or that a synthetic workload with `depth` implies.
fn replay_of(replay: Option<&str>, depth: Option<u32>, implied: Option<u32>) -> Result<Replay, Error> {
    match (replay, depth, implied) {
        (_, Some(0), _) => Err(option("depth", "found 0; at least 1 request must be outstanding")),
        (None, None, None) | (Some("open"), None, _) => Ok(Replay::Open),
        (None, None, Some(depth)) => Ok(Replay::Closed(depth)),
        (Some("closed"), depth, implied) => Ok(Replay::Closed(depth.or(implied).unwrap_or(1))),
        (Some("batch"), depth, implied) => Ok(Replay::Batch(depth.or(implied).unwrap_or(1))),
        (None, Some(depth), Some(_)) => Ok(Replay::Closed(depth)),
        (None | Some("open"), Some(_), _) => {
            Err(option("depth", "is for a closed loop: add --replay closed or batch"))
        }
        (Some(other), ..) => {
            Err(option("replay", format!("found `{other}`; `open`, `closed` and `batch` are accepted")))
        }
    }
}

/// There is one workload, or there are flows.
fn check_given(job: &Job) -> Result<(), Error> {
    let message = match (job.traces.is_empty(), job.has_flows()) {
        (false, true) => "a trace and --flow or --flows: a flow names its own workload",
        (true, false) if job.save_aged.is_none() => {
            "no trace: name a file, `-`, or a workload such as synth:random"
        }
        (_, false) if job.alone => "--alone: needs --flow or --flows",
        _ => return Ok(()),
    };
    Err(Error::Option(message.into()))
}

impl<'a> Workload<'a> {
    /// The workload of a job, its options checked.
    ///
    /// # Errors
    /// An invalid option, or one that contradicts another.
    pub fn new(job: &'a Job, drive: &Resolved) -> Result<Self, Error> {
        check_given(job)?;
        let format =
            job.format.as_deref().map(Format::parse).transpose().map_err(|why| option("format", why))?;
        let columns =
            job.columns.as_deref().map(Columns::parse).transpose().map_err(|why| option("columns", why))?;
        let action =
            job.action.as_deref().map(Action::parse).transpose().map_err(|why| option("action", why))?;
        let bad_records = match job.bad_records.as_deref() {
            None | Some("refuse") => BadRecords::Refuse,
            Some("skip") => BadRecords::Skip,
            Some(other) => {
                return Err(option(
                    "bad-records",
                    format!("found `{other}`; `refuse` and `skip` are accepted"),
                ));
            }
        };
        let scale = job.time_scale.unwrap_or(1.0);
        if !(scale.is_finite() && scale > 0.0) {
            return Err(option("time-scale", format!("found {scale}; a number above 0 is accepted")));
        }
        if job.compact && job.wrap {
            return Err(option("compact", "excludes --wrap: an address is either placed or wrapped"));
        }
        let placement = match (job.compact, job.wrap) {
            (true, _) => AddressMode::Compact,
            (_, true) => AddressMode::Wrap,
            _ => AddressMode::AsIs,
        };
        let page_bytes = u32::try_from(drive.page_bytes()).unwrap_or(u32::MAX);
        let mut this = Workload {
            job,
            size: DriveSize { capacity_bytes: drive.capacity_bytes(), page_bytes },
            options: OpenOptions {
                format,
                sector_bytes: job.sector_bytes,
                columns,
                action,
                bad_records,
                time_is_scaled: job.time_scale.is_some(),
            },
            seed: job.seed.unwrap_or(1),
            scale,
            replay: Replay::Open,
            placement,
            flows: Vec::new(),
            has_tenants: job.has_flows(),
        };
        if this.has_tenants {
            this.find_tenants(drive)?;
        } else {
            this.find_volumes(drive)?;
            this.replay = this.find_replay()?;
            this.flows.iter_mut().for_each(|flow| flow.replay = this.replay);
        }
        Ok(this)
    }

    /// The flows of tenants. Together they are open if one of them is.
    fn find_tenants(&mut self, drive: &Resolved) -> Result<(), Error> {
        let flows = given_flows(self.job)?;
        let shares = cache_sectors_of(&flows, drive)?;
        for (number, (given, cache_sectors)) in flows.into_iter().zip(shares).enumerate() {
            let (offset, capacity) = given.range(drive)?;
            let mut flow = Flow {
                name: given.name.clone(),
                trace: given.trace.clone(),
                replay: Replay::Open,
                class: given.class,
                weight: given.weight,
                handle: given.handle(Handles::new(drive.handles(), self.job.ignore_handles))?,
                cache_sectors,
                offset,
                capacity,
                number,
            };
            let implied =
                if is_synthetic(&flow.trace) { self.source(&flow)?.provenance().depth } else { None };
            flow.replay = given.replay(self.job, implied)?;
            self.flows.push(flow);
        }
        if let Some(only) = self.job.only_flow {
            // Alone it has all of the write cache.
            let kept = self.flows.drain(..).nth(only);
            self.flows.extend(kept.map(|flow| Flow { cache_sectors: 0, ..flow }));
        }
        let depths = self.flows.iter().map(|flow| match flow.replay {
            Replay::Closed(depth) => Some(depth),
            _ => None,
        });
        let deepest = depths.collect::<Option<Vec<u32>>>().and_then(|depths| depths.into_iter().max());
        self.replay = deepest.map_or(Replay::Open, Replay::Closed);
        Ok(())
    }

    /// Several workloads are assigned to the volumes of an array in order; a single workload has the whole array.
    fn find_volumes(&mut self, drive: &Resolved) -> Result<(), Error> {
        let (traces, volumes) = (self.job.traces.len(), drive.volumes() as usize);
        if traces < 2 || volumes < 2 {
            return Ok(());
        }
        if self.is_stream() {
            return Err(Error::Option(
                "standard input cannot be one of several workloads of an array".into(),
            ));
        }
        if traces > volumes {
            return Err(Error::Option(format!(
                "{traces} workloads, and {} has {volumes} volumes (array.volumes): as many or fewer are accepted",
                drive.path
            )));
        }
        let capacity = drive.capacity_bytes() / volumes as u64;
        let flow = |(number, trace): (usize, &String)| Flow {
            name: String::new(),
            trace: trace.clone(),
            replay: Replay::Open,
            class: PriorityClass::default(),
            weight: 1,
            handle: None,
            cache_sectors: 0,
            offset: number as u64 * capacity,
            capacity,
            number,
        };
        self.flows = self.job.traces.iter().enumerate().map(flow).collect();
        Ok(())
    }

    /// Each flow's requests from the beginning, without `--limit`.
    ///
    /// # Errors
    /// A trace that cannot be opened.
    pub fn streams(&self) -> Result<Vec<Requests>, Error> {
        self.flows.iter().map(|flow| Ok(self.stream(self.source(flow)?, u64::MAX))).collect()
    }

    /// A flow's requests. Flows with the same synthetic workload get different seeds, so that they do not send the same
    /// requests.
    fn source(&self, flow: &Flow) -> Result<Box<dyn Source>, Error> {
        let seed = self.seed.wrapping_add(flow.number as u64);
        Ok(combine(self.parts(&flow.trace, seed, flow.capacity)?, self.combination())?)
    }

    /// The replay that the options ask for, or that a synthetic workload with `depth` implies.
    fn find_replay(&self) -> Result<Replay, Error> {
        let implied = match &self.job.traces[..] {
            // One after the other they have a depth if it is the same.
            several
                if self.flows.is_empty()
                    && several.iter().all(|trace| is_synthetic(trace))
                    && !several.is_empty() =>
            {
                self.open()?.provenance().depth
            }
            // Each volume has a closed loop of its own; all have the same depth.
            several if !self.flows.is_empty() && several.iter().all(|trace| is_synthetic(trace)) => {
                let streams = self.streams()?;
                let depth = streams[0].provenance.depth;
                depth.filter(|_| streams.iter().all(|stream| stream.provenance.depth == depth))
            }
            _ => None,
        };
        replay_of(self.job.replay.as_deref(), self.job.depth, implied)
    }

    /// Whether it can be read only once.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.job.traces.iter().any(|trace| trace == "-")
    }

    /// The requests from the beginning.
    ///
    /// # Errors
    /// A trace that cannot be opened.
    pub fn open(&self) -> Result<Box<dyn Source>, Error> {
        if self.flows.is_empty() && !self.job.traces.is_empty() {
            let mut parts = Vec::new();
            for trace in &self.job.traces {
                parts.extend(self.parts(trace, self.seed, self.size.capacity_bytes)?);
            }
            return Ok(combine(parts, self.combination())?);
        }
        Ok(merge(self.flows.iter().map(|flow| self.source(flow)).collect::<Result<_, _>>()?))
    }

    /// How the files of a trace, and several traces, make one workload.
    fn combination(&self) -> Combination {
        Combination {
            overlay: self.job.overlay && self.flows.is_empty(),
            repeat: self.job.repeat.unwrap_or(1),
        }
    }

    /// The sources that a trace names: a workload, a table in memory, a file, or the files of a directory or pattern.
    fn parts(&self, trace: &str, seed: u64, capacity_bytes: u64) -> Result<Vec<Part>, Error> {
        let name = trace.to_owned();
        if is_synthetic(trace) {
            let (text, size) = (name.clone(), DriveSize { capacity_bytes, ..self.size });
            return Ok(vec![Part {
                name,
                open: Arc::new(move || synthetic(&text, seed, &size)),
                again: true,
            }]);
        }
        if let Some(bytes) = self.job.in_memory.get(trace) {
            let (table, bytes, options) = (name.clone(), bytes.clone(), self.options.clone());
            let open = Arc::new(move || open_bytes(&table, bytes.clone(), &options));
            return Ok(vec![Part { name, open, again: true }]);
        }
        Ok(parts_of(trace, &self.options)?)
    }

    /// The requests from the beginning, scaled and limited.
    ///
    /// # Errors
    /// A trace that cannot be opened.
    pub fn requests(&self) -> Result<Requests, Error> {
        Ok(self.stream(self.open()?, self.job.limit.unwrap_or(u64::MAX)))
    }

    fn stream(&self, source: Box<dyn Source>, limit: u64) -> Requests {
        Requests {
            provenance: source.provenance(),
            source,
            batch: Vec::new(),
            next: 0,
            read: 0,
            limit,
            scale: self.scale,
        }
    }

    /// The largest number of requests of all streams together; [`u64::MAX`] for no limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.job.limit.unwrap_or(u64::MAX)
    }

    /// The error of a request without a place: it is beyond the `capacity` bytes of the drive or of its flow's part, or of
    /// a second device.
    pub fn misplaced(
        &self,
        error: AddressError,
        number: u64,
        request: &Request,
        name: &str,
        capacity: u64,
    ) -> Error {
        let message = match error {
            AddressError::Beyond(end) => format!(
                "request {number} ends at byte {end}, beyond the drive's capacity of {capacity} bytes; \
                 --compact places extents at their first access, --wrap takes addresses modulo the \
                 capacity, --bad-records skip skips such requests"
            ),
            AddressError::SecondDevice => format!(
                "request {number} is for device {}, and the trace does not give the sizes of its devices; \
                 --compact keeps them apart, --merge-devices merges them",
                request.device
            ),
            AddressError::Full => {
                let instead = match (self.job.wrap, self.job.merge_devices) {
                    (true, _) => "--merge-devices, so that --wrap applies",
                    (false, true) => "--wrap",
                    (false, false) => "--wrap, with several devices together with --merge-devices",
                };
                format!(
                    "request {number} touches more 1 MiB extents than fit the drive's capacity of {capacity} bytes; a \
                     larger drive is needed, or {instead}"
                )
            }
        };
        Error::Trace(TraceError { path: name.to_owned(), line: None, field: None, message })
    }

    /// The error of a request whose placement handle a drive with these lacks.
    pub fn unknown_handle(&self, request: &Request, number: u64, name: &str, handles: Handles) -> Error {
        let message = format!(
            "request {number} has the placement handle {}; {}; --ignore-handles gives such writes handle 0",
            request.handle,
            handles.accepted()
        );
        Error::Trace(TraceError { path: name.to_owned(), line: None, field: Some("handle".into()), message })
    }

    /// The sectors of the write cache that are for the pages of single flows.
    #[must_use]
    pub fn cache_shares(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.cache_sectors).filter(|&sectors| sectors > 0).collect()
    }

    /// Whether requests that have no place on the drive are left out.
    #[must_use]
    pub fn skips_misplaced(&self) -> bool {
        self.options.bad_records == BadRecords::Skip
    }

    /// The number of first requests that statistics leave out.
    ///
    /// # Errors
    /// Neither a number nor a percentage, or a percentage of a stream whose length is unknown.
    pub fn warmup(&self) -> Result<u64, Error> {
        let Some(text) = self.job.warmup.as_deref() else { return Ok(0) };
        let wrong = || {
            option(
                "warmup",
                format!("found `{text}`; a number of requests or a percentage such as `10%` is accepted"),
            )
        };
        let Some(share) = text.strip_suffix('%') else {
            return text.parse().map_err(|_| wrong());
        };
        let share: f64 = share.parse().map_err(|_| wrong())?;
        if !(0.0..100.0).contains(&share) {
            return Err(option("warmup", format!("found `{text}`; 0 % up to, but not, 100 % is accepted")));
        }
        Ok((self.length("warmup")? as f64 * share / 100.0) as u64)
    }

    /// Bytes of a rebuild after which no more requests come, if it ends with the last request.
    ///
    /// # Errors
    /// Neither `end` nor a size.
    pub fn most_rebuilt(&self) -> Result<Option<u64>, Error> {
        let Some(text) = self.job.stop_rebuild.as_deref() else { return Ok(None) };
        let size = if text == "end" { Some(u64::MAX) } else { flashkeep_trace::size(text) };
        let size = size.filter(|&size| size > 0).ok_or_else(|| {
            let accepted = "`end` or a size such as `1GiB` is accepted";
            option("stop-rebuild", format!("found `{text}`; {accepted}"))
        });
        size.map(Some)
    }

    /// The number of requests.
    ///
    /// # Errors
    /// Standard input, which cannot be read twice, as option `why` needs; a record that cannot be read.
    pub fn length(&self, why: &str) -> Result<u64, Error> {
        if self.is_stream() {
            return Err(option(why, "a percentage needs a trace of known length, not standard input"));
        }
        let mut requests = self.requests()?;
        let mut count = 0;
        while requests.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// The latest arrival accepted, so that times computed in a run do not overflow.
const LATEST_NS: u64 = u64::MAX / 2;

/// A stream of requests that is read a batch ahead.
pub struct Requests {
    source: Box<dyn Source>,
    batch: Vec<Request>,
    next: usize,
    read: u64,
    limit: u64,
    scale: f64,
    /// Describes the stream.
    pub provenance: Provenance,
}

impl Requests {
    /// The next request.
    ///
    /// # Errors
    /// A record that cannot be read.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Request>, Error> {
        Ok(if self.advance()? { Some(self.current()) } else { None })
    }

    /// Advances to the next request, which is [`Requests::current`] then; false at the end. The request does not travel
    /// in a `Result`, whose layout splits it into parts that the processor cannot forward from its store buffer.
    ///
    /// # Errors
    /// A record that cannot be read.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, Error> {
        if self.next == self.batch.len() && !self.refill()? {
            return Ok(false);
        }
        self.next += 1;
        Ok(true)
    }

    /// The request that [`Requests::advance`] reached.
    #[inline]
    #[must_use]
    pub fn current(&self) -> Request {
        self.batch[self.next - 1]
    }

    /// The next request, if it has been read.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<&Request> {
        self.batch.get(self.next)
    }

    /// Skips the request that [`Requests::peek`] shows.
    #[inline]
    pub fn skip(&mut self) {
        self.next += 1;
    }

    /// The request `ahead` places after the next, if it has been read.
    #[inline]
    #[must_use]
    pub fn ahead(&self, places: usize) -> Option<&Request> {
        self.batch.get(self.next + places)
    }

    fn refill(&mut self) -> Result<bool, Error> {
        self.batch.clear();
        self.next = 0;
        if self.read >= self.limit {
            return Ok(false);
        }
        self.source.fill(&mut self.batch)?;
        self.batch.truncate(usize::try_from(self.limit - self.read).unwrap_or(usize::MAX));
        self.read += self.batch.len() as u64;
        if (self.scale - 1.0).abs() > 0.0 {
            for request in &mut self.batch {
                request.arrival_ns = (request.arrival_ns as f64 * self.scale).ceil() as u64;
            }
        }
        // No request arrives before the one that it follows.
        if self.batch.last().is_some_and(|last| last.arrival_ns > LATEST_NS) {
            return Err(self.too_late());
        }
        Ok(!self.batch.is_empty())
    }

    #[cold]
    fn too_late(&self) -> Error {
        let late = self.batch.iter().position(|request| request.arrival_ns > LATEST_NS).unwrap_or_default();
        let (number, years) = (
            self.read - (self.batch.len() - late) as u64 + 1,
            self.batch[late].arrival_ns as f64 / 31_557_600e9,
        );
        let message = format!(
            "request {number} arrives {years:.0} years or more after time 0; {} are accepted: --format or --time-scale",
            LATEST_NS / 31_557_600_000_000_000
        );
        Error::Trace(TraceError::new(&self.provenance.name, message))
    }

    /// The share of the stream handed out, if it is known.
    #[must_use]
    pub fn share_done(&self) -> Option<f64> {
        let total = self.source.total().map(|total| total.min(self.limit));
        let limited = (self.limit < u64::MAX).then_some(self.limit);
        let known = total.or(limited).map(|total| self.read as f64 / total.max(1) as f64);
        known.or_else(|| self.source.share_done())
    }

    /// SHA-256 of a stream that was read to its end.
    #[must_use]
    pub fn sha256(&self) -> Option<String> {
        self.source.sha256()
    }

    /// Records skipped.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    /// Warnings for the user about the stream.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }
}
