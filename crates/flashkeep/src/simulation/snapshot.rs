//! Saved drives: loading and saving.

use super::{Device, RunClock, Simulation};
use crate::devices::Body;
use crate::engine::{Contents, NodeId};
use crate::error::Error;
use crate::metrics::{Conditioning, Reported};
use crate::output::problem;
use crate::schemes::Any;
use crate::snapshot::{Reader, Writer};
use std::path::Path;

impl<C: Contents, H: Body<C>> Device<C, H> {
    fn restore(&mut self, snapshot: &mut Reader) -> Result<(), String> {
        self.body.load(snapshot)?;
        let mut schemes: Vec<(NodeId, Any)> = snapshot.take()?;
        let carried = snapshot.take()?;
        for (node, scheme) in &mut schemes {
            if let Some(built) = self.engine.tree().scheme(*node) {
                scheme.adopt_policies(built);
            }
        }
        self.engine.take_over(schemes, carried);
        self.engine.examine_deferred(&self.body);
        self.engine.ports_mut().restore_members(snapshot.take()?);
        self.engine.tree_mut().restore_page_names(snapshot.take()?);
        let Device { engine, pages, .. } = self;
        pages.load(engine.ports_mut().host_mut(), snapshot)
    }

    /// Write caches write back what they hold, those of arrays before those of their members.
    fn write_back(&mut self, clock: &RunClock) {
        let now = clock.now;
        let request = self.engine.open(u32::MAX, 0);
        self.engine.write_back_host_port(&mut self.body, now, request);
        self.end_preparation(request, clock);
        while self.engine.ports().keeps_pages() {
            let request = self.engine.open(u32::MAX, 0);
            self.engine.write_back_ports(&mut self.body, now, request);
            self.end_preparation(request, clock);
        }
    }
}

impl<C: Contents, H: Body<C>> Simulation<'_, C, H> {
    /// Starts with a saved drive.
    pub(super) fn load(&mut self, path: &Path) -> Result<(), Error> {
        let named = |problem: String| Error::Option(format!("--aged: {}: {problem}", path.display()));
        let mut snapshot = Reader::open(path, &self.resolved.identity()).map_err(named)?;
        if C::KEEP && !snapshot.contents {
            let problem =
                "saved without page contents, which --verify and power loss need: age it with --verify";
            return Err(named(problem.into()));
        }
        self.device.restore(&mut snapshot).map_err(named)?;
        self.accounts.conditioned = snapshot.conditioning.as_ref().and_then(Conditioning::from_json);
        self.device.body.set_untimed(self.clock.untimed);
        Ok(())
    }

    /// Saves the drive when all work has ended.
    ///
    /// # Errors
    /// A drive that cannot be saved, or the file.
    pub(super) fn save(&mut self, path: &Path) -> Result<(), Error> {
        let refused = |why: &str| Err(Error::Option(format!("{}: {why}", path.display())));
        if self.device.engine.tree().is_healthy() && self.device.body.is_healthy() {
            self.device.write_back(&self.clock);
            self.rest();
        }
        if !self.device.engine.tree().is_healthy() || !self.device.body.is_healthy() {
            return refused("a drive with failed parts, or whose power was cut, cannot be saved");
        }
        let mut snapshot = Writer::default();
        self.device.body.save(&mut snapshot);
        snapshot.put(&self.device.engine.tree().with_schemes().collect::<Vec<_>>());
        snapshot.put(&self.device.engine.work().carried());
        snapshot.put(&self.device.engine.ports().pages_of_members());
        snapshot.put(&self.device.engine.tree().page_names());
        self.device.pages.save(self.device.port(), &mut snapshot);
        let conditioned = self.accounts.conditioned.as_ref().map(Reported::to_json);
        let written = snapshot.write(path, &self.resolved.identity(), C::KEEP, conditioned);
        written.map_err(|error| Error::Output(problem(&path.display().to_string(), &error)))
    }
}
