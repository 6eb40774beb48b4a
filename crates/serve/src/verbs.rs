//! The verbs of the control socket. Each answer is a JSON object with the virtual time.

use crate::asked::Asker;
use crate::fork::in_a_copy;
use crate::image::{Keep, write_image};
use crate::model::{Model, problem};
use crate::store::runs;
use flashkeep::error::Error;
use flashkeep::kernel::{SimTime, Span};
use flashkeep::simulation::{Held, VolatilePage};
use flashkeep_nbd::Request as Ask;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

/// What a client of the control socket asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verb {
    /// A fault as for `--fail`, at once.
    Fail(String),
    Cut,
    CrashImage(PathBuf, Keep),
    Unflushed,
    Stats,
    Errors,
    /// Time passes, with nothing asked.
    Age(Span),
    Flush,
    Snapshot(PathBuf),
}

/// The verbs with their arguments, for messages.
const VERBS: &str = "fail WHAT [transient] [replace_after=TIME], slow WHAT FACTOR FOR, stall WHAT FOR, cut, \
     crash-image FILE [model|none|half|all] [SEED], unflushed, stats, errors, age TIME, flush, snapshot FILE";

impl Verb {
    /// The verb of a line: `{"verb": "fail", "arguments": ["chip:0.0", "transient"]}`.
    pub(crate) fn read(line: &str) -> Result<Verb, String> {
        let accepted = "one JSON object a line: {\"verb\": \"fail\", \"arguments\": [\"chip:0.0\"]}";
        let asked: Map<String, Value> =
            serde_json::from_str(line).map_err(|error| format!("{error}; accepted: {accepted}"))?;
        if let Some(other) = asked.keys().find(|key| !["verb", "arguments"].contains(&key.as_str())) {
            return Err(format!("found `{other}`; accepted: {accepted}"));
        }
        let verb =
            asked.get("verb").and_then(Value::as_str).ok_or_else(|| format!("accepted: {accepted}"))?;
        let arguments = match asked.get("arguments") {
            None => Vec::new(),
            Some(Value::Array(arguments)) => arguments
                .iter()
                .map(|argument| match argument {
                    Value::String(text) => Ok(text.clone()),
                    Value::Number(number) => Ok(number.to_string()),
                    other => Err(format!("found the argument {other}; texts and numbers are accepted")),
                })
                .collect::<Result<_, _>>()?,
            Some(other) => return Err(format!("arguments: found {other}; a list is accepted")),
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Verb::of(verb, &arguments)
    }

    fn of(verb: &str, arguments: &[&str]) -> Result<Verb, String> {
        let usage =
            |usage: &str| Err(format!("{verb}: found {} arguments; accepted: {usage}", arguments.len()));
        Ok(match (verb, arguments) {
            ("fail", [what, options @ ..]) if options.len() <= 2 => {
                Verb::Fail([&[*what], options].concat().join(","))
            }
            ("fail", _) => return usage("WHAT [transient] [replace_after=TIME]"),
            ("slow", [what, factor, time]) => Verb::Fail(format!("slow:{what},factor={factor},for={time}")),
            ("slow", _) => return usage("WHAT FACTOR FOR, such as chip:0.0 10 5s"),
            ("stall", [what, time]) => Verb::Fail(format!("stall:{what},for={time}")),
            ("stall", _) => return usage("WHAT FOR, such as chip:0.0 200ms"),
            ("cut", []) => Verb::Cut,
            ("crash-image", [file]) => Verb::CrashImage(PathBuf::from(file), Keep::Model),
            ("crash-image", [file, keep]) => Verb::CrashImage(PathBuf::from(file), Keep::read(keep, "1")?),
            ("crash-image", [file, keep, seed]) => {
                Verb::CrashImage(PathBuf::from(file), Keep::read(keep, seed)?)
            }
            ("crash-image", _) => return usage("FILE [model|none|half|all] [SEED]"),
            ("unflushed", []) => Verb::Unflushed,
            ("stats", []) => Verb::Stats,
            ("errors", []) => Verb::Errors,
            ("flush", []) => Verb::Flush,
            ("age", [time]) => Verb::Age(flashkeep::faults::span(time)?),
            ("age", _) => return usage("TIME, such as 30d"),
            ("snapshot", [file]) => Verb::Snapshot(PathBuf::from(file)),
            ("snapshot", _) => return usage("FILE"),
            ("cut" | "unflushed" | "stats" | "errors" | "flush", _) => return usage("none"),
            _ => return Err(format!("found `{verb}`; accepted: {VERBS}")),
        })
    }
}

/// Consecutive pages as ranges of bytes.
fn ranges(mut pages: Vec<u64>, page_bytes: u64) -> Vec<Value> {
    pages.sort_unstable();
    pages.dedup();
    let range = |run: Range<u64>| json!({"offset": run.start * page_bytes, "length": (run.end - run.start) * page_bytes});
    runs(pages.into_iter()).into_iter().map(range).collect()
}

/// The answer of a verb that was carried out at an instant.
fn told(done: Result<Value, String>, now: SimTime) -> Value {
    let mut answer = match done {
        Ok(answer) => answer,
        Err(message) => return problem(message),
    };
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("ok".into(), true.into());
        fields.entry("time_ns").or_insert_with(|| now.0.into());
    }
    answer
}

impl Model<'_> {
    /// Carries out a verb and answers it: FLUSH when it has ended, and what a copy of the device does when that has ended.
    pub(crate) fn carry_out(&mut self, verb: Verb, reply: Sender<Value>) -> Result<(), Error> {
        let done = match verb {
            Verb::Flush => return self.ask(Asker::Control(reply), Instant::now(), Ask::Flush),
            Verb::CrashImage(path, keep) => {
                return self.in_a_copy(reply, move |model| model.crash_image(&path, keep));
            }
            Verb::Snapshot(path) => {
                return self.in_a_copy(reply, move |model| {
                    model.save(&path)?;
                    Ok(json!({"file": path}))
                });
            }
            Verb::Fail(what) => self.inject(&what)?,
            Verb::Cut => {
                let injected = self.inject("power")?;
                self.last_cut.take().map_or(injected, Ok)
            }
            Verb::Unflushed => Ok(self.unflushed()?),
            // Reading all pages to see which are lost would change the drive.
            Verb::Stats | Verb::Errors if self.device.may_have_lost() => {
                return self.in_a_copy(reply, move |model| {
                    let summary = model.device.summary();
                    model.device.find_lost_pages();
                    Ok(model.figures(&verb, summary))
                });
            }
            Verb::Stats | Verb::Errors => {
                self.now()?;
                let summary = self.device.summary();
                Ok(self.figures(&verb, summary))
            }
            Verb::Age(time) => self.pass(time)?,
        };
        // The client may have gone.
        _ = reply.send(told(done, self.horizon()));
        Ok(())
    }

    /// Answers with the result of a copy of the device, which serves meanwhile.
    fn in_a_copy(
        &mut self,
        reply: Sender<Value>,
        work: impl FnOnce(&mut Self) -> Result<Value, String>,
    ) -> Result<(), Error> {
        let now = self.now()?;
        let failed = reply.clone();
        let copied = in_a_copy(
            || told(work(self), now).to_string(),
            move |answer| {
                let answer = answer.and_then(|text| Ok(serde_json::from_str(&text)?));
                _ = reply.send(answer.unwrap_or_else(|error| problem(error.to_string())));
            },
        );
        if let Err(error) = copied {
            _ = failed.send(problem(error.to_string()));
        }
        Ok(())
    }

    /// Has a session begin with a request, from which its times count.
    fn begin(&mut self) -> Result<(), Error> {
        if self.clock.has_begun() {
            return Ok(());
        }
        let (reply, _) = channel();
        self.ask(Asker::Control(reply), Instant::now(), Ask::Flush)
    }

    /// Injects a fault now.
    fn inject(&mut self, what: &str) -> Result<Result<Value, String>, Error> {
        self.begin()?;
        self.now()?;
        let at = self.next_instant();
        self.advance_to(SimTime(at.0.saturating_sub(1)))?;
        if let Err(error) = self.device.fail(what, at) {
            return Ok(Err(error.to_string()));
        }
        self.record_fault(what, at)?;
        self.advance_to(at)?;
        Ok(Ok(json!({"time_ns": at.0})))
    }

    /// Lets virtual time pass.
    fn pass(&mut self, time: Span) -> Result<Result<Value, String>, Error> {
        self.begin()?;
        let now = self.now()?;
        let until = now + time;
        if until.0 > u64::MAX / 4 {
            return Ok(Err("age: found more than 146 years; less is accepted".into()));
        }
        self.advance_to(until)?;
        self.clock.set(until, Instant::now());
        Ok(Ok(json!({"time_ns": until.0})))
    }

    /// Cuts the power and writes what the pages hold then; to be called in a copy.
    fn crash_image(&mut self, path: &Path, keep: Keep) -> Result<Value, String> {
        let volatile = self.not_durable();
        let mut found: BTreeMap<u64, Held> = self.device.cut_power(self.horizon()).into_iter().collect();
        let mut draw = keep.draws();
        for VolatilePage { page, durable } in &volatile {
            let newest = Some(self.store.now(*page));
            let chosen = match keep {
                Keep::Model => None,
                Keep::None => *durable,
                Keep::All => newest,
                Keep::Half(_) if draw.below(2) == 0 => *durable,
                Keep::Half(_) => newest,
            };
            // Of a page of which nothing is promised, or which is lost, the image has what the model finds.
            if let Some(held) = chosen.filter(|_| found.get(page) != Some(&Held::Unreadable)) {
                found.insert(*page, held);
            }
        }
        let image = write_image(path, self.device.capacity_bytes(), &found, &mut self.store)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(json!({
            "file": path,
            "bytes": image.bytes,
            "volatile_pages": volatile.len(),
            "unreadable": ranges(image.unreadable, self.store.page_bytes()),
        }))
    }

    /// Pages whose newest version is not durable, written or only being written.
    fn not_durable(&mut self) -> Vec<VolatilePage> {
        let mut volatile = self.device.volatile_pages();
        let known: BTreeSet<u64> = volatile.iter().map(|volatile| volatile.page).collect();
        let mut others: Vec<u64> = self.unanswered_pages().filter(|page| !known.contains(page)).collect();
        others.sort_unstable();
        others.dedup();
        volatile.extend(others.into_iter().map(|page| self.device.promised(page)));
        volatile
    }

    fn unflushed(&mut self) -> Result<Value, Error> {
        let now = self.now()?;
        let pages: Vec<u64> =
            self.device.volatile_pages().into_iter().map(|volatile| volatile.page).collect();
        let bytes = pages.len() as u64 * self.store.page_bytes();
        Ok(json!({"time_ns": now.0, "bytes": bytes, "ranges": ranges(pages, self.store.page_bytes())}))
    }

    fn lost(&self) -> Vec<Value> {
        ranges(self.device.lost_pages(), self.store.page_bytes())
    }

    /// The figures of `stats`, or of `errors`.
    fn figures(&self, verb: &Verb, summary: Value) -> Value {
        let lost = self.lost();
        match verb {
            Verb::Errors => json!({"errors": summary.get("errors"), "lost": lost}),
            _ => json!({"serve": self.served(), "lost": lost, "summary": summary}),
        }
    }
}
