//! GC in idle time (`ftl.gc.soft_threshold`): a plane below the soft threshold is collected while no
//! operation waits for its unit or its channel, one step at a time: a page's read, its program or copy, the
//! block's erase. A step starts when its unit becomes free and a visit of the channel has found nothing else
//! to do. Other operations go first, and GC then continues from where it was. Below `ftl.gc.threshold` it is
//! completed like other collections.
//!
//! Source: SSDSim's interruptible collection (Hu et al., ICS 2011), whose public code never reaches it.

use super::{DriveBackends, Gc, Halves, Translation};
use crate::drive::controller::Controller;
use crate::engine::Contents;
use crate::flash::{PlaneId, UnitId};
use crate::ftl::Copyback;
use crate::kernel::SimTime;

impl Gc {
    /// Whether the victim that would be collected next gives more pages than its copies take. With `parity-skip` each
    /// copy may leave out a page, and GC in idle time would never end if it gained nothing.
    fn is_sure_to_gain<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> bool {
        if self.copyback != Copyback::ParitySkip {
            return true;
        }
        let victim = self.chooser.proposed(&ftl.blocks.of_plane(plane));
        victim.is_some_and(|victim| 2 * ftl.blocks.valid_in(plane, victim) < ftl.blocks.geometry().pages)
    }

    /// Collections under way first, then planes with few free pages; none for a plane that has enough of them.
    fn urgency<C: Contents>(&self, plane: PlaneId, ftl: &Translation<C>) -> Option<(bool, u32, PlaneId)> {
        let news = self.collections[plane.0 as usize].under_way.is_none();
        if self.folds(plane, ftl) {
            return None;
        }
        let free = ftl.blocks.plane(plane).free_pages;
        let begins = || self.thresholds.is_low_for_idle(free) && self.is_sure_to_gain(plane, ftl);
        (!news || begins()).then_some((news, free, plane))
    }
}

impl<C: Contents> DriveBackends<C> {
    /// A plane is short of free pages, by one threshold or the other.
    #[inline(never)]
    pub(super) fn look_at(&mut self, plane: PlaneId, controller: &mut Controller<C>) {
        if self.gc.is_soft() {
            let unit = controller.dies.unit_of(plane);
            controller.dies[unit].soft = true;
        }
        if self.gc.is_low(plane, &self.ftl) {
            self.ask_for_collection(plane, controller);
        }
    }

    /// The next step of a plane of the unit that is below the soft threshold: of one that is under way, else of the one
    /// with the fewest free pages. The unit that does it, one of the `idle` ones, if it can be done now; none where
    /// there is nothing to do.
    pub(super) fn collect_softly(
        &mut self,
        now: SimTime,
        channel: usize,
        unit: UnitId,
        idle: u64,
        controller: &mut Controller<C>,
    ) -> Option<Option<UnitId>> {
        let planes = controller.dies.planes_at_home(unit, &self.flash.geometry);
        let (mut tried, mut waits) = (None, None);
        loop {
            let short = planes.iter().copied().filter(|plane| !self.ftl.blocks.is_dead(*plane));
            let keys =
                short.filter_map(|plane| self.gc.urgency(plane, &self.ftl)).filter(|key| Some(*key) > tried);
            let Some(key) = keys.min() else { return waits };
            match self.collect_plane(now, channel, key.2, idle, false, controller) {
                Some(Some(unit)) => return Some(Some(unit)),
                Some(None) => waits = Some(None),
                None => {}
            }
            tried = Some(key);
        }
    }
}

impl<C: Contents> Halves<'_, C> {
    pub(in crate::drive) fn end_idling(&mut self) {
        let Halves { controller, backends } = self;
        backends.maintenance.end_scrubbing(controller);
        backends.slc.end_idling();
        if !backends.gc.is_soft() {
            return;
        }
        backends.gc.thresholds.end_idling();
        controller.dies.end_idling();
        // A collection in idle moments that stops half-way may have taken the plane's last free pages. A write that
        // still comes, for example a parity that waited for idle time, needs that collection to be finished.
        for plane in (0..backends.flash.geometry.plane_count()).map(PlaneId) {
            if !backends.ftl.blocks.is_dead(plane) && !backends.ftl.blocks.has_room(plane) {
                backends.ask_for_collection(plane, controller);
            }
        }
    }
}
