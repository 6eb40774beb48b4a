//! Merges several streams in order of arrival.

use crate::{BATCH, Provenance, Request, Source, TraceError};

/// All requests of `sources`, each counted from its own first request, in order of arrival; equal times in the
/// order of the sources. Devices of different sources are different devices, numbered as they appear.
#[must_use]
pub fn merge(mut sources: Vec<Box<dyn Source>>) -> Box<dyn Source> {
    if sources.len() == 1 {
        return sources.remove(0);
    }
    let inputs = sources.into_iter().map(MergeInput::new).collect();
    Box::new(Merged { inputs, devices: 0, failed: None })
}

struct Merged {
    inputs: Vec<MergeInput>,
    devices: u32,
    failed: Option<TraceError>,
}

/// One of the streams, and the requests that have been read from it but not handed on.
struct MergeInput {
    source: Box<dyn Source>,
    batch: Vec<Request>,
    next: usize,
    ended: bool,
    /// For each of its devices that has appeared, the device's number in the merged stream.
    devices: Vec<Option<u32>>,
}

impl MergeInput {
    fn new(source: Box<dyn Source>) -> Self {
        MergeInput { source, batch: Vec::new(), next: 0, ended: false, devices: Vec::new() }
    }

    /// The first request that is waiting.
    #[inline]
    fn head(&mut self) -> Result<Option<&Request>, TraceError> {
        if self.next == self.batch.len() && !self.ended {
            self.batch.clear();
            self.next = 0;
            self.ended = self.source.fill(&mut self.batch)? == 0;
        }
        Ok(self.batch.get(self.next))
    }
}

impl Merged {
    fn next(&mut self) -> Result<Option<Request>, TraceError> {
        let mut first: Option<(u64, usize)> = None;
        for (index, input) in self.inputs.iter_mut().enumerate() {
            if let Some(request) = input.head()?
                && first.is_none_or(|(arrival_ns, _)| request.arrival_ns < arrival_ns)
            {
                first = Some((request.arrival_ns, index));
            }
        }
        let Some((_, index)) = first else { return Ok(None) };
        let input = &mut self.inputs[index];
        let mut request = input.batch[input.next];
        input.next += 1;
        let device = request.device as usize;
        if device >= input.devices.len() {
            input.devices.resize(device + 1, None);
        }
        request.device = *input.devices[device].get_or_insert_with(|| {
            self.devices += 1;
            self.devices - 1
        });
        Ok(Some(request))
    }
}

impl Source for Merged {
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
        self.inputs.iter().map(|input| input.source.total()).sum()
    }

    fn share_done(&self) -> Option<f64> {
        let shares: Option<Vec<f64>> = self.inputs.iter().map(|input| input.source.share_done()).collect();
        shares
            .filter(|shares| !shares.is_empty())
            .map(|shares| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    fn has_handles(&self) -> bool {
        self.inputs.iter().any(|input| input.source.has_handles())
    }

    /// At most one of the inputs is a stream.
    fn sha256(&self) -> Option<String> {
        self.inputs.iter().find_map(|input| input.source.sha256())
    }

    fn skipped(&self) -> u64 {
        self.inputs.iter().map(|input| input.source.skipped()).sum()
    }

    fn warnings(&self) -> Vec<String> {
        let of = |input: &MergeInput| {
            let name = input.source.provenance().name;
            input.source.warnings().into_iter().map(move |warning| format!("{name}: {warning}"))
        };
        self.inputs.iter().flat_map(of).collect()
    }

    /// Names and formats are joined. The result is synthetic if one source is, and has no depth: a closed loop over
    /// several sources has no meaning.
    fn provenance(&self) -> Provenance {
        let all: Vec<Provenance> = self.inputs.iter().map(|input| input.source.provenance()).collect();
        let mut formats: Vec<&str> = all.iter().map(|each| each.format.as_str()).collect();
        formats.dedup();
        let names: Vec<&str> = all.iter().map(|each| each.name.as_str()).collect();
        Provenance {
            name: names.join(" + "),
            format: formats.join(" + "),
            synthetic: all.iter().any(|each| each.synthetic),
            depth: None,
            extent: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, open_reader};

    fn trace(text: &'static str) -> Box<dyn Source> {
        open_reader("t", Box::new(text.as_bytes()), &OpenOptions::default()).unwrap()
    }

    #[test]
    fn times_decide_and_devices_stay_apart() {
        let mut merged = merge(vec![
            trace("100 7 0 8 1\n200 7 8 8 1\n300 9 16 8 1\n"),
            trace("5 7 80 8 0\n105 7 88 8 0\n106 7 96 8 0\n"),
        ]);
        let mut batch = Vec::new();
        while merged.fill(&mut batch).unwrap() > 0 {}
        let found: Vec<_> = batch.iter().map(|r| (r.arrival_ns, r.device, r.offset / 512)).collect();
        assert_eq!(found, [(0, 0, 0), (0, 1, 80), (100, 0, 8), (100, 1, 88), (101, 1, 96), (200, 2, 16)]);
        assert_eq!(merged.provenance().name, "t + t");
        assert_eq!(merged.provenance().format, "ssdsim");
        assert_eq!(merged.total(), None);
    }

    #[test]
    fn an_error_comes_after_what_was_read() {
        let mut merged = merge(vec![trace("0 0 0 8 1\n"), trace("0 0 0 8 1\n1 0 0 8 1\nrubbish\n")]);
        let mut batch = Vec::new();
        assert_eq!(merged.fill(&mut batch).unwrap(), 3);
        let error = merged.fill(&mut batch).unwrap_err();
        assert_eq!(error.line, Some(3));
        assert_eq!(merged.fill(&mut batch).unwrap_err(), error, "told again");
    }

    #[test]
    fn nothing_merges_to_nothing() {
        assert_eq!(merge(Vec::new()).fill(&mut Vec::new()).unwrap(), 0);
    }
}
