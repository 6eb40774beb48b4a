//! A simulated drive with real bytes, served over NBD.
//!
//! | module | contents |
//! |---|---|
//! | `model` | the thread that owns the device: requests in, time on, answers out |
//! | `asked` | a client's request as requests to the model |
//! | `store` and `slab` | the bytes of each version of a page |
//! | `pace` | virtual time and the wall clock |
//! | `control` and `verbs` | the control socket |
//! | `image` | crash images |
//! | `saved` | the bytes of saved drives |
//! | `fork` | copies of this process, in which the device may be cut or saved |
//!
//! **Bytes follow the mapping.** The model tracks the contents of pages as tokens, which name page and version, through
//! cache, parity, garbage collection, rebuild and recovery. A read finds a token; the store has the bytes of that version.
//! So the model knows nothing about bytes, parity costs no memory, and an older version that a power cut brings back is
//! still there. The alternative, contents with real pages, would copy each page at every step.

mod asked;
mod control;
mod fork;
mod image;
mod model;
mod pace;
mod saved;
mod slab;
mod store;
mod verbs;

pub use fork::fork_with;
pub use model::OnCut;

use control::Control;
use flashkeep::error::Error;
use flashkeep::job::{Halt, Job, RunOutcome};
use flashkeep::session::{SessionStart, SessionWriter};
use flashkeep::simulation::{self, LiveDevice};
use flashkeep_nbd::{BlockSizes, Device, Export, Limits, Listen, Server, Submit};
use flashkeep_trace::CSV_COLUMNS;
use fork::in_a_copy;
use model::{Message, Model, ModelOptions};
use pace::{Clock, Pace};
use serde::Deserialize;
use serde_json::Value;
use slab::Slab;
use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use store::Store;

/// The name of the workload, whose requests come from clients.
const WORKLOAD: &str = "nbd";

/// The time in which clients get their last replies.
const GRACE: Duration = Duration::from_secs(2);

/// How a drive is served.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeOptions {
    /// Where clients connect: `unix:PATH` or `tcp:HOST:PORT`; at least one address.
    pub listen: Vec<String>,
    /// Addresses that are not loopback are accepted.
    pub allow_remote: bool,
    /// Where the control socket is.
    pub control: Option<PathBuf>,
    /// How fast virtual time goes: `real`, `scale=N` or `no-wait`.
    pub time: String,
    /// The file that records the session.
    pub session: Option<PathBuf>,
    /// The file that has the bytes; none for memory.
    pub store: Option<PathBuf>,
    /// What happens to requests that a power cut ends.
    pub on_cut: OnCut,
    /// FLUSH is answered at once, and FUA ignored: the drive lies.
    pub ignore_flush: bool,
    /// The file in which the drive is saved at the end.
    pub save_aged: Option<PathBuf>,
}

/// Passes requests of clients to the model's thread.
struct Gate(Sender<Message>);

impl Device for Gate {
    fn submit(&self, submit: Submit) {
        // Where the model has ended, the connection is about to.
        _ = self.0.send(Message::Ask(submit));
    }
}

/// Serves the drive of a job until `tick` ends it; `started` gets the addresses, `tick` is called about ten times a
/// second. The result is that of a run, with what the server did under `serve`.
///
/// # Errors
/// As a run, or an address or a file that cannot be used.
pub fn serve(
    job: &Job,
    options: &ServeOptions,
    started: &mut dyn FnMut(&[Listen], u64),
    tick: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<RunOutcome, Error> {
    let job = live_job(job);
    let tick = RefCell::new(tick);
    let mut progress = |_| match (tick.borrow_mut())() {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(()) => ControlFlow::Break(Halt::AtOnce),
    };
    let mut served = Value::Null;
    let mut outcome = simulation::serve(&job, &mut progress, &mut |device| {
        served = serve_device(&job, options, device, started, &mut || (tick.borrow_mut())())?;
        Ok(())
    })?;
    if let Some(summary) = outcome.summary.as_object_mut() {
        summary.insert("serve".into(), served);
    }
    Ok(outcome)
}

/// The job of a device whose requests come from outside. Pages that no client has written do not exist, unless the drive or
/// the caller says so: it is not known which of them will be read.
fn live_job(job: &Job) -> Job {
    let mut job = Job { traces: vec![WORKLOAD.into()], limit: Some(0), ..job.clone() };
    job.in_memory.insert(WORKLOAD.into(), Arc::from(CSV_COLUMNS.as_bytes()));
    job.existing.get_or_insert_with(|| "none".into());
    // A rebuild of a large drive would take long after the last request.
    job.stop_rebuild.get_or_insert_with(|| "end".into());
    job
}

fn serve_device(
    job: &Job,
    options: &ServeOptions,
    device: &mut dyn LiveDevice,
    started: &mut dyn FnMut(&[Listen], u64),
    tick: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Value, Error> {
    let refused = |problem: &dyn std::fmt::Display| Error::Option(format!("--listen: {problem}"));
    let pace: Pace = options.time.parse().map_err(|problem| Error::Option(format!("--time: {problem}")))?;
    let listen = options.listen.iter().map(|address| address.parse()).collect::<Result<Vec<Listen>, _>>();
    let listen = listen.map_err(|problem| refused(&problem))?;
    let (capacity, page_bytes) = (device.capacity_bytes(), device.page_bytes());
    let limits = Limits::default();
    let preferred = page_bytes.next_power_of_two().max(4096);
    let blocks = BlockSizes { minimum: 1, preferred, maximum: limits.payload_bytes };
    let export = Export {
        description: format!("{}, simulated by flashkeep", job.drive),
        multi_conn: true,
        blocks,
        ..Export::new("", capacity)
    };
    let server = Server::bind(&listen, options.allow_remote, export, limits).map_err(|e| refused(&e))?;
    let (messages, inbox) = channel();
    let control = options.control.as_deref().map(|path| Control::listen(path, messages.clone()));
    let control = control.transpose().map_err(Error::Option)?;
    let slab = match &options.store {
        None => Slab::in_memory(page_bytes as usize),
        Some(path) => {
            Slab::in_file(path, page_bytes as usize).map_err(|error| file("--store", path, &error))?
        }
    };
    let store = match &job.aged {
        None => Store::new(slab),
        Some(path) => {
            saved::read(path, slab).map_err(|problem| Error::Option(format!("--aged: {problem}")))?
        }
    };
    let session = options.session.as_ref().map(|path| {
        let start = SessionStart {
            drive: job.drive.clone(),
            existing: job.existing.clone().unwrap_or_default(),
            handle: job.handle.clone(),
            seed: job.seed.unwrap_or(1),
        };
        SessionWriter::create(path, &start).map_err(|error| file("--session", path, &error))
    });
    let mut model = Model::new(
        device,
        ModelOptions {
            completions: server.completions(),
            store,
            clock: Clock::new(pace),
            session: session.transpose()?,
            on_cut: options.on_cut,
            ignores_flush: options.ignore_flush,
        },
    );
    let running = server.start(Arc::new(Gate(messages))).map_err(|error| refused(&error))?;
    started(running.addresses(), capacity);
    let ended = model.run(&inbox, tick);
    running.shutdown(GRACE);
    drop(control);
    ended?;
    let mut served = model.served();
    if let Some(path) = &options.save_aged
        && let Some(problem) = save(&mut model, path)
    {
        // The summary is not to be lost.
        served["not_saved"] = format!("--save-aged: {problem}").into();
    }
    Ok(served)
}

/// Saves a copy of the drive: the summary is that of the requests, without the work that is left. A message if that fails.
fn save(model: &mut Model<'_>, path: &Path) -> Option<String> {
    let (tell, saved) = channel();
    let work = || model.save(path).err().unwrap_or_default();
    let copied = in_a_copy(work, move |problem| _ = tell.send(problem));
    let problem = copied.and_then(|()| saved.recv().map_err(io::Error::other)?);
    Some(problem.unwrap_or_else(|error| error.to_string())).filter(|problem| !problem.is_empty())
}

fn file(option: &str, path: &Path, error: &io::Error) -> Error {
    Error::Output(format!("{option}: {}: {error}", path.display()))
}
