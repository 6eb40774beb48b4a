//! Builds a drive from its parameters.

use super::Drive;
use super::backends::DriveBackends;
use super::controller::{Controller, OwnerRules, PageOwner};
use super::parameters::Parameters;
use crate::engine::Contents;
use crate::flash::{Domain, FlashArray};

impl<C: Contents> Drive<C> {
    /// The flash of a drive, erased, a backend for each of `domains`.
    #[must_use]
    pub fn new(drive: &Parameters, domains: &[Domain]) -> Self {
        let flash = FlashArray::of(drive);
        let backends = DriveBackends::new(drive, flash.clone(), domains.len());
        let idles = backends.idle_work().is_some();
        let controller = Controller::new(drive, flash, domains.len(), OwnerRules::of(&backends), idles);
        let mut this = Drive { controller, backends };
        for domain in domains {
            this.backends.ftl.add_backend(domain, drive.kind, domains.len() > 1, &mut this.controller);
        }
        this.backends.ftl.complete(drive);
        this.halves().simplify();
        this
    }
}
