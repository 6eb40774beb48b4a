//! The flows of a run: workloads that share a device, each with a part of its addresses and a place in a host queue. They
//! are the volumes of an array that have a workload each, or tenants with names (`--flow`).

use super::{Replay, replay_of};
use crate::config::Resolved;
use crate::error::Error;
use crate::host::{Handles, PriorityClass};
use crate::job::Job;
use flashkeep_trace::is_synthetic;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The keys of a flow, in `--flow` and in tables.
const KEYS: [&str; 9] =
    ["name", "workload", "replay", "depth", "priority", "weight", "volume", "handle", "cache_share"];

/// A workload beside others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name; a volume has none.
    pub name: String,
    /// A trace file, a directory or pattern of them, or a `synth:…` workload.
    pub trace: String,
    /// How its requests are admitted.
    pub replay: Replay,
    /// The class of its requests.
    pub class: PriorityClass,
    /// Its weight.
    pub weight: u32,
    /// The placement handle of its writes; those of its trace if none is given.
    pub handle: Option<u8>,
    /// The sectors of the write cache that are for its pages alone, and the only ones that they may take; 0 if it uses what
    /// the others leave.
    pub cache_sectors: u64,
    /// The first byte of its part of the device.
    pub offset: u64,
    /// The bytes of that part.
    pub capacity: u64,
    /// Its number among all flows, which its random stream depends on.
    pub number: usize,
}

/// A flow as it is given.
pub(super) struct GivenFlow {
    /// How messages name it: `--flow 2 (backup)`.
    label: String,
    pub(super) name: String,
    pub(super) trace: String,
    replay: Option<String>,
    depth: Option<u32>,
    pub(super) class: PriorityClass,
    pub(super) weight: u32,
    volume: Option<u32>,
    handle: Option<u32>,
    cache_share: Option<f64>,
}

/// The flows of a job: those of its file, then those of `--flow`.
pub(super) fn given_flows(job: &Job) -> Result<Vec<GivenFlow>, Error> {
    let mut flows = match &job.flows {
        Some(path) => of_file(path)?,
        None => Vec::new(),
    };
    for (at, text) in job.flow.iter().enumerate() {
        let label = format!("--flow {}", at + 1);
        flows.push(GivenFlow::of(&label, of_text(&label, text)?)?);
    }
    for (at, flow) in flows.iter().enumerate() {
        if flows[..at].iter().any(|other| other.name == flow.name) {
            return Err(flow.wrong("name", "another flow has this name"));
        }
    }
    Ok(flows)
}

/// The flows of a job as texts of `--flow` that need no other file: tables in JSON.
///
/// # Errors
/// The first flow that is wrong.
pub fn flow_tables(job: &Job) -> Result<Vec<String>, Error> {
    let text = |flow: GivenFlow| {
        json!({
            "name": flow.name, "workload": flow.trace, "replay": flow.replay, "depth": flow.depth,
            "priority": flow.class.name(), "weight": flow.weight, "volume": flow.volume, "handle": flow.handle,
            "cache_share": flow.cache_share,
        })
        .to_string()
    };
    Ok(given_flows(job)?.into_iter().map(text).collect())
}

/// The sectors of the write cache for the pages of each flow alone, 0 for those that name no share: these are left a page at
/// least.
///
/// # Errors
/// The first flow for which there is no room.
pub(super) fn cache_sectors_of(flows: &[GivenFlow], drive: &Resolved) -> Result<Vec<u64>, Error> {
    let mut left = drive.cache_sectors();
    let sectors = flows.iter().map(|flow| flow.cache_sectors(drive)).collect::<Result<Vec<_>, _>>()?;
    for (flow, sectors) in flows.iter().zip(&sectors) {
        let rest = left.checked_sub(*sectors);
        left = rest.ok_or_else(|| {
            let share = flow.cache_share.unwrap_or_default();
            let message =
                format!("found {share}; with the shares of the flows before, more than the write cache");
            flow.wrong("cache_share", &message)
        })?;
    }
    let named = flows.iter().any(|flow| flow.cache_share.is_some());
    match flows.iter().find(|flow| flow.cache_share.is_none()) {
        Some(flow) if named && left < drive.page_sectors() => {
            Err(flow
                .wrong("cache_share", "missing; the shares of the other flows leave no room for its pages"))
        }
        _ => Ok(sectors),
    }
}

fn wrong(label: &str, message: &str) -> Error {
    Error::Option(format!("{label}: {message}"))
}

/// The tables `[[flow]]` of a file. Traces in it are relative to its folder or else to the working directory.
fn of_file(path: &Path) -> Result<Vec<GivenFlow>, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong("--flows", &format!("{name}: cannot be read: {error}")))?;
    let table: Map<String, Value> = toml::from_str(&text)
        .map_err(|error| wrong(&name, &format!("not TOML: {}", error.to_string().trim_end())))?;
    if let Some(key) = table.keys().find(|key| *key != "flow") {
        return Err(wrong(&name, &format!("{key}: not a key of flows; [[flow]] tables are accepted")));
    }
    let Some(Value::Array(tables)) = table.get("flow") else {
        return Err(wrong(&name, "no flow; [[flow]] tables with name and workload are accepted"));
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let one = |(at, table): (usize, &Value)| {
        let label = format!("{name}: flow {}", at + 1);
        let Value::Object(table) = table else {
            return Err(wrong(&label, &format!("found {table}; a table is accepted")));
        };
        let mut flow = GivenFlow::of(&label, table.clone())?;
        let near = folder.join(&flow.trace);
        if !is_synthetic(&flow.trace) && near.exists() {
            flow.trace = near.display().to_string();
        }
        Ok(flow)
    };
    tables.iter().enumerate().map(one).collect()
}

/// The keys of `NAME=WORKLOAD[,KEY=VALUE…]`, or of a table in JSON.
fn of_text(label: &str, text: &str) -> Result<Map<String, Value>, Error> {
    if text.starts_with('{') {
        return serde_json::from_str(text)
            .map_err(|error| wrong(label, &format!("found `{text}`, which is no table: {error}")));
    }
    let mut parts = text.split(',');
    let Some((name, workload)) = parts.next().and_then(|first| first.split_once('=')) else {
        return Err(wrong(label, &format!("found `{text}`; NAME=WORKLOAD[,KEY=VALUE…] is accepted")));
    };
    let (name, synthetic) = (name.trim(), is_synthetic(workload));
    let workload = if synthetic { workload.replace(';', ",") } else { workload.to_owned() };
    let mut table = Map::new();
    table.insert("name".into(), name.into());
    table.insert("workload".into(), workload.into());
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let key = key.trim();
        if !KEYS.contains(&key) {
            let keys = KEYS[2..].join(", ");
            let hint = if synthetic { "; commas within synth:… are written `;`" } else { "" };
            let message = format!("{key}: not a key of a flow; {keys} are accepted{hint}");
            return Err(wrong(&format!("{label} ({name})"), &message));
        }
        if table.insert(key.to_owned(), value.trim().into()).is_some() {
            return Err(wrong(&format!("{label} ({name})"), &format!("{key}: given twice")));
        }
    }
    Ok(table)
}

impl GivenFlow {
    fn of(label: &str, mut table: Map<String, Value>) -> Result<GivenFlow, Error> {
        let mut flow = GivenFlow {
            label: label.to_owned(),
            name: String::new(),
            trace: String::new(),
            replay: None,
            depth: None,
            class: PriorityClass::default(),
            weight: 1,
            volume: None,
            handle: None,
            cache_share: None,
        };
        flow.name = flow.text(&mut table, "name")?.unwrap_or_default();
        if flow.name.is_empty() {
            return Err(flow.wrong("name", "missing; a text is accepted"));
        }
        flow.label = format!("{label} ({})", flow.name);
        flow.trace = flow.text(&mut table, "workload")?.unwrap_or_default();
        if flow.trace.is_empty() || flow.trace == "-" {
            let found =
                if flow.trace.is_empty() { "missing" } else { "found `-`, which can be read only once" };
            return Err(flow.wrong("workload", &format!("{found}; a trace file or a synth:… is accepted")));
        }
        flow.replay = flow.text(&mut table, "replay")?;
        flow.depth = flow.whole(&mut table, "depth", 1)?;
        flow.weight = flow.whole(&mut table, "weight", 1)?.unwrap_or(1);
        flow.volume = flow.whole(&mut table, "volume", 0)?;
        flow.handle = flow.whole(&mut table, "handle", 0)?;
        flow.cache_share = flow.share(&mut table, "cache_share")?;
        if let Some(found) = flow.text(&mut table, "priority")? {
            let class = PriorityClass::ALL.into_iter().find(|class| class.name() == found);
            let accepted = "`urgent`, `high`, `medium` and `low` are accepted";
            flow.class =
                class.ok_or_else(|| flow.wrong("priority", &format!("found `{found}`; {accepted}")))?;
        }
        match table.keys().next() {
            Some(key) => {
                Err(flow.wrong(key, &format!("not a key of a flow; {} are accepted", KEYS.join(", "))))
            }
            None => Ok(flow),
        }
    }

    fn wrong(&self, key: &str, message: &str) -> Error {
        wrong(&self.label, &format!("{key}: {message}"))
    }

    fn text(&self, table: &mut Map<String, Value>, key: &str) -> Result<Option<String>, Error> {
        match table.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, &format!("found {other}; a text is accepted"))),
        }
    }

    fn whole(&self, table: &mut Map<String, Value>, key: &str, least: u32) -> Result<Option<u32>, Error> {
        let found = table.remove(key).filter(|found| !found.is_null());
        let Some(found) = found else { return Ok(None) };
        let number = found.as_u64().or_else(|| found.as_str().and_then(|text| text.parse().ok()));
        // Larger numbers of requests would have no effect.
        let number = number.and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (least..=1 << 20).contains(number));
        let accepted = format!("a whole number from {least} to 1048576 is accepted");
        number.map(Some).ok_or_else(|| self.wrong(key, &format!("found {found}; {accepted}")))
    }

    fn share(&self, table: &mut Map<String, Value>, key: &str) -> Result<Option<f64>, Error> {
        let found = table.remove(key).filter(|found| !found.is_null());
        let Some(found) = found else { return Ok(None) };
        let share = found.as_f64().or_else(|| found.as_str().and_then(|text| text.parse().ok()));
        let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
        let wrong = || self.wrong(key, &format!("found {found}; above 0, up to 1 is accepted"));
        share.map(Some).ok_or_else(wrong)
    }

    /// The sectors of the write cache for its pages alone; 0 if it names no share.
    fn cache_sectors(&self, drive: &Resolved) -> Result<u64, Error> {
        let Some(share) = self.cache_share else { return Ok(0) };
        if drive.cache_sectors() == 0 {
            let message = "the device has no write cache (buffer.dram_mib, buffer.write_policy = \"back\")";
            return Err(self.wrong("cache_share", message));
        }
        let sectors = (share * drive.cache_sectors() as f64) as u64;
        Ok(sectors.max(drive.page_sectors()))
    }

    /// Its first byte and the bytes of its part of the device.
    pub(super) fn range(&self, drive: &Resolved) -> Result<(u64, u64), Error> {
        let (capacity, volumes) = (drive.capacity_bytes(), drive.volumes());
        let Some(volume) = self.volume else { return Ok((0, capacity)) };
        if volume >= volumes {
            let last = volumes - 1;
            let accepted = format!("0 to {last} are accepted with array.volumes = {volumes}");
            return Err(self.wrong("volume", &format!("found {volume}; {accepted}")));
        }
        let share = capacity / u64::from(volumes);
        Ok((u64::from(volume) * share, share))
    }

    /// The placement handle of its writes, if it names one.
    pub(super) fn handle(&self, handles: Handles) -> Result<Option<u8>, Error> {
        let take = |named| {
            let handle = handles.take(named);
            handle.ok_or_else(|| self.wrong("handle", &format!("found {named}; {}", handles.accepted())))
        };
        self.handle.map(take).transpose()
    }

    /// How its requests are admitted; `implied` is the depth of a synthetic workload.
    pub(super) fn replay(&self, job: &Job, implied: Option<u32>) -> Result<Replay, Error> {
        match (self.replay.as_deref(), self.depth) {
            (None, Some(depth)) => Ok(Replay::Closed(depth)),
            (Some("closed"), depth) => Ok(Replay::Closed(depth.or(job.depth).or(implied).unwrap_or(1))),
            (Some("open"), None) => Ok(Replay::Open),
            (Some("open"), Some(_)) => Err(self.wrong("depth", "is for a closed loop: replay=closed")),
            (Some(other), _) => {
                Err(self.wrong("replay", &format!("found `{other}`; `open` and `closed` are accepted")))
            }
            (None, None) => match replay_of(job.replay.as_deref(), job.depth, implied)? {
                Replay::Batch(_) => Err(Error::Option(
                    "--replay: batches are for the volumes of an array; flows are `open` or `closed`".into(),
                )),
                replay => Ok(replay),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(texts: &[&str]) -> Result<Vec<GivenFlow>, String> {
        let flow = texts.iter().map(|&text| text.to_owned()).collect();
        given_flows(&Job { flow, ..Job::default() }).map_err(|error| error.to_string())
    }

    #[test]
    fn flows_are_names_workloads_and_keys() {
        let found = flows(&[
            "db=oltp.spc,priority=high",
            "backup=synth:sequential;requests=1k;write=1,depth=32,weight=3",
            r#"{"name": "third", "workload": "a,b.csv", "volume": 1}"#,
        ]);
        let found = found.expect("three flows");
        let names: Vec<_> = found.iter().map(|flow| (&*flow.name, &*flow.trace)).collect();
        let synth = "synth:sequential,requests=1k,write=1";
        assert_eq!(names, [("db", "oltp.spc"), ("backup", synth), ("third", "a,b.csv")]);
        assert_eq!((found[0].class, found[1].class), (PriorityClass::High, PriorityClass::Medium));
        assert_eq!((found[1].weight, found[1].depth, found[2].volume), (3, Some(32), Some(1)));
        let job = Job::default();
        assert_eq!(found[0].replay(&job, None).ok(), Some(Replay::Open));
        assert_eq!(found[0].replay(&job, Some(4)).ok(), Some(Replay::Closed(4)));
        assert_eq!(found[1].replay(&job, Some(4)).ok(), Some(Replay::Closed(32)));
        let flow = vec!["a=x,depth=2,priority=low".to_owned()];
        let tables = flow_tables(&Job { flow, ..Job::default() }).expect("a table");
        let again = flow_tables(&Job { flow: tables.clone(), ..Job::default() }).expect("the same");
        assert!(tables == again && tables[0].contains("\"priority\":\"low\""), "{tables:?}");
    }

    #[test]
    fn wrong_flows_are_named() {
        for (text, said) in [
            ("oltp.spc", "--flow 1: found `oltp.spc`; NAME=WORKLOAD"),
            ("=oltp.spc", "--flow 1: name: missing"),
            ("a=", "--flow 1 (a): workload: missing"),
            ("a=-", "--flow 1 (a): workload: found `-`"),
            ("a=x,depth=0", "--flow 1 (a): depth: found \"0\"; a whole number from 1"),
            ("a=x,priority=hi", "--flow 1 (a): priority: found `hi`; `urgent`, `high`"),
            ("a=x,rate=1", "--flow 1 (a): rate: not a key of a flow; replay, depth"),
            ("a=x,handle=x", "--flow 1 (a): handle: found \"x\"; a whole number from 0"),
            ("a=x,cache_share=0", "--flow 1 (a): cache_share: found \"0\"; above 0, up to 1"),
            ("a=synth:random,requests=1k", "commas within synth:… are written `;`"),
            ("a=x,weight=1,weight=2", "weight: given twice"),
            ("{\"name\": 3}", "--flow 1: name: found 3; a text is accepted"),
            ("{", "which is no table"),
        ] {
            let message = flows(&[text]).err().unwrap_or_default();
            assert!(message.contains(said), "{text}: {message}");
        }
        let twice = flows(&["a=x", "a=y"]).err().unwrap_or_default();
        assert!(twice.contains("--flow 2 (a): name: another flow"), "{twice}");
        let flow = &flows(&["a=x,replay=open,depth=2"]).expect("read")[0];
        assert!(flow.replay(&Job::default(), None).is_err());
    }
}
